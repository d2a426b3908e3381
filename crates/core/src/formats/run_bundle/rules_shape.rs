//! RB18: RUN_INPUT.json and RUN_OUTPUT.json of a recorded command have their members and no others.
//!
//! The schemas in the bundle come from its maker, so they guarantee nothing. A replay compares the
//! members of this table; any other member would be shown but not compared.

use super::facts::RunBundleView;
use super::layout::{RUN_INPUT, RUN_OUTPUT};
use super::recorded::{MODEL_IO_MEMBER, RECORDED_COMMAND};
use super::rules_recorded::is_recorded_view;
use crate::canon::{Kind, Node};
use crate::formats::shape::{
    Member, find_misfits, is_count, is_digest, is_filled_text, is_flag, is_list, is_object,
    is_text_list, is_word, member, optional,
};
use crate::verify::{Findings, Gate};

/// Applies to recorded commands.
pub(super) fn is_recorded(view: &RunBundleView<'_>) -> Gate {
    if is_recorded_view(view) {
        Gate::Ready
    } else {
        Gate::NotApplicable("it is not the run of a recorded command")
    }
}

const NOT_FILE: &str = "is not an entry for a file";
const NOT_TEXTS: &str = "is not a list of texts";

static INPUT: [Member; 12] = [
    member(
        "argv",
        |node| is_text_list(node) && node.is_some_and(|node| !node.is_empty()),
        "is not a list of words",
    ),
    member("environment", is_text_map, "is not an object of texts"),
    member("files", is_list, "is not a list"),
    member("inputs", is_list, "is not a list"),
    member(
        "links",
        is_link_list,
        "is not a list of `path` and `target`",
    ),
    member("parameters", is_text_map, "is not an object of texts"),
    member("stdin", is_null_or_file, NOT_FILE),
    optional(MODEL_IO_MEMBER, is_file, NOT_FILE),
    optional("keep", is_text_list, NOT_TEXTS),
    optional("ignore", is_text_list, NOT_TEXTS),
    optional(
        "compare",
        is_rule_list,
        "is not a list of `files` and `rule`",
    ),
    optional("fixed_time", is_integer, "is not an integer"),
];

static OUTPUT: [Member; 15] = [
    member(
        "engine",
        is_engine,
        "is not the engine of recorded commands",
    ),
    member(
        "semantics",
        |node| is_word(node, &["RAW_TRUTH"]),
        "is not RAW_TRUTH",
    ),
    member("inputs_hash", is_digest, "is not a SHA-256"),
    member("outputs_hash", is_digest, "is not a SHA-256"),
    member(
        "exit_status",
        |node| is_null_or_within(node, 0, 255),
        "is not null or an integer from 0 to 255",
    ),
    member(
        "signal",
        |node| is_null_or_within(node, 1, 127),
        "is not null or an integer from 1 to 127",
    ),
    member("failed", is_flag, "is not a boolean"),
    member("stdout", is_stored_file, NOT_FILE),
    member("stderr", is_stored_file, NOT_FILE),
    member(
        "outputs",
        |node| is_list(node) && node.is_some_and(|list| list.items().all(is_stored)),
        "is not a list of files that are stored",
    ),
    member("folders", is_text_list, NOT_TEXTS),
    member("deleted", is_text_list, NOT_TEXTS),
    optional("not_kept", is_text_list, NOT_TEXTS),
    optional(
        "interrupted",
        |node| node.is_some_and(|node| !node.is_null()) && is_null_or_within(node, 1, 127),
        "is not an integer from 1 to 127",
    ),
    optional(
        "links",
        is_link_list,
        "is not a list of `path` and `target`",
    ),
];

/// An entry of a list of files.
static FILE: [Member; 5] = [
    member("path", is_filled_text, "is not a path"),
    member("sha256", is_digest, "is not a SHA-256"),
    member("bytes", is_count, "is not a number of bytes"),
    member(
        "mode",
        |node| is_word(node, &["644", "755"]),
        "is not 644 or 755",
    ),
    optional("stored", is_filled_text, "is not a path"),
];

pub(super) fn check_members(view: &RunBundleView<'_>, findings: &mut Findings) {
    for (name, root, members, lists) in [
        (
            RUN_INPUT,
            view.input.root(),
            &INPUT[..],
            &["files", "inputs"][..],
        ),
        (
            RUN_OUTPUT,
            view.output.root(),
            &OUTPUT[..],
            &["outputs"][..],
        ),
    ] {
        let Some(root) = root else { continue };
        if root.kind() != Kind::Object {
            findings.add(name, "it is not an object");
            continue;
        }
        for misfit in find_misfits(root, members) {
            if view.hides(root.get(misfit.name)) {
                continue;
            }
            findings.add(name, format!("/{} {}", misfit.name, misfit.fault));
        }
        for unknown in find_unknown(root, members) {
            let unknown = unknown.escape_debug();
            findings.add(
                name,
                format!("a recorded command has no member `{unknown}`"),
            );
        }
        for list in lists {
            let items = root.get(list).into_iter().flat_map(|list| list.items());
            for (at, item) in items.enumerate().filter(|(_, item)| !is_file(Some(*item))) {
                if view.hides(Some(item)) {
                    continue;
                }
                let fault = match find_misfits(item, &FILE).next() {
                    Some(misfit) => format!("/{list}/{at}/{} {}", misfit.name, misfit.fault),
                    None => format!("/{list}/{at} has members that a file does not have"),
                };
                findings.add(name, fault);
            }
        }
    }
}

/// The members of a recorded command's input or output that nothing compares; the document may be
/// partly withheld.
pub fn find_unknown_members(name: &str, document: Node<'_>) -> Vec<String> {
    let members: &[Member] = match name {
        RUN_INPUT => &INPUT,
        RUN_OUTPUT => &OUTPUT,
        _ => return Vec::new(),
    };
    find_unknown(document, members).collect()
}

/// The names that are not in the table.
fn find_unknown<'a>(
    object: Node<'a>,
    members: &'static [Member],
) -> impl Iterator<Item = String> + use<'a> {
    let names = object
        .members()
        .map(|(name, _)| name.to_lossy().into_owned());
    names.filter(move |name| members.iter().all(|member| member.name != name))
}

fn is_file(node: Option<Node<'_>>) -> bool {
    node.is_some_and(|node| {
        is_object(Some(node))
            && find_misfits(node, &FILE).next().is_none()
            && find_unknown(node, &FILE).next().is_none()
    })
}

fn is_stored(file: Node<'_>) -> bool {
    file.get("stored").is_some()
}

fn is_stored_file(node: Option<Node<'_>>) -> bool {
    is_file(node) && node.is_some_and(is_stored)
}

fn is_null_or_file(node: Option<Node<'_>>) -> bool {
    node.is_some_and(|node| node.is_null()) || is_file(node)
}

fn is_text_map(node: Option<Node<'_>>) -> bool {
    let is_map = |node: Node<'_>| node.members().all(|(_, value)| value.is_string());
    is_object(node) && node.is_some_and(is_map)
}

fn is_link_list(node: Option<Node<'_>>) -> bool {
    let is_link = |link: Node<'_>| {
        link.len() == 2 && is_filled_text(link.get("path")) && is_filled_text(link.get("target"))
    };
    is_list(node) && node.is_some_and(|list| list.items().all(is_link))
}

fn is_rule_list(node: Option<Node<'_>>) -> bool {
    let is_rule = |rule: Node<'_>| {
        rule.len() == 2 && is_filled_text(rule.get("files")) && is_filled_text(rule.get("rule"))
    };
    is_list(node) && node.is_some_and(|list| list.items().all(is_rule))
}

fn is_integer(node: Option<Node<'_>>) -> bool {
    node.is_some_and(|node| {
        node.as_number()
            .is_some_and(|it| it.to_exact_i64().is_some())
    })
}

fn is_null_or_within(node: Option<Node<'_>>, least: i64, most: i64) -> bool {
    let number = |node: Node<'_>| node.as_number()?.to_exact_i64();
    node.is_some_and(|node| {
        node.is_null() || number(node).is_some_and(|number| (least..=most).contains(&number))
    })
}

fn is_engine(node: Option<Node<'_>>) -> bool {
    node.is_some_and(|engine| {
        engine.len() == 2
            && is_word(engine.get("engine_code"), &[RECORDED_COMMAND])
            && is_filled_text(engine.get("engine_version"))
    })
}
