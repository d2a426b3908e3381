//! The place where attacks happen: a work folder, a folder of the host that must stay out of
//! reach, the attacker program, and both ways to run it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use runseal_sandbox::{Limits, Mount, Outcome, Sandbox, Spec};
use tempfile::TempDir;

/// Folders and sandbox of one test.
pub(crate) struct Arena {
    sandbox: Sandbox,
    work: TempDir,
    outside: TempDir,
}

/// An arena, or nothing (with a message) where this machine has no isolation.
pub(crate) fn arena() -> Option<Arena> {
    runseal_testkit::isolation::sandbox().map(|sandbox| Arena {
        sandbox,
        work: folder(),
        outside: folder(),
    })
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    open_up(folder.path(), 0o755);
    folder
}

pub(crate) fn open_up(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// The attacker program, compiled once for all tests of this process.
pub(crate) fn attacker() -> &'static Path {
    static BUILT: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = BUILT.get_or_init(|| {
        let folder = folder();
        let source = folder.path().join("attacker.c");
        std::fs::write(&source, include_str!("attacker.c")).unwrap();
        let program = folder.path().join("attacker");
        let output = Command::new("cc")
            .arg("-O1")
            .arg("-o")
            .arg(&program)
            .arg(&source)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "cc: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        (folder, program)
    });
    path
}

impl Arena {
    /// The work folder on the host.
    pub(crate) fn work(&self) -> &Path {
        self.work.path()
    }

    /// A path in a folder of the host that the sandbox does not show.
    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.outside.path().join(name)
    }

    /// A file there, with content that everyone may read and write.
    pub(crate) fn outside_file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.outside(name);
        std::fs::write(&path, content).unwrap();
        open_up(&path, 0o666);
        path
    }

    /// A specification with limits that suit tests.
    pub(crate) fn spec<S: AsRef<str>>(&self, command: &[S]) -> Spec {
        let mut spec = Spec::new(command.iter().map(|part| part.as_ref()), self.work());
        spec.limits = Limits {
            wall_time: std::time::Duration::from_secs(20),
            ..Limits::default()
        };
        spec
    }

    pub(crate) fn run(&self, spec: &Spec) -> Outcome {
        self.sandbox.run(spec).unwrap()
    }

    /// Runs a shell script inside.
    pub(crate) fn shell(&self, script: &str) -> Outcome {
        self.run(&self.spec(&["sh", "-c", script]))
    }

    /// A specification that runs the attacker inside.
    pub(crate) fn attack_spec(&self, arguments: &[&str]) -> Spec {
        let mut command = vec!["/attack/attacker"];
        command.extend(arguments);
        let mut spec = self.spec(&command);
        let host = attacker().parent().unwrap().to_owned();
        spec.mounts.push(Mount {
            host,
            inside: "/attack".into(),
        });
        spec
    }

    /// The same for the levels at which nothing is mounted: the attacker is where it is on the host.
    pub(crate) fn attack_spec_on_host(&self, arguments: &[&str]) -> Spec {
        let mut spec = self.attack_spec(arguments);
        spec.command[0] = attacker().into();
        spec
    }

    /// Runs the attacker inside.
    pub(crate) fn attack(&self, arguments: &[&str]) -> Outcome {
        self.run(&self.attack_spec(arguments))
    }
}

/// Runs the attacker outside.
pub(crate) fn attack_outside(arguments: &[&str]) -> Output {
    Command::new(attacker())
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Runs a shell script outside, in the given folder.
pub(crate) fn shell_outside(folder: &Path, script: &str) -> Output {
    Command::new("sh")
        .arg("-c")
        .arg(script)
        .current_dir(folder)
        .output()
        .unwrap()
}

/// The attack works outside; otherwise the test would prove nothing.
pub(crate) fn assert_works(output: &Output) {
    assert!(
        output.status.success(),
        "the attack must work outside: {:?} {} {}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
}

/// The attacker ran inside and was refused.
pub(crate) fn assert_refused(outcome: &Outcome) {
    assert_eq!(outcome.exit_code(), Some(1), "{}", text(outcome));
}

/// What an outcome printed, for messages.
pub(crate) fn text(outcome: &Outcome) -> String {
    format!(
        "{:?} out: {} err: {}",
        outcome.ending,
        String::from_utf8_lossy(&outcome.stdout.bytes),
        String::from_utf8_lossy(&outcome.stderr.bytes)
    )
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
