//! Run bundles: load an engine, run it in the sandbox, seal the run, verify it, replay it.
//!
//! - [`verify`]: a bundle's facts, and its report.
//! - [`contracts`], [`command`]: an engine's folder: its five contracts, what it executes.
//! - [`upstream`], [`execute`], [`staging`], [`seal`]: from an input to a sealed bundle.
//! - `engine_files`: what of its folder and of the machine an engine read.
//! - [`declared`]: a run that a program describes itself, from within.
//! - [`replay`], [`replay_render`]: the same again, and where it differs.

pub mod command;
mod complete;
pub mod contracts;
pub mod declared;
pub(crate) mod engine_files;
pub mod execute;
pub mod init;
pub mod replay;
pub mod replay_render;
pub mod seal;
mod shown;
pub mod staging;
mod storing;
pub mod upstream;
pub mod verify;
pub mod warnings;
pub mod withheld;

pub use runseal_survey::schema;
