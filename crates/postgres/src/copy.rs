//! Copies whole stores: reads every row, and imports the rows of another store.

use postgres::types::{ToSql, Type};
use postgres::{Client, Transaction};
use runseal_store::store::{Cell, ColumnKind, Copied, StoreError, StoreReader, TABLES, Table};

use crate::error::DatabaseError;

/// Rows per request.
const CHUNK: usize = 1000;

/// Reads the next page of rows after the one with the key `last`.
pub(crate) fn rows_page(
    client: &mut Client,
    table: &Table,
    last: Option<&[String]>,
) -> Result<Vec<Vec<Cell>>, DatabaseError> {
    let columns: Vec<String> = table
        .columns
        .iter()
        .map(|(name, kind)| match kind {
            ColumnKind::Time => format!(
                "to_char({name} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"+00:00\"')"
            ),
            ColumnKind::Text | ColumnKind::Integer => (*name).to_owned(),
        })
        .collect();
    let key: Vec<_> = table.columns[..table.key]
        .iter()
        .map(|(name, _)| *name)
        .collect();
    let key = key.join(", ");
    let mut parameters: Vec<(&(dyn ToSql + Sync), Type)> = Vec::new();
    let condition = match last {
        None => String::new(),
        Some(last) => {
            let places: Vec<_> = (1..=last.len()).map(|at| format!("${at}")).collect();
            for part in last {
                parameters.push((part, Type::TEXT));
            }
            format!("WHERE ({key}) > ({})", places.join(", "))
        }
    };
    let query = format!(
        "SELECT {} FROM {} {condition} ORDER BY {key} LIMIT {CHUNK}",
        columns.join(", "),
        table.name
    );
    let rows = client.query_typed(&query, &parameters)?;
    let cells = rows.iter().map(|row| {
        let cells = table.columns.iter().enumerate();
        let cells = cells.map(|(at, (_, kind))| match kind {
            ColumnKind::Integer => row.get::<_, Option<i64>>(at).map(Cell::Integer),
            ColumnKind::Text | ColumnKind::Time => row.get::<_, Option<String>>(at).map(Cell::Text),
        });
        cells.map(|cell| cell.unwrap_or(Cell::Null)).collect()
    });
    Ok(cells.collect())
}

/// Returns the key of a row.
pub(crate) fn key_of(table: &Table, row: &[Cell]) -> Vec<String> {
    let key = row[..table.key].iter().map(|cell| match cell {
        Cell::Null => String::new(),
        Cell::Integer(number) => number.to_string(),
        Cell::Text(text) => text.clone(),
    });
    key.collect()
}

/// Imports every row of another store in one transaction.
pub(crate) fn import(client: &mut Client, from: &dyn StoreReader) -> Result<Copied, DatabaseError> {
    let mut transaction = client.transaction()?;
    let names: Vec<_> = TABLES.iter().map(|table| table.name).collect();
    transaction.batch_execute(&format!(
        "LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE",
        names.join(", ")
    ))?;
    for table in &TABLES {
        let any = format!("SELECT EXISTS(SELECT 1 FROM {})", table.name);
        if transaction.query_typed_one(&any, &[])?.get(0) {
            return Err(DatabaseError::Store(StoreError::NotEmpty(table.name)));
        }
    }
    // The triggers enforce how steps change, but imported steps arrive in their final state. The
    // triggers are enabled again before others can write.
    for table in &TABLES {
        transaction.batch_execute(&format!("ALTER TABLE {} DISABLE TRIGGER USER", table.name))?;
    }
    let mut copied = Copied::new();
    for table in &TABLES {
        copied.insert(table.name, import_table(&mut transaction, table, from)?);
    }
    for table in &TABLES {
        transaction.batch_execute(&format!("ALTER TABLE {} ENABLE TRIGGER USER", table.name))?;
    }
    transaction.commit()?;
    let _ = client.batch_execute("ANALYZE");
    Ok(copied)
}

fn import_table(
    transaction: &mut Transaction<'_>,
    table: &Table,
    from: &dyn StoreReader,
) -> Result<u64, DatabaseError> {
    let mut count = 0;
    let mut waiting = Vec::with_capacity(CHUNK);
    let mut refused = None;
    let visited = from.visit_rows(table, &mut |row| {
        count += 1;
        waiting.push(row);
        if waiting.len() == CHUNK
            && let Err(error) = insert(transaction, table, &waiting)
        {
            refused = Some(error);
            return Err(StoreError::NotEmpty(table.name));
        }
        if waiting.len() == CHUNK {
            waiting.clear();
        }
        Ok(())
    });
    if let Some(error) = refused {
        return Err(error);
    }
    visited?;
    if !waiting.is_empty() {
        insert(transaction, table, &waiting)?;
    }
    Ok(count)
}

/// The values of one column in several rows, in the server's type.
enum Column {
    Text(Vec<Option<String>>),
    Integer(Vec<Option<i64>>),
}

fn insert(
    transaction: &mut Transaction<'_>,
    table: &Table,
    rows: &[Vec<Cell>],
) -> Result<(), DatabaseError> {
    let columns: Vec<Column> = table
        .columns
        .iter()
        .enumerate()
        .map(|(at, (_, kind))| {
            let cells = rows.iter().map(|row| &row[at]);
            match kind {
                ColumnKind::Integer => Column::Integer(cells.map(integer).collect()),
                ColumnKind::Text => Column::Text(cells.map(text).collect()),
                ColumnKind::Time => Column::Text(cells.map(time).collect()),
            }
        })
        .collect();
    let names: Vec<_> = table.columns.iter().map(|(name, _)| *name).collect();
    let values: Vec<_> = table
        .columns
        .iter()
        .map(|(name, kind)| match kind {
            ColumnKind::Time => format!("{name}::timestamptz"),
            ColumnKind::Text | ColumnKind::Integer => (*name).to_owned(),
        })
        .collect();
    let places: Vec<_> = (1..=names.len()).map(|at| format!("${at}")).collect();
    let query = format!(
        "INSERT INTO {table}({names}) SELECT {values} FROM UNNEST({places}) AS new({names})",
        table = table.name,
        names = names.join(", "),
        values = values.join(", "),
        places = places.join(", ")
    );
    let parameters: Vec<(&(dyn ToSql + Sync), Type)> = columns
        .iter()
        .map(|column| -> (&(dyn ToSql + Sync), Type) {
            match column {
                Column::Text(texts) => (texts, Type::TEXT_ARRAY),
                Column::Integer(numbers) => (numbers, Type::INT8_ARRAY),
            }
        })
        .collect();
    transaction.execute_typed(&query, &parameters)?;
    Ok(())
}

fn text(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Null => None,
        Cell::Integer(number) => Some(number.to_string()),
        Cell::Text(text) => Some(text.clone()),
    }
}

fn integer(cell: &Cell) -> Option<i64> {
    match cell {
        Cell::Null => None,
        Cell::Integer(number) => Some(*number),
        Cell::Text(text) => text.parse().ok(),
    }
}

/// Converts a time to the server's format; returns `None` if the other store has something else there.
fn time(cell: &Cell) -> Option<String> {
    let Cell::Text(text) = cell else { return None };
    let whole = text.get(..19)?.replacen('T', " ", 1);
    let shape = "dddd-dd-dd dd:dd:dd";
    let fits = whole.bytes().zip(shape.bytes()).all(|pair| match pair {
        (byte, b'd') => byte.is_ascii_digit(),
        (byte, expected) => byte == expected,
    });
    let rest = &text[19..];
    let fraction = rest
        .strip_suffix("+00:00")
        .or_else(|| rest.strip_suffix('Z'))
        .unwrap_or(rest);
    let digits = fraction.strip_prefix('.').unwrap_or(fraction);
    let in_range = |range: std::ops::Range<usize>, most: u32| {
        whole[range]
            .parse::<u32>()
            .is_ok_and(|number| number <= most)
    };
    let is_time = fits
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && (1..=12).contains(&whole[5..7].parse::<u32>().ok()?)
        && (1..=31).contains(&whole[8..10].parse::<u32>().ok()?)
        && in_range(11..13, 23)
        && in_range(14..16, 59)
        && in_range(17..19, 59);
    is_time.then(|| format!("{whole}{fraction}+00"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_either_store_is_converted_and_other_text_is_none() {
        let read = |text: &str| time(&Cell::Text(text.to_owned()));
        let iso = read("2026-11-17T03:12:02.125+00:00").unwrap();
        assert_eq!(iso, "2026-11-17 03:12:02.125+00");
        assert_eq!(
            read("2026-11-17 03:12:02").unwrap(),
            "2026-11-17 03:12:02+00"
        );
        for other in [
            "then",
            "",
            "2026-13-17 03:12:02",
            "2026-11-17 03:12:02+01:00",
            "äöüäöüäöüäöü",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
