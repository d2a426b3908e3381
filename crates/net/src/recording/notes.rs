//! The way from those who answer clients to the recorder: a queue that is bounded in bytes, so that
//! a fast stream waits for the recorder instead of filling the memory.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Semaphore, oneshot};

use super::exchange::End;
use crate::redact::BodyKind;

/// Bytes of notes that wait at the most; beyond that, whoever tells waits.
const WAITING: usize = 2 << 20;
/// What a note counts beside its bytes.
const NOTE: usize = 256;
/// So many notes wake a recorder that naps.
const ENOUGH: usize = 128;
/// How long the recorder naps after work, so that pieces come to it by the dozen. The end of an
/// answer, which somebody waits for, wakes it at once.
const NAP: Duration = Duration::from_millis(2);

/// A request as it came, secrets included.
#[derive(Debug)]
pub struct RequestNote {
    /// The HTTP method.
    pub method: String,
    /// The path of the URL, without the query.
    pub path: String,
    /// The query of the URL, without its question mark.
    pub query: Option<String>,
    /// The headers in the order they came.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The whole body, bounded before it gets here.
    pub body: Bytes,
}

/// Something to be written down about exchange `x`.
#[derive(Debug)]
pub enum Note {
    /// A request arrived.
    Request {
        /// The exchange's number.
        x: u64,
        /// The request, secrets included: it never reaches the disk like this.
        request: Box<RequestNote>,
    },
    /// The beginning of an answer.
    Head {
        /// The exchange's number.
        x: u64,
        /// The status; none for transports that have none.
        status: Option<u16>,
        /// The headers in the order they came.
        headers: Vec<(String, Vec<u8>)>,
        /// How the body is to be read.
        kind: BodyKind,
    },
    /// A piece of an answer.
    Data {
        /// The exchange's number.
        x: u64,
        /// The bytes as they came, in one piece.
        bytes: Bytes,
        /// How many requests had begun when it came.
        after: u64,
    },
    /// The end of an answer.
    End {
        /// The exchange's number.
        x: u64,
        /// How the answer ended.
        end: End,
        /// Milliseconds since the request.
        latency_ms: Option<u64>,
        /// Told once everything about the exchange is written.
        written: Option<oneshot::Sender<bool>>,
    },
    /// Something that the recording cannot have seen.
    Gap(String),
}

impl Note {
    /// What it counts against [`WAITING`].
    pub(super) fn size(&self) -> usize {
        let bytes = match self {
            Self::Request { request, .. } => request.body.len(),
            Self::Data { bytes, .. } => bytes.len(),
            Self::Head { .. } | Self::End { .. } | Self::Gap(_) => 0,
        };
        // One that is larger than all the room there is gets all of it.
        bytes.saturating_add(NOTE).min(WAITING)
    }

    /// Whether somebody waits until it is written.
    fn is_urgent(&self) -> bool {
        matches!(
            self,
            Self::End {
                written: Some(_),
                ..
            }
        )
    }
}

/// Notes that were taken together.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) notes: Vec<Note>,
    /// The room that they took.
    pub(super) size: usize,
}

/// Where notes are told.
#[derive(Debug, Clone)]
pub struct Notes {
    queue: Arc<Queue>,
}

#[derive(Debug)]
struct Queue {
    state: Mutex<State>,
    arrived: Condvar,
    room: Semaphore,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<Note>,
    /// What those that wait count.
    taken: usize,
    is_urgent: bool,
    is_closed: bool,
    recorder: Recorder,
}

/// What the recorder is doing.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Recorder {
    #[default]
    Working,
    Napping,
    Sleeping,
}

fn permits(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

impl Notes {
    pub(super) fn new() -> Self {
        Self {
            queue: Arc::new(Queue {
                state: Mutex::default(),
                arrived: Condvar::new(),
                room: Semaphore::new(WAITING),
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        let state = self.queue.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells a note, waiting for room; `false` where nobody writes any more.
    pub async fn send(&self, note: Note) -> bool {
        let size = note.size();
        match self.queue.room.acquire_many(permits(size)).await {
            Ok(room) => room.forget(),
            Err(_) => return false,
        }
        self.push(note, size)
    }

    /// Tells a short note without waiting for room.
    pub fn tell(&self, note: Note) -> bool {
        self.push(note, 0)
    }

    /// Tells a note where there is room for it at once; otherwise gives it back.
    pub fn try_send(&self, note: Note) -> Result<bool, Note> {
        let size = note.size();
        match self.queue.room.try_acquire_many(permits(size)) {
            Ok(room) => room.forget(),
            Err(tokio::sync::TryAcquireError::Closed) => return Ok(false),
            Err(tokio::sync::TryAcquireError::NoPermits) => return Err(note),
        }
        Ok(self.push(note, size))
    }

    /// Tells a note for which there is room of `size`.
    fn push(&self, note: Note, size: usize) -> bool {
        let mut state = self.lock();
        if state.is_closed {
            return false;
        }
        state.is_urgent |= note.is_urgent();
        state.waiting.push(note);
        state.taken += size;
        let wakes = match state.recorder {
            Recorder::Working => false,
            Recorder::Napping => state.is_urgent || state.waiting.len() == ENOUGH,
            Recorder::Sleeping => true,
        };
        drop(state);
        if wakes {
            self.queue.arrived.notify_one();
        }
        true
    }

    /// Waits for notes and takes them all; none once nothing more comes. After work it naps first.
    pub(super) fn take(&self, has_worked: bool) -> Option<Batch> {
        let mut state = self.lock();
        if has_worked && !state.is_urgent {
            state.recorder = Recorder::Napping;
            let waits = |state: &mut State| {
                !state.is_urgent && !state.is_closed && state.waiting.len() < ENOUGH
            };
            let waited = self.queue.arrived.wait_timeout_while(state, NAP, waits);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        while state.waiting.is_empty() {
            if state.is_closed {
                return None;
            }
            state.recorder = Recorder::Sleeping;
            let waited = self.queue.arrived.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        state.recorder = Recorder::Working;
        state.is_urgent = false;
        Some(Batch {
            notes: std::mem::take(&mut state.waiting),
            size: std::mem::take(&mut state.taken),
        })
    }

    /// Makes room for as much as a batch took.
    pub(super) fn make_room(&self, size: usize) {
        self.queue.room.add_permits(size);
    }

    /// Nothing more is taken in; whoever waits for room is told.
    pub(super) fn close(&self) {
        self.queue.room.close();
        self.lock().is_closed = true;
        self.queue.arrived.notify_one();
    }

    /// Closes and forgets what waits: whoever waits for it to be written is told that it never will.
    pub(super) fn abandon(&self) {
        self.close();
        self.lock().waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(length: usize) -> Note {
        Note::Data {
            x: 0,
            bytes: Bytes::from(vec![0; length]),
            after: 0,
        }
    }

    #[test]
    fn notes_that_wait_are_bounded_in_bytes_and_taken_in_order() {
        let notes = Notes::new();
        let mut count = 0;
        while notes.try_send(data(64 << 10)).is_ok() {
            count += 1;
            assert!(count <= WAITING >> 16, "{count}");
        }
        assert!(count > 25, "{count}");
        let taken = notes.take(false).unwrap();
        assert_eq!(taken.notes.len(), count);
        notes.make_room(taken.size);
        // Larger than all the room: it waits until nothing else does, and gets in.
        assert!(matches!(notes.try_send(data(2 * WAITING)), Ok(true)));
        assert!(notes.try_send(data(1)).is_err());
        assert!(notes.tell(Note::Gap(String::new())));
        notes.make_room(notes.take(false).unwrap().size);
        assert_eq!(notes.queue.room.available_permits(), WAITING);
        notes.close();
        assert!(matches!(notes.try_send(data(1)), Ok(false)));
        assert!(notes.take(true).is_none());
    }
}
