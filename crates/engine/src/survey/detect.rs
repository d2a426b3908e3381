//! What something is, by its content.

use runseal_core::canon::{Kind, Node};
use runseal_core::formats::Format;
use runseal_core::source::EntryKind;

/// What is said where nothing was found.
pub const NOTHING_FOUND: &str = "nothing to verify was found: no folder with bundle.json and \
    artifacts/ (job bundle), run.json (pack), RUN_META.json or RUN_OUTPUT.json (run bundle) or \
    ENGINE_MANIFEST.json (engine), no archive of these, and no JSON document of a known format; \
    -r looks below folders";

/// What a document or folder is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detected {
    /// This.
    Is(Format),
    /// It has marks of each of these alike.
    Several(Vec<Format>),
    /// None that is known.
    Unknown,
}

/// Members that a document of one format has and those of the others do not.
const MEMBERS: [(Format, &[&str]); 9] = [
    (
        Format::ContextBundle,
        &[
            "source_intent_hash",
            "root_node",
            "terminal_nodes",
            "unresolved_questions",
        ],
    ),
    (
        Format::JobBundle,
        &["bundle_version", "provenance", "inputs", "hashes"],
    ),
    (
        Format::Proposal,
        &[
            "source_bundle_id",
            "source_bundle_hash",
            "actions",
            "acceptance_tests",
            "requires_approval",
        ],
    ),
    (
        Format::Patch,
        &[
            "patch_schema_version",
            "source_proposal_id",
            "source_proposal_hash",
            "operations",
            "total_bytes",
        ],
    ),
    (
        Format::ModelIo,
        &[
            "model_io_schema_version",
            "adapter_id",
            "model_id",
            "interactions",
        ],
    ),
    (
        Format::Runner,
        &[
            "runner_schema_version",
            "runner_id",
            "runner_version",
            "write_roots",
            "platform",
        ],
    ),
    (
        Format::Evidence,
        &[
            "proposal_id",
            "proposal_hash",
            "action_results",
            "test_results",
        ],
    ),
    (
        Format::Ledger,
        &["intent_sha256", "result_kind", "bundle_sha256"],
    ),
    (
        Format::Receipt,
        &[
            "receipt_version",
            "receipt_hash",
            "executor_version",
            "parent_receipt_hash",
            "receipt_index",
        ],
    ),
];

/// Names that tell what a document should be, where its content does not.
const NAMES: [(&str, Format); 8] = [
    ("bundle.json", Format::ContextBundle),
    ("proposal.json", Format::Proposal),
    ("patch.json", Format::Patch),
    ("model_io.json", Format::ModelIo),
    ("runner.json", Format::Runner),
    ("evidence.json", Format::Evidence),
    ("ledger.jsonl", Format::Ledger),
    ("receipt.json", Format::Receipt),
];

/// What a document that was parsed is. A list of receipts is a chain of them.
pub fn detect_root(root: Node<'_>, file_name: &str) -> Detected {
    let looked_at = match root.kind() {
        Kind::Array => root.items().next().unwrap_or(root),
        _ => root,
    };
    let detected = by_members(|member| looked_at.get(member).is_some());
    match (root.kind(), &detected) {
        (Kind::Array, Detected::Is(format)) if *format != Format::Receipt => by_name(file_name),
        (_, Detected::Unknown) => by_name(file_name),
        _ => detected,
    }
}

/// Bytes of a text that are looked at from each of its ends.
const LOOKED_AT: usize = 1 << 20;

/// What a text that is no JSON was meant to be: the members are looked for by their spelling.
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
    let counts = MEMBERS.map(|(format, members)| (count(members), format));
    let most = counts.iter().map(|(count, _)| *count).max().unwrap_or(0);
    let best: Vec<Format> = (counts.iter())
        .filter(|(count, _)| *count == most && most > 0)
        .map(|(_, format)| *format)
        .collect();
    match best.as_slice() {
        [] => Detected::Unknown,
        [one] => Detected::Is(*one),
        _ => Detected::Several(best),
    }
}

fn by_name(file_name: &str) -> Detected {
    let named = NAMES.iter().find(|(name, _)| *name == file_name);
    named.map_or(Detected::Unknown, |(_, format)| Detected::Is(*format))
}

/// Whether a file that nobody named is worth a look: a document or an archive by its ending.
pub fn is_candidate(name: &[u8]) -> bool {
    const ENDINGS: [&[u8]; 9] = [
        b".json",
        b".jsonl",
        b".tar",
        b".tar.gz",
        b".tgz",
        b".tar.zst",
        b".tzst",
        b".zip",
        b".JSON",
    ];
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// The names in a folder that tell what it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Markers {
    run_meta_or_output: bool,
    engine_manifest: bool,
    /// An engine may keep its contracts in two folders of their own.
    contract_folders: u8,
    sums: bool,
    run_json: bool,
    bundle_json: bool,
    artifacts: bool,
    other_pack_file: bool,
}

impl Markers {
    /// Takes note of a name.
    pub fn note(&mut self, name: &[u8], kind: EntryKind) {
        match name {
            b"RUN_META.json" | b"RUN_OUTPUT.json" => self.run_meta_or_output = true,
            b"ENGINE_MANIFEST.json" => self.engine_manifest = true,
            b"MANIFEST" | b"SEALING" if kind == EntryKind::Directory => self.contract_folders += 1,
            b"SHA256SUMS.txt" => self.sums = true,
            b"run.json" => self.run_json = true,
            b"bundle.json" => self.bundle_json = true,
            b"artifacts" => self.artifacts = true,
            // A ledger or a recording is kept beside other things as well.
            b"evidence.json" | b"meta.json" | b"patch.json" | b"policy.json" | b"runner.json" => {
                self.other_pack_file = true
            }
            _ => {}
        }
    }

    /// Whether `artifacts` is all that speaks for a job bundle. Other folders have that name too.
    pub fn has_artifacts_alone(&self) -> bool {
        self.artifacts && !self.bundle_json
    }

    /// What the folder is. `bundle_json` reads that file, for where the names do not decide.
    pub fn detect(&self, bundle_json: impl FnOnce() -> Option<Vec<u8>>) -> Detected {
        if self.run_meta_or_output || (self.engine_manifest && self.sums) {
            return if self.run_json {
                Detected::Several(vec![Format::Pack, Format::RunBundle])
            } else {
                Detected::Is(Format::RunBundle)
            };
        }
        if self.engine_manifest || self.contract_folders == 2 {
            return Detected::Is(Format::Engine);
        }
        let pack = self.run_json || (self.bundle_json && self.other_pack_file);
        if !pack && !self.bundle_json {
            return match self.artifacts {
                true => Detected::Is(Format::JobBundle),
                false => Detected::Unknown,
            };
        }
        if !pack && self.artifacts {
            return Detected::Is(Format::JobBundle);
        }
        let is_job = self.bundle_json
            && bundle_json()
                .is_some_and(|bytes| detect_text(&bytes, "") == Detected::Is(Format::JobBundle));
        match (is_job, self.run_json, pack) {
            (true, true, _) => Detected::Several(vec![Format::JobBundle, Format::Pack]),
            (true, false, _) => Detected::Is(Format::JobBundle),
            (false, _, true) => Detected::Is(Format::Pack),
            (false, _, false) => Detected::Unknown,
        }
    }
}

/// How several formats are named in a message.
pub fn several(formats: &[Format]) -> String {
    let names: Vec<_> = formats.iter().map(|format| format.title()).collect();
    format!(
        "it could be a {}: it has marks of each",
        names.join(" or a ")
    )
}

#[cfg(test)]
mod tests {
    use runseal_core::canon::{ReadOptions, parse_document};

    use super::*;

    fn of(text: &str, name: &str) -> Detected {
        match parse_document(text.as_bytes(), &ReadOptions::default()) {
            Ok(document) => detect_root(document.root(), name),
            Err(_) => detect_text(text.as_bytes(), name),
        }
    }

    #[test]
    fn document_is_told_by_its_members_and_by_name_only_where_they_say_nothing() {
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
    fn document_that_is_broken_is_still_known() {
        assert_eq!(
            of(r#"{"receipt_hash":"aa","#, "x.json"),
            Detected::Is(Format::Receipt)
        );
        assert_eq!(of("{", "bundle.json"), Detected::Is(Format::ContextBundle));
        assert_eq!(of("{", "x.json"), Detected::Unknown);
    }

    #[test]
    fn folder_is_told_by_its_files() {
        let detect = |names: &[&str], bundle: &str| {
            let mut markers = Markers::default();
            for name in names {
                let kind = match name.contains('.') {
                    true => EntryKind::File,
                    false => EntryKind::Directory,
                };
                markers.note(name.as_bytes(), kind);
            }
            markers.detect(|| Some(bundle.as_bytes().to_vec()))
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
        assert_eq!(detect(&["README.md"], ""), Detected::Unknown);
        assert_eq!(
            detect(&["run.json", "RUN_META.json"], ""),
            Detected::Several(vec![Format::Pack, Format::RunBundle])
        );
    }
}
