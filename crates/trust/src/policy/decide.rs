//! The decision: which line of a policy accepts or refuses one thing, and why.

use std::collections::{BTreeMap, BTreeSet};

use runseal_core::digest::Digest;
use runseal_core::timestamp::format_utc;
use runseal_core::verify::authenticity::TrustNote;

use super::glob::matches;
use super::{Policy, Requirement, Rule, Signer};
use crate::check::{Checked, Signatory, is_proved};
use crate::statement::Target;

/// Why something that breaks its format's rules is not trusted.
const NOT_INTACT: &str = "it is not intact, so no signature covers it";

/// What is asked about.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// The format's name.
    pub format: String,
    /// The engine's code, where there is one.
    pub engine: Option<String>,
    /// How the run ended, where the format says.
    pub outcome: Option<String>,
    /// The path as it was named.
    pub path: String,
    /// Whether every rule of the format holds.
    pub is_intact: bool,
    /// Now, in milliseconds since 1970: for keys that expire and signatures without a timestamp.
    pub now: i64,
}

/// One thing that was looked at on the way to a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The line of the policy that it is about, from 1.
    pub line: usize,
    /// What was found there.
    pub text: String,
}

/// What a policy decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether it is trusted.
    pub is_trusted: bool,
    /// The line that decided.
    pub line: Option<usize>,
    /// The rule that stands there.
    pub rule: Option<String>,
    /// The decision in a sentence, for people.
    pub reason: String,
    /// Every line that was looked at on the way, in order.
    pub steps: Vec<Step>,
}

impl Decision {
    /// What a verdict says of it.
    pub fn to_note(&self, policy: &str) -> TrustNote {
        TrustNote {
            is_trusted: self.is_trusted,
            policy: policy.to_owned(),
            line: self.line,
            rule: self.rule.clone(),
            reason: self.reason.clone(),
        }
    }
}

/// Decides about `target`, of which `question` says what it is, with these signatures.
pub fn decide(
    policy: &Policy,
    question: &Question,
    target: &Target,
    signatures: &[Checked],
) -> Decision {
    let mut steps = Vec::new();
    let refuse = |line: Option<usize>, reason: String, steps: Vec<Step>| Decision {
        is_trusted: false,
        line,
        rule: None,
        reason,
        steps,
    };
    if let Some((time, line)) = policy.expires
        && question.now >= time
    {
        let when = format_utc(time).unwrap_or_default();
        return refuse(Some(line), format!("the policy expired {when}"), steps);
    }
    if let Some((digest, line)) = denied_digest(policy, target) {
        return refuse(Some(line), format!("the digest {digest} is denied"), steps);
    }
    if !question.is_intact {
        return refuse(None, NOT_INTACT.to_owned(), steps);
    }
    let rule = policy
        .rules
        .iter()
        .find(|rule| match mismatch(rule, question) {
            None => true,
            Some(because) => {
                let text = format!("{} does not apply: {because}", shown(rule));
                steps.push(Step {
                    line: rule.line,
                    text,
                });
                false
            }
        });
    let Some(rule) = rule else {
        return refuse(None, "no rule of the policy is for this".to_owned(), steps);
    };
    steps.push(Step {
        line: rule.line,
        text: format!("{} applies", shown(rule)),
    });
    let mut reasons = Vec::new();
    let mut failed = None;
    for requirement in &rule.requirements {
        let (met, reason) = meets(policy, requirement, question, signatures, &mut steps);
        if !met && failed.is_none() {
            failed = Some((requirement.line, reason.clone()));
        }
        reasons.push(reason);
    }
    let (is_trusted, line, reason) = match failed {
        Some((line, reason)) => (false, line, reason),
        None => (true, rule.line, reasons.join("; ")),
    };
    Decision {
        is_trusted,
        line: Some(line),
        rule: Some(shown(rule)),
        reason,
        steps,
    }
}

fn shown(rule: &Rule) -> String {
    match &rule.name {
        Some(name) => format!("rule `{name}`"),
        None => format!("the rule in line {}", rule.line),
    }
}

fn denied_digest(policy: &Policy, target: &Target) -> Option<(Digest, usize)> {
    let folder = target.files.as_ref().map(crate::dirhash::compute_dir_hash);
    let single = [&target.file, &target.archive];
    let single = single.into_iter().flatten().map(|(_, digest)| *digest);
    let files = target
        .files
        .iter()
        .flat_map(|files| files.values().copied());
    single.chain(folder).chain(files).find_map(|digest| {
        let line = policy.denied_digests.get(&digest)?;
        Some((digest, *line))
    })
}

/// Why a rule is not for this; none where it is.
fn mismatch(rule: &Rule, question: &Question) -> Option<String> {
    if !rule.formats.is_empty() && !rule.formats.contains(&question.format) {
        return Some(format!("it is a {}", question.format));
    }
    let selectors = [
        ("engine", &rule.engines, question.engine.as_deref()),
        ("outcome", &rule.outcomes, question.outcome.as_deref()),
        ("path", &rule.paths, Some(question.path.as_str())),
    ];
    selectors.into_iter().find_map(|(what, patterns, actual)| {
        if patterns.is_empty() {
            return None;
        }
        match actual {
            None => Some(format!("it has no {what}")),
            Some(actual) if patterns.iter().any(|pattern| matches(pattern, actual)) => None,
            Some(actual) => Some(format!("its {what} is `{}`", actual.escape_debug())),
        }
    })
}

fn meets(
    policy: &Policy,
    requirement: &Requirement,
    question: &Question,
    signatures: &[Checked],
    steps: &mut Vec<Step>,
) -> (bool, String) {
    // Signers, not signatures: a name counts once however often and with however many keys.
    let mut counted: BTreeSet<&str> = BTreeSet::new();
    let mut refused: BTreeMap<String, String> = BTreeMap::new();
    for signature in signatures {
        let place = &signature.note.place;
        match counts(policy, requirement, question, signature) {
            Ok(signer) => {
                steps.push(Step {
                    line: signer.line,
                    text: format!("{place}: counts, by `{}`", signer.name),
                });
                counted.insert(&signer.name);
            }
            Err((line, because)) => {
                steps.push(Step {
                    line: line.unwrap_or(requirement.line),
                    text: format!("{place}: does not count: {because}"),
                });
                refused.insert(place.clone(), because);
            }
        }
    }
    let (have, need) = (counted.len(), requirement.threshold);
    let names = counted.into_iter().collect::<Vec<_>>().join(", ");
    if have >= need {
        return (true, format!("signed by {names} ({have} of {need} needed)"));
    }
    let mut reason = format!("{have} of {need} needed signatures");
    if !names.is_empty() {
        reason.push_str(&format!(" (by {names})"));
    }
    match refused.into_values().next() {
        Some(because) => reason.push_str(&format!(": {because}")),
        None if have == 0 => reason.push_str(": it is unsigned"),
        None => {}
    }
    (false, reason)
}

type NotCounted = (Option<usize>, String);

/// Whose signature it is, if it counts; otherwise the line that says so and why.
fn counts<'p>(
    policy: &'p Policy,
    requirement: &Requirement,
    question: &Question,
    signature: &Checked,
) -> Result<&'p Signer, NotCounted> {
    let (true, Some(signatory)) = (is_proved(signature), &signature.signatory) else {
        return Err((None, signature.note.state.phrase().to_owned()));
    };
    if let Signatory::Key(key) = signatory
        && let Some(line) = policy.denied_keys.get(&key.id())
    {
        return Err((Some(*line), "its key is denied".to_owned()));
    }
    let signer = policy.signers.iter().find(|signer| match signatory {
        Signatory::Key(key) => signer.keys.contains(key),
        Signatory::Certificate(identity, issuer) => signer
            .identity
            .as_ref()
            .is_some_and(|known| known.issuer == *issuer && matches(&known.identity, identity)),
    });
    let signer = signer.ok_or_else(|| (None, "signed by an unknown key".to_owned()))?;
    if !requirement.signers.contains(&signer.name) {
        return Err((None, format!("`{}` is not asked here", signer.name)));
    }
    if requirement.needs_timestamp && signature.proven_times.is_empty() {
        let fault = signature
            .note
            .times
            .iter()
            .find_map(|time| time.fault.clone());
        let because = fault.map_or_else(
            || "no timestamp of an authority is on it".to_owned(),
            |fault| format!("its timestamp is not believed: {fault}"),
        );
        return Err((None, because));
    }
    check_time(signer, signature, question.now)?;
    let said = signature.signing.meaning.as_deref();
    let means = requirement
        .meanings
        .iter()
        .any(|meaning| Some(meaning.as_str()) == said);
    if !requirement.meanings.is_empty() && !means {
        let said = said.map_or("nothing".to_owned(), |said| {
            format!("`{}`", said.escape_debug())
        });
        let asked = requirement.meanings.join("` or `");
        return Err((None, format!("it means {said}, asked is `{asked}`")));
    }
    Ok(signer)
}

/// The signer's word about time counts for nothing: an authority's does, and otherwise now.
fn check_time(signer: &Signer, signature: &Checked, now: i64) -> Result<(), NotCounted> {
    let (time, whose) = match signature.proven_times.iter().min() {
        Some(time) => (*time, "when it was stamped"),
        None => (now, "now"),
    };
    let shown = |time| format_utc(time).unwrap_or_default();
    match (signer.from, signer.until) {
        (Some(from), _) if time < from => {
            let because = format!("`{}` counts from {}, not {whose}", signer.name, shown(from));
            Err((Some(signer.line), because))
        }
        (_, Some(until)) if time >= until => {
            let because = format!(
                "`{}` counted until {}, not {whose}",
                signer.name,
                shown(until)
            );
            Err((Some(signer.line), because))
        }
        _ => Ok(()),
    }
}
