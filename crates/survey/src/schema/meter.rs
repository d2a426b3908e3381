//! The work that validating one document may take, counted while it is done.
//!
//! The validator cannot be told to stop, and it hands its own values around, so the count is kept
//! for the thread and running out of it unwinds to [`measure`]. What is counted are steps, never
//! time: the same document and schema give the same verdict on every machine.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What one validation may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    /// Steps of any kind.
    pub steps: u64,
    /// Violations that are described.
    pub violations: u64,
    /// Steps that handing out one element or member takes: more where many subschemas apply to it.
    pub steps_a_child: u64,
    /// Whether patterns may backtrack. Then a match takes more steps, and violations quote values
    /// to their end: the validator looks in them for the place of a match that it gave up.
    pub backtracks: bool,
}

/// Which bound was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exhausted {
    Steps,
    Violations,
}

thread_local! {
    static LEFT: Cell<Budget> = const {
        Cell::new(Budget { steps: 0, violations: 0, steps_a_child: 0, backtracks: false })
    };
}

/// Runs `work`, which calls [`step`], [`child`] and [`violation`], until it is done or a bound of
/// `budget` is reached.
pub(super) fn measure<T>(budget: Budget, work: impl FnOnce() -> T) -> Result<T, Exhausted> {
    LEFT.set(budget);
    // Nothing that `work` leaves half done is looked at again.
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match payload.downcast::<Exhausted>() {
        Ok(exhausted) => *exhausted,
        Err(panic) => resume_unwind(panic),
    })
}

/// Takes so many steps.
#[inline]
pub(super) fn step(count: u64) {
    let mut left = LEFT.get();
    match left.steps.checked_sub(count) {
        Some(steps) => left.steps = steps,
        None => resume_unwind(Box::new(Exhausted::Steps)),
    }
    LEFT.set(left);
}

/// Takes the steps for an element or member that is handed out.
#[inline]
pub(super) fn child() {
    step(LEFT.get().steps_a_child);
}

/// Whether patterns may backtrack.
pub(super) fn backtracks() -> bool {
    LEFT.get().backtracks
}

/// Notes that a violation is described.
pub(super) fn violation() {
    let mut left = LEFT.get();
    match left.violations.checked_sub(1) {
        Some(violations) => left.violations = violations,
        None => resume_unwind(Box::new(Exhausted::Violations)),
    }
    LEFT.set(left);
}
