//! Collects what the observer sees, each thing once and within bounds.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Stat};

use crate::observation::{
    FirstUse, Gap, NetworkAttempt, Observation, Observe, ObservedFile, ObservedKind,
};

/// Names that were only looked at, and names given to something, that are kept of each.
const MOST_LOOKS: usize = 20_000;
/// Names over links that are kept for one file.
const MOST_NAMES: usize = 16;
/// Bytes of all names that are kept: a command can make up long ones for as long as it runs.
const MOST_NAME_BYTES: usize = 64 << 20;

/// A folder that the command worked in a copy of.
#[derive(Debug, Clone)]
pub(super) struct CopiedFolder {
    /// Where the copy is.
    pub(super) copy: PathBuf,
    /// The folder that it stands for.
    pub(super) real: PathBuf,
}

impl CopiedFolder {
    /// What a path in the copy is in the real folder; any other stays.
    pub(super) fn to_real(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.copy) {
            Ok(below) if below.as_os_str().is_empty() => self.real.clone(),
            Ok(below) => self.real.join(below),
            Err(_) => path.to_owned(),
        }
    }
}

/// How a path was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) reads: bool,
    pub(super) writes: bool,
    pub(super) executes: bool,
    /// Whether the file is emptied by being opened.
    pub(super) empties: bool,
}

/// Names that were not there which are kept, and the longest of them.
const MOST_MISSING: usize = 10_000;
const LONGEST_MISSING: usize = 512;

/// Everything seen so far.
pub(super) struct Seen {
    bounds: Observe,
    moved: Option<CopiedFolder>,
    files: BTreeMap<Vec<u8>, ObservedFile>,
    /// Files that at some time had nothing left from before the run.
    emptied: BTreeSet<Vec<u8>>,
    /// Names below the command's folder that were looked at.
    looks: BTreeSet<Vec<u8>>,
    /// Names that were to be opened, and were not there.
    missing: BTreeSet<Vec<u8>>,
    /// Names that something was to be renamed or linked to.
    given_names: BTreeSet<Vec<u8>>,
    looks_not_kept: u64,
    name_bytes: usize,
    not_kept: u64,
    unresolved: u64,
    network: BTreeSet<NetworkAttempt>,
    randomness: BTreeMap<PathBuf, u64>,
    threads: BTreeMap<PathBuf, u64>,
    has_too_many_programs: bool,
    pub(super) notifications: u64,
    /// The command's first process, and what it became last.
    first: Option<(u32, Vec<u8>)>,
}

impl Seen {
    pub(super) fn new(bounds: Observe, moved: Option<CopiedFolder>) -> Seen {
        Seen {
            bounds,
            moved,
            files: BTreeMap::new(),
            emptied: BTreeSet::new(),
            looks: BTreeSet::new(),
            missing: BTreeSet::new(),
            given_names: BTreeSet::new(),
            looks_not_kept: 0,
            name_bytes: 0,
            not_kept: 0,
            unresolved: 0,
            network: BTreeSet::new(),
            randomness: BTreeMap::new(),
            threads: BTreeMap::new(),
            has_too_many_programs: false,
            notifications: 0,
            first: None,
        }
    }

    /// Notes one use of a resolved path. `asked` is the name that led there, where it is plain;
    /// `look` is only called for a path that was not seen before, and answers nothing for one
    /// that does not exist yet. Gives back a path that is new.
    pub(super) fn note_file(
        &mut self,
        path: Vec<u8>,
        asked: Option<&[u8]>,
        how: Use,
        look: impl FnOnce() -> Option<Stat>,
    ) -> Option<&ObservedFile> {
        let path = self.translate(path);
        let is_new = !self.files.contains_key(&path);
        if is_new {
            // The name is kept twice: as the key and in the value.
            let more = path.len().saturating_mul(2);
            if self.files.len() >= self.bounds.most_files
                || self.name_bytes.saturating_add(more) > MOST_NAME_BYTES
            {
                self.not_kept += 1;
                return None;
            }
            self.name_bytes += more;
            let new = first_seen(&path, how, look());
            self.files.insert(path.clone(), new);
        }
        let asked = asked.map(|asked| self.translate(asked.to_vec()));
        let file = self.files.get_mut(&path)?;
        if how.empties {
            self.emptied.insert(path.clone());
        } else if !file.needs_original && !self.emptied.contains(&path) {
            file.needs_original = true;
        }
        file.is_read |= how.reads;
        file.is_written |= how.writes;
        file.is_executed |= how.executes;
        if let Some(asked) = asked
            && asked != path
            && file.also_as.len() < MOST_NAMES
            && self.name_bytes.saturating_add(asked.len()) <= MOST_NAME_BYTES
        {
            self.name_bytes += asked.len();
            let asked = PathBuf::from(OsString::from_vec(asked));
            if let Err(place) = file.also_as.binary_search(&asked) {
                file.also_as.insert(place, asked);
            }
        }
        is_new.then_some(file)
    }

    /// Notes what a process executes; the first one to do so is the command's.
    pub(super) fn note_program(&mut self, pid: u32, path: &[u8]) {
        if self.first.as_ref().is_none_or(|(first, _)| *first == pid) {
            self.first = Some((pid, self.translate(path.to_vec())));
        }
    }

    /// Notes that somebody looked at a name.
    pub(super) fn note_look(&mut self, asked: Vec<u8>) {
        let path = self.translate(asked);
        if !self.looks.contains(&path) && self.has_room(self.looks.len(), &path) {
            self.looks.insert(path);
        }
    }

    /// Notes that somebody wanted to open a name and did not find it. Beyond a bound they are not kept: they tell
    /// of what was different for the command, and the first ones tell enough.
    pub(super) fn note_missing(&mut self, asked: Vec<u8>) {
        let path = self.translate(asked);
        if self.missing.len() < MOST_MISSING && path.len() <= LONGEST_MISSING {
            self.missing.insert(path);
        }
    }

    /// Notes that something was to get a name.
    pub(super) fn note_given_name(&mut self, asked: Vec<u8>) {
        let path = self.translate(asked);
        if !self.given_names.contains(&path) && self.has_room(self.given_names.len(), &path) {
            self.given_names.insert(path);
        }
    }

    /// Notes that a path, which was noted before, was to get another name.
    pub(super) fn note_renamed(&mut self, path: &[u8]) {
        let path = self.translate(path.to_vec());
        if let Some(file) = self.files.get_mut(&path) {
            file.is_renamed = true;
        }
    }

    /// Whether one more name can be kept beside `kept` others of its kind; counted either way.
    fn has_room(&mut self, kept: usize, path: &[u8]) -> bool {
        let bytes = self.name_bytes.saturating_add(path.len());
        let has_room = kept < MOST_LOOKS && bytes <= MOST_NAME_BYTES;
        match has_room {
            true => self.name_bytes = bytes,
            false => self.looks_not_kept += 1,
        }
        has_room
    }

    /// Whether the path was executed before.
    pub(super) fn was_executed(&self, path: &[u8]) -> bool {
        let path = self.translate(path.to_vec());
        self.files.get(&path).is_some_and(|file| file.is_executed)
    }

    pub(super) fn note_unresolved(&mut self) {
        self.unresolved += 1;
    }

    pub(super) fn note_random(&mut self, program: PathBuf) {
        let program = self.translate_path(program);
        self.has_too_many_programs |=
            !count_one(&mut self.randomness, program, self.bounds.most_programs);
    }

    pub(super) fn note_thread(&mut self, program: PathBuf) {
        let program = self.translate_path(program);
        self.has_too_many_programs |=
            !count_one(&mut self.threads, program, self.bounds.most_programs);
    }

    pub(super) fn note_network(&mut self, program: PathBuf, target: String, is_refused: bool) {
        if self.network.len() >= self.bounds.most_programs {
            self.has_too_many_programs = true;
            return;
        }
        self.network.insert(NetworkAttempt {
            program: self.translate_path(program),
            target,
            is_refused,
        });
    }

    /// The result, with `gaps` that are known from elsewhere.
    pub(super) fn finish(self, mut gaps: Vec<Gap>) -> Observation {
        if self.not_kept > 0 {
            gaps.push(Gap::TooManyFiles {
                not_kept: self.not_kept,
            });
        }
        if self.looks_not_kept > 0 {
            gaps.push(Gap::TooManyLooks {
                not_kept: self.looks_not_kept,
            });
        }
        if self.unresolved > 0 {
            gaps.push(Gap::Unresolved {
                count: self.unresolved,
            });
        }
        if self.has_too_many_programs {
            gaps.push(Gap::TooManyPrograms);
        }
        gaps.sort();
        gaps.dedup();
        let became = self.first.map(|(_, path)| OsString::from_vec(path).into());
        Observation {
            became,
            files: self.files.into_values().collect(),
            looks: paths(self.looks),
            missing: paths(self.missing),
            given_names: paths(self.given_names),
            network: self.network.into_iter().collect(),
            randomness: self.randomness,
            threads: self.threads,
            gaps,
            notifications: self.notifications,
        }
    }

    /// What a path in a copy is in the real folder.
    fn translate(&self, path: Vec<u8>) -> Vec<u8> {
        let Some(moved) = &self.moved else {
            return path;
        };
        let path = PathBuf::from(OsString::from_vec(path));
        moved.to_real(&path).into_os_string().into_vec()
    }

    fn translate_path(&self, path: PathBuf) -> PathBuf {
        PathBuf::from(OsString::from_vec(
            self.translate(path.into_os_string().into_vec()),
        ))
    }
}

fn paths(names: BTreeSet<Vec<u8>>) -> Vec<PathBuf> {
    let path = |name| PathBuf::from(OsString::from_vec(name));
    names.into_iter().map(path).collect()
}

/// Counts one more for the program; false where there is no room for another program.
fn count_one(counts: &mut BTreeMap<PathBuf, u64>, program: PathBuf, most: usize) -> bool {
    if counts.len() >= most && !counts.contains_key(&program) {
        return false;
    }
    *counts.entry(program).or_default() += 1;
    true
}

fn first_seen(path: &[u8], how: Use, stat: Option<Stat>) -> ObservedFile {
    let (kind, bytes, modified_ns, status_changed_ns) = match stat {
        None => (ObservedKind::New, 0, 0, 0),
        Some(stat) => {
            let kind = match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => ObservedKind::Folder,
                FileType::Fifo => ObservedKind::Pipe,
                FileType::Socket => ObservedKind::Socket,
                FileType::CharacterDevice | FileType::BlockDevice => ObservedKind::Device,
                _ => ObservedKind::File,
            };
            let bytes = if kind == ObservedKind::File {
                u64::try_from(stat.st_size).unwrap_or(0)
            } else {
                0
            };
            let changed =
                i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec);
            let status_changed =
                i128::from(stat.st_ctime) * 1_000_000_000 + i128::from(stat.st_ctime_nsec);
            (kind, bytes, changed, status_changed)
        }
    };
    let first = if how.executes {
        FirstUse::Execute
    } else if how.reads {
        FirstUse::Read
    } else {
        FirstUse::Write
    };
    ObservedFile {
        path: PathBuf::from(OsString::from_vec(path.to_vec())),
        kind,
        is_read: false,
        is_written: false,
        is_executed: false,
        is_renamed: false,
        first,
        needs_original: false,
        bytes,
        modified_ns,
        status_changed_ns,
        also_as: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Use = Use {
        reads: true,
        writes: false,
        executes: false,
        empties: false,
    };

    fn bounds(most_files: usize) -> Observe {
        Observe {
            most_files,
            most_programs: 1,
            looks_at_programs: false,
        }
    }

    #[test]
    fn paths_beyond_the_bound_are_a_gap() {
        let mut seen = Seen::new(bounds(1), None);
        for path in ["/a", "/b", "/c", "/a"] {
            seen.note_file(path.into(), None, READ, || None);
        }
        seen.note_thread("/x".into());
        seen.note_thread("/y".into());
        let observation = seen.finish(Vec::new());
        assert_eq!(observation.files.len(), 1);
        assert_eq!(
            observation.gaps,
            [Gap::TooManyFiles { not_kept: 2 }, Gap::TooManyPrograms]
        );
    }

    #[test]
    fn long_names_are_kept_within_bounds() {
        let mut seen = Seen::new(bounds(1 << 20), None);
        for number in 0..20_000 {
            let path = format!("/{number:04090}").into_bytes();
            seen.note_file(path, None, READ, || None);
        }
        let observation = seen.finish(Vec::new());
        let kept: usize = observation
            .files
            .iter()
            .map(|file| 2 * file.path.as_os_str().len())
            .sum();
        assert!(kept <= MOST_NAME_BYTES);
        assert!(matches!(observation.gaps[0], Gap::TooManyFiles { .. }));
    }

    #[test]
    fn path_in_a_copy_is_the_real_one_and_links_are_kept() {
        let moved = CopiedFolder {
            copy: "/tmp/copy".into(),
            real: "/home/me".into(),
        };
        let mut seen = Seen::new(bounds(9), Some(moved));
        seen.note_file(
            b"/tmp/copy/data".to_vec(),
            Some(b"/tmp/copy/link"),
            READ,
            || None,
        );
        let write = Use {
            reads: false,
            writes: true,
            executes: false,
            empties: false,
        };
        seen.note_file(b"/tmp/copy/data".to_vec(), None, write, || None);
        let observation = seen.finish(Vec::new());
        let file = &observation.files[0];
        assert_eq!(file.path, Path::new("/home/me/data"));
        assert_eq!(file.also_as, [PathBuf::from("/home/me/link")]);
        assert_eq!((file.is_read, file.is_written), (true, true));
        assert_eq!(file.first, FirstUse::Read);
    }

    #[test]
    fn original_counts_unless_the_file_was_emptied_first() {
        let mut seen = Seen::new(bounds(9), None);
        let write = Use {
            reads: false,
            writes: true,
            executes: false,
            empties: false,
        };
        let empty = Use {
            empties: true,
            ..write
        };
        for (path, uses) in [
            ("/appended", vec![write]),
            ("/emptied", vec![empty, write, READ]),
            ("/read", vec![READ, empty]),
        ] {
            for how in uses {
                seen.note_file(path.into(), None, how, || None);
            }
        }
        let observation = seen.finish(Vec::new());
        let counts: Vec<bool> = observation
            .files
            .iter()
            .map(|it| it.needs_original)
            .collect();
        assert_eq!(counts, [true, false, true]);
    }
}
