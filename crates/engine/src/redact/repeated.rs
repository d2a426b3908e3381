//! Where a copy says again what it withholds.
//!
//! What the formats say twice is withheld together (`hunt`). What people wrote twice is theirs to
//! judge: a word may well stand elsewhere and give nothing away. So these places are told, no more.

use std::collections::BTreeSet;

use regex::bytes::{Regex, RegexBuilder};
use runseal_core::canon::Value;
use runseal_core::formats::redacted::chunks::LARGE;
use runseal_core::formats::redacted::documents::find_value;

use super::RedactError;
use super::hunt::REASONS;
use super::original::{Content, Original, safe};
use super::select::{Places, walk};

/// Shorter texts stand everywhere.
const SHORTEST: usize = 4;
/// Texts that are looked for, and the bytes of all of them, at the most.
const MOST_TEXTS: usize = 1_000;
const MOST_BYTES: usize = 1 << 16;

/// The texts that somebody asked to withhold, as one pattern; none where there are none.
fn withheld_texts(original: &Original, places: &Places) -> Option<Regex> {
    let mut texts = BTreeSet::new();
    for ((path, pointer), reason) in places.with_reasons() {
        let document = original.documents.get(path);
        let value = document.and_then(|document| find_value(document, pointer.unwrap_or("")));
        if let Some(value) = value.filter(|_| !REASONS.contains(&reason)) {
            walk(value, "", &mut |_, value| {
                if let Value::String(text) = value {
                    let text = text.to_lossy();
                    let text = text.trim();
                    if text.len() >= SHORTEST {
                        texts.insert(text.to_owned());
                    }
                }
            });
        }
    }
    let mut room = MOST_BYTES;
    let fits = |text: &&String| {
        let left = room.checked_sub(text.len());
        room = left.unwrap_or(room);
        left.is_some()
    };
    let texts = texts.iter().filter(fits).take(MOST_TEXTS);
    let texts: Vec<_> = texts.map(|text| regex::escape(text)).collect();
    if texts.is_empty() {
        return None;
    }
    RegexBuilder::new(&texts.join("|"))
        .size_limit(64 << 20)
        .build()
        .ok()
}

/// The places that are shown and hold a withheld text: values, members' names, files and their names.
/// Large files are not searched.
pub(super) fn find_repeated(
    original: &Original,
    places: &Places,
) -> Result<BTreeSet<String>, RedactError> {
    let mut found = BTreeSet::new();
    let Some(texts) = withheld_texts(original, places) else {
        return Ok(found);
    };
    for (path, file) in &original.files {
        let name = original.name_in_copies(path);
        let is_named = texts.is_match(name.as_bytes());
        if places.covers(path, None) {
            found.extend(is_named.then(|| name.to_owned()));
            continue;
        }
        let holds_one = match (original.documents.get(path), &file.content) {
            (Some(document), _) => {
                walk(document, "", &mut |pointer, value| {
                    let step = pointer.rsplit_once('/').map_or("", |(_, step)| step);
                    let above = &pointer[..pointer.len() - step.len()];
                    let above = above.strip_suffix('/').unwrap_or(above);
                    let is_member =
                        texts.is_match(step.as_bytes()) && !places.covers(path, Some(above));
                    let is_value = matches!(value, Value::String(text)
                        if texts.is_match(text.to_lossy().as_bytes()))
                        && !places.covers(path, Some(pointer));
                    if is_member || is_value {
                        found.insert(format!("{name}#{pointer}"));
                    }
                });
                false
            }
            (None, Content::Bytes(_)) => {
                texts.is_match(&original.source.read(&safe(path)?, LARGE)?)
            }
            (None, _) => false,
        };
        found.extend((is_named || holds_one).then(|| name.to_owned()));
    }
    Ok(found)
}
