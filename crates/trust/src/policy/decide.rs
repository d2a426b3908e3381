//! The decision: which line of a policy accepts or refuses a unit, and why.

use std::collections::{BTreeMap, BTreeSet};

use runseal_core::digest::Digest;
use runseal_core::formats::Format;
use runseal_core::timestamp::format_utc;
use runseal_core::verify::authenticity::TrustNote;

use super::glob::matches;
use super::place::Fit;
use super::{PLAIN, Place, Policy, Requirement, Rule, Signer};
use crate::check::{CheckedSignature, Signatory, is_proved};
use crate::predicate::RUN_PREDICATE;
use crate::statement::Target;

/// Why a unit that breaks its format's rules is not trusted.
const NOT_INTACT: &str = "it is not intact, so no signature covers it";

/// Why a signature on a redacted copy does not count if the policy denies digests.
const NO_ORIGINAL: &str = "its statement does not name what the copy was made from, \
                           which `[deny] digests` may deny";

/// The facts that a policy decides about.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// The format's name.
    pub format: String,
    /// The format of the original, if this is a redacted copy.
    pub original: Option<String>,
    /// The engine's code, if there is one.
    pub engine: Option<String>,
    /// How the run ended, if the format says so.
    pub outcome: Option<String>,
    /// Whether it should say how the run ended, and does not.
    pub is_outcome_unknown: bool,
    /// Where it is.
    pub place: Place,
    /// Whether the unit follows every rule of its format.
    pub is_intact: bool,
    /// The current time in milliseconds since 1970, for keys that expire and signatures without a
    /// timestamp.
    pub now: i64,
}

/// One step on the way to a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The line of the policy, from 1.
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
    /// The rule in that line.
    pub rule: Option<String>,
    /// The decision in a sentence, for people.
    pub reason: String,
    /// Every line that was looked at, in order.
    pub steps: Vec<Step>,
}

impl Decision {
    /// Returns what a verdict says about it.
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

/// Decides whether to trust `target`, described by `question`, with these signatures.
pub fn decide(
    policy: &Policy,
    question: &Question,
    target: &Target,
    signatures: &[CheckedSignature],
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
    if let Some((digest, line)) = denied_digest(policy, target, signatures) {
        return refuse(Some(line), format!("the digest {digest} is denied"), steps);
    }
    if !question.is_intact {
        return refuse(None, NOT_INTACT.to_owned(), steps);
    }
    let mut rule = None;
    for candidate in &policy.rules {
        let text = match rule_fits(candidate, question, target.withheld.is_some()) {
            Fit::Yes => {
                rule = Some(candidate);
                break;
            }
            Fit::No(because) => format!("{} does not apply: {because}", describe(candidate)),
            // A laxer rule further down must not decide instead.
            Fit::Unclear(why) => {
                let reason = format!("{} cannot be applied: {why}", describe(candidate));
                return refuse(Some(candidate.line), reason, steps);
            }
        };
        steps.push(Step {
            line: candidate.line,
            text,
        });
    }
    let Some(rule) = rule else {
        return refuse(
            None,
            "no rule of the policy applies to this".to_owned(),
            steps,
        );
    };
    steps.push(Step {
        line: rule.line,
        text: format!("{} applies", describe(rule)),
    });
    let needs_original = target.withheld.is_some() && !policy.denied_digests.is_empty();
    let signatures: Vec<_> = signatures
        .iter()
        .map(|one| (one, needs_original && !one.names_original))
        .collect();
    let mut reasons = Vec::new();
    let mut failed = None;
    for requirement in &rule.requirements {
        let (met, reason) = meets(policy, requirement, question, &signatures, &mut steps);
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
        rule: Some(describe(rule)),
        reason,
        steps,
    }
}

fn describe(rule: &Rule) -> String {
    match &rule.name {
        Some(name) => format!("rule `{name}`"),
        None => format!("the rule in line {}", rule.line),
    }
}

/// Returns a digest of the target that is denied. A statement that counts for a redacted copy names
/// the original: if the original is denied, so is the copy.
fn denied_digest(
    policy: &Policy,
    target: &Target,
    signatures: &[CheckedSignature],
) -> Option<(Digest, usize)> {
    if policy.denied_digests.is_empty() {
        return None;
    }
    let folder = target.files.as_ref().map(crate::dirhash::compute_dir_hash);
    let single = [
        &target.file,
        &target.archive,
        &target.redaction,
        &target.withheld,
    ];
    let single = single.into_iter().flatten().map(|(_, digest)| *digest);
    let files = target
        .files
        .iter()
        .flat_map(|files| files.values().copied());
    let is_copy = target.withheld.is_some();
    let proved = signatures
        .iter()
        .filter(|one| is_copy && one.signatory.is_some());
    let originals = proved.flat_map(|one| one.named.iter().copied());
    single
        .chain(target.container)
        .chain(folder)
        .chain(files)
        .chain(originals)
        .find_map(|digest| {
            let line = policy.denied_digests.get(&digest)?;
            Some((digest, *line))
        })
}

/// Returns whether a rule applies. A rule for a unit applies to its redacted copies too:
/// withholding a part must not lead to a laxer rule.
fn rule_fits(rule: &Rule, question: &Question, is_copy: bool) -> Fit {
    let original = question.original.as_ref().filter(|_| is_copy);
    let mut formats = [Some(&question.format), original].into_iter().flatten();
    if !rule.formats.is_empty() && !formats.any(|format| rule.formats.contains(format)) {
        return match (is_copy, original) {
            (false, _) => Fit::No(format!("it is a {}", question.format)),
            (true, Some(original)) => {
                let original = original.escape_debug();
                Fit::No(format!("it is a {} of a {original}", question.format))
            }
            (true, None) => Fit::Unclear("the format of what was sealed is not known".to_owned()),
        };
    }
    let may_have_engine = original.is_none_or(|original| original == Format::RunBundle.name());
    if is_copy && may_have_engine && !rule.engines.is_empty() && question.engine.is_none() {
        return Fit::Unclear("the copy does not show its engine".to_owned());
    }
    if is_copy && question.is_outcome_unknown && !rule.outcomes.is_empty() {
        return Fit::Unclear("the copy does not show how the run ended".to_owned());
    }
    let selectors = [
        ("engine", &rule.engines, question.engine.as_deref()),
        ("outcome", &rule.outcomes, question.outcome.as_deref()),
    ];
    let other = selectors.into_iter().find_map(|(what, patterns, actual)| {
        if patterns.is_empty() {
            return None;
        }
        match actual {
            None => Some(format!("it has no {what}")),
            Some(actual) if patterns.iter().any(|pattern| matches(pattern, actual)) => None,
            Some(actual) => Some(format!("its {what} is `{}`", actual.escape_debug())),
        }
    });
    match other {
        Some(because) => Fit::No(because),
        None if rule.paths.is_empty() => Fit::Yes,
        None => question.place.fits(&rule.paths),
    }
}

fn meets(
    policy: &Policy,
    requirement: &Requirement,
    question: &Question,
    signatures: &[(&CheckedSignature, bool)],
    steps: &mut Vec<Step>,
) -> (bool, String) {
    // Signers are counted, not signatures: a name counts once, with however many signatures and
    // keys.
    let mut counted: BTreeSet<&str> = BTreeSet::new();
    let mut refused: BTreeMap<String, String> = BTreeMap::new();
    for (signature, lacks_original) in signatures {
        let place = &signature.note.place;
        let counted_by = match lacks_original {
            true if is_proved(signature) => Err((None, NO_ORIGINAL.to_owned())),
            _ => counts(policy, requirement, question, signature),
        };
        match counted_by {
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

/// Returns whose signature it is, if it counts; otherwise the line that refuses it and why.
fn counts<'p>(
    policy: &'p Policy,
    requirement: &Requirement,
    question: &Question,
    signature: &CheckedSignature,
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
        return Err((
            None,
            format!("`{}` is not among the signers asked for", signer.name),
        ));
    }
    if requirement.needs_timestamp && signature.proven_times.is_empty() {
        let fault = signature
            .note
            .times
            .iter()
            .find_map(|time| time.fault.clone());
        let because = fault.map_or_else(
            || "it has no timestamp of an authority".to_owned(),
            |fault| format!("its timestamp is not trusted: {fault}"),
        );
        return Err((None, because));
    }
    let (time, whose) = time_of(&signature.proven_times, question.now);
    check_time(signer, time, whose).map_err(|because| (Some(signer.line), because))?;
    check_predicate(requirement, signature)?;
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
        return Err((
            None,
            format!("it means {said}, the rule asks for `{asked}`"),
        ));
    }
    Ok(signer)
}

/// Checks the type of the predicate. Without a list of types, our own counts, and so do signatures
/// without a statement.
fn check_predicate(
    requirement: &Requirement,
    signature: &CheckedSignature,
) -> Result<(), NotCounted> {
    let kind = signature.predicate.as_deref();
    let named = &requirement.predicates;
    let is_accepted = if named.is_empty() {
        kind.is_none_or(|kind| kind == RUN_PREDICATE)
    } else {
        named.iter().any(|named| named == kind.unwrap_or(PLAIN))
    };
    if is_accepted {
        return Ok(());
    }
    let because = match kind {
        Some(kind) => format!(
            "it states `{}`, which is not among the `predicates` of the rule",
            kind.escape_debug()
        ),
        None => format!("it carries no statement, and `{PLAIN}` is not among the `predicates`"),
    };
    Err((None, because))
}

/// Returns the time of a signature and how it is known: stamped by an authority, or else now. The
/// signer's own word counts for nothing.
pub(super) fn time_of(proven: &[i64], now: i64) -> (i64, &'static str) {
    match proven.iter().min() {
        Some(time) => (*time, "when it was stamped"),
        None => (now, "now"),
    }
}

/// Checks that a signer counts at a time; otherwise says why not.
pub(super) fn check_time(signer: &Signer, time: i64, whose: &str) -> Result<(), String> {
    let shown = |time| format_utc(time).unwrap_or_default();
    let name = signer.name.escape_debug();
    match (signer.from, signer.until) {
        (Some(from), _) if time < from => {
            Err(format!("`{name}` counts from {}, not {whose}", shown(from)))
        }
        (_, Some(until)) if time >= until => Err(format!(
            "`{name}` counted until {}, not {whose}",
            shown(until)
        )),
        _ => Ok(()),
    }
}
