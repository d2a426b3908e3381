//! MI17: a recording that was forked from another one, bound to it by a hash.

use super::checks::{interactions, text};
use super::exchanges::has_exchanges;
use super::{ModelIoView, compute_model_io_hash};
use crate::canon::{Dialect, JsonPath, Kind, Node, Value, canonical_bytes};
use crate::digest::{ContentHash, Digest};
use crate::formats::shape::is_hash;
use crate::verify::{Findings, Gate};

/// The member of a recording that names its parent.
pub const FORK: &str = "fork";
/// The member of a fork that binds it.
pub const FORK_HASH: &str = "hash";

/// The hash that binds a fork: over the canonical form, without a trailing LF, of the point of the
/// fork, the parent's hashes and the hash of the forked recording.
pub fn compute_fork_hash(fork: Node<'_>, own: &ContentHash) -> Option<ContentHash> {
    let mut bound = Value::object([("model_io_hash", own.to_string())]);
    for member in ["at", "parent_model_io_hash", "parent_sha256"] {
        bound.insert(member, fork.get(member)?.to_value());
    }
    let bytes = canonical_bytes(&bound, Dialect::Kernel).ok()?;
    Some(ContentHash::of(&bytes))
}

pub(super) fn has_fork(view: &ModelIoView<'_>) -> Gate {
    match has_exchanges(view) {
        Gate::Ready if view.root.get(FORK).is_none() => {
            Gate::NotApplicable("the recording is not a fork")
        }
        gate => gate,
    }
}

pub(super) fn check_fork(view: &ModelIoView<'_>, findings: &mut Findings) {
    let Some(fork) = view.root.get(FORK) else {
        return;
    };
    let place = |member: &str| JsonPath::ROOT.then(FORK).then(member);
    if fork.kind() != Kind::Object {
        let found = fork.kind().with_article();
        findings.add(
            JsonPath::ROOT.then(FORK),
            format!("fork is {found}, not an object"),
        );
        return;
    }
    let count = interactions(view).count();
    let at = fork.get("at").and_then(|at| at.as_number()?.to_exact_i64());
    match at.map(usize::try_from) {
        Some(Ok(at)) if at <= count => {}
        Some(Ok(at)) => findings.add(
            place("at"),
            format!("the fork is after {at} calls, but the recording has {count}"),
        ),
        Some(Err(_)) | None => findings.add(place("at"), "at is not a number of calls"),
    }
    if !is_hash(fork.get("parent_model_io_hash")) {
        findings.add(
            place("parent_model_io_hash"),
            "the parent's hash is not `sha256:` and 64 hex digits",
        );
    }
    if text(fork, "parent_sha256").is_none_or(|hash| Digest::parse_hex(&hash).is_err()) {
        findings.add(
            place("parent_sha256"),
            "the hash of the parent's file is not 64 hex digits",
        );
    }
    let Some(stated) = fork.get(FORK_HASH) else {
        return;
    };
    let own = compute_model_io_hash(view.root);
    let computed = own.and_then(|own| compute_fork_hash(fork, &own));
    if let Some(computed) = computed
        && stated.as_str().as_deref() != Some(computed.to_string().as_str())
    {
        findings.add(
            place(FORK_HASH),
            format!(
                "expected {computed}: the parent, the point of the fork or the recording was changed"
            ),
        );
    }
}
