//! Downloads a blob from a registry, and resumes after a broken connection.

use std::io::{self, Read};

use runseal_core::digest::ContentHash;
use ureq::http::Method;
use ureq::http::header::RANGE;

use super::OciError;
use super::manifest::Descriptor;
use super::registry::{Registry, RegistryRequest};

/// How often in a row an interrupted read is resumed without receiving a single byte.
const READ_ATTEMPTS: u32 = 4;

/// A blob as it arrives; if the connection breaks off, the rest is requested.
pub(super) struct BlobReader<'a> {
    registry: &'a Registry,
    blob: Descriptor,
    /// The number of bytes returned so far.
    at: u64,
    body: Option<Box<dyn Read + Send>>,
    /// The number of connections since the last byte arrived.
    attempts: u32,
}

impl<'a> BlobReader<'a> {
    /// Requests a blob from its beginning.
    pub(super) fn open(registry: &'a Registry, blob: &Descriptor) -> Result<Self, OciError> {
        let mut reader = Self {
            registry,
            blob: blob.clone(),
            at: 0,
            body: None,
            attempts: 0,
        };
        reader.connect()?;
        Ok(reader)
    }

    fn connect(&mut self) -> Result<(), OciError> {
        let digest = ContentHash::from(self.blob.digest);
        let uri = self.registry.address(&format!("blobs/{digest}"))?;
        let mut request = RegistryRequest::new(Method::GET, uri);
        request.follows = true;
        if self.at > 0 {
            request = request.header(RANGE, format!("bytes={}-", self.at));
        }
        let response = self.registry.send(&request)?;
        let skipped = match response.status.as_u16() {
            200 => self.at,
            206 if self.at > 0 => 0,
            // There is no more: the blob is shorter than declared.
            416 if self.at > 0 => {
                self.body = None;
                return Ok(());
            }
            _ => return Err(self.registry.refusal(response, &digest.to_string())),
        };
        let mut body = response.into_reader();
        io::copy(&mut (&mut body).take(skipped), &mut io::sink())?;
        self.body = Some(Box::new(body));
        Ok(())
    }
}

impl Read for BlobReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = match &mut self.body {
                None => return Ok(0),
                Some(body) => body.read(buffer),
            };
            match read {
                Ok(count) if count > 0 => {
                    self.at += count as u64;
                    self.attempts = 0;
                    return Ok(count);
                }
                Ok(_) if self.at >= self.blob.size => return Ok(0),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
                // The response ended early, or the connection broke off.
                other => {
                    self.attempts += 1;
                    if self.attempts > READ_ATTEMPTS {
                        return other;
                    }
                    self.connect().map_err(io::Error::other)?;
                }
            }
        }
    }
}
