//! gzip: one member, from the first byte to the last.
//!
//! Some readers join members that follow each other, some stop after the first, and some stop at
//! bytes that are not a member; so there may be one member and nothing else.

use std::io::{self, BufRead, Read};

use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use runseal_core::formats::archive::FaultKind;
use runseal_core::limits::ARCHIVE_MAX_EXTENDED;

use crate::container::{fill, refuse};

const HEADER_CHECKSUM: u8 = 2;
const EXTRA: u8 = 4;
const NAME: u8 = 8;
const COMMENT: u8 = 16;
const RESERVED: u8 = 0xe0;

/// Reads the one member of a gzip file.
#[derive(Debug)]
pub(crate) struct GzReader<R> {
    state: State<R>,
    crc: Crc,
}

#[derive(Debug)]
enum State<R> {
    Start(R),
    Inside(DeflateDecoder<R>),
    Ended,
}

fn damaged(message: &str) -> io::Error {
    refuse(FaultKind::Damaged, message)
}

fn ambiguous(message: &str) -> io::Error {
    refuse(FaultKind::Ambiguous, message)
}

impl<R: BufRead> GzReader<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self {
            state: State::Start(reader),
            crc: Crc::new(),
        }
    }
}

impl<R: BufRead> Read for GzReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match std::mem::replace(&mut self.state, State::Ended) {
                State::Ended => return Ok(0),
                State::Start(mut reader) => {
                    read_header(&mut reader)?;
                    self.state = State::Inside(DeflateDecoder::new(reader));
                }
                State::Inside(mut decoder) => {
                    let count = decoder.read(buffer)?;
                    if count == 0 {
                        check_end(decoder.into_inner(), &self.crc)?;
                        return Ok(0);
                    }
                    self.crc.update(&buffer[..count]);
                    self.state = State::Inside(decoder);
                    return Ok(count);
                }
            }
        }
    }
}

fn read_header(reader: &mut impl BufRead) -> io::Result<()> {
    let mut fixed = [0; 10];
    if fill(reader, &mut fixed)? < fixed.len() {
        return Err(damaged("the gzip header is cut off"));
    }
    let [_, _, method, flags, ..] = fixed;
    if method != 8 {
        return Err(damaged("the gzip header names an unknown method"));
    }
    if flags & RESERVED != 0 {
        return Err(ambiguous("the gzip header has reserved flags"));
    }
    if flags & HEADER_CHECKSUM != 0 {
        return Err(ambiguous(
            "the gzip header has a checksum flag, which some readers take for a multi-part mark",
        ));
    }
    if flags & EXTRA != 0 {
        return Err(ambiguous(
            "the gzip header has an extra field, in which some readers find another archive",
        ));
    }
    for flag in [NAME, COMMENT] {
        if flags & flag != 0 {
            skip_text(reader)?;
        }
    }
    Ok(())
}

/// Skips a text that ends with NUL.
fn skip_text(reader: &mut impl BufRead) -> io::Result<()> {
    let mut limited = reader.take(ARCHIVE_MAX_EXTENDED);
    limited.skip_until(0)?;
    match limited.limit() {
        0 => Err(refuse(
            FaultKind::Limit,
            format!("the gzip header has a text longer than {ARCHIVE_MAX_EXTENDED} bytes"),
        )),
        _ => Ok(()),
    }
}

fn check_end(mut reader: impl BufRead, crc: &Crc) -> io::Result<()> {
    let mut trailer = [0; 8];
    if fill(&mut reader, &mut trailer)? < trailer.len() {
        return Err(damaged("it is cut off: the gzip trailer is missing"));
    }
    let [a, b, c, d, e, f, g, h] = trailer;
    if u32::from_le_bytes([a, b, c, d]) != crc.sum() {
        return Err(damaged("wrong checksum of the gzip stream"));
    }
    if u32::from_le_bytes([e, f, g, h]) != crc.amount() {
        return Err(damaged("wrong size in the gzip trailer"));
    }
    let rest = reader.fill_buf()?;
    if rest.starts_with(&[0x1f, 0x8b]) {
        return Err(ambiguous(
            "a second gzip member follows the first: some readers join them, some stop",
        ));
    }
    if !rest.is_empty() {
        return Err(ambiguous("there are bytes after the gzip stream"));
    }
    Ok(())
}
