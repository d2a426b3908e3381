//! A command's pseudo terminal: how the two sides are opened, and who gets which.
//!
//! In namespaces process 1 opens it, in the sandbox's own instance, so that its name is true inside; the caller
//! takes both sides over a socket. Otherwise the caller opens one of the host's before the first fork.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pty::OpenptFlags;
use rustix::termios::{OptionalActions, Termios, Winsize};

use super::{handover, ownership};
use crate::streams::{Terminal, TerminalSize};

/// Both sides.
pub(super) struct Sides {
    pub(super) ours: OwnedFd,
    pub(super) of_command: OwnedFd,
}

/// What the command's processes need.
pub(super) struct TerminalWire {
    /// The command's side, if it is open already.
    pub(super) side: Option<OwnedFd>,
    /// Where both sides go that process 1 opens.
    pub(super) hand_over: Option<OwnedFd>,
    /// Which of the three streams it is.
    pub(super) is_on: [bool; 3],
    shape: Shape,
}

/// What a new terminal is like.
#[derive(Clone)]
pub(super) struct Shape {
    size: TerminalSize,
    /// The settings of the caller's own, from before its keys were passed on.
    like: Option<Termios>,
}

impl Shape {
    pub(super) fn of(terminal: &Terminal) -> Shape {
        let own = terminal.own.as_deref();
        Shape {
            size: terminal.size,
            like: own.and_then(|own| rustix::termios::tcgetattr(own).ok()),
        }
    }
}

/// Opens a new terminal.
pub(super) fn open(shape: &Shape) -> Result<Sides, Errno> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let ours = rustix::fs::open("/dev/ptmx", flags, Mode::empty())?;
    rustix::pty::unlockpt(&ours)?;
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let of_command = rustix::pty::ioctl_tiocgptpeer(&ours, flags)?;
    resize(&ours, shape.size)?;
    if let Some(like) = &shape.like {
        // How keys are treated is the user's; how output is, would show in what is recorded.
        let mut settings = rustix::termios::tcgetattr(&of_command)?;
        settings.input_modes = like.input_modes;
        settings.local_modes = like.local_modes;
        settings.special_codes = like.special_codes.clone();
        rustix::termios::tcsetattr(&of_command, OptionalActions::Now, &settings)?;
    }
    Ok(Sides { ours, of_command })
}

/// Gives it another size; the processes in its foreground hear of that.
pub(super) fn resize(side: impl AsFd, size: TerminalSize) -> Result<(), Errno> {
    let size = Winsize {
        ws_col: size.columns,
        ws_row: size.rows,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    rustix::termios::tcsetwinsize(side, size)
}

/// The size of a terminal, if it says.
pub(super) fn size_of(terminal: impl AsFd) -> Option<TerminalSize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some(TerminalSize {
        columns: size.ws_col,
        rows: size.ws_row,
    })
}

/// The name of the command's side on the host.
pub(super) fn name_of(sides: &Sides) -> Result<PathBuf, Errno> {
    let name = rustix::pty::ptsname(&sides.ours, Vec::new())?;
    Ok(PathBuf::from(OsStr::from_bytes(name.as_bytes())))
}

impl TerminalWire {
    /// For a terminal that is open: the command's side, which then belongs to these ids.
    pub(super) fn opened(
        terminal: &Terminal,
        side: &OwnedFd,
        ids: Option<(u32, u32)>,
    ) -> Result<TerminalWire, Errno> {
        if let Some(ids) = ids {
            ownership::give_file(side.as_fd(), ids)?;
        }
        Ok(TerminalWire {
            side: Some(rustix::io::fcntl_dupfd_cloexec(side, 3)?),
            hand_over: None,
            is_on: streams_of(terminal),
            shape: Shape::of(terminal),
        })
    }

    /// For one that process 1 opens, and the socket from which the caller takes it.
    pub(super) fn inside(terminal: &Terminal) -> Result<(TerminalWire, OwnedFd), Errno> {
        let (taker, sender) = handover::make()?;
        let wire = TerminalWire {
            side: None,
            hand_over: Some(sender),
            is_on: streams_of(terminal),
            shape: Shape::of(terminal),
        };
        Ok((wire, taker))
    }

    /// The descriptors of it that the processes need.
    pub(super) fn all(&self) -> impl Iterator<Item = &OwnedFd> {
        self.side.iter().chain(&self.hand_over)
    }

    /// The command's side. In process 1 it is opened here, and both are sent to the caller.
    pub(super) fn take_side(&self) -> Result<OwnedFd, Errno> {
        if let Some(side) = &self.side {
            return rustix::io::fcntl_dupfd_cloexec(side, 3);
        }
        let sides = open(&self.shape)?;
        if let Some(hand_over) = &self.hand_over {
            handover::send(hand_over, sides.ours.as_fd())?;
            handover::send(hand_over, sides.of_command.as_fd())?;
        }
        Ok(sides.of_command)
    }
}

fn streams_of(terminal: &Terminal) -> [bool; 3] {
    [terminal.stdin, terminal.stdout, terminal.stderr]
}

/// Waits for both sides. None if the processes ended before they made them; their report says why.
pub(super) fn take(taker: &OwnedFd) -> Result<Option<Sides>, Errno> {
    let one = || loop {
        let mut events = [PollFd::new(taker, PollFlags::IN)];
        match rustix::event::poll(&mut events, None) {
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
            Ok(_) => return handover::take(taker),
        }
    };
    let (Some(ours), Some(of_command)) = (one()?, one()?) else {
        return Ok(None);
    };
    Ok(Some(Sides { ours, of_command }))
}
