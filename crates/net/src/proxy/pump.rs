//! Answers from a recording, piece by piece.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame};
use hyper::{Response, StatusCode};
use tokio::sync::{mpsc, watch};

use super::answer::AnswerBody;
use super::breaking::DelayedAbort;
use super::server::{Active, Received, Shared};
use super::{headers, rpc};
use crate::recording::{Adapter, End, Recorded};

/// How many pieces may wait for a slow client.
const PIECES: usize = 8;
/// How long a recorded piece waits for the request that preceded it in the recording.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a pump sends to the client's side.
enum PumpEvent {
    Piece(Bytes),
    /// The recorded response was aborted here.
    BrokenOff,
}

/// The client's side of a pump.
struct Pieces {
    receiver: mpsc::Receiver<PumpEvent>,
    end: Option<DelayedAbort>,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let mut end = match self.end.take() {
            Some(end) => end,
            None => match ready!(self.receiver.poll_recv(context)) {
                None => return Poll::Ready(None),
                Some(PumpEvent::Piece(piece)) => return Poll::Ready(Some(Ok(Frame::data(piece)))),
                Some(PumpEvent::BrokenOff) => DelayedAbort::begin(),
            },
        };
        match end.poll(context) {
            Poll::Ready(error) => Poll::Ready(Some(Err(error))),
            Poll::Pending => {
                self.end = Some(end);
                Poll::Pending
            }
        }
    }
}

/// Returns a recorded response: the same status, headers and pieces, and the same end.
pub(super) fn replay(
    shared: &Shared,
    recorded: &Recorded,
    received: &Received,
    is_head: bool,
    active: Active,
) -> Response<AnswerBody> {
    let is_whole = matches!(
        recorded.end,
        End::Complete | End::Unreachable | End::Refused
    );
    let status = recorded.status.unwrap_or(502);
    let chunks = rpc::rewrite(recorded, &received.body);
    let mut response = Response::new(AnswerBody::default());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    *response.headers_mut() = headers::recorded(&recorded.headers);
    if recorded.end == End::Complete
        && !is_head
        && response.headers().contains_key("content-length")
    {
        // Placeholders and ids may differ in length from what they replace.
        let length: usize = chunks.iter().map(Bytes::len).sum();
        response
            .headers_mut()
            .insert("content-length", length.into());
    }
    if is_head {
        return response;
    }
    let is_mcp = shared.adapter() == Adapter::McpHttp;
    let waits = is_mcp.then(|| shared.started());
    if is_whole && waits.is_none() {
        *response.body_mut() = Chunks(chunks.into_iter()).boxed_unsync();
        return response;
    }
    let (sender, receiver) = mpsc::channel(PIECES);
    let (after, end) = (recorded.after.clone(), recorded.end);
    tokio::spawn(async move {
        let _active = active;
        for (at, chunk) in chunks.into_iter().enumerate() {
            if let (Some(started), Some(after)) = (waits.clone(), after.get(at)) {
                wait_for(started, *after).await;
            }
            if sender.send(PumpEvent::Piece(chunk)).await.is_err() {
                return;
            }
        }
        match end {
            End::Complete | End::Unreachable | End::Refused => {}
            // A client that stays longer than the recorded one did gets nothing more.
            End::ClientGone if is_mcp => sender.closed().await,
            _ => {
                let _ = sender.send(PumpEvent::BrokenOff).await;
            }
        }
    });
    let pieces = Pieces {
        receiver,
        end: None,
    };
    *response.body_mut() = pieces.boxed_unsync();
    response
}

async fn wait_for(mut started: watch::Receiver<u64>, after: u64) {
    // If requests arrive in another order, continuing is better than hanging.
    let _ = tokio::time::timeout(PATIENCE, started.wait_for(|count| *count >= after)).await;
}

/// A body whose pieces are all known.
struct Chunks(std::vec::IntoIter<Bytes>);

impl Body for Chunks {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let next = self.0.find(|piece| !piece.is_empty());
        Poll::Ready(next.map(|piece| Ok(Frame::data(piece))))
    }
}
