//! Describes a unit for people: what was asked, what was done, what came out.
//!
//! Turns an [`Exhibit`] into a [`Description`], from which `inspect` and `report` are rendered. Shows
//! what is written there, valid or not; what is missing or mistyped is left out. A new format needs a
//! line in [`describe`], which the compiler demands, and a module if its members are not enough.

mod bag;
mod content;
mod context;
mod job;
mod members;
mod model;
mod pack;
mod picture;
mod plain;
mod proposal;
mod receipt;
mod redacted;
mod run;
mod timeline;

use std::borrow::Cow;

use runseal_core::canon::Node;
use runseal_core::formats::Format;

use crate::exhibit::Exhibit;

pub use content::{ImageKind, content_block, size_text};
pub use picture::{Card, Lane, Mark, Picture, TreeNode};
pub use redacted::{BAR, is_bar, split_place};

/// A label and a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// The label.
    pub label: String,
    /// The value.
    pub value: String,
}

impl Fact {
    /// The value; an empty one in words.
    pub(crate) fn value_or_empty(&self) -> &str {
        match self.value.as_str() {
            "" => "(empty)",
            value => value,
        }
    }
}

/// What a row, a card or a block is about, so that it can be marked if that is wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    /// The file; empty if the unit is one document.
    pub file: String,
    /// The place in its JSON; `None` for the file as a whole.
    pub pointer: Option<String>,
}

impl About {
    /// About a file.
    pub fn file(name: impl Into<String>) -> Self {
        Self {
            file: name.into(),
            pointer: None,
        }
    }

    /// About a place in a document.
    pub fn place(file: impl Into<String>, pointer: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            pointer: Some(pointer.into()),
        }
    }
}

/// A row of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// One cell per column.
    pub cells: Vec<String>,
    /// What it is about.
    pub about: Vec<About>,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The headings of its columns.
    pub columns: Vec<String>,
    /// Its rows.
    pub rows: Vec<Row>,
    /// The number of rows left out.
    pub left_out: usize,
}

/// A list of short texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    /// The first ones.
    pub shown: Vec<String>,
    /// The number of texts left out.
    pub left_out: usize,
}

/// Something that took time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// What happened.
    pub label: String,
    /// When it began, as written.
    pub begin: String,
    /// Milliseconds from the first beginning to this one.
    pub offset_ms: i64,
    /// Its duration in milliseconds.
    pub length_ms: i64,
}

/// A JSON document, or a part of one.
#[derive(Debug, Clone, Copy)]
pub struct Tree<'a> {
    /// The value.
    pub root: Node<'a>,
    /// Its JSON Schema, for units and descriptions.
    pub schema: Option<Node<'a>>,
}

/// Something that was done: a command, a read, an action, a call.
#[derive(Debug, Clone)]
pub struct Step<'a> {
    /// What was done, in a line.
    pub title: String,
    /// How it ended, in a word.
    pub state: Option<String>,
    /// How good that is.
    pub mark: Mark,
    /// More about it.
    pub facts: Vec<Fact>,
    /// Its texts, each with a label: what was read, printed or said.
    pub texts: Vec<(String, Words<'a>)>,
    /// What it is about.
    pub about: Vec<About>,
}

/// A text and how it is written.
#[derive(Debug, Clone)]
pub enum Words<'a> {
    /// Unchanged, in a fixed width.
    Plain(Cow<'a, str>),
    /// Markdown.
    Markdown(Cow<'a, str>),
    /// Not shown, for this reason.
    Missing(String),
}

/// One turn of a conversation with a model.
#[derive(Debug, Clone)]
pub struct Turn<'a> {
    /// Who speaks: `user`, `assistant`, `tool`, `system`.
    pub role: Cow<'a, str>,
    /// What is said.
    pub said: Words<'a>,
    /// Model, tokens, time.
    pub note: String,
    /// What it is about.
    pub about: Vec<About>,
}

/// What a block shows.
#[derive(Debug, Clone)]
pub enum Body<'a> {
    /// A text.
    Words(Words<'a>),
    /// A list.
    List(Lines),
    /// Facts.
    Facts(Vec<Fact>),
    /// A table.
    Table(Table),
    /// JSON.
    Tree(Tree<'a>),
    /// A file of values separated by commas or another character.
    Csv(&'a str),
    /// A picture file.
    Image(ImageKind, &'a [u8]),
    /// Steps in order.
    Steps(Vec<Step<'a>>),
    /// A conversation.
    Conversation(Vec<Turn<'a>>),
    /// A drawing made here.
    Picture(Picture),
    /// What happened when.
    Timeline(Vec<Moment>),
}

/// A titled part of a description.
#[derive(Debug, Clone)]
pub struct Block<'a> {
    /// Its title.
    pub title: String,
    /// A remark below the title, such as the type and size of a file.
    pub remark: String,
    /// What it is about.
    pub about: Vec<About>,
    /// What it shows.
    pub body: Body<'a>,
    /// Whether it is folded at first.
    pub is_folded: bool,
}

impl<'a> Block<'a> {
    /// A block.
    pub fn new(title: impl Into<String>, body: Body<'a>) -> Self {
        Self {
            title: title.into(),
            remark: String::new(),
            about: Vec::new(),
            body,
            is_folded: false,
        }
    }

    /// Adds what it is about.
    #[must_use]
    pub fn about(mut self, about: About) -> Self {
        self.about.push(about);
        self
    }

    /// Folds it at first.
    #[must_use]
    pub fn folded(mut self) -> Self {
        self.is_folded = true;
        self
    }

    /// Sets the remark.
    #[must_use]
    pub fn remark(mut self, remark: impl Into<String>) -> Self {
        self.remark = remark.into();
        self
    }
}

/// What a unit is and says.
#[derive(Debug, Clone)]
pub struct Description<'a> {
    /// Its format.
    pub format: Format,
    /// What it is about, in a few words: a goal, an engine, a job.
    pub headline: Option<String>,
    /// Ids, hashes, who made it.
    pub facts: Vec<Fact>,
    /// What was asked, and the inputs.
    pub asked: Vec<Block<'a>>,
    /// What was done.
    pub done: Vec<Block<'a>>,
    /// What came out.
    pub came_out: Vec<Block<'a>>,
    /// What the record says it did not capture.
    pub gaps: Vec<String>,
}

/// Describes what an exhibit says.
pub fn describe<'a>(exhibit: &Exhibit<'a>) -> Description<'a> {
    let mut description = Description {
        format: exhibit.format,
        headline: None,
        facts: Vec::new(),
        asked: Vec::new(),
        done: Vec::new(),
        came_out: Vec::new(),
        gaps: Vec::new(),
    };
    match exhibit.format {
        Format::ContextBundle => context::describe_context(&mut description, exhibit),
        Format::JobBundle => job::describe_job(&mut description, exhibit),
        Format::Pack => pack::describe_pack(&mut description, exhibit),
        Format::RunBundle => run::describe_run(&mut description, exhibit),
        Format::Redacted => redacted::describe_redacted(&mut description, exhibit),
        Format::Receipt => receipt::describe_receipt(&mut description, exhibit),
        Format::Proposal => proposal::describe_proposal(&mut description, exhibit),
        Format::Patch => proposal::describe_patch(&mut description, exhibit),
        Format::ModelIo => model::describe_model_io(&mut description, exhibit),
        Format::Evidence => pack::describe_evidence(&mut description, exhibit),
        Format::Runner => plain::describe_runner(&mut description, exhibit),
        Format::Ledger => plain::describe_ledger(&mut description, exhibit),
        Format::Engine => run::describe_engine(&mut description, exhibit),
        Format::Bag => bag::describe_bag(&mut description, exhibit),
        Format::Checksums => bag::describe_checksums(&mut description, exhibit),
        // The units in an archive are shown, never the archive itself.
        Format::Archive => {}
    }
    if let Some(root) = exhibit.document("") {
        let block = plain::document_block("The whole document", "", root).folded();
        let block = block.about(About::place("", ""));
        description.came_out.push(block);
    }
    description
}

impl<'a> Description<'a> {
    /// All blocks, in the order of the page.
    pub fn blocks(&self) -> impl Iterator<Item = &Block<'a>> {
        self.asked.iter().chain(&self.done).chain(&self.came_out)
    }

    fn add_fact(&mut self, label: &str, value: impl Into<String>) {
        self.facts.push(Fact {
            label: label.to_owned(),
            value: value.into(),
        });
    }

    /// Adds the members that exist as facts.
    fn add_facts(&mut self, node: Node<'_>, members: &[(&str, &str)]) {
        self.facts.extend(members::facts_of(node, members));
    }
}
