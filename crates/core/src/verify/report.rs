//! The outcome of verifying one object.

use super::finding::Finding;
use super::place::locate_places;
use super::rule::{Level, RuleInfo};
use crate::formats::Format;

/// What became of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleState {
    /// It was run and found nothing.
    Passed,
    /// It was run and found something.
    Failed,
    /// There was nothing it could apply to, for this reason.
    NotApplicable(&'static str),
    /// It could not be run, or was not asked for, for this reason.
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

/// A rule and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleResult {
    /// The rule that was asked.
    pub rule: &'static RuleInfo,
    /// Whether the verdict needs it: its level was asked for.
    pub required: bool,
    /// What became of it.
    pub state: RuleState,
}

/// What verifying one object gave. Holds no clock, host or resolved path.
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

    /// The format whose rules were asked.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Up to which level the rules were asked.
    pub fn level(&self) -> Level {
        self.level
    }

    /// The same as an answer at `level`, for a format whose rules are all asked at every level.
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

    /// Finds the place in the text for findings with a path into `file`, whose text is `text`;
    /// `file` is `None` where the unit is one document. Findings with a path and no file are in
    /// it as well.
    pub fn locate(&mut self, file: Option<&str>, text: &str) {
        let places = self.findings.iter_mut().map(|finding| &mut finding.place);
        locate_places(places, file, text);
    }

    /// Whether every required rule was run and passed, or had nothing to apply to. A rule that
    /// could not be run is no pass.
    pub fn is_valid(&self) -> bool {
        let held = |state| matches!(state, RuleState::Passed | RuleState::NotApplicable(_));
        self.results
            .iter()
            .filter(|result| result.required)
            .all(|result| held(result.state))
    }
}
