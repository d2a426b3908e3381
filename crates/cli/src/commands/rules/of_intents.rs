//! The rules for intents as people read them: for `runseal rules` and for the reference pages.

use std::fmt::Write as _;

use runseal_core::canon::Value;

use runseal_kernel::rules::{Rule, rule_set};

/// One line per rule.
pub fn render_list(rules: &[&Rule]) -> String {
    let mut text = String::from("intent\n");
    for rule in rules {
        // Writing into a string cannot fail.
        let _ = writeln!(
            text,
            "  {:<7} {}  [{}, {}]",
            rule.id,
            rule.title,
            rule.kind.name(),
            rule.severity.name()
        );
    }
    text
}

/// Everything about one rule.
pub fn explain(rule: &Rule) -> String {
    let mut text = format!(
        "{} {}\n  kind:     {}\n  severity: {}\n  matcher:  {}\n\n{}\n\n{}\n",
        rule.id,
        rule.title,
        rule.kind.name(),
        rule.severity.name(),
        format!("{:?}", rule.matcher).to_lowercase(),
        rule.explanation,
        rule.advice,
    );
    for (title, examples) in [("Flagged:", &rule.flags), ("Not flagged:", &rule.passes)] {
        let _ = writeln!(text, "\n{title}");
        for example in examples {
            let _ = writeln!(text, "  {}", shown(example));
        }
    }
    text
}

/// An example as it is shown; without its goal if only the constraints matter.
fn shown(example: &str) -> String {
    let plain = example.strip_prefix("Build it || ").unwrap_or(example);
    plain.replace(" || ", " / ")
}

/// The rules as JSON.
pub fn render_json(rules: &[&Rule]) -> Vec<Value> {
    let rule = |rule: &&Rule| {
        Value::object([
            ("id", rule.id.as_str()),
            ("format", "intent"),
            ("title", rule.title.as_str()),
            ("kind", rule.kind.name()),
            ("severity", rule.severity.name()),
            ("explanation", rule.explanation.as_str()),
            ("advice", rule.advice.as_str()),
        ])
    };
    rules.iter().map(rule).collect()
}

/// The rules as a section of a reference page.
pub fn render_markdown(rules: &[&Rule]) -> String {
    let mut text = String::from(
        "\n## Intent\n\nWhat `runseal lint` and `runseal transform` look for in an intent. *ask* makes a question, *note* is only reported.\n",
    );
    for rule in rules {
        let _ = write!(
            text,
            "\n### {}: {} ({}, {})\n\n{}\n\n{}\n",
            rule.id,
            rule.title,
            rule.kind.name(),
            rule.severity.name(),
            escape(&rule.explanation),
            rule.advice
        );
    }
    text
}

/// Text for Markdown: escapes what would end a table cell or start an HTML tag.
fn escape(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

/// The rules and profiles as the tables of `docs/kernel.md`.
pub fn render_tables() -> String {
    let set = rule_set();
    let mut text = String::from(
        "| rule | kind | severity | what it finds | for example |\n|---|---|---|---|---|\n",
    );
    for rule in &set.rules {
        let example = rule
            .flags
            .first()
            .map(|example| shown(example))
            .unwrap_or_default();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            rule.id,
            rule.kind.name(),
            rule.severity.name(),
            rule.title,
            escape(&example)
        );
    }
    text.push_str("\n| profile | asked for | when |\n|---|---|---|\n");
    for profile in &set.profiles {
        let names: Vec<&str> = set.required(profile).collect();
        let when = match profile.below_words {
            _ if names.is_empty() => "never".to_owned(),
            Some(words) => {
                let essential: Vec<&str> = set.essential(profile).collect();
                let essential = essential.join(", ");
                format!(
                    "goal and constraints have fewer than {words} words, or name none of: {essential}"
                )
            }
            None => "always".to_owned(),
        };
        let _ = writeln!(
            text,
            "| `{}` | {} | {when} |",
            profile.name,
            names.join(", ")
        );
    }
    text
}
