//! What `sign`, `trust` and `verify` share: key arguments, passphrases, policies and the current
//! time.

use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use runseal_core::timestamp::parse_utc;
use runseal_core::verify::Outcome;
use runseal_fs::signing::{
    AgentSigner, CommandSigner, KeyFileError, KeyWarning, LoadedPolicy, TrustQuestion, load_policy,
    open_private_key, read_public_key,
};
use runseal_trust::keys::{KeyError, PrivateKey, PublicKey, Signer, minisign};
use zeroize::Zeroizing;

use crate::error::{CliError, Named};
use crate::ui;

/// The most bytes of a passphrase file that are read.
const MAX_PASSPHRASE: u64 = 4096;

/// Where a passphrase comes from; the terminal if neither option is given.
#[derive(Debug, clap::Args)]
pub struct PassphraseArgs {
    /// The key's passphrase is the first line of this file.
    #[arg(long, value_name = "FILE", conflicts_with = "passphrase_fd")]
    passphrase_file: Option<PathBuf>,
    /// The key's passphrase is the first line of this file descriptor.
    #[arg(long, value_name = "N")]
    passphrase_fd: Option<u32>,
}

impl PassphraseArgs {
    /// Whether a source was named on the command line.
    pub fn is_given(&self) -> bool {
        self.passphrase_file.is_some() || self.passphrase_fd.is_some()
    }

    /// Reads the passphrase for `what`.
    pub fn read(&self, what: &str) -> Result<Zeroizing<Vec<u8>>, String> {
        let path = match (&self.passphrase_file, self.passphrase_fd) {
            (Some(path), _) => path.clone(),
            (None, Some(number)) => PathBuf::from(format!("/proc/self/fd/{number}")),
            (None, None) => return ask_passphrase(what),
        };
        let shown = path.display();
        let mut text = Zeroizing::new(Vec::new());
        File::open(&path)
            .and_then(|file| file.take(MAX_PASSPHRASE).read_to_end(&mut text))
            .map_err(|error| format!("`{shown}` cannot be read: {error}"))?;
        let end = text
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(text.len());
        text.truncate(end);
        Ok(text)
    }
}

fn ask_passphrase(what: &str) -> Result<Zeroizing<Vec<u8>>, String> {
    if !std::io::stdin().is_terminal() && !std::io::stderr().is_terminal() {
        return Err("there is no terminal to ask for it".to_owned());
    }
    let typed = rpassword::prompt_password(format!("Passphrase of {what}: "))
        .map_err(|error| format!("the terminal cannot be read: {error}"))?;
    Ok(Zeroizing::new(typed.into_bytes()))
}

/// Which key signs.
#[derive(Debug, clap::Args)]
pub struct KeyArgs {
    /// The key: a PEM, OpenSSH or minisign private key file; a public key file whose private half
    /// an SSH agent holds; or `cmd:COMMAND`, which gets the bytes to sign on standard input and
    /// writes the signature (with --public-key).
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    /// The public key of a `cmd:` key.
    #[arg(long, value_name = "FILE")]
    pub public_key: Option<PathBuf>,
    #[command(flatten)]
    pub passphrase: PassphraseArgs,
}

/// An opened key that can sign.
pub enum OpenKey {
    /// A key in memory.
    Private(Box<PrivateKey>),
    /// A key held by an agent or a command.
    Remote(Box<dyn Signer>),
}

impl OpenKey {
    /// What signs with this key.
    pub fn signer(&self) -> &dyn Signer {
        match self {
            Self::Private(key) => key.as_ref(),
            Self::Remote(signer) => signer.as_ref(),
        }
    }

    /// The key id that minisign uses: the one in the key file, or the first bytes of the key's own
    /// id.
    pub fn minisign_id(&self) -> minisign::MinisignId {
        let own = match self {
            Self::Private(key) => key.minisign_id(),
            Self::Remote(_) => None,
        };
        own.unwrap_or_else(|| {
            let mut id = [0; 8];
            id.copy_from_slice(&self.signer().public_key().id().as_bytes()[..8]);
            minisign::MinisignId(id)
        })
    }
}

impl KeyArgs {
    /// Opens the key, if one was named.
    pub fn open_named(&self) -> Result<Option<OpenKey>, CliError> {
        self.key.is_some().then(|| self.open()).transpose()
    }

    /// Opens the key; an error if none was named.
    pub fn open(&self) -> Result<OpenKey, CliError> {
        let Some(spec) = &self.key else {
            return Err(CliError::usage("no key was named", "--key FILE names one"));
        };
        let public = |path: &Path| read_public_key(path).named(path.display());
        if let Some(command) = spec.strip_prefix("cmd:") {
            let path = self.public_key.as_deref().ok_or_else(|| {
                let hint = "--public-key FILE names the key that the command signs with";
                CliError::usage("a `cmd:` key needs its public key", hint)
            })?;
            let signer = CommandSigner::new(command.to_owned(), public(path)?);
            return Ok(OpenKey::Remote(Box::new(signer)));
        }
        let path = Path::new(spec.strip_prefix("agent:").unwrap_or(spec));
        let mut ask = || self.passphrase.read(spec);
        match open_private_key(path, &mut ask) {
            Ok((key, warning)) => {
                if let Some(KeyWarning::ReadableByOthers { mode }) = warning {
                    ui::tell(&format!(
                        "warning: others can read the key `{spec}` (mode {mode:03o}); `chmod 600` it"
                    ));
                }
                Ok(OpenKey::Private(Box::new(key)))
            }
            // A public key whose private half an agent holds.
            Err(KeyFileError::Key {
                error: KeyError::NoPrivateKey,
                ..
            }) if read_public_key(path).is_ok() => {
                let socket = std::env::var_os("SSH_AUTH_SOCK").ok_or_else(|| {
                    CliError::new(Outcome::Unreadable, "AGENT", "no SSH agent is running")
                        .at(spec)
                        .hint("a public key signs through the agent that SSH_AUTH_SOCK names")
                })?;
                let signer = AgentSigner::new(PathBuf::from(socket), public(path)?);
                Ok(OpenKey::Remote(Box::new(signer)))
            }
            Err(error) => Err(CliError::within(error, spec)),
        }
    }
}

/// Reads the public key in a file.
pub fn open_public_key(path: &Path) -> Result<PublicKey, CliError> {
    read_public_key(path).named(path.display())
}

/// Reads the policy in a file, at the newest version that its chain proves at `now`.
pub fn open_policy(path: &Path, now: i64) -> Result<LoadedPolicy, CliError> {
    load_policy(path, now).named(path.display())
}

/// The trust policy and the time at which it is applied.
#[derive(Debug, clap::Args)]
pub struct TrustArgs {
    /// The trust policy that must accept it (docs/trust.md); with `<POLICY>.chain` next to it, the newest
    /// version that the chain proves.
    #[arg(long = "trust", value_name = "POLICY")]
    policy: Option<PathBuf>,
    /// The time at which the policy is asked, in UTC; by default now.
    #[arg(long, value_name = "TIME", requires = "policy")]
    at: Option<String>,
}

/// An opened policy, and the time at which it is applied.
#[derive(Default)]
pub struct OpenTrust {
    /// The policy, if one was named.
    pub policy: Option<LoadedPolicy>,
    now: i64,
}

impl TrustArgs {
    /// The policy's file, if one was named.
    pub fn policy_file(&self) -> Option<&Path> {
        self.policy.as_deref()
    }

    /// Opens the policy. Without one, nothing depends on the time and the clock is not read.
    pub fn open(&self) -> Result<OpenTrust, CliError> {
        let Some(policy) = &self.policy else {
            return Ok(OpenTrust::default());
        };
        let now = trust_time(self.at.as_deref())?;
        let policy = Some(open_policy(policy, now)?);
        Ok(OpenTrust { policy, now })
    }
}

impl OpenTrust {
    /// The question that is asked about each path.
    pub fn question(&self) -> TrustQuestion<'_> {
        TrustQuestion {
            policy: self.policy.as_ref(),
            keys: &[],
            now: self.now,
            log: None,
        }
    }
}

/// The time that `--at` gives, else the current time, in milliseconds since 1970.
pub fn trust_time(at: Option<&str>) -> Result<i64, CliError> {
    if let Some(text) = at {
        return parse_utc(text).ok_or_else(|| {
            let hint = "a time is written in UTC, such as 2026-01-01T00:00:00Z";
            CliError::usage(format!("`{}` is not a time", text.escape_debug()), hint)
        });
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.map_err(|_| before_1970())?;
    Ok(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// The error for a system clock before 1970.
pub fn before_1970() -> CliError {
    CliError::new(Outcome::Unreadable, "CLOCK", "the clock is set before 1970")
        .hint("set the clock; a signature with a wrong time is worth less than none")
}
