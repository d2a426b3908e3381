//! The law of JSON Schema: for any schema and document, the answer comes within the budget and is the
//! same every time.

use runseal_core::canon::{ReadOptions, parse_document};
use runseal_schema::{Limits, Schema};

/// Checks the law. The first line is a schema, the rest a document.
pub fn check_schema(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let (schema, document) = bytes.split_at(end.unwrap_or(bytes.len()));
    let Ok(schema) = parse_document(schema, &ReadOptions::TEXT) else {
        return;
    };
    let limits = Limits {
        steps: 100_000,
        ..Limits::default()
    };
    let compile = || Schema::compile(schema.root(), &limits);
    let (first, second) = match (compile(), compile()) {
        (Ok(first), Ok(second)) => (first, second),
        (first, second) => {
            assert_eq!(first.err(), second.err(), "the same schema, judged twice");
            return;
        }
    };
    if let Ok(document) = parse_document(document, &ReadOptions::TEXT) {
        let outcome = first.check(document.root());
        assert_eq!(outcome, second.check(document.root()));
        // Each violation takes 16 steps.
        assert!(outcome.violations.len() as u64 <= limits.steps / 16);
    }
}
