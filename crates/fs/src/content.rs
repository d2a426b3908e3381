//! Reads one file to its [`ContentFact`]: size, SHA-256, UTF-8, final newlines.

use std::fs::File;
use std::io;

use runseal_core::source::{ContentFact, TextCheck};

use crate::stream::digest_through;

/// The size of the scratch buffer; most files fit into one read.
pub(crate) const SMALL: usize = 32 << 10;

/// Reads a file that was listed as regular to its end. `buffer` is scratch space.
///
/// Another file may have taken its place since. Its bytes are judged by their hash like any others,
/// so the type of a small file is not checked again: that would be a fifth of the cost. It is
/// checked if the buffer was filled, because a device has no end.
pub(crate) fn read_content(file: &File, buffer: &mut [u8]) -> io::Result<ContentFact> {
    let mut text = TextCheck::default();
    let room = buffer.len();
    let mut is_asked = false;
    let digest = digest_through(&mut &*file, 0, buffer, |piece| {
        if piece.len() >= room && !is_asked {
            if !file.metadata()?.is_file() {
                return Err(io::Error::other(
                    "it was listed as a regular file and is not one",
                ));
            }
            is_asked = true;
        }
        text.update(piece);
        Ok(())
    })?;
    Ok(text.finish(digest))
}

#[cfg(test)]
mod tests {
    use runseal_core::digest::Digest;
    use std::io::{Seek, SeekFrom, Write};

    use super::*;

    #[test]
    fn content_of_a_device_without_end_is_refused() {
        let device = File::open("/dev/zero").unwrap();
        let refused = read_content(&device, &mut vec![0; SMALL]).unwrap_err();
        assert!(refused.to_string().contains("listed as a regular file"));
    }

    #[test]
    fn content_small_and_large_agree_with_the_plain_digest() {
        let line = "0123456789 é\n".as_bytes();
        for repeats in [0usize, 1, 20_000, 700_000] {
            let bytes = line.repeat(repeats);
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes).unwrap();
            file.seek(SeekFrom::Start(0)).unwrap();
            let mut buffer = vec![0; SMALL];
            let fact = read_content(&file, &mut buffer).unwrap();
            assert_eq!(fact.bytes, bytes.len() as u64);
            assert_eq!(fact.sha256, Digest::of(&bytes));
            assert_eq!(fact.bad_utf8, None);
            assert_eq!(fact.final_newlines, u8::from(repeats > 0));
        }
    }
}
