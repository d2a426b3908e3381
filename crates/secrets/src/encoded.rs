//! Runs of text that may be base64 or hex, and their decoding.

use std::ops::Range;

use crate::kinds::Alphabet;

/// The parts of a run after a separator that are decoded separately: how many, their least length, and
/// how many letters of each.
const MOST_PARTS: usize = 64;
const LEAST_PART: usize = 8;
const LONGEST_PART: usize = 128;
/// The fewest characters of a line of base64 that continues on the next line.
const LEAST_LINE: usize = 15;

/// Returns the maximal runs of at least `least` bytes for which `is_inside` is true.
pub fn runs<'b>(
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

/// Finds texts that may be base64 of either alphabet and have at least `least` characters: each as the
/// ranges of its lines, including the padding.
pub fn base64_texts(bytes: &[u8], least: usize) -> Vec<Vec<Range<usize>>> {
    let mut texts: Vec<Vec<Range<usize>>> = Vec::new();
    // Where the next line of the last text would begin.
    let mut next_line = None;
    for run in runs(bytes, |byte| in_base64(*byte), 1) {
        // The `n` of an escaped line break is part of the run that follows.
        let continued = next_line.filter(|next| *next == run.start || *next == run.start + 1);
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
                Some(lines) if next_line == Some(at) => lines.push(at..end),
                _ => {
                    // A text that ended too short is dropped.
                    if texts.last().is_some_and(|lines| text_length(lines) < least) {
                        texts.pop();
                    }
                    texts.push(std::iter::once(at..end).collect());
                }
            }
            let is_padded = end > at + length;
            next_line = if end == run.end && !is_padded && length >= LEAST_LINE {
                line_break(bytes, end)
            } else {
                None
            };
            at = end;
        }
    }
    texts.retain(|lines| text_length(lines) >= least);
    texts
}

/// Whether a text ends with a line of base64 that may continue on the next line.
pub fn ends_line(text: &[u8]) -> bool {
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    let last = text
        .get(text.len().saturating_sub(LEAST_LINE)..)
        .unwrap_or_default();
    last.len() == LEAST_LINE && last.iter().all(|byte| in_base64(*byte))
}

/// Whether a byte is a letter of either alphabet of base64.
fn in_base64(byte: u8) -> bool {
    Alphabet::Base64.has(byte) || matches!(byte, b'-' | b'_')
}

fn text_length(lines: &[Range<usize>]) -> usize {
    lines.iter().map(ExactSizeIterator::len).sum()
}

/// Returns the offset after a line break at `at`, plain or escaped as in JSON.
fn line_break(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    [b"\r\n".as_slice(), b"\n", b"\\r\\n", b"\\n"]
        .iter()
        .find(|end| rest.starts_with(end))
        .map(|end| at + end.len())
}

/// Returns the letters of a text, without padding.
fn letters<'b>(bytes: &'b [u8], lines: &'b [Range<usize>]) -> impl Iterator<Item = u8> + 'b {
    let lines = lines.iter().filter_map(|line| bytes.get(line.clone()));
    lines.flatten().copied().filter(|byte| *byte != b'=')
}

/// Finds the parts of a text after a sign, which may be encoded separately: where each begins, and how
/// many letters of it to decode.
pub fn parts(bytes: &[u8], lines: &[Range<usize>]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    // The first letter of a word that follows a sign.
    let mut begun = None;
    for (at, byte) in letters(bytes, lines).enumerate() {
        if !byte.is_ascii_alphanumeric() {
            begun = Some(at + 1);
        } else if begun.is_some_and(|begun| at + 1 - begun == LEAST_PART) {
            found.extend(begun.take().map(|begun| (begun, LONGEST_PART)));
            if found.len() == MOST_PARTS {
                break;
            }
        }
    }
    found
}

/// Decodes the whole bytes of at most `most` letters of base64 from letter `start` on, in either
/// alphabet or a mixture.
pub fn decode_base64_from(
    bytes: &[u8],
    lines: &[Range<usize>],
    start: usize,
    most: usize,
) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text_length(lines).min(most) * 3 / 4);
    let (mut bits, mut count) = (0_u32, 0);
    for letter in letters(bytes, lines).skip(start).take(most) {
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

/// Decodes pairs of hex digits.
pub fn decode_hex(text: &[u8]) -> Vec<u8> {
    text.chunks_exact(2).filter_map(hex_pair).collect()
}

fn hex_pair(digits: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let [high, low] = digits else { return None };
    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
}

/// Decodes percent-encoding; returns `None` if there is no `%`.
pub fn decode_percent(text: &[u8]) -> Option<Vec<u8>> {
    memchr::memchr(b'%', text)?;
    let mut decoded = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let escaped = (*byte == b'%')
            .then(|| text.get(at + 1..at + 3))
            .flatten()
            .and_then(hex_pair);
        decoded.push(escaped.unwrap_or(*byte));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    Some(decoded)
}
