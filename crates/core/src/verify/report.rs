//! The result of verifying one unit.

use super::finding::Finding;
use super::place::locate_places;
use super::rule::{Level, RuleInfo};
use crate::formats::Format;

/// The result of one rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleState {
    /// It was run and found nothing.
    Passed,
    /// It was run and found something.
    Failed,
    /// There was nothing it applies to, for this reason.
    NotApplicable(&'static str),
    /// It could not be run, or its level was not asked for; with the reason.
    NotRun(&'static str),
}

impl RuleState {
    /// The state's name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotApplicable(_) => "not applicable",
            Self::NotRun(_) => "not run",
        }
    }
}

/// A rule and its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleResult {
    /// The rule.
    pub rule: &'static RuleInfo,
    /// Whether the verdict needs it, because its level was asked for.
    pub required: bool,
    /// The state.
    pub state: RuleState,
}

/// The result of verifying one unit. Does not depend on clock, host or resolved paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    format: Format,
    level: Level,
    results: Vec<RuleResult>,
    findings: Vec<Finding>,
}

impl Report {
    pub(super) fn new(
        format: Format,
        level: Level,
        results: Vec<RuleResult>,
        mut findings: Vec<Finding>,
    ) -> Self {
        findings.sort();
        Self {
            format,
            level,
            results,
            findings,
        }
    }

    /// The format whose rules were run.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The level up to which rules were run.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Sets the level, for a format whose rules are all run at every level.
    #[must_use]
    pub fn asked_at(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// Each rule of the table with its state, in the table's order.
    pub fn results(&self) -> &[RuleResult] {
        &self.results
    }

    /// All findings, in order.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Finds the span of each finding with a path into `file`, whose text is `text`. `file` is `None`
    /// if the unit is a single document. Findings with a path but no file are in it too.
    pub fn locate(&mut self, file: Option<&str>, text: &str) {
        let places = self.findings.iter_mut().map(|finding| &mut finding.place);
        locate_places(places, file, text);
    }

    /// Whether every required rule passed or had nothing to apply to. A rule that could not be run
    /// is not a pass.
    pub fn is_valid(&self) -> bool {
        let is_pass = |state| matches!(state, RuleState::Passed | RuleState::NotApplicable(_));
        self.results
            .iter()
            .filter(|result| result.required)
            .all(|result| is_pass(result.state))
    }
}
