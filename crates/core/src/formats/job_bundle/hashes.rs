//! The hashes of document 001 §4, and the ids derived from them.

use super::facts::ArtifactKey;
use crate::canon::{Dialect, NoCanonicalForm, Node, Value, canonical_bytes, update_digest};
use crate::digest::{Digest, Hasher, encode_lower_hex};

/// The members of a step that the plan hash covers, in canonical order (§4.3).
pub const STEP_FIELDS: [&str; 6] = [
    "constraints",
    "expected_outputs",
    "op",
    "ordinal",
    "refs",
    "step_id",
];

/// Derives the id of the artifact with `slice` of `reference`: 16 hex digits of SHA-256 over
/// `<ref>_<slice>` (rulings).
pub fn derive_artifact_id(reference: &str, slice: &str) -> String {
    hash_read(reference, slice).hex_prefix(16)
}

/// The same id as a number.
pub fn derive_artifact_key(reference: &str, slice: &str) -> Option<ArtifactKey> {
    let digest = hash_read(reference, slice);
    let first = digest.as_bytes().first_chunk::<8>();
    first.map(|bytes| ArtifactKey::from_bytes(*bytes))
}

fn hash_read(reference: &str, slice: &str) -> Digest {
    let mut hasher = Hasher::new();
    hasher.update(reference.as_bytes());
    hasher.update(b"_");
    hasher.update(slice.as_bytes());
    hasher.finish()
}

/// The root hash over `(artifact_id, sha256)` pairs that are sorted by artifact id (§4.1).
pub fn compute_root_hash(artifacts: impl IntoIterator<Item = (ArtifactKey, Digest)>) -> Digest {
    let mut hasher = Hasher::new();
    // `<artifact_id>:<sha256>` and LF, written over for each artifact.
    let mut line = [b'\n'; 16 + 1 + 64 + 1];
    line[16] = b':';
    let mut is_empty = true;
    for (artifact_id, sha256) in artifacts {
        is_empty = false;
        encode_lower_hex(&artifact_id.to_bytes(), &mut line[..16]);
        encode_lower_hex(sha256.as_bytes(), &mut line[17..81]);
        hasher.update(&line);
    }
    if is_empty {
        // The document joins the lines with LF and adds one: without lines, that one remains.
        hasher.update(b"\n");
    }
    hasher.finish()
}

/// The bundle id: SHA-256 over the canonical manifest with `bundle_id` and `hashes.root_hash`
/// emptied (§4.2). `None` if the manifest is not an object or lacks one of the two.
pub fn compute_bundle_id(manifest: Node<'_>) -> Option<Result<Digest, NoCanonicalForm>> {
    manifest.get("bundle_id")?;
    manifest.get("hashes")?.get("root_hash")?;
    let mut hasher = Hasher::new();
    let written = write_members(&mut hasher, manifest, |hasher, key, value| match key {
        Some("bundle_id") => {
            hasher.update(b"\"\"");
            Ok(())
        }
        Some("hashes") => write_without_root_hash(hasher, value),
        _ => update_digest(hasher, value, Dialect::Job),
    });
    Some(written.map(|()| hasher.finish()))
}

/// Adds the canonical text of `hashes` with `root_hash` emptied.
pub(super) fn write_without_root_hash(
    hasher: &mut Hasher,
    hashes: Node<'_>,
) -> Result<(), NoCanonicalForm> {
    write_members(hasher, hashes, |hasher, key, value| {
        if key == Some("root_hash") {
            hasher.update(b"\"\"");
            return Ok(());
        }
        update_digest(hasher, value, Dialect::Job)
    })
}

/// The bundle id of a manifest whose `text` is known to be canonical; of its members, only the two
/// that are emptied are needed.
pub fn compute_stored_bundle_id(
    text: &str,
    bundle_id: Node<'_>,
    hashes: Node<'_>,
) -> Option<Digest> {
    let id = bundle_id.string_place()?;
    let root = hashes.get("root_hash")?.string_place()?;
    let mut hasher = Hasher::new();
    for part in [
        text.get(..id.start)?,
        text.get(id.end..root.start)?,
        text.get(root.end..)?,
    ] {
        hasher.update(part.as_bytes());
    }
    Some(hasher.finish())
}

/// Adds an object's canonical text, with `write` for each member's value. Members are ordered by
/// code point, which is the job dialect's order.
fn write_members<'a>(
    hasher: &mut Hasher,
    object: Node<'a>,
    mut write: impl FnMut(&mut Hasher, Option<&str>, Node<'a>) -> Result<(), NoCanonicalForm>,
) -> Result<(), NoCanonicalForm> {
    hasher.update(b"{");
    for (at, (key, value)) in object.members().enumerate() {
        if at > 0 {
            hasher.update(b",");
        }
        hasher.update(&canonical_bytes(
            &Value::String(key.to_json_string()),
            Dialect::Job,
        )?);
        hasher.update(b":");
        write(hasher, key.as_str().as_deref(), value)?;
    }
    hasher.update(b"}");
    Ok(())
}

/// The plan hash over the run id and the steps in order (§4.3), which are added one by one. Only
/// the six fields of a step count.
#[derive(Debug)]
pub struct PlanHasher {
    hasher: Hasher,
    is_empty: bool,
}

impl PlanHasher {
    /// Begins the hash of the plan of a run.
    pub fn begin(run_id: Node<'_>) -> Result<Self, NoCanonicalForm> {
        let mut hasher = Hasher::new();
        hasher.update(b"{\"run_id\":");
        update_digest(&mut hasher, run_id, Dialect::Job)?;
        hasher.update(b",\"steps\":[");
        Ok(Self {
            hasher,
            is_empty: true,
        })
    }

    /// Adds a step; `None` if it lacks one of the six fields.
    pub fn add(&mut self, step: Node<'_>) -> Option<Result<(), NoCanonicalForm>> {
        if !std::mem::take(&mut self.is_empty) {
            self.hasher.update(b",");
        }
        for (before, field) in STEP_FIELDS.iter().enumerate() {
            self.hasher
                .update(if before == 0 { b"{\"" } else { b",\"" });
            self.hasher.update(field.as_bytes());
            self.hasher.update(b"\":");
            if let Err(error) = update_digest(&mut self.hasher, step.get(field)?, Dialect::Job) {
                return Some(Err(error));
            }
        }
        self.hasher.update(b"}");
        Some(Ok(()))
    }

    /// Adds a step whose `text` is canonical and has only the six fields.
    pub fn add_stored(&mut self, text: &str) {
        if !std::mem::take(&mut self.is_empty) {
            self.hasher.update(b",");
        }
        self.hasher.update(text.as_bytes());
    }

    /// The hash over all steps that were added.
    pub fn finish(mut self) -> Digest {
        self.hasher.update(b"]}");
        self.hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::{ReadOptions, parse_document};

    #[test]
    fn root_hash_without_artifacts_is_hash_of_newline() {
        assert_eq!(compute_root_hash([]), Digest::of(b"\n"));
        let digest = Digest::of(b"x");
        let [a, b] = ["00000000000000aa", "00000000000000bb"];
        let lines = format!("{a}:{digest}\n{b}:{digest}\n");
        let key = |text: &str| ArtifactKey::parse(text.as_bytes()).unwrap();
        let two = compute_root_hash([(key(a), digest), (key(b), digest)]);
        assert_eq!(two, Digest::of(lines.as_bytes()));
    }

    #[test]
    fn bundle_id_ignores_only_its_two_hashes() {
        let text = br#"{"x":1.0,"hashes":{"z":2,"root_hash":"r"},"bundle_id":"b"}"#;
        let document = parse_document(text, &ReadOptions::default()).unwrap();
        let id = compute_bundle_id(document.root()).unwrap().unwrap();
        let emptied = br#"{"bundle_id":"","hashes":{"root_hash":"","z":2},"x":1.0}"#;
        assert_eq!(id, Digest::of(emptied));
        let text = br#"{"bundle_id":"","hashes":{}}"#;
        let document = parse_document(text, &ReadOptions::default()).unwrap();
        assert!(compute_bundle_id(document.root()).is_none());
    }

    #[test]
    fn bundle_id_of_stored_text_is_that_of_its_value() {
        let text = r#"{"bundle_id":"b","hashes":{"a":1,"root_hash":"r","z":2},"x":[15]}"#;
        let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
        assert!(document.is_stored_as_job(""));
        let member = |key| document.root().get(key).unwrap();
        let quick = compute_stored_bundle_id(text, member("bundle_id"), member("hashes")).unwrap();
        assert_eq!(quick, compute_bundle_id(document.root()).unwrap().unwrap());
        let emptied = br#"{"bundle_id":"","hashes":{"a":1,"root_hash":"","z":2},"x":[15]}"#;
        assert_eq!(quick, Digest::of(emptied));
    }

    #[test]
    fn plan_hash_ignores_other_members() {
        let hash = |extra: &str| {
            let text = format!(
                r#"{{"run_id":"é","steps":[{{"step_id":"s","ordinal":-0,"op":"READ_SYMBOL",
                "refs":{{}},"constraints":{{}},"expected_outputs":{{}}{extra}}}]}}"#
            );
            let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
            let root = document.root();
            let steps = root.get("steps").unwrap();
            let mut hasher = PlanHasher::begin(root.get("run_id").unwrap()).unwrap();
            steps
                .items()
                .for_each(|step| hasher.add(step).unwrap().unwrap());
            hasher.finish()
        };
        assert_eq!(hash(""), hash(r#","note":1"#));
        let expected = br#"{"run_id":"\u00e9","steps":[{"constraints":{},"expected_outputs":{},"op":"READ_SYMBOL","ordinal":0,"refs":{},"step_id":"s"}]}"#;
        assert_eq!(hash(""), Digest::of(expected));
    }

    #[test]
    fn artifact_id_covers_ref_and_slice_as_written() {
        let expected = Digest::of(b"@a_head(1)").hex_prefix(16);
        assert_eq!(derive_artifact_id("@a", "head(1)"), expected);
        assert_ne!(derive_artifact_id("@a", " head(1)"), expected);
    }
}
