//! `runseal sign`: signs evidence.

use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Value, canonical_digest};
use runseal_core::digest::Digest;
use runseal_core::formats::{Format, all_rules};
use runseal_core::source::SourceError;
use runseal_core::verify::catalogue;
use runseal_core::verify::{Level, Outcome};
use runseal_fs::atomic::write_bytes;
use runseal_fs::input::read_file;
use runseal_fs::signing::{Signable, SignatureForm, path_beside, path_with_name, run_filter};
use runseal_survey::signing::read_signable;
use runseal_trust::action::{ACTION_PREDICATE, ActionDraft, ActionError, write_action};
use runseal_trust::check::{FoundSignature, read_signatures};
use runseal_trust::dsse::{Envelope, IN_TOTO};
use runseal_trust::keys::{PublicKey, minisign, sshsig};
use runseal_trust::limits::{MAX_SIGNATURE_FILE_BYTES, MAX_TOKEN_BYTES};
use runseal_trust::predicate::{
    RUN_PREDICATE, SLSA_PROVENANCE, Signing, Verification, run_predicate, slsa_provenance,
};
use runseal_trust::sigstore::encode_keyed_bundle;
use runseal_trust::statement::{Statement, Subject, Target};
use runseal_trust::timestamp::{Token, encode_request};

use crate::clock;
use crate::error::{CliError, Named};
use crate::inside::refuse_inside;
use crate::output::file_named;
use crate::places::{files_for, write_beside};
use crate::signing::{KeyArgs, OpenKey, before_1970};
use crate::ui;

/// Sign it: say with a key that you made, reviewed or approved it.
///
/// Writes a DSSE envelope around an in-toto statement next to PATH, as `<PATH>.intoto.jsonl`; an existing
/// signature stays, and the new one says that it follows it. What is signed is not changed. Signing it again
/// later with a reply of a time stamping authority (--timestamp) adds the reply to the signature that it is
/// over.
///
/// Exit 0: signed; prints the file. Exit 1: it does not verify. Exit 2: it could not be signed. Nothing is
/// written then.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  runseal sign RUN_BUNDLE/run_1 --key key.pem --as \"Ada Lovelace\" --meaning reviewer\n  runseal sign run_1 --key ~/.ssh/id_ed25519 --form ssh\n  runseal sign run_1 --timestamp reply.tsr"
)]
pub struct Args {
    /// What to sign.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    key: KeyArgs,
    /// Who signs, in your words; a policy has its own name for the key. --form ssh and --predicate slsa
    /// have no room for it.
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// What the signature means: author, reviewer, approver, or anything else. --form ssh and the predicates
    /// slsa and agent-action have no room for it.
    #[arg(long, value_name = "TEXT")]
    meaning: Option<String>,
    /// How the signature is written.
    #[arg(long, value_enum, default_value_t = FormArg::Dsse)]
    form: FormArg,
    /// What is said about what is signed, with --form dsse or sigstore.
    #[arg(long, value_enum, default_value_t = PredicateArg::Run)]
    predicate: PredicateArg,
    /// How long the run took; no bundle records it, so this is your word (--predicate
    /// agent-action).
    #[arg(long, value_name = "N")]
    duration_ms: Option<u64>,
    /// A time stamping authority's reply (RFC 3161) to put onto the signature that it is over.
    #[arg(long, value_name = "FILE", conflicts_with = "tsa_cmd")]
    timestamp: Option<PathBuf>,
    /// A command that gets a time stamp request on standard input and writes the reply.
    #[arg(long, value_name = "CMD")]
    tsa_cmd: Option<String>,
    /// Also write a time stamp request to carry to an authority; for one PATH.
    #[arg(long, value_name = "FILE")]
    timestamp_request: Option<PathBuf>,
    /// Write the signature next to what is signed; no format has room for one inside, so this is what happens
    /// anyway.
    #[arg(long)]
    detached: bool,
    /// Sign what does not verify too; the signature then says so.
    #[arg(long)]
    even_if_invalid: bool,
    /// The signature's file, instead of the one next to PATH; `-` means standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FormArg {
    /// DSSE around an in-toto statement.
    Dsse,
    /// A keyed sigstore bundle, version 0.3.
    Sigstore,
    /// SSHSIG over the document or manifest, for `ssh-keygen -Y verify -n runseal`.
    Ssh,
    /// minisign over the document or manifest, for `minisign -V`.
    Minisign,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum PredicateArg {
    /// Our own: format, ids, hashes, verdict, meaning (docs/predicate.md).
    Run,
    /// SLSA provenance, version 1, of a run bundle.
    Slsa,
    /// The proposed ai-agent-action, version 0.1, of a run bundle; needs an ed25519 key and
    /// --duration-ms.
    AgentAction,
}

impl FormArg {
    const fn form(self) -> SignatureForm {
        match self {
            Self::Dsse => SignatureForm::Dsse,
            Self::Sigstore => SignatureForm::Sigstore,
            Self::Ssh => SignatureForm::Ssh,
            Self::Minisign => SignatureForm::Minisign,
        }
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    check_args(args)?;
    check_said(args)?;
    let key = match (&args.key.key, &args.timestamp) {
        (None, Some(_)) => None,
        _ => Some(args.key.open()?),
    };
    // Make all signatures before any is written.
    let mut made = Vec::new();
    for path in &args.paths {
        let file = match &args.output {
            Some(file) => file.clone(),
            None => {
                let files = files_for([path.as_path()]);
                path_beside(&path_with_name(files, path), args.form.form())
            }
        };
        refuse_inside(&file)?;
        let earlier = read_earlier(&file)?;
        let bytes = match &key {
            None => stamp(args, &file, earlier.as_deref())?,
            Some(key) => sign(args, path, &file, (key, earlier.clone()))?,
        };
        made.push((file, (bytes, earlier)));
    }
    for (file, (bytes, earlier)) in made {
        if file == Path::new("-") {
            ui::print_bytes(&bytes)?;
        } else {
            write_beside(&file, &bytes, earlier.as_deref())?;
            ui::print_line(&file.display().to_string())?;
        }
    }
    Ok(Outcome::Valid)
}

fn check_args(args: &Args) -> Result<(), CliError> {
    let has_time =
        args.timestamp.is_some() || args.tsa_cmd.is_some() || args.timestamp_request.is_some();
    if has_time && matches!(args.form, FormArg::Ssh | FormArg::Minisign) {
        let hint = "--form dsse and --form sigstore do";
        return Err(CliError::usage(
            "this form has no room for a timestamp",
            hint,
        ));
    }
    if args.timestamp_request.is_some() && file_named(args.timestamp_request.as_deref()).is_none() {
        return Err(CliError::usage(
            "standard output says where the signature is",
            "--timestamp-request names a file",
        ));
    }
    let is_single =
        args.output.is_some() || args.timestamp.is_some() || args.timestamp_request.is_some();
    if is_single && args.paths.len() > 1 {
        let hint = "sign one path after the other";
        return Err(CliError::usage("-o and timestamps are for one PATH", hint));
    }
    if args.paths.iter().any(|path| path == Path::new("-")) {
        return Err(CliError::usage(
            "standard input has no name to put a signature next to",
            "name a file or folder",
        ));
    }
    for text in [&args.name, &args.meaning].into_iter().flatten() {
        if text.is_empty() || text.chars().any(char::is_control) {
            return Err(CliError::usage(
                "--as and --meaning take a line of text",
                "leave it out",
            ));
        }
    }
    Ok(())
}

/// Refuses options that the signature would not carry: whoever gives one relies on it.
fn check_said(args: &Args) -> Result<(), CliError> {
    let is_plain = matches!(args.form, FormArg::Ssh | FormArg::Minisign);
    if is_plain && args.predicate != PredicateArg::Run {
        return Err(CliError::usage(
            "this form signs the document or manifest and carries no predicate",
            "--form dsse and --form sigstore do",
        ));
    }
    let (has_name, has_meaning) = match (args.form, args.predicate) {
        (FormArg::Ssh, _) | (_, PredicateArg::Slsa) => (false, false),
        (_, PredicateArg::AgentAction) => (true, false),
        (_, PredicateArg::Run) => (true, true),
    };
    let unsaid = [
        (args.name.is_some() && !has_name, "--as"),
        (args.meaning.is_some() && !has_meaning, "--meaning"),
    ];
    if let Some((_, option)) = unsaid.into_iter().find(|(is_unsaid, _)| *is_unsaid) {
        return Err(CliError::usage(
            format!("this signature would not say what {option} gives"),
            "--form dsse, sigstore or minisign with --predicate run carries both",
        ));
    }
    if args.duration_ms.is_some() && args.predicate != PredicateArg::AgentAction {
        return Err(CliError::usage(
            "--duration-ms goes with --predicate agent-action",
            "no other predicate states a duration: leave it out",
        ));
    }
    Ok(())
}

/// The new content of the signature file.
fn sign(
    args: &Args,
    path: &Path,
    file: &Path,
    (key, earlier): (&OpenKey, Option<Vec<u8>>),
) -> Result<Vec<u8>, CliError> {
    if let (Some(_), FormArg::Sigstore | FormArg::Ssh | FormArg::Minisign) = (&earlier, args.form) {
        return Err(CliError::new(
            Outcome::Unreadable,
            "EXISTS",
            "a signature is there already",
        )
        .at(file.display().to_string())
        .hint("files of this form hold one signature; name another file with -o"));
    }
    // A reply for an earlier signature is added to that signature; nothing new is signed.
    if args.timestamp.is_some() && earlier.is_some() {
        return stamp(args, file, earlier.as_deref());
    }
    let signable =
        read_signable(files_for([path]), path, Level::Integrity).named(path.display())?;
    if !signable.is_valid && !args.even_if_invalid {
        return Err(CliError::new(
            Outcome::Invalid,
            "INVALID",
            "it does not verify, so it was not signed",
        )
        .at(path.display().to_string())
        .hint("`runseal verify` says what is wrong; --even-if-invalid signs it all the same"));
    }
    let plain = &signable.target.plain;
    match args.form {
        FormArg::Ssh => {
            let text = sshsig::sign(key.signer(), plain)?;
            Ok(text.into_bytes())
        }
        FormArg::Minisign => {
            let comment = comment(args, &signable);
            let text = minisign::sign(key.signer(), key.minisign_id(), plain, &comment);
            Ok(text?.into_bytes())
        }
        FormArg::Dsse | FormArg::Sigstore => {
            let envelope = sign_statement(args, &signable, key, earlier.as_deref())?;
            let envelope = add_time(args, envelope)?;
            write_form(args, &envelope, key, earlier)
        }
    }
}

/// The trusted comment, which minisign signs together with the file.
fn comment(args: &Args, signable: &Signable) -> String {
    let mut parts = vec![format!("runseal {}", signable.format.name())];
    parts.extend(args.name.iter().map(|name| format!("by {name}")));
    parts.extend(args.meaning.iter().map(|meaning| format!("as {meaning}")));
    parts.join(" ")
}

fn read_earlier(file: &Path) -> Result<Option<Vec<u8>>, CliError> {
    if file == Path::new("-") {
        return Ok(None);
    }
    match files_for([file]).read(file, MAX_SIGNATURE_FILE_BYTES) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(SourceError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn envelopes_in(bytes: &[u8], file: &Path) -> Result<Vec<Envelope>, CliError> {
    let name = file.display().to_string();
    let found = read_signatures(&name, bytes).map_err(|error| {
        CliError::new(Outcome::Unreadable, "SIGNATURES", error.to_string()).at(&name)
    })?;
    let envelopes = found.into_iter().filter_map(|found| match found.signature {
        FoundSignature::Envelope(envelope) => Some(envelope),
        _ => None,
    });
    Ok(envelopes.collect())
}

fn sign_statement(
    args: &Args,
    signable: &Signable,
    key: &OpenKey,
    earlier: Option<&[u8]>,
) -> Result<Envelope, CliError> {
    let earlier = match earlier {
        Some(bytes) => envelopes_in(bytes, Path::new("the signature file"))?,
        None => Vec::new(),
    };
    let now = clock::now()?.to_iso();
    if now.as_str() < "1970" {
        return Err(before_1970());
    }
    let signing = Signing {
        name: args.name.clone(),
        meaning: args.meaning.clone(),
        signed_at: Some(now),
        previous: earlier.last().map(Envelope::digest).into_iter().collect(),
        original: original_of(&signable.target, &earlier, key.signer().public_key()),
    };
    let verification = Verification {
        verdict: if signable.is_valid {
            "valid"
        } else {
            "invalid"
        }
        .to_owned(),
        level: "integrity".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        rules: rules_digest(signable.format),
    };
    let public = key.signer().public_key();
    if signable.target.redaction.is_some() && args.predicate != PredicateArg::Run {
        let hint = "--predicate run states none; docs/redaction.md says why";
        return Err(CliError::usage(
            "this predicate states digests of what may be withheld later",
            hint,
        ));
    }
    let mut subjects = signable.target.subjects();
    let (predicate_type, predicate) = match args.predicate {
        PredicateArg::Run => {
            let predicate = run_predicate(&signable.facts, &verification, &signing, public);
            (RUN_PREDICATE, predicate)
        }
        PredicateArg::Slsa => {
            if signable.inputs.is_empty() {
                let hint = "SLSA provenance is of run bundles; --predicate run is of everything";
                return Err(CliError::usage("it has no inputs to name", hint));
            }
            (
                SLSA_PROVENANCE,
                slsa_provenance(&signable.facts, &signable.inputs),
            )
        }
        PredicateArg::AgentAction => {
            let (chain, predicate) = action_of(args, signable, key)?;
            // Readers of that predicate take the first subject as the chain's identifier.
            subjects.insert(0, chain);
            (ACTION_PREDICATE, predicate)
        }
    };
    let statement = Statement {
        subjects,
        predicate_type: predicate_type.to_owned(),
        predicate,
    };
    let payload = statement
        .to_bytes()
        .map_err(|error| CliError::internal(error.to_string()))?;
    Envelope::sign(IN_TOTO, payload, key.signer()).map_err(CliError::from)
}

/// What a redacted copy was made from, by the newest statement next to it that the same key signed. Claims
/// of
/// others are not repeated: they would become the signer's.
fn original_of(target: &Target, earlier: &[Envelope], key: &PublicKey) -> Option<Subject> {
    target.withheld.as_ref()?;
    let (_, commitment) = target.file.as_ref()?;
    let commitment = commitment.to_string();
    earlier.iter().rev().find_map(|envelope| {
        let message = envelope.signed_bytes();
        let mut signatures = envelope.signatures.iter();
        if envelope.payload_type != IN_TOTO
            || !signatures.any(|signature| key.verifies(&message, &signature.sig))
        {
            return None;
        }
        let statement = Statement::parse(&envelope.payload).ok()?;
        statement.original_of(&commitment)
    })
}

fn action_of(
    args: &Args,
    signable: &Signable,
    key: &OpenKey,
) -> Result<(Subject, Value), CliError> {
    let Some(response) = signable.output else {
        let hint = "ai-agent-action is of run bundles; --predicate run is of everything";
        return Err(CliError::usage("it is not a run of an engine", hint));
    };
    let Some(duration_ms) = args.duration_ms else {
        let hint = "--duration-ms N says it; no bundle records how long a run took";
        return Err(CliError::usage("ai-agent-action states a duration", hint));
    };
    let draft = ActionDraft {
        duration_ms,
        response,
        principal: args.name.clone(),
        attestor: format!("runseal/{}", env!("CARGO_PKG_VERSION")),
    };
    write_action(&signable.facts, &draft, key.signer()).map_err(|error| match error {
        ActionError::Sign(error) => error.into(),
        ActionError::Algorithm(_) => CliError::new(Outcome::Unreadable, "KEY", error.to_string())
            .hint("`runseal keygen -o FILE` makes an ed25519 key"),
        other => CliError::new(Outcome::Unreadable, "PREDICATE", other.to_string())
            .hint("nothing was written"),
    })
}

/// The digest of the rules that the verdict is based on.
fn rules_digest(format: Format) -> Option<Digest> {
    let mut rules = all_rules();
    rules.retain(|rule| rule.format == format);
    canonical_digest(&catalogue::render_json(&rules), Dialect::Kernel).ok()
}

/// Adds a timestamp from an authority, or writes the request for one.
fn add_time(args: &Args, mut envelope: Envelope) -> Result<Envelope, CliError> {
    let Some(signature) = envelope.signatures.first_mut() else {
        return Ok(envelope);
    };
    let request = encode_request(&signature.sig);
    if let Some(command) = &args.tsa_cmd {
        let reply = run_filter(command, &request).map_err(|error| {
            CliError::new(Outcome::Unreadable, "TIMESTAMP", error.to_string())
                .at(command.as_str())
                .hint("nothing was written")
        })?;
        let token = Token::parse(&reply)
            .ok()
            .filter(|token| token.is_over(&signature.sig))
            .ok_or_else(|| {
                let fault = "the command's output is not a token over the signature";
                CliError::new(Outcome::Unreadable, "TIMESTAMP", fault)
                    .at(command.as_str())
                    .hint("nothing was written")
            })?;
        signature.timestamps.push(token.der().to_vec());
    }
    if let Some(file) = &args.timestamp_request {
        refuse_inside(file)?;
        write_bytes(file, &request)?;
    }
    Ok(envelope)
}

fn write_form(
    args: &Args,
    envelope: &Envelope,
    key: &OpenKey,
    earlier: Option<Vec<u8>>,
) -> Result<Vec<u8>, CliError> {
    let mut bytes = earlier.unwrap_or_default();
    if !bytes.is_empty() && bytes.last() != Some(&b'\n') {
        bytes.push(b'\n');
    }
    match args.form {
        FormArg::Sigstore => {
            let bundle = encode_keyed_bundle(envelope, key.signer().public_key());
            bytes.extend(bundle.ok_or_else(|| CliError::internal("the bundle has no form"))?);
        }
        _ => bytes.extend(envelope.to_line()),
    }
    bytes.push(b'\n');
    if bytes.len() as u64 > MAX_SIGNATURE_FILE_BYTES {
        return Err(CliError::new(
            Outcome::Unreadable,
            "TOO_LARGE",
            "the signature file is full",
        )
        .hint("name another file with -o"));
    }
    Ok(bytes)
}

/// Adds a timestamp reply to the signature that it is for.
fn stamp(args: &Args, file: &Path, earlier: Option<&[u8]>) -> Result<Vec<u8>, CliError> {
    let Some(reply) = &args.timestamp else {
        return Err(CliError::usage("no key was named", "--key FILE names one"));
    };
    let shown = reply.display().to_string();
    let fail = |message: String| {
        CliError::new(Outcome::Unreadable, "TIMESTAMP", message)
            .at(shown.clone())
            .hint("`runseal sign --timestamp-request FILE` writes the request for an authority")
    };
    let token = Token::parse(&read_file(reply, MAX_TOKEN_BYTES)?)
        .map_err(|error| fail(error.to_string()))?;
    let bytes = earlier.ok_or_else(|| {
        fail(format!(
            "`{}` has no signature to put it onto",
            file.display()
        ))
    })?;
    let mut lines = Vec::new();
    let mut is_placed = false;
    for line in bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let mut line = line.to_vec();
        if let Ok(mut envelope) = Envelope::parse(&line) {
            let mut signatures = envelope.signatures.iter_mut();
            if let Some(signature) = signatures.find(|signature| token.is_over(&signature.sig)) {
                let der = token.der().to_vec();
                if !signature.timestamps.contains(&der) {
                    signature.timestamps.push(der);
                }
                is_placed = true;
                line = envelope.to_line();
            }
        }
        lines.push(line);
    }
    if !is_placed {
        return Err(fail(
            "the token is not over any of the signatures".to_owned(),
        ));
    }
    let mut bytes = lines.join(&b'\n');
    bytes.push(b'\n');
    Ok(bytes)
}
