//! For people: what failed, where, expected and actual, what it means, and what to do.

use std::fmt::Write as _;

use super::{rule_of, unlisted_note};
use crate::formats::Format;
use crate::verify::finding::Finding;
use crate::verify::render::one_line;
use crate::verify::survey::{
    Checked, EXPECTED, NO_ACCESS, NO_FORMAT, NO_JSON, NO_LOG, NO_SIGNATURE, NO_TRUST, Survey,
    Verdict,
};

/// Valid things are listed one by one up to this number.
const FEW: usize = 20;
/// Findings of one rule that are shown.
const SHOWN: usize = 10;

/// The survey as text. Findings beyond the tenth of a rule are counted, not shown.
pub fn render_survey_human(survey: &Survey) -> String {
    let mut text = String::new();
    let few = survey.results().len() <= FEW;
    for result in survey.results() {
        let path = one_line(&result.path);
        let is_refused = result.is_valid() && !survey.is_ok(result);
        let answers = answers(survey, result);
        match &result.verdict {
            Verdict::Valid if is_refused => line(
                &mut text,
                0,
                &format!(
                    "REFUSED  {path} ({}{}){answers}",
                    title(result),
                    ended(result)
                ),
            ),
            Verdict::Valid if few => line(
                &mut text,
                0,
                &format!(
                    "ok       {path} ({}{}){answers}",
                    title(result),
                    ended(result)
                ),
            ),
            Verdict::Valid => {}
            Verdict::Invalid { findings, not_run } => {
                line(
                    &mut text,
                    0,
                    &format!(
                        "INVALID  {path} ({}{}){answers}",
                        title(result),
                        ended(result)
                    ),
                );
                write_findings(&mut text, result.format, findings);
                for (rule, because) in not_run {
                    line(&mut text, 1, &format!("{rule} was not checked: {because}"));
                }
            }
            Verdict::NotChecked(reason) => {
                line(
                    &mut text,
                    0,
                    &format!("NOT CHECKED  {path}: {}", one_line(reason)),
                );
            }
        }
        if few || !survey.is_ok(result) {
            for (place, reason) in result.identity.withheld.iter().take(MOST_PLACES) {
                let content = format!("withheld: {place}: {reason}");
                line(&mut text, 1, &one_line(&content));
            }
            let more = result.identity.withheld.len().saturating_sub(MOST_PLACES);
            if more > 0 {
                line(&mut text, 1, &format!("withheld: {more} more places"));
            }
            write_authenticity(&mut text, survey, result);
        }
    }
    line(&mut text, 0, &summary(survey));
    if let Some(words) = survey.level().unchecked_words() {
        line(&mut text, 0, words);
    }
    text
}

/// Withheld places that are named one by one.
const MOST_PLACES: usize = 100;

/// The three answers in a few words, where signatures were looked for.
fn answers(survey: &Survey, result: &Checked) -> String {
    let Some(found) = survey.authenticity_of(result) else {
        return String::new();
    };
    let intact = if result.is_valid() {
        "intact"
    } else {
        "NOT intact"
    };
    let trusted = match &found.trusted {
        None => "",
        Some(trust) if trust.is_trusted => ", trusted",
        Some(_) => ", NOT trusted",
    };
    format!(": {intact}, {}{trusted}", found.signed.phrase())
}

/// Who signed, when by whose clock, and what the policy says; nothing where there is neither
/// signature nor policy.
fn write_authenticity(text: &mut String, survey: &Survey, result: &Checked) {
    let Some(found) = survey.authenticity_of(result) else {
        return;
    };
    if found.signatures.is_empty() && found.trusted.is_none() && found.logged.is_none() {
        return;
    }
    for content in found.lines() {
        line(text, 1, &one_line(&content));
    }
}

/// How what it records ended: a valid record of a failed run is still of a failed run.
fn ended(result: &Checked) -> String {
    let outcome = result.identity.outcome.as_deref();
    outcome.map_or(String::new(), |outcome| format!(", {}", one_line(outcome)))
}

fn title(result: &Checked) -> &'static str {
    result.format.map_or("unknown format", Format::title)
}

fn write_findings(text: &mut String, format: Option<Format>, findings: &[Finding]) {
    for of_rule in findings.chunk_by(|a, b| a.rule_id == b.rule_id) {
        let id = of_rule[0].rule_id;
        let rule = rule_of(format, id);
        match rule {
            Some(rule) => line(text, 1, &format!("{id}: {} ({})", rule.title, rule.section)),
            None => line(text, 1, &format!("{id}: {}", meaning_of(id).0)),
        }
        for finding in of_rule.iter().take(SHOWN) {
            write_finding(text, finding);
        }
        if of_rule.len() > SHOWN {
            line(text, 2, &format!("… and {} more", of_rule.len() - SHOWN));
        }
        match rule {
            Some(rule) => line(text, 2, &format!("means: {}", rule.explanation)),
            None => line(text, 2, &format!("hint: {}", meaning_of(id).1)),
        }
    }
    if let Some(advice) = advice(format, findings) {
        line(text, 1, &format!("hint: {advice}"));
    }
}

fn write_finding(text: &mut String, finding: &Finding) {
    let place = named_place(finding);
    line(
        text,
        2,
        &one_line(&format!("{place}: {}", finding.headline())),
    );
    if let Some(difference) = &finding.difference {
        let values = [
            ("expected ", &difference.expected),
            ("actual   ", &difference.actual),
        ];
        for (label, value) in values {
            line(text, 3, &one_line(&format!("{label} {value}")));
        }
    }
}

/// The place under its name, with the line where it is known and the name does not say it.
pub(super) fn named_place(finding: &Finding) -> String {
    let label = finding.path().unwrap_or("the whole");
    match (finding.place.span(), finding.place.line_number()) {
        (Some(span), _) => format!("{label} ({})", span.start),
        (None, Some(line)) if finding.place.file_name().is_some() => {
            format!("{label} (line {line})")
        }
        _ => label.to_owned(),
    }
}

/// What to do about broken rules.
fn advice(format: Option<Format>, findings: &[Finding]) -> Option<String> {
    if findings
        .iter()
        .all(|finding| finding.rule_id.starts_with("AR"))
    {
        let again = "get the archive again from whoever made it, or pack the folder anew";
        return Some(again.to_owned());
    }
    if findings.iter().any(|finding| finding.rule_id == EXPECTED) {
        return None;
    }
    let title = format?.title();
    Some(format!(
        "do not rely on this {title}; ask its maker for it, or make it again and compare with \
         `runseal diff`"
    ))
}

/// What stands behind an id that belongs to no table, and what to do.
pub(super) fn meaning_of(id: &str) -> (&'static str, &'static str) {
    match id {
        NO_JSON => (
            "the text is no strict JSON",
            "get the file again; `runseal canon FILE` shows the same error with its place",
        ),
        NO_FORMAT => (
            "it is of no known format, or of several",
            "name the folder or file itself; `runseal verify --help` lists the formats",
        ),
        NO_SIGNATURE => (
            "a signature is demanded and none holds",
            "ask its maker to sign it (`runseal sign`)",
        ),
        NO_TRUST => (
            "the trust policy does not accept it",
            "`runseal trust explain POLICY PATH` says which line decided and why",
        ),
        NO_LOG => (
            "the log does not hold it",
            "ask its maker to log it (`runseal log append`), or for a proof (`runseal log prove`)",
        ),
        EXPECTED => (
            "something that must be there is not",
            "ask whoever handed this over for what is missing",
        ),
        NO_ACCESS => (
            "it could not be read",
            "check the name and the rights, and run again",
        ),
        _ => ("a rule is broken", "`runseal rules` lists the rules"),
    }
}

fn summary(survey: &Survey) -> String {
    let checked = survey.checked();
    let valid = checked - survey.invalid() - survey.refused();
    let mut text = format!(
        "{checked} checked: {valid} valid, {} invalid",
        survey.invalid()
    );
    if survey.refused() > 0 {
        let _ = write!(text, "; {} REFUSED", survey.refused());
    }
    if survey.not_checked() > 0 {
        let _ = write!(text, "; {} NOT CHECKED", survey.not_checked());
    }
    if let Some(note) = unlisted_note(survey) {
        let _ = write!(text, "; {note}");
    }
    if survey.passed_over() > 0 {
        let _ = write!(text, "; {} other files passed over", survey.passed_over());
    }
    text
}

fn line(text: &mut String, depth: usize, content: &str) {
    // Writing into a string cannot fail.
    let _ = writeln!(text, "{}{content}", "  ".repeat(depth));
}
