//! Waiting for the word to end: a signal, or the end of standard input where a program holds it.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt;
use tokio::signal::unix::{SignalKind, signal};

use crate::NetError;

/// Standard input that is at its end this early was never held by anybody.
const NEVER_HELD: Duration = Duration::from_millis(200);

/// Returns once SIGINT or SIGTERM comes, or standard input is a pipe that somebody closes.
pub fn wait_until_told(runtime: &tokio::runtime::Handle) -> Result<(), NetError> {
    runtime.block_on(async {
        let system = |error: std::io::Error| NetError::System(error.to_string());
        let mut interrupted = signal(SignalKind::interrupt()).map_err(system)?;
        let mut terminated = signal(SignalKind::terminate()).map_err(system)?;
        let mut hung_up = signal(SignalKind::hangup()).map_err(system)?;
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
            _ = hung_up.recv() => {}
            () = input_closed() => {}
        }
        Ok(())
    })
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
