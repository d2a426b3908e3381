//! The pack, and the evidence of what was executed.

use std::borrow::Cow;
use std::collections::BTreeMap;

use runseal_core::canon::Node;
use runseal_core::formats::evidence::CONTENTS as HELD;

use super::content::{content_block, size_text, words_of};
use super::context::add_context;
use super::members::{at, facts_of, list_at, string_at, table_at, text_at, words_block};
use super::model::conversation_block;
use super::picture::{Card, Lane, Mark, flow, lane_of};
use super::plain::{idle_runner_blocks, runner_blocks};
use super::timeline::Timeline;
use super::{About, Block, Body, Description, Step, Words};
use crate::exhibit::Exhibit;
use crate::limits::{CONTENTS, STEPS};

const RUN: &str = "run.json";
const EVIDENCE: &str = "evidence.json";
const PATCH: &str = "patch.json";
const RUNNER: &str = "runner.json";

pub(super) fn describe_pack<'a>(description: &mut Description<'a>, exhibit: &Exhibit<'a>) {
    if let Some(bundle) = exhibit.document("bundle.json") {
        add_context(description, "bundle.json", bundle);
    }
    let run = exhibit.document(RUN);
    let mut timeline = Timeline::default();
    if let Some(run) = run {
        add_request(description, run);
        timeline.add_span("run", (RUN, run), "started_at", "completed_at");
        let picture = Body::Picture(pack_picture(exhibit, run));
        description.done.insert(0, Block::new("The run", picture));
    }
    if let Some(evidence) = exhibit.document(EVIDENCE) {
        let document = (EVIDENCE, evidence);
        timeline.add_span("execution", document, "started_at", "completed_at");
        description.done.extend(doings(exhibit, EVIDENCE, evidence));
    }
    if let Some(recording) = exhibit.document("model_io.json") {
        description
            .done
            .extend(conversation_block(exhibit, "model_io.json", recording));
    }
    if let Some(runner) = exhibit.document(RUNNER) {
        timeline.add_runner(RUNNER, runner);
        let is_executed =
            run.is_none_or(|run| at(run, "execution").is_some_and(|it| !it.is_null()));
        let blocks = if is_executed {
            runner_blocks(RUNNER, runner)
        } else {
            idle_runner_blocks(RUNNER, runner)
        };
        description.done.extend(blocks);
    }
    description.done.extend(timeline.into_block());
    if let Some(run) = run {
        add_results(description, exhibit, run);
    }
    add_others(description, exhibit);
}

/// Adds the policy of the run, the questions that were asked back, and the reason if it was refused.
fn add_request(description: &mut Description<'_>, run: Node<'_>) {
    description.add_facts(
        run,
        &[
            ("run_id", "run"),
            ("kernel_result_kind", "outcome"),
            ("intent.path", "intent"),
            ("intent.sha256", "intent hash"),
            ("bundle.bundle_id", "context bundle"),
            ("bundle.sha256", "context bundle hash"),
            ("kernel_version", "made by kernel"),
            ("started_at", "started"),
            ("completed_at", "completed"),
            ("execution.sandbox_id", "sandbox"),
            ("execution.stdout_sha256", "standard output hash"),
            ("execution.stderr_sha256", "standard error hash"),
            ("self_hash", "hash of run.json"),
        ],
    );
    if let Some(reason) = text_at(run, "refuse_reason") {
        let block = words_block("Why it was refused", reason);
        description
            .came_out
            .push(block.about(About::place(RUN, "/refuse_reason")));
        if description.headline.is_none() {
            description.headline = Some("A run that was refused".to_owned());
        }
    }
    let questions = list_at(run, "clarify_questions");
    if !questions.is_empty() {
        let block = Block::new("What was asked back", Body::List(questions.lines()));
        description
            .came_out
            .push(block.about(About::place(RUN, "/clarify_questions")));
    }
    let policy = facts_of(
        run,
        &[
            ("policy.name", "policy"),
            ("policy.allow_network", "network allowed"),
            ("policy.timeout_ms", "time limit in ms"),
            ("policy.max_output_files", "files at most"),
            ("policy.max_total_output_bytes", "bytes at most"),
            ("policy.allowed_commands", "allowed commands"),
            ("policy.allowed_write_roots", "may write below"),
            ("model_mode", "model calls"),
        ],
    );
    if !policy.is_empty() {
        let block = Block::new("What it was allowed", Body::Facts(policy));
        description
            .asked
            .push(block.about(About::place(RUN, "/policy")));
    }
}

fn pack_picture(exhibit: &Exhibit<'_>, run: Node<'_>) -> super::Picture {
    let text = |path| text_at(run, path).unwrap_or_default();
    let accepted = at(run, "decision.accepted").and_then(|node| node.as_bool());
    let (word, mark) = match (text("kernel_result_kind").as_str(), accepted) {
        ("CLARIFY", _) => ("asked back", Mark::Open),
        ("REFUSE", _) => ("refused", Mark::Bad),
        (_, Some(true)) => ("accepted", Mark::Good),
        _ => ("not accepted", Mark::Bad),
    };
    let evidence = exhibit.document(EVIDENCE);
    let actions = evidence.map(|evidence| list_at(evidence, "action_results"));
    let action_card = |at: usize, action: Node<'_>| {
        let text = |path| text_at(action, path).unwrap_or_default();
        let detail = format!("{} · {}", text("action"), text("status"));
        let mark = Mark::of(text_at(action, "status").as_deref());
        Card::new(text("path"), detail, mark)
            .about(About::place(EVIDENCE, format!("/action_results/{at}")))
    };
    let output_card = |at: usize, file: Node<'_>| {
        let bytes = text_at(file, "size_bytes").map(|bytes| format!("{bytes} bytes"));
        let path = text_at(file, "path").unwrap_or_default();
        Card::new(path, bytes.unwrap_or_default(), Mark::Plain)
            .about(About::place(RUN, format!("/execution/outputs/{at}")))
    };
    let intent = Card::new(text("intent.path"), text("kernel_result_kind"), Mark::Plain)
        .about(About::place(RUN, "/intent"))
        .about(About::place(RUN, "/kernel_result_kind"))
        .about(About::file(RUN))
        .about(About::file("bundle.json"));
    let decision = Card::new(word, format!("policy {}", text("policy.name")), mark)
        .about(About::place(RUN, "/decision"))
        .about(About::place(RUN, "/policy"))
        .about(About::file(RUN));
    flow(vec![
        Lane::new("Intent", [intent]),
        lane_of("Actions", actions.unwrap_or_default(), action_card),
        lane_of("Files", list_at(run, "execution.outputs"), output_card),
        Lane::new("Decision", [decision]),
    ])
}

/// The actions and tests of evidence: commands with their output, if it was kept.
fn doings<'a>(exhibit: &Exhibit<'a>, file: &str, evidence: Node<'a>) -> Vec<Block<'a>> {
    let mut blocks = Vec::new();
    let actions = list_at(evidence, "action_results");
    let is_command = |action: &(usize, Node<'a>)| {
        let word = text_at(action.1, "action");
        matches!(word.as_deref(), Some("execute" | "test"))
    };
    let commands = actions.iter().enumerate().filter(is_command).take(STEPS);
    let mut steps: Vec<_> = commands
        .map(|(at, action)| {
            let about = About::place(file, format!("/action_results/{at}"));
            let title = text_at(action, "path").unwrap_or_default();
            let status = text_at(action, "status");
            command_step((exhibit, evidence), action, (title, status), about)
        })
        .collect();
    let tests = list_at(evidence, "test_results");
    steps.extend(tests.iter().enumerate().take(STEPS).map(|(at, test)| {
        let about = About::place(file, format!("/test_results/{at}"));
        let title = format!("test {}", text_at(test, "test_id").unwrap_or_default());
        let passed = test.get("passed").and_then(|passed| passed.as_bool());
        let status = passed.map(|passed| if passed { "passed" } else { "failed" }.to_owned());
        command_step((exhibit, evidence), test, (title, status), about)
    }));
    if !steps.is_empty() {
        blocks.push(Block::new("Commands and tests", Body::Steps(steps)));
    }
    let columns = [
        ("action", "action"),
        ("path", "path"),
        ("status", "status"),
        ("exit_code", "exit code"),
        ("sha256", "sha256 afterwards"),
    ];
    blocks.extend(table_at(
        "Actions",
        (file, evidence),
        "action_results",
        &columns,
    ));
    let columns = [
        ("test_id", "test"),
        ("passed", "passed"),
        ("exit_code", "exit code"),
        ("actual", "found"),
    ];
    blocks.extend(table_at(
        "Tests",
        (file, evidence),
        "test_results",
        &columns,
    ));
    blocks
}

/// Content that evidence stores by its hash.
fn held_words<'a>(evidence: Node<'a>, hash: &str) -> Option<Words<'a>> {
    let entry = evidence.get(HELD)?.get(hash)?;
    let size = entry.get("size_bytes").and_then(|node| node.as_number());
    let size = size.map_or(0, |size| size.to_f64() as u64);
    Some(match string_at(entry, "text") {
        Some(text) if text.is_empty() => Words::Missing("nothing".to_owned()),
        Some(text) => Words::Plain(text),
        None if entry.get("omitted").is_some() => Words::Missing(format!(
            "{}, too long to be kept; its hash: {hash}",
            size_text(size)
        )),
        None if size == 1 => Words::Missing("1 byte that is not text".to_owned()),
        None => Words::Missing(format!("{} that are not text", size_text(size))),
    })
}

fn command_step<'a>(
    (exhibit, evidence): (&Exhibit<'a>, Node<'a>),
    node: Node<'a>,
    (title, state): (String, Option<String>),
    about: About,
) -> Step<'a> {
    let outputs = [("stdout", "standard output"), ("stderr", "standard error")];
    let texts = outputs.iter().filter_map(|(member, label)| {
        if let Some(text) = string_at(node, member) {
            return Some(((*label).to_owned(), Words::Plain(text)));
        }
        let hash = text_at(node, &format!("{member}_sha256"))?;
        let kept = exhibit.content_of(&hash).map(|(_, bytes)| words_of(bytes));
        let words = match kept.or_else(|| held_words(evidence, &hash)) {
            Some(words) => words,
            None if hash.ends_with(EMPTY) => Words::Missing("nothing".to_owned()),
            None => Words::Missing(format!("only its hash was kept: {hash}")),
        };
        Some(((*label).to_owned(), words))
    });
    let facts = facts_of(
        node,
        &[
            ("exit_code", "exit code"),
            ("actual", "found"),
            ("duration_ms", "milliseconds"),
        ],
    );
    Step {
        mark: Mark::of(state.as_deref()),
        title,
        state,
        facts,
        texts: texts.collect(),
        about: vec![about],
    }
}

/// The SHA-256 of no bytes.
const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// The decision, and the files with their contents.
fn add_results<'a>(description: &mut Description<'a>, exhibit: &Exhibit<'a>, run: Node<'a>) {
    let reasons = list_at(run, "decision.reasons");
    if !reasons.is_empty() {
        let block = Block::new("The decision", Body::List(reasons.lines()));
        description
            .came_out
            .insert(0, block.about(About::place(RUN, "/decision")));
    }
    let columns = [
        ("path", "path"),
        ("size_bytes", "bytes"),
        ("sha256", "sha256"),
    ];
    let files = table_at("Files written", (RUN, run), "execution.outputs", &columns);
    description.came_out.extend(files);
    let patched = exhibit
        .document(PATCH)
        .map_or_else(BTreeMap::new, contents_of_patch);
    let outputs = list_at(run, "execution.outputs");
    for (at, output) in outputs.iter().enumerate().take(CONTENTS) {
        let (Some(path), Some(hash)) = (text_at(output, "path"), text_at(output, "sha256")) else {
            continue;
        };
        let about = About::place(RUN, format!("/execution/outputs/{at}"));
        let kept = exhibit.content_of(&hash).map(|(_, bytes)| words_of(bytes));
        let held = || held_words(exhibit.document(EVIDENCE)?, &hash);
        let block = if let Some(words) = kept.or_else(held) {
            Block::new(path, Body::Words(words)).remark("as kept in the pack")
        } else if let Some(content) = patched.get(&(path.clone(), hash)) {
            let words = if path.ends_with(".md") {
                Words::Markdown(content.clone())
            } else {
                Words::Plain(content.clone())
            };
            Block::new(path, Body::Words(words)).remark("as the patch set wrote it")
        } else {
            continue;
        };
        description.came_out.push(block.about(about).folded());
    }
}

/// The contents of a patch set by path and hash.
fn contents_of_patch<'a>(patch: Node<'a>) -> BTreeMap<(String, String), Cow<'a, str>> {
    let content = |operation: Node<'a>| {
        let path = text_at(operation, "path")?;
        let hash = text_at(operation, "expected_hash")?;
        Some(((path, hash), string_at(operation, "content")?))
    };
    let operations = list_at(patch, "operations");
    operations.iter().filter_map(content).collect()
}

/// Adds the files themselves: the whole records, logs, contents and anything else in a pack.
fn add_others<'a>(description: &mut Description<'a>, exhibit: &Exhibit<'a>) {
    for file in exhibit.files.iter().take(CONTENTS) {
        description
            .came_out
            .push(content_block(exhibit, &file.path).folded());
    }
}

/// Describes evidence without its pack.
pub(super) fn describe_evidence<'a>(description: &mut Description<'a>, exhibit: &Exhibit<'a>) {
    let Some(root) = exhibit.document("") else {
        return;
    };
    description.headline =
        text_at(root, "proposal_id").map(|proposal| format!("Execution of {proposal}"));
    description.add_facts(
        root,
        &[
            ("status", "status"),
            ("proposal_id", "proposal"),
            ("proposal_hash", "proposal hash"),
            ("executor_id", "executor"),
            ("total_duration_ms", "milliseconds"),
        ],
    );
    description.done.extend(doings(exhibit, "", root));
    let mut timeline = Timeline::default();
    timeline.add_span("execution", ("", root), "started_at", "completed_at");
    description.done.extend(timeline.into_block());
}
