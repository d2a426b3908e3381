//! Determines which runs a query matches, as sets of their numbers.
//!
//! Each test of a filter is one indexed query for run numbers; `and`, `or` and `not` are then
//! evaluated here as bit operations. So the time a filter takes does not depend on a database
//! planner, which cannot know how parameters and metrics correlate.

use super::sql::{Shape, SqlDialect, SqlText, add_test};
use super::{Filter, Query};

/// Up to this many runs are sorted on their own instead of being picked from all runs in order.
const FEW: usize = 2000;

/// A set of runs, one bit per run.
#[derive(Debug, Clone, Default)]
pub struct RunSet {
    bits: Vec<u64>,
}

impl RunSet {
    /// Adds a run. Run numbers begin at 1.
    pub fn insert(&mut self, run: i64) {
        let Ok(run) = usize::try_from(run) else {
            return;
        };
        let at = run / 64;
        if at >= self.bits.len() {
            self.bits.resize((at + 1).next_power_of_two(), 0);
        }
        self.bits[at] |= 1 << (run % 64);
    }

    /// Returns whether the set contains a run.
    pub fn contains(&self, run: i64) -> bool {
        let bit = usize::try_from(run).ok().and_then(|run| {
            let word = self.bits.get(run / 64)?;
            Some((word >> (run % 64)) & 1)
        });
        bit == Some(1)
    }

    /// Returns the number of runs.
    pub fn count(&self) -> usize {
        let counts = self.bits.iter().map(|word| word.count_ones() as usize);
        counts.sum()
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

    /// Returns the runs, by number.
    pub fn runs(&self) -> impl Iterator<Item = i64> + '_ {
        let words = self.bits.iter().enumerate();
        words.flat_map(|(at, word)| {
            let bits = (0..64).filter(move |bit| (word >> bit) & 1 == 1);
            bits.map(move |bit| (at * 64 + bit) as i64)
        })
    }
}

impl FromIterator<i64> for RunSet {
    fn from_iter<I: IntoIterator<Item = i64>>(runs: I) -> Self {
        let mut set = Self::default();
        for run in runs {
            set.insert(run);
        }
        set
    }
}

/// The tables of a catalogue, as far as selecting needs them. All answers are from the same
/// snapshot.
pub trait RunTables {
    /// The error type.
    type Error;

    /// The SQL dialect of its queries.
    const DIALECT: SqlDialect;

    /// Runs a query for run numbers.
    ///
    /// # Errors
    /// When the database fails.
    fn runs_of(&mut self, query: &SqlText) -> Result<RunSet, Self::Error>;

    /// Returns the runs with all these words, each as a prefix of a word.
    ///
    /// # Errors
    /// When the database fails.
    fn runs_with_words(&mut self, words: &[String]) -> Result<RunSet, Self::Error>;

    /// Sorts these few runs into the order of results.
    ///
    /// # Errors
    /// When the database fails.
    fn put_in_order(&mut self, runs: &RunSet) -> Result<Vec<i64>, Self::Error>;

    /// Returns the first `limit` runs of the set, or of all runs, in the order of results.
    ///
    /// # Errors
    /// When the database fails.
    fn pick_in_order(
        &mut self,
        set: Option<&RunSet>,
        limit: usize,
    ) -> Result<Vec<i64>, Self::Error>;
}

/// Returns the runs that match a query, in order and up to its limit.
///
/// # Errors
/// When the database fails.
pub fn select<T: RunTables>(tables: &mut T, query: &Query) -> Result<Vec<i64>, T::Error> {
    let mut set = match &query.filter {
        Some(filter) => Some(runs_of_filter(tables, filter)?),
        None => None,
    };
    if !query.words.is_empty() {
        let found = tables.runs_with_words(&query.words)?;
        match &mut set {
            Some(set) => set.intersect(&found),
            None => set = Some(found),
        }
    }
    let limit = query.limit.unwrap_or(usize::MAX);
    match set {
        Some(set) if set.count() <= FEW => {
            let mut runs = tables.put_in_order(&set)?;
            runs.truncate(limit);
            Ok(runs)
        }
        set => tables.pick_in_order(set.as_ref(), limit),
    }
}

fn runs_of_filter<T: RunTables>(tables: &mut T, filter: &Filter) -> Result<RunSet, T::Error> {
    match filter {
        Filter::All(parts) => {
            let mut joined: Option<RunSet> = None;
            for part in parts {
                match &mut joined {
                    // The intersection is already empty, whatever else is asked.
                    Some(joined) if joined.count() == 0 => break,
                    Some(joined) => joined.intersect(&runs_of_filter(tables, part)?),
                    None => joined = Some(runs_of_filter(tables, part)?),
                }
            }
            Ok(joined.unwrap_or_default())
        }
        Filter::Any(parts) => {
            let mut joined = RunSet::default();
            for part in parts {
                joined.unite(&runs_of_filter(tables, part)?);
            }
            Ok(joined)
        }
        Filter::Not(part) => {
            let mut query = SqlText::new(T::DIALECT);
            query.push("SELECT run FROM catalog_runs");
            let mut all = tables.runs_of(&query)?;
            all.subtract(&runs_of_filter(tables, part)?);
            Ok(all)
        }
        Filter::Test(test) => {
            let mut query = SqlText::new(T::DIALECT);
            if add_test(&mut query, test) == Shape::Condition {
                query
                    .text
                    .insert_str(0, "SELECT run FROM catalog_runs r WHERE ");
            }
            tables.runs_of(&query)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_sets_are_combined_bit_by_bit() {
        let joined = |join: fn(&mut RunSet, &RunSet)| {
            let mut set = RunSet::from_iter([1, 63, 64, 700]);
            join(&mut set, &RunSet::from_iter([2, 64]));
            set.runs().collect::<Vec<_>>()
        };
        assert_eq!(joined(RunSet::intersect), [64]);
        assert_eq!(joined(RunSet::unite), [1, 2, 63, 64, 700]);
        assert_eq!(joined(RunSet::subtract), [1, 63, 700]);
        let set = RunSet::from_iter([5]);
        assert!(set.contains(5) && !set.contains(4) && !set.contains(9999) && !set.contains(-1));
        assert_eq!(set.count(), 1);
    }
}
