//! JSON strings: escapes, orders, and an owned string that can hold whatever a JSON string can.
//!
//! JSON can write half of a surrogate pair (`"\ud800"`), which no Rust `str` can hold. Inside
//! runseal such a string is kept in WTF-8: UTF-8 in which a lone surrogate takes three bytes.
//! Code-point order of strings is then the order of their bytes.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

/// A piece of a string: text, the character of an escape, or half of a surrogate pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Text without escapes.
    Plain(&'a str),
    /// The character of an escape.
    Char(char),
    /// An unpaired surrogate.
    Lone(u16),
}

/// The pieces of a raw string whose escapes are known to be well formed.
pub(crate) struct RawPieces<'a> {
    rest: &'a str,
}

impl<'a> RawPieces<'a> {
    pub(crate) fn new(raw: &'a str) -> Self {
        Self { rest: raw }
    }
}

impl<'a> Iterator for RawPieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let raw = self.rest;
        match raw.find('\\') {
            None if raw.is_empty() => None,
            None => {
                self.rest = "";
                Some(Piece::Plain(raw))
            }
            Some(0) => {
                let (piece, taken) = decode_escape(raw.as_bytes());
                self.rest = &raw[taken.min(raw.len())..];
                Some(piece)
            }
            Some(at) => {
                self.rest = &raw[at..];
                Some(Piece::Plain(&raw[..at]))
            }
        }
    }
}

/// Decodes the escape that `bytes` begin with. Returns its piece and the number of bytes it takes.
fn decode_escape(bytes: &[u8]) -> (Piece<'static>, usize) {
    let short = |c| (Piece::Char(c), 2);
    match bytes.get(1) {
        Some(b'b') => short('\u{8}'),
        Some(b'f') => short('\u{c}'),
        Some(b'n') => short('\n'),
        Some(b'r') => short('\r'),
        Some(b't') => short('\t'),
        Some(b'u') => decode_unicode_escape(bytes),
        Some(&other) => short(char::from(other)),
        None => short('\\'),
    }
}

fn decode_unicode_escape(bytes: &[u8]) -> (Piece<'static>, usize) {
    let unit = bytes.get(2..6).and_then(parse_hex4).unwrap_or_default();
    if let Some(c) = char::from_u32(u32::from(unit)) {
        return (Piece::Char(c), 6);
    }
    let low = match bytes.get(6..8) {
        Some(b"\\u") => bytes.get(8..12).and_then(parse_hex4),
        _ => None,
    };
    match low.and_then(|low| join_surrogates(unit, low)) {
        Some(c) => (Piece::Char(c), 12),
        None => (Piece::Lone(unit), 6),
    }
}

/// Parses exactly four hex digits of either case.
pub(crate) fn parse_hex4(digits: &[u8]) -> Option<u16> {
    let digits: [u8; 4] = digits.try_into().ok()?;
    digits.iter().try_fold(0_u16, |value, &digit| {
        let digit = char::from(digit).to_digit(16)?;
        Some((value << 4) | u16::try_from(digit).ok()?)
    })
}

/// The character of a surrogate pair, if the two are one.
pub(crate) fn join_surrogates(high: u16, low: u16) -> Option<char> {
    char::decode_utf16([high, low]).next()?.ok()
}

/// The UTF-16 code unit of a lone surrogate's three WTF-8 bytes.
fn lone_unit(bytes: &[u8]) -> u16 {
    let low_bits = |at: usize| u16::from(bytes.get(at).copied().unwrap_or_default() & 0x3F);
    0xD000 | (low_bits(1) << 6) | low_bits(2)
}

fn push_lone(bytes: &mut Vec<u8>, unit: u16) {
    bytes.extend([
        0xED,
        0x80 | (unit >> 6 & 0x3F) as u8,
        0x80 | (unit & 0x3F) as u8,
    ]);
}

/// Decodes a raw string into WTF-8 bytes.
pub(crate) fn decode_raw(raw: &str) -> Cow<'_, [u8]> {
    if !raw.contains('\\') {
        return Cow::Borrowed(raw.as_bytes());
    }
    let mut bytes = Vec::with_capacity(raw.len());
    for piece in RawPieces::new(raw) {
        match piece {
            Piece::Plain(text) => bytes.extend_from_slice(text.as_bytes()),
            Piece::Char(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            Piece::Lone(unit) => push_lone(&mut bytes, unit),
        }
    }
    Cow::Owned(bytes)
}

/// Compares two raw strings by code point, decoding no more of them than needed.
pub(crate) fn compare_raw(a: &str, b: &str) -> Ordering {
    if !a.contains('\\') && !b.contains('\\') {
        return a.as_bytes().cmp(b.as_bytes());
    }
    code_points(a).cmp(code_points(b))
}

/// The code points of a raw string, including lone surrogates.
fn code_points(raw: &str) -> impl Iterator<Item = u32> {
    RawPieces::new(raw).flat_map(|piece| {
        let (plain, single) = match piece {
            Piece::Plain(text) => (text, None),
            Piece::Char(c) => ("", Some(u32::from(c))),
            Piece::Lone(unit) => ("", Some(u32::from(unit))),
        };
        plain.chars().map(u32::from).chain(single)
    })
}

/// The pieces of WTF-8 bytes.
struct Wtf8Pieces<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Wtf8Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let valid = match str::from_utf8(self.rest) {
            Ok("") => return None,
            Ok(text) => text,
            Err(error) => str::from_utf8(&self.rest[..error.valid_up_to()]).unwrap_or_default(),
        };
        if valid.is_empty() {
            let (lone, rest) = self.rest.split_at(3.min(self.rest.len()));
            self.rest = rest;
            return Some(Piece::Lone(lone_unit(lone)));
        }
        self.rest = &self.rest[valid.len()..];
        Some(Piece::Plain(valid))
    }
}

/// Compares by UTF-16 code units, as ECMAScript compares strings.
///
/// UTF-8 bytes sort by code point. The two orders differ only if a character beyond U+FFFF (lead byte
/// F0 and up, a surrogate in UTF-16) is compared with one of U+E000-U+FFFF (lead byte EE or EF).
pub fn compare_utf16(a: &str, b: &str) -> Ordering {
    compare_utf16_bytes(a.as_bytes(), b.as_bytes())
}

pub(crate) fn compare_utf16_bytes(a: &[u8], b: &[u8]) -> Ordering {
    let Some(at) = a.iter().zip(b).position(|(x, y)| x != y) else {
        return a.len().cmp(&b.len());
    };
    utf16_rank(a, at).cmp(&utf16_rank(b, at))
}

/// Ranks the character whose first differing byte is at `at` in UTF-16 order.
fn utf16_rank(bytes: &[u8], at: usize) -> (u8, u16, u8) {
    match bytes[at] {
        // Beyond U+FFFF: the high surrogate, D800 and up. Characters with the same lead byte differ in
        // a later byte, which sorts as their pairs do.
        lead @ 0xF0.. => (0xED, lead_surrogate(&bytes[at..]), lead),
        // A lone surrogate against a pair: by code unit. The first differing byte may be the
        // lead byte (against another lead) or the second byte (against another ED).
        // If the unit is also the high half of the other pair, what follows it is compared with the
        // pair's low half: only U+E000-U+FFFF sort after that.
        0xED if is_lone(&bytes[at..]) => {
            let beyond_low_half = matches!(bytes.get(at + 3), Some(0xEE | 0xEF));
            (
                0xED,
                lone_unit(&bytes[at..]),
                if beyond_low_half { u8::MAX } else { 0 },
            )
        }
        lead => (lead, 0, 0),
    }
}

fn is_lone(bytes: &[u8]) -> bool {
    matches!(bytes, [0xED, 0xA0..=0xBF, ..])
}

fn lead_surrogate(bytes: &[u8]) -> u16 {
    let lead = bytes.len().min(4);
    match str::from_utf8(&bytes[..lead])
        .ok()
        .and_then(|text| text.chars().next())
    {
        Some(c) => c.encode_utf16(&mut [0; 2])[0],
        None => 0xD800,
    }
}

/// An owned string that can hold whatever a JSON string can: any sequence of characters and lone
/// surrogates. Ordered by code point.
#[derive(Clone)]
pub struct JsonString {
    held: Held,
}

/// The content of a string. Decided when it is made, so that it need not be checked again.
#[derive(Clone)]
enum Held {
    /// Characters only.
    Text(String),
    /// A name from the program itself, such as the keys of everything it writes.
    Known(&'static str),
    /// WTF-8 with a lone surrogate. Pairs are never encoded as two surrogates, so equal strings have
    /// equal bytes.
    Lone(Vec<u8>),
}

impl JsonString {
    pub(crate) const fn from_static(text: &'static str) -> Self {
        Self {
            held: Held::Known(text),
        }
    }

    /// The string that is written as `raw`, whose escapes must be well formed.
    pub(crate) fn of_raw(raw: &str) -> Self {
        Self::from_wtf8(decode_raw(raw).into_owned())
    }

    pub(crate) fn from_wtf8(bytes: Vec<u8>) -> Self {
        let held = match String::from_utf8(bytes) {
            Ok(text) => Held::Text(text),
            Err(error) => Held::Lone(error.into_bytes()),
        };
        Self { held }
    }

    /// The text, unless it has a lone surrogate.
    pub fn as_str(&self) -> Option<&str> {
        match &self.held {
            Held::Text(text) => Some(text),
            Held::Known(text) => Some(text),
            Held::Lone(_) => None,
        }
    }

    /// The text, with U+FFFD for each lone surrogate.
    pub fn to_lossy(&self) -> String {
        match &self.held {
            Held::Text(text) => text.clone(),
            Held::Known(text) => (*text).to_owned(),
            Held::Lone(bytes) => lossy(bytes),
        }
    }

    pub(crate) fn as_wtf8(&self) -> &[u8] {
        match &self.held {
            Held::Text(text) => text.as_bytes(),
            Held::Known(text) => text.as_bytes(),
            Held::Lone(bytes) => bytes,
        }
    }

    pub(crate) fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        Wtf8Pieces {
            rest: self.as_wtf8(),
        }
    }
}

impl Ord for JsonString {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_wtf8().cmp(other.as_wtf8())
    }
}

impl PartialOrd for JsonString {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for JsonString {
    fn eq(&self, other: &Self) -> bool {
        self.as_wtf8() == other.as_wtf8()
    }
}

impl Eq for JsonString {}

/// Turns WTF-8 bytes into text, with U+FFFD for each lone surrogate.
pub(crate) fn lossy(bytes: &[u8]) -> String {
    let pieces = Wtf8Pieces { rest: bytes };
    pieces.fold(String::with_capacity(bytes.len()), |mut text, piece| {
        match piece {
            Piece::Plain(run) => text.push_str(run),
            Piece::Char(c) => text.push(c),
            Piece::Lone(_) => text.push('\u{FFFD}'),
        }
        text
    })
}

impl From<&str> for JsonString {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl From<String> for JsonString {
    fn from(text: String) -> Self {
        Self {
            held: Held::Text(text),
        }
    }
}

impl fmt::Debug for JsonString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_lossy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(bytes: &[u8]) -> Vec<u16> {
        Wtf8Pieces { rest: bytes }
            .flat_map(|piece| match piece {
                Piece::Plain(text) => text.encode_utf16().collect::<Vec<_>>(),
                Piece::Char(c) => c.encode_utf16(&mut [0; 2]).to_vec(),
                Piece::Lone(unit) => vec![unit],
            })
            .collect()
    }

    #[test]
    fn compare_utf16_agrees_with_code_units_for_every_pair_of_kinds() {
        let raws = [
            "",
            "a",
            "é",
            "\u{d7ff}",
            "\u{e000}",
            "\u{fb33}",
            "\u{ffff}",
            "\u{10000}",
            "\u{1f600}",
            "\u{1f601}",
            "\u{10ffff}",
            "\\ud800",
            "\\ud83c",
            "\\ud83d",
            "\\ud83e",
            "\\udbff",
            "\\udc00",
            "\\udfff",
            "a\\ud83d",
            "a\u{1f600}",
            "a\u{ffff}",
            "\u{1f600}\\udc00",
            "\\ud83d\u{1f600}",
            "\\ud83dx",
            "\\ud83d\u{ffff}",
            "\\ud83d\u{e000}",
            "\\ud83d\\ud83d",
            "\u{1f600}x",
            "\u{f000}",
            "\u{efff}",
            "\u{50000}",
        ];
        for a in raws {
            for b in raws {
                let (a, b) = (decode_raw(a), decode_raw(b));
                assert_eq!(
                    compare_utf16_bytes(&a, &b),
                    utf16(&a).cmp(&utf16(&b)),
                    "{a:?} {b:?}"
                );
            }
        }
    }

    #[test]
    fn decode_raw_turns_every_escape_into_its_character() {
        let decoded = decode_raw(r#"\"\\\/\b\f\n\r\tA\u00e9\ud83d\ude00"#);
        assert_eq!(&*decoded, "\"\\/\u{8}\u{c}\n\r\tAé😀".as_bytes());
    }

    #[test]
    fn json_string_keeps_a_lone_surrogate_and_is_then_not_text() {
        let string = JsonString::from_wtf8(decode_raw(r"a\ud83d\ud83d\ude00").into_owned());
        assert_eq!(string.as_str(), None);
        assert_eq!(string.to_lossy(), "a\u{fffd}😀");
        let pieces: Vec<_> = string.pieces().collect();
        assert_eq!(
            pieces,
            [Piece::Plain("a"), Piece::Lone(0xD83D), Piece::Plain("😀")]
        );
    }
}
