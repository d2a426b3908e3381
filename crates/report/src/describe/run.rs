//! The run bundle: contracts, inputs, the command and what it printed, outputs; and the engine alone.
//!
//! What a file is follows from its path and the kind of run ([`RunReading`]), never from what the bundle's index
//! calls it.

use runseal_core::canon::Node;
use runseal_core::formats::run_bundle::layout::{
    ARTIFACT_INDEX, CONTEXT_STRIPPED, INPUT_SCHEMA, MANIFEST, MODEL_IO, OUTPUT_SCHEMA,
    RUN_ENVIRONMENT, RUN_INPUT, RUN_META, RUN_OUTPUT, RUN_PARAMETERS, Role, STDERR_LOG, STDOUT_LOG,
    SUMS, TERMINAL_LOG, content_type_of, path_of_exact,
};
use runseal_core::formats::run_bundle::reading::{RunEnding, RunKind, RunReading};
use runseal_core::formats::run_bundle::recorded::NEVER_SEEN;
use runseal_core::source::MemberFile;

use super::content::{add_contents, content_block, size_text, words_of};
use super::members::{List, facts_of, integer_at, list_at, string_at, text_at, text_of};
use super::model::conversation_block;
use super::picture::{Card, Lane, Mark, flow};
use super::plain::document_block;
use super::timeline::Timeline;
use super::{About, Block, Body, Description, Row, Step, Table, Tree, Words};
use crate::exhibit::Exhibit;
use crate::limits::{CONTENTS, ROWS};
use crate::reveal::counted;

/// A run bundle with what it says about its run.
#[derive(Clone, Copy)]
struct Run<'a, 'e> {
    exhibit: &'e Exhibit<'a>,
    reading: RunReading<'a>,
}

impl<'a, 'e> Run<'a, 'e> {
    fn document(&self, name: &str) -> Option<Node<'a>> {
        self.exhibit.document(name)
    }

    /// The files with this role.
    fn files(&self, role: Option<Role>) -> impl Iterator<Item = &'a MemberFile> + Clone + use<'a> {
        let reading = self.reading;
        let has_role =
            move |file: &&MemberFile| file.kind.is_none() && reading.role_of(&file.path) == role;
        self.exhibit.files.iter().filter(has_role)
    }

    /// The files with this role, without the exact copies of JSON files, which are stored next to their
    /// canonical form.
    fn shown(&self, role: Role) -> impl Iterator<Item = &'a MemberFile> + Clone + use<'a> {
        let files = self.files(Some(role));
        files.filter(|file| path_of_exact(&file.path).is_none())
    }
}

pub(super) fn describe_run<'a>(description: &mut Description<'a>, exhibit: &Exhibit<'a>) {
    let run = Run {
        exhibit,
        reading: RunReading::new(|name| exhibit.document(name)),
    };
    add_identity(description, run);
    add_inputs(description, run);
    add_doings(description, run);
    add_outputs(description, run);
    if let Some(environment) = run.document(RUN_ENVIRONMENT) {
        description.add_facts(
            environment,
            &[
                ("sandbox.level", "sandbox"),
                ("observation.level", "observation"),
            ],
        );
        let gaps = list_at(environment, "observation.gaps");
        // First what this run lacks, then what every recording lacks.
        let is_general = |gap: &Node<'_>| text_at(*gap, "kind").as_deref() == Some(NEVER_SEEN);
        let own = gaps.iter().filter(|gap| !is_general(gap));
        let gaps = own.chain(gaps.iter().filter(is_general)).take(ROWS);
        description
            .gaps
            .extend(gaps.map(|gap| match text_at(gap, "detail") {
                Some(detail) => match text_at(gap, "kind") {
                    Some(kind) => format!("{kind}: {detail}"),
                    None => detail,
                },
                None => text_of(gap),
            }));
    }
}

fn add_identity<'a>(description: &mut Description<'a>, run: Run<'a, '_>) {
    let meta = run.document(RUN_META);
    let of_meta = |path| meta.and_then(|meta| text_at(meta, path));
    let engine = of_meta("engine_code").unwrap_or_else(|| "an unknown engine".to_owned());
    let command = run.reading.command().and_then(command_text);
    description.headline = Some(match (run.reading.kind(), command) {
        (RunKind::Recorded, Some(command)) => command,
        _ => {
            let version = of_meta("engine_version").unwrap_or_default();
            format!("Run of {engine} {version}").trim_end().to_owned()
        }
    });
    if let Some(meta) = meta {
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
    if let Some(output) = run.document(RUN_OUTPUT) {
        description.add_facts(
            output,
            &[
                ("semantics", "semantics"),
                ("inputs_hash", "inputs hash"),
                ("outputs_hash", "outputs hash"),
            ],
        );
    }
}

/// A command as a shell would need it: where a word begins and ends is never in doubt.
fn command_text(command: Node<'_>) -> Option<String> {
    let words = List::of(command).lines();
    let mut command: Vec<_> = words.shown.iter().map(|word| quote(word)).collect();
    if words.left_out > 0 {
        command.push(format!("… ({})", counted(words.left_out, "more argument")));
    }
    (!command.is_empty()).then(|| command.join(" "))
}

/// A word of a command line, in quotes unless it is plain to every shell.
fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_./=:,@%+-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A document with its engine's schema. The schemas of a recorded command were generated, so they are not
/// used.
fn tree<'a>(run: Run<'a, '_>, title: &str, file: &str, schema: &str) -> Option<Block<'a>> {
    let root = run.document(file)?;
    let has_schema = run.reading.kind() != RunKind::Recorded;
    let body = Body::Tree(Tree {
        root,
        schema: run.document(schema).filter(|_| has_schema),
    });
    Some(
        Block::new(title, body)
            .about(About::file(file))
            .remark(file),
    )
}

fn add_inputs<'a>(description: &mut Description<'a>, run: Run<'a, '_>) {
    let is_engine = run.reading.kind() == RunKind::Engine;
    if run.reading.kind() != RunKind::Recorded
        && let Some(manifest) = run.document(MANIFEST)
        && let Some(text) = text_at(manifest, "description")
    {
        let body = Body::Words(Words::Plain(text.into()));
        let block = Block::new("The engine", body).remark("in its maker's words");
        description.asked.push(block.about(About::file(MANIFEST)));
    }
    if is_engine {
        let parameters = tree(run, "Parameters", RUN_PARAMETERS, "");
        description.asked.extend(parameters);
    }
    let input = tree(run, "Input", RUN_INPUT, INPUT_SCHEMA);
    description.asked.extend(input);
    if is_engine && let Some(stripped) = run.document(CONTEXT_STRIPPED) {
        let list = list_at(stripped, "stripped");
        if !list.is_empty() {
            let title = "Taken out of the input before the run";
            let block = Block::new(title, Body::List(list.lines()));
            description
                .asked
                .push(block.about(About::file(CONTEXT_STRIPPED)));
        }
    }
    let given = run.shown(Role::Input);
    let given = given.filter(|file| !file.path.starts_with("RUN_"));
    for file in given.take(CONTENTS) {
        let block = content_block(run.exhibit, &file.path);
        description.asked.push(block.folded());
    }
}

fn add_doings<'a>(description: &mut Description<'a>, run: Run<'a, '_>) {
    let picture = run_picture(run);
    description
        .done
        .push(Block::new("The run", Body::Picture(picture)));
    description.done.extend(command_step(run));
    if run.reading.kind() == RunKind::Recorded
        && let Some(calls) = run.document(MODEL_IO)
    {
        let conversation = conversation_block(run.exhibit, MODEL_IO, calls);
        description.done.extend(conversation);
    }
    let mut timeline = Timeline::default();
    if let Some(environment) = run.document(RUN_ENVIRONMENT) {
        for prefix in ["", "timing.", "execution.", "run."] {
            for end in ["completed_at", "ended_at", "finished_at"] {
                let from = format!("{prefix}started_at");
                timeline.add_span(
                    "command",
                    (RUN_ENVIRONMENT, environment),
                    &from,
                    &format!("{prefix}{end}"),
                );
            }
            let begin = text_at(environment, &format!("{prefix}started_at"));
            let length = integer_at(environment, &format!("{prefix}duration_ms"));
            timeline.push("command", begin, length);
        }
        description.done.extend(timeline.into_block());
        let block = document_block("Where it ran", RUN_ENVIRONMENT, environment);
        description
            .done
            .push(block.remark(RUN_ENVIRONMENT).folded());
    }
    for file in run.shown(Role::Engine).take(CONTENTS) {
        let block = content_block(run.exhibit, &file.path);
        description.done.push(block.folded());
    }
}

/// The command with what it printed.
fn command_step<'a>(run: Run<'a, '_>) -> Option<Block<'a>> {
    let command = run.reading.command().and_then(command_text)?;
    let mut facts = Vec::new();
    if let Some(manifest) = run.document(MANIFEST) {
        facts.extend(facts_of(
            manifest,
            &[
                ("execution.limits.timeout_seconds", "time limit in seconds"),
                ("execution.limits.memory_bytes", "memory limit in bytes"),
            ],
        ));
    }
    let ending = run.reading.ending();
    let output = run.document(RUN_OUTPUT);
    if run.reading.kind() == RunKind::Recorded
        && let Some(output) = output
    {
        let members = [
            ("exit_status", "exit status"),
            ("signal", "ended by signal"),
            ("interrupted", "interrupted by signal"),
        ];
        facts.extend(facts_of(output, &members));
    }
    if let Some(environment) = run.document(RUN_ENVIRONMENT) {
        facts.extend(facts_of(
            environment,
            &[
                ("duration_ms", "milliseconds"),
                ("peak_memory_bytes", "peak memory in bytes"),
            ],
        ));
    }
    let (state, mark) = match ending {
        RunEnding::Exited(0) => (Some("exit status 0".to_owned()), Mark::Good),
        RunEnding::Exited(status) => (Some(format!("exit status {status}")), Mark::Bad),
        RunEnding::Signaled(signal) => (Some(format!("ended by signal {signal}")), Mark::Bad),
        RunEnding::Interrupted(signal) => {
            (Some(format!("interrupted by signal {signal}")), Mark::Bad)
        }
        RunEnding::Failed => (Some("failed".to_owned()), Mark::Bad),
        RunEnding::Completed | RunEnding::Unknown => (None, Mark::Plain),
    };
    // A terminal's times are for programs that play them; what it showed is in the other logs.
    let logs = run
        .shown(Role::Log)
        .filter(|file| file.path != TERMINAL_LOG);
    let logs: Vec<_> = logs.take(CONTENTS).collect();
    let texts = logs.iter().map(|file| {
        let words = match run.exhibit.contents.get(&file.path) {
            Some(bytes) => words_of(bytes),
            None => Words::Missing("too long to be shown".to_owned()),
        };
        let label = match file.path.as_str() {
            STDOUT_LOG => "standard output".to_owned(),
            STDERR_LOG => "standard error".to_owned(),
            path => path.to_owned(),
        };
        (label, words)
    });
    let step = Step {
        title: command,
        state,
        mark,
        facts,
        texts: texts.collect(),
        about: logs.iter().map(|file| About::file(&*file.path)).collect(),
    };
    Some(Block::new("The command", Body::Steps(vec![step])))
}

fn run_picture(run: Run<'_, '_>) -> super::Picture {
    let of_role = |role: Role| {
        let card = |file: &MemberFile| {
            let about = About::file(&*file.path);
            Card::new(file.path.clone(), content_type_of(&file.path), Mark::Plain).about(about)
        };
        run.shown(role).map(card)
    };
    let meta = run.document(RUN_META);
    let of_meta = |path| {
        meta.and_then(|meta| text_at(meta, path))
            .unwrap_or_default()
    };
    let engine = Card::new(
        of_meta("engine_code"),
        of_meta("engine_version"),
        Mark::Plain,
    )
    .about(About::file(RUN_META));
    let output = run.document(RUN_OUTPUT).map(|output| {
        let semantics = text_at(output, "semantics").unwrap_or_default();
        Card::new(RUN_OUTPUT, semantics, Mark::Plain).about(About::file(RUN_OUTPUT))
    });
    flow(vec![
        Lane::new("Contracts", of_role(Role::Contract)),
        Lane::new("Inputs", of_role(Role::Input)),
        Lane::new("Engine", [engine].into_iter().chain(of_role(Role::Engine))),
        Lane::new("Outputs", output.into_iter().chain(of_role(Role::Artifact))),
    ])
}

/// The roles in the order of the list of all files: first what the user made, then what every bundle has.
const ORDER: [Role; 9] = [
    Role::Artifact,
    Role::Output,
    Role::Log,
    Role::Input,
    Role::Engine,
    Role::Environment,
    Role::Contract,
    Role::Meta,
    Role::Index,
];

fn add_outputs<'a>(description: &mut Description<'a>, run: Run<'a, '_>) {
    let artifacts = run.shown(Role::Artifact);
    let artifacts = artifacts.map(|file| file.path.as_str());
    let output = tree(run, "Output", RUN_OUTPUT, OUTPUT_SCHEMA);
    if run.reading.kind() == RunKind::Recorded && artifacts.clone().next().is_some() {
        // The output of a recorded command only lists the files that it left, so the files come first.
        add_contents(description, run.exhibit, "artifact", artifacts);
        description.came_out.extend(output.map(Block::folded));
    } else {
        description.came_out.extend(output);
        add_contents(description, run.exhibit, "artifact", artifacts);
    }
    let is_listed = |file: &&MemberFile| !matches!(file.path.as_str(), ARTIFACT_INDEX | SUMS);
    let files = |role| run.files(role).filter(is_listed);
    let all = || ORDER.into_iter().flat_map(|role| files(Some(role)));
    let row = |file: &'a MemberFile| {
        let role = run.reading.role_of(&file.path).map_or("", Role::name);
        (
            file,
            vec![role.to_owned(), content_type_of(&file.path).to_owned()],
        )
    };
    let columns = ["path", "role", "type", "sha256"];
    let table = files_table("All artifacts", &columns, all().map(row));
    description.came_out.extend(table);
    let row = |file: &'a MemberFile| (file, vec![size_text(file.bytes)]);
    let unknown = files_table(
        "Not part of the run",
        &["path", "size", "sha256"],
        files(None).map(row),
    );
    let remark = "files at paths that the format does not know: nothing says what they are, and a replay does not \
                  compare them";
    description
        .came_out
        .extend(unknown.map(|it| it.remark(remark)));
}

/// A table of files, each with its path, some cells and its digest; nothing if there are no files.
fn files_table<'a, 'f>(
    title: &str,
    columns: &[&str],
    mut files: impl Iterator<Item = (&'f MemberFile, Vec<String>)>,
) -> Option<Block<'a>> {
    let row = |(file, mut cells): (&MemberFile, Vec<String>)| {
        cells.insert(0, file.path.clone());
        cells.push(file.sha256.map(|it| it.to_string()).unwrap_or_default());
        Row {
            cells,
            about: vec![About::file(&*file.path)],
        }
    };
    let rows: Vec<_> = files.by_ref().take(ROWS).map(row).collect();
    let table = Table {
        columns: columns.iter().map(|name| (*name).to_owned()).collect(),
        left_out: files.count(),
        rows,
    };
    (!table.rows.is_empty()).then(|| Block::new(title, Body::Table(table)))
}

/// An engine's contracts.
pub(super) fn describe_engine<'a>(description: &mut Description<'a>, exhibit: &Exhibit<'a>) {
    let is_manifest = |name: &&String| name.ends_with("ENGINE_MANIFEST.json");
    let name = exhibit.documents.keys().find(is_manifest);
    if let Some(manifest) = name.and_then(|name| exhibit.document(name)) {
        let text = |path| text_at(manifest, path).unwrap_or_default();
        let name = format!("{} {}", text("engine_code"), text("engine_version"));
        description.headline = match text("engine_code").as_str() {
            "" => Some(format!("An engine without a code, {}", name.trim())),
            _ => Some(name.trim().to_owned()),
        };
        description.add_facts(
            manifest,
            &[
                ("engine_code", "engine"),
                ("engine_version", "version"),
                ("execution.command", "command"),
                ("compatibility.replay_versions", "replays versions"),
            ],
        );
        if let Some(text) = string_at(manifest, "description") {
            let body = Body::Words(Words::Plain(text));
            let block = Block::new("The engine", body).remark("in its maker's words");
            description.asked.push(block);
        }
    }
    let is_shown = |path: &&str| path.ends_with(".json") || path.ends_with(".md");
    let files = exhibit.files.iter().map(|file| file.path.as_str());
    for path in files.filter(is_shown).take(CONTENTS) {
        description
            .came_out
            .push(content_block(exhibit, path).folded());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_command_line_are_told_apart_whatever_is_in_them() {
        assert_eq!(quote("a/b-c=1.py"), "a/b-c=1.py");
        assert_eq!(quote(""), "''");
        assert_eq!(quote("; echo gone"), "'; echo gone'");
        assert_eq!(quote("safe' 'x"), r"'safe'\'' '\''x'");
    }
}
