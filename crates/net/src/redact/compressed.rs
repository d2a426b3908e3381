//! Finds secrets in compressed bodies.

use std::borrow::Cow;
use std::io::Write;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use runseal_secrets::Coding;

use super::Redactor;
use super::window::{BodyKind, Window};

fn encode(coding: Coding, content: &[u8]) -> Option<Vec<u8>> {
    match coding {
        Coding::Gzip => {
            let mut out = GzEncoder::new(Vec::new(), Compression::default());
            out.write_all(content).ok()?;
            out.finish().ok()
        }
        Coding::Deflate => {
            let mut out = ZlibEncoder::new(Vec::new(), Compression::default());
            out.write_all(content).ok()?;
            out.finish().ok()
        }
        Coding::Other => None,
    }
}

/// Compresses a body again without its secrets; returns `None` if it has none or cannot be read.
pub(super) fn redact_compressed(
    coding: Coding,
    redactor: &Redactor,
    body: &[u8],
) -> Option<Vec<u8>> {
    let content = coding.decode(body)?;
    let redacted = if is_event_stream(&content) {
        // A secret may be split over its events.
        let mut window = Window::new(BodyKind::Events);
        window.add(&content, 0);
        Cow::Owned(window.finish(redactor).bytes)
    } else {
        redactor.redact_body(&content)
    };
    if redacted.as_ref() == content {
        return None;
    }
    // If it cannot be compressed again, nothing is kept rather than the secret.
    Some(encode(coding, &redacted).unwrap_or_default())
}

/// Whether a text is one of server-sent events, whatever its type says.
fn is_event_stream(content: &[u8]) -> bool {
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let starts: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
    let content = content.trim_ascii_start();
    starts.iter().any(|start| content.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::RedactionRules;

    const SECRET: &str = "sk-proj-abcdefghijklmnop0123456789";

    #[test]
    fn coding_is_that_of_all_headers_or_of_the_bytes() {
        for (declared, coding) in [
            ("", None),
            ("identity, ", None),
            ("identity, GZIP", Some(Coding::Gzip)),
            ("gzip, gzip", Some(Coding::Other)),
            ("br", Some(Coding::Other)),
        ] {
            assert_eq!(Coding::parse(declared), coding, "{declared}");
        }
        let body = encode(Coding::Gzip, b"text").unwrap();
        assert_eq!(Coding::of("", &body), Some(Coding::Gzip));
        assert_eq!(Coding::of("", b"text"), None);
    }

    #[test]
    fn secret_split_over_compressed_events_is_replaced() {
        let redactor = Redactor::with_key([7; 32], RedactionRules::default()).unwrap();
        let pieces = SECRET.as_bytes().chunks(3);
        let events: String = pieces
            .map(|piece| {
                let piece = std::str::from_utf8(piece).unwrap();
                format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{piece}\"}}}}]}}\n\n")
            })
            .collect();
        let body = encode(Coding::Gzip, events.as_bytes()).unwrap();
        let redacted = redact_compressed(Coding::Gzip, &redactor, &body).unwrap();
        let text = String::from_utf8(Coding::Gzip.decode(&redacted).unwrap()).unwrap();
        assert!(
            text.contains("[redacted:") && !text.contains("\"789\""),
            "{text}"
        );
    }

    #[test]
    fn secret_in_a_body_that_does_not_say_it_is_compressed_is_replaced() {
        let redactor = Redactor::with_key([7; 32], RedactionRules::default()).unwrap();
        let body = encode(Coding::Gzip, SECRET.as_bytes()).unwrap();
        let mut window = Window::new(BodyKind::of_headers("", "application/octet-stream"));
        for (mark, byte) in body.iter().enumerate() {
            window.add(&[*byte], mark as u64);
        }
        let released = window.finish(&redactor).bytes;
        let asked = redactor.redact_request("", "application/octet-stream", &body);
        for kept in [released, asked.into_owned()] {
            let text = String::from_utf8(Coding::Gzip.decode(&kept).unwrap()).unwrap();
            assert!(text.starts_with("[redacted:"), "{text}");
        }
    }
}
