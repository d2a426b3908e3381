//! The context bundle (document 000): its rules and its summary.
//!
//! Paths in findings are JSON paths that begin with `$`. A missing or mistyped field silences only
//! the rules that need it: every rule walks the document independently and skips what is not there.
//! The document is only judged; nothing here makes one.

mod content;
mod fields;
mod order;
mod schema;
mod settled;
mod summary;
mod walk;

use crate::canon::{Kind, Node};
use crate::digest::Digest;
use crate::formats::Format;
use crate::formats::definition::{DocumentFormat, Identity, Outcome, ProofScope, infos};
use crate::limits::BUNDLE_MAX_STEPS;
use crate::verify::{Findings, Gate, Level, Report, Rule, RuleInfo, Subject, run_rules};

pub use summary::summarize_bundle;

/// A context bundle as the rules see it.
#[derive(Debug, Clone, Copy)]
pub struct BundleView<'a> {
    /// The parsed document.
    pub root: Node<'a>,
    /// The hash of the bundle that transforming the intent again gives; `None` if no intent was
    /// given.
    pub transformed: Option<Digest>,
}

/// Names the context bundle as the subject of its rules.
pub struct ContextBundle;

impl Subject for ContextBundle {
    type View<'a> = BundleView<'a>;
    const FORMAT: Format = Format::ContextBundle;

    fn excess(view: &BundleView<'_>) -> Option<String> {
        /// Counts a value once for each bracket that encloses it.
        fn count(node: Node<'_>, depth: u64, left: &mut u64) -> Option<()> {
            *left = left.checked_sub(depth)?;
            let inside = |value| count(value, depth + 1, left);
            let mut values = node.items().chain(node.members().map(|(_, value)| value));
            values.try_for_each(inside)
        }
        let is_within = count(view.root, 0, &mut { BUNDLE_MAX_STEPS }).is_some();
        (!is_within).then(|| {
            format!(
                "the paths to its values have more than {BUNDLE_MAX_STEPS} steps in total, the limit"
            )
        })
    }
}

/// Verifies a context bundle.
pub fn verify_bundle(view: &BundleView<'_>, level: Level) -> Report {
    run_rules(&RULES, view, level)
}

const fn rule(
    id: &'static str,
    section: &'static str,
    title: &'static str,
    explanation: &'static str,
    check: for<'a> fn(&BundleView<'a>, &mut Findings),
) -> Rule<ContextBundle> {
    Rule {
        info: RuleInfo {
            id,
            format: Format::ContextBundle,
            title,
            section,
            level: Level::Document,
            explanation,
        },
        gate: needs_object,
        check,
    }
}

const fn at_level(level: Level, rule: Rule<ContextBundle>) -> Rule<ContextBundle> {
    Rule {
        info: RuleInfo { level, ..rule.info },
        gate: rule.gate,
        check: rule.check,
    }
}

fn needs_object(view: &BundleView<'_>) -> Gate {
    match view.root.kind() {
        Kind::Object => Gate::Ready,
        _ => Gate::NotRun("the document is not an object"),
    }
}

/// The rules of a context bundle.
pub static RULES: [Rule<ContextBundle>; 21] = [
    Rule {
        info: RuleInfo {
            id: "SCHEMA",
            format: Format::ContextBundle,
            title: "the fields are there, with their types",
            section: "000 §3.1",
            level: Level::Document,
            explanation: "Every field of the bundle, its nodes, questions, branches, outputs and \
                          stats is present with its type, at every level; node status, output \
                          type and answer type are known words.",
        },
        gate: |_| Gate::Ready,
        check: schema::check_schema,
    },
    rule(
        "BS1",
        "000 §3.1, §7.1",
        "the schema version is given",
        "schema_version is a version as SemVer 2.0.0 writes it.",
        fields::check_version,
    ),
    Rule {
        info: RuleInfo {
            id: "BS2",
            format: Format::ContextBundle,
            title: "the intent gives this bundle again",
            section: "000 Appendix A",
            level: Level::Document,
            explanation: "Transforming the intent again gives a bundle with the same hash. Checked \
                          if the intent is given.",
        },
        gate: |view| match (view.root.kind(), view.transformed) {
            (Kind::Object, Some(_)) => Gate::Ready,
            (_, None) => Gate::NotApplicable("no intent was given"),
            _ => Gate::NotRun("the document is not an object"),
        },
        check: content::check_transformed,
    },
    rule(
        "BS3",
        "000 §4.2",
        "outputs are in order",
        "outputs are sorted by path, by UTF-16 code units.",
        order::check_outputs,
    ),
    rule(
        "BS4",
        "000 §4.2",
        "constraints are in order",
        "constraints of every node and source_constraints of every output are sorted by UTF-16 \
         code units.",
        order::check_constraints,
    ),
    rule(
        "BS5",
        "000 §4.2",
        "questions are in order",
        "unresolved_questions of the bundle and of the terminal nodes are sorted by priority, \
         highest first, then by id.",
        order::check_questions,
    ),
    rule(
        "BS6",
        "000 §4.2",
        "terminal nodes are in order",
        "terminal_nodes are sorted by id.",
        order::check_terminal_nodes,
    ),
    rule(
        "BS7",
        "000 §4.5",
        "output paths are safe",
        "No output path begins with `/`, contains a backslash, or contains `..` anywhere.",
        fields::check_safe_paths,
    ),
    rule(
        "BS8",
        "000 §4.1, Appendix A",
        "the canonical form exists and is stable",
        "The bundle has a canonical form, and canonicalizing that form changes nothing. A number \
         beyond the double range has none.",
        content::check_canonical,
    ),
    rule(
        "BS9",
        "000 §3.3",
        "ids have their form",
        "bundle_, node_, q_ and out_ ids have 16 lower-case hex digits, branch ids 8, \
         source_intent_hash 64.",
        fields::check_ids,
    ),
    rule(
        "BS10",
        "000 §3.4",
        "scores are integers from 0 to 100",
        "entropy_score, density_score, information_gain, priority, confidence and the averages of \
         the stats are integers from 0 to 100, however they are spelled.",
        fields::check_scores,
    ),
    rule(
        "BS11",
        "000 §4.2",
        "children, options, branches and the tree's questions are in order",
        "children are sorted by id, options by UTF-16 code units, branches by branch_id, and the \
         questions of the nodes in the tree like those of BS5.",
        order::check_inner_lists,
    ),
    rule(
        "BS12",
        "000 §4.5",
        "output paths are normalized",
        "No segment of an output path is empty or `.`; no drive letter, no control character, not \
         empty. A path that breaks BS7 is reported there only.",
        fields::check_normalized_paths,
    ),
    rule(
        "BS13",
        "000 §3.2",
        "the status agrees with the questions",
        "status is complete, incomplete or error; complete has no open question and at least one \
         terminal node, incomplete has an open question.",
        fields::check_status,
    ),
    at_level(
        Level::Integrity,
        rule(
            "BS20",
            "000 §5.4",
            "ids, hashes and stats are those of the content",
            "The ids of the bundle, its nodes, questions and outputs, every content_hash and every \
             number of the stats is computed again and compared. A content_hash of bare digits \
             counts. total_nodes and max_depth are compared if the whole tree is given.",
            content::check_derived,
        ),
    ),
    at_level(
        Level::Integrity,
        rule(
            "BS21",
            "000 §3.1",
            "terminal nodes are the tree's leaves",
            "terminal_nodes has exactly the nodes of the tree that have no children, each once \
             and word for word; a child given as an id is among them.",
            content::check_leaves,
        ),
    ),
    at_level(
        Level::Integrity,
        rule(
            "BS22",
            "000 §3.1, §5.1",
            "the nodes are a tree",
            "Each node's parent_id is the id of the node above it, null at the root; so is that of \
             a terminal node that is a child by its id. No node is in the tree twice, so none is \
             below itself; terminal nodes have no children.",
            content::check_tree,
        ),
    ),
    at_level(
        Level::Form,
        rule(
            "BS23",
            "000 §5.1, §5.4",
            "the whole tree is given",
            "Every child that is given as an id is the id of a terminal node, and branch ids are derived \
             from the answer and the question's id.",
            content::check_whole_tree,
        ),
    ),
    at_level(
        Level::Integrity,
        rule(
            "BS24",
            "000 §3.1",
            "the questions are those of the nodes",
            "unresolved_questions of the bundle has every question of the nodes, each once and \
             word for word as a node has it, and no other. If children are given as ids that no \
             terminal node has, they may ask more.",
            settled::check_questions_of_nodes,
        ),
    ),
    at_level(
        Level::Integrity,
        rule(
            "BS25",
            "000 §3.2",
            "the leaves of a complete bundle are terminal",
            "If status is complete, the status of every leaf of the tree and of every terminal \
             node is terminal.",
            settled::check_leaves_of_complete,
        ),
    ),
    at_level(
        Level::Integrity,
        rule(
            "BS26",
            "000 §2.1, §2.5, §4.4",
            "goals and constraints are normalized",
            "No goal and no constraint is blank, each is what normalization makes of it (line ends, \
             NFC, white space), and no list of constraints has one twice.",
            settled::check_normalized,
        ),
    ),
];

/// The definition of the context bundle format.
pub static DEFINITION: DocumentFormat = DocumentFormat {
    format: Format::ContextBundle,
    proves: ProofScope {
        shows: &[
            "That its ids, counts and hashes are those of its content, and its tree hangs together.",
        ],
        does_not: &["That the intent was understood."],
    },
    rules: || infos(&RULES),
    members: &[
        "source_intent_hash",
        "root_node",
        "terminal_nodes",
        "unresolved_questions",
    ],
    file_name: "bundle.json",
    judge: |root, level| {
        let transformed = None;
        verify_bundle(&BundleView { root, transformed }, level)
    },
    identify: |root| {
        let status = root.get("status").and_then(|node| node.as_lossy_str());
        let (word, outcome) = match status.as_deref() {
            Some("complete") => (Some("BUNDLE"), Outcome::Succeeded),
            Some("incomplete") => (Some("CLARIFY"), Outcome::Refused),
            Some("error") => (Some("REFUSE"), Outcome::Refused),
            _ => (None, Outcome::Unknown),
        };
        let identity = Identity::of_members(root, &["id"]);
        identity.ended(word).with_result(outcome)
    },
};
