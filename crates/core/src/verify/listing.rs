//! How many findings the answer to one `verify` lists.
//!
//! A folder can contain very many units that are all wrong. The answer lists the first findings, by
//! path and then in their own order, and counts the others. Dropping the last ones early, as results
//! arrive from several threads, gives the same list as dropping them at the end.

use super::survey::{UnitResult, Verdict};
use crate::limits::{FINDINGS_A_RULE, FINDINGS_A_SURVEY};

/// Faults that are collected while a list is read, before a rule sees them, each with the index of its element. Keeps
/// no more than a rule would list.
#[derive(Debug, Default)]
pub(crate) struct PlacedFaults {
    kept: Vec<(usize, String)>,
    /// The index from which on faults are dropped.
    full_from: Option<usize>,
}

impl PlacedFaults {
    /// Adds a fault of the element `at`. If there are too many, drops those with the highest indexes.
    pub fn add(&mut self, at: usize, fault: impl FnOnce() -> String) {
        if self.full_from.is_some_and(|full_from| at >= full_from) {
            return;
        }
        self.kept.push((at, fault()));
        if self.kept.len() >= 2 * FINDINGS_A_RULE {
            self.kept.sort_by_key(|(at, _)| *at);
            self.kept.truncate(FINDINGS_A_RULE);
            self.full_from = self.kept.last().map(|(at, _)| *at);
        }
    }

    /// Returns the faults ordered by element. If there are more than a rule lists, the last one says so.
    pub fn into_ordered(mut self) -> Vec<String> {
        self.kept.sort_by_key(|(at, _)| *at);
        let is_cut = self.kept.len() >= FINDINGS_A_RULE;
        let listed = if is_cut {
            FINDINGS_A_RULE - 1
        } else {
            self.kept.len()
        };
        let more = is_cut.then(|| {
            format!("there are more faults, which are not listed: the limit is {FINDINGS_A_RULE}")
        });
        let kept = self.kept.into_iter().take(listed);
        kept.map(|(_, fault)| fault).chain(more).collect()
    }
}

/// Counts the findings of `results`.
pub fn count_findings(results: &[UnitResult]) -> usize {
    results.iter().map(|result| result.findings().len()).sum()
}

/// Sorts `results`, drops the findings beyond the limit and returns their number. Verdicts stay.
pub fn drop_unlisted_findings(results: &mut [UnitResult]) -> u64 {
    results.sort();
    let mut room = FINDINGS_A_SURVEY;
    let mut dropped = 0;
    for result in results {
        if let Verdict::Invalid { findings, .. } = &mut result.verdict {
            if findings.len() > room {
                dropped += (findings.len() - room) as u64;
                findings.truncate(room);
                findings.shrink_to_fit();
            }
            room -= findings.len();
        }
    }
    dropped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{Level, Survey};

    fn invalid(count: usize) -> Vec<UnitResult> {
        (0..count)
            .map(|at| UnitResult::invalid(format!("{at:06}"), None, "FORMAT", "unknown"))
            .collect()
    }

    #[test]
    fn findings_beyond_the_limit_are_dropped_from_the_end_and_counted() {
        let mut results = invalid(FINDINGS_A_SURVEY + 5);
        results.reverse();
        assert_eq!(drop_unlisted_findings(&mut results), 5);
        assert_eq!(count_findings(&results), FINDINGS_A_SURVEY);
        assert!(results.iter().all(|result| !result.is_valid()));
        assert!(results[FINDINGS_A_SURVEY].findings().is_empty());
        assert_eq!(drop_unlisted_findings(&mut results), 0);
    }

    #[test]
    fn placed_faults_added_in_any_order_keep_the_first_and_say_that_there_are_more() {
        let fault = |at: usize| move || format!("fault {at}");
        let mut few = PlacedFaults::default();
        for at in [3, 1, 2] {
            few.add(at, fault(at));
        }
        assert_eq!(few.into_ordered(), ["fault 1", "fault 2", "fault 3"]);
        let count = 5 * FINDINGS_A_RULE;
        let orders: [&mut dyn Iterator<Item = usize>; 3] = [
            &mut (0..count),
            &mut (0..count).rev(),
            &mut (0..count).map(|at| at * 7 % count),
        ];
        for order in orders {
            let mut faults = PlacedFaults::default();
            order.for_each(|at| faults.add(at, fault(at)));
            let listed = faults.into_ordered();
            assert_eq!(listed.len(), FINDINGS_A_RULE);
            for (at, found) in listed.iter().take(FINDINGS_A_RULE - 1).enumerate() {
                assert_eq!(*found, fault(at)());
            }
            assert!(listed[FINDINGS_A_RULE - 1].contains("more faults"));
        }
    }

    #[test]
    fn findings_dropped_part_by_part_leave_the_same_list() {
        let whole = Survey::new(Level::Document, invalid(2 * FINDINGS_A_SURVEY + 7), 0);
        let mut even = invalid(2 * FINDINGS_A_SURVEY + 7);
        let odd = even.split_off(FINDINGS_A_SURVEY + 3);
        let mut dropped = 0;
        let mut parts = Vec::new();
        for mut part in [odd, even] {
            dropped += drop_unlisted_findings(&mut part);
            parts.extend(part);
        }
        assert_eq!(
            Survey::new(Level::Document, parts, 0).and_unlisted(dropped),
            whole
        );
        assert_eq!(whole.unlisted(), (FINDINGS_A_SURVEY + 7) as u64);
    }
}
