//! Names that some system takes for the same name.

use std::borrow::Cow;

use unicode_normalization::{UnicodeNormalization, is_nfc};

/// Composes the accents of a text (Unicode's form C).
pub fn compose(text: &str) -> Cow<'_, str> {
    if is_nfc(text) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.nfc().collect())
    }
}

/// Folds one segment of a name as a system does that ignores letter case, how accents are
/// composed, zero-width characters, and dots and blanks at the end.
///
/// Upper case first and then lower case also unites what simple folding keeps apart (`ſ` and `s`,
/// `ß` and `ss`). Some system does that, and one name too many in a finding is cheap.
pub fn fold(segment: &[u8]) -> Cow<'_, [u8]> {
    if segment.is_ascii() {
        let trimmed = trim_end(segment);
        return if trimmed.iter().any(u8::is_ascii_uppercase) {
            Cow::Owned(trimmed.to_ascii_lowercase())
        } else {
            Cow::Borrowed(trimmed)
        };
    }
    let text = String::from_utf8_lossy(segment);
    let folded: String = text
        .nfd()
        .filter(|c| !is_invisible(*c))
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .nfd()
        .collect();
    Cow::Owned(trim_end(folded.as_bytes()).to_vec())
}

/// Removes dots and blanks at the end, unless the segment has nothing else.
fn trim_end(segment: &[u8]) -> &[u8] {
    let last = segment.iter().rposition(|byte| !b". ".contains(byte));
    last.map_or(segment, |last| &segment[..=last])
}

/// Whether some file systems ignore `c` when they compare names.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}'
            | '\u{206a}'..='\u{206f}' | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fold_unites_names_that_some_system_takes_for_the_same() {
        for (one, other) in [
            ("README", "readme"),
            ("é", "e\u{301}"),
            ("É", "e\u{301}"),
            ("straße", "STRASSE"),
            ("ſ", "S"),
            ("K", "k"),
            ("ς", "Σ"),
            ("a.", "a"),
            ("a ", "A"),
            ("a\u{200d}b", "ab"),
        ] {
            let folded = [one, other].map(|name| fold(name.as_bytes()));
            assert_eq!(folded[0], folded[1], "{one} {other}");
        }
        for (one, other) in [("a", "b"), ("é", "e"), (".b", "b"), ("...", "..x")] {
            assert_ne!(
                fold(one.as_bytes()),
                fold(other.as_bytes()),
                "{one} {other}"
            );
        }
    }
}
