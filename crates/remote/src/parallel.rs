//! Processes many items on several threads, until the first failure.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use runseal_fs::threads::help_out;

/// Calls `work` with every item, on up to `threads` threads. After a failure no further item is
/// started. If several items fail, the error of the first in order is returned, so that the message
/// does not depend on timing.
///
/// # Errors
/// If `work` fails for an item.
pub(crate) fn for_each<T: Sync, E: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let has_failed = AtomicBool::new(false);
    let first: Mutex<Option<(usize, E)>> = Mutex::new(None);
    let run = || {
        while !has_failed.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return };
            if let Err(error) = work(item) {
                has_failed.store(true, Ordering::Relaxed);
                let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
                if first.as_ref().is_none_or(|(before, _)| at < *before) {
                    *first = Some((at, error));
                }
            }
        }
    };
    thread::scope(|scope| {
        help_out(scope, threads.min(items.len()).saturating_sub(1), run);
        run();
    });
    match first.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}
