//! The checks of a proposal, one function per rule.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::ProposalView;
use crate::canon::{Dialect, JsonPath, Kind, Node, Value, canonical_digest};
use crate::digest::{ContentHash, Digest};
use crate::ids::{ActionId, BundleId, ProposalId};
use crate::space::trim_ecmascript;
use crate::verify::{Findings, Gate, Place};

pub(super) fn needs_object(view: &ProposalView<'_>) -> Gate {
    match view.root.kind() {
        Kind::Object => Gate::Ready,
        _ => Gate::NotRun("the document is not an object"),
    }
}

pub(super) fn needs_actions(view: &ProposalView<'_>) -> Gate {
    needs_list(view, "actions", "there is no list of actions")
}

pub(super) fn needs_tests(view: &ProposalView<'_>) -> Gate {
    needs_list(view, "acceptance_tests", "there is no list of tests")
}

fn needs_list(view: &ProposalView<'_>, field: &str, because: &'static str) -> Gate {
    match view.root.get(field).map(|node| node.kind()) {
        Some(Kind::Array) => Gate::Ready,
        _ => Gate::NotRun(because),
    }
}

/// An action or a test, and its path.
#[derive(Clone)]
pub(super) struct Item<'a> {
    node: Node<'a>,
    path: JsonPath,
}

impl Item<'_> {
    /// The place labelled with the item's id, by which reports name it; without a label if the id
    /// is empty or missing.
    fn place(&self) -> Place {
        let id = text(self.node, "id").filter(|id| !id.is_empty());
        let place = id.map_or_else(Place::whole, Place::named);
        place.at(self.path.clone())
    }
}

fn elements<'a>(root: Node<'a>, field: &str) -> Vec<Item<'a>> {
    let list = root.get(field).map(|node| node.items());
    let item = |(at, node)| Item {
        node,
        path: JsonPath::ROOT.then(field).then(at),
    };
    list.into_iter().flatten().enumerate().map(item).collect()
}

fn list<'a>(view: &ProposalView<'a>, field: &str) -> Vec<Item<'a>> {
    let mut items = elements(view.root, field);
    items.retain(|item| item.node.kind() == Kind::Object);
    items
}

pub(super) fn actions<'a>(view: &ProposalView<'a>) -> Vec<Item<'a>> {
    list(view, "actions")
}

pub(super) fn tests<'a>(view: &ProposalView<'a>) -> Vec<Item<'a>> {
    list(view, "acceptance_tests")
}

fn text<'a>(node: Node<'a>, name: &str) -> Option<Cow<'a, str>> {
    node.get(name)?.as_lossy_str()
}

/// The place of a member of the proposal itself, which has no label in reports.
fn member(name: &str) -> Place {
    Place::whole().at(JsonPath::ROOT.then(name))
}

pub(super) fn check_schema(view: &ProposalView<'_>, findings: &mut Findings) {
    let root = view.root;
    if root.kind() != Kind::Object {
        let found = root.kind().with_article();
        findings.add_without_path(format!("a proposal is an object, not {found}"));
        return;
    }
    let id = text(root, "id").and_then(|id| ProposalId::parse(&id).ok());
    match &id {
        None => findings.add(
            member("id"),
            "`id` is not prop_ and 16 lower-case hex digits",
        ),
        Some(id) if view.derives_ids => check_proposal_id(root, id, findings),
        Some(_) => {}
    }
    if root.get("acceptance_tests").map(|node| node.kind()) != Some(Kind::Array) {
        findings.add(
            member("acceptance_tests"),
            "`acceptance_tests` is not a list",
        );
    }
    if root
        .get("requires_approval")
        .and_then(|node| node.as_bool())
        .is_none()
    {
        findings.add(
            member("requires_approval"),
            "`requires_approval` is neither true nor false",
        );
    }
    const ACTION: [(&str, Kind); 4] = [
        ("target", Kind::String),
        ("required", Kind::Bool),
        ("description", Kind::String),
        ("order", Kind::Number),
    ];
    const TEST: [(&str, Kind); 5] = [
        ("id", Kind::String),
        ("name", Kind::String),
        ("target", Kind::String),
        ("expected", Kind::String),
        ("required", Kind::Bool),
    ];
    check_fields(root, "actions", &ACTION, findings);
    check_fields(root, "acceptance_tests", &TEST, findings);
}

fn check_proposal_id(root: Node<'_>, id: &ProposalId, findings: &mut Findings) {
    let mut content = root.to_value();
    if let Value::Object(members) = &mut content {
        members.remove(&"id".into());
    }
    match ProposalId::derive(&content) {
        Ok(derived) if derived == *id => {}
        Ok(derived) => findings.add_difference(
            member("id"),
            "`id` is not that of the content",
            derived.to_string(),
            id.to_string(),
        ),
        Err(_) => findings.add_without_path("the proposal has no canonical form"),
    }
}

fn check_fields(root: Node<'_>, field: &str, wanted: &[(&str, Kind)], findings: &mut Findings) {
    for item in elements(root, field) {
        let node = item.node;
        if node.kind() != Kind::Object {
            let found = node.kind().with_article();
            let message = format!("an element of `{field}` is {found}, not an object");
            findings.add(item.place(), message);
            continue;
        }
        for (name, kind) in wanted {
            let found = node.get(name).map(|node| node.kind());
            if found != Some(*kind) {
                let wanted = kind.with_article();
                findings.add(item.place(), format!("`{name}` is not {wanted}"));
            } else if *name == "id" && item.place().label().is_none() {
                findings.add(item.place(), "the id of a test is empty");
            }
        }
        if let Some(hash) = node.get("expected_hash")
            && !hash.is_string()
        {
            findings.add(item.place(), "`expected_hash` is not a string");
        }
    }
}

fn is_blank(root: Node<'_>, field: &str) -> bool {
    text(root, field).is_none_or(|text| trim_ecmascript(&text).is_empty())
}

pub(super) fn check_version(view: &ProposalView<'_>, findings: &mut Findings) {
    if is_blank(view.root, "schema_version") {
        findings.add(
            member("schema_version"),
            "`schema_version` is not a string, or blank",
        );
    }
}

pub(super) fn check_summary(view: &ProposalView<'_>, findings: &mut Findings) {
    if is_blank(view.root, "summary") {
        findings.add(member("summary"), "`summary` is not a string, or blank");
    }
}

pub(super) fn check_source(view: &ProposalView<'_>, findings: &mut Findings) {
    let id = text(view.root, "source_bundle_id").unwrap_or_default();
    // 003 writes bun_, 000 bundle_; both are accepted.
    let spelled_out = id
        .strip_prefix("bun_")
        .map_or(Cow::Borrowed(&*id), |hash| format!("bundle_{hash}").into());
    let hash = text(view.root, "source_bundle_hash").unwrap_or_default();
    if BundleId::parse(&spelled_out).is_err() {
        findings.add(
            member("source_bundle_id"),
            format!(
                "`source_bundle_id` is `{}`, not bundle_ and 16 lower-case hex digits",
                id.escape_debug()
            ),
        );
    } else if let Some(bundle) = view.bundle
        && bundle.id != *id
        && bundle.id != spelled_out
    {
        findings.add_difference(
            member("source_bundle_id"),
            "`source_bundle_id` is that of another bundle",
            bundle.id.as_str(),
            id,
        );
    }
    match ContentHash::parse(&hash) {
        Err(_) => findings.add(
            member("source_bundle_hash"),
            format!(
                "`source_bundle_hash` is `{}`, not sha256: and 64 lower-case hex digits",
                hash.escape_debug()
            ),
        ),
        Ok(hash) => {
            if let Some(bundle) = view.bundle
                && bundle.hash != hash
            {
                findings.add_difference(
                    member("source_bundle_hash"),
                    "`source_bundle_hash` is that of another bundle",
                    bundle.hash.to_string(),
                    hash.to_string(),
                );
            }
        }
    }
}

pub(super) fn check_actions_list(view: &ProposalView<'_>, findings: &mut Findings) {
    if view.root.get("actions").map(|node| node.kind()) != Some(Kind::Array) {
        findings.add(member("actions"), "`actions` is missing or not a list");
    }
}

pub(super) fn check_unique(items: Vec<Item<'_>>, findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    for item in items {
        let place = item.place();
        let Some(id) = place.label().map(str::to_owned) else {
            continue;
        };
        if !seen.insert(id.clone()) {
            findings.add(place, format!("duplicate id `{id}`"));
        }
    }
}

pub(super) fn check_types(items: Vec<Item<'_>>, known: &[&str], findings: &mut Findings) {
    for item in items {
        let found = text(item.node, "type");
        if !found.as_deref().is_some_and(|found| known.contains(&found)) {
            let shown = found.map_or("nothing".to_owned(), |found| format!("`{found}`"));
            findings.add(
                item.place(),
                format!("the type is {shown}, which is unknown"),
            );
        }
    }
}

pub(super) fn check_action_ids(view: &ProposalView<'_>, findings: &mut Findings) {
    let actions = actions(view);
    let counts = if view.derives_ids {
        count_contents(&actions)
    } else {
        BTreeMap::new()
    };
    for item in &actions {
        let node = item.node;
        let id = text(node, "id").unwrap_or_default();
        if ActionId::parse(&id).is_err() {
            findings.add(
                item.place(),
                format!(
                    "`{}` is not act_ and 16 lower-case hex digits",
                    id.escape_debug()
                ),
            );
        } else if view.derives_ids {
            let alike = content_digest(node).and_then(|content| counts.get(&content));
            let derived = derive_action_id(node, alike.is_some_and(|count| *count > 1));
            let derived = findings.need(derived);
            if let Some(derived) = derived.filter(|derived| derived.as_str() != id) {
                findings.add_difference(
                    item.place(),
                    "the id is not that of the content",
                    derived.to_string(),
                    id,
                );
            }
        }
    }
}

/// Derives an action's id from content, target and type, and from order if another action of the
/// proposal has the same three.
fn derive_action_id(node: Node<'_>, collides: bool) -> Option<ActionId> {
    let is_there = |name: &str| node.get(name).is_some_and(|node| node.is_string());
    let content = node.get("content");
    if !is_there("target") || !is_there("type") || content.is_some_and(|it| !it.is_string()) {
        return None;
    }
    let mut content = action_content(node);
    if collides && let Some(order) = node.get("order") {
        content.insert("order", order.to_value());
    }
    ActionId::derive(&content).ok()
}

/// The number of actions with each content, by its hash.
fn count_contents(actions: &[Item<'_>]) -> BTreeMap<Digest, usize> {
    let mut counts = BTreeMap::new();
    for content in actions.iter().filter_map(|item| content_digest(item.node)) {
        *counts.entry(content).or_insert(0) += 1;
    }
    counts
}

fn content_digest(node: Node<'_>) -> Option<Digest> {
    canonical_digest(&action_content(node), Dialect::Kernel).ok()
}

fn action_content(node: Node<'_>) -> Value {
    let mut content = Value::object::<Value>([]);
    for name in ["content", "target", "type"] {
        if let Some(member) = node.get(name) {
            content.insert(name, member.to_value());
        }
    }
    content
}

pub(super) fn check_confidence(view: &ProposalView<'_>, findings: &mut Findings) {
    let number = view
        .root
        .get("confidence")
        .and_then(|node| node.as_number());
    let is_score = number.is_some_and(|number| {
        let value = number.to_f64();
        value.fract() == 0.0 && (0.0..=100.0).contains(&value)
    });
    if !is_score {
        findings.add(
            member("confidence"),
            "`confidence` is not an integer from 0 to 100",
        );
    }
}

pub(super) fn check_order(view: &ProposalView<'_>, findings: &mut Findings) {
    let actions: Vec<(f64, Item<'_>)> = actions(view)
        .into_iter()
        .filter_map(|item| Some((item.node.get("order")?.as_number()?.to_f64(), item)))
        .collect();
    let misplaced = actions.windows(2).find_map(|pair| match pair {
        [(before, first), (after, second)] => {
            let descends =
                after < before || (after == before && id_descends(first.node, second.node));
            descends.then_some(second)
        }
        _ => None,
    });
    if let Some(item) = misplaced {
        findings.add(item.place(), "the action sorts before its predecessor");
    }
    let tests = tests(view);
    let misplaced = tests.windows(2).find_map(|pair| match pair {
        [first, second] => id_descends(first.node, second.node).then_some(second),
        _ => None,
    });
    if let Some(item) = misplaced {
        findings.add(item.place(), "the test sorts before its predecessor");
    }
}

fn id_descends<'a>(first: Node<'a>, second: Node<'a>) -> bool {
    let id = |node: Node<'a>| node.get("id").filter(Node::is_string);
    match (id(first), id(second)) {
        (Some(first), Some(second)) => second.compare_utf16(&first).is_lt(),
        _ => false,
    }
}

pub(super) fn check_content(view: &ProposalView<'_>, findings: &mut Findings) {
    for item in actions(view) {
        let node = item.node;
        let content = node.get("content");
        let fault = match (text(node, "type").as_deref(), content) {
            (Some("create_file" | "modify_file"), None) => Some("`content` is missing"),
            (Some("delete_file"), Some(_)) => Some("a delete must not have content"),
            (_, Some(content)) if !content.is_string() => Some("`content` is not a string"),
            (_, Some(content)) => match content.as_str() {
                None => Some("`content` contains a lone surrogate, which UTF-8 cannot represent"),
                Some(text) if text.contains('\0') => Some("`content` contains a NUL character"),
                Some(_) => None,
            },
            (_, None) => None,
        };
        if let Some(fault) = fault {
            findings.add(item.place(), fault);
        }
    }
}

/// PR13: a file action's content has the hash that it expects. Other producers write bare digits.
pub(super) fn check_expected_hashes(view: &ProposalView<'_>, findings: &mut Findings) {
    for item in actions(view) {
        let node = item.node;
        let Some(declared) = node.get("expected_hash") else {
            continue;
        };
        let kind = text(node, "type");
        if !matches!(kind.as_deref(), Some("create_file" | "modify_file") | None) {
            continue;
        }
        let content = node.get("content").and_then(|content| content.as_str());
        let both = content.zip(kind).zip(declared.as_lossy_str());
        let Some(((content, _), declared)) = findings.need(both) else {
            continue;
        };
        let hash = ContentHash::of(content.as_bytes());
        if declared != hash.to_string() && declared != hash.digest().to_string() {
            findings.add_difference(
                item.place(),
                "`expected_hash` is not the hash of the content",
                hash.to_string(),
                declared,
            );
        }
    }
}
