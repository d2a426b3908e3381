//! MI1-MI12: the content of a recording of model calls, whoever made it.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::{
    MAX_INTERACTIONS, MAX_RESPONSE_BYTES, MAX_SESSION_BYTES, ModelIoView, PROMPT_CONTENT, REQUIRED,
};
use crate::canon::{JsonPath, Kind, Node};
use crate::digest::ContentHash;
use crate::formats::shape::is_hash;
use crate::verify::{Findings, Gate};

pub(super) fn needs_object(view: &ModelIoView<'_>) -> Gate {
    match view.root.kind() {
        Kind::Object => Gate::Ready,
        _ => Gate::NotRun("the document is not an object"),
    }
}

pub(super) fn needs_interactions(view: &ModelIoView<'_>) -> Gate {
    match view.root.get("interactions").map(|node| node.kind()) {
        Some(Kind::Array) => Gate::Ready,
        _ => Gate::NotRun("there is no list of interactions"),
    }
}

pub(super) fn interactions<'a>(view: &ModelIoView<'a>) -> impl Iterator<Item = (usize, Node<'a>)> {
    let list = view.root.get("interactions").map(|node| node.items());
    list.into_iter().flatten().enumerate()
}

pub(super) fn place(at: usize, member: &str) -> JsonPath {
    JsonPath::ROOT.then("interactions").then(at).then(member)
}

pub(super) fn text<'a>(node: Node<'a>, name: &str) -> Option<Cow<'a, str>> {
    node.get(name)?.as_lossy_str()
}

pub(super) fn number(node: Node<'_>) -> Option<f64> {
    Some(node.get("i")?.as_number()?.to_f64())
}

pub(super) fn check_schema(view: &ModelIoView<'_>, findings: &mut Findings) {
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

pub(super) fn check_version(view: &ModelIoView<'_>, findings: &mut Findings) {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_version =
        |version: &str| version.split('.').count() == 3 && version.split('.').all(is_number);
    let version = text(view.root, "model_io_schema_version");
    if !version.is_some_and(|version| is_version(&version)) {
        findings.add(
            JsonPath::ROOT.then("model_io_schema_version"),
            "the version is not three numbers separated by dots",
        );
    }
}

pub(super) fn check_names(view: &ModelIoView<'_>, findings: &mut Findings) {
    for field in ["adapter_id", "model_id"] {
        let is_missing = view.root.get(field).is_none();
        if !is_missing && text(view.root, field).is_none_or(|name| name.is_empty()) {
            findings.add(
                JsonPath::ROOT.then(field),
                format!("`{field}` is not a string, or empty"),
            );
        }
    }
}

pub(super) fn check_mode(view: &ModelIoView<'_>, findings: &mut Findings) {
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

pub(super) fn check_count(view: &ModelIoView<'_>, findings: &mut Findings) {
    let count = interactions(view).count();
    if count > MAX_INTERACTIONS {
        findings.add(
            JsonPath::ROOT.then("interactions"),
            format!("{count} interactions are more than {MAX_INTERACTIONS}"),
        );
    }
}

pub(super) fn check_numbers(view: &ModelIoView<'_>, findings: &mut Findings) {
    for (at, node) in interactions(view) {
        if number(node) != Some(at as f64) {
            findings.add(place(at, "i"), format!("i is not {at}"));
        }
    }
}

pub(super) fn check_prompts(view: &ModelIoView<'_>, findings: &mut Findings) {
    for (at, node) in interactions(view) {
        if !is_hash(node.get("prompt_hash")) {
            findings.add(place(at, "prompt_hash"), "not sha256: and 64 hex digits");
        }
    }
}

pub(super) fn check_held_prompts(view: &ModelIoView<'_>, findings: &mut Findings) {
    for (at, node) in interactions(view) {
        let Some(prompt) = node.get(PROMPT_CONTENT) else {
            continue;
        };
        let actual = prompt
            .as_lossy_str()
            .map(|prompt| ContentHash::of(prompt.as_bytes()).to_string());
        let Some(actual) = actual else {
            // No other rule asks for its type.
            findings.add(place(at, PROMPT_CONTENT), "the prompt is not a text");
            continue;
        };
        let declared = findings.need(text(node, "prompt_hash"));
        if let Some(declared) = declared.filter(|declared| *declared != actual) {
            findings.add_difference(
                place(at, PROMPT_CONTENT),
                "the prompt is not the one that prompt_hash states",
                declared,
                actual,
            );
        }
    }
}

pub(super) fn check_responses(view: &ModelIoView<'_>, findings: &mut Findings) {
    for (at, node) in interactions(view) {
        if !is_hash(node.get("response_hash")) {
            findings.add(place(at, "response_hash"), "not sha256: and 64 hex digits");
            continue;
        }
        let Some(content) = text(node, "response_content") else {
            findings.add(
                place(at, "response_content"),
                "the response is not a string",
            );
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

pub(super) fn check_unique(view: &ModelIoView<'_>, findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    for (at, node) in interactions(view) {
        // Keyed as in ECMAScript: by the text of the value, with absent as a separate key.
        let prompt = text(node, "prompt_hash").map(Cow::into_owned);
        let i = node.get("i").map(|i| match i.as_number() {
            Some(number) => format!("number {}", number.to_f64() + 0.0),
            None => format!("{:?}", i.to_value()),
        });
        if !seen.insert((prompt, i)) {
            findings.add(
                JsonPath::ROOT.then("interactions").then(at),
                "duplicate interaction: same prompt and number",
            );
        }
    }
}

pub(super) fn check_order(view: &ModelIoView<'_>, findings: &mut Findings) {
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

pub(super) fn check_sizes(view: &ModelIoView<'_>, findings: &mut Findings) {
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
