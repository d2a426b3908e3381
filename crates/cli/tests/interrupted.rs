//! Full disks, kills and stops: nothing half done is left, taken for evidence, or in the way.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use runseal_testkit::cli::Bench;
use runseal_testkit::project_root;
use rustix::process::{Pid, Signal, kill_process};

const OUTPUT: &str = r#"{"engine":{"engine_code":"RESONANCE_SWEEP","engine_version":"1.0.0"},
    "semantics":"DETERMINISTIC_TRANSFORM","outputs":{"peak_hz":440,"peak_gain":25,"samples":81}}"#;

fn bench() -> (tempfile::TempDir, Bench) {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(env!("CARGO_BIN_EXE_runseal"), folder.path());
    (folder, bench)
}

#[test]
fn ledger_on_a_full_disk_is_left_as_it_was() {
    let (_folder, bench) = bench();
    let clear = fs::read(project_root().join("examples/intents/clear.json")).unwrap();
    bench.write("intent.json", clear);
    let run = |id: &str| {
        let arguments = ["run", "intent.json", "--ledger", "ledger.jsonl", "--run-id"];
        bench.run(&[&arguments[..], &[id]].concat())
    };
    assert_eq!(run("first").code, Some(0));
    // Blank lines up to where less than a line fits into the first four KiB.
    let first = bench.read("ledger.jsonl");
    let padding = "\n".repeat(4096 - 100 - first.len());
    bench.write("ledger.jsonl", format!("{first}{padding}"));
    let before = bench.read("ledger.jsonl");
    // No file may grow beyond that, which is what a full disk looks like to a program; where the
    // signal for it is ignored, as here, the write fails.
    let mut shell = std::process::Command::new("bash");
    let script = "trap '' XFSZ; ulimit -f 4; exec \"$0\" run intent.json --ledger ledger.jsonl";
    shell
        .args(["-c", script, env!("CARGO_BIN_EXE_runseal")])
        .current_dir(bench.path(""))
        .stdin(Stdio::null());
    let full = shell.output().unwrap();
    let told = String::from_utf8_lossy(&full.stderr).into_owned();
    assert_eq!(full.status.code(), Some(2), "{told}");
    assert!(told.contains("ledger.jsonl"), "{told}");
    assert_eq!(bench.read("ledger.jsonl"), before);
    let verified = bench.run(&["ledger", "verify", "ledger.jsonl", "--strict"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    let second = run("second");
    assert_eq!((second.code, second.stderr.as_str()), (Some(0), ""));
    let verified = bench.run(&["ledger", "verify", "ledger.jsonl", "--strict"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

fn seal(bench: &Bench, run_id: &str, artifacts: &str) -> Child {
    let engine = project_root().join("examples/engines/resonance-sweep");
    let input = engine.join("input.json");
    bench.write("output.json", OUTPUT);
    let arguments = [
        "seal",
        engine.to_str().unwrap(),
        input.to_str().unwrap(),
        "output.json",
        "--out",
        "out",
        "--run-id",
        run_id,
        "--artifacts",
        artifacts,
    ];
    let mut command = bench.command(&arguments);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().unwrap()
}

fn unfinished(bench: &Bench) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(bench.path("out")) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.to_str().unwrap().contains("/.runseal-unfinished-"))
        .collect()
}

#[test]
fn seal_killed_half_way_leaves_no_evidence_and_the_next_run_clears_it() {
    let (_folder, bench) = bench();
    bench.write("small/a.txt", "a");
    assert!(seal(&bench, "sound", "small").wait().unwrap().success());
    // Large enough to be still copied when it is looked at, and without taking any disk to read.
    bench.write("large/a.bin", "");
    let large = fs::File::options()
        .write(true)
        .open(bench.path("large/a.bin"))
        .unwrap();
    large.set_len(4 << 30).unwrap();
    let mut child = seal(&bench, "killed", "large");
    while unfinished(&bench).is_empty() {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before it began");
        thread::sleep(Duration::from_millis(1));
    }
    // While it lives, its work is left alone by others that seal into the same folder.
    assert!(seal(&bench, "second", "small").wait().unwrap().success());
    let made = unfinished(&bench);
    assert_eq!(made.len(), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(unfinished(&bench), made);

    // Even a whole bundle under such a name is not evidence; but nobody has to find that out by himself.
    let copied = bench.path("out/.runseal-unfinished-whole");
    let copy = std::process::Command::new("cp")
        .args(["-r", bench.path("out/sound").to_str().unwrap()])
        .arg(&copied)
        .status()
        .unwrap();
    assert!(copy.success());
    let verified = bench.run(&["verify", "out", "--format", "json"]);
    assert_eq!(verified.code, Some(2), "{verified:?}");
    for path in [&copied, &made[0]] {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(verified.stdout.contains(name), "{verified:?}");
        let named = bench.run(&["verify", path.to_str().unwrap()]);
        assert_eq!(named.code, Some(2), "{named:?}");
        let all = format!("{}{}", named.stdout, named.stderr);
        assert!(all.contains("is not evidence"), "{named:?}");
    }

    assert!(seal(&bench, "third", "small").wait().unwrap().success());
    assert_eq!(unfinished(&bench), [] as [PathBuf; 0]);
    let mut names: Vec<_> = fs::read_dir(bench.path("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["second", "sound", "third"]);
}

#[test]
fn worker_stopped_while_it_reads_does_not_hold_the_store() {
    let (_folder, bench) = bench();
    // A file that takes much longer to read than a commit takes.
    let mut text = String::new();
    for line in 0..2_000_000 {
        writeln!(text, "line {line} of a source that is long to read").unwrap();
    }
    bench.write("source.txt", text);
    let plan = |run: &str| {
        format!(
            r#"{{"run_id":"{run}","idempotency_key":"k","steps":[{{"op":"READ_SECTION",
            "refs":{{"section_id":"source.txt"}},"constraints":{{"slice":"lines[0:1]"}}}}]}}"#
        )
    };
    assert_eq!(bench.run(&["job", "init"]).code, Some(0));
    assert_eq!(bench.run(&["job", "index", "source.txt"]).code, Some(0));
    bench.write("first.json", plan("first"));
    assert_eq!(bench.run(&["job", "post", "first.json"]).code, Some(0));
    let mut worker = bench
        .command(&["job", "work", "--lease", "0.2"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // It has its lease, so the transaction that gave it is over, and it reads.
    while !bench
        .run(&["job", "status", "first"])
        .stdout
        .contains("\"LEASED\":1")
    {
        let ended = worker.try_wait().unwrap();
        assert_eq!(ended, None, "it had read everything before it was stopped");
    }
    let pid = Pid::from_child(&worker);
    kill_process(pid, Signal::STOP).unwrap();
    // Others write to the store, take its step over when its lease has run out, and finish.
    bench.write("second.json", plan("second"));
    let posted = bench.run(&["job", "post", "second.json"]);
    assert_eq!(posted.code, Some(0), "{posted:?}");
    let worked = bench.run(&["job", "work", "--lease", "5"]);
    assert_eq!(worked.code, Some(0), "{worked:?}");
    let status = bench.run(&["job", "status", "first"]).stdout;
    assert!(status.contains("\"COMMITTED\":1"), "{status}");
    // Awake again, it is overtaken, writes nothing and ends.
    kill_process(pid, Signal::CONT).unwrap();
    assert!(worker.wait().unwrap().success());
    let status = bench.run(&["job", "status"]).stdout;
    assert_eq!(status.matches("\"SUCCESS\":1").count(), 2, "{status}");
}
