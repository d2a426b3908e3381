//! What verifying several things gave: the value that all answers of `verify` are rendered from.
//!
//! Holds no clock, host or thread order: results are sorted by path, findings as everywhere.

use std::cmp::Ordering;
use std::collections::BTreeMap;

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

/// The id of findings about a text that is no JSON.
pub const NO_JSON: &str = "JSON";
/// The id of findings about something that is of no known format, or of several.
pub const NO_FORMAT: &str = "FORMAT";
/// The id under which what could not be read is named.
pub const NO_ACCESS: &str = "IO";
/// The id under which it is told that a signature was demanded and none holds.
pub const NO_SIGNATURE: &str = "SIGNED";
/// The id under which it is told that a policy was asked and does not trust it.
pub const NO_TRUST: &str = "TRUST";
/// The id under which it is told that a log was asked and it is not there.
pub const NO_LOG: &str = "LOG";
/// The id of findings about something that was expected and is not there.
pub const EXPECTED: &str = "EXPECT";

/// What became of one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Every required rule was run and passed.
    Valid,
    /// Something does not hold.
    Invalid {
        /// What is wrong, in the order of rules and places.
        findings: Vec<Finding>,
        /// Required rules that could not be run, and because of what.
        not_run: Vec<(&'static str, &'static str)>,
    },
    /// It could not be looked at, for this reason.
    NotChecked(String),
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// Its path as given, or below the one that was given.
    pub path: String,
    /// The bytes of that path, where they are no text and `path` only shows what can be shown of them.
    pub raw_path: Option<Box<[u8]>>,
    /// What it is, where that is known.
    pub format: Option<Format>,
    /// What became of it.
    pub verdict: Verdict,
    /// What it calls itself, as far as it was read.
    pub identity: Identity,
}

impl Checked {
    /// What judging it gave.
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

    /// Something that is invalid as a whole.
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

    /// Something that could not be looked at.
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

    /// Adds findings about what it came in.
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

    /// Whether everything holds.
    pub fn is_valid(&self) -> bool {
        self.verdict == Verdict::Valid
    }

    /// The bytes of its path.
    pub fn path_bytes(&self) -> &[u8] {
        self.raw_path.as_deref().unwrap_or(self.path.as_bytes())
    }

    /// Its findings; none where it is valid or could not be looked at.
    pub fn findings(&self) -> &[Finding] {
        match &self.verdict {
            Verdict::Invalid { findings, .. } => findings,
            _ => &[],
        }
    }
}

impl Ord for Checked {
    fn cmp(&self, other: &Self) -> Ordering {
        compare_utf16(&self.path, &other.path).then_with(|| self.format.cmp(&other.format))
    }
}

impl PartialOrd for Checked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// What must be besides being intact. Neither changes what the rules say of a thing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SignatureDemand {
    /// A signature that holds.
    pub signed: bool,
    /// Whether a policy has to trust a signer.
    pub trusted: bool,
    /// A log must hold it.
    pub logged: bool,
}

/// Everything that was looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    level: Level,
    results: Vec<Checked>,
    /// Files that could have been a document and are of no known format.
    passed_over: u64,
    /// Signatures and trust by path, where they were looked for.
    authenticity: BTreeMap<String, Authenticity>,
    demand: SignatureDemand,
    /// Findings that were dropped because there are too many.
    unlisted: u64,
}

impl Survey {
    /// A survey of these results, in any order, judged up to `level`.
    pub fn new(level: Level, mut results: Vec<Checked>, passed_over: u64) -> Self {
        let unlisted = drop_unlisted_findings(&mut results);
        Self {
            level,
            results,
            passed_over,
            unlisted,
            ..Self::default()
        }
    }

    /// The same with the second and third answer, by path, and what is demanded of them.
    pub fn with_authenticity(
        mut self,
        authenticity: BTreeMap<String, Authenticity>,
        demand: SignatureDemand,
    ) -> Self {
        self.authenticity = authenticity;
        self.demand = demand;
        self
    }

    /// Whether a result is signed and trusted, where that was looked for.
    pub fn authenticity_of(&self, result: &Checked) -> Option<&Authenticity> {
        self.authenticity.get(&result.path)
    }

    /// Why something is refused although it may be intact: what was demanded and is not there.
    pub fn refusals_of(&self, result: &Checked) -> Vec<Finding> {
        let mut refusals = Vec::new();
        // What could not be looked at, or is of no known format, has worse to tell.
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
                    "a signature beside it is demanded, and it has only one that it carries itself: {}",
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
                    "NOT trusted: nobody was asked",
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

    /// Whether a result holds and meets every demand.
    pub fn is_ok(&self, result: &Checked) -> bool {
        result.is_valid() && self.refusals_of(result).is_empty()
    }

    /// How many are intact and refused all the same.
    pub fn refused(&self) -> usize {
        let is_refused = |result: &&Checked| result.is_valid() && !self.is_ok(result);
        self.results.iter().filter(is_refused).count()
    }

    /// Counts findings that were dropped before.
    #[must_use]
    pub fn and_unlisted(mut self, more: u64) -> Self {
        self.unlisted += more;
        self
    }

    /// Findings that are not listed because there are more than
    /// [`FINDINGS_A_SURVEY`](crate::limits::FINDINGS_A_SURVEY).
    pub fn unlisted(&self) -> u64 {
        self.unlisted
    }

    /// The same survey with what a caller demands of it.
    #[must_use]
    pub fn demanding(mut self, demands: &Demands) -> Self {
        self.results.extend(demands.missing_from(&self.results));
        self.results.sort();
        self
    }

    /// Up to which level the rules were asked.
    pub fn level(&self) -> Level {
        self.level
    }

    /// The results, sorted by path.
    pub fn results(&self) -> &[Checked] {
        &self.results
    }

    /// Files that were looked at below a folder and are of no known format.
    pub fn passed_over(&self) -> u64 {
        self.passed_over
    }

    /// How many were looked at.
    pub fn checked(&self) -> usize {
        self.results.len() - self.not_checked() - self.unmet()
    }

    /// How many demands are not met. Such a result tells what was expected, not what was looked at.
    pub fn unmet(&self) -> usize {
        self.results
            .iter()
            .filter(|result| is_unmet(result))
            .count()
    }

    /// How many hold and meet every demand.
    pub fn valid(&self) -> usize {
        let is_ok = |result: &&Checked| self.is_ok(result);
        self.results.iter().filter(is_ok).count()
    }

    /// How many of those do not hold.
    pub fn invalid(&self) -> usize {
        let is_invalid = |result: &&Checked| matches!(result.verdict, Verdict::Invalid { .. });
        self.results.iter().filter(is_invalid).count()
    }

    /// How many could not be looked at.
    pub fn not_checked(&self) -> usize {
        let is_not = |result: &&Checked| matches!(result.verdict, Verdict::NotChecked(_));
        self.results.iter().filter(is_not).count()
    }

    /// How it ended, worst first: nothing at all counts as not readable, never as valid.
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

fn is_unmet(result: &Checked) -> bool {
    matches!(result.findings(), [only] if only.rule_id == EXPECTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(path: &str, verdict: Verdict) -> Checked {
        Checked {
            path: path.to_owned(),
            raw_path: None,
            format: None,
            verdict,
            identity: Identity::default(),
        }
    }

    #[test]
    fn survey_of_nothing_is_no_success() {
        assert_eq!(Survey::default().outcome(), Outcome::Unreadable);
    }

    #[test]
    fn survey_counts_each_kind_and_the_worst_one_decides() {
        let valid = || checked("c", Verdict::Valid);
        let invalid = || Checked::invalid("b", None, NO_FORMAT, "unknown");
        let lost = || Checked::not_checked("a", None, "no permission");
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
    fn survey_does_not_count_what_was_expected_as_checked() {
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
    fn survey_findings_of_an_archive_make_a_valid_bundle_invalid() {
        let finding = Finding::about_whole("AR2", "twice");
        let result = checked("a.zip", Verdict::Valid).with_findings(&[finding]);
        assert!(!result.is_valid());
        assert_eq!(result.findings().len(), 1);
    }
}
