//! Stores contents under their digests, each once.
//!
//! Small contents are sent in one request. Large ones are sent in parts, several in parallel; parts
//! that the server has from an earlier attempt are not sent again. Everything is
//! hashed here before it is sent, and the server checks every request's body against its digest.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use md5::{Digest as _, Md5};
use runseal_core::digest::Digest;
use runseal_core::source::SourceError;
use runseal_fs::input::open_regular;
use ureq::http::{Method, StatusCode};

use super::address::join;
use super::answer::{MAX_ANSWER, child_text, children, code_of, read_xml, refusal, refusal_of};
use super::client::{
    Bucket, CONFLICTS, Details, PAUSE, PutOutcome, checksum, parse_checksum, retention_headers,
};
use crate::blobs::digest_all;
use crate::error::RemoteError;
use crate::http::RepeatableBody;
use crate::manifest::Blob;
use crate::parallel;
use crate::place::Retention;

/// A file up to this size is read into memory and sent without asking first whether it exists.
const SMALL: u64 = 256 << 10;
/// A file above this size is sent in parts of this size, or larger ones if there would be too many.
const PART: u64 = 16 << 20;
/// The most parts that an object may have.
const MAX_PARTS: u64 = 10_000;
/// How many parts of one file are sent in parallel.
const PARTS_AT_ONCE: usize = 4;

/// Returns the key of a content below a prefix.
pub(super) fn blob_key(prefix: &str, sha256: Digest) -> String {
    let hex = sha256.to_string();
    join(prefix, &format!("sha256/{}/{hex}", sha256.hex_prefix(2)))
}

/// Stores contents below a prefix.
pub(super) struct BlobWriter<'a> {
    pub bucket: &'a Bucket,
    pub prefix: &'a str,
    pub retention: Option<&'a Retention>,
    /// The bytes sent.
    pub sent: AtomicU64,
}

impl BlobWriter<'_> {
    /// Stores the content of a file, unless it is already stored.
    pub(super) fn put_file(&self, path: &Path) -> Result<Blob, RemoteError> {
        let (file, bytes) = open_regular(path).map_err(|error| unread(path, error))?;
        if bytes <= SMALL {
            return self.put_small(path, file);
        }
        let (sha256, bytes) = digest_all(file).map_err(local(path))?;
        let blob = Blob { sha256, bytes };
        let key = blob_key(self.prefix, sha256);
        if self.is_stored(&key, blob)? {
            return Ok(blob);
        }
        let written = if bytes > PART {
            self.put_parts(&key, blob, path)?
        } else {
            let body = FileSection {
                path,
                from: 0,
                length: bytes,
            };
            let written = self.bucket.put_new(&key, (&body, sha256), self.retention)?;
            if written == PutOutcome::Created {
                self.sent.fetch_add(bytes, Ordering::Relaxed);
            }
            written
        };
        if written == PutOutcome::Existed {
            self.check(&key, blob)?;
        }
        Ok(blob)
    }

    fn put_small(&self, path: &Path, file: File) -> Result<Blob, RemoteError> {
        let mut content = Vec::new();
        let read = file.take(SMALL + 1).read_to_end(&mut content);
        read.map_err(local(path))?;
        if content.len() as u64 > SMALL {
            let grown = io::Error::other("it grew while it was being read");
            return Err(local(path)(grown));
        }
        let blob = Blob {
            sha256: Digest::of(&content),
            bytes: content.len() as u64,
        };
        let key = blob_key(self.prefix, blob.sha256);
        let body = BytesBody(&content);
        let written = self
            .bucket
            .put_new(&key, (&body, blob.sha256), self.retention)?;
        match written {
            PutOutcome::Created => {
                self.sent.fetch_add(blob.bytes, Ordering::Relaxed);
            }
            PutOutcome::Existed => self.check(&key, blob)?,
        }
        Ok(blob)
    }

    /// Whether the content is stored. Fails if something else has its key.
    fn is_stored(&self, key: &str, blob: Blob) -> Result<bool, RemoteError> {
        let Some(facts) = self.bucket.head(key)? else {
            return Ok(false);
        };
        let place = || self.bucket.shown(key);
        if facts.bytes != blob.bytes {
            return Err(RemoteError::Corrupt {
                place: place(),
                problem: format!("it has {} bytes, not {}", facts.bytes, blob.bytes),
            });
        }
        if facts.sha256.is_some_and(|sha256| sha256 != blob.sha256) {
            return Err(RemoteError::Corrupt {
                place: place(),
                problem: "the server has another checksum for it".to_owned(),
            });
        }
        if let Some(retention) = self.retention {
            self.bucket.extend_retention(key, retention)?;
        }
        Ok(true)
    }

    /// Like `is_stored`, but fails if the content is missing.
    fn check(&self, key: &str, blob: Blob) -> Result<(), RemoteError> {
        if self.is_stored(key, blob)? {
            Ok(())
        } else {
            Err(RemoteError::NotFound {
                place: self.bucket.shown(key),
            })
        }
    }

    /// Sends a content in parts, except those that the server already has.
    fn put_parts(&self, key: &str, blob: Blob, path: &Path) -> Result<PutOutcome, RemoteError> {
        let size = PART.max(blob.bytes.div_ceil(MAX_PARTS).next_multiple_of(1 << 20));
        let upload = self.find_upload(key)?;
        let (id, stored) = match upload {
            Some(id) => {
                let stored = self.list_parts(key, &id)?;
                (id, stored)
            }
            None => (self.begin_upload(key)?, Vec::new()),
        };
        let count = blob.bytes.div_ceil(size);
        let numbers: Vec<u64> = (1..=count).collect();
        let parts: Mutex<Vec<Part>> = Mutex::new(Vec::new());
        parallel::for_each(&numbers, PARTS_AT_ONCE, |number| {
            let from = (number - 1) * size;
            let section = FileSection {
                path,
                from,
                length: size.min(blob.bytes - from),
            };
            let before = stored.iter().find(|part| part.number == *number);
            let part = self.put_part(key, &id, *number, &section, before)?;
            parts
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(part);
            Ok::<(), RemoteError>(())
        })?;
        let mut parts = parts.into_inner().unwrap_or_else(PoisonError::into_inner);
        parts.sort_unstable_by_key(|part| part.number);
        let written = self.complete(key, &id, &parts)?;
        self.check(key, blob)?;
        Ok(written)
    }

    /// Finds an unfinished upload of this key, whose parts need not be sent again.
    fn find_upload(&self, key: &str) -> Result<Option<String>, RemoteError> {
        let details = Details {
            query: vec![
                ("uploads".to_owned(), String::new()),
                ("prefix".to_owned(), key.to_owned()),
            ],
            ..Details::default()
        };
        let response = self.bucket.demand(Method::GET, "", &details)?;
        read_xml(response, |root| {
            let uploads = children(root, "Upload");
            let of_key = uploads.filter(|upload| child_text(*upload, "Key") == Some(key));
            // Every attempt has to choose the same one: the latest.
            let found = of_key.filter_map(|upload| {
                let begun = child_text(upload, "Initiated").unwrap_or_default();
                Some((begun.to_owned(), child_text(upload, "UploadId")?.to_owned()))
            });
            Some(found.max().map(|(_, id)| id))
        })
    }

    fn begin_upload(&self, key: &str) -> Result<String, RemoteError> {
        let mut headers = vec![("x-amz-checksum-algorithm", "SHA256".to_owned())];
        headers.extend(retention_headers(self.retention));
        let details = Details {
            query: vec![("uploads".to_owned(), String::new())],
            headers,
            ..Details::default()
        };
        let response = self.bucket.demand(Method::POST, key, &details)?;
        read_xml(response, |root| {
            child_text(root, "UploadId").map(str::to_owned)
        })
    }

    fn list_parts(&self, key: &str, id: &str) -> Result<Vec<Part>, RemoteError> {
        let mut parts: Vec<Part> = Vec::new();
        loop {
            let mut query = vec![("uploadId".to_owned(), id.to_owned())];
            if let Some(last) = parts.last() {
                query.push(("part-number-marker".to_owned(), last.number.to_string()));
            }
            let details = Details {
                query,
                ..Details::default()
            };
            let response = self.bucket.demand(Method::GET, key, &details)?;
            let (page, is_cut) = read_xml(response, |root| {
                let parts = children(root, "Part").map(|part| {
                    Some(Part {
                        number: child_text(part, "PartNumber")?.parse().ok()?,
                        tag: child_text(part, "ETag")?.to_owned(),
                        sha256: child_text(part, "ChecksumSHA256").and_then(parse_checksum),
                    })
                });
                let parts: Option<Vec<_>> = parts.collect();
                Some((parts?, child_text(root, "IsTruncated") == Some("true")))
            })?;
            let is_last = page.is_empty() || !is_cut;
            parts.extend(page);
            if is_last {
                return Ok(parts);
            }
        }
    }

    fn put_part(
        &self,
        key: &str,
        id: &str,
        number: u64,
        section: &FileSection<'_>,
        before: Option<&Part>,
    ) -> Result<Part, RemoteError> {
        let sums = section
            .sums(before.is_some())
            .map_err(local(section.path))?;
        if let Some(before) = before
            && before.matches(&sums)
        {
            return Ok(Part {
                sha256: Some(sums.sha256),
                ..before.clone()
            });
        }
        let details = Details {
            query: vec![
                ("partNumber".to_owned(), number.to_string()),
                ("uploadId".to_owned(), id.to_owned()),
            ],
            headers: vec![("x-amz-checksum-sha256", checksum(sums.sha256))],
            body: Some((section, sums.sha256)),
        };
        let response = self.bucket.demand(Method::PUT, key, &details)?;
        let tag = response.text_header("etag").map(str::to_owned);
        response.discard();
        self.sent.fetch_add(section.length, Ordering::Relaxed);
        Ok(Part {
            number,
            tag: tag.ok_or_else(|| RemoteError::Protocol {
                host: self.bucket.host().to_owned(),
                problem: "it returned no tag for a part".to_owned(),
            })?,
            sha256: Some(sums.sha256),
        })
    }

    /// Joins the parts into one object, unless its key exists by now.
    fn complete(&self, key: &str, id: &str, parts: &[Part]) -> Result<PutOutcome, RemoteError> {
        let mut text = "<CompleteMultipartUpload>".to_owned();
        for part in parts {
            let tag = part.tag.replace('&', "&amp;").replace('<', "&lt;");
            let sum = part.sha256.map(checksum).unwrap_or_default();
            let _ = write!(
                text,
                "<Part><ETag>{tag}</ETag><ChecksumSHA256>{sum}</ChecksumSHA256>\
                 <PartNumber>{}</PartNumber></Part>",
                part.number
            );
        }
        text.push_str("</CompleteMultipartUpload>");
        let body = BytesBody(text.as_bytes());
        let details = Details {
            query: vec![("uploadId".to_owned(), id.to_owned())],
            headers: vec![("if-none-match", "*".to_owned())],
            body: Some((&body, Digest::of(text.as_bytes()))),
        };
        let asked = self.bucket.asked(key);
        let mut response = self.bucket.send(Method::POST, key, &details)?;
        for _ in 0..CONFLICTS {
            if response.status != StatusCode::CONFLICT {
                break;
            }
            thread::sleep(PAUSE);
            response = self.bucket.send(Method::POST, key, &details)?;
        }
        let status = response.status;
        match status {
            StatusCode::PRECONDITION_FAILED => {
                self.abort(key, id);
                return Ok(PutOutcome::Existed);
            }
            // Another client has completed or aborted it; the caller checks whether the object
            // exists.
            StatusCode::NOT_FOUND => return Ok(PutOutcome::Existed),
            status if !status.is_success() => return Err(refusal(response, &asked)),
            _ => {}
        }
        // A successful response may still contain an error.
        let answer = response.into_bytes(MAX_ANSWER)?;
        let code = str::from_utf8(&answer).ok().and_then(code_of);
        match code {
            None => Ok(PutOutcome::Created),
            code @ Some(_) => {
                let host = self.bucket.host().to_owned();
                Err(refusal_of(status, code, host, &asked))
            }
        }
    }

    /// Aborts an upload whose object already exists.
    fn abort(&self, key: &str, id: &str) {
        let details = Details {
            query: vec![("uploadId".to_owned(), id.to_owned())],
            ..Details::default()
        };
        // If this fails, the parts take up space until a lifecycle rule of the bucket deletes them.
        let _ = self.bucket.send(Method::DELETE, key, &details);
    }
}

/// A part that the server has.
#[derive(Debug, Clone)]
struct Part {
    number: u64,
    tag: String,
    sha256: Option<Digest>,
}

impl Part {
    /// Whether this part has these digests. Some servers report only an ETag, usually the MD5; if
    /// it is something else, the part is sent again.
    fn matches(&self, sums: &Sums) -> bool {
        match self.sha256 {
            Some(sha256) => sha256 == sums.sha256,
            None => sums.md5.as_deref() == Some(self.tag.trim_matches('"')),
        }
    }
}

/// The digests of a section.
struct Sums {
    sha256: Digest,
    md5: Option<String>,
}

/// A section of a file, read each time it is sent.
struct FileSection<'a> {
    path: &'a Path,
    from: u64,
    length: u64,
}

impl FileSection<'_> {
    fn reader(&self) -> io::Result<impl Read + use<>> {
        let mut file = File::open(self.path)?;
        file.seek(SeekFrom::Start(self.from))?;
        Ok(file.take(self.length))
    }

    fn sums(&self, with_md5: bool) -> io::Result<Sums> {
        if !with_md5 {
            let (sha256, _) = digest_all(self.reader()?)?;
            return Ok(Sums { sha256, md5: None });
        }
        let mut both = Tee {
            reader: self.reader()?,
            md5: Md5::new(),
        };
        let (sha256, _) = digest_all(&mut both)?;
        let mut md5 = String::with_capacity(32);
        for byte in both.md5.finalize() {
            let _ = write!(md5, "{byte:02x}");
        }
        Ok(Sums {
            sha256,
            md5: Some(md5),
        })
    }
}

/// A reader that also computes the MD5 of what is read.
struct Tee<R> {
    reader: R,
    md5: Md5,
}

impl<R: Read> Read for Tee<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.md5.update(&buffer[..count]);
        Ok(count)
    }
}

impl RepeatableBody for FileSection<'_> {
    fn length(&self) -> u64 {
        self.length
    }

    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(self.reader()?))
    }
}

/// A request body in memory.
pub(super) struct BytesBody<'a>(pub &'a [u8]);

impl RepeatableBody for BytesBody<'_> {
    fn length(&self) -> u64 {
        self.0.len() as u64
    }

    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(self.0))
    }
}

fn local(path: &Path) -> impl Fn(io::Error) -> RemoteError {
    move |source| RemoteError::Local {
        path: path.display().to_string(),
        source,
    }
}

fn unread(path: &Path, error: SourceError) -> RemoteError {
    let source = match error {
        SourceError::Io { source, .. } => source,
        other => io::Error::other(other),
    };
    local(path)(source)
}
