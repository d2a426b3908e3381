//! Large bodies of a recording: files in `<name>.bodies` beside it, named by their SHA-256.
//!
//! Only the hash says where a body lies; no path of the document is followed.

use std::collections::BTreeMap;

use super::asked::{Asked, Volatile, compute_key};
use crate::canon::Node;
use crate::digest::{ContentHash, Digest};
use crate::formats::definition::FilesBeside;
use crate::path::SafePath;
use crate::source::{ContentFact, SourceError};

/// Bytes of a request's body that are read to compute its hash: twice what the proxy takes, because
/// placeholders may be longer than what they stand for.
const LARGEST_REQUEST: u64 = 128 << 20;

/// The folder of large bodies that belongs to a recording of this name.
pub fn bodies_folder(recording: &str) -> String {
    let stem = match recording.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => recording,
    };
    format!("{stem}.bodies")
}

/// What the files of large bodies are.
#[derive(Debug, Clone, Default)]
pub struct BodyFacts {
    files: BTreeMap<Digest, Result<ContentFact, String>>,
    /// For interactions whose request is a file: the hash of what was asked, or why there is none.
    keys: BTreeMap<usize, Result<ContentHash, String>>,
}

impl BodyFacts {
    /// Looks at every file that the recording names. `name` is the recording's own.
    pub fn collect(root: Node<'_>, files: &dyn FilesBeside, name: &str) -> Self {
        let mut facts = Self::default();
        let folder = bodies_folder(name);
        let path_of = |digest: &Digest| SafePath::parse(&format!("{folder}/{digest}")).ok();
        let volatile = Volatile::of_recording(root).unwrap_or_default();
        let list = root.get("interactions");
        let interactions = list.iter().flat_map(|list| list.items());
        for (at, interaction) in interactions.enumerate() {
            for part in ["request", "response"] {
                let file = interaction.get(part).and_then(parse_body_file);
                let Some((file, path)) = file.and_then(|file| {
                    let path = path_of(&file.sha256)?;
                    Some((file, path))
                }) else {
                    continue;
                };
                if part == "request" {
                    let read = files.read(&path, LARGEST_REQUEST);
                    let key = compute_request_key(interaction, &volatile, read);
                    facts.keys.insert(at, key);
                }
                let look = || files.content(&path).map_err(|error| error.to_string());
                facts.files.entry(file.sha256).or_insert_with(look);
            }
        }
        facts
    }

    /// The file of this name, or why it could not be looked at.
    pub(super) fn file(&self, named: &Digest) -> Option<&Result<ContentFact, String>> {
        self.files.get(named)
    }

    /// The hash of the request of an interaction whose body is a file.
    pub(super) fn key(&self, interaction: usize) -> Option<&Result<ContentHash, String>> {
        self.keys.get(&interaction)
    }
}

fn compute_request_key(
    interaction: Node<'_>,
    volatile: &Volatile,
    read: Result<Vec<u8>, SourceError>,
) -> Result<ContentHash, String> {
    let bytes = read.map_err(|error| error.to_string())?;
    let request = interaction.get("request").ok_or("it has no request")?;
    let asked = Asked::parse(request, Some(&bytes))?;
    Ok(compute_key(&asked.form(volatile)))
}

/// A large body as an interaction names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyFile {
    /// The hash of its bytes, which is also its name.
    pub sha256: Digest,
    /// How many bytes it has, where that is stated.
    pub bytes: Option<u64>,
}

/// Reads `body_file` of a request or response.
pub fn parse_body_file(part: Node<'_>) -> Option<BodyFile> {
    let file = part.get("body_file")?;
    let bytes = file.get("bytes").and_then(|bytes| bytes.as_number());
    let bytes = bytes.and_then(|bytes| u64::try_from(bytes.to_exact_i64()?).ok());
    Some(BodyFile {
        sha256: Digest::parse_hex(&file.get("sha256")?.as_str()?).ok()?,
        bytes,
    })
}
