//! What to run and with what. A [`Spec`] is plain data; [`Spec::check`] refuses what no system
//! could run, before any process exists.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::cancel::CancelToken;
use crate::error::SpecError;
use crate::limits::Limits;
use crate::loopback::Loopback;
use crate::observation::Observe;
use crate::places::{check_host_path, check_inside_path, check_mount_point, check_own_place};
use crate::streams::{Stdin, Terminal};
use crate::view::View;

/// Where the work folder appears inside.
pub const INSIDE_WORK: &str = "/work";
/// The private, empty folder for temporary files inside; gone after the run.
pub const INSIDE_TMP: &str = "/tmp";
/// The home folder inside; private and empty, gone after the run.
pub const INSIDE_HOME: &str = "/tmp/home";

/// The environment every command gets. [`Spec::env`] adds to it and may replace values.
pub const FIXED_ENVIRONMENT: [(&str, &str); 6] = [
    ("HOME", INSIDE_HOME),
    ("LANG", "C.UTF-8"),
    ("LC_ALL", "C.UTF-8"),
    (
        "PATH",
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    ),
    ("TMPDIR", INSIDE_TMP),
    ("TZ", "UTC"),
];

/// A file or folder of the host that appears, read-only, inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Absolute path on the host.
    pub host: PathBuf,
    /// Absolute path inside; not below [`INSIDE_WORK`], [`INSIDE_TMP`], /proc or /dev.
    pub inside: PathBuf,
}

/// One command and everything it is given.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Program and arguments. A program without a slash is looked for in the inside `PATH`.
    pub command: Vec<OsString>,
    /// The folder on the host whose content the command finds in its only lasting writable one
    /// ([`INSIDE_WORK`]), and which holds what it made of it afterwards. Nobody else may change
    /// it meanwhile. When a limit stops the command, the folder stays as it was.
    ///
    /// Beyond [`crate::MOST_IN_MEMORY`] the command works in this very folder: then it shows whatever
    /// was done before a limit was reached, and for a caller who is root it becomes the property
    /// of the unprivileged user that commands run as.
    pub work_folder: PathBuf,
    /// Working directory, as a path inside.
    pub current_dir: PathBuf,
    /// Further things to see, read-only.
    pub mounts: Vec<Mount>,
    /// Added to [`FIXED_ENVIRONMENT`].
    pub env: BTreeMap<String, String>,
    /// Names of variables of [`Spec::env`] whose values are inside paths. Where nothing is mounted
    /// they get what the path is on the host.
    pub path_variables: BTreeSet<String>,
    /// What the command reads on standard input.
    pub stdin: Stdin,
    /// The command's terminal, if it has one.
    pub terminal: Option<Terminal>,
    /// Whether it may make Unix sockets at all (to reach one that was mounted for it).
    pub unix_sockets: bool,
    /// The one address that it may connect to; without it there is no network at all.
    pub loopback: Option<Loopback>,
    /// A folder of the host that appears inside at its own path with a writable layer over it,
    /// in place of [`Spec::work_folder`], which then means nothing; see [`Spec::in_folder`].
    pub layered: Option<Layered>,
    /// What it sees of the host's files besides.
    pub view: View,
    /// Device files of the host, below /dev, that it may use as its user can.
    pub devices: Vec<PathBuf>,
    /// Whether it finds the machine as its user's shell does; nothing is a sandbox that is the same everywhere.
    pub ordinary: Option<Ordinary>,
    /// What to keep of what the command is seen to do; nothing is observed without.
    pub observe: Option<Observe>,
    /// Ends the run early.
    pub cancel: Option<CancelToken>,
    /// How long the command may go on once the run is cancelled: it gets the signal that cancelled it, after this
    /// time SIGTERM, and two seconds later everything is killed; every further signal takes the next step at once.
    /// How it ended is its [`crate::Outcome`], which says that it was interrupted. Without a grace everything is
    /// killed at once.
    pub grace: Option<Duration>,
    /// Gets the output while it comes, besides its being captured.
    pub on_output: Option<OnOutput>,
    /// Hears of every file when it is first read or executed, where [`Spec::observe`] is set.
    pub on_file: Option<OnFile>,
    /// What the command may use before it is stopped.
    pub limits: Limits,
}

/// A machine with its ordinary ways: loopback in a network of the command's own, Unix sockets, pseudo terminals,
/// shared memory, all of /proc, temporary folders without a size of their own, and no environment but the
/// one that is given. Needs a layered folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ordinary {
    /// User and group that it finds itself to be.
    pub user: (u32, u32),
    /// The machine's name.
    pub hostname: String,
    /// Rights that new files do not get.
    pub umask: u32,
}

impl Ordinary {
    /// As the caller finds this machine. A caller who is root has commands run as another user, by the
    /// neutral number 1000.
    #[cfg(unix)]
    pub fn of_caller() -> Ordinary {
        let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
        let is_root = user.is_root();
        let name = rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned();
        // There is no other way to ask.
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let umask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
        let umask = umask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok());
        Ordinary {
            user: match is_root {
                true => (1000, 1000),
                false => (user.as_raw(), group.as_raw()),
            },
            hostname: name,
            umask: umask.unwrap_or(0o022),
        }
    }
}

/// A folder of the host that a command may change without changing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layered {
    /// The folder: absolute, no link on the way (canonical).
    pub folder: PathBuf,
    /// Where the command sees it: its own path as a rule. Only namespaces can show it elsewhere; at
    /// other levels the command works in a copy whose path it has.
    pub inside: PathBuf,
    /// An empty folder of the caller's own, for a copy where there can be no layer. Nobody else
    /// may reach it. What is put there is removed when the [`crate::FolderLayer`] is dropped.
    pub store: PathBuf,
}

/// Which stream some output came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// The command's terminal, whatever leads to it.
    Terminal,
}

/// A function that gets output as it comes. It runs on the thread that called
/// [`crate::Sandbox::run`] and holds it up while it does.
#[derive(Clone)]
pub struct OnOutput(Arc<OutputFunction>);

type OutputFunction = dyn Fn(Stream, &[u8]) + Send + Sync;

impl OnOutput {
    /// The function must return soon: the command's output waits in its pipe meanwhile.
    pub fn new(function: impl Fn(Stream, &[u8]) + Send + Sync + 'static) -> OnOutput {
        OnOutput(Arc::new(function))
    }

    pub(crate) fn call(&self, stream: Stream, bytes: &[u8]) {
        (self.0)(stream, bytes);
    }
}

impl std::fmt::Debug for OnOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnOutput")
    }
}

/// A function that hears of a file when the command first opens it to read it or executes it: its
/// absolute path as in [`crate::ObservedFile::path`]. The command waits meanwhile. An open that is
/// heard of may still fail.
#[derive(Clone)]
pub struct OnFile(Arc<FileFunction>);

type FileFunction = dyn Fn(&Path) + Send + Sync;

impl OnFile {
    /// The function must return soon: the command waits meanwhile.
    pub fn new(function: impl Fn(&Path) + Send + Sync + 'static) -> OnFile {
        OnFile(Arc::new(function))
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn call(&self, path: &Path) {
        (self.0)(path);
    }
}

impl std::fmt::Debug for OnFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnFile")
    }
}

impl Spec {
    /// A command in a work folder, everything else as default: nothing extra to see, empty
    /// input, working directory [`INSIDE_WORK`].
    pub fn new<I, S>(command: I, work_folder: impl Into<PathBuf>) -> Spec
    where
        I: IntoIterator<Item = S>,
        S: Into<OsString>,
    {
        Spec {
            command: command.into_iter().map(Into::into).collect(),
            work_folder: work_folder.into(),
            current_dir: PathBuf::from(INSIDE_WORK),
            mounts: Vec::new(),
            env: BTreeMap::new(),
            path_variables: BTreeSet::new(),
            stdin: Stdin::default(),
            terminal: None,
            unix_sockets: false,
            loopback: None,
            layered: None,
            view: View::strict(),
            devices: Vec::new(),
            ordinary: None,
            observe: None,
            cancel: None,
            grace: None,
            on_output: None,
            on_file: None,
            limits: Limits::default(),
        }
    }

    /// A command in a folder of the user's, which it sees at its own path and finds writable,
    /// but which stays as it is: [`crate::Sandbox::record`] gives back what changed. There is no
    /// [`INSIDE_WORK`] then. [`Limits::work_bytes`] and [`Limits::work_files`] bound the changes.
    pub fn in_folder<I, S>(
        command: I,
        folder: impl Into<PathBuf>,
        store: impl Into<PathBuf>,
    ) -> Spec
    where
        I: IntoIterator<Item = S>,
        S: Into<OsString>,
    {
        let folder = folder.into();
        let mut spec = Spec::new(command, folder.clone());
        spec.current_dir = folder.clone();
        let store = store.into();
        let inside = folder.clone();
        spec.layered = Some(Layered {
            folder,
            inside,
            store,
        });
        spec
    }

    /// The whole environment of the command, sorted by name.
    pub fn environment(&self) -> BTreeMap<String, String> {
        let fixed: &[(&str, &str)] = match self.ordinary {
            Some(_) => &[],
            None => &FIXED_ENVIRONMENT,
        };
        let mut environment: BTreeMap<String, String> = fixed
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        environment.extend(self.env.clone());
        environment
    }

    /// Whether TCP sockets may be made, to reach the one address.
    pub(crate) fn has_loopback(&self) -> bool {
        self.loopback.is_some()
    }

    /// What an inside path is on the host, where nothing is mounted anywhere.
    #[cfg(unix)]
    pub(crate) fn on_host(&self, inside: &Path) -> PathBuf {
        if let Ok(below) = inside.strip_prefix(INSIDE_WORK) {
            return self.work_folder.join(below);
        }
        for mount in &self.mounts {
            if let Ok(below) = inside.strip_prefix(&mount.inside) {
                return mount.host.join(below);
            }
        }
        inside.to_owned()
    }

    /// Refuses what cannot be run.
    pub(crate) fn check(&self) -> Result<(), SpecError> {
        match self.command.first() {
            Some(program) if !program.is_empty() => {}
            _ => return Err(SpecError::EmptyCommand),
        }
        if self
            .command
            .iter()
            .any(|part| part.as_encoded_bytes().contains(&0))
        {
            return Err(SpecError::Nul {
                what: "the command",
            });
        }
        for (name, value) in &self.env {
            if name.is_empty() || name.contains('=') {
                return Err(SpecError::EnvironmentName { name: name.clone() });
            }
            if name.contains('\0') || value.contains('\0') {
                return Err(SpecError::Nul {
                    what: "the environment",
                });
            }
        }
        check_host_path(&self.work_folder)?;
        check_inside_path(&self.current_dir)?;
        for mount in &self.mounts {
            check_host_path(&mount.host)?;
            check_mount_point(&mount.inside)?;
        }
        if let Some(layered) = &self.layered {
            check_host_path(&layered.store)?;
            check_own_place(&layered.folder)?;
            check_own_place(&layered.inside)?;
        }
        self.view.check()?;
        self.limits.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> Spec {
        Spec::new(["true"], "/tmp")
    }

    #[test]
    fn spec_with_defaults_passes() {
        assert_eq!(spec().check(), Ok(()));
    }

    #[test]
    fn spec_without_program_is_refused() {
        assert_eq!(
            Spec::new([""], "/tmp").check(),
            Err(SpecError::EmptyCommand)
        );
        assert_eq!(
            Spec::new(Vec::<String>::new(), "/tmp").check(),
            Err(SpecError::EmptyCommand)
        );
    }

    #[test]
    fn spec_with_nul_is_refused() {
        let command = Spec::new(["a\0b"], "/tmp");
        assert_eq!(
            command.check(),
            Err(SpecError::Nul {
                what: "the command"
            })
        );
        let mut env = spec();
        env.env.insert("A".into(), "x\0".into());
        assert_eq!(
            env.check(),
            Err(SpecError::Nul {
                what: "the environment"
            })
        );
    }

    #[test]
    fn mount_point_in_a_reserved_place_is_refused() {
        for inside in [
            "/",
            "/work",
            "/work/x",
            "/tmp/x",
            "/proc/1",
            "/dev/x",
            "a",
            "/a/../usr",
        ] {
            let mut bad = spec();
            bad.mounts.push(Mount {
                host: "/usr".into(),
                inside: inside.into(),
            });
            assert_eq!(
                bad.check(),
                Err(SpecError::InsidePath {
                    path: inside.into()
                }),
                "{inside}"
            );
        }
    }

    #[test]
    fn limit_of_zero_is_refused() {
        let mut bad = spec();
        bad.limits.processes = 0;
        assert_eq!(bad.check(), Err(SpecError::ZeroLimit { name: "processes" }));
    }

    #[test]
    fn environment_holds_fixed_and_given_names_only() {
        let mut given = spec();
        given.env.insert("B".into(), "1".into());
        let names: Vec<String> = given.environment().into_keys().collect();
        assert_eq!(
            names,
            ["B", "HOME", "LANG", "LC_ALL", "PATH", "TMPDIR", "TZ"]
        );
    }
}
