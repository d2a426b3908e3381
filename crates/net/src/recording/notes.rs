//! The queue between connections and the recorder. It is bounded in bytes, so that a fast stream
//! waits for the recorder instead of filling memory.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Semaphore, oneshot};

use super::exchange::End;
use crate::redact::BodyKind;

/// The most bytes of queued notes; beyond that, senders wait.
const WAITING: usize = 2 << 20;
/// What a note costs in addition to its bytes.
const NOTE: usize = 256;
/// How many notes wake a napping recorder.
const ENOUGH: usize = 128;
/// How long the recorder naps after work, so that it gets pieces in batches. The end of a response
/// wakes it at once, because a client waits for that.
const NAP: Duration = Duration::from_millis(2);

/// A request as it arrived, including secrets.
#[derive(Debug)]
pub struct RequestNote {
    /// The HTTP method.
    pub method: String,
    /// The path of the URL, without the query.
    pub path: String,
    /// The query of the URL, without its question mark.
    pub query: Option<String>,
    /// The headers, in the order in which they arrived.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The whole body; its size was checked before.
    pub body: Bytes,
}

/// Something to record about exchange `x`.
#[derive(Debug)]
pub enum Note {
    /// A request arrived.
    Request {
        /// The exchange's number.
        x: u64,
        /// The request, including secrets; it is never written to disk in this form.
        request: Box<RequestNote>,
    },
    /// The beginning of a response.
    Head {
        /// The exchange's number.
        x: u64,
        /// The status; `None` for transports without one.
        status: Option<u16>,
        /// The headers, in the order in which they arrived.
        headers: Vec<(String, Vec<u8>)>,
        /// How to search the body for secrets.
        kind: BodyKind,
    },
    /// A piece of a response.
    Data {
        /// The exchange's number.
        x: u64,
        /// The bytes of this piece, as they arrived.
        bytes: Bytes,
        /// How many requests had begun when it arrived.
        after: u64,
    },
    /// The end of a response.
    End {
        /// The exchange's number.
        x: u64,
        /// How the response ended.
        end: End,
        /// Milliseconds since the request.
        latency_ms: Option<u64>,
        /// Signalled once everything about the exchange is written.
        written: Option<oneshot::Sender<bool>>,
    },
    /// Something that the recording may have missed.
    Gap(String),
}

impl Note {
    /// Returns how much the note counts towards [`WAITING`].
    pub(super) fn size(&self) -> usize {
        let of_headers = |headers: &[(String, Vec<u8>)]| -> usize {
            let sizes = headers.iter();
            sizes.map(|(name, value)| name.len() + value.len()).sum()
        };
        let bytes = match self {
            Self::Request { request, .. } => {
                let query = request.query.as_ref().map_or(0, String::len);
                let head = request.path.len() + query + of_headers(&request.headers);
                head + request.body.len()
            }
            Self::Data { bytes, .. } => bytes.len(),
            Self::Head { headers, .. } => of_headers(headers),
            Self::End { .. } | Self::Gap(_) => 0,
        };
        // A larger note counts as the whole queue.
        bytes.saturating_add(NOTE).min(WAITING)
    }

    /// Whether a client waits until the note is written.
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

/// Notes that were taken from the queue together.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) notes: Vec<Note>,
    /// How much they count towards [`WAITING`].
    pub(super) size: usize,
}

/// The sending side of the queue.
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
    /// How much the queued notes count towards [`WAITING`].
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

    /// Sends a note, waiting for room; returns `false` if the recorder has stopped.
    pub async fn send(&self, note: Note) -> bool {
        let size = note.size();
        match self.queue.room.acquire_many(permits(size)).await {
            Ok(room) => room.forget(),
            Err(_) => return false,
        }
        self.push(note, size)
    }

    /// Sends a short note without waiting for room; returns `false` if the recorder has stopped.
    pub fn tell(&self, note: Note) -> bool {
        self.push(note, 0)
    }

    /// Sends a note if there is room at once; otherwise returns it.
    pub fn try_send(&self, note: Note) -> Result<bool, Note> {
        let size = note.size();
        match self.queue.room.try_acquire_many(permits(size)) {
            Ok(room) => room.forget(),
            Err(tokio::sync::TryAcquireError::Closed) => return Ok(false),
            Err(tokio::sync::TryAcquireError::NoPermits) => return Err(note),
        }
        Ok(self.push(note, size))
    }

    /// Queues a note whose `size` is already reserved.
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

    /// Waits for notes and takes all of them; returns `None` once the queue is closed and empty. Naps
    /// first if the recorder has just worked.
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

    /// Frees the room of a batch.
    pub(super) fn make_room(&self, size: usize) {
        self.queue.room.add_permits(size);
    }

    /// Accepts no more notes and releases senders that wait for room.
    pub(super) fn close(&self) {
        self.queue.room.close();
        self.lock().is_closed = true;
        self.queue.arrived.notify_one();
    }

    /// Closes the queue and drops its notes; whoever waits for them to be written learns that this
    /// failed.
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
    fn queued_notes_are_bounded_in_bytes() {
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
        // Larger than the whole queue: it is accepted once the queue is empty.
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
