//! A log of a million entries: speed and memory. Not run by default; prints figures.
//! `cargo test --release -p runseal-store --test main log_million:: -- --ignored --nocapture`

use std::time::Instant;

use runseal_store::log::{FolderAppender, FolderLog, Log};
use runseal_trust::log::tree::{leaf_hash, verify_inclusion};

const ENTRIES: u64 = 1_000_000;
const BATCH: u64 = 500;

fn entry(at: u64) -> Vec<u8> {
    format!(r#"{{"envelope":"{at:064x}","signature":"{at:064x}","subjects":["sha256:{at:064x}"]}}"#)
        .into_bytes()
}

#[test]
#[ignore = "a minute of appending, for its figures"]
fn log_with_a_million_entries_appends_and_proves_in_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    FolderLog::init(&path, "example.com/million").unwrap();
    let start = Instant::now();
    let mut appender = FolderAppender::open(&path).unwrap();
    for first in (0..ENTRIES).step_by(BATCH as usize) {
        let batch: Vec<_> = (first..first + BATCH).map(entry).collect();
        let batch: Vec<_> = batch.iter().map(Vec::as_slice).collect();
        appender.append_all(&batch).unwrap();
    }
    let took = start.elapsed().as_secs_f64();
    println!(
        "{ENTRIES} entries in durable batches of {BATCH}: {:.0}/s",
        ENTRIES as f64 / took
    );
    drop(appender);
    let start = Instant::now();
    let log = FolderLog::open(&path).unwrap();
    println!("open: {:.3} ms", start.elapsed().as_secs_f64() * 1e3);
    let mut worst = 0.0f64;
    for at in 0..1000 {
        let index = (at * 7919) % ENTRIES;
        let start = Instant::now();
        let proof = log.prove_inclusion(index, ENTRIES).unwrap();
        worst = worst.max(start.elapsed().as_secs_f64() * 1e3);
        let leaf = leaf_hash(&entry(index));
        assert!(verify_inclusion(
            &leaf,
            index,
            ENTRIES,
            &proof,
            &log.state().root
        ));
    }
    println!("inclusion proof: at worst {worst:.3} ms of 1000");
    let start = Instant::now();
    log.prove_consistency(333_333, ENTRIES).unwrap();
    println!(
        "consistency proof: {:.3} ms",
        start.elapsed().as_secs_f64() * 1e3
    );
    let start = Instant::now();
    let wanted = [leaf_hash(&entry(ENTRIES - 1))].into();
    assert_eq!(log.find(&wanted).unwrap().len(), 1);
    println!(
        "finding an entry by its content: {:.1} ms",
        start.elapsed().as_secs_f64() * 1e3
    );
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    println!("peak memory: {peak}");
}
