//! Records any command: runs it unchanged in the user's folder, observes what it reads and writes,
//! and seals that as a run bundle that can be replayed from itself alone.
//!
//! - `program`: finds the program the way the user's shell does.
//! - `run`: one run in the sandbox, the real folder untouched.
//! - `ahead`: reads the files that the command reads, while it runs.
//! - `beneath`: looks at and opens files of the folder and of the inputs, never through a link.
//! - `accesses`: classifies what was observed into inputs, environment and gaps.
//! - `contracts`, `documents`, `environment`, `packages`: the content of the bundle.
//! - `terminal`: what the standard streams led to, and what was shown on a terminal.
//! - `searched`, `published`: secrets in what is to be sealed.
//! - `seal`: the bundle itself.
//! - `apply`: copies artifacts into the real folder, if requested.
//! - `terms`, `rules`: which results count, and how they are compared.
//! - `extract`, `new_files`: what a bundle holds, or a replay left, as files again.
//! - `everybodys`: what of this machine a replay hides, since not everybody may read it.
//! - `replay`: runs a bundle again, from the bundle alone, and compares.
//!
//! What was not observed is stated: every bundle lists its gaps, and none is filled by a guess.

pub(crate) mod accesses;
pub(crate) mod ahead;
pub mod apply;
mod attributes;
pub(crate) mod beneath;
pub mod bundle;
mod contracts;
mod difference;
pub(crate) mod documents;
pub(crate) mod environment;
pub mod error;
mod everybodys;
pub mod extract;
mod fixed_time;
mod git;
mod home;
pub mod keep;
pub(crate) mod languages;
pub mod machine;
mod many_folders;
pub mod new_files;
mod notebook;
pub mod outside;
mod packages;
mod png;
pub mod program;
mod published;
pub(crate) mod reasons;
pub mod repeat;
pub mod replay;
mod replay_plan;
pub(crate) mod replay_world;
mod restore;
mod room;
pub mod rules;
pub mod run;
mod same_files;
pub mod seal;
mod searched;
mod secrets;
mod snapshot;
pub(crate) mod surroundings;
pub mod terminal;
pub mod terms;
pub mod unpack;

pub use program::ProgramError;
pub use replay_plan::ReplayPlan;
