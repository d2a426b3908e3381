//! The context kernel: from an intent to a context bundle (document 000). Pure and deterministic.
//!
//! No clock, randomness, files, environment or threads: the same intent gives the same bytes everywhere.

mod lexicon;
pub mod measure;
pub mod text;
