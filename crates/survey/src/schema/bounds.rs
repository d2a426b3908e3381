//! What a schema may ask for, checked before the validator sees it.
//!
//! A schema comes with the bundle that it judges, so it is as hostile as anything else in it. Its
//! values, its patterns and the places it is made of are counted; and references are followed, to
//! see how many subschemas come to apply to one value.

use std::collections::{BTreeMap, BTreeSet};

use runseal_core::canon::Node;
use runseal_core::limits::{
    SCHEMA_LARGEST_PATTERN, SCHEMA_MAX_EXPANSION, SCHEMA_MAX_IDS, SCHEMA_MAX_PATTERNS,
    SCHEMA_MAX_PLACES, SCHEMA_MAX_VALUES, SCHEMA_MAX_WAYS, SCHEMA_PATTERN_BYTES,
    SCHEMA_PATTERN_TEXT, SCHEMA_PATTERNS_TEXT,
};
use serde_json::Value;

/// Keywords whose subschemas apply to the same value as the schema that holds them.
const IN_PLACE: [&str; 9] = [
    "allOf",
    "anyOf",
    "dependencies",
    "dependentSchemas",
    "else",
    "if",
    "not",
    "oneOf",
    "then",
];

/// Keywords that refer to a schema elsewhere, which applies to the same value too.
const REFERENCES: [&str; 3] = ["$dynamicRef", "$recursiveRef", "$ref"];

/// What was found out about a schema that is within the bounds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    /// Subschemas that apply to one value at the most.
    pub expansion: usize,
    /// Bytes that each regular expression may take when it is compiled.
    pub pattern_bytes: usize,
    /// Whether a regular expression may need backtracking.
    pub backtracks: bool,
}

/// Whether a schema has no more values than a schema may have.
pub(super) fn check_size(schema: Node<'_>) -> Result<(), String> {
    fn count(node: Node<'_>, left: &mut usize) -> Option<()> {
        *left = left.checked_sub(1)?;
        node.items().try_for_each(|item| count(item, left))?;
        node.members().try_for_each(|(_, value)| count(value, left))
    }
    match count(schema, &mut { SCHEMA_MAX_VALUES }) {
        Some(()) => Ok(()),
        None => Err(format!("it has more than {SCHEMA_MAX_VALUES} values")),
    }
}

/// Counts what preparing and using `schema` takes.
pub(super) fn measure(schema: &Value) -> Result<Extent, String> {
    let mut survey = Survey::default();
    survey.visit(schema, 0, 0)?;
    let patterns = survey.patterns.len();
    let text: usize = survey.patterns.iter().map(|pattern| pattern.len()).sum();
    if patterns > SCHEMA_MAX_PATTERNS {
        return Err(format!("it has more than {SCHEMA_MAX_PATTERNS} patterns"));
    }
    if text > SCHEMA_PATTERNS_TEXT {
        return Err(format!(
            "its patterns have more than {SCHEMA_PATTERNS_TEXT} bytes"
        ));
    }
    if survey.resources.len() > SCHEMA_MAX_IDS {
        return Err(format!("it has more than {SCHEMA_MAX_IDS} ids"));
    }
    check_ways(&survey)?;
    let mut expansion = Expansion::new(schema, &survey);
    let mut largest = 0;
    for &subschema in &survey.objects {
        largest = largest.max(expansion.of(subschema)?.0);
    }
    Ok(Extent {
        expansion: largest,
        pattern_bytes: (SCHEMA_PATTERN_BYTES / patterns.max(1)).min(SCHEMA_LARGEST_PATTERN),
        backtracks: survey.patterns.iter().any(|pattern| may_backtrack(pattern)),
    })
}

/// Whether the ways through the parts with ids are few enough: the validator compiles what it
/// comes to once for every way that leads there.
fn check_ways(survey: &Survey<'_>) -> Result<(), String> {
    fn count(
        at: usize,
        survey: &Survey<'_>,
        open: &mut Vec<usize>,
        left: &mut usize,
    ) -> Option<()> {
        *left = left.checked_sub(1)?;
        open.push(at);
        for (_, name) in survey.crossings.range((at, "")..(at + 1, "")) {
            for (other, _) in survey
                .resources
                .iter()
                .enumerate()
                .filter(|(_, (id, _))| id == name)
            {
                if !open.contains(&(other + 1)) {
                    count(other + 1, survey, open, left)?;
                }
            }
        }
        open.pop();
        Some(())
    }
    let most = (SCHEMA_MAX_WAYS / survey.objects.len().max(1)).max(2);
    let starts = 0..=survey.resources.len();
    let are_few = |start| count(start, survey, &mut Vec::new(), &mut { most }).is_some();
    if starts.into_iter().all(are_few) {
        return Ok(());
    }
    Err(format!(
        "the ways through its parts with ids, times its objects, are more than {SCHEMA_MAX_WAYS}"
    ))
}

/// Whether a pattern may hold what a linear engine has no answer to: look-around, a
/// back-reference, an atomic group, a possessive repetition.
fn may_backtrack(pattern: &str) -> bool {
    let pairs = pattern.as_bytes().windows(2);
    let is_sign = |pair: &[u8]| match pair {
        [b'(', b'?'] | [b'*' | b'+' | b'?' | b'}', b'+'] => true,
        [b'\\', next] => matches!(next, b'1'..=b'9' | b'g' | b'G' | b'k' | b'K'),
        _ => false,
    };
    pairs.into_iter().any(is_sign)
}

/// Everything in a schema that has to be counted or found again.
#[derive(Default)]
struct Survey<'a> {
    /// Every object, whether it is a schema or not: a reference can lead to any.
    objects: Vec<&'a Value>,
    patterns: BTreeSet<&'a str>,
    /// Objects with an id of their own: the last segment of it, and the object.
    resources: Vec<(&'a str, &'a Value)>,
    /// References to other resources: the number of the one they stand in (0 is the document,
    /// the others come in the order of `resources`), and the last segment of what they name.
    crossings: BTreeSet<(usize, &'a str)>,
    /// Objects by the names that `$anchor` and its kin give them.
    anchors: BTreeMap<&'a str, Vec<&'a Value>>,
    /// Bytes of the JSON Pointers to all values.
    places: usize,
}

impl<'a> Survey<'a> {
    fn visit(&mut self, value: &'a Value, place: usize, resource: usize) -> Result<(), String> {
        self.places += place;
        if self.places > SCHEMA_MAX_PLACES {
            return Err(format!(
                "the places of its values have more than {SCHEMA_MAX_PLACES} bytes together"
            ));
        }
        match value {
            Value::Array(items) => {
                for item in items {
                    self.visit(item, place + 4, resource)?;
                }
            }
            Value::Object(members) => {
                self.objects.push(value);
                for (name, member) in members {
                    self.note(value, name, member)?;
                }
                let ids = ["$id", "id"].map(|name| members.get(name));
                let resource = match ids.into_iter().flatten().any(Value::is_string) {
                    true => self.resources.len(),
                    false => resource,
                };
                for name in REFERENCES {
                    if let Some(Value::String(reference)) = members.get(name) {
                        let (base, _) = split_reference(reference);
                        if !base.is_empty() {
                            self.crossings.insert((resource, last_segment(base)));
                        }
                    }
                }
                for (name, member) in members {
                    self.visit(member, place + name.len() + 1, resource)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn note(&mut self, holder: &'a Value, name: &str, member: &'a Value) -> Result<(), String> {
        match (name, member) {
            ("pattern", Value::String(pattern)) => self.pattern(pattern)?,
            ("patternProperties", Value::Object(members)) => {
                for pattern in members.keys() {
                    self.pattern(pattern)?;
                }
            }
            ("$anchor" | "$dynamicAnchor", Value::String(anchor)) => {
                self.anchors.entry(anchor).or_default().push(holder);
            }
            ("$id" | "id", Value::String(id)) => {
                // Every place in a resource is kept with its id before it.
                self.places += id.len() * count_values(holder);
                let (base, anchor) = split_reference(id);
                self.resources.push((last_segment(base), holder));
                if !anchor.is_empty() {
                    self.anchors.entry(anchor).or_default().push(holder);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn pattern(&mut self, pattern: &'a str) -> Result<(), String> {
        if pattern.len() > SCHEMA_PATTERN_TEXT {
            return Err(format!(
                "a pattern has more than {SCHEMA_PATTERN_TEXT} bytes"
            ));
        }
        self.patterns.insert(pattern);
        Ok(())
    }
}

fn count_values(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count_values).sum(),
        Value::Object(members) => members.values().map(count_values).sum(),
        _ => 0_usize,
    }
}

/// A reference's resource and the fragment in it.
fn split_reference(reference: &str) -> (&str, &str) {
    reference.split_once('#').unwrap_or((reference, ""))
}

fn last_segment(base: &str) -> &str {
    base.rsplit('/').next().unwrap_or_default()
}

/// Follows what applies to one value.
struct Expansion<'s, 'a> {
    root: &'a Value,
    survey: &'s Survey<'a>,
    /// Subschemas that are being followed, by address.
    open: BTreeSet<usize>,
    /// Those that were followed and met no circle.
    known: BTreeMap<usize, usize>,
    visits: usize,
}

/// How many subschemas apply, and whether a circle was cut to count them.
type Count = (usize, bool);

impl<'s, 'a> Expansion<'s, 'a> {
    fn new(root: &'a Value, survey: &'s Survey<'a>) -> Self {
        Self {
            root,
            survey,
            open: BTreeSet::new(),
            known: BTreeMap::new(),
            visits: 0,
        }
    }

    fn of(&mut self, schema: &'a Value) -> Result<Count, String> {
        let Value::Object(members) = schema else {
            return Ok((1, false));
        };
        let address = std::ptr::from_ref(schema) as usize;
        if let Some(&count) = self.known.get(&address) {
            return Ok((count, false));
        }
        if self.open.len() > SCHEMA_MAX_CHAIN || self.visits > 10 * SCHEMA_MAX_VALUES {
            return Err(too_much());
        }
        if !self.open.insert(address) {
            return Ok((1, true));
        }
        self.visits += 1;
        let mut total: Count = (1, false);
        let mut add = |(count, circle): Count| {
            total = (total.0.saturating_add(count), total.1 || circle);
        };
        for name in IN_PLACE {
            match members.get(name) {
                Some(Value::Array(items)) => {
                    for item in items {
                        add(self.of(item)?);
                    }
                }
                Some(Value::Object(map)) if name.starts_with("dep") => {
                    for member in map.values() {
                        add(self.of(member)?);
                    }
                }
                Some(member) => add(self.of(member)?),
                None => {}
            }
        }
        for name in REFERENCES {
            if let Some(Value::String(reference)) = members.get(name) {
                add(self.of_reference(reference)?);
            }
        }
        self.open.remove(&address);
        if total.0 > SCHEMA_MAX_EXPANSION {
            return Err(too_much());
        }
        if !total.1 {
            self.known.insert(address, total.0);
        }
        Ok(total)
    }

    /// The largest of what a reference could mean: ids are resolved by the validator, and it need
    /// only be known that no reading is too much.
    fn of_reference(&mut self, reference: &str) -> Result<Count, String> {
        let (base, fragment) = split_reference(reference);
        let name = last_segment(base);
        let mut targets: Vec<&'a Value> = vec![self.root];
        let resources = self.survey.resources.iter();
        targets.extend(
            resources
                .filter(|(id, _)| base.is_empty() || *id == name)
                .map(|(_, resource)| *resource),
        );
        if !fragment.is_empty() && !fragment.starts_with('/') {
            targets = self
                .survey
                .anchors
                .get(fragment)
                .cloned()
                .unwrap_or_default();
        } else if !fragment.is_empty() {
            let pointer = percent_decode(fragment);
            targets = targets
                .into_iter()
                .filter_map(|target| target.pointer(&pointer))
                .collect();
        }
        let mut largest = (0, false);
        for target in targets {
            let (count, circle) = self.of(target)?;
            largest = (largest.0.max(count), largest.1 || circle);
        }
        Ok(largest)
    }
}

fn too_much() -> String {
    format!("more than {SCHEMA_MAX_EXPANSION} of its subschemas apply to one value")
}

/// References that are followed one after the other.
const SCHEMA_MAX_CHAIN: usize = 1_000;

fn percent_decode(fragment: &str) -> String {
    let hex = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    let bytes = fragment.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escaped = bytes.get(at + 1..at + 3).filter(|_| byte == b'%');
        match escaped.and_then(hex) {
            Some(value) => {
                decoded.push(value);
                at += 3;
            }
            None => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
