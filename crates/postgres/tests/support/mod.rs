//! Stores of each kind, and helpers for tests.

use std::sync::Arc;

use runseal_core::canon::NoCanonicalForm;
use runseal_core::formats::job_bundle::op::Op;
use runseal_postgres::PostgresStore;
use runseal_store::store::sqlite::SqliteStore;
use runseal_store::store::{
    ClaimedStep, JobId, JobLimits, JobRunId, MessageId, NewJob, NewStep, NewSteps, Outcome, Posted,
    ReceiptId, StepId, StepResult, Store, StoreError,
};
use runseal_testkit::postgres::{self, Bouncer, Server};
use tempfile::TempDir;

/// A new store, with everything that must live as long as it.
pub struct Fresh {
    pub place: String,
    pub folder: TempDir,
    _server: Option<Arc<Server>>,
    _bouncer: Option<Bouncer>,
}

/// The kind of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Sqlite,
    Postgres,
    Bouncer,
}

impl Fresh {
    /// Creates a new store of this kind; returns `None` if its server is not installed.
    pub fn new(kind: Kind) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let (mut server, mut bouncer) = (None, None);
        let place = match kind {
            Kind::Sqlite => folder.path().join("jobs.db").display().to_string(),
            Kind::Postgres => {
                let running = postgres::shared()?;
                let url = running.new_database();
                server = Some(running);
                url
            }
            Kind::Bouncer => {
                let running = postgres::shared()?;
                let before = Bouncer::start(&running)?;
                let url = before.url(&running.new_database());
                server = Some(running);
                bouncer = Some(before);
                url
            }
        };
        Some(Self {
            place,
            folder,
            _server: server,
            _bouncer: bouncer,
        })
    }

    /// Opens the store, and creates it if necessary.
    pub fn open(&self) -> Box<dyn Store> {
        open(&self.place)
    }
}

pub fn open(place: &str) -> Box<dyn Store> {
    if place.starts_with("postgres://") {
        Box::new(PostgresStore::create(place).unwrap())
    } else {
        Box::new(SqliteStore::create(place.as_ref()).unwrap())
    }
}

/// A job of `steps` steps that read nothing.
pub struct Plan {
    pub job: NewJob<'static>,
    pub steps: Vec<NewStep>,
}

pub fn plan(run: &str, key: &str, steps: usize, limits: JobLimits) -> Plan {
    let steps = (0..steps)
        .map(|n| NewStep {
            step_id: StepId::new(format!("step_{run}_{key}_{n}")),
            ordinal: n as i64,
            payload_json: format!("{{\"n\":{n}}}"),
        })
        .collect();
    let job = NewJob {
        message_id: MessageId::new(format!("msg_{run}_{key}")),
        job_id: JobId::new(format!("job_{run}_{key}")),
        run_id: JobRunId::new(run),
        idempotency_key: key.to_owned(),
        intent: "read".to_owned(),
        limits,
        payload_json: format!("{{\"key\":\"{key}\"}}").into(),
    };
    Plan { job, steps }
}

pub fn post(store: &mut dyn Store, plan: &Plan) -> Result<Posted, StoreError> {
    let make = |at: usize| Ok(plan.steps[at].clone());
    let steps = NewSteps {
        count: plan.steps.len(),
        make: &make,
    };
    store.post_job(&plan.job, steps)
}

/// A successful read of `bytes` bytes.
pub fn read(step: &ClaimedStep, bytes: u64, is_symbol: bool) -> StepResult {
    let outcome = Outcome::Success {
        content_hash: "00".repeat(32),
        bytes,
        slice: "head(1)".to_owned(),
    };
    let op = if is_symbol {
        Op::ReadSymbol
    } else {
        Op::ReadSection
    };
    StepResult {
        step: step.clone(),
        outcome,
        target: Some((op, "x".to_owned())),
    }
}

pub fn describe(
    result: &StepResult,
    outcome: &Outcome,
) -> Result<(ReceiptId, String), NoCanonicalForm> {
    Ok((
        ReceiptId::new(format!("rcpt_{}", result.step.step_id)),
        format!("{outcome:?}"),
    ))
}

/// Declares tests that run on every kind of store.
#[macro_export]
macro_rules! on_every_store {
    ($($(#[$doc:meta])* fn $name:ident($fresh:ident: &Fresh) $body:block)*) => {
        mod cases {
            use super::*;
            $($(#[$doc])* pub fn $name($fresh: &Fresh) $body)*
        }
        mod sqlite {
            use super::*;
            $(#[test] fn $name() { cases::$name(&Fresh::new(Kind::Sqlite).unwrap()); })*
        }
        mod postgres {
            use super::*;
            $(#[test] fn $name() {
                if let Some(fresh) = Fresh::new(Kind::Postgres) { cases::$name(&fresh); }
            })*
        }
        mod postgres_behind_pgbouncer {
            use super::*;
            $(#[test] fn $name() {
                if let Some(fresh) = Fresh::new(Kind::Bouncer) { cases::$name(&fresh); }
            })*
        }
    };
}
