//! Writes canonical objects member by member and their lists element by element, so that a list of a
//! million elements is never in memory.
//!
//! Values go through the one writer; only the punctuation between them is written here. Members must
//! come in the dialect's order, which is checked.

use std::io::{self, Read, Write};

use super::dialect::Dialect;
use super::writer::{AnyJson, CanonError, Failure, canonical_bytes, write};

/// Writes one object. Its keys are lower-case ASCII letters and `_`, which every dialect prints
/// unchanged and sorts alike.
#[derive(Debug)]
pub struct ObjectWriter<W> {
    sink: W,
    dialect: Dialect,
    last: Option<&'static str>,
}

impl<W: Write> ObjectWriter<W> {
    /// Begins an object.
    pub fn begin(mut sink: W, dialect: Dialect) -> Result<Self, CanonError> {
        sink.write_all(b"{")?;
        Ok(Self {
            sink,
            dialect,
            last: None,
        })
    }

    /// Adds a member.
    pub fn member<'v>(
        &mut self,
        key: &'static str,
        value: impl Into<AnyJson<'v>>,
    ) -> Result<(), CanonError> {
        self.key(key)?;
        write(value.into(), self.dialect, b"", &mut self.sink).map_err(|failure| match failure {
            Failure::Sink(error) => CanonError::Sink(error),
            other => CanonError::NoForm(other.into_no_form()),
        })
    }

    /// Adds a member that is a list, whose elements `fill` writes.
    pub fn list<E: From<CanonError>>(
        &mut self,
        key: &'static str,
        fill: impl FnOnce(&mut ListWriter<&mut W>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.key(key)?;
        let mut list = ListWriter::begin(&mut self.sink, self.dialect);
        list.bracket(b"[")?;
        fill(&mut list)?;
        list.bracket(b"]")?;
        Ok(())
    }

    /// Ends the object and returns the sink.
    pub fn end(mut self) -> Result<W, CanonError> {
        self.sink.write_all(b"}")?;
        Ok(self.sink)
    }

    fn key(&mut self, key: &'static str) -> Result<(), CanonError> {
        let is_plain = key
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        if !is_plain || self.last.is_some_and(|last| last >= key) {
            return Err(CanonError::Order(key));
        }
        if self.last.is_some() {
            self.sink.write_all(b",")?;
        }
        self.last = Some(key);
        write!(self.sink, "\"{key}\":")?;
        Ok(())
    }
}

/// Writes the elements of a list, separated by commas.
#[derive(Debug)]
pub struct ListWriter<W> {
    sink: W,
    dialect: Dialect,
    is_empty: bool,
}

impl<W: Write> ListWriter<W> {
    /// Begins the elements of a list without its brackets, for [`ListWriter::append`].
    pub fn begin(sink: W, dialect: Dialect) -> Self {
        Self {
            sink,
            dialect,
            is_empty: true,
        }
    }

    /// Adds an element.
    pub fn element<'v>(&mut self, value: impl Into<AnyJson<'v>>) -> Result<(), CanonError> {
        let bytes = canonical_bytes(value, self.dialect)?;
        self.separate()?;
        Ok(self.sink.write_all(&bytes)?)
    }

    /// Adds elements that another writer of the same dialect wrote without brackets; there must be at
    /// least one.
    pub fn append(&mut self, elements: &mut dyn Read) -> Result<(), CanonError> {
        self.separate()?;
        io::copy(elements, &mut self.sink)?;
        Ok(())
    }

    /// Ends the elements and flushes the sink.
    pub fn end(mut self) -> Result<(), CanonError> {
        Ok(self.sink.flush()?)
    }

    fn separate(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.is_empty) {
            self.sink.write_all(b",")?;
        }
        Ok(())
    }

    fn bracket(&mut self, bracket: &[u8]) -> Result<(), CanonError> {
        Ok(self.sink.write_all(bracket)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::Value;

    #[test]
    fn object_written_in_pieces_equals_the_object_written_whole() {
        let elements = [
            Value::from("é\n"),
            Value::from(1_u64),
            Value::object([("z", "1"), ("a", "2")]),
        ];
        let mut whole = Value::object([("a", "x"), ("b", "y")]);
        whole.insert("empty", Value::array([] as [Value; 0]));
        whole.insert("list", Value::array(elements.clone()));
        for dialect in Dialect::ALL {
            let mut apart = Vec::new();
            let mut list = ListWriter::begin(&mut apart, dialect);
            list.element(&elements[1]).unwrap();
            list.element(&elements[2]).unwrap();
            let mut object = ObjectWriter::begin(Vec::new(), dialect).unwrap();
            object.member("a", &Value::from("x")).unwrap();
            object.member("b", &Value::from("y")).unwrap();
            object.list("empty", |_| Ok::<_, CanonError>(())).unwrap();
            object
                .list("list", |list| {
                    list.element(&elements[0])?;
                    list.append(&mut apart.as_slice())
                })
                .unwrap();
            let written = object.end().unwrap();
            assert_eq!(written, canonical_bytes(&whole, dialect).unwrap());
        }
    }

    #[test]
    fn object_members_out_of_order_or_duplicate_are_refused() {
        for (first, second) in [("b", "a"), ("a", "a"), ("a", "B")] {
            let mut object = ObjectWriter::begin(Vec::new(), Dialect::Jcs).unwrap();
            object.member(first, &Value::Null).unwrap();
            let refused = object.member(second, &Value::Null);
            assert!(matches!(refused, Err(CanonError::Order(_))));
        }
    }
}
