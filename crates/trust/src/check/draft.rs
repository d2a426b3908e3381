//! A signature on its way to a verdict.

use std::sync::Arc;

use runseal_core::digest::Digest;
use runseal_core::verify::authenticity::{SignatureNote, SignedState, TimeNote};

use super::{CheckedSignature, Checking, Signatory};
use crate::predicate::Signing;
use crate::timestamp::Token;

/// A signature while it is being checked.
#[derive(Clone)]
pub(super) struct Draft {
    pub(super) note: SignatureNote,
    pub(super) signing: Signing,
    pub(super) predicate: Option<String>,
    pub(super) named: Arc<[Digest]>,
    pub(super) names_original: bool,
}

impl Draft {
    pub(super) fn new(place: &str) -> Self {
        Self {
            note: SignatureNote {
                state: SignedState::Unsigned,
                form: "dsse",
                place: place.to_owned(),
                key: None,
                name: None,
                is_known: false,
                meaning: None,
                over: Vec::new(),
                signed_at: None,
                times: Vec::new(),
                detail: None,
            },
            signing: Signing::default(),
            predicate: None,
            named: Arc::default(),
            names_original: false,
        }
    }

    pub(super) fn end(mut self, state: SignedState, detail: Option<String>) -> CheckedSignature {
        self.note.state = state;
        self.note.detail = detail;
        CheckedSignature {
            note: self.note,
            signatory: None,
            predicate: self.predicate,
            named: self.named,
            names_original: self.names_original,
            signing: self.signing,
            proven_times: Vec::new(),
        }
    }

    pub(super) fn broken(self, fault: String) -> CheckedSignature {
        self.end(SignedState::Broken, Some(fault))
    }

    /// Ends the check of a signature that its key made over the target.
    pub(super) fn holds(
        mut self,
        signatory: Signatory,
        checking: &mut Checking<'_, '_>,
        tokens: &[Vec<u8>],
        sig: &[u8],
    ) -> CheckedSignature {
        let known = checking.known;
        let name = match &signatory {
            Signatory::Key(key) => {
                self.note.key = Some(key.id().to_string());
                known.name_of(key).map(str::to_owned)
            }
            Signatory::Certificate(identity, issuer) => {
                self.note.key = Some(format!("certificate of {identity}, issued by {issuer}"));
                None
            }
        };
        let is_certificate = matches!(signatory, Signatory::Certificate(..));
        self.note.is_known = name.is_some();
        self.note.name = name.or(self.note.name);
        // Whoever gave the trusted root knows the identities in its certificates.
        let is_stranger = known.keys.is_some() && !self.note.is_known && !is_certificate;
        let state = if is_stranger {
            SignedState::UnknownKey
        } else {
            SignedState::Signed
        };
        let key = digest_of_tokens(tokens, sig);
        let (times, proven_times) = match checking.proofs.times.get(&key) {
            Some(known) => known.clone(),
            None => {
                let times = check_times(checking, tokens, sig);
                checking.proofs.times.insert(key, times.clone());
                times
            }
        };
        self.note.times.extend(times);
        CheckedSignature {
            signatory: Some(signatory),
            proven_times,
            ..self.end(state, None)
        }
    }
}

/// Returns a digest that identifies timestamps over a signature.
fn digest_of_tokens(tokens: &[Vec<u8>], sig: &[u8]) -> Digest {
    let parts = std::iter::once(sig).chain(tokens.iter().map(Vec::as_slice));
    let digests = parts.map(|part| *Digest::of(part).as_bytes());
    Digest::of(digests.collect::<Vec<_>>().as_flattened())
}

/// Checks the timestamps over a signature: what to show of each, and the times that are proven.
fn check_times(
    checking: &mut Checking<'_, '_>,
    tokens: &[Vec<u8>],
    sig: &[u8],
) -> (Vec<TimeNote>, Vec<i64>) {
    let known = checking.known;
    let (mut notes, mut proven) = (Vec::new(), Vec::new());
    for bytes in tokens {
        let (time, result) = match Token::parse(bytes) {
            Ok(token) if known.anchors.is_empty() && token.is_over(sig) => {
                let fault = "no root of a time stamping authority was given".to_owned();
                (token.claimed_time_text(), Err(fault))
            }
            Ok(token) => {
                let result = token.verify(sig, &known.anchors, checking.budget);
                if result.is_ok() {
                    proven.push(token.claimed_time());
                }
                let result = result.map_err(|error| error.to_string());
                (token.claimed_time_text(), result)
            }
            Err(error) => (String::new(), Err(error.to_string())),
        };
        let (authority, fault) = match result {
            Ok(authority) => (Some(authority), None),
            Err(fault) => (None, Some(fault)),
        };
        notes.push(TimeNote {
            time,
            authority,
            fault,
        });
    }
    (notes, proven)
}
