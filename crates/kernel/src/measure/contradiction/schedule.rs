//! Deadlines against schedules: `reported within 10 seconds` and `reported once a week` cannot both hold.
//!
//! A time limit behind an event is shorter than the time between two runs of the same act. What may happen more often
//! than the deadline asks is no contradiction.

use super::acts::{alike_acts, compound, different_acts};
use super::quantity::{Bound, Dimension, Quantity};
use super::statement::Statement;
use super::{CANDIDATES, Pairs};

/// Finds deadlines that a schedule cannot keep.
pub(super) fn find(statements: &[Statement], all: &[Quantity], pairs: &mut Pairs<'_, '_>) {
    let limits = all.iter().filter(|q| {
        q.bound == Bound::Upper && matches!(q.dimension, Dimension::Time) && q.counted.is_none()
    });
    for limit in limits.take(CANDIDATES) {
        let s = &statements[limit.statement as usize];
        let runs = all.iter().filter(|q| {
            q.dimension == Dimension::Period
                && matches!(q.bound, Bound::Value | Bound::Lower)
                && q.counted.is_none()
                && q.value > limit.value
        });
        for run in runs.take(CANDIDATES) {
            let o = &statements[run.statement as usize];
            let (i, j) = (limit.statement as usize, run.statement as usize);
            let mut own = limit.own.clone();
            own.extend(&run.own);
            if s.source != o.source
                && !pairs.has(i, j)
                && !s.apart(o)
                && !s.conditional
                && !o.conditional
                && (s.same_subject(o) && alike_acts(s, o)
                    || alike_acts(s, o) && s.shared_weight(o, &own) >= 4)
                && !different_acts(s, o)
                && !compound(s, o)
            {
                pairs.add(i, j, "when it happens");
            }
        }
    }
}
