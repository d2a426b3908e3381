//! A plain object as a seekable file that is read by ranges.

use std::io::{self, Read, Seek, SeekFrom};

use runseal_core::digest::Digest;
use ureq::http::{Method, StatusCode};

use super::address::S3Address;
use super::answer::refusal;
use super::client::{Bucket, Details, ObjectFacts, PutOutcome, checksum};
use super::upload::BytesBody;
use crate::blobs::into_io;
use crate::error::RemoteError;
use crate::http::Http;

/// The bytes requested after a seek.
const FIRST_BLOCK: u64 = 128 << 10;
/// The most bytes requested at once during sequential reading.
const LARGEST_BLOCK: u64 = 4 << 20;

/// Replaces an object with the content `earlier`, or creates it if that is `None`.
///
/// # Errors
/// If it cannot be written, or the object has other content.
pub fn replace_object(
    address: &str,
    bytes: &[u8],
    earlier: Option<&[u8]>,
) -> Result<(), RemoteError> {
    let address = S3Address::parse(address)?;
    let bucket = Bucket::open(&Http::new(), &address.bucket)?;
    let changed = || RemoteError::Taken {
        place: address.to_string(),
    };
    let condition = match earlier {
        None => ("if-none-match", "*".to_owned()),
        Some(earlier) => {
            let facts = bucket.head(&address.key)?.ok_or_else(changed)?;
            let mut now = Vec::new();
            let limit = earlier.len() as u64 + 1;
            let read = ObjectFile::new(&bucket, &address.key, &facts)
                .take(limit)
                .read_to_end(&mut now);
            read.map_err(|error| RemoteError::from_io(error, &address.to_string()))?;
            if now != earlier {
                return Err(changed());
            }
            ("if-match", facts.tag.ok_or_else(changed)?)
        }
    };
    let digest = Digest::of(bytes);
    let details = Details {
        headers: vec![condition, ("x-amz-checksum-sha256", checksum(digest))],
        body: Some((&BytesBody(bytes), digest)),
        ..Details::default()
    };
    match bucket.write_once(Method::PUT, &address.key, &details)? {
        PutOutcome::Created => Ok(()),
        PutOutcome::Existed => Err(changed()),
    }
}

/// An object opened for reading. If it is replaced between two requests, reading fails.
pub(super) struct ObjectFile<'a> {
    bucket: &'a Bucket,
    key: String,
    size: u64,
    tag: Option<String>,
    at: u64,
    block: Vec<u8>,
    block_start: u64,
    next_block: u64,
    /// The server's failure, for readers that would otherwise report every error as damage.
    failure: Option<String>,
}

impl<'a> ObjectFile<'a> {
    pub(super) fn new(bucket: &'a Bucket, key: &str, facts: &ObjectFacts) -> Self {
        Self {
            bucket,
            key: key.to_owned(),
            size: facts.bytes,
            tag: facts.tag.clone(),
            at: 0,
            block: Vec::new(),
            block_start: 0,
            next_block: FIRST_BLOCK,
            failure: None,
        }
    }

    /// Returns why the last read failed, if the server was the reason.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Returns the buffered bytes at the current position.
    fn ready(&self) -> &[u8] {
        let offset = self.at.checked_sub(self.block_start);
        let offset = offset.and_then(|offset| usize::try_from(offset).ok());
        offset
            .and_then(|offset| self.block.get(offset..))
            .unwrap_or_default()
    }

    fn fetch(&mut self) -> Result<(), RemoteError> {
        let is_sequential = self.at == self.block_start + self.block.len() as u64;
        self.next_block = if is_sequential {
            (self.next_block * 2).min(LARGEST_BLOCK)
        } else {
            FIRST_BLOCK
        };
        let end = self.size.min(self.at + self.next_block);
        let mut headers = vec![("range", format!("bytes={}-{}", self.at, end - 1))];
        if let Some(tag) = &self.tag {
            headers.push(("if-match", tag.clone()));
        }
        let details = Details {
            headers,
            ..Details::default()
        };
        let response = self.bucket.send(Method::GET, &self.key, &details)?;
        let corrupt = |problem: &str| RemoteError::Corrupt {
            place: self.bucket.shown(&self.key),
            problem: problem.to_owned(),
        };
        match response.status {
            StatusCode::PARTIAL_CONTENT => {}
            // A server without range support sends the whole object, which is fine if all was requested.
            StatusCode::OK if self.at == 0 && end == self.size => {}
            StatusCode::PRECONDITION_FAILED => {
                return Err(corrupt("it was replaced while it was being read"));
            }
            _ => return Err(refusal(response, &self.bucket.asked(&self.key))),
        }
        let length = end - self.at;
        let bytes = response.into_bytes(length)?;
        if bytes.len() as u64 != length {
            return Err(corrupt("a range of it is shorter than requested"));
        }
        self.block = bytes;
        self.block_start = self.at;
        Ok(())
    }
}

impl Read for ObjectFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.size || buffer.is_empty() {
            return Ok(0);
        }
        if self.ready().is_empty() {
            self.fetch().map_err(|error| {
                self.failure = Some(error.to_string());
                into_io(error)
            })?;
        }
        let ready = self.ready();
        let count = ready.len().min(buffer.len());
        buffer[..count].copy_from_slice(&ready[..count]);
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for ObjectFile<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(offset) => self.size.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.at.checked_add_signed(offset),
        };
        self.at = place.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
