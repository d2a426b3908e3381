//! The results of verifying several units: the value that all answers of `verify` are rendered from.
//!
//! Does not depend on clock, host or thread order: results are sorted by path, findings as everywhere.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::authenticity::{Authenticity, CARRIED, SignedState};
use super::demands::Demands;
use super::exit::Outcome;
use super::finding::Finding;
use super::listing::drop_unlisted_findings;
use super::report::RuleState;
use super::rule::Level;
use crate::canon::compare_utf16;
use crate::formats::Format;
use crate::formats::definition::{Identity, Judgement};

/// The rule id of a text that is not JSON.
pub const NO_JSON: &str = "JSON";
/// The rule id of a unit of no known format, or of several.
pub const NO_FORMAT: &str = "FORMAT";
/// The rule id of something that could not be read.
pub const NO_ACCESS: &str = "IO";
/// The rule id of a unit without the valid signature that was demanded.
pub const NO_SIGNATURE: &str = "SIGNED";
/// The rule id of a unit that the policy does not trust.
pub const NO_TRUST: &str = "TRUST";
/// The rule id of a unit that is not in the log.
pub const NO_LOG: &str = "LOG";
/// The rule id of something that was expected and is missing.
pub const EXPECTED: &str = "EXPECT";

/// The verdict about one unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Every required rule was run and passed.
    Valid,
    /// A required rule failed or could not be run.
    Invalid {
        /// What is wrong, in the order of rules and places.
        findings: Vec<Finding>,
        /// Required rules that could not be run, each with the reason.
        not_run: Vec<(&'static str, &'static str)>,
    },
    /// It could not be looked at, for this reason.
    NotChecked(String),
}

/// One unit and its verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitResult {
    /// Its path as given, or below a path that was given.
    pub path: String,
    /// The bytes of that path, if they are not UTF-8; then `path` only approximates them.
    pub raw_path: Option<Box<[u8]>>,
    /// Its format, if known.
    pub format: Option<Format>,
    /// The verdict.
    pub verdict: Verdict,
    /// The ids and digests it has, as far as it was read.
    pub identity: Identity,
}

impl UnitResult {
    /// The result of a judgement.
    pub fn of_judgement(path: impl Into<String>, judgement: Judgement) -> Self {
        let report = &judgement.report;
        let not_run = |result: &super::RuleResult| match result.state {
            RuleState::NotRun(because) if result.required => Some((result.rule.id, because)),
            _ => None,
        };
        let verdict = if report.is_valid() {
            Verdict::Valid
        } else {
            Verdict::Invalid {
                findings: report.findings().to_vec(),
                not_run: report.results().iter().filter_map(not_run).collect(),
            }
        };
        Self {
            path: path.into(),
            raw_path: None,
            format: Some(report.format()),
            verdict,
            identity: judgement.identity,
        }
    }

    /// A unit that is invalid as a whole.
    pub fn invalid(
        path: impl Into<String>,
        format: Option<Format>,
        rule_id: &'static str,
        message: impl Into<String>,
    ) -> Self {
        let finding = Finding::about_whole(rule_id, message);
        Self {
            path: path.into(),
            raw_path: None,
            format,
            verdict: Verdict::Invalid {
                findings: vec![finding],
                not_run: Vec::new(),
            },
            identity: Identity::default(),
        }
    }

    /// A unit that could not be looked at.
    pub fn not_checked(
        path: impl Into<String>,
        format: Option<Format>,
        reason: impl Into<String>,
    ) -> Self {
        Self {
            path: path.into(),
            raw_path: None,
            format,
            verdict: Verdict::NotChecked(reason.into()),
            identity: Identity::default(),
        }
    }

    /// Adds findings about the archive that contains it.
    pub fn with_findings(mut self, more: &[Finding]) -> Self {
        if more.is_empty() {
            return self;
        }
        if self.verdict == Verdict::Valid {
            self.verdict = Verdict::Invalid {
                findings: Vec::new(),
                not_run: Vec::new(),
            };
        }
        if let Verdict::Invalid { findings, .. } = &mut self.verdict {
            findings.extend_from_slice(more);
            findings.sort();
        }
        self
    }

    /// Whether the verdict is [`Verdict::Valid`].
    pub fn is_valid(&self) -> bool {
        self.verdict == Verdict::Valid
    }

    /// The bytes of its path.
    pub fn path_bytes(&self) -> &[u8] {
        self.raw_path.as_deref().unwrap_or(self.path.as_bytes())
    }

    /// Its findings; empty if it is valid or could not be looked at.
    pub fn findings(&self) -> &[Finding] {
        match &self.verdict {
            Verdict::Invalid { findings, .. } => findings,
            _ => &[],
        }
    }
}

impl Ord for UnitResult {
    fn cmp(&self, other: &Self) -> Ordering {
        compare_utf16(&self.path, &other.path).then_with(|| self.format.cmp(&other.format))
    }
}

impl PartialOrd for UnitResult {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// What is demanded of a unit besides being intact. Does not change what the rules say of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SignatureDemand {
    /// It must have a valid signature.
    pub signed: bool,
    /// A policy must trust a signer.
    pub trusted: bool,
    /// A log must have it.
    pub logged: bool,
}

/// The results of everything that was looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    level: Level,
    results: Vec<UnitResult>,
    /// Files that could have been a document but are of no known format.
    passed_over: u64,
    /// Signatures and trust by path, if they were looked for.
    authenticity: BTreeMap<String, Authenticity>,
    demand: SignatureDemand,
    /// Findings that were dropped because there are too many.
    unlisted: u64,
    /// The journals of recordings that were not finished.
    journals: Vec<PathBuf>,
}

impl Survey {
    /// A survey of these results, in any order, judged up to `level`.
    pub fn new(level: Level, mut results: Vec<UnitResult>, passed_over: u64) -> Self {
        let unlisted = drop_unlisted_findings(&mut results);
        Self {
            level,
            results,
            passed_over,
            unlisted,
            ..Self::default()
        }
    }

    /// Adds the second and third answer, by path, and what is demanded of them.
    pub fn with_authenticity(
        mut self,
        authenticity: BTreeMap<String, Authenticity>,
        demand: SignatureDemand,
    ) -> Self {
        self.authenticity = authenticity;
        self.demand = demand;
        self
    }

    /// Signatures and trust of a result, if they were looked for.
    pub fn authenticity_of(&self, result: &UnitResult) -> Option<&Authenticity> {
        self.authenticity.get(&result.path)
    }

    /// Why a unit is refused although it may be intact: the demands that it does not meet.
    pub fn refusals_of(&self, result: &UnitResult) -> Vec<Finding> {
        let mut refusals = Vec::new();
        // If it could not be looked at or is of no known format, that is worse and already reported.
        if matches!(result.verdict, Verdict::NotChecked(_)) || result.format.is_none() {
            return refusals;
        }
        let found = self.authenticity_of(result);
        let state = found.map_or(SignedState::Unsigned, |found| found.signed);
        if self.demand.signed && state != SignedState::Signed {
            let signatures = found.iter().flat_map(|found| &found.signatures);
            let mut carried = signatures.filter(|note| note.form == CARRIED);
            let message = match carried.next() {
                Some(_) => format!(
                    "a separate signature is demanded, but it only has one that is part of it: {}",
                    state.phrase()
                ),
                None => format!("a signature is demanded: {}", state.phrase()),
            };
            refusals.push(Finding::about_whole(NO_SIGNATURE, message));
        }
        if self.demand.trusted {
            let trust = found.and_then(|found| found.trusted.as_ref());
            match trust {
                Some(trust) if trust.is_trusted => {}
                Some(trust) => refusals.push(Finding::about_whole(NO_TRUST, trust.sentence())),
                None => refusals.push(Finding::about_whole(
                    NO_TRUST,
                    "NOT trusted: no policy was asked",
                )),
            }
        }
        if self.demand.logged {
            match found.and_then(|found| found.logged.as_ref()) {
                Some(note) if note.is_included => {}
                Some(note) => refusals.push(Finding::about_whole(NO_LOG, note.sentence())),
                None => refusals.push(Finding::about_whole(NO_LOG, "NOT logged: no log was asked")),
            }
        }
        refusals
    }

    /// Whether a result is valid and meets every demand.
    pub fn is_ok(&self, result: &UnitResult) -> bool {
        result.is_valid() && self.refusals_of(result).is_empty()
    }

    /// The number of valid results that do not meet every demand.
    pub fn refused(&self) -> usize {
        let is_refused = |result: &&UnitResult| result.is_valid() && !self.is_ok(result);
        self.results.iter().filter(is_refused).count()
    }

    /// Adds journals that were found.
    #[must_use]
    pub fn with_journals(mut self, mut journals: Vec<PathBuf>) -> Self {
        journals.sort_unstable();
        self.journals = journals;
        self
    }

    /// The journals of recordings that were not finished, in the folders that were named: nothing in
    /// them can be verified yet.
    pub fn journals(&self) -> impl Iterator<Item = &Path> {
        self.journals.iter().map(PathBuf::as_path)
    }

    /// Adds to the number of findings that are not listed.
    #[must_use]
    pub fn and_unlisted(mut self, more: u64) -> Self {
        self.unlisted += more;
        self
    }

    /// The number of findings that are not listed because there are more than
    /// [`FINDINGS_A_SURVEY`](crate::limits::FINDINGS_A_SURVEY).
    pub fn unlisted(&self) -> u64 {
        self.unlisted
    }

    /// Adds a result for each demand that is not met.
    #[must_use]
    pub fn demanding(mut self, demands: &Demands) -> Self {
        self.results.extend(demands.missing_from(&self.results));
        self.results.sort();
        self
    }

    /// The level up to which rules were checked.
    pub fn level(&self) -> Level {
        self.level
    }

    /// The results, sorted by path.
    pub fn results(&self) -> &[UnitResult] {
        &self.results
    }

    /// The number of files below a folder that are of no known format.
    pub fn passed_over(&self) -> u64 {
        self.passed_over
    }

    /// The number of units that were looked at.
    pub fn checked(&self) -> usize {
        self.results.len() - self.not_checked() - self.unmet()
    }

    /// The number of demands that are not met. Their results are about what was expected, not about a
    /// unit.
    pub fn unmet(&self) -> usize {
        self.results
            .iter()
            .filter(|result| is_unmet(result))
            .count()
    }

    /// The number of results that are valid and meet every demand.
    pub fn valid(&self) -> usize {
        let is_ok = |result: &&UnitResult| self.is_ok(result);
        self.results.iter().filter(is_ok).count()
    }

    /// The number of invalid results.
    pub fn invalid(&self) -> usize {
        let is_invalid = |result: &&UnitResult| matches!(result.verdict, Verdict::Invalid { .. });
        self.results.iter().filter(is_invalid).count()
    }

    /// The number of units that could not be looked at.
    pub fn not_checked(&self) -> usize {
        let is_not = |result: &&UnitResult| matches!(result.verdict, Verdict::NotChecked(_));
        self.results.iter().filter(is_not).count()
    }

    /// The outcome, worst first. An empty survey is unreadable, never valid.
    pub fn outcome(&self) -> Outcome {
        if self.results.is_empty() || self.not_checked() > 0 {
            Outcome::Unreadable
        } else if self.invalid() > 0 || self.refused() > 0 {
            Outcome::Invalid
        } else {
            Outcome::Valid
        }
    }
}

fn is_unmet(result: &UnitResult) -> bool {
    matches!(result.findings(), [only] if only.rule_id == EXPECTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(path: &str, verdict: Verdict) -> UnitResult {
        UnitResult {
            path: path.to_owned(),
            raw_path: None,
            format: None,
            verdict,
            identity: Identity::default(),
        }
    }

    #[test]
    fn survey_of_nothing_is_not_a_success() {
        assert_eq!(Survey::default().outcome(), Outcome::Unreadable);
    }

    #[test]
    fn survey_counts_each_verdict_and_the_worst_decides() {
        let valid = || checked("c", Verdict::Valid);
        let invalid = || UnitResult::invalid("b", None, NO_FORMAT, "unknown");
        let lost = || UnitResult::not_checked("a", None, "no permission");
        let survey = Survey::new(Level::Document, vec![valid()], 0);
        assert_eq!(survey.outcome(), Outcome::Valid);
        let survey = Survey::new(Level::Document, vec![valid(), invalid()], 0);
        assert_eq!(survey.outcome(), Outcome::Invalid);
        let survey = Survey::new(Level::Document, vec![valid(), invalid(), lost()], 0);
        assert_eq!(survey.outcome(), Outcome::Unreadable);
        assert_eq!(
            (survey.checked(), survey.invalid(), survey.not_checked()),
            (2, 1, 1)
        );
        let order: Vec<_> = survey.results().iter().map(|r| r.path.as_str()).collect();
        assert_eq!(order, ["a", "b", "c"]);
    }

    #[test]
    fn survey_does_not_count_unmet_demands_as_checked() {
        let results = vec![checked("a", Verdict::Valid)];
        let demands = Demands::default().expecting("b").unwrap();
        let survey = Survey::new(Level::Integrity, results, 0).demanding(&demands);
        assert_eq!(survey.outcome(), Outcome::Invalid);
        assert_eq!(
            (survey.checked(), survey.valid(), survey.unmet()),
            (1, 1, 1)
        );
    }

    #[test]
    fn survey_findings_about_an_archive_make_a_valid_bundle_invalid() {
        let finding = Finding::about_whole("AR2", "duplicate name");
        let result = checked("a.zip", Verdict::Valid).with_findings(&[finding]);
        assert!(!result.is_valid());
        assert_eq!(result.findings().len(), 1);
    }
}
