//! What a log's entries say: which signed statement, about what. Digests alone, so that a log can
//! be shown to people who may not see the statements.

use runseal_core::canon::{Dialect, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::digest::Digest;
use thiserror::Error;

use crate::dsse::{Envelope, IN_TOTO};
use crate::statement::{Statement, Target};

/// Subjects that an entry names.
const MAX_SUBJECTS: usize = 4;
/// What stands before the digest of a line of a ledger.
const LEDGER_LINE: &str = "ledger-line-sha256";
/// The longest entry.
const MAX_ENTRY: usize = 4096;

/// Why something is no entry.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EntryError {
    /// It is no entry of ours.
    #[error("it is no entry of a log: {0}")]
    Malformed(String),
    /// An envelope without a statement or signature has nothing to log.
    #[error("the envelope has no {0}")]
    Empty(&'static str),
}

/// An entry: what stands for something, and which signed statement says so, where one does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The digest of the signed bytes (the pre-authentication encoding of DSSE), and of the
    /// signature.
    pub statement: Option<(Digest, Digest)>,
    /// What it is about: `algorithm:hex`, the first few.
    pub subjects: Vec<String>,
}

impl LogEntry {
    /// The entry of a signed statement: of its first signature.
    ///
    /// # Errors
    /// When the envelope has no statement or no signature.
    pub fn of_envelope(envelope: &Envelope) -> Result<Self, EntryError> {
        let signature = envelope.signatures.first();
        let signature = signature.ok_or(EntryError::Empty("signature"))?;
        let statement = match envelope.payload_type.as_str() {
            IN_TOTO => Statement::parse(&envelope.payload).ok(),
            _ => None,
        };
        let statement = statement.ok_or(EntryError::Empty("statement"))?;
        let digests = statement
            .subjects
            .iter()
            .flat_map(|subject| &subject.digest);
        let subjects = digests.map(|(algorithm, digest)| format!("{algorithm}:{digest}"));
        Ok(Self {
            statement: Some((envelope.digest(), Digest::of(&signature.sig))),
            subjects: subjects
                .filter(|subject| subject.len() <= 160)
                .take(MAX_SUBJECTS)
                .collect(),
        })
    }

    /// The entry of something that nobody signed: the digest that stands for the whole of it.
    pub fn of_target(target: &Target) -> Self {
        Self {
            statement: None,
            subjects: target.digest_of_whole().into_iter().collect(),
        }
    }

    /// The entry of a line of a ledger, by the hash that the line after it names as `previous`.
    pub fn of_ledger_line(hash: &Digest) -> Self {
        Self {
            statement: None,
            subjects: vec![format!("{LEDGER_LINE}:{hash}")],
        }
    }

    /// The entry's bytes: canonical JSON.
    ///
    /// # Errors
    /// When a subject has no JSON form.
    pub fn to_bytes(&self) -> Result<Vec<u8>, EntryError> {
        let subjects = self.subjects.iter().map(String::as_str);
        let mut value = Value::object([("subjects", Value::array(subjects))]);
        if let Some((envelope, signature)) = &self.statement {
            value.insert("envelope", envelope.to_string());
            value.insert("signature", signature.to_string());
        }
        canonical_bytes(&value, Dialect::Jcs)
            .map_err(|error| EntryError::Malformed(error.to_string()))
    }

    /// Reads an entry.
    ///
    /// # Errors
    /// When it is none, or has another spelling than ours.
    pub fn parse(bytes: &[u8]) -> Result<Self, EntryError> {
        let fail = |fault: &str| EntryError::Malformed(fault.to_owned());
        if bytes.len() > MAX_ENTRY {
            return Err(fail("it is longer than any"));
        }
        let document = parse_document(bytes, &ReadOptions::default())
            .map_err(|error| EntryError::Malformed(error.to_string()))?;
        let root = document.root();
        let digest = |member: &str| {
            let text = root.get(member)?.as_str()?;
            Digest::parse_hex(&text).ok()
        };
        let statement = match (root.get("envelope"), root.get("signature")) {
            (None, None) => None,
            _ => {
                let both = digest("envelope").zip(digest("signature"));
                Some(both.ok_or_else(|| fail("a digest is malformed"))?)
            }
        };
        let subjects = root.get("subjects").and_then(|list| list.as_array());
        let subjects = subjects.ok_or_else(|| fail("it has no subjects"))?;
        let subjects = subjects.map(|subject| subject.as_str().map(|text| text.into_owned()));
        let entry = Self {
            statement,
            subjects: subjects
                .collect::<Option<_>>()
                .ok_or_else(|| fail("a subject is no text"))?,
        };
        if entry.to_bytes()? == bytes {
            Ok(entry)
        } else {
            Err(fail("it is not stored canonically"))
        }
    }
}
