//! What `verify` must say in a dispute: attacks that version 0.1 took for valid.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use runseal_core::canon::{Dialect, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::formats::pack::{FILES, SELF_HASH, cover_files};
use runseal_testkit::cli::{Bench, Ran};
use runseal_testkit::project_root;

fn bench() -> (tempfile::TempDir, Bench) {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    (folder, bench)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::write(target, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

/// Copies the valid vector `name` of a format into the bench.
fn put(bench: &Bench, format: &str, name: &str, target: &str) {
    let vector = project_root().join("vectors").join(format).join(name);
    copy(&vector.join("input"), &bench.path(target));
}

fn read_value(bench: &Bench, name: &str) -> Value {
    let text = bench.read(name);
    let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
    document.root().to_value()
}

fn stored(value: &Value) -> Vec<u8> {
    let mut bytes = canonical_bytes(value, Dialect::Kernel).unwrap();
    bytes.push(b'\n');
    bytes
}

fn replace(bench: &Bench, name: &str, old: &str, new: &str) {
    let text = bench.read(name);
    assert!(text.contains(old), "{name} has no {old}");
    bench.write(name, text.replacen(old, new, 1));
}

/// Makes run.json list the pack's files as they are now, as a forger would.
fn cover_again(bench: &Bench, pack: &str) {
    let mut run = read_value(bench, &format!("{pack}/run.json"));
    let Value::Object(members) = &mut run else {
        panic!("run.json is an object");
    };
    members.remove(&FILES.into());
    members.remove(&SELF_HASH.into());
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(bench.path(pack)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        files.insert(name, fs::read(entry.path()).unwrap());
    }
    let others = files
        .iter()
        .map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
    cover_files(&mut run, others).unwrap();
    bench.write(&format!("{pack}/run.json"), stored(&run));
}

fn assert_finds(ran: &Ran, rule: &str) {
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    let wanted = format!("\"rule_id\":\"{rule}\"");
    assert!(ran.stdout.contains(&wanted), "no {rule}: {}", ran.stdout);
}

#[test]
fn verdict_that_was_flipped_is_caught_by_default_and_lenient_says_what_it_left_out() {
    let (_folder, bench) = bench();
    put(&bench, "pack", "ok-executed", "pack");
    assert_eq!(bench.run(&["verify", "pack"]).code, Some(0));
    replace(
        &bench,
        "pack/run.json",
        "\"accepted\":true",
        "\"accepted\":false",
    );
    assert_finds(&bench.run(&["verify", "pack", "--format", "json"]), "PK14");
    let lenient = bench.run(&["verify", "pack", "--lenient"]);
    assert_eq!(lenient.code, Some(0), "{}", lenient.stdout);
    assert!(
        lenient.stdout.contains("a changed verdict can pass"),
        "{}",
        lenient.stdout
    );
    let lenient = bench.run(&["verify", "pack", "--lenient", "--format", "json"]);
    let wanted = "\"unchecked\":[\"integrity\",\"form\"]";
    assert!(lenient.stdout.contains(wanted), "{}", lenient.stdout);
    let both = bench.run(&["verify", "pack", "--lenient", "--strict"]);
    assert_eq!(both.code, Some(3), "{}", both.stderr);
}

#[test]
fn forged_pack_whose_hashes_are_all_right_is_caught_by_what_its_records_imply() {
    let edits: [(&str, &str, &str); 5] = [
        (
            "evidence.json",
            "\"status\":\"success\"",
            "\"status\":\"failure\"",
        ),
        ("evidence.json", "\"passed\":true", "\"passed\":false"),
        (
            "runner.json",
            "\"network_blocked\":true",
            "\"network_blocked\":false",
        ),
        (
            "runner.json",
            "\"timeout_killed\":false",
            "\"timeout_killed\":true",
        ),
        ("run.json", "\"exit_code\":0", "\"exit_code\":1"),
    ];
    for (file, old, new) in edits {
        let (_folder, bench) = bench();
        put(&bench, "pack", "ok-executed", "pack");
        replace(&bench, &format!("pack/{file}"), old, new);
        cover_again(&bench, "pack");
        let ran = bench.run(&["verify", "pack", "--format", "json"]);
        assert_eq!(ran.code, Some(1), "{file} {new}: {}", ran.stdout);
        assert!(!ran.stdout.contains("PK14"), "{file} {new}: {}", ran.stdout);
    }
}

#[test]
fn results_that_are_not_what_the_held_proposal_planned_are_caught() {
    // A forger who calls whatever failed optional, and one who changes what was done.
    let edits: [&[(&str, &str, &str)]; 5] = [
        &[
            ("evidence.json", "\"required\":true", "\"required\":false"),
            ("evidence.json", "\"passed\":true", "\"passed\":false"),
            (
                "evidence.json",
                "\"status\":\"complete\"",
                "\"status\":\"partial\"",
            ),
        ],
        &[(
            "evidence.json",
            "\"action\":\"create\"",
            "\"action\":\"validate\"",
        )],
        &[(
            "evidence.json",
            "\"actual\":\"true\"",
            "\"actual\":\"false\"",
        )],
        &[("evidence.json", "\"actual\":\"0\"", "\"actual\":\"1\"")],
        &[("run.json", "\"cmd\":[\"", "\"cmd\":[\"true\",\"")],
    ];
    for edits in edits {
        let (_folder, bench) = bench();
        put(&bench, "pack", "ok-contents", "pack");
        for (file, old, new) in edits {
            let path = bench.path(&format!("pack/{file}"));
            let text = fs::read_to_string(&path).unwrap();
            // The proposal inside stays what it was: its hash is stated elsewhere.
            let (results, rest) = text.split_once("\"proposal\":").unwrap_or((&text, ""));
            let mut changed = results.replace(old, new);
            if !rest.is_empty() {
                let end = rest.find(",\"proposal_hash\"").unwrap();
                let (proposal, behind) = rest.split_at(end);
                changed += &format!("\"proposal\":{proposal}{}", behind.replace(old, new));
            }
            assert_ne!(changed, text, "{file} {old}");
            fs::write(path, changed).unwrap();
        }
        cover_again(&bench, "pack");
        let ran = bench.run(&["verify", "pack", "--format", "json"]);
        assert_eq!(ran.code, Some(1), "{edits:?}: {}", ran.stdout);
        assert!(!ran.stdout.contains("PK14"), "{edits:?}: {}", ran.stdout);
    }
}

#[test]
fn patch_whose_content_was_replaced_is_caught_without_its_declared_hash() {
    let (_folder, bench) = bench();
    put(&bench, "pack", "ok-executed", "pack");
    let mut patch = read_value(&bench, "pack/patch.json");
    let Value::Object(members) = &mut patch else {
        panic!("patch.json is an object");
    };
    let Some(Value::Array(operations)) = members.get_mut(&"operations".into()) else {
        panic!("operations is a list");
    };
    let forged = operations.iter_mut().find_map(|operation| match operation {
        Value::Object(members) if members.contains_key(&"content".into()) => Some(members),
        _ => None,
    });
    let forged = forged.unwrap();
    let content = forged.get(&"content".into()).and_then(Value::as_str);
    let content = content.unwrap().replacen('a', "b", 1);
    forged.insert("content".into(), Value::from(content));
    forged.remove(&"expected_hash".into());
    bench.write("pack/patch.json", stored(&patch));
    cover_again(&bench, "pack");
    assert_finds(&bench.run(&["verify", "pack", "--format", "json"]), "PK13");
}

#[test]
fn bundles_below_the_top_of_a_zip_are_all_checked_and_what_is_not_is_named() {
    let (_folder, bench) = bench();
    for name in ["e/a", "e/deep/b"] {
        put(&bench, "pack", "ok-executed", name);
    }
    put(&bench, "run-bundle", "ok-sealed", "e/runs/first");
    let pack = |arguments: &[&str]| {
        let code = r"
import sys, os, zipfile
with zipfile.ZipFile(sys.argv[1], 'w') as out:
    for top in sys.argv[2:]:
        for folder, _, files in os.walk(top):
            for name in sorted(files):
                out.write(os.path.join(folder, name))
";
        let status = Command::new("python3")
            .args(["-c", code])
            .args(arguments)
            .current_dir(bench.path("."))
            .status();
        assert!(status.unwrap().success());
    };
    pack(&["evidence.zip", "e"]);
    let ran = bench.run(&["verify", "evidence.zip", "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert!(ran.stdout.starts_with("{\"checked\":3,"), "{}", ran.stdout);
    fs::rename(bench.path("evidence.zip"), bench.path("e/inner.zip")).unwrap();
    pack(&["outer.zip", "e"]);
    let ran = bench.run(&["verify", "outer.zip"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("NOT CHECKED  outer.zip!/e/inner.zip"),
        "{}",
        ran.stdout
    );
}

#[test]
fn evidence_below_a_unit_whose_rules_do_not_cover_it_is_judged_too() {
    let (_folder, bench) = bench();
    put(&bench, "engine", "ok-sweep", "engine");
    put(&bench, "run-bundle", "ok-sealed", "engine/RUN_BUNDLE/good");
    put(
        &bench,
        "run-bundle",
        "rb5-artifact-changed",
        "engine/RUN_BUNDLE/bad",
    );
    bench.write("engine/tests/first.json", "{\"inputs\":{\"a\":1}}");
    let ran = bench.run(&["verify", "engine", "--format", "json"]);
    assert_finds(&ran, "RB5");
    assert!(ran.stdout.starts_with("{\"checked\":3,"), "{}", ran.stdout);
    put(&bench, "job-bundle", "ok-handbook", "job");
    put(&bench, "pack", "pk14-file-changed", "job/sub/pack");
    let ran = bench.run(&["verify", "job", "--format", "json"]);
    assert_finds(&ran, "PK14");
    let status = Command::new("tar")
        .args(["-cf", "job.tar", "job"])
        .current_dir(bench.path("."))
        .status();
    assert!(status.unwrap().success());
    let ran = bench.run(&["verify", "job.tar", "--format", "json"]);
    assert_finds(&ran, "PK14");
}

#[test]
fn things_in_an_archive_with_a_fault_are_not_sound_by_whatever_path() {
    let (_folder, bench) = bench();
    put(&bench, "run-bundle", "ok-sealed", "ev/one");
    put(&bench, "pack", "ok-executed", "ev/two");
    let code = "
import tarfile
with tarfile.open('t.tar', 'w', format=tarfile.USTAR_FORMAT) as out:
    out.add('ev')
    link = tarfile.TarInfo('ev/more')
    link.type, link.linkname = tarfile.LNKTYPE, 'ev/one/RUN_META.json'
    out.addfile(link)
";
    let status = Command::new("python3")
        .args(["-c", code])
        .current_dir(bench.path("."))
        .status();
    assert!(status.unwrap().success());
    for path in ["t.tar", "t.tar!/ev/one"] {
        let ran = bench.run(&["verify", path]);
        assert_eq!(ran.code, Some(1), "{}", ran.stdout);
        let is_sound = |line: &str| line.starts_with("ok");
        assert!(!ran.stdout.lines().any(is_sound), "{}", ran.stdout);
    }
}

#[test]
fn archive_whose_name_promises_nothing_does_not_end_like_a_zip() {
    let (_folder, bench) = bench();
    put(&bench, "run-bundle", "ok-sealed", "run");
    let code = "
import io, tarfile, zipfile
inner = io.BytesIO()
with zipfile.ZipFile(inner, 'w') as out:
    out.writestr('run/RUN_OUTPUT.json', '{}')
with tarfile.open('x', 'w', format=tarfile.USTAR_FORMAT) as out:
    out.add('run')
    entry = tarfile.TarInfo('z')
    entry.size = len(inner.getvalue())
    out.addfile(entry, io.BytesIO(inner.getvalue()))
assert zipfile.is_zipfile('x')
";
    let status = Command::new("python3")
        .args(["-c", code])
        .current_dir(bench.path("."))
        .status();
    assert!(status.unwrap().success());
    let ran = bench.run(&["verify", "x"]);
    assert!(ran.stdout.contains("INVALID  x"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("end may be that of a zip"),
        "{}",
        ran.stdout
    );
    // The name decides what people unpack it with.
    fs::rename(bench.path("x"), bench.path("x.tar")).unwrap();
    let ran = bench.run(&["verify", "x.tar"]);
    assert!(!ran.stdout.contains("end may be that"), "{}", ran.stdout);
}

#[test]
fn names_draw_no_lines_and_no_colours_in_errors() {
    let (_folder, bench) = bench();
    let name = "x\u{1b}[31m\nok       y (pack, accepted): intact, signed, trusted";
    fs::create_dir(bench.path(name)).unwrap();
    bench.write(&format!("{name}/note.txt"), "nothing to verify");
    for command in [
        "inspect",
        "report",
        "replay",
        "sign",
        "canon",
        "hash",
        "pack verify",
    ] {
        let mut arguments: Vec<&str> = command.split(' ').collect();
        arguments.push(name);
        if command == "sign" {
            bench.run(&["keygen", "-o", "key"]);
            arguments.extend(["--key", "key"]);
        }
        let ran = bench.run(&arguments);
        assert_ne!(ran.code, Some(0), "{command}");
        let text = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!text.contains('\u{1b}'), "{command}: {text:?}");
        let draws = |line: &str| line.starts_with("ok ");
        assert!(!text.lines().any(draws), "{command}: {text:?}");
    }
}

#[test]
fn demands_about_a_log_without_a_log_are_refused() {
    let (_folder, bench) = bench();
    put(&bench, "pack", "ok-executed", "pack");
    for arguments in [["--log-key", "x"], ["--log-policy", "nowhere"]] {
        let ran = bench.run(&[&["verify", "pack"][..], &arguments].concat());
        assert_eq!(ran.code, Some(3), "{}", ran.stdout);
        assert!(ran.stderr.contains("--log names"), "{}", ran.stderr);
    }
}

#[test]
fn bundle_that_was_stripped_of_files_is_still_judged_as_what_it_was() {
    let (_folder, bench) = bench();
    put(&bench, "run-bundle", "ok-sealed", "run");
    for name in ["RUN_META.json", "RUN_OUTPUT.json", "SHA256SUMS.txt"] {
        fs::remove_file(bench.path("run").join(name)).unwrap();
    }
    let ran = bench.run(&["verify", "run", "--format", "json"]);
    assert_finds(&ran, "RB1");
    assert!(
        ran.stdout.contains("\"format\":\"run-bundle\""),
        "{}",
        ran.stdout
    );
    put(&bench, "pack", "ok-executed", "pack");
    for name in ["run.json", "bundle.json"] {
        fs::remove_file(bench.path("pack").join(name)).unwrap();
    }
    let ran = bench.run(&["verify", "pack", "--format", "json"]);
    assert_finds(&ran, "PK1");
    assert!(ran.stdout.contains("\"format\":\"pack\""), "{}", ran.stdout);
}

#[test]
fn verify_demands_what_it_is_told_to_expect() {
    let (_folder, bench) = bench();
    put(&bench, "pack", "ok-executed", "in/pack");
    put(&bench, "run-bundle", "ok-sealed", "in/runs/first");
    bench.write("list.txt", "# must be there\npack\nruns/first\n");
    let arguments = [
        "verify",
        "in",
        "--expect",
        "list.txt",
        "--expect-format",
        "run-bundle",
    ];
    assert_eq!(bench.run(&arguments).code, Some(0));
    bench.write("list.txt", "receipt\nruns/second\n");
    let ran = bench.run(&["verify", "in", "--expect", "list.txt", "--format", "json"]);
    assert_finds(&ran, "EXPECT");
    assert_eq!(ran.stdout.matches("EXPECT").count(), 2, "{}", ran.stdout);
    let ran = bench.run(&[
        "verify",
        "in",
        "--expect-format",
        "receipt",
        "--format",
        "json",
    ]);
    assert_finds(&ran, "EXPECT");
    assert_eq!(
        bench
            .run(&["verify", "in", "--expect-format", "nonsense"])
            .code,
        Some(3)
    );
    assert_eq!(
        bench.run(&["verify", "in", "--expect", "none.txt"]).code,
        Some(2)
    );
    assert_eq!(
        bench.run(&["verify", "in", "--require-accepted"]).code,
        Some(0)
    );
    let ran = bench.run(&[
        "verify",
        "in/runs",
        "--require-accepted",
        "--format",
        "json",
    ]);
    assert_finds(&ran, "EXPECT");
}

#[test]
fn verify_requires_success_of_every_format_that_says_how_it_ended() {
    for (format, name, is_success) in [
        ("evidence", "ok-complete", true),
        ("evidence", "ok-partial", false),
        ("evidence", "ok-failed", false),
        ("receipt", "ok-unsigned", true),
        ("ledger", "ok-one-run", true),
        ("pack", "ok-refuse", false),
        ("run-bundle", "ok-sealed", true),
    ] {
        let (_folder, bench) = bench();
        put(&bench, "pack", "ok-executed", "in/pack");
        let vector = project_root().join("vectors").join(format).join(name);
        match ["json", "jsonl"].map(|ending| vector.join("input").with_extension(ending)) {
            [file, _] | [_, file] if file.exists() => {
                bench.write("in/other.json", fs::read_to_string(file).unwrap());
            }
            _ => put(&bench, format, name, "in/other"),
        }
        let ran = bench.run(&["verify", "in"]);
        assert_eq!(ran.code, Some(0), "{format} {name}: {}", ran.stdout);
        let ran = bench.run(&["verify", "in", "--require-accepted", "--format", "json"]);
        match is_success {
            true => assert_eq!(ran.code, Some(0), "{format} {name}: {}", ran.stdout),
            false => assert_finds(&ran, "EXPECT"),
        }
    }
    let (_folder, bench) = bench();
    put(&bench, "pack", "ok-executed", "in/pack");
    let refused = bench_ledger("ok-refuse");
    bench.write("in/ledger.jsonl", refused);
    let ran = bench.run(&["verify", "in", "--require-accepted", "--format", "json"]);
    assert_finds(&ran, "EXPECT");
}

/// The ledger of a pack among the vectors.
fn bench_ledger(pack: &str) -> String {
    let vector = project_root().join("vectors/pack").join(pack);
    fs::read_to_string(vector.join("input/ledger.jsonl")).unwrap()
}

#[test]
fn engine_is_judged_the_same_whatever_programs_this_machine_has() {
    let (_folder, bench) = bench();
    put(&bench, "engine", "ok-sweep", "engine");
    let manifest = bench.read("engine/ENGINE_MANIFEST.json");
    let at = manifest.find("\"command\"").unwrap();
    let open = at + manifest[at..].find('[').unwrap();
    let close = open + manifest[open..].find(']').unwrap();
    let command = "[\"no-program-of-this-name\"]";
    let changed = format!("{}{command}{}", &manifest[..open], &manifest[close + 1..]);
    bench.write("engine/ENGINE_MANIFEST.json", changed);
    let ran = bench.run(&["verify", "engine"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    let ran = bench.run(&["engine", "check", "engine"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
}

#[test]
fn findings_have_the_line_and_the_pointer_of_what_is_wrong() {
    let (_folder, bench) = bench();
    put(&bench, "pack", "ok-executed", "pack");
    replace(&bench, "pack/runner.json", "\"code\":0", "\"code\":300");
    let ran = bench.run(&["verify", "pack", "--format", "json"]);
    assert!(
        ran.stdout.contains("\"pointer\":\"/exit/code\""),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("\"line\":1"), "{}", ran.stdout);
    let sarif = bench.run(&["verify", "./pack", "--format", "sarif"]);
    assert!(
        sarif.stdout.contains("\"uri\":\"pack/runner.json\""),
        "{}",
        sarif.stdout
    );
    assert!(sarif.stdout.contains("\"startLine\":1"), "{}", sarif.stdout);
}
