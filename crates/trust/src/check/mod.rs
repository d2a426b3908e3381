//! Signatures beside something: read from their files, and checked against what they should be
//! over and the keys that are known.
//!
//! What a signature says about itself (`keyid`, a name, a hint) never decides whether it holds.

mod bundle;
mod draft;
mod forms;
mod read;

use std::collections::BTreeSet;

use runseal_core::digest::Digest;
use runseal_core::verify::authenticity::{Authenticity, SignatureNote, SignedState};

use crate::dsse::Envelope;
use crate::keys::PublicKey;
use crate::predicate::Signing;
use crate::sigstore::{Content, TrustedRoot};
use crate::statement::{Statement, Target};
use crate::timestamp::Anchors;

use bundle::check_bundle;
use draft::Draft;
use forms::{check_envelope, check_minisign, check_ssh};

pub use read::{Found, FoundSignature, SignatureFileError, read_signatures};

/// What a verifier knows beforehand.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Keys, with the names that they go by. None where no policy and no key was given.
    pub keys: Option<Vec<(PublicKey, String)>>,
    /// Roots of time stamping authorities.
    pub anchors: Anchors,
    /// Sigstore's certificates and logs.
    pub sigstore: Option<TrustedRoot>,
}

impl Known {
    fn keys(&self) -> &[(PublicKey, String)] {
        self.keys.as_deref().unwrap_or_default()
    }

    /// The first known key for which `holds` is true, with its name.
    fn find(&self, holds: impl Fn(&PublicKey) -> bool) -> Option<(&PublicKey, &str)> {
        let mut keys = self.keys().iter();
        let (key, name) = keys.find(|(key, _)| holds(key))?;
        Some((key, name))
    }

    fn name_of(&self, key: &PublicKey) -> Option<&str> {
        let mut keys = self.keys().iter();
        keys.find(|(known, _)| known == key)
            .map(|(_, name)| name.as_str())
    }
}

/// Who a signature is from, once that is proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signatory {
    /// The holder of a key.
    Key(PublicKey),
    /// Somebody that a certificate names: identity and issuer.
    Certificate(String, String),
}

/// A signature that was checked.
#[derive(Clone, Debug)]
pub struct Checked {
    /// What to show of it.
    pub note: SignatureNote,
    /// Who it is from, where it holds and is over the target.
    pub signatory: Option<Signatory>,
    /// What its signer says of it.
    pub signing: Signing,
    /// Times in milliseconds since 1970 that somebody else than the signer vouches for.
    pub proven_times: Vec<i64>,
}

/// The state that a policy looks at.
pub fn is_proved(checked: &Checked) -> bool {
    checked.note.state == SignedState::Signed && checked.signatory.is_some()
}

/// Checks every signature that was found.
pub fn check_signatures(found: &[Found], target: &Target, known: &Known) -> Vec<Checked> {
    let envelopes: BTreeSet<Digest> = found
        .iter()
        .filter_map(|found| match &found.signature {
            FoundSignature::Envelope(envelope) => Some(envelope.digest()),
            FoundSignature::Bundle(bundle) => match &bundle.content {
                Content::Envelope(envelope) => Some(envelope.digest()),
                Content::Message { .. } => None,
            },
            _ => None,
        })
        .collect();
    let mut checked = Vec::new();
    for Found { place, signature } in found {
        let mut draft = Draft::new(place);
        match signature {
            FoundSignature::Damaged(form, fault) => {
                draft.note.form = form;
                checked.push(draft.broken(fault.clone()));
            }
            FoundSignature::Unread(form, why) => {
                draft.note.form = form;
                checked.push(draft.end(SignedState::CannotTell, Some(why.clone())));
            }
            FoundSignature::Ssh(signature) => {
                checked.push(check_ssh(draft, signature, target, known));
            }
            FoundSignature::Minisign(signature) => {
                checked.push(check_minisign(draft, signature, target, known));
            }
            FoundSignature::Bundle(bundle) => {
                draft.note.form = "sigstore";
                checked.push(check_bundle(draft, bundle, target, known));
            }
            FoundSignature::Envelope(envelope) => {
                if envelope.signatures.is_empty() {
                    draft.note.form = "dsse";
                    checked.push(
                        draft
                            .clone()
                            .broken("the envelope has no signature".to_owned()),
                    );
                }
                for signature in &envelope.signatures {
                    let mut draft = draft.clone();
                    draft.note.form = "dsse";
                    checked.push(check_envelope(draft, envelope, signature, target, known));
                }
            }
        }
    }
    for one in &mut checked {
        let missing = one
            .signing
            .previous
            .iter()
            .filter(|link| !envelopes.contains(link));
        if missing.count() > 0 && one.note.detail.is_none() {
            one.note.detail = Some("counter-signs a signature that is not here".to_owned());
        }
    }
    if let Some((list, _)) = &target.withheld {
        for one in &mut checked {
            let is_silent = one.signatory.is_some() && !one.note.over.contains(list);
            if is_silent && one.note.detail.is_none() {
                one.note.detail = Some("the list of what is withheld is not signed".to_owned());
            }
        }
    }
    checked
}

/// A statement that was found, and why it is not taken for one about the target, where it is not.
pub type FoundStatement<'a> = (&'a Found, &'a Envelope, Option<&'static str>);

/// The statements among what was found. One counts that names `target` and whose first signature, which
/// stands for it in logs, is not broken; whether its key is known is for policies to ask.
pub fn find_statements<'a>(
    found: &'a [Found],
    target: &Target,
    known: &Known,
) -> Vec<FoundStatement<'a>> {
    let mut statements = Vec::new();
    for one in found {
        let envelope = match &one.signature {
            FoundSignature::Envelope(envelope) => envelope,
            FoundSignature::Bundle(bundle) => match &bundle.content {
                Content::Envelope(envelope) => envelope,
                Content::Message { .. } => continue,
            },
            _ => continue,
        };
        let names_target = Statement::parse(&envelope.payload)
            .is_ok_and(|statement| !statement.matching_subjects(target).is_empty());
        let checked = check_signatures(std::slice::from_ref(one), target, known);
        let state = checked.first().map(|checked| checked.note.state);
        let fault = match state {
            _ if !names_target => Some("the statement is about something else"),
            Some(SignedState::Signed | SignedState::UnknownKey) => None,
            _ => Some("the statement's signature does not hold"),
        };
        statements.push((one, envelope, fault));
    }
    statements
}

/// What was found, taken together, without the policy's word.
pub fn summarize(checked: &[Checked], sealed_at: Option<String>) -> Authenticity {
    let signatures: Vec<_> = checked.iter().map(|checked| checked.note.clone()).collect();
    Authenticity {
        signed: Authenticity::overall(&signatures),
        signatures,
        sealed_at,
        trusted: None,
        logged: None,
    }
}
