//! Asking the kernel for more than one has.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;

use runseal_sandbox::{Ending, Mount};
use runseal_testkit::skip::{need_root, skip_even_in_ci};

use crate::arena::{
    arena, assert_refused, assert_works, attack_outside, attacker, is_root, open_up, text,
};

#[test]
fn new_user_namespace_fails() {
    let Some(arena) = arena() else { return };
    for way in ["unshare", "clone", "clone3"] {
        assert_works(&attack_outside(&[way]));
        assert_refused(&arena.attack(&[way]));
    }
}

#[test]
fn mount_fails() {
    let Some(arena) = arena() else { return };
    let folder = arena.outside("mountpoint");
    fs::create_dir(&folder).unwrap();
    assert_works(&attack_outside(&["mount", folder.to_str().unwrap()]));
    assert_refused(&arena.attack(&["mount", "/tmp"]));
    assert_refused(&arena.attack(&["mount-directly", "/tmp"]));
}

#[test]
fn setuid_program_gives_no_other_user() {
    let Some(arena) = arena() else { return };
    if !need_root() {
        return;
    }
    let folder = arena.outside("programs");
    fs::create_dir(&folder).unwrap();
    let program = folder.join("become-root");
    fs::copy(attacker(), &program).unwrap();
    open_up(&program, 0o4755);
    open_up(&folder, 0o755);
    let outside = Command::new(&program)
        .arg("identity")
        .uid(65_534)
        .gid(65_534)
        .output()
        .unwrap();
    assert_works(&outside);

    let mut spec = arena.spec(&["/programs/become-root", "identity"]);
    spec.mounts.push(Mount {
        host: folder,
        inside: "/programs".into(),
    });
    let outcome = arena.run(&spec);
    assert_refused(&outcome);
    assert_eq!(outcome.stdout.bytes, b"euid 1000\n");
}

#[test]
fn kernel_module_cannot_be_loaded() {
    let Some(arena) = arena() else { return };
    if is_root() {
        assert_works(&attack_outside(&["module"]));
    }
    assert_refused(&arena.attack(&["module"]));
}

#[test]
fn device_node_cannot_be_made() {
    let Some(arena) = arena() else { return };
    if is_root() {
        let path = arena.outside("device");
        assert_works(&attack_outside(&["device", path.to_str().unwrap()]));
    }
    for place in ["/work/device", "/tmp/device"] {
        assert_refused(&arena.attack(&["device", place]));
    }
    assert!(!arena.work().join("device").exists());
}

#[test]
fn keys_of_the_kernel_are_out_of_reach() {
    let Some(arena) = arena() else { return };
    assert_works(&attack_outside(&["key"]));
    assert_refused(&arena.attack(&["key"]));
}

#[test]
fn io_uring_is_out_of_reach() {
    let Some(arena) = arena() else { return };
    let outside = attack_outside(&["io-uring"]);
    if !outside.status.success() {
        skip_even_in_ci("this kernel has io_uring switched off");
        return;
    }
    assert_refused(&arena.attack(&["io-uring"]));
}

#[test]
fn memory_without_an_owner_cannot_be_made() {
    let Some(arena) = arena() else { return };
    assert_works(&attack_outside(&["memfd"]));
    assert_refused(&arena.attack(&["memfd"]));
}

#[cfg(target_arch = "x86_64")]
#[test]
fn thirty_two_bit_system_call_ends_the_process() {
    let Some(arena) = arena() else { return };
    let outside = attack_outside(&["compat"]);
    if !outside.status.success() {
        skip_even_in_ci("this kernel has no 32-bit system calls");
        return;
    }
    let outcome = arena.attack(&["compat"]);
    const SIGSYS: i32 = 31;
    assert_eq!(
        outcome.ending,
        Ending::Signaled(SIGSYS),
        "{}",
        text(&outcome)
    );
}

#[test]
fn kernel_settings_are_out_of_reach() {
    let Some(arena) = arena() else { return };
    for setting in ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/panic"] {
        if is_root() {
            assert_works(&attack_outside(&["open-for-writing", setting]));
        }
        assert_refused(&arena.attack(&["open-for-writing", setting]));
    }
    // Whether its own limits could be lifted, and its own name changed.
    let outcome = arena.shell("ulimit -n 100000 2>/dev/null || hostname other 2>/dev/null");
    assert!(!outcome.success(), "{}", text(&outcome));
}
