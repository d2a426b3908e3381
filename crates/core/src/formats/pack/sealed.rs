//! PK14: the hashes with which run.json covers the pack's other files and itself.
//!
//! 002 leaves run.json open to more members. Packs of other producers have neither of the two,
//! which is fine. meta.json is never covered: its contents decide nothing (PK11).

use super::PackView;
use super::redactable::{REDACTABLE, REDACTION_MEMBER};
use crate::canon::{
    Dialect, JsonPath, Kind, NoCanonicalForm, Node, Value, canonical_digest,
    canonical_digest_without,
};
use crate::digest::ContentHash;
use crate::verify::{Findings, Gate, Place};

/// The member of run.json that lists the other files with their hashes.
pub const FILES: &str = "files";
/// The member of run.json that is the hash of all its other members.
pub const SELF_HASH: &str = "self_hash";
/// Files that are not listed: the one with the list, and the one that decides nothing.
const NOT_COVERED: [&str; 2] = ["run.json", "meta.json"];

/// Adds both members to `run`, whose pack has these other files.
///
/// # Errors
/// If the run has no canonical form.
pub fn cover_files<'a>(
    run: &mut Value,
    files: impl IntoIterator<Item = (&'a str, &'a [u8])>,
) -> Result<(), NoCanonicalForm> {
    let mut list = Value::object::<Value>([]);
    for (name, bytes) in files {
        if !NOT_COVERED.contains(&name) {
            list.insert(name, ContentHash::of(bytes).to_string());
        }
    }
    run.insert(FILES, list);
    let hash = ContentHash::from(canonical_digest(&*run, Dialect::Kernel)?);
    run.insert(SELF_HASH, hash.to_string());
    Ok(())
}

fn compute_self_hash(run: Node<'_>) -> Option<ContentHash> {
    let digest = canonical_digest_without(run, SELF_HASH, Dialect::Kernel);
    Some(digest.ok()?.into())
}

fn place(name: &str) -> Place {
    Place::file("run.json").at(JsonPath::ROOT.then(name))
}

pub(super) fn needs_list(view: &PackView<'_>) -> Gate {
    let run = view.document("run.json");
    let has = |name: &str| run.is_some_and(|run| run.get(name).is_some());
    if has(FILES) || has(SELF_HASH) || has(REDACTION_MEMBER) {
        Gate::Ready
    } else {
        Gate::NotApplicable("run.json does not list the pack's files")
    }
}

pub(super) fn check_cover(view: &PackView<'_>, findings: &mut Findings) {
    let Some(run) = view.document("run.json") else {
        return;
    };
    check_commitment(view, run, findings);
    if run.get(FILES).is_none() && run.get(SELF_HASH).is_none() {
        return;
    }
    check_self_hash(run, findings);
    let Some(files) = run.get(FILES).filter(|files| files.kind() == Kind::Object) else {
        findings.add(place(FILES), "`files` is missing or not an object");
        return;
    };
    for (name, hash) in files.members() {
        let (name, stated) = (name.to_lossy(), hash.as_lossy_str().unwrap_or_default());
        if NOT_COVERED.contains(&name.as_ref()) {
            findings.add(place(FILES), format!("`{name}` must not be listed"));
            continue;
        }
        match view.files.bytes(&name) {
            None => findings.add(
                place(FILES),
                format!("`{}` is listed, but missing", name.escape_debug()),
            ),
            Some(bytes) => {
                let actual = ContentHash::of(bytes).to_string();
                if actual != stated {
                    findings.add_difference(
                        Place::file(name),
                        "the file is not the one that run.json lists",
                        stated,
                        actual,
                    );
                }
            }
        }
    }
    for name in view.files.names() {
        if !NOT_COVERED.contains(&name) && files.get(name).is_none() {
            findings.add(name, "run.json lists the pack's files, but not this one");
        }
    }
}

/// Checks that the commitment of a redactable pack covers the files of the pack.
fn check_commitment(view: &PackView<'_>, run: Node<'_>, findings: &mut Findings) {
    let Some(member) = run.get(REDACTION_MEMBER) else {
        return;
    };
    let names = view.files.names().into_iter();
    let names = names.filter(|name| *name == "run.json" || !NOT_COVERED.contains(name));
    let files = names.map(|name| (name, view.files.bytes(name).map(|bytes| bytes.len() as u64)));
    for fault in REDACTABLE.find_member_faults(&member.to_value(), files) {
        findings.add(place(REDACTION_MEMBER), fault);
    }
}

fn check_self_hash(run: Node<'_>, findings: &mut Findings) {
    let stated = run.get(SELF_HASH).and_then(|node| node.as_lossy_str());
    let actual = compute_self_hash(run).map(|hash| hash.to_string());
    match (stated, actual) {
        (None, _) => findings.add(place(SELF_HASH), "`self_hash` is missing or not a text"),
        (Some(_), None) => findings.add("run.json", "the run has no canonical form"),
        (Some(stated), Some(actual)) if stated != actual => findings.add_difference(
            place(SELF_HASH),
            "the hash is not that of run.json's other members",
            actual,
            stated,
        ),
        _ => {}
    }
}
