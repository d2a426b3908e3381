//! The whole of a log computed again: every entry, every hash, and every checkpoint that somebody
//! kept.

use std::fs::File;
use std::io::{BufRead, BufReader};

use runseal_core::digest::Digest;
use runseal_trust::log::tree::{Frontier, empty_root, leaf_hash};
use runseal_trust::log::{Checkpoint, LogEntry};

use super::files::{ENTRIES, LEAF, LEAVES, LogError, NODE, NODES, read_next};
use super::store::LogStore;

/// Faults that are named one by one.
const MAX_FAULTS: usize = 100;

/// What an audit found.
#[derive(Debug, Default)]
pub struct AuditReport {
    /// How many entries were looked at.
    pub entries: u64,
    /// What is wrong, in the order of the entries.
    pub faults: Vec<String>,
}

impl AuditReport {
    fn add(&mut self, fault: String) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(fault);
        }
    }
}

fn open(log: &LogStore, name: &'static str) -> Result<BufReader<File>, LogError> {
    let file = File::open(log.folder().join(name))
        .map_err(|source| LogError::File { file: name, source })?;
    Ok(BufReader::with_capacity(1 << 18, file))
}

/// Reads everything again, and compares it with the log's own state and with checkpoints that were
/// kept elsewhere. `see` is shown every entry that can be read.
///
/// # Errors
/// When the log cannot be read.
pub fn audit_log(
    log: &LogStore,
    checkpoints: &[(String, Checkpoint)],
    see: &mut dyn FnMut(u64, &LogEntry),
) -> Result<AuditReport, LogError> {
    let mut report = AuditReport::default();
    let size = log.size();
    let mut kept: Vec<_> = checkpoints.iter().collect();
    kept.sort_by_key(|(_, checkpoint)| checkpoint.size);
    let mut files = (open(log, ENTRIES)?, open(log, LEAVES)?, open(log, NODES)?);
    let mut frontier = Frontier::default();
    let mut line = Vec::new();
    let mut offset = 0;
    let mut roots = Roots {
        waiting: kept.into_iter().peekable(),
        origin: &log.state().origin,
    };
    roots.compare(&frontier, &mut report);
    for index in 0..size {
        line.clear();
        let read = files.0.read_until(b'\n', &mut line);
        let count = read.map_err(|source| LogError::File {
            file: ENTRIES,
            source,
        })?;
        offset += count as u64;
        let mut record = [0; LEAF as usize];
        read_next(&mut files.1, LEAVES, &mut record)?;
        let entry = line.strip_suffix(b"\n").unwrap_or(&line);
        let leaf = leaf_hash(entry);
        if record[..32] != *leaf.as_bytes() || record[32..] != offset.to_be_bytes() {
            report.add(format!("entry {index} is not the one that was logged"));
        }
        match LogEntry::parse(entry) {
            Ok(entry) => see(index, &entry),
            Err(error) => report.add(format!("entry {index}: {error}")),
        }
        for node in frontier.push(leaf) {
            let mut stored = [0; NODE as usize];
            read_next(&mut files.2, NODES, &mut stored)?;
            if stored != *node.as_bytes() {
                report.add(format!("a stored hash over entry {index} is wrong"));
            }
        }
        roots.compare(&frontier, &mut report);
    }
    report.entries = size;
    if offset != log.entry_bytes() || frontier.root() != log.state().root {
        report.add("the log's root is not that of its entries".to_owned());
    }
    for (name, checkpoint) in roots.waiting {
        report.add(format!(
            "rollback: {name} has {} entries, and the log only {size}",
            checkpoint.size
        ));
    }
    Ok(report)
}

/// Checkpoints that wait until the tree has their size.
struct Roots<'a, I: Iterator<Item = &'a (String, Checkpoint)>> {
    waiting: std::iter::Peekable<I>,
    origin: &'a str,
}

impl<'a, I: Iterator<Item = &'a (String, Checkpoint)>> Roots<'a, I> {
    fn compare(&mut self, frontier: &Frontier, report: &mut AuditReport) {
        let size = frontier.size();
        let mut root: Option<Digest> = None;
        while let Some((name, checkpoint)) = self.waiting.next_if(|(_, kept)| kept.size == size) {
            let root = *root.get_or_insert_with(|| match size {
                0 => empty_root(),
                _ => frontier.root(),
            });
            if checkpoint.origin != self.origin {
                report.add(format!(
                    "{name} is of another log, `{}`",
                    checkpoint.origin.escape_debug()
                ));
            } else if checkpoint.root != root {
                report.add(format!(
                    "fork: {name} has another root at {size} entries than the log"
                ));
            }
        }
    }
}
