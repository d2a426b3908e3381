//! PK13: what the records of every producer repeat or imply must agree: ids, hashes, the decision
//! with the evidence, the ledger with the run.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::PackView;
use crate::canon::{JsonPath, Kind, Node, Value};
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

/// The elements of a list; `None` if there is no list.
pub(super) fn given_list<'a>(node: Node<'a>, name: &str) -> Option<Vec<Node<'a>>> {
    Some(node.get(name)?.as_array()?.collect())
}

pub(super) fn text<'a>(node: Node<'a>, name: &str) -> Option<Cow<'a, str>> {
    node.get(name)?.as_lossy_str()
}

/// The strings of a list; `None` if there is no list of strings.
pub(super) fn texts(list: Option<Node<'_>>) -> Option<Vec<String>> {
    let items = list?.as_array()?;
    items
        .map(|item| Some(item.as_lossy_str()?.into_owned()))
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
        let contradictions = find_contradictions(run, evidence, &|_| false);
        findings.need((!contradictions.is_incomplete).then_some(()));
        for (place, fault) in contradictions.found {
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
        let both = findings.need(text_at(run, here).zip(text(bundle, there)));
        if both.is_some_and(|(here, there)| here != there) {
            let name = here.join(".");
            findings.add(place(RUN, here), format!("`{name}` is not the bundle's"));
        }
    }
    if run.get("clarify_questions").is_none() || !view.lists_files() {
        return;
    }
    let asked = given_list(run, "clarify_questions");
    let questions = given_list(bundle, "unresolved_questions");
    let both = findings.need(asked.zip(questions));
    if both.is_some_and(|(asked, questions)| asked.len() != questions.len()) {
        findings.add(
            place(RUN, &["clarify_questions"]),
            "the questions are not the bundle's",
        );
    }
}

/// A string, by path.
fn text_at<'a>(node: Node<'a>, names: &[&str]) -> Option<Cow<'a, str>> {
    let node = names.iter().try_fold(node, |node, name| node.get(name))?;
    node.as_lossy_str()
}

fn check_ledger(view: &PackView<'_>, run: Node<'_>, findings: &mut Findings) {
    if view.files.bytes(LEDGER).is_none() {
        return;
    }
    let Some(id) = findings.need(text(run, "run_id")) else {
        return;
    };
    // A line that cannot be read may be that of this run.
    let mut is_readable = true;
    let mut own = None;
    for line in &view.ledger {
        let entry = line.entry.as_ref().ok().map(|entry| entry.root());
        match entry.and_then(|entry| text(entry, "run_id").zip(Some(entry))) {
            None => is_readable = false,
            Some((of_line, entry)) if of_line == id => own = own.or(Some((line.number, entry))),
            Some(_) => {}
        }
    }
    let Some((line, entry)) = own else {
        if findings.need(is_readable.then_some(())).is_some() {
            findings.add(Place::file(LEDGER), "no entry has the `run_id` of this run");
        }
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
        let differs = if field == "bundle_sha256" {
            // Null after a refusal.
            let here = text_or_null(entry.get(field));
            let bundle = run.get("bundle");
            let there = match bundle.filter(|bundle| !bundle.is_null()) {
                Some(bundle) => text(bundle, "sha256").map(Some),
                None => bundle.map(|_| None),
            };
            here.zip(there).map(|(here, there)| here != there)
        } else if field == "accepted" {
            let both = flag(entry, field).zip(decision_of(run));
            both.map(|(here, there)| here != there)
        } else {
            let both = text(entry, field).zip(text_at(run, names));
            both.map(|(here, there)| here != there)
        };
        if findings.need(differs) == Some(true) {
            findings.add(
                Place::file(LEDGER).on_line(line),
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
        let both = findings.need(text(patch, there).zip(text(evidence, here)));
        if both.is_some_and(|(there, here)| there != here) {
            findings.add(place(EVIDENCE, &[here]), "the patch is another proposal's");
        }
    }
}

/// A string or null.
fn text_or_null(node: Option<Node<'_>>) -> Option<Option<Cow<'_, str>>> {
    let node = node?;
    let text = node.as_lossy_str();
    (node.is_null() || text.is_some()).then_some(text)
}

/// Whether the run was accepted.
fn decision_of(run: Node<'_>) -> Option<bool> {
    flag(run.get("decision")?, "accepted")
}

/// Whether a result must have succeeded: true unless the proposal made it optional.
fn is_required(result: Node<'_>) -> bool {
    flag(result, "required") != Some(false)
}

/// Whether an action failed; `None` if its status is missing, or its exit code is neither a number nor null.
fn has_failed(result: Node<'_>) -> Option<bool> {
    let status = text(result, "status")?;
    let is_command = text(result, "action").as_deref() == Some("execute");
    let code = match result.get("exit_code").filter(|code| !code.is_null()) {
        None => 0.0,
        Some(code) => code.as_number()?.to_f64(),
    };
    Some(!matches!(&*status, "success" | "skipped") || (is_command && code != 0.0))
}

/// What tells whether a result failed and had to succeed.
const TELLING: [&str; 5] = ["required", "status", "action", "exit_code", "passed"];

/// What [`find_contradictions`] found.
#[derive(Default)]
pub(super) struct Contradictions {
    /// Places and messages.
    pub(super) found: Vec<(Place, String)>,
    /// Whether something that had to be compared is missing or mistyped.
    pub(super) is_incomplete: bool,
}

/// The decision and the exit code against what the evidence says of actions and tests. Of a redacted copy, `is_hidden` says
/// what is withheld: a result that does not tell whether it failed says nothing.
pub(super) fn find_contradictions(
    run: Node<'_>,
    evidence: Node<'_>,
    is_hidden: &dyn Fn(Node<'_>) -> bool,
) -> Contradictions {
    let accepted = decision_of(run);
    let exit_code = execution(run).map(|node| number(node, "exit_code"));
    let mut contradictions = Contradictions {
        is_incomplete: accepted.is_none() || exit_code == Some(None),
        ..Contradictions::default()
    };
    let exit_code = exit_code.flatten();
    let mut failures = 0_usize;
    let mut is_whole = true;
    let mut is_skipped = false;
    for (name, what) in [
        ("action_results", "a failed action"),
        ("test_results", "a failed test"),
    ] {
        let results = given_list(evidence, name);
        if results.is_none() {
            is_whole = false;
            contradictions.is_incomplete |= !evidence.get(name).is_some_and(is_hidden);
        }
        for (at, result) in results.into_iter().flatten().enumerate() {
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
                flag(result, "passed").map(|passed| !passed)
            };
            let Some(has_failed) = has_failed else {
                is_whole = false;
                contradictions.is_incomplete = true;
                continue;
            };
            if !has_failed {
                continue;
            }
            failures += 1;
            let place = element(EVIDENCE, name, at);
            let found = &mut contradictions.found;
            if accepted == Some(true) {
                found.push((place, format!("{what} beside an accepted run")));
            } else if exit_code == Some(0.0) {
                found.push((place, format!("{what} beside exit code 0")));
            }
        }
    }
    let has_failed = exit_code.is_some_and(|code| code != 0.0);
    if failures == 0 && is_whole && !is_skipped && has_failed {
        contradictions.found.push((
            place(RUN, &["execution", "exit_code"]),
            "the execution failed, but no result of the evidence did".to_owned(),
        ));
    }
    contradictions
}

/// Checks results against the patch's contents, the run's outputs and its commands.
fn check_results(view: &PackView<'_>, run: Node<'_>, evidence: Node<'_>, findings: &mut Findings) {
    let operations = view.document("patch.json").map(|patch| {
        let operations = findings.need(given_list(patch, "operations"));
        operations.unwrap_or_default()
    });
    let operations: BTreeMap<_, _> = operations
        .unwrap_or_default()
        .into_iter()
        .filter_map(|operation| Some((text(operation, "path")?, operation)))
        .collect();
    let execution = execution(run);
    // What an output lacks may be what a result wrote, so one that lacks something is as good as none.
    let is_executed = run.get("execution").is_none_or(|node| !node.is_null());
    let outputs = is_executed.then(|| {
        let outputs = given_list(execution?, "outputs")?;
        let entry = |output: Node<'_>| {
            let path = text(output, "path")?.into_owned();
            Some((path, text(output, "sha256")?.into_owned()))
        };
        let entries = outputs.into_iter().map(entry);
        entries.collect::<Option<BTreeMap<String, String>>>()
    });
    let commands = execution.map(|execution| {
        let commands = texts(execution.get("cmd"))?.into_iter();
        Some(commands.collect::<BTreeSet<String>>())
    });
    check_commands(run, evidence, findings);
    let Some(results) = findings.need(given_list(evidence, "action_results")) else {
        return;
    };
    let is_execute = |result: &Node<'_>| text(*result, "action").as_deref() == Some("execute");
    let may_run = |result: &Node<'_>| is_execute(result) || text(*result, "action").is_none();
    let ran_commands = results.iter().any(may_run);
    for (at, result) in results.iter().enumerate() {
        let here = || element(EVIDENCE, "action_results", at);
        let both = findings.need(text(*result, "path").zip(text(*result, "action")));
        let Some((path, action)) = both else {
            continue;
        };
        let is_file = matches!(&*action, "create" | "modify" | "delete");
        // A command that was refused or never started has no exit code and is not among the run's.
        let has_run = number(*result, "exit_code").is_some();
        if let Some(commands) = &commands
            && is_execute(result)
            && has_run
            && let Some(commands) = findings.need(commands.as_ref())
            && !commands.contains(&*path)
        {
            findings.add(here(), format!("`{path}` is not among the run's commands"));
        }
        if let Some(operation) = operations.get(&path).filter(|_| is_file) {
            check_operation(*result, *operation, here(), findings);
        }
        let hash = text(*result, "sha256").filter(|_| is_file && !ran_commands);
        if let Some(hash) = hash {
            let known = outputs.as_ref().map(|outputs| outputs.as_ref());
            let is_output = match known {
                None => Some(false),
                Some(known) => known.map(|known| known.get(&*path).is_some_and(|it| *it == hash)),
            };
            if findings.need(is_output) == Some(false) {
                findings.add(
                    here(),
                    format!("`{path}` is not among the run's outputs with this hash"),
                );
            }
        }
    }
}

/// Checks the commands that the run says it ran against those of the proposal, if the evidence
/// includes it.
fn check_commands(run: Node<'_>, evidence: Node<'_>, findings: &mut Findings) {
    let (Some(execution), Some(proposal)) = (execution(run), evidence.get("proposal")) else {
        return;
    };
    // What an action lacks may be the command.
    let of_type = |nodes: &str, kind: &str| -> Option<BTreeSet<String>> {
        let mut targets = BTreeSet::new();
        for node in given_list(proposal, nodes)? {
            if text(node, "type")? == kind {
                targets.insert(text(node, "target")?.into_owned());
            }
        }
        Some(targets)
    };
    let planned =
        of_type("actions", "execute_command").zip(of_type("acceptance_tests", "command_success"));
    let both = findings.need(planned.zip(given_list(execution, "cmd")));
    let Some(((actions, tests), commands)) = both else {
        return;
    };
    for (at, command) in commands.into_iter().enumerate() {
        let Some(command) = findings.need(command.as_lossy_str()) else {
            continue;
        };
        if !actions.contains(&*command) && !tests.contains(&*command) {
            let place = JsonPath::ROOT.then("execution").then("cmd").then(at);
            let fault = "the proposal has no such command";
            findings.add(Place::file(RUN).at(place), fault);
        }
    }
}

/// Checks a result against its operation in the patch.
fn check_operation(result: Node<'_>, operation: Node<'_>, place: Place, findings: &mut Findings) {
    let both = findings.need(text(operation, "op").zip(text(result, "action")));
    let Some((op, action)) = both else { return };
    if op != action {
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
    if kind != "delete_file" && findings.need(content.as_ref()).is_none() {
        return;
    }
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
    let ended = runner.get("exit");
    let code = ended.and_then(|exit| number(exit, "code"));
    if let Some(execution) = execution(run) {
        let both = findings.need(number(execution, "exit_code").zip(code));
        if both.is_some_and(|(stated, code)| stated != code) {
            findings.add(
                place(RUNNER, &["exit", "code"]),
                "`exit.code` is not the execution's",
            );
        }
    }
    for name in ["timeout_killed", "oom_killed"] {
        let is_killed = ended.and_then(|exit| flag(exit, name)) == Some(true);
        if is_killed && code == Some(0.0) {
            findings.add(
                place(RUNNER, &["exit", name]),
                format!("`{name}` is true, but the exit code is 0"),
            );
        }
    }
    let policy = run.get("policy");
    let sandbox = runner.get("sandbox");
    let isolation = sandbox.and_then(|node| text(node, "isolation_level"));
    let is_isolated = findings
        .need(isolation)
        .is_some_and(|level| level != "none");
    let allows = findings.need(policy.and_then(|policy| flag(policy, "allow_network")));
    let is_blocked = findings.need(sandbox.and_then(|node| flag(node, "network_blocked")));
    if is_isolated && allows == Some(false) && is_blocked == Some(false) {
        findings.add(
            place(RUNNER, &["sandbox", "network_blocked"]),
            "the network was open although the policy closes it",
        );
    }
    let allowed = texts(policy.and_then(|policy| policy.get("allowed_write_roots")));
    let roots = runner.get("write_roots");
    let Some(allowed) = findings.need(allowed).filter(|allowed| !allowed.is_empty()) else {
        return;
    };
    let allowed: BTreeSet<String> = allowed.into_iter().collect();
    for (at, root) in roots.into_iter().flat_map(|list| list.items()).enumerate() {
        let Some(root) = findings.need(root.as_lossy_str()) else {
            continue;
        };
        if !allowed.contains(&*root) {
            findings.add(
                element(RUNNER, "write_roots", at),
                format!("`{root}` is not among the policy's write roots"),
            );
        }
    }
}
