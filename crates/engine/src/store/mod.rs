//! The store: one SQLite file with the messages, jobs, steps, receipts, sections and symbols.
//!
//! [`StoreReader`] looks, [`Store`] also writes; a reader never changes the file, so a database
//! made elsewhere can be opened for building and stays as it is. Invariants that must hold
//! whoever writes are in the database itself (see `schema`). The clock is SQLite's and reaches
//! only the columns that record when something happened.

mod ids;
mod jobs;
mod schema;
mod sections;
mod status;
mod symbols;
mod work;

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use runseal_core::canon::NoCanonicalForm;
use runseal_core::formats::job_bundle::plan::PlanFault;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use thiserror::Error;

pub use ids::{JobId, JobRunId, MessageId, ReceiptId, StepId};
pub use jobs::{JobRecord, NewJob, NewStep, Posted, StepRecord};
pub use sections::{IndexedFile, SectionRecord};
pub use status::{FailedStep, JobStatus, StateCounts};
pub use symbols::SymbolRecord;
pub use work::{ClaimedStep, Commit, DescribeReceipt, Outcome, StepResult};

/// How long a writer waits for another program that holds the file.
const BUSY_WAIT: Duration = Duration::from_secs(60);

/// Why the store could not be used.
#[derive(Debug, Error)]
pub enum StoreError {
    /// There is no such file.
    #[error("there is no store at `{0}`")]
    Missing(PathBuf),
    /// The folder for it could not be made.
    #[error("cannot make the folder `{path}`")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is SQLite, but holds something else.
    #[error("`{path}` is no job store: it has no table `{table}`")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The first table missing.
        table: &'static str,
    },
    /// The file was written by a later version.
    #[error("the store has schema version {found}, this program knows {known}")]
    Newer {
        /// Version in the file.
        found: i64,
        /// Latest version known here.
        known: i64,
    },
    /// A step id of the plan is taken by another job.
    #[error("step id `{step_id}` already belongs to job `{job_id}`")]
    StepTaken {
        /// The id.
        step_id: StepId,
        /// The job that has it.
        job_id: JobId,
    },
    /// A step of a plan cannot be read.
    #[error(transparent)]
    Step(#[from] PlanFault),
    /// A step or a receipt has no canonical form.
    #[error(transparent)]
    NoForm(#[from] NoCanonicalForm),
    /// SQLite refused or failed.
    #[error("the store failed")]
    Sql(#[from] rusqlite::Error),
}

/// The store, to look at.
#[derive(Debug)]
pub struct StoreReader {
    connection: Connection,
}

/// The store, to write to.
#[derive(Debug)]
pub struct Store {
    reader: StoreReader,
}

impl Deref for Store {
    type Target = StoreReader;

    fn deref(&self) -> &StoreReader {
        &self.reader
    }
}

impl StoreReader {
    /// Opens a store, ours or of the field, without changing it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        require_file(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY_WAIT)?;
        let mut reader = Self { connection };
        if let Err(StoreError::Sql(error)) = reader.version()
            && error.sqlite_error_code() == Some(ErrorCode::CannotOpen)
            && !sidecar(path).exists()
        {
            // A store in WAL mode wants to make a file beside itself, which a read-only medium
            // does not let it. Without one there is nothing but the file, and nobody writes.
            let uri = immutable_uri(path);
            let connection = Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?;
            reader = Self { connection };
        }
        reader.require_known_version()?;
        for table in schema::FIELD_TABLES {
            if !reader.has_table(table)? {
                return Err(StoreError::Foreign {
                    path: path.to_owned(),
                    table,
                });
            }
        }
        Ok(reader)
    }

    fn version(&self) -> Result<i64, StoreError> {
        Ok(self
            .connection
            .query_row("PRAGMA user_version", [], |row| row.get(0))?)
    }

    fn require_known_version(&self) -> Result<i64, StoreError> {
        let found = self.version()?;
        let known = schema::MIGRATIONS.len() as i64;
        if found > known {
            Err(StoreError::Newer { found, known })
        } else {
            Ok(found)
        }
    }

    fn has_table(&self, name: &str) -> Result<bool, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT EXISTS(SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1)",
        )?;
        Ok(statement.query_row([name], |row| row.get(0))?)
    }
}

impl Store {
    /// Makes the store, or opens the one that is there.
    pub fn create(path: &Path) -> Result<Self, StoreError> {
        if let Some(folder) = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            fs::create_dir_all(folder).map_err(|source| StoreError::Folder {
                path: folder.to_owned(),
                source,
            })?;
        }
        Self::connect(path, OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens a store to write. A database of the field is adopted: its rows stay, and the
    /// tables, indexes and triggers it lacks are added.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        require_file(path)?;
        Self::connect(path, OpenFlags::empty())
    }

    fn connect(path: &Path, extra: OpenFlags) -> Result<Self, StoreError> {
        let connection = Connection::open_with_flags(
            path,
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | extra,
        )?;
        connection.busy_timeout(BUSY_WAIT)?;
        // WAL lets readers look while a worker commits. NORMAL keeps the file whole through any
        // crash; what a power cut may take back is the last commits, and those steps run again.
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "foreign_keys", "ON")?;
        connection.pragma_update(None, "trusted_schema", "OFF")?;
        connection.set_prepared_statement_cache_capacity(64);
        let mut store = Self {
            reader: StoreReader { connection },
        };
        store.migrate()?;
        Ok(store)
    }

    fn migrate(&mut self) -> Result<(), StoreError> {
        let known = schema::MIGRATIONS.len() as i64;
        if self.require_known_version()? == known {
            return Ok(());
        }
        let transaction = self
            .reader
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Read again under the lock: another program may have migrated meanwhile.
        let applied: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        let applied = usize::try_from(applied).unwrap_or(0);
        for migration in schema::MIGRATIONS.iter().skip(applied) {
            transaction.execute_batch(migration)?;
        }
        transaction.pragma_update(None, "user_version", known)?;
        transaction.commit()?;
        Ok(())
    }
}

/// Where SQLite keeps what is not yet in the file.
fn sidecar(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

/// The file as SQLite names one that does not change, with what a URI would take for its own
/// signs escaped.
fn immutable_uri(path: &Path) -> String {
    let escaped: String = path
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .map(|byte| match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                char::from(*byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect();
    format!("file:{escaped}?immutable=1")
}

fn require_file(path: &Path) -> Result<(), StoreError> {
    if path.is_file() {
        Ok(())
    } else {
        Err(StoreError::Missing(path.to_owned()))
    }
}

#[cfg(test)]
mod tests;
