//! A parsed document: slices of its text, with the members of every object sorted.
//!
//! Nothing is copied while reading: a string or number is a place in the text, an array or object
//! a range in one of two lists. [`Node`] is the view of one value; it is `Copy` and cheap.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::error::Position;
use super::number::Number;
use super::slot::{ESCAPED, LONE, Member, Slot, Tag};
use super::text::{self, JsonString};
use super::value::Value;

/// What kind of JSON value a [`Node`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl Kind {
    /// The kind with its article, for messages.
    pub const fn with_article(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "a list",
            Self::Object => "an object",
        }
    }
}

/// Where the elements of arrays and the members of objects live.
#[derive(Debug, Default)]
pub(crate) struct Store {
    pub items: Vec<Slot>,
    /// Sorted by code point within each object.
    pub members: Vec<Member>,
}

impl Store {
    /// An empty store for a text of `bytes` bytes. For a large one it has room for what such
    /// texts commonly hold, so that it is not moved from place to place while it grows: memory
    /// that was only asked for costs nothing.
    pub fn for_text(bytes: usize) -> Self {
        const LARGE: usize = 128 << 10;
        const MOST: usize = 32 << 10;
        if bytes < LARGE {
            return Self::default();
        }
        Self {
            items: Vec::with_capacity((bytes / 64).min(MOST)),
            members: Vec::with_capacity((bytes / 32).min(MOST)),
        }
    }
}

/// A document that was read whole and found to be strict JSON.
#[derive(Debug)]
pub struct Document<'a> {
    pub(crate) text: &'a str,
    pub(crate) store: Store,
    pub(crate) root: Slot,
}

impl Document<'_> {
    /// The text it was read from, without a byte order mark.
    pub fn text(&self) -> &str {
        self.text
    }

    /// How many elements and members it holds.
    pub fn values(&self) -> usize {
        self.store.items.len() + self.store.members.len()
    }

    /// The document's value.
    pub fn root(&self) -> Node<'_> {
        Node {
            text: self.text,
            store: &self.store,
            slot: self.root,
        }
    }
}

/// One value of a document.
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    pub(crate) text: &'a str,
    pub(crate) store: &'a Store,
    pub(crate) slot: Slot,
}

impl<'a> Node<'a> {
    /// What kind of value it is.
    pub fn kind(&self) -> Kind {
        match self.slot.tag() {
            Tag::Null => Kind::Null,
            Tag::False | Tag::True => Kind::Bool,
            Tag::Number => Kind::Number,
            Tag::String => Kind::String,
            Tag::Array => Kind::Array,
            Tag::Object => Kind::Object,
        }
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        self.slot.tag() == Tag::Null
    }

    /// The boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self.slot.tag() {
            Tag::False => Some(false),
            Tag::True => Some(true),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn as_number(&self) -> Option<Number<'a>> {
        (self.slot.tag() == Tag::Number).then(|| Number::new(self.raw()))
    }

    /// The text of a string, if it is one and holds no lone surrogate.
    pub fn as_str(&self) -> Option<Cow<'a, str>> {
        if self.slot.tag() != Tag::String || self.slot.flags() & LONE != 0 {
            return None;
        }
        if self.slot.flags() & ESCAPED == 0 {
            return Some(Cow::Borrowed(self.raw()));
        }
        String::from_utf8(text::decode_raw(self.raw()).into_owned())
            .ok()
            .map(Cow::Owned)
    }

    /// The string, if it is one, whatever it holds.
    pub fn as_json_string(&self) -> Option<JsonString> {
        (self.slot.tag() == Tag::String)
            .then(|| JsonString::from_wtf8(text::decode_raw(self.raw()).into_owned()))
    }

    /// The text of a string, if it is one, with U+FFFD for each lone surrogate.
    pub fn as_lossy_str(&self) -> Option<Cow<'a, str>> {
        if self.slot.flags() & LONE != 0 {
            return self
                .as_json_string()
                .map(|string| Cow::Owned(string.to_lossy()));
        }
        self.as_str()
    }

    /// Whether it is a string.
    pub fn is_string(&self) -> bool {
        self.slot.tag() == Tag::String
    }

    /// The elements of an array, if it is one.
    pub fn as_array(&self) -> Option<impl ExactSizeIterator<Item = Node<'a>> + Clone + use<'a>> {
        (self.slot.tag() == Tag::Array).then(|| self.items())
    }

    /// The members of an object ordered by key (code points), if it is one.
    pub fn as_object(
        &self,
    ) -> Option<impl ExactSizeIterator<Item = (Key<'a>, Node<'a>)> + use<'a>> {
        (self.slot.tag() == Tag::Object).then(|| self.members())
    }

    /// The elements of an array; none for anything else.
    pub fn items(&self) -> impl ExactSizeIterator<Item = Node<'a>> + Clone + use<'a> {
        let node = *self;
        let range = if self.slot.tag() == Tag::Array {
            self.slot.range()
        } else {
            0..0
        };
        self.store.items[range]
            .iter()
            .map(move |&slot| node.with(slot))
    }

    /// The item at this place of an array, without a look at those before it.
    pub fn item(&self, at: usize) -> Option<Node<'a>> {
        let range = (self.slot.tag() == Tag::Array).then(|| self.slot.range())?;
        let slot = self.store.items[range].get(at)?;
        Some(self.with(*slot))
    }

    /// The members of an object ordered by key (code points); none for anything else.
    pub fn members(&self) -> impl ExactSizeIterator<Item = (Key<'a>, Node<'a>)> + use<'a> {
        let node = *self;
        self.object_members()
            .iter()
            .map(move |member| (Key(node.with(member.key())), node.with(member.value())))
    }

    /// The value of the member `key`, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<Node<'a>> {
        self.member(key).map(|member| self.with(member.value()))
    }

    pub(super) fn member(&self, key: &str) -> Option<&'a Member> {
        let members = self.object_members();
        let at = members
            .binary_search_by(|member| compare_key(self.text, member.key(), key.as_bytes()))
            .ok()?;
        Some(&members[at])
    }

    /// The values of the members named in `names`, which are sorted. One pass over both: looking
    /// up each name by itself would take longer than the reading did.
    pub fn fields<const N: usize>(&self, names: [&str; N]) -> [Option<Node<'a>>; N] {
        let mut found = [None; N];
        let mut at = 0;
        for member in self.object_members() {
            // Where nothing is missing or too much this is the next name, every time.
            while at < N {
                match compare_key(self.text, member.key(), names[at].as_bytes()) {
                    Ordering::Less => break,
                    Ordering::Equal => {
                        found[at] = Some(self.with(member.value()));
                        at += 1;
                        break;
                    }
                    Ordering::Greater => at += 1,
                }
            }
        }
        found
    }

    /// How many elements or members it has; 0 for anything else.
    pub fn len(&self) -> usize {
        match self.slot.tag() {
            Tag::Array | Tag::Object => self.slot.len(),
            _ => 0,
        }
    }

    /// Whether it has no elements or members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the value stands in the text; `None` for arrays, objects and literals, whose places
    /// are not kept.
    pub fn position(&self) -> Option<Position> {
        matches!(self.slot.tag(), Tag::String | Tag::Number)
            .then(|| Position::of(self.text.as_bytes(), self.slot.start()))
    }

    /// The order of two strings by UTF-16 code units, that of a lone surrogate being its own.
    /// Anything else counts as the empty string.
    pub fn compare_utf16(&self, other: &Node<'_>) -> Ordering {
        fn bytes<'n>(node: &Node<'n>) -> Cow<'n, [u8]> {
            match node.slot.tag() {
                Tag::String => text::decode_raw(node.raw()),
                _ => Cow::Borrowed(&[]),
            }
        }
        text::compare_utf16_bytes(&bytes(self), &bytes(other))
    }

    /// Bytes of the document that it is a value of.
    pub(crate) fn document_bytes(&self) -> usize {
        self.text.len()
    }

    /// Tells the value from every other one of its document, but for empty arrays and empty
    /// objects, of which one may be taken for another.
    pub fn identity(&self) -> (usize, u32) {
        let is_empty = u32::from(self.slot.len() == 0);
        (self.slot.start(), (self.slot.tag() as u32) << 1 | is_empty)
    }

    /// Where a string stands in the text, without its quotes; `None` for anything else.
    pub fn string_place(&self) -> Option<std::ops::Range<usize>> {
        (self.slot.tag() == Tag::String).then(|| self.slot.range())
    }

    /// Where the inside of a string, or a number, stands in the text.
    pub(crate) fn place(&self) -> std::ops::Range<usize> {
        self.slot.range()
    }

    /// Whether a string is written with escapes.
    pub(crate) fn is_escaped(&self) -> bool {
        self.slot.flags() & ESCAPED != 0
    }

    /// A copy that owns what it holds.
    pub fn to_value(&self) -> Value {
        match self.slot.tag() {
            Tag::Null => Value::Null,
            Tag::False => Value::Bool(false),
            Tag::True => Value::Bool(true),
            Tag::Number => Value::number_from(Number::new(self.raw())),
            Tag::String => Value::String(JsonString::from_wtf8(
                text::decode_raw(self.raw()).into_owned(),
            )),
            Tag::Array => Value::Array(self.items().map(|item| item.to_value()).collect()),
            Tag::Object => Value::Object(
                self.members()
                    .map(|(key, value)| (key.to_json_string(), value.to_value()))
                    .collect(),
            ),
        }
    }

    pub(crate) fn with(self, slot: Slot) -> Self {
        Self { slot, ..self }
    }

    pub(crate) fn raw(&self) -> &'a str {
        &self.text[self.slot.range()]
    }

    pub(crate) fn object_members(&self) -> &'a [Member] {
        if self.slot.tag() == Tag::Object {
            &self.store.members[self.slot.range()]
        } else {
            &[]
        }
    }
}

/// The key of a member.
#[derive(Debug, Clone, Copy)]
pub struct Key<'a>(Node<'a>);

impl<'a> Key<'a> {
    /// The text, unless it holds a lone surrogate.
    pub fn as_str(&self) -> Option<Cow<'a, str>> {
        self.0.as_str()
    }

    /// The text, with U+FFFD in place of each lone surrogate.
    pub fn to_lossy(&self) -> Cow<'a, str> {
        self.0.as_lossy_str().unwrap_or_default()
    }

    /// The order of two keys by code point.
    pub fn compare(&self, other: &Self) -> Ordering {
        let Key(other) = other;
        match other.slot.flags() & ESCAPED {
            0 => compare_key(self.0.text, self.0.slot, other.raw().as_bytes()),
            _ => compare_key(self.0.text, self.0.slot, &text::decode_raw(other.raw())),
        }
    }

    /// The key, whatever it holds.
    pub fn to_json_string(&self) -> JsonString {
        self.0
            .as_json_string()
            .unwrap_or_else(|| JsonString::from(""))
    }

    /// Where the key stands in the text.
    pub fn position(&self) -> Option<Position> {
        self.0.position()
    }
}

/// Code-point order of a key as written against decoded bytes.
#[inline]
pub(super) fn compare_key(text: &str, key: Slot, wanted: &[u8]) -> Ordering {
    if key.flags() & ESCAPED == 0 {
        text.as_bytes()[key.range()].cmp(wanted)
    } else {
        text::decode_raw(&text[key.range()]).as_ref().cmp(wanted)
    }
}
