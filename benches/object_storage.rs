//! Runs in object storage beside bare requests, in the same run and on the same server (SeaweedFS).
//!
//! `.ci/object-storage && cargo build --profile dist -p runseal-cli && cargo bench -p runseal-benches --bench
//! object_storage` prints the tables in a few minutes; names of parts (`verify`, `large`) after `--` run only
//! those. `-- --full` pushes and pulls a run of 5 GB, and `RUNSEAL_BENCH_BYTES` says any other size. The bare
//! requests are signed beforehand by boto3 and made over plain sockets: they hash nothing, look at nothing
//! and flush nothing.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use runseal_benches::bare::{get_all, get_file, put_file};
use runseal_benches::data::{seal, write_varied};
use runseal_benches::process::{asked_bytes, binary, parts, succeed, watch};
use runseal_benches::{best, render_table, timed};
use runseal_testkit::object_storage::{Kind, Server};

/// Connections of the bare loop: as many as `verify` has on two cores.
const CONNECTIONS: usize = 16;
/// Files of the run that is verified.
const FILES: usize = 20_000;
/// Bytes of the run that is pushed and pulled, where no other size is asked for.
const USUAL: u64 = 1 << 30;
const ROUNDS: usize = 3;

fn main() {
    let Some(server) = Server::start(Kind::Weed) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    server.python("s.create_bucket(Bucket='bench')", &[]);
    let wants = parts();
    if wants("verify") {
        verify(&server, folder.path());
    }
    if wants("large") {
        large(&server, folder.path());
    }
}

fn runseal(server: &Server, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.args(arguments).envs(server.variables());
    command
}

fn verify(server: &Server, folder: &Path) {
    let artifacts = folder.join("small");
    for at in 0..FILES {
        let place = artifacts.join(format!("{:02}", at % 100));
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join(format!("{at}")), format!("{at:04096}")).unwrap();
    }
    let run = seal(folder, "many", Some(&artifacts));
    let address = "s3://bench/verify/many";
    succeed(&mut runseal(
        server,
        &["push", run.to_str().unwrap(), address],
    ));
    let script = "for p in s.get_paginator('list_objects_v2').paginate(Bucket='bench',Prefix='verify/sha256/'):\n \
                  for o in p.get('Contents',[]): print(s.generate_presigned_url('get_object',\
                  Params={'Bucket':'bench','Key':o['Key']},ExpiresIn=36000))";
    let urls = server.python(script, &[]);
    let urls: Vec<&str> = urls.lines().collect();
    let mut memory = 0;
    let times = best(
        ROUNDS,
        &mut [&mut || get_all(&urls, CONNECTIONS), &mut || {
            memory = memory.max(watch(&mut runseal(server, &["verify", address])).1);
        }],
    );
    let rate = |time: Duration| format!("{:.0} files/s", urls.len() as f64 / time.as_secs_f64());
    println!(
        "{} objects of 4 KB, the best of {ROUNDS} rounds:\n",
        urls.len()
    );
    print_pair(
        "GET in parallel",
        "runseal verify",
        [times[0], times[1]],
        rate,
        memory,
    );
}

/// Pushes and pulls one large run, beside one plain request for its largest file.
fn large(server: &Server, folder: &Path) {
    let bytes = asked_bytes(USUAL);
    let artifacts = folder.join("large");
    let file = write_varied(&artifacts, bytes);
    let run = seal(folder, "large-run", Some(&artifacts));
    let run = run.to_str().unwrap();
    let url = |method: &str| {
        let script = "print(s.generate_presigned_url(a[0],Params={'Bucket':'bench','Key':'bare'},\
                      ExpiresIn=36000))";
        server.python(script, &[method]).trim().to_owned()
    };
    let (put, get) = (url("put_object"), url("get_object"));
    let clear = |prefix: &str| {
        let script = "for p in s.get_paginator('list_objects_v2').paginate(Bucket='bench',Prefix=a[0]):\n \
                      for o in p.get('Contents',[]): s.delete_object(Bucket='bench',Key=o['Key'])";
        server.python(script, &[prefix]);
    };
    let mut pushes = [Duration::MAX; 2];
    let mut pulls = [Duration::MAX; 2];
    let mut memory = [0; 2];
    let address = "s3://bench/large/run";
    for _ in 0..ROUNDS {
        // Nothing may be there yet, and what is there takes room.
        clear("large/");
        clear("bare");
        let bare = timed(|| put_file(&put, &file));
        let (ours, held) = watch(&mut runseal(server, &["push", run, address]));
        pushes = [pushes[0].min(bare), pushes[1].min(ours)];
        memory[0] = memory[0].max(held);
        let copy = folder.join("copy");
        let bare = timed(|| get_file(&get, &copy));
        fs::remove_file(&copy).unwrap();
        let pulled = folder.join("pulled");
        let mut pull = runseal(server, &["pull", address, "-o"]);
        let (ours, held) = watch(pull.arg(&pulled));
        pulls = [pulls[0].min(bare), pulls[1].min(ours)];
        memory[1] = memory[1].max(held);
        succeed(Command::new("rm").arg("-rf").arg(&pulled));
    }
    let rate = |time: Duration| format!("{:.0} MB/s", bytes as f64 / time.as_secs_f64() / 1e6);
    println!("{bytes} bytes, the best of {ROUNDS} rounds:\n");
    print_pair("one PUT", "runseal push, verified", pushes, rate, memory[0]);
    print_pair(
        "one GET",
        "runseal pull, verified and flushed",
        pulls,
        rate,
        memory[1],
    );
}

/// Prints the bare way and ours, with the ratio of their speeds and the memory that ours took, in KB.
fn print_pair(
    bare: &str,
    ours: &str,
    times: [Duration; 2],
    rate: impl Fn(Duration) -> String,
    memory: u64,
) {
    let heads = ["", "time", "speed", "of the bare one's", "memory"];
    let time = |time: Duration| format!("{:.1} s", time.as_secs_f64());
    let ratio = times[0].as_secs_f64() / times[1].as_secs_f64();
    let rows = [
        vec![
            bare.to_owned(),
            time(times[0]),
            rate(times[0]),
            String::new(),
            String::new(),
        ],
        vec![
            ours.to_owned(),
            time(times[1]),
            rate(times[1]),
            format!("{ratio:.2}"),
            format!("{} MB", memory * 1024 / 1_000_000),
        ],
    ];
    println!("{}", render_table(&heads.map(str::to_owned), &rows));
}
