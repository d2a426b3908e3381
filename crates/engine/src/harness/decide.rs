//! The decision: accept, reject or review, with its reasons.

use runseal_kernel::Bundle;
use runseal_kernel::proposal::{Action, ActionKind, Test, TestKind};

use super::execute::Status;
use super::plan::Planned;
use super::{Options, PlanExecution};

/// Whether the run is accepted, and the reasons: each begins with accept, reject or review.
pub(super) fn decide(
    options: &Options,
    planned: &Planned,
    execution: Option<&PlanExecution>,
) -> (bool, Vec<String>) {
    let bundle = match planned {
        Planned::Refused(_) => return (false, vec!["reject: the intent was refused".to_owned()]),
        Planned::Made { bundle, .. } => bundle,
    };
    if !bundle.questions.is_empty() {
        let count = bundle.questions.len();
        return (false, vec![format!("review: {count} questions are open")]);
    }
    let Some(PlanExecution { proposal, done, .. }) = execution else {
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
    let own_text = OwnText(bundle);
    let actions = proposal.actions.iter();
    let actions: Vec<&str> = actions
        .filter(|action| own_text.is_exceeded_by(action))
        .map(|action| action.id.as_str())
        .collect();
    let tests = proposal.tests.iter();
    let tests: Vec<&str> = tests
        .filter(|test| own_text.is_exceeded_by_test(test))
        .map(|test| test.id.as_str())
        .collect();
    if actions.is_empty() && tests.is_empty() {
        let reason = "review: nothing was required but to write the bundle's own text; name actions or \
                      tests of the goal's outcome in context.proposal";
        return (false, vec![reason.to_owned()]);
    }
    let mut reasons = vec!["accept: every required action and test succeeded".to_owned()];
    // Acceptance tests are what counts; if there are none, the reader should know.
    reasons.push(match tests.is_empty() {
        false => format!(
            "accept: acceptance tests of the outcome passed: {}",
            name_some(&tests)
        ),
        true => format!(
            "accept: no acceptance test of the outcome was named; these succeeded: {}",
            name_some(&actions)
        ),
    });
    match (proposal.requires_approval, options.approve) {
        (false, _) => (true, reasons),
        (true, true) => {
            reasons.push("accept: approved by the caller".to_owned());
            (true, reasons)
        }
        (true, false) => {
            reasons.push("review: the proposal needs a person's approval (--approve)".to_owned());
            (false, reasons)
        }
    }
}

/// The first few ids, and how many more there are.
fn name_some(ids: &[&str]) -> String {
    const NAMED: usize = 5;
    let (named, more) = ids.split_at(ids.len().min(NAMED));
    match more.len() {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// The texts that the bundle itself contains. Writing them to files and checking those afterwards
/// says nothing about whether the goal was reached.
struct OwnText<'a>(&'a Bundle);

impl OwnText<'_> {
    fn is_exceeded_by(&self, action: &Action) -> bool {
        let target = action.target.as_str();
        action.required
            && match action.kind {
                ActionKind::CreateFile | ActionKind::ModifyFile => {
                    let content = action.content.as_deref().unwrap_or_default();
                    // The same text under another name does not count either.
                    !self.holds(|_, text| text == content)
                }
                ActionKind::Validate => match target.split_once(':') {
                    // The absence of something also holds for an empty folder.
                    Some(("absent", _)) => false,
                    Some((_, path)) => !self.has_path(path),
                    None => !self.has_path(target),
                },
                // Its test is examined itself.
                ActionKind::Test => false,
                ActionKind::DeleteFile | ActionKind::ExecuteCommand => true,
            }
    }

    fn is_exceeded_by_test(&self, test: &Test) -> bool {
        let is_of_nothing = test.kind == TestKind::FileExists && test.expected == "false";
        test.required
            && !is_of_nothing
            && (test.kind == TestKind::CommandSuccess || !self.has_path(&test.target))
    }

    fn has_path(&self, target: &str) -> bool {
        self.holds(|path, _| path == target)
    }

    fn holds(&self, is_it: impl Fn(&str, &str) -> bool) -> bool {
        let mut outputs = self.0.outputs.iter();
        outputs.any(|output| is_it(output.path.as_str(), &output.content))
    }
}
