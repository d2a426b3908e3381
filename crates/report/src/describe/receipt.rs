//! The receipt of a replay, or a chain of them.

use std::collections::BTreeSet;

use runseal_core::canon::{Kind, Node};

use super::members::{List, ListPlace, list_at, table, text_at};
use super::picture::{Card, Lane, Mark, flow};
use super::{About, Block, Body, Description};
use crate::exhibit::Exhibit;

pub(super) fn describe_receipt<'a>(description: &mut Description<'a>, exhibit: &Exhibit<'a>) {
    let Some(root) = exhibit.document("") else {
        return;
    };
    // A chain is a list of receipts.
    let chain = (root.kind() == Kind::Array).then(|| List::of(root));
    match chain {
        None => add_one(description, root, ""),
        Some(chain) => match (chain.iter().next(), chain.len()) {
            (None, _) => return,
            (Some(only), 1) => add_one(description, only, "/0"),
            (Some(_), count) => {
                description.headline = Some(format!("A chain of {count} receipts"));
                let columns = [
                    ("job_id", "job"),
                    ("outcome", "outcome"),
                    ("receipt_index", "index"),
                    ("receipt_hash", "receipt hash"),
                    ("parent_receipt_hash", "parent"),
                ];
                let list = ListPlace::new(chain, "", "");
                description
                    .came_out
                    .extend(table("Receipts", &list, &columns));
            }
        },
    }
    let picture = match chain {
        None => replay_picture([(String::new(), root)].into_iter()),
        Some(chain) => {
            let placed = |(at, receipt)| (format!("/{at}"), receipt);
            replay_picture(chain.iter().enumerate().map(placed))
        }
    };
    description.done.insert(0, picture);
}

/// Adds what the only receipt, at `pointer`, says.
fn add_one(description: &mut Description<'_>, only: Node<'_>, pointer: &str) {
    description.headline = text_at(only, "job_id").map(|job| format!("Replay of job {job}"));
    description.add_facts(
        only,
        &[
            ("outcome", "outcome"),
            ("bundle_id", "bundle id"),
            ("root_hash", "root hash"),
            ("plan_hash", "plan hash"),
            ("run_id", "run"),
            ("receipt_hash", "receipt hash"),
            ("parent_receipt_hash", "parent receipt"),
            ("receipt_index", "index"),
            ("executor_version", "executor version"),
            ("attestation.public_key", "signed with key"),
            ("attestation.validator_id", "signer, as it claims"),
            ("attestation.build_id", "build"),
        ],
    );
    if only.get("attestation").is_none_or(|node| node.is_null()) {
        description.add_fact("signature", "none");
    }
    let columns = [
        ("ordinal", "#"),
        ("op", "operation"),
        ("outcome", "outcome"),
        ("result.bytes", "bytes"),
        ("result.content_hash", "content hash"),
        ("step_id", "step"),
    ];
    let pointer = format!("{pointer}/steps");
    let list = ListPlace::new(list_at(only, "steps"), "", &pointer);
    description
        .done
        .extend(table("Steps done again", &list, &columns));
}

fn step_card(pointer: &str, at: usize, step: Node<'_>) -> Card {
    let text = |path| text_at(step, path).unwrap_or_default();
    let mark = Mark::of(text_at(step, "outcome").as_deref());
    Card::new(text("op"), text("step_id"), mark)
        .about(About::place("", format!("{pointer}/steps/{at}")))
}

/// How bundles became receipts; each receipt comes with its pointer.
fn replay_picture<'a, 'b>(receipts: impl Iterator<Item = (String, Node<'b>)> + Clone) -> Block<'a> {
    let short = |node, path| {
        let text = text_at(node, path).unwrap_or_default();
        text.chars().take(16).collect::<String>()
    };
    let mut seen = BTreeSet::new();
    let bundles: Vec<_> = receipts
        .clone()
        .map(|(_, receipt)| short(receipt, "bundle_id"))
        .filter(|bundle| seen.insert(bundle.clone()))
        .collect();
    let title = if bundles.len() == 1 {
        "Bundle"
    } else {
        "Bundles"
    };
    let bundles = bundles
        .into_iter()
        .map(|bundle| Card::new(bundle, "job bundle", Mark::Plain));
    let last = receipts.clone().last().map(|(_, receipt)| receipt);
    let outcome = last.and_then(|last| text_at(last, "outcome"));
    let hash = last.map(|last| short(last, "receipt_hash"));
    let cards = receipts.flat_map(|(pointer, receipt)| {
        let steps = list_at(receipt, "steps").iter().enumerate();
        steps.map(move |(at, step)| step_card(&pointer, at, step))
    });
    let lanes = vec![
        Lane::new(title, bundles),
        Lane::new("Steps done again", cards),
        Lane::new(
            "Receipt",
            [Card::new(
                outcome.clone().unwrap_or_default(),
                hash.unwrap_or_default(),
                Mark::of(outcome.as_deref()),
            )
            .about(About::place("", ""))],
        ),
    ];
    Block::new("The replay", Body::Picture(flow(lanes)))
}
