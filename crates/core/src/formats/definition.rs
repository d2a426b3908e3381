//! What a format is to the rest of the program: how it is told from others, how it is judged,
//! what it is called. One definition a format, one registry of them.
//!
//! `verify`, `inspect`, `report`, `diff` and detection walk the registry. A new format is one
//! module with its definition and one line in the list of `formats/mod.rs`.

use super::redacted::redactable::Redactable;
use super::run_bundle::SchemaJudge;
use super::{Format, REGISTRY};
use crate::canon::{Document, JsonError, Node, ReadOptions, parse_document};
use crate::path::SafePath;
use crate::source::{ContentFact, EntryKind, Source, SourceError};
use crate::verify::{Level, Report, Rule, RuleInfo, Subject};

/// What something proves that holds, and what it does not, in sentences for whoever has to decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proves {
    /// What it shows.
    pub shows: &'static [&'static str],
    /// What it does not show.
    pub does_not: &'static [&'static str],
}

/// What judging a folder needs beyond the folder.
#[derive(Clone, Copy)]
pub struct Judging<'a> {
    /// The path as it was given, which some documents judge too.
    pub path: &'a str,
    /// Up to which level.
    pub level: Level,
    /// What judging needs and this crate does not have.
    pub tools: &'a dyn Tools,
}

/// What judging needs and this crate does not have: JSON Schema, and what builds on it.
pub trait Tools: SchemaJudge {
    /// Judges the contracts of the engine in `source`, as it would be judged on any machine.
    ///
    /// # Errors
    /// When the folder cannot be read.
    fn judge_engine(&self, source: &dyn Source) -> Result<Report, SourceError>;
}

/// What judging something gave.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// Every rule and finding.
    pub report: Report,
    /// What it calls itself.
    pub identity: Identity,
}

/// How a run ended that was accepted, in [`Identity::ended_as`].
pub const ACCEPTED: &str = "accepted";
/// How one ended that failed.
pub const FAILED: &str = "failed";

/// How what something records ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It succeeded and was accepted.
    Accepted,
    /// It succeeded; nobody accepts runs of its format.
    Succeeded,
    /// It succeeded and was not accepted, or only parts of it succeeded.
    NotAccepted,
    /// It ended with questions or a refusal.
    Refused,
    /// It failed.
    Failed,
    /// It should say, and does not.
    Unknown,
}

impl Outcome {
    /// Whether it is a success that nobody rejected.
    pub fn is_success(self) -> bool {
        matches!(self, Self::Accepted | Self::Succeeded)
    }
}

/// How what was sealed ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ended {
    /// The word of [`Identity::ended_as`].
    pub word: Option<&'static str>,
    /// The outcome; none where the format has none.
    pub outcome: Option<Outcome>,
}

/// What something calls itself and how it ended, as far as that can be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// Its own ids: of the run, the bundle, the proposal.
    pub ids: Vec<String>,
    /// Ids of what it is about and does not hold itself: the runs that a ledger lists, the job of a receipt.
    pub about: Vec<String>,
    /// How what it records ended, in the words that people read.
    pub outcome: Option<String>,
    /// The same in the one word that policies and statements use; the outcome of a redacted copy also says how
    /// much is withheld.
    pub ended_as: Option<String>,
    /// The same as one of the outcomes that all formats share; none where its format has none.
    pub result: Option<Outcome>,
    /// Places that it withholds, each with its reason.
    pub withheld: Vec<(String, String)>,
    /// What it says itself that it did not capture.
    pub not_captured: Vec<String>,
    /// Why less follows from it than its format allows, even where it holds.
    pub caveats: Vec<String>,
    /// Signatures that it carries itself.
    pub carried: Vec<CarriedSignature>,
}

/// A signature that something carries itself, by a key that it carries too: rules say whether it holds,
/// and only a policy can say whose the key is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarriedSignature {
    /// Where it stands, as findings about it name the place.
    pub place: String,
    /// The key.
    pub key: Option<String>,
    /// Whose the key is, by the signer's own word.
    pub name: Option<String>,
}

impl Identity {
    /// The texts of these members, reached by names joined with dots.
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

    /// The same with an outcome.
    #[must_use]
    pub fn ended(mut self, outcome: Option<impl Into<String>>) -> Self {
        self.outcome = outcome.map(Into::into);
        self.ended_as.clone_from(&self.outcome);
        self
    }

    /// The same with the outcome that this is.
    #[must_use]
    pub fn with_result(mut self, result: Outcome) -> Self {
        self.result = Some(result);
        self
    }
}

/// How sure a format is that a folder is one of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    /// Nothing speaks for it.
    No,
    /// It is what a folder is that no other format claims.
    Leftover,
    /// A name that other folders have too.
    Weak,
    /// Only its own folders look like this.
    Strong,
}

/// The names in a folder that any format goes by.
#[derive(Debug, Clone, Default)]
pub struct FolderNames {
    names: Vec<(Box<str>, EntryKind)>,
}

impl FolderNames {
    /// Takes note of a name, if a format goes by it.
    pub fn note(&mut self, name: &[u8], kind: EntryKind) {
        let is_mark = |name: &str| REGISTRY.iter().any(|format| format.goes_by(name));
        if let Ok(name) = str::from_utf8(name)
            && is_mark(name)
        {
            self.names.push((name.into(), kind));
        }
    }

    /// Whether there is something of this name.
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|(found, _)| &**found == name)
    }

    /// Whether there is a folder of this name.
    pub fn has_folder(&self, name: &str) -> bool {
        self.names
            .iter()
            .any(|(found, kind)| &**found == name && *kind == EntryKind::Directory)
    }

    /// Whether something that is no folder has a name that `fits`.
    pub fn any_file(&self, fits: impl Fn(&str) -> bool) -> bool {
        self.names
            .iter()
            .any(|(found, kind)| *kind != EntryKind::Directory && fits(found))
    }
}

/// Reads a file of the folder in question, where it is one and not too large.
pub type ReadName<'a> = &'a dyn Fn(&str) -> Option<Vec<u8>>;

/// A format.
pub trait FormatDefinition: Sync {
    /// The format that this defines.
    fn format(&self) -> Format;

    /// What one that holds proves, and what it does not.
    fn proves(&self) -> Proves;

    /// The descriptors of its rules, in the order in which they are listed.
    fn rules(&self) -> Vec<&'static RuleInfo>;

    /// Members that its documents have and those of other formats do not; none for folders.
    fn members(&self) -> &'static [&'static str] {
        &[]
    }

    /// The name its document commonly has, for where the content says nothing.
    fn file_name(&self) -> Option<&'static str> {
        None
    }

    /// Whether a name in a folder counts for or against the folder being of this format.
    fn goes_by(&self, _name: &str) -> bool {
        false
    }

    /// Whether a folder with these names is of this format.
    fn claims(&self, _names: &FolderNames, _read: ReadName<'_>) -> Claim {
        Claim::No
    }

    /// Judges a document. `None` where the format is a folder and the text one file of it.
    ///
    /// # Errors
    /// When the text is no JSON and the format is one JSON document.
    fn judge_text(&self, _text: &[u8], _level: Level) -> Option<Result<Judgement, JsonError>> {
        None
    }

    /// Judges a document that was parsed. `None` where the format is no JSON document.
    fn judge_document(&self, _document: &Document<'_>, _level: Level) -> Option<Judgement> {
        None
    }

    /// The same for a document that may have files beside it.
    fn judge_beside(
        &self,
        document: &Document<'_>,
        level: Level,
        _beside: Beside<'_>,
    ) -> Option<Judgement> {
        self.judge_document(document, level)
    }

    /// Judges a folder. `None` where the format is no folder.
    ///
    /// # Errors
    /// When the folder cannot be read, so that nothing can be said.
    fn judge_folder(
        &self,
        _source: &dyn Source,
        _judging: &Judging<'_>,
    ) -> Option<Result<Judgement, SourceError>> {
        None
    }

    /// What redaction has to know of it, if it can be sealed for that.
    fn redactable(&self) -> Option<&'static Redactable> {
        None
    }

    /// What of a folder of this format its rules speak for. The rest is searched, so that evidence below it is
    /// not taken for checked.
    fn covers(&self) -> Coverage {
        Coverage::Everything
    }

    /// Names that a folder has together only where it is a finished one of this format, in which nothing
    /// else may lie. None where its folders may hold other files, or are no folders.
    fn sealed_by(&self) -> &'static [&'static str] {
        &[]
    }

    /// Files of a folder of this format that judging it reads once, whole. Whoever holds their bytes may give them away
    /// then.
    fn read_once(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether a folder of this format may be reached by a link.
    fn follows_root_link(&self) -> bool {
        true
    }
}

/// What of a folder the rules of its format speak for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// All of it: whatever does not belong there is a finding.
    Everything,
    /// What has these names at its top.
    Named {
        /// Files; all of them where there is no list.
        files: Option<&'static [&'static str]>,
        /// Folders, with whatever is in them.
        folders: &'static [&'static str],
    },
    /// Bytes only: it lists files, which may be anything.
    Bytes,
}

impl Coverage {
    /// Whether a file of this name at the top may be something of its own.
    pub fn leaves_open_file(self, name: &[u8]) -> bool {
        match self {
            Self::Everything | Self::Named { files: None, .. } => false,
            Self::Named {
                files: Some(files), ..
            } => !is_among(files, name),
            Self::Bytes => true,
        }
    }

    /// Whether a folder of this name at the top may hold something of its own.
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

/// Files that lie beside a document and belong to it.
pub trait FilesBeside {
    /// What the bytes of a file are.
    ///
    /// # Errors
    /// When it is not there, no regular file, or cannot be read.
    fn content(&self, path: &SafePath) -> Result<ContentFact, SourceError>;

    /// Reads a file of at most `limit` bytes.
    ///
    /// # Errors
    /// As for its content, or when it is larger.
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

/// Where a document lies: its own name, and the files beside it.
#[derive(Clone, Copy)]
pub struct Beside<'a> {
    /// The name of the document's file.
    pub name: &'a str,
    /// The files of its folder.
    pub files: &'a dyn FilesBeside,
}

/// Judges a text that was parsed already, or is no JSON. `None` where the format is a folder.
pub fn judge_parsed(
    format: Format,
    parsed: &Result<Document<'_>, JsonError>,
    text: &[u8],
    level: Level,
    beside: Option<Beside<'_>>,
) -> Option<Result<Judgement, JsonError>> {
    let definition = definition(format);
    let of_document = match (parsed, beside) {
        (Ok(document), Some(beside)) => definition.judge_beside(document, level, beside),
        (Ok(document), None) => definition.judge_document(document, level),
        (Err(_), _) => None,
    };
    // What is no document may be lines of them.
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
    /// What one that holds proves, and what it does not.
    pub proves: Proves,
    /// The descriptors of its rules.
    pub rules: fn() -> Vec<&'static RuleInfo>,
    /// Members that only its documents have.
    pub members: &'static [&'static str],
    /// The name it commonly has.
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

    fn proves(&self) -> Proves {
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
    fn registry_holds_every_format_at_its_place() {
        for format in Format::ALL {
            assert_eq!(definition(format).format(), format);
        }
    }

    #[test]
    fn registry_members_tell_one_format_from_another() {
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
