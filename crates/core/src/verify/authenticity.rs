//! The second and third answer of a verdict: whether something is signed, and whether a policy
//! trusts who signed it. The first, whether it is intact, is the verdict of the rules.
//!
//! Plain data: `runseal-trust` decides, the answers show it.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use crate::canon::Value;
use crate::formats::definition::Identity;

/// What became of one signature, or of all that were found. Five ways not to be signed, and none
/// of them is another's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SignedState {
    /// No signature was found.
    Unsigned,
    /// Whether there are signatures could not be found out, which is not the same as none.
    CannotTell,
    /// The signature is by a key that nobody here knows.
    UnknownKey,
    /// The signature holds, and is over something else.
    OtherSubject,
    /// The signature is damaged, or is not its key's over these bytes.
    Broken,
    /// The signature holds and is over this, and its signer refuses it.
    Rejected,
    /// The signature holds and is over this.
    Signed,
}

impl SignedState {
    /// Its word in machine answers.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unsigned => "unsigned",
            Self::CannotTell => "cannot-tell",
            Self::UnknownKey => "unknown-key",
            Self::OtherSubject => "other-subject",
            Self::Broken => "broken",
            Self::Rejected => "rejected",
            Self::Signed => "signed",
        }
    }

    /// How people say it.
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::Unsigned => "unsigned",
            Self::CannotTell => "cannot tell whether it is signed",
            Self::UnknownKey => "signed by an unknown key",
            Self::OtherSubject => "signature over something else",
            Self::Broken => "signature broken",
            Self::Rejected => "signed as a rejection",
            Self::Signed => "signed",
        }
    }
}

/// What a timestamp on a signature says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeNote {
    /// The time, as the authority writes it.
    pub time: String,
    /// Who says so, where that was checked and believed.
    pub authority: Option<String>,
    /// Why it is not believed.
    pub fault: Option<String>,
}

/// The form of a signature that is part of what it signs.
pub const CARRIED: &str = "carried";

/// One signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureNote {
    /// What became of it.
    pub state: SignedState,
    /// `dsse`, `sigstore`, `ssh` or `minisign`; [`CARRIED`] where it is part of what it signs.
    pub form: &'static str,
    /// The file and line that it stands in.
    pub place: String,
    /// The digest that names the key; for a certificate, whom that is for.
    pub key: Option<String>,
    /// Who signed: by the policy where it knows the key, otherwise by the signer's own word.
    pub name: Option<String>,
    /// Whether the name is the policy's.
    pub is_known: bool,
    /// What the signature means, as the signer says.
    pub meaning: Option<String>,
    /// What it is over, by name.
    pub over: Vec<String>,
    /// When, by the signer's clock.
    pub signed_at: Option<String>,
    /// When, by others' clocks.
    pub times: Vec<TimeNote>,
    /// What is wrong with it, or remarkable.
    pub detail: Option<String>,
}

/// What a policy decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustNote {
    /// Whether it is trusted.
    pub is_trusted: bool,
    /// The policy's file as it was named.
    pub policy: String,
    /// The line that decided, from 1.
    pub line: Option<usize>,
    /// The rule that stands there.
    pub rule: Option<String>,
    /// The decision in a sentence, for people.
    pub reason: String,
}

/// What a log says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogNote {
    /// Whether it is in the log, as far as was proved.
    pub is_included: bool,
    /// The log or proof as it was named.
    pub log: String,
    /// Which entry it is and as of when; or why it is not taken for included.
    pub sentence: String,
}

/// Signatures and trust of one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authenticity {
    /// What was found, taken together.
    pub signed: SignedState,
    /// The signatures.
    pub signatures: Vec<SignatureNote>,
    /// When it was sealed, by the maker's clock.
    pub sealed_at: Option<String>,
    /// What the policy decided, where one was given.
    pub trusted: Option<TrustNote>,
    /// What a log says, where one was asked.
    pub logged: Option<LogNote>,
}

impl Authenticity {
    /// Nothing was found.
    pub const fn unsigned() -> Self {
        Self {
            signed: SignedState::Unsigned,
            signatures: Vec::new(),
            sealed_at: None,
            trusted: None,
            logged: None,
        }
    }

    /// The state of several signatures together: one that holds is enough; otherwise the one that
    /// most asks for attention.
    pub fn overall(signatures: &[SignatureNote]) -> SignedState {
        let states = signatures.iter().map(|signature| signature.state);
        states.max().unwrap_or(SignedState::Unsigned)
    }

    /// Adds the signatures that something carries itself. One that holds is by a key that nobody here
    /// knows, whatever the policy: it vouches for itself. Those of one key are one note.
    pub fn add_carried(&mut self, identity: &Identity, findings: &[Finding]) {
        let faulty: BTreeSet<&str> = findings.iter().filter_map(Finding::path).collect();
        let mut notes = BTreeMap::new();
        for carried in &identity.carried {
            let state = match faulty.contains(carried.place.as_str()) {
                true => SignedState::Broken,
                false => SignedState::UnknownKey,
            };
            let whose = (state, &carried.key, &carried.name);
            let (_, count) = notes.entry(whose).or_insert((&carried.place, 0));
            *count += 1;
        }
        for ((state, key, name), (place, count)) in notes {
            let about = match state {
                SignedState::Broken => "it is part of what it signs and does not hold",
                _ => {
                    "it is part of what it signs, as its key is; `runseal receipt verify --trust` says \
                     whether the key counts"
                }
            };
            let detail = match count {
                1 => about.to_owned(),
                many => format!("{many} of this key: {about}"),
            };
            self.signed = self.signed.max(state);
            self.signatures.push(SignatureNote {
                state,
                form: CARRIED,
                place: place.clone(),
                key: key.clone(),
                name: name.clone(),
                is_known: false,
                meaning: None,
                over: Vec::new(),
                signed_at: None,
                times: Vec::new(),
                detail: Some(detail),
            });
        }
    }

    /// The members `signed`, `signatures`, `trusted`, `trust`, `logged` and `log` of a result.
    pub fn add_to_json(&self, result: &mut Value) {
        result.insert("signed", self.signed.word());
        if !self.signatures.is_empty() {
            let signatures = self.signatures.iter().map(SignatureNote::to_json);
            result.insert("signatures", Value::array(signatures));
        }
        if let Some(sealed_at) = &self.sealed_at {
            result.insert("sealed_at", sealed_at.as_str());
        }
        if let Some(trust) = &self.trusted {
            result.insert("trusted", trust.is_trusted);
            let mut value = Value::object([
                ("policy", trust.policy.as_str()),
                ("reason", trust.reason.as_str()),
            ]);
            if let Some(line) = trust.line {
                value.insert("line", line);
            }
            if let Some(rule) = &trust.rule {
                value.insert("rule", rule.as_str());
            }
            result.insert("trust", value);
        }
        if let Some(note) = &self.logged {
            result.insert("logged", note.is_included);
            let value = Value::object([
                ("log", note.log.as_str()),
                ("reason", note.sentence.as_str()),
            ]);
            result.insert("log", value);
        }
    }

    /// Lines for people: what is signed, by whom, when by whose clock, and what the policy says.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.signatures.is_empty() {
            lines.push(self.signed.phrase().to_owned());
        }
        for signature in &self.signatures {
            lines.push(signature.sentence());
            for time in &signature.times {
                lines.push(match (&time.authority, &time.fault) {
                    (Some(authority), _) => format!("time: {} by {authority}", time.time),
                    (None, Some(fault)) => format!("time: {} not believed: {fault}", time.time),
                    (None, None) => format!("time: {} not checked", time.time),
                });
            }
        }
        if let Some(gap) = self.gap() {
            lines.push(gap);
        }
        lines.push(match &self.trusted {
            None => "trusted: not asked (no policy was given)".to_owned(),
            Some(trust) => trust.sentence(),
        });
        lines.extend(self.logged.as_ref().map(LogNote::sentence));
        lines
    }

    /// Where the sealing time and a believed token are apart: how far.
    fn gap(&self) -> Option<String> {
        let sealed_at = self.sealed_at.as_deref()?;
        let sealed = crate::timestamp::parse_utc(sealed_at)?;
        let times = self
            .signatures
            .iter()
            .flat_map(|signature| &signature.times);
        let mut believed = times.filter(|time| time.authority.is_some());
        let stamped = crate::timestamp::parse_utc(&believed.next()?.time)?;
        let seconds = (stamped - sealed).abs() / 1000;
        let apart = match seconds {
            0..=119 => format!("{seconds} seconds"),
            120..=7_199 => format!("{} minutes", seconds / 60),
            7_200..=172_799 => format!("{} hours", seconds / 3_600),
            _ => format!("{} days", seconds / 86_400),
        };
        Some(match stamped < sealed {
            true => format!(
                "time: sealed {sealed_at} by the maker's clock, {apart} after it was stamped"
            ),
            false => format!(
                "time: sealed {sealed_at} by the maker's clock, {apart} before it was stamped"
            ),
        })
    }
}

impl SignatureNote {
    fn to_json(&self) -> Value {
        let mut value = Value::object([
            ("state", Value::from(self.state.word())),
            ("form", Value::from(self.form)),
            ("place", Value::from(self.place.as_str())),
            ("known", Value::from(self.is_known)),
            ("over", Value::array(self.over.iter().map(String::as_str))),
        ]);
        let optional = [
            ("key", &self.key),
            ("name", &self.name),
            ("meaning", &self.meaning),
            ("signed_at", &self.signed_at),
            ("detail", &self.detail),
        ];
        for (member, text) in optional {
            if let Some(text) = text {
                value.insert(member, text.as_str());
            }
        }
        if !self.times.is_empty() {
            let times = self.times.iter().map(|time| {
                let mut value = Value::object([
                    ("time", Value::from(time.time.as_str())),
                    ("believed", Value::from(time.authority.is_some())),
                ]);
                if let Some(authority) = &time.authority {
                    value.insert("authority", authority.as_str());
                }
                if let Some(fault) = &time.fault {
                    value.insert("fault", fault.as_str());
                }
                value
            });
            value.insert("times", Value::array(times));
        }
        value
    }

    /// Who signed: a name that only the signer gives says so.
    pub fn signer(&self) -> Option<String> {
        let name = self.name.as_ref()?;
        Some(match self.is_known {
            true => name.clone(),
            false => format!("{name} (by their own word)"),
        })
    }

    /// One signature in a sentence.
    pub fn sentence(&self) -> String {
        let mut text = self.state.phrase().to_owned();
        if matches!(self.state, SignedState::Signed | SignedState::Rejected)
            && let Some(signer) = self.signer()
        {
            text.push_str(&format!(" by {signer}"));
        }
        if let Some(meaning) = &self.meaning {
            text.push_str(&format!(" as {meaning}"));
        }
        if let Some(key) = &self.key {
            text.push_str(&format!(", key {key}"));
        }
        if !self.over.is_empty() {
            text.push_str(&format!(", over {}", self.over.join(", ")));
        }
        if let Some(signed_at) = &self.signed_at {
            text.push_str(&format!(", {signed_at} by the signer's clock"));
        }
        if let Some(detail) = &self.detail {
            text.push_str(&format!(": {detail}"));
        }
        format!("{text} ({} {})", self.form, self.place)
    }
}

impl TrustNote {
    /// The decision in a sentence.
    pub fn sentence(&self) -> String {
        let word = if self.is_trusted {
            "trusted"
        } else {
            "NOT trusted"
        };
        let place = match self.line {
            Some(line) => format!("{}:{line}", self.policy),
            None => self.policy.clone(),
        };
        format!("{word}: {} ({place})", self.reason)
    }
}

impl LogNote {
    /// What the log says in a sentence.
    pub fn sentence(&self) -> String {
        let word = match self.is_included {
            true => "logged",
            false => "NOT logged",
        };
        format!("{word}: {} ({})", self.sentence, self.log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_have_different_words_and_phrases() {
        let all = [
            SignedState::Unsigned,
            SignedState::UnknownKey,
            SignedState::OtherSubject,
            SignedState::Broken,
            SignedState::Rejected,
            SignedState::Signed,
        ];
        let words: BTreeSet<_> = all.iter().map(|state| state.word()).collect();
        let phrases: BTreeSet<_> = all.iter().map(|state| state.phrase()).collect();
        assert_eq!((words.len(), phrases.len()), (6, 6));
    }

    #[test]
    fn sealing_time_and_token_apart_are_told() {
        let signature = SignatureNote {
            state: SignedState::Signed,
            form: "dsse",
            place: "a:1".to_owned(),
            key: None,
            name: None,
            is_known: false,
            meaning: None,
            over: Vec::new(),
            signed_at: None,
            times: vec![TimeNote {
                time: "2026-11-16T00:00:00.000Z".to_owned(),
                authority: Some("CN=tsa".to_owned()),
                fault: None,
            }],
            detail: None,
        };
        let authenticity = Authenticity {
            signed: SignedState::Signed,
            signatures: vec![signature],
            sealed_at: Some("2017-07-14T02:40:00Z".to_owned()),
            trusted: None,
            logged: None,
        };
        let lines = authenticity.lines().join("\n");
        assert!(lines.contains("3411 days before it was stamped"), "{lines}");
    }
}
