//! Results that need not be the same to the byte: `--ignore`, `--compare`, and what the verdict says of them.

use std::os::unix::fs::PermissionsExt;

use crate::record_support::Project;
use crate::record_support::forged::Forged;
use runseal_testkit::cli::Ran;
use runseal_testkit::skip::need_isolation;
use serde_json::Value;

/// A command whose results differ in the last digits of numbers every time.
const NEARLY: &str = "import json, os, random\n\
    r = random.random() * 1e-12\n\
    os.makedirs('out', exist_ok=True)\n\
    json.dump({'rmse': 1.0 + r, 'n': [1, 2]}, open('out/m.json', 'w'))\n\
    open('out/t.csv', 'w').write('a,b\\n1,%.17g\\n' % (2 + r))\n\
    print('3 passed in %.9fs' % random.random())\n";

fn first_line(ran: &Ran) -> &str {
    ran.stdout.lines().next().unwrap_or_default()
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap()
}

/// Records, and checks that a replay of it with these options has this outcome and says this in its first line.
#[track_caller]
fn assert_replayed(project: &Project, run: &str, more: &[&str], code: i32, said: &str) -> Ran {
    let ran = project.replay(run, more);
    assert_eq!(ran.code, Some(code), "{}{}", ran.stdout, ran.stderr);
    assert!(first_line(&ran).contains(said), "{}", ran.stdout);
    ran
}

#[test]
fn sealed_rules_reproduce_and_the_verdict_names_them_and_the_largest_difference() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("run.py", NEARLY);
    let rules = ["out/*=rel:1e-9", "stdout=drop: in [0-9.]+s"];
    let [a, b] = rules;
    let arguments = ["--compare", a, "--compare", b, "--", "python3", "run.py"];
    let ran = project.record("r", &[&["--times", "3"][..], &arguments].concat());
    assert!(
        ran.stderr.contains("3 runs gave the same under the rules"),
        "{}",
        ran.stderr
    );
    let said = "REPRODUCED within rel 1e-9 (largest difference ";
    let ran = assert_replayed(&project, "r", &[], 0, said);
    let line = first_line(&ran);
    assert!(
        line.contains("at out/m.json#/rmse)") || line.contains("at out/t.csv, line 2, column 2)"),
        "{line}"
    );
    assert!(
        line.ends_with(", without what rules drop from stdout"),
        "{line}"
    );
    assert!(
        ran.stdout
            .contains("compared by `out/*=rel:1e-9` (sealed in the bundle)")
    );
    let answer = json(&project.replay("r", &["--format", "json"]));
    let by = &answer["compared_by"];
    assert_eq!(by["rules"][0]["from"], "bundle");
    assert_eq!(by["every_output_exempt"], false);
    assert!(
        by["largest_relative"]["difference"].as_f64().unwrap() < 1e-9,
        "{by}"
    );
    assert_eq!(answer["runs"][0]["within"].as_array().unwrap().len(), 3);
    // They are covered by a contract, by the input and so by outputs_hash.
    let schema = std::fs::read_to_string(project.bundle("r").join("INPUT_SCHEMA.json")).unwrap();
    assert!(
        schema.contains(r#""const":[{"files":"out/*","rule":"rel:1e-9"}"#),
        "{schema}"
    );
    let exact = assert_replayed(&project, "r", &["--compare", "*=exact"], 1, "DIVERGED");
    assert!(
        exact.stdout.contains("(given to this replay)"),
        "{}",
        exact.stdout
    );
    let tight = ["--compare", "out/*=rel:1e-16"];
    let ran = assert_replayed(&project, "r", &tight, 1, "DIVERGED");
    assert!(
        ran.stdout.contains("a number differs by more"),
        "{}",
        ran.stdout
    );
}

#[test]
fn rules_given_to_a_replay_are_named_in_its_verdict() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.record_sh("r", "date +%N");
    let ran = assert_replayed(
        &project,
        "r",
        &["--compare", "stdout=abs:1e9", "--compare", "nothing=skip"],
        0,
        "REPRODUCED within abs 1e9 (largest difference ",
    );
    let line = first_line(&ran);
    assert!(
        line.ends_with("at stdout, line 1), by rules given to this replay"),
        "{line}"
    );
    let unmatched = "compared by `nothing=skip` (given to this replay, matches nothing)";
    assert!(ran.stdout.contains(unmatched), "{}", ran.stdout);
    let said = "REPRODUCED, but every output is exempt by rules given to this replay";
    assert_replayed(&project, "r", &["--compare", "std*=skip"], 0, said);
    for rule in [
        "stdout=rel:nan",
        "stdout=rel:-1",
        "stdout=abs:inf",
        "stdout=drop:(",
        "stdout=near",
    ] {
        let ran = project.replay("r", &["--compare", rule]);
        assert_eq!(ran.code, Some(64), "{rule} {}", ran.stderr);
    }
}

#[test]
fn what_is_ignored_does_not_count_and_what_is_not_kept_counts_by_name() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let script = "mkdir -p cache/deep; echo $(date +%N) > cache/deep/$(date +%N).tmp; echo a > a.txt; ln -s a.txt l.tmp";
    project.record("r", &["--ignore", "*.tmp", "--", "sh", "-c", script]);
    assert!(!project.bundle("r").join("artifacts/cache").exists());
    let ran = assert_replayed(&project, "r", &[], 0, "REPRODUCED");
    assert!(
        ran.stdout
            .contains("ignored: `*.tmp` (sealed in the bundle)"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.contains("2 files that are ignored"),
        "{}",
        ran.stdout
    );
    let keep = ["--keep", "*.txt", "--", "sh", "-c", script];
    project.record("k", &keep);
    assert_replayed(&project, "k", &[], 1, "DIVERGED");
    // A folder in which only some runs leave ignored files is empty in all of them.
    let sometimes = "mkdir d; test $(date +%N) -lt 500000000 && touch d/x.tmp; echo a";
    project.record("s", &["--ignore", "*.tmp", "--", "sh", "-c", sometimes]);
    assert_replayed(&project, "s", &["--times", "6"], 0, "REPRODUCED");
    let ran = project.record(
        "n",
        &["--ignore", "*.log", "--compare", "x=skip", "--", "true"],
    );
    assert!(
        ran.stderr.contains("`--ignore *.log` matches no file"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("`--compare x=skip` matches nothing"),
        "{}",
        ran.stderr
    );
    // Everything that there was is ignored.
    project.record("e", &["--ignore", "*", "--", "sh", "-c", "date +%N > t"]);
    let said = "REPRODUCED, but every output is exempt by rules sealed in the bundle";
    assert_replayed(&project, "e", &[], 0, said);
}

#[test]
fn missing_additional_and_executable_files_differ_under_every_rule() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    for (run, script) in [
        ("extra", "touch $(date +%N)"),
        (
            "kind",
            "touch a; test $(date +%N | cut -c9) -gt 4 && chmod +x a; true",
        ),
    ] {
        project.record(run, &["--compare", "*=skip", "--", "sh", "-c", script]);
        assert_replayed(&project, run, &["--times", "12"], 1, "DIVERGED");
    }
}

#[test]
fn file_called_stdout_is_not_what_was_printed() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let script = "date +%N > stdout; echo a > a; echo same";
    project.record("r", &["--compare", "stdout=skip", "--", "sh", "-c", script]);
    assert_replayed(&project, "r", &[], 1, "DIVERGED");
    assert_replayed(
        &project,
        "r",
        &["--compare", "./stdout=skip"],
        0,
        "not comparing 2 outputs",
    );
}

#[test]
fn bundle_that_exempts_everything_or_nearly_is_reported() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    let said = "REPRODUCED, but every output is exempt by rules sealed in the bundle";
    for (run, rule) in [
        ("skip", "*=skip"),
        ("drop", "*=drop:.*"),
        ("glyph", "*=drop:[0-9]"),
    ] {
        let script = "date +%N; date +%N > a.txt";
        project.record(run, &["--compare", rule, "--", "sh", "-c", script]);
        assert_replayed(&project, run, &[], 0, said);
        let answer = json(&project.replay(run, &["--format", "json"]));
        assert_eq!(answer["compared_by"]["every_output_exempt"], true, "{rule}");
        assert_eq!(answer["text"], said, "{rule}");
    }
    // Whoever replays can demand more than what was sealed.
    assert_replayed(&project, "skip", &["--compare", "*=exact"], 1, "DIVERGED");
    let script = "echo at $(date +%N)";
    project.record("some", &["--compare", "*=skip", "--", "sh", "-c", script]);
    let more = ["--compare", "stdout=drop:[0-9]+"];
    let ran = assert_replayed(
        &project,
        "some",
        &more,
        0,
        "REPRODUCED, without what rules drop",
    );
    assert!(!first_line(&ran).contains("every output"), "{}", ran.stdout);
}

/// What is in a bundle is a stranger's.
#[test]
fn rules_of_a_bundle_that_cannot_be_used_make_it_not_replayable() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.record("r", &["--compare", "stdout=rel:0.5", "--", "echo", "1"]);
    for rule in [
        "rel:NaN",
        "rel:-0.5",
        "rel:1e308",
        "abs:1e999",
        "drop:(((",
        "drop:(a{900}){900}",
        "about",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let forged = Forged::copy(&project.bundle("r"), &folder.path().join("forged"));
        forged.edit("RUN_INPUT.json", |input| {
            input["compare"][0]["rule"] = rule.into()
        });
        forged.edit("INPUT_SCHEMA.json", |schema| {
            schema["properties"]["compare"]["const"][0]["rule"] = rule.into();
        });
        forged.reseal();
        let ran = project.run(&["replay", forged.path()]);
        assert_eq!(ran.code, Some(1), "{rule} {}{}", ran.stdout, ran.stderr);
        assert!(
            first_line(&ran).contains("NOT REPLAYABLE: replay rule 2"),
            "{rule} {}",
            ran.stdout
        );
        assert!(ran.stdout.contains("/compare"), "{rule} {}", ran.stdout);
    }
    // Loosened after sealing, with the contract as it was.
    let bundle = project.bundle("r");
    let input = bundle.join("RUN_INPUT.json");
    let text = std::fs::read_to_string(&input)
        .unwrap()
        .replace("rel:0.5", "rel:0.9");
    std::fs::remove_file(&input).unwrap();
    std::fs::write(&input, text).unwrap();
    let ran = project.run(&["verify", bundle.to_str().unwrap()]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.contains("RB3"), "{}", ran.stdout);
}

#[test]
fn numbers_of_arrays_notebooks_and_large_texts_are_compared() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write(
        "run.py",
        "import json, random, struct\n\
         r = random.random() * 1e-10\n\
         header = \"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\\n\".encode()\n\
         open('a.npy', 'wb').write(b'\\x93NUMPY\\x01\\0' + struct.pack('<H', len(header)) + header\n\
           + struct.pack('<2d', 1.0, 2 + r))\n\
         cell = {'cell_type': 'code', 'source': ['x'], 'outputs': [{'text': ['mean %.15f' % (1 + r)]}]}\n\
         json.dump({'cells': [cell], 'nbformat': 4}, open('n.ipynb', 'w'))\n\
         open('nan.json', 'w').write('{\"x\": NaN, \"y\": %.17g}' % (3 + r))\n\
         open('line.txt', 'w').write(('%.17g ' % (1 + r)) * 100000)\n\
         open('b.bin', 'wb').write(b'\\0%.17g' % (1 + r))\n",
    );
    project.record(
        "r",
        &[
            "--compare",
            "*=rel:1e-9",
            "--compare",
            "b.bin=skip",
            "--",
            "python3",
            "run.py",
        ],
    );
    let answer = json(&project.replay("r", &["--format", "json"]));
    assert_eq!(answer["verdict"], "REPRODUCED", "{answer}");
    let within = answer["runs"][0]["within"].as_array().unwrap();
    let paths: Vec<_> = within
        .iter()
        .map(|it| it["path"].as_str().unwrap())
        .collect();
    assert_eq!(
        paths,
        [
            "artifacts/a.npy",
            "artifacts/line.txt",
            "artifacts/n.ipynb",
            "artifacts/nan.json"
        ]
    );
    assert_eq!(within[0]["relative"]["index"][0], 1);
    assert_eq!(within[1]["numbers"], 100_000);
    let ran = assert_replayed(
        &project,
        "r",
        &["--compare", "b.bin=rel:0.5"],
        1,
        "DIVERGED",
    );
    assert!(
        ran.stdout.contains("so it is compared exactly"),
        "{}",
        ran.stdout
    );
}

#[test]
fn at_most_forty_lines_of_differences_are_shown() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.record_sh("r", "for i in $(seq 200); do date +%N > f$i; done");
    let ran = project.replay("r", &[]);
    let shown = ran
        .stdout
        .lines()
        .filter(|line| line.starts_with("    "))
        .count();
    assert_eq!(shown, 41, "{}", ran.stdout);
    assert!(
        ran.stdout
            .contains("more lines: `--format json` has all of them"),
        "{}",
        ran.stdout
    );
    let answer = json(&project.replay("r", &["--format", "json"]));
    assert_eq!(
        answer["runs"][0]["divergences"].as_array().unwrap().len(),
        200
    );
}

#[test]
fn engine_results_are_compared_exactly() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.init_engine("engine", "python");
    project.run_engine("engine", "e", &[]);
    let ran = project.replay("e", &["--compare", "*=skip"]);
    assert_eq!(ran.code, Some(64), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn extract_gives_files_back_as_they_were() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.write("in/a.json", "{ \"b\": 1.0,  \"a\": 2 }\n");
    let script = "cat in/a.json; mkdir -p d; cp in/a.json d/b.json; echo '#!/bin/sh' > d/run; chmod +x d/run";
    project.record_sh("r", script);
    let ran = project.run(&["extract", "RUN_BUNDLE/r", "-o", "new/outputs"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let answer = json(&ran);
    assert_eq!(answer["files"], 2);
    assert_eq!(answer["path"], "new/outputs");
    let original = project.read("in/a.json");
    assert_eq!(project.read("new/outputs/d/b.json"), original);
    let mode = |name: &str| {
        std::fs::metadata(project.path(name))
            .unwrap()
            .permissions()
            .mode()
    };
    assert_eq!(
        mode("new/outputs/d/run") & 0o111,
        mode("new/outputs/d/run") >> 2 & 0o111
    );
    assert_eq!(mode("new/outputs/d/b.json") & 0o111, 0);
    let ran = project.run(&["extract", "RUN_BUNDLE/r", "--inputs", "-o", "inputs"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(project.read("inputs/in/a.json"), original);
    let zipped = std::process::Command::new("zip")
        .args(["-qr", "all.zip", "RUN_BUNDLE"])
        .current_dir(project.path(""))
        .status();
    if zipped.is_ok_and(|status| status.success()) {
        let ran = project.run(&["extract", "all.zip!/RUN_BUNDLE/r", "--all", "-o", "all"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(project.read("all/artifacts/d/b.json"), original);
        assert_eq!(project.read("all/engine/in/a.json"), original);
        assert_eq!(project.read("all/logs/stdout.txt"), original);
    }
    // What exists is left alone.
    let ran = project.run(&["extract", "RUN_BUNDLE/r", "-o", "inputs"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    // Nothing of what is not valid is given back.
    let folder = tempfile::tempdir().unwrap();
    let forged = Forged::copy(&project.bundle("r"), &folder.path().join("forged"));
    forged.put("artifacts/d/run", "other");
    let ran = project.run(&["extract", forged.path(), "-o", "bad"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(!project.path("bad").exists());
    let ran = project.run(&["extract", "in/a.json", "-o", "bad"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
}

#[test]
fn replay_keeps_the_new_files_where_asked() {
    if !need_isolation() {
        return;
    }
    let project = Project::new();
    project.record_sh("r", "date +%N > t; echo same > s");
    let ran = project.replay("r", &["--out", "new"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert_eq!(project.read("new/artifacts/s"), "same\n");
    assert_ne!(
        project.read("new/artifacts/t"),
        project.read("RUN_BUNDLE/r/artifacts/t")
    );
    assert!(project.read("new/replay.json").contains("DIVERGED"));
    assert!(project.path("new/logs/stdout.txt").exists());
    let ran = project.replay("r", &["--out", "new"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
}
