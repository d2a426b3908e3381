//! ARTIFACT_INDEX.json: every file with its digest, content type and role; and the list of
//! artifacts that came from other engines.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::layout::{Role, content_type_of};
use crate::canon::{CanonError, Dialect, Node, ObjectWriter, Value};
use crate::digest::Digest;
use crate::path::SafePath;
use crate::verify::add_faults;

/// One well-formed entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexEntry {
    /// The declared digest.
    pub sha256: Digest,
    /// The declared role.
    pub role: Role,
}

/// What ARTIFACT_INDEX.json says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArtifactIndex {
    /// The well-formed entries by path; of two with one path the first.
    pub entries: BTreeMap<String, IndexEntry>,
    /// Every path that is listed, well formed or not.
    pub listed: BTreeSet<String>,
    /// What is malformed, repeated or of an unknown role.
    pub faults: Vec<String>,
    /// Whether entries are in the order of their paths, by code point.
    pub sorted: bool,
}

/// Reads the index: `{"artifacts":[…]}`, or a bare list.
pub fn parse_index(root: Node<'_>) -> ArtifactIndex {
    let mut index = ArtifactIndex {
        sorted: true,
        ..ArtifactIndex::default()
    };
    let list = match root.as_array() {
        Some(_) => Some(root),
        None => root
            .get("artifacts")
            .filter(|list| list.as_array().is_some()),
    };
    let Some(list) = list else {
        index.faults.push("there is no list `artifacts`".to_owned());
        return index;
    };
    let mut last: Option<String> = None;
    for (at, entry) in list.items().enumerate() {
        let text = |name: &str| entry.get(name).and_then(|node| node.as_str());
        let path = text("relative_path").map(|path| path.into_owned());
        if let Some(path) = &path {
            index.sorted &= last.as_ref().is_none_or(|last| last <= path);
            last = Some(path.clone());
        }
        let fault = |what: &str| match &path {
            Some(path) => format!("entry {at} (`{}`): {what}", path.escape_debug()),
            None => format!("entry {at}: {what}"),
        };
        let mut faults = Vec::new();
        for name in [
            "artifact_name",
            "relative_path",
            "sha256",
            "content_type",
            "role",
        ] {
            if text(name).is_none_or(|text| text.is_empty()) {
                faults.push(fault(&format!("`{name}` is missing or no text")));
            }
        }
        let sha256 = text("sha256").filter(|hex| !hex.is_empty());
        let sha256 = sha256.and_then(|hex| match Digest::parse_hex(&hex) {
            Ok(digest) => Some(digest),
            Err(error) => {
                faults.push(fault(&error.to_string()));
                None
            }
        });
        let role = text("role").filter(|name| !name.is_empty());
        let role = role.and_then(|name| {
            let role = Role::parse(&name);
            if role.is_none() {
                faults.push(fault(&format!("`{}` is no role", name.escape_debug())));
            }
            role
        });
        if let Some(path) = path {
            if let Err(error) = SafePath::parse(&path)
                && !path.is_empty()
            {
                faults.push(format!("entry {at}: {error}: `{}`", path.escape_debug()));
            } else if !index.listed.insert(path.clone()) {
                faults.push(format!("entry {at}: `{path}` is listed again"));
            } else if let (Some(sha256), Some(role)) = (sha256, role) {
                index.entries.insert(path, IndexEntry { sha256, role });
            }
        }
        add_faults(&mut index.faults, faults);
    }
    index
}

/// Writes the index of `files` into `sink`, in its JCS form.
pub fn write_index(
    files: &BTreeMap<String, Digest>,
    sink: &mut dyn io::Write,
) -> Result<(), CanonError> {
    let mut index = ObjectWriter::begin(sink, Dialect::Jcs)?;
    index.list("artifacts", |list| {
        for (path, digest) in files {
            let name = path.rsplit('/').next().unwrap_or(path);
            list.element(&Value::object([
                ("artifact_name", name),
                ("relative_path", path.as_str()),
                ("sha256", digest.to_string().as_str()),
                ("content_type", content_type_of(path)),
                ("role", Role::of_path(path).name()),
            ]))?;
        }
        Ok::<_, CanonError>(())
    })?;
    index.end()?;
    Ok(())
}

/// An artifact that came from another engine's run. Ordered by all three.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct InputArtifact {
    /// The engine that made it.
    pub engine_code: String,
    /// Its name.
    pub artifact_name: String,
    /// Its digest, as it is declared.
    pub sha256: String,
}

/// Reads a list of input artifacts; `None` where it is no list of {engine_code, artifact_name,
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

/// The list as the documents hold it.
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
    fn index_written_is_read_back_and_may_be_a_bare_list() {
        let files: BTreeMap<String, Digest> = ["RUN_INPUT.json", "artifacts/a/b.csv"]
            .map(|name| (name.to_owned(), Digest::of(name.as_bytes())))
            .into();
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
            (index.entries.len(), index.faults.len(), index.sorted),
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
    fn index_each_malformed_entry_is_named() {
        let hex = Digest::of(b"x").to_string();
        let good = format!(
            r#"{{"artifact_name":"a","content_type":"t","relative_path":"a","role":"META","sha256":"{hex}"}}"#
        );
        assert_eq!(parse(&format!("[{good}]")).faults, Vec::<String>::new());
        for bad in [
            good.replace("META", "meta"),
            good.replace("META", "OTHER"),
            good.replace(&hex, &hex.to_uppercase()),
            good.replace("\"content_type\":\"t\",", ""),
            good.replace("\"t\"", "5"),
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
