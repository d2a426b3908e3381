//! Aborts a response in such a way that the client still receives what came before.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::Sleep;

/// How long to wait before the connection is aborted.
const BEFORE_BREAK: Duration = Duration::from_millis(20);

/// The end of an aborted body. An error closes the connection at once and discards what was not
/// sent yet, so it is delayed a moment while the connection sends its data.
#[derive(Debug)]
pub(super) struct DelayedAbort(Pin<Box<Sleep>>);

impl DelayedAbort {
    /// Starts the delay.
    pub(super) fn begin() -> Self {
        Self(Box::pin(tokio::time::sleep(BEFORE_BREAK)))
    }

    /// Returns the error that aborts the connection, once the delay is over.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        ready!(self.0.as_mut().poll(context));
        Poll::Ready(io::Error::new(
            io::ErrorKind::ConnectionAborted,
            "the answer was broken off",
        ))
    }
}
