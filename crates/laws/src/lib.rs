//! Laws that must hold for any bytes: of reading and writing canonical JSON, reading archives, checking
//! against JSON Schemas, checking signatures, recording messages, and replaying.
//!
//! Each law takes any bytes and panics if it does not hold. The property tests of this crate and the
//! fuzz targets under `fuzz/` run the same functions, so that what a fuzzer finds on one machine is a
//! test case on every other.

#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "a law that does not hold is meant to stop the test"
)]

pub mod archives;
pub mod messages;
pub mod replay;
pub mod schemas;
pub mod targets;
pub mod trust;

use runseal_core::canon::{
    CanonError, Dialect, Document, JsonError, Kind, Node, ReadOptions, Value, canonical_bytes,
    canonical_digest, canonicalize, compute_text_digest, parse_document,
};
use runseal_core::digest::Digest;

fn read(bytes: &[u8]) -> Result<Document<'_>, JsonError> {
    parse_document(bytes, &ReadOptions::TEXT)
}

/// Reading: never panics; an error has a position within the text; a document can be walked.
pub fn check_reader(bytes: &[u8]) {
    match read(bytes) {
        Ok(document) => walk(document.root()),
        Err(error) => {
            let lines = bytes.iter().filter(|&&b| b == b'\n').count() as u64 + 1;
            assert!(u64::from(error.position.line) <= lines, "{error}");
            assert!(!error.kind.code().is_empty() && !error.kind.hint().is_empty());
        }
    }
}

fn walk(node: Node<'_>) {
    match node.kind() {
        Kind::Array => node.items().for_each(walk),
        Kind::Object => {
            for (key, value) in node.members() {
                if let Some(key) = key.as_str() {
                    let found = node.get(&key).expect("a key that is listed is found");
                    assert_eq!(
                        found.to_value(),
                        value.to_value(),
                        "and has the listed value"
                    );
                }
                walk(value);
            }
        }
        Kind::String => assert!(node.as_json_string().is_some()),
        Kind::Number => assert!(node.as_number().is_some()),
        Kind::Bool => assert!(node.as_bool().is_some()),
        Kind::Null => assert!(node.is_null()),
    }
}

/// Writing in `dialect`: every way to write gives the same bytes, which read back as the same value and
/// are written again unchanged.
pub fn check_dialect(bytes: &[u8], dialect: Dialect) {
    let mut streamed = Vec::new();
    let outcome = canonicalize(bytes, dialect, &ReadOptions::TEXT, &mut streamed);
    let document = match (read(bytes), &outcome) {
        (Ok(document), _) => document,
        (Err(expected), Err(CanonError::Json(actual))) => {
            assert_eq!(&expected, actual);
            return;
        }
        // An element without a form may come before the fault.
        (Err(_), Err(CanonError::NoForm(_))) => return,
        (Err(error), other) => panic!("{error} when read whole, {other:?} when streamed"),
    };
    let made = canonical_bytes(document.root(), dialect);
    assert_eq!(made.is_ok(), outcome.is_ok(), "{made:?} {outcome:?}");
    let owned: Value = document.root().to_value();
    let Ok(made) = made else {
        assert!(canonical_bytes(&owned, dialect).is_err());
        return;
    };
    assert_eq!(made, streamed, "streaming writes the same");
    assert_eq!(
        canonical_bytes(&owned, dialect).expect("has a form"),
        made,
        "so does a copy"
    );

    let suffix: &[u8] = if dialect == Dialect::Kernel {
        b"\n"
    } else {
        b""
    };
    let digest = Digest::of(&[&made, suffix].concat());
    assert_eq!(
        canonical_digest(document.root(), dialect).expect("has a form"),
        digest
    );
    assert_eq!(
        compute_text_digest(bytes, dialect, &ReadOptions::TEXT).expect("reads"),
        digest
    );

    let again = read(&made).expect("what was written reads back");
    assert!(
        same_value(again.root(), document.root()),
        "to the same value"
    );
    assert_eq!(
        canonical_bytes(again.root(), dialect).expect("has a form"),
        made,
        "and stays"
    );
}

/// Whether two values are the same: strings after decoding, numbers as doubles.
fn same_value(a: Node<'_>, b: Node<'_>) -> bool {
    let double = |node: Node<'_>| node.as_number().map(|number| number.to_f64());
    a.kind() == b.kind()
        && a.len() == b.len()
        && a.as_bool() == b.as_bool()
        && a.as_json_string() == b.as_json_string()
        && double(a) == double(b)
        && a.items().zip(b.items()).all(|(a, b)| same_value(a, b))
        && a.members().zip(b.members()).all(|((key, a), (other, b))| {
            key.to_json_string() == other.to_json_string() && same_value(a, b)
        })
}

/// Spelling: the canonical form does not depend on white space, the order of members or escapes.
pub fn check_spelling(bytes: &[u8], dialect: Dialect) {
    let Ok(document) = read(bytes) else { return };
    let Ok(made) = canonical_bytes(document.root(), dialect) else {
        return;
    };
    let mut other = String::from("\r\n");
    respell(document.root(), &mut other);
    let mut again = Vec::new();
    canonicalize(other.as_bytes(), dialect, &ReadOptions::TEXT, &mut again)
        .expect("another spelling reads too");
    assert_eq!(again, made, "{other}");
}

/// Writes a value in another spelling: members backwards, characters escaped, white space everywhere.
/// Numbers stay as written.
fn respell(node: Node<'_>, out: &mut String) {
    match node.kind() {
        Kind::Null => out.push_str("null"),
        Kind::Bool => out.push_str(if node.as_bool() == Some(true) {
            "true"
        } else {
            "false"
        }),
        Kind::Number => out.push_str(node.as_number().expect("a number").text()),
        Kind::String => respell_string(node, out),
        Kind::Array => {
            out.push_str("[ ");
            for (at, item) in node.items().enumerate() {
                out.push_str(if at == 0 { "" } else { "\t," });
                respell(item, out);
            }
            out.push_str(" ]");
        }
        Kind::Object => {
            out.push_str("{\n");
            let mut members: Vec<_> = node.members().collect();
            members.reverse();
            for (at, (key, value)) in members.into_iter().enumerate() {
                out.push_str(if at == 0 { " " } else { " , " });
                let key = Value::String(key.to_json_string());
                push_escaped(&key, out);
                out.push_str(" : ");
                respell(value, out);
            }
            out.push_str("\r}");
        }
    }
}

fn respell_string(node: Node<'_>, out: &mut String) {
    push_escaped(&node.to_value(), out);
}

/// Writes a string with characters as escapes, starting from the job dialect, whose text is ASCII and
/// already has lone surrogates as escapes.
fn push_escaped(value: &Value, out: &mut String) {
    let text = canonical_bytes(value, Dialect::Job).expect("a string has a form");
    let text = String::from_utf8(text).expect("which is ASCII");
    out.push('"');
    let mut inside = text[1..text.len() - 1].chars();
    while let Some(c) = inside.next() {
        if c == '\\' {
            out.push(c);
            out.extend(inside.next());
        } else if c.is_ascii_hexdigit() {
            // It may be a digit of an escape.
            out.push(c);
        } else {
            out.push_str(&format!("\\u{:04X}", u32::from(c)));
        }
    }
    out.push('"');
}
