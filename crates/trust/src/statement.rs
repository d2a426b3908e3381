//! in-toto statements: what is signed, by digest, and what is said about it.

use std::collections::BTreeMap;

use runseal_core::canon::{Dialect, Node, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::digest::Digest;
use thiserror::Error;

use crate::dirhash::{compute_dir_hash, listing};
use crate::limits::{MAX_LISTED_FILES, MAX_SUBJECTS};

/// The type of the statements that are read and written.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// The older type, which is read as well.
const STATEMENT_TYPE_0: &str = "https://in-toto.io/Statement/v0.1";

const SHA256: &str = "sha256";
const DIR_HASH: &str = "dirHash1";
/// What the heading of in-toto's page calls it.
const DIR_HASH_HEADING: &str = "dirHash";

/// Why a payload is no statement.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StatementError {
    /// It is no JSON.
    #[error("the payload is no JSON: {0}")]
    Json(String),
    /// Its type is another one.
    #[error("the payload is no in-toto statement: `_type` is not `{STATEMENT_TYPE}`")]
    Type,
    /// Members are missing or mistyped.
    #[error("the statement's `{0}` is missing or of another type")]
    Member(&'static str),
    /// A subject without a digest could be anything.
    #[error("subject {0} of the statement has no digest")]
    NoDigest(usize),
    /// More subjects than are compared.
    #[error("the statement has more than {MAX_SUBJECTS} subjects")]
    TooMany,
}

/// What a statement is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// A name for people; nothing is matched by it.
    pub name: String,
    /// Digests by algorithm, as lower-case hex.
    pub digest: BTreeMap<String, String>,
}

/// What can be signed: the digests that stand for the whole of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// What it is called.
    pub name: String,
    /// The file whose digest stands for everything, with its name: a document itself, or a
    /// manifest that lists all other files.
    pub file: Option<(String, Digest)>,
    /// The files of a folder without such a manifest.
    pub files: Option<BTreeMap<String, Digest>>,
    /// The commitment of a redactable bundle. A statement names it, so that it holds for redacted
    /// copies too; it does not stand for the bundle.
    pub redaction: Option<(String, Digest)>,
    /// The list of what a redacted copy withholds. It is no part of what was sealed: a statement
    /// about the bundle holds for the copy without it, and one that names it holds for this list only.
    pub withheld: Option<(String, Digest)>,
    /// The archive that it came in.
    pub archive: Option<(String, Digest)>,
    /// The bytes that signatures without a statement (SSHSIG, minisign) are over: the file, or
    /// the folder's listing.
    pub plain: Vec<u8>,
}

impl Target {
    /// A document, or a folder whose manifest is `bytes`.
    pub fn of_file(name: &str, file_name: &str, bytes: Vec<u8>) -> Self {
        Self {
            name: name.to_owned(),
            file: Some((file_name.to_owned(), Digest::of(&bytes))),
            plain: bytes,
            ..Self::default()
        }
    }

    /// A folder.
    pub fn of_folder(name: &str, files: BTreeMap<String, Digest>) -> Self {
        Self {
            name: name.to_owned(),
            plain: listing(&files).into_bytes(),
            files: Some(files),
            ..Self::default()
        }
    }

    /// The one digest that stands for the whole of it, as `algorithm:hex`.
    pub fn digest_of_whole(&self) -> Option<String> {
        match (&self.file, &self.files) {
            (Some((_, digest)), _) => Some(format!("{SHA256}:{digest}")),
            (None, Some(files)) => Some(format!("{DIR_HASH}:{}", compute_dir_hash(files))),
            (None, None) => None,
        }
    }

    /// What a statement about it names.
    pub fn subjects(&self) -> Vec<Subject> {
        let subject = |name: String, algorithm: &str, digest: Digest| Subject {
            name,
            digest: [(algorithm.to_owned(), digest.to_string())].into(),
        };
        let mut subjects = Vec::new();
        if let Some((name, digest)) = &self.file {
            subjects.push(subject(name.clone(), SHA256, *digest));
        }
        let more = [&self.redaction, &self.withheld, &self.archive];
        for (name, digest) in more.into_iter().flatten() {
            subjects.push(subject(name.clone(), SHA256, *digest));
        }
        if let Some(files) = &self.files {
            let folder = format!("{}/", self.name);
            subjects.push(subject(folder, DIR_HASH, compute_dir_hash(files)));
            // Digests of single files would give away what is withheld of them later.
            if files.len() <= MAX_LISTED_FILES && self.redaction.is_none() {
                for (name, digest) in files {
                    subjects.push(subject(name.clone(), SHA256, *digest));
                }
            }
        }
        subjects
    }

    /// Whether a subject is this very thing. One digest must be equal and none of those that are
    /// known may differ.
    fn is_subject(&self, subject: &Subject) -> bool {
        let known_files = [&self.file, &self.archive];
        let mut equal = false;
        for (algorithm, digest) in &subject.digest {
            let matches = match algorithm.as_str() {
                SHA256 => known_files
                    .into_iter()
                    .flatten()
                    .any(|(_, known)| known.to_string() == *digest),
                DIR_HASH | DIR_HASH_HEADING => match &self.files {
                    Some(files) => compute_dir_hash(files).to_string() == *digest,
                    None => continue,
                },
                _ => continue,
            };
            if !matches {
                return false;
            }
            equal = true;
        }
        equal
    }
}

/// A statement that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// What it is about.
    pub subjects: Vec<Subject>,
    /// What kind of thing is said.
    pub predicate_type: String,
    /// The predicate, as its type defines it.
    pub predicate: Value,
}

impl Statement {
    /// Reads a payload.
    ///
    /// # Errors
    /// When it is no statement, or one about nothing in particular.
    pub fn parse(payload: &[u8]) -> Result<Self, StatementError> {
        let document = parse_document(payload, &ReadOptions::default())
            .map_err(|error| StatementError::Json(error.to_string()))?;
        let root = document.root();
        let kind = root.get("_type").and_then(|kind| kind.as_str());
        if ![Some(STATEMENT_TYPE), Some(STATEMENT_TYPE_0)].contains(&kind.as_deref()) {
            return Err(StatementError::Type);
        }
        let list = root.get("subject").and_then(|list| list.as_array());
        let list = list.ok_or(StatementError::Member("subject"))?;
        if list.len() > MAX_SUBJECTS {
            return Err(StatementError::TooMany);
        }
        let subjects = list
            .enumerate()
            .map(parse_subject)
            .collect::<Result<_, _>>()?;
        let predicate_type = root.get("predicateType").and_then(|kind| kind.as_str());
        let predicate_type = predicate_type.ok_or(StatementError::Member("predicateType"))?;
        let predicate = root
            .get("predicate")
            .map_or(Value::Null, |node| node.to_value());
        Ok(Self {
            subjects,
            predicate_type: predicate_type.into_owned(),
            predicate,
        })
    }

    /// The payload: canonical JSON.
    pub fn to_bytes(&self) -> Result<Vec<u8>, StatementError> {
        let subjects = self.subjects.iter().map(|subject| {
            let digests = subject.digest.iter();
            let digest = digests.map(|(key, value)| (key.as_str().into(), value.as_str().into()));
            Value::object([
                ("name", Value::from(subject.name.as_str())),
                ("digest", Value::Object(digest.collect())),
            ])
        });
        let value = Value::object([
            ("_type", Value::from(STATEMENT_TYPE)),
            ("subject", Value::array(subjects)),
            ("predicateType", Value::from(self.predicate_type.as_str())),
            ("predicate", self.predicate.clone()),
        ]);
        canonical_bytes(&value, Dialect::Jcs)
            .map_err(|error| StatementError::Json(error.to_string()))
    }

    /// The names of the subjects that are `target`; empty where it is about something else, which a
    /// copy with another list of what is withheld is.
    pub fn matching_subjects(&self, target: &Target) -> Vec<&str> {
        let list = |subject: &Subject| {
            let (name, digest) = target.withheld.as_ref()?;
            let is_equal = || subject.digest.get(SHA256) == Some(&digest.to_string());
            (*name == subject.name).then(is_equal)
        };
        let mut subjects = self.subjects.iter();
        let is_of_another = subjects.any(|subject| list(subject) == Some(false));
        // The list alone does not stand for what was sealed.
        if is_of_another
            || !self
                .subjects
                .iter()
                .any(|subject| target.is_subject(subject))
        {
            return Vec::new();
        }
        let matching = self
            .subjects
            .iter()
            .filter(|subject| target.is_subject(subject) || list(subject) == Some(true));
        matching.map(|subject| subject.name.as_str()).collect()
    }
}

fn parse_subject((at, node): (usize, Node<'_>)) -> Result<Subject, StatementError> {
    let members = node.get("digest").and_then(|digest| digest.as_object());
    let mut digest = BTreeMap::new();
    for (key, value) in members.ok_or(StatementError::NoDigest(at))? {
        let (Some(key), Some(value)) = (key.as_str(), value.as_str()) else {
            return Err(StatementError::Member("subject"));
        };
        digest.insert(key.into_owned(), value.into_owned());
    }
    if digest.is_empty() {
        return Err(StatementError::NoDigest(at));
    }
    let name = node.get("name").and_then(|name| name.as_str());
    Ok(Subject {
        name: name.unwrap_or_default().into_owned(),
        digest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> Target {
        let files = files
            .iter()
            .map(|(name, text)| ((*name).to_owned(), Digest::of(text.as_bytes())));
        Target::of_folder("f", files.collect())
    }

    fn statement_about(target: &Target) -> Statement {
        Statement {
            subjects: target.subjects(),
            predicate_type: "https://example.com/p/v1".to_owned(),
            predicate: Value::Null,
        }
    }

    #[test]
    fn statement_written_reads_back_and_matches_its_target() {
        for target in [
            folder(&[("a", "1"), ("b/c", "2")]),
            Target::of_file("run", "SHA256SUMS.txt", b"x".to_vec()),
        ] {
            let statement = statement_about(&target);
            let read = Statement::parse(&statement.to_bytes().unwrap()).unwrap();
            assert_eq!(read, statement);
            assert_eq!(read.matching_subjects(&target).len(), 1);
        }
    }

    #[test]
    fn statement_about_one_file_is_not_about_the_folder() {
        let target = folder(&[("a", "1"), ("b", "2")]);
        let mut statement = statement_about(&target);
        statement.subjects.remove(0);
        assert_eq!(statement.matching_subjects(&target), Vec::<&str>::new());
    }

    #[test]
    fn folder_with_a_file_more_is_another_folder() {
        let statement = statement_about(&folder(&[("a", "1")]));
        let more = folder(&[("a", "1"), ("b", "2")]);
        assert!(statement.matching_subjects(&more).is_empty());
    }

    #[test]
    fn subject_of_two_digests_that_disagree_matches_nothing() {
        let target = folder(&[("a", "1")]);
        let mut statement = statement_about(&target);
        statement.subjects[0]
            .digest
            .insert("sha256".to_owned(), "0".repeat(64));
        assert!(statement.matching_subjects(&target).is_empty());
    }

    #[test]
    fn large_folder_has_one_subject() {
        let files = (0..=MAX_LISTED_FILES).map(|at| (format!("{at:05}"), Digest::of(b"")));
        let target = Target::of_folder("large", files.collect());
        assert_eq!(target.subjects().len(), 1);
    }

    #[test]
    fn statement_broken_is_refused() {
        let good = r#"{"_type":"https://in-toto.io/Statement/v1","predicateType":"p","subject":[{"digest":{"sha256":"a"}}]}"#;
        assert!(Statement::parse(good.as_bytes()).is_ok());
        for (from, to) in [
            ("Statement/v1", "Statement/v2"),
            (r#"{"sha256":"a"}"#, "{}"),
            (r#""predicateType":"p","#, ""),
            (r#"[{"digest""#, r#"[{"digests""#),
        ] {
            let broken = good.replace(from, to);
            assert_ne!(broken, good);
            assert!(Statement::parse(broken.as_bytes()).is_err(), "{broken}");
        }
    }
}
