//! How many findings the answer to one `verify` lists.
//!
//! A folder can hold very many things that are all wrong. The answer lists the first findings, by
//! path and in their own order, and counts the others. Dropping the last ones early, as results
//! come in from several threads, gives the same list as dropping them at the end.

use super::survey::{Checked, Verdict};
use crate::limits::{FINDINGS_A_RULE, FINDINGS_A_SURVEY};

/// Adds to the faults that reading a list gathers before a rule looks at them. A rule would not
/// list more of them than are kept here; the last one says that there are more.
pub(crate) fn add_faults(kept: &mut Vec<String>, more: impl IntoIterator<Item = String>) {
    for fault in more {
        if kept.len() < FINDINGS_A_RULE - 1 {
            kept.push(fault);
        } else if kept.len() == FINDINGS_A_RULE - 1 {
            kept.push(format!(
                "there are more faults, which are not listed: the limit is {FINDINGS_A_RULE}"
            ));
        }
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
