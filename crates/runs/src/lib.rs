//! Runs of commands and engines: recorded, sealed, replayed and compared.
//!
//! Start with [`record`] for commands and [`run`] for engines. What a command may see is decided in
//! `world` alone; how it is held there is for `runseal-sandbox`. A bundle that is replayed was verified
//! first, and what was verified is what is used.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod assess;
pub mod compare;
pub mod isolation;
pub mod model_port;
pub mod programs;
pub mod record;
pub mod ro_crate;
pub mod run;
pub mod world;
