//! RB1, RB2, RB5, RB11, RB12: the files of a sealed bundle and their lists, each changed in one
//! way; and every single byte.

use std::fs;
use std::os::unix::fs::symlink;

use crate::run_support::{Files, coupled, pairs, sealed, set};
use runseal_core::digest::Digest;
use runseal_core::formats::run_bundle::layout::REQUIRED;
use runseal_core::verify::Level;
use runseal_fs::directory::{DirectorySource, RootLink};
use runseal_runs::run::verify::{VerifyOptions, verify_run_source};

#[test]
fn sealed_bundle_is_valid_even_strictly() {
    let files = sealed();
    assert_eq!(files.found_strictly(), set(&[]));
    assert!(files.report(Level::Form).is_valid());
    // Relisting what is right changes nothing, so the other tests change what they say.
    assert_eq!(files.clone().rehash().0, files.0);
}

#[test]
fn sealed_bundle_holds_exactly_the_documents_files_in_their_form() {
    let files = sealed();
    let names: Vec<&str> = files.0.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "ARTIFACT_INDEX.json",
            "COUPLING_RULES.json",
            "ENGINE_MANIFEST.json",
            "INPUT_SCHEMA.json",
            "OUTPUT_SCHEMA.json",
            "RUN_CONTEXT_STRIPPED.json",
            "RUN_INPUT.json",
            "RUN_META.json",
            "RUN_OUTPUT.json",
            "SEALING_SPEC.md",
            "SHA256SUMS.txt",
            "artifacts/data.csv",
            "artifacts/deep/x.json",
        ]
    );
    assert_eq!(
        files.text("SEALING_SPEC.md"),
        "# Sealing\r\n\n as it is \n\n"
    );
    assert_eq!(
        files.text("RUN_INPUT.json"),
        r#"{"context":{"site":"x"},"inputs":{"a":1}}"#
    );
    assert_eq!(
        files.text("RUN_CONTEXT_STRIPPED.json"),
        r#"{"stripped":["/context/user_id"]}"#
    );
    assert_eq!(files.text("artifacts/deep/x.json"), r#"{"k":[100],"z":1}"#);
    let inputs = Digest::of(files.text("RUN_INPUT.json").as_bytes());
    let rest = format!(
        r#"{{"engine":{{"engine_code":"ECHO","engine_version":"1.2.0"}},"inputs_hash":"{inputs}","outputs":{{"value":42}},"semantics":"RAW_TRUTH"}}"#
    );
    let outputs = Digest::of(rest.as_bytes());
    assert!(
        files
            .text("RUN_OUTPUT.json")
            .contains(&format!(r#""outputs_hash":"{outputs}""#))
    );
    let meta = files.text("RUN_META.json");
    let spec = Digest::of(&files.0["SEALING_SPEC.md"]);
    for part in [
        r#""run_id":"r1""#,
        r#""sealed_at":"2023-11-14T22:13:20Z""#,
        r#""canonicalization":"JCS_RFC8785""#,
        r#""hash_algo":"sha256""#,
        &format!(r#""SEALING_SPEC.md":"{spec}""#),
    ] {
        assert!(meta.contains(part), "{part} {meta}");
    }
    assert!(
        !meta.contains("engine_executable_sha256"),
        "nothing was executed"
    );
    let sums = files.text("SHA256SUMS.txt");
    let lines: Vec<&str> = sums.lines().map(|line| &line[66..]).collect();
    assert_eq!(lines.len(), files.0.len() - 1);
    assert!(lines.is_sorted() && !lines.contains(&"SHA256SUMS.txt"));
    let index = files.text("ARTIFACT_INDEX.json");
    assert!(index.starts_with(r#"{"artifacts":[{"artifact_name":"COUPLING_RULES.json","content_type":"application/json","relative_path":"COUPLING_RULES.json","role":"CONTRACT","sha256":""#));
    assert!(!index.contains("\"relative_path\":\"SHA256SUMS.txt\""));
    assert!(!index.contains("\"relative_path\":\"ARTIFACT_INDEX.json\""));
}

#[test]
fn rb1_each_required_file_that_is_missing_is_named_once() {
    for name in REQUIRED {
        let files = sealed().remove(name);
        let found = files.found();
        let rb1: Vec<_> = found.iter().filter(|(rule, _)| rule == "RB1").collect();
        assert_eq!(rb1, [&("RB1".to_owned(), name.to_owned())], "{found:?}");
        // A missing file silences the rules that need it and no other.
        assert!(
            !found
                .iter()
                .any(|(rule, path)| rule != "RB1" && path == name),
            "{found:?}"
        );
    }
    assert_eq!(
        sealed().remove("RUN_META.json").found(),
        set(&[("RB1", "RUN_META.json")])
    );
    let damaged = sealed()
        .remove("RUN_META.json")
        .put("artifacts/data.csv", "x");
    assert_eq!(
        damaged.found(),
        set(&[("RB1", "RUN_META.json"), ("RB5", "artifacts/data.csv")])
    );
}

#[test]
fn rb1_optional_files_may_be_left_out() {
    assert_eq!(
        sealed()
            .remove("RUN_CONTEXT_STRIPPED.json")
            .relist()
            .found_strictly(),
        set(&[])
    );
}

#[test]
fn rb2_file_that_no_sums_line_lists_is_that_finding_alone() {
    assert_eq!(
        sealed().put("artifacts/extra.txt", "x").found(),
        set(&[("RB2", "artifacts/extra.txt")])
    );
    assert_eq!(
        sealed().put(".hidden", "").found(),
        set(&[("RB2", ".hidden")])
    );
    // In the index and not in the sums: still RB2 only.
    let listed = sealed().put("extra.txt", "x").reindex();
    let index = Digest::of(&listed.0["ARTIFACT_INDEX.json"]);
    let before = Digest::of(&sealed().0["ARTIFACT_INDEX.json"]).to_string();
    let listed = listed.edit("SHA256SUMS.txt", &before, &index.to_string());
    assert_eq!(listed.found(), set(&[("RB2", "extra.txt")]));
}

#[test]
fn rb2_sums_line_that_climbs_is_unsafe_and_not_there() {
    let hex = Digest::of(b"x");
    let files = sealed();
    let sums = format!("{}{hex}  ../../etc/passwd\n", files.text("SHA256SUMS.txt"));
    let found = files.put("SHA256SUMS.txt", sums).found();
    assert!(found.is_superset(&set(&[
        ("RB2", "../../etc/passwd"),
        ("RB5", "../../etc/passwd")
    ])));
}

/// A sealed bundle in a folder that can be changed.
fn folder_of(files: &Files) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in &files.0 {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

#[test]
fn rb2_links_and_pipes_are_found_and_never_opened() {
    let files = sealed();
    let folder = folder_of(&files);
    let at = |name: &str| folder.path().join(name);
    let verify = || {
        let source = DirectorySource::open(folder.path(), RootLink::Follow).unwrap();
        pairs(
            &verify_run_source(&source, VerifyOptions::default())
                .unwrap()
                .0,
        )
    };
    assert_eq!(verify(), set(&[]));
    // A link to the very file is no file.
    fs::rename(at("artifacts/data.csv"), at("../data.csv")).unwrap();
    symlink(at("../data.csv"), at("artifacts/data.csv")).unwrap();
    assert_eq!(verify(), set(&[("RB2", "artifacts/data.csv")]));
    fs::remove_file(at("artifacts/data.csv")).unwrap();
    fs::rename(at("../data.csv"), at("artifacts/data.csv")).unwrap();
    fs::remove_file(at("RUN_META.json")).unwrap();
    let pipe = |name: &str| {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, at(name), kind, mode, 0).unwrap();
    };
    pipe("RUN_META.json");
    assert_eq!(
        verify(),
        set(&[("RB1", "RUN_META.json"), ("RB2", "RUN_META.json")])
    );
    fs::remove_file(at("RUN_META.json")).unwrap();
    fs::create_dir(at("RUN_META.json")).unwrap();
    assert_eq!(verify(), set(&[("RB1", "RUN_META.json")]));
    fs::remove_dir(at("RUN_META.json")).unwrap();
    fs::write(at("RUN_META.json"), &files.0["RUN_META.json"]).unwrap();
    fs::create_dir(at("empty")).unwrap();
    assert_eq!(verify(), set(&[]), "an empty folder is no file");
    fs::write(at("a\nb"), "").unwrap();
    fs::write(at("a\\b"), "").unwrap();
    assert_eq!(verify(), set(&[("RB2", "a\\nb"), ("RB2", "a\\\\b")]));
}

#[test]
fn rb5_changed_file_differs_from_both_lists() {
    let files = sealed();
    assert_eq!(
        files
            .clone()
            .put("artifacts/data.csv", "a,b\n1,3\n")
            .found(),
        set(&[("RB5", "artifacts/data.csv")])
    );
    // Only one of the lists is wrong.
    let changed = files.clone().put("artifacts/data.csv", "!").resum();
    assert_eq!(changed.found(), set(&[("RB5", "artifacts/data.csv")]));
    let wrong_index = files
        .member("RUN_CONTEXT_STRIPPED.json", &["stripped"], Some("[]"))
        .resum();
    assert_eq!(
        wrong_index.found(),
        set(&[("RB5", "RUN_CONTEXT_STRIPPED.json")])
    );
}

#[test]
fn rb5_listed_file_that_is_missing_is_named() {
    assert_eq!(
        sealed().remove("artifacts/data.csv").found(),
        set(&[("RB5", "artifacts/data.csv")])
    );
    assert_eq!(
        sealed().remove("RUN_CONTEXT_STRIPPED.json").found(),
        set(&[("RB5", "RUN_CONTEXT_STRIPPED.json")])
    );
    // Only the index lists it.
    assert_eq!(
        sealed().remove("artifacts/data.csv").resum().found(),
        set(&[("RB5", "artifacts/data.csv")])
    );
}

#[test]
fn rb5_malformed_and_repeated_sums_lines_are_named() {
    let sums = "SHA256SUMS.txt";
    let files = sealed();
    let text = files.text(sums);
    let first = text.lines().next().unwrap();
    for changed in [
        format!("{text}# comment\n"),
        format!("{text}\n"),
        format!("{text}{first}\n"),
        text.trim_end().to_owned(),
    ] {
        assert_eq!(
            files.clone().put(sums, changed).found(),
            set(&[("RB5", sums)])
        );
    }
    // A line that cannot be read lists nothing.
    let upper = text.replacen(
        first,
        &first.replacen(&first[..64], &first[..64].to_uppercase(), 1),
        1,
    );
    let found = files.clone().put(sums, upper).found();
    assert_eq!(found, set(&[("RB2", "ARTIFACT_INDEX.json"), ("RB5", sums)]));
    let star = text.replacen("  ARTIFACT_INDEX", " *ARTIFACT_INDEX", 1);
    assert_eq!(
        files.put(sums, star).found(),
        set(&[("RB2", "ARTIFACT_INDEX.json"), ("RB5", sums)])
    );
}

#[test]
fn rb5_or_the_rule_that_reads_it_json_without_a_jcs_form_is_named() {
    for broken in [
        "{",
        "{\"a\":1,\"a\":2}",
        "1e400",
        "\"\\ud800\"",
        "\u{feff}{}",
        "",
    ] {
        for (name, rule) in [
            ("artifacts/deep/x.json", "RB5"),
            ("RUN_CONTEXT_STRIPPED.json", "RB5"),
            ("RUN_INPUT.json", "RB3"),
            ("INPUT_SCHEMA.json", "RB3"),
            ("RUN_OUTPUT.json", "RB4"),
            ("OUTPUT_SCHEMA.json", "RB4"),
            ("COUPLING_RULES.json", "RB9"),
            ("ENGINE_MANIFEST.json", "RB10"),
            ("RUN_META.json", "RB10"),
            ("ARTIFACT_INDEX.json", "RB11"),
        ] {
            let found = sealed().put(name, broken).found();
            assert_eq!(found, set(&[(rule, name)]), "{name} {broken:?}");
        }
    }
}

#[test]
fn rb5_json_stored_otherwise_is_canonicalized_first() {
    let pretty = |text: &str| text.replace(':', " :\n\t").replace("42", "42.0");
    for name in [
        "RUN_OUTPUT.json",
        "RUN_INPUT.json",
        "RUN_META.json",
        "ENGINE_MANIFEST.json",
        "artifacts/deep/x.json",
    ] {
        let files = sealed();
        // Times hold colons; they stay as they are.
        let text = match name {
            "RUN_META.json" => format!("  {}\n", files.text(name)),
            _ => pretty(&files.text(name)),
        };
        let files = files.put(name, text);
        assert_eq!(files.found(), set(&[]), "{name}");
        assert_eq!(files.found_strictly(), set(&[("RB12", name)]));
    }
    // A sum over the bytes as they are stored is not the sum over the JCS bytes.
    let raw = sealed();
    let text = format!("{}\n", raw.text("artifacts/deep/x.json"));
    let (is, was) = (
        Digest::of(text.as_bytes()),
        Digest::of(raw.text("artifacts/deep/x.json").as_bytes()),
    );
    let raw = raw.put("artifacts/deep/x.json", text).edit(
        "SHA256SUMS.txt",
        &was.to_string(),
        &is.to_string(),
    );
    assert_eq!(raw.found(), set(&[("RB5", "artifacts/deep/x.json")]));
}

#[test]
fn rb11_incomplete_index_is_named() {
    let index = "ARTIFACT_INDEX.json";
    let files = sealed();
    let missing = files
        .clone()
        .remove("artifacts/data.csv")
        .reindex()
        .put("artifacts/data.csv", "a,b\n1,2\n")
        .resum();
    assert_eq!(missing.found(), set(&[("RB11", "artifacts/data.csv")]));
    let text = files.text(index);
    let changed = |from: &str, to: &str| {
        files
            .clone()
            .put(index, text.replacen(from, to, 1))
            .resum()
            .found()
    };
    assert_eq!(changed("\"META\"", "\"OTHER\""), set(&[("RB11", index)]));
    assert_eq!(
        changed("\"content_type\":\"text/csv\",", ""),
        set(&[("RB11", index)])
    );
    assert_eq!(changed("\"text/csv\"", "7"), set(&[("RB11", index)]));
    let first = &text[text.find('[').unwrap() + 1..text.find('}').unwrap() + 1];
    assert_eq!(
        changed(first, &format!("{first},{first}")),
        set(&[("RB11", index)])
    );
    for bad in ["{}", "5", r#"{"artifacts":{}}"#] {
        let found = files.clone().put(index, bad).resum().found();
        assert!(
            found.contains(&("RB11".to_owned(), index.to_owned())),
            "{bad} {found:?}"
        );
    }
    let bare = text
        .strip_prefix(r#"{"artifacts":"#)
        .unwrap()
        .strip_suffix('}')
        .unwrap();
    assert_eq!(
        files.clone().put(index, bare).resum().found_strictly(),
        set(&[])
    );
}

#[test]
fn rb12_disorder_is_strict_only() {
    let files = sealed();
    let sums = files.text("SHA256SUMS.txt");
    let reversed: String = sums.lines().rev().map(|line| format!("{line}\n")).collect();
    let disordered = files.clone().put("SHA256SUMS.txt", reversed);
    assert_eq!(disordered.found(), set(&[]));
    assert_eq!(
        disordered.found_strictly(),
        set(&[("RB12", "SHA256SUMS.txt")])
    );
    let index = files.text("ARTIFACT_INDEX.json");
    let entries = index
        .strip_prefix(r#"{"artifacts":[{"#)
        .unwrap()
        .strip_suffix("}]}")
        .unwrap();
    let mut entries: Vec<&str> = entries.split("},{").collect();
    entries.reverse();
    let index = format!(r#"{{"artifacts":[{{{}}}]}}"#, entries.join("},{"));
    let disordered = files.put("ARTIFACT_INDEX.json", index).resum();
    assert_eq!(disordered.found(), set(&[]));
    assert_eq!(
        disordered.found_strictly(),
        set(&[("RB12", "ARTIFACT_INDEX.json")])
    );
}

#[test]
fn verify_gives_the_same_report_on_any_number_of_threads() {
    let mut files = sealed();
    for n in 0..500 {
        files = files.put(&format!("artifacts/n/{n}.bin"), format!("{n}"));
    }
    let files = files
        .relist()
        .put("artifacts/n/7.bin", "x")
        .put("artifacts/n/400.bin", "x");
    let report = |threads| {
        let options = VerifyOptions {
            threads: Some(threads),
            ..VerifyOptions::default()
        };
        verify_run_source(&files.source(), options).unwrap().0
    };
    assert_eq!(
        pairs(&report(1)),
        set(&[("RB5", "artifacts/n/7.bin"), ("RB5", "artifacts/n/400.bin")])
    );
    assert_eq!(report(1), report(4));
}

/// A generator of numbers that is the same on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }
}

#[test]
fn tampering_any_single_byte_of_any_file_is_found() {
    for (seed, files) in [(1, sealed()), (2, coupled())] {
        let mut dice = Dice(seed);
        let names: Vec<String> = files.0.keys().cloned().collect();
        for _ in 0..600 {
            let name = &names[dice.roll(names.len())];
            let mut bytes = files.0[name].clone();
            let at = dice.roll(bytes.len());
            let flip = 1 + dice.roll(255) as u8;
            bytes[at] ^= flip;
            let changed = files.clone().put(name, &bytes);
            // What the default check finds, the strict one finds too.
            let report = changed.report(Level::Document);
            assert!(!report.is_valid(), "{name} byte {at} ^ {flip:#04x}");
        }
    }
}
