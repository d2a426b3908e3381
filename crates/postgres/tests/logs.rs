//! The contract of a log, in a folder and on a server; and what concerns only a log on a server.

use std::collections::BTreeSet;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Fresh, Kind};
use runseal_postgres::{PostgresAppender, PostgresLog, PostgresStore};
use runseal_store::log::{Appender, FolderAppender, FolderLog, Log, LogError, Tree, audit_log};
use runseal_testkit::postgres::{PASSWORD, Server, shared};
use runseal_trust::log::tree::{
    MemoryTree, compute_root, leaf_hash, verify_consistency, verify_inclusion,
};
use runseal_trust::log::{Checkpoint, NoteSignature, SignedNote};

const ORIGIN: &str = "example.com/runs";

fn entry(at: u64) -> Vec<u8> {
    format!(r#"{{"subjects":["sha256:{at:064x}"]}}"#).into_bytes()
}

fn init(place: &str) -> Result<(), LogError> {
    if place.starts_with("postgres://") {
        PostgresLog::init(place, ORIGIN).map(drop)
    } else {
        FolderLog::init(Path::new(place), ORIGIN)
    }
}

fn open(place: &str) -> Box<dyn Log> {
    if place.starts_with("postgres://") {
        Box::new(PostgresLog::open(place).unwrap())
    } else {
        Box::new(FolderLog::open(Path::new(place)).unwrap())
    }
}

fn appender(place: &str) -> Box<dyn Appender> {
    if place.starts_with("postgres://") {
        return Box::new(PostgresAppender::open(place).unwrap());
    }
    let begun = Instant::now();
    loop {
        match FolderAppender::open(Path::new(place)) {
            // A server that another test is starting may have inherited our open files.
            Err(LogError::Busy) if begun.elapsed() < Duration::from_secs(10) => {
                thread::sleep(Duration::from_millis(10));
            }
            opened => return Box::new(opened.unwrap()),
        }
    }
}

/// A note with a meaningless signature: logs do not check who signed a checkpoint.
fn note(state: &Checkpoint) -> SignedNote {
    SignedNote {
        text: state.to_text(),
        signatures: vec![NoteSignature {
            name: ORIGIN.to_owned(),
            id: [7; 4],
            bytes: vec![7; 64],
        }],
    }
}

fn faults(log: &dyn Log, kept: &[(String, Checkpoint)]) -> Vec<String> {
    audit_log(log, kept, &mut |_, _| {}).unwrap().faults
}

#[test]
fn log_of_any_kind_is_the_tree_of_its_entries() {
    for kind in [Kind::Sqlite, Kind::Postgres, Kind::Bouncer] {
        let Some(fresh) = Fresh::new(kind) else {
            continue;
        };
        let place = &fresh.place;
        init(place).unwrap();
        let mut tree = MemoryTree::default();
        let mut next = 0;
        let mut kept = Vec::new();
        for count in [1, 1, 2, 5, 0, 64, 1, 31] {
            let batch: Vec<_> = (next..next + count).map(entry).collect();
            let mut appender = appender(place);
            let appended = appender.append(&batch).unwrap();
            assert_eq!(appended.places, (next..next + count).collect::<Vec<_>>());
            assert_eq!(appended.added, batch.len());
            // Again, with duplicates and one new entry: only that one is added.
            let again = [batch.as_slice(), &batch, &[entry(next + count)]].concat();
            let appended = appender.append(&again).unwrap();
            assert_eq!(appended.added, 1);
            assert_eq!(appended.places.last(), Some(&(next + count)));
            for entry in (next..=next + count).map(entry) {
                tree.push(leaf_hash(&entry));
            }
            next += count + 1;
            assert_eq!(appender.log().state().root, tree.root());
            appender
                .keep_checkpoint(&note(appender.log().state()))
                .unwrap_or_else(|error| panic!("{kind:?}: {error}"));
            kept.push((format!("at {next}"), appender.log().state().clone()));
        }
        let log = open(place);
        assert_eq!((log.size(), log.state().root), (next, tree.root()));
        let newest = log.signed_checkpoint().unwrap().unwrap();
        assert_eq!(newest.text, log.state().to_text());
        for index in 0..next {
            assert_eq!(log.entry(index).unwrap(), entry(index));
            let leaf = leaf_hash(&entry(index));
            let proof = log.prove_inclusion(index, next).unwrap();
            assert!(verify_inclusion(&leaf, index, next, &proof, &tree.root()));
            let old = compute_root(&Tree(&*log), index).unwrap();
            let proof = log.prove_consistency(index, next).unwrap();
            let new = (next, &tree.root());
            assert!(verify_consistency((index, &old), new, &proof));
        }
        let wanted = [leaf_hash(&entry(7)), leaf_hash(b"none")].into();
        let found = log.find(&wanted).unwrap();
        assert_eq!(found, [(leaf_hash(&entry(7)), 7)].into());
        assert_eq!(faults(&*log, &kept), Vec::<String>::new());
        assert!(matches!(log.entry(next), Err(LogError::Beyond { .. })));
        // A batch with an invalid entry is refused entirely.
        let refused = appender(place).append(&[entry(1000), b"a\nb".to_vec()]);
        assert!(matches!(refused, Err(LogError::Entry)));
        assert_eq!(open(place).size(), next);
        assert!(init(place).is_err());
    }
}

#[test]
fn concurrent_appends_lose_and_duplicate_nothing() {
    let Some(server) = shared() else { return };
    let url = server.new_database();
    PostgresLog::init(&url, ORIGIN).unwrap();
    thread::scope(|scope| {
        for worker in 0..8u64 {
            let url = &url;
            scope.spawn(move || {
                let mut appender = PostgresAppender::open(url).unwrap();
                for round in 0..15u64 {
                    // Consecutive rounds overlap by half.
                    let first = worker * 100 + round * 4;
                    let batch: Vec<_> = (first..first + 8).map(entry).collect();
                    let appended = appender.append(&batch).unwrap();
                    let log = PostgresLog::open(url).unwrap();
                    for (entry, place) in batch.iter().zip(appended.places) {
                        assert_eq!(log.entry(place).unwrap(), *entry);
                    }
                    appender
                        .keep_checkpoint(&note(appender.log().state()))
                        .unwrap();
                }
            });
        }
    });
    let log = PostgresLog::open(&url).unwrap();
    let mut seen = BTreeSet::new();
    log.visit(&mut |kept| assert!(seen.insert(kept.entry.to_vec())))
        .unwrap();
    assert_eq!(seen.len(), 8 * (15 * 4 + 4));
    let newest = log.signed_checkpoint().unwrap().unwrap();
    let newest = Checkpoint::parse(&newest.text).unwrap();
    assert_eq!(newest.size, log.size(), "a later state was replaced");
    assert_eq!(faults(&log, &[("own".to_owned(), newest)]), [""; 0]);
}

#[test]
fn append_survives_server_restart_and_happens_once() {
    let Some(server) = Server::start("127.0.0.1", "") else {
        return;
    };
    let url = server.new_database();
    PostgresLog::init(&url, ORIGIN).unwrap();
    let mut appender = PostgresAppender::open(&url).unwrap();
    for round in 0..12u64 {
        let batch: Vec<_> = (round * 500..(round + 1) * 500).map(entry).collect();
        thread::scope(|scope| {
            if round % 4 == 1 {
                scope.spawn(|| {
                    thread::sleep(Duration::from_millis(round * 7));
                    server.stop_immediately();
                    server.run();
                });
            }
            let appended = appender.append(&batch).unwrap();
            let expected: Vec<_> = (round * 500..(round + 1) * 500).collect();
            assert_eq!(appended.places, expected);
        });
    }
    let log = PostgresLog::open(&url).unwrap();
    assert_eq!(log.size(), 6000);
    assert_eq!(faults(&log, &[]), [""; 0]);
}

#[test]
fn appender_that_disappears_does_not_block_others() {
    let Some(server) = shared() else { return };
    let url = server.new_database();
    PostgresLog::init(&url, ORIGIN).unwrap();
    // Like a process that was stopped between locking and committing.
    let mut stuck = std::process::Command::new(server.programs().join("psql"))
        .args(["-X", "-q", "-c"])
        .arg(
            "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '2s';
             SELECT * FROM logs FOR UPDATE",
        )
        .args(["-c", "\\! sleep 30", &url])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_millis(300));
    let begun = Instant::now();
    let mut appender = PostgresAppender::open(&url).unwrap();
    assert_eq!(appender.append(&[entry(0)]).unwrap().added, 1);
    assert!(begun.elapsed() < Duration::from_secs(20));
    stuck.kill().unwrap();
    stuck.wait().unwrap();
}

#[test]
fn database_refuses_shrinking_a_log_and_audit_finds_forced_changes() {
    let Some(server) = shared() else { return };
    let url = server.new_database();
    let database = url.rsplit('/').next().unwrap();
    PostgresLog::init(&url, ORIGIN).unwrap();
    let mut appender = PostgresAppender::open(&url).unwrap();
    appender
        .append(&(0..9).map(entry).collect::<Vec<_>>())
        .unwrap();
    let kept = ("kept".to_owned(), appender.log().state().clone());
    for (sql, refusal) in [
        (
            "DELETE FROM log_entries WHERE place = 8",
            "log_entries is append-only",
        ),
        (
            "UPDATE log_entries SET entry = 'x'",
            "log_entries is append-only",
        ),
        (
            "UPDATE log_nodes SET hash = 'x'",
            "log_nodes is append-only",
        ),
        ("DELETE FROM logs", "logs are never deleted"),
        ("UPDATE logs SET size = size - 1", "a log only grows"),
        (
            "UPDATE logs SET root = decode(repeat('00', 32), 'hex')",
            "a log only grows",
        ),
    ] {
        let said = server.refusal(database, sql);
        assert!(said.contains(refusal), "{sql}: {said}");
    }
    let force = |sql: &str| {
        let forced = format!("SET session_replication_role = replica; {sql}");
        server.sql(database, &forced);
    };
    let found = || {
        faults(
            &PostgresLog::open(&url).unwrap(),
            std::slice::from_ref(&kept),
        )
        .join("\n")
    };
    assert_eq!(found(), "");
    force("UPDATE log_entries SET entry = decode('7b7d', 'hex') WHERE place = 3");
    assert!(found().contains("entry 3 differs from the one that was logged"));
    let whole = String::from_utf8(entry(3)).unwrap();
    force(&format!(
        "UPDATE log_entries SET entry = convert_to('{whole}', 'UTF8') WHERE place = 3"
    ));
    assert_eq!(found(), "");
    force(
        "UPDATE log_nodes SET hash = decode(repeat('00', 32), 'hex') WHERE level = 1 AND place = 2",
    );
    assert!(found().contains("a stored hash over entry 5 is wrong"));
    force("UPDATE logs SET size = 8");
    let said = found();
    assert!(
        said.contains("rollback: kept has 9 entries, the log only 8"),
        "{said}"
    );
    assert!(said.contains("the log's root does not match its entries"));
    assert!(matches!(
        PostgresAppender::open(&url),
        Err(LogError::NoLog(_))
    ));
}

#[test]
fn address_of_log_names_one_and_password_is_never_shown() {
    let Some(server) = shared() else { return };
    let url = server.new_database();
    let message_of = |error: LogError| {
        let text = format!("{error} {error:?}");
        assert!(!text.contains(PASSWORD), "{text}");
        text
    };
    assert!(message_of(PostgresLog::open(&url).unwrap_err()).contains("NoStore"));
    PostgresStore::create(&url).unwrap();
    assert!(message_of(PostgresLog::open(&url).unwrap_err()).contains("none with this name"));
    let place = PostgresLog::init(&url, "one").unwrap();
    assert!(place.ends_with("#one") && !place.contains(PASSWORD));
    assert_eq!(PostgresLog::open(&url).unwrap().state().origin, "one");
    PostgresLog::init(&format!("{url}#two"), "two").unwrap();
    assert!(message_of(PostgresLog::open(&url).unwrap_err()).contains("one, two"));
    let two = PostgresLog::open(&format!("{url}#two")).unwrap();
    assert_eq!(two.state().origin, "two");
    assert!(matches!(
        PostgresLog::open(&format!("{url}#three")),
        Err(LogError::NoLog(_))
    ));
    assert!(matches!(
        PostgresLog::init(&url, "two"),
        Err(LogError::Exists)
    ));
    for name in ["", "a b", "a+b"] {
        assert!(matches!(PostgresLog::init(&url, name), Err(LogError::Name)));
    }
    let wrong = url.replace(PASSWORD, "Wr0ng");
    assert!(!message_of(PostgresLog::open(&wrong).unwrap_err()).contains("Wr0ng"));
}

/// `cargo test --release -p runseal-postgres --test main logs:: -- --ignored --nocapture`
#[test]
#[ignore = "minutes of appending, for its figures"]
fn log_of_a_million_entries_on_a_server() {
    const ENTRIES: u64 = 1_000_000;
    const BATCH: u64 = 500;
    let Some(server) = shared() else { return };
    let url = server.new_database();
    PostgresLog::init(&url, ORIGIN).unwrap();
    let mut appender = PostgresAppender::open(&url).unwrap();
    let begun = Instant::now();
    for first in (0..ENTRIES).step_by(BATCH as usize) {
        let batch: Vec<_> = (first..first + BATCH).map(entry).collect();
        appender.append(&batch).unwrap();
    }
    let rate = ENTRIES as f64 / begun.elapsed().as_secs_f64();
    println!("{ENTRIES} entries in durable batches of {BATCH}: {rate:.0}/s");
    let log = PostgresLog::open(&url).unwrap();
    let mut times = Vec::new();
    for at in 0..1000u64 {
        let index = at * 7919 % ENTRIES;
        let begun = Instant::now();
        let proof = log.prove_inclusion(index, ENTRIES).unwrap();
        times.push(begun.elapsed());
        let leaf = leaf_hash(&entry(index));
        let root = &log.state().root;
        assert!(verify_inclusion(&leaf, index, ENTRIES, &proof, root));
    }
    times.sort_unstable();
    println!(
        "inclusion proof: {:?} in the middle, at worst {:?} of 1000",
        times[500], times[999]
    );
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM"));
    println!("peak memory: {}", peak.unwrap());
}
