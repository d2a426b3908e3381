//! Using more than one's share.

use std::time::{Duration, Instant};

use runseal_sandbox::{Ending, Limit, Outcome};

use crate::arena::{arena, assert_refused, assert_works, attack_outside, shell_outside, text};

pub(crate) fn assert_stopped(outcome: &Outcome, limit: Limit) {
    assert_eq!(outcome.ending, Ending::Stopped(limit), "{}", text(outcome));
}

#[test]
fn fork_bomb_stops_at_its_limit() {
    let Some(arena) = arena() else { return };
    assert_works(&attack_outside(&["fork-bomb", "60"]));
    let mut spec = arena.attack_spec(&["fork-bomb", "60"]);
    spec.limits.processes = 20;
    let outcome = arena.run(&spec);
    assert_refused(&outcome);
    let made: u32 = String::from_utf8_lossy(&outcome.stdout.bytes)
        .trim()
        .parse()
        .unwrap();
    assert!((15..=20).contains(&made), "{made} processes");
}

#[test]
fn endless_fork_bomb_ends_with_the_time_limit() {
    let Some(arena) = arena() else { return };
    let mut spec = arena.spec(&["sh", "-c", "bomb() { bomb | bomb & }; bomb; sleep 60"]);
    spec.limits.processes = 50;
    spec.limits.wall_time = Duration::from_millis(700);
    let began = Instant::now();
    let outcome = arena.run(&spec);
    assert!(began.elapsed() < Duration::from_secs(10));
    // The shell may give up first for want of processes; then it failed by itself.
    assert!(!outcome.success(), "{}", text(&outcome));
}

#[test]
fn memory_bomb_in_one_process_fails() {
    let Some(arena) = arena() else { return };
    assert_works(&attack_outside(&["memory-bomb", "256", "1"]));
    let mut spec = arena.attack_spec(&["memory-bomb", "256", "1"]);
    spec.limits.memory_bytes = 64 << 20;
    assert_refused(&arena.run(&spec));
}

#[test]
fn memory_bomb_in_many_processes_is_stopped() {
    let Some(arena) = arena() else { return };
    assert_works(&attack_outside(&["memory-bomb", "32", "8"]));
    let mut spec = arena.attack_spec(&["memory-bomb", "32", "8"]);
    spec.limits.memory_bytes = 64 << 20;
    let outcome = arena.run(&spec);
    assert_stopped(&outcome, Limit::Memory);
    assert!(outcome.out_of_memory());
}

#[test]
fn disk_filler_with_one_file_is_stopped() {
    let Some(arena) = arena() else { return };
    let path = arena.outside("filler");
    assert_works(&attack_outside(&["fill", path.to_str().unwrap(), "8"]));
    let mut spec = arena.attack_spec(&["fill", "/work/filler", "8"]);
    spec.limits.file_bytes = 1 << 20;
    const SIGXFSZ: i32 = 25;
    assert_eq!(arena.run(&spec).ending, Ending::Signaled(SIGXFSZ));
    let left = std::fs::metadata(arena.work().join("filler"))
        .unwrap()
        .len();
    assert_eq!(left, 1 << 20);
}

#[test]
fn disk_filler_with_many_files_is_stopped() {
    let Some(arena) = arena() else { return };
    let many = "i=0; while [ $i -lt 64 ]; do head -c 1048576 /dev/zero > f$i; i=$((i+1)); done";
    assert_works(&shell_outside(arena.work(), many));
    shell_outside(arena.work(), "rm -f f*");
    let mut spec = arena.spec(&["sh", "-c", &format!("{many}; sleep 20")]);
    spec.limits.work_bytes = 16 << 20;
    let outcome = arena.run(&spec);
    assert_stopped(&outcome, Limit::WorkBytes);
}

#[test]
fn disk_filler_in_a_locked_folder_is_stopped() {
    let Some(arena) = arena() else { return };
    let hidden = "mkdir d; cd d; chmod 300 .; head -c 33554432 /dev/zero > f; chmod 000 .";
    let mut spec = arena.spec(&["sh", "-c", &format!("{hidden}; sleep 20")]);
    spec.limits.work_bytes = 16 << 20;
    let outcome = arena.run(&spec);
    assert_stopped(&outcome, Limit::WorkBytes);
    assert_eq!(std::fs::read_dir(arena.work()).unwrap().count(), 0);
}

#[test]
fn file_maker_is_stopped() {
    let Some(arena) = arena() else { return };
    let many = "i=0; while [ $i -lt 600 ]; do : > f$i; i=$((i+1)); done";
    assert_works(&shell_outside(arena.work(), many));
    shell_outside(arena.work(), "rm -f f*");
    let mut spec = arena.spec(&["sh", "-c", &format!("{many}; sleep 20")]);
    spec.limits.work_files = 200;
    let outcome = arena.run(&spec);
    assert_stopped(&outcome, Limit::WorkFiles);
}

#[test]
fn temporary_folder_has_an_end() {
    let Some(arena) = arena() else { return };
    let mut spec = arena.attack_spec(&["fill", "/tmp/filler", "8"]);
    spec.limits.tmp_bytes = 1 << 20;
    assert_refused(&arena.run(&spec));
}

#[test]
fn endless_output_is_cut_and_stopped() {
    let Some(arena) = arena() else { return };
    let mut spec = arena.spec(&["sh", "-c", "while :; do echo out; done"]);
    spec.limits.stdout_bytes = 10_000;
    let outcome = arena.run(&spec);
    assert_stopped(&outcome, Limit::Stdout);
    assert_eq!(outcome.stdout.bytes.len(), 10_000);
    assert!(outcome.stdout.truncated && !outcome.stderr.truncated);

    let mut spec = arena.spec(&["sh", "-c", "while :; do echo err >&2; done"]);
    spec.limits.stderr_bytes = 999;
    let outcome = arena.run(&spec);
    assert_stopped(&outcome, Limit::Stderr);
    assert_eq!(outcome.stderr.bytes.len(), 999);
}

#[test]
fn output_of_exactly_the_limit_passes() {
    let Some(arena) = arena() else { return };
    let mut spec = arena.spec(&["sh", "-c", "head -c 4096 /dev/zero"]);
    spec.limits.stdout_bytes = 4096;
    let outcome = arena.run(&spec);
    assert!(
        outcome.success() && !outcome.stdout.truncated,
        "{}",
        text(&outcome)
    );
    assert_eq!(outcome.stdout.bytes.len(), 4096);
}

#[test]
fn sleep_beyond_the_time_limit_is_ended_within_milliseconds() {
    let Some(arena) = arena() else { return };
    assert_works(&shell_outside(arena.work(), "sleep 0.6"));
    for script in [
        "sleep 60",
        "trap '' TERM INT HUP; while :; do :; done",
        "exec sleep 60",
    ] {
        let mut spec = arena.spec(&["sh", "-c", script]);
        spec.limits.wall_time = Duration::from_millis(250);
        let outcome = arena.run(&spec);
        assert_stopped(&outcome, Limit::WallTime);
        assert!(outcome.timed_out());
        assert!(outcome.duration >= Duration::from_millis(250));
        assert!(
            outcome.duration < Duration::from_millis(1500),
            "{:?}",
            outcome.duration
        );
    }
}
