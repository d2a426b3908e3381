//! The attack suite: each test shows an attack working outside the sandbox, so that the test can
//! fail, and failing inside.
//!
//! Where this machine offers no isolation the tests say `SKIPPED:` and check nothing, unless
//! CI=true, where that is a failure. Run as root, the whole suite runs a second time under an
//! unprivileged uid (see `as_user`).

#![cfg(target_os = "linux")]
// Everything here is test code, the functions that tests share included.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "attacks/arena.rs"]
mod arena;
#[path = "attacks/as_user.rs"]
mod as_user;
#[path = "attacks/files.rs"]
mod files;
#[path = "attacks/hoards.rs"]
mod hoards;
#[path = "attacks/kernel.rs"]
mod kernel;
#[path = "attacks/leftovers.rs"]
mod leftovers;
#[path = "attacks/limits.rs"]
mod limits;
#[path = "attacks/loopback.rs"]
mod loopback;
#[path = "attacks/metadata.rs"]
mod metadata;
#[path = "attacks/network.rs"]
mod network;
#[path = "attacks/probe.rs"]
mod probe;
#[path = "attacks/processes.rs"]
mod processes;
#[path = "attacks/secrets.rs"]
mod secrets;
