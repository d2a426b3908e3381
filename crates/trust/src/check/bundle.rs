//! The check of sigstore bundles.

use runseal_core::verify::authenticity::SignedState;

use super::draft::Draft;
use super::forms::{OpenEnvelope, plain_name};
use super::{Checked, Checking, Signatory};
use crate::budget::Exhausted;
use crate::sigstore::{Content, Material, SigstoreBundle};
#[cfg(feature = "sigstore")]
use crate::statement::Statement;

impl Checking<'_> {
    pub(super) fn check_bundle(
        &mut self,
        mut draft: Draft,
        bundle: &SigstoreBundle,
    ) -> Result<Checked, Exhausted> {
        let needs_root = bundle.material == Material::Certificate || bundle.has_log_entries;
        if needs_root {
            return self.check_with_root(draft, bundle);
        }
        match &bundle.content {
            Content::Envelope(envelope) => {
                let mut signature = envelope.signatures[0].clone();
                let tokens = bundle.timestamps.iter().cloned();
                signature.timestamps.extend(tokens);
                self.check_envelope(draft, &OpenEnvelope::new(envelope), &signature)
            }
            Content::Message { signature } => {
                let plain = &self.about.target.plain;
                match self.find_known(plain.len(), |key| key.verifies(plain, signature))? {
                    Some(key) => {
                        let key = key.clone();
                        draft.note.over = vec![plain_name(self.about.target)];
                        let signatory = Signatory::Key(key);
                        Ok(draft.holds(signatory, self, &bundle.timestamps, signature))
                    }
                    None => Ok(draft.end(SignedState::UnknownKey, None)),
                }
            }
        }
    }

    #[cfg(not(feature = "sigstore"))]
    fn check_with_root(&mut self, draft: Draft, _: &SigstoreBundle) -> Result<Checked, Exhausted> {
        let error = crate::sigstore::SigstoreError::NotBuilt;
        Ok(draft.end(SignedState::UnknownKey, Some(error.to_string())))
    }

    #[cfg(feature = "sigstore")]
    fn check_with_root(
        &mut self,
        mut draft: Draft,
        bundle: &SigstoreBundle,
    ) -> Result<Checked, Exhausted> {
        use crate::sigstore::{Signed, verify_certificate};
        let target = self.about.target;
        let Some(root) = &self.known.sigstore else {
            let fault = "no sigstore trusted root was given".to_owned();
            return Ok(draft.end(SignedState::UnknownKey, Some(fault)));
        };
        let mut refusal = None;
        // What a statement is about decides which digest the bundle must be over.
        if let Content::Envelope(envelope) = &bundle.content {
            let statement = match Statement::parse(&envelope.payload) {
                Ok(statement) => statement,
                Err(error) => {
                    let fault = Some(error.to_string());
                    return Ok(draft.end(SignedState::OtherSubject, fault));
                }
            };
            draft.named = statement.named_digests().collect();
            draft = match self.read_statement(draft.clone(), &statement, &envelope.payload) {
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
            if bundle.material == Material::Certificate {
                let signed = match &bundle.content {
                    Content::Message { .. } => Signed::Bytes(&target.plain),
                    Content::Envelope(_) => Signed::Digest(digest.as_bytes()),
                };
                self.budget.pay_bundle(bundle.text.len())?;
                match verify_certificate(bundle, signed, root) {
                    Ok(found) => {
                        if let Some(refusal) = refusal {
                            return Ok(*refusal);
                        }
                        let times = found.times.iter().map(|seconds| seconds * 1000).collect();
                        let signatory = Signatory::Certificate(found.identity, found.issuer);
                        let checked = draft.holds(signatory, self, &[], &[]);
                        return Ok(Checked {
                            proven_times: times,
                            ..checked
                        });
                    }
                    Err(error) => fault = error.to_string(),
                }
                continue;
            }
            for (key, _) in self.known.keys() {
                self.budget.pay_bundle(bundle.text.len())?;
                if bundle.holds_with_log(key, digest.as_bytes(), root) {
                    if let Some(refusal) = refusal {
                        return Ok(*refusal);
                    }
                    let signatory = Signatory::Key(key.clone());
                    let tokens = &bundle.timestamps;
                    return Ok(draft.holds(signatory, self, tokens, bundle.signature()));
                }
            }
        }
        Ok(draft.broken(fault))
    }
}
