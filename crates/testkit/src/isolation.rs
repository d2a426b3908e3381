//! Whether this machine can isolate commands. Tests ask here only.

use std::sync::OnceLock;

use runseal_sandbox::{Missing, Sandbox};

use crate::skip::skip;

/// The sandbox, probed once for all tests of a process; `None`, with a message, if this machine
/// offers no isolation. With CI=true that is a failure: nothing may be skipped there.
pub fn sandbox() -> Option<Sandbox> {
    static PROBED: OnceLock<Result<Sandbox, Missing>> = OnceLock::new();
    match PROBED.get_or_init(Sandbox::probe) {
        Ok(sandbox) => Some(sandbox.clone()),
        Err(missing) => {
            skip(&format!("no isolation: {missing}; {}", missing.hint()));
            None
        }
    }
}
