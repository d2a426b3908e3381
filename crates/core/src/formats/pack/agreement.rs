//! PK13: what the records of every producer repeat or imply must agree: ids, hashes, the decision
//! with the evidence, the ledger with the run.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::PackView;
use crate::canon::{Dialect, JsonPath, Kind, Node, Value, canonical_bytes};
use crate::digest::ContentHash;
use crate::ids::ActionId;
use crate::verify::{Findings, Place};

const RUN: &str = "run.json";
const EVIDENCE: &str = "evidence.json";
const RUNNER: &str = "runner.json";
const LEDGER: &str = "ledger.jsonl";

/// The place of a member of a file of the pack, by path.
pub(super) fn place(file: &str, names: &[&str]) -> Place {
    let path = names
        .iter()
        .fold(JsonPath::ROOT, |path, name| path.then(*name));
    Place::file(file).at(path)
}

pub(super) fn element(file: &str, list: &str, at: usize) -> Place {
    Place::file(file).at(JsonPath::ROOT.then(list).then(at))
}

/// The canonical text of a member, by path.
pub(super) fn member(node: Node<'_>, names: &[&str]) -> Option<String> {
    let mut at = node;
    for name in names {
        at = at.get(name)?;
    }
    let bytes = canonical_bytes(at, Dialect::Kernel).ok()?;
    String::from_utf8(bytes).ok()
}

pub(super) fn list<'a>(node: Node<'a>, name: &str) -> Vec<Node<'a>> {
    let items = node.get(name).map(|list| list.items());
    items.into_iter().flatten().collect()
}

pub(super) fn text<'a>(node: Node<'a>, name: &str) -> Option<Cow<'a, str>> {
    node.get(name)?.as_lossy_str()
}

/// The strings of a list; empty if there is no list.
pub(super) fn texts(list: Option<Node<'_>>) -> Vec<String> {
    let items = list.into_iter().flat_map(|list| list.items());
    items
        .filter_map(|item| Some(item.as_lossy_str()?.into_owned()))
        .collect()
}

pub(super) fn flag(node: Node<'_>, name: &str) -> Option<bool> {
    node.get(name)?.as_bool()
}

pub(super) fn number(node: Node<'_>, name: &str) -> Option<f64> {
    Some(node.get(name)?.as_number()?.to_f64())
}

pub(super) fn execution(run: Node<'_>) -> Option<Node<'_>> {
    run.get("execution")
        .filter(|node| node.kind() == Kind::Object)
}

/// PK13.
pub(super) fn check_agreement(view: &PackView<'_>, findings: &mut Findings) {
    let Some(run) = view.document(RUN) else {
        return;
    };
    check_bundle(view, run, findings);
    check_ledger(view, run, findings);
    check_proposal(view, findings);
    if let Some(evidence) = view.document(EVIDENCE) {
        for (place, fault) in find_contradictions(run, evidence, &|_| false) {
            findings.add(place, fault);
        }
        check_results(view, run, evidence, findings);
    }
    if let Some(runner) = view.document(RUNNER) {
        check_runner(run, runner, findings);
    }
    if view.document("model_io.json").is_some()
        && text(run, "model_mode").as_deref() == Some("none")
    {
        findings.add(
            Place::file("model_io.json"),
            "the run says that no model was called",
        );
    }
}

fn check_bundle(view: &PackView<'_>, run: Node<'_>, findings: &mut Findings) {
    let Some(bundle) = view.document("bundle.json") else {
        return;
    };
    let pairs: [(&[&str], &str); 2] = [
        (&["kernel_version"], "kernel_version"),
        (&["bundle", "bundle_id"], "id"),
    ];
    for (here, there) in pairs {
        if member(run, here) != member(bundle, &[there]) {
            let name = here.join(".");
            findings.add(place(RUN, here), format!("`{name}` is not the bundle's"));
        }
    }
    let questions: Vec<_> = list(bundle, "unresolved_questions")
        .into_iter()
        .filter_map(|question| text(question, "text"))
        .collect();
    let Some(asked) = run.get("clarify_questions") else {
        return;
    };
    let asked: Vec<_> = asked
        .items()
        .filter_map(|item| item.as_lossy_str())
        .collect();
    if asked.len() != questions.len() && view.lists_files() {
        findings.add(
            place(RUN, &["clarify_questions"]),
            "the questions are not the bundle's",
        );
    }
}

fn check_ledger(view: &PackView<'_>, run: Node<'_>, findings: &mut Findings) {
    let entries: Vec<(usize, Node<'_>)> = view
        .ledger
        .iter()
        .filter_map(|line| Some((line.number, line.entry.as_ref().ok()?.root())))
        .filter(|(_, entry)| entry.kind() == Kind::Object)
        .collect();
    if entries.is_empty() {
        return;
    }
    let id = member(run, &["run_id"]);
    let Some((line, entry)) = entries
        .iter()
        .find(|(_, entry)| member(*entry, &["run_id"]) == id)
    else {
        findings.add(Place::file(LEDGER), "no entry has the `run_id` of this run");
        return;
    };
    let pairs: [(&str, &[&str]); 7] = [
        ("timestamp", &["completed_at"]),
        ("intent_sha256", &["intent", "sha256"]),
        ("bundle_sha256", &["bundle", "sha256"]),
        ("result_kind", &["kernel_result_kind"]),
        ("accepted", &["decision", "accepted"]),
        ("mode", &["model_mode"]),
        ("policy", &["policy", "name"]),
    ];
    for (field, names) in pairs {
        let or_null = |text: Option<String>| text.unwrap_or_else(|| "null".to_owned());
        if or_null(member(*entry, &[field])) != or_null(member(run, names)) {
            findings.add(
                Place::file(LEDGER).on_line(*line),
                format!("`{field}` is not the run's"),
            );
        }
    }
}

fn check_proposal(view: &PackView<'_>, findings: &mut Findings) {
    let (Some(patch), Some(evidence)) = (view.document("patch.json"), view.document(EVIDENCE))
    else {
        return;
    };
    for (there, here) in [
        ("source_proposal_id", "proposal_id"),
        ("source_proposal_hash", "proposal_hash"),
    ] {
        if member(patch, &[there]) != member(evidence, &[here]) {
            findings.add(place(EVIDENCE, &[here]), "the patch is another proposal's");
        }
    }
}

/// Whether a result must have succeeded: true unless the proposal made it optional.
fn is_required(result: Node<'_>) -> bool {
    flag(result, "required") != Some(false)
}

fn has_failed(result: Node<'_>) -> bool {
    let status = text(result, "status");
    let is_command = text(result, "action").as_deref() == Some("execute");
    let code = number(result, "exit_code").unwrap_or(0.0);
    !matches!(status.as_deref(), Some("success" | "skipped")) || (is_command && code != 0.0)
}

/// What tells whether a result failed and had to succeed.
const TELLING: [&str; 5] = ["required", "status", "action", "exit_code", "passed"];

/// The decision and the exit code against what the evidence says of actions and tests. Of a redacted copy, `is_hidden` says
/// what is withheld: a result that does not tell whether it failed says nothing.
pub(super) fn find_contradictions(
    run: Node<'_>,
    evidence: Node<'_>,
    is_hidden: &dyn Fn(Node<'_>) -> bool,
) -> Vec<(Place, String)> {
    let accepted = run.get("decision").and_then(|node| flag(node, "accepted")) == Some(true);
    let exit_code = execution(run).and_then(|node| number(node, "exit_code"));
    let mut found = Vec::new();
    let mut failures = 0_usize;
    let mut is_whole = true;
    let mut is_skipped = false;
    for (name, what) in [
        ("action_results", "a failed action"),
        ("test_results", "a failed test"),
    ] {
        is_whole &= !evidence.get(name).is_some_and(is_hidden);
        for (at, result) in list(evidence, name).into_iter().enumerate() {
            let mut members = TELLING.iter().filter_map(|name| result.get(name));
            if is_hidden(result) || members.any(is_hidden) {
                is_whole = false;
                continue;
            }
            if !is_required(result) {
                continue;
            }
            let is_action = name == "action_results";
            is_skipped |= is_action && text(result, "status").as_deref() == Some("skipped");
            let has_failed = if is_action {
                has_failed(result)
            } else {
                flag(result, "passed") != Some(true)
            };
            if !has_failed {
                continue;
            }
            failures += 1;
            let place = element(EVIDENCE, name, at);
            if accepted {
                found.push((place, format!("{what} beside an accepted run")));
            } else if exit_code == Some(0.0) {
                found.push((place, format!("{what} beside exit code 0")));
            }
        }
    }
    let has_failed = exit_code.is_some_and(|code| code != 0.0);
    if failures == 0 && is_whole && !is_skipped && has_failed {
        found.push((
            place(RUN, &["execution", "exit_code"]),
            "the execution failed, but no result of the evidence did".to_owned(),
        ));
    }
    found
}

/// Checks results against the patch's contents, the run's outputs and its commands.
fn check_results(view: &PackView<'_>, run: Node<'_>, evidence: Node<'_>, findings: &mut Findings) {
    let operations = view
        .document("patch.json")
        .map(|patch| list(patch, "operations"))
        .unwrap_or_default();
    let operations: BTreeMap<_, _> = operations
        .into_iter()
        .filter_map(|operation| Some((text(operation, "path")?, operation)))
        .collect();
    let outputs = execution(run)
        .map(|execution| list(execution, "outputs"))
        .unwrap_or_default();
    let outputs: BTreeMap<_, _> = outputs
        .into_iter()
        .filter_map(|output| Some((text(output, "path")?, text(output, "sha256"))))
        .collect();
    let commands: BTreeSet<_> = execution(run)
        .map(|execution| list(execution, "cmd"))
        .unwrap_or_default()
        .into_iter()
        .filter_map(|command| command.as_lossy_str())
        .collect();
    check_commands(run, evidence, findings);
    let results = list(evidence, "action_results");
    let is_execute = |result: &Node<'_>| text(*result, "action").as_deref() == Some("execute");
    let ran_commands = results.iter().any(is_execute);
    for (at, result) in results.iter().enumerate() {
        let here = || element(EVIDENCE, "action_results", at);
        let (Some(path), action) = (text(*result, "path"), text(*result, "action")) else {
            continue;
        };
        let is_file = matches!(action.as_deref(), Some("create" | "modify" | "delete"));
        // A command that was refused or never started has no exit code and is not among the run's.
        let has_run = number(*result, "exit_code").is_some();
        if is_execute(result) && has_run && execution(run).is_some() && !commands.contains(&path) {
            findings.add(here(), format!("`{path}` is not among the run's commands"));
        }
        if let Some(operation) = operations.get(&path).filter(|_| is_file) {
            check_operation(*result, *operation, here(), findings);
        }
        let hash = text(*result, "sha256");
        if is_file && !ran_commands && hash.is_some() && outputs.get(&path) != Some(&hash) {
            findings.add(
                here(),
                format!("`{path}` is not among the run's outputs with this hash"),
            );
        }
    }
}

/// Checks the commands that the run says it ran against those of the proposal, if the evidence
/// includes it.
fn check_commands(run: Node<'_>, evidence: Node<'_>, findings: &mut Findings) {
    let (Some(execution), Some(proposal)) = (execution(run), evidence.get("proposal")) else {
        return;
    };
    let of_type = |nodes: &str, kind: &str| -> BTreeSet<_> {
        let nodes = list(proposal, nodes).into_iter();
        let nodes = nodes.filter(|node| text(*node, "type").as_deref() == Some(kind));
        nodes.filter_map(|node| text(node, "target")).collect()
    };
    let mut planned = of_type("actions", "execute_command");
    planned.extend(of_type("acceptance_tests", "command_success"));
    for (at, command) in list(execution, "cmd").into_iter().enumerate() {
        if let Some(command) = command.as_lossy_str()
            && !planned.contains(&command)
        {
            let place = JsonPath::ROOT.then("execution").then("cmd").then(at);
            let fault = "the proposal has no such command";
            findings.add(Place::file(RUN).at(place), fault);
        }
    }
}

/// Checks a result against its operation in the patch.
fn check_operation(result: Node<'_>, operation: Node<'_>, place: Place, findings: &mut Findings) {
    if text(operation, "op") != text(result, "action") {
        findings.add(place.clone(), "the patch does something else with the file");
        return;
    }
    let content = operation.get("content").and_then(|node| node.as_str());
    if let (Some(content), Some(stated)) = (&content, text(result, "sha256")) {
        let actual = ContentHash::of(content.as_bytes()).to_string();
        if actual != stated {
            findings.add_difference(
                place.clone(),
                "the file's hash is not that of the patch's content",
                actual,
                stated,
            );
        }
    }
    let kind = match text(operation, "op").as_deref() {
        Some("create") => "create_file",
        Some("modify") => "modify_file",
        _ => "delete_file",
    };
    check_action_id(result, kind, content.as_deref(), place, findings);
}

/// Checks that an id in the form of derived ids is the one derived from this content.
pub(super) fn check_action_id(
    result: Node<'_>,
    kind: &str,
    content: Option<&str>,
    place: Place,
    findings: &mut Findings,
) {
    let (Some(id), Some(target)) = (text(result, "action_id"), text(result, "path")) else {
        return;
    };
    if ActionId::parse(&id).is_err() {
        return;
    }
    let mut action = Value::object([("target", target.as_ref()), ("type", kind)]);
    if let Some(content) = content {
        action.insert("content", content);
    }
    if let Ok(derived) = ActionId::derive(&action)
        && derived.as_str() != id
    {
        let subject = "action_id is not that of the action";
        findings.add_difference(place, subject, derived.to_string(), id);
    }
}

fn check_runner(run: Node<'_>, runner: Node<'_>, findings: &mut Findings) {
    let exit = execution(run).and_then(|node| member(node, &["exit_code"]));
    if exit.is_some() && member(runner, &["exit", "code"]) != exit {
        findings.add(
            place(RUNNER, &["exit", "code"]),
            "`exit.code` is not the execution's",
        );
    }
    let ended = runner.get("exit");
    for name in ["timeout_killed", "oom_killed"] {
        let is_killed = ended.and_then(|exit| flag(exit, name)) == Some(true);
        if is_killed && ended.and_then(|exit| number(exit, "code")) == Some(0.0) {
            findings.add(
                place(RUNNER, &["exit", name]),
                format!("`{name}` is true, but the exit code is 0"),
            );
        }
    }
    let policy = run.get("policy");
    let sandbox = runner.get("sandbox");
    let is_isolated = sandbox
        .and_then(|node| text(node, "isolation_level"))
        .as_deref()
        != Some("none");
    if policy.and_then(|policy| flag(policy, "allow_network")) == Some(false)
        && is_isolated
        && sandbox.and_then(|node| flag(node, "network_blocked")) == Some(false)
    {
        findings.add(
            place(RUNNER, &["sandbox", "network_blocked"]),
            "the network was open although the policy closes it",
        );
    }
    let allowed = texts(policy.and_then(|policy| policy.get("allowed_write_roots")));
    let allowed: BTreeSet<String> = allowed.into_iter().collect();
    for (at, root) in texts(runner.get("write_roots")).iter().enumerate() {
        if !allowed.is_empty() && !allowed.contains(root) {
            findings.add(
                element(RUNNER, "write_roots", at),
                format!("`{root}` is not among the policy's write roots"),
            );
        }
    }
}
