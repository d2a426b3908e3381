//! The result of each action and test of a run, for people.

use runseal_kernel::proposal::{ActionKind, TestKind};

use super::PlanExecution;
use super::contents::tail;
use super::execute::{Status, Step};

/// One action or test, and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepSummary {
    /// What it was: `create a.txt`, `run node make.js`, `test file_exists a.txt`.
    pub title: String,
    /// Whether it succeeded, failed or was not run.
    pub ending: StepEnding,
    /// Whether the run fails without it.
    pub is_required: bool,
    /// The exit code, the error, or the result of a test.
    pub detail: Option<String>,
    /// The last lines of standard error of a command that failed.
    pub stderr_tail: String,
}

/// How an action or a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepEnding {
    /// It succeeded.
    Succeeded,
    /// It failed, or took too long.
    Failed,
    /// It was not run, because something before it had failed.
    Skipped,
}

/// The actions in their order, then the tests.
pub(super) fn summarize(outcome: &PlanExecution) -> Vec<StepSummary> {
    let PlanExecution { proposal, done, .. } = outcome;
    let stderr_tail = |step: &Step| {
        let stderr = step.stderr.and_then(|hash| done.contents.get(hash));
        stderr.map(tail).unwrap_or_default()
    };
    let actions = proposal.actions.iter().zip(&done.actions);
    let actions = actions.map(|(action, step)| {
        let verb = match action.kind {
            ActionKind::CreateFile => "create",
            ActionKind::ModifyFile => "modify",
            ActionKind::DeleteFile => "delete",
            ActionKind::ExecuteCommand => "run",
            ActionKind::Validate => "validate",
            ActionKind::Test => "test",
        };
        let ending = match step.status {
            Status::Success => StepEnding::Succeeded,
            Status::Failure | Status::Timeout => StepEnding::Failed,
            Status::Skipped => StepEnding::Skipped,
        };
        let has_failed = ending == StepEnding::Failed;
        let code = step.exit_code.filter(|code| has_failed && *code != 0);
        let code = code.map(|code| format!("exit code {code}"));
        let parts: Vec<String> = code.into_iter().chain(step.error.clone()).collect();
        StepSummary {
            title: format!("{verb} {}", action.target),
            ending,
            is_required: action.required,
            detail: (!parts.is_empty()).then(|| parts.join(": ")),
            stderr_tail: if has_failed {
                stderr_tail(step)
            } else {
                String::new()
            },
        }
    });
    let tests = proposal.tests.iter().zip(&done.tests).map(|(test, seen)| {
        let found = match test.kind {
            TestKind::CommandSuccess => format!("exit code {}", seen.actual),
            _ => format!("found {}", seen.actual),
        };
        StepSummary {
            title: format!("test {} {}", test.kind.name(), test.target),
            ending: if seen.passed {
                StepEnding::Succeeded
            } else {
                StepEnding::Failed
            },
            is_required: test.required,
            detail: (!seen.passed).then_some(found),
            stderr_tail: match &seen.step {
                Some(step) if !seen.passed => stderr_tail(step),
                _ => String::new(),
            },
        }
    });
    actions.chain(tests).collect()
}
