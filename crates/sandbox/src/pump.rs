//! Reads a command's two output streams while it runs, within bounds of memory and time.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::cancel::CancelToken;
use crate::outcome::{Captured, Limit};
use crate::spec::{OnOutput, Spec, Stream};

/// How often to ask whether the command has ended, where no descriptor tells.
const ASK_EVERY: Duration = Duration::from_millis(5);
/// How often to ask whether the run was cancelled. A signal interrupts the wait besides.
const HEED_EVERY: Duration = Duration::from_millis(25);

/// One stream on its way in.
struct Input {
    stream: Stream,
    pipe: Option<OwnedFd>,
    captured: Captured,
    most: usize,
}

/// Why reading ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The command ended.
    Ended,
    /// It reached a limit.
    Reached(Limit),
    /// The caller wants no more.
    Cancelled,
}

/// Both streams and the time limit.
pub(crate) struct Pump {
    inputs: [Input; 2],
    deadline: Instant,
    cancel: Option<CancelToken>,
    on_output: Option<OnOutput>,
}

impl Pump {
    /// Takes the reading ends; reading never blocks from here on.
    pub(crate) fn new(
        stdout: OwnedFd,
        stderr: OwnedFd,
        spec: &Spec,
        deadline: Instant,
    ) -> io::Result<Pump> {
        let input = |stream, pipe: OwnedFd, most| -> io::Result<Input> {
            let flags = rustix::fs::fcntl_getfl(&pipe)?;
            rustix::fs::fcntl_setfl(&pipe, flags | OFlags::NONBLOCK)?;
            Ok(Input {
                stream,
                pipe: Some(pipe),
                captured: Captured::default(),
                most,
            })
        };
        let limits = &spec.limits;
        Ok(Pump {
            inputs: [
                input(Stream::Stdout, stdout, limits.stdout_bytes)?,
                input(Stream::Stderr, stderr, limits.stderr_bytes)?,
            ],
            deadline,
            cancel: spec.cancel.clone(),
            on_output: spec.on_output.clone(),
        })
    }

    /// Reads until `has_ended` says so, a limit is reached or the run is cancelled. `wake`
    /// becomes readable when the command ends; without it `has_ended` is asked repeatedly.
    pub(crate) fn run(
        &mut self,
        wake: Option<BorrowedFd<'_>>,
        mut has_ended: impl FnMut() -> io::Result<bool>,
    ) -> io::Result<Stop> {
        loop {
            if self.cancel.as_ref().is_some_and(CancelToken::is_cancelled) {
                return Ok(Stop::Cancelled);
            }
            let mut pause = self.deadline.saturating_duration_since(Instant::now());
            if wake.is_none() {
                pause = pause.min(ASK_EVERY);
            }
            if self.cancel.is_some() {
                pause = pause.min(HEED_EVERY);
            }
            self.wait(wake, pause)?;
            if let Some(limit) = self.read_all()? {
                return Ok(Stop::Reached(limit));
            }
            if has_ended()? {
                // What was printed last may have arrived between reading and asking.
                return Ok(self.read_all()?.map_or(Stop::Ended, Stop::Reached));
            }
            if Instant::now() >= self.deadline {
                return Ok(Stop::Reached(Limit::WallTime));
            }
        }
    }

    /// What was captured, including what still lies in the pipes.
    pub(crate) fn finish(mut self) -> (Captured, Captured) {
        // Output beyond the limit was reported already, or came with a limit of another kind.
        let _ = self.read_all();
        let [stdout, stderr] = self.inputs;
        (stdout.captured, stderr.captured)
    }

    fn wait(&self, wake: Option<BorrowedFd<'_>>, pause: Duration) -> io::Result<()> {
        let mut events: Vec<PollFd<'_>> = Vec::with_capacity(3);
        for input in &self.inputs {
            if let Some(pipe) = &input.pipe {
                events.push(PollFd::new(pipe, PollFlags::IN));
            }
        }
        if let Some(wake) = &wake {
            events.push(PollFd::new(wake, PollFlags::IN));
        }
        let timeout = Timespec {
            tv_sec: i64::try_from(pause.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(pause.subsec_nanos()),
        };
        match rustix::event::poll(&mut events, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    fn read_all(&mut self) -> io::Result<Option<Limit>> {
        let [stdout, stderr] = &mut self.inputs;
        stdout.read_available(self.on_output.as_ref())?;
        stderr.read_available(self.on_output.as_ref())?;
        if stdout.captured.truncated {
            return Ok(Some(Limit::Stdout));
        }
        Ok(stderr.captured.truncated.then_some(Limit::Stderr))
    }
}

impl Input {
    fn read_available(&mut self, on_output: Option<&OnOutput>) -> io::Result<()> {
        let mut buffer = [0_u8; 1 << 16];
        while let Some(pipe) = &self.pipe {
            if self.captured.truncated {
                return Ok(());
            }
            match rustix::io::read(pipe.as_fd(), &mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(count) => {
                    let room = self.most - self.captured.bytes.len();
                    let kept = buffer.get(..count.min(room)).unwrap_or_default();
                    self.captured.bytes.extend_from_slice(kept);
                    self.captured.truncated = count > room;
                    if let Some(on_output) = on_output {
                        on_output.call(self.stream, kept);
                    }
                }
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }
}
