//! SIGINT, SIGTERM and SIGHUP as a flag that runs look at.

use std::io;
use std::sync::atomic::{AtomicI32, Ordering};

use super::sys;

/// The first signal that came, 0 for none.
static CAUGHT: AtomicI32 = AtomicI32::new(0);

/// From now on the three signals only set the flag. The second one ends the process. A file that grows
/// beyond its bound is an error of whoever writes it, no signal.
pub(crate) fn catch_interrupts() -> io::Result<()> {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        sys::catch_once(signal, note)?;
    }
    // Where somebody bounds our own files, writing has to fail as on a full disk: whoever is ended by
    // the signal leaves everything behind.
    sys::ignore(libc::SIGXFSZ);
    Ok(())
}

/// The first signal that came since they are caught.
pub(crate) fn caught_interrupt() -> Option<i32> {
    match CAUGHT.load(Ordering::SeqCst) {
        0 => None,
        signal => Some(signal),
    }
}

/// The handler: nothing but one store, which is allowed in a handler.
extern "C" fn note(signal: i32) {
    let _ = CAUGHT.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
}
