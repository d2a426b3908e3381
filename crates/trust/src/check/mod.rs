//! Reads the signatures next to a unit from their files, and checks them against the unit and the
//! known keys.
//!
//! What a signature says about itself (`keyid`, a name, a hint) never decides whether it is valid.

mod bundle;
mod draft;
mod forms;
mod read;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use runseal_core::digest::Digest;
use runseal_core::verify::authenticity::{Authenticity, SignatureNote, SignedState, TimeNote};

use crate::budget::{Budget, Exhausted};
use crate::dsse::Envelope;
use crate::keys::{KeyId, PublicKey};
use crate::limits::MAX_SIGNATURES;
use crate::predicate::{Facts, Signing};
use crate::sigstore::{Content, TrustedRoot};
use crate::statement::{Target, TargetDigests};
use crate::timestamp::Anchors;

use draft::Draft;
use forms::{Maker, OpenEnvelope};

pub use read::{Found, FoundSignature, SignatureFileError, read_signatures};

/// What a verifier knows beforehand.
#[derive(Clone, Debug, Default)]
pub struct KnownSigners {
    /// Keys and their names. `None` if neither a policy nor a key was given.
    pub keys: Option<Vec<(PublicKey, String)>>,
    /// Roots of time stamping authorities.
    pub anchors: Anchors,
    /// Sigstore's certificates and logs.
    pub sigstore: Option<TrustedRoot>,
}

impl KnownSigners {
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
pub struct CheckedSignature {
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
pub fn is_proved(checked: &CheckedSignature) -> bool {
    checked.note.state == SignedState::Signed && checked.signatory.is_some()
}

/// The unit that signatures are checked against.
#[derive(Clone, Copy, Debug)]
pub struct SignedUnit<'a> {
    /// The digests that represent it.
    pub target: &'a Target,
    /// What was found when it was judged.
    pub facts: &'a Facts,
}

/// Checks the signatures next to a unit, each once: whose it is and over which bytes. What it is over is
/// then matched against what represents the unit, as often as more of that becomes known.
pub struct SignatureChecker<'f, 'b> {
    found: &'f [Found],
    known: &'f KnownSigners,
    ids: Vec<KeyId>,
    budget: &'b mut Budget,
    proofs: Proofs<'f>,
}

/// What was found out about signatures, whatever they are matched against.
#[derive(Default)]
struct Proofs<'f> {
    /// Envelopes by their index among the signatures.
    envelopes: BTreeMap<usize, Arc<OpenEnvelope<'f>>>,
    /// The makers of the signatures in envelopes.
    makers: BTreeMap<Digest, Maker>,
    /// Signatures over the unit's own bytes, by their index.
    over_bytes: BTreeMap<usize, CheckedSignature>,
    /// Whether sigstore bundles hold over a digest, by their index.
    #[cfg(feature = "sigstore")]
    bundles: BTreeMap<(usize, Digest), bundle::Proof>,
    /// The times that are proven by timestamps, by signature and timestamps.
    times: BTreeMap<Digest, (Vec<TimeNote>, Vec<i64>)>,
}

/// What every check needs.
struct Checking<'a, 'f> {
    about: SignedUnit<'a>,
    digests: TargetDigests<'a>,
    known: &'f KnownSigners,
    ids: &'a [KeyId],
    budget: &'a mut Budget,
    proofs: &'a mut Proofs<'f>,
}

impl<'f> Checking<'_, 'f> {
    /// Returns the known key with this id.
    fn key_with_id(&self, id: &str) -> Option<&'f PublicKey> {
        let at = self.ids.iter().position(|known| known.to_string() == id)?;
        self.known.keys().get(at).map(|(key, _)| key)
    }

    /// Returns the first known key for which `holds` is true. Each key tried is paid for as one
    /// check over `bytes` bytes.
    fn find_known(
        &mut self,
        bytes: usize,
        holds: impl Fn(&PublicKey) -> bool,
    ) -> Result<Option<&'f PublicKey>, Exhausted> {
        for (key, _) in self.known.keys() {
            self.budget.pay_signature(bytes)?;
            if holds(key) {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }

    /// Reads the envelope at this index, unless it was read before.
    fn open(
        &mut self,
        at: usize,
        envelope: &'f Envelope,
    ) -> Result<Arc<OpenEnvelope<'f>>, Exhausted> {
        if let Some(open) = self.proofs.envelopes.get(&at) {
            return Ok(Arc::clone(open));
        }
        self.budget.pay_reading(envelope.payload.len())?;
        let open = Arc::new(OpenEnvelope::new(envelope));
        self.proofs.envelopes.insert(at, Arc::clone(&open));
        Ok(open)
    }

    /// Checks the signatures of the file or line at this index in order. `seen` has those already
    /// checked.
    fn check_found(
        &mut self,
        (at, found): (usize, &'f Found),
        seen: &mut BTreeSet<Digest>,
        checked: &mut Vec<CheckedSignature>,
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
            FoundSignature::Ssh(_) | FoundSignature::Minisign(_) => {
                if let Some(known) = self.proofs.over_bytes.get(&at) {
                    known.clone()
                } else {
                    let one = self.check_over_bytes(draft, &found.signature)?;
                    self.proofs.over_bytes.insert(at, one.clone());
                    one
                }
            }
            FoundSignature::Bundle(bundle) => {
                draft.note.form = "sigstore";
                if seen.insert(Digest::of(bundle.text.as_bytes())) {
                    self.check_bundle(draft, (at, bundle))?
                } else {
                    return Ok(());
                }
            }
            FoundSignature::Envelope(envelope) if envelope.signatures.is_empty() => {
                draft.broken("the envelope has no signature".to_owned())
            }
            FoundSignature::Envelope(envelope) => {
                let open = self.open(at, envelope)?;
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

impl<'f, 'b> SignatureChecker<'f, 'b> {
    /// A checker of these signatures, which pays from `budget`.
    pub fn new(found: &'f [Found], known: &'f KnownSigners, budget: &'b mut Budget) -> Self {
        Self {
            found,
            known,
            ids: known.keys().iter().map(|(key, _)| key.id()).collect(),
            budget,
            proofs: Proofs::default(),
        }
    }

    fn checking<'a>(&'a mut self, about: SignedUnit<'a>) -> Checking<'a, 'f> {
        Checking {
            about,
            digests: about.target.digests(),
            known: self.known,
            ids: &self.ids,
            budget: self.budget,
            proofs: &mut self.proofs,
        }
    }

    /// Matches every distinct signature against a unit. If the budget runs out, the last one says so.
    ///
    /// Between two calls only the archive of the unit may change: its bytes are the same.
    pub fn check(&mut self, about: SignedUnit<'_>) -> Vec<CheckedSignature> {
        let found = self.found;
        let mut checking = self.checking(about);
        let (mut seen, mut checked) = (BTreeSet::new(), Vec::new());
        for one in found.iter().enumerate() {
            if let Err(end) = checking.check_found(one, &mut seen, &mut checked) {
                checked.truncate(MAX_SIGNATURES);
                let rest = Draft::new(&one.1.place);
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

    /// Returns the statements among the signatures. A statement counts if its own subject is the
    /// whole target and its first signature, which represents it in logs, is not broken. Whether the
    /// key is known is for policies to ask.
    pub fn find_statements(&mut self, about: SignedUnit<'_>) -> Vec<FoundStatement<'f>> {
        let found = self.found;
        let mut checking = self.checking(about);
        let statements = found.iter().enumerate().filter_map(|(at, one)| {
            let envelope = envelope_in(&one.signature)?;
            let (fault, names_more) = checking.read_statement_at((at, one), envelope);
            Some(FoundStatement {
                place: &one.place,
                envelope,
                fault,
                names_more,
            })
        });
        statements.collect()
    }
}

impl<'f> Checking<'_, 'f> {
    /// Why the statement at this index does not count as one about the target, and whether it also names
    /// something else.
    fn read_statement_at(
        &mut self,
        one: (usize, &'f Found),
        envelope: &'f Envelope,
    ) -> (Option<&'static str>, bool) {
        const OTHER: Option<&str> = Some("the statement is about something else");
        const BROKEN: Option<&str> = Some("the statement's signature is broken");
        let Ok(open) = self.open(one.0, envelope) else {
            return (BROKEN, false);
        };
        let Some((statement, has_chain)) = open.statement() else {
            return (OTHER, false);
        };
        let names_more = statement.names_more(&self.digests, has_chain);
        if !statement.is_primarily_about(&self.digests, has_chain) {
            return (OTHER, names_more);
        }
        let mut checked = Vec::new();
        // If the budget runs out, what was checked before counts.
        let _ = self.check_found(one, &mut BTreeSet::new(), &mut checked);
        let fault = match checked.first().map(|checked| checked.note.state) {
            Some(SignedState::Signed | SignedState::Rejected | SignedState::UnknownKey) => None,
            Some(SignedState::OtherSubject) => OTHER,
            _ => BROKEN,
        };
        (fault, names_more)
    }
}

fn push(checked: &mut Vec<CheckedSignature>, one: CheckedSignature) -> Result<(), Exhausted> {
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
    about: SignedUnit<'_>,
    known: &KnownSigners,
    budget: &mut Budget,
) -> Vec<CheckedSignature> {
    SignatureChecker::new(found, known, budget).check(about)
}

/// Adds remarks to counter-signatures of absent signatures, and to unsigned lists.
fn add_remarks<'a>(
    checked: &mut [CheckedSignature],
    envelopes: impl Iterator<Item = &'a Envelope>,
    target: &Target,
) {
    let is_counted = |one: &CheckedSignature| !one.signing.previous.is_empty();
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

/// Summarizes the checked signatures, before any policy decides.
pub fn summarize(checked: &[CheckedSignature], sealed_at: Option<String>) -> Authenticity {
    let signatures: Vec<_> = checked.iter().map(|checked| checked.note.clone()).collect();
    Authenticity {
        signed: Authenticity::overall(&signatures),
        signatures,
        sealed_at,
        trusted: None,
        logged: None,
    }
}
