//! Statements about redacted copies. A copy shows only one digest of the sealed original, that of
//! its commitment, and anyone can get a digest into a list of files. So the commitment counts only
//! in the position where our own statements
//! ([`Target::subjects`](crate::statement::Target::subjects)) have it.

use runseal_core::formats::redacted::documents::{REDACTED, REDACTION};

use crate::predicate::RUN_PREDICATE;
use crate::statement::{SHA256, Statement, Subject, TargetDigests};

/// The manifest of a run bundle, by which statements name the bundle.
const SUMS: &str = "SHA256SUMS.txt";

/// What a statement that is valid for a redacted copy was made about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin<'a> {
    /// The original, with its own subject.
    Original(&'a Subject),
    /// A copy of the original.
    Copy,
}

impl Statement {
    /// Returns what the statement was made about, if its subjects are exactly those of something
    /// with this commitment:
    ///
    /// - a run bundle: its manifest, the commitment, perhaps an archive;
    /// - a folder: the commitment, perhaps an archive, the folder, but none of its files;
    /// - a copy: the commitment, perhaps the list of what is withheld, and after that perhaps an archive.
    pub fn origin(&self, commitment: &str) -> Option<Origin<'_>> {
        let is_commitment =
            |subject: &Subject| subject.name == REDACTION && subject.is_file_of(commitment);
        let (first, rest) = self.subjects.split_first()?;
        if is_commitment(first) {
            return match rest {
                [] => Some(Origin::Copy),
                [folder] if folder.is_folder() => Some(Origin::Original(folder)),
                [archive, folder] if archive.may_be_archive() && folder.is_folder() => {
                    Some(Origin::Original(folder))
                }
                [list] if list.name == REDACTED => Some(Origin::Copy),
                [list, archive] if list.name == REDACTED && !archive.is_folder() => {
                    Some(Origin::Copy)
                }
                _ => None,
            };
        }
        let is_run = first.name == SUMS && !first.is_folder();
        match rest {
            [second] if is_run && is_commitment(second) => Some(Origin::Original(first)),
            [second, archive] if is_run && is_commitment(second) && archive.may_be_archive() => {
                Some(Origin::Original(first))
            }
            _ => None,
        }
    }

    /// Returns whether it names something that is not part of the target, so that it could be shown
    /// as a statement about two things. The archive that a target was in when it was signed may no
    /// longer be known.
    pub fn names_more(&self, digests: &TargetDigests<'_>, has_chain: bool) -> bool {
        if let Some(commitment) = digests.commitment()
            && self.origin(commitment).is_some()
        {
            return false;
        }
        let chain = self.subjects.first().filter(|_| has_chain);
        let mut foreign = self.foreign_subjects(digests);
        foreign.retain(|subject| chain.is_none_or(|chain| !std::ptr::eq(*subject, chain)));
        match foreign[..] {
            [] => false,
            [archive] => !archive.may_be_archive() || !self.is_before_folder(archive),
            _ => true,
        }
    }

    /// Returns the subject of the original of a copy with this commitment: the statement's own, or
    /// the one that our statement about a copy repeats.
    pub fn original_of(&self, commitment: &str) -> Option<Subject> {
        match self.origin(commitment)? {
            Origin::Original(own) => Some(own.clone()),
            Origin::Copy if self.predicate_type == RUN_PREDICATE => {
                Subject::from_value(self.predicate.get("original")?)
            }
            Origin::Copy => None,
        }
    }
}

impl Subject {
    /// Returns whether it can be an archive: not a folder, and not named like another subject.
    fn may_be_archive(&self) -> bool {
        !self.is_folder() && ![REDACTION, REDACTED, SUMS].contains(&self.name.as_str())
    }

    /// Returns whether it is a file with this digest.
    fn is_file_of(&self, digest: &str) -> bool {
        !self.is_folder() && self.digest.get(SHA256).is_some_and(|own| own == digest)
    }
}

#[cfg(test)]
mod tests {
    use runseal_core::canon::Value;
    use runseal_core::digest::Digest;

    use super::*;
    use crate::statement::{Relation, Target};

    const COMMITMENT: &[u8] = b"{}";

    fn statement(subjects: Vec<Subject>) -> Statement {
        Statement {
            subjects,
            predicate_type: "https://example.com/p/v1".to_owned(),
            predicate: Value::Null,
        }
    }

    fn copy() -> Target {
        let mut copy = Target::of_file("copy", REDACTION, COMMITMENT.to_vec());
        copy.withheld = Some((REDACTED.to_owned(), Digest::of(b"list")));
        copy
    }

    fn committed(mut target: Target) -> Target {
        target.redaction = Some((REDACTION.to_owned(), Digest::of(COMMITMENT)));
        target
    }

    fn folder(names: &[&str]) -> Target {
        let files = names.iter();
        let files = files.map(|name| ((*name).to_owned(), Digest::of(COMMITMENT)));
        Target::of_folder("f", files.collect())
    }

    #[test]
    fn written_statement_is_valid_for_its_copies() {
        let run = committed(Target::of_file("run", SUMS, b"sums".to_vec()));
        let pack = committed(folder(&["run.json"]));
        for (target, is_original) in [(run, true), (pack, true), (copy(), false)] {
            let mut archived = target.clone();
            archived.set_archive(("a.tar".to_owned(), Digest::of(b"archive")), false);
            for target in [target, archived] {
                let statement = statement(target.subjects());
                let copy = copy();
                let digests = copy.digests();
                assert!(
                    matches!(statement.relation(&digests), Relation::Whole(_)),
                    "{statement:?}"
                );
                assert!(statement.is_primarily_about(&digests, false));
                let commitment = Digest::of(COMMITMENT).to_string();
                let origin = statement.origin(&commitment);
                assert_eq!(matches!(origin, Some(Origin::Original(_))), is_original);
            }
        }
    }

    #[test]
    fn commitment_among_files_of_signed_folder_is_a_part() {
        for names in [
            &["artifacts/note.md"][..],
            &[REDACTION],
            &["REDACTED.json", REDACTION],
            &[REDACTION, "run.json"],
        ] {
            let statement = statement(folder(names).subjects());
            let copy = copy();
            let digests = copy.digests();
            assert!(
                !matches!(statement.relation(&digests), Relation::Whole(_)),
                "{names:?}"
            );
            assert!(!statement.is_primarily_about(&digests, false));
        }
    }

    #[test]
    fn commitment_in_another_place_does_not_count_for_copies() {
        let subject = |name: &str, bytes: &[u8]| Subject {
            name: name.to_owned(),
            digest: [(SHA256.to_owned(), Digest::of(bytes).to_string())].into(),
        };
        let commitment = || subject(REDACTION, COMMITMENT);
        let whole = folder(&[]).subjects().remove(0);
        for subjects in [
            vec![subject("other", b"1"), commitment()],
            vec![subject("note.md", COMMITMENT)],
            vec![subject(SUMS, b"1"), subject("note.md", COMMITMENT)],
            vec![subject(SUMS, b"1"), commitment(), subject(SUMS, b"2")],
            vec![subject(SUMS, b"1"), subject("a", b"2"), commitment()],
            vec![subject(SUMS, b"1"), commitment(), whole.clone()],
            vec![commitment(), commitment(), whole.clone()],
            vec![commitment(), whole.clone(), subject("a", b"1")],
            vec![commitment(), whole.clone(), whole.clone()],
            vec![whole.clone(), commitment()],
            vec![commitment(), subject(SUMS, b"1")],
        ] {
            let statement = statement(subjects);
            let copy = copy();
            let digests = copy.digests();
            assert!(
                !matches!(statement.relation(&digests), Relation::Whole(_)),
                "{statement:?}"
            );
            assert!(!statement.is_primarily_about(&digests, false));
        }
    }
}
