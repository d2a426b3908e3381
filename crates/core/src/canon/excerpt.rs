//! The canonical text of a value or, if it is long, its beginning, size and digest.

use std::io;

use super::dialect::Dialect;
use super::error::NoCanonicalForm;
use super::writer::{AnyJson, write};
use crate::digest::{Digest, Hasher};

/// The beginning of a canonical text, with size and digest of the whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The text, or its beginning.
    pub beginning: Vec<u8>,
    /// The size and SHA-256 of the whole text, if it is longer than `beginning`.
    pub whole: Option<(u64, Digest)>,
}

/// Returns the canonical text of `value` up to `longest` bytes. The rest is hashed while it is written and is never in
/// memory.
///
/// # Errors
/// If the value has no form in the dialect.
pub fn canonical_excerpt<'a>(
    value: impl Into<AnyJson<'a>>,
    dialect: Dialect,
    longest: usize,
) -> Result<Excerpt, NoCanonicalForm> {
    let mut cutting = Cutting {
        beginning: Vec::new(),
        longest,
        rest: None,
    };
    match write(value.into(), dialect, b"", &mut cutting) {
        Ok(()) => {}
        Err(failure) => return Err(failure.into_no_form()),
    }
    let whole = |(hasher, bytes): (Hasher, u64)| (bytes, hasher.finish());
    Ok(Excerpt {
        beginning: cutting.beginning,
        whole: cutting.rest.map(whole),
    })
}

/// A sink that keeps the beginning of what is written, and hashes everything once there is more.
struct Cutting {
    beginning: Vec<u8>,
    longest: usize,
    /// The hasher of the whole text, and its size so far.
    rest: Option<(Hasher, u64)>,
}

impl io::Write for Cutting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.longest - self.beginning.len();
        let (kept, rest) = bytes.split_at(bytes.len().min(room));
        self.beginning.extend_from_slice(kept);
        if !rest.is_empty() {
            let (hasher, written) = self.rest.get_or_insert_with(|| {
                let mut hasher = Hasher::new();
                hasher.update(&self.beginning);
                (hasher, self.beginning.len() as u64)
            });
            hasher.update(rest);
            *written += rest.len() as u64;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::{ReadOptions, canonical_bytes, parse_document};

    #[test]
    fn excerpt_is_the_text_or_its_beginning_with_the_digest_of_all() {
        let long = format!("[{}1]", "\"some text\", ".repeat(10_000));
        let document = parse_document(long.as_bytes(), &ReadOptions::default()).unwrap();
        let all = canonical_bytes(document.root(), Dialect::Job).unwrap();
        for longest in [0, 1, 64, 20_000, all.len() - 1] {
            let cut = canonical_excerpt(document.root(), Dialect::Job, longest).unwrap();
            assert_eq!(cut.beginning, all[..longest]);
            assert_eq!(cut.whole, Some((all.len() as u64, Digest::of(&all))));
        }
        for longest in [all.len(), all.len() + 1] {
            let uncut = canonical_excerpt(document.root(), Dialect::Job, longest).unwrap();
            assert_eq!((uncut.beginning, uncut.whole), (all.clone(), None));
        }
    }
}
