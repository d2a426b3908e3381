//! Who may ask models through a listener.
//!
//! A listener in a network namespace is reached by the command alone. One on the host's loopback is reached
//! by every user of the machine and by every page in a browser, so there a client has to show a token, which
//! is made for one command, which gets it as its API key. Only the command gets it: what
//! is recorded of its environment and of its requests has [`super::KEY_STAND_IN`] in its place, so
//! that recordings do not depend on it.

use std::fmt;
use std::io;

/// The random bytes of a token.
const RANDOM_BYTES: usize = 24;
/// The shortest key of the caller's that lets a command in: a shorter value may be guessed.
const LEAST_KEY: usize = 16;

/// Who may ask through a listener.
#[derive(Debug, Clone)]
pub enum Admission {
    /// Whoever reaches it.
    Everyone,
    /// Whoever shows one of the credentials of a command.
    Holders(Credentials),
}

/// What a command shows to be let in.
#[derive(Clone)]
pub struct Credentials {
    token: String,
    /// Keys that the caller gave to the command itself, which it shows in place of the token.
    keys: Vec<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}

impl Credentials {
    /// A new token, and the keys that the command has anyway.
    ///
    /// # Errors
    /// When the system provides no random bytes.
    pub fn generate(keys: impl IntoIterator<Item = String>) -> io::Result<Self> {
        let mut random = [0; RANDOM_BYTES];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self {
            token: format!("runseal-{hex}"),
            keys: keys
                .into_iter()
                .filter(|key| key.len() >= LEAST_KEY)
                .collect(),
        })
    }

    /// The token, which replaces a key.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Whether `shown` is one of the credentials. How long this takes does not depend on where the two
    /// differ.
    pub fn admit(&self, shown: &[u8]) -> bool {
        let all = std::iter::once(&self.token).chain(&self.keys);
        all.fold(false, |found, known| {
            found | is_equal(known.as_bytes(), shown)
        })
    }
}

fn is_equal(known: &[u8], shown: &[u8]) -> bool {
    if known.len() != shown.len() {
        return false;
    }
    let pairs = known.iter().zip(shown);
    let difference = pairs.fold(0, |difference, (one, other)| difference | (one ^ other));
    std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_admit_their_own_token_and_keys_and_nothing_else() {
        let keys = ["own-key-0123456789".to_owned(), "1".to_owned()];
        let one = Credentials::generate(keys).unwrap();
        let other = Credentials::generate([]).unwrap();
        assert_ne!(one.token(), other.token());
        assert!(one.admit(one.token().as_bytes()) && one.admit(b"own-key-0123456789"));
        for shown in [
            other.token(),
            "",
            "1",
            "own-key-0123456788",
            super::super::KEY_STAND_IN,
        ] {
            assert!(!one.admit(shown.as_bytes()), "{shown}");
        }
        assert_eq!(format!("{one:?}"), "Credentials");
    }
}
