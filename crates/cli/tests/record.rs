//! `runseal record` as its users meet it: what is sealed, what is refused, what is left behind.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::record_support::{Project, list};
use runseal_testkit::cli::Ran;
use runseal_testkit::skip::need_isolation;
use rustix::process::{Pid, Signal, kill_process};

const SCRIPT: &str = "import csv, helper\n\
    rows = list(csv.reader(open('data/in.csv')))\n\
    open('out/sum.txt', 'w').write(str(helper.add(rows)))\nprint('done')\n";

fn python_project(project: &Project) {
    project.write("analyse.py", SCRIPT);
    project.write(
        "helper.py",
        "def add(rows):\n    return sum(int(row[1]) for row in rows)\n",
    );
    project.write("data/in.csv", "a,1\nb,2\n");
    project.write("data/unused.csv", "never read\n");
    fs::create_dir_all(project.path("out")).unwrap();
}

#[test]
fn record_seals_what_was_read_written_and_printed_and_nothing_else() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    python_project(&project);
    let before = list(&project.path(""));
    let ran = project.record("r1", &["--", "python3", "analyse.py"]);
    assert!(
        ran.stdout.starts_with("{\"outputs_hash\":\""),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout
            .contains("\"path\":\"RUN_BUNDLE/r1\",\"run_id\":\"r1\""),
        "{}",
        ran.stdout
    );
    let files = list(&project.bundle("r1"));
    for wanted in [
        "engine/analyse.py",
        "engine/helper.py",
        "engine/data/in.csv",
        "artifacts/out/sum.txt",
        "logs/stdout.txt",
        "RUN_ENVIRONMENT.json",
    ] {
        assert!(
            files.iter().any(|file| file == wanted),
            "{wanted} of {files:?}"
        );
    }
    assert!(
        !files.iter().any(|file| file.contains("unused")),
        "{files:?}"
    );
    assert_eq!(
        fs::read_to_string(project.bundle("r1").join("artifacts/out/sum.txt")).unwrap(),
        "3"
    );
    // The folder itself has the bundle more, and nothing else.
    let after: Vec<_> = list(&project.path(""));
    let after: Vec<_> = after
        .into_iter()
        .filter(|it| !it.starts_with("RUN_BUNDLE"))
        .collect();
    assert_eq!(after, before);
    let environment =
        fs::read_to_string(project.bundle("r1").join("RUN_ENVIRONMENT.json")).unwrap();
    assert!(environment.contains("python3"), "{environment}");
    assert!(
        environment.contains("\"level\":\"observed\""),
        "{environment}"
    );
    let verified = project.run(&["verify", "--strict", "RUN_BUNDLE/r1"]);
    assert_eq!(
        verified.code,
        Some(0),
        "{}{}",
        verified.stdout,
        verified.stderr
    );
    let sums = Command::new("sha256sum")
        .args(["--quiet", "-c", "SHA256SUMS.txt"])
        .current_dir(project.bundle("r1"))
        .status()
        .unwrap();
    assert!(sums.success());
}

#[test]
fn replay_needs_nothing_but_the_archive_and_works_as_another_user() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    python_project(&project);
    project.record("r1", &["--", "python3", "analyse.py"]);
    let elsewhere = Project::of_ordinary_user().unwrap_or_else(Project::new);
    for (name, line) in [
        ("r1.tar", "tar -cf $T r1"),
        ("r1.tar.gz", "tar -czf $T r1"),
        ("r1.zip", "zip -qr $T r1"),
    ] {
        let target = elsewhere.path(name);
        let packed = Command::new("sh")
            .args(["-ec", line])
            .env("T", &target)
            .current_dir(project.path("RUN_BUNDLE"))
            .status()
            .unwrap();
        assert!(packed.success(), "{line}");
        fs::set_permissions(&target, fs::Permissions::from_mode(0o644)).unwrap();
    }
    drop(project);
    for name in ["r1.tar", "r1.tar.gz", "r1.zip"] {
        let ran = elsewhere.run(&["replay", name]);
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains("REPRODUCED\n"), "{}", ran.stdout);
    }
    assert_eq!(list(&elsewhere.path("")), ["r1.tar", "r1.tar.gz", "r1.zip"]);
}

#[test]
fn record_as_an_ordinary_user_seals_the_same() {
    let Some(project) = Project::of_ordinary_user().filter(|_| need_isolation()) else {
        return;
    };
    project.write("in.txt", "b\na\n");
    let ran = project.record_sh("r1", "sort in.txt > out.txt");
    assert!(ran.stdout.contains("\"run_id\":\"r1\""));
    project.assert_reproduced("r1");
}

#[test]
fn script_replaced_by_one_that_copies_old_results_is_never_reproduced() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    python_project(&project);
    project.record("r1", &["--", "python3", "analyse.py"]);
    let copier = "open('out/sum.txt', 'w').write('3')\nprint('done')\n";
    project.write("analyse.py", copier);
    // The folder with the other script is not the one that was recorded.
    let ran = project.replay("r1", &["--engine", "."]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("NOT REPLAYABLE"), "{}", ran.stdout);
    assert!(
        ran.stdout
            .contains("engine/analyse.py is another file here"),
        "{}",
        ran.stdout
    );
    // The script in the bundle is part of the seal.
    let sealed = project.bundle("r1").join("engine/analyse.py");
    fs::set_permissions(&sealed, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&sealed, copier).unwrap();
    let ran = project.replay("r1", &[]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("NOT REPLAYABLE"), "{}", ran.stdout);
    // Nor do right sums help: the input says what was read.
    let sums = project.bundle("r1").join("SHA256SUMS.txt");
    let index = project.bundle("r1").join("ARTIFACT_INDEX.json");
    for file in [&index, &sums] {
        fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
        let old = runseal_core::digest::Digest::of(SCRIPT.as_bytes()).to_string();
        let new = runseal_core::digest::Digest::of(copier.as_bytes()).to_string();
        let text = fs::read_to_string(file).unwrap().replace(&old, &new);
        fs::write(file, text).unwrap();
    }
    let text = fs::read_to_string(&index).unwrap();
    let fixed = runseal_core::digest::Digest::of(text.as_bytes());
    let lines = fs::read_to_string(&sums).unwrap();
    let lines: Vec<String> = lines
        .lines()
        .map(|line| match line.ends_with("  ARTIFACT_INDEX.json") {
            true => format!("{fixed}  ARTIFACT_INDEX.json\n"),
            false => format!("{line}\n"),
        })
        .collect();
    fs::write(&sums, lines.concat()).unwrap();
    let verified = project.run(&["verify", "--format", "json", "RUN_BUNDLE/r1"]);
    assert!(verified.stdout.contains("RB13"), "{}", verified.stdout);
    let ran = project.replay("r1", &[]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("NOT REPLAYABLE"), "{}", ran.stdout);
}

#[test]
fn json_of_the_users_is_kept_byte_by_byte_and_stored_as_jcs() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let config = "{ \"role\": \"user\",\n  \"big\": 1 }\n";
    project.write("config.json", config);
    project.write("comments.json", "// no JSON at all\n{}");
    project.write("big.json", "[12345678901234567890]");
    project.record_sh(
        "r1",
        "cat config.json comments.json big.json > all.txt; cp config.json chat.json",
    );
    let bundle = project.bundle("r1");
    let read = |name: &str| fs::read_to_string(bundle.join(name)).unwrap();
    assert_eq!(read("engine/config.json"), "{\"big\":1,\"role\":\"user\"}");
    assert_eq!(read("exact/engine/config.json.bytes"), config);
    assert_eq!(
        read("exact/engine/comments.json.raw"),
        "// no JSON at all\n{}"
    );
    assert_eq!(read("exact/engine/big.json.raw"), "[12345678901234567890]");
    assert_eq!(read("artifacts/chat.json"), "{\"big\":1,\"role\":\"user\"}");
    let ran = project.run(&["verify", "--strict", "RUN_BUNDLE/r1"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    project.assert_reproduced("r1");
    // What people see and what is run are the same.
    let copy = bundle.join("engine/config.json");
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&copy, "{}").unwrap();
    let ran = project.run(&["verify", "--format", "json", "RUN_BUNDLE/r1"]);
    assert!(ran.stdout.contains("RB13"), "{}", ran.stdout);
}

#[test]
fn links_listings_modes_appends_and_deletions_come_back_in_a_replay() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("v1/data.txt", "one\n");
    symlink("v1", project.path("current")).unwrap();
    project.write("log.txt", "old line\n");
    project.write("gone.txt", "x");
    project.write("many/a.txt", "1");
    project.write("many/b.txt", "22");
    let tool = project.write("tool.sh", "#!/bin/sh\necho tool\n");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    project.record_sh(
        "r1",
        "cat current/data.txt; echo new >> log.txt; rm gone.txt; ls many; ./tool.sh; mkdir empty; pwd",
    );
    let output = fs::read_to_string(project.bundle("r1").join("RUN_OUTPUT.json")).unwrap();
    assert!(output.contains("\"deleted\":[\"gone.txt\"]"), "{output}");
    assert!(output.contains("\"folders\":[\"empty\"]"), "{output}");
    project.assert_reproduced("r1");
    assert_eq!(project.read("log.txt"), "old line\n");
    assert!(project.path("gone.txt").exists());
}

#[test]
fn inputs_elsewhere_are_shown_sealed_and_found_again() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let outside = tempfile::tempdir().unwrap();
    fs::set_permissions(outside.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let data = outside.path().join("set");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("a.csv"), "1\n").unwrap();
    fs::write(data.join("b.csv"), "2\n").unwrap();
    project.write("own.csv", "3\n");
    let script = format!("cat {}/a.csv own.csv", data.display());
    let set = data.to_str().unwrap();
    project.record(
        "r1",
        &[
            "--input", set, "--input", "own.csv", "--", "sh", "-c", &script,
        ],
    );
    let files = list(&project.bundle("r1"));
    for wanted in ["inputs/set/a.csv", "inputs/own.csv"] {
        assert!(files.iter().any(|file| file == wanted), "{files:?}");
    }
    assert!(
        !files.iter().any(|file| file.ends_with("b.csv")),
        "{files:?}"
    );
    // Without it, the file is not there.
    let ran = project.run(&["record", "--run-id", "r2", "--", "sh", "-c", &script]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    fs::remove_dir_all(&data).unwrap();
    fs::remove_file(project.path("own.csv")).unwrap();
    project.assert_reproduced("r1");
}

#[test]
fn large_inputs_are_referenced_and_asked_for() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("large.bin", vec![7; 300_000]);
    project.record(
        "r1",
        &[
            "--reference-above",
            "100K",
            "--",
            "sh",
            "-c",
            "wc -c < large.bin",
        ],
    );
    assert!(!project.bundle("r1").join("engine/large.bin").exists());
    let ran = project.replay("r1", &[]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout.contains("`large.bin` is not in the bundle"),
        "{}",
        ran.stdout
    );
    let ran = project.replay("r1", &["--input", "large.bin"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    project.write("large.bin", vec![8; 300_000]);
    let ran = project.replay("r1", &["--input", "large.bin"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn program_that_no_package_has_is_the_bundles_own() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let tools = tempfile::tempdir().unwrap();
    fs::set_permissions(tools.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let tool = tools.path().join("bin/mytool");
    fs::create_dir(tools.path().join("bin")).unwrap();
    let write = |comment: &str| {
        fs::write(&tool, format!("#!/bin/sh\n# {comment}\necho fixed\n")).unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    };
    write("one");
    let path = format!("{}:/usr/bin:/bin", tools.path().join("bin").display());
    let run = |arguments: &[&str]| -> Ran {
        let mut command = project.command(arguments);
        // Below the home folder: /tmp is the command's own.
        command.env("HOME", tools.path());
        command.env("PATH", &path).output().unwrap().into()
    };
    let ran = run(&["record", "--run-id", "r1", "--", "mytool"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let ran = run(&["replay", "RUN_BUNDLE/r1", "--same-environment"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    // The bundle has the tool that ran, whatever is here now.
    write("two");
    let ran = run(&["replay", "RUN_BUNDLE/r1", "--same-environment"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("REPRODUCED\n"), "{}", ran.stdout);
}

#[test]
fn apply_copies_back_and_never_over_a_file_that_changed_meanwhile() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("notes.txt", "a\n");
    project.write("old.txt", "x");
    project.record("r1", &["--apply", "--", "sh", "-c", "echo b >> notes.txt; rm old.txt; echo n > sub/new.txt 2>/dev/null || { mkdir sub; echo n > sub/new.txt; }"]);
    assert_eq!(project.read("notes.txt"), "a\nb\n");
    assert_eq!(project.read("sub/new.txt"), "n\n");
    assert!(!project.path("old.txt").exists());
    // Somebody else writes while the command runs.
    let mut child = project
        .command(&[
            "record",
            "--run-id",
            "r2",
            "--apply",
            "--",
            "sh",
            "-c",
            "sleep 2; echo mine > notes.txt",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1000));
    project.write("notes.txt", "theirs\n");
    let _ = child.wait().unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_ne!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("CHANGED"), "{}", ran.stderr);
    assert_eq!(project.read("notes.txt"), "theirs\n");
}

#[test]
fn failure_is_shown_and_sealed_only_when_asked_for() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let script =
        "for i in $(seq 30); do echo line $i >&2; done; printf '\\033[31mred\\n' >&2; exit 3";
    let ran = project.run(&[
        "record", "--quiet", "--run-id", "r1", "--", "sh", "-c", script,
    ]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("FAILED: the command ended with exit status 3"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("line 30\n") && !ran.stderr.contains("line 11\n"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("\\u{1b}[31mred"), "{}", ran.stderr);
    assert!(!project.path("RUN_BUNDLE").exists());
    let ran = project.run(&[
        "record",
        "--run-id",
        "r1",
        "--keep-failed",
        "--format",
        "json",
        "--",
        "sh",
        "-c",
        script,
    ]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stdout.contains("\"failed\":true"), "{}", ran.stdout);
    let verified = project.run(&["verify", "RUN_BUNDLE/r1"]);
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);
    let shown = project.run(&["inspect", "RUN_BUNDLE/r1"]);
    assert!(
        shown.stdout.to_lowercase().contains("failed"),
        "{}",
        shown.stdout
    );
    let again = project.replay("r1", &[]);
    assert_eq!(again.code, Some(0), "{}{}", again.stdout, again.stderr);
    assert!(again.stdout.contains("FAILED"), "{}", again.stdout);
}

#[test]
fn times_says_what_varies_and_why() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write(
        "dice.py",
        "import random\nopen('n.csv','w').write('roll\\n%d\\n' % random.randrange(10**12))\n",
    );
    let ran = project.record("r1", &["--times", "2", "--", "python3", "dice.py"]);
    assert!(
        ran.stderr.contains("2 runs did not give the same"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("row 2, column `roll`"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("random bytes"), "{}", ran.stderr);
    let ran = project.replay("r1", &[]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout.contains("DIVERGED") && ran.stdout.contains("why: python3"),
        "{}",
        ran.stdout
    );
    let ran = project.record("r2", &["--times", "3", "--", "sh", "-c", "echo same"]);
    assert!(
        ran.stderr.contains("3 runs gave the same"),
        "{}",
        ran.stderr
    );
}

#[test]
fn secrets_are_refused_or_passed_without_being_sealed() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let run = |arguments: &[&str]| -> Ran {
        let mut command = project.command(arguments);
        command
            .env("MY_TOKEN", "hunter2hunter2")
            .env("MODE", "fast");
        command.output().unwrap().into()
    };
    let script = "echo $MODE ${#MY_TOKEN}";
    let ran = run(&[
        "record", "--run-id", "r1", "--env", "MY_TOKEN", "--", "sh", "-c", script,
    ]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("SECRET"), "{}", ran.stderr);
    let ran = run(&[
        "record", "--run-id", "r1", "--env", "MODE", "--secret", "MY_TOKEN", "--", "sh", "-c",
        script,
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let bundle = project.bundle("r1");
    assert_eq!(
        fs::read_to_string(bundle.join("logs/stdout.txt")).unwrap(),
        "fast 14\n"
    );
    for name in list(&bundle) {
        let bytes = fs::read(bundle.join(&name)).unwrap_or_default();
        assert!(
            !String::from_utf8_lossy(&bytes).contains("hunter2"),
            "{name}"
        );
    }
}

#[test]
fn what_cannot_be_sealed_is_refused_and_leaves_nothing() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("kept.txt", "x");
    for (script, code) in [
        ("ln -s \"$(printf 'a\\377b')\" link", "LEFT"),
        ("printf x > \"$(printf 'a\\377b')\"", "LEFT"),
        ("printf x > 'back\\slash'", "LEFT"),
    ] {
        let ran = project.run(&["record", "--run-id", "r1", "--", "sh", "-c", script]);
        assert_eq!(ran.code, Some(1), "{script}: {}", ran.stderr);
        assert!(ran.stderr.contains(code), "{script}: {}", ran.stderr);
        assert_eq!(list(&project.path("")), ["kept.txt"], "{script}");
    }
    for (arguments, told) in [
        (&["record", "--", "no-such-program"][..], "NO_PROGRAM"),
        (&["record", "--", "./none"], "NO_PROGRAM"),
        (&["record", "--", "./kept.txt"], "NO_PROGRAM"),
        (&["record", "--input", "nowhere", "--", "true"], "INPUT"),
        (&["record", "--run-id", "../x", "--", "true"], "RUN_ID"),
        (&["record", "--param", "x", "--", "true"], "USAGE"),
        (&["record"], "USAGE"),
    ] {
        let ran = project.run(arguments);
        assert!(
            ran.code.is_some_and(|code| code >= 2),
            "{arguments:?} {ran:?}"
        );
        assert!(
            ran.stderr.starts_with(told),
            "{arguments:?}: {}",
            ran.stderr
        );
        assert_eq!(list(&project.path("")), ["kept.txt"]);
    }
    project.record_sh("r1", "true");
    let ran = project.run(&["record", "--run-id", "r1", "--", "true"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("EXISTS"), "{}", ran.stderr);
}

#[test]
fn command_that_writes_too_much_or_leaves_a_daemon_is_bounded() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let ran = project.run(&[
        "record",
        "--artifact-bytes",
        "1M",
        "--",
        "sh",
        "-c",
        "head -c 9000000 /dev/zero > big",
    ]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(!project.path("RUN_BUNDLE").exists());
    let began = Instant::now();
    project.record_sh("r1", "(sleep 300 > /dev/null 2>&1 &) ; echo started");
    assert!(began.elapsed() < Duration::from_secs(200));
}

#[test]
fn interrupt_ends_the_command_and_leaves_nothing() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("in.txt", "x");
    let child = project
        .command(&["record", "--", "sh", "-c", "cat in.txt; sleep 100"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("INTERRUPTED"), "{}", ran.stderr);
    assert_eq!(list(&project.path("")), ["in.txt"]);
}

#[test]
fn sealed_folder_can_be_deleted_by_its_owner() {
    let Some(project) = Project::of_ordinary_user().filter(|_| need_isolation()) else {
        return;
    };
    project.record_sh("r1", "mkdir -p a/b; echo x > a/b/c");
    let mode = |name: &str| {
        fs::metadata(project.bundle("r1").join(name))
            .unwrap()
            .permissions()
            .mode()
    };
    assert_eq!(mode("artifacts/a/b/c") & 0o222, 0);
    let mut remove = Command::new("rm");
    remove
        .args(["-rf", "RUN_BUNDLE"])
        .current_dir(project.path(""));
    std::os::unix::process::CommandExt::uid(&mut remove, 65534);
    assert!(remove.status().unwrap().success());
    assert!(!project.path("RUN_BUNDLE").exists());
}

#[test]
fn gaps_are_repeated_by_verify_inspect_replay_and_the_page() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write(
        "net.py",
        "import socket\ntry:\n    socket.create_connection(('192.0.2.1', 80))\nexcept OSError as e:\n    print(e)\n",
    );
    project.record("r1", &["--", "python3", "net.py"]);
    for arguments in [
        &["verify", "RUN_BUNDLE/r1"][..],
        &["verify", "--format", "json", "RUN_BUNDLE/r1"],
        &["inspect", "RUN_BUNDLE/r1"],
        &["replay", "RUN_BUNDLE/r1"],
        &["replay", "--format", "json", "RUN_BUNDLE/r1"],
    ] {
        let ran = project.run(arguments);
        assert_eq!(
            ran.code,
            Some(0),
            "{arguments:?}: {}{}",
            ran.stdout,
            ran.stderr
        );
        assert!(
            ran.stdout.contains("192.0.2.1"),
            "{arguments:?}: {}",
            ran.stdout
        );
    }
    let ran = project.run(&["report", "RUN_BUNDLE/r1", "-o", "page.html"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(project.read("page.html").contains("192.0.2.1"));
}

#[test]
fn weaker_levels_are_named_in_the_bundle_and_in_the_verdict() {
    if !need_isolation() {
        return;
    }
    for level in ["landlock", "none"] {
        let project = Project::new();
        project.write("in.txt", "b\na\n");
        project.record(
            "r1",
            &[
                "--sandbox",
                level,
                "--",
                "sh",
                "-c",
                "sort in.txt > out.txt",
            ],
        );
        let environment =
            fs::read_to_string(project.bundle("r1").join("RUN_ENVIRONMENT.json")).unwrap();
        assert!(
            environment.contains(&format!("\"sandbox\":{{\"level\":\"{level}\"}}")),
            "{environment}"
        );
        assert!(project.bundle("r1").join("engine/in.txt").exists());
        assert!(!project.path("out.txt").exists());
        let ran = project.replay("r1", &["--sandbox", level]);
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        assert!(
            ran.stdout.contains(&format!("sandbox level {level}")),
            "{}",
            ran.stdout
        );
    }
}
