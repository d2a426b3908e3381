//! The decision: accept, reject or review, with its reasons.

use runseal_core::digest::ContentHash;
use runseal_core::formats::pack::APPROVED;
use runseal_core::verify::one_line;
use runseal_kernel::Bundle;
use runseal_kernel::proposal::{Action, ActionKind, Proposal, Test, TestKind};

use super::execute::{Executed, OutputFile, Status, Step};
use super::plan::PlanOutcome;
use super::{Options, PlanExecution};

/// The most characters of a target that a reason shows.
const LONGEST_TARGET: usize = 60;

/// Decides whether the run is accepted. Each reason begins with accept, reject or review.
pub(super) fn decide(
    options: &Options,
    planned: &PlanOutcome,
    execution: Option<&PlanExecution>,
) -> (bool, Vec<String>) {
    let bundle = match planned {
        PlanOutcome::Refused(_) => {
            return (false, vec!["reject: the intent was refused".to_owned()]);
        }
        PlanOutcome::Made { bundle, .. } => bundle,
    };
    if !bundle.questions.is_empty() {
        let count = bundle.questions.len();
        let open = match count {
            1 => "1 question is open".to_owned(),
            count => format!("{count} questions are open"),
        };
        return (false, vec![format!("review: {open}")]);
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
            let status = step.status.name();
            let error = step.error.as_deref().map(|error| format!(": {error}"));
            let code = step.exit_code.filter(|code| *code != 0);
            let code = code.map(|code| format!(" with exit code {code}"));
            faults.push(format!(
                "reject: action {} ended as {status}{}{}",
                name(action.id.as_str(), &action.target),
                code.unwrap_or_default(),
                error.unwrap_or_default()
            ));
        }
    }
    for (test, seen) in proposal.tests.iter().zip(&done.tests) {
        if test.required && !seen.passed {
            faults.push(format!(
                "reject: test {} did not pass: {}",
                name(&test.id, &test.target),
                seen.actual
            ));
        }
    }
    if !faults.is_empty() {
        return (false, faults);
    }
    let outcome = Outcome {
        own: OwnText::of(bundle),
        proposal,
        done,
    };
    let actions = proposal.actions.iter().zip(&done.actions);
    let actions: Vec<String> = actions
        .filter(|(action, step)| outcome.has_action(action, step))
        .map(|(action, _)| name(action.id.as_str(), &action.target))
        .collect();
    let tests = proposal.tests.iter();
    let tests: Vec<String> = tests
        .filter(|test| outcome.has_test(test))
        .map(|test| name(&test.id, &test.target))
        .collect();
    if actions.is_empty() && tests.is_empty() {
        let reason = "review: nothing was required but to write the bundle's own text, or nothing came of it; \
                      name actions or tests of the goal's outcome in context.proposal";
        return (false, vec![reason.to_owned()]);
    }
    let mut reasons = vec!["accept: every required action and test succeeded".to_owned()];
    // Acceptance tests are what counts; if there are none, the reader should know.
    reasons.push(if tests.is_empty() {
        format!(
            "accept: no acceptance test of the outcome was named; these succeeded: {}",
            name_some(&actions)
        )
    } else {
        format!(
            "accept: acceptance tests of the outcome passed: {}",
            name_some(&tests)
        )
    });
    match (proposal.requires_approval, options.approve) {
        (false, _) => (true, reasons),
        (true, true) => {
            reasons.push(APPROVED.to_owned());
            (true, reasons)
        }
        (true, false) => {
            reasons.push("review: the proposal needs a person's approval (--approve)".to_owned());
            (false, reasons)
        }
    }
}

/// Names an action or test in a reason: its id and its target.
fn name(id: &str, target: &str) -> String {
    let target = one_line(target);
    match target.char_indices().nth(LONGEST_TARGET) {
        None => format!("{id} (`{target}`)"),
        Some((end, _)) => format!("{id} (`{}…`)", target.get(..end).unwrap_or_default()),
    }
}

/// Lists the first few names, and how many more there are.
fn name_some(names: &[String]) -> String {
    const NAMED: usize = 5;
    let (named, more) = names.split_at(names.len().min(NAMED));
    match more.len() {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// What a run achieved beyond the texts in the bundle itself. Writing those to files, under
/// whatever name and by whatever means, and testing them afterwards, does not show that the goal
/// was reached.
struct Outcome<'a> {
    own: OwnText,
    proposal: &'a Proposal,
    done: &'a Executed,
}

impl Outcome<'_> {
    fn has_action(&self, action: &Action, step: &Step) -> bool {
        let target = action.target.as_str();
        action.required
            && match action.kind {
                ActionKind::CreateFile | ActionKind::ModifyFile => {
                    let content = action.content.as_deref().unwrap_or_default();
                    !self.own.says(content)
                }
                ActionKind::Validate => match target.split_once(':') {
                    // Anything is absent from an empty folder.
                    Some(("absent", _)) => false,
                    Some((_, path)) => self.has_file(path),
                    None => self.has_file(target),
                },
                // `has_test` looks at its test.
                ActionKind::Test => false,
                ActionKind::DeleteFile => true,
                ActionKind::ExecuteCommand => self.has_printed(step) || self.has_made_files(),
            }
    }

    fn has_test(&self, test: &Test) -> bool {
        let expects_no_file = test.kind == TestKind::FileExists && test.expected == "false";
        test.required
            && !expects_no_file
            && (test.kind == TestKind::CommandSuccess || self.has_file(&test.target))
    }

    /// Whether a command printed anything but the bundle's text.
    fn has_printed(&self, step: &Step) -> bool {
        let printed = step.stdout.iter().chain(&step.stderr);
        printed.copied().any(|hash| self.is_new(hash))
    }

    /// Whether a content is anything but the bundle's text, as one too long to keep is.
    fn is_new(&self, hash: ContentHash) -> bool {
        match self.done.contents.get(hash) {
            Some(content) => !self.own.says(&String::from_utf8_lossy(content)),
            None => hash != ContentHash::of(b""),
        }
    }

    /// Whether commands made, changed or deleted files beyond what the plan wrote.
    fn has_made_files(&self) -> bool {
        let outputs = self.done.outputs.iter();
        let mut made = outputs.filter(|file| self.planned_content(&file.path) != Some(file.sha256));
        let is_gone = |action: &Action| {
            self.planned_content(&action.target).is_some() && !self.exists(&action.target)
        };
        made.any(|file| self.is_outcome(file)) || self.proposal.actions.iter().any(is_gone)
    }

    /// Whether a file exists and is neither what the plan wrote nor the bundle's text.
    fn has_file(&self, path: &str) -> bool {
        let mut outputs = self.done.outputs.iter();
        let here = outputs.find(|file| file.path == path);
        here.is_some_and(|file| {
            self.planned_content(path) != Some(file.sha256) && self.is_outcome(file)
        })
    }

    /// Whether a file that commands left counts. An empty one does: a command made it.
    fn is_outcome(&self, file: &OutputFile) -> bool {
        file.bytes == 0 || self.is_new(file.sha256)
    }

    fn exists(&self, path: &str) -> bool {
        self.done.outputs.iter().any(|file| file.path == path)
    }

    /// Returns the hash of what the plan writes to a path; `None` if it writes nothing there, or
    /// deletes it again.
    fn planned_content(&self, path: &str) -> Option<ContentHash> {
        let actions = self.proposal.actions.iter().rev();
        let last = actions
            .filter(|action| action.target == path && action.kind.is_file_operation())
            .find(|action| action.kind != ActionKind::Validate)?;
        match last.kind {
            ActionKind::CreateFile | ActionKind::ModifyFile => {
                let content = last.content.as_deref().unwrap_or_default();
                Some(ContentHash::of(content.as_bytes()))
            }
            _ => None,
        }
    }
}

/// The texts in the bundle, without white space and the marks of lists and headings.
struct OwnText {
    texts: Vec<String>,
}

impl OwnText {
    fn of(bundle: &Bundle) -> Self {
        let mut texts: Vec<String> = Vec::new();
        let outputs = bundle.outputs.iter();
        texts.extend(outputs.map(|output| plain_line(&output.content)));
        let mut waiting = vec![&bundle.root];
        while let Some(node) = waiting.pop() {
            texts.push(plain_line(&node.goal));
            texts.extend(node.constraints.iter().map(|text| plain_line(text)));
            waiting.extend(&node.children);
        }
        Self { texts }
    }

    /// Whether a text says nothing that the bundle does not: as a whole, or line by line.
    fn says(&self, text: &str) -> bool {
        let is_own = |text: &str| {
            let text = plain_line(text);
            text.is_empty() || self.texts.iter().any(|own| own.contains(&text))
        };
        is_own(text) || text.lines().all(is_own)
    }
}

/// Returns a text as one line of words in lower case.
fn plain_line(text: &str) -> String {
    let is_mark = |word: &&str| !word.chars().any(char::is_alphanumeric);
    let words: Vec<&str> = text
        .split_whitespace()
        .filter(|word| !is_mark(word))
        .collect();
    words.join(" ").to_lowercase()
}
