//! Loads a recording for replay.

use std::fs;
use std::path::Path;

use base64ct::{Base64, Encoding};
use bytes::Bytes;
use runseal_core::canon::{Node, ReadOptions, Value, parse_document};
use runseal_core::digest::{ContentHash, Digest};
use runseal_core::formats::model_io::bodies::{BodyFacts, held_body};
use runseal_core::formats::model_io::{ModelIoView, compute_model_io_hash, verify_model_io};
use runseal_core::verify::Level;
use runseal_fs::survey::{FolderFiles, LocalFiles};

use super::exchange::{End, parse_headers, whole};
use super::{Adapter, bodies_path};
use crate::NetError;
use crate::matching::{Asked, Volatile};

/// One interaction of a recording, ready to be replayed.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The whole interaction as in the document.
    pub document: Value,
    /// The request in its normal form for matching.
    pub asked: Asked,
    /// The status of the answer.
    pub status: Option<u16>,
    /// The headers of the answer.
    pub headers: Vec<(String, String)>,
    /// The body of the answer, in pieces.
    pub chunks: Vec<Bytes>,
    /// For each piece, how many requests had begun when it arrived.
    pub after: Vec<u64>,
    /// How the answer ended; an aborted one is replayed up to that point.
    pub end: End,
}

impl Recorded {
    /// Returns the model that answered.
    pub fn model(&self) -> Option<String> {
        Some(
            self.document
                .get("reading")?
                .get("model")?
                .as_str()?
                .to_owned(),
        )
    }

    /// Returns the length of the response's content in bytes.
    pub fn content_bytes(&self) -> usize {
        let content = self.document.get("response_content");
        content.and_then(Value::as_str).map_or(0, str::len)
    }

    /// Returns the value of a header of the answer.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

/// A recording that was verified and can be replayed.
#[derive(Debug)]
pub struct Recording {
    /// The kind of API that was recorded.
    pub adapter: Adapter,
    /// Members that matching ignores.
    pub volatile: Volatile,
    /// The interactions in order.
    pub interactions: Vec<Recorded>,
    /// The hash of the file's bytes.
    pub sha256: String,
    /// The hash of the session.
    pub model_io_hash: String,
}

impl Recording {
    /// Loads a recording; fails if it does not verify.
    pub fn load(path: &Path) -> Result<Self, NetError> {
        let fault = |reason: String| NetError::Recording {
            path: path.to_owned(),
            reason,
        };
        let bytes = fs::read(path).map_err(NetError::read(path))?;
        let document = parse_document(&bytes, &ReadOptions::TEXT)
            .map_err(|error| fault(format!("{}, {}", error.kind, error.position)))?;
        let root = document.root();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let facts = BodyFacts::collect(root, &FolderFiles::of_document(&LocalFiles, path), &name);
        let view = ModelIoView {
            root,
            bodies: Some(&facts),
        };
        let report = verify_model_io(&view, Level::Integrity);
        if let Some(finding) = report.findings().first() {
            return Err(fault(format!("{}: {}", finding.rule_id, finding.message)));
        }
        let adapter = root
            .get("adapter_id")
            .and_then(|node| Adapter::parse(&node.as_str()?))
            .ok_or_else(|| fault("it was not made by the proxy: it has no requests".to_owned()))?;
        let volatile = Volatile::of_recording(root).map_err(fault)?;
        let list = root
            .get("interactions")
            .into_iter()
            .flat_map(|list| list.items());
        let folder = bodies_path(path);
        let bodies = |digest: &Digest| match held_body(root, digest) {
            Some(held) => held.ok_or_else(|| format!("body {digest} cannot be read")),
            None => fs::read(folder.join(digest.to_string()))
                .map_err(|error| format!("body {digest}: {error}")),
        };
        let interactions = list
            .enumerate()
            .map(|(at, node)| {
                parse_interaction(node, &bodies)
                    .map_err(|reason| fault(format!("interaction {at}: {reason}")))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            adapter,
            volatile,
            interactions,
            sha256: Digest::of(&bytes).to_string(),
            model_io_hash: compute_model_io_hash(root)
                .map(|hash| hash.to_string())
                .unwrap_or_default(),
        })
    }
}

/// Reads a large body by its hash.
type ReadBody<'r> = &'r dyn Fn(&Digest) -> Result<Vec<u8>, String>;

fn text(node: Node<'_>, name: &str) -> Option<String> {
    Some(node.get(name)?.as_str()?.into_owned())
}

fn parse_interaction(node: Node<'_>, bodies: ReadBody<'_>) -> Result<Recorded, String> {
    let request = node.get("request").ok_or("it has no request")?;
    let response = node.get("response").ok_or("it has no response")?;
    let asked = parse_asked(request, bodies)?;
    let body = parse_body(node, response, bodies)?;
    let lengths = response
        .get("chunks")
        .into_iter()
        .flat_map(|list| list.items());
    let lengths: Vec<u64> = lengths.filter_map(whole).collect();
    let chunks = split(&Bytes::from(body), &lengths).ok_or("its chunks do not add up")?;
    let after = response
        .get("after")
        .into_iter()
        .flat_map(|list| list.items());
    let status = response.get("status").and_then(whole);
    Ok(Recorded {
        document: node.to_value(),
        asked,
        status: status.and_then(|status| status.try_into().ok()),
        headers: response
            .get("headers")
            .map(parse_headers)
            .unwrap_or_default(),
        chunks,
        after: after.filter_map(whole).collect(),
        end: text(response, "end")
            .and_then(|end| End::parse(&end))
            .ok_or("it does not say how it ended")?,
    })
}

fn parse_asked(request: Node<'_>, bodies: ReadBody<'_>) -> Result<Asked, String> {
    let file = match request.get("body_file") {
        Some(file) => Some(read_file(file, bodies)?),
        None => None,
    };
    Ok(Asked::parse(request, file.as_deref())?)
}

fn parse_body(node: Node<'_>, response: Node<'_>, bodies: ReadBody<'_>) -> Result<Vec<u8>, String> {
    if let Some(file) = response.get("body_file") {
        return read_file(file, bodies);
    }
    let content = text(node, "response_content").unwrap_or_default();
    match text(response, "encoding").as_deref() {
        None => Ok(content.into_bytes()),
        Some("base64") => Base64::decode_vec(&content).map_err(|_| "it is not base64".to_owned()),
        Some(other) => Err(format!("`{other}` is not a known encoding")),
    }
}

/// Reads a large body and checks its hash. The file is located by the hash alone; no path in the
/// document is followed.
fn read_file(file: Node<'_>, bodies: ReadBody<'_>) -> Result<Vec<u8>, String> {
    let hash = text(file, "sha256").ok_or("a body has no hash")?;
    let digest = Digest::parse_hex(&hash).map_err(|_| "a body's hash is not valid")?;
    let bytes = bodies(&digest)?;
    if Digest::of(&bytes) != digest {
        return Err(format!(
            "body {digest} has another hash: {}",
            ContentHash::of(&bytes)
        ));
    }
    Ok(bytes)
}

fn split(body: &Bytes, lengths: &[u64]) -> Option<Vec<Bytes>> {
    let mut at = 0_usize;
    let mut chunks = Vec::with_capacity(lengths.len());
    for length in lengths {
        let end = at.checked_add(usize::try_from(*length).ok()?)?;
        if end > body.len() {
            return None;
        }
        chunks.push(body.slice(at..end));
        at = end;
    }
    (at == body.len()).then_some(chunks)
}
