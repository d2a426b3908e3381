//! The integration tests of this crate, in one program to save linking. `cargo test -p
//! runseal-redact --test main redaction_random::` runs one file of them.

#![allow(clippy::panic, clippy::unwrap_used, reason = "test code")]

mod redaction_random;
mod redaction_shown;
mod redaction_tables;
