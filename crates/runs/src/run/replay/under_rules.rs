//! What is said of a replay whose results were compared under rules.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use runseal_core::canon::{ReadOptions, Value, parse_document};
use runseal_core::verify::one_line;

use super::Replay;
use crate::record::rules::{Largest, Origin, Place, Within, name_of};

/// The most results of one run that are listed for people.
const SHOWN: usize = 20;

/// The longest rule that is shown, in characters.
const LONGEST_SHOWN: usize = 120;

impl Replay {
    /// Whether rules left nothing of the results to compare: whatever the command does, it reproduces.
    fn is_every_output_exempt(&self) -> bool {
        let mut runs = self.runs.iter().peekable();
        runs.peek().is_some()
            && runs.all(|run| {
                let is_left_empty = run.within.iter().any(|it| it.is_nothing_left);
                run.compared == 0 && (run.ignored > 0 || !run.exempt.is_empty() || is_left_empty)
            })
    }

    fn within(&self) -> impl Iterator<Item = &Within> {
        self.runs.iter().flat_map(|run| &run.within)
    }

    /// The numeric rules by which results are the same, in their order.
    fn tolerances(&self) -> BTreeSet<String> {
        let rules = self.within().flat_map(|it| &it.rules);
        let numeric = rules.filter_map(|(_, rule, _)| {
            let (name, value) = rule.split_once(':')?;
            matches!(name, "abs" | "rel").then(|| format!("{name} {value}"))
        });
        numeric.collect()
    }

    /// The largest difference of one kind, with the name of the result that has it.
    fn largest(
        &self,
        kind: impl Fn(&Within) -> Option<&Largest>,
    ) -> Option<(Cow<'_, str>, &Largest)> {
        let all = self
            .within()
            .filter_map(|it| Some((name_of(&it.path), kind(it)?)));
        all.max_by(|(_, a), (_, b)| a.difference.total_cmp(&b.difference))
    }

    /// What the verdict adds about rules.
    pub(super) fn verdict_under_rules(&self) -> String {
        let mut text = String::new();
        if self.is_every_output_exempt() {
            let _ = write!(
                text,
                ", but every output is exempt by rules {}",
                self.origins()
            );
            return text;
        }
        let tolerances = self.tolerances();
        if !tolerances.is_empty() {
            let tolerances: Vec<_> = tolerances.into_iter().collect();
            let _ = write!(text, " within {}", tolerances.join(", "));
            let at = |(name, largest): (Cow<'_, str>, &Largest)| {
                format!("{:.1e} at {name}{}", largest.difference, largest.place)
            };
            let relative = self.largest(|it| it.relative.as_ref()).map(at);
            let absolute = self.largest(|it| it.absolute.as_ref()).map(at);
            match (relative, absolute) {
                (Some(one), None) | (None, Some(one)) => {
                    let _ = write!(text, " (largest difference {one})");
                }
                (Some(relative), Some(absolute)) => {
                    let _ = write!(
                        text,
                        " (largest differences: relative {relative}, absolute {absolute})"
                    );
                }
                (None, None) => {}
            }
        }
        let is_dropped = |it: &&Within| {
            it.rules
                .iter()
                .any(|(_, rule, _)| rule.starts_with("drop:"))
        };
        let dropped = self.within().filter(is_dropped).map(|it| it.path.as_str());
        if let Some(names) = list_names(dropped) {
            let _ = write!(text, ", without what rules drop from {names}");
        }
        let exempt = self.runs.iter().flat_map(|run| &run.exempt);
        if let Some(names) = list_names(exempt.map(|it| it.path.as_str())) {
            let _ = write!(text, ", not comparing {names}");
        }
        if !text.is_empty() && self.origins_used().contains(&Origin::Replay) {
            let _ = write!(text, ", by rules {}", self.origins());
        }
        text
    }

    /// Who gave the rules that made a difference.
    fn origins_used(&self) -> BTreeSet<Origin> {
        let within = self
            .within()
            .flat_map(|it| &it.rules)
            .map(|(_, _, origin)| *origin);
        let exempt = self
            .runs
            .iter()
            .flat_map(|run| &run.exempt)
            .map(|it| it.origin);
        // Only a bundle says what is ignored.
        let ignored = self.runs.iter().any(|run| run.ignored > 0);
        within
            .chain(exempt)
            .chain(ignored.then_some(Origin::Bundle))
            .collect()
    }

    fn origins(&self) -> &'static str {
        let origins = self.origins_used();
        match (
            origins.contains(&Origin::Bundle),
            origins.contains(&Origin::Replay),
        ) {
            (true, true) => "sealed in the bundle and given to this replay",
            (false, true) => "given to this replay",
            _ => "sealed in the bundle",
        }
    }

    /// The member of the JSON answer; `None` if nothing but the bytes count.
    pub(crate) fn rules_json(&self) -> Option<Value> {
        let ignore = self.terms.ignore.as_ref().map(|ignore| ignore.patterns());
        if self.terms.compare.is_empty() && ignore.is_none() {
            return None;
        }
        let rules = self.terms.compare.iter().map(|rule| {
            let mut one = Value::object([("files", rule.glob()), ("rule", rule.rule())]);
            one.insert("from", rule.origin().name());
            one.insert("matched", !self.unmatched.contains(&rule.to_string()));
            one
        });
        let mut all = Value::object([("rules", Value::array(rules))]);
        let ignore = ignore.unwrap_or_default().iter().map(String::as_str);
        all.insert("ignore", Value::array(ignore));
        all.insert("every_output_exempt", self.is_every_output_exempt());
        for (name, largest) in [
            ("largest_relative", self.largest(|it| it.relative.as_ref())),
            ("largest_absolute", self.largest(|it| it.absolute.as_ref())),
        ] {
            let largest = largest.map(|(name, largest)| {
                let mut one = Value::object([("output", name.as_ref())]);
                add_largest(&mut one, largest);
                one
            });
            all.insert(name, largest);
        }
        Some(all)
    }

    /// The rules and what came of them, for people.
    pub(crate) fn render_rules(&self, text: &mut String) {
        for rule in self.terms.compare.iter() {
            let from = match rule.origin() {
                Origin::Bundle => "sealed in the bundle",
                Origin::Replay => "given to this replay",
            };
            let shown = rule.to_string();
            let matches = match self.unmatched.contains(&shown) {
                true => ", matches nothing",
                false => "",
            };
            let _ = writeln!(text, "  compared by {} ({from}{matches})", shorten(&shown));
        }
        for pattern in self.terms.ignore.iter().flat_map(|it| it.patterns()) {
            let _ = writeln!(
                text,
                "  ignored: {} (sealed in the bundle)",
                shorten(pattern)
            );
        }
    }
}

impl super::Comparison {
    /// What rules came to in this run, as JSON.
    pub(crate) fn rules_json(&self, run: &mut Value) {
        let within = self.within.iter().map(|it| {
            let rules = it.rules.iter().map(|(glob, rule, origin)| {
                let mut one = Value::object([("files", glob.as_str()), ("rule", rule.as_str())]);
                one.insert("from", origin.name());
                one
            });
            let mut one = Value::object([("path", it.path.as_str())]);
            one.insert("rules", Value::array(rules));
            one.insert("numbers", it.differing);
            one.insert("nothing_left", it.is_nothing_left);
            for (name, largest) in [("relative", &it.relative), ("absolute", &it.absolute)] {
                if let Some(largest) = largest {
                    let mut place = Value::Object(Default::default());
                    add_largest(&mut place, largest);
                    one.insert(name, place);
                }
            }
            one
        });
        run.insert("within", Value::array(within));
        let exempt = self
            .exempt
            .iter()
            .map(|it| Value::object([("path", it.path.as_str()), ("from", it.origin.name())]));
        run.insert("exempt", Value::array(exempt));
        run.insert("ignored_files", self.ignored);
    }

    /// What rules came to in this run, for people.
    pub(crate) fn render_rules(&self, text: &mut String) {
        let mut lines = Vec::new();
        for it in &self.within {
            let rules: Vec<&str> = it.rules.iter().map(|(_, rule, _)| rule.as_str()).collect();
            let how = match (it.is_nothing_left, it.differing) {
                (true, _) => "nothing of it is left to compare".to_owned(),
                (_, 0) => "the same".to_owned(),
                (_, 1) => "1 number differs".to_owned(),
                (_, count) => format!("{count} numbers differ"),
            };
            let name = one_line(&name_of(&it.path));
            lines.push(format!("{name}: {how} under {}", shorten(&rules.join(" "))));
        }
        for it in &self.exempt {
            lines.push(format!("{}: not compared", one_line(&name_of(&it.path))));
        }
        match self.ignored {
            0 => {}
            1 => lines.push("1 file that is ignored".to_owned()),
            count => lines.push(format!("{count} files that are ignored")),
        }
        for line in lines.iter().take(SHOWN) {
            let _ = writeln!(text, "    {line}");
        }
        if lines.len() > SHOWN {
            let _ = writeln!(text, "    and {} more under rules", lines.len() - SHOWN);
        }
    }
}

/// One name, or how many there are.
fn list_names<'a>(paths: impl Iterator<Item = &'a str>) -> Option<String> {
    let paths: BTreeSet<&str> = paths.collect();
    match paths.len() {
        0 => None,
        1 => paths.first().map(|path| name_of(path).into_owned()),
        count => Some(format!("{count} outputs")),
    }
}

fn add_largest(to: &mut Value, largest: &Largest) {
    to.insert("difference", number(largest.difference));
    match &largest.place {
        Place::Pointer(pointer) | Place::Notebook(pointer) => {
            to.insert("pointer", pointer.as_str());
        }
        Place::Line { line, column } => {
            to.insert("line", *line);
            if let Some(column) = column {
                to.insert("column", *column);
            }
        }
        // As arrays of pixels have it.
        Place::Pixel { x, y, channel } => {
            let channel = u64::try_from(*channel).unwrap_or_default();
            let index = [u64::from(*y), u64::from(*x), channel];
            to.insert("index", Value::array(index));
        }
        Place::Index(index) => {
            to.insert("index", Value::array(index.iter().copied()));
        }
    }
}

/// A finite number as JSON has it.
fn number(number: f64) -> Value {
    let text = format!("{number:e}");
    let document = parse_document(text.as_bytes(), &ReadOptions::default());
    document.map_or(Value::Null, |document| document.root().to_value())
}

fn shorten(text: &str) -> String {
    let text = one_line(text);
    match text.char_indices().nth(LONGEST_SHOWN) {
        Some((at, _)) => format!("`{}…`", &text[..at]),
        None => format!("`{text}`"),
    }
}
