//! How many findings the answer to one `verify` lists.
//!
//! A folder can hold very many things that are all wrong. The answer lists the first findings, by
//! path and in their own order, and counts the others. Dropping the last ones early, as results
//! come in from several threads, gives the same list as dropping them at the end.

use super::survey::{Checked, Verdict};
use crate::limits::{FINDINGS_A_RULE, FINDINGS_A_SURVEY};

/// The faults that reading a list gathers before a rule looks at them, each with the number of the element it is a
/// fault of. A rule would not list more of them than are kept here.
#[derive(Debug, Default)]
pub(crate) struct PlacedFaults {
    kept: Vec<(usize, String)>,
    /// From this element on there is no room.
    full_from: Option<usize>,
}

impl PlacedFaults {
    /// Adds a fault of the element `at`. Of those that do not fit, the ones with the highest numbers are left out.
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

    /// The faults by element; where there are more than a rule lists, the last one says so.
    pub fn into_ordered(mut self) -> Vec<String> {
        self.kept.sort_by_key(|(at, _)| *at);
        let are_more = self.kept.len() >= FINDINGS_A_RULE;
        let listed = match are_more {
            true => FINDINGS_A_RULE - 1,
            false => self.kept.len(),
        };
        let more = are_more.then(|| {
            format!("there are more faults, which are not listed: the limit is {FINDINGS_A_RULE}")
        });
        let kept = self.kept.into_iter().take(listed);
        kept.map(|(_, fault)| fault).chain(more).collect()
    }
}

/// Findings that `results` hold.
pub fn count_findings(results: &[Checked]) -> usize {
    results.iter().map(|result| result.findings().len()).sum()
}

/// Sorts `results` and drops the findings beyond the bound; how many those were. Verdicts stay.
pub fn drop_unlisted_findings(results: &mut [Checked]) -> u64 {
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

    fn invalid(count: usize) -> Vec<Checked> {
        (0..count)
            .map(|at| Checked::invalid(format!("{at:06}"), None, "FORMAT", "unknown"))
            .collect()
    }

    #[test]
    fn findings_beyond_the_bound_are_dropped_from_the_end_and_counted() {
        let mut results = invalid(FINDINGS_A_SURVEY + 5);
        results.reverse();
        assert_eq!(drop_unlisted_findings(&mut results), 5);
        assert_eq!(count_findings(&results), FINDINGS_A_SURVEY);
        assert!(results.iter().all(|result| !result.is_valid()));
        assert!(results[FINDINGS_A_SURVEY].findings().is_empty());
        assert_eq!(drop_unlisted_findings(&mut results), 0);
    }

    #[test]
    fn faults_added_in_any_order_are_the_first_of_all_and_one_that_says_so() {
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
    fn findings_dropped_in_parts_leave_the_same_list() {
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
