//! Reads signatures from files.

use runseal_core::canon::{Kind, ReadOptions, parse_document};
use thiserror::Error;

use crate::dsse::Envelope;
use crate::keys::minisign::{self, MinisignSignature};
use crate::keys::sshsig::{self, SshSignature};
use crate::limits::{MAX_SIGNATURE_FILE_BYTES, MAX_SIGNATURE_LINES};
use crate::sigstore::{SigstoreBundle, is_bundle};

/// Why a signature file cannot be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SignatureFileError {
    /// It is larger than any legitimate one.
    #[error("the signature file is larger than {MAX_SIGNATURE_FILE_BYTES} bytes")]
    TooLarge,
    /// It has more lines than any legitimate one.
    #[error("the signature file has more than {MAX_SIGNATURE_LINES} lines")]
    TooManyLines,
    /// It is not text.
    #[error("the signature file is not UTF-8 text")]
    NotText,
}

/// A signature as found in a file.
#[derive(Clone, Debug)]
pub enum FoundSignature {
    /// An envelope, with all its signatures.
    Envelope(Envelope),
    /// A sigstore bundle.
    Bundle(Box<SigstoreBundle>),
    /// A signature in the format of `ssh-keygen -Y sign`.
    Ssh(SshSignature),
    /// A signature in minisign's format.
    Minisign(MinisignSignature),
    /// A damaged signature: its form and the fault.
    Damaged(&'static str, String),
    /// Signatures that could not be looked for: the form asked for first, and why.
    Unread(&'static str, String),
}

/// A signature and its place.
#[derive(Clone, Debug)]
pub struct Found {
    /// The file's name, and the line if it has several.
    pub place: String,
    /// The signature, parsed and not yet checked.
    pub signature: FoundSignature,
}

/// Reads a signature file of any form. JSON objects that are not signatures are skipped, as in-toto
/// asks.
///
/// # Errors
/// When the file is not text or exceeds a limit.
pub fn read_signatures(name: &str, bytes: &[u8]) -> Result<Vec<Found>, SignatureFileError> {
    if bytes.len() as u64 > MAX_SIGNATURE_FILE_BYTES {
        return Err(SignatureFileError::TooLarge);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| SignatureFileError::NotText)?;
    let single = |signature| {
        let place = name.to_owned();
        Ok(vec![Found { place, signature }])
    };
    if sshsig::is_armoured(text) {
        return single(match SshSignature::parse(text) {
            Ok(signature) => FoundSignature::Ssh(signature),
            Err(fault) => FoundSignature::Damaged("ssh", fault),
        });
    }
    if minisign::is_signature(text) {
        return single(match MinisignSignature::parse(text) {
            Ok(signature) => FoundSignature::Minisign(signature),
            Err(fault) => FoundSignature::Damaged("minisign", fault.to_owned()),
        });
    }
    // A document over several lines, as other tools print it.
    if parse_document(bytes, &ReadOptions::default()).is_ok() {
        return match read_json(text) {
            Some(signature) => single(signature),
            None => Ok(Vec::new()),
        };
    }
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if at >= MAX_SIGNATURE_LINES {
            return Err(SignatureFileError::TooManyLines);
        }
        if line.trim().is_empty() {
            continue;
        }
        if let Some(signature) = read_json(line) {
            let place = format!("{name}:{}", at + 1);
            found.push(Found { place, signature });
        }
    }
    Ok(found)
}

fn read_json(text: &str) -> Option<FoundSignature> {
    let document = match parse_document(text.as_bytes(), &ReadOptions::default()) {
        Ok(document) => document,
        Err(error) => {
            return Some(FoundSignature::Damaged(
                "dsse",
                format!("invalid JSON: {error}"),
            ));
        }
    };
    let root = document.root();
    if root.kind() != Kind::Object {
        let found = root.kind().with_article();
        let fault = format!("a signature is a JSON object, not {found}");
        return Some(FoundSignature::Damaged("dsse", fault));
    }
    if is_bundle(root) {
        return Some(match SigstoreBundle::parse(text) {
            Ok(bundle) => FoundSignature::Bundle(Box::new(bundle)),
            Err(fault) => FoundSignature::Damaged("sigstore", fault),
        });
    }
    if root.get("payload").is_none() && root.get("signatures").is_none() {
        return None;
    }
    Some(match Envelope::from_node(root) {
        Ok(envelope) => FoundSignature::Envelope(envelope),
        Err(error) => FoundSignature::Damaged("dsse", error.to_string()),
    })
}
