//! Every rule against its examples, and the data files against their format.

use runseal_core::canon::Value;
use runseal_kernel::measure::measure;
use runseal_kernel::rules::{Kind, Matcher, Rule, rule_set};
use runseal_kernel::{Intent, kernel_version};

/// Returns the ids of the rules that flag an example; ` || ` separates goal and constraints.
fn flagging(rule: &Rule, example: &str, is_flag: bool) -> Vec<String> {
    let mut parts = example.split(" || ").map(str::to_owned);
    let goal = parts.next().unwrap();
    let constraints: Vec<String> = parts.collect();
    let mut context = Value::object([(
        "profile",
        if rule.kind == Kind::Gap {
            "default"
        } else {
            "none"
        },
    )]);
    if rule.matcher == Matcher::Given {
        // What an assessor quotes: verbatim, or made up.
        let quotes: Vec<String> = if is_flag {
            constraints.clone()
        } else {
            vec!["not there".into(), "nor this".into()]
        };
        let finding = Value::object([
            ("kind", Value::from(rule.kind.name())),
            ("message", Value::from("Which one?")),
            ("quotes", Value::array(quotes.iter().map(String::as_str))),
        ]);
        context.insert("findings", Value::array([finding]));
    }
    let intent = Intent::new(&goal, &constraints, context).unwrap();
    let measured = measure(intent.goal(), intent.constraints(), intent.declared());
    measured
        .open
        .iter()
        .chain(&measured.notes)
        .map(|finding| finding.rule.id.clone())
        .collect()
}

#[test]
fn rules_flag_only_the_examples_they_must() {
    let mut faults = Vec::new();
    for rule in &rule_set().rules {
        for sample in &rule.samples {
            // Another rule that finds the same words may come first.
            if flagging(rule, &format!("Build it || {sample}"), true).is_empty() {
                faults.push(format!("{}: nothing flags: {sample}", rule.id));
            }
        }
        for example in &rule.flags {
            if !flagging(rule, example, true).contains(&rule.id) {
                faults.push(format!("{} does not flag: {example}", rule.id));
            }
        }
        for example in &rule.passes {
            if flagging(rule, example, false).contains(&rule.id) {
                faults.push(format!("{} flags: {example}", rule.id));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn rules_are_complete_and_have_unique_ids() {
    let set = rule_set();
    assert!(set.rules.len() >= 15, "{}", set.rules.len());
    assert!(set.rules.windows(2).all(|pair| pair[0].id < pair[1].id));
    for rule in &set.rules {
        let letter = &rule.id[1..2];
        let expected = match rule.kind {
            _ if rule.matcher == Matcher::Given => "A",
            Kind::Contradiction => "C",
            Kind::Placeholder => "P",
            Kind::Gap => "G",
            Kind::Choice => "H",
        };
        assert!(
            rule.id.starts_with('K') && letter == expected && rule.id.len() == 4,
            "{}",
            rule.id
        );
        for text in [
            &rule.title,
            &rule.message,
            &rule.reason,
            &rule.advice,
            &rule.explanation,
        ] {
            assert!(!text.trim().is_empty(), "{}", rule.id);
        }
        assert!(rule.explanation.ends_with('.'), "{}", rule.id);
    }
}

#[test]
fn kernel_version_has_the_digest_of_the_rules() {
    let (version, build) = kernel_version().split_once('+').unwrap();
    assert!(version.split('.').count() == 3);
    assert_eq!(build, rule_set().digest.hex_prefix(8));
    assert!(build.len() == 8);
}
