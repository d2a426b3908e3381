//! Writing where one must not.

use std::fs;
use std::os::unix::fs::symlink;

use runseal_sandbox::Mount;

use crate::arena::{Arena, arena, assert_works, shell_outside, text};

/// Runs a script that changes `target` outside first, then inside, on a fresh target each time.
fn assert_cannot_change(arena: &Arena, script: &str) {
    let target = arena.outside_file("target", "before");
    let prepared = script.replace("TARGET", target.to_str().unwrap());
    assert_works(&shell_outside(arena.work(), &prepared));
    assert_ne!(
        fs::read_to_string(&target).unwrap_or_default(),
        "before",
        "{script}"
    );

    arena.outside_file("target", "before");
    let _ = fs::remove_file(arena.work().join("link"));
    let outcome = arena.shell(&prepared);
    assert!(!outcome.success(), "{}", text(&outcome));
    assert_eq!(fs::read_to_string(&target).unwrap(), "before");
}

#[test]
fn write_to_absolute_path_outside_fails() {
    let Some(arena) = arena() else { return };
    assert_cannot_change(&arena, "echo after > TARGET");
}

#[test]
fn write_through_parent_folders_fails() {
    let Some(arena) = arena() else { return };
    assert_cannot_change(&arena, "echo after > ../../../../../../../..TARGET");
}

#[test]
fn write_through_own_symlink_fails() {
    let Some(arena) = arena() else { return };
    assert_cannot_change(&arena, "ln -s TARGET link && echo after > link");
}

#[test]
fn write_through_symlink_laid_out_before_fails() {
    let Some(arena) = arena() else { return };
    let target = arena.outside_file("target", "before");
    symlink(&target, arena.work().join("laid")).unwrap();
    assert_works(&shell_outside(arena.work(), "echo after > laid"));
    fs::write(&target, "before").unwrap();
    let outcome = arena.shell("echo after > laid");
    assert!(!outcome.success(), "{}", text(&outcome));
    assert_eq!(fs::read_to_string(&target).unwrap(), "before");
}

#[test]
fn write_through_hard_link_fails() {
    let Some(arena) = arena() else { return };
    assert_cannot_change(&arena, "ln TARGET link && echo after > link");
}

#[test]
fn rename_over_file_outside_fails() {
    let Some(arena) = arena() else { return };
    assert_cannot_change(&arena, "echo after > new && mv -f new TARGET");
}

#[test]
fn write_through_process_root_link_fails() {
    let Some(arena) = arena() else { return };
    assert_cannot_change(&arena, "echo after > /proc/self/rootTARGET");
    let target = arena.outside_file("target", "before");
    let outcome = arena.shell(&format!("echo after > /proc/1/root{}", target.display()));
    assert!(!outcome.success(), "{}", text(&outcome));
    assert_eq!(fs::read_to_string(&target).unwrap(), "before");
}

#[test]
fn write_to_read_only_mount_fails() {
    let Some(arena) = arena() else { return };
    let given = arena.outside("given");
    fs::create_dir(&given).unwrap();
    crate::arena::open_up(&given, 0o777);
    assert_works(&shell_outside(&given, "echo x > made"));
    fs::remove_file(given.join("made")).unwrap();
    let mut spec = arena.spec(&["sh", "-c", "echo x > /given/made"]);
    spec.mounts.push(Mount {
        host: given.clone(),
        inside: "/given".into(),
    });
    let outcome = arena.run(&spec);
    assert!(!outcome.success(), "{}", text(&outcome));
    assert!(!given.join("made").exists());
}

#[test]
fn write_to_system_folders_fails() {
    let Some(arena) = arena() else { return };
    for folder in [
        "/",
        "/usr",
        "/usr/bin",
        "/etc",
        "/etc/alternatives",
        "/dev",
        "/bin",
        "/proc",
    ] {
        let outcome = arena.shell(&format!("echo x > {folder}/runseal-attack"));
        assert!(!outcome.success(), "{folder}: {}", text(&outcome));
    }
    let inside = arena.shell("echo x > /work/a && echo x > /tmp/a && echo x > /dev/shm/a");
    assert!(inside.success(), "{}", text(&inside));
    assert_eq!(fs::read_to_string(arena.work().join("a")).unwrap(), "x\n");
}
