//! A proposal: the plan that follows from a context bundle, PR1-PR12 (document 003).
//!
//! Findings name an action or a test by its id, if it has one. A missing field silences only the
//! rules that need it.

mod checks;

use crate::canon::{Dialect, Node, Value, canonical_digest};
use crate::digest::{ContentHash, Digest};
use crate::formats::Format;
use crate::formats::definition::{DocumentFormat, Identity, ProofScope, infos};
use crate::formats::shape::find_excess;
use crate::limits::PROPOSAL_MAX_ELEMENTS;
use crate::verify::{Gate, Level, Report, Rule, RuleInfo, Subject, run_rules};
use checks::{
    actions, check_action_ids, check_actions_list, check_confidence, check_content,
    check_expected_hashes, check_order, check_schema, check_source, check_summary, check_types,
    check_unique, check_version, needs_actions, needs_object, needs_tests, tests,
};

/// The version that runseal writes.
pub const SCHEMA_VERSION: &str = "1.0.0";

/// The six things an action can do (003 §3.5).
const ACTION_TYPES: [&str; 6] = [
    "create_file",
    "modify_file",
    "delete_file",
    "execute_command",
    "validate",
    "test",
];

/// The four things a test can check (003 §3.6).
const TEST_TYPES: [&str; 4] = [
    "hash_match",
    "command_success",
    "file_exists",
    "content_match",
];

/// The bundle that a proposal says it was made from, if at hand (003 §4.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceBundle {
    /// The id that the bundle states.
    pub id: String,
    /// The hash of the bundle's canonical form.
    pub hash: ContentHash,
}

/// A proposal as the rules see it.
#[derive(Debug, Clone, Copy)]
pub struct ProposalView<'a> {
    /// The parsed document.
    pub root: Node<'a>,
    /// The bundle it was made from, if at hand.
    pub bundle: Option<&'a SourceBundle>,
    derives_ids: bool,
}

impl<'a> ProposalView<'a> {
    /// Makes a view of a document.
    pub fn new(root: Node<'a>, bundle: Option<&'a SourceBundle>) -> Self {
        Self {
            root,
            bundle,
            derives_ids: false,
        }
    }
}

/// Names the proposal as the subject of its rules.
pub struct Proposal;

impl Subject for Proposal {
    type View<'a> = ProposalView<'a>;
    const FORMAT: Format = Format::Proposal;

    fn excess(view: &ProposalView<'_>) -> Option<String> {
        let lists = ["actions", "acceptance_tests"];
        find_excess(
            view.root,
            &lists,
            PROPOSAL_MAX_ELEMENTS,
            "actions and tests",
        )
    }
}

/// Verifies a proposal.
pub fn verify_proposal(view: &ProposalView<'_>, level: Level) -> Report {
    let view = ProposalView {
        derives_ids: level >= Level::Integrity,
        ..*view
    };
    run_rules(&RULES, &view, level)
}

/// The hash of a proposal: over its canonical bytes with the LF (003 §6.4 read with 000 §5.3).
pub fn compute_proposal_hash(proposal: &Value) -> Option<ContentHash> {
    let digest: Digest = canonical_digest(proposal, Dialect::Kernel).ok()?;
    Some(digest.into())
}

const fn info(
    id: &'static str,
    section: &'static str,
    title: &'static str,
    explanation: &'static str,
) -> RuleInfo {
    RuleInfo {
        id,
        format: Format::Proposal,
        title,
        section,
        level: Level::Document,
        explanation,
    }
}

/// The rules of a proposal.
pub static RULES: [Rule<Proposal>; 14] = [
    Rule {
        info: info(
            "SCHEMA",
            "003 §3.2-3.4",
            "the fields are there",
            "The document is an object with an id of the form prop_ and 16 hex digits, a list of \
             acceptance tests and requires_approval; every action has target, required, \
             description and order, every test id, name, target, expected and required, each of \
             its type. Strict mode recomputes the proposal's id.",
        ),
        gate: |_| Gate::Ready,
        check: check_schema,
    },
    Rule {
        info: info(
            "PR1",
            "003 §8 PR1",
            "the version is given",
            "schema_version is a string that is not blank.",
        ),
        gate: needs_object,
        check: check_version,
    },
    Rule {
        info: info(
            "PR2",
            "003 §8 PR2, §4.2",
            "the source bundle is named",
            "source_bundle_id is bundle_ (or bun_) and 16 hex digits, source_bundle_hash is \
             sha256: and 64. If the bundle is at hand, both must be its own: a plan belongs \
             to one bundle.",
        ),
        gate: needs_object,
        check: check_source,
    },
    Rule {
        info: info(
            "PR3",
            "003 §8 PR3, rulings",
            "there is a list of actions",
            "actions is a list. It may be empty: a bundle with open questions leaves nothing to do.",
        ),
        gate: needs_object,
        check: check_actions_list,
    },
    Rule {
        info: info(
            "PR4",
            "003 §8 PR4",
            "no action appears twice",
            "Ids of actions are unique. The later one is reported.",
        ),
        gate: needs_actions,
        check: |view, findings| check_unique(actions(view), findings),
    },
    Rule {
        info: info(
            "PR5",
            "003 §8 PR5",
            "every action is of a known type",
            "type is create_file, modify_file, delete_file, execute_command, validate or test.",
        ),
        gate: needs_actions,
        check: |view, findings| check_types(actions(view), &ACTION_TYPES, findings),
    },
    Rule {
        info: info(
            "PR6",
            "003 §8 PR6, §4.3",
            "ids of actions are well formed",
            "An action's id is act_ and 16 lower-case hex digits. Strict mode recomputes it from \
             content, target and type (and order, if two actions would collide).",
        ),
        gate: needs_actions,
        check: check_action_ids,
    },
    Rule {
        info: info(
            "PR7",
            "003 §8 PR7",
            "no test appears twice",
            "Ids of tests are unique. The later one is reported.",
        ),
        gate: needs_tests,
        check: |view, findings| check_unique(tests(view), findings),
    },
    Rule {
        info: info(
            "PR8",
            "003 §8 PR8",
            "every test is of a known type",
            "type is hash_match, command_success, file_exists or content_match.",
        ),
        gate: needs_tests,
        check: |view, findings| check_types(tests(view), &TEST_TYPES, findings),
    },
    Rule {
        info: info(
            "PR9",
            "003 §8 PR9",
            "confidence is a score",
            "confidence is an integer from 0 to 100.",
        ),
        gate: needs_object,
        check: check_confidence,
    },
    Rule {
        info: info(
            "PR10",
            "003 §8 PR10",
            "there is a summary",
            "summary is a string that is not blank.",
        ),
        gate: needs_object,
        check: check_summary,
    },
    Rule {
        info: info(
            "PR11",
            "003 §8 PR11, §6.2, §6.3",
            "actions and tests are in order",
            "Actions are sorted by (order, id), tests by id, ids by UTF-16 code units. The first \
             action and the first test that sort before their predecessor are reported.",
        ),
        gate: needs_object,
        check: check_order,
    },
    Rule {
        info: info(
            "PR12",
            "003 §8 PR12, §5.1",
            "content is where it belongs",
            "create_file and modify_file have content, delete_file has none; content is a \
             string without NUL characters and lone surrogates.",
        ),
        gate: needs_actions,
        check: check_content,
    },
    Rule {
        info: RuleInfo {
            level: Level::Integrity,
            ..info(
                "PR13",
                "003 §3.3, §5.1",
                "contents have the hash that is expected",
                "If create_file or modify_file has expected_hash, it is the hash of the UTF-8 bytes of \
                 content, as a content hash or as bare digits.",
            )
        },
        gate: needs_actions,
        check: check_expected_hashes,
    },
];

/// The definition of the proposal format.
pub static DEFINITION: DocumentFormat = DocumentFormat {
    format: Format::Proposal,
    proves: ProofScope {
        shows: &["That its ids are those of its content and it is well formed."],
        does_not: &["That the intent was understood."],
    },
    rules: || infos(&RULES),
    members: &[
        "source_bundle_id",
        "source_bundle_hash",
        "actions",
        "acceptance_tests",
        "requires_approval",
    ],
    file_name: "proposal.json",
    judge: |root, level| verify_proposal(&ProposalView::new(root, None), level),
    identify: |root| Identity::of_members(root, &["id"]),
};
