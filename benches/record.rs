//! Recording beside running bare, `strace -f -e trace=file` and `reprozip trace`; sealing many artifacts
//! beside copying, hashing and flushing them; `engine run` beside the bare command.
//!
//! `cargo build --profile dist -p runseal-cli && cargo bench --bench record` prints the tables of
//! docs/performance.md. Names of parts (`empty`, `files`, `tables`, `artifacts`, `engine`) run only those. What
//! is not installed is left out and said. TMPDIR says on which file system; one on which others delete
//! many files makes ext4 slow at making new ones, ours and everybody's.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its table, and stops where it cannot go on"
)]

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use runseal_benches::process::{binary, parts, succeed};
use runseal_benches::{best, render_table};

const READER: &str = "import glob\ntotal = 0\nfor name in sorted(glob.glob('files/*')):\n    \
    total += len(open(name, 'rb').read())\nprint(total)\n";

/// What a script does that reads files for a purpose.
const SUMMER: &str = "import csv, glob\ntotals = {}\nfor name in sorted(glob.glob('tables/*.csv')):\n    \
    with open(name, newline='') as table:\n        for row in csv.DictReader(table):\n            \
    totals[row['station']] = totals.get(row['station'], 0.0) + float(row['value'])\n\
    for station in sorted(totals):\n    print(station, round(totals[station], 3))\n";

fn main() {
    let wants = parts();
    let folder = tempfile::tempdir().unwrap();
    if wants("empty") {
        compare("an empty command", folder.path(), &["true"], 12);
    }
    if wants("files") {
        fs::create_dir(folder.path().join("files")).unwrap();
        for n in 0..1000 {
            fs::write(
                folder.path().join(format!("files/{n:04}")),
                vec![b'x'; 2048],
            )
            .unwrap();
        }
        fs::write(folder.path().join("reader.py"), READER).unwrap();
        compare(
            "Python reads 1,000 files",
            folder.path(),
            &["python3", "reader.py"],
            7,
        );
    }
    if wants("tables") {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("tables")).unwrap();
        for n in 0..1000 {
            let row = |at: u32| {
                format!(
                    "{at},s{:02},{}.{}\n",
                    (at * 7 + n) % 20,
                    at * n % 97,
                    at % 10
                )
            };
            let table = "hour,station,value\n".to_owned() + &(0..200).map(row).collect::<String>();
            fs::write(folder.path().join(format!("tables/{n:04}.csv")), table).unwrap();
        }
        fs::write(folder.path().join("sum.py"), SUMMER).unwrap();
        compare(
            "Python sums up 1,000 tables",
            folder.path(),
            &["python3", "sum.py"],
            7,
        );
    }
    if wants("artifacts") {
        artifacts();
    }
    if wants("engine") {
        engine();
    }
}

fn quiet(command: &mut Command) -> &mut Command {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
}

fn has(program: &str) -> bool {
    let found = quiet(Command::new(program).arg("--version"))
        .status()
        .is_ok();
    if !found {
        println!("left out: {program} is not installed");
    }
    found
}

/// A command bare, recorded, and under the tools that others use.
fn compare(title: &str, folder: &Path, command: &[&str], rounds: usize) {
    let bundles = tempfile::tempdir().unwrap();
    let traces = tempfile::tempdir().unwrap();
    let number = Cell::new(0);
    let next = || {
        number.set(number.get() + 1);
        number.get().to_string()
    };
    let mut names = vec!["bare", "runseal record"];
    let bare = || {
        succeed(quiet(
            Command::new(command[0])
                .args(&command[1..])
                .current_dir(folder),
        ))
    };
    let record = || {
        let mut recording = Command::new(binary());
        recording.args(["record", "--run-id", &format!("r{}", next()), "--out"]);
        recording
            .arg(bundles.path())
            .arg("--")
            .args(command)
            .current_dir(folder);
        succeed(quiet(&mut recording));
    };
    let strace = || {
        let mut tracing = Command::new("strace");
        tracing
            .args(["-f", "-e", "trace=file", "-o"])
            .arg(traces.path().join("strace"));
        succeed(quiet(tracing.args(command).current_dir(folder)));
    };
    let reprozip = || {
        let mut tracing = Command::new("reprozip");
        tracing
            .args(["trace", "--overwrite", "-d"])
            .arg(traces.path().join("reprozip"));
        succeed(quiet(tracing.args(command).current_dir(folder)));
    };
    let (mut bare, mut record, mut strace, mut reprozip) = (bare, record, strace, reprozip);
    let mut runs: Vec<&mut dyn FnMut()> = vec![&mut bare, &mut record];
    if has("strace") {
        names.push("strace -f -e trace=file");
        runs.push(&mut strace);
    }
    if has("reprozip") {
        names.push("reprozip trace");
        runs.push(&mut reprozip);
    }
    print(title, &names, &best(rounds, &mut runs), 0);
}

/// A table whose last column compares with the row `with`.
fn print(title: &str, names: &[&str], times: &[Duration], with: usize) {
    let header = [title, "ms", "more than the first, ms", "×"].map(str::to_owned);
    let base = times[with].as_secs_f64();
    let row = |(name, time): (&&str, &Duration)| {
        let seconds = time.as_secs_f64();
        vec![
            (*name).to_owned(),
            format!("{:.1}", seconds * 1e3),
            format!("{:.1}", (seconds - base) * 1e3),
            format!("{:.2}", seconds / base),
        ]
    };
    let rows: Vec<_> = names.iter().zip(times).map(row).collect();
    println!("\n{}", render_table(&header, &rows));
}

/// 20,000 artifacts of 4 KB: sealing them beside what a person would do by hand. Nothing is taken
/// away between rounds, and what one of them left to be written does not slow down the next.
fn artifacts() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("artifacts");
    fs::create_dir(&source).unwrap();
    for n in 0..20_000_u64 {
        let bytes: Vec<u8> = (0..4096_u64).map(|at| (at * 31 + n * 7) as u8).collect();
        fs::write(source.join(format!("{n:05}.bin")), bytes).unwrap();
    }
    let engine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/engines/resonance-sweep");
    let output = folder.path().join("output.json");
    let text = r#"{"engine":{"engine_code":"RESONANCE_SWEEP","engine_version":"1.0.0"},
        "semantics":"DETERMINISTIC_TRANSFORM","outputs":{"peak_hz":440,"peak_gain":25,"samples":81}}"#;
    fs::write(&output, text).unwrap();
    let number = Cell::new(0);
    let next = || {
        number.set(number.get() + 1);
        number.get()
    };
    let settle = || succeed(&mut Command::new("sync"));
    let mut by_hand = || {
        let target = folder.path().join(format!("copy{}", next()));
        let line = "cp -r \"$0\" \"$1\" && (cd \"$1\" && find . -type f -print0 | xargs -0 sha256sum > ../sums) && sync -f \"$1\"";
        succeed(
            Command::new("sh")
                .args(["-ec", line])
                .arg(&source)
                .arg(&target),
        );
    };
    let mut ours = || {
        let name = format!("run{}", next());
        let mut sealing = Command::new(binary());
        sealing
            .arg("seal")
            .args([&engine, &engine.join("input.json"), &output]);
        sealing
            .args(["--run-id", &name, "--out"])
            .arg(folder.path().join("out"));
        succeed(quiet(sealing.arg("--artifacts").arg(&source)));
    };
    let mut times = [Duration::MAX; 2];
    for _ in 0..3 {
        let contenders: [&mut dyn FnMut(); 2] = [&mut by_hand, &mut ours];
        for (time, contender) in times.iter_mut().zip(contenders) {
            settle();
            let begun = Instant::now();
            contender();
            *time = (*time).min(begun.elapsed());
        }
    }
    print(
        "20,000 artifacts of 4 KB",
        &["cp -r, sha256sum, sync -f", "runseal seal"],
        &times,
        0,
    );
}

/// A small engine beside its bare command.
fn engine() {
    let engine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/engines/resonance-sweep");
    let engine = engine.canonicalize().unwrap();
    let out = tempfile::tempdir().unwrap();
    let number = Cell::new(0);
    // An engine gets its input as it is sealed.
    let mut canonical = Command::new(binary());
    canonical.args(["canon", "--dialect", "jcs"]);
    let canonical = canonical.arg(engine.join("input.json")).output().unwrap();
    let input = out.path().join("input.json");
    fs::write(&input, canonical.stdout).unwrap();
    let mut bare = || {
        let input = fs::File::open(&input).unwrap();
        let mut command = Command::new("sh");
        command
            .args(["engine.sh", "sweep.awk"])
            .current_dir(&engine)
            .env("RUNSEAL_ARTIFACTS", out.path());
        succeed(
            command
                .stdin(input)
                .stdout(Stdio::null())
                .stderr(Stdio::null()),
        );
    };
    let mut ours = || {
        number.set(number.get() + 1);
        let mut running = Command::new(binary());
        running
            .args(["engine", "run"])
            .args([&engine, &engine.join("input.json")]);
        running
            .args(["--run-id", &format!("e{}", number.get()), "--out"])
            .arg(out.path());
        succeed(quiet(&mut running));
    };
    let times = best(20, &mut [&mut bare, &mut ours]);
    print("a small engine", &["bare", "runseal engine run"], &times, 0);
}
