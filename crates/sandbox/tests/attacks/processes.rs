//! Other processes: seeing, tracing, stopping them, and outliving one's own end.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::arena::{
    arena, assert_refused, assert_works, attack_outside, attacker, shell_outside, text,
};

/// A process of the host with a name that can be searched for; ends with the test.
struct Victim {
    child: Child,
    marker: String,
}

impl Victim {
    fn new(name: &str) -> Victim {
        let marker = marker(name);
        let child = Command::new(attacker())
            .args(["wait", &marker])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Victim { child, marker }
    }

    fn id(&self) -> String {
        self.child.id().to_string()
    }

    fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn marker(name: &str) -> String {
    format!("runseal-{name}-{}", std::process::id())
}

/// Processes of the host whose command line holds the text, but for ourselves.
fn find_processes(text: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if pid != std::process::id() && String::from_utf8_lossy(&line).contains(text) {
            found.push(pid);
        }
    }
    found
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "waited in vain for: {what}"
        );
        thread::sleep(Duration::from_millis(10));
    }
}

fn end_all(text: &str) {
    for pid in find_processes(text) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

#[test]
fn tracing_a_process_fails() {
    let Some(arena) = arena() else { return };
    assert_works(&attack_outside(&["ptrace-child"]));
    assert_refused(&arena.attack(&["ptrace-child"]));
    let mut victim = Victim::new("traced");
    assert_refused(&arena.attack(&["ptrace-host", &victim.id()]));
    assert!(victim.is_alive());
}

#[test]
fn seeing_host_processes_fails() {
    let Some(arena) = arena() else { return };
    let victim = Victim::new("seen");
    wait_until("the victim", || !find_processes(&victim.marker).is_empty());
    let looking = "cat /proc/[0-9]*/cmdline | tr '\\0' ' '";
    let outside = shell_outside(arena.work(), looking);
    assert!(String::from_utf8_lossy(&outside.stdout).contains(&victim.marker));
    let outcome = arena.shell(looking);
    assert!(!String::from_utf8_lossy(&outcome.stdout.bytes).contains(&victim.marker));
    // Nor is the sandbox's own first process there to be looked at.
    let listing = arena.shell("ls /proc/1; ls -d /proc/[0-9]*");
    let seen = String::from_utf8_lossy(&listing.stdout.bytes).into_owned();
    assert!(!seen.lines().any(|line| line == "/proc/1"), "{seen}");
}

#[test]
fn stopping_host_processes_fails() {
    let Some(arena) = arena() else { return };
    let mut sacrificed = Victim::new("sacrificed");
    assert_works(&attack_outside(&["kill", &sacrificed.id()]));
    assert!(!sacrificed.child.wait().unwrap().success());

    let mut victim = Victim::new("spared");
    assert_refused(&arena.attack(&["kill", &victim.id()]));
    assert!(victim.is_alive());
    // Everything there is: only the sandbox's own processes, and not its first.
    let outcome = arena.shell("kill -9 -1; kill -9 1; exit 7");
    assert!(!outcome.success(), "{}", text(&outcome));
    assert!(victim.is_alive());
}

#[test]
fn child_that_outlives_its_parent_is_ended() {
    let Some(arena) = arena() else { return };
    let (outside, inside) = (marker("orphan-outside"), marker("orphan-inside"));
    let script = |program: &str, name: &str| format!("{program} wait {name} >/dev/null 2>&1 &");
    let here = attacker().to_str().unwrap();
    assert_works(&shell_outside(arena.work(), &script(here, &outside)));
    wait_until("the orphan", || !find_processes(&outside).is_empty());
    end_all(&outside);

    let mut spec = arena.attack_spec(&[]);
    spec.command = ["sh", "-c", &script("/attack/attacker", &inside)]
        .map(Into::into)
        .to_vec();
    let outcome = arena.run(&spec);
    assert!(outcome.success(), "{}", text(&outcome));
    assert_eq!(find_processes(&inside), []);
}

#[test]
fn background_daemon_is_ended() {
    let Some(arena) = arena() else { return };
    let (outside, inside) = (marker("daemon-outside"), marker("daemon-inside"));
    assert_works(&attack_outside(&[
        "daemon",
        attacker().to_str().unwrap(),
        &outside,
    ]));
    wait_until("the daemon", || !find_processes(&outside).is_empty());
    end_all(&outside);

    let outcome = arena.attack(&["daemon", "/attack/attacker", &inside]);
    assert!(outcome.success(), "{}", text(&outcome));
    assert_eq!(find_processes(&inside), []);
}

#[test]
fn child_that_keeps_the_output_open_does_not_delay_the_end() {
    let Some(arena) = arena() else { return };
    let began = Instant::now();
    let outcome = arena.shell("sleep 15 & echo done");
    assert_eq!(outcome.stdout.bytes, b"done\n");
    assert!(outcome.success() && began.elapsed() < Duration::from_secs(5));
}

/// What the next test starts as another process: a caller that waits for a long command.
#[test]
fn role_of_a_caller_is_played_when_asked_for() {
    let Ok(name) = std::env::var("RUNSEAL_TEST_CALLER") else {
        return;
    };
    let Some(arena) = arena() else { return };
    let mut spec = arena.attack_spec(&["wait", &name]);
    spec.limits.wall_time = Duration::from_secs(300);
    arena.run(&spec);
}

#[test]
fn command_ends_when_its_caller_is_killed() {
    if arena().is_none() {
        return;
    }
    let name = marker("caller");
    let mut caller = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "processes::role_of_a_caller_is_played_when_asked_for",
        ])
        .env("RUNSEAL_TEST_CALLER", &name)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the command", || !find_processes(&name).is_empty());
    caller.kill().unwrap();
    caller.wait().unwrap();
    wait_until("the end of the command", || {
        find_processes(&name).is_empty()
    });
}
