//! What a log's entries say: which signed statement, about what. They contain only digests, so a
//! log can be shown to people who may not see the statements.

use runseal_core::canon::{Dialect, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::digest::Digest;
use thiserror::Error;

use crate::dsse::{Envelope, IN_TOTO};
use crate::statement::{Statement, Target};

/// The number of subjects that an entry names.
const MAX_SUBJECTS: usize = 4;
/// The prefix of the digest of a ledger line.
const LEDGER_LINE: &str = "ledger-line-sha256";
/// The size of an entry, in bytes.
const MAX_ENTRY: usize = 4096;

/// Why something is not an entry.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EntryError {
    /// It is not an entry of ours.
    #[error("it is not a log entry: {0}")]
    Malformed(String),
    /// An envelope without a statement or signature has nothing to log.
    #[error("the envelope has no {0}")]
    Empty(&'static str),
}

/// An entry: the digests of its subjects, and the signed statement about them, if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The digests of the signed bytes (the pre-authentication encoding of DSSE) and of the
    /// signature.
    pub statement: Option<(Digest, Digest)>,
    /// What it is about, as `algorithm:hex`; only the first few.
    pub subjects: Vec<String>,
}

impl LogEntry {
    /// Makes the entry of a signed statement, with its first signature.
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

    /// Makes the entry of an unsigned target, with the digest of the whole.
    pub fn of_target(target: &Target) -> Self {
        Self {
            statement: None,
            subjects: target.digest_of_whole().into_iter().collect(),
        }
    }

    /// Makes the entry of a ledger line, with the hash that the next line names as `previous`.
    pub fn of_ledger_line(hash: &Digest) -> Self {
        Self {
            statement: None,
            subjects: vec![format!("{LEDGER_LINE}:{hash}")],
        }
    }

    /// Returns the entry's bytes: canonical JSON.
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
    /// When it is malformed or not canonical.
    pub fn parse(bytes: &[u8]) -> Result<Self, EntryError> {
        let fail = |fault: &str| EntryError::Malformed(fault.to_owned());
        if bytes.len() > MAX_ENTRY {
            return Err(fail("it is too long"));
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
                .ok_or_else(|| fail("a subject is not text"))?,
        };
        if entry.to_bytes()? == bytes {
            Ok(entry)
        } else {
            Err(fail("it is not canonical"))
        }
    }
}
