//! Signs requests as object storage demands: AWS Signature Version 4, in headers.
//!
//! The signature covers the method, the path, the query, the host, every `x-amz-` header and the
//! digest of the body, so nothing in between can change the request.

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit, Mac};
use runseal_core::digest::Digest;
use sha2::Sha256;

use super::credentials::Credentials;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const SERVICE: &str = "s3";

/// The parts of a request that are signed.
pub(super) struct Signable<'a> {
    /// `GET`, `PUT` and so on.
    pub method: &'a str,
    /// The value of the `Host` header; with the port unless it is the default.
    pub host: &'a str,
    /// The path, encoded.
    pub path: &'a str,
    /// The query's names and values, not yet encoded, in any order.
    pub query: &'a [(String, String)],
    /// The other signed headers, with lower-case names.
    pub headers: &'a [(&'static str, String)],
    /// The digest of the body.
    pub body: Digest,
}

/// A time in the form that signatures use: `20261117T101500Z`.
#[derive(Debug, Clone)]
pub(super) struct Moment(String);

impl Moment {
    /// Converts from the form `2026-11-17T10:15:00Z`.
    pub(super) fn from_iso(text: &str) -> Self {
        Self(text.chars().filter(|c| !matches!(c, '-' | ':')).collect())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    fn date(&self) -> &str {
        self.0.get(..8).unwrap_or_default()
    }
}

/// Computes the value of `Authorization` for a request.
pub(super) fn authorization(
    request: &Signable<'_>,
    credentials: &Credentials,
    region: &str,
    moment: &Moment,
) -> String {
    let mut headers: Vec<(&str, &str)> = vec![("host", request.host)];
    headers.extend(
        request
            .headers
            .iter()
            .map(|(name, value)| (*name, value.as_str())),
    );
    headers.sort_unstable();
    let names: Vec<_> = headers.iter().map(|(name, _)| *name).collect();
    let names = names.join(";");
    let mut query: Vec<_> = request.query.iter().collect();
    query.sort_unstable();
    let mut canonical = format!(
        "{}\n{}\n{}\n",
        request.method,
        request.path,
        query_text(&query)
    );
    for (name, value) in &headers {
        let _ = writeln!(canonical, "{name}:{}", value.trim());
    }
    let _ = write!(canonical, "\n{names}\n{}", request.body);
    let scope = format!("{}/{region}/{SERVICE}/aws4_request", moment.date());
    let digest = Digest::of(canonical.as_bytes());
    let text = format!("{ALGORITHM}\n{}\n{scope}\n{digest}", moment.as_str());
    let mut key = format!("AWS4{}", credentials.secret_key()).into_bytes();
    for part in [moment.date(), region, SERVICE, "aws4_request", &text] {
        key = keyed_hash(&key, part.as_bytes());
    }
    let mut signature = String::with_capacity(64);
    for byte in key {
        let _ = write!(signature, "{byte:02x}");
    }
    let key_id = credentials.key_id();
    format!("{ALGORITHM} Credential={key_id}/{scope}, SignedHeaders={names}, Signature={signature}")
}

fn keyed_hash(key: &[u8], text: &[u8]) -> Vec<u8> {
    // HMAC accepts a key of any length.
    match Hmac::<Sha256>::new_from_slice(key) {
        Ok(mut mac) => {
            mac.update(text);
            mac.finalize().into_bytes().to_vec()
        }
        Err(_) => Vec::new(),
    }
}

/// Encodes the names and values of a query, in the given order.
pub(super) fn query_text(query: &[&(String, String)]) -> String {
    let pairs: Vec<_> = query
        .iter()
        .map(|(name, value)| format!("{}={}", encode(name, false), encode(value, false)))
        .collect();
    pairs.join("&")
}

/// Percent-encodes everything except unreserved characters and, with `keeps_slashes`, slashes.
pub(super) fn encode(text: &str, keeps_slashes: bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            b'/' if keeps_slashes => encoded.push('/'),
            _ => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The documented example of a request for an object, with its documented signature.
    #[test]
    fn authorization_of_documented_request_is_the_documented_one() {
        let credentials = Credentials::new(
            "AKIAIOSFODNN7EXAMPLE",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            None,
        );
        let empty = Digest::of(b"");
        let request = Signable {
            method: "GET",
            host: "examplebucket.s3.amazonaws.com",
            path: "/test.txt",
            query: &[],
            headers: &[
                ("range", "bytes=0-9".to_owned()),
                ("x-amz-content-sha256", empty.to_string()),
                ("x-amz-date", "20130524T000000Z".to_owned()),
            ],
            body: empty,
        };
        let moment = Moment::from_iso("2013-05-24T00:00:00Z");
        let signed = authorization(&request, &credentials, "us-east-1", &moment);
        assert!(
            signed.ends_with(
                "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
            ),
            "{signed}"
        );
    }

    #[test]
    fn keys_are_encoded_byte_by_byte() {
        assert_eq!(encode("a b/ü+~", true), "a%20b/%C3%BC%2B~");
        assert_eq!(encode("a/b", false), "a%2Fb");
    }
}
