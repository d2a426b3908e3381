//! Reading `bundle.json` into what the rules ask for.
//!
//! The reading never stops at a fault: each one is kept as a [`Problem`] (check 2) and what is
//! sound is kept beside it, so that a missing field silences only the rules that need it.

mod pairs;
mod reading;
mod text;

pub use text::Text;

use super::facts::ArtifactKey;
use super::hashes::{compute_bundle_id, compute_root_hash, compute_stored_bundle_id};
use super::op::Op;
use crate::canon::{
    Integer, JsonError, Kind, NoCanonicalForm, Node, Outline, ReadOptions, parse_outline,
};
use crate::digest::Digest;
use crate::limits::max_manifest_elements;
use pairs::pairs_off;
use reading::{Reading, is_too_long, read_artifact, read_step, read_texts};

/// A fault of the schema: where in the manifest, and what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The place, as `$.steps[0].op`.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

/// A step; what is missing or mistyped is `None`.
#[derive(Clone, Debug)]
pub struct Step<'a> {
    /// Where it begins in the manifest's text.
    pub start: usize,
    /// Its id.
    pub step_id: Option<Text<'a>>,
    /// Its place.
    pub ordinal: Option<Integer<'a>>,
    /// What it does.
    pub op: Option<Op>,
    /// What it reads.
    pub reference: Option<Text<'a>>,
    /// Which part of it.
    pub slice: Option<Text<'a>>,
}

/// An artifact's entry; what is missing or mistyped is `None`.
#[derive(Clone, Debug)]
pub struct Artifact<'a> {
    /// Where it begins in the manifest's text.
    pub start: usize,
    /// Its id as text, well formed or not.
    pub artifact_id: Option<Text<'a>>,
    /// Its id, if well formed.
    pub key: Option<ArtifactKey>,
    /// The op whose kind it states.
    pub kind: Option<Op>,
    /// What was read.
    pub reference: Option<Text<'a>>,
    /// Which part of it.
    pub slice: Option<Text<'a>>,
    /// Where its file is said to be.
    pub path: Option<Text<'a>>,
    /// The digest its file is said to have.
    pub sha256: Option<Digest>,
    /// The size its file is said to have.
    pub bytes: Option<Integer<'a>>,
    /// Whether the path is the one place where this artifact may be: `artifacts/<id>.txt`.
    pub is_in_place: bool,
}

impl Artifact<'_> {
    fn find_in_place(&self) -> bool {
        match (&self.path, &self.artifact_id, self.key) {
            (Some(Text::Plain(path)), Some(Text::Plain(id)), Some(_)) => path
                .strip_prefix("artifacts/")
                .and_then(|name| name.strip_suffix(".txt"))
                .is_some_and(|name| name == id),
            _ => false,
        }
    }

    /// The path for messages.
    pub fn path_text(&self) -> String {
        self.path
            .as_ref()
            .map(|path| path.to_lossy().into_owned())
            .unwrap_or_default()
    }
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
    /// The steps.
    pub steps: Vec<Step<'a>>,
    /// The artifacts.
    pub artifacts: Vec<Artifact<'a>>,
    /// `inputs.symbols`, `inputs.files`, `inputs.slices`.
    pub inputs: [Vec<Text<'a>>; 3],
    /// The bundle id of §4.2, where it can be computed.
    pub computed_id: Option<Result<Digest, NoCanonicalForm>>,
    /// The root hash of §4.1, where every artifact has an id and a hash.
    pub computed_root: Option<Digest>,
    /// Whether the steps read exactly what the artifacts hold, by ref and slice.
    pub pairs_off: bool,
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

/// The lists of `inputs`, in the order of [`Manifest::inputs`].
pub const INPUT_LISTS: [&str; 3] = ["symbols", "files", "slices"];

/// The lists that are as long as the bundle has artifacts.
const LONG_LISTS: [&str; 2] = ["steps", "artifacts"];
const STEPS: usize = 0;
const ARTIFACTS: usize = 1;

impl<'a> Manifest<'a> {
    /// Reads a manifest as far as it is sound. Steps and artifacts are looked at as they pass by: a manifest may have
    /// a million of them.
    ///
    /// # Errors
    /// When it is no JSON document.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, JsonError> {
        // Every text is that of the document or the reader refuses it.
        let text = str::from_utf8(bytes).unwrap_or_default();
        let mut steps = LongPart::new(text);
        let mut artifacts = LongPart::new(text);
        let options = ReadOptions::default();
        let outline = parse_outline(bytes, &options, &LONG_LISTS, &mut |element| {
            let part = (element.node, element.start);
            let path = || format!("$.{}[{}]", LONG_LISTS[element.list], element.at);
            match element.list {
                STEPS => steps.add(|reading| read_step(reading, part, &path)),
                _ => artifacts.add(|reading| read_artifact(reading, part, &path)),
            }
        })?;
        let mut reading = Reading::new(outline.text());
        if let Some(root) = outline.other_root() {
            let found = root.kind().with_article();
            reading.add(
                || "$".to_owned(),
                format!("expected an object, actual {found}"),
            );
            return Ok(Self::without_members(outline, reading.into_problems()));
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
        let steps = steps.finish(&mut reading, &outline, STEPS);
        let mut inputs: [Vec<Text<'a>>; 3] = Default::default();
        if let Some(node) = reading.typed(field("inputs"), Kind::Object, top("inputs")) {
            for (list, name) in inputs.iter_mut().zip(INPUT_LISTS) {
                let place = format!("$.inputs.{name}");
                *list = read_texts(&mut reading, node.get(name), &place);
            }
        }
        let artifacts = artifacts.finish(&mut reading, &outline, ARTIFACTS);
        let root_hash = reading
            .typed(field("hashes"), Kind::Object, top("hashes"))
            .and_then(|node| {
                reading.digest(node.get("root_hash"), || "$.hashes.root_hash".to_owned())
            });
        reading.typed(field("provenance"), Kind::Object, top("provenance"));
        Ok(Self {
            problems: reading.into_problems(),
            bundle_id,
            plan_hash,
            root_hash,
            inputs,
            computed_id: computed_id(&outline),
            computed_root: root_of(&artifacts),
            pairs_off: pairs_off(&steps, &artifacts),
            steps,
            artifacts,
            outline,
        })
    }

    fn without_members(outline: Outline<'a>, problems: Vec<Problem>) -> Self {
        Self {
            outline,
            problems,
            bundle_id: None,
            plan_hash: None,
            root_hash: None,
            steps: Vec::new(),
            artifacts: Vec::new(),
            inputs: Default::default(),
            computed_id: None,
            computed_root: None,
            pairs_off: false,
        }
    }

    /// A string at the top of the manifest.
    pub fn text(&self, key: &str) -> Option<Text<'a>> {
        let node = self.outline.get(key).filter(Node::is_string)?;
        Text::of(node, self.outline.text())
    }
}

/// What is read of a long list while it passes by.
struct LongPart<'a, T> {
    reading: Reading<'a>,
    found: Vec<T>,
    most: usize,
}

impl<'a, T> LongPart<'a, T> {
    fn new(text: &'a str) -> Self {
        Self {
            reading: Reading::new(text),
            found: Vec::new(),
            most: max_manifest_elements(text.len()),
        }
    }

    fn add(&mut self, read: impl FnOnce(&mut Reading<'a>) -> T) {
        // A list that is too long is told as that and nothing is made of it.
        if self.found.len() <= self.most {
            let read = read(&mut self.reading);
            self.found.push(read);
        }
    }

    /// What was found, with its faults behind those that `reading` has.
    fn finish(self, reading: &mut Reading<'a>, outline: &Outline<'a>, name: usize) -> Vec<T> {
        let key = LONG_LISTS[name];
        let place = format!("$.{key}");
        let Some(list) = outline.list(name) else {
            // It is missing or no list.
            reading.typed(outline.get(key), Kind::Array, || place);
            return Vec::new();
        };
        if is_too_long(reading, list.len(), &place) {
            return Vec::new();
        }
        reading.append(self.reading.problems);
        self.found
    }
}

/// The bundle id of §4.2.
fn computed_id(outline: &Outline<'_>) -> Option<Result<Digest, NoCanonicalForm>> {
    // A manifest as the builder writes it is hashed as it stands.
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
fn root_of(artifacts: &[Artifact<'_>]) -> Option<Digest> {
    let pair = |artifact: &Artifact<'_>| Some((artifact.key?, artifact.sha256?));
    let mut pairs = artifacts.iter().map(pair).collect::<Option<Vec<_>>>()?;
    if !pairs.is_sorted_by_key(|(key, _)| *key) {
        pairs.sort_by_key(|(key, _)| *key);
    }
    Some(compute_root_hash(pairs))
}

/// `5.N.N`, numbers without leading zeros, nothing after them.
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
    fn version_other_than_five_n_n_is_unknown() {
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
