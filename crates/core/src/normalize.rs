//! Normalization of intent strings (000 §2.1, §2.5, §4.4; rulings, "Intent").
//!
//! Two texts that differ only in a BOM, line ends, Unicode composition or stray white space become
//! the same string, so that the intent hash does not depend on the editor. Meaning plays no part. The
//! kernel makes intents of it, and verification holds bundles to it.

use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::space::{normalize_newlines, trim_ecmascript};

/// Strips the BOM, converts CRLF and CR to LF, and composes to NFC, as for every string of an
/// intent (000 §4.4).
pub fn normalize_text(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let unix = normalize_newlines(text);
    if unix.is_ascii() || is_nfc(&unix) {
        unix.into_owned()
    } else {
        unix.nfc().collect()
    }
}

/// Normalizes a goal: as text, then trimmed (rulings: "Goal: trim only").
pub fn normalize_goal(text: &str) -> String {
    let text = normalize_text(text);
    let trimmed = trim_ecmascript(&text);
    if trimmed.len() == text.len() {
        text
    } else {
        trimmed.to_owned()
    }
}

/// Normalizes a constraint: as text, then runs of space and tab become one space, three or more LF
/// become two, and the ends are trimmed.
pub fn normalize_constraint(text: &str) -> String {
    let text = normalize_text(text);
    let mut out = String::with_capacity(text.len());
    let mut newlines = 0usize;
    let mut in_blank = false;
    for c in text.chars() {
        match c {
            ' ' | '\t' => {
                if !in_blank {
                    out.push(' ');
                }
                in_blank = true;
                newlines = 0;
            }
            '\n' => {
                newlines += 1;
                if newlines <= 2 {
                    out.push('\n');
                }
                in_blank = false;
            }
            _ => {
                out.push(c);
                in_blank = false;
                newlines = 0;
            }
        }
    }
    let trimmed = trim_ecmascript(&out);
    if trimmed.len() == out.len() {
        out
    } else {
        trimmed.to_owned()
    }
}
