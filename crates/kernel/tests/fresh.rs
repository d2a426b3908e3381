//! How the rules do on lists and faults that they were not tuned to: a table, and what it may not fall below.
//!
//! `FRESH_VERBOSE=1 cargo test -p runseal-kernel --test main fresh:: -- --nocapture` prints what is missed and what is
//! asked wrongly as well.

use std::collections::BTreeMap;

use runseal_core::canon::Node;
use runseal_testkit::{conformance, for_each_line, text};

use crate::support::{bundle_of, strings};

/// What is quoted, reduced to words.
fn norm(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.join(" ")
}

/// The beginning of each sentence.
fn parts(text: &str) -> Vec<String> {
    let clip = |text: &str| norm(text).chars().take(90).collect::<String>();
    let mut found = Vec::new();
    let mut from = 0;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        if ".;!?".contains(c) && text[end..].starts_with(char::is_whitespace) {
            found.push(clip(&text[from..end]));
            from = end;
        }
    }
    found.push(clip(&text[from..]));
    found.retain(|part| part.len() > 5);
    if found.is_empty() {
        found.push(clip(text));
    }
    found
}

fn names(question: &str, text: &str) -> bool {
    parts(text)
        .iter()
        .any(|part| !part.is_empty() && question.contains(part))
}

fn is_pair(question: &str, constraints: &[String]) -> bool {
    constraints
        .iter()
        .filter(|it| names(question, it))
        .take(2)
        .count()
        == 2
}

fn ask(goal: &str, constraints: &[String]) -> Vec<String> {
    let bundle = bundle_of(goal, constraints);
    bundle.questions.iter().map(|it| norm(&it.text)).collect()
}

fn number(node: Option<Node<'_>>) -> Option<usize> {
    let number = node?.as_number()?.to_exact_i64()?;
    usize::try_from(number).ok()
}

struct Host {
    goal: String,
    constraints: Vec<String>,
    faults: Vec<Vec<String>>,
}

#[derive(Default)]
struct Table(BTreeMap<String, (usize, usize)>);

impl Table {
    fn count(&mut self, key: impl Into<String>, is_found: bool) {
        let slot = self.0.entry(key.into()).or_default();
        slot.0 += usize::from(is_found);
        slot.1 += 1;
    }

    fn share(&self, key: &str) -> f64 {
        let (found, all) = self.0.get(key).copied().unwrap_or((0, 1));
        found as f64 / all as f64
    }
}

#[test]
fn fresh_faults_are_asked_about_and_little_else_is() {
    let Some(folder) = conformance() else { return };
    let folder = folder.join("kernel/fresh");
    let verbose = std::env::var_os("FRESH_VERBOSE").is_some();
    let mut hosts: BTreeMap<String, Host> = BTreeMap::new();
    for_each_line(&folder.join("lists.jsonl"), |line| {
        let intent = line.get("intent").unwrap();
        let faults = line
            .get("faults")
            .map(|list| list.items().map(|it| strings(it.get("quotes"))).collect());
        let host = Host {
            goal: text(intent, "goal").unwrap(),
            constraints: strings(intent.get("constraints")),
            faults: faults.unwrap_or_default(),
        };
        hosts.insert(text(line, "id").unwrap(), host);
    });
    let mut table = Table::default();
    for_each_line(&folder.join("plants.jsonl"), |line| {
        let read = |name: &str| text(line, name).unwrap_or_default();
        let (kind, insert, quote) = (read("kind"), read("insert"), norm(&read("quote")));
        let host = &hosts[&read("host")];
        let mut constraints = host.constraints.clone();
        constraints.insert(number(line.get("at")).unwrap(), insert.clone());
        let questions = ask(&host.goal, &constraints);
        let found = match kind.as_str() {
            "C" => {
                let several = line.get("partners").map(|list| {
                    let numbers = list.items().filter_map(|it| number(Some(it)));
                    numbers.collect::<Vec<usize>>()
                });
                let partners =
                    several.unwrap_or_else(|| number(line.get("partner")).into_iter().collect());
                questions.iter().any(|question| {
                    names(question, &insert)
                        && partners
                            .iter()
                            .any(|at| names(question, &host.constraints[*at]))
                })
            }
            "P" | "H" => questions.iter().any(|question| {
                let quoted = quote.len() > 5 && question.contains(&quote);
                (names(question, &insert) || quoted) && !is_pair(question, &constraints)
            }),
            _ => questions.iter().any(|question| names(question, &insert)),
        };
        table.count(kind.as_str(), found);
        if kind == "C" {
            let is_drift = read("style") == "x";
            table.count(if is_drift { "C drift" } else { "C other words" }, found);
            if ["num", "time", "unit"].contains(&read("type").as_str()) {
                table.count("C quantities", found);
            }
        }
        if verbose && found != (read("expect") == "ask") {
            let what = if found { "alarm " } else { "missed" };
            println!(
                "{what} {} {} {} | {insert}",
                read("id"),
                read("type"),
                read("style")
            );
            if kind == "C" || found {
                if let Some(at) = number(line.get("partner")) {
                    println!("            = {}", host.constraints[at]);
                }
                for question in questions.iter().filter(|it| found && names(it, &insert)) {
                    println!("            ? {question}");
                }
            }
        }
    });
    for (id, host) in &hosts {
        let questions = ask(&host.goal, &host.constraints);
        let known = |question: &String| {
            let quoted = |quote: &String| {
                let words: String = norm(quote).chars().take(60).collect();
                question.contains(&words)
            };
            host.faults.iter().any(|quotes| quotes.iter().all(quoted))
        };
        let wrong: Vec<&String> = questions.iter().filter(|it| !known(it)).collect();
        table.count("clean lists wrongly asked", !wrong.is_empty());
        let pair = wrong.iter().any(|it| is_pair(it, &host.constraints));
        table.count("clean lists wrongly asked about a contradiction", pair);
        if verbose {
            for question in wrong {
                println!("wrong  {id} | {question}");
            }
        }
    }
    for (key, (found, all)) in &table.0 {
        println!(
            "{key:50} {found:3} of {all:3}, {:.2}",
            *found as f64 / *all as f64
        );
    }
    for (key, least) in [
        ("C drift", 0.65),
        ("C quantities", 0.40),
        ("P", 0.70),
        ("H", 0.70),
    ] {
        assert!(table.share(key) >= least, "{key}: less than {least}");
    }
    for (key, most) in [
        ("N", 0.06),
        ("NP", 0.06),
        ("NH", 0.10),
        ("clean lists wrongly asked about a contradiction", 0.04),
        ("clean lists wrongly asked", 0.10),
    ] {
        assert!(table.share(key) <= most, "{key}: more than {most}");
    }
}
