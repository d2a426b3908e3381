//! How a command that was interrupted is brought to its end: it is asked, then told, then killed.

use std::time::{Duration, Instant};

/// How long a command has between being told to end and being killed.
const LAST_GRACE: Duration = Duration::from_secs(2);
/// How long the system may take to end what was killed.
const KILL_TIME: Duration = Duration::from_secs(10);

/// SIGTERM, by its number everywhere.
pub(crate) const SIGTERM: i32 = 15;
/// SIGKILL, by its number everywhere.
pub(crate) const SIGKILL: i32 = 9;

/// A command on its way to its end.
#[derive(Debug)]
pub(crate) struct Winding {
    /// The signal that began it.
    pub(crate) signal: i32,
    /// Whether it was begun by a key of the command's terminal alone.
    pub(crate) is_typed: bool,
    /// Whether it is ended if it goes on.
    escalates: bool,
    step: Step,
    since: Instant,
    grace: Duration,
    /// How many interrupts there were when the last step was taken.
    heard: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Asked,
    Told,
    Killed,
}

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    Nothing,
    /// Send this signal.
    Send(i32),
    /// It cannot even be killed.
    GiveUp,
}

impl Winding {
    pub(crate) fn begin(signal: i32, grace: Duration, heard: u32) -> Winding {
        Winding {
            signal,
            is_typed: false,
            escalates: true,
            step: match signal {
                SIGTERM => Step::Told,
                _ => Step::Asked,
            },
            since: Instant::now(),
            grace,
            heard,
        }
    }

    /// The same, begun by a key that the command's terminal made a signal.
    pub(crate) fn typed(grace: Duration, escalates: bool, heard: u32) -> Winding {
        const SIGINT: i32 = 2;
        Winding {
            is_typed: true,
            escalates,
            ..Winding::begin(SIGINT, grace, heard)
        }
    }

    /// Whether something else that is typed takes the interrupt back.
    pub(crate) fn can_be_taken_back(&self) -> bool {
        self.is_typed && self.step == Step::Asked
    }

    /// What is due now that so many interrupts were heard: each takes the next step at once.
    pub(crate) fn next(&mut self, heard: u32) -> Due {
        let waited = self.since.elapsed();
        let is_pressed = heard > self.heard;
        let time = match self.step {
            Step::Asked => self.grace,
            Step::Told if self.signal == SIGTERM => self.grace,
            Step::Told => LAST_GRACE,
            Step::Killed if waited > KILL_TIME => return Due::GiveUp,
            Step::Killed => return Due::Nothing,
        };
        if !self.escalates || !is_pressed && waited < time {
            return Due::Nothing;
        }
        self.heard = heard;
        self.since = Instant::now();
        let (step, signal) = match self.step {
            Step::Asked => (Step::Told, SIGTERM),
            Step::Told | Step::Killed => (Step::Killed, SIGKILL),
        };
        self.step = step;
        Due::Send(signal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGINT: i32 = 2;
    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn command_is_ended_and_then_killed_when_its_time_is_over() {
        let mut winding = Winding::begin(SIGINT, Duration::ZERO, 1);
        assert_eq!(winding.next(1), Due::Send(SIGTERM));
        assert_eq!(winding.next(1), Due::Nothing);
        winding.since -= LAST_GRACE;
        assert_eq!(winding.next(1), Due::Send(SIGKILL));
        assert_eq!(winding.next(1), Due::Nothing);
        winding.since -= KILL_TIME * 2;
        assert_eq!(winding.next(1), Due::GiveUp);
    }

    #[test]
    fn further_interrupts_take_the_next_step_at_once() {
        let mut winding = Winding::begin(SIGINT, LONG, 1);
        assert_eq!(winding.next(1), Due::Nothing);
        assert_eq!(winding.next(2), Due::Send(SIGTERM));
        assert_eq!(winding.next(3), Due::Send(SIGKILL));
        let mut winding = Winding::begin(SIGTERM, LONG, 1);
        assert_eq!(winding.next(1), Due::Nothing);
        assert_eq!(winding.next(2), Due::Send(SIGKILL));
    }

    #[test]
    fn program_that_reads_keys_is_never_ended_for_one() {
        let mut winding = Winding::typed(Duration::ZERO, false, 1);
        assert!(winding.can_be_taken_back());
        assert_eq!(winding.next(5), Due::Nothing);
    }
}
