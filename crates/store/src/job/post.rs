//! Posts a plan: resolves names to ids, derives its own ids, and stores it atomically.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use runseal_core::canon::{Dialect, NoCanonicalForm, canonical_text};
use runseal_core::diagnosis::{Diagnose, Diagnosis, Location};
use runseal_core::formats::job_bundle::op::Op;
use runseal_core::formats::job_bundle::plan::{Plan, PlanFault, derive_job_digits};
use runseal_core::formats::job_bundle::slice::parse_slice;
use thiserror::Error;

use super::lookup::{LookupError, find_section};
use crate::store::{
    JobId, JobLimits, JobRunId, MessageId, NewJob, NewStep, NewSteps, Posted, StepId, Store,
    StoreError, StoreReader,
};

/// Why a plan was not posted.
#[derive(Debug, Error)]
pub enum PostError {
    /// The plan refers to things that do not exist, or that cannot be read within its limits.
    #[error("the plan does not match the store")]
    Faults(Vec<PlanFault>),
    /// The plan has no canonical form.
    #[error(transparent)]
    NoForm(#[from] NoCanonicalForm),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Diagnose for PostError {
    fn diagnosis(&self) -> Diagnosis {
        let plan = || Diagnosis::invalid(self, "PLAN").located(Location::Named);
        match self {
            Self::Faults(_) => {
                plan().hint("docs/job-bundles.md shows a plan and what each field means")
            }
            Self::NoForm(_) | Self::Store(StoreError::StepTaken { .. }) => plan(),
            Self::Store(error) => error.diagnosis(),
        }
    }
}

/// How many section names are remembered while a plan is posted.
const REMEMBERED: usize = 4096;

/// Posts a plan. A step may name a section by its id, by its file, or by file and headings; the
/// store keeps the id.
pub fn post_plan(store: &mut dyn Store, plan: &Plan<'_>) -> Result<Posted, PostError> {
    // A plan that was posted before stays posted, even if its files have changed since.
    let run_id = JobRunId::new(plan.run_id.as_str());
    let posted = store.posted(&run_id, &plan.idempotency_key, &plan.canonical)?;
    if let Some(posted) = posted {
        return Ok(posted);
    }
    let sections = resolve_sections(store.as_reader(), plan)?;
    let digits =
        |ordinal, step_id| derive_job_digits(&plan.run_id, &plan.idempotency_key, ordinal, step_id);
    let base = digits(None, None)?;
    let job = NewJob {
        message_id: MessageId::new(format!("msg_{base}")),
        job_id: JobId::new(format!("job_{base}")),
        run_id,
        idempotency_key: plan.idempotency_key.clone(),
        intent: plan.intent.clone(),
        limits: JobLimits {
            max_bytes: plan.budgets.max_bytes,
            max_symbols: plan.budgets.max_symbols,
        },
        payload_json: Cow::Borrowed(&plan.canonical),
    };
    let make = |at: usize| {
        let step = &plan.steps[at];
        let mut body = plan.body(at)?;
        if let Some(section_id) = &sections[at] {
            body.set_reference(section_id);
        }
        let step_id = match &step.step_id {
            Some(step_id) => StepId::new(step_id.clone()),
            None => StepId::new(format!("step_{}", digits(Some(step.ordinal), None)?)),
        };
        let stored = body.to_step(step_id.as_str(), step.ordinal);
        let payload_json = canonical_text(&stored, Dialect::Job)?;
        Ok(NewStep {
            step_id,
            ordinal: step.ordinal,
            payload_json,
        })
    };
    let steps = NewSteps {
        count: plan.steps.len(),
        make: &make,
    };
    Ok(store.post_job(&job, steps)?)
}

/// Resolves what each step reads: the section's id if it names a section, `None` if it names a
/// symbol. Reports every step that names something unknown or reads without a limit.
fn resolve_sections(
    store: &dyn StoreReader,
    plan: &Plan<'_>,
) -> Result<Vec<Option<Rc<str>>>, PostError> {
    let mut faults = Vec::new();
    // Many steps name the same few files.
    let mut known: BTreeMap<String, Rc<str>> = BTreeMap::new();
    let mut sections = Vec::with_capacity(plan.steps.len());
    for at in 0..plan.steps.len() {
        let mut fault = |field: &str, message: String| {
            faults.push(PlanFault {
                path: format!("$.steps[{at}]{field}"),
                message,
            });
        };
        let body = match plan.body(at) {
            Ok(body) => body,
            Err(found) => {
                fault(&found.path, found.message);
                continue;
            }
        };
        let mut section = None;
        match body.op {
            Op::ReadSection => {
                let found = match known.get(&body.reference) {
                    Some(section_id) => Ok(section_id.clone()),
                    None => find_section(store, &body.reference)
                        .map(|section| Rc::from(section.section_id)),
                };
                match found {
                    Ok(section_id) => {
                        if known.len() >= REMEMBERED {
                            known.clear();
                        }
                        known.insert(body.reference, section_id.clone());
                        section = Some(section_id);
                    }
                    Err(LookupError::Store(error)) => return Err(error.into()),
                    Err(error) => fault(".refs.section_id", error.to_string()),
                }
            }
            Op::ReadSymbol => match store.symbol(&body.reference)? {
                None => fault(
                    ".refs.symbol_id",
                    format!("symbol `{}` is not registered", body.reference),
                ),
                Some(symbol) if body.slice.is_none() => match symbol.default_slice {
                    None => fault(
                        ".constraints.slice",
                        format!("neither the step nor `{}` gives a slice", body.reference),
                    ),
                    Some(slice) => {
                        if let Err(error) = parse_slice(&slice) {
                            fault(".constraints.slice", error.to_string());
                        }
                    }
                },
                Some(_) => {}
            },
        }
        sections.push(section);
    }
    if faults.is_empty() {
        Ok(sections)
    } else {
        Err(PostError::Faults(faults))
    }
}
