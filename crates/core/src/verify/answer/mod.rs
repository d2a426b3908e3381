//! The answers of `verify`: one survey as text for people, JSON, SARIF 2.1.0 and JUnit XML.
//!
//! All pure: the same survey gives the same bytes.

mod human;
mod junit;
mod sarif;

pub use human::render_survey_human;
pub use junit::render_survey_junit;
pub use sarif::render_survey_sarif;

use super::finding::Finding;
use super::rule::RuleInfo;
use super::survey::{Checked, NO_ACCESS, Survey, Verdict};
use crate::canon::Value;
use crate::formats::{Format, all_rules};

/// What `format` says where it is not known.
const UNKNOWN: &str = "unknown";

fn format_name(result: &Checked) -> &'static str {
    result.format.map_or(UNKNOWN, Format::name)
}

/// What there is to know about the rule of a finding; findings about what it came in are of the
/// archive's rules.
fn rule_of(format: Option<Format>, rule_id: &str) -> Option<&'static RuleInfo> {
    let formats = [format, Some(Format::Archive)];
    formats.into_iter().flatten().find_map(|format| {
        all_rules()
            .into_iter()
            .find(|rule| rule.format == format && rule.id == rule_id)
    })
}

/// `{"checked","invalid","not_checked","ok","results":[{"format","ok","path","violations"}]}`,
/// sorted by path.
pub fn render_survey_json(survey: &Survey) -> Value {
    let mut object = Value::object([("checked", survey.checked() as u64)]);
    object.insert("invalid", survey.invalid() as u64);
    object.insert("not_checked", survey.not_checked() as u64);
    object.insert("ok", survey.outcome() == super::Outcome::Valid);
    object.insert(
        "results",
        Value::array(survey.results().iter().map(result_json)),
    );
    object
}

fn result_json(result: &Checked) -> Value {
    let violations = match &result.verdict {
        Verdict::Valid => Vec::new(),
        Verdict::Invalid { findings, .. } => findings.iter().map(violation_json).collect(),
        Verdict::NotChecked(why) => {
            vec![Value::object([
                ("rule_id", NO_ACCESS),
                ("message", why.as_str()),
            ])]
        }
    };
    let mut object = Value::object([
        ("format", format_name(result)),
        ("path", result.path.as_str()),
    ]);
    object.insert("ok", result.is_valid());
    object.insert("violations", Value::array(violations));
    object
}

fn violation_json(finding: &Finding) -> Value {
    let mut object = Value::object([
        ("rule_id", finding.rule_id),
        ("message", finding.message.as_str()),
    ]);
    if let Some(path) = &finding.path {
        object.insert("path", path.as_str());
    }
    object
}

#[cfg(test)]
mod tests;
