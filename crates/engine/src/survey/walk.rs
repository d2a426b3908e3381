//! Finds the units below paths, without following links.
//!
//! Only the names of one folder after the other are held, packed into one buffer, so a million
//! folders take a few megabytes. Order does not matter here: results are sorted at the end.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use runseal_core::canon::{ReadOptions, parse_document};
use runseal_core::formats::definition::{Claim, FolderNames};
use runseal_core::formats::detect::{
    Detected, detect_folder, detect_root, detect_text, is_candidate,
};
use runseal_core::formats::job_bundle::facts::ArtifactKey;
use runseal_core::limits::JsonLimits;
use runseal_core::source::{EntryKind, SourceError, read_bounded};
use runseal_core::verify::{Checked, NO_FORMAT};

use super::inside::InsidePath;
use super::{Found, Unit, display_path, name_several};
use crate::input::{open_regular, read_file};
use crate::unfinished::{is_unfinished, names_unfinished};

/// Where the search for one path begins.
#[derive(Debug)]
pub(super) enum Start {
    /// The path is one unit.
    Unit(Unit),
    /// The path is a folder of other things, which are searched.
    Search(Search),
}

/// A folder that is no unit itself.
#[derive(Debug)]
pub(super) struct Search {
    candidates: Vec<PathBuf>,
    below: Frame,
}

impl Start {
    /// What stands at a path that a person named.
    pub(super) fn at(path: &Path) -> Self {
        if path == Path::new("-") {
            return Self::Unit(Unit::Standard);
        }
        if let Some(inside) = InsidePath::of(path) {
            return Self::Unit(Unit::Inside(inside));
        }
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() && names_unfinished(path) => {
                let reason = "it was being made when its run ended, and is no evidence".to_owned();
                let result = Checked::not_checked(display_path(path), None, reason);
                Self::Unit(Unit::Known(result))
            }
            Ok(metadata) if metadata.is_dir() => enter(path, Found::ByName),
            // What is neither is refused when it is opened.
            Ok(_) => Self::Unit(Unit::File(path.to_owned(), Found::ByName)),
            Err(error) => Self::Unit(lost(path, &error)),
        }
    }
}

/// Calls `each` with every unit from `start` on.
pub(super) fn walk_below(start: Start, each: &mut dyn FnMut(Unit)) {
    let mut frames: Vec<Frame> = Vec::new();
    let mut take = |start: Start, frames: &mut Vec<Frame>| match start {
        Start::Unit(unit) => each(unit),
        Start::Search(search) => {
            for path in search.candidates {
                each(Unit::File(path, Found::BySearch));
            }
            frames.push(search.below);
        }
    };
    take(start, &mut frames);
    while let Some(frame) = frames.last_mut() {
        match frame.next() {
            Some(folder) => take(enter(&folder, Found::BySearch), &mut frames),
            None => {
                frames.pop();
            }
        }
    }
}

fn lost(path: &Path, error: &io::Error) -> Unit {
    let reason = match error.kind() {
        io::ErrorKind::NotFound => "there is nothing of this name".to_owned(),
        _ => error.to_string(),
    };
    Unit::Known(Checked::not_checked(display_path(path), None, reason))
}

/// A folder whose subfolders are being searched.
#[derive(Debug)]
struct Frame {
    folder: PathBuf,
    /// Names, each with a NUL behind it.
    names: Vec<u8>,
    at: usize,
}

impl Frame {
    fn next(&mut self) -> Option<PathBuf> {
        let rest = self.names.get(self.at..)?;
        let length = rest.iter().position(|byte| *byte == 0)?;
        self.at += length + 1;
        Some(self.folder.join(OsStr::from_bytes(&rest[..length])))
    }
}

/// Looks at the names in one folder.
fn enter(folder: &Path, found: Found) -> Start {
    let listed = match list(folder) {
        Ok(listed) => listed,
        Err(error) => return Start::Unit(lost(folder, &error)),
    };
    let (detected, claim) = listed.detect(folder);
    match detected {
        // Other folders are called `artifacts` too.
        Detected::Is(format)
            if found == Found::ByName || claim == Claim::Strong || holds_artifacts(folder) =>
        {
            Start::Unit(Unit::Folder(folder.to_owned(), format))
        }
        Detected::Several(formats) => {
            let message = name_several(&formats);
            let result = Checked::invalid(display_path(folder), None, NO_FORMAT, message);
            Start::Unit(Unit::Known(result))
        }
        Detected::Is(_) | Detected::Unknown => {
            let path = |name: Vec<u8>| folder.join(OsStr::from_bytes(&name));
            Start::Search(Search {
                candidates: listed.candidates.into_iter().map(path).collect(),
                below: Frame {
                    folder: folder.to_owned(),
                    names: listed.folders,
                    at: 0,
                },
            })
        }
    }
}

/// What the folder or document at `path` is; nothing is judged, and archives are not looked into.
pub fn detect_path(path: &Path) -> Result<Detected, SourceError> {
    let (file, _) = match open_regular(path) {
        Err(SourceError::NotAFile {
            kind: EntryKind::Directory,
            ..
        }) => {
            let fail = |source| SourceError::Io {
                path: display_path(path),
                source,
            };
            return Ok(list(path).map_err(fail)?.detect(path).0);
        }
        opened => opened?,
    };
    let bytes = read_bounded(file, &display_path(path), 0, JsonLimits::LARGEST_DOCUMENT)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(match parse_document(&bytes, &ReadOptions::default()) {
        Ok(document) => detect_root(document.root(), &name),
        Err(_) => detect_text(&bytes, &name),
    })
}

/// Whether `artifacts` holds a file with an artifact's name.
fn holds_artifacts(folder: &Path) -> bool {
    let is_artifact = |entry: io::Result<fs::DirEntry>| {
        entry
            .is_ok_and(|entry| ArtifactKey::parse_file_name(entry.file_name().as_bytes()).is_some())
    };
    fs::read_dir(folder.join("artifacts")).is_ok_and(|mut entries| entries.any(is_artifact))
}

/// The names in a folder that matter.
#[derive(Default)]
pub(super) struct Listed {
    names: FolderNames,
    /// Files that may be documents or archives.
    pub(super) candidates: Vec<Vec<u8>>,
    folders: Vec<u8>,
}

impl Listed {
    /// What the folder with these names is, and how sure that is.
    pub(super) fn detect(&self, folder: &Path) -> (Detected, Claim) {
        let read = |name: &str| read_file(&folder.join(name), JsonLimits::LARGEST_DOCUMENT).ok();
        detect_folder(&self.names, &read)
    }
}

pub(super) fn list(folder: &Path) -> io::Result<Listed> {
    let mut listed = Listed::default();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let name = entry.file_name();
        let name = name.as_bytes();
        // What a killed run left, or a running one makes, is no evidence.
        if is_unfinished(name) {
            continue;
        }
        let kind = match (kind.is_dir(), kind.is_file(), kind.is_symlink()) {
            (true, ..) => EntryKind::Directory,
            (_, true, _) => EntryKind::File,
            (_, _, true) => EntryKind::Symlink,
            _ => EntryKind::Special,
        };
        listed.names.note(name, kind);
        match kind {
            EntryKind::Directory => {
                listed.folders.extend_from_slice(name);
                listed.folders.push(0);
            }
            EntryKind::File if is_candidate(name) => listed.candidates.push(name.to_vec()),
            _ => {}
        }
    }
    Ok(listed)
}

#[cfg(test)]
mod tests {
    use runseal_core::formats::Format;

    use super::*;

    #[test]
    fn detect_path_tells_folders_documents_and_what_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let manifest = r#"{"bundle_version":"5.0.0"}"#;
        for (name, file, text) in [
            ("run", "RUN_META.json", ""),
            ("pack", "run.json", ""),
            ("job", "bundle.json", manifest),
            ("none", "README.md", ""),
        ] {
            fs::create_dir(path(name)).unwrap();
            fs::write(path(name).join(file), text).unwrap();
        }
        fs::write(path("context.json"), r#"{"root_node":null}"#).unwrap();
        let detect = |name: &str| detect_path(&path(name));
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
}
