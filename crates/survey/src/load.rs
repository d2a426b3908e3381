//! Reads a unit once, to judge it and to show or compare it: its report, documents, texts and
//! files. The bytes that are shown are those that were judged.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use runseal_archive::{Archive, ArchiveSource, HEAD, Record, fill, sniff};
use runseal_core::canon::{Document, JsonError, ReadOptions, parse_document};
use runseal_core::digest::Digest;
use runseal_core::formats::Format;
use runseal_core::formats::archive::verify_archive;
use runseal_core::formats::definition::{Beside, Identity, Judgement, SourceFiles, judge_parsed};
use runseal_core::formats::detect::{Detected, detect_root, detect_text};
use runseal_core::limits::{JsonLimits, max_ledger_lines};
use runseal_core::source::{EntryKind, MemberFile, SourceError, read_bounded};
use runseal_core::verify::authenticity::Authenticity;
use runseal_core::verify::{Checked, Finding, Level, Report};
use runseal_report::{Documents, Exhibit};
use runseal_trust::check::Found;
use runseal_trust::policy::Decision;

use super::archived::{detect_in_archive, faults_of, find_in_archive, names_in_archive};
use super::content::{Keep, KeptBeside, RememberingSource, UnitContent};
use super::inside::InsidePath;
use super::judge::{NAME_THE_FOLDER, judge_source, open_folder};
use super::signing::{JudgedUnit, OuterFiles, TrustQuestion, judge_trust, read_beside_entry};
use super::walk::{folder_of_list, list};
use super::{
    Files, FolderFiles, NOTHING_FOUND, display_path, error_chain, find_units, name_several,
};

/// A unit that was judged, with the bytes that its rules saw.
#[derive(Debug)]
pub struct Judged {
    /// The path as given.
    pub path: String,
    /// Every rule and finding.
    pub report: Report,
    /// The ids of the unit, and the outcome that it records.
    pub identity: Identity,
    /// What is wrong with the archive that it is in.
    pub wrapping: Vec<Finding>,
    /// Its documents, other files and digests.
    pub content: UnitContent,
    /// Its path, if it is the only unit below the folder that was named.
    pub(crate) below: Option<PathBuf>,
}

/// Why a unit could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// It has no known format, or several.
    #[error("{message}")]
    Unknown {
        /// What was found and looked for.
        message: String,
    },
    /// It is not a unit, but contains some; only one can be loaded at a time.
    #[error("{}", describe_held(*count, first))]
    Holds {
        /// How many there are.
        count: usize,
        /// The path of the first.
        first: String,
    },
    /// It is a folder around one unit, and the unit itself must be named.
    #[error("this is a folder around `{only}`, not that itself")]
    Around {
        /// The path of the unit.
        only: String,
    },
    /// It is a document that is not JSON.
    #[error("{} {}", .0.kind, .0.position)]
    Json(JsonError),
    /// It could not be verified.
    #[error("{message}")]
    Unverified {
        /// Why it could not be verified.
        message: String,
    },
}

/// What matters to a unit of the archive that it is in.
#[derive(Debug)]
pub struct Wrapping {
    /// What is wrong with the archive.
    findings: Vec<Finding>,
    /// Signatures next to the unit's entry in the archive.
    beside: Vec<Found>,
}

impl Wrapping {
    /// The wrapping of the unit whose entry has this `name`. If the unit represents the whole
    /// `archive`, entries outside it count too.
    pub fn of(archive: &Archive, name: &str, format: Format, is_top: bool) -> Self {
        let folder = match archive.get(name) {
            Some(Record::File(_)) => name.rsplit_once('/').map_or("", |(folder, _)| folder),
            _ => name,
        };
        let within = if is_top { "" } else { name };
        let about = verify_archive(&faults_of(archive, within, &[(folder.to_owned(), format)]));
        Self {
            findings: about.findings().to_vec(),
            beside: read_beside_entry(archive, name),
        }
    }
}

impl Judged {
    /// Combines the judgement of a unit with what was kept of it.
    pub fn new(path: &str, judgement: Judgement, content: UnitContent) -> Self {
        Self {
            path: path.to_owned(),
            report: judgement.report,
            identity: judgement.identity,
            wrapping: Vec::new(),
            content,
            below: None,
        }
    }

    /// The unit's format.
    pub fn format(&self) -> Format {
        self.content.format
    }

    /// Adds the archive that it is in: what is wrong with the archive is wrong with everything in it.
    #[must_use]
    pub fn in_archive(mut self, wrapping: Wrapping) -> Self {
        self.content.is_archived = true;
        self.wrapping = wrapping.findings;
        self.content.beside = wrapping.beside;
        self
    }

    /// Its result in a survey, without its archive, which has its own result there.
    pub(crate) fn to_checked(&self, path: &str) -> Checked {
        let judgement = Judgement {
            report: self.report.clone(),
            identity: self.identity.clone(),
        };
        Checked::of_judgement(path, judgement)
    }

    /// Answers whether it is signed, trusted and logged. It is at `path`, with its signatures next to it.
    pub fn judge_trust(
        &self,
        files: &dyn Files,
        path: &Path,
        asked: (TrustQuestion<'_>, &OuterFiles),
    ) -> (Authenticity, Option<Decision>) {
        judge_trust(files, self.unit(path), asked)
    }

    /// The unit at `path`, for questions about its signatures.
    pub(crate) fn unit<'a>(&'a self, path: &'a Path) -> JudgedUnit<'a> {
        JudgedUnit {
            path,
            is_valid: self.is_valid(),
            identity: &self.identity,
            findings: self.report.findings(),
            content: Some(&self.content),
        }
    }

    /// Whether it is valid, including the archive that it is in.
    pub fn is_valid(&self) -> bool {
        self.report.is_valid() && self.wrapping.is_empty()
    }

    /// Refuses a unit that was loaded by the name of a folder around it.
    ///
    /// # Errors
    /// [`LoadError::Around`].
    pub fn by_its_name(self) -> Result<Self, LoadError> {
        match self.below {
            None => Ok(self),
            Some(_) => Err(LoadError::Around { only: self.path }),
        }
    }

    /// Looks for its signatures in `files`, checks them, and calls `show` with the result. Units of one
    /// archive share `outer_files`.
    pub fn show<T>(
        &self,
        files: &dyn Files,
        (question, outer_files): (TrustQuestion<'_>, &OuterFiles),
        show: impl FnOnce(&Exhibit<'_>) -> T,
    ) -> T {
        let asked = (question, outer_files);
        let (authenticity, _) = self.judge_trust(files, Path::new(&self.path), asked);
        self.with_exhibit(&authenticity, show)
    }

    /// Calls `show` with what was judged and `authenticity`.
    pub fn with_exhibit<T>(
        &self,
        authenticity: &Authenticity,
        show: impl FnOnce(&Exhibit<'_>) -> T,
    ) -> T {
        let parsed = self.parse();
        let mut documents = Documents::new();
        for (name, document) in &parsed {
            documents.insert(name.clone(), document.root());
        }
        show(&Exhibit {
            path: &self.path,
            format: self.format(),
            report: &self.report,
            wrapping: &self.wrapping,
            identity: &self.identity,
            documents: &documents,
            contents: &self.content.texts,
            files: &self.content.files,
            authenticity: Some(authenticity),
        })
    }

    /// The documents that are JSON, up to the limit for all of them together.
    pub fn parse(&self) -> BTreeMap<String, Document<'_>> {
        let mut options = ReadOptions::default();
        let parsed = self.content.documents().filter_map(|(name, bytes)| {
            let document = parse_document(bytes, &options).ok()?;
            options.share_with(&document);
            Some((name.to_owned(), document))
        });
        parsed.collect()
    }
}

/// Loads the unit at `path`, or from standard input if it is `-`. A path may lead into an archive, as
/// answers write it: `evidence.zip!/runs/one`. A folder that is not a unit represents the only unit in it.
///
/// # Errors
/// If it cannot be read or judged.
pub fn load(files: &dyn Files, path: &Path, level: Level) -> Result<Judged, LoadError> {
    if let Some(inside) = InsidePath::of(files, path) {
        let archive = files.read_archive(&inside.archive)?;
        let archive = archive.ok_or_else(|| SourceError::NotFound {
            path: display_path(path),
        })?;
        return load_inside(&display_path(path), &archive, &inside.name, level);
    }
    if path == Path::new("-") {
        return load_standard(files, level);
    }
    if files
        .kind(path)
        .is_ok_and(|kind| kind == EntryKind::Directory)
    {
        return load_folder(files, path, level);
    }
    if let Some(folder) = folder_of_list(files, path) {
        return load_folder(files, folder, level);
    }
    if let Some(archive) = files.read_archive(path)? {
        return load_archive(&display_path(path), &archive, level);
    }
    let bytes = files.read(path, JsonLimits::LARGEST_DOCUMENT)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = Beside {
        name: &name,
        files: &FolderFiles::of_document(files, path),
    };
    let judged = load_document(&display_path(path), Some(beside), bytes.into(), level)?;
    match (judged, path.parent()) {
        (Some(judged), _) => Ok(judged),
        // The manifest represents its bundle.
        (None, Some(parent)) if !parent.as_os_str().is_empty() => load_folder(files, parent, level),
        (None, _) => load_folder(files, Path::new("."), level),
    }
}

fn load_standard(files: &dyn Files, level: Level) -> Result<Judged, LoadError> {
    let fail = |source| SourceError::Io {
        path: "standard input".to_owned(),
        source,
    };
    let mut input = files.standard_input();
    let mut head = [0; HEAD];
    let filled = fill(&mut input, &mut head).map_err(fail)?;
    let mut whole = head[..filled].chain(input);
    if let Some(container) = sniff(&head[..filled]) {
        let archive = files.read_archive_stream(container, &mut whole, "standard input")?;
        return load_archive("-", &archive, level);
    }
    let bytes = read_bounded(whole, "standard input", 0, JsonLimits::LARGEST_DOCUMENT)?;
    match load_document("-", None, bytes.into(), level)? {
        Some(judged) => Ok(judged),
        None => Err(unknown(
            "this is the manifest of a job bundle; name its folder",
        )),
    }
}

fn unknown(message: impl Into<String>) -> LoadError {
    LoadError::Unknown {
        message: message.into(),
    }
}

fn describe_held(count: usize, first: &str) -> String {
    match count {
        1 => format!("this is not a unit itself; it contains `{first}`"),
        count => {
            format!("one unit is shown at a time, and this contains {count}, such as `{first}`")
        }
    }
}

/// The error for a path that is not a unit itself.
fn holds(mut found: Vec<String>) -> LoadError {
    found.sort_unstable();
    let count = found.len();
    match found.into_iter().next() {
        None => unknown(NOTHING_FOUND),
        Some(first) => LoadError::Holds { count, first },
    }
}

fn format_of(detected: Detected) -> Result<Format, LoadError> {
    match detected {
        Detected::Is(format) => Ok(format),
        Detected::Several(formats) => Err(unknown(name_several(&formats))),
        Detected::Unknown => Err(unknown(NOTHING_FOUND)),
    }
}

/// Loads the document with this name in an archive, as [`load_document`] does.
fn load_archived_document(
    path: &str,
    archive: &Archive,
    name: &str,
    bytes: &[u8],
    level: Level,
) -> Result<Option<Judged>, LoadError> {
    let (folder, file_name) = name.rsplit_once('/').unwrap_or(("", name));
    let source = ArchiveSource::new(archive, folder);
    let beside = Beside {
        name: file_name,
        files: &SourceFiles(&source),
    };
    load_document(path, Some(beside), bytes.into(), level)
}

/// Loads a document. Returns `None` for the manifest of a job bundle, which is not judged here.
pub(super) fn load_document(
    path: &str,
    beside: Option<Beside<'_>>,
    bytes: Cow<'_, [u8]>,
    level: Level,
) -> Result<Option<Judged>, LoadError> {
    let name = beside.map_or("", |beside| beside.name);
    let parsed = parse_document(&bytes, &ReadOptions::default());
    let detected = match &parsed {
        Ok(document) => detect_root(document.root(), name),
        Err(_) => detect_text(&bytes, name),
    };
    let format = match (detected, &parsed) {
        (Detected::Unknown, Err(error)) => return Err(LoadError::Json(error.clone())),
        (detected, _) => format_of(detected)?,
    };
    if format == Format::JobBundle {
        return Ok(None);
    }
    if let Err(error) = &parsed
        && format != Format::Ledger
    {
        return Err(LoadError::Json(error.clone()));
    }
    let kept = beside.map(|beside| KeptBeside::new(beside.files));
    let witnessed = kept.as_ref().map(|files| Beside { name, files });
    let judged = judge_parsed(format, &parsed, &bytes, level, witnessed);
    drop(parsed);
    let judgement = match judged {
        Some(Ok(judgement)) => judgement,
        Some(Err(error)) => return Err(LoadError::Json(error)),
        None => return Err(unknown(NOTHING_FOUND)),
    };
    let mut content = UnitContent::empty(format);
    if format == Format::Ledger {
        let most = max_ledger_lines(bytes.len());
        for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate().take(most) {
            if !line.trim_ascii().is_empty() {
                let name = format!("line {:06}", at + 1);
                content.documents.insert(name, line.to_vec());
            }
        }
    }
    let name = if name.is_empty() { path } else { name };
    content.files.push(MemberFile {
        path: name.to_owned(),
        kind: None,
        bytes: bytes.len() as u64,
        sha256: Some(Digest::of(&bytes)),
    });
    // The bodies of a recording are next to it.
    for (path, file) in kept.map_or_else(BTreeMap::new, KeptBeside::into_kept) {
        let (bytes, digest) = file.fact;
        content.files.push(MemberFile {
            path: path.to_string(),
            kind: None,
            bytes,
            sha256: Some(digest),
        });
        if let Some(bytes) = file.bytes {
            content.texts.insert(path.to_string(), bytes);
        }
    }
    content.single = Some(bytes.into_owned());
    Ok(Some(Judged::new(path, judgement, content)))
}

fn load_folder(files: &dyn Files, path: &Path, level: Level) -> Result<Judged, LoadError> {
    let fail = |source| SourceError::Io {
        path: display_path(path),
        source,
    };
    let listed = list(files, path).map_err(fail)?;
    let (detected, _) = listed.detect(files, path);
    if detected == Detected::Unknown {
        let mut found = Vec::new();
        find_units(files, path, &mut |unit| found.push(unit));
        // Loading a lone document of no known format gives the best error.
        if let ([], [only]) = (found.as_slice(), listed.candidates.as_slice()) {
            found.extend(files.path_of(only).map(|only| path.join(only)));
        }
        return match <[PathBuf; 1]>::try_from(found) {
            // An unfinished folder is found at its own path, and is not evidence.
            Ok([only]) if only == path => Err(unknown(NOTHING_FOUND)),
            Ok([only]) => Ok(Judged {
                below: Some(only.clone()),
                ..load(files, &only, level)?
            }),
            Err(found) => Err(holds(found.iter().map(|unit| display_path(unit)).collect())),
        };
    }
    let format = format_of(detected)?;
    let source = open_folder(files, path, format, None)?;
    let source = RememberingSource::new(&*source, format, Keep::Everything);
    judge_and_keep(&display_path(path), format, source, level)
}

fn load_archive(path: &str, archive: &Archive, level: Level) -> Result<Judged, LoadError> {
    let (folder, detected, only) = find_in_archive(archive);
    let (judged, name) = match (&detected, &only) {
        (Detected::Unknown, Some(only)) => {
            let kept = match archive.get(only) {
                Some(Record::File(file)) => file.kept,
                _ => None,
            };
            let judged =
                load_archived_document(path, archive, only, kept.unwrap_or_default(), level)?;
            (judged.ok_or_else(|| unknown(NOTHING_FOUND))?, only)
        }
        _ => {
            if detected == Detected::Unknown
                && let Some(fault) = archive.faults().first()
            {
                return Err(unknown(fault.message.clone()));
            }
            if detected == Detected::Unknown {
                let names = names_in_archive(archive).into_iter();
                return Err(holds(names.map(|name| format!("{path}!/{name}")).collect()));
            }
            let format = format_of(detected)?;
            let source = ArchiveSource::new(archive, &folder);
            let source = RememberingSource::in_memory(&source, format, Keep::Everything);
            (judge_and_keep(path, format, source, level)?, &folder)
        }
    };
    let wrapping = Wrapping::of(archive, name, judged.format(), true);
    Ok(judged.in_archive(wrapping))
}

/// Loads the bundle or document with this name inside an archive.
fn load_inside(
    path: &str,
    archive: &Archive,
    name: &str,
    level: Level,
) -> Result<Judged, LoadError> {
    let missing = || SourceError::NotFound {
        path: path.to_owned(),
    };
    let judged = match archive.get(name).ok_or_else(missing)? {
        Record::File(file) => {
            let bytes = file.kept.ok_or_else(|| SourceError::Io {
                path: path.to_owned(),
                source: io::Error::other("it is longer than what is kept of an archive"),
            })?;
            let judged = load_archived_document(path, archive, name, bytes, level)?;
            judged.ok_or_else(|| unknown(NAME_THE_FOLDER))?
        }
        Record::Folder => {
            let format = format_of(detect_in_archive(archive, name))?;
            let source = ArchiveSource::new(archive, name);
            let source = RememberingSource::in_memory(&source, format, Keep::Everything);
            judge_and_keep(path, format, source, level)?
        }
        _ => return Err(missing().into()),
    };
    let wrapping = Wrapping::of(archive, name, judged.format(), false);
    Ok(judged.in_archive(wrapping))
}

/// Judges what a source contains and returns it with everything that was kept. Rules about the path
/// do not see the one that was typed.
pub(super) fn judge_and_keep(
    path: &str,
    format: Format,
    source: RememberingSource<'_>,
    level: Level,
) -> Result<Judged, LoadError> {
    let judging = judge_source("", &source, format, level);
    let judgement = judging.map_err(|error| LoadError::Unverified {
        message: error_chain(&error),
    })?;
    Ok(Judged::new(path, judgement, source.into_content()?))
}
