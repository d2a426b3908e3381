//! Breaking an answer off so that the client still gets what came before.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::Sleep;

/// How long an answer that breaks off holds its end back.
const BEFORE_BREAK: Duration = Duration::from_millis(20);

/// The end of a body that breaks off. An error closes the connection at once, with what was not sent
/// yet; so the error comes a moment later, and the connection sends what it has meanwhile.
#[derive(Debug)]
pub(super) struct Break(Pin<Box<Sleep>>);

impl Break {
    /// Starts the wait.
    pub(super) fn begin() -> Self {
        Self(Box::pin(tokio::time::sleep(BEFORE_BREAK)))
    }

    /// The error that tells the client, once the wait is over.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        ready!(self.0.as_mut().poll(context));
        Poll::Ready(io::Error::new(
            io::ErrorKind::ConnectionAborted,
            "the answer was broken off",
        ))
    }
}
