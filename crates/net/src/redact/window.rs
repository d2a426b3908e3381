//! Redacts a body that arrives in pieces: keeps the boundaries of the pieces, and finds secrets
//! that cross them.
//!
//! An event stream is released in complete events; any other body once it is too far from the end
//! for a secret to reach back to it. Everything that is written passes through here.

use runseal_secrets::Coding;

use super::compressed::redact_compressed;
use super::deltas::{self, Lanes};
use super::{Edit, Redactor, apply, has_escapes};

/// How many bytes of a body other than an event stream are held back. No secret is longer.
const HOLD: usize = 64 << 10;
/// A JSON or compressed body up to this size is held back whole, and searched with its escapes decoded.
pub(crate) const WHOLE_JSON: usize = 8 << 20;
/// An event longer than this is treated like any other body.
const LONGEST_EVENT: usize = 8 << 20;
/// The most bytes of complete events that are held back because they may contain part of a secret.
const MOST_EVENTS: usize = 256 << 10;

/// How a body is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyKind {
    /// Server-sent events.
    Events,
    /// A JSON document: secrets are searched in its strings.
    Json,
    /// One message per line, in a session that continues after each answer.
    Lines,
    /// One JSON document per line.
    JsonLines,
    /// Compressed: secrets are searched in the decompressed content.
    Compressed(Coding),
    /// Anything else: secrets are searched in its bytes.
    Plain,
}

impl BodyKind {
    /// Returns the kind for the coding and the type that the headers declare.
    pub fn of_headers(coding: &str, declared: &str) -> Self {
        if let Some(coding) = Coding::parse(coding) {
            return Self::Compressed(coding);
        }
        let declared = declared.to_ascii_lowercase();
        if declared.starts_with("text/event-stream") {
            Self::Events
        } else if declared.contains("ndjson") || declared.contains("jsonl") {
            Self::JsonLines
        } else if declared.contains("json") {
            Self::Json
        } else {
            Self::Plain
        }
    }
}

/// The part of a body that may be written.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Released {
    /// Bytes without secrets; they follow those released before.
    pub bytes: Vec<u8>,
    /// The ends of pieces, as offsets in all released bytes, each with its piece's mark.
    pub cuts: Vec<(u64, u64)>,
}

/// A body that is arriving.
#[derive(Debug)]
pub struct Window {
    kind: BodyKind,
    raw: Vec<u8>,
    /// The ends of pieces in `raw`, with their marks.
    cuts: Vec<(usize, u64)>,
    /// Bytes released so far.
    released: u64,
    lanes: Lanes,
    /// The offset up to which events were searched for secrets.
    looked: usize,
    /// The offset up to which the end of the next event was searched for.
    searched: usize,
    edits: Vec<Edit>,
}

impl Window {
    /// Creates an empty window.
    pub fn new(kind: BodyKind) -> Self {
        Self {
            kind,
            raw: Vec::new(),
            cuts: Vec::new(),
            released: 0,
            lanes: Lanes::default(),
            looked: 0,
            searched: 0,
            edits: Vec::new(),
        }
    }

    /// Adds a piece; its end carries `mark`.
    pub fn add(&mut self, piece: &[u8], mark: u64) {
        // JSON is treated as such, whatever its type says.
        let begins_json = || matches!(piece.trim_ascii_start().first(), Some(b'{' | b'['));
        if self.kind == BodyKind::Plain && self.is_fresh() && begins_json() {
            self.kind = BodyKind::Json;
        }
        self.raw.extend_from_slice(piece);
        self.cuts.push((self.raw.len(), mark));
    }

    /// Whether nothing has arrived yet.
    fn is_fresh(&self) -> bool {
        self.raw.is_empty() && self.released == 0
    }

    /// Whether the body is released event by event.
    fn has_events(&self) -> bool {
        matches!(
            self.kind,
            BodyKind::Events | BodyKind::Lines | BodyKind::JsonLines
        )
    }

    /// Releases what may be written.
    pub fn release_ready(&mut self, redactor: &Redactor) -> Released {
        self.sniff();
        match self.kind {
            BodyKind::Events | BodyKind::Lines | BodyKind::JsonLines => {
                self.release_events(redactor)
            }
            BodyKind::Json | BodyKind::Compressed(_) if self.raw.len() <= WHOLE_JSON => {
                Released::default()
            }
            BodyKind::Json | BodyKind::Compressed(_) | BodyKind::Plain => {
                self.release_plain(redactor)
            }
        }
    }

    /// Takes a body that begins like a compressed one for that, whatever its headers say.
    fn sniff(&mut self) {
        if self.released == 0
            && !matches!(self.kind, BodyKind::Compressed(_) | BodyKind::Lines)
            && let Some(coding) = Coding::sniff(&self.raw)
        {
            self.kind = BodyKind::Compressed(coding);
        }
    }

    /// How many bytes are held back.
    pub fn held(&self) -> usize {
        self.raw.len()
    }

    /// Saves memory by holding back no more than `HOLD` from now on: the body is searched like one of
    /// unknown kind. Releases what may be written.
    pub fn loosen(&mut self, redactor: &Redactor) -> Released {
        let mut released = Released::default();
        if self.has_events() {
            self.look(redactor);
            self.lanes.settle(redactor, usize::MAX, &mut self.edits);
            released = self.release(self.looked);
            if self.goes_on() {
                // A line that has not ended is held until it does, or is too long.
                return released;
            }
        }
        self.kind = BodyKind::Plain;
        let more = self.release_plain(redactor);
        released.bytes.extend(more.bytes);
        released.cuts.extend(more.cuts);
        released
    }

    /// Whether more may arrive after [`Window::finish`].
    pub fn goes_on(&self) -> bool {
        self.kind == BodyKind::Lines
    }

    /// Ends the body; releases the rest.
    pub fn finish(&mut self, redactor: &Redactor) -> Released {
        self.sniff();
        if self.has_events() {
            self.look(redactor);
            // An incomplete event is searched too.
            self.look_at(redactor, self.raw.len());
            self.lanes.settle(redactor, usize::MAX, &mut self.edits);
            return self.release(self.raw.len());
        }
        self.edits = redactor.take_edits(&self.raw);
        let is_whole = self.released == 0;
        let rest = self.release(self.raw.len());
        let rewritten = match self.kind {
            _ if !is_whole => None,
            BodyKind::Json if has_escapes(&rest.bytes) => {
                deltas::rewrite_json(redactor, &rest.bytes)
                    .or_else(|| deltas::rewrite_lines(redactor, &rest.bytes))
            }
            BodyKind::Compressed(coding) => redact_compressed(coding, redactor, &rest.bytes),
            _ => None,
        };
        if let Some(rewritten) = rewritten {
            self.released = rewritten.len() as u64;
            let mark = rest.cuts.first().map_or(0, |cut| cut.1);
            return Released {
                cuts: vec![(self.released, mark)],
                bytes: rewritten,
            };
        }
        rest
    }

    /// Searches the complete events.
    fn look(&mut self, redactor: &Redactor) {
        let length_of = match self.kind {
            BodyKind::Lines | BodyKind::JsonLines => line_length,
            _ => event_length,
        };
        let mut ends = Vec::new();
        let mut from = self.looked;
        loop {
            // The end of an event may begin before this point and extend into the new bytes.
            let start = self.searched.saturating_sub(4).max(from);
            let rest = self.raw.get(start..).unwrap_or_default();
            let Some(length) = length_of(rest) else {
                self.searched = self.raw.len();
                break;
            };
            from = start + length;
            self.searched = from;
            ends.push(from);
        }
        let whole = self.raw.get(self.looked..from).unwrap_or_default();
        // Usually there is nothing to find, and one search over all is cheaper than one for each.
        let is_clean = !has_escapes(whole) && redactor.finds_nothing(whole);
        for end in ends {
            if !is_clean {
                self.look_at(redactor, end);
            } else if self.kind == BodyKind::Events {
                let event = self.raw.get(self.looked..end).unwrap_or_default();
                self.lanes.add(event, self.looked);
            }
            self.looked = end;
        }
    }

    /// Searches the event that ends at `end`.
    fn look_at(&mut self, redactor: &Redactor, end: usize) {
        let from = self.looked;
        let event = self.raw.get(from..end).unwrap_or_default();
        let found = redactor.take_edits(event);
        let is_line = self.kind != BodyKind::Events;
        // Plain secrets first; then the rest is searched with its escapes decoded.
        let hidden = if has_escapes(event) {
            let edited = apply(event, &found);
            deltas::rewrite_event(redactor, event, &edited, from, is_line)
        } else {
            None
        };
        let is_within = |edit: &Edit, whole: &Edit| {
            whole.range.start <= edit.range.start && edit.range.end <= whole.range.end
        };
        let found = found.into_iter().map(|edit| shift(edit, from));
        let apart = found.filter(|edit| !hidden.as_ref().is_some_and(|all| is_within(edit, all)));
        self.edits.extend(apart);
        self.edits.extend(hidden);
        if !is_line {
            self.lanes.add(event, from);
        }
        self.looked = end;
    }

    fn release_events(&mut self, redactor: &Redactor) -> Released {
        self.look(redactor);
        if self.looked == 0 {
            if self.raw.len() > LONGEST_EVENT {
                self.kind = BodyKind::Plain;
            }
            return Released::default();
        }
        let forced = if self.looked > MOST_EVENTS {
            self.looked - MOST_EVENTS / 2
        } else {
            0
        };
        self.lanes.settle(redactor, forced, &mut self.edits);
        let upto = self.lanes.first_held().unwrap_or(self.looked);
        self.release(upto)
    }

    fn release_plain(&mut self, redactor: &Redactor) -> Released {
        if self.raw.len() < 2 * HOLD {
            return Released::default();
        }
        let mut upto = self.raw.len() - HOLD;
        // Preferably between two members or lines, so that a name is not separated from its value.
        let before = self
            .raw
            .get(upto.saturating_sub(4096)..upto)
            .unwrap_or_default();
        if let Some(at) = before.iter().rposition(|byte| b",\n}".contains(byte)) {
            upto = upto - before.len() + at + 1;
        }
        let mut found = redactor.find(&self.raw);
        if let Some(across) = found
            .iter()
            .find(|edit| edit.range.start < upto && upto < edit.range.end)
        {
            let is_endless = across.range.end - across.range.start > WHOLE_JSON;
            upto = if is_endless {
                across.range.end
            } else {
                across.range.start
            };
        }
        found.retain(|edit| edit.range.end <= upto);
        redactor.account_for(&found);
        self.edits = found;
        self.release(upto)
    }

    /// Removes the first `upto` bytes from the window, and applies the edits in them.
    fn release(&mut self, upto: usize) -> Released {
        if upto == 0 {
            return Released::default();
        }
        let mut edits = std::mem::take(&mut self.edits);
        edits.sort_by_key(|edit| edit.range.start);
        let kept = edits.partition_point(|edit| edit.range.start < upto);
        self.edits = edits.split_off(kept);
        let mut released = Released::default();
        let mut cuts = self
            .cuts
            .iter()
            .copied()
            .take_while(|cut| cut.0 <= upto)
            .peekable();
        let mut at = 0;
        let base = self.released;
        let mut copy = |from: usize, to: usize, out: &mut Released| {
            let mut start = from;
            while let Some((cut, mark)) = cuts.next_if(|cut| cut.0 <= to) {
                let cut = cut.max(start);
                out.bytes
                    .extend_from_slice(self.raw.get(start..cut).unwrap_or_default());
                out.cuts.push((base + out.bytes.len() as u64, mark));
                start = cut;
            }
            out.bytes
                .extend_from_slice(self.raw.get(start..to).unwrap_or_default());
        };
        for edit in &edits {
            if edit.range.start < at {
                continue;
            }
            copy(at, edit.range.start, &mut released);
            released
                .bytes
                .extend_from_slice(edit.placeholder.as_bytes());
            at = edit.range.end;
        }
        copy(at, upto, &mut released);
        drop(cuts);
        let taken = self.cuts.iter().take_while(|cut| cut.0 <= upto).count();
        self.cuts.drain(..taken);
        self.cuts.iter_mut().for_each(|cut| cut.0 -= upto);
        self.raw.drain(..upto);
        self.edits.iter_mut().for_each(|edit| {
            edit.range.start -= upto;
            edit.range.end -= upto;
        });
        self.lanes.shift(upto);
        if self.raw.is_empty() && self.raw.capacity() > MOST_EVENTS {
            self.raw = Vec::new();
        }
        self.looked = self.looked.saturating_sub(upto);
        self.searched = self.searched.saturating_sub(upto);
        self.released += released.bytes.len() as u64;
        released
    }
}

fn shift(mut edit: Edit, by: usize) -> Edit {
    edit.range.start += by;
    edit.range.end += by;
    edit
}

/// Returns the length of the first line including its end.
fn line_length(bytes: &[u8]) -> Option<usize> {
    Some(memchr::memchr(b'\n', bytes)? + 1)
}

/// Returns the length of the first event including the blank line that ends it.
fn event_length(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = memchr::memchr2(b'\n', b'\r', bytes.get(at..)?) {
        let rest = bytes.get(at + found..)?;
        for end in [b"\r\n\r\n".as_slice(), b"\n\n", b"\r\r"] {
            if rest.starts_with(end) {
                return Some(at + found + end.len());
            }
        }
        at += found + 1;
    }
    None
}

#[cfg(test)]
mod tests;
