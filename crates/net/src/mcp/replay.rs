//! Replay: answers a client from a recording, without the server.

use std::io::{BufRead, Read, Write};
use std::path::PathBuf;

use runseal_core::canon::{Dialect, Value, canonical_bytes};

use super::message::Message;
use crate::NetError;
use crate::limits::LARGEST_MESSAGE;
use crate::matching::{Asked, BodyForm, Volatile};
use crate::proxy::{Library, Renaming, Selection};
use crate::recording::{Adapter, Recorded, Recording};
use crate::redact::{RedactionRules, Redactor};

/// The JSON-RPC error code for a message that the recording does not answer.
const MISSED: i32 = -32_003;

/// How to replay a session.
#[derive(Debug, Clone)]
pub struct ReplayOptions {
    /// The recording to answer from.
    pub recording: PathBuf,
    /// Whether messages must arrive in the recorded order.
    pub strict_order: bool,
    /// Members of parameters that matching ignores.
    pub volatile: Volatile,
    /// The user's own patterns for secrets.
    pub rules: RedactionRules,
    /// Values known to be secret: kind and value.
    pub secrets: Vec<(String, String)>,
}

/// The result of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// The number of messages found in the recording.
    pub replayed: u64,
    /// The number of interactions that were not requested.
    pub unused: u64,
    /// The messages that were not found, as reported to the client.
    pub misses: Vec<String>,
}

/// Answers the client on `input` and `output` until it ends.
pub fn replay(
    options: &ReplayOptions,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> Result<Replayed, NetError> {
    crate::proxy::recover(&options.recording)?;
    let recording = Recording::load(&options.recording)?;
    if recording.adapter != Adapter::McpStdio {
        return Err(NetError::Recording {
            path: options.recording.clone(),
            reason: format!("it was recorded through {}", recording.adapter.name()),
        });
    }
    let redactor = Redactor::new(options.rules.clone())
        .ok_or_else(|| NetError::System("no random bytes".to_owned()))?;
    for (kind, value) in &options.secrets {
        redactor.learn(kind, value.as_bytes());
    }
    let mut pointers = recording.volatile.pointers().to_vec();
    pointers.extend_from_slice(options.volatile.pointers());
    let volatile = Volatile::parse(&pointers).unwrap_or_default();
    let mut library = Library::new(recording, volatile, options.strict_order, None)
        .map_err(NetError::no_form(&options.recording))?;
    let system = |error: std::io::Error| NetError::System(error.to_string());
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bounded = input.take(LARGEST_MESSAGE as u64);
        if bounded.read_until(b'\n', &mut line).map_err(system)? == 0 {
            break;
        }
        for answer in answers(&mut library, &redactor, line.trim_ascii()) {
            if output
                .write_all(&answer)
                .and_then(|()| output.flush())
                .is_err()
            {
                // The client is gone, so nothing more can be requested.
                let (replayed, unused, misses) = library.tally();
                return Ok(Replayed {
                    replayed,
                    unused,
                    misses,
                });
            }
        }
    }
    let (replayed, unused, misses) = library.tally();
    Ok(Replayed {
        replayed,
        unused,
        misses,
    })
}

/// Returns the lines to send in response to a message of the client.
fn answers(library: &mut Library, redactor: &Redactor, line: &[u8]) -> Vec<Vec<u8>> {
    if line.is_empty() {
        return Vec::new();
    }
    let (message, value) = Message::parse(line);
    let body = BodyForm::parse("application/json", &redactor.redact_body(line));
    let asked = Asked {
        method: message.method().to_owned(),
        path: String::new(),
        query: None,
        body,
    };
    match library.select(&asked) {
        Selection::Recorded(recorded) => lines(&recorded, value.as_ref()),
        Selection::Live => Vec::new(),
        Selection::Missed(miss) => {
            let explanation = redactor.redact_text(&miss.message()).into_owned();
            match &message {
                Message::Request { .. } => {
                    library.remember_miss(explanation.clone());
                    vec![error_line(value.as_ref(), &explanation)]
                }
                Message::Answer { .. } => {
                    // The client's reply may differ; the server continues as recorded.
                    library.remember_miss(explanation);
                    let id = value.as_ref().and_then(|value| value.get("id"));
                    let recorded = id.and_then(|id| library.take_answer(id));
                    recorded.map_or_else(Vec::new, |recorded| lines(&recorded, value.as_ref()))
                }
                // Cancellations and progress may arrive at any time.
                Message::Notification { method, .. }
                    if ["notifications/cancelled", "notifications/progress"]
                        .contains(&method.as_str()) =>
                {
                    Vec::new()
                }
                Message::Notification { .. } | Message::Other => {
                    library.remember_miss(explanation);
                    Vec::new()
                }
            }
        }
    }
}

/// Returns the recorded lines, with the ids of the current session.
fn lines(recorded: &Recorded, asked: Option<&Value>) -> Vec<Vec<u8>> {
    let renaming = match (&recorded.asked.body, asked) {
        (BodyForm::Json(before), Some(now)) => Renaming::between(before, now),
        _ => Renaming::default(),
    };
    let whole: Vec<u8> = recorded.chunks.iter().flatten().copied().collect();
    let mut lines = Vec::new();
    for line in whole.split_inclusive(|byte| *byte == b'\n') {
        let mut text = String::from_utf8_lossy(line).into_owned();
        let mut edits = renaming.edits(text.trim_end());
        edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
        for (range, literal) in edits {
            text.replace_range(range, &literal);
        }
        lines.push(text.into_bytes());
    }
    lines
}

fn error_line(asked: Option<&Value>, message: &str) -> Vec<u8> {
    let id = asked.and_then(|asked| asked.get("id")).cloned();
    let error = Value::object([
        ("code", Value::from(MISSED)),
        ("message", Value::from(message)),
    ]);
    let answer = Value::object([
        ("jsonrpc", Value::from("2.0")),
        ("id", id.unwrap_or(Value::Null)),
        ("error", error),
    ]);
    let mut line = canonical_bytes(&answer, Dialect::Kernel).unwrap_or_default();
    line.push(b'\n');
    line
}
