//! What the rest of the program knows about a format: how it is recognized, how it is judged, what
//! it is called. Each format has one definition, in one registry.
//!
//! `verify`, `inspect`, `report`, `diff` and detection walk the registry. A new format is one
//! module with its definition and one line in the list of `formats/mod.rs`.

use super::redacted::redactable::Redactable;
use super::run_bundle::SchemaJudge;
use super::{Format, REGISTRY};
use crate::canon::{Document, JsonError, Node, ReadOptions, parse_document};
use crate::path::SafePath;
use crate::source::{ContentFact, EntryKind, Source, SourceError, Threads};
use crate::verify::{Level, Report, Rule, RuleInfo, Subject};

/// What a valid unit proves, and what it does not, in sentences for whoever has to decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProofScope {
    /// What it shows.
    pub shows: &'static [&'static str],
    /// What it does not show.
    pub does_not: &'static [&'static str],
}

/// What judging a folder needs besides the folder.
#[derive(Clone, Copy)]
pub struct Judging<'a> {
    /// The path as given, which some documents judge too.
    pub path: &'a str,
    /// The highest level to check.
    pub level: Level,
    /// What judging needs that this crate does not have.
    pub tools: &'a dyn Tools,
    /// The threads that work on this unit.
    pub threads: &'a dyn Threads,
}

/// What judging needs that this crate does not have: JSON Schema, and what builds on it.
pub trait Tools: SchemaJudge {
    /// Judges the contracts of the engine in `source`, independently of this machine.
    ///
    /// # Errors
    /// If the folder cannot be read.
    fn judge_engine(&self, source: &dyn Source) -> Result<Report, SourceError>;
}

/// The result of judging something.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// Every rule and finding.
    pub report: Report,
    /// What it calls itself.
    pub identity: Identity,
}

/// [`Identity::ended_as`] of a run that was accepted.
pub const ACCEPTED: &str = "accepted";
/// [`Identity::ended_as`] of a run that failed.
pub const FAILED: &str = "failed";

/// [`Identity::ended_as`] of a run that somebody interrupted.
pub const INTERRUPTED: &str = "interrupted";

/// How a recorded run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It succeeded and was accepted.
    Accepted,
    /// It succeeded; its format has no acceptance.
    Succeeded,
    /// It succeeded and was not accepted, or only parts of it succeeded.
    NotAccepted,
    /// It ended with questions or a refusal.
    Refused,
    /// It failed.
    Failed,
    /// It should say, but does not.
    Unknown,
}

impl Outcome {
    /// Whether it succeeded and was not rejected.
    pub fn is_success(self) -> bool {
        matches!(self, Self::Accepted | Self::Succeeded)
    }
}

/// How a sealed run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ended {
    /// The word of [`Identity::ended_as`].
    pub word: Option<&'static str>,
    /// The outcome; `None` if the format has none.
    pub outcome: Option<Outcome>,
}

/// What something calls itself and how it ended, as far as that can be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// Its own ids: of the run, the bundle, the proposal.
    pub ids: Vec<String>,
    /// Ids of what it is about but does not contain: the runs that a ledger lists, the job of a
    /// receipt.
    pub about: Vec<String>,
    /// How the recorded run ended, in words for people.
    pub outcome: Option<String>,
    /// The same as the one word that policies and statements use. For a redacted copy, `outcome`
    /// also says how much is withheld.
    pub ended_as: Option<String>,
    /// The same as an outcome that all formats share; `None` if its format has none.
    pub result: Option<Outcome>,
    /// The places that it withholds, each with its reason.
    pub withheld: Vec<(String, String)>,
    /// What it says it did not capture.
    pub not_captured: Vec<String>,
    /// Why it proves less than its format allows, even if it is valid.
    pub caveats: Vec<String>,
    /// The signatures that it carries.
    pub carried: Vec<CarriedSignature>,
}

/// A signature that something carries, by a key that it also carries. Rules say whether the
/// signature is valid; only a policy can say whose key it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarriedSignature {
    /// Its place, as findings name it.
    pub place: String,
    /// The key.
    pub key: Option<String>,
    /// The owner of the key, by the signer's own word.
    pub name: Option<String>,
}

impl Identity {
    /// An identity with the texts of these members as ids; a member's path is names joined with
    /// dots.
    pub fn of_members(root: Node<'_>, members: &[&str]) -> Self {
        let text = |path: &&str| {
            let node = path
                .split('.')
                .try_fold(root, |node, name| node.get(name))?;
            Some(node.as_lossy_str()?.into_owned())
        };
        Self {
            ids: members.iter().filter_map(text).collect(),
            ..Self::default()
        }
    }

    /// Sets the outcome, in words.
    #[must_use]
    pub fn ended(mut self, outcome: Option<impl Into<String>>) -> Self {
        self.outcome = outcome.map(Into::into);
        self.ended_as.clone_from(&self.outcome);
        self
    }

    /// Sets the shared outcome.
    #[must_use]
    pub fn with_result(mut self, result: Outcome) -> Self {
        self.result = Some(result);
        self
    }
}

/// How sure a format is that a folder is of that format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    /// Nothing suggests it.
    No,
    /// Applies only if no other format claims the folder.
    Leftover,
    /// It has a name that other folders have too.
    Weak,
    /// Only folders of this format look like this.
    Strong,
}

/// The names in a folder that some format recognizes.
#[derive(Debug, Clone, Default)]
pub struct FolderNames {
    names: Vec<(Box<str>, EntryKind)>,
}

impl FolderNames {
    /// Notes a name, if some format recognizes it.
    pub fn note(&mut self, name: &[u8], kind: EntryKind) {
        let is_mark = |name: &str| REGISTRY.iter().any(|format| format.recognizes_name(name));
        if let Ok(name) = str::from_utf8(name)
            && is_mark(name)
        {
            self.names.push((name.into(), kind));
        }
    }

    /// Whether there is an entry of this name.
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|(found, _)| &**found == name)
    }

    /// Whether there is a folder of this name.
    pub fn has_folder(&self, name: &str) -> bool {
        self.names
            .iter()
            .any(|(found, kind)| &**found == name && *kind == EntryKind::Directory)
    }

    /// Whether an entry that is not a folder has a name that `fits`.
    pub fn any_file(&self, fits: impl Fn(&str) -> bool) -> bool {
        self.names
            .iter()
            .any(|(found, kind)| *kind != EntryKind::Directory && fits(found))
    }
}

/// Reads a file of the folder in question; `None` if it is not a file or too large.
pub type ReadName<'a> = &'a dyn Fn(&str) -> Option<Vec<u8>>;

/// A format.
pub trait FormatDefinition: Sync {
    /// The format that this defines.
    fn format(&self) -> Format;

    /// What a valid unit of this format proves, and what it does not.
    fn proves(&self) -> ProofScope;

    /// The descriptors of its rules, in the order in which they are listed.
    fn rules(&self) -> Vec<&'static RuleInfo>;

    /// Members that only its documents have; empty for folders.
    fn members(&self) -> &'static [&'static str] {
        &[]
    }

    /// The usual file name of its document, for when the content does not tell.
    fn file_name(&self) -> Option<&'static str> {
        None
    }

    /// Whether a name in a folder counts for or against the folder being of this format.
    fn recognizes_name(&self, _name: &str) -> bool {
        false
    }

    /// Whether a folder with these names is of this format.
    fn claims(&self, _names: &FolderNames, _read: ReadName<'_>) -> Claim {
        Claim::No
    }

    /// Judges a document. `None` if the format is a folder and the text one file of it.
    ///
    /// # Errors
    /// If the text is not JSON and the format is one JSON document.
    fn judge_text(&self, _text: &[u8], _level: Level) -> Option<Result<Judgement, JsonError>> {
        None
    }

    /// Judges a parsed document. `None` if the format is not a JSON document.
    fn judge_document(&self, _document: &Document<'_>, _level: Level) -> Option<Judgement> {
        None
    }

    /// Judges a parsed document that may have files next to it.
    fn judge_with_files(
        &self,
        document: &Document<'_>,
        level: Level,
        _beside: DocumentFolder<'_>,
    ) -> Option<Judgement> {
        self.judge_document(document, level)
    }

    /// Judges a folder. `None` if the format is not a folder.
    ///
    /// # Errors
    /// If the folder cannot be read, so that nothing can be said about it.
    fn judge_folder(
        &self,
        _source: &dyn Source,
        _judging: &Judging<'_>,
    ) -> Option<Result<Judgement, SourceError>> {
        None
    }

    /// What redaction needs to know about it, if it can be sealed for redaction.
    fn redactable(&self) -> Option<&'static Redactable> {
        None
    }

    /// What part of a folder of this format its rules cover. The rest is searched, so that evidence
    /// below it does not count as checked.
    fn covers(&self) -> Coverage {
        Coverage::Everything
    }

    /// Names that only a finished folder of this format has together, in which nothing else is
    /// allowed. Empty if its folders may contain other files, or if the format is not a folder.
    fn sealed_names(&self) -> &'static [&'static str] {
        &[]
    }

    /// Files of a folder of this format that judging reads once, whole. Whoever owns their bytes
    /// may give them up when they are read.
    fn read_once(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether a folder of this format may be reached by a link.
    fn follows_root_link(&self) -> bool {
        true
    }
}

/// What part of a folder the rules of its format cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// All of it: anything that does not belong there is a finding.
    Everything,
    /// The entries with these names at its top.
    Named {
        /// Files; `None` means all of them.
        files: Option<&'static [&'static str]>,
        /// Folders, with everything in them.
        folders: &'static [&'static str],
    },
    /// Bytes only: it lists files of any kind.
    Bytes,
}

impl Coverage {
    /// Whether a file of this name at the top may be a unit itself.
    pub fn leaves_open_file(self, name: &[u8]) -> bool {
        match self {
            Self::Everything | Self::Named { files: None, .. } => false,
            Self::Named {
                files: Some(files), ..
            } => !is_among(files, name),
            Self::Bytes => true,
        }
    }

    /// Whether a folder of this name at the top may contain other units.
    pub fn leaves_open_folder(self, name: &[u8]) -> bool {
        match self {
            Self::Everything => false,
            Self::Named { folders, .. } => !is_among(folders, name),
            Self::Bytes => true,
        }
    }
}

fn is_among(names: &[&str], name: &[u8]) -> bool {
    names.iter().any(|known| known.as_bytes() == name)
}

/// The definition of a format.
pub fn definition(format: Format) -> &'static dyn FormatDefinition {
    REGISTRY[format as usize]
}

/// Files that are next to a document and belong to it.
pub trait FilesBeside {
    /// Returns the facts about a file's content.
    ///
    /// # Errors
    /// If it is missing, not a regular file, or cannot be read.
    fn content(&self, path: &SafePath) -> Result<ContentFact, SourceError>;

    /// Reads a file of at most `limit` bytes.
    ///
    /// # Errors
    /// As for `content`, or if it is larger.
    fn read(&self, path: &SafePath, limit: u64) -> Result<Vec<u8>, SourceError>;
}

/// The files of a source, for a document at its root.
#[derive(Clone, Copy)]
pub struct SourceFiles<'a>(pub &'a dyn Source);

impl FilesBeside for SourceFiles<'_> {
    fn content(&self, path: &SafePath) -> Result<ContentFact, SourceError> {
        self.0.content(path)
    }

    fn read(&self, path: &SafePath, limit: u64) -> Result<Vec<u8>, SourceError> {
        self.0.read(path, limit)
    }
}

/// The surroundings of a document: its own name, and the files next to it.
#[derive(Clone, Copy)]
pub struct DocumentFolder<'a> {
    /// The name of the document's file.
    pub name: &'a str,
    /// The files of its folder.
    pub files: &'a dyn FilesBeside,
}

/// Judges a text that was already parsed, or is not JSON. `None` if the format is a folder.
pub fn judge_parsed(
    format: Format,
    parsed: &Result<Document<'_>, JsonError>,
    text: &[u8],
    level: Level,
    beside: Option<DocumentFolder<'_>>,
) -> Option<Result<Judgement, JsonError>> {
    let definition = definition(format);
    let of_document = match (parsed, beside) {
        (Ok(document), Some(beside)) => definition.judge_with_files(document, level, beside),
        (Ok(document), None) => definition.judge_document(document, level),
        (Err(_), _) => None,
    };
    // A text that is not one document may be lines of documents.
    let of_text = || definition.judge_text(text, level);
    of_document.map(Ok).or_else(of_text)
}

/// The descriptors of a table of rules.
pub fn infos<S: Subject>(table: &'static [Rule<S>]) -> Vec<&'static RuleInfo> {
    table.iter().map(|rule| &rule.info).collect()
}

/// A format that is one JSON document.
pub struct DocumentFormat {
    /// The format that this defines.
    pub format: Format,
    /// What a valid document proves, and what it does not.
    pub proves: ProofScope,
    /// The descriptors of its rules.
    pub rules: fn() -> Vec<&'static RuleInfo>,
    /// Members that only its documents have.
    pub members: &'static [&'static str],
    /// The usual file name.
    pub file_name: &'static str,
    /// Runs its rules on the root, up to a level.
    pub judge: fn(Node<'_>, Level) -> Report,
    /// What it calls itself.
    pub identify: fn(Node<'_>) -> Identity,
}

impl FormatDefinition for DocumentFormat {
    fn format(&self) -> Format {
        self.format
    }

    fn proves(&self) -> ProofScope {
        self.proves
    }

    fn rules(&self) -> Vec<&'static RuleInfo> {
        (self.rules)()
    }

    fn members(&self) -> &'static [&'static str] {
        self.members
    }

    fn file_name(&self) -> Option<&'static str> {
        Some(self.file_name)
    }

    fn judge_text(&self, text: &[u8], level: Level) -> Option<Result<Judgement, JsonError>> {
        match parse_document(text, &ReadOptions::default()) {
            Ok(document) => self.judge_document(&document, level).map(Ok),
            Err(error) => Some(Err(error)),
        }
    }

    fn judge_document(&self, document: &Document<'_>, level: Level) -> Option<Judgement> {
        let mut report = (self.judge)(document.root(), level);
        report.locate(None, document.text());
        Some(Judgement {
            report,
            identity: (self.identify)(document.root()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registry_has_every_format_at_its_index() {
        for format in Format::ALL {
            assert_eq!(definition(format).format(), format);
        }
    }

    #[test]
    fn registry_members_are_not_shared_between_formats() {
        for one in REGISTRY {
            for other in REGISTRY {
                let shared = one
                    .members()
                    .iter()
                    .find(|member| other.members().contains(member));
                if one.format() != other.format() {
                    assert_eq!(shared, None, "{} {}", one.format(), other.format());
                }
            }
        }
    }
}
