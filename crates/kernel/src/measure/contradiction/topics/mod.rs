//! The topics of composed cues beyond the first ones: one file an area, tables only. See `cues` for the notation.

pub(super) mod number;
pub(super) mod order;
pub(super) mod people;
pub(super) mod tech;
pub(super) mod things;
pub(super) mod time;
