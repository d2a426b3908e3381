//! Keeping space or memory that no file name and no process shows.

use runseal_sandbox::{Enforcer, Isolation, Limit, MOST_IN_MEMORY, Outcome, Sandbox};
use runseal_testkit::skip::skip_even_in_ci;

use crate::arena::{Arena, arena, assert_refused, assert_works, attack_outside, text};
use crate::limits::assert_stopped;

const MIB: u64 = 1 << 20;

/// Runs the attacker with 8 MiB for its work folder.
fn attack_small_folder(arena: &Arena, arguments: &[&str]) -> Outcome {
    let mut spec = arena.attack_spec(arguments);
    spec.limits.work_bytes = 8 * MIB;
    arena.run(&spec)
}

/// Runs the attacker with 64 MiB of memory.
fn attack_small_memory(arena: &Arena, arguments: &[&str]) -> Outcome {
    let mut spec = arena.attack_spec(arguments);
    spec.limits.memory_bytes = 64 * MIB;
    arena.run(&spec)
}

#[test]
fn files_without_a_name_count() {
    let Some(arena) = arena() else { return };
    let outside = arena.outside("").display().to_string();
    for attack in ["unlinked", "tmpfile", "mapped"] {
        assert_works(&attack_outside(&[attack, &outside, "40"]));
        let outcome = attack_small_folder(&arena, &[attack, "/work", "40"]);
        assert_stopped(&outcome, Limit::WorkBytes);
        assert_eq!(outcome.enforcement.work_folder, Enforcer::Kernel);
    }
}

#[test]
fn files_without_a_name_may_be_used_within_the_limit() {
    let Some(arena) = arena() else { return };
    for attack in ["unlinked", "tmpfile", "mapped"] {
        let outcome = attack_small_folder(&arena, &[attack, "/work", "4"]);
        assert!(outcome.success(), "{attack}: {}", text(&outcome));
    }
}

#[test]
fn holes_in_files_count_when_they_are_collected() {
    let Some(arena) = arena() else { return };
    let outside = arena.outside("").display().to_string();
    assert_works(&attack_outside(&["sparse", &outside, "9", "1"]));
    let outcome = attack_small_folder(&arena, &["sparse", "/work", "9", "1"]);
    assert_stopped(&outcome, Limit::WorkBytes);
    assert_eq!(std::fs::read_dir(arena.work()).unwrap().count(), 0);
    let outcome = attack_small_folder(&arena, &["sparse", "/work", "8", "1"]);
    assert!(outcome.success(), "{}", text(&outcome));
    let length = |number: u32| {
        let file = arena.work().join(format!("sparse{number}"));
        std::fs::metadata(file).unwrap().len()
    };
    assert_eq!((length(0), length(7)), (MIB, MIB));
}

#[test]
fn further_names_of_one_file_count_each() {
    let Some(arena) = arena() else { return };
    let script = "head -c 3000000 /dev/zero > a && ln a b && ln a c";
    let mut spec = arena.spec(&["sh", "-c", script]);
    spec.limits.work_bytes = 8 * MIB;
    assert_stopped(&arena.run(&spec), Limit::WorkBytes);
    spec.limits.work_bytes = 9 * MIB;
    let outcome = arena.run(&spec);
    assert!(outcome.success(), "{}", text(&outcome));
}

#[test]
fn large_folder_on_disk_has_no_nameless_or_sparse_files_beyond_its_limit() {
    let Some(arena) = arena() else { return };
    let outside = arena.outside("").display().to_string();
    let too_much = (MOST_IN_MEMORY / MIB + 100).to_string();
    let on_disk = |arguments: &[&str]| {
        let mut spec = arena.attack_spec(arguments);
        spec.limits.work_bytes = MOST_IN_MEMORY + 1;
        spec.limits.file_bytes = 2 * MOST_IN_MEMORY;
        let outcome = arena.run(&spec);
        assert_eq!(outcome.enforcement.work_folder, Enforcer::Watcher);
        outcome
    };
    assert_works(&attack_outside(&["tmpfile", &outside, "1"]));
    assert_refused(&on_disk(&["tmpfile", "/work", "1"]));
    assert_works(&attack_outside(&["sparse", &outside, "1", &too_much]));
    let outcome = on_disk(&["sparse", "/work", "1", &too_much]);
    assert_stopped(&outcome, Limit::WorkBytes);
    std::fs::remove_file(arena.work().join("sparse0")).unwrap();
    assert_works(&attack_outside(&["reserve", &outside, &too_much]));
    assert_stopped(&on_disk(&["reserve", "/work", &too_much]), Limit::WorkBytes);
}

#[test]
fn shared_memory_outside_all_counts_is_refused() {
    let Some(arena) = arena() else { return };
    for attack in ["shared", "shared-rest", "shared-zero"] {
        assert_works(&attack_outside(&[attack, "128"]));
        assert_refused(&attack_small_memory(&arena, &[attack, "128"]));
    }
}

#[test]
fn shared_memory_with_a_name_has_an_end() {
    let Some(arena) = arena() else { return };
    assert_works(&attack_outside(&["unlinked", "/dev/shm", "80"]));
    assert_refused(&attack_small_memory(
        &arena,
        &["unlinked", "/dev/shm", "80"],
    ));
}

#[test]
fn socket_buffers_count_as_memory() {
    let Some(arena) = arena() else { return };
    assert_works(&attack_outside(&["sockets", "450"]));
    let outcome = attack_small_memory(&arena, &["sockets", "450"]);
    assert_stopped(&outcome, Limit::Memory);
    let outcome = attack_small_memory(&arena, &["sockets", "20"]);
    assert!(outcome.success(), "{}", text(&outcome));
    // Without a network namespace too.
    let Ok(weaker) = Sandbox::probe_at(Isolation::Landlock) else {
        return;
    };
    for (count, is_stopped) in [("450", true), ("20", false)] {
        let mut spec = arena.attack_spec_on_host(&["sockets", count]);
        spec.limits.memory_bytes = 64 * MIB;
        let outcome = weaker.run(&spec).unwrap();
        match is_stopped {
            true => assert_stopped(&outcome, Limit::Memory),
            false => assert!(outcome.success(), "{}", text(&outcome)),
        }
    }
}

#[test]
fn socket_buffers_keep_their_size() {
    let Some(arena) = arena() else { return };
    for direction in ["send", "receive"] {
        assert_works(&attack_outside(&["socket-buffer", direction]));
        assert_refused(&arena.attack(&["socket-buffer", direction]));
    }
}

#[test]
fn page_tables_count_as_memory() {
    let Some(arena) = arena() else { return };
    assert_works(&attack_outside(&["page-tables", "128"]));
    let outcome = attack_small_memory(&arena, &["page-tables", "128"]);
    assert_stopped(&outcome, Limit::Memory);
}

#[test]
fn pages_in_pipes_are_refused() {
    let Some(arena) = arena() else { return };
    assert_works(&attack_outside(&["vmsplice"]));
    assert_refused(&arena.attack(&["vmsplice"]));
}

#[test]
fn pipe_buffers_count_as_memory() {
    let Some(arena) = arena() else { return };
    assert_works(&attack_outside(&["pipes", "400", "6"]));
    let mut spec = arena.attack_spec(&["pipes", "400", "6"]);
    spec.limits.memory_bytes = 16 * MIB;
    spec.limits.work_bytes = MIB;
    spec.limits.tmp_bytes = MIB;
    let outcome = arena.run(&spec);
    assert_stopped(&outcome, Limit::Memory);
}

#[test]
fn memory_is_held_by_the_kernel_where_a_control_group_may_be_made() {
    let Some(arena) = arena() else { return };
    let outcome = arena.shell("true");
    if outcome.enforcement.memory != Enforcer::Kernel {
        assert_eq!(outcome.enforcement.memory, Enforcer::Watcher);
        skip_even_in_ci("this user may not make control groups");
        return;
    }
    // Empty files take memory of the kernel only, which nobody but a control group counts.
    let mut spec = arena.attack_spec(&["files", "/work", "60000"]);
    spec.limits.memory_bytes = 16 * MIB;
    spec.limits.work_bytes = MIB;
    spec.limits.work_files = 100_000;
    spec.limits.tmp_bytes = MIB;
    let outcome = arena.run(&spec);
    assert_stopped(&outcome, Limit::Memory);
}
