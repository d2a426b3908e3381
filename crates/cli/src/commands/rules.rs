//! `runseal rules`: every rule with its document and section, or one of them explained.

use runseal_core::canon::Dialect;
use runseal_core::formats::all_rules;
use runseal_core::verify::{Outcome, RuleInfo, catalogue};

use crate::error::CliError;
use crate::ui;

/// List the rules that verification checks, or explain one.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal rules PS5")]
pub struct Args {
    /// The rule to explain, such as PK5; letter case does not matter.
    id: Option<String>,
    /// How to print: for people, as JSON, or as the reference page docs/rules.md.
    #[arg(long, default_value = "human", value_parser = ["human", "json", "markdown"])]
    format: String,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let mut rules = all_rules();
    if let Some(id) = &args.id {
        rules.retain(|rule| rule.id.eq_ignore_ascii_case(id));
        if rules.is_empty() {
            let hint = "`runseal rules` lists them all";
            return Err(CliError::usage(format!("no rule is called `{id}`"), hint));
        }
    }
    match args.format.as_str() {
        "json" => ui::print_json(&catalogue::render_json(&rules), Dialect::Kernel)?,
        "markdown" => ui::print_bytes(catalogue::render_markdown(&rules).as_bytes())?,
        _ => ui::print_bytes(human(&rules, args.id.is_some()).as_bytes())?,
    }
    Ok(Outcome::Valid)
}

fn human(rules: &[&RuleInfo], whole: bool) -> String {
    if whole {
        rules
            .iter()
            .map(|rule| catalogue::explain(rule))
            .collect::<Vec<_>>()
            .join("\n")
    } else {
        catalogue::render_list(rules)
    }
}
