//! in-toto statements: what is signed, by digest, and what is said about it.

use std::collections::{BTreeMap, BTreeSet};

use runseal_core::canon::{Dialect, Node, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::digest::Digest;
use thiserror::Error;

use crate::dirhash::{compute_dir_hash, listing};
use crate::limits::{MAX_LISTED_FILES, MAX_STATED_BYTES, MAX_SUBJECTS};
use crate::predicate::RUN_PREDICATE;

/// The type of the statements that are read and written.
const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// The older type, which is also read.
const STATEMENT_TYPE_0: &str = "https://in-toto.io/Statement/v0.1";

pub(crate) const SHA256: &str = "sha256";
const DIR_HASH: &str = "dirHash1";
/// The name in the heading of in-toto's page.
const DIR_HASH_HEADING: &str = "dirHash";

/// Why a payload is not a statement.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StatementError {
    /// Invalid JSON.
    #[error("the payload is invalid JSON: {0}")]
    Json(String),
    /// It has another type.
    #[error("the payload is not an in-toto statement: `_type` is not `{STATEMENT_TYPE}`")]
    Type,
    /// A member is missing, too long or of another type.
    #[error("the statement's `{0}` is missing, too long or of another type")]
    Member(&'static str),
    /// A subject without a digest could be anything.
    #[error("subject {0} of the statement has no digest")]
    NoDigest(usize),
    /// It has too many subjects.
    #[error("the statement has more than {MAX_SUBJECTS} subjects")]
    TooMany,
}

/// What a statement is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// A name for people. Only the commitment and the list of a redacted copy are recognized by it.
    pub name: String,
    /// Digests by algorithm, as lower-case hex.
    pub digest: BTreeMap<String, String>,
}

/// What can be signed: the digests that represent the whole of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// What it is called.
    pub name: String,
    /// The file whose digest represents the whole, and its name: a document itself, or a manifest
    /// that lists all other files.
    pub file: Option<(String, Digest)>,
    /// The files of a folder without such a manifest.
    pub files: Option<BTreeMap<String, Digest>>,
    /// The commitment of a redactable bundle. Statements name it, so that they are valid for
    /// redacted copies too; it does not represent the bundle.
    pub redaction: Option<(String, Digest)>,
    /// The list of what a redacted copy withholds. It is not part of what was sealed: a statement
    /// about the bundle is valid for the copy without it, and a statement that names it is valid
    /// only for this list.
    pub withheld: Option<(String, Digest)>,
    /// The archive that it came in, if nothing else is in there.
    pub archive: Option<(String, Digest)>,
    /// The archive that contains it next to other units. A signature on that archive does not cover
    /// this, but a policy that denies the archive denies this.
    pub container: Option<Digest>,
    /// The bytes that signatures without a statement (SSHSIG, minisign) are over: the file, or the
    /// folder's listing.
    pub plain: Vec<u8>,
}

impl Target {
    /// Makes the target of a document, or of a folder whose manifest is `bytes`.
    pub fn of_file(name: &str, file_name: &str, bytes: Vec<u8>) -> Self {
        Self {
            name: name.to_owned(),
            file: Some((file_name.to_owned(), Digest::of(&bytes))),
            plain: bytes,
            ..Self::default()
        }
    }

    /// Makes the target of a folder.
    pub fn of_folder(name: &str, files: BTreeMap<String, Digest>) -> Self {
        Self {
            name: name.to_owned(),
            plain: listing(&files).into_bytes(),
            files: Some(files),
            ..Self::default()
        }
    }

    /// Sets the archive that it came in. An archive that also contains other units does not
    /// represent it.
    pub fn set_archive(&mut self, archive: (String, Digest), has_others: bool) {
        if has_others {
            self.container = Some(archive.1)
        } else {
            self.archive = Some(archive)
        }
    }

    /// Returns the one digest that represents the whole, as `algorithm:hex`.
    pub fn digest_of_whole(&self) -> Option<String> {
        match (&self.file, &self.files) {
            (Some((_, digest)), _) => Some(format!("{SHA256}:{digest}")),
            (None, Some(files)) => Some(format!("{DIR_HASH}:{}", compute_dir_hash(files))),
            (None, None) => None,
        }
    }

    /// Returns the subjects of a statement about it.
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
            // Digests of single files would give away values that are withheld later.
            if files.len() <= MAX_LISTED_FILES && self.redaction.is_none() {
                for (name, digest) in files {
                    subjects.push(subject(name.clone(), SHA256, *digest));
                }
            }
        }
        subjects
    }

    /// Returns its digests as statements write them.
    pub fn digests(&self) -> TargetDigests<'_> {
        let text = |(_, digest): &(String, Digest)| digest.to_string();
        TargetDigests {
            target: self,
            file: self.file.as_ref().map(text),
            archive: self.archive.as_ref().map(text),
            folder: self
                .files
                .as_ref()
                .map(|files| compute_dir_hash(files).to_string()),
        }
    }
}

/// The digests of a target, computed once for any number of subjects.
#[derive(Debug)]
pub struct TargetDigests<'a> {
    target: &'a Target,
    file: Option<String>,
    archive: Option<String>,
    folder: Option<String>,
}

impl TargetDigests<'_> {
    /// Returns whether a subject is this target: at least one digest is equal and none of the known
    /// ones differs.
    fn is_subject(&self, subject: &Subject) -> bool {
        let mut equal = false;
        for (algorithm, digest) in &subject.digest {
            let matches = match algorithm.as_str() {
                SHA256 => [&self.file, &self.archive]
                    .into_iter()
                    .flatten()
                    .any(|known| known == digest),
                DIR_HASH | DIR_HASH_HEADING => match &self.folder {
                    Some(folder) => folder == digest,
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

    /// Returns the digest of the commitment, if this is a redacted copy.
    pub(crate) fn commitment(&self) -> Option<&str> {
        let file = self.file.as_deref();
        file.filter(|_| self.target.withheld.is_some())
    }

    /// Returns whether a subject is the archive that the target came in.
    fn is_archive(&self, subject: &Subject) -> bool {
        self.archive.is_some() && subject.digest.get(SHA256) == self.archive.as_ref()
    }

    /// Returns whether a subject is the list of what this copy withholds; `None` if it is about
    /// something else.
    fn is_list(&self, subject: &Subject) -> Option<bool> {
        let (name, digest) = self.target.withheld.as_ref()?;
        (*name == subject.name).then(|| subject.digest.get(SHA256) == Some(&digest.to_string()))
    }
}

/// How a statement relates to a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relation<'a> {
    /// It is about the whole; the names of the matching subjects.
    Whole(Vec<&'a str>),
    /// It is about a folder that contains the target as a file; the names of the matching subjects.
    Part(Vec<&'a str>),
    /// It is about something else.
    Other,
}

/// A statement that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// What it is about.
    pub subjects: Vec<Subject>,
    /// The type of the predicate.
    pub predicate_type: String,
    /// The predicate, as its type defines it.
    pub predicate: Value,
}

impl Statement {
    /// Reads a payload.
    ///
    /// # Errors
    /// When it is not a statement, or has a subject without a digest.
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
        let predicate_type = predicate_type
            .filter(|kind| kind.len() <= MAX_STATED_BYTES)
            .ok_or(StatementError::Member("predicateType"))?;
        let predicate = root
            .get("predicate")
            .map_or(Value::Null, |node| node.to_value());
        Ok(Self {
            subjects,
            predicate_type: predicate_type.into_owned(),
            predicate,
        })
    }

    /// Returns the payload: canonical JSON.
    pub fn to_bytes(&self) -> Result<Vec<u8>, StatementError> {
        let subjects = self.subjects.iter().map(Subject::to_value);
        let value = Value::object([
            ("_type", Value::from(STATEMENT_TYPE)),
            ("subject", Value::array(subjects)),
            ("predicateType", Value::from(self.predicate_type.as_str())),
            ("predicate", self.predicate.clone()),
        ]);
        canonical_bytes(&value, Dialect::Jcs)
            .map_err(|error| StatementError::Json(error.to_string()))
    }

    /// Returns how it relates to a target. A file that a statement lists next to the folder is a
    /// part of that folder; a copy with another list of what is withheld is something else.
    pub fn relation(&self, target: &TargetDigests<'_>) -> Relation<'_> {
        let mut subjects = self.subjects.iter();
        // The list alone does not represent what was sealed.
        if subjects.any(|subject| target.is_list(subject) == Some(false)) {
            return Relation::Other;
        }
        let matching: Vec<_> = self
            .subjects
            .iter()
            .filter(|subject| target.is_subject(subject))
            .collect();
        let names_folder = self.subjects.iter().any(Subject::is_folder);
        let is_of_copy = target
            .commitment()
            .is_some_and(|digest| self.origin(digest).is_some());
        let is_copy = target.target.withheld.is_some();
        let is_whole = |subject: &&Subject| {
            if is_copy {
                is_of_copy || !names_folder && target.is_archive(subject)
            } else {
                !names_folder
                    || subject.is_folder()
                    || target.is_archive(subject) && self.is_before_folder(subject)
            }
        };
        if matching.is_empty() {
            return Relation::Other;
        }
        if !matching.iter().any(is_whole) {
            return Relation::Part(matching.iter().map(|subject| &*subject.name).collect());
        }
        let subjects = self.subjects.iter();
        let named = subjects.filter(|subject| {
            target.is_subject(subject) && is_whole(subject) || target.is_list(subject) == Some(true)
        });
        Relation::Whole(named.map(|subject| &*subject.name).collect())
    }

    /// Returns whether its own subject is the whole target. Its own subject is the folder that it
    /// names, or else its first subject, or the second if a chain of actions comes first. Readers
    /// of a redacted copy find it by the commitment, which is named next to its own subject.
    pub fn is_primarily_about(&self, target: &TargetDigests<'_>, has_chain: bool) -> bool {
        if let Some(commitment) = target.commitment() {
            let first = self.subjects.first();
            return matches!(self.relation(target), Relation::Whole(_))
                && (self.origin(commitment).is_some()
                    || first.is_some_and(|first| target.is_archive(first)));
        }
        let mut folders = self.subjects.iter().filter(|subject| subject.is_folder());
        let own = match (folders.next(), folders.next()) {
            (Some(folder), None) => Some(folder),
            (Some(_), Some(_)) => None,
            (None, _) => self.subjects.get(usize::from(has_chain)),
        };
        own.is_some_and(|own| target.is_subject(own))
    }

    /// Returns whether a subject comes before the folder that it names, if any. What comes after is
    /// a file of that folder.
    pub(crate) fn is_before_folder(&self, subject: &Subject) -> bool {
        let mut before = self.subjects.iter().take_while(|one| !one.is_folder());
        before.any(|one| std::ptr::eq(one, subject))
    }

    /// Returns the digests that it names and that policies can deny.
    pub fn named_digests(&self) -> impl Iterator<Item = Digest> {
        let repeated = self.predicate.get("original");
        let repeated = repeated.filter(|_| self.predicate_type == RUN_PREDICATE);
        let repeated = repeated.and_then(Subject::from_value);
        let repeated: Vec<_> = repeated.iter().flat_map(Subject::digests).collect();
        let own = self.subjects.iter().flat_map(Subject::digests);
        own.chain(repeated)
    }

    /// Returns the subjects that are not part of this target: not the whole, a file of it, its
    /// archive or its commitment.
    pub fn foreign_subjects(&self, digests: &TargetDigests<'_>) -> Vec<&Subject> {
        let target = digests.target;
        let files = target.files.iter().flat_map(BTreeMap::values);
        let more = [&target.redaction, &target.withheld].into_iter().flatten();
        let parts: BTreeSet<String> = files
            .chain(more.map(|(_, digest)| digest))
            .map(Digest::to_string)
            .collect();
        let is_part = |subject: &Subject| {
            subject
                .digest
                .get(SHA256)
                .is_some_and(|digest| parts.contains(digest))
        };
        let subjects = self.subjects.iter();
        subjects
            .filter(|subject| !digests.is_subject(subject) && !is_part(subject))
            .collect()
    }
}

impl Subject {
    /// Reads a subject that a predicate repeats.
    pub(crate) fn from_value(value: &Value) -> Option<Self> {
        let Some(Value::Object(members)) = value.get("digest") else {
            return None;
        };
        let digest = members.iter().map(|(algorithm, digest)| {
            let digest = Digest::parse_hex(digest.as_str()?).ok()?;
            Some((algorithm.as_str()?.to_owned(), digest.to_string()))
        });
        let digest: BTreeMap<_, _> = digest.collect::<Option<_>>()?;
        let is_known = digest.contains_key(SHA256) || digest.contains_key(DIR_HASH);
        let name = value.get("name").and_then(Value::as_str);
        is_known.then(|| Self {
            name: name.unwrap_or_default().to_owned(),
            digest,
        })
    }

    /// Returns the subject as JSON.
    pub(crate) fn to_value(&self) -> Value {
        let digests = self.digest.iter();
        let digest = digests.map(|(key, value)| (key.as_str().into(), value.as_str().into()));
        Value::object([
            ("name", Value::from(self.name.as_str())),
            ("digest", Value::Object(digest.collect())),
        ])
    }

    /// Returns the digests that policies can deny.
    pub(crate) fn digests(&self) -> impl Iterator<Item = Digest> {
        let known = [SHA256, DIR_HASH, DIR_HASH_HEADING].into_iter();
        known.filter_map(|algorithm| Digest::parse_hex(self.digest.get(algorithm)?).ok())
    }

    /// Returns whether it is a folder, by in-toto's directory hash.
    pub(crate) fn is_folder(&self) -> bool {
        self.digest.contains_key(DIR_HASH) || self.digest.contains_key(DIR_HASH_HEADING)
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
    fn written_statement_reads_back_and_matches_its_target() {
        for target in [
            folder(&[("a", "1"), ("b/c", "2")]),
            Target::of_file("run", "SHA256SUMS.txt", b"x".to_vec()),
        ] {
            let statement = statement_about(&target);
            let read = Statement::parse(&statement.to_bytes().unwrap()).unwrap();
            assert_eq!(read, statement);
            let Relation::Whole(names) = read.relation(&target.digests()) else {
                panic!("{read:?}")
            };
            assert_eq!(names.len(), 1);
        }
    }

    #[test]
    fn statement_about_one_file_is_not_about_the_folder() {
        let target = folder(&[("a", "1"), ("b", "2")]);
        let mut statement = statement_about(&target);
        statement.subjects.remove(0);
        assert_eq!(statement.relation(&target.digests()), Relation::Other);
    }

    #[test]
    fn file_of_signed_folder_is_a_part() {
        let statement = statement_about(&folder(&[("a", "1"), ("b", "2")]));
        let alone = Target::of_file("alone", "alone", b"1".to_vec());
        assert_eq!(
            statement.relation(&alone.digests()),
            Relation::Part(vec!["a"])
        );
    }

    #[test]
    fn folder_with_an_extra_file_is_another_folder() {
        let statement = statement_about(&folder(&[("a", "1")]));
        let more = folder(&[("a", "1"), ("b", "2")]);
        assert_eq!(statement.relation(&more.digests()), Relation::Other);
    }

    #[test]
    fn subject_with_conflicting_digests_matches_nothing() {
        let target = folder(&[("a", "1")]);
        let mut statement = statement_about(&target);
        statement.subjects[0]
            .digest
            .insert("sha256".to_owned(), "0".repeat(64));
        assert_eq!(statement.relation(&target.digests()), Relation::Other);
    }

    #[test]
    fn large_folder_has_one_subject() {
        let files = (0..=MAX_LISTED_FILES).map(|at| (format!("{at:05}"), Digest::of(b"")));
        let target = Target::of_folder("large", files.collect());
        assert_eq!(target.subjects().len(), 1);
    }

    #[test]
    fn broken_statement_is_refused() {
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
