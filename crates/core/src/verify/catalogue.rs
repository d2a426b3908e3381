//! The rules as a catalogue: for `runseal rules`, and as the reference page `docs/rules.md`.

use std::fmt::Write as _;

use super::rule::{Level, RuleInfo};
use crate::canon::Value;
use crate::formats::Format;

/// One line a rule, grouped by format.
pub fn render_list(rules: &[&RuleInfo]) -> String {
    let mut text = String::new();
    for format in Format::ALL {
        let of_format = rules.iter().filter(|rule| rule.format == format);
        for (at, rule) in of_format.enumerate() {
            if at == 0 {
                // Writing into a string cannot fail.
                let _ = writeln!(text, "{}", format.title());
            }
            let strict = if rule.level == Level::Strict {
                " (strict)"
            } else {
                ""
            };
            let _ = writeln!(
                text,
                "  {:<7} {}{strict}  [{}]",
                rule.id, rule.title, rule.section
            );
        }
    }
    text
}

/// All there is to say about one rule.
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

/// The rules as JSON.
pub fn render_json(rules: &[&RuleInfo]) -> Value {
    Value::array(rules.iter().map(|rule| {
        Value::object([
            ("id", rule.id),
            ("format", rule.format.name()),
            ("title", rule.title),
            ("section", rule.section),
            ("level", level_name(rule.level)),
            ("explanation", rule.explanation),
        ])
    }))
}

/// The reference page.
pub fn render_markdown(rules: &[&RuleInfo]) -> String {
    let mut text = String::from(
        "# Rules\n\n\
         <!-- Made by `runseal rules --format markdown`; a test fails when it is stale. -->\n\n\
         Every rule that verification checks. A rule is *passed*, *failed*, *not applicable* \
         (there was nothing it could apply to) or *not run* (what it needs is missing); a \
         report is valid only if every required rule was run and passed, or had nothing to \
         apply to. Rules marked strict are checked with `--strict`.\n",
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
            let strict = if rule.level == Level::Strict {
                " (strict)"
            } else {
                ""
            };
            let _ = write!(
                text,
                "\n### {}: {}{strict}\n\n{}\n\nFrom {}.\n",
                rule.id, rule.title, rule.explanation, rule.section
            );
        }
    }
    text
}

const fn level_name(level: Level) -> &'static str {
    match level {
        Level::Must => "must",
        Level::Strict => "strict",
    }
}

const fn when(level: Level) -> &'static str {
    match level {
        Level::Must => "always",
        Level::Strict => "with --strict",
    }
}
