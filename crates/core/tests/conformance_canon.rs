//! Every line of the canonical JSON vectors of the conformance data.
//!
//! The data is next to a developer's checkout and in CI, but not part of the project.

use std::fs;

use runseal_core::canon::{
    CanonError, Dialect, ReadOptions, canonical_bytes, canonicalize, compute_text_digest,
    parse_document,
};
use runseal_core::digest::Digest;
use runseal_testkit::{conformance, for_each_line, text, unhex};

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

/// Runs a `canonical.jsonl`; `hashed_suffix` is appended to the text before hashing.
fn check_canonical_lines(file: &str, dialect: Dialect, hashed_suffix: &str) {
    let Some(folder) = conformance() else { return };
    let count = for_each_line(&folder.join(file), |line| {
        let json = text(line, "json").unwrap();
        let made = canon(json.as_bytes(), dialect);
        let Some(expected) = text(line, "canonical") else {
            assert!(made.is_err(), "{json}");
            return;
        };
        assert_eq!(
            String::from_utf8(made.unwrap()).unwrap(),
            expected,
            "{json}"
        );
        let digest = Digest::of(format!("{expected}{hashed_suffix}").as_bytes());
        assert_eq!(Some(digest.to_string()), text(line, "sha256"), "{json}");
        let hashed = compute_text_digest(json.as_bytes(), dialect, &ReadOptions::TEXT);
        assert_eq!(hashed.unwrap(), digest, "{json}");
    });
    assert!(count > 300, "{count} lines");
    println!("{count} lines of {file}");
}

#[test]
fn kernel_canonical_lines_agree() {
    check_canonical_lines("kernel/canonical.jsonl", Dialect::Kernel, "\n");
}

#[test]
fn job_canonical_lines_agree() {
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
        let hex = fs::read_to_string(hex).unwrap();
        let byte = |digits| u8::from_str_radix(digits, 16).unwrap();
        assert_eq!(
            hex.split_whitespace().map(byte).collect::<Vec<_>>(),
            expected,
            "{name:?}"
        );
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
        // As printed, with 17 significant digits, and as the exact decimal expansion, which may
        // have more than 700 digits.
        for spelling in [
            expected.to_owned(),
            format!("{value:.16e}"),
            format!("{value:.1074}"),
        ] {
            let mut made = Vec::new();
            canonicalize(
                spelling.as_bytes(),
                Dialect::Jcs,
                &ReadOptions::TEXT,
                &mut made,
            )
            .unwrap();
            assert_eq!(str::from_utf8(&made).unwrap(), expected, "{spelling}");
        }
        count += 1;
    }
    assert_eq!(count, 60_000);
}

#[test]
fn jcs_reject_cases_are_refused() {
    let Some(folder) = conformance() else { return };
    let (mut refused, mut open) = (0, 0);
    for_each_line(&folder.join("jcs/reject.jsonl"), |case| {
        let id = text(case, "id").unwrap();
        let made = canon(&unhex(case, "hex"), Dialect::Jcs);
        if text(case, "verdict").as_deref() == Some("reject") {
            assert!(made.is_err(), "{id}");
            refused += 1;
        } else if let Ok(bytes) = made {
            assert_eq!(bytes, unhex(case, "if_accepted"), "{id}");
            open += 1;
        }
    });
    assert_eq!(refused, 122);
    println!("{refused} refused, {open} of the open ones accepted with the expected bytes");
}

#[test]
fn jcs_accept_cases_agree_in_all_dialects() {
    let Some(folder) = conformance() else { return };
    let count = for_each_line(&folder.join("jcs/accept.jsonl"), |case| {
        let id = text(case, "id").unwrap();
        let json = unhex(case, "hex");
        assert_eq!(
            canon(&json, Dialect::Jcs).unwrap(),
            unhex(case, "jcs"),
            "{id}"
        );
        assert_eq!(
            canon(&json, Dialect::Kernel).unwrap(),
            unhex(case, "jcs"),
            "{id}"
        );
        assert_eq!(
            canon(&json, Dialect::Job).unwrap(),
            unhex(case, "python"),
            "{id}"
        );
    });
    assert_eq!(count, 41);
}
