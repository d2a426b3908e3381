//! The canonical JSON vectors of the conformance data, every line of them.
//!
//! The data stands beside a developer's checkout and in CI, and is no part of the project.

use std::fs;
use std::path::PathBuf;

use runseal_core::canon::{
    CanonError, Dialect, ReadOptions, canonical_bytes, canonicalize, compute_text_digest,
    parse_document,
};
use runseal_core::digest::Digest;

/// The conformance folder, or `None` with a message where it is not part of the checkout.
fn conformance() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance");
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "CI must have ../shared/conformance"
    );
    println!("skipped: ../shared/conformance is not here");
    None
}

fn canon(text: &[u8], dialect: Dialect) -> Result<Vec<u8>, CanonError> {
    let mut bytes = Vec::new();
    canonicalize(text, dialect, &ReadOptions::TEXT, &mut bytes)?;
    // The two ways to write must agree.
    let document = parse_document(text, &ReadOptions::TEXT)?;
    assert_eq!(canonical_bytes(document.root(), dialect)?, bytes);
    assert_eq!(
        canonical_bytes(&document.root().to_value(), dialect)?,
        bytes
    );
    Ok(bytes)
}

fn lines(path: PathBuf) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn unhex(text: &serde_json::Value) -> Vec<u8> {
    let digits = text.as_str().unwrap().as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// Runs a `canonical.jsonl`; `hashed_suffix` is what is hashed after the text.
fn check_canonical_lines(file: &str, dialect: Dialect, hashed_suffix: &str) {
    let Some(folder) = conformance() else { return };
    let lines = lines(folder.join(file));
    assert!(lines.len() > 300);
    for line in &lines {
        let text = line["json"].as_str().unwrap();
        let made = canon(text.as_bytes(), dialect);
        let Some(expected) = line["canonical"].as_str() else {
            assert!(made.is_err(), "{line}");
            continue;
        };
        assert_eq!(
            String::from_utf8(made.unwrap()).unwrap(),
            expected,
            "{line}"
        );
        let digest = Digest::of(format!("{expected}{hashed_suffix}").as_bytes());
        assert_eq!(digest.to_string(), line["sha256"], "{line}");
        if hashed_suffix == "\n" || dialect == Dialect::Job {
            let hashed = compute_text_digest(text.as_bytes(), dialect, &ReadOptions::TEXT);
            assert_eq!(hashed.unwrap(), digest);
        }
    }
    println!("{} lines of {file}", lines.len());
}

#[test]
fn kernel_canonical_every_line_agrees() {
    check_canonical_lines("kernel/canonical.jsonl", Dialect::Kernel, "\n");
}

#[test]
fn job_canonical_every_line_agrees() {
    check_canonical_lines("jobbundle/canonical.jsonl", Dialect::Job, "");
}

#[test]
fn jcs_published_vectors_agree_byte_for_byte() {
    let Some(folder) = conformance() else { return };
    let mut count = 0;
    for entry in fs::read_dir(folder.join("jcs/input")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        let expected = fs::read(folder.join("jcs/output").join(name)).unwrap();
        assert_eq!(
            canon(&fs::read(&path).unwrap(), Dialect::Jcs).unwrap(),
            expected,
            "{name:?}"
        );
        let hex = folder.join("jcs/outhex").join(name).with_extension("txt");
        let hex: String = fs::read_to_string(hex)
            .unwrap()
            .split_whitespace()
            .collect();
        assert_eq!(unhex(&serde_json::Value::String(hex)), expected, "{name:?}");
        count += 1;
    }
    assert_eq!(count, 6);
}

#[test]
fn jcs_es6_numbers_agree_in_three_spellings() {
    let Some(folder) = conformance() else { return };
    let text = fs::read_to_string(folder.join("jcs/es6numbers.csv")).unwrap();
    let mut count = 0;
    for line in text.lines() {
        let (bits, expected) = line.split_once(',').unwrap();
        let value = f64::from_bits(u64::from_str_radix(bits, 16).unwrap());
        let spellings = [
            expected.to_owned(),
            format!("{value:.16e}"),
            exact_decimal(value),
            format!("{value:?}"),
        ];
        for spelling in spellings {
            for dialect in [Dialect::Jcs, Dialect::Kernel] {
                let made = canon(spelling.as_bytes(), dialect).unwrap();
                assert_eq!(str::from_utf8(&made).unwrap(), expected, "{spelling}");
            }
        }
        count += 1;
    }
    assert_eq!(count, 60_000);
}

/// The exact decimal expansion of a double, which may have more than 700 digits.
fn exact_decimal(value: f64) -> String {
    format!("{value:.1074}")
}

#[test]
fn jcs_reject_cases_are_refused() {
    let Some(folder) = conformance() else { return };
    let (mut refused, mut open) = (0, 0);
    for case in lines(folder.join("jcs/reject.jsonl")) {
        let made = canon(&unhex(&case["hex"]), Dialect::Jcs);
        if case["verdict"] == "reject" {
            assert!(made.is_err(), "{}", case["id"]);
            refused += 1;
        } else if let Ok(bytes) = made {
            assert_eq!(bytes, unhex(&case["if_accepted"]), "{}", case["id"]);
            open += 1;
        }
    }
    assert_eq!(refused, 122);
    println!("{refused} refused, {open} of the open ones accepted with the expected bytes");
}

#[test]
fn jcs_accept_cases_agree_in_all_dialects() {
    let Some(folder) = conformance() else { return };
    let cases = lines(folder.join("jcs/accept.jsonl"));
    assert_eq!(cases.len(), 41);
    for case in cases {
        let text = unhex(&case["hex"]);
        assert_eq!(
            canon(&text, Dialect::Jcs).unwrap(),
            unhex(&case["jcs"]),
            "{}",
            case["id"]
        );
        assert_eq!(
            canon(&text, Dialect::Kernel).unwrap(),
            unhex(&case["jcs"]),
            "{}",
            case["id"]
        );
        assert_eq!(
            canon(&text, Dialect::Job).unwrap(),
            unhex(&case["python"]),
            "{}",
            case["id"]
        );
    }
}
