//! Waits for the request to stop: a signal, or the end of standard input if a program holds it
//! open.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::NetError;

/// If standard input ends this early, no program was holding it open.
const NEVER_HELD: Duration = Duration::from_millis(200);

/// Listens for the request to stop from the moment it is created, so that one which arrives before
/// anybody waits is not lost.
#[derive(Debug)]
pub struct EndOfWork {
    signals: [Signal; 3],
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
        Ok(Self { signals })
    }

    /// Returns once SIGINT, SIGTERM or SIGHUP arrives, or a pipe on standard input is closed.
    pub fn wait(mut self, runtime: &tokio::runtime::Handle) {
        let [interrupted, terminated, hung_up] = &mut self.signals;
        runtime.block_on(async {
            tokio::select! {
                _ = interrupted.recv() => {}
                _ = terminated.recv() => {}
                _ = hung_up.recv() => {}
                () = input_closed() => {}
            }
        });
    }
}

async fn input_closed() {
    if !is_pipe() {
        return std::future::pending().await;
    }
    let begun = Instant::now();
    let mut input = tokio::io::stdin();
    let mut buffer = [0; 256];
    while input.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
    if begun.elapsed() < NEVER_HELD {
        std::future::pending::<()>().await;
    }
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
