//! A recorded command finds again in a replay what it depended on, and a bundle says only what holds:
//! folders, names and links that it looked at, inputs over links, secrets, seeds, limits.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::process::Stdio;

use crate::record_support::Project;
use runseal_testkit::cli::Ran;
use runseal_testkit::skip::need_isolation;

#[test]
fn command_that_depends_on_what_is_there_without_reading_it_reproduces() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    for folder in ["results", "sub/deep/er", "empty"] {
        fs::create_dir_all(project.path(folder)).unwrap();
    }
    project.write("in.txt", "x".repeat(1234));
    project.write("run.sh", "echo ran");
    project.write("same.txt", "same\n");
    fs::set_permissions(project.path("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("in.txt", project.path("link")).unwrap();
    for (at, script) in [
        "echo x > results/out.txt",
        "cd results && echo x > out.txt",
        "echo x > sub/deep/er/out.txt",
        "rmdir results",
        "rm -r sub; ls",
        "test -d results || mkdir results",
        "mkdir results 2>/dev/null || echo was there",
        "mkdir -p results/new; ls results",
        "ls empty; cd empty; pwd",
        "[ -f in.txt ] && echo yes; [ -e gone ] || echo no",
        "stat -c %s in.txt; stat -c %F link; readlink link; [ -x run.sh ] && echo runs",
        "ln in.txt hard; cmp in.txt hard",
        "cp -al in.txt copied",
        "echo same > same.txt",
        "chmod +x in.txt",
    ]
    .iter()
    .enumerate()
    {
        let run_id = format!("r{at}");
        project.record_sh(&run_id, script);
        project.assert_reproduced(&run_id);
    }
    // What was only looked at is not sealed.
    assert!(!project.bundle("r9").join("engine/in.txt").exists());
    assert!(project.bundle("r11").join("engine/in.txt").exists());
}

#[test]
fn engine_reproduces_at_every_level() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.init_engine("adder", "sh");
    for level in ["namespaces", "landlock", "none"] {
        project.run_engine("adder", level, &["--sandbox", level]);
        let ran = project.replay(level, &["--sandbox", level]);
        assert_eq!(ran.code, Some(0), "{level}: {}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn file_of_another_group_can_be_changed_by_an_ordinary_user() {
    if !need_isolation() {
        return;
    }
    let Some(project) = Project::of_ordinary_user() else {
        return;
    };
    let shared = project.write("shared.txt", "one\n");
    chown(&shared, Some(65534), Some(12345)).unwrap();
    project.record_sh("r1", "echo two >> shared.txt");
    assert_eq!(
        project.read("RUN_BUNDLE/r1/artifacts/shared.txt"),
        "one\ntwo\n"
    );
    assert_eq!(project.read("shared.txt"), "one\n");
}

#[test]
fn file_that_may_not_be_read_is_a_gap() {
    if !need_isolation() {
        return;
    }
    let Some(project) = Project::of_ordinary_user() else {
        return;
    };
    project.write("gr/a.txt", "foo\n");
    let closed = project.write("gr/closed.txt", "foo\n");
    fs::set_permissions(closed, fs::Permissions::from_mode(0o600)).unwrap();
    let ran = project.record_sh("r1", "grep -rs foo gr; true");
    assert!(ran.stderr.contains("gr/a.txt:foo"), "{}", ran.stderr);
    assert!(!project.bundle("r1").join("engine/gr/closed.txt").exists());
}

#[test]
fn value_of_a_secret_is_never_sealed_and_the_bundle_says_so() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let record = |run_id: &str, script: &str| -> Ran {
        let mut command = project.command(&[
            "record", "--run-id", run_id, "--secret", "MY_TOKEN", "--", "sh", "-c", script,
        ]);
        command.env("MY_TOKEN", "hunter2hunter2");
        command.output().unwrap().into()
    };
    let ran = record("r1", "echo $MY_TOKEN > leak.txt; echo $MY_TOKEN >&2");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    for told in ["SECRET", "`leak.txt` (the value of `MY_TOKEN`), `stderr`"] {
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
    }
    assert!(!project.bundle("r1").exists());
    let ran = record("r2", "echo ${#MY_TOKEN}");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let ran = project.replay("r2", &[]);
    assert_eq!(ran.code, Some(1));
    let told = "why: the variable `MY_TOKEN` was given";
    assert!(ran.stdout.contains(told), "{}", ran.stdout);
}

#[test]
fn seed_of_a_redactable_bundle_is_never_sealed() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("in.txt", "x");
    project.record("r1", &["--redactable", "--", "cat", "in.txt"]);
    assert!(project.path("RUN_BUNDLE/r1.seed").exists());
    let ran = project.run(&[
        "record", "--run-id", "r2", "--", "tar", "cf", "all.tar", ".",
    ]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("SEED: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("RUN_BUNDLE/r1.seed"), "{}", ran.stderr);
    assert!(!project.bundle("r2").exists());
}

#[test]
fn file_written_beside_the_copy_is_neither_input_nor_deleted() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let script = format!("echo w > {}", project.path("written").display());
    project.record("r1", &["--sandbox", "none", "--", "sh", "-c", &script]);
    let output = project.read("RUN_BUNDLE/r1/RUN_OUTPUT.json");
    assert!(output.contains("\"deleted\":[]"), "{output}");
    assert!(!project.bundle("r1").join("engine/written").exists());
    let environment = project.read("RUN_BUNDLE/r1/RUN_ENVIRONMENT.json");
    assert!(
        !environment.contains("none can be reached"),
        "{environment}"
    );
}

#[test]
fn input_is_shown_where_it_was_named() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let data = project.path("../data");
    fs::create_dir_all(&data).unwrap();
    fs::write(data.join("in.txt"), "over a link\n").unwrap();
    symlink(&data, project.path("../link")).unwrap();
    let home = project.path("..").canonicalize().unwrap();
    let given = home.join("link").display().to_string();
    let file = format!("{given}/in.txt");
    project.record("r1", &["--input", &given, "--", "cat", &file]);
    assert!(project.bundle("r1").join("inputs/link/in.txt").exists());
    project.assert_reproduced("r1");
    let ran = project.record("r2", &["--input", &given, "--", "ls", &given]);
    assert!(ran.stderr.contains("was listed"), "{}", ran.stderr);
}

#[test]
fn summary_is_plain() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("old.txt", "x");
    let name = "red\u{202e}txt";
    let script = format!("rm old.txt; echo x > '{name}'; cat");
    let mut command = project.command(&[
        "record", "--format", "human", "--run-id", "r1", "--", "sh", "-c", &script,
    ]);
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for told in [
        "deleted  1 name\n           old.txt",
        "artifacts/red\\u{202e}txt",
        "system files",
    ] {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
}

#[test]
fn random_name_is_reported_as_randomness_and_a_limit_by_its_option() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.record_sh("r1", "mktemp -u");
    let ran = project.replay("r1", &[]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(ran.stdout.contains("random bytes"), "{}", ran.stdout);
    let script = "python3 -c \"open('big', 'wb').write(b'x' * 5000000)\"";
    for (script, told) in [
        (script, "`--disk`"),
        (
            "head -c 100M /dev/zero",
            "let it write its output to a file",
        ),
    ] {
        let ran = project.run(&["record", "--artifact-bytes", "4M", "--", "sh", "-c", script]);
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        let tail = &ran.stderr[ran.stderr.len().saturating_sub(2000)..];
        assert!(tail.contains(told), "{script}: {tail}");
    }
}

#[test]
fn copy_of_a_weaker_level_is_named_where_its_path_is_printed() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let level = ["--sandbox", "landlock"];
    project.record("r1", &["--sandbox", "landlock", "--", "pwd"]);
    let ran = project.replay("r1", &level);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    let told = "it printed the path of the copy";
    assert!(ran.stdout.contains(told), "{}", ran.stdout);
    let levels = ran.stdout.matches("sandbox level landlock").count();
    assert_eq!(levels, 1, "{}", ran.stdout);
    assert!(!ran.stdout.contains("stdout.txt \n"), "{}", ran.stdout);
}

#[test]
fn input_that_changes_is_reported_although_its_time_was_set_back() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let input = project.write("in.txt", "before\n");
    let modified = fs::metadata(&input).unwrap().modified().unwrap();
    let script = "cat in.txt; while [ ! -s in.txt ]; do :; done; sleep 1.5";
    let child = project
        .command(&["record", "--", "sh", "-c", script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1000));
    fs::write(&input, "after!\n").unwrap();
    let file = fs::File::options().write(true).open(&input).unwrap();
    file.set_modified(modified).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("CHANGED"), "{}", ran.stderr);
}
