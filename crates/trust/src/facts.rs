//! What a unit says about itself, for predicates and for the selectors of policies. The verifier
//! decides whether it is true.

use std::collections::BTreeMap;

use runseal_core::canon::Node;
use runseal_core::digest::Digest;
use runseal_core::formats::Format;
use runseal_core::formats::redacted::documents::REDACTION;

use crate::predicate::Facts;

/// The place of a fact: document, member path, and the fact's name.
type Place = (&'static str, &'static [&'static str], &'static str);

const RUN_IDS: [Place; 3] = [
    ("RUN_META.json", &["run_id"], "run_id"),
    ("RUN_META.json", &["engine_code"], "engine_code"),
    ("RUN_META.json", &["engine_version"], "engine_version"),
];
const RUN_ROOTS: [Place; 2] = [
    ("RUN_OUTPUT.json", &["inputs_hash"], "inputs_hash"),
    ("RUN_OUTPUT.json", &["outputs_hash"], "outputs_hash"),
];
const PACK_IDS: [Place; 2] = [
    ("run.json", &["run_id"], "run_id"),
    ("run.json", &["bundle", "bundle_id"], "bundle_id"),
];
const PACK_ROOTS: [Place; 2] = [
    ("run.json", &["intent", "sha256"], "intent"),
    ("run.json", &["bundle", "sha256"], "bundle"),
];
const JOB_IDS: [Place; 3] = [
    ("bundle.json", &["bundle_id"], "bundle_id"),
    ("bundle.json", &["run_id"], "run_id"),
    ("bundle.json", &["job_id"], "job_id"),
];
const JOB_ROOTS: [Place; 2] = [
    ("bundle.json", &["hashes", "root_hash"], "root_hash"),
    ("bundle.json", &["plan_hash"], "plan_hash"),
];
const COPY_IDS: [Place; 6] = [
    ("RUN_META.json", &["run_id"], "run_id"),
    ("RUN_META.json", &["engine_code"], "engine_code"),
    ("RUN_META.json", &["engine_version"], "engine_version"),
    ("run.json", &["run_id"], "run_id"),
    ("bundle.json", &["run_id"], "run_id"),
    ("bundle.json", &["job_id"], "job_id"),
];
const DOCUMENT_IDS: [Place; 3] = [
    ("", &["id"], "id"),
    ("", &["run_id"], "run_id"),
    ("", &["job_id"], "job_id"),
];
const DOCUMENT_ROOTS: [Place; 3] = [
    ("", &["source_intent_hash"], "source_intent_hash"),
    ("", &["source_bundle_hash"], "source_bundle_hash"),
    ("", &["receipt_hash"], "receipt_hash"),
];

fn text_at(node: Node<'_>, path: &[&str]) -> Option<String> {
    let found = path
        .iter()
        .try_fold(node, |node, member| node.get(member))?;
    found.as_str().map(|text| text.into_owned())
}

/// Reads the facts of a unit from its documents, by name; a single document has the name "".
/// `ended_as` is the outcome found when the unit was judged.
pub fn read_facts<'a>(
    format: Format,
    ended_as: Option<&str>,
    get: impl Fn(&str) -> Option<Node<'a>>,
) -> Facts {
    let (ids, roots): (&[Place], &[Place]) = match format {
        Format::RunBundle => (&RUN_IDS, &RUN_ROOTS),
        // Digests would give away withheld values. A copy may be of any format with these ids.
        Format::Redacted => (&COPY_IDS, &[]),
        Format::Pack => (&PACK_IDS, &PACK_ROOTS),
        Format::JobBundle => (&JOB_IDS, &JOB_ROOTS),
        _ => (&DOCUMENT_IDS, &DOCUMENT_ROOTS),
    };
    let collect = |places: &[Place]| -> BTreeMap<String, String> {
        let found = places.iter().filter_map(|(document, path, name)| {
            Some(((*name).to_owned(), text_at(get(document)?, path)?))
        });
        found.collect()
    };
    Facts {
        format: format.name().to_owned(),
        original: match format {
            Format::Redacted => {
                get(REDACTION).and_then(|commitment| text_at(commitment, &["format"]))
            }
            _ => None,
        },
        ids: collect(ids),
        roots: collect(roots),
        outcome: ended_as.map(str::to_owned),
        is_outcome_unknown: false,
        sealed_at: get("RUN_META.json").and_then(|meta| text_at(meta, &["sealed_at"])),
    }
}

/// Returns the files of a run bundle that went into the run.
pub fn read_inputs<'a>(
    format: Format,
    get: impl Fn(&str) -> Option<Node<'a>>,
) -> BTreeMap<String, Digest> {
    if format != Format::RunBundle {
        return BTreeMap::new();
    }
    let Some(index) = get("ARTIFACT_INDEX.json") else {
        return BTreeMap::new();
    };
    let list = index.get("artifacts").unwrap_or(index);
    let entries = list.as_array().into_iter().flatten();
    entries
        .filter_map(|entry| {
            let role = text_at(entry, &["role"])?;
            let path = text_at(entry, &["relative_path"])?;
            let digest = Digest::parse_hex(&text_at(entry, &["sha256"])?).ok()?;
            ["INPUT", "ENGINE", "CONTRACT"]
                .contains(&role.as_str())
                .then_some((path, digest))
        })
        .collect()
}
