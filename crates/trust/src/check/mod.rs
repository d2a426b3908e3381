//! Reads the signatures next to a unit from their files, and checks them against the unit and the
//! known keys.
//!
//! What a signature says about itself (`keyid`, a name, a hint) never decides whether it is valid.

mod bundle;
mod draft;
mod forms;
mod read;

use std::collections::BTreeSet;
use std::sync::Arc;

use runseal_core::digest::Digest;
use runseal_core::verify::authenticity::{Authenticity, SignatureNote, SignedState};

use crate::action::{ACTION_PREDICATE, check_written_action};
use crate::budget::{Budget, Exhausted};
use crate::dsse::Envelope;
use crate::keys::{KeyId, PublicKey};
use crate::limits::MAX_SIGNATURES;
use crate::predicate::{Facts, Signing};
use crate::sigstore::{Content, TrustedRoot};
use crate::statement::{Statement, Target, TargetDigests};
use crate::timestamp::Anchors;

use draft::Draft;
use forms::OpenEnvelope;

pub use read::{Found, FoundSignature, SignatureFileError, read_signatures};

/// What a verifier knows beforehand.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Keys and their names. `None` if neither a policy nor a key was given.
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

    fn name_of(&self, key: &PublicKey) -> Option<&str> {
        let mut keys = self.keys().iter();
        keys.find(|(known, _)| known == key)
            .map(|(_, name)| name.as_str())
    }
}

/// Who made a signature, once that is proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signatory {
    /// The holder of a key.
    Key(PublicKey),
    /// The subject of a certificate: identity and issuer.
    Certificate(String, String),
}

/// A signature that was checked.
#[derive(Clone, Debug)]
pub struct Checked {
    /// What to show of it.
    pub note: SignatureNote,
    /// Who made it, if it is valid and over the target.
    pub signatory: Option<Signatory>,
    /// The type of the signed predicate; `None` if the signature is over the bytes alone.
    pub predicate: Option<String>,
    /// Every digest that the signed statement names, the target's or not.
    pub named: Arc<[Digest]>,
    /// Whether the statement says what a redacted copy was made from.
    pub names_original: bool,
    /// What its signer says about it.
    pub signing: Signing,
    /// Times in milliseconds since 1970 for which someone other than the signer vouches.
    pub proven_times: Vec<i64>,
}

/// Returns whether the signature is valid and its maker is proved; policies look at no others.
pub fn is_proved(checked: &Checked) -> bool {
    checked.note.state == SignedState::Signed && checked.signatory.is_some()
}

/// The unit that signatures are checked against.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// The digests that represent it.
    pub target: &'a Target,
    /// What was found when it was judged.
    pub facts: &'a Facts,
}

/// What every check needs.
struct Checking<'a> {
    about: About<'a>,
    digests: TargetDigests<'a>,
    known: &'a Known,
    ids: Vec<KeyId>,
    budget: &'a mut Budget,
}

impl<'a> Checking<'a> {
    fn new(about: About<'a>, known: &'a Known, budget: &'a mut Budget) -> Self {
        Self {
            about,
            digests: about.target.digests(),
            known,
            ids: known.keys().iter().map(|(key, _)| key.id()).collect(),
            budget,
        }
    }

    /// Returns the known key with this id.
    fn key_with_id(&self, id: &str) -> Option<&'a PublicKey> {
        let at = self.ids.iter().position(|known| known.to_string() == id)?;
        self.known.keys().get(at).map(|(key, _)| key)
    }

    /// Returns the first known key for which `holds` is true. Each key tried is paid for as one
    /// check over `bytes` bytes.
    fn find_known(
        &mut self,
        bytes: usize,
        holds: impl Fn(&PublicKey) -> bool,
    ) -> Result<Option<&'a PublicKey>, Exhausted> {
        for (key, _) in self.known.keys() {
            self.budget.pay_signature(bytes)?;
            if holds(key) {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }

    /// Checks the signatures of one file or line in order. `seen` has those already checked.
    fn check_found(
        &mut self,
        found: &Found,
        seen: &mut BTreeSet<Digest>,
        checked: &mut Vec<Checked>,
    ) -> Result<(), Exhausted> {
        let mut draft = Draft::new(&found.place);
        let one = match &found.signature {
            FoundSignature::Damaged(form, fault) => {
                draft.note.form = form;
                draft.broken(fault.clone())
            }
            FoundSignature::Unread(form, why) => {
                draft.note.form = form;
                draft.end(SignedState::CannotTell, Some(why.clone()))
            }
            FoundSignature::Ssh(signature) => self.check_ssh(draft, signature)?,
            FoundSignature::Minisign(signature) => self.check_minisign(draft, signature)?,
            FoundSignature::Bundle(bundle) => {
                draft.note.form = "sigstore";
                if seen.insert(Digest::of(bundle.text.as_bytes())) {
                    self.check_bundle(draft, bundle)?
                } else {
                    return Ok(());
                }
            }
            FoundSignature::Envelope(envelope) if envelope.signatures.is_empty() => {
                draft.broken("the envelope has no signature".to_owned())
            }
            FoundSignature::Envelope(envelope) => {
                self.budget.pay_reading(envelope.payload.len())?;
                let open = OpenEnvelope::new(envelope);
                for signature in &envelope.signatures {
                    if seen.insert(open.digest_of(signature)) {
                        let one = self.check_envelope(draft.clone(), &open, signature)?;
                        push(checked, one)?;
                    }
                }
                return Ok(());
            }
        };
        push(checked, one)
    }
}

fn push(checked: &mut Vec<Checked>, one: Checked) -> Result<(), Exhausted> {
    checked.push(one);
    if checked.len() > MAX_SIGNATURES {
        Err(Exhausted::Signatures)
    } else {
        Ok(())
    }
}

/// Checks every distinct signature once. If the budget runs out, the last one says so.
pub fn check_signatures(
    found: &[Found],
    about: About<'_>,
    known: &Known,
    budget: &mut Budget,
) -> Vec<Checked> {
    let mut checking = Checking::new(about, known, budget);
    let (mut seen, mut checked) = (BTreeSet::new(), Vec::new());
    for one in found {
        if let Err(end) = checking.check_found(one, &mut seen, &mut checked) {
            checked.truncate(MAX_SIGNATURES);
            let rest = Draft::new(&one.place);
            checked.push(rest.end(SignedState::CannotTell, Some(end.to_string())));
            break;
        }
    }
    let envelopes = found
        .iter()
        .filter_map(|found| envelope_in(&found.signature));
    add_remarks(&mut checked, envelopes, about.target);
    checked
}

/// Adds remarks to counter-signatures of absent signatures, and to unsigned lists.
fn add_remarks<'a>(
    checked: &mut [Checked],
    envelopes: impl Iterator<Item = &'a Envelope>,
    target: &Target,
) {
    let is_counted = |one: &Checked| !one.signing.previous.is_empty();
    if checked.iter().any(is_counted) {
        let envelopes: BTreeSet<Digest> = envelopes.map(Envelope::digest).collect();
        for one in checked.iter_mut() {
            let mut previous = one.signing.previous.iter();
            if previous.any(|link| !envelopes.contains(link)) && one.note.detail.is_none() {
                one.note.detail = Some("counter-signs a signature that is not here".to_owned());
            }
        }
    }
    if let Some((list, _)) = &target.withheld {
        for one in checked {
            let omits_list = one.signatory.is_some() && !one.note.over.contains(list);
            if omits_list && one.note.detail.is_none() {
                one.note.detail = Some("the list of what is withheld is not signed".to_owned());
            }
        }
    }
}

/// Returns the envelope of a signature, if it has one.
fn envelope_in(signature: &FoundSignature) -> Option<&Envelope> {
    match signature {
        FoundSignature::Envelope(envelope) => Some(envelope),
        FoundSignature::Bundle(bundle) => match &bundle.content {
            Content::Envelope(envelope) => Some(envelope),
            Content::Message { .. } => None,
        },
        _ => None,
    }
}

/// A statement found next to a unit.
#[derive(Debug)]
pub struct FoundStatement<'a> {
    /// Its file, and the line if the file has several.
    pub place: &'a str,
    /// The statement with its signatures.
    pub envelope: &'a Envelope,
    /// Why it does not count as a statement about the target.
    pub fault: Option<&'static str>,
    /// Whether it also names something that is not part of the target.
    pub names_more: bool,
}

/// Returns the statements among the signatures found. A statement counts if its own subject is the
/// whole target and its first signature, which represents it in logs, is not broken. Whether the
/// key is known is for policies to ask.
pub fn find_statements<'a>(
    found: &'a [Found],
    about: About<'_>,
    known: &Known,
    budget: &mut Budget,
) -> Vec<FoundStatement<'a>> {
    let digests = about.target.digests();
    let mut statements = Vec::new();
    for one in found {
        let Some(envelope) = envelope_in(&one.signature) else {
            continue;
        };
        let statement = Statement::parse(&envelope.payload).ok();
        let chain = statement.as_ref().is_some_and(|statement| {
            statement.predicate_type == ACTION_PREDICATE
                && check_written_action(&envelope.payload).is_ok()
        });
        let is_own = statement
            .as_ref()
            .is_some_and(|statement| statement.is_primarily_about(&digests, chain));
        let fault = if is_own {
            let checked = check_signatures(std::slice::from_ref(one), about, known, budget);
            match checked.first().map(|checked| checked.note.state) {
                Some(SignedState::Signed | SignedState::Rejected | SignedState::UnknownKey) => None,
                Some(SignedState::OtherSubject) => Some("the statement is about something else"),
                _ => Some("the statement's signature is broken"),
            }
        } else {
            Some("the statement is about something else")
        };
        let names_more = statement.is_some_and(|statement| statement.names_more(&digests, chain));
        statements.push(FoundStatement {
            place: &one.place,
            envelope,
            fault,
            names_more,
        });
    }
    statements
}

/// Summarizes the checked signatures, before any policy decides.
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
