//! Unresolved references (P): something stands in the text in the place of a value that is not there yet.
//!
//! Five families, one file each: marker words (`TBD`, `FIXME`, `???`), phrases (`to be decided`, `will be provided`),
//! clauses that put a value off (`deferral`), values with characters left out (`mask`) and bracketed blanks (`blank`).
//! Quoted text and code are never searched: what a program prints is not what its author left open. `mention` tells a
//! marker that is used from one that the text only speaks about.

mod blank;
mod deferral;
mod marker;
mod mask;
pub(super) mod mention;
mod phrase;

pub(super) use blank::Known;

use super::{Finding, FindingKind, Source};

fn finding(source: &Source<'_>, start: usize, end: usize, token: usize) -> Finding {
    Finding {
        kind: FindingKind::Placeholder,
        places: vec![source.place(start, end)],
        sentence: Some(source.sentence_place(token)),
        element: None,
        topic: None,
        options: Vec::new(),
    }
}

/// Adds every unresolved reference of a text.
pub(super) fn find_references(source: &Source<'_>, known: &Known<'_>, out: &mut Vec<Finding>) {
    let first = out.len();
    marker::find_markers(source, known, out);
    phrase::find_phrases(source, known, out);
    blank::find_blanks(source, known, out);
    deferral::find_deferrals(source, out);
    mask::find_masks(source, out);
    mask::find_letters(source, out);
    if out.len() - first < 2 {
        return;
    }
    // One place, one finding: `(TBD)` is both a marker and a bracket.
    out[first..].sort_by(|a, b| {
        a.places[0]
            .start
            .cmp(&b.places[0].start)
            .then(b.places[0].end.cmp(&a.places[0].end))
    });
    let mut kept = first;
    for i in first..out.len() {
        let overlaps = kept > first && out[i].places[0].start < out[kept - 1].places[0].end;
        if !overlaps {
            out.swap(kept, i);
            kept += 1;
        }
    }
    out.truncate(kept);
}

/// `$TBD` and `#TBD` are quoted with their sign, `t.b.d.` with its own full stop.
fn widen(text: &str, start: usize, end: usize) -> (usize, usize) {
    let from = if text[..start].ends_with(['$', '#']) {
        start - 1
    } else {
        start
    };
    let dotted = text[start..end].contains('.') && text[end..].starts_with('.');
    (from, end + usize::from(dotted))
}

/// How far the blank-free run around a place is looked at, in bytes on each side.
const CHUNK: usize = 200;

/// The blank-free run of text around `at..end`.
fn chunk_around(text: &str, at: usize, end: usize) -> (usize, usize) {
    let bytes = text.as_bytes();
    let floor = at.saturating_sub(CHUNK);
    let back = bytes[floor..at].iter().rposition(u8::is_ascii_whitespace);
    let mut from = floor + back.map_or(0, |b| b + 1);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let ceiling = text.len().min(end + CHUNK);
    let ahead = bytes[end..ceiling].iter().position(u8::is_ascii_whitespace);
    let mut to = end + ahead.unwrap_or(ceiling - end);
    while !text.is_char_boundary(to) {
        to -= 1;
    }
    (from, to)
}

/// Whether a blank-free run is a regular expression, a macro or a piece of code, in which brackets and question marks
/// have a meaning of their own.
fn is_code_chunk(chunk: &str) -> bool {
    let bytes = chunk.as_bytes();
    chunk.starts_with('^')
        || chunk.ends_with('$') && chunk.len() > 1
        || [
            "\\d", "\\w", "\\s", "\\.", "]{", "]?", "]*", "]+", "(?", "::", "?.", "()", "[^",
        ]
        .iter()
        .any(|sign| chunk.contains(sign))
        || bytes
            .windows(2)
            .any(|w| w[0] == b'\\' && w[1].is_ascii_alphabetic())
            && (chunk.contains('{') || chunk.contains('['))
}
