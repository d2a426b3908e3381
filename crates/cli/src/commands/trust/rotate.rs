//! `runseal trust rotate`: a policy's next version, signed by those who may change it.

use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Value};
use runseal_core::source::SourceError;
use runseal_core::verify::Outcome;
use runseal_fs::atomic::{Readers, write_derived};
use runseal_fs::input::read_file;
use runseal_fs::signing::chain_beside;
use runseal_trust::limits::MAX_POLICY_BYTES;
use runseal_trust::policy::{
    ChainError, Policy, follow_chain, not_of_root, read_chain, sign_policy,
};

use crate::error::{CliError, Named};
use crate::signing::{KeyArgs, trust_time};
use crate::ui;

/// Sign a policy's next version into the chain next to the current one.
///
/// The next version must be signed by enough signers of the current `[root]` and of its own, at a time
/// at which they count (`from`, `until`). Each
/// of them runs this with their key; the chain file goes from one to the other and is shipped with
/// the policy. Whoever has an older version then gets to the newest one offline.
///
/// Exit 0: signed, and enough have. Exit 1: signed, and more must. Exit 2: nothing was written.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runseal trust rotate trust.toml next.toml --key ada.pem")]
pub struct Args {
    /// The current policy; its chain is `<POLICY>.chain`.
    #[arg(value_name = "POLICY")]
    policy: PathBuf,
    /// The next version: its `version` is one higher.
    #[arg(value_name = "NEXT")]
    next: PathBuf,
    #[command(flatten)]
    key: KeyArgs,
}

fn read_policy(path: &Path) -> Result<(Policy, String), CliError> {
    let bytes = read_file(path, MAX_POLICY_BYTES)?;
    let text = String::from_utf8(bytes).map_err(|_| {
        CliError::new(Outcome::Unreadable, "POLICY", "it is not UTF-8 text")
            .at(path.display().to_string())
    })?;
    let policy = Policy::parse(&text).named(path.display())?;
    Ok((policy, text))
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let (current, _) = read_policy(&args.policy)?;
    let (next, text) = read_policy(&args.next)?;
    let chain = chain_beside(&args.policy);
    let shown = chain.display().to_string();
    let fail = |error: ChainError| {
        let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
        let message = format!("{error}{}", source.unwrap_or_default());
        CliError::new(Outcome::Unreadable, "CHAIN", message).at(shown.clone())
    };
    let bytes = match read_file(&chain, 64 * MAX_POLICY_BYTES) {
        Ok(bytes) => bytes,
        Err(SourceError::NotFound { .. }) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let mut links = read_chain(&bytes).map_err(fail)?;
    let pending = match links.last() {
        Some(last) if last.policy.version == next.version => links.pop(),
        _ => None,
    };
    if let Some(pending) = &pending
        && pending.envelope.payload != text.as_bytes()
    {
        return Err(CliError::new(
            Outcome::Unreadable,
            "CHAIN",
            format!(
                "version {} is already there with another text",
                next.version
            ),
        )
        .at(shown.clone())
        .hint("take the version that others signed, or the next number"));
    }
    let now = trust_time(None)?;
    let before = follow_chain(&current, links.clone(), now).map_err(fail)?;
    let newest = before.as_ref().map_or(&current, |link| &link.policy);
    if next.version != newest.version + 1 {
        return Err(fail(ChainError::Version {
            expected: newest.version + 1,
            actual: next.version,
        }));
    }
    for policy in [newest, &next] {
        if policy.root.is_none() {
            return Err(fail(ChainError::NoRoot(policy.version))
                .hint("add `[root]` with `signers` and `threshold` to it"));
        }
    }
    let key = args.key.open()?;
    let public = key.signer().public_key();
    let faults = [newest, &next].map(|policy| not_of_root(policy, public, now));
    if let [Some(before), Some(after)] = faults {
        let message = format!("the key may not change the policy: {before}; {after}");
        return Err(CliError::new(Outcome::Unreadable, "KEY", message)
            .at(shown)
            .hint("nothing was written; a signer of one of the two roots must sign"));
    }
    let earlier = pending.map(|link| link.envelope);
    let envelope = sign_policy(&text, earlier, key.signer())?;
    let mut lines: Vec<Vec<u8>> = links.iter().map(|link| link.envelope.to_line()).collect();
    lines.push(envelope.to_line());
    let mut bytes = lines.join(&b'\n');
    bytes.push(b'\n');
    let missing = read_chain(&bytes)
        .and_then(|links| follow_chain(&current, links, now))
        .err();
    write_derived(&chain, &bytes, Readers::AsUmask)?;
    let mut answer = Value::object([
        ("chain", Value::from(shown)),
        ("version", Value::from(next.version)),
        ("complete", Value::from(missing.is_none())),
    ]);
    let outcome = match missing {
        None => Outcome::Valid,
        Some(missing) => {
            answer.insert("missing", missing.to_string());
            Outcome::Invalid
        }
    };
    ui::print_json(&answer, Dialect::Kernel)?;
    Ok(outcome)
}
