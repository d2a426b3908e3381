//! Finds secrets in bytes: one searcher for the proxy, which replaces what it finds, and for recordings, which
//! are not sealed with a secret in them.
//!
//! There are three questions, and a module for each:
//!
//! * Where is a *known* value, in whatever encoding? [`known`] has its usual encodings, and [`layers`] decodes
//!   base64, hex and escapes within one another.
//! * What *may* be a secret? [`find`] goes by prefixes (`kinds`), by shapes and by telling [`names`]. It errs
//!   on the side of too much: what the proxy replaces by mistake costs little.
//! * What *certainly* is one? [`certain`] demands a format, a checksum, a key that can be read or the random
//!   value of a telling name. A recording stops for it, so that it must hardly ever be wrong.
//!
//! This crate only computes: it opens no files, starts no threads and reads no clock. Callers bring bytes, or
//! something to read them from. It writes nothing and never puts a secret into a message.

pub mod certain;
mod coding;
pub mod encoded;
mod escapes;
pub mod find;
mod kinds;
pub mod known;
pub mod layers;
pub mod names;
mod shapes;
pub mod variables;

pub use coding::Coding;
pub use kinds::is_secret_header;
