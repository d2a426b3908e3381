//! `runseal trust init`: a policy to start from.

use std::path::PathBuf;

use runseal_core::canon::{ReadOptions, parse_document};
use runseal_core::verify::Outcome;
use runseal_fs::atomic::{Readers, write_new};
use runseal_fs::input::Input;
use runseal_trust::policy::from_receipt_policy;

use crate::error::{CliError, Named};
use crate::ui;

/// The text of a new policy: nobody is trusted until a signer is added.
const START: &str = r#"# Whose signatures count, and for what. `runseal trust check` reads this file,
# `runseal verify --trust` asks it; what no rule accepts is refused.
runseal-trust = 1
# Counts up by one with every change that `runseal trust rotate` signs.
version = 1

# Who: a key in any form (PEM, OpenSSH, minisign), or whom a certificate names.
# [[signer]]
# name = "ada"
# key = "ssh-ed25519 AAAA..."
# until = 2030-01-01

# For what: the first rule that fits decides. Without `formats`, for everything.
# [[rule]]
# name = "releases"
# formats = ["run-bundle"]
# signers = ["ada"]
# threshold = 1
# meanings = ["author", "reviewer"]
# timestamp = false
"#;

/// Make a policy to start from; it trusts nobody yet.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal trust init trust.toml")]
pub struct Args {
    /// The file to make; never overwritten.
    #[arg(default_value = "trust.toml", value_name = "POLICY")]
    policy: PathBuf,
    /// Take over the validators of a receipts' trust policy (JSON).
    #[arg(long, value_name = "FILE")]
    from_receipts: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let text = match &args.from_receipts {
        None => START.to_owned(),
        Some(path) => {
            let input = Input::from_argument(Some(path));
            let options = ReadOptions::default();
            let bytes = input.read(options.limits.max_bytes)?;
            let document = parse_document(&bytes, &options).named(input.shown())?;
            from_receipt_policy(document.root()).map_err(|error| {
                CliError::new(Outcome::Unreadable, "POLICY", error.to_string()).at(input.shown())
            })?
        }
    };
    let fail = |error: std::io::Error| {
        CliError::new(Outcome::Unreadable, "WRITE", error.to_string())
            .at(args.policy.display().to_string())
            .hint("a policy is never overwritten; name a file that does not exist")
    };
    let written = write_new(&args.policy, text.as_bytes(), Readers::AsUmask);
    written.map_err(|error| fail(error.source))?;
    ui::print_line(&args.policy.display().to_string())?;
    Ok(Outcome::Valid)
}
