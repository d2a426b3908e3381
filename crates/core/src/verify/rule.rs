//! A rule of a format, and the driver that runs a table of them.

use super::finding::{Finding, Findings};
use super::report::{Report, RuleResult, RuleState};
use crate::formats::Format;

/// What a format's rules look at.
///
/// The type itself is only a name; `View` is what was read, borrowed while rules check it.
pub trait Subject: 'static {
    /// What a rule sees.
    type View<'a>;
    /// The format that is verified.
    const FORMAT: Format;
    /// Whether a place that a rule names by plain text is a file of the unit. Otherwise it is an id
    /// or another name from the format's document.
    const NAMES_FILES: bool = false;

    /// Says why the view is too large for the rules; `None` if it is not. If it is, the first rule
    /// of the table gets this as its finding and no other is run.
    fn excess(_view: &Self::View<'_>) -> Option<String> {
        None
    }
}

/// What a rule is about, and so when it is checked. Each level includes those before it:
/// verification checks *up to* a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Level {
    /// What the format's document demands. The command of a single format checks this by default.
    #[default]
    Document,
    /// Everything that can be computed again or is stated twice agrees. `runseal verify` checks this
    /// by default: without it a changed verdict or a forged id would pass.
    Integrity,
    /// Stored canonically; in a job bundle, with nothing unknown. Does not affect the meaning.
    Form,
}

impl Level {
    /// Every level, least demanding first.
    pub const ALL: [Self; 3] = [Self::Document, Self::Integrity, Self::Form];

    /// The name in machine output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Integrity => "integrity",
            Self::Form => "form",
        }
    }

    /// Why a rule of this level is not run if only a lower level is checked.
    const fn not_run_reason(self) -> &'static str {
        match self {
            Self::Document => "a rule of the document that was not asked for",
            Self::Integrity => "an integrity rule, not checked at the document level",
            Self::Form => "a rule about form, checked with --strict",
        }
    }

    /// What checking up to this level leaves open, for people.
    pub const fn unchecked_words(self) -> Option<&'static str> {
        match self {
            Self::Document => Some(
                "not checked: ids, hashes, counts and statements that other parts repeat \
                 (integrity), and stored form; a changed verdict can pass",
            ),
            Self::Integrity => Some("not checked: stored form (--strict checks it)"),
            Self::Form => None,
        }
    }
}

/// The description of a rule, as `runseal rules` and the reference page show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleInfo {
    /// The id that findings carry, such as `PK5`.
    pub id: &'static str,
    /// The format it belongs to.
    pub format: Format,
    /// What it demands, in a few words.
    pub title: &'static str,
    /// Document and section, such as `002 §8 PK5`.
    pub section: &'static str,
    /// When it is checked.
    pub level: Level,
    /// What exactly is checked, what a violation means and what to do about it.
    pub explanation: &'static str,
}

/// Whether a rule has something to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gate {
    /// Everything the rule needs was read.
    Ready,
    /// There is nothing it applies to, and that is fine. Says why.
    NotApplicable(&'static str),
    /// What it needs is missing or broken, so it cannot decide. Says what.
    NotRun(&'static str),
}

/// A rule: its description, its gate and its check.
pub struct Rule<S: Subject> {
    /// Its description.
    pub info: RuleInfo,
    /// Says whether there is something to look at.
    pub gate: for<'a> fn(&S::View<'a>) -> Gate,
    /// Adds what is wrong. Pure.
    pub check: for<'a> fn(&S::View<'a>, &mut Findings),
}

/// Runs the rules of `table` up to a level on `view`.
pub fn run_rules<S: Subject>(
    table: &'static [Rule<S>],
    view: &S::View<'_>,
    up_to: Level,
) -> Report {
    let mut results = Vec::with_capacity(table.len());
    let mut findings = Vec::new();
    let mut excess = S::excess(view);
    let is_excessive = excess.is_some();
    for rule in table {
        let required = rule.info.level <= up_to;
        let state = if let Some(message) = excess.take() {
            findings.push(Finding::about_whole(rule.info.id, message));
            RuleState::Failed
        } else if is_excessive {
            RuleState::NotRun("there is more than the rules can check")
        } else if required {
            run_rule(rule, view, &mut findings)
        } else {
            RuleState::NotRun(rule.info.level.not_run_reason())
        };
        results.push(RuleResult {
            rule: &rule.info,
            required,
            state,
        });
    }
    Report::new(S::FORMAT, up_to, results, findings)
}

/// Why a rule is not run if something that it compares is not there.
const LACKING: &str = "a member that it needs is missing or mistyped";

fn run_rule<S: Subject>(
    rule: &'static Rule<S>,
    view: &S::View<'_>,
    findings: &mut Vec<Finding>,
) -> RuleState {
    match (rule.gate)(view) {
        Gate::NotApplicable(reason) => RuleState::NotApplicable(reason),
        Gate::NotRun(because) => RuleState::NotRun(because),
        Gate::Ready => {
            let mut found = Findings::of_rule(rule.info.id, S::NAMES_FILES);
            (rule.check)(view, &mut found);
            let state = match (found.is_empty(), found.is_incomplete()) {
                (false, _) => RuleState::Failed,
                (true, true) => RuleState::NotRun(LACKING),
                (true, false) => RuleState::Passed,
            };
            findings.extend(found.into_vec());
            state
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Numbers;

    impl Subject for Numbers {
        type View<'a> = &'a [i32];
        const FORMAT: Format = Format::Patch;
    }

    const fn info(id: &'static str, level: Level) -> RuleInfo {
        RuleInfo {
            id,
            format: Format::Patch,
            title: "",
            section: "",
            level,
            explanation: "",
        }
    }

    static TABLE: [Rule<Numbers>; 3] = [
        Rule {
            info: info("N1", Level::Document),
            gate: |_| Gate::Ready,
            check: |view, findings| {
                for (at, number) in view.iter().enumerate().rev().filter(|(_, n)| **n < 0) {
                    findings.add(format!("[{at}]"), format!("{number} is negative"));
                }
            },
        },
        Rule {
            info: info("N2", Level::Document),
            gate: |view| match view {
                [] => Gate::NotApplicable("there are no numbers"),
                [0, ..] => Gate::NotRun("the first number is zero"),
                _ => Gate::Ready,
            },
            check: |_, _| {},
        },
        Rule {
            info: info("N3", Level::Form),
            gate: |_| Gate::Ready,
            check: |view, findings| {
                let last = findings.need(view.get(1));
                if last.is_some() && view.len() > 2 {
                    findings.add_without_path("too many");
                }
            },
        },
    ];

    fn states(numbers: &[i32], level: Level) -> (Vec<RuleState>, bool) {
        let report = run_rules(&TABLE, &numbers, level);
        (
            report.results().iter().map(|result| result.state).collect(),
            report.is_valid(),
        )
    }

    #[test]
    fn run_rules_distinguishes_every_state() {
        use RuleState::{Failed, NotApplicable, NotRun, Passed};
        let strict_only = NotRun("a rule about form, checked with --strict");
        let default = Level::Document;
        assert_eq!(
            states(&[1, 2, 3], default),
            (vec![Passed, Passed, strict_only], true)
        );
        assert_eq!(
            states(&[], default),
            (
                vec![Passed, NotApplicable("there are no numbers"), strict_only],
                true
            )
        );
        assert_eq!(
            states(&[0], default),
            (
                vec![Passed, NotRun("the first number is zero"), strict_only],
                false
            ),
            "a required rule that was not run is not a pass"
        );
        assert_eq!(
            states(&[1, 2, 3], Level::Form),
            (vec![Passed, Passed, Failed], false)
        );
        assert_eq!(
            states(&[1], Level::Form),
            (vec![Passed, Passed, NotRun(LACKING)], false),
            "a comparison that was not made is not a pass"
        );
    }

    #[test]
    fn run_rules_sorts_findings() {
        let report = run_rules(&TABLE, &[-1, -2, -3].as_slice(), Level::Form);
        let found: Vec<_> = report
            .findings()
            .iter()
            .map(|f| (f.rule_id, f.path()))
            .collect();
        assert_eq!(
            found,
            [
                ("N1", Some("[0]")),
                ("N1", Some("[1]")),
                ("N1", Some("[2]")),
                ("N3", None)
            ]
        );
    }
}
