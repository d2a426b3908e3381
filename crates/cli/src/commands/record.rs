//! `runseal record`: runs any unchanged command, and seals what it read, wrote and printed.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use runseal_core::canon::{Dialect, Value};
use runseal_core::verify::{Outcome, one_line};
use runseal_report::reveal;
use runseal_runs::record::apply::apply_changes;
use runseal_runs::record::keep::Keep;
use runseal_runs::record::outside::Extent;
use runseal_runs::record::rules::{Origin, Rules};
use runseal_runs::record::run::{Command, Watching, policy};
use runseal_runs::record::seal::{
    RecordError, RecordRequest, SECRET_SEALED, SealedCommand, record_command,
};
use runseal_runs::record::terms::{Fate, Terms};
use runseal_runs::run::replay_render::render_varying;
use runseal_sandbox::{CancelToken, Limits, Mount};

use super::log::{LogPlace, append_target};
use super::record_error::{Doing, record_error};
use super::record_streams::{CommandStreams, pass_on};
use super::record_variables::{parse_parameters, parse_variables};
use super::record_world::{BoundArgs, ShownWorld, parse_devices, show_world, world_of_caller};
use super::redact::RedactableArgs;
use super::sandbox_level::SandboxArgs;
use super::seal::parse_run_id;
use crate::clock;
use crate::error::CliError;
use crate::inside::refuse_in;
use crate::ui;

/// The folder of bundles, unless another is named.
const DEFAULT_OUT: &str = "RUN_BUNDLE";
/// The most bytes of standard input that are passed on, unless more are asked for.
const STDIN_BYTES: u64 = 512 << 20;
/// How long a command may go on after it was interrupted.
const GRACE: Duration = Duration::from_secs(5);

/// Run any command and seal what it read, wrote and printed.
///
/// The command runs unchanged in the current folder, which it sees at its own path and can write to; what it
/// writes becomes artifacts of the bundle and, without --apply, nothing else. It has no network; with --proxy
/// it reaches models and nothing else. Every file that it reads below the folder is sealed, so that `runseal
/// replay` needs nothing but the bundle. What could not be seen is listed in it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  runseal record -- python3 analyse.py data.csv\n  \
        runseal record --input /data/set --param alpha=0.5 --times 2 -- ./simulate\n\n\
        docs/record.md walks through five of them."
)]
pub struct Args {
    /// The folder of run bundles, here or in object storage (`s3://BUCKET/PREFIX`); the new one becomes
    /// DIR/<run_id>.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_OUT)]
    out: PathBuf,
    /// The run's id; by default `run_<time>_<first 8 digits of inputs_hash>`.
    #[arg(long, value_name = "ID")]
    run_id: Option<String>,
    /// A file or folder that the command may read, also outside the current folder; what it reads of it is
    /// sealed under inputs/. May be repeated.
    #[arg(long, value_name = "PATH")]
    input: Vec<PathBuf>,
    /// A parameter: the command finds it as the variable `RUNSEAL_PARAM_K`. May be repeated.
    #[arg(long, value_name = "K=V")]
    param: Vec<String>,
    /// Which of the files that it writes are kept, by their path below the folder; a folder means everything
    /// below it. By default all. May be repeated.
    #[arg(long, value_name = "GLOB")]
    keep: Vec<String>,
    /// Files that it writes and that do not count: neither kept nor compared by a replay, not even by name.
    /// May be repeated.
    #[arg(long, value_name = "GLOB")]
    ignore: Vec<String>,
    /// How a replay compares files that it writes, or `stdout` or `stderr`: `exact` (the default), `rel:X` or
    /// `abs:X` (numbers may differ by X), `drop:REGEX` (without what matches) or `skip` (by name only). Sealed with
    /// the run's contracts. May be repeated.
    #[arg(long, value_name = "GLOB=RULE")]
    compare: Vec<String>,
    /// A variable of yours that the command gets, sealed with its value; or NAME=VALUE. May be
    /// repeated. Values that look like keys are refused.
    #[arg(long, value_name = "NAME")]
    env: Vec<String>,
    /// A variable that the command gets and whose value is not sealed. May be repeated.
    #[arg(long, value_name = "NAME")]
    secret: Vec<String>,
    /// What the command gets on standard input instead of yours; `-` is yours.
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// The bytes of standard input that the command may read, since they are sealed; it is stopped if it
    /// wants more. Takes K, M, G.
    #[arg(long, value_name = "SIZE", default_value_t = STDIN_BYTES, value_parser = parse_size)]
    stdin_bytes: u64,
    /// Run it N times and say what varies. The first run is sealed.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1000))]
    times: u32,
    /// Files that it reads and that are larger than this are not sealed, only their paths, sizes and
    /// hashes; a replay then asks for them. What it writes always is. Takes K, M, G.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    reference_above: Option<u64>,
    /// Also seal the files of the system that it reads, program loader included, so that a replay needs nothing of
    /// its machine but a kernel.
    #[arg(long)]
    self_contained: bool,
    /// Put what it wrote into the folder too, and take away what it deleted; nothing at all if one of these
    /// changed there meanwhile, or if the command failed. The folder of bundles is left alone.
    #[arg(long)]
    apply: bool,
    /// Seal the run even if the command fails; it is shown as a failed run everywhere.
    #[arg(long)]
    keep_failed: bool,
    /// Tell the command that it is this many seconds after 1970, if that is possible.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(i64).range(0..=253_402_300_799))]
    fixed_time: Option<i64>,
    /// The seconds that the command may run.
    #[arg(long, value_name = "SECONDS", default_value = "3600", value_parser = clap::value_parser!(u32).range(1..=604800))]
    timeout: u32,
    #[command(flatten)]
    bounds: BoundArgs,
    /// A file or folder of yours that does not exist for the command, beside the list in docs/world.md. May be
    /// repeated.
    #[arg(long, value_name = "PATH")]
    hide: Vec<PathBuf>,
    /// A device below /dev that the command may use, or a folder of them: `/dev/dri`, `/dev/nvidia0`. What it answers
    /// is not sealed, and a replay needs one too. May be repeated.
    #[arg(long, value_name = "PATH")]
    device: Vec<PathBuf>,
    /// Files in which what looks like a secret is sealed all the same: by their path below the folder, or
    /// absolute; also `stdout`, `stderr`, `stdin`, `terminal`, `arguments` and `parameters`. The bundle says so. May be
    /// repeated.
    #[arg(long, value_name = "GLOB")]
    allow_secret: Vec<String>,
    /// Print what the command would see of this machine, and run nothing.
    #[arg(long)]
    show_world: bool,
    #[cfg(feature = "net")]
    #[command(flatten)]
    models: super::models::ModelArgs,
    #[command(flatten)]
    redactable: RedactableArgs,
    /// Append the bundle to this transparency log, by its digests (docs/log.md).
    #[arg(long, value_name = "LOG")]
    log: Option<LogPlace>,
    /// How to print what was sealed: for people, on standard error, with the command's output on
    /// standard output; or as JSON on standard output, with the command's output on standard
    /// error. By default for people on a terminal, and as JSON elsewhere.
    #[arg(long, value_parser = ["human", "json"])]
    format: Option<String>,
    #[command(flatten)]
    sandbox: SandboxArgs,
    /// The command and its arguments, after `--`.
    #[arg(
        last = true,
        required_unless_present = "show_world",
        value_name = "COMMAND"
    )]
    command: Vec<String>,
}

/// Parses a number of bytes, optionally followed by K, M, G or T.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let shift = match unit
        .to_ascii_uppercase()
        .trim_end_matches("IB")
        .trim_end_matches('B')
    {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err(format!("`{text}` is not a size such as 500M")),
    };
    let count: u64 = digits
        .parse()
        .map_err(|_| format!("`{text}` is not a size such as 500M"))?;
    let bytes = count.checked_mul(1 << shift).filter(|bytes| *bytes > 0);
    bytes.ok_or_else(|| format!("`{text}` is too large"))
}

/// Refuses a link at the default place of the folder of bundles: whoever made the current folder may have
/// put
/// it there.
fn refuse_default_link(out: &Path) -> Result<(), CliError> {
    if out.as_os_str() != DEFAULT_OUT || !out.is_symlink() {
        return Ok(());
    }
    let message = format!("`{DEFAULT_OUT}` is a link, which is not followed unless you name it");
    let hint = format!("name the folder that you mean; `--out ./{DEFAULT_OUT}` follows the link");
    Err(CliError::new(Outcome::Unreadable, "OUT", message).hint(hint))
}

fn current_folder() -> Result<PathBuf, CliError> {
    let folder = std::env::current_dir().and_then(|folder| folder.canonicalize());
    folder.map_err(|error| {
        CliError::new(
            Outcome::Unreadable,
            "FOLDER",
            format!("the current folder cannot be read: {error}"),
        )
        .hint("change into a folder that is there and that you may read")
    })
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    if args.show_world {
        let command = args.command(current_folder()?, CommandStreams::none())?;
        let shown = ShownWorld {
            command: &command,
            level: args.sandbox.name(),
            stdin_bytes: args.stdin_bytes,
        };
        return show_world(&shown, args.is_json());
    }
    let cancel = CancelToken::on_interrupt()
        .map_err(|error| CliError::internal(format!("signals cannot be caught: {error}")))?;
    refuse_in(&args.out, &args.out)?;
    refuse_default_link(&args.out)?;
    let outgoing = args.redactable.outgoing(&args.out)?;
    let request = args.request(outgoing.folder())?;
    if let Some(log) = &args.log {
        // Report a log that cannot be opened before anything runs.
        log.open()?;
    }
    let sandbox = args.sandbox.open()?;
    let terminal = request.command.terminal.as_ref();
    let watching = Watching {
        cancel: Some(cancel.clone()),
        grace: Some(GRACE),
        on_output: (!ui::is_quiet()).then(|| pass_on(args.is_json(), terminal)),
        ..Watching::default()
    };
    let sealed = match record_command(&request, &sandbox, &watching) {
        Ok(sealed) => sealed,
        Err(error) => {
            if let RecordError::Secrets { kept: Some(_), .. } = &error {
                outgoing.keep();
            }
            return record_error(error, watching.on_output.is_some(), Doing::Record);
        }
    };
    outgoing.finish(&sealed.path)?;
    if let Some(log) = &args.log {
        append_target(log, (&sealed.path, Some(&sealed.sums)), None)?;
    }
    let outcome = args.finish(&request, &sealed)?;
    print_sealed(&sealed, args)?;
    warn_unseen(&sealed);
    if !sealed.varying.is_steady() {
        ui::tell(&render_varying(&sealed.varying, args.times));
    } else if args.times > 1 {
        let under_rules = match sealed.varying.within.is_empty() {
            true => "",
            false => " under the rules of --compare",
        };
        ui::note(&format!("{} runs gave the same{under_rules}", args.times));
    }
    Ok(outcome)
}

impl Args {
    fn request(&self, out: &Path) -> Result<RecordRequest, CliError> {
        let folder = current_folder()?;
        std::fs::read_dir(&folder).map_err(|error| {
            CliError::new(
                Outcome::Unreadable,
                "FOLDER",
                format!("the current folder cannot be read: {error}"),
            )
            .at(folder.display().to_string())
            .hint("change into a folder that you may read")
        })?;
        #[cfg(feature = "net")]
        let models = self.models.start(&[])?;
        #[cfg(not(feature = "net"))]
        let models = None;
        if models.is_some() && self.times > 1 {
            return Err(CliError::usage(
                "--times and --proxy do not go together: a model answers differently every time",
                "record once; `runseal replay --times N` shows what varies on the same answers",
            ));
        }
        let out = folder.join(out);
        let streams = CommandStreams::like_ours(self.stdin.as_deref(), self.stdin_bytes)?;
        Ok(RecordRequest {
            command: Command {
                models,
                ..self.command(folder, streams)?
            },
            out,
            run_id: self.run_id.as_deref().map(parse_run_id).transpose()?,
            terms: self.terms()?,
            reference_above: self.reference_above,
            extent: match self.self_contained {
                true => Extent::Everything,
                false => Extent::Unpackaged,
            },
            allow_secret: self.patterns("--allow-secret", &self.allow_secret)?,
            keep_failed: self.keep_failed,
            times: self.times,
            now: clock::now()?,
            redactable: self.redactable.open()?,
        })
    }

    /// What is run, and in the user's own world, with what was opened and hidden by name. It asks no models.
    fn command(&self, folder: PathBuf, streams: CommandStreams) -> Result<Command, CliError> {
        let (variables, secrets) = parse_variables(&self.env, &self.secret)?;
        let devices = parse_devices(&self.device)?;
        let mut world = world_of_caller(&folder, (&self.input, &self.hide), devices);
        // What was given by name is not left out.
        let is_given = |name: &String| variables.contains_key(name) || secrets.contains_key(name);
        world.left_out.retain(|name| !is_given(name));
        let input = |input: &PathBuf| Mount {
            host: folder.join(input),
            inside: folder.join(input),
        };
        Ok(Command {
            argv: self.command.clone(),
            inputs: self.input.iter().map(input).collect(),
            appears_at: folder.clone(),
            parameters: parse_parameters(&self.param)?,
            variables,
            secrets,
            stdin: streams.stdin,
            terminal: streams.terminal,
            terminal_variables: streams.variables,
            fixed_time: self.fixed_time,
            models: None,
            world,
            is_of_bundle: false,
            limits: self.bounds.limits(Limits {
                wall_time: Duration::from_secs(self.timeout.into()),
                ..policy()
            }),
            folder,
        })
    }

    fn patterns(&self, option: &str, given: &[String]) -> Result<Option<Keep>, CliError> {
        Keep::parse_given(given).map_err(|error| {
            CliError::usage(
                format!("`{option}`: {error}"),
                format!("write it as `{option} 'results/*.csv'`"),
            )
        })
    }

    fn terms(&self) -> Result<Terms, CliError> {
        Ok(Terms {
            keep: self.patterns("--keep", &self.keep)?,
            ignore: self.patterns("--ignore", &self.ignore)?,
            compare: parse_rules(&self.compare, Origin::Bundle)?,
        })
    }

    fn is_json(&self) -> bool {
        match self.format.as_deref() {
            Some(format) => format == "json",
            None => !std::io::stdout().is_terminal(),
        }
    }

    /// Applies the changes of a sealed run if asked to, and decides the outcome.
    fn finish(&self, request: &RecordRequest, sealed: &SealedCommand) -> Result<Outcome, CliError> {
        let has_failed = has_failed(sealed);
        if self.apply && has_failed {
            ui::note("the command failed, so nothing was applied to the folder");
        } else if self.apply {
            let is_kept = |path: &str| request.terms.fate_of(path.as_ref()) == Fate::Kept;
            let folder = &request.command.folder;
            // The folder itself, whatever is at its path now.
            let top = std::fs::File::open(".").map_err(|error| {
                let message = format!("the current folder cannot be opened: {error}");
                CliError::new(Outcome::Unreadable, "FOLDER", message)
                    .at(folder.display().to_string())
            })?;
            let to = (top.into(), folder.as_path());
            let applied =
                apply_changes(&sealed.run, to, &request.out, is_kept).map_err(|error| {
                    CliError::from(error).hint(format!(
                        "the run is sealed: `{}` has everything under artifacts/",
                        sealed.path.display()
                    ))
                })?;
            for path in &applied.spared {
                ui::note(&format!(
                    "not applied: `{}`, since bundles are kept there",
                    reveal(path)
                ));
            }
            for path in &applied.outward {
                ui::note(&format!(
                    "not applied: `{}`, a link that leads out of the folder",
                    reveal(path)
                ));
            }
        }
        if let Some(home) = &sealed.home {
            ui::note(&format!(
                "read of your home folder, and sealed: {}",
                reveal(home)
            ));
        }
        if let Some(names) = &sealed.home_names {
            ui::note(&format!(
                "seen in your home folder, and sealed by name only: {}",
                reveal(names)
            ));
        }
        note_unmatched(&request.terms, sealed);
        Ok(match sealed.interrupted {
            Some(_) => Outcome::Interrupted,
            None if has_failed => Outcome::Invalid,
            None => Outcome::Valid,
        })
    }
}

fn has_failed(sealed: &SealedCommand) -> bool {
    sealed.interrupted.is_some() || sealed.ending != runseal_sandbox::Ending::Exited(0)
}

/// Tells which patterns and rules are for nothing that the command gave.
fn note_unmatched(terms: &Terms, sealed: &SealedCommand) {
    let left: Vec<String> = match &sealed.run.recorded.layer {
        Some(layer) => {
            let paths = layer.changes().iter().map(|change| change.path.to_str());
            paths.flatten().map(str::to_owned).collect()
        }
        None => Vec::new(),
    };
    for (option, patterns, paths) in [
        ("--keep", &terms.keep, &sealed.written),
        ("--ignore", &terms.ignore, &left),
    ] {
        for pattern in patterns.iter().flat_map(|it| it.unmatched(paths)) {
            let pattern = shown_name(pattern);
            ui::note(&format!(
                "`{option} {pattern}` matches no file that the command wrote"
            ));
        }
    }
    let places = sealed
        .written
        .iter()
        .map(|path| format!("artifacts/{path}"));
    let streams = ["logs/stdout.txt", "logs/stderr.txt"].map(str::to_owned);
    let places: Vec<String> = places.chain(streams).collect();
    for rule in terms
        .compare
        .find_unmatched(places.iter().map(String::as_str))
    {
        let rule = shown_name(&rule.to_string());
        ui::note(&format!("`--compare {rule}` matches nothing that was kept"));
    }
}

/// Parses the rules of `--compare`.
pub fn parse_rules(given: &[String], origin: Origin) -> Result<Rules, CliError> {
    Rules::parse_given(given, origin).map_err(|(text, error)| {
        let text = shown_name(&text);
        CliError::usage(
            format!("`--compare {text}`: {error}"),
            "write it as `--compare 'results/*.json=rel:1e-9'` or `--compare 'stdout=drop: in [0-9.]+s'`",
        )
    })
}

fn print_sealed(sealed: &SealedCommand, args: &Args) -> Result<(), CliError> {
    let has_failed = has_failed(sealed);
    let path = shown_path(&sealed.path, args);
    if args.is_json() {
        let mut printed = Value::object([
            ("run_id", sealed.run_id.as_str()),
            ("path", path.as_str()),
            ("outputs_hash", sealed.outputs_hash.as_str()),
        ]);
        if has_failed {
            printed.insert("failed", true);
        }
        if sealed.interrupted.is_some() {
            printed.insert("interrupted", true);
        }
        if let Some(seed) = &sealed.seed {
            printed.insert("seed", shown_path(seed, args));
        }
        return ui::print_asked_json(&printed, Dialect::Kernel);
    }
    if ui::is_quiet() {
        return Ok(());
    }
    let outcome = &sealed.run.recorded.outcome;
    let (out, err) = (&outcome.stdout.bytes, &outcome.stderr.bytes);
    let verdict = match sealed.interrupted {
        Some(_) => "sealed as an INTERRUPTED run",
        None if has_failed => "sealed as a FAILED run",
        None => "sealed",
    };
    let mut text = format!("{verdict}: {path}\n");
    text += &format!(
        "  read     {}, and {}\n",
        count(sealed.read, "file"),
        count(sealed.outside, "system file")
    );
    if let Some(calls) = sealed.calls {
        text += &format!("  asked    models {}\n", count(calls, "time"));
    }
    text += &format!("  wrote    {}\n", count(sealed.written.len(), "file"));
    for name in sealed.written.iter().take(10) {
        text += &format!("           artifacts/{}\n", shown_name(name));
    }
    if sealed.written.len() > 10 {
        text += &format!("           and {} more\n", sealed.written.len() - 10);
    }
    if !sealed.rewritten.is_empty() {
        let files = count(sealed.rewritten.len(), "file");
        text += &format!("  same     {files} opened for writing, and left as before\n");
        for name in sealed.rewritten.iter().take(10) {
            text += &format!("           {}\n", shown_name(name));
        }
        if sealed.rewritten.len() > 10 {
            text += &format!("           and {} more\n", sealed.rewritten.len() - 10);
        }
    }
    if !sealed.deleted.is_empty() {
        text += &format!("  deleted  {}\n", count(sealed.deleted.len(), "name"));
        for name in sealed.deleted.iter().take(10) {
            text += &format!("           {}\n", shown_name(name));
        }
        if sealed.deleted.len() > 10 {
            text += &format!("           and {} more\n", sealed.deleted.len() - 10);
        }
    }
    text += &format!(
        "  printed  {}, standard error {}\n",
        count(out.len(), "byte"),
        count(err.len(), "byte")
    );
    if let Some(seed) = &sealed.seed {
        text += &format!("  seed     {}, for you alone\n", shown_path(seed, args));
    }
    text += &format!("  check    runseal verify {path}\n  again    runseal replay {path}\n");
    ui::tell(&text);
    Ok(())
}

/// A name without anything that moves the cursor, or changes colours or the direction of writing.
fn shown_name(name: &str) -> String {
    one_line(&reveal(name))
}

/// `1 file`, `2 files`.
fn count(number: usize, of: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {of}{ending}")
}

/// The bundle's path, below `--out` as that was given.
fn shown_path(path: &Path, args: &Args) -> String {
    let name = path.file_name().unwrap_or_default();
    args.out.join(name).display().to_string()
}

/// Reports what the observation of this run missed. What no run can observe is in the bundle and the
/// docs.
fn warn_unseen(sealed: &SealedCommand) {
    for gap in &sealed.gaps {
        match gap.kind.as_str() {
            "never-seen" | "outside" => {}
            SECRET_SEALED | "not-shown" => ui::note(&shown_name(&gap.detail)),
            _ => ui::note(&format!("not captured: {}", shown_name(&gap.detail))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_takes_units_and_refuses_other_text() {
        for (text, bytes) in [("1", 1), ("2K", 2048), ("3MiB", 3 << 20), ("1gb", 1 << 30)] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in [
            "",
            "K",
            "0",
            "-1",
            "1X",
            "99999999999999999999",
            "99999999T",
        ] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
