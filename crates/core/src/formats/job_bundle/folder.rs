//! What stands below a job bundle's folder: every entry listed, every artifact opened once.
//!
//! Only regular files with an artifact's name, in the `artifacts` folder, are opened. No path that a manifest declares
//! is ever opened; it is only compared.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::facts::{ArtifactFact, ArtifactKey, BundleFacts, EntryFact, FolderFact};
use crate::digest::encode_lower_hex;
use crate::path::SafePath;
use crate::source::{Entry, EntryKind, EntryName, Got, Source, SourceError, Want};

/// The manifest's name.
pub(super) const MANIFEST: &str = "bundle.json";

/// A folder that was listed, and whose artifacts are read by as many threads as take part.
#[derive(Default)]
pub(super) struct Folder {
    manifest: Option<EntryKind>,
    folder: Option<EntryFact>,
    /// What has an artifact's name, sorted by key, and what became of it; a regular file is still to be read.
    artifacts: Vec<(ArtifactKey, OnceLock<ArtifactFact>)>,
    others: Vec<(String, EntryFact)>,
    unlisted: Option<String>,
    /// The first artifact that no thread has taken.
    next: AtomicUsize,
}

impl Folder {
    pub fn list(source: &dyn Source) -> Self {
        let mut folder = Self::default();
        // What is noted first takes a fifth of what is kept, which begins only when the list of names is gone.
        let mut artifacts: Vec<(ArtifactKey, EntryFact)> = Vec::new();
        match source.entries() {
            Ok(entries) => {
                let entries = entries.into_iter();
                artifacts.extend(entries.filter_map(|entry| folder.note(&entry)));
            }
            // Nothing good is assumed of what is in it.
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

    /// Takes note of an entry; gives those with an artifact's name back.
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
            // What lies in a folder of that name is that folder's fault.
        } else if name == "artifacts" {
            self.folder = Some(kind);
            if kind != EntryFact::Folder {
                also(name);
            }
        } else if let Some(key) = artifact_key(&entry.name) {
            // A folder may hide a link, and a link is a finding of its own.
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

    /// Reads artifacts that no other thread reads, `count` at a time, until none is left.
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
                // Each file is shown once, so nothing is known of it yet.
                let _: Result<(), ArtifactFact> = facts[at].set(fact);
            });
        }
    }

    /// Why there is no manifest to be read, or that there is one; and everything else that was found.
    pub fn into_facts(self) -> (Result<(), &'static str>, BundleFacts) {
        let manifest = match self.manifest {
            Some(EntryKind::File) => Ok(()),
            Some(EntryKind::Symlink) => Err("it is a symbolic link"),
            Some(_) => Err("it is no regular file"),
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

/// What is known of an artifact that could not be read.
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

/// Where an artifact's file is.
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
