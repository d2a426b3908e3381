//! `runseal record`, `engine run` and `replay` where something goes wrong: full disks, interrupts,
//! commands that write too much, files that change, folders that cannot be read.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::record_support::{Project, list};
use runseal_testkit::cli::Ran;
use runseal_testkit::skip::{need_isolation, need_root, skip};
use rustix::process::{Pid, Signal, kill_process_group};

/// A command in a process group of its own, as a shell starts it, with its own temporary folder.
fn start(project: &Project, arguments: &[&str]) -> Child {
    fs::create_dir_all(project.path("../tmp")).unwrap();
    project
        .command(arguments)
        .env("TMPDIR", project.path("../tmp"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap()
}

/// Whether a process runs whose command line holds `text`.
fn is_running(text: &str) -> bool {
    let own = std::process::id().to_string();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().into_string().ok());
    pids.filter(|pid| *pid != own && pid.bytes().all(|byte| byte.is_ascii_digit()))
        .filter_map(|pid| fs::read(format!("/proc/{pid}/cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .any(|line| line.starts_with("sleep") && line.contains(text))
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Ctrl-C: the terminal sends the signal to the whole group.
fn interrupt(child: Child) -> Ran {
    kill_process_group(Pid::from_child(&child), Signal::INT).unwrap();
    let began = Instant::now();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert!(began.elapsed() < Duration::from_secs(30));
    assert_eq!(ran.code, Some(130), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("INTERRUPTED"), "{}", ran.stderr);
    ran
}

#[test]
fn interrupt_of_the_group_ends_a_recording_and_leaves_nothing() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("in.txt", "x");
    let script = "cat in.txt; echo made > out.txt; sleep 61.0625";
    let child = start(&project, &["record", "--", "sh", "-c", script]);
    wait_until("the command sleeps", || is_running("61.0625"));
    let ran = interrupt(child);
    assert!(ran.stderr.contains("nothing was sealed"), "{}", ran.stderr);
    assert!(!is_running("61.0625"));
    assert_eq!(list(&project.path("")), ["in.txt"]);
    assert_eq!(list(&project.path("../tmp")), Vec::<String>::new());
}

#[test]
fn interrupt_of_the_group_ends_a_replay_and_leaves_nothing() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.record_sh("r1", "test -e fast || sleep 2.0625; echo done");
    let before = list(&project.path(""));
    let child = start(&project, &["replay", "RUN_BUNDLE/r1", "--times", "1000"]);
    wait_until("the command sleeps", || is_running("2.0625"));
    interrupt(child);
    assert!(!is_running("2.0625"));
    assert_eq!(list(&project.path("")), before);
    assert_eq!(list(&project.path("../tmp")), Vec::<String>::new());
}

#[test]
fn interrupt_of_the_group_ends_an_engine_and_leaves_nothing() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.init_engine("own", "sh");
    let scripts: Vec<String> = list(&project.path("own"))
        .into_iter()
        .filter(|name| name.ends_with(".sh"))
        .collect();
    project.write(&format!("own/{}", scripts[0]), "sleep 63.0625\n");
    let run = ["engine", "run", "own", "own/input.json", "--out", "RUNS"];
    let child = start(&project, &run);
    wait_until("the engine sleeps", || is_running("63.0625"));
    let ran = interrupt(child);
    assert!(ran.stderr.contains("nothing was made"), "{}", ran.stderr);
    assert!(!is_running("63.0625"));
    assert!(!project.path("RUNS").exists());
    assert_eq!(list(&project.path("../tmp")), Vec::<String>::new());
}

#[test]
fn output_is_shown_while_it_comes_and_kept_all_the_same() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let script = "echo first; echo complaint >&2; sleep 3.03125; echo last";
    let mut child = start(
        &project,
        &[
            "record", "--format", "human", "--run-id", "r1", "--", "sh", "-c", script,
        ],
    );
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "first");
    wait_until("the command sleeps", || is_running("3.03125"));
    assert_eq!(lines.next().unwrap().unwrap(), "last");
    assert!(lines.next().is_none(), "only the command prints there");
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("complaint\n"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("sealed: RUN_BUNDLE/r1\n"),
        "{}",
        ran.stderr
    );
    assert_eq!(
        project.read("RUN_BUNDLE/r1/logs/stdout.txt"),
        "first\nlast\n"
    );
    assert_eq!(project.read("RUN_BUNDLE/r1/logs/stderr.txt"), "complaint\n");
    // Piped, standard output is for JSON alone; with `--quiet` nothing is printed for people.
    let ran = project.record("r2", &["--", "sh", "-c", "echo out"]);
    assert!(
        ran.stdout.starts_with('{') && ran.stdout.lines().count() == 1,
        "{}",
        ran.stdout
    );
    assert!(ran.stderr.contains("out\n"), "{}", ran.stderr);
    let ran = project.run(&[
        "record", "--quiet", "--format", "human", "--run-id", "r3", "--", "sh", "-c", "echo out",
    ]);
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(0), "", "")
    );
}

#[test]
fn full_disk_is_reported_and_nothing_is_left() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("run.sh", "head -c 900000 /dev/urandom > made.bin\n");
    fs::create_dir(project.path("../small")).unwrap();
    let small = project.path("../small");
    // In a mount namespace of its own, so that nothing stays mounted.
    let script = "mount -t tmpfs -o size=300k tmpfs \"$1\" || exit 99\n\
         \"$0\" record --out \"$1\" --run-id r1 -- sh run.sh; code=$?\n\
         ls -A \"$1\"; exit $code";
    let done = Command::new("unshare")
        .args(["-m", "sh", "-c", script, env!("CARGO_BIN_EXE_runseal")])
        .arg(&small)
        .current_dir(project.path(""))
        .output()
        .unwrap();
    let ran = Ran::from(done);
    if ran.code == Some(99) || ran.stderr.contains("unshare failed") {
        skip("nothing can be mounted here");
        return;
    }
    assert_eq!(ran.code, Some(2), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stderr.contains("No space left on device"),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.stdout, "", "something was left");
}

#[test]
fn command_that_writes_without_end_is_stopped_at_its_limit() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let one = "head -c 10G /dev/zero > big";
    let many = "i=0; while :; do i=$((i+1)); head -c 500000 /dev/zero > part$i; done";
    for script in [one, many] {
        let began = Instant::now();
        let bounded = ["record", "--artifact-bytes", "4M", "--", "sh", "-c", script];
        let ran = Ran::from(start(&project, &bounded).wait_with_output().unwrap());
        assert_eq!(ran.code, Some(1), "{script}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("4194304 bytes") || ran.stderr.contains("exit status"),
            "{script}: {}",
            ran.stderr
        );
        assert!(ran.stderr.contains("`--disk`"), "{script}: {}", ran.stderr);
        assert!(ran.stderr.contains("nothing was sealed"), "{}", ran.stderr);
        assert!(began.elapsed() < Duration::from_secs(60));
        assert_eq!(list(&project.path("")), Vec::<String>::new());
        assert_eq!(list(&project.path("../tmp")), Vec::<String>::new());
    }
}

#[test]
fn input_that_changes_while_it_is_read_is_refused() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("in.txt", "before\n");
    let child = start(
        &project,
        &["record", "--", "sh", "-c", "cat in.txt; sleep 2.015625"],
    );
    wait_until("the command sleeps", || is_running("2.015625"));
    project.write("in.txt", "another text\n");
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("CHANGED: `in.txt` changed while the command ran"),
        "{}",
        ran.stderr
    );
    assert_eq!(list(&project.path("")), ["in.txt"]);
}

#[test]
fn folder_that_cannot_be_read_is_reported() {
    let Some(project) = Project::of_ordinary_user().filter(|_| need_isolation()) else {
        return;
    };
    let close = |path: &str, mode| {
        fs::set_permissions(project.path(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    close("", 0o311);
    let ran = project.run(&["record", "--", "true"]);
    close("", 0o755);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("FOLDER"), "{}", ran.stderr);
    assert!(ran.stderr.contains("Permission denied"), "{}", ran.stderr);
    assert_eq!(list(&project.path("")), Vec::<String>::new());
    // One below it only concerns a command that looks at it.
    fs::create_dir(project.path("closed")).unwrap();
    close("closed", 0o000);
    project.record("r1", &["--", "true"]);
    let ran = project.run(&["record", "--", "ls", "closed"]);
    close("closed", 0o755);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("Permission denied"), "{}", ran.stderr);
}

#[test]
fn processes_that_are_left_running_are_named() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    for level in ["namespaces", "landlock"] {
        let script = "(setsid sleep 300 > /dev/null 2>&1 &) ; sleep 0.3; echo started";
        let ran = project.record(level, &["--sandbox", level, "--", "sh", "-c", script]);
        let gap =
            "still running when the command ended, and ended with it: `sleep` (started as `sleep`)";
        assert!(ran.stderr.contains(gap), "{level}: {}", ran.stderr);
        let shown = project.run(&["inspect", &format!("RUN_BUNDLE/{level}")]);
        assert!(
            shown.stdout.contains("`sleep` (started as `sleep`)"),
            "{}",
            shown.stdout
        );
    }
    let ran = project.record_sh("clean", "sleep 0.1; echo done");
    assert!(!ran.stderr.contains("still running"), "{}", ran.stderr);
}

#[test]
fn replay_notices_a_file_that_was_not_left_before_also_among_those_not_kept() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    // What it writes depends on something that no recording holds.
    let script = "echo 1 > kept.csv; echo 2 > scratch.tmp; n=$(od -An -N4 -tx4 /dev/urandom | tr -d ' '); \
        echo x > \"$EXTRA$n.tmp\"";
    project.record(
        "same",
        &[
            "--keep",
            "*.csv",
            "--",
            "sh",
            "-c",
            "echo 1 > kept.csv; echo 2 > scratch.tmp",
        ],
    );
    project.assert_reproduced("same");
    assert!(
        !project
            .bundle("same")
            .join("artifacts/scratch.tmp")
            .exists()
    );
    project.record(
        "other",
        &[
            "--keep", "*.csv", "--env", "EXTRA=e-", "--", "sh", "-c", script,
        ],
    );
    let ran = project.replay("other", &[]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(ran.stdout.contains("DIVERGED"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("e-") && !ran.stdout.contains("scratch.tmp"),
        "{}",
        ran.stdout
    );
    project.record("all", &["--env", "EXTRA=e-", "--", "sh", "-c", script]);
    let ran = project.replay("all", &[]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(ran.stdout.contains("artifacts/e-"), "{}", ran.stdout);
}

#[test]
fn file_that_is_written_in_part_is_sealed_as_it_was() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    for name in ["part.bin", "grown.log", "both.bin", "new.txt"] {
        project.write(name, "0123456789\n");
    }
    let script = "import os\n\
        f = os.open('part.bin', os.O_WRONLY); os.pwrite(f, b'XY', 3)\n\
        open('grown.log', 'a').write('more\\n')\n\
        f = os.open('both.bin', os.O_RDWR); os.pwrite(f, b'Z', 0)\n\
        open('new.txt', 'w').write('new\\n')\n";
    project.write("write.py", script);
    project.record("r1", &["--", "python3", "write.py"]);
    for name in ["part.bin", "grown.log", "both.bin"] {
        let sealed = fs::read_to_string(project.bundle("r1").join("engine").join(name));
        assert_eq!(sealed.unwrap(), "0123456789\n", "{name}");
    }
    // Nothing of it was left before it was written.
    assert!(!project.bundle("r1").join("engine/new.txt").exists());
    let part = fs::read_to_string(project.bundle("r1").join("artifacts/part.bin"));
    assert_eq!(part.unwrap(), "012XY56789\n");
    fs::remove_file(project.path("part.bin")).unwrap();
    project.assert_reproduced("r1");
}

#[test]
fn fixed_time_is_fixed_for_dynamic_programs_and_says_which_see_the_true_one() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let script = "date -u +%FT%TZ; sleep 1.1; date +%s.%N; python3 -c 'import time; print(time.time())'; \
        echo $SOURCE_DATE_EPOCH";
    let fixed = ["--fixed-time", "1000000000", "--", "sh", "-c", script];
    let ran = project.record("r1", &fixed);
    let printed = project.read("RUN_BUNDLE/r1/logs/stdout.txt");
    assert!(printed.ends_with("1000000000\n"), "{printed}");
    if ran.stderr.contains("libfaketime is not installed") {
        skip("libfaketime is missing");
        return;
    }
    assert_eq!(
        printed,
        "2001-09-09T01:46:40Z\n1000000000.000000000\n1000000000.0\n1000000000\n"
    );
    assert!(ran.stderr.contains("linked statically"), "{}", ran.stderr);
    std::thread::sleep(Duration::from_millis(1100));
    project.assert_reproduced("r1");
    for bad in ["-5", "soon", "99999999999999"] {
        let ran = project.run(&["record", &format!("--fixed-time={bad}"), "--", "true"]);
        assert_ne!(ran.code, Some(0), "{bad}");
        assert!(!project.bundle("r2").exists());
    }
}

#[test]
fn landlock_as_root_reaches_a_program_in_a_closed_home_and_nothing_else_there() {
    if !need_isolation() || !need_root() {
        return;
    }
    let project = Project::new();
    let set = |path: &str, mode| {
        fs::set_permissions(project.path(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    let lines = "#!/bin/sh\ncat \"${0%/*}/../lib/words.txt\"\n\
        cat \"${0%/*}/../secret.txt\" && exit 3\ncat /etc/shadow && exit 4\n\
        grep CapEff /proc/self/status\necho > \"${0%/*}/../lib/words.txt\" && exit 5\nexit 0\n";
    project.write("../closed/bin/tool", lines);
    set("../closed/bin/tool", 0o755);
    project.write("../closed/lib/words.txt", "found\n");
    project.write("../closed/secret.txt", "hidden\n");
    set("../closed", 0o700);
    let path = format!(
        "{}:/usr/bin:/bin",
        project
            .path("../closed/bin")
            .canonicalize()
            .unwrap()
            .display()
    );
    let arguments = [
        "record",
        "--format",
        "human",
        "--sandbox",
        "landlock",
        "--run-id",
        "r1",
        "--",
        "tool",
    ];
    let ran = Ran::from(
        project
            .command(&arguments)
            .env("PATH", path)
            .output()
            .unwrap(),
    );
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    // One capability, to search and read; Landlock says where.
    // Of /tmp, where this test is, only the folder of the PATH is shown, and nothing beside it.
    assert_eq!(ran.stdout, "CapEff:\t0000000000000004\n");
    assert_eq!(project.read("../closed/lib/words.txt"), "found\n");
    // Where nothing that is shown is closed, none is kept: the home of root is shown too.
    let home = fs::metadata("/root").map_or(0, |found| found.permissions().mode());
    let is_closed = home & 0o011 == 0 && rustix::process::geteuid().is_root();
    let kept = if is_closed { "4" } else { "0" };
    let ran = project.record(
        "r2",
        &[
            "--sandbox",
            "landlock",
            "--",
            "grep",
            "CapEff",
            "/proc/self/status",
        ],
    );
    assert!(
        ran.stderr
            .contains(&format!("CapEff:\t000000000000000{kept}")),
        "{}",
        ran.stderr
    );
}

#[test]
fn file_that_the_command_made_and_reads_is_not_an_input() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("state.txt", "old\n");
    let script = "echo new > next; mv next state.txt; cat state.txt; \
        echo x > one; mv one two; cat two; mv two three; cat three; rm three; \
        echo y > made.tmp; mv made.tmp made.txt; cat made.txt";
    project.record_sh("r1", script);
    let files = list(&project.bundle("r1"));
    assert!(
        !files.iter().any(|name| name.starts_with("engine/")),
        "{files:?}"
    );
    project.assert_reproduced("r1");
    // One that is read before it is replaced is.
    project.record_sh(
        "r2",
        "cat state.txt; echo new > next; mv next state.txt; cat state.txt",
    );
    let sealed = fs::read_to_string(project.bundle("r2").join("engine/state.txt"));
    assert_eq!(sealed.unwrap(), "old\n");
}

#[test]
fn place_for_the_bundle_that_cannot_be_written_is_reported_before_the_command_runs() {
    if !need_isolation() {
        return;
    }
    let project = Project::of_ordinary_user().unwrap_or_else(Project::new);
    project.write("file", "x");
    fs::create_dir(project.path("closed")).unwrap();
    fs::set_permissions(project.path("closed"), fs::Permissions::from_mode(0o555)).unwrap();
    for out in ["closed", "closed/deeper", "file", "file/below", "/proc/x"] {
        let ran = project.run(&["record", "--out", out, "--", "sh", "-c", "echo it ran"]);
        assert_eq!(ran.code, Some(2), "{out}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains("WRITE: "), "{out}: {}", ran.stderr);
        assert!(!ran.stderr.contains("it ran"), "{out}: {}", ran.stderr);
    }
    assert_eq!(list(&project.path("")), ["closed", "file"]);
}

#[test]
fn what_is_written_outside_without_isolation_is_named() {
    let project = Project::new();
    let home = project.path("..").canonicalize().unwrap();
    let at = |name: &str| home.join(name).display().to_string();
    fs::write(at("existing"), "x\n").unwrap();
    fs::write(at("read"), "x\n").unwrap();
    let script = format!(
        "echo y >> {existing}; echo z > {new}; echo w > {beside}; cat {read}; echo t > \"$TMPDIR/t\"; \
         echo kept > inside; echo m > m; mv m {moved}",
        existing = at("existing"),
        new = at("new"),
        beside = at("project/beside"),
        read = at("read"),
        moved = at("moved"),
    );
    project.record("r1", &["--sandbox", "none", "--", "sh", "-c", &script]);
    let environment = project.read("RUN_BUNDLE/r1/RUN_ENVIRONMENT.json");
    let told = format!(
        "files of the machine were made or changed, and are not in the bundle: {}, {}, {}, {}\"",
        at("existing"),
        at("moved"),
        at("new"),
        at("project/beside"),
    );
    assert!(environment.contains(&told), "{told}: {environment}");
    let told = "files made outside the folder were not kept: 1 file below /tmp\"";
    assert!(environment.contains(told), "{environment}");
    assert!(!project.bundle("r1").join("engine/beside").exists());
    if !need_isolation() {
        return;
    }
    // In the sandbox all of this is its own.
    let script = format!("echo y >> {}; echo z > /tmp/t; true", at("existing"));
    project.record("r2", &["--", "sh", "-c", &script]);
    let environment = project.read("RUN_BUNDLE/r2/RUN_ENVIRONMENT.json");
    let told = "files made outside the folder were not kept: ";
    assert!(environment.contains(told), "{environment}");
    assert!(!environment.contains("written-outside"), "{environment}");
}

#[test]
fn pattern_of_what_to_keep_may_name_a_folder_and_is_reported_if_it_matches_nothing() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let script = "mkdir -p d/e; echo 1 > d/e/a; echo 2 > b; echo 3 > c";
    let record = |run_id: &str, keep: &[&str]| {
        let keep: Vec<&str> = keep.iter().flat_map(|it| ["--keep", it]).collect();
        project.record(run_id, &[&keep, &["--", "sh", "-c", script][..]].concat())
    };
    for (run_id, keep) in [("r1", "d"), ("r2", "d/"), ("r3", "./d/e/a")] {
        let ran = record(run_id, &[keep, "./b"]);
        let kept = list(&project.bundle(run_id).join("artifacts"));
        assert_eq!(kept, ["b", "d", "d/e", "d/e/a"], "{keep}");
        assert!(!ran.stderr.contains("matches no file"), "{}", ran.stderr);
        let again = project.run(&["replay", &format!("RUN_BUNDLE/{run_id}")]);
        assert_eq!(again.code, Some(0), "{}{}", again.stdout, again.stderr);
    }
    let ran = record("r4", &["b", "*.csv"]);
    let told = "`--keep *.csv` matches no file that the command wrote";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    assert!(!ran.stderr.contains("`--keep b`"), "{}", ran.stderr);
}

#[test]
fn folder_for_temporary_files_that_cannot_be_used_is_named_with_a_way_out() {
    let project = Project::new();
    fs::create_dir(project.path("tmp")).unwrap();
    for (place, told) in [
        (project.path("tmp"), "it lies in the folder of the command"),
        ("/nonexistent".into(), "No such file or directory"),
    ] {
        let mut command = project.command(&["record", "--", "true"]);
        let ran = Ran::from(command.env("TMPDIR", &place).output().unwrap());
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        for told in ["TMPDIR: ", told, "set TMPDIR to a folder"] {
            assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
        }
    }
}
