//! Runs a recorded command again at once, to report what varies.

use runseal_sandbox::Sandbox;

use super::accesses::observed_gaps;
use super::reasons::{Before, explain};
use super::run::{CommandRun, Watching, run_command};
use super::seal::{RecordError, RecordRequest};
use super::secrets::HiddenSecrets;
use super::snapshot::{Snapshot, compare_snapshots, read_left};
use crate::run::replay::Divergence;

/// How further runs compare with the first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Varying {
    /// Where each of them differs from the first.
    pub runs: Vec<Vec<Divergence>>,
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
    if times <= 1 {
        return Ok(Varying::default());
    }
    let keep = request.keep.as_ref();
    // The first run's output was shown already; once is enough.
    let watching = &Watching {
        on_output: None,
        on_file: None,
        ..watching.clone()
    };
    let hidden = HiddenSecrets::of(&request.command.secrets)?;
    let before = Snapshot::of_run(first, keep)?;
    let mut varying = Varying::default();
    for _ in 1..times {
        let run = run_command(&request.command, sandbox, watching)?;
        let now = Snapshot::of_run(&run, keep)?;
        let describe = |place: &str| {
            hidden.describe(place, &read_left(first, place)?, &read_left(&run, place)?)
        };
        let mut divergences = compare_snapshots(&before, &now, describe);
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
