//! Waits for a request to stop: a signal, or the end of standard input if another program had it open.

use std::os::fd::AsFd;

use tokio::io::AsyncReadExt;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::NetError;

/// Listens for a request to stop from the moment it is created, so that none is lost before
/// [`EndOfWork::wait`] is called.
#[derive(Debug)]
pub struct EndOfWork {
    signals: [Signal; 3],
    /// Whether another program has standard input open, so that its end is a request to stop.
    is_held: bool,
}

impl EndOfWork {
    /// Installs the handlers for the signals that end a recording.
    pub fn listen(runtime: &tokio::runtime::Handle) -> Result<Self, NetError> {
        let _guard = runtime.enter();
        let listen =
            |kind: SignalKind| signal(kind).map_err(|error| NetError::System(error.to_string()));
        let signals = [
            listen(SignalKind::interrupt())?,
            listen(SignalKind::terminate())?,
            listen(SignalKind::hangup())?,
        ];
        Ok(Self {
            signals,
            is_held: is_pipe() && !has_ended(),
        })
    }

    /// Returns once SIGINT, SIGTERM or SIGHUP arrives, or a pipe on standard input is closed.
    pub fn wait(mut self, runtime: &tokio::runtime::Handle) {
        let is_held = self.is_held;
        let [interrupted, terminated, hung_up] = &mut self.signals;
        runtime.block_on(async {
            tokio::select! {
                _ = interrupted.recv() => {}
                _ = terminated.recv() => {}
                _ = hung_up.recv() => {}
                () = input_closed(), if is_held => {}
            }
        });
    }
}

async fn input_closed() {
    let mut input = tokio::io::stdin();
    let mut buffer = [0; 256];
    while input.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
}

/// Whether standard input is already closed: then no program ever had it open. Checked before the
/// start is announced, so that any later end is a request to stop.
fn has_ended() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let input = std::io::stdin();
    let mut polled = [PollFd::new(&input, PollFlags::IN)];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let found = poll(&mut polled, Some(&now));
    let [polled] = polled;
    let flags = polled.revents();
    found.is_ok_and(|count| count > 0) && flags.contains(PollFlags::HUP)
}

fn is_pipe() -> bool {
    use std::os::unix::fs::FileTypeExt;
    let Ok(input) = std::io::stdin().as_fd().try_clone_to_owned() else {
        return false;
    };
    let kind = std::fs::File::from(input)
        .metadata()
        .map(|found| found.file_type());
    kind.is_ok_and(|kind| kind.is_fifo() || kind.is_socket())
}
