//! A redacted copy of a run is run again as far as what is left allows, and says how far that is.

use std::fs;
use std::process::Command;

use crate::record_support::Project;
use runseal_testkit::cli::Ran;
use runseal_testkit::skip::need_isolation;

/// Reads a table, writes how long it is, its sum, and something that is never twice the same.
const SCRIPT: &str = "wc -l < data.csv > lines.txt
cut -d, -f2 data.csv | paste -sd+ | bc > sum.txt 2>/dev/null || echo 5 > sum.txt
head -c 9 /dev/urandom | od -An -tx1 > chance.txt
echo 'two lines'
";

fn recorded() -> Option<Project> {
    if !need_isolation() {
        return None;
    }
    let project = Project::new();
    project.write("run.sh", SCRIPT);
    project.write("data.csv", "a,2\nb,3\n");
    let arguments = ["record", "--redactable", "--run-id", "r1", "--out", "out"];
    let ran = project.run(&[&arguments[..], &["--", "sh", "run.sh"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    Some(project)
}

fn redact(project: &Project, drops: &[&str], to: &str) {
    let arguments = [&["redact", "out/r1", "--drop"][..], drops];
    let more = ["--reason", "licensed", "-o", to];
    let ran = project.run(&[&arguments.concat()[..], &more].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

fn assert_replay(ran: &Ran, code: i32, parts: &[&str]) {
    assert_eq!(ran.code, Some(code), "{}{}", ran.stdout, ran.stderr);
    for part in parts {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
}

#[test]
fn copy_that_shows_what_is_needed_is_run_and_compared_as_far_as_it_is_shown() {
    let Some(project) = recorded() else { return };
    redact(&project, &["artifacts/chance.txt"], "copy");
    let reproduced = [
        "REPRODUCED as far as it is shown",
        "and the same 2 artifacts",
        "not compared: `artifacts/chance.txt` is withheld: licensed",
        "rule 4 NOT CHECKED in a redacted copy",
    ];
    assert_replay(&project.run(&["replay", "copy"]), 0, &reproduced);
    let json = project.run(&["replay", "copy", "--format", "json"]);
    let withheld = r#""not_compared":["`artifacts/chance.txt` is withheld: licensed"]"#;
    assert_replay(&json, 0, &[withheld, r#""verdict":"REPRODUCED""#]);
    // The same from an archive, with nothing else there.
    let packed = Command::new("tar")
        .args(["-czf", "copy.tar.gz", "copy"])
        .current_dir(project.path(""))
        .status();
    assert!(packed.unwrap().success());
    fs::remove_dir_all(project.path("copy")).unwrap();
    assert_replay(&project.run(&["replay", "copy.tar.gz"]), 0, &reproduced);
    // What differs and is shown is a divergence.
    redact(&project, &["artifacts/sum.txt"], "other");
    let diverged = project.run(&["replay", "other"]);
    assert_replay(&diverged, 1, &["DIVERGED", "artifacts/chance.txt"]);
    // Names and digests may be withheld too; then nothing is said of what else is left behind.
    redact(&project, &["RUN_OUTPUT.json#/outputs"], "unnamed");
    let unnamed = project.run(&["replay", "unnamed"]);
    assert_replay(
        &unnamed,
        0,
        &["REPRODUCED as far as it is shown", "and no artifacts"],
    );
}

#[test]
fn copy_without_an_input_is_not_run_until_that_is_disclosed() {
    let Some(project) = recorded() else { return };
    let withheld = ["engine/data.csv", "artifacts/chance.txt"];
    redact(&project, &withheld, "copy");
    let told = [
        "NOT REPLAYABLE: replay rule 1",
        "`engine/data.csv` is withheld: licensed",
        "runseal unredact",
    ];
    assert_replay(&project.run(&["replay", "copy"]), 1, &told);
    // A file of one's own is not taken for it: nothing could show that it is the same.
    let given = project.run(&["replay", "copy", "--input", "data.csv"]);
    assert_replay(&given, 1, &told);
    let disclose = ["redact", "out/r1", "--disclose", "engine/data.csv"];
    let ran = project.run(&[&disclose[..], &["-o", "data.json"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let unredact = ["unredact", "copy", "--with", "data.json", "-o", "more"];
    let ran = project.run(&unredact);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let replayed = project.run(&["replay", "more"]);
    assert_replay(&replayed, 0, &["REPRODUCED as far as it is shown"]);
    // A withheld argument is as much missed as a file.
    redact(&project, &["RUN_INPUT.json#/argv/1"], "mute");
    let mute = project.run(&["replay", "mute"]);
    assert_replay(&mute, 1, &["`RUN_INPUT.json#/argv/1` is withheld"]);
}

#[test]
fn copy_that_was_changed_or_shows_nothing_to_compare_with_is_not_replayable() {
    let Some(project) = recorded() else { return };
    redact(&project, &["artifacts/*", "logs/*"], "nothing");
    let nothing = project.run(&["replay", "nothing"]);
    assert_replay(&nothing, 1, &["NOT REPLAYABLE", "nothing to compare with"]);
    redact(&project, &["artifacts/chance.txt"], "copy");
    // A script that gives the expected files without computing anything.
    let script = project.path("copy/engine/run.sh");
    let _ = fs::remove_file(&script);
    fs::write(
        &script,
        "echo 2 > lines.txt; echo 5 > sum.txt; echo two lines\n",
    )
    .unwrap();
    let forged = project.run(&["replay", "copy"]);
    assert_replay(&forged, 1, &["NOT REPLAYABLE", "engine/run.sh"]);
}

#[test]
fn copy_of_an_engines_run_is_replayed_with_what_its_output_shows() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    for arguments in [
        "engine init eng --lang sh",
        "engine run eng eng/input.json --out out --run-id r1 --redactable",
    ] {
        let ran = project.run(&arguments.split(' ').collect::<Vec<_>>());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
    redact(&project, &["RUN_OUTPUT.json#/outputs/sum"], "copy");
    let replayed = project.run(&["replay", "copy"]);
    let parts = [
        "REPRODUCED as far as it is shown",
        "not compared: `RUN_OUTPUT.json#/outputs/sum` is withheld",
    ];
    assert_replay(&replayed, 0, &parts);
    redact(&project, &["SEALING_SPEC.md"], "part");
    let part = project.run(&["replay", "part"]);
    assert_replay(&part, 1, &["`SEALING_SPEC.md` is withheld"]);
    let whole = project.run(&["replay", "part", "--engine", "eng"]);
    assert_replay(&whole, 0, &["the hash of SEALING_SPEC.md is withheld"]);
    // An engine that computes something else, where that is shown and where it is not.
    let script = project.path("eng/engine.sh");
    let text = fs::read_to_string(&script).unwrap();
    fs::write(&script, format!("{text}\n# changed\n")).unwrap();
    let other = project.run(&["replay", "copy", "--engine", "eng"]);
    assert_replay(
        &other,
        1,
        &["NOT REPLAYABLE", "engine.sh is another file here"],
    );
}
