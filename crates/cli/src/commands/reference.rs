//! The reference pages in Markdown, from the same `Args` types as `--help` and the manual: a page
//! for each command with its subcommands as sections, and an index by group.
//!
//! Nothing here depends on the terminal: the same program writes the same bytes everywhere.

use std::fmt::Write as _;

use super::groups::GROUPS;

/// A page of the reference: its file name and its text.
pub struct Page {
    /// The name of the file.
    pub name: String,
    /// Its Markdown.
    pub text: String,
}

/// Every page, the index first. `line` is the whole command line, already built.
pub fn pages(line: &clap::Command) -> Vec<Page> {
    let mut index = String::from(
        "# Command reference\n\n\
         Made from the program by `runseal man --format markdown`. Exit codes are those of \
         [the table](../stability.md#exit-codes) unless a command says otherwise. Every command takes \
         `--quiet` (say nothing but errors) and `--help`.\n",
    );
    let mut pages = Vec::new();
    for group in &GROUPS {
        let summaries = group.summaries(line);
        if summaries.is_empty() {
            continue;
        }
        let _ = write!(index, "\n## {}\n\n| command | |\n|---|---|\n", group.title);
        for (name, summary) in summaries {
            let Some(command) = line.find_subcommand(name) else {
                continue;
            };
            let _ = writeln!(index, "| [`{name}`]({name}.md) | {} |", cell(&summary));
            let mut text = String::new();
            write_command(&mut text, command, 1);
            pages.push(Page {
                name: format!("{name}.md"),
                text,
            });
        }
    }
    let index = Page {
        name: "README.md".to_owned(),
        text: index,
    };
    pages.insert(0, index);
    pages
}

fn write_command(text: &mut String, command: &clap::Command, depth: usize) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let _ = write!(text, "{} {name}\n\n", "#".repeat(depth));
    let about = command.get_long_about().or_else(|| command.get_about());
    if let Some(about) = about {
        let _ = write!(text, "{}\n\n", prose(&sentence(&about.to_string())));
    }
    let below = || {
        let visible = |sub: &&clap::Command| !sub.is_hide_set() && sub.get_name() != "help";
        command.get_subcommands().filter(visible)
    };
    if below().next().is_some() {
        text.push_str("| command | |\n|---|---|\n");
        for sub in below() {
            let about = sub.get_about().map(ToString::to_string);
            let anchor = format!("{name}-{}", sub.get_name()).replace(' ', "-");
            let _ = writeln!(
                text,
                "| [`{}`](#{anchor}) | {} |",
                sub.get_name(),
                cell(&about.unwrap_or_default())
            );
        }
        text.push('\n');
        for sub in below() {
            write_command(text, sub, depth + 1);
        }
        return;
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let usage: Vec<_> = usage.lines().map(str::trim).collect();
    let _ = write!(text, "```text\n{}\n```\n\n", usage.join("\n"));
    write_arguments(text, command);
    if let Some(after) = command.get_after_help() {
        write_example(text, &after.to_string());
    }
}

/// A table of positional arguments and one of options. Options of every command are in the index
/// only.
fn write_arguments(text: &mut String, command: &clap::Command) {
    let shown: Vec<_> = command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set() && !is_general(arg))
        .collect();
    for (heading, positional) in [("argument", true), ("option", false)] {
        let rows: Vec<_> = shown
            .iter()
            .filter(|arg| arg.is_positional() == positional)
            .collect();
        if rows.is_empty() {
            continue;
        }
        let _ = write!(text, "| {heading} | |\n|---|---|\n");
        for arg in rows {
            let _ = writeln!(text, "| {} | {} |", spelling(arg), cell(&explanation(arg)));
        }
        text.push('\n');
    }
}

fn is_general(arg: &clap::Arg) -> bool {
    matches!(arg.get_id().as_str(), "help" | "version" | "quiet")
}

/// How an argument is typed, such as `-o` or `--out FILE`.
fn spelling(arg: &clap::Arg) -> String {
    let values: Vec<_> = match arg.get_num_args() {
        Some(count) if count.max_values() == 0 => Vec::new(),
        _ => arg
            .get_value_names()
            .unwrap_or_default()
            .iter()
            .map(|name| name.replace('|', "\\|"))
            .collect(),
    };
    let long = arg.get_long().map(|long| format!("--{long}"));
    let short = arg.get_short().map(|short| format!("-{short}"));
    let names: Vec<_> = [short, long].into_iter().flatten().collect();
    if names.is_empty() {
        return format!("`{}`", values.join(" "));
    }
    let last = names.len() - 1;
    let spelled: Vec<_> = names
        .iter()
        .enumerate()
        .map(|(at, name)| {
            if at == last && !values.is_empty() {
                format!("`{name} {}`", values.join(" "))
            } else {
                format!("`{name}`")
            }
        })
        .collect();
    spelled.join(", ")
}

/// What an argument means, with its possible values and its default.
fn explanation(arg: &clap::Arg) -> String {
    let help = arg.get_long_help().or_else(|| arg.get_help());
    let mut text = sentence(&help.map(ToString::to_string).unwrap_or_default());
    let takes_value = arg
        .get_num_args()
        .is_none_or(|count| count.max_values() > 0);
    let possible: Vec<_> = if takes_value {
        arg.get_possible_values()
            .iter()
            .filter(|value| !value.is_hide_set())
            .map(|value| format!("`{}`", value.get_name()))
            .collect()
    } else {
        Vec::new()
    };
    if !possible.is_empty() {
        let _ = write!(text, " One of {}.", possible.join(", "));
    }
    let defaults: Vec<_> = if takes_value {
        arg.get_default_values().iter()
    } else {
        [].iter()
    }
    .map(|value| format!("`{}`", value.to_string_lossy()))
    .collect();
    if !defaults.is_empty() {
        let _ = write!(text, " Default: {}.", defaults.join(", "));
    }
    text
}

/// The part of a help text after the options: examples as code, everything else unchanged.
fn write_example(text: &mut String, after: &str) {
    let mut lines = after.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim().is_empty() {
            continue;
        }
        if !line.starts_with("  ") {
            let _ = write!(text, "{}\n\n", prose(line));
            continue;
        }
        let mut block = vec![line.trim()];
        while let Some(next) = lines.next_if(|next| next.starts_with("  ")) {
            block.push(next.trim());
        }
        let _ = write!(text, "```text\n{}\n```\n\n", block.join("\n"));
    }
}

/// A text with the final full stop that clap removes from short help.
fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', '!', '?', ':']) || text.is_empty() {
        text.to_owned()
    } else {
        format!("{text}.")
    }
}

/// Text that Markdown shows literally: code in backticks stays, `<` and `|` are escaped.
fn prose(text: &str) -> String {
    escape(text.trim(), false)
}

/// Text for one table cell.
fn cell(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    escape(&line, true)
}

fn escape(text: &str, in_table: bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut in_code = false;
    for character in text.chars() {
        match character {
            '`' => in_code = !in_code,
            '|' if in_table => escaped.push('\\'),
            '<' | '*' | '_' | '[' if !in_code => escaped.push('\\'),
            _ => {}
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_of_markup_keeps_code_and_takes_bars_out_of_tables() {
        assert_eq!(prose("a `<b>` and <c>, x_y"), "a `<b>` and \\<c>, x\\_y");
        assert_eq!(cell("one\n two | `a|b`"), "one two \\| `a\\|b`");
    }

    #[test]
    fn pages_name_every_option_of_every_command() {
        let line = super::super::command_line();
        let all: String = pages(&line).into_iter().map(|page| page.text).collect();
        for command in line.get_subcommands() {
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                let Some(long) = arg.get_long() else { continue };
                assert!(
                    is_general(arg) || all.contains(&format!("`--{long}")),
                    "`{} --{long}` is missing",
                    command.get_name()
                );
            }
        }
    }
}
