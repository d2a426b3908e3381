//! Reads the parts of a manifest, and keeps every fault of the schema on the way.

use super::{ARTIFACT_FIELDS, Artifact, Problem, Step, Text};
use crate::canon::{Integer, Kind, Node};
use crate::digest::{Digest, decode_lower_hex};
use crate::formats::job_bundle::facts::ArtifactKey;
use crate::formats::job_bundle::hashes::STEP_FIELDS;
use crate::formats::job_bundle::op::Op;
use crate::limits::{FINDINGS_A_RULE, max_manifest_elements};

/// Reads values of one text, and collects faults on the way.
pub(super) struct Reading<'a> {
    pub text: &'a str,
    pub problems: Vec<Problem>,
}

impl<'a> Reading<'a> {
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            problems: Vec::new(),
        }
    }

    /// Adds a fault, up to as many as a rule lists.
    pub fn add(&mut self, path: impl FnOnce() -> String, message: String) {
        if self.problems.len() < FINDINGS_A_RULE {
            self.problems.push(Problem {
                path: path(),
                message,
            });
        }
    }

    /// Adds the faults that were found elsewhere, behind those that are here.
    pub fn append(&mut self, other: Vec<Problem>) {
        let room = FINDINGS_A_RULE.saturating_sub(self.problems.len());
        self.problems.extend(other.into_iter().take(room));
    }

    /// The faults; where there are more than a rule lists, the last one says so.
    pub fn into_problems(mut self) -> Vec<Problem> {
        if self.problems.len() >= FINDINGS_A_RULE {
            self.problems.truncate(FINDINGS_A_RULE - 1);
            self.problems.push(Problem {
                path: String::new(),
                message: format!(
                    "there are more faults, which are not listed: the limit is {FINDINGS_A_RULE}"
                ),
            });
        }
        self.problems
    }

    pub fn typed<'n>(
        &mut self,
        value: Option<Node<'n>>,
        kind: Kind,
        path: impl FnOnce() -> String,
    ) -> Option<Node<'n>> {
        match value {
            Some(node) if node.kind() == kind => Some(node),
            Some(node) => {
                let (wanted, found) = (kind.with_article(), node.kind().with_article());
                self.add(path, format!("expected {wanted}, actual {found}"));
                None
            }
            None => {
                self.add(
                    path,
                    format!("expected {}, actual nothing", kind.with_article()),
                );
                None
            }
        }
    }

    pub fn text(
        &mut self,
        value: Option<Node<'_>>,
        path: impl FnOnce() -> String,
    ) -> Option<Text<'a>> {
        let node = self.typed(value, Kind::String, path)?;
        Text::of(node, self.text)
    }

    pub fn digest(&mut self, value: Option<Node<'_>>, path: impl Fn() -> String) -> Option<Digest> {
        let text = self.text(value, &path)?;
        if let Some(bytes) = text.as_str().and_then(decode_lower_hex) {
            return Some(Digest::from_bytes(bytes));
        }
        match Digest::parse_hex(&text.to_lossy()) {
            Ok(digest) => Some(digest),
            Err(error) => {
                self.add(path, format!("{error}, actual `{}`", text.to_lossy()));
                None
            }
        }
    }

    fn integer(
        &mut self,
        value: Option<Node<'_>>,
        path: impl Fn() -> String,
    ) -> Option<Integer<'a>> {
        let node = self.typed(value, Kind::Number, &path)?;
        let number = node.number_of(self.text)?;
        let integer = number.as_integer();
        if integer.is_none() {
            self.add(
                path,
                format!("expected an integer, actual `{}`", number.text()),
            );
        }
        integer
    }
}

/// Whether a list of so many elements is too long for a manifest of this size; told where it is.
pub(super) fn is_too_long(reading: &mut Reading<'_>, count: usize, place: &str) -> bool {
    let most = max_manifest_elements(reading.text.len());
    if count > most {
        let message = format!(
            "there are {count} elements, more than {most}, the limit for a manifest of this size"
        );
        reading.add(|| place.to_owned(), message);
    }
    count > most
}

pub(super) fn read_texts<'a>(
    reading: &mut Reading<'a>,
    value: Option<Node<'_>>,
    place: &str,
) -> Vec<Text<'a>> {
    let Some(list) = reading.typed(value, Kind::Array, || place.to_owned()) else {
        return Vec::new();
    };
    if is_too_long(reading, list.len(), place) {
        return Vec::new();
    }
    list.items()
        .enumerate()
        .filter_map(|(at, item)| reading.text(Some(item), || format!("{place}[{at}]")))
        .collect()
}

pub(super) fn read_step<'a>(
    reading: &mut Reading<'a>,
    (node, start): (Node<'_>, usize),
    path: &dyn Fn() -> String,
) -> Step<'a> {
    let mut step = Step {
        start,
        step_id: None,
        ordinal: None,
        op: None,
        reference: None,
        slice: None,
    };
    if reading.typed(Some(node), Kind::Object, path).is_none() {
        return step;
    }
    let at = |key: &'static str| move || format!("{}.{key}", path());
    let [constraints, outputs, op, ordinal, refs, step_id] = node.fields(STEP_FIELDS);
    step.step_id = reading.text(step_id, at("step_id"));
    step.ordinal = reading.integer(ordinal, at("ordinal"));
    if let Some(op) = reading.text(op, at("op")) {
        step.op = op.as_str().and_then(Op::parse);
        if step.op.is_none() {
            let found = op.to_lossy();
            let message = format!("expected `READ_SYMBOL` or `READ_SECTION`, actual `{found}`");
            reading.add(at("op"), message);
        }
    }
    let refs = reading.typed(refs, Kind::Object, at("refs"));
    if let (Some(refs), Some(op)) = (refs, step.op) {
        let key = op.ref_key();
        step.reference = reading.text(refs.get(key), || format!("{}.refs.{key}", path()));
    }
    if let Some(constraints) = reading.typed(constraints, Kind::Object, at("constraints")) {
        step.slice = reading.text(constraints.get("slice"), at("constraints.slice"));
    }
    reading.typed(outputs, Kind::Object, at("expected_outputs"));
    step
}

pub(super) fn read_artifact<'a>(
    reading: &mut Reading<'a>,
    (node, start): (Node<'_>, usize),
    path: &dyn Fn() -> String,
) -> Artifact<'a> {
    let mut artifact = Artifact {
        start,
        artifact_id: None,
        key: None,
        kind: None,
        reference: None,
        slice: None,
        path: None,
        sha256: None,
        bytes: None,
        is_in_place: false,
    };
    if reading.typed(Some(node), Kind::Object, path).is_none() {
        return artifact;
    }
    let at = |key: &'static str| move || format!("{}.{key}", path());
    let [id, bytes, kind, place, reference, sha256, slice] = node.fields(ARTIFACT_FIELDS);
    artifact.artifact_id = reading.text(id, at("artifact_id"));
    if let Some(id) = &artifact.artifact_id {
        artifact.key = id.as_str().and_then(|id| ArtifactKey::parse(id.as_bytes()));
        if artifact.key.is_none() {
            let found = id.to_lossy();
            let message = format!("expected 16 lower-case hex digits, actual `{found}`");
            reading.add(at("artifact_id"), message);
        }
    }
    if let Some(kind) = reading.text(kind, at("kind")) {
        artifact.kind = [Op::ReadSymbol, Op::ReadSection]
            .into_iter()
            .find(|op| kind.as_str() == Some(op.kind()));
        if artifact.kind.is_none() {
            let found = kind.to_lossy();
            let message = format!("expected `SYMBOL_SLICE` or `SECTION_SLICE`, actual `{found}`");
            reading.add(at("kind"), message);
        }
    }
    artifact.reference = reading.text(reference, at("ref"));
    artifact.slice = reading.text(slice, at("slice"));
    artifact.path = reading.text(place, at("path"));
    artifact.sha256 = reading.digest(sha256, at("sha256"));
    artifact.bytes = reading.integer(bytes, at("bytes"));
    if let Some(bytes) = artifact.bytes
        && bytes.is_negative()
    {
        reading.add(
            at("bytes"),
            "expected a size of 0 or more, actual a negative one".to_owned(),
        );
    }
    artifact.is_in_place = artifact.find_in_place();
    artifact
}
