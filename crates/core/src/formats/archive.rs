//! The archive that a bundle may come in: what a folder could not contain, AR1-AR8.
//!
//! An archive is judged by what its reader noticed. The bundle inside is judged by the rules of its
//! own format, which see the same entries as in a folder. So a symbolic link inside a bundle is a
//! finding of that bundle's rules; it is a finding here only outside of any bundle.

use crate::formats::Format;
use crate::formats::definition::{FormatDefinition, ProofScope, infos};
use crate::verify::{Findings, Gate, Level, Report, Rule, RuleInfo, Subject, run_rules};

/// What is wrong with an archive or one of its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// A name that would leave the folder it is unpacked in, or that no folder can contain.
    Name,
    /// The same name twice, or a file in place of a folder.
    Duplicate,
    /// Two names that are one on systems that ignore letter case or how accents are composed.
    Alike,
    /// A link.
    Link,
    /// It unpacks to far more than its own size.
    Bomb,
    /// It is truncated, contradicts itself, or is of a kind that is not read.
    Damaged,
    /// It is encrypted, so its content cannot be judged.
    Encrypted,
    /// It is over a limit.
    Limit,
    /// Unpackers could read it in different ways.
    Ambiguous,
    /// A name in UTF-8 that is not marked as that.
    Unmarked,
}

/// One thing that unpackers could read in different ways, or must not write.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ArchiveFault {
    /// What kind of fault.
    pub kind: FaultKind,
    /// The entry's name as shown; `None` for the archive as a whole.
    pub path: Option<String>,
    /// What is wrong, for people.
    pub message: String,
}

/// An archive as the rules see it.
#[derive(Debug, Clone, Copy)]
pub struct ArchiveView<'a> {
    /// What its reader noticed.
    pub faults: &'a [ArchiveFault],
}

/// Names the archive as the subject of its rules.
pub struct Archive;

impl Subject for Archive {
    type View<'a> = ArchiveView<'a>;
    const FORMAT: Format = Format::Archive;
    const NAMES_FILES: bool = true;
}

/// Judges an archive by its faults.
pub fn verify_archive(faults: &[ArchiveFault]) -> Report {
    run_rules(&RULES, &ArchiveView { faults }, Level::Document)
}

const fn rule(
    id: &'static str,
    title: &'static str,
    explanation: &'static str,
    check: for<'a> fn(&ArchiveView<'a>, &mut Findings),
) -> Rule<Archive> {
    Rule {
        info: RuleInfo {
            id,
            format: Format::Archive,
            title,
            section: "archives",
            level: Level::Document,
            explanation,
        },
        gate: |_| Gate::Ready,
        check,
    }
}

fn add(kind: FaultKind, view: &ArchiveView<'_>, findings: &mut Findings) {
    for fault in view.faults.iter().filter(|fault| fault.kind == kind) {
        findings.add_at(fault.path.clone(), fault.message.clone());
    }
}

/// The rules of archives.
pub static RULES: [Rule<Archive>; 8] = [
    rule(
        "AR1",
        "every name stays inside and is written alike everywhere",
        "No entry's name is absolute, begins with a drive letter, climbs with `..`, is empty, has \
         empty segments, NUL, control characters or `\\`, or is not UTF-8. Such an entry would be \
         written elsewhere, or under another name, by some unpackers. Names that would \
         leave the folder are not read.",
        |view, findings| add(FaultKind::Name, view, findings),
    ),
    rule(
        "AR2",
        "every name occurs once",
        "No name is given twice, nothing is below a file, and no two names differ only by letter \
         case or by how accents are composed. Tools and systems disagree on which of two entries \
         counts, so one tool might unpack what another did not check.",
        |view, findings| {
            add(FaultKind::Duplicate, view, findings);
            add(FaultKind::Alike, view, findings);
        },
    ),
    rule(
        "AR3",
        "there are no links or devices",
        "No hard link, and no symbolic link, pipe or device outside of a bundle; inside one the \
         bundle's own rules name it. Links are never followed. In a zip, an entry with the mode of a \
         link is a link, whatever system it claims to come from.",
        |view, findings| add(FaultKind::Link, view, findings),
    ),
    rule(
        "AR4",
        "it does not unpack to far more than it is",
        "Beyond 64 MiB an archive may unpack to at most 200 times its size, and entries of a zip \
         do not share bytes. Reading stops as soon as this is broken.",
        |view, findings| add(FaultKind::Bomb, view, findings),
    ),
    rule(
        "AR5",
        "it is whole",
        "The archive is not truncated, and its sizes and checksums are right. An entry of a kind that \
         is not read (sparse files, rare compressions) is reported.",
        |view, findings| add(FaultKind::Damaged, view, findings),
    ),
    rule(
        "AR6",
        "nothing is encrypted",
        "What is encrypted cannot be checked. Unpack it with its password and verify the folder.",
        |view, findings| add(FaultKind::Encrypted, view, findings),
    ),
    rule(
        "AR7",
        "it is within the limits",
        "Names, extended headers, the number of entries and the documents to keep in memory are \
         within the limits of docs/limits.md.",
        |view, findings| add(FaultKind::Limit, view, findings),
    ),
    rule(
        "AR8",
        "it can be read in one way only",
        "Every byte of a zip belongs to one listed entry, to the list or to its one end record; what \
         precedes a file agrees with what the list says about it. In a tar, only files have content, \
         each entry's name has one source and every number one reading. gzip and Zstandard have \
         one stream and nothing after it. If any of this is broken, unpackers may write \
         different files (docs/archives.md).",
        |view, findings| {
            add(FaultKind::Ambiguous, view, findings);
            add(FaultKind::Unmarked, view, findings);
        },
    ),
];

/// The definition of the archive format: judged only by its reader.
pub static DEFINITION: ArchiveFormat = ArchiveFormat;

/// An archive, which only wraps other formats.
pub struct ArchiveFormat;

impl FormatDefinition for ArchiveFormat {
    fn format(&self) -> Format {
        Format::Archive
    }

    fn proves(&self) -> ProofScope {
        ProofScope {
            shows: &["That any unpacker gets the same files out of it."],
            does_not: &["Anything about what the files in it say."],
        }
    }

    fn rules(&self) -> Vec<&'static RuleInfo> {
        infos(&RULES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archive_each_kind_of_fault_has_its_rule() {
        use FaultKind::{Ambiguous, Bomb, Damaged, Duplicate, Encrypted, Limit, Link, Name};
        let kinds = [
            Name, Duplicate, Link, Bomb, Damaged, Encrypted, Limit, Ambiguous,
        ];
        for (kind, rule) in kinds.into_iter().zip(&RULES) {
            let fault = ArchiveFault {
                kind,
                path: Some("x".to_owned()),
                message: "wrong".to_owned(),
            };
            let report = verify_archive(&[fault]);
            let found: Vec<_> = report.findings().iter().map(|f| f.rule_id).collect();
            assert_eq!(found, [rule.info.id]);
        }
        assert!(verify_archive(&[]).is_valid());
    }
}
