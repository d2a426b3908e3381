//! The decision: accept, reject or review, and why.

use super::execute::Status;
use super::plan::Planned;
use super::{Options, Outcome};

/// Accept, reject or review, and why.
pub(super) fn decide(
    options: &Options,
    planned: &Planned,
    outcome: Option<&Outcome>,
) -> (bool, Vec<String>) {
    let bundle = match planned {
        Planned::Refused(_) => return (false, vec!["reject: the intent was refused".to_owned()]),
        Planned::Made { bundle, .. } => bundle,
    };
    if !bundle.questions.is_empty() {
        let count = bundle.questions.len();
        return (false, vec![format!("review: {count} questions are open")]);
    }
    let Some(Outcome { proposal, done, .. }) = outcome else {
        return (
            true,
            vec!["accept: the plan is complete; nothing was executed".to_owned()],
        );
    };
    let mut faults = Vec::new();
    for (action, step) in proposal.actions.iter().zip(&done.actions) {
        let is_fine = step.status == Status::Success;
        if action.required && !is_fine {
            let name = step.status.name();
            let error = step.error.as_deref().map(|error| format!(": {error}"));
            let code = step.exit_code.filter(|code| *code != 0);
            let code = code.map(|code| format!(" with exit code {code}"));
            faults.push(format!(
                "reject: action {} ended as {name}{}{}",
                action.id,
                code.unwrap_or_default(),
                error.unwrap_or_default()
            ));
        }
    }
    for (test, seen) in proposal.tests.iter().zip(&done.tests) {
        if test.required && !seen.passed {
            faults.push(format!(
                "reject: test {} did not pass: {}",
                test.id, seen.actual
            ));
        }
    }
    if !faults.is_empty() {
        return (false, faults);
    }
    let worked = "accept: every required action and test succeeded".to_owned();
    match (proposal.requires_approval, options.approve) {
        (false, _) => (true, vec![worked]),
        (true, true) => (
            true,
            vec![worked, "accept: approved by the caller".to_owned()],
        ),
        (true, false) => {
            let open = "review: the proposal needs a person's approval (--approve)".to_owned();
            (false, vec![worked, open])
        }
    }
}
