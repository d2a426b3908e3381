//! The OCI documents that are read and written here: descriptors, manifests and indexes.
//!
//! What is written is canonical JSON without a time, so that the same content has the same digest,
//! whoever pushes it. What is read may come from any tool: only the members that matter are used,
//! and every length is bounded.

use std::collections::{BTreeMap, BTreeSet};

use runseal_core::canon::{Dialect, Node, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::digest::{ContentHash, Digest};
use runseal_core::limits::ARCHIVE_MAX_RATIO;

use super::OciError;
use super::layers::PIECE;
use crate::manifest::is_multiplied;

/// The media type of an image manifest, also used for artifacts.
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The media type of an index.
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// The media type of an empty configuration.
pub const EMPTY: &str = "application/vnd.oci.empty.v1+json";
/// The content of an empty configuration.
pub const EMPTY_CONTENT: &[u8] = b"{}";
/// The artifact type of a bundle, pack or document.
pub const ARTIFACT: &str = "application/vnd.runseal.evidence.v1";
/// The media type of a folder's layers, which concatenate to one tar.
pub const TAR_PART: &str = "application/vnd.runseal.evidence.v1.tar";
/// The media type of a single file's layers, which concatenate to the file.
pub const FILE: &str = "application/vnd.runseal.evidence.v1.file";
/// The annotation that names the file a layer is written to.
pub const TITLE: &str = "org.opencontainers.image.title";
/// The annotation with the tag of an entry in a layout.
pub const REF_NAME: &str = "org.opencontainers.image.ref.name";

/// The most bytes of a manifest or index: what registries commonly accept. Stops an answer that
/// would exhaust memory.
pub const MAX_MANIFEST: u64 = 4 << 20;

/// The most layers or entries that are considered. Stops a manifest of nothing but descriptors.
const MAX_DESCRIPTORS: usize = 10_000;

/// A reference to a blob by digest and exact size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor {
    /// The kind of content.
    pub media_type: String,
    /// Its digest.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
    /// The kind of artifact, if this describes a manifest.
    pub artifact_type: Option<String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
}

impl Descriptor {
    /// Describes bytes in memory.
    pub fn of(media_type: &str, bytes: &[u8]) -> Self {
        Self::new(media_type, Digest::of(bytes), bytes.len() as u64)
    }

    /// Describes content with a known digest and size.
    pub fn new(media_type: &str, digest: Digest, size: u64) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest,
            size,
            artifact_type: None,
            annotations: BTreeMap::new(),
        }
    }

    /// Adds a file name.
    pub fn titled(mut self, title: &str) -> Self {
        self.annotations.insert(TITLE.to_owned(), title.to_owned());
        self
    }

    /// Returns the file name of the content, if it has one.
    pub fn title(&self) -> Option<&str> {
        self.annotations.get(TITLE).map(String::as_str)
    }

    fn to_json(&self) -> Value {
        let mut value = Value::object([
            ("mediaType", self.media_type.clone()),
            ("digest", ContentHash::from(self.digest).to_string()),
        ]);
        value.insert("size", self.size);
        if let Some(artifact_type) = &self.artifact_type {
            value.insert("artifactType", artifact_type.as_str());
        }
        add_annotations(&mut value, &self.annotations);
        value
    }

    fn parse(node: Node<'_>) -> Result<Self, String> {
        let text = |name: &str| node.get(name).and_then(|member| member.as_str());
        let digest = text("digest").ok_or("a descriptor has no digest")?;
        let digest = ContentHash::parse(&digest)
            .map_err(|error| format!("`{}`: {error}", digest.escape_debug()))?;
        let size = node.get("size").and_then(|size| size.as_number());
        let size = size.and_then(|size| size.as_integer()?.to_u64());
        Ok(Self {
            media_type: text("mediaType").unwrap_or_default().into_owned(),
            digest: digest.digest(),
            size: size.ok_or("a descriptor has no size")?,
            artifact_type: text("artifactType").map(Into::into),
            annotations: parse_annotations(node),
        })
    }
}

fn add_annotations(value: &mut Value, annotations: &BTreeMap<String, String>) {
    if annotations.is_empty() {
        return;
    }
    let members = annotations.iter();
    let members = members.map(|(key, text)| (key.as_str().into(), Value::from(text.as_str())));
    value.insert("annotations", Value::Object(members.collect()));
}

fn parse_annotations(node: Node<'_>) -> BTreeMap<String, String> {
    let Some(annotations) = node.get("annotations") else {
        return BTreeMap::new();
    };
    let members = annotations.members();
    members
        .filter_map(|(key, value)| Some((key.as_str()?.into_owned(), value.as_str()?.into_owned())))
        .collect()
}

/// A manifest: what an artifact is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The kind of artifact.
    pub artifact_type: Option<String>,
    /// Its configuration.
    pub config: Descriptor,
    /// The content, in order.
    pub layers: Vec<Descriptor>,
    /// The manifest that it is attached to.
    pub subject: Option<Descriptor>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
}

impl Manifest {
    /// Creates an artifact of this type with these layers.
    pub fn artifact(artifact_type: &str, layers: Vec<Descriptor>) -> Self {
        Self {
            artifact_type: Some(artifact_type.to_owned()),
            config: Descriptor::of(EMPTY, EMPTY_CONTENT),
            layers,
            subject: None,
            annotations: BTreeMap::new(),
        }
    }

    /// Returns the bytes to store; their digest names the artifact.
    ///
    /// # Errors
    /// If a text has no canonical form, or the result is longer than registries accept.
    pub fn to_bytes(&self) -> Result<Vec<u8>, OciError> {
        if self.artifact_type.as_deref() == Some(ARTIFACT) {
            self.check_repeated().map_err(|why| OciError::Unwritable {
                what: "the manifest",
                why,
            })?;
        }
        let mut value = Value::object([("mediaType", MANIFEST)]);
        value.insert("schemaVersion", 2);
        if let Some(artifact_type) = &self.artifact_type {
            value.insert("artifactType", artifact_type.as_str());
        }
        value.insert("config", self.config.to_json());
        let layers = self.layers.iter().map(Descriptor::to_json);
        value.insert("layers", Value::array(layers));
        if let Some(subject) = &self.subject {
            value.insert("subject", subject.to_json());
        }
        add_annotations(&mut value, &self.annotations);
        write(&value, "the manifest")
    }

    /// Refuses layers that repeat too much. Only pieces of large files may be alike, and no prefix of the
    /// layers may have more bytes than an archive of its distinct layers may unpack to. So a large layer
    /// that is only announced, and comes last, does not raise the limit.
    ///
    /// # Errors
    /// If it does; the text says why.
    pub fn check_repeated(&self) -> Result<(), String> {
        let mut known = BTreeSet::new();
        let (mut fetched, mut written) = (0_u64, 0_u64);
        let mut before = 0;
        for layer in &self.layers {
            let is_piece = layer.size == PIECE || before == PIECE;
            before = layer.size;
            written = written.saturating_add(layer.size);
            if known.insert(layer.digest) {
                fetched = fetched.saturating_add(layer.size);
            } else if !is_piece && layer.size > 0 {
                return Err(format!("it names the layer `{}` twice", layer.digest));
            }
            if is_multiplied(fetched, written) {
                return Err(format!(
                    "it repeats layers to more than {ARCHIVE_MAX_RATIO} times their size"
                ));
            }
        }
        Ok(())
    }

    /// Parses a manifest.
    ///
    /// # Errors
    /// If it is not a usable manifest.
    pub fn parse(bytes: &[u8], shown: &str) -> Result<Self, OciError> {
        parse_json(bytes, shown, |root| {
            let layers = root.get("layers").and_then(|layers| layers.as_array());
            let layers = layers.ok_or("it has no `layers`; is it an index?")?;
            if layers.len() > MAX_DESCRIPTORS {
                return Err(format!("it has more than {MAX_DESCRIPTORS} layers"));
            }
            Ok(Self {
                artifact_type: artifact_type_of(root),
                config: Descriptor::parse(root.get("config").ok_or("it has no `config`")?)?,
                layers: layers.map(Descriptor::parse).collect::<Result<_, _>>()?,
                subject: root.get("subject").map(Descriptor::parse).transpose()?,
                annotations: parse_annotations(root),
            })
        })
    }
}

/// Returns the kind of artifact: the manifest's own type, or that of its configuration.
fn artifact_type_of(root: Node<'_>) -> Option<String> {
    let own = root.get("artifactType").and_then(|own| own.as_str());
    let config = || root.get("config")?.get("mediaType")?.as_str();
    own.or_else(config).map(Into::into)
}

/// An index: a list of manifests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Index {
    /// The manifests.
    pub manifests: Vec<Descriptor>,
}

impl Index {
    /// Returns the bytes to store.
    ///
    /// # Errors
    /// If a text has no canonical form, or the result is longer than registries accept.
    pub fn to_bytes(&self) -> Result<Vec<u8>, OciError> {
        let mut value = Value::object([("mediaType", INDEX)]);
        value.insert("schemaVersion", 2);
        let manifests = self.manifests.iter().map(Descriptor::to_json);
        value.insert("manifests", Value::array(manifests));
        write(&value, "the index")
    }

    /// Parses an index.
    ///
    /// # Errors
    /// If it is not a usable index.
    pub fn parse(bytes: &[u8], shown: &str) -> Result<Self, OciError> {
        parse_json(bytes, shown, |root| {
            let manifests = root.get("manifests").and_then(|list| list.as_array());
            let manifests = manifests.ok_or("it has no `manifests`")?;
            if manifests.len() > MAX_DESCRIPTORS {
                return Err(format!("it has more than {MAX_DESCRIPTORS} manifests"));
            }
            let manifests = manifests.map(Descriptor::parse);
            Ok(Self {
                manifests: manifests.collect::<Result<_, _>>()?,
            })
        })
    }
}

fn write(value: &Value, what: &'static str) -> Result<Vec<u8>, OciError> {
    let bytes = canonical_bytes(value, Dialect::Jcs).map_err(|error| OciError::Unwritable {
        what,
        why: error.to_string(),
    })?;
    if bytes.len() as u64 > MAX_MANIFEST {
        Err(OciError::Unwritable {
            what,
            why: format!("it would have more than {MAX_MANIFEST} bytes"),
        })
    } else {
        Ok(bytes)
    }
}

/// Parses foreign JSON, within the limits for manifests.
fn parse_json<T>(
    bytes: &[u8],
    shown: &str,
    read: impl FnOnce(Node<'_>) -> Result<T, String>,
) -> Result<T, OciError> {
    let refuse = |why: String| OciError::Malformed {
        what: shown.to_owned(),
        why,
    };
    if bytes.len() as u64 > MAX_MANIFEST {
        return Err(refuse(format!("it has more than {MAX_MANIFEST} bytes")));
    }
    let document = parse_document(bytes, &ReadOptions::default())
        .map_err(|error| refuse(format!("not JSON: {error}")))?;
    read(document.root()).map_err(refuse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifest_round_trips_and_has_known_digest() {
        let layer = Descriptor::of(TAR_PART, b"x").titled("run.tar");
        let manifest = Manifest::artifact(ARTIFACT, vec![layer]);
        let bytes = manifest.to_bytes().unwrap();
        assert_eq!(Manifest::parse(&bytes, "m").unwrap(), manifest);
        let text = String::from_utf8(bytes).unwrap();
        // The digest that the specification gives for the empty configuration.
        let empty = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
        assert!(text.contains(empty), "{text}");
        assert!(
            text.starts_with(r#"{"artifactType":"application/vnd.runseal.evidence.v1","config""#)
        );
    }

    #[test]
    fn repeated_layers_other_than_pieces_of_large_files_are_refused() {
        let layer = |name: &str, size| Descriptor::new(TAR_PART, Digest::of(name.as_bytes()), size);
        let refusal_of = |layers: Vec<Descriptor>| {
            let manifest = Manifest::artifact(ARTIFACT, layers);
            let checked = manifest.check_repeated();
            assert_eq!(manifest.to_bytes().is_ok(), checked.is_ok());
            checked.err().unwrap_or_default()
        };
        let mut small = vec![layer("header", 512)];
        small.extend(vec![layer("zeros", 16 << 20); 2]);
        assert!(refusal_of(small).ends_with("twice"));
        // Two files of zeros, as push divides them.
        let pieces = [
            layer("zeros", PIECE),
            layer("zeros", PIECE),
            layer("rest", 5),
        ];
        let honest = [&pieces[..], &[layer("header", 512)], &pieces].concat();
        assert_eq!(refusal_of(honest), "");
        // A layer that is only announced does not raise the limit.
        let mut many = vec![layer("zeros", PIECE); 201];
        many.push(layer("absent", u64::MAX));
        assert!(refusal_of(many).contains("200 times"));
        assert_eq!(refusal_of(vec![layer("zeros", PIECE); 200]), "");
    }

    #[test]
    fn malformed_manifest_is_refused_with_its_reason() {
        let refused = |text: &str| {
            Manifest::parse(text.as_bytes(), "m")
                .unwrap_err()
                .to_string()
        };
        assert!(refused("{").contains("not JSON"));
        assert!(refused(r#"{"manifests":[]}"#).contains("no `layers`"));
        let layer = r#"{"config":{"digest":"sha256:1","size":1},"layers":[]}"#;
        assert!(refused(layer).contains("hex digits"));
        let digest = format!("sha256:{}", "0".repeat(64));
        for size in ["-1", "1.5", "\"1\"", "null"] {
            let text = format!(r#"{{"config":{{"digest":"{digest}","size":{size}}},"layers":[]}}"#);
            assert!(refused(&text).contains("no size"), "{size}");
        }
    }
}
