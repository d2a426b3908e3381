//! Configuration of the program loader and of git that a stranger put into a bundle or into a folder.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use runseal_testkit::skip::need_isolation;

use crate::record_support::Project;
use crate::record_support::forged::Forged;
use runseal_core::digest::Digest;
use serde_json::json;

const KEY: &str = "PRIVATE-KEY-OF-THE-CALLER";
const LEVELS: [&str; 2] = ["namespaces", "landlock"];

/// A project of root and one of an ordinary user, each with a key of the caller's beside it.
fn projects() -> Vec<(Project, PathBuf)> {
    let all = [Some(Project::new()), Project::of_ordinary_user()];
    let with_key = |project: Project| {
        let key = project.write("../home/.ssh/id", KEY);
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        project.give(&key);
        let key = key.canonicalize().unwrap();
        (project, key)
    };
    all.into_iter().flatten().map(with_key).collect()
}

/// Puts a file of the system that the command read into the bundle.
fn add_system_file(forged: &Forged, path: &str, text: &str) {
    let stored = format!("environment{path}");
    forged.put(&stored, text);
    forged.edit("RUN_ENVIRONMENT.json", |environment| {
        environment["files"].as_array_mut().unwrap().push(json!({
            "path": path, "stored": stored, "executed": false, "bytes": text.len(),
            "sha256": Digest::of(text.as_bytes()).to_string()}));
    });
}

#[test]
fn configuration_of_the_program_loader_in_a_bundle_leads_to_nothing_of_the_callers() {
    if !need_isolation() {
        return;
    }
    for (project, key) in projects() {
        project.record_sh("honest", "echo hi");
        let marker = project.path("../made-by-a-bundle");
        let shown = key.display().to_string();
        let script = format!("cat {shown} here; echo x > {}; echo hi", marker.display());
        let files = [
            ("/etc/ld.so.preload", format!("{shown}\n")),
            ("/etc/ld.so.conf", format!("include {shown}\n{shown}\n")),
            ("/etc/ld.so.cache", KEY.to_lowercase().repeat(100)),
            ("/etc/ld.so.conf.d/a.conf", format!("{shown}\n")),
        ];
        let variables = json!({"LD_PRELOAD": shown, "LD_AUDIT": shown, "LD_LIBRARY_PATH": shown,
            "LD_DEBUG_OUTPUT": shown, "GCONV_PATH": shown, "GLIBC_TUNABLES": "glibc.malloc.check=3",
            "LOCPATH": shown, "PATH": "/usr/bin:/bin"});
        let bundles = [("files", true, false), ("variables", false, true)];
        for (name, has_files, has_variables) in bundles {
            let forged = Forged::copy(&project.bundle("honest"), &project.path(name));
            forged.set_command(&["sh", "-c", &script]);
            if has_files {
                files
                    .iter()
                    .for_each(|(path, text)| add_system_file(&forged, path, text));
            }
            if has_variables {
                forged.edit("RUN_ENVIRONMENT.json", |it| {
                    it["variables"] = variables.clone()
                });
            }
            forged.edit("RUN_INPUT.json", |input| {
                input["links"] = json!([{"path": "here", "target": shown}]);
            });
            forged.reseal();
            for level in LEVELS {
                let arguments = ["replay", forged.path(), "--sandbox", level];
                let ran = project.run(&[&arguments[..], &["--timeout", "20"]].concat());
                let told = format!("{name} at {level}: {}{}", ran.stdout, ran.stderr);
                assert!(!told.contains(KEY), "{told}");
                assert!(
                    !told.contains(&Digest::of(KEY.as_bytes()).to_string()),
                    "{told}"
                );
                assert!(matches!(ran.code, Some(1 | 2)), "{told}");
                assert!(!marker.exists(), "{told}");
            }
        }
    }
}

/// A repository as somebody else may hand it over: whatever git can be led to by its configuration.
fn make_hostile_repository(project: &Project, key: &Path, marker: &Path) {
    let run = format!("touch {}", marker.display());
    project.write(".git/HEAD", "ref: refs/heads/main\n");
    project.write(".git/refs/heads/main", "0".repeat(40));
    fs::create_dir_all(project.path(".git/objects")).unwrap();
    project.write(
        ".git/config",
        format!(
            "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = \"{run}\"\n\tpager = \"{run}\"\n\
             \tsshCommand = \"{run}\"\n\thooksPath = .\n\teditor = \"{run}\"\n\tworktree = {}\n\
             [include]\n\tpath = {}\n[credential]\n\thelper = \"!{run}\"\n\
             [remote \"origin\"]\n\turl = https://name:secret-of-the-remote@example.org/x\n",
            key.parent().unwrap().display(),
            key.display(),
        ),
    );
    for name in ["libc.so.6", "ld-linux-x86-64.so.2", "ld.so.preload"] {
        project.write(name, "no library");
    }
    for hook in ["post-index-change", "pre-commit"] {
        let place = project.write(hook, format!("#!/bin/sh\n{run}\n"));
        fs::set_permissions(place, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn configuration_of_git_in_a_hostile_folder_runs_and_shows_nothing() {
    if !need_isolation() {
        return;
    }
    for (project, key) in projects() {
        let marker = project.path("../made-by-a-folder");
        make_hostile_repository(&project, &key, &marker);
        for level in LEVELS {
            for (name, script) in [("plain", "echo hi"), ("git", "git status 2>&1; true")] {
                let run_id = format!("{name}-{level}");
                let arguments = ["record", "--sandbox", level, "--run-id", &run_id];
                let command = ["--timeout", "60", "--", "sh", "-c", script];
                let ran = project.run(&[&arguments[..], &command].concat());
                let told = format!("{run_id}: {}{}", ran.stdout, ran.stderr);
                assert!(!marker.exists(), "{told}");
                assert!(!told.contains(KEY), "{told}");
                assert_eq!(ran.code, Some(0), "{told}");
                for file in crate::record_support::list(&project.bundle(&run_id)) {
                    let place = project.bundle(&run_id).join(&file);
                    let bytes = fs::read(&place).unwrap_or_default();
                    let text = String::from_utf8_lossy(&bytes);
                    assert!(!text.contains(KEY), "{run_id}: {file}");
                    let is_said = file == "RUN_ENVIRONMENT.json";
                    assert!(
                        !is_said || !text.contains("secret-of-the-remote"),
                        "{run_id}"
                    );
                }
            }
        }
    }
}

#[test]
fn repository_whose_files_are_pipes_and_links_holds_nobody_up() {
    if !need_isolation() {
        return;
    }
    for (project, key) in projects() {
        fs::create_dir_all(project.path(".git/objects")).unwrap();
        for name in ["index", "packed-refs"] {
            let made = Command::new("mkfifo")
                .arg(project.path(".git").join(name))
                .status();
            assert!(made.unwrap().success());
        }
        symlink(&key, project.path(".git/HEAD")).unwrap();
        symlink("/dev/zero", project.path(".git/config")).unwrap();
        let ran = project.run(&["record", "--run-id", "odd", "--", "echo", "hi"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let environment = project.bundle("odd").join("RUN_ENVIRONMENT.json");
        let environment = fs::read_to_string(environment).unwrap();
        assert!(!environment.contains(KEY), "{environment}");
        project.assert_reproduced("odd");
    }
}
