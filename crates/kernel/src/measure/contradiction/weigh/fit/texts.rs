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
        let pairs = labels::pairs(&name).into_iter();
        texts
            .extend(pairs.map(|pair| lone_pair(&name, [pair.first, pair.second], pair.contradict)));
    }
    texts.extend(
        ["sides_people.txt", "sides_things.txt"]
            .map(read_sides)
            .into_iter()
            .flatten(),
    );
    texts
}

/// A pair that stands alone: all of it is what contradicts.
fn lone_pair(name: &str, pair: [String; 2], contradict: bool) -> Text {
    let whole = [(0, String::new()), (1, String::new())];
    Text {
        held: HELD.contains(&name),
        alone: true,
        name: name.to_owned(),
        said: Vec::from_iter(contradict.then_some(whole)),
        constraints: pair.to_vec(),
    }
}

/// Matters with many wordings of both sides: a share of their pairs, so that saying the same twice is seen as well.
fn read_sides(name: &str) -> Vec<Text> {
    let mut texts = Vec::new();
    let mut add = |x: &String, y: &String, contradict: bool| {
        texts.push(lone_pair(name, [x.clone(), y.clone()], contradict));
    };
    for matter in labels::matters(name) {
        let [a, b] = &matter.sides;
        for (n, x) in a.iter().enumerate() {
            let others = b.iter().skip(n % SIDES_STEP).step_by(SIDES_STEP);
            others.for_each(|y| add(x, y, true));
        }
        for side in [a, b] {
            for (n, x) in side.iter().enumerate() {
                let same = side[n + 1..].iter().step_by(SIDES_STEP);
                let neutral = matter.neutral.iter().skip(n % SIDES_STEP);
                let neutral = neutral.step_by(SIDES_STEP);
                same.chain(neutral).for_each(|y| add(x, y, false));
            }
        }
    }
    texts
}
