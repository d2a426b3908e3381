//! What a recording and its replay keep of files beside what they hold: several names of one, rights of folders,
//! names that only differ by case, and what is neither file nor folder.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use runseal_testkit::skip::need_isolation;

use crate::record_support::Project;
use runseal_testkit::cli::Ran;

/// Records `script` and replays it; gives what it printed.
fn record_and_replay(project: &Project, script: &str) -> String {
    project.record_sh("r1", script);
    let printed = fs::read_to_string(project.bundle("r1").join("logs/stdout.txt")).unwrap();
    project.assert_reproduced("r1");
    printed
}

fn zip(project: &Project) {
    let zipped = Command::new("zip")
        .args(["-qr", "../r1.zip", "r1"])
        .current_dir(project.path("RUN_BUNDLE"))
        .status();
    assert!(zipped.unwrap().success());
}

#[test]
fn what_is_written_under_one_name_of_a_file_is_read_under_the_others() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("a", "1\n");
    project.write("below/other", "alone\n");
    fs::hard_link(project.path("a"), project.path("b")).unwrap();
    fs::hard_link(project.path("a"), project.path("below/c")).unwrap();
    // One is appended to, one is emptied first, one goes away, and one gets another file's place.
    let script = "echo 2 >> a; cat b below/c; stat -c %h b; rm b; echo 3 > below/c; cat a; \
        mv below/other below/c; echo 4 >> a; cat below/c";
    let printed = record_and_replay(&project, script);
    assert_eq!(printed, "1\n2\n1\n2\n3\n3\nalone\n");
    assert_eq!(fs::read_to_string(project.path("b")).unwrap(), "1\n");
    let left = |name: &str| fs::read_to_string(project.bundle("r1").join("artifacts").join(name));
    assert_eq!(left("a").unwrap(), "3\n4\n");
    assert_eq!(left("below/c").unwrap(), "alone\n");
}

#[test]
fn file_with_a_name_outside_the_folder_is_told() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("a", "1\n");
    let outer = project.path("../outer");
    fs::hard_link(project.path("a"), &outer).unwrap();
    let ran = project.run(&["record", "--run-id", "r1", "--", "sh", "-c", "echo 2 >> a"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("other names (hard links)"),
        "{}",
        ran.stderr
    );
    assert_eq!(fs::read_to_string(outer).unwrap(), "1\n");
}

#[test]
fn rights_of_folders_are_restored() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    for (name, mode) in [("closed", 0o555), ("shared", 0o2775), ("sticky", 0o1777)] {
        project.write(&format!("{name}/a"), "x");
        fs::set_permissions(project.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    std::os::unix::fs::symlink("a", project.path("shared/link")).unwrap();
    let script = "stat -c '%a %Y' closed shared sticky; cat shared/link; mkdir shared/new; stat -c %a shared/new";
    let printed = record_and_replay(&project, script);
    assert!(printed.starts_with("555 "), "{printed}");
    assert!(printed.ends_with("x2755\n"), "{printed}");
}

#[test]
fn what_only_gets_other_rights_times_or_attributes_is_there_again() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("a", "x");
    for (run_id, call) in [
        ("mode", "os.chmod('a', 0o644)"),
        ("time", "os.utime('a', (1, 1))"),
        ("names", "os.listxattr('a')"),
        ("attribute", "os.setxattr('a', 'user.k', b'v')"),
    ] {
        let code = format!("import os; {call}");
        let ran = project.run(&["record", "--run-id", run_id, "--", "python3", "-c", &code]);
        assert_eq!(ran.code, Some(0), "{call}: {}", ran.stderr);
        let ran = project.run(&["replay", &format!("RUN_BUNDLE/{run_id}")]);
        assert_eq!(ran.code, Some(0), "{call}: {}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn pipe_or_socket_that_is_left_is_named_and_loses_nothing() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let script = "mkfifo pipe; echo 1 > result; \
        python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('s')\"";
    record_and_replay(&project, script);
    let bundle = project.bundle("r1");
    assert_eq!(
        fs::read_to_string(bundle.join("artifacts/result")).unwrap(),
        "1\n"
    );
    let environment = fs::read_to_string(bundle.join("RUN_ENVIRONMENT.json")).unwrap();
    assert!(
        environment.contains("`pipe` (a named pipe)"),
        "{environment}"
    );
    assert!(environment.contains("`s` (a socket)"), "{environment}");
    // A replay in which one is not left says so.
    project.record_sh("r2", "mkfifo pipe-$(date +%s%N)");
    let ran = project.run(&["replay", "RUN_BUNDLE/r2"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(ran.stdout.contains("DIVERGED"), "{}", ran.stdout);
}

#[test]
fn names_that_differ_by_case_or_are_not_marked_are_replayed_from_a_zip() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("Readme", "1\n");
    project.write("README", "2\n");
    project.write("größe", "3\n");
    record_and_replay(&project, "cat Readme README größe; echo 3 > readme");
    zip(&project);
    let ran = project.run(&["replay", "r1.zip"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn archive_that_is_not_read_to_its_end_is_told_as_that() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.record_sh("r1", "truncate -s 100M zeros");
    zip(&project);
    let ran = project.run(&["replay", "r1.zip"]);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.code, Some(1), "{said}");
    assert!(said.contains("AR4"), "{said}");
    assert!(!said.contains("UNKNOWN_FORMAT"), "{said}");
}

#[test]
fn folder_that_was_there_can_be_renamed() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("a/b/x", "1\n");
    project.write("a/b/deeper/y", "2\n");
    project.write("closed/z", "3\n");
    std::os::unix::fs::symlink("x", project.path("a/b/link")).unwrap();
    fs::set_permissions(project.path("closed"), fs::Permissions::from_mode(0o755)).unwrap();
    let script = "python3 -c \"import os; os.rename('a', 'c'); os.replace('c/b', 'd'); os.rename('closed', 'c/open')\"; \
        find c d | sort; cat d/link d/deeper/y c/open/z; mkdir a && echo new > a/n && mv a e && ls";
    let printed = record_and_replay(&project, script);
    let found = "c\nc/open\nc/open/z\nd\nd/deeper\nd/deeper/y\nd/link\nd/x\n1\n2\n3\nc\nd\ne\n";
    assert_eq!(printed, found);
    assert_eq!(project.read("a/b/x"), "1\n");
    let output = fs::read_to_string(project.bundle("r1").join("RUN_OUTPUT.json")).unwrap();
    assert!(output.contains(r#""deleted":["a","closed"]"#), "{output}");
}

#[test]
fn folder_outside_that_was_only_written_into_is_there_again() {
    let Some(project) = Project::of_ordinary_user().filter(|_| need_isolation()) else {
        return;
    };
    let home = project.path("../home");
    fs::create_dir_all(home.join(".cache/app")).unwrap();
    for folder in ["", ".cache", ".cache/app"] {
        project.give(&home.join(folder));
    }
    let script = "echo 1 > ~/.cache/app/x && cat ~/.cache/app/x";
    let mut command = project.command(&["record", "--run-id", "r1", "--", "sh", "-c", script]);
    let home = home.canonicalize().unwrap();
    let ran: Ran = command.env("HOME", &home).output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    fs::remove_dir_all(home).unwrap();
    project.assert_reproduced("r1");
}

#[test]
fn self_contained_bundle_has_what_was_looked_at_in_the_systems_folders() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    // Python finds its library by looking at a file, and its modules in a listing.
    let code = "import json, os, sys; print(os.path.getsize('/usr/share/doc') > 0, os.path.exists('/usr/bin/env'), \
        len(os.listdir('/usr/lib/locale')) > 0, os.path.realpath('/bin/sh') != '', sys.prefix)";
    let record = ["--self-contained", "--", "/usr/bin/python3", "-c", code];
    project.record("r1", &record);
    project.assert_reproduced("r1");
    let environment =
        fs::read_to_string(project.bundle("r1").join("RUN_ENVIRONMENT.json")).unwrap();
    assert!(
        environment.contains(r#""path":"/usr/bin/env""#),
        "{environment}"
    );
}

#[test]
fn link_on_the_way_is_kept_where_its_path_was_written_with_two_slashes() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let outside = project.path("../outside");
    fs::create_dir_all(outside.join("etc")).unwrap();
    fs::write(outside.join("settings"), "days = 9\n").unwrap();
    std::os::unix::fs::symlink("../settings", outside.join("etc/settings")).unwrap();
    let outside = outside.canonicalize().unwrap();
    let input = outside.to_str().unwrap();
    let script = format!("exec 3< {input}/etc//settings; read line <&3; echo $line");
    project.record("r1", &["--input", input, "--", "sh", "-c", &script]);
    fs::remove_dir_all(&outside).unwrap();
    project.assert_reproduced("r1");
}
