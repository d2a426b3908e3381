//! Selects the places to withhold: by paths, pointers, patterns and regular expressions.

use std::collections::{BTreeMap, BTreeSet};

use regex::bytes::Regex;
use runseal_core::canon::Value;
use runseal_core::formats::redacted::chunks::{PIECE, PiecedFile, chunk_place, parse_byte_range};
use runseal_core::formats::redacted::documents::{
    Withheld, find_value, pointer_step, pointer_steps,
};
use runseal_core::formats::redacted::redactable::{PlaceRef, Redactable};
use runseal_trust::policy::glob;

use super::RedactError;
use super::matching::select_match;
use super::original::{Content, Original};
use super::spellings::is_found;

/// What to withhold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DropKind {
    /// `PATH`, `PATH#POINTER` or `PATH#bytes=FIRST-LAST`; paths and pointers may be patterns.
    Place(String),
    /// Every string and number, every file that is not JSON and every piece of a large file in
    /// which this regular expression is found.
    Match(String),
}

/// What to withhold, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drop {
    /// The places, named or found by a pattern.
    pub kind: DropKind,
    /// The reason, as readers of the copy will see it.
    pub reason: String,
}

/// Places by file; `None` is the file itself. Places below a withheld one are not listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Places(BTreeMap<String, BTreeMap<Option<String>, String>>);

impl Places {
    /// Returns whether a place, or something that contains it, is withheld.
    pub(super) fn covers(&self, path: &str, pointer: Option<&str>) -> bool {
        let Some(places) = self.0.get(path) else {
            return false;
        };
        if places.contains_key(&None) {
            return true;
        }
        let Some(pointer) = pointer else {
            return false;
        };
        let ends = pointer.match_indices('/').map(|(at, _)| at);
        let mut above = ends.chain([pointer.len()]).map(|end| &pointer[..end]);
        above.any(|above| places.contains_key(&Some(above.to_owned())))
    }

    /// Returns whether exactly this place is listed.
    pub(super) fn has(&self, path: &str, pointer: Option<&str>) -> bool {
        let places = self.0.get(path);
        places.is_some_and(|places| places.contains_key(&pointer.map(str::to_owned)))
    }

    /// Returns whether anything of the file is withheld.
    pub(super) fn touches(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    /// Returns whether something below the pointer is withheld.
    pub(super) fn touches_below(&self, path: &str, pointer: &str) -> bool {
        let Some(places) = self.0.get(path) else {
            return false;
        };
        if pointer.is_empty() {
            return places.keys().any(Option::is_some);
        }
        let below = format!("{pointer}/");
        let mut from = places.range(Some(below.clone())..);
        let first = from.next().and_then(|(place, _)| place.as_deref());
        first.is_some_and(|place| place.starts_with(&below))
            || places.contains_key(&Some(pointer.to_owned()))
    }

    /// Returns the withheld pointers to something below `pointer`.
    pub(super) fn pointers_below(&self, path: &str, pointer: &str) -> impl Iterator<Item = &str> {
        // `0` is the character after `/`.
        let range = Some(format!("{pointer}/"))..Some(format!("{pointer}0"));
        let places = self.0.get(path).into_iter();
        let places = places.flat_map(move |places| places.range(range.clone()));
        places.filter_map(|(place, _)| place.as_deref())
    }

    /// Returns the withheld pointers into the file.
    pub(super) fn pointers(&self, path: &str) -> impl Iterator<Item = &str> {
        let places = self.0.get(path).into_iter().flat_map(BTreeMap::keys);
        places.flatten().map(String::as_str)
    }

    /// Adds a place. Returns whether it was not covered before.
    pub(super) fn add(
        &mut self,
        format: &Redactable,
        path: &str,
        pointer: Option<&str>,
        reason: &str,
    ) -> Result<bool, RedactError> {
        // A whole document is withheld as a file: a marker alone would reveal just as much.
        let pointer = pointer.filter(|pointer| !pointer.is_empty());
        if self.covers(path, pointer) {
            return Ok(false);
        }
        if let Some(place) = format.conflict(path, pointer) {
            return Err(RedactError::Stays {
                place,
                conflict: format!("would be withheld because of: {reason}"),
            });
        }
        let places = self.0.entry(path.to_owned()).or_default();
        match pointer {
            None => places.clear(),
            Some(pointer) => {
                let below = format!("{pointer}/");
                let end = format!("{pointer}0");
                let gone: Vec<_> = places
                    .range(Some(below)..Some(end))
                    .map(|(place, _)| place.clone())
                    .collect();
                for place in gone {
                    places.remove(&place);
                }
            }
        }
        places.insert(pointer.map(str::to_owned), reason.to_owned());
        Ok(true)
    }

    /// Returns every place with its reason.
    pub(super) fn with_reasons(&self) -> impl Iterator<Item = (PlaceRef<'_>, &str)> {
        self.0.iter().flat_map(|(path, places)| {
            let places = places.iter();
            places.map(|(place, reason)| ((path.as_str(), place.as_deref()), reason.as_str()))
        })
    }

    /// Returns every place.
    pub(super) fn all(&self) -> Vec<PlaceRef<'_>> {
        let mut all = Vec::new();
        for (path, places) in &self.0 {
            all.extend(places.keys().map(|place| (path.as_str(), place.as_deref())));
        }
        all
    }

    /// Returns the list for REDACTED.json, with the files' names in copies.
    pub(super) fn to_withheld(&self, original: &Original) -> Vec<Withheld> {
        let mut withheld = Vec::new();
        for (path, places) in &self.0 {
            let path = original.name_in_copies(path);
            withheld.extend(places.iter().map(|(pointer, reason)| Withheld {
                path: path.to_owned(),
                pointer: pointer.clone(),
                reason: reason.clone(),
            }));
        }
        withheld.sort();
        withheld
    }
}

/// Calls `see` with every value of a document and its pointer, containers first.
pub(super) fn walk(value: &Value, pointer: &str, see: &mut dyn FnMut(&str, &Value)) {
    see(pointer, value);
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let step = pointer_step(name.as_str().unwrap_or("\u{fffd}"));
                walk(member, &format!("{pointer}{step}"), see);
            }
        }
        Value::Array(elements) => {
            for (at, element) in elements.iter().enumerate() {
                walk(element, &format!("{pointer}/{at}"), see);
            }
        }
        _ => {}
    }
}

/// Returns the requested places.
pub(super) fn select(original: &Original, drops: &[Drop]) -> Result<Places, RedactError> {
    let mut places = Places::default();
    for drop in drops {
        match &drop.kind {
            DropKind::Place(text) => select_place(original, text, &drop.reason, &mut places)?,
            DropKind::Match(text) => select_match(original, text, &drop.reason, &mut places)?,
        }
    }
    Ok(places)
}

/// Returns the file of a place, and the pointer or range in it. A file whose name contains the `#`
/// takes precedence.
pub(super) fn split_place<'a>(original: &Original, text: &'a str) -> (&'a str, Option<&'a str>) {
    let mut hashes = text.match_indices('#').map(|(at, _)| at);
    if original.files.contains_key(text) {
        return (text, None);
    }
    let named = hashes.find(|at| original.files.contains_key(&text[..*at]));
    match named.or_else(|| text.find('#')) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

fn select_place(
    original: &Original,
    text: &str,
    reason: &str,
    places: &mut Places,
) -> Result<(), RedactError> {
    let (path, pointer) = split_place(original, text);
    let mut is_found = false;
    for (name, file) in &original.files {
        if name != path && !glob::matches(path, name) {
            continue;
        }
        let found: Vec<String> = match (pointer, original.documents.get(name), &file.content) {
            (None, _, _) => {
                places.add(original.format, name, None, reason)?;
                is_found = true;
                continue;
            }
            (Some(pointer), Some(document), _) => find_pointers(document, pointer),
            (Some(range), None, Content::Chunks(chunked)) => find_chunks(chunked, range),
            (Some(_), None, _) => Vec::new(),
        };
        for place in found {
            places.add(original.format, name, Some(&place), reason)?;
            is_found = true;
        }
    }
    if is_found {
        Ok(())
    } else {
        Err(RedactError::FitsNothing(text.to_owned()))
    }
}

/// Returns the pointers into a document that equal this one or match it as a pattern.
fn find_pointers(document: &Value, pointer: &str) -> Vec<String> {
    let mut found = Vec::new();
    if find_value(document, pointer).is_some() {
        found.push(pointer.to_owned());
    } else if pointer.contains(['*', '?']) {
        walk(document, "", &mut |place, _| {
            if !place.is_empty() && glob::matches(pointer, place) {
                found.push(place.to_owned());
            }
        });
    }
    found
}

/// Returns the pieces of a file that overlap `range`; none if it exceeds the file.
pub(super) fn find_chunks(chunked: &PiecedFile, range: &str) -> Vec<String> {
    let Some((first, last)) = parse_byte_range(range).filter(|(_, last)| *last < chunked.size)
    else {
        return Vec::new();
    };
    let pieces = first / PIECE..=last / PIECE;
    let at = pieces.filter_map(|at| usize::try_from(at).ok());
    at.map(|at| chunk_place(at, chunked.size)).collect()
}

pub(super) fn parse_pattern(text: &str) -> Result<Regex, RedactError> {
    Regex::new(text).map_err(|error| {
        // All lines but the last only quote the pattern again.
        let fault = error.to_string();
        let fault = fault.lines().last().unwrap_or_default();
        RedactError::Pattern {
            pattern: text.to_owned(),
            fault: fault.trim_start_matches("error: ").to_owned(),
        }
    })
}

/// Returns the names of files and members that match a regular expression of `drops` and stay
/// visible: only values are withheld.
pub(super) fn find_visible_names(
    original: &Original,
    drops: &[Drop],
    places: &Places,
) -> Result<BTreeSet<String>, RedactError> {
    let mut names = BTreeSet::new();
    for drop in drops {
        let DropKind::Match(text) = &drop.kind else {
            continue;
        };
        let pattern = parse_pattern(text)?;
        let is_match = |text: &[u8]| pattern.is_match(text);
        for path in original.files.keys() {
            let name = original.name_in_copies(path);
            if is_found(name.as_bytes(), &is_match) {
                names.insert(name.to_owned());
            }
            let Some(document) = original.documents.get(path) else {
                continue;
            };
            walk(document, "", &mut |pointer, _| {
                let Some((above, step)) = pointer.rsplit_once('/') else {
                    return;
                };
                let member = pointer_steps(&format!("/{step}"))
                    .unwrap_or_default()
                    .concat();
                if is_found(member.as_bytes(), &is_match) && !places.covers(path, Some(above)) {
                    names.insert(format!("{name}#{pointer}"));
                }
            });
        }
    }
    Ok(names)
}
