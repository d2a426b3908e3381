//! Collects the facts of a bag from any source: every file is opened once and read once.
//!
//! Only regular files with safe names are opened. Of the payload only sizes and digests are kept,
//! by the hash functions that the manifests use. Nothing is ever fetched.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use super::manifest::{Covers, Fetch, Manifest, is_payload, manifest_name};
use super::tags::{BagInfo, Declaration};
use crate::limits::JsonLimits;
use crate::lookalike::compose;
use crate::path::SafePath;
use crate::source::{
    Algorithms, EntryKind, EntryName, FileDigests, Got, Source, SourceError, Want,
};
use crate::text_map::TextMap;

/// The file that makes a folder a bag.
pub const BAGIT: &str = "bagit.txt";
/// Where to get the files that are not in the bag.
pub const FETCH: &str = "fetch.txt";
/// The bag's metadata, and its file name before version 0.96.
pub const INFO: [&str; 2] = ["bag-info.txt", "package-info.txt"];

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryFact {
    /// A regular file, read whole.
    File(FileDigests),
    /// A folder.
    Folder,
    /// A link, pipe or device; never opened.
    NotAFile(EntryKind),
    /// An entry with an unsafe name, and why it is unsafe. Never opened.
    UnsafeName(String),
}

/// A bag as the rules see it.
#[derive(Debug, Clone)]
pub struct BagFacts {
    /// bagit.txt
    pub declaration: Declaration,
    /// The manifests, by name.
    pub manifests: Vec<Manifest>,
    /// bag-info.txt, with its name.
    pub info: Option<(&'static str, BagInfo)>,
    /// fetch.txt
    pub fetch: Option<Fetch>,
    /// The files that fetch.txt lists.
    pub fetched: BTreeSet<String>,
    /// Tag files that are not text in the bag's encoding.
    pub undecodable: Vec<String>,
    /// Everything below the bag's folder, by displayed path.
    pub entries: TextMap<EntryFact>,
    /// Paths that are not in composed form, or share their composed form with another, by that
    /// form.
    composed: BTreeMap<String, Vec<Box<str>>>,
}

/// The number of files that threads read together.
const FILES_AT_ONCE: usize = 16_384;

impl BagFacts {
    /// Collects the facts of the bag in `source`.
    ///
    /// # Errors
    /// If the source cannot be listed, or a file in it cannot be read: then nothing can be said
    /// about the bag.
    pub fn collect(source: &dyn Source) -> Result<Self, SourceError> {
        let mut entries = Vec::new();
        let mut files = Vec::new();
        for entry in source.entries()? {
            let shown: Box<str> = entry.name.shown().into();
            match (entry.name, entry.kind) {
                (EntryName::Unsafe(name), _) => {
                    entries.push((shown, EntryFact::UnsafeName(name.reason())));
                }
                (EntryName::Safe(_), EntryKind::Directory) => {
                    entries.push((shown, EntryFact::Folder));
                }
                (EntryName::Safe(path), EntryKind::File) => files.push(path),
                (EntryName::Safe(_), kind) => entries.push((shown, EntryFact::NotAFile(kind))),
            }
        }
        let is_text = |path: &SafePath| {
            let name = path.as_str();
            matches!(name, BAGIT | FETCH) || INFO.contains(&name) || manifest_name(name).is_some()
        };
        let (texts, others): (Vec<SafePath>, _) = files.into_iter().partition(is_text);
        let mut read = BTreeMap::new();
        for path in texts {
            let bytes = source.read(&path, JsonLimits::LARGEST_DOCUMENT)?;
            read.insert(path, bytes);
        }
        let mut facts = Self::of_texts(&read);
        let wanted = |covers: Covers| {
            let of_kind = facts.manifests.iter().filter(|list| list.covers == covers);
            let algorithms = of_kind.filter_map(|list| list.algorithm);
            algorithms.fold(Algorithms::default(), Algorithms::with)
        };
        let wanted = [wanted(Covers::Payload), wanted(Covers::Tags)];
        for (path, bytes) in read {
            let fact = EntryFact::File(FileDigests::of(&bytes, wanted[1]));
            entries.push((path.into(), fact));
        }
        digest_others(source, others, wanted, &mut entries)?;
        facts.entries = entries.into_iter().collect();
        for (path, _) in facts.entries.iter() {
            let composed = compose(path);
            let names = facts.composed.entry(composed.into_owned()).or_default();
            names.push(path.into());
        }
        facts
            .composed
            .retain(|composed, names| names.len() > 1 || **composed != *names[0]);
        Ok(facts)
    }

    /// Parses the texts at the top of the bag.
    fn of_texts(read: &BTreeMap<SafePath, Vec<u8>>) -> Self {
        let text_of = |name: &str| {
            let found = read.iter().find(|(path, _)| path.as_str() == name)?;
            Some(found.1.as_slice())
        };
        let declaration = match text_of(BAGIT) {
            Some(bytes) => Declaration::parse(bytes),
            None => Declaration::assumed("the file is missing"),
        };
        let (version, encoding) = (declaration.version, declaration.encoding);
        let mut facts = Self {
            declaration,
            manifests: Vec::new(),
            info: None,
            fetch: None,
            fetched: BTreeSet::new(),
            undecodable: Vec::new(),
            entries: TextMap::default(),
            composed: BTreeMap::new(),
        };
        for (path, bytes) in read.iter().filter(|(path, _)| path.as_str() != BAGIT) {
            let name = path.as_str();
            let Some(text) = encoding.decode(bytes) else {
                facts.undecodable.push(name.to_owned());
                continue;
            };
            if let Some(manifest) = Manifest::parse(name, &text, version) {
                facts.manifests.push(manifest);
            } else if name == FETCH {
                let fetch = Fetch::parse(&text, version);
                facts.fetched = fetch.files().map(str::to_owned).collect();
                facts.fetch = Some(fetch);
            } else if let Some(name) = INFO.into_iter().find(|info| *info == name)
                && facts.info.is_none()
            {
                facts.info = Some((name, BagInfo::parse(&text)));
            }
        }
        facts
    }

    /// Finds an entry by this name, or by one that differs only in how its accents are composed.
    /// File systems change the composition, so a bag that was copied from one to another is still
    /// whole.
    pub fn find(&self, path: &str) -> Option<(&str, &EntryFact)> {
        if let Some(fact) = self.entries.get(path) {
            let (name, _) = self.entries.iter_from(path).next()?;
            return Some((name, fact));
        }
        let names = match self.composed.get(&*compose(path)) {
            Some(names) => names.as_slice(),
            None => {
                let composed = compose(path);
                let (name, fact) = self.entries.iter_from(&composed).next()?;
                return (*name == *composed).then_some((name, fact));
            }
        };
        match names {
            [only] => Some((&**only, self.entries.get(only)?)),
            _ => None,
        }
    }

    /// The files of the payload, or all other files.
    pub fn files(&self, covers: Covers) -> impl Iterator<Item = (&str, &FileDigests)> {
        let is_wanted = move |path: &str| is_payload(path) == (covers == Covers::Payload);
        self.entries
            .iter()
            .filter_map(move |(path, fact)| match fact {
                EntryFact::File(digests) if is_wanted(path) => Some((path, digests)),
                _ => None,
            })
    }

    /// The manifests of the payload, or of the tag files.
    pub fn manifests(&self, covers: Covers) -> impl Iterator<Item = &Manifest> {
        let manifests = self.manifests.iter();
        manifests.filter(move |manifest| manifest.covers == covers)
    }
}

/// Digests the files that no rule reads as text.
fn digest_others(
    source: &dyn Source,
    files: Vec<SafePath>,
    wanted: [Algorithms; 2],
    entries: &mut Vec<(Box<str>, EntryFact)>,
) -> Result<(), SourceError> {
    let mut files = files.into_iter();
    while files.len() > 0 {
        let block = files.by_ref().take(FILES_AT_ONCE);
        let block: Vec<(SafePath, Want)> = block
            .map(|path| {
                let wanted = wanted[usize::from(!is_payload(path.as_str()))];
                (path, Want::Digests(wanted))
            })
            .collect();
        let slots: Vec<OnceLock<Result<EntryFact, SourceError>>> =
            block.iter().map(|_| OnceLock::new()).collect();
        source.visit(&block, &|at, seen| {
            let fact = match seen {
                Ok(Got::Digests(digests)) => Ok(EntryFact::File(digests)),
                // Swapped after it was listed.
                Err(SourceError::NotAFile { kind, .. }) => Ok(EntryFact::NotAFile(kind)),
                Err(error) => Err(error),
                Ok(Got::Whole(_) | Got::Fact(_)) => return,
            };
            // Each file is shown once, so its slot is still empty.
            let _ = slots[at].set(fact);
        });
        for ((path, _), slot) in block.into_iter().zip(slots) {
            // A file that was not visited counts as unreadable.
            let fact = slot.into_inner().unwrap_or_else(|| {
                Err(SourceError::Io {
                    path: path.to_string(),
                    source: std::io::Error::other("it was not read"),
                })
            })?;
            entries.push((path.into(), fact));
        }
    }
    Ok(())
}
