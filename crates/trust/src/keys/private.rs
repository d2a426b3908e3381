//! Private keys in memory: read from every form in which people keep them, wiped when dropped.

use ed25519_dalek::pkcs8::EncodePrivateKey as _;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use p256::ecdsa::signature::Signer as _;
use p256::elliptic_curve::zeroize::Zeroizing;
use p256::pkcs8::DecodePrivateKey as _;
use pkcs8::pkcs5::pbes2;
use pkcs8::{EncryptedPrivateKeyInfoRef, PrivateKeyInfoRef};
use runseal_core::digest::decode_lower_hex;

use super::public::name_of_algorithm;
use super::{KeyError, PublicKey, SignError, Signer, minisign, ssh};
use crate::encoding::decode_armour;
use crate::limits::{MAX_PBKDF2_ROUNDS, MAX_SCRYPT_LOG_N};

#[derive(Clone)]
enum Secret {
    Ed25519(Box<ed25519_dalek::SigningKey>),
    P256(Box<p256::ecdsa::SigningKey>),
}

/// A private key that was read or generated.
#[derive(Clone)]
pub struct PrivateKey {
    secret: Secret,
    public: PublicKey,
    minisign_id: Option<minisign::MinisignId>,
}

impl std::fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "private key of {:?}", self.public)
    }
}

impl PrivateKey {
    /// Makes an ed25519 key from its seed.
    ///
    /// # Errors
    /// When the seed yields an unusable key, which no random seed does.
    pub fn from_ed25519_seed(seed: &[u8; 32]) -> Result<Self, KeyError> {
        let key = ed25519_dalek::SigningKey::from_bytes(seed);
        Ok(Self {
            public: PublicKey::from_ed25519(key.verifying_key().as_bytes())?,
            secret: Secret::Ed25519(Box::new(key)),
            minisign_id: None,
        })
    }

    /// Makes an ECDSA P-256 key from its number, 32 bytes in big-endian order.
    ///
    /// # Errors
    /// When the number is zero or not below the order of the group.
    pub fn from_p256_number(bytes: &[u8]) -> Result<Self, KeyError> {
        let key = p256::ecdsa::SigningKey::from_slice(bytes)
            .map_err(|_| KeyError::Damaged("its number is out of range"))?;
        let point = key.verifying_key().to_sec1_point(false);
        Ok(Self {
            public: PublicKey::from_p256(point.as_bytes())?,
            secret: Secret::P256(Box::new(key)),
            minisign_id: None,
        })
    }

    pub(super) fn with_minisign_id(mut self, id: minisign::MinisignId) -> Self {
        self.minisign_id = Some(id);
        self
    }

    /// Reads a private key: PKCS #8 PEM (plain or encrypted), `EC PRIVATE KEY`, OpenSSH,
    /// minisign, 32 raw bytes or 64 hex digits.
    ///
    /// # Errors
    /// [`KeyError::PassphraseNeeded`] if the key is encrypted and `passphrase` is `None`.
    pub fn parse(bytes: &[u8], passphrase: Option<&[u8]>) -> Result<Self, KeyError> {
        if let Ok(seed) = <&[u8; 32]>::try_from(bytes) {
            return Self::from_ed25519_seed(seed);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| KeyError::NoPrivateKey)?;
        if let Some(seed) = decode_lower_hex(text.trim_end().to_ascii_lowercase()) {
            return Self::from_ed25519_seed(&seed);
        }
        if let Some(der) = decode_armour(text, "PRIVATE KEY") {
            return Self::from_pkcs8(&Zeroizing::new(der));
        }
        if let Some(der) = decode_armour(text, "ENCRYPTED PRIVATE KEY") {
            return Self::from_encrypted(&der, passphrase);
        }
        if let Some(der) = decode_armour(text, "EC PRIVATE KEY") {
            let der = Zeroizing::new(der);
            let key = p256::SecretKey::from_sec1_der(&der).map_err(|_| {
                KeyError::OtherType("ECDSA on a curve other than P-256, or damaged".to_owned())
            })?;
            return Self::from_p256_number(&Zeroizing::new(key.to_bytes()));
        }
        if text.contains("-----BEGIN RSA PRIVATE KEY-----") {
            return Err(KeyError::OtherType("RSA".to_owned()));
        }
        if let Some(blob) = decode_armour(text, "OPENSSH PRIVATE KEY") {
            return ssh::parse_private(&Zeroizing::new(blob), passphrase);
        }
        match minisign::parse_private(text, passphrase) {
            Some(key) => key,
            None => Err(KeyError::NoPrivateKey),
        }
    }

    fn from_pkcs8(der: &[u8]) -> Result<Self, KeyError> {
        let info = PrivateKeyInfoRef::try_from(der)
            .map_err(|_| KeyError::Damaged("its PKCS #8 form is broken"))?;
        match info.algorithm.oid.to_string().as_str() {
            "1.3.101.112" => {
                // RFC 8410: the octet string contains another one with the seed.
                let held = info.private_key.as_bytes();
                let seed = match held {
                    [0x04, 0x20, seed @ ..] => <&[u8; 32]>::try_from(seed).ok(),
                    _ => None,
                };
                let seed = seed.ok_or(KeyError::Damaged("its seed is not 32 bytes"))?;
                let key = Self::from_ed25519_seed(seed)?;
                let said = info.public_key.as_ref().and_then(|bits| bits.as_bytes());
                if said.is_some_and(|said| said != key.public.point()) {
                    return Err(KeyError::Damaged("its public half belongs to another key"));
                }
                Ok(key)
            }
            "1.2.840.10045.2.1" => match p256::SecretKey::from_pkcs8_der(der) {
                Ok(key) => Self::from_p256_number(&Zeroizing::new(key.to_bytes())),
                Err(_) => Err(KeyError::OtherType(name_of_algorithm(&info.algorithm.oid))),
            },
            _ => Err(KeyError::OtherType(name_of_algorithm(&info.algorithm.oid))),
        }
    }

    fn from_encrypted(der: &[u8], passphrase: Option<&[u8]>) -> Result<Self, KeyError> {
        let broken = KeyError::Damaged("its encrypted PKCS #8 form is broken or of an old kind");
        let info = EncryptedPrivateKeyInfoRef::try_from(der).map_err(|_| broken)?;
        check_cost(&info)?;
        let passphrase = passphrase.ok_or(KeyError::PassphraseNeeded)?;
        let plain = info
            .decrypt(passphrase)
            .map_err(|_| KeyError::WrongPassphrase)?;
        Self::from_pkcs8(plain.as_bytes())
    }

    /// Encodes PKCS #8 in PEM, encrypted (scrypt, AES-256-CBC) if there is a passphrase. `salt` is
    /// 16 random bytes for scrypt and 16 for the cipher; it is unused without a passphrase.
    ///
    /// # Errors
    /// When the key has no such form, which never happens for a key that was read.
    pub fn to_pem(
        &self,
        passphrase: Option<&[u8]>,
        salt: &[u8; 32],
    ) -> Result<Zeroizing<String>, KeyError> {
        let no_form = |_| KeyError::Damaged("it has no PKCS #8 form");
        let plain = match &self.secret {
            Secret::Ed25519(key) => {
                // Without the public half: older readers support no other form.
                let pair = ed25519_dalek::pkcs8::KeypairBytes {
                    secret_key: key.to_bytes(),
                    public_key: None,
                };
                pair.to_pkcs8_der().map_err(no_form)?
            }
            Secret::P256(key) => p256::SecretKey::from(key.as_ref())
                .to_pkcs8_der()
                .map_err(no_form)?,
        };
        let Some(passphrase) = passphrase else {
            return plain
                .to_pem("PRIVATE KEY", LineEnding::LF)
                .map_err(|_| KeyError::Damaged("it has no PEM form"));
        };
        let info = PrivateKeyInfoRef::try_from(plain.as_bytes())
            .map_err(|_| KeyError::Damaged("it has no PKCS #8 form"))?;
        // 16 MiB: openssl does not open a key that takes 32.
        let costs = scrypt::Params::new(14, 8, 5).map_err(|_| KeyError::Damaged("scrypt"))?;
        let mut iv = [0; 16];
        iv.copy_from_slice(&salt[16..]);
        let parameters = pbes2::Parameters::generate_scrypt_aes256cbc(costs, &salt[..16], iv)
            .map_err(|_| KeyError::Damaged("scrypt"))?;
        info.encrypt_with_params(parameters, passphrase)
            .map_err(no_form)?
            .to_pem("ENCRYPTED PRIVATE KEY", LineEnding::LF)
            .map_err(|_| KeyError::Damaged("it has no PEM form"))
    }

    /// Returns the seed of an ed25519 key.
    pub fn ed25519_seed(&self) -> Option<Zeroizing<[u8; 32]>> {
        match &self.secret {
            Secret::Ed25519(key) => Some(Zeroizing::new(key.to_bytes())),
            Secret::P256(_) => None,
        }
    }

    /// Returns the number of an ECDSA key.
    pub fn p256_number(&self) -> Option<Zeroizing<[u8; 32]>> {
        match &self.secret {
            Secret::Ed25519(_) => None,
            Secret::P256(key) => Some(Zeroizing::new(key.to_bytes().into())),
        }
    }

    /// Returns the id from its minisign file.
    pub fn minisign_id(&self) -> Option<minisign::MinisignId> {
        self.minisign_id
    }
}

/// Refuses key files that ask for hours of work.
fn check_cost(info: &EncryptedPrivateKeyInfoRef<'_>) -> Result<(), KeyError> {
    let Some(parameters) = info.encryption_algorithm.pbes2() else {
        return Err(KeyError::UnknownCipher(
            "an algorithm of PKCS #5 version 1".to_owned(),
        ));
    };
    if let Some(scrypt) = parameters.kdf.scrypt() {
        let memory = u128::from(scrypt.cost_parameter)
            * u128::from(scrypt.block_size)
            * u128::from(scrypt.parallelization);
        if memory > 8 << MAX_SCRYPT_LOG_N {
            return Err(KeyError::TooCostly(
                "one pass of scrypt over a gigabyte of memory",
            ));
        }
    }
    if let Some(pbkdf2) = parameters.kdf.pbkdf2()
        && pbkdf2.iteration_count > MAX_PBKDF2_ROUNDS
    {
        return Err(KeyError::TooCostly("ten million rounds of PBKDF2"));
    }
    Ok(())
}

impl Signer for PrivateKey {
    fn public_key(&self) -> &PublicKey {
        &self.public
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignError> {
        Ok(match &self.secret {
            Secret::Ed25519(key) => key.sign(message).to_bytes().to_vec(),
            Secret::P256(key) => {
                // RFC 6979: the same message gives the same signature.
                let signature: p256::ecdsa::Signature = key.sign(message);
                signature.normalize_s().to_der().as_bytes().to_vec()
            }
        })
    }
}
