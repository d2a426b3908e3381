//! Zstandard: one frame, from the first byte to the last.
//!
//! Some readers join frames that follow each other and skip skippable ones, others stop after the
//! first; so there may be one frame and nothing else. The frame's header is checked here, before a
//! decoder allocates memory for its window.

use std::io::{self, BufRead, Cursor, Read};

use runseal_core::formats::archive::FaultKind;
use runseal_core::limits::ARCHIVE_MAX_WINDOW;

use crate::container::{fill, refuse};

/// Which implementation decodes Zstandard. Both produce the same bytes and refuse the same files;
/// tests and fuzzing compare them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZstdDecoder {
    /// The decoder written in Rust.
    Rust,
    /// The C library of the format's authors.
    #[cfg(feature = "native-zstd")]
    Native,
}

impl ZstdDecoder {
    /// The fastest one that was compiled in.
    #[cfg(feature = "native-zstd")]
    pub const FASTEST: Self = Self::Native;
    /// The fastest one that was compiled in.
    #[cfg(not(feature = "native-zstd"))]
    pub const FASTEST: Self = Self::Rust;
}

/// The frame's header, put back in front of the rest for the decoder.
type Frame<R> = io::Chain<Cursor<Vec<u8>>, R>;

/// Reads the one frame of a Zstandard file.
pub(crate) struct ZstReader<R: BufRead> {
    state: State<R>,
    decoder: ZstdDecoder,
    /// The unpacked size in the frame's header, if stated.
    stated: Option<u64>,
    seen: u64,
}

enum State<R: BufRead> {
    Start(R),
    Rust(Box<ruzstd::decoding::StreamingDecoder<Frame<R>, ruzstd::decoding::FrameDecoder>>),
    #[cfg(feature = "native-zstd")]
    Native(zstd::stream::read::Decoder<'static, Frame<R>>),
    Ended,
}

impl<R: BufRead> std::fmt::Debug for ZstReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ZstReader")
            .field("decoder", &self.decoder)
            .field("seen", &self.seen)
            .finish_non_exhaustive()
    }
}

fn damaged(message: impl Into<String>) -> io::Error {
    refuse(FaultKind::Damaged, message)
}

fn ambiguous(message: &str) -> io::Error {
    refuse(FaultKind::Ambiguous, message)
}

impl<R: BufRead> ZstReader<R> {
    pub(crate) fn new(reader: R, decoder: ZstdDecoder) -> Self {
        Self {
            state: State::Start(reader),
            decoder,
            stated: None,
            seen: 0,
        }
    }

    fn begin(&mut self, mut reader: R) -> io::Result<State<R>> {
        let (header, stated) = read_header(&mut reader)?;
        self.stated = stated;
        let frame = Cursor::new(header).chain(reader);
        Ok(match self.decoder {
            ZstdDecoder::Rust => {
                let decoder = ruzstd::decoding::StreamingDecoder::new(frame)
                    .map_err(|error| damaged(error.to_string()))?;
                State::Rust(Box::new(decoder))
            }
            #[cfg(feature = "native-zstd")]
            ZstdDecoder::Native => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(frame)?.single_frame();
                decoder.window_log_max(ARCHIVE_MAX_WINDOW.ilog2())?;
                State::Native(decoder)
            }
        })
    }

    fn check_end(&self, reader: &mut Frame<R>) -> io::Result<()> {
        if self.stated.is_some_and(|stated| stated != self.seen) {
            return Err(damaged("the zstd frame is not as long as it states"));
        }
        let rest = reader.fill_buf()?;
        if !rest.is_empty() {
            return Err(ambiguous(
                "there are bytes after the zstd frame: some readers continue, some stop",
            ));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for ZstReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let count = match std::mem::replace(&mut self.state, State::Ended) {
                State::Ended => return Ok(0),
                State::Start(reader) => {
                    self.state = self.begin(reader)?;
                    continue;
                }
                State::Rust(mut decoder) => {
                    let count = decoder.read(buffer)?;
                    if count == 0 {
                        let inner = &decoder.decoder;
                        let stated = inner.get_checksum_from_data();
                        if stated.is_some() && stated != inner.get_calculated_checksum() {
                            return Err(damaged("wrong checksum of the zstd frame"));
                        }
                        self.check_end(&mut decoder.into_inner())?;
                        return Ok(0);
                    }
                    self.state = State::Rust(decoder);
                    count
                }
                #[cfg(feature = "native-zstd")]
                State::Native(mut decoder) => {
                    let count = decoder.read(buffer)?;
                    if count == 0 {
                        self.check_end(&mut decoder.finish())?;
                        return Ok(0);
                    }
                    self.state = State::Native(decoder);
                    count
                }
            };
            self.seen += count as u64;
            if self.stated.is_some_and(|stated| self.seen > stated) {
                return Err(damaged("the zstd frame is longer than it states"));
            }
            return Ok(count);
        }
    }
}

/// Reads a frame's header; returns its bytes and the size it states.
fn read_header(reader: &mut impl BufRead) -> io::Result<(Vec<u8>, Option<u64>)> {
    let mut header = vec![0; 5];
    if fill(reader, &mut header)? < header.len() {
        return Err(damaged("the zstd frame is cut off"));
    }
    if header[1..4] == [0x2a, 0x4d, 0x18] {
        return Err(ambiguous(
            "it begins with a skippable zstd frame, which not every reader skips",
        ));
    }
    if header[..4] != [0x28, 0xb5, 0x2f, 0xfd] {
        return Err(damaged("it does not begin with a zstd frame"));
    }
    let descriptor = header[4];
    if descriptor & 0b0001_1000 != 0 {
        return Err(damaged("the zstd frame has reserved flags"));
    }
    if descriptor & 0b11 != 0 {
        return Err(damaged(
            "the zstd frame needs a dictionary, which is missing",
        ));
    }
    let is_single_segment = descriptor & 0b0010_0000 != 0;
    let size_length = match (descriptor >> 6, is_single_segment) {
        (0, false) => 0,
        (0, true) => 1,
        (1, _) => 2,
        (2, _) => 4,
        _ => 8,
    };
    let window_length = usize::from(!is_single_segment);
    header.resize(5 + window_length + size_length, 0);
    if fill(reader, &mut header[5..])? < window_length + size_length {
        return Err(damaged("the zstd frame is cut off"));
    }
    let mut bytes = [0; 8];
    bytes[..size_length].copy_from_slice(&header[5 + window_length..]);
    // A two-byte size counts from 256.
    let size = u64::from_le_bytes(bytes) + if size_length == 2 { 256 } else { 0 };
    let window = if is_single_segment {
        size
    } else {
        let (exponent, mantissa) = (u64::from(header[5] >> 3), u64::from(header[5] & 7));
        let base = 1u64 << (10 + exponent);
        base + (base / 8) * mantissa
    };
    if window > ARCHIVE_MAX_WINDOW {
        return Err(refuse(
            FaultKind::Limit,
            format!(
                "the zstd frame needs a window of {window} bytes: at most {ARCHIVE_MAX_WINDOW} \
                 are read"
            ),
        ));
    }
    Ok((header, (size_length > 0).then_some(size)))
}
