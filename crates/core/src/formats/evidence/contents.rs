//! What the hashes of evidence stand for: EV6, EV7.
//!
//! The documents name files and output by hash only. Our harness adds two members that they leave
//! open: `contents`, the bytes themselves by their hash, and `proposal`, what was executed. Neither
//! is part of the evidence's core, and evidence of other producers has neither.

use std::borrow::Cow;

use base64ct::{Base64, Encoding};

use super::EvidenceView;
use crate::canon::{Dialect, JsonPath, Kind, Node, Value, canonical_digest};
use crate::digest::ContentHash;
use crate::verify::{Findings, Gate};

/// The member that holds contents by their hash.
pub const CONTENTS: &str = "contents";
/// The member that holds the proposal that was executed.
pub const PROPOSAL: &str = "proposal";

/// A content as evidence holds it: `text` where it is UTF-8, else `base64`.
pub fn encode_content(bytes: &[u8]) -> Value {
    let mut value = Value::object([("size_bytes", bytes.len())]);
    match str::from_utf8(bytes) {
        Ok(text) => value.insert("text", text),
        Err(_) => value.insert("base64", Base64::encode_string(bytes)),
    };
    value
}

/// A content that is too long to be held: its size alone.
pub fn encode_omitted(size: u64) -> Value {
    let mut value = Value::object([("size_bytes", size)]);
    value.insert("omitted", true);
    value
}

/// The bytes of an entry of `contents`; `None` where it has none or they are malformed.
pub fn decode_content(entry: Node<'_>) -> Option<Cow<'_, [u8]>> {
    if let Some(text) = entry.get("text") {
        return Some(match text.as_str()? {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        });
    }
    let text = entry.get("base64")?.as_str()?;
    Base64::decode_vec(&text).ok().map(Cow::Owned)
}

/// The content with this hash, where the evidence holds it.
pub fn find_content<'a>(evidence: Node<'a>, hash: &str) -> Option<Cow<'a, [u8]>> {
    decode_content(evidence.get(CONTENTS)?.get(hash)?)
}

pub(super) fn needs_contents(view: &EvidenceView<'_>) -> Gate {
    match view.root.get(CONTENTS) {
        Some(_) => Gate::Ready,
        None => Gate::NotApplicable("the evidence holds no contents"),
    }
}

pub(super) fn needs_proposal(view: &EvidenceView<'_>) -> Gate {
    match view.root.get(PROPOSAL) {
        Some(_) => Gate::Ready,
        None => Gate::NotApplicable("the evidence does not hold its proposal"),
    }
}

/// EV6.
pub(super) fn check_contents(view: &EvidenceView<'_>, findings: &mut Findings) {
    let path = JsonPath::ROOT.then(CONTENTS);
    let Some(contents) = view.root.get(CONTENTS) else {
        return;
    };
    if contents.kind() != Kind::Object {
        findings.add(path, "`contents` is not an object");
        return;
    }
    for (name, entry) in contents.members() {
        let name = name.to_lossy();
        if let Some(fault) = find_fault(&name, entry) {
            findings.add(path.then(name.as_ref()), fault);
        }
    }
}

fn find_fault(name: &str, entry: Node<'_>) -> Option<String> {
    if ContentHash::parse(name).is_err() {
        return Some("the name is not sha256: and 64 hex digits".to_owned());
    }
    let forms = ["text", "base64", "omitted"];
    let given = forms.iter().filter(|form| entry.get(form).is_some());
    if given.count() != 1 {
        return Some("not one of `text`, `base64` and `omitted`".to_owned());
    }
    let size = entry
        .get("size_bytes")
        .and_then(|node| u64::try_from(node.as_number()?.to_exact_i64()?).ok());
    let Some(size) = size else {
        return Some("`size_bytes` is no whole number".to_owned());
    };
    if let Some(omitted) = entry.get("omitted") {
        let is_true = omitted.as_bool() == Some(true);
        return (!is_true).then(|| "`omitted` is not true".to_owned());
    }
    let Some(bytes) = decode_content(entry) else {
        return Some("the content is not text, or no base64".to_owned());
    };
    let actual = ContentHash::of(&bytes).to_string();
    if actual != name {
        return Some(format!("the content has another hash: {actual}"));
    }
    let length = bytes.len() as u64;
    (size != length).then(|| format!("the content has {length} bytes, not {size}"))
}

/// EV7.
pub(super) fn check_proposal(view: &EvidenceView<'_>, findings: &mut Findings) {
    let Some(proposal) = view.root.get(PROPOSAL) else {
        return;
    };
    let path = JsonPath::ROOT.then(PROPOSAL);
    let text = |node: Node<'_>, name: &str| Some(node.get(name)?.as_lossy_str()?.into_owned());
    let actual = canonical_digest(proposal, Dialect::Kernel)
        .ok()
        .map(|digest| ContentHash::from(digest).to_string());
    let declared = text(view.root, "proposal_hash");
    if actual != declared {
        findings.add_difference(
            path.clone(),
            "the proposal is not the one that was executed",
            declared.as_deref().unwrap_or("none"),
            actual.as_deref().unwrap_or("none"),
        );
    }
    for (list, id, results, of) in [
        ("actions", "id", "action_results", "action_id"),
        ("acceptance_tests", "id", "test_results", "test_id"),
    ] {
        let ids = |node: Node<'_>, list: &str, id: &str| -> Vec<Option<String>> {
            let items = node.get(list).map(|list| list.items());
            let items = items.into_iter().flatten();
            items.map(|item| text(item, id)).collect()
        };
        if ids(proposal, list, id) != ids(view.root, results, of) {
            findings.add(
                path.then(list),
                format!("`{results}` are not the results of the proposal's {list}"),
            );
        }
    }
}
