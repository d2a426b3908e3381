//! What was found on disk, and the documents, as the rules see them: no handles, no paths to
//! follow, only facts.

use std::collections::BTreeSet;

use super::index::ArtifactIndex;
use super::layout::{MANIFEST, RUN_ENVIRONMENT, RUN_INPUT, RUN_OUTPUT};
use super::outputs::find_changed_integer;
use super::reading::{RunKind, RunReading, has_marker};
use super::sums::Sums;
use crate::canon::Node;
use crate::digest::Digest;
use crate::formats::model_io::bodies::BodyFacts;
use crate::source::EntryKind;
use crate::text_map::TextMap;

/// A regular file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileFact {
    /// Bytes that are hashed as they are.
    Bytes {
        /// The digest of the bytes.
        sha256: Digest,
        /// The number of bytes.
        bytes: u64,
    },
    /// A JSON file.
    Json {
        /// The digest of its JCS bytes.
        sha256: Digest,
        /// Its size in bytes, as stored.
        bytes: u64,
        /// How it is stored.
        stored: StoredJson,
        /// The pointers of forbidden members, if the file is one of the engine's artifacts.
        forbidden: Box<[String]>,
    },
    /// The exact bytes of a JSON file that is stored elsewhere as its JCS.
    Exact {
        /// The digest of its bytes.
        sha256: Digest,
        /// The number of bytes.
        bytes: u64,
        /// The digest of its JCS bytes, if it has a JCS form. Boxed, because there is one fact for
        /// every file and few are of this kind.
        canonical: Option<Box<Digest>>,
    },
    /// A JSON file without a JCS form, and why.
    BrokenJson(String),
}

/// How a JSON file is stored, whose hash covers its JCS bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredJson {
    /// As exactly those bytes.
    Canonically,
    /// In another form, with the same values.
    Otherwise,
    /// In another form, and the hash does not cover the integer at this pointer: JCS has only
    /// doubles.
    WithUncoveredInteger(Box<str>),
}

impl StoredJson {
    /// How `document` is stored.
    pub fn of(document: Node<'_>, is_canonical: bool) -> Self {
        if is_canonical {
            return Self::Canonically;
        }
        match find_changed_integer(document) {
            None => Self::Otherwise,
            Some(pointer) => Self::WithUncoveredInteger(pointer.into()),
        }
    }
}

impl FileFact {
    /// The digest that SHA256SUMS.txt and the index must have; `None` for broken JSON.
    pub fn sha256(&self) -> Option<Digest> {
        match self {
            Self::Bytes { sha256, .. } | Self::Json { sha256, .. } | Self::Exact { sha256, .. } => {
                Some(*sha256)
            }
            Self::BrokenJson(_) => None,
        }
    }

    /// The number of bytes that the digest covers, if the file is stored as exactly those.
    pub fn bytes(&self) -> Option<u64> {
        match self {
            Self::Bytes { bytes, .. }
            | Self::Exact { bytes, .. }
            | Self::Json {
                bytes,
                stored: StoredJson::Canonically,
                ..
            } => Some(*bytes),
            Self::Json { .. } | Self::BrokenJson(_) => None,
        }
    }
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryFact {
    /// A regular file, read whole.
    File(FileFact),
    /// A folder.
    Folder,
    /// A link, pipe or device; never opened.
    NotAFile(EntryKind),
    /// An entry with an unsafe name, and why it is unsafe. Never opened.
    UnsafeName(String),
}

/// Everything below the bundle's folder, by displayed path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunBundleFacts {
    /// The entries.
    pub entries: TextMap<EntryFact>,
}

impl RunBundleFacts {
    /// The regular file at `path`.
    pub fn file(&self, path: &str) -> Option<&FileFact> {
        match self.entries.get(path) {
            Some(EntryFact::File(fact)) => Some(fact),
            _ => None,
        }
    }
}

/// A document that rules read.
#[derive(Debug, Clone, Copy)]
pub enum Doc<'a> {
    /// It is missing, or not a regular file.
    Absent,
    /// It is not JSON, or has no JCS form, and why.
    Broken(&'a str),
    /// It was read and has a JCS form.
    Read(Node<'a>),
}

impl<'a> Doc<'a> {
    /// The document's value, if it was read.
    pub fn root(&self) -> Option<Node<'a>> {
        match self {
            Self::Read(node) => Some(*node),
            _ => None,
        }
    }
}

/// One violation of a schema.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SchemaViolation {
    /// The JSON Pointer in the document.
    pub pointer: String,
    /// What the schema demands that the value does not satisfy.
    pub message: String,
}

/// The result of validating a document against a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaVerdict {
    /// One of the two is missing or broken.
    NotChecked,
    /// The schema is not valid for a known draft, or refers to something outside, and why.
    BadSchema(String),
    /// Every violation in the document.
    Violations(Vec<SchemaViolation>),
}

/// A run bundle as the rules see it.
#[derive(Debug, Clone, Copy)]
pub struct RunBundleView<'a> {
    /// What is in the folder.
    pub facts: &'a RunBundleFacts,
    /// The folder's name, if it lies in a folder of runs.
    pub name: Option<&'a str>,
    /// SHA256SUMS.txt, if there is one.
    pub sums: Option<&'a Sums>,
    /// What ARTIFACT_INDEX.json lists, if it was read.
    pub listed: Option<&'a ArtifactIndex>,
    /// Why ARTIFACT_INDEX.json could not be read, if it is present.
    pub index_fault: Option<&'a str>,
    /// ENGINE_MANIFEST.json
    pub manifest: Doc<'a>,
    /// INPUT_SCHEMA.json
    pub input_schema: Doc<'a>,
    /// OUTPUT_SCHEMA.json
    pub output_schema: Doc<'a>,
    /// COUPLING_RULES.json
    pub coupling: Doc<'a>,
    /// RUN_INPUT.json
    pub input: Doc<'a>,
    /// RUN_OUTPUT.json
    pub output: Doc<'a>,
    /// INPUT_ARTIFACT_INDEX.json
    pub input_index: Doc<'a>,
    /// RUN_META.json
    pub meta: Doc<'a>,
    /// RUN_ENVIRONMENT.json
    pub environment: Doc<'a>,
    /// model_io.json
    pub model_io: Doc<'a>,
    /// REDACTION.json
    pub redaction: Doc<'a>,
    /// REDACTION_SALT.json
    pub redaction_salt: Doc<'a>,
    /// The large bodies of model_io.json, if there is one.
    pub bodies: Option<&'a BodyFacts>,
    /// The validation of RUN_INPUT.json against INPUT_SCHEMA.json.
    pub input_verdict: &'a SchemaVerdict,
    /// The validation of RUN_OUTPUT.json against OUTPUT_SCHEMA.json.
    pub output_verdict: &'a SchemaVerdict,
    /// The files with something withheld, if this is what a redacted copy shows of a bundle.
    pub withheld: Option<&'a BTreeSet<String>>,
}

impl<'a> RunBundleView<'a> {
    /// The kind of the run.
    pub fn kind(&self) -> RunKind {
        if self.withheld.is_some() {
            return self.reading().kind();
        }
        let manifest = self.manifest.root();
        manifest.map_or(RunKind::Engine, RunKind::of_manifest)
    }

    /// Whether a redacted copy withholds the file at `path`, at least in part. Always false for a
    /// whole bundle.
    pub fn withholds_part_of(&self, path: &str) -> bool {
        self.withheld.is_some_and(|files| files.contains(path))
    }

    /// Whether a redacted copy withholds `node` or something in it. Always false for a whole
    /// bundle, in which a marker is an ordinary value.
    pub fn hides(&self, node: Option<Node<'_>>) -> bool {
        self.withheld.is_some() && node.is_some_and(has_marker)
    }

    /// What the bundle says about its run.
    pub fn reading(&self) -> RunReading<'a> {
        RunReading::new(|name| match name {
            MANIFEST => self.manifest.root(),
            RUN_INPUT => self.input.root(),
            RUN_OUTPUT => self.output.root(),
            RUN_ENVIRONMENT => self.environment.root(),
            _ => None,
        })
    }
}
