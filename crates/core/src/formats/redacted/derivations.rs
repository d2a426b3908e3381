//! What our own programs write about a value elsewhere: the same value again, its digest, its size,
//! or something computed from it. Each format lists this in one table, which is all that
//! withholding consults.
//!
//! The aim: if two bundles differ only in a withheld value, their copies differ only in salted
//! commitments. So places are found by where they are, never by their content: which places are
//! withheld must not depend on the value either.
//!
//! A pattern is a file, or a file and a pointer (`run.json#/policy/name`). In both, `{x}` matches
//! any text and binds it; a row has one variable, and its places belong together if they bind the
//! same text. In a pointer, `*` is any one step and `**` any number of them; `step[member=text]` is
//! a step to an object with that member, `step[=text]` a step to that text. If a pattern binds the
//! variable twice, the two are joined as a path.

use std::collections::BTreeMap;

use super::documents::pointer_step;
use crate::canon::Value;

/// How one place follows from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// Both have the same value: if one of them is withheld, all are.
    Same,
    /// It repeats parts of the other, among other things: it is withheld if any part of the other
    /// is.
    Repeated,
    /// Its members are named after members of the other: if one of them is withheld whole, both are.
    Named,
    /// A digest of it, or of something that contains it.
    Digest,
    /// Its size, or a sum of sizes.
    Size,
    /// Computed from it in another way.
    Computed,
    /// A list that is sorted by it: its position between two others reveals its range.
    Sorted,
}

impl How {
    /// Every way.
    pub const ALL: [Self; 7] = [
        Self::Same,
        Self::Repeated,
        Self::Named,
        Self::Digest,
        Self::Size,
        Self::Computed,
        Self::Sorted,
    ];

    /// The reason that a copy states for a place that was withheld automatically.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Same | Self::Repeated => "the same as what is withheld",
            Self::Named => "names of what is withheld",
            Self::Digest => "a digest of what is withheld",
            Self::Size => "the size of what is withheld",
            Self::Computed => "computed from what is withheld",
            Self::Sorted => "sorted by what is withheld",
        }
    }
}

/// A row of a format's table.
#[derive(Debug)]
pub struct Derivation {
    /// The places from which something follows.
    pub of: &'static [&'static str],
    /// How it follows.
    pub how: How,
    /// The places that reveal it.
    pub told: &'static [&'static str],
}

/// A place of a bundle: a file, and a pointer into it; `None` for the whole file.
pub type OwnedPlace = (String, Option<String>);

/// A row applied to the places of one bundle.
#[derive(Debug)]
pub struct Derived {
    /// The row.
    pub row: &'static Derivation,
    /// The places from which something follows.
    pub of: Vec<OwnedPlace>,
    /// The places that reveal it.
    pub told: Vec<OwnedPlace>,
}

/// Applies the rows of a table to a bundle with these documents and files.
pub fn derive_places<'a>(
    rows: impl IntoIterator<Item = &'static Derivation>,
    documents: &BTreeMap<String, Value>,
    files: impl Iterator<Item = &'a str> + Clone,
) -> Vec<Derived> {
    let mut all = Vec::new();
    for row in rows {
        let mut groups: BTreeMap<String, [Vec<OwnedPlace>; 2]> = BTreeMap::new();
        let mut common = [Vec::new(), Vec::new()];
        for (side, patterns) in [row.of, row.told].into_iter().enumerate() {
            for pattern in patterns {
                find_places(
                    pattern,
                    documents,
                    files.clone(),
                    &mut |bound, place| match bound {
                        None => common[side].push(place),
                        Some(bound) => groups.entry(bound).or_default()[side].push(place),
                    },
                );
            }
        }
        if groups.is_empty() {
            groups.insert(String::new(), Default::default());
        }
        for [mut of, mut told] in groups.into_values() {
            of.extend_from_slice(&common[0]);
            told.extend_from_slice(&common[1]);
            let tells = match row.how {
                How::Same => of.len() + told.len() > 1,
                _ => !of.is_empty() && !told.is_empty(),
            };
            if tells {
                all.push(Derived { row, of, told });
            }
        }
    }
    all
}

/// Calls `see` with every place that matches the pattern, and the text that its variable binds.
fn find_places<'a>(
    pattern: &str,
    documents: &BTreeMap<String, Value>,
    files: impl Iterator<Item = &'a str>,
    see: &mut dyn FnMut(Option<String>, OwnedPlace),
) {
    let (file, pointer) = match pattern.split_once('#') {
        Some((file, pointer)) => (file, Some(pointer)),
        None => (pattern, None),
    };
    let steps: Vec<&str> =
        pointer.map_or(Vec::new(), |pointer| pointer.split('/').skip(1).collect());
    let mut look = |name: &str, bound: Option<String>| match pointer {
        None => see(bound, (name.to_owned(), None)),
        Some(_) => {
            if let Some(document) = documents.get(name) {
                let mut found = Vec::new();
                find_values(document, &steps, String::new(), bound, &mut found);
                for (bound, pointer) in found {
                    see(bound, (name.to_owned(), Some(pointer)));
                }
            }
        }
    };
    for name in files {
        if let Some(bound) = fit(file, name) {
            look(name, bound.map(str::to_owned));
        }
    }
}

fn find_values(
    value: &Value,
    steps: &[&str],
    pointer: String,
    bound: Option<String>,
    found: &mut Vec<(Option<String>, String)>,
) {
    let Some((step, rest)) = steps.split_first() else {
        found.push((bound, pointer));
        return;
    };
    if *step == "**" {
        find_values(value, rest, pointer.clone(), bound.clone(), found);
    }
    let mut enter = |name: &str, shown: String, below: &Value| {
        let pointer = format!("{pointer}{shown}");
        if *step == "**" {
            return find_values(below, steps, pointer, bound.clone(), found);
        }
        let (step, condition) = match step.split_once('[') {
            Some((step, condition)) => (step, condition.strip_suffix(']')),
            None => (*step, None),
        };
        let of_name = match step {
            "*" => None,
            step => match fit(step, name) {
                Some(of_name) => of_name,
                None => return,
            },
        };
        let of_value = match condition {
            None => None,
            Some(condition) => {
                let (member, text) = condition.split_once('=').unwrap_or((condition, ""));
                let stated = match member {
                    "" => Some(below),
                    member => below.get(member),
                };
                match stated
                    .and_then(Value::as_str)
                    .map(|stated| fit(text, stated))
                {
                    Some(Some(of_value)) => of_value,
                    _ => return,
                }
            }
        };
        let bound = [bound.as_deref(), of_name, of_value];
        find_values(below, rest, pointer, join(bound), found);
    };
    match value {
        Value::Object(members) => {
            for (name, below) in members {
                let name = name.to_lossy();
                enter(&name, pointer_step(&name), below);
            }
        }
        Value::Array(elements) => {
            for (at, below) in elements.iter().enumerate() {
                enter(&at.to_string(), format!("/{at}"), below);
            }
        }
        _ => {}
    }
}

/// Joins what several parts of a pattern bound, as a path.
fn join(parts: [Option<&str>; 3]) -> Option<String> {
    let bound: Vec<_> = parts.into_iter().flatten().collect();
    let filled: Vec<_> = bound
        .iter()
        .filter(|part| !part.is_empty())
        .copied()
        .collect();
    (!bound.is_empty()).then(|| filled.join("/"))
}

/// Matches `text` with a template of at most one variable; returns what the variable binds.
fn fit<'a>(template: &str, text: &'a str) -> Option<Option<&'a str>> {
    let Some((before, rest)) = template.split_once('{') else {
        return (template == text).then_some(None);
    };
    let after = rest.split_once('}').map_or("", |(_, after)| after);
    let bound = text.strip_prefix(before)?.strip_suffix(after)?;
    Some(Some(bound))
}

#[cfg(test)]
mod tests {
    use super::super::documents::FileKind;
    use super::*;

    static ROWS: [Derivation; 3] = [
        Derivation {
            of: &["a.json#/list/*[path={p}]/sha256"],
            how: How::Size,
            told: &[
                "b.json#/seen/*[path={p}]/names/*[name={p}]/bytes",
                "b.json#/total",
            ],
        },
        Derivation {
            of: &["a.json#/x/{n}"],
            how: How::Same,
            told: &["b.json#/vars/P_{n}"],
        },
        Derivation {
            of: &["engine/{p}"],
            how: How::Repeated,
            told: &["exact/engine/{p}.bytes", "b.json#/**/*[={p}]"],
        },
    ];

    #[test]
    fn places_binding_same_text_belong_together() {
        let read = |text: &str| FileKind::Json.read(text.as_bytes()).unwrap();
        let documents: BTreeMap<_, _> = [
            (
                "a.json".to_owned(),
                read(
                    r#"{"list":[{"path":"q","sha256":1},{"path":"d/f","sha256":2}],"x":{"one":1}}"#,
                ),
            ),
            (
                "b.json".to_owned(),
                read(
                    r#"{"seen":[{"path":"","names":[{"name":"q","bytes":1},{"name":"d"}]},
                        {"path":"d","names":[{"name":"f","bytes":2}]}],
                        "total":3,"vars":{"P_one":1,"P_two":2},"deep":[{"er":"s/c.json"}]}"#,
                ),
            ),
        ]
        .into();
        let files = [
            "a.json",
            "b.json",
            "engine/s/c.json",
            "exact/engine/s/c.json.bytes",
        ];
        let found = derive_places(&ROWS, &documents, files.into_iter());
        let shown: Vec<String> = found
            .iter()
            .map(|derived| {
                let show = |places: &[OwnedPlace]| {
                    let places = places.iter().map(|(file, pointer)| match pointer {
                        Some(pointer) => format!("{file}#{pointer}"),
                        None => file.clone(),
                    });
                    places.collect::<Vec<_>>().join(" ")
                };
                format!("{} -> {}", show(&derived.of), show(&derived.told))
            })
            .collect();
        assert_eq!(
            shown,
            [
                "a.json#/list/1/sha256 -> b.json#/seen/1/names/0/bytes b.json#/total",
                "a.json#/list/0/sha256 -> b.json#/seen/0/names/0/bytes b.json#/total",
                "a.json#/x/one -> b.json#/vars/P_one",
                "engine/s/c.json -> exact/engine/s/c.json.bytes b.json#/deep/0/er",
            ]
        );
    }
}
