//! Secrets in headers, URLs and forms, recognized by the name of a field.

use super::Redactor;
use super::kinds::is_secret_header;
use super::{known, names};
use crate::proxy::STAND_IN;

impl Redactor {
    /// Returns a header's value without secrets; if the whole header is secret, only the scheme remains.
    pub fn redact_header(&self, name: &str, value: &[u8]) -> String {
        let text = String::from_utf8_lossy(value);
        // The stand-in for a key that the client never had is not a secret.
        let is_stand_in = text.ends_with(STAND_IN) && !text.contains(',');
        if is_stand_in || !is_secret_header(name) {
            return self.redact_text(&text).into_owned();
        }
        let kind = header_kind(name);
        self.learn_header(&kind, &text);
        *self.lock().counts.entry(kind.clone()).or_default() += 1;
        match text.split_once(' ') {
            Some((scheme, rest)) if name.to_ascii_lowercase().ends_with("authorization") => {
                format!("{scheme} {}", self.placeholder(&kind, rest.as_bytes()))
            }
            _ => self.placeholder(&kind, text.as_bytes()),
        }
    }

    /// Learns the secrets in a header: the whole value, the part after the scheme, a password in
    /// base64, the values of cookies.
    fn learn_header(&self, kind: &str, text: &str) {
        self.learn(kind, text.as_bytes());
        if let Some((scheme, rest)) = text.split_once(' ') {
            self.learn(kind, rest.trim().as_bytes());
            if scheme.eq_ignore_ascii_case("basic")
                && let Some(decoded) = known::decode_base64(rest.trim())
            {
                self.learn(kind, &decoded);
                if let Some(colon) = decoded.iter().position(|byte| *byte == b':') {
                    self.learn(kind, decoded.get(colon + 1..).unwrap_or_default());
                }
            }
        }
        if kind.contains("cookie") {
            let cookies = text.split(';').filter_map(|part| part.split_once('='));
            let attributes = ["path", "domain", "expires", "samesite", "max-age"];
            for (name, value) in cookies {
                if !attributes.contains(&name.trim().to_ascii_lowercase().as_str()) {
                    self.learn(kind, value.trim().as_bytes());
                }
            }
        }
    }

    /// Returns the query of a URL, or a form, without the values of telling parameters.
    pub fn redact_query(&self, query: &str) -> String {
        let parts = query.split('&').map(|part| {
            let Some((name, value)) = part.split_once('=') else {
                return self.redact_text(part).into_owned();
            };
            if value.is_empty() || value == STAND_IN || !names::is_secret_parameter(name) {
                return self.redact_text(part).into_owned();
            }
            self.learn_found("parameter", value.as_bytes());
            *self
                .lock()
                .counts
                .entry("parameter".to_owned())
                .or_default() += 1;
            format!("{name}={}", self.placeholder("parameter", value.as_bytes()))
        });
        parts.collect::<Vec<_>>().join("&")
    }
}

/// Returns the kind of secret for a header's placeholder.
fn header_kind(name: &str) -> String {
    let plain = |byte: char| match byte {
        'a'..='z' | '0'..='9' | '-' => byte,
        _ => '-',
    };
    name.to_ascii_lowercase().chars().map(plain).collect()
}
