//! Running engines and replaying their runs. Tests that execute an engine need isolation and say
//! so where there is none.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::run_support::{
    Bench, Files, INPUT, MANIFEST, OUTPUT, messages, request, seal, set, value,
};
use runseal_fs::directory::{DirectorySource, RootLink};
use runseal_runs::record::bundle::JudgedBundle;
use runseal_runs::run::command::policy;
use runseal_runs::run::replay::{Replay, ReplayOptions, Verdict, replay_run};
use runseal_runs::run::seal::{SealError, Sealed, seal_output, seal_run};
use runseal_sandbox::{Limits, Sandbox};
use runseal_testkit::isolation::sandbox;

fn limits() -> Limits {
    Limits {
        wall_time: Duration::from_secs(20),
        ..policy()
    }
}

/// Runs the bench's engine and seals the run as `run_id`.
fn run_as(
    bench: &Bench,
    sandbox: &Sandbox,
    run_id: &str,
    upstream: &[PathBuf],
) -> Result<Sealed, SealError> {
    let engine = bench.engine();
    let out = bench.out();
    let request = request(&engine, INPUT, &out, upstream, Some(run_id));
    seal_run(request, sandbox, &limits())
}

fn run(bench: &Bench, sandbox: &Sandbox) -> Result<Sealed, SealError> {
    run_as(bench, sandbox, "r1", &[])
}

#[test]
fn run_engine_gets_its_input_and_is_sealed_with_its_artifacts() {
    let Some(sandbox) = sandbox() else { return };
    let bench = Bench::new();
    bench.script(&format!(
        "cat > \"$RUNSEAL_ARTIFACTS/seen.txt\"\nmkdir \"$RUNSEAL_ARTIFACTS/d\"\npwd > \"$RUNSEAL_ARTIFACTS/d/pwd.txt\"\n\
         printf '{{ \"b\": 1.0 }}' > \"$RUNSEAL_ARTIFACTS/b.json\"\nif touch x 2>/dev/null; then exit 9; fi\ncat <<'X'\n{OUTPUT}\nX\n"
    ));
    let files = Files::read(&run(&bench, &sandbox).unwrap().path);
    assert_eq!(
        files.text("artifacts/seen.txt"),
        r#"{"context":{"site":"x"},"inputs":{"a":1}}"#
    );
    assert_eq!(files.text("artifacts/d/pwd.txt"), "/engine\n");
    assert_eq!(files.text("artifacts/b.json"), r#"{"b":1}"#);
    assert!(
        files
            .text("RUN_META.json")
            .contains("\"engine_executable_sha256\":\"")
    );
    assert_eq!(files.found_strictly(), set(&[]));
}

#[test]
fn run_engine_that_misbehaves_is_rejected_and_leaves_nothing() {
    let Some(sandbox) = sandbox() else { return };
    let ok = format!("cat <<'X'\n{OUTPUT}\nX\n");
    for (script, rule, said) in [
        (
            "echo no >&2; exit 3".to_owned(),
            "RUN",
            "exit status 3; it said: no",
        ),
        ("kill -SEGV $$".to_owned(), "RUN", "signal 11"),
        ("sleep 100".to_owned(), "RUN", "longer than 1 s"),
        ("cat /dev/zero".to_owned(), "RUN", "printed more than"),
        ("echo hello".to_owned(), "RB4", "not one JSON document"),
        (":".to_owned(), "RB4", "not one JSON document"),
        (format!("{ok}{ok}"), "RB4", "not one JSON document"),
        (format!("{ok}exit 1"), "RUN", "exit status 1"),
        (
            format!("ln -s /etc/passwd $RUNSEAL_ARTIFACTS/link\n{ok}"),
            "RB2",
            "artifacts/link",
        ),
        (
            format!("mkfifo $RUNSEAL_ARTIFACTS/pipe\n{ok}"),
            "RB2",
            "artifacts/pipe",
        ),
        (
            format!("echo 1 > $RUNSEAL_ARTIFACTS/../x\n{ok}"),
            "RB2",
            "artifacts/../x",
        ),
        (
            format!("echo 1 > \"$RUNSEAL_ARTIFACTS/a\nb\"\n{ok}"),
            "RB2",
            "a\\\\nb",
        ),
        (
            format!("echo 1 > '/work/artifacts/a\\b'\n{ok}"),
            "RB2",
            "unsafe",
        ),
        (
            format!("rmdir $RUNSEAL_ARTIFACTS; ln -s / $RUNSEAL_ARTIFACTS\n{ok}"),
            "RB2",
            "artifacts",
        ),
        (
            format!("echo '{{' > $RUNSEAL_ARTIFACTS/x.json\n{ok}"),
            "RB5",
            "artifacts/x.json",
        ),
        (
            format!("echo '{{\"a\":{{\"ROLE\":1}}}}' > $RUNSEAL_ARTIFACTS/x.json\n{ok}"),
            "RB8",
            "/a/ROLE",
        ),
        (
            "exec 3<>/dev/tcp/127.0.0.1/80 || exit 4".to_owned(),
            "RUN",
            "exit status",
        ),
        (
            OUTPUT
                .replace("42", "{\"phone\":1}")
                .replace("RAW", "\nRAW")
                .lines()
                .map(|l| format!("printf '%s' '{l}'\n"))
                .collect(),
            "RB8",
            "/outputs/value/phone",
        ),
    ] {
        let bench = Bench::new();
        bench.write(
            "engine/ENGINE_MANIFEST.json",
            MANIFEST.replace(
                "\"execution\":{",
                "\"execution\":{\"limits\":{\"timeout_seconds\":1,\"stdout_bytes\":100000},",
            ),
        );
        bench.script(&script);
        let result = run(&bench, &sandbox);
        let text = messages(&result);
        assert!(
            text.contains(rule) && text.contains(said),
            "{script}: {text}"
        );
        assert!(bench.is_clean(), "{script}");
    }
}

#[test]
fn run_twice_at_the_same_time_is_the_same_byte_by_byte() {
    let Some(sandbox) = sandbox() else { return };
    let (a, b) = (Bench::new(), Bench::new());
    let first = Files::read(&run(&a, &sandbox).unwrap().path);
    let second = Files::read(&run(&b, &sandbox).unwrap().path);
    assert_eq!(first.0, second.0);
}

#[test]
fn run_engine_sees_upstream_and_parameters_read_only() {
    let Some(sandbox) = sandbox() else { return };
    let bench = Bench::new();
    bench.write("art/x.csv", "1,2\n");
    let engine = bench.engine();
    let out = bench.out();
    let first = request(&engine, INPUT, &out, &[], Some("first"));
    let upstream = [
        seal_output(first, OUTPUT.as_bytes(), Some(&bench.path("art")))
            .unwrap()
            .path,
    ];
    bench.script(&format!(
        "cat >/dev/null\ncd \"$RUNSEAL_UPSTREAM\"\nfind . -type f | sort > \"$RUNSEAL_ARTIFACTS/list.txt\"\n\
         cat ECHO/first/artifacts/x.csv > \"$RUNSEAL_ARTIFACTS/copy.csv\"\n\
         if touch new 2>/dev/null; then exit 9; fi\ncat \"$RUNSEAL_PARAMETERS\" > \"$RUNSEAL_ARTIFACTS/p.txt\"\n\
         cat <<'X'\n{OUTPUT}\nX\n"
    ));
    let engine = bench.engine();
    let mut second = request(&engine, INPUT, &out, &upstream, Some("second"));
    second.parameters = Some(value("{ \"b\": 1.0 }"));
    let sealed = seal_run(second, &sandbox, &limits()).unwrap();
    let files = Files::read(&sealed.path);
    assert_eq!(
        files.text("artifacts/list.txt"),
        "./ECHO/first/RUN_OUTPUT.json\n./ECHO/first/artifacts/x.csv\n"
    );
    assert_eq!(files.text("artifacts/copy.csv"), "1,2\n");
    assert_eq!(files.text("artifacts/p.txt"), r#"{"b":1}"#);
    assert_eq!(files.found_strictly(), set(&[]));
    // And again from the bundle alone.
    let replayed = replay(&bench, &sealed.path, 1);
    assert_eq!(replayed.verdict(), Verdict::Reproduced, "{replayed:?}");
}

fn replay(bench: &Bench, bundle: &Path, times: u32) -> Replay {
    let engine = bench.engine();
    let source = DirectorySource::open(bundle, RootLink::Follow).unwrap();
    let policy = limits();
    let options = ReplayOptions {
        times,
        policy: &policy,
        same_environment: false,
        cancel: None,
    };
    replay_run(&source, &engine, options, || Ok(Sandbox::probe().unwrap())).unwrap()
}

#[test]
fn replay_of_the_same_engine_reproduces() {
    let Some(sandbox) = sandbox() else { return };
    let bench = Bench::new();
    let sealed = run(&bench, &sandbox).unwrap();
    let found = replay(&bench, &sealed.path, 3);
    assert_eq!(
        (found.verdict(), found.runs.len()),
        (Verdict::Reproduced, 3)
    );
    assert_eq!(found.outputs_hash, sealed.outputs_hash);
}

#[test]
fn replay_that_differs_names_field_and_artifact() {
    if sandbox().is_none() {
        return;
    }
    let bench = Bench::new();
    bench
        .write("art/same.txt", "same")
        .write("art/gone.txt", "x")
        .write("art/other.txt", "x");
    let engine = bench.engine();
    let out = bench.out();
    let request = request(&engine, INPUT, &out, &[], Some("r1"));
    // Sealed elsewhere, so the engine's files are not recorded; its contracts are.
    let output = OUTPUT.replace("42", "[1,{\"a~/b\":2}]");
    let sealed = seal_output(request, output.as_bytes(), Some(&bench.path("art"))).unwrap();
    let now = OUTPUT.replace("42", "[1,{\"a~/b\":3},4]");
    bench.script(&format!(
        "printf same > $RUNSEAL_ARTIFACTS/same.txt; printf y > $RUNSEAL_ARTIFACTS/other.txt; printf z > $RUNSEAL_ARTIFACTS/new.txt\ncat <<'X'\n{now}\nX\n"
    ));
    let found = replay(&bench, &sealed.path, 1);
    assert_eq!(found.verdict(), Verdict::Diverged);
    let run = &found.runs[0];
    assert_eq!(run.same_artifacts, 1);
    let places: Vec<_> = run
        .divergences
        .iter()
        .map(|d| (d.path.as_str(), d.pointer.as_deref()))
        .collect();
    assert_eq!(
        places,
        [
            ("RUN_OUTPUT.json", Some("/outputs/value/1/a~0~1b")),
            ("RUN_OUTPUT.json", Some("/outputs/value/2")),
            ("RUN_OUTPUT.json", Some("/outputs_hash")),
            ("artifacts/gone.txt", None),
            ("artifacts/new.txt", None),
            ("artifacts/other.txt", None),
        ]
    );
    assert_eq!(
        (
            run.divergences[0].sealed.as_str(),
            run.divergences[0].now.as_str()
        ),
        ("2", "3")
    );
    assert_eq!(
        (
            run.divergences[1].sealed.as_str(),
            run.divergences[1].now.as_str()
        ),
        ("nothing", "4")
    );
}

#[test]
fn replay_of_an_engine_that_now_fails_diverges() {
    if sandbox().is_none() {
        return;
    }
    let bench = Bench::new();
    let sealed = seal(&bench, INPUT, OUTPUT).unwrap();
    for (script, said) in [("exit 5", "exit status 5"), ("echo {", "not one JSON")] {
        bench.script(script);
        let found = replay(&bench, &sealed.path, 1);
        assert_eq!(found.verdict(), Verdict::Diverged);
        assert!(found.runs[0].divergences[0].now.contains(said));
    }
}

/// The verdict where no sandbox may be asked for.
fn verdict_without_running(bench: &Bench, bundle: &Path) -> Verdict {
    let engine = bench.engine();
    let source = DirectorySource::open(bundle, RootLink::Follow).unwrap();
    let policy = limits();
    let options = ReplayOptions {
        times: 1,
        policy: &policy,
        same_environment: false,
        cancel: None,
    };
    let never = || Err(SealError::Rejected(Vec::new()));
    match replay_run(&source, &engine, options, never) {
        Ok(replay) => replay.verdict(),
        // It went on to run, so every rule held.
        Err(SealError::Rejected(_)) => Verdict::Reproduced,
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn replay_rules_that_do_not_hold_are_named_by_number() {
    let bench = Bench::new();
    let sealed = seal(&bench, INPUT, OUTPUT).unwrap();
    let files = Files::read(&sealed.path);
    let check = |files: Files| {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in &files.0 {
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        verdict_without_running(&bench, folder.path())
    };
    let not = |rule| Verdict::NotReplayable { rule };
    assert_eq!(check(files.clone()), Verdict::Reproduced);
    assert_eq!(check(files.clone().remove("SEALING_SPEC.md")), not(1));
    let closed = r#"{"required":["zzz"]}"#;
    assert_eq!(
        check(files.clone().put("INPUT_SCHEMA.json", closed).relist()),
        not(2)
    );
    assert_eq!(
        check(files.clone().put("OUTPUT_SCHEMA.json", closed).relist()),
        not(3)
    );
    assert_eq!(
        check(files.clone().put("RUN_CONTEXT_STRIPPED.json", "{}")),
        not(4)
    );
    assert_eq!(check(files.clone().put("extra", "")), not(4));
    // Valid by itself, but not this engine's contract.
    assert_eq!(
        check(files.clone().put("SEALING_SPEC.md", "other").relist()),
        not(5)
    );
    assert_eq!(
        check(
            files
                .clone()
                .put("SEALING_SPEC.md", "other")
                .reindex()
                .resum()
        ),
        not(5)
    );
    let no_time = files
        .member("RUN_META.json", &["sealed_at"], None)
        .reindex()
        .resum();
    assert_eq!(check(no_time), not(6));
}

#[test]
fn replay_rule_6_asks_for_the_same_engine_or_a_permitted_version() {
    let not = |rule| Verdict::NotReplayable { rule };
    let bench = Bench::new();
    let compatible = MANIFEST.replace(
        "\"execution\"",
        "\"compatibility\":{\"replay_versions\":[\"^1.2\"]},\"execution\"",
    );
    let newer = |manifest: &str, version: &str| manifest.replace("1.2.0", version);
    // Absent means identical only; rule 5 sees the other manifest first.
    let sealed = seal(&bench, INPUT, OUTPUT).unwrap();
    assert_eq!(
        verdict_without_running(&bench, &sealed.path),
        Verdict::Reproduced
    );
    bench.write("engine/ENGINE_MANIFEST.json", newer(MANIFEST, "1.3.0"));
    let engine = bench.engine();
    let source = DirectorySource::open(&sealed.path, RootLink::Follow).unwrap();
    let policy = limits();
    let options = ReplayOptions {
        times: 1,
        policy: &policy,
        same_environment: false,
        cancel: None,
    };
    let found = replay_run(&source, &engine, options, || {
        Err(SealError::Rejected(Vec::new()))
    })
    .unwrap();
    assert!(
        !found.rules[4].is_empty() && !found.rules[5].is_empty(),
        "{found:?}"
    );
    // The replaying engine's own list permits nothing.
    bench.write("engine/ENGINE_MANIFEST.json", newer(&compatible, "1.3.0"));
    assert_eq!(verdict_without_running(&bench, &sealed.path), not(5));
    // Sealed with a list.
    let bench = Bench::new();
    bench.write("engine/ENGINE_MANIFEST.json", &compatible);
    let sealed = seal(&bench, INPUT, OUTPUT).unwrap();
    for (version, verdict) in [
        ("1.2.0", Verdict::Reproduced),
        ("1.9.0", Verdict::Reproduced),
        ("1.1.9", not(5)),
        ("2.0.0", not(5)),
    ] {
        bench.write("engine/ENGINE_MANIFEST.json", newer(&compatible, version));
        assert_eq!(
            verdict_without_running(&bench, &sealed.path),
            verdict,
            "{version}"
        );
    }
    // The manifest alone may differ.
    bench.write("engine/ENGINE_MANIFEST.json", newer(&compatible, "1.9.0"));
    bench.write("engine/SEALING_SPEC.md", "other");
    assert_eq!(verdict_without_running(&bench, &sealed.path), not(5));
}

#[test]
fn replay_rule_6_sees_another_executable() {
    let Some(sandbox) = sandbox() else { return };
    let bench = Bench::new();
    let sealed = run(&bench, &sandbox).unwrap();
    assert_eq!(
        replay(&bench, &sealed.path, 1).verdict(),
        Verdict::Reproduced
    );
    bench.script(&format!("# changed\ncat <<'X'\n{OUTPUT}\nX\n"));
    let verdict = verdict_without_running(&bench, &sealed.path);
    assert_eq!(verdict, Verdict::NotReplayable { rule: 6 });
}

#[test]
fn bundle_judged_to_be_shown_is_shown_as_it_was_judged() {
    let vector =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/run-bundle/ok-recorded/input");
    let copy = tempfile::tempdir().unwrap();
    let copied = Command::new("cp")
        .args(["-r", "--no-preserve=mode"])
        .arg(vector.join("."))
        .arg(copy.path())
        .status();
    assert!(copied.unwrap().success());
    let source = DirectorySource::open(copy.path(), RootLink::Follow).unwrap();
    let (_, shown) = JudgedBundle::judge_to_show(&source, "run").unwrap();
    let result = copy.path().join("artifacts/result.json");
    let judged = fs::read(&result).unwrap();
    fs::write(&result, "{}").unwrap();
    assert!(shown.is_valid());
    assert_eq!(shown.content.documents["artifacts/result.json"], judged);
    assert_eq!(shown.identity.ids, ["recorded"]);
    let (_, shown) = JudgedBundle::judge_to_show(&source, "run").unwrap();
    assert!(!shown.is_valid());
    assert_eq!(shown.content.documents["artifacts/result.json"], b"{}");
}
