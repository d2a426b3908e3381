//! Threads that make work faster where the system grants them.
//!
//! A limit on processes, or a container's, can refuse any of them. Nobody should go without a verdict
//! for that reason, so whatever is handed to a thread here is given back on refusal, and is done by the
//! caller instead.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::{self, Builder, Scope, ScopedJoinHandle};

use runseal_core::source::Threads;

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

/// Files that a thread takes at a time: few, so that all threads finish together.
pub(crate) const SHARE: usize = 16;
/// Fewer files than this are read on a single thread.
const FEW: usize = 64;
/// Files that a thread of several visits at a time: as many as one thread reads, so that opening their
/// folder anew costs little.
const VISIT: usize = FEW - 1;

/// The threads that work on one unit.
#[derive(Debug, Default)]
pub struct UnitThreads {
    /// Their number; by default that of the processors.
    count: Option<usize>,
    /// How many of them are already at work for whoever asks for more.
    lent: AtomicUsize,
}

impl UnitThreads {
    /// At most this many threads; by default the number of processors.
    pub const fn new(count: Option<usize>) -> Self {
        Self {
            count,
            lent: AtomicUsize::new(0),
        }
    }

    /// The number of threads worthwhile for this many files at the moment. With few files, a second
    /// thread has hardly started when the first is done; with more threads than processors, two of
    /// them may share one while another is idle.
    fn worthwhile(&self, files: usize) -> usize {
        if files < FEW {
            return 1;
        }
        let threads = self.count.unwrap_or_else(processors);
        let free = threads.saturating_sub(self.lent.load(Ordering::Relaxed));
        free.min(files.div_ceil(SHARE)).max(1)
    }
}

impl Threads for UnitThreads {
    fn do_both(&self, first: &mut (dyn FnMut() + Send), second: &mut (dyn FnMut() + Send)) {
        if self.worthwhile(usize::MAX) < 2 {
            first();
            return second();
        }
        thread::scope(|scope| {
            self.lent.fetch_add(1, Ordering::Relaxed);
            let task = Task::begin(scope, || {
                first();
                self.lent.fetch_sub(1, Ordering::Relaxed);
            });
            second();
            if let Task::Refused(first) = task {
                first();
            }
        });
    }

    fn together(&self, files: usize, work: &(dyn Fn(usize) + Sync)) {
        thread::scope(|scope| {
            help_out(scope, self.worthwhile(files) - 1, || work(VISIT));
            work(VISIT);
        });
    }
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
