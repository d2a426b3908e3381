//! The job bundle: what was to be read, and the texts that were read.

use std::collections::{BTreeMap, BTreeSet};

use runseal_core::canon::Node;

use super::content::words_of;
use super::members::{List, facts_of, list_at, table_at, text_at, text_of};
use super::picture::{Card, Lane, Mark, flow, lane_of};
use super::{About, Block, Body, Description, Fact, Step, Words};
use crate::exhibit::Exhibit;
use crate::limits::STEPS;
use crate::reveal::counted;

const MANIFEST: &str = "bundle.json";

pub(super) fn describe_job<'a>(description: &mut Description<'a>, exhibit: &Exhibit<'a>) {
    let Some(root) = exhibit.document(MANIFEST) else {
        return;
    };
    let (steps, artifacts) = (list_at(root, "steps"), list_at(root, "artifacts"));
    description.headline = text_at(root, "job_id").map(|job| {
        let (steps, artifacts) = (
            counted(steps.len(), "step"),
            counted(artifacts.len(), "artifact"),
        );
        format!("Job {job}: {steps}, {artifacts}")
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
    let has = |member: &str| steps.iter().any(|step| text_at(step, member).is_some());
    let mut columns = vec![("ordinal", "#"), ("op", "operation")];
    for (member, label) in [("refs.symbol_id", "symbol"), ("refs.section_id", "section")] {
        if has(member) {
            columns.push((member, label));
        }
    }
    columns.extend([("constraints.slice", "slice"), ("step_id", "step")]);
    let plan = table_at("The plan", (MANIFEST, root), "steps", &columns);
    description.asked.extend(plan);
    description.done.push(job_picture(root, steps, artifacts));
    let shown: Vec<_> = steps.iter().take(STEPS).collect();
    let asked: BTreeSet<_> = shown.iter().map(|step| asked_by(*step)).collect();
    let given = artifacts.iter().map(|artifact| {
        let text = |member| text_at(artifact, member).unwrap_or_default();
        ((text("ref"), text("slice")), artifact)
    });
    let given: BTreeMap<_, _> = given.filter(|(key, _)| asked.contains(key)).collect();
    let read: Vec<_> = (shown.iter().enumerate())
        .map(|(at, step)| read_step(exhibit, at, *step, &given))
        .collect();
    if !read.is_empty() {
        let mut block = Block::new("What was read", Body::Steps(read));
        if steps.len() > STEPS {
            block = block.remark(format!("the first {STEPS} of {} steps", steps.len()));
        }
        description.done.push(block);
    }
    description.came_out.extend(artifact_table(root, artifacts));
}

fn job_picture<'a>(root: Node<'_>, steps: List<'_>, artifacts: List<'_>) -> Block<'a> {
    let inputs = ["inputs.symbols", "inputs.files"].map(|path| list_at(root, path));
    let inputs = inputs.iter().flat_map(|list| list.iter());
    let lanes = vec![
        Lane::new(
            "Inputs",
            inputs.map(|input| Card::new(text_of(input), "", Mark::Plain)),
        ),
        lane_of("Steps", steps, step_card),
        lane_of("Artifacts", artifacts, |_, artifact| {
            artifact_card(artifact)
        }),
    ];
    Block::new("From inputs to artifacts", Body::Picture(flow(lanes)))
}

fn artifact_table<'a>(root: Node<'_>, artifacts: List<'_>) -> Option<Block<'a>> {
    let columns = [
        ("artifact_id", "artifact"),
        ("ref", "of"),
        ("slice", "slice"),
        ("bytes", "bytes"),
        ("sha256", "sha256"),
    ];
    let mut block = table_at("Artifacts", (MANIFEST, root), "artifacts", &columns)?;
    if let Body::Table(table) = &mut block.body {
        for (row, artifact) in table.rows.iter_mut().zip(artifacts.iter()) {
            row.about.push(About::file(path_of(artifact)));
        }
    }
    Some(block)
}

fn path_of(artifact: Node<'_>) -> String {
    text_at(artifact, "path").unwrap_or_default()
}

fn step_card(at: usize, step: Node<'_>) -> Card {
    let text = |path| text_at(step, path).unwrap_or_default();
    Card::new(text("op"), text("constraints.slice"), Mark::Plain)
        .about(About::place(MANIFEST, format!("/steps/{at}")))
}

fn artifact_card(artifact: Node<'_>) -> Card {
    let bytes = text_at(artifact, "bytes").map(|bytes| format!("{bytes} bytes"));
    let id = text_at(artifact, "artifact_id").unwrap_or_default();
    Card::new(id, bytes.unwrap_or_default(), Mark::Plain).about(About::file(path_of(artifact)))
}

/// What a step refers to, and the slice of that.
fn asked_by(step: Node<'_>) -> (String, String) {
    let symbol = text_at(step, "refs.symbol_id");
    let reference = symbol.or_else(|| text_at(step, "refs.section_id"));
    let slice = text_at(step, "constraints.slice");
    (reference.unwrap_or_default(), slice.unwrap_or_default())
}

fn read_step<'a>(
    exhibit: &Exhibit<'a>,
    at: usize,
    step: Node<'a>,
    artifacts: &BTreeMap<(String, String), Node<'a>>,
) -> Step<'a> {
    let asked = asked_by(step);
    let artifact = artifacts.get(&asked);
    let (reference, slice) = asked;
    let path = artifact.map(|artifact| path_of(*artifact));
    let bytes = path.as_ref().and_then(|path| exhibit.contents.get(path));
    let words = match (bytes, &path) {
        (Some(bytes), _) => words_of(bytes),
        (None, Some(_)) => {
            Words::Missing("the text is too long to be shown, or missing".to_owned())
        }
        (None, None) => Words::Missing("no artifact belongs to this step".to_owned()),
    };
    let mut about = vec![About::place(MANIFEST, format!("/steps/{at}"))];
    about.extend(path.clone().map(About::file));
    let mut facts: Vec<Fact> = facts_of(step, &[("step_id", "step")]);
    if let Some(path) = path {
        facts.push(Fact {
            label: "kept as".to_owned(),
            value: path,
        });
    }
    Step {
        title: format!("{slice} of {reference}"),
        state: text_at(step, "op"),
        mark: Mark::Plain,
        facts,
        texts: vec![("the text that was read".to_owned(), words)],
        about,
    }
}
