//! ARTIFACT_INDEX.json: every file with its digest, content type and role; and the list of
//! artifacts that came from other engines.

use std::io;

use super::layout::{Role, content_type_of};
use crate::canon::{
    CanonError, Dialect, JsonError, Node, ObjectWriter, ReadOptions, Value, parse_outline,
};
use crate::digest::Digest;
use crate::path::SafePath;
use crate::text_map::{TextMap, TextMapBuilder};
use crate::verify::PlacedFaults;

/// What a well-formed entry declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexEntry {
    /// The declared digest.
    pub sha256: Digest,
}

/// A listed path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedPath {
    /// What its entry declares; `None` if malformed.
    pub entry: Option<IndexEntry>,
    /// The index of its entry, from 0.
    at: u32,
}

/// The content of ARTIFACT_INDEX.json.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArtifactIndex {
    /// Every listed path, well formed or not; if two entries have the same path, the first.
    pub listed: TextMap<ListedPath>,
    /// A message for each entry that is malformed or repeated, or whose role is unknown or not that
    /// of its path.
    pub faults: Vec<String>,
    /// Whether entries are sorted by path, by code point.
    pub sorted: bool,
}

impl ArtifactIndex {
    /// The well-formed entries by path.
    pub fn entries(&self) -> impl Iterator<Item = (&str, IndexEntry)> {
        let listed = self.listed.iter();
        listed.filter_map(|(path, listed)| Some((path, listed.entry?)))
    }
}

/// Parses the index: `{"artifacts":[…]}`, or a bare list.
pub fn parse_index(root: Node<'_>) -> ArtifactIndex {
    let list = match root.as_array() {
        Some(_) => Some(root),
        None => root
            .get("artifacts")
            .filter(|list| list.as_array().is_some()),
    };
    let Some(list) = list else {
        return ArtifactIndex {
            faults: vec!["there is no list `artifacts`".to_owned()],
            sorted: true,
            ..ArtifactIndex::default()
        };
    };
    let mut reading = IndexReading::default();
    list.items()
        .enumerate()
        .for_each(|(at, node)| reading.add(at, node));
    reading.finish()
}

/// Parses the index from its text, if that is canonical, without keeping the list, which grows with
/// the number of files. `None` if the text is not canonical or has no list.
///
/// # Errors
/// If it is not JSON.
pub fn parse_stored_index(bytes: &[u8]) -> Result<Option<ArtifactIndex>, JsonError> {
    let mut reading = IndexReading::default();
    let outline = parse_outline(
        bytes,
        &ReadOptions::default(),
        &["artifacts"],
        &mut |element| {
            reading.add(element.at, element.node);
        },
    )?;
    // Text that is canonical in the job dialect is ASCII without escapes, which is also canonical
    // in JCS.
    let is_stored = outline.list(0).is_some() && outline.is_stored_as_job("");
    Ok(is_stored.then(|| reading.finish()))
}

/// The state of parsing an index.
#[derive(Default)]
struct IndexReading {
    faults: PlacedFaults,
    listed: TextMapBuilder<ListedPath>,
    last: String,
    is_unsorted: bool,
}

impl IndexReading {
    fn add(&mut self, at: usize, node: Node<'_>) {
        let path = node.get("relative_path").and_then(|path| path.as_str());
        let entry = parse_entry(node, |what| {
            self.faults.add(at, || match &path {
                Some(path) => format!("entry {at} (`{}`): {what}", path.escape_debug()),
                None => format!("entry {at}: {what}"),
            });
        });
        let Some(path) = path else { return };
        // The empty text sorts before every path.
        self.is_unsorted |= *self.last > *path;
        self.last.clear();
        self.last.push_str(&path);
        match SafePath::parse(&path) {
            Ok(_) => {
                // A text is too short for more entries than that.
                let at = u32::try_from(at).unwrap_or(u32::MAX);
                self.listed.push(&path, ListedPath { entry, at });
            }
            Err(_) if path.is_empty() => {}
            Err(error) => self.faults.add(at, || {
                format!("entry {at}: {error}: `{}`", path.escape_debug())
            }),
        }
    }

    fn finish(mut self) -> ArtifactIndex {
        let listed = self.listed.finish(|path, ListedPath { at, .. }| {
            self.faults.add(at as usize, || {
                format!("entry {at}: `{path}` is listed again")
            });
        });
        ArtifactIndex {
            listed,
            faults: self.faults.into_ordered(),
            sorted: !self.is_unsorted,
        }
    }
}

/// Parses an entry; calls `report` with every fault.
fn parse_entry(node: Node<'_>, mut report: impl FnMut(&str)) -> Option<IndexEntry> {
    let text = |name: &str| {
        let text = node.get(name).and_then(|node| node.as_str());
        text.filter(|text| !text.is_empty())
    };
    for name in [
        "artifact_name",
        "relative_path",
        "sha256",
        "content_type",
        "role",
    ] {
        if text(name).is_none() {
            report(&format!("`{name}` is missing or not a text"));
        }
    }
    let sha256 = text("sha256").and_then(|hex| {
        let digest = Digest::parse_hex(&hex);
        digest.map_err(|error| report(&error.to_string())).ok()
    });
    if let Some(path) = text("relative_path") {
        let name = path.rsplit('/').next().unwrap_or(&path);
        for (member, wanted) in [
            ("artifact_name", name),
            ("content_type", content_type_of(&path)),
        ] {
            if let Some(said) = text(member).filter(|said| **said != *wanted) {
                let (said, wanted) = (said.escape_debug(), wanted.escape_debug());
                report(&format!("`{member}` is `{said}`, not `{wanted}`"));
            }
        }
    }
    // A file at an unknown place may have any role; RB19 reports it.
    let own = text("relative_path").and_then(|path| Role::of_path(&path));
    if let Some(name) = text("role") {
        match (Role::parse(&name), own) {
            (None, _) => report(&format!("`{}` is not a role", name.escape_debug())),
            (Some(said), Some(own)) if said != own => {
                let (said, own) = (said.name(), own.name());
                report(&format!("its path has the role {own}, not {said}"));
            }
            _ => {}
        }
    }
    Some(IndexEntry { sha256: sha256? })
}

/// Writes the index of `files`, which are sorted by path, to `sink`, in JCS form.
pub fn write_index(
    files: &[(Box<str>, Digest)],
    sink: &mut dyn io::Write,
) -> Result<(), CanonError> {
    let mut index = ObjectWriter::begin(sink, Dialect::Jcs)?;
    index.list("artifacts", |list| {
        for (path, digest) in files {
            let name = path.rsplit('/').next().unwrap_or(path);
            list.element(&Value::object([
                ("artifact_name", name),
                ("relative_path", path),
                ("sha256", digest.to_string().as_str()),
                ("content_type", content_type_of(path)),
                ("role", Role::of_path(path).unwrap_or(Role::Artifact).name()),
            ]))?;
        }
        Ok::<_, CanonError>(())
    })?;
    index.end()?;
    Ok(())
}

/// An artifact from another engine's run. Ordered by all three fields.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct InputArtifact {
    /// The engine that made it.
    pub engine_code: String,
    /// The artifact's name in the run that made it.
    pub artifact_name: String,
    /// Its digest, as declared.
    pub sha256: String,
}

/// Parses a list of input artifacts; `None` if it is not a list of {engine_code, artifact_name,
/// sha256}.
pub fn parse_input_artifacts(list: Node<'_>) -> Option<Vec<InputArtifact>> {
    let one = |entry: Node<'_>| {
        let text = |name: &str| Some(entry.get(name)?.as_str()?.into_owned());
        let artifact = InputArtifact {
            engine_code: text("engine_code")?,
            artifact_name: text("artifact_name")?,
            sha256: text("sha256")?,
        };
        (entry.len() == 3 && Digest::parse_hex(&artifact.sha256).is_ok()).then_some(artifact)
    };
    list.as_array()?.map(one).collect()
}

/// Encodes the list for the documents.
pub fn write_input_artifacts(artifacts: &[InputArtifact]) -> Value {
    Value::array(artifacts.iter().map(|artifact| {
        Value::object([
            ("engine_code", artifact.engine_code.as_str()),
            ("artifact_name", artifact.artifact_name.as_str()),
            ("sha256", artifact.sha256.as_str()),
        ])
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::{Dialect, ReadOptions, canonical_bytes, parse_document};

    fn parse(text: &str) -> ArtifactIndex {
        parse_index(
            parse_document(text.as_bytes(), &ReadOptions::default())
                .unwrap()
                .root(),
        )
    }

    #[test]
    fn index_round_trips_and_may_be_bare_list() {
        let files = ["RUN_INPUT.json", "artifacts/a/b.csv"]
            .map(|name| (Box::from(name), Digest::of(name.as_bytes())));
        let mut bytes = Vec::new();
        write_index(&files, &mut bytes).unwrap();
        let document = parse_document(&bytes, &ReadOptions::default()).unwrap();
        let written = document.root().to_value();
        let text = String::from_utf8(canonical_bytes(&written, Dialect::Jcs).unwrap()).unwrap();
        let hash = Digest::of(b"artifacts/a/b.csv");
        assert!(text.contains(&format!(
            r#"{{"artifact_name":"b.csv","content_type":"text/csv","relative_path":"artifacts/a/b.csv","role":"ARTIFACT","sha256":"{hash}"}}"#
        )), "{text}");
        let index = parse(&text);
        assert_eq!(
            (index.entries().count(), index.faults.len(), index.sorted),
            (2, 0, true)
        );
        let bare = text
            .strip_prefix(r#"{"artifacts":"#)
            .unwrap()
            .strip_suffix('}')
            .unwrap();
        assert_eq!(parse(bare), index);
    }

    #[test]
    fn index_malformed_entries_are_faults() {
        let hex = Digest::of(b"x").to_string();
        let good = format!(
            r#"{{"artifact_name":"a","content_type":"application/octet-stream","relative_path":"a","role":"META","sha256":"{hex}"}}"#
        );
        assert_eq!(parse(&format!("[{good}]")).faults, Vec::<String>::new());
        for bad in [
            good.replace("META", "meta"),
            good.replace("META", "OTHER"),
            good.replace(r#""relative_path":"a""#, r#""relative_path":"logs/a""#),
            good.replace(&hex, &hex.to_uppercase()),
            good.replace(r#""artifact_name":"a""#, r#""artifact_name":"b""#),
            good.replace("octet-stream", "json"),
            good.replace(r#""content_type":"application/octet-stream","#, ""),
            good.replace(r#""application/octet-stream""#, "5"),
            good.replace("\"relative_path\":\"a\"", "\"relative_path\":\"../a\""),
            "5".to_owned(),
            format!("{good},{good}"),
        ] {
            assert!(!parse(&format!("[{bad}]")).faults.is_empty(), "{bad}");
        }
        for bad in ["{}", "5", r#"{"artifacts":{}}"#] {
            assert_eq!(parse(bad).faults.len(), 1, "{bad}");
        }
    }
}
