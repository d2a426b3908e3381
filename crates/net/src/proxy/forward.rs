//! Forwards a request to the upstream, passes on the response as it arrives, and records both.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, StatusCode};
use runseal_core::formats::model_io::MAX_INTERACTIONS;

use super::allowed;
use super::answer::{self, AnswerBody};
use super::headers;
use super::mask::Mask;
use super::passing::{Answer, PassedBody, milliseconds};
use super::server::{Active, Received, Shared};
use super::upstream::Upstream;
use crate::recording::{End, Note, RequestNote};
use crate::redact::{BodyKind, Coding};

/// Forwards a request to the upstream and passes on the response, recording both.
pub(super) async fn forward(
    shared: Arc<Shared>,
    received: Received,
    active: Active,
) -> Response<AnswerBody> {
    let x = shared.next.fetch_add(1, Ordering::Relaxed);
    if shared.notes.is_some() && x >= MAX_INTERACTIONS as u64 {
        shared
            .note(Note::Gap(format!(
                "a recording holds {MAX_INTERACTIONS} interactions; more were asked for"
            )))
            .await;
        let message = format!("the recording is full: it has {MAX_INTERACTIONS} interactions");
        return answer::error(StatusCode::INSUFFICIENT_STORAGE, "FULL", &message, &[]);
    }
    shared.started.send_modify(|count| *count += 1);
    let begun = Instant::now();
    let request = RequestNote {
        method: received.method.as_str().to_owned(),
        path: received.path.clone(),
        query: received.query.clone(),
        headers: headers::noted(&received.headers),
        body: received.body.clone(),
    };
    let note = Note::Request {
        x,
        request: Box::new(request),
    };
    if !shared.note(note).await {
        return recording_failed();
    }
    let is_anthropic = received.headers.contains_key("anthropic-version");
    if let Some(reason) = allowed::refusal(&shared.options.allowed_models, &received) {
        let response = allowed::refuse(&received.path, is_anthropic, &reason);
        return answer_alone(&shared, x, begun, response, End::Refused).await;
    }
    let named = shared.options.upstream.clone();
    let is_public = named.is_none();
    let upstream = named.unwrap_or_else(|| Upstream::public(&received.path, is_anthropic));
    let Some(uri) = upstream.uri(&received.path, received.query.as_deref()) else {
        let message =
            "the path leads away from the upstream; ask for one without `..`, `//` and `\\`";
        let response = answer::error(StatusCode::FORBIDDEN, "TARGET", message, &[]);
        return answer_alone(&shared, x, begun, response, End::Refused).await;
    };
    let mut request = Request::new(Full::new(received.body.clone()));
    *request.method_mut() = received.method.clone();
    *request.uri_mut() = uri;
    *request.headers_mut() = headers::for_upstream(&received.headers, upstream.authority());
    let keys = &shared.options.keys;
    let mask = if keys.put_in(request.headers_mut(), &upstream, is_public) {
        Mask::new(keys.values())
    } else {
        Mask::default()
    };
    let answered = match shared.client.request(request).await {
        Ok(answered) => answered,
        Err(error) => {
            let reason = innermost(&error);
            return unreachable(&shared, x, begun, &reason).await;
        }
    };
    let (parts, body) = answered.into_parts();
    let coding = headers::joined(&parts.headers, "content-encoding");
    if mask.has_keys() && Coding::parse(&coding).is_some() {
        // It was asked for an answer as it is, and a key in a compressed one cannot be covered.
        let message = "the upstream compressed its answer, in which a key could not be covered";
        let response = answer::error(StatusCode::BAD_GATEWAY, "ENCODING", message, &[]);
        return answer_alone(&shared, x, begun, response, End::Unreachable).await;
    }
    let mut passed = headers::for_client(&parts.headers);
    mask.cover_headers(&mut passed);
    let header = |name: &str| {
        let value = passed.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default()
    };
    let note = Note::Head {
        x,
        status: Some(parts.status.as_u16()),
        headers: headers::noted(&passed),
        kind: BodyKind::of_headers(&coding, header("content-type")),
    };
    if !shared.note(note).await {
        return recording_failed();
    }
    let length = hyper::body::Body::size_hint(&body).exact();
    let answer = Answer {
        x,
        begun,
        notes: shared.notes.clone(),
        started: shared.started(),
        active,
    };
    let is_empty = received.method == hyper::Method::HEAD || length == Some(0);
    // An empty body is never polled, so its end is recorded here.
    if is_empty && !answer.note_empty().await {
        return recording_failed();
    }
    let passing = if is_empty {
        PassedBody::empty(body, answer)
    } else {
        PassedBody::new(body, length, answer, mask)
    };
    let mut response = Response::new(passing.boxed_unsync());
    *response.status_mut() = parts.status;
    *response.headers_mut() = passed;
    response
}

/// Returns the message of the innermost cause.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

fn recording_failed() -> Response<AnswerBody> {
    let message = "the recording cannot be written, so no more requests are forwarded";
    answer::error(StatusCode::INSUFFICIENT_STORAGE, "WRITE", message, &[])
}

/// Responds that the upstream could not be reached.
async fn unreachable(
    shared: &Shared,
    x: u64,
    begun: Instant,
    reason: &str,
) -> Response<AnswerBody> {
    let message = format!("the upstream cannot be reached: {reason}");
    let response = answer::error(StatusCode::BAD_GATEWAY, "UPSTREAM", &message, &[]);
    answer_alone(shared, x, begun, response, End::Unreachable).await
}

/// Responds without the upstream, and records this as the response.
async fn answer_alone(
    shared: &Shared,
    x: u64,
    begun: Instant,
    response: Response<AnswerBody>,
    end: End,
) -> Response<AnswerBody> {
    if shared.notes.is_none() {
        return response;
    }
    let (parts, body) = response.into_parts();
    let body = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => Bytes::new(),
    };
    let (written, is_written) = tokio::sync::oneshot::channel();
    let notes = [
        Note::Head {
            x,
            status: Some(parts.status.as_u16()),
            headers: headers::noted(&parts.headers),
            kind: BodyKind::Json,
        },
        Note::Data {
            x,
            bytes: body.clone(),
            after: *shared.started.borrow(),
        },
        Note::End {
            x,
            end,
            latency_ms: milliseconds(begun),
            written: Some(written),
        },
    ];
    for note in notes {
        if !shared.note(note).await {
            return recording_failed();
        }
    }
    if is_written.await.is_err() {
        return recording_failed();
    }
    Response::from_parts(parts, answer::whole(body))
}
