//! Bodies that are compressed: what they hold is looked through all the same.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};

use super::Redactor;

/// What is decompressed of one body at the most. Stops one that is small only on its way.
const MOST: u64 = 64 << 20;

/// How a body is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// `gzip`.
    Gzip,
    /// `deflate`, which is zlib's format.
    Deflate,
    /// One that is not read here.
    Other,
}

impl Coding {
    /// The coding that a `content-encoding` header declares; none where the bytes are as they are.
    pub fn parse(declared: &str) -> Option<Self> {
        match declared.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => None,
            "gzip" | "x-gzip" => Some(Self::Gzip),
            "deflate" => Some(Self::Deflate),
            _ => Some(Self::Other),
        }
    }

    /// Reads what a body holds; none where that cannot be read here.
    pub(crate) fn reader(self, body: &[u8]) -> Option<Box<dyn Read + '_>> {
        match self {
            Self::Gzip => Some(Box::new(MultiGzDecoder::new(body))),
            Self::Deflate => Some(Box::new(ZlibDecoder::new(body))),
            Self::Other => None,
        }
    }

    /// What a body holds; none where it cannot be read to its end.
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

    /// The body compressed anew without its secrets; none where it has none, or cannot be read.
    pub(super) fn redact(self, redactor: &Redactor, body: &[u8]) -> Option<Vec<u8>> {
        let content = self.decode(body)?;
        let redacted = redactor.redact_body(&content);
        if redacted.as_ref() == content {
            return None;
        }
        // What cannot be written again must not be kept as it was.
        Some(self.encode(&redacted).unwrap_or_default())
    }
}
