//! MI13-MI15: compares what the proxy adds to an interaction for people to read with what is
//! hashed.

use std::borrow::Cow;
use std::collections::BTreeSet;

use base64ct::{Base64, Encoding};

use super::ModelIoView;
use super::asked::{Asked, Volatile, compute_key};
use super::bodies::parse_body_file;
use super::checks::{interactions, needs_interactions, place, text};
use crate::canon::{JsonPath, Node};
use crate::verify::{Findings, Gate};

/// The adapters whose recordings have the proxy's `request` and `response`.
const ADAPTERS: [&str; 3] = ["http-proxy", "mcp-http", "mcp-stdio"];

/// Whether the proxy made the recording in `root`, so that rules bind the readable parts of its
/// interactions.
pub fn is_of_proxy(root: Node<'_>) -> bool {
    let adapter = text(root, "adapter_id").unwrap_or_default();
    ADAPTERS.contains(&adapter.as_ref())
}

/// Applies to recordings that the proxy made; in others the members may mean anything.
pub(super) fn has_exchanges(view: &ModelIoView<'_>) -> Gate {
    match needs_interactions(view) {
        Gate::Ready if !is_of_proxy(view.root) => {
            Gate::NotApplicable("the recording was not made by the proxy")
        }
        gate => gate,
    }
}

/// Applies if a body is a file.
pub(super) fn has_body_files(view: &ModelIoView<'_>) -> Gate {
    let names_file = |node: Node<'_>| {
        let has = |part: &str| {
            node.get(part)
                .is_some_and(|part| part.get("body_file").is_some())
        };
        has("request") || has("response")
    };
    match has_exchanges(view) {
        Gate::Ready
            if view.root.get("bodies").is_none()
                && !interactions(view).any(|(_, node)| names_file(node)) =>
        {
            Gate::NotApplicable("no body is a separate file")
        }
        Gate::Ready if view.bodies.is_none() => Gate::NotRun(
            "large bodies are files next to the recording, which was given without them",
        ),
        gate => gate,
    }
}

pub(super) fn check_requests(view: &ModelIoView<'_>, findings: &mut Findings) {
    let volatile = match Volatile::of_recording(view.root) {
        Ok(volatile) => volatile,
        Err(fault) => {
            let at = JsonPath::ROOT.then("capture").then("volatile");
            findings.add(at, fault);
            return;
        }
    };
    for (at, node) in interactions(view) {
        let Some(request) = node.get("request") else {
            findings.add(
                place(at, "request"),
                "the proxy records a request for every answer",
            );
            continue;
        };
        let actual = match request.get("body_file") {
            None => Asked::parse(request, None)
                .map_err(str::to_owned)
                .and_then(|asked| {
                    compute_key(&asked.into_form(&volatile)).map_err(|error| error.to_string())
                }),
            // MI15 reports what cannot be read.
            Some(_) => match view.bodies.and_then(|bodies| bodies.key(at)) {
                Some(key) => key.clone(),
                None => continue,
            },
        };
        match actual {
            Err(reason) => {
                let message = format!("the request cannot be compared: {reason}");
                findings.add(place(at, "request"), message);
            }
            Ok(actual) => {
                let actual = actual.to_string();
                let declared = findings.need(text(node, "prompt_hash"));
                if let Some(declared) = declared.filter(|declared| *declared != actual) {
                    findings.add_difference(
                        place(at, "request"),
                        "the request is not the one that prompt_hash states",
                        declared,
                        actual,
                    );
                }
            }
        }
    }
}

pub(super) fn check_response_parts(view: &ModelIoView<'_>, findings: &mut Findings) {
    let models: BTreeSet<String> = interactions(view)
        .filter_map(|(_, node)| text(node.get("reading")?, "model").map(Cow::into_owned))
        .collect();
    let is_stated = !models.is_empty();
    let models = models.into_iter().collect::<Vec<_>>().join(",");
    let declared = findings.need(text(view.root, "model_id"));
    if let Some(declared) = declared.filter(|declared| is_stated && *declared != models) {
        let what = "model_id does not list the models that answered";
        findings.add_difference(JsonPath::ROOT.then("model_id"), what, models, declared);
    }
    for (at, node) in interactions(view) {
        let Some(response) = node.get("response") else {
            findings.add(
                place(at, "response"),
                "the proxy records a response for every request",
            );
            continue;
        };
        let Some(content) = text(node, "response_content") else {
            continue;
        };
        let place = |member: &str| place(at, "response").then(member);
        let bytes = if response.get("body_file").is_some() {
            // MI15 asks for its members.
            let Some(file) = findings.need(parse_body_file(response)) else {
                continue;
            };
            let named = format!("sha256:{}", file.sha256);
            if content != named {
                let what = "the file is not the one that response_content states";
                findings.add_difference(place("body_file"), what, content.as_ref(), named);
            }
            let Some(bytes) = findings.need(file.bytes) else {
                continue;
            };
            Some(bytes)
        } else {
            match response.get("encoding").map(|word| word.as_lossy_str()) {
                None => Some(content.len() as u64),
                Some(Some(word)) if word == "base64" => Base64::decode_vec(&content)
                    .ok()
                    .map(|body| body.len() as u64),
                Some(_) => None,
            }
        };
        let Some(bytes) = bytes else {
            findings.add(
                place("encoding"),
                "the encoding of the response is unknown or wrong",
            );
            continue;
        };
        let Some(chunks) = response.get("chunks") else {
            continue;
        };
        let length = |chunk: Node<'_>| u64::try_from(chunk.as_number()?.to_exact_i64()?).ok();
        let sum = chunks
            .items()
            .map(length)
            .try_fold(0_u64, |sum, chunk| sum.checked_add(chunk?));
        if sum != Some(bytes) {
            findings.add_difference(
                place("chunks"),
                "the chunks are not those of the response",
                format!("{bytes} bytes"),
                sum.map_or("no lengths".to_owned(), |sum| format!("{sum} bytes")),
            );
        }
    }
}

pub(super) fn check_body_files(view: &ModelIoView<'_>, findings: &mut Findings) {
    let Some(bodies) = view.bodies else { return };
    let held = view.root.get("bodies");
    for (name, _) in held.iter().flat_map(|held| held.members()) {
        let name = name.to_lossy();
        if !bodies.is_named(&name) {
            let at = JsonPath::ROOT.then("bodies").then(name.as_ref());
            findings.add(at, "no interaction names this body");
        }
    }
    for (at, node) in interactions(view) {
        for part in ["request", "response"] {
            let Some(stated) = node
                .get(part)
                .filter(|part| part.get("body_file").is_some())
            else {
                continue;
            };
            let place = place(at, part).then("body_file");
            let Some(stated) = parse_body_file(stated) else {
                findings.add(place, "not a file with a SHA-256");
                continue;
            };
            match bodies.file(&stated.sha256) {
                None => findings.add(place, "the file was not read"),
                Some(Err(reason)) => findings.add(place, reason.as_str()),
                Some(Ok(fact)) if fact.sha256 != stated.sha256 => findings.add_difference(
                    place,
                    "the file has another hash",
                    stated.sha256.to_string(),
                    fact.sha256.to_string(),
                ),
                Some(Ok(fact)) if stated.bytes != Some(fact.bytes) => findings.add_difference(
                    place,
                    "the file has another size",
                    stated
                        .bytes
                        .map_or("none".to_owned(), |bytes| bytes.to_string()),
                    fact.bytes.to_string(),
                ),
                Some(Ok(_)) => {}
            }
        }
    }
}
