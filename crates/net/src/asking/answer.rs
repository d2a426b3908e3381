//! Takes an answer as it arrives, and finds the words of the model in it, or why there are none.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::Request;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use runseal_core::canon::{ReadOptions, parse_document};
use runseal_core::formats::model_io::reading::{LARGEST_READ, Reading};

use super::{AskError, Provider};

/// The longest answer that is read, in bytes.
const LONGEST_ANSWER: usize = LARGEST_READ as usize;
/// The most characters of a server's message that are shown.
const LONGEST_MESSAGE: usize = 300;

/// An answer as it arrived.
pub(super) struct Arrived {
    status: u16,
    retry_after: Option<Duration>,
    content_type: String,
    body: Bytes,
}

impl Arrived {
    /// The words of the model.
    ///
    /// # Errors
    /// When there are none, or not all of them.
    pub(super) fn text(&self, provider: Provider) -> Result<String, AskError> {
        let Self {
            status,
            retry_after,
            content_type,
            body,
        } = self;
        if let Some(fault) = own_fault(*status, body) {
            return Err(fault);
        }
        let reading = Reading::of_answer(provider.api(), content_type, body);
        let said = || {
            clip(
                reading
                    .error
                    .as_deref()
                    .unwrap_or(&String::from_utf8_lossy(body)),
            )
        };
        match *status {
            200..=299 => {}
            status @ (401 | 403) => {
                return Err(AskError::Key {
                    provider,
                    status,
                    said: said(),
                });
            }
            404 => return Err(AskError::NotFound(said())),
            // The quota is used up, and does not come back by waiting.
            429 if is_out_of_quota(body) => {
                return Err(AskError::Refused {
                    status: 429,
                    said: said(),
                });
            }
            status @ (408 | 429 | 500..) => {
                return Err(AskError::Busy {
                    status,
                    said: said(),
                    wait: *retry_after,
                    tries: 1,
                });
            }
            status => {
                return Err(AskError::Refused {
                    status,
                    said: said(),
                });
            }
        }
        if reading.error.is_some() {
            return Err(AskError::Refused {
                status: *status,
                said: said(),
            });
        }
        match reading.finish_reason.as_deref() {
            Some("length" | "max_tokens" | "model_context_window_exceeded") => {
                Err(AskError::Truncated)
            }
            reason if reading.text.trim().is_empty() => Err(AskError::Unreadable(match reason {
                Some(reason) => format!(
                    "it has no text, and the model stopped because of `{}`",
                    clip(reason)
                ),
                None => "it is not an answer of this API".to_owned(),
            })),
            _ => Ok(reading.text),
        }
    }
}

/// Sends a request and takes the whole answer.
pub(super) async fn fetch(
    client: &Client<HttpConnector, Full<Bytes>>,
    request: Request<Full<Bytes>>,
) -> Result<Arrived, AskError> {
    let answered = client.request(request).await;
    let (parts, body) = answered
        .map_err(|error| AskError::BrokenOff(innermost(&error)))?
        .into_parts();
    let header = |name: &str| {
        let value = parts
            .headers
            .get(name)
            .and_then(|value| value.to_str().ok());
        value.unwrap_or_default()
    };
    let retry_after = header("retry-after")
        .trim()
        .parse()
        .ok()
        .map(Duration::from_secs);
    let content_type = header("content-type").to_owned();
    let collected = Limited::new(body, LONGEST_ANSWER).collect().await;
    let body = collected.map_err(|error| match error.downcast::<LengthLimitError>() {
        Ok(_) => AskError::TooLong(LONGEST_ANSWER),
        Err(error) => AskError::BrokenOff(innermost(&*error)),
    })?;
    Ok(Arrived {
        status: parts.status.as_u16(),
        retry_after,
        content_type,
        body: body.to_bytes(),
    })
}

fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// The member of the error in an answer.
fn error_member(body: &[u8], name: &str) -> Option<String> {
    let document = parse_document(body, &ReadOptions::TEXT).ok()?;
    let error = document.root().get("error")?;
    Some(error.get(name)?.as_str()?.into_owned())
}

/// What the proxy itself answers.
fn own_fault(status: u16, body: &[u8]) -> Option<AskError> {
    if status < 400 || error_member(body, "type").as_deref() != Some("runseal_proxy_error") {
        return None;
    }
    let message = error_member(body, "message").unwrap_or_default();
    Some(match error_member(body, "code").as_deref() {
        Some("RECORDING_MISS") => AskError::Missed(clip(&message)),
        Some("UPSTREAM") => AskError::Unreachable(message),
        _ => AskError::Proxy(message),
    })
}

fn is_out_of_quota(body: &[u8]) -> bool {
    ["code", "type"]
        .iter()
        .any(|name| error_member(body, name).as_deref() == Some("insufficient_quota"))
}

fn clip(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None if text.is_empty() => "nothing more".to_owned(),
        None => text.to_owned(),
    }
}
