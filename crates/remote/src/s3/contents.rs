//! Lists what is stored of a local folder or file.

use std::io;
use std::path::{Path, PathBuf};

use runseal_core::path::SafePath;
use runseal_core::source::{EntryKind, EntryName, Source, SourceError};
use runseal_fs::directory::{DirectorySource, RootLink};
use runseal_fs::input::{open_regular, read_file};
use runseal_survey::signing::{SIGNATURE_FORMS, SignatureForm, path_beside};

use crate::error::RemoteError;

/// The most bytes of a signature file: as many as verification reads.
pub(super) const MAX_SIGNATURE_FILE_BYTES: u64 = 16 << 20;

/// Why something is not stored.
pub(super) enum Refused {
    Unread(SourceError),
    Entry(String),
}

/// Reads the signatures next to a local path.
pub(super) fn signatures_beside(path: &Path) -> Result<Vec<(SignatureForm, Vec<u8>)>, RemoteError> {
    let mut found = Vec::new();
    for form in SIGNATURE_FORMS {
        let file = path_beside(path, form);
        match read_file(&file, MAX_SIGNATURE_FILE_BYTES) {
            Ok(bytes) => found.push((form, bytes)),
            Err(SourceError::NotFound { .. }) => {}
            Err(error) => return Err(unread(&file.display().to_string(), error)),
        }
    }
    Ok(found)
}

/// The files of a run, and its empty folders.
pub(super) struct Listed {
    pub files: Vec<SafePath>,
    pub empty_folders: Vec<SafePath>,
}

/// Lists what is stored of the folder or file at a path; for a file, also the signatures next to it.
pub(super) fn list_any(path: &Path) -> Result<Listed, Refused> {
    if path.is_dir() {
        let source = DirectorySource::open(path, RootLink::Follow).map_err(Refused::Unread)?;
        return list_run(&source);
    }
    open_regular(path).map_err(Refused::Unread)?;
    let beside = SIGNATURE_FORMS.map(|form| path_beside(path, form));
    let beside = beside.iter().filter(|file| file.is_file());
    let mut files = Vec::new();
    for file in std::iter::once(path).chain(beside.map(PathBuf::as_path)) {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let name = SafePath::parse(&name).map_err(|fault| {
            Refused::Entry(format!("the name `{name}` is not allowed: {fault}"))
        })?;
        files.push(name);
    }
    files.sort_unstable();
    Ok(Listed {
        files,
        empty_folders: Vec::new(),
    })
}

fn list_run(source: &DirectorySource) -> Result<Listed, Refused> {
    let mut files = Vec::new();
    let mut folders = Vec::new();
    for entry in source.entries().map_err(Refused::Unread)? {
        let shown = entry.name.shown().to_owned();
        match (entry.name, entry.kind) {
            (EntryName::Safe(path), EntryKind::File) => files.push(path),
            (EntryName::Safe(path), EntryKind::Directory) => folders.push(path),
            (EntryName::Safe(_), kind) => {
                return Err(Refused::Entry(format!(
                    "`{shown}` is {}, and only files are stored",
                    kind.with_article()
                )));
            }
            (EntryName::Unsafe(_), _) => {
                return Err(Refused::Entry(format!("the name `{shown}` is not allowed")));
            }
        }
    }
    let is_above = |folder: &SafePath, path: &SafePath| {
        let rest = path.as_str().strip_prefix(folder.as_str());
        rest.is_some_and(|rest| rest.starts_with('/'))
    };
    // Sorted names such as `a-b` may come between `a` and `a/b`, so search for `a/`.
    files.sort_unstable();
    folders.sort_unstable();
    let empty = folders.iter().filter(|folder| {
        let start = format!("{folder}/");
        let has = |paths: &[SafePath]| {
            let at = paths.partition_point(|path| path.as_str() < start.as_str());
            paths.get(at).is_some_and(|path| is_above(folder, path))
        };
        !has(&files) && !has(&folders)
    });
    let empty_folders = empty.cloned().collect();
    Ok(Listed {
        files,
        empty_folders,
    })
}

pub(super) fn unread(path: &str, error: SourceError) -> RemoteError {
    let source = match error {
        SourceError::Io { source, .. } => source,
        SourceError::NotFound { .. } => io::ErrorKind::NotFound.into(),
        other => io::Error::other(other),
    };
    RemoteError::Local {
        path: path.to_owned(),
        source,
    }
}
