//! JSON-RPC in recorded answers: replaces the id and the progress token of the recorded request
//! with those of the current one.

use std::ops::Range;

use bytes::Bytes;
use runseal_core::canon::{Dialect, Node, Step, Value, canonical_bytes, locate, parse_document};

use crate::limits::MESSAGE;
use crate::matching::BodyForm;
use crate::recording::Recorded;

/// The ids to replace, each as the recorded value and the current one.
#[derive(Debug, Default)]
pub(crate) struct Renaming {
    /// The `id` of the request.
    pub(crate) id: Option<(Value, Value)>,
    /// Its progress token.
    pub(crate) token: Option<(Value, Value)>,
}

impl Renaming {
    /// Compares a recorded message with the current one.
    pub(crate) fn between(recorded: &Value, asked: &Value) -> Self {
        let pair = |old: Option<&Value>, new: Option<&Value>| {
            let (old, new) = (old?.clone(), new?.clone());
            (old != new).then_some((old, new))
        };
        fn token(message: &Value) -> Option<&Value> {
            message.get("params")?.get("_meta")?.get("progressToken")
        }
        Self {
            id: pair(recorded.get("id"), asked.get("id")),
            token: pair(token(recorded), token(asked)),
        }
    }

    /// Whether there is nothing to replace.
    pub(crate) fn is_empty(&self) -> bool {
        self.id.is_none() && self.token.is_none()
    }

    /// Returns the edits for a JSON text with one message or a batch.
    pub(crate) fn edits(&self, text: &str) -> Vec<(Range<usize>, String)> {
        let Ok(document) = parse_document(text.as_bytes(), &MESSAGE) else {
            return Vec::new();
        };
        let root = document.root();
        let mut wanted: Vec<(Vec<Step>, &Value)> = Vec::new();
        let messages: Vec<(Vec<Step>, Node<'_>)> = match root.as_array() {
            None => vec![(Vec::new(), root)],
            Some(items) => items
                .enumerate()
                .map(|(at, item)| (vec![Step::from(at)], item))
                .collect(),
        };
        for (path, message) in messages {
            let is_answer = message.get("method").is_none();
            if let (true, Some((old, new)), Some(id)) = (is_answer, &self.id, message.get("id"))
                && id.to_value() == *old
            {
                wanted.push((with(&path, &["id"]), new));
            }
            let token = message
                .get("params")
                .and_then(|params| params.get("progressToken"));
            if let (Some((old, new)), Some(token)) = (&self.token, token)
                && token.to_value() == *old
            {
                wanted.push((with(&path, &["params", "progressToken"]), new));
            }
        }
        let paths: Vec<&[Step]> = wanted.iter().map(|(path, _)| path.as_slice()).collect();
        let places = locate(text, &paths);
        let edits = wanted.iter().zip(places).filter_map(|((_, new), place)| {
            let literal = canonical_bytes(*new, Dialect::Kernel).ok()?;
            Some((place?, String::from_utf8(literal).ok()?))
        });
        edits.collect()
    }
}

fn with(path: &[Step], names: &[&str]) -> Vec<Step> {
    let mut path = path.to_vec();
    path.extend(names.iter().map(|name| Step::from(*name)));
    path
}

/// Rewrites the pieces of a recorded answer for the current request.
pub(super) fn rewrite(recorded: &Recorded, body: &[u8]) -> Vec<Bytes> {
    let same = || recorded.chunks.clone();
    let BodyForm::Json(before) = &recorded.asked.body else {
        return same();
    };
    if before.get("jsonrpc").is_none() {
        return same();
    }
    let Ok(document) = parse_document(body, &MESSAGE) else {
        return same();
    };
    let renaming = Renaming::between(before, &document.root().to_value());
    if renaming.is_empty() {
        return same();
    }
    let whole: Vec<u8> = recorded.chunks.iter().flatten().copied().collect();
    let Ok(text) = std::str::from_utf8(&whole) else {
        return same();
    };
    let is_stream = recorded
        .header("content-type")
        .is_some_and(|value| value.starts_with("text/event-stream"));
    let mut edits = Vec::new();
    if is_stream {
        let mut at = 0;
        for line in text.split_inclusive(['\n', '\r']) {
            if let Some(data) = line.strip_prefix("data:") {
                let data = data.trim_start_matches(' ');
                let offset = at + line.len() - data.len();
                for (range, literal) in renaming.edits(data.trim_end()) {
                    edits.push((range.start + offset..range.end + offset, literal));
                }
            }
            at += line.len();
        }
    } else {
        edits = renaming.edits(text);
    }
    apply(&recorded.chunks, edits)
}

/// Applies edits to pieces; one that crosses a boundary goes into the piece in which it begins.
fn apply(chunks: &[Bytes], mut edits: Vec<(Range<usize>, String)>) -> Vec<Bytes> {
    edits.sort_by_key(|(range, _)| range.start);
    let mut out = Vec::with_capacity(chunks.len());
    let (mut start, mut skip_to) = (0, 0);
    for chunk in chunks {
        let end = start + chunk.len();
        let mut piece = Vec::with_capacity(chunk.len() + 8);
        let mut at = skip_to.clamp(start, end);
        for (range, literal) in edits
            .iter()
            .filter(|(range, _)| (start..end).contains(&range.start))
        {
            piece.extend_from_slice(
                chunk
                    .get(at - start..range.start - start)
                    .unwrap_or_default(),
            );
            piece.extend_from_slice(literal.as_bytes());
            skip_to = range.end;
            at = range.end.min(end);
        }
        piece.extend_from_slice(chunk.get(at - start..).unwrap_or_default());
        out.push(Bytes::from(piece));
        start = end;
    }
    out
}
