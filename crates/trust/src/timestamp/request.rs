//! The request to a time stamping authority.

use sha2::{Digest as _, Sha256};

use super::der::{encode, tag};

/// The AlgorithmIdentifier of SHA-256.
const SHA256: [u8; 15] = [
    0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00,
];

/// Encodes a TimeStampReq over `signature`, which also asks for the certificate. It has no nonce:
/// the token is bound to the signature by its hash, and the same signature gives the same request.
pub fn encode_request(signature: &[u8]) -> Vec<u8> {
    let hash = encode(tag::OCTETS, &Sha256::digest(signature));
    let imprint = encode(tag::SEQUENCE, &[&SHA256[..], &hash].concat());
    let version = encode(tag::INTEGER, &[1]);
    let asks_certificate = encode(tag::BOOLEAN, &[0xff]);
    encode(
        tag::SEQUENCE,
        &[version, imprint, asks_certificate].concat(),
    )
}
