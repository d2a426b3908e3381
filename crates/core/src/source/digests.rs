//! Digests of a file under the hash functions that other people's lists use.
//!
//! Our own formats use SHA-256. Bags and lists from elsewhere may use older or longer functions; all
//! that are wanted are computed in one pass.

use std::io::{self, Read};

use sha2::Digest as _;

use crate::digest::Digest;

/// A hash function that a list of files may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Algorithm {
    /// MD5. Two files with the same digest can be made in seconds.
    Md5,
    /// SHA-1. Two files with the same digest have been made.
    Sha1,
    /// SHA-224.
    Sha224,
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

impl Algorithm {
    /// Every function, weakest first.
    pub const ALL: [Self; 6] = [
        Self::Md5,
        Self::Sha1,
        Self::Sha224,
        Self::Sha256,
        Self::Sha384,
        Self::Sha512,
    ];

    /// The name as it appears in file names: lower case, no hyphen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Md5 => "md5",
            Self::Sha1 => "sha1",
            Self::Sha224 => "sha224",
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
        }
    }

    /// The function with this name.
    pub fn of_name(name: &str) -> Option<Self> {
        let named = |algorithm: &Self| algorithm.name() == name;
        Self::ALL.into_iter().find(named)
    }

    /// The number of hex digits of a digest.
    pub const fn hex_digits(self) -> usize {
        match self {
            Self::Md5 => 32,
            Self::Sha1 => 40,
            Self::Sha224 => 56,
            Self::Sha256 => 64,
            Self::Sha384 => 96,
            Self::Sha512 => 128,
        }
    }

    /// Whether two different files with the same digest can be made.
    pub const fn is_forgeable(self) -> bool {
        matches!(self, Self::Md5 | Self::Sha1)
    }
}

/// A set of hash functions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Algorithms(u8);

impl Algorithms {
    /// Adds `algorithm` to the set.
    #[must_use]
    pub const fn with(self, algorithm: Algorithm) -> Self {
        Self(self.0 | 1 << algorithm as u8)
    }

    /// The functions of both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether `algorithm` is in the set.
    pub const fn has(self, algorithm: Algorithm) -> bool {
        self.0 & (1 << algorithm as u8) != 0
    }

    /// The functions other than SHA-256, which is always computed.
    pub fn others(self) -> impl Iterator<Item = Algorithm> {
        Algorithm::ALL
            .into_iter()
            .filter(move |algorithm| *algorithm != Algorithm::Sha256 && self.has(*algorithm))
    }
}

/// The digests of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDigests {
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: Digest,
    others: Vec<(Algorithm, Box<str>)>,
}

impl FileDigests {
    /// Reads `file` to its end.
    ///
    /// # Errors
    /// If reading fails.
    pub fn read(mut file: impl Read, wanted: Algorithms) -> io::Result<Self> {
        let mut hashers = Hashers::new(wanted);
        let mut buffer = vec![0; 64 << 10];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => return Ok(hashers.finish()),
                Ok(count) => hashers.update(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The digests of `bytes`.
    pub fn of(bytes: &[u8], wanted: Algorithms) -> Self {
        let mut hashers = Hashers::new(wanted);
        hashers.update(bytes);
        hashers.finish()
    }

    /// The digests of a file for which only SHA-256 was computed.
    pub fn of_sha256(bytes: u64, sha256: Digest) -> Self {
        Self {
            bytes,
            sha256,
            others: Vec::new(),
        }
    }

    /// The digest under `algorithm` in lower-case hex; `None` if it was not computed.
    pub fn hex(&self, algorithm: Algorithm) -> Option<String> {
        if algorithm == Algorithm::Sha256 {
            return Some(self.sha256.to_string());
        }
        let mut others = self.others.iter();
        let (_, hex) = others.find(|(other, _)| *other == algorithm)?;
        Some(hex.to_string())
    }
}

/// Computes several digests of one file that arrives in pieces.
pub struct Hashers {
    bytes: u64,
    sha256: crate::digest::Hasher,
    others: Vec<(Algorithm, OtherHasher)>,
}

enum OtherHasher {
    Md5(md5::Md5),
    Sha1(sha1::Sha1),
    Sha224(sha2::Sha224),
    Sha384(sha2::Sha384),
    Sha512(sha2::Sha512),
}

impl OtherHasher {
    fn new(algorithm: Algorithm) -> Option<Self> {
        Some(match algorithm {
            Algorithm::Md5 => Self::Md5(md5::Md5::new()),
            Algorithm::Sha1 => Self::Sha1(sha1::Sha1::new()),
            Algorithm::Sha224 => Self::Sha224(sha2::Sha224::new()),
            Algorithm::Sha256 => return None,
            Algorithm::Sha384 => Self::Sha384(sha2::Sha384::new()),
            Algorithm::Sha512 => Self::Sha512(sha2::Sha512::new()),
        })
    }

    fn update(&mut self, piece: &[u8]) {
        match self {
            Self::Md5(hasher) => hasher.update(piece),
            Self::Sha1(hasher) => hasher.update(piece),
            Self::Sha224(hasher) => hasher.update(piece),
            Self::Sha384(hasher) => hasher.update(piece),
            Self::Sha512(hasher) => hasher.update(piece),
        }
    }

    fn finish(self) -> Box<str> {
        match self {
            Self::Md5(hasher) => lower_hex(&hasher.finalize()),
            Self::Sha1(hasher) => lower_hex(&hasher.finalize()),
            Self::Sha224(hasher) => lower_hex(&hasher.finalize()),
            Self::Sha384(hasher) => lower_hex(&hasher.finalize()),
            Self::Sha512(hasher) => lower_hex(&hasher.finalize()),
        }
    }
}

impl Hashers {
    /// Starts the wanted functions and SHA-256.
    pub fn new(wanted: Algorithms) -> Self {
        let other = |algorithm| Some((algorithm, OtherHasher::new(algorithm)?));
        Self {
            bytes: 0,
            sha256: crate::digest::Hasher::new(),
            others: wanted.others().filter_map(other).collect(),
        }
    }

    /// Adds the next piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        self.sha256.update(piece);
        for (_, hasher) in &mut self.others {
            hasher.update(piece);
        }
    }

    /// Returns the digests of all pieces.
    pub fn finish(self) -> FileDigests {
        let others = self.others.into_iter();
        FileDigests {
            bytes: self.bytes,
            sha256: self.sha256.finish(),
            others: others
                .map(|(algorithm, hasher)| (algorithm, hasher.finish()))
                .collect(),
        }
    }
}

fn lower_hex(bytes: &[u8]) -> Box<str> {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let text: String = digits.map(|digit| DIGITS[usize::from(digit)]).collect();
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_of_the_empty_file_are_the_published_ones() {
        let all = Algorithm::ALL.into_iter();
        let all = all.fold(Algorithms::default(), Algorithms::with);
        let digests = FileDigests::read(io::empty(), all).unwrap();
        for (algorithm, begins) in [
            (Algorithm::Md5, "d41d8cd98f00b204"),
            (Algorithm::Sha1, "da39a3ee5e6b4b0d"),
            (Algorithm::Sha224, "d14a028c2a3a2bc9"),
            (Algorithm::Sha256, "e3b0c44298fc1c14"),
            (Algorithm::Sha384, "38b060a751ac9638"),
            (Algorithm::Sha512, "cf83e1357eefb8bd"),
        ] {
            let hex = digests.hex(algorithm).unwrap();
            assert!(hex.starts_with(begins), "{hex}");
            assert_eq!(hex.len(), algorithm.hex_digits());
            assert_eq!(Algorithm::of_name(algorithm.name()), Some(algorithm));
        }
    }

    #[test]
    fn digests_in_pieces_are_those_of_the_whole() {
        let wanted = Algorithms::default().with(Algorithm::Sha512);
        let mut hashers = Hashers::new(wanted);
        hashers.update(b"ab");
        hashers.update(b"c");
        let digests = hashers.finish();
        assert_eq!(digests, FileDigests::of(b"abc", wanted));
        assert_eq!(digests.bytes, 3);
        assert_eq!(digests.hex(Algorithm::Md5), None, "not wanted");
    }
}
