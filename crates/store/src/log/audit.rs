//! Recomputes a whole log: every entry, every hash, and every checkpoint that was kept.

use runseal_core::digest::Digest;
use runseal_trust::log::tree::{Frontier, empty_root, leaf_hash};
use runseal_trust::log::{Checkpoint, LogEntry};

use super::{Log, LogError};

/// The most faults that are listed one by one.
const MAX_FAULTS: usize = 100;

/// The result of an audit.
#[derive(Debug, Default)]
pub struct AuditReport {
    /// The number of entries examined.
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

/// Reads everything again, and compares it with the log's own state and with checkpoints kept
/// elsewhere. Calls `see` with every readable entry.
///
/// # Errors
/// When the log cannot be read.
pub fn audit_log(
    log: &dyn Log,
    checkpoints: &[(String, Checkpoint)],
    see: &mut dyn FnMut(u64, &LogEntry),
) -> Result<AuditReport, LogError> {
    let mut report = AuditReport::default();
    let size = log.size();
    let mut kept: Vec<_> = checkpoints.iter().collect();
    kept.sort_by_key(|(_, checkpoint)| checkpoint.size);
    let mut frontier = Frontier::default();
    let mut roots = Roots {
        waiting: kept.into_iter().peekable(),
        origin: &log.state().origin,
    };
    roots.compare(&frontier, &mut report);
    log.visit(&mut |kept| {
        let index = kept.index;
        let leaf = leaf_hash(kept.entry);
        if kept.leaf != Some(leaf) {
            report.add(format!(
                "entry {index} differs from the one that was logged"
            ));
        }
        match LogEntry::parse(kept.entry) {
            Ok(entry) => see(index, &entry),
            Err(error) => report.add(format!("entry {index}: {error}")),
        }
        if frontier.push(leaf) != kept.nodes {
            report.add(format!("a stored hash over entry {index} is wrong"));
        }
        roots.compare(&frontier, &mut report);
    })?;
    report.entries = frontier.size();
    if frontier.size() != size || frontier.root() != log.state().root {
        report.add("the log's root does not match its entries".to_owned());
    }
    for (name, checkpoint) in roots.waiting {
        report.add(format!(
            "rollback: {name} has {} entries, the log only {size}",
            checkpoint.size
        ));
    }
    Ok(report)
}

/// Checkpoints that are compared once the tree reaches their size.
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
                    "{name} belongs to another log, `{}`",
                    checkpoint.origin.escape_debug()
                ));
            } else if checkpoint.root != root {
                report.add(format!(
                    "fork: {name} and the log have different roots at {size} entries"
                ));
            }
        }
    }
}
