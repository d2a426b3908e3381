//! What redaction has to know of packs.
//!
//! A pack has no room for more files, but run.json is open to more members: it holds the commitment as
//! `redaction`, and is committed to without it and without the two hashes that come after it.

use std::collections::BTreeMap;

use super::sealed::{FILES, SELF_HASH};
use super::tell_outcome;
use crate::canon::Value;
use crate::formats::Format;
use crate::formats::redacted::documents::find_value;
use crate::formats::redacted::redactable::{
    Keeping, PlaceRef, Redactable, RuleNeeds, digest_digits, digests_around,
};
use crate::formats::run::ResultKind;

/// The member of run.json that holds the commitment of a redactable pack.
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
            rules: &["PK14", "RS7"],
            files: &[],
        },
        RuleNeeds {
            rules: &["PK3", "PK13", "PK15", "RS3", "RS4"],
            files: &["run.json"],
        },
        RuleNeeds {
            rules: &["PK4", "PK5", "PK13"],
            files: &["bundle.json"],
        },
        RuleNeeds {
            rules: &["PK8", "PK13", "PK15", "PK16"],
            files: &["patch.json"],
        },
        RuleNeeds {
            rules: &[
                "PK8", "PK13", "PK15", "PK16", "EV1", "EV2", "EV3", "EV4", "EV5", "EV6", "EV7",
            ],
            files: &["evidence.json"],
        },
        RuleNeeds {
            rules: &["PK8", "RS5", "PL1", "PL2", "PL3"],
            files: &["policy.json"],
        },
        RuleNeeds {
            rules: &["PK8", "PK13", "PK15"],
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
    twins: |_| Vec::new(),
    outcome: |documents| {
        let run = documents.get("run.json")?;
        let kind = run.get("kernel_result_kind").and_then(Value::as_str);
        let accepted = match find_value(run, "/decision/accepted") {
            Some(Value::Bool(accepted)) => Some(*accepted),
            _ => None,
        };
        tell_outcome(kind.and_then(ResultKind::parse), accepted)
    },
};

/// Files that say nothing of the intent.
const APART: [&str; 2] = ["policy.json", "runner.json"];
/// Files that say something of the proposal.
const OF_PROPOSAL: [&str; 3] = ["bundle.json", "patch.json", "evidence.json"];

/// Every id and hash of a pack is over what stands beside it or below it. Three are not: the intent's,
/// which is not in the pack and of which the rest was made; the sandbox's, which is over the
/// hash of the proposal; and the proposal's own.
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
