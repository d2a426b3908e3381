//! Reads entries from the file.

use runseal_core::digest::Digest;
use rusqlite::{Row, params};

use super::{SqliteCatalog, SqliteCatalogReader};
use crate::catalog::select::select;
use crate::catalog::sql::digest_range;
use crate::catalog::{CatalogError, CatalogReader, Entry, Query, Scalar, Sighting, ValueName};

/// Reads the digest in a column.
pub(super) fn digest_at(row: &Row<'_>, at: usize) -> Result<Digest, CatalogError> {
    let bytes = row.get_ref(at)?.as_blob().map_err(rusqlite::Error::from)?;
    let bytes: [u8; 32] = bytes
        .try_into()
        .map_err(|_| CatalogError::Damaged("a digest does not have 32 bytes"))?;
    Ok(Digest::from_bytes(bytes))
}

/// Reads a text column, in which the empty text means none.
fn text_at(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<String>> {
    let text: String = row.get(at)?;
    Ok(Some(text).filter(|text| !text.is_empty()))
}

impl SqliteCatalogReader {
    /// Reads one entry; `None` if another program has removed it meanwhile.
    pub(super) fn entry(&self, run: i64) -> Result<Option<Entry>, CatalogError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT digest, format, id, engine, outcome, time, left_out
             FROM catalog_runs WHERE run = ?1",
        )?;
        let mut rows = statement.query([run])?;
        let Some(row) = rows.next()? else {
            return Ok(None);
        };
        let mut entry = Entry {
            digest: digest_at(row, 0)?,
            format: row.get(1)?,
            id: text_at(row, 2)?,
            engine: text_at(row, 3)?,
            outcome: text_at(row, 4)?,
            time: text_at(row, 5)?,
            left_out: row.get(6)?,
            values: Default::default(),
            sightings: Default::default(),
            tags: Default::default(),
        };
        let mut values = self
            .connection
            .prepare_cached("SELECT name, number, text FROM catalog_values WHERE run = ?1")?;
        let mut rows = values.query([run])?;
        while let Some(row) = rows.next()? {
            let name = ValueName::parse(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?);
            let scalar = Scalar::from_columns(row.get(1)?, row.get(2)?);
            let (Some(name), Some(scalar)) = (name, scalar) else {
                return Err(CatalogError::Damaged("a value has no name or no content"));
            };
            entry.values.insert(name, scalar);
        }
        let mut places = self
            .connection
            .prepare_cached("SELECT place, signer FROM catalog_places WHERE run = ?1")?;
        let mut rows = places.query([run])?;
        while let Some(row) = rows.next()? {
            entry.sightings.insert(Sighting {
                place: row.get(0)?,
                signer: row.get(1)?,
            });
        }
        let mut tags = self
            .connection
            .prepare_cached("SELECT tag FROM catalog_tags WHERE run = ?1")?;
        let mut rows = tags.query([run])?;
        while let Some(row) = rows.next()? {
            entry.tags.insert(row.get(0)?);
        }
        Ok(Some(entry))
    }
}

impl CatalogReader for SqliteCatalogReader {
    fn visit(&self, query: &Query, see: &mut dyn FnMut(Entry) -> bool) -> Result<(), CatalogError> {
        // Read from one snapshot of the file, whatever others write meanwhile.
        let transaction = self.connection.unchecked_transaction()?;
        let mut tables = self;
        for run in select(&mut tables, query)? {
            if let Some(entry) = self.entry(run)?
                && !see(entry)
            {
                break;
            }
        }
        transaction.finish()?;
        Ok(())
    }

    fn digests(&self, prefix: &str, most: usize) -> Result<Vec<Digest>, CatalogError> {
        let Some((first, last)) = digest_range(prefix) else {
            return Ok(Vec::new());
        };
        let mut statement = self.connection.prepare_cached(
            "SELECT digest FROM catalog_runs WHERE digest BETWEEN ?1 AND ?2
             ORDER BY digest LIMIT ?3",
        )?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut rows = statement.query(params![first, last, most])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(digest_at(row, 0)?);
        }
        Ok(found)
    }

    fn tagged(&self, tag: &str) -> Result<Vec<Digest>, CatalogError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT r.digest FROM catalog_tags t JOIN catalog_runs r ON r.run = t.run
             WHERE t.tag = ?1 ORDER BY r.digest",
        )?;
        let mut rows = statement.query([tag])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(digest_at(row, 0)?);
        }
        Ok(found)
    }

    fn count(&self) -> Result<u64, CatalogError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT COUNT(*) FROM catalog_runs")?;
        Ok(statement.query_row([], |row| row.get(0))?)
    }
}

impl CatalogReader for SqliteCatalog {
    fn visit(&self, query: &Query, see: &mut dyn FnMut(Entry) -> bool) -> Result<(), CatalogError> {
        self.reader.visit(query, see)
    }

    fn digests(&self, prefix: &str, most: usize) -> Result<Vec<Digest>, CatalogError> {
        self.reader.digests(prefix, most)
    }

    fn tagged(&self, tag: &str) -> Result<Vec<Digest>, CatalogError> {
        self.reader.tagged(tag)
    }

    fn count(&self) -> Result<u64, CatalogError> {
        self.reader.count()
    }
}
