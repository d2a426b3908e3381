//! The check of each form: DSSE, SSHSIG, minisign.

use std::sync::Arc;

use runseal_core::digest::Digest;
use runseal_core::verify::authenticity::SignedState;

use super::draft::Draft;
use super::{CheckedSignature, Checking, FoundSignature, Signatory};
use crate::action::{ACTION_PREDICATE, check_written_action};
use crate::budget::Exhausted;
use crate::claim::{Claim, read_claim};
use crate::copies::Origin;
use crate::dsse::{Envelope, EnvelopeSignature, IN_TOTO};
use crate::keys::PublicKey;
use crate::keys::minisign::MinisignSignature;
use crate::keys::sshsig::{self, SshSignature};
use crate::limits::{MAX_NAMED_SUBJECTS, MAX_STATED_BYTES};
use crate::predicate::{RUN_PREDICATE, Signing, read_signing};
use crate::statement::{Relation, Statement, StatementError, Target};

/// An envelope with its payload read once for all its signatures.
pub(super) struct OpenEnvelope<'a> {
    envelope: &'a Envelope,
    message: Vec<u8>,
    digest: Digest,
    pub(super) statement: Result<Statement, StatementError>,
    pub(super) named: Arc<[Digest]>,
    signing: Signing,
    carried: Option<PublicKey>,
}

impl<'a> OpenEnvelope<'a> {
    pub(super) fn new(envelope: &'a Envelope) -> Self {
        let statement = match envelope.payload_type.as_str() {
            IN_TOTO => Statement::parse(&envelope.payload),
            _ => Err(StatementError::Type),
        };
        let (signing, carried) = match &statement {
            Ok(statement) => read_signing(&statement.predicate_type, &statement.predicate),
            Err(_) => Default::default(),
        };
        let named = match &statement {
            Ok(statement) => statement.named_digests().collect(),
            Err(_) => Arc::default(),
        };
        let message = envelope.signed_bytes();
        Self {
            named,
            envelope,
            digest: Digest::of(&message),
            message,
            statement,
            signing,
            carried,
        }
    }

    /// Returns its statement, and whether a chain of actions comes first in it.
    pub(super) fn statement(&self) -> Option<(&Statement, bool)> {
        let statement = self.statement.as_ref().ok()?;
        let has_chain = statement.predicate_type == ACTION_PREDICATE
            && check_written_action(&self.envelope.payload).is_ok();
        Some((statement, has_chain))
    }

    /// Returns a digest that identifies one of its signatures among all others.
    pub(super) fn digest_of(&self, signature: &EnvelopeSignature) -> Digest {
        let mut text = self.digest.to_string().into_bytes();
        for part in std::iter::once(&signature.sig).chain(&signature.timestamps) {
            text.extend(Digest::of(part).as_bytes());
        }
        Digest::of(&text)
    }
}

/// Which key made a signature, among the known keys and the one that the signature carries.
#[derive(Clone)]
pub(super) enum Maker {
    Found(PublicKey),
    Broken,
    Unknown,
}

const NOT_BY_ITS_KEY: &str = "damaged, or not made by its key over these bytes";

impl Checking<'_, '_> {
    /// Tries the key that the signature hints at, then the one that it carries, then all others.
    /// The hint decides the order and the wording, never whether a key counts.
    fn find_maker(
        &mut self,
        open: &OpenEnvelope<'_>,
        signature: &EnvelopeSignature,
    ) -> Result<Maker, Exhausted> {
        let bytes = open.message.len();
        let holds = |key: &PublicKey| key.verifies(&open.message, &signature.sig);
        let hinted = signature.keyid.as_deref();
        let hinted = hinted.and_then(|id| self.key_with_id(id));
        let carried = open.carried.as_ref();
        for key in hinted
            .into_iter()
            .chain(carried.filter(|key| Some(*key) != hinted))
        {
            self.budget.pay_signature(bytes)?;
            if holds(key) {
                return Ok(Maker::Found(key.clone()));
            }
        }
        if let Some(key) = self.find_known(bytes, holds)? {
            return Ok(Maker::Found(key.clone()));
        }
        // An envelope with several signatures carries only the key of its first signer.
        let is_only = open.envelope.signatures.len() == 1;
        if hinted.is_some() || carried.is_some() && is_only {
            Ok(Maker::Broken)
        } else {
            Ok(Maker::Unknown)
        }
    }

    pub(super) fn check_envelope(
        &mut self,
        mut draft: Draft,
        open: &OpenEnvelope<'_>,
        signature: &EnvelopeSignature,
    ) -> Result<CheckedSignature, Exhausted> {
        draft.note.name.clone_from(&open.signing.name);
        draft.note.meaning.clone_from(&open.signing.meaning);
        draft.note.signed_at.clone_from(&open.signing.signed_at);
        draft.signing.clone_from(&open.signing);
        draft.note.key.clone_from(&signature.keyid);
        draft.named = Arc::clone(&open.named);
        let id = open.digest_of(signature);
        let maker = match self.proofs.makers.get(&id) {
            Some(maker) => maker.clone(),
            None => {
                let maker = self.find_maker(open, signature)?;
                self.proofs.makers.insert(id, maker.clone());
                maker
            }
        };
        let key = match maker {
            Maker::Found(key) => key,
            Maker::Broken => return Ok(draft.broken(NOT_BY_ITS_KEY.to_owned())),
            Maker::Unknown => return Ok(draft.end(SignedState::UnknownKey, None)),
        };
        draft.note.key = Some(key.id().to_string());
        if let Some(name) = self.known.name_of(&key) {
            (draft.note.is_known, draft.note.name) = (true, Some(name.to_owned()));
        }
        let statement = match &open.statement {
            Ok(statement) => statement,
            Err(error) => {
                let fault = Some(error.to_string());
                return Ok(draft.end(SignedState::OtherSubject, fault));
            }
        };
        let draft = match self.read_statement(draft, statement, &open.envelope.payload) {
            Ok(draft) => draft,
            Err(ended) => return Ok(*ended),
        };
        let (tokens, sig) = (&signature.timestamps, &signature.sig);
        Ok(draft.holds(Signatory::Key(key), self, tokens, sig))
    }

    /// Reads what a statement says about the target, for a signature made by its key. The check
    /// ends if the statement is about something else or refuses the target.
    pub(super) fn read_statement(
        &self,
        mut draft: Draft,
        statement: &Statement,
        payload: &[u8],
    ) -> Result<Draft, Box<CheckedSignature>> {
        draft.predicate = Some(statement.predicate_type.clone());
        let names = |names: Vec<&str>| {
            let names = names.into_iter().take(MAX_NAMED_SUBJECTS);
            names.map(shortened).collect()
        };
        match statement.relation(&self.digests) {
            Relation::Whole(over) => draft.note.over = names(over),
            Relation::Part(over) => {
                draft.note.over = names(over);
                let format = statement.predicate.get("format").and_then(|f| f.as_str());
                let format = format.unwrap_or("folder").escape_debug().to_string();
                let fault = format!("it is part of a signed {format}, and not signed on its own");
                return Err(Box::new(draft.end(SignedState::OtherSubject, Some(fault))));
            }
            Relation::Other => {
                let subjects = statement.subjects.iter().take(3);
                draft.note.over = subjects.map(|subject| shortened(&subject.name)).collect();
                return Err(Box::new(draft.end(SignedState::OtherSubject, None)));
            }
        }
        // Our own predicate describes one thing: the statement's own subject.
        if statement.predicate_type == RUN_PREDICATE
            && !statement.is_primarily_about(&self.digests, false)
        {
            let fault = "it names this next to its own subject".to_owned();
            return Err(Box::new(draft.end(SignedState::OtherSubject, Some(fault))));
        }
        if let Some(commitment) = self.digests.commitment() {
            draft.names_original = statement.original_of(commitment).is_some();
            let facts = self.about.facts;
            // The place of the commitment says what was signed; the predicate must say the same.
            let format = match statement.origin(commitment) {
                Some(Origin::Original(_)) => facts.original.as_deref(),
                _ => Some(facts.format.as_str()),
            };
            let said = statement.predicate.get("format").and_then(|f| f.as_str());
            if statement.predicate_type == RUN_PREDICATE && said != format {
                let fault = "its subjects do not match the format that it states".to_owned();
                return Err(Box::new(draft.end(SignedState::OtherSubject, Some(fault))));
            }
        }
        match read_claim(statement, payload, self.about.facts) {
            Claim::For => Ok(draft),
            Claim::Against(why) => Err(Box::new(draft.end(SignedState::Rejected, Some(why)))),
            Claim::Mismatch(why) => Err(Box::new(draft.end(SignedState::OtherSubject, Some(why)))),
        }
    }

    /// Checks a signature over the unit's own bytes, without a statement.
    pub(super) fn check_over_bytes(
        &mut self,
        draft: Draft,
        signature: &FoundSignature,
    ) -> Result<CheckedSignature, Exhausted> {
        match signature {
            FoundSignature::Ssh(signature) => self.check_ssh(draft, signature),
            FoundSignature::Minisign(signature) => self.check_minisign(draft, signature),
            _ => Ok(draft.broken("it is not over bytes".to_owned())),
        }
    }

    fn check_ssh(
        &mut self,
        mut draft: Draft,
        signature: &SshSignature,
    ) -> Result<CheckedSignature, Exhausted> {
        draft.note.form = "ssh";
        draft.note.key = Some(signature.key.id().to_string());
        if signature.namespace() != sshsig::NAMESPACE {
            let fault = format!(
                "its namespace is `{}`, not `{}`",
                signature.namespace().escape_debug(),
                sshsig::NAMESPACE
            );
            return Ok(draft.end(SignedState::OtherSubject, Some(fault)));
        }
        let plain = &self.about.target.plain;
        self.budget.pay_signature(plain.len())?;
        if !signature.verifies(plain) {
            // The message is not in the signature, so damage and another message look alike.
            let fault = "damaged, or not made by its key over these bytes";
            return Ok(draft.broken(fault.to_owned()));
        }
        draft.note.over = vec![plain_name(self.about.target)];
        Ok(draft.holds(Signatory::Key(signature.key.clone()), self, &[], &[]))
    }

    fn check_minisign(
        &mut self,
        mut draft: Draft,
        signature: &MinisignSignature,
    ) -> Result<CheckedSignature, Exhausted> {
        draft.note.form = "minisign";
        draft.note.key = Some(signature.id.to_string());
        self.budget.pay_signature(self.about.target.plain.len())?;
        let message = signature.message(&self.about.target.plain);
        match self.find_known(message.len(), |key| {
            signature.verifies_message(key, &message)
        })? {
            Some(key) => {
                draft.note.over = vec![plain_name(self.about.target)];
                let key = key.clone();
                Ok(draft.holds(Signatory::Key(key), self, &[], &[]))
            }
            // A minisign signature does not carry its key.
            None => Ok(draft.end(
                SignedState::UnknownKey,
                Some(
                    "or by a known key over something else: with minisign the two look alike"
                        .to_owned(),
                ),
            )),
        }
    }
}

/// Returns a name cut to the length that answers allow.
fn shortened(name: &str) -> String {
    let end = name.floor_char_boundary(MAX_STATED_BYTES);
    name[..end].to_owned()
}

pub(super) fn plain_name(target: &Target) -> String {
    match &target.file {
        Some((name, _)) => name.clone(),
        None => format!("the listing of {}/", target.name),
    }
}
