//! JSON-RPC messages, parsed only as far as needed to attribute them.

use runseal_core::canon::{Dialect, Value, canonical_bytes, parse_document};

use crate::limits::MESSAGE;

/// The kind of message on a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Message {
    /// A request, which the other side has to answer.
    Request {
        /// The id, as canonical text.
        id: String,
        /// The JSON-RPC method.
        method: String,
        /// The token under which progress is reported.
        token: Option<String>,
    },
    /// A notification, which is not answered.
    Notification {
        /// The JSON-RPC method.
        method: String,
        /// The token of the request whose progress this reports.
        token: Option<String>,
    },
    /// An answer to a request of the other side.
    Answer {
        /// The id of that request.
        id: String,
    },
    /// Anything else.
    Other,
}

impl Message {
    /// Classifies a line; also returns its value if it is JSON.
    pub(super) fn parse(line: &[u8]) -> (Self, Option<Value>) {
        let Ok(document) = parse_document(line.trim_ascii(), &MESSAGE) else {
            return (Self::Other, None);
        };
        let value = document.root().to_value();
        let id = value.get("id").map(text_of);
        let method = value
            .get("method")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let params = value.get("params");
        let message = match (method, id) {
            (Some(method), Some(id)) => Self::Request {
                id,
                method,
                token: params
                    .and_then(|params| params.get("_meta")?.get("progressToken"))
                    .map(text_of),
            },
            (Some(method), None) => Self::Notification {
                method,
                token: params
                    .and_then(|params| params.get("progressToken"))
                    .map(text_of),
            },
            (None, Some(id)) => Self::Answer { id },
            (None, None) => Self::Other,
        };
        (message, Some(value))
    }

    /// Returns the method name that recordings use.
    pub(super) fn method(&self) -> &str {
        match self {
            Self::Request { method, .. } | Self::Notification { method, .. } => method,
            Self::Answer { .. } => "(answer)",
            Self::Other => "(other)",
        }
    }
}

fn text_of(value: &Value) -> String {
    let bytes = canonical_bytes(value, Dialect::Kernel).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
