//! Reads members of any document for display.

use runseal_core::canon::{Dialect, Kind, Node, canonical_bytes};

use super::redacted::{BAR, is_bar};
use super::{About, Block, Body, Fact, Lines, Row, Table, Words};
use crate::limits::{CELL, COLUMNS, ROWS};
use crate::reveal::cut;

/// A value in one line, cut if long: a string unchanged, anything else as canonical JSON.
pub(super) fn text_of(node: Node<'_>) -> String {
    if let Some(text) = node.as_lossy_str() {
        return cut(&text, CELL).into_owned();
    }
    if is_bar(node) {
        return BAR.to_owned();
    }
    // A list of strings reads better without brackets.
    if node.kind() == Kind::Array && node.items().all(|item| item.is_string()) {
        if node.is_empty() {
            return "none".to_owned();
        }
        let texts: Vec<_> = node.items().take(ROWS).map(text_of).collect();
        return cut(&texts.join(", "), CELL).into_owned();
    }
    if !matches!(node.kind(), Kind::Array | Kind::Object) || node.len() < ROWS {
        return match canonical_bytes(node, Dialect::Kernel) {
            Ok(bytes) => cut(&String::from_utf8_lossy(&bytes), CELL).into_owned(),
            Err(error) => error.to_string(),
        };
    }
    format!("{} with {} parts", node.kind().with_article(), node.len())
}

/// The value at a path of members separated by dots.
pub(super) fn at<'a>(node: Node<'a>, path: &str) -> Option<Node<'a>> {
    path.split('.')
        .try_fold(node, |node, member| node.get(member))
}

/// The text at a path; `None` if it is missing or null.
pub(super) fn text_at(node: Node<'_>, path: &str) -> Option<String> {
    at(node, path).filter(|node| !node.is_null()).map(text_of)
}

/// The whole string at a path, however long.
pub(super) fn string_at<'a>(node: Node<'a>, path: &str) -> Option<std::borrow::Cow<'a, str>> {
    at(node, path)?.as_lossy_str()
}

/// The number at a path, if it is an integer.
pub(super) fn integer_at(node: Node<'_>, path: &str) -> Option<i64> {
    at(node, path)?.as_number()?.to_exact_i64()
}

/// The elements of a list, which are not copied: a document may have a million of them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct List<'a>(Option<Node<'a>>);

impl<'a> List<'a> {
    /// The elements of `node`; empty if it is not a list.
    pub(super) fn of(node: Node<'a>) -> Self {
        Self(Some(node).filter(|node| node.kind() == Kind::Array))
    }

    pub(super) fn len(&self) -> usize {
        self.0.map_or(0, |list| list.len())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Node<'a>> + Clone + use<'a> {
        self.0.into_iter().flat_map(|list| list.items())
    }

    /// The first elements as lines of text, and the number of the others.
    pub(super) fn lines(&self) -> Lines {
        Lines {
            shown: self.iter().take(ROWS).map(text_of).collect(),
            left_out: self.len().saturating_sub(ROWS),
        }
    }
}

/// The elements of the list at a path; empty if there is no list.
pub(super) fn list_at<'a>(node: Node<'a>, path: &str) -> List<'a> {
    at(node, path).map(List::of).unwrap_or_default()
}

/// The members that exist, as facts.
pub(super) fn facts_of(node: Node<'_>, members: &[(&str, &str)]) -> Vec<Fact> {
    let fact = |(path, label): &(&str, &str)| {
        Some(Fact {
            label: (*label).to_owned(),
            value: text_at(node, path)?,
        })
    };
    members.iter().filter_map(fact).collect()
}

/// A list in a document that becomes a table.
pub(super) struct ListPlace<'a, 'b> {
    /// All elements, or at least the first [`ROWS`].
    pub(super) elements: Vec<Node<'a>>,
    /// The number of all elements.
    pub(super) total: usize,
    /// The file that the list is in.
    pub(super) file: &'b str,
    /// The JSON Pointer of the list.
    pub(super) pointer: &'b str,
}

impl<'a, 'b> ListPlace<'a, 'b> {
    /// A list at its place.
    pub(super) fn new(list: List<'a>, file: &'b str, pointer: &'b str) -> Self {
        Self {
            elements: list.iter().take(ROWS).collect(),
            total: list.len(),
            file,
            pointer,
        }
    }
}

/// A table of the named members of each element; `None` if there are no elements.
pub(super) fn table<'a>(
    title: &str,
    list: &ListPlace<'_, '_>,
    columns: &[(&str, &str)],
) -> Option<Block<'a>> {
    if list.elements.is_empty() {
        return None;
    }
    let cell = |element: &Node<'_>, (path, _): &(&str, &str)| match *path {
        "" => text_of(*element),
        path => text_at(*element, path).unwrap_or_default(),
    };
    // An empty column says nothing.
    let shown = || list.elements.iter().take(ROWS);
    let is_filled =
        |column: &&(&str, &str)| shown().any(|element| !cell(element, column).is_empty());
    let columns: Vec<_> = columns.iter().filter(is_filled).collect();
    let rows = shown().enumerate().map(|(at, element)| Row {
        cells: columns.iter().map(|column| cell(element, column)).collect(),
        about: vec![About::place(list.file, format!("{}/{at}", list.pointer))],
    });
    let table = Table {
        columns: columns
            .iter()
            .map(|(_, label)| (*label).to_owned())
            .collect(),
        rows: rows.collect(),
        left_out: list.total.saturating_sub(ROWS),
    };
    Some(Block::new(title, Body::Table(table)))
}

/// As [`table`], for the list at a path of a document.
pub(super) fn table_at<'a>(
    title: &str,
    (file, root): (&str, Node<'_>),
    path: &str,
    columns: &[(&str, &str)],
) -> Option<Block<'a>> {
    let pointer = format!("/{}", path.replace('.', "/"));
    let list = ListPlace::new(list_at(root, path), file, &pointer);
    table(title, &list, columns)
}

/// A table with a column for each plain member of the elements.
pub(super) fn table_of_objects<'a>(title: &str, list: &ListPlace<'_, '_>) -> Option<Block<'a>> {
    let mut keys: Vec<String> = Vec::new();
    'columns: for object in list.elements.iter().take(ROWS) {
        for (key, value) in object.members() {
            if keys.len() == COLUMNS {
                break 'columns;
            }
            let key = key.to_lossy().into_owned();
            let is_plain = !matches!(value.kind(), Kind::Object | Kind::Array | Kind::Null);
            if is_plain && !key.contains('.') && !keys.contains(&key) {
                keys.push(key);
            }
        }
    }
    let columns: Vec<_> = keys
        .iter()
        .map(|key| (key.as_str(), key.as_str()))
        .collect();
    if columns.is_empty() {
        return None;
    }
    table(title, list, &columns)
}

/// A quoted text: a goal, an intent.
pub(super) fn words_block<'a>(title: &str, text: String) -> Block<'a> {
    Block::new(title, Body::Words(Words::Plain(text.into())))
}
