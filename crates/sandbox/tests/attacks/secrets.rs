//! Reading what one was not given.

use std::fs;
use std::os::fd::AsRawFd;
use std::process::Command;

use crate::arena::{arena, assert_refused, assert_works, attack_outside, shell_outside, text};

#[test]
fn read_of_the_password_file_fails() {
    let Some(arena) = arena() else { return };
    assert!(
        fs::symlink_metadata("/etc/shadow").is_ok(),
        "this host has no /etc/shadow"
    );
    if crate::arena::is_root() {
        assert_works(&shell_outside(arena.work(), "cat /etc/shadow"));
    }
    let outcome = arena.shell("cat /etc/shadow");
    assert!(
        !outcome.success() && outcome.stdout.bytes.is_empty(),
        "{}",
        text(&outcome)
    );
    let listing = arena.shell("ls -A /etc");
    let names = String::from_utf8_lossy(&listing.stdout.bytes).into_owned();
    assert_eq!(
        names,
        "alternatives\ngroup\nhosts\nld.so.cache\nnsswitch.conf\npasswd\n"
    );
}

#[test]
fn read_of_a_home_folder_fails() {
    let Some(arena) = arena() else { return };
    let secret = arena.outside_file("id_ed25519", "PRIVATE KEY");
    let script = format!("cat {}", secret.display());
    assert_works(&shell_outside(arena.work(), &script));
    let outcome = arena.shell(&script);
    assert!(
        !outcome.success() && outcome.stdout.bytes.is_empty(),
        "{}",
        text(&outcome)
    );
    let homes = arena.shell("ls -A ~ ; ls -A /root /home /var /run /sys /boot /srv /mnt");
    assert!(homes.stdout.bytes.is_empty(), "{}", text(&homes));
}

#[test]
fn read_of_the_callers_environment_fails() {
    let Some(arena) = arena() else { return };
    // Cargo sets it for tests; any other variable of this process would do.
    let (name, value) = std::env::vars()
        .find(|(name, value)| name.starts_with("CARGO_PKG_NAME") && !value.is_empty())
        .unwrap();
    let looking = format!("env; cat /proc/*/environ; echo ${name}");
    let outside = Command::new("sh").arg("-c").arg("env").output().unwrap();
    assert!(String::from_utf8_lossy(&outside.stdout).contains(&format!("{name}={value}")));
    let outcome = arena.shell(&looking);
    let seen = String::from_utf8_lossy(&outcome.stdout.bytes).into_owned();
    assert!(!seen.contains(&value) && !seen.contains(&name), "{seen}");
    let variables: Vec<&str> = seen
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name)
        .collect();
    for fixed in ["HOME", "LANG", "PATH", "TMPDIR", "TZ"] {
        assert!(variables.contains(&fixed), "{fixed} is missing in {seen}");
    }
}

#[test]
fn read_of_an_inherited_descriptor_fails() {
    let Some(arena) = arena() else { return };
    let path = arena.outside_file("open", "secret");
    let file = fs::File::open(path).unwrap();
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
    let number = file.as_raw_fd().to_string();
    assert_works(&attack_outside(&["descriptor", &number]));
    assert_refused(&arena.attack(&["descriptor", &number]));
    let open = arena.shell("ls /proc/self/fd");
    // 3 is the folder that ls itself reads.
    assert_eq!(String::from_utf8_lossy(&open.stdout.bytes), "0\n1\n2\n3\n");
}

#[test]
fn read_of_the_hosts_kernel_tables_fails() {
    let Some(arena) = arena() else { return };
    for file in [
        "/proc/cmdline",
        "/proc/version",
        "/proc/cpuinfo",
        "/proc/meminfo",
    ] {
        assert_works(&shell_outside(arena.work(), &format!("cat {file}")));
        let outcome = arena.shell(&format!("cat {file}"));
        assert!(
            !outcome.success() && outcome.stdout.bytes.is_empty(),
            "{}",
            text(&outcome)
        );
    }
}
