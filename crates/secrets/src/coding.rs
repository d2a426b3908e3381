//! How a body is compressed, and its content.

use std::io::Read;

use flate2::read::{MultiGzDecoder, ZlibDecoder};

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
    /// The coding that `content-encoding` headers declare, all of them as one list; none where the bytes are as
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
    pub fn sniff(body: &[u8]) -> Option<Self> {
        match body {
            [0x1f, 0x8b, 8, ..] => Some(Self::Gzip),
            [0x78, 0x01 | 0x9c | 0xda, ..] => Some(Self::Deflate),
            _ => None,
        }
    }

    /// Returns a reader that decompresses a body; `None` for an unknown coding.
    pub fn reader(self, body: &[u8]) -> Option<Box<dyn Read + '_>> {
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
}
