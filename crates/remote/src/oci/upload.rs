//! Sends a blob: a small one in one request, a large one in chunks, so that an interrupted upload
//! can be resumed.
//!
//! The address at which an upload continues is recorded next to what is pushed, in a file that only
//! its owner can read, because whoever knows the address can write there. The next push asks the
//! registry how much arrived and sends the rest. If the registry has forgotten the upload, it
//! starts over. A complete blob is named by its digest, which the registry computes itself.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;

use runseal_core::canon::{Dialect, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::digest::ContentHash;
use runseal_fs::atomic::{Readers, write_derived};
use runseal_fs::input::open_regular;
use ureq::http::header::{CONTENT_RANGE, CONTENT_TYPE};
use ureq::http::{Method, Uri};

use super::OciError;
use super::manifest::Descriptor;
use super::registry::{Registry, RegistryRequest};
use super::repository::{Content, Repository as _};
use crate::RemoteError;
use crate::http::{RepeatableBody, Response};

/// Blobs up to this size are sent in one request, larger ones in chunks of it: 32 MiB.
const PIECE: u64 = 32 << 20;

/// The largest chunk that a registry may ask for.
const LARGEST_PIECE: u64 = 1 << 30;

/// How often an upload without progress is attempted.
const ATTEMPTS: u32 = 5;

/// The most bytes of the file that records where an upload continues.
const MAX_STATE: u64 = 64 << 10;

/// A range of a blob as a request body.
struct BlobRange<'a> {
    content: &'a dyn Content,
    offset: u64,
    length: u64,
}

impl RepeatableBody for BlobRange<'_> {
    fn length(&self) -> u64 {
        self.length
    }

    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(
            self.content.open_at(self.offset)?.take(self.length),
        ))
    }
}

/// How an unfinished attempt ended.
enum AttemptError {
    /// It cannot succeed.
    Fatal(OciError),
    /// It was interrupted; the registry may have a part of the blob.
    Interrupted(OciError),
    /// The registry does not know this upload.
    Forgotten(OciError),
}

impl From<OciError> for AttemptError {
    fn from(error: OciError) -> Self {
        let is_temporary = match &error {
            OciError::Remote(RemoteError::Http(error)) => {
                !matches!(error, crate::http::HttpError::Body { .. })
            }
            OciError::Remote(RemoteError::Refused { status, .. }) => *status >= 500,
            _ => false,
        };
        if is_temporary {
            Self::Interrupted(error)
        } else {
            Self::Fatal(error)
        }
    }
}

/// An upload in progress.
struct Upload {
    location: Uri,
    offset: u64,
    piece: u64,
}

impl Registry {
    /// Sends a blob that the registry does not have yet.
    pub(super) fn upload(&self, blob: &Descriptor, content: &dyn Content) -> Result<(), OciError> {
        let mut noted = self.noted_location(blob);
        let mut is_noted = noted.is_some();
        let mut attempts = 0;
        let mut upload: Option<Upload> = None;
        loop {
            let before = upload.as_ref().map_or(0, |upload| upload.offset);
            let result = match (upload.take(), noted.take()) {
                (Some(known), _) => self.ask_offset(known.location, known.piece, blob),
                (None, Some(location)) => self.ask_offset(location, PIECE, blob),
                (None, None) => self.begin(),
            };
            let result = result.and_then(|begun| {
                let begun = upload.insert(begun);
                self.send_rest(blob, content, begun)
            });
            let error = match result {
                // A recorded address may be wrong by now. The registry itself says whether it has the blob.
                Ok(()) if std::mem::take(&mut is_noted) && !self.has_blob(blob)? => {
                    self.forget_location();
                    upload = None;
                    self.protocol("an upload that was resumed left no blob")
                }
                Ok(()) => {
                    self.forget_location();
                    return Ok(());
                }
                Err(AttemptError::Fatal(error)) => {
                    self.forget_location();
                    return Err(extract_change(error));
                }
                Err(AttemptError::Interrupted(error)) => error,
                Err(AttemptError::Forgotten(error)) => {
                    self.forget_location();
                    upload = None;
                    error
                }
            };
            // The blob may be complete: another client may have sent it, or only the answer was lost.
            let has_moved = upload.as_ref().is_some_and(|now| now.offset > before);
            attempts = if has_moved { 1 } else { attempts + 1 };
            if attempts >= ATTEMPTS {
                return Err(extract_change(error));
            }
            if attempts > 1 && self.has_blob(blob)? {
                self.forget_location();
                return Ok(());
            }
        }
    }

    /// Starts an upload.
    fn begin(&self) -> Result<Upload, AttemptError> {
        let uri = self.address("blobs/uploads/")?;
        let response = self.send(&RegistryRequest::new(Method::POST, uri))?;
        if response.status.as_u16() != 202 {
            return Err(self.refusal(response, "upload").into());
        }
        let least = response.text_header("oci-chunk-min-length");
        let least = least.and_then(|least| least.parse().ok()).unwrap_or(0);
        if least > LARGEST_PIECE {
            return Err(AttemptError::Fatal(
                self.protocol("it demands chunks of more than a gigabyte"),
            ));
        }
        Ok(Upload {
            location: self.location(&response)?,
            offset: 0,
            piece: PIECE.max(least),
        })
    }

    /// Asks how much of an upload has arrived.
    fn ask_offset(
        &self,
        location: Uri,
        piece: u64,
        blob: &Descriptor,
    ) -> Result<Upload, AttemptError> {
        let response = self.send(&RegistryRequest::new(Method::GET, location.clone()))?;
        let offset = match response.status.as_u16() {
            204 | 200 => end_of_range(&response).unwrap_or(0),
            // Also if the state of the upload no longer fits its address: it cannot be resumed.
            400 | 404 | 405 | 410 | 416 => {
                return Err(AttemptError::Forgotten(self.refusal(response, "upload")));
            }
            _ => return Err(self.refusal(response, "upload").into()),
        };
        if offset > blob.size {
            let error = self.protocol("it has more bytes of an upload than were sent");
            return Err(AttemptError::Forgotten(error));
        }
        let location = if response.headers.contains_key("location") {
            self.location(&response)?
        } else {
            location
        };
        Ok(Upload {
            location,
            offset,
            piece,
        })
    }

    /// Sends the missing bytes and completes the upload.
    fn send_rest(
        &self,
        blob: &Descriptor,
        content: &dyn Content,
        upload: &mut Upload,
    ) -> Result<(), AttemptError> {
        let is_small = upload.offset == 0 && blob.size <= upload.piece;
        while !is_small && upload.offset < blob.size {
            self.note_location(blob, &upload.location);
            self.send_piece(blob, content, upload)?;
        }
        let digest = ContentHash::from(blob.digest);
        let location = upload.location.to_string();
        let joint = if location.contains('?') { '&' } else { '?' };
        let uri = format!("{location}{joint}digest={digest}").parse();
        let uri = uri.map_err(|_| self.protocol("the address of an upload is not valid"))?;
        let body = BlobRange {
            content,
            offset: 0,
            length: if is_small { blob.size } else { 0 },
        };
        let mut request = RegistryRequest::new(Method::PUT, uri)
            .header(CONTENT_TYPE, "application/octet-stream")
            .body(&body);
        request.is_once = true;
        let response = self.send(&request)?;
        match response.status.as_u16() {
            201 | 204 => Ok(self.check_digest(&response, blob.digest)?),
            404 => Err(AttemptError::Forgotten(self.refusal(response, "upload"))),
            400 => Err(AttemptError::Fatal(OciError::Remote(
                RemoteError::Corrupt {
                    place: format!("{} {digest}", self.shown()),
                    problem: "the registry received other bytes than were described".to_owned(),
                },
            ))),
            _ => Err(self.refusal(response, &digest.to_string()).into()),
        }
    }

    fn send_piece(
        &self,
        blob: &Descriptor,
        content: &dyn Content,
        upload: &mut Upload,
    ) -> Result<(), AttemptError> {
        let body = BlobRange {
            content,
            offset: upload.offset,
            length: upload.piece.min(blob.size - upload.offset),
        };
        let last = upload.offset + body.length - 1;
        let mut request = RegistryRequest::new(Method::PATCH, upload.location.clone())
            .header(CONTENT_TYPE, "application/octet-stream")
            .header(CONTENT_RANGE, format!("{}-{last}", upload.offset))
            .body(&body);
        request.is_once = true;
        let response = self.send(&request)?;
        match response.status.as_u16() {
            202 | 201 | 204 => {}
            404 => return Err(AttemptError::Forgotten(self.refusal(response, "upload"))),
            // One byte has arrived, but the registry cannot say so: `0-0` also means none.
            416 if upload.offset == 0 => {
                return Err(AttemptError::Forgotten(self.refusal(response, "upload")));
            }
            416 => return Err(AttemptError::Interrupted(self.refusal(response, "upload"))),
            _ => return Err(self.refusal(response, "upload").into()),
        }
        let arrived = end_of_range(&response).unwrap_or(last + 1);
        if arrived <= upload.offset || arrived > last + 1 {
            let error = self.protocol("it reports other bytes than were sent");
            return Err(AttemptError::Fatal(error));
        }
        upload.offset = arrived;
        upload.location = self.location(&response)?;
        Ok(())
    }

    /// The recorded address of an upload of this blob. A file that another user made, or could have
    /// changed, is not one of ours.
    fn noted_location(&self, blob: &Descriptor) -> Option<Uri> {
        let path = self.access.upload_state.as_deref()?;
        let (mut file, size) = open_regular(path).ok()?;
        let metadata = file.metadata().ok()?;
        let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
        if !is_own || metadata.mode() & 0o077 != 0 || size > MAX_STATE {
            return None;
        }
        let mut bytes = Vec::new();
        (&mut file).take(MAX_STATE).read_to_end(&mut bytes).ok()?;
        let document = parse_document(&bytes, &ReadOptions::default()).ok()?;
        let text = |name: &str| Some(document.root().get(name)?.as_str()?.into_owned());
        let is_same = text("repository")? == self.shown()
            && text("blob")? == ContentHash::from(blob.digest).to_string();
        let location = text("location").filter(|_| is_same)?.parse().ok()?;
        self.check_location(location).ok()
    }

    /// Records where an upload continues. If that fails, the upload cannot be resumed, but the push
    /// continues.
    fn note_location(&self, blob: &Descriptor, location: &Uri) {
        let Some(path) = self.access.upload_state.as_deref() else {
            return;
        };
        let value = Value::object([
            ("blob", ContentHash::from(blob.digest).to_string()),
            ("location", location.to_string()),
            ("repository", self.shown()),
        ]);
        let Ok(bytes) = canonical_bytes(&value, Dialect::Jcs) else {
            return;
        };
        let _ = write_derived(path, &bytes, Readers::Owner);
    }

    fn forget_location(&self) {
        if let Some(path) = self.access.upload_state.as_deref() {
            // If the file does not exist, nothing was recorded.
            let _ = fs::remove_file(path);
        }
    }
}

/// Returns how many bytes have arrived, according to `Range: 0-<last>`.
fn end_of_range(response: &Response) -> Option<u64> {
    let range = response.text_header("range")?;
    let range = range.strip_prefix("bytes=").unwrap_or(range);
    let (_, last) = range.split_once('-')?;
    // An empty upload also has the range `0-0`. If it is one byte, the upload starts over.
    match last.parse::<u64>().ok()? {
        0 => Some(0),
        last => last.checked_add(1),
    }
}

/// Extracts the error for a file that changed during the upload, if that was the cause.
fn extract_change(error: OciError) -> OciError {
    if let OciError::Remote(RemoteError::Http(crate::http::HttpError::Body { source, .. })) = &error
        && let Some(OciError::Changed(path)) = source
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<OciError>())
    {
        return OciError::Changed(path.clone());
    }
    error
}
