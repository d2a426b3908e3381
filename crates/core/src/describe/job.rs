//! The job bundle and the receipt of its replay.

use super::members::{list_at, table, text_at, text_of};
use super::picture::{Card, Lane, Mark};
use super::{Description, Documents};
use crate::canon::Kind;

pub(crate) fn describe_job(description: &mut Description, documents: &Documents<'_>) {
    let Some(root) = documents.get("bundle.json") else {
        return;
    };
    let root = *root;
    let (steps, artifacts) = (list_at(root, "steps"), list_at(root, "artifacts"));
    description.headline = text_at(root, "job_id").map(|job| {
        let (steps, artifacts) = (steps.len(), artifacts.len());
        format!("Job {job}: {steps} steps, {artifacts} artifacts")
    });
    description.add_facts(
        root,
        &[
            ("bundle_id", "bundle id"),
            ("hashes.root_hash", "root hash"),
            ("plan_hash", "plan hash"),
            ("run_id", "run"),
            ("job_id", "job"),
            ("message_id", "message"),
            ("bundle_version", "version"),
        ],
    );
    let inputs = ["symbols", "files"].map(|list| list_at(root, &format!("inputs.{list}")));
    let inputs: Vec<_> = inputs.concat();
    let sections = [
        table("Inputs", &inputs, &[("", "reference")]),
        table(
            "Steps",
            &steps,
            &[
                ("ordinal", "#"),
                ("step_id", "step"),
                ("op", "operation"),
                ("refs", "reads"),
                ("constraints.slice", "slice"),
            ],
        ),
        table(
            "Artifacts",
            &artifacts,
            &[
                ("artifact_id", "artifact"),
                ("ref", "of"),
                ("slice", "slice"),
                ("bytes", "bytes"),
                ("sha256", "sha256"),
            ],
        ),
    ];
    description.sections.extend(sections.into_iter().flatten());
    let card = |title: Option<String>, detail: Option<String>, mark| {
        Card::new(title.unwrap_or_default(), detail.unwrap_or_default(), mark)
    };
    let lanes = vec![
        Lane::new(
            "Inputs",
            inputs
                .iter()
                .map(|input| Card::new(text_of(*input), "", Mark::Plain))
                .collect(),
        ),
        Lane::new(
            "Steps",
            steps
                .iter()
                .map(|step| {
                    let detail = text_at(*step, "constraints.slice");
                    card(text_at(*step, "op"), detail, Mark::Plain)
                })
                .collect(),
        ),
        Lane::new(
            "Artifacts",
            artifacts
                .iter()
                .map(|artifact| {
                    let detail = text_at(*artifact, "bytes").map(|bytes| format!("{bytes} bytes"));
                    card(text_at(*artifact, "artifact_id"), detail, Mark::Good)
                })
                .collect(),
        ),
    ];
    description.add_flow("From inputs to artifacts", lanes);
}

pub(crate) fn describe_receipt(description: &mut Description, documents: &Documents<'_>) {
    let Some(root) = documents.get("") else {
        return;
    };
    let receipts: Vec<_> = match root.kind() {
        Kind::Array => root.items().collect(),
        _ => vec![*root],
    };
    let Some(first) = receipts.first() else {
        return;
    };
    if let [only] = receipts.as_slice() {
        description.headline = text_at(*only, "job_id").map(|job| format!("Replay of job {job}"));
        description.add_facts(
            *only,
            &[
                ("outcome", "outcome"),
                ("bundle_id", "bundle id"),
                ("root_hash", "root hash"),
                ("plan_hash", "plan hash"),
                ("run_id", "run"),
                ("receipt_hash", "receipt hash"),
                ("parent_receipt_hash", "parent receipt"),
                ("receipt_index", "index"),
                ("executor_version", "executor version"),
                ("attestation.public_key", "signed with key"),
                ("attestation.validator_id", "signed by"),
                ("attestation.build_id", "build"),
            ],
        );
        if first.get("attestation").is_none_or(|node| node.is_null()) {
            description.add_fact("signature", "none");
        }
    } else {
        description.headline = Some(format!("A chain of {} receipts", receipts.len()));
        let columns = [
            ("job_id", "job"),
            ("outcome", "outcome"),
            ("receipt_index", "index"),
            ("receipt_hash", "receipt hash"),
            ("parent_receipt_hash", "parent"),
        ];
        description
            .sections
            .extend(table("Receipts", &receipts, &columns));
    }
    let mut cards = Vec::new();
    for receipt in &receipts {
        let steps = list_at(*receipt, "steps");
        let columns = [
            ("ordinal", "#"),
            ("step_id", "step"),
            ("op", "operation"),
            ("outcome", "outcome"),
            ("result.bytes", "bytes"),
            ("result.content_hash", "content hash"),
        ];
        if receipts.len() == 1 {
            description
                .sections
                .extend(table("Steps", &steps, &columns));
        }
        for step in steps {
            cards.push(Card::new(
                text_at(step, "op").unwrap_or_default(),
                text_at(step, "step_id").unwrap_or_default(),
                Mark::of(text_at(step, "outcome").as_deref()),
            ));
        }
    }
    let short = |path| {
        text_at(*first, path).map_or_else(String::new, |t: String| t.chars().take(16).collect())
    };
    let last = receipts.last().copied().unwrap_or(*first);
    let outcome = text_at(last, "outcome");
    let lanes = vec![
        Lane::new(
            "Bundle",
            vec![Card::new(short("bundle_id"), "job bundle", Mark::Plain)],
        ),
        Lane::new("Steps read again", cards),
        Lane::new(
            "Receipt",
            vec![Card::new(
                outcome.clone().unwrap_or_default(),
                short("receipt_hash"),
                Mark::of(outcome.as_deref()),
            )],
        ),
    ];
    description.add_flow("The replay", lanes);
}
