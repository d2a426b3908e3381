//! Artifacts of other engines' runs: taken only from valid run bundles of engines that the coupling
//! rules allow, copied into the bundle and listed by hash.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use runseal_core::canon::Node;
use runseal_core::formats::run_bundle::EntryFact;
use runseal_core::formats::run_bundle::index::InputArtifact;
use runseal_core::formats::run_bundle::layout::{RUN_META, RUN_OUTPUT, Role, UPSTREAM_FOLDER};
use runseal_core::formats::run_bundle::rules::allowed_engines;
use runseal_core::path::SafePath;
use runseal_core::source::SourceError;
use runseal_core::verify::{Finding, Place, Report};

use super::seal::SealError;
use super::staging::{RunFiles, RunFilesError};
use super::verify::{VerifiedRun, VerifyOptions, verify_run_source};
use runseal_fs::directory::{DirectorySource, RootLink};

/// Copies what `bundles` offer into `files`; returns the sorted list of it.
pub fn take_upstream(
    bundles: &[PathBuf],
    coupling: Node<'_>,
    files: &mut RunFiles,
) -> Result<Vec<InputArtifact>, SealError> {
    let allowed = allowed_engines(coupling);
    let mut taken = Vec::new();
    for path in bundles {
        let source = DirectorySource::open(path, RootLink::Follow)?;
        let (report, verified) = verify_run_source(&source, VerifyOptions::default())?;
        let Some(run) = verified else {
            return Err(refuse_unverified(path, &report));
        };
        taken.extend(take_run(path, &run, &allowed, files)?);
    }
    taken.sort();
    Ok(taken)
}

/// Copies what one verified run offers. Its files are read again here, and each must still have the
/// digest that was verified.
pub fn take_run(
    path: &Path,
    run: &VerifiedRun<'_>,
    allowed: &BTreeSet<String>,
    files: &mut RunFiles,
) -> Result<Vec<InputArtifact>, SealError> {
    let (code, run_id) = identify(run);
    if !allowed.contains(&code) {
        let message = format!(
            "COUPLING_RULES.json does not list `{}` in allowed_inputs_from_other_engines",
            code.escape_debug()
        );
        return Err(refuse(path, message));
    }
    let place = format!("{UPSTREAM_FOLDER}/{code}/{run_id}");
    // The code comes from another engine, and becomes part of a path here.
    if code.contains('/') || SafePath::parse(&place).is_err() {
        return Err(refuse(
            path,
            format!("`{}` cannot name a folder", code.escape_debug()),
        ));
    }
    if files.path().join(&place).exists() {
        return Err(refuse(
            path,
            format!("run `{run_id}` of `{code}` is given twice"),
        ));
    }
    let mut taken = Vec::new();
    for from in offered(run) {
        let verified = run.collected().facts.file(from.as_str());
        let Some(digest) = verified.and_then(|fact| fact.sha256()) else {
            return Err(refuse(path, format!("`{from}` was not verified")));
        };
        let to = format!("{place}/{from}");
        match files.copy(run.source(), &from, &to) {
            Ok(_) => {}
            Err(RunFilesError::Read(SourceError::Io { source, .. }))
                if source.kind() == io::ErrorKind::InvalidData =>
            {
                return Err(refuse(path, format!("`{from}`: {source}")));
            }
            Err(other) => return Err(other.into()),
        }
        taken.push(InputArtifact {
            engine_code: code.clone(),
            artifact_name: from.file_name().to_owned(),
            sha256: digest.to_string(),
        });
    }
    Ok(taken)
}

/// RUN_OUTPUT.json and every artifact.
fn offered(run: &VerifiedRun<'_>) -> Vec<SafePath> {
    let entries = &run.collected().facts.entries;
    let is_offered = |path: &str| {
        let is_artifact = Role::of_path(path) == Some(Role::Artifact);
        path == RUN_OUTPUT || is_artifact && matches!(entries.get(path), Some(EntryFact::File(_)))
    };
    let paths = entries.keys().filter(|path| is_offered(path));
    paths
        .filter_map(|path| SafePath::parse(path).ok())
        .collect()
}

fn identify(run: &VerifiedRun<'_>) -> (String, String) {
    let meta = run.document(RUN_META);
    let text = |name: &str| {
        let text = meta
            .as_ref()
            .and_then(|meta| Some(meta.root().get(name)?.as_str()?.into_owned()));
        text.unwrap_or_default()
    };
    (text("engine_code"), text("run_id"))
}

fn refuse(path: &Path, message: String) -> SealError {
    SealError::Rejected(vec![Finding {
        rule_id: "RB9",
        place: Place::named(path.display().to_string()),
        message,
        difference: None,
    }])
}

fn refuse_unverified(path: &Path, report: &Report) -> SealError {
    let first = report.findings().first();
    let reason = first.map_or(String::new(), |finding| {
        let place = finding.path().unwrap_or_default();
        format!(": {} {place}: {}", finding.rule_id, finding.message)
    });
    refuse(
        path,
        format!("the upstream run bundle does not verify{reason}"),
    )
}
