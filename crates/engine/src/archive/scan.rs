//! What is noted of an archive while it goes by.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, Read};
use std::ops::Bound;

use runseal_core::formats::archive::{ArchiveFault, FaultKind};
use runseal_core::formats::job_bundle::facts::ContentFact;
use runseal_core::limits::{
    ARCHIVE_KEPT_DOCUMENTS, ARCHIVE_KEPT_OTHERS, ARCHIVE_MAX_ENTRIES, ARCHIVE_MAX_NAME, JsonLimits,
};
use runseal_core::source::{EntryKind, EntryName};

use crate::stream::{BUFFER, digest_through};
use runseal_core::source::TextCheck;

/// Files of other kinds up to this size are kept, as long as there is room.
const SMALL: u64 = 64 << 10;

/// A file of an archive.
#[derive(Debug)]
pub struct FileRecord {
    /// What its bytes are.
    pub content: ContentFact,
    /// The bytes themselves, where they were kept.
    pub kept: Option<Vec<u8>>,
}

/// An entry of an archive.
#[derive(Debug)]
pub enum Record {
    /// A folder, with an entry of its own or implied by what lies in it.
    Folder,
    /// A regular file.
    File(Box<FileRecord>),
    /// Something that has no bytes.
    Other(EntryKind),
}

impl Record {
    /// What it is.
    pub fn kind(&self) -> EntryKind {
        match self {
            Self::Folder => EntryKind::Directory,
            Self::File(_) => EntryKind::File,
            Self::Other(kind) => *kind,
        }
    }
}

/// An archive that was read to its end, or to where that was no longer possible.
#[derive(Debug)]
pub struct Archive {
    entries: BTreeMap<Box<[u8]>, Record>,
    faults: Vec<ArchiveFault>,
}

impl Archive {
    /// What is wrong with it, in order.
    pub fn faults(&self) -> &[ArchiveFault] {
        &self.faults
    }

    /// Everything below `folder` (empty: everything), with names relative to it, in order.
    pub fn below<'a>(
        &'a self,
        folder: &'a str,
    ) -> impl Iterator<Item = (&'a [u8], &'a Record)> + 'a {
        let prefix = if folder.is_empty() {
            Vec::new()
        } else {
            format!("{folder}/").into_bytes()
        };
        let length = prefix.len();
        let begin = Bound::Excluded(prefix.clone().into_boxed_slice());
        self.entries
            .range((begin, Bound::Unbounded))
            .take_while(move |(name, _)| name.starts_with(&prefix))
            .map(move |(name, record)| (&name[length..], record))
    }

    /// The entry of this name.
    pub fn get(&self, name: &str) -> Option<&Record> {
        self.entries.get(name.as_bytes())
    }
}

/// Gathers an [`Archive`].
#[derive(Debug)]
pub(super) struct Scan {
    entries: BTreeMap<Box<[u8]>, Record>,
    faults: Vec<ArchiveFault>,
    documents_left: u64,
    others_left: u64,
    buffer: Vec<u8>,
}

/// Whether there is room for more entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    Left,
    None,
}

impl Scan {
    pub(super) fn new() -> Self {
        Self {
            entries: BTreeMap::new(),
            faults: Vec::new(),
            documents_left: ARCHIVE_KEPT_DOCUMENTS,
            others_left: ARCHIVE_KEPT_OTHERS,
            buffer: vec![0; BUFFER],
        }
    }

    pub(super) fn finish(mut self) -> Archive {
        self.faults.sort();
        Archive {
            entries: self.entries,
            faults: self.faults,
        }
    }

    pub(super) fn fault(
        &mut self,
        kind: FaultKind,
        path: Option<String>,
        message: impl Into<String>,
    ) {
        self.faults.push(ArchiveFault {
            kind,
            path,
            message: message.into(),
        });
    }

    /// Whether another entry may come; notes it where not.
    pub(super) fn room(&mut self) -> Room {
        if self.entries.len() < ARCHIVE_MAX_ENTRIES {
            return Room::Left;
        }
        let message =
            format!("it holds more than {ARCHIVE_MAX_ENTRIES} entries; the rest was not read");
        self.fault(FaultKind::Limit, None, message);
        Room::None
    }

    /// Adds a folder.
    pub(super) fn add_folder(&mut self, raw_name: &[u8]) {
        let trimmed = trim_end_slashes(raw_name);
        if let Some(name) = self.place(trimmed) {
            match self.entries.get(&*name) {
                None => {
                    self.entries.insert(name, Record::Folder);
                }
                Some(Record::Folder) => {}
                Some(_) => self.fault_twice(&name),
            }
        }
    }

    /// Adds a link, pipe or device.
    pub(super) fn add_other(&mut self, raw_name: &[u8], kind: EntryKind) {
        if let Some(name) = self.place(trim_end_slashes(raw_name)) {
            self.insert(name, Record::Other(kind));
        }
    }

    /// Reads a file to the end of `reader` and adds it. Gives the bytes that were read.
    pub(super) fn add_file(
        &mut self,
        raw_name: &[u8],
        reader: &mut dyn Read,
    ) -> io::Result<ContentFact> {
        let place = self.place(raw_name);
        let is_document = is_document(raw_name);
        let limit = match (&place, is_document) {
            (None, _) => 0,
            (_, true) => self.documents_left.min(JsonLimits::LARGEST_DOCUMENT),
            (_, false) => self.others_left.min(SMALL),
        };
        let mut text = TextCheck::default();
        let mut kept = Some(Vec::new());
        let digest = digest_through(reader, 0, &mut self.buffer, |piece| {
            text.update(piece);
            match &mut kept {
                Some(bytes) if (bytes.len() + piece.len()) as u64 <= limit => {
                    bytes.extend_from_slice(piece);
                }
                _ => kept = None,
            }
            Ok(())
        })?;
        let content = text.finish(digest);
        let Some(name) = place else {
            return Ok(content);
        };
        match (&kept, is_document) {
            (Some(bytes), true) => self.documents_left -= bytes.len() as u64,
            (Some(bytes), false) => self.others_left -= bytes.len() as u64,
            (None, true) => {
                let message = "the document is too large to be kept with the others";
                self.fault(FaultKind::Limit, Some(shown(&name)), message);
            }
            (None, false) => {}
        }
        self.insert(name, Record::File(Box::new(FileRecord { content, kept })));
        Ok(content)
    }

    fn insert(&mut self, name: Box<[u8]>, record: Record) {
        match self.entries.entry(name) {
            Entry::Vacant(place) => {
                place.insert(record);
            }
            Entry::Occupied(place) => {
                let name = place.key().clone();
                self.fault_twice(&name);
            }
        }
    }

    fn fault_twice(&mut self, name: &[u8]) {
        let message = "the name is given more than once; only the first one was looked at";
        self.fault(FaultKind::Duplicate, Some(shown(name)), message);
    }

    /// The name under which an entry belongs, with the folders above it; `None` for the root
    /// itself and for a name that no folder can hold, which is noted.
    fn place(&mut self, raw_name: &[u8]) -> Option<Box<[u8]>> {
        let mut name = raw_name;
        // What `tar` writes when it packs `.`.
        while let Some(rest) = name.strip_prefix(b"./") {
            name = rest;
        }
        if raw_name != name && name.is_empty() || raw_name == b"." {
            return None;
        }
        if let Some(fault) = name_fault(name) {
            self.fault(FaultKind::Name, Some(shown(raw_name)), fault);
            return None;
        }
        for at in (0..name.len()).filter(|at| name[*at] == b'/') {
            match self.entries.get(&name[..at]) {
                Some(Record::Folder) => {}
                None => {
                    self.entries.insert(name[..at].into(), Record::Folder);
                }
                Some(_) => {
                    let message =
                        format!("it lies below `{}`, which is no folder", shown(&name[..at]));
                    self.fault(FaultKind::Duplicate, Some(shown(name)), message);
                    return None;
                }
            }
        }
        Some(name.into())
    }
}

/// The name as reports show it.
pub(super) fn shown(name: &[u8]) -> String {
    EntryName::from_bytes(name).shown().to_owned()
}

fn trim_end_slashes(mut name: &[u8]) -> &[u8] {
    while name.len() > 1 && name.ends_with(b"/") {
        name = &name[..name.len() - 1];
    }
    name
}

/// What rules read as a text.
fn is_document(name: &[u8]) -> bool {
    let endings: [&[u8]; 4] = [b".json", b".jsonl", b".md", b"SHA256SUMS.txt"];
    endings.iter().any(|ending| name.ends_with(ending))
}

/// Why no folder could hold an entry of this name, or why unpacking it would write elsewhere.
fn name_fault(name: &[u8]) -> Option<&'static str> {
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
    let climbs = |segment: &[u8]| segment == b"..";
    if name.split(|b| *b == b'/').any(climbs) {
        return Some("the name climbs out of the folder it is unpacked in");
    }
    if name
        .split(|b| *b == b'/')
        .any(|s| s.is_empty() || s == b".")
    {
        return Some("the name is not normalized");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(names: &[&str]) -> Vec<(FaultKind, Option<String>)> {
        let mut scan = Scan::new();
        for name in names {
            scan.add_file(name.as_bytes(), &mut &b"x"[..]).unwrap();
        }
        let archive = scan.finish();
        let fault = |fault: &ArchiveFault| (fault.kind, fault.path.clone());
        archive.faults().iter().map(fault).collect()
    }

    #[test]
    fn names_that_no_folder_holds_are_faults_and_no_entries() {
        for name in [
            "/etc/passwd",
            "../x",
            "a/../../x",
            "a//b",
            "a/./b",
            "",
            "a/..",
        ] {
            assert_eq!(
                faults(&[name]),
                [(FaultKind::Name, Some(name.escape_debug().to_string()))]
            );
        }
        for name in ["a", "./a", "././a/b", "a\\b", "..a", "C:x"] {
            assert_eq!(faults(&[name]), []);
        }
    }

    #[test]
    fn names_given_twice_are_faults() {
        let twice = |name: &str| vec![(FaultKind::Duplicate, Some(name.to_owned()))];
        assert_eq!(faults(&["a", "a"]), twice("a"));
        assert_eq!(faults(&["a", "./a"]), twice("a"));
        assert_eq!(faults(&["a", "a/b"]), twice("a/b"));
        assert_eq!(faults(&["a/b", "a"]), twice("a"));
    }

    #[test]
    fn below_gives_names_relative_to_the_folder() {
        let mut scan = Scan::new();
        for name in ["a/b/c", "a-b", "a/d"] {
            scan.add_file(name.as_bytes(), &mut &b"x"[..]).unwrap();
        }
        let archive = scan.finish();
        let names: Vec<_> = archive.below("a").map(|(name, _)| shown(name)).collect();
        assert_eq!(names, ["b", "b/c", "d"]);
        assert_eq!(archive.below("").count(), 5);
    }
}
