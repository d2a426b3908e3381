//! The tables that name rules outside their own: no rule may be forgotten in them.

use std::collections::BTreeSet;

use runseal_core::formats::redacted::redactable::redactable_formats;
use runseal_core::formats::{Format, REGISTRY, all_rules};

/// The rules of a redactable format that are asked of every copy, whatever it withholds.
fn asked_of_every_copy(format: Format) -> &'static [&'static str] {
    match format {
        Format::RunBundle => &[
            "RB8", "RB9", "RB10", "RB13", "RB15", "RB16", "RB17", "RB18", "RB21",
        ],
        Format::JobBundle => &["JB1"],
        Format::Pack => &[
            "PK1", "PK2", "PK6", "PK7", "PK10", "PK11", "PK12", "RS1", "RS2",
        ],
        other => panic!("say which rules of {other} are asked of every copy"),
    }
}

#[test]
fn redaction_knows_of_every_rule_what_it_needs() {
    let known: BTreeSet<&str> = all_rules().iter().map(|rule| rule.id).collect();
    for redactable in redactable_formats() {
        let definition = REGISTRY
            .iter()
            .find(|definition| definition.format() == redactable.format);
        let of_format: BTreeSet<&str> = definition
            .unwrap()
            .rules()
            .iter()
            .map(|rule| rule.id)
            .collect();
        let needing: BTreeSet<&str> = redactable
            .needs
            .iter()
            .flat_map(|needs| needs.rules)
            .copied()
            .collect();
        let unknown: Vec<_> = needing.difference(&known).collect();
        assert!(unknown.is_empty(), "{}: {unknown:?}", redactable.format);
        let rest: Vec<_> = of_format.difference(&needing).copied().collect();
        let mut asked = asked_of_every_copy(redactable.format).to_vec();
        asked.sort_unstable();
        assert_eq!(rest, asked, "{}", redactable.format);
    }
}
