//! What an entry may be called, and which names become one on some system.

use runseal_core::limits::ARCHIVE_MAX_NAME;
use runseal_core::path::{has_drive_prefix, is_control};
use unicode_normalization::UnicodeNormalization;

/// What is wrong with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameFault {
    /// No folder can hold it, or it would be written elsewhere: it becomes no entry.
    Refused(&'static str),
    /// A folder can hold it, but not every unpacker would write it under this name.
    Unsteady(&'static str),
}

/// Looks for the worst fault of a name.
pub(crate) fn check_name(name: &[u8]) -> Option<NameFault> {
    if let Some(message) = refusal(name) {
        return Some(NameFault::Refused(message));
    }
    let unsteady = |message| Some(NameFault::Unsteady(message));
    let Ok(text) = str::from_utf8(name) else {
        return unsteady("the name is no UTF-8; unpackers disagree on what it means");
    };
    if text.contains('\\') {
        return unsteady("the name holds `\\`, which separates folders for some unpackers");
    }
    if text.chars().any(is_control) {
        return unsteady("the name holds a control character, which some unpackers replace");
    }
    if has_drive_prefix(text) {
        return unsteady("the name begins with a drive letter");
    }
    None
}

fn refusal(name: &[u8]) -> Option<&'static str> {
    if name.is_empty() {
        return Some("the name is empty");
    }
    if name.len() as u64 > ARCHIVE_MAX_NAME {
        return Some("the name is too long");
    }
    if name.starts_with(b"/") {
        return Some("the name is absolute");
    }
    if name.contains(&0) {
        return Some("the name holds NUL");
    }
    if name
        .split(|byte| *byte == b'/')
        .any(|segment| segment == b"..")
    {
        return Some("the name climbs out of the folder it is unpacked in");
    }
    let mut segments = name.split(|byte| *byte == b'/');
    if segments.any(|segment| segment.is_empty() || segment == b".") {
        return Some("the name is not normalized");
    }
    None
}

/// What is left of one segment of a name on a system that ignores letter case, how accents are
/// composed, characters without a width, and dots and blanks at the end.
///
/// Upper case first and lower case then unites what simple folding keeps apart (`ſ` and `s`, `ß`
/// and `ss`): a system that does so exists, and a name too many in a finding is cheap.
pub(crate) fn fold(segment: &[u8]) -> Vec<u8> {
    if segment.is_ascii() {
        return trim_end(segment.to_ascii_lowercase());
    }
    let text = String::from_utf8_lossy(segment);
    let folded: String = text
        .nfd()
        .filter(|c| !is_invisible(*c))
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .nfd()
        .collect();
    trim_end(folded.into_bytes())
}

fn trim_end(mut segment: Vec<u8>) -> Vec<u8> {
    if let Some(last) = segment.iter().rposition(|byte| !b". ".contains(byte)) {
        segment.truncate(last + 1);
    }
    segment
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
    fn names_that_would_be_written_elsewhere_are_refused() {
        for name in [
            "",
            "/etc/passwd",
            "../x",
            "a/../../x",
            "a//b",
            "a/./b",
            "a/..",
            "a\0b",
            "a/",
        ] {
            let fault = check_name(name.as_bytes());
            assert!(matches!(fault, Some(NameFault::Refused(_))), "{name:?}");
        }
        assert!(matches!(
            check_name(&vec![b'a'; 20_000]),
            Some(NameFault::Refused(_))
        ));
    }

    #[test]
    fn names_that_unpackers_write_differently_are_unsteady() {
        for name in [
            b"a\\b".as_slice(),
            b"..\\x",
            b"a\\..\\b",
            b"a\nb",
            b"\x7f",
            b"C:x",
            b"c:/x",
            b"\xff",
        ] {
            let fault = check_name(name);
            assert!(matches!(fault, Some(NameFault::Unsteady(_))), "{name:?}");
        }
    }

    #[test]
    fn ordinary_names_have_no_fault() {
        for name in [
            "a", "a/b.txt", "..a", "a b", "é", "1:2", ".hidden", "a..b/c",
        ] {
            assert_eq!(check_name(name.as_bytes()), None, "{name}");
        }
    }

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
