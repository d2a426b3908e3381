//! What somebody meets who records for the first time: a virtual environment, the wrong way to type
//! it, no network, a limit; and what they read then.

use std::fs;
use std::os::unix::fs::symlink;

use crate::record_support::Project;
use runseal_testkit::cli::Ran;
use runseal_testkit::skip::{need_isolation, need_python};

#[test]
fn virtual_environment_of_the_folder_is_replayed_from_the_bundle_alone() {
    if !need_isolation() || !need_python() {
        return;
    }
    let project = Project::new();
    // What `python3 -m venv` makes: a link to a link to the machine's Python.
    fs::create_dir_all(project.path("venv/bin")).unwrap();
    symlink("/usr/bin/python3", project.path("venv/bin/python3")).unwrap();
    symlink("python3", project.path("venv/bin/python")).unwrap();
    project.write(
        "venv/pyvenv.cfg",
        "home = /usr/bin\ninclude-system-site-packages = false\n",
    );
    project.write(
        "analyse.py",
        "import sys\nprint(sys.prefix.endswith('venv'))\n",
    );
    project.record("typed", &["--", "venv/bin/python", "analyse.py"]);
    let path = format!("{}:/usr/bin:/bin", project.path("venv/bin").display());
    let activated = project
        .command(&[
            "record",
            "--run-id",
            "activated",
            "--",
            "python",
            "analyse.py",
        ])
        .env("PATH", path)
        .output()
        .unwrap();
    let activated = Ran::from(activated);
    assert_eq!(activated.code, Some(0), "{}", activated.stderr);
    // Nothing of the folder is left but the bundles.
    fs::remove_dir_all(project.path("venv")).unwrap();
    fs::remove_file(project.path("analyse.py")).unwrap();
    for run_id in ["typed", "activated"] {
        let printed = fs::read_to_string(project.bundle(run_id).join("logs/stdout.txt"));
        assert_eq!(printed.unwrap(), "True\n", "{run_id}");
        let bundle = format!("RUN_BUNDLE/{run_id}");
        let replayed = project.run(&["replay", &bundle, "--same-environment"]);
        assert_eq!(replayed.code, Some(0), "{}", replayed.stdout);
        assert!(
            replayed
                .stdout
                .starts_with(&format!("{bundle}: REPRODUCED")),
            "{}",
            replayed.stdout
        );
    }
}

#[test]
fn links_that_lead_to_links_come_back_in_a_replay() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("data/of/today.txt", "found\n");
    symlink("data/of", project.path("now")).unwrap();
    symlink("now", project.path("latest")).unwrap();
    symlink("latest/today.txt", project.path("text")).unwrap();
    project.record_sh("r1", "cat text");
    let input = fs::read_to_string(project.bundle("r1").join("RUN_INPUT.json")).unwrap();
    for link in ["now", "latest", "text"] {
        assert!(input.contains(&format!("\"path\":\"{link}\"")), "{input}");
    }
    for name in ["text", "latest", "now"] {
        fs::remove_file(project.path(name)).unwrap();
    }
    project.assert_reproduced("r1");
}

#[test]
fn command_that_is_typed_in_the_wrong_way_is_answered_with_the_right_one() {
    let project = Project::new();
    for arguments in [
        &["record"][..],
        &["record", "--"],
        &["record", "python3", "analyse.py"],
    ] {
        let ran = project.run(arguments);
        assert_eq!(ran.code, Some(64), "{}", ran.stderr);
        assert!(
            ran.stderr
                .contains("hint: the command comes after `--`: `runseal record -- "),
            "{}",
            ran.stderr
        );
    }
    let ran = project.run(&["record", "--tims", "2", "--", "true"]);
    assert!(
        ran.stderr.contains("did you mean `--times`?"),
        "{}",
        ran.stderr
    );
}

#[test]
fn failure_says_what_the_sandbox_may_have_to_do_with_it() {
    if !need_isolation() || !need_python() {
        return;
    }
    let project = Project::new();
    let connect = "import socket; socket.create_connection(('192.0.2.1', 80))";
    let ran = project.run(&["record", "--", "/usr/bin/python3", "-c", connect]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("note: there is no network in the sandbox: `/usr/bin/python3.")
            && ran.stderr.contains(" asked for IPv4"),
        "{}",
        ran.stderr
    );
    let ran = project.run(&["record", "--", "cat", "/tmp/of/somebody/else"]);
    assert!(
        ran.stderr.contains("`--show-world`") && ran.stderr.contains("`--keep-failed`"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("network"), "{}", ran.stderr);
    // What a limit stopped is sealed only as that.
    let ran = project.run(&["record", "--timeout", "1", "--", "sleep", "10"]);
    assert!(
        ran.stderr.contains("ran longer than 1 s") && ran.stderr.contains("`--timeout`"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("marked as that"), "{}", ran.stderr);
}

#[test]
fn summary_counts_in_words_that_people_use() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("in.txt", "x");
    let script = "cat in.txt; echo more; touch out.txt; echo oops >&2";
    let ran = project.run(&[
        "record", "--format", "human", "--run-id", "r1", "--", "sh", "-c", script,
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for line in [
        "  read     1 file, and ",
        "  wrote    1 file\n",
        "  printed  6 bytes, standard error 5 bytes\n",
    ] {
        assert!(ran.stderr.contains(line), "{line}: {}", ran.stderr);
    }
}
