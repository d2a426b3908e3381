//! Runs a recorded command again at once, to report what varies.

use std::io::{self, Seek};
use std::sync::Arc;

use runseal_sandbox::{PipedInput, Sandbox, Stdin};

use super::accesses::observed_gaps;
use super::error::work_error;
use super::reasons::{Before, explain};
use super::rules::{Within, judge_under};
use super::run::{CommandRun, Watching, run_command};
use super::seal::{RecordError, RecordRequest};
use super::secrets::HiddenSecrets;
use super::snapshot::{Compared, LeftAt, Snapshot, read_left};
use crate::run::replay::Divergence;

/// How further runs compare with the first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Varying {
    /// Where each of them differs from the first.
    pub runs: Vec<Vec<Divergence>>,
    /// What is the same under the rules alone.
    pub within: Vec<Within>,
    /// Why it may vary.
    pub reasons: Vec<String>,
}

impl Varying {
    /// Whether all runs gave the same result.
    pub fn is_steady(&self) -> bool {
        self.runs.iter().all(Vec::is_empty)
    }
}

/// Runs the command of `request` until it was run `times` times in all, and compares each run with
/// the first.
///
/// # Errors
/// When it cannot be run again. A run that fails is a divergence.
pub fn repeat_command(
    request: &RecordRequest,
    first: &CommandRun,
    sandbox: &Sandbox,
    watching: &Watching,
    times: u32,
) -> Result<Varying, RecordError> {
    let terminal = first.recorded.outcome.terminal.as_ref();
    if times <= 1 || terminal.is_some_and(|log| log.typed > 0) {
        return Ok(Varying::default());
    }
    let terms = &request.terms;
    // The first run's output was shown already; once is enough.
    let watching = &Watching {
        on_output: None,
        on_file: None,
        ..watching.clone()
    };
    let mut command = request.command.clone();
    // Nobody types while it is shown to nobody.
    if let Some(terminal) = &mut command.terminal {
        terminal.own = None;
    }
    let hidden = HiddenSecrets::of(&request.command.secrets);
    let before = Snapshot::of_run(first, terms)?;
    let mut varying = Varying::default();
    for _ in 1..times {
        if let Stdin::Pipe(input) = &request.command.stdin {
            command.stdin = again(input).map_err(work_error)?;
        }
        let run = run_command(&command, sandbox, watching)?;
        let now = Snapshot::of_run(&run, terms)?;
        let compared = Compared::of(&before, &now, &terms.compare, |place, treatment| {
            let describe =
                || hidden.describe(place, &read_left(first, place)?, &read_left(&run, place)?);
            let versions = [first, &run].map(|run| LeftAt { run, place });
            let [before, now] = &versions;
            judge_under(treatment, place, (before, now), describe)
        });
        let mut divergences = compared.divergences;
        varying.within.extend(compared.within);
        hidden.hide_in(&mut divergences);
        if varying.reasons.is_empty() && !divergences.is_empty() {
            let gaps = first.observation().map(observed_gaps).unwrap_or_default();
            let before = Before {
                gaps: gaps.iter().collect(),
                has_fixed_time: request.command.fixed_time.is_some(),
            };
            varying.reasons = explain(run.observation(), &divergences, &before);
            varying.reasons.iter_mut().for_each(|it| hidden.hide(it));
        }
        varying.runs.push(divergences);
    }
    Ok(varying)
}

/// The same input once more: what the first run took.
fn again(input: &PipedInput) -> io::Result<Stdin> {
    let Some(mut kept) = input.kept.as_deref() else {
        return Ok(Stdin::Null);
    };
    kept.rewind()?;
    Ok(Stdin::Pipe(PipedInput {
        from: Arc::new(kept.try_clone()?.into()),
        kept: None,
        most: u64::MAX,
    }))
}
