//! Archives made byte by byte: writers refuse to make most of these.

pub mod disguised;
pub mod streams;
pub mod tars;
pub mod zips;

/// One archive, with the ending that its file name needs.
#[derive(Debug, Clone)]
pub struct Case {
    /// What is odd about it.
    pub name: String,
    /// `tar`, `tar.gz`, `tar.zst` or `zip`.
    pub ending: &'static str,
    pub bytes: Vec<u8>,
}

/// Collects cases.
#[derive(Debug, Default)]
pub struct Cases(pub Vec<Case>);

impl Cases {
    pub fn add(&mut self, name: impl Into<String>, ending: &'static str, bytes: Vec<u8>) {
        let name = name.into();
        self.0.push(Case {
            name,
            ending,
            bytes,
        });
    }
}

/// Archives that unpackers read in different ways, or that are malicious: none may be accepted.
pub fn hostile() -> Vec<Case> {
    let mut cases = Cases::default();
    tars::add_hostile(&mut cases);
    zips::add_hostile(&mut cases);
    streams::add_hostile(&mut cases);
    disguised::add_hostile(&mut cases);
    cases.0
}

/// Archives that are unusual but have only one reading: all are accepted.
pub fn unusual() -> Vec<Case> {
    let mut cases = Cases::default();
    tars::add_unusual(&mut cases);
    zips::add_unusual(&mut cases);
    streams::add_unusual(&mut cases);
    disguised::add_unusual(&mut cases);
    cases.0
}

/// Pseudo-random numbers that are the same on every machine.
#[derive(Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % limit
    }
}
