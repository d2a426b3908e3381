//! Workers: claim steps, read them, and commit each with one receipt.
//!
//! The workers of one process each have their own connection if the store provides several;
//! otherwise they take turns on one. They read files in parallel. Other processes and machines may
//! work on the same store: the leases in the database, not this module, keep them apart. A worker
//! takes a few steps at a time, and only as many as it can finish well within a lease.

use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use runseal_core::canon::{
    Dialect, NoCanonicalForm, ReadOptions, Value, canonical_text, parse_document,
};
use runseal_core::diagnosis::{Diagnose, Diagnosis};
use runseal_core::digest::Digest;
use runseal_core::formats::job_bundle::op::Op;
use runseal_core::formats::job_bundle::plan::{StepBody, derive_job_digits};
use runseal_core::source::SourceError;
use runseal_core::verify;
use thiserror::Error;

use super::source::{ReadFailure, Resolved, Resolver, SourceTree, cut_slice, section_record_range};
use crate::store::{
    ClaimedStep, Commit, JobRunId, Outcome, ReceiptId, StepResult, Store, StoreError, StoreReader,
};
use runseal_fs::threads::Task;

/// The first and the longest pause of a worker that found nothing to do.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(250));

/// How many steps a worker takes at first: few, because it is not known yet how long they take.
const FIRST_SHARE: usize = 8;

/// Why work stopped.
#[derive(Debug, Error)]
pub enum WorkError {
    /// The source tree cannot be opened.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A worker thread panicked.
    #[error("a worker ended early")]
    Lost,
}

impl Diagnose for WorkError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Source(error) => error.diagnosis(),
            Self::Store(error) => error.diagnosis(),
            Self::Lost => Diagnosis::of(self, verify::Outcome::Internal, "WORKER"),
        }
    }
}

/// How to work.
#[derive(Clone, Debug)]
pub struct WorkOptions {
    /// Only the steps of this run.
    pub run_id: Option<JobRunId>,
    /// The number of concurrent workers; at least one.
    pub workers: usize,
    /// How long a lease lasts.
    pub lease_seconds: f64,
    /// The name in receipts; several workers append their number.
    pub worker_id: String,
}

/// What the workers did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkSummary {
    /// Steps committed with a SUCCESS receipt.
    pub succeeded: u64,
    /// Steps committed with a FAILURE receipt.
    pub failed: u64,
    /// Results refused because another worker had taken over the step.
    pub overtaken: u64,
}

/// A worker's connection to the store, possibly shared.
type Connection = Mutex<Box<dyn Store>>;

/// Works until every step of the run, or of all runs, is committed.
pub fn run_workers(
    store: Box<dyn Store>,
    root: &Path,
    options: &WorkOptions,
) -> Result<WorkSummary, WorkError> {
    let tree = SourceTree::open(root)?;
    let count = options.workers.max(1);
    let connections = connections(store, count)?;
    let summaries = thread::scope(|scope| {
        let workers: Vec<_> = (0..count)
            .map(|number| {
                let name = match count {
                    1 => options.worker_id.clone(),
                    _ => format!("{}-{number}", options.worker_id),
                };
                let store = &connections[number % connections.len()];
                let tree = &tree;
                Task::begin(scope, move || work(store, tree, options, &name))
            })
            .collect();
        // A worker for which no thread could be started works here, in turn.
        let ended = workers.into_iter().map(Task::finish);
        ended
            .map(|ended| ended.map_err(|_| WorkError::Lost)?)
            .collect::<Result<Vec<_>, _>>()
    })?;
    Ok(summaries
        .into_iter()
        .fold(WorkSummary::default(), |all, one| WorkSummary {
            succeeded: all.succeeded + one.succeeded,
            failed: all.failed + one.failed,
            overtaken: all.overtaken + one.overtaken,
        }))
}

/// One connection for each of `count` workers, or a single one if the store provides no more.
fn connections(store: Box<dyn Store>, count: usize) -> Result<Vec<Connection>, StoreError> {
    let mut connections = Vec::with_capacity(count);
    while connections.len() + 1 < count {
        match store.connect_again()? {
            Some(another) => connections.push(Mutex::new(another)),
            None => break,
        }
    }
    connections.push(Mutex::new(store));
    Ok(connections)
}

fn lock(store: &Connection) -> Result<MutexGuard<'_, Box<dyn Store>>, WorkError> {
    store.lock().map_err(|_| WorkError::Lost)
}

fn work(
    store: &Connection,
    tree: &SourceTree,
    options: &WorkOptions,
    name: &str,
) -> Result<WorkSummary, WorkError> {
    let run_id = options.run_id.as_ref();
    let largest = lock(store)?.largest_share();
    let mut summary = WorkSummary::default();
    let mut resolver = Resolver::default();
    let (mut share, mut pause) = (FIRST_SHARE.min(largest), PAUSES.0);
    loop {
        let started = Instant::now();
        let claimed = {
            let mut store = lock(store)?;
            let steps = store.claim_steps(run_id, name, options.lease_seconds, share)?;
            // A symbol may have been redirected since the last share.
            resolver.forget_symbols();
            prepare(store.as_reader(), &mut resolver, steps)?
        };
        if claimed.is_empty() {
            if !lock(store)?.has_open_steps(run_id)? {
                return Ok(summary);
            }
            thread::sleep(pause);
            pause = (pause * 2).min(PAUSES.1);
            continue;
        }
        pause = PAUSES.0;
        let results = execute(tree, claimed);
        for commit in lock(store)?.commit_steps(name, &results, &describe_receipt)? {
            match commit {
                Commit::Succeeded => summary.succeeded += 1,
                Commit::Failed => summary.failed += 1,
                Commit::Overtaken => summary.overtaken += 1,
            }
        }
        // A share should take only a small part of the lease, whatever the files are like.
        let is_quick = started.elapsed().as_secs_f64() < options.lease_seconds / 16.0;
        share = if is_quick {
            (share * 2).min(largest)
        } else {
            (share / 2).max(1)
        };
    }
}

/// A claimed step, with what it has to read.
struct Prepared {
    step: ClaimedStep,
    target: Option<(Op, String)>,
    resolved: Result<Resolved, ReadFailure>,
}

fn prepare(
    store: &dyn StoreReader,
    resolver: &mut Resolver,
    steps: Vec<ClaimedStep>,
) -> Result<Vec<Prepared>, StoreError> {
    let bodies: Vec<Result<StepBody, ReadFailure>> = steps
        .iter()
        .map(|step| {
            let parsed = parse_document(step.payload_json.as_bytes(), &ReadOptions::default())
                .map_err(|error| ReadFailure::new("STEP", format!("payload_json: {error}")))?;
            StepBody::parse(parsed.root())
                .map_err(|fault| ReadFailure::new("STEP", fault.to_string()))
        })
        .collect();
    resolver.look_up(store, bodies.iter().flatten())?;
    let prepared = steps
        .into_iter()
        .zip(bodies)
        .map(|(step, body)| match body {
            Ok(body) => Prepared {
                resolved: resolver.resolve(&body),
                target: Some((body.op, body.reference)),
                step,
            },
            Err(failure) => Prepared {
                step,
                target: None,
                resolved: Err(failure),
            },
        });
    Ok(prepared.collect())
}

/// Reads the steps of one share. Neighbouring steps often read from the same file: it is read once,
/// and each section of it is checked once, in the same state.
fn execute(tree: &SourceTree, share: Vec<Prepared>) -> Vec<StepResult> {
    let mut file = (String::new(), Ok(String::new()));
    let mut section = (String::new(), Ok(0..0));
    let mut results = Vec::with_capacity(share.len());
    for prepared in share {
        let read = prepared.resolved.and_then(|resolved| {
            let wanted = &resolved.section;
            if file.0 != wanted.file_path {
                file = (wanted.file_path.clone(), tree.read_text(&wanted.file_path));
                section.0.clear();
            }
            let text = file.1.as_ref().map_err(Clone::clone)?;
            if section.0 != wanted.section_id {
                section = (
                    wanted.section_id.clone(),
                    section_record_range(text, wanted),
                );
            }
            let range = section.1.clone()?;
            let cut = cut_slice(&text[range], &resolved.slice)?;
            Ok(Outcome::Success {
                content_hash: Digest::of(cut.as_bytes()).to_string(),
                bytes: cut.len() as u64,
                slice: resolved.slice,
            })
        });
        let outcome = read.unwrap_or_else(|failure| Outcome::Failure {
            code: failure.code,
            message: failure.message,
        });
        results.push(StepResult {
            step: prepared.step,
            outcome,
            target: prepared.target,
        });
    }
    results
}

/// Returns the id and JSON of a step's receipt.
fn describe_receipt(
    result: &StepResult,
    outcome: &Outcome,
) -> Result<(ReceiptId, String), NoCanonicalForm> {
    let step = &result.step;
    let mut receipt = Value::object([("step_id", step.step_id.as_str())]);
    if let Some((op, reference)) = &result.target {
        receipt.insert("op", op.name());
        receipt.insert(op.ref_key(), reference.as_str());
    }
    match outcome {
        Outcome::Success {
            content_hash,
            bytes,
            slice,
        } => {
            receipt.insert("status", "SUCCESS");
            receipt.insert("slice", slice.as_str());
            receipt.insert("content_hash", content_hash.as_str());
            receipt.insert("bytes_read", *bytes);
        }
        Outcome::Failure { code, message } => {
            receipt.insert("status", "FAILURE");
            let error = Value::object([("code", *code), ("message", message.as_str())]);
            receipt.insert("error", error);
        }
    }
    Ok((
        derive_receipt_id(step)?,
        canonical_text(&receipt, Dialect::Job)?,
    ))
}

fn derive_receipt_id(step: &ClaimedStep) -> Result<ReceiptId, NoCanonicalForm> {
    let digits = |own: Option<&str>| {
        let ordinal = Some(step.ordinal);
        derive_job_digits(step.run_id.as_str(), &step.idempotency_key, ordinal, own)
    };
    let derived = digits(None)?;
    let is_derived = step.step_id.as_str() == format!("step_{derived}");
    let own = if is_derived {
        derived
    } else {
        digits(Some(step.step_id.as_str()))?
    };
    Ok(ReceiptId::new(format!("rcpt_{own}")))
}
