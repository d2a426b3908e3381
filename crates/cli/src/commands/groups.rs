//! Commands grouped by what people want to do: the overview of `runseal` and `runseal --help`, and
//! the index of the reference pages.
//!
//! Every command belongs to exactly one group; a test names any that does not. A group may list
//! commands that this build leaves out.

use clap::builder::StyledStr;

/// A heading and the commands below it, the most wanted first.
pub struct Group {
    /// What people want to do.
    pub title: &'static str,
    commands: &'static [&'static str],
}

/// Every group, in the order of the help.
pub static GROUPS: [Group; 8] = [
    Group {
        title: "Start here",
        commands: &["demo"],
    },
    Group {
        title: "Check evidence",
        commands: &["verify", "inspect", "diff", "report", "replay", "extract"],
    },
    Group {
        title: "Make evidence",
        commands: &[
            "record",
            "engine",
            "seal",
            "run",
            "transform",
            "clarify",
            "lint",
            "assess",
            "job",
        ],
    },
    Group {
        title: "Say who made it",
        commands: &["sign", "trust", "log", "redact", "unredact", "keygen"],
    },
    Group {
        title: "Keep and share it",
        commands: &[
            "catalog", "queue", "work", "push", "pull", "export", "import",
        ],
    },
    Group {
        title: "Agents",
        commands: &["proxy", "mcp"],
    },
    Group {
        title: "Single formats, by their documents",
        commands: &[
            "bundle", "proposal", "pack", "patch", "model-io", "runner", "evidence", "ledger",
            "receipt",
        ],
    },
    Group {
        title: "Plumbing",
        commands: &["canon", "hash", "rules", "schema", "completions", "man"],
    },
];

/// How many commands of each group `runseal` shows when no command is named.
const FIRST_LINES: usize = 3;

impl Group {
    /// The commands of the group that this build has, with their summaries.
    pub fn summaries(&self, line: &clap::Command) -> Vec<(&'static str, String)> {
        let summary = |name: &&'static str| {
            let about = line.find_subcommand(name)?.get_about()?;
            Some((*name, about.to_string()))
        };
        self.commands.iter().filter_map(summary).collect()
    }
}

/// The command line, with its commands listed by group instead of in clap's single list.
pub fn with_groups(line: clap::Command) -> clap::Command {
    let text = overview(&line, usize::MAX);
    line.help_template(
        "{about}\n\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}",
    )
    .before_help(StyledStr::from(text.trim_end().to_owned()))
    .after_help("`runseal help COMMAND` explains one, with an example.")
}

/// What `runseal` says when no command is named.
pub fn short_overview(line: &clap::Command) -> String {
    format!(
        "Evidence of what a run took in, did and produced, that others can check offline.\n\n\
         {}`runseal --help` lists every command; `runseal demo` shows what they are for.",
        overview(line, FIRST_LINES)
    )
}

/// Every group with at most `most` of its commands, one per line.
fn overview(line: &clap::Command, most: usize) -> String {
    let mut text = String::new();
    for group in &GROUPS {
        let summaries = group.summaries(line);
        if summaries.is_empty() {
            continue;
        }
        text += &format!("{}:\n", group.title);
        for (name, summary) in summaries.iter().take(most) {
            text += &format!("  {name:<12} {summary}\n");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::command_line;
    use super::*;

    #[test]
    fn groups_hold_every_command_once() {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let named = GROUPS.iter().flat_map(|group| group.commands);
        named.for_each(|name| *counts.entry(name).or_default() += 1);
        let twice: Vec<_> = counts.iter().filter(|(_, count)| **count > 1).collect();
        assert!(twice.is_empty(), "named twice: {twice:?}");
        let line = command_line();
        for command in line.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let name = command.get_name();
            if name == "help" {
                continue;
            }
            assert!(counts.contains_key(name), "`{name}` is in no group");
        }
    }

    #[test]
    fn groups_fit_a_screen_and_each_command_a_line() {
        let line = command_line();
        for group in &GROUPS {
            let summaries = group.summaries(&line);
            assert!(summaries.len() <= 20, "{}", group.title);
            for (name, summary) in summaries {
                let width = 15 + summary.chars().count();
                assert!(width <= 80, "`{name}` takes {width} columns: {summary}");
            }
        }
    }

    #[test]
    fn short_overview_has_three_lines_a_group_and_the_demo() {
        let text = short_overview(&command_line());
        assert!(text.contains("\n  demo  "), "{text}");
        assert!(
            text.contains("\n  diff  ") && !text.contains("\n  report  "),
            "{text}"
        );
        assert!(text.lines().count() <= 45, "{text}");
    }
}
