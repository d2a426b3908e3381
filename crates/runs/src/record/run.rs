//! One run of a command in the user's folder: its inputs and its results.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use runseal_core::diagnosis::{Diagnose, Diagnosis};
use runseal_core::verify::Outcome;
use runseal_sandbox::{
    CancelToken, Isolation, LayerKind, Limits, MOST_IN_MEMORY, Mount, Observation, Observe, OnFile,
    OnOutput, Recorded, Sandbox, SandboxError, Spec, SpecError, Stdin, Terminal, View, ViewAccess,
    ViewPlace, check_own_place, machine_memory,
};

use super::environment::modified_ns;
use super::fixed_time::{FixedTime, fix_time};
use super::program::{ProgramError, check_program};
use super::surroundings::Usage;
use super::terminal::StreamKinds;
use crate::isolation;
use crate::model_port::connect;
use crate::world::{World, normalize};
use runseal_fs::models::ModelSession;
use runseal_fs::private::{PrivateFolder, temporary_folder};

pub use runseal_core::formats::run_bundle::recorded::PARAMETER_PREFIX;

/// The limits of a command, unless its caller says otherwise: the machine's own, and an hour.
pub fn policy() -> Limits {
    let (reserve_bytes, reserve_files) = reserves_of(&temporary_folder());
    Limits {
        wall_time: Duration::from_secs(3600),
        reserve_bytes,
        reserve_files,
        stdout_bytes: crate::run::command::policy().stdout_bytes,
        ..Limits::of_the_machine()
    }
}

/// The limits of a command that a bundle names, unless whoever replays it says otherwise. Bundles of strangers are
/// replayed: what one may use of the machine never is all that there is.
pub fn replay_policy() -> Limits {
    Limits {
        memory_bytes: machine_memory() / 2,
        processes: 4096,
        file_bytes: MOST_IN_MEMORY,
        work_bytes: MOST_IN_MEMORY,
        work_files: 1_000_000,
        // Only of a bundle that was recorded when that was a folder in memory.
        tmp_bytes: Limits::default().tmp_bytes,
        ..policy()
    }
}

/// The most that is left on a disk, of space and of files, and which part of what is free that is at the most.
const LARGEST_RESERVE: (u64, u64) = (1 << 30, 10_000);
const RESERVED_PART: u64 = 20;

/// How much of the space that is free around a folder a command leaves free, and room for how many files.
fn reserves_of(folder: &Path) -> (u64, u64) {
    let Ok(found) = rustix::fs::statvfs(folder) else {
        return (0, 0);
    };
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let (bytes, files) = LARGEST_RESERVE;
    (
        bytes.min(free / RESERVED_PART),
        files.min(found.f_favail / RESERVED_PART),
    )
}

/// A command and everything that it is given.
#[derive(Debug, Clone)]
pub struct Command {
    /// Program and arguments, as typed.
    pub argv: Vec<String>,
    /// The folder in which it runs: absolute, without links.
    pub folder: PathBuf,
    /// Where it sees that folder: at its own path when recording, at the recorded path when
    /// replaying.
    pub appears_at: PathBuf,
    /// Further files and folders that it may read, each with its real path and the path that the
    /// command sees.
    pub inputs: Vec<Mount>,
    /// Named parameters; the command finds them as `RUNSEAL_PARAM_<name>`.
    pub parameters: BTreeMap<String, String>,
    /// Variables of the host that are passed on.
    pub variables: BTreeMap<String, String>,
    /// Variables that it gets but that are never sealed.
    pub secrets: BTreeMap<String, String>,
    /// Its standard input.
    pub stdin: Stdin,
    /// Its terminal, if it has one.
    pub terminal: Option<Terminal>,
    /// The variables that describe that terminal.
    pub terminal_variables: BTreeMap<String, String>,
    /// The time that its clock shows, in seconds since 1970, where that is possible.
    pub fixed_time: Option<i64>,
    /// What it sees of the machine.
    pub world: World,
    /// Whether a bundle named all that, and not the user.
    pub is_of_bundle: bool,
    /// Answers its model calls, if it may make any.
    pub models: Option<Arc<dyn ModelSession>>,
    /// The limits at which it is stopped.
    pub limits: Limits,
}

/// Why a command was not run, or its run does not count.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There is no command.
    #[error("there is no command")]
    NoCommand,
    /// The program cannot be started.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The sandbox cannot show a folder or an input.
    #[error("`{}` cannot be shown to the command: {reason}", .path.display())]
    Place {
        /// The folder or input, as an absolute path of the host.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The folder is the user's home.
    #[error("`{}` is your home folder: everything in it would be shown to the command", .0.display())]
    Home(PathBuf),
    /// No temporary files can be kept where TMPDIR says.
    #[error("temporary files cannot be kept in `{}`: {reason}", .path.display())]
    Temporary {
        /// What TMPDIR says, or the system's own folder.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// Something could not be read.
    #[error("`{}` could not be read", .path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// No port is available for model calls.
    #[error("no port can be listened on for models")]
    Loopback(#[source] io::Error),
    /// It was not run, or it is unknown how it ended.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}

/// The kernel's error for a file that is not a program of any kind that it knows.
const NO_PROGRAM_FORMAT: i32 = 8;

impl Diagnose for RunError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::NoCommand => {
                Diagnosis::of(self, Outcome::Usage, "USAGE").hint("write it after `--`")
            }
            Self::Program(error) => error.diagnosis(),
            Self::Place { .. } => Diagnosis::unreadable(self, "PLACE"),
            Self::Home(_) => {
                Diagnosis::unreadable(self, "PLACE").hint("change into the folder of the project")
            }
            Self::Temporary { .. } => Diagnosis::unreadable(self, "TMPDIR")
                .hint("set TMPDIR to a folder that you may write to, outside the recorded one"),
            Self::Read { .. } => Diagnosis::unreadable(self, "INPUT")
                .hint("check the name and your right to read it"),
            Self::Loopback(_) => Diagnosis::unreadable(self, "LISTEN"),
            Self::Sandbox(SandboxError::Execute { program, source }) => {
                let message = format!(
                    "`{}` could not be started: {source}",
                    program.escape_debug()
                );
                let is_known = source.raw_os_error() != Some(NO_PROGRAM_FORMAT);
                Diagnosis::unreadable(self, "EXECUTE").message(message).hint(if is_known {
                    "its interpreter may be missing, or hidden from commands; `--show-world` shows what they see, `--input PATH` opens more"
                } else {
                    "a script says in its first line what runs it, such as `#!/bin/sh`; or name that: `sh SCRIPT`"
                })
            }
            Self::Sandbox(error) => isolation::diagnose(error),
        }
    }
}

/// The result of a run.
#[derive(Debug)]
pub struct CommandRun {
    /// How it ended, what it changed and what was observed.
    pub recorded: Recorded,
    /// Its environment, without secrets.
    pub environment: BTreeMap<String, String>,
    /// Where the program was started from; `None` if the sandbox does not report it.
    pub program: Option<PathBuf>,
    /// What it was to see of the machine.
    pub world: World,
    /// The files of it, with its inputs.
    pub view: View,
    /// Where its inputs appeared.
    pub shown: Vec<PathBuf>,
    /// How far it was isolated.
    pub isolation: Isolation,
    /// What its standard streams led to.
    pub(crate) streams: StreamKinds,
    pub(crate) fixed_time: FixedTime,
    /// What it took of the machine.
    pub(crate) usage: Usage,
    /// When it was started, in nanoseconds since 1970, by the kernel's file timestamps.
    pub(crate) began_ns: i128,
    /// Holds the layer's files if they are not in memory.
    store: PrivateFolder,
}

impl CommandRun {
    /// Whether the command worked in a copy of the folder.
    pub(crate) fn is_in_a_copy(&self) -> bool {
        let layer = self.recorded.layer.as_ref();
        layer.is_some_and(|layer| layer.kind() == LayerKind::Copy)
    }

    /// A file of the command's own TMPDIR by a name that is the same every time; nothing for any other. At the
    /// weaker levels that folder lies on the host.
    pub(crate) fn name_in_tmp(&self, path: &Path) -> Option<String> {
        let below = path.strip_prefix(self.store.path().join("tmp")).ok()?;
        Some(Path::new("/tmp").join(below).display().to_string())
    }

    /// Whether standard input was its terminal.
    pub(crate) fn has_terminal_stdin(&self) -> bool {
        self.streams.stdin == "terminal"
    }

    /// What was seen; nothing where observation was not possible.
    pub fn observation(&self) -> Option<&Observation> {
        self.recorded.observation.as_ref()
    }
}

/// How a run is watched from outside.
#[derive(Debug, Clone, Default)]
pub struct Watching {
    /// Stops the command when cancelled; the run then counts as interrupted.
    pub cancel: Option<CancelToken>,
    /// How long a cancelled command may go on ([`Spec::grace`]); it is killed at once without.
    pub grace: Option<Duration>,
    /// Receives its output as it is printed.
    pub on_output: Option<OnOutput>,
    /// Is notified of the files that it reads.
    pub on_file: Option<OnFile>,
    /// Whether names that it looks at in folders of programs count: where a replay does not have the machine's.
    pub looks_at_programs: bool,
}

/// Runs `command` once. The real folder stays unchanged.
pub fn run_command(
    command: &Command,
    sandbox: &Sandbox,
    watching: &Watching,
) -> Result<CommandRun, RunError> {
    let program = command.argv.first().filter(|program| !program.is_empty());
    let program = program.ok_or(RunError::NoCommand)?;
    check_place(&command.folder)?;
    check_place(&command.appears_at)?;
    if let Some(home) = std::env::home_dir()
        && home.canonicalize().ok().as_deref() == Some(&*command.folder)
    {
        return Err(RunError::Home(command.folder.clone()));
    }
    if !command.is_of_bundle {
        check_program(program, &command.folder, &command.world)?;
    }
    let store = make_store(&command.folder)?;
    let mut spec = Spec::in_folder(&command.argv, &command.folder, store.path());
    if let Some(layered) = &mut spec.layered {
        layered.inside.clone_from(&command.appears_at);
    }
    // At a weaker level the copy does not appear at the folder's path; the command works in the
    // copy.
    spec.current_dir.clone_from(&command.appears_at);
    spec.ordinary.clone_from(&command.world.ordinary);
    spec.view = command.world.view.clone();
    spec.devices.clone_from(&command.world.devices);
    // Whatever the home folder holds, it is not this.
    spec.view.hidden.push(store.path().to_owned());
    let mut shown = Vec::new();
    for input in shown_inputs(command)? {
        shown.push(input.inside.clone());
        spec.view.places.push(ViewPlace {
            inside: input.inside,
            sources: vec![input.host],
            access: ViewAccess::ReadOnly,
            is_own: true,
        });
    }
    let fixed_time = fix_time(command.fixed_time);
    spec.env = environment_of(command, &fixed_time);
    let mut tokens = Vec::new();
    if let Some(session) = &command.models {
        let connection = connect(&mut spec, session, sandbox.isolation(), &command.secrets);
        let connection = connection.map_err(RunError::Loopback)?;
        tokens = connection.describe(&mut spec.env);
    }
    let environment = spec.environment();
    spec.env.extend(tokens);
    spec.env.extend(command.secrets.clone());
    spec.stdin = command.stdin.clone();
    spec.terminal.clone_from(&command.terminal);
    spec.grace = watching.grace;
    spec.limits = command.limits.clone();
    spec.observe = Some(Observe {
        looks_at_programs: watching.looks_at_programs,
        ..Observe::default()
    });
    spec.cancel.clone_from(&watching.cancel);
    spec.on_output.clone_from(&watching.on_output);
    spec.on_file.clone_from(&watching.on_file);
    let began_ns = file_time_now(store.path());
    let cpu_before = cpu_of_children();
    let recorded = sandbox.record(&spec)?;
    let usage = Usage {
        wall: recorded.outcome.duration,
        cpu: cpu_of_children()
            .zip(cpu_before)
            .map(|(now, then)| now.saturating_sub(then)),
        memory_bytes: recorded.memory_bytes,
    };
    Ok(CommandRun {
        environment,
        program: recorded.program.as_deref().map(normalize),
        recorded,
        world: World {
            limits: Some(command.limits.clone()),
            ..command.world.clone()
        },
        view: spec.view,
        shown,
        isolation: sandbox.isolation(),
        streams: StreamKinds::of(&command.stdin, command.terminal.as_ref()),
        fixed_time,
        usage,
        began_ns,
        store,
    })
}

/// A folder of our own, which must not lie in the one that the command sees.
fn make_store(folder: &Path) -> Result<PrivateFolder, RunError> {
    let given = temporary_folder();
    let refuse = |reason: String| RunError::Temporary {
        path: given.clone(),
        reason,
    };
    // TMPDIR may contain `..`; only the resolved path counts.
    let place = given
        .canonicalize()
        .map_err(|error| refuse(error.to_string()))?;
    if place.starts_with(folder) {
        return Err(refuse("it lies in the folder of the command".to_owned()));
    }
    PrivateFolder::create_at(&place, "record").map_err(|error| refuse(error.to_string()))
}

/// An empty file without a name, for what is kept of standard input.
pub fn keep_input() -> Result<File, RunError> {
    let folder = temporary_folder();
    tempfile::tempfile_in(&folder).map_err(|error| RunError::Temporary {
        path: folder,
        reason: error.to_string(),
    })
}

/// The processors' time of all processes of ours that have ended, with those that they waited for.
fn cpu_of_children() -> Option<Duration> {
    /// How many of the kernel's units a second has, for every program.
    const UNITS: u64 = 100;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // Fields are counted from behind the name, which may have blanks in it.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(13);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(Duration::from_millis((next()? + next()?) * 1000 / UNITS))
}

/// The timestamp that a file changed now would get: coarser than the clock, so that it can only be
/// compared with timestamps of files.
fn file_time_now(folder: &Path) -> i128 {
    let probe = tempfile::tempfile_in(folder).and_then(|file| file.metadata());
    probe.map_or(i128::MAX, |metadata| modified_ns(&metadata))
}

fn check_place(path: &Path) -> Result<(), RunError> {
    check_own_place(path).map_err(|error| match error {
        SpecError::Place { path, reason } => RunError::Place {
            path,
            reason: reason.to_string(),
        },
        other => RunError::Place {
            path: path.to_owned(),
            reason: other.to_string(),
        },
    })
}

/// Where an input is shown that was named by a path over a link: where it was named, besides where it
/// is. A link below the folder is there anyway.
pub(crate) fn shown_as_given(input: &Mount, command: &Command) -> Option<PathBuf> {
    let given = normalize(&input.host);
    let is_elsewhere = input.host == input.inside
        && input.host.canonicalize().is_ok_and(|real| real != given)
        && !given.starts_with(&command.folder);
    (is_elsewhere && check_own_place(&given).is_ok()).then_some(given)
}

/// The inputs that are not below the folder.
fn shown_inputs(command: &Command) -> Result<Vec<Mount>, RunError> {
    let mut shown = Vec::new();
    for input in &command.inputs {
        let real = input.host.canonicalize().map_err(|source| RunError::Read {
            path: input.host.clone(),
            source,
        })?;
        if let Some(given) = shown_as_given(input, command) {
            shown.push(Mount {
                host: real.clone(),
                inside: given,
            });
        }
        if real.starts_with(&command.folder) {
            continue;
        }
        let inside = match input.host == input.inside {
            true => real.clone(),
            false => input.inside.clone(),
        };
        check_place(&inside)?;
        shown.push(Mount { host: real, inside });
    }
    Ok(shown)
}

/// The environment that the command gets, but for what its terminal and its port for models add.
pub fn environment_before(command: &Command) -> BTreeMap<String, String> {
    environment_of(command, &fix_time(command.fixed_time))
}

fn environment_of(command: &Command, fixed_time: &FixedTime) -> BTreeMap<String, String> {
    let mut environment = command.world.variables.clone();
    // A shell keeps the way over links that led here; anything else would be another folder.
    let here =
        |path: &String| Path::new(path).canonicalize().ok().as_ref() == Some(&command.folder);
    if !environment.get("PWD").is_some_and(here) {
        let place = command.appears_at.display().to_string();
        environment.insert("PWD".to_owned(), place);
    }
    environment.extend(fixed_time.variables.iter().cloned());
    environment.extend(command.terminal_variables.clone());
    environment.extend(passed_variables(command));
    environment
}

/// The variables that somebody chose to pass to the command.
pub(crate) fn passed_variables(command: &Command) -> BTreeMap<String, String> {
    let mut passed = command.variables.clone();
    for (name, value) in &command.parameters {
        passed.insert(format!("{PARAMETER_PREFIX}{name}"), value.clone());
    }
    passed
}
