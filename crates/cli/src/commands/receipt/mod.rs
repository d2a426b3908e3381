//! `runseal receipt`: receipts and chains of them.

mod attest;
mod load;
pub mod signer;
mod verify;

use runseal_core::formats::Format;
use runseal_core::verify::Surface;

use super::table::{Entry, command};

/// What the commands below are for.
pub const ABOUT: &str = "Work with receipts, the proofs that job bundles were replayed";

/// The commands for receipts, in the order of the help.
pub static COMMANDS: [Entry; 2] = [
    command!("verify", verify, |_| Surface::Format(Format::Receipt)),
    command!("attest", attest, |_| Surface::Format(Format::Receipt)),
];
