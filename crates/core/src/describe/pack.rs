//! The pack with its proposal and evidence, and the ledger of runs.

use super::context::add_context;
use super::members::{list_at, table, text_at};
use super::picture::{Card, Lane, Mark};
use super::timeline::{add_span, add_timing, finish_timeline};
use super::{Description, Documents};
use crate::canon::Node;

pub(crate) fn describe_pack(description: &mut Description, documents: &Documents<'_>) {
    let bundle = documents.get("bundle.json").copied();
    if let Some(run) = documents.get("run.json").copied() {
        description.add_facts(
            run,
            &[
                ("run_id", "run"),
                ("kernel_result_kind", "outcome"),
                ("decision.accepted", "accepted"),
                ("decision.reasons", "because"),
                ("refuse_reason", "refused because"),
                ("policy.name", "policy"),
                ("model_mode", "model calls"),
                ("intent.path", "intent"),
                ("intent.sha256", "intent hash"),
                ("bundle.bundle_id", "context bundle"),
                ("bundle.sha256", "context bundle hash"),
                ("kernel_version", "made by kernel"),
                ("started_at", "started"),
                ("completed_at", "completed"),
                ("execution.exit_code", "exit code"),
                ("execution.sandbox_id", "sandbox"),
            ],
        );
        let columns = [
            ("path", "path"),
            ("size_bytes", "bytes"),
            ("sha256", "sha256"),
        ];
        let outputs = list_at(run, "execution.outputs");
        description
            .sections
            .extend(table("Files written", &outputs, &columns));
        let questions = list_at(run, "clarify_questions");
        description
            .sections
            .extend(table("Questions", &questions, &[("", "question")]));
        let intent = text_at(run, "intent.path").unwrap_or_default();
        let accepted = text_at(run, "decision.accepted");
        let actions = documents
            .get("evidence.json")
            .map_or_else(Vec::new, |evidence| {
                list_at(*evidence, "action_results")
                    .into_iter()
                    .map(action_card)
                    .collect()
            });
        let file = |file: &Node<'_>| {
            let bytes = text_at(*file, "size_bytes").map(|bytes| format!("{bytes} bytes"));
            let path = text_at(*file, "path").unwrap_or_default();
            Card::new(path, bytes.unwrap_or_default(), Mark::Good)
        };
        let kind = text_at(run, "kernel_result_kind").unwrap_or_default();
        let lanes = vec![
            Lane::new("Intent", vec![Card::new(intent, kind, Mark::Plain)]),
            Lane::new("Actions", actions),
            Lane::new("Files", outputs.iter().map(file).collect()),
            Lane::new(
                "Decision",
                vec![Card::new(
                    if accepted.as_deref() == Some("true") {
                        "accepted"
                    } else {
                        "not accepted"
                    },
                    text_at(run, "policy.name").map_or_else(String::new, |p| format!("policy {p}")),
                    Mark::of(accepted.as_deref()),
                )],
            ),
        ];
        description.add_flow("The run", lanes);
        add_span(description, "run", run, "started_at", "completed_at");
    }
    if let Some(runner) = documents.get("runner.json").copied() {
        description.add_facts(
            runner,
            &[
                ("runner_id", "runner"),
                ("platform.os", "system"),
                ("platform.arch", "processor"),
                ("sandbox.backend", "isolation"),
                ("sandbox.isolation_level", "isolation level"),
                ("sandbox.network_blocked", "network blocked"),
            ],
        );
        add_timing(description, runner);
    }
    if let Some(evidence) = documents.get("evidence.json").copied() {
        add_results(description, evidence);
        add_span(
            description,
            "execution",
            evidence,
            "started_at",
            "completed_at",
        );
    }
    if let Some(bundle) = bundle {
        let facts = std::mem::take(&mut description.facts);
        add_context(description, bundle);
        description.facts = facts;
    }
    finish_timeline(description);
}

fn action_card(action: Node<'_>) -> Card {
    let status = text_at(action, "status");
    let done = text_at(action, "action").unwrap_or_default();
    let detail = format!("{done} · {}", status.clone().unwrap_or_default());
    let path = text_at(action, "path").or_else(|| text_at(action, "action_id"));
    Card::new(
        path.unwrap_or_default(),
        detail,
        Mark::of(status.as_deref()),
    )
}

/// The results of actions and tests that evidence has.
pub(super) fn add_results(description: &mut Description, evidence: Node<'_>) {
    if evidence.get("action_results").is_none() {
        return;
    }
    description
        .sections
        .retain(|section| !section.title.ends_with(" results"));
    let actions = list_at(evidence, "action_results");
    let columns = [
        ("action", "action"),
        ("path", "path"),
        ("status", "status"),
        ("exit_code", "exit code"),
        ("sha256", "sha256"),
    ];
    description
        .sections
        .extend(table("Actions", &actions, &columns));
    let tests = list_at(evidence, "test_results");
    let columns = [
        ("test_id", "test"),
        ("passed", "passed"),
        ("exit_code", "exit code"),
        ("actual", "actual"),
    ];
    description
        .sections
        .extend(table("Tests", &tests, &columns));
}

/// A proposal's actions and tests as a picture.
pub(super) fn add_actions(description: &mut Description, proposal: Node<'_>) {
    let actions = list_at(proposal, "actions");
    if actions.is_empty() {
        return;
    }
    let card = |title: &str, detail: &str, node: &Node<'_>| {
        let text = |path| text_at(*node, path).unwrap_or_default();
        Card::new(text(title), text(detail), Mark::Plain)
    };
    let source = text_at(proposal, "source_bundle_id").unwrap_or_default();
    let tests = list_at(proposal, "acceptance_tests");
    let lanes = vec![
        Lane::new("Context bundle", vec![Card::new(source, "", Mark::Plain)]),
        Lane::new(
            "Actions",
            actions.iter().map(|a| card("target", "type", a)).collect(),
        ),
        Lane::new(
            "Tests",
            tests.iter().map(|t| card("name", "type", t)).collect(),
        ),
    ];
    description.add_flow("What is proposed", lanes);
}

pub(crate) fn describe_ledger(description: &mut Description, documents: &Documents<'_>) {
    let entries: Vec<_> = documents.values().copied().collect();
    description.headline = Some(format!("A ledger of {} runs", entries.len()));
    let columns = [
        ("run_id", "run"),
        ("timestamp", "time"),
        ("result_kind", "outcome"),
        ("accepted", "accepted"),
        ("policy", "policy"),
        ("mode", "model calls"),
    ];
    description
        .sections
        .extend(table("Runs", &entries, &columns));
}
