//! The parts of the page, from top to bottom.

use std::fmt::Write as _;

use super::{FileLine, Page, escape, svg};
use crate::describe::{Description, Picture, Section};
use crate::verify::{Finding, Level, RuleInfo, RuleState};

/// Files that are listed; the rest is counted.
const FILES: usize = 2000;
/// Findings that are shown.
const FINDINGS: usize = 500;

// Writing into a string cannot fail; the results below are dropped for that reason.

pub(super) fn write_header(html: &mut String, page: &Page<'_>) {
    let description = page.description;
    let format = description.format.title();
    let headline = description.headline.as_deref().unwrap_or(format);
    let (class, word) = match page.is_valid() {
        true => ("good", "✓ valid"),
        false => ("bad", "✗ invalid"),
    };
    let count = |wanted: fn(RuleState) -> bool| {
        let results = page.report.results().iter();
        results
            .filter(|result| result.required && wanted(result.state))
            .count()
    };
    let _ = writeln!(
        html,
        "<header><div><div class=\"kind\">{}</div><h1>{}</h1><div class=\"path\">{}</div></div>\
         <div class=\"verdict\"><span class=\"badge {class}\" id=\"verdict\">{word}</span>\
         <div class=\"counts\">{} rules passed, {} failed, {} not applicable, {} not run{}</div>\
         {}</div></header>",
        escape(format),
        escape(headline),
        escape(page.path),
        count(|state| state == RuleState::Passed),
        count(|state| state == RuleState::Failed),
        count(|state| matches!(state, RuleState::NotApplicable(_))),
        count(|state| matches!(state, RuleState::NotRun(_))),
        if page.is_strict { " · strict" } else { "" },
        signed_line(page),
    );
}

/// The second and third answer, below the first.
fn signed_line(page: &Page<'_>) -> String {
    let Some(found) = page.authenticity else {
        return String::new();
    };
    let trusted = match &found.trusted {
        None => "trust not asked",
        Some(trust) if trust.is_trusted => "trusted",
        Some(_) => "NOT trusted",
    };
    let signed = escape(found.signed.phrase());
    format!("<div class=\"counts\" id=\"signed\">{signed} · {trusted}</div>")
}

/// Who signed, when by whose clock, and what the policy says.
pub(super) fn write_signatures(html: &mut String, page: &Page<'_>) {
    let Some(found) = page.authenticity else {
        return;
    };
    begin(html, "signatures long", "Who made it");
    html.push_str("<ul>");
    for line in found.lines() {
        let _ = write!(html, "<li>{}</li>", escape(&line));
    }
    html.push_str("</ul>");
    end(html);
}

fn begin(html: &mut String, class: &str, heading: &str) {
    let _ = writeln!(
        html,
        "<section class=\"{class}\"><h2>{}</h2>",
        escape(heading)
    );
}

fn end(html: &mut String) {
    html.push_str("</section>\n");
}

pub(super) fn write_violations(html: &mut String, page: &Page<'_>) {
    let findings: Vec<&Finding> = page.report.findings().iter().chain(page.wrapping).collect();
    if findings.is_empty() {
        return;
    }
    begin(
        html,
        "violations long",
        &format!("Violations ({})", findings.len()),
    );
    let info = |id: &str| {
        let of_format = page.report.results().iter().map(|result| result.rule);
        let of_archive = crate::formats::archive::RULES.iter().map(|rule| &rule.info);
        of_format.chain(of_archive).find(|rule| rule.id == id)
    };
    for finding in findings.iter().take(FINDINGS) {
        write_finding(html, finding, info(finding.rule_id));
    }
    if findings.len() > FINDINGS {
        let more = findings.len() - FINDINGS;
        let _ = write!(html, "<div class=\"finding\">… and {more} more</div>");
    }
    end(html);
}

fn write_finding(html: &mut String, finding: &Finding, rule: Option<&RuleInfo>) {
    let title = rule.map_or("", |rule| rule.title);
    let _ = write!(
        html,
        "<div class=\"finding\"><div><span class=\"state failed\">{}</span> <b>{}</b></div>",
        escape(finding.rule_id),
        escape(title)
    );
    if let Some(path) = finding.path() {
        let _ = write!(html, "<div class=\"where\">{}</div>", escape(path));
    }
    match &finding.difference {
        Some(difference) => {
            let _ = write!(
                html,
                "<div>{}</div><div class=\"pair\"><b>expected</b><span>{}</span>\
                 <b>actual</b><span class=\"is\">{}</span></div>",
                escape(finding.headline()),
                escape(&difference.expected),
                escape(&difference.actual)
            );
        }
        None => {
            let _ = write!(html, "<div>{}</div>", escape(&finding.message));
        }
    }
    if let Some(rule) = rule {
        let _ = write!(
            html,
            "<div class=\"means\">{}</div>",
            escape(rule.explanation)
        );
    }
    html.push_str("</div>\n");
}

/// Whether a text is a hash or an id, which reads better in a fixed width.
fn is_code(text: &str) -> bool {
    let digits = text.strip_prefix("sha256:").unwrap_or(text);
    let is_hex = digits.len() >= 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex || (text.contains('_') && !text.contains(' ')) || text.starts_with('{')
}

pub(super) fn write_facts(html: &mut String, description: &Description) {
    if description.facts.is_empty() {
        return;
    }
    begin(html, "facts", "What it is");
    html.push_str("<dl>");
    for fact in &description.facts {
        let class = if is_code(&fact.value) {
            " class=\"mono\""
        } else {
            ""
        };
        let _ = write!(
            html,
            "<dt>{}</dt><dd{class}>{}</dd>",
            escape(&fact.label),
            escape(&fact.value)
        );
    }
    html.push_str("</dl>");
    end(html);
}

pub(super) fn write_picture(html: &mut String, heading: &str, picture: &Picture) {
    begin(html, "picture", heading);
    html.push_str("<div class=\"scroll\">");
    match picture {
        Picture::Tree(root) => svg::write_tree(html, root),
        Picture::Flow(lanes) => svg::write_flow(html, lanes),
    }
    html.push_str("</div>");
    end(html);
}

pub(super) fn write_timeline(html: &mut String, description: &Description) {
    if description.timeline.is_empty() {
        return;
    }
    begin(html, "timeline", "Timeline");
    html.push_str("<div class=\"scroll\">");
    svg::write_timeline(html, &description.timeline);
    html.push_str("</div>");
    end(html);
}

pub(super) fn write_section(html: &mut String, section: &Section) {
    begin(
        html,
        "table long",
        &format!("{} ({})", section.title, section.rows.len()),
    );
    let _ = write!(html, "<div class=\"scroll\"><table><thead><tr>");
    for column in &section.columns {
        let _ = write!(html, "<th>{}</th>", escape(column));
    }
    html.push_str("</tr></thead><tbody>\n");
    for row in &section.rows {
        html.push_str("<tr>");
        for cell in row {
            let class = match () {
                () if is_code(cell) => " class=\"mono\"",
                () if !cell.is_empty() && cell.bytes().all(|b| b.is_ascii_digit()) => {
                    " class=\"number\""
                }
                () => "",
            };
            let _ = write!(html, "<td{class}>{}</td>", escape(cell));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>");
    end(html);
}

pub(super) fn write_files(html: &mut String, files: &[FileLine]) {
    if files.is_empty() {
        return;
    }
    begin(html, "files long", &format!("Files ({})", files.len()));
    html.push_str(
        "<div class=\"scroll\"><table><thead><tr><th>file</th><th>bytes</th><th>SHA-256 of its \
         bytes</th></tr></thead><tbody>\n",
    );
    for file in files.iter().take(FILES) {
        let digest = match (file.sha256, file.kind) {
            (Some(digest), _) => digest.to_string(),
            (None, Some(kind)) => kind.to_owned(),
            (None, None) => "not read".to_owned(),
        };
        let bytes = match file.kind {
            None => file.bytes.to_string(),
            Some(_) => String::new(),
        };
        let _ = writeln!(
            html,
            "<tr><td class=\"mono\">{}</td><td class=\"number\">{bytes}</td>\
             <td class=\"mono\">{}</td></tr>",
            escape(&file.path),
            escape(&digest)
        );
    }
    html.push_str("</tbody></table></div>");
    if files.len() > FILES {
        let _ = write!(html, "<p>… and {} more</p>", files.len() - FILES);
    }
    end(html);
}

pub(super) fn write_rules(html: &mut String, page: &Page<'_>) {
    begin(html, "rules long", "Every rule and its state");
    html.push_str(
        "<div class=\"scroll\"><table><thead><tr><th>rule</th><th>state</th><th>what must \
         hold</th><th>document</th></tr></thead><tbody>\n",
    );
    for result in page.report.results() {
        let (class, why) = match result.state {
            RuleState::Passed => ("passed", None),
            RuleState::Failed => ("failed", None),
            RuleState::NotApplicable(why) => ("na", Some(why)),
            RuleState::NotRun(why) => ("open", Some(why)),
        };
        let why = why.map(|why| format!("<div class=\"means\">{}</div>", escape(why)));
        let level = match result.rule.level {
            Level::Document => "",
            Level::Integrity => " (integrity)",
            Level::Form => " (form)",
        };
        let _ = writeln!(
            html,
            "<tr><td class=\"mono\">{}</td><td><span class=\"state {class}\">{}</span></td>\
             <td>{}{level}{}</td><td>{}</td></tr>",
            escape(result.rule.id),
            result.state.name(),
            escape(result.rule.title),
            why.unwrap_or_default(),
            escape(result.rule.section)
        );
    }
    html.push_str("</tbody></table></div>");
    end(html);
}

pub(super) fn write_footer(html: &mut String, page: &Page<'_>) {
    let strict = if page.is_strict { " --strict" } else { "" };
    let _ = writeln!(
        html,
        "<footer>Made by runseal {} from the files alone. This page is no proof by itself: \
         <span class=\"mono\">runseal verify{strict} PATH</span> checks the files again, \
         offline.</footer>",
        env!("CARGO_PKG_VERSION")
    );
}
