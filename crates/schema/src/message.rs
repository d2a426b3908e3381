//! Messages about a value that a schema does not allow: what was expected and what was found.

use std::fmt::Write as _;

use runseal_core::canon::{Kind, Node, Value};

use crate::draft::TYPES;
use crate::evaluate::Instance;
use crate::keyword::Bound;

/// Characters of a value that are quoted.
const QUOTED: usize = 100;
/// Names or values of a list that are quoted.
const LISTED: usize = 8;

/// Cuts a text to `most` characters and marks the cut with `…`.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Writes the beginning of a value as JSON.
pub(crate) fn quote(node: Node<'_>) -> String {
    let mut text = String::new();
    write_node(&mut text, node);
    shorten(&text, QUOTED)
}

pub(crate) fn quote_instance(instance: Instance<'_>) -> String {
    match instance {
        Instance::Node(node) => quote(node),
        Instance::Name(name) => {
            let mut text = String::new();
            write_string(&mut text, name);
            shorten(&text, QUOTED)
        }
    }
}

fn is_full(text: &str) -> bool {
    // No character has more than four bytes.
    text.len() > 4 * QUOTED
}

fn write_node(text: &mut String, node: Node<'_>) {
    match node.kind() {
        Kind::Null => text.push_str("null"),
        Kind::Bool => text.push_str(if node.as_bool() == Some(true) {
            "true"
        } else {
            "false"
        }),
        Kind::Number => {
            let number = node.as_number().map(|number| number.text());
            text.push_str(number.unwrap_or_default());
        }
        Kind::String => write_string(text, &node.as_lossy_str().unwrap_or_default()),
        Kind::Array => {
            text.push('[');
            for (at, item) in node.items().enumerate() {
                if is_full(text) {
                    return;
                }
                text.push_str(if at > 0 { "," } else { "" });
                write_node(text, item);
            }
            text.push(']');
        }
        Kind::Object => {
            text.push('{');
            for (at, (key, value)) in node.members().enumerate() {
                if is_full(text) {
                    return;
                }
                text.push_str(if at > 0 { "," } else { "" });
                write_string(text, &key.to_lossy());
                text.push(':');
                write_node(text, value);
            }
            text.push('}');
        }
    }
}

fn write_value(text: &mut String, value: &Value) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(flag) => text.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => text.push_str(number.get().text()),
        Value::String(string) => write_string(text, &string.to_lossy()),
        Value::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                if is_full(text) {
                    return;
                }
                text.push_str(if at > 0 { "," } else { "" });
                write_value(text, item);
            }
            text.push(']');
        }
        Value::Object(members) => {
            text.push('{');
            for (at, (key, value)) in members.iter().enumerate() {
                if is_full(text) {
                    return;
                }
                text.push_str(if at > 0 { "," } else { "" });
                write_string(text, &key.to_lossy());
                text.push(':');
                write_value(text, value);
            }
            text.push('}');
        }
    }
}

fn write_string(text: &mut String, string: &str) {
    text.push('"');
    for c in string.chars().take(QUOTED + 1) {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if c.is_control() => {
                // Writing to a `String` cannot fail.
                let _ = write!(text, "\\u{:04x}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    text.push('"');
}

pub(crate) fn types(bits: u8) -> String {
    let article = |name: &&str| match *name {
        "null" => "null".to_owned(),
        "array" => "a list".to_owned(),
        name @ ("integer" | "object") => format!("an {name}"),
        name => format!("a {name}"),
    };
    let names = TYPES.iter().enumerate();
    let chosen = names.filter(|(at, _)| bits >> at & 1 == 1);
    let mut names: Vec<String> = chosen.map(|(_, name)| article(name)).collect();
    match names.pop() {
        Some(last) if names.is_empty() => last,
        Some(last) => format!("{} or {last}", names.join(", ")),
        None => "nothing".to_owned(),
    }
}

pub(crate) fn value(value: &Value) -> String {
    let mut text = String::new();
    write_value(&mut text, value);
    shorten(&text, QUOTED)
}

pub(crate) fn one_of(values: &[Value]) -> String {
    match values {
        [] => "nothing, because `enum` is empty".to_owned(),
        [only] => value(only),
        values => {
            let listed: Vec<String> = values.iter().take(LISTED).map(value).collect();
            let more = if values.len() > LISTED { ", …" } else { "" };
            format!("one of {}{more}", listed.join(", "))
        }
    }
}

pub(crate) fn least(bound: &Bound) -> String {
    let than = if bound.is_exclusive {
        "more than"
    } else {
        "at least"
    };
    format!("{than} {}", shorten(&bound.text, QUOTED))
}

pub(crate) fn most(bound: &Bound) -> String {
    let than = if bound.is_exclusive {
        "less than"
    } else {
        "at most"
    };
    format!("{than} {}", shorten(&bound.text, QUOTED))
}

/// `1 element`, `2 elements`
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Names in backticks.
pub(crate) fn names<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut listed = Vec::new();
    for name in names {
        if listed.len() == LISTED {
            listed.push("…".to_owned());
            break;
        }
        listed.push(format!(
            "`{}`",
            shorten(&name.escape_debug().to_string(), QUOTED)
        ));
    }
    listed.join(", ")
}
