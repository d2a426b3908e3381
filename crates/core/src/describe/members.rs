//! Documents by their members, whatever they are.

use super::{Description, Section};
use crate::canon::{Dialect, Kind, Node, canonical_bytes};

/// Rows of a table that are kept; the rest is counted.
const ROWS: usize = 500;
/// Columns of a table.
const COLUMNS: usize = 7;

/// A value in one line: a string as it is, anything else as canonical JSON.
pub(super) fn text_of(node: Node<'_>) -> String {
    if let Some(text) = node.as_lossy_str() {
        return text.into_owned();
    }
    // A list of texts reads better without its brackets.
    if node.kind() == Kind::Array && node.items().all(|item| item.is_string()) {
        let texts: Vec<_> = node.items().map(text_of).collect();
        return texts.join(", ");
    }
    match canonical_bytes(node, Dialect::Kernel) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => error.to_string(),
    }
}

/// The value at a path of members with dots between them.
pub(super) fn at<'a>(node: Node<'a>, path: &str) -> Option<Node<'a>> {
    path.split('.')
        .try_fold(node, |node, member| node.get(member))
}

/// The text at a path, unless there is none or null.
pub(super) fn text_at(node: Node<'_>, path: &str) -> Option<String> {
    at(node, path).filter(|node| !node.is_null()).map(text_of)
}

/// The elements of the list at a path.
pub(super) fn list_at<'a>(node: Node<'a>, path: &str) -> Vec<Node<'a>> {
    at(node, path).map_or_else(Vec::new, |list| match list.kind() {
        Kind::Array => list.items().collect(),
        _ => Vec::new(),
    })
}

/// A table of the named members of each element; nothing where there are no elements.
pub(super) fn table(
    title: &str,
    elements: &[Node<'_>],
    columns: &[(&str, &str)],
) -> Option<Section> {
    if elements.is_empty() {
        return None;
    }
    let mut rows: Vec<Vec<String>> = (elements.iter().take(ROWS))
        .map(|element| {
            let cell = |(path, _): &(&str, &str)| match *path {
                "" => text_of(*element),
                path => text_at(*element, path).unwrap_or_default(),
            };
            columns.iter().map(cell).collect()
        })
        .collect();
    if elements.len() > ROWS {
        let mut last = vec![String::new(); columns.len()];
        last[0] = format!("… and {} more", elements.len() - ROWS);
        rows.push(last);
    }
    Some(Section {
        title: title.to_owned(),
        columns: columns
            .iter()
            .map(|(_, label)| (*label).to_owned())
            .collect(),
        rows,
    })
}

/// Adds all members of an object, one level of objects below it included.
pub(super) fn add_members(description: &mut Description, node: Node<'_>, prefix: &str) {
    if node.kind() == Kind::Array {
        add_list(description, &format!("{prefix}entries"), node);
        return;
    }
    for (key, value) in node.members() {
        let label = format!("{prefix}{}", key.to_lossy().replace('_', " "));
        match value.kind() {
            Kind::Null => {}
            Kind::Object if !prefix.ends_with("· ") => {
                add_members(description, value, &format!("{label} · "));
            }
            Kind::Array => add_list(description, &label, value),
            _ => description.add_fact(&label, text_of(value)),
        }
    }
}

fn add_list(description: &mut Description, label: &str, list: Node<'_>) {
    let elements: Vec<_> = list.items().collect();
    let objects = elements
        .iter()
        .filter(|element| element.kind() == Kind::Object);
    if objects.clone().count() == 0 {
        if !elements.is_empty() {
            let shown = elements.iter().take(ROWS);
            let mut texts: Vec<_> = shown.map(|element| text_of(*element)).collect();
            if elements.len() > ROWS {
                texts.push(format!("… and {} more", elements.len() - ROWS));
            }
            description.add_fact(label, texts.join(", "));
        }
        return;
    }
    let mut keys: Vec<String> = Vec::new();
    'columns: for object in objects.take(ROWS) {
        for (key, value) in object.members() {
            if keys.len() == COLUMNS {
                break 'columns;
            }
            let key = key.to_lossy().into_owned();
            let is_plain = !matches!(value.kind(), Kind::Object | Kind::Array | Kind::Null);
            if is_plain && !keys.contains(&key) {
                keys.push(key);
            }
        }
    }
    let columns: Vec<_> = keys
        .iter()
        .map(|key| (key.as_str(), key.as_str()))
        .collect();
    if !columns.is_empty() {
        description
            .sections
            .extend(table(label, &elements, &columns));
    }
}
