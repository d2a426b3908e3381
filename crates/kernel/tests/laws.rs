//! Laws of the kernel as properties: answers converge, nothing that the author wrote is lost, only
//! the normalized intent affects the bytes, and every bundle passes every rule of its verifier.

use std::collections::BTreeSet;

use crate::support::{intent, labelled, outside_lists, plants};
use proptest::prelude::*;
use runseal_core::canon::{Dialect, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::formats::context_bundle::{BundleView, verify_bundle};
use runseal_core::verify::Level;
use runseal_kernel::find::Origin;
use runseal_kernel::question::{BOTH_HOLD, Question};
use runseal_kernel::rules::{Kind, rule_set};
use runseal_kernel::{Bundle, Intent, ResultKind, answer_round, transform};

/// Answers that people give; with each of them the questions must end.
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
    "Decided: “nothing”: [insert name]",
    "“quoted” and ”oddly“ so",
    "Both hold",
    "Exit with code 2 and name the line. Then stop; nothing is written.",
];

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

/// Checks that texts are in every leaf, in its output, and in the output's list of sources.
fn check_kept(bundle: &Bundle, kept: &BTreeSet<String>) {
    for leaf in bundle.root.leaves() {
        let output = bundle
            .outputs
            .iter()
            .find(|output| output.path.as_str().contains(leaf.id.as_str()))
            .unwrap();
        for text in kept {
            assert!(leaf.constraints.contains(text), "gone from a leaf: {text}");
            assert!(
                output.source_constraints.contains(text),
                "gone from an output's sources: {text}"
            );
            assert!(
                output.content.contains(text.as_str()),
                "gone from an output: {text}"
            );
        }
    }
}

/// Returns the constraints that this answer replaces: the one whose blank is filled, or the side
/// that was not chosen.
fn replaced(intent: &Intent, question: &Question, answer: &str) -> Vec<String> {
    let Some(finding) = &question.finding else {
        return Vec::new();
    };
    let text = |origin: Origin| match origin {
        Origin::Goal => None,
        Origin::Constraint(at) => Some(intent.constraints()[at].clone()),
    };
    let places = finding.places.iter();
    match finding.kind() {
        Kind::Placeholder => places.filter_map(|place| text(place.origin)).collect(),
        Kind::Contradiction if places.clone().any(|place| place.quote == answer) => places
            .filter(|place| place.quote != answer)
            .filter_map(|place| text(place.origin))
            .collect(),
        _ => Vec::new(),
    }
}

/// Answers every open question until none is left; fails after 8 rounds, or if something that the
/// author wrote is lost.
fn converge(start: &Intent, answer: impl Fn(usize, &[String]) -> String) {
    let mut current = start.clone();
    let mut kept: BTreeSet<String> = start.constraints().iter().cloned().collect();
    for round in 0..=8 {
        let bundle = transform(&current).unwrap();
        check_kept(&bundle, &kept);
        if bundle.kind() == ResultKind::Bundle {
            return;
        }
        let texts: Vec<&String> = bundle
            .questions
            .iter()
            .map(|question| &question.text)
            .collect();
        assert!(
            round < 8,
            "still asking after 8 rounds: {texts:#?}\n{current:?}"
        );
        let given: Vec<String> = bundle
            .questions
            .iter()
            .enumerate()
            .map(|(i, question)| answer(round + i, &question.options))
            .collect();
        let pairs: Vec<_> = bundle
            .questions
            .iter()
            .zip(&given)
            .map(|(q, a)| (q, a.as_str()))
            .collect();
        for (question, answer) in &pairs {
            for text in replaced(&current, question, answer) {
                kept.remove(&text);
            }
        }
        current = answer_round(&current, &pairs).unwrap();
    }
}

/// The examples of the rules: everything that the matchers know, available in every checkout.
fn examples() -> Vec<(String, Vec<String>)> {
    let split = |example: &String| {
        let mut parts = example.split(" || ").map(str::to_owned);
        (parts.next().unwrap(), parts.collect())
    };
    rule_set()
        .rules
        .iter()
        .flat_map(|rule| rule.flags.iter().chain(&rule.passes))
        .map(split)
        .collect()
}

/// All intents: examples, labelled intents, and lists with all of their planted faults.
fn intents() -> Vec<(String, Vec<String>)> {
    let mut all = examples();
    all.extend(
        labelled()
            .unwrap_or_default()
            .into_iter()
            .map(|list| (list.goal, list.constraints)),
    );
    let plants = plants().unwrap_or_default();
    for mut list in outside_lists().unwrap_or_default() {
        list.constraints.extend(
            plants
                .iter()
                .filter(|plant| plant.host == list.id)
                .map(|plant| plant.insert.clone()),
        );
        all.push((list.goal, list.constraints));
    }
    all
}

#[test]
fn answers_converge_and_lose_nothing() {
    for (goal, constraints) in intents() {
        let start = intent(&goal, &constraints);
        for plain in ANSWERS {
            converge(&start, |_, _| (*plain).to_owned());
        }
        for turn in 0..3 {
            converge(&start, |n, options| {
                options
                    .get((n + turn) % options.len().max(1))
                    .cloned()
                    .unwrap_or_else(|| "as today".to_owned())
            });
        }
    }
}

#[test]
fn bundles_pass_the_strict_verifier() {
    for (goal, constraints) in intents() {
        check_strict(&transform(&intent(&goal, &constraints)).unwrap());
    }
}

#[test]
fn contradiction_answered_with_both_hold_keeps_both() {
    let texts = [
        "Exchange rates are cached for one hour".to_owned(),
        "Exchange rates are never cached".to_owned(),
    ];
    let start = Intent::new("Build it", &texts, Value::object([("profile", "none")])).unwrap();
    let bundle = transform(&start).unwrap();
    let [question] = bundle.questions.as_slice() else {
        panic!("{:?}", bundle.questions)
    };
    assert!(
        question.options.iter().any(|option| option == BOTH_HOLD),
        "{:?}",
        question.options
    );
    let answered = answer_round(&start, &[(question, BOTH_HOLD)]).unwrap();
    assert!(
        texts
            .iter()
            .all(|text| answered.constraints().contains(text))
    );
    assert_eq!(transform(&answered).unwrap().kind(), ResultKind::Bundle);
    let chosen = answer_round(&start, &[(question, texts[0].as_str())]).unwrap();
    assert!(chosen.constraints().contains(&texts[0]) && !chosen.constraints().contains(&texts[1]));
    assert!(
        chosen
            .constraints()
            .iter()
            .any(|text| text.contains(&format!("not “{}”", texts[1])))
    );
    let own = answer_round(&start, &[(question, "for ten minutes")]).unwrap();
    assert!(texts.iter().all(|text| own.constraints().contains(text)));
    assert_eq!(transform(&own).unwrap().kind(), ResultKind::Bundle);
}

fn mixed() -> impl Strategy<Value = (String, Vec<String>)> {
    let all = intents();
    let goals: Vec<String> = all.iter().map(|(goal, _)| goal.clone()).collect();
    let pool: Vec<String> = all
        .into_iter()
        .flat_map(|(_, constraints)| constraints)
        .collect();
    let line = prop_oneof![
        8 => prop::sample::select(pool),
        1 => "\\PC{0,60}",
        1 => "[ a-z<>{}\\[\\]?./,;:%_\"'\u{a0}\u{3000}-]{0,40}",
    ];
    (
        prop::sample::select(goals),
        prop::collection::vec(line, 0..14),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn answers_to_random_intents_converge_and_lose_nothing((goal, constraints) in mixed(), which in 0..ANSWERS.len(), pick in any::<bool>()) {
        converge(&intent(&goal, &constraints), |n, options| match options.get(n % options.len().max(1)) {
            Some(option) if pick => option.clone(),
            _ => ANSWERS[(n + which) % ANSWERS.len()].to_owned(),
        });
    }

    #[test]
    fn intent_written_differently_has_the_same_hash((goal, constraints) in mixed(), turn in 0usize..14) {
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
    }

    #[test]
    fn bundles_of_random_intents_pass_the_strict_verifier((goal, constraints) in mixed()) {
        check_strict(&transform(&intent(&goal, &constraints)).unwrap());
    }

    #[test]
    fn transform_of_any_text_never_panics(goal in "\\PC{1,200}", constraints in prop::collection::vec("(?s).{0,80}", 0..6)) {
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
