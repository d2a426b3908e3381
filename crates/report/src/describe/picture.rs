//! Pictures as data: a tree, or lanes from left to right. The page draws them.

use runseal_core::canon::Node;

use super::About;
use super::members::List;

/// The state of something.
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
    /// Its title.
    pub title: String,
    /// More about it.
    pub detail: String,
    /// Its state.
    pub mark: Mark,
    /// What it is about.
    pub about: Vec<About>,
    /// The nodes below it.
    pub children: Vec<TreeNode>,
}

/// A box in a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// Its title.
    pub title: String,
    /// More about it.
    pub detail: String,
    /// Its state.
    pub mark: Mark,
    /// What it is about.
    pub about: Vec<About>,
}

/// A column of boxes. Lanes are side by side, and each leads to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// Its heading.
    pub title: String,
    /// Its boxes.
    pub cards: Vec<Card>,
    /// The number of boxes left out.
    pub left_out: usize,
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Picture {
    /// How something was broken down.
    Tree(TreeNode),
    /// How inputs became outputs.
    Flow(Vec<Lane>),
}

/// The most boxes of a lane that are drawn.
const CARDS: usize = 8;

impl Mark {
    /// The mark for an outcome with this name.
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

    /// Adds what it is about.
    #[must_use]
    pub fn about(mut self, about: About) -> Self {
        self.about.push(about);
        self
    }
}

impl Lane {
    /// A lane with the first boxes; the others are counted.
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

/// A lane of the first elements of a list; `card` makes a box of each, from its index and the element.
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

/// A picture of what led to what; empty lanes are left out.
pub(super) fn flow(mut lanes: Vec<Lane>) -> Picture {
    lanes.retain(|lane| !lane.cards.is_empty());
    Picture::Flow(lanes)
}
