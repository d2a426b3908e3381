//! Redacted copies: planned, written, verified, and put into their place at once.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use runseal_core::canon::{Dialect, JsonString, Value, canonical_bytes};
use runseal_core::formats::redacted::RULES;
use runseal_core::formats::redacted::RedactedView;
use runseal_core::formats::redacted::commit::{Key, commit_bytes, commit_value, marker};
use runseal_core::formats::redacted::documents::{
    Opening, REDACTED, REDACTION, Redacted, Redaction, Withheld, pointer_step,
};
use runseal_core::verify::{Level, run_rules};

use super::RedactError;
use super::hunt::{gives_away, hunt};
use super::original::{Original, safe};
use super::select::{Drop, Places, select};
use crate::directory::{DirectorySource, RootLink};
use crate::staging::{Place, Rights, Staging};

/// What would be withheld.
#[derive(Debug)]
pub struct RedactionPlan {
    places: Places,
    /// The places, in order.
    pub withheld: Vec<Withheld>,
    /// Rules of the format that can then no longer be checked.
    pub unchecked: Vec<&'static str>,
}

/// Finds what must be withheld: what was asked for, and every digest of it.
///
/// # Errors
/// When a place is not there or must stay.
pub fn plan_redaction(original: &Original, drops: &[Drop]) -> Result<RedactionPlan, RedactError> {
    let mut places = select(original, drops)?;
    hunt(original, &mut places)?;
    let withheld = places.to_withheld();
    Ok(RedactionPlan {
        unchecked: unchecked_rules(&withheld),
        withheld,
        places,
    })
}

/// The rules of a run bundle that need what is withheld. The lists of files go in every copy.
fn unchecked_rules(withheld: &[Withheld]) -> Vec<&'static str> {
    let touches = |names: &[&str]| {
        let mut places = withheld.iter();
        places.any(|place| names.contains(&place.path.as_str()))
    };
    let mut rules = vec!["RB1", "RB2", "RB5", "RB11", "RB12"];
    if touches(&["RUN_INPUT.json", "INPUT_SCHEMA.json"]) {
        rules.push("RB3");
    }
    if touches(&["RUN_OUTPUT.json", "OUTPUT_SCHEMA.json"]) {
        rules.push("RB4");
    }
    let contracts = [
        "ENGINE_MANIFEST.json",
        "INPUT_SCHEMA.json",
        "OUTPUT_SCHEMA.json",
        "COUPLING_RULES.json",
        "SEALING_SPEC.md",
        "RUN_META.json",
    ];
    if touches(&contracts) {
        rules.push("RB6");
    }
    if touches(&["RUN_INPUT.json", "RUN_OUTPUT.json"]) {
        rules.push("RB7");
    }
    rules
}

/// Shows `value` as far as it is not withheld, with what opens it.
fn show(
    value: &Value,
    key: &Key,
    path: &str,
    pointer: &str,
    places: &Places,
) -> Option<(Value, Opening)> {
    if places.covers(path, Some(pointer)) && !pointer.is_empty() {
        let (commitment, _) = commit_value(value, key).ok()?;
        return Some((marker(&commitment), Opening::Withheld));
    }
    if !places.touches_below(path, pointer) {
        return Some((value.clone(), Opening::Whole(key.clone())));
    }
    Some(match value {
        Value::Object(members) => {
            let mut values: BTreeMap<JsonString, Value> = BTreeMap::new();
            let mut openings = BTreeMap::new();
            for (name, member) in members {
                let step = pointer_step(name.as_str().unwrap_or("\u{fffd}"));
                let below = format!("{pointer}{step}");
                let (value, opening) = show(member, &key.member(name), path, &below, places)?;
                values.insert(name.clone(), value);
                openings.insert(name.clone(), opening);
            }
            (
                Value::Object(values),
                Opening::Members(key.salt(), openings),
            )
        }
        Value::Array(elements) => {
            let (mut values, mut openings) = (Vec::new(), Vec::new());
            for (at, element) in elements.iter().enumerate() {
                let below = format!("{pointer}/{at}");
                let (value, opening) = show(element, &key.element(at), path, &below, places)?;
                values.push(value);
                openings.push(opening);
            }
            (
                Value::Array(values),
                Opening::Elements(key.salt(), openings),
            )
        }
        _ => return None,
    })
}

/// The files of a copy on their way.
pub(super) struct CopyFiles {
    staging: Staging,
}

impl CopyFiles {
    pub(super) fn begin(out: &Path) -> Result<Self, RedactError> {
        crate::staging::check_place(out, Place::Free)?;
        Ok(Self {
            staging: Staging::begin_beside(out)?,
        })
    }

    pub(super) fn put(&mut self, path: &str, bytes: &[u8]) -> Result<(), RedactError> {
        Ok(self.staging.put(path, bytes)?)
    }

    pub(super) fn put_value(&mut self, path: &str, value: &Value) -> Result<(), RedactError> {
        let bytes = canonical_bytes(value, Dialect::Jcs)
            .map_err(|error| RedactError::Unsound(error.to_string()))?;
        self.put(path, &bytes)
    }

    pub(super) fn copy(&mut self, source: &DirectorySource, path: &str) -> Result<(), RedactError> {
        let (mut from, _) = source.open_file(&safe(path)?)?;
        let (mut to, _) = self.staging.create(path)?;
        io::copy(&mut from, &mut to).map_err(|source| RedactError::Copy {
            path: path.to_owned(),
            source,
        })?;
        Ok(())
    }

    /// Verifies the copy as anybody would, and puts it into its place.
    pub(super) fn publish(self, out: &Path) -> Result<(u64, u64), RedactError> {
        let how = (Place::Free, Rights::ReadOnly);
        self.staging.publish(out, how, |staged| {
            let source = DirectorySource::open(staged, RootLink::Refuse)?;
            let view = RedactedView::collect(&source)?;
            let report = run_rules(&RULES, &view, Level::Form);
            if !report.is_valid() {
                let findings = report.findings().iter();
                let first = findings.map(|finding| finding.message.clone()).next();
                return Err(RedactError::Unsound(first.unwrap_or_default()));
            }
            Ok::<_, RedactError>(view.counts().unwrap_or_default())
        })
    }
}

impl RedactionPlan {
    /// Whether bytes that go along with a copy state a digest of what is withheld.
    pub fn gives_away(&self, original: &Original, bytes: &[u8]) -> bool {
        gives_away(original, &self.places, bytes)
    }
}

/// Writes the copy that was planned; gives how many values it withholds, of how many.
///
/// # Errors
/// When something is at `out`, or it cannot be written.
pub fn redact_bundle(
    original: &Original,
    plan: &RedactionPlan,
    out: &Path,
) -> Result<(u64, u64), RedactError> {
    let mut files = CopyFiles::begin(out)?;
    let mut openings = BTreeMap::new();
    for file in &original.redaction.files {
        let path = &file.path;
        if plan.places.covers(path, None) {
            continue;
        }
        let key = original.seed.file_key(path);
        match original.documents.get(path) {
            Some(document) => {
                let shown = show(document, &key, path, "", &plan.places);
                let (value, opening) =
                    shown.ok_or_else(|| RedactError::Unsound(format!("`{path}`")))?;
                files.put_value(path, &value)?;
                openings.insert(path.clone(), opening);
            }
            None => {
                files.copy(&original.source, path)?;
                openings.insert(path.clone(), Opening::Whole(key));
            }
        }
    }
    let redacted = Redacted {
        withheld: plan.withheld.clone(),
        openings,
    };
    files.put_value(REDACTED, &redacted.to_value())?;
    files.put(REDACTION, &original.stored)?;
    files.publish(out)
}

/// Whether a value with its key gives the commitment that was sealed.
pub(super) fn is_sealed_file(redaction: &Redaction, path: &str, key: &Key, bytes: &[u8]) -> bool {
    let digest = runseal_core::digest::Digest::of(bytes);
    let found = commit_bytes(&digest, &key.salt());
    redaction
        .file(path)
        .is_some_and(|file| !file.is_json && file.commitment == found)
}
