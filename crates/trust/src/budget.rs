//! How much work may go into signatures that strangers wrote. Work is counted in checks of signatures,
//! never in seconds, so the same input gets the same verdict on every machine.
//!
//! Everything that checks a signature, a certificate or a time stamp takes a [`Budget`] and pays before
//! it computes. Whoever runs out says so; what was not checked counts for nothing.

use thiserror::Error;

use crate::limits::{MAX_CHECKS_A_CHAIN, MAX_CHECKS_A_FILE, MAX_CHECKS_A_UNIT, MAX_SIGNATURES};

/// The bytes that are hashed for the price of one check.
const BYTES_A_CHECK: usize = 64 << 10;

/// What a sigstore bundle with a certificate or a log entry costs: several checks and their parsing.
const SIGSTORE_CHECKS: u32 = 16;

/// A bound was reached, and the rest was not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Exhausted {
    /// More checks would be needed.
    #[error("checking all signatures takes more than {0} checks; the rest was not checked")]
    Checks(u32),
    /// There are more signatures.
    #[error("there are more than {MAX_SIGNATURES} signatures; the rest was not checked")]
    Signatures,
}

/// Checks of signatures that may still be made.
#[derive(Clone, Debug)]
pub struct Budget {
    limit: u32,
    spent: u32,
}

impl Budget {
    const fn of(limit: u32) -> Self {
        Self { limit, spent: 0 }
    }

    /// The budget of everything that lies in one file, such as an archive.
    pub const fn of_file() -> Self {
        Self::of(MAX_CHECKS_A_FILE)
    }

    /// The budget of a chain of policies.
    pub const fn of_chain() -> Self {
        Self::of(MAX_CHECKS_A_CHAIN)
    }

    /// The budget of one unit.
    pub const fn of_unit() -> Self {
        Self::of(MAX_CHECKS_A_UNIT)
    }

    /// The part of this budget that one unit may use. [`Budget::charge`] takes it off afterwards.
    pub fn share(&self) -> Self {
        Self::of(MAX_CHECKS_A_UNIT.min(self.limit - self.spent))
    }

    /// Takes off what a share used.
    pub fn charge(&mut self, share: &Self) {
        self.spent = self.spent.saturating_add(share.spent).min(self.limit);
    }

    /// How many checks were paid for.
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
    /// When too little is left; nothing is left then.
    pub fn pay_signature(&mut self, bytes: usize) -> Result<(), Exhausted> {
        let hashing = u32::try_from(bytes / BYTES_A_CHECK).unwrap_or(u32::MAX);
        self.pay(hashing.saturating_add(1))
    }

    /// Pays for one check of a sigstore bundle of `bytes` bytes.
    ///
    /// # Errors
    /// When too little is left; nothing is left then.
    pub fn pay_bundle(&mut self, bytes: usize) -> Result<(), Exhausted> {
        let reading = u32::try_from(bytes / BYTES_A_CHECK).unwrap_or(u32::MAX);
        self.pay(reading.saturating_add(SIGSTORE_CHECKS))
    }

    fn pay(&mut self, cost: u32) -> Result<(), Exhausted> {
        if cost > self.limit - self.spent {
            // A cheaper check after a costly one would make the verdict depend on what is cheap.
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
    fn budget_used_up_pays_for_nothing_more() {
        let mut budget = Budget::of(3);
        assert_eq!(budget.pay_signature(10), Ok(()));
        assert_eq!(budget.pay_signature(1 << 20), Err(Exhausted::Checks(3)));
        assert_eq!(budget.pay_signature(0), Err(Exhausted::Checks(3)));
        assert_eq!(budget.spent(), 3);
    }

    #[test]
    fn shares_of_units_add_up_to_the_budget_of_their_file() {
        let mut file = Budget::of(MAX_CHECKS_A_UNIT + 5);
        for expected in [MAX_CHECKS_A_UNIT, 5, 0] {
            let mut unit = file.share();
            while unit.pay_signature(0).is_ok() {}
            assert_eq!(unit.spent(), expected);
            file.charge(&unit);
        }
    }
}
