//! Normalization of intent strings (000 §2.1, §2.5, §4.4; rulings, "Intent").
//!
//! Two texts that differ only in a BOM, in line ends, in Unicode composition or in stray white space become the
//! same string, so that the intent hash does not depend on the editor. Nothing here looks at meaning.

use runseal_core::space::normalize_newlines;
use unicode_normalization::{UnicodeNormalization, is_nfc};

pub use runseal_core::space::{is_ecmascript_space, trim_ecmascript};

/// BOM stripped, CRLF and CR to LF, NFC: what every string of an intent gets (000 §4.4).
pub fn normalize_text(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let unix = normalize_newlines(text);
    if unix.is_ascii() || is_nfc(&unix) {
        unix.into_owned()
    } else {
        unix.nfc().collect()
    }
}

/// A goal: normalized text, trimmed (rulings: "Goal: trim only").
pub fn normalize_goal(text: &str) -> String {
    let text = normalize_text(text);
    let trimmed = trim_ecmascript(&text);
    if trimmed.len() == text.len() {
        text
    } else {
        trimmed.to_owned()
    }
}

/// A constraint: normalized text, runs of space and tab as one space, three or more LF as two, then trimmed.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraint_spaces_and_newlines_collapse() {
        assert_eq!(
            normalize_constraint("\u{feff} a \t b\r\n\r\n\r\rc "),
            "a b\n\nc"
        );
    }

    #[test]
    fn goal_inner_spaces_stay() {
        assert_eq!(normalize_goal("  a  b\r\n"), "a  b");
    }

    #[test]
    fn goal_decomposed_becomes_composed() {
        assert_eq!(normalize_goal("cafe\u{301}"), "caf\u{e9}");
    }

    #[test]
    fn trim_next_line_stays() {
        assert_eq!(
            trim_ecmascript("\u{85}x\u{200b}\u{feff}"),
            "\u{85}x\u{200b}"
        );
    }
}
