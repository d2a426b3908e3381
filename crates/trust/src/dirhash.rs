//! in-toto's digest of a folder, which coreutils can compute too.
//!
//! `find . -type f | cut -c3- | LC_ALL=C sort | xargs -r sha256sum | sha256sum`

use std::collections::BTreeMap;

use runseal_core::digest::Digest;

/// Returns the listing of `sha256sum`, sorted by name as in the C locale. The names must be safe to
/// print: `sha256sum` escapes line breaks and backslashes.
pub fn listing(files: &BTreeMap<String, Digest>) -> String {
    let mut text = String::new();
    for (name, digest) in files {
        text.push_str(&format!("{digest}  {name}\n"));
    }
    text
}

/// Returns the digest called `dirHash1`.
pub fn compute_dir_hash(files: &BTreeMap<String, Digest>) -> Digest {
    Digest::of(listing(files).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dir_hash_equals_coreutils_output() {
        // printf a > B; mkdir a; printf b > a/x; printf c > a.b; then the command above.
        let files = [("B", "a"), ("a/x", "b"), ("a.b", "c")];
        let files = files
            .into_iter()
            .map(|(name, text)| (name.to_owned(), Digest::of(text.as_bytes())))
            .collect();
        assert_eq!(compute_dir_hash(&files).to_string(), EXPECTED);
    }

    const EXPECTED: &str = "2401e8f48415c605bf45e0595c613d7f0c7a8fa0a82fe5f3e51ad00c35259f48";
}
