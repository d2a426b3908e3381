//! The texts that bytes spell: directly, escaped in JSON, percent-encoded, in hex or base64, split
//! over lines, or streamed in pieces. A pattern found in any of them is found in the bytes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use runseal_core::canon::{ReadOptions, Value, parse_document};
use runseal_core::formats::model_io::events::parse_events;

use super::decoding::{decode_base64, decode_hex, decode_percent, unescape};
use super::select::walk;

/// How deep spellings nest: base64 of a JSON text with escapes, in a streamed JSON text.
const DEEPEST: usize = 5;
/// The bytes read in all spellings of one text together, as a multiple of its length.
const MOST_WORK: usize = 64;
/// The shortest run of letters or digits that is decoded.
const SHORTEST_RUN: usize = 6;
/// A run that decodes to at least this many bytes is not a word, whatever it decodes to.
const LONGER_THAN_WORDS: usize = 64;

/// The result of a search in some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Searched {
    /// Whether the pattern is found in one of the spellings.
    pub(super) is_found: bool,
    /// Whether the bytes contain something that cannot be searched: compressed, encrypted, a
    /// picture.
    pub(super) is_opaque: bool,
}

/// Searches every spelling of `bytes`.
pub(super) fn search(bytes: &[u8], is_match: &dyn Fn(&[u8]) -> bool) -> Searched {
    let mut search = Search {
        is_match,
        room: bytes
            .len()
            .saturating_mul(MOST_WORK)
            .saturating_add(1 << 16),
        is_opaque: false,
    };
    let is_found = search.read(bytes, 0);
    Searched {
        is_found,
        is_opaque: search.is_opaque,
    }
}

/// Returns whether the pattern is found in one of the spellings of `bytes`.
pub(super) fn is_found(bytes: &[u8], is_match: &dyn Fn(&[u8]) -> bool) -> bool {
    search(bytes, is_match).is_found
}

/// The first bytes of formats that cannot be searched.
const OPAQUE: [&[u8]; 20] = [
    b"\x1f\x8b",
    b"PK\x03\x04",
    b"\x28\xb5\x2f\xfd",
    b"\xfd7zXZ\0",
    b"BZh",
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!",
    b"\x04\x22\x4d\x18",
    b"%PDF-",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"RIFF",
    b"OggS",
    b"ID3",
    b"PAR1",
    b"\x89HDF",
    b"age-encryption.org",
    b"Salted__",
    b"\x00\x00\x00\x18ftyp",
];

struct Search<'a> {
    is_match: &'a dyn Fn(&[u8]) -> bool,
    room: usize,
    is_opaque: bool,
}

impl Search<'_> {
    /// Reads one spelling, and what it spells in turn.
    fn read(&mut self, bytes: &[u8], depth: usize) -> bool {
        if (self.is_match)(bytes) {
            return true;
        }
        let Some(room) = self.room.checked_sub(bytes.len()) else {
            self.is_opaque = true;
            return false;
        };
        self.room = room;
        self.is_opaque |= OPAQUE.iter().any(|start| bytes.starts_with(start));
        if depth == DEEPEST {
            return false;
        }
        let Ok(text) = std::str::from_utf8(bytes) else {
            // UTF-16 in a file that is not UTF-8; otherwise the runs in it.
            return self.read_wide(bytes, depth) || self.read_runs(bytes, depth);
        };
        self.read_wide(bytes, depth)
            || self.read_json(text, depth)
            || self.read_escapes(text, depth)
            || self.read_percent(bytes, depth)
            || self.read_lines(text, depth)
            || self.read_runs(bytes, depth)
            || self.read_stream(text, depth)
    }

    /// Reads UTF-16 as ASCII letters.
    fn read_wide(&mut self, bytes: &[u8], depth: usize) -> bool {
        if !bytes.contains(&0) {
            return false;
        }
        let narrow: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
        self.read(&narrow, depth + 1)
    }

    /// Reads the strings and names of a JSON text.
    fn read_json(&mut self, text: &str, depth: usize) -> bool {
        let trimmed = text.trim_start();
        if !trimmed.starts_with(['{', '[', '"']) {
            return false;
        }
        let Some(value) = parse(text) else {
            return false;
        };
        let mut texts = Vec::new();
        walk(&value, "", &mut |_, value| match value {
            Value::String(text) => texts.push(text.to_lossy()),
            Value::Object(members) => {
                texts.extend(members.keys().map(|name| name.to_lossy()));
            }
            _ => {}
        });
        texts
            .iter()
            .any(|text| self.read(text.as_bytes(), depth + 1))
            || assemble(std::slice::from_ref(&value), true)
                .iter()
                .any(|text| self.read(text.as_bytes(), depth + 1))
    }

    fn read_escapes(&mut self, text: &str, depth: usize) -> bool {
        let plain = unescape(text);
        matches!(&plain, Cow::Owned(plain) if self.read(plain.as_bytes(), depth + 1))
    }

    fn read_percent(&mut self, bytes: &[u8], depth: usize) -> bool {
        let plain = decode_percent(bytes);
        plain.is_some_and(|plain| self.read(&plain, depth + 1))
    }

    /// Reads the text without its line breaks, and without what quoted-printable and indentation
    /// add.
    fn read_lines(&mut self, text: &str, depth: usize) -> bool {
        if !text.contains(['\n', '\r']) {
            return false;
        }
        let lines = text.split(['\n', '\r']).map(str::trim);
        let joined: String = lines
            .map(|line| line.strip_suffix('=').unwrap_or(line))
            .collect();
        // One level is enough: there are no lines left to join.
        (self.is_match)(joined.as_bytes()) || self.read_runs(joined.as_bytes(), depth)
    }

    /// Reads runs of hex digits and of base64.
    fn read_runs(&mut self, bytes: &[u8], depth: usize) -> bool {
        let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
        for run in bytes.split(|byte| !is_base64(byte)) {
            if run.len() < SHORTEST_RUN {
                continue;
            }
            if run.iter().all(u8::is_ascii_hexdigit) && self.read_decoded(&decode_hex(run), depth) {
                return true;
            }
            if self.read_decoded(&decode_base64(run), depth) {
                return true;
            }
        }
        let is_pairs = |byte: &u8| byte.is_ascii_hexdigit() || b" :-,x\\".contains(byte);
        for run in bytes.split(|byte| !is_pairs(byte)) {
            let pairs: Vec<u8> = run
                .split(|byte| !byte.is_ascii_hexdigit())
                .filter(|pair| pair.len() == 2)
                .flatten()
                .copied()
                .collect();
            if pairs.len() >= SHORTEST_RUN && self.read_decoded(&decode_hex(&pairs), depth) {
                return true;
            }
        }
        false
    }

    /// Reads what a run decodes to, if that looks intended: most words decode to something too.
    fn read_decoded(&mut self, bytes: &[u8], depth: usize) -> bool {
        let is_text = std::str::from_utf8(bytes).is_ok_and(|text| {
            let mut letters = text.chars();
            letters.all(|letter| !letter.is_control() || letter.is_whitespace())
        });
        (is_text || bytes.len() >= LONGER_THAN_WORDS)
            && !bytes.is_empty()
            && self.read(bytes, depth + 1)
    }

    /// Reads the joined pieces of server-sent events and of lines of JSON.
    fn read_stream(&mut self, text: &str, depth: usize) -> bool {
        let mut events = Vec::new();
        let mut plain = String::new();
        if text.contains("data:") {
            // The last event may not have ended.
            for event in parse_events(&format!("{text}\n\n")) {
                match parse(&event.data) {
                    Some(value) => events.push(value),
                    None => plain.push_str(&event.data),
                }
            }
        }
        if events.is_empty() {
            let mut lines = text.lines().filter(|line| !line.trim().is_empty());
            if text.trim_start().starts_with('{') && lines.clone().count() > 1 {
                let values: Option<Vec<_>> = lines.by_ref().map(parse).collect();
                events = values.unwrap_or_default();
            }
        }
        let texts = assemble(&events, false);
        (!plain.is_empty() && self.read(plain.as_bytes(), depth + 1))
            || texts
                .iter()
                .any(|text| self.read(text.as_bytes(), depth + 1))
    }
}

fn parse(text: &str) -> Option<Value> {
    let document = parse_document(text.as_bytes(), &ReadOptions::TEXT).ok()?;
    Some(document.root().to_value())
}

/// A piece of a text: the pointer to it, and its length in bytes.
pub(super) type Piece = (String, usize);

/// Returns the texts that are spread over consecutive values, with their pieces: what each value
/// has at the same place, joined. A different number (`index`) next to a text makes it a different
/// text.
pub(super) fn join_pieces<'a>(
    values: impl Iterator<Item = (String, &'a Value)>,
) -> Vec<(String, Vec<Piece>)> {
    let mut texts: BTreeMap<String, (String, Vec<Piece>)> = BTreeMap::new();
    for (pointer, value) in values {
        collect(value, String::new(), pointer, &mut |key, pointer, text| {
            let (whole, pieces) = texts.entry(key).or_default();
            whole.push_str(text);
            pieces.push((pointer, text.len()));
        });
    }
    let mut texts: Vec<_> = texts.into_values().collect();
    texts.retain(|(_, pieces)| pieces.len() > 1);
    texts
}

fn collect(value: &Value, key: String, pointer: String, see: &mut dyn FnMut(String, String, &str)) {
    match value {
        Value::String(text) => see(key, pointer, &text.to_lossy()),
        Value::Array(elements) => {
            for (at, element) in elements.iter().enumerate() {
                collect(element, format!("{key}/*"), format!("{pointer}/{at}"), see);
            }
        }
        Value::Object(members) => {
            // A file in a list is not a piece of a text.
            if value.get("sha256").is_some() || value.get("mode").is_some() {
                return;
            }
            let mut key = key;
            for (name, member) in members {
                if let Value::Number(number) = member
                    && name.to_lossy().ends_with("index")
                {
                    key.push_str(&format!(" {}", number.get().text()));
                }
            }
            for (name, member) in members {
                let name = name.to_lossy();
                let step = runseal_core::formats::redacted::documents::pointer_step(&name);
                collect(
                    member,
                    format!("{key}/{name}"),
                    format!("{pointer}{step}"),
                    see,
                );
            }
        }
        _ => {}
    }
}

/// Returns the texts that are spread over `values`; within arrays of each of them too, if asked.
fn assemble(values: &[Value], with_arrays: bool) -> Vec<String> {
    let joined = |values: &mut dyn Iterator<Item = &Value>| {
        let values = values.map(|value| (String::new(), value));
        let texts = join_pieces(values).into_iter();
        texts.map(|(text, _)| text).collect::<Vec<_>>()
    };
    let mut texts = joined(&mut values.iter());
    for value in values.iter().filter(|_| with_arrays) {
        walk(value, "", &mut |_, value| {
            if let Value::Array(elements) = value {
                texts.extend(joined(&mut elements.iter()));
            }
        });
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use runseal_trust::encoding::{encode_base64, encode_base64url, encode_hex};

    fn finds(bytes: &[u8]) -> bool {
        is_found(bytes, &|text| {
            text.windows(5).any(|window| window == b"erika")
        })
    }

    #[test]
    fn word_in_any_spelling_is_found() {
        let delta = |text: &str| {
            format!(
                "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n"
            )
        };
        let call = |text: &str| {
            format!(
                "event: content_block_delta\ndata: {{\"index\":1,\"delta\":{{\"partial_json\":\"{text}\"}}}}\n\n"
            )
        };
        let spaced: Vec<_> = b"erika".iter().map(|byte| format!("{byte:02x}")).collect();
        let wide: Vec<u8> = "\u{feff}x erika"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let texts: [Vec<u8>; 22] = [
            b"my erika".to_vec(),
            br#"{"a":"\u0065rik\u0061"}"#.to_vec(),
            br#"the text "\u0065rika" in a line"#.to_vec(),
            br#"{"a":"{\"b\":\"\\u0065rika\"}"}"#.to_vec(),
            b"%65rika".to_vec(),
            b"name=x%20%65%72ika&y".to_vec(),
            b"&#101;rika &#x65;".to_vec(),
            encode_base64(b"so erika said").into(),
            format!("Basic {}", encode_base64(b"erika:pw")).into(),
            encode_base64url(b"{\"sub\":\"erika\"}").into(),
            encode_base64(encode_base64(b"erika said it").as_bytes()).into(),
            format!("x: {}", encode_hex(b"erika")).into(),
            spaced.join(" ").into(),
            spaced.join(":").into(),
            b"eri\n  ka".to_vec(),
            b"eri=\r\nka".to_vec(),
            wide,
            [delta("e"), delta("ri"), delta("ka!")].concat().into(),
            [call("{\\\"n\\\":\\\"er"), delta("x"), call("ika\\\"}")]
                .concat()
                .into(),
            [delta("\\u0065r"), delta("ika")].concat().into(),
            b"{\"response\":\"eri\"}\n{\"response\":\"ka\"}\n".to_vec(),
            br#"[{"d":"er"},{"d":"ika"}]"#.to_vec(),
        ];
        for text in texts {
            assert!(finds(&text), "{}", String::from_utf8_lossy(&text));
        }
        let lines = encode_base64(b"a long line that is folded, so erika said, as mail folds it");
        let folded: Vec<_> = lines
            .as_bytes()
            .chunks(20)
            .map(String::from_utf8_lossy)
            .collect();
        assert!(finds(folded.join("\r\n").as_bytes()));
    }

    #[test]
    fn other_words_are_not_found() {
        let texts = [
            "eri ka",
            "documentation of everything",
            "data: {\"index\":0,\"delta\":{\"t\":\"eri\"}}\n\ndata: {\"index\":1,\"delta\":{\"t\":\"ka\"}}\n\n",
            r#"[{"mode":"eri"},{"mode":"ka"}]"#,
            "%6",
            "\\u00",
            "&#;",
        ];
        for text in texts {
            assert!(!finds(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn unreadable_content_is_reported() {
        let none = |_: &[u8]| false;
        for bytes in [
            b"\x1f\x8b\x08rest".as_slice(),
            b"PK\x03\x04rest",
            b"%PDF-1.7",
        ] {
            assert!(search(bytes, &none).is_opaque);
            let encoded = encode_base64(&[bytes, &[7; 90]].concat());
            assert!(search(encoded.as_bytes(), &none).is_opaque);
        }
        assert!(!search(b"plain text", &none).is_opaque);
    }
}
