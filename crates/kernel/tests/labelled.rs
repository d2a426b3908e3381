//! Labelled intents: the confusion table per kind, over the conformance data and our own development set.

use runseal_core::canon::{ReadOptions, parse_document};
use runseal_kernel::measure::{FindingKind, Origin, measure};
use runseal_kernel::text::{normalize_constraint, normalize_goal};
use std::collections::BTreeMap;
use std::path::PathBuf;

struct Label {
    kind: char,
    wheres: Vec<Option<usize>>,
    quotes: Vec<String>,
}

struct Case {
    id: String,
    goal: String,
    constraints: Vec<String>,
    clarify: bool,
    labels: Vec<Label>,
}

fn own_set(name: &str) -> Vec<Case> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
        if let Some(head) = line.strip_prefix("= ") {
            let (id, expect) = head.split_once(' ').unwrap();
            cases.push(Case { id: id.into(), goal: String::new(), constraints: vec![], clarify: expect == "CLARIFY", labels: vec![] });
            continue;
        }
        let case = cases.last_mut().unwrap();
        if let Some(c) = line.strip_prefix("- ") {
            case.constraints.push(c.into());
        } else if let Some(l) = line.strip_prefix("! ") {
            let kind = l.chars().next().unwrap();
            let rest = l[1..].trim();
            let (wheres, quote) = rest.split_once('|').map_or((rest, ""), |(w, q)| (w.trim(), q.trim()));
            let mut label = Label { kind, wheres: vec![], quotes: vec![] };
            if kind == 'G' {
                label.quotes = wheres.split(',').map(Into::into).collect();
                label.wheres = vec![None];
            } else {
                label.wheres = wheres.split_whitespace().map(|w| w.parse().ok()).collect();
                if !quote.is_empty() {
                    label.quotes.push(quote.into());
                }
            }
            case.labels.push(label);
        } else {
            assert!(case.goal.is_empty(), "{line}");
            case.goal = line.into();
        }
    }
    cases
}

fn conformance_set() -> Option<Vec<Case>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance/kernel/clarify.jsonl");
    if !path.exists() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "../shared/conformance is missing in CI");
        println!("skipped: ../shared/conformance is not here");
        return None;
    }
    let text = std::fs::read_to_string(path).unwrap();
    let mut cases = Vec::new();
    for line in text.lines() {
        let doc = parse_document(line.as_bytes(), &ReadOptions::default()).unwrap();
        let root = doc.root();
        let str_of = |n: runseal_core::canon::Node<'_>| n.as_str().unwrap().into_owned();
        let intent = root.get("intent").unwrap();
        let mut case = Case {
            id: str_of(root.get("id").unwrap()),
            goal: str_of(intent.get("goal").unwrap()),
            constraints: intent.get("constraints").unwrap().items().map(str_of).collect(),
            clarify: root.get("expect").unwrap().as_str().unwrap() == "CLARIFY",
            labels: vec![],
        };
        for f in root.get("findings").unwrap().items() {
            let quote = f.get("quote").unwrap();
            let quotes = if quote.is_string() { vec![str_of(quote)] } else { quote.items().map(str_of).collect() };
            let wheres = f.get("where").unwrap().items().map(|w| w.as_number().and_then(|n| n.to_exact_i64()).map(|n| n as usize)).collect();
            case.labels.push(Label { kind: str_of(f.get("kind").unwrap()).chars().next().unwrap(), wheres, quotes });
        }
        cases.push(case);
    }
    Some(cases)
}

struct Totals {
    clarify: (usize, usize),
    bundle: (usize, usize),
    quoted: BTreeMap<char, (usize, usize)>,
}

fn run(name: &str, cases: &[Case]) -> Totals {
    let mut totals = Totals { clarify: (0, 0), bundle: (0, 0), quoted: BTreeMap::new() };
    let half = std::env::var("LABELS").ok();
    for (n, case) in cases.iter().enumerate() {
        match half.as_deref() {
            Some("even") if n % 2 == 1 => continue,
            Some("odd") if n % 2 == 0 => continue,
            Some("q1") if n % 4 != 1 => continue,
            Some("q3") if n % 4 != 3 => continue,
            _ => {}
        }
        let goal = normalize_goal(&case.goal);
        let constraints: Vec<String> = case.constraints.iter().map(|c| normalize_constraint(c)).collect();
        let m = measure(&goal, &constraints);
        let asks = !m.findings.is_empty();
        let slot = if case.clarify { &mut totals.clarify } else { &mut totals.bundle };
        slot.1 += 1;
        slot.0 += usize::from(asks == case.clarify);
        let mut missed = Vec::new();
        for label in &case.labels {
            let hit = m.findings.iter().any(|f| {
                let same = match (label.kind, f.kind) {
                    ('P', FindingKind::Placeholder) | ('C', FindingKind::Contradiction) | ('H', FindingKind::Choice) | ('G', FindingKind::Gap) => true,
                    _ => false,
                };
                if !same {
                    return false;
                }
                if label.kind == 'G' {
                    return f.element.is_some_and(|e| label.quotes.iter().any(|q| q == e.name()));
                }
                let mut places: Vec<Option<usize>> = f.places.iter().map(|p| match p.origin { Origin::Goal => None, Origin::Constraint(i) => Some(i) }).collect();
                let mut wheres = label.wheres.clone();
                places.sort();
                wheres.sort();
                if places != wheres {
                    return false;
                }
                let text: Vec<&str> = f.places.iter().chain(&f.sentence).map(|p| p.quote.as_str()).collect();
                label.quotes.iter().all(|q| text.iter().any(|t| t.contains(q.as_str()) || q.contains(t)))
            });
            let slot = totals.quoted.entry(label.kind).or_default();
            slot.1 += 1;
            slot.0 += usize::from(hit);
            if !hit {
                missed.push(format!("{} {:?} {:?}", label.kind, label.wheres, label.quotes));
            }
        }
        let wrong = asks != case.clarify;
        let verbose = std::env::var("VERBOSE").is_ok();
        let quiet = std::env::var("QUIET").is_ok();
        let extra: Vec<_> = m.findings.iter().filter(|f| !case.labels.iter().any(|l| match (l.kind, f.kind) { ('P', FindingKind::Placeholder) | ('C', FindingKind::Contradiction) | ('H', FindingKind::Choice) | ('G', FindingKind::Gap) => true, _ => false })).collect();
        if !quiet && (wrong || !missed.is_empty() || (verbose && !extra.is_empty())) {
            println!("{name} {} {}: missed {missed:?}", if wrong { "WRONG" } else { "part " }, case.id);
            for f in &m.findings {
                println!("      found {:?} {:?} {:?} {:?}", f.kind, f.topic, f.element.map(|e| e.name()), f.places.iter().map(|p| p.quote.as_str()).collect::<Vec<_>>());
            }
        }
    }
    println!("{name}: CLARIFY {}/{} BUNDLE {}/{} per kind {:?}", totals.clarify.0, totals.clarify.1, totals.bundle.0, totals.bundle.1, totals.quoted);
    totals
}

#[test]
fn labelled_own_set_meets_thresholds() {
    run("own-a", &own_set("labelled_a.txt"));
    run("own-b", &own_set("labelled_b.txt"));
}

#[test]
fn labelled_conformance_set_meets_thresholds() {
    let Some(cases) = conformance_set() else { return };
    run("conf", &cases);
}
