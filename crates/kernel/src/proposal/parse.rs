//! Parses a proposal from its document. The document was verified before, so an error here does not
//! say where: the verifier did.

use runseal_core::canon::{Node, Value};
use runseal_core::formats::proposal::compute_proposal_hash;
use runseal_core::ids::{ActionId, ProposalId};

use super::{Action, ActionKind, Proposal, ProposalError, Test, TestKind};

impl Proposal {
    /// Parses a proposal that was verified before; fails if it is not valid.
    pub fn parse(root: Node<'_>) -> Result<Proposal, ProposalError> {
        Self::from_value(root.to_value())
    }

    pub(super) fn from_value(value: Value) -> Result<Proposal, ProposalError> {
        let actions = items(&value, "actions")?;
        let tests = items(&value, "acceptance_tests")?;
        let actions = actions.iter().map(parse_action).collect::<Option<Vec<_>>>();
        let tests = tests.iter().map(parse_test).collect::<Option<Vec<_>>>();
        let hash = compute_proposal_hash(&value).ok_or(ProposalError::Invalid)?;
        let id = text(&value, "id").and_then(|id| ProposalId::parse(&id).ok());
        let id = id.ok_or(ProposalError::Invalid)?;
        Ok(Proposal {
            id,
            actions: actions.ok_or(ProposalError::Invalid)?,
            tests: tests.ok_or(ProposalError::Invalid)?,
            requires_approval: flag(&value, "requires_approval").ok_or(ProposalError::Invalid)?,
            value,
            hash,
        })
    }
}

fn items<'a>(value: &'a Value, name: &str) -> Result<&'a [Value], ProposalError> {
    match value.get(name) {
        Some(Value::Array(items)) => Ok(items),
        _ => Err(ProposalError::Invalid),
    }
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().map(str::to_owned)
}

fn flag(value: &Value, name: &str) -> Option<bool> {
    match value.get(name)? {
        Value::Bool(flag) => Some(*flag),
        _ => None,
    }
}

fn parse_action(value: &Value) -> Option<Action> {
    let name = text(value, "type")?;
    Some(Action {
        id: ActionId::parse(&text(value, "id")?).ok()?,
        kind: ActionKind::ALL
            .into_iter()
            .find(|kind| kind.name() == name)?,
        target: text(value, "target")?,
        content: text(value, "content"),
        expected_hash: text(value, "expected_hash"),
        required: flag(value, "required")?,
    })
}

fn parse_test(value: &Value) -> Option<Test> {
    let name = text(value, "type")?;
    Some(Test {
        id: text(value, "id")?,
        kind: TestKind::ALL.into_iter().find(|kind| kind.name() == name)?,
        target: text(value, "target")?,
        expected: text(value, "expected")?,
        required: flag(value, "required")?,
    })
}
