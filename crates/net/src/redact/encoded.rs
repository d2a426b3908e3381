//! Runs of text that may be base64, hex or percent-encoding, and what they hold.

use std::ops::Range;

use super::kinds::Alphabet;

/// The parts of a run behind a separator that are decoded on their own.
const MOST_PARTS: usize = 64;
/// A line of base64 that goes on in the next has at least so many characters.
const LEAST_LINE: usize = 16;

/// The maximal runs of bytes for which `is_inside` holds, of at least `least` bytes.
pub(super) fn runs<'b>(
    bytes: &'b [u8],
    is_inside: impl Fn(&u8) -> bool + 'b,
    least: usize,
) -> impl Iterator<Item = Range<usize>> + 'b {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = bytes.get(at..)?;
            let start = at + rest.iter().position(&is_inside)?;
            let inside = bytes.get(start..)?;
            let length = inside.iter().take_while(|byte| is_inside(byte)).count();
            at = start + length;
            if length >= least {
                return Some(start..at);
            }
        }
    })
}

/// The places of texts that may be base64 of either alphabet, at least `least` characters long: each as
/// the ranges of its lines, with the `=` that end it.
pub(super) fn base64_texts(bytes: &[u8], least: usize) -> Vec<Vec<Range<usize>>> {
    let mut texts: Vec<Vec<Range<usize>>> = Vec::new();
    // Whether the last one goes on in the run that begins here.
    let mut goes_on_at = None;
    let in_run = |byte: &u8| Alphabet::Base64.has(*byte) || matches!(byte, b'-' | b'_');
    for run in runs(bytes, in_run, 1) {
        // The letter of an escaped line break belongs to the run behind it.
        let continued = goes_on_at.filter(|next| *next == run.start || *next == run.start + 1);
        // Most runs are words.
        if run.len() < LEAST_LINE && continued.is_none() {
            continue;
        }
        let mut at = continued.unwrap_or(run.start);
        while at < run.end {
            let rest = bytes.get(at..run.end).unwrap_or_default();
            let length = rest.iter().take_while(|byte| **byte != b'=').count();
            let padding = rest.iter().skip(length).take_while(|byte| **byte == b'=');
            let end = at + length + padding.count();
            match texts.last_mut() {
                Some(lines) if goes_on_at == Some(at) => lines.push(at..end),
                _ => {
                    // A first line that is too short and ended alone held nothing.
                    if texts.last().is_some_and(|lines| text_length(lines) < least) {
                        texts.pop();
                    }
                    texts.push(std::iter::once(at..end).collect());
                }
            }
            let is_padded = end > at + length;
            goes_on_at = match end == run.end && !is_padded && length >= LEAST_LINE {
                true => line_break(bytes, end),
                false => None,
            };
            at = end;
        }
    }
    texts.retain(|lines| text_length(lines) >= least);
    texts
}

fn text_length(lines: &[Range<usize>]) -> usize {
    lines.iter().map(ExactSizeIterator::len).sum()
}

/// Where the line behind a break at `at` begins: one of the text, or one that JSON escapes.
fn line_break(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    [b"\r\n".as_slice(), b"\n", b"\\r\\n", b"\\n"]
        .iter()
        .find(|end| rest.starts_with(end))
        .map(|end| at + end.len())
}

/// What a text may hold, decoded from each of its first four characters on, and from whatever follows a
/// sign that separates words as well.
pub(super) fn decodings<'b>(
    bytes: &'b [u8],
    lines: &'b [Range<usize>],
    least: usize,
) -> impl Iterator<Item = Vec<u8>> + 'b {
    let letters = move || {
        let lines = lines.iter().filter_map(|line| bytes.get(line.clone()));
        lines.flatten().copied().filter(|byte| *byte != b'=')
    };
    let total = letters().count();
    let mut before = b'/';
    let behind_signs = letters().enumerate().filter_map(move |(at, byte)| {
        let is_sign = |byte: u8| !byte.is_ascii_alphanumeric();
        let begins = is_sign(before) && !is_sign(byte);
        before = byte;
        (begins && at > 0 && total - at >= least).then_some(at)
    });
    let starts = (0..4).chain(behind_signs.take(MOST_PARTS));
    starts.map(move |start| decode_letters(letters().skip(start)))
}

/// Decodes the whole bytes of base64, of either alphabet or a mixture.
fn decode_letters(letters: impl Iterator<Item = u8>) -> Vec<u8> {
    let mut decoded = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for letter in letters {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            _ => 63,
        };
        bits = (bits << 6 | u32::from(value)) & 0xFF_FFFF;
        count += 6;
        if count >= 8 {
            count -= 8;
            let [low, ..] = (bits >> count).to_le_bytes();
            decoded.push(low);
        }
    }
    decoded
}

/// What pairs of hex digits hold, from the first digit on and from the second.
pub(super) fn hex_decodings(text: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    (0..2).map(|start| {
        let digits = text.get(start..).unwrap_or_default();
        let pairs = digits.chunks_exact(2);
        pairs.filter_map(hex_pair).collect()
    })
}

fn hex_pair(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Decodes percent-encoding; also returns each decoded byte's offset in the text. `None` if there
/// is nothing to decode.
pub(super) fn decode_percent(text: &[u8]) -> Option<(Vec<u8>, Vec<usize>)> {
    if !text.contains(&b'%') {
        return None;
    }
    let (mut decoded, mut places) = (Vec::with_capacity(text.len()), Vec::new());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        places.push(at);
        let escaped = (*byte == b'%')
            .then(|| text.get(at + 1..at + 3))
            .flatten()
            .and_then(hex_pair);
        match escaped {
            Some(value) => {
                decoded.push(value);
                at += 3;
            }
            None => {
                decoded.push(*byte);
                at += 1;
            }
        }
    }
    places.push(at);
    Some((decoded, places))
}
