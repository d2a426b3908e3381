//! Compares a replay with what was sealed: the output member by member, artifacts by hash.

use std::collections::{BTreeMap, BTreeSet};

use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_core::digest::Digest;
use runseal_core::formats::redacted::commit::read_marker;
use runseal_core::formats::run_bundle::CollectedRun;
use runseal_core::formats::run_bundle::EntryFact;
use runseal_core::formats::run_bundle::index::{InputArtifact, parse_input_artifacts};
use runseal_core::formats::run_bundle::layout::{
    INPUT_ARTIFACT_INDEX, RUN_INPUT, RUN_OUTPUT, RUN_PARAMETERS,
};
use runseal_core::formats::run_bundle::pointer::Trail;
use runseal_core::limits::{FINDING_TEXT, FINDINGS_A_RULE};
use runseal_core::path::SafePath;
use runseal_core::verify::Finding;

use super::{Comparison, Divergence};
use crate::run::complete::{complete_output, reject};
use crate::run::contracts::Engine;
use crate::run::execute::EngineRun;
use crate::run::seal::{SealError, parse_value};
use crate::run::staging::{RunFiles, RunFilesError};
use crate::run::verify::VerifiedRun;
use crate::run::withheld::shows_results;
use runseal_fs::atomic::WriteError;
use runseal_fs::private::PrivateFolder;

/// The most characters of a value that a divergence shows.
const SHOWN: usize = 200;

/// The sealed run, ready to be given to the engine and compared with.
pub(super) struct SealedRun {
    pub(super) input: Vec<u8>,
    inputs_hash: Digest,
    pub(super) output: Value,
    upstream_list: Option<Vec<InputArtifact>>,
    /// Whether it is a redacted copy.
    is_of_copy: bool,
    /// Files with something withheld.
    withheld: BTreeSet<String>,
    artifacts: BTreeMap<String, Digest>,
    pub(super) upstream: Option<std::path::PathBuf>,
    pub(super) parameters: Option<std::path::PathBuf>,
    /// Holds what the engine is given; deleted when dropped.
    _given: RunFiles,
    _private: PrivateFolder,
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
        let place = std::path::Path::new("the folder for temporary files");
        let fail = |error| RunFilesError::from(WriteError::at(place)(error));
        let private = PrivateFolder::create("replay").map_err(fail)?;
        let mut given = RunFiles::begin(&private.make_shared_inside().map_err(fail)?)?;
        let mut artifacts = BTreeMap::new();
        for (path, entry) in run.collected().facts.entries.iter() {
            let EntryFact::File(fact) = entry else {
                continue;
            };
            if path.starts_with("artifacts/") {
                artifacts.extend(fact.sha256().map(|digest| (path.to_owned(), digest)));
            } else if (path.starts_with("upstream/") || path == RUN_PARAMETERS)
                && let Ok(from) = SafePath::parse(path)
            {
                given.copy(run.source(), &from, path)?;
            }
        }
        given.open_up(given.path())?;
        let place = |name: &str| Some(given.path().join(name)).filter(|path| path.exists());
        Ok(Self {
            inputs_hash: Digest::of(&input),
            input,
            output,
            upstream_list,
            is_of_copy: withholding.is_of_copy(),
            withheld: withholding.paths().map(str::to_owned).collect(),
            artifacts,
            upstream: place("upstream"),
            parameters: place(RUN_PARAMETERS),
            _given: given,
            _private: private,
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
        ..Comparison::default()
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
    let mut found = OutputDivergences {
        is_of_copy: sealed.is_of_copy,
        ..OutputDivergences::default()
    };
    found.add(Some(&sealed.output), Some(&output), &Trail::Root);
    let mut divergences = found.finish();
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
        ..Comparison::default()
    })
}

fn first_message(findings: &[Finding]) -> String {
    findings
        .first()
        .map_or_else(|| "nothing".to_owned(), |finding| finding.message.clone())
}

/// Where two outputs differ, as far as that is listed.
#[derive(Default)]
struct OutputDivergences {
    /// Whether markers stand for what a redacted copy withholds.
    is_of_copy: bool,
    listed: Vec<Divergence>,
    not_listed: usize,
}

impl OutputDivergences {
    /// Adds every place where two canonical values differ, in document order.
    fn add(&mut self, sealed: Option<&Value>, now: Option<&Value>, trail: &Trail<'_>) {
        match (sealed, now) {
            // Withheld, so it cannot be compared.
            (Some(sealed), _) if self.is_of_copy && read_marker(sealed).is_some() => {}
            (Some(Value::Object(a)), Some(Value::Object(b))) => {
                let keys: BTreeSet<_> = a.keys().chain(b.keys()).collect();
                for key in keys {
                    let name = key.to_lossy();
                    self.add(a.get(key), b.get(key), &Trail::Member(trail, &name));
                }
            }
            (Some(Value::Array(a)), Some(Value::Array(b))) => {
                for at in 0..a.len().max(b.len()) {
                    self.add(a.get(at), b.get(at), &Trail::Element(trail, at));
                }
            }
            (a, b) if a == b => {}
            _ if self.listed.len() >= FINDINGS_A_RULE => self.not_listed += 1,
            (a, b) => self.listed.push(Divergence {
                path: RUN_OUTPUT.to_owned(),
                pointer: Some(trail.pointer_within(FINDING_TEXT)),
                sealed: show(a),
                now: show(b),
                difference: None,
            }),
        }
    }

    /// The divergences, with one that says how many are not listed.
    fn finish(mut self) -> Vec<Divergence> {
        // The hash differs because something else does; list that first.
        let is_hash = |found: &Divergence| found.pointer.as_deref() == Some("/outputs_hash");
        self.listed.sort_by_key(is_hash);
        if self.not_listed > 0 {
            self.listed.push(Divergence {
                path: RUN_OUTPUT.to_owned(),
                pointer: None,
                sealed: "another value in more places".to_owned(),
                now: format!("{} more differ, which are not listed", self.not_listed),
                difference: None,
            });
        }
        self.listed
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Where every place was put together on the way, this copied 32 GB.
    #[test]
    fn divergences_below_a_long_name_are_cut_and_counted() {
        let name = "k".repeat(800_000);
        let output = |digit: char| {
            let items = vec![format!(r#"{{"x":{digit}}}"#); 40_000].join(",");
            let text = format!(r#"{{"a":{digit},"outputs_hash":{digit},"{name}":[{items}]}}"#);
            parse_value(text.as_bytes()).unwrap()
        };
        let mut found = OutputDivergences::default();
        found.add(Some(&output('1')), Some(&output('2')), &Trail::Root);
        let found = found.finish();
        assert_eq!(found.len(), FINDINGS_A_RULE + 1);
        assert_eq!(found[0].pointer.as_deref(), Some("/a"));
        let longest = found
            .iter()
            .filter_map(|it| Some(it.pointer.as_ref()?.len()));
        assert!(longest.max().unwrap() < FINDING_TEXT + 20);
        let last = found.last().unwrap();
        assert_eq!(last.now, "39002 more differ, which are not listed");
    }
}
