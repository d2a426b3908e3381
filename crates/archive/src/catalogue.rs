//! The entries of an archive, held in little memory: all names in one buffer, twelve bytes per
//! entry, facts about files in a table, and kept bytes in large pieces.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use runseal_core::digest::Digest;
use runseal_core::formats::archive::{ArchiveFault, FaultKind};
use runseal_core::formats::redacted::chunks::PiecedFile;
use runseal_core::lookalike::fold;
use runseal_core::source::{ContentFact, EntryKind, FileDigests};

use crate::container::Beginning;
use crate::scan::shown;

/// A file of an archive.
#[derive(Debug, Clone, Copy)]
pub struct FileRecord<'a> {
    /// The facts about its bytes.
    pub content: ContentFact,
    /// The bytes themselves, if they were kept.
    pub kept: Option<&'a [u8]>,
    /// What it is by its first bytes; always [`Beginning::Other`] for documents, which go by name.
    pub beginning: Beginning,
}

/// An entry of an archive.
#[derive(Debug, Clone, Copy)]
pub enum Record<'a> {
    /// A folder, listed or implied by the names of what is in it.
    Folder,
    /// A regular file.
    File(FileRecord<'a>),
    /// An entry without bytes.
    Other(EntryKind),
}

impl Record<'_> {
    /// Returns the kind of the entry, without following links.
    pub fn kind(&self) -> EntryKind {
        match self {
            Self::Folder => EntryKind::Directory,
            Self::File(_) => EntryKind::File,
            Self::Other(kind) => *kind,
        }
    }
}

/// An archive that was read to its end, or as far as possible.
#[derive(Debug)]
pub struct Archive {
    catalogue: Catalogue,
    faults: Vec<ArchiveFault>,
    /// The pieces of large files, if asked for, by the files' digests.
    pieces: BTreeMap<Digest, PiecedFile>,
    /// Digests other than SHA-256, if asked for, by the files' SHA-256.
    digests: BTreeMap<Digest, FileDigests>,
}

impl Archive {
    pub(crate) fn new(catalogue: Catalogue, faults: Vec<ArchiveFault>) -> Self {
        Self {
            catalogue,
            faults,
            pieces: BTreeMap::new(),
            digests: BTreeMap::new(),
        }
    }

    /// Returns what is wrong with it, sorted.
    pub fn faults(&self) -> &[ArchiveFault] {
        &self.faults
    }

    /// Adds a fault that only the caller can know, such as a misleading file name.
    pub fn add_fault(&mut self, fault: ArchiveFault) {
        self.faults.push(fault);
        self.faults.sort();
    }

    /// Adds the pieces of large files that a [`PieceDigester`](crate::PieceDigester) found.
    pub fn add_pieces(&mut self, pieces: BTreeMap<Digest, PiecedFile>) {
        self.pieces.extend(pieces);
    }

    /// Returns the pieces of the file with this digest, if they were added.
    pub(crate) fn pieces(&self, sha256: &Digest) -> Option<&PiecedFile> {
        self.pieces.get(sha256)
    }

    /// Adds the digests of files that a [`BagDigester`](crate::BagDigester) found.
    pub fn add_digests(&mut self, digests: BTreeMap<Digest, FileDigests>) {
        self.digests.extend(digests);
    }

    /// Returns the digests of the file with this SHA-256, if they were added.
    pub(crate) fn digests(&self, sha256: &Digest) -> Option<&FileDigests> {
        self.digests.get(sha256)
    }

    /// Returns everything below `folder` (empty: the root), with names relative to it, in order.
    pub fn below<'a>(&'a self, folder: &str) -> impl Iterator<Item = (&'a [u8], Record<'a>)> + 'a {
        let prefix = match folder {
            "" => Vec::new(),
            folder => format!("{folder}/").into_bytes(),
        };
        let catalogue = &self.catalogue;
        let rows = &catalogue.rows;
        let begin = rows.partition_point(|row| catalogue.name(row) < prefix.as_slice());
        let rows = &rows[begin..];
        let end = rows.partition_point(|row| catalogue.name(row).starts_with(&prefix));
        rows[..end].iter().map(move |row| {
            let name = &catalogue.name(row)[prefix.len()..];
            (name, catalogue.record(row))
        })
    }

    /// Returns what is directly in `folder` (empty: the root), by name. Skips what is deeper, so
    /// that the time per folder does not grow with what is below it.
    pub fn children<'a>(
        &'a self,
        folder: &str,
    ) -> impl Iterator<Item = (&'a [u8], Record<'a>)> + 'a {
        let prefix = match folder {
            "" => Vec::new(),
            folder => format!("{folder}/").into_bytes(),
        };
        let catalogue = &self.catalogue;
        let rows = &catalogue.rows;
        let mut at = rows.partition_point(|row| catalogue.name(row) < prefix.as_slice());
        std::iter::from_fn(move || {
            loop {
                let row = rows.get(at)?;
                let name = catalogue.name(row).strip_prefix(prefix.as_slice())?;
                let Some(slash) = name.iter().position(|byte| *byte == b'/') else {
                    at += 1;
                    return Some((name, catalogue.record(row)));
                };
                let deeper = [prefix.as_slice(), &name[..=slash]].concat();
                at += rows[at..].partition_point(|row| catalogue.name(row).starts_with(&deeper));
            }
        })
    }

    /// Returns the entry with this name.
    pub fn get(&self, name: &str) -> Option<Record<'_>> {
        let at = self.catalogue.find(name)?;
        Some(self.catalogue.record(&self.catalogue.rows[at]))
    }

    /// Returns the entry with this name in `folder`, and its row. `next` is the row after the last
    /// one found: if entries are asked for in the order of names, it is the right one and nothing
    /// is searched.
    pub(crate) fn get_in(
        &self,
        folder: &str,
        name: &str,
        next: usize,
    ) -> Option<(usize, Record<'_>)> {
        let rows = &self.catalogue.rows;
        let is_it = |row: &Row| {
            let below = match folder {
                "" => Some(self.catalogue.name(row)),
                folder => strip_folder(self.catalogue.name(row), folder.as_bytes()),
            };
            below == Some(name.as_bytes())
        };
        let at = match rows.get(next) {
            Some(row) if is_it(row) => next,
            _ if folder.is_empty() => self.catalogue.find(name)?,
            _ => self.catalogue.find(&format!("{folder}/{name}"))?,
        };
        Some((at, self.catalogue.record(&rows[at])))
    }

    /// Takes the kept bytes of a large file out of the archive; the facts about them stay.
    pub(crate) fn take(&mut self, name: &str) -> Option<Vec<u8>> {
        let content = self.catalogue.rows[self.catalogue.find(name)?].content;
        self.catalogue.take_kept(content)
    }
}

/// An entry, and where its name is.
#[derive(Debug, Clone, Copy)]
struct Row {
    start: u32,
    /// Index of a file's facts.
    content: u32,
    length: u16,
    kind: EntryKind,
    beginning: Beginning,
}

/// The facts about a file's bytes, except where they stop being UTF-8.
#[derive(Debug, Clone, Copy)]
struct Content {
    bytes: u64,
    sha256: Digest,
    is_utf8: bool,
    final_newlines: u8,
}

/// Where a file's bytes are kept.
#[derive(Debug, Clone, Copy)]
struct Kept {
    content: u32,
    piece: u32,
    start: u32,
    length: u32,
}

/// Kept bytes of small files share pieces of this size.
const PIECE: usize = 1 << 20;

/// A file of this size or more gets its own piece.
const OWN_PIECE: usize = PIECE / 4;

/// Everything known about the entries. Rows are in the order of arrival until
/// [`Catalogue::finish`], then in the order of names.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    names: Vec<u8>,
    rows: Vec<Row>,
    contents: Vec<Content>,
    /// Where files stop being UTF-8, by the index of their content.
    bad_utf8: Vec<(u32, u64)>,
    kept: Vec<Kept>,
    pieces: Vec<Vec<u8>>,
    /// The piece that small files are added to.
    shared_piece: Option<usize>,
}

type Report<'r> = &'r mut dyn FnMut(FaultKind, Option<String>, String);

impl Catalogue {
    /// The number of entries so far.
    pub(crate) fn count(&self) -> u64 {
        self.rows.len() as u64
    }

    /// The length of all names so far, in bytes.
    pub(crate) fn name_bytes(&self) -> u64 {
        self.names.len() as u64
    }

    /// Adds an entry without content. The caller has checked that a name is at most 16 KiB long,
    /// and all names together less than 4 GiB.
    pub(crate) fn add(&mut self, name: &[u8], kind: EntryKind) {
        let row = Row {
            start: u32::try_from(self.names.len()).unwrap_or(u32::MAX),
            content: u32::try_from(self.contents.len()).unwrap_or(u32::MAX),
            length: u16::try_from(name.len()).unwrap_or(u16::MAX),
            kind,
            beginning: Beginning::Other,
        };
        self.names.extend_from_slice(name);
        self.rows.push(row);
    }

    /// Adds a file, and its bytes if they are to be kept. Returns a buffer to use again, which is
    /// `bytes` unless the file got its own piece.
    pub(crate) fn add_file(
        &mut self,
        name: &[u8],
        (content, beginning): (ContentFact, Beginning),
        bytes: Vec<u8>,
        is_kept: bool,
    ) -> Vec<u8> {
        self.add(name, EntryKind::File);
        if let Some(row) = self.rows.last_mut() {
            row.beginning = beginning;
        }
        let at = u32::try_from(self.contents.len()).unwrap_or(u32::MAX);
        self.bad_utf8
            .extend(content.bad_utf8.map(|place| (at, place)));
        self.contents.push(Content {
            bytes: content.bytes,
            sha256: content.sha256,
            is_utf8: content.bad_utf8.is_none(),
            final_newlines: content.final_newlines,
        });
        match is_kept {
            true => self.keep(at, bytes),
            false => bytes,
        }
    }

    fn keep(&mut self, content: u32, mut bytes: Vec<u8>) -> Vec<u8> {
        let length = bytes.len();
        let (piece, start, rest) = if length >= OWN_PIECE {
            bytes.shrink_to_fit();
            self.pieces.push(bytes);
            (self.pieces.len() - 1, 0, Vec::new())
        } else {
            let shared = self.piece_with_room(length);
            let piece = &mut self.pieces[shared];
            let start = piece.len();
            piece.extend_from_slice(&bytes);
            (shared, start, bytes)
        };
        self.kept.push(Kept {
            content,
            piece: u32::try_from(piece).unwrap_or(u32::MAX),
            start: u32::try_from(start).unwrap_or(u32::MAX),
            length: u32::try_from(length).unwrap_or(u32::MAX),
        });
        rest
    }

    fn piece_with_room(&mut self, length: usize) -> usize {
        match self.shared_piece {
            Some(at) if self.pieces[at].len() + length <= PIECE => at,
            _ => {
                self.pieces.push(Vec::with_capacity(PIECE));
                *self.shared_piece.insert(self.pieces.len() - 1)
            }
        }
    }

    fn name(&self, row: &Row) -> &[u8] {
        let start = row.start as usize;
        &self.names[start..start + usize::from(row.length)]
    }

    fn record(&self, row: &Row) -> Record<'_> {
        match row.kind {
            EntryKind::Directory => Record::Folder,
            EntryKind::File => Record::File(FileRecord {
                content: self.content(row.content),
                kept: self.kept_bytes(row.content),
                beginning: row.beginning,
            }),
            kind => Record::Other(kind),
        }
    }

    fn content(&self, at: u32) -> ContentFact {
        let content = self.contents[at as usize];
        let find_bad = || {
            let found = self.bad_utf8.binary_search_by_key(&at, |bad| bad.0);
            found.ok().map(|at| self.bad_utf8[at].1)
        };
        ContentFact {
            bytes: content.bytes,
            sha256: content.sha256,
            bad_utf8: match content.is_utf8 {
                true => None,
                false => find_bad(),
            },
            final_newlines: content.final_newlines,
        }
    }

    fn find(&self, name: &str) -> Option<usize> {
        let found = self
            .rows
            .binary_search_by(|row| self.name(row).cmp(name.as_bytes()));
        found.ok()
    }

    /// Takes out the kept bytes of a file, if no other file shares its piece.
    fn take_kept(&mut self, content: u32) -> Option<Vec<u8>> {
        let found = self
            .kept
            .binary_search_by_key(&content, |kept| kept.content);
        let at = found.ok()?;
        if (self.kept[at].length as usize) < OWN_PIECE {
            return None;
        }
        let kept = self.kept.remove(at);
        Some(std::mem::take(&mut self.pieces[kept.piece as usize]))
    }

    fn kept_bytes(&self, content: u32) -> Option<&[u8]> {
        let found = self
            .kept
            .binary_search_by_key(&content, |kept| kept.content);
        let kept = self.kept[found.ok()?];
        let start = kept.start as usize;
        Some(&self.pieces[kept.piece as usize][start..start + kept.length as usize])
    }

    /// Sorts the entries, adds the folders that names imply, and reports names that occur twice or
    /// that some systems take for the same.
    pub(crate) fn finish(mut self, limit: u64, report: Report<'_>) -> Self {
        let mut rows = std::mem::take(&mut self.rows);
        self.names.shrink_to_fit();
        self.contents.shrink_to_fit();
        // Stable, so that the entry that came first stays first.
        rows.sort_by(|a, b| self.name(a).cmp(self.name(b)));
        rows.dedup_by(|later, first| {
            if self.name(later) != self.name(first) {
                return false;
            }
            if (later.kind, first.kind) != (EntryKind::Directory, EntryKind::Directory) {
                let message = "duplicate name; only the first entry was looked at";
                let path = Some(shown(self.name(first)));
                report(FaultKind::Duplicate, path, message.to_owned());
            }
            true
        });
        self.rows = rows;
        self.drop_entries_below_files(report);
        self.add_implied_folders(limit, report);
        self.report_collisions(report);
        self
    }

    fn drop_entries_below_files(&mut self, report: Report<'_>) {
        let rows = std::mem::take(&mut self.rows);
        let find = |name: &[u8]| rows.binary_search_by(|row| self.name(row).cmp(name));
        let mut dropped = Vec::new();
        let mut before: &[u8] = b"";
        // The last non-folder that was found to have entries below it.
        let mut file: Option<&[u8]> = None;
        for (at, row) in rows.iter().enumerate() {
            let name = self.name(row);
            let is_file =
                |folder: &&[u8]| find(folder).is_ok_and(|at| rows[at].kind != EntryKind::Directory);
            file = file
                .filter(|file| strip_folder(name, file).is_some())
                .or_else(|| folders_begun(name, before).find(is_file));
            before = name;
            if let Some(file) = file {
                dropped.push(at);
                let message = format!("it is below `{}`, which is not a folder", shown(file));
                report(FaultKind::Duplicate, Some(shown(name)), message);
            }
        }
        self.rows = rows;
        let mut dropped = dropped.into_iter().peekable();
        let mut places = 0..;
        self.rows.retain(|_| {
            places
                .next()
                .and_then(|at| dropped.next_if_eq(&at))
                .is_none()
        });
    }

    fn add_implied_folders(&mut self, limit: u64, report: Report<'_>) {
        let mut folders = Vec::new();
        let mut before: &[u8] = b"";
        'rows: for row in &self.rows {
            let name = self.name(row);
            for folder in folders_begun(name, before) {
                let known = (self.rows).binary_search_by(|other| self.name(other).cmp(folder));
                if known.is_ok() {
                    continue;
                }
                if self.rows.len() as u64 + folders.len() as u64 >= limit {
                    let message = format!(
                        "it holds more than {limit} entries with the folders above them; some are \
                         left out"
                    );
                    report(FaultKind::Limit, None, message);
                    break 'rows;
                }
                folders.push(Row {
                    start: row.start,
                    content: 0,
                    length: u16::try_from(folder.len()).unwrap_or(u16::MAX),
                    kind: EntryKind::Directory,
                    beginning: Beginning::Other,
                });
            }
            before = name;
        }
        let mut rows = std::mem::take(&mut self.rows);
        rows.append(&mut folders);
        // Both parts are sorted already, which makes this sort fast.
        rows.sort_by(|a, b| self.name(a).cmp(self.name(b)));
        self.rows = rows;
    }

    /// Reports names that collide with a sibling; files in two folders that collide are the
    /// folders' fault. Compares hashes first, so that only names that share one are folded and
    /// held.
    fn report_collisions(&self, report: Report<'_>) {
        let mut hashes: Vec<(u64, u32)> = (self.rows.iter().zip(0..))
            .map(|(row, at)| (compute_sibling_hash(self.name(row)), at))
            .collect();
        hashes.sort_unstable();
        let groups = hashes.chunk_by(|a, b| a.0 == b.0);
        for group in groups.filter(|group| group.len() > 1) {
            let mut keys: Vec<_> = group
                .iter()
                .map(|(_, at)| {
                    let name = self.name(&self.rows[*at as usize]);
                    (sibling_key(name), name)
                })
                .collect();
            keys.sort_unstable();
            for same in keys.chunk_by(|a, b| a.0 == b.0) {
                for (_, name) in &same[1..] {
                    let first = shown(same[0].1);
                    let message = format!("some systems take this name and `{first}` for the same");
                    report(FaultKind::Alike, Some(shown(name)), message);
                }
            }
        }
    }
}

/// Returns the folders that `name` is in and `before` is not, outermost first. Names are sorted, so
/// everything below a folder is together and each folder is returned once.
fn folders_begun<'a>(name: &'a [u8], before: &[u8]) -> impl Iterator<Item = &'a [u8]> {
    let shared = before.iter().zip(name).take_while(|(a, b)| a == b).count();
    let slashes = (shared..name.len()).filter(|at| name[*at] == b'/');
    slashes.map(|at| &name[..at])
}

/// Returns the rest of `name` below `folder`, or `None` if it is not in it.
fn strip_folder<'a>(name: &'a [u8], folder: &[u8]) -> Option<&'a [u8]> {
    name.strip_prefix(folder)?.strip_prefix(b"/")
}

/// Returns the folder unchanged, and the last segment folded.
fn sibling_key(name: &[u8]) -> (&[u8], Cow<'_, [u8]>) {
    let begin = name
        .iter()
        .rposition(|byte| *byte == b'/')
        .map_or(0, |at| at + 1);
    let (folder, segment) = name.split_at(begin);
    (folder, fold(segment))
}

fn compute_sibling_hash(name: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    sibling_key(name).hash(&mut hasher);
    hasher.finish()
}
