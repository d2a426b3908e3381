//! `runseal job`: a job from index to replay, one file a command.

mod build;
mod index;
mod init;
mod place;
mod post;
mod replay;
mod status;
mod symbol;
pub mod verify;
mod work;

use runseal_core::formats::Format;
use runseal_core::verify::Surface;

use super::table::{Entry, command};

/// What the commands below are for.
pub const ABOUT: &str = "Work with jobs: index sources, post a plan, work it, bundle it, verify and \
                         replay the bundle";

/// The commands for jobs, in the order of the help. Document 001 has exit codes for those who
/// check a bundle; the others are ours.
pub static COMMANDS: [Entry; 9] = [
    command!("init", init),
    command!("index", index),
    command!("symbol", symbol),
    command!("post", post),
    command!("work", work),
    command!("status", status),
    command!("build", build),
    command!("verify", verify, |_| Surface::Format(Format::JobBundle)),
    command!("replay", replay, |_| Surface::Format(Format::JobBundle)),
];
