//! `runseal keygen`: a new signing key.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Value};
use runseal_core::formats::receipt::attestation::{Key, encode_hex};
use runseal_core::verify::Outcome;
use runseal_engine::keys::generate_seed;

use crate::error::CliError;
use crate::ui;

/// Make a new ed25519 key for signing receipts; prints its public key.
///
/// With `-o -` the private key goes to standard output and the public key to standard error.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  runseal keygen -o key.pem\n  runseal keygen -o - | vault store"
)]
pub struct Args {
    /// The file to make, readable by you alone and never overwritten; standard output where `-`.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// How the key is written.
    #[arg(long, value_enum, default_value_t = KeyFormat::Pem)]
    format: KeyFormat,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum KeyFormat {
    /// PKCS #8 PEM, which openssl reads too.
    Pem,
    /// 64 hex digits and LF.
    Hex,
    /// The 32 bytes.
    Raw,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let no_key = |message: String| CliError::new(Outcome::Internal, "KEY", message);
    let seed = generate_seed().map_err(|error| no_key(error.to_string()))?;
    let bytes = match args.format {
        KeyFormat::Pem => Key::seed_to_pem(&seed)
            .ok_or_else(|| no_key("the key has no PEM form".to_owned()))?
            .into_bytes(),
        KeyFormat::Hex => format!("{}\n", encode_hex(&seed)).into_bytes(),
        KeyFormat::Raw => seed.to_vec(),
    };
    let public_key = Key::from_seed(&seed).public_hex();
    if args.output == Path::new("-") {
        ui::print_bytes(&bytes)?;
        ui::tell(&format!("public_key: {public_key} (ed25519)"));
        return Ok(Outcome::Valid);
    }
    write_secret(&args.output, &bytes).map_err(|error| {
        CliError::new(Outcome::Unreadable, "WRITE", error.to_string())
            .at(args.output.display().to_string())
            .hint("a key is never overwritten; name a file that does not exist")
    })?;
    let printed = Value::object([("public_key", public_key.as_str()), ("scheme", "ed25519")]);
    ui::print_json(&printed, Dialect::Kernel)?;
    Ok(Outcome::Valid)
}

fn write_secret(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
