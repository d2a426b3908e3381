//! The catalogue with 100,000 runs: filters and words, in a file and on a server, beside the same
//! question asked by hand with `sqlite3` and `psql`; and adding sealed runs, beside `sha256sum -c` over
//! the same files.
//!
//! `cargo build --profile dist -p runseal-cli && cargo bench --bench catalog` prints the tables. Names of
//! parts (`sqlite`, `postgres`, `add`) run only those. The server is started from the programs that the
//! system has; without them its part is left out.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its table, and stops where it cannot go on"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use runseal_benches::process::{binary, parts, succeed};
use runseal_benches::{best, render_table};
use runseal_core::digest::Digest;
use runseal_postgres::PostgresCatalog;
use runseal_store::catalog::sqlite::SqliteCatalog;
use runseal_store::catalog::words::words_of;
use runseal_store::catalog::{
    Catalog, Entry, Existing, Filter, Query, Scalar, Sighting, UNSIGNED, ValueName,
};
use runseal_testkit::postgres::Server;

/// Runs in the catalogue.
const RUNS: usize = 100_000;
/// Runs that are sealed and added.
const SEALED: usize = 4000;
/// Entries that a person is shown.
const SHOWN: usize = 51;

const ENGINES: [&str; 5] = ["FLATS", "SWEEP", "DICE", "CSV", "RECORDED_COMMAND"];
const MODELS: [&str; 3] = ["tiny", "small", "large"];

/// What is asked: a filter, and the same in SQL.
const FILTERS: [(&str, &str); 6] = [
    (
        "metrics.rmse<0.3 and engine=FLATS",
        "r.engine='FLATS' AND EXISTS(SELECT 1 FROM catalog_values v WHERE v.run=r.run
         AND v.name='metrics/outputs/rmse' AND v.number<0.3)",
    ),
    (
        "metrics.rmse<0.00005",
        "EXISTS(SELECT 1 FROM catalog_values v WHERE v.run=r.run
         AND v.name='metrics/outputs/rmse' AND v.number<0.00005)",
    ),
    (
        "metrics.rmse<0.95 and metrics.rmse>2",
        "EXISTS(SELECT 1 FROM catalog_values v WHERE v.run=r.run
         AND v.name='metrics/outputs/rmse' AND v.number<0.95)
         AND EXISTS(SELECT 1 FROM catalog_values v WHERE v.run=r.run
         AND v.name='metrics/outputs/rmse' AND v.number>2)",
    ),
    (
        "params.model~mal and not tag=kept",
        "EXISTS(SELECT 1 FROM catalog_values v WHERE v.run=r.run
         AND v.name='params/inputs/model' AND v.text LIKE '%mal%')
         AND NOT EXISTS(SELECT 1 FROM catalog_tags t WHERE t.run=r.run AND t.tag='kept')",
    ),
    (
        "time>=2026-11 and (engine=DICE or engine=CSV) and params.steps=7",
        "r.time>='2026-11' AND (r.engine='DICE' OR r.engine='CSV')
         AND EXISTS(SELECT 1 FROM catalog_values v WHERE v.run=r.run
         AND v.name='params/inputs/steps' AND v.number=7)",
    ),
    (
        "signer=unsigned",
        "EXISTS(SELECT 1 FROM catalog_places p WHERE p.run=r.run AND p.signer='unsigned')",
    ),
];

const SEARCHES: [&str; 3] = ["large", "run 0420", "sweep tiny"];

fn main() {
    let wants = parts();
    let folder = tempfile::tempdir().unwrap();
    if wants("sqlite") {
        in_a_file(folder.path());
    }
    if wants("postgres")
        && let Some(server) = Server::start("127.0.0.1", "")
    {
        on_a_server(&server);
    }
    if wants("add") {
        add(folder.path());
    }
}

/// A run that nobody made, as a catalogue would have it.
fn made(at: usize) -> Entry {
    // The same numbers every time, and no two alike.
    let mix = |salt: u64| {
        let mut x = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    };
    let share = |salt: u64| mix(salt) as f64 / u64::MAX as f64;
    let values = [
        ("metrics/outputs/rmse", Scalar::Number(share(1))),
        (
            "metrics/outputs/peak_hz",
            Scalar::Number(400.0 + 80.0 * share(2)),
        ),
        (
            "metrics/outputs/samples",
            Scalar::Number((mix(3) % 500) as f64),
        ),
        (
            "metrics/engine/engine_version",
            Scalar::Text("1.0.0".to_owned()),
        ),
        ("metrics/semantics", Scalar::Text("RAW_TRUTH".to_owned())),
        ("params/inputs/seed", Scalar::Number(at as f64)),
        (
            "params/inputs/rate",
            Scalar::Number([0.1, 0.01, 0.001][at % 3]),
        ),
        ("params/inputs/steps", Scalar::Number((mix(4) % 10) as f64)),
        (
            "params/inputs/model",
            Scalar::Text(MODELS[(mix(5) % 3) as usize].to_owned()),
        ),
        (
            "params/context/bench",
            Scalar::Text(format!("B{}", mix(6) % 40)),
        ),
    ];
    let id = format!("run_{at:06}");
    Entry {
        digest: Digest::of(id.as_bytes()),
        format: "run-bundle".to_owned(),
        engine: Some(ENGINES[(mix(7) % 5) as usize].to_owned()),
        outcome: None,
        time: Some(format!(
            "2026-{:02}-{:02}T{:02}:{:02}:00Z",
            mix(8) % 12 + 1,
            mix(9) % 28 + 1,
            mix(10) % 24,
            mix(11) % 60
        )),
        values: values
            .into_iter()
            .map(|(name, scalar)| (ValueName::parse(name).unwrap(), scalar))
            .collect(),
        left_out: 0,
        sightings: [Sighting {
            place: format!("runs/{id}"),
            signer: UNSIGNED.to_owned(),
        }]
        .into(),
        tags: match at % 10 {
            0 => ["kept".to_owned()].into(),
            _ => Default::default(),
        },
        id: Some(id),
    }
}

fn fill(catalog: &mut dyn Catalog) {
    let begun = Instant::now();
    for first in (0..RUNS).step_by(500) {
        let entries: Vec<Entry> = (first..first + 500).map(made).collect();
        catalog.add(&entries, Existing::Keep).unwrap();
    }
    let rate = RUNS as f64 / begun.elapsed().as_secs_f64();
    println!("{RUNS} rows of runs written, {rate:.0} a second");
}

fn ask(catalog: &dyn Catalog, query: &Query) -> usize {
    let mut count = 0;
    catalog
        .visit(query, &mut |_| {
            count += 1;
            true
        })
        .unwrap();
    count
}

/// Runs a command and waits for all that it says.
fn listen(command: &mut Command) {
    let command = command.env_remove("LD_LIBRARY_PATH").stderr(Stdio::null());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}");
}

fn row(name: &str, found: usize, times: &[Duration]) -> Vec<String> {
    let mut row = vec![name.to_owned(), found.to_string()];
    row.extend(
        times
            .iter()
            .map(|time| format!("{:.1}", time.as_secs_f64() * 1e3)),
    );
    row
}

fn by_hand(condition: &str) -> String {
    format!(
        "SELECT run FROM catalog_runs r WHERE {condition} ORDER BY time DESC, digest LIMIT {SHOWN}"
    )
}

/// Asks everything, in the library, by the whole command, and by hand.
fn question(
    catalog: &dyn Catalog,
    store: &str,
    hand: &dyn Fn(&str) -> Option<Command>,
    peer: &str,
) {
    let header = ["ms", "shown", "in the library", "the whole command", peer];
    let mut rows = Vec::new();
    for (filter, sql) in FILTERS {
        let query = Query {
            filter: Some(Filter::parse(filter).unwrap()),
            words: Vec::new(),
            limit: Some(SHOWN),
        };
        let found = ask(catalog, &query);
        let times = best(
            7,
            &mut [
                &mut || {
                    ask(catalog, &query);
                },
                &mut || {
                    listen(
                        Command::new(binary())
                            .args(["catalog", "list", "--where", filter, "--store", store]),
                    );
                },
                &mut || {
                    if let Some(mut command) = hand(&by_hand(sql)) {
                        listen(&mut command);
                    }
                },
            ],
        );
        rows.push(row(
            &format!("`{}`", filter.replace('|', "\\|")),
            found,
            &times,
        ));
    }
    for text in SEARCHES {
        let query = Query {
            words: words_of(text).collect(),
            limit: Some(SHOWN),
            ..Query::default()
        };
        let found = ask(catalog, &query);
        let times = best(
            7,
            &mut [
                &mut || {
                    ask(catalog, &query);
                },
                &mut || {
                    listen(
                        Command::new(binary()).args(["catalog", "search", text, "--store", store]),
                    );
                },
            ],
        );
        let mut cells = row(&format!("search `{text}`"), found, &times);
        cells.push(String::new());
        rows.push(cells);
    }
    println!("\n{}", render_table(&header.map(str::to_owned), &rows));
}

fn in_a_file(folder: &Path) {
    let path = folder.join("catalog.db");
    let mut catalog = SqliteCatalog::create(&path).unwrap();
    fill(&mut catalog);
    let store = path.to_str().unwrap();
    let hand = |sql: &str| {
        let has = Command::new("sqlite3").arg("--version").output().is_ok();
        has.then(|| {
            let mut command = Command::new("sqlite3");
            command.args([store, sql]);
            command
        })
    };
    question(&catalog, store, &hand, "`sqlite3` by hand");
    println!("{} MB", fs::metadata(&path).unwrap().len() / 1_000_000);
}

fn on_a_server(server: &Server) {
    let url = server.new_database();
    let mut catalog = PostgresCatalog::create(&url).unwrap();
    fill(&mut catalog);
    let database = url.rsplit('/').next().unwrap();
    // What the server would do by itself a little later.
    server.sql(database, "VACUUM ANALYZE");
    let hand = |sql: &str| {
        let mut command = Command::new(server.programs().join("psql"));
        command.args(["-X", "-q", "-A", "-t", "-c", sql]).arg(&url);
        Some(command)
    };
    question(&catalog, &url, &hand, "`psql` by hand");
}

/// Seals many small runs, and adds them.
fn add(folder: &Path) {
    let runs = seal_many(folder);
    let sums = folder.join("sums");
    let files = write_sums(&runs, &sums);
    let fresh = |name: &str| {
        let path = folder.join(name);
        for ending in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{ending}", path.display()));
        }
        path
    };
    let runseal = binary();
    let mut names = vec![
        "`catalog add`, verified",
        "`catalog add` again",
        "`runseal verify`",
        "`sha256sum -c`",
    ];
    let again = folder.join("again.db");
    succeed(
        Command::new(&runseal)
            .args(["catalog", "add", "--store"])
            .arg(&again)
            .arg(&runs),
    );
    let server = Server::start("127.0.0.1", "");
    let mut contenders: Vec<Box<dyn FnMut() + '_>> = vec![
        Box::new(|| {
            let path = fresh("added.db");
            succeed(
                Command::new(&runseal)
                    .args(["catalog", "add", "--store"])
                    .arg(path)
                    .arg(&runs),
            );
        }),
        Box::new(|| {
            succeed(
                Command::new(&runseal)
                    .args(["catalog", "add", "--store"])
                    .arg(&again)
                    .arg(&runs),
            );
        }),
        Box::new(|| succeed(Command::new(&runseal).arg("verify").arg(&runs))),
        Box::new(|| succeed(Command::new("sha256sum").args(["--quiet", "-c"]).arg(&sums))),
    ];
    if let Some(server) = &server {
        names.push("`catalog add` to PostgreSQL");
        contenders.push(Box::new(|| {
            let url = server.new_database();
            succeed(
                Command::new(&runseal)
                    .args(["catalog", "add", "--store", &url])
                    .arg(&runs),
            );
        }));
    }
    let mut borrowed: Vec<&mut dyn FnMut()> =
        contenders.iter_mut().map(|each| &mut **each as _).collect();
    let times = best(3, &mut borrowed);
    let header = ["", "seconds", "runs a second"].map(str::to_owned);
    let rows: Vec<Vec<String>> = names
        .iter()
        .zip(&times)
        .map(|(name, time)| {
            let seconds = time.as_secs_f64();
            vec![
                (*name).to_owned(),
                format!("{seconds:.2}"),
                format!("{:.0}", SEALED as f64 / seconds),
            ]
        })
        .collect();
    println!(
        "\n{SEALED} sealed runs, {files} files\n\n{}",
        render_table(&header, &rows)
    );
}

/// Seals runs that all differ, on all processors.
fn seal_many(folder: &Path) -> PathBuf {
    let engine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/engines/resonance-sweep");
    let runs = folder.join("runs");
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for thread in 0..threads {
            let (engine, runs) = (&engine, &runs);
            scope.spawn(move || {
                for at in (thread..SEALED).step_by(threads) {
                    let output = folder.join(format!("output{thread}.json"));
                    let text = format!(
                        r#"{{"engine":{{"engine_code":"RESONANCE_SWEEP","engine_version":"1.0.0"}},
                        "semantics":"DETERMINISTIC_TRANSFORM",
                        "outputs":{{"peak_hz":{},"peak_gain":25,"samples":81}}}}"#,
                        440.0 + at as f64 / 1000.0
                    );
                    fs::write(&output, text).unwrap();
                    let mut command = Command::new(binary());
                    command
                        .arg("seal")
                        .args([engine, &engine.join("input.json"), &output])
                        .args(["--run-id", &format!("run_{at:05}"), "--out"])
                        .arg(runs);
                    succeed(&mut command);
                }
            });
        }
    });
    runs
}

/// One list of digests of every file, for `sha256sum`.
fn write_sums(runs: &Path, sums: &Path) -> usize {
    let mut lines = String::new();
    for run in fs::read_dir(runs).unwrap() {
        let run = run.unwrap().path();
        let listed = fs::read_to_string(run.join("SHA256SUMS.txt")).unwrap();
        for line in listed.lines() {
            let (digest, path) = line.split_once("  ").unwrap();
            lines.push_str(&format!("{digest}  {}\n", run.join(path).display()));
        }
    }
    fs::write(sums, &lines).unwrap();
    lines.lines().count()
}
