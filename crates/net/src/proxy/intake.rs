//! Reads requests into memory, within a budget for all connections together.
//!
//! A small request is read at once: there is at most one per connection. A larger one is not read
//! until there is room for all of it, so that half-read requests never wait for each other. The room
//! is free again when the last reference to the body is gone.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::{LARGEST_MESSAGE, ValueCounter};
use crate::redact::Coding;

/// The most bytes of larger requests in memory at once.
const ROOM: usize = 96 << 20;
/// A request up to this size needs no room.
const SMALL: usize = 64 << 10;
/// How long to wait for the next piece of a request.
const PATIENCE: Duration = Duration::from_secs(60);

/// How much of a refused request is read, and for how long.
const DRAINED: usize = 1 << 20;
const DRAIN_PATIENCE: Duration = Duration::from_secs(1);

/// Why a request was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IntakeError {
    /// It is too large.
    TooLarge,
    /// It has too many elements and members.
    TooManyValues,
    /// It ended early, or nothing arrived for too long.
    BrokenOff,
}

/// Room for the requests of all connections.
#[derive(Debug, Clone)]
pub(super) struct Intake {
    room: Arc<Semaphore>,
}

/// A body, and the room that it occupies.
struct Held {
    bytes: Vec<u8>,
    _room: Option<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Intake {
    pub(super) fn new() -> Self {
        Self {
            room: Arc::new(Semaphore::new(ROOM)),
        }
    }

    /// Waits for room for `size` bytes.
    async fn claim(&self, size: usize) -> Result<Option<OwnedSemaphorePermit>, IntakeError> {
        if size <= SMALL {
            return Ok(None);
        }
        let permits = u32::try_from(size).map_err(|_| IntakeError::TooLarge)?;
        let room = Arc::clone(&self.room).acquire_many_owned(permits).await;
        room.map(Some).map_err(|_| IntakeError::BrokenOff)
    }

    /// Reads a whole body and applies `edit` to it.
    pub(super) async fn read(
        &self,
        mut body: Incoming,
        edit: impl FnOnce(Vec<u8>) -> Vec<u8>,
    ) -> Result<Bytes, IntakeError> {
        let declared = body.size_hint().exact();
        let declared = declared.map(|size| usize::try_from(size).unwrap_or(usize::MAX));
        if declared.is_some_and(|size| size > LARGEST_MESSAGE) {
            return Err(IntakeError::TooLarge);
        }
        let mut room = self.claim(declared.unwrap_or(0)).await?;
        let mut bytes = Vec::with_capacity(declared.unwrap_or(0));
        while let Some(piece) = next_piece(&mut body).await? {
            let size = bytes.len() + piece.len();
            if size > LARGEST_MESSAGE {
                return Err(IntakeError::TooLarge);
            }
            // Without a declared length it may become as large as is allowed.
            if declared.is_none() && size > SMALL && room.is_none() {
                room = self.claim(LARGEST_MESSAGE).await?;
            }
            bytes.extend_from_slice(&piece);
        }
        let bytes = edit(bytes);
        if let (None, Some(room)) = (declared, &mut room) {
            drop(room.split(LARGEST_MESSAGE.saturating_sub(bytes.len())));
        }
        Ok(Bytes::from_owner(Held { bytes, _room: room }))
    }
}

/// Reads and drops the beginning of a body: a client that is still sending when the connection is
/// closed would not see the answer.
pub(super) async fn drain(mut body: Incoming) {
    let beginning = async {
        let mut size = 0;
        while let Ok(Some(piece)) = next_piece(&mut body).await {
            size += piece.len();
            if size > DRAINED {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(DRAIN_PATIENCE, beginning).await;
}

/// Returns the next piece of a body; `None` at its end.
async fn next_piece(body: &mut Incoming) -> Result<Option<Bytes>, IntakeError> {
    loop {
        let frame = tokio::time::timeout(PATIENCE, body.frame()).await;
        match frame.map_err(|_| IntakeError::BrokenOff)? {
            None => return Ok(None),
            Some(Err(_)) => return Err(IntakeError::BrokenOff),
            // Trailers are not passed on.
            Some(Ok(frame)) => match frame.into_data() {
                Ok(piece) => return Ok(Some(piece)),
                Err(_) => continue,
            },
        }
    }
}

/// Checks that a body, also a compressed one, can be parsed as JSON without taking many times its size.
pub(super) fn check_values(coding: &str, body: &[u8]) -> Result<(), IntakeError> {
    let mut counter = ValueCounter::default();
    let Some(mut content) = Coding::of(coding, body).and_then(|coding| coding.reader(body)) else {
        return match counter.add(body) {
            true => Ok(()),
            false => Err(IntakeError::TooManyValues),
        };
    };
    let mut part = vec![0; 64 << 10];
    let mut size = 0;
    loop {
        // What cannot be decompressed is not parsed as JSON either.
        let Ok(read @ 1..) = content.read(&mut part) else {
            return Ok(());
        };
        size += read;
        if size > LARGEST_MESSAGE {
            return Err(IntakeError::TooLarge);
        }
        if !counter.add(part.get(..read).unwrap_or_default()) {
            return Err(IntakeError::TooManyValues);
        }
    }
}
