//! The end of a run: writes its records, the pack and the ledger's line.

use std::path::Path;

use runseal_core::canon::{
    Dialect, ReadOptions, Value, canonical_bytes, canonical_digest, parse_document,
};
use runseal_core::digest::{ContentHash, Digest};
use runseal_core::formats::evidence::{EvidenceView, verify_evidence};
use runseal_core::formats::pack::cover_files;
use runseal_core::formats::pack::redactable::REDACTABLE;
use runseal_core::formats::redacted::commit::Seed;
use runseal_core::formats::run::ResultKind;
use runseal_core::formats::run_bundle::layout::RunId;
use runseal_core::path::SafePath;
use runseal_core::verify::Level;
use runseal_kernel::proposal::{Proposal, make_patch};
use runseal_sandbox::Sandbox;

use super::ledger::{LedgerError, LockedLedger};
use super::plan::{PlanOutcome, first_finding};
use super::record::{self, RunRecord, RunnerFacts, Times};
use super::summary::summarize;
use super::{Finished, HarnessError, Options, PlanExecution, export, now, versions};
use runseal_redact::{Committing, RedactError, SealingSeed};

#[allow(clippy::too_many_arguments, reason = "all parts of one run")]
pub(super) fn finish(
    options: &Options,
    started: i64,
    intent_hash: ContentHash,
    planned: &PlanOutcome,
    outcome: Option<PlanExecution>,
    accepted: bool,
    reasons: &[String],
    sandbox: Option<&Sandbox>,
) -> Result<Finished, HarnessError> {
    let ledger_error = |error: LedgerError| {
        let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
        HarnessError::Internal(format!("{error}{}", source.unwrap_or_default()))
    };
    let unseen = outcome.iter().flat_map(|outcome| &outcome.gaps);
    let mut notes: Vec<String> = unseen.map(|gap| format!("not seen: {gap}")).collect();
    // Locked until the entry is written, so that times in the ledger never go backwards.
    let mut ledger = match &options.ledger {
        None => None,
        Some(path) => Some(LockedLedger::lock(path).map_err(ledger_error)?),
    };
    let mut completed = now(options).max(started);
    if let Some(ledger) = &ledger {
        if options.epoch.is_none() {
            completed = completed.max(ledger.last_time().unwrap_or(completed));
        }
        if let Some(line) = ledger.torn_line() {
            notes.push(format!(
                "line {line} of the ledger is cut off; it was left unchanged"
            ));
        }
    }
    let times = Times { started, completed };
    let run_id = match &options.run_id {
        Some(run_id) => run_id.clone(),
        None => derive_run_id(times, intent_hash, options.redactable.as_ref())?,
    };
    let questions: Vec<String> = match planned {
        PlanOutcome::Made { bundle, .. } => bundle
            .questions
            .iter()
            .map(|question| question.text.clone())
            .collect(),
        PlanOutcome::Refused(_) => Vec::new(),
    };
    let (kind, bundle, refusal) = match planned {
        PlanOutcome::Refused(reason) => (ResultKind::Refuse, None, Some(reason.as_str())),
        PlanOutcome::Made { bundle, hash, .. } => {
            let is_open = !bundle.questions.is_empty();
            let kind = if is_open {
                ResultKind::Clarify
            } else {
                ResultKind::Bundle
            };
            (kind, Some((bundle.id.as_str(), *hash)), None)
        }
    };
    let execution = outcome
        .as_ref()
        .map(|outcome| record::make_execution(&outcome.proposal, &options.policy, &outcome.done));
    let intent_path = public_path(&options.intent);
    let record = RunRecord {
        run_id: &run_id,
        times,
        policy: &options.policy,
        intent_path: &intent_path,
        intent_hash,
        bundle,
        kind,
        questions: &questions,
        refusal,
        execution,
        accepted,
        reasons,
        model_mode: options.model.name(),
    };
    let mut run = record::make_run(&record);
    let entry = record::make_entry(&record);
    let evidence = outcome
        .as_ref()
        .map(|outcome| record::make_evidence(&outcome.proposal, &outcome.done, times));
    if let (Some(outcome), Some(evidence)) = (&outcome, &evidence) {
        check_evidence(&outcome.proposal, evidence)?;
    }
    let mut seed = None;
    if let Some(target) = &options.pack {
        let facts = runner_facts(options, outcome.as_ref(), sandbox);
        let runner = record::make_runner(&record, &facts);
        let policy = options.policy.to_value();
        let patch = outcome
            .as_ref()
            .map(|outcome| make_patch(&outcome.proposal));
        let mut files: Vec<(&str, &Value)> = vec![
            ("policy.json", &policy),
            ("ledger.jsonl", &entry),
            ("runner.json", &runner),
        ];
        if let PlanOutcome::Made { bundle, .. } = planned {
            files.push(("bundle.json", bundle.value()));
        }
        files.extend(patch.as_ref().map(|patch| ("patch.json", patch)));
        files.extend(
            evidence
                .as_ref()
                .map(|evidence| ("evidence.json", evidence)),
        );
        let model_io = outcome
            .as_ref()
            .and_then(|outcome| outcome.model_io.as_ref());
        files.extend(model_io.map(|recording| ("model_io.json", recording)));
        let mut files = stored(&files)?;
        if let Some(redactable) = &options.redactable {
            commit(&mut run, &files, &redactable.seed)?;
        }
        let others = files.iter().map(|(name, bytes)| (*name, bytes.as_slice()));
        cover_files(&mut run, others).map_err(|error| HarnessError::Internal(error.to_string()))?;
        files.extend(stored(&[("run.json", &run)])?);
        let (redactable, models) = (options.redactable.as_ref(), options.models.as_deref());
        seed = export::export_pack(target, &files, redactable, models)?;
    }
    if let Some(ledger) = &mut ledger {
        ledger.append(&entry).map_err(ledger_error)?;
    }
    Ok(Finished {
        run,
        accepted,
        steps: outcome.as_ref().map(summarize).unwrap_or_default(),
        notes,
        seed,
    })
}

/// Adds the commitment over all files to run.json.
fn commit(run: &mut Value, files: &[(&str, Vec<u8>)], seed: &Seed) -> Result<(), HarnessError> {
    let fail = |error: RedactError| HarnessError::Invalid(error.to_string());
    let mut committing = Committing::begin(&REDACTABLE, seed);
    for (name, bytes) in files {
        let fact = (Digest::of(bytes), bytes.len() as u64);
        let added = committing.add(name, fact, || Ok(bytes.as_slice()));
        added.map_err(fail)?;
    }
    committing.end_in("run.json", run).map_err(fail)
}

/// Returns the files as they are stored: canonical, with one LF.
fn stored<'a>(files: &[(&'a str, &Value)]) -> Result<Vec<(&'a str, Vec<u8>)>, HarnessError> {
    let store = |(name, value): &(&'a str, &Value)| {
        let mut bytes = canonical_bytes(*value, Dialect::Kernel)
            .map_err(|error| HarnessError::Internal(format!("{name}: {error}")))?;
        bytes.push(b'\n');
        Ok((*name, bytes))
    };
    files.iter().map(store).collect()
}

/// Checks our own evidence as an outsider would: ids, hash, every action and test.
fn check_evidence(proposal: &Proposal, evidence: &Value) -> Result<(), HarnessError> {
    let bytes = canonical_bytes(evidence, Dialect::Kernel)
        .map_err(|error| HarnessError::Evidence(error.to_string()))?;
    let document = parse_document(&bytes, &ReadOptions::default())
        .map_err(|error| HarnessError::Evidence(error.kind.to_string()))?;
    let root = document.root();
    let view = EvidenceView {
        root,
        proposal_hash: Some(proposal.hash()),
    };
    let report = verify_evidence(&view, Level::Form);
    if !report.is_valid() {
        return Err(HarnessError::Evidence(first_finding(&report)));
    }
    let ids = |list: &str, name: &str| -> Vec<String> {
        let items = root.get(list).map(|node| node.items());
        items
            .into_iter()
            .flatten()
            .filter_map(|node| Some(node.get(name)?.as_str()?.into_owned()))
            .collect()
    };
    let actions: Vec<String> = proposal
        .actions
        .iter()
        .map(|action| action.id.to_string())
        .collect();
    let tests: Vec<String> = proposal.tests.iter().map(|test| test.id.clone()).collect();
    if ids("action_results", "action_id") != actions || ids("test_results", "test_id") != tests {
        return Err(HarnessError::Evidence("a result is missing".to_owned()));
    }
    Ok(())
}

fn runner_facts(
    options: &Options,
    outcome: Option<&PlanExecution>,
    sandbox: Option<&Sandbox>,
) -> RunnerFacts {
    let (node_version, npm_version) = versions::find_versions(sandbox);
    let done = outcome.map(|outcome| &outcome.done);
    RunnerFacts {
        isolation: sandbox.map_or(options.isolation, Sandbox::isolation),
        node_version,
        npm_version,
        exit_code: outcome.map_or(0, |o| record::exit_code(&o.proposal, &o.done)),
        signal: done.and_then(|done| done.signal),
        out_of_memory: done.is_some_and(|done| done.out_of_memory),
        timed_out: done.is_some_and(|done| done.timed_out),
        enforcement: done.and_then(|done| done.enforcement),
    }
}

/// Returns the intent's path as others may see it: a relative path without `..`, else only the file
/// name.
fn public_path(path: &Path) -> String {
    // Standard input has no name.
    if path == Path::new("-") {
        return "intent.json".to_owned();
    }
    let text = path.to_str().unwrap_or_default();
    let plain = text.strip_prefix("./").unwrap_or(text);
    if !plain.contains("..") && SafePath::parse(plain).is_ok() {
        return plain.to_owned();
    }
    let name = path.file_name().and_then(|name| name.to_str());
    name.filter(|name| SafePath::parse(name).is_ok())
        .unwrap_or("intent.json")
        .to_owned()
}

/// Derives a unique run id from the time, the process and the intent. The id of a redactable pack,
/// which every copy shows, reveals nothing about the intent.
fn derive_run_id(
    times: Times,
    intent: ContentHash,
    redactable: Option<&SealingSeed>,
) -> Result<RunId, HarnessError> {
    let seed = Value::object([
        ("completed", Value::from(times.completed)),
        ("intent", Value::from(intent.to_string())),
        ("process", Value::from(std::process::id())),
        ("started", Value::from(times.started)),
    ]);
    let internal = |error: &dyn std::fmt::Display| HarnessError::Internal(error.to_string());
    let digest = canonical_digest(&seed, Dialect::Kernel).map_err(|error| internal(&error))?;
    let digest = redactable.map_or(digest, |redactable| redactable.seed.blind(&digest));
    RunId::parse(&format!("run_{}", digest.hex_prefix(16))).map_err(|error| internal(&error))
}
