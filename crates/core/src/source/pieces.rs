//! A file in pieces of one size, with the digest of each.

use std::io::{self, Read};

use crate::digest::{Digest, Hasher};

/// The bytes of a piece; the last one has the rest.
pub const PIECE: u64 = 1 << 16;

/// A piece of a file as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The digest of its bytes.
    pub sha256: Digest,
    /// Whether all its bytes are zero.
    pub is_blank: bool,
}

/// A file as it was read, piece by piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PiecedFile {
    /// Its size in bytes.
    pub size: u64,
    /// The digest of all its bytes.
    pub sha256: Digest,
    /// Its pieces in order.
    pub pieces: Vec<Piece>,
}

/// Reads a file piece by piece; calls `see` with each piece.
///
/// # Errors
/// If it cannot be read.
pub fn read_pieces(file: &mut dyn Read, mut see: impl FnMut(&[u8])) -> io::Result<PiecedFile> {
    let mut whole = Hasher::new();
    let (mut size, mut pieces) = (0, Vec::new());
    let mut piece = Vec::with_capacity(PIECE as usize);
    loop {
        piece.clear();
        let count = file.take(PIECE).read_to_end(&mut piece)?;
        if count == 0 {
            break;
        }
        whole.update(&piece);
        size += count as u64;
        pieces.push(Piece {
            sha256: Digest::of(&piece),
            is_blank: piece.iter().all(|byte| *byte == 0),
        });
        see(&piece);
    }
    Ok(PiecedFile {
        size,
        sha256: whole.finish(),
        pieces,
    })
}
