//! Finds secrets in compressed bodies.

use std::borrow::Cow;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};

use super::Redactor;
use super::window::{BodyKind, Window};

/// The most bytes that one body may decompress to. Stops a decompression bomb.
const MOST: u64 = 64 << 20;

/// How a body is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// `gzip`.
    Gzip,
    /// `deflate`, which is zlib's format.
    Deflate,
    /// A coding that cannot be decompressed here.
    Other,
}

impl Coding {
    /// The coding that `content-encoding` headers declare, all of them as one list; none if the bytes are as
    /// they are.
    pub fn parse(declared: &str) -> Option<Self> {
        let declared = declared.to_ascii_lowercase();
        let codings = declared.split(',').map(str::trim);
        let mut codings = codings.filter(|coding| !["", "identity"].contains(coding));
        let first = codings.next()?;
        Some(match (first, codings.next()) {
            ("gzip" | "x-gzip", None) => Self::Gzip,
            ("deflate", None) => Self::Deflate,
            _ => Self::Other,
        })
    }

    /// The coding that is declared, or that the body has without saying so.
    pub fn of(declared: &str, body: &[u8]) -> Option<Self> {
        Self::parse(declared).or_else(|| Self::sniff(body))
    }

    /// The coding by which a body begins.
    pub(super) fn sniff(body: &[u8]) -> Option<Self> {
        match body {
            [0x1f, 0x8b, 8, ..] => Some(Self::Gzip),
            [0x78, 0x01 | 0x9c | 0xda, ..] => Some(Self::Deflate),
            _ => None,
        }
    }

    /// Returns a reader that decompresses a body; `None` for an unknown coding.
    pub(crate) fn reader(self, body: &[u8]) -> Option<Box<dyn Read + '_>> {
        match self {
            Self::Gzip => Some(Box::new(MultiGzDecoder::new(body))),
            Self::Deflate => Some(Box::new(ZlibDecoder::new(body))),
            Self::Other => None,
        }
    }

    /// Decompresses a body; returns `None` if that fails or exceeds the limit.
    pub fn decode(self, body: &[u8]) -> Option<Vec<u8>> {
        let mut decoded = Vec::new();
        let read = self.reader(body)?.take(MOST + 1).read_to_end(&mut decoded);
        (read.is_ok() && decoded.len() as u64 <= MOST).then_some(decoded)
    }

    fn encode(self, content: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Gzip => {
                let mut out = GzEncoder::new(Vec::new(), Compression::default());
                out.write_all(content).ok()?;
                out.finish().ok()
            }
            Self::Deflate => {
                let mut out = ZlibEncoder::new(Vec::new(), Compression::default());
                out.write_all(content).ok()?;
                out.finish().ok()
            }
            Self::Other => None,
        }
    }

    /// Compresses a body again without its secrets; returns `None` if it has none or cannot be read.
    pub(super) fn redact(self, redactor: &Redactor, body: &[u8]) -> Option<Vec<u8>> {
        let content = self.decode(body)?;
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
        Some(self.encode(&redacted).unwrap_or_default())
    }
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
        let body = Coding::Gzip.encode(b"text").unwrap();
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
        let body = Coding::Gzip.encode(events.as_bytes()).unwrap();
        let redacted = Coding::Gzip.redact(&redactor, &body).unwrap();
        let text = String::from_utf8(Coding::Gzip.decode(&redacted).unwrap()).unwrap();
        assert!(
            text.contains("[redacted:") && !text.contains("\"789\""),
            "{text}"
        );
    }

    #[test]
    fn secret_in_a_body_that_does_not_say_it_is_compressed_is_replaced() {
        let redactor = Redactor::with_key([7; 32], RedactionRules::default()).unwrap();
        let body = Coding::Gzip.encode(SECRET.as_bytes()).unwrap();
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
