//! Reads the parts of a manifest and collects every fault of the schema.

use super::records::{ArtifactRecord, Keeping, Span, StepRecord};
use super::{ARTIFACT_FIELDS, InputList, Problem, Text};
use crate::canon::{Kind, Node};
use crate::digest::{Digest, decode_lower_hex};
use crate::formats::job_bundle::facts::ArtifactKey;
use crate::formats::job_bundle::hashes::STEP_FIELDS;
use crate::formats::job_bundle::op::Op;
use crate::limits::{FINDINGS_A_RULE, max_manifest_elements};

/// Reads values and collects faults.
#[derive(Default)]
pub(super) struct Reading {
    pub problems: Vec<Problem>,
}

impl Reading {
    /// Adds a fault, up to as many as a rule lists.
    pub fn add(&mut self, path: impl FnOnce() -> String, message: String) {
        if self.problems.len() < FINDINGS_A_RULE {
            self.problems.push(Problem {
                path: path(),
                message,
            });
        }
    }

    /// Appends faults that were found elsewhere.
    pub fn append(&mut self, other: Vec<Problem>) {
        let room = FINDINGS_A_RULE.saturating_sub(self.problems.len());
        self.problems.extend(other.into_iter().take(room));
    }

    /// The faults; if there are more than a rule lists, the last one says so.
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

    /// A string.
    pub fn text<'n>(
        &mut self,
        value: Option<Node<'n>>,
        path: impl FnOnce() -> String,
    ) -> Option<Text<'n>> {
        self.typed(value, Kind::String, path).and_then(Text::of)
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

    /// An integer of any size.
    fn integer<'n>(
        &mut self,
        value: Option<Node<'n>>,
        path: impl Fn() -> String,
    ) -> Option<Node<'n>> {
        let node = self.typed(value, Kind::Number, &path)?;
        let number = node.as_number()?;
        if number.as_integer().is_some() {
            return Some(node);
        }
        self.add(
            path,
            format!("expected an integer, actual `{}`", number.text()),
        );
        None
    }
}

/// Whether a list of `count` elements is too long for a manifest of this size; adds a fault if so.
pub(super) fn is_too_long(
    reading: &mut Reading,
    count: usize,
    manifest_bytes: usize,
    place: &str,
) -> bool {
    let most = max_manifest_elements(manifest_bytes);
    if count > most {
        let message = format!(
            "there are {count} elements, more than {most}, the limit for a manifest of this size"
        );
        reading.add(|| place.to_owned(), message);
    }
    count > most
}

/// The strings of a list, and whether that is all it has; nothing if it is not a list or too long.
pub(super) fn read_texts(
    reading: &mut Reading,
    value: Option<Node<'_>>,
    manifest_bytes: usize,
    place: &str,
) -> InputList {
    let Some(list) = reading.typed(value, Kind::Array, || place.to_owned()) else {
        return InputList::default();
    };
    if is_too_long(reading, list.len(), manifest_bytes, place) {
        return InputList::default();
    }
    let text = |(at, item)| reading.typed(Some(item), Kind::String, || format!("{place}[{at}]"));
    let texts = list.items().enumerate().filter_map(text);
    let spans: Vec<Span> = texts.map(|node| Keeping::InPlace.keep(node)).collect();
    InputList {
        is_whole: spans.len() == list.len(),
        spans,
    }
}

/// Reads a step that begins at `start` in the text.
pub(super) fn read_step(
    reading: &mut Reading,
    (node, start): (Node<'_>, usize),
    keeping: &mut Keeping<'_>,
    path: &dyn Fn() -> String,
) -> StepRecord {
    let mut step = StepRecord {
        start: u32::try_from(start).unwrap_or(u32::MAX),
        step_id: Span::ABSENT,
        ordinal: Span::ABSENT,
        op: None,
        reference: Span::ABSENT,
        slice: Span::ABSENT,
        has_objects: false,
    };
    if reading.typed(Some(node), Kind::Object, path).is_none() {
        return step;
    }
    let mut keep = |node: Option<Node<'_>>| node.map_or(Span::ABSENT, |node| keeping.keep(node));
    let at = |key: &'static str| move || format!("{}.{key}", path());
    let [constraints, outputs, op, ordinal, refs, step_id] = node.fields(STEP_FIELDS);
    step.step_id = keep(reading.typed(step_id, Kind::String, at("step_id")));
    step.ordinal = keep(reading.integer(ordinal, at("ordinal")));
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
        let place = || format!("{}.refs.{key}", path());
        step.reference = keep(reading.typed(refs.get(key), Kind::String, place));
    }
    let constraints = reading.typed(constraints, Kind::Object, at("constraints"));
    if let Some(constraints) = constraints {
        let slice = constraints.get("slice");
        step.slice = keep(reading.typed(slice, Kind::String, at("constraints.slice")));
    }
    let outputs = reading.typed(outputs, Kind::Object, at("expected_outputs"));
    step.has_objects = refs.is_some() && constraints.is_some() && outputs.is_some();
    step
}

/// Reads an artifact's entry that begins at `start` in the text.
pub(super) fn read_artifact(
    reading: &mut Reading,
    (node, start): (Node<'_>, usize),
    keeping: &mut Keeping<'_>,
    path: &dyn Fn() -> String,
) -> ArtifactRecord {
    let mut artifact = ArtifactRecord {
        start: u32::try_from(start).unwrap_or(u32::MAX),
        artifact_id: Span::ABSENT,
        key: None,
        kind: None,
        reference: Span::ABSENT,
        slice: Span::ABSENT,
        path: Span::ABSENT,
        sha256: None,
        bytes: Span::ABSENT,
        is_in_place: false,
    };
    if reading.typed(Some(node), Kind::Object, path).is_none() {
        return artifact;
    }
    let mut keep = |node: Option<Node<'_>>| node.map_or(Span::ABSENT, |node| keeping.keep(node));
    let at = |key: &'static str| move || format!("{}.{key}", path());
    let [id, bytes, kind, place, reference, sha256, slice] = node.fields(ARTIFACT_FIELDS);
    let id = reading.typed(id, Kind::String, at("artifact_id"));
    artifact.artifact_id = keep(id);
    let id = id.and_then(Text::of);
    if let Some(id) = &id {
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
    artifact.reference = keep(reading.typed(reference, Kind::String, at("ref")));
    artifact.slice = keep(reading.typed(slice, Kind::String, at("slice")));
    let place = reading.typed(place, Kind::String, at("path"));
    let path_text = place.and_then(Text::of);
    artifact.is_in_place = match (&path_text, &id, artifact.key) {
        (Some(path), Some(id), Some(_)) => is_place_of(path, id),
        _ => false,
    };
    if !artifact.is_in_place {
        artifact.path = keep(place);
    }
    artifact.sha256 = reading.digest(sha256, at("sha256"));
    let bytes = reading.integer(bytes, at("bytes"));
    artifact.bytes = keep(bytes);
    let size = bytes.and_then(|node| node.as_number()?.as_integer());
    if size.is_some_and(|size| size.is_negative()) {
        reading.add(
            at("bytes"),
            "expected a size of 0 or more, actual a negative one".to_owned(),
        );
    }
    artifact
}

/// Whether a path is `artifacts/<id>.txt`.
fn is_place_of(path: &Text<'_>, id: &Text<'_>) -> bool {
    let name = path
        .as_str()
        .and_then(|path| path.strip_prefix("artifacts/")?.strip_suffix(".txt"));
    name.is_some() && name == id.as_str()
}
