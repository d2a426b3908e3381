//! What redaction needs to know about packs.
//!
//! A pack cannot have more files, but run.json may have more members: it has the commitment as
//! `redaction`, and is committed to without it and without the two hashes that come after it.

use std::collections::BTreeMap;

use super::outcome_of;
use super::sealed::{FILES, SELF_HASH};
use crate::canon::Value;
use crate::formats::Format;
use crate::formats::model_io;
use crate::formats::redacted::derivations::{Derivation, How};
use crate::formats::redacted::documents::find_value;
use crate::formats::redacted::redactable::{
    Keeping, PlaceRef, Redactable, RuleNeeds, digest_digits, digests_around,
};
use crate::formats::run::ResultKind;

/// The member of run.json with the commitment of a redactable pack.
pub const REDACTION_MEMBER: &str = "redaction";

/// The pack as redaction knows it.
pub static REDACTABLE: Redactable = Redactable {
    format: Format::Pack,
    keeping: Keeping::Member {
        file: "run.json",
        steps: &[REDACTION_MEMBER],
        left_out: &[REDACTION_MEMBER, FILES, SELF_HASH],
    },
    stays: &[(
        "run.json",
        &[
            "/run_id",
            "/run_schema_version",
            "/kernel_version",
            "/kernel_result_kind",
            "/started_at",
            "/completed_at",
            "/model_mode",
            "/policy/name",
            "/decision/accepted",
            "/decision/validated_by_kernel",
        ],
    )],
    ids: &[("run.json", "/run_id")],
    hides_name: |_| false,
    needs: &[
        RuleNeeds {
            rules: &["PK14", "PK15", "RS7"],
            files: &[],
        },
        RuleNeeds {
            rules: &["PK3", "PK5", "PK8", "PK13", "PK16", "RS3"],
            files: &["run.json"],
        },
        RuleNeeds {
            rules: &["RS4"],
            files: &["run.json#/bundle", "run.json#/intent"],
        },
        RuleNeeds {
            rules: &["RS6"],
            files: &["run.json#/intent"],
        },
        RuleNeeds {
            rules: &["RS5"],
            files: &["run.json#/policy"],
        },
        RuleNeeds {
            rules: &["RS8"],
            files: &["run.json#/execution/exit_code"],
        },
        RuleNeeds {
            rules: &["PK4", "PK5", "PK13", "PK17"],
            files: &["bundle.json"],
        },
        RuleNeeds {
            rules: &["PK8", "PK13", "PK16", "PK17"],
            files: &["patch.json"],
        },
        RuleNeeds {
            rules: &[
                "PK8", "PK13", "PK16", "PK17", "EV1", "EV2", "EV3", "EV4", "EV5", "EV6", "EV7",
            ],
            files: &["evidence.json"],
        },
        RuleNeeds {
            rules: &["PK8", "PL1", "PL2", "PL3"],
            files: &["policy.json"],
        },
        RuleNeeds {
            rules: &["PK8", "PK13"],
            files: &["runner.json"],
        },
        RuleNeeds {
            rules: &["PK8"],
            files: &["model_io.json"],
        },
        RuleNeeds {
            rules: &["PK9", "PK13", "LD1", "LD2", "LD3", "LD4"],
            files: &["ledger.jsonl"],
        },
    ],
    bound,
    derivations: &[DERIVATIONS, model_io::DERIVATIONS],
    reads: &super::MANIFEST,
    judge_shown: super::shown::judge_shown,
    outcome: |documents| {
        let run = documents.get("run.json");
        let kind = run.and_then(|run| run.get("kernel_result_kind")?.as_str());
        let accepted = match run.and_then(|run| find_value(run, "/decision/accepted")) {
            Some(Value::Bool(accepted)) => Some(*accepted),
            _ => None,
        };
        outcome_of(kind.and_then(ResultKind::parse), accepted)
    },
};

/// What our programs write about a run in more than one file of its pack.
const DERIVATIONS: &[Derivation] = &[
    // The content of a file: planned, executed, written.
    Derivation {
        of: &["patch.json#/operations/*[path={p}]/content"],
        how: How::Same,
        told: &[
            "evidence.json#/proposal/actions/*[target={p}]/content",
            "bundle.json#/outputs/*[path={p}]/content",
        ],
    },
    Derivation {
        of: CONTENT,
        how: How::Digest,
        told: &[
            "patch.json#/operations/*[path={p}]/expected_hash",
            "evidence.json#/proposal/actions/*[target={p}]/expected_hash",
            "evidence.json#/action_results/*[path={p}]/sha256",
            "bundle.json#/outputs/*[path={p}]/content_hash",
            "run.json#/execution/outputs/*[path={p}]/sha256",
        ],
    },
    Derivation {
        of: CONTENT,
        how: How::Size,
        told: &[
            "patch.json#/operations/*[path={p}]/size_bytes",
            "patch.json#/total_bytes",
            "run.json#/execution/outputs/*[path={p}]/size_bytes",
            "run.json#/execution/total_output_bytes",
        ],
    },
    Derivation {
        of: &["patch.json#/operations/*[path={p}]/size_bytes"],
        how: How::Same,
        told: &["run.json#/execution/outputs/*[path={p}]/size_bytes"],
    },
    Derivation {
        of: &["patch.json#/total_bytes"],
        how: How::Same,
        told: &["run.json#/execution/total_output_bytes"],
    },
    // What was done to it.
    Derivation {
        of: DONE,
        how: How::Repeated,
        told: DONE,
    },
    // What a test of the file expects and found.
    Derivation {
        of: CONTENT,
        how: How::Computed,
        told: &["evidence.json#/proposal/acceptance_tests/*[target={p}]/expected"],
    },
    Derivation {
        of: &["evidence.json#/proposal/acceptance_tests/*[id={t}]/expected"],
        how: How::Computed,
        told: &[
            "evidence.json#/test_results/*[test_id={t}]/actual",
            "evidence.json#/test_results/*[test_id={t}]/passed",
        ],
    },
    Derivation {
        of: &["evidence.json#/test_results/*[test_id={t}]/actual"],
        how: How::Repeated,
        told: &["evidence.json#/proposal/acceptance_tests/*[id={t}]/expected"],
    },
    // Names of files, and commands.
    Derivation {
        of: &["evidence.json#/proposal/actions/*[target={p}]/target"],
        how: How::Same,
        told: &[
            "patch.json#/operations/*[path={p}]/path",
            "evidence.json#/action_results/*[path={p}]/path",
            "evidence.json#/proposal/acceptance_tests/*[target={p}]/target",
            "run.json#/execution/outputs/*[path={p}]/path",
            "run.json#/execution/cmd/*[={p}]",
            "bundle.json#/outputs/*[path={p}]/path",
        ],
    },
    Derivation {
        of: &["evidence.json#/proposal/actions/*[target={p}]/target"],
        how: How::Repeated,
        told: &[
            "evidence.json#/proposal/actions/*[target={p}]/description",
            "evidence.json#/proposal/acceptance_tests/*[target={p}]/name",
            "run.json#/decision/reasons",
        ],
    },
    Derivation {
        of: &["evidence.json#/proposal/actions/*[target={p}]/description"],
        how: How::Repeated,
        told: &["evidence.json#/proposal/actions/*[target={p}]/target"],
    },
    Derivation {
        of: &["patch.json#/operations/*/path"],
        how: How::Sorted,
        told: &["patch.json#/operations"],
    },
    Derivation {
        of: &["run.json#/execution/outputs/*/path"],
        how: How::Sorted,
        told: &["run.json#/execution/outputs"],
    },
    // The tree of goals: texts that are measured, passed down and written out.
    Derivation {
        of: GOALS,
        how: How::Computed,
        told: &[
            "bundle.json#/**/goal",
            "bundle.json#/**/density",
            "bundle.json#/**/entropy",
            "bundle.json#/**/unresolved_questions",
            "bundle.json#/outputs/*/content",
            "bundle.json#/outputs/*/confidence",
            "bundle.json#/stats",
            "evidence.json#/proposal/summary",
            "evidence.json#/proposal/confidence",
            "run.json#/clarify_questions",
            "run.json#/decision/reasons",
        ],
    },
    Derivation {
        of: GOALS,
        how: How::Sorted,
        told: &[
            "bundle.json#/**/constraints",
            "bundle.json#/**/source_constraints",
        ],
    },
    // A node is in the tree and among the terminal nodes.
    Derivation {
        of: &["bundle.json#/**/*[id={n}]/density"],
        how: How::Same,
        told: &[],
    },
    Derivation {
        of: &["bundle.json#/**/*[id={n}]/entropy"],
        how: How::Same,
        told: &[],
    },
    Derivation {
        of: &["bundle.json#/**/*[id={n}]/status"],
        how: How::Same,
        told: &[],
    },
    Derivation {
        of: &["bundle.json#/**/density", "bundle.json#/**/entropy"],
        how: How::Computed,
        told: &["bundle.json#/stats"],
    },
    Derivation {
        of: &["bundle.json#/stats"],
        how: How::Repeated,
        told: &["bundle.json#/**/density", "bundle.json#/**/entropy"],
    },
    Derivation {
        of: &["bundle.json#/outputs/*/confidence"],
        how: How::Computed,
        told: &["evidence.json#/proposal/confidence"],
    },
    Derivation {
        of: &["evidence.json#/proposal/confidence"],
        how: How::Repeated,
        told: &["bundle.json#/outputs/*/confidence"],
    },
    // The written output reveals them.
    Derivation {
        of: &["bundle.json#/outputs/*/content"],
        how: How::Repeated,
        told: &[
            "bundle.json#/**/goal",
            "bundle.json#/**/constraints",
            "bundle.json#/**/source_constraints",
        ],
    },
    Derivation {
        of: &["bundle.json#/**/unresolved_questions/*[id={q}]"],
        how: How::Repeated,
        told: &["bundle.json#/**/unresolved_questions/*[id={q}]"],
    },
    Derivation {
        of: &["bundle.json#/**/unresolved_questions"],
        how: How::Repeated,
        told: &["run.json#/clarify_questions", "run.json#/decision/reasons"],
    },
    Derivation {
        of: &["run.json#/clarify_questions"],
        how: How::Repeated,
        told: &["bundle.json#/**/unresolved_questions"],
    },
    // Lists that are sorted by ids, which are digests.
    Derivation {
        of: &[
            "evidence.json#/proposal/acceptance_tests/*/id",
            "evidence.json#/test_results/*/test_id",
        ],
        how: How::Sorted,
        told: &[
            "evidence.json#/proposal/acceptance_tests",
            "evidence.json#/test_results",
        ],
    },
    Derivation {
        of: &["bundle.json#/**/*/id"],
        how: How::Sorted,
        told: &[
            "bundle.json#/outputs",
            "bundle.json#/terminal_nodes",
            "bundle.json#/**/children",
            "bundle.json#/**/unresolved_questions",
        ],
    },
    // The policy, the limits that follow from it, and times.
    Derivation {
        of: &["policy.json#/{m}"],
        how: How::Same,
        told: &["run.json#/policy/{m}", "runner.json#/limits/{m}"],
    },
    Derivation {
        of: &["policy.json#/allowed_commands"],
        how: How::Repeated,
        told: &["runner.json#/commands/allowlist"],
    },
    Derivation {
        of: &["runner.json#/commands/allowlist"],
        how: How::Repeated,
        told: &["policy.json#/allowed_commands"],
    },
    Derivation {
        of: &["policy.json#/allowed_write_roots"],
        how: How::Repeated,
        told: &["runner.json#/write_roots"],
    },
    Derivation {
        of: &["runner.json#/write_roots"],
        how: How::Repeated,
        told: &["policy.json#/allowed_write_roots"],
    },
    Derivation {
        of: &["run.json#/policy/name"],
        how: How::Same,
        told: &["ledger.jsonl#/*/policy"],
    },
    Derivation {
        of: &["run.json#/run_id"],
        how: How::Same,
        told: &["ledger.jsonl#/*/run_id"],
    },
    Derivation {
        of: &["run.json#/kernel_version"],
        how: How::Same,
        told: &["bundle.json#/kernel_version"],
    },
    Derivation {
        of: &["run.json#/kernel_result_kind"],
        how: How::Same,
        told: &["ledger.jsonl#/*/result_kind"],
    },
    Derivation {
        of: &["run.json#/model_mode"],
        how: How::Same,
        told: &["ledger.jsonl#/*/mode"],
    },
    Derivation {
        of: &["run.json#/decision/accepted"],
        how: How::Same,
        told: &["ledger.jsonl#/*/accepted"],
    },
    Derivation {
        of: &["evidence.json#/total_duration_ms"],
        how: How::Same,
        told: &["runner.json#/timing/duration_ms"],
    },
    Derivation {
        of: &["evidence.json#/executor_id"],
        how: How::Repeated,
        told: &["runner.json#/runner_version"],
    },
    Derivation {
        of: &["runner.json#/runner_version"],
        how: How::Repeated,
        told: &["evidence.json#/executor_id"],
    },
    Derivation {
        of: &["run.json#/started_at"],
        how: How::Same,
        told: &[
            "evidence.json#/started_at",
            "runner.json#/timing/started_at",
        ],
    },
    Derivation {
        of: &["run.json#/completed_at"],
        how: How::Same,
        told: &[
            "evidence.json#/completed_at",
            "runner.json#/timing/completed_at",
            "ledger.jsonl#/*/timestamp",
        ],
    },
    Derivation {
        of: &["run.json#/execution/exit_code"],
        how: How::Same,
        told: &["runner.json#/exit/code"],
    },
];

/// The content of the file `{p}`, wherever it is written.
const CONTENT: &[&str] = &[
    "patch.json#/operations/*[path={p}]/content",
    "evidence.json#/proposal/actions/*[target={p}]/content",
    "bundle.json#/outputs/*[path={p}]/content",
];

/// What was to be done and was done to the file, or with the command, `{p}`.
const DONE: &[&str] = &[
    "patch.json#/operations/*[path={p}]/op",
    "evidence.json#/proposal/actions/*[target={p}]/type",
    "evidence.json#/action_results/*[path={p}]/action",
];

/// What the kernel works on.
const GOALS: &[&str] = &[
    "bundle.json#/**/goal",
    "bundle.json#/**/constraints",
    "bundle.json#/**/source_constraints",
    "evidence.json#/proposal/summary",
];

/// Files that say nothing about the intent.
const APART: [&str; 2] = ["policy.json", "runner.json"];
/// Files that say something about the proposal.
const OF_PROPOSAL: [&str; 3] = ["bundle.json", "patch.json", "evidence.json"];

/// The digests that are bound to what is withheld. Every id and hash of a pack covers what is next
/// to it or below it, with three exceptions: the intent's, which is not in the pack but from which
/// the rest was made; the sandbox's, which covers the hash of the proposal; and the proposal's own.
fn bound(documents: &BTreeMap<String, Value>, withheld: &[PlaceRef<'_>]) -> Vec<String> {
    let mut found = Vec::new();
    for (path, pointer) in withheld {
        if let Some(document) = documents.get(*path) {
            digests_around(document, *pointer, &mut found);
        }
    }
    let touches = |names: &[&str]| withheld.iter().any(|(path, _)| names.contains(path));
    let mut add = |path: &str, pointer: &str| {
        let value = documents
            .get(path)
            .and_then(|value| find_value(value, pointer));
        let digits = value.and_then(Value::as_str).and_then(digest_digits);
        found.extend(digits.map(str::to_owned));
    };
    if withheld.iter().any(|(path, _)| !APART.contains(path)) {
        add("run.json", "/intent/sha256");
    }
    if touches(&OF_PROPOSAL) {
        add("run.json", "/execution/sandbox_id");
        add("evidence.json", "/proposal_hash");
        add("evidence.json", "/proposal_id");
        add("patch.json", "/source_proposal_hash");
        add("patch.json", "/source_proposal_id");
    }
    found
}
