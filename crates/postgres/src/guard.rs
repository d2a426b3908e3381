//! Speaks to a server without encryption, but never tells it the password: neither as it is nor as an
//! MD5 sum, which is as good. SCRAM proves on both sides that the password is known and tells nothing, if it
//! takes enough rounds: whoever listens can try passwords against the proof.
//!
//! The library has no such option. So what the server says is looked at until it has let us in, and the
//! connection fails at a request for anything else, before the library sees it.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use postgres::Socket;
use postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What a server may not do before it lets us in, on a connection that others can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum PasswordRequested {
    #[error(
        "it asks for the password itself and not for a SCRAM proof, on a connection without encryption"
    )]
    Itself,
    #[error(
        "it asks for a SCRAM proof of fewer than {LEAST_ROUNDS} rounds, from which the password can be guessed, on a \
         connection without encryption"
    )]
    Weakly,
    #[error("it says more than {LONGEST} bytes at once before it lets anybody in")]
    AtLength,
}

/// Takes the place of TLS where there is none.
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
        let said = buffer.filled().get(before..).unwrap_or_default();
        if let Err(asked) = self.greeting.hear(said) {
            buffer.set_filled(before);
            let refused = io::Error::new(io::ErrorKind::PermissionDenied, asked);
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

/// A message's type and length, and of an authentication request also what is asked for.
const HEAD: usize = 5;
const REQUEST: usize = HEAD + 4;
/// What a server may ask for: nothing any more, or a step of SASL, of which only SCRAM is known here.
const LET_IN: u32 = 0;
const SASL: [u32; 3] = [10, 11, 12];
/// The step of SCRAM in which the server says how many rounds the proof takes.
const SCRAM_ROUNDS: u32 = 11;
/// The fewest rounds of a proof, which are PostgreSQL's own. Stops somebody in the server's place who asks for a proof
/// against which passwords are tried quickly.
const LEAST_ROUNDS: u32 = 4096;
/// The most bytes of a message before the server lets us in. Stops one that fills the memory.
const LONGEST: usize = 64 << 10;

/// What the server says until it lets us in.
#[derive(Debug, Default)]
struct Greeting {
    /// The beginning of a message.
    head: Vec<u8>,
    /// How much of the message is still to come.
    rest: usize,
    /// What came of a message that says how many rounds a proof takes.
    rounds: Option<Vec<u8>>,
    is_over: bool,
}

impl Greeting {
    /// Follows what was said; fails at a request for the password.
    fn hear(&mut self, said: &[u8]) -> Result<(), PasswordRequested> {
        let mut said = said;
        while !self.is_over && !said.is_empty() {
            if self.rest > 0 {
                let (part, after) = said.split_at(self.rest.min(said.len()));
                self.rest -= part.len();
                said = after;
                if let Some(rounds) = &mut self.rounds {
                    rounds.extend_from_slice(part);
                }
                self.check_rounds()?;
                continue;
            }
            let (byte, after) = said.split_at(1);
            self.head.extend_from_slice(byte);
            said = after;
            let is_request = self.head.first() == Some(&b'R');
            let wanted = if is_request { REQUEST } else { HEAD };
            if self.head.len() < wanted {
                continue;
            }
            let number = |at: usize| {
                let bytes = self.head.get(at..at + 4).and_then(|it| it.try_into().ok());
                bytes.map_or(0, u32::from_be_bytes)
            };
            // The length counts itself, but not the type before it.
            let length = usize::try_from(number(1)).unwrap_or(usize::MAX);
            if length > LONGEST {
                return Err(PasswordRequested::AtLength);
            }
            match number(HEAD) {
                _ if !is_request => {}
                LET_IN => self.is_over = true,
                SCRAM_ROUNDS => self.rounds = Some(Vec::new()),
                asked if SASL.contains(&asked) => {}
                _ => return Err(PasswordRequested::Itself),
            }
            self.rest = length.saturating_sub(wanted - 1);
            self.head.clear();
            self.check_rounds()?;
        }
        Ok(())
    }

    /// Fails at the end of a message that asks for too few rounds, or does not say how many.
    fn check_rounds(&mut self) -> Result<(), PasswordRequested> {
        if self.rest > 0 {
            return Ok(());
        }
        let Some(message) = self.rounds.take() else {
            return Ok(());
        };
        let text = String::from_utf8_lossy(&message);
        let rounds = text.split(',').find_map(|part| part.strip_prefix("i="));
        match rounds.and_then(|rounds| rounds.parse::<u32>().ok()) {
            Some(LEAST_ROUNDS..) => Ok(()),
            _ => Err(PasswordRequested::Weakly),
        }
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
    fn password_asked_in_any_form_but_scram_fails_however_it_arrives() {
        let notice = message(b'N', b"SNOTICE\0\0");
        for asked in [2, 3, 5, 6, 7, 8, 9, 77] {
            let all = [&notice[..], &request(asked, b"salt")].concat();
            for piece in [1, 3, all.len()] {
                let mut greeting = Greeting::default();
                let heard = all.chunks(piece).try_for_each(|part| greeting.hear(part));
                assert!(heard.is_err(), "{asked}");
            }
        }
    }

    #[test]
    fn proof_of_few_rounds_and_long_messages_fail_however_they_arrive() {
        let long = u32::try_from(LONGEST + 1).unwrap().to_be_bytes();
        let mut cases = vec![([&b"N"[..], &long].concat(), PasswordRequested::AtLength)];
        for rounds in [
            "r=x,s=y,i=1",
            "r=x,s=y,i=4095",
            "r=x,s=y",
            "",
            "i=-1",
            "i=1,i=4096",
        ] {
            cases.push((request(11, rounds.as_bytes()), PasswordRequested::Weakly));
        }
        for (said, refused) in cases {
            for piece in [1, 3, said.len()] {
                let mut greeting = Greeting::default();
                let heard = said.chunks(piece).try_for_each(|part| greeting.hear(part));
                assert_eq!(heard, Err(refused), "{}", said.escape_ascii());
            }
        }
    }

    #[test]
    fn scram_goes_through_and_what_follows_is_not_looked_at() {
        let all = [
            request(10, b"SCRAM-SHA-256\0\0"),
            request(11, b"r=x,s=y,i=4096"),
            request(12, b"v=z"),
            request(0, b""),
            // A row of a table, say.
            request(3, b""),
        ]
        .concat();
        for piece in [1, 2, 7, all.len()] {
            let mut greeting = Greeting::default();
            let heard = all.chunks(piece).try_for_each(|part| greeting.hear(part));
            assert!(heard.is_ok());
            assert!(greeting.is_over);
        }
    }
}
