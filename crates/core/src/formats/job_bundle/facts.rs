//! What was found on disk, as the rules see it: no handles, no paths to follow, only facts.
//!
//! An artifact's file is named `<16 lower-case hex digits>.txt`, so a file is known by the number
//! its name spells ([`ArtifactKey`]). The collector opens only regular files with such names in the
//! real `artifacts` folder: a path that a manifest declares is only compared, never opened.

use std::fmt;

use crate::digest::decode_lower_hex;

pub use crate::source::ContentFact;

/// The 16 hex digits of an artifact id, as a number; ordered like the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ArtifactKey(u64);

impl ArtifactKey {
    /// Parses exactly 16 lower-case hex digits.
    pub fn parse(text: &[u8]) -> Option<Self> {
        decode_lower_hex(text).map(|bytes| Self(u64::from_be_bytes(bytes)))
    }

    /// Makes a key from the bytes that the digits spell.
    pub fn from_bytes(bytes: [u8; 8]) -> Self {
        Self(u64::from_be_bytes(bytes))
    }

    /// The bytes that the digits spell.
    pub fn to_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }

    /// Parses a file name `<16 hex>.txt`.
    pub fn parse_file_name(name: &[u8]) -> Option<Self> {
        name.strip_suffix(b".txt").and_then(Self::parse)
    }

    /// The file name.
    pub fn file_name(self) -> String {
        format!("{self}.txt")
    }
}

/// The 16 hex digits.
impl fmt::Display for ArtifactKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// What kind of entry something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryFact {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link; never followed.
    Link,
    /// A pipe, socket or device; never opened.
    Special,
    /// It could not be examined, so nothing good is assumed.
    Unknown,
}

impl EntryFact {
    /// The entry with its article, for messages.
    pub const fn with_article(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Folder => "a folder",
            Self::Link => "a symbolic link",
            Self::Special => "a pipe, socket or device",
            Self::Unknown => "unreadable",
        }
    }
}

/// What was found under an artifact's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArtifactFact {
    /// A regular file, read whole.
    Content(ContentFact),
    /// Something else, not opened.
    NotRegular(EntryFact),
    /// It could not be read.
    Unreadable(String),
}

/// What is at `artifacts`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderFact {
    /// A folder that was listed.
    Listed,
    /// There is nothing of this name.
    Missing,
    /// Something else, not looked into.
    NotFolder(EntryFact),
    /// It could not be listed.
    Unreadable(String),
}

/// Everything found below the bundle's folder, except the manifest's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleFacts {
    /// The `artifacts` folder.
    pub folder: FolderFact,
    /// The files with an artifact's name, sorted by key.
    pub artifacts: Vec<(ArtifactKey, ArtifactFact)>,
    /// Every other entry, by path relative to the bundle, sorted; `bundle.json` is here only if it
    /// is a link, `artifacts` only if it is not a folder.
    pub others: Vec<(String, EntryFact)>,
}

impl BundleFacts {
    /// The facts of an empty bundle.
    pub fn empty() -> Self {
        Self {
            folder: FolderFact::Missing,
            artifacts: Vec::new(),
            others: Vec::new(),
        }
    }

    /// The same listing without the content of artifacts.
    pub fn without_content(&self) -> Self {
        let unread = |(key, fact): &(ArtifactKey, ArtifactFact)| {
            let fact = match fact {
                ArtifactFact::Content(_) | ArtifactFact::Unreadable(_) => {
                    ArtifactFact::NotRegular(EntryFact::File)
                }
                other => other.clone(),
            };
            (*key, fact)
        };
        Self {
            folder: self.folder.clone(),
            artifacts: self.artifacts.iter().map(unread).collect(),
            others: self.others.clone(),
        }
    }

    /// What was found under an artifact's name.
    pub fn artifact(&self, key: ArtifactKey) -> Option<&ArtifactFact> {
        let at = self
            .artifacts
            .binary_search_by_key(&key, |(key, _)| *key)
            .ok()?;
        Some(&self.artifacts[at].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn artifact_key_of_a_file_name_prints_back() {
        let key = ArtifactKey::parse_file_name(b"00ffd038de10456d.txt").unwrap();
        assert_eq!(key.file_name(), "00ffd038de10456d.txt");
        for name in [
            "00FFd038de10456d.txt",
            "00ffd038de10456d",
            "0ffd038de10456d.txt",
            ".txt",
        ] {
            assert_eq!(
                ArtifactKey::parse_file_name(name.as_bytes()),
                None,
                "{name}"
            );
        }
    }
}
