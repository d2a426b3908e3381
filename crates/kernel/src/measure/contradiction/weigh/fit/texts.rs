//! The labelled intents and pairs that the points are fitted to, and those that are left out.

use runseal_testkit::project_root;

#[path = "../../../../../tests/labels/mod.rs"]
mod labels;

/// Sets that nothing is fitted to.
const HELD: [&str; 8] = [
    "y",
    "l",
    "u",
    "w",
    "pairs_people.txt",
    "pairs_held_a.txt",
    "pairs_held_b.txt",
    "pairs_held_c.txt",
];

/// Of the pairs of `sides_….txt` every so many is taken: they are many, and of few matters.
const SIDES_STEP: usize = 16;

/// Constraints, and where contradictions are said to be: two constraints with the words of each.
pub(super) struct Text {
    pub held: bool,
    /// A pair by itself, no intent.
    pub alone: bool,
    pub name: String,
    pub constraints: Vec<String>,
    pub said: Vec<[(usize, String); 2]>,
}

pub(super) fn read_texts() -> Vec<Text> {
    let mut texts = Vec::new();
    let mut sets = labels::vector_sets();
    sets.extend(labels::OWN_SETS.map(|name| (name.to_owned(), labels::own_set(name))));
    for (name, cases) in sets {
        for case in cases {
            let said = case
                .labels
                .iter()
                .filter(|l| l.kind == 'C')
                .filter_map(|l| {
                    let quote = |n: usize| l.quotes.get(n).cloned().unwrap_or_default();
                    match l.wheres[..] {
                        [Some(a), Some(b)] => Some([(a, quote(0)), (b, quote(1))]),
                        _ => None,
                    }
                });
            texts.push(Text {
                held: HELD.contains(&name.as_str()),
                alone: false,
                name: name.clone(),
                said: said.collect(),
                constraints: case.constraints,
            });
        }
    }
    let folder = project_root().join("crates/kernel/tests/data");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    files.sort();
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.starts_with("pairs_") {
            continue;
        }
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let Some((a, b)) = line.get(2..).and_then(|l| l.split_once(" | ")) else {
                continue;
            };
            let pair = [(0, String::new()), (1, String::new())];
            texts.push(Text {
                held: HELD.contains(&name.as_str()),
                alone: true,
                name: name.clone(),
                said: Vec::from_iter(line.starts_with("+ ").then_some(pair)),
                constraints: vec![a.to_owned(), b.to_owned()],
            });
        }
    }
    texts.extend(
        ["sides_people.txt", "sides_things.txt"]
            .map(read_sides)
            .into_iter()
            .flatten(),
    );
    texts
}

/// Matters with many wordings of both sides: a share of their pairs, so that saying the same twice is seen as well.
fn read_sides(name: &str) -> Vec<Text> {
    let path = project_root().join("crates/kernel/tests/data").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let mut texts = Vec::new();
    let mut add = |x: &str, y: &str, contradict: bool| {
        let pair = [(0, String::new()), (1, String::new())];
        texts.push(Text {
            held: false,
            alone: true,
            name: name.to_owned(),
            said: Vec::from_iter(contradict.then_some(pair)),
            constraints: vec![x.to_owned(), y.to_owned()],
        });
    };
    for matter in text.split("\n= ").skip(1) {
        let of = |mark: &str| -> Vec<&str> {
            matter
                .lines()
                .filter_map(|l| l.strip_prefix(mark))
                .collect()
        };
        let (a, b, neutral) = (of("a "), of("b "), of("n "));
        for (n, x) in a.iter().enumerate() {
            let others = b.iter().skip(n % SIDES_STEP).step_by(SIDES_STEP);
            others.for_each(|y| add(x, y, true));
        }
        for side in [&a, &b] {
            for (n, x) in side.iter().enumerate() {
                let same = side[n + 1..].iter().step_by(SIDES_STEP);
                let neutral = neutral.iter().skip(n % SIDES_STEP).step_by(SIDES_STEP);
                same.chain(neutral).for_each(|y| add(x, y, false));
            }
        }
    }
    texts
}
