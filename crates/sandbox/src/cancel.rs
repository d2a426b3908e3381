//! Ending a run from outside: by another thread, or by Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends every run whose specification holds a copy of it. Copies share one state, which never
/// goes back.
#[derive(Debug, Clone, Default)]
pub struct CancelToken {
    flag: Arc<AtomicBool>,
    /// Whether the process's own interrupts count too.
    heeds_interrupts: bool,
}

impl CancelToken {
    /// A token that nothing has cancelled.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// A token that SIGINT, SIGTERM and SIGHUP cancel. From the first call on these signals do
    /// not end the process any more: the caller has to, after it has cleaned up. A second
    /// signal ends it at once, and a fourth one if a command has a grace ([`crate::Spec::grace`]).
    ///
    /// # Errors
    /// When the system does not let the handlers be installed.
    #[cfg(target_os = "linux")]
    pub fn on_interrupt() -> std::io::Result<CancelToken> {
        crate::linux::catch_interrupts()?;
        Ok(CancelToken {
            flag: Arc::default(),
            heeds_interrupts: true,
        })
    }

    /// Ends the runs. They return [`crate::SandboxError::Cancelled`] once no process of theirs
    /// is left; those with a grace ([`crate::Spec::grace`]) return how they ended.
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::SeqCst);
    }

    /// Whether it was cancelled, by [`CancelToken::cancel`] or by a signal.
    pub fn is_cancelled(&self) -> bool {
        self.flag.load(Ordering::SeqCst) || self.heeds_interrupts && self.signal().is_some()
    }

    /// How often it was cancelled.
    pub(crate) fn count(&self) -> u32 {
        let own = u32::from(self.flag.load(Ordering::SeqCst));
        #[cfg(target_os = "linux")]
        let own = match self.heeds_interrupts {
            true => own.saturating_add(crate::linux::count_interrupts()),
            false => own,
        };
        own
    }

    /// The signal that cancelled it, if one did.
    pub fn signal(&self) -> Option<i32> {
        #[cfg(target_os = "linux")]
        return self
            .heeds_interrupts
            .then(crate::linux::caught_interrupt)
            .flatten();
        #[cfg(not(target_os = "linux"))]
        return None;
    }
}
