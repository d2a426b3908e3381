//! Attacks on redacted copies: nothing that is withheld can be guessed from what is left, and a kill leaves nothing half made.

use std::collections::BTreeSet;
use std::fs;
use std::time::Instant;

use runseal_core::canon::{Dialect, ReadOptions, canonical_bytes, parse_document};
use runseal_core::digest::Digest;
use runseal_testkit::folders::files_of;
use runseal_trust::encoding::encode_base64;

use crate::redaction_support::{INPUT, OUTPUT, redact, seal};
use crate::signing_support::{bench, keygen, ok};

#[test]
fn dictionary_attack_finds_none_of_a_thousand_short_values() {
    let (_folder, bench) = bench();
    // A thousand values of one to three letters, and hashes of some of them left about.
    let values: Vec<String> = (0..1000).map(|at| format!("v{at}")).collect();
    let members: Vec<String> = values
        .iter()
        .map(|value| format!("\"k{value}\":\"{value}\""))
        .collect();
    let prompt_hash = Digest::of(b"v7");
    let content_id = Digest::of(b"\"v8\"\n").hex_prefix(16);
    let input = format!(
        r#"{{"secret":{{{}}},"prompt_hash":"sha256:{prompt_hash}","id":"node_{content_id}","city":"Ulm","by_hash":{{"{}":1}}}}"#,
        members.join(","),
        Digest::of(b"v9")
    );
    let note = format!("the hash of v10 is {}\n", Digest::of(b"v10"));
    let encoded = format!("b64 {}\n", encode_base64(Digest::of(b"v11").as_bytes()));
    let artifacts = [
        ("note.txt", note.as_str()),
        ("encoded.txt", encoded.as_str()),
        ("other.txt", "fine\n"),
    ];
    seal(&bench, "r1", &input, OUTPUT, &artifacts);
    keygen(&bench, "ada", "ed25519", "pem");
    ok(bench.run(&["sign", "out/r1", "--key", "ada"]));
    ok(redact(&bench, "r1", &["RUN_INPUT.json#/secret"], "copy"));
    ok(bench.run(&["verify", "copy", "--strict"]));
    let mut bytes: Vec<u8> = Vec::new();
    for (_, file) in files_of(&bench.path("copy")) {
        bytes.extend(file);
        bytes.push(b'\n');
    }
    for line in fs::read(bench.path("copy.intoto.jsonl"))
        .unwrap()
        .split(|b| *b == b'\n')
    {
        if let Ok(envelope) = runseal_trust::dsse::Envelope::parse(line) {
            bytes.extend(&envelope.payload);
        }
    }
    let text = String::from_utf8_lossy(&bytes).to_lowercase();
    // All hex runs of eight digits or more that are left, by their first eight.
    let runs: BTreeSet<&str> = text
        .split(|c: char| !c.is_ascii_hexdigit())
        .filter(|run| run.len() >= 8)
        .map(|run| &run[..8])
        .collect();
    let original = fs::read(bench.path("out/r1/RUN_INPUT.json")).unwrap();
    let document = parse_document(&original, &ReadOptions::default()).unwrap();
    let whole = document.root().to_value();
    let mut found = 0;
    for value in &values {
        let quoted = format!("\"{value}\"");
        let mut guesses = vec![value.clone().into_bytes(), quoted.clone().into_bytes()];
        guesses.push(format!("{value}\n").into_bytes());
        guesses.push(format!("{quoted}\n").into_bytes());
        // The attacker knows all the rest, and tries the document whole, as files are hashed.
        guesses.push(canonical_bytes(&whole, Dialect::Jcs).unwrap());
        let is_found = guesses.iter().any(|guess| {
            let digest = Digest::of(guess).to_string();
            runs.contains(&digest[..8])
                || text.contains(&encode_base64(&Digest::of(guess).as_bytes()[..]).to_lowercase())
        });
        found += usize::from(is_found);
        assert!(!text.contains(&quoted), "{value}");
    }
    assert_eq!(found, 0);
    assert!(text.contains("ulm") && text.contains("fine"));
    for gone in ["note.txt", "encoded.txt"] {
        assert!(
            !bench.path(&format!("copy/artifacts/{gone}")).exists(),
            "{gone}"
        );
    }
    assert!(
        !text.contains("kv500"),
        "names below a withheld object are hidden"
    );
}

#[test]
fn redact_killed_at_any_moment_leaves_nothing_half_visible() {
    let (_folder, bench) = bench();
    let names: Vec<String> = (0..150).map(|at| format!("f{at:03}.txt")).collect();
    let content = "content of a file\n".repeat(200);
    let artifacts: Vec<(&str, &str)> = names
        .iter()
        .map(|name| (name.as_str(), content.as_str()))
        .collect();
    seal(&bench, "r1", INPUT, OUTPUT, &artifacts);
    let arguments = |out: &'static str| ["redact", "out/r1", "--drop", "RUN_INPUT.json", "-o", out];
    let begun = Instant::now();
    ok(bench.run(&arguments("whole")));
    let takes = begun.elapsed();
    let whole: Vec<_> = files_of(&bench.path("whole"))
        .into_iter()
        .map(|(_, bytes)| bytes)
        .collect();
    let (mut cut, mut made) = (0, 0);
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for _ in 0..60 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // Anywhere between the first instruction and a little after the last.
        let after = takes.mul_f64((random % 1000) as f64 / 900.0);
        bench.kill_after(&arguments("copies/c"), after);
        // Under its name there is the whole copy or nothing, and nothing else has a name that could
        // be taken for one.
        let copy = bench.path("copies/c");
        if copy.exists() {
            let found = files_of(&copy).into_iter().map(|(_, bytes)| bytes);
            assert_eq!(found.collect::<Vec<_>>(), whole);
            runseal_testkit::folders::open_up(&copy);
            fs::remove_dir_all(&copy).unwrap();
            made += 1;
        } else {
            cut += 1;
        }
        if let Ok(entries) = fs::read_dir(bench.path("copies")) {
            for entry in entries {
                let name = entry.unwrap().file_name().into_string().unwrap();
                assert!(name.starts_with('.'), "{name} is left");
            }
        }
    }
    assert!(
        cut >= 10,
        "only {cut} were killed at work, {made} had ended"
    );
    // What the killed ones left is in nobody's way, and gone after the next one.
    ok(bench.run(&arguments("copies/c")));
    ok(bench.run(&["verify", "copies/c", "--strict"]));
    let left: Vec<_> = fs::read_dir(bench.path("copies"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["c"]);
}

#[test]
fn redact_into_the_bundle_itself_is_refused_and_leaves_it_whole() {
    let (_folder, bench) = bench();
    seal(&bench, "r1", INPUT, OUTPUT, &[("note.txt", "one\n")]);
    let before = files_of(&bench.path("out/r1"));
    std::os::unix::fs::symlink("out/r1", bench.path("link")).unwrap();
    for out in [
        "out/r1/copy",
        "out/r1/new/copy",
        "link/copy",
        "out/r1/artifacts/../copy",
    ] {
        let refused = redact(&bench, "r1", &["artifacts/note.txt"], out);
        assert_eq!(refused.code, Some(2), "{out}: {refused:?}");
        assert!(refused.stderr.contains("INSIDE"), "{out}: {refused:?}");
    }
    assert!(before == files_of(&bench.path("out/r1")));
    ok(redact(&bench, "r1", &["artifacts/note.txt"], "out/copy"));
    ok(bench.run(&["verify", "out/r1", "--strict"]));
    let again = bench.run(&["redact", "out/copy", "--drop", "x", "-o", "more"]);
    assert!(again.stderr.contains("it is a redacted copy"), "{again:?}");
}

#[test]
fn redact_by_match_warns_of_names_that_stay() {
    let (_folder, bench) = bench();
    let input = r#"{"of":{"Mallory":"Mallory pays","Bob":1},"hidden":"Mallory"}"#;
    let artifacts = [("Mallory.txt", "Mallory\n"), ("b.txt", "fine\n")];
    seal(&bench, "r1", input, OUTPUT, &artifacts);
    let args = ["redact", "out/r1", "--match", "Mall[a-z]+", "-o", "copy"];
    let ran = bench.run(&args);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for name in ["`artifacts/Mallory.txt`", "`RUN_INPUT.json#/of/Mallory`"] {
        assert!(ran.stderr.contains(name), "{name}: {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("/hidden"), "{}", ran.stderr);
    let args = ["redact", "out/r1", "--match", "Mall[", "-o", "other"];
    let refused = bench.run(&args);
    assert_eq!(
        (refused.code, refused.stderr.lines().count()),
        (Some(64), 2),
        "{refused:?}"
    );
}
