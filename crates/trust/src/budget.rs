//! The budget for checking signatures from strangers. Work is counted in signature checks, never in
//! seconds, so the same input gets the same verdict on every machine.
//!
//! Everything that checks a signature, a certificate or a timestamp takes a [`Budget`] and pays
//! before it computes. Running out is reported; what was not checked counts for nothing.

use thiserror::Error;

use crate::limits::{MAX_CHECKS_A_CHAIN, MAX_CHECKS_A_FILE, MAX_CHECKS_A_UNIT, MAX_SIGNATURES};

/// The number of bytes hashed for the price of one check.
const BYTES_A_CHECK: usize = 64 << 10;

/// The price of a sigstore bundle with a certificate or a log entry: several checks and their
/// parsing.
const SIGSTORE_CHECKS: u32 = 16;

/// A limit was reached, and the rest was not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Exhausted {
    /// More checks are needed than the budget allows.
    #[error("checking all signatures takes more than {0} checks; the rest was not checked")]
    Checks(u32),
    /// There are too many signatures.
    #[error("there are more than {MAX_SIGNATURES} signatures; the rest was not checked")]
    Signatures,
}

/// The signature checks that may still be made.
#[derive(Clone, Debug)]
pub struct Budget {
    limit: u32,
    spent: u32,
}

impl Budget {
    const fn of(limit: u32) -> Self {
        Self { limit, spent: 0 }
    }

    /// Returns the budget for everything in one file, such as an archive.
    pub const fn of_file() -> Self {
        Self::of(MAX_CHECKS_A_FILE)
    }

    /// Returns the budget for a chain of policies.
    pub const fn of_chain() -> Self {
        Self::of(MAX_CHECKS_A_CHAIN)
    }

    /// Returns the budget for one unit.
    pub const fn of_unit() -> Self {
        Self::of(MAX_CHECKS_A_UNIT)
    }

    /// Returns the part of this budget that one unit may use. [`Budget::charge`] deducts it
    /// afterwards.
    pub fn share(&self) -> Self {
        Self::of(MAX_CHECKS_A_UNIT.min(self.limit - self.spent))
    }

    /// Deducts what a share used.
    pub fn charge(&mut self, share: &Self) {
        self.spent = self.spent.saturating_add(share.spent).min(self.limit);
    }

    /// Returns the number of checks paid for.
    pub const fn spent(&self) -> u32 {
        self.spent
    }

    /// Pays for reading a statement of `bytes` bytes. A short one costs nothing: its signature is paid for.
    ///
    /// # Errors
    /// If too little is left; nothing is left then.
    pub fn pay_reading(&mut self, bytes: usize) -> Result<(), Exhausted> {
        self.pay(u32::try_from(bytes / BYTES_A_CHECK).unwrap_or(u32::MAX))
    }

    /// Pays for one check of a signature over `bytes` bytes.
    ///
    /// # Errors
    /// When too little is left. The budget is empty afterwards.
    pub fn pay_signature(&mut self, bytes: usize) -> Result<(), Exhausted> {
        let hashing = u32::try_from(bytes / BYTES_A_CHECK).unwrap_or(u32::MAX);
        self.pay(hashing.saturating_add(1))
    }

    /// Pays for one check of a sigstore bundle of `bytes` bytes.
    ///
    /// # Errors
    /// When too little is left. The budget is empty afterwards.
    pub fn pay_bundle(&mut self, bytes: usize) -> Result<(), Exhausted> {
        let reading = u32::try_from(bytes / BYTES_A_CHECK).unwrap_or(u32::MAX);
        self.pay(reading.saturating_add(SIGSTORE_CHECKS))
    }

    fn pay(&mut self, cost: u32) -> Result<(), Exhausted> {
        if cost > self.limit - self.spent {
            // If cheap checks went on after a costly one failed, the verdict would depend on the
            // order.
            self.spent = self.limit;
            return Err(Exhausted::Checks(self.limit));
        }
        self.spent += cost;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exhausted_budget_pays_for_nothing_more() {
        let mut budget = Budget::of(3);
        assert_eq!(budget.pay_signature(10), Ok(()));
        assert_eq!(budget.pay_signature(1 << 20), Err(Exhausted::Checks(3)));
        assert_eq!(budget.pay_signature(0), Err(Exhausted::Checks(3)));
        assert_eq!(budget.spent(), 3);
    }

    #[test]
    fn unit_shares_add_up_to_the_file_budget() {
        let mut file = Budget::of(MAX_CHECKS_A_UNIT + 5);
        for expected in [MAX_CHECKS_A_UNIT, 5, 0] {
            let mut unit = file.share();
            while unit.pay_signature(0).is_ok() {}
            assert_eq!(unit.spent(), expected);
            file.charge(&unit);
        }
    }

    #[test]
    fn long_statements_are_paid_for_and_short_ones_are_not() {
        let mut budget = Budget::of(3);
        assert_eq!(budget.pay_reading(BYTES_A_CHECK - 1), Ok(()));
        assert_eq!(budget.spent(), 0);
        assert_eq!(budget.pay_reading(2 * BYTES_A_CHECK), Ok(()));
        assert_eq!(budget.spent(), 2);
        assert_eq!(
            budget.pay_reading(2 * BYTES_A_CHECK),
            Err(Exhausted::Checks(3))
        );
    }
}
