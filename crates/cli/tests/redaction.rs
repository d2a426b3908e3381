//! `--redactable`, `redact`, `unredact`: copies verify, forgeries do not, and values can be disclosed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use runseal_testkit::folders::{copy_folder, files_of, open_up};

use crate::redaction_support::{INPUT, OUTPUT, redact, seal};
use crate::signing_support::{bench, keygen, ok, trust_ada};

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
    trust_ada(&bench, "ada.pub");
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
        "reason blanked",
        &edit("REDACTED.json", "\"personal\"", "\" \""),
    );
    forge("folder added", &|folder| {
        fs::create_dir(folder.join("artifacts/new")).unwrap()
    });
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
    let disclose = ["redact", "out/r1", "--disclose"];
    let places = ["RUN_INPUT.json#/context", "artifacts/b.bin"];
    let printed = ok(bench.run(&[&disclose[..], &places[..], &["-o", "-"]].concat()));
    assert_eq!(printed, bench.read("values.json"));
    let folder = bench.run(&["redact", "out/r1", "--drop", "artifacts/b.bin", "-o", "-"]);
    assert_eq!(folder.code, Some(64), "{folder:?}");
    assert!(!bench.path("-").exists());
    bench.write("text.json", "no JSON");
    let broken = bench.run(&["unredact", "copy", "--with", "text.json", "-o", "none"]);
    assert_eq!(broken.code, Some(2), "{broken:?}");
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
    // What would be put into a sealed bundle, its own or another, breaks that one.
    for inside in ["two/three", "out/r1/three", "out/r1/artifacts/three"] {
        let ran = bench.run(&["unredact", "two", "--with", "city.json", "-o", inside]);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains("INSIDE: "), "{}", ran.stderr);
        assert!(!bench.path(inside).exists());
    }
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
