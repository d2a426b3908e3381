//! The caller's side of a command's terminal: what it shows is read, keys of the caller's own terminal are passed
//! on, and its size is followed.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex};

use super::interrupts::RawMode;
use super::sys;
use super::terminal::{self, Sides};
use crate::feed::is_ready;
use crate::limits::Limits;
use crate::outcome::{Captured, Limit};
use crate::spec::{OnOutput, Stream};
use crate::streams::{Terminal, TerminalChange, TerminalEvent, TerminalLog, TerminalSize};

/// What is shown within this time counts as shown at once.
const AT_ONCE: Duration = Duration::from_millis(10);
/// From so many events on, none is added.
const MOST_EVENTS: usize = 1 << 20;
/// How many pieces are read before somebody else has a turn.
const PIECES: usize = 64;

/// A command's terminal.
pub(crate) struct Screen {
    sides: Sides,
    began: Instant,
    captured: Captured,
    most: usize,
    log: TerminalLog,
    size: TerminalSize,
    own: Option<OwnTerminal>,
    /// Keys that the terminal does not take yet.
    keys: Vec<u8>,
    /// How many were passed on.
    typed: usize,
    /// How often a key sent an interrupt.
    pub(crate) interrupts: u32,
}

/// The terminal of the caller.
struct OwnTerminal {
    terminal: Arc<OwnedFd>,
    /// Held while the caller is in its foreground.
    raw: Option<RawMode>,
    is_gone: bool,
}

/// What typing did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Typed {
    Nothing,
    /// Keys for the program.
    Keys,
    /// An interrupt. `is_for_all` says that the command's first processes got it and that the program does not
    /// read single keys, so that it is meant to end.
    Interrupt {
        is_for_all: bool,
    },
}

impl Screen {
    pub(super) fn new(sides: Sides, terminal: &Terminal, limits: &Limits) -> io::Result<Screen> {
        let flags = rustix::fs::fcntl_getfl(&sides.ours)?;
        rustix::fs::fcntl_setfl(&sides.ours, flags | OFlags::NONBLOCK)?;
        let stream = match (terminal.stdout, terminal.stderr) {
            (true, _) => Some(Stream::Stdout),
            (false, true) => Some(Stream::Stderr),
            (false, false) => None,
        };
        let own = terminal.own.clone().map(|terminal| OwnTerminal {
            terminal,
            raw: None,
            is_gone: false,
        });
        let mut screen = Screen {
            sides,
            began: Instant::now(),
            captured: Captured::default(),
            most: match stream {
                Some(Stream::Stderr) => limits.stderr_bytes,
                _ => limits.stdout_bytes,
            },
            log: TerminalLog {
                stream,
                ..TerminalLog::default()
            },
            size: terminal.size,
            own,
            keys: Vec::new(),
            typed: 0,
            interrupts: 0,
        };
        screen.follow()?;
        Ok(screen)
    }

    /// What to wait for.
    pub(crate) fn interests(&self) -> Vec<PollFd<'_>> {
        let mut flags = PollFlags::IN;
        if !self.keys.is_empty() {
            flags |= PollFlags::OUT;
        }
        let mut events = vec![PollFd::new(&self.sides.ours, flags)];
        if let Some(own) = self.own.as_ref().filter(|own| own.is_read()) {
            events.push(PollFd::new(&*own.terminal, PollFlags::IN));
        }
        events
    }

    /// Follows the caller's own terminal: whether its keys are ours, and its size.
    pub(crate) fn follow(&mut self) -> io::Result<()> {
        let Some(own) = &mut self.own else {
            return Ok(());
        };
        own.follow();
        if let Some(size) = terminal::size_of(&*own.terminal).filter(|size| *size != self.size) {
            self.size = size;
            terminal::resize(&self.sides.ours, size)?;
            self.note(TerminalChange::Resized(size));
        }
        Ok(())
    }

    /// Reads what is shown. Says whether there was more than may be kept.
    pub(crate) fn read(
        &mut self,
        on_output: Option<&OnOutput>,
        pieces: Option<usize>,
    ) -> io::Result<bool> {
        let mut buffer = [0_u8; 1 << 14];
        let mut left = pieces.unwrap_or(usize::MAX);
        while left > 0 && !self.captured.truncated {
            left -= 1;
            match rustix::io::read(&self.sides.ours, &mut buffer) {
                // The terminal is hung up.
                Ok(0) | Err(Errno::IO | Errno::AGAIN) => break,
                Ok(count) => {
                    let room = self.most - self.captured.bytes.len();
                    let kept = buffer.get(..count.min(room)).unwrap_or_default();
                    self.captured.bytes.extend_from_slice(kept);
                    self.captured.truncated = count > room;
                    let shown = kept.len();
                    if let Some(on_output) = on_output {
                        on_output.call(Stream::Terminal, kept);
                    }
                    self.note(TerminalChange::Shown(shown));
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(self.captured.truncated)
    }

    /// The limit of what it shows.
    pub(crate) fn limit(&self) -> Limit {
        match self.log.stream {
            Some(Stream::Stderr) => Limit::Stderr,
            _ => Limit::Stdout,
        }
    }

    /// [`Screen::read`], as much as is read in one turn.
    pub(crate) fn read_some(&mut self, on_output: Option<&OnOutput>) -> io::Result<bool> {
        self.read(on_output, Some(PIECES))
    }

    fn note(&mut self, what: TerminalChange) {
        let at = self.began.elapsed();
        let events = &mut self.log.events;
        let is_full = events.len() >= MOST_EVENTS;
        if let (TerminalChange::Shown(more), Some(last)) = (what, events.last_mut())
            && (is_full || at.saturating_sub(last.at) < AT_ONCE)
            && let TerminalChange::Shown(count) = &mut last.what
        {
            *count += more;
            return;
        }
        events.push(TerminalEvent { at, what });
    }

    /// Passes on what is typed.
    pub(crate) fn type_keys(&mut self) -> io::Result<Typed> {
        let mut typed = Typed::Nothing;
        if let Some(own) = self.own.as_mut().filter(|own| own.is_read())
            && self.keys.is_empty()
            && is_ready(own.terminal.as_fd())?
        {
            let mut buffer = [0_u8; 1024];
            match rustix::io::read(&*own.terminal, &mut buffer) {
                Ok(0) => own.is_gone = true,
                Ok(count) => {
                    self.keys = buffer.get(..count).unwrap_or_default().to_vec();
                    typed = self.judge_keys();
                }
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => own.is_gone = true,
            }
        } else if !self.keys.is_empty() {
            typed = self.hear_of_interrupts()?;
        }
        while !self.keys.is_empty() {
            match rustix::io::write(&self.sides.ours, &self.keys) {
                Ok(0) | Err(Errno::AGAIN) => break,
                Ok(count) => drop(self.keys.drain(..count)),
                Err(Errno::INTR) => {}
                // Nobody reads it any more.
                Err(Errno::IO) => self.keys.clear(),
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(typed)
    }

    /// What the keys that were typed are to the command's terminal.
    fn judge_keys(&mut self) -> Typed {
        let Ok(settings) = rustix::termios::tcgetattr(&self.sides.of_command) else {
            return Typed::Keys;
        };
        let modes = settings.local_modes;
        let code = |index| settings.special_codes[index];
        let has_signals = modes.contains(LocalModes::ISIG);
        let signals = [
            SpecialCodeIndex::VINTR,
            SpecialCodeIndex::VQUIT,
            SpecialCodeIndex::VSUSP,
        ];
        let is_signal = |key: &u8| has_signals && signals.iter().any(|it| code(*it) == *key);
        self.typed += self.keys.iter().filter(|key| !is_signal(key)).count();
        let interrupt = code(SpecialCodeIndex::VINTR);
        let count = self.keys.iter().filter(|key| **key == interrupt).count();
        if !has_signals || count == 0 {
            return Typed::Keys;
        }
        self.interrupts += u32::try_from(count).unwrap_or(u32::MAX);
        let is_first = rustix::termios::tcgetpgrp(&self.sides.ours)
            .is_ok_and(|group| rustix::termios::tcgetsid(&self.sides.ours) == Ok(group));
        Typed::Interrupt {
            is_for_all: is_first && modes.contains(LocalModes::ICANON),
        }
    }

    /// Keys that nobody reads must not keep an interrupt from coming through.
    fn hear_of_interrupts(&mut self) -> io::Result<Typed> {
        let Some(own) = self.own.as_mut().filter(|own| own.is_read()) else {
            return Ok(Typed::Nothing);
        };
        if !is_ready(own.terminal.as_fd())? {
            return Ok(Typed::Nothing);
        }
        let waiting = std::mem::take(&mut self.keys);
        let mut buffer = [0_u8; 1024];
        let count = rustix::io::read(&*own.terminal, &mut buffer).unwrap_or(0);
        own.is_gone = count == 0;
        self.keys = buffer.get(..count).unwrap_or_default().to_vec();
        let typed = self.judge_keys();
        match typed {
            // As a terminal does: what was typed before it is dropped.
            Typed::Interrupt { .. } => {
                self.keys.clear();
                self.interrupt();
            }
            _ => {
                let new = std::mem::replace(&mut self.keys, waiting);
                // As a terminal does with keys for which there is no room.
                if self.keys.len() < 1 << 16 {
                    self.keys.extend(new);
                }
            }
        }
        Ok(typed)
    }

    /// Sends SIGINT to the processes in the foreground.
    pub(crate) fn interrupt(&self) {
        sys::interrupt_terminal(self.sides.ours.as_fd());
    }

    /// What it showed and what happened. Only when the command has ended.
    pub(crate) fn finish(
        mut self,
        on_output: Option<&OnOutput>,
    ) -> io::Result<(Captured, TerminalLog)> {
        self.read(on_output, None)?;
        let left = self.unread_keys().saturating_add(self.keys.len());
        self.log.typed = self.typed.saturating_sub(left) as u64;
        // The caller's own is as it was from here on.
        drop(self.own.take());
        if self.log.stream.is_none() {
            self.log.alone = std::mem::take(&mut self.captured.bytes);
        }
        Ok((self.captured, self.log))
    }

    /// How many keys the terminal holds that nobody took.
    fn unread_keys(&self) -> usize {
        let side = &self.sides.of_command;
        if let Ok(mut settings) = rustix::termios::tcgetattr(side) {
            // An unfinished line can only be seen this way.
            settings.local_modes -= LocalModes::ICANON;
            let _ = rustix::termios::tcsetattr(side, OptionalActions::Now, &settings);
        }
        let left = rustix::io::ioctl_fionread(side).unwrap_or(0);
        usize::try_from(left).unwrap_or(usize::MAX)
    }
}

impl OwnTerminal {
    fn is_read(&self) -> bool {
        self.raw.is_some() && !self.is_gone
    }

    /// Takes its keys while the caller is in its foreground. A job in the background leaves it alone: the system
    /// would stop it.
    fn follow(&mut self) {
        let own = rustix::process::getpgrp();
        let is_ours = rustix::termios::tcgetpgrp(&*self.terminal) == Ok(own);
        match (&self.raw, is_ours && !self.is_gone) {
            (None, true) => self.raw = RawMode::begin(&self.terminal),
            // A shell that had it meanwhile may have changed it.
            (Some(raw), true) => raw.keep(&self.terminal),
            (Some(_), false) => {
                if let Some(raw) = self.raw.take() {
                    raw.forget();
                }
            }
            (None, false) => {}
        }
    }
}
