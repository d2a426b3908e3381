//! Exports a recording as OpenTelemetry spans in OTLP JSON, with the attributes of the conventions
//! for generative AI (which are still in development).
//!
//! Ids are derived from the recording's hash, so the same recording always gives the same spans. A
//! recording has no clock: the spans start at zero and follow one another by latency.

use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_core::digest::Digest;

use crate::matching::BodyForm;
use crate::recording::{End, Recorded, Recording};
use runseal_core::formats::model_io::reading::Api;

/// OTLP's number for a client span.
const KIND_CLIENT: u32 = 3;
/// OTLP's number for an error status.
const STATUS_ERROR: u32 = 2;

/// Returns the spans of a recording as OTLP JSON.
pub fn export_spans(recording: &Recording) -> Value {
    let seed = recording.model_io_hash.as_str();
    let trace_id = Digest::of(seed.as_bytes()).hex_prefix(32);
    let mut at: u64 = 0;
    let mut spans = Vec::new();
    for (number, recorded) in recording.interactions.iter().enumerate() {
        let span_id = Digest::of(format!("{seed} {number}").as_bytes()).hex_prefix(16);
        let took = number_at(&recorded.document, "latency_ms").unwrap_or(0);
        let start = at;
        at = at.saturating_add(took.saturating_mul(1_000_000));
        let mut span = describe(recorded);
        span.insert("traceId", trace_id.as_str());
        span.insert("spanId", span_id);
        span.insert("kind", KIND_CLIENT);
        // OTLP writes 64-bit numbers as strings.
        span.insert("startTimeUnixNano", start.to_string());
        span.insert("endTimeUnixNano", at.to_string());
        spans.push(span);
    }
    let scope = Value::object([("name", "runseal"), ("version", env!("CARGO_PKG_VERSION"))]);
    let resource = Value::object([(
        "attributes",
        Value::Array(vec![
            attribute("service.name", text("runseal recording")),
            attribute("runseal.model_io_hash", text(seed)),
        ]),
    )]);
    let scope_spans = Value::object([("scope", scope), ("spans", Value::Array(spans))]);
    let resource_spans = Value::object([
        ("resource", resource),
        ("scopeSpans", Value::Array(vec![scope_spans])),
    ]);
    Value::object([("resourceSpans", Value::Array(vec![resource_spans]))])
}

fn number_at(value: &Value, name: &str) -> Option<u64> {
    match value.get(name)? {
        Value::Number(number) => u64::try_from(number.get().to_exact_i64()?).ok(),
        _ => None,
    }
}

fn text(text: &str) -> Value {
    Value::object([("stringValue", text)])
}

fn integer(number: u64) -> Value {
    Value::object([("intValue", number.to_string())])
}

fn attribute(key: &str, value: Value) -> Value {
    Value::object([("key", Value::from(key)), ("value", value)])
}

fn json_text(value: &Value) -> String {
    let bytes = canonical_bytes(value, Dialect::Kernel).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the span of one interaction: its name, attributes and status.
fn describe(recorded: &Recorded) -> Value {
    let body = match &recorded.asked.body {
        BodyForm::Json(body) => Some(body),
        _ => None,
    };
    let api = Api::of_request(&recorded.asked.path, body);
    let member = |name: &str| body.and_then(|body| body.get(name)?.as_str());
    let reading = recorded.document.get("reading");
    let read = |name: &str| reading.and_then(|reading| reading.get(name)?.as_str());
    let mut attributes = Vec::new();
    let mut add = |key: &str, value: Value| attributes.push(attribute(key, value));
    let operation = match api {
        Api::OpenAiChat | Api::OpenAiResponses | Api::AnthropicMessages => "chat",
        Api::OpenAiEmbeddings => "embeddings",
        Api::Mcp if member("method") == Some("tools/call") => "execute_tool",
        _ => "",
    };
    let tool = body.and_then(|body| body.get("params")?.get("name")?.as_str());
    let name = match (operation, member("model"), api) {
        ("execute_tool", _, _) => format!("execute_tool {}", tool.unwrap_or_default()),
        ("", _, Api::Mcp) => member("method").unwrap_or("answer").to_owned(),
        ("", _, _) => format!("{} {}", recorded.asked.method, recorded.asked.path),
        (operation, Some(model), _) => format!("{operation} {model}"),
        (operation, None, _) => operation.to_owned(),
    };
    if !operation.is_empty() {
        add("gen_ai.operation.name", text(operation));
    }
    if let Some(provider) = api.provider() {
        add("gen_ai.provider.name", text(provider));
    }
    if let Some(model) = member("model") {
        add("gen_ai.request.model", text(model));
    }
    if let Some(model) = read("model") {
        add("gen_ai.response.model", text(model));
    }
    if let Some(reason) = read("finish_reason") {
        let list = Value::object([("values", Value::Array(vec![text(reason)]))]);
        add(
            "gen_ai.response.finish_reasons",
            Value::object([("arrayValue", list)]),
        );
    }
    for (name, key) in [
        ("tokens_input", "gen_ai.usage.input_tokens"),
        ("tokens_output", "gen_ai.usage.output_tokens"),
    ] {
        if let Some(count) = number_at(&recorded.document, name) {
            add(key, integer(count));
        }
    }
    if operation == "chat" {
        if let Some(messages) = body.and_then(input_messages) {
            add("gen_ai.input.messages", text(&json_text(&messages)));
        }
        if let Some(messages) = reading.and_then(output_messages) {
            add("gen_ai.output.messages", text(&json_text(&messages)));
        }
    }
    if api == Api::Mcp {
        if let Some(method) = member("method") {
            add("mcp.method.name", text(method));
        }
        if let Some(tool) = tool {
            add("gen_ai.tool.name", text(tool));
        }
    }
    if let Some(status) = recorded.status {
        add("http.response.status_code", integer(u64::from(status)));
    }
    let mut span = Value::object([("name", name)]);
    if let Some(error) = error_of(recorded) {
        add("error.type", text(&error));
        let status = Value::object([
            ("code", Value::from(STATUS_ERROR)),
            ("message", Value::from(read("error").unwrap_or(&error))),
        ]);
        span.insert("status", status);
    }
    span.insert("attributes", Value::Array(attributes));
    span
}

fn error_of(recorded: &Recorded) -> Option<String> {
    match (recorded.end, recorded.status) {
        (_, Some(status)) if status >= 400 => Some(status.to_string()),
        (End::Complete | End::ClientGone, _) => None,
        (end, _) => Some(end.name().to_owned()),
    }
}

/// Returns the request's messages in the form of the conventions.
fn input_messages(body: &Value) -> Option<Value> {
    let mut messages = Vec::new();
    if let Some(system) = body.get("system").or_else(|| body.get("instructions")) {
        messages.push(message("system", system));
    }
    match body.get("messages").or_else(|| body.get("input"))? {
        Value::Array(list) => {
            for item in list {
                let role = item.get("role").and_then(Value::as_str).unwrap_or("user");
                messages.push(message(role, item.get("content").unwrap_or(item)));
            }
        }
        other => messages.push(message("user", other)),
    }
    Some(Value::Array(messages))
}

fn message(role: &str, content: &Value) -> Value {
    let text_part = |content: &str| Value::object([("type", "text"), ("content", content)]);
    let parts = match content {
        Value::String(_) => vec![text_part(content.as_str().unwrap_or_default())],
        Value::Array(parts) => parts
            .iter()
            .map(|part| match part.get("text").and_then(Value::as_str) {
                Some(content) => text_part(content),
                None => part.clone(),
            })
            .collect(),
        other => vec![other.clone()],
    };
    Value::object([("role", Value::from(role)), ("parts", Value::Array(parts))])
}

/// Returns the answer's messages in the form of the conventions; `None` if the answer has none.
fn output_messages(reading: &Value) -> Option<Value> {
    let mut parts = Vec::new();
    if let Some(said) = reading.get("text").and_then(Value::as_str) {
        parts.push(Value::object([("type", "text"), ("content", said)]));
    }
    if let Some(Value::Array(calls)) = reading.get("tool_calls") {
        for call in calls {
            let mut part = call.clone();
            part.insert("type", "tool_call");
            parts.push(part);
        }
    }
    if parts.is_empty() {
        return None;
    }
    let mut message = Value::object([
        ("role", Value::from("assistant")),
        ("parts", Value::Array(parts)),
    ]);
    if let Some(reason) = reading.get("finish_reason") {
        message.insert("finish_reason", reason.clone());
    }
    Some(Value::Array(vec![message]))
}
