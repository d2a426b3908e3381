//! One run of a command in the user's folder: its inputs and its results.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use runseal_sandbox::{
    CancelToken, Isolation, LayerKind, Limits, Mount, Observation, Observe, OnFile, OnOutput,
    Recorded, Sandbox, SandboxError, Spec, SpecError, check_own_place,
};

use super::environment::modified_ns;
use super::fixed_time::{FixedTime, fix_time};
use super::program::{Choice, ProgramError, Site, Toolchain, find_toolchain};
use crate::model_port::connect;
use crate::world::normalize;
use runseal_fs::models::ModelSession;
use runseal_fs::private::{PrivateFolder, temporary_folder};

pub use runseal_core::formats::run_bundle::recorded::PARAMETER_PREFIX;

/// Variables that every recorded command gets, so that it behaves the same every time and leaves no
/// caches in the folder.
const STEADY: [(&str, &str); 2] = [("PYTHONDONTWRITEBYTECODE", "1"), ("PYTHONHASHSEED", "0")];

/// The limits of a command, unless its caller says otherwise.
pub fn policy() -> Limits {
    Limits {
        wall_time: std::time::Duration::from_secs(3600),
        memory_bytes: 8 << 30,
        processes: 1024,
        open_files: 4096,
        ..crate::run::command::policy()
    }
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
    /// The content of its standard input.
    pub stdin: Vec<u8>,
    /// The time that its clock shows, in seconds since 1970, where that is possible.
    pub fixed_time: Option<i64>,
    /// Who chose it, and the PATH on which its program is searched.
    pub choice: Choice,
    /// Answers its model calls, if it may make any.
    pub models: Option<Arc<dyn ModelSession>>,
    /// The limits at which it is stopped.
    pub limits: Limits,
}

impl Command {
    fn is_of_bundle(&self) -> bool {
        matches!(self.choice, Choice::Bundle { .. })
    }
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
    /// An input of a bundle cannot be where it was recorded.
    #[error("the input `{}` cannot be shown to the command: {reason}", .path.display())]
    Input {
        /// Where it was recorded.
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

/// The result of a run.
#[derive(Debug)]
pub struct CommandRun {
    /// How it ended, what it changed and what was observed.
    pub recorded: Recorded,
    /// Its environment, without secrets.
    pub environment: BTreeMap<String, String>,
    /// Where the program was started from; `None` if the sandbox does not report it.
    pub program: Option<PathBuf>,
    /// What else of the host was visible at its own path, besides the system and the folder.
    pub shown: Vec<PathBuf>,
    /// How far it was isolated.
    pub isolation: Isolation,
    pub(crate) fixed_time: FixedTime,
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
    /// Receives its output as it is printed.
    pub on_output: Option<OnOutput>,
    /// Is notified of the files that it reads.
    pub on_file: Option<OnFile>,
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
    let site = Site {
        host: &command.folder,
        inside: &command.appears_at,
    };
    let toolchain = find_toolchain(program, site, &command.inputs, &command.choice)?;
    let store = make_store(&command.folder)?;
    let mut spec = Spec::in_folder(&command.argv, &command.folder, store.path());
    if let Some(layered) = &mut spec.layered {
        layered.inside.clone_from(&command.appears_at);
    }
    // At a weaker level the copy does not appear at the folder's path; the command works in the
    // copy.
    spec.current_dir.clone_from(&command.appears_at);
    spec.show = toolchain.world.shown_beside(&command.appears_at);
    // An input that is visible at its own path anyway needs no mount.
    for input in shown_inputs(command)? {
        match input.host == input.inside {
            true => spec.show.push(input.host),
            false => {
                if command.is_of_bundle() {
                    check_covers(&input, command, &spec.show, sandbox.isolation())?;
                }
                spec.show_at.push(input);
            }
        }
    }
    let fixed_time = fix_time(command.fixed_time);
    spec.env = environment_of(command, &toolchain, &fixed_time);
    let mut tokens = Vec::new();
    if let Some(session) = &command.models {
        let connection = connect(&mut spec, session, sandbox.isolation(), &command.secrets);
        let connection = connection.map_err(RunError::Loopback)?;
        tokens = connection.describe(&mut spec.env);
    }
    let environment = spec.environment();
    spec.env.extend(tokens);
    spec.env.extend(command.secrets.clone());
    spec.stdin.clone_from(&command.stdin);
    spec.limits = command.limits.clone();
    spec.observe = Some(Observe::default());
    spec.cancel.clone_from(&watching.cancel);
    spec.on_output.clone_from(&watching.on_output);
    spec.on_file.clone_from(&watching.on_file);
    let began_ns = file_time_now(store.path());
    let recorded = sandbox.record(&spec)?;
    Ok(CommandRun {
        environment,
        program: recorded.program.as_deref().map(normalize),
        recorded,
        shown: spec.show,
        isolation: sandbox.isolation(),
        fixed_time,
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

/// Refuses an input in whose place the command would read what is there anyway: below its folder, or in something
/// of the host that is `shown` to it. Over a file of the host it can be mounted, where there are mounts.
fn check_covers(
    input: &Mount,
    command: &Command,
    shown: &[PathBuf],
    isolation: Isolation,
) -> Result<(), RunError> {
    let place = &input.inside;
    let refuse = |reason: &str| {
        Err(RunError::Input {
            path: place.clone(),
            reason: reason.to_owned(),
        })
    };
    if place.starts_with(&command.appears_at) || command.appears_at.starts_with(place) {
        return refuse("it lies in the command's own folder, or above it");
    }
    if shown
        .iter()
        .any(|shown| shown.starts_with(place) && shown != place)
    {
        return refuse("a folder that is shown to the command lies below it");
    }
    let is_covered = shown.iter().any(|shown| place.starts_with(shown));
    let is_file = || place.is_file() && place.canonicalize().is_ok_and(|real| real == *place);
    if is_covered && !(isolation == Isolation::Full && is_file()) {
        return refuse(
            "it lies in a folder of yours that the command sees as it is; take that folder off your PATH",
        );
    }
    Ok(())
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
        check_place(&inside).map_err(|error| match error {
            RunError::Place { path, reason } if command.is_of_bundle() => {
                RunError::Input { path, reason }
            }
            other => other,
        })?;
        shown.push(Mount { host: real, inside });
    }
    Ok(shown)
}

fn environment_of(
    command: &Command,
    toolchain: &Toolchain,
    fixed_time: &FixedTime,
) -> BTreeMap<String, String> {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let mut environment: BTreeMap<String, String> = STEADY.iter().map(own).collect();
    environment.insert("PATH".to_owned(), toolchain.path.clone());
    environment.extend(toolchain.world.variables.iter().cloned());
    environment.extend(fixed_time.variables.iter().cloned());
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
