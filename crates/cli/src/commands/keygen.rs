//! `runseal keygen`: a new signing key.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Value};
use runseal_core::verify::Outcome;
use runseal_fs::atomic::{self, Readers};
use runseal_fs::keys::{fill_random, generate_seed};
use runseal_trust::encoding::encode_hex;
use runseal_trust::keys::{Algorithm, KeyError, PrivateKey, Signer as _, minisign, ssh};
use zeroize::Zeroizing;

use crate::error::CliError;
use crate::signing::PassphraseArgs;
use crate::ui;

/// Make a new key for signing; prints its public key.
///
/// The file is readable by its owner alone and never overwrites another. OpenSSH and minisign keys get their
/// public key next to them, as `<FILE>.pub`; so do the others with --public. With `-o -` the private key goes
/// to standard output and the public key to standard error.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  runseal keygen -o key.pem\n  runseal keygen -o key.pem --type ecdsa-p256 --passphrase-file phrase.txt\n  runseal keygen -o - | vault store"
)]
pub struct Args {
    /// The file to make, readable by you alone and never overwritten; `-` means standard output.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// How the key is written.
    #[arg(long, value_enum, default_value_t = KeyFormat::Pem)]
    format: KeyFormat,
    /// What the key signs with.
    #[arg(long = "type", value_enum, default_value_t = KeyType::Ed25519)]
    kind: KeyType,
    /// Protect the key with a passphrase; asked for on the terminal if no file is named.
    #[arg(long)]
    encrypt: bool,
    #[command(flatten)]
    passphrase: PassphraseArgs,
    /// Write the public key to `<FILE>.pub` as well.
    #[arg(long)]
    public: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum KeyFormat {
    /// PKCS #8 PEM, which openssl reads too.
    Pem,
    /// OpenSSH, which ssh-keygen and ssh-agent read too.
    Openssh,
    /// minisign, which minisign reads too.
    Minisign,
    /// 64 hex digits and LF.
    Hex,
    /// The 32 bytes.
    Raw,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum KeyType {
    /// Ed25519.
    Ed25519,
    /// ECDSA on P-256.
    EcdsaP256,
}

fn no_key(message: impl ToString) -> CliError {
    CliError::new(Outcome::Internal, "KEY", message.to_string())
}

fn generate(kind: KeyType) -> Result<PrivateKey, CliError> {
    // A random number is out of range for P-256 about once in 2^32 times.
    for _ in 0..16 {
        let seed = Zeroizing::new(generate_seed().map_err(no_key)?);
        let key = match kind {
            KeyType::Ed25519 => PrivateKey::from_ed25519_seed(&seed),
            KeyType::EcdsaP256 => PrivateKey::from_p256_number(seed.as_slice()),
        };
        if let Ok(key) = key {
            return Ok(key);
        }
    }
    Err(no_key("the system's random numbers did not make a key"))
}

/// The private key file, and the public one if the format has one.
fn encode(
    args: &Args,
    key: &PrivateKey,
    passphrase: Option<&[u8]>,
) -> Result<(Zeroizing<Vec<u8>>, String), CliError> {
    let fail = |error: KeyError| no_key(error);
    let (mut salt, mut short, mut id) = ([0; 32], [0; 20], [0; 8]);
    for bytes in [&mut salt[..], &mut short[..], &mut id[..]] {
        fill_random(bytes).map_err(no_key)?;
    }
    let public = key.public_key();
    let ssh_line = format!("{}\n", ssh::format_public_line(public));
    let seed = key.ed25519_seed();
    let needs_seed = || {
        let hint = "--format pem or --format openssh do";
        CliError::usage("this format has no ECDSA keys", hint)
    };
    let text = |text: Zeroizing<String>| Zeroizing::new(text.as_bytes().to_vec());
    Ok(match args.format {
        KeyFormat::Pem => (
            text(key.to_pem(passphrase, &salt).map_err(fail)?),
            public.to_pem(),
        ),
        KeyFormat::Openssh => {
            let file = ssh::encode_private(key, passphrase, "runseal", &short).map_err(fail)?;
            (text(file), ssh_line)
        }
        KeyFormat::Minisign => {
            let id = minisign::MinisignId(id);
            let public = minisign::format_public(public, id).ok_or_else(needs_seed)?;
            let file = minisign::encode_private(key, id, passphrase, &salt).map_err(fail)?;
            (text(file), public)
        }
        KeyFormat::Hex => {
            let seed = seed.ok_or_else(needs_seed)?;
            let line = format!("{}\n", encode_hex(seed.as_slice()));
            (Zeroizing::new(line.into_bytes()), public.to_pem())
        }
        KeyFormat::Raw => {
            let seed = seed.ok_or_else(needs_seed)?;
            (Zeroizing::new(seed.to_vec()), public.to_pem())
        }
    })
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let is_encrypted = args.encrypt || args.passphrase.is_given();
    if is_encrypted && matches!(args.format, KeyFormat::Hex | KeyFormat::Raw) {
        let hint = "--format pem, openssh or minisign do";
        return Err(CliError::usage("this format has no encrypted keys", hint));
    }
    let passphrase = if is_encrypted {
        let shown = args.output.display().to_string();
        let read = args.passphrase.read(&shown);
        let read = read.map_err(|fault| {
            CliError::new(Outcome::Unreadable, "PASSPHRASE", fault)
                .hint("--passphrase-file or --passphrase-fd give it without a terminal")
        })?;
        if read.is_empty() {
            return Err(CliError::usage(
                "the passphrase is empty",
                "leave --encrypt out",
            ));
        }
        Some(read)
    } else {
        None
    };
    let key = generate(args.kind)?;
    let (private, public) = encode(
        args,
        &key,
        passphrase.as_ref().map(|phrase| phrase.as_slice()),
    )?;
    let public_key = match key.public_key().algorithm() {
        Algorithm::Ed25519 => encode_hex(key.public_key().point()),
        Algorithm::EcdsaP256 => key.public_key().to_pem(),
    };
    let scheme = key.public_key().algorithm().name();
    if args.output == Path::new("-") {
        ui::print_bytes(&private)?;
        ui::tell(&format!("public_key: {public_key} ({scheme})"));
        return Ok(Outcome::Valid);
    }
    write_new(&args.output, &private, Readers::Owner)?;
    if args.public || matches!(args.format, KeyFormat::Openssh | KeyFormat::Minisign) {
        let mut name = args.output.clone().into_os_string();
        name.push(".pub");
        write_new(Path::new(&name), public.as_bytes(), Readers::AsUmask)?;
    }
    let printed = Value::object([
        ("key_id", key.public_key().id().to_string()),
        ("public_key", public_key),
        ("scheme", scheme.to_owned()),
    ]);
    ui::print_json(&printed, Dialect::Kernel)?;
    Ok(Outcome::Valid)
}

fn write_new(path: &Path, bytes: &[u8], readers: Readers) -> Result<(), CliError> {
    atomic::write_new(path, bytes, readers).map_err(|error| {
        let (code, message) = match error.source.kind() {
            ErrorKind::AlreadyExists => ("EXISTS", "something is there already".to_owned()),
            _ => ("WRITE", error.source.to_string()),
        };
        CliError::new(Outcome::Unreadable, code, message)
            .at(path.display().to_string())
            .hint("a key is never overwritten; name a file that does not exist")
    })
}
