//! Connects to a server without encryption, but never sends the password: neither in plain text nor as
//! an MD5 sum, which is as good. SCRAM proves on both sides that the password is known without
//! revealing it.
//!
//! The library has no such option. So the server's messages are inspected until authentication is
//! complete, and the connection fails at a request for anything but SCRAM, before the library sees it.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use postgres::Socket;
use postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The server requested the password itself, on a connection that others can read.
#[derive(Debug, Error)]
#[error(
    "it asks for the password itself instead of a SCRAM proof, on a connection without encryption"
)]
pub(crate) struct PasswordRequested;

/// Replaces TLS on a connection without encryption.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Guard;

impl MakeTlsConnect<Socket> for Guard {
    type Stream = GuardedStream;
    type TlsConnect = Guard;
    type Error = Infallible;

    fn make_tls_connect(&mut self, _: &str) -> Result<Guard, Infallible> {
        Ok(*self)
    }
}

impl TlsConnect<Socket> for Guard {
    type Stream = GuardedStream;
    type Error = Infallible;
    type Future = Ready<Result<GuardedStream, Infallible>>;

    fn connect(self, socket: Socket) -> Self::Future {
        ready(Ok(GuardedStream {
            socket,
            greeting: Greeting::default(),
        }))
    }
}

/// A connection without encryption.
pub(crate) struct GuardedStream {
    socket: Socket,
    greeting: Greeting,
}

impl AsyncRead for GuardedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.socket).poll_read(context, buffer);
        let received = buffer.filled().get(before..).unwrap_or_default();
        if self.greeting.inspect(received).is_err() {
            buffer.set_filled(before);
            let refused = io::Error::new(io::ErrorKind::PermissionDenied, PasswordRequested);
            return Poll::Ready(Err(refused));
        }
        read
    }
}

impl AsyncWrite for GuardedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

impl TlsStream for GuardedStream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

/// The bytes of a message's type and length; for an authentication request, also of what is requested.
const HEAD: usize = 5;
const REQUEST: usize = HEAD + 4;
/// What a server may request: nothing more, or a step of SASL, for which the library supports only
/// SCRAM.
const AUTHENTICATED: u32 = 0;
const SASL: [u32; 3] = [10, 11, 12];

/// The server's messages until authentication is complete.
#[derive(Debug, Default)]
struct Greeting {
    /// The beginning of the current message.
    head: Vec<u8>,
    /// The number of bytes of the message that are still to be skipped.
    rest: usize,
    is_over: bool,
}

impl Greeting {
    /// Inspects what the server sent; fails at a request for the password.
    fn inspect(&mut self, received: &[u8]) -> Result<(), PasswordRequested> {
        let mut received = received;
        while !self.is_over && !received.is_empty() {
            if self.rest > 0 {
                let skipped = self.rest.min(received.len());
                self.rest -= skipped;
                received = received.get(skipped..).unwrap_or_default();
                continue;
            }
            let (byte, after) = received.split_at(1);
            self.head.extend_from_slice(byte);
            received = after;
            let is_request = self.head.first() == Some(&b'R');
            let wanted = if is_request { REQUEST } else { HEAD };
            if self.head.len() < wanted {
                continue;
            }
            let number = |at: usize| {
                let bytes = self
                    .head
                    .get(at..at + 4)
                    .and_then(|bytes| bytes.try_into().ok());
                bytes.map_or(0, u32::from_be_bytes)
            };
            match number(HEAD) {
                _ if !is_request => {}
                AUTHENTICATED => self.is_over = true,
                asked if SASL.contains(&asked) => {}
                _ => return Err(PasswordRequested),
            }
            // The length counts itself, but not the type before it.
            let length = usize::try_from(number(1)).unwrap_or(usize::MAX);
            self.rest = length.saturating_sub(wanted - 1);
            self.head.clear();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap();
        [&[kind][..], &length.to_be_bytes(), body].concat()
    }

    fn request(asked: u32, more: &[u8]) -> Vec<u8> {
        message(b'R', &[&asked.to_be_bytes()[..], more].concat())
    }

    #[test]
    fn password_request_other_than_scram_fails_at_any_piece_size() {
        let notice = message(b'N', b"SNOTICE\0\0");
        for asked in [2, 3, 5, 6, 7, 8, 9, 77] {
            let all = [&notice[..], &request(asked, b"salt")].concat();
            for piece in [1, 3, all.len()] {
                let mut greeting = Greeting::default();
                let inspected = all
                    .chunks(piece)
                    .try_for_each(|part| greeting.inspect(part));
                assert!(inspected.is_err(), "{asked}");
            }
        }
    }

    #[test]
    fn scram_passes_and_later_messages_are_not_inspected() {
        let all = [
            request(10, b"SCRAM-SHA-256\0\0"),
            request(11, b"r=x,s=y,i=4096"),
            request(12, b"v=z"),
            request(0, b""),
            // Looks like a request, but is data.
            request(3, b""),
        ]
        .concat();
        for piece in [1, 2, 7, all.len()] {
            let mut greeting = Greeting::default();
            let inspected = all
                .chunks(piece)
                .try_for_each(|part| greeting.inspect(part));
            assert!(inspected.is_ok());
            assert!(greeting.is_over);
        }
    }
}
