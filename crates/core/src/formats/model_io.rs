//! model_io.json: recorded model calls, MI1-MI11.
//!
//! Paths in findings are JSON paths that begin with `$`. A missing field silences only the rules
//! that need it.

use crate::formats::definition::{DocumentFormat, Identity, infos};
use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::canon::{Dialect, JsonPath, Kind, Node, Value, canonical_bytes};
use crate::digest::ContentHash;
use crate::formats::Format;
use crate::formats::shape::is_hash;
use crate::verify::{Findings, Gate, Level, Report, Rule, RuleInfo, Subject, run_rules};

/// Interactions of one recording at the most. Stops a recording that nobody could replay.
pub const MAX_INTERACTIONS: usize = 10_000;
/// Bytes of one response at the most.
pub const MAX_RESPONSE_BYTES: usize = 1_000_000;
/// Bytes of all responses together at the most.
pub const MAX_SESSION_BYTES: usize = 100_000_000;

const REQUIRED: [&str; 5] = [
    "model_io_schema_version",
    "adapter_id",
    "model_id",
    "mode",
    "interactions",
];
const CORE_OF_INTERACTION: [&str; 4] = ["i", "prompt_hash", "response_hash", "response_content"];

/// A recording as the rules see it.
#[derive(Debug, Clone, Copy)]
pub struct ModelIoView<'a> {
    /// The parsed document.
    pub root: Node<'a>,
}

/// Names the recording as the subject of its rules.
pub struct ModelIo;

impl Subject for ModelIo {
    type View<'a> = ModelIoView<'a>;
    const FORMAT: Format = Format::ModelIo;
}

/// Verifies a recording.
pub fn verify_model_io(view: &ModelIoView<'_>, level: Level) -> Report {
    run_rules(&RULES, view, level)
}

/// The hash of a recording: over the canonical form, without a trailing LF, of the five required
/// fields with only the four fields of each interaction that are part of the session.
pub fn compute_model_io_hash(root: Node<'_>) -> Option<ContentHash> {
    let mut core = Value::object::<Value>([]);
    for field in REQUIRED {
        let node = root.get(field)?;
        if field == "interactions" {
            core.insert(field, Value::array(node.items().map(interaction_core)));
        } else {
            core.insert(field, node.to_value());
        }
    }
    let bytes = canonical_bytes(&core, Dialect::Kernel).ok()?;
    Some(ContentHash::of(&bytes))
}

fn interaction_core(node: Node<'_>) -> Value {
    let mut core = Value::object::<Value>([]);
    for field in CORE_OF_INTERACTION {
        if let Some(member) = node.get(field) {
            core.insert(field, member.to_value());
        }
    }
    core
}

const fn info(id: &'static str, title: &'static str, explanation: &'static str) -> RuleInfo {
    RuleInfo {
        id,
        format: Format::ModelIo,
        title,
        section: "002 §3.1 model_io.json",
        level: Level::Document,
        explanation,
    }
}

/// The rules of a recording.
pub static RULES: [Rule<ModelIo>; 12] = [
    Rule {
        info: info(
            "SCHEMA",
            "the fields are there",
            "The document is an object with model_io_schema_version, adapter_id, model_id, mode \
             and interactions (a list).",
        ),
        gate: |_| Gate::Ready,
        check: check_schema,
    },
    Rule {
        info: info(
            "MI1",
            "the version is given",
            "model_io_schema_version is three numbers with dots between them.",
        ),
        gate: needs_object,
        check: check_version,
    },
    Rule {
        info: info(
            "MI2",
            "adapter and model are named",
            "adapter_id and model_id are strings that are not empty.",
        ),
        gate: needs_object,
        check: check_names,
    },
    Rule {
        info: info("MI3", "the mode is known", "mode is record or replay."),
        gate: needs_object,
        check: check_mode,
    },
    Rule {
        info: info(
            "MI4",
            "there are not too many interactions",
            "A recording has at most 10,000 interactions.",
        ),
        gate: needs_interactions,
        check: check_count,
    },
    Rule {
        info: info(
            "MI5",
            "interactions are numbered from 0",
            "The field i of each interaction is its place in the list: 0, 1, 2 and so on.",
        ),
        gate: needs_interactions,
        check: check_numbers,
    },
    Rule {
        info: info(
            "MI6",
            "prompts are hashed",
            "prompt_hash is sha256: and 64 lower-case hex digits.",
        ),
        gate: needs_interactions,
        check: check_prompts,
    },
    Rule {
        info: info(
            "MI7",
            "responses have their hashes",
            "response_hash is sha256: and 64 lower-case hex digits, and the hash of the UTF-8 \
             bytes of response_content, which is a string. A difference means that a response \
             was changed after it was recorded.",
        ),
        gate: needs_interactions,
        check: check_responses,
    },
    Rule {
        info: info(
            "MI8",
            "no interaction appears twice",
            "No two interactions have the same prompt_hash and the same i.",
        ),
        gate: needs_interactions,
        check: check_unique,
    },
    Rule {
        info: info(
            "MI9",
            "interactions are in order",
            "i rises from each interaction to the next. Every descent is named.",
        ),
        gate: needs_interactions,
        check: check_order,
    },
    Rule {
        info: info(
            "MI11",
            "responses are not too long",
            "A response has at most 1,000,000 bytes, all of them together at most 100,000,000.",
        ),
        gate: needs_interactions,
        check: check_sizes,
    },
    Rule {
        info: RuleInfo {
            level: Level::Integrity,
            ..info(
                "MI12",
                "prompts that are held have their hashes",
                "prompt_content, where an interaction has it, is a string with the hash that \
                 prompt_hash states. Recordings of other producers need not hold prompts.",
            )
        },
        gate: needs_interactions,
        check: check_held_prompts,
    },
];

/// The member of an interaction that holds the prompt itself.
pub const PROMPT_CONTENT: &str = "prompt_content";

fn needs_object(view: &ModelIoView<'_>) -> Gate {
    match view.root.kind() {
        Kind::Object => Gate::Ready,
        _ => Gate::NotRun("the document is no object"),
    }
}

fn needs_interactions(view: &ModelIoView<'_>) -> Gate {
    match view.root.get("interactions").map(|node| node.kind()) {
        Some(Kind::Array) => Gate::Ready,
        _ => Gate::NotRun("there is no list of interactions"),
    }
}

fn interactions<'a>(view: &ModelIoView<'a>) -> impl Iterator<Item = (usize, Node<'a>)> {
    let list = view.root.get("interactions").map(|node| node.items());
    list.into_iter().flatten().enumerate()
}

fn place(at: usize, member: &str) -> JsonPath {
    JsonPath::ROOT.then("interactions").then(at).then(member)
}

fn text<'a>(node: Node<'a>, name: &str) -> Option<Cow<'a, str>> {
    node.get(name)?.as_lossy_str()
}

fn number(node: Node<'_>) -> Option<f64> {
    Some(node.get("i")?.as_number()?.to_f64())
}

fn check_schema(view: &ModelIoView<'_>, findings: &mut Findings) {
    if view.root.kind() != Kind::Object {
        let found = view.root.kind().with_article();
        findings.add(
            JsonPath::ROOT,
            format!("a recording is an object, not {found}"),
        );
        return;
    }
    for field in REQUIRED {
        match view.root.get(field) {
            None => findings.add(JsonPath::ROOT.then(field), format!("`{field}` is missing")),
            Some(node) if field == "interactions" && node.kind() != Kind::Array => {
                let found = node.kind().with_article();
                findings.add(
                    JsonPath::ROOT.then("interactions"),
                    format!("interactions is {found}, not a list"),
                );
            }
            Some(_) => {}
        }
    }
}

fn check_version(view: &ModelIoView<'_>, findings: &mut Findings) {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_version =
        |version: &str| version.split('.').count() == 3 && version.split('.').all(is_number);
    let version = text(view.root, "model_io_schema_version");
    if !version.is_some_and(|version| is_version(&version)) {
        findings.add(
            JsonPath::ROOT.then("model_io_schema_version"),
            "the version is not three numbers with dots between them",
        );
    }
}

fn check_names(view: &ModelIoView<'_>, findings: &mut Findings) {
    for field in ["adapter_id", "model_id"] {
        let is_missing = view.root.get(field).is_none();
        if !is_missing && text(view.root, field).is_none_or(|name| name.is_empty()) {
            findings.add(
                JsonPath::ROOT.then(field),
                format!("`{field}` is no string, or empty"),
            );
        }
    }
}

fn check_mode(view: &ModelIoView<'_>, findings: &mut Findings) {
    let is_missing = view.root.get("mode").is_none();
    if !is_missing
        && !matches!(
            text(view.root, "mode").as_deref(),
            Some("record" | "replay")
        )
    {
        findings.add(
            JsonPath::ROOT.then("mode"),
            "mode is neither record nor replay",
        );
    }
}

fn check_count(view: &ModelIoView<'_>, findings: &mut Findings) {
    let count = interactions(view).count();
    if count > MAX_INTERACTIONS {
        findings.add(
            JsonPath::ROOT.then("interactions"),
            format!("{count} interactions are more than {MAX_INTERACTIONS}"),
        );
    }
}

fn check_numbers(view: &ModelIoView<'_>, findings: &mut Findings) {
    for (at, node) in interactions(view) {
        if number(node) != Some(at as f64) {
            findings.add(place(at, "i"), format!("i is not {at}"));
        }
    }
}

fn check_prompts(view: &ModelIoView<'_>, findings: &mut Findings) {
    for (at, node) in interactions(view) {
        if !is_hash(node.get("prompt_hash")) {
            findings.add(place(at, "prompt_hash"), "not sha256: and 64 hex digits");
        }
    }
}

fn check_held_prompts(view: &ModelIoView<'_>, findings: &mut Findings) {
    for (at, node) in interactions(view) {
        let Some(prompt) = node.get(PROMPT_CONTENT) else {
            continue;
        };
        let actual = prompt
            .as_lossy_str()
            .map(|prompt| ContentHash::of(prompt.as_bytes()).to_string());
        let declared = text(node, "prompt_hash");
        if actual.is_none() || actual.as_deref() != declared.as_deref() {
            findings.add_difference(
                place(at, PROMPT_CONTENT),
                "the prompt is not the one that prompt_hash states",
                declared.as_deref().unwrap_or("none"),
                actual.as_deref().unwrap_or("no text"),
            );
        }
    }
}

fn check_responses(view: &ModelIoView<'_>, findings: &mut Findings) {
    for (at, node) in interactions(view) {
        if !is_hash(node.get("response_hash")) {
            findings.add(place(at, "response_hash"), "not sha256: and 64 hex digits");
            continue;
        }
        let Some(content) = text(node, "response_content") else {
            findings.add(place(at, "response_content"), "the response is no string");
            continue;
        };
        let declared = text(node, "response_hash").unwrap_or_default();
        let actual = ContentHash::of(content.as_bytes()).to_string();
        if declared != actual {
            findings.add_difference(
                place(at, "response_hash"),
                "the response has another hash",
                declared,
                actual,
            );
        }
    }
}

fn check_unique(view: &ModelIoView<'_>, findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    for (at, node) in interactions(view) {
        // As ECMAScript would key them: by the text of the value, absent being one of its own.
        let prompt = text(node, "prompt_hash").map(Cow::into_owned);
        let i = node.get("i").map(|i| match i.as_number() {
            Some(number) => format!("number {}", number.to_f64() + 0.0),
            None => format!("{:?}", i.to_value()),
        });
        if !seen.insert((prompt, i)) {
            findings.add(
                JsonPath::ROOT.then("interactions").then(at),
                "an interaction with this prompt and number is already there",
            );
        }
    }
}

fn check_order(view: &ModelIoView<'_>, findings: &mut Findings) {
    let mut before: Option<f64> = None;
    for (at, node) in interactions(view) {
        let Some(i) = number(node) else { continue };
        if before.is_some_and(|before| i <= before) {
            findings.add(
                JsonPath::ROOT.then("interactions").then(at),
                "the interaction does not come after its predecessor",
            );
        }
        before = Some(i);
    }
}

fn check_sizes(view: &ModelIoView<'_>, findings: &mut Findings) {
    let mut total = 0_usize;
    for (at, node) in interactions(view) {
        let Some(content) = text(node, "response_content") else {
            continue;
        };
        total = total.saturating_add(content.len());
        if content.len() > MAX_RESPONSE_BYTES {
            findings.add(
                place(at, "response_content"),
                format!("{} bytes are more than {MAX_RESPONSE_BYTES}", content.len()),
            );
        }
    }
    if total > MAX_SESSION_BYTES {
        findings.add(
            JsonPath::ROOT.then("interactions"),
            format!("{total} bytes of responses are more than {MAX_SESSION_BYTES}"),
        );
    }
}

/// The model recording as the rest of the program knows it.
pub static DEFINITION: DocumentFormat = DocumentFormat {
    format: Format::ModelIo,
    rules: || infos(&RULES),
    members: &[
        "model_io_schema_version",
        "adapter_id",
        "model_id",
        "interactions",
    ],
    file_name: "model_io.json",
    judge: |root, level| verify_model_io(&ModelIoView { root }, level),
    identify: |root| Identity::of_members(root, &["model_id"]),
};
