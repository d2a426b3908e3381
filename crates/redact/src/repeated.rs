//! Finds places where a copy repeats what it withholds, and places that could not be searched.
//!
//! What the formats state twice is withheld together (`hunt`). What people wrote twice is theirs to
//! judge: a word may well occur elsewhere and give nothing away. So these places are only reported.

use std::collections::BTreeSet;

use regex::bytes::{Regex, RegexBuilder};
use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_core::formats::redacted::chunks::LARGE;
use runseal_core::formats::redacted::documents::find_value;

use super::RedactError;
use super::hunt::is_derived_reason;
use super::matching::match_chunks;
use super::original::{Content, Original, safe};
use super::select::{Places, walk};
use super::spellings::search;

/// Shorter texts occur everywhere, so they count only as a whole value.
const SHORTEST: usize = 4;
/// Shorter lines of a withheld file occur everywhere.
const SHORTEST_LINE: usize = 8;
/// Limits on the number of texts that are looked for, and on their bytes in total.
const MOST_TEXTS: usize = 1_000;
const MOST_BYTES: usize = 1 << 16;

/// The texts requested to be withheld, as they may be written elsewhere.
#[derive(Debug, Default)]
pub(super) struct WithheldTexts {
    /// Texts that are looked for within others.
    within: Option<Regex>,
    /// Texts that are looked for as whole values.
    whole: BTreeSet<String>,
}

impl WithheldTexts {
    /// Returns whether bytes contain one of the texts, in any spelling.
    pub(super) fn are_in(&self, bytes: &[u8]) -> bool {
        let within = self.within.as_ref();
        within.is_some_and(|texts| search(bytes, &|text| texts.is_match(text)).is_found)
    }
}

fn withheld_texts(original: &Original, causes: &Places) -> Result<WithheldTexts, RedactError> {
    let mut all = BTreeSet::new();
    let mut lines = BTreeSet::new();
    for ((path, pointer), reason) in causes.with_reasons() {
        if is_derived_reason(reason) {
            continue;
        }
        let document = original.documents.get(path);
        let value = document.and_then(|document| find_value(document, pointer.unwrap_or("")));
        if let Some(value) = value {
            walk(value, "", &mut |_, value| match value {
                Value::String(text) => {
                    all.insert(text.to_lossy().trim().to_owned());
                }
                Value::Number(_) => {
                    let digits = canonical_bytes(value, Dialect::Jcs).unwrap_or_default();
                    let digits = String::from_utf8_lossy(&digits).into_owned();
                    all.extend((digits.len() >= SHORTEST).then_some(digits));
                }
                _ => {}
            });
        }
        let file = original.files.get(path).filter(|_| pointer.is_none());
        if let Some(Content::Bytes(_)) = file.map(|file| &file.content) {
            let bytes = original.source.read(&safe(path)?, LARGE)?;
            let text = String::from_utf8_lossy(&bytes);
            let text = text.lines().map(str::trim);
            let long = text.filter(|line| line.len() >= SHORTEST_LINE);
            lines.extend(long.map(str::to_owned));
        }
    }
    all.remove("");
    let mut room = MOST_BYTES;
    let fits = |text: &&String| {
        let left = room.checked_sub(text.len());
        room = left.unwrap_or(room);
        left.is_some()
    };
    let long = all.iter().filter(|text| text.len() >= SHORTEST);
    let texts = long.chain(&lines).filter(fits).take(MOST_TEXTS);
    let texts: Vec<_> = texts.map(|text| regex::escape(text)).collect();
    let within = (!texts.is_empty()).then(|| {
        RegexBuilder::new(&texts.join("|"))
            .size_limit(64 << 20)
            .build()
            .ok()
    });
    Ok(WithheldTexts {
        within: within.flatten(),
        whole: all,
    })
}

/// Places in the copy that someone should look at.
#[derive(Debug, Default)]
pub(super) struct Suspects {
    /// Values, names of members, files and their names that contain a withheld text.
    pub(super) repeated: BTreeSet<String>,
    /// Files and values that could not be searched.
    pub(super) unsearched: BTreeSet<String>,
    /// The texts that were searched for.
    pub(super) texts: WithheldTexts,
}

/// Searches everything that the copy shows for withheld texts.
pub(super) fn find_suspects(
    original: &Original,
    places: &Places,
    causes: &Places,
) -> Result<Suspects, RedactError> {
    let mut suspects = Suspects::default();
    let texts = withheld_texts(original, causes)?;
    let is_match = |bytes: &[u8]| {
        let within = texts.within.as_ref();
        within.is_some_and(|texts| texts.is_match(bytes))
    };
    let is_whole = |text: &str| texts.whole.contains(text.trim());
    for (path, file) in &original.files {
        let name = original.name_in_copies(path);
        let mut is_suspect = search(name.as_bytes(), &is_match).is_found;
        if places.covers(path, None) {
            suspects
                .repeated
                .extend(is_suspect.then(|| name.to_owned()));
            continue;
        }
        match (original.documents.get(path), &file.content) {
            (Some(document), _) => walk(document, "", &mut |pointer, value| {
                let step = pointer.rsplit_once('/').map_or("", |(_, step)| step);
                let above = &pointer[..pointer.len() - step.len()];
                let above = above.strip_suffix('/').unwrap_or(above);
                let is_member = search(step.as_bytes(), &is_match).is_found
                    && !places.covers(path, Some(above));
                let mut is_value = false;
                if !places.covers(path, Some(pointer)) {
                    let text = match value {
                        Value::String(text) => text.to_lossy(),
                        Value::Number(_) => {
                            let digits = canonical_bytes(value, Dialect::Jcs).unwrap_or_default();
                            String::from_utf8_lossy(&digits).into_owned()
                        }
                        _ => String::new(),
                    };
                    let searched = search(text.as_bytes(), &is_match);
                    is_value = searched.is_found || is_whole(&text);
                    if searched.is_opaque {
                        suspects.unsearched.insert(format!("{name}#{pointer}"));
                    }
                }
                if is_member || is_value {
                    suspects.repeated.insert(format!("{name}#{pointer}"));
                }
            }),
            (None, Content::Bytes(_)) => {
                let bytes = original.source.read(&safe(path)?, LARGE)?;
                let searched = search(&bytes, &is_match);
                is_suspect |= searched.is_found || is_whole(&String::from_utf8_lossy(&bytes));
                if searched.is_opaque {
                    suspects.unsearched.insert(name.to_owned());
                }
            }
            (None, Content::Chunks(chunked)) => {
                let mut start = [0; 64];
                let mut file = original.source.open(&safe(path)?)?;
                let count = file.read(&mut start).unwrap_or(0);
                if search(&start[..count], &is_match).is_opaque {
                    suspects.unsearched.insert(name.to_owned());
                }
                if let Some(texts) = texts.within.as_ref() {
                    let found = match_chunks(original, path, chunked.size, texts)?;
                    let mut found = found.iter();
                    is_suspect |= found.any(|place| !places.covers(path, Some(place)));
                }
            }
            (None, Content::Document(_)) => {}
        }
        suspects
            .repeated
            .extend(is_suspect.then(|| name.to_owned()));
    }
    suspects.texts = texts;
    Ok(suspects)
}
