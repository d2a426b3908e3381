//! JSON as a tree that folds, with units and descriptions from its schema.

use maud::{Markup, html};
use runseal_core::canon::{Kind, Node};

use super::blocks::{breakable, fault_mark, value};
use super::budget::Budget;
use crate::describe::{BAR, Tree, is_bar};
use crate::exhibit::Faults;
use crate::limits::{DEPTH, NODES};
use crate::reveal::{counted, cut};

/// The most characters of a string that are shown at once.
const STRING: usize = 300;
/// The most characters of a string that can be unfolded.
const LONG_STRING: usize = 8_000;
/// Levels that are open at first.
const OPEN: usize = 2;

struct Walk<'b, 'f> {
    file: &'b str,
    faults: &'f Faults,
    nodes: usize,
    left_out: usize,
    budget: &'b mut Budget,
}

/// A document as a tree.
pub(super) fn tree(
    tree: &Tree<'_>,
    file: &str,
    title: &str,
    faults: &Faults,
    budget: &mut Budget,
) -> Markup {
    let mut walk = Walk {
        file,
        faults,
        nodes: NODES,
        left_out: 0,
        budget,
    };
    let shown = match tree.root.kind() {
        Kind::Object | Kind::Array => html! {
            ul.tree { (walk.children(tree.root, tree.schema, &mut String::new(), 0)) }
        },
        _ => html! { p { (walk.leaf(tree.root)) } },
    };
    let left_out = walk.left_out;
    if left_out > 0 {
        let values = counted(left_out, "value");
        budget.note(format!("{values} of “{}”", cut(title, 120)));
    }
    html! {
        (shown)
        @if left_out > 0 { p.more { "… and " (counted(left_out, "more value")) } }
    }
}

impl Walk<'_, '_> {
    fn children(
        &mut self,
        node: Node<'_>,
        schema: Option<Node<'_>>,
        pointer: &mut String,
        depth: usize,
    ) -> Markup {
        if depth >= DEPTH {
            self.left_out += node.len();
            return html! { li.more { "… and " (counted(node.len(), "more value")) " further down" } };
        }
        // The members of an object may share a unit, given next to them.
        let unit = node.get("unit").and_then(|unit| unit.as_lossy_str());
        let mut shown = Vec::new();
        let base = pointer.len();
        let is_list = node.kind() == Kind::Array;
        let members = node
            .members()
            .map(|(key, value)| (key.to_lossy().into_owned(), value));
        let items = node
            .items()
            .enumerate()
            .map(|(at, item)| (at.to_string(), item));
        for (name, value) in members.chain(items) {
            if self.nodes == 0 {
                self.left_out += 1;
                continue;
            }
            self.nodes -= 1;
            pointer.push('/');
            pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
            let inner = schema.and_then(|schema| schema_of(schema, &name, is_list));
            let unit = match name.as_str() {
                "value" => unit.as_deref(),
                _ => None,
            };
            shown.push(self.member(&name, value, (inner, unit), pointer, depth));
            pointer.truncate(base);
        }
        html! { @for part in &shown { (part) } }
    }

    fn member(
        &mut self,
        name: &str,
        node: Node<'_>,
        (schema, unit): (Option<Node<'_>>, Option<&str>),
        pointer: &mut String,
        depth: usize,
    ) -> Markup {
        let _ = self.budget.take_text(name.len());
        let fault = self.faults.at(self.file, pointer).map(str::to_owned);
        let description = schema.and_then(|schema| schema.get("description")?.as_lossy_str());
        let mark = html! { @if let Some(rules) = &fault { (fault_mark(rules)) } };
        let about = html! {
            @if let Some(text) = &description { span.about { (cut(text, 160)) } }
        };
        let class = fault.as_ref().map(|_| "fault");
        if is_bar(node) {
            // Without a reason, the marker is not a withheld place of a valid copy.
            let reason = self.faults.bar(self.file, pointer);
            return html! {
                li class=[class] {
                    span.key { (breakable(&cut(name, 120))) }
                    (bar(reason.unwrap_or("no reason is given"))) (mark)
                }
            };
        }
        let is_inner = matches!(node.kind(), Kind::Object | Kind::Array) && !node.is_empty();
        if is_inner {
            let count = node.len();
            let what = match node.kind() {
                Kind::Array => "list of ",
                _ => "",
            };
            let numbers = numbers_of(node);
            let is_open = depth < OPEN && count <= 60 && numbers.is_none() || fault.is_some();
            let children = self.children(node, schema, pointer, depth + 1);
            return html! {
                li class=[class] {
                    details open[is_open] {
                        summary {
                            span.key { (breakable(&cut(name, 120))) }
                            span.count { (what) (count) }
                            @if let Some(points) = &numbers { (super::svg::sparkline(points)) }
                            (about) (mark)
                        }
                        ul { (children) }
                    }
                }
            };
        }
        let unit = match (node.kind(), unit) {
            (Kind::Number, Some(unit)) => Some(unit.to_owned()),
            (Kind::Number, None) => unit_of(name, schema),
            _ => None,
        };
        html! {
            li class=[class] {
                span.key { (breakable(&cut(name, 120))) }
                (self.leaf(node))
                @if let Some(unit) = unit { span.unit { (cut(&unit, 40)) } }
                (about) (mark)
            }
        }
    }

    fn leaf(&mut self, node: Node<'_>) -> Markup {
        match node.kind() {
            Kind::Null => html! { span.null { "null" } },
            Kind::Object => html! { span.null { "empty" } },
            Kind::Array => html! { span.null { "empty list" } },
            Kind::Number => {
                let number = node.as_number();
                let text = number.as_ref().map_or("", |number| number.text());
                html! { span.number { (cut(text, 60)) } }
            }
            Kind::String => self.string(node),
            _ => {
                html! { span.bool { (if node.as_bool() == Some(true) { "true" } else { "false" }) } }
            }
        }
    }

    fn string(&mut self, node: Node<'_>) -> Markup {
        let text = node.as_lossy_str().unwrap_or_default();
        let is_long = text.char_indices().nth(STRING).is_some();
        if !is_long {
            let fits = self.budget.take_text(text.len());
            let shown = &text[..text.floor_char_boundary(fits)];
            return html! { span.string { (value(shown)) } };
        }
        let fits = self.budget.take_text(text.len().min(LONG_STRING));
        let shown = &text[..text.floor_char_boundary(fits)];
        let rest = text.len() - shown.len();
        if rest > 0 {
            let bytes = counted(rest, "byte");
            let file = cut(self.file, 120);
            self.budget.note(format!("{bytes} of a string of {file}"));
        }
        html! {
            details.long {
                summary { span.string { (cut(&text, 120)) } span.count { (text.len()) " bytes" } }
                pre.words tabindex="0" { (shown) }
                @if rest > 0 { p.more { "… and " (counted(rest, "more byte")) } }
            }
        }
    }
}

/// What is shown for a withheld value.
fn bar(reason: &str) -> Markup {
    html! {
        span.withheld aria-hidden="true" { (BAR) }
        span.about { "withheld: " (cut(reason, 160)) }
    }
}

/// The numbers of a list, if it has nothing else, for a sparkline.
fn numbers_of(node: Node<'_>) -> Option<Vec<f64>> {
    if node.kind() != Kind::Array || node.len() < 8 {
        return None;
    }
    let number = |item: Node<'_>| item.as_number().map(|number| number.to_f64());
    node.items().take(20_000).map(number).collect()
}

/// The part of a schema for a member or element. References are not followed.
fn schema_of<'a>(schema: Node<'a>, name: &str, is_list: bool) -> Option<Node<'a>> {
    if is_list {
        return schema.get("items");
    }
    let named = schema
        .get("properties")
        .and_then(|properties| properties.get(name));
    named.or_else(|| {
        schema
            .get("additionalProperties")
            .filter(|rest| rest.kind() == Kind::Object)
    })
}

/// The unit of a number, from its schema or the end of its name.
fn unit_of(name: &str, schema: Option<Node<'_>>) -> Option<String> {
    if let Some(schema) = schema {
        for member in ["unit", "x-unit", "x_unit", "units"] {
            if let Some(unit) = schema.get(member).and_then(|unit| unit.as_lossy_str()) {
                return Some(unit.into_owned());
            }
        }
    }
    let (_, ending) = name.rsplit_once('_')?;
    let unit = match ending {
        "hz" => "Hz",
        "khz" => "kHz",
        "mhz" => "MHz",
        "ghz" => "GHz",
        "ms" => "ms",
        "us" => "µs",
        "ns" => "ns",
        "s" | "sec" | "secs" | "seconds" => "s",
        "minutes" => "min",
        "hours" => "h",
        "bytes" => "bytes",
        "kb" => "kB",
        "mb" => "MB",
        "gb" => "GB",
        "percent" | "pct" => "%",
        "rad" => "rad",
        "deg" => "°",
        "kg" => "kg",
        "m" | "meters" | "metres" => "m",
        "mm" => "mm",
        "cm" => "cm",
        "km" => "km",
        "celsius" => "°C",
        "kelvin" => "K",
        "volts" => "V",
        "amps" => "A",
        "watts" => "W",
        "db" => "dB",
        "usd" => "USD",
        "eur" => "EUR",
        _ => return None,
    };
    Some(unit.to_owned())
}
