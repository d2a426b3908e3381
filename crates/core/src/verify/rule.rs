//! A rule of a format, and the driver that runs a table of them.

use super::finding::Findings;
use super::report::{Report, RuleResult, RuleState};
use crate::formats::Format;

/// What a format's rules look at.
///
/// The type itself is only a name; `View` is what was read, borrowed for the time of checking.
pub trait Subject: 'static {
    /// What a rule gets to see.
    type View<'a>;
    /// The format that is verified.
    const FORMAT: Format;
}

/// Whether a rule always applies or in strict mode only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The documents ask for it: always checked.
    Must,
    /// Ours beyond the documents' default check: checked with `--strict`.
    Strict,
}

/// How much is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strictness {
    /// The rules of level [`Level::Must`].
    #[default]
    Default,
    /// All rules.
    Strict,
}

/// What there is to know about a rule. The rules' reference page and `runseal rules` show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleInfo {
    /// The id that findings carry, such as `PK5`.
    pub id: &'static str,
    /// The format it belongs to.
    pub format: Format,
    /// What must hold, in a few words.
    pub title: &'static str,
    /// Document and section, such as `002 §8 PK5`.
    pub section: &'static str,
    /// When it is checked.
    pub level: Level,
    /// What exactly is checked, what a violation means and how to go on.
    pub explanation: &'static str,
}

/// Whether a rule has something to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gate {
    /// It has.
    Ready,
    /// There is nothing it could apply to, and that is fine. Says why.
    NotApplicable(&'static str),
    /// What it needs is missing or broken, so it cannot tell. Says what.
    NotRun(&'static str),
}

/// A rule: its descriptor, its gate and its check.
pub struct Rule<S: Subject> {
    /// What there is to know about it.
    pub info: RuleInfo,
    /// Whether there is something to look at.
    pub gate: for<'a> fn(&S::View<'a>) -> Gate,
    /// Adds what is wrong; pure.
    pub check: for<'a> fn(&S::View<'a>, &mut Findings),
}

/// Runs every rule of `table` on `view`.
pub fn run_rules<S: Subject>(
    table: &'static [Rule<S>],
    view: &S::View<'_>,
    strictness: Strictness,
) -> Report {
    let mut results = Vec::with_capacity(table.len());
    let mut findings = Vec::new();
    for rule in table {
        let required = rule.info.level == Level::Must || strictness == Strictness::Strict;
        let state = if !required {
            RuleState::NotRun("checked in strict mode only")
        } else {
            match (rule.gate)(view) {
                Gate::NotApplicable(why) => RuleState::NotApplicable(why),
                Gate::NotRun(because) => RuleState::NotRun(because),
                Gate::Ready => {
                    let mut found = Findings::of_rule(rule.info.id);
                    (rule.check)(view, &mut found);
                    let state = if found.is_empty() {
                        RuleState::Passed
                    } else {
                        RuleState::Failed
                    };
                    findings.extend(found.into_vec());
                    state
                }
            }
        };
        results.push(RuleResult {
            rule: &rule.info,
            required,
            state,
        });
    }
    Report::new(S::FORMAT, results, findings)
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
            info: info("N1", Level::Must),
            gate: |_| Gate::Ready,
            check: |view, findings| {
                for (at, number) in view.iter().enumerate().rev().filter(|(_, n)| **n < 0) {
                    findings.add(format!("[{at}]"), format!("{number} is negative"));
                }
            },
        },
        Rule {
            info: info("N2", Level::Must),
            gate: |view| match view {
                [] => Gate::NotApplicable("there are no numbers"),
                [0, ..] => Gate::NotRun("the first number is zero"),
                _ => Gate::Ready,
            },
            check: |_, _| {},
        },
        Rule {
            info: info("N3", Level::Strict),
            gate: |_| Gate::Ready,
            check: |view, findings| {
                if view.len() > 2 {
                    findings.add_without_path("too many");
                }
            },
        },
    ];

    fn states(numbers: &[i32], strictness: Strictness) -> (Vec<RuleState>, bool) {
        let report = run_rules(&TABLE, &numbers, strictness);
        (
            report.results().iter().map(|result| result.state).collect(),
            report.is_valid(),
        )
    }

    #[test]
    fn run_rules_each_state_is_told_apart() {
        use RuleState::{Failed, NotApplicable, NotRun, Passed};
        let strict_only = NotRun("checked in strict mode only");
        let default = Strictness::Default;
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
            "a must-rule that was not run is no pass"
        );
        assert_eq!(
            states(&[1, 2, 3], Strictness::Strict),
            (vec![Passed, Passed, Failed], false)
        );
    }

    #[test]
    fn run_rules_findings_come_out_sorted() {
        let report = run_rules(&TABLE, &[-1, -2, -3].as_slice(), Strictness::Strict);
        let found: Vec<_> = report
            .findings()
            .iter()
            .map(|f| (f.rule_id, f.path.as_deref()))
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
