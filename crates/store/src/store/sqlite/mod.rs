//! A store in one SQLite file, for the programs of one machine.
//!
//! [`SqliteReader`] never changes the file, so a database made elsewhere can be opened for building
//! and stays as it is; [`SqliteStore`] also writes. The database itself enforces the invariants of
//! every writer (see `schema`). The clock is SQLite's and affects only the columns that record when
//! something happened.
//!
//! For one machine only: the file is in WAL mode, whose shared memory does not work on network file
//! systems.

mod copy;
mod jobs;
mod queue;
mod schema;
mod sections;
mod status;
mod store;
mod symbols;
mod work;

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::StoreError;
use crate::tables::{Others, find_disguised, harden};
use runseal_fs::atomic::{WriteError, check_database};

/// The current time in the format of the columns that are compared.
const NOW: &str = "strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')";

/// Returns the modifier of SQLite's time functions for a time `seconds` from now.
fn lease_until(seconds: f64) -> String {
    format!("{seconds:+.3} seconds")
}

/// How long a writer waits for another program that has locked the file.
const BUSY_WAIT: Duration = Duration::from_secs(60);

/// A store file, opened for reading.
#[derive(Debug)]
pub struct SqliteReader {
    connection: Connection,
}

/// A store file, opened for writing.
#[derive(Debug)]
pub struct SqliteStore {
    reader: SqliteReader,
}

impl Deref for SqliteStore {
    type Target = SqliteReader;

    fn deref(&self) -> &SqliteReader {
        &self.reader
    }
}

impl SqliteReader {
    /// Opens a store, ours or another program's, without changing it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        require_file(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY_WAIT)?;
        harden(&connection)?;
        let mut reader = Self { connection };
        if let Err(StoreError::Sql(error)) = reader.version()
            && error.sqlite_error_code() == Some(ErrorCode::CannotOpen)
            && !sidecar(path).exists()
        {
            // A store in WAL mode needs to create a file next to itself, which a read-only medium
            // does not allow. Without that file, the database is complete and no one is writing.
            let uri = immutable_uri(path);
            let connection = Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?;
            harden(&connection)?;
            reader = Self { connection };
        }
        reader.require_known_version()?;
        reader.require_tables(path, Others::Allowed)?;
        for table in schema::FIELD_TABLES {
            if !reader.has_table(table)? {
                return Err(StoreError::Foreign {
                    path: path.to_owned(),
                    table: table.to_owned(),
                });
            }
        }
        Ok(reader)
    }

    /// Refuses a file in which something else has the name of one of our tables.
    fn require_tables(&self, path: &Path, others: Others) -> Result<(), StoreError> {
        match find_disguised(&self.connection, &schema::MIGRATIONS, others)? {
            Some(table) => Err(StoreError::Foreign {
                path: path.to_owned(),
                table: table.escape_debug().to_string(),
            }),
            None => Ok(()),
        }
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

impl SqliteStore {
    /// Creates the store, or opens the existing one.
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

    /// Opens a store for writing. Another program's database is adopted: its rows stay, and missing
    /// tables, indexes and triggers are added.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        require_file(path)?;
        Self::connect(path, OpenFlags::empty())
    }

    fn connect(path: &Path, extra: OpenFlags) -> Result<Self, StoreError> {
        let may_create = extra.contains(OpenFlags::SQLITE_OPEN_CREATE);
        check_database(path, may_create).map_err(WriteError::at(path))?;
        let connection = Connection::open_with_flags(
            path,
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | extra,
        )?;
        connection.busy_timeout(BUSY_WAIT)?;
        harden(&connection)?;
        // WAL allows others to read while a worker commits. NORMAL keeps the file consistent
        // through any crash; a power failure may undo the last commits, and those steps run again.
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "foreign_keys", "ON")?;
        connection.set_prepared_statement_cache_capacity(64);
        let mut store = Self {
            reader: SqliteReader { connection },
        };
        store.require_known_version()?;
        store.require_tables(path, Others::WithoutTriggers)?;
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

/// Returns the path where SQLite keeps what is not in the file yet.
fn sidecar(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

/// Returns the URI of a file that SQLite may treat as immutable, with special characters escaped.
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
