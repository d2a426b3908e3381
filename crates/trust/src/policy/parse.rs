//! Reads a policy from TOML and checks it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use runseal_core::diagnosis::{Diagnose, Diagnosis, Location};
use runseal_core::digest::Digest;
use runseal_core::formats::Format;
use runseal_core::timestamp::parse_utc;
use thiserror::Error;
use toml::Spanned;
use toml::value::Datetime;

use super::parse_allowed_signers;
use super::text::{DenyText, FileText, RuleText, SignerText};
use crate::claim::is_refusal;
use crate::keys::{KeyId, PublicKey};
use crate::limits::{MAX_POLICY_BYTES, MAX_RULES, MAX_SIGNERS};
use crate::timestamp::Anchors;

/// The version of the file format.
const FORMAT_VERSION: u32 = 1;

/// The word that stands for signatures without a statement in a list of predicate types.
pub const PLAIN: &str = "plain";

/// Why a text is not a policy.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {fault}")]
pub struct PolicyError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub fault: String,
}

impl Diagnose for PolicyError {
    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::unreadable(self, "POLICY")
            .message(self.fault.clone())
            .located(Location::Within(format!(":{}", self.line)))
            .hint("docs/trust.md is the reference; `runseal trust init` writes one to start from")
    }
}

impl PolicyError {
    pub(super) fn new(line: usize, fault: impl Into<String>) -> Self {
        let fault = fault.into();
        Self { line, fault }
    }
}

/// A certificate's subject and issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// A pattern for the certificate's subject.
    pub identity: String,
    /// Who must have vouched for the subject.
    pub issuer: String,
}

/// A person or machine whose signatures count.
#[derive(Clone, Debug)]
pub struct Signer {
    /// Their name in the policy.
    pub name: String,
    /// The signer's keys.
    pub keys: Vec<PublicKey>,
    /// The signer's certificates, if they are named.
    pub identity: Option<Identity>,
    /// Milliseconds since 1970 from which on the signer counts.
    pub from: Option<i64>,
    /// Milliseconds since 1970 from which on the signer no longer counts.
    pub until: Option<i64>,
    /// Its line.
    pub line: usize,
}

/// Who must have signed.
#[derive(Clone, Debug)]
pub struct Requirement {
    /// Names of signers.
    pub signers: Vec<String>,
    /// How many of them must sign.
    pub threshold: usize,
    /// What their signatures must mean; anything if empty.
    pub meanings: Vec<String>,
    /// The predicate types that count, and [`PLAIN`] for signatures without a statement. If empty,
    /// our own predicate and signatures without a statement count.
    pub predicates: Vec<String>,
    /// Whether an authority must vouch for the time.
    pub needs_timestamp: bool,
    /// Its line.
    pub line: usize,
}

/// Selectors, and who must sign what they match.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name, for people.
    pub name: Option<String>,
    /// Names of formats; any if empty.
    pub formats: Vec<String>,
    /// Patterns for the engine's code.
    pub engines: Vec<String>,
    /// Patterns for the outcome.
    pub outcomes: Vec<String>,
    /// Patterns for the place.
    pub paths: Vec<String>,
    /// All of these must be met.
    pub requirements: Vec<Requirement>,
    /// Its line.
    pub line: usize,
}

/// A policy that was read and checked.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Its name, for people.
    pub name: Option<String>,
    /// A number that increases with every change in the chain.
    pub version: u64,
    /// Milliseconds since 1970 from which on it decides nothing, and the line.
    pub expires: Option<(i64, usize)>,
    /// Who may change it.
    pub root: Option<Requirement>,
    /// Whose signatures count.
    pub signers: Vec<Signer>,
    /// The rules; the first that applies decides.
    pub rules: Vec<Rule>,
    /// Keys that count for nothing, with their lines.
    pub denied_keys: BTreeMap<KeyId, usize>,
    /// Digests that are refused whoever signed them, with their lines.
    pub denied_digests: BTreeMap<Digest, usize>,
    /// Roots of time stamping authorities.
    pub anchors: Anchors,
    /// Sigstore's trusted root as text, and its line.
    pub sigstore_root: Option<(String, usize)>,
}

/// Maps offsets in the text to lines.
struct Lines<'a>(&'a str);

impl Lines<'_> {
    fn at(&self, span: Range<usize>) -> usize {
        let before = self.0.get(..span.start).unwrap_or(self.0);
        before.bytes().filter(|byte| *byte == b'\n').count() + 1
    }

    fn of<T>(&self, value: &Spanned<T>) -> usize {
        self.at(value.span())
    }

    fn time(&self, value: &Option<Spanned<Datetime>>) -> Result<Option<i64>, PolicyError> {
        let Some(value) = value else { return Ok(None) };
        let written = value.get_ref().to_string();
        let whole = match written.len() {
            10 => format!("{written}T00:00:00Z"),
            _ => written,
        };
        let fault = "expected a date, or a time in UTC such as 2026-01-01T00:00:00Z";
        let time = parse_utc(&whole).ok_or_else(|| PolicyError::new(self.of(value), fault))?;
        Ok(Some(time))
    }

    fn requirement(
        &self,
        line: usize,
        signers: &[Spanned<String>],
        threshold: &Option<Spanned<usize>>,
        known: &BTreeSet<&str>,
    ) -> Result<Requirement, PolicyError> {
        let mut names = BTreeSet::new();
        for name in signers {
            let at = self.of(name);
            let shown = name.get_ref().escape_debug();
            if !known.contains(name.get_ref().as_str()) {
                return Err(PolicyError::new(
                    at,
                    format!("`{shown}` is not a signer of this policy"),
                ));
            }
            if !names.insert(name.get_ref().clone()) {
                return Err(PolicyError::new(at, format!("duplicate signer `{shown}`")));
            }
        }
        let (count, at) = match threshold {
            Some(threshold) => (*threshold.get_ref(), self.of(threshold)),
            None => (1, line),
        };
        if count == 0 {
            return Err(PolicyError::new(
                at,
                "a threshold of 0 would trust anything",
            ));
        }
        if count > names.len() {
            let fault = format!(
                "{} signers cannot reach a threshold of {count}",
                names.len()
            );
            return Err(PolicyError::new(at, fault));
        }
        Ok(Requirement {
            signers: names.into_iter().collect(),
            threshold: count,
            meanings: Vec::new(),
            predicates: Vec::new(),
            needs_timestamp: false,
            line,
        })
    }

    fn meanings(&self, written: &[Spanned<String>]) -> Result<Vec<String>, PolicyError> {
        let meanings = written.iter().map(|meaning| {
            let text = meaning.get_ref();
            if is_refusal(text) {
                let shown = text.escape_debug();
                let fault = format!("`{shown}` is a refusal, which never counts");
                Err(PolicyError::new(self.of(meaning), fault))
            } else {
                Ok(text.clone())
            }
        });
        meanings.collect()
    }

    fn predicates(&self, written: &[Spanned<String>]) -> Result<Vec<String>, PolicyError> {
        let predicates = written.iter().map(|kind| {
            let text = kind.get_ref();
            if text == PLAIN || text.contains("://") {
                Ok(text.clone())
            } else {
                let fault = format!("expected the URI of a predicate's type, or `{PLAIN}`");
                Err(PolicyError::new(self.of(kind), fault))
            }
        });
        predicates.collect()
    }
}

impl Policy {
    /// Reads a policy.
    ///
    /// # Errors
    /// The faulty line: broken TOML, an unknown member, an invalid or duplicate key, an unreachable
    /// threshold.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        if text.len() as u64 > MAX_POLICY_BYTES {
            let fault = format!("the policy is larger than {MAX_POLICY_BYTES} bytes");
            return Err(PolicyError::new(1, fault));
        }
        let lines = Lines(text);
        let file: FileText = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| lines.at(span));
            PolicyError::new(line, error.message())
        })?;
        if *file.format.get_ref() != FORMAT_VERSION {
            let fault = format!("expected `runseal-trust = {FORMAT_VERSION}`");
            return Err(PolicyError::new(lines.of(&file.format), fault));
        }
        if *file.version.get_ref() == 0 {
            return Err(PolicyError::new(
                lines.of(&file.version),
                "versions start at 1",
            ));
        }
        let signers = read_signers(&lines, &file)?;
        let known: BTreeSet<&str> = signers.iter().map(|signer| signer.name.as_str()).collect();
        let rules = read_rules(&lines, &file.rule, &known)?;
        let root = match &file.root {
            None => None,
            Some(root) => {
                let (text, line) = (root.get_ref(), lines.of(root));
                if !text.meanings.is_empty() || !text.predicates.is_empty() || text.timestamp {
                    let fault = "the root takes only `signers` and `threshold`";
                    return Err(PolicyError::new(line, fault));
                }
                Some(lines.requirement(line, &text.signers, &text.threshold, &known)?)
            }
        };
        let (denied_keys, denied_digests) = read_denied(&lines, &file.deny)?;
        let anchors = match &file.timestamps {
            None => Anchors::default(),
            Some(text) => Anchors::parse(text.roots.get_ref())
                .map_err(|error| PolicyError::new(lines.of(&text.roots), error.to_string()))?,
        };
        let expires = lines.time(&file.expires)?;
        let expires_line = file.expires.as_ref().map_or(1, |expires| lines.of(expires));
        let sigstore_root = file.sigstore.as_ref().map(|sigstore| {
            let root = &sigstore.trusted_root;
            (root.get_ref().clone(), lines.of(root))
        });
        Ok(Self {
            name: file.name,
            version: *file.version.get_ref(),
            expires: expires.map(|time| (time, expires_line)),
            root,
            rules,
            denied_keys,
            denied_digests,
            anchors,
            sigstore_root,
            signers,
        })
    }

    /// Returns its keys with their names.
    pub fn keys(&self) -> Vec<(PublicKey, String)> {
        let signers = self.signers.iter();
        signers
            .flat_map(|signer| {
                signer
                    .keys
                    .iter()
                    .map(|key| (key.clone(), signer.name.clone()))
            })
            .collect()
    }

    /// Returns the signer with this name.
    pub fn signer(&self, name: &str) -> Option<&Signer> {
        self.signers.iter().find(|signer| signer.name == name)
    }
}

fn read_signers(lines: &Lines<'_>, file: &FileText) -> Result<Vec<Signer>, PolicyError> {
    let mut signers = Vec::new();
    for entry in &file.signer {
        signers.push(read_signer(lines, entry)?);
    }
    if let Some(text) = &file.allowed_signers {
        for allowed in parse_allowed_signers(text.get_ref(), lines.of(text))? {
            signers.push(Signer {
                name: allowed.name,
                keys: vec![allowed.key],
                identity: None,
                from: allowed.from,
                until: allowed.until,
                line: lines.of(text),
            });
        }
    }
    if signers.len() > MAX_SIGNERS {
        return Err(PolicyError::new(
            1,
            format!("more than {MAX_SIGNERS} signers"),
        ));
    }
    let (mut names, mut keys) = (BTreeSet::new(), BTreeMap::new());
    for signer in &signers {
        if !names.insert(signer.name.clone()) {
            let fault = format!("duplicate signer `{}`", signer.name.escape_debug());
            return Err(PolicyError::new(signer.line, fault));
        }
        for key in &signer.keys {
            // One key in two encodings would count twice towards a threshold.
            if let Some(other) = keys.insert(key.id(), signer.name.clone()) {
                let fault = format!("the key already belongs to `{}`", other.escape_debug());
                return Err(PolicyError::new(signer.line, fault));
            }
        }
    }
    Ok(signers)
}

fn read_signer(lines: &Lines<'_>, entry: &Spanned<SignerText>) -> Result<Signer, PolicyError> {
    let text = entry.get_ref();
    let line = lines.of(&text.name);
    let name = text.name.get_ref();
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err(PolicyError::new(line, "a name must be one line of text"));
    }
    let mut keys = Vec::new();
    for key in text.key.iter().chain(&text.keys) {
        let parsed = PublicKey::parse(key.get_ref())
            .map_err(|error| PolicyError::new(lines.of(key), error.to_string()))?;
        keys.push(parsed);
    }
    let identity = match (&text.identity, &text.issuer) {
        (Some(identity), Some(issuer)) => Some(Identity {
            identity: identity.get_ref().clone(),
            issuer: issuer.clone(),
        }),
        (None, None) => None,
        _ => {
            return Err(PolicyError::new(
                line,
                "`identity` and `issuer` must be given together",
            ));
        }
    };
    if keys.is_empty() && identity.is_none() {
        return Err(PolicyError::new(
            line,
            "expected `key`, `keys`, or `identity` and `issuer`",
        ));
    }
    let (from, until) = (lines.time(&text.from)?, lines.time(&text.until)?);
    if let (Some(from), Some(until)) = (from, until)
        && from >= until
    {
        return Err(PolicyError::new(line, "`from` is not before `until`"));
    }
    Ok(Signer {
        name: name.clone(),
        keys,
        identity,
        from,
        until,
        line,
    })
}

fn read_rules(
    lines: &Lines<'_>,
    rules: &[Spanned<RuleText>],
    known: &BTreeSet<&str>,
) -> Result<Vec<Rule>, PolicyError> {
    if rules.len() > MAX_RULES {
        return Err(PolicyError::new(1, format!("more than {MAX_RULES} rules")));
    }
    let mut read = Vec::new();
    for entry in rules {
        let (text, line) = (entry.get_ref(), lines.of(entry));
        let mut formats = Vec::new();
        for format in &text.formats {
            let name = format.get_ref();
            if !Format::ALL.iter().any(|known| known.name() == name) {
                let fault = format!("`{}` is not a format", name.escape_debug());
                return Err(PolicyError::new(lines.of(format), fault));
            }
            formats.push(name.clone());
        }
        let mut first = lines.requirement(line, &text.signers, &text.threshold, known)?;
        first.meanings = lines.meanings(&text.meanings)?;
        first.predicates = lines.predicates(&text.predicates)?;
        first.needs_timestamp = text.timestamp;
        let mut requirements = vec![first];
        for also in &text.also {
            let (more, line) = (also.get_ref(), lines.of(also));
            let mut next = lines.requirement(line, &more.signers, &more.threshold, known)?;
            next.meanings = lines.meanings(&more.meanings)?;
            next.predicates = lines.predicates(&more.predicates)?;
            next.needs_timestamp = more.timestamp || text.timestamp;
            requirements.push(next);
        }
        read.push(Rule {
            name: text.name.clone(),
            formats,
            engines: text.engines.clone(),
            outcomes: text.outcomes.clone(),
            paths: text.paths.clone(),
            requirements,
            line,
        });
    }
    Ok(read)
}

type Denied = (BTreeMap<KeyId, usize>, BTreeMap<Digest, usize>);

fn read_denied(lines: &Lines<'_>, deny: &DenyText) -> Result<Denied, PolicyError> {
    let (mut keys, mut digests) = (BTreeMap::new(), BTreeMap::new());
    for entry in &deny.keys {
        let (text, line) = (entry.get_ref(), lines.of(entry));
        // 64 hex digits may be the id that verdicts show or an ed25519 key in hex, so both readings
        // are denied.
        let id = KeyId::parse(text);
        let key = PublicKey::parse(text).ok().map(|key| key.id());
        if id.is_none() && key.is_none() {
            return Err(PolicyError::new(line, "expected a key or a key's id"));
        }
        keys.extend(id.into_iter().chain(key).map(|id| (id, line)));
    }
    for entry in &deny.digests {
        let line = lines.of(entry);
        let text = entry.get_ref();
        let digest = Digest::parse_hex(text.strip_prefix("sha256:").unwrap_or(text))
            .map_err(|error| PolicyError::new(line, error.to_string()))?;
        digests.insert(digest, line);
    }
    Ok((keys, digests))
}
