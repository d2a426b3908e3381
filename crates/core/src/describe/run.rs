//! The run bundle: contracts, inputs, engine, outputs.

use super::members::{list_at, table, text_at};
use super::picture::{Card, Lane, Mark};
use super::{Description, Documents};
use crate::canon::{Kind, Node};

pub(crate) fn describe_run(description: &mut Description, documents: &Documents<'_>) {
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
