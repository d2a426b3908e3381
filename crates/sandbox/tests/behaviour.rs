//! What an honest command gets: its input, its folders, its environment, a truthful outcome.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use runseal_sandbox::{Ending, Isolation, Limit, Mount, Outcome, Sandbox, SandboxError, Spec};
use runseal_testkit::isolation::sandbox;
use tempfile::TempDir;

fn shell(folder: &TempDir, script: &str) -> Spec {
    Spec::new(["sh", "-c", script], folder.path())
}

fn printed(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&outcome.stdout.bytes).into_owned()
}

#[test]
fn exit_code_and_both_streams_come_back() {
    let Some(sandbox) = sandbox() else { return };
    let folder = tempfile::tempdir().unwrap();
    let outcome = sandbox
        .run(&shell(&folder, "echo out; echo err >&2; exit 7"))
        .unwrap();
    assert_eq!(outcome.ending, Ending::Exited(7));
    assert_eq!(outcome.exit_code(), Some(7));
    assert_eq!(outcome.stdout.bytes, b"out\n");
    assert_eq!(outcome.stderr.bytes, b"err\n");
    assert_eq!(sandbox.isolation(), Isolation::Full);
}

#[test]
fn signal_of_the_command_comes_back() {
    let Some(sandbox) = sandbox() else { return };
    let folder = tempfile::tempdir().unwrap();
    let outcome = sandbox.run(&shell(&folder, "kill -SEGV $$")).unwrap();
    assert_eq!(
        (outcome.ending, outcome.signal()),
        (Ending::Signaled(11), Some(11))
    );
}

#[test]
fn standard_input_arrives_whole() {
    let Some(sandbox) = sandbox() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut spec = shell(&folder, "wc -c");
    spec.stdin = vec![b'x'; 3_000_000].into();
    assert_eq!(printed(&sandbox.run(&spec).unwrap()).trim(), "3000000");
    let empty = sandbox.run(&shell(&folder, "wc -c")).unwrap();
    assert_eq!(printed(&empty).trim(), "0");
}

#[test]
fn environment_and_identity_are_the_same_everywhere() {
    let Some(sandbox) = sandbox() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut spec = shell(
        &folder,
        "env | sort; id -u; id -un; hostname; pwd; umask; echo $$",
    );
    spec.env.insert("GIVEN".into(), "yes".into());
    let expected = "GIVEN=yes\nHOME=/tmp/home\nLANG=C.UTF-8\nLC_ALL=C.UTF-8\n\
         PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nPWD=/work\n\
         TMPDIR=/tmp\nTZ=UTC\n1000\nsandbox\nsandbox\n/work\n0022\n2\n";
    assert_eq!(printed(&sandbox.run(&spec).unwrap()), expected);
}

#[test]
fn standard_streams_can_be_opened_by_name() {
    let Some(sandbox) = sandbox() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut spec = shell(
        &folder,
        "cat /dev/stdin > /dev/stdout; echo err > /dev/stderr",
    );
    spec.stdin = b"in".to_vec().into();
    let outcome = sandbox.run(&spec).unwrap();
    assert_eq!(
        (printed(&outcome).as_str(), outcome.stderr.bytes.as_slice()),
        ("in", &b"err\n"[..])
    );
}

#[test]
fn command_opens_terminals_of_its_own_and_sees_no_other() {
    let Some(sandbox) = sandbox() else { return };
    let folder = tempfile::tempdir().unwrap();
    let script = "ls /dev/pts; (: > /dev/tty) 2>/dev/null || echo none; script -qec 'tty && : > /dev/tty' /dev/null";
    let spec = shell(&folder, script);
    assert_eq!(
        printed(&sandbox.run(&spec).unwrap()),
        "ptmx\nnone\n/dev/pts/0\r\n"
    );
}

#[test]
fn files_of_the_work_folder_are_read_and_written() {
    let Some(sandbox) = sandbox() else { return };
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("out")).unwrap();
    std::fs::write(folder.path().join("out/in.txt"), "given").unwrap();
    let mut spec = shell(
        &folder,
        "cat in.txt && mkdir -p a/b && printf made > a/b/c && rm in.txt",
    );
    spec.current_dir = PathBuf::from("/work/out");
    let outcome = sandbox.run(&spec).unwrap();
    assert!(outcome.success());
    assert_eq!(printed(&outcome), "given");
    assert_eq!(
        std::fs::read_to_string(folder.path().join("out/a/b/c")).unwrap(),
        "made"
    );
    assert!(!folder.path().join("out/in.txt").exists());
}

#[test]
fn read_only_mounts_are_seen_where_asked() {
    let Some(sandbox) = sandbox() else { return };
    let (folder, given) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(given.path().join("tool.sh"), "echo tool").unwrap();
    let mut spec = shell(&folder, "sh tool.sh; cat /one/file");
    spec.mounts.push(Mount {
        host: given.path().into(),
        inside: "/engine".into(),
    });
    spec.mounts.push(Mount {
        host: given.path().join("tool.sh"),
        inside: "/one/file".into(),
    });
    spec.current_dir = PathBuf::from("/engine");
    if rustix::process::geteuid().is_root() {
        use std::os::unix::fs::PermissionsExt;
        let everyone = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(given.path(), everyone).unwrap();
    }
    assert_eq!(printed(&sandbox.run(&spec).unwrap()), "tool\necho tool");
}

#[test]
fn program_that_is_not_there_is_an_error() {
    let Some(sandbox) = sandbox() else { return };
    let folder = tempfile::tempdir().unwrap();
    for program in ["no-such-program", "/no/such/program", "/etc/passwd"] {
        let answer = sandbox.run(&Spec::new([program], folder.path()));
        match answer {
            Err(SandboxError::Execute { program: named, .. }) => assert_eq!(named, program),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn work_folder_that_is_not_there_is_an_error() {
    let Some(sandbox) = sandbox() else { return };
    let folder = tempfile::tempdir().unwrap();
    let answer = sandbox.run(&Spec::new(["true"], folder.path().join("gone")));
    assert!(
        matches!(answer, Err(SandboxError::System { .. })),
        "{answer:?}"
    );
}

#[test]
fn many_sandboxes_at_once_do_not_disturb_each_other() {
    let Some(sandbox) = sandbox() else { return };
    thread::scope(|scope| {
        for number in 0..8 {
            let sandbox = &sandbox;
            scope.spawn(move || {
                for round in 0..5 {
                    let folder = tempfile::tempdir().unwrap();
                    let script = format!("echo {number}.{round}; sleep 0.02; echo x > made");
                    let outcome = sandbox.run(&shell(&folder, &script)).unwrap();
                    assert_eq!(printed(&outcome), format!("{number}.{round}\n"));
                    assert!(folder.path().join("made").exists());
                }
            });
        }
    });
}

#[test]
fn command_without_isolation_runs_only_when_asked_for() {
    let sandbox = Sandbox::without_isolation();
    assert_eq!(
        (sandbox.isolation(), sandbox.capabilities()),
        (Isolation::None, None)
    );
    let folder = tempfile::tempdir().unwrap();
    let mut spec = shell(&folder, "cat; pwd; exit 3");
    spec.stdin = b"in ".to_vec().into();
    let outcome = sandbox.run(&spec).unwrap();
    let place = std::fs::canonicalize(folder.path()).unwrap();
    assert_eq!(printed(&outcome), format!("in {}\n", place.display()));
    assert_eq!(outcome.exit_code(), Some(3));
    // Even here time and output are bounded, and the environment is the fixed one.
    let mut sleeper = shell(&folder, "sleep 30 & sleep 30");
    sleeper.limits.wall_time = Duration::from_millis(200);
    assert_eq!(
        sandbox.run(&sleeper).unwrap().ending,
        Ending::Stopped(Limit::WallTime)
    );
    let mut talker = shell(&folder, "while :; do echo x; done");
    talker.limits.stdout_bytes = 100;
    assert_eq!(
        sandbox.run(&talker).unwrap().ending,
        Ending::Stopped(Limit::Stdout)
    );
    let environment = sandbox.run(&shell(&folder, "env")).unwrap();
    assert!(!printed(&environment).contains("CARGO"));
}
