//! Pages that check again, in a real Chromium: what the page carries, and what somebody hands to it. They
//! say what the command line says, run nothing of a bundle, and notice when page and bundle do not belong
//! together.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::page_support::{assert_quiet, look_at, seal_by_hand};
use runseal_testkit::cli::Bench;
use runseal_testkit::project_root;
use serde_json::{Value, json};

fn bench() -> (tempfile::TempDir, Bench) {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    (folder, bench)
}

fn ok(bench: &Bench, arguments: &[&str]) -> String {
    let ran = bench.run(arguments);
    assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.stderr);
    ran.stdout
}

/// Copies a vector's input into the bench under a name.
fn copy_vector(bench: &Bench, vector: &str, name: &str) {
    let from = project_root().join("vectors").join(vector);
    let target = bench.path(name);
    let status = Command::new("cp").arg("-r").arg(from).arg(target).status();
    assert!(status.unwrap().success());
}

fn simple(bench: &Bench, folder: &str, text: &str) {
    let manifest = json!({"engine_code": "E", "engine_version": "1.0.0", "description": text});
    let documents = (
        manifest,
        json!({"inputs": {"a": text}}),
        json!({"outputs": {"b": text}}),
    );
    seal_by_hand(bench, folder, documents, &[("t.txt", text.as_bytes())]);
}

const UNITS: [(&str, &str); 15] = [
    ("context-bundle/ok-branching/input.json", "context.json"),
    ("context-bundle/bs20-count-wrong/input.json", "wrong.json"),
    ("proposal/ok-generated/input.json", "proposal.json"),
    ("patch/ps10-size-wrong/input.json", "patch.json"),
    ("model-io/mi7-response-changed/input.json", "model_io.json"),
    ("runner/ok-executed/input.json", "runner.json"),
    ("evidence/ok-failed/input.json", "evidence.json"),
    ("receipt/ok-signed/input.json", "receipt.json"),
    ("ledger/ok-chain/input.jsonl", "ledger.jsonl"),
    ("pack/ok-executed/input", "pack"),
    ("pack/pk14-file-changed/input", "pack-changed"),
    ("job-bundle/jb4-artifact-changed/input", "job"),
    ("run-bundle/ok-upstream/input", "run"),
    ("run-bundle/rb5-artifact-changed/input", "run-changed"),
    ("redacted-bundle/ok-files/input", "redacted"),
];

#[test]
fn pages_of_every_format_checked_again_say_what_the_command_line_says() {
    let (_folder, bench) = bench();
    let mut jobs = Vec::new();
    let mut names = Vec::new();
    for (vector, name) in UNITS {
        if !project_root().join("vectors").join(vector).exists() {
            panic!("no vector {vector}");
        }
        copy_vector(&bench, vector, name);
        let page = format!("{name}.html");
        ok(&bench, &["report", name, "--embed", "-o", &page]);
        jobs.push(json!({"page": page, "check": true}));
        names.push((name, "integrity"));
    }
    jobs.push(
        json!({"page": "run.html", "check": true, "level": "form", "width": 400, "dark": true}),
    );
    names.push(("run", "form"));
    jobs.push(json!({"page": "run-changed.html", "check": true, "axe": true}));
    names.push(("run-changed", "integrity"));
    let Some(seen) = look_at(&bench, &Value::from(jobs)) else {
        return;
    };
    for (seen, (name, level)) in seen.iter().zip(names) {
        assert_quiet(seen);
        let strict: &[&str] = if level == "form" { &["--strict"] } else { &[] };
        let json = bench.run(&[&["verify", name, "--format", "json"], strict].concat());
        let human = bench.run(&[&["verify", name], strict].concat());
        assert_eq!(
            seen["check_json"].as_str(),
            Some(json.stdout.as_str()),
            "{name}"
        );
        assert_eq!(
            seen["check_text"].as_str(),
            Some(human.stdout.as_str()),
            "{name}"
        );
        let holds = seen["checked"].as_str().unwrap().starts_with('✓');
        assert_eq!(holds, json.code == Some(0), "{name}");
        if level == "integrity" {
            assert_eq!(seen["alert"], json!(""), "{name}");
        }
    }
}

#[test]
fn verifier_page_checks_what_is_handed_to_it() {
    let (_folder, bench) = bench();
    ok(&bench, &["report", "--verifier-only", "-o", "verify.html"]);
    simple(&bench, "run", "x");
    simple(&bench, "changed", "y");
    bench.write("changed/artifacts/t.txt", "z");
    for (archive, folder) in [("run.tar", "run"), ("changed.tar", "changed")] {
        let mut tar = Command::new("tar");
        tar.current_dir(bench.path(""))
            .args(["-cf", archive, folder]);
        assert!(tar.status().unwrap().success());
    }
    let size = fs::metadata(bench.path("verify.html")).unwrap().len();
    assert!(size < 4 << 20, "{size} bytes");
    let jobs = json!([
        {"page": "verify.html", "choose": "run.tar"},
        {"page": "verify.html", "choose": "changed.tar", "axe": true},
        {"page": "verify.html", "drop": "changed.tar", "width": 400},
        {"page": "verify.html", "folder": "run"},
        {"page": "verify.html", "folder": "changed", "level": "document"},
        {"page": "verify.html", "choose": "verify.html"},
    ]);
    let Some(seen) = look_at(&bench, &jobs) else {
        return;
    };
    let asked: [&[&str]; 6] = [
        &["run.tar"],
        &["changed.tar"],
        &["changed.tar"],
        &["run"],
        &["changed", "--lenient"],
        &["verify.html"],
    ];
    for (seen, asked) in seen.iter().zip(asked) {
        assert_quiet(seen);
        let json = bench.run(&[&["verify", "--format", "json"], asked].concat());
        assert_eq!(
            seen["check_json"].as_str(),
            Some(json.stdout.as_str()),
            "{asked:?}"
        );
    }
}

#[test]
fn check_names_what_it_checked_and_how_that_ended() {
    let (_folder, bench) = bench();
    simple(&bench, "good", "x");
    copy_vector(&bench, "evidence/ok-failed/input.json", "failed.json");
    for (path, page) in [("good", "good.html"), ("failed.json", "failed.html")] {
        ok(&bench, &["report", path, "--embed", "-o", page]);
    }
    let mut tar = Command::new("tar");
    let tar = tar.current_dir(bench.path(""));
    assert!(
        tar.args(["-cf", "good.tar", "good"])
            .status()
            .unwrap()
            .success()
    );
    ok(&bench, &["report", "--verifier-only", "-o", "verify.html"]);
    let jobs = json!([
        {"page": "good.html", "check": true},
        {"page": "failed.html", "check": true},
        {"page": "failed.html", "drop": "good.tar"},
        {"page": "verify.html", "drop": "good.tar"},
        {"page": "verify.html", "folder": "good"},
    ]);
    let Some(seen) = look_at(&bench, &jobs) else {
        return;
    };
    let other = "not what this page is about";
    let beside = "signatures lie beside a folder";
    let expected = [
        ("checked good", "good.", [false, false]),
        (
            "checked neutral",
            "failed.json (outcome: failed).",
            [false, false],
        ),
        ("checked neutral", "good.tar.", [true, false]),
        ("checked good", "good.tar.", [false, false]),
        ("checked good", "good.", [false, true]),
    ];
    for (seen, (class, named, said)) in seen.iter().zip(expected) {
        assert_quiet(seen);
        let checked = seen["checked"].as_str().unwrap();
        assert_eq!(seen["checked_class"], json!(class), "{checked}");
        assert!(checked.contains(named), "{checked}");
        assert_eq!(
            [other, beside].map(|text| checked.contains(text)),
            said,
            "{checked}"
        );
    }
}

#[test]
fn page_whose_bundle_was_edited_says_so() {
    let (_folder, bench) = bench();
    simple(&bench, "run", "the text that is looked for");
    ok(&bench, &["report", "run", "--embed", "-o", "page.html"]);
    let page = bench.read("page.html");
    // The artifact's bytes in base64, with one letter changed.
    let text = "dGhlIHRleHQgdGhhdCBpcyBsb29rZWQgZm9y";
    let at = page.rfind(text).unwrap();
    let mut edited = page.clone();
    edited.replace_range(at..at + 1, "e");
    bench.write("edited.html", &edited);
    let at = page.rfind("\"run/artifacts/t.txt\"").unwrap();
    let mut renamed = page.clone();
    renamed.replace_range(at..at + 21, "\"run/artifacts/u.txt\"");
    bench.write("renamed.html", &renamed);
    let damaged = page.replace(text, "!!!!");
    bench.write("damaged.html", &damaged);
    let jobs = json!([
        {"page": "page.html", "check": true}, {"page": "edited.html", "check": true},
        {"page": "renamed.html", "check": true}, {"page": "damaged.html", "check": true},
    ]);
    let Some(seen) = look_at(&bench, &jobs) else {
        return;
    };
    for (at, seen) in seen.iter().enumerate() {
        assert_quiet(seen);
        let alert = seen["alert"].as_str().unwrap();
        let checked = seen["checked"].as_str().unwrap();
        match at {
            0 => assert!(
                alert.is_empty() && checked.starts_with('✓'),
                "{alert} {checked}"
            ),
            3 => assert!(checked.contains("could not be checked"), "{checked}"),
            _ => {
                assert!(alert.contains("do not belong together"), "{alert}");
                assert!(checked.starts_with('✗'), "{checked}");
            }
        }
    }
}

/// Everything at once that a text could try.
const HOSTILE: &str = "\"><script>window.hacked='script'</script></script><!--<script>\u{2028}</style></title><img src=x onerror=\"window.hacked='img'\"> javascript:alert(1) \u{202e}tcatni\u{202c} \u{200b}\u{feff}\u{e0041} ✓ Everything that was found holds";

#[test]
fn hostile_bundle_in_a_page_runs_nothing_and_draws_no_verdict() {
    let (_folder, bench) = bench();
    let name = "<img src=x onerror=window.hacked=1>&\"'\u{202e}.txt";
    let manifest = json!({"engine_code": "H", "engine_version": "1.0.0", "description": HOSTILE,
        "execution": {"command": ["sh", HOSTILE]}});
    let output = json!({"outputs": {HOSTILE: HOSTILE}, "failed": true, "exit_status": 3});
    let documents = (manifest, json!({"inputs": {HOSTILE: HOSTILE}}), output);
    let artifacts = [(name, HOSTILE.as_bytes()), ("b.md", HOSTILE.as_bytes())];
    let folder = "evil</script><b>";
    // A folder of that name holds a bundle; `/` ends names.
    let folder = folder.replace('/', "");
    seal_by_hand(&bench, &folder, documents, &artifacts);
    ok(&bench, &["report", &folder, "--embed", "-o", "valid.html"]);
    bench.write(&format!("{folder}/artifacts/b.md"), format!("{HOSTILE}!"));
    bench.write(&format!("{folder}/artifacts/{name}"), format!("{HOSTILE}?"));
    ok(
        &bench,
        &["report", &folder, "--embed", "-o", "changed.html"],
    );
    for page in ["valid.html", "changed.html"] {
        let text = bench.read(page);
        assert!(
            !text.contains(['\u{202e}', '\u{200b}', '\u{feff}', '\u{2028}']),
            "{page}"
        );
        assert_eq!(
            text.matches("<script").count(),
            text.matches("</script>").count(),
            "{page}"
        );
    }
    let jobs = json!([{"page": "valid.html", "check": true},
        {"page": "changed.html", "check": true}, {"page": "changed.html", "check": true, "axe": true}]);
    let Some(seen) = look_at(&bench, &jobs) else {
        return;
    };
    for (at, seen) in seen.iter().enumerate() {
        assert_quiet(seen);
        let elements = seen["elements"].as_object().unwrap();
        assert_eq!(
            elements["script"],
            json!(4),
            "module, bundle and two scripts"
        );
        let checked = seen["checked"].as_str().unwrap();
        assert_eq!(checked.starts_with('✓'), at == 0, "{checked}");
        assert_eq!(seen["alert"], json!(""));
        let text = seen["check_text"].as_str().unwrap();
        assert!(
            !text.contains(['\u{202e}', '\u{200b}', '\u{2028}']),
            "{text}"
        );
    }
}

#[test]
fn page_about_one_run_of_an_archive_carries_no_other() {
    let (_folder, bench) = bench();
    simple(&bench, "runs/one", "x");
    simple(&bench, "runs/two", "private");
    let pack = |name: &str, paths: &[&str]| {
        let mut tar = Command::new("tar");
        let tar = tar.current_dir(bench.path("")).args(["-cf", name]);
        assert!(tar.args(paths).status().unwrap().success());
    };
    pack("both.tar", &["runs"]);
    let ran = bench.run(&["report", "both.tar!/runs/one", "--embed", "-o", "page.html"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("`runs/two"), "{}", ran.stderr);
    assert!(!bench.path("page.html").exists());
    pack("one.tar", &["runs/one"]);
    ok(
        &bench,
        &["report", "one.tar!/runs/one", "--embed", "-o", "page.html"],
    );
}

#[test]
fn page_about_a_list_or_a_recording_has_nothing_that_those_do_not_name() {
    let (_folder, bench) = bench();
    // Three bytes are four characters of base64, wherever they are.
    let secret = "sesame";
    let encoded = "c2VzYW1l";
    bench.write("d/a.txt", "public");
    let sums = "efa1f375d76194fa51a3556a97e641e61685f914d446979da50a551a4333ffd7  a.txt\n";
    bench.write("d/SHA256SUMS", sums);
    for name in [
        "d/private.txt",
        "d/.env",
        "d/.ssh/id",
        "rec.bodies/notes.txt",
    ] {
        bench.write(name, secret);
    }
    let recording = project_root().join("vectors/model-io/ok-proxy/input.json");
    fs::copy(recording, bench.path("rec.json")).unwrap();
    for path in ["d/SHA256SUMS", "d", "rec.json"] {
        for embed in [&[][..], &["--embed"]] {
            let _ = fs::remove_file(bench.path("page.html"));
            ok(
                &bench,
                &[&["report", path, "-o", "page.html"], embed].concat(),
            );
            let page = bench.read("page.html");
            for part in [secret, encoded, "private.txt", "notes.txt", ".ssh"] {
                assert!(!page.contains(part), "{path} {embed:?}: {part}");
            }
        }
    }
}

#[test]
fn page_carries_no_more_than_it_may_and_no_links() {
    let (_folder, bench) = bench();
    simple(&bench, "run", "x");
    symlink("t.txt", bench.path("run/artifacts/link")).unwrap();
    let ran = bench.run(&["report", "run", "--embed", "-o", "page.html"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("symbolic link"), "{}", ran.stderr);
    assert!(!bench.path("page.html").exists());
    fs::remove_file(bench.path("run/artifacts/link")).unwrap();
    let large = vec![0u8; 33 << 20];
    let manifest = json!({"engine_code": "E", "engine_version": "1.0.0"});
    let artifacts = [("large.bin", large.as_slice())];
    seal_by_hand(
        &bench,
        "large",
        (manifest, json!({}), json!({})),
        &artifacts,
    );
    let ran = bench.run(&["report", "large", "--embed", "-o", "large.html"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let page = bench.read("large.html");
    assert!(page.len() < 4 << 20, "{} bytes", page.len());
    assert!(page.contains("This page does not carry what it is about"));
    assert!(!page.contains("id=\"runseal-bundle\""));
    let both = bench.run(&["report", "run", "--verifier-only", "-o", "x.html"]);
    assert_eq!(both.code, Some(64), "{}", both.stderr);
    let piped = bench.run(&["report", "-", "--embed", "-o", "x.html"]);
    assert_eq!(piped.code, Some(64), "{}", piped.stderr);
    ok(&bench, &["report", "run", "--embed", "-o", "one.html"]);
    ok(&bench, &["report", "run", "--embed", "-o", "two.html"]);
    assert_eq!(bench.read("one.html"), bench.read("two.html"));
}
