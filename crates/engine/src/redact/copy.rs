//! Redacted copies: planned, written, verified, and put into their place at once.

use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::path::Path;

use runseal_core::canon::{Dialect, JsonString, Value, canonical_bytes};
use runseal_core::formats::redacted::RULES;
use runseal_core::formats::redacted::RedactedView;
use runseal_core::formats::redacted::commit::{Key, commit_bytes, commit_value, marker};
use runseal_core::formats::redacted::documents::{
    Opening, REDACTED, REDACTION, Redacted, Redaction, Withheld, pointer_step,
};
use runseal_core::source::Source;
use runseal_core::verify::{Level, run_rules};

use super::RedactError;
use runseal_trust::keys::Signer;
use runseal_trust::sd_jwt::{Disclosure, Withholding, encode_sd_jwt};

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

    pub(super) fn copy(&mut self, source: &dyn Source, path: &str) -> Result<(), RedactError> {
        let from = source.open(&safe(path)?)?;
        let (mut to, _) = self.staging.create(path)?;
        io::copy(&mut BufReader::with_capacity(1 << 17, from), &mut to).map_err(|source| {
            RedactError::Copy {
                path: path.to_owned(),
                source,
            }
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

/// The salts of what a plan withholds of one document, for tokens.
struct DocumentSalts<'a> {
    original: &'a Original,
    plan: &'a RedactionPlan,
    path: &'a str,
}

impl Withholding for DocumentSalts<'_> {
    fn salt(&self, pointer: &str) -> Option<String> {
        let is_withheld = self.plan.places.covers(self.path, Some(pointer));
        let key = is_withheld.then(|| self.original.key_at(self.path, pointer))?;
        // The salt that a copy uses says nothing here: another commitment has another salt.
        let salt = key?.member(&"sd-jwt".into()).salt().to_hex();
        Some(salt)
    }
}

impl RedactionPlan {
    /// The document at `path` as an SD-JWT without what the plan withholds of it; and what would
    /// disclose each withheld value.
    ///
    /// # Errors
    /// When the document is not shown or has no such form, or the key does not sign.
    pub fn encode_sd_jwt(
        &self,
        original: &Original,
        path: &str,
        signer: &dyn Signer,
    ) -> Result<(String, Vec<Disclosure>), RedactError> {
        let document = original.document(path);
        let document = document.ok_or_else(|| RedactError::FitsNothing(path.to_owned()))?;
        if self.places.covers(path, None) {
            return Err(RedactError::FitsNothing(path.to_owned()));
        }
        let claims = Value::object([
            ("path", path.to_owned()),
            ("redaction_root", original.root().to_string()),
        ]);
        let salts = DocumentSalts {
            original,
            plan: self,
            path,
        };
        encode_sd_jwt(document, &salts, claims, signer)
            .map_err(|error| RedactError::Token(error.to_string()))
    }

    /// Whether bytes that go along with a copy state a digest of what is withheld.
    pub fn gives_away(&self, original: &Original, bytes: &[u8]) -> bool {
        gives_away(original, &self.places, bytes)
    }
}

/// What a copy holds.
#[derive(Debug)]
pub struct CopyContents {
    /// Documents, with markers in place of withheld values, and the two that every copy has; as
    /// they are stored.
    pub documents: BTreeMap<String, Vec<u8>>,
    /// Files that are copied as they are.
    pub whole: Vec<String>,
}

/// What the copy that was planned holds.
///
/// # Errors
/// When a document has no canonical form, which no sealed one lacks.
pub fn render_copy(original: &Original, plan: &RedactionPlan) -> Result<CopyContents, RedactError> {
    let stored = |value: &Value| {
        canonical_bytes(value, Dialect::Jcs)
            .map_err(|error| RedactError::Unsound(error.to_string()))
    };
    let mut openings = BTreeMap::new();
    let mut contents = CopyContents {
        documents: BTreeMap::new(),
        whole: Vec::new(),
    };
    for file in &original.redaction.files {
        let path = &file.path;
        if plan.places.covers(path, None) {
            continue;
        }
        let key = original.seed.file_key(path);
        let opening = match original.documents.get(path) {
            Some(document) => {
                let shown = show(document, &key, path, "", &plan.places);
                let (value, opening) =
                    shown.ok_or_else(|| RedactError::Unsound(format!("`{path}`")))?;
                contents.documents.insert(path.clone(), stored(&value)?);
                opening
            }
            None => {
                contents.whole.push(path.clone());
                Opening::Whole(key)
            }
        };
        openings.insert(path.clone(), opening);
    }
    let redacted = Redacted {
        withheld: plan.withheld.clone(),
        openings,
    };
    let redacted = stored(&redacted.to_value())?;
    contents.documents.insert(REDACTED.to_owned(), redacted);
    let commitment = original.stored.clone();
    contents.documents.insert(REDACTION.to_owned(), commitment);
    Ok(contents)
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
    let contents = render_copy(original, plan)?;
    for (path, bytes) in &contents.documents {
        files.put(path, bytes)?;
    }
    for path in &contents.whole {
        files.copy(&*original.source, path)?;
    }
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
