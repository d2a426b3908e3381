//! The digest that identifies the content of a unit, whatever its name and location.

use std::collections::BTreeMap;

use runseal_core::digest::{Digest, Hasher};
use runseal_survey::Noted;

/// The content digest of a unit, over the very bytes that were judged: the SHA-256 of a document's
/// bytes or, for a folder, of one line per file. The same folder inside an archive has the same
/// digest.
pub fn compute_content_digest(noted: &Noted) -> Digest {
    match &noted.document {
        Some(bytes) => Digest::of(bytes),
        None => digest_of_files(&noted.files),
    }
}

/// SHA-256 over one line per file, `<sha256>  <path>`, sorted by path; anything other than a
/// regular file has a dash instead of a digest.
fn digest_of_files(files: &BTreeMap<String, Option<Digest>>) -> Digest {
    let mut hasher = Hasher::new();
    for (path, digest) in files {
        let digest = digest.map_or_else(|| "-".to_owned(), |digest| digest.to_string());
        hasher.update(format!("{digest}  {path}\n").as_bytes());
    }
    hasher.finish()
}
