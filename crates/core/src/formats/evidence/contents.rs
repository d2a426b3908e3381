//! What the hashes of evidence represent: EV6, EV7.
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

/// The member with contents by their hash.
pub const CONTENTS: &str = "contents";
/// The member with the proposal that was executed.
pub const PROPOSAL: &str = "proposal";

/// Encodes a content for evidence: `text` if it is UTF-8, else `base64`.
pub fn encode_content(bytes: &[u8]) -> Value {
    let mut value = Value::object([("size_bytes", bytes.len())]);
    match str::from_utf8(bytes) {
        Ok(text) => value.insert("text", text),
        Err(_) => value.insert("base64", Base64::encode_string(bytes)),
    };
    value
}

/// Encodes a content that is too long to be included: its size alone.
pub fn encode_omitted(size: u64) -> Value {
    let mut value = Value::object([("size_bytes", size)]);
    value.insert("omitted", true);
    value
}

/// The bytes of an entry of `contents`; `None` if it has none or they are malformed.
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

/// The content with this hash, if the evidence includes it.
pub fn find_content<'a>(evidence: Node<'a>, hash: &str) -> Option<Cow<'a, [u8]>> {
    decode_content(evidence.get(CONTENTS)?.get(hash)?)
}

pub(super) fn needs_contents(view: &EvidenceView<'_>) -> Gate {
    match view.root.get(CONTENTS) {
        Some(_) => Gate::Ready,
        None => Gate::NotApplicable("the evidence has no contents"),
    }
}

pub(super) fn needs_proposal(view: &EvidenceView<'_>) -> Gate {
    match view.root.get(PROPOSAL) {
        Some(_) => Gate::Ready,
        None => Gate::NotApplicable("the evidence does not include its proposal"),
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
        return Some("`size_bytes` is not a whole number".to_owned());
    };
    if let Some(omitted) = entry.get("omitted") {
        let is_true = omitted.as_bool() == Some(true);
        return (!is_true).then(|| "`omitted` is not true".to_owned());
    }
    let Some(bytes) = decode_content(entry) else {
        return Some("the content is not text, or not base64".to_owned());
    };
    let actual = ContentHash::of(&bytes).to_string();
    if actual != name {
        return Some(format!("the content has another hash: {actual}"));
    }
    let length = bytes.len() as u64;
    (size != length).then(|| format!("the content has {length} bytes, not {size}"))
}

/// EV7.
pub(super) fn check_proposal<'a>(view: &EvidenceView<'a>, findings: &mut Findings) {
    let Some(proposal) = view.root.get(PROPOSAL) else {
        return;
    };
    let path = JsonPath::ROOT.then(PROPOSAL);
    let actual = canonical_digest(proposal, Dialect::Kernel)
        .ok()
        .map(|digest| ContentHash::from(digest).to_string());
    let declared = findings.need(text(view.root, "proposal_hash"));
    if let Some(declared) = declared.filter(|declared| actual.as_deref() != Some(&**declared)) {
        findings.add_difference(
            path.clone(),
            "the proposal is not the one that was executed",
            declared,
            actual.as_deref().unwrap_or("none"),
        );
    }
    for (list, results, of, compare) in [
        (
            "actions",
            "action_results",
            "action_id",
            find_action_fault as FindFault,
        ),
        (
            "acceptance_tests",
            "test_results",
            "test_id",
            find_test_fault,
        ),
    ] {
        let items = |node: Node<'a>, list: &str| -> Option<Vec<Node<'a>>> {
            Some(node.get(list)?.as_array()?.collect())
        };
        let both = items(proposal, list).zip(items(view.root, results));
        let Some((planned, done)) = findings.need(both) else {
            continue;
        };
        let ids = |nodes: &[Node<'a>], id: &str| -> Option<Vec<Cow<'a, str>>> {
            nodes.iter().map(|node| text(*node, id)).collect()
        };
        let both = ids(&planned, "id").zip(ids(&done, of));
        let Some((planned_ids, done_ids)) = findings.need(both) else {
            continue;
        };
        if planned_ids != done_ids {
            findings.add(
                path.then(list),
                format!("`{results}` are not the results of the proposal's {list}"),
            );
            continue;
        }
        for (at, (planned, done)) in planned.into_iter().zip(done).enumerate() {
            if let Some((name, fault)) = compare(planned, done) {
                let place = JsonPath::ROOT.then(results).then(at).then(name);
                findings.add(place, fault);
            }
        }
    }
}

/// Returns the member of a result that contradicts the plan, and how.
type FindFault = fn(Node<'_>, Node<'_>) -> Option<(&'static str, &'static str)>;

fn text<'a>(node: Node<'a>, name: &str) -> Option<Cow<'a, str>> {
    node.get(name)?.as_lossy_str()
}

/// Whether the plan fails without it: true unless `required` is false.
fn is_required(node: Node<'_>) -> bool {
    node.get("required").and_then(|node| node.as_bool()) != Some(false)
}

const NOT_AS_PLANNED: &str = "the proposal says otherwise";

fn find_action_fault(planned: Node<'_>, done: Node<'_>) -> Option<(&'static str, &'static str)> {
    let word = match text(planned, "type")?.as_ref() {
        "create_file" => "create",
        "modify_file" => "modify",
        "delete_file" => "delete",
        "execute_command" => "execute",
        "validate" => "validate",
        "test" => "test",
        _ => return None,
    };
    if text(done, "action").is_some_and(|action| action != word) {
        return Some(("action", NOT_AS_PLANNED));
    }
    let both = text(done, "path").zip(text(planned, "target"));
    if both.is_some_and(|(path, target)| path != target) {
        return Some(("path", NOT_AS_PLANNED));
    }
    if is_required(done) != is_required(planned) {
        return Some(("required", NOT_AS_PLANNED));
    }
    let content = text(planned, "content").filter(|_| matches!(word, "create" | "modify"));
    let is_done = text(done, "status").as_deref() == Some("success");
    let stated = match done.get("sha256") {
        None => Some(None),
        Some(node) if node.is_null() => Some(None),
        Some(node) => node.as_lossy_str().map(Some),
    };
    if let Some((content, stated)) = content.filter(|_| is_done).zip(stated)
        && stated.as_deref() != Some(&*ContentHash::of(content.as_bytes()).to_string())
    {
        return Some(("sha256", "it is not the hash of what the proposal writes"));
    }
    None
}

fn find_test_fault(planned: Node<'_>, done: Node<'_>) -> Option<(&'static str, &'static str)> {
    if is_required(done) != is_required(planned) {
        return Some(("required", NOT_AS_PLANNED));
    }
    let has_passed = done.get("passed").and_then(|node| node.as_bool())?;
    let (kind, expected) = (text(planned, "type")?, text(planned, "expected")?);
    let Some(actual) = text(done, "actual") else {
        return has_passed.then_some(("passed", "nothing says what was found"));
    };
    let code = done.get("exit_code").filter(|code| !code.is_null());
    if kind == "command_success" && code.is_some_and(|code| code.as_number().is_none()) {
        return None;
    }
    let code = code.and_then(|code| code.as_number()?.to_exact_i64());
    let meets = match kind.as_ref() {
        "command_success" => {
            if code.is_some_and(|code| code.to_string() != actual) {
                return Some(("actual", "it is not the exit code"));
            }
            actual == expected && code.is_some()
        }
        "content_match" => actual == ContentHash::of(expected.as_bytes()).to_string(),
        // Proposals by others may omit the prefix.
        "hash_match" => actual == expected || actual.strip_prefix("sha256:") == Some(&*expected),
        "file_exists" => actual == expected,
        _ => return None,
    };
    // A command that was killed may have the expected exit code and still fail.
    let may_fail = kind == "command_success";
    match (has_passed, meets) {
        (true, false) => Some(("passed", "what was found is not what the proposal expects")),
        (false, true) if !may_fail => {
            Some(("passed", "what was found is what the proposal expects"))
        }
        _ => None,
    }
}
