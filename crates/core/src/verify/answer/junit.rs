//! JUnit XML: one test case per unit, so that CI systems show them.

use std::fmt::Write as _;

use super::{format_name, named_place, rule_of, unchecked};
use crate::limits::FINDINGS_A_SURVEY;
use crate::verify::finding::Finding;
use crate::verify::survey::{NO_ACCESS, Survey, UnitResult, Verdict};

/// Renders the survey as JUnit XML. A unit that was not checked is an error, an invalid one a failure.
pub fn render_survey_junit(survey: &Survey) -> String {
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\"",
        survey.results().len(),
        survey.invalid() + survey.refused(),
        survey.not_checked()
    );
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing into a string cannot fail.
    let _ = writeln!(xml, "<testsuites name=\"runseal verify\" {counts}>");
    let _ = writeln!(
        xml,
        "  <testsuite name=\"runseal verify\" {counts} skipped=\"0\">"
    );
    let unchecked: Vec<_> = unchecked(survey).collect();
    let _ = writeln!(
        xml,
        "    <properties>\n      <property name=\"level\" value=\"{}\"/>\n      <property \
         name=\"unchecked\" value=\"{}\"/>\n    </properties>",
        survey.level().name(),
        unchecked.join(" ")
    );
    for result in survey.results() {
        write_case(&mut xml, survey, result);
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

fn write_case(xml: &mut String, survey: &Survey, result: &UnitResult) {
    let _ = write!(
        xml,
        "    <testcase classname=\"{}\" name=\"{}\"",
        escape(format_name(result)),
        escape(&result.path)
    );
    let refusals = survey.refusals_of(result);
    let properties = properties(survey, result);
    match &result.verdict {
        Verdict::Valid if refusals.is_empty() && properties.is_empty() => xml.push_str("/>\n"),
        Verdict::Valid => {
            let _ = writeln!(xml, ">{properties}");
            for refusal in &refusals {
                write_failure(xml, result, refusal);
            }
            xml.push_str("    </testcase>\n");
        }
        Verdict::Invalid { findings, not_run } => {
            let _ = writeln!(xml, ">{properties}");
            for finding in findings.iter().chain(&refusals) {
                write_failure(xml, result, finding);
            }
            for (rule, because) in not_run.iter().filter(|_| findings.is_empty()) {
                let message = format!("{rule} was not checked: {because}");
                let _ = writeln!(
                    xml,
                    "      <failure type=\"{rule}\" message=\"{}\"/>",
                    escape(&message)
                );
            }
            // All dropped because there are too many: still not a success.
            if findings.is_empty() && not_run.is_empty() {
                let message =
                    format!("its findings are not listed: the limit is {FINDINGS_A_SURVEY}");
                let _ = writeln!(xml, "      <failure type=\"LIMIT\" message=\"{message}\"/>");
            }
            xml.push_str("    </testcase>\n");
        }
        Verdict::NotChecked(reason) => {
            let message = escape(reason);
            let _ = writeln!(
                xml,
                ">\n      <error type=\"{NO_ACCESS}\" message=\"{message}\"/>\n    </testcase>"
            );
        }
    }
}

/// The second and third answer as properties of the test case.
fn properties(survey: &Survey, result: &UnitResult) -> String {
    let Some(found) = survey.authenticity_of(result) else {
        return String::new();
    };
    let mut properties = vec![("signed", found.signed.word().to_owned())];
    for signature in &found.signatures {
        properties.push(("signature", signature.sentence()));
    }
    if let Some(trust) = &found.trusted {
        properties.push(("trusted", trust.is_trusted.to_string()));
        properties.push(("trust", trust.sentence()));
    }
    let mut xml = String::from("\n      <properties>\n");
    for (name, value) in properties {
        let value = escape(&value);
        let _ = writeln!(xml, "        <property name=\"{name}\" value=\"{value}\"/>");
    }
    xml.push_str("      </properties>");
    xml
}

fn write_failure(xml: &mut String, result: &UnitResult, finding: &Finding) {
    let message = format!("{}: {}", named_place(finding), finding.message);
    let meaning = rule_of(result.format, finding.rule_id).map_or("", |rule| rule.explanation);
    let _ = writeln!(
        xml,
        "      <failure type=\"{}\" message=\"{}\">{}</failure>",
        escape(finding.rule_id),
        escape(&message),
        escape(meaning)
    );
}

/// Escapes markup and replaces characters that XML 1.0 does not allow.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => {
                let _ = write!(escaped, "&#{};", c as u32);
            }
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
