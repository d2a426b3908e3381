//! Relative paths that cannot leave the folder they are joined to.
//!
//! A [`SafePath`] is what a document may name and what a source may be asked for. It is checked
//! once, when parsed; there is no other way to make one and no way to change one, so code that
//! holds a `SafePath` need not check again.

use std::fmt;

/// A relative path with `/` between its segments, and nothing in it that could climb, restart at
/// a root, or be read differently by another system.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SafePath(Box<str>);

/// Which rule for a [`SafePath`] a text breaks; the first in this list if it breaks several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum UnsafePath {
    /// The text is empty.
    #[error("the path is empty")]
    Empty,
    /// U+0000.
    #[error("the path holds a NUL character")]
    Nul,
    /// U+0001 to U+001F, or U+007F.
    #[error("the path holds the control character U+{:04X}", *.0 as u32)]
    Control(char),
    /// `\`.
    #[error("the path holds a backslash")]
    Backslash,
    /// A leading `/`.
    #[error("the path is absolute")]
    Absolute,
    /// `C:` and the like.
    #[error("the path begins with a drive letter")]
    Drive,
    /// A segment `..`.
    #[error("the path has a `..` segment")]
    Parent,
    /// A segment `.`.
    #[error("the path has a `.` segment")]
    Current,
    /// `//` or a `/` at the end.
    #[error("the path has an empty segment")]
    EmptySegment,
}

/// Whether `c` is a control character in the sense of the documents: U+0000-U+001F and U+007F.
pub const fn is_control(c: char) -> bool {
    matches!(c, '\0'..='\x1f' | '\x7f')
}

/// Whether `text` begins like `C:`.
pub fn has_drive_prefix(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':'
}

/// Whether `text` breaks none of the rules. There may be a million paths and nearly all are safe, so this looks at
/// their bytes as few times as possible and leaves which rule is broken to [`SafePath::find_fault`].
fn is_safe(text: &str) -> bool {
    let is_plain = |byte: &u8| *byte != b'\\' && !is_control(char::from(*byte));
    let is_name = |segment: &[u8]| !matches!(segment, b"" | b"." | b"..");
    let bytes = text.as_bytes();
    !has_drive_prefix(text)
        && bytes.iter().all(is_plain)
        && bytes.split(|byte| *byte == b'/').all(is_name)
}

impl SafePath {
    /// Checks `text` and keeps it unchanged; nothing is normalized.
    pub fn parse(text: &str) -> Result<Self, UnsafePath> {
        if is_safe(text) {
            Ok(Self(text.into()))
        } else {
            Err(Self::find_fault(text))
        }
    }

    /// Returns the first rule that an unsafe text breaks.
    fn find_fault(text: &str) -> UnsafePath {
        if text.is_empty() {
            return UnsafePath::Empty;
        }
        if let Some(c) = text.chars().find(|&c| is_control(c)) {
            return if c == '\0' {
                UnsafePath::Nul
            } else {
                UnsafePath::Control(c)
            };
        }
        if text.contains('\\') {
            return UnsafePath::Backslash;
        }
        if text.starts_with('/') {
            return UnsafePath::Absolute;
        }
        if has_drive_prefix(text) {
            return UnsafePath::Drive;
        }
        let has_segment = |wanted: &str| text.split('/').any(|segment| segment == wanted);
        if has_segment("..") {
            return UnsafePath::Parent;
        }
        if has_segment(".") {
            return UnsafePath::Current;
        }
        UnsafePath::EmptySegment
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The segments: at least one, and none is empty, `.` or `..`.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }

    /// The last segment.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// This path below `folder`.
    pub fn below(&self, folder: &SafePath) -> SafePath {
        Self(format!("{folder}/{self}").into())
    }
}

impl From<SafePath> for Box<str> {
    fn from(path: SafePath) -> Self {
        path.0
    }
}

impl fmt::Display for SafePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for SafePath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_path_ordinary_is_kept_as_written() {
        for text in [
            "a", "a/b.txt", "..a/b..", "a b/ü", ".hidden", "a/.../b", "1:x/y",
        ] {
            assert_eq!(SafePath::parse(text).unwrap().as_str(), text);
        }
    }

    #[test]
    fn safe_path_each_fault_is_named() {
        for (text, fault) in [
            ("", UnsafePath::Empty),
            ("/etc", UnsafePath::Absolute),
            ("/", UnsafePath::Absolute),
            ("a\\b", UnsafePath::Backslash),
            ("a/../b", UnsafePath::Parent),
            ("..", UnsafePath::Parent),
            ("./a", UnsafePath::Current),
            ("a/.", UnsafePath::Current),
            ("a//b", UnsafePath::EmptySegment),
            ("a/", UnsafePath::EmptySegment),
            ("C:x", UnsafePath::Drive),
            ("c:/x", UnsafePath::Drive),
            ("a\0b", UnsafePath::Nul),
            ("a\nb", UnsafePath::Control('\n')),
            ("a\u{7f}", UnsafePath::Control('\u{7f}')),
        ] {
            assert_eq!(SafePath::parse(text), Err(fault), "{text:?}");
        }
    }

    #[test]
    fn safe_path_below_a_folder_keeps_both() {
        let folder = SafePath::parse("artifacts").unwrap();
        let path = SafePath::parse("x/y.txt").unwrap().below(&folder);
        assert_eq!(path.as_str(), "artifacts/x/y.txt");
        assert_eq!(path.file_name(), "y.txt");
        assert_eq!(path.segments().count(), 3);
    }
}
