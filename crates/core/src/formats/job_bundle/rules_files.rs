//! The checks that compare the manifest with the files: 4, 5, 6 and 10.
//!
//! An artifact whose declared path is not the only allowed one, or that is a link, was never
//! opened; check 10 reports it and the others skip it.

use super::facts::{ArtifactFact, ContentFact, EntryFact, FolderFact};
use super::manifest::{Artifact, Manifest, Text};
use super::rules::BundleView;
use crate::canon::JsonPath;
use crate::verify::Findings;

/// The names that §7 forbids at the top of the manifest.
const FORBIDDEN: [&str; 6] = [
    "timestamp",
    "created_at",
    "updated_at",
    "cwd",
    "os",
    "locale",
];

/// The artifacts that may be looked up, with what was found under their names.
fn artifact_facts<'v, 'a>(
    view: &'v BundleView<'a>,
) -> impl Iterator<Item = (Artifact<'a>, Option<&'v ArtifactFact>)> {
    let linked = view.facts.folder == FolderFact::NotFolder(EntryFact::Link);
    let artifacts = view
        .read()
        .filter(|_| !linked)
        .into_iter()
        .flat_map(Manifest::artifacts);
    // Both lists are sorted, so the next fact is nearly always the wanted one.
    let facts = &view.facts.artifacts;
    let mut next = 0;
    artifacts
        .filter(|artifact| artifact.is_in_place())
        .filter_map(move |artifact| {
            let key = artifact.key()?;
            if facts.get(next).is_none_or(|(found, _)| *found != key) {
                next = facts.partition_point(|(found, _)| *found < key);
            }
            let fact = facts
                .get(next)
                .filter(|(found, _)| *found == key)
                .map(|(_, fact)| fact);
            next += usize::from(fact.is_some());
            match fact {
                Some(ArtifactFact::NotRegular(EntryFact::Link)) => None,
                fact => Some((artifact, fact)),
            }
        })
}

fn contents<'v, 'a>(
    view: &'v BundleView<'a>,
) -> impl Iterator<Item = (Artifact<'a>, &'v ContentFact)> {
    artifact_facts(view).filter_map(|(artifact, fact)| match fact {
        Some(ArtifactFact::Content(content)) => Some((artifact, content)),
        _ => None,
    })
}

/// Notes artifacts whose files cannot be looked up: they have no id or path, or are not a list.
fn need_artifacts(view: &BundleView<'_>, findings: &mut Findings) {
    let has_file = |artifact: Artifact<'_>| {
        artifact.is_in_place() || (artifact.key().is_some() && artifact.elsewhere().is_some())
    };
    let has_all =
        |manifest: &Manifest<'_>| manifest.has_artifacts() && manifest.artifacts().all(has_file);
    findings.need(view.read().is_some_and(has_all).then_some(()));
}

pub(super) fn check_contents(view: &BundleView<'_>, findings: &mut Findings) {
    need_artifacts(view, findings);
    for (artifact, fact) in artifact_facts(view) {
        match fact {
            Some(ArtifactFact::Content(content)) => {
                if let Some(declared) = findings.need(artifact.sha256())
                    && declared != content.sha256
                {
                    findings.add_difference(
                        artifact.path_text(),
                        "the SHA-256 of the file is not the declared one",
                        declared.to_string(),
                        content.sha256.to_string(),
                    );
                }
                if let Some(at) = content.bad_utf8 {
                    let message = format!("expected UTF-8 text, actual other bytes from {at} on");
                    findings.add(artifact.path_text(), message);
                }
            }
            Some(ArtifactFact::NotRegular(kind)) => {
                let message = format!("expected a regular file, actual {}", kind.with_article());
                findings.add(artifact.path_text(), message);
            }
            Some(ArtifactFact::Unreadable(reason)) => {
                findings.add(
                    artifact.path_text(),
                    format!("the file cannot be read: {reason}"),
                );
            }
            None => {
                let fault = match &view.facts.folder {
                    FolderFact::Unreadable(reason) => {
                        format!("`artifacts` cannot be listed: {reason}")
                    }
                    FolderFact::NotFolder(kind) => {
                        format!("`artifacts` is {}", kind.with_article())
                    }
                    FolderFact::Listed | FolderFact::Missing => "the file is missing".to_owned(),
                };
                findings.add(artifact.path_text(), fault);
            }
        }
    }
}

pub(super) fn check_sizes(view: &BundleView<'_>, findings: &mut Findings) {
    need_artifacts(view, findings);
    for (artifact, content) in contents(view) {
        if let Some(declared) = findings.need(artifact.bytes())
            && declared.to_u64() != Some(content.bytes)
        {
            findings.add_difference(
                artifact.path_text(),
                "the size of the file is not the declared one",
                declared.to_text(),
                content.bytes.to_string(),
            );
        }
    }
}

pub(super) fn check_newlines(view: &BundleView<'_>, findings: &mut Findings) {
    need_artifacts(view, findings);
    for (artifact, content) in contents(view) {
        match content.final_newlines {
            0 => findings.add(
                artifact.path_text(),
                "expected LF as the last byte, actual none",
            ),
            2 if view.form => {
                findings.add(
                    artifact.path_text(),
                    "expected one LF at the end, actual more",
                );
            }
            _ => {}
        }
    }
}

pub(super) fn check_forbidden(view: &BundleView<'_>, findings: &mut Findings) {
    for (path, kind) in &view.facts.others {
        match kind {
            EntryFact::Link => findings.add(path.clone(), "a symbolic link is not allowed here"),
            EntryFact::Unknown => {
                findings.add(
                    path.clone(),
                    "it cannot be looked into, so it may contain a link",
                );
            }
            _ => {}
        }
    }
    let Some(manifest) = view.read() else { return };
    for name in FORBIDDEN {
        if manifest.outline.has(name) {
            findings.add(
                JsonPath::ROOT.then(name),
                "this field is forbidden in a manifest",
            );
        }
    }
    check_paths(manifest, findings);
}

fn check_paths(manifest: &Manifest<'_>, findings: &mut Findings) {
    let has_path = |artifact: Artifact<'_>| {
        artifact.is_in_place() || (artifact.key().is_some() && artifact.elsewhere().is_some())
    };
    let has_all = manifest.has_artifacts() && manifest.artifacts().all(has_path);
    findings.need(has_all.then_some(()));
    // JB2 reports an artifact without an id, which has no place.
    let artifacts = manifest.artifacts().enumerate();
    for (at, artifact) in artifacts.filter(|(_, artifact)| artifact.key().is_some()) {
        if let Some(path) = &artifact.elsewhere() {
            let fault = path_fault(path);
            let id = artifact.artifact_id();
            let id = id.as_ref().map(Text::to_lossy).unwrap_or_default();
            let found = path.to_lossy();
            findings.add(
                JsonPath::ROOT.then("artifacts").then(at).then("path"),
                format!("{fault}: expected `artifacts/{id}.txt`, actual `{found}`"),
            );
        }
    }
}

fn path_fault(path: &Text<'_>) -> &'static str {
    let Some(path) = path.as_str() else {
        return "the path is not text";
    };
    if path.contains('\\') {
        "the path has a backslash"
    } else if path.starts_with('/') {
        "the path is absolute"
    } else if path.split('/').any(|segment| segment == "..") {
        "the path leaves its folder"
    } else if path
        .split('/')
        .any(|segment| segment.is_empty() || segment == ".")
    {
        "the path is not normalized"
    } else {
        "the path is not that of the artifact"
    }
}
