//! patch.json: the file operations of a proposal. Other actions are left out.

use runseal_core::canon::{Value, compare_utf16};
use runseal_core::digest::ContentHash;

use super::Proposal;

/// Makes the patch set of a proposal. It is valid if no file is the target of two actions.
pub fn make_patch(proposal: &Proposal) -> Value {
    let mut files: Vec<_> = proposal
        .actions
        .iter()
        .filter(|action| action.kind.is_file_operation())
        .collect();
    // Every file occurs once, so the order of the operations does not matter; sorted by path is the
    // canonical one.
    files.sort_by(|a, b| compare_utf16(&a.target, &b.target));
    let mut total = 0;
    let operations: Vec<Value> = files
        .into_iter()
        .map(|action| {
            let mut operation = Value::object([
                ("op", Value::from(action.kind.evidence_name())),
                ("path", Value::from(action.target.as_str())),
            ]);
            if let Some(content) = &action.content {
                total += content.len();
                operation.insert("content", content.as_str());
                operation.insert("size_bytes", content.len());
                operation.insert(
                    "expected_hash",
                    ContentHash::of(content.as_bytes()).to_string(),
                );
            }
            operation
        })
        .collect();
    Value::object([
        ("patch_schema_version", Value::from("1.0.0")),
        ("source_proposal_id", Value::from(proposal.id.as_str())),
        (
            "source_proposal_hash",
            Value::from(proposal.hash().to_string()),
        ),
        ("operations", Value::Array(operations)),
        ("total_bytes", Value::from(total)),
    ])
}
