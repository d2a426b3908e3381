//! Finds secrets in compressed bodies.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};

use super::Redactor;

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
    /// Returns the coding that a `content-encoding` header declares; `None` if the body is not compressed.
    pub fn parse(declared: &str) -> Option<Self> {
        match declared.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => None,
            "gzip" | "x-gzip" => Some(Self::Gzip),
            "deflate" => Some(Self::Deflate),
            _ => Some(Self::Other),
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
        let redacted = redactor.redact_body(&content);
        if redacted.as_ref() == content {
            return None;
        }
        // If it cannot be compressed again, nothing is kept rather than the secret.
        Some(self.encode(&redacted).unwrap_or_default())
    }
}
