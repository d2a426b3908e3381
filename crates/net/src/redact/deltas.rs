//! Secrets that a model emits piecemeal: each event of a stream carries a few characters, which
//! form a secret only together.
//!
//! The last words of each unfinished text are held back while they may be the beginning of a secret,
//! which ends at the next space or non-ASCII character. The pieces are searched as one text, and a
//! secret is removed from all events that it is spread over. The amount held back is bounded, per
//! text and in total.

use std::collections::BTreeMap;
use std::ops::Range;

use memchr::memmem;
use runseal_core::canon::{Dialect, Kind, Node, Value, canonical_bytes, parse_document};
use runseal_secrets::{encoded, find, names};

use super::{Edit, Redactor};
use crate::limits::MESSAGE;

/// The most bytes of one text that are held back because they may become a secret.
const MOST_HELD: usize = 16 << 10;
/// How much of a longer text is still held back.
const KEPT_HELD: usize = MOST_HELD / 2;
/// How much of a released text is remembered, as context for what follows.
const REMEMBERED: usize = 64;

/// The part of a text in one event.
#[derive(Debug)]
struct Piece {
    /// The offset of its event in the window.
    event: usize,
    /// The range of its JSON string in the window, including the quotes.
    literal: Range<usize>,
    /// Its length in bytes of the unescaped text.
    length: usize,
}

/// The held-back part of one text.
#[derive(Debug, Default)]
struct Lane {
    /// The end of what was already released.
    before: String,
    /// What is held back, because it may be part of a secret.
    text: String,
    pieces: Vec<Piece>,
    /// The offset up to which no end of a word was found.
    searched: usize,
}

/// The unfinished texts of a stream, by their location in the events.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    lanes: BTreeMap<String, Lane>,
}

impl Lanes {
    /// Adds the pieces of one event with these bytes; `at` is its offset in the stream's window.
    pub(super) fn add(&mut self, event: &[u8], at: usize) {
        let Some((data, offset)) = single_data_line(event) else {
            return;
        };
        let Ok(document) = parse_document(data.as_bytes(), &MESSAGE) else {
            return;
        };
        collect(document.root(), &mut |name, node| {
            let (Some(text), Some(place)) = (node.as_str(), node.string_place()) else {
                return;
            };
            if text.is_empty() {
                return;
            }
            if !self.lanes.contains_key(name) {
                self.lanes.insert(name.to_owned(), Lane::default());
            }
            if let Some(lane) = self.lanes.get_mut(name) {
                lane.text.push_str(&text);
                lane.pieces.push(Piece {
                    event: at,
                    literal: at + offset + place.start - 1..at + offset + place.end + 1,
                    length: text.len(),
                });
            }
        });
    }

    /// Releases texts that cannot become part of a secret any more, and in any case those of events
    /// before `forced`; adds the edits that remove secrets from them. Pieces within existing
    /// `edits` are skipped.
    pub(super) fn settle(&mut self, redactor: &Redactor, forced: usize, edits: &mut Vec<Edit>) {
        for lane in self.lanes.values_mut() {
            lane.settle(redactor, forced, edits);
        }
        // Context is only worth keeping while its text may continue.
        if self.lanes.len() > 64 {
            self.lanes.retain(|_, lane| !lane.pieces.is_empty());
        }
    }

    /// Returns the offset of the first event that is held back, entirely or in part.
    pub(super) fn first_held(&self) -> Option<usize> {
        let firsts = self.lanes.values().filter_map(|lane| lane.pieces.first());
        firsts.map(|piece| piece.event).min()
    }

    /// Adjusts offsets after the window has released its first `by` bytes.
    pub(super) fn shift(&mut self, by: usize) {
        for piece in self.lanes.values_mut().flat_map(|lane| &mut lane.pieces) {
            piece.event -= by;
            piece.literal.start -= by;
            piece.literal.end -= by;
        }
    }
}

impl Lane {
    fn settle(&mut self, redactor: &Redactor, forced: usize, edits: &mut Vec<Edit>) {
        let safe = safe_end(redactor, &self.text, self.searched);
        let is_long = self.text.len() > MOST_HELD;
        let mut must = 0;
        for piece in &self.pieces {
            let is_over = is_long && self.text.len() - must > KEPT_HELD;
            if piece.event >= forced && !is_over {
                break;
            }
            must += piece.length;
        }
        if safe == 0 && must == 0 {
            self.searched = self.text.len();
            return;
        }
        let whole = format!("{}{}", self.before, self.text);
        let base = self.before.len();
        let found = redactor.find(whole.as_bytes());
        let end = self.find_end(safe, must, base, &found);
        let count = self.count_pieces(end);
        let mut at = base;
        let settled: Vec<Piece> = self.pieces.drain(..count).collect();
        for piece in settled {
            let range = at..at + piece.length;
            at = range.end;
            let overlaps = |edit: &Edit| {
                edit.range.start < piece.literal.end && piece.literal.start < edit.range.end
            };
            if found.is_empty() || edits.iter().any(overlaps) {
                continue;
            }
            let text = whole.get(range.clone()).unwrap_or_default();
            let kept = cut(text, range.start, &found);
            if kept == text {
                continue;
            }
            let literal = canonical_bytes(&Value::from(kept), Dialect::Kernel);
            let literal = literal.unwrap_or_else(|_| b"\"\"".to_vec());
            edits.push(Edit {
                range: piece.literal,
                kind: String::new(),
                secret: Vec::new(),
                placeholder: String::from_utf8_lossy(&literal).into_owned(),
                is_new: false,
            });
            let begun = found
                .iter()
                .filter(|edit| range.contains(&edit.range.start));
            begun.for_each(|edit| redactor.count(&edit.kind));
        }
        for edit in found.iter().filter(|edit| edit.range.end <= at) {
            redactor.learn_found(&edit.kind, &edit.secret);
        }
        self.text.drain(..at - base);
        self.searched = self.text.len();
        let mut from = at.saturating_sub(REMEMBERED);
        while !whole.is_char_boundary(from) {
            from += 1;
        }
        self.before = whole.get(from..at).unwrap_or_default().to_owned();
    }

    /// Returns how much of the held-back text to release: up to the last safe place that does not split a
    /// secret, but at least `must` plus any secret that reaches beyond that.
    fn find_end(&self, safe: usize, must: usize, base: usize, found: &[Edit]) -> usize {
        let mut end = self.start_of_piece(safe);
        // In reverse, because moving the end back may put it into an earlier secret.
        for edit in found.iter().rev() {
            if edit.range.start < base + end && base + end < edit.range.end {
                end = self.start_of_piece(edit.range.start.saturating_sub(base));
            }
        }
        if end >= must {
            return end;
        }
        let mut end = must;
        for edit in found {
            if edit.range.start < base + end && base + end < edit.range.end {
                end = edit.range.end - base;
            }
        }
        end
    }

    /// Returns the last boundary between pieces that is not after `at`.
    fn start_of_piece(&self, at: usize) -> usize {
        let mut start = 0;
        for piece in &self.pieces {
            if start + piece.length > at {
                break;
            }
            start += piece.length;
        }
        start
    }

    /// Counts the pieces that begin before `end`.
    fn count_pieces(&self, end: usize) -> usize {
        let mut start = 0;
        let mut count = 0;
        for piece in &self.pieces {
            if start >= end {
                break;
            }
            start += piece.length;
            count += 1;
        }
        count
    }
}

/// Returns what remains of a piece that begins at `start` of its text. A secret's placeholder goes
/// where the secret begins.
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

/// Returns the last place in `text`, after `searched`, that no secret can cross; 0 if there is none.
fn safe_end(redactor: &Redactor, text: &str, searched: usize) -> usize {
    let mut limit = text.len();
    // A private key extends over spaces and line ends.
    if let Some(begin) = memmem::rfind(text.as_bytes(), b"-----BEGIN ") {
        let armour = text.get(begin..).unwrap_or_default();
        if !armour.contains("-----END ") || armour.matches("-----").count() < 4 {
            limit = begin;
        }
    }
    // So does a quoted value after a telling name.
    if let Some(name) = find::open_value(text.as_bytes(), &redactor.finder) {
        limit = limit.min(name);
    }
    // And a known secret with spaces in it.
    limit = limit.min(redactor.begun_at(text.as_bytes()));
    let held = text.get(..limit).unwrap_or_default();
    for (at, character) in held.char_indices().rev() {
        let end = at + character.len_utf8();
        if end <= searched {
            break;
        }
        // Any sign may be part of an encoded secret, and base64 continues over line breaks.
        let continues = character.is_ascii_graphic()
            || matches!(character, '\n' | '\r')
                && encoded::ends_line(held.get(..at).unwrap_or_default().as_bytes());
        if !continues && !announces(held.get(..end).unwrap_or_default()) {
            return end;
        }
    }
    0
}

/// Whether a text ends with something that a secret may follow: `:`, `=`, a scheme or a telling name.
fn announces(text: &str) -> bool {
    let text = text.trim_end_matches([' ', '\t', '\\', '"', '\'']);
    if text.ends_with([':', '=']) || text.ends_with("Bearer") || text.ends_with("bearer") {
        return true;
    }
    // The last letters of telling names; few texts come this far.
    let last = text.as_bytes().last().map(u8::to_ascii_lowercase);
    if !last.is_some_and(|last| b"deghlnsty".contains(&last)) {
        return false;
    }
    let in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let name = text.rsplit(|c| !in_name(c)).next().unwrap_or_default();
    names::judge(name).is_some()
}

/// Returns the data of an event with a single data line, and its offset in the event.
fn single_data_line(event: &[u8]) -> Option<(&str, usize)> {
    let mut found = None;
    let mut at = 0;
    while at < event.len() {
        let rest = event.get(at..).unwrap_or_default();
        let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        if let Some(data) = rest.get(..end).and_then(|line| line.strip_prefix(b"data:")) {
            if found.is_some() {
                return None;
            }
            let spaces = data.iter().take_while(|byte| **byte == b' ').count();
            found = Some((data.get(spaces..).unwrap_or_default(), at + 5 + spaces));
        }
        at += end + 1;
    }
    let (data, offset) = found?;
    Some((std::str::from_utf8(data).ok()?, offset))
}

/// Calls `visit` with the strings that continue from event to event: those below `delta`, and `text`
/// of a choice. Each comes with a name that identifies its text.
fn collect<'n>(root: Node<'n>, visit: &mut dyn FnMut(&str, Node<'n>)) {
    if let Some(delta) = root.get("delta") {
        let mut name = String::new();
        for member in ["item_id", "output_index", "content_index", "index"] {
            if let Some(node) = root.get(member) {
                push_scalar(&mut name, node);
            }
            name.push('/');
        }
        descend(delta, &mut name, visit);
    }
    let choices = root.get("choices");
    for choice in choices.iter().flat_map(|list| list.items()) {
        let mut name = String::from("choice ");
        if let Some(index) = choice.get("index") {
            push_scalar(&mut name, index);
        }
        name.push('/');
        for member in ["delta", "text"] {
            if let Some(node) = choice.get(member) {
                descend(node, &mut name, visit);
            }
        }
    }
}

fn descend<'n>(node: Node<'n>, name: &mut String, visit: &mut dyn FnMut(&str, Node<'n>)) {
    let before = name.len();
    match node.kind() {
        Kind::String => visit(name, node),
        Kind::Array => {
            for (at, item) in node.items().enumerate() {
                match item.get("index") {
                    Some(index) => push_scalar(name, index),
                    None => name.push_str(&at.to_string()),
                }
                name.push('/');
                descend(item, name, visit);
                name.truncate(before);
            }
        }
        Kind::Object => {
            for (key, member) in node.members() {
                let key = key.to_lossy();
                if ["type", "role", "id", "name", "stop_reason"].contains(&key.as_ref()) {
                    continue;
                }
                name.push_str(&key);
                name.push('/');
                descend(member, name, visit);
                name.truncate(before);
            }
        }
        _ => {}
    }
}

fn push_scalar(name: &mut String, node: Node<'_>) {
    match node.as_number() {
        Some(number) => name.push_str(number.text()),
        None => name.push_str(&node.as_lossy_str().unwrap_or_default()),
    }
}

/// Rewrites a JSON text in which strings contain secrets once unescaped; `None` if there are none.
pub(super) fn rewrite_json(redactor: &Redactor, text: &[u8]) -> Option<Vec<u8>> {
    let document = parse_document(text, &MESSAGE).ok()?;
    let mut value = document.root().to_value();
    if !redactor.redact_value(&mut value) {
        return None;
    }
    canonical_bytes(&value, Dialect::Kernel).ok()
}

/// Like [`rewrite_json`], for a text with one JSON document per line.
pub(super) fn rewrite_lines(redactor: &Redactor, text: &[u8]) -> Option<Vec<u8>> {
    let mut any = false;
    let mut out = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let content = line.trim_ascii_end();
        match rewrite_json(redactor, content) {
            Some(rewritten) => {
                any = true;
                out.extend_from_slice(&rewritten);
                out.extend_from_slice(line.get(content.len()..).unwrap_or_default());
            }
            None => out.extend_from_slice(line),
        }
    }
    any.then_some(out)
}

/// Returns the edit that rewrites the data of an event, or a line, with an escaped secret. `edited` is
/// the event without its plain secrets.
pub(super) fn rewrite_event(
    redactor: &Redactor,
    event: &[u8],
    edited: &[u8],
    at: usize,
    is_line: bool,
) -> Option<Edit> {
    let data_of = |event| {
        if is_line {
            Some((std::str::from_utf8(event).ok()?.trim_end(), 0))
        } else {
            single_data_line(event)
        }
    };
    let (data, offset) = data_of(event)?;
    let rewritten = rewrite_json(redactor, data_of(edited)?.0.as_bytes())?;
    Some(Edit {
        range: at + offset..at + offset + data.len(),
        kind: "escaped".to_owned(),
        secret: Vec::new(),
        placeholder: String::from_utf8_lossy(&rewritten).into_owned(),
        is_new: false,
    })
}
