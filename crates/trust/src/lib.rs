//! Who signed what, and whom to trust: signatures, statements, timestamps and trust policies.
//!
//! Pure: nothing here opens a file or a socket, reads a clock, starts a process or draws a random
//! number; all of that is passed in. All cryptography comes from established crates. This crate
//! adds encodings (DSSE, SSHSIG, minisign, in-toto) and decisions.
//!
//! A verdict has three parts that are never mixed: whether a unit is intact (`runseal-core`
//! decides), whether it is signed ([`check`]), and whether a policy trusts the signers
//! ([`policy`]).
//!
//! Start reading with [`check`], which says who signed; then [`policy`], whom a reader trusts, and [`log`], what is logged. The forms
//! of signatures are in [`dsse`], [`sigstore`] and [`keys`].

pub mod action;
pub mod budget;
pub mod check;
pub mod claim;
pub mod copies;
pub mod dirhash;
pub mod dsse;
pub mod encoding;
pub mod facts;
pub mod keys;
pub mod limits;
pub mod log;
pub mod policy;
pub mod predicate;
pub mod sd_jwt;
pub mod sigstore;
pub mod statement;
pub mod timestamp;
