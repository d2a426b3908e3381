//! The decomposition tree (000 §2.4): a closed question splits a node into one child an option.
//!
//! Each child is the parent with that answer applied, and is measured again. A node is a leaf when nothing is left to
//! ask, when its entropy is at or below the limit, when it has no question with options, or when depth, nodes or work
//! run out. Children are ordered by id; running out never hides a question: it stays in the leaf's list.

use crate::answer::choose;
use crate::measure::{Measurement, measure};
use crate::question::{Question, derive_questions};
use runseal_core::canon::{NoCanonicalForm, Value};
use runseal_core::ids::{BranchId, NodeId};

/// Bounds of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeLimits {
    /// Longest way from the root to a leaf.
    pub max_depth: usize,
    /// Nodes in all.
    pub max_nodes: usize,
    /// Entropy at or below which a node is not split.
    pub entropy_limit: u8,
    /// Open questions above which a node is not split: a person must answer first.
    pub max_open: usize,
    /// Constraints measured again in all: stops a large intent from being measured a hundred times.
    pub max_remeasured: usize,
}

impl Default for TreeLimits {
    fn default() -> Self {
        TreeLimits {
            max_depth: 10,
            max_nodes: 100,
            entropy_limit: 30,
            max_open: 8,
            max_remeasured: 4096,
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
    /// Goal as refined so far.
    pub goal: String,
    /// Constraints, sorted.
    pub constraints: Vec<String>,
    /// Findings, entropy and density.
    pub measured: Measurement,
    /// Open questions, the splitting one included.
    pub questions: Vec<Question>,
    /// The question that splits the node, by position in `questions`, with its branches.
    pub split: Option<Split>,
    /// Children, by id.
    pub children: Vec<TreeNode>,
}

/// How a node was split.
#[derive(Clone, Debug)]
pub struct Split {
    /// Position of the question.
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

    /// The status in the bundle: expanding, terminal, or blocked by an open question.
    pub fn status(&self) -> &'static str {
        if !self.is_leaf() {
            "expanding"
        } else if self.questions.is_empty() {
            "terminal"
        } else {
            "blocked"
        }
    }

    /// The leaves below, from left to right.
    pub fn leaves(&self) -> Vec<&TreeNode> {
        let mut out = Vec::new();
        self.walk(0, &mut |node, _| {
            if node.is_leaf() {
                out.push(node);
            }
        });
        out
    }

    /// Visits the node and all below with their depth. Depth is bounded by the limits.
    pub fn walk<'n>(&'n self, depth: usize, visit: &mut impl FnMut(&'n TreeNode, usize)) {
        visit(self, depth);
        for child in &self.children {
            child.walk(depth + 1, visit);
        }
    }
}

/// What is left to spend.
struct Budget {
    nodes: usize,
    remeasured: usize,
}

/// Builds the tree of a normalized goal and its sorted constraints.
pub fn build_tree(
    goal: &str,
    constraints: &[String],
    limits: &TreeLimits,
) -> Result<TreeNode, NoCanonicalForm> {
    let mut root = make_node(goal.to_owned(), constraints.to_vec(), None)?;
    let mut budget = Budget {
        nodes: limits.max_nodes.saturating_sub(1),
        remeasured: limits.max_remeasured,
    };
    expand(&mut root, 0, limits, &mut budget)?;
    Ok(root)
}

fn make_node(
    goal: String,
    constraints: Vec<String>,
    parent_id: Option<NodeId>,
) -> Result<TreeNode, NoCanonicalForm> {
    let measured = measure(&goal, &constraints);
    let questions = derive_questions(&measured.findings)?;
    let id = NodeId::derive(&Value::object([
        (
            "constraints",
            Value::array(constraints.iter().map(String::as_str)),
        ),
        ("goal", Value::from(goal.as_str())),
        (
            "parent_id",
            Value::from(parent_id.as_ref().map(NodeId::as_str)),
        ),
    ]))?;
    Ok(TreeNode {
        id,
        parent_id,
        goal,
        constraints,
        measured,
        questions,
        split: None,
        children: Vec::new(),
    })
}

/// Level by level, so that a tight budget is spent near the root.
fn expand(
    root: &mut TreeNode,
    depth: usize,
    limits: &TreeLimits,
    budget: &mut Budget,
) -> Result<(), NoCanonicalForm> {
    if depth >= limits.max_depth
        || root.measured.entropy.entropy_score <= limits.entropy_limit
        || root.questions.len() > limits.max_open
    {
        return Ok(());
    }
    let splitting = root
        .questions
        .iter()
        .position(|q| q.options.len() >= 2 && q.finding.is_some());
    let Some(at) = splitting else { return Ok(()) };
    let question = &root.questions[at];
    let cost = question.options.len() * root.constraints.len().max(1);
    if question.options.len() > budget.nodes || cost > budget.remeasured {
        return Ok(());
    }
    budget.nodes -= question.options.len();
    budget.remeasured -= cost;
    let mut branches = Vec::new();
    let mut children: Vec<TreeNode> = Vec::new();
    for option in &question.options {
        let Some(finding) = &question.finding else {
            continue;
        };
        let (goal, constraints, added) = choose(&root.goal, &root.constraints, finding, option);
        let branch_id = BranchId::derive(&Value::object([
            ("answer", option.as_str()),
            ("question_id", question.id.as_str()),
        ]))?;
        branches.push(Branch {
            branch_id,
            answer: option.clone(),
            added_constraints: added,
        });
        let child = make_node(goal, constraints, Some(root.id.clone()))?;
        if children.iter().all(|c| c.id != child.id) {
            children.push(child);
        }
    }
    branches.sort_by(|a, b| a.branch_id.cmp(&b.branch_id));
    children.sort_by(|a, b| a.id.cmp(&b.id));
    root.split = Some(Split {
        question: at,
        branches,
    });
    root.children = children;
    for child in &mut root.children {
        expand(child, depth + 1, limits, budget)?;
    }
    Ok(())
}
