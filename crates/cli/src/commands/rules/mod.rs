//! `runseal rules`: every rule with its document and section, or one of them explained.

mod of_intents;

use runseal_core::canon::{Dialect, Value};
use runseal_core::formats::all_rules;
use runseal_core::verify::{Outcome, RuleInfo, catalogue};
use runseal_kernel::rules::{Rule, rule_set};

use crate::error::CliError;
use crate::ui;

/// List the rules, or explain one.
///
/// These are the rules that verification checks, and those that intents are read by.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal rules PS5\n  runseal rules KC02")]
pub struct Args {
    /// The rule to explain, such as PK5; letter case does not matter.
    id: Option<String>,
    /// How to print: for people, as JSON, as the reference page docs/rules.md, or as the tables of docs/kernel.md.
    #[arg(long, default_value = "human", value_parser = ["human", "json", "markdown", "tables"])]
    format: String,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let mut rules = all_rules();
    let mut intent_rules: Vec<&Rule> = rule_set().rules.iter().collect();
    if let Some(id) = &args.id {
        rules.retain(|rule| rule.id.eq_ignore_ascii_case(id));
        intent_rules.retain(|rule| rule.id.eq_ignore_ascii_case(id));
        if rules.is_empty() && intent_rules.is_empty() {
            let hint = "`runseal rules` lists them all";
            return Err(CliError::usage(format!("no rule is called `{id}`"), hint));
        }
    }
    match args.format.as_str() {
        "json" => {
            let mut all = match catalogue::render_json(&rules) {
                Value::Array(all) => all,
                other => vec![other],
            };
            all.extend(of_intents::render_json(&intent_rules));
            ui::print_json(&Value::Array(all), Dialect::Kernel)?;
        }
        "tables" => ui::print_bytes(of_intents::render_tables().as_bytes())?,
        "markdown" => ui::print_bytes(markdown(&rules, &intent_rules).as_bytes())?,
        _ => ui::print_bytes(human(&rules, &intent_rules, args.id.is_some()).as_bytes())?,
    }
    Ok(Outcome::Valid)
}

/// The reference page: the rules of the formats, then those of intents.
fn markdown(rules: &[&RuleInfo], intent_rules: &[&Rule]) -> String {
    catalogue::render_markdown(rules) + &of_intents::render_markdown(intent_rules)
}

fn human(rules: &[&RuleInfo], intent_rules: &[&Rule], whole: bool) -> String {
    if !whole {
        return catalogue::render_list(rules) + &of_intents::render_list(intent_rules);
    }
    let formats = rules.iter().map(|rule| catalogue::explain(rule));
    let intents = intent_rules.iter().map(|rule| of_intents::explain(rule));
    formats.chain(intents).collect::<Vec<_>>().join("\n")
}
