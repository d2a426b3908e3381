//! The transform: intent in, bundle out (000 §3, §5, §6).
//!
//! A pure function of the normalized intent and the limits. `complete` means that nothing is left
//! to ask, `incomplete` that there are questions, and `error` that the kernel itself failed, which
//! never passes for success.

use std::collections::BTreeSet;

use crate::intent::{Intent, Refusal};
use crate::output::{Output, make_output};
use crate::question::Question;
use crate::rules::rule_set;
use crate::text::strings;
use crate::tree::{TreeLimits, TreeNode, build_tree};
use runseal_core::canon::{Dialect, NoCanonicalForm, Value, canonical_digest};
use runseal_core::digest::Digest;
use runseal_core::ids::BundleId;

/// The version of the bundle's schema (000).
pub const SCHEMA_VERSION: &str = "0.1.0";
/// Returns the version of the kernel in bundles, with the first eight hex digits of the digest of
/// the rule data as SemVer build metadata.
pub fn kernel_version() -> &'static str {
    rule_set().version()
}

/// A fault inside the kernel, or a refusal.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The intent is refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Something has no canonical form.
    #[error(transparent)]
    NoForm(#[from] NoCanonicalForm),
    /// The rule data that is compiled in is malformed.
    #[error("RULES: {0}")]
    Rules(String),
}

/// The result of a transform that was not refused (000 §2.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultKind {
    /// Nothing is left to ask.
    Bundle,
    /// Questions are open.
    Clarify,
    /// A fault inside the kernel: the bundle's status is error (rulings: its outcome is REFUSE).
    Refuse,
}

impl ResultKind {
    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            ResultKind::Bundle => "BUNDLE",
            ResultKind::Clarify => "CLARIFY",
            ResultKind::Refuse => "REFUSE",
        }
    }
}

/// A context bundle and the parts it is made of.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// Content id.
    pub id: BundleId,
    /// Open questions, in order.
    pub questions: Vec<Question>,
    /// The whole tree.
    pub root: TreeNode,
    /// Outputs, by path.
    pub outputs: Vec<Output>,
    /// What went wrong inside the kernel, if anything did.
    pub failure: Option<String>,
    value: Value,
}

impl Bundle {
    /// BUNDLE, CLARIFY, or REFUSE after a fault.
    pub fn kind(&self) -> ResultKind {
        if self.failure.is_some() {
            return ResultKind::Refuse;
        }
        if self.questions.is_empty() {
            ResultKind::Bundle
        } else {
            ResultKind::Clarify
        }
    }

    /// Returns the bundle as JSON.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Computes the bundle hash (000 §5.3).
    pub fn compute_hash(&self) -> Result<Digest, NoCanonicalForm> {
        canonical_digest(&self.value, Dialect::Kernel)
    }
}

/// Transforms an intent with the default limits.
pub fn transform(intent: &Intent) -> Result<Bundle, KernelError> {
    transform_with(intent, &TreeLimits::default())
}

/// Transforms an intent.
pub fn transform_with(intent: &Intent, limits: &TreeLimits) -> Result<Bundle, KernelError> {
    if let Some(fault) = &rule_set().fault {
        return Err(KernelError::Rules(fault.clone()));
    }
    let declared = intent.declared();
    let root = build_tree(intent.goal(), intent.constraints(), declared, limits)?;
    let questions = collect_questions(&root);
    let mut leaves = root.leaves();
    leaves.sort_by(|a, b| a.id.cmp(&b.id));
    leaves.dedup_by(|a, b| a.id == b.id);
    let made = leaves
        .iter()
        .map(|leaf| make_output(leaf, declared))
        .collect::<Result<Vec<_>, _>>();
    let (mut outputs, failure) = match made {
        Ok(outputs) => (outputs, None),
        Err(fault) => (Vec::new(), Some(fault.to_string())),
    };
    outputs.sort_by(|a, b| runseal_core::canon::compare_utf16(a.path.as_str(), b.path.as_str()));
    let status = match (&failure, questions.is_empty()) {
        (Some(_), _) => "error",
        (None, true) => "complete",
        (None, false) => "incomplete",
    };
    let stats = make_stats(&root, &leaves, outputs.len(), questions.len());
    let mut value = Value::object([
        ("schema_version", Value::from(SCHEMA_VERSION)),
        ("kernel_version", Value::from(kernel_version())),
        ("source_intent_hash", Value::from(intent.hash().to_string())),
        ("status", Value::from(status)),
        ("root_node", node_value(&root)),
        (
            "terminal_nodes",
            Value::Array(leaves.iter().map(|leaf| node_value(leaf)).collect()),
        ),
        (
            "outputs",
            Value::Array(outputs.iter().map(Output::to_value).collect()),
        ),
        (
            "unresolved_questions",
            Value::Array(questions.iter().map(Question::to_value).collect()),
        ),
        ("stats", stats),
    ]);
    let id = BundleId::derive(&value)?;
    value.insert("id", id.as_str());
    Ok(Bundle {
        id,
        questions,
        root,
        outputs,
        failure,
        value,
    })
}

/// Every question of the tree, once, in the order of 000 §4.2. A question of several nodes is taken
/// from the highest one.
fn collect_questions(root: &TreeNode) -> Vec<Question> {
    let mut seen = BTreeSet::new();
    let mut questions = Vec::new();
    root.walk(0, &mut |node, _| {
        let new = node.questions.iter();
        let new = new.filter(|question| seen.insert(question.id.clone()));
        questions.extend(new.cloned());
    });
    questions.sort_by(|a, b| b.priority.cmp(&a.priority).then_with(|| a.id.cmp(&b.id)));
    questions
}

/// Returns a node as JSON: {id, parent_id, status, goal, constraints, entropy, density, children,
/// unresolved_questions, splitting_question?} (rulings).
fn node_value(node: &TreeNode) -> Value {
    let e = &node.measured.entropy;
    let d = &node.measured.density;
    let mut value = Value::object([
        ("id", Value::from(node.id.as_str())),
        (
            "parent_id",
            Value::from(node.parent_id.as_ref().map(|p| p.as_str())),
        ),
        ("status", Value::from(node.status())),
        ("goal", Value::from(node.goal.as_str())),
        ("constraints", strings(&node.constraints)),
        (
            "entropy",
            Value::object([
                ("unresolved_refs", Value::from(e.unresolved_refs)),
                ("schema_gaps", Value::from(e.schema_gaps)),
                ("contradiction_count", Value::from(e.contradiction_count)),
                ("branching_factor", Value::from(e.branching_factor)),
                ("entropy_score", Value::from(e.entropy_score)),
            ]),
        ),
        (
            "density",
            Value::object([
                ("concrete_constraints", Value::from(d.concrete_constraints)),
                ("specified_outputs", Value::from(d.specified_outputs)),
                ("constraint_depth", Value::from(d.constraint_depth)),
                ("density_score", Value::from(d.density_score)),
            ]),
        ),
        (
            "children",
            Value::Array(node.children.iter().map(node_value).collect()),
        ),
        (
            "unresolved_questions",
            Value::Array(node.questions.iter().map(Question::to_value).collect()),
        ),
    ]);
    if let Some(split) = &node.split
        && let Some(question) = node.questions.get(split.question)
    {
        let branches = split.branches.iter().map(|b| {
            Value::object([
                ("branch_id", Value::from(b.branch_id.as_str())),
                ("answer", Value::from(b.answer.as_str())),
                ("added_constraints", strings(&b.added_constraints)),
            ])
        });
        let branches = Value::Array(branches.collect());
        value.insert(
            "splitting_question",
            Value::object([("question", question.to_value()), ("branches", branches)]),
        );
    }
    value
}

fn make_stats(root: &TreeNode, leaves: &[&TreeNode], outputs: usize, questions: usize) -> Value {
    let (mut nodes, mut depth) = (0usize, 0usize);
    root.walk(0, &mut |_, at| {
        nodes += 1;
        depth = depth.max(at);
    });
    // Averages round half up (rulings).
    let average = |of: fn(&TreeNode) -> u8| {
        let sum: usize = leaves.iter().map(|leaf| usize::from(of(leaf))).sum();
        (2 * sum + leaves.len())
            .checked_div(2 * leaves.len())
            .unwrap_or(0)
    };
    Value::object([
        ("total_nodes", Value::from(nodes)),
        ("terminal_nodes", Value::from(leaves.len())),
        ("max_depth", Value::from(depth)),
        ("total_outputs", Value::from(outputs)),
        ("unresolved_count", Value::from(questions)),
        (
            "avg_terminal_entropy",
            Value::from(average(|n| n.measured.entropy.entropy_score)),
        ),
        (
            "avg_terminal_density",
            Value::from(average(|n| n.measured.density.density_score)),
        ),
    ])
}

/// Returns the answer of `transform --result` (000 §8.2).
pub fn result_value(outcome: &Result<Bundle, Refusal>) -> Value {
    let (kind, accepted, reason, bundle) = match outcome {
        Ok(bundle) => {
            let reason = match bundle.questions.len() {
                _ if bundle.failure.is_some() => bundle.failure.clone().unwrap_or_default(),
                0 => "Nothing is left to ask".to_owned(),
                1 => "1 question is open".to_owned(),
                n => format!("{n} questions are open"),
            };
            (
                bundle.kind().name(),
                bundle.kind() == ResultKind::Bundle,
                reason,
                bundle.value().clone(),
            )
        }
        Err(refusal) => ("REFUSE", false, refusal.message(), Value::Null),
    };
    Value::object([
        ("kernel_result_kind", Value::from(kind)),
        (
            "decision",
            Value::object([
                ("accepted", Value::from(accepted)),
                ("reason", Value::from(reason)),
            ]),
        ),
        ("bundle", bundle),
    ])
}
