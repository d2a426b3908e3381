//! Runs the `runseal` binary as a user would, in a temporary folder and with an empty environment.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// The result of running the binary.
#[derive(Debug)]
pub struct Ran {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Runs a command with nothing on standard input. Also returns its peak memory in kilobytes.
pub fn run_measured(command: &mut Command) -> (Ran, u64) {
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let watching = std::thread::spawn(move || {
        let mut most = 0;
        while let Ok(text) = std::fs::read_to_string(&status) {
            let line = text.lines().find(|line| line.starts_with("VmHWM:"));
            let Some(line) = line else { break };
            let number = line.split_whitespace().nth(1).unwrap();
            most = most.max(number.parse().unwrap());
            std::thread::sleep(Duration::from_millis(5));
        }
        most
    });
    let output = child.wait_with_output().unwrap();
    (output.into(), watching.join().unwrap())
}

/// A folder to run the binary in.
pub struct Bench {
    binary: PathBuf,
    folder: PathBuf,
}

impl Bench {
    /// Runs `binary` in `folder`.
    pub fn new(binary: impl Into<PathBuf>, folder: impl Into<PathBuf>) -> Self {
        Self {
            binary: binary.into(),
            folder: folder.into(),
        }
    }

    /// The path of `name` in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a file in the folder.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Reads a file in the folder.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The command, not yet started.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .current_dir(&self.folder)
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/bin:/bin");
        command
    }

    /// Runs with nothing on standard input.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap()
            .into()
    }

    /// Starts it and kills it (SIGKILL) after this time.
    pub fn kill_after(&self, arguments: &[&str], time: Duration) {
        let mut command = self.command(arguments);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        std::thread::sleep(time);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Runs with `input` on standard input.
    pub fn run_with(&self, arguments: &[&str], input: impl AsRef<[u8]>) -> Ran {
        let mut command = self.command(arguments);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.as_ref().to_vec();
        // From a thread: the program may answer before it has read everything.
        let writer = std::thread::spawn(move || stdin.write_all(&input));
        let output = child.wait_with_output().unwrap();
        drop(writer.join());
        output.into()
    }
}
