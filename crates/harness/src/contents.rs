//! The bytes behind the hashes of an execution: the output of its commands and the files it left.

use std::collections::{BTreeMap, BTreeSet};

use runseal_core::canon::Value;
use runseal_core::digest::ContentHash;
use runseal_core::formats::evidence::{encode_content, encode_omitted};
use runseal_core::limits::RUN_KEPT_CONTENTS;

/// Contents by hash, up to a limit; of those beyond it, only the size is known.
#[derive(Default)]
pub(super) struct Contents {
    kept: BTreeMap<ContentHash, Vec<u8>>,
    omitted: BTreeMap<ContentHash, u64>,
    bytes: usize,
}

impl Contents {
    /// Stores a content if there is room, and returns its hash.
    pub(super) fn keep(&mut self, bytes: &[u8]) -> ContentHash {
        let hash = ContentHash::of(bytes);
        if self.kept.contains_key(&hash) {
            return hash;
        }
        if bytes.len() > RUN_KEPT_CONTENTS.saturating_sub(self.bytes) {
            self.omitted.insert(hash, bytes.len() as u64);
        } else {
            self.bytes += bytes.len();
            self.kept.insert(hash, bytes.to_vec());
        }
        hash
    }

    /// Returns the content with this hash, if it was stored.
    pub(super) fn get(&self, hash: ContentHash) -> Option<&[u8]> {
        self.kept.get(&hash).map(Vec::as_slice)
    }

    /// The member `contents` of evidence.json, restricted to these hashes.
    pub(super) fn to_value(&self, wanted: &BTreeSet<ContentHash>) -> Value {
        let mut contents = Value::object::<Value>([]);
        for hash in wanted {
            let kept = self.kept.get(hash).map(|bytes| encode_content(bytes));
            let omitted = self.omitted.get(hash).map(|size| encode_omitted(*size));
            if let Some(entry) = kept.or(omitted) {
                contents.insert(&hash.to_string(), entry);
            }
        }
        contents
    }
}

/// The last lines of a command's standard error: at most 20 lines and 4,000 bytes.
pub(super) fn tail(bytes: &[u8]) -> String {
    const LINES: usize = 20;
    const BYTES: usize = 4_000;
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_end();
    let mut start = text.len().saturating_sub(BYTES);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let shown = text.get(start..).unwrap_or_default();
    let lines: Vec<&str> = shown.lines().collect();
    let first = lines.len().saturating_sub(LINES);
    lines.get(first..).unwrap_or_default().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_beyond_the_limit_have_only_their_size() {
        let mut contents = Contents::default();
        let small = contents.keep(b"said");
        let large = contents.keep(&vec![b'x'; RUN_KEPT_CONTENTS]);
        assert_eq!(contents.get(small), Some(&b"said"[..]));
        assert_eq!(contents.get(large), None);
        let value = contents.to_value(&BTreeSet::from([small, large]));
        let entry = value.get(&large.to_string()).unwrap();
        assert_eq!(entry.get("omitted"), Some(&Value::from(true)));
        let fewer = contents.to_value(&BTreeSet::from([large]));
        assert!(fewer.get(&small.to_string()).is_none());
    }

    #[test]
    fn tail_is_the_last_lines_of_a_bounded_length() {
        let many: String = (0..100).map(|n| format!("line {n}\n")).collect();
        let shown = tail(many.as_bytes());
        assert_eq!(shown.lines().count(), 20);
        assert!(shown.ends_with("line 99"));
        assert!(tail("é".repeat(9_000).as_bytes()).len() <= 4_000);
        assert_eq!(tail(b""), "");
    }
}
