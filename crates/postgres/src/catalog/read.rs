//! Reads the catalogue on the server.

use std::collections::BTreeMap;

use postgres::types::{ToSql, Type};
use postgres::{Client, GenericClient, IsolationLevel, Row, Transaction};
use runseal_core::digest::Digest;
use runseal_store::catalog::select::{RunSet, RunTables, select};
use runseal_store::catalog::sql::{Bound, SqlDialect, SqlText, digest_range};
use runseal_store::catalog::{Entry, Query, Scalar, Sighting, ValueName};
use runseal_store::store::StoreError;

use crate::error::DatabaseError;

/// How many runs are read in order for each one that is requested, and by what factor that grows if
/// they are not enough.
const AHEAD: usize = 8;
/// The most runs that are tested one by one; beyond that, the set of all matches is built.
const MOST_TESTED: usize = 4000;

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

/// Returns the runs that match a query, in order and up to its limit, and the entries of the first
/// `page` of them, all from one snapshot.
pub(super) fn select_runs(
    client: &mut Client,
    query: &Query,
    page: usize,
) -> Result<(Vec<i64>, Vec<Entry>), DatabaseError> {
    let mut transaction = client
        .build_transaction()
        .isolation_level(IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()?;
    // Compiling such a statement takes longer than running it.
    transaction.batch_execute("SET LOCAL jit = off")?;
    let mut tables = Tables(&mut transaction);
    let runs = match first_matches(&mut tables, query)? {
        Some(runs) => runs,
        None => select(&mut tables, query)?,
    };
    let entries = read_entries(&mut transaction, &runs[..runs.len().min(page)])?;
    transaction.commit()?;
    Ok((runs, entries))
}

/// Returns the matches of a query with a limit, if there are enough among the first runs in order. So
/// showing fifty runs of many does not need the set of all matches.
fn first_matches(
    tables: &mut Tables<'_, '_>,
    query: &Query,
) -> Result<Option<Vec<i64>>, DatabaseError> {
    let is_restricted = query.filter.is_some() || !query.words.is_empty();
    let Some(limit) = query.limit.filter(|_| is_restricted) else {
        return Ok(None);
    };
    let most = limit.saturating_mul(AHEAD);
    if most > MOST_TESTED {
        return Ok(None);
    }
    let first = tables.first_in_order(most)?;
    let is_all = first.len() < most;
    let found = select(&mut FirstRuns { tables, first }, query)?;
    Ok((is_all || found.len() >= limit).then_some(found))
}

/// The tables within one transaction.
struct Tables<'a, 'b>(&'a mut Transaction<'b>);

impl Tables<'_, '_> {
    /// Returns those of a few runs that match a query. Each is looked up by its key: `OFFSET 0` keeps the
    /// planner from reading all matches instead.
    fn numbers_among(&mut self, few: &[i64], query: &SqlText) -> Result<Vec<i64>, DatabaseError> {
        let mut parameters = parameters(&query.bound);
        parameters.push((&few, Type::INT8_ARRAY));
        let sql = format!(
            "SELECT COALESCE(array_agg(few.run), '{{}}') FROM unnest(${}) AS few(run) WHERE EXISTS
             (SELECT 1 FROM ({}) AS asked WHERE asked.run = few.run OFFSET 0)",
            parameters.len(),
            query.text
        );
        let row = self.0.query_typed_one(&sql, &parameters)?;
        Ok(row.get(0))
    }

    /// Returns the first `most` runs in the order of results.
    fn first_in_order(&mut self, most: usize) -> Result<Vec<i64>, DatabaseError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let query = "SELECT run FROM catalog_runs ORDER BY time DESC, digest LIMIT $1";
        let sql = format!("SELECT COALESCE(array_agg(run), '{{}}') FROM ({query}) AS asked");
        let row = self.0.query_typed_one(&sql, &[(&most, Type::INT8)])?;
        Ok(row.get(0))
    }
}

/// Returns a query for the runs with all these words.
fn query_for_words(words: &[String]) -> SqlText {
    // Words contain only letters and digits, so quoting them needs no escapes.
    let asked: Vec<_> = words.iter().map(|word| format!("'{word}':*")).collect();
    let mut query = SqlText::new(SqlDialect::Postgres);
    query.push("SELECT run FROM catalog_runs WHERE words @@ CAST(");
    query
        .bind(Bound::Text(asked.join(" & ")))
        .push(" AS tsquery)");
    query
}

impl RunTables for Tables<'_, '_> {
    type Error = DatabaseError;

    const DIALECT: SqlDialect = SqlDialect::Postgres;

    fn runs_of(&mut self, query: &SqlText) -> Result<RunSet, DatabaseError> {
        // One array is far smaller on the wire than rows.
        let sql = format!(
            "SELECT COALESCE(array_agg(run), '{{}}') FROM ({}) AS asked",
            query.text
        );
        let row = self.0.query_typed_one(&sql, &parameters(&query.bound))?;
        let numbers: Vec<i64> = row.get(0);
        Ok(numbers.into_iter().collect())
    }

    fn runs_with_words(&mut self, words: &[String]) -> Result<RunSet, DatabaseError> {
        self.runs_of(&query_for_words(words))
    }

    fn put_in_order(&mut self, runs: &RunSet) -> Result<Vec<i64>, DatabaseError> {
        let runs: Vec<i64> = runs.runs().collect();
        let rows = self.0.query_typed(
            "SELECT run FROM catalog_runs WHERE run = ANY($1) ORDER BY time DESC, digest",
            &[(&runs, Type::INT8_ARRAY)],
        )?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    fn pick_in_order(
        &mut self,
        set: Option<&RunSet>,
        limit: usize,
    ) -> Result<Vec<i64>, DatabaseError> {
        // Reading all runs in order takes longer than everything else, so read more and more until there
        // are enough.
        let mut most = limit.saturating_mul(AHEAD / 2).max(1);
        loop {
            let ordered = self.first_in_order(most)?;
            let is_all = ordered.len() < most;
            let in_set = |run: &i64| set.is_none_or(|set| set.contains(*run));
            let picked: Vec<i64> = ordered.into_iter().filter(in_set).take(limit).collect();
            if is_all || picked.len() >= limit {
                return Ok(picked);
            }
            most = most.saturating_mul(AHEAD);
        }
    }
}

/// The first runs in order, as if there were no others.
struct FirstRuns<'a, 'b, 'c> {
    tables: &'a mut Tables<'b, 'c>,
    first: Vec<i64>,
}

impl RunTables for FirstRuns<'_, '_, '_> {
    type Error = DatabaseError;

    const DIALECT: SqlDialect = SqlDialect::Postgres;

    fn runs_of(&mut self, query: &SqlText) -> Result<RunSet, DatabaseError> {
        let numbers = self.tables.numbers_among(&self.first, query)?;
        Ok(numbers.into_iter().collect())
    }

    fn runs_with_words(&mut self, words: &[String]) -> Result<RunSet, DatabaseError> {
        self.runs_of(&query_for_words(words))
    }

    fn put_in_order(&mut self, runs: &RunSet) -> Result<Vec<i64>, DatabaseError> {
        self.pick_in_order(Some(runs), usize::MAX)
    }

    fn pick_in_order(
        &mut self,
        set: Option<&RunSet>,
        limit: usize,
    ) -> Result<Vec<i64>, DatabaseError> {
        let in_set = |run: &&i64| set.is_none_or(|set| set.contains(**run));
        Ok(self
            .first
            .iter()
            .filter(in_set)
            .take(limit)
            .copied()
            .collect())
    }
}

/// Reads the entries of these runs, in this order; runs that no longer exist are left out.
pub(super) fn entries(client: &mut Client, runs: &[i64]) -> Result<Vec<Entry>, DatabaseError> {
    let mut transaction = client
        .build_transaction()
        .isolation_level(IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()?;
    let entries = read_entries(&mut transaction, runs)?;
    transaction.commit()?;
    Ok(entries)
}

pub(super) fn read_entries(
    client: &mut impl GenericClient,
    runs: &[i64],
) -> Result<Vec<Entry>, DatabaseError> {
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
        reason: "it was not written by runseal",
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
) -> Result<Vec<Digest>, DatabaseError> {
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

pub(super) fn tagged(client: &mut Client, tag: &str) -> Result<Vec<Digest>, DatabaseError> {
    let rows = client.query_typed(
        "SELECT r.digest FROM catalog_tags t JOIN catalog_runs r ON r.run = t.run
         WHERE t.tag = $1 ORDER BY r.digest",
        &[(&tag, Type::TEXT)],
    )?;
    let digests: Result<_, StoreError> = rows.iter().map(|row| digest_at(row, 0)).collect();
    Ok(digests?)
}

pub(super) fn count(client: &mut Client) -> Result<u64, DatabaseError> {
    let row = client.query_typed_one("SELECT count(*) FROM catalog_runs", &[])?;
    Ok(row.get::<_, i64>(0).unsigned_abs())
}
