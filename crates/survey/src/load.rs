//! Reads a unit once, to judge it and to show or compare it: its report, documents, texts and
//! files. The bytes that are shown are those that were judged.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use runseal_archive::{Archive, Record};
use runseal_core::canon::{Document, JsonError, ReadOptions, parse_document};
use runseal_core::diagnosis::{Diagnose, Diagnosis, Location};
use runseal_core::formats::Format;
use runseal_core::formats::archive::verify_archive;
use runseal_core::formats::definition::{Identity, Judgement};
use runseal_core::formats::detect::Detected;
use runseal_core::source::{EntryKind, SourceError};
use runseal_core::verify::authenticity::Authenticity;
use runseal_core::verify::{Finding, Level, Report, UnitResult};
use runseal_report::{Documents, Exhibit};
use runseal_trust::check::Found as FoundBeside;
use runseal_trust::policy::Decision;

use super::archived::{
    detect_in_archive, faults_of, find_in_archive, judge_document_entry, judge_folder_entry,
    names_in_archive,
};
use super::content::{Keep, UnitContent};
use super::judge::{ItemAnswer, Judge};
use super::observer::{Observer, Position};
use super::signing::{
    ArchiveSignatures, JudgedUnit, TrustQuestion, judge_trust, read_beside_entry,
};
use super::walk::{Search, Start};
use super::{
    Files, Found, Item, NOTHING_FOUND, Unit, VerifyOptions, display_path, find_units_from,
    name_several,
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

impl Diagnose for LoadError {
    fn diagnosis(&self) -> Diagnosis {
        let named = |code| Diagnosis::unreadable(self, code).located(Location::Named);
        match self {
            Self::Source(error) => error.diagnosis(),
            Self::Json(error) => error.diagnosis(),
            Self::Unknown { .. } => {
                named("UNKNOWN_FORMAT").hint("`runseal verify --help` lists what is known")
            }
            Self::Holds { count: 1, .. } => named("SEVERAL").hint("name it"),
            Self::Holds { .. } => named("SEVERAL").hint(
                "name one of them; `runseal report -r` makes a page of each, and `runseal verify` lists them",
            ),
            Self::Around { .. } => named("NOT_ITSELF").hint(
                "name what is in it: signatures, log entries and exports are about one thing, by its own name",
            ),
            Self::Unverified { .. } => named("UNREADABLE"),
        }
    }
}

/// What matters to a unit of the archive that it is in.
#[derive(Debug)]
pub struct ContainingArchive {
    /// What is wrong with the archive.
    findings: Vec<Finding>,
    /// Signatures next to the unit's entry in the archive.
    beside: Vec<FoundBeside>,
}

impl ContainingArchive {
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
    pub fn in_archive(mut self, wrapping: ContainingArchive) -> Self {
        self.content.is_archived = true;
        self.wrapping = wrapping.findings;
        self.content.beside = wrapping.beside;
        self
    }

    /// Its result in a survey, without its archive, which has its own result there.
    pub(crate) fn to_checked(&self) -> UnitResult {
        let judgement = Judgement {
            report: self.report.clone(),
            identity: self.identity.clone(),
        };
        UnitResult::of_judgement(self.path.as_str(), judgement)
    }

    /// Answers whether it is signed, trusted and logged. It is at `path`, with its signatures next to it.
    pub fn judge_trust(
        &self,
        files: &dyn Files,
        path: &Path,
        asked: (TrustQuestion<'_>, &ArchiveSignatures),
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
    /// archive share `archives`.
    pub fn show<T>(
        &self,
        files: &dyn Files,
        (question, archives): (TrustQuestion<'_>, &ArchiveSignatures),
        show: impl FnOnce(&Exhibit<'_>) -> T,
    ) -> T {
        let asked = (question, archives);
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

/// Judges the unit at `path`, or on standard input if it is `-`, and returns it with everything that
/// can be shown of it. A path may lead into an archive, as answers write it:
/// `evidence.zip!/runs/one`. A folder that is not a unit represents the only unit in it.
///
/// # Errors
/// If it cannot be read or judged, or is not one unit.
pub fn load(files: &dyn Files, path: &Path, level: Level) -> Result<Judged, LoadError> {
    let judge = Judge {
        files,
        options: VerifyOptions {
            level,
            threads: None,
        },
        threads: None,
        observer: &ShowEverything,
    };
    let item = match Start::at(files, path) {
        Start::Unit(Unit(item)) => item,
        Start::Search(mut search) => match search.unit.take() {
            Some(Unit(item)) => item,
            None => return load_only(files, search, level),
        },
    };
    let inside = match &item {
        Item::Inside(inside) => Some(inside.name.clone()),
        _ => None,
    };
    let shown = display_path(path);
    match judge.judge(item) {
        ItemAnswer::Unit(answer) => answer.into_judged(&shown),
        ItemAnswer::Archive(archive) => judge_entry(&shown, *archive, inside, &judge),
        ItemAnswer::PassedOver | ItemAnswer::Nothing => Err(unknown(NOTHING_FOUND)),
    }
}

/// Keeps everything of what is judged.
struct ShowEverything;

impl Observer for ShowEverything {
    fn keep(&self, _: &Path, _: Position) -> Keep {
        Keep::Everything
    }

    fn see(&self, _: &UnitResult, _: Option<UnitContent>) {}
}

/// Loads the only unit below a folder.
fn load_only(files: &dyn Files, search: Search, level: Level) -> Result<Judged, LoadError> {
    let lone = match search.candidates.as_slice() {
        [lone] => Some(lone.clone()),
        _ => None,
    };
    let mut found = Vec::new();
    find_units_from(files, Start::Search(search), &mut |unit| found.push(unit));
    if found.is_empty() {
        // A lone document of no known format gives the best error.
        found.extend(lone);
    }
    match <[PathBuf; 1]>::try_from(found) {
        Ok([only]) => Ok(Judged {
            below: Some(only.clone()),
            ..load(files, &only, level)?
        }),
        Err(found) => Err(holds(found.iter().map(|unit| display_path(unit)).collect())),
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

/// Judges one unit of an archive: the one with this name, or else the one that represents the archive.
fn judge_entry(
    path: &str,
    mut archive: Archive,
    name: Option<String>,
    judge: &Judge<'_>,
) -> Result<Judged, LoadError> {
    let is_top = name.is_none();
    // A document has no detected folder.
    let (name, detected) = match name {
        Some(name) => match archive.get(&name).map(|record| record.kind()) {
            Some(EntryKind::File) => (name, None),
            Some(EntryKind::Directory) => {
                let detected = detect_in_archive(&archive, &name);
                (name, Some(detected))
            }
            _ => {
                let path = path.to_owned();
                return Err(SourceError::NotFound { path }.into());
            }
        },
        None => match find_in_archive(&archive) {
            (_, Detected::Unknown, Some(only)) => (only, None),
            (_, Detected::Unknown, None) => {
                if let Some(fault) = archive.faults().first() {
                    return Err(unknown(fault.message.clone()));
                }
                let names = names_in_archive(&archive).into_iter();
                return Err(holds(names.map(|name| format!("{path}!/{name}")).collect()));
            }
            (folder, detected, _) => (folder, Some(detected)),
        },
    };
    let keep = Keep::Everything;
    let answer = match detected {
        Some(Detected::Is(format)) => Some(judge_folder_entry(
            &mut archive,
            &name,
            (format, keep),
            judge,
        )),
        Some(Detected::Several(formats)) => return Err(unknown(name_several(&formats))),
        Some(Detected::Unknown) => None,
        None => judge_document_entry(&archive, (&name, path), (Found::Named, keep), judge),
    };
    let judged = answer.ok_or_else(|| unknown(NOTHING_FOUND))?;
    let judged = judged.into_judged(path)?;
    let wrapping = ContainingArchive::of(&archive, &name, judged.format(), is_top);
    Ok(judged.in_archive(wrapping))
}
