//! Reads a command's two output streams while it runs, within bounds of memory and time.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::outcome::{Captured, Limit};

/// How often to ask whether the command has ended, where no descriptor tells.
const ASK_EVERY: Duration = Duration::from_millis(5);

/// One stream on its way in.
struct Stream {
    pipe: Option<OwnedFd>,
    captured: Captured,
    most: usize,
}

/// Both streams and the time limit.
pub(crate) struct Pump {
    streams: [Stream; 2],
    deadline: Instant,
}

impl Pump {
    /// Takes the reading ends; reading never blocks from here on.
    pub(crate) fn new(
        stdout: (OwnedFd, usize),
        stderr: (OwnedFd, usize),
        deadline: Instant,
    ) -> io::Result<Pump> {
        let stream = |(pipe, most): (OwnedFd, usize)| -> io::Result<Stream> {
            let flags = rustix::fs::fcntl_getfl(&pipe)?;
            rustix::fs::fcntl_setfl(&pipe, flags | OFlags::NONBLOCK)?;
            Ok(Stream {
                pipe: Some(pipe),
                captured: Captured::default(),
                most,
            })
        };
        Ok(Pump {
            streams: [stream(stdout)?, stream(stderr)?],
            deadline,
        })
    }

    /// Reads until `has_ended` says so or a limit is reached, which is then the answer. `wake`
    /// becomes readable when the command ends; without it `has_ended` is asked repeatedly.
    pub(crate) fn run(
        &mut self,
        wake: Option<BorrowedFd<'_>>,
        mut has_ended: impl FnMut() -> io::Result<bool>,
    ) -> io::Result<Option<Limit>> {
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            let pause = if wake.is_some() {
                left
            } else {
                left.min(ASK_EVERY)
            };
            self.wait(wake, pause)?;
            if let Some(limit) = self.read_all()? {
                return Ok(Some(limit));
            }
            if has_ended()? {
                // What was printed last may have arrived between reading and asking.
                return self.read_all();
            }
            if Instant::now() >= self.deadline {
                return Ok(Some(Limit::WallTime));
            }
        }
    }

    /// What was captured, including what still lies in the pipes.
    pub(crate) fn finish(mut self) -> (Captured, Captured) {
        // Output beyond the limit was reported already, or came with a limit of another kind.
        let _ = self.read_all();
        let [stdout, stderr] = self.streams;
        (stdout.captured, stderr.captured)
    }

    fn wait(&self, wake: Option<BorrowedFd<'_>>, pause: Duration) -> io::Result<()> {
        let mut events: Vec<PollFd<'_>> = Vec::with_capacity(3);
        for stream in &self.streams {
            if let Some(pipe) = &stream.pipe {
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
        let [stdout, stderr] = &mut self.streams;
        stdout.read_available()?;
        stderr.read_available()?;
        if stdout.captured.truncated {
            return Ok(Some(Limit::Stdout));
        }
        Ok(stderr.captured.truncated.then_some(Limit::Stderr))
    }
}

impl Stream {
    fn read_available(&mut self) -> io::Result<()> {
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
                }
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }
}
