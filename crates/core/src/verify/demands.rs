//! What a caller expects to find: paths, ids and formats, and accepted packs.
//!
//! A survey of whatever is there says nothing about what is missing. A caller who knows what should
//! be there says so, and everything missing becomes a result.

use super::survey::{EXPECTED, UnitResult, Verdict};
use crate::formats::Format;
use crate::formats::definition::Outcome;

/// What must be among the results.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Demands {
    expected: Vec<String>,
    formats: Vec<Format>,
    accepted: bool,
}

/// The error for a list of expectations without any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the list of what is expected has only blank lines and comments")]
pub struct NothingExpected;

impl Demands {
    /// Demands what each line names: a path, an id or a format. Skips blank lines and comments (`#`).
    /// A path that is also a format's name is written `./pack`.
    ///
    /// # Errors
    /// If no line is left: a list is meant to demand something.
    pub fn expecting(mut self, lines: &str) -> Result<Self, NothingExpected> {
        let lines = lines.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let before = self.expected.len();
        self.expected.extend(lines.map(str::to_owned));
        if self.expected.len() > before {
            Ok(self)
        } else {
            Err(NothingExpected)
        }
    }

    /// Demands a unit of this format.
    #[must_use]
    pub fn expecting_format(mut self, format: Format) -> Self {
        self.formats.push(format);
        self
    }

    /// Demands that there is a pack, that every pack records an accepted run, and that every other unit that states an
    /// outcome states a success.
    #[must_use]
    pub fn expecting_accepted(mut self, accepted: bool) -> Self {
        self.accepted = accepted;
        self
    }

    /// Returns a result for each demand that `results` do not meet. A unit that could not be looked at
    /// meets none.
    pub(super) fn missing_from(&self, results: &[UnitResult]) -> Vec<UnitResult> {
        let is_looked_at = |result: &&UnitResult| !matches!(result.verdict, Verdict::NotChecked(_));
        let looked_at: Vec<&UnitResult> = results.iter().filter(is_looked_at).collect();
        let mut missing = Vec::new();
        for line in &self.expected {
            if !looked_at.iter().any(|result| meets(result, line)) {
                let message = "it is expected, but nothing that was checked has this path, id or \
                               format";
                missing.push(UnitResult::invalid(line.as_str(), None, EXPECTED, message));
            }
        }
        for format in &self.formats {
            if !looked_at
                .iter()
                .any(|result| result.format == Some(*format))
            {
                let message = format!("a {} is expected, but there is none", format.title());
                missing.push(UnitResult::invalid(
                    format.name(),
                    Some(*format),
                    EXPECTED,
                    message,
                ));
            }
        }
        if self.accepted {
            missing.extend(self.not_accepted(&looked_at));
        }
        missing
    }

    fn not_accepted(&self, results: &[&UnitResult]) -> Vec<UnitResult> {
        let mut refused = Vec::new();
        let is_pack = |result: &&UnitResult| result.format == Some(Format::Pack);
        if !results.iter().any(is_pack) {
            let message = "an accepted run is expected, but there is no pack";
            let format = Some(Format::Pack);
            refused.push(UnitResult::invalid("pack", format, EXPECTED, message));
        }
        for result in results {
            // Only packs, and copies of them, are accepted. A unit without an outcome cannot contradict.
            let is_refused = match (result.format, result.identity.result) {
                (Some(Format::Pack), ended) => ended != Some(Outcome::Accepted),
                (_, ended) => ended.is_some_and(|ended| !ended.is_success()),
            };
            if is_refused {
                let outcome = match result.identity.result {
                    _ if result.identity.outcome.is_some() => result.identity.outcome.as_deref(),
                    Some(Outcome::NotAccepted) => Some("not accepted"),
                    Some(Outcome::Refused) => Some("refused"),
                    Some(Outcome::Failed) => Some("failed"),
                    _ => None,
                };
                let outcome = outcome.unwrap_or("unknown");
                let message = format!("an accepted run is expected; this one is: {outcome}");
                let path = result.path.as_str();
                refused.push(UnitResult::invalid(path, result.format, EXPECTED, message));
            }
        }
        refused
    }
}

/// Whether a result is what a line names. A format's name means that format; any other line means the result's path,
/// the end of its path, or one of its own ids. A unit that only mentions an id, as a ledger does, does not count.
fn meets(result: &UnitResult, line: &str) -> bool {
    if let Some(format) = Format::ALL.into_iter().find(|format| format.name() == line) {
        return result.format == Some(format);
    }
    let plain = line.trim_start_matches("./").trim_end_matches('/');
    let path = result.path.trim_start_matches("./").trim_end_matches('/');
    let ends = |end: &str| {
        let rest = path.strip_suffix(end);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    // A producer chooses ids freely, so one that looks like a path does not count.
    ends(plain) || (!line.contains('/') && result.identity.ids.iter().any(|id| id == line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::definition::Identity;

    fn found(path: &str, format: Format, id: &str, outcome: Option<Outcome>) -> UnitResult {
        UnitResult {
            path: path.to_owned(),
            raw_path: None,
            format: Some(format),
            verdict: Verdict::Valid,
            identity: Identity {
                ids: vec![id.to_owned()],
                result: outcome,
                ..Identity::default()
            },
        }
    }

    fn names(missing: Vec<UnitResult>) -> Vec<String> {
        missing.into_iter().map(|result| result.path).collect()
    }

    #[test]
    fn demands_are_met_only_by_a_whole_path_id_or_format() {
        let results = [
            found("in/a.zip!/runs/first", Format::RunBundle, "first", None),
            found("./in/b", Format::Pack, "run_1", Some(Outcome::Accepted)),
        ];
        let demands = Demands::default()
            .expecting("# the list\n\nruns/first\nin/b/\nrun_1\npack\nun_1\nirst\nreceipt\nin/c\n")
            .unwrap();
        let missing = names(demands.missing_from(&results));
        assert_eq!(missing, ["un_1", "irst", "receipt", "in/c"]);
        let demands = Demands::default()
            .expecting_format(Format::Pack)
            .expecting_format(Format::Receipt);
        assert_eq!(names(demands.missing_from(&results)), ["receipt"]);
    }

    #[test]
    fn demands_are_not_met_by_what_was_not_checked() {
        let lost = UnitResult::not_checked("a", Some(Format::Pack), "no permission");
        let demands = Demands::default().expecting("a\npack").unwrap();
        assert_eq!(names(demands.missing_from(&[lost])), ["a", "pack"]);
    }

    #[test]
    fn demands_for_a_format_are_not_met_by_a_path_of_its_name_nor_vice_versa() {
        let patch = [found("in/pack", Format::Patch, "pack", None)];
        let pack = [found("in/run", Format::Pack, "", None)];
        let named = Demands::default().expecting("pack").unwrap();
        assert_eq!(names(named.missing_from(&patch)), ["pack"]);
        assert_eq!(names(named.missing_from(&pack)), [""; 0]);
        let path = Demands::default().expecting("./pack").unwrap();
        assert_eq!(names(path.missing_from(&patch)), [""; 0]);
        assert_eq!(names(path.missing_from(&pack)), ["./pack"]);
    }

    #[test]
    fn demands_from_a_list_without_lines_are_an_error() {
        for lines in ["", "\n", "# only a comment\n"] {
            assert_eq!(Demands::default().expecting(lines), Err(NothingExpected));
        }
    }

    #[test]
    fn demands_for_an_accepted_run_refuse_other_runs() {
        let demands = Demands::default().expecting_accepted(true);
        let accepted = found("a", Format::Pack, "", Some(Outcome::Accepted));
        let rejected = found("b", Format::Pack, "", Some(Outcome::NotAccepted));
        assert!(
            demands
                .missing_from(std::slice::from_ref(&accepted))
                .is_empty()
        );
        assert_eq!(
            names(demands.missing_from(&[accepted.clone(), rejected])),
            ["b"]
        );
        let recorded = found("r", Format::RunBundle, "", Some(Outcome::Succeeded));
        let failed = found("f", Format::RunBundle, "", Some(Outcome::Failed));
        assert_eq!(
            names(demands.missing_from(&[accepted, recorded, failed])),
            ["f"]
        );
        assert_eq!(names(demands.missing_from(&[])), ["pack"]);
    }

    #[test]
    fn demands_for_an_accepted_run_refuse_failures_of_every_format() {
        let demands = Demands::default().expecting_accepted(true);
        let accepted = found("a", Format::Pack, "", Some(Outcome::Accepted));
        let bare = found("p", Format::Pack, "", None);
        assert_eq!(names(demands.missing_from(&[bare])), ["p"]);
        for format in [Format::Redacted, Format::Receipt, Format::Ledger] {
            for outcome in [
                Outcome::NotAccepted,
                Outcome::Refused,
                Outcome::Failed,
                Outcome::Unknown,
            ] {
                let other = found("o", format, "", Some(outcome));
                let missing = demands.missing_from(&[accepted.clone(), other]);
                assert_eq!(names(missing), ["o"], "{format:?} {outcome:?}");
            }
            for outcome in [None, Some(Outcome::Accepted), Some(Outcome::Succeeded)] {
                let other = found("o", format, "", outcome);
                let missing = demands.missing_from(&[accepted.clone(), other]);
                assert_eq!(names(missing), [""; 0], "{format:?} {outcome:?}");
            }
        }
    }

    #[test]
    fn demands_for_an_id_are_not_met_by_mentions_nor_demands_for_a_path_by_ids() {
        let mut ledger = found("ledger.jsonl", Format::Ledger, "", None);
        ledger.identity.about = vec!["run_1".to_owned()];
        let posing = found("bag", Format::Bag, "runs/first", None);
        let demands = Demands::default().expecting("run_1\nruns/first\n").unwrap();
        assert_eq!(
            names(demands.missing_from(&[ledger, posing])),
            ["run_1", "runs/first"]
        );
    }
}
