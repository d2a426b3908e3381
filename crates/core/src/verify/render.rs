//! Reports as JSON and as text for people. Pure: the same report gives the same bytes.

use std::fmt::Write as _;

use super::finding::Finding;
use super::report::{Report, RuleState};
use crate::canon::Value;
use crate::hidden::one_line;

/// Renders `{"ok":true}`, or `{"ok":false,"violations":[…]}` with each finding's rule_id, path and
/// message (002 §7), and its line and JSON Pointer if known.
pub fn render_json(report: &Report) -> Value {
    let mut object = Value::object([("ok", report.is_valid())]);
    if !report.is_valid() {
        object.insert("violations", violations_json(report.findings()));
    }
    object
}

/// Renders findings as the list `violations` of printed reports.
pub fn violations_json(findings: &[Finding]) -> Value {
    Value::array(findings.iter().map(finding_json))
}

fn finding_json(finding: &Finding) -> Value {
    let mut object = Value::object([
        ("rule_id", finding.rule_id),
        ("message", finding.message.as_str()),
    ]);
    if let Some(path) = finding.path() {
        object.insert("path", path);
    }
    if let Some(path) = finding.place.path() {
        object.insert("pointer", path.to_pointer());
    }
    if let Some(line) = finding.place.line_number() {
        object.insert("line", u64::from(line));
    }
    object
}

/// Renders for people what failed and where, what could not be checked, and the verdict.
pub fn render_human(report: &Report, subject: &str) -> String {
    let mut text = String::new();
    let verdict = if report.is_valid() {
        "valid"
    } else {
        "INVALID"
    };
    // Writing into a string cannot fail.
    let subject = one_line(subject);
    let _ = writeln!(text, "{subject}: {} is {verdict}", report.format().title());
    for result in report.results() {
        if result.state == RuleState::Failed {
            let _ = writeln!(
                text,
                "  {} {} ({})",
                result.rule.id, result.rule.title, result.rule.section
            );
        }
        for finding in report
            .findings()
            .iter()
            .filter(|f| f.rule_id == result.rule.id)
        {
            let place = finding
                .path()
                .map(|path| format!("{path}: "))
                .unwrap_or_default();
            let _ = writeln!(
                text,
                "    {}",
                one_line(&format!("{place}{}", finding.message))
            );
        }
    }
    for result in report.results().iter().filter(|result| result.required) {
        if let RuleState::NotRun(because) = result.state {
            let _ = writeln!(text, "  {} was not checked: {because}", result.rule.id);
        }
    }
    let count = |wanted: fn(RuleState) -> bool| {
        report
            .results()
            .iter()
            .filter(|result| result.required && wanted(result.state))
            .count()
    };
    let _ = writeln!(
        text,
        "  rules: {} passed, {} failed, {} not applicable, {} not run",
        count(|state| state == RuleState::Passed),
        count(|state| state == RuleState::Failed),
        count(|state| matches!(state, RuleState::NotApplicable(_))),
        count(|state| matches!(state, RuleState::NotRun(_))),
    );
    if let Some(first) = report.findings().first() {
        let _ = writeln!(
            text,
            "hint: `runseal rules {}` explains the first of these",
            first.rule_id
        );
    }
    text
}
