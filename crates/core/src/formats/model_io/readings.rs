//! MI16: compares what a recording says about an answer with the exact bytes of the answer.

use base64ct::{Base64, Encoding};

use super::ModelIoView;
use super::asked::{Asked, BodyForm, header_of};
use super::checks::{interactions, place, text};
use super::reading::{Api, LARGEST_READ, Reading};
use crate::canon::{Dialect, Node, Value, canonical_text};
use crate::verify::Findings;

/// The longest text that a finding shows, in characters.
const SHOWN: usize = 120;

/// Whether an interaction states anything that is read from its answer.
pub(super) fn says_something(interaction: Node<'_>) -> bool {
    let members = ["reading", "tokens_input", "tokens_output"];
    members.iter().any(|name| interaction.get(name).is_some())
}

/// Reads an answer again. The bodies are given if they are separate files. `None` if the
/// interaction cannot be understood, which other rules report.
pub(super) fn read_again(
    adapter: &str,
    interaction: Node<'_>,
    request_file: Option<&[u8]>,
    response_file: Option<&[u8]>,
) -> Option<(Api, Reading)> {
    let (request, response) = (interaction.get("request")?, interaction.get("response")?);
    let asked = Asked::parse(request, request_file).ok()?;
    let json = match &asked.body {
        BodyForm::Json(value) => Some(value),
        _ => None,
    };
    let api = Api::of_exchange(adapter, &asked.path, json);
    let content_type = header_of(response, "content-type");
    let reading = match response_file {
        Some(body) => Reading::of_answer(api, &content_type, body),
        None => {
            let content = text(interaction, "response_content")?;
            match text(response, "encoding").as_deref() {
                None => Reading::of_answer(api, &content_type, content.as_bytes()),
                Some(_) => {
                    let body = Base64::decode_vec(&content).ok()?;
                    Reading::of_answer(api, &content_type, &body)
                }
            }
        }
    };
    Some((api, reading))
}

pub(super) fn check_readings(view: &ModelIoView<'_>, findings: &mut Findings) {
    let adapter = text(view.root, "adapter_id").unwrap_or_default();
    for (at, node) in interactions(view).filter(|(_, node)| says_something(*node)) {
        let is_file = |part: &str| {
            node.get(part)
                .is_some_and(|part| part.get("body_file").is_some())
        };
        let (api, reading) = if is_file("request") || is_file("response") {
            match view.bodies.and_then(|bodies| bodies.reading(at)) {
                Some(Ok(read)) => read.clone(),
                Some(Err(too_large)) => {
                    let message = format!(
                        "the response has {too_large} bytes; nothing over {LARGEST_READ} is read"
                    );
                    findings.add(place(at, "reading"), message);
                    continue;
                }
                // MI15 reports what cannot be read.
                None => continue,
            }
        } else {
            match read_again(&adapter, node, None, None) {
                Some(read) => read,
                None => continue,
            }
        };
        for (name, count) in [
            ("tokens_input", reading.tokens_input),
            ("tokens_output", reading.tokens_output),
        ] {
            if let Some(stated) = node.get(name) {
                compare(
                    findings,
                    place(at, name),
                    Some(stated),
                    count.map(Value::from),
                );
            }
        }
        let Some(stated) = node.get("reading") else {
            continue;
        };
        let Value::Object(read) = reading.to_value(api) else {
            continue;
        };
        if stated.as_object().is_none() {
            findings.add(place(at, "reading"), "not an object");
            continue;
        }
        for (name, value) in &read {
            let name = name.to_lossy();
            let place = place(at, "reading").then(name.as_ref());
            compare(findings, place, stated.get(&name), Some(value.clone()));
        }
        for (name, member) in stated.members() {
            let name = name.to_lossy();
            if !read.keys().any(|known| known.to_lossy() == name) {
                let place = place(at, "reading").then(name.as_ref());
                compare(findings, place, Some(member), None);
            }
        }
    }
}

/// Adds a finding if what is stated is not what the response says.
fn compare(
    findings: &mut Findings,
    place: crate::canon::JsonPath,
    stated: Option<Node<'_>>,
    read: Option<Value>,
) {
    let stated = stated.map(|node| node.to_value());
    let written = |value: &Option<Value>| {
        let text = value
            .as_ref()
            .map(|value| canonical_text(value, Dialect::Kernel));
        text.transpose()
    };
    let (stated, read) = match (written(&stated), written(&read)) {
        (Ok(stated), Ok(read)) => (stated, read),
        (Err(error), _) | (_, Err(error)) => {
            return findings.add(place, format!("this cannot be compared: {error}"));
        }
    };
    if stated == read {
        return;
    }
    let shown = |text: Option<String>| match text {
        None => "nothing".to_owned(),
        Some(text) if text.chars().count() <= SHOWN => text,
        Some(text) => format!("{}…", text.chars().take(SHOWN).collect::<String>()),
    };
    let what = "this is not what the response says";
    findings.add_difference(place, what, shown(read), shown(stated));
}
