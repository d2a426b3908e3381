//! The decomposition tree (000 §2.4): a choice that the text spells out splits a node into one
//! child per option.
//!
//! Each child is the parent with that decision added, and is measured again; no constraint ever
//! leaves the tree. A node is a leaf if nothing is left to ask, if its entropy is at or below the
//! limit, if no open question has options that are in the text, or if depth, nodes, work or bytes
//! run out. The budget is spent level by level, and within a level in the order of ids. Running out
//! never hides a question: it stays in the leaf's list.

use crate::answer::decision_of;
use crate::context::Declared;
use crate::measure::{Measurement, measure};
use crate::question::{Question, derive_questions};
use crate::rules::Kind;
use crate::text::strings;
use runseal_core::canon::{NoCanonicalForm, Value, compare_utf16};
use runseal_core::ids::{BranchId, NodeId};

/// Bounds of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeLimits {
    /// The most levels below the root.
    pub max_depth: usize,
    /// The most nodes in total.
    pub max_nodes: usize,
    /// A node with this entropy or less is not split.
    pub entropy_limit: u8,
    /// A node with more open questions is not split: a person must answer first.
    pub max_open: usize,
    /// The most constraints measured again in total: a large intent is not measured a hundred
    /// times.
    pub max_remeasured: usize,
    /// The most bytes of text and questions in all nodes below the root: a large intent is not
    /// written a hundred times.
    pub max_bytes: usize,
}

impl Default for TreeLimits {
    fn default() -> Self {
        TreeLimits {
            max_depth: 10,
            max_nodes: 100,
            entropy_limit: 30,
            max_open: 8,
            max_remeasured: 4096,
            max_bytes: 1 << 20,
        }
    }
}

/// A node of the tree.
#[derive(Clone, Debug)]
pub struct TreeNode {
    /// Derived from constraints, goal and parent.
    pub id: NodeId,
    /// The parent's id.
    pub parent_id: Option<NodeId>,
    /// The goal.
    pub goal: String,
    /// Constraints, sorted.
    pub constraints: Vec<String>,
    /// Findings, entropy and density.
    pub measured: Measurement,
    /// Open questions, the splitting one included.
    pub questions: Vec<Question>,
    /// The question that splits the node, by index in `questions`, and its branches.
    pub split: Option<Split>,
    /// Children, by id.
    pub children: Vec<TreeNode>,
}

/// How a node was split.
#[derive(Clone, Debug)]
pub struct Split {
    /// The index of the question.
    pub question: usize,
    /// Branches, by id.
    pub branches: Vec<Branch>,
}

/// One answer to the splitting question.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Derived from answer and question.
    pub branch_id: BranchId,
    /// The option.
    pub answer: String,
    /// What the answer adds to the constraints.
    pub added_constraints: Vec<String>,
}

impl TreeNode {
    /// Whether the node has no children.
    pub fn is_leaf(&self) -> bool {
        self.children.is_empty()
    }

    /// Returns the status in the bundle. Leaves are terminal even if questions are open (000 §2.4).
    pub fn status(&self) -> &'static str {
        if self.is_leaf() {
            "terminal"
        } else {
            "expanding"
        }
    }

    /// Returns the leaves, from left to right.
    pub fn leaves(&self) -> Vec<&TreeNode> {
        let mut out = Vec::new();
        self.walk(0, &mut |node, _| {
            if node.is_leaf() {
                out.push(node);
            }
        });
        out
    }

    /// Visits the node and everything below it, with the depth. Depth is bounded by the limits.
    pub fn walk<'n>(&'n self, depth: usize, visit: &mut impl FnMut(&'n TreeNode, usize)) {
        visit(self, depth);
        for child in &self.children {
            child.walk(depth + 1, visit);
        }
    }

    /// The size of its texts and questions, in bytes.
    fn size(&self) -> usize {
        self.goal.len()
            + self.constraints.iter().map(String::len).sum::<usize>()
            + self.questions.iter().map(Question::size).sum::<usize>()
    }
}

/// What is left to spend.
struct Budget {
    nodes: usize,
    remeasured: usize,
    bytes: usize,
}

impl Budget {
    /// Pays for splitting `node` into `children` nodes; `false` if the budget is too small.
    fn spend(&mut self, node: &TreeNode, children: usize) -> bool {
        let remeasured = children * node.constraints.len().max(1);
        let bytes = children * node.size();
        if children > self.nodes || remeasured > self.remeasured || bytes > self.bytes {
            return false;
        }
        self.nodes -= children;
        self.remeasured -= remeasured;
        self.bytes -= bytes;
        true
    }
}

/// Builds the tree of a normalized goal and its sorted constraints.
pub fn build_tree(
    goal: &str,
    constraints: &[String],
    declared: &Declared,
    limits: &TreeLimits,
) -> Result<TreeNode, NoCanonicalForm> {
    let mut root = make_node(goal, constraints.to_vec(), declared, None)?;
    let mut budget = Budget {
        nodes: limits.max_nodes.saturating_sub(1),
        remeasured: limits.max_remeasured,
        bytes: limits.max_bytes,
    };
    let mut level = vec![&mut root];
    for _ in 0..limits.max_depth {
        level.sort_by(|a, b| a.id.cmp(&b.id));
        let mut next = Vec::new();
        for node in level {
            split_node(node, declared, limits, &mut budget)?;
            next.extend(node.children.iter_mut());
        }
        if next.is_empty() {
            break;
        }
        level = next;
    }
    Ok(root)
}

fn make_node(
    goal: &str,
    constraints: Vec<String>,
    declared: &Declared,
    parent_id: Option<NodeId>,
) -> Result<TreeNode, NoCanonicalForm> {
    let measured = measure(goal, &constraints, declared);
    let questions = derive_questions(&measured.open)?;
    let id = NodeId::derive(&Value::object([
        ("constraints", strings(&constraints)),
        ("goal", Value::from(goal)),
        (
            "parent_id",
            Value::from(parent_id.as_ref().map(NodeId::as_str)),
        ),
    ]))?;
    Ok(TreeNode {
        id,
        parent_id,
        goal: goal.to_owned(),
        constraints,
        measured,
        questions,
        split: None,
        children: Vec::new(),
    })
}

/// Whether a question about a choice has options that are all in the text.
fn has_options_in_text(node: &TreeNode, question: &Question) -> bool {
    let Some(finding) = &question.finding else {
        return false;
    };
    let is_in_text = |option: &String| {
        node.goal.contains(option.as_str())
            || node
                .constraints
                .iter()
                .any(|text| text.contains(option.as_str()))
    };
    finding.kind() == Kind::Choice
        && question.options.len() >= 2
        && question.options.iter().all(is_in_text)
}

fn split_node(
    node: &mut TreeNode,
    declared: &Declared,
    limits: &TreeLimits,
    budget: &mut Budget,
) -> Result<(), NoCanonicalForm> {
    let settled = node.measured.entropy.entropy_score <= limits.entropy_limit;
    if settled || node.questions.len() > limits.max_open {
        return Ok(());
    }
    let Some(at) = node
        .questions
        .iter()
        .position(|question| has_options_in_text(node, question))
    else {
        return Ok(());
    };
    let question = node.questions[at].clone();
    if !budget.spend(node, question.options.len()) {
        return Ok(());
    }
    let mut branches = Vec::new();
    for option in &question.options {
        let Some(finding) = &question.finding else {
            continue;
        };
        let added = decision_of(finding, option);
        let mut constraints = node.constraints.clone();
        constraints.push(added.clone());
        constraints.sort_by(|a, b| compare_utf16(a, b));
        constraints.dedup();
        let branch_id = BranchId::derive(&Value::object([
            ("answer", option.as_str()),
            ("question_id", question.id.as_str()),
        ]))?;
        branches.push(Branch {
            branch_id,
            answer: option.clone(),
            added_constraints: vec![added],
        });
        node.children.push(make_node(
            &node.goal,
            constraints,
            declared,
            Some(node.id.clone()),
        )?);
    }
    branches.sort_by(|a, b| a.branch_id.cmp(&b.branch_id));
    node.children.sort_by(|a, b| a.id.cmp(&b.id));
    node.split = Some(Split {
        question: at,
        branches,
    });
    Ok(())
}
