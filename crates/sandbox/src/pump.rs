//! Moves a command's streams while it runs, within bounds of memory and time, and brings it to its end when it is
//! interrupted.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::cancel::CancelToken;
use crate::feed::{Feed, TakenInput};
#[cfg(target_os = "linux")]
use crate::linux::{Screen, Typed};
use crate::outcome::{Captured, Limit};
use crate::spec::{OnOutput, Spec, Stream};
use crate::streams::TerminalLog;
use crate::winding::{Due, Winding};

/// How often to ask whether the command has ended, where no descriptor tells.
const ASK_EVERY: Duration = Duration::from_millis(5);
/// How often to ask whether the run was cancelled, and what became of a terminal. A signal interrupts the wait besides.
const HEED_EVERY: Duration = Duration::from_millis(25);
/// How many pieces of a stream are read before another has a turn.
const PIECES: usize = 64;

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

/// The streams that a pump moves.
pub(crate) struct Streams {
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    pub(crate) feed: Option<Feed>,
    #[cfg(target_os = "linux")]
    pub(crate) screen: Option<Screen>,
}

/// The streams, the time limit and what interrupts.
pub(crate) struct Pump {
    inputs: [Input; 2],
    feed: Option<Feed>,
    #[cfg(target_os = "linux")]
    screen: Option<Screen>,
    deadline: Instant,
    cancel: Option<CancelToken>,
    grace: Option<Duration>,
    winding: Option<Winding>,
    on_output: Option<OnOutput>,
}

/// What came of the streams.
pub(crate) struct Pumped {
    pub(crate) stdout: Captured,
    pub(crate) stderr: Captured,
    pub(crate) input: Option<TakenInput>,
    pub(crate) terminal: Option<TerminalLog>,
    /// The signal of an interrupt that was not taken back.
    pub(crate) interrupted: Option<i32>,
}

impl Pump {
    /// Takes the caller's ends; nothing blocks from here on.
    pub(crate) fn new(streams: Streams, spec: &Spec, deadline: Instant) -> io::Result<Pump> {
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
                input(Stream::Stdout, streams.stdout, limits.stdout_bytes)?,
                input(Stream::Stderr, streams.stderr, limits.stderr_bytes)?,
            ],
            feed: streams.feed,
            #[cfg(target_os = "linux")]
            screen: streams.screen,
            deadline,
            cancel: spec.cancel.clone(),
            grace: spec.grace,
            winding: None,
            on_output: spec.on_output.clone(),
        })
    }

    /// Moves everything until `has_ended` says so, a limit is reached or the run is cancelled. `wake`
    /// becomes readable when the command ends; without it `has_ended` is asked repeatedly. `send` gives the command
    /// a signal.
    pub(crate) fn run(
        &mut self,
        wake: Option<BorrowedFd<'_>>,
        mut has_ended: impl FnMut() -> io::Result<bool>,
        mut send: impl FnMut(i32),
    ) -> io::Result<Stop> {
        loop {
            if let Some(stop) = self.heed(&mut send) {
                return Ok(stop);
            }
            let mut pause = self.deadline.saturating_duration_since(Instant::now());
            if wake.is_none() {
                pause = pause.min(ASK_EVERY);
            }
            if self.must_be_asked() {
                pause = pause.min(HEED_EVERY);
            }
            self.wait(wake, pause)?;
            if let Some(limit) = self.move_all()? {
                return Ok(Stop::Reached(limit));
            }
            if has_ended()? {
                // What was printed last may have arrived between reading and asking.
                return Ok(self.read_all(None)?.map_or(Stop::Ended, Stop::Reached));
            }
            if Instant::now() >= self.deadline {
                return Ok(Stop::Reached(Limit::WallTime));
            }
        }
    }

    /// What came of the streams, including what still lies in them. Only when the command has ended.
    pub(crate) fn finish(mut self) -> io::Result<Pumped> {
        // Output beyond the limit was reported already, or came with a limit of another kind.
        let _ = self.read_all(None);
        let [stdout, stderr] = self.inputs;
        #[cfg_attr(not(target_os = "linux"), expect(unused_mut))]
        let mut pumped = Pumped {
            stdout: stdout.captured,
            stderr: stderr.captured,
            input: self.feed.map(Feed::finish).transpose()?,
            terminal: None,
            interrupted: self.winding.map(|winding| winding.signal),
        };
        #[cfg(target_os = "linux")]
        if let Some(screen) = self.screen {
            let (shown, log) = screen.finish(self.on_output.as_ref())?;
            match log.stream {
                Some(Stream::Stdout) => pumped.stdout = shown,
                Some(Stream::Stderr) => pumped.stderr = shown,
                Some(Stream::Terminal) | None => {}
            }
            pumped.terminal = Some(log);
        }
        Ok(pumped)
    }

    fn must_be_asked(&self) -> bool {
        #[cfg(target_os = "linux")]
        let has_screen = self.screen.is_some();
        #[cfg(not(target_os = "linux"))]
        let has_screen = false;
        has_screen || self.cancel.is_some() || self.feed.as_ref().is_some_and(Feed::must_be_asked)
    }

    /// Looks whether the run is cancelled, and brings the command to its end if it is.
    fn heed(&mut self, send: &mut impl FnMut(i32)) -> Option<Stop> {
        let cancel = self.cancel.as_ref();
        let signalled = cancel.map_or(0, CancelToken::count);
        if signalled > 0 {
            let Some(grace) = self.grace else {
                return Some(Stop::Cancelled);
            };
            let heard = signalled.saturating_add(self.typed_interrupts());
            if self.winding.as_ref().is_none_or(|it| it.is_typed) {
                let signal = cancel.and_then(CancelToken::signal);
                let signal = signal.unwrap_or(crate::winding::SIGTERM);
                self.winding = Some(Winding::begin(signal, grace, heard));
                self.ask(signal, send);
            }
        }
        let heard = signalled.saturating_add(self.typed_interrupts());
        match self.winding.as_mut()?.next(heard) {
            Due::Nothing => None,
            Due::Send(signal) => {
                send(signal);
                None
            }
            Due::GiveUp => Some(Stop::Cancelled),
        }
    }

    /// Sends the first signal: an interrupt to whoever has the terminal, as a key would.
    fn ask(&self, signal: i32, send: &mut impl FnMut(i32)) {
        #[cfg(target_os = "linux")]
        if let Some(screen) = self.screen.as_ref().filter(|_| signal == libc::SIGINT) {
            return screen.interrupt();
        }
        send(signal);
    }

    fn typed_interrupts(&self) -> u32 {
        #[cfg(target_os = "linux")]
        return self.screen.as_ref().map_or(0, |screen| screen.interrupts);
        #[cfg(not(target_os = "linux"))]
        return 0;
    }

    fn wait(&self, wake: Option<BorrowedFd<'_>>, pause: Duration) -> io::Result<()> {
        let mut events: Vec<PollFd<'_>> = Vec::with_capacity(6);
        for input in &self.inputs {
            if let Some(pipe) = &input.pipe {
                events.push(PollFd::new(pipe, PollFlags::IN));
            }
        }
        if let Some(wake) = &wake {
            events.push(PollFd::new(wake, PollFlags::IN));
        }
        events.extend(self.feed.as_ref().and_then(Feed::interest));
        #[cfg(target_os = "linux")]
        if let Some(screen) = &self.screen {
            events.extend(screen.interests());
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

    fn move_all(&mut self) -> io::Result<Option<Limit>> {
        if let Some(limit) = self.feed.as_mut().map_or(Ok(None), Feed::push)? {
            return Ok(Some(limit));
        }
        #[cfg(target_os = "linux")]
        if let Some(screen) = &mut self.screen {
            screen.follow()?;
            let typed = screen.type_keys()?;
            let interrupts = screen.interrupts;
            self.hear(typed, interrupts);
        }
        self.read_all(Some(PIECES))
    }

    /// An interrupt that was typed may be taken back by typing on: then it was one for a program that goes on.
    #[cfg(target_os = "linux")]
    fn hear(&mut self, typed: Typed, interrupts: u32) {
        let is_begun = self.winding.is_some();
        match typed {
            Typed::Nothing => {}
            Typed::Keys => {
                if self
                    .winding
                    .as_ref()
                    .is_some_and(Winding::can_be_taken_back)
                {
                    self.winding = None;
                }
            }
            Typed::Interrupt { .. } if is_begun => {}
            Typed::Interrupt { is_for_all } => {
                let escalates = is_for_all && self.grace.is_some();
                let grace = self.grace.unwrap_or_default();
                let signalled = self.cancel.as_ref().map_or(0, CancelToken::count);
                let heard = interrupts.saturating_add(signalled);
                self.winding = Some(Winding::typed(grace, escalates, heard));
            }
        }
    }

    fn read_all(&mut self, pieces: Option<usize>) -> io::Result<Option<Limit>> {
        let on_output = self.on_output.as_ref();
        let [stdout, stderr] = &mut self.inputs;
        stdout.read_available(on_output, pieces)?;
        stderr.read_available(on_output, pieces)?;
        #[cfg(target_os = "linux")]
        if let Some(screen) = &mut self.screen {
            let is_too_much = match pieces {
                Some(_) => screen.read_some(on_output)?,
                None => screen.read(on_output, None)?,
            };
            if is_too_much {
                return Ok(Some(screen.limit()));
            }
        }
        if stdout.captured.truncated {
            return Ok(Some(Limit::Stdout));
        }
        Ok(stderr.captured.truncated.then_some(Limit::Stderr))
    }
}

impl Input {
    fn read_available(
        &mut self,
        on_output: Option<&OnOutput>,
        pieces: Option<usize>,
    ) -> io::Result<()> {
        let mut buffer = [0_u8; 1 << 16];
        let mut left = pieces.unwrap_or(usize::MAX);
        while let Some(pipe) = &self.pipe {
            if self.captured.truncated || left == 0 {
                return Ok(());
            }
            left -= 1;
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
