//! Secrets that a model says piece by piece: each event of a stream has a few characters, and only
//! together are they a secret.
//!
//! Events are held back while what was said last may be the beginning of one, which ends at the next
//! space, quote or character outside ASCII; then the pieces are looked at as one text, and a secret
//! in it is taken out of the events that it is spread over.

use std::collections::BTreeMap;
use std::ops::Range;

use runseal_core::canon::{
    Dialect, Kind, Node, ReadOptions, Step, Value, canonical_bytes, locate, parse_document,
};

use super::{Edit, Redactor};

/// What is held of one text at the most while it may still become a secret.
const MOST_HELD: usize = 16 << 10;

/// One piece of a text: which text, where its JSON string stands in the stream, what it says.
#[derive(Debug)]
struct Piece {
    literal: Range<usize>,
    text: String,
}

/// The texts that a stream is in the middle of, by their place in the events.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    lanes: BTreeMap<String, Vec<Piece>>,
}

impl Lanes {
    /// Adds the pieces of one event, `event` being its bytes and `at` their place in the stream's
    /// window.
    pub(super) fn add(&mut self, event: &[u8], at: usize) {
        let Some((data, offset)) = single_data_line(event) else {
            return;
        };
        let Ok(document) = parse_document(data.as_bytes(), &ReadOptions::default()) else {
            return;
        };
        let mut paths: Vec<(String, Vec<Step>, String)> = Vec::new();
        collect(document.root(), &mut paths);
        let steps: Vec<&[Step]> = paths.iter().map(|(_, path, _)| path.as_slice()).collect();
        let places = locate(data, &steps);
        for ((lane, _, text), place) in paths.into_iter().zip(places) {
            if let Some(place) = place {
                let literal = at + offset + place.start..at + offset + place.end;
                self.lanes
                    .entry(lane)
                    .or_default()
                    .push(Piece { literal, text });
            }
        }
    }

    /// Whether one of the texts may go on with the rest of a secret.
    pub(super) fn is_open(&self) -> bool {
        self.lanes.values().any(|pieces| {
            let length: usize = pieces.iter().map(|piece| piece.text.len()).sum();
            if length > MOST_HELD {
                return false;
            }
            let text: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
            may_go_on(&text)
        })
    }

    /// Forgets the texts; gives the edits that take secrets out of their pieces. Pieces that lie
    /// in `edited` were dealt with before.
    pub(super) fn settle(&mut self, redactor: &Redactor, edited: &[Edit]) -> Vec<Edit> {
        let mut edits = Vec::new();
        for pieces in std::mem::take(&mut self.lanes).into_values() {
            let text: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
            let found = redactor.find(text.as_bytes());
            if found.is_empty() {
                continue;
            }
            let mut at = 0;
            for piece in pieces {
                let range = at..at + piece.text.len();
                at = range.end;
                let is_done = edited.iter().any(|edit| {
                    edit.range.start < piece.literal.end && piece.literal.start < edit.range.end
                });
                if is_done {
                    continue;
                }
                let kept = cut(&piece.text, range.start, &found);
                if kept == piece.text {
                    continue;
                }
                let literal = canonical_bytes(&Value::from(kept), Dialect::Kernel);
                let literal = literal.unwrap_or_else(|_| b"\"\"".to_vec());
                let kind = found.first().map(|edit| edit.kind.clone());
                edits.push(Edit {
                    range: piece.literal,
                    kind: kind.unwrap_or_default(),
                    placeholder: String::from_utf8_lossy(&literal).into_owned(),
                    is_new: false,
                });
            }
            for edit in &found {
                if let Some(secret) = text.as_bytes().get(edit.range.clone()) {
                    redactor.learn(&edit.kind, secret);
                }
            }
        }
        edits
    }
}

/// What stays of a piece that begins at `start` of its text: a secret's placeholder stands where
/// the secret begins.
fn cut(piece: &str, start: usize, found: &[Edit]) -> String {
    let mut kept = String::new();
    for (offset, character) in piece.char_indices() {
        let at = start + offset;
        match found.iter().find(|edit| edit.range.contains(&at)) {
            None => kept.push(character),
            Some(edit) if edit.range.start == at => kept.push_str(&edit.placeholder),
            Some(_) => {}
        }
    }
    kept
}

/// Whether the end of a text may be the beginning of a secret.
fn may_go_on(text: &str) -> bool {
    if let Some(begin) = text.rfind("-----BEGIN ")
        && text
            .get(begin..)
            .is_some_and(|rest| !rest.contains("-----END ") || rest.matches("-----").count() < 4)
    {
        return true;
    }
    let trimmed = text.trim_end_matches([' ', '\t', '\\', '"', '\'']);
    if trimmed.ends_with([':', '=']) || trimmed.ends_with("Bearer") {
        return true;
    }
    let Some(last) = text.chars().next_back() else {
        return false;
    };
    last.is_ascii_graphic() && !"\"'<>(){}[],;".contains(last)
}

/// The data of an event that has one line of it, and its place in the event.
fn single_data_line(event: &[u8]) -> Option<(&str, usize)> {
    let event = std::str::from_utf8(event).ok()?;
    let mut found = None;
    let mut at = 0;
    for line in event.split_inclusive(['\n', '\r']) {
        if let Some(rest) = line.strip_prefix("data:") {
            let data = rest.trim_start_matches(' ');
            let offset = at + line.len() - data.len();
            if found.is_some() {
                return None;
            }
            found = Some((data.trim_end_matches(['\n', '\r']), offset));
        }
        at += line.len();
    }
    found
}

/// The strings of an event that go on from event to event: those below `delta`, and `text` of a
/// choice. A name for the text, its path, its characters.
fn collect(root: Node<'_>, paths: &mut Vec<(String, Vec<Step>, String)>) {
    let mut name = String::new();
    for member in ["item_id", "output_index", "content_index", "index"] {
        if let Some(node) = root.get(member) {
            name.push_str(&scalar(node));
        }
        name.push('/');
    }
    if let Some(delta) = root.get("delta") {
        descend(delta, &name, vec![Step::from("delta")], paths);
    }
    let choices = root
        .get("choices")
        .into_iter()
        .flat_map(|list| list.items());
    for (at, choice) in choices.enumerate() {
        let index = choice.get("index").map(scalar).unwrap_or_default();
        let name = format!("choice {index}/");
        for member in ["delta", "text"] {
            if let Some(node) = choice.get(member) {
                let path = vec![Step::from("choices"), Step::from(at), Step::from(member)];
                descend(node, &name, path, paths);
            }
        }
    }
}

fn descend(
    node: Node<'_>,
    name: &str,
    path: Vec<Step>,
    paths: &mut Vec<(String, Vec<Step>, String)>,
) {
    match node.kind() {
        Kind::String => {
            if let Some(text) = node.as_str() {
                paths.push((name.to_owned(), path, text.into_owned()));
            }
        }
        Kind::Array => {
            for (at, item) in node.items().enumerate() {
                let index = item.get("index").map(scalar);
                let name = format!("{name}{}/", index.unwrap_or_else(|| at.to_string()));
                let mut path = path.clone();
                path.push(Step::from(at));
                descend(item, &name, path, paths);
            }
        }
        Kind::Object => {
            for (key, member) in node.members() {
                let key = key.to_lossy().into_owned();
                if ["type", "role", "id", "name", "stop_reason"].contains(&key.as_str()) {
                    continue;
                }
                let name = format!("{name}{key}/");
                let mut path = path.clone();
                path.push(Step::from(key.as_str()));
                descend(member, &name, path, paths);
            }
        }
        _ => {}
    }
}

fn scalar(node: Node<'_>) -> String {
    match node.as_number() {
        Some(number) => number.text().to_owned(),
        None => node.as_lossy_str().unwrap_or_default().into_owned(),
    }
}

/// A JSON text whose strings hold secrets once their escapes are read, written anew without them.
/// None where there is nothing to do.
pub(super) fn rewrite_json(redactor: &Redactor, text: &[u8]) -> Option<Vec<u8>> {
    let document = parse_document(text, &ReadOptions::TEXT).ok()?;
    let mut value = document.root().to_value();
    if !redactor.redact_value(&mut value) {
        return None;
    }
    canonical_bytes(&value, Dialect::Kernel).ok()
}

/// The edit that rewrites the data of an event, or a line, which holds a secret behind escapes.
pub(super) fn rewrite_event(
    redactor: &Redactor,
    event: &[u8],
    at: usize,
    is_line: bool,
) -> Option<Edit> {
    let (data, offset) = match is_line {
        true => (std::str::from_utf8(event).ok()?.trim_end(), 0),
        false => single_data_line(event)?,
    };
    let rewritten = rewrite_json(redactor, data.as_bytes())?;
    Some(Edit {
        range: at + offset..at + offset + data.len(),
        kind: "escaped".to_owned(),
        placeholder: String::from_utf8_lossy(&rewritten).into_owned(),
        is_new: false,
    })
}
