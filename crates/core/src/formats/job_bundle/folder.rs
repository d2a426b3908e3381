//! What is below a job bundle's folder: every entry listed, every artifact opened once.
//!
//! Only regular files with an artifact's name, in the `artifacts` folder, are opened. A path that a
//! manifest declares is only compared, never opened.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::facts::{ArtifactFact, ArtifactKey, BundleFacts, EntryFact, FolderFact};
use crate::digest::encode_lower_hex;
use crate::path::SafePath;
use crate::source::{Entry, EntryKind, EntryName, Got, Source, SourceError, Want};

/// The manifest's name.
pub(super) const MANIFEST: &str = "bundle.json";

/// A folder that was listed, whose artifacts any number of threads can read together.
#[derive(Default)]
pub(super) struct Folder {
    manifest: Option<EntryKind>,
    folder: Option<EntryFact>,
    /// The entries with an artifact's name, sorted by key; a regular file is unset until it is
    /// read.
    artifacts: Vec<(ArtifactKey, OnceLock<ArtifactFact>)>,
    others: Vec<(String, EntryFact)>,
    unlisted: Option<String>,
    /// The first artifact that no thread has taken.
    next: AtomicUsize,
}

impl Folder {
    pub fn list(source: &dyn Source) -> Self {
        let mut folder = Self::default();
        // This first list is five times smaller than the final one, which is made only when the
        // entries are freed.
        let mut artifacts: Vec<(ArtifactKey, EntryFact)> = Vec::new();
        match source.entries() {
            Ok(entries) => {
                let entries = entries.into_iter();
                artifacts.extend(entries.filter_map(|entry| folder.note(&entry)));
            }
            // Nothing good is assumed about its content.
            Err(error) => {
                folder.manifest = Some(EntryKind::File);
                folder.unlisted = Some(error.to_string());
                folder.others.push((".".to_owned(), EntryFact::Unknown));
            }
        }
        artifacts.sort_unstable_by_key(|(key, _)| *key);
        let unread = |(key, kind)| match kind {
            EntryFact::File => (key, OnceLock::new()),
            other => (key, OnceLock::from(ArtifactFact::NotRegular(other))),
        };
        folder.artifacts = artifacts.into_iter().map(unread).collect();
        folder.others.sort();
        folder
    }

    /// Notes an entry; returns it if it has an artifact's name.
    fn note(&mut self, entry: &Entry) -> Option<(ArtifactKey, EntryFact)> {
        let kind = fact_of(entry.kind);
        let name = entry.name.exact();
        let mut also = |name: &str| self.others.push((name.to_owned(), kind));
        if name == MANIFEST {
            self.manifest = Some(entry.kind);
            if kind == EntryFact::Link {
                also(name);
            }
        } else if name.starts_with("bundle.json/") {
            // What is below a folder of that name is not reported separately.
        } else if name == "artifacts" {
            self.folder = Some(kind);
            if kind != EntryFact::Folder {
                also(name);
            }
        } else if let Some(key) = artifact_key(&entry.name) {
            // A folder may hide a link, and a link is a separate finding.
            if matches!(kind, EntryFact::Link | EntryFact::Folder) {
                also(name);
            }
            return Some((key, kind));
        } else {
            also(name);
        }
        None
    }

    /// How many entries have an artifact's name.
    pub fn artifacts(&self) -> usize {
        self.artifacts.len()
    }

    /// Reads artifacts that no other thread reads, `count` at a time, until none are left.
    pub fn read_artifacts(&self, source: &dyn Source, count: usize) {
        loop {
            let from = self.next.fetch_add(count, Ordering::Relaxed);
            let Some(rest) = self.artifacts.get(from..).filter(|rest| !rest.is_empty()) else {
                return;
            };
            let files = rest.iter().take(count);
            let files = files.filter(|(_, fact)| fact.get().is_none());
            let named = files.filter_map(|(key, fact)| Some(((path_of(*key)?, Want::Fact), fact)));
            let (wanted, facts): (Vec<_>, Vec<_>) = named.unzip();
            source.visit(&wanted, &|at, seen| {
                let fact = match seen {
                    Ok(Got::Fact(content)) => ArtifactFact::Content(content),
                    Ok(Got::Whole(_) | Got::Digests(_)) => return,
                    Err(error) => unread(&error),
                };
                // Each file is visited once, so its fact is still unset.
                let _: Result<(), ArtifactFact> = facts[at].set(fact);
            });
        }
    }

    /// Returns why there is no readable manifest, if so, and everything else that was found.
    pub fn into_facts(self) -> (Result<(), &'static str>, BundleFacts) {
        let manifest = match self.manifest {
            Some(EntryKind::File) => Ok(()),
            Some(EntryKind::Symlink) => Err("it is a symbolic link"),
            Some(_) => Err("it is not a regular file"),
            None => Err("there is none"),
        };
        // Collected in place: there may be a hundred thousand.
        let artifacts = self.artifacts.into_iter().map(|(key, fact)| {
            let unread = ArtifactFact::NotRegular(EntryFact::File);
            (key, fact.into_inner().unwrap_or(unread))
        });
        let facts = BundleFacts {
            folder: match (self.unlisted, self.folder) {
                (Some(reason), _) => FolderFact::Unreadable(reason),
                (None, Some(EntryFact::Folder)) => FolderFact::Listed,
                (None, Some(kind)) => FolderFact::NotFolder(kind),
                (None, None) => FolderFact::Missing,
            },
            artifacts: artifacts.collect(),
            others: self.others,
        };
        (manifest, facts)
    }
}

/// The fact about an artifact that could not be read.
fn unread(error: &SourceError) -> ArtifactFact {
    match error {
        // Swapped after it was listed.
        SourceError::NotAFile { kind, .. } => ArtifactFact::NotRegular(fact_of(*kind)),
        other => ArtifactFact::Unreadable(match std::error::Error::source(other) {
            Some(source) => source.to_string(),
            None => other.to_string(),
        }),
    }
}

/// The path of an artifact's file.
fn path_of(key: ArtifactKey) -> Option<SafePath> {
    let mut path = *b"artifacts/0000000000000000.txt";
    encode_lower_hex(&key.to_bytes(), &mut path[10..26]);
    SafePath::parse(str::from_utf8(&path).ok()?).ok()
}

fn artifact_key(name: &EntryName) -> Option<ArtifactKey> {
    let EntryName::Safe(path) = name else {
        return None;
    };
    let name = path.as_str().strip_prefix("artifacts/")?;
    ArtifactKey::parse_file_name(name.as_bytes())
}

fn fact_of(kind: EntryKind) -> EntryFact {
    match kind {
        EntryKind::File => EntryFact::File,
        EntryKind::Directory => EntryFact::Folder,
        EntryKind::Symlink => EntryFact::Link,
        EntryKind::Fifo | EntryKind::Special => EntryFact::Special,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_of_an_artifact_has_its_name() {
        let key = ArtifactKey::parse(b"00ffd038de10456d").unwrap();
        let expected = format!("artifacts/{}", key.file_name());
        assert_eq!(path_of(key).unwrap().as_str(), expected);
    }
}
