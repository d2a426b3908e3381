//! Threads that make work faster where the system grants them.
//!
//! A limit on processes, or a container's, can refuse any of them. Nobody should go without a verdict
//! for that reason, so whatever is handed to a thread here is given back on refusal, and is done by the
//! caller instead.

use std::io;
use std::sync::OnceLock;
use std::sync::mpsc::sync_channel;
use std::thread::{self, Builder, Scope, ScopedJoinHandle};

/// How many threads can work at once here. The system is asked once: every answer takes a dozen calls.
pub fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

/// A thread that was granted.
#[derive(Debug)]
pub struct Helper<'scope, T>(ScopedJoinHandle<'scope, Option<T>>);

impl<T> Helper<'_, T> {
    /// Waits for the result.
    ///
    /// # Errors
    /// With what the thread panicked with.
    pub fn join(self) -> thread::Result<T> {
        let given = self.0.join()?;
        given.ok_or_else(|| Box::new("a thread was given nothing to do") as _)
    }
}

/// Does `work` with `value` on a thread of its own.
///
/// # Errors
/// With `value`, unchanged, where the system refuses another thread.
pub fn help_with<'scope, V: Send + 'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    value: V,
    work: impl FnOnce(V) -> T + Send + 'scope,
) -> Result<Helper<'scope, T>, V> {
    let (give, given) = sync_channel(1);
    let granted = Builder::new().spawn_scoped(scope, move || given.recv().ok().map(work));
    match granted {
        Ok(thread) => match give.send(value) {
            Ok(()) => Ok(Helper(thread)),
            Err(refused) => Err(refused.0),
        },
        Err(_) => Err(value),
    }
}

/// Work that another thread does, or that is left to the caller.
#[derive(Debug)]
pub enum Task<'scope, F, T> {
    /// Another thread does it.
    Helped(Helper<'scope, T>),
    /// The system refused a thread.
    Refused(F),
}

impl<'scope, F: FnOnce() -> T + Send + 'scope, T: Send + 'scope> Task<'scope, F, T> {
    /// Begins `work` on a thread of its own, if the system grants one.
    pub fn begin(scope: &'scope Scope<'scope, '_>, work: F) -> Self {
        match help_with(scope, work, |work| work()) {
            Ok(helper) => Self::Helped(helper),
            Err(work) => Self::Refused(work),
        }
    }

    /// Waits for the result, or does the work now.
    ///
    /// # Errors
    /// With what the other thread panicked with.
    pub fn finish(self) -> thread::Result<T> {
        match self {
            Self::Helped(helper) => helper.join(),
            Self::Refused(work) => Ok(work()),
        }
    }
}

/// Starts up to `count` threads that each do `work`; returns those that the system granted.
pub fn help_out<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    count: usize,
    work: impl FnOnce() -> T + Send + Copy + 'scope,
) -> Vec<ScopedJoinHandle<'scope, T>> {
    let granted = (0..count).map_while(|_| Builder::new().spawn_scoped(scope, work).ok());
    granted.collect()
}

/// Asks for a thread and lets it end, for those who cannot do without.
///
/// # Errors
/// When the system grants none.
pub fn check_granted() -> io::Result<()> {
    let asked = Builder::new().spawn(|| ())?;
    asked.join().map_err(|_| io::ErrorKind::Other.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_is_done_by_a_helper_and_a_refused_one_by_the_caller() {
        let value = String::from("value");
        thread::scope(|scope| {
            let task = Task::begin(scope, || (thread::current().id(), value.len()));
            let (id, length) = task.finish().unwrap();
            assert_eq!(length, 5);
            assert_ne!(id, thread::current().id());
            let refused = Task::Refused(|| thread::current().id());
            assert_eq!(refused.finish().unwrap(), thread::current().id());
            let broken = Task::begin(scope, || panic!("broken"));
            assert!(broken.finish().is_err());
        });
    }
}
