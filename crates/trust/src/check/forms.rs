//! The check of each form: DSSE, SSHSIG, minisign.

use runseal_core::verify::authenticity::SignedState;

use super::draft::Draft;
use super::{Checked, Known, Signatory};
use crate::action::{ACTION_PREDICATE, check_written_action};
use crate::dsse::{Envelope, EnvelopeSignature, IN_TOTO};
use crate::keys::minisign::MinisignSignature;
use crate::keys::sshsig::{self, SshSignature};
use crate::keys::{KeyId, PublicKey};
use crate::predicate::read_signing;
use crate::statement::{Statement, StatementError, Target};

/// Which key made a signature, among those that are known and one that it brings along.
enum Maker {
    Found(PublicKey),
    Broken,
    Unknown,
}

fn find_maker(
    holds: impl Fn(&PublicKey) -> bool,
    brought: Option<&PublicKey>,
    hint: impl Fn(&KeyId) -> bool,
    known: &Known,
) -> Maker {
    if let Some((key, _)) = known.find(&holds) {
        return Maker::Found(key.clone());
    }
    match brought {
        Some(key) if holds(key) => Maker::Found(key.clone()),
        Some(_) => Maker::Broken,
        // The hint chooses a word here, never a key.
        None if known.keys().iter().any(|(key, _)| hint(&key.id())) => Maker::Broken,
        None => Maker::Unknown,
    }
}

const NOT_ITS_KEYS: &str = "it is not its key's over these bytes";

pub(super) fn check_envelope(
    mut draft: Draft,
    envelope: &Envelope,
    signature: &EnvelopeSignature,
    target: &Target,
    known: &Known,
) -> Checked {
    let message = envelope.signed_bytes();
    let statement = match envelope.payload_type.as_str() {
        IN_TOTO => Statement::parse(&envelope.payload),
        _ => Err(StatementError::Type),
    };
    let brought = match &statement {
        Ok(statement) => {
            let (signing, key) = read_signing(&statement.predicate_type, &statement.predicate);
            draft.note.name = signing.name.clone();
            draft.note.meaning = signing.meaning.clone();
            draft.note.signed_at = signing.signed_at.clone();
            draft.signing = signing;
            key
        }
        Err(_) => None,
    };
    draft.note.key = signature.keyid.clone();
    let holds = |key: &PublicKey| key.verifies(&message, &signature.sig);
    let hint = |id: &KeyId| signature.keyid.as_deref() == Some(id.to_string().as_str());
    // An envelope of several signatures brings the key of its first signer only.
    let is_only = envelope.signatures.len() == 1;
    let key = match find_maker(
        holds,
        brought.as_ref().filter(|key| is_only || holds(key)),
        hint,
        known,
    ) {
        Maker::Found(key) => key,
        Maker::Broken => return draft.broken(NOT_ITS_KEYS.to_owned()),
        Maker::Unknown => return draft.end(SignedState::UnknownKey, None),
    };
    draft.note.key = Some(key.id().to_string());
    let statement = match statement {
        Ok(statement) => statement,
        Err(error) => return draft.end(SignedState::OtherSubject, Some(error.to_string())),
    };
    let over = statement.matching_subjects(target);
    if over.is_empty() {
        let names = statement
            .subjects
            .iter()
            .take(3)
            .map(|subject| subject.name.clone());
        draft.note.over = names.collect();
        return draft.end(SignedState::OtherSubject, None);
    }
    draft.note.over = over.into_iter().map(str::to_owned).collect();
    let mut checked = draft.holds(
        Signatory::Key(key),
        known,
        &signature.timestamps,
        &signature.sig,
    );
    if statement.predicate_type == ACTION_PREDICATE
        && let Err(fault) = check_written_action(&envelope.payload)
    {
        checked.note.detail = Some(format!("what it says is no ai-agent-action: {fault}"));
    }
    checked
}

pub(super) fn check_ssh(
    mut draft: Draft,
    signature: &SshSignature,
    target: &Target,
    known: &Known,
) -> Checked {
    draft.note.form = "ssh";
    draft.note.key = Some(signature.key.id().to_string());
    if signature.namespace() != sshsig::NAMESPACE {
        let fault = format!(
            "its namespace is `{}`, not `{}`",
            signature.namespace().escape_debug(),
            sshsig::NAMESPACE
        );
        return draft.end(SignedState::OtherSubject, Some(fault));
    }
    if !signature.verifies(&target.plain) {
        // The message is not in the signature: damage and another message look alike.
        let fault = "it is not its key's over these bytes: it is damaged, or over something else";
        return draft.broken(fault.to_owned());
    }
    draft.note.over = vec![plain_name(target)];
    draft.holds(Signatory::Key(signature.key.clone()), known, &[], &[])
}

pub(super) fn check_minisign(
    mut draft: Draft,
    signature: &MinisignSignature,
    target: &Target,
    known: &Known,
) -> Checked {
    draft.note.form = "minisign";
    draft.note.key = Some(signature.id.to_string());
    match known.find(|key| signature.verifies(key, &target.plain)) {
        Some((key, _)) => {
            draft.note.over = vec![plain_name(target)];
            let key = key.clone();
            draft.holds(Signatory::Key(key), known, &[], &[])
        }
        // A signature of minisign's does not bring its key.
        None => draft.end(
            SignedState::UnknownKey,
            Some(
                "or by a known key over something else: minisign does not tell them apart"
                    .to_owned(),
            ),
        ),
    }
}

pub(super) fn plain_name(target: &Target) -> String {
    match &target.file {
        Some((name, _)) => name.clone(),
        None => format!("the listing of {}/", target.name),
    }
}
