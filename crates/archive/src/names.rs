//! Checks the names of entries.

use runseal_core::limits::ARCHIVE_MAX_NAME;
use runseal_core::path::{has_drive_prefix, is_control};
use unicode_normalization::UnicodeNormalization as _;

/// What is wrong with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameFault {
    /// No folder can hold it, or it would be written elsewhere: the entry is dropped.
    Refused(&'static str),
    /// A folder can hold it, but some unpackers would write it under another name.
    Unsteady(&'static str),
}

/// Returns the worst fault of a name.
pub(crate) fn check_name(name: &[u8]) -> Option<NameFault> {
    if let Some(message) = refusal(name) {
        return Some(NameFault::Refused(message));
    }
    let unsteady = |message| Some(NameFault::Unsteady(message));
    let Ok(text) = str::from_utf8(name) else {
        return unsteady("the name is not UTF-8; unpackers disagree on what it means");
    };
    if text.contains('\\') {
        return unsteady("the name contains `\\`, which separates folders for some unpackers");
    }
    if text.chars().any(is_control) {
        return unsteady("the name contains a control character, which some unpackers replace");
    }
    if has_drive_prefix(text) {
        return unsteady("the name begins with a drive letter");
    }
    None
}

/// Whether letters and their accents are one character wherever possible (NFC).
pub(crate) fn is_composed(name: &str) -> bool {
    name.is_ascii() || name.nfc().eq(name.chars())
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
        return Some("the name contains NUL");
    }
    if name
        .split(|byte| *byte == b'/')
        .any(|segment| segment == b"..")
    {
        return Some("the name leads out of the folder it is unpacked in");
    }
    let mut segments = name.split(|byte| *byte == b'/');
    if segments.any(|segment| segment.is_empty() || segment == b".") {
        return Some("the name is not normalized");
    }
    None
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
}
