//! `runseal rules`: every rule with its document and section, or one of them explained.

use runseal_core::canon::{Dialect, Value};
use runseal_core::formats::all_rules;
use runseal_core::verify::{Outcome, RuleInfo, catalogue};
use runseal_kernel::rules::{Rule, catalogue as intent_catalogue, rule_set};

use crate::error::CliError;
use crate::ui;

/// List the rules that verification checks and that intents are read by, or explain one.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal rules PS5\n  runseal rules KC02")]
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
    let mut of_intents: Vec<&Rule> = rule_set().rules.iter().collect();
    if let Some(id) = &args.id {
        rules.retain(|rule| rule.id.eq_ignore_ascii_case(id));
        of_intents.retain(|rule| rule.id.eq_ignore_ascii_case(id));
        if rules.is_empty() && of_intents.is_empty() {
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
            all.extend(intent_catalogue::render_json(&of_intents));
            ui::print_json(&Value::Array(all), Dialect::Kernel)?;
        }
        "markdown" => ui::print_bytes(markdown(&rules, &of_intents).as_bytes())?,
        _ => ui::print_bytes(human(&rules, &of_intents, args.id.is_some()).as_bytes())?,
    }
    Ok(Outcome::Valid)
}

/// The reference page: the rules of the formats, then those of intents.
fn markdown(rules: &[&RuleInfo], of_intents: &[&Rule]) -> String {
    catalogue::render_markdown(rules) + &intent_catalogue::render_markdown(of_intents)
}

fn human(rules: &[&RuleInfo], of_intents: &[&Rule], whole: bool) -> String {
    if !whole {
        return catalogue::render_list(rules) + &intent_catalogue::render_list(of_intents);
    }
    let formats = rules.iter().map(|rule| catalogue::explain(rule));
    let intents = of_intents
        .iter()
        .map(|rule| intent_catalogue::explain(rule));
    formats.chain(intents).collect::<Vec<_>>().join("\n")
}
