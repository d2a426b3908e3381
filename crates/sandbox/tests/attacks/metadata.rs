//! Rights, owners, times and attributes of files, and limits and priorities of processes, at the level
//! that has the host's own view of both. Landlock looks at none of them. The user's own files and
//! processes are what is at stake, so it is the run as an ordinary user that counts.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, UNIX_EPOCH};

use runseal_sandbox::{Isolation, Observe, Outcome, Sandbox, Spec};
use runseal_testkit::skip::skip_even_in_ci;

use crate::arena::{Arena, arena, text};

fn run(arena: &Arena, script: &str, is_observed: bool) -> Option<Outcome> {
    let sandbox = match Sandbox::probe_at(Isolation::Landlock) {
        Ok(sandbox) => sandbox,
        Err(missing) => {
            skip_even_in_ci(&format!("{} ({})", missing.layer, missing.reason));
            return None;
        }
    };
    let mut spec: Spec = arena.spec(&["sh", "-c", script]);
    spec.observe = is_observed.then(Observe::default);
    Some(sandbox.run(&spec).unwrap())
}

#[test]
fn metadata_of_files_outside_stays() {
    let Some(arena) = arena() else { return };
    let target = arena.outside_file("key", "secret");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
    let old = UNIX_EPOCH + Duration::from_secs(1_000_000);
    let file = fs::File::options().write(true).open(&target).unwrap();
    file.set_modified(old).unwrap();
    let state = || {
        let found = fs::metadata(&target).unwrap();
        (
            found.mode(),
            found.mtime(),
            found.ctime(),
            found.ctime_nsec(),
        )
    };
    let before = state();
    let attempts = [
        "chmod 644 TARGET",
        "chmod 644 ../../../../../../../..TARGET",
        "ln -s TARGET link; chmod 644 link",
        "ln -s $(dirname TARGET) way; chmod 644 way/key",
        "cd $(dirname TARGET) && chmod 644 key",
        "exec 3< /proc/self/root; chmod 644 /proc/self/fd/3TARGET",
        "chmod 644 /proc/self/rootTARGET",
        "chmod 644 /proc/$$/cwd/../../../../../../..TARGET",
        "touch TARGET",
        "touch -d 2020-01-01 TARGET",
        "touch -h -d 2020-01-01 TARGET",
        "chown $(id -u) TARGET",
        "chgrp $(id -g) TARGET",
        "chown -h $(id -u) TARGET",
    ];
    for is_observed in [false, true] {
        for attempt in attempts {
            let script = attempt.replace("TARGET", target.to_str().unwrap());
            let Some(outcome) = run(&arena, &script, is_observed) else {
                return;
            };
            assert!(!outcome.success(), "{attempt}: {}", text(&outcome));
            assert_eq!(state(), before, "{attempt}");
            for link in ["link", "way"] {
                let _ = fs::remove_file(arena.work().join(link));
            }
        }
    }
}

#[test]
fn metadata_of_files_that_are_only_shown_stays() {
    let Some(arena) = arena() else { return };
    let shown = arena.outside_file("shown", "text");
    let before = fs::metadata(&shown).unwrap().mode();
    let Ok(sandbox) = Sandbox::probe_at(Isolation::Landlock) else {
        return;
    };
    let script = format!("exec 3< {}; chmod 600 /proc/self/fd/3", shown.display());
    let mut spec = arena.spec(&["sh", "-c", &script]);
    spec.view.show(shown.clone());
    let outcome = sandbox.run(&spec).unwrap();
    assert!(!outcome.success(), "{}", text(&outcome));
    assert_eq!(fs::metadata(&shown).unwrap().mode(), before);
}

#[test]
fn metadata_in_the_work_folder_is_the_commands_own() {
    let Some(arena) = arena() else { return };
    let script = "set -e
        mkdir -m 750 d; echo x > d/f; chmod 640 d/f; touch -d @5 d/f; ln -s f d/l; touch -h -d @6 d/l
        cp -p d/f copy; cp -a d tree; install -m 751 d/f made; chown $(id -u):$(id -g) d/f
        tar cf x.tar d; mkdir out; tar xpf x.tar -C out
        stat -c '%a %Y' d/f copy tree/f made out/d/f; stat -c %a d; stat -c %Y d/l";
    for is_observed in [false, true] {
        let Some(outcome) = run(&arena, script, is_observed) else {
            return;
        };
        assert!(outcome.success(), "{}", text(&outcome));
        let printed = String::from_utf8(outcome.stdout.bytes).unwrap();
        let lines: Vec<&str> = printed.lines().collect();
        let same = "640 5";
        assert_eq!(lines[..3], [same, same, same]);
        assert!(lines[3].starts_with("751 "), "{printed}");
        assert_eq!(lines[4..], [same, "750", "6"]);
        fs::remove_dir_all(arena.work().join("d")).unwrap();
        for name in ["tree", "out"] {
            fs::remove_dir_all(arena.work().join(name)).unwrap();
        }
        for name in ["copy", "made", "x.tar"] {
            fs::remove_file(arena.work().join(name)).unwrap();
        }
    }
}

/// A process outside, ended when dropped.
struct Bystander(Child);

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn limits_and_priorities_of_processes_outside_stay() {
    let Some(arena) = arena() else { return };
    let sleep = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn();
    let bystander = Bystander(sleep.unwrap());
    let pid = bystander.0.id();
    let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap();
    let nice = || {
        let stat = read("stat");
        let rest = stat.rsplit_once(')').unwrap().1.to_owned();
        rest.split_whitespace().nth(16).unwrap().to_owned()
    };
    let affinity = || {
        let status = read("status");
        let line = status
            .lines()
            .find(|it| it.starts_with("Cpus_allowed_list"));
        line.unwrap().to_owned()
    };
    let before = (read("limits"), nice(), affinity());
    let attempts = [
        "prlimit --pid PID --nofile=3:3",
        "renice -n 19 -p PID",
        "renice -n 19 -u $(id -u)",
        "ionice -c 3 -p PID",
        "taskset -p 1 PID",
        "chrt --batch -p 0 PID",
    ];
    for attempt in attempts {
        let script = attempt.replace("PID", &pid.to_string());
        let Some(outcome) = run(&arena, &script, false) else {
            return;
        };
        assert!(!outcome.success(), "{attempt}: {}", text(&outcome));
        assert_eq!((read("limits"), nice(), affinity()), before, "{attempt}");
    }
    // Its own it may lower.
    let own = run(
        &arena,
        "ulimit -n 50 && nice -n 5 true && taskset 1 true",
        false,
    );
    assert!(own.is_none_or(|outcome| outcome.success()));
}
