//! Packs, job bundles and large files are redacted by the same means as run bundles: the copies
//! verify, forgeries do not, signatures hold, and no digest of what is withheld is left.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use runseal_core::canon::{Dialect, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::digest::Digest;
use runseal_testkit::cli::Bench;
use runseal_testkit::folders::{copy_folder, files_of, open_up};
use runseal_testkit::project_root;
use runseal_testkit::skip::need_isolation;

use crate::redaction_support::{INPUT, INTENT, OUTPUT, handed_over, pack, redact, seal};
use crate::signing_support::{bench, keygen, ok};

fn trusted(bench: &Bench, path: &str) {
    keygen(bench, "ada", "ed25519", "pem");
    ok(bench.run(&["sign", path, "--key", "ada", "--as", "Ada"]));
    ok(bench.run(&["trust", "init", "trust.toml"]));
    let accept = ["trust", "add", "trust.toml", "ada", "--key", "ada.pub"];
    ok(bench.run(&[&accept[..], &["--accept"]].concat()));
}

/// Every digest that could be made of something that has the secret in it: each value of each
/// document as it is and without one or two of its members, each file, and `more`.
fn digests_of(folder: &Path, secret: &str, more: &[&[u8]]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut add = |bytes: &[u8]| {
        if String::from_utf8_lossy(bytes).contains(secret) {
            found.insert(Digest::of(bytes).to_string());
            found.insert(Digest::of(&[bytes, b"\n"].concat()).to_string());
        }
    };
    more.iter().for_each(|bytes| add(bytes));
    for (_, bytes) in files_of(folder) {
        add(&bytes);
        for line in bytes.split(|byte| *byte == b'\n') {
            add(line);
            let Ok(document) = parse_document(line, &ReadOptions::default()) else {
                continue;
            };
            let mut waiting = vec![document.root().to_value()];
            while let Some(value) = waiting.pop() {
                let mut forms = vec![value.clone()];
                match &value {
                    Value::Object(members) => {
                        let names: Vec<_> = members.keys().cloned().collect();
                        for one in &names {
                            for other in &names {
                                let mut rest = members.clone();
                                rest.remove(one);
                                rest.remove(other);
                                forms.push(Value::Object(rest));
                            }
                        }
                        waiting.extend(members.values().cloned());
                    }
                    Value::Array(elements) => waiting.extend(elements.iter().cloned()),
                    Value::String(text) => add(text.to_lossy().as_bytes()),
                    _ => {}
                }
                for form in forms {
                    for dialect in [Dialect::Jcs, Dialect::Kernel, Dialect::Job] {
                        add(&canonical_bytes(&form, dialect).unwrap());
                    }
                }
            }
        }
    }
    found
}

/// Digests that are left, by their first eight digits.
fn count_left(text: &str, digests: &BTreeSet<String>) -> usize {
    let runs: BTreeSet<&str> = text
        .split(|c: char| !c.is_ascii_hexdigit())
        .filter(|run| run.len() >= 8)
        .map(|run| &run[..8])
        .collect();
    let left = digests.iter().filter(|digest| runs.contains(&digest[..8]));
    left.count()
}

#[test]
fn pack_is_redacted_and_gives_nothing_away() {
    let (_folder, bench) = bench();
    let executes = pack(&bench, &[]);
    let mode = fs::metadata(bench.path("pack.seed")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    ok(bench.run(&["pack", "verify", "pack", "--strict"]));
    trusted(&bench, "pack");
    let said = ok(bench.run(&["verify", "pack", "--strict", "--trust", "trust.toml"]));
    assert!(said.contains("intact"), "{said}");
    let drop = [
        "redact", "pack", "--match", "PIN4711", "--reason", "personal",
    ];
    let plan = ok(bench.run(&[&drop[..], &["--plan"]].concat()));
    for part in [
        "bundle.json#/root_node/goal",
        "run.json#/intent/sha256",
        "ledger.jsonl#/0/intent_sha256",
        "ledger.jsonl#/0/bundle_sha256",
        "run.json#/bundle/bundle_id",
        "\"PK5\"",
    ] {
        assert!(plan.contains(part), "{part}: {plan}");
    }
    ok(bench.run(&[&drop[..], &["-o", "copy"]].concat()));
    let said = ok(bench.run(&["verify", "copy", "--strict", "--trust", "trust.toml"]));
    for part in ["redacted copy", "redacted ", "goal: personal", "trusted"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let text = handed_over(&bench, "copy");
    assert!(!text.contains("PIN4711") && text.contains("hello.txt"));
    if executes {
        assert!(text.contains("second"), "what was not asked for is shown");
    }
    let digests = digests_of(
        &bench.path("pack"),
        "PIN4711",
        &[INTENT.as_bytes(), b"PIN4711"],
    );
    assert!(digests.len() > 50, "{}", digests.len());
    assert_eq!(count_left(&text, &digests), 0);
    // The search finds what it is looking for, where it is.
    let whole = handed_over(&bench, "pack");
    assert!(count_left(&whole, &digests) > 5);
    // No copy without what must stay.
    for place in ["run.json", "run.json#/decision", "run.json#/run_id"] {
        let ran = bench.run(&["redact", "pack", "--drop", place, "-o", "none"]);
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        assert!(ran.stderr.starts_with("STAYS"), "{}", ran.stderr);
    }
    // The same seed gives the same bytes.
    let run = fs::read_to_string(bench.path("pack/run.json")).unwrap();
    assert!(run.contains("\"redaction\":{\"commitment\""), "{run}");
}

#[test]
fn copy_of_a_pack_that_was_not_accepted_is_not_taken_for_an_accepted_run() {
    let (_folder, bench) = bench();
    let intent = r#"{"goal":"Write TBD","constraints":["The word has TBD letters"]}"#;
    bench.write("vague.json", intent);
    bench.run(&["run", "vague.json", "--pack", "vague", "--redactable"]);
    let place = "run.json#/intent/path";
    let redact = ["redact", "vague", "--drop", place, "--reason", "personal"];
    ok(bench.run(&[&redact[..], &["-o", "copy"]].concat()));
    let accepted = project_root().join("vectors/pack/ok-executed/input");
    copy_folder(&accepted, &bench.path("accepted"));
    let both = ["verify", "accepted", "copy"];
    ok(bench.run(&both));
    let ran = bench.run(&[&both[..], &["--require-accepted"]].concat());
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(ran.stdout.contains("EXPECT"), "{}", ran.stdout);
}

#[test]
fn forged_copies_of_a_pack_are_broken() {
    let (_folder, bench) = bench();
    pack(&bench, &[]);
    let drop = ["redact", "pack", "--drop", "bundle.json#/root_node/goal"];
    ok(bench.run(&[&drop[..], &["-o", "copy"]].concat()));
    let edit = |name: &str, from: &str, to: &str| {
        let _ = fs::remove_dir_all(bench.path("forged"));
        copy_folder(&bench.path("copy"), &bench.path("forged"));
        open_up(&bench.path("forged"));
        let path = bench.path(&format!("forged/{name}"));
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{name} has no {from}: {text}");
        fs::write(path, text.replacen(from, to, 1)).unwrap();
        let ran = bench.run(&["verify", "forged"]);
        assert_eq!(ran.code, Some(1), "{name}: {from}: {}", ran.stdout);
    };
    edit("run.json", "\"accepted\":", "\"accepted\": ");
    edit("run.json", "\"run_id\":\"run_", "\"run_id\":\"ran_");
    edit("run.json", "{", "{\"files\":{},");
    edit("policy.json", "false", "true");
    edit("ledger.jsonl", "\"mode\":\"none\"", "\"mode\":\"record\"");
    edit("ledger.jsonl", "{", "{}\n{");
    edit(
        "REDACTION.json",
        "\"format\":\"pack\"",
        "\"format\":\"job-bundle\"",
    );
    edit("REDACTED.json", "bundle.json", "bindle.json");
    // A leaf of another document: the marker of one place in another one.
    let bundle = fs::read_to_string(bench.path("copy/bundle.json")).unwrap();
    let markers: Vec<_> = bundle.match_indices("{\"runseal.redacted\":\"").collect();
    assert!(markers.len() > 1, "{bundle}");
    let marker = |at: usize| bundle[markers[at].0..markers[at].0 + 87].to_owned();
    edit("bundle.json", &marker(0), &marker(1));
    edit(
        "bundle.json",
        "\"kernel_version\":",
        "\"kernel_version\":\"x\",\"kernel_version\":",
    );
}

#[test]
fn job_bundle_is_redacted_and_gives_nothing_away() {
    let (_folder, bench) = bench();
    bench.write("docs/a.md", "# Title\n\nPIN4711\n");
    bench.write("docs/b.md", "# Other\n\npublic text\n");
    bench.write(
        "plan.json",
        r#"{"run_id":"run-1","idempotency_key":"1","steps":[
            {"op":"READ_SECTION","refs":{"section_id":"docs/a.md"},"constraints":{"slice":"lines[2:3]"},"expected_outputs":{"note":"PIN4711"}},
            {"op":"READ_SECTION","refs":{"section_id":"docs/b.md"},"constraints":{"slice":"lines[2:3]"}}]}"#,
    );
    ok(bench.run(&["job", "init"]));
    ok(bench.run(&["job", "index", "docs"]));
    let posted = ok(bench.run(&["job", "post", "plan.json"]));
    let job = posted.split("\"job_id\":\"").nth(1).unwrap();
    let job = job.split('"').next().unwrap();
    ok(bench.run(&["job", "work"]));
    ok(bench.run(&["job", "build", "run-1", job, "-o", "plain"]));
    let said = ok(bench.run(&["job", "build", "run-1", job, "-o", "job", "--redactable"]));
    assert!(said.contains("\"seed\":\"job.seed\""), "{said}");
    ok(bench.run(&["job", "verify", "job", "--strict"]));
    ok(bench.run(&["job", "replay", "job"]));
    trusted(&bench, "job");
    ok(bench.run(&["verify", "job", "--strict", "--trust", "trust.toml"]));
    // One that was not sealed so is refused in plain words.
    let ran = bench.run(&["redact", "plain", "--drop", "artifacts/**", "-o", "none"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("not sealed with --redactable") && ran.stderr.contains("job build"),
        "{}",
        ran.stderr
    );
    ok(bench.run(&["redact", "job", "--match", "PIN4711", "-o", "copy"]));
    let said = ok(bench.run(&["verify", "copy", "--strict", "--trust", "trust.toml"]));
    for part in ["redacted copy", "redacted ", "trusted"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let text = handed_over(&bench, "copy");
    assert!(
        !text.contains("PIN4711") && text.contains("public text"),
        "{text}"
    );
    // What the attacker knows besides: the file, its lines, and how sections and artifacts are named.
    let section = "# Title\n\nPIN4711\n";
    let content = Digest::of(section.as_bytes());
    let mut more: Vec<Vec<u8>> = vec![section.into(), b"PIN4711".to_vec()];
    let manifest = fs::read_to_string(bench.path("job/bundle.json")).unwrap();
    let refs: BTreeSet<&str> = manifest
        .split('"')
        .filter(|text| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .collect();
    let mut digests = BTreeSet::new();
    for (first, last) in [(0, 3), (0, 4), (1, 3), (1, 4), (0, 2)] {
        let id = Digest::of(format!("docs/a.md:{first}:{last}:{content}").as_bytes()).to_string();
        digests.insert(Digest::of(format!("{id}_lines[2:3]").as_bytes()).to_string());
        digests.insert(id);
    }
    assert!(
        digests.iter().any(|digest| refs.contains(digest.as_str())),
        "the section's id is not what the test takes it for"
    );
    more.push(manifest.into_bytes());
    let more: Vec<&[u8]> = more.iter().map(Vec::as_slice).collect();
    digests.extend(digests_of(&bench.path("job"), "PIN4711", &more));
    assert_eq!(count_left(&text, &digests), 0);
    for forged in ["bundle.json", "REDACTION.json"] {
        let _ = fs::remove_dir_all(bench.path("forged"));
        copy_folder(&bench.path("copy"), &bench.path("forged"));
        open_up(&bench.path("forged"));
        let path = bench.path(&format!("forged/{forged}"));
        let text = fs::read_to_string(&path).unwrap();
        fs::write(
            &path,
            text.replacen("run-1", "run-2", 1)
                .replacen("json", "jsom", 1),
        )
        .unwrap();
        assert_eq!(bench.run(&["verify", "forged"]).code, Some(1), "{forged}");
    }
    let ran = bench.run(&["redact", "job", "--drop", "bundle.json", "-o", "none"]);
    assert!(ran.stderr.starts_with("STAYS"), "{}", ran.stderr);
}

#[test]
fn inspect_and_page_show_bars_with_reasons() {
    let (_folder, bench) = bench();
    pack(&bench, &[]);
    seal(
        &bench,
        "r1",
        INPUT,
        OUTPUT,
        &[("log.txt", "Mallory was here\n")],
    );
    ok(bench.run(&[
        "redact",
        "pack",
        "--match",
        "PIN4711",
        "--reason",
        "a personal number",
        "-o",
        "pack-copy",
    ]));
    let drops = [
        "RUN_INPUT.json#/context/name",
        "RUN_OUTPUT.json#/outputs/answer",
        "artifacts/log.txt",
    ];
    ok(redact(&bench, "r1", &drops, "run-copy"));
    for (copy, place, reason) in [
        ("pack-copy", "/root_node/goal", "a personal number"),
        ("run-copy", "/context/name", "personal"),
    ] {
        let said = ok(bench.run(&["inspect", copy]));
        assert!(said.contains("What is withheld"), "{said}");
        let line = said.lines().find(|line| line.contains(place)).unwrap();
        assert!(line.contains("██████") && line.contains(reason), "{line}");
        let page = format!("{copy}.html");
        ok(bench.run(&["report", copy, "-o", &page]));
        let html = fs::read_to_string(bench.path(&page)).unwrap();
        let bars = html.matches("<span class=\"withheld\"").count();
        let reasons = html.matches(&format!("withheld: {reason}<")).count();
        assert!(bars >= 1 && reasons >= 1, "{bars} bars, {reasons} reasons");
        assert!(!html.contains("PIN4711") && !html.contains("Mallory"));
        // No marker is shown as it is stored.
        assert!(!html.contains("runseal.redacted"), "{copy}");
    }
    let said = ok(bench.run(&["inspect", "run-copy"]));
    assert!(said.contains("the whole file"), "{said}");
}

#[test]
fn recorded_command_is_redacted_logged_and_gives_nothing_away() {
    let (_folder, bench) = bench();
    if !need_isolation() {
        return;
    }
    keygen(&bench, "log.key", "ed25519", "pem");
    let init = ["log", "init", "log", "--origin", "example.com/runs"];
    let made = ok(bench.run(&[&init[..], &["--key", "log.key"]].concat()));
    let vkey = made.lines().nth(1).unwrap();
    bench.write("work/name.txt", "PIN4711");
    bench.write("work/plain.txt", "public\n");
    let mut command = bench.command(&[
        "record",
        "--redactable",
        "--log",
        "../log",
        "--out",
        "../out",
        "--",
        "sh",
        "-c",
        "cat name.txt plain.txt; cp name.txt copy.txt",
    ]);
    command.current_dir(bench.path("work"));
    command.stdin(std::process::Stdio::null());
    let said = ok(command.output().unwrap().into());
    let id = said.split("\"run_id\":\"").nth(1).unwrap();
    let id = id.split('"').next().unwrap().to_owned();
    let path = format!("out/{id}");
    let seed = fs::metadata(bench.path(&format!("{path}.seed"))).unwrap();
    assert_eq!(seed.permissions().mode() & 0o777, 0o600);
    ok(bench.run(&["log", "checkpoint", "log", "--key", "log.key"]));
    let logged = ["--log", "log", "--log-key", vkey];
    let said = ok(bench.run(&[&["verify", &path, "--strict"][..], &logged].concat()));
    assert!(said.contains("logged: entry 0 of 1"), "{said}");
    ok(bench.run(&["sign", &path, "--key", "log.key"]));
    ok(bench.run(&["redact", &path, "--match", "PIN4711", "-o", "copy"]));
    let said = ok(bench.run(&["verify", "copy", "--strict"]));
    assert!(said.contains("redacted "), "{said}");
    let text = handed_over(&bench, "copy");
    assert!(!text.contains("PIN4711") && text.contains("public"));
    let printed: [&[u8]; 2] = [b"PIN4711", b"PIN4711public\n"];
    let digests = digests_of(&bench.path(&path), "PIN4711", &printed);
    assert_eq!(count_left(&text, &digests), 0, "{text}");
    assert!(count_left(&handed_over(&bench, &path), &digests) >= 2);
}
