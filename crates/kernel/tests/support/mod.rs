//! What several tests share: requirement lists written by others, and labelled intents.

use runseal_core::canon::{Node, Value};
use runseal_kernel::question::Question;
use runseal_kernel::{Bundle, Intent, transform};
use runseal_testkit::{conformance, for_each_line, text};

/// A requirement list, or a labelled intent.
#[derive(Clone, Debug)]
pub struct List {
    pub id: String,
    pub goal: String,
    pub constraints: Vec<String>,
    /// `CLARIFY` or `BUNDLE`, if it is labelled.
    pub expect: Option<String>,
}

/// A fault to put into a list.
#[derive(Debug)]
pub struct Plant {
    pub id: String,
    pub host: String,
    pub kind: char,
    pub insert: String,
    pub at: usize,
    pub quote: String,
}

pub fn strings(list: Option<Node<'_>>) -> Vec<String> {
    list.map(|list| {
        list.items()
            .map(|item| item.as_str().unwrap().into_owned())
            .collect()
    })
    .unwrap_or_default()
}

fn read_lists(name: &str) -> Option<Vec<List>> {
    let mut lists = Vec::new();
    for_each_line(&conformance()?.join(name), |line| {
        let intent = line.get("intent").unwrap();
        lists.push(List {
            id: text(line, "id").unwrap(),
            goal: text(intent, "goal").unwrap(),
            constraints: strings(intent.get("constraints")),
            expect: text(line, "expect"),
        });
    });
    Some(lists)
}

/// Requirement lists from public documents.
pub fn outside_lists() -> Option<Vec<List>> {
    read_lists("kernel/outside/lists.jsonl")
}

/// Intents that a careful reader labelled.
pub fn labelled() -> Option<Vec<List>> {
    read_lists("kernel/clarify.jsonl")
}

/// Faults to put into the lists.
pub fn plants() -> Option<Vec<Plant>> {
    let mut plants = Vec::new();
    for_each_line(
        &conformance()?.join("kernel/outside/plants.jsonl"),
        |line| {
            let at = line
                .get("at")
                .and_then(|node| node.as_number())
                .and_then(|n| n.to_exact_i64())
                .unwrap();
            plants.push(Plant {
                id: text(line, "id").unwrap(),
                host: text(line, "host").unwrap(),
                kind: text(line, "kind").unwrap().chars().next().unwrap(),
                insert: text(line, "insert").unwrap(),
                at: at as usize,
                quote: text(line, "quote").unwrap(),
            });
        },
    );
    Some(plants)
}

/// An intent without a context.
pub fn intent(goal: &str, constraints: &[String]) -> Intent {
    Intent::new(goal, constraints, Value::object::<Value>([])).unwrap()
}

pub fn bundle_of(goal: &str, constraints: &[String]) -> Bundle {
    transform(&intent(goal, constraints)).unwrap()
}

/// The letter of a question's kind.
pub fn letter(question: &Question) -> char {
    question
        .finding
        .as_ref()
        .map_or('-', |finding| finding.kind().letter())
}
