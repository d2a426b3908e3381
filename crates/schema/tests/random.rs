//! Arbitrary documents as schemas, and random schemas within small budgets: nothing panics, no budget is
//! exceeded unnoticed, and the answer is the same every time.

use crate::support::Dice;
use runseal_core::canon::{ReadOptions, parse_document};
use runseal_schema::{Limits, Schema};

const DRAFTS: [&str; 5] = [
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
];

#[test]
fn random_schemas_never_panic_and_always_answer_the_same() {
    let mut stopped = 0;
    for seed in 0..4_000 {
        let mut dice = Dice::new(seed + 1_000_000);
        let address = DRAFTS[dice.below(DRAFTS.len())];
        let schema = match dice.below(10) {
            0 => crate::support::document(&mut dice, 4),
            _ => crate::support::schema_of(&mut dice, address),
        };
        let mut text = schema.to_string();
        if dice.below(4) == 0 {
            // A keyword in another place, or a pattern cut short.
            let others = [
                "type", "$ref", "items", "not", "$id", "$anchor", "#", "^", "(",
            ];
            let from = others[dice.below(others.len())];
            text = text.replacen(from, others[dice.below(others.len())], 1);
        }
        let Ok(parsed) = parse_document(text.as_bytes(), &ReadOptions::TEXT) else {
            continue;
        };
        let limits = Limits {
            steps: [20, 200, 2_000, 2_000_000][dice.below(4)],
            ..Limits::default()
        };
        let compile = || Schema::compile(parsed.root(), &limits);
        let (first, second) = (compile(), compile());
        let (first, second) = match (first, second) {
            (Ok(first), Ok(second)) => (first, second),
            (Err(first), Err(second)) => {
                assert_eq!(first, second, "{text}");
                continue;
            }
            _ => panic!("a schema only once: {text}"),
        };
        for _ in 0..4 {
            let document = crate::support::document(&mut dice, 4).to_string();
            let document = parse_document(document.as_bytes(), &ReadOptions::TEXT).unwrap();
            let outcome = first.check(document.root());
            assert_eq!(outcome, second.check(document.root()), "{text}");
            stopped += usize::from(outcome.exhausted.is_some());
            assert!(outcome.violations.len() as u64 <= limits.steps / 16);
        }
    }
    assert!(stopped > 100, "only {stopped} were stopped by a budget");
}
