//! Finds and decodes runs of text that may be base64 or percent-encoding.

use std::ops::Range;

use base64ct::{Base64Unpadded, Base64UrlUnpadded, Encoding};

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

/// Decodes the complete groups of a run of base64, in either alphabet.
pub(super) fn decode_run(text: &[u8]) -> Option<Vec<u8>> {
    let end = text.iter().position(|byte| *byte == b'=');
    let text = text.get(..end.unwrap_or(text.len()))?;
    // A single character of an incomplete last group carries no byte.
    let whole = text.len() - usize::from(text.len() % 4 == 1);
    let text = std::str::from_utf8(text.get(..whole)?).ok()?;
    let lenient = |text: &str| {
        let cut = text.len() - text.len() % 4;
        let decode = |text: &str| {
            Base64Unpadded::decode_vec(text)
                .or_else(|_| Base64UrlUnpadded::decode_vec(text))
                .ok()
        };
        // Non-zero trailing bits make only the last group unreadable.
        decode(text).or_else(|| decode(text.get(..cut)?))
    };
    lenient(text)
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
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
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
