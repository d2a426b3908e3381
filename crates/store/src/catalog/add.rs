//! Adds units: verifies what is at the given places on all threads, and writes valid units in
//! batches.
//!
//! An entry is made from the bytes that were judged, right after they were judged. Units that are
//! invalid, unreadable or without a digest are reported, not added. The writer takes batches as
//! they arrive, so memory does not grow with the number of units.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use runseal_core::digest::Digest;
use runseal_core::formats::Format;
use runseal_core::verify::authenticity::{Authenticity, SignedState};
use runseal_core::verify::{Level, Outcome, Survey, UnitResult, Verdict};
use runseal_survey::Files;
use runseal_survey::signing::{ArchiveSignatures, JudgedUnit, judge_trust};
use runseal_survey::{Keep, Observer, Position, UnitContent};

use super::collect::{KEPT, describe_unit};
use super::{Added, Catalog, CatalogError, Entry, Existing, Sighting, UNSIGNED};
use runseal_fs::signing::TrustQuestion;
use runseal_fs::survey::{Tally, VerifyOptions, survey_files_seen};

/// Units per transaction.
const BATCH: usize = 500;
/// The most bytes of a place: PostgreSQL's indexes have no room for more.
const LONGEST_PLACE: usize = 2000;
/// The most judged units that wait for the writer.
const WAITING: usize = 2 * BATCH;

/// How to add units.
#[derive(Clone)]
pub struct AddOptions<'a> {
    /// The files that paths refer to: local or remote.
    pub files: &'a dyn Files,
    /// The number of verifying threads; by default the number of processors.
    pub threads: Option<usize>,
    /// What to ask about signatures. If it names a policy, units that the policy does not trust are
    /// not added.
    pub question: TrustQuestion<'a>,
    /// Tags for everything that is added.
    pub tags: BTreeSet<String>,
    /// What to do with units that already exist.
    pub existing: Existing,
}

/// A unit that was not added, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refused {
    /// Its place.
    pub place: String,
    /// The violated rule, if the unit was judged.
    pub rule: Option<&'static str>,
    /// What is invalid, or why it could not be read, in one sentence.
    pub reason: String,
    /// Whether it could be read at all.
    pub is_readable: bool,
}

/// The result of adding.
#[derive(Debug, Default)]
pub struct AddReport {
    /// How many units were added, and how many already existed.
    pub added: Added,
    /// The units that were not added, by place.
    pub refused: Vec<Refused>,
    /// The digests and places of all units that were seen.
    pub seen: BTreeSet<(Digest, String)>,
}

impl AddReport {
    /// Returns the overall outcome: an unreadable unit outweighs an invalid one.
    pub fn outcome(&self) -> Outcome {
        match self.refused.iter().all(|refused| refused.is_readable) {
            false => Outcome::Unreadable,
            true if !self.refused.is_empty() => Outcome::Invalid,
            true => Outcome::Valid,
        }
    }
}

/// Verifies everything at and below `paths`, and adds what is valid.
///
/// # Errors
/// When the catalogue fails. Batches added before that stay.
pub fn add_paths(
    catalog: &mut dyn Catalog,
    paths: &[PathBuf],
    options: &AddOptions<'_>,
    tally: &Tally,
) -> Result<AddReport, CatalogError> {
    let (sender, receiver) = mpsc::sync_channel::<Entry>(WAITING);
    let files = options.files;
    let collector = Collector {
        files,
        question: options.question,
        archives: ArchiveSignatures::default(),
        sender,
        refusals: Mutex::default(),
        faulty_archives: Mutex::default(),
    };
    let survey_options = VerifyOptions {
        level: Level::Integrity,
        threads: options.threads,
    };
    let mut report = AddReport::default();
    let (survey, written) = thread::scope(|scope| {
        let survey = thread::Builder::new().spawn_scoped(scope, move || {
            let survey = survey_files_seen(files, paths, survey_options, tally, &collector);
            let refusals = collector.refusals.into_inner();
            (survey, refusals.unwrap_or_else(PoisonError::into_inner))
        });
        let survey = survey.map_err(CatalogError::Thread)?;
        let mut batch = Vec::new();
        let mut written = Ok(());
        // After a write has failed, drain the channel so that no sender blocks.
        for mut entry in receiver {
            if written.is_err() {
                continue;
            }
            entry.tags.clone_from(&options.tags);
            batch.push(entry);
            if batch.len() >= BATCH {
                written = write(catalog, &mut batch, options, &mut report);
            }
        }
        if written.is_ok() {
            written = write(catalog, &mut batch, options, &mut report);
        }
        match survey.join() {
            Ok(survey) => Ok::<_, CatalogError>((survey, written)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })?;
    written?;
    let (survey, refusals) = survey;
    report.refused = refused_of(&survey, refusals);
    Ok(report)
}

fn write(
    catalog: &mut dyn Catalog,
    batch: &mut Vec<Entry>,
    options: &AddOptions<'_>,
    report: &mut AddReport,
) -> Result<(), CatalogError> {
    if batch.is_empty() {
        return Ok(());
    }
    // All writers use the same order, so that they cannot deadlock on a server.
    batch.sort_by(|a, b| (a.digest, &a.sightings).cmp(&(b.digest, &b.sightings)));
    let added = catalog.add(batch, options.existing)?;
    report.added.added += added.added;
    report.added.known += added.known;
    for entry in batch.drain(..) {
        for sighting in entry.sightings {
            report.seen.insert((entry.digest, sighting.place));
        }
    }
    Ok(())
}

/// Returns the units that were not added: those that the survey found invalid, and valid ones that
/// were refused.
fn refused_of(survey: &Survey, mut refusals: BTreeMap<String, String>) -> Vec<Refused> {
    let results = survey.results().iter();
    let mut refused: Vec<_> = results
        .filter_map(|result| {
            let (rule, reason, is_readable) = match &result.verdict {
                Verdict::Valid => (None, refusals.remove(&result.path)?, true),
                Verdict::NotChecked(reason) => (None, reason.clone(), false),
                Verdict::Invalid { findings, not_run } => {
                    let found = findings.first();
                    let message = found.map(|finding| finding.message.clone());
                    let rule = found.map(|finding| finding.rule_id);
                    let rule = rule.or(not_run.first().map(|(rule, _)| *rule));
                    let message =
                        message.unwrap_or_else(|| "a rule could not be checked".to_owned());
                    (rule, message, true)
                }
            };
            Some(Refused {
                place: result.path.clone(),
                rule,
                reason,
                is_readable,
            })
        })
        .collect();
    refused.sort();
    refused
}

/// Makes an entry of every valid unit, on the thread that judged it.
struct Collector<'a> {
    files: &'a dyn Files,
    question: TrustQuestion<'a>,
    archives: ArchiveSignatures,
    sender: SyncSender<Entry>,
    /// Why valid units were not added, by place.
    refusals: Mutex<BTreeMap<String, String>>,
    /// Archives that are invalid themselves, whatever they contain. They are reported before their
    /// contents.
    faulty_archives: Mutex<BTreeSet<String>>,
}

impl Collector<'_> {
    fn faulty_archives(&self) -> MutexGuard<'_, BTreeSet<String>> {
        let archives = self.faulty_archives.lock();
        archives.unwrap_or_else(PoisonError::into_inner)
    }

    fn refuse(&self, place: &str, reason: &str) {
        let refusals = self.refusals.lock();
        let mut refusals = refusals.unwrap_or_else(PoisonError::into_inner);
        refusals.insert(place.to_owned(), reason.to_owned());
    }
}

impl Observer for Collector<'_> {
    fn keep(&self, _: &Path, _: Position) -> Keep {
        Keep::Digests(&KEPT)
    }

    fn judges_typed_path(&self) -> bool {
        false
    }

    fn see(&self, result: &UnitResult, content: Option<UnitContent>) {
        let place = result.path.as_str();
        if !result.is_valid() {
            if result.format == Some(Format::Archive) {
                self.faulty_archives().insert(place.to_owned());
            }
            return;
        }
        if let Some((archive, _)) = place.split_once("!/")
            && self.faulty_archives().contains(archive)
        {
            self.refuse(place, "the archive that contains it is not valid");
            return;
        }
        if place.len() > LONGEST_PLACE {
            self.refuse(place, "its place is longer than 2,000 bytes");
            return;
        }
        let content = content.as_ref();
        let described = content.and_then(|content| describe_unit(result, content, place));
        let Some(mut entry) = described else {
            self.refuse(
                place,
                "its content has no digest: something in it is not a regular file",
            );
            return;
        };
        let unit = JudgedUnit {
            path: Path::new(place),
            is_valid: true,
            identity: &result.identity,
            findings: &[],
            content,
        };
        let (authenticity, _) = judge_trust(self.files, unit, (self.question, &self.archives));
        if let Some(trust) = &authenticity.trusted
            && !trust.is_trusted
        {
            self.refuse(place, &trust.sentence());
            return;
        }
        let signers = signers_of(&authenticity);
        entry.sightings = signers
            .into_iter()
            .map(|signer| Sighting {
                place: place.to_owned(),
                signer,
            })
            .collect();
        // The receiver lives until the last sender is gone.
        let _ = self.sender.send(entry);
    }
}

/// Returns the signers: their names in the policy, or else their keys. A signature that does not
/// verify is represented by its status.
fn signers_of(authenticity: &Authenticity) -> BTreeSet<String> {
    let signatures = authenticity.signatures.iter();
    let mut signers: BTreeSet<String> = signatures
        .map(|note| match (note.state, &note.name, &note.key) {
            (SignedState::Signed, Some(name), _) if note.is_known => name.clone(),
            (SignedState::Signed, _, Some(key)) => key.clone(),
            (state, _, _) => state.word().to_owned(),
        })
        .filter(|signer| !signer.contains('\0'))
        .collect();
    if signers.is_empty() {
        signers.insert(UNSIGNED.to_owned());
    }
    signers
}
