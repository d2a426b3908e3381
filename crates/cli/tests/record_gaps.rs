//! What a recording cannot hold or show is named, and loses nothing else.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use runseal_testkit::cli::Ran;
use serde_json::Value;

use runseal_testkit::skip::need_isolation;

use crate::record_support::Project;

fn environment(project: &Project, run_id: &str) -> Value {
    let path = format!("RUN_BUNDLE/{run_id}/RUN_ENVIRONMENT.json");
    serde_json::from_str(&project.read(&path)).unwrap()
}

fn gaps(project: &Project, run_id: &str) -> String {
    environment(project, run_id)["observation"]["gaps"].to_string()
}

fn program(project: &Project, path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    let home = project.path("").parent().unwrap().canonicalize().unwrap();
    for path in path.ancestors().take_while(|path| *path != home) {
        project.give(path);
    }
}

#[test]
fn pipe_or_socket_that_is_left_is_named_and_the_rest_is_sealed() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let script = "echo x > result; mkfifo pipe; python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('s')\"";
    let ran = project.record_sh("r", script);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let told = "`pipe` (a named pipe), `s` (a socket)";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    assert!(gaps(&project, "r").contains(told));
    assert_eq!(project.read("RUN_BUNDLE/r/artifacts/result"), "x\n");
    let output: Value =
        serde_json::from_str(&project.read("RUN_BUNDLE/r/RUN_OUTPUT.json")).unwrap();
    assert_eq!(output["not_kept"], serde_json::json!(["pipe", "s"]));
    project.assert_reproduced("r");
    let ran = project.run(&["verify", "RUN_BUNDLE/r"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    let ran = project.run(&["record", "--times", "2", "--", "sh", "-c", "mkfifo pipe"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("2 runs gave the same"),
        "{}",
        ran.stderr
    );
    // One of another name is a difference.
    project.record_sh("v", "mkfifo pipe-$(date +%N)");
    let ran = project.replay("v", &[]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(ran.stdout.contains("a named pipe"), "{}", ran.stdout);
}

#[test]
fn folder_of_the_path_over_a_link_has_the_tool_of_the_shell() {
    if !need_isolation() {
        return;
    }
    let all = [Some(Project::new()), Project::of_ordinary_user()];
    for project in all.into_iter().flatten() {
        let home = project.path("").parent().unwrap().canonicalize().unwrap();
        let other = tempfile::tempdir().unwrap();
        fs::set_permissions(other.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let other = other.path().canonicalize().unwrap();
        let install = home.join(".local/share/fnm/v20");
        program(
            &project,
            &install.join("bin/tool"),
            "cat \"${0%/*}/../lib/text\"",
        );
        program(&project, &home.join("decoy/tool"), "echo other");
        fs::create_dir(install.join("lib")).unwrap();
        fs::write(install.join("lib/text"), "mine\n").unwrap();
        project.give(&install.join("lib"));
        project.give(&install.join("lib/text"));
        symlink(&install, other.join("shell")).unwrap();
        symlink(other.join("shell"), other.join("again")).unwrap();
        symlink("/usr/share/missing", other.join("dangling")).unwrap();
        symlink("/proc", other.join("no")).unwrap();
        for link in ["shell", "again"] {
            for level in ["namespaces", "landlock"] {
                let path = format!(
                    "{}:{}:{}:{}:/usr/bin:/bin",
                    other.join("dangling").display(),
                    other.join("no").display(),
                    other.join(link).join("bin").display(),
                    home.join("decoy").display()
                );
                let run_id = format!("{link}-{level}");
                let ran: Ran = project
                    .command(&["record", "--format", "human", "--sandbox", level])
                    .args(["--run-id", &run_id, "--", "sh", "-c", "tool"])
                    .env("HOME", &home)
                    .env("PATH", path)
                    .output()
                    .unwrap()
                    .into();
                assert_eq!(
                    (ran.stdout.as_str(), ran.code),
                    ("mine\n", Some(0)),
                    "{run_id}: {}",
                    ran.stderr
                );
                let told = format!("`{}` of PATH", other.join("no").display());
                assert!(ran.stderr.contains(&told), "{}", ran.stderr);
                assert!(!ran.stderr.contains("dangling"), "{}", ran.stderr);
                assert!(gaps(&project, &run_id).contains(&told));
            }
        }
    }
}

#[test]
fn memory_of_a_run_is_told_if_it_is_more_than_the_recorders() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let script = "python3 -c 'x = bytearray(200 << 20)'";
    for (level, more) in [
        ("namespaces", &[][..]),
        ("namespaces", &["--memory", "1G"]),
        ("landlock", &[]),
    ] {
        let run_id = format!("{level}{}", more.len());
        let arguments = [&["--sandbox", level], more, &["--", "sh", "-c", script]].concat();
        let ran = project.record(&run_id, &arguments);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let told = environment(&project, &run_id)["usage"]["memory_bytes"].as_u64();
        let told = told.unwrap_or_else(|| panic!("{run_id} says nothing"));
        assert!((200 << 20..400 << 20).contains(&told), "{run_id}: {told}");
    }
    project.record_sh("small", "true");
    let usage = environment(&project, "small")["usage"].clone();
    let told = usage["memory_bytes"].as_u64().unwrap_or(0);
    assert!(told < 64 << 20, "{usage}");
}
