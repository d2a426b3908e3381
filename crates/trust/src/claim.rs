//! What a signed statement says about its subject: it speaks for it, against it, or about something
//! else.
//!
//! A signature counts for what its predicate says. Known predicates are read here. Of any other
//! only the type is known, and it counts only if a policy names that type.

use runseal_core::canon::Value;

use crate::action::{ACTION_PREDICATE, check_written_action};
use crate::predicate::{Facts, RUN_PREDICATE};
use crate::statement::Statement;

/// The common prefix of the types of SLSA's verification summaries.
const VERIFICATION_SUMMARY: &str = "https://slsa.dev/verification_summary/";
/// The common prefix of the types of in-toto's test results.
const TEST_RESULT: &str = "https://in-toto.io/attestation/test-result/";
/// The common prefix of the types of in-toto's simple verification results.
const VERIFICATION_RESULT: &str = "https://in-toto.io/attestation/svr/";

/// Stems of the words with which a signer refuses what they sign. docs/predicate.md lists them.
const REFUSALS: [&str; 12] = [
    "declin",
    "denial",
    "denie",
    "deny",
    "disapprov",
    "invalid",
    "refus",
    "reject",
    "revoc",
    "revok",
    "veto",
    "withdr",
];

/// What a statement says about its subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Nothing in it speaks against its subject.
    For,
    /// It refuses its subject, in these words.
    Against(String),
    /// It describes something other than its subject; how they differ.
    Mismatch(String),
}

/// Reads what `statement` says about a unit with these facts. `payload` is its text.
pub fn read_claim(statement: &Statement, payload: &[u8], facts: &Facts) -> Claim {
    let predicate = &statement.predicate;
    let word = |members: &[&str]| {
        let mut found = members.iter().filter_map(|member| predicate.get(member));
        found.find_map(Value::as_str).map(str::to_owned)
    };
    let must_pass = |what: &str, word: Option<String>| match word.as_deref() {
        Some("PASSED") => Claim::For,
        Some(word) => Claim::Against(format!("{what} is `{}`", word.escape_debug())),
        None => Claim::Against(format!("it states no {what}")),
    };
    match statement.predicate_type.as_str() {
        RUN_PREDICATE => read_run(predicate, facts),
        kind if kind.starts_with(VERIFICATION_SUMMARY) => {
            let said = word(&["verificationResult", "verification_result"]);
            must_pass("its verification result", said)
        }
        kind if kind.starts_with(TEST_RESULT) => must_pass("its test result", word(&["result"])),
        kind if kind.starts_with(VERIFICATION_RESULT) => match predicate.get("properties") {
            Some(Value::Array(list)) if !list.is_empty() => Claim::For,
            _ => Claim::Against("it states no property that was verified".to_owned()),
        },
        ACTION_PREDICATE => read_action(predicate, payload),
        _ => Claim::For,
    }
}

/// Reads our own predicate, which must state this format and outcome and the verdict `valid`.
fn read_run(predicate: &Value, facts: &Facts) -> Claim {
    let text = |member: &str| predicate.get(member).and_then(Value::as_str);
    for member in ["format", "meaning", "outcome"] {
        if predicate.get(member).is_some() && text(member).is_none() {
            return Claim::Against(format!("its `{member}` is not text"));
        }
    }
    let verdict = predicate.get("verification").and_then(|v| v.get("verdict"));
    match verdict.and_then(Value::as_str) {
        Some("valid") => {}
        Some(verdict) => {
            return Claim::Against(format!("its verdict is `{}`", verdict.escape_debug()));
        }
        None => return Claim::Against("it states no verdict".to_owned()),
    }
    if let Some(meaning) = text("meaning").filter(|meaning| is_refusal(meaning)) {
        return Claim::Against(format!("its meaning is `{}`", meaning.escape_debug()));
    }
    let format = text("format").unwrap_or_default();
    if format != facts.format && Some(format) != facts.original.as_deref() {
        return Claim::Mismatch(format!(
            "it is about a {}, and this is a {}",
            format.escape_debug(),
            facts.format
        ));
    }
    let outcome = text("outcome");
    // Every redacted copy shows how the run ended.
    if outcome != facts.outcome.as_deref() {
        let shown = |outcome: Option<&str>| match outcome {
            Some(outcome) => format!("`{}`", outcome.escape_debug()),
            None => "none".to_owned(),
        };
        return Claim::Mismatch(format!(
            "it states the outcome {}, and this has {}",
            shown(outcome),
            shown(facts.outcome.as_deref())
        ));
    }
    Claim::For
}

fn read_action(predicate: &Value, payload: &[u8]) -> Claim {
    if let Err(fault) = check_written_action(payload) {
        return Claim::Mismatch(format!("it is not a valid ai-agent-action: {fault}"));
    }
    let success = predicate
        .get("action")
        .and_then(|action| action.get("success"));
    match success {
        Some(Value::Bool(true)) => Claim::For,
        _ => Claim::Against("it states that the action failed".to_owned()),
    }
}

/// Returns whether a meaning is a refusal: it contains a refusing word, or begins with `not` or
/// `no`.
pub fn is_refusal(meaning: &str) -> bool {
    let meaning = meaning.to_lowercase();
    let words = || {
        meaning
            .split(|c: char| !c.is_alphabetic())
            .filter(|word| !word.is_empty())
    };
    let refuses = |word: &str| REFUSALS.iter().any(|start| word.starts_with(start));
    matches!(words().next(), Some("not" | "no")) || words().any(refuses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use runseal_core::canon::{ReadOptions, parse_document};

    fn claim(kind: &str, predicate: &str) -> Claim {
        let document = parse_document(predicate.as_bytes(), &ReadOptions::default()).unwrap();
        let statement = Statement {
            subjects: Vec::new(),
            predicate_type: kind.to_owned(),
            predicate: document.root().to_value(),
        };
        let facts = Facts {
            format: "pack".to_owned(),
            outcome: Some("accepted".to_owned()),
            ..Facts::default()
        };
        read_claim(&statement, b"{}", &facts)
    }

    #[test]
    fn predicate_speaks_for_its_subject_only_in_its_own_words() {
        let summary = "https://slsa.dev/verification_summary/v1";
        let old = "https://slsa.dev/verification_summary/v0.2";
        let test = "https://in-toto.io/attestation/test-result/v0.1";
        let svr = "https://in-toto.io/attestation/svr/v0.1";
        for (kind, good, bad) in [
            (
                summary,
                r#"{"verificationResult":"PASSED"}"#,
                r#"{"verificationResult":"FAILED"}"#,
            ),
            (
                summary,
                r#"{"verificationResult":"PASSED"}"#,
                r#"{"verificationResult":["PASSED"]}"#,
            ),
            (
                old,
                r#"{"verification_result":"PASSED"}"#,
                r#"{"verification_result":"passed"}"#,
            ),
            (test, r#"{"result":"PASSED"}"#, r#"{"result":"WARNED"}"#),
            (svr, r#"{"properties":["X"]}"#, r#"{"properties":[]}"#),
        ] {
            assert_eq!(claim(kind, good), Claim::For, "{good}");
            assert!(matches!(claim(kind, bad), Claim::Against(_)), "{bad}");
            assert!(matches!(claim(kind, "{}"), Claim::Against(_)), "{kind}");
        }
        assert_eq!(claim("https://example.com/p", "{}"), Claim::For);
    }

    #[test]
    fn meaning_without_refusal_counts() {
        for meaning in [
            "author",
            "reviewer",
            "approver",
            "witness",
            "notary",
            "",
            "release: 7",
        ] {
            assert!(!is_refusal(meaning), "{meaning}");
        }
    }

    #[test]
    fn run_predicate_must_state_this_format_and_outcome_and_valid() {
        let good = r#"{"format":"pack","meaning":"approver","outcome":"accepted","verification":{"verdict":"valid"}}"#;
        assert_eq!(claim(RUN_PREDICATE, good), Claim::For);
        for (from, to, is_against) in [
            ("valid", "invalid", true),
            (r#""verdict""#, r#""verdicts""#, true),
            ("approver", " Rejected", true),
            ("approver", "REJECTED.", true),
            ("approver", "not approved", true),
            ("approver", "approval withdrawn", true),
            (r#""approver""#, r#"["rejected"]"#, true),
            (r#""outcome":"accepted""#, r#""outcome":{}"#, true),
            (r#":"pack""#, r#":"patch""#, false),
            (
                r#""outcome":"accepted""#,
                r#""outcome":"not accepted""#,
                false,
            ),
            (r#""outcome":"accepted","#, "", false),
        ] {
            let changed = good.replace(from, to);
            assert_ne!(changed, good);
            match claim(RUN_PREDICATE, &changed) {
                Claim::For => panic!("{changed}"),
                Claim::Against(_) => assert!(is_against, "{changed}"),
                Claim::Mismatch(_) => assert!(!is_against, "{changed}"),
            }
        }
    }
}
