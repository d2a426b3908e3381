//! The job store on PostgreSQL beside pgbench with the bare claim and commit statements, and beside
//! other people's queues with jobs that do nothing.
//!
//! `cargo bench --bench store` starts a server of its own, with its settings as they are installed:
//! every commit is flushed. Ours reads a file, cuts and hashes a slice and describes a receipt for
//! each step. pgbench claims and commits in two transactions with the same share: once on the store's
//! own tables, once on tables with the same keys and none of their checks.
//! `RUNSEAL_PROCRASTINATE` names a Python that has procrastinate, `RUNSEAL_GRAPHILE` a folder with
//! graphile-worker in its `node_modules`; where one is not given, its rows are left out.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its table, and stops where it cannot go on"
)]

#[path = "job/plan.rs"]
mod plan;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use plan::post_job;
use runseal_benches::render_table;
use runseal_postgres::PostgresStore;
use runseal_store::job::worker::{WorkOptions, run_workers};
use runseal_store::store::Store;
use runseal_testkit::postgres::Server;

const STEPS: usize = 40_000;
/// Jobs for those that take them one by one.
const PEER_JOBS: usize = 400;
/// Jobs for those that take them in shares, as we do.
const BATCHED_JOBS: usize = 5_000;
const WORKERS: [usize; 4] = [1, 2, 4, 8];
const ROUNDS: usize = 2;

fn main() {
    let Some(server) = Server::start("127.0.0.1", "") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let peers = peers();
    let mut rates = vec![vec![0.0_f64; WORKERS.len()]; 3 + peers.len()];
    for round in 0..ROUNDS {
        for (column, &workers) in WORKERS.iter().enumerate() {
            let root = folder.path().join(format!("{round}-{workers}"));
            let (url, store) = posted(&server, &root.join("ours"));
            let share = store.largest_share();
            let bare = pgbench(&server, &url, &BARE, (workers, share));
            let ours = work(store, &root.join("ours"), workers);
            let (url, _) = posted(&server, &root.join("own"));
            let own = pgbench(&server, &url, &OWN_TABLES, (workers, share));
            let mut measured = vec![ours, bare, own];
            for peer in &peers {
                measured.push(peer.run(&server.new_database(), workers));
            }
            for (row, rate) in rates.iter_mut().zip(measured) {
                row[column] = row[column].max(rate);
            }
        }
    }
    print(&rates, &peers);
}

/// A database with a posted job, whose files are made in `root`.
fn posted(server: &Server, root: &Path) -> (String, PostgresStore) {
    fs::create_dir_all(root).unwrap();
    let url = server.new_database();
    let mut store = PostgresStore::create(&url).unwrap();
    post_job(&mut store, root, STEPS);
    (url, store)
}

/// Statements for pgbench, and where their receipts end up.
struct Statements {
    tables: &'static str,
    script: &'static str,
    receipts: &'static str,
}

const BARE: Statements = Statements {
    tables: include_str!("store/tables.sql"),
    script: include_str!("store/claim_and_commit.sql"),
    receipts: "SELECT count(*) FROM bare_receipts",
};
const OWN_TABLES: Statements = Statements {
    tables: "ANALYZE cassette_steps",
    script: include_str!("store/own_tables.sql"),
    receipts: "SELECT count(*) FROM cassette_receipts",
};

/// Steps a second by our workers; none is lost and none done twice.
fn work(store: PostgresStore, root: &Path, workers: usize) -> f64 {
    let options = WorkOptions {
        run_id: None,
        workers,
        lease_seconds: 60.0,
        worker_id: "w".to_owned(),
    };
    let after = store.connect_again().unwrap().unwrap();
    let begun = Instant::now();
    let done = run_workers(Box::new(store), root, &options).unwrap();
    let time = begun.elapsed();
    assert_eq!(
        (done.succeeded, done.failed, done.overtaken),
        (STEPS as u64, 0, 0)
    );
    let status = &after.as_reader().job_status(None, None).unwrap()[0];
    assert_eq!(
        (status.states.committed, status.succeeded),
        (STEPS as u64, STEPS as u64)
    );
    rate(STEPS, time)
}

/// Steps a second by pgbench, with as many clients and the same share.
fn pgbench(
    server: &Server,
    url: &str,
    statements: &Statements,
    (clients, share): (usize, usize),
) -> f64 {
    let database = url.rsplit('/').next().unwrap();
    server.sql(database, statements.tables);
    let script = tempfile::NamedTempFile::new().unwrap();
    fs::write(script.path(), statements.script).unwrap();
    // What is left over by the last share is done by the first client that is free; a few
    // transactions of nothing at the end are within the noise.
    let transactions = STEPS.div_ceil(share * clients);
    let mut command = Command::new(server.programs().join("pgbench"));
    command
        .args(["-n", "-M", "extended", "-f"])
        .arg(script.path())
        .args(["-D", &format!("share={share}")])
        .args(["-c", &clients.to_string()])
        .args(["-j", &clients.min(2).to_string()])
        .args(["-t", &transactions.to_string()])
        .arg(url);
    let begun = Instant::now();
    let ran = command.output().unwrap();
    let time = begun.elapsed();
    assert!(ran.status.success(), "{ran:?}");
    let receipts = server.sql(database, statements.receipts);
    assert_eq!(receipts, STEPS.to_string());
    rate(STEPS, time)
}

fn rate(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

/// Somebody else's queue, in a program of its own that prints how many seconds its jobs took.
struct Peer {
    name: &'static str,
    program: PathBuf,
    script: &'static str,
    folder: PathBuf,
    last: &'static [&'static str],
    jobs: usize,
}

impl Peer {
    /// Jobs a second.
    fn run(&self, url: &str, workers: usize) -> f64 {
        let ran = Command::new(&self.program)
            .current_dir(&self.folder)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(self.script))
            .args([url, &self.jobs.to_string(), &workers.to_string()])
            .args(self.last)
            .output()
            .unwrap();
        assert!(ran.status.success(), "{ran:?}");
        let text = String::from_utf8(ran.stdout).unwrap();
        self.jobs as f64 / text.trim().parse::<f64>().unwrap()
    }
}

fn peers() -> Vec<Peer> {
    let mut peers = Vec::new();
    if let Some(python) = std::env::var_os("RUNSEAL_PROCRASTINATE") {
        peers.push(Peer {
            name: "procrastinate",
            program: python.into(),
            script: "store/procrastinate_peer.py",
            folder: ".".into(),
            last: &[],
            jobs: PEER_JOBS,
        });
    }
    if let Some(folder) = std::env::var_os("RUNSEAL_GRAPHILE") {
        let peer = |name, last, jobs| Peer {
            name,
            program: "node".into(),
            script: "store/graphile_peer.mjs",
            folder: folder.clone().into(),
            last,
            jobs,
        };
        peers.push(peer("graphile-worker", &[], PEER_JOBS));
        peers.push(peer("graphile-worker, batched", &["batched"], BATCHED_JOBS));
    }
    peers
}

fn print(rates: &[Vec<f64>], peers: &[Peer]) {
    let header: Vec<String> = std::iter::once("a second".to_owned())
        .chain(WORKERS.map(|workers| match workers {
            1 => "1 worker".to_owned(),
            _ => format!("{workers} workers"),
        }))
        .collect();
    let row = |name: &str, cells: Vec<String>| {
        let mut row = vec![name.to_owned()];
        row.extend(cells);
        row
    };
    let numbers = |rates: &[f64]| rates.iter().map(|rate| format!("{rate:.0}")).collect();
    let ratios = |to: &[f64]| {
        let pairs = rates[0].iter().zip(to);
        pairs
            .map(|(ours, to)| format!("{:.2} ×", ours / to))
            .collect()
    };
    let mut rows = vec![
        row("runseal, steps", numbers(&rates[0])),
        row("pgbench, tables without checks", numbers(&rates[1])),
        row("pgbench, the store's tables", numbers(&rates[2])),
    ];
    for (peer, rates) in peers.iter().zip(&rates[3..]) {
        rows.push(row(
            &format!("{}, jobs that do nothing", peer.name),
            numbers(rates),
        ));
    }
    rows.push(row(
        "runseal beside pgbench, without checks",
        ratios(&rates[1]),
    ));
    rows.push(row("runseal beside pgbench, its tables", ratios(&rates[2])));
    for (peer, rates) in peers.iter().zip(&rates[3..]) {
        rows.push(row(&format!("runseal beside {}", peer.name), ratios(rates)));
    }
    println!("{}", render_table(&header, &rows));
}
