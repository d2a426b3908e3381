//! Laws of the kernel as properties: answers converge, nothing but the normalized intent reaches the bytes, and every
//! bundle passes its own verifier in strict mode.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod labels;

use labels::{conformance_set, own_set};
use proptest::prelude::*;
use runseal_core::canon::{Dialect, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::formats::context_bundle::{BundleView, verify_bundle};
use runseal_core::verify::Level;
use runseal_kernel::{Bundle, Intent, ResultKind, answer_round, transform};

/// Answers that people give; none of them may keep the loop going.
const ANSWERS: &[&str] = &[
    "yes",
    "PostgreSQL 16",
    "42",
    "The second one",
    "It is fine as it is",
    "maybe",
    "TBD",
    "A or B?",
    "No network at all, never",
    "x",
    "Exit with code 2 and name the line. Then stop; nothing is written.",
];

fn intent(goal: &str, constraints: &[String]) -> Intent {
    Intent::new(goal, constraints, Value::object::<Value>([])).unwrap()
}

fn check_strict(bundle: &Bundle) {
    let bytes = canonical_bytes(bundle.value(), Dialect::Kernel).unwrap();
    let document = parse_document(&bytes, &ReadOptions::default()).unwrap();
    let view = BundleView {
        root: document.root(),
        transformed: Some(bundle.compute_hash().unwrap()),
    };
    let report = verify_bundle(&view, Level::Form);
    assert!(report.is_valid(), "{:?}", report.findings());
}

/// Answers every open question until none is left; fails after 8 rounds.
fn converge(start: &Intent, answer: impl Fn(usize, &[String]) -> String) {
    let mut current = start.clone();
    for round in 0..=8 {
        let bundle = transform(&current).unwrap();
        if bundle.kind() == ResultKind::Bundle {
            return;
        }
        assert!(
            round < 8,
            "still asking after 8 rounds: {:#?}\n{:?}",
            bundle.questions.iter().map(|q| &q.text).collect::<Vec<_>>(),
            current
        );
        let given: Vec<String> = bundle
            .questions
            .iter()
            .enumerate()
            .map(|(i, q)| answer(round + i, &q.options))
            .collect();
        let pairs: Vec<_> = bundle
            .questions
            .iter()
            .zip(&given)
            .map(|(q, a)| (q, a.as_str()))
            .collect();
        current = answer_round(&current, &pairs).unwrap();
    }
}

fn labelled() -> Vec<labels::Case> {
    let mut cases: Vec<labels::Case> = labels::OWN_SETS.into_iter().flat_map(own_set).collect();
    cases.extend(conformance_set().unwrap_or_default());
    cases
}

#[test]
fn answers_labelled_intents_converge_within_eight_rounds() {
    for case in labelled() {
        let start = intent(&case.goal, &case.constraints);
        for plain in ANSWERS {
            converge(&start, |_, _| (*plain).to_owned());
        }
        converge(&start, |n, options| {
            options
                .get(n % options.len().max(1))
                .cloned()
                .unwrap_or_else(|| "as today".to_owned())
        });
    }
}

#[test]
fn bundle_labelled_intents_pass_the_strict_verifier() {
    for case in labelled() {
        check_strict(&transform(&intent(&case.goal, &case.constraints)).unwrap());
    }
}

/// Sentences of the labelled intents, mixed at random: everything the detectors know meets everything else.
fn pool() -> Vec<String> {
    labelled()
        .into_iter()
        .flat_map(|case| case.constraints)
        .collect()
}

fn mixed() -> impl Strategy<Value = (String, Vec<String>)> {
    let pool = pool();
    let goals: Vec<String> = labelled().into_iter().map(|case| case.goal).collect();
    let line = prop_oneof![
        8 => prop::sample::select(pool),
        1 => "\\PC{0,60}",
        1 => "[ a-z<>{}\\[\\]?./,;:%_\"'-]{0,40}",
    ];
    (
        prop::sample::select(goals),
        prop::collection::vec(line, 0..14),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn answers_random_intents_converge_within_eight_rounds((goal, constraints) in mixed(), which in 0..ANSWERS.len()) {
        converge(&intent(&goal, &constraints), |n, _| ANSWERS[(n + which) % ANSWERS.len()].to_owned());
    }

    #[test]
    fn transform_same_intent_in_other_clothes_gives_the_same_hash((goal, constraints) in mixed(), turn in 0usize..14) {
        let plain = transform(&intent(&goal, &constraints)).unwrap();
        let mut turned = constraints.clone();
        if !turned.is_empty() {
            let by = turn % turned.len();
            turned.rotate_left(by);
        }
        turned.extend(constraints.first().cloned());
        let dressed: Vec<String> = turned.iter().map(|c| format!(" \t{}\r\n", decompose(c).replace('\n', "\r\n"))).collect();
        let other = transform(&intent(&format!("\u{feff}{}\r\n", decompose(&goal)), &dressed)).unwrap();
        prop_assert_eq!(plain.compute_hash().unwrap(), other.compute_hash().unwrap());
        prop_assert_eq!(plain.compute_hash().unwrap(), transform(&intent(&goal, &constraints)).unwrap().compute_hash().unwrap());
    }

    #[test]
    fn bundle_random_intents_pass_the_strict_verifier((goal, constraints) in mixed()) {
        check_strict(&transform(&intent(&goal, &constraints)).unwrap());
    }

    #[test]
    fn transform_any_text_never_panics(goal in "\\PC{1,200}", constraints in prop::collection::vec("(?s).{0,80}", 0..6)) {
        if let Ok(intent) = Intent::new(&goal, &constraints, Value::object::<Value>([])) {
            check_strict(&transform(&intent).unwrap());
        }
    }
}

/// NFD of the letters that the pool uses.
fn decompose(text: &str) -> String {
    text.replace('ä', "a\u{308}")
        .replace('ö', "o\u{308}")
        .replace('ü', "u\u{308}")
        .replace('é', "e\u{301}")
}
