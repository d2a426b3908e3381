//! `runseal trust`: the policy that says whose signatures count.

mod add;
mod check;
mod explain;
mod init;
mod rotate;

use super::table::{Entry, command};

/// What the commands below are for.
pub const ABOUT: &str = "Say whose signatures count, for what, and why something is trusted or not";

/// The commands for policies, in the order of the help.
pub static COMMANDS: [Entry; 5] = [
    command!("init", init),
    command!("add", add),
    command!("rotate", rotate),
    command!("check", check),
    command!("explain", explain),
];
