//! Parses a receipt: every field with its type, every list in its order.
//!
//! Tables define the members of a receipt; a fault has its path in the receipt.

use std::borrow::Cow;

use crate::canon::{Integer, JsonPath, Kind, Node};
use crate::digest::Digest;
use crate::formats::job_bundle::facts::ArtifactKey;
use crate::formats::job_bundle::op::Op;
use crate::limits::{FINDINGS_A_RULE, max_manifest_elements};

use super::{EXECUTOR_VERSION, RECEIPT_VERSION, digest_receipt};

/// A fault of one receipt: its place, and a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The place within the receipt.
    pub path: JsonPath,
    /// What is wrong there.
    pub message: String,
}

/// A receipt, as far as it is sound.
#[derive(Debug)]
pub struct Receipt<'a> {
    /// The whole receipt.
    pub node: Node<'a>,
    /// Its index in a document that is a list; `None` if it is the document.
    pub element: Option<usize>,
    /// The file it was read from, if receipts come from several.
    pub file: Option<String>,
    /// Faults of type, value and order.
    pub problems: Vec<Problem>,
    /// The hash it states.
    pub receipt_hash: Option<Digest>,
    /// The hash of its content.
    pub computed_hash: Option<Digest>,
    /// The receipt before it; `None` if null or malformed.
    pub parent: Option<Digest>,
    /// Its index in the chain; `None` if null or malformed.
    pub index: Option<Integer<'a>>,
    /// Whether the parent is there: a digest or null.
    pub has_parent: bool,
    /// Whether the index is there: an integer or null.
    pub has_index: bool,
    /// Whether it has an attestation, sound or not.
    pub has_attestation: bool,
}

/// What a member of a receipt must be.
enum Wanted {
    Text,
    /// One of these strings.
    Word(&'static [&'static str]),
    /// 64 hex digits.
    Digest,
    Integer,
    /// An integer of 0 or more.
    Size,
    /// An object with these members.
    Record(&'static [(&'static str, Wanted)]),
    /// The same, or null.
    OrNull(&'static Wanted),
}

const OUTCOME: Wanted = Wanted::Word(&["SUCCESS", "FAILURE"]);
const ERROR: Wanted = Wanted::OrNull(&Wanted::Record(&[
    ("code", Wanted::Text),
    ("message", Wanted::Text),
    ("step_id", Wanted::OrNull(&Wanted::Text)),
]));
const RECEIPT: &[(&str, Wanted)] = &[
    ("receipt_version", Wanted::Word(&[RECEIPT_VERSION])),
    ("executor_version", Wanted::Word(&[EXECUTOR_VERSION])),
    ("outcome", OUTCOME),
    ("run_id", Wanted::Text),
    ("job_id", Wanted::Text),
    ("bundle_id", Wanted::Digest),
    ("plan_hash", Wanted::Digest),
    ("root_hash", Wanted::Digest),
    ("receipt_hash", Wanted::Digest),
    ("error", ERROR),
];
const STEP: &[(&str, Wanted)] = &[
    ("ordinal", Wanted::Integer),
    ("step_id", Wanted::Text),
    (
        "op",
        Wanted::Word(&[Op::ReadSymbol.name(), Op::ReadSection.name()]),
    ),
    ("outcome", OUTCOME),
    (
        "result",
        Wanted::OrNull(&Wanted::Record(&[
            ("content_hash", Wanted::Digest),
            ("bytes", Wanted::Size),
        ])),
    ),
    ("error", ERROR),
];
const ARTIFACT: &[(&str, Wanted)] = &[
    ("artifact_id", Wanted::Text),
    ("sha256", Wanted::Digest),
    ("bytes", Wanted::Size),
];

/// The current place. The steps are on the stack; a path is built only for a fault.
#[derive(Clone, Copy)]
enum At<'p> {
    Receipt,
    Member(&'p At<'p>, &'static str),
    Element(&'p At<'p>, usize),
}

impl At<'_> {
    fn to_path(self) -> JsonPath {
        match self {
            Self::Receipt => JsonPath::ROOT,
            Self::Member(parent, name) => parent.to_path().then(name),
            Self::Element(parent, at) => parent.to_path().then(at),
        }
    }
}

struct Reading {
    problems: Vec<Problem>,
}

impl Reading {
    /// Adds a fault, up to as many as a rule lists; the last one says that there are more.
    fn add(&mut self, at: At<'_>, message: impl Into<String>) {
        let (path, message) = match FINDINGS_A_RULE.saturating_sub(self.problems.len()) {
            0 => return,
            1 => (
                JsonPath::ROOT,
                format!(
                    "there are more faults, which are not listed: the limit is {FINDINGS_A_RULE}"
                ),
            ),
            _ => (at.to_path(), message.into()),
        };
        self.problems.push(Problem { path, message });
    }

    fn kind<'a>(&mut self, value: Option<Node<'a>>, kind: Kind, at: At<'_>) -> Option<Node<'a>> {
        match value {
            Some(node) if node.kind() == kind => Some(node),
            other => {
                let found = other.map_or("nothing", |node| node.kind().with_article());
                self.add(
                    at,
                    format!("expected {}, actual {found}", kind.with_article()),
                );
                None
            }
        }
    }

    fn digest(&mut self, value: Option<Node<'_>>, at: At<'_>) {
        if let Some(node) = self.kind(value, Kind::String, at)
            && let Err(error) = Digest::parse_hex(&node.as_lossy_str().unwrap_or_default())
        {
            self.add(at, error.to_string());
        }
    }

    fn integer<'a>(&mut self, value: Option<Node<'a>>, at: At<'_>) -> Option<Integer<'a>> {
        let number = self.kind(value, Kind::Number, at)?.as_number()?;
        if number.as_integer().is_none() {
            self.add(
                at,
                format!("expected an integer, actual `{}`", number.text()),
            );
        }
        number.as_integer()
    }

    fn check(&mut self, value: Option<Node<'_>>, wanted: &'static Wanted, at: At<'_>) {
        match wanted {
            Wanted::Text => {
                self.kind(value, Kind::String, at);
            }
            Wanted::Word(known) => {
                if let Some(node) = self.kind(value, Kind::String, at) {
                    let text = node.as_lossy_str().unwrap_or_default();
                    if !known.contains(&&*text) {
                        let known = known.join(" or ");
                        self.add(at, format!("expected {known}, actual `{text}`"));
                    }
                }
            }
            Wanted::Digest => self.digest(value, at),
            Wanted::Integer => {
                self.integer(value, at);
            }
            Wanted::Size => {
                let size = self.integer(value, at);
                if size.is_some_and(|size| size.is_negative()) {
                    self.add(at, "expected a size of 0 or more");
                }
            }
            Wanted::Record(members) => {
                if let Some(node) = self.kind(value, Kind::Object, at) {
                    self.check_members(node, members, at);
                }
            }
            Wanted::OrNull(wanted) => {
                if !value.is_some_and(|node| node.is_null()) {
                    self.check(value, wanted, at);
                }
            }
        }
    }

    fn check_members(
        &mut self,
        node: Node<'_>,
        members: &'static [(&'static str, Wanted)],
        at: At<'_>,
    ) {
        for (name, wanted) in members {
            self.check(node.get(name), wanted, At::Member(&at, name));
        }
    }

    /// Checks a list of objects with these members; `key` returns what must ascend.
    fn check_list<'a, K: PartialOrd>(
        &mut self,
        list: Node<'a>,
        members: &'static [(&'static str, Wanted)],
        at: At<'_>,
        (key, not_ascending): (impl Fn(Node<'a>) -> Option<K>, &str),
    ) {
        let mut before: Option<K> = None;
        for (index, node) in list.items().enumerate() {
            let at = At::Element(&at, index);
            if self.kind(Some(node), Kind::Object, at).is_none() {
                continue;
            }
            self.check_members(node, members, at);
            let key = key(node);
            if let (Some(before), Some(key)) = (&before, &key)
                && before >= key
            {
                self.add(at, not_ascending);
            }
            before = key.or(before);
        }
    }
}

fn digest_of(node: Option<Node<'_>>) -> Option<Digest> {
    Digest::parse_hex(&node?.as_lossy_str()?).ok()
}

fn step_key(step: Node<'_>) -> Option<(Integer<'_>, Cow<'_, str>)> {
    let ordinal = step.get("ordinal")?.as_number()?.as_integer()?;
    Some((ordinal, step.get("step_id")?.as_lossy_str()?))
}

fn artifact_key(artifact: Node<'_>) -> Option<ArtifactKey> {
    ArtifactKey::parse(artifact.get("artifact_id")?.as_lossy_str()?.as_bytes())
}

impl<'a> Receipt<'a> {
    /// Parses the receipts of a document, which is one or a list of them.
    pub fn read_all(root: Node<'a>) -> Vec<Self> {
        if root.kind() != Kind::Array {
            return vec![Self::read(root)];
        }
        let element = |(at, node)| Self {
            element: Some(at),
            ..Self::read(node)
        };
        root.items().enumerate().map(element).collect()
    }

    /// Parses a receipt as far as it is sound.
    pub fn read(node: Node<'a>) -> Self {
        let mut reading = Reading {
            problems: Vec::new(),
        };
        let mut receipt = Self {
            node,
            element: None,
            file: None,
            problems: Vec::new(),
            receipt_hash: None,
            computed_hash: None,
            parent: None,
            index: None,
            has_parent: false,
            has_index: false,
            has_attestation: false,
        };
        if reading
            .kind(Some(node), Kind::Object, At::Receipt)
            .is_some()
        {
            receipt.fill(node, &mut reading);
        }
        receipt.problems = reading.problems;
        receipt
    }

    fn fill(&mut self, node: Node<'a>, reading: &mut Reading) {
        let field = |key: &str| node.get(key);
        let at = |key: &'static str| At::Member(&At::Receipt, key);
        let most = max_manifest_elements(node.document_bytes());
        for key in ["steps", "artifacts"] {
            let count = field(key).map_or(0, |list| list.items().len());
            if count > most {
                let message = format!(
                    "there are {count} elements, more than {most}, the limit for a receipt of \
                     this size"
                );
                return reading.add(at(key), message);
            }
        }
        reading.check_members(node, RECEIPT, At::Receipt);
        self.receipt_hash = digest_of(field("receipt_hash"));
        if let Some(steps) = reading.kind(field("steps"), Kind::Array, at("steps")) {
            read_steps(steps, reading);
        }
        if let Some(artifacts) = reading.kind(field("artifacts"), Kind::Array, at("artifacts")) {
            read_artifacts(artifacts, reading);
        }
        match digest_receipt(node) {
            Ok(digest) => self.computed_hash = Some(digest),
            Err(error) => reading.add(At::Receipt, format!("no canonical form: {error}")),
        }
        let present = |key: &str| field(key).filter(|value| !value.is_null());
        for key in ["parent_receipt_hash", "attestation", "receipt_index"] {
            if field(key).is_none() {
                reading.add(at(key), "the field is missing");
            }
        }
        if let Some(parent) = present("parent_receipt_hash") {
            reading.digest(Some(parent), at("parent_receipt_hash"));
            self.parent = digest_of(Some(parent));
        }
        if let Some(index) = present("receipt_index") {
            self.index = reading.integer(Some(index), at("receipt_index"));
            if self.index.is_some_and(|index| index.is_negative()) {
                reading.add(at("receipt_index"), "expected 0 or more");
            }
        }
        let is_null = |key: &str| field(key).is_some_and(|value| value.is_null());
        self.has_parent = self.parent.is_some() || is_null("parent_receipt_hash");
        self.has_index = self.index.is_some() || is_null("receipt_index");
        if let Some(attestation) = present("attestation") {
            self.has_attestation = true;
            reading.kind(Some(attestation), Kind::Object, at("attestation"));
        }
    }
}

fn read_steps(steps: Node<'_>, reading: &mut Reading) {
    let not_ascending = "the steps do not ascend by (ordinal, step_id)";
    let at = At::Member(&At::Receipt, "steps");
    reading.check_list(steps, STEP, at, (step_key, not_ascending));
}

fn read_artifacts(artifacts: Node<'_>, reading: &mut Reading) {
    let not_ascending = "the artifacts do not ascend by artifact_id";
    let at = At::Member(&At::Receipt, "artifacts");
    reading.check_list(artifacts, ARTIFACT, at, (artifact_key, not_ascending));
    for (index, artifact) in artifacts.items().enumerate() {
        let is_text = artifact.get("artifact_id").is_some_and(|id| id.is_string());
        if is_text && artifact_key(artifact).is_none() {
            let element = At::Element(&at, index);
            let message = "expected 16 lower-case hex digits";
            reading.add(At::Member(&element, "artifact_id"), message);
        }
    }
}
