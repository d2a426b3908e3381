//! One exchange: a request and its response, with secrets replaced.

use base64ct::{Base64, Encoding};
use runseal_core::canon::{Node, Value};

/// How a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Completely.
    Complete,
    /// Aborted by the upstream.
    BrokenOff,
    /// The client disconnected before the end.
    ClientGone,
    /// No response: the upstream could not be reached.
    Unreachable,
    /// No response from the upstream: the proxy did not forward the request.
    Refused,
    /// The recording ended first.
    Unfinished,
}

impl End {
    const ALL: [Self; 6] = [
        Self::Complete,
        Self::BrokenOff,
        Self::ClientGone,
        Self::Unreachable,
        Self::Refused,
        Self::Unfinished,
    ];

    /// Returns the name used in recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::BrokenOff => "broken-off",
            Self::ClientGone => "client-gone",
            Self::Unreachable => "unreachable",
            Self::Refused => "refused",
            Self::Unfinished => "unfinished",
        }
    }

    /// Returns the end with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|end| end.name() == name)
    }
}

/// A request and its response, as read from the journal.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// The HTTP method; for MCP on standard input, the message's method.
    pub method: String,
    /// The path of the URL, without the query.
    pub path: String,
    /// The query of the URL, without its question mark.
    pub query: Option<String>,
    /// The request's headers, in order.
    pub request_headers: Vec<(String, String)>,
    /// The request's body, secrets replaced.
    pub request_body: Vec<u8>,
    /// The status; `None` if there was no response.
    pub status: Option<u16>,
    /// The response's headers, in order.
    pub headers: Vec<(String, String)>,
    /// The response's body, secrets replaced.
    pub body: Vec<u8>,
    /// The offsets at which the pieces of the response's body end.
    pub cuts: Vec<u64>,
    /// For each piece, how many requests had begun when it arrived.
    pub after: Vec<u64>,
    /// How the response ended.
    pub end: End,
    /// Milliseconds from the request to the end of the response.
    pub latency_ms: Option<u64>,
}

impl Exchange {
    pub(super) fn empty() -> Self {
        Self {
            method: String::new(),
            path: String::new(),
            query: None,
            request_headers: Vec::new(),
            request_body: Vec::new(),
            status: None,
            headers: Vec::new(),
            body: Vec::new(),
            cuts: Vec::new(),
            after: Vec::new(),
            end: End::Unfinished,
            latency_ms: None,
        }
    }

    /// Returns the value of a response header.
    pub fn header(&self, name: &str) -> Option<&str> {
        find_header(&self.headers, name)
    }

    /// Returns the value of a request header.
    pub fn request_header(&self, name: &str) -> Option<&str> {
        find_header(&self.request_headers, name)
    }

    /// Adds a line of the journal about this exchange.
    pub(super) fn take(&mut self, record: Node<'_>) -> Option<()> {
        let text = |name: &str| Some(record.get(name)?.as_str()?.into_owned());
        match text("t")?.as_str() {
            "request" => {
                self.method = text("method")?;
                self.path = text("path")?;
                self.query = text("query");
                self.request_headers = parse_headers(record.get("headers")?);
                self.request_body = parse_bytes(record)?;
            }
            "head" => {
                self.status = record
                    .get("status")
                    .and_then(whole)
                    .and_then(|n| n.try_into().ok());
                self.headers = parse_headers(record.get("headers")?);
            }
            "data" => {
                self.body.extend_from_slice(&parse_bytes(record)?);
                self.cuts
                    .extend(record.get("cuts")?.items().filter_map(whole));
                self.after
                    .extend(record.get("after")?.items().filter_map(whole));
            }
            "end" => {
                self.end = End::parse(&text("how")?)?;
                self.latency_ms = record.get("latency_ms").and_then(whole);
            }
            _ => {}
        }
        Some(())
    }
}

fn find_header<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers
        .iter()
        .find(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_str())
}

/// Reads a non-negative integer.
pub(super) fn whole(node: Node<'_>) -> Option<u64> {
    u64::try_from(node.as_number()?.to_exact_i64()?).ok()
}

/// All values of a header, as one list.
pub(super) fn join_headers(headers: &[(String, String)], name: &str) -> String {
    let values = headers
        .iter()
        .filter(|(known, _)| known.eq_ignore_ascii_case(name));
    values
        .map(|(_, value)| value.as_str())
        .collect::<Vec<_>>()
        .join(", ")
}

/// Headers as a list of pairs, which keeps their order and repetitions.
pub(super) fn headers_value(headers: &[(String, String)]) -> Value {
    Value::array(
        headers
            .iter()
            .map(|(name, value)| Value::array([name.as_str(), value.as_str()])),
    )
}

/// Parses headers as [`headers_value`] writes them.
pub(super) fn parse_headers(node: Node<'_>) -> Vec<(String, String)> {
    node.items()
        .filter_map(|pair| {
            let mut parts = pair.items();
            let name = parts.next()?.as_str()?.into_owned();
            Some((name, parts.next()?.as_str()?.into_owned()))
        })
        .collect()
}

/// Adds bytes to a record: as text if they are UTF-8, else in base64. So is text with many control
/// characters, which would take six bytes each.
pub(super) fn insert_bytes(record: &mut Value, bytes: &[u8]) {
    let controls = bytes.iter().filter(|byte| byte.is_ascii_control()).count();
    match std::str::from_utf8(bytes) {
        Ok(text) if controls <= bytes.len() / 8 => record.insert("text", text),
        _ => record.insert("base64", Base64::encode_string(bytes)),
    }
}

fn parse_bytes(record: Node<'_>) -> Option<Vec<u8>> {
    if let Some(text) = record.get("text") {
        return Some(text.as_str()?.into_owned().into_bytes());
    }
    Base64::decode_vec(&record.get("base64")?.as_str()?).ok()
}
