//! The job bundle (document 001): a folder with the slices that a job read, and nothing else.
//!
//! Pure: this module judges texts and facts it is given. Reading folders, databases and clocks
//! is the engine's work.

pub mod facts;
pub mod section;
pub mod slice;
