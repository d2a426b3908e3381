//! Appends to a ledger: under a lock, with one write per line, flushed to disk.
//!
//! Each line carries the hash of the line before it as `previous`, null in the first one, so that
//! removing or changing a line shows in the next. A write that fails, for example on a full disk,
//! is undone while the lock is held. A last line torn by a crash is left as it is, terminated with
//! a line feed and reported: no existing content is ever dropped or merged.

use runseal_fs::atomic::{Readers, open_in_place};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_core::digest::ContentHash;
use runseal_core::formats::ledger::{line_hash, parse_lines};
use runseal_core::limits::JsonLimits;
use runseal_core::timestamp::parse_utc;
use rustix::fs::{FlockOperation, OFlags};

/// Why an entry was not appended.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The file could not be read or written.
    #[error("the ledger `{}` cannot be used", .path.display())]
    Io {
        /// The path of the ledger.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// An entry could not be written completely, and the partial write could not be undone.
    #[error("the ledger `{}` ends with a partial line that could not be removed: {undo}", .path.display())]
    Torn {
        /// The path of the ledger.
        path: PathBuf,
        /// Why it could not be undone.
        undo: io::Error,
        /// Why the entry could not be written.
        #[source]
        source: io::Error,
    },
    /// The ledger already has this run (LD3).
    #[error("run `{0}` is already in the ledger")]
    Repeated(String),
    /// The entry would be older than the last one (LD2).
    #[error("the time `{0}` is before that of the last entry")]
    GoesBack(String),
}

/// A ledger locked by this process. Only a locked ledger can be appended to.
#[derive(Debug)]
pub struct LockedLedger {
    file: File,
    path: PathBuf,
    run_ids: std::collections::BTreeSet<String>,
    last_time: Option<i64>,
    torn: Option<usize>,
    ends_whole: bool,
    /// The hash of the last line that is not blank.
    previous: Option<ContentHash>,
}

impl LockedLedger {
    /// Opens or creates a ledger and waits for its lock.
    ///
    /// # Errors
    /// When the file cannot be opened, locked or read.
    pub fn lock(path: &Path) -> Result<Self, LedgerError> {
        let fail = |source: io::Error| LedgerError::Io {
            path: path.to_owned(),
            source,
        };
        let mut file = open_in_place(path, Readers::AsUmask).map_err(fail)?;
        rustix::fs::fcntl_setfl(&file, OFlags::APPEND).map_err(|errno| fail(errno.into()))?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive)
            .map_err(|errno| fail(errno.into()))?;
        let mut bytes = Vec::new();
        file.rewind().map_err(fail)?;
        let most = JsonLimits::LARGEST_DOCUMENT;
        (&file)
            .take(most + 1)
            .read_to_end(&mut bytes)
            .map_err(fail)?;
        if bytes.len() as u64 > most {
            // The last line is beyond the limit, so the next one could not continue the chain.
            let message = format!("it is longer than {most} bytes; start a new one");
            return Err(fail(io::Error::new(io::ErrorKind::FileTooLarge, message)));
        }
        let mut ledger = Self {
            file,
            path: path.to_owned(),
            run_ids: std::collections::BTreeSet::new(),
            last_time: None,
            torn: None,
            ends_whole: bytes.is_empty() || bytes.last() == Some(&b'\n'),
            previous: last_line(&bytes).map(line_hash),
        };
        for line in parse_lines(&bytes) {
            let Ok(document) = &line.entry else {
                if line.is_unfinished {
                    ledger.torn = Some(line.number);
                }
                continue;
            };
            let text = |name: &str| document.root().get(name).and_then(|node| node.as_str());
            ledger
                .run_ids
                .extend(text("run_id").map(|id| id.into_owned()));
            let time = text("timestamp").and_then(|time| parse_utc(&time));
            ledger.last_time = ledger.last_time.max(time);
        }
        Ok(ledger)
    }

    /// The time of the newest entry, in milliseconds since 1970.
    pub fn last_time(&self) -> Option<i64> {
        self.last_time
    }

    /// The line torn by a crash, if there is one.
    pub fn torn_line(&self) -> Option<usize> {
        self.torn
    }

    /// Appends an entry and waits until it is on disk.
    ///
    /// # Errors
    /// When the entry would break LD2 or LD3, or cannot be written.
    pub fn append(&mut self, entry: &Value) -> Result<(), LedgerError> {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let (run_id, time) = (text("run_id").to_owned(), text("timestamp"));
        if self.run_ids.contains(&run_id) {
            return Err(LedgerError::Repeated(run_id));
        }
        let parsed = parse_utc(time);
        if parsed < self.last_time {
            return Err(LedgerError::GoesBack(time.to_owned()));
        }
        let fail = |source: io::Error| LedgerError::Io {
            path: self.path.clone(),
            source,
        };
        let mut entry = entry.clone();
        entry.insert("previous", self.previous.map(|hash| hash.to_string()));
        let form = canonical_bytes(&entry, Dialect::Kernel)
            .map_err(|error| fail(io::Error::other(error.to_string())))?;
        let mut line = Vec::with_capacity(form.len() + 2);
        if !self.ends_whole {
            line.push(b'\n');
        }
        line.extend_from_slice(&form);
        line.push(b'\n');
        let length = self.file.metadata().map_err(fail)?.len();
        // A single write, so that a kill leaves the whole line or nothing of it.
        let written = self.file.write_all(&line);
        if let Err(source) = written.and_then(|()| self.file.sync_all()) {
            return Err(match self.undo_write(length) {
                Ok(()) => fail(source),
                Err(undo) => LedgerError::Torn {
                    path: self.path.clone(),
                    undo,
                    source,
                },
            });
        }
        self.ends_whole = true;
        self.previous = Some(line_hash(&form));
        self.run_ids.insert(run_id);
        self.last_time = parsed;
        Ok(())
    }

    /// Truncates the ledger to its former length. Under the lock, nothing else was written after
    /// it.
    fn undo_write(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)?;
        self.file.sync_all()
    }
}

/// The last line that is not blank, without its LF.
fn last_line(bytes: &[u8]) -> Option<&[u8]> {
    let is_blank = |line: &[u8]| line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
    bytes
        .rsplit(|byte| *byte == b'\n')
        .find(|line| !is_blank(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use runseal_core::formats::ledger::{LedgerView, verify_ledger};
    use runseal_core::verify::Level;

    fn entry(run: &str, time: &str) -> Value {
        let hash = ContentHash::of(b"").to_string();
        Value::object([
            ("run_id", Value::from(run)),
            ("timestamp", Value::from(time)),
            ("intent_sha256", Value::from(hash)),
            ("bundle_sha256", Value::Null),
            ("result_kind", Value::from("REFUSE")),
            ("accepted", Value::from(false)),
            ("mode", Value::from("none")),
            ("policy", Value::from("default")),
        ])
    }

    #[test]
    fn ledger_with_many_concurrent_writers_has_every_entry() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    for number in 0..20 {
                        let mut ledger = LockedLedger::lock(path).unwrap();
                        let run = format!("run-{writer}-{number}");
                        ledger
                            .append(&entry(&run, "2026-01-01T00:00:00.000Z"))
                            .unwrap();
                    }
                });
            }
        });
        let bytes = std::fs::read(&path).unwrap();
        let lines = parse_lines(&bytes);
        assert_eq!(lines.len(), 160);
        let report = verify_ledger(&LedgerView { lines: &lines }, Level::Form);
        assert_eq!(report.findings(), []);
    }

    #[test]
    fn ledger_with_a_torn_line_keeps_and_reports_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        LockedLedger::lock(&path)
            .unwrap()
            .append(&entry("a", "2026-01-01T00:00:00.000Z"))
            .unwrap();
        let whole = std::fs::read(&path).unwrap();
        let torn = [whole.as_slice(), b"{\"run_id\":\"b"].concat();
        std::fs::write(&path, &torn).unwrap();

        let mut ledger = LockedLedger::lock(&path).unwrap();
        assert_eq!(ledger.torn_line(), Some(2));
        ledger
            .append(&entry("c", "2026-01-01T00:00:00.000Z"))
            .unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.starts_with(&torn));
        let lines = parse_lines(&bytes);
        assert_eq!(lines.len(), 3);
        assert!(lines[0].entry.is_ok() && lines[1].entry.is_err() && lines[2].entry.is_ok());
    }

    #[test]
    fn ledger_refuses_a_repeated_run_and_a_time_that_goes_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        let mut ledger = LockedLedger::lock(&path).unwrap();
        ledger
            .append(&entry("a", "2026-01-02T00:00:00.000Z"))
            .unwrap();
        let again = ledger.append(&entry("a", "2026-01-03T00:00:00.000Z"));
        assert!(matches!(again, Err(LedgerError::Repeated(_))));
        let back = ledger.append(&entry("b", "2026-01-01T00:00:00.000Z"));
        assert!(matches!(back, Err(LedgerError::GoesBack(_))));
    }

    #[test]
    fn ledger_lines_carry_the_hash_of_the_line_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        // A line of another program, and a blank one after it.
        std::fs::write(&path, "{\"run_id\":\"theirs\"}\n \n").unwrap();
        for run in ["a", "b"] {
            let mut ledger = LockedLedger::lock(&path).unwrap();
            let time = "2026-01-01T00:00:00.000Z";
            ledger.append(&entry(run, time)).unwrap();
            ledger
                .append(&entry(&format!("{run}-again"), time))
                .unwrap();
        }
        let bytes = std::fs::read(&path).unwrap();
        let lines: Vec<_> = bytes.split(|byte| *byte == b'\n').collect();
        let lines: Vec<_> = lines.into_iter().filter(|line| line.len() > 1).collect();
        assert_eq!(lines.len(), 5);
        for pair in lines.windows(2) {
            let named = format!("\"previous\":\"{}\"", line_hash(pair[0]));
            assert!(String::from_utf8_lossy(pair[1]).contains(&named));
        }
        let fresh = folder.path().join("fresh.jsonl");
        let mut ledger = LockedLedger::lock(&fresh).unwrap();
        ledger
            .append(&entry("a", "2026-01-01T00:00:00.000Z"))
            .unwrap();
        let text = std::fs::read_to_string(&fresh).unwrap();
        assert!(text.contains("\"previous\":null"), "{text}");
    }
}
