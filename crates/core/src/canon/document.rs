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

/// The elements of all arrays and the members of all objects.
#[derive(Debug, Default)]
pub(crate) struct Store {
    pub items: Vec<Slot>,
    /// Sorted by code point within each object.
    pub members: Vec<Member>,
}

impl Store {
    /// An empty store for a text of `bytes` bytes. For a large text it reserves room for the usual
    /// number of values, so that it is not moved while it grows. Reserved but unused memory costs
    /// nothing.
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

/// A document that was read completely and is strict JSON.
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

    /// The number of elements and members.
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
    /// The kind of value.
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

    /// The text of a string, if it is one without lone surrogates.
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

    /// The string, if it is one, including lone surrogates.
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

    /// The elements of an array; empty for anything else.
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

    /// The element of an array at this index, in constant time.
    pub fn item(&self, at: usize) -> Option<Node<'a>> {
        let range = (self.slot.tag() == Tag::Array).then(|| self.slot.range())?;
        let slot = self.store.items[range].get(at)?;
        Some(self.with(*slot))
    }

    /// The members of an object ordered by key (code points); empty for anything else.
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

    /// The values of the members named in `names`, which must be sorted. One pass over both, because
    /// looking up each name would take longer than reading did.
    pub fn fields<const N: usize>(&self, names: [&str; N]) -> [Option<Node<'a>>; N] {
        let mut found = [None; N];
        let mut at = 0;
        for member in self.object_members() {
            // If no member is missing or unknown, this is always the next name.
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

    /// The number of elements or members; 0 for anything else.
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

    /// The position of a string or number in the text; `None` for anything else.
    pub fn position(&self) -> Option<Position> {
        matches!(self.slot.tag(), Tag::String | Tag::Number)
            .then(|| Position::of(self.text.as_bytes(), self.slot.start()))
    }

    /// Compares two strings by UTF-16 code units; a lone surrogate is one unit. Anything else counts
    /// as the empty string.
    pub fn compare_utf16(&self, other: &Node<'_>) -> Ordering {
        fn bytes<'n>(node: &Node<'n>) -> Cow<'n, [u8]> {
            match node.slot.tag() {
                Tag::String => text::decode_raw(node.raw()),
                _ => Cow::Borrowed(&[]),
            }
        }
        text::compare_utf16_bytes(&bytes(self), &bytes(other))
    }

    /// The size of its document in bytes.
    pub(crate) fn document_bytes(&self) -> usize {
        self.text.len()
    }

    /// A key that is unique among the values of its document, except that two empty arrays or two
    /// empty objects may share one.
    pub fn identity(&self) -> (usize, u32) {
        let is_empty = u32::from(self.slot.len() == 0);
        (self.slot.start(), (self.slot.tag() as u32) << 1 | is_empty)
    }

    /// The byte range of a string in the text, without its quotes; `None` for anything else.
    pub fn string_place(&self) -> Option<std::ops::Range<usize>> {
        (self.slot.tag() == Tag::String).then(|| self.slot.range())
    }

    /// The byte range of a number, or of a string without its quotes, in the text.
    pub(crate) fn place(&self) -> std::ops::Range<usize> {
        self.slot.range()
    }

    /// Whether a string is written with escapes.
    pub(crate) fn is_escaped(&self) -> bool {
        self.slot.flags() & ESCAPED != 0
    }

    /// Makes an owned copy.
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
    /// The text, unless it has a lone surrogate.
    pub fn as_str(&self) -> Option<Cow<'a, str>> {
        self.0.as_str()
    }

    /// The text, with U+FFFD for each lone surrogate.
    pub fn to_lossy(&self) -> Cow<'a, str> {
        self.0.as_lossy_str().unwrap_or_default()
    }

    /// Compares two keys by code point.
    pub fn compare(&self, other: &Self) -> Ordering {
        let Key(other) = other;
        match other.slot.flags() & ESCAPED {
            0 => compare_key(self.0.text, self.0.slot, other.raw().as_bytes()),
            _ => compare_key(self.0.text, self.0.slot, &text::decode_raw(other.raw())),
        }
    }

    /// The key, including lone surrogates.
    pub fn to_json_string(&self) -> JsonString {
        self.0
            .as_json_string()
            .unwrap_or_else(|| JsonString::from(""))
    }

    /// The position of the key in the text.
    pub fn position(&self) -> Option<Position> {
        self.0.position()
    }
}

/// Compares a key as written with decoded bytes, by code point.
#[inline]
pub(super) fn compare_key(text: &str, key: Slot, wanted: &[u8]) -> Ordering {
    if key.flags() & ESCAPED == 0 {
        text.as_bytes()[key.range()].cmp(wanted)
    } else {
        text::decode_raw(&text[key.range()]).as_ref().cmp(wanted)
    }
}
