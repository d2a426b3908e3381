//! Reading `bundle.json` into what the rules ask for.
//!
//! The reading never stops at a fault: each one is kept as a [`Problem`] (check 2) and what is
//! sound is kept beside it, so that a missing field silences only the rules that need it.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::facts::ArtifactKey;
use super::hashes::{STEP_FIELDS, compute_bundle_id, compute_root_hash};
use crate::canon::{Document, Integer, JsonString, Kind, NoCanonicalForm, Node};
use crate::digest::{Digest, Hasher, decode_lower_hex};

/// A fault of the schema: where in the manifest, and what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The place, as `$.steps[0].op`.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

/// A string of the manifest. Ordered by code point.
#[derive(Clone, Debug)]
pub enum Text<'a> {
    /// Ordinary text.
    Plain(Cow<'a, str>),
    /// Text with a lone surrogate, which JSON can write and UTF-8 cannot.
    Lone(JsonString),
}

impl<'a> Text<'a> {
    fn of(node: Node<'a>) -> Option<Self> {
        match node.as_str() {
            Some(text) => Some(Self::Plain(text)),
            None => node.as_json_string().map(Self::Lone),
        }
    }

    /// The text, if UTF-8 can hold it.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Plain(text) => Some(text),
            Self::Lone(_) => None,
        }
    }

    /// The text for messages.
    pub fn to_lossy(&self) -> Cow<'_, str> {
        match self {
            Self::Plain(text) => Cow::Borrowed(text),
            Self::Lone(text) => Cow::Owned(text.to_lossy()),
        }
    }
}

impl Ord for Text<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            // UTF-8 orders like code points.
            (Self::Plain(a), Self::Plain(b)) => a.cmp(b),
            (Self::Lone(a), Self::Lone(b)) => a.cmp(b),
            (Self::Plain(a), Self::Lone(b)) => JsonString::from(&**a).cmp(b),
            (Self::Lone(a), Self::Plain(b)) => a.cmp(&JsonString::from(&**b)),
        }
    }
}

impl PartialOrd for Text<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Text<'_> {}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Reads what a symbol stands for.
    ReadSymbol,
    /// Reads a section by its id.
    ReadSection,
}

impl Op {
    /// From its name.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "READ_SYMBOL" => Some(Self::ReadSymbol),
            "READ_SECTION" => Some(Self::ReadSection),
            _ => None,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadSymbol => "READ_SYMBOL",
            Self::ReadSection => "READ_SECTION",
        }
    }

    /// The member of `refs` that names what is read.
    pub const fn ref_key(self) -> &'static str {
        match self {
            Self::ReadSymbol => "symbol_id",
            Self::ReadSection => "section_id",
        }
    }

    /// The kind of the artifact it gives.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::ReadSymbol => "SYMBOL_SLICE",
            Self::ReadSection => "SECTION_SLICE",
        }
    }
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

/// Collects faults while reading.
struct Reading {
    problems: Vec<Problem>,
}

impl Reading {
    fn add(&mut self, path: impl FnOnce() -> String, message: String) {
        self.problems.push(Problem {
            path: path(),
            message,
        });
    }

    fn typed<'a>(
        &mut self,
        value: Option<Node<'a>>,
        kind: Kind,
        path: impl FnOnce() -> String,
    ) -> Option<Node<'a>> {
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

    fn text<'a>(
        &mut self,
        value: Option<Node<'a>>,
        path: impl FnOnce() -> String,
    ) -> Option<Text<'a>> {
        self.typed(value, Kind::String, path).and_then(Text::of)
    }

    fn digest(&mut self, value: Option<Node<'_>>, path: impl Fn() -> String) -> Option<Digest> {
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

    fn integer<'a>(
        &mut self,
        value: Option<Node<'a>>,
        path: impl Fn() -> String,
    ) -> Option<Integer<'a>> {
        let number = self.typed(value, Kind::Number, &path)?.as_number()?;
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

/// The members of an object that are named in `names`, which are sorted. One pass over both:
/// a manifest may have a million members, and looking up each by itself would take longer than
/// parsing them did.
fn fields<'a, const N: usize>(object: Node<'a>, names: [&str; N]) -> [Option<Node<'a>>; N] {
    let mut found = [None; N];
    let mut at = 0;
    for (key, value) in object.members() {
        let Some(key) = key.as_str() else { continue };
        // In a sound object this is the next name, every time.
        while at < N && names[at] != key {
            if names[at] > &*key {
                break;
            }
            at += 1;
        }
        if at < N && names[at] == key {
            found[at] = Some(value);
            at += 1;
        }
    }
    found
}

fn read_list<'a, T>(
    reading: &mut Reading,
    value: Option<Node<'a>>,
    place: &str,
    mut read: impl FnMut(&mut Reading, Node<'a>, &dyn Fn() -> String) -> T,
) -> Vec<T> {
    let Some(list) = reading.typed(value, Kind::Array, || place.to_owned()) else {
        return Vec::new();
    };
    let items = list.items().enumerate();
    items
        .map(|(at, item)| read(reading, item, &|| format!("{place}[{at}]")))
        .collect()
}

fn read_step<'a>(reading: &mut Reading, node: Node<'a>, path: &dyn Fn() -> String) -> Step<'a> {
    let mut step = Step {
        node,
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
    let [constraints, outputs, op, ordinal, refs, step_id] = fields(node, STEP_FIELDS);
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

fn read_artifact<'a>(
    reading: &mut Reading,
    node: Node<'a>,
    path: &dyn Fn() -> String,
) -> Artifact<'a> {
    let mut artifact = Artifact {
        node,
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
    let [id, bytes, kind, place, reference, sha256, slice] = fields(node, ARTIFACT_FIELDS);
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

/// The root hash of the artifacts as declared.
fn root_of(artifacts: &[Artifact<'_>]) -> Option<Digest> {
    let pair = |artifact: &Artifact<'_>| Some((artifact.key?, artifact.sha256?));
    let mut pairs = artifacts.iter().map(pair).collect::<Option<Vec<_>>>()?;
    if !pairs.is_sorted_by_key(|(key, _)| *key) {
        pairs.sort_by_key(|(key, _)| *key);
    }
    Some(compute_root_hash(pairs))
}

/// Whether steps and artifacts name the same pairs of ref and slice. Compared by digests of the
/// pairs, which are small and lie together: comparing a hundred thousand texts would go all over
/// the memory. Anything that does not pair off takes the long way and is told in full.
fn pairs_off(steps: &[Step<'_>], artifacts: &[Artifact<'_>]) -> bool {
    let steps = steps.iter().map(|step| (&step.reference, &step.slice));
    let artifacts = artifacts
        .iter()
        .map(|artifact| (&artifact.reference, &artifact.slice));
    match (pair_digests(steps), pair_digests(artifacts)) {
        (Some(read), Some(held)) => read == held,
        _ => false,
    }
}

/// The digests of all pairs, sorted, each once; `None` where a pair is not whole.
fn pair_digests<'t, 'a: 't>(
    pairs: impl Iterator<Item = (&'t Option<Text<'a>>, &'t Option<Text<'a>>)>,
) -> Option<Vec<Digest>> {
    let digest = |(reference, slice): (&Option<Text<'_>>, &Option<Text<'_>>)| {
        let (Some(Text::Plain(reference)), Some(Text::Plain(slice))) = (reference, slice) else {
            return None;
        };
        let mut hasher = Hasher::new();
        // The length tells where one text ends and the other begins.
        hasher.update(&(reference.len() as u64).to_le_bytes());
        hasher.update(reference.as_bytes());
        hasher.update(slice.as_bytes());
        Some(hasher.finish())
    };
    let mut digests = pairs.map(digest).collect::<Option<Vec<_>>>()?;
    digests.sort_unstable();
    digests.dedup();
    Some(digests)
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
