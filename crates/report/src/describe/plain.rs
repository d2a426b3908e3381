//! Records that are shown by their members: the runner's record and the ledger.

use runseal_core::canon::Node;

use super::members::{ListPlace, facts_of, list_at, table, text_at};
use super::timeline::Timeline;
use super::{About, Block, Body, Description, Fact, Tree};
use crate::exhibit::Exhibit;
use crate::reveal::counted;

/// Describes where a run ran, its limits, and how it ended.
pub(super) fn describe_runner<'a>(description: &mut Description<'a>, exhibit: &Exhibit<'a>) {
    let Some(root) = exhibit.document("") else {
        return;
    };
    description.headline = text_at(root, "platform.os").map(|system| {
        let arch = text_at(root, "platform.arch").unwrap_or_default();
        let level = text_at(root, "sandbox.isolation_level").unwrap_or_default();
        format!("A run on {system} {arch}, isolation {level}")
    });
    description.add_facts(
        root,
        &[("runner_id", "runner"), ("runner_version", "version")],
    );
    description.done.extend(runner_blocks("", root));
    let mut timeline = Timeline::default();
    timeline.add_runner("", root);
    description.done.extend(timeline.into_block());
}

/// Where something was to run, and its limits.
const PLACE: &[(&str, &str)] = &[
    ("platform.os", "system"),
    ("platform.arch", "processor"),
    ("platform.node_version", "node"),
    ("sandbox.backend", "isolated by"),
    ("sandbox.isolation_level", "isolation level"),
    ("sandbox.network_blocked", "network blocked"),
    ("sandbox.filesystem_readonly", "files read-only"),
    ("limits.timeout_ms", "time limit in ms"),
    ("limits.max_memory_bytes", "memory limit in bytes"),
    ("commands.allowlist", "allowed commands"),
    ("write_roots", "may write below"),
];

/// How it ended.
const ENDING: &[(&str, &str)] = &[
    ("exit.code", "exit code"),
    ("exit.signal", "ended by signal"),
    ("exit.timeout_killed", "killed for its time"),
    ("exit.oom_killed", "killed for its memory"),
];

/// The facts of a runner record.
pub(super) fn runner_blocks<'a>(file: &str, runner: Node<'a>) -> Vec<Block<'a>> {
    let mut facts = facts_of(runner, PLACE);
    facts.extend(facts_of(runner, ENDING));
    blocks_with(file, runner, "Where it ran", facts)
}

/// As [`runner_blocks`] if nothing was executed: without how it ended.
pub(super) fn idle_runner_blocks<'a>(file: &str, runner: Node<'a>) -> Vec<Block<'a>> {
    let title = "Where it would have run: nothing was executed";
    blocks_with(file, runner, title, facts_of(runner, PLACE))
}

fn blocks_with<'a>(file: &str, runner: Node<'a>, title: &str, facts: Vec<Fact>) -> Vec<Block<'a>> {
    let mut blocks = Vec::new();
    if !facts.is_empty() {
        let block = Block::new(title, Body::Facts(facts));
        blocks.push(block.about(About::file(file)));
    }
    let warnings = list_at(runner, "warnings");
    if !warnings.is_empty() {
        let block = Block::new("Warnings of the runner", Body::List(warnings.lines()));
        blocks.push(block.about(About::place(file, "/warnings")));
    }
    blocks
}

/// A whole document as a tree.
pub(super) fn document_block<'a>(title: &str, file: &str, root: Node<'a>) -> Block<'a> {
    let body = Body::Tree(Tree { root, schema: None });
    Block::new(title, body).about(About::file(file))
}

/// Describes a ledger: one line per run.
pub(super) fn describe_ledger<'a>(description: &mut Description<'a>, exhibit: &Exhibit<'a>) {
    let entries: Vec<_> = exhibit.documents.values().copied().collect();
    description.headline = Some(format!("A ledger of {}", counted(entries.len(), "run")));
    let columns = [
        ("run_id", "run"),
        ("timestamp", "time"),
        ("result_kind", "outcome"),
        ("accepted", "accepted"),
        ("policy", "policy"),
        ("mode", "model calls"),
        ("intent_sha256", "intent"),
    ];
    let list = ListPlace {
        total: entries.len(),
        elements: entries,
        file: "",
        pointer: "",
    };
    if let Some(mut block) = table("Runs", &list, &columns) {
        if let Body::Table(table) = &mut block.body {
            for (row, name) in table.rows.iter_mut().zip(exhibit.documents.keys()) {
                row.about = vec![About::file(name)];
            }
        }
        description.came_out.push(block);
    }
}
