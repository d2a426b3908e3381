//! RB6 and RB10: RUN_META.json, and what must agree with it.

use super::facts::{Doc, RunBundleView};
use super::layout::{
    CANONICALIZATION, CONTRACTS, HASH_ALGORITHM, MANIFEST, RUN_META, RUN_OUTPUT, RunId,
};
use super::reading::KindClaims;
use super::time::is_iso_utc;
use crate::canon::Node;
use crate::digest::Digest;
use crate::verify::{Findings, Gate};

pub(super) fn check_contract_hashes(view: &RunBundleView<'_>, findings: &mut Findings) {
    let hashes = view
        .meta
        .root()
        .and_then(|meta| meta.get("contracts_hashes"));
    for name in CONTRACTS {
        let declared = hashes.and_then(|hashes| hashes.get(name)?.as_str());
        let actual = view.facts.file(name).and_then(|file| file.sha256());
        // Without one of the two there is nothing to compare; RB10 and RB1 report it.
        if let Some((declared, actual)) = findings.need(declared.zip(actual))
            && !view.withholds_part_of(name)
            && *declared != *actual.to_string()
        {
            let what = "the contract's hash is not the one in RUN_META.json";
            findings.add_difference(name, what, declared, actual.to_string());
        }
    }
}

/// Applies to a bundle in a folder of runs.
pub(super) fn has_name(view: &RunBundleView<'_>) -> Gate {
    match view.name {
        Some(_) => Gate::Ready,
        None => Gate::NotApplicable("the bundle does not lie in a folder RUN_BUNDLE"),
    }
}

pub(super) fn check_name(view: &RunBundleView<'_>, findings: &mut Findings) {
    let meta = view.meta.root();
    let run_id = findings.need(meta.and_then(|meta| meta.get("run_id")?.as_lossy_str()));
    if let (Some(name), Some(run_id)) = (view.name, run_id)
        && name != run_id
    {
        let what = "the bundle's folder does not have the name of its run";
        findings.add_difference(RUN_META, what, run_id, name);
    }
}

pub(super) fn check_meta(view: &RunBundleView<'_>, findings: &mut Findings) {
    if let Doc::Broken(reason) = view.manifest {
        findings.add(
            MANIFEST,
            format!("not JSON with a canonical form: {reason}"),
        );
    }
    let contradiction = view
        .manifest
        .root()
        .and_then(|manifest| KindClaims::of_manifest(manifest).contradiction());
    if let Some(fault) = contradiction {
        findings.add(MANIFEST, fault);
    }
    let meta = match view.meta {
        Doc::Absent => return,
        Doc::Broken(reason) => {
            findings.add(
                RUN_META,
                format!("not JSON with a canonical form: {reason}"),
            );
            return;
        }
        Doc::Read(meta) => meta,
    };
    let mut text = |name: &str| match meta.get(name).and_then(|node| node.as_str()) {
        Some(text) if !text.is_empty() => Some(text),
        _ => {
            findings.add(RUN_META, format!("`{name}` is missing or not a text"));
            None
        }
    };
    let run_id = text("run_id");
    text("engine_code");
    text("engine_version");
    let sealed_at = text("sealed_at");
    let canonicalization = text("canonicalization");
    let hash_algo = text("hash_algo");
    text("core_orchestrator_version");
    if let Some(Err(error)) = run_id.map(|id| RunId::parse(&id)) {
        findings.add(RUN_META, error.to_string());
    }
    if let Some(sealed_at) = sealed_at
        && !is_iso_utc(&sealed_at)
    {
        let shown = sealed_at.escape_debug();
        findings.add(
            RUN_META,
            format!("sealed_at `{shown}` is not YYYY-MM-DDTHH:MM:SSZ"),
        );
    }
    for (name, found, wanted) in [
        ("canonicalization", canonicalization, CANONICALIZATION),
        ("hash_algo", hash_algo, HASH_ALGORITHM),
    ] {
        if let Some(found) = found
            && found != wanted
        {
            findings.add_difference(RUN_META, name, wanted, found);
        }
    }
    if !view.hides(meta.get("contracts_hashes")) {
        check_contracts_are_named(meta, findings);
    }
    let is_digest = |node: Node<'_>| {
        node.as_str()
            .is_some_and(|hex| Digest::parse_hex(&hex).is_ok())
    };
    let executable = meta.get("engine_executable_sha256");
    if executable.is_some_and(|node| !is_digest(node) && !view.hides(Some(node))) {
        findings.add(RUN_META, "`engine_executable_sha256` is not a SHA-256");
    }
    check_engine_agrees(view, meta, findings);
}

fn check_contracts_are_named(meta: Node<'_>, findings: &mut Findings) {
    let hashes = meta.get("contracts_hashes");
    if hashes.is_none_or(|hashes| hashes.as_object().is_none()) {
        findings.add(RUN_META, "`contracts_hashes` is missing or not an object");
        return;
    }
    for name in CONTRACTS {
        let hash = hashes.and_then(|hashes| hashes.get(name));
        if hash.is_none_or(|hash| !hash.is_string()) {
            findings.add(
                RUN_META,
                format!("contracts_hashes has no hash of `{name}`"),
            );
        }
    }
}

/// Engine code and version are at the top of the manifest, at the top of RUN_META.json and under
/// `engine` in the output. RB4 reports what is missing in the output.
fn check_engine_agrees(view: &RunBundleView<'_>, meta: Node<'_>, findings: &mut Findings) {
    for name in ["engine_code", "engine_version"] {
        let is_text = |node: &Node<'_>| node.as_str().is_some_and(|text| !text.is_empty());
        let recorded = meta.get(name).filter(is_text);
        if let Some(manifest) = view.manifest.root() {
            match manifest.get(name).and_then(|node| node.as_str()) {
                Some(text) if !text.is_empty() => {
                    check_same(recorded, &text, name, MANIFEST, findings);
                }
                _ => findings.add(MANIFEST, format!("`{name}` is missing or not a text")),
            }
        }
        let of_output = view
            .output
            .root()
            .and_then(|output| output.get("engine")?.get(name)?.as_str());
        if let Some(text) = of_output {
            check_same(recorded, &text, name, RUN_OUTPUT, findings);
            // Without RUN_META.json, the two others are still compared.
            if recorded.is_none()
                && let Some(manifest) = view.manifest.root().and_then(|node| node.get(name))
            {
                check_same(Some(manifest), &text, name, RUN_OUTPUT, findings);
            }
        }
    }
}

fn check_same(
    recorded: Option<Node<'_>>,
    text: &str,
    name: &str,
    path: &str,
    findings: &mut Findings,
) {
    if let Some(recorded) = recorded.and_then(|node| node.as_str())
        && recorded != text
    {
        findings.add_difference(
            path,
            &format!("{name} is not the recorded one"),
            recorded,
            text,
        );
    }
}
