//! Secrets in headers, URLs and forms, recognized by the name of a field.

use std::borrow::Cow;

use memchr::memmem;
use runseal_secrets::encoded::decode_percent;
use runseal_secrets::{is_secret_header, known, names};

use super::Redactor;
use crate::proxy::STAND_IN;

impl Redactor {
    /// Returns a header's value without secrets; if the whole header is secret, only the scheme remains.
    pub fn redact_header(&self, name: &str, value: &[u8]) -> String {
        let text = String::from_utf8_lossy(value);
        if ["location", "content-location", "referer"].contains(&&*name.to_ascii_lowercase()) {
            return self.redact_address(&text);
        }
        if is_stand_in(name, &text) || !is_secret_header(name) {
            return self.redact_text(&text).into_owned();
        }
        let kind = header_kind(name);
        self.learn_header(&kind, &text);
        *self.lock().counts.entry(kind.clone()).or_default() += 1;
        match text.split_once(' ') {
            Some((scheme, rest))
                if name.to_ascii_lowercase().ends_with("authorization") && is_scheme(scheme) =>
            {
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

    /// An address without the values of telling parameters.
    fn redact_address(&self, address: &str) -> String {
        let (address, fragment) = match address.split_once('#') {
            Some((address, fragment)) => (address, Some(fragment)),
            None => (address, None),
        };
        let mut redacted = match address.split_once('?') {
            Some((path, query)) => {
                format!("{}?{}", self.redact_text(path), self.redact_query(query))
            }
            None => self.redact_text(address).into_owned(),
        };
        if let Some(fragment) = fragment {
            redacted.push('#');
            redacted.push_str(&self.redact_query(fragment));
        }
        redacted
    }

    /// A form of several parts without the values of telling fields; `None` if it is not such a form.
    pub(super) fn redact_multipart(&self, content_type: &str, body: &[u8]) -> Option<Vec<u8>> {
        let declared = content_type.to_ascii_lowercase();
        if !declared.starts_with("multipart/form-data") {
            return None;
        }
        let boundary = content_type.get(declared.find("boundary=")? + "boundary=".len()..)?;
        let boundary = match boundary.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next()?,
            None => boundary.split(';').next()?.trim(),
        };
        let border = format!("--{boundary}");
        let mut redacted = Vec::with_capacity(body.len());
        let mut rest = body;
        loop {
            let end = memmem::find(rest, border.as_bytes());
            let (part, after) = rest.split_at(end.unwrap_or(rest.len()));
            redacted.extend_from_slice(&self.redact_part(part));
            if end.is_none() {
                return Some(redacted);
            }
            redacted.extend_from_slice(border.as_bytes());
            rest = after.get(border.len()..).unwrap_or_default();
        }
    }

    /// One part of a form: its headers, an empty line and its value.
    fn redact_part<'b>(&self, part: &'b [u8]) -> Cow<'b, [u8]> {
        let lengths = [&b"\r\n\r\n"[..], b"\n\n"];
        let found = lengths
            .iter()
            .filter_map(|gap| Some((memmem::find(part, gap)?, gap.len())));
        let Some((at, gap)) = found.min() else {
            return self.redact_body(part);
        };
        let (head, value) = part.split_at(at + gap);
        let is_secret = field_name(&String::from_utf8_lossy(head))
            .is_some_and(|name| names::is_secret_parameter(&name));
        let kept = value.trim_ascii_end();
        if !is_secret || kept.is_empty() || kept == STAND_IN.as_bytes() {
            return match self.redact_body(value) {
                Cow::Borrowed(_) => self.redact(part),
                Cow::Owned(value) => Cow::Owned([&*self.redact(head), &value].concat()),
            };
        }
        self.learn_found("parameter", kept);
        self.count("parameter");
        let placeholder = self.placeholder("parameter", kept);
        let end = value.get(kept.len()..).unwrap_or_default();
        Cow::Owned([&*self.redact(head), placeholder.as_bytes(), end].concat())
    }

    /// The query of a URL, or a form, without the values of telling parameters.
    pub fn redact_query(&self, query: &str) -> String {
        let parts = query.split('&').map(|part| {
            let Some((name, value)) = part.split_once('=') else {
                return self.redact_text(part).into_owned();
            };
            if value.is_empty()
                || value == STAND_IN
                || !names::is_secret_parameter(&read_percent(name))
            {
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

/// Schemes of `authorization`; what else stands in front of a space may be part of a secret.
const SCHEMES: [&str; 18] = [
    "apikey",
    "api-key",
    "aws",
    "aws4-hmac-sha256",
    "basic",
    "bearer",
    "digest",
    "dpop",
    "hawk",
    "key",
    "negotiate",
    "ntlm",
    "oauth",
    "privatetoken",
    "scram-sha-1",
    "scram-sha-256",
    "sharedkey",
    "token",
];

fn is_scheme(text: &str) -> bool {
    SCHEMES
        .iter()
        .any(|scheme| scheme.eq_ignore_ascii_case(text))
}

/// Whether a header holds nothing but the stand-in for a key that the client never had, which is no secret.
fn is_stand_in(name: &str, text: &str) -> bool {
    if name.eq_ignore_ascii_case("cookie") {
        let mut cookies = text.split(';').map(|cookie| cookie.split_once('='));
        return cookies.all(|cookie| cookie.is_some_and(|(_, value)| value.trim() == STAND_IN));
    }
    let value = match text.split_once(' ') {
        Some((scheme, rest)) if is_scheme(scheme) => rest,
        _ => text,
    };
    value.trim() == STAND_IN
}

/// The name of the field that a part of a form is for.
fn field_name(head: &str) -> Option<String> {
    let lower = head.to_ascii_lowercase();
    let names = lower
        .match_indices("name=")
        .map(|(at, found)| (at, at + found.len()));
    // Not that of a file.
    let mut names = names.filter(|(at, _)| !lower[..*at].ends_with("file"));
    let (_, end) = names.next()?;
    let rest = head.get(end..)?;
    let name = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => rest.split([';', '\r', '\n']).next()?.trim(),
    };
    Some(name.to_owned())
}

/// A name or value of an address, with its percent-encoding read.
pub(crate) fn read_percent(text: &str) -> Cow<'_, str> {
    match decode_percent(text.as_bytes()) {
        None => text.into(),
        Some(decoded) => String::from_utf8_lossy(&decoded).into_owned().into(),
    }
}

/// The kind of secret that a header's placeholder names.
fn header_kind(name: &str) -> String {
    let plain = |byte: char| match byte {
        'a'..='z' | '0'..='9' | '-' => byte,
        _ => '-',
    };
    name.to_ascii_lowercase().chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::RedactionRules;

    const SECRET: &str = "Zq8tLm2Xr5wYb9nKc4dPvT77";

    fn redactor() -> Redactor {
        Redactor::with_key([7; 32], RedactionRules::default()).unwrap()
    }

    #[test]
    fn header_is_kept_for_a_stand_in_only_where_it_holds_nothing_else() {
        for (name, value) in [
            ("authorization", STAND_IN.to_owned()),
            ("authorization", format!("Bearer {STAND_IN}")),
            ("x-api-key", STAND_IN.to_owned()),
            ("cookie", format!("a={STAND_IN}; b={STAND_IN}")),
        ] {
            assert_eq!(redactor().redact_header(name, value.as_bytes()), value);
        }
        for (name, value) in [
            ("cookie", format!("sid={SECRET}; t={STAND_IN}")),
            ("authorization", format!("{SECRET} {STAND_IN}")),
            ("authorization", format!("{SECRET} x")),
            ("x-api-key", format!("{SECRET}{STAND_IN}")),
            ("x-api-key", format!("{SECRET} {STAND_IN}")),
        ] {
            let kept = redactor().redact_header(name, value.as_bytes());
            assert!(!kept.contains(SECRET), "{name}: {kept}");
        }
    }

    #[test]
    fn secret_in_an_address_of_a_header_or_body_is_replaced() {
        let address = format!("https://h.example/cb?code={SECRET}&state=1#access_token={SECRET}x");
        for name in ["Location", "referer"] {
            let kept = redactor().redact_header(name, address.as_bytes());
            assert!(
                !kept.contains(SECRET) && kept.contains("&state=1#"),
                "{kept}"
            );
            let short = redactor().redact_header(name, b"/cb?code=abc");
            assert!(!short.contains("abc"), "{short}");
        }
        let body = format!("{{\"next\":\"{address}\"}}");
        let kept = redactor().redact_body(body.as_bytes()).into_owned();
        assert!(!String::from_utf8(kept).unwrap().contains(SECRET));
        let plain = br#"{"code":"Zq8tLm2Xr5wYb9nKc4dPvT77","next":"/x?code=404"}"#;
        assert_eq!(*redactor().redact_body(plain), *plain);
    }

    #[test]
    fn secret_field_of_a_form_is_told_however_it_is_written() {
        let query = redactor().redact_query(&format!("user%5Bpassword%5D={SECRET}&a=b"));
        assert!(
            !query.contains(SECRET) && query.ends_with("&a=b"),
            "{query}"
        );
        let form = format!(
            "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper\r\n\
             --b\r\nContent-Disposition: form-data; name=\"api_key\"\r\n\r\n{SECRET}\r\n--b--\r\n"
        );
        for declared in ["boundary=b", "boundary=\"b\"; x=y"] {
            let declared = format!("multipart/form-data; {declared}");
            let kept = redactor()
                .redact_request("", &declared, form.as_bytes())
                .into_owned();
            let kept = String::from_utf8(kept).unwrap();
            assert!(
                !kept.contains(SECRET) && kept.contains("[redacted:parameter:"),
                "{kept}"
            );
            assert!(
                kept.contains("whisper") && kept.ends_with("\r\n--b--\r\n"),
                "{kept}"
            );
        }
        let open = form.replace("api_key", "file");
        let kept = redactor()
            .redact_request("", "multipart/form-data; boundary=b", open.as_bytes())
            .into_owned();
        assert_eq!(String::from_utf8(kept).unwrap(), open);
    }
}
