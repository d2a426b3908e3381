//! Selects places by a regular expression: values, files and pieces of files that contain a match
//! in any spelling.

use std::collections::BTreeSet;
use std::io::Read;

use regex::bytes::Regex;
use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_core::formats::redacted::chunks::{LARGE, PIECE, chunk_place};
use runseal_core::source::SourceError;

use super::RedactError;
use super::original::{Content, Original, read_pieces, safe};
use super::select::{Places, parse_pattern, walk};
use super::spellings::{is_found, join_pieces};

/// Adds every place in which the regular expression `text` is found.
pub(super) fn select_match(
    original: &Original,
    text: &str,
    reason: &str,
    places: &mut Places,
) -> Result<(), RedactError> {
    let pattern = parse_pattern(text)?;
    let is_match = |text: &[u8]| pattern.is_match(text);
    let mut is_selected = false;
    for (path, file) in &original.files {
        let mut found = Vec::new();
        match (original.documents.get(path), &file.content) {
            (Some(document), _) => walk(document, "", &mut |place, value| {
                let is_here = match value {
                    Value::String(text) => is_found(text.to_lossy().as_bytes(), &is_match),
                    // A number as it is stored.
                    Value::Number(_) => canonical_bytes(value, Dialect::Jcs)
                        .is_ok_and(|digits| pattern.is_match(&digits)),
                    Value::Array(elements) => {
                        let elements = elements.iter().enumerate();
                        let elements = elements.map(|(at, value)| (format!("{place}/{at}"), value));
                        found.extend(match_pieces(elements, &pattern).into_iter().map(Some));
                        false
                    }
                    _ => false,
                };
                if is_here {
                    found.push(Some(place.to_owned()));
                }
            }),
            (None, Content::Chunks(chunked)) => {
                let places = match_chunks(original, path, chunked.size, &pattern)?;
                found.extend(places.into_iter().map(Some));
            }
            (None, _) => {
                let bytes = original.source.read(&safe(path)?, LARGE)?;
                found.extend(is_found(&bytes, &is_match).then_some(None));
            }
        }
        for place in found {
            places.add(original.format, path, place.as_deref(), reason)?;
            is_selected = true;
        }
    }
    if is_selected {
        Ok(())
    } else {
        Err(RedactError::FitsNothing(text.to_owned()))
    }
}

/// Returns the pieces of a text spread over the elements of an array, if the pattern matches across
/// them.
fn match_pieces<'a>(
    elements: impl Iterator<Item = (String, &'a Value)>,
    pattern: &Regex,
) -> Vec<String> {
    let mut found = Vec::new();
    for (text, pieces) in join_pieces(elements) {
        for hit in pattern.find_iter(text.as_bytes()) {
            let mut end = 0;
            for (pointer, length) in &pieces {
                let start = end;
                end += length;
                if start < hit.end() && end > hit.start() {
                    found.push(pointer.clone());
                }
            }
        }
    }
    found
}

/// The number of bytes searched at once, and how many of them are searched again with the next
/// ones: a match up to that long may cross the boundary.
const WINDOW: usize = 16 << 20;
const OVERLAP: usize = 1 << 20;

/// Returns the pieces of a large file in which the pattern matches.
pub(super) fn match_chunks(
    original: &Original,
    path: &str,
    size: u64,
    pattern: &Regex,
) -> Result<Vec<String>, RedactError> {
    let mut file = original.source.open(&safe(path)?)?;
    let mut window = Vec::new();
    let mut start = 0u64;
    let mut hit = BTreeSet::new();
    loop {
        let room = (WINDOW - window.len()) as u64;
        let count = (&mut file).take(room).read_to_end(&mut window);
        let count = count.map_err(|source| SourceError::Io {
            path: path.to_owned(),
            source,
        })?;
        for found in pattern.find_iter(&window) {
            let first = (start + found.start() as u64) / PIECE;
            // An empty match counts at its position.
            let last = (start + found.end().max(found.start() + 1) as u64 - 1) / PIECE;
            hit.extend(first..=last);
        }
        if (count as u64) < room {
            break;
        }
        let keep = window.len() - OVERLAP;
        window.drain(..keep);
        start += keep as u64;
    }
    hit.extend(search_windows(original, path, pattern)?);
    let at = hit.into_iter().filter(|at| at * PIECE < size);
    let at = at.filter_map(|at| usize::try_from(at).ok());
    Ok(at.map(|at| chunk_place(at, size)).collect())
}

/// The number of pieces of a large file searched for other spellings at once; half of them are
/// searched again with the next ones.
const SPELLED: usize = 4;

/// Returns the pieces of a large file around places where the pattern is found in another spelling.
fn search_windows(
    original: &Original,
    path: &str,
    pattern: &Regex,
) -> Result<BTreeSet<u64>, RedactError> {
    let mut hit = BTreeSet::new();
    let (mut window, mut first, mut next) = (Vec::new(), 0, 0);
    let mut file = original.source.open(&safe(path)?)?;
    let mut search = |window: &[u8], first: u64, next: u64| {
        let rest = pattern.replace_all(window, &b" "[..]);
        if is_found(&rest, &|text| pattern.is_match(text)) {
            hit.extend(first..next);
        }
    };
    read_pieces(&mut *file, path, |piece| {
        window.extend_from_slice(piece);
        next += 1;
        if next - first == SPELLED as u64 {
            search(&window, first, next);
            window.drain(..SPELLED / 2 * PIECE as usize);
            first += SPELLED as u64 / 2;
        }
    })?;
    search(&window, first, next);
    Ok(hit)
}
