//! The second and third answer about a unit: whether it is signed, and whether a policy trusts the
//! signer. The first, whether it is intact, is the verdict of the rules.
//!
//! Plain data: `runseal-trust` decides, the answers show it.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use crate::canon::Value;
use crate::formats::definition::Identity;

/// The state of one signature, or of all that were found together. The order is from the least to the
/// most notable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SignedState {
    /// No signature was found.
    Unsigned,
    /// Whether there are signatures is unknown, which is not the same as none.
    CannotTell,
    /// The signature is by an unknown key.
    UnknownKey,
    /// The signature is valid, but over something else.
    OtherSubject,
    /// The signature is damaged, or was not made by its key over these bytes.
    Broken,
    /// The signature is valid and over this, and says that its signer rejects it.
    Rejected,
    /// The signature is valid and over this.
    Signed,
}

impl SignedState {
    /// The word for it in answers for machines.
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

    /// The words for it in answers for people.
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
    /// The authority, if the timestamp was checked and believed.
    pub authority: Option<String>,
    /// Why the timestamp is not believed.
    pub fault: Option<String>,
}

/// The form of a signature that is part of what it signs.
pub const CARRIED: &str = "carried";

/// One signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureNote {
    /// Its state.
    pub state: SignedState,
    /// `dsse`, `sigstore`, `ssh` or `minisign`; [`CARRIED`] if it is part of what it signs.
    pub form: &'static str,
    /// The file and line that it is in.
    pub place: String,
    /// The digest that names the key; for a certificate, its subject.
    pub key: Option<String>,
    /// The signer's name: from the policy if it knows the key, otherwise as the signer claims.
    pub name: Option<String>,
    /// Whether the name is the policy's.
    pub is_known: bool,
    /// What the signature means, as the signer claims.
    pub meaning: Option<String>,
    /// The names of what it is over.
    pub over: Vec<String>,
    /// When it was made, by the signer's clock.
    pub signed_at: Option<String>,
    /// When it was made, by the clocks of others.
    pub times: Vec<TimeNote>,
    /// What is wrong with it or notable about it.
    pub detail: Option<String>,
}

/// What a policy decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustNote {
    /// Whether it is trusted.
    pub is_trusted: bool,
    /// The policy's file, as given.
    pub policy: String,
    /// The line that decided, from 1.
    pub line: Option<usize>,
    /// The rule in that line.
    pub rule: Option<String>,
    /// The decision in a sentence, for people.
    pub reason: String,
}

/// What a log says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogNote {
    /// Whether it is proved to be in the log.
    pub is_included: bool,
    /// The log or proof, as given.
    pub log: String,
    /// Which entry it is and as of when; or why it does not count as included.
    pub sentence: String,
}

/// Signatures and trust of one unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authenticity {
    /// The state of all signatures together.
    pub signed: SignedState,
    /// The signatures.
    pub signatures: Vec<SignatureNote>,
    /// When it was sealed, by the maker's clock.
    pub sealed_at: Option<String>,
    /// What the policy decided, if one was given.
    pub trusted: Option<TrustNote>,
    /// What the log says, if one was asked.
    pub logged: Option<LogNote>,
}

impl Authenticity {
    /// No signature was found.
    pub const fn unsigned() -> Self {
        Self {
            signed: SignedState::Unsigned,
            signatures: Vec::new(),
            sealed_at: None,
            trusted: None,
            logged: None,
        }
    }

    /// The state of several signatures together: that of the most notable one, so one valid
    /// signature is enough.
    pub fn overall(signatures: &[SignatureNote]) -> SignedState {
        let states = signatures.iter().map(|signature| signature.state);
        states.max().unwrap_or(SignedState::Unsigned)
    }

    /// Adds the signatures that are part of the unit itself. A valid one counts as by an unknown key,
    /// whatever the policy, because it vouches for itself. Signatures by the same key become one note.
    pub fn add_carried(&mut self, identity: &Identity, findings: &[Finding]) {
        let faulty: BTreeSet<&str> = findings.iter().filter_map(Finding::path).collect();
        let mut notes = BTreeMap::new();
        for carried in &identity.carried {
            let state = if faulty.contains(carried.place.as_str()) {
                SignedState::Broken
            } else {
                SignedState::UnknownKey
            };
            let signer = (state, &carried.key, &carried.name);
            let (_, count) = notes.entry(signer).or_insert((&carried.place, 0));
            *count += 1;
        }
        for ((state, key, name), (place, count)) in notes {
            let about = match state {
                SignedState::Broken => "it is part of what it signs and is not valid",
                _ => {
                    "it is part of what it signs, and so is its key; `runseal receipt verify --trust` \
                     says whether the key is trusted"
                }
            };
            let detail = match count {
                1 => about.to_owned(),
                many => format!("{many} by this key: {about}"),
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

    /// Adds the members `signed`, `signatures`, `sealed_at`, `trusted`, `trust`, `logged` and `log` to
    /// a result.
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

    /// Renders lines for people: what is signed, by whom, when and by whose clock, and what the policy
    /// says.
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

    /// Says how far the sealing time and the first believed timestamp are apart.
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
        Some(if stamped < sealed {
            format!("time: sealed {sealed_at} by the maker's clock, {apart} after it was stamped")
        } else {
            format!("time: sealed {sealed_at} by the maker's clock, {apart} before it was stamped")
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

    /// The signer's name, marked if it is only the signer's own claim.
    pub fn signer(&self) -> Option<String> {
        let name = self.name.as_ref()?;
        Some(if self.is_known {
            name.clone()
        } else {
            format!("{name} (by their own word)")
        })
    }

    /// Describes the signature in a sentence.
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
    /// States the decision in a sentence.
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
    /// States what the log says in a sentence.
    pub fn sentence(&self) -> String {
        let word = if self.is_included {
            "logged"
        } else {
            "NOT logged"
        };
        format!("{word}: {} ({})", self.sentence, self.log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signed_states_have_distinct_words_and_phrases() {
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
    fn lines_say_how_far_sealing_and_stamping_are_apart() {
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
