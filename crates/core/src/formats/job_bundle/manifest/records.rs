//! What is kept of a step or an artifact: spans of a text, so that a hundred thousand of them take
//! little memory.
//!
//! The text is the manifest's own or, if the manifest was streamed, one with only what the rules
//! need. [`Step`] and [`Artifact`] decode a field on demand.

use super::Text;
use crate::canon::{Integer, JsonString, Node, Number};
use crate::digest::Digest;
use crate::formats::job_bundle::facts::ArtifactKey;
use crate::formats::job_bundle::op::Op;

/// The span of a string or number in a text, or nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    start: u32,
    /// The length, and in the lowest bit whether the string has escapes.
    mark: u32,
}

impl Span {
    pub const ABSENT: Self = Self {
        start: u32::MAX,
        mark: 0,
    };

    fn new(start: usize, length: usize, is_escaped: bool) -> Self {
        // A document has at most 512 MiB, so both fit.
        match (u32::try_from(start), u32::try_from(length << 1)) {
            (Ok(start), Ok(mark)) => Self {
                start,
                mark: mark | u32::from(is_escaped),
            },
            _ => Self::ABSENT,
        }
    }

    fn raw(self, texts: &str) -> Option<&str> {
        let start = self.start as usize;
        texts.get(start..start + (self.mark >> 1) as usize)
    }

    /// The string at the span.
    pub fn text(self, texts: &str) -> Option<Text<'_>> {
        let raw = self.raw(texts)?;
        match self.mark & 1 {
            0 => Some(Text::Plain(raw.into())),
            _ => Some(Text::decode(raw)),
        }
    }

    /// The integer at the span.
    pub fn integer(self, texts: &str) -> Option<Integer<'_>> {
        Number::new(self.raw(texts)?).as_integer()
    }
}

/// Where the strings and numbers of records are kept.
pub(super) enum Keeping<'t> {
    /// In the text that they are read from.
    InPlace,
    /// In a separate text, one after the other.
    Apart(&'t mut String),
}

impl Keeping<'_> {
    /// Keeps a string or a number.
    pub fn keep(&mut self, node: Node<'_>) -> Span {
        let is_escaped = node.is_string() && node.is_escaped();
        match self {
            Self::InPlace => {
                let place = node.place();
                Span::new(place.start, place.len(), is_escaped)
            }
            Self::Apart(texts) => {
                let start = texts.len();
                texts.push_str(node.raw());
                Span::new(start, texts.len() - start, is_escaped)
            }
        }
    }
}

/// What is kept of a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepRecord {
    /// Where it begins in the manifest's text.
    pub start: u32,
    pub step_id: Span,
    pub ordinal: Span,
    pub reference: Span,
    pub slice: Span,
    pub op: Option<Op>,
    /// Whether its three objects are objects.
    pub has_objects: bool,
}

/// A step; what is missing or mistyped is `None`.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    record: &'a StepRecord,
    texts: &'a str,
}

impl<'a> Step<'a> {
    pub(super) fn new(record: &'a StepRecord, texts: &'a str) -> Self {
        Self { record, texts }
    }

    /// Where it begins in the manifest's text.
    pub fn start(self) -> usize {
        self.record.start as usize
    }

    /// Its id.
    pub fn step_id(self) -> Option<Text<'a>> {
        self.record.step_id.text(self.texts)
    }

    /// Its number in the plan.
    pub fn ordinal(self) -> Option<Integer<'a>> {
        self.record.ordinal.integer(self.texts)
    }

    /// What it does.
    pub fn op(self) -> Option<Op> {
        self.record.op
    }

    /// Whether `refs`, `constraints` and `expected_outputs` are objects.
    pub fn has_objects(self) -> bool {
        self.record.has_objects
    }

    /// What it reads.
    pub fn reference(self) -> Option<Text<'a>> {
        self.record.reference.text(self.texts)
    }

    /// Which part of that it reads.
    pub fn slice(self) -> Option<Text<'a>> {
        self.record.slice.text(self.texts)
    }

    /// The key by which steps are ordered, if the step has both parts.
    pub fn order(self) -> Option<(Integer<'a>, Text<'a>)> {
        self.ordinal().zip(self.step_id())
    }

    /// What is read: ref and slice, if the step has both.
    pub fn pair(self) -> Option<(Text<'a>, Text<'a>)> {
        self.reference().zip(self.slice())
    }
}

/// What is kept of an artifact's entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArtifactRecord {
    /// Where it begins in the manifest's text.
    pub start: u32,
    pub artifact_id: Span,
    pub reference: Span,
    pub slice: Span,
    /// Absent if the path is the one derived from the id.
    pub path: Span,
    pub bytes: Span,
    pub key: Option<ArtifactKey>,
    pub sha256: Option<Digest>,
    pub kind: Option<Op>,
    pub is_in_place: bool,
}

/// An artifact's entry; what is missing or mistyped is `None`.
#[derive(Clone, Copy, Debug)]
pub struct Artifact<'a> {
    record: &'a ArtifactRecord,
    texts: &'a str,
}

impl<'a> Artifact<'a> {
    pub(super) fn new(record: &'a ArtifactRecord, texts: &'a str) -> Self {
        Self { record, texts }
    }

    /// Where it begins in the manifest's text.
    pub fn start(self) -> usize {
        self.record.start as usize
    }

    /// Its id as text, well formed or not.
    pub fn artifact_id(self) -> Option<Text<'a>> {
        self.record.artifact_id.text(self.texts)
    }

    /// Its id, if well formed.
    pub fn key(self) -> Option<ArtifactKey> {
        self.record.key
    }

    /// The op whose kind it states.
    pub fn kind(self) -> Option<Op> {
        self.record.kind
    }

    /// What was read.
    pub fn reference(self) -> Option<Text<'a>> {
        self.record.reference.text(self.texts)
    }

    /// Which part of that.
    pub fn slice(self) -> Option<Text<'a>> {
        self.record.slice.text(self.texts)
    }

    /// The declared path of its file, if that is not its only allowed place.
    pub fn elsewhere(self) -> Option<Text<'a>> {
        self.record.path.text(self.texts)
    }

    /// The declared digest of its file.
    pub fn sha256(self) -> Option<Digest> {
        self.record.sha256
    }

    /// The declared size of its file.
    pub fn bytes(self) -> Option<Integer<'a>> {
        self.record.bytes.integer(self.texts)
    }

    /// Whether its path is the only allowed one: `artifacts/<id>.txt`.
    pub fn is_in_place(self) -> bool {
        self.record.is_in_place
    }

    /// What was read: ref and slice, if the entry has both.
    pub fn pair(self) -> Option<(Text<'a>, Text<'a>)> {
        self.reference().zip(self.slice())
    }

    /// The path, for messages.
    pub fn path_text(self) -> String {
        match (self.elsewhere(), self.key()) {
            (Some(path), _) => path.to_lossy().into_owned(),
            (None, Some(key)) if self.is_in_place() => format!("artifacts/{}", key.file_name()),
            _ => String::new(),
        }
    }
}

impl Text<'_> {
    /// Decodes a string that is written as `raw`, with escapes.
    fn decode(raw: &str) -> Self {
        let string = JsonString::of_raw(raw);
        match string.as_str() {
            Some(text) => Self::Plain(text.to_owned().into()),
            None => Self::Lone(Box::new(string)),
        }
    }
}
