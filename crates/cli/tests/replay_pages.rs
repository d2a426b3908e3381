//! What is replayed can be named inside an archive, and looked at as a page.

use std::fs;
use std::process::Command;

use crate::record_support::Project;
use runseal_testkit::skip::need_isolation;

fn project() -> Option<Project> {
    if !need_isolation() {
        return None;
    }
    let project = Project::new();
    project.write("same.sh", "sort in.txt > out.txt\n");
    project.write("other.sh", "od -An -N8 -tx1 /dev/urandom > out.txt\n");
    project.write("in.txt", "b\na\n");
    for name in ["same", "other"] {
        let script = format!("{name}.sh");
        let ran = project.run(&["record", "--run-id", name, "--", "sh", &script]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
    Some(project)
}

#[test]
fn run_inside_an_archive_is_replayed_by_the_name_that_answers_give_it() {
    let Some(project) = project() else { return };
    let packed = Command::new("tar")
        .args(["-cf", "evidence.tar", "RUN_BUNDLE"])
        .current_dir(project.path(""))
        .status();
    assert!(packed.unwrap().success());
    let inside = "evidence.tar!/RUN_BUNDLE/same";
    let ran = project.run(&["replay", inside, "--report", "inside.html"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("same: REPRODUCED"), "{}", ran.stdout);
    let html = fs::read_to_string(project.path("inside.html")).unwrap();
    for part in [inside, "A run bundle: intact", "REPRODUCED"] {
        assert!(html.contains(part), "{part}");
    }
    for wrong in ["evidence.tar!/RUN_BUNDLE", "evidence.tar!/RUN_BUNDLE/none"] {
        let ran = project.run(&["replay", wrong]);
        assert_eq!(ran.code, Some(2), "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains("no run bundle"), "{}", ran.stderr);
    }
    // A command that needs a folder says so.
    let ran = project.run(&["keygen", "-o", "k"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let ran = project.run(&["redact", inside, "--drop", "x", "-o", "y"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("unpack it"), "{}", ran.stderr);
}

#[test]
fn page_of_a_replay_is_about_what_was_replayed_and_not_what_is_there_afterwards() {
    const SLEEP: &str = "2.0317";
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("slow.sh", format!("sleep {SLEEP}\nsort in.txt > out.txt\n"));
    project.write("in.txt", "b\na\n");
    let ran = project.run(&["record", "--run-id", "slow", "--", "sh", "slow.sh"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let artifact = project.path("RUN_BUNDLE/slow/artifacts/out.txt");
    let ran = std::thread::scope(|scope| {
        let bundle = "RUN_BUNDLE/slow";
        let replay = scope.spawn(|| project.run(&["replay", bundle, "--report", "slow.html"]));
        // The command runs, so the bundle was judged.
        while !is_running(&["sleep", SLEEP]) {
            assert!(!replay.is_finished(), "{}", replay.join().unwrap().stderr);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        fs::remove_file(&artifact).unwrap();
        fs::write(&artifact, "forged\n").unwrap();
        replay.join().unwrap()
    });
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(project.run(&["verify", "RUN_BUNDLE/slow"]).code, Some(1));
    let html = fs::read_to_string(project.path("slow.html")).unwrap();
    assert!(html.contains("REPRODUCED"), "the replay's verdict");
    assert!(
        html.contains("A run bundle: intact, unsigned"),
        "the page's"
    );
    assert!(!html.contains("forged"), "what nobody judged");
}

/// Whether a process with this command line runs on this machine.
fn is_running(words: &[&str]) -> bool {
    let wanted: String = words.iter().map(|word| format!("{word}\0")).collect();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| fs::read(process.path().join("cmdline")).ok())
        .any(|line| line == wanted.as_bytes())
}

#[test]
fn run_packed_with_its_signature_is_replayed_from_the_archive() {
    let Some(project) = project() else { return };
    let ran = project.run(&["keygen", "-o", "k"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let ran = project.run(&["sign", "RUN_BUNDLE/same", "--key", "k"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let packed = Command::new("tar")
        .args(["-czf", "one.tgz", "-C", "RUN_BUNDLE", "same"])
        .arg("same.intoto.jsonl")
        .current_dir(project.path(""))
        .status();
    assert!(packed.unwrap().success());
    let ran = project.run(&["replay", "one.tgz"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("one.tgz: REPRODUCED"), "{}", ran.stdout);
    // What a recorded command may write is bounded when it is replayed, too.
    let ran = project.run(&["replay", "RUN_BUNDLE/same", "--artifact-bytes", "1"]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.starts_with("LIMIT: "), "{}", ran.stderr);
}

#[test]
fn page_of_a_replay_shows_what_came_now_beside_what_was_sealed() {
    let Some(project) = project() else { return };
    for (name, code, parts) in [
        ("same", 0, &["REPRODUCED"][..]),
        ("other", 1, &["DIVERGED", "artifacts/out.txt"][..]),
    ] {
        let bundle = format!("RUN_BUNDLE/{name}");
        let page = format!("{name}.html");
        let ran = project.run(&["replay", &bundle, "--report", &page]);
        assert_eq!(ran.code, Some(code), "{}{}", ran.stdout, ran.stderr);
        let html = fs::read_to_string(project.path(&page)).unwrap();
        let section = html.split("What running it again gave").nth(1).unwrap();
        for part in parts {
            assert!(section.contains(part), "{part}");
        }
    }
}
