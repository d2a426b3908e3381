//! Finds what there is to look at, below folders without following links.
//!
//! Only the names of one folder after the other are held, packed into one buffer, so a million
//! folders take a few megabytes. Order does not matter here: results are sorted at the end.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use runseal_core::canon::{ReadOptions, parse_document};
use runseal_core::formats::Format;
use runseal_core::formats::job_bundle::facts::ArtifactKey;
use runseal_core::limits::JsonLimits;
use runseal_core::source::{EntryKind, SourceError, read_bounded};
use runseal_core::verify::{Checked, NO_FORMAT};

use super::detect::{Detected, Markers, detect_root, detect_text, is_candidate, several};
use super::{Named, SurveyOptions, Unit, shown};
use crate::input::{open_regular, read_file};
use crate::unfinished::{is_unfinished, names_unfinished};

/// Calls `each` with everything to look at for one path that a person named.
pub(super) fn walk_path(path: &Path, options: SurveyOptions, each: &mut dyn FnMut(Unit)) {
    if path == Path::new("-") {
        return each(Unit::Standard);
    }
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() && names_unfinished(path) => {
            let why = "it was being made when its run ended, and is no evidence".to_owned();
            each(Unit::Known(Checked::not_checked(shown(path), None, why)));
        }
        Ok(metadata) if metadata.is_dir() => walk_folder(path, options, each),
        // What is neither is refused when it is opened.
        Ok(_) => each(Unit::File(path.to_owned(), Named::Yes)),
        Err(error) => each(lost(path, &error)),
    }
}

fn lost(path: &Path, error: &io::Error) -> Unit {
    let why = match error.kind() {
        io::ErrorKind::NotFound => "there is nothing of this name".to_owned(),
        _ => error.to_string(),
    };
    Unit::Known(Checked::not_checked(shown(path), None, why))
}

/// A folder whose subfolders are being looked at.
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

fn walk_folder(root: &Path, options: SurveyOptions, each: &mut dyn FnMut(Unit)) {
    let mut frames: Vec<Frame> = visit(root, Named::Yes, each).into_iter().collect();
    if !options.recursive {
        return;
    }
    while let Some(frame) = frames.last_mut() {
        match frame.next() {
            Some(folder) => frames.extend(visit(&folder, Named::No, each)),
            None => {
                frames.pop();
            }
        }
    }
}

/// Looks at the names in one folder. Gives the folders in it, unless it is a unit itself.
fn visit(folder: &Path, named: Named, each: &mut dyn FnMut(Unit)) -> Option<Frame> {
    let listed = match list(folder) {
        Ok(listed) => listed,
        Err(error) => {
            each(lost(folder, &error));
            return None;
        }
    };
    match listed.markers.detect(|| bundle_json(folder)) {
        Detected::Is(format)
            if named == Named::Yes
                || !listed.markers.has_artifacts_alone()
                || format != Format::JobBundle
                || holds_artifacts(folder) =>
        {
            each(Unit::Folder(folder.to_owned(), format));
            None
        }
        Detected::Several(formats) => {
            let message = several(&formats);
            let result = Checked::invalid(shown(folder), None, NO_FORMAT, message);
            each(Unit::Known(result));
            None
        }
        Detected::Is(_) | Detected::Unknown => {
            for name in listed.candidates {
                each(Unit::File(folder.join(OsStr::from_bytes(&name)), Named::No));
            }
            Some(Frame {
                folder: folder.to_owned(),
                names: listed.folders,
                at: 0,
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
                path: shown(path),
                source,
            };
            return Ok(list(path)
                .map_err(fail)?
                .markers
                .detect(|| bundle_json(path)));
        }
        opened => opened?,
    };
    let bytes = read_bounded(file, &shown(path), 0, JsonLimits::LARGEST_DOCUMENT)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(match parse_document(&bytes, &ReadOptions::default()) {
        Ok(document) => detect_root(document.root(), &name),
        Err(_) => detect_text(&bytes, &name),
    })
}

fn bundle_json(folder: &Path) -> Option<Vec<u8>> {
    read_file(&folder.join("bundle.json"), JsonLimits::LARGEST_DOCUMENT).ok()
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
    pub(super) markers: Markers,
    /// Files that may be documents or archives.
    pub(super) candidates: Vec<Vec<u8>>,
    folders: Vec<u8>,
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
        listed.markers.note(name, kind);
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
