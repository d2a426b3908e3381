//! `runseal schema`: the JSON Schemas of everything that is read and written.

use runseal_core::verify::Outcome;

use crate::error::CliError;
use crate::ui;

macro_rules! schemas {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../../../../schemas/", $name, ".json")))),+]
    };
}

/// Name and text of every schema in the project's `schemas/` folder, sorted by name.
static SCHEMAS: [(&str, &str); 54] = schemas![
    "answers",
    "artifact-index",
    "assessor-answer",
    "catalog-answer",
    "context-bundle",
    "coupling-rules",
    "diff-answer",
    "disclosure",
    "engine-manifest",
    "evidence",
    "extract-answer",
    "input-artifact-index",
    "inspect-answer",
    "intent",
    "job-answer",
    "job-bundle",
    "keygen-answer",
    "ledger-entry",
    "lint-answer",
    "listening-answer",
    "log-answer",
    "merkle-attestation",
    "model-io",
    "patch",
    "plan",
    "policy",
    "policy-file",
    "proposal",
    "push-answer",
    "queue-answer",
    "receipt",
    "recording",
    "redact-answer",
    "redacted",
    "redaction",
    "redaction-salt",
    "replay-answer",
    "rules-answer",
    "run",
    "run-context-stripped",
    "run-environment",
    "run-input",
    "run-manifest",
    "run-meta",
    "run-output",
    "run-predicate",
    "runner",
    "sealed-answer",
    "summary-answer",
    "transform-answer",
    "trust-answer",
    "trust-policy",
    "verdict-answer",
    "verify-answer",
];

/// Print the JSON Schema of a document or answer, or list them.
///
/// Schemas are of draft 2020-12.
///
/// A schema describes shape: members, types, enumerations. What relates two places, such as an
/// order, a hash or a count, is left to the rules (`runseal rules`). Exit 64: no schema has that name.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal schema proposal > proposal.schema.json")]
pub struct Args {
    /// The schema to print, such as `proposal`; without it, every name, one per line.
    name: Option<String>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let Some(name) = &args.name else {
        let names: String = SCHEMAS
            .iter()
            .map(|(name, _)| format!("{name}\n"))
            .collect();
        ui::print_bytes(names.as_bytes())?;
        return Ok(Outcome::Valid);
    };
    let Some((_, text)) = SCHEMAS.iter().find(|(known, _)| known == name) else {
        let message = format!("no schema is called `{name}`");
        return Err(CliError::new(Outcome::Usage, "SCHEMA", message)
            .hint("`runseal schema` lists the names"));
    };
    ui::print_bytes(text.as_bytes())?;
    Ok(Outcome::Valid)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn embedded_schemas_are_all_in_the_folder() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .map(|name| name.strip_suffix(".json").unwrap().to_owned())
            .collect();
        names.sort();
        let embedded: Vec<&str> = SCHEMAS.iter().map(|(name, _)| *name).collect();
        assert_eq!(embedded, names);
    }
}
