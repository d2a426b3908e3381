//! Signing keys: parsed from key files, and generated from the system's randomness.

use runseal_core::digest::decode_lower_hex;
use runseal_core::formats::receipt::attestation::Key;
use thiserror::Error;

/// The most bytes of a key file that are read.
pub const MAX_KEY_BYTES: u64 = 64 << 10;

/// Why there is no key.
#[derive(Debug, Error)]
pub enum KeyError {
    /// The file has none of the known key formats.
    #[error("no ed25519 key: expected 32 raw bytes, 64 hex digits, or a PKCS #8 PEM text")]
    Unknown,
    /// The system provides no random bytes.
    #[error("the system gives no random bytes: {0}")]
    Random(String),
}

/// Reads a key: 32 raw bytes, 64 hex digits with or without LF, or PEM.
pub fn parse_key(bytes: &[u8]) -> Result<Key, KeyError> {
    if let Ok(seed) = <&[u8; 32]>::try_from(bytes) {
        return Ok(Key::from_seed(seed));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| KeyError::Unknown)?;
    let digits = text.strip_suffix('\n').unwrap_or(text);
    let digits = digits.strip_suffix('\r').unwrap_or(digits);
    if let Some(seed) = decode_lower_hex(digits.to_ascii_lowercase()) {
        return Ok(Key::from_seed(&seed));
    }
    Key::from_pem(text).ok_or(KeyError::Unknown)
}

/// Fills a buffer with random bytes from the system.
pub fn fill_random(bytes: &mut [u8]) -> Result<(), KeyError> {
    getrandom::fill(bytes).map_err(|error| KeyError::Random(error.to_string()))
}

/// 32 random bytes for a new key.
pub fn generate_seed() -> Result<[u8; 32], KeyError> {
    let mut seed = [0; 32];
    fill_random(&mut seed)?;
    Ok(seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_in_every_form_is_the_same_key() {
        let seed: [u8; 32] = std::array::from_fn(|at| at as u8 + 1);
        let hex: String = seed.iter().map(|byte| format!("{byte:02x}")).collect();
        let expected = Key::from_seed(&seed).public_hex();
        let pem = "-----BEGIN PRIVATE KEY-----\n\
                   MC4CAQAwBQYDK2VwBCIEIAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g\n\
                   -----END PRIVATE KEY-----\n";
        for form in [
            seed.to_vec(),
            hex.clone().into_bytes(),
            format!("{hex}\n").into_bytes(),
            hex.to_uppercase().into_bytes(),
            pem.as_bytes().to_vec(),
        ] {
            assert_eq!(parse_key(&form).unwrap().public_hex(), expected);
        }
        for broken in [
            &b""[..],
            b"abc",
            &[0; 33],
            "00".repeat(33).as_bytes(),
            b"-----BEGIN",
        ] {
            assert!(parse_key(broken).is_err());
        }
    }

    #[test]
    fn seeds_generated_differ() {
        assert_ne!(generate_seed().unwrap(), generate_seed().unwrap());
    }
}
