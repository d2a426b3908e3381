//! The pure part of runseal: no files, no clock, no environment, no threads.

pub mod digest;
pub mod formats;
