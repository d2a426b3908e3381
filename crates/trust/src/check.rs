//! Signatures beside something: read from their files, and checked against what they should be
//! over and the keys that are known.
//!
//! What a signature says about itself (`keyid`, a name, a hint) never decides whether it holds.

use std::collections::BTreeSet;

use runseal_core::canon::{ReadOptions, parse_document};
use runseal_core::digest::Digest;
use runseal_core::verify::authenticity::{Authenticity, SignatureNote, SignedState, TimeNote};
use thiserror::Error;

use crate::dsse::{Envelope, EnvelopeSignature, IN_TOTO};
use crate::keys::minisign::{self, MinisignSignature};
use crate::keys::sshsig::{self, SshSignature};
use crate::keys::{KeyId, PublicKey};
use crate::limits::{MAX_SIGNATURE_FILE_BYTES, MAX_SIGNATURE_LINES};
use crate::predicate::{Signing, read_signing};
use crate::sigstore::{Content, Material, SigstoreBundle, TrustedRoot, is_bundle};
use crate::statement::{Statement, Target};
use crate::timestamp::{Anchors, Token};

/// Why a signature file cannot be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SignatureFileError {
    /// It is larger than any honest one.
    #[error("the signature file is larger than {MAX_SIGNATURE_FILE_BYTES} bytes")]
    TooLarge,
    /// It has more lines than any honest one.
    #[error("the signature file has more than {MAX_SIGNATURE_LINES} lines")]
    TooManyLines,
    /// It is no text.
    #[error("the signature file is no UTF-8 text")]
    NotText,
}

/// A signature as it stands in a file.
#[derive(Clone, Debug)]
pub enum FoundSignature {
    /// An envelope, with all its signatures.
    Envelope(Envelope),
    /// A bundle of sigstore's.
    Bundle(Box<SigstoreBundle>),
    /// SSHSIG.
    Ssh(SshSignature),
    /// minisign.
    Minisign(MinisignSignature),
    /// What should have been one of them; its form and fault.
    Damaged(&'static str, String),
}

/// A signature with its place.
#[derive(Clone, Debug)]
pub struct Found {
    /// The file's name and, where it has several, the line.
    pub place: String,
    /// The signature.
    pub signature: FoundSignature,
}

/// Reads a signature file, whatever its form. Lines that are JSON and no signature are passed
/// over, as in-toto asks.
///
/// # Errors
/// When the file is no text or beyond the bounds.
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
        Err(error) => return Some(FoundSignature::Damaged("dsse", format!("no JSON: {error}"))),
    };
    let root = document.root();
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
    checked
}

/// What was found, taken together, without the policy's word.
pub fn summarize(checked: &[Checked], sealed_at: Option<String>) -> Authenticity {
    let signatures: Vec<_> = checked.iter().map(|checked| checked.note.clone()).collect();
    Authenticity {
        signed: Authenticity::overall(&signatures),
        signatures,
        sealed_at,
        trusted: None,
    }
}

/// A signature while it is being checked.
#[derive(Clone)]
struct Draft {
    note: SignatureNote,
    signing: Signing,
}

impl Draft {
    fn new(place: &str) -> Self {
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
        }
    }

    fn end(mut self, state: SignedState, detail: Option<String>) -> Checked {
        self.note.state = state;
        self.note.detail = detail;
        Checked {
            note: self.note,
            signatory: None,
            signing: self.signing,
            proven_times: Vec::new(),
        }
    }

    fn broken(self, fault: String) -> Checked {
        self.end(SignedState::Broken, Some(fault))
    }

    /// A signature that its key made over the target.
    fn holds(
        mut self,
        signatory: Signatory,
        known: &Known,
        tokens: &[Vec<u8>],
        sig: &[u8],
    ) -> Checked {
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
        // Who a certificate names is known to whoever gave the trusted root.
        let is_stranger = known.keys.is_some() && !self.note.is_known && !is_certificate;
        let state = if is_stranger {
            SignedState::UnknownKey
        } else {
            SignedState::Signed
        };
        let proven_times = self.check_times(known, tokens, sig);
        Checked {
            signatory: Some(signatory),
            proven_times,
            ..self.end(state, None)
        }
    }

    fn check_times(&mut self, known: &Known, tokens: &[Vec<u8>], sig: &[u8]) -> Vec<i64> {
        let mut proven = Vec::new();
        for bytes in tokens {
            let (time, result) = match Token::parse(bytes) {
                Ok(token) if known.anchors.is_empty() && token.is_over(sig) => {
                    let fault = "no root of a time stamping authority was given".to_owned();
                    (token.claimed_time_text(), Err(fault))
                }
                Ok(token) => {
                    let result = token.verify(sig, &known.anchors);
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
            self.note.times.push(TimeNote {
                time,
                authority,
                fault,
            });
        }
        proven
    }
}

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

fn check_envelope(
    mut draft: Draft,
    envelope: &Envelope,
    signature: &EnvelopeSignature,
    target: &Target,
    known: &Known,
) -> Checked {
    let message = envelope.signed_bytes();
    let statement = match envelope.payload_type.as_str() {
        IN_TOTO => Statement::parse(&envelope.payload),
        _ => Err(crate::statement::StatementError::Type),
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
    draft.holds(
        Signatory::Key(key),
        known,
        &signature.timestamps,
        &signature.sig,
    )
}

fn check_ssh(
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

fn check_minisign(
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

fn plain_name(target: &Target) -> String {
    match &target.file {
        Some((name, _)) => name.clone(),
        None => format!("the listing of {}/", target.name),
    }
}

fn check_bundle(
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
