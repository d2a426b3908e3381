//! Decodes the encodings of texts: escapes, percent signs, hex and base64. It serves a search, so
//! malformed parts are kept unchanged.

use std::borrow::Cow;

/// Returns a text without the escapes of JSON, JavaScript, XML and shells.
pub(super) fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') && !text.contains("&#") {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '&']) {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let (letter, length) = read_escape(rest).unwrap_or((None, 1));
        match letter {
            Some(letter) => plain.push(letter),
            None => plain.push_str(&rest[..1]),
        }
        rest = &rest[length..];
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// Returns the letter that an escape at the beginning of `text` represents, and the escape's
/// length.
fn read_escape(text: &str) -> Option<(Option<char>, usize)> {
    let code = |digits: &str, radix: u32| char::from_u32(u32::from_str_radix(digits, radix).ok()?);
    if let Some(rest) = text.strip_prefix("&#") {
        let end = rest.find(';').filter(|end| *end <= 8)?;
        let letter = match rest[..end].strip_prefix(['x', 'X']) {
            Some(digits) => code(digits, 16),
            None => code(&rest[..end], 10),
        };
        return Some((Some(letter?), 2 + end + 1));
    }
    let rest = text.strip_prefix('\\')?;
    match rest.chars().next()? {
        'u' if rest[1..].starts_with('{') => {
            let end = rest.find('}')?;
            Some((Some(code(&rest[2..end], 16)?), end + 2))
        }
        'u' => Some((Some(code(rest.get(1..5)?, 16)?), 6)),
        'x' => Some((Some(code(rest.get(1..3)?, 16)?), 4)),
        'n' => Some((Some('\n'), 2)),
        'r' => Some((Some('\r'), 2)),
        't' => Some((Some('\t'), 2)),
        letter if !letter.is_alphanumeric() => Some((Some(letter), 1 + letter.len_utf8())),
        _ => None,
    }
}

pub(super) fn decode_percent(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(bytes.len());
    let (mut at, mut is_changed) = (0, false);
    while at < bytes.len() {
        let pair = bytes.get(at + 1..at + 3);
        let pair = pair.filter(|pair| bytes[at] == b'%' && pair.iter().all(u8::is_ascii_hexdigit));
        match pair {
            Some(pair) => {
                plain.extend(decode_hex(pair));
                at += 3;
                is_changed = true;
            }
            None => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    is_changed.then_some(plain)
}

pub(super) fn decode_hex(digits: &[u8]) -> Vec<u8> {
    let digit = |byte: u8| (byte as char).to_digit(16).unwrap_or(0) as u8;
    let pairs = digits.chunks_exact(2);
    pairs
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}

/// Decodes either alphabet. Letters at the end that do not make up a byte are dropped.
pub(super) fn decode_base64(letters: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(letters.len() * 3 / 4);
    let (mut held, mut bits) = (0_u32, 0);
    for letter in letters {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            _ => 63,
        };
        held = held << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
            held &= (1 << bits) - 1;
        }
    }
    bytes
}
