//! Owned JSON values, for documents that are made rather than read.

use super::members::Members;
use super::number::Number;
use super::text::JsonString;

/// An owned JSON value. Members are sorted by key, so there is no order to get wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as written.
    Number(NumberText),
    /// A string.
    String(JsonString),
    /// An array.
    Array(Vec<Value>),
    /// An object.
    Object(Members),
}

/// The text of a number, in JSON's grammar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberText(Digits);

/// The text of a number. Most are short, and a document may be nothing but numbers: an allocation for each would take
/// several times the text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Digits {
    /// Inline, up to the first zero byte; ASCII, as all JSON numbers are.
    Short([u8; SHORT]),
    /// Allocated.
    Long(Box<str>),
}

/// The longest text that is kept inline.
const SHORT: usize = 15;

impl NumberText {
    /// `text` must follow the grammar.
    fn new(text: &str) -> Self {
        let mut short = [0; SHORT];
        Self(match short.get_mut(..text.len()) {
            Some(place) => {
                place.copy_from_slice(text.as_bytes());
                Digits::Short(short)
            }
            None => Digits::Long(text.into()),
        })
    }

    /// The number.
    pub fn get(&self) -> Number<'_> {
        Number::new(match &self.0 {
            Digits::Short(short) => {
                let length = short.iter().position(|byte| *byte == 0).unwrap_or(SHORT);
                // It was made from a `str`, so it is UTF-8.
                str::from_utf8(&short[..length]).unwrap_or_default()
            }
            Digits::Long(text) => text,
        })
    }
}

impl Value {
    /// An object with the given members; of two with the same key the later one is kept.
    pub fn object<V: Into<Value>>(members: impl IntoIterator<Item = (&'static str, V)>) -> Self {
        let members = members.into_iter();
        Self::Object(
            members
                .map(|(key, value)| (JsonString::from_static(key), value.into()))
                .collect(),
        )
    }

    /// An array of the given elements.
    pub fn array<V: Into<Value>>(elements: impl IntoIterator<Item = V>) -> Self {
        Self::Array(elements.into_iter().map(Into::into).collect())
    }

    /// The member `key`, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Self::Object(members) => members.get(&JsonString::from(key)),
            _ => None,
        }
    }

    /// Adds a member to an object, or replaces it; does nothing to any other value.
    pub fn insert(&mut self, key: &str, value: impl Into<Value>) {
        if let Self::Object(members) = self {
            members.insert(key.into(), value.into());
        }
    }

    /// The text of a string, if it is one without lone surrogates.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(string) => string.as_str(),
            _ => None,
        }
    }

    pub(crate) fn number_from(number: Number<'_>) -> Self {
        Self::Number(NumberText::new(number.text()))
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text.into())
    }
}

impl From<JsonString> for Value {
    fn from(string: JsonString) -> Self {
        Self::String(string)
    }
}

impl From<Vec<Value>> for Value {
    fn from(elements: Vec<Value>) -> Self {
        Self::Array(elements)
    }
}

impl<V: Into<Value>> From<Option<V>> for Value {
    fn from(value: Option<V>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

macro_rules! value_from_integer {
    ($($integer:ty)*) => {$(
        impl From<$integer> for Value {
            fn from(value: $integer) -> Self {
                Self::Number(NumberText::new(&value.to_string()))
            }
        }
    )*};
}

value_from_integer!(i32 i64 u8 u16 u32 u64 usize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_text_of_any_length_is_kept_and_is_no_larger_than_a_string() {
        for length in 1..40 {
            let text = "1".repeat(length);
            let number = NumberText::new(&text);
            assert_eq!(number.get().text(), text);
            assert_eq!(number, number.clone());
        }
        assert_eq!(size_of::<Value>(), size_of::<JsonString>());
    }
}
