//! Replays a pack: derives its bundle again if the intent is given, and executes its proposal again
//! if the original was executed.

use std::path::Path;

use runseal_core::canon::{Document, JsonError, Node, ReadOptions, parse_document};
use runseal_core::digest::ContentHash;
use runseal_core::formats::pack::{PackFiles, PackView, verify_pack};
use runseal_core::limits::JsonLimits;
use runseal_core::verify::{Level, Outcome};
use runseal_fs::input::Input;
use runseal_fs::models::StartReplay;
use runseal_fs::survey::read_pack;
use runseal_harness::{Caller, RecordedExecution, held_proposal, parse_proposal, replay_execution};
use runseal_kernel::proposal::{Proposal, generate_proposal};

use super::replay_intent::{Comparison, compare_bundle, make, print};
use super::replay_refused::Refused;
use crate::error::CliError;
use crate::intent_input::read_intent;

/// Where to find what the pack itself does not contain.
pub struct Sources<'a> {
    /// The intent that the pack was made from.
    pub intent: Option<&'a Path>,
    /// The proposal that was executed.
    pub proposal: Option<&'a Path>,
    /// Starts a session that answers model calls from the recording.
    pub models: Option<StartReplay<'a>>,
}

/// Replays the pack at `path`, from the same bytes that were verified.
pub fn replay_pack(path: &Path, sources: &Sources<'_>, json: bool) -> Result<Outcome, CliError> {
    let shown = path.to_string_lossy();
    let (files, wrapping) = read_pack(path)?;
    // The pack is replayed, whatever path led to it.
    let view = PackView::new("", &files, Level::Integrity);
    let report = verify_pack(&view);
    if !report.is_valid() || !wrapping.is_empty() {
        let refused = Refused {
            report: &report,
            wrapping: &wrapping,
            check: None,
        };
        refused.print(&shown, json)?;
        return Ok(Outcome::Invalid);
    }
    let document = |name: &str| parse_file(&files, name, path);
    let Some(run) = document("run.json")? else {
        return Err(CliError::internal("a valid pack without run.json"));
    };
    let mut comparison = Comparison::default();
    match sources.intent {
        Some(intent) => derive_again(&mut comparison, &files, run.root(), intent, path)?,
        None => comparison
            .notes
            .push("the bundle was not derived again: --intent FILE names its intent".to_owned()),
    }
    match document("evidence.json")? {
        Some(evidence) => execute_again(
            &mut comparison,
            &files,
            (run.root(), evidence.root()),
            sources,
        )?,
        None if sources.intent.is_none() => {
            return Err(CliError::usage(
                "the pack contains no execution, so it is derived from its intent",
                "`--intent FILE` names the intent it was made of",
            ));
        }
        None => comparison.notes.push("the run executed nothing".to_owned()),
    }
    print(&comparison, path, json)
}

fn parse_file<'f>(
    files: &'f PackFiles,
    name: &str,
    path: &Path,
) -> Result<Option<Document<'f>>, CliError> {
    let parse = |bytes| parse_document(bytes, &ReadOptions::default());
    let failed = |error: JsonError| CliError::within(error, path.join(name).display().to_string());
    files.bytes(name).map(parse).transpose().map_err(failed)
}

fn text(node: Option<Node<'_>>) -> String {
    let text = node.and_then(|node| node.as_lossy_str());
    text.unwrap_or_default().into_owned()
}

/// The kernel's part: compares the intent's hash, and the bundle or the refusal.
fn derive_again(
    comparison: &mut Comparison,
    files: &PackFiles,
    run: Node<'_>,
    intent: &Path,
    path: &Path,
) -> Result<(), CliError> {
    let recorded = text(run.get("intent").and_then(|intent| intent.get("sha256")));
    let bytes = Input::from_argument(Some(intent)).read(JsonLimits::LARGEST_DOCUMENT)?;
    let actual = ContentHash::of(&bytes).to_string();
    comparison.add("the intent's hash", &recorded, &actual);
    let made = make(intent)?;
    if text(run.get("kernel_result_kind")) == "REFUSE" {
        let again = match &made {
            Err(refusal) => refusal.to_string(),
            Ok(_) => "a bundle".to_owned(),
        };
        comparison.add(
            "the reason to refuse",
            &text(run.get("refuse_reason")),
            &again,
        );
        return Ok(());
    }
    let Some(bundle) = parse_file(files, "bundle.json", path)? else {
        return Err(CliError::internal("a valid pack without bundle.json"));
    };
    compare_bundle(comparison, bundle.root(), &made, &path.join("bundle.json"))
}

/// The harness's part: executes the proposal and compares the evidence.
fn execute_again(
    comparison: &mut Comparison,
    files: &PackFiles,
    (run, evidence): (Node<'_>, Node<'_>),
    sources: &Sources<'_>,
) -> Result<(), CliError> {
    let Some(proposal) = find_proposal(files, evidence, sources)? else {
        if sources.intent.is_none() {
            return Err(CliError::usage(
                "the pack does not contain the proposal that was executed",
                "`--proposal FILE` names it, or `--intent FILE` the intent it was made of",
            ));
        }
        comparison.notes.push(
            "nothing was executed: the pack does not contain its proposal, and the intent gives \
             another one; --proposal FILE names it"
                .to_owned(),
        );
        return Ok(());
    };
    let recorded = RecordedExecution {
        run,
        evidence,
        model_io: files.bytes("model_io.json"),
    };
    let programs = std::env::var_os("PATH");
    let caller = Caller {
        programs: programs.as_deref(),
        models: sources.models,
    };
    let replayed = replay_execution(&recorded, &proposal, &caller)?;
    comparison.was_executed = true;
    comparison.same.extend(replayed.same);
    comparison.differences.extend(replayed.differences);
    Ok(())
}

/// The proposal that was executed: the named one, the one in the evidence, or the one derived from
/// bundle and intent if it has the recorded hash.
fn find_proposal(
    files: &PackFiles,
    evidence: Node<'_>,
    sources: &Sources<'_>,
) -> Result<Option<Proposal>, CliError> {
    if let Some(path) = sources.proposal {
        let bytes = Input::from_argument(Some(path)).read(JsonLimits::LARGEST_DOCUMENT)?;
        let proposal = parse_proposal(&bytes)?;
        return Ok(Some(proposal));
    }
    let held = held_proposal(evidence)?;
    if held.is_some() {
        return Ok(held);
    }
    let (Some(intent), Some(bundle)) = (sources.intent, files.bytes("bundle.json")) else {
        return Ok(None);
    };
    let (Ok(intent), Ok(bundle)) = (
        read_intent(intent)?,
        parse_document(bundle, &ReadOptions::default()),
    ) else {
        return Ok(None);
    };
    let made = generate_proposal(bundle.root(), intent.context().get("proposal"));
    let wanted = text(evidence.get("proposal_hash"));
    Ok(made.ok().filter(|made| made.hash().to_string() == wanted))
}
