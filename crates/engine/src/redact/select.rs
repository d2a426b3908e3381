//! Which places are to be withheld: paths, pointers, patterns, regular expressions.

use std::collections::BTreeMap;

use regex::bytes::Regex;
use runseal_core::canon::Value;
use runseal_core::formats::redacted::documents::{Withheld, find_value, pointer_step};
use runseal_core::formats::redacted::stays::conflict;
use runseal_trust::policy::glob;

use super::RedactError;
use super::original::{Original, safe};

/// Bytes of a file that is no JSON in which values are looked for; longer ones count as a whole.
pub(super) const SEARCHED: u64 = 64 << 20;

/// What to withhold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DropKind {
    /// `PATH` or `PATH#POINTER`; both may be patterns.
    Place(String),
    /// Every string, and every file that is no JSON, in which this regular expression is found.
    Match(String),
}

/// What to withhold, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drop {
    /// What.
    pub kind: DropKind,
    /// Why, as people will read it.
    pub reason: String,
}

/// Places by file; a file's own place is None. What is below a withheld place is not listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Places(BTreeMap<String, BTreeMap<Option<String>, String>>);

fn is_below(above: &str, below: &str) -> bool {
    let rest = below.strip_prefix(above);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Places {
    /// Whether a place, or what it stands in, is withheld.
    pub(super) fn covers(&self, path: &str, pointer: Option<&str>) -> bool {
        let Some(places) = self.0.get(path) else {
            return false;
        };
        places.keys().any(|place| match (place, pointer) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(place), Some(pointer)) => is_below(place, pointer),
        })
    }

    /// Whether anything of the file is withheld.
    pub(super) fn touches(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    /// Whether something below the pointer is withheld.
    pub(super) fn touches_below(&self, path: &str, pointer: &str) -> bool {
        let places = self.0.get(path).into_iter().flat_map(BTreeMap::keys);
        let mut pointers = places.flatten();
        pointers.any(|place| is_below(pointer, place))
    }

    /// Pointers into the file that are withheld.
    pub(super) fn pointers(&self, path: &str) -> impl Iterator<Item = &str> {
        let places = self.0.get(path).into_iter().flat_map(BTreeMap::keys);
        places.flatten().map(String::as_str)
    }

    /// Adds a place; true where it was not covered before.
    pub(super) fn add(
        &mut self,
        format: &str,
        path: &str,
        pointer: Option<&str>,
        reason: &str,
    ) -> Result<bool, RedactError> {
        // A document is withheld as a file: a marker alone would say no less.
        let pointer = pointer.filter(|pointer| !pointer.is_empty());
        if self.covers(path, pointer) {
            return Ok(false);
        }
        if let Some(place) = conflict(format, path, pointer) {
            return Err(RedactError::Stays {
                place,
                why: format!("would go because of: {reason}"),
            });
        }
        let places = self.0.entry(path.to_owned()).or_default();
        places.retain(|place, _| match (pointer, place) {
            (None, _) => false,
            (Some(pointer), Some(place)) => !is_below(pointer, place),
            (Some(_), None) => true,
        });
        places.insert(pointer.map(str::to_owned), reason.to_owned());
        Ok(true)
    }

    /// The list for REDACTED.json.
    pub(super) fn to_withheld(&self) -> Vec<Withheld> {
        let of_file = |(path, places): (&String, &BTreeMap<Option<String>, String>)| {
            let path = path.clone();
            let places = places.iter().map(move |(pointer, reason)| Withheld {
                path: path.clone(),
                pointer: pointer.clone(),
                reason: reason.clone(),
            });
            places.collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of_file).collect()
    }
}

/// Shows every value of a document with its pointer, containers first.
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

/// The places that were asked for.
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

fn select_place(
    original: &Original,
    text: &str,
    reason: &str,
    places: &mut Places,
) -> Result<(), RedactError> {
    let (path, pointer) = match text.split_once('#') {
        Some((path, pointer)) => (path, Some(pointer)),
        None => (text, None),
    };
    let format = &original.redaction.format;
    let mut is_found = false;
    for file in &original.redaction.files {
        if file.path != path && !glob::matches(path, &file.path) {
            continue;
        }
        let Some(pointer) = pointer else {
            places.add(format, &file.path, None, reason)?;
            is_found = true;
            continue;
        };
        let Some(document) = original.documents.get(&file.path) else {
            continue;
        };
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
        for place in found {
            places.add(format, &file.path, Some(&place), reason)?;
            is_found = true;
        }
    }
    match is_found {
        true => Ok(()),
        false => Err(RedactError::FitsNothing(text.to_owned())),
    }
}

fn select_match(
    original: &Original,
    text: &str,
    reason: &str,
    places: &mut Places,
) -> Result<(), RedactError> {
    let pattern = Regex::new(text).map_err(|error| RedactError::Pattern {
        pattern: text.to_owned(),
        fault: error.to_string(),
    })?;
    let format = &original.redaction.format;
    let mut is_found = false;
    for file in &original.redaction.files {
        let mut found = Vec::new();
        if let Some(document) = original.documents.get(&file.path) {
            walk(document, "", &mut |place, value| {
                if let Value::String(string) = value
                    && pattern.is_match(string.to_lossy().as_bytes())
                {
                    found.push(Some(place.to_owned()));
                }
            });
        } else {
            let bytes = original.source.read(&safe(&file.path)?, SEARCHED)?;
            found.extend(pattern.is_match(&bytes).then_some(None));
        }
        for place in found {
            places.add(format, &file.path, place.as_deref(), reason)?;
            is_found = true;
        }
    }
    match is_found {
        true => Ok(()),
        false => Err(RedactError::FitsNothing(text.to_owned())),
    }
}
