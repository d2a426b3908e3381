//! `runseal redact`: a copy without confidential parts that still verifies.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_core::formats::redacted::documents::{REDACTED, Withheld};
use runseal_core::source::SourceError;
use runseal_core::verify::Outcome;
use runseal_fs::atomic::write_bytes;
use runseal_fs::input::read_file;
use runseal_fs::signing::{SignatureForm, path_beside};
use runseal_fs::staging::{Place, StagingError, check_place};
use runseal_redact::{
    Drop, DropKind, Original, Profile, RedactError, RedactionPlan, SealingSeed, disclose_values,
    is_redactable, new_seed, plan_redaction, read_seed, redact_bundle, seed_beside, write_private,
};
use runseal_trust::dsse::Envelope;

use crate::error::{CliError, Named};
use crate::inside::refuse_inside;
use crate::output::file_named;
use crate::places::{Outgoing, bring_here, check_outside_archive, files_for, write_beside};
use crate::signing::KeyArgs;
use crate::ui;

/// The reason that is recorded when none is given.
const NO_REASON: &str = "withheld by its holder";

/// The hint for a missing seed.
const SEED_HINT: &str = "--seed FILE names the seed that was kept when the bundle was sealed";

/// The most places with withheld texts that are reported one by one.
const MAX_REPEATED: usize = 20;

/// Make a copy that withholds values or files and still verifies.
///
/// The bundle was sealed with --redactable. PLACE is a file (`artifacts/log.txt`), or a value in a JSON
/// document by its pointer (`RUN_INPUT.json#/context/name`); `*`, `**` and `?` are patterns in both. Every
/// digest of what is withheld is withheld too, wherever it is, with the size next to it: from them a short
/// value could be guessed. Places that are shown but contain a withheld text are reported. Signatures next to
/// the bundle are valid for the copy too and are put next to it.
///
/// Exit 0: the copy is made; prints what is withheld. Exit 1: a place fits nothing or must stay.
/// Exit 2: the bundle or seed cannot be used, or OUT exists. Nothing is written then.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  runseal redact RUN_BUNDLE/run_1 --seed RUN_BUNDLE/run_1.seed --drop 'RUN_INPUT.json#/context/*' --reason personal -o shared/run_1\n  runseal redact run_1 --profile privacy.toml --plan\n  runseal redact run_1 --disclose 'RUN_INPUT.json#/context/city' -o city.json"
)]
pub struct Args {
    /// The bundle.
    #[arg(value_name = "BUNDLE")]
    bundle: PathBuf,
    /// The seed that the bundle was sealed with; by default `<BUNDLE>.seed`.
    #[arg(long, value_name = "FILE")]
    seed: Option<PathBuf>,
    /// What to withhold; may be repeated.
    #[arg(long, value_name = "PLACE", num_args = 1..)]
    drop: Vec<String>,
    /// Withhold strings and numbers, and files that are not JSON, in which this regular expression is found.
    #[arg(long = "match", value_name = "REGEX")]
    pattern: Vec<String>,
    /// Why, as readers of the copy will see it.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// A profile: places and patterns with reasons (docs/redaction.md).
    #[arg(long, value_name = "FILE")]
    profile: Vec<PathBuf>,
    /// Say what would be withheld, and which rules can then no longer be checked; write nothing.
    #[arg(long)]
    plan: bool,
    /// Write the value at PLACE with its proof, for `runseal unredact --with`; may be repeated.
    #[arg(long, value_name = "PLACE", num_args = 1.., conflicts_with_all = ["drop", "pattern", "profile", "plan"])]
    disclose: Vec<String>,
    /// Instead of a copy, write this document of the bundle as an SD-JWT (RFC 9901), signed with --key; what
    /// would disclose each withheld value is written to `<OUT>.disclosures`, for you.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["plan", "disclose"])]
    sd_jwt: Option<String>,
    #[command(flatten)]
    key: KeyArgs,
    /// The copy; the disclosure's file with --disclose (`-` means standard output), the token's with --sd-jwt.
    #[arg(short, long, value_name = "OUT", required_unless_present = "plan")]
    output: Option<PathBuf>,
}

/// Whether what is sealed can be redacted later.
#[derive(Debug, clap::Args)]
pub struct RedactableArgs {
    /// Commit to every value with salts, so that parts can be withheld later (docs/redaction.md). The seed is
    /// kept next to what is sealed, as `<bundle>.seed`, for you alone.
    #[arg(long)]
    redactable: bool,
    /// The seed to commit with, instead of a new one.
    #[arg(long, value_name = "FILE", requires = "redactable")]
    seed: Option<PathBuf>,
}

impl RedactableArgs {
    /// Where a bundle made with these options goes. A new seed is written next to its bundle, and
    /// only a folder on this machine is private enough for that.
    pub fn outgoing(&self, target: &Path) -> Result<Outgoing, CliError> {
        refuse_inside(target)?;
        let outgoing = Outgoing::begin(target)?;
        if outgoing.is_elsewhere() && self.redactable && self.seed.is_none() {
            return Err(CliError::usage(
                "a new seed would be kept next to the bundle, where others can read it",
                "--seed FILE names a seed on this machine",
            ));
        }
        Ok(outgoing)
    }

    /// Makes or reads the seed, if one was asked for.
    pub fn open(&self) -> Result<Option<SealingSeed>, CliError> {
        if !self.redactable {
            return Ok(None);
        }
        let (seed, is_new) = match &self.seed {
            Some(path) => (read_seed(path), false),
            None => (new_seed(), true),
        };
        let seed = seed.named("--seed")?;
        Ok(Some(SealingSeed { seed, is_new }))
    }
}

fn drops(args: &Args) -> Result<Vec<Drop>, CliError> {
    let reason = args.reason.clone().unwrap_or_else(|| NO_REASON.to_owned());
    if reason.trim().is_empty() || reason.chars().any(char::is_control) {
        let hint = "leave it out, or say why in a line";
        return Err(CliError::usage("--reason takes a line of text", hint));
    }
    let place = |text: &String| DropKind::Place(text.clone());
    let pattern = |text: &String| DropKind::Match(text.clone());
    let kinds = args.drop.iter().map(place);
    let kinds = kinds.chain(args.pattern.iter().map(pattern));
    let mut drops: Vec<Drop> = kinds
        .map(|kind| Drop {
            kind,
            reason: reason.clone(),
        })
        .collect();
    for path in &args.profile {
        let bytes = read_file(path, 1 << 20)?;
        let profile = Profile::parse(&String::from_utf8_lossy(&bytes)).map_err(|error| {
            CliError::new(Outcome::Unreadable, "PROFILE", error.to_string())
                .at(path.display().to_string())
                .hint("docs/redaction.md shows one")
        })?;
        drops.extend(profile.drops);
    }
    if drops.is_empty() {
        let hint = "--drop PLACE, --match REGEX or --profile FILE say what";
        return Err(CliError::usage("there is nothing to withhold", hint));
    }
    Ok(drops)
}

fn places_json(withheld: &[Withheld]) -> Value {
    Value::array(
        withheld.iter().map(|place| {
            Value::object([("place", place.place()), ("reason", place.reason.clone())])
        }),
    )
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let is_printed = args.output.is_some() && file_named(args.output.as_deref()).is_none();
    if is_printed && args.disclose.is_empty() && !args.plan {
        return Err(CliError::usage(
            "a copy is a folder, and a token has a file of disclosures next to it",
            "-o names where it goes; only what --disclose writes can be printed",
        ));
    }
    let shown = args.bundle.display().to_string();
    let fail = |error| CliError::within(error, &shown);
    check_outside_archive(&args.bundle)?;
    let here = bring_here(&args.bundle)?;
    let bundle = here.as_ref().map_or(&args.bundle, |(_, bundle)| bundle);
    let drops = if args.disclose.is_empty() {
        drops(args)?
    } else {
        Vec::new()
    };
    if let Err(error) = bundle.metadata() {
        let path = shown.clone();
        let missing = SourceError::NotFound { path: path.clone() };
        return Err(match error.kind() {
            ErrorKind::NotFound => missing.into(),
            _ => SourceError::Io {
                path,
                source: error,
            }
            .into(),
        });
    }
    let seed = args.seed.clone();
    let seed = seed.unwrap_or_else(|| seed_beside(&args.bundle));
    let seed = match read_seed(&seed) {
        Err(RedactError::Source(SourceError::NotFound { .. }))
            if bundle.is_dir() && !is_redactable(bundle).map_err(fail)? =>
        {
            return Err(fail(RedactError::NotRedactable));
        }
        Err(RedactError::Source(SourceError::NotFound { .. }))
            if bundle.join(REDACTED).exists() =>
        {
            return Err(fail(RedactError::AlreadyRedacted));
        }
        Err(RedactError::Source(error @ SourceError::NotFound { .. })) => {
            return Err(CliError::from(error).hint(SEED_HINT));
        }
        other => other.named(seed.display())?,
    };
    if let Some(out) = file_named(args.output.as_deref()) {
        refuse_inside(out)?;
    }
    let original = Original::open(bundle, seed).map_err(fail)?;
    if let (false, Some(out)) = (args.disclose.is_empty(), &args.output) {
        let disclosure = disclose_values(&original, &args.disclose).map_err(fail)?;
        let bytes = canonical_bytes(&disclosure, Dialect::Jcs)
            .map_err(|error| CliError::internal(error.to_string()))?;
        if file_named(Some(out)).is_none() {
            ui::print_bytes(&bytes)?;
            return Ok(Outcome::Valid);
        }
        check_free(out)?;
        write_bytes(out, &bytes)?;
        ui::print_line(&out.display().to_string())?;
        return Ok(Outcome::Valid);
    }
    let plan = plan_redaction(&original, &drops).map_err(fail)?;
    for name in &plan.visible_names {
        ui::tell(&format!(
            "warning: the name `{}` has a match and stays: names of files and members are not withheld",
            name.escape_debug()
        ));
    }
    for name in &plan.telling_names {
        ui::tell(&format!(
            "warning: the name `{}` states a digest of what is withheld and stays: whoever guesses the \
             content can check it",
            name.escape_debug()
        ));
    }
    for place in plan.repeated.iter().take(MAX_REPEATED) {
        ui::tell(&format!(
            "warning: `{}` is shown, but contains a text that is withheld elsewhere",
            place.escape_debug()
        ));
    }
    if let more @ 1.. = plan.repeated.len().saturating_sub(MAX_REPEATED) {
        ui::tell(&format!("warning: so do {more} more places"));
    }
    for place in plan.unsearched.iter().take(MAX_REPEATED) {
        ui::tell(&format!(
            "warning: `{}` is shown and could not be searched for what is withheld: it is compressed, \
             encrypted or a picture",
            place.escape_debug()
        ));
    }
    if let more @ 1.. = plan.unsearched.len().saturating_sub(MAX_REPEATED) {
        ui::tell(&format!("warning: neither could {more} more places"));
    }
    let mut answer = Value::object([("withheld", places_json(&plan.withheld))]);
    answer.insert("unchecked", Value::array(plan.unchecked.iter().copied()));
    if let (Some(path), Some(out)) = (&args.sd_jwt, &args.output) {
        write_token(args, &original, &plan, path, out)?;
    } else if let (false, Some(out)) = (args.plan, &args.output) {
        let signatures = signatures_for(args, &original, &plan, out)?;
        let outgoing = Outgoing::begin(out)?;
        let place = outgoing.place();
        let (withheld, all) = redact_bundle(&original, &plan, &place).map_err(fail)?;
        outgoing.finish(&place)?;
        answer.insert("path", out.display().to_string());
        answer.insert("redacted", withheld);
        answer.insert("values", all);
        if let Some((to, bytes)) = signatures {
            write_beside(&to, &bytes, None)?;
        }
    }
    ui::print_json(&answer, Dialect::Kernel)?;
    Ok(Outcome::Valid)
}

/// Writes a document as a token, and its disclosures to a file that only its owner can read.
fn write_token(
    args: &Args,
    original: &Original,
    plan: &RedactionPlan,
    path: &str,
    out: &Path,
) -> Result<(), CliError> {
    let key = args.key.open()?;
    let (token, disclosures) = plan
        .encode_sd_jwt(original, path, key.signer())
        .named(path)?;
    let mut kept = String::new();
    for disclosure in disclosures {
        kept.push_str(&format!(
            "{path}#{} {}\n",
            disclosure.pointer, disclosure.text
        ));
    }
    let mut beside = out.as_os_str().to_owned();
    beside.push(".disclosures");
    let beside = Path::new(&beside);
    check_free(out)?;
    check_free(beside)?;
    write_private(beside, kept.as_bytes())?;
    write_bytes(out, token.as_bytes()).map_err(|error| {
        // Without their token, they are secrets that nobody looks for.
        let _ = std::fs::remove_file(beside);
        CliError::from(error)
    })
}

/// Fails if something is already at a path that is to be written.
fn check_free(path: &Path) -> Result<(), CliError> {
    let free = check_place(path, Place::Free);
    free.named(path.display())
}

/// Where the signatures of a copy go; fails if there are some already, which may be those of something
/// else.
pub fn free_beside(out: &Path) -> Result<PathBuf, CliError> {
    let to = path_beside(out, SignatureForm::Dsse);
    if files_for([to.as_path()]).is_there(&to) {
        let taken = RedactError::from(StagingError::Exists(to.clone()));
        Err(CliError::within(taken, out.display()))
    } else {
        Ok(to)
    }
}

/// The statements that were signed about the bundle and reveal nothing, and the file next to the copy that
/// they go to.
fn signatures_for(
    args: &Args,
    original: &Original,
    plan: &RedactionPlan,
    out: &Path,
) -> Result<Option<(PathBuf, Vec<u8>)>, CliError> {
    let from = path_beside(&args.bundle, SignatureForm::Dsse);
    let limit = runseal_trust::limits::MAX_SIGNATURE_FILE_BYTES;
    let Ok(bytes) = files_for([from.as_path()]).read(&from, limit) else {
        return Ok(None);
    };
    let mut kept = Vec::new();
    for line in bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let envelope = Envelope::parse(line).ok();
        let gives_away = |envelope: Envelope| {
            plan.gives_away(original, &envelope.payload) || plan.gives_away(original, line)
        };
        if envelope.is_some_and(|envelope| !gives_away(envelope)) {
            kept.extend_from_slice(line);
            kept.push(b'\n');
        } else {
            ui::tell(
                "warning: a signature states something withheld, or a digest of it; it was left behind",
            );
        }
    }
    if kept.is_empty() {
        Ok(None)
    } else {
        Ok(Some((free_beside(out)?, kept)))
    }
}
