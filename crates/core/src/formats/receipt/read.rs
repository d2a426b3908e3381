//! Reading a receipt: every field with its type, every list in its order.

use crate::canon::{Integer, Kind, Node};
use crate::digest::Digest;
use crate::formats::job_bundle::facts::ArtifactKey;
use crate::formats::job_bundle::op::Op;
use crate::limits::{FINDINGS_A_RULE, max_manifest_elements};

use super::{EXECUTOR_VERSION, RECEIPT_VERSION, compute_receipt_hash};

/// A fault of one receipt: where, and what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The place within the receipt, beginning with `.`, or empty for the whole.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

/// A receipt as far as it is sound.
#[derive(Debug)]
pub struct Receipt<'a> {
    /// The whole receipt.
    pub node: Node<'a>,
    /// Faults of type, value and order.
    pub problems: Vec<Problem>,
    /// The hash it states.
    pub receipt_hash: Option<Digest>,
    /// The hash its content has.
    pub computed_hash: Option<Digest>,
    /// The receipt before it; `None` where it is null or broken.
    pub parent: Option<Digest>,
    /// Its place in the chain; `None` where it is null or broken.
    pub index: Option<Integer<'a>>,
    /// Whether it carries an attestation, sound or not.
    pub has_attestation: bool,
}

struct Reading {
    problems: Vec<Problem>,
}

impl Reading {
    /// Adds a fault, up to as many as a rule lists; the last one says that there are more.
    fn add(&mut self, path: &str, message: impl Into<String>) {
        if self.problems.len() >= FINDINGS_A_RULE {
            return;
        }
        if self.problems.len() == FINDINGS_A_RULE - 1 {
            self.problems.push(Problem {
                path: String::new(),
                message: format!(
                    "there are more faults, which are not listed: the limit is {FINDINGS_A_RULE}"
                ),
            });
            return;
        }
        self.problems.push(Problem {
            path: path.to_owned(),
            message: message.into(),
        });
    }

    fn kind<'a>(&mut self, value: Option<Node<'a>>, kind: Kind, path: &str) -> Option<Node<'a>> {
        match value {
            Some(node) if node.kind() == kind => Some(node),
            other => {
                let found = other.map_or("nothing", |node| node.kind().with_article());
                self.add(
                    path,
                    format!("expected {}, actual {found}", kind.with_article()),
                );
                None
            }
        }
    }

    fn one_of(&mut self, value: Option<Node<'_>>, known: &[&str], path: &str) {
        if let Some(node) = self.kind(value, Kind::String, path) {
            let text = node.as_lossy_str().unwrap_or_default();
            if !known.contains(&&*text) {
                self.add(
                    path,
                    format!("expected {}, actual `{text}`", known.join(" or ")),
                );
            }
        }
    }

    fn digest(&mut self, value: Option<Node<'_>>, path: &str) -> Option<Digest> {
        let node = self.kind(value, Kind::String, path)?;
        match Digest::parse_hex(&node.as_lossy_str().unwrap_or_default()) {
            Ok(digest) => Some(digest),
            Err(error) => {
                self.add(path, error.to_string());
                None
            }
        }
    }

    fn integer<'a>(&mut self, value: Option<Node<'a>>, path: &str) -> Option<Integer<'a>> {
        let number = self.kind(value, Kind::Number, path)?.as_number()?;
        if number.as_integer().is_none() {
            self.add(
                path,
                format!("expected an integer, actual `{}`", number.text()),
            );
        }
        number.as_integer()
    }

    fn size(&mut self, value: Option<Node<'_>>, path: &str) {
        if self
            .integer(value, path)
            .is_some_and(|size| size.is_negative())
        {
            self.add(path, "expected a size of 0 or more");
        }
    }

    /// `error`: null, or {code, message, step_id}.
    fn error(&mut self, value: Option<Node<'_>>, path: &str) {
        if value.is_some_and(|node| node.is_null()) {
            return;
        }
        if let Some(node) = self.kind(value, Kind::Object, path) {
            for member in ["code", "message"] {
                self.kind(node.get(member), Kind::String, &format!("{path}.{member}"));
            }
            if !node.get("step_id").is_some_and(|id| id.is_null()) {
                self.kind(
                    node.get("step_id"),
                    Kind::String,
                    &format!("{path}.step_id"),
                );
            }
        }
    }
}

impl<'a> Receipt<'a> {
    /// Reads a receipt as far as it is sound.
    pub fn read(node: Node<'a>) -> Self {
        let mut reading = Reading {
            problems: Vec::new(),
        };
        let mut receipt = Self {
            node,
            problems: Vec::new(),
            receipt_hash: None,
            computed_hash: None,
            parent: None,
            index: None,
            has_attestation: false,
        };
        if reading.kind(Some(node), Kind::Object, "").is_some() {
            receipt.fill(node, &mut reading);
        }
        receipt.problems = reading.problems;
        receipt
    }

    fn fill(&mut self, node: Node<'a>, reading: &mut Reading) {
        let field = |key: &str| node.get(key);
        let most = max_manifest_elements(node.document_bytes());
        for key in ["steps", "artifacts"] {
            let count = field(key).map_or(0, |list| list.items().len());
            if count > most {
                let message = format!(
                    "there are {count} elements, more than {most}, the limit for a receipt of \
                     this size"
                );
                return reading.add(&format!(".{key}"), message);
            }
        }
        reading.one_of(
            field("receipt_version"),
            &[RECEIPT_VERSION],
            ".receipt_version",
        );
        reading.one_of(
            field("executor_version"),
            &[EXECUTOR_VERSION],
            ".executor_version",
        );
        reading.one_of(field("outcome"), &["SUCCESS", "FAILURE"], ".outcome");
        for key in ["run_id", "job_id"] {
            reading.kind(field(key), Kind::String, &format!(".{key}"));
        }
        for key in ["bundle_id", "plan_hash", "root_hash"] {
            reading.digest(field(key), &format!(".{key}"));
        }
        reading.error(field("error"), ".error");
        if let Some(steps) = reading.kind(field("steps"), Kind::Array, ".steps") {
            read_steps(steps, reading);
        }
        if let Some(artifacts) = reading.kind(field("artifacts"), Kind::Array, ".artifacts") {
            read_artifacts(artifacts, reading);
        }
        self.receipt_hash = reading.digest(field("receipt_hash"), ".receipt_hash");
        match compute_receipt_hash(&node.to_value()) {
            Ok(digest) => self.computed_hash = Some(digest),
            Err(error) => reading.add("", format!("no canonical form: {error}")),
        }
        let present = |key: &str| field(key).filter(|value| !value.is_null());
        for key in ["parent_receipt_hash", "attestation", "receipt_index"] {
            if field(key).is_none() {
                reading.add(&format!(".{key}"), "the field is missing");
            }
        }
        if let Some(parent) = present("parent_receipt_hash") {
            self.parent = reading.digest(Some(parent), ".parent_receipt_hash");
        }
        if let Some(index) = present("receipt_index") {
            self.index = reading.integer(Some(index), ".receipt_index");
            if self.index.is_some_and(|index| index.is_negative()) {
                reading.add(".receipt_index", "expected 0 or more");
            }
        }
        if let Some(attestation) = present("attestation") {
            self.has_attestation = true;
            reading.kind(Some(attestation), Kind::Object, ".attestation");
        }
    }
}

fn read_steps(steps: Node<'_>, reading: &mut Reading) {
    let mut before: Option<(Integer<'_>, std::borrow::Cow<'_, str>)> = None;
    for (at, step) in steps.items().enumerate() {
        let place = format!(".steps[{at}]");
        if reading.kind(Some(step), Kind::Object, &place).is_none() {
            continue;
        }
        let path = |key: &str| format!("{place}.{key}");
        let ordinal = reading.integer(step.get("ordinal"), &path("ordinal"));
        let step_id = reading.kind(step.get("step_id"), Kind::String, &path("step_id"));
        let ops = [Op::ReadSymbol.name(), Op::ReadSection.name()];
        reading.one_of(step.get("op"), &ops, &path("op"));
        reading.one_of(
            step.get("outcome"),
            &["SUCCESS", "FAILURE"],
            &path("outcome"),
        );
        match step.get("result") {
            Some(result) if result.is_null() => {}
            result => {
                if let Some(result) = reading.kind(result, Kind::Object, &path("result")) {
                    reading.digest(result.get("content_hash"), &path("result.content_hash"));
                    reading.size(result.get("bytes"), &path("result.bytes"));
                }
            }
        }
        reading.error(step.get("error"), &path("error"));
        let key = ordinal.zip(step_id.and_then(|id| id.as_lossy_str()));
        if let (Some(before), Some(key)) = (&before, &key)
            && before >= key
        {
            reading.add(&place, "the steps do not ascend by (ordinal, step_id)");
        }
        before = key;
    }
}

fn read_artifacts(artifacts: Node<'_>, reading: &mut Reading) {
    let mut before: Option<ArtifactKey> = None;
    for (at, artifact) in artifacts.items().enumerate() {
        let place = format!(".artifacts[{at}]");
        if reading.kind(Some(artifact), Kind::Object, &place).is_none() {
            continue;
        }
        let path = |key: &str| format!("{place}.{key}");
        let id = reading.kind(
            artifact.get("artifact_id"),
            Kind::String,
            &path("artifact_id"),
        );
        let key = id.and_then(|id| ArtifactKey::parse(id.as_lossy_str()?.as_bytes()));
        if id.is_some() && key.is_none() {
            reading.add(&path("artifact_id"), "expected 16 lower-case hex digits");
        }
        reading.digest(artifact.get("sha256"), &path("sha256"));
        reading.size(artifact.get("bytes"), &path("bytes"));
        if before.is_some() && key.is_some() && before >= key {
            reading.add(&place, "the artifacts do not ascend by artifact_id");
        }
        before = key;
    }
}
