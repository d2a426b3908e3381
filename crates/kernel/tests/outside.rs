//! How the rules do on text written by others: a table of what is asked, found and missed.
//!
//! `OUTSIDE_VERBOSE=1 cargo test -p runseal-kernel --test main outside:: -- --nocapture` prints every question as well.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{bundle_of, labelled, letter, outside_lists, plants};
use runseal_kernel::ResultKind;

fn is_verbose() -> bool {
    std::env::var_os("OUTSIDE_VERBOSE").is_some()
}

#[test]
fn questions_on_outside_lists_are_few() {
    let Some(lists) = outside_lists() else { return };
    let mut asked: BTreeMap<char, usize> = BTreeMap::new();
    let mut lists_with: BTreeMap<char, usize> = BTreeMap::new();
    let mut any = 0;
    for list in &lists {
        let bundle = bundle_of(&list.goal, &list.constraints);
        let mut kinds = BTreeSet::new();
        for question in &bundle.questions {
            let kind = letter(question);
            *asked.entry(kind).or_default() += 1;
            kinds.insert(kind);
            if is_verbose() {
                let rule = question
                    .finding
                    .as_ref()
                    .map_or("", |finding| finding.rule.id.as_str());
                println!("{} {rule} {}", list.id, question.text);
            }
        }
        any += usize::from(!kinds.is_empty());
        for kind in kinds {
            *lists_with.entry(kind).or_default() += 1;
        }
    }
    let percent = |count: usize| 100.0 * count as f64 / lists.len() as f64;
    for kind in ['C', 'P', 'G', 'H'] {
        let (questions, with) = (
            asked.get(&kind).copied().unwrap_or(0),
            lists_with.get(&kind).copied().unwrap_or(0),
        );
        println!(
            "outside lists  {kind} {questions:3} questions in {with:3} of {} lists, {:.1} %",
            lists.len(),
            percent(with)
        );
    }
    println!(
        "outside lists  any kind in {any:3} of {} lists, {:.1} %",
        lists.len(),
        percent(any)
    );
    let contradictions = lists_with.get(&'C').copied().unwrap_or(0);
    assert!(
        contradictions * 100 <= lists.len() * 4,
        "contradictions are asked about in more than 4 % of the lists"
    );
    assert!(
        any * 100 <= lists.len() * 10,
        "something is asked in more than 10 % of the lists"
    );
}

#[test]
fn planted_faults_are_found_and_quoted() {
    let (Some(lists), Some(plants)) = (outside_lists(), plants()) else {
        return;
    };
    let mut table: BTreeMap<char, (usize, usize)> = BTreeMap::new();
    for plant in &plants {
        let host = lists.iter().find(|list| list.id == plant.host).unwrap();
        let mut constraints = host.constraints.clone();
        constraints.insert(plant.at.min(constraints.len()), plant.insert.clone());
        let bundle = bundle_of(&host.goal, &constraints);
        let found = bundle
            .questions
            .iter()
            .any(|question| letter(question) == plant.kind && question.text.contains(&plant.quote));
        let slot = table.entry(plant.kind).or_default();
        slot.0 += usize::from(found);
        slot.1 += 1;
        if is_verbose() && !found {
            println!("missed {} {}", plant.id, plant.insert);
        }
    }
    for (kind, (found, all)) in &table {
        println!(
            "planted faults {kind} {found:3} of {all:3} found and quoted, {:.2}",
            *found as f64 / *all as f64
        );
    }
    for (kind, least) in [('C', 25), ('P', 85), ('H', 70)] {
        let (found, all) = table[&kind];
        assert!(
            found * 100 >= all * least,
            "fewer than {least} % of the planted {kind} are found"
        );
    }
}

#[test]
fn labelled_intents_are_distinguished() {
    let Some(cases) = labelled() else { return };
    let mut table: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for case in &cases {
        let bundle = bundle_of(&case.goal, &case.constraints);
        let expect = case.expect.as_deref().unwrap();
        let right = bundle.kind().name() == expect;
        let slot = table
            .entry(if expect == ResultKind::Clarify.name() {
                "CLARIFY"
            } else {
                "BUNDLE"
            })
            .or_default();
        slot.0 += usize::from(right);
        slot.1 += 1;
        if is_verbose() && !right {
            println!("wrong {} expected {expect}", case.id);
            for question in &bundle.questions {
                println!("    {}", question.text);
            }
        }
    }
    let share = |name: &str| table[name].0 as f64 / table[name].1 as f64;
    let balanced = (share("CLARIFY") + share("BUNDLE")) / 2.0;
    println!(
        "labelled       CLARIFY {:?}, BUNDLE {:?}, balanced {balanced:.2}",
        table["CLARIFY"], table["BUNDLE"]
    );
    assert!(balanced >= 0.82, "balanced {balanced:.2}");
}
