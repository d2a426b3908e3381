//! OpenSSH's encodings: public keys, private key files, and the agent's messages.

use aes::cipher::{KeyIvInit as _, StreamCipher as _};
use p256::elliptic_curve::zeroize::Zeroizing;

use super::{Algorithm, KeyError, PrivateKey, PublicKey, Signer as _};
use crate::encoding::{decode_base64, encode_armour, encode_base64};
use crate::limits::MAX_BCRYPT_ROUNDS;

const ED25519: &str = "ssh-ed25519";
const ECDSA_P256: &str = "ecdsa-sha2-nistp256";
const CURVE: &str = "nistp256";
const FILE_MAGIC: &[u8] = b"openssh-key-v1\0";

/// Reads SSH's wire format. Every read returns `None` if too little is left.
pub(super) struct Wire<'a>(pub &'a [u8]);

impl<'a> Wire<'a> {
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    pub fn u32(&mut self) -> Option<u32> {
        let bytes = self.bytes(4)?;
        bytes.try_into().ok().map(u32::from_be_bytes)
    }

    pub fn string(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()?;
        self.bytes(usize::try_from(length).ok()?)
    }

    pub fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.string()?).ok()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Appends a string in the wire format.
pub(super) fn put_string(out: &mut Vec<u8>, bytes: &[u8]) {
    // No string here comes near four gigabytes.
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(bytes);
}

/// Encodes a key as in agents, signatures and `.pub` files.
pub fn encode_public(key: &PublicKey) -> Vec<u8> {
    let mut blob = Vec::new();
    match key.algorithm() {
        Algorithm::Ed25519 => put_string(&mut blob, ED25519.as_bytes()),
        Algorithm::EcdsaP256 => {
            put_string(&mut blob, ECDSA_P256.as_bytes());
            put_string(&mut blob, CURVE.as_bytes());
        }
    }
    put_string(&mut blob, key.point());
    blob
}

/// Reads a key as in agents, signatures and `.pub` files.
pub(super) fn parse_public_blob(blob: &[u8]) -> Result<PublicKey, KeyError> {
    let damaged = KeyError::Damaged("its OpenSSH form is cut off or too long");
    let mut wire = Wire(blob);
    let key = parse_public_parts(&mut wire)?;
    if wire.is_empty() {
        Ok(key)
    } else {
        Err(damaged)
    }
}

fn parse_public_parts(wire: &mut Wire<'_>) -> Result<PublicKey, KeyError> {
    let damaged = || KeyError::Damaged("its OpenSSH form is cut off or too long");
    match wire.text().ok_or_else(damaged)? {
        ED25519 => {
            let point = wire.string().and_then(|point| point.try_into().ok());
            PublicKey::from_ed25519(point.ok_or_else(damaged)?)
        }
        ECDSA_P256 => {
            if wire.text() != Some(CURVE) {
                return Err(KeyError::Damaged("it names two curves"));
            }
            PublicKey::from_p256(wire.string().ok_or_else(damaged)?)
        }
        other => Err(KeyError::OtherType(format!(
            "of OpenSSH's type `{}`",
            other.escape_debug()
        ))),
    }
}

/// Reads a line of a `.pub` file: type, base64, comment.
pub fn parse_public_line(line: &str) -> Result<PublicKey, KeyError> {
    let mut words = line.split_ascii_whitespace();
    let (Some(kind), Some(body)) = (words.next(), words.next()) else {
        return Err(KeyError::NoPublicKey);
    };
    let blob = decode_base64(body).ok_or(KeyError::NoPublicKey)?;
    if Wire(&blob).text() != Some(kind) {
        return Err(KeyError::Damaged(
            "the line and the key name different types",
        ));
    }
    parse_public_blob(&blob)
}

/// Formats a line of a `.pub` file, without comment and LF.
pub fn format_public_line(key: &PublicKey) -> String {
    let kind = match key.algorithm() {
        Algorithm::Ed25519 => ED25519,
        Algorithm::EcdsaP256 => ECDSA_P256,
    };
    format!("{kind} {}", encode_base64(&encode_public(key)))
}

/// Reads an OpenSSH private key, unarmoured.
pub(super) fn parse_private(
    blob: &[u8],
    passphrase: Option<&[u8]>,
) -> Result<PrivateKey, KeyError> {
    let damaged = || KeyError::Damaged("its OpenSSH form is cut off");
    let body = blob.strip_prefix(FILE_MAGIC).ok_or_else(damaged)?;
    let mut wire = Wire(body);
    let cipher = wire.text().ok_or_else(damaged)?;
    let kdf = wire.text().ok_or_else(damaged)?;
    let options = wire.string().ok_or_else(damaged)?;
    if wire.u32() != Some(1) {
        return Err(KeyError::Damaged("it does not contain exactly one key"));
    }
    let public = parse_public_blob(wire.string().ok_or_else(damaged)?)?;
    let mut section = Zeroizing::new(wire.string().ok_or_else(damaged)?.to_vec());
    let is_encrypted = match (cipher, kdf) {
        ("none", "none") => false,
        ("aes256-ctr", "bcrypt") => {
            let passphrase = passphrase.ok_or(KeyError::PassphraseNeeded)?;
            let mut options = Wire(options);
            let salt = options.string().ok_or_else(damaged)?;
            let rounds = options.u32().ok_or_else(damaged)?;
            apply_cipher(&mut section, passphrase, salt, rounds)?;
            true
        }
        (cipher, kdf) => {
            let name = format!("`{}` and `{}`", cipher.escape_debug(), kdf.escape_debug());
            return Err(KeyError::UnknownCipher(name));
        }
    };
    let key = parse_private_section(&section, is_encrypted)?;
    if *key.public_key() == public {
        Ok(key)
    } else {
        Err(KeyError::Damaged("its public half belongs to another key"))
    }
}

fn parse_private_section(section: &[u8], is_encrypted: bool) -> Result<PrivateKey, KeyError> {
    let damaged = || KeyError::Damaged("its private part is cut off");
    let mut wire = Wire(section);
    let (first, second) = (wire.u32(), wire.u32());
    if first.is_none() || first != second {
        // OpenSSH recognizes a right passphrase by two equal numbers.
        return Err(if is_encrypted {
            KeyError::WrongPassphrase
        } else {
            KeyError::Damaged("its check numbers differ")
        });
    }
    let public = parse_public_parts(&mut wire)?;
    let secret = wire.string().ok_or_else(damaged)?;
    let key = match public.algorithm() {
        Algorithm::Ed25519 => {
            let seed = secret.get(..32).and_then(|seed| seed.try_into().ok());
            PrivateKey::from_ed25519_seed(seed.ok_or_else(damaged)?)?
        }
        Algorithm::EcdsaP256 => PrivateKey::from_p256_number(&fixed_number(secret)?[..])?,
    };
    if *key.public_key() == public {
        Ok(key)
    } else {
        Err(KeyError::Damaged("its public half belongs to another key"))
    }
}

/// Returns a number of the wire format as 32 bytes.
fn fixed_number(number: &[u8]) -> Result<Zeroizing<[u8; 32]>, KeyError> {
    let skip = number.iter().take_while(|byte| **byte == 0).count();
    let digits = &number[skip..];
    if digits.len() > 32 {
        return Err(KeyError::Damaged("a number is too large"));
    }
    let mut fixed = Zeroizing::new([0; 32]);
    fixed[32 - digits.len()..].copy_from_slice(digits);
    Ok(fixed)
}

fn apply_cipher(
    section: &mut [u8],
    passphrase: &[u8],
    salt: &[u8],
    rounds: u32,
) -> Result<(), KeyError> {
    if rounds > MAX_BCRYPT_ROUNDS {
        return Err(KeyError::TooCostly(
            "256 rounds of bcrypt; `ssh-keygen -p -a 100 -f FILE` rewrites it with fewer",
        ));
    }
    let mut derived = Zeroizing::new([0; 48]);
    bcrypt_pbkdf::bcrypt_pbkdf(passphrase, salt, rounds, derived.as_mut_slice())
        .map_err(|_| KeyError::WrongPassphrase)?;
    let mut cipher = ctr::Ctr128BE::<aes::Aes256>::new_from_slices(&derived[..32], &derived[32..])
        .map_err(|_| KeyError::Damaged("its cipher has another size"))?;
    cipher.apply_keystream(section);
    Ok(())
}

/// Encodes an OpenSSH private key file, encrypted if there is a passphrase. `random` is 16 bytes
/// for the salt and 4 for the check number.
pub fn encode_private(
    key: &PrivateKey,
    passphrase: Option<&[u8]>,
    comment: &str,
    random: &[u8; 20],
) -> Result<Zeroizing<String>, KeyError> {
    let public = encode_public(key.public_key());
    let (salt, check) = random.split_at(16);
    let mut section = Zeroizing::new([check, check].concat());
    section.extend_from_slice(&public);
    if let Some(seed) = key.ed25519_seed() {
        let pair = Zeroizing::new([seed.as_slice(), key.public_key().point()].concat());
        put_string(&mut section, &pair);
    }
    if let Some(number) = key.p256_number() {
        put_string(&mut section, &wire_number(number.as_slice()));
    }
    put_string(&mut section, comment.as_bytes());
    let block = if passphrase.is_some() { 16 } else { 8 };
    for pad in 1u8.. {
        if section.len().is_multiple_of(block) {
            break;
        }
        section.push(pad);
    }
    let mut file = Zeroizing::new(FILE_MAGIC.to_vec());
    match passphrase {
        None => {
            put_string(&mut file, b"none");
            put_string(&mut file, b"none");
            put_string(&mut file, b"");
        }
        Some(passphrase) => {
            let rounds = 24u32;
            put_string(&mut file, b"aes256-ctr");
            put_string(&mut file, b"bcrypt");
            let mut options = Vec::new();
            put_string(&mut options, salt);
            options.extend_from_slice(&rounds.to_be_bytes());
            put_string(&mut file, &options);
            apply_cipher(&mut section, passphrase, salt, rounds)?;
        }
    }
    file.extend_from_slice(&1u32.to_be_bytes());
    put_string(&mut file, &public);
    put_string(&mut file, &section);
    Ok(Zeroizing::new(encode_armour(
        &file,
        "OPENSSH PRIVATE KEY",
        70,
    )))
}

/// Encodes a positive number in the wire format: without leading zeros, except one if the highest
/// bit is set.
pub(super) fn wire_number(number: &[u8]) -> Zeroizing<Vec<u8>> {
    let skip = number.iter().take_while(|byte| **byte == 0).count();
    let digits = &number[skip..];
    let sign: &[u8] = match digits.first() {
        Some(0x80..) => &[0],
        _ => &[],
    };
    Zeroizing::new([sign, digits].concat())
}

/// Converts a signature from [`super::Signer`] to SSH's form.
pub(super) fn encode_signature(key: &PublicKey, signature: &[u8]) -> Option<Vec<u8>> {
    let mut blob = Vec::new();
    match key.algorithm() {
        Algorithm::Ed25519 => {
            put_string(&mut blob, ED25519.as_bytes());
            put_string(&mut blob, signature);
        }
        Algorithm::EcdsaP256 => {
            let signature = p256::ecdsa::Signature::from_der(signature).ok()?;
            let (r, s) = signature.split_bytes();
            let mut pair = Vec::new();
            put_string(&mut pair, &wire_number(&r));
            put_string(&mut pair, &wire_number(&s));
            put_string(&mut blob, ECDSA_P256.as_bytes());
            put_string(&mut blob, &pair);
        }
    }
    Some(blob)
}

/// Converts a signature from SSH's form to the form of [`PublicKey::verifies`].
pub(super) fn decode_signature(key: &PublicKey, blob: &[u8]) -> Option<Vec<u8>> {
    let mut wire = Wire(blob);
    let (kind, body) = (wire.text()?, wire.string()?);
    if !wire.is_empty() {
        return None;
    }
    match (key.algorithm(), kind) {
        (Algorithm::Ed25519, ED25519) => Some(body.to_vec()),
        (Algorithm::EcdsaP256, ECDSA_P256) => {
            let mut pair = Wire(body);
            let (r, s) = (pair.string()?, pair.string()?);
            let is_exact = pair.is_empty()
                && [r, s]
                    .iter()
                    .all(|number| wire_number(number).as_slice() == *number);
            if !is_exact {
                return None;
            }
            let (r, s) = (fixed_number(r).ok()?, fixed_number(s).ok()?);
            let signature = p256::ecdsa::Signature::from_scalars(*r, *s).ok()?;
            Some(signature.to_der().as_bytes().to_vec())
        }
        _ => None,
    }
}

/// Encodes the request that asks an agent to sign `message`.
pub fn agent_sign_request(key: &PublicKey, message: &[u8]) -> Vec<u8> {
    const SIGN_REQUEST: u8 = 13;
    let mut body = vec![SIGN_REQUEST];
    put_string(&mut body, &encode_public(key));
    put_string(&mut body, message);
    body.extend_from_slice(&0u32.to_be_bytes());
    let mut request = Vec::new();
    put_string(&mut request, &body);
    request
}

/// Reads the signature in an agent's answer, without the length prefix; `None` if the agent
/// refused.
pub fn parse_agent_signature(key: &PublicKey, answer: &[u8]) -> Option<Vec<u8>> {
    const SIGN_RESPONSE: u8 = 14;
    let (kind, body) = answer.split_first()?;
    if *kind != SIGN_RESPONSE {
        return None;
    }
    let mut wire = Wire(body);
    decode_signature(key, wire.string()?)
}
