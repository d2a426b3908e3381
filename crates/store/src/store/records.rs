//! The records of a store, the same for every implementation.

use std::borrow::Cow;

use runseal_core::canon::NoCanonicalForm;
use runseal_core::formats::job_bundle::op::Op;

use super::{JobId, JobRunId, MessageId, ReceiptId, StepId, StoreError};

/// A job to post, with the ids derived from its plan.
#[derive(Clone, Debug)]
pub struct NewJob<'a> {
    /// `msg_…`.
    pub message_id: MessageId,
    /// `job_…`.
    pub job_id: JobId,
    /// The run it belongs to.
    pub run_id: JobRunId,
    /// Makes a repeated posting recognizable.
    pub idempotency_key: String,
    /// The plan's intent.
    pub intent: String,
    /// The limits of the plan.
    pub limits: JobLimits,
    /// The plan, as canonical JSON.
    pub payload_json: Cow<'a, str>,
}

/// The most bytes and the most symbols that a job may read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobLimits {
    /// Bytes of all slices together.
    pub max_bytes: Option<i64>,
    /// The number of symbols.
    pub max_symbols: Option<i64>,
}

impl JobLimits {
    /// Returns whether nothing is limited.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }

    /// Deducts a read from the limits, given the bytes and symbols `used` so far. Fails with the
    /// limit that forbids it.
    pub fn consume(
        self,
        used: (i64, i64),
        bytes: u64,
        is_symbol: bool,
    ) -> Result<(i64, i64), Outcome> {
        let all_bytes = used
            .0
            .saturating_add(i64::try_from(bytes).unwrap_or(i64::MAX));
        let all_symbols = used.1 + i64::from(is_symbol);
        let broken = |field: &str, limit: i64, wanted: i64| Outcome::Failure {
            code: "BUDGET",
            message: format!("{field} is {limit}, this read would make it {wanted}"),
        };
        if let Some(limit) = self.max_bytes.filter(|limit| all_bytes > *limit) {
            return Err(broken("max_bytes", limit, all_bytes));
        }
        let forbids = |limit: &i64| is_symbol && all_symbols > *limit;
        if let Some(limit) = self.max_symbols.filter(forbids) {
            return Err(broken("max_symbols", limit, all_symbols));
        }
        Ok((all_bytes, all_symbols))
    }
}

/// A step to post.
#[derive(Clone, Debug)]
pub struct NewStep {
    /// Its id.
    pub step_id: StepId,
    /// Its place in the plan.
    pub ordinal: i64,
    /// The step, as canonical JSON.
    pub payload_json: String,
}

/// The steps of a job to post. Each is made on demand, possibly repeatedly if a store has to retry,
/// so that a million of them are never in memory.
#[derive(Clone, Copy)]
pub struct NewSteps<'a> {
    /// Their number.
    pub count: usize,
    /// Makes the step at an index below `count`.
    pub make: &'a dyn Fn(usize) -> Result<NewStep, StoreError>,
}

/// The result of posting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    /// The message.
    pub message_id: MessageId,
    /// The job.
    pub job_id: JobId,
    /// How many steps the job has.
    pub steps: u64,
    /// Whether the plan was already posted under the same key.
    pub repeated: bool,
    /// Whether it was posted with different content; the earlier content stays.
    pub differs: bool,
}

/// A job as the store has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRecord {
    /// Its id.
    pub job_id: JobId,
    /// The run it belongs to.
    pub run_id: JobRunId,
    /// The message that asked for it.
    pub message_id: MessageId,
}

/// A step as the completeness gate and the build see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRecord {
    /// Its id.
    pub step_id: StepId,
    /// Its place in the plan, from 0.
    pub ordinal: i64,
    /// PENDING, LEASED or COMMITTED, as stored.
    pub status: String,
    /// The step as JSON, as stored.
    pub payload_json: String,
    /// How many receipts name it.
    pub receipts: u64,
}

/// A step that a worker holds a lease on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedStep {
    /// Its id.
    pub step_id: StepId,
    /// Its job.
    pub job_id: JobId,
    /// The job's run.
    pub run_id: JobRunId,
    /// The key of the plan, which receipt ids are derived from.
    pub idempotency_key: String,
    /// Its place in the job.
    pub ordinal: i64,
    /// The step as JSON.
    pub payload_json: String,
    /// The token of this lease.
    pub fencing_token: i64,
    /// What its job allows.
    pub limits: JobLimits,
}

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The slice was read and hashed.
    Success {
        /// SHA-256 of the slice's text, in hex.
        content_hash: String,
        /// Bytes of the slice.
        bytes: u64,
        /// The slice that was applied.
        slice: String,
    },
    /// It could not be read.
    Failure {
        /// A short code for the reason.
        code: &'static str,
        /// The reason in words.
        message: String,
    },
}

/// A step and its result, to be committed.
#[derive(Clone, Debug)]
pub struct StepResult {
    /// The step, under its lease.
    pub step: ClaimedStep,
    /// Its result.
    pub outcome: Outcome,
    /// What it read or tried to read; `None` if the step itself is malformed.
    pub target: Option<(Op, String)>,
}

/// Makes the id and the JSON of a receipt.
pub type DescribeReceipt<'d> =
    &'d dyn Fn(&StepResult, &Outcome) -> Result<(ReceiptId, String), NoCanonicalForm>;

/// The effect of committing a result with [`Store::commit_steps`](super::Store::commit_steps).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// Committed with a SUCCESS receipt.
    Succeeded,
    /// Committed with a FAILURE receipt.
    Failed,
    /// Refused: the step has another lease by now, or is committed already.
    Overtaken,
}

/// A row of `sections`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionRecord {
    /// Its id.
    pub section_id: String,
    /// The file, relative to the root.
    pub file_path: String,
    /// Its headings as a JSON list, `[]` for a whole file.
    pub heading_path: String,
    /// First line, from 0.
    pub line_start: u64,
    /// The line after the last.
    pub line_end: u64,
    /// SHA-256 of its text, in hex.
    pub content_hash: String,
}

/// A file as the index last saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedFile {
    /// Size, times and inode number as one text; empty if it must be read again.
    pub stamp: String,
    /// SHA-256 of its normalized text, in hex.
    pub file_hash: String,
}

/// How many steps of a job are in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateCounts {
    /// Steps that no worker has claimed yet.
    pub pending: u64,
    /// Claimed by a worker.
    pub leased: u64,
    /// Done, with a receipt.
    pub committed: u64,
}

/// A step whose receipt says that it failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedStep {
    /// The step.
    pub step_id: StepId,
    /// Its place in the job.
    pub ordinal: i64,
    /// The receipt, as stored.
    pub reason: String,
}

/// The state of one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobStatus {
    /// The run.
    pub run_id: JobRunId,
    /// The job.
    pub job_id: JobId,
    /// Its intent.
    pub intent: String,
    /// Steps by state.
    pub states: StateCounts,
    /// Receipts that say SUCCESS.
    pub succeeded: u64,
    /// Receipts that say anything else.
    pub failed: u64,
    /// The workers that wrote receipts or hold leases, by name.
    pub workers: Vec<String>,
    /// The failed steps, by place.
    pub failures: Vec<FailedStep>,
}

/// A row of `symbols`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolRecord {
    /// Its name, beginning with `@`.
    pub symbol_id: String,
    /// The section that it names.
    pub section_id: String,
    /// The slice for steps that do not name one.
    pub default_slice: Option<String>,
}
