//! The plan: what the kernel derives from an intent, and the proposal to execute.

use std::path::Path;

use runseal_core::canon::{Dialect, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::digest::ContentHash;
use runseal_core::formats::proposal::{ProposalView, SourceBundle, verify_proposal};
use runseal_core::limits::JsonLimits;
use runseal_core::path::SafePath;
use runseal_core::verify::{Level, Report};
use runseal_kernel::proposal::{Proposal, generate_proposal};
use runseal_kernel::{Bundle, Intent, KernelError, parse_intent, transform};

use super::{HarnessError, Options};
use runseal_fs::input::Input;

/// What the kernel derived from the intent.
pub(super) enum PlanOutcome {
    Refused(String),
    Made {
        bundle: Box<Bundle>,
        hash: ContentHash,
        extras: Option<Value>,
    },
}

pub(super) fn read_input(path: &Path) -> Result<Vec<u8>, HarnessError> {
    let input = Input::from_argument(Some(path));
    input.read(JsonLimits::LARGEST_DOCUMENT).map_err(|error| {
        let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
        HarnessError::Unreadable(format!("{error}{}", source.unwrap_or_default()))
    })
}

pub(super) fn plan(bytes: &[u8], path: &Path) -> Result<PlanOutcome, HarnessError> {
    let options = ReadOptions {
        strip_bom: true,
        ..ReadOptions::default()
    };
    let document = parse_document(bytes, &options).map_err(|error| {
        HarnessError::NotJson(format!(
            "{}: {} {}",
            error.kind,
            path.display(),
            error.position
        ))
    })?;
    let intent: Intent = match parse_intent(&document) {
        Ok(intent) => intent,
        Err(refusal) => return Ok(PlanOutcome::Refused(refusal.to_string())),
    };
    match transform(&intent) {
        Ok(Bundle {
            failure: Some(failure),
            ..
        }) => Ok(PlanOutcome::Refused(failure)),
        Ok(bundle) => {
            let hash = bundle
                .compute_hash()
                .map_err(|error| HarnessError::Internal(error.to_string()))?;
            let extras = intent.context().get("proposal").cloned();
            Ok(PlanOutcome::Made {
                bundle: Box::new(bundle),
                hash: hash.into(),
                extras,
            })
        }
        Err(KernelError::Refused(refusal)) => Ok(PlanOutcome::Refused(refusal.to_string())),
        Err(error) => Err(HarnessError::Internal(error.to_string())),
    }
}

/// Returns the given proposal, verified against the bundle, or generates one.
pub(super) fn take_proposal(
    options: &Options,
    bundle: &Bundle,
    hash: ContentHash,
    extras: Option<&Value>,
) -> Result<Proposal, HarnessError> {
    let internal = |error: &dyn std::fmt::Display| HarnessError::Internal(error.to_string());
    let Some(path) = &options.proposal else {
        let bytes =
            canonical_bytes(bundle.value(), Dialect::Kernel).map_err(|error| internal(&error))?;
        let document = parse_document(&bytes, &ReadOptions::default())
            .map_err(|error| internal(&error.kind))?;
        return generate_proposal(document.root(), extras)
            .map_err(|error| HarnessError::Invalid(error.to_string()));
    };
    let bytes = read_input(path)?;
    let document = parse_document(&bytes, &ReadOptions::default()).map_err(|error| {
        HarnessError::NotJson(format!(
            "{}: {} {}",
            error.kind,
            path.display(),
            error.position
        ))
    })?;
    let source = SourceBundle {
        id: bundle.id.to_string(),
        hash,
    };
    let view = ProposalView::new(document.root(), Some(&source));
    let report = verify_proposal(&view, Level::Document);
    if !report.is_valid() {
        let shown = path.display();
        return Err(HarnessError::Invalid(format!(
            "{}: {shown}",
            first_finding(&report)
        )));
    }
    Proposal::parse(document.root()).map_err(|error| HarnessError::Invalid(error.to_string()))
}

pub(super) fn first_finding(report: &Report) -> String {
    report.findings().first().map_or_else(
        || "not everything could be checked".to_owned(),
        |finding| {
            let place = finding.path().map(|path| format!(" {path}"));
            format!(
                "{}{}: {}",
                finding.rule_id,
                place.unwrap_or_default(),
                finding.message
            )
        },
    )
}

/// Checks what the proposals' rules leave to the executor: safe targets, and each file only once.
pub(super) fn check_proposal(proposal: &Proposal) -> Result<(), HarnessError> {
    let mut seen = std::collections::BTreeSet::new();
    for action in proposal
        .actions
        .iter()
        .filter(|action| action.kind.is_file_operation())
    {
        let target = action.target.escape_debug();
        if action.target.contains("..") || SafePath::parse(&action.target).is_err() {
            let message = format!("action {}: `{target}` is not a safe path", action.id);
            return Err(HarnessError::Invalid(message));
        }
        if !seen.insert(action.target.as_str()) {
            let message = format!("action {}: `{target}` has another action", action.id);
            return Err(HarnessError::Invalid(message));
        }
    }
    Ok(())
}
