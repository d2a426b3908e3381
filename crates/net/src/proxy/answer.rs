//! Responses that the proxy generates itself: errors in a format that the SDKs of both APIs read.

use std::convert::Infallible;
use std::io;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use hyper::Response;
use hyper::StatusCode;
use runseal_core::canon::{Dialect, Value, canonical_bytes};

/// The body of a response; an error aborts the connection.
pub(super) type AnswerBody = UnsyncBoxBody<Bytes, io::Error>;

/// Returns a body that is complete from the start.
pub(super) fn whole(bytes: Bytes) -> AnswerBody {
    let never = |never: Infallible| match never {};
    Full::new(bytes).map_err(never).boxed_unsync()
}

/// Returns an error response: `code` for programs, `message` for people, and further members.
pub(super) fn error(
    status: StatusCode,
    code: &str,
    message: &str,
    more: &[(&'static str, Value)],
) -> Response<AnswerBody> {
    let mut error = Value::object([
        ("type", Value::from("runseal_proxy_error")),
        ("code", Value::from(code)),
        ("message", Value::from(message)),
        ("param", Value::Null),
    ]);
    for (name, value) in more {
        error.insert(name, value.clone());
    }
    let body = Value::object([("type", Value::from("error")), ("error", error)]);
    json(status, &body)
}

/// Returns a JSON response.
pub(super) fn json(status: StatusCode, body: &Value) -> Response<AnswerBody> {
    let bytes = canonical_bytes(body, Dialect::Kernel).unwrap_or_default();
    let length = bytes.len();
    let mut response = Response::new(whole(Bytes::from(bytes)));
    *response.status_mut() = status;
    let json = hyper::header::HeaderValue::from_static("application/json");
    response.headers_mut().insert("content-type", json);
    response
        .headers_mut()
        .insert("content-length", length.into());
    response
}
