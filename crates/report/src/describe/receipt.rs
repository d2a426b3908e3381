//! The receipt of a replay, or a chain of them.

use std::collections::BTreeSet;

use runseal_core::canon::{Kind, Node};

use super::members::{ListPlace, list_at, table, text_at};
use super::picture::{Card, Lane, Mark, flow};
use super::{About, Block, Body, Description};
use crate::exhibit::Exhibit;

pub(super) fn describe_receipt<'a>(description: &mut Description<'a>, exhibit: &Exhibit<'a>) {
    let Some(root) = exhibit.document("") else {
        return;
    };
    let receipts: Vec<_> = match root.kind() {
        Kind::Array => root.items().collect(),
        _ => vec![root],
    };
    let Some(last) = receipts.last().copied() else {
        return;
    };
    let is_list = root.kind() == Kind::Array;
    match receipts.as_slice() {
        [only] => add_one(description, *only),
        _ => {
            description.headline = Some(format!("A chain of {} receipts", receipts.len()));
            let columns = [
                ("job_id", "job"),
                ("outcome", "outcome"),
                ("receipt_index", "index"),
                ("receipt_hash", "receipt hash"),
                ("parent_receipt_hash", "parent"),
            ];
            let list = ListPlace {
                elements: &receipts,
                file: "",
                pointer: "",
            };
            description
                .came_out
                .extend(table("Receipts", &list, &columns));
        }
    }
    let mut cards = Vec::new();
    for (number, receipt) in receipts.iter().enumerate() {
        let steps = list_at(*receipt, "steps");
        let columns = [
            ("ordinal", "#"),
            ("op", "operation"),
            ("outcome", "outcome"),
            ("result.bytes", "bytes"),
            ("result.content_hash", "content hash"),
            ("step_id", "step"),
        ];
        let base = if is_list {
            format!("/{number}")
        } else {
            String::new()
        };
        if receipts.len() == 1 {
            let list = ListPlace {
                elements: &steps,
                file: "",
                pointer: &format!("{base}/steps"),
            };
            description
                .done
                .extend(table("Steps done again", &list, &columns));
        }
        for (at, step) in steps.iter().enumerate() {
            let text = |path| text_at(*step, path).unwrap_or_default();
            let mark = Mark::of(text_at(*step, "outcome").as_deref());
            let card = Card::new(text("op"), text("step_id"), mark);
            cards.push(card.about(About::place("", format!("{base}/steps/{at}"))));
        }
    }
    let picture = replay_picture(&receipts, last, cards);
    description.done.insert(0, picture);
}

fn add_one(description: &mut Description<'_>, only: Node<'_>) {
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
            ("attestation.validator_id", "signed by"),
            ("attestation.build_id", "build"),
        ],
    );
    if only.get("attestation").is_none_or(|node| node.is_null()) {
        description.add_fact("signature", "none");
    }
}

fn replay_picture<'a>(receipts: &[Node<'_>], last: Node<'_>, cards: Vec<Card>) -> Block<'a> {
    let short = |node, path| {
        let text = text_at(node, path).unwrap_or_default();
        text.chars().take(16).collect::<String>()
    };
    let outcome = text_at(last, "outcome");
    let bundles: Vec<_> = receipts
        .iter()
        .map(|receipt| short(*receipt, "bundle_id"))
        .collect();
    let mut seen = BTreeSet::new();
    let bundles: Vec<_> = bundles
        .iter()
        .filter(|bundle| seen.insert(*bundle))
        .collect();
    let title = if bundles.len() == 1 {
        "Bundle"
    } else {
        "Bundles"
    };
    let bundles = bundles
        .into_iter()
        .map(|bundle| Card::new(bundle, "job bundle", Mark::Plain));
    let lanes = vec![
        Lane::new(title, bundles),
        Lane::new("Steps done again", cards),
        Lane::new(
            "Receipt",
            [Card::new(
                outcome.clone().unwrap_or_default(),
                short(last, "receipt_hash"),
                Mark::of(outcome.as_deref()),
            )
            .about(About::place("", ""))],
        ),
    ];
    Block::new("The replay", Body::Picture(flow(lanes)))
}
