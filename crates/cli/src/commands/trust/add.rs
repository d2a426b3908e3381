//! `runseal trust add`: adds a signer whose signatures count.

use std::path::{Path, PathBuf};

use runseal_core::verify::Outcome;
use runseal_fs::atomic::write_bytes;
use runseal_fs::input::read_file;
use runseal_fs::signing::chain_beside;
use runseal_trust::keys::ssh;
use runseal_trust::limits::MAX_POLICY_BYTES;
use runseal_trust::policy::{Policy, parse_allowed_signers, quote};

use crate::error::CliError;
use crate::signing::open_public_key;
use crate::ui;

/// Add a signer, roots of time stamping authorities, or sigstore's trusted root to a policy.
///
/// What is there stays unchanged, comments included. A policy that would not be valid is not written.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  runseal trust add trust.toml ada --key ada.pub --accept\n  runseal trust add trust.toml --allowed-signers ~/.ssh/allowed_signers\n  runseal trust add trust.toml --timestamp-roots tsa-root.pem"
)]
pub struct Args {
    /// The policy to add to.
    #[arg(value_name = "POLICY")]
    policy: PathBuf,
    /// What to call the signer.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// The signer's public key, in any form.
    #[arg(long, value_name = "FILE", requires = "name")]
    key: Option<PathBuf>,
    /// Whom the signer's sigstore certificates name; `*` and `**` match anything.
    #[arg(long, value_name = "PATTERN", requires = "name", requires = "issuer")]
    identity: Option<String>,
    /// Who must have vouched for that name.
    #[arg(long, value_name = "URL", requires = "identity")]
    issuer: Option<String>,
    /// Count from this date or time on.
    #[arg(long, value_name = "DATE", requires = "name")]
    from: Option<String>,
    /// Count until this date or time.
    #[arg(long, value_name = "DATE", requires = "name")]
    until: Option<String>,
    /// Add a rule as well: whatever they signed is trusted.
    #[arg(long, requires = "name")]
    accept: bool,
    /// Every signer of an OpenSSH allowed signers file.
    #[arg(long, value_name = "FILE")]
    allowed_signers: Option<PathBuf>,
    /// Certificates of time stamping authorities, in PEM.
    #[arg(long, value_name = "FILE")]
    timestamp_roots: Option<PathBuf>,
    /// Sigstore's trusted_root.json.
    #[arg(long, value_name = "FILE")]
    sigstore_root: Option<PathBuf>,
}

fn read_text(path: &Path) -> Result<String, CliError> {
    let bytes = read_file(path, MAX_POLICY_BYTES)?;
    String::from_utf8(bytes).map_err(|_| {
        CliError::new(Outcome::Unreadable, "NOT_TEXT", "it is not UTF-8 text")
            .at(path.display().to_string())
    })
}

/// A multi-line literal string in TOML.
fn quote_lines(text: &str) -> String {
    if text.contains("'''") {
        return quote(text);
    }
    format!("'''\n{}\n'''", text.trim_end())
}

fn addition(args: &Args) -> Result<String, CliError> {
    let mut text = String::new();
    if let Some(name) = &args.name {
        text.push_str(&format!("\n[[signer]]\nname = {}\n", quote(name)));
        if let Some(path) = &args.key {
            let key = open_public_key(path)?;
            text.push_str(&format!(
                "key = {}\n",
                quote(&ssh::format_public_line(&key))
            ));
        }
        if let (Some(identity), Some(issuer)) = (&args.identity, &args.issuer) {
            text.push_str(&format!(
                "identity = {}\nissuer = {}\n",
                quote(identity),
                quote(issuer)
            ));
        }
        for (member, value) in [("from", &args.from), ("until", &args.until)] {
            if let Some(value) = value {
                text.push_str(&format!("{member} = {value}\n"));
            }
        }
        if args.accept {
            text.push_str(&format!("\n[[rule]]\nsigners = [{}]\n", quote(name)));
        }
    }
    if let Some(path) = &args.allowed_signers {
        let lines = read_text(path)?;
        let signers = parse_allowed_signers(&lines, 1).map_err(|error| {
            CliError::new(Outcome::Unreadable, "SIGNERS", error.fault).at(format!(
                "{}:{}",
                path.display(),
                error.line
            ))
        })?;
        for signer in signers {
            let key = ssh::format_public_line(&signer.key);
            text.push_str(&format!(
                "\n[[signer]]\nname = {}\nkey = {}\n",
                quote(&signer.name),
                quote(&key)
            ));
            for (member, time) in [("from", signer.from), ("until", signer.until)] {
                let time = time.and_then(runseal_core::timestamp::format_utc);
                if let Some(time) = time {
                    text.push_str(&format!("{member} = {time}\n"));
                }
            }
        }
    }
    if let Some(path) = &args.timestamp_roots {
        text.push_str(&format!(
            "\n[timestamps]\nroots = {}\n",
            quote_lines(&read_text(path)?)
        ));
    }
    if let Some(path) = &args.sigstore_root {
        text.push_str(&format!(
            "\n[sigstore]\ntrusted_root = {}\n",
            quote_lines(&read_text(path)?)
        ));
    }
    Ok(text)
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let addition = addition(args)?;
    if addition.is_empty() {
        let hint =
            "name a signer and --key, or --allowed-signers, --timestamp-roots, --sigstore-root";
        return Err(CliError::usage("nothing to add was named", hint));
    }
    let shown = args.policy.display().to_string();
    let mut text = read_text(&args.policy)?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let lines_before = text.lines().count();
    text.push_str(&addition);
    Policy::parse(&text).map_err(|error| {
        let place = if error.line > lines_before {
            "what would be added".to_owned()
        } else {
            format!("{shown}:{}", error.line)
        };
        CliError::new(Outcome::Unreadable, "POLICY", error.fault)
            .at(place)
            .hint("nothing was written")
    })?;
    write_bytes(&args.policy, text.as_bytes())?;
    if chain_beside(&args.policy).exists() {
        ui::tell(
            "note: this policy has a chain; others believe the change only after `runseal trust rotate`",
        );
    }
    ui::print_line(&shown)?;
    Ok(Outcome::Valid)
}
