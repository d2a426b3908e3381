//! Pictures as data: a tree, or lanes from left to right. Drawing is the page's business.

use runseal_core::canon::Node;

use super::About;
use super::members::List;

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
    /// What it is about.
    pub about: Vec<About>,
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
    /// What it is about.
    pub about: Vec<About>,
}

/// Boxes under one another; lanes stand side by side, each leads to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// Its heading.
    pub title: String,
    /// Its boxes.
    pub cards: Vec<Card>,
    /// Boxes that there are beyond those.
    pub left_out: usize,
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Picture {
    /// How something was taken apart.
    Tree(TreeNode),
    /// How inputs became outputs.
    Flow(Vec<Lane>),
}

/// Boxes of a lane that are kept for drawing.
const CARDS: usize = 8;

impl Mark {
    /// How something stands whose outcome has this name.
    pub(super) fn of(outcome: Option<&str>) -> Self {
        match outcome {
            Some("SUCCESS" | "success" | "true" | "complete" | "accepted" | "passed" | "0") => {
                Self::Good
            }
            Some(
                "FAILURE" | "failure" | "failed" | "timeout" | "false" | "REFUSE" | "not accepted"
                | "error",
            ) => Self::Bad,
            Some("skipped" | "partial" | "CLARIFY" | "incomplete" | "review") => Self::Open,
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
            about: Vec::new(),
        }
    }

    /// The same, about this.
    #[must_use]
    pub fn about(mut self, about: About) -> Self {
        self.about.push(about);
        self
    }
}

impl Lane {
    /// A lane. Of many boxes the first are kept.
    pub fn new(title: &str, cards: impl IntoIterator<Item = Card>) -> Self {
        let mut cards = cards.into_iter();
        let kept = cards.by_ref().take(CARDS).collect();
        Self {
            title: title.to_owned(),
            cards: kept,
            left_out: cards.count(),
        }
    }
}

/// A lane of the first elements of a list, each as the box that `card` makes of its place and itself.
pub(super) fn lane_of<'a>(
    title: &str,
    list: List<'a>,
    card: impl Fn(usize, Node<'a>) -> Card,
) -> Lane {
    let boxes = list.iter().enumerate().take(CARDS);
    Lane {
        title: title.to_owned(),
        cards: boxes.map(|(at, node)| card(at, node)).collect(),
        left_out: list.len().saturating_sub(CARDS),
    }
}

/// A picture of what led to what; a lane with nothing in it is left out.
pub(super) fn flow(mut lanes: Vec<Lane>) -> Picture {
    lanes.retain(|lane| !lane.cards.is_empty());
    Picture::Flow(lanes)
}
