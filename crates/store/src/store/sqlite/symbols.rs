//! Symbols: names for sections, with an optional default slice.

use rusqlite::{OptionalExtension, Row, params};

use super::{SqliteReader, SqliteStore};
use crate::store::{StoreError, SymbolRecord};

/// The table of symbols, which a store made elsewhere may lack.
const TABLE: &str = "symbols";

fn symbol_from_row(row: &Row<'_>) -> rusqlite::Result<SymbolRecord> {
    Ok(SymbolRecord {
        symbol_id: row.get(0)?,
        section_id: row.get::<_, Option<String>>(1)?.unwrap_or_default(),
        default_slice: row.get(2)?,
    })
}

impl SqliteReader {
    /// Returns the symbol of this name.
    pub(super) fn symbol(&self, symbol_id: &str) -> Result<Option<SymbolRecord>, StoreError> {
        if !self.has_table(TABLE)? {
            return Err(StoreError::Foreign {
                path: self.connection.path().unwrap_or_default().into(),
                table: TABLE.to_owned(),
            });
        }
        let mut statement = self.connection.prepare_cached(
            "SELECT symbol_id, target_ref, default_slice FROM symbols WHERE symbol_id = ?1",
        )?;
        Ok(statement
            .query_row([symbol_id], symbol_from_row)
            .optional()?)
    }

    /// Returns every symbol, by name.
    pub(super) fn symbols(&self) -> Result<Vec<SymbolRecord>, StoreError> {
        if !self.has_table(TABLE)? {
            return Ok(Vec::new());
        }
        let mut statement = self.connection.prepare(
            "SELECT symbol_id, target_ref, default_slice FROM symbols ORDER BY symbol_id",
        )?;
        let rows = statement.query_map([], symbol_from_row)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

impl SqliteStore {
    /// Adds or redirects a symbol. Its section must exist.
    pub(super) fn put_symbol(&mut self, symbol: &SymbolRecord) -> Result<(), StoreError> {
        self.connection.execute(
            "INSERT INTO symbols(symbol_id, target_type, target_ref, default_slice, created_at,
                 updated_at)
             VALUES(?1, 'SECTION', ?2, ?3, datetime('now'), datetime('now'))
             ON CONFLICT(symbol_id) DO UPDATE SET target_ref = excluded.target_ref,
                 default_slice = excluded.default_slice, updated_at = excluded.updated_at",
            params![symbol.symbol_id, symbol.section_id, symbol.default_slice],
        )?;
        Ok(())
    }

    /// Removes a symbol; returns whether it existed.
    pub(super) fn remove_symbol(&mut self, symbol_id: &str) -> Result<bool, StoreError> {
        let removed = self
            .connection
            .execute("DELETE FROM symbols WHERE symbol_id = ?1", [symbol_id])?;
        Ok(removed == 1)
    }
}
