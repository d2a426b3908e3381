//! The parameters and variables that `runseal record` gives to a command.

use std::collections::BTreeMap;

use runseal_core::verify::Outcome;
use runseal_secrets::variables::find_secret;

use crate::error::CliError;

/// The parameters, by name.
pub fn parse_parameters(given: &[String]) -> Result<BTreeMap<String, String>, CliError> {
    let mut parameters = BTreeMap::new();
    for text in given {
        let Some((name, value)) = text.split_once('=') else {
            return Err(CliError::usage(
                format!("`--param {}` has no `=`", text.escape_debug()),
                "write it as `--param name=value`",
            ));
        };
        if !is_variable_name(name) {
            return Err(CliError::usage(
                format!("`{}` cannot name a parameter", name.escape_debug()),
                "use letters, digits and `_`, with no digit first",
            ));
        }
        refuse_secret(name, value, "--param")?;
        if parameters
            .insert(name.to_owned(), value.to_owned())
            .is_some()
        {
            return Err(CliError::usage(
                format!("the parameter `{name}` is given twice"),
                "give it once",
            ));
        }
    }
    Ok(parameters)
}

/// The variables whose values are sealed, and those whose values are not.
#[allow(clippy::type_complexity, reason = "two maps of the same kind")]
pub fn parse_variables(
    given: &[String],
    secret: &[String],
) -> Result<(BTreeMap<String, String>, BTreeMap<String, String>), CliError> {
    let mut variables = BTreeMap::new();
    for text in given {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name.to_owned(), value.to_owned()),
            None => (text.clone(), host_variable(text)?),
        };
        check_variable_name(&name)?;
        refuse_secret(&name, &value, "--env")?;
        variables.insert(name, value);
    }
    let mut secrets = BTreeMap::new();
    for name in secret {
        check_variable_name(name)?;
        secrets.insert(name.clone(), host_variable(name)?);
    }
    Ok((variables, secrets))
}

fn is_variable_name(name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_word)
}

fn check_variable_name(name: &str) -> Result<(), CliError> {
    if is_variable_name(name) {
        Ok(())
    } else {
        // What is behind a `=` was meant as a value, perhaps a secret one.
        Err(match name.split_once('=') {
            Some((name, _)) => CliError::usage(
                format!("`{}=…` is not a variable name", name.escape_debug()),
                "the value is taken from your own environment: set it there, and give the name alone",
            ),
            None => CliError::usage(
                format!("`{}` is not a variable name", name.escape_debug()),
                "use letters, digits and `_`, with no digit first",
            ),
        })
    }
}

fn host_variable(name: &str) -> Result<String, CliError> {
    std::env::var(name).map_err(|error| {
        let reason = match error {
            std::env::VarError::NotPresent => "is not set",
            std::env::VarError::NotUnicode(_) => "is not UTF-8",
        };
        CliError::usage(
            format!("the variable `{}` {reason}", name.escape_debug()),
            "set it, or leave the option out",
        )
    })
}

fn refuse_secret(name: &str, value: &str, option: &str) -> Result<(), CliError> {
    let Some(reason) = find_secret(name, value) else {
        return Ok(());
    };
    Err(CliError::new(
        Outcome::Malformed,
        "SECRET",
        format!("the value of `{name}` looks like a secret ({reason}), and {option} would seal it"),
    )
    .hint(format!(
        "`--secret {name}` passes the variable on without sealing its value"
    )))
}
