//! Names that some system takes for the same one.

use std::borrow::Cow;

use unicode_normalization::{UnicodeNormalization, is_nfc};

/// A text with its accents composed (Unicode's form C).
pub fn compose(text: &str) -> Cow<'_, str> {
    match is_nfc(text) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(text.nfc().collect()),
    }
}

/// What is left of one segment of a name on a system that ignores letter case, how accents are
/// composed, characters without a width, and dots and blanks at the end.
///
/// Upper case first and lower case then unites what simple folding keeps apart (`ſ` and `s`, `ß`
/// and `ss`): a system that does so exists, and a name too many in a finding is cheap.
pub fn fold(segment: &[u8]) -> Cow<'_, [u8]> {
    if segment.is_ascii() {
        let trimmed = trim_end(segment);
        return match trimmed.iter().any(u8::is_ascii_uppercase) {
            true => Cow::Owned(trimmed.to_ascii_lowercase()),
            false => Cow::Borrowed(trimmed),
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

/// What consists of nothing else keeps its dots and blanks.
fn trim_end(segment: &[u8]) -> &[u8] {
    let last = segment.iter().rposition(|byte| !b". ".contains(byte));
    last.map_or(segment, |last| &segment[..=last])
}

/// Characters that some file systems leave out of a comparison.
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
    fn names_that_are_one_somewhere_fold_to_the_same() {
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
