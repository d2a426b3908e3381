//! What the tests of `record` share: a project folder, and running as an ordinary user.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use runseal_testkit::cli::Ran;
use runseal_testkit::skip::need_root;

pub mod forged;

/// A folder of its own for a project, with the program beside it.
pub struct Project {
    home: tempfile::TempDir,
    user: Option<u32>,
}

impl Project {
    /// An empty project of the user who runs the tests.
    pub fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let project = Self { home, user: None };
        fs::create_dir(project.path("")).unwrap();
        project
    }

    /// The same of an ordinary user; nothing where the tests themselves run as one.
    pub fn of_ordinary_user() -> Option<Self> {
        if !need_root() {
            return None;
        }
        let mut project = Self::new();
        project.user = Some(65534);
        let own = project.home.path().join("runseal");
        fs::copy(env!("CARGO_BIN_EXE_runseal"), &own).unwrap();
        chown(project.home.path(), Some(65534), Some(65534)).unwrap();
        chown(project.path(""), Some(65534), Some(65534)).unwrap();
        Some(project)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.home.path().join("project").join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Gives a file to the project's user.
    pub fn give(&self, path: &Path) {
        if let Some(user) = self.user {
            chown(path, Some(user), Some(user)).unwrap();
        }
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn binary(&self) -> PathBuf {
        match self.user {
            Some(_) => self.home.path().join("runseal"),
            None => env!("CARGO_BIN_EXE_runseal").into(),
        }
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("env");
        // Whoever runs the tests in the background, or under nohup, may have told them to ignore these.
        command
            .arg("--default-signal=HUP,INT,TERM")
            .arg(self.binary())
            .args(arguments)
            .current_dir(self.path(""))
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("TMPDIR", std::env::temp_dir())
            .stdin(Stdio::null());
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).output().unwrap().into()
    }

    /// Records, which has to work.
    pub fn record(&self, run_id: &str, arguments: &[&str]) -> Ran {
        let all = [
            &["record", "--format", "json", "--run-id", run_id],
            arguments,
        ]
        .concat();
        let ran = self.run(&all);
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        ran
    }

    /// The same with a shell script.
    pub fn record_sh(&self, run_id: &str, script: &str) -> Ran {
        self.record(run_id, &["--", "sh", "-c", script])
    }

    /// Replays the run of this id.
    pub fn replay(&self, run_id: &str, more: &[&str]) -> Ran {
        let bundle = format!("RUN_BUNDLE/{run_id}");
        self.run(&[&["replay", bundle.as_str()], more].concat())
    }

    /// Replays the run of this id, which has to give the same.
    pub fn assert_reproduced(&self, run_id: &str) {
        let ran = self.replay(run_id, &[]);
        assert_eq!(ran.code, Some(0), "{run_id}: {}{}", ran.stdout, ran.stderr);
    }

    /// Makes a working engine in this language.
    pub fn init_engine(&self, name: &str, language: &str) {
        let ran = self.run(&["engine", "init", name, "--lang", language]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }

    /// Runs an engine on its example, which has to work.
    pub fn run_engine(&self, name: &str, run_id: &str, more: &[&str]) {
        let input = format!("{name}/input.json");
        let arguments = ["engine", "run", name, &input, "--out", "RUN_BUNDLE"];
        let ran = self.run(&[&arguments[..], &["--run-id", run_id], more].concat());
        assert_eq!(ran.code, Some(0), "{run_id}: {}{}", ran.stdout, ran.stderr);
    }

    pub fn bundle(&self, run_id: &str) -> PathBuf {
        self.path("RUN_BUNDLE").join(run_id)
    }
}

/// Every path below a folder, sorted.
pub fn list(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                waiting.push(path.clone());
            }
            let below = path.strip_prefix(folder).unwrap();
            found.push(below.to_str().unwrap().to_owned());
        }
    }
    found.sort();
    found
}
