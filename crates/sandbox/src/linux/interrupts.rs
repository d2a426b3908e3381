//! SIGINT, SIGTERM and SIGHUP as a count that runs look at, and the caller's terminal, which is as it was before
//! whatever ends this process.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use rustix::termios::{LocalModes, OptionalActions};

use super::sys;

/// The first signal that came, 0 for none.
static CAUGHT: AtomicI32 = AtomicI32::new(0);
/// How many came.
static COUNT: AtomicU32 = AtomicU32::new(0);
/// How many may come before this process ends at once.
static PATIENCE: AtomicU32 = AtomicU32::new(1);

/// As many as a command takes to be asked, told and killed.
const PATIENCE_WITH_COMMANDS: u32 = 3;

/// From now on the three signals are only counted. The second one ends the process, the fourth one while a
/// command is brought to its end. A file that grows beyond its bound is an error of whoever writes it, no signal.
pub(crate) fn catch_interrupts() -> io::Result<()> {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        sys::catch(signal, note)?;
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

/// How many signals came since they are caught.
pub(crate) fn count_interrupts() -> u32 {
    COUNT.load(Ordering::SeqCst)
}

/// The handler: a few stores and calls that are allowed in a handler.
extern "C" fn note(signal: i32) {
    let before = COUNT.fetch_add(1, Ordering::SeqCst);
    let _ = CAUGHT.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
    if before >= PATIENCE.load(Ordering::SeqCst) {
        sys::restore_terminal();
        sys::end_by(signal);
    }
}

/// While it lives, further signals bring a command to its end instead of ending this process.
pub(super) struct Patience;

impl Patience {
    pub(super) fn begin() -> Patience {
        PATIENCE.store(PATIENCE_WITH_COMMANDS, Ordering::SeqCst);
        Patience
    }
}

impl Drop for Patience {
    fn drop(&mut self) {
        PATIENCE.store(1, Ordering::SeqCst);
    }
}

/// While it lives, the caller's terminal passes every key on as it is. Whatever ends the process, the terminal is
/// as it was afterwards, except where that cannot be noticed (SIGKILL).
pub(super) struct RawMode {
    /// Open as long as it may have to be restored.
    _terminal: Arc<OwnedFd>,
}

impl RawMode {
    /// None if it is not a terminal, or cannot be set.
    pub(super) fn begin(terminal: &Arc<OwnedFd>) -> Option<RawMode> {
        sys::remember_terminal(terminal.as_fd())?;
        let raw = RawMode {
            _terminal: Arc::clone(terminal),
        };
        raw.keep(terminal);
        Some(raw)
    }

    /// Sets the mode where it is not set.
    pub(super) fn keep(&self, terminal: &OwnedFd) {
        let Ok(mut settings) = rustix::termios::tcgetattr(terminal) else {
            return;
        };
        if settings
            .local_modes
            .intersects(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
        {
            settings.make_raw();
            let _ = rustix::termios::tcsetattr(terminal, OptionalActions::Now, &settings);
        }
    }

    /// Leaves the terminal to whoever has it now.
    pub(super) fn forget(self) {
        sys::forget_terminal();
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        sys::restore_terminal();
        sys::forget_terminal();
    }
}
