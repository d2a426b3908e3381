//! A policy file with its chain, and the second and third answer about one path.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use runseal_core::digest::Digest;
use runseal_core::source::SourceError;
use runseal_core::verify::authenticity::{Authenticity, LogNote, SignedState, TrustNote};
use runseal_core::verify::{Checked, Level, SignatureDemand, Survey};
use runseal_trust::budget::Budget;
use runseal_trust::check::{About, Found, Known, check_signatures, find_statements, summarize};
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
use super::target::{Signable, archive_digest, outer_path, signable_of, signable_of_loaded};
use crate::load::{Loaded, load};
use crate::{Files, Noted, Onlooker};

/// A whole chain may be as long as many policies.
const MAX_CHAIN_BYTES: u64 = 64 * MAX_POLICY_BYTES;

/// Why a policy file decides nothing.
#[derive(Debug, Error)]
pub enum PolicyFileError {
    /// It could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// It is no text.
    #[error("the policy is no UTF-8 text")]
    NotText,
    /// It is no policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The chain beside it does not hold.
    #[error("the chain `{path}` does not hold")]
    Chain {
        /// The file.
        path: String,
        /// The first version that does not follow from the one before.
        source: ChainError,
    },
    /// Its trusted root of sigstore cannot be used.
    #[error("line {line}: {fault}")]
    Sigstore {
        /// The policy's line that names the root, from 1.
        line: usize,
        /// What is wrong with the root.
        fault: String,
    },
}

/// A policy that was read, at the newest version that the chain beside it proves.
#[derive(Debug)]
pub struct LoadedPolicy {
    /// The file as it was named; where the chain led further, with the version it led to.
    pub shown: String,
    /// The policy.
    pub policy: Policy,
    /// Its text.
    pub text: String,
    known: Known,
    folder: Option<PathBuf>,
}

/// The chain that lies beside a policy.
pub fn chain_beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".chain");
    PathBuf::from(name)
}

/// Reads a policy and follows the chain beside it, as of `now` in milliseconds since 1970.
///
/// # Errors
/// When it cannot be read, is no policy, or its chain does not hold.
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
    let known = Known {
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

/// A log, or a proof out of one, that can be asked whether it holds something.
pub trait AskedLog: Sync {
    /// What it says of `target`, which these statements are about, at a time in milliseconds since
    /// 1970. What was logged before anybody signed it is found by its digests.
    fn ask(&self, statements: &[&Envelope], target: &Target, now: i64) -> LogNote;
}

/// What is asked about one path.
#[derive(Clone, Copy)]
pub struct TrustQuestion<'a> {
    /// The policy, where one was given.
    pub policy: Option<&'a LoadedPolicy>,
    /// Keys that were given instead of a policy, or beside it.
    pub keys: &'a [(PublicKey, String)],
    /// Now, in milliseconds since 1970.
    pub now: i64,
    /// The log that must hold it, where one was given.
    pub log: Option<&'a dyn AskedLog>,
}

impl TrustQuestion<'_> {
    /// Whether a policy or a log has to answer even where nothing is signed.
    fn is_asked(&self) -> bool {
        self.policy.is_some() || self.log.is_some()
    }
}

/// Answers the second and third question about everything that a survey judges, right after it
/// was judged and from what was read for that.
pub struct SignatureJudge<'a> {
    files: &'a dyn Files,
    question: TrustQuestion<'a>,
    archives: OuterFiles,
    answers: Mutex<BTreeMap<String, Authenticity>>,
}

impl<'a> SignatureJudge<'a> {
    /// One who asks `question`.
    pub fn new(files: &'a dyn Files, question: TrustQuestion<'a>) -> Self {
        Self {
            files,
            question,
            archives: OuterFiles::default(),
            answers: Mutex::default(),
        }
    }

    /// The survey with the answers to everything whose format is known.
    pub fn answer(self, survey: Survey, demand: SignatureDemand) -> Survey {
        let answers = self.answers.into_inner();
        let answers = answers.unwrap_or_else(PoisonError::into_inner);
        survey.with_authenticity(answers, demand)
    }
}

impl Onlooker for SignatureJudge<'_> {
    fn wants(&self, path: &Path) -> bool {
        path != Path::new("-") && (self.question.is_asked() || has_beside(self.files, path))
    }

    fn wants_inside(&self, archive: &Path, has_signatures: bool) -> bool {
        has_signatures || self.wants(archive)
    }

    fn see(&self, result: &Checked, noted: Option<Noted>) {
        if result.format.is_none() {
            return;
        }
        let path = Path::new(&result.path);
        let mut authenticity = match noted {
            Some(noted) => judge_noted(self.files, result, noted, (self.question, &self.archives)),
            // Signatures were looked for before it was judged, and there were none; or it could not be
            // read. It is not read again: that might be something else by now.
            None if outer_path(self.files, path).is_none() => refused(self.question, PIPED),
            None => refused(self.question, NOT_NOTED),
        };
        authenticity.add_carried(&result.identity, result.findings());
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.insert(result.path.clone(), authenticity);
    }
}

/// The answers about something that was judged, from what was noted then: nothing of it is read a
/// second time.
pub fn judge_noted(
    files: &dyn Files,
    result: &Checked,
    mut noted: Noted,
    (question, outer_files): (TrustQuestion<'_>, &OuterFiles),
) -> Authenticity {
    let path = Path::new(&result.path);
    let outer = outer_path(files, path);
    let mut found = outer
        .as_ref()
        .map_or_else(Vec::new, |outer| read_beside(files, outer));
    found.append(&mut noted.beside);
    if found.is_empty() && !question.is_asked() {
        return Authenticity::unsigned();
    }
    let is_archived = noted.is_archived;
    let judged = (result.is_valid(), result.identity.ended_as.as_deref());
    let mut signable = match signable_of(files, path, noted, judged) {
        Ok(signable) => signable,
        Err(error) => return refused(question, &unreadable(&error)),
    };
    let asked = Asked {
        files,
        path,
        found: &found,
        question,
    };
    let (false, Some(archive)) = (!is_archived, &outer) else {
        return asked.ask(&signable, &mut Budget::of_unit()).0;
    };
    let before = outer_files.budget_of(archive);
    let mut budget = before.share();
    // The archive's own digest costs a second reading of the whole file, so it is asked for where
    // something may depend on it.
    let denies = question
        .policy
        .is_some_and(|policy| !policy.policy.denied_digests.is_empty());
    let (mut answer, _) = asked.ask(&signable, &mut budget);
    let mut signatures = answer.signatures.iter();
    if denies || signatures.any(|note| note.state != SignedState::Signed) {
        match outer_files.digest_of(files, archive) {
            Ok(digest) => signable
                .target
                .set_archive(digest, path != archive.as_path()),
            Err(error) => return refused(question, &unreadable(&error)),
        }
        budget = before.share();
        answer = asked.ask(&signable, &mut budget).0;
    }
    outer_files.charge(archive, &budget);
    answer
}

/// What the units of one archive have in common: its digest, and how much may be spent on checking
/// signatures. They come one after the other, so that the same archive always gets the same answers.
#[derive(Debug, Default)]
pub struct OuterFiles {
    /// The archive that was asked for last; it is not read again for each of its units.
    last: Mutex<Option<(PathBuf, (String, Digest))>>,
    budgets: Mutex<BTreeMap<PathBuf, Budget>>,
}

impl OuterFiles {
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

/// Unsigned, and not trusted where a policy was asked.
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

/// Looks for signatures beside `path`, checks them, and asks the policy. Where there is something
/// to check, `path` is read and judged here: what a signature must be over is the bytes that the
/// rules held for, not what stands there a moment later.
pub fn judge_signatures(
    files: &dyn Files,
    path: &Path,
    level: Level,
    question: TrustQuestion<'_>,
) -> (Authenticity, Option<Decision>) {
    // What came through a pipe has nothing beside it, and is not there to be read a second time.
    if path == Path::new("-") {
        return (refused(question, PIPED), None);
    }
    match load(files, path, level) {
        Ok(loaded) => {
            let path = loaded.below.as_deref().unwrap_or(path);
            judge_loaded(files, path, &loaded, (question, &OuterFiles::default()))
        }
        Err(error) => (refused(question, &unreadable(&error)), None),
    }
}

const PIPED: &str = "it came through a pipe, unsigned";

const NOT_NOTED: &str = "what was signed cannot be read";

/// The answers about something that was loaded, from what was read then.
pub fn judge_loaded(
    files: &dyn Files,
    path: &Path,
    loaded: &Loaded,
    (question, outer_files): (TrustQuestion<'_>, &OuterFiles),
) -> (Authenticity, Option<Decision>) {
    let outer = outer_path(files, path);
    let mut found = outer
        .as_ref()
        .map_or_else(Vec::new, |outer| read_beside(files, outer));
    found.extend_from_slice(&loaded.beside);
    let (mut authenticity, decision) =
        if found.is_empty() && (!question.is_asked() || outer.is_none()) {
            (refused(question, PIPED), None)
        } else {
            match signable_of_loaded(files, path, loaded, outer_files) {
                Ok(signable) => {
                    let asked = Asked {
                        files,
                        path,
                        found: &found,
                        question,
                    };
                    match outer.as_ref().filter(|_| loaded.is_archived) {
                        None => asked.ask(&signable, &mut Budget::of_unit()),
                        Some(archive) => {
                            let mut budget = outer_files.budget_of(archive).share();
                            let answer = asked.ask(&signable, &mut budget);
                            outer_files.charge(archive, &budget);
                            answer
                        }
                    }
                }
                Err(error) => (refused(question, &unreadable(&error)), None),
            }
        };
    authenticity.add_carried(&loaded.identity, loaded.report.findings());
    (authenticity, decision)
}

/// What is asked about one unit.
struct Asked<'a> {
    files: &'a dyn Files,
    path: &'a Path,
    found: &'a [Found],
    question: TrustQuestion<'a>,
}

impl Asked<'_> {
    /// Checks the signatures and asks the policy and the log.
    fn ask(&self, signable: &Signable, budget: &mut Budget) -> (Authenticity, Option<Decision>) {
        let question = self.question;
        let mut known = question
            .policy
            .map_or_else(Known::default, |policy| policy.known.clone());
        if !question.keys.is_empty() {
            let keys = known.keys.get_or_insert_default();
            keys.extend_from_slice(question.keys);
        }
        let about = About {
            target: &signable.target,
            facts: &signable.facts,
        };
        let checked = check_signatures(self.found, about, &known, budget);
        let mut authenticity = summarize(&checked, signable.facts.sealed_at.clone());
        let decision = question.policy.map(|policy| {
            let asked = Question {
                format: signable.format.name().to_owned(),
                original: signable.facts.original.clone(),
                engine: signable.facts.ids.get("engine_code").cloned(),
                outcome: signable.facts.outcome.clone(),
                place: place_of(self.files, policy.folder.as_deref(), self.path),
                is_intact: signable.is_valid,
                now: question.now,
            };
            let decision = decide(&policy.policy, &asked, &signable.target, &checked);
            authenticity.trusted = Some(decision.to_note(&policy.shown));
            decision
        });
        authenticity.logged = question.log.map(|log| {
            let statements = find_statements(self.found, about, &known, budget);
            // An entry stands for one thing.
            let about = statements
                .iter()
                .filter(|one| one.fault.is_none() && !one.names_more);
            let about: Vec<_> = about.map(|one| one.envelope).collect();
            log.ask(&about, &signable.target, question.now)
        });
        (authenticity, decision)
    }
}
