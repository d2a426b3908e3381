//! Collects what is known of an archive while it is read.

use std::io::{self, Read};

use runseal_core::digest::{Digest, Hasher};
use runseal_core::formats::archive::{ArchiveFault, FaultKind};
use runseal_core::formats::bag::collect::{BAGIT, FETCH, INFO};
use runseal_core::formats::bag::manifest::manifest_name;
use runseal_core::formats::checksums::LISTS;
use runseal_core::limits::{
    ARCHIVE_BYTES_PER_ENTRY, ARCHIVE_FREE_ENTRIES, ARCHIVE_FREE_NAMES, ARCHIVE_KEPT_DOCUMENTS,
    ARCHIVE_KEPT_FREE, ARCHIVE_KEPT_OTHERS, ARCHIVE_KEPT_RATIO, ARCHIVE_MAX_ENTRIES,
    ARCHIVE_MAX_FAULTS, ARCHIVE_MAX_NAMES, JsonLimits,
};
use runseal_core::source::{ContentFact, EntryKind, EntryName, TextCheck};

use crate::catalogue::{Archive, Catalogue};
use crate::container::{Beginning, PackedBytes, begins_like_json};
use crate::names::{NameFault, check_name};

/// Files that are not documents are kept up to this size, as long as there is room.
const SMALL: u64 = 1 << 20;

/// Reads and hashes the bytes of a file. A caller with threads may hash on another thread while
/// this crate continues to unpack.
pub trait ContentDigester {
    /// Reads `reader` to its end and shows every piece to `see`; returns the digest and the number
    /// of bytes. `expected` is the stated size, or 0 to read until the reader ends.
    ///
    /// # Errors
    /// Those of the reader.
    fn digest(
        &mut self,
        reader: &mut dyn Read,
        expected: u64,
        see: &mut dyn FnMut(&[u8]),
    ) -> io::Result<(Digest, u64)>;

    /// Whether to keep small files that no rule reads as text, so that they can be shown. A caller
    /// that only judges has no use for them.
    fn keeps_small_files(&self) -> bool {
        true
    }
}

/// Reads and hashes on the calling thread.
#[derive(Debug)]
pub struct InlineDigester {
    buffer: Vec<u8>,
}

impl Default for InlineDigester {
    fn default() -> Self {
        Self {
            buffer: vec![0; 64 << 10],
        }
    }
}

impl ContentDigester for InlineDigester {
    fn digest(
        &mut self,
        reader: &mut dyn Read,
        expected: u64,
        see: &mut dyn FnMut(&[u8]),
    ) -> io::Result<(Digest, u64)> {
        let mut hasher = Hasher::new();
        let total = read_pieces(reader, &mut self.buffer, expected, &mut |piece| {
            hasher.update(piece);
            see(piece);
        })?;
        Ok((hasher.finish(), total))
    }
}

/// Reads until `expected` bytes were read or the input ends, and shows every piece to `see`;
/// returns the number of bytes.
pub(crate) fn read_pieces(
    reader: &mut dyn Read,
    buffer: &mut [u8],
    expected: u64,
    see: &mut dyn FnMut(&[u8]),
) -> io::Result<u64> {
    let mut total = 0;
    loop {
        let count = match reader.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        see(&buffer[..count]);
        total += count as u64;
        if count == 0 || total == expected {
            return Ok(total);
        }
    }
}

/// Builds an [`Archive`].
pub(crate) struct Scan<'d> {
    catalogue: Catalogue,
    faults: Vec<ArchiveFault>,
    packed: PackedBytes,
    documents: u64,
    others_left: u64,
    /// The room left for files that begin like JSON but have another name, in bytes.
    unnamed_left: u64,
    digester: &'d mut dyn ContentDigester,
    scratch: Vec<u8>,
    head: Vec<u8>,
}

/// Whether there is room for more entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    Left,
    None,
}

/// Where an entry belongs.
enum Place<'a> {
    /// Below the root, under this name.
    Below(&'a [u8]),
    /// The root itself, which `tar` names when it packs `.`.
    Root,
    /// Nowhere: no folder can hold it, which was noted as a fault.
    Nowhere,
}

impl<'d> Scan<'d> {
    pub(crate) fn new(packed: PackedBytes, digester: &'d mut dyn ContentDigester) -> Self {
        Self {
            catalogue: Catalogue::default(),
            faults: Vec::new(),
            packed,
            documents: 0,
            others_left: if digester.keeps_small_files() {
                ARCHIVE_KEPT_OTHERS
            } else {
                0
            },
            unnamed_left: ARCHIVE_KEPT_OTHERS,
            digester,
            scratch: Vec::new(),
            head: Vec::new(),
        }
    }

    pub(crate) fn finish(mut self) -> Archive {
        let limit = self.entries_limit();
        let catalogue = std::mem::take(&mut self.catalogue);
        let catalogue = catalogue.finish(limit, &mut |kind, path, message| {
            self.fault(kind, path, message);
        });
        self.faults.sort();
        Archive::new(catalogue, self.faults)
    }

    pub(crate) fn fault(
        &mut self,
        kind: FaultKind,
        path: Option<String>,
        message: impl Into<String>,
    ) {
        self.add_fault(ArchiveFault {
            kind,
            path,
            message: message.into(),
        });
    }

    pub(crate) fn add_fault(&mut self, fault: ArchiveFault) {
        match self.faults.len() {
            count if count < ARCHIVE_MAX_FAULTS => self.faults.push(fault),
            ARCHIVE_MAX_FAULTS => self.faults.push(ArchiveFault {
                kind: FaultKind::Limit,
                path: None,
                message: format!(
                    "more than {ARCHIVE_MAX_FAULTS} things are wrong with it; the rest is not \
                     listed"
                ),
            }),
            _ => {}
        }
    }

    /// How many entries there may be, given the packed bytes so far.
    pub(crate) fn entries_limit(&self) -> u64 {
        let by_size = self.packed.get() / ARCHIVE_BYTES_PER_ENTRY;
        by_size.clamp(ARCHIVE_FREE_ENTRIES, ARCHIVE_MAX_ENTRIES)
    }

    /// Whether there is room for another entry; adds a fault if not.
    pub(crate) fn room(&mut self) -> Room {
        let (limit, count) = (self.entries_limit(), self.catalogue.count());
        if count >= limit {
            let message = format!(
                "it holds more than {limit} entries ({ARCHIVE_FREE_ENTRIES}, or one for every \
                 {ARCHIVE_BYTES_PER_ENTRY} packed bytes, at most {ARCHIVE_MAX_ENTRIES}); the rest \
                 was not read"
            );
            self.fault(FaultKind::Limit, None, message);
            return Room::None;
        }
        let by_size = self.packed.get().saturating_mul(2);
        let names = by_size.clamp(ARCHIVE_FREE_NAMES, ARCHIVE_MAX_NAMES);
        if self.catalogue.name_bytes() >= names {
            let message = format!(
                "its names are longer than {names} bytes ({ARCHIVE_FREE_NAMES}, or twice the packed \
                 bytes); the rest was not read"
            );
            self.fault(FaultKind::Limit, None, message);
            return Room::None;
        }
        Room::Left
    }

    /// Adds a folder.
    pub(crate) fn add_folder(&mut self, raw_name: &[u8]) {
        let name = raw_name.strip_suffix(b"/").unwrap_or(raw_name);
        match self.place(name) {
            Place::Below(name) => self.catalogue.add(name, EntryKind::Directory),
            Place::Root | Place::Nowhere => {}
        }
    }

    /// Adds a link, pipe or device.
    pub(crate) fn add_other(&mut self, raw_name: &[u8], kind: EntryKind) {
        if let Some(name) = self.place_below(raw_name) {
            self.catalogue.add(name, kind);
        }
    }

    /// Reads a file to the end of `reader` and adds it; returns the facts about its bytes.
    /// `expected` is as in [`ContentDigester::digest`].
    pub(crate) fn add_file(
        &mut self,
        raw_name: &[u8],
        expected: u64,
        reader: &mut dyn Read,
    ) -> io::Result<ContentFact> {
        let name = self.place_below(raw_name);
        let is_document = is_document(raw_name);
        let mut limit = match (name, is_document) {
            (None, _) => 0,
            (_, true) => self.documents_left(),
            // Callers that only judge need signatures too. One that is too long is not a fault of
            // the archive: other files have these endings as well.
            (_, false) if is_signature(raw_name) => self.documents_left().min(SMALL),
            (_, false) => self.others_left.min(SMALL),
        };
        let unnamed_limit = match name {
            None => 0,
            Some(_) => limit.max(self.unnamed_left.min(SMALL)),
        };
        let mut head = std::mem::take(&mut self.head);
        head.clear();
        let mut text = TextCheck::default();
        let mut kept = std::mem::take(&mut self.scratch);
        kept.clear();
        let mut is_kept = true;
        let digest = self.digester.digest(reader, expected, &mut |piece| {
            text.update(piece);
            if !is_document {
                let room = Beginning::wanted(&head).saturating_sub(head.len());
                head.extend_from_slice(&piece[..piece.len().min(room)]);
                // A piece may be a single byte, which decides nothing yet.
                if begins_like_json(&head) != Some(false) {
                    limit = unnamed_limit;
                }
            }
            is_kept = is_kept && (kept.len() + piece.len()) as u64 <= limit;
            if !is_kept {
                kept = Vec::new();
            } else {
                kept.extend_from_slice(piece);
            }
        })?;
        let content = text.finish(digest);
        let beginning = Beginning::of(&head);
        self.head = head;
        if let Some(name) = name {
            match (is_kept, is_document) {
                (true, true) => self.documents += content.bytes,
                (true, false) if is_signature(raw_name) => self.documents += content.bytes,
                (true, false) if content.bytes <= self.others_left => {
                    self.others_left -= content.bytes;
                }
                (true, false) => self.unnamed_left -= content.bytes,
                (false, true) => self.fault_document(name, limit),
                (false, false) => {}
            }
            let file = (content, beginning);
            self.scratch = self.catalogue.add_file(name, file, kept, is_kept);
        } else {
            self.scratch = kept;
        }
        Ok(content)
    }

    /// The room left for the next document, in bytes.
    fn documents_left(&self) -> u64 {
        let by_size = self.packed.get().saturating_mul(ARCHIVE_KEPT_RATIO);
        let limit = by_size.clamp(ARCHIVE_KEPT_FREE, ARCHIVE_KEPT_DOCUMENTS);
        let left = limit.saturating_sub(self.documents);
        left.min(JsonLimits::LARGEST_DOCUMENT)
    }

    fn fault_document(&mut self, name: &[u8], left: u64) {
        let message = format!(
            "the document is too large to be kept with the others: {left} bytes were left of \
             {ARCHIVE_KEPT_FREE}, or {ARCHIVE_KEPT_RATIO} times the packed bytes"
        );
        self.fault(FaultKind::Limit, Some(shown(name)), message);
    }

    /// Returns the name under which to add an entry that is not a folder.
    fn place_below<'a>(&mut self, raw_name: &'a [u8]) -> Option<&'a [u8]> {
        match self.place(raw_name) {
            Place::Below(name) => Some(name),
            Place::Root => {
                let message = "only a folder can be named like the root";
                self.fault(FaultKind::Name, Some(shown(raw_name)), message);
                None
            }
            Place::Nowhere => None,
        }
    }

    fn place<'a>(&mut self, raw_name: &'a [u8]) -> Place<'a> {
        let mut name = raw_name;
        // What `tar` writes when it packs `.`.
        while let Some(rest) = name.strip_prefix(b"./") {
            name = rest;
        }
        if (raw_name != name && name.is_empty()) || name == b"." {
            return Place::Root;
        }
        match check_name(name) {
            None => Place::Below(name),
            Some(NameFault::Unsteady(message)) => {
                self.fault(FaultKind::Name, Some(shown(raw_name)), message);
                Place::Below(name)
            }
            Some(NameFault::Refused(message)) => {
                self.fault(FaultKind::Name, Some(shown(raw_name)), message);
                Place::Nowhere
            }
        }
    }
}

/// Returns the name as reports show it, shortened if it is very long.
pub(crate) fn shown(name: &[u8]) -> String {
    const LONGEST: usize = 1000;
    if name.len() > LONGEST {
        return format!("{}…", name[..LONGEST].escape_ascii());
    }
    EntryName::from_bytes(name).shown().to_owned()
}

/// Whether a file of this name is a signature over a file next to it. Signatures in JSON are
/// documents.
fn is_signature(name: &[u8]) -> bool {
    name.ends_with(b".sig") || name.ends_with(b".minisig")
}

/// Whether rules read a file of this name as text.
fn is_document(name: &[u8]) -> bool {
    let endings: [&[u8]; 5] = [
        b".json",
        b".json.bytes",
        b".jsonl",
        b".md",
        b"SHA256SUMS.txt",
    ];
    let file_name = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
    endings.iter().any(|ending| name.ends_with(ending)) || is_list(file_name)
}

/// Whether a file of this name lists other files, or belongs to such a list.
fn is_list(name: &[u8]) -> bool {
    str::from_utf8(name).is_ok_and(|name| {
        LISTS.contains(&name)
            || matches!(name, BAGIT | FETCH)
            || INFO.contains(&name)
            || manifest_name(name).is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Record;

    fn scan(names: &[&str]) -> Archive {
        let mut digester = InlineDigester::default();
        let mut scan = Scan::new(PackedBytes::default(), &mut digester);
        for name in names {
            let added = scan.add_file(name.as_bytes(), 0, &mut &b"x"[..]);
            assert_eq!(added.unwrap().bytes, 1);
        }
        scan.finish()
    }

    fn faults(names: &[&str]) -> Vec<(FaultKind, Option<String>)> {
        let archive = scan(names);
        let fault = |fault: &ArchiveFault| (fault.kind, fault.path.clone());
        archive.faults().iter().map(fault).collect()
    }

    #[test]
    fn impossible_names_are_faults_and_add_no_entry() {
        for name in ["/etc/passwd", "../x", "a//b", "", "a/..", ".", "./"] {
            assert_eq!(
                faults(&[name]),
                [(FaultKind::Name, Some(name.escape_debug().to_string()))]
            );
            assert_eq!(scan(&[name]).below("").count(), 0);
        }
        for name in ["a", "./a", "././a/b", "..a"] {
            assert_eq!(faults(&[name]), []);
        }
    }

    #[test]
    fn duplicate_names_are_faults() {
        let twice = |name: &str| vec![(FaultKind::Duplicate, Some(name.to_owned()))];
        assert_eq!(faults(&["a", "a"]), twice("a"));
        assert_eq!(faults(&["a", "./a"]), twice("a"));
        assert_eq!(faults(&["a", "a/b"]), twice("a/b"));
        assert_eq!(faults(&["a/b", "a"]), twice("a/b"));
        let alike = |name: &str| vec![(FaultKind::Alike, Some(name.to_owned()))];
        assert_eq!(faults(&["b/A", "b/a"]), alike("b/a"));
        assert_eq!(faults(&["B/x", "b/y"]), alike("b"));
        assert_eq!(faults(&["e\u{301}", "\u{e9}"]), alike("\u{e9}"));
    }

    #[test]
    fn below_returns_names_relative_to_the_folder() {
        let archive = scan(&["a/b/c", "a-b", "a/d"]);
        let names: Vec<_> = archive.below("a").map(|(name, _)| shown(name)).collect();
        assert_eq!(names, ["b", "b/c", "d"]);
        assert_eq!(archive.below("").count(), 5);
        let children = |folder| {
            let found = archive.children(folder).map(|(name, _)| shown(name));
            found.collect::<Vec<_>>()
        };
        assert_eq!(children(""), ["a", "a-b"]);
        assert_eq!(children("a"), ["b", "d"]);
        assert_eq!(children("a/b"), ["c"]);
        assert_eq!(children("a/b/c"), [""; 0]);
        assert!(matches!(archive.get("a/b"), Some(Record::Folder)));
        assert!(matches!(archive.get("a-b"), Some(Record::File(file)) if file.kept == Some(b"x")));
        assert!(archive.get("b").is_none());
    }

    #[test]
    fn implied_folders_count_as_entries() {
        let deep = ["a/".repeat(2000), "b/".repeat(2000)].map(|name| format!("{name}x"));
        let names: Vec<String> = (0..60)
            .flat_map(|at| deep.iter().map(move |name| format!("{at}{name}")))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(faults(&names), [(FaultKind::Limit, None)]);
    }
}
