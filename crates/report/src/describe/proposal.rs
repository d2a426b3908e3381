//! The proposal and the patch set: what is to be done, and what is to be written.

use runseal_core::canon::Node;

use super::content::size_text;
use super::members::{ListPlace, list_at, string_at, table_at, table_of_objects, text_at};
use super::picture::{Card, Lane, Mark, flow, lane_of};
use super::{About, Block, Body, Description, Words};
use crate::exhibit::Exhibit;
use crate::limits::CONTENTS;
use crate::reveal::counted;

/// A proposal.
pub(super) fn describe_proposal<'a>(description: &mut Description<'a>, exhibit: &Exhibit<'a>) {
    let Some(root) = exhibit.document("") else {
        return;
    };
    let (actions, tests) = (list_at(root, "actions"), list_at(root, "acceptance_tests"));
    description.headline = Some(format!(
        "{} and {}",
        counted(actions.len(), "action"),
        counted(tests.len(), "test")
    ));
    description.add_facts(
        root,
        &[
            ("id", "proposal"),
            ("status", "status"),
            ("source_bundle_id", "context bundle"),
            ("source_bundle_hash", "context bundle hash"),
            ("proposal_schema_version", "schema version"),
        ],
    );
    let card = |node: Node<'_>, title: &str, pointer: String| {
        let text = |path| text_at(node, path).unwrap_or_default();
        Card::new(text(title), text("type"), Mark::Plain).about(About::place("", pointer))
    };
    let source = text_at(root, "source_bundle_id").unwrap_or_default();
    let lanes = vec![
        Lane::new("Context bundle", [Card::new(source, "", Mark::Plain)]),
        lane_of("Actions", actions, |at, action| {
            card(action, "target", format!("/actions/{at}"))
        }),
        lane_of("Tests", tests, |at, test| {
            card(test, "name", format!("/acceptance_tests/{at}"))
        }),
    ];
    description
        .asked
        .push(Block::new("What is proposed", Body::Picture(flow(lanes))));
    for (member, title, elements) in [
        ("actions", "Actions", actions),
        ("acceptance_tests", "Tests", tests),
    ] {
        let pointer = format!("/{member}");
        let list = ListPlace::new(elements, "", &pointer);
        description.asked.extend(table_of_objects(title, &list));
    }
}

/// A patch set: what is written where.
pub(super) fn describe_patch<'a>(description: &mut Description<'a>, exhibit: &Exhibit<'a>) {
    let Some(root) = exhibit.document("") else {
        return;
    };
    let operations = list_at(root, "operations");
    description.headline = Some(counted(operations.len(), "file operation"));
    description.add_facts(
        root,
        &[
            ("source_proposal_id", "proposal"),
            ("source_proposal_hash", "proposal hash"),
            ("patch_schema_version", "schema version"),
            ("total_bytes", "bytes in all"),
        ],
    );
    let columns = [
        ("op", "operation"),
        ("path", "path"),
        ("size_bytes", "bytes"),
        ("expected_hash", "content hash"),
    ];
    let table = table_at("Operations", ("", root), "operations", &columns);
    description.came_out.extend(table);
    for (at, operation) in operations.iter().enumerate().take(CONTENTS) {
        let Some(content) = string_at(operation, "content") else {
            continue;
        };
        let path = text_at(operation, "path").unwrap_or_default();
        let remark = format!(
            "{} · {}",
            text_at(operation, "op").unwrap_or_default(),
            size_text(content.len() as u64)
        );
        let words = if path.ends_with(".md") {
            Words::Markdown(content)
        } else {
            Words::Plain(content)
        };
        let about = About::place("", format!("/operations/{at}"));
        let block = Block::new(path, Body::Words(words))
            .about(about)
            .remark(remark);
        description.came_out.push(block.folded());
    }
}
