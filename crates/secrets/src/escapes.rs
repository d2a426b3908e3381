//! Notations that escape single characters: JSON, percent-encoding, HTML, quoted-printable and UTF-16.

use std::ops::Range;

/// An escape that was decoded to a byte or a character.
#[derive(Debug, Clone)]
struct Escape {
    /// Its bytes in the decoded text.
    decoded: Range<usize>,
    /// Its bytes in the text.
    source: Range<usize>,
}

/// The decoded escapes of a text, in order; everything between them is unchanged.
#[derive(Debug, Clone, Default)]
pub struct Escapes(Vec<Escape>);

impl Escapes {
    /// Returns the bytes of the text that a range of the decoded text comes from: always whole escapes.
    pub fn outward(&self, range: &Range<usize>) -> Range<usize> {
        self.place(range.start, false)..self.place(range.end, true)
    }

    fn place(&self, at: usize, is_end: bool) -> usize {
        let before = self.0.partition_point(|escape| escape.decoded.start <= at);
        let Some(last) = before.checked_sub(1).and_then(|last| self.0.get(last)) else {
            return at;
        };
        match last {
            Escape { decoded, source } if at >= decoded.end => source.end + (at - decoded.end),
            Escape { decoded, source } if at == decoded.start || !is_end => source.start,
            Escape { source, .. } => source.end,
        }
    }
}

/// A notation: the bytes that begin its escapes, and how to read one.
pub struct Notation {
    first: &'static [u8],
    /// Reads the escape at the beginning of a text; returns its character and its length.
    read: fn(&[u8]) -> Option<(Character, usize)>,
    /// Whether this escape alone makes its text worth decoding.
    triggers: fn(&[u8]) -> bool,
}

/// The bytes of one character in UTF-8, or one byte, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Character {
    bytes: [u8; 4],
    length: usize,
}

impl Character {
    const NOTHING: Self = Self {
        bytes: [0; 4],
        length: 0,
    };

    fn byte(byte: u8) -> Self {
        Self {
            bytes: [byte, 0, 0, 0],
            length: 1,
        }
    }

    fn of(character: char) -> Self {
        let mut bytes = [0; 4];
        let length = character.encode_utf8(&mut bytes).len();
        Self { bytes, length }
    }

    fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// All notations that are decoded.
pub const NOTATIONS: [Notation; 6] = [
    Notation {
        first: b"\\",
        read: read_backslash,
        // Every JSON text has escaped quotes and line ends; known secrets are searched for with these.
        triggers: |escape| matches!(escape.get(1), Some(b'u' | b'x' | b'/' | b'\\')),
    },
    Notation {
        first: b"%",
        read: read_percent,
        triggers: |_| true,
    },
    // Forms write a space as `+`.
    Notation {
        first: b"%+",
        read: |text| match text.first() {
            Some(b'+') => Some((Character::byte(b' '), 1)),
            _ => read_percent(text),
        },
        triggers: |escape| escape.first() == Some(&b'+'),
    },
    Notation {
        first: b"&",
        read: read_entity,
        triggers: |_| true,
    },
    Notation {
        first: b"=",
        read: read_quoted_printable,
        triggers: |_| true,
    },
    // ASCII in UTF-16, of either byte order.
    Notation {
        first: b"\0",
        read: |_| Some((Character::NOTHING, 1)),
        triggers: |_| true,
    },
];

impl Notation {
    /// Returns the parts of a text within `reach` of escapes of this notation, decoded: each with its
    /// offset, its text and its escapes.
    pub fn layers(&self, text: &[u8], reach: usize) -> Vec<(usize, Vec<u8>, Escapes)> {
        let mut layers = Vec::new();
        let mut places = self.places(text).into_iter().peekable();
        while let Some(first) = places.next() {
            let mut is_triggered = (self.triggers)(text.get(first.0..).unwrap_or_default());
            let begin = first.0.saturating_sub(reach);
            let mut end = first.0 + first.2 + reach;
            let mut group = vec![first];
            while let Some(next) = places.next_if(|next| next.0 < end + reach) {
                is_triggered |= (self.triggers)(text.get(next.0..).unwrap_or_default());
                end = next.0 + next.2 + reach;
                group.push(next);
            }
            if is_triggered {
                let end = end.min(text.len());
                layers.push(decode(text, begin..end, &group));
            }
        }
        layers
    }

    /// Finds the escapes: the offset, character and length of each.
    fn places(&self, text: &[u8]) -> Vec<(usize, Character, usize)> {
        let mut places = Vec::new();
        let mut at = 0;
        while let Some(rest) = text.get(at..) {
            let found = match self.first {
                [first] => memchr::memchr(*first, rest),
                [first, second] => memchr::memchr2(*first, *second, rest),
                _ => None,
            };
            let Some(found) = found else { break };
            at += found;
            match (self.read)(text.get(at..).unwrap_or_default()) {
                Some((character, length)) => {
                    places.push((at, character, length));
                    at += length;
                }
                None => at += 1,
            }
        }
        places
    }
}

/// Decodes the escapes in a part of a text; returns its offset, its text and its escapes.
fn decode(
    text: &[u8],
    part: Range<usize>,
    escapes: &[(usize, Character, usize)],
) -> (usize, Vec<u8>, Escapes) {
    let mut decoded = Vec::with_capacity(part.len());
    let mut read = Vec::with_capacity(escapes.len());
    let mut at = part.start;
    for (place, character, length) in escapes {
        decoded.extend_from_slice(text.get(at..*place).unwrap_or_default());
        let start = decoded.len();
        decoded.extend_from_slice(character.as_bytes());
        at = place + length;
        read.push(Escape {
            decoded: start..decoded.len(),
            source: place - part.start..at - part.start,
        });
    }
    decoded.extend_from_slice(text.get(at..part.end).unwrap_or_default());
    (part.start, decoded, Escapes(read))
}

fn hex(digits: Option<&[u8]>) -> Option<u32> {
    let digits = digits.filter(|digits| !digits.is_empty())?;
    let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(digits).ok().filter(|_| is_hex)?;
    u32::from_str_radix(text, 16).ok()
}

fn hex_byte(digits: Option<&[u8]>) -> Option<Character> {
    let value = u8::try_from(hex(digits)?).ok()?;
    Some(Character::byte(value))
}

/// `\n`, `\"`, `\u0041`, `\ud83d\ude00`, `\x41`, `\u{41}`.
fn read_backslash(text: &[u8]) -> Option<(Character, usize)> {
    let plain = match text.get(1)? {
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        byte @ (b'"' | b'\'' | b'\\' | b'/') => *byte,
        b'x' => return Some((hex_byte(text.get(2..4))?, 4)),
        b'u' if text.get(2) == Some(&b'{') => {
            let digits = text.get(3..11.min(text.len()))?;
            let length = digits.iter().position(|byte| *byte == b'}')?;
            let character = char::from_u32(hex(digits.get(..length))?)?;
            return Some((Character::of(character), 4 + length));
        }
        b'u' => {
            let unit = hex(text.get(2..6))?;
            if let Some(character) = char::from_u32(unit) {
                return Some((Character::of(character), 6));
            }
            let is_pair = text.get(6..8) == Some(b"\\u");
            let low = hex(text.get(8..12)).filter(|_| is_pair)?;
            let units = [u16::try_from(unit).ok()?, u16::try_from(low).ok()?];
            let character = char::decode_utf16(units).next()?.ok()?;
            return Some((Character::of(character), 12));
        }
        _ => return None,
    };
    Some((Character::byte(plain), 2))
}

/// `%41`, `%u0041`.
fn read_percent(text: &[u8]) -> Option<(Character, usize)> {
    if matches!(text.get(1), Some(b'u' | b'U')) {
        let character = char::from_u32(hex(text.get(2..6))?)?;
        return Some((Character::of(character), 6));
    }
    Some((hex_byte(text.get(1..3))?, 3))
}

/// `&#65;`, `&#x41;`, and the names of signs.
fn read_entity(text: &[u8]) -> Option<(Character, usize)> {
    let area = text.get(1..10.min(text.len()))?;
    let length = area.iter().position(|byte| *byte == b';')?;
    let name = area.get(..length)?;
    let character = match name {
        [b'#', b'x' | b'X', digits @ ..] => char::from_u32(hex(Some(digits))?)?,
        [b'#', digits @ ..] => {
            let number: u32 = std::str::from_utf8(digits).ok()?.parse().ok()?;
            char::from_u32(number)?
        }
        b"quot" => '"',
        b"amp" => '&',
        b"lt" => '<',
        b"gt" => '>',
        b"apos" => '\'',
        b"sol" => '/',
        b"bsol" => '\\',
        b"plus" => '+',
        b"equals" => '=',
        b"nbsp" => ' ',
        _ => return None,
    };
    Some((Character::of(character), length + 2))
}

/// `=3D`, and a soft line break.
fn read_quoted_printable(text: &[u8]) -> Option<(Character, usize)> {
    match text {
        [_, b'\r', b'\n', ..] => Some((Character::NOTHING, 3)),
        [_, b'\n', ..] => Some((Character::NOTHING, 2)),
        [_, high, low, ..] if !high.is_ascii_lowercase() && !low.is_ascii_lowercase() => {
            Some((hex_byte(text.get(1..3))?, 3))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_trace_back_to_whole_escapes() {
        for (text, decoded) in [
            ("say \\u005aeta\\/\\\"", "say Zeta/\""),
            ("a%5Aeta%2Fb", "aZeta/b"),
            ("Zeta+is%21", "Zeta is!"),
            ("&#90;et&#x61;&quot;", "Zeta\""),
            ("=5Aet=\r\na", "Zeta"),
            ("Z\0e\0t\0a\0", "Zeta"),
            ("\\ud83d\\ude00\\x5a", "\u{1f600}Z"),
        ] {
            let layers = NOTATIONS
                .iter()
                .flat_map(|notation| notation.layers(text.as_bytes(), 64));
            let layers: Vec<_> = layers.collect();
            let (base, bytes, escapes) = layers
                .iter()
                .find(|(_, bytes, _)| bytes == decoded.as_bytes())
                .unwrap_or_else(|| panic!("{text}"));
            assert_eq!(*base, 0);
            assert_eq!(escapes.outward(&(0..bytes.len())).end, text.len(), "{text}");
            for start in 0..bytes.len() {
                for end in start + 1..=bytes.len() {
                    let outer = escapes.outward(&(start..end));
                    assert!(outer.start < outer.end, "{text}");
                    // No escape is cut in two.
                    let is_cut = |at: usize| {
                        escapes
                            .0
                            .iter()
                            .any(|e| e.source.start < at && at < e.source.end)
                    };
                    assert!(
                        !is_cut(outer.start) && !is_cut(outer.end),
                        "{text}: {outer:?}"
                    );
                }
            }
        }
    }
}
