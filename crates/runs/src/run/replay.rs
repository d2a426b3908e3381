//! Replays a run bundle: checks the document's six replay rules by number, then runs the engine
//! again on the sealed input, and compares the results with the sealed ones.

mod compare;
mod rules;
mod under_rules;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use runseal_core::canon::Value;
use runseal_core::formats::run_bundle::layout::RUN_INPUT;
use runseal_core::formats::run_bundle::recorded::CaptureGap;
use runseal_core::source::{Source, SourceError};
use runseal_core::verify::{Level, Report};
use runseal_sandbox::{CancelToken, Isolation, Limits, Observation, Sandbox};

use self::compare::{SealedRun, compare, failed};
use self::rules::{check_engine, rules_of_report, unchecked_of_report};
use super::contracts::Engine;
use super::engine_files::is_machine_file;
use super::execute::{EngineInputs, ExecuteError, execute};
use super::seal::SealError;
use super::verify::{VerifiedRun, VerifyOptions, verify_run_source};
use crate::record::machine::MachineCheck;
use crate::record::reasons::{Before, explain};
use crate::record::rules::{Exempt, Within};
use crate::record::terms::Terms;
use runseal_fs::models::Fork;

/// The document's replay rules, in its words and order.
pub const REPLAY_RULES: [&str; 6] = [
    "all required artifacts exist",
    "RUN_INPUT validates against INPUT_SCHEMA",
    "RUN_OUTPUT validates against OUTPUT_SCHEMA",
    "hashes match SHA256SUMS",
    "engine contracts match those recorded in RUN_META",
    "the engine is the one of RUN_META, or one that the sealed manifest permits",
];

/// How a bundle is verified before it is replayed: as `runseal verify` does it.
pub(crate) const REPLAYED: VerifyOptions = VerifyOptions {
    level: Level::Integrity,
    threads: None,
};

/// The verdict of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Every run gave the sealed results.
    Reproduced,
    /// A run gave different results.
    Diverged,
    /// The run went on from its recording by itself, so it was not to give the same.
    Forked,
    /// A replay rule is violated; the lowest one.
    NotReplayable {
        /// Its number, 1 to 6.
        rule: usize,
    },
}

impl Verdict {
    /// The verdict as JSON and terminals show it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "REPRODUCED",
            Self::Diverged => "DIVERGED",
            Self::Forked => "FORKED",
            Self::NotReplayable { .. } => "NOT REPLAYABLE",
        }
    }
}

/// One place where a run gave a different result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// The file's path in the bundle.
    pub path: String,
    /// The place in it as a JSON Pointer, if it is a document.
    pub pointer: Option<String>,
    /// The sealed value, or its digest, for people.
    pub sealed: String,
    /// The value of this run, in the same form.
    pub now: String,
    /// How the two differ, for people, if that can be described.
    pub difference: Option<String>,
}

/// How one run compares with the sealed one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comparison {
    /// Where it differs; empty if it does not.
    pub divergences: Vec<Divergence>,
    /// How many artifacts are the same.
    pub same_artifacts: usize,
    /// What is the same under rules alone.
    pub within: Vec<Within>,
    /// What rules exempt.
    pub exempt: Vec<Exempt>,
    /// How many files were left that do not count.
    pub ignored: usize,
    /// How many results were compared: all but those that rules exempt, and streams on which nothing was printed.
    pub compared: usize,
}

/// The result of a replay.
#[derive(Debug, Clone)]
pub struct Replay {
    /// Why each replay rule is violated; empty if it is not.
    pub rules: [Vec<String>; 6],
    /// The indexes of rules that could not be checked, because what they need is missing.
    unchecked: BTreeSet<usize>,
    /// One comparison for each run of the engine.
    pub runs: Vec<Comparison>,
    /// The sealed outputs_hash.
    pub outputs_hash: String,
    /// How the machine compares with that of the sealed run; `None` if the bundle does not say what
    /// it used.
    pub environment: Option<MachineCheck>,
    /// Why runs may differ, if they do.
    pub reasons: Vec<String>,
    /// How far the command was isolated; `None` if it was not run.
    pub isolation: Option<Isolation>,
    /// What the command saw of the host at its own path, besides the system's folders and what the caller gave it.
    pub shown: Vec<PathBuf>,
    /// What the bundle says was not captured.
    pub gaps: Vec<CaptureGap>,
    /// Whether the sealed run was of a command that failed.
    pub has_failed: bool,
    /// What could not be compared.
    pub notes: Vec<String>,
    /// Where the command went on from the recorded answers of models by itself.
    pub fork: Option<Fork>,
    /// Whether it is one of a redacted copy, which cannot be checked whole.
    pub is_redacted: bool,
    /// Which of the run's results were not compared: a copy withholds them, or the bundle's list of them was cut off.
    pub not_compared: Vec<String>,
    /// The files of the bundle that are neither given to the command nor compared.
    pub unused_files: Vec<String>,
    /// What becomes of the results, by what was sealed and what was given.
    pub terms: Terms,
    /// The rules of these terms that are for no result.
    pub unmatched: Vec<String>,
}

impl Replay {
    /// Begins a replay with the rules that the bundle violates.
    pub(crate) fn begin(report: &Report) -> Self {
        Self {
            rules: rules_of_report(report),
            unchecked: unchecked_of_report(report),
            runs: Vec::new(),
            outputs_hash: String::new(),
            environment: None,
            reasons: Vec::new(),
            isolation: None,
            shown: Vec::new(),
            gaps: Vec::new(),
            has_failed: false,
            notes: Vec::new(),
            fork: None,
            is_redacted: false,
            not_compared: Vec::new(),
            unused_files: Vec::new(),
            terms: Terms::default(),
            unmatched: Vec::new(),
        }
    }

    /// The same for a redacted copy, whose values were checked against its commitment.
    pub(crate) fn begin_redacted(report: &Report) -> Self {
        let mut replay = Self::begin(report);
        replay.is_redacted = true;
        let list = "it is a redacted copy: what it shows was checked against the commitment that was \
            sealed";
        replay.notes.push(list.to_owned());
        replay
    }

    /// Whether the replay rule with this index in [`REPLAY_RULES`] was checked: what it needs is in the
    /// bundle. A copy contains no schemas or sums.
    pub fn was_checked(&self, rule: usize) -> bool {
        if self.is_redacted {
            return !self.rules[rule].is_empty() || !(1..=3).contains(&rule);
        }
        !self.unchecked.contains(&rule)
    }

    /// Notes which rules are for none of these places. Only those that match nothing in any run are named.
    pub(crate) fn note_unmatched(&mut self, places: &BTreeSet<String>) {
        let unmatched = self
            .terms
            .compare
            .find_unmatched(places.iter().map(String::as_str));
        let unmatched: Vec<String> = unmatched.map(ToString::to_string).collect();
        match self.runs.is_empty() {
            true => self.unmatched = unmatched,
            false => self.unmatched.retain(|rule| unmatched.contains(rule)),
        }
    }

    /// Adds what a copy withholds: what is missing to run it, and what cannot be compared.
    pub(crate) fn add_withheld(&mut self, run: &VerifiedRun<'_>) {
        let input = run.document(RUN_INPUT);
        let input = input.map(|input| input.root().to_value());
        let missing = run.withholding().missing(input.as_ref());
        if !missing.is_empty() {
            let hint = "whoever holds the bundle can disclose what is missing: `runseal redact \
                --disclose`, `runseal unredact`";
            self.notes.push(hint.to_owned());
        }
        self.rules[0].extend(missing);
        self.not_compared = run.withholding().not_compared();
    }

    /// Says that there is nothing to compare the machine with, which is a fault if it has to be the same.
    pub(crate) fn add_no_environment(&mut self, what: &str, is_demanded: bool) {
        match is_demanded {
            true => self.rules[5].push(what.to_owned()),
            false => self.notes.push(what.to_owned()),
        }
    }

    /// Demands that every file of the machine that a run used was compared: a list that leaves one out says nothing of
    /// it. `is_used` tells such files from those that the run was given.
    pub(crate) fn demand_listed(
        &mut self,
        observation: Option<&Observation>,
        is_used: impl Fn(&Path) -> bool,
    ) {
        let faults = match (&self.environment, observation) {
            (Some(check), Some(seen)) => check.find_unlisted(seen, is_used),
            _ => vec!["it was not observed which files of the machine were used now".to_owned()],
        };
        for fault in faults {
            if !self.rules[5].contains(&fault) {
                self.rules[5].push(fault);
            }
        }
    }

    /// The verdict for people, including on what other environment it was reproduced.
    pub fn verdict_text(&self) -> String {
        if let (Verdict::Forked, Some(fork)) = (self.verdict(), &self.fork) {
            return fork.to_string();
        }
        let name = self.verdict().name();
        let other = self.environment.as_ref().and_then(MachineCheck::other_name);
        let mut text = name.to_owned();
        if self.verdict() == Verdict::Reproduced {
            text.push_str(&self.verdict_under_rules());
            if !self.not_compared.is_empty() {
                text.push_str(" as far as it is shown");
            }
            if let Some(other) = other {
                text.push_str(&format!(" on another {other}"));
            }
            match self.unused_files.len() {
                0 => {}
                1 => text.push_str(", without 1 file that is not part of the run"),
                count => text.push_str(&format!(
                    ", without {count} files that are not part of the run"
                )),
            }
        }
        text
    }

    /// The verdict: a violated rule takes precedence over any comparison, and what was asked live is never
    /// a reproduction, whatever came of it.
    pub fn verdict(&self) -> Verdict {
        if let Some(at) = self.rules.iter().position(|faults| !faults.is_empty()) {
            return Verdict::NotReplayable { rule: at + 1 };
        }
        if self.fork.is_some() {
            return Verdict::Forked;
        }
        if self.runs.iter().all(|run| run.divergences.is_empty()) {
            Verdict::Reproduced
        } else {
            Verdict::Diverged
        }
    }
}

/// How a replay is run.
#[derive(Debug, Clone, Copy)]
pub struct ReplayOptions<'a> {
    /// How many times the engine is run; each run is compared with the sealed one.
    pub times: u32,
    /// The limits of the engine.
    pub policy: &'a Limits,
    /// Whether interpreters and libraries other than those of the run are refused.
    pub same_environment: bool,
    /// Stops the running engine when cancelled.
    pub cancel: Option<&'a CancelToken>,
}

/// Replays the bundle in `source` with `engine`. The sandbox is set up only once everything else is
/// valid, so that a bundle that is not replayable is reported on any machine.
pub fn replay_run(
    source: &dyn Source,
    engine: &Engine,
    options: ReplayOptions<'_>,
    sandbox: impl FnOnce() -> Result<Sandbox, SealError>,
) -> Result<Replay, SealError> {
    let (report, verified) = verify_run_source(source, REPLAYED)?;
    let replay = Replay::begin(&report);
    match verified {
        Some(run) => {
            let unused_files = run.unused_files();
            let replay = Replay {
                unused_files,
                ..replay
            };
            replay_engine(&run, engine, options, sandbox, replay)
        }
        None => Ok(replay),
    }
}

/// Replays the engine's run in `run`, whose bundle is valid.
pub(crate) fn replay_engine(
    run: &VerifiedRun<'_>,
    engine: &Engine,
    options: ReplayOptions<'_>,
    sandbox: impl FnOnce() -> Result<Sandbox, SealError>,
    mut replay: Replay,
) -> Result<Replay, SealError> {
    check_engine(run, engine, options, &mut replay)?;
    if options.same_environment
        && let Some(check) = &replay.environment
    {
        let faults = check.faults();
        replay.rules[5].extend(faults);
    }
    if matches!(replay.verdict(), Verdict::NotReplayable { .. }) {
        return Ok(replay);
    }
    let sandbox = sandbox()?;
    replay.isolation = Some(sandbox.isolation());
    let sealed = SealedRun::read(run)?;
    if !sealed.shows_anything() {
        let fault = "everything that the run gave is withheld: there is nothing to compare with";
        replay.rules[0].push(fault.to_owned());
        return Ok(replay);
    }
    if let Some(Value::String(hash)) = sealed.output.get("outputs_hash") {
        replay.outputs_hash = hash.to_lossy();
    }
    for _ in 0..options.times.max(1) {
        let given = EngineInputs {
            input: &sealed.input,
            upstream: sealed.upstream.as_deref(),
            parameters: sealed.parameters.as_deref(),
            cancel: options.cancel,
            on_file: None,
        };
        let comparison = match execute(&sandbox, engine, given, options.policy) {
            Ok(ran) => {
                let comparison = compare(&sealed, engine, &ran)?;
                if options.same_environment {
                    let isolation = sandbox.isolation();
                    let is_used = |path: &Path| is_machine_file(path, isolation, &ran.shown);
                    replay.demand_listed(ran.observation.as_ref(), is_used);
                }
                if !comparison.divergences.is_empty() && replay.reasons.is_empty() {
                    let before = Before {
                        gaps: replay.gaps.iter().collect(),
                        has_fixed_time: false,
                    };
                    let observation = ran.observation.as_ref();
                    replay.reasons = explain(observation, &comparison.divergences, &before);
                }
                comparison
            }
            Err(error @ (ExecuteError::Ended(_) | ExecuteError::Left { .. })) => {
                failed("the output that was sealed", &error.to_string())
            }
            Err(ExecuteError::Sandbox(error)) => return Err(error.into()),
            Err(ExecuteError::Read(error)) => return Err(error.into()),
            Err(ExecuteError::Work(source)) => {
                let path = "the work folder".to_owned();
                return Err(SourceError::Io { path, source }.into());
            }
        };
        replay.runs.push(comparison);
    }
    Ok(replay)
}
