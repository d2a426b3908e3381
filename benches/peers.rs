//! What other people's programs take for a part of the same work: `zstd -t` for an archive, `rhash` and `b3sum` for a
//! list of hashes, `openssl` for one large file on one core; and how much memory a hundred thousand small files take.
//!
//! `cargo build --profile dist -p runseal-cli && cargo bench --bench peers` prints the tables of docs/performance.md. Names of
//! parts (`archive`, `jobs`, `many`, `small`, `single`, `memory`) run only those; `RUNSEAL_OLD=PATH` adds another build of
//! runseal to each. A program that is not installed is left out and named. The data is made in the system's folder for
//! temporary files: about 3 GB.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its table, and stops where it cannot go on"
)]

#[path = "job/data.rs"]
#[allow(dead_code, reason = "the benchmark of jobs uses all of it")]
mod job_data;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use job_data::make_bundle;
use runseal_benches::data::{seal, seal_command, write_large};
use runseal_benches::process::{binary, parts, peak_memory, succeed};
use runseal_benches::render_table;

/// A name to ask for it by, and what measures it in a folder of its own.
type Part = (&'static str, fn(&Path));

fn main() {
    let wants = parts();
    let folder = tempfile::tempdir().unwrap();
    let measure: [Part; 6] = [
        ("archive", archive),
        ("jobs", jobs),
        ("many", many),
        ("small", small),
        ("single", single),
        ("memory", memory),
    ];
    for (name, measure) in measure {
        if wants(name) {
            let place = folder.path().join(name);
            fs::create_dir(&place).unwrap();
            measure(&place);
            // What was sealed is read-only, but for whoever owns it.
            let _ = Command::new("chmod")
                .args(["-R", "u+w"])
                .arg(&place)
                .status();
            fs::remove_dir_all(&place).unwrap();
        }
    }
}

/// A program to be run to its end, which must be a good one.
struct Runner {
    name: String,
    words: Vec<OsString>,
    folder: PathBuf,
}

/// What a program took: seconds from start to end, and of processor time.
#[derive(Clone, Copy)]
struct Taken {
    wall: f64,
    processor: f64,
}

impl Runner {
    fn new(name: &str, words: &[&str], folder: &Path) -> Self {
        Self {
            name: name.to_owned(),
            words: words.iter().map(OsString::from).collect(),
            folder: folder.to_owned(),
        }
    }

    /// Ours with these arguments, and the other build beside it where one is given.
    fn ours(arguments: &[&str], folder: &Path) -> Vec<Self> {
        let named = |name: &str, path: OsString| {
            let mut runner = Self::new(name, arguments, folder);
            runner.words.insert(0, path);
            runner
        };
        let mut runners = vec![named("runseal", binary().into_os_string())];
        if let Some(old) = std::env::var_os("RUNSEAL_OLD") {
            runners.push(named("runseal, the other build", old));
        }
        runners
    }

    /// The same on one core.
    fn on_one_core(mut self) -> Self {
        for word in ["0", "-c", "taskset"] {
            self.words.insert(0, word.into());
        }
        self
    }

    fn is_installed(&self) -> bool {
        let found = Command::new("sh")
            .args(["-c", "command -v \"$1\"", "sh"])
            .arg(&self.words[0])
            .stdout(Stdio::null())
            .status();
        found.unwrap().success()
    }

    fn run(&self) -> Taken {
        let begun = Instant::now();
        let output = Command::new("bash")
            .args([
                "-c",
                "TIMEFORMAT='%U %S'; time \"$@\" >/dev/null 2>/dev/null",
                "bash",
            ])
            .args(&self.words)
            .env_remove("LD_LIBRARY_PATH")
            .current_dir(&self.folder)
            .output()
            .unwrap();
        let wall = begun.elapsed().as_secs_f64();
        assert!(output.status.success(), "{:?}", self.words);
        let times = String::from_utf8(output.stderr).unwrap();
        let processor = times
            .split_whitespace()
            .map(|text| text.parse::<f64>().unwrap());
        Taken {
            wall,
            processor: processor.sum(),
        }
    }
}

/// Runs all in turns, and prints the best round of each beside the first one's.
fn race(title: &str, rounds: usize, runners: Vec<Runner>) {
    let (runners, absent): (Vec<_>, Vec<_>) = runners.into_iter().partition(Runner::is_installed);
    for runner in absent {
        println!("not installed, so left out: {}", runner.name);
    }
    let mut best = vec![
        Taken {
            wall: f64::INFINITY,
            processor: f64::INFINITY
        };
        runners.len()
    ];
    for _ in 0..rounds {
        for (best, runner) in best.iter_mut().zip(&runners) {
            let taken = runner.run();
            best.wall = best.wall.min(taken.wall);
            best.processor = best.processor.min(taken.processor);
        }
    }
    let header = [title, "ms", "ours is", "processor, ms", "ours is"].map(str::to_owned);
    let ratio = |ours: f64, theirs: f64| format!("{:.2} ×", ours / theirs);
    let rows = runners.iter().zip(&best).map(|(runner, taken)| {
        vec![
            runner.name.clone(),
            format!("{:.1}", taken.wall * 1e3),
            ratio(best[0].wall, taken.wall),
            format!("{:.0}", taken.processor * 1e3),
            ratio(best[0].processor, taken.processor),
        ]
    });
    println!("\n{}", render_table(&header, &rows.collect::<Vec<_>>()));
}

/// Writes files of text that packs to about a third.
fn write_files(folder: &Path, count: usize, size: usize) {
    fs::create_dir(folder).unwrap();
    for number in 0..count {
        let mut text = String::new();
        let mut state = number as u64 + 1;
        while text.len() < size {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            writeln!(text, "sample {:016x} of sensor {}", state, number % 7).unwrap();
        }
        text.truncate(size - 1);
        text.push('\n');
        fs::write(folder.join(format!("{number:06}.txt")), text).unwrap();
    }
}

/// A run bundle of 20,000 files in a tar.zst.
fn archive(folder: &Path) {
    write_files(&folder.join("files"), 20_000, 4096);
    seal(folder, "run", Some(&folder.join("files")));
    succeed(
        Command::new("tar")
            .args(["--zstd", "-cf", "run.tar.zst", "-C", "out", "run"])
            .current_dir(folder),
    );
    let mut runners = Runner::ours(&["verify", "run.tar.zst"], folder);
    runners.push(Runner::new(
        "zstd -t",
        &["zstd", "-qt", "run.tar.zst"],
        folder,
    ));
    race("20,000 files of 4 KB in a tar.zst", 7, runners);
}

/// A run bundle of 20,000 files.
fn many(folder: &Path) {
    write_files(&folder.join("files"), 20_000, 4096);
    let bundle = seal(folder, "run", Some(&folder.join("files")));
    let sums = Command::new("b3sum")
        .arg("--no-mmap")
        .args(
            fs::read_dir(bundle.join("artifacts"))
                .unwrap()
                .map(|entry| Path::new("artifacts").join(entry.unwrap().file_name())),
        )
        .current_dir(&bundle)
        .output();
    if let Ok(sums) = sums {
        fs::write(folder.join("b3"), sums.stdout).unwrap();
    }
    let mut runners = Runner::ours(&["verify", "."], &bundle);
    let rhash = ["rhash", "--sha256", "-c", "--skip-ok", "SHA256SUMS.txt"];
    runners.push(Runner::new("rhash -c", &rhash, &bundle));
    let b3sum = folder.join("b3").display().to_string();
    let b3sum = ["b3sum", "--quiet", "-c", b3sum.as_str()];
    runners.push(Runner::new("b3sum -c", &b3sum, &bundle));
    let sha256sum = ["sha256sum", "--quiet", "-c", "SHA256SUMS.txt"];
    runners.push(Runner::new("sha256sum -c", &sha256sum, &bundle));
    race("a run bundle of 20,000 × 4 KB", 7, runners);
}

/// Job bundles of growing size; what starting `bash` takes is in every figure.
fn jobs(folder: &Path) {
    for (count, rounds) in [(1, 60), (500, 40), (10_000, 9), (100_000, 3)] {
        let bundle = folder.join(count.to_string());
        make_bundle(&bundle, count, 4096);
        for command in [&["verify"][..], &["job", "verify"]] {
            let title = format!("`{}`, a job bundle of {count} × 4 KB", command.join(" "));
            race(
                &title,
                rounds,
                Runner::ours(&[command, &["."]].concat(), &bundle),
            );
        }
    }
}

/// A run bundle without artifacts. What starting `bash` takes is in every figure.
fn small(folder: &Path) {
    let bundle = seal(folder, "run", None);
    let mut runners = Runner::ours(&["verify", "."], &bundle);
    runners.extend(
        Runner::ours(&["--version"], &bundle)
            .into_iter()
            .map(|mut runner| {
                runner.name.push_str(" --version");
                runner
            }),
    );
    runners.push(Runner::new("true", &["/bin/true"], &bundle));
    race("a run bundle of 10 small files", 100, runners);
}

/// One file of 2 GiB on one core.
fn single(folder: &Path) {
    const SIZE: u64 = 2 << 30;
    let files = folder.join("files");
    write_large(&files, SIZE);
    let bundle = seal(folder, "run", Some(&files));
    fs::remove_dir_all(&files).unwrap();
    let mut runners = Runner::ours(&["verify", "."], &bundle);
    let openssl = ["openssl", "dgst", "-sha256", "artifacts/large.bin"];
    runners.push(Runner::new("openssl dgst -sha256", &openssl, &bundle));
    let sha256sum = ["sha256sum", "artifacts/large.bin"];
    runners.push(Runner::new("sha256sum", &sha256sum, &bundle));
    let runners = runners.into_iter().map(Runner::on_one_core).collect();
    race("one artifact of 2 GiB on one core", 3, runners);
}

/// The most memory at 100,000 small files.
fn memory(folder: &Path) {
    const COUNT: usize = 100_000;
    let mut rows = Vec::new();
    let mut note = |name: &str, command: &mut Command| {
        let peak = peak_memory(command);
        rows.push(vec![
            name.to_owned(),
            format!("{:.0}", peak as f64 / 1024.0),
        ]);
    };
    write_files(&folder.join("files"), COUNT, 300);
    note(
        "seal",
        &mut seal_command(folder, "run", Some(&folder.join("files"))),
    );
    let runseal = |arguments: &[&str]| {
        let mut command = Command::new(binary());
        command
            .args(arguments)
            .current_dir(folder)
            .stderr(Stdio::null());
        command
    };
    note("verify, run bundle", &mut runseal(&["verify", "out/run"]));
    let pack = ["-czf", "run.tar.gz", "-C", "out", "run"];
    succeed(Command::new("tar").args(pack).current_dir(folder));
    note(
        "verify, run bundle in a tar.gz",
        &mut runseal(&["verify", "run.tar.gz"]),
    );
    write_plan(folder, COUNT);
    succeed(&mut runseal(&["job", "init", "--store", "jobs.db"]));
    let index = ["job", "index", "--store", "jobs.db", "--root", ".", "tree"];
    succeed(&mut runseal(&index));
    note(
        "job post",
        &mut runseal(&["job", "post", "plan.json", "--store", "jobs.db"]),
    );
    let work = ["job", "work", "--store", "jobs.db", "--root", "."];
    succeed(&mut runseal(&work));
    let posted = runseal(&["job", "post", "plan.json", "--store", "jobs.db"]).output();
    let posted = String::from_utf8(posted.unwrap().stdout).unwrap();
    let (_, job) = posted.split_once("\"job_id\":\"").unwrap();
    let job = job.split('"').next().unwrap();
    let build = [
        "job", "build", "bench", job, "-o", "job", "--store", "jobs.db", "--root", ".",
    ];
    note("job build", &mut runseal(&build));
    note("verify, job bundle", &mut runseal(&["verify", "job"]));
    note("job verify", &mut runseal(&["job", "verify", "job"]));
    note(
        "job verify --strict",
        &mut runseal(&["job", "verify", "--strict", "job"]),
    );
    let header = ["100,000 small files", "most memory, MB"].map(str::to_owned);
    println!("\n{}", render_table(&header, &rows));
}

/// A plan of so many reads from a hundredth as many files.
fn write_plan(folder: &Path, count: usize) {
    const LINES: usize = 100;
    fs::create_dir(folder.join("tree")).unwrap();
    for file in 0..count / LINES {
        let text = (0..LINES).fold(String::new(), |mut text, line| {
            writeln!(text, "line {line} of file {file}, which is read in slices").unwrap();
            text
        });
        fs::write(folder.join(format!("tree/{file:04}.txt")), text).unwrap();
    }
    let mut plan = String::from(r#"{"run_id":"bench","idempotency_key":"1","steps":["#);
    for at in 0..count {
        let (file, line) = (at / LINES, at % LINES);
        let comma = if at == 0 { "" } else { "," };
        write!(
            plan,
            r#"{comma}{{"op":"READ_SECTION","refs":{{"section_id":"tree/{file:04}.txt"}},"constraints":{{"slice":"lines[{line}:{}]"}}}}"#,
            line + 1
        )
        .unwrap();
    }
    plan.push_str("]}");
    fs::write(folder.join("plan.json"), plan).unwrap();
}
