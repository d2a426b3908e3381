//! A redacted copy: it reads like the original bundle, with a black bar and a reason for whatever is
//! withheld.

use std::borrow::Cow;

use runseal_core::canon::Node;
use runseal_core::formats::Format;
use runseal_core::formats::redacted::commit::MARKER;

use super::plain::document_block;
use super::{About, Block, Body, Description, Row, Table, Words, job, pack, run};
use crate::exhibit::Exhibit;
use crate::limits::ROWS;

const REDACTION: &str = "REDACTION.json";
const REDACTED: &str = "REDACTED.json";

/// What is shown for a withheld value.
pub const BAR: &str = "██████";

/// Whether a value is the marker of a withheld one.
pub fn is_bar(node: Node<'_>) -> bool {
    node.len() == 1 && node.get(MARKER).is_some()
}

/// Splits a withheld place into the file and the pointer in it.
pub fn split_place(place: &str) -> (&str, Option<&str>) {
    match place.split_once('#') {
        Some((file, place)) => (file, Some(place)),
        None => (place, None),
    }
}

/// A text with bars instead of markers.
fn mask(text: &str) -> String {
    let begin = format!("{{\"{MARKER}\":\"");
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(&begin) {
        masked.push_str(&rest[..at]);
        masked.push_str(BAR);
        rest = rest[at..].split_once('}').map_or("", |(_, rest)| rest);
    }
    masked.push_str(rest);
    masked
}

/// Replaces the markers in lines of JSON that are shown as text.
fn mask_words(description: &mut Description<'_>) {
    let Description {
        asked,
        done,
        came_out,
        ..
    } = description;
    for block in asked.iter_mut().chain(done).chain(came_out) {
        if let Body::Words(Words::Plain(text) | Words::Markdown(text)) = &mut block.body
            && text.contains(MARKER)
        {
            *text = Cow::Owned(mask(text));
        }
    }
}

pub(super) fn describe_redacted<'a>(description: &mut Description<'a>, exhibit: &Exhibit<'a>) {
    let format = exhibit
        .document(REDACTION)
        .and_then(|redaction| redaction.get("format")?.as_str());
    match format.as_deref() {
        Some("pack") => pack::describe_pack(description, exhibit),
        Some("job-bundle") => job::describe_job(description, exhibit),
        _ => run::describe_run(description, exhibit),
    }
    description.format = Format::Redacted;
    mask_words(description);
    let withheld = &exhibit.identity.withheld;
    if withheld.is_empty() {
        return;
    }
    let rows = withheld.iter().take(ROWS).map(|(place, reason)| {
        let (file, inside) = split_place(place);
        let inside = inside.unwrap_or("the whole file");
        Row {
            cells: [file, inside, BAR, reason].map(str::to_owned).to_vec(),
            about: vec![About::file(file)],
        }
    });
    let table = Table {
        columns: ["file", "place", "value", "reason"]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.collect(),
        left_out: withheld.len().saturating_sub(ROWS),
    };
    let block = Block::new("What is withheld", Body::Table(table));
    description.asked.insert(0, block);
    // Each document with withheld values, whole, with bars instead of those values.
    let mut names: Vec<&str> = withheld
        .iter()
        .filter(|(place, _)| split_place(place).1.is_some())
        .map(|(place, _)| split_place(place).0)
        .collect();
    names.dedup();
    let is_shown = |description: &Description<'_>, name: &str| {
        let is_of = |block: &Block<'_>| block.about.iter().any(|about| about.file == name);
        let mut blocks = description.blocks();
        blocks.any(|block| matches!(block.body, Body::Tree(_)) && is_of(block))
    };
    for name in names.into_iter().filter(|name| *name != REDACTED) {
        if let Some(root) = exhibit.document(name)
            && !is_shown(description, name)
        {
            let title = format!("{name}, as far as it is shown");
            let block = document_block(&title, name, root).folded();
            description.came_out.push(block);
        }
    }
}
