//! Compares a replay with what was sealed: the output member by member, artifacts by hash.

use std::collections::{BTreeMap, BTreeSet};

use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_core::digest::Digest;
use runseal_core::formats::redacted::commit::read_marker;
use runseal_core::formats::run_bundle::CollectedRun;
use runseal_core::formats::run_bundle::index::{InputArtifact, parse_input_artifacts};
use runseal_core::formats::run_bundle::layout::{
    INPUT_ARTIFACT_INDEX, RUN_INPUT, RUN_OUTPUT, RUN_PARAMETERS,
};
use runseal_core::formats::run_bundle::{EntryFact, pointer};
use runseal_core::path::SafePath;
use runseal_core::verify::Finding;

use super::{Comparison, Divergence};
use crate::run::complete::{complete_output, reject};
use crate::run::contracts::Engine;
use crate::run::execute::EngineRun;
use crate::run::seal::{SealError, parse_value};
use crate::run::staging::RunFiles;
use crate::run::verify::VerifiedRun;
use crate::run::withheld::shows_results;

/// The most characters of a value that a divergence shows.
const SHOWN: usize = 200;

/// The sealed run, ready to be given to the engine and compared with.
pub(super) struct SealedRun {
    pub(super) input: Vec<u8>,
    inputs_hash: Digest,
    pub(super) output: Value,
    upstream_list: Option<Vec<InputArtifact>>,
    /// Files of which something is withheld.
    withheld: BTreeSet<String>,
    artifacts: BTreeMap<String, Digest>,
    pub(super) upstream: Option<std::path::PathBuf>,
    pub(super) parameters: Option<std::path::PathBuf>,
    /// Holds what the engine is given; deleted when dropped.
    _given: RunFiles,
}

impl SealedRun {
    pub(super) fn read(run: &VerifiedRun<'_>) -> Result<Self, SealError> {
        // A valid bundle has both, so this cannot fail. A missing one must never be replaced by an
        // empty document, which would then be hashed.
        let document = |name: &'static str, rule_id| {
            let missing = || reject(rule_id, name, "it cannot be read");
            run.document(name).ok_or_else(missing)
        };
        let input = canonical_bytes(document(RUN_INPUT, "RB3")?.root(), Dialect::Jcs)
            .map_err(|error| reject("RB3", RUN_INPUT, error.to_string()))?;
        let output = document(RUN_OUTPUT, "RB4")?.root().to_value();
        let upstream_list = run
            .document(INPUT_ARTIFACT_INDEX)
            .and_then(|list| parse_input_artifacts(list.root().get("artifacts")?));
        let withholding = run.withholding();
        let mut given = RunFiles::begin(&std::env::temp_dir())?;
        let mut artifacts = BTreeMap::new();
        for (path, entry) in run.collected().facts.entries.iter() {
            let EntryFact::File(fact) = entry else {
                continue;
            };
            if path.starts_with("artifacts/") {
                artifacts.extend(fact.sha256().map(|digest| (path.to_owned(), digest)));
            } else if (path.starts_with("upstream/") || path == RUN_PARAMETERS)
                && let Ok(from) = SafePath::parse(path)
                && let Some(digest) = fact.sha256()
            {
                given.copy_verified(run.source(), &from, path, digest)?;
            }
        }
        given.open_up(given.path())?;
        let place = |name: &str| Some(given.path().join(name)).filter(|path| path.exists());
        Ok(Self {
            inputs_hash: Digest::of(&input),
            input,
            output,
            upstream_list,
            withheld: withholding.paths().map(str::to_owned).collect(),
            artifacts,
            upstream: place("upstream"),
            parameters: place(RUN_PARAMETERS),
            _given: given,
        })
    }
}

impl SealedRun {
    /// Whether there is anything to compare with.
    pub(super) fn shows_anything(&self) -> bool {
        let is_shown = |path: &String| !self.withheld.contains(path);
        shows_results(&self.output) || self.artifacts.keys().any(is_shown)
    }
}

pub(super) fn failed(sealed: &str, now: &str) -> Comparison {
    Comparison {
        divergences: vec![Divergence {
            path: RUN_OUTPUT.to_owned(),
            pointer: None,
            sealed: sealed.to_owned(),
            now: now.to_owned(),
            difference: None,
        }],
        same_artifacts: 0,
    }
}

pub(super) fn compare(
    sealed: &SealedRun,
    engine: &Engine,
    ran: &EngineRun,
) -> Result<Comparison, SealError> {
    let upstream = sealed.upstream_list.as_deref();
    let output = match complete_output(engine, &ran.stdout, sealed.inputs_hash, upstream) {
        Ok(output) => output,
        Err(SealError::Rejected(findings)) => {
            return Ok(failed(
                "the output that was sealed",
                &first_message(&findings),
            ));
        }
        Err(other) => return Err(other),
    };
    // Through its canonical text, so that numbers are written alike.
    let canonical = canonical_bytes(&output, Dialect::Jcs);
    let output = canonical.ok().and_then(|bytes| parse_value(&bytes).ok());
    let Some(output) = output else {
        return Ok(failed(
            "the output that was sealed",
            "an output without a canonical form",
        ));
    };
    let mut divergences = Vec::new();
    compare_values(Some(&sealed.output), Some(&output), "", &mut divergences);
    // The hash differs because something else does; list that first.
    divergences.sort_by_key(|d: &Divergence| d.pointer.as_deref() == Some("/outputs_hash"));
    let mut now = BTreeMap::new();
    if !ran.artifacts.is_empty() {
        let source = ran.source()?;
        let found = CollectedRun::collect(&source)?;
        for (path, entry) in found.facts.entries.iter() {
            if let EntryFact::File(fact) = entry {
                now.insert(format!("artifacts/{path}"), fact.sha256());
            }
        }
    }
    let mut same_artifacts = 0;
    let paths: BTreeSet<&String> = sealed.artifacts.keys().chain(now.keys()).collect();
    for path in paths
        .into_iter()
        .filter(|path| !sealed.withheld.contains(*path))
    {
        let before = sealed.artifacts.get(path).map(Digest::to_string);
        let after = now.get(path).map(|digest| match digest {
            Some(digest) => digest.to_string(),
            None => "no JSON with a canonical form".to_owned(),
        });
        if before == after {
            same_artifacts += 1;
            continue;
        }
        let nothing = || "nothing".to_owned();
        divergences.push(Divergence {
            path: path.clone(),
            pointer: None,
            sealed: before.unwrap_or_else(nothing),
            now: after.unwrap_or_else(nothing),
            difference: None,
        });
    }
    Ok(Comparison {
        divergences,
        same_artifacts,
    })
}

fn first_message(findings: &[Finding]) -> String {
    findings
        .first()
        .map_or_else(|| "nothing".to_owned(), |finding| finding.message.clone())
}

/// Adds every place where two canonical values differ, in document order.
fn compare_values(
    sealed: Option<&Value>,
    now: Option<&Value>,
    place: &str,
    divergences: &mut Vec<Divergence>,
) {
    match (sealed, now) {
        // Withheld, so it cannot be compared.
        (Some(sealed), _) if read_marker(sealed).is_some() => {}
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let keys: BTreeSet<_> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let place = pointer::member(place, &key.to_lossy());
                compare_values(a.get(key), b.get(key), &place, divergences);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            for at in 0..a.len().max(b.len()) {
                let place = pointer::element(place, at);
                compare_values(a.get(at), b.get(at), &place, divergences);
            }
        }
        (a, b) if a == b => {}
        (a, b) => divergences.push(Divergence {
            path: RUN_OUTPUT.to_owned(),
            pointer: Some(place.to_owned()),
            sealed: show(a),
            now: show(b),
            difference: None,
        }),
    }
}

fn show(value: Option<&Value>) -> String {
    let Some(value) = value else {
        return "nothing".to_owned();
    };
    let bytes = canonical_bytes(value, Dialect::Jcs).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.into_owned(),
    }
}
