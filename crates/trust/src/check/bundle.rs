//! The check of sigstore's bundles.

#[cfg(feature = "sigstore")]
use runseal_core::digest::Digest;
use runseal_core::verify::authenticity::SignedState;

use super::draft::Draft;
use super::forms::{check_envelope, plain_name};
use super::{Checked, Known, Signatory};
use crate::sigstore::{Content, Material, SigstoreBundle};
#[cfg(feature = "sigstore")]
use crate::statement::Statement;
use crate::statement::Target;

pub(super) fn check_bundle(
    mut draft: Draft,
    bundle: &SigstoreBundle,
    target: &Target,
    known: &Known,
) -> Checked {
    let needs_root = bundle.material == Material::Certificate || bundle.has_log_entries;
    if needs_root {
        return check_with_root(draft, bundle, target, known);
    }
    match &bundle.content {
        Content::Envelope(envelope) => {
            let mut signature = envelope.signatures[0].clone();
            signature
                .timestamps
                .extend(bundle.timestamps.iter().cloned());
            check_envelope(draft, envelope, &signature, target, known)
        }
        Content::Message { signature } => {
            match known.find(|key| key.verifies(&target.plain, signature)) {
                Some((key, _)) => {
                    let key = key.clone();
                    draft.note.over = vec![plain_name(target)];
                    draft.holds(Signatory::Key(key), known, &bundle.timestamps, signature)
                }
                None => draft.end(SignedState::UnknownKey, None),
            }
        }
    }
}

#[cfg(not(feature = "sigstore"))]
fn check_with_root(draft: Draft, _: &SigstoreBundle, _: &Target, _: &Known) -> Checked {
    let error = crate::sigstore::SigstoreError::NotBuilt;
    draft.end(SignedState::UnknownKey, Some(error.to_string()))
}

#[cfg(feature = "sigstore")]
fn check_with_root(
    mut draft: Draft,
    bundle: &SigstoreBundle,
    target: &Target,
    known: &Known,
) -> Checked {
    use crate::sigstore::{Signed, verify_certificate};
    let Some(root) = &known.sigstore else {
        let fault = "no trusted root of sigstore was given".to_owned();
        return draft.end(SignedState::UnknownKey, Some(fault));
    };
    // What a statement is about decides which digest the bundle must hold for.
    let digests: Vec<Digest> = [&target.file, &target.archive]
        .into_iter()
        .flatten()
        .map(|(_, digest)| *digest)
        .collect();
    if let Content::Envelope(envelope) = &bundle.content {
        match Statement::parse(&envelope.payload) {
            Ok(statement) => {
                let over = statement.matching_subjects(target);
                if over.is_empty() {
                    let names = statement.subjects.iter().take(3);
                    draft.note.over = names.map(|subject| subject.name.clone()).collect();
                    return draft.end(SignedState::OtherSubject, None);
                }
                draft.note.over = over.into_iter().map(str::to_owned).collect();
            }
            Err(error) => return draft.end(SignedState::OtherSubject, Some(error.to_string())),
        }
    } else {
        draft.note.over = vec![plain_name(target)];
    }
    let mut fault = "its subjects have no SHA-256 digest of this".to_owned();
    for digest in &digests {
        let signed = match &bundle.content {
            Content::Message { .. } => Signed::Bytes(&target.plain),
            Content::Envelope(_) => Signed::Digest(digest.as_bytes()),
        };
        if bundle.material == Material::Certificate {
            match verify_certificate(bundle, signed, root) {
                Ok(found) => {
                    let times = found.times.iter().map(|seconds| seconds * 1000).collect();
                    let signatory = Signatory::Certificate(found.identity, found.issuer);
                    let checked = draft.holds(signatory, known, &[], &[]);
                    return Checked {
                        proven_times: times,
                        ..checked
                    };
                }
                Err(error) => fault = error.to_string(),
            }
        } else if let Some((key, _)) =
            known.find(|key| bundle.holds_with_log(key, digest.as_bytes(), root))
        {
            let key = key.clone();
            return draft.holds(
                Signatory::Key(key),
                known,
                &bundle.timestamps,
                bundle.signature(),
            );
        }
    }
    draft.broken(fault)
}
