//! `runseal record --apply`: what the command left gets into the folder, and nothing else is lost or opened up.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

use crate::record_support::Project;
use runseal_testkit::cli::Ran;
use runseal_testkit::skip::need_isolation;

fn apply(project: &Project, run_id: &str, script: &str) -> Ran {
    project.record(run_id, &["--apply", "--", "sh", "-c", script])
}

fn assert_intact(project: &Project, bundle: &str) {
    let ran = project.run(&["verify", bundle]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn bundles_outlive_a_command_that_deletes_or_writes_where_they_are() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("in.txt", "b\na\n");
    project.record_sh("old", "cat in.txt");
    let ran = apply(
        &project,
        "clean",
        "rm -rf RUN_BUNDLE; sort in.txt > out.txt",
    );
    let told = "not applied: `RUN_BUNDLE`, since bundles are kept there";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    assert_eq!(project.read("out.txt"), "a\nb\n");
    for run_id in ["old", "clean"] {
        assert_intact(&project, &format!("RUN_BUNDLE/{run_id}"));
    }
    let script = "mkdir -p RUN_BUNDLE/mine; echo x > RUN_BUNDLE/mine/x; echo y > RUN_BUNDLE/y";
    let ran = apply(&project, "mine", script);
    assert!(ran.stderr.contains("RUN_BUNDLE/mine/x"), "{}", ran.stderr);
    assert_intact(&project, "RUN_BUNDLE/mine");
    assert!(!project.path("RUN_BUNDLE/y").exists());
    // Also where the folder of bundles lies deeper, or is the folder itself.
    let deep = |run_id: &str, out: &str, script: &str| {
        project.record(run_id, &["--apply", "--out", out, "--", "sh", "-c", script])
    };
    project.write("results/notes.txt", "x");
    deep("one", "results/sealed", "cat in.txt");
    deep("two", "results/sealed", "rm -rf results; echo 2 > two.txt");
    for name in ["one", "two"] {
        assert_intact(&project, &format!("results/sealed/{name}"));
    }
    assert_eq!(project.read("two.txt"), "2\n");
    deep("three", ".", "cat in.txt");
    deep("four", ".", "rm -rf three two.txt; echo 4 > four.txt");
    for name in ["three", "four"] {
        assert_intact(&project, name);
    }
    assert_eq!(project.read("four.txt"), "4\n");
    assert!(!project.path("two.txt").exists());
}

#[test]
fn folder_that_others_wrote_into_is_not_taken_away() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("d/a", "old\n");
    project.write("other.txt", "x\n");
    let child = project
        .command(&[
            "record",
            "--apply",
            "--run-id",
            "r1",
            "--",
            "sh",
            "-c",
            "rm -rf d other.txt; sleep 3",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    project.write("d/a", "precious\n");
    project.write("d/b", "new\n");
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("CHANGED"), "{}", ran.stderr);
    assert_eq!(project.read("d/a"), "precious\n");
    assert_eq!(project.read("d/b"), "new\n");
    assert!(project.path("other.txt").exists());
    // Where nobody did, it goes.
    apply(&project, "r2", "rm -rf d");
    assert!(!project.path("d").exists());
}

#[test]
fn rights_are_those_of_the_command_and_never_wider_than_the_umask() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    for (name, mode) in [("key", 0o600), ("shared", 0o664), ("tool", 0o750)] {
        let path = project.write(name, "x\n");
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let mode = |name: &str| {
        let metadata = fs::metadata(project.path(name)).unwrap();
        metadata.permissions().mode() & 0o777
    };
    let script = "for name in key shared tool; do echo l >> $name; done; echo x > new; mkdir -m 700 own; \
        echo x > own/secret; chmod 600 own/secret; mkdir open";
    apply(&project, "r1", script);
    let names = ["key", "shared", "tool", "new", "own", "own/secret", "open"];
    let modes = names.map(mode);
    assert_eq!(modes, [0o600, 0o664, 0o750, 0o644, 0o700, 0o600, 0o755]);
    // Under a closed umask neither what is applied nor what is sealed is open to others.
    let script = "echo x > newer; echo m >> shared; cat key";
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "umask 077; exec \"$@\"", "sh"]);
    let inner = project.command(&[
        "record", "--apply", "--run-id", "r2", "--", "sh", "-c", script,
    ]);
    command.arg(inner.get_program()).args(inner.get_args());
    command.env_clear().current_dir(project.path(""));
    for (name, value) in inner.get_envs() {
        command.env(name, value.unwrap());
    }
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(["newer", "shared"].map(mode), [0o600, 0o664]);
    let bundle = "RUN_BUNDLE/r2";
    let sealed = ["", "/engine", "/engine/key", "/RUN_META.json"]
        .map(|name| mode(&format!("{bundle}{name}")));
    assert_eq!(sealed, [0o700, 0o700, 0o400, 0o400]);
    assert_intact(&project, bundle);
    let ran = project.run(&["replay", bundle]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn failed_run_applies_nothing_and_says_so() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let ran = project.run(&[
        "record",
        "--apply",
        "--keep-failed",
        "--run-id",
        "r1",
        "--",
        "sh",
        "-c",
        "echo x > out.txt; exit 3",
    ]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let told = "the command failed, so nothing was applied";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    assert!(!project.path("out.txt").exists());
    assert!(project.bundle("r1").join("artifacts/out.txt").exists());
}
