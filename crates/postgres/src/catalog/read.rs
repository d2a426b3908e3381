//! Looking at what is on the server.

use std::collections::BTreeMap;

use postgres::types::{ToSql, Type};
use postgres::{Client, GenericClient, Row};
use runseal_core::digest::Digest;
use runseal_engine::catalog::sql::{Bound, Shape, SqlDialect, SqlText, add_test, digest_range};
use runseal_engine::catalog::{Entry, Filter, Query, Scalar, Sighting, ValueName};
use runseal_engine::store::StoreError;

use crate::error::Trouble;

/// A parameter and its type.
type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

fn parameters(bound: &[Bound]) -> Vec<Parameter<'_>> {
    let parameters = bound.iter().map(|value| match value {
        Bound::Text(text) => (text as &(dyn ToSql + Sync), Type::TEXT),
        Bound::Number(number) => (number as &(dyn ToSql + Sync), Type::FLOAT8),
        Bound::Bytes(bytes) => (bytes as &(dyn ToSql + Sync), Type::BYTEA),
    });
    parameters.collect()
}

/// The runs that a query is about, in order and up to its limit.
pub(super) fn select(client: &mut Client, query: &Query) -> Result<Vec<i64>, Trouble> {
    let mut sql = SqlText::new(SqlDialect::Postgres);
    sql.push("SELECT r.run FROM catalog_runs r WHERE true");
    if let Some(filter) = &query.filter {
        sql.push(" AND (");
        add_filter(&mut sql, filter);
        sql.push(")");
    }
    if !query.words.is_empty() {
        // Words hold letters and digits only, so quotes around them are enough.
        let asked: Vec<_> = query
            .words
            .iter()
            .map(|word| format!("'{word}':*"))
            .collect();
        sql.push(" AND r.words @@ CAST(");
        sql.bind(Bound::Text(asked.join(" & ")))
            .push(" AS tsquery)");
    }
    sql.push(" ORDER BY r.time DESC, r.digest");
    if let Some(limit) = query.limit {
        sql.push(&format!(" LIMIT {limit}"));
    }
    let mut transaction = client.transaction()?;
    // Compiling a statement takes longer than any of these runs.
    transaction.batch_execute("SET LOCAL jit = off")?;
    let rows = transaction.query_typed(&sql.text, &parameters(&sql.bound))?;
    transaction.commit()?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

fn add_filter(sql: &mut SqlText, filter: &Filter) {
    let join = |sql: &mut SqlText, parts: &[Filter], word: &str| {
        for (at, part) in parts.iter().enumerate() {
            sql.push(if at == 0 { "(" } else { word });
            add_filter(sql, part);
        }
        sql.push(if parts.is_empty() { "true" } else { ")" });
    };
    match filter {
        Filter::All(parts) => join(sql, parts, " AND "),
        Filter::Any(parts) => join(sql, parts, " OR "),
        Filter::Not(part) => {
            sql.push("NOT (");
            add_filter(sql, part);
            sql.push(")");
        }
        Filter::Test(test) => {
            let begin = sql.text.len();
            let (open, close) = match add_test(sql, test) {
                Shape::Condition => ("(", ")"),
                Shape::Query => ("r.run IN (", ")"),
            };
            sql.text.insert_str(begin, open);
            sql.push(close);
        }
    }
}

/// The entries of these runs, in this order; those that are gone are left out.
pub(super) fn entries(client: &mut Client, runs: &[i64]) -> Result<Vec<Entry>, Trouble> {
    let mut transaction = client
        .build_transaction()
        .isolation_level(postgres::IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()?;
    let entries = read_entries(&mut transaction, runs)?;
    transaction.commit()?;
    Ok(entries)
}

pub(super) fn read_entries(
    client: &mut impl GenericClient,
    runs: &[i64],
) -> Result<Vec<Entry>, Trouble> {
    let asked: [Parameter<'_>; 1] = [(&runs, Type::INT8_ARRAY)];
    let rows = client.query_typed(
        "SELECT run, digest, format, id, engine, outcome, time, left_out
         FROM catalog_runs WHERE run = ANY($1)",
        &asked,
    )?;
    let mut entries: BTreeMap<i64, Entry> = BTreeMap::new();
    for row in &rows {
        let text = |at: usize| Some(row.get::<_, String>(at)).filter(|text| !text.is_empty());
        let entry = Entry {
            digest: digest_at(row, 1)?,
            format: row.get(2),
            id: text(3),
            engine: text(4),
            outcome: text(5),
            time: text(6),
            left_out: row.get::<_, i64>(7).unsigned_abs(),
            values: BTreeMap::new(),
            sightings: Default::default(),
            tags: Default::default(),
        };
        entries.insert(row.get(0), entry);
    }
    let rows = client.query_typed(
        "SELECT run, name, number, text FROM catalog_values WHERE run = ANY($1)",
        &asked,
    )?;
    for row in &rows {
        let name = ValueName::parse(row.get(1));
        let scalar = Scalar::from_columns(row.get(2), row.get(3));
        let (Some(name), Some(scalar)) = (name, scalar) else {
            return Err(damaged("a value in the catalogue").into());
        };
        if let Some(entry) = entries.get_mut(&row.get::<_, i64>(0)) {
            entry.values.insert(name, scalar);
        }
    }
    let rows = client.query_typed(
        "SELECT run, place, signer FROM catalog_places WHERE run = ANY($1)",
        &asked,
    )?;
    for row in &rows {
        if let Some(entry) = entries.get_mut(&row.get::<_, i64>(0)) {
            entry.sightings.insert(Sighting {
                place: row.get(1),
                signer: row.get(2),
            });
        }
    }
    let rows = client.query_typed(
        "SELECT run, tag FROM catalog_tags WHERE run = ANY($1)",
        &asked,
    )?;
    for row in &rows {
        if let Some(entry) = entries.get_mut(&row.get::<_, i64>(0)) {
            entry.tags.insert(row.get(1));
        }
    }
    Ok(runs.iter().filter_map(|run| entries.remove(run)).collect())
}

fn damaged(what: &str) -> StoreError {
    StoreError::Unstorable {
        what: what.to_owned(),
        why: "no program of ours writes such a row",
    }
}

fn digest_at(row: &Row, at: usize) -> Result<Digest, StoreError> {
    let bytes: &[u8] = row.get(at);
    let bytes: [u8; 32] = bytes
        .try_into()
        .map_err(|_| damaged("a digest in the catalogue"))?;
    Ok(Digest::from_bytes(bytes))
}

pub(super) fn digests(
    client: &mut Client,
    prefix: &str,
    most: usize,
) -> Result<Vec<Digest>, Trouble> {
    let Some((first, last)) = digest_range(prefix) else {
        return Ok(Vec::new());
    };
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let rows = client.query_typed(
        "SELECT digest FROM catalog_runs WHERE digest BETWEEN $1 AND $2 ORDER BY digest LIMIT $3",
        &[
            (&first.as_slice(), Type::BYTEA),
            (&last.as_slice(), Type::BYTEA),
            (&most, Type::INT8),
        ],
    )?;
    let digests: Result<_, StoreError> = rows.iter().map(|row| digest_at(row, 0)).collect();
    Ok(digests?)
}

pub(super) fn tagged(client: &mut Client, tag: &str) -> Result<Vec<Digest>, Trouble> {
    let rows = client.query_typed(
        "SELECT r.digest FROM catalog_tags t JOIN catalog_runs r ON r.run = t.run
         WHERE t.tag = $1 ORDER BY r.digest",
        &[(&tag, Type::TEXT)],
    )?;
    let digests: Result<_, StoreError> = rows.iter().map(|row| digest_at(row, 0)).collect();
    Ok(digests?)
}

pub(super) fn count(client: &mut Client) -> Result<u64, Trouble> {
    let row = client.query_typed_one("SELECT count(*) FROM catalog_runs", &[])?;
    Ok(row.get::<_, i64>(0).unsigned_abs())
}
