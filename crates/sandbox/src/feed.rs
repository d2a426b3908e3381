//! Passes standard input on to a command while it runs, and keeps what the command took of it.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::outcome::Limit;
use crate::streams::PipedInput;

/// How many pieces are passed on before somebody else has a turn.
const PIECES: usize = 16;

/// Input on its way into the command's pipe.
pub(crate) struct Feed {
    from: Arc<OwnedFd>,
    /// The writing end; absent when the command has everything, or wants no more.
    to: Option<OwnedFd>,
    kept: Option<Arc<File>>,
    most: u64,
    /// How many bytes went into the pipe.
    given: u64,
    /// The reading end, after the writing one was closed: it tells what the command left in the pipe. Without it,
    /// everything counts as taken.
    rest: Option<OwnedFd>,
    waiting: Vec<u8>,
    is_at_end: bool,
    fault: Option<String>,
}

/// What a command took of its standard input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TakenInput {
    /// How many bytes it took. As many are in [`PipedInput::kept`].
    pub bytes: u64,
    /// Why there was no more of it, if it could not be read to its end.
    pub fault: Option<String>,
}

impl Feed {
    pub(crate) fn new(input: &PipedInput, to: OwnedFd) -> io::Result<Feed> {
        let flags = rustix::fs::fcntl_getfl(&to)?;
        rustix::fs::fcntl_setfl(&to, flags | OFlags::NONBLOCK)?;
        Ok(Feed {
            from: Arc::clone(&input.from),
            to: Some(to),
            kept: input.kept.clone(),
            most: input.most,
            given: 0,
            rest: None,
            waiting: Vec::new(),
            is_at_end: false,
            fault: None,
        })
    }

    /// What to wait for.
    pub(crate) fn interest(&self) -> Option<PollFd<'_>> {
        let to = self.to.as_ref()?;
        match (self.waiting.is_empty(), self.is_full()) {
            (true, _) => Some(PollFd::new(&*self.from, PollFlags::IN)),
            (false, false) => Some(PollFd::new(to, PollFlags::OUT)),
            (false, true) => None,
        }
    }

    /// Whether it has to be asked again and again, since nothing tells when it can go on.
    pub(crate) fn must_be_asked(&self) -> bool {
        self.to.is_some() && !self.waiting.is_empty() && self.is_full()
    }

    fn is_full(&self) -> bool {
        self.given >= self.most
    }

    /// Passes on what is there, as far as there is room.
    pub(crate) fn push(&mut self) -> io::Result<Option<Limit>> {
        for _ in 0..PIECES {
            if self.to.is_none() {
                return Ok(None);
            }
            if self.waiting.is_empty() && !self.is_at_end && is_ready(self.from.as_fd())? {
                self.read();
            }
            if self.waiting.is_empty() {
                if self.is_at_end {
                    self.close();
                }
                return Ok(None);
            }
            let Some(to) = &self.to else { return Ok(None) };
            let room = usize::try_from(self.most - self.given).unwrap_or(usize::MAX);
            if room == 0 {
                // Whoever has taken everything and goes on wants more.
                let is_wanted = rustix::io::ioctl_fionread(to)? == 0;
                return Ok(is_wanted.then_some(Limit::Stdin));
            }
            let piece = self.waiting.get(..self.waiting.len().min(room));
            match rustix::io::write(to, piece.unwrap_or_default()) {
                Ok(count) => {
                    if let Some(mut kept) = self.kept.as_deref() {
                        kept.write_all(self.waiting.get(..count).unwrap_or_default())?;
                    }
                    self.given += count as u64;
                    self.waiting.drain(..count);
                }
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                // The command wants no more.
                Err(Errno::PIPE) => self.close(),
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(None)
    }

    fn read(&mut self) {
        let mut buffer = vec![0; 1 << 16];
        match rustix::io::read(&*self.from, &mut buffer) {
            Ok(0) => self.is_at_end = true,
            Ok(count) => {
                buffer.truncate(count);
                self.waiting = buffer;
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => {
                self.is_at_end = true;
                self.fault = Some(io::Error::from(errno).to_string());
            }
        }
    }

    /// Closes the pipe: the command finds its end, or has closed it itself.
    fn close(&mut self) {
        let Some(to) = self.to.take() else { return };
        self.waiting = Vec::new();
        // With a writing end there would be no end to find.
        self.rest = rustix::fs::open(
            format!("/proc/self/fd/{}", to.as_raw_fd()),
            OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .ok();
    }

    /// What the command took. Only when it has ended.
    pub(crate) fn finish(self) -> io::Result<TakenInput> {
        let pipe = self.to.as_ref().or(self.rest.as_ref());
        let left = pipe.map_or(Ok(0), rustix::io::ioctl_fionread)?;
        let bytes = self.given.saturating_sub(left);
        if let Some(kept) = &self.kept {
            kept.set_len(bytes)?;
        }
        Ok(TakenInput {
            bytes,
            fault: self.fault,
        })
    }
}

/// Whether something can be read at once: also an end or an error.
pub(crate) fn is_ready(from: BorrowedFd<'_>) -> io::Result<bool> {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    match rustix::event::poll(&mut [PollFd::new(&from, PollFlags::IN)], Some(&now)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}
