//! The journal: one canonical JSON record per line, append-only.
//!
//! An incomplete last line was being written when the program was killed; it is ignored.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, ReadOptions, Value, canonical_bytes, parse_document};

use super::exchange::{Exchange, whole};
use super::{Adapter, Parent, Session};
use runseal_fs::atomic;

use crate::NetError;
use crate::matching::Volatile;

/// The version in the first line.
const VERSION: u32 = 1;
/// A longer record, in bytes, is written separately.
const MOST_WAITING: usize = 256 << 10;

/// A journal that is being written.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    /// Records not yet written to the file.
    waiting: Vec<u8>,
}

impl Journal {
    /// Creates a journal that only its owner can read.
    pub fn create(path: &Path, session: &Session) -> Result<Self, NetError> {
        let file = atomic::create_new(path, atomic::Readers::Owner).map_err(|error| match error
            .kind()
        {
            io::ErrorKind::AlreadyExists => NetError::Exists {
                path: path.to_owned(),
            },
            _ => NetError::write(path)(error),
        })?;
        rustix::fs::fcntl_setfl(&file, rustix::fs::OFlags::APPEND)
            .map_err(|errno| NetError::write(path)(errno.into()))?;
        // Locked until the end, so that it is not taken for an abandoned one.
        file.try_lock()
            .map_err(|error| NetError::write(path)(error.into()))?;
        let mut journal = Self {
            file,
            path: path.to_owned(),
            waiting: Vec::new(),
        };
        let mut first = Value::object([
            ("t", Value::from("start")),
            ("version", Value::from(VERSION)),
            ("adapter_id", Value::from(session.adapter.name())),
            (
                "volatile",
                Value::array(session.volatile.pointers().iter().map(String::as_str)),
            ),
        ]);
        if let Some(parent) = &session.parent {
            first.insert(
                "parent",
                Value::object([
                    ("path", Value::from(parent.path.to_string_lossy().as_ref())),
                    ("sha256", Value::from(parent.sha256.as_str())),
                    ("model_io_hash", Value::from(parent.model_io_hash.as_str())),
                    ("interactions", Value::from(parent.interactions)),
                    ("is_fork", Value::from(parent.is_fork)),
                ]),
            );
        }
        let written = journal.append(&first).and_then(|()| journal.flush());
        written.map_err(NetError::write(path))?;
        Ok(journal)
    }

    /// Locks an abandoned journal; fails if it is still being written.
    pub fn lock_left_behind(path: &Path) -> Result<File, NetError> {
        let file = File::open(path).map_err(NetError::read(path))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(NetError::Live {
                path: path.to_owned(),
            }),
            Err(TryLockError::Error(error)) => Err(NetError::read(path)(error)),
        }
    }

    /// Adds a record, which is written at the next [`Journal::flush`] at the latest.
    pub fn append(&mut self, record: &Value) -> io::Result<()> {
        let line = canonical_bytes(record, Dialect::Kernel)
            .map_err(|error| io::Error::other(error.to_string()))?;
        if line.len() > MOST_WAITING {
            self.flush()?;
            self.file.write_all(&line)?;
            return self.file.write_all(b"\n");
        }
        self.waiting.extend_from_slice(&line);
        self.waiting.push(b'\n');
        Ok(())
    }

    /// Writes the added records to the file. They survive if the program is killed, but not
    /// necessarily a power failure.
    pub fn flush(&mut self) -> io::Result<()> {
        let written = self.file.write_all(&self.waiting);
        self.waiting.clear();
        written
    }

    /// Returns the path of the journal.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Syncs everything to disk.
    pub fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file.sync_data()
    }
}

/// A journal opened for reading: an index of lines by exchange, not the lines themselves.
#[derive(Debug)]
pub struct JournalReader {
    file: File,
    path: PathBuf,
    session: Session,
    exchanges: BTreeMap<u64, Vec<(u64, usize)>>,
    gaps: Vec<String>,
    is_finished: bool,
}

impl JournalReader {
    /// Opens and indexes a journal.
    pub fn open(path: &Path) -> Result<Self, NetError> {
        let fault = |reason: String| NetError::Recording {
            path: path.to_owned(),
            reason,
        };
        let file = File::open(path).map_err(NetError::read(path))?;
        let mut lines = BufReader::with_capacity(1 << 16, &file);
        let mut exchanges: BTreeMap<u64, Vec<(u64, usize)>> = BTreeMap::new();
        let (mut session, mut gaps, mut is_finished) = (None, Vec::new(), false);
        let (mut at, mut line) = (0_u64, Vec::new());
        for number in 1.. {
            line.clear();
            lines
                .read_until(b'\n', &mut line)
                .map_err(NetError::read(path))?;
            let Some(text) = line.strip_suffix(b"\n") else {
                break;
            };
            let document = parse_document(text, &ReadOptions::TEXT)
                .map_err(|error| fault(format!("line {number}: {}", error.kind)))?;
            let root = document.root();
            let text_of = |name: &str| Some(root.get(name)?.as_str()?.into_owned());
            match text_of("t").as_deref() {
                Some("start") => session = parse_session(root),
                Some("gap") => gaps.extend(text_of("gap")),
                Some("finish") => is_finished = true,
                _ => {
                    let exchange = root.get("x").and_then(whole).ok_or_else(|| {
                        fault(format!(
                            "line {number}: it does not say which exchange it belongs to"
                        ))
                    })?;
                    exchanges
                        .entry(exchange)
                        .or_default()
                        .push((at, line.len()));
                }
            }
            at += line.len() as u64;
        }
        let session = session.ok_or_else(|| fault("the journal has no first line".to_owned()))?;
        Ok(Self {
            file,
            path: path.to_owned(),
            session,
            exchanges,
            gaps,
            is_finished,
        })
    }

    /// Returns the settings of the recording.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Returns what is known to have been missed.
    pub fn gaps(&self) -> &[String] {
        &self.gaps
    }

    /// Whether the program that wrote the journal completed it.
    pub fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Returns the numbers of the exchanges, in the order in which they began.
    pub fn numbers(&self) -> Vec<u64> {
        self.exchanges.keys().copied().collect()
    }

    /// Reads one exchange; it is empty if the journal does not contain it.
    pub fn exchange(&mut self, number: u64) -> Result<Exchange, NetError> {
        let mut exchange = Exchange::empty();
        let places = self.exchanges.get(&number).cloned().unwrap_or_default();
        for (at, length) in places {
            let mut line = vec![0; length];
            let read = self
                .file
                .seek(SeekFrom::Start(at))
                .and_then(|_| self.file.read_exact(&mut line));
            read.map_err(NetError::read(&self.path))?;
            let fault = || NetError::Recording {
                path: self.path.clone(),
                reason: format!("the record at byte {at} is not valid"),
            };
            let document =
                parse_document(line.trim_ascii_end(), &ReadOptions::TEXT).map_err(|_| fault())?;
            exchange.take(document.root()).ok_or_else(fault)?;
        }
        Ok(exchange)
    }
}

fn parse_session(root: runseal_core::canon::Node<'_>) -> Option<Session> {
    if root.get("version").and_then(whole) != Some(u64::from(VERSION)) {
        return None;
    }
    let pointers: Vec<String> = root
        .get("volatile")?
        .items()
        .filter_map(|item| Some(item.as_str()?.into_owned()))
        .collect();
    let parent = root.get("parent").and_then(|parent| {
        let text = |name: &str| Some(parent.get(name)?.as_str()?.into_owned());
        Some(Parent {
            path: PathBuf::from(text("path")?),
            sha256: text("sha256")?,
            model_io_hash: text("model_io_hash")?,
            interactions: parent
                .get("interactions")
                .and_then(whole)?
                .try_into()
                .ok()?,
            is_fork: parent.get("is_fork")?.as_bool()?,
        })
    });
    Some(Session {
        adapter: Adapter::parse(&root.get("adapter_id")?.as_str()?)?,
        volatile: Volatile::parse(&pointers).ok()?,
        parent,
    })
}
