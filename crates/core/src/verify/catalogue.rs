//! The rules as a catalogue, for `runseal rules` and the reference page `docs/rules.md`.

use std::fmt::Write as _;

use super::rule::{Level, RuleInfo};
use crate::canon::Value;
use crate::formats::Format;

/// Renders one line per rule, grouped by format.
pub fn render_list(rules: &[&RuleInfo]) -> String {
    let mut text = String::new();
    for format in Format::ALL {
        let of_format = rules.iter().filter(|rule| rule.format == format);
        for (at, rule) in of_format.enumerate() {
            if at == 0 {
                // Writing into a string cannot fail.
                let _ = writeln!(text, "{}", format.title());
            }
            let level = mark(rule.level);
            let _ = writeln!(
                text,
                "  {:<7} {}{level}  [{}]",
                rule.id, rule.title, rule.section
            );
        }
    }
    text
}

/// Renders everything about one rule.
pub fn explain(rule: &RuleInfo) -> String {
    format!(
        "{} {}\n  format:  {}\n  section: {}\n  checked: {}\n\n{}\n",
        rule.id,
        rule.title,
        rule.format.title(),
        rule.section,
        when(rule.level),
        rule.explanation
    )
}

/// Renders the rules as JSON.
pub fn render_json(rules: &[&RuleInfo]) -> Value {
    Value::array(rules.iter().map(|rule| {
        Value::object([
            ("id", rule.id),
            ("format", rule.format.name()),
            ("title", rule.title),
            ("section", rule.section),
            ("level", rule.level.name()),
            ("explanation", rule.explanation),
        ])
    }))
}

/// Renders the reference page.
pub fn render_markdown(rules: &[&RuleInfo]) -> String {
    let mut text = String::from(
        "# Rules\n\n\
         <!-- Made by `runseal rules --format markdown`; a test fails when it is stale. -->\n\n\
         Every rule that verification checks. A rule is *passed*, *failed*, *not applicable* \
         (there was nothing it could apply to) or *not run* (what it needs is missing); a \
         report is valid only if every required rule was run and passed, or had nothing to \
         apply to. A rule is of one of three levels. *Document*: the format's document \
         demands it; always checked. *Integrity*: what can be computed again or is said twice \
         must agree; checked by `runseal verify`, and by the format's own command with \
         `--strict`. *Form*: stored canonically, in a job bundle with nothing unknown; checked \
         with `--strict`.\n",
    );
    for format in Format::ALL {
        let mut of_format = rules.iter().filter(|rule| rule.format == format).peekable();
        if of_format.peek().is_none() {
            continue;
        }
        let mut title = format.title().to_owned();
        title[..1].make_ascii_uppercase();
        let _ = write!(text, "\n## {title}\n");
        for rule in of_format {
            let level = mark(rule.level);
            let _ = write!(
                text,
                "\n### {}: {}{level}\n\n{}\n\nFrom {}.\n",
                rule.id, rule.title, rule.explanation, rule.section
            );
        }
    }
    text
}

/// The suffix that marks a rule's level after its title; empty for rules of the document.
const fn mark(level: Level) -> &'static str {
    match level {
        Level::Document => "",
        Level::Integrity => " (integrity)",
        Level::Form => " (form)",
    }
}

const fn when(level: Level) -> &'static str {
    match level {
        Level::Document => "always",
        Level::Integrity => "by `runseal verify`, and with --strict by the format's own command",
        Level::Form => "with --strict",
    }
}
