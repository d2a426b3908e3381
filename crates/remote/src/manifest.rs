//! The content of a run, wherever it is stored: its files by path, size and digest.
//!
//! The manifest is canonical JSON and does not say when, where or by whom it was written, so the
//! same run has the same manifest, and its digest identifies the run. It is not evidence itself:
//! the claims of a run are in its files, which are verified as for any other run.

use std::collections::{BTreeMap, BTreeSet};

use runseal_core::canon::{Dialect, Node, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::digest::Digest;
use runseal_core::limits::{ARCHIVE_FREE_BYTES, ARCHIVE_MAX_RATIO, MAX_ENTRIES};
use runseal_core::path::SafePath;
use thiserror::Error;

/// The value of the member `format`.
pub const FORMAT: &str = "runseal.run_manifest.v1";

/// The most bytes that a manifest may have: enough for a million files with long names.
pub const MAX_MANIFEST_BYTES: u64 = 256 << 20;

/// The content of a file, identified by digest and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Blob {
    /// The digest.
    pub sha256: Digest,
    /// The number of bytes.
    pub bytes: u64,
}

/// The files of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunManifest {
    /// Every regular file.
    pub files: BTreeMap<SafePath, Blob>,
    /// Folders that contain nothing, so that no file implies them.
    pub empty_folders: BTreeSet<SafePath>,
}

/// Why bytes are not a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ManifestError {
    /// They are not strict JSON.
    #[error("it is not JSON: {0}")]
    Json(String),
    /// They are a different document, or another version of this one.
    #[error("it is not a {FORMAT}")]
    Format,
    /// A member is missing or has the wrong type.
    #[error("it has no valid `{0}`")]
    Member(&'static str),
    /// A path could lead out of its folder.
    #[error("the path `{shown}` is not allowed: {problem}")]
    Path {
        /// The path, escaped.
        shown: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A path occurs twice, or both as a file and as a folder.
    #[error("duplicate path `{0}`")]
    Twice(String),
    /// One digest occurs with several sizes.
    #[error("the digest `{0}` has two sizes")]
    TwoSizes(Digest),
    /// There are more files than any source may have.
    #[error("it lists more than {MAX_ENTRIES} files")]
    TooMany,
    /// The same contents have so many names that they could fill a disk.
    #[error("it repeats contents to more than {ARCHIVE_MAX_RATIO} times their size")]
    Multiplied,
    /// The manifest is not in canonical form, so its digest would differ.
    #[error("it is not in canonical form")]
    Form,
}

/// Whether more bytes would be written than `fetched` bytes of an archive may unpack to.
pub(crate) fn is_multiplied(fetched: u64, written: u64) -> bool {
    written > ARCHIVE_FREE_BYTES && written > fetched.saturating_mul(ARCHIVE_MAX_RATIO)
}

impl RunManifest {
    /// Returns the canonical bytes, which are always the same for the same run.
    ///
    /// # Errors
    /// If a digest has two sizes, or the files are more than a manifest may describe.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ManifestError> {
        let files = self.files.iter().map(|(path, blob)| {
            Value::object([
                ("bytes", Value::from(blob.bytes)),
                ("path", Value::from(path.as_str())),
                ("sha256", Value::from(blob.sha256.to_string())),
            ])
        });
        let folders = self.empty_folders.iter().map(SafePath::as_str);
        let document = Value::object([
            ("empty_folders", Value::array(folders)),
            ("files", Value::array(files)),
            ("format", Value::from(FORMAT)),
        ]);
        let bytes = canonical_bytes(&document, Dialect::Kernel);
        let bytes = bytes.map_err(|error| ManifestError::Json(error.to_string()))?;
        // The manifest counts as fetched too, as the names in an archive do.
        let contents = self.blobs()?.into_values();
        let fetched = contents.fold(bytes.len() as u64, u64::saturating_add);
        if is_multiplied(fetched, self.total_bytes()) {
            Err(ManifestError::Multiplied)
        } else {
            Ok(bytes)
        }
    }

    /// Parses a manifest strictly: writing the result gives back the same bytes.
    ///
    /// # Errors
    /// If the bytes are not a manifest.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        let document = parse_document(bytes, &ReadOptions::default())
            .map_err(|error| ManifestError::Json(error.to_string()))?;
        let root = document.root();
        let format = root.get("format").and_then(|node| node.as_str());
        if format.as_deref() != Some(FORMAT) {
            return Err(ManifestError::Format);
        }
        let files = root.get("files").and_then(|node| node.as_array());
        let files = files.ok_or(ManifestError::Member("files"))?;
        let folders = root.get("empty_folders");
        let folders = folders.and_then(|node| node.as_array());
        let folders = folders.ok_or(ManifestError::Member("empty_folders"))?;
        if (files.len() + folders.len()) as u64 > MAX_ENTRIES {
            return Err(ManifestError::TooMany);
        }
        let mut manifest = Self::default();
        for file in files {
            let path = safe_path(file.get("path"))?;
            let sha256 = file.get("sha256").and_then(|node| node.as_str());
            let sha256 = sha256.and_then(|text| Digest::parse_hex(&text).ok());
            let bytes = file
                .get("bytes")
                .and_then(|node| node.as_number()?.as_integer()?.to_u64());
            let blob = Blob {
                sha256: sha256.ok_or(ManifestError::Member("sha256"))?,
                bytes: bytes.ok_or(ManifestError::Member("bytes"))?,
            };
            if manifest.files.insert(path.clone(), blob).is_some() {
                return Err(ManifestError::Twice(path.to_string()));
            }
        }
        for folder in folders {
            let path = safe_path(Some(folder))?;
            if !manifest.empty_folders.insert(path.clone()) {
                return Err(ManifestError::Twice(path.to_string()));
            }
        }
        manifest.check()?;
        if manifest.to_bytes()? == bytes {
            Ok(manifest)
        } else {
            Err(ManifestError::Form)
        }
    }

    /// Checks across entries that no path is both file and folder and no digest has two sizes.
    fn check(&self) -> Result<(), ManifestError> {
        let folders = self.folders();
        let taken = self
            .files
            .keys()
            .find(|path| folders.contains(path.as_str()));
        if let Some(path) = taken {
            return Err(ManifestError::Twice(path.to_string()));
        }
        self.blobs().map(drop)
    }

    /// Returns every folder, including those that only paths imply.
    pub fn folders(&self) -> BTreeSet<&str> {
        let mut folders = BTreeSet::new();
        for path in self.files.keys() {
            insert_above(&mut folders, path.as_str());
        }
        for path in &self.empty_folders {
            folders.insert(path.as_str());
            insert_above(&mut folders, path.as_str());
        }
        folders
    }

    /// Returns the contents of all files, each once.
    ///
    /// # Errors
    /// If a digest has two sizes, one of which must be wrong.
    pub fn blobs(&self) -> Result<BTreeMap<Digest, u64>, ManifestError> {
        let mut blobs = BTreeMap::new();
        for blob in self.files.values() {
            match blobs.insert(blob.sha256, blob.bytes) {
                Some(bytes) if bytes != blob.bytes => {
                    return Err(ManifestError::TwoSizes(blob.sha256));
                }
                _ => {}
            }
        }
        Ok(blobs)
    }

    /// Returns the total size of all files in bytes.
    pub fn total_bytes(&self) -> u64 {
        let sizes = self.files.values().map(|blob| blob.bytes);
        sizes.fold(0, u64::saturating_add)
    }
}

/// Adds every folder above a path, up to the first that is already there.
fn insert_above<'a>(folders: &mut BTreeSet<&'a str>, mut path: &'a str) {
    while let Some((above, _)) = path.rsplit_once('/') {
        if !folders.insert(above) {
            return;
        }
        path = above;
    }
}

fn safe_path(node: Option<Node<'_>>) -> Result<SafePath, ManifestError> {
    let text = node.and_then(|node| node.as_str().map(|text| text.into_owned()));
    let text = text.ok_or(ManifestError::Member("path"))?;
    SafePath::parse(&text).map_err(|fault| ManifestError::Path {
        shown: text.escape_debug().to_string(),
        problem: fault.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(files: &[(&str, &[u8])], folders: &[&str]) -> RunManifest {
        let path = |text: &str| SafePath::parse(text).unwrap();
        RunManifest {
            files: files
                .iter()
                .map(|(name, bytes)| {
                    let blob = Blob {
                        sha256: Digest::of(bytes),
                        bytes: bytes.len() as u64,
                    };
                    (path(name), blob)
                })
                .collect(),
            empty_folders: folders.iter().map(|name| path(name)).collect(),
        }
    }

    #[test]
    fn manifest_round_trips_in_canonical_order() {
        let one = manifest(&[("b/c", b"1"), ("a", b"2")], &["empty/inner"]);
        let other = manifest(&[("a", b"2"), ("b/c", b"1")], &["empty/inner"]);
        let bytes = one.to_bytes().unwrap();
        assert_eq!(bytes, other.to_bytes().unwrap());
        assert_eq!(RunManifest::parse(&bytes).unwrap(), one);
        let folders: Vec<_> = one.folders().into_iter().collect();
        assert_eq!(folders, ["b", "empty", "empty/inner"]);
    }

    #[test]
    fn manifest_repeating_contents_too_often_is_refused() {
        let named = |count: u32, bytes: u64| {
            let blob = Blob {
                sha256: Digest::of(b"one"),
                bytes,
            };
            let file = |number| SafePath::parse(&format!("{number:05}")).map(|path| (path, blob));
            let files = (0..count).map(file).collect::<Result<_, _>>();
            RunManifest {
                files: files.unwrap(),
                empty_folders: BTreeSet::new(),
            }
        };
        assert_eq!(
            named(300, 1 << 20).to_bytes(),
            Err(ManifestError::Multiplied)
        );
        // A manifest from elsewhere is checked too.
        let text = String::from_utf8(named(300, 1).to_bytes().unwrap()).unwrap();
        let hostile = text.replace("\"bytes\":1,", "\"bytes\":1048576,");
        let parsed = RunManifest::parse(hostile.as_bytes());
        assert_eq!(parsed, Err(ManifestError::Multiplied));
        // As with archives, any number of small files may be alike.
        assert!(named(20_000, 4_096).to_bytes().is_ok());
        assert!(named(150, 1 << 20).to_bytes().is_ok());
    }

    #[test]
    fn manifest_with_unsafe_paths_or_wrong_values_is_refused() {
        let good = manifest(&[("a", b"1")], &[]).to_bytes().unwrap();
        let good = String::from_utf8(good).unwrap();
        let parse = |text: &str| RunManifest::parse(text.as_bytes());
        assert!(parse(&good).is_ok());
        for (from, to) in [
            ("\"a\"", "\"../a\""),
            ("\"a\"", "\"/a\""),
            (":1,", ":-1,"),
            (":1,", ":1.5,"),
            ("v1", "v2"),
            ("{\"bytes\"", " {\"bytes\""),
        ] {
            assert!(parse(&good.replace(from, to)).is_err(), "{from} → {to}");
        }
        let clash = manifest(&[("a", b"1"), ("a/b", b"1")], &[]);
        let clash = clash.to_bytes().unwrap();
        assert!(matches!(
            RunManifest::parse(&clash),
            Err(ManifestError::Twice(_))
        ));
        let mut sizes = manifest(&[("a", b"1"), ("b", b"1")], &[]);
        sizes.files.values_mut().for_each(|blob| blob.bytes += 1);
        assert!(sizes.blobs().is_ok());
        sizes
            .files
            .values_mut()
            .take(1)
            .for_each(|blob| blob.bytes += 1);
        assert!(matches!(sizes.blobs(), Err(ManifestError::TwoSizes(_))));
    }
}
