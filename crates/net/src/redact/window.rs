//! Redaction of a body that comes in pieces, each as it was sent: the pieces' borders are kept, and a
//! secret that lies across them is found.
//!
//! Of an event stream, whole events are let go; of anything else, what is so far from the end that
//! no secret can reach back to it. Nothing is written that has not gone through here.

use super::deltas::{self, Lanes};
use super::{Edit, Redactor, has_escapes};

/// What is held back of a body that is no event stream: no secret is longer.
const HOLD: usize = 64 << 10;
/// A JSON body up to this size is held as a whole, and looked at with its escapes read.
const WHOLE_JSON: usize = 8 << 20;
/// An event longer than this is treated as any other body.
const LONGEST_EVENT: usize = 8 << 20;
/// Whole events that are held at the most while what they say may be a part of a secret.
const MOST_EVENTS: usize = 256 << 10;

/// How a body is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyKind {
    /// Server-sent events.
    Events,
    /// A JSON document: secrets are looked for in its strings.
    Json,
    /// A message a line.
    Lines,
    /// Anything else: secrets are looked for in its bytes.
    Plain,
}

impl BodyKind {
    /// By the type that the headers declare.
    pub fn of_content_type(declared: &str) -> Self {
        let declared = declared.to_ascii_lowercase();
        if declared.starts_with("text/event-stream") {
            Self::Events
        } else if declared.contains("json") {
            Self::Json
        } else {
            Self::Plain
        }
    }
}

/// What may be written.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Released {
    /// Bytes without secrets, which follow those released before.
    pub bytes: Vec<u8>,
    /// Where pieces end: offsets in all that was released, each with its piece's mark.
    pub cuts: Vec<(u64, u64)>,
}

/// A body that comes in.
#[derive(Debug)]
pub struct Window {
    kind: BodyKind,
    raw: Vec<u8>,
    /// Ends of pieces in `raw`, and their marks.
    cuts: Vec<(usize, u64)>,
    /// Bytes released so far.
    released: u64,
    lanes: Lanes,
    /// Up to where events were looked at.
    looked: usize,
    /// Up to where the end of the next one was searched for.
    searched: usize,
    edits: Vec<Edit>,
}

impl Window {
    /// A window on a body of which nothing has come yet.
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

    /// Adds a piece, with a mark that its end is to carry.
    pub fn add(&mut self, piece: &[u8], mark: u64) {
        self.raw.extend_from_slice(piece);
        self.cuts.push((self.raw.len(), mark));
    }

    /// Gives what may be written of all that was added.
    pub fn let_go(&mut self, redactor: &Redactor) -> Released {
        match self.kind {
            BodyKind::Events | BodyKind::Lines => self.let_events_go(redactor),
            BodyKind::Json if self.raw.len() <= WHOLE_JSON => Released::default(),
            BodyKind::Json | BodyKind::Plain => self.let_plain_go(redactor),
        }
    }

    /// Whether more may come after [`Window::finish`].
    pub fn goes_on(&self) -> bool {
        self.kind == BodyKind::Lines
    }

    /// Ends the body; gives the rest of it.
    pub fn finish(&mut self, redactor: &Redactor) -> Released {
        if matches!(self.kind, BodyKind::Events | BodyKind::Lines) {
            self.look(redactor);
            // What has no end is looked at as an event all the same.
            self.look_at(redactor, self.raw.len());
            self.lanes.settle(redactor, usize::MAX, &mut self.edits);
            return self.release(self.raw.len());
        }
        self.edits = redactor.take_edits(&self.raw);
        let is_whole = self.released == 0;
        let rest = self.release(self.raw.len());
        if self.kind == BodyKind::Json
            && is_whole
            && has_escapes(&rest.bytes)
            && let Some(rewritten) = deltas::rewrite_json(redactor, &rest.bytes)
        {
            self.released = rewritten.len() as u64;
            let mark = rest.cuts.first().map_or(0, |cut| cut.1);
            return Released {
                cuts: vec![(self.released, mark)],
                bytes: rewritten,
            };
        }
        rest
    }

    /// Looks at the events that are whole.
    fn look(&mut self, redactor: &Redactor) {
        let length_of = match self.kind {
            BodyKind::Lines => line_length,
            _ => event_length,
        };
        let mut ends = Vec::new();
        let mut from = self.looked;
        loop {
            // An end may begin before what was searched and reach into what is new.
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
        // Mostly there is nothing in any of them: one look at all is cheaper than one at each.
        let is_clean = !has_escapes(whole) && redactor.finds_nothing(whole);
        for end in ends {
            if !is_clean {
                self.look_at(redactor, end);
            } else if self.kind != BodyKind::Lines {
                let event = self.raw.get(self.looked..end).unwrap_or_default();
                self.lanes.add(event, self.looked);
            }
            self.looked = end;
        }
    }

    /// Looks at the event that ends at `end`.
    fn look_at(&mut self, redactor: &Redactor, end: usize) {
        let from = self.looked;
        let event = self.raw.get(from..end).unwrap_or_default();
        let found = redactor.take_edits(event);
        let is_line = self.kind == BodyKind::Lines;
        let hidden = match found.is_empty() && has_escapes(event) {
            true => deltas::rewrite_event(redactor, event, from, is_line),
            false => None,
        };
        match hidden {
            Some(edit) => self.edits.push(edit),
            None => {
                self.edits
                    .extend(found.into_iter().map(|edit| shift(edit, from)));
                if !is_line {
                    self.lanes.add(event, from);
                }
            }
        }
        self.looked = end;
    }

    fn let_events_go(&mut self, redactor: &Redactor) -> Released {
        self.look(redactor);
        if self.looked == 0 {
            if self.raw.len() > LONGEST_EVENT {
                self.kind = BodyKind::Plain;
            }
            return Released::default();
        }
        let forced = match self.looked > MOST_EVENTS {
            true => self.looked - MOST_EVENTS / 2,
            false => 0,
        };
        self.lanes.settle(redactor, forced, &mut self.edits);
        let upto = self.lanes.first_held().unwrap_or(self.looked);
        self.release(upto)
    }

    fn let_plain_go(&mut self, redactor: &Redactor) -> Released {
        if self.raw.len() < 2 * HOLD {
            return Released::default();
        }
        let mut upto = self.raw.len() - HOLD;
        // Best between two members or lines, so that a name does not lose its value.
        let before = self
            .raw
            .get(upto.saturating_sub(4096)..upto)
            .unwrap_or_default();
        if let Some(at) = before.iter().rposition(|byte| b",\n}".contains(byte)) {
            upto = upto - before.len() + at + 1;
        }
        let found = redactor.find(&self.raw);
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
        self.edits = redactor.take_edits(self.raw.get(..upto).unwrap_or_default());
        self.release(upto)
    }

    /// Takes the first `upto` bytes out, with the edits in them.
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

/// The length of the first line with its end.
fn line_length(bytes: &[u8]) -> Option<usize> {
    Some(memchr::memchr(b'\n', bytes)? + 1)
}

/// The length of the first event with the blank line that ends it.
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
mod tests {
    use super::*;
    use crate::redact::RedactionRules;

    impl Window {
        fn push(&mut self, redactor: &Redactor, piece: &[u8], mark: u64) -> Released {
            self.add(piece, mark);
            self.let_go(redactor)
        }
    }

    /// Everything that comes out for pieces of `size` bytes, and where the pieces end in it.
    fn redact(kind: BodyKind, body: &str, size: usize) -> (String, Vec<u64>) {
        let redactor = Redactor::new(RedactionRules::default()).unwrap();
        let mut window = Window::new(kind);
        let (mut bytes, mut cuts) = (Vec::new(), Vec::new());
        let mut take = |released: Released| {
            bytes.extend(released.bytes);
            cuts.extend(released.cuts.into_iter().map(|(cut, _)| cut));
        };
        for piece in body.as_bytes().chunks(size) {
            take(window.push(&redactor, piece, 0));
        }
        take(window.finish(&redactor));
        (String::from_utf8(bytes).unwrap(), cuts)
    }

    const SECRET: &str = "sk-ant-api03-abcdefghij0123456789";

    #[test]
    fn window_pieces_of_any_size_hide_no_secret_and_lose_no_border() {
        let body =
            format!("data: {{\"a\":\"{SECRET}\"}}\n\ndata: {{\"b\":\"{SECRET}\"}}\r\n\r\ndata: x");
        for kind in [BodyKind::Events, BodyKind::Plain] {
            for size in (1..body.len()).step_by(4) {
                let (out, cuts) = redact(kind, &body, size);
                assert!(!out.contains("abcdefghij"), "{size}: {out}");
                assert_eq!(out.matches("[redacted:anthropic-key:").count(), 2, "{out}");
                assert_eq!(cuts.len(), body.len().div_ceil(size));
                assert_eq!(cuts.last().copied(), Some(out.len() as u64));
                assert!(cuts.is_sorted());
            }
        }
    }

    #[test]
    fn window_without_secrets_gives_every_byte_and_border_back() {
        let body = "data: {\"choices\":[{\"delta\":{\"content\":\"Grüße\"}}]}\n\ndata: [DONE]\n\n";
        for size in (1..body.len()).step_by(3) {
            let redactor = Redactor::new(RedactionRules::default()).unwrap();
            let mut window = Window::new(BodyKind::Events);
            let (mut bytes, mut cuts) = (Vec::new(), Vec::new());
            for piece in body.as_bytes().chunks(size) {
                let released = window.push(&redactor, piece, 7);
                bytes.extend(released.bytes);
                cuts.extend(released.cuts);
            }
            let released = window.finish(&redactor);
            bytes.extend(released.bytes);
            cuts.extend(released.cuts);
            assert_eq!(bytes, body.as_bytes());
            let ends = (1..=body.len().div_ceil(size)).map(|n| (n * size).min(body.len()) as u64);
            assert_eq!(cuts, ends.map(|end| (end, 7)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn window_secret_said_piece_by_piece_is_taken_out_of_every_event() {
        for size in [1, 2, 3, 5] {
            let letters: Vec<char> = format!("the key is {SECRET} and that is all")
                .chars()
                .collect();
            let mut body = String::new();
            for piece in letters.chunks(size) {
                let piece: String = piece.iter().collect();
                body.push_str(&format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{piece}\"}}}}]}}\n\n"));
            }
            let (out, _) = redact(BodyKind::Events, &body, 40);
            let said: String = runseal_core::formats::model_io::events::parse_events(&out)
                .iter()
                .map(|event| {
                    let value: serde_json::Value = serde_json::from_str(&event.data).unwrap();
                    value["choices"][0]["delta"]["content"]
                        .as_str()
                        .unwrap()
                        .to_owned()
                })
                .collect();
            assert!(
                said.starts_with("the key is [redacted:anthropic-key:"),
                "{said}"
            );
            assert!(said.ends_with("] and that is all"), "{said}");
            assert!(!said.contains("abcdef"), "{said}");
        }
    }

    #[test]
    fn window_holds_a_bounded_part_of_a_stream_however_long_it_is() {
        let redactor = Redactor::new(RedactionRules::default()).unwrap();
        let event = |index: usize, text: &str| {
            format!(
                "data: {{\"choices\":[{{\"index\":{index},\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n"
            )
        };
        // Words as models say them; a text without any space; one that stopped in the middle of a word
        // while another goes on.
        for (first, next) in [
            (" word", event(0, " word")),
            ("x", event(0, "abcd")),
            ("x", event(1, "ab ")),
        ] {
            let mut window = Window::new(BodyKind::Events);
            window.push(&redactor, event(0, first).as_bytes(), 0);
            let mut most = 0;
            let (mut told, mut released) = (0, 0);
            while told < 4 << 20 {
                released += window.push(&redactor, next.as_bytes(), 0).bytes.len();
                told += next.len();
                most = most.max(window.raw.len());
            }
            let bound = if first == " word" {
                1000
            } else {
                2 * MOST_HELD_EVENTS
            };
            assert!(most < bound, "{next}: {most}");
            assert!(released + bound > told, "{next}: {released} of {told}");
        }
    }

    const MOST_HELD_EVENTS: usize = MOST_EVENTS + MOST_EVENTS / 2;

    #[test]
    fn window_secret_among_words_is_found_wherever_the_pieces_end() {
        for (said, secret) in [
            ("say Bearer abcdefghijklmnop0123456789 now", "abcdefghij"),
            ("my password : hunter2222 is old", "hunter2222"),
            (
                "a {\\\"client_secret\\\": \\\"zzz999zzz\\\"} b c",
                "zzz999zzz",
            ),
            (
                "in -----BEGIN PRIVATE KEY-----\\nMIIB abc\\nXYZW\\n-----END PRIVATE KEY----- and on",
                "XYZW",
            ),
            (
                "one ghp_0123456789abcdefghijABCDEFGHIJ012345, two ghp_zyxwvutsrq9876543210ZYXWVUTSRQ98765 end",
                "zyxwvutsrq",
            ),
        ] {
            let decoded: String = serde_json::from_str(&format!("\"{said}\"")).unwrap();
            let letters: Vec<char> = decoded.chars().collect();
            for size in 1..12 {
                let mut body = String::new();
                for piece in letters.chunks(size) {
                    let piece: String = piece.iter().collect();
                    let value = serde_json::json!({"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":piece}});
                    body.push_str(&format!("event: content_block_delta\ndata: {value}\n\n"));
                }
                for chunk in [1, 37, 4096] {
                    let (out, _) = redact(BodyKind::Events, &body, chunk);
                    let said: String = runseal_core::formats::model_io::events::parse_events(&out)
                        .iter()
                        .map(|event| {
                            let value: serde_json::Value =
                                serde_json::from_str(&event.data).unwrap();
                            value["delta"]["text"].as_str().unwrap().to_owned()
                        })
                        .collect();
                    assert!(!said.contains(secret), "{size} {chunk}: {said}");
                    assert!(said.contains("[redacted:"), "{size} {chunk}: {said}");
                    assert!(
                        said.ends_with(&decoded[decoded.len() - 3..]),
                        "{size} {chunk}: {said}"
                    );
                }
            }
        }
    }

    #[test]
    fn window_large_plain_body_is_let_go_before_its_end() {
        let redactor = Redactor::new(RedactionRules::default()).unwrap();
        let mut window = Window::new(BodyKind::Plain);
        let mut out = Vec::new();
        let piece = "word and word and ".repeat(1000);
        for at in 0..40 {
            out.extend(window.push(&redactor, piece.as_bytes(), 0).bytes);
            if at == 20 {
                assert!(out.len() > 100_000, "{}", out.len());
                let secret = format!(" {SECRET} ");
                out.extend(window.push(&redactor, secret.as_bytes(), 0).bytes);
            }
        }
        out.extend(window.finish(&redactor).bytes);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.matches("[redacted:").count(), 1);
        assert!(!text.contains(SECRET));
    }
}
