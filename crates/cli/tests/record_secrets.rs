//! Secrets in what a recording would seal: found, told by place and kind, and sealed only where they were allowed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use runseal_testkit::cli::Ran;

use runseal_testkit::skip::need_isolation;

use crate::record_support::Project;

/// A token of nobody, with the checksum of a real one.
const TOKEN: &str = "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";
/// A private key of nobody: its 32 bytes count.
const KEY: &str = "MC4CAQAwBQYDK2VwBCIEIFp/EDXO44RZchcozea7XHEKL8DlvlN0CSLHmL1Wawwh";

fn home(project: &Project) -> std::path::PathBuf {
    project.path("").parent().unwrap().to_owned()
}

fn pem() -> String {
    format!("-----BEGIN PRIVATE KEY-----\n{KEY}\n-----END PRIVATE KEY-----\n")
}

fn in_home(project: &Project, arguments: &[&str]) -> Command {
    let options = ["record", "--format", "human", "--run-id", "one"];
    let mut command = project.command(&[&options, arguments].concat());
    command.env("HOME", home(project));
    command
}

fn run(project: &Project, arguments: &[&str]) -> Ran {
    in_home(project, arguments).output().unwrap().into()
}

#[test]
fn secret_of_every_place_stops_the_sealing_and_is_named_by_line_and_kind() {
    if !need_isolation() {
        return;
    }
    let outside = tempfile::tempdir().unwrap();
    let given = outside.path().join("given.pem");
    fs::write(&given, pem()).unwrap();
    let given = given.to_str().unwrap();
    let config = format!(
        "[http]\n\textraheader = AUTHORIZATION: basic {}\n",
        "eC1hY2Nlc3MtdG9rZW46Z2hzX1Eza2YwWnJYdzdMbU5iVjlzVHlVMmNQZEE4aEo1ZUcxb0lxUg=="
    );
    for (arguments, told) in [
        (&["--", "cat", "a.txt"][..], "`a.txt` line 2 (GitHub token)"),
        (&["--", "cat", "a.json"], "`a.json` line 3 (GitHub token)"),
        (
            &["--", "cat", ".git/config"],
            "`.git/config` line 2 (authorization header)",
        ),
        (
            &["--", "cat", "prod.pem"],
            "`prod.pem` line 1 (private key)",
        ),
        (
            &["--", "cat", ".env"],
            "`.env` line 1 (secret with a telling name)",
        ),
        (
            &["--", "sh", "-c", "cat ~/.Renviron"],
            "/.Renviron` line 1 (GitHub token)",
        ),
        (
            &["--input", given, "--", "cat", given],
            "/given.pem` line 1 (private key)",
        ),
        (
            &["--", "sh", "-c", "rev reversed > made.txt"],
            "`made.txt` line 1 (GitHub token)",
        ),
        (&["--", "rev", "reversed"], "`stdout` line 1 (GitHub token)"),
    ] {
        let project = Project::new();
        project.write("a.txt", format!("one\nx = {TOKEN}\n"));
        project.write(
            "a.json",
            format!("{{\"a\": 1,\n\n\"token\": \"{TOKEN}\"}}\n"),
        );
        project.write(".git/config", &config);
        project.write("prod.pem", pem());
        project.write(".env", "DB_PASSWORD=Tr0ub4dor&3\n");
        project.write("reversed", TOKEN.chars().rev().collect::<String>());
        fs::write(
            home(&project).join(".Renviron"),
            format!("GITHUB_PAT={TOKEN}\n"),
        )
        .unwrap();
        let ran = run(&project, arguments);
        assert_eq!(ran.code, Some(1), "{arguments:?} {}", ran.stderr);
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
        let said = ran.stderr.split("SECRET").last().unwrap();
        assert!(
            !said.contains(TOKEN) && !said.contains(KEY),
            "{}",
            ran.stderr
        );
        assert!(!project.bundle("one").exists());
    }
}

#[test]
fn results_of_a_run_that_is_not_sealed_are_kept_and_the_way_on_works() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("conf/prod.pem", pem());
    let command = [
        "--",
        "sh",
        "-c",
        "cat conf/prod.pem > /dev/null; echo 42 > answer.txt",
    ];
    let ran = run(&project, &command);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    for way in ["--allow-secret", "--hide", "--secret", "one.unsealed"] {
        assert!(ran.stderr.contains(way), "{way}: {}", ran.stderr);
    }
    assert_eq!(
        project.read("RUN_BUNDLE/one.unsealed/artifacts/answer.txt"),
        "42\n"
    );
    assert!(
        project
            .read("RUN_BUNDLE/one.unsealed/UNSEALED.txt")
            .contains("prod.pem")
    );
    let kept = fs::metadata(project.path("RUN_BUNDLE/one.unsealed")).unwrap();
    assert_eq!(kept.permissions().mode() & 0o077, 0);
    let other = run(
        &project,
        &[&["--allow-secret", "other.pem"], &command[..]].concat(),
    );
    assert_eq!(other.code, Some(1), "{}", other.stderr);
    let ran = run(
        &project,
        &[&["--allow-secret", "conf/*.pem"], &command[..]].concat(),
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let environment = project.read("RUN_BUNDLE/one/RUN_ENVIRONMENT.json");
    let told = "`conf/prod.pem` line 1 (private key) is sealed, since --allow-secret allowed it";
    assert!(
        environment.contains(told) && ran.stderr.contains(told),
        "{}",
        ran.stderr
    );
    let verified = project.run(&["verify", "RUN_BUNDLE/one"]);
    assert_eq!(
        verified.code,
        Some(0),
        "{}{}",
        verified.stdout,
        verified.stderr
    );
}

#[test]
fn what_is_hidden_published_or_for_tests_does_not_stop_the_sealing() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("prod.pem", pem());
    project.write("tests/certs/server.key", pem());
    project.write(
        "node_modules/x/package.json",
        "{\"name\":\"x\",\"version\":\"1.0.0\"}",
    );
    project.write("node_modules/x/key.pem", pem());
    project.write(
        "package-lock.json",
        "{\"packages\":{\"node_modules/x\":{}}}",
    );
    let script = "cat prod.pem tests/certs/server.key node_modules/x/key.pem > /dev/null; true";
    let ran = run(&project, &["--hide", "prod.pem", "--", "sh", "-c", script]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for told in [
        "`tests/certs/server.key` line 1 (private key) is sealed, since it lies in a folder for tests",
        "`node_modules/x/key.pem` line 1 (private key) is sealed, since it is a file of the package x",
    ] {
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
    }
}

#[test]
fn secret_on_the_command_line_is_refused_before_anything_runs() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    for (arguments, told) in [
        (
            &["--", "sh", "-c", "touch ran", "sh", TOKEN][..],
            "`arguments/4` (GitHub token)",
        ),
        (
            &["--", "touch", "ran", "--password=Tr0ub4dor&3"],
            "`arguments/2`",
        ),
    ] {
        let ran = run(&project, &[&["--apply"], arguments].concat());
        assert_eq!(ran.code, Some(1), "{arguments:?} {}", ran.stderr);
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
        assert!(!project.path("RUN_BUNDLE").exists());
    }
    let allowed = ["--allow-secret", "arguments", "--", "echo", TOKEN];
    let ran = run(
        &project,
        &[&allowed[..2], &["--allow-secret", "stdout"], &allowed[2..]].concat(),
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn value_of_a_secret_variable_is_found_in_encodings_and_never_allowed() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let script = "printf %s \"$MY_TOKEN\" | base64 > packed.txt";
    let options = [
        "--secret",
        "MY_TOKEN",
        "--allow-secret",
        "packed.txt",
        "--",
        "sh",
        "-c",
        script,
    ];
    let mut command = in_home(&project, &options);
    let ran: Ran = command
        .env("MY_TOKEN", "an opaque value, 17")
        .output()
        .unwrap()
        .into();
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("`packed.txt` (the value of `MY_TOKEN`)"),
        "{}",
        ran.stderr
    );
}

#[test]
fn what_is_looked_for_and_not_shown_is_named() {
    if !need_isolation() {
        return;
    }
    let elsewhere = tempfile::tempdir().unwrap();
    let other = elsewhere.path().join("cache.bin");
    fs::write(&other, "x").unwrap();
    let project = Project::new();
    fs::write(home(&project).join(".npmrc"), "registry=x\n").unwrap();
    let script = format!(
        "cat ~/.npmrc {} ~/.condarc nowhere /tmp/own; true",
        other.display()
    );
    let ran = run(&project, &["--", "sh", "-c", &script]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let line = ran
        .stderr
        .lines()
        .find(|line| line.contains("looked for and not shown"));
    let line = line.unwrap_or_else(|| panic!("{}", ran.stderr));
    assert!(
        line.contains("~/.npmrc") && line.contains("cache.bin"),
        "{line}"
    );
    assert!(!line.contains(" /,"), "{line}");
    for absent in [".condarc", "nowhere", "own"] {
        assert!(!line.replace("not shown", "").contains(absent), "{line}");
    }
    let environment = project.read("RUN_BUNDLE/one/RUN_ENVIRONMENT.json");
    assert!(environment.contains("looked for and not shown") && environment.contains("~/.npmrc"));
}

#[test]
fn secrets_are_hidden_where_variables_move_them() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("../moved/credentials.toml", "token\n");
    let moved = home(&project).join("moved");
    let mut command = in_home(
        &project,
        &[
            "--",
            "sh",
            "-c",
            "cat $CARGO_HOME/credentials.toml || echo none",
        ],
    );
    let ran: Ran = command.env("CARGO_HOME", &moved).output().unwrap().into();
    assert_eq!(
        (ran.stdout.as_str(), ran.code),
        ("none\n", Some(0)),
        "{}",
        ran.stderr
    );
}

#[test]
fn home_over_a_link_is_named_by_what_was_read_and_by_names_alone() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    fs::write(home(&project).join(".toolrc"), "x\n").unwrap();
    fs::create_dir(home(&project).join("data")).unwrap();
    fs::write(home(&project).join("data/a.csv"), "x\n").unwrap();
    let links = tempfile::tempdir().unwrap();
    let link = links.path().join("me");
    symlink(home(&project), &link).unwrap();
    let real = home(&project);
    let script = format!("cat {0}/.toolrc; ls {0}/data", real.display());
    let mut command = in_home(&project, &["--", "sh", "-c", &script]);
    let ran: Ran = command.env("HOME", &link).output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("read of your home folder, and sealed: ~/.toolrc"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("sealed by name only: ~/data/ (1 name)"),
        "{}",
        ran.stderr
    );
}
