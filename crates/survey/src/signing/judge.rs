//! Loads a policy file with its chain, and answers whether a unit is signed, trusted and logged.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runseal_core::diagnosis::{Diagnose, Diagnosis, Location, with_cause};
use runseal_core::digest::Digest;
use runseal_core::formats::definition::Identity;
use runseal_core::source::SourceError;
use runseal_core::verify::authenticity::{Authenticity, LogNote, SignedState, TrustNote};
use runseal_core::verify::{Finding, SignatureDemand, Survey, UnitResult};
use runseal_trust::budget::Budget;
use runseal_trust::check::{Found, KnownSigners, SignatureChecker, summarize};
use runseal_trust::dsse::Envelope;
use runseal_trust::keys::PublicKey;
use runseal_trust::limits::MAX_POLICY_BYTES;
use runseal_trust::policy::{
    ChainError, Decision, Policy, PolicyError, Question, decide, follow_chain, read_chain,
};
use runseal_trust::sigstore::TrustedRoot;
use runseal_trust::statement::Target;
use thiserror::Error;

use super::beside::{has_beside, read_beside};
use super::place::{folder_of, place_of};
use super::target::{Signable, archive_digest, outer_path, parse_facts, signable_of};
use crate::{Files, Keep, Observer, Position, UnitContent};

/// A chain may be as long as many policies.
const MAX_CHAIN_BYTES: u64 = 64 * MAX_POLICY_BYTES;

/// Why a policy file decides nothing.
#[derive(Debug, Error)]
pub enum PolicyFileError {
    /// It could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// It is not text.
    #[error("the policy is not UTF-8 text")]
    NotText,
    /// It is not a policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The chain next to it is not valid.
    #[error("the chain `{path}` is not valid")]
    Chain {
        /// The file.
        path: String,
        /// The first version that does not follow from the one before.
        source: ChainError,
    },
    /// Its sigstore trusted root cannot be used.
    #[error("line {line}: {fault}")]
    Sigstore {
        /// The policy's line that names the root, from 1.
        line: usize,
        /// What is wrong with the root.
        fault: String,
    },
}

impl Diagnose for PolicyFileError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Source(error) => error.diagnosis(),
            Self::Policy(error) => error.diagnosis(),
            Self::Chain { .. } => Diagnosis::unreadable(self, "CHAIN")
                .message(with_cause(self))
                .located(Location::Named)
                .hint("a version must be signed by the root before it and by its own"),
            Self::NotText | Self::Sigstore { .. } => {
                Diagnosis::unreadable(self, "POLICY").located(Location::Named)
            }
        }
    }
}

/// A policy at the newest version that the chain next to it proves.
#[derive(Debug)]
pub struct LoadedPolicy {
    /// The file as it was named; with the version, if the chain led to a newer one.
    pub shown: String,
    /// The policy.
    pub policy: Policy,
    /// Its text.
    pub text: String,
    known: KnownSigners,
    folder: Option<PathBuf>,
}

/// The path of the chain next to a policy.
pub fn chain_beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".chain");
    PathBuf::from(name)
}

/// Reads a policy and follows the chain next to it, as of `now` in milliseconds since 1970.
///
/// # Errors
/// If it cannot be read, is not a policy, or its chain is not valid.
pub fn load_policy(
    files: &dyn Files,
    path: &Path,
    now: i64,
) -> Result<LoadedPolicy, PolicyFileError> {
    let bytes = files.read(path, MAX_POLICY_BYTES)?;
    let mut text = String::from_utf8(bytes).map_err(|_| PolicyFileError::NotText)?;
    let mut policy = Policy::parse(&text)?;
    let mut shown = path.display().to_string();
    let chain = chain_beside(path);
    match files.read(&chain, MAX_CHAIN_BYTES) {
        Err(SourceError::NotFound { .. }) => {}
        Err(error) => return Err(error.into()),
        Ok(bytes) => {
            let chain_shown = chain.display().to_string();
            let fail = |source| PolicyFileError::Chain {
                path: chain_shown.clone(),
                source,
            };
            let links = read_chain(&bytes).map_err(fail)?;
            if let Some(newest) = follow_chain(&policy, links, now).map_err(fail)? {
                shown = format!("{shown} version {}", newest.policy.version);
                text = String::from_utf8_lossy(&newest.envelope.payload).into_owned();
                policy = newest.policy;
            }
        }
    }
    let sigstore = match &policy.sigstore_root {
        None => None,
        Some((root, line)) => {
            Some(
                TrustedRoot::parse(root).map_err(|error| PolicyFileError::Sigstore {
                    line: *line,
                    fault: error.to_string(),
                })?,
            )
        }
    };
    let known = KnownSigners {
        keys: Some(policy.keys()),
        anchors: policy.anchors.clone(),
        sigstore,
    };
    Ok(LoadedPolicy {
        shown,
        policy,
        text,
        known,
        folder: folder_of(files, path),
    })
}

/// A log, or a proof from one, that can be asked whether it has something.
pub trait AskedLog: Sync {
    /// What it says about `target`, the subject of these statements, at `now` in milliseconds since 1970.
    /// What was logged before it was signed is found by its digests.
    fn ask(&self, statements: &[&Envelope], target: &Target, now: i64) -> LogNote;
}

/// What is asked about one path.
#[derive(Clone, Copy)]
pub struct TrustQuestion<'a> {
    /// The policy, if any.
    pub policy: Option<&'a LoadedPolicy>,
    /// Keys that were given instead of a policy, or with it.
    pub keys: &'a [(PublicKey, String)],
    /// Now, in milliseconds since 1970.
    pub now: i64,
    /// The log that must have it, if any.
    pub log: Option<&'a dyn AskedLog>,
}

impl TrustQuestion<'_> {
    /// Whether a policy or a log must answer even if nothing is signed.
    fn is_asked(&self) -> bool {
        self.policy.is_some() || self.log.is_some()
    }
}

/// Answers for everything that a survey judges whether it is signed, trusted and logged: right after it
/// was judged, and from what was read for that.
pub struct SignatureJudge<'a> {
    files: &'a dyn Files,
    question: TrustQuestion<'a>,
    archives: ArchiveSignatures,
    answers: Mutex<BTreeMap<String, Authenticity>>,
}

impl<'a> SignatureJudge<'a> {
    /// Asks `question` about every unit.
    pub fn new(files: &'a dyn Files, question: TrustQuestion<'a>) -> Self {
        Self {
            files,
            question,
            archives: ArchiveSignatures::default(),
            answers: Mutex::default(),
        }
    }

    /// Adds the answers to the results of known formats.
    pub fn answer(self, survey: Survey, demand: SignatureDemand) -> Survey {
        let answers = self.answers.into_inner();
        let answers = answers.unwrap_or_else(PoisonError::into_inner);
        survey.with_authenticity(answers, demand)
    }
}

impl Observer for SignatureJudge<'_> {
    fn keep(&self, path: &Path, position: Position) -> Keep {
        let is_signed_inside = match position {
            Position::Path => false,
            Position::ArchiveTop { has_signatures } | Position::Inside { has_signatures } => {
                has_signatures
            }
        };
        let is_named = path != Path::new("-");
        let is_wanted = is_signed_inside
            || (is_named && (self.question.is_asked() || has_beside(self.files, path)));
        if is_wanted {
            Keep::Facts
        } else {
            Keep::Verdict
        }
    }

    fn see(&self, result: &UnitResult, content: Option<UnitContent>) {
        if result.format.is_none() {
            return;
        }
        let unit = JudgedUnit {
            path: Path::new(&result.path),
            is_valid: result.is_valid(),
            identity: &result.identity,
            findings: result.findings(),
            content: content.as_ref(),
        };
        let (authenticity, _) = judge_trust(self.files, unit, (self.question, &self.archives));
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.insert(result.path.clone(), authenticity);
    }
}

/// What questions about signatures need of a judged unit.
#[derive(Debug, Clone, Copy)]
pub struct JudgedUnit<'a> {
    /// Where it is, as answers write it.
    pub path: &'a Path,
    /// Whether it is valid, including the archive that it is in.
    pub is_valid: bool,
    /// Its ids, and the outcome that it records.
    pub identity: &'a Identity,
    /// What is wrong with it.
    pub findings: &'a [Finding],
    /// What was kept of it; `None` if there are no signatures to check, or it could not be read.
    pub content: Option<&'a UnitContent>,
}

/// Answers whether a unit is signed, trusted and logged, from what was kept when it was judged: nothing is
/// read twice, because it may have changed by now. Units of one archive share `archives`.
pub fn judge_trust(
    files: &dyn Files,
    unit: JudgedUnit<'_>,
    (question, archives): (TrustQuestion<'_>, &ArchiveSignatures),
) -> (Authenticity, Option<Decision>) {
    let outer = outer_path(files, unit.path);
    let (mut authenticity, decision) = match (unit.content, &outer) {
        (None, None) => (refused(question, PIPED), None),
        (None, Some(_)) => (refused(question, NOT_KEPT), None),
        (Some(content), _) => {
            let archive = outer.as_deref().filter(|_| content.is_archived);
            let beside = match (&outer, archive) {
                (_, Some(archive)) => archives.signatures_of(files, archive),
                (Some(path), None) => Arc::new(read_beside(files, path)),
                (None, None) => Arc::default(),
            };
            let joined;
            let found = if content.beside.is_empty() {
                beside.as_slice()
            } else {
                joined = [beside.as_slice(), &content.beside].concat();
                &joined
            };
            if found.is_empty() && (!question.is_asked() || outer.is_none()) {
                (refused(question, PIPED), None)
            } else {
                let asked = UnitQuestion {
                    files,
                    path: unit.path,
                    found,
                    question,
                };
                let documents = parse_facts(content);
                let answer = signable_of(files, unit, content, &documents)
                    .map_err(|error| unreadable(&error))
                    .and_then(|signable| asked.answer(signable, archive, archives));
                answer.unwrap_or_else(|reason| (refused(question, &reason), None))
            }
        }
    };
    authenticity.add_carried(unit.identity, unit.findings);
    (authenticity, decision)
}

/// What the units of one archive share: its digest, and the budget for checking signatures. They are
/// judged one after another, so the same archive always gets the same answers.
#[derive(Debug, Default)]
pub struct ArchiveSignatures {
    /// The digest of the archive that was asked for last; it is not read again for each of its units.
    last: Mutex<Option<(PathBuf, (String, Digest))>>,
    /// The signatures next to the archive that was asked for last.
    beside: Mutex<Option<(PathBuf, Arc<Vec<Found>>)>>,
    budgets: Mutex<BTreeMap<PathBuf, Budget>>,
}

impl ArchiveSignatures {
    pub(super) fn digest_of(
        &self,
        files: &dyn Files,
        archive: &Path,
    ) -> Result<(String, Digest), SourceError> {
        let last = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((path, known)) = last().as_ref()
            && path == archive
        {
            return Ok(known.clone());
        }
        let digest = archive_digest(files, archive)?;
        *last() = Some((archive.to_owned(), digest.clone()));
        Ok(digest)
    }

    fn signatures_of(&self, files: &dyn Files, archive: &Path) -> Arc<Vec<Found>> {
        let last = || self.beside.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((path, known)) = last().as_ref()
            && path == archive
        {
            return Arc::clone(known);
        }
        let found = Arc::new(read_beside(files, archive));
        *last() = Some((archive.to_owned(), Arc::clone(&found)));
        found
    }

    fn budgets(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Budget>> {
        self.budgets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn budget_of(&self, archive: &Path) -> Budget {
        let known = self.budgets().get(archive).cloned();
        known.unwrap_or_else(Budget::of_file)
    }

    fn charge(&self, archive: &Path, share: &Budget) {
        if share.spent() > 0 {
            let mut budgets = self.budgets();
            let budget = budgets.entry(archive.to_owned());
            budget.or_insert_with(Budget::of_file).charge(share);
        }
    }
}

fn unreadable(error: &dyn std::error::Error) -> String {
    format!("what was signed cannot be read: {error}")
}

/// Unsigned, and not trusted if a policy was asked.
fn refused(question: TrustQuestion<'_>, reason: &str) -> Authenticity {
    let mut unsigned = Authenticity::unsigned();
    unsigned.trusted = question.policy.map(|policy| TrustNote {
        is_trusted: false,
        policy: policy.shown.clone(),
        line: None,
        rule: None,
        reason: reason.to_owned(),
    });
    unsigned
}

const PIPED: &str = "it came through a pipe, unsigned";

const NOT_KEPT: &str = "what was signed cannot be read";

/// What is asked about one unit.
struct UnitQuestion<'a> {
    files: &'a dyn Files,
    path: &'a Path,
    found: &'a [Found],
    question: TrustQuestion<'a>,
}

impl UnitQuestion<'_> {
    /// Checks the signatures, and asks the policy and the log. If the unit is in an `archive`, a signature
    /// may also be over that archive as a file. Its digest costs a second reading, so it is computed only
    /// if the answer may depend on it; no signature is checked again for that.
    fn answer(
        &self,
        mut signable: Signable,
        archive: Option<&Path>,
        archives: &ArchiveSignatures,
    ) -> Result<(Authenticity, Option<Decision>), String> {
        let question = self.question;
        let mut known = question
            .policy
            .map_or_else(KnownSigners::default, |policy| policy.known.clone());
        if !question.keys.is_empty() {
            let keys = known.keys.get_or_insert_default();
            keys.extend_from_slice(question.keys);
        }
        let mut budget = match archive {
            Some(archive) => archives.budget_of(archive).share(),
            None => Budget::of_unit(),
        };
        let mut checker = SignatureChecker::new(self.found, &known, &mut budget);
        let mut checked = checker.check(signable.about());
        if let Some(archive) = archive {
            let policy = question.policy;
            let is_denying = policy.is_some_and(|policy| !policy.policy.denied_digests.is_empty());
            let mut notes = checked.iter().map(|checked| &checked.note);
            if is_denying || notes.any(|note| note.state != SignedState::Signed) {
                let digest = archives.digest_of(self.files, archive);
                let digest = digest.map_err(|error| unreadable(&error))?;
                signable.target.set_archive(digest, self.path != archive);
                checked = checker.check(signable.about());
            }
        }
        let mut authenticity = summarize(&checked, signable.facts.sealed_at.clone());
        let decision = question.policy.map(|policy| {
            let asked = Question {
                format: signable.format.name().to_owned(),
                original: signable.facts.original.clone(),
                engine: signable.facts.ids.get("engine_code").cloned(),
                outcome: signable.facts.outcome.clone(),
                is_outcome_unknown: signable.facts.is_outcome_unknown,
                place: place_of(self.files, policy.folder.as_deref(), self.path),
                is_intact: signable.is_valid,
                now: question.now,
            };
            let decision = decide(&policy.policy, &asked, &signable.target, &checked);
            authenticity.trusted = Some(decision.to_note(&policy.shown));
            decision
        });
        authenticity.logged = question.log.map(|log| {
            let statements = checker.find_statements(signable.about());
            // An entry is about one thing.
            let about = statements
                .iter()
                .filter(|one| one.fault.is_none() && !one.names_more);
            let about: Vec<_> = about.map(|one| one.envelope).collect();
            log.ask(&about, &signable.target, question.now)
        });
        if let Some(archive) = archive {
            archives.charge(archive, &budget);
        }
        Ok((authenticity, decision))
    }
}
