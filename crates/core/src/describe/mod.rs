//! What something is, for people: ids, inputs, steps, outputs, hashes, who made it, and a picture.
//!
//! Pure: takes the parsed documents of one bundle and gives one [`Description`], from which
//! `inspect` and `report` are rendered. Says what is written there, valid or not; whether it
//! holds is the verifier's to say. What is missing or mistyped is left out.

pub(crate) mod context;
pub(crate) mod job;
mod members;
pub(crate) mod pack;
mod picture;
pub(crate) mod run;
mod text;
mod timeline;

use std::collections::BTreeMap;

use crate::canon::{Dialect, Node, canonical_digest};
use crate::formats::Format;

pub use text::{render_inspection_human, render_inspection_json};

pub use picture::{Card, Lane, Mark, Picture, TreeNode};

/// One fact: a label and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What it is about.
    pub label: String,
    /// What it is.
    pub value: String,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// The headings of its columns.
    pub columns: Vec<String>,
    /// Its rows, each with a cell a column.
    pub rows: Vec<Vec<String>>,
}

/// Something that took time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// What.
    pub label: String,
    /// When it began, as written.
    pub begin: String,
    /// Milliseconds from the first beginning to this one.
    pub offset_ms: i64,
    /// How long it took.
    pub length_ms: i64,
}

/// What something is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// Its format.
    pub format: Format,
    /// What it is about, in a few words: a goal, an engine, a job.
    pub headline: Option<String>,
    /// Ids, hashes, who made it.
    pub facts: Vec<Fact>,
    /// Inputs, steps, outputs.
    pub sections: Vec<Section>,
    /// The decomposition, or the way from inputs to outputs.
    pub pictures: Vec<(String, Picture)>,
    /// When what happened.
    pub timeline: Vec<Moment>,
}

/// The documents of a bundle by name; a format that is one document has it under "".
pub type Documents<'a> = BTreeMap<String, Node<'a>>;

/// A document by its members: what is one value is a fact, what is a list a table.
pub(crate) fn describe_plainly(description: &mut Description, documents: &Documents<'_>) {
    for (name, node) in documents {
        let prefix = if name.is_empty() || documents.len() == 1 {
            String::new()
        } else {
            format!("{name} ")
        };
        members::add_members(description, *node, &prefix);
        if name.is_empty()
            && let Ok(digest) = canonical_digest(*node, Dialect::Kernel)
        {
            description.add_fact("canonical hash", format!("sha256:{digest}"));
        }
    }
    if let Some(node) = documents.get("") {
        pack::add_actions(description, *node);
        pack::add_results(description, *node);
        timeline::add_timing(description, *node);
    }
    timeline::finish_timeline(description);
}

impl Description {
    /// A description of which only the format is known yet.
    pub(crate) fn of(format: Format) -> Self {
        Self {
            format,
            headline: None,
            facts: Vec::new(),
            sections: Vec::new(),
            pictures: Vec::new(),
            timeline: Vec::new(),
        }
    }

    fn add_fact(&mut self, label: &str, value: impl Into<String>) {
        self.facts.push(Fact {
            label: label.to_owned(),
            value: value.into(),
        });
    }

    /// Adds a picture of what led to what; a lane with nothing in it is left out.
    fn add_flow(&mut self, title: &str, mut lanes: Vec<Lane>) {
        lanes.retain(|lane| !lane.cards.is_empty());
        self.pictures.push((title.to_owned(), Picture::Flow(lanes)));
    }

    /// Adds the members that are there as facts.
    fn add_facts(&mut self, node: Node<'_>, members: &[(&str, &str)]) {
        for (path, label) in members {
            if let Some(text) = members::text_at(node, path) {
                self.add_fact(label, text);
            }
        }
    }
}
