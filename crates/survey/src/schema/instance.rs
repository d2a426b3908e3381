//! A parsed document as the validator sees it: in place, without a copy, every look counted.

use std::borrow::Cow;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node as JsonNode, NodeIdentity, Object, cmp};
use runseal_core::canon::{Dialect, Key, Kind, Node, canonical_digest};
use runseal_core::digest::Digest;
use serde_json::Value;

use super::{meter, to_json, to_json_number};

/// Values of a document that a violation quotes; its message is cut long before.
const QUOTED_VALUES: usize = 400;
/// Characters of a string that a violation quotes.
const QUOTED_CHARACTERS: usize = 400;
/// Steps for an element whose digest is kept to find an equal one.
const STEPS_A_DIGEST: u64 = 16;

/// Documents as [`Instance`]s.
pub(super) struct Counted;

/// One value of a document, or the name of a member while names are validated.
#[derive(Clone, Copy)]
pub(super) enum Instance<'a> {
    Node(Node<'a>),
    Name(&'a str),
}

impl Json for Counted {
    type Node<'a> = Instance<'a>;
    type PreparedKey = String;
    type StringBuffer = ();

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>((): &mut (), string: &str, f: impl FnOnce(Instance<'_>) -> T) -> T {
        meter::child();
        f(Instance::Name(string))
    }
}

/// Steps for a string where the schema has patterns that may backtrack: what they do themselves
/// is bounded for each match, and cannot be counted.
const STEPS_A_MATCH: u64 = 400;

/// Takes the steps for a text that is looked through.
fn read_text(text: &str) {
    meter::step(1 + text.len() as u64 / 16);
}

impl<'a> JsonNode<'a, Counted> for Instance<'a> {
    type Object = Members<'a>;
    type Array = Elements<'a>;
    type Number = serde_json::Number;

    fn as_object(&self) -> Option<Members<'a>> {
        meter::step(1);
        match self {
            Self::Node(node) if node.kind() == Kind::Object => Some(Members(*node)),
            _ => None,
        }
    }

    fn as_array(&self) -> Option<Elements<'a>> {
        meter::step(1);
        match self {
            Self::Node(node) if node.kind() == Kind::Array => Some(Elements(*node)),
            _ => None,
        }
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        let text = match self {
            Self::Node(node) => node.as_lossy_str(),
            Self::Name(name) => Some(Cow::Borrowed(*name)),
        };
        if text.is_some() && meter::backtracks() {
            meter::step(STEPS_A_MATCH);
        }
        read_text(text.as_deref().unwrap_or_default());
        text
    }

    fn as_number(&self) -> Option<serde_json::Number> {
        meter::step(1);
        let Self::Node(node) = self else {
            return None;
        };
        let number = node.as_number()?;
        meter::step(number.text().len() as u64 / 16);
        match to_json_number(number) {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    fn as_boolean(&self) -> Option<bool> {
        meter::step(1);
        match self {
            Self::Node(node) => node.as_bool(),
            Self::Name(_) => None,
        }
    }

    fn is_null(&self) -> bool {
        self.json_type() == JsonType::Null
    }

    fn json_type(&self) -> JsonType {
        meter::step(1);
        let Self::Node(node) = self else {
            return JsonType::String;
        };
        match node.kind() {
            Kind::Null => JsonType::Null,
            Kind::Bool => JsonType::Boolean,
            // Out of a double's range: without a JCS form, and then nobody asks.
            Kind::Number => match self.as_number() {
                Some(_) => JsonType::Number,
                None => JsonType::Null,
            },
            Kind::String => JsonType::String,
            Kind::Array => JsonType::Array,
            Kind::Object => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        match self {
            Self::Node(node) => equals(*node, expected),
            Self::Name(name) => {
                read_text(name);
                expected.as_str() == Some(name)
            }
        }
    }

    /// The value as a violation quotes it.
    fn to_value(&self) -> Cow<'a, Value> {
        meter::violation();
        Cow::Owned(match self {
            Self::Node(node) if meter::backtracks() => {
                meter::step(STEPS_A_DIGEST);
                read_all(*node);
                to_json(*node)
            }
            Self::Node(node) => quote(*node, &mut { QUOTED_VALUES }),
            Self::Name(name) => Value::String(cut(name)),
        })
    }

    fn identity(&self) -> Option<NodeIdentity> {
        let (place, tag) = match self {
            Self::Node(node) => node.identity(),
            // Not among the tags of a document's values.
            Self::Name(name) => (name.as_ptr() as usize, u32::MAX),
        };
        Some(NodeIdentity::tagged(place, tag))
    }
}

/// Whether a value equals one of the schema, numbers by their worth.
fn equals(node: Node<'_>, expected: &Value) -> bool {
    meter::step(1);
    match expected {
        Value::String(expected) => {
            read_text(expected);
            node.as_lossy_str().is_some_and(|text| text == *expected)
        }
        Value::Number(_) => node
            .as_number()
            .is_some_and(|number| cmp::equal(&to_json_number(number), expected)),
        Value::Array(expected) => node.as_array().is_some_and(|items| {
            items.len() == expected.len()
                && items
                    .zip(expected)
                    .all(|(item, expected)| equals(item, expected))
        }),
        Value::Object(expected) => node.as_object().is_some_and(|members| {
            members.len() == expected.len()
                && expected.iter().all(|(name, expected)| {
                    node.get(name)
                        .is_some_and(|member| equals(member, expected))
                })
        }),
        Value::Null | Value::Bool(_) => to_json_literal(node).as_ref() == Some(expected),
    }
}

fn to_json_literal(node: Node<'_>) -> Option<Value> {
    matches!(node.kind(), Kind::Null | Kind::Bool).then(|| to_json(node))
}

/// A copy that holds at most `left` values: the beginning, as it would be printed.
fn quote(node: Node<'_>, left: &mut usize) -> Value {
    *left = left.saturating_sub(1);
    if let Some(items) = node.as_array() {
        let mut quoted = Vec::new();
        for item in items {
            if *left == 0 {
                break;
            }
            quoted.push(quote(item, left));
        }
        return Value::Array(quoted);
    }
    if let Some(members) = node.as_object() {
        let mut quoted = serde_json::Map::new();
        for (key, value) in members {
            if *left == 0 {
                break;
            }
            quoted.insert(cut(&key.to_lossy()), quote(value, left));
        }
        return Value::Object(quoted);
    }
    match node.as_lossy_str() {
        Some(text) => Value::String(cut(&text)),
        None => to_json(node),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(QUOTED_CHARACTERS) {
        Some((at, _)) => text[..at].to_owned(),
        None => text.to_owned(),
    }
}

/// Takes the steps for a value that is looked through whole.
fn read_all(node: Node<'_>) {
    meter::step(1);
    node.items().for_each(read_all);
    for (key, value) in node.members() {
        read_text(&key.to_lossy());
        read_all(value);
    }
    if let Some(text) = node.as_lossy_str() {
        read_text(&text);
    }
}

/// The members of an object.
pub(super) struct Members<'a>(Node<'a>);

impl<'a> Object<'a, Counted> for Members<'a> {
    type Node = Instance<'a>;
    type MemberName = Cow<'a, str>;
    type MembersIter = Box<dyn Iterator<Item = (Cow<'a, str>, Instance<'a>)> + 'a>;

    fn len(&self) -> usize {
        self.0.members().len()
    }

    fn get(&self, key: &String) -> Option<Instance<'a>> {
        meter::step(1);
        let found = self.0.get(key)?;
        meter::child();
        Some(Instance::Node(found))
    }

    fn members(&self) -> Self::MembersIter {
        let hand_out = |(key, value): (Key<'a>, Node<'a>)| {
            let name = key.to_lossy();
            meter::child();
            read_text(&name);
            (name, Instance::Node(value))
        };
        Box::new(self.0.members().map(hand_out))
    }
}

/// The elements of an array.
pub(super) struct Elements<'a>(Node<'a>);

impl<'a> Array<'a, Counted> for Elements<'a> {
    type Node = Instance<'a>;
    type ElementsIter = Box<dyn Iterator<Item = Instance<'a>> + 'a>;

    fn len(&self) -> usize {
        self.0.items().len()
    }

    fn elements(&self) -> Self::ElementsIter {
        let hand_out = |node| {
            meter::child();
            Instance::Node(node)
        };
        Box::new(self.0.items().map(hand_out))
    }

    /// Elements are equal where their canonical texts are: numbers by their worth, objects in any
    /// order.
    fn is_unique(&self) -> bool {
        let mut digests = Vec::new();
        for item in self.0.items() {
            meter::step(STEPS_A_DIGEST);
            read_all(item);
            // Out of a double's range: without a JCS form, and then nobody asks.
            let digest = canonical_digest(item, Dialect::Kernel);
            digests.push(digest.unwrap_or_else(|_| Digest::of(b"null")));
        }
        digests.sort_unstable();
        digests.windows(2).all(|pair| pair[0] != pair[1])
    }
}
