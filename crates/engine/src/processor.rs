//! Threads beside their maker: on another processor, at once.
//!
//! Some systems let a new thread begin on the processor of its maker, behind or instead of it,
//! and look around for a free one only some milliseconds later. A bundle of a few hundred files
//! is read by then, one thread after the other.

use std::thread::{self, Scope};

/// Does `work` on a new thread of `scope`, for a maker that goes on working itself.
pub fn spawn_beside<'scope>(scope: &'scope Scope<'scope, '_>, work: impl FnOnce() + Send + 'scope) {
    let maker = Processor::current();
    scope.spawn(move || {
        maker.leave();
        work();
    });
    // A thread that waits behind its maker cannot go away before it has run.
    thread::yield_now();
}

/// The processor a thread ran on when it was asked.
#[derive(Clone, Copy, Debug)]
struct Processor(#[cfg(target_os = "linux")] usize);

#[cfg(target_os = "linux")]
impl Processor {
    fn current() -> Self {
        Self(rustix::thread::sched_getcpu())
    }

    /// Moves the calling thread to another processor, where it may use one; afterwards it may
    /// again use all that it could before.
    fn leave(self) {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let Ok(allowed) = sched_getaffinity(None) else {
            return;
        };
        let mut others = allowed;
        if self.0 < CpuSet::MAX_CPU {
            others.unset(self.0);
        }
        // Where it cannot be moved it is only slower.
        if others.count() > 0 && sched_setaffinity(None, &others).is_ok() {
            let _ = sched_setaffinity(None, &allowed);
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Processor {
    fn current() -> Self {
        Self()
    }

    /// Other systems spread threads themselves.
    fn leave(self) {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::Mutex;

    use rustix::thread::{sched_getaffinity, sched_getcpu};

    use super::*;

    #[test]
    fn thread_that_leaves_a_processor_may_use_all_of_them_again() {
        let allowed = sched_getaffinity(None).unwrap();
        thread::spawn(move || {
            let before = sched_getcpu();
            Processor(before).leave();
            assert_eq!(sched_getaffinity(None).unwrap(), allowed);
            // A number that no processor has changes nothing.
            Processor(usize::MAX).leave();
            assert_eq!(sched_getaffinity(None).unwrap(), allowed);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn work_beside_its_maker_is_done_when_the_scope_ends() {
        let done = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for number in 0..4 {
                let done = &done;
                spawn_beside(scope, move || done.lock().unwrap().push(number));
            }
        });
        let mut done = done.into_inner().unwrap();
        done.sort_unstable();
        assert_eq!(done, [0, 1, 2, 3]);
    }
}
