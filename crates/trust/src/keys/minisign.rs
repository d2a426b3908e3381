//! minisign's encodings: keys, and signatures that `minisign -V` checks.

use std::borrow::Cow;
use std::fmt;

use blake2::{Blake2b512, Digest as _};
use p256::elliptic_curve::zeroize::Zeroizing;

use super::{Algorithm, KeyError, PrivateKey, PublicKey, SignError, Signer};
use crate::encoding::{decode_base64, encode_base64};
use crate::limits::MAX_SCRYPT_LOG_N;

const UNTRUSTED: &str = "untrusted comment: ";
const TRUSTED: &str = "trusted comment: ";

/// The eight bytes by which minisign names a key: a hint, not a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinisignId(pub [u8; 8]);

impl fmt::Display for MinisignId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016X}", u64::from_le_bytes(self.0))
    }
}

/// Returns the line after the untrusted comment, or the only line.
fn body_line(text: &str) -> Option<&str> {
    let mut lines = text.lines().map(str::trim_end);
    let first = lines.next()?;
    if first.starts_with("untrusted comment:") {
        lines.next()
    } else {
        Some(first)
    }
}

/// Reads a public key, as a file of two lines or as the base64 alone. `None` if the text is not a
/// minisign key at all.
pub fn parse_public(text: &str) -> Option<(Result<PublicKey, KeyError>, MinisignId)> {
    let bytes = decode_base64(body_line(text)?.trim())?;
    let rest = bytes.strip_prefix(b"Ed")?;
    let (id, point) = rest.split_at_checked(8)?;
    let point: &[u8; 32] = point.try_into().ok()?;
    Some((
        PublicKey::from_ed25519(point),
        MinisignId(id.try_into().ok()?),
    ))
}

/// Formats a public key file.
pub fn format_public(key: &PublicKey, id: MinisignId) -> Option<String> {
    (key.algorithm() == Algorithm::Ed25519).then(|| {
        let body = encode_base64(&[b"Ed", &id.0[..], key.point()].concat());
        format!("{UNTRUSTED}minisign public key {id}\n{body}\n")
    })
}

/// Reads a private key file. `None` if the text is not a minisign key at all.
pub(super) fn parse_private(
    text: &str,
    passphrase: Option<&[u8]>,
) -> Option<Result<PrivateKey, KeyError>> {
    let bytes = Zeroizing::new(decode_base64(body_line(text)?.trim())?);
    let body = bytes.strip_prefix(b"Ed")?;
    if body.len() != 156 {
        return None;
    }
    Some(open_private(body, passphrase))
}

fn open_private(body: &[u8], passphrase: Option<&[u8]>) -> Result<PrivateKey, KeyError> {
    let (kdf, rest) = body.split_at(2);
    let (checksum_kind, rest) = rest.split_at(2);
    let (salt, rest) = rest.split_at(32);
    let (costs, rest) = rest.split_at(16);
    let mut held = Zeroizing::new(rest.to_vec());
    if checksum_kind != b"B2" {
        return Err(KeyError::UnknownCipher(
            "a checksum other than BLAKE2b".to_owned(),
        ));
    }
    match kdf {
        [0, 0] => {}
        b"Sc" => {
            let passphrase = passphrase.ok_or(KeyError::PassphraseNeeded)?;
            let stream = derive_stream(passphrase, salt, costs)?;
            for (byte, key) in held.iter_mut().zip(stream.iter()) {
                *byte ^= key;
            }
        }
        _ => {
            return Err(KeyError::UnknownCipher(
                "a key derivation other than scrypt".to_owned(),
            ));
        }
    }
    let (id, rest) = held.split_at(8);
    let (pair, checksum) = rest.split_at(64);
    // minisign itself writes no checksum into keys without a passphrase.
    let is_left_out = kdf == [0, 0] && checksum.iter().all(|byte| *byte == 0);
    if !is_left_out && checksum != compute_checksum(id, pair) {
        return Err(match kdf {
            b"Sc" => KeyError::WrongPassphrase,
            _ => KeyError::Damaged("its checksum is wrong"),
        });
    }
    let (seed, point) = pair.split_at(32);
    let damaged = || KeyError::Damaged("its seed is not 32 bytes");
    let key = PrivateKey::from_ed25519_seed(seed.try_into().map_err(|_| damaged())?)?;
    if key.public_key().point() != point {
        return Err(KeyError::Damaged("its public half belongs to another key"));
    }
    Ok(key.with_minisign_id(MinisignId(id.try_into().map_err(|_| damaged())?)))
}

/// Computes the 32-byte checksum over algorithm, id and key pair.
fn compute_checksum(id: &[u8], pair: &[u8]) -> Vec<u8> {
    use blake2::digest::consts::U32;
    blake2::Blake2b::<U32>::digest([b"Ed", id, pair].concat()).to_vec()
}

/// Derives the key stream of a passphrase. `costs` are libsodium's operations and memory.
fn derive_stream(
    passphrase: &[u8],
    salt: &[u8],
    costs: &[u8],
) -> Result<Zeroizing<[u8; 104]>, KeyError> {
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).unwrap_or(u64::MAX);
    let (operations, memory) = (number(&costs[..8]).max(32_768), number(&costs[8..]));
    // libsodium's choice of parameters.
    let block = 8u64;
    let (log_n, lanes) = if operations < memory / 32 {
        (log2_at_most(operations / (block * 4)), 1)
    } else {
        let log_n = log2_at_most(memory / (block * 128));
        let rounds = (operations / 4).min(0x3fff_ffff * block);
        let lanes = if log_n < 64 {
            (rounds >> log_n) / block
        } else {
            0
        };
        (log_n, u32::try_from(lanes).unwrap_or(u32::MAX))
    };
    // The limit is one pass over the largest memory: lanes are passes over it one after the other.
    let work = 1u64
        .checked_shl(log_n)
        .unwrap_or(u64::MAX)
        .saturating_mul(lanes.max(1).into());
    if log_n > u32::from(MAX_SCRYPT_LOG_N) || work > 1 << MAX_SCRYPT_LOG_N {
        return Err(KeyError::TooCostly(
            "one pass of scrypt over a gigabyte of memory",
        ));
    }
    let parameters = u8::try_from(log_n)
        .ok()
        .and_then(|log_n| scrypt::Params::new(log_n, 8, lanes.max(1)).ok())
        .ok_or(KeyError::TooCostly("what scrypt can do"))?;
    let mut stream = Zeroizing::new([0; 104]);
    scrypt::scrypt(passphrase, salt, &parameters, stream.as_mut_slice())
        .map_err(|_| KeyError::TooCostly("what scrypt can do"))?;
    Ok(stream)
}

/// Returns the first exponent whose power of two exceeds half of `value`, as libsodium does, from 1
/// to 63.
fn log2_at_most(value: u64) -> u32 {
    (1..63).find(|log| 1u64 << log > value / 2).unwrap_or(63)
}

/// Encodes a private key file, encrypted if there is a passphrase. `salt` is 32 random bytes.
pub fn encode_private(
    key: &PrivateKey,
    id: MinisignId,
    passphrase: Option<&[u8]>,
    salt: &[u8; 32],
) -> Result<Zeroizing<String>, KeyError> {
    let seed = key.ed25519_seed().ok_or(KeyError::OtherType(
        "ECDSA, which minisign does not support".to_owned(),
    ))?;
    let pair = Zeroizing::new([seed.as_slice(), key.public_key().point()].concat());
    let checksum = compute_checksum(&id.0, &pair);
    let mut held = Zeroizing::new([&id.0[..], &pair, &checksum].concat());
    // libsodium's costs for sensitive data, as in minisign itself.
    let (operations, memory) = (33_554_432u64, 1_073_741_824u64);
    let mut costs = [0; 16];
    let (mut kdf, mut salted) = ([0, 0], [0; 32]);
    if let Some(passphrase) = passphrase {
        costs[..8].copy_from_slice(&operations.to_le_bytes());
        costs[8..].copy_from_slice(&memory.to_le_bytes());
        (kdf, salted) = (*b"Sc", *salt);
        let stream = derive_stream(passphrase, salt, &costs)?;
        for (byte, key) in held.iter_mut().zip(stream.iter()) {
            *byte ^= key;
        }
    }
    let body = Zeroizing::new([b"Ed", &kdf[..], b"B2", &salted, &costs, &held].concat());
    let kind = if passphrase.is_some() {
        "encrypted"
    } else {
        "unencrypted"
    };
    Ok(Zeroizing::new(format!(
        "{UNTRUSTED}minisign {kind} secret key\n{}\n",
        encode_base64(&body)
    )))
}

/// Signs `message` as minisign does by default: over its BLAKE2b, with a signed comment.
///
/// # Errors
/// When the signer fails, or its key is not ed25519.
pub fn sign(
    signer: &dyn Signer,
    id: MinisignId,
    message: &[u8],
    comment: &str,
) -> Result<String, SignError> {
    if signer.public_key().algorithm() != Algorithm::Ed25519 {
        return Err(SignError("minisign supports only ed25519 keys".to_owned()));
    }
    if comment.chars().any(char::is_control) {
        return Err(SignError("a minisign comment must be one line".to_owned()));
    }
    let signature = signer.sign(&Blake2b512::digest(message))?;
    let global = signer.sign(&[&signature, comment.as_bytes()].concat())?;
    let line = encode_base64(&[b"ED", &id.0[..], &signature].concat());
    Ok(format!(
        "{UNTRUSTED}signature of key {id}\n{line}\n{TRUSTED}{comment}\n{}\n",
        encode_base64(&global)
    ))
}

/// A minisign signature.
#[derive(Clone, Debug)]
pub struct MinisignSignature {
    /// The key that it claims to be by.
    pub id: MinisignId,
    /// The signed comment.
    pub comment: String,
    is_prehashed: bool,
    signature: Vec<u8>,
    global: Vec<u8>,
}

/// Returns whether a text may be a minisign signature.
pub fn is_signature(text: &str) -> bool {
    text.starts_with("untrusted comment:") && text.contains("\ntrusted comment:")
}

impl MinisignSignature {
    /// Reads the four lines.
    ///
    /// # Errors
    /// What is wrong, when a line is missing or broken.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        if !first.starts_with("untrusted comment:") {
            return Err("its first line is not an untrusted comment");
        }
        let body = decode_base64(lines.next().unwrap_or_default().trim_end());
        let comment = lines.next().unwrap_or_default();
        let comment = comment
            .strip_prefix(TRUSTED)
            .ok_or("its third line is not a trusted comment")?;
        let global = decode_base64(lines.next().unwrap_or_default().trim_end());
        let global = global
            .filter(|global| global.len() == 64)
            .ok_or("its fourth line is not a signature")?;
        if lines.any(|line| !line.is_empty()) {
            return Err("more than four lines");
        }
        let body = body.ok_or("its second line is not base64")?;
        let (kind, rest) = body.split_at_checked(2).ok_or("its second line is short")?;
        let is_prehashed = match kind {
            b"ED" => true,
            b"Ed" => false,
            _ => return Err("its algorithm is unknown"),
        };
        let (id, signature) = rest.split_at_checked(8).ok_or("its second line is short")?;
        Ok(Self {
            id: MinisignId(id.try_into().map_err(|_| "its second line is short")?),
            comment: comment.trim_end_matches('\r').to_owned(),
            is_prehashed,
            signature: signature.to_vec(),
            global,
        })
    }

    /// Returns the signed form of `plain`: its hash, or the bytes themselves for old signatures.
    pub fn message<'a>(&self, plain: &'a [u8]) -> Cow<'a, [u8]> {
        if self.is_prehashed {
            Cow::Owned(Blake2b512::digest(plain).to_vec())
        } else {
            Cow::Borrowed(plain)
        }
    }

    /// Returns whether both signatures are by `key`, the first over `plain`.
    pub fn verifies(&self, key: &PublicKey, plain: &[u8]) -> bool {
        self.verifies_message(key, &self.message(plain))
    }

    /// Like [`Self::verifies`], for a message from [`Self::message`], which is computed once for
    /// many keys.
    pub fn verifies_message(&self, key: &PublicKey, message: &[u8]) -> bool {
        let is_known = key.algorithm() == Algorithm::Ed25519;
        let commented = [&self.signature[..], self.comment.as_bytes()].concat();
        is_known && key.verifies(message, &self.signature) && key.verifies(&commented, &self.global)
    }
}
