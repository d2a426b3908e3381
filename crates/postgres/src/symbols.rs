//! Symbols: names for sections, with an optional default slice.

use postgres::types::Type;
use postgres::{Client, Row};
use runseal_store::store::SymbolRecord;

use crate::error::DatabaseError;
use crate::jobs::storable;

fn symbol_from_row(row: &Row) -> SymbolRecord {
    SymbolRecord {
        symbol_id: row.get(0),
        section_id: row.get::<_, Option<String>>(1).unwrap_or_default(),
        default_slice: row.get(2),
    }
}

pub(crate) fn symbols_named(
    client: &mut Client,
    names: &[&str],
) -> Result<Vec<SymbolRecord>, DatabaseError> {
    let rows = client.query_typed(
        "SELECT symbol_id, target_ref, default_slice FROM symbols WHERE symbol_id = ANY($1)",
        &[(&names, Type::TEXT_ARRAY)],
    )?;
    Ok(rows.iter().map(symbol_from_row).collect())
}

pub(crate) fn symbols(client: &mut Client) -> Result<Vec<SymbolRecord>, DatabaseError> {
    let rows = client.query_typed(
        "SELECT symbol_id, target_ref, default_slice FROM symbols ORDER BY symbol_id",
        &[],
    )?;
    Ok(rows.iter().map(symbol_from_row).collect())
}

pub(crate) fn put_symbol(client: &mut Client, symbol: &SymbolRecord) -> Result<(), DatabaseError> {
    storable("the symbol's name", &symbol.symbol_id)?;
    client.execute_typed(
        "INSERT INTO symbols(symbol_id, target_type, target_ref, default_slice)
         VALUES($1, 'SECTION', $2, $3)
         ON CONFLICT (symbol_id) DO UPDATE SET target_ref = excluded.target_ref,
             default_slice = excluded.default_slice, updated_at = clock_timestamp()",
        &[
            (&symbol.symbol_id, Type::TEXT),
            (&symbol.section_id, Type::TEXT),
            (&symbol.default_slice, Type::TEXT),
        ],
    )?;
    Ok(())
}

pub(crate) fn remove_symbol(client: &mut Client, symbol_id: &str) -> Result<bool, DatabaseError> {
    let removed = client.execute_typed(
        "DELETE FROM symbols WHERE symbol_id = $1",
        &[(&symbol_id, Type::TEXT)],
    )?;
    Ok(removed == 1)
}
