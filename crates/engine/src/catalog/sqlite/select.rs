//! Which runs a query is about, as sets of their numbers.

use rusqlite::types::ToSqlOutput;
use rusqlite::{ToSql, params_from_iter};

use super::SqliteCatalogReader;
use crate::catalog::sql::{Bound, Shape, SqlDialect, SqlText, add_test};
use crate::catalog::{CatalogError, Filter, Query};

/// So few runs are put in order here rather than looked for in the order of all.
const FEW: usize = 2000;

/// A set of runs: a bit a run.
#[derive(Debug, Clone, Default)]
struct RunSet {
    bits: Vec<u64>,
}

impl RunSet {
    fn insert(&mut self, run: i64) {
        let Ok(run) = usize::try_from(run) else {
            return;
        };
        let at = run / 64;
        if at >= self.bits.len() {
            self.bits.resize((at + 1).next_power_of_two(), 0);
        }
        self.bits[at] |= 1 << (run % 64);
    }

    fn contains(&self, run: i64) -> bool {
        let word = usize::try_from(run).ok().and_then(|run| {
            let word = self.bits.get(run / 64)?;
            Some(word >> (run % 64) & 1)
        });
        word == Some(1)
    }

    fn count(&self) -> usize {
        self.bits
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    fn intersect(&mut self, other: &Self) {
        self.bits.truncate(other.bits.len());
        for (word, others) in self.bits.iter_mut().zip(&other.bits) {
            *word &= others;
        }
    }

    fn unite(&mut self, other: &Self) {
        if self.bits.len() < other.bits.len() {
            self.bits.resize(other.bits.len(), 0);
        }
        for (word, others) in self.bits.iter_mut().zip(&other.bits) {
            *word |= others;
        }
    }

    fn subtract(&mut self, other: &Self) {
        for (word, others) in self.bits.iter_mut().zip(&other.bits) {
            *word &= !others;
        }
    }

    fn runs(&self) -> impl Iterator<Item = i64> + '_ {
        let words = self.bits.iter().enumerate();
        words.flat_map(|(at, word)| {
            let bits = (0..64).filter(move |bit| word >> bit & 1 == 1);
            bits.map(move |bit| (at * 64 + bit) as i64)
        })
    }
}

impl ToSql for Bound {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Text(text) => text.to_sql(),
            Self::Number(number) => number.to_sql(),
            Self::Bytes(bytes) => bytes.to_sql(),
        }
    }
}

impl SqliteCatalogReader {
    /// The runs that a query is about, in order and up to its limit.
    pub(super) fn select(&self, query: &Query) -> Result<Vec<i64>, CatalogError> {
        let mut set = match &query.filter {
            Some(filter) => Some(self.set_of(filter)?),
            None => None,
        };
        if !query.words.is_empty() {
            let found = self.set_of_words(&query.words)?;
            match &mut set {
                Some(set) => set.intersect(&found),
                None => set = Some(found),
            }
        }
        let limit = query.limit.unwrap_or(usize::MAX);
        match set {
            Some(set) if set.count() <= FEW => self.order_few(&set, limit),
            set => self.pick_in_order(set.as_ref(), limit),
        }
    }

    fn order_few(&self, set: &RunSet, limit: usize) -> Result<Vec<i64>, CatalogError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT time, digest FROM catalog_runs WHERE run = ?1")?;
        let mut keyed = Vec::with_capacity(set.count());
        for run in set.runs() {
            let key = statement.query_row([run], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?))
            })?;
            keyed.push((std::cmp::Reverse(key.0), key.1, run));
        }
        keyed.sort();
        keyed.truncate(limit);
        Ok(keyed.into_iter().map(|(_, _, run)| run).collect())
    }

    fn pick_in_order(&self, set: Option<&RunSet>, limit: usize) -> Result<Vec<i64>, CatalogError> {
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

    fn set_of(&self, filter: &Filter) -> Result<RunSet, CatalogError> {
        match filter {
            Filter::All(parts) => self.fold(parts, RunSet::intersect),
            Filter::Any(parts) => self.fold(parts, RunSet::unite),
            Filter::Not(part) => {
                let mut all = self.set_of_query("SELECT run FROM catalog_runs", &[])?;
                all.subtract(&self.set_of(part)?);
                Ok(all)
            }
            Filter::Test(test) => {
                let mut sql = SqlText::new(SqlDialect::Sqlite);
                match add_test(&mut sql, test) {
                    Shape::Query => self.set_of_query(&sql.text, &sql.bound),
                    Shape::Condition => {
                        let query = format!("SELECT run FROM catalog_runs r WHERE {}", sql.text);
                        self.set_of_query(&query, &sql.bound)
                    }
                }
            }
        }
    }

    fn fold(
        &self,
        parts: &[Filter],
        join: fn(&mut RunSet, &RunSet),
    ) -> Result<RunSet, CatalogError> {
        let mut joined: Option<RunSet> = None;
        for part in parts {
            let set = self.set_of(part)?;
            match &mut joined {
                Some(joined) => join(joined, &set),
                None => joined = Some(set),
            }
        }
        Ok(joined.unwrap_or_default())
    }

    fn set_of_words(&self, words: &[String]) -> Result<RunSet, CatalogError> {
        // Words hold letters and digits only, so quotes around them are enough.
        let asked: Vec<_> = words.iter().map(|word| format!("\"{word}\" *")).collect();
        self.set_of_query(
            "SELECT rowid FROM catalog_words WHERE catalog_words MATCH ?1",
            &[Bound::Text(asked.join(" AND "))],
        )
    }

    fn set_of_query(&self, query: &str, bound: &[Bound]) -> Result<RunSet, CatalogError> {
        let mut statement = self.connection.prepare_cached(query)?;
        let mut rows = statement.query(params_from_iter(bound))?;
        let mut set = RunSet::default();
        while let Some(row) = rows.next()? {
            set.insert(row.get(0)?);
        }
        Ok(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_runs_are_joined_bit_by_bit() {
        let set_of = |runs: &[i64]| {
            let mut set = RunSet::default();
            for run in runs {
                set.insert(*run);
            }
            set
        };
        let joined = |join: fn(&mut RunSet, &RunSet)| {
            let mut set = set_of(&[1, 63, 64, 700]);
            join(&mut set, &set_of(&[2, 64]));
            set.runs().collect::<Vec<_>>()
        };
        assert_eq!(joined(RunSet::intersect), [64]);
        assert_eq!(joined(RunSet::unite), [1, 2, 63, 64, 700]);
        assert_eq!(joined(RunSet::subtract), [1, 63, 700]);
        let set = set_of(&[5]);
        assert!(set.contains(5) && !set.contains(4) && !set.contains(9999) && !set.contains(-1));
        assert_eq!(set.count(), 1);
    }
}
