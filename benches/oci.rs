//! Push and pull of a large run, beside `skopeo copy` of the same bytes and beside bare HTTP, to and
//! from Debian's docker-registry on this machine.
//!
//! `cargo build --profile dist -p runseal-cli && cargo bench -p runseal-benches --bench oci` prints the table
//! in a few minutes. `-- --full` is for a run of 5 GB, and `RUNSEAL_BENCH_BYTES` for any other size of
//! the run's one large artifact. skopeo copies an image layout with the same blobs that runseal made, and
//! neither looks at what is in them nor flushes what it writes; bare HTTP sends and gets the artifact
//! as one blob and does not even hash it.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its table, and stops where it cannot go on"
)]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use runseal_benches::bare::{get_file, put_blob};
use runseal_benches::data::{seal, write_varied};
use runseal_benches::process::{asked_bytes, binary, succeed, watch};
use runseal_benches::{render_table, timed};
use runseal_testkit::docker_registry::DockerRegistry;
use runseal_testkit::skip::need_program;

const ROUNDS: usize = 3;
/// The size of the run where none is asked for: each round moves it six times.
const USUAL: u64 = 1 << 30;

/// The best time of one contender, and the most memory that it held, in KB, where that was watched.
#[derive(Clone, Copy)]
struct Best {
    time: Duration,
    memory: u64,
}

impl Best {
    const NONE: Self = Self {
        time: Duration::MAX,
        memory: 0,
    };

    fn note(&mut self, (time, memory): (Duration, u64)) {
        self.time = self.time.min(time);
        self.memory = self.memory.max(memory);
    }
}

fn main() {
    if !need_program("docker-registry") || !need_program("skopeo") {
        return;
    }
    let bytes = asked_bytes(USUAL);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let given = folder.join("given");
    let large = write_varied(&given, bytes);
    seal(folder, "r1", Some(&given));
    let digest = sha256(&large);
    let ours = |arguments: &[&str]| {
        let mut command = Command::new(binary());
        command.args(arguments).arg("--quiet").current_dir(folder);
        command
    };
    let skopeo = |arguments: &[&str]| {
        let mut command = Command::new("skopeo");
        command.arg("copy").args(arguments).current_dir(folder);
        command
    };
    succeed(&mut ours(&["push", "out/r1", "oci-layout:layout:v1"]));
    let [mut pushes, mut pulls] = [[Best::NONE; 3]; 2];
    for _ in 0..ROUNDS {
        // Each pushes to a registry that has nothing yet, or it would find its blobs there.
        let registry = DockerRegistry::start().unwrap();
        let run = format!("{}/team/run:v1", registry.host());
        pushes[0].note(watch(&mut ours(&["push", "out/r1", &run])));
        drop(registry);
        let registry = DockerRegistry::start().unwrap();
        let run = format!("{}/team/run:v1", registry.host());
        let there = format!("docker://{run}");
        let to = ["--dest-tls-verify=false", "oci:layout:v1", &there];
        pushes[1].note(watch(&mut skopeo(&to)));
        let host = registry.host();
        let time = timed(|| put_blob(&host, "bare", &digest, &large));
        pushes[2].note((time, 0));

        pulls[0].note(watch(&mut ours(&["pull", &run, "-o", "pulled"])));
        succeed(
            Command::new("rm")
                .args(["-rf", "pulled"])
                .current_dir(folder),
        );
        let from = ["--src-tls-verify=false", &there, "oci:copied:v1"];
        pulls[1].note(watch(&mut skopeo(&from)));
        fs::remove_dir_all(folder.join("copied")).unwrap();
        let blob = format!("http://{host}/v2/bare/blobs/{digest}");
        let time = timed(|| get_file(&blob, &folder.join("blob")));
        pulls[2].note((time, 0));
        fs::remove_file(folder.join("blob")).unwrap();
    }
    let heads = [
        "",
        "time",
        "speed",
        "of skopeo's",
        "of bare HTTP's",
        "memory",
    ];
    let mut rows = rows(
        bytes,
        &pushes,
        ["runseal push, verified", "skopeo copy", "bare HTTP"],
    );
    let names = [
        "runseal pull, verified and flushed",
        "skopeo copy",
        "bare HTTP",
    ];
    rows.extend(self::rows(bytes, &pulls, names));
    println!("{bytes} bytes, the best of {ROUNDS} rounds:\n");
    println!("{}", render_table(&heads.map(str::to_owned), &rows));
}

/// Rows for ours, skopeo's and the bare way, in this order.
fn rows(bytes: u64, best: &[Best; 3], names: [&str; 3]) -> Vec<Vec<String>> {
    let row = |at: usize| {
        let time = best[at].time.as_secs_f64();
        let of = |other: usize| match at {
            0 => format!("{:.2}", best[other].time.as_secs_f64() / time),
            _ => String::new(),
        };
        let memory = match best[at].memory {
            0 => String::new(),
            kilobytes => format!("{} MB", kilobytes * 1024 / 1_000_000),
        };
        vec![
            names[at].to_owned(),
            format!("{time:.1} s"),
            format!("{:.0} MB/s", bytes as f64 / time / 1e6),
            of(1),
            of(2),
            memory,
        ]
    };
    (0..3).map(row).collect()
}

/// The digest of a file as registries write it.
fn sha256(file: &Path) -> String {
    let ran = Command::new("sha256sum").arg(file).output().unwrap();
    format!("sha256:{}", str::from_utf8(&ran.stdout[..64]).unwrap())
}
