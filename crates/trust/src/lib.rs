//! Who made it, and who trusts them: signatures, statements, timestamps and trust policies.
//!
//! Pure: nothing here opens a file or a socket, asks a clock, starts a process or draws a random
//! number; all of that is passed in. All cryptography comes from crates of the field; what is
//! written here are encodings (DSSE, SSHSIG, minisign, in-toto) and decisions.
//!
//! A verdict has three parts that are never mixed: whether something is intact (`runseal-core`
//! says), whether it is signed ([`check`]), and whether a policy trusts who signed ([`policy`]).

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
