//! SSHSIG: signatures that `ssh-keygen -Y verify` checks.
//!
//! The namespace is part of what is signed, so a signature made for one purpose is not valid for
//! another. Ours is [`NAMESPACE`].

use sha2::{Digest as _, Sha256, Sha512};

use super::ssh::{
    Wire, decode_signature, encode_public, encode_signature, parse_public_blob, put_string,
};
use super::{PublicKey, SignError, Signer};
use crate::encoding::{decode_armour, encode_armour};

/// The namespace of our signatures.
pub const NAMESPACE: &str = "runseal";

const MAGIC: &[u8] = b"SSHSIG";
const LABEL: &str = "SSH SIGNATURE";

/// A signature with the key that it names.
#[derive(Clone, Debug)]
pub struct SshSignature {
    /// The key that it claims to be by.
    pub key: PublicKey,
    namespace: String,
    hash: HashName,
    blob: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum HashName {
    Sha256,
    Sha512,
}

impl HashName {
    const fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
        }
    }

    fn hash(self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha256 => Sha256::digest(message).to_vec(),
            Self::Sha512 => Sha512::digest(message).to_vec(),
        }
    }
}

/// Returns whether a text is an armoured SSH signature.
pub fn is_armoured(text: &str) -> bool {
    text.trim_start()
        .starts_with("-----BEGIN SSH SIGNATURE-----")
}

fn signed_bytes(namespace: &str, hash: HashName, message: &[u8]) -> Vec<u8> {
    let mut signed = MAGIC.to_vec();
    put_string(&mut signed, namespace.as_bytes());
    put_string(&mut signed, b"");
    put_string(&mut signed, hash.name().as_bytes());
    put_string(&mut signed, &hash.hash(message));
    signed
}

/// Signs `message`. Returns the armoured text.
///
/// # Errors
/// When the signer fails.
pub fn sign(signer: &dyn Signer, message: &[u8]) -> Result<String, SignError> {
    let hash = HashName::Sha512;
    let signature = signer.sign(&signed_bytes(NAMESPACE, hash, message))?;
    let signature = encode_signature(signer.public_key(), &signature).ok_or_else(|| {
        SignError("the signer did not return an ECDSA signature in DER".to_owned())
    })?;
    let mut blob = MAGIC.to_vec();
    blob.extend_from_slice(&1u32.to_be_bytes());
    put_string(&mut blob, &encode_public(signer.public_key()));
    put_string(&mut blob, NAMESPACE.as_bytes());
    put_string(&mut blob, b"");
    put_string(&mut blob, hash.name().as_bytes());
    put_string(&mut blob, &signature);
    Ok(encode_armour(&blob, LABEL, 70))
}

impl SshSignature {
    /// Reads an armoured signature.
    ///
    /// # Errors
    /// What is wrong, when it is malformed or by a key of an unsupported type.
    pub fn parse(text: &str) -> Result<Self, String> {
        let blob = decode_armour(text, LABEL).ok_or("it is not an armoured SSH signature")?;
        let cut = || "it is cut off".to_owned();
        let body = blob.strip_prefix(MAGIC).ok_or_else(cut)?;
        let mut wire = Wire(body);
        match wire.u32() {
            Some(1) => {}
            Some(version) => return Err(format!("its version is {version}, not 1")),
            None => return Err(cut()),
        }
        let key =
            parse_public_blob(wire.string().ok_or_else(cut)?).map_err(|error| error.to_string())?;
        let namespace = wire.text().ok_or_else(cut)?.to_owned();
        wire.string().ok_or_else(cut)?;
        let hash = match wire.text() {
            Some("sha256") => HashName::Sha256,
            Some("sha512") => HashName::Sha512,
            _ => return Err("its hash is neither sha256 nor sha512".to_owned()),
        };
        let blob = wire.string().ok_or_else(cut)?.to_vec();
        if !wire.is_empty() {
            return Err("bytes follow it".to_owned());
        }
        Ok(Self {
            key,
            namespace,
            hash,
            blob,
        })
    }

    /// Returns the purpose that it was made for.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns whether it is by its key over `message`, in our namespace.
    pub fn verifies(&self, message: &[u8]) -> bool {
        self.namespace == NAMESPACE
            && decode_signature(&self.key, &self.blob).is_some_and(|signature| {
                let signed = signed_bytes(&self.namespace, self.hash, message);
                self.key.verifies(&signed, &signature)
            })
    }
}
