//! Runs the walks of docs/record.md as written, and makes, checks, runs and replays a new engine
//! in every language.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::record_support::Project;
use runseal_testkit::project_root;
use runseal_testkit::skip::{need_isolation, need_program, need_python};

const MARK: &str = "<!-- walk: ";

/// Whether a program is there; in CI all have to be.
#[test]
fn walks_of_the_page_run_as_shown() {
    if !need_isolation() {
        return;
    }
    let page = std::fs::read_to_string(project_root().join("docs/record.md")).unwrap();
    let mut count = 0;
    for walk in page.split(MARK).skip(1) {
        let (name, rest) = walk.split_once(" -->\n```sh\n").unwrap();
        let script = rest.split("\n```").next().unwrap();
        let needed = match name {
            "python" => &["python3", "zip"][..],
            "rust" => &["rustc"],
            "node" => &["node"],
            _ => &["sh"],
        };
        count += 1;
        if !needed.iter().all(|program| need_program(program)) {
            continue;
        }
        let project = Project::new();
        let binary = Path::new(env!("CARGO_BIN_EXE_runseal"));
        let path = std::env::var("PATH").unwrap();
        let done = Command::new("sh")
            .args(["-eu", "-c", script])
            .current_dir(project.path(""))
            .env(
                "PATH",
                format!("{}:{path}", binary.parent().unwrap().display()),
            )
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let (out, err) = (
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr),
        );
        assert!(done.status.success(), "{name}: {out}{err}");
        assert!(out.contains("REPRODUCED"), "{name}: {out}{err}");
    }
    assert_eq!(count, 5);
}

#[test]
fn new_engine_of_every_language_is_checked_run_and_replayed_as_it_is() {
    if !need_isolation() {
        return;
    }
    for (language, program) in [
        ("sh", "sh"),
        ("python", "python3"),
        ("node", "node"),
        ("rust", "rustc"),
    ] {
        if !need_program(program) {
            continue;
        }
        let project = Project::new();
        let run = |arguments: &[&str], code: i32| {
            let mut command = project.command(arguments);
            // Building needs the user's own compiler.
            command.envs(std::env::vars().filter(|(name, _)| {
                matches!(
                    name.as_str(),
                    "PATH" | "HOME" | "RUSTUP_HOME" | "CARGO_HOME" | "RUSTUP_TOOLCHAIN"
                )
            }));
            let done = command.output().unwrap();
            let (out, err) = (
                String::from_utf8_lossy(&done.stdout),
                String::from_utf8_lossy(&done.stderr),
            );
            assert_eq!(
                done.status.code(),
                Some(code),
                "{language} {arguments:?}: {out}{err}"
            );
            out.into_owned()
        };
        assert_eq!(
            run(&["engine", "init", "adder", "--lang", language], 0),
            "adder\n"
        );
        run(&["engine", "check", "adder"], 0);
        run(
            &[
                "engine",
                "run",
                "adder",
                "adder/input.json",
                "--out",
                "RUN_BUNDLE",
                "--run-id",
                "first",
            ],
            0,
        );
        let output = project.read("RUN_BUNDLE/first/RUN_OUTPUT.json");
        assert!(output.contains("\"sum\":42"), "{output}");
        assert_eq!(
            project
                .read("RUN_BUNDLE/first/artifacts/running.csv")
                .replace('\r', ""),
            "number,sum\n1,1\n2,3\n39,42\n"
        );
        run(&["verify", "--strict", "RUN_BUNDLE/first"], 0);
        // The bundle holds what ran: neither the engine nor its folder is needed.
        std::fs::rename(project.path("adder"), project.path("moved")).unwrap();
        assert!(run(&["replay", "RUN_BUNDLE/first"], 0).contains("REPRODUCED"));
        assert!(
            run(&["replay", "RUN_BUNDLE/first", "--engine", "moved"], 0).contains("REPRODUCED")
        );
        run(&["engine", "init", "moved", "--lang", language], 2);
    }
}

#[test]
fn engine_whose_module_was_replaced_is_not_replayable() {
    if !need_isolation() || !need_python() {
        return;
    }
    let project = Project::new();
    project.init_engine("adder", "python");
    // The work is done in a file that the command does not name.
    let program = project.read("adder/engine.py");
    project.write("adder/work.py", &program);
    project.write("adder/engine.py", "import work\n");
    project.run_engine("adder", "first", &[]);
    assert!(project.path("RUN_BUNDLE/first/engine/work.py").exists());
    let copier = "import os, shutil\nprint('{}')\n";
    project.write("adder/work.py", copier);
    let ran = project.replay("first", &["--engine", "adder"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("NOT REPLAYABLE"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("engine/work.py is another file here"),
        "{}",
        ran.stdout
    );
    project.assert_reproduced("first");
}
