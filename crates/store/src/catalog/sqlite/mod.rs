//! A catalogue in one SQLite file, for the programs of one machine.
//!
//! [`SqliteCatalogReader`] never changes the file; [`SqliteCatalog`] also writes, one transaction
//! per batch. Others can read during a write; writers wait for each other.

mod read;
mod schema;
mod select;
mod write;

use std::fs;
use std::ops::Deref;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::CatalogError;
use crate::tables::{Others, find_disguised, harden};
use runseal_fs::atomic::{WriteError, check_database};

/// How long a writer waits for another program that has locked the file.
const BUSY_WAIT: Duration = Duration::from_secs(60);
/// The page cache in KiB (negative, as SQLite defines it): large enough for a filter's indexes.
const PAGES_KIB: i64 = -16_384;

/// A catalogue file, opened for reading.
#[derive(Debug)]
pub struct SqliteCatalogReader {
    connection: Connection,
}

/// A catalogue file, opened for writing.
#[derive(Debug)]
pub struct SqliteCatalog {
    reader: SqliteCatalogReader,
}

impl Deref for SqliteCatalog {
    type Target = SqliteCatalogReader;

    fn deref(&self) -> &SqliteCatalogReader {
        &self.reader
    }
}

impl SqliteCatalogReader {
    /// Opens a catalogue without changing it.
    ///
    /// # Errors
    /// When it does not exist, is not a catalogue, or has a later version.
    pub fn open(path: &Path) -> Result<Self, CatalogError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Self::connect(path, flags)?;
        Ok(Self { connection })
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, CatalogError> {
        let may_create = flags.contains(OpenFlags::SQLITE_OPEN_CREATE);
        if !may_create && !path.is_file() {
            return Err(CatalogError::Missing(path.display().to_string()));
        }
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY_WAIT)?;
        connection.set_prepared_statement_cache_capacity(64);
        harden(&connection)?;
        // Checked before anything is queried or changed: a foreign file stays untouched.
        let version = check_version(&connection, path)?;
        if version == 0 && !may_create {
            return Err(CatalogError::Foreign(path.to_owned()));
        }
        if find_disguised(&connection, &schema::MIGRATIONS, Others::Refused)?.is_some() {
            return Err(CatalogError::Foreign(path.to_owned()));
        }
        connection.pragma_update(None, "cache_size", PAGES_KIB)?;
        Ok(connection)
    }
}

impl SqliteCatalog {
    /// Creates the catalogue, or opens the existing one.
    ///
    /// # Errors
    /// When it cannot be created, is not a catalogue, or has a later version.
    pub fn create(path: &Path) -> Result<Self, CatalogError> {
        let folder = path.parent();
        if let Some(folder) = folder.filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(|source| CatalogError::Folder {
                path: folder.to_owned(),
                source,
            })?;
        }
        Self::connect(path, OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens a catalogue for writing, and migrates it if needed.
    ///
    /// # Errors
    /// When it does not exist, is not a catalogue, or has a later version.
    pub fn open(path: &Path) -> Result<Self, CatalogError> {
        Self::connect(path, OpenFlags::empty())
    }

    fn connect(path: &Path, extra: OpenFlags) -> Result<Self, CatalogError> {
        if extra.contains(OpenFlags::SQLITE_OPEN_CREATE) || path.is_file() {
            let may_create = extra.contains(OpenFlags::SQLITE_OPEN_CREATE);
            check_database(path, may_create).map_err(WriteError::at(path))?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = SqliteCatalogReader::connect(path, flags | extra)?;
        // WAL allows others to read while a batch is written. NORMAL keeps the file consistent
        // through any crash; a power failure may undo the last batches, which can be added again.
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "foreign_keys", "ON")?;
        let mut catalog = Self {
            reader: SqliteCatalogReader { connection },
        };
        catalog.migrate()?;
        Ok(catalog)
    }

    fn migrate(&mut self) -> Result<(), CatalogError> {
        let known = schema::MIGRATIONS.len() as i64;
        if version(&self.connection)? == known {
            return Ok(());
        }
        let transaction = self
            .reader
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Read again under the lock: another program may have migrated meanwhile.
        let applied = usize::try_from(version(&transaction)?).unwrap_or(0);
        for migration in schema::MIGRATIONS.iter().skip(applied) {
            transaction.execute_batch(migration)?;
        }
        transaction.pragma_update(None, "application_id", schema::APPLICATION)?;
        transaction.pragma_update(None, "user_version", known)?;
        transaction.commit()?;
        Ok(())
    }
}

fn version(connection: &Connection) -> Result<i64, CatalogError> {
    Ok(connection.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

/// Reads the version of a file; 0 if it is empty. Fails if it is not a catalogue.
fn check_version(connection: &Connection, path: &Path) -> Result<i64, CatalogError> {
    let foreign = || CatalogError::Foreign(path.to_owned());
    let inspect = || -> rusqlite::Result<(i64, i64, i64)> {
        // Read all of it from one snapshot: another program may be creating the tables.
        let _state = connection.unchecked_transaction()?;
        let pragma = |name: &str| {
            connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0))
        };
        let tables =
            connection.query_row("SELECT COUNT(*) FROM sqlite_master", [], |row| row.get(0))?;
        Ok((pragma("application_id")?, pragma("user_version")?, tables))
    };
    let (application, found, tables) = match inspect() {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            return Err(foreign());
        }
        result => result?,
    };
    let known = schema::MIGRATIONS.len() as i64;
    match (application, tables) {
        (0, 0) => Ok(0),
        (schema::APPLICATION, _) if found > known => Err(CatalogError::Newer { found, known }),
        (schema::APPLICATION, _) => Ok(found),
        _ => Err(foreign()),
    }
}
