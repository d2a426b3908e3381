//! Decides which headers are forwarded.

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};

/// Hop-by-hop headers, which concern only one connection.
const HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Whether a header is hop-by-hop, by its name or because `connection` lists it.
fn is_hop(name: &str, listed: &[String]) -> bool {
    HOP.contains(&name) || listed.iter().any(|other| other == name)
}

/// Returns the headers that `connection` lists.
fn listed(headers: &HeaderMap) -> Vec<String> {
    headers
        .get_all("connection")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect()
}

/// Returns a request's headers for the upstream: with its host, and asking for no compression.
pub(super) fn for_upstream(headers: &HeaderMap, authority: &str) -> HeaderMap {
    let listed = listed(headers);
    let mut passed = HeaderMap::with_capacity(headers.len() + 1);
    for (name, value) in headers {
        let skipped = ["host", "accept-encoding", "content-length", "expect"];
        if !is_hop(name.as_str(), &listed) && !skipped.contains(&name.as_str()) {
            passed.append(name.clone(), value.clone());
        }
    }
    if let Ok(host) = HeaderValue::from_str(authority.rsplit('@').next().unwrap_or_default()) {
        passed.insert("host", host);
    }
    passed.insert("accept-encoding", HeaderValue::from_static("identity"));
    passed
}

/// Returns a response's headers for the client.
pub(super) fn for_client(headers: &HeaderMap) -> HeaderMap {
    let listed = listed(headers);
    let mut passed = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        if !is_hop(name.as_str(), &listed) {
            passed.append(name.clone(), value.clone());
        }
    }
    passed
}

/// All values of a header, as one list. Whoever reads them may go by any.
pub(super) fn joined(headers: &HeaderMap, name: &str) -> String {
    let values = headers.get_all(name).iter();
    let values = values.map(|value| String::from_utf8_lossy(value.as_bytes()));
    values.collect::<Vec<_>>().join(", ")
}

/// Headers in the form in which they are recorded.
pub(super) fn noted(headers: &HeaderMap) -> Vec<(String, Vec<u8>)> {
    headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
        .collect()
}

/// Returns recorded headers for the client, without those that HTTP does not allow.
pub(super) fn recorded(headers: &[(String, String)]) -> HeaderMap {
    let mut map = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
            map.append(name, value);
        }
    }
    map
}
