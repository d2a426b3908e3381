//! The answers of `verify` for machines: a survey as JSON, SARIF 2.1.0 or JUnit XML. `runseal-report`
//! has those for people.
//!
//! All pure: the same survey gives the same bytes.

mod junit;
mod sarif;

pub use junit::render_survey_junit;
pub use sarif::render_survey_sarif;

use super::finding::Finding;
use super::render::violations_json;
use super::rule::{Level, RuleInfo};
use super::survey::{
    EXPECTED, NO_ACCESS, NO_FORMAT, NO_JSON, NO_LOG, NO_SIGNATURE, NO_TRUST, Survey, UnitResult,
    Verdict,
};
use crate::canon::Value;
use crate::formats::{Format, all_rules};
use crate::limits::FINDINGS_A_SURVEY;

/// The name of an unknown format.
const UNKNOWN: &str = "unknown";

fn format_name(result: &UnitResult) -> &'static str {
    result.format.map_or(UNKNOWN, Format::name)
}

/// Finds the rule of a finding. Findings about the archive around a unit are of the archive's rules.
pub fn rule_of(format: Option<Format>, rule_id: &str) -> Option<&'static RuleInfo> {
    let formats = [format, Some(Format::Archive)];
    formats.into_iter().flatten().find_map(|format| {
        all_rules()
            .into_iter()
            .find(|rule| rule.format == format && rule.id == rule_id)
    })
}

/// Everything wrong with a result: what the rules found, and the demands that it does not meet.
fn all_findings(survey: &Survey, result: &UnitResult) -> Vec<Finding> {
    let mut findings = result.findings().to_vec();
    findings.extend(survey.refusals_of(result));
    findings
}

/// Says how many findings are not listed because of which limit; `None` if all are.
pub fn unlisted_note(survey: &Survey) -> Option<String> {
    (survey.unlisted() > 0).then(|| {
        format!(
            "{} more findings not listed: the limit is {FINDINGS_A_SURVEY}",
            survey.unlisted()
        )
    })
}

/// The place's label, with the line if it is known and not part of the label.
pub fn named_place(finding: &Finding) -> String {
    let label = finding.path().unwrap_or("the whole");
    match (finding.place.span(), finding.place.line_number()) {
        (Some(span), _) => format!("{label} ({})", span.start),
        (None, Some(line)) if finding.place.file_name().is_some() => {
            format!("{label} (line {line})")
        }
        _ => label.to_owned(),
    }
}

/// What a rule id that is in no table means, and what to do.
pub fn meaning_of(id: &str) -> (&'static str, &'static str) {
    match id {
        NO_JSON => (
            "the text is not strict JSON",
            "get the file again; `runseal canon FILE` shows the same error with its place",
        ),
        NO_FORMAT => (
            "it is of no known format, or of several",
            "`runseal verify --help` lists the formats; if it is part of a bundle, name the bundle's folder",
        ),
        NO_SIGNATURE => (
            "a signature is demanded and none is valid",
            "ask its maker to sign it (`runseal sign`)",
        ),
        NO_TRUST => (
            "the trust policy does not accept it",
            "`runseal trust explain POLICY PATH` says which line decided and why",
        ),
        NO_LOG => (
            "it is not in the log",
            "ask its maker to log it (`runseal log append`), or for a proof (`runseal log prove`)",
        ),
        EXPECTED => (
            "something that is expected is missing",
            "ask whoever handed this over for what is missing",
        ),
        NO_ACCESS => (
            "it could not be read",
            "check the name and the permissions, and run again",
        ),
        _ => ("a rule is broken", "`runseal rules` lists the rules"),
    }
}

/// Renders `{"checked","invalid","not_checked","ok","level","unchecked","results":[{"format","ok",
/// "path","outcome","violations"}]}`, sorted by path. `unchecked` lists the levels that were not asked
/// for.
pub fn render_survey_json(survey: &Survey) -> Value {
    let mut object = Value::object([("checked", survey.checked() as u64)]);
    object.insert("invalid", (survey.invalid() + survey.refused()) as u64);
    // The documented shape lacks these three members; each appears only if there is something to count.
    if survey.not_checked() > 0 {
        object.insert("not_checked", survey.not_checked() as u64);
    }
    if survey.passed_over() > 0 {
        object.insert("passed_over", survey.passed_over());
    }
    if survey.unlisted() > 0 {
        object.insert("unlisted_violations", survey.unlisted());
    }
    object.insert("ok", survey.outcome() == super::Outcome::Valid);
    object.insert("level", survey.level().name());
    object.insert("unchecked", Value::array(unchecked(survey)));
    object.insert(
        "results",
        Value::array(
            survey
                .results()
                .iter()
                .map(|result| result_json(survey, result)),
        ),
    );
    object
}

/// The names of the levels that were not asked for.
fn unchecked(survey: &Survey) -> impl Iterator<Item = &'static str> {
    let asked = survey.level();
    let levels = Level::ALL.into_iter().filter(move |level| *level > asked);
    levels.map(Level::name)
}

fn result_json(survey: &Survey, result: &UnitResult) -> Value {
    let violations = match &result.verdict {
        Verdict::NotChecked(reason) => Value::array([Value::object([
            ("rule_id", NO_ACCESS),
            ("message", reason.as_str()),
        ])]),
        _ => violations_json(&all_findings(survey, result)),
    };
    let mut object = Value::object([
        ("format", format_name(result)),
        ("path", result.path.as_str()),
    ]);
    object.insert("ok", survey.is_ok(result));
    if let Some(outcome) = &result.identity.outcome {
        object.insert("outcome", outcome.as_str());
    }
    if !result.identity.withheld.is_empty() {
        let places = result.identity.withheld.iter().map(|(place, reason)| {
            Value::object([("place", place.as_str()), ("reason", reason.as_str())])
        });
        object.insert("withheld", Value::array(places));
    }
    if !result.identity.not_captured.is_empty() {
        let gaps = result.identity.not_captured.iter().map(String::as_str);
        object.insert("not_captured", Value::array(gaps));
    }
    if !result.identity.caveats.is_empty() {
        let caveats = result.identity.caveats.iter().map(String::as_str);
        object.insert("caveats", Value::array(caveats));
    }
    object.insert("violations", violations);
    if let Some(authenticity) = survey.authenticity_of(result) {
        authenticity.add_to_json(&mut object);
    }
    object
}

#[cfg(test)]
mod tests;
