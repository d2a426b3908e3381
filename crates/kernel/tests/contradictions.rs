//! Pairs of constraints that can or cannot both hold: contradictions alone, without gaps and choices.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "test code"
)]

mod labels;

use labels::{Matter, Pair};
use runseal_core::canon::Value;
use runseal_kernel::measure::FindingKind;
use runseal_kernel::{Intent, transform};

/// Whether the kernel asks about a contradiction between the two.
fn contradict(a: &str, b: &str) -> Option<String> {
    let constraints = [a.to_owned(), b.to_owned()];
    let context = Value::object::<Value>([]);
    let intent = Intent::new("Build it", &constraints, context).unwrap();
    let bundle = transform(&intent).unwrap();
    let mut found = bundle.questions.iter().filter(|q| {
        q.finding
            .as_ref()
            .is_some_and(|f| f.kind == FindingKind::Contradiction)
    });
    found.next().map(|q| q.text.clone())
}

/// Right and all, of pairs that contradict and of pairs that do not.
fn count(name: &str) -> [(usize, usize); 2] {
    let verbose = std::env::var_os("LABELS_VERBOSE").is_some();
    let mut table = [(0, 0); 2];
    for Pair {
        contradict: expected,
        first: a,
        second: b,
    } in labels::pairs(name)
    {
        let asked = contradict(&a, &b);
        let slot = &mut table[usize::from(!expected)];
        slot.1 += 1;
        slot.0 += usize::from(asked.is_some() == expected);
        if verbose && asked.is_some() != expected {
            let mark = if expected { '+' } else { '-' };
            println!("{name} {mark} {a} | {b}\n    {}", asked.unwrap_or_default());
        }
    }
    println!(
        "{name:12} contradictions {}/{}  compatible {}/{}",
        table[0].0, table[0].1, table[1].0, table[1].1
    );
    table
}

#[test]
fn contradictions_pairs_of_set_a_meet_the_thresholds() {
    count("pairs_b.txt");
    assert_shares(count("pairs_a.txt"), 50, 80);
}

/// Plain pairs that nothing was developed on or fitted to, and beside them those that the points were fitted to.
#[test]
fn contradictions_plain_pairs_meet_the_thresholds() {
    for (name, found, left) in [("a", 65, 80), ("b", 75, 78), ("c", 65, 80)] {
        assert_shares(count(&format!("pairs_held_{name}.txt")), found, left);
    }
    for name in 'a'..='l' {
        assert_shares(count(&format!("pairs_plain_{name}.txt")), 65, 70);
    }
}

/// Counts pairs from elsewhere (`PAIRS_EXTRA=FILE`), as many files as are named.
#[test]
fn contradictions_pairs_from_elsewhere_are_counted() {
    let Ok(files) = std::env::var("PAIRS_EXTRA") else {
        println!("skipped: PAIRS_EXTRA names no file");
        return;
    };
    for file in files.split(',') {
        let table = count(file);
        assert!(table[0].1 + table[1].1 > 0, "{file} holds no pairs");
    }
}

/// At least these percents are found, and left alone.
fn assert_shares([found, left]: [(usize, usize); 2], found_percent: usize, left_percent: usize) {
    println!("{}/{} {}/{}", found.0, found.1, left.0, left.1);
    assert!(found.0 * 100 >= found.1 * found_percent, "too few found");
    assert!(left.0 * 100 >= left.1 * left_percent, "too many false ones");
}

/// Matters whose two sides are worded in many ways: found of all pairs across, and left alone of all neutral pairs.
fn count_sides(name: &str) -> [(usize, usize); 2] {
    let verbose = std::env::var_os("LABELS_VERBOSE").is_some();
    let mut total = [(0, 0); 2];
    for matter in labels::matters(name) {
        let Matter {
            title,
            sides: [a, b],
            neutral,
        } = &matter;
        let mut table = [(0, 0); 2];
        for x in a {
            let missed: Vec<&String> = b.iter().filter(|y| contradict(x, y).is_none()).collect();
            table[0].1 += b.len();
            table[0].0 += b.len() - missed.len();
            if verbose && !missed.is_empty() {
                println!("{title} + {x}");
                missed.iter().for_each(|y| println!("        {y}"));
            }
        }
        for x in a.iter().chain(b) {
            for y in neutral {
                let asked = contradict(x, y);
                table[1].1 += 1;
                table[1].0 += usize::from(asked.is_none());
                if verbose && asked.is_some() {
                    println!("{title} - {}", asked.unwrap_or_default());
                }
            }
        }
        for side in [a, b] {
            for (n, x) in side.iter().enumerate() {
                for y in &side[n + 1..] {
                    let asked = contradict(x, y);
                    table[1].1 += 1;
                    table[1].0 += usize::from(asked.is_none());
                    if verbose && asked.is_some() {
                        println!("{title} = {}", asked.unwrap_or_default());
                    }
                }
            }
        }
        println!(
            "{name:16} {title:12} contradictions {}/{}  compatible {}/{}",
            table[0].0, table[0].1, table[1].0, table[1].1
        );
        for k in 0..2 {
            total[k].0 += table[k].0;
            total[k].1 += table[k].1;
        }
    }
    total
}

#[test]
fn contradictions_sides_of_people_meet_the_thresholds() {
    assert_shares(count("pairs_people.txt"), 70, 70);
    assert_shares(count("pairs_people_dev.txt"), 90, 65);
    assert_shares(count("pairs_people_dev2.txt"), 90, 90);
    assert_shares(count_sides("sides_people.txt"), 95, 75);
}

#[test]
fn contradictions_pairs_of_time_and_number_meet_the_thresholds() {
    assert_shares(count("pairs_time_dev.txt"), 90, 85);
    assert_shares(count("pairs_time.txt"), 80, 72);
}

#[test]
fn contradictions_of_things_meet_the_thresholds() {
    assert_shares(count("pairs_things_dev.txt"), 85, 80);
    assert_shares(count("pairs_things.txt"), 80, 65);
    assert_shares(count_sides("sides_things.txt"), 88, 85);
}
