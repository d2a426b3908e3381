//! Runs end as a whole: by their own end, by a limit, by the caller's word.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use runseal_sandbox::{CancelToken, OnOutput, SandboxError, Stream};
use runseal_testkit::skip::skip_even_in_ci;

use crate::project::{Project, levels, text};

/// Whether a process runs whose arguments hold `mark`.
fn is_running(mark: &str) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return false;
    };
    processes.flatten().any(|entry| {
        let arguments = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let own = entry.file_name().to_str() == Some(&std::process::id().to_string());
        !own && arguments
            .split(|byte| *byte == 0)
            .any(|part| part == mark.as_bytes())
    })
}

/// A number of seconds that no other process sleeps for.
fn mark(test: u32) -> String {
    format!("3{test}{}", std::process::id())
}

#[test]
fn daemon_ends_with_its_command() {
    for sandbox in levels() {
        let project = Project::new();
        let mark = mark(1);
        let script = format!(
            "(setsid sh -c 'trap \"\" HUP TERM INT; sleep {mark} & wait' >/dev/null 2>&1 &) ; sleep 0.3; echo started"
        );
        let recorded = project.shell(&sandbox, &script);
        assert_eq!(
            recorded.outcome.stdout.bytes,
            b"started\n",
            "{}",
            text(&recorded)
        );
        assert!(!is_running(&mark), "{}", sandbox.isolation());
    }
}

#[test]
fn cancelled_run_leaves_nothing() {
    for sandbox in levels() {
        let project = Project::new();
        let mark = mark(2);
        let script = format!("echo x > new; setsid sleep {mark} & sleep {mark}");
        let mut spec = project.spec(&["sh", "-c", &script]);
        spec.limits.wall_time = Duration::from_secs(300);
        let token = CancelToken::new();
        spec.cancel = Some(token.clone());
        let seen = mark.clone();
        let canceller = std::thread::spawn(move || {
            let began = Instant::now();
            while !is_running(&seen) && began.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(5));
            }
            let was_running = is_running(&seen);
            token.cancel();
            was_running
        });
        let answer = sandbox.record(&spec);
        assert!(matches!(answer, Err(SandboxError::Cancelled)), "{answer:?}");
        assert!(canceller.join().unwrap(), "it ran before");
        assert!(!is_running(&mark), "{}", sandbox.isolation());
        assert_eq!(std::fs::read_dir(project.store()).unwrap().count(), 0);
        assert!(!project.path().join("new").exists());
    }
}

/// A piece of output and where it came from.
type Part = (Stream, Vec<u8>);

#[test]
fn output_is_passed_on_while_it_comes() {
    for sandbox in levels() {
        let project = Project::new();
        let parts: Arc<Mutex<Vec<Part>>> = Arc::default();
        let sink = Arc::clone(&parts);
        let mut spec = project.spec(&["sh", "-c", "echo one; sleep 0.2; echo two >&2"]);
        spec.on_output = Some(OnOutput::new(move |stream, bytes| {
            sink.lock().unwrap().push((stream, bytes.to_vec()));
        }));
        let recorded = sandbox.record(&spec).unwrap();
        assert!(recorded.outcome.success(), "{}", text(&recorded));
        let parts = parts.lock().unwrap();
        assert_eq!(parts[0], (Stream::Stdout, b"one\n".to_vec()));
        assert_eq!(parts[1], (Stream::Stderr, b"two\n".to_vec()));
    }
}

#[test]
fn command_that_is_not_there_is_an_error_and_leaves_nothing() {
    for sandbox in levels() {
        let project = Project::new();
        let answer = sandbox.record(&project.spec(&["no-such-command-here"]));
        assert!(
            matches!(answer, Err(SandboxError::Execute { .. })),
            "{answer:?}"
        );
        assert_eq!(std::fs::read_dir(project.store()).unwrap().count(), 0);
    }
}

#[test]
fn caller_that_is_killed_takes_everything_with_it() {
    // This very program runs itself and is killed: see below.
    for level in ["namespaces", "landlock", "none"] {
        let mark = format!("{}{}", mark(3), level.len());
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "ends::victim", "--nocapture", "--test-threads=1"])
            .env("RUNSEAL_TEST_VICTIM", format!("{level} {mark}"))
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let began = Instant::now();
        while !is_running(&mark) && began.elapsed() < Duration::from_secs(60) {
            if let Some(status) = child.try_wait().unwrap() {
                skip_even_in_ci(&format!("{level} cannot be had here ({status})"));
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let began = Instant::now();
        while is_running(&mark) && began.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(!is_running(&mark), "{level}");
    }
}

/// Does nothing unless the test above runs it.
#[test]
fn victim() {
    let Ok(order) = std::env::var("RUNSEAL_TEST_VICTIM") else {
        return;
    };
    let (level, mark) = order.split_once(' ').unwrap();
    let level = runseal_sandbox::Isolation::from_name(level).unwrap();
    let Ok(sandbox) = runseal_sandbox::Sandbox::at(level) else {
        return;
    };
    let project = Project::new();
    let script = format!("setsid sleep {mark} & sleep {mark}");
    let mut spec = project.spec(&["sh", "-c", &script]);
    spec.limits.wall_time = Duration::from_secs(300);
    let _ = sandbox.record(&spec);
    assert!(Path::new("/proc").exists());
}
