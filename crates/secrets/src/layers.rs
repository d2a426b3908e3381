//! Searches a text in every layer of its encodings: the text itself, what its base64, hex and escapes
//! decode to, and what that decodes to in turn.
//!
//! Layers are searched breadth first, up to [`DEEPEST`] of them. The amount decoded is bounded by the
//! length of the text, so that encodings within encodings take no longer than any other text. What is
//! found in a layer is traced back to the bytes of the text that encode it.

use std::collections::VecDeque;
use std::io::Read;
use std::ops::Range;
use std::rc::Rc;

use crate::coding::Coding;
use crate::encoded::{base64_texts, decode_base64_from, decode_hex, parts, runs};
use crate::escapes::{Escapes, NOTATIONS};
use crate::find::Found;

/// The most encodings within one another.
pub const DEEPEST: usize = 3;
/// The shortest run of base64, and of hex digits, that is decoded.
const LEAST_BASE64: usize = 15;
const LEAST_HEX: usize = 20;
/// The fewest characters in a row that make a layer worth searching: no secret is shorter.
const LEAST_TEXT: usize = 8;
/// A longer text is decoded in blocks of this size, which overlap by the most that a secret may take.
const BLOCK: usize = 1 << 20;
const OVERLAP: usize = 128 << 10;
/// The most bytes decoded from a block, in all layers together: a multiple of its length, plus a
/// constant.
const DECODED_TIMES: usize = 12;
const DECODED_MORE: usize = 64 << 10;
/// The most bytes that are decompressed from one encoded text.
const INFLATED: u64 = 1 << 20;

/// What a layer costs in addition to its bytes.
const LAYER: usize = 64;

/// Looks for secrets in one layer.
pub type Look<'l> = &'l dyn Fn(&[u8], &mut Vec<Found>);

/// A decoded text, and how it was decoded.
struct Layer {
    bytes: Vec<u8>,
    trace: Rc<Trace>,
}

/// Where a layer was found. Layers share the trace of the layer around them.
struct Trace {
    step: Step,
    around: Option<Rc<Trace>>,
    /// How many encodings were removed.
    depth: usize,
}

/// How the bytes of a layer relate to those of the layer around it.
enum Step {
    /// These lines of base64, from letter `start` on.
    Base64 {
        lines: Rc<[Range<usize>]>,
        start: usize,
    },
    /// Pairs of hex digits from this offset on.
    Hex(usize),
    /// The text from `base` on, with its escapes decoded.
    Escapes { base: usize, escapes: Escapes },
    /// Every byte depends on this whole range.
    Whole(Range<usize>),
}

impl Step {
    /// Returns the bytes that encode `range` in the layer around this one.
    fn outward(&self, range: &Range<usize>) -> Range<usize> {
        match self {
            Self::Base64 { lines, start } => {
                let first = start + range.start * 8 / 6;
                let last = start + (range.end * 8).div_ceil(6);
                letter_place(lines, first, false)..letter_place(lines, last, true)
            }
            Self::Hex(base) => base + 2 * range.start..base + 2 * range.end,
            Self::Escapes { base, escapes } => {
                let inside = escapes.outward(range);
                base + inside.start..base + inside.end
            }
            Self::Whole(whole) => whole.clone(),
        }
    }
}

/// Returns the offset of letter `number` in the lines of a text. With `is_end`, the offset after the
/// letter before it.
fn letter_place(lines: &[Range<usize>], number: usize, is_end: bool) -> usize {
    let mut left = number;
    for (at, line) in lines.iter().enumerate() {
        let is_last = at + 1 == lines.len();
        if left < line.len() || is_end && left == line.len() || is_last {
            return (line.start + left).min(line.end);
        }
        left -= line.len();
    }
    0
}

/// Returns everything that `look` finds in any layer of `bytes`, with its range in `bytes`. `reach` is
/// how far a secret may extend from an escape within it.
pub fn search(bytes: &[u8], reach: usize, look: Look<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    look(bytes, &mut found);
    let mut at = 0;
    loop {
        let end = bytes.len().min(at + BLOCK + OVERLAP);
        let block = bytes.get(at..end).unwrap_or_default();
        for hit in search_block(block, reach, look) {
            let range = at + hit.range.start..at + hit.range.end;
            found.push(Found { range, ..hit });
        }
        if end == bytes.len() {
            return found;
        }
        at += BLOCK;
    }
}

fn search_block(block: &[u8], reach: usize, look: Look<'_>) -> Vec<Found> {
    let mut budget = block.len() * DECODED_TIMES + DECODED_MORE;
    let mut found = Vec::new();
    let mut queue = VecDeque::new();
    decode(block, None, reach, &mut budget, &mut queue);
    while let Some(layer) = queue.pop_front() {
        let mut inner = Vec::new();
        look(&layer.bytes, &mut inner);
        for hit in inner {
            let secret = layer.bytes.get(hit.range.clone()).map(<[u8]>::to_vec);
            let mut range = hit.range.clone();
            let mut trace = Some(&layer.trace);
            while let Some(inner) = trace {
                range = inner.step.outward(&range);
                trace = inner.around.as_ref();
            }
            found.push(Found {
                range,
                secret: hit.secret.or(secret),
                ..hit
            });
        }
        if layer.trace.depth < DEEPEST {
            let around = Some(&layer.trace);
            decode(&layer.bytes, around, reach, &mut budget, &mut queue);
        }
    }
    found
}

/// Adds the layers that `bytes` encode, as far as the budget goes.
fn decode(
    bytes: &[u8],
    around: Option<&Rc<Trace>>,
    reach: usize,
    budget: &mut usize,
    queue: &mut VecDeque<Layer>,
) {
    let mut add = |step: &mut dyn FnMut() -> Step, bytes: Vec<u8>| {
        if bytes.is_empty() {
            return true;
        }
        let Some(left) = budget.checked_sub(bytes.len() + LAYER) else {
            return false;
        };
        *budget = left;
        if has_text(&bytes) {
            let trace = Rc::new(Trace {
                step: step(),
                around: around.cloned(),
                depth: around.map_or(0, |around| around.depth) + 1,
            });
            queue.push_back(Layer { bytes, trace });
        }
        true
    };
    for notation in NOTATIONS {
        for (base, decoded, mut escapes) in notation.layers(bytes, reach) {
            let mut step = || Step::Escapes {
                base,
                escapes: std::mem::take(&mut escapes),
            };
            if !add(&mut step, decoded) {
                return;
            }
        }
    }
    for lines in base64_texts(bytes, LEAST_BASE64) {
        let (first, last) = (lines.first(), lines.last());
        let whole = first.map_or(0, |first| first.start)..last.map_or(0, |last| last.end);
        let lines: Rc<[Range<usize>]> = lines.into();
        let step = |start: usize| Step::Base64 {
            lines: Rc::clone(&lines),
            start,
        };
        // Letters of any number may precede the encoded text.
        for start in 0..4 {
            let decoded = decode_base64_from(bytes, &lines, start, usize::MAX);
            let inflated = inflate(&decoded).unwrap_or_default();
            if !add(&mut || step(start), decoded)
                || !add(&mut || Step::Whole(whole.clone()), inflated)
            {
                return;
            }
        }
        // A new encoded text may begin after any sign.
        for (start, most) in parts(bytes, &lines) {
            let decoded = decode_base64_from(bytes, &lines, start, most);
            if !add(&mut || step(start), decoded) {
                return;
            }
        }
    }
    for run in runs(bytes, u8::is_ascii_hexdigit, LEAST_HEX) {
        for from in [run.start, run.start + 1] {
            let decoded = decode_hex(bytes.get(from..run.end).unwrap_or_default());
            let inflated = inflate(&decoded).unwrap_or_default();
            if !add(&mut || Step::Hex(from), decoded)
                || !add(&mut || Step::Whole(run.clone()), inflated)
            {
                return;
            }
        }
    }
}

/// Whether some of the bytes may be text, in ASCII or UTF-16. Most of what is decoded at the wrong
/// offset is not.
fn has_text(bytes: &[u8]) -> bool {
    let mut length = 0;
    bytes.iter().any(|byte| {
        match byte {
            b' '..=b'~' => length += 1,
            0 => {}
            _ => length = 0,
        }
        length >= LEAST_TEXT
    })
}

/// Decompresses as much of `bytes` as possible; returns `None` if they are not compressed.
fn inflate(bytes: &[u8]) -> Option<Vec<u8>> {
    let coding = match bytes {
        [0x1f, 0x8b, 8, ..] => Coding::Gzip,
        [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..] => Coding::Deflate,
        _ => return None,
    };
    let mut inflated = Vec::new();
    // The bytes before an error are still searched.
    let _ = coding
        .reader(bytes)?
        .take(INFLATED)
        .read_to_end(&mut inflated);
    (!inflated.is_empty()).then_some(inflated)
}
