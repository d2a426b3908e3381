//! The digest that stands for all that a unit holds, whatever its name and wherever it lies.

use std::collections::BTreeMap;

use runseal_core::digest::{Digest, Hasher};
use runseal_survey::Noted;

/// The content digest of a unit, of the very bytes that were judged: SHA-256 over a document's bytes;
/// of a folder, over a line for each file. The same folder inside an archive has the same.
pub fn compute_content_digest(noted: &Noted) -> Digest {
    match &noted.document {
        Some(bytes) => Digest::of(bytes),
        None => digest_of_files(&noted.files),
    }
}

/// SHA-256 over a line for each file, `<sha256>  <path>`, sorted by path; what is no regular file
/// has a dash for its digest.
fn digest_of_files(files: &BTreeMap<String, Option<Digest>>) -> Digest {
    let mut hasher = Hasher::new();
    for (path, digest) in files {
        let digest = digest.map_or_else(|| "-".to_owned(), |digest| digest.to_string());
        hasher.update(format!("{digest}  {path}\n").as_bytes());
    }
    hasher.finish()
}
