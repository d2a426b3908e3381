//! Everything that a page embeds, read into memory once, so that the bytes it carries are the bytes
//! that were judged.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use runseal_core::formats::Format;
use runseal_core::formats::checksums::LISTS;
use runseal_core::formats::detect::Detected;
use runseal_core::formats::model_io::bodies::bodies_folder;
use runseal_core::source::{EntryKind, EntryName, Source, SourceError};
use runseal_core::verify::Outcome;
use runseal_fs::archive::read_archive_file;
use runseal_fs::directory::{DirectorySource, RootLink};
use runseal_fs::input::read_file;
use runseal_fs::signing::{SIGNATURE_FORMS, path_beside, path_with_name};
use runseal_fs::survey::{LocalFiles, detect_path};
use runseal_report::Carried;
use runseal_report::limits::CARRIED;
use runseal_survey::{MemoryFiles, UnitContent};

use crate::error::CliError;

/// The most bytes that an embedded signature file may have.
const SIGNATURES: u64 = 16 << 20;

/// The result of reading what a page is to embed.
pub enum WholeFiles {
    /// Everything was read.
    Read {
        /// The files as the verifier reads them.
        files: Box<MemoryFiles<'static>>,
        /// The same files as the page embeds them.
        list: Vec<(String, Vec<u8>)>,
        /// The path to verify among these files.
        path: String,
        /// Whether they are the files of a folder.
        is_folder: bool,
    },
    /// There is more than a page may carry: this many bytes.
    TooLarge(u64),
}

impl WholeFiles {
    /// Reads the folder, archive or document at `path`, with the signatures next to it.
    pub fn read(path: &Path) -> Result<Self, CliError> {
        let shown = path.display().to_string();
        if shown == "-" {
            let hint = "name a file or folder, or leave --embed out";
            return Err(CliError::usage("standard input cannot be carried", hint));
        }
        // For something inside an archive, the archive is embedded, so it must contain nothing else.
        let (outer, inner) = match shown.split_once("!/") {
            Some((outer, inner)) if !path.exists() => (Path::new(outer), Some(inner)),
            _ => (path, None),
        };
        if let Some(inner) = inner {
            refuse_others(outer, inner, &shown)?;
        }
        // What the name leads to is judged, and signatures are next to that name, even if it is a link.
        let outer = path_with_name(&LocalFiles, outer);
        let (whole, within) = match folder_of(&outer) {
            Some((folder, name)) => (path_with_name(&LocalFiles, &folder), Some(name)),
            None => (outer, None),
        };
        let name = whole.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| refusal(&shown, "its name is not valid text"))?;
        let mut list = Vec::new();
        let mut room = CARRIED;
        let is_folder = whole.is_dir();
        let read = if is_folder {
            read_folder(&whole, name, &mut list, &mut room)
        } else {
            read_document(&whole, name, &mut list, &mut room)
        };
        match read {
            Err(SourceError::TooLarge { .. }) => {
                return Ok(Self::TooLarge(folder_size(&whole)));
            }
            read => read?,
        }
        for form in SIGNATURE_FORMS {
            match read_file(&path_beside(&whole, form), SIGNATURES) {
                Ok(bytes) => list.push((format!("{name}{}", form.ending()), bytes)),
                Err(SourceError::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mut files = MemoryFiles::default();
        for (path, bytes) in &list {
            let added = if path.ends_with('/') {
                files.add_folder(path)
            } else {
                files.add_file(path, Cow::Owned(bytes.clone()))
            };
            added.map_err(|error| refusal(&shown, &error.to_string()))?;
        }
        let path = match (inner, within) {
            (Some(inner), _) => format!("{name}!/{inner}"),
            (None, Some(file)) => format!("{name}/{file}"),
            (None, None) => name.to_owned(),
        };
        Ok(Self::Read {
            files: Box::new(files),
            list,
            path,
            is_folder,
        })
    }

    /// Leaves out files in the same folder that do not belong to the unit: those that a list of sums does
    /// not
    /// name, and bodies that a recording does not refer to.
    pub fn keep_only_of(&mut self, content: &UnitContent) {
        let Self::Read {
            list, is_folder, ..
        } = self
        else {
            return;
        };
        if *is_folder && content.format != Format::Checksums {
            return;
        }
        let own: BTreeSet<&str> = content
            .files
            .iter()
            .map(|file| file.path.as_str())
            .collect();
        let is_own = |path: &str| match path.split_once('/') {
            None => true,
            Some((_, inner)) => own.contains(if *is_folder { inner } else { path }),
        };
        list.retain(|(path, _)| is_own(path));
    }

    /// The files to judge and the path among them, if they are embedded.
    pub fn carried(&self) -> Option<(&MemoryFiles<'static>, &str)> {
        match self {
            Self::Read { files, path, .. } => Some((files, path)),
            Self::TooLarge(_) => None,
        }
    }

    /// What the page embeds.
    pub fn to_carried(&self) -> Carried<'_> {
        match self {
            Self::Read { list, path, .. } => Carried::Files {
                paths: vec![path.clone()],
                files: list
                    .iter()
                    .map(|(path, bytes)| (path.clone(), Cow::Borrowed(bytes.as_slice())))
                    .collect(),
            },
            Self::TooLarge(bytes) => Carried::TooLarge {
                bytes: *bytes,
                limit: CARRIED,
            },
        }
    }
}

/// Refuses an archive with more than the unit at `inner` and its signatures: whoever gets the page would
/// get
/// everything.
fn refuse_others(archive: &Path, inner: &str, shown: &str) -> Result<(), CliError> {
    let Some(archive) = read_archive_file(archive)? else {
        return Ok(());
    };
    let inner = inner.trim_end_matches('/');
    let is_own = |name: &[u8]| {
        let rest = name.strip_prefix(inner.as_bytes());
        rest.is_some_and(|rest| {
            let mut endings = SIGNATURE_FORMS.iter().map(|form| form.ending().as_bytes());
            rest.is_empty() || rest.starts_with(b"/") || endings.any(|ending| ending == rest)
        })
    };
    let mut entries = archive.below("");
    // The folders above it are named in its path.
    let leads_to = |name: &[u8]| inner.as_bytes().starts_with(&[name, b"/"].concat());
    let other = entries.find(|(name, record)| {
        let is_folder = record.kind() == EntryKind::Directory;
        !(is_own(name) || is_folder && leads_to(name))
    });
    match other {
        None => Ok(()),
        Some((name, _)) => {
            let name = String::from_utf8_lossy(name);
            let message =
                format!("the page would carry the whole archive, which contains `{name}` as well");
            Err(CliError::new(Outcome::Unreadable, "EMBED", message)
                .at(shown)
                .hint("unpack it and report the folder alone, or leave --embed out"))
        }
    }
}

/// The folder that a file represents, as the manifest of a job bundle and a list of sums do, and the file's
/// name.
fn folder_of(path: &Path) -> Option<(PathBuf, String)> {
    let name = path.file_name()?.to_str()?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let stands_for = match name {
        "bundle.json" => Format::JobBundle,
        name if LISTS.contains(&name) => Format::Checksums,
        _ => return None,
    };
    let detected = detect_path(folder).ok()?;
    (detected == Detected::Is(stands_for)).then(|| (folder.to_owned(), name.to_owned()))
}

/// Reads a document or archive, and the folder next to it with the large bodies of a recording.
fn read_document(
    file: &Path,
    name: &str,
    list: &mut Vec<(String, Vec<u8>)>,
    room: &mut u64,
) -> Result<(), SourceError> {
    let bytes = read_file(file, *room)?;
    *room = room.saturating_sub(bytes.len() as u64);
    list.push((name.to_owned(), bytes));
    let bodies = bodies_folder(name);
    let folder = file.with_file_name(&bodies);
    if folder.is_dir() {
        read_folder(&folder, &bodies, list, room)
    } else {
        Ok(())
    }
}

fn refusal(shown: &str, reason: &str) -> CliError {
    let message = format!("it cannot be carried by a page: {reason}");
    CliError::new(Outcome::Unreadable, "EMBED", message)
        .at(shown)
        .hint("pack it into a .tar or .zip and report that, or leave --embed out")
}

/// Reads every file of a folder; fails when `room` is used up.
fn read_folder(
    folder: &Path,
    name: &str,
    list: &mut Vec<(String, Vec<u8>)>,
    room: &mut u64,
) -> Result<(), SourceError> {
    let source = DirectorySource::open(folder, RootLink::Follow)?;
    for entry in source.entries()? {
        let shown = format!("{name}/{}", entry.name.exact());
        match (entry.kind, &entry.name) {
            (EntryKind::Directory, _) => list.push((format!("{shown}/"), Vec::new())),
            (EntryKind::File, EntryName::Safe(path)) => {
                let bytes = source.read(path, *room)?;
                *room = room.saturating_sub(bytes.len() as u64);
                list.push((shown, bytes));
            }
            // The page cannot embed this entry, and without it the bundle would be a different one.
            (kind, _) => return Err(SourceError::NotAFile { path: shown, kind }),
        }
    }
    Ok(())
}

/// The total size of all files that can be opened now.
fn folder_size(folder: &Path) -> u64 {
    let Ok(source) = DirectorySource::open(folder, RootLink::Follow) else {
        return std::fs::metadata(folder).map_or(0, |metadata| metadata.len());
    };
    let entries = source.entries().unwrap_or_default();
    let size = |entry: &runseal_core::source::Entry| match &entry.name {
        EntryName::Safe(path) => source.open_file(path).map_or(0, |(_, size)| size),
        EntryName::Unsafe(_) => 0,
    };
    entries.iter().map(size).sum()
}
