//! Queries the file for run numbers.

use std::cmp::Reverse;

use rusqlite::types::ToSqlOutput;
use rusqlite::{ToSql, params_from_iter};

use super::SqliteCatalogReader;
use crate::catalog::CatalogError;
use crate::catalog::select::{RunSet, RunTables};
use crate::catalog::sql::{Bound, SqlDialect, SqlText};

impl ToSql for Bound {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Text(text) => text.to_sql(),
            Self::Number(number) => number.to_sql(),
            Self::Bytes(bytes) => bytes.to_sql(),
        }
    }
}

impl RunTables for &SqliteCatalogReader {
    type Error = CatalogError;

    const DIALECT: SqlDialect = SqlDialect::Sqlite;

    fn runs_of(&mut self, query: &SqlText) -> Result<RunSet, CatalogError> {
        let mut statement = self.connection.prepare_cached(&query.text)?;
        let mut rows = statement.query(params_from_iter(&query.bound))?;
        let mut set = RunSet::default();
        while let Some(row) = rows.next()? {
            set.insert(row.get(0)?);
        }
        Ok(set)
    }

    fn runs_with_words(&mut self, words: &[String]) -> Result<RunSet, CatalogError> {
        // Words contain only letters and digits, so quoting them needs no escapes.
        let asked: Vec<_> = words.iter().map(|word| format!("\"{word}\" *")).collect();
        let mut query = SqlText::new(Self::DIALECT);
        query.push("SELECT rowid FROM catalog_words WHERE catalog_words MATCH ");
        query.bind(Bound::Text(asked.join(" AND ")));
        self.runs_of(&query)
    }

    fn put_in_order(&mut self, runs: &RunSet) -> Result<Vec<i64>, CatalogError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT time, digest FROM catalog_runs WHERE run = ?1")?;
        let mut keyed = Vec::with_capacity(runs.count());
        for run in runs.runs() {
            let (time, digest) = statement.query_row([run], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?))
            })?;
            keyed.push((Reverse(time), digest, run));
        }
        keyed.sort();
        Ok(keyed.into_iter().map(|(_, _, run)| run).collect())
    }

    fn pick_in_order(
        &mut self,
        set: Option<&RunSet>,
        limit: usize,
    ) -> Result<Vec<i64>, CatalogError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT run FROM catalog_runs ORDER BY time DESC, digest")?;
        let mut rows = statement.query([])?;
        let mut picked = Vec::new();
        while picked.len() < limit {
            let Some(row) = rows.next()? else { break };
            let run = row.get(0)?;
            if set.is_none_or(|set| set.contains(run)) {
                picked.push(run);
            }
        }
        Ok(picked)
    }
}
