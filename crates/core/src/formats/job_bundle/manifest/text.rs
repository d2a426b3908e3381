//! A string of the manifest, which may not be valid Unicode.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::canon::{JsonString, Node, Value};

/// A string of the manifest. Ordered by code point.
#[derive(Clone, Debug)]
pub enum Text<'a> {
    /// Ordinary text.
    Plain(Cow<'a, str>),
    /// Text with a lone surrogate, which JSON can write and UTF-8 cannot. Boxed to keep ordinary
    /// text small.
    Lone(Box<JsonString>),
}

impl<'a> Text<'a> {
    /// The string at `node`.
    pub(super) fn of(node: Node<'a>) -> Option<Self> {
        match node.as_str() {
            Some(text) => Some(Self::Plain(text)),
            None => node.as_json_string().map(|text| Self::Lone(Box::new(text))),
        }
    }

    /// The text, if UTF-8 can represent it.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Plain(text) => Some(text),
            Self::Lone(_) => None,
        }
    }

    /// The string as an owned value.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Plain(text) => Value::from(&**text),
            Self::Lone(text) => Value::String((**text).clone()),
        }
    }

    /// The text, for messages.
    pub fn to_lossy(&self) -> Cow<'_, str> {
        match self {
            Self::Plain(text) => Cow::Borrowed(text),
            Self::Lone(text) => Cow::Owned(text.to_lossy()),
        }
    }
}

impl Ord for Text<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            // UTF-8 orders like code points.
            (Self::Plain(a), Self::Plain(b)) => a.cmp(b),
            (Self::Lone(a), Self::Lone(b)) => a.cmp(b),
            (Self::Plain(a), Self::Lone(b)) => JsonString::from(&**a).cmp(b),
            (Self::Lone(a), Self::Plain(b)) => (**a).cmp(&JsonString::from(&**b)),
        }
    }
}

impl PartialOrd for Text<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Text<'_> {}
