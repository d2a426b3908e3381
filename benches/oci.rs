//! Push and pull of a large run beside `skopeo copy` of the same bytes, to and from Debian's
//! docker-registry on this machine.
//!
//! `cargo build --release -p runseal-cli && cargo bench --bench oci` prints the table of
//! docs/performance.md. `RUNSEAL_BENCH_BYTES` is the size of the run's one large artifact, 5 GB where
//! not said. skopeo copies an image layout with the same blobs that runseal made; it neither verifies
//! what is in them nor flushes what it writes.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its table, and stops where it cannot go on"
)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use runseal_benches::process::binary;
use runseal_benches::render_table;

const ROUNDS: usize = 3;
const PORT: u16 = 5917;

const OUTPUT: &str = r#"{"engine":{"engine_code":"RESONANCE_SWEEP","engine_version":"1.0.0"},
    "semantics":"DETERMINISTIC_TRANSFORM","outputs":{"peak_hz":440,"peak_gain":25,"samples":81}}"#;

fn main() {
    for program in ["docker-registry", "skopeo"] {
        if Command::new(program).arg("--version").output().is_err() {
            println!("left out: {program} is not installed");
            return;
        }
    }
    let bytes = std::env::var("RUNSEAL_BENCH_BYTES").ok();
    let bytes = bytes.map_or(5_000_000_000, |bytes| bytes.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    seal(folder, bytes);
    run(
        folder,
        &runseal(),
        &["push", "out/r1", "oci-layout:layout:v1", "--quiet"],
    );
    let host = format!("127.0.0.1:{PORT}");
    let ours = format!("{host}/team/run:v1");
    let source = format!("docker://{ours}");
    let mut rows: [Vec<f64>; 4] = Default::default();
    let mut memory = [0; 2];
    for _ in 0..ROUNDS {
        let registry = Registry::start(folder);
        let (time, most) = timed(folder, &runseal(), &["push", "out/r1", &ours, "--quiet"]);
        rows[0].push(time);
        memory[0] = memory[0].max(most);
        drop(registry);
        let registry = Registry::start(folder);
        let arguments = ["copy", "--dest-tls-verify=false", "oci:layout:v1", &source];
        rows[1].push(timed(folder, Path::new("skopeo"), &arguments).0);
        let (time, most) = timed(
            folder,
            &runseal(),
            &["pull", &ours, "-o", "pulled", "--quiet"],
        );
        rows[2].push(time);
        memory[1] = memory[1].max(most);
        run(folder, Path::new("rm"), &["-rf", "pulled"]);
        let arguments = ["copy", "--src-tls-verify=false", &source, "oci:copied:v1"];
        rows[3].push(timed(folder, Path::new("skopeo"), &arguments).0);
        run(folder, Path::new("rm"), &["-rf", "copied"]);
        drop(registry);
    }
    let best = rows.map(|times| times.into_iter().fold(f64::MAX, f64::min));
    let row = |name: &str, at: usize, ratio: String| {
        let speed = bytes as f64 / best[at] / 1e6;
        vec![
            name.to_owned(),
            format!("{:.1} s", best[at]),
            format!("{speed:.0} MB/s"),
            ratio,
        ]
    };
    let ratio = |ours: usize, theirs: usize, most: u64| {
        format!(
            "{:.2} of skopeo, {} MB of memory",
            best[theirs] / best[ours],
            most / 1_000_000
        )
    };
    let table = vec![
        row("runseal push, verified", 0, ratio(0, 1, memory[0])),
        row("skopeo copy to the registry", 1, String::new()),
        row(
            "runseal pull, verified and flushed",
            2,
            ratio(2, 3, memory[1]),
        ),
        row("skopeo copy from the registry", 3, String::new()),
    ];
    let heads = [
        format!("{bytes} bytes"),
        "time".to_owned(),
        "speed".to_owned(),
        String::new(),
    ];
    println!("{}", render_table(&heads, &table));
}

fn runseal() -> PathBuf {
    binary()
}

/// Seals a run with one artifact of so many bytes that do not repeat.
fn seal(folder: &Path, bytes: u64) {
    fs::create_dir(folder.join("given")).unwrap();
    let mut file = fs::File::create(folder.join("given/large.bin")).unwrap();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut buffer = vec![0_u8; 1 << 20];
    let mut left = bytes;
    while left > 0 {
        for word in buffer.chunks_exact_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word.copy_from_slice(&state.to_le_bytes());
        }
        let count = left.min(buffer.len() as u64) as usize;
        file.write_all(&buffer[..count]).unwrap();
        left -= count as u64;
    }
    fs::write(folder.join("output.json"), OUTPUT).unwrap();
    let engine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/engines/resonance-sweep");
    let engine = engine.canonicalize().unwrap().to_str().unwrap().to_owned();
    let input = format!("{engine}/input.json");
    let mut arguments = vec!["seal", &engine, &input, "output.json", "--out", "out"];
    arguments.extend(["--run-id", "r1", "--artifacts", "given"]);
    run(folder, &runseal(), &arguments);
    fs::remove_dir_all(folder.join("given")).unwrap();
}

fn run(folder: &Path, program: &Path, arguments: &[&str]) {
    let ran = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{arguments:?}: {said}");
}

/// Seconds that a command took, and the most memory it had in bytes.
fn timed(folder: &Path, program: &Path, arguments: &[&str]) -> (f64, u64) {
    let begun = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    let ended = loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with("VmHWM:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        most = most.max(kilobytes.unwrap_or(0) * 1024);
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        thread::sleep(Duration::from_millis(20));
    };
    assert!(ended.success(), "{arguments:?}");
    (begun.elapsed().as_secs_f64(), most)
}

/// A registry with nothing in it.
struct Registry {
    child: Child,
    data: PathBuf,
}

impl Registry {
    fn start(folder: &Path) -> Self {
        let data = folder.join("registry");
        let config = format!(
            "version: 0.1\nlog: {{level: error, accesslog: {{disabled: true}}}}\n\
             storage: {{filesystem: {{rootdirectory: {}}}}}\nhttp: {{addr: '127.0.0.1:{PORT}'}}\n",
            data.display()
        );
        fs::write(folder.join("registry.yml"), config).unwrap();
        let child = Command::new("docker-registry")
            .arg("serve")
            .arg(folder.join("registry.yml"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        for _ in 0..200 {
            if std::net::TcpStream::connect(("127.0.0.1", PORT)).is_ok() {
                break;
            }
            thread::sleep(Duration::from_millis(50));
        }
        Self { child, data }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.data);
    }
}
