//! `runseal record`: runs any unchanged command, and seals what it read, wrote and printed.

use std::io::{IsTerminal, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use runseal_core::canon::{Dialect, Value};
use runseal_core::verify::{Outcome, one_line};
use runseal_fs::input::Input;
use runseal_report::reveal;
use runseal_runs::record::Choice;
use runseal_runs::record::apply::apply_changes;
use runseal_runs::record::keep::Keep;
use runseal_runs::record::run::{Command, Watching, policy};
use runseal_runs::record::seal::{RecordRequest, SealedCommand, record_command};
use runseal_runs::run::replay_render::render_varying;
use runseal_sandbox::{CancelToken, Limits, MOST_IN_MEMORY, Mount, OnOutput, Stream};

use super::log::{LogPlace, append_target};
use super::record_error::{Doing, apply_error, record_error};
use super::record_variables::{parse_parameters, parse_variables};
use super::redact::RedactableArgs;
use super::sandbox_level::SandboxArgs;
use super::seal::parse_run_id;
use crate::clock;
use crate::error::CliError;
use crate::inside::refuse_in;
use crate::ui;

/// The folder of bundles, unless another is named.
const DEFAULT_OUT: &str = "RUN_BUNDLE";
/// The most bytes of standard input that are read.
const LARGEST_STDIN: u64 = 512 << 20;

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
    /// A variable of yours that the command gets, sealed with its value; or NAME=VALUE. May be
    /// repeated. Values that look like keys are refused.
    #[arg(long, value_name = "NAME")]
    env: Vec<String>,
    /// A variable that the command gets and whose value is not sealed. May be repeated.
    #[arg(long, value_name = "NAME")]
    secret: Vec<String>,
    /// What the command gets on standard input; `-` passes yours on. Without it, a redirected file
    /// is passed on; a pipe, device or terminal is not.
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// Run it N times and say what varies. The first run is sealed.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1000))]
    times: u32,
    /// Files that it reads and that are larger than this are not sealed, only their paths, sizes and
    /// hashes; a replay then asks for them. What it writes always is. Takes K, M, G.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    reference_above: Option<u64>,
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
    /// The bytes that it may write. With more than 1 GiB they are on disk instead of in memory. Takes
    /// K, M, G.
    #[arg(long, value_name = "SIZE", default_value_t = MOST_IN_MEMORY, value_parser = parse_size)]
    artifact_bytes: u64,
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
    #[arg(last = true, required = true, value_name = "COMMAND")]
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

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
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
    let watching = Watching {
        cancel: Some(cancel.clone()),
        on_output: (!ui::is_quiet()).then(|| pass_on(args.is_json())),
        ..Watching::default()
    };
    let sealed = match record_command(&request, &sandbox, &watching) {
        Ok(sealed) => sealed,
        Err(error) => return record_error(error, watching.on_output.is_some(), Doing::Record),
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
        ui::note(&format!("{} runs gave the same", args.times));
    }
    Ok(outcome)
}

/// Passes the command's output on as it arrives: each stream to the same stream, or both to
/// standard error if standard output is needed for the result. A closed reader does not end the
/// recording.
fn pass_on(on_stderr: bool) -> OnOutput {
    OnOutput::new(move |stream, bytes| {
        let _ = match stream {
            Stream::Stdout if !on_stderr => {
                let mut out = std::io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush())
            }
            Stream::Stdout | Stream::Stderr => std::io::stderr().lock().write_all(bytes),
        };
    })
}

impl Args {
    fn request(&self, out: &Path) -> Result<RecordRequest, CliError> {
        let folder = std::env::current_dir().and_then(|folder| folder.canonicalize());
        let folder = folder.map_err(|error| {
            CliError::new(
                Outcome::Unreadable,
                "FOLDER",
                format!("the current folder cannot be read: {error}"),
            )
            .hint("change into a folder that is there and that you may read")
        })?;
        std::fs::read_dir(&folder).map_err(|error| {
            CliError::new(
                Outcome::Unreadable,
                "FOLDER",
                format!("the current folder cannot be read: {error}"),
            )
            .at(folder.display().to_string())
            .hint("change into a folder that you may read")
        })?;
        let limits = Limits {
            wall_time: Duration::from_secs(self.timeout.into()),
            file_bytes: self.artifact_bytes,
            work_bytes: self.artifact_bytes,
            ..policy()
        };
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
        let (variables, secrets) = parse_variables(&self.env, &self.secret)?;
        let out = folder.join(out);
        Ok(RecordRequest {
            command: Command {
                argv: self.command.clone(),
                inputs: self
                    .input
                    .iter()
                    .map(|input| Mount {
                        host: folder.join(input),
                        inside: folder.join(input),
                    })
                    .collect(),
                appears_at: folder.clone(),
                parameters: parse_parameters(&self.param)?,
                variables,
                secrets,
                stdin: self.read_stdin()?,
                fixed_time: self.fixed_time,
                models,
                choice: Choice::Caller(std::env::var_os("PATH")),
                limits,
                folder,
            },
            out,
            run_id: self.run_id.as_deref().map(parse_run_id).transpose()?,
            keep: self.keep_set()?,
            reference_above: self.reference_above,
            keep_failed: self.keep_failed,
            times: self.times,
            now: clock::now()?,
            redactable: self.redactable.open()?,
        })
    }

    fn keep_set(&self) -> Result<Option<Keep>, CliError> {
        Keep::parse_given(&self.keep).map_err(|error| {
            CliError::usage(
                format!("`--keep`: {error}"),
                "write it as `--keep 'results/*.csv'`",
            )
        })
    }

    fn is_json(&self) -> bool {
        match self.format.as_deref() {
            Some(format) => format == "json",
            None => !std::io::stdout().is_terminal(),
        }
    }

    fn read_stdin(&self) -> Result<Vec<u8>, CliError> {
        if let Some(path) = &self.stdin {
            return Ok(Input::from_argument(Some(path)).read(LARGEST_STDIN)?);
        }
        let stdin = std::io::stdin();
        let metadata = std::fs::metadata("/proc/self/fd/0").ok();
        if !metadata.as_ref().is_some_and(std::fs::Metadata::is_file) {
            let what = metadata.as_ref().and_then(describe_stream);
            if let Some(what) = what.filter(|_| !stdin.is_terminal()) {
                ui::note(&format!(
                    "standard input is {what} and is not passed on to the command: `--stdin -` does that"
                ));
            }
            return Ok(Vec::new());
        }
        let mut bytes = Vec::new();
        let read = stdin.lock().take(LARGEST_STDIN + 1).read_to_end(&mut bytes);
        read.map_err(|error| {
            CliError::new(
                Outcome::Unreadable,
                "STDIN",
                format!("standard input cannot be read: {error}"),
            )
        })?;
        if bytes.len() as u64 > LARGEST_STDIN {
            return Err(CliError::new(
                Outcome::Unreadable,
                "STDIN",
                "standard input has more than 512 MiB",
            )
            .hint("name the file as an argument of the command, or with `--input`"));
        }
        Ok(bytes)
    }

    /// Applies the changes of a sealed run if asked to, and decides the outcome.
    fn finish(&self, request: &RecordRequest, sealed: &SealedCommand) -> Result<Outcome, CliError> {
        let has_failed = sealed.ending != runseal_sandbox::Ending::Exited(0);
        if self.apply && has_failed {
            ui::note("the command failed, so nothing was applied to the folder");
        } else if self.apply {
            let is_kept = |path: &str| match &request.keep {
                Some(keep) => keep.keeps(Path::new(path)),
                None => true,
            };
            let folder = &request.command.folder;
            // The folder itself, whatever is at its path now.
            let top = std::fs::File::open(".").map_err(|error| {
                let message = format!("the current folder cannot be opened: {error}");
                CliError::new(Outcome::Unreadable, "FOLDER", message)
                    .at(folder.display().to_string())
            })?;
            let to = (top.into(), folder.as_path());
            let applied = apply_changes(&sealed.run, to, &request.out, is_kept)
                .map_err(|error| apply_error(error, &sealed.path))?;
            for path in &applied.spared {
                ui::note(&format!(
                    "not applied: `{}`, since bundles are kept there",
                    reveal(path)
                ));
            }
        }
        if let Some(keep) = &request.keep {
            for pattern in keep.unmatched(&sealed.written) {
                ui::note(&format!(
                    "`--keep {}` matches no file that the command wrote",
                    shown_name(pattern)
                ));
            }
        }
        Ok(if has_failed {
            Outcome::Invalid
        } else {
            Outcome::Valid
        })
    }
}

fn print_sealed(sealed: &SealedCommand, args: &Args) -> Result<(), CliError> {
    let has_failed = sealed.ending != runseal_sandbox::Ending::Exited(0);
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
    let verdict = if has_failed {
        "sealed as a FAILED run"
    } else {
        "sealed"
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

/// What standard input is, if it is not a file but might be expected to be passed on; `None` for the null
/// device.
fn describe_stream(metadata: &std::fs::Metadata) -> Option<&'static str> {
    let kind = metadata.file_type();
    let null = std::fs::metadata("/dev/null").map(|null| null.rdev()).ok();
    if kind.is_fifo() {
        Some("a pipe")
    } else if kind.is_socket() {
        Some("a socket")
    } else if kind.is_char_device() || kind.is_block_device() {
        (Some(metadata.rdev()) != null).then_some("a device")
    } else {
        None
    }
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
        if !matches!(gap.kind.as_str(), "never-seen" | "outside") {
            ui::note(&format!("not captured: {}", shown_name(&gap.detail)));
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
