//! Passes on a response of the upstream: each piece goes to the client as it arrives, and a copy to
//! the recorder. There is no task or queue between the two connections.
//!
//! The end of a response is written to the journal before the client gets the last piece, so that
//! no client has seen a response that a killed program lost.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming};
use tokio::sync::{oneshot, watch};

use super::breaking::DelayedAbort;
use super::mask::Mask;
use super::server::Active;
use crate::recording::{End, Note, Notes};

/// Returns the milliseconds since `begun`.
pub(super) fn milliseconds(begun: Instant) -> Option<u64> {
    u64::try_from(begun.elapsed().as_millis()).ok()
}

/// How a response is recorded.
pub(super) struct Answer {
    pub(super) x: u64,
    pub(super) begun: Instant,
    /// The recorder's queue; `None` if nothing is recorded.
    pub(super) notes: Option<Notes>,
    pub(super) started: watch::Receiver<u64>,
    pub(super) active: Active,
}

impl Answer {
    fn note_of(&self, bytes: Bytes) -> Note {
        Note::Data {
            x: self.x,
            bytes,
            after: *self.started.borrow(),
        }
    }

    /// Records the end. Returns a channel that reports when it is written, or `None` if that is not
    /// possible.
    fn note_end(&self, end: End) -> Option<oneshot::Receiver<bool>> {
        let (written, is_written) = oneshot::channel();
        let note = Note::End {
            x: self.x,
            end,
            latency_ms: milliseconds(self.begun),
            written: Some(written),
        };
        let is_noted = self.notes.as_ref().is_some_and(|notes| notes.tell(note));
        is_noted.then_some(is_written)
    }

    /// Records the end of an empty body and waits until it is written; returns whether it was.
    pub(super) async fn note_empty(&self) -> bool {
        if self.notes.is_none() {
            return true;
        }
        match self.note_end(End::Complete) {
            Some(written) => written.await.is_ok(),
            None => false,
        }
    }
}

/// The body of a response that is being passed on.
pub(super) struct PassedBody {
    upstream: Incoming,
    answer: Answer,
    /// The length that the upstream declared, if any.
    length: Option<u64>,
    passed: u64,
    mask: Mask,
    step: Step,
    /// Whether the end was recorded.
    has_ended: bool,
}

enum Step {
    /// Waiting for the next piece.
    Reading,
    /// The recorder's queue is full: the piece waits until it is recorded.
    Noting {
        piece: Bytes,
        noted: Pin<Box<dyn Future<Output = bool> + Send>>,
    },
    /// The end is being written; the last piece, if any, waits for that.
    Ending {
        written: oneshot::Receiver<bool>,
        last: Option<Bytes>,
        breaks: bool,
    },
    /// The connection is aborted, a moment after the last piece.
    Breaking(DelayedAbort),
    Over,
}

impl PassedBody {
    /// Creates a body in which `mask` covers keys.
    pub(super) fn new(upstream: Incoming, length: Option<u64>, answer: Answer, mask: Mask) -> Self {
        Self {
            upstream,
            answer,
            length,
            passed: 0,
            mask,
            step: Step::Reading,
            has_ended: false,
        }
    }

    /// Creates an empty body whose end is already recorded.
    pub(super) fn empty(upstream: Incoming, answer: Answer) -> Self {
        let mut passing = Self::new(upstream, Some(0), answer, Mask::default());
        passing.step = Step::Over;
        passing.has_ended = true;
        passing
    }

    /// Takes a piece from the upstream; returns what can be passed on at once.
    fn take(&mut self, piece: Bytes) -> Option<Bytes> {
        self.passed += piece.len() as u64;
        let mut piece = self.mask.pass(piece);
        if self.length == Some(self.passed) {
            let rest = self.mask.finish();
            if !rest.is_empty() {
                piece = Bytes::from([&piece[..], &rest[..]].concat());
            }
        }
        if piece.is_empty() {
            None
        } else {
            self.note(piece)
        }
    }

    /// Records a piece. Returns it if it can be passed on at once; otherwise sets the next step.
    fn note(&mut self, piece: Bytes) -> Option<Bytes> {
        let Some(notes) = &self.answer.notes else {
            return Some(piece);
        };
        match notes.try_send(self.answer.note_of(piece.clone())) {
            Ok(true) => self.pass(piece),
            Ok(false) => {
                self.end(End::BrokenOff, None);
                None
            }
            Err(note) => {
                let notes = notes.clone();
                let noted = Box::pin(async move { notes.send(note).await });
                self.step = Step::Noting { piece, noted };
                None
            }
        }
    }

    /// Passes on a recorded piece; the last one has to wait until everything is written.
    fn pass(&mut self, piece: Bytes) -> Option<Bytes> {
        if self.length == Some(self.passed) {
            self.end(End::Complete, Some(piece));
            return None;
        }
        self.step = Step::Reading;
        Some(piece)
    }

    fn end(&mut self, end: End, last: Option<Bytes>) {
        self.has_ended = true;
        let breaks = end != End::Complete;
        if self.answer.notes.is_none() {
            self.step = if breaks { breaking() } else { Step::Over };
            return;
        }
        self.step = match self.answer.note_end(end) {
            Some(written) => Step::Ending {
                written,
                last,
                breaks,
            },
            None => breaking(),
        };
    }
}

fn breaking() -> Step {
    Step::Breaking(DelayedAbort::begin())
}

impl Body for PassedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = &mut *self;
        loop {
            let passed = match &mut this.step {
                Step::Reading => {
                    match std::task::ready!(Pin::new(&mut this.upstream).poll_frame(context)) {
                        Some(Ok(frame)) => {
                            frame.into_data().ok().and_then(|piece| this.take(piece))
                        }
                        Some(Err(_)) => {
                            this.end(End::BrokenOff, None);
                            None
                        }
                        None => {
                            let rest = this.mask.finish();
                            if !rest.is_empty() {
                                // The next poll reports the end again.
                                match this.note(rest) {
                                    Some(piece) => {
                                        return Poll::Ready(Some(Ok(Frame::data(piece))));
                                    }
                                    None => continue,
                                }
                            }
                            // If a length was declared, the end was recorded with the last byte.
                            let is_short = this.length.is_some_and(|length| this.passed < length);
                            this.end(
                                if is_short {
                                    End::BrokenOff
                                } else {
                                    End::Complete
                                },
                                None,
                            );
                            None
                        }
                    }
                }
                Step::Noting { piece, noted } => {
                    let is_noted = std::task::ready!(noted.as_mut().poll(context));
                    let piece = std::mem::take(piece);
                    if is_noted {
                        this.pass(piece)
                    } else {
                        this.end(End::BrokenOff, None);
                        None
                    }
                }
                Step::Ending {
                    written,
                    last,
                    breaks,
                } => {
                    let is_written = std::task::ready!(Pin::new(written).poll(context)).is_ok();
                    let (last, breaks) = (last.take(), *breaks);
                    this.step = if is_written && !breaks {
                        Step::Over
                    } else {
                        breaking()
                    };
                    last.filter(|_| is_written)
                }
                Step::Breaking(end) => {
                    let error = std::task::ready!(end.poll(context));
                    this.step = Step::Over;
                    return Poll::Ready(Some(Err(error)));
                }
                Step::Over => return Poll::Ready(None),
            };
            if let Some(piece) = passed {
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
        }
    }
}

impl Drop for PassedBody {
    /// Records that the client disconnected, unless the proxy stops: then the response is unfinished.
    fn drop(&mut self) {
        if self.has_ended || self.answer.active.is_cut_off() {
            return;
        }
        if let Some(notes) = &self.answer.notes {
            notes.tell(Note::End {
                x: self.answer.x,
                end: End::ClientGone,
                latency_ms: milliseconds(self.answer.begun),
                written: None,
            });
        }
    }
}
