//! `runseal trust check`: whether a policy is valid.

use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Value};
use runseal_core::timestamp::format_utc;
use runseal_core::verify::Outcome;
use runseal_fs::signing::{PolicyFileError, load_policy};

use crate::error::CliError;
use crate::signing::trust_time;
use crate::ui;

/// Check a policy and the chain next to it, and say what it contains.
///
/// Exit 0: valid. Exit 1: not valid, or expired. Exit 2: it could not be read, or is not a policy.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal trust check trust.toml")]
pub struct Args {
    /// The policy.
    #[arg(default_value = "trust.toml", value_name = "POLICY")]
    policy: PathBuf,
    /// The time at which it is asked, in UTC; by default now.
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let now = trust_time(args.at.as_deref())?;
    let loaded = match load_policy(&args.policy, now) {
        Ok(loaded) => loaded,
        Err(error @ PolicyFileError::Source(_)) => {
            return Err(CliError::within(error, args.policy.display()));
        }
        Err(error) => {
            let mut error = CliError::within(error, args.policy.display());
            error.outcome = if calls_itself_a_policy(&args.policy) {
                Outcome::Invalid
            } else {
                Outcome::Malformed
            };
            return Err(error);
        }
    };
    let policy = &loaded.policy;
    let signers = policy.signers.iter().map(|signer| {
        let keys = signer.keys.iter().map(|key| key.id().to_string());
        Value::object([
            ("name", Value::from(signer.name.as_str())),
            ("keys", Value::array(keys)),
            ("line", Value::from(signer.line)),
        ])
    });
    let mut answer = Value::object([
        ("policy", Value::from(loaded.shown.as_str())),
        ("version", Value::from(policy.version)),
        ("signers", Value::array(signers)),
        ("rules", Value::from(policy.rules.len())),
        ("changeable", Value::from(policy.root.is_some())),
    ]);
    let is_expired = policy.expires.is_some_and(|(time, _)| now >= time);
    if let Some((time, _)) = policy.expires {
        answer.insert("expires", format_utc(time).unwrap_or_default());
    }
    answer.insert("ok", !is_expired);
    ui::print_json(&answer, Dialect::Kernel)?;
    if is_expired {
        ui::tell("the policy has expired: it trusts nothing any more");
        return Ok(Outcome::Invalid);
    }
    Ok(Outcome::Valid)
}

/// Whether a file with a fault is an invalid policy, rather than something else. Only the exit code depends
/// on it.
fn calls_itself_a_policy(path: &Path) -> bool {
    let text = std::fs::read(path).unwrap_or_default();
    let mut lines = text.split(|byte| *byte == b'\n');
    lines.any(|line| line.trim_ascii_start().starts_with(b"runseal-trust"))
}
