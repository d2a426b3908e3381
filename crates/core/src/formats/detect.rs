//! Detects formats by content: asks each format, and names none here.

use super::Format;
use super::REGISTRY;
use super::definition::{Claim, FolderNames, FormatDefinition, ReadName};
use crate::canon::{Kind, Node};

/// What format a document or folder has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detected {
    /// One format claims it.
    Is(Format),
    /// Several formats claim it equally.
    Several(Vec<Format>),
    /// No format claims it.
    Unknown,
}

impl Detected {
    fn of(formats: Vec<Format>) -> Self {
        match formats.as_slice() {
            [] => Self::Unknown,
            [one] => Self::Is(*one),
            _ => Self::Several(formats),
        }
    }
}

/// Detects the format of a parsed document. A list of receipts is a chain of receipts.
pub fn detect_root(root: Node<'_>, file_name: &str) -> Detected {
    let subject = match root.kind() {
        Kind::Array => root.items().next().unwrap_or(root),
        _ => root,
    };
    let detected = by_members(|member| subject.get(member).is_some());
    match (root.kind(), &detected) {
        (Kind::Array, Detected::Is(format)) if *format != Format::Receipt => by_name(file_name),
        (_, Detected::Unknown) => by_name(file_name),
        _ => detected,
    }
}

/// How many bytes of a text are searched from each of its ends.
const LOOKED_AT: usize = 1 << 20;

/// Detects what a text that is not JSON was meant to be, by the spelling of the members in it.
pub fn detect_text(bytes: &[u8], file_name: &str) -> Detected {
    let front = &bytes[..bytes.len().min(LOOKED_AT)];
    let back = &bytes[bytes.len().saturating_sub(LOOKED_AT)..];
    let (front, back) = (
        String::from_utf8_lossy(front),
        String::from_utf8_lossy(back),
    );
    let detected = by_members(|member| {
        let spelled = format!("\"{member}\"");
        front.contains(&spelled) || back.contains(&spelled)
    });
    match detected {
        Detected::Unknown => by_name(file_name),
        detected => detected,
    }
}

fn by_members(has: impl Fn(&str) -> bool) -> Detected {
    let count = |members: &[&str]| members.iter().filter(|member| has(member)).count();
    let counts = REGISTRY.map(|definition| (count(definition.members()), definition.format()));
    let most = counts.iter().map(|(count, _)| *count).max().unwrap_or(0);
    let best = counts
        .iter()
        .filter(|(count, _)| *count == most && most > 0)
        .map(|(_, format)| *format);
    let mut best: Vec<Format> = best.collect();
    best.sort();
    Detected::of(best)
}

fn by_name(file_name: &str) -> Detected {
    let named = REGISTRY
        .iter()
        .find(|definition| definition.file_name() == Some(file_name));
    named.map_or(Detected::Unknown, |definition| {
        Detected::Is(definition.format())
    })
}

/// Detects the format of the folder with these names, and how sure that is.
pub fn detect_folder(names: &FolderNames, read: ReadName<'_>) -> (Detected, Claim) {
    let claims = REGISTRY.map(|definition| (definition.claims(names, read), definition.format()));
    // A redacted copy has the names of the original.
    if claims.contains(&(Claim::Strong, Format::Redacted)) {
        return (Detected::Is(Format::Redacted), Claim::Strong);
    }
    for wanted in [Claim::Strong, Claim::Weak, Claim::Leftover] {
        let claimants = claims.iter().filter(|(claim, _)| *claim == wanted);
        let mut formats: Vec<Format> = claimants.map(|(_, format)| *format).collect();
        if !formats.is_empty() {
            formats.sort();
            return (Detected::of(formats), wanted);
        }
    }
    (Detected::Unknown, Claim::No)
}

/// Whether a folder is finished and complete, so that another file in it would break its seal.
/// This demands more than [`detect_folder`]: some names of a format make a folder worth judging,
/// but only the names of a finished one forbid writing into it.
pub fn is_sealed_folder(has: impl Fn(&str) -> bool) -> bool {
    REGISTRY.iter().any(|definition| {
        let names = definition.sealed_names();
        !names.is_empty() && names.iter().all(|name| has(name))
    })
}

/// Detects the format of the folder with these names after a weak claim on it turned out wrong.
pub fn detect_leftover(names: &FolderNames) -> Detected {
    let claims = |definition: &&&dyn FormatDefinition| {
        definition.claims(names, &|_| None) == Claim::Leftover
    };
    let claimants = REGISTRY.iter().filter(claims);
    Detected::of(claimants.map(|definition| definition.format()).collect())
}

/// Whether a file that was not named explicitly has the ending of a document or an archive, in any
/// letter case.
pub fn is_candidate(name: &[u8]) -> bool {
    const ENDINGS: [&[u8]; 8] = [
        b".json",
        b".jsonl",
        b".tar",
        b".tar.gz",
        b".tgz",
        b".tar.zst",
        b".tzst",
        b".zip",
    ];
    ends_with_any(name, &ENDINGS)
}

/// Whether a file that was not named explicitly is a zip unrelated to evidence, such as a text
/// document or a program. There are too many of these to look into each.
pub fn is_ordinary_zip(name: &[u8]) -> bool {
    const ENDINGS: [&[u8]; 25] = [
        b".docx", b".docm", b".dotx", b".xlsx", b".xlsm", b".pptx", b".odt", b".ods", b".odp",
        b".odg", b".epub", b".jar", b".war", b".whl", b".apk", b".aab", b".ipa", b".xpi", b".vsix",
        b".nupkg", b".npz", b".pt", b".pth", b".kmz", b".3mf",
    ];
    ends_with_any(name, &ENDINGS)
}

fn ends_with_any(name: &[u8], endings: &[&[u8]]) -> bool {
    let ends = |ending: &&[u8]| {
        let rest = name.len().checked_sub(ending.len());
        rest.is_some_and(|at| name[at..].eq_ignore_ascii_case(ending))
    };
    endings.iter().any(ends)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::{ReadOptions, parse_document};
    use crate::source::EntryKind;

    fn of(text: &str, name: &str) -> Detected {
        match parse_document(text.as_bytes(), &ReadOptions::default()) {
            Ok(document) => detect_root(document.root(), name),
            Err(_) => detect_text(text.as_bytes(), name),
        }
    }

    #[test]
    fn document_is_detected_by_members_before_file_name() {
        let is = Detected::Is;
        assert_eq!(of(r#"{"operations":[]}"#, "x.json"), is(Format::Patch));
        assert_eq!(
            of(r#"{"operations":[]}"#, "receipt.json"),
            is(Format::Patch)
        );
        assert_eq!(of("[]", "patch.json"), is(Format::Patch));
        assert_eq!(of(r#"{"goal":"x"}"#, "intent.json"), Detected::Unknown);
        assert_eq!(
            of(r#"[{"receipt_hash":""}]"#, "chain.json"),
            is(Format::Receipt)
        );
        assert_eq!(of(r#"[{"operations":""}]"#, "x.json"), Detected::Unknown);
        assert_eq!(
            of(r#"{"actions":[],"operations":[]}"#, ""),
            Detected::Several(vec![Format::Proposal, Format::Patch])
        );
    }

    #[test]
    fn candidates_are_detected_by_ending_in_any_letter_case() {
        for name in ["a.json", "A.JSON", "e.Zip", "EVIDENCE.TAR.GZ", "x.Tgz"] {
            assert!(is_candidate(name.as_bytes()), "{name}");
        }
        for name in ["json", "a.json5", "evidence", "a.gz", "é"] {
            assert!(!is_candidate(name.as_bytes()), "{name}");
        }
        assert!(is_ordinary_zip(b"Report.DOCX") && !is_ordinary_zip(b"a.zip"));
    }

    #[test]
    fn broken_document_is_still_detected() {
        assert_eq!(
            of(r#"{"receipt_hash":"aa","#, "x.json"),
            Detected::Is(Format::Receipt)
        );
        assert_eq!(of("{", "bundle.json"), Detected::Is(Format::ContextBundle));
        assert_eq!(of("{", "x.json"), Detected::Unknown);
    }

    #[test]
    fn folder_is_sealed_only_with_names_of_finished_one() {
        let is_sealed = |names: &[&str]| is_sealed_folder(|name| names.contains(&name));
        for names in [
            &["RUN_META.json", "SHA256SUMS.txt", "other"][..],
            &["run.json", "policy.json"],
            &["bundle.json", "artifacts"],
            &["REDACTED.json"],
        ] {
            assert!(is_sealed(names), "{names:?}");
        }
        for names in [
            &[][..],
            &["SHA256SUMS.txt", "artifacts"],
            &["run.json", "artifacts"],
            &["bagit.txt", "data"],
        ] {
            assert!(!is_sealed(names), "{names:?}");
        }
    }

    #[test]
    fn folder_is_detected_by_its_entries() {
        let detect = |names: &[&str], bundle: &str| {
            let mut found = FolderNames::default();
            for name in names {
                let kind = if name.contains('.') {
                    EntryKind::File
                } else {
                    EntryKind::Directory
                };
                found.note(name.as_bytes(), kind);
            }
            detect_folder(&found, &|_| Some(bundle.as_bytes().to_vec())).0
        };
        let is = Detected::Is;
        let job = r#"{"bundle_version":"5.0.0"}"#;
        assert_eq!(
            detect(&["bundle.json", "artifacts"], ""),
            is(Format::JobBundle)
        );
        assert_eq!(detect(&["bundle.json"], job), is(Format::JobBundle));
        assert_eq!(detect(&["bundle.json"], "{}"), Detected::Unknown);
        assert_eq!(detect(&["artifacts"], ""), is(Format::JobBundle));
        assert_eq!(detect(&["run.json", "bundle.json"], "{}"), is(Format::Pack));
        assert_eq!(
            detect(&["bundle.json", "policy.json"], "{}"),
            is(Format::Pack)
        );
        assert_eq!(
            detect(&["run.json", "bundle.json", "artifacts"], "{}"),
            is(Format::Pack)
        );
        assert_eq!(
            detect(&["RUN_META.json", "artifacts"], ""),
            is(Format::RunBundle)
        );
        assert_eq!(
            detect(&["ENGINE_MANIFEST.json", "SHA256SUMS.txt"], ""),
            is(Format::RunBundle)
        );
        assert_eq!(detect(&["ENGINE_MANIFEST.json"], ""), is(Format::Engine));
        assert_eq!(
            detect(&["ENGINE_MANIFEST.json", "artifacts"], ""),
            is(Format::RunBundle),
            "artifacts remain of a run"
        );
        // A stripped bundle is still detected.
        for left in [
            "RUN_INPUT.json",
            "RUN_ENVIRONMENT.json",
            "ARTIFACT_INDEX.json",
        ] {
            assert_eq!(
                detect(&["ENGINE_MANIFEST.json", left], ""),
                is(Format::RunBundle)
            );
            assert_eq!(detect(&[left], ""), is(Format::RunBundle));
        }
        assert_eq!(
            detect(&["evidence.json", "patch.json"], ""),
            is(Format::Pack)
        );
        for name in ["run.json", "RUN_META.json", "bundle.json"] {
            assert_eq!(detect(&[name, "REDACTED.json"], ""), is(Format::Redacted));
        }
        assert_eq!(detect(&["RUN_BUNDLE"], ""), Detected::Unknown);
        assert_eq!(detect(&["bagit.txt"], ""), is(Format::Bag));
        assert_eq!(
            detect(&["data", "manifest-md5.txt"], ""),
            is(Format::Bag),
            "without its bagit.txt"
        );
        assert_eq!(detect(&["data"], ""), Detected::Unknown);
        // A list of sums never overrides another format.
        assert_eq!(detect(&["SHA256SUMS.txt"], ""), is(Format::Checksums));
        for (name, format) in [
            ("RUN_INPUT.json", Format::RunBundle),
            ("ENGINE_MANIFEST.json", Format::RunBundle),
            ("run.json", Format::Pack),
            ("artifacts", Format::JobBundle),
            ("bagit.txt", Format::Bag),
        ] {
            assert_eq!(detect(&["SHA256SUMS.txt", name], ""), is(format), "{name}");
        }
        assert_eq!(detect(&["README.md"], ""), Detected::Unknown);
        assert_eq!(
            detect(&["run.json", "RUN_META.json"], ""),
            Detected::Several(vec![Format::Pack, Format::RunBundle])
        );
    }
}
