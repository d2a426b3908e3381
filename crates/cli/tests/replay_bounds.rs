//! What the command of a stranger's bundle may use of the machine of whoever replays it, and what it learns of that one.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use runseal_testkit::skip::{need_isolation, need_root, skip_even_in_ci};

use crate::record_support::forged::Forged;
use crate::record_support::{Project, list};
use runseal_core::digest::Digest;
use runseal_testkit::cli::Ran;
use serde_json::json;

/// The level `namespaces` is the default; the other one is the weaker that still isolates.
const LEVELS: [&str; 2] = ["namespaces", "landlock"];

/// Projects of root and of an ordinary user, where the tests run as root.
fn projects() -> impl Iterator<Item = Project> {
    [Some(Project::new()), Project::of_ordinary_user()]
        .into_iter()
        .flatten()
}

/// A bundle of a harmless recording that names another script.
fn forge(project: &Project, name: &str, script: &str, change: impl FnOnce(&Forged)) -> Forged {
    if !project.bundle("honest").exists() {
        project.record_sh("honest", "echo hi");
    }
    let forged = Forged::copy(&project.bundle("honest"), &project.path(name));
    forged.set_command(&["sh", "-c", script]);
    change(&forged);
    forged.reseal();
    let verified = project.run(&["verify", forged.path()]);
    assert_eq!(verified.code, Some(0), "{name}: {}", verified.stdout);
    forged
}

/// Says what the run printed.
fn set_stdout(forged: &Forged, text: &str) {
    forged.put("logs/stdout.txt", text);
    forged.edit("RUN_OUTPUT.json", |output| {
        output["stdout"]["bytes"] = json!(text.len());
        output["stdout"]["sha256"] = json!(Digest::of(text.as_bytes()).to_string());
    });
}

/// A folder for temporary files that is the project's own.
fn temporary(project: &Project) -> PathBuf {
    let folder = project.path("../own-tmp");
    fs::create_dir_all(&folder).unwrap();
    project.give(&folder);
    folder
}

/// Whether a process of this machine has this text in its command.
fn is_running(marker: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes.into_iter().any(|entry| {
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).contains(marker)
    })
}

/// Replays what has to be stopped: soon, by name, with the option that allows more, and with nothing left behind.
fn assert_stopped(
    project: &Project,
    (bundle, marker): (&Forged, &str),
    level: &str,
    (option, given): (&str, &[&str]),
) {
    let own = temporary(project);
    let arguments = ["replay", bundle.path(), "--sandbox", level];
    let began = Instant::now();
    let mut command = project.command(&[&arguments[..], given].concat());
    let ran: Ran = command.env("TMPDIR", &own).output().unwrap().into();
    let told = format!("{marker} at {level}: {}{}", ran.stdout, ran.stderr);
    assert!(began.elapsed() < Duration::from_secs(90), "{told}");
    assert_eq!(ran.code, Some(2), "{told}");
    assert!(ran.stderr.starts_with("LIMIT: "), "{told}");
    assert!(told.contains(&format!("`{option}` lets it")), "{told}");
    assert!(told.contains("nothing was compared"), "{told}");
    assert!(!told.contains("DIVERGED"), "{told}");
    assert!(!told.contains(&u64::MAX.to_string()), "{told}");
    assert!(!is_running(marker), "{told}");
    assert_eq!(list(&own), Vec::<String>::new(), "{told}");
}

#[test]
fn replay_that_makes_processes_without_end_is_stopped() {
    if !need_isolation() {
        return;
    }
    for project in projects() {
        let script = ": runs-bomb; bomb() { bomb | bomb & }; bomb; sleep 60";
        let bundle = forge(&project, "bomb", script, |_| {});
        for level in LEVELS {
            let given = ["--processes", "300", "--timeout", "60"];
            let limit = ("--processes", &given[..]);
            assert_stopped(&project, (&bundle, "runs-bomb"), level, limit);
        }
    }
}

#[test]
fn replay_that_takes_memory_without_end_is_stopped() {
    if !need_isolation() {
        return;
    }
    for project in projects() {
        let script = ": takes-memory; tail /dev/zero; sleep 60";
        let bundle = forge(&project, "memory", script, |_| {});
        let given = ["--memory", "256M", "--timeout", "60"];
        for level in LEVELS {
            let limit = ("--memory", &given[..]);
            assert_stopped(&project, (&bundle, "takes-memory"), level, limit);
        }
        // Files in memory are memory, also those that nobody has mapped.
        let script = ": fills-memory; head -c 200M /dev/zero > /dev/shm/a; \
            python3 -c 'import os, time
f = os.memfd_create(\"x\")
for at in range(300): os.write(f, bytes(1 << 20))
time.sleep(60)'; sleep 60";
        let bundle = forge(&project, "files-in-memory", script, |_| {});
        let limit = ("--memory", &given[..]);
        assert_stopped(&project, (&bundle, "fills-memory"), "namespaces", limit);
    }
}

#[test]
fn replay_of_a_bundle_without_a_world_has_a_small_temporary_folder() {
    if !need_isolation() {
        return;
    }
    for project in projects() {
        let script = "head -c 400M /dev/zero > /tmp/x; \
            test $(stat -c %s /tmp/x) -le 300000000 && echo bounded";
        let bundle = forge(&project, "old", script, |forged| {
            forged.edit("RUN_ENVIRONMENT.json", |environment| {
                environment.as_object_mut().unwrap().remove("world");
            });
        });
        let ran = project.run(&["replay", bundle.path()]);
        assert!(
            ran.stdout.contains("+bounded"),
            "{}{}",
            ran.stdout,
            ran.stderr
        );
    }
}

#[test]
fn replay_that_makes_files_without_end_is_stopped_wherever_they_are() {
    if !need_isolation() {
        return;
    }
    for project in projects() {
        for (name, place) in [("here", "."), ("temporary", "${TMPDIR:-/tmp}")] {
            let marker = format!("makes-files-{name}");
            let script =
                format!(": {marker}; cd {place}; i=0; while :; do : > f$i; i=$((i+1)); done");
            let bundle = forge(&project, name, &script, |_| {});
            for level in LEVELS {
                let given = ["--files", "500", "--timeout", "60"];
                let limit = ("--files", &given[..]);
                assert_stopped(&project, (&bundle, &marker), level, limit);
            }
        }
    }
}

#[test]
fn replay_that_hides_what_it_writes_behind_a_sparse_file_or_a_deep_folder_is_stopped() {
    if !need_isolation() {
        return;
    }
    let deep = "d=a; i=0; while [ $i -lt 300 ]; do mkdir $d; cd $d; i=$((i+1)); done";
    for project in projects() {
        for (name, hide, option) in [
            ("sparse", "truncate -s 4G a", "--disk"),
            ("deep", deep, "--files"),
        ] {
            let marker = format!("hides-{name}");
            let script = format!(": {marker}; cd ${{TMPDIR:-/tmp}}; {hide}; sleep 60");
            let bundle = forge(&project, name, &script, |_| {});
            for level in LEVELS {
                let given = ["--disk", "8M", "--timeout", "60"];
                let limit = (option, &given[..]);
                assert_stopped(&project, (&bundle, &marker), level, limit);
            }
        }
    }
}

#[test]
fn input_that_is_shown_in_a_temporary_folder_is_not_what_the_command_wrote() {
    if !need_isolation() {
        return;
    }
    for project in projects() {
        let input = project.write("../shown/input", vec![b'x'; 8 << 20]);
        project.write("large", vec![b'x'; 8 << 20]);
        let input = input.canonicalize().unwrap();
        let place = input.to_str().unwrap();
        // The folder and the input lie in /tmp, where the command has a folder of its own.
        let bounds = ["--disk", "6M", "--files", "50"];
        let script = format!("cat large {place} | wc -c; sleep 1; head -c 4000000 /dev/zero > out");
        let command = ["--input", place, "--", "sh", "-c", &script];
        project.record("shown", &[&bounds[..], &command].concat());
        let ran = project.replay("shown", &bounds);
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn sealed_run_of_more_files_than_a_replay_may_write_is_not_run() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.record_sh("three", "touch a b c");
    let ran = project.replay("three", &["--files", "2"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let told = format!("{}{}", ran.stdout, ran.stderr);
    assert!(told.contains("`--files "), "{told}");
    project.assert_reproduced("three");
}

#[test]
fn recording_is_stopped_before_the_disk_has_room_for_no_more_files() {
    if !need_isolation() || !rustix::process::geteuid().is_root() {
        return;
    }
    let project = Project::new();
    let disk = project.path("../disk");
    fs::create_dir(&disk).unwrap();
    let mounted = Command::new("mount")
        .args([
            "-t",
            "tmpfs",
            "-o",
            "size=1g,nr_inodes=40000,mode=1777",
            "tmpfs",
        ])
        .arg(&disk)
        .status();
    if !mounted.is_ok_and(|it| it.success()) {
        skip_even_in_ci("no file system can be mounted here");
        return;
    }
    let script = "mkdir d; cd d; i=0; while : > f$i; do i=$((i+1)); done; echo refused";
    let mut command = project.command(&["record", "--", "sh", "-c", script]);
    let ran: Ran = command.env("TMPDIR", &disk).output().unwrap().into();
    let unmounted = Command::new("umount").arg(&disk).status();
    assert!(unmounted.unwrap().success());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("left room for less than"), "{ran:?}");
    assert!(!ran.stdout.contains("refused"), "{ran:?}");
}

#[test]
fn layers_that_have_to_be_in_memory_are_bounded_and_no_limit_is_a_number_that_means_none() {
    if !need_isolation() || !rustix::process::geteuid().is_root() {
        return;
    }
    let project = Project::new();
    let parts = ["lower", "upper", "work", "own"].map(|name| project.path("../").join(name));
    for part in &parts {
        fs::create_dir(part).unwrap();
        fs::set_permissions(part, fs::Permissions::from_mode(0o1777)).unwrap();
    }
    let [lower, upper, work, own] = parts.each_ref().map(|it| it.to_str().unwrap());
    let layers = format!("lowerdir={lower},upperdir={upper},workdir={work}");
    let mounted = Command::new("mount")
        .args(["-t", "overlay", "overlay", "-o", &layers, own])
        .status();
    if !mounted.is_ok_and(|it| it.success()) {
        skip_even_in_ci("no overlay can be mounted here");
        return;
    }
    let run = |arguments: &[&str]| -> Ran {
        let mut command = project.command(arguments);
        command.env("TMPDIR", own).output().unwrap().into()
    };
    let small = run(&[
        "record",
        "--run-id",
        "small",
        "--",
        "sh",
        "-c",
        "echo x > f",
    ]);
    let script = "head -c 9000000 /dev/zero > f; sleep 30";
    let large = run(&["record", "--disk", "4M", "--", "sh", "-c", script]);
    let again = run(&["replay", "RUN_BUNDLE/small"]);
    let unmounted = Command::new("umount").arg(own).status();
    assert!(unmounted.unwrap().success());
    assert_eq!(small.code, Some(0), "{small:?}");
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(large.code, Some(1), "{large:?}");
    assert!(large.stderr.contains("`--disk` lets it"), "{large:?}");
    assert!(!large.stderr.contains(&u64::MAX.to_string()), "{large:?}");
}

/// A file of the machine's that is not everybody's, removed again when dropped.
struct Private(PathBuf);

impl Private {
    fn make(name: &str, owner: (u32, u32), mode: u32) -> Self {
        let place = Path::new("/etc").join(format!("{name}-{}", std::process::id()));
        fs::write(&place, KEY).unwrap();
        chown(&place, Some(owner.0), Some(owner.1)).unwrap();
        fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
        Self(place)
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

const KEY: &str = "ONLY-FOR-THE-GROUP";

#[test]
fn replay_shows_nothing_of_the_machine_that_is_not_everybodys() {
    if !need_isolation() || !need_root() {
        return;
    }
    const GROUP: &str = "48213";
    let files = [
        Private::make("runseal-group", (0, 48213), 0o640),
        Private::make("runseal-caller", (65534, 65534), 0o644),
        Private::make("runseal-own", (65534, 65534), 0o600),
    ];
    let names = files.each_ref().map(|it| it.0.to_str().unwrap());
    let script = format!("cat {} 2>&1; ls /etc; echo end", names.join(" "));
    for project in projects() {
        let bundle = forge(&project, "reads", &script, |_| {});
        for level in LEVELS {
            let replay = ["replay", bundle.path(), "--sandbox", level];
            let told = |mut command: Command| {
                let ran: Ran = command.output().unwrap().into();
                assert!(ran.stdout.contains("DIVERGED"), "{level}: {ran:?}");
                format!("{}{}", ran.stdout, ran.stderr)
            };
            let plain = told(project.command(&replay));
            assert!(!plain.contains(KEY), "{level}: {plain}");
            let with_group = told(in_group(&project, GROUP, &replay));
            assert!(!with_group.contains(KEY), "{level}: {with_group}");
        }
    }
    // Whoever records does see it: these are the caller's own rights.
    let project = Project::of_ordinary_user().unwrap();
    let record = ["record", "--run-id", "own", "--", "cat", names[0]];
    let ran: Ran = in_group(&project, GROUP, &record).output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let log = project.bundle("own").join("logs/stdout.txt");
    assert_eq!(fs::read_to_string(log).unwrap(), KEY);
    // The bundle's own copy is shown where the machine's is not.
    let replayed = project.replay("own", &[]);
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
}

/// The same command by an ordinary user who is in a further group.
fn in_group(project: &Project, group: &str, arguments: &[&str]) -> Command {
    let plain = project.command(arguments);
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--groups", group]);
    command.arg(plain.get_program()).args(plain.get_args());
    command
        .env_clear()
        .current_dir(plain.get_current_dir().unwrap());
    for (name, value) in plain.get_envs() {
        command.env(name, value.unwrap());
    }
    command
}

#[test]
fn replay_finds_the_recorded_machines_name_user_and_mask() {
    if !need_isolation() {
        return;
    }
    for project in projects() {
        let script = "uname -n; id -u; id -g; umask; touch f; stat -c %a f; rm f";
        let bundle = forge(&project, "named", script, |forged| {
            set_stdout(forged, "lab-7\n4321\n77\n0077\n600\n");
            forged.edit("RUN_ENVIRONMENT.json", |environment| {
                let world = &mut environment["world"];
                world["hostname"] = json!("lab-7");
                world["user"] = json!(4321);
                world["group"] = json!(77);
                world["umask"] = json!("077");
            });
        });
        let ran = project.run(&["replay", bundle.path()]);
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        // Nobody becomes root by that, and no name is longer than the kernel takes.
        let script = "uname -n | wc -c; id -u";
        let bundle = forge(&project, "root", script, |forged| {
            forged.edit("RUN_ENVIRONMENT.json", |environment| {
                let world = &mut environment["world"];
                world["hostname"] = json!("x".repeat(5000));
                world["user"] = json!(0);
                world["umask"] = json!("77777");
            });
        });
        let ran = project.run(&["replay", bundle.path()]);
        assert!(
            ran.stdout.contains("DIVERGED"),
            "{}{}",
            ran.stdout,
            ran.stderr
        );
        assert!(!ran.stdout.contains("+0\n"), "{}", ran.stdout);
    }
}

#[test]
fn rights_and_times_that_no_file_has_are_restored_as_far_as_they_may_be() {
    if !need_isolation() {
        return;
    }
    let times = [
        "292277026596.000000000",
        "-62135596801.999999999",
        "9223372036854775807.999999999",
        "-9223372036854775808.000000000",
    ];
    // A folder may pass its group on and keep what others put into it, as the recorded one did.
    let script = "for f in set-0 set-1 set-2 set-3 d/in; do \
        test -u $f && echo SETUID; test -g $f && echo SETGID; test -k $f && echo STICKY; done; \
        test -u d && echo SETUID; \
        chmod 4755 set-0 2>/dev/null; cat none 2>&1; echo hi";
    for project in projects() {
        let bundle = forge(&project, "odd", script, |forged| {
            let mut attributes = vec![json!({"path": "", "mode": "0000", "modified": times[0]})];
            for (at, modified) in times.iter().enumerate() {
                forged.add_file(&format!("set-{at}"), "x", "755");
                attributes.push(
                    json!({"path": format!("set-{at}"), "mode": "7777", "modified": modified}),
                );
            }
            forged.add_file("none", "closed", "644");
            forged.add_file("d/in", "x", "644");
            attributes.push(json!({"path": "none", "mode": "0000", "modified": times[1]}));
            attributes.push(json!({"path": "d", "mode": "7000", "modified": times[2]}));
            attributes.push(json!({"path": "/etc/shadow", "mode": "0777", "modified": times[0]}));
            forged.edit("RUN_ENVIRONMENT.json", |environment| {
                environment["attributes"] = json!(attributes);
            });
        });
        let before = fs::metadata("/etc/shadow")
            .map(|it| it.permissions().mode())
            .ok();
        for level in LEVELS {
            let own = temporary(&project);
            let mut command = project.command(&["replay", bundle.path(), "--sandbox", level]);
            let ran: Ran = command.env("TMPDIR", &own).output().unwrap().into();
            let told = format!("{level}: {}{}", ran.stdout, ran.stderr);
            assert!(matches!(ran.code, Some(0 | 1)), "{told}");
            assert!(ran.stdout.contains(": DIVERGED"), "{told}");
            for bit in ["SETUID", "SETGID", "STICKY"] {
                assert!(!told.contains(&format!("+{bit}")), "{told}");
            }
            assert_eq!(list(&own), Vec::<String>::new(), "{told}");
        }
        let after = fs::metadata("/etc/shadow")
            .map(|it| it.permissions().mode())
            .ok();
        assert_eq!(before, after);
    }
}
