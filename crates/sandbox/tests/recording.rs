//! What `record` needs of the sandbox: layered folders, observation, the weaker levels, and
//! ends that leave nothing behind. Each at every level that this machine offers, as root and
//! again as an ordinary user (see `as_user`).

#![cfg(target_os = "linux")]
// Everything here is test code, the functions that tests share included.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

#[path = "recording/as_user.rs"]
mod as_user;
#[path = "recording/ends.rs"]
mod ends;
#[path = "recording/layers.rs"]
mod layers;
#[path = "recording/observing.rs"]
mod observing;
#[path = "recording/project.rs"]
mod project;
#[path = "recording/view.rs"]
mod view;
