//! Pictures as data: a tree, or lanes from left to right. Drawing is the page's business.

/// How something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Nothing to say.
    Plain,
    /// Done, succeeded, terminal.
    Good,
    /// Failed.
    Bad,
    /// Open, blocked, skipped.
    Open,
}

/// A node of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeNode {
    /// What it is.
    pub title: String,
    /// More about it.
    pub detail: String,
    /// How it stands.
    pub mark: Mark,
    /// The nodes below it.
    pub children: Vec<TreeNode>,
}

/// A box in a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// What it is.
    pub title: String,
    /// More about it.
    pub detail: String,
    /// How it stands.
    pub mark: Mark,
}

/// Boxes under one another; lanes stand side by side, each leads to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// Its heading.
    pub title: String,
    /// Its boxes.
    pub cards: Vec<Card>,
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Picture {
    /// How something was taken apart.
    Tree(TreeNode),
    /// How inputs became outputs.
    Flow(Vec<Lane>),
}

impl Mark {
    /// How something stands whose outcome has this name.
    pub(super) fn of(outcome: Option<&str>) -> Self {
        match outcome {
            Some("SUCCESS" | "success" | "true" | "complete") => Self::Good,
            Some("FAILURE" | "failure" | "failed" | "timeout" | "false") => Self::Bad,
            Some("skipped" | "partial") => Self::Open,
            _ => Self::Plain,
        }
    }
}

impl Card {
    /// A box.
    pub fn new(title: impl Into<String>, detail: impl Into<String>, mark: Mark) -> Self {
        Self {
            title: title.into(),
            detail: detail.into(),
            mark,
        }
    }
}

impl Lane {
    /// A lane.
    pub fn new(title: &str, cards: Vec<Card>) -> Self {
        Self {
            title: title.to_owned(),
            cards,
        }
    }
}
