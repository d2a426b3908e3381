//! Finds the units below paths, without following links.
//!
//! Only the names in the folders being searched are held, packed into one buffer each, so a million
//! folders take a few megabytes. Order does not matter here: results are sorted at the end.

use std::io;
use std::path::{Component, Path, PathBuf};

use runseal_archive::{Beginning, Container, HEAD, PACKED_HEAD, sniff};
use runseal_core::canon::{ReadOptions, parse_document};
use runseal_core::formats::Format;
use runseal_core::formats::checksums::LISTS;
use runseal_core::formats::definition::{Claim, Coverage, FolderNames, definition};
use runseal_core::formats::detect::{
    Detected, detect_folder, detect_leftover, detect_root, detect_text, is_candidate,
};
use runseal_core::formats::job_bundle::facts::ArtifactKey;
use runseal_core::limits::JsonLimits;
use runseal_core::source::{EntryKind, SourceError};

use super::answer::Unjudged;
use super::inside::InsidePath;
use super::{Files, Found, Item, Unit, display_path, name_several};

/// The beginning of the names of everything that is still being made, or was when its process ended.
const UNFINISHED: &[u8] = b".runseal-";

/// The end of the name of the journal of a recording. When the recording is finished, it has the rest of
/// the name.
const JOURNAL: &[u8] = b".json.journal";

/// Whether a file or folder with this name seems to be unfinished. Anyone can give something such a
/// name, so a search reports such folders unless they are empty, and judges such files like all others.
pub fn is_unfinished(name: &[u8]) -> bool {
    name.starts_with(UNFINISHED)
}

/// Whether a path ends in an unfinished name.
fn names_unfinished(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| is_unfinished(name.as_encoded_bytes()))
}

/// Where the search for one path begins.
#[derive(Debug)]
pub(super) enum Start {
    /// The path is one unit.
    Unit(Unit),
    /// The path is a folder of other things, which are searched.
    Search(Search),
}

/// A folder to search.
#[derive(Debug)]
pub(super) struct Search {
    /// The folder itself, if it is a unit that may contain others.
    pub(super) unit: Option<Unit>,
    /// Files that may be documents or archives.
    pub(super) candidates: Vec<PathBuf>,
    /// Files whose names say nothing.
    unnamed: Names,
    /// Links, pipes and devices.
    odd: Vec<(PathBuf, EntryKind)>,
    /// Folders with unfinished names.
    unfinished: Vec<PathBuf>,
    /// Journals of recordings, in a folder that a person named.
    journals: Vec<PathBuf>,
    below: Frame,
}

impl Start {
    /// Looks at a path that a person named.
    pub(super) fn at(files: &dyn Files, path: &Path) -> Self {
        if path == Path::new("-") {
            return Self::Unit(Unit(Item::Standard));
        }
        if let Some(inside) = InsidePath::of(files, path) {
            return Self::Unit(Unit(Item::Inside(inside)));
        }
        match files.kind(path) {
            Ok(EntryKind::Directory) if names_unfinished(path) => Self::Unit(unfinished(path)),
            Ok(EntryKind::Directory) => enter(files, path, Found::Named, false),
            // Anything but a file is refused when it is opened.
            Ok(_) => Self::Unit(Unit(Item::File(path.to_owned(), Found::Named))),
            Err(error) => Self::Unit(lost(path, error)),
        }
    }
}

/// Calls `each` with every unit from `start` on.
pub(super) fn walk_below(files: &dyn Files, start: Start, each: &mut dyn FnMut(Unit)) {
    let mut frames: Vec<Frame> = Vec::new();
    let mut take = |start: Start, frames: &mut Vec<Frame>| match start {
        Start::Unit(unit) => each(unit),
        Start::Search(mut search) => {
            if let Some(unit) = search.unit {
                each(unit);
            }
            for path in search.candidates {
                each(Unit(Item::File(path, Found::Searched)));
            }
            let is_listed = search.below.is_listed;
            while let Some(path) = search.unnamed.next(files, &search.below.folder) {
                each(Unit(Item::Unnamed { path, is_listed }));
            }
            let root = frames.first().unwrap_or(&search.below).folder.clone();
            for (path, kind) in search.odd {
                each(Unit(odd_unit(files, &root, path, kind)));
            }
            for path in search.unfinished {
                each(unfinished_found(files, &path));
            }
            for path in search.journals {
                if !files.is_there(&path.with_extension("")) {
                    each(Unit(Item::Journal(path)));
                }
            }
            frames.push(search.below);
        }
    };
    take(start, &mut frames);
    while let Some(frame) = frames.last_mut() {
        let is_listed = frame.is_listed;
        match frame.names.next(files, &frame.folder) {
            Some(folder) => {
                let start = enter(files, &folder, Found::Searched, is_listed);
                take(start, &mut frames);
            }
            None => {
                frames.pop();
            }
        }
    }
}

/// The result of an unfinished folder.
fn unfinished(path: &Path) -> Unit {
    let reason = "its name says that it is being made, or was when its run ended, so it is not \
                  evidence; delete it, or rename it to have it checked";
    unjudged(path, Unjudged::Refused(reason.to_owned()))
}

/// Something that is not judged, for this reason.
fn unjudged(path: &Path, why: Unjudged) -> Unit {
    Unit(Item::Unjudged(path.to_owned(), Box::new(why)))
}

/// The result of an unfinished folder that a search found. An empty one contains no evidence.
fn unfinished_found(files: &dyn Files, path: &Path) -> Unit {
    let mut is_empty = true;
    match files.list(path, &mut |_, _| is_empty = false) {
        Ok(()) if is_empty => Unit(Item::PassedOver),
        Ok(()) => unfinished(path),
        Err(error) => lost(path, error),
    }
}

fn lost(path: &Path, error: io::Error) -> Unit {
    unjudged(path, Unjudged::Lost(display_path(path), error))
}

/// The result of a link, pipe or device that a search found. A link to something that the search
/// itself finds has none.
fn odd_unit(files: &dyn Files, root: &Path, path: PathBuf, kind: EntryKind) -> Item {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let reason = match kind {
        EntryKind::Symlink => {
            if leads_below(root, &path, files.link_target(&path).as_deref()) {
                return Item::Nothing;
            }
            // Opened to find out what it leads to; nothing that it leads to is judged.
            let looks_like_evidence = match files.kind(&path) {
                Ok(EntryKind::Directory) => true,
                Ok(EntryKind::File) => {
                    is_candidate(name)
                        || look_at(files, &path).is_ok_and(|found| found != Beginning::Other)
                }
                Ok(_) | Err(_) => is_candidate(name),
            };
            looks_like_evidence.then_some(
                "a link, which a search does not follow; name what it leads to, or put it here",
            )
        }
        _ => is_candidate(name).then_some("a pipe or device, which has no content"),
    };
    match reason {
        Some(reason) => Item::Unjudged(path, Box::new(Unjudged::Refused(reason.to_owned()))),
        None => Item::PassedOver,
    }
}

/// Whether the text of the link at `path` leads to something at or below `root`. The search finds
/// everything that it passes through, and reports any other link on the way.
fn leads_below(root: &Path, path: &Path, target: Option<&Path>) -> bool {
    let Some(target) = target else { return false };
    let climbs = |part: &Component<'_>| *part == Component::ParentDir;
    if target.is_absolute() {
        return target.starts_with(root) && !target.components().any(|part| climbs(&part));
    }
    let folder = path
        .parent()
        .and_then(|folder| folder.strip_prefix(root).ok());
    let depth = folder.map_or(0, |folder| folder.components().count());
    let parts = || {
        target
            .components()
            .filter(|part| *part != Component::CurDir)
    };
    let above = parts().take_while(climbs).count();
    above <= depth && !parts().skip(above).any(|part| climbs(&part))
}

/// What a file is by its first bytes; [`Beginning::Other`] if they are too costly to read.
pub(super) fn look_at(files: &dyn Files, path: &Path) -> Result<Beginning, SourceError> {
    let Some(head) = files.head(path, HEAD)? else {
        return Ok(Beginning::Other);
    };
    match sniff(&head) {
        Some(Container::TarGz | Container::TarZst) => {
            let head = files.head(path, PACKED_HEAD)?.unwrap_or(head);
            Ok(Beginning::of(&head))
        }
        _ => Ok(Beginning::of(&head)),
    }
}

/// A folder whose subfolders are being searched.
#[derive(Debug)]
struct Frame {
    folder: PathBuf,
    names: Names,
    /// Whether a list of sums here or above may cover what is in it.
    is_listed: bool,
}

/// Names, taken one after another.
#[derive(Debug, Default)]
struct Names {
    /// Each name ends with a NUL.
    text: Vec<u8>,
    at: usize,
}

impl Names {
    fn push(&mut self, name: &[u8]) {
        self.text.extend_from_slice(name);
        self.text.push(0);
    }

    /// The names that `keeps` accepts.
    fn filter(&self, keeps: impl Fn(&[u8]) -> bool) -> Self {
        let mut kept = Self::default();
        let names = self.text.split(|byte| *byte == 0);
        for name in names.filter(|name| !name.is_empty() && keeps(name)) {
            kept.push(name);
        }
        kept
    }

    fn next(&mut self, files: &dyn Files, folder: &Path) -> Option<PathBuf> {
        let rest = self.text.get(self.at..)?;
        let length = rest.iter().position(|byte| *byte == 0)?;
        self.at += length + 1;
        Some(folder.join(files.path_of(&rest[..length])?))
    }
}

/// Looks at the names in one folder.
fn enter(files: &dyn Files, folder: &Path, found: Found, is_listed: bool) -> Start {
    let listed = match list(files, folder) {
        Ok(listed) => listed,
        Err(error) => return Start::Unit(lost(folder, error)),
    };
    let (detected, claim) = listed.detect(files, folder);
    // A folder that is not a job bundle may have a subfolder `artifacts` too.
    let detected = match (detected, claim, found) {
        (Detected::Is(_), Claim::Weak, Found::Searched) if !holds_artifacts(files, folder) => {
            detect_leftover(&listed.names)
        }
        (detected, ..) => detected,
    };
    let mut unit = None;
    let mut listed = listed;
    let mut is_listed = is_listed;
    match detected {
        Detected::Is(format) => {
            let itself = Unit(Item::Folder(folder.to_owned(), format, found));
            match definition(format).covers() {
                Coverage::Everything => return Start::Unit(itself),
                covers @ Coverage::Named { .. } => listed = listed.not_covered(covers),
                Coverage::Bytes => is_listed = true,
            }
            unit = Some(itself);
        }
        Detected::Several(formats) => {
            let why = Unjudged::Unknown(None, name_several(&formats));
            return Start::Unit(unjudged(folder, why));
        }
        Detected::Unknown => {}
    }
    let path = |name: Vec<u8>| Some(folder.join(files.path_of(&name)?));
    let odd = listed.odd.into_iter();
    Start::Search(Search {
        candidates: listed.candidates.into_iter().filter_map(path).collect(),
        unnamed: listed.unnamed,
        odd: odd
            .filter_map(|(name, kind)| Some((path(name)?, kind)))
            .collect(),
        unfinished: listed.unfinished.into_iter().filter_map(path).collect(),
        journals: match found {
            Found::Named => listed.journals.into_iter().filter_map(path).collect(),
            Found::Searched | Found::ByContent => Vec::new(),
        },
        below: Frame {
            folder: folder.to_owned(),
            names: listed.folders,
            is_listed,
        },
        unit,
    })
}

/// Detects what the folder or document at `path` is. Nothing is judged, and archives are not opened.
///
/// # Errors
/// If it cannot be read.
pub fn detect_path(files: &dyn Files, path: &Path) -> Result<Detected, SourceError> {
    let bytes = match files.read(path, JsonLimits::LARGEST_DOCUMENT) {
        Err(SourceError::NotAFile {
            kind: EntryKind::Directory,
            ..
        }) => {
            let fail = |source| SourceError::Io {
                path: display_path(path),
                source,
            };
            return Ok(list(files, path).map_err(fail)?.detect(files, path).0);
        }
        read => read?,
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(detect_bytes(&bytes, &name))
}

/// What the document with this name is.
pub(super) fn detect_bytes(bytes: &[u8], name: &str) -> Detected {
    match parse_document(bytes, &ReadOptions::default()) {
        Ok(document) => detect_root(document.root(), name),
        Err(_) => detect_text(bytes, name),
    }
}

/// The folder that a list of sums is for; `None` if the path is not a list, or its folder is
/// something else.
pub(super) fn folder_of_list<'a>(files: &dyn Files, path: &'a Path) -> Option<&'a Path> {
    let name = path.file_name()?.to_str()?;
    if !LISTS.contains(&name) {
        return None;
    }
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let (detected, _) = list(files, folder).ok()?.detect(files, folder);
    (detected == Detected::Is(Format::Checksums)).then_some(folder)
}

/// Whether the subfolder `artifacts` has a file with an artifact's name.
fn holds_artifacts(files: &dyn Files, folder: &Path) -> bool {
    let mut is_found = false;
    let listed = files.list(&folder.join("artifacts"), &mut |name, _| {
        is_found |= ArtifactKey::parse_file_name(name).is_some();
    });
    listed.is_ok() && is_found
}

/// The names in a folder, by what they may be.
#[derive(Default)]
struct Listed {
    names: FolderNames,
    /// Files that may be documents or archives.
    candidates: Vec<Vec<u8>>,
    /// Files whose names say nothing.
    unnamed: Names,
    /// Links, pipes and devices.
    odd: Vec<(Vec<u8>, EntryKind)>,
    /// Folders with unfinished names.
    unfinished: Vec<Vec<u8>>,
    /// Journals of recordings.
    journals: Vec<Vec<u8>>,
    folders: Names,
}

impl Listed {
    /// What the folder with these names is, and how certain that is.
    fn detect(&self, files: &dyn Files, folder: &Path) -> (Detected, Claim) {
        let limit = JsonLimits::LARGEST_DOCUMENT;
        let read = |name: &str| files.read(&folder.join(name), limit).ok();
        detect_folder(&self.names, &read)
    }

    /// What the rules of the folder's format do not cover.
    fn not_covered(mut self, covers: Coverage) -> Self {
        self.candidates.retain(|name| covers.leaves_open_file(name));
        self.unnamed = self.unnamed.filter(|name| covers.leaves_open_file(name));
        self.odd
            .retain(|(name, _)| covers.leaves_open_file(name) && covers.leaves_open_folder(name));
        self.folders = self.folders.filter(|name| covers.leaves_open_folder(name));
        self.unfinished
            .retain(|name| covers.leaves_open_folder(name));
        self
    }
}

fn list(files: &dyn Files, folder: &Path) -> io::Result<Listed> {
    let mut listed = Listed::default();
    files.list(folder, &mut |name, kind| {
        // What a killed run left, or a running one is making, does not say what the folder is.
        if !is_unfinished(name) {
            listed.names.note(name, kind);
        }
        if name.ends_with(JOURNAL) {
            listed.journals.push(name.to_vec());
        }
        match kind {
            EntryKind::Directory if is_unfinished(name) => listed.unfinished.push(name.to_vec()),
            EntryKind::Directory => listed.folders.push(name),
            EntryKind::File if is_candidate(name) => listed.candidates.push(name.to_vec()),
            EntryKind::File => listed.unnamed.push(name),
            EntryKind::Symlink | EntryKind::Fifo | EntryKind::Special => {
                listed.odd.push((name.to_vec(), kind));
            }
        }
    })?;
    Ok(listed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryFiles;

    #[test]
    fn detect_path_finds_folders_documents_and_missing_paths() {
        let mut files = MemoryFiles::default();
        let manifest = r#"{"bundle_version":"5.0.0"}"#;
        for (name, text) in [
            ("run/RUN_META.json", ""),
            ("pack/run.json", ""),
            ("job/bundle.json", manifest),
            ("none/README.md", ""),
            ("context.json", r#"{"root_node":null}"#),
        ] {
            files.add_file(name, text.as_bytes().into()).unwrap();
        }
        let detect = |name: &str| detect_path(&files, Path::new(name));
        for (name, format) in [
            ("run", Format::RunBundle),
            ("pack", Format::Pack),
            ("job", Format::JobBundle),
            ("job/bundle.json", Format::JobBundle),
            ("context.json", Format::ContextBundle),
        ] {
            assert_eq!(detect(name).unwrap(), Detected::Is(format), "{name}");
        }
        assert_eq!(detect("none").unwrap(), Detected::Unknown);
        assert!(matches!(detect("x"), Err(SourceError::NotFound { .. })));
    }

    #[test]
    fn journals_in_a_named_folder_are_listed_unless_their_recording_is_there() {
        let mut files = MemoryFiles::default();
        for name in [
            "a.json.journal",
            "b.json.journal",
            "b.json",
            "in/c.json.journal",
        ] {
            let path = format!("tree/{name}");
            files.add_file(&path, b"{}".as_slice().into()).unwrap();
        }
        let survey = crate::survey(
            &files,
            &crate::Sequential,
            &[PathBuf::from("tree")],
            crate::VerifyOptions::default(),
            (&crate::Tally::default(), &crate::NoObserver),
        );
        let journals: Vec<_> = survey.journals().collect();
        assert_eq!(journals, [Path::new("tree/a.json.journal")]);
    }
}
