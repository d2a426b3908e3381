//! Proposals (document 003): what to do for a bundle, and how to test that it was done.
//!
//! [`generate_proposal`] makes one, [`Proposal::parse`] parses one that was verified before, and
//! [`make_patch`] returns its file operations. Pure: the same bundle makes the same bytes.

mod extras;
mod parse;
mod patch;

use std::borrow::Cow;
use std::collections::BTreeMap;

use runseal_core::canon::{Dialect, NoCanonicalForm, Node, Value, canonical_digest, compare_utf16};
use runseal_core::digest::{ContentHash, Digest};
use runseal_core::formats::proposal::SCHEMA_VERSION;
use runseal_core::ids::{ActionId, ProposalId};

pub use extras::{ExtrasError, check_paths};
pub use patch::make_patch;

/// A proposal with less confidence than this needs a person's approval.
pub const APPROVAL_BELOW: u8 = 70;

/// What an action does (003 §3.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActionKind {
    /// Creates a file that must not exist.
    CreateFile,
    /// Replaces the content of a file that must exist.
    ModifyFile,
    /// Removes a file that must exist.
    DeleteFile,
    /// Runs a command.
    ExecuteCommand,
    /// Checks a file.
    Validate,
    /// Runs one of the proposal's tests.
    Test,
}

impl ActionKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::CreateFile,
        Self::ModifyFile,
        Self::DeleteFile,
        Self::ExecuteCommand,
        Self::Validate,
        Self::Test,
    ];

    /// The name in proposals.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CreateFile => "create_file",
            Self::ModifyFile => "modify_file",
            Self::DeleteFile => "delete_file",
            Self::ExecuteCommand => "execute_command",
            Self::Validate => "validate",
            Self::Test => "test",
        }
    }

    /// The name in evidence.
    pub const fn evidence_name(self) -> &'static str {
        match self {
            Self::CreateFile => "create",
            Self::ModifyFile => "modify",
            Self::DeleteFile => "delete",
            Self::ExecuteCommand => "execute",
            Self::Validate => "validate",
            Self::Test => "test",
        }
    }

    /// Whether it creates, modifies or deletes a file.
    pub const fn is_file_operation(self) -> bool {
        matches!(self, Self::CreateFile | Self::ModifyFile | Self::DeleteFile)
    }
}

/// Splits the target of a validation into what it checks, `exists`, `absent`, `utf8` or `json`, and a
/// path. A path alone must exist, and contain JSON if its name says so.
pub fn split_validation(target: &str) -> (&str, &str) {
    match target.split_once(':') {
        Some((what @ ("exists" | "absent" | "utf8" | "json"), path)) => (what, path),
        _ if target.ends_with(".json") => ("json", target),
        _ => ("exists", target),
    }
}

/// What a test checks (003 §3.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TestKind {
    /// A file's hash.
    HashMatch,
    /// A command's exit code.
    CommandSuccess,
    /// Whether a file exists.
    FileExists,
    /// A file's content.
    ContentMatch,
}

impl TestKind {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::HashMatch,
        Self::CommandSuccess,
        Self::FileExists,
        Self::ContentMatch,
    ];

    /// The name in proposals.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HashMatch => "hash_match",
            Self::CommandSuccess => "command_success",
            Self::FileExists => "file_exists",
            Self::ContentMatch => "content_match",
        }
    }
}

/// One action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// Its id.
    pub id: ActionId,
    /// What it does.
    pub kind: ActionKind,
    /// A path or a command.
    pub target: String,
    /// The content to write.
    pub content: Option<String>,
    /// The hash of the file afterwards.
    pub expected_hash: Option<String>,
    /// Whether the plan fails without it.
    pub required: bool,
}

/// One acceptance test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    /// Its id.
    pub id: String,
    /// What it checks.
    pub kind: TestKind,
    /// A path or a command.
    pub target: String,
    /// The expected result.
    pub expected: String,
    /// Whether the plan fails without it.
    pub required: bool,
}

/// A proposal and its document.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// Its id.
    pub id: ProposalId,
    /// The actions, in order.
    pub actions: Vec<Action>,
    /// The tests, in order.
    pub tests: Vec<Test>,
    /// Whether a person must approve it.
    pub requires_approval: bool,
    value: Value,
    hash: ContentHash,
}

impl Proposal {
    /// The document.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Its hash (003 §6.4).
    pub fn hash(&self) -> ContentHash {
        self.hash
    }
}

/// Why a proposal could not be made or parsed.
#[derive(Debug, thiserror::Error)]
pub enum ProposalError {
    /// Something has no canonical form.
    #[error(transparent)]
    NoForm(#[from] NoCanonicalForm),
    /// The intent's additions are malformed.
    #[error(transparent)]
    Extras(#[from] ExtrasError),
    /// The document was not verified before, and is not valid.
    #[error("the document is not a valid proposal")]
    Invalid,
}

/// An action without id and order.
#[derive(Debug, Clone)]
struct Draft {
    kind: ActionKind,
    target: String,
    content: Option<String>,
    required: bool,
    description: String,
}

/// A test without id.
#[derive(Debug, Clone)]
struct TestDraft {
    kind: TestKind,
    name: String,
    target: String,
    expected: String,
    required: bool,
}

/// Generates the proposal of a valid bundle: a file for each output and a test of its hash.
/// `extras` is the member `proposal` of the intent's context, which may add files, commands and
/// tests.
pub fn generate_proposal(
    bundle: Node<'_>,
    extras: Option<&Value>,
) -> Result<Proposal, ProposalError> {
    let mut outputs: Vec<(String, String, u64)> = Vec::new();
    for output in bundle.get("outputs").iter().flat_map(|list| list.items()) {
        let (Some(path), Some(content)) = (text(output, "path"), text(output, "content")) else {
            return Err(ProposalError::Invalid);
        };
        let confidence = output.get("confidence").and_then(|node| node.as_number());
        let confidence = confidence
            .and_then(|number| number.to_exact_i64())
            .unwrap_or(0);
        let score = u64::try_from(confidence.clamp(0, 100)).unwrap_or(0);
        outputs.push((path.into_owned(), content.into_owned(), score));
    }
    outputs.sort_by(|a, b| compare_utf16(&a.0, &b.0));

    let mut drafts = Vec::new();
    let mut tests = Vec::new();
    for (path, content, _) in &outputs {
        drafts.push(Draft {
            kind: ActionKind::CreateFile,
            target: path.clone(),
            content: Some(content.clone()),
            required: true,
            description: format!("Create {path}"),
        });
        tests.push(TestDraft {
            kind: TestKind::HashMatch,
            name: format!("{path} is as planned"),
            target: path.clone(),
            expected: ContentHash::of(content.as_bytes()).to_string(),
            required: true,
        });
    }
    if let Some(extras) = extras {
        extras::add_extras(extras, &mut drafts, &mut tests)?;
    }

    let count = u64::try_from(outputs.len()).unwrap_or(0);
    let total: u64 = outputs.iter().map(|(_, _, score)| score).sum();
    let confidence = (2 * total + count).checked_div(2 * count).unwrap_or(0);
    let is_complete = text(bundle, "status").as_deref() == Some("complete");
    let requires_approval = !is_complete || confidence < u64::from(APPROVAL_BELOW);
    let goal = bundle
        .get("root_node")
        .and_then(|root| root.get("goal")?.as_lossy_str())
        .unwrap_or_default();

    let (actions, tests) = (number_actions(drafts)?, name_tests(tests)?);
    let hash = canonical_digest(bundle, Dialect::Kernel)?;
    let mut value = Value::object([
        ("schema_version", Value::from(SCHEMA_VERSION)),
        (
            "source_bundle_id",
            Value::from(text(bundle, "id").unwrap_or_default().into_owned()),
        ),
        (
            "source_bundle_hash",
            Value::from(ContentHash::from(hash).to_string()),
        ),
        ("summary", Value::from(summarize(&actions, &tests, &goal))),
        ("requires_approval", Value::from(requires_approval)),
        ("confidence", Value::from(confidence)),
        ("actions", Value::Array(actions)),
        ("acceptance_tests", Value::Array(tests)),
    ]);
    let id = ProposalId::derive(&value)?;
    value.insert("id", id.as_str());
    Proposal::from_value(value)
}

fn text<'a>(node: Node<'a>, name: &str) -> Option<Cow<'a, str>> {
    node.get(name)?.as_str()
}

fn summarize(actions: &[Value], tests: &[Value], goal: &str) -> String {
    let plural = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    let (actions, tests) = (plural(actions.len(), "action"), plural(tests.len(), "test"));
    format!("{actions} and {tests} for: {goal}")
}

/// Numbers actions and derives their ids from content, target and type, and also from the order if
/// they would collide (rulings).
fn number_actions(drafts: Vec<Draft>) -> Result<Vec<Value>, NoCanonicalForm> {
    let identity = |draft: &Draft| {
        let mut content = Value::object([
            ("target", Value::from(draft.target.as_str())),
            ("type", Value::from(draft.kind.name())),
        ]);
        if let Some(text) = &draft.content {
            content.insert("content", text.as_str());
        }
        content
    };
    let mut counts: BTreeMap<Digest, usize> = BTreeMap::new();
    for draft in &drafts {
        *counts
            .entry(canonical_digest(&identity(draft), Dialect::Kernel)?)
            .or_insert(0) += 1;
    }
    let mut actions = Vec::with_capacity(drafts.len());
    for (order, draft) in drafts.into_iter().enumerate() {
        let mut content = identity(&draft);
        let digest = canonical_digest(&content, Dialect::Kernel)?;
        if counts.get(&digest).is_some_and(|count| *count > 1) {
            content.insert("order", order);
        }
        let id = ActionId::derive(&content)?;
        let mut action = Value::object([
            ("id", Value::from(id.as_str())),
            ("type", Value::from(draft.kind.name())),
            ("target", Value::from(draft.target)),
            ("required", Value::from(draft.required)),
            ("description", Value::from(draft.description)),
            ("order", Value::from(order)),
        ]);
        if let Some(text) = draft.content {
            if draft.kind.is_file_operation() {
                action.insert(
                    "expected_hash",
                    ContentHash::of(text.as_bytes()).to_string(),
                );
            }
            action.insert("content", text);
        }
        actions.push(action);
    }
    Ok(actions)
}

/// Derives the ids of tests from what they check, and sorts them. Duplicate tests are merged.
fn name_tests(drafts: Vec<TestDraft>) -> Result<Vec<Value>, NoCanonicalForm> {
    let mut tests = BTreeMap::new();
    for draft in drafts {
        let content = Value::object([
            ("expected", draft.expected.as_str()),
            ("target", draft.target.as_str()),
            ("type", draft.kind.name()),
        ]);
        let digest = canonical_digest(&content, Dialect::Kernel)?;
        let id = format!("test_{}", digest.hex_prefix(16));
        let test = Value::object([
            ("id", Value::from(id.as_str())),
            ("name", Value::from(draft.name)),
            ("type", Value::from(draft.kind.name())),
            ("target", Value::from(draft.target)),
            ("expected", Value::from(draft.expected)),
            ("required", Value::from(draft.required)),
        ]);
        tests.insert(id, test);
    }
    Ok(tests.into_values().collect())
}
