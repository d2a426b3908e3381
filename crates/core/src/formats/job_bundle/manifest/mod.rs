//! Reading `bundle.json` into what the rules ask for.
//!
//! The reading never stops at a fault: each one is kept as a [`Problem`] (check 2) and what is
//! sound is kept beside it, so that a missing field silences only the rules that need it.

mod pairs;
mod reading;
mod text;

pub use text::Text;

use super::facts::ArtifactKey;
use super::hashes::{compute_bundle_id, compute_root_hash};
use super::op::Op;
use crate::canon::{Document, Integer, Kind, NoCanonicalForm, Node};
use crate::digest::Digest;
use pairs::pairs_off;
use reading::{Reading, read_artifact, read_list, read_step};

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
    /// The whole step.
    pub node: Node<'a>,
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
    /// The whole entry.
    pub node: Node<'a>,
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
    /// The document's value.
    pub root: Node<'a>,
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

impl<'a> Manifest<'a> {
    /// Reads a manifest as far as it is sound.
    pub fn read(document: &'a Document<'_>) -> Self {
        let root = document.root();
        // A manifest as the builder writes it is hashed as it stands.
        let stored = document
            .text()
            .strip_suffix('\n')
            .filter(|_| document.is_stored_as_job("\n"));
        let mut reading = Reading {
            problems: Vec::new(),
        };
        let top = |key: &'static str| move || format!("$.{key}");
        let field = |key: &str| root.get(key);
        if root.kind() != Kind::Object {
            let found = root.kind().with_article();
            reading.add(
                || "$".to_owned(),
                format!("expected an object, actual {found}"),
            );
            return Self {
                root,
                problems: reading.problems,
                bundle_id: None,
                plan_hash: None,
                root_hash: None,
                steps: Vec::new(),
                artifacts: Vec::new(),
                inputs: Default::default(),
                computed_id: None,
                computed_root: None,
                pairs_off: false,
            };
        }
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
        let steps = read_list(&mut reading, field("steps"), "$.steps", read_step);
        let mut inputs: [Vec<Text<'a>>; 3] = Default::default();
        if let Some(node) = reading.typed(field("inputs"), Kind::Object, top("inputs")) {
            for (list, name) in inputs.iter_mut().zip(INPUT_LISTS) {
                let place = format!("$.inputs.{name}");
                let found = read_list(
                    &mut reading,
                    node.get(name),
                    &place,
                    |reading, item, path| reading.text(Some(item), path),
                );
                *list = found.into_iter().flatten().collect();
            }
        }
        let artifacts = read_list(
            &mut reading,
            field("artifacts"),
            "$.artifacts",
            read_artifact,
        );
        let root_hash = reading
            .typed(field("hashes"), Kind::Object, top("hashes"))
            .and_then(|node| {
                reading.digest(node.get("root_hash"), || "$.hashes.root_hash".to_owned())
            });
        reading.typed(field("provenance"), Kind::Object, top("provenance"));
        Self {
            root,
            problems: reading.problems,
            bundle_id,
            plan_hash,
            root_hash,
            inputs,
            computed_id: compute_bundle_id(root, stored),
            computed_root: root_of(&artifacts),
            pairs_off: pairs_off(&steps, &artifacts),
            steps,
            artifacts,
        }
    }

    /// A string at the top of the manifest.
    pub fn text(&self, key: &str) -> Option<Text<'a>> {
        self.root.get(key).and_then(Text::of)
    }
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
