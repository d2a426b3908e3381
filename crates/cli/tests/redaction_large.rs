//! Large files and lines of JSON are withheld in parts; and copies are checked by an implementation
//! that was written from the documentation.

use std::fs;

use runseal_core::canon::{Dialect, canonical_bytes};
use runseal_core::digest::Digest;
use runseal_core::formats::redacted::chunks::read_pieces;
use runseal_core::formats::redacted::commit::{commit_bytes, commit_large};
use runseal_core::formats::redacted::documents::{
    Opening, REDACTED, REDACTION, Redacted, Redaction,
};
use runseal_testkit::cli::{Bench, Ran};
use runseal_testkit::folders::open_up;

use crate::redaction_support::{INPUT, OUTPUT, handed_over, pack, redact, seal};
use crate::signing_support::{bench, ok};

#[test]
fn large_file_is_withheld_by_its_bytes_and_disclosed_piece_by_piece() {
    let (_folder, bench) = bench();
    let line = |at: usize| format!("line {at:06} of a long log\n");
    let mut log: String = (0..80_000).map(line).collect();
    let secret = 1_000_000;
    log.replace_range(secret..secret + 7, "PIN4711");
    assert!(log.len() > 2_000_000);
    seal(&bench, "r1", INPUT, OUTPUT, &[("long.log", &log)]);
    let first = secret / 65_536;
    let piece = format!("bytes={}-{}", first * 65_536, (first + 1) * 65_536 - 1);
    ok(bench.run(&["redact", "out/r1", "--match", "PIN4711", "-o", "copy"]));
    let said = ok(bench.run(&["verify", "copy", "--strict"]));
    let place = format!("withheld: artifacts/long.log#{piece}");
    assert!(said.contains(&place), "{said}");
    let shown = fs::read(bench.path("copy/artifacts/long.log")).unwrap();
    assert_eq!(shown.len(), log.len());
    let (start, end) = (first * 65_536, (first + 1) * 65_536);
    assert!(shown[start..end].iter().all(|byte| *byte == 0));
    assert_eq!(&shown[..start], &log.as_bytes()[..start]);
    assert_eq!(&shown[end..], &log.as_bytes()[end..]);
    let text = handed_over(&bench, "copy");
    let digest = Digest::of(log.as_bytes()).to_string();
    assert!(!text.contains("PIN4711") && !text.contains(&digest[..8]));
    // Bytes put where others are withheld, and bytes changed elsewhere.
    open_up(&bench.path("copy"));
    for at in [start + 5, 3] {
        let mut forged = shown.clone();
        forged[at] = b'X';
        bench.write("copy/artifacts/long.log", &forged);
        let ran = bench.run(&["verify", "copy"]);
        assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    }
    bench.write("copy/artifacts/long.log", &shown);
    // The same by a range, across a border; and in an archive.
    let range = "artifacts/long.log#bytes=65530-65540";
    ok(redact(&bench, "r1", &[range], "copy2"));
    let said = ok(bench.run(&["verify", "copy2"]));
    assert!(
        said.contains("#bytes=0-65535") && said.contains("#bytes=65536-131071"),
        "{said}"
    );
    // In an archive too, whether pieces of the file are withheld or not; a forged one is found.
    ok(redact(&bench, "r1", &["RUN_INPUT.json"], "copy3"));
    let run = |program: &str, arguments: &[&str]| {
        let ran = std::process::Command::new(program)
            .args(arguments)
            .current_dir(bench.path(""))
            .status();
        assert!(ran.unwrap().success());
    };
    for copy in ["copy2", "copy3"] {
        let (packed, plain) = (format!("{copy}.tar.gz"), format!("{copy}.tar"));
        run("tar", &["-czf", &packed, copy]);
        run("tar", &["-cf", &plain, copy]);
        for archive in [packed, plain] {
            let said = ok(bench.run(&["verify", &archive]));
            assert_eq!(said.contains("#bytes=65536-131071"), copy == "copy2");
            ok(bench.run(&["inspect", &archive]));
        }
    }
    open_up(&bench.path("copy2"));
    let mut forged = fs::read(bench.path("copy2/artifacts/long.log")).unwrap();
    *forged.last_mut().unwrap() ^= 1;
    bench.write("copy2/artifacts/long.log", &forged);
    run("tar", &["-czf", "forged.tar.gz", "copy2"]);
    let ran = bench.run(&["verify", "forged.tar.gz"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    // A stream goes by once: that is said, and nothing is taken for checked.
    let stream = fs::File::open(bench.path("copy2.tar")).unwrap();
    let ran: Ran = bench
        .command(&["verify", "-"])
        .stdin(stream)
        .output()
        .unwrap()
        .into();
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    assert!(ran.stdout.contains("save it first"), "{}", ran.stdout);
    let beyond = format!("artifacts/long.log#bytes=0-{}", log.len());
    let ran = redact(&bench, "r1", &[&beyond], "none");
    assert!(ran.stderr.starts_with("FITS_NOTHING"), "{}", ran.stderr);
    // One piece, later, with proof.
    let place = format!("artifacts/long.log#{piece}");
    ok(bench.run(&["redact", "out/r1", "--disclose", &place, "-o", "piece.json"]));
    ok(bench.run(&["unredact", "copy", "--with", "piece.json", "-o", "copy4"]));
    ok(bench.run(&["verify", "copy4", "--strict"]));
    let shown = fs::read(bench.path("copy4/artifacts/long.log")).unwrap();
    assert_eq!(shown, log.as_bytes());
    let disclosed = fs::read_to_string(bench.path("piece.json")).unwrap();
    bench.write(
        "bad.json",
        disclosed.replacen("base64\":\"", "base64\":\"AAAA", 1),
    );
    let ran = bench.run(&["unredact", "copy", "--with", "bad.json", "-o", "none"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(!bench.path("none").exists());
}

#[test]
fn large_file_shown_whole_with_the_pieces_of_another_is_not_what_was_sealed() {
    let (_folder, bench) = bench();
    let (log, other) = ("passed\n".repeat(200_000), "failed\n".repeat(200_000));
    seal(&bench, "r1", INPUT, OUTPUT, &[("long.log", &log)]);
    ok(redact(&bench, "r1", &["RUN_INPUT.json"], "copy"));
    ok(bench.run(&["verify", "copy"]));
    open_up(&bench.path("copy"));
    // A commitment whose half about the bytes is of one file, and whose half about the pieces is of another.
    let read = |name: &str| fs::read(bench.path(&format!("copy/{name}"))).unwrap();
    let mut redacted = Redacted::parse(&read(REDACTED)).unwrap();
    let mut redaction = Redaction::parse(&read(REDACTION)).unwrap();
    let opening = redacted.openings.get_mut("artifacts/long.log").unwrap();
    let Opening::Large(key, pieces) = opening else {
        panic!("it is not shown whole");
    };
    let other = read_pieces(&mut other.as_bytes(), |_| ()).unwrap();
    *pieces = other.commit_pieces(key);
    let whole = key.member(&"whole".into()).salt();
    let whole = commit_bytes(&Digest::of(log.as_bytes()), &whole);
    let sealed = commit_large(log.len() as u64, &whole, pieces, &key.salt());
    let files = redaction.files.iter_mut();
    for file in files.filter(|file| file.path == "artifacts/long.log") {
        file.commitment = sealed;
    }
    for (name, value) in [
        (REDACTED, redacted.to_value()),
        (REDACTION, redaction.to_value().unwrap()),
    ] {
        let bytes = canonical_bytes(&value, Dialect::Jcs).unwrap();
        bench.write(&format!("copy/{name}"), bytes);
    }
    let ran = bench.run(&["verify", "copy"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    let said = "its pieces are not those that were sealed";
    assert!(ran.stdout.contains(said), "{}", ran.stdout);
}

#[test]
fn lines_of_json_are_withheld_one_by_one() {
    let (_folder, bench) = bench();
    let lines = "{\"n\":1,\"who\":\"PIN4711\"}\n{\"n\":2,\"who\":\"all\"}\n";
    let odd = "{\"n\": 1, \"who\": \"PIN4711\"}\n";
    let artifacts = [("a.jsonl", lines), ("odd.jsonl", odd)];
    seal(&bench, "r1", INPUT, OUTPUT, &artifacts);
    ok(bench.run(&["redact", "out/r1", "--match", "PIN4711", "-o", "copy"]));
    ok(bench.run(&["verify", "copy", "--strict"]));
    let shown = fs::read_to_string(bench.path("copy/artifacts/a.jsonl")).unwrap();
    assert!(
        shown.starts_with("{\"n\":1,\"who\":{\"runseal.redacted\":\"")
            && shown.ends_with("{\"n\":2,\"who\":\"all\"}\n"),
        "{shown}"
    );
    assert!(!bench.path("copy/artifacts/odd.jsonl").exists());
}

/// What the checker in Python, which was written from the documentation, says of a copy.
fn python_says(bench: &Bench, copy: &str) -> Option<String> {
    let script = runseal_testkit::project_root().join("crates/cli/tests/outside/redacted_check.py");
    let output = std::process::Command::new("python3")
        .arg(script.canonicalize().unwrap())
        .arg(copy)
        .current_dir(bench.path(""))
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    output.status.success().then(|| said.trim().to_owned())
}

#[test]
fn copies_are_accepted_by_an_implementation_written_from_the_documentation() {
    let (_folder, bench) = bench();
    pack(&bench, &[]);
    ok(bench.run(&["redact", "pack", "--match", "PIN4711", "-o", "pack-copy"]));
    let large = "0123456789abcde\n".repeat(100_000);
    let lines = "{\"n\":1.5,\"who\":\"é\\u0007\"}\n{\"n\":-2,\"who\":[]}\n";
    let artifacts = [
        ("large.txt", large.as_str()),
        ("a.jsonl", lines),
        ("b", "x"),
    ];
    seal(&bench, "r1", INPUT, OUTPUT, &artifacts);
    let drops = [
        "RUN_INPUT.json#/context/name",
        "RUN_OUTPUT.json#/outputs/parts/1",
        "artifacts/large.txt#bytes=70000-70001",
        "artifacts/a.jsonl#/0/n",
    ];
    ok(redact(&bench, "r1", &drops, "run-copy"));
    for copy in ["pack-copy", "run-copy"] {
        let said = python_says(&bench, copy).unwrap();
        let counts = said.strip_prefix("holds: ").unwrap().to_owned();
        let ours = ok(bench.run(&["verify", copy]));
        assert!(
            ours.contains(&format!("redacted {counts}")),
            "{said}: {ours}"
        );
    }
    open_up(&bench.path("run-copy"));
    let path = bench.path("run-copy/artifacts/large.txt");
    let mut bytes = fs::read(&path).unwrap();
    bytes[7] ^= 1;
    fs::write(path, bytes).unwrap();
    assert_eq!(python_says(&bench, "run-copy"), None);
}
