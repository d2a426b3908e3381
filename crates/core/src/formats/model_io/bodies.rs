//! Large bodies of a recording: files in `<name>.bodies` next to it, named by their SHA-256; or,
//! where no other files are allowed, as in a pack, texts in its member `bodies` under that name.
//!
//! Only the hash determines where a body is; no path in the document is followed.

use std::collections::BTreeMap;

use base64ct::{Base64, Encoding};

use super::asked::{Asked, Volatile, compute_key};
use super::checks::text;
use super::reading::{Api, LARGEST_READ, Reading};
use super::readings::{read_again, says_something};
use crate::canon::{Node, Value};
use crate::digest::{ContentHash, Digest};
use crate::formats::definition::FilesBeside;
use crate::path::SafePath;
use crate::source::{ContentFact, SourceError};

/// The most bytes of a request's body that are read to compute its hash: twice what the proxy
/// accepts, because placeholders may be longer than the secrets they replace.
const LARGEST_REQUEST: u64 = 128 << 20;

/// The folder of large bodies that belongs to a recording of this name.
pub fn bodies_folder(recording: &str) -> String {
    let stem = match recording.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => recording,
    };
    format!("{stem}.bodies")
}

/// The facts about large bodies.
#[derive(Debug, Clone, Default)]
pub struct BodyFacts {
    files: BTreeMap<Digest, Result<ContentFact, String>>,
    /// For interactions whose request is a file: the hash of the request, or why there is none.
    keys: BTreeMap<usize, Result<ContentHash, String>>,
    /// For interactions with a file and a stated reading: the reading of the answer, or the
    /// answer's size if it is too large to read.
    readings: BTreeMap<usize, Result<(Api, Reading), u64>>,
}

impl BodyFacts {
    /// Reads every file that the recording names. `name` is the recording's own.
    pub fn collect(root: Node<'_>, files: &dyn FilesBeside, name: &str) -> Self {
        let mut facts = Self::default();
        let folder = bodies_folder(name);
        let path_of = |digest: &Digest| SafePath::parse(&format!("{folder}/{digest}")).ok();
        let read_body = |digest: &Digest, most: u64| match held_body(root, digest) {
            Some(held) => held
                .filter(|body| body.len() as u64 <= most)
                .ok_or("it cannot be read".to_owned()),
            None => {
                let path = path_of(digest).ok_or("it has no name")?;
                files.read(&path, most).map_err(|error| error.to_string())
            }
        };
        let volatile = Volatile::of_recording(root).unwrap_or_default();
        let adapter = text(root, "adapter_id").unwrap_or_default();
        let list = root.get("interactions");
        let interactions = list.iter().flat_map(|list| list.items());
        for (at, interaction) in interactions.enumerate() {
            let read = |part: &str, most| {
                let file = interaction.get(part).and_then(parse_body_file)?;
                read_body(&file.sha256, most).ok()
            };
            facts.read_again(at, &adapter, interaction, &read);
            for part in ["request", "response"] {
                let file = interaction.get(part).and_then(parse_body_file);
                let Some(file) = file else {
                    continue;
                };
                if part == "request" {
                    let read = read_body(&file.sha256, LARGEST_REQUEST);
                    let key = compute_request_key(interaction, &volatile, read);
                    facts.keys.insert(at, key);
                }
                let look = || match held_body(root, &file.sha256) {
                    Some(held) => {
                        let bytes = held.ok_or("neither a text nor base64")?;
                        ContentFact::read(bytes.as_slice()).map_err(|error| error.to_string())
                    }
                    None => {
                        let path = path_of(&file.sha256).ok_or("it has no name")?;
                        files.content(&path).map_err(|error| error.to_string())
                    }
                };
                facts.files.entry(file.sha256).or_insert_with(look);
            }
        }
        facts
    }

    /// The bodies in the recording itself; `None` if there are none.
    pub fn held(root: Node<'_>) -> Option<Self> {
        root.get("bodies")?;
        Some(Self::collect(root, &NoFiles, ""))
    }

    /// Whether any interaction refers to the body of this name.
    pub(super) fn is_named(&self, name: &str) -> bool {
        Digest::parse_hex(name).is_ok_and(|digest| self.files.contains_key(&digest))
    }

    /// Reads the answer of an interaction with a file again, if the interaction states a reading.
    fn read_again(
        &mut self,
        at: usize,
        adapter: &str,
        interaction: Node<'_>,
        read: &dyn Fn(&str, u64) -> Option<Vec<u8>>,
    ) {
        let file_of = |part: &str| interaction.get(part).and_then(parse_body_file);
        let (request, response) = (file_of("request"), file_of("response"));
        if !says_something(interaction) || request.is_none() && response.is_none() {
            return;
        }
        let too_large = response
            .and_then(|file| file.bytes)
            .filter(|bytes| *bytes > LARGEST_READ);
        if let Some(bytes) = too_large {
            self.readings.insert(at, Err(bytes));
            return;
        }
        let request_bytes = request.and_then(|_| read("request", LARGEST_REQUEST));
        let response_bytes = response.and_then(|_| read("response", LARGEST_READ));
        if request.is_some() != request_bytes.is_some()
            || response.is_some() != response_bytes.is_some()
        {
            return;
        }
        let (request, response) = (request_bytes.as_deref(), response_bytes.as_deref());
        if let Some(reading) = read_again(adapter, interaction, request, response) {
            self.readings.insert(at, Ok(reading));
        }
    }

    /// The reading of an interaction with a file, or the answer's size if it is too large to read.
    pub(super) fn reading(&self, interaction: usize) -> Option<&Result<(Api, Reading), u64>> {
        self.readings.get(&interaction)
    }

    /// The file of this name, or why it could not be read.
    pub(super) fn file(&self, named: &Digest) -> Option<&Result<ContentFact, String>> {
        self.files.get(named)
    }

    /// The hash of the request of an interaction whose body is a file.
    pub(super) fn key(&self, interaction: usize) -> Option<&Result<ContentHash, String>> {
        self.keys.get(&interaction)
    }
}

/// The files next to a recording that has none.
struct NoFiles;

impl FilesBeside for NoFiles {
    fn content(&self, path: &SafePath) -> Result<ContentFact, SourceError> {
        Err(SourceError::NotFound {
            path: path.to_string(),
        })
    }

    fn read(&self, path: &SafePath, _: u64) -> Result<Vec<u8>, SourceError> {
        Err(SourceError::NotFound {
            path: path.to_string(),
        })
    }
}

/// The body of this name in the recording itself. The outer `None` means there is none of this
/// name, the inner that it cannot be decoded.
pub fn held_body(root: Node<'_>, digest: &Digest) -> Option<Option<Vec<u8>>> {
    let held = root.get("bodies")?.get(&digest.to_string())?;
    Some(match (held.get("text"), held.get("base64")) {
        (Some(text), None) => text.as_str().map(|text| text.into_owned().into_bytes()),
        (None, Some(encoded)) => encoded
            .as_str()
            .and_then(|encoded| Base64::decode_vec(&encoded).ok()),
        _ => None,
    })
}

/// Encodes a body for inclusion in a recording.
pub fn hold_body(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => Value::object([("text", text)]),
        Err(_) => Value::object([("base64", Base64::encode_string(bytes))]),
    }
}

fn compute_request_key(
    interaction: Node<'_>,
    volatile: &Volatile,
    read: Result<Vec<u8>, String>,
) -> Result<ContentHash, String> {
    let bytes = read?;
    let request = interaction.get("request").ok_or("it has no request")?;
    let asked = Asked::parse(request, Some(&bytes))?;
    compute_key(&asked.into_form(volatile)).map_err(|error| error.to_string())
}

/// A reference to a large body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyFile {
    /// The hash of its bytes, which is also its name.
    pub sha256: Digest,
    /// Its size in bytes, if stated.
    pub bytes: Option<u64>,
}

/// Parses `body_file` of a request or response.
pub fn parse_body_file(part: Node<'_>) -> Option<BodyFile> {
    let file = part.get("body_file")?;
    let bytes = file.get("bytes").and_then(|bytes| bytes.as_number());
    let bytes = bytes.and_then(|bytes| u64::try_from(bytes.to_exact_i64()?).ok());
    Some(BodyFile {
        sha256: Digest::parse_hex(&file.get("sha256")?.as_str()?).ok()?,
        bytes,
    })
}
