//! Places that refuse a part of the sandbox, each put up for real: a masked /proc, no user
//! namespaces, no Landlock, a seccomp filter already in place. The sandbox names what is missing,
//! never does with less by itself, and does what it can at the level that is asked for by name.
//!
//! This program runs itself inside each restriction (see [`report`]).

#![cfg(target_os = "linux")]
// Everything here is test code, the functions that tests share included.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use runseal_sandbox::{Isolation, Observe, Sandbox, SandboxError, Spec};
use runseal_testkit::skip::{need_isolation, need_root};
use tempfile::TempDir;

/// Where programs lie that every user may run.
struct Yard {
    folder: TempDir,
    jail: PathBuf,
    itself: PathBuf,
}

fn open_up(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

impl Yard {
    fn new() -> Yard {
        let folder = tempfile::tempdir().unwrap();
        open_up(folder.path(), 0o777);
        let jail = folder.path().join("jail");
        let source = folder.path().join("jail.c");
        std::fs::write(&source, include_str!("restrictions/jail.c")).unwrap();
        let built = Command::new("cc")
            .args(["-O1", "-o"])
            .arg(&jail)
            .arg(&source)
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "cc: {message}");
        let itself = folder.path().join("itself");
        runseal_testkit::folders::copy_test_program(&itself);
        for program in [&jail, &itself] {
            open_up(program, 0o755);
        }
        Yard {
            folder,
            jail,
            itself,
        }
    }

    /// What [`report`] prints as an ordinary user below `before`, a command to put in front.
    fn report(&self, before: &[&str]) -> String {
        let itself = self.itself.to_str().unwrap();
        let words = ["--exact", "report", "--nocapture", "--test-threads=1"];
        let mut all: Vec<&str> = before.to_vec();
        all.push(itself);
        all.extend(words);
        let mut command = Command::new(all[0]);
        command
            .args(&all[1..])
            .current_dir(self.folder.path())
            .env("TMPDIR", self.folder.path())
            .env("RUNSEAL_TEST_REPORT", "1");
        // These two need root, and leave it themselves.
        let leaves_root =
            before.first() == Some(&"unshare") || before.contains(&"no-namespace-left");
        if is_root() && !leaves_root {
            command.uid(65_534).gid(65_534);
        }
        let output = command.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{printed}{errors}");
        assert!(printed.contains("report ends"), "{printed}{errors}");
        printed
    }
}

/// Prints what works here, one line each. Does nothing unless a test of this file runs it.
#[test]
fn report() {
    if std::env::var_os("RUNSEAL_TEST_REPORT").is_none() {
        return;
    }
    // The harness has begun a line.
    println!();
    for level in Isolation::ALL {
        match Sandbox::probe_at(level) {
            Ok(_) => println!("probe {level}: works"),
            Err(missing) => println!("probe {level}: {} ({})", missing.layer, missing.reason),
        }
        println!("record {level}: {}", try_record(level));
    }
    let (strongest, lacking) = Sandbox::find_strongest();
    println!(
        "strongest: {strongest}, {} stronger ones lack something",
        lacking.len()
    );
    println!("report ends");
}

fn try_record(level: Isolation) -> String {
    let (folder, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().canonicalize().unwrap();
    std::fs::write(path.join("data"), "data").unwrap();
    let script = "cat data; echo x > new";
    let mut spec = Spec::in_folder(["sh", "-c", script], &path, store.path());
    spec.observe = Some(Observe::default());
    let sandbox = match Sandbox::at(level) {
        Ok(sandbox) => sandbox,
        Err(missing) => return format!("refused, {}", missing.layer),
    };
    match sandbox.record(&spec) {
        Ok(recorded) => {
            assert!(!path.join("new").exists());
            let observation = recorded.observation.unwrap();
            let has_seen = observation
                .files
                .iter()
                .any(|file| file.path == path.join("data"));
            let layer = recorded.layer.unwrap();
            format!(
                "ran, {} change as {:?}, {}",
                layer.changes().len(),
                layer.kind(),
                if has_seen { "observed" } else { "not observed" }
            )
        }
        Err(SandboxError::Missing(missing)) => format!("refused, {}", missing.layer),
        Err(error) => format!("failed, {error}"),
    }
}

fn assert_line(report: &str, line: &str) {
    assert!(
        report.lines().any(|found| found.starts_with(line)),
        "no `{line}` in\n{report}"
    );
}

#[test]
fn nothing_refused_everything_works() {
    if !need_isolation() {
        return;
    }
    let report = Yard::new().report(&[]);
    assert_line(
        &report,
        "record namespaces: ran, 1 change as Overlay, observed",
    );
    assert_line(&report, "record landlock: ran, 1 change as Copy, observed");
    assert_line(&report, "record none: ran, 1 change as Copy, observed");
    assert_line(&report, "strongest: namespaces, 0");
}

#[test]
fn without_user_namespaces_landlock_is_left() {
    if !need_isolation() {
        return;
    }
    let yard = Yard::new();
    let report = yard.report(&[yard.jail.to_str().unwrap(), "no-user-namespaces"]);
    assert_line(&report, "probe namespaces: user namespace");
    assert_line(&report, "record namespaces: refused, user namespace");
    assert_line(&report, "record landlock: ran, 1 change as Copy, observed");
    assert_line(&report, "strongest: landlock, 1");
}

#[test]
fn without_landlock_nothing_isolates() {
    if !need_isolation() {
        return;
    }
    let yard = Yard::new();
    let report = yard.report(&[yard.jail.to_str().unwrap(), "no-landlock"]);
    assert_line(&report, "probe namespaces: Landlock");
    assert_line(&report, "probe landlock: Landlock");
    assert_line(&report, "record landlock: refused, Landlock");
    assert_line(&report, "record none: ran, 1 change as Copy, observed");
    assert_line(&report, "strongest: none, 2");
}

#[test]
fn with_a_filter_that_allows_no_listener_nothing_is_observed_and_it_is_said() {
    if !need_isolation() {
        return;
    }
    let yard = Yard::new();
    let report = yard.report(&[yard.jail.to_str().unwrap(), "no-listener"]);
    assert_line(
        &report,
        "record namespaces: ran, 1 change as Overlay, not observed",
    );
    assert_line(
        &report,
        "record landlock: ran, 1 change as Copy, not observed",
    );
    assert_line(&report, "record none: ran, 1 change as Copy, not observed");
}

#[test]
fn with_a_masked_proc_landlock_is_left() {
    if !need_root() || !need_isolation() {
        return;
    }
    let script =
        "mount -t tmpfs none /proc/acpi 2>/dev/null || mount -t tmpfs none /proc/fs || exit 9
        exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\"";
    let report = Yard::new().report(&["unshare", "--mount", "sh", "-c", script, "sh"]);
    assert_line(&report, "probe namespaces: private /proc");
    assert_line(&report, "record namespaces: refused, private /proc");
    assert_line(&report, "record landlock: ran, 1 change as Copy, observed");
    assert_line(&report, "strongest: landlock, 1");
}

#[test]
fn with_no_user_namespace_left_landlock_is_left() {
    if !need_root() || !need_isolation() {
        return;
    }
    let yard = Yard::new();
    let report = yard.report(&[yard.jail.to_str().unwrap(), "no-namespace-left"]);
    assert_line(&report, "probe namespaces: user namespace");
    assert_line(&report, "record landlock: ran, 1 change as Copy, observed");
    assert_line(&report, "strongest: landlock, 1");
}

#[test]
fn root_without_the_power_to_mount_reads_why() {
    if !need_root() || !need_isolation() {
        return;
    }
    let yard = Yard::new();
    let itself = yard.itself.to_str().unwrap();
    let output = Command::new("setpriv")
        .args(["--bounding-set=-sys_admin", "--inh-caps=-sys_admin", itself])
        .args(["--exact", "report", "--nocapture"])
        .env("TMPDIR", yard.folder.path())
        .env("RUNSEAL_TEST_REPORT", "1")
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{report}");
    assert_line(&report, "probe namespaces: root's capabilities");
    assert_line(&report, "record landlock: ran, 1 change as Copy, observed");
}
