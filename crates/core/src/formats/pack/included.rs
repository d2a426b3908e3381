//! PK16: the content behind the hashes of a run is in its pack.
//!
//! Applies to packs whose evidence includes contents. A content is in evidence.json's `contents`,
//! or in patch.json if the plan itself wrote it; one that was too long is in `contents` as omitted.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::PackView;
use super::agreement::{element, execution, given_list, place, text};
use crate::canon::{JsonPath, Kind, Node};
use crate::digest::{ContentHash, Hasher};
use crate::formats::evidence::{CONTENTS, find_content};
use crate::limits::RUN_PRINTED_COMPARED;
use crate::verify::{Findings, Gate, Place};

const RUN: &str = "run.json";
const EVIDENCE: &str = "evidence.json";

pub(super) fn needs_contents(view: &PackView<'_>) -> Gate {
    let evidence = view.document(EVIDENCE);
    match evidence.and_then(|evidence| evidence.get(CONTENTS)) {
        Some(_) => Gate::Ready,
        None => Gate::NotApplicable("the evidence has no contents"),
    }
}

/// PK16.
pub(super) fn check_included(view: &PackView<'_>, findings: &mut Findings) {
    let (Some(evidence), Some(run)) = (view.document(EVIDENCE), view.document(RUN)) else {
        return;
    };
    // EV6 reports one that is no object.
    let contents = evidence.get(CONTENTS);
    let is_object = |contents: &Node<'_>| contents.kind() == Kind::Object;
    let Some(contents) = findings.need(contents.filter(is_object)) else {
        return;
    };
    let written = find_written(view);
    let mut named = BTreeSet::new();
    // Whether every content that the run may name is known.
    let mut names_all = true;
    let mut ask = |node: Node<'_>, member: &str, place: Place, findings: &mut Findings| {
        let stated = stated_hash(node, member);
        names_all &= stated.is_some();
        let Some(Some(hash)) = stated else {
            return;
        };
        let is_written = || {
            written
                .as_ref()
                .map(|written| written.contains(hash.as_ref()))
        };
        if contents.get(&hash).is_none() && findings.need(is_written()) == Some(false) {
            findings.add(
                place,
                format!("the content of `{member}` is not in the pack"),
            );
        }
        named.insert(hash.into_owned());
    };
    let actions = findings.need(given_list(evidence, "action_results"));
    let tests = findings.need(given_list(evidence, "test_results"));
    // A run that was not executed has null there.
    let outputs = match run.get("execution") {
        Some(none) if none.is_null() => None,
        execution => {
            let outputs = execution.and_then(|execution| given_list(execution, "outputs"));
            Some(findings.need(outputs))
        }
    };
    let lists_all = actions.is_some() && tests.is_some() && !matches!(outputs, Some(None));
    let mut has_parts = true;
    for (at, result) in actions.into_iter().flatten().enumerate() {
        has_parts &= text(result, "action").is_some();
        // A validation or a test names a file as it was at the time; a later step may have changed
        // it.
        let is_written = matches!(text(result, "action").as_deref(), Some("create" | "modify"));
        let members: &[&str] = if is_written {
            &["sha256"]
        } else {
            &["stdout_sha256", "stderr_sha256"]
        };
        for member in members {
            let place = element(EVIDENCE, "action_results", at);
            ask(result, member, place, findings);
        }
    }
    for (at, result) in tests.into_iter().flatten().enumerate() {
        for member in ["stdout_sha256", "stderr_sha256"] {
            let place = element(EVIDENCE, "test_results", at);
            ask(result, member, place, findings);
        }
    }
    let outputs = outputs.flatten().into_iter().flatten();
    for (at, output) in outputs.enumerate() {
        has_parts &= text(output, "sha256").is_some();
        let path = JsonPath::ROOT.then("execution").then("outputs").then(at);
        ask(output, "sha256", Place::file(RUN).at(path), findings);
    }
    let lists_all = lists_all
        && findings
            .need((names_all && has_parts).then_some(()))
            .is_some();
    for (name, _) in contents.members().filter(|_| lists_all) {
        let name = name.to_lossy();
        if !named.contains(name.as_ref()) {
            findings.add(
                place(EVIDENCE, &[CONTENTS, &name]),
                "nothing of the run has this content",
            );
        }
    }
    check_printed(run, evidence, findings);
}

/// The hashes of what the plan's own operations wrote; `None` if that is not known.
fn find_written(view: &PackView<'_>) -> Option<BTreeSet<String>> {
    let Some(patch) = view.document("patch.json") else {
        return Some(BTreeSet::new());
    };
    let mut written = BTreeSet::new();
    for operation in given_list(patch, "operations")? {
        let writes = !matches!(&*text(operation, "op")?, "delete");
        match operation.get("content") {
            Some(content) => {
                written.insert(ContentHash::of(content.as_str()?.as_bytes()).to_string());
            }
            None if writes => return None,
            None => {}
        }
    }
    Some(written)
}

/// The hash that a member states; `None` inside if it is null or absent, and `None` if it is neither.
fn stated_hash<'a>(node: Node<'a>, member: &str) -> Option<Option<Cow<'a, str>>> {
    match node.get(member).filter(|hash| !hash.is_null()) {
        None => Some(None),
        Some(hash) => hash.as_lossy_str().map(Some),
    }
}

/// Checks that what the commands printed, concatenated, is what the run states. If some of it is
/// not in the pack, or it is too long in total, nothing is checked.
fn check_printed(run: Node<'_>, evidence: Node<'_>, findings: &mut Findings) {
    let Some(execution) = execution(run) else {
        return;
    };
    for member in ["stdout_sha256", "stderr_sha256"] {
        let actions = given_list(evidence, "action_results");
        let results = actions.zip(given_list(evidence, "test_results"));
        let both = findings.need(text(execution, member).zip(results));
        let Some((stated, (actions, tests))) = both else {
            continue;
        };
        let mut hasher = Hasher::new();
        let results = actions.iter().chain(&tests);
        let hashes = results.map(|result| stated_hash(*result, member));
        let Some(hashes) = findings.need(hashes.collect::<Option<Vec<_>>>()) else {
            continue;
        };
        let hashes = hashes.into_iter().flatten();
        let mut room = Some(RUN_PRINTED_COMPARED);
        for hash in hashes {
            let content = find_content(evidence, &hash);
            room = match (room, content) {
                (Some(room), Some(bytes)) => {
                    hasher.update(&bytes);
                    room.checked_sub(bytes.len())
                }
                _ => None,
            };
            if room.is_none() {
                break;
            }
        }
        let actual = ContentHash::from(hasher.finish()).to_string();
        if room.is_some() && actual != stated {
            findings.add_difference(
                place(RUN, &["execution", member]),
                "the hash is not that of everything the commands printed",
                actual,
                stated,
            );
        }
    }
}
