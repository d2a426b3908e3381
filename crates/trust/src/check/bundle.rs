//! The check of sigstore bundles.

#[cfg(feature = "sigstore")]
use std::sync::Arc;

#[cfg(feature = "sigstore")]
use runseal_core::digest::Digest;
use runseal_core::verify::authenticity::SignedState;

use super::draft::Draft;
use super::forms::plain_name;
use super::{CheckedSignature, Checking, Signatory};
use crate::budget::Exhausted;
#[cfg(feature = "sigstore")]
use crate::keys::PublicKey;
#[cfg(feature = "sigstore")]
use crate::sigstore::{CertificateIdentity, Signed, TrustedRoot, verify_certificate};
use crate::sigstore::{Content, Material, SigstoreBundle};

/// Whose a bundle with a certificate or log entries is, if it holds.
#[cfg(feature = "sigstore")]
#[derive(Clone)]
pub(super) enum Proof {
    /// That of the subject of its certificate, at these times in seconds since 1970.
    Certificate(CertificateIdentity),
    /// That of a known key.
    Key(PublicKey),
    /// It does not hold, for this reason.
    Fault(String),
    /// No known key made it.
    UnknownKey,
}

/// A bundle with its index among the signatures.
type BundleAt<'f> = (usize, &'f SigstoreBundle);

impl<'f> Checking<'_, 'f> {
    pub(super) fn check_bundle(
        &mut self,
        mut draft: Draft,
        (at, bundle): BundleAt<'f>,
    ) -> Result<CheckedSignature, Exhausted> {
        let needs_root = bundle.material == Material::Certificate || bundle.has_log_entries;
        if needs_root {
            return self.check_with_root(draft, (at, bundle));
        }
        match &bundle.content {
            Content::Envelope(envelope) => {
                let mut signature = envelope.signatures[0].clone();
                let tokens = bundle.timestamps.iter().cloned();
                signature.timestamps.extend(tokens);
                let open = self.open(at, envelope)?;
                self.check_envelope(draft, &open, &signature)
            }
            Content::Message { .. } if self.proofs.over_bytes.contains_key(&at) => {
                Ok(self.proofs.over_bytes[&at].clone())
            }
            Content::Message { signature } => {
                let plain = &self.about.target.plain;
                let one =
                    match self.find_known(plain.len(), |key| key.verifies(plain, signature))? {
                        Some(key) => {
                            let key = key.clone();
                            draft.note.over = vec![plain_name(self.about.target)];
                            let signatory = Signatory::Key(key);
                            draft.holds(signatory, self, &bundle.timestamps, signature)
                        }
                        None => draft.end(SignedState::UnknownKey, None),
                    };
                self.proofs.over_bytes.insert(at, one.clone());
                Ok(one)
            }
        }
    }

    #[cfg(not(feature = "sigstore"))]
    fn check_with_root(
        &mut self,
        draft: Draft,
        _: BundleAt<'f>,
    ) -> Result<CheckedSignature, Exhausted> {
        let error = crate::sigstore::SigstoreError::NotBuilt;
        Ok(draft.end(SignedState::UnknownKey, Some(error.to_string())))
    }

    #[cfg(feature = "sigstore")]
    fn check_with_root(
        &mut self,
        mut draft: Draft,
        (at, bundle): BundleAt<'f>,
    ) -> Result<CheckedSignature, Exhausted> {
        let target = self.about.target;
        let Some(root) = &self.known.sigstore else {
            let fault = "no sigstore trusted root was given".to_owned();
            return Ok(draft.end(SignedState::UnknownKey, Some(fault)));
        };
        let mut refusal = None;
        // What a statement is about decides which digest the bundle must be over.
        if let Content::Envelope(envelope) = &bundle.content {
            let open = self.open(at, envelope)?;
            let statement = match &open.statement {
                Ok(statement) => statement,
                Err(error) => {
                    let fault = Some(error.to_string());
                    return Ok(draft.end(SignedState::OtherSubject, fault));
                }
            };
            draft.named = Arc::clone(&open.named);
            draft = match self.read_statement(draft.clone(), statement, &envelope.payload) {
                Ok(draft) => draft,
                // A refusal too must be proved to be its signer's.
                Err(ended) if ended.note.state == SignedState::Rejected => {
                    refusal = Some(ended);
                    draft
                }
                Err(ended) => return Ok(*ended),
            };
        } else {
            draft.note.over = vec![plain_name(target)];
        }
        let mut fault = "none of its subjects has the SHA-256 digest of this".to_owned();
        for (_, digest) in [&target.file, &target.archive].into_iter().flatten() {
            let proof = match self.proofs.bundles.get(&(at, *digest)) {
                Some(proof) => proof.clone(),
                None => {
                    let proof = self.prove_bundle(bundle, digest, root)?;
                    self.proofs.bundles.insert((at, *digest), proof.clone());
                    proof
                }
            };
            match proof {
                Proof::Fault(why) => fault = why,
                Proof::UnknownKey => {}
                _ if let Some(refusal) = refusal => return Ok(*refusal),
                Proof::Certificate(found) => {
                    let times = found.times.iter().map(|seconds| seconds * 1000).collect();
                    let signatory = Signatory::Certificate(found.identity, found.issuer);
                    let checked = draft.holds(signatory, self, &[], &[]);
                    return Ok(CheckedSignature {
                        proven_times: times,
                        ..checked
                    });
                }
                Proof::Key(key) => {
                    let tokens = &bundle.timestamps;
                    return Ok(draft.holds(Signatory::Key(key), self, tokens, bundle.signature()));
                }
            }
        }
        Ok(draft.broken(fault))
    }

    /// Whose a bundle is, if it is over something with this digest.
    #[cfg(feature = "sigstore")]
    fn prove_bundle(
        &mut self,
        bundle: &SigstoreBundle,
        digest: &Digest,
        root: &TrustedRoot,
    ) -> Result<Proof, Exhausted> {
        if bundle.material == Material::Certificate {
            let signed = match &bundle.content {
                Content::Message { .. } => Signed::Bytes(&self.about.target.plain),
                Content::Envelope(_) => Signed::Digest(digest.as_bytes()),
            };
            self.budget.pay_bundle(bundle.text.len())?;
            return Ok(match verify_certificate(bundle, signed, root) {
                Ok(found) => Proof::Certificate(found),
                Err(error) => Proof::Fault(error.to_string()),
            });
        }
        for (key, _) in self.known.keys() {
            self.budget.pay_bundle(bundle.text.len())?;
            if bundle.holds_with_log(key, digest.as_bytes(), root) {
                return Ok(Proof::Key(key.clone()));
            }
        }
        Ok(Proof::UnknownKey)
    }
}
