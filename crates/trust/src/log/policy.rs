//! Who must have signed a checkpoint: the log, and a quorum of witnesses (C2SP witness policy).

use std::collections::{BTreeMap, BTreeSet};

use runseal_core::timestamp::format_utc_seconds;
use thiserror::Error;

use super::{Checkpoint, CheckpointError, KeyKind, NoteError, NoteKey, SignedNote};

/// The number of logs, witnesses and groups in one policy, each; the specification asks for 32.
const MAX_EACH: usize = 128;

/// Why a policy is malformed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {fault}")]
pub struct LogPolicyError {
    /// The line of the policy, from 1.
    pub line: usize,
    /// What is wrong.
    pub fault: String,
}

/// An accepted checkpoint and who signed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witnessed {
    /// The checkpoint that the note states.
    pub checkpoint: Checkpoint,
    /// The name under which its log signed.
    pub log: String,
    /// The witnesses that cosigned, each with its time in seconds since 1970.
    pub witnesses: Vec<(String, u64)>,
}

impl Witnessed {
    /// Returns the earliest time by which all these witnesses had seen the checkpoint.
    pub fn seen_by_all(&self) -> Option<u64> {
        self.witnesses.iter().map(|(_, time)| *time).max()
    }
}

/// Why a checkpoint is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RefusedCheckpoint {
    /// It is not signed as required.
    #[error(transparent)]
    Note(#[from] NoteError),
    /// The note's text is not a checkpoint.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// No log of the policy signed it.
    #[error("no log of the policy signed it")]
    NoLog,
    /// Too few witnesses cosigned it.
    #[error("the quorum `{0}` of witnesses has not cosigned it")]
    NoQuorum(String),
    /// A witness cosigned at a time beyond the calendar.
    #[error("the witness `{0}` cosigned it at a time beyond the calendar")]
    NoDate(String),
}

#[derive(Debug, Clone)]
struct Group {
    threshold: usize,
    members: Vec<String>,
}

/// Who must sign a checkpoint.
#[derive(Debug, Clone, Default)]
pub struct LogPolicy {
    logs: Vec<NoteKey>,
    witnesses: BTreeMap<String, NoteKey>,
    groups: BTreeMap<String, Group>,
    quorum: Option<String>,
}

impl LogPolicy {
    /// Makes a policy that asks for one log's signature and no witness.
    pub fn of_log(key: NoteKey) -> Self {
        Self {
            logs: vec![key],
            ..Self::default()
        }
    }

    /// Reads a policy file: `log VKEY`, `witness NAME VKEY`, `group NAME all|any|N MEMBER…`, and
    /// one `quorum NAME|none`. Lines that begin with `#` are comments.
    ///
    /// # Errors
    /// The first faulty line.
    pub fn parse(text: &str) -> Result<Self, LogPolicyError> {
        let mut policy = Self::default();
        let mut quorum: Option<Option<String>> = None;
        for (at, line) in text.lines().enumerate() {
            let words: Vec<_> = line.split_ascii_whitespace().collect();
            let done = match words.as_slice() {
                [] => Ok(()),
                [first, ..] if first.starts_with('#') => Ok(()),
                ["log", key, ..] => policy.add_log(key),
                ["witness", name, key, ..] => policy.add_witness(name, key),
                ["group", name, threshold, members @ ..] => {
                    policy.add_group(name, threshold, members)
                }
                ["quorum", name] if quorum.is_none() => {
                    let named = (*name != "none").then(|| (*name).to_owned());
                    let is_known = named.as_ref().is_none_or(|name| policy.is_member(name));
                    quorum = Some(named);
                    if is_known {
                        Ok(())
                    } else {
                        Err(format!("`{name}` is neither a witness nor a group"))
                    }
                }
                ["quorum", ..] => Err("expected one `quorum` with one name".to_owned()),
                [other, ..] => Err(format!("unknown directive `{}`", other.escape_debug())),
            };
            done.map_err(|fault| LogPolicyError {
                line: at + 1,
                fault,
            })?;
        }
        let fail = |fault: &str| LogPolicyError {
            line: text.lines().count(),
            fault: fault.to_owned(),
        };
        policy.quorum =
            quorum.ok_or_else(|| fail("no quorum; `quorum none` asks for no witnesses"))?;
        if policy.logs.is_empty() {
            Err(fail("no log"))
        } else {
            Ok(policy)
        }
    }

    fn is_member(&self, name: &str) -> bool {
        self.witnesses.contains_key(name) || self.groups.contains_key(name)
    }

    fn add_log(&mut self, key: &str) -> Result<(), String> {
        let key = NoteKey::parse(key).map_err(|error| error.to_string())?;
        if key.kind != KeyKind::Ed25519 {
            return Err("expected a log's key, actual a witness's".to_owned());
        }
        if self.logs.contains(&key) || self.logs.len() >= MAX_EACH {
            return Err("duplicate log, or too many logs".to_owned());
        }
        self.logs.push(key);
        Ok(())
    }

    fn add_witness(&mut self, name: &str, key: &str) -> Result<(), String> {
        let key = NoteKey::parse(key).map_err(|error| error.to_string())?;
        if key.kind != KeyKind::Cosignature {
            return Err("expected a witness's key, actual a log's".to_owned());
        }
        let is_same = |known: &NoteKey| known.public_key() == key.public_key();
        // One witness under two names would be a quorum on its own.
        if self.witnesses.values().any(is_same) {
            return Err("another witness has the same key".to_owned());
        }
        if name == "none" || self.is_member(name) || self.witnesses.len() >= MAX_EACH {
            return Err(format!("duplicate name `{name}`, or too many witnesses"));
        }
        self.witnesses.insert(name.to_owned(), key);
        Ok(())
    }

    fn add_group(&mut self, name: &str, threshold: &str, members: &[&str]) -> Result<(), String> {
        let distinct: BTreeSet<_> = members.iter().collect();
        if members.is_empty() || distinct.len() != members.len() {
            return Err("expected members, each once".to_owned());
        }
        if let Some(unknown) = members.iter().find(|member| !self.is_member(member)) {
            return Err(format!("`{unknown}` is not defined before this line"));
        }
        let threshold = match threshold {
            "all" => members.len(),
            "any" => 1,
            number => number.parse().unwrap_or(0),
        };
        if threshold == 0 || threshold > members.len() {
            return Err(
                "expected the threshold `all`, `any` or a number up to that of the members"
                    .to_owned(),
            );
        }
        if name == "none" || self.is_member(name) || self.groups.len() >= MAX_EACH {
            return Err(format!("duplicate name `{name}`, or too many groups"));
        }
        let group = Group {
            threshold,
            members: members.iter().map(|member| (*member).to_owned()).collect(),
        };
        self.groups.insert(name.to_owned(), group);
        Ok(())
    }

    /// Returns whether a member, a witness or a group, has seen the checkpoint. This terminates
    /// because groups contain only members defined before them; each group is evaluated once.
    fn has_seen<'a>(
        &'a self,
        member: &'a str,
        seen: &BTreeMap<&str, u64>,
        asked: &mut BTreeMap<&'a str, bool>,
    ) -> bool {
        let Some(group) = self.groups.get(member) else {
            return seen.contains_key(member);
        };
        if let Some(known) = asked.get(member) {
            return *known;
        }
        let members = group.members.iter();
        let count = members
            .filter(|member| self.has_seen(member, seen, asked))
            .count();
        let has_seen = count >= group.threshold;
        asked.insert(member, has_seen);
        has_seen
    }

    /// Returns what a note says, if it is signed as the policy asks.
    ///
    /// # Errors
    /// When it is not.
    pub fn accept(&self, note: &SignedNote) -> Result<Witnessed, RefusedCheckpoint> {
        let checkpoint = Checkpoint::parse(&note.text)?;
        let mut log = None;
        for key in &self.logs {
            // A log signs only for its own name.
            if note.signed_by(key)?.is_some() && key.name == checkpoint.origin {
                log = Some(key.name.clone());
            }
        }
        let log = log.ok_or(RefusedCheckpoint::NoLog)?;
        let mut seen = BTreeMap::new();
        for (name, key) in &self.witnesses {
            if let Some(Some(time)) = note.signed_by(key)? {
                let seconds = i64::try_from(time).ok();
                if seconds.and_then(format_utc_seconds).is_none() {
                    return Err(RefusedCheckpoint::NoDate(name.clone()));
                }
                seen.insert(name.as_str(), time);
            }
        }
        if let Some(quorum) = &self.quorum
            && !self.has_seen(quorum, &seen, &mut BTreeMap::new())
        {
            return Err(RefusedCheckpoint::NoQuorum(quorum.clone()));
        }
        Ok(Witnessed {
            checkpoint,
            log,
            witnesses: seen
                .into_iter()
                .map(|(name, time)| (name.to_owned(), time))
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{PrivateKey, Signer as _};
    use crate::log::{sign_checkpoint, sign_cosignature};
    use runseal_core::digest::Digest;

    fn key(seed: u8) -> PrivateKey {
        PrivateKey::from_ed25519_seed(&[seed; 32]).unwrap()
    }

    fn vkey(name: &str, kind: KeyKind, seed: u8) -> String {
        let key = NoteKey::new(name, kind, key(seed).public_key()).unwrap();
        key.to_text()
    }

    fn policy_text() -> String {
        let log = vkey("example.com/log", KeyKind::Ed25519, 1);
        let mut text = format!("# a comment\nlog {log}\n");
        for seed in 2..5 {
            let witness = vkey(&format!("w{seed}"), KeyKind::Cosignature, seed);
            text.push_str(&format!("witness w{seed} {witness}\n"));
        }
        text + "group two 2 w2 w3 w4\nquorum two\n"
    }

    fn note() -> SignedNote {
        let checkpoint = Checkpoint {
            origin: "example.com/log".to_owned(),
            size: 3,
            root: Digest::of(b"root"),
        };
        sign_checkpoint(&checkpoint.to_text(), "example.com/log", &key(1)).unwrap()
    }

    #[test]
    fn checkpoint_is_accepted_only_with_a_quorum() {
        let policy = LogPolicy::parse(&policy_text()).unwrap();
        let mut note = note();
        let cosign = |note: &mut SignedNote, seed: u8, time| {
            let name = format!("w{seed}");
            let seen = sign_cosignature(&note.text, &name, time, &key(seed)).unwrap();
            note.signatures.push(seen);
        };
        assert!(matches!(
            policy.accept(&note),
            Err(RefusedCheckpoint::NoQuorum(_))
        ));
        cosign(&mut note, 2, 10);
        // Cosigning twice does not make two witnesses.
        cosign(&mut note, 2, 11);
        assert!(policy.accept(&note).is_err());
        cosign(&mut note, 4, 20);
        let found = policy.accept(&note).unwrap();
        assert_eq!(found.witnesses.len(), 2);
        assert_eq!(found.seen_by_all(), Some(20));
        // A time beyond the calendar is refused.
        let mut dateless = note.clone();
        cosign(&mut dateless, 3, u64::MAX);
        let refused = RefusedCheckpoint::NoDate("w3".to_owned());
        assert_eq!(policy.accept(&dateless), Err(refused));
        // A known witness's broken signature invalidates the note.
        cosign(&mut note, 3, 30);
        note.signatures.last_mut().unwrap().bytes[20] ^= 1;
        assert!(matches!(
            policy.accept(&note),
            Err(RefusedCheckpoint::Note(NoteError::Broken(_)))
        ));
    }

    #[test]
    fn nested_groups_are_evaluated_once() {
        let mut text = policy_text().replace("quorum two\n", "");
        text.push_str("group g0 any w2 w3\ngroup g1 any g0 w3\n");
        for at in 2..100 {
            text.push_str(&format!("group g{at} all g{} g{}\n", at - 1, at - 2));
        }
        text.push_str("quorum g99\n");
        let refused = LogPolicy::parse(&text).unwrap().accept(&note());
        assert_eq!(refused, Err(RefusedCheckpoint::NoQuorum("g99".to_owned())));
    }

    #[test]
    fn checkpoint_of_another_log_is_refused() {
        let policy = LogPolicy::parse(&policy_text()).unwrap();
        let mut other = note();
        other.text = other.text.replace("example.com/log", "example.com/other");
        let other = sign_checkpoint(&other.text, "example.com/log", &key(1)).unwrap();
        assert_eq!(policy.accept(&other), Err(RefusedCheckpoint::NoLog));
        let stranger = sign_checkpoint(&note().text, "example.com/log", &key(9)).unwrap();
        assert_eq!(policy.accept(&stranger), Err(RefusedCheckpoint::NoLog));
    }

    #[test]
    fn faulty_policy_error_names_the_line() {
        let good = policy_text();
        let again = vkey("again", KeyKind::Cosignature, 2);
        for (from, to, line) in [
            ("quorum two", "quorum nobody", 7),
            ("quorum two\n", "", 6),
            ("group two 2", "group two 4", 6),
            ("group two 2 w2", "group two 2 w9", 6),
            ("group two 2 w2 w3", "group two 2 w2 w2", 6),
            ("# a comment", "comment", 1),
            ("quorum two", "quorum two\nquorum two", 8),
            (
                "quorum two",
                &format!("witness again {again}\nquorum two"),
                7,
            ),
        ] {
            let bad = good.replace(from, to);
            assert_ne!(bad, good);
            let error = LogPolicy::parse(&bad).unwrap_err();
            assert_eq!(error.line, line, "{to}: {error}");
        }
    }
}
