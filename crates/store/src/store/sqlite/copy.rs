//! Copies whole stores: reads every row of one, and imports another's.

use rusqlite::types::{Value, ValueRef};
use rusqlite::{TransactionBehavior, params_from_iter};

use super::{SqliteReader, SqliteStore};
use crate::store::{Cell, Copied, StoreError, StoreReader, TABLES, Table};

impl SqliteReader {
    /// Calls `see` with every row of a table, in the order of its key. A table that a foreign store
    /// lacks has no rows.
    pub(super) fn visit_rows(
        &self,
        table: &Table,
        see: &mut dyn FnMut(Vec<Cell>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        if !self.has_table(table.name)? {
            return Ok(());
        }
        let names: Vec<_> = table.columns.iter().map(|(name, _)| *name).collect();
        let query = format!(
            "SELECT {} FROM {} ORDER BY {}",
            names.join(", "),
            table.name,
            names[..table.key].join(", ")
        );
        let mut statement = self.connection.prepare(&query)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let mut cells = Vec::with_capacity(names.len());
            for at in 0..names.len() {
                cells.push(match row.get_ref(at)? {
                    ValueRef::Null => Cell::Null,
                    ValueRef::Integer(number) => Cell::Integer(number),
                    ValueRef::Real(number) => Cell::Text(number.to_string()),
                    ValueRef::Text(_) | ValueRef::Blob(_) => Cell::Text(row.get(at)?),
                });
            }
            see(cells)?;
        }
        Ok(())
    }
}

impl SqliteStore {
    /// Imports every row of another store; all of it or nothing.
    pub(super) fn import(&mut self, from: &dyn StoreReader) -> Result<Copied, StoreError> {
        let transaction = self
            .reader
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut copied = Copied::new();
        for table in &TABLES {
            let any = format!("SELECT EXISTS(SELECT 1 FROM {})", table.name);
            if transaction.query_row(&any, [], |row| row.get(0))? {
                return Err(StoreError::NotEmpty(table.name));
            }
        }
        // The triggers enforce how steps change, but imported steps arrive in their final state.
        // The triggers are restored before anyone else can access the file.
        let triggers: Vec<(String, String)> = transaction
            .prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        for (name, _) in &triggers {
            transaction.execute_batch(&format!("DROP TRIGGER \"{name}\""))?;
        }
        for table in &TABLES {
            let names: Vec<_> = table.columns.iter().map(|(name, _)| *name).collect();
            let places = vec!["?"; names.len()].join(", ");
            let mut insert = transaction.prepare(&format!(
                "INSERT INTO {}({}) VALUES({places})",
                table.name,
                names.join(", ")
            ))?;
            let mut count = 0;
            from.visit_rows(table, &mut |cells| {
                count += 1;
                insert.execute(params_from_iter(cells.into_iter().map(|cell| match cell {
                    Cell::Null => Value::Null,
                    Cell::Integer(number) => Value::Integer(number),
                    Cell::Text(text) => Value::Text(text),
                })))?;
                Ok(())
            })?;
            copied.insert(table.name, count);
        }
        for (_, sql) in &triggers {
            transaction.execute_batch(sql)?;
        }
        transaction.commit()?;
        Ok(copied)
    }
}
