//! What a model is asked about an intent, and what counts of its words.

use std::collections::BTreeSet;

use runseal_core::canon::Value;
use runseal_kernel::Intent;
use runseal_kernel::assess::{Heard, Plan, merge_findings, parse_words, plan_questions, question};
use runseal_kernel::context::Assessed;
use runseal_kernel::rules::Kind;

/// The most constraints in a block, of which a question shows two.
const BLOCK: usize = 40;

fn pairs_in(members: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    let later = |at: usize| members[at + 1..].iter();
    members
        .iter()
        .enumerate()
        .flat_map(move |(at, one)| later(at).map(|other| (*one, *other)))
}

fn intent_of(texts: &[String]) -> Intent {
    Intent::new("Build it", texts, Value::object::<Value>([])).unwrap()
}

/// Texts without a common word, in an order that is not the sorted one.
fn strangers(count: usize) -> Vec<String> {
    let letters = |at: usize| -> String {
        let digits = format!("{:04}", count - at);
        digits
            .bytes()
            .map(|b| char::from(b - b'0' + b'b'))
            .collect()
    };
    (0..count)
        .map(|at| format!("{0}x {0}y {0}z", letters(at)))
        .collect()
}

/// The pairs that the chunks show, counted one by one.
fn count_seen(plan: &Plan) -> u64 {
    let pairs: BTreeSet<_> = plan
        .chunks
        .iter()
        .flat_map(|chunk| pairs_in(chunk))
        .collect();
    pairs.len() as u64
}

#[test]
fn plan_short_list_is_one_question_in_the_order_given() {
    let texts = strangers(2 * BLOCK);
    let short = intent_of(&texts);
    let plan = plan_questions(&short, 1).unwrap();
    assert_eq!(plan.chunks, [(0..2 * BLOCK).collect::<Vec<_>>()]);
    let given = plan.order.iter().map(|at| &short.constraints()[*at]);
    assert!(given.eq(&texts));
    assert_eq!((plan.pairs, plan.unseen), (80 * 79 / 2, 0));
    let none = plan_questions(&intent_of(&["Decided: all".to_owned()]), 9).unwrap();
    assert_eq!(none, Plan::default());
}

#[test]
fn plan_long_list_shows_every_pair_within_its_reach_and_counts_the_rest() {
    let plan = plan_questions(&intent_of(&strangers(300)), 20).unwrap();
    assert_eq!((plan.chunks.len(), plan.reach), (7, BLOCK));
    let seen: BTreeSet<_> = plan
        .chunks
        .iter()
        .flat_map(|chunk| pairs_in(chunk))
        .collect();
    for one in 0..300 {
        for other in one + 1..(one + 1 + plan.reach).min(300) {
            assert!(seen.contains(&(one, other)), "{one} {other}");
        }
    }
    assert_eq!(plan.pairs - plan.unseen, count_seen(&plan));
    assert!(plan.unseen > 0);
    assert_eq!(plan_questions(&intent_of(&strangers(300)), 6), Err(7));
}

#[test]
fn plan_shows_what_shares_a_rare_word_however_far_apart() {
    let mut texts = strangers(300);
    texts[3] = "The vault is opened by the treasurer".to_owned();
    texts[290] = "Nobody but the chair opens vaults".to_owned();
    let plan = plan_questions(&intent_of(&texts), 20).unwrap();
    let both = |chunk: &Vec<usize>| chunk.contains(&3) && chunk.contains(&290);
    assert_eq!(
        (
            plan.chunks.len(),
            plan.chunks.iter().filter(|c| both(c)).count()
        ),
        (8, 1)
    );
    assert_eq!(plan.pairs - plan.unseen, count_seen(&plan));
    // No question is left for it.
    let plan = plan_questions(&intent_of(&texts), 7).unwrap();
    assert!(!plan.chunks.iter().any(both));
    assert_eq!(plan.pairs - plan.unseen, count_seen(&plan));
}

#[test]
fn plan_of_long_texts_has_smaller_blocks_and_says_so() {
    let texts: Vec<String> = strangers(30).iter().map(|text| text.repeat(100)).collect();
    let plan = plan_questions(&intent_of(&texts), 99).unwrap();
    assert!(plan.reach < 10, "{plan:?}");
    assert_eq!(plan.pairs - plan.unseen, count_seen(&plan));
    let huge = vec!["x".repeat(20_000), "y".repeat(20_000), "z".repeat(20_000)];
    let plan = plan_questions(&intent_of(&huge), 99).unwrap();
    assert_eq!((plan.chunks.len(), plan.unseen), (2, 1));
}

fn intent() -> Intent {
    let texts = [
        "Backups are made daily and kept for a year",
        "Nothing is kept longer than thirty days",
        "Reports are sent daily",
        "Rates are cached for one hour",
        "Rates are never cached",
        "Decided: “Reports”: by mail",
    ];
    Intent::new(
        "Build it",
        &texts.map(str::to_owned),
        Value::object::<Value>([]),
    )
    .unwrap()
}

fn hear(words: &str) -> Result<Heard, String> {
    let intent = intent();
    parse_words(words, &intent, &plan_questions(&intent, 1).unwrap())
}

const GOOD: &str = r#"{"findings":[{"kind":"contradiction","pair":[1,2],"quotes":["kept for a year","Nothing is kept longer than thirty days"],"message":"How long?"}]}"#;

#[test]
fn question_numbers_constraints_as_given_and_repeats_decisions() {
    let intent = intent();
    let plan = plan_questions(&intent, 1).unwrap();
    let asked = question(&intent, &plan, &plan.chunks[0]);
    let Some(Value::Array(constraints)) = asked.get("constraints") else {
        panic!("{asked:?}");
    };
    let third = Value::object([
        ("n", Value::from(3_u64)),
        ("text", "Reports are sent daily".into()),
    ]);
    assert_eq!((constraints.len(), &constraints[2]), (5, &third));
    assert_eq!(
        asked.get("decided"),
        Some(&Value::array(["Decided: “Reports”: by mail"]))
    );
}

#[test]
fn words_are_read_bare_fenced_and_after_thoughts() {
    for words in [
        GOOD.to_owned(),
        format!("```json\n{GOOD}\n```"),
        format!("Here is what I found:\n{GOOD}\nTell me if you need more."),
        format!("<think>{{perhaps}} 1 and 2?</think>\n{GOOD}"),
    ] {
        let heard = hear(&words).unwrap();
        assert_eq!(
            (heard.counted.len(), heard.left_out.len()),
            (1, 0),
            "{words}"
        );
    }
    assert!(
        hear("I found nothing.")
            .unwrap_err()
            .starts_with("it is not JSON")
    );
    assert!(hear(&GOOD[..80]).unwrap_err().starts_with("it is not JSON"));
    assert!(hear(r#"{"answer":[]}"#).unwrap_err().contains("findings"));
    assert_eq!(hear(r#"{"findings":[]}"#).unwrap().counted, []);
}

#[test]
fn words_that_do_not_stand_in_the_intent_cost_only_their_own_finding() {
    let words = r#"{"findings":[
        {"kind":"contradiction","pair":[1,2],"quotes":["kept for a Year","thirty days"],"message":"m"},
        {"kind":"contradiction","pair":[1],"quotes":["kept for a year"],"message":"m"},
        {"kind":"bug","quotes":["Rates"],"message":"m"},
        {"kind":"contradiction","pair":[4,4],"quotes":["one hour","one hour"],"message":"m"},
        {"kind":"contradiction","pair":[1,2],"quotes":["a year","thirty days"],"message":"m"}]}"#;
    let heard = hear(words).unwrap();
    assert_eq!((heard.counted.len(), heard.invented), (1, 1), "{heard:?}");
    for (told, part) in
        heard
            .left_out
            .iter()
            .zip(["“kept for a Year”", "two texts", "`bug`", "twice"])
    {
        assert!(told.contains(part), "{told}");
    }
    assert_eq!(heard.left_out.len(), 4);
    let many = r#"{"kind":"choice","quotes":["Rates"],"message":"m"},"#.repeat(201);
    let heard = hear(&format!("[{}]", many.trim_end_matches(','))).unwrap();
    assert_eq!((heard.counted.len(), heard.left_out.len()), (200, 1));
}

#[test]
fn quote_in_several_texts_is_pinned_to_the_numbered_one() {
    let words =
        r#"[{"kind":"contradiction","pair":[3,1],"quotes":["daily","daily"],"message":"m"}]"#;
    let heard = hear(words).unwrap();
    assert_eq!(
        heard.counted[0].quotes,
        [
            "Reports are sent daily",
            "Backups are made daily and kept for a year"
        ]
    );
}

#[test]
fn merge_leaves_out_what_was_said_twice_and_what_a_rule_finds() {
    let assessed = |quotes: [&str; 2]| Assessed {
        kind: Kind::Contradiction,
        quotes: quotes.map(str::to_owned).to_vec(),
        message: "m".to_owned(),
        options: Vec::new(),
    };
    let found = vec![
        assessed(["kept for a year", "Nothing is kept longer"]),
        assessed(["Nothing is kept longer than thirty days", "kept for a year"]),
        assessed(["never cached", "cached for one hour"]),
        assessed(["Reports", "Backups"]),
    ];
    let (new, repeated) = merge_findings(&intent(), found.clone());
    assert_eq!(
        (new.as_slice(), repeated),
        ([found[0].clone(), found[3].clone()].as_slice(), 2)
    );
}
