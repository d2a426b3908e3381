//! The formats that have a shape of their own.

use super::members::{at, list_at, table, text_at, text_of};
use super::picture::{Card, Lane, Mark, Picture, TreeNode};
use super::{Description, Documents, Moment};
use crate::canon::{Dialect, Kind, Node, canonical_digest};
use crate::timestamp::parse_utc;

/// Nodes of a tree that are drawn.
const DRAWN: usize = 200;

pub(super) fn describe_context(description: &mut Description, documents: &Documents<'_>) {
    let Some(root) = documents.get("") else {
        return;
    };
    add_context(description, *root);
}

fn add_context(description: &mut Description, root: Node<'_>) {
    description.headline = text_at(root, "root_node.goal");
    description.add_facts(
        root,
        &[
            ("id", "bundle id"),
            ("status", "status"),
            ("schema_version", "schema version"),
            ("kernel_version", "made by kernel"),
            ("source_intent_hash", "intent hash"),
        ],
    );
    if let Ok(digest) = canonical_digest(root, Dialect::Kernel) {
        description.add_fact("bundle hash", format!("sha256:{digest}"));
    }
    let sections = [
        table(
            "Constraints",
            &list_at(root, "root_node.constraints"),
            &[("", "constraint")],
        ),
        table(
            "Open questions",
            &list_at(root, "unresolved_questions"),
            &[
                ("text", "question"),
                ("why_needed", "why it is needed"),
                ("expected_answer_type", "answer"),
                ("priority", "priority"),
                ("id", "id"),
            ],
        ),
        table(
            "Outputs",
            &list_at(root, "outputs"),
            &[
                ("path", "path"),
                ("type", "type"),
                ("confidence", "confidence"),
                ("content_hash", "content hash"),
            ],
        ),
    ];
    description.sections.extend(sections.into_iter().flatten());
    if let Some(node) = root.get("root_node") {
        let mut left = DRAWN;
        let tree = tree_of(node, None, &mut left);
        description
            .pictures
            .push(("Decomposition".to_owned(), Picture::Tree(tree)));
    }
}

fn tree_of(node: Node<'_>, parent: Option<Node<'_>>, left: &mut usize) -> TreeNode {
    *left = left.saturating_sub(1);
    let score = |path| text_at(node, path).unwrap_or_else(|| "?".to_owned());
    let questions = list_at(node, "unresolved_questions").len();
    let status = text_at(node, "status").unwrap_or_default();
    let mut detail = format!(
        "{status} · entropy {} · density {}",
        score("entropy.entropy_score"),
        score("density.density_score")
    );
    if questions > 0 {
        detail.push_str(&format!(" · {questions} open"));
    }
    let mut children = Vec::new();
    for child in list_at(node, "children") {
        if *left == 0 {
            break;
        }
        children.push(match child.kind() {
            Kind::Object => tree_of(child, Some(node), left),
            _ => TreeNode {
                title: text_of(child),
                detail: "given by its id".to_owned(),
                mark: Mark::Plain,
                children: Vec::new(),
            },
        });
    }
    TreeNode {
        title: title_of(node, parent),
        detail,
        mark: match status.as_str() {
            _ if questions > 0 => Mark::Open,
            "terminal" => Mark::Good,
            "blocked" => Mark::Open,
            _ => Mark::Plain,
        },
        children,
    }
}

/// A node's goal; where that is its parent's, what was added to the constraints.
fn title_of(node: Node<'_>, parent: Option<Node<'_>>) -> String {
    let goal = text_at(node, "goal").unwrap_or_else(|| "a node without a goal".to_owned());
    let Some(parent) = parent.filter(|parent| text_at(*parent, "goal").as_ref() == Some(&goal))
    else {
        return goal;
    };
    let constraints = |node| list_at(node, "constraints").into_iter().map(text_of);
    let known: Vec<_> = constraints(parent).collect();
    let added: Vec<_> = constraints(node)
        .filter(|text| !known.contains(text))
        .collect();
    match added.is_empty() {
        true => goal,
        false => format!("+ {}", added.join(" + ")),
    }
}

pub(super) fn describe_job(description: &mut Description, documents: &Documents<'_>) {
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

pub(super) fn describe_receipt(description: &mut Description, documents: &Documents<'_>) {
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
                mark_of(text_at(step, "outcome").as_deref()),
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
                mark_of(outcome.as_deref()),
            )],
        ),
    ];
    description.add_flow("The replay", lanes);
}

fn mark_of(word: Option<&str>) -> Mark {
    match word {
        Some("SUCCESS" | "success" | "true" | "complete") => Mark::Good,
        Some("FAILURE" | "failure" | "failed" | "timeout" | "false") => Mark::Bad,
        Some("skipped" | "partial") => Mark::Open,
        _ => Mark::Plain,
    }
}

pub(super) fn describe_pack(description: &mut Description, documents: &Documents<'_>) {
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
                    mark_of(accepted.as_deref()),
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
    Card::new(path.unwrap_or_default(), detail, mark_of(status.as_deref()))
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

/// The phases that a runner record has.
pub(super) fn add_timing(description: &mut Description, runner: Node<'_>) {
    if at(runner, "timing.started_at").is_some() {
        if let Some(timing) = runner.get("timing") {
            add_span(description, "runner", timing, "started_at", "completed_at");
        }
        for phase in list_at(runner, "timing.phases") {
            let begin = text_at(phase, "started_at");
            let length = at(phase, "duration_ms").and_then(|node| node.as_number());
            let length = length.and_then(|number| number.to_exact_i64());
            let name = text_at(phase, "name").unwrap_or_default();
            push_moment(description, &name, begin, length);
        }
    }
}

fn add_span(description: &mut Description, label: &str, node: Node<'_>, from: &str, to: &str) {
    let (begin, end) = (text_at(node, from), text_at(node, to));
    let millis = |text: &Option<String>| text.as_deref().and_then(parse_utc);
    let length = millis(&end)
        .zip(millis(&begin))
        .map(|(end, begin)| end - begin);
    push_moment(description, label, begin, length);
}

fn push_moment(
    description: &mut Description,
    label: &str,
    begin: Option<String>,
    length: Option<i64>,
) {
    let (Some(begin), Some(length)) = (begin, length) else {
        return;
    };
    if let Some(at) = parse_utc(&begin) {
        description.timeline.push(Moment {
            label: label.to_owned(),
            begin,
            offset_ms: at,
            length_ms: length.max(0),
        });
    }
}

/// Times become distances from the first one.
pub(super) fn finish_timeline(description: &mut Description) {
    let first = description
        .timeline
        .iter()
        .map(|moment| moment.offset_ms)
        .min();
    for moment in &mut description.timeline {
        moment.offset_ms -= first.unwrap_or(0);
    }
    description.timeline.sort_by_key(|moment| moment.offset_ms);
}

pub(super) fn describe_ledger(description: &mut Description, documents: &Documents<'_>) {
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

pub(super) fn describe_run(description: &mut Description, documents: &Documents<'_>) {
    let get = |name: &str| documents.get(name).copied();
    let engine = get("RUN_META.json").and_then(|meta| text_at(meta, "engine_code"));
    let version = get("RUN_META.json").and_then(|meta| text_at(meta, "engine_version"));
    let engine = engine.unwrap_or_else(|| "unknown engine".to_owned());
    let version = version.unwrap_or_default();
    description.headline = Some(format!("Run of {engine} {version}"));
    if let Some(meta) = get("RUN_META.json") {
        description.add_facts(
            meta,
            &[
                ("run_id", "run"),
                ("engine_code", "engine"),
                ("engine_version", "engine version"),
                ("sealed_at", "sealed at"),
                ("core_orchestrator_version", "sealed by"),
                ("canonicalization", "canonical form"),
                ("hash_algo", "hash"),
                ("engine_executable_sha256", "engine's executable"),
            ],
        );
    }
    let mut output_cards = Vec::new();
    if let Some(output) = get("RUN_OUTPUT.json") {
        description.add_facts(
            output,
            &[
                ("semantics", "semantics"),
                ("inputs_hash", "inputs hash"),
                ("outputs_hash", "outputs hash"),
            ],
        );
        let hash = text_at(output, "outputs_hash").unwrap_or_default();
        let hash: String = hash.chars().take(16).collect();
        output_cards.push(Card::new("RUN_OUTPUT.json", hash, Mark::Good));
    }
    let index = get("ARTIFACT_INDEX.json");
    let entries = index.map_or_else(Vec::new, |index| match index.kind() {
        Kind::Array => index.items().collect(),
        _ => list_at(index, "artifacts"),
    });
    let columns = [
        ("relative_path", "path"),
        ("role", "role"),
        ("content_type", "type"),
        ("sha256", "sha256"),
    ];
    description
        .sections
        .extend(table("Artifacts", &entries, &columns));
    let of_role = |role: &str| {
        let is_role = |entry: &&Node<'_>| text_at(**entry, "role").as_deref() == Some(role);
        let card = |entry: &Node<'_>| {
            let path = text_at(*entry, "relative_path").unwrap_or_default();
            let detail = text_at(*entry, "content_type").unwrap_or_default();
            Card::new(path, detail, Mark::Plain)
        };
        entries.iter().filter(is_role).map(card).collect::<Vec<_>>()
    };
    output_cards.extend(of_role("ARTIFACT"));
    let lanes = vec![
        Lane::new("Contracts", of_role("CONTRACT")),
        Lane::new("Inputs", of_role("INPUT")),
        Lane::new("Engine", vec![Card::new(engine, version, Mark::Plain)]),
        Lane::new("Outputs", output_cards),
    ];
    description.add_flow("The run", lanes);
}
