//! Quantities: a number, what it measures, whether it is a bound, and how often.
//!
//! *At most 25 seconds*, *a five-seat committee*, *512 bytes or more*, *600 people an hour*, *every 15 minutes*,
//! *until 18:00*. A quantity of a unit is kept in the smallest terms of its dimension, so that half a minute and 30
//! seconds are equal.

mod read;

use crate::rules::Dimension;

pub(super) use read::read_quantities;

/// How a number bounds a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    AtMost,
    AtLeast,
    Exactly,
    /// A number without a bounding word.
    Plain,
}

/// What a number measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measured {
    Unit(Dimension),
    /// The counted noun phrase, up to three words: *input fields*.
    Noun([u64; 3]),
    /// The noun that is numbered: *the third day*.
    Numbered(u64),
    /// How often something happens, in times a second.
    Frequency,
    /// A number of nothing: *a level of 50*.
    Bare,
}

impl Measured {
    /// Whether both measure the same.
    pub fn is(self, other: Self) -> bool {
        match (self, other) {
            (Self::Noun(mine), Self::Noun(theirs)) => {
                mine.iter().any(|key| *key != 0 && theirs.contains(key))
            }
            _ => self == other,
        }
    }

    /// Whether a word is part of what is measured.
    pub fn names(self, key: u64) -> bool {
        match self {
            Self::Noun(nouns) => nouns.contains(&key),
            Self::Numbered(_) | Self::Unit(_) | Self::Frequency | Self::Bare => false,
        }
    }
}

/// A number and what it bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quantity {
    pub side: Side,
    pub value: f64,
    pub of: Measured,
    /// Whether the value is one for each second: *600 people an hour*.
    pub is_rate: bool,
}

impl Quantity {
    /// Whether no value satisfies both.
    pub fn excludes(self, other: Self) -> bool {
        if !self.differs(other) {
            return false;
        }
        let (a, b) = (self.value, other.value);
        match (self.side, other.side) {
            (Side::AtMost, Side::AtMost) | (Side::AtLeast, Side::AtLeast) => false,
            (Side::AtLeast, Side::AtMost | Side::Exactly | Side::Plain) => a > b,
            (Side::AtMost, Side::AtLeast | Side::Exactly | Side::Plain) => a < b,
            (Side::Exactly | Side::Plain, Side::AtMost) => a > b,
            (Side::Exactly | Side::Plain, Side::AtLeast) => a < b,
            (Side::Exactly | Side::Plain, Side::Exactly | Side::Plain) => true,
        }
    }

    /// Whether one is about a single thing and the other about several.
    pub fn is_one_of_several(self, other: Self) -> bool {
        let is_several = |it: Self| it.side == Side::AtLeast && it.value == 2.0;
        is_several(self) && other.value == 1.0 || is_several(other) && self.value == 1.0
    }

    /// Whether both say the same of one thing with another number: *up to 25*, *up to 40*.
    pub fn differs(self, other: Self) -> bool {
        let (a, b) = (self.value, other.value);
        self.of.is(other.of)
            && self.is_rate == other.is_rate
            && (a - b).abs() > 1e-9 * a.abs().max(b.abs())
    }
}
