//! `--redactable`, `redact`, `unredact`: copies verify, forgeries do not, and nothing that is
//! withheld can be guessed from what is left.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "test code"
)]

mod signing_support;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use runseal_core::canon::{Dialect, ReadOptions, canonical_bytes, parse_document};
use runseal_core::digest::Digest;
use runseal_testkit::cli::{Bench, Ran};
use runseal_testkit::project_root;
use runseal_trust::encoding::encode_base64;

use signing_support::{bench, keygen, ok};

const OUTPUT: &str = r#"{"engine":{"engine_code":"OPEN","engine_version":"1.0.0"},
    "semantics":"RAW_TRUTH","outputs":{"answer":"the name is Mallory","score":7,"parts":[1,2,3]}}"#;

/// An engine that takes anything and gives anything.
fn open_engine(bench: &Bench) {
    let example = project_root().join("examples/engines/resonance-sweep");
    let read = |name: &str| fs::read_to_string(example.join(name)).unwrap();
    let manifest = read("ENGINE_MANIFEST.json");
    let document = parse_document(manifest.as_bytes(), &ReadOptions::default()).unwrap();
    let mut manifest = document.root().to_value();
    manifest.insert("engine_code", "OPEN");
    let manifest = canonical_bytes(&manifest, Dialect::Jcs).unwrap();
    bench.write(
        "engine/ENGINE_MANIFEST.json",
        String::from_utf8(manifest).unwrap(),
    );
    bench.write("engine/INPUT_SCHEMA.json", "{}");
    bench.write("engine/OUTPUT_SCHEMA.json", "{}");
    bench.write("engine/COUPLING_RULES.json", read("COUPLING_RULES.json"));
    bench.write("engine/SEALING_SPEC.md", "as it is");
    // What the manifest's command names.
    for entry in fs::read_dir(&example).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_file() && !bench.path(&format!("engine/{name}")).exists() {
            fs::copy(entry.path(), bench.path(&format!("engine/{name}"))).unwrap();
        }
    }
}

/// Seals a redactable run with this input, output and artifacts, at `out/<id>`.
fn seal(bench: &Bench, id: &str, input: &str, output: &str, artifacts: &[(&str, &str)]) {
    if !bench.path("engine").exists() {
        open_engine(bench);
    }
    bench.write("input.json", input);
    bench.write("output.json", output);
    let _ = fs::remove_dir_all(bench.path("files"));
    bench.write("files/.keep", "");
    fs::remove_file(bench.path("files/.keep")).unwrap();
    for (name, text) in artifacts {
        bench.write(&format!("files/{name}"), text);
    }
    let mut command = bench.command(&[
        "seal",
        "engine",
        "input.json",
        "output.json",
        "--out",
        "out",
        "--run-id",
        id,
        "--artifacts",
        "files",
        "--redactable",
    ]);
    command
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .stdin(Stdio::null());
    ok(command.output().unwrap().into());
}

fn redact(bench: &Bench, id: &str, drops: &[&str], out: &str) -> Ran {
    let path = format!("out/{id}");
    let mut arguments = vec!["redact", &path, "-o", out, "--reason", "personal"];
    for drop in drops {
        arguments.extend(["--drop", drop]);
    }
    bench.run(&arguments)
}

/// Every file below a folder, with its bytes.
fn files_of(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                let bytes = fs::read(&path).unwrap();
                found.push((path, bytes));
            }
        }
    }
    found.sort();
    found
}

/// Makes a copied bundle writable, so that it can be forged.
fn open_up(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            open_up(&path);
        } else {
            fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
        }
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::write(target, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

const INPUT: &str =
    r#"{"context":{"city":"Ulm","name":"Mallory","age":41},"prompt":"say the name"}"#;

#[test]
fn copy_verifies_says_what_is_withheld_and_keeps_the_signature() {
    let (_folder, bench) = bench();
    let artifacts = [
        ("log.txt", "Mallory was here\n"),
        ("data.json", r#"{"k":[1,{"x":"y"}]}"#),
    ];
    seal(&bench, "r1", INPUT, OUTPUT, &artifacts);
    let seed = bench.path("out/r1.seed");
    let mode = fs::metadata(&seed).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    keygen(&bench, "ada", "ed25519", "pem");
    ok(bench.run(&["sign", "out/r1", "--key", "ada", "--as", "Ada"]));
    ok(bench.run(&["trust", "init", "trust.toml"]));
    ok(bench.run(&[
        "trust",
        "add",
        "trust.toml",
        "ada",
        "--key",
        "ada.pub",
        "--accept",
    ]));
    ok(bench.run(&["verify", "out/r1", "--strict", "--trust", "trust.toml"]));
    let drops = [
        "RUN_INPUT.json#/context/name",
        "artifacts/log.txt",
        "RUN_OUTPUT.json#/outputs/answer",
    ];
    let said = ok(redact(&bench, "r1", &drops, "copy"));
    assert!(
        said.contains(r#""place":"RUN_OUTPUT.json#/inputs_hash""#),
        "{said}"
    );
    let said = ok(bench.run(&["verify", "copy", "--strict", "--trust", "trust.toml"]));
    for part in [
        "redacted copy",
        "redacted 5 of",
        "withheld: RUN_INPUT.json#/context/name: personal",
        "withheld: RUN_OUTPUT.json#/outputs_hash: a digest of what is withheld",
        "withheld: artifacts/log.txt: personal",
        "over REDACTION.json",
        "trusted",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let json = ok(bench.run(&["verify", "copy", "--format", "json"]));
    assert!(json.contains(r#""format":"redacted-bundle""#), "{json}");
    // What is not withheld is there as it was.
    let shown = fs::read_to_string(bench.path("copy/RUN_INPUT.json")).unwrap();
    assert!(
        shown.contains("\"city\":\"Ulm\"") && !shown.contains("Mallory"),
        "{shown}"
    );
    assert_eq!(
        fs::read(bench.path("copy/artifacts/data.json")).unwrap(),
        fs::read(bench.path("out/r1/artifacts/data.json")).unwrap()
    );
    // Neither seed nor salt file went along.
    let seed = fs::read_to_string(seed).unwrap();
    for (path, bytes) in files_of(&bench.path("copy")) {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(seed.trim()), "{}", path.display());
        assert!(!text.contains("Mallory"), "{}", path.display());
    }
    assert!(!bench.path("copy/REDACTION_SALT.json").exists());
    ok(bench.run(&["inspect", "copy"]));
    // Two copies can be compared.
    ok(redact(&bench, "r1", &["RUN_INPUT.json#/context"], "other"));
    let ran = bench.run(&["diff", "copy", "other"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
}

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
fn every_forged_copy_is_broken() {
    let (_folder, bench) = bench();
    let artifacts = [
        ("a.txt", "one"),
        ("b.txt", "two"),
        ("c.json", r#"{"list":[1,2,3]}"#),
    ];
    seal(&bench, "r1", INPUT, OUTPUT, &artifacts);
    ok(redact(
        &bench,
        "r1",
        &["RUN_INPUT.json#/context/name", "artifacts/b.txt"],
        "copy",
    ));
    ok(bench.run(&["verify", "copy", "--strict"]));
    let forge = |name: &str, change: &dyn Fn(&Path)| {
        let to = bench.path("forged");
        let _ = fs::remove_dir_all(&to);
        copy_folder(&bench.path("copy"), &to);
        open_up(&to);
        change(&to);
        let ran = bench.run(&["verify", "forged"]);
        assert_eq!(ran.code, Some(1), "{name}: {}{}", ran.stdout, ran.stderr);
    };
    let edit = |file: &'static str, from: &'static str, to: &'static str| {
        move |folder: &Path| {
            let path = folder.join(file);
            let text = fs::read_to_string(&path).unwrap();
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text, "{file} {from}");
            fs::write(path, changed).unwrap();
        }
    };
    forge("value changed", &edit("RUN_INPUT.json", "Ulm", "Bonn"));
    forge(
        "member added",
        &edit(
            "RUN_INPUT.json",
            "{\"context\":{",
            "{\"context\":{\"admin2\":1,",
        ),
    );
    forge("member dropped", &edit("RUN_INPUT.json", "\"age\":41,", ""));
    forge(
        "marker filled in",
        &edit(
            "RUN_INPUT.json",
            "{\"runseal.redacted\"",
            "{\"runseal.redactef\"",
        ),
    );
    forge(
        "element dropped",
        &edit("artifacts/c.json", "[1,2,3]", "[1,2]"),
    );
    forge(
        "elements swapped",
        &edit("artifacts/c.json", "[1,2,3]", "[2,1,3]"),
    );
    forge("file changed", &edit("artifacts/a.txt", "one", "two"));
    forge(
        "reason emptied",
        &edit("REDACTED.json", "\"personal\"", "\"\""),
    );
    forge(
        "place not listed",
        &edit("REDACTED.json", "/context/name", "/context/nam"),
    );
    forge(
        "commitment changed",
        &edit("REDACTION.json", "\"kind\":\"bytes\"", "\"kind\":\"json\""),
    );
    forge("file dropped", &|folder| {
        fs::remove_file(folder.join("artifacts/a.txt")).unwrap()
    });
    forge("file added", &|folder| {
        fs::write(folder.join("artifacts/new.txt"), "x").unwrap()
    });
    forge("file brought back", &|folder| {
        fs::write(folder.join("artifacts/b.txt"), "two").unwrap()
    });
    forge("list taken away", &|folder| {
        fs::remove_file(folder.join("REDACTION.json")).unwrap()
    });
    // Withheld without leave: what must stay replaced by a marker, opening and all.
    forge(
        "id withheld",
        &edit(
            "RUN_META.json",
            "\"run_id\":\"r1\"",
            "\"run_id\":{\"runseal.redacted\":\"00\"}",
        ),
    );
    // Every single byte of a shown document.
    let document = fs::read(bench.path("copy/RUN_INPUT.json")).unwrap();
    for at in (0..document.len()).step_by(7) {
        forge("byte flipped", &|folder| {
            let mut changed = document.clone();
            changed[at] ^= 1;
            fs::write(folder.join("RUN_INPUT.json"), changed).unwrap();
        });
    }
}

#[test]
fn value_disclosed_later_is_accepted_only_where_it_was_sealed() {
    let (_folder, bench) = bench();
    seal(&bench, "r1", INPUT, OUTPUT, &[("b.bin", "binary")]);
    let drops = ["RUN_INPUT.json#/context", "artifacts/b.bin"];
    ok(redact(&bench, "r1", &drops, "copy"));
    ok(bench.run(&[
        "redact",
        "out/r1",
        "--disclose",
        "RUN_INPUT.json#/context",
        "artifacts/b.bin",
        "-o",
        "values.json",
    ]));
    ok(bench.run(&["unredact", "copy", "--with", "values.json", "-o", "more"]));
    let said = ok(bench.run(&["verify", "more", "--strict"]));
    assert!(!said.contains("artifacts/b.bin"), "{said}");
    let shown = fs::read_to_string(bench.path("more/RUN_INPUT.json")).unwrap();
    assert!(shown.contains("Mallory"));
    // A disclosure of one value opens that value alone.
    ok(redact(
        &bench,
        "r1",
        &[
            "RUN_INPUT.json#/context/name",
            "RUN_INPUT.json#/context/city",
        ],
        "two",
    ));
    ok(bench.run(&[
        "redact",
        "out/r1",
        "--disclose",
        "RUN_INPUT.json#/context/city",
        "-o",
        "city.json",
    ]));
    let city = fs::read_to_string(bench.path("city.json")).unwrap();
    assert!(!city.contains("Mallory"));
    ok(bench.run(&["unredact", "two", "--with", "city.json", "-o", "three"]));
    let said = ok(bench.run(&["verify", "three"]));
    assert!(
        said.contains("context/name") && !said.contains("context/city"),
        "{said}"
    );
    // A lie, another place, a place that is not withheld.
    for (from, to) in [
        ("Ulm", "Bonn"),
        ("/context/city", "/context/name"),
        ("/context/city", "/context/age"),
    ] {
        bench.write("lie.json", city.replace(from, to));
        let ran = bench.run(&["unredact", "two", "--with", "lie.json", "-o", "lied"]);
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        assert!(ran.stderr.contains("DISCLOSURE: "), "{}", ran.stderr);
        assert!(!bench.path("lied").exists());
    }
}

#[test]
fn bad_input_is_told_and_nothing_is_written() {
    let (_folder, bench) = bench();
    seal(&bench, "r1", INPUT, OUTPUT, &[("a.txt", "one")]);
    let refused = |ran: Ran, code: i32, message: &str| {
        assert_eq!(ran.code, Some(code), "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(message), "{}", ran.stderr);
        assert!(!bench.path("copy").exists());
    };
    refused(
        redact(&bench, "r1", &["RUN_INPUT.json#/context/nobody"], "copy"),
        1,
        "FITS_NOTHING: ",
    );
    refused(
        redact(&bench, "r1", &["nothing/**"], "copy"),
        1,
        "FITS_NOTHING: ",
    );
    for stays in [
        "RUN_META.json",
        "RUN_META.json#/run_id",
        "RUN_OUTPUT.json#/engine",
        "RUN_*",
    ] {
        refused(redact(&bench, "r1", &[stays], "copy"), 1, "STAYS: ");
    }
    refused(
        bench.run(&["redact", "out/r1", "-o", "copy"]),
        64,
        "nothing to withhold",
    );
    refused(
        bench.run(&["redact", "out/r1", "--match", "(", "-o", "copy"]),
        64,
        "no pattern",
    );
    bench.write("bad.seed", "0".repeat(64));
    let with = |seed: &str| {
        bench.run(&[
            "redact",
            "out/r1",
            "--seed",
            seed,
            "--drop",
            "artifacts/a.txt",
            "-o",
            "copy",
        ])
    };
    refused(
        with("bad.seed"),
        2,
        "SEED: the seed is not that of this bundle",
    );
    bench.write("none.seed", "hello");
    refused(with("none.seed"), 2, "SEED: ");
    refused(with("nowhere"), 2, "NOT_FOUND: ");
    // A bundle that was sealed without.
    bench.write("input.json", INPUT);
    let arguments = [
        "seal",
        "engine",
        "input.json",
        "output.json",
        "--out",
        "out",
        "--run-id",
        "plain",
    ];
    ok(bench.run(&arguments));
    refused(
        redact(&bench, "plain", &["RUN_INPUT.json"], "copy"),
        2,
        "NOT_REDACTABLE: ",
    );
    // A copy is not redacted again, and nothing is overwritten.
    ok(redact(&bench, "r1", &["artifacts/a.txt"], "done"));
    let seed = "out/r1.seed";
    refused(
        bench.run(&[
            "redact",
            "done",
            "--seed",
            seed,
            "--drop",
            "RUN_INPUT.json",
            "-o",
            "copy",
        ]),
        2,
        "REDACTED: ",
    );
    let ran = redact(&bench, "r1", &["RUN_INPUT.json"], "done");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("EXISTS: "), "{}", ran.stderr);
    // What looks redacted is not sealed.
    bench.write("input.json", r#"{"a":{"runseal.redacted":"x"}}"#);
    let ran = bench.run(&[
        "seal",
        "engine",
        "input.json",
        "output.json",
        "--out",
        "out",
        "--run-id",
        "m",
        "--redactable",
    ]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(!bench.path("out/m").exists() && !bench.path("out/m.seed").exists());
    // Predicates that state digests are not signed.
    keygen(&bench, "key", "ed25519", "pem");
    let ran = bench.run(&["sign", "out/r1", "--key", "key", "--predicate", "slsa"]);
    assert_eq!(ran.code, Some(64), "{}", ran.stderr);
}

#[test]
fn plan_profile_patterns_and_default_id() {
    let (_folder, bench) = bench();
    let input =
        r#"{"users":[{"mail":"a@example.com","n":1},{"mail":"b@example.com","n":2}],"x":1}"#;
    seal(
        &bench,
        "r1",
        input,
        OUTPUT,
        &[("mail.txt", "from c@example.com\n"), ("a.txt", "one")],
    );
    bench.write(
        "privacy.toml",
        "runseal-redaction = 1\n[[drop]]\nmatch = '[a-z]+@example\\.com'\nreason = \"addresses\"\n[[drop]]\nplace = \"RUN_INPUT.json#/users/*/n\"\nreason = \"counts\"\n",
    );
    let plan = ok(bench.run(&["redact", "out/r1", "--profile", "privacy.toml", "--plan"]));
    for place in [
        "RUN_INPUT.json#/users/0/mail",
        "RUN_INPUT.json#/users/1/n",
        "artifacts/mail.txt",
        "RB7",
    ] {
        assert!(plan.contains(place), "{place}: {plan}");
    }
    assert!(!plan.contains("artifacts/a.txt"), "{plan}");
    ok(bench.run(&[
        "redact",
        "out/r1",
        "--profile",
        "privacy.toml",
        "-o",
        "copy",
    ]));
    for (_, bytes) in files_of(&bench.path("copy")) {
        assert!(!String::from_utf8_lossy(&bytes).contains("@example.com"));
    }
    bench.write("bad.toml", "runseal-redaction = 1\nunknown = 1\n");
    let ran = bench.run(&["redact", "out/r1", "--profile", "bad.toml", "--plan"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    // The id that is made by default holds no digits of the input's hash.
    let arguments = [
        "seal",
        "engine",
        "input.json",
        "output.json",
        "--out",
        "ids",
    ];
    let run = |more: &[&str]| {
        let mut all = arguments.to_vec();
        all.extend(more);
        let mut command = bench.command(&all);
        command
            .env("SOURCE_DATE_EPOCH", "1700000000")
            .stdin(Stdio::null());
        ok(command.output().unwrap().into())
    };
    let plain = run(&[]);
    bench.write("my.seed", "7".repeat(64));
    let blinded = run(&["--redactable", "--seed", "my.seed"]);
    let id = |said: &str| said.split("run_20231114T221320Z_").nth(1).unwrap()[..8].to_owned();
    assert_ne!(id(&plain), id(&blinded));
    // The same seed gives the same bytes.
    let first = files_of(&bench.path(&format!("ids/run_20231114T221320Z_{}", id(&blinded))));
    fs::rename(bench.path("ids"), bench.path("before")).unwrap();
    assert_eq!(run(&["--redactable", "--seed", "my.seed"]), blinded);
    let second = files_of(&bench.path(&format!("ids/run_20231114T221320Z_{}", id(&blinded))));
    let bytes = |files: Vec<(PathBuf, Vec<u8>)>| {
        files
            .into_iter()
            .map(|(_, bytes)| bytes)
            .collect::<Vec<_>>()
    };
    assert_eq!(bytes(first), bytes(second));
}

#[test]
fn killed_redact_leaves_nothing_half_visible() {
    let (_folder, bench) = bench();
    let names: Vec<String> = (0..300).map(|at| format!("f{at:03}.txt")).collect();
    let artifacts: Vec<(&str, &str)> = names
        .iter()
        .map(|name| (name.as_str(), "content"))
        .collect();
    seal(&bench, "r1", INPUT, OUTPUT, &artifacts);
    for round in 0..10 {
        let out = format!("copies/c{round}");
        let mut child = bench
            .command(&["redact", "out/r1", "--drop", "RUN_INPUT.json", "-o", &out])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(8 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        // Under its name there is a whole copy or nothing.
        if bench.path(&out).exists() {
            ok(bench.run(&["verify", &out, "--strict"]));
        }
    }
    ok(redact(&bench, "r1", &["RUN_INPUT.json"], "copies/last"));
    ok(bench.run(&["verify", "copies/last", "--strict"]));
}

#[test]
fn sd_jwt_of_a_document_is_read_by_another_implementation() {
    let (_folder, bench) = bench();
    seal(&bench, "r1", INPUT, OUTPUT, &[]);
    let python = project_root().join("target/trust-tools/venv/bin/python");
    let script = project_root().join("crates/cli/tests/outside/sd_jwt_check.py");
    let script = script.canonicalize().unwrap();
    for (kind, algorithm) in [("ed25519", "EdDSA"), ("ecdsa-p256", "ES256")] {
        keygen(&bench, kind, kind, "pem");
        let token = format!("{kind}.sdjwt");
        ok(bench.run(&[
            "redact",
            "out/r1",
            "--drop",
            "RUN_INPUT.json#/context/name",
            "--sd-jwt",
            "RUN_INPUT.json",
            "--key",
            kind,
            "-o",
            &token,
        ]));
        let text = fs::read_to_string(bench.path(&token)).unwrap();
        assert!(
            text.ends_with('~') && text.matches('.').count() == 2,
            "{text}"
        );
        let beside = bench.path(&format!("{token}.disclosures"));
        let mode = fs::metadata(&beside).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        let kept = fs::read_to_string(beside).unwrap();
        let (place, disclosure) = kept.trim().split_once(' ').unwrap();
        assert_eq!(place, "RUN_INPUT.json#/context/name");
        if !python.is_file() {
            let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
            assert!(!in_ci, "CI must have sd-jwt");
            eprintln!("SKIPPED: sd-jwt is not installed; `.ci/trust-tools` does that");
            continue;
        }
        let check = |token: String| {
            let mut child = std::process::Command::new(&python)
                .arg(&script)
                .args([format!("{kind}.pub"), algorithm.to_owned()])
                .current_dir(bench.path(""))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            std::io::Write::write_all(&mut child.stdin.take().unwrap(), token.as_bytes()).unwrap();
            let output = child.wait_with_output().unwrap();
            output
                .status
                .success()
                .then(|| String::from_utf8(output.stdout).unwrap())
        };
        let claims = check(text.clone()).unwrap();
        assert!(
            claims.contains("Ulm") && !claims.contains("Mallory"),
            "{claims}"
        );
        let disclosed = check(format!("{text}{disclosure}~")).unwrap();
        assert!(disclosed.contains("Mallory"), "{disclosed}");
        let forged = text.replacen('.', ".e30", 1);
        assert_eq!(check(forged), None);
    }
}
