//! The run bundle: contracts, inputs, the command and what it printed, outputs; and the engine alone.

use runseal_core::canon::{Kind, Node};
use runseal_core::formats::run_bundle::recorded::NEVER_SEEN;

use super::content::{add_contents, content_block, words_of};
use super::members::{
    List, ListPlace, at, facts_of, integer_at, list_at, string_at, table, text_at, text_of,
};
use super::model::conversation_block;
use super::picture::{Card, Lane, Mark, flow};
use super::plain::document_block;
use super::timeline::Timeline;
use super::{About, Block, Body, Description, Step, Tree, Words};
use crate::exhibit::Exhibit;
use crate::limits::{CONTENTS, ROWS};
use crate::reveal::counted;

const INDEX: &str = "ARTIFACT_INDEX.json";
const INPUT: &str = "RUN_INPUT.json";
const OUTPUT: &str = "RUN_OUTPUT.json";
const META: &str = "RUN_META.json";
const ENVIRONMENT: &str = "RUN_ENVIRONMENT.json";
const MODEL_IO: &str = "model_io.json";

/// The engine code of a command that was recorded as it ran.
const RECORDED: &str = "RECORDED_COMMAND";

/// An entry of the bundle's index.
struct Entry<'a> {
    at: usize,
    path: String,
    role: String,
    node: Node<'a>,
}

pub(super) fn describe_run<'a>(description: &mut Description<'a>, exhibit: &Exhibit<'a>) {
    add_identity(description, exhibit);
    add_inputs(description, exhibit);
    add_doings(description, exhibit);
    add_outputs(description, exhibit);
    if let Some(environment) = exhibit.document(ENVIRONMENT) {
        description.add_facts(
            environment,
            &[
                ("sandbox.level", "sandbox"),
                ("observation.level", "observation"),
            ],
        );
        let gaps = ["observation.gaps", "capture_gaps", "gaps"];
        let gaps = gaps.map(|path| list_at(environment, path));
        let all = || gaps.iter().flat_map(|list| list.iter());
        // What this run lacks first, then what every recording does.
        let is_general = |gap: &Node<'_>| text_at(*gap, "kind").as_deref() == Some(NEVER_SEEN);
        let own = all().filter(|gap| !is_general(gap));
        let gaps = own.chain(all().filter(is_general)).take(ROWS);
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

/// The list of the index.
fn index_of<'a>(exhibit: &Exhibit<'a>) -> List<'a> {
    let list = exhibit.document(INDEX).map(|index| match index.kind() {
        Kind::Array => List::of(index),
        _ => list_at(index, "artifacts"),
    });
    list.unwrap_or_default()
}

/// Its entries, each made when it is asked for: there may be a million of them.
fn entries_of<'a>(exhibit: &Exhibit<'a>) -> impl Iterator<Item = Entry<'a>> + Clone + use<'a> {
    let entry = |(at, node): (usize, Node<'a>)| Entry {
        at,
        path: text_at(node, "relative_path").unwrap_or_default(),
        role: text_at(node, "role").unwrap_or_default(),
        node,
    };
    index_of(exhibit).iter().enumerate().map(entry)
}

fn add_identity<'a>(description: &mut Description<'a>, exhibit: &Exhibit<'a>) {
    let meta = exhibit.document(META);
    let of_meta = |path| meta.and_then(|meta| text_at(meta, path));
    let engine = of_meta("engine_code").unwrap_or_else(|| "an unknown engine".to_owned());
    let argv = exhibit
        .document(INPUT)
        .and_then(|input| command_of(input, "argv"));
    description.headline = Some(match argv {
        Some(command) if engine == RECORDED => command,
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
    if let Some(output) = exhibit.document(OUTPUT) {
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

/// A list of words as one command line.
fn command_of(node: Node<'_>, path: &str) -> Option<String> {
    let list = list_at(node, path);
    let words = list.lines();
    let word = |word: &String| match word.is_empty() || word.contains(char::is_whitespace) {
        true => format!("'{word}'"),
        false => word.clone(),
    };
    let mut command: Vec<_> = words.shown.iter().map(word).collect();
    if words.left_out > 0 {
        command.push(format!("… ({})", counted(words.left_out, "more argument")));
    }
    (!command.is_empty()).then(|| command.join(" "))
}

fn tree<'a>(exhibit: &Exhibit<'a>, title: &str, file: &str, schema: &str) -> Option<Block<'a>> {
    let root = exhibit.document(file)?;
    let body = Body::Tree(Tree {
        root,
        schema: exhibit.document(schema),
    });
    Some(
        Block::new(title, body)
            .about(About::file(file))
            .remark(file),
    )
}

fn add_inputs<'a>(description: &mut Description<'a>, exhibit: &Exhibit<'a>) {
    if let Some(manifest) = exhibit.document("ENGINE_MANIFEST.json")
        && let Some(text) = text_at(manifest, "description")
    {
        let body = Body::Words(Words::Plain(text.into()));
        let block = Block::new("The engine", body).remark("in its maker's words");
        description
            .asked
            .push(block.about(About::file("ENGINE_MANIFEST.json")));
    }
    description
        .asked
        .extend(tree(exhibit, "Parameters", "RUN_PARAMETERS.json", ""));
    description
        .asked
        .extend(tree(exhibit, "Input", INPUT, "INPUT_SCHEMA.json"));
    if let Some(stripped) = exhibit.document("RUN_CONTEXT_STRIPPED.json") {
        let list = list_at(stripped, "stripped");
        if !list.is_empty() {
            let title = "Taken out of the input before the run";
            let block = Block::new(title, Body::List(list.lines()));
            description
                .asked
                .push(block.about(About::file("RUN_CONTEXT_STRIPPED.json")));
        }
    }
    let of_input = |entry: &Entry<'a>| {
        entry.role == "INPUT" && !entry.path.starts_with("RUN_") && !is_exact(&entry.path)
    };
    for entry in entries_of(exhibit).filter(of_input).take(CONTENTS) {
        description
            .asked
            .push(content_block(exhibit, &entry.path).folded());
    }
}

/// Copies of JSON files byte for byte, which stand beside their canonical form.
fn is_exact(path: &str) -> bool {
    path.starts_with("exact/")
}

fn add_doings<'a>(description: &mut Description<'a>, exhibit: &Exhibit<'a>) {
    let picture = run_picture(exhibit);
    description
        .done
        .push(Block::new("The run", Body::Picture(picture)));
    description.done.extend(command_step(exhibit));
    if let Some(calls) = exhibit.document(MODEL_IO) {
        description
            .done
            .extend(conversation_block(exhibit, MODEL_IO, calls));
    }
    let mut timeline = Timeline::default();
    if let Some(environment) = exhibit.document(ENVIRONMENT) {
        for prefix in ["", "timing.", "execution.", "run."] {
            for end in ["completed_at", "ended_at", "finished_at"] {
                let from = format!("{prefix}started_at");
                timeline.add_span(
                    "command",
                    (ENVIRONMENT, environment),
                    &from,
                    &format!("{prefix}{end}"),
                );
            }
            let begin = text_at(environment, &format!("{prefix}started_at"));
            let length = integer_at(environment, &format!("{prefix}duration_ms"));
            timeline.push("command", begin, length);
        }
        description.done.extend(timeline.into_block());
        let block = document_block("Where it ran", ENVIRONMENT, environment);
        description.done.push(block.remark(ENVIRONMENT).folded());
    }
    let of_engine = |entry: &Entry<'a>| entry.role == "ENGINE" && !is_exact(&entry.path);
    for entry in entries_of(exhibit).filter(of_engine).take(CONTENTS) {
        description
            .done
            .push(content_block(exhibit, &entry.path).folded());
    }
}

/// The command with what it printed.
fn command_step<'a>(exhibit: &Exhibit<'a>) -> Option<Block<'a>> {
    let (input, output) = (exhibit.document(INPUT), exhibit.document(OUTPUT));
    let manifest = exhibit.document("ENGINE_MANIFEST.json");
    let command = (input.and_then(|input| command_of(input, "argv")))
        .or_else(|| manifest.and_then(|manifest| command_of(manifest, "execution.command")))?;
    let mut facts = Vec::new();
    if let Some(manifest) = manifest {
        facts.extend(facts_of(
            manifest,
            &[
                ("execution.limits.timeout_seconds", "time limit in seconds"),
                ("execution.limits.memory_bytes", "memory limit in bytes"),
            ],
        ));
    }
    let environment = exhibit.document(ENVIRONMENT);
    for document in [output, environment].into_iter().flatten() {
        facts.extend(facts_of(
            document,
            &[
                ("exit_status", "exit status"),
                ("exit_code", "exit code"),
                ("signal", "ended by signal"),
                ("duration_ms", "milliseconds"),
                ("peak_memory_bytes", "peak memory in bytes"),
            ],
        ));
    }
    let status = output.and_then(|output| text_at(output, "exit_status"));
    let mark = match output.and_then(|output| at(output, "failed")?.as_bool()) {
        Some(true) => Mark::Bad,
        Some(false) => Mark::Good,
        None => Mark::Plain,
    };
    let is_log = |entry: &Entry<'a>| entry.role == "LOG";
    let logs: Vec<_> = (entries_of(exhibit).filter(is_log).take(CONTENTS)).collect();
    let texts = logs.iter().map(|entry| {
        let words = match exhibit.contents.get(&entry.path) {
            Some(bytes) => words_of(bytes),
            None => Words::Missing("too long to be shown".to_owned()),
        };
        let label = match entry.path.rsplit('/').next() {
            Some("stdout.txt") => "standard output".to_owned(),
            Some("stderr.txt") => "standard error".to_owned(),
            _ => entry.path.clone(),
        };
        (label, words)
    });
    let step = Step {
        title: command,
        state: status.map(|status| format!("exit status {status}")),
        mark,
        facts,
        texts: texts.collect(),
        about: logs.iter().map(|entry| About::file(&*entry.path)).collect(),
    };
    Some(Block::new("The command", Body::Steps(vec![step])))
}

fn run_picture(exhibit: &Exhibit<'_>) -> super::Picture {
    let of_role = |role: &'static str| {
        let is_role = move |entry: &Entry<'_>| entry.role == role && !is_exact(&entry.path);
        let card = |entry: Entry<'_>| {
            let detail = text_at(entry.node, "content_type").unwrap_or_default();
            Card::new(entry.path.clone(), detail, Mark::Plain).about(About::file(&*entry.path))
        };
        entries_of(exhibit).filter(is_role).map(card)
    };
    let meta = exhibit.document(META);
    let of_meta = |path| {
        meta.and_then(|meta| text_at(meta, path))
            .unwrap_or_default()
    };
    let engine = Card::new(
        of_meta("engine_code"),
        of_meta("engine_version"),
        Mark::Plain,
    )
    .about(About::file(META));
    let output = exhibit.document(OUTPUT).map(|output| {
        let semantics = text_at(output, "semantics").unwrap_or_default();
        Card::new(OUTPUT, semantics, Mark::Plain).about(About::file(OUTPUT))
    });
    flow(vec![
        Lane::new("Contracts", of_role("CONTRACT")),
        Lane::new("Inputs", of_role("INPUT")),
        Lane::new("Engine", [engine].into_iter().chain(of_role("ENGINE"))),
        Lane::new("Outputs", output.into_iter().chain(of_role("ARTIFACT"))),
    ])
}

fn add_outputs<'a>(description: &mut Description<'a>, exhibit: &Exhibit<'a>) {
    let of_artifact = |entry: &Entry<'a>| entry.role == "ARTIFACT" && !is_exact(&entry.path);
    let artifacts = entries_of(exhibit).filter(of_artifact);
    let artifacts = artifacts.map(|entry| entry.path);
    let output = tree(exhibit, "Output", OUTPUT, "OUTPUT_SCHEMA.json");
    let meta = exhibit.document(META);
    let engine = meta.and_then(|meta| text_at(meta, "engine_code"));
    if engine.as_deref() == Some(RECORDED) && artifacts.clone().next().is_some() {
        // The output of a recorded command is a list of the files that it left: the files come first.
        add_contents(description, exhibit, "artifact", artifacts);
        description.came_out.extend(output.map(Block::folded));
    } else {
        description.came_out.extend(output);
        add_contents(description, exhibit, "artifact", artifacts);
    }
    // What the user made first, then what everybody's bundle has.
    let rank = |entry: &Entry<'_>| match entry.role.as_str() {
        "ARTIFACT" => 0,
        "OUTPUT" => 1,
        "LOG" => 2,
        "INPUT" => 3,
        "ENGINE" => 4,
        _ => OTHERS,
    };
    let of_rank = |wanted| entries_of(exhibit).filter(move |entry| rank(entry) == wanted);
    let ordered: Vec<_> = (0..=OTHERS).flat_map(of_rank).take(ROWS).collect();
    let list = ListPlace {
        elements: ordered.iter().map(|entry| entry.node).collect(),
        total: index_of(exhibit).len(),
        file: INDEX,
        pointer: "/artifacts",
    };
    let columns = [
        ("relative_path", "path"),
        ("role", "role"),
        ("content_type", "declared type"),
        ("sha256", "sha256"),
    ];
    if let Some(mut block) = table("All artifacts", &list, &columns) {
        if let Body::Table(table) = &mut block.body {
            for (row, entry) in table.rows.iter_mut().zip(&ordered) {
                let place = About::place(INDEX, format!("/artifacts/{}", entry.at));
                row.about = vec![place, About::file(&*entry.path)];
            }
        }
        description.came_out.push(block);
    }
}

/// The rank in the list of all files of what has none of its own.
const OTHERS: u8 = 5;

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
