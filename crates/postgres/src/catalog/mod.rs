//! The catalogue on the server.
//!
//! Filters are evaluated by `runseal_store::catalog::select`; each set of runs is sent as one value.
//! Entries are fetched page by page, so that the server keeps nothing between pages.

mod read;
mod write;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use runseal_core::digest::Digest;
use runseal_store::catalog::{Added, Catalog, CatalogError, CatalogReader, Entry, Existing, Query};

use crate::address::Address;
use crate::connection::Connection;
use crate::schema;

/// Entries per page.
const PAGE: usize = 500;

/// A catalogue on a server.
pub struct PostgresCatalog {
    connection: Connection,
}

impl fmt::Debug for PostgresCatalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.connection.place();
        f.debug_tuple("PostgresCatalog").field(&place).finish()
    }
}

impl PostgresCatalog {
    /// Creates the catalogue in the database at this address, or opens the existing one.
    ///
    /// # Errors
    /// If the server cannot be reached or refuses.
    pub fn create(address: &str) -> Result<Self, CatalogError> {
        let connection = Connection::open(Arc::new(Address::parse(address)?))?;
        connection.run(|client, _| schema::migrate(client))?;
        Ok(Self { connection })
    }

    /// Opens an existing catalogue.
    ///
    /// # Errors
    /// If there is none, or the server cannot be reached or refuses.
    pub fn open(address: &str) -> Result<Self, CatalogError> {
        let connection = Connection::open(Arc::new(Address::parse(address)?))?;
        let exists = connection.run(|client, _| schema::has_table(client, "catalog_runs"))?;
        if !exists {
            return Err(CatalogError::Missing(connection.place().to_owned()));
        }
        Ok(Self { connection })
    }
}

impl CatalogReader for PostgresCatalog {
    fn visit(&self, query: &Query, see: &mut dyn FnMut(Entry) -> bool) -> Result<(), CatalogError> {
        let (runs, first) = self
            .connection
            .run(|client, _| read::select_runs(client, query, PAGE))?;
        let mut first = Some(first);
        for page in runs.chunks(PAGE) {
            let entries = match first.take() {
                Some(entries) => entries,
                None => self
                    .connection
                    .run(|client, _| read::entries(client, page))?,
            };
            for entry in entries {
                if !see(entry) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn digests(&self, prefix: &str, most: usize) -> Result<Vec<Digest>, CatalogError> {
        Ok(self
            .connection
            .run(|client, _| read::digests(client, prefix, most))?)
    }

    fn tagged(&self, tag: &str) -> Result<Vec<Digest>, CatalogError> {
        // PostgreSQL cannot store NUL, so no such tag exists here.
        if tag.contains('\0') {
            return Ok(Vec::new());
        }
        Ok(self.connection.run(|client, _| read::tagged(client, tag))?)
    }

    fn count(&self) -> Result<u64, CatalogError> {
        Ok(self.connection.run(|client, _| read::count(client))?)
    }
}

impl Catalog for PostgresCatalog {
    fn add(&mut self, entries: &[Entry], existing: Existing) -> Result<Added, CatalogError> {
        Ok(self
            .connection
            .run(|client, _| write::add(client, entries, existing))?)
    }

    fn retain(&mut self, seen: &BTreeSet<(Digest, String)>) -> Result<u64, CatalogError> {
        Ok(self
            .connection
            .run(|client, _| write::retain(client, seen))?)
    }

    fn tag(
        &mut self,
        digests: &[Digest],
        add: &BTreeSet<String>,
        remove: &BTreeSet<String>,
    ) -> Result<u64, CatalogError> {
        Ok(self
            .connection
            .run(|client, _| write::tag(client, digests, add, remove))?)
    }

    fn remove(&mut self, digests: &[Digest]) -> Result<u64, CatalogError> {
        Ok(self
            .connection
            .run(|client, _| write::remove(client, digests))?)
    }

    fn as_reader(&self) -> &dyn CatalogReader {
        self
    }
}
