//! Parses `bundle.json` for the rules.
//!
//! Parsing never stops at a fault: each one is kept as a [`Problem`] (check 2) with everything that
//! is sound, so a missing field silences only the rules that need it.

mod matching;
mod reading;
mod records;
mod streaming;
mod text;

pub use matching::Matching;
pub use records::{Artifact, Step};
pub use streaming::StreamedManifest;
pub use text::Text;

use std::borrow::Cow;

use super::hashes::{compute_bundle_id, compute_root_hash, compute_stored_bundle_id};
use crate::canon::{JsonError, Kind, NoCanonicalForm, Outline, ReadOptions, parse_outline};
use crate::digest::Digest;
use crate::limits::max_manifest_elements;
use matching::match_steps;
use reading::{Reading, is_too_long, read_artifact, read_step, read_texts};
use records::{ArtifactRecord, Keeping, Span, StepRecord};

/// A fault of the schema: its place in the manifest, and a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The place, as `$.steps[0].op`.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

/// A manifest that is one JSON document, as far as it is sound.
#[derive(Debug)]
pub struct Manifest<'a> {
    /// The document, without the steps and artifacts.
    pub outline: Outline<'a>,
    /// Faults of the schema, in the manifest's order.
    pub problems: Vec<Problem>,
    /// The bundle's id.
    pub bundle_id: Option<Digest>,
    /// The plan's hash.
    pub plan_hash: Option<Digest>,
    /// The root hash.
    pub root_hash: Option<Digest>,
    /// The text that the spans of steps and artifacts refer to.
    texts: &'a str,
    /// `None` if it is not a list, or too long; so are the artifacts.
    steps: Option<Cow<'a, [StepRecord]>>,
    artifacts: Option<Cow<'a, [ArtifactRecord]>>,
    inputs: [InputList; 3],
    /// The bundle id of §4.2, if it can be computed.
    pub computed_id: Option<Result<Digest, NoCanonicalForm>>,
    /// The root hash of §4.1, if every artifact has an id and a hash.
    pub computed_root: Option<Digest>,
    /// The plan hash of §4.3, if the manifest was streamed: then its steps cannot be read again.
    pub streamed_plan_hash: Option<Digest>,
    /// How steps and artifacts match, if all of them do.
    pub matching: Option<Matching>,
}

/// A list of `inputs`.
#[derive(Debug, Default)]
struct InputList {
    /// Its strings, as spans of the outline's text.
    spans: Vec<Span>,
    /// Whether it is a list of strings and nothing else.
    is_whole: bool,
}

/// The members of an artifact, sorted.
pub const ARTIFACT_FIELDS: [&str; 7] = [
    "artifact_id",
    "bytes",
    "kind",
    "path",
    "ref",
    "sha256",
    "slice",
];

/// The lists of `inputs`, in the order of `Manifest::inputs`.
pub const INPUT_LISTS: [&str; 3] = ["symbols", "files", "slices"];

/// The lists that grow with the number of artifacts.
const LONG_LISTS: [&str; 2] = ["steps", "artifacts"];
const STEPS: usize = 0;
const ARTIFACTS: usize = 1;

impl<'a> Manifest<'a> {
    /// Parses a manifest as far as it is sound. Steps and artifacts are visited one at a time: a
    /// manifest may have a million of them.
    ///
    /// # Errors
    /// If it is not a JSON document.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, JsonError> {
        let mut steps = LongPart::new(bytes.len());
        let mut artifacts = LongPart::new(bytes.len());
        let options = ReadOptions::default();
        let outline = parse_outline(bytes, &options, &LONG_LISTS, &mut |element| {
            let part = (element.node, element.start);
            let path = || format!("$.{}[{}]", LONG_LISTS[element.list], element.at);
            let keeping = &mut Keeping::InPlace;
            match element.list {
                STEPS => steps.add(|reading| read_step(reading, part, keeping, &path)),
                _ => artifacts.add(|reading| read_artifact(reading, part, keeping, &path)),
            }
        })?;
        let text = outline.text();
        let mut manifest = Self::assemble(outline, (steps, artifacts), text, bytes.len());
        manifest.computed_root = manifest.artifacts.as_deref().and_then(root_of);
        let both = manifest.steps.as_deref().zip(manifest.artifacts.as_deref());
        manifest.matching = both.and_then(|(steps, artifacts)| match_steps(steps, artifacts, text));
        Ok(manifest)
    }

    /// Makes a manifest from its outline and what was read of its long lists, in a text of `bytes`
    /// bytes. What is computed over those lists is left to the caller, who may have done so while
    /// streaming.
    fn assemble(
        outline: Outline<'a>,
        (steps, artifacts): (LongPart<'a, StepRecord>, LongPart<'a, ArtifactRecord>),
        texts: &'a str,
        bytes: usize,
    ) -> Self {
        let mut reading = Reading::default();
        if let Some(root) = outline.other_root() {
            let found = root.kind().with_article();
            reading.add(
                || "$".to_owned(),
                format!("expected an object, actual {found}"),
            );
            return Self::without_members(outline, reading.into_problems());
        }
        let top = |key: &'static str| move || format!("$.{key}");
        let field = |key: &str| outline.get(key);
        if let Some(version) = reading.text(field("bundle_version"), top("bundle_version"))
            && !version.as_str().is_some_and(is_known_version)
        {
            let found = version.to_lossy();
            reading.add(
                top("bundle_version"),
                format!("expected `5.N.N`, actual `{found}`"),
            );
        }
        let bundle_id = reading.digest(field("bundle_id"), top("bundle_id"));
        for key in ["run_id", "job_id", "message_id"] {
            reading.text(field(key), || format!("$.{key}"));
        }
        let plan_hash = reading.digest(field("plan_hash"), top("plan_hash"));
        let steps = steps.finish(&mut reading, &outline, STEPS, bytes);
        let mut inputs: [InputList; 3] = Default::default();
        if let Some(node) = reading.typed(field("inputs"), Kind::Object, top("inputs")) {
            for (list, name) in inputs.iter_mut().zip(INPUT_LISTS) {
                let place = format!("$.inputs.{name}");
                *list = read_texts(&mut reading, node.get(name), bytes, &place);
            }
        }
        let artifacts = artifacts.finish(&mut reading, &outline, ARTIFACTS, bytes);
        let root_hash = reading
            .typed(field("hashes"), Kind::Object, top("hashes"))
            .and_then(|node| {
                reading.digest(node.get("root_hash"), || "$.hashes.root_hash".to_owned())
            });
        reading.typed(field("provenance"), Kind::Object, top("provenance"));
        Self {
            problems: reading.into_problems(),
            bundle_id,
            plan_hash,
            root_hash,
            texts,
            inputs,
            computed_id: computed_id(&outline),
            computed_root: None,
            streamed_plan_hash: None,
            matching: None,
            steps,
            artifacts,
            outline,
        }
    }

    fn without_members(outline: Outline<'a>, problems: Vec<Problem>) -> Self {
        Self {
            outline,
            problems,
            bundle_id: None,
            plan_hash: None,
            root_hash: None,
            texts: "",
            steps: None,
            artifacts: None,
            inputs: Default::default(),
            computed_id: None,
            computed_root: None,
            streamed_plan_hash: None,
            matching: None,
        }
    }

    /// The steps, in the manifest's order; none if there is no list of them.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = Step<'_>> + Clone {
        let steps = self.steps.as_deref().unwrap_or_default();
        steps.iter().map(|step| Step::new(step, self.texts))
    }

    /// The artifacts, in the manifest's order; none if there is no list of them.
    pub fn artifacts(&self) -> impl ExactSizeIterator<Item = Artifact<'_>> + Clone {
        let artifacts = self.artifacts.as_deref().unwrap_or_default();
        artifacts
            .iter()
            .map(|artifact| Artifact::new(artifact, self.texts))
    }

    /// Whether there is a list of steps.
    pub fn has_steps(&self) -> bool {
        self.steps.is_some()
    }

    /// Whether there is a list of artifacts.
    pub fn has_artifacts(&self) -> bool {
        self.artifacts.is_some()
    }

    /// The strings of a list of `inputs`, by its place in [`INPUT_LISTS`].
    pub fn input_texts(&self, list: usize) -> impl Iterator<Item = Text<'a>> + Clone {
        let text = self.outline.text();
        let spans = self.inputs.get(list).into_iter();
        let spans = spans.flat_map(|list| &list.spans);
        spans.filter_map(move |span| span.text(text))
    }

    /// Whether that is a list of strings and nothing else.
    pub fn has_input_texts(&self, list: usize) -> bool {
        self.inputs.get(list).is_some_and(|list| list.is_whole)
    }

    /// A string at the top of the manifest.
    pub fn text(&self, key: &str) -> Option<Text<'_>> {
        Text::of(self.outline.get(key)?)
    }
}

/// What is kept of a long list while it is read.
struct LongPart<'a, T: Clone> {
    reading: Reading,
    found: Cow<'a, [T]>,
    most: usize,
}

impl<'a, T: Clone> LongPart<'a, T> {
    fn new(manifest_bytes: usize) -> Self {
        Self {
            reading: Reading::default(),
            found: Cow::default(),
            most: max_manifest_elements(manifest_bytes),
        }
    }

    /// A list that was read before, without faults.
    fn read_before(found: &'a [T]) -> Self {
        Self {
            reading: Reading::default(),
            found: Cow::Borrowed(found),
            most: found.len(),
        }
    }

    fn add(&mut self, read: impl FnOnce(&mut Reading) -> T) {
        // A list that is too long is reported as such, and its elements are dropped.
        if self.found.len() <= self.most {
            let read = read(&mut self.reading);
            self.found.to_mut().push(read);
        }
    }

    /// Returns what was found, if it is a list of a possible length, and appends its faults to those
    /// of `reading`.
    fn finish(
        self,
        reading: &mut Reading,
        outline: &Outline<'_>,
        name: usize,
        manifest_bytes: usize,
    ) -> Option<Cow<'a, [T]>> {
        let key = LONG_LISTS[name];
        let place = format!("$.{key}");
        let Some(list) = outline.list(name) else {
            // It is missing or not a list.
            reading.typed(outline.get(key), Kind::Array, || place);
            return None;
        };
        if is_too_long(reading, list.len(), manifest_bytes, &place) {
            return None;
        }
        reading.append(self.reading.problems);
        Some(self.found)
    }
}

/// The bundle id of §4.2.
fn computed_id(outline: &Outline<'_>) -> Option<Result<Digest, NoCanonicalForm>> {
    // A manifest as the builder writes it is hashed without parsing it again.
    if outline.is_stored_as_job("\n")
        && let Some(text) = outline.text().strip_suffix('\n')
    {
        return compute_stored_bundle_id(text, outline.get("bundle_id")?, outline.get("hashes")?)
            .map(Ok);
    }
    let whole = outline.parse_whole(&ReadOptions::default()).ok()?;
    compute_bundle_id(whole.root())
}

/// The root hash of the artifacts as declared.
fn root_of(artifacts: &[ArtifactRecord]) -> Option<Digest> {
    let pair = |artifact: &ArtifactRecord| Some((artifact.key?, artifact.sha256?));
    if artifacts.is_sorted_by_key(|artifact| artifact.key) {
        let is_whole = artifacts.iter().all(|artifact| pair(artifact).is_some());
        return is_whole.then(|| compute_root_hash(artifacts.iter().filter_map(pair)));
    }
    let mut pairs = artifacts.iter().map(pair).collect::<Option<Vec<_>>>()?;
    pairs.sort_by_key(|(key, _)| *key);
    Some(compute_root_hash(pairs))
}

/// Whether the text is `5.N.N`, with numbers without leading zeros.
fn is_known_version(text: &str) -> bool {
    let is_number = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|b| b.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'))
    };
    let mut parts = text.split('.');
    parts.next() == Some("5")
        && parts.next().is_some_and(is_number)
        && parts.next().is_some_and(is_number)
        && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_other_than_5_n_n_is_unknown() {
        for good in ["5.0.0", "5.10.7"] {
            assert!(is_known_version(good), "{good}");
        }
        for bad in [
            "5.0",
            "5.0.0.0",
            "5.00.0",
            "5.0.0-rc1",
            "4.0.0",
            "5.0.",
            "5.+1.0",
            " 5.0.0",
        ] {
            assert!(!is_known_version(bad), "{bad}");
        }
    }
}
