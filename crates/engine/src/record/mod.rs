//! Records any command: runs it as it stands in the user's folder, sees what it reads and writes,
//! and seals that as a run bundle that can be replayed from itself alone.
//!
//! - [`program`]: finds the program the way the user's shell does.
//! - [`run`]: one run in the sandbox, the real folder untouched.
//! - [`accesses`]: sorts what was seen into inputs, environment and gaps.
//! - [`contracts`], [`documents`], [`environment`], [`packages`]: what the bundle says.
//! - [`seal`]: the bundle itself.
//! - [`apply`]: puts artifacts into the real folder, where that was asked for.
//! - [`replay`]: runs a bundle again, from the bundle alone, and compares.
//!
//! What was not seen is said: every bundle lists its gaps, and none is filled by a guess.

mod accesses;
pub mod apply;
mod contracts;
mod documents;
mod environment;
mod fixed_time;
mod packages;
mod program;
pub mod run;
pub mod seal;
pub mod secrets;

pub use program::ProgramError;
