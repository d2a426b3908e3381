//! The run bundle: contracts, inputs, engine, outputs.

use super::members::{list_at, table, text_at};
use super::picture::{Card, Lane, Mark};
use super::{Description, Documents, Section};
use crate::canon::{Kind, Node};
use crate::formats::run_bundle::recorded::{has_failed, is_recorded, parse_gaps, tell_gaps};

pub(crate) fn describe_run(description: &mut Description, documents: &Documents<'_>) {
    let get = |name: &str| documents.get(name).copied();
    let engine = get("RUN_META.json").and_then(|meta| text_at(meta, "engine_code"));
    let version = get("RUN_META.json").and_then(|meta| text_at(meta, "engine_version"));
    let engine = engine.unwrap_or_else(|| "unknown engine".to_owned());
    let version = version.unwrap_or_default();
    description.headline = Some(format!("Run of {engine} {version}"));
    if let Some(manifest) = get("ENGINE_MANIFEST.json").filter(|it| is_recorded(*it)) {
        describe_command(description, manifest, get("RUN_OUTPUT.json"));
    }
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
    if let Some(environment) = get("RUN_ENVIRONMENT.json") {
        describe_environment(description, environment);
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
    output_cards.extend(of_role("LOG"));
    let mut engine_cards = vec![Card::new(engine, version, Mark::Plain)];
    engine_cards.extend(of_role("ENGINE"));
    let lanes = vec![
        Lane::new("Contracts", of_role("CONTRACT")),
        Lane::new("Inputs", of_role("INPUT")),
        Lane::new("Engine", engine_cards),
        Lane::new("Outputs", output_cards),
    ];
    description.add_flow("The run", lanes);
}

/// A recorded command: what was run, and whether it failed.
fn describe_command(description: &mut Description, manifest: Node<'_>, output: Option<Node<'_>>) {
    let command = manifest
        .get("execution")
        .and_then(|execution| execution.get("command"));
    let words = command.iter().flat_map(|command| command.items());
    let words: Vec<String> = words
        .filter_map(|word| Some(word.as_lossy_str()?.into_owned()))
        .collect();
    let failed = output.is_some_and(has_failed);
    let ended = if failed { "FAILED run" } else { "Recorded run" };
    description.headline = Some(format!("{ended} of `{}`", words.join(" ")));
    description.add_fact("command", words.join(" "));
    if let Some(output) = output {
        let number = |name: &str| output.get(name)?.as_number()?.to_exact_i64();
        let how = match (number("exit_status"), number("signal")) {
            (Some(code), _) => format!("exit status {code}"),
            (None, Some(signal)) => format!("ended by signal {signal}"),
            (None, None) => "unknown".to_owned(),
        };
        let how = if failed { format!("FAILED: {how}") } else { how };
        description.add_fact("ended", how);
    }
}

/// What a run used of its machine, and what was not captured of it.
fn describe_environment(description: &mut Description, environment: Node<'_>) {
    description.add_facts(
        environment,
        &[
            ("kernel", "kernel"),
            ("architecture", "architecture"),
            ("folder", "folder"),
            ("program", "program"),
        ],
    );
    if let Some(level) = environment
        .get("sandbox")
        .and_then(|sandbox| text_at(sandbox, "level"))
    {
        description.add_fact("sandbox", level);
    }
    for gap in tell_gaps(environment) {
        description.add_fact("not captured", gap);
    }
    let rows: Vec<Vec<String>> = parse_gaps(environment)
        .into_iter()
        .map(|gap| vec![gap.kind, gap.detail])
        .collect();
    if !rows.is_empty() {
        description.sections.push(Section {
            title: "Not captured".to_owned(),
            columns: vec!["kind".to_owned(), "what".to_owned()],
            rows,
        });
    }
    let columns = [
        ("path", "path"),
        ("package", "package"),
        ("version", "version"),
        ("sha256", "sha256"),
    ];
    let files = list_at(environment, "files");
    description
        .sections
        .extend(table("Files of the machine", &files, &columns));
}
