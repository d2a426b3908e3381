//! Reads a canonically stored document as a stream.
//!
//! A [`Window`] keeps only as much text as the current value needs, not the whole document. It accepts only the
//! canonical form of the job dialect: no white space, no escapes, sorted members. On anything else its caller gives up
//! and reads the whole document, which is how faults are found.

use std::io::Read;

use super::document::{Node, Store};
use super::reader::{Reader, ReaderParts};
use super::stored::place_after;

/// The bytes that are read at a time.
const PIECE: usize = 256 << 10;

/// The document cannot be read as a stream: reading failed, or it is not stored canonically.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotPassing;

/// A part of a text that moves from the text's beginning to its end.
pub struct Window<'r> {
    input: &'r mut (dyn Read + 'r),
    /// Text that was read; the part from `at` on is not yet passed.
    text: String,
    at: usize,
    /// The first bytes of a character whose rest is not yet read.
    split: Vec<u8>,
    is_at_end: bool,
    /// The number of bytes read.
    read: u64,
    limit: u64,
    parts: ReaderParts,
}

impl<'r> Window<'r> {
    /// A window at the beginning of `input`, which may have up to `limit` bytes.
    pub fn new(input: &'r mut (dyn Read + 'r), limit: u64) -> Self {
        Self {
            input,
            text: String::new(),
            at: 0,
            split: Vec::new(),
            is_at_end: false,
            read: 0,
            limit,
            parts: ReaderParts::default(),
        }
    }

    /// The number of bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.read
    }

    /// The next byte; `None` at the end.
    pub fn peek(&mut self) -> Result<Option<u8>, NotPassing> {
        while self.at == self.text.len() && !self.is_at_end {
            self.fill()?;
        }
        Ok(self.text.as_bytes().get(self.at).copied())
    }

    /// Passes the next byte if it is `wanted`. Returns whether it is.
    pub fn pass(&mut self, wanted: u8) -> Result<bool, NotPassing> {
        let is_next = self.peek()? == Some(wanted);
        self.at += usize::from(is_next);
        Ok(is_next)
    }

    /// Passes the next byte, which must be `wanted`.
    pub fn expect(&mut self, wanted: u8) -> Result<(), NotPassing> {
        if self.pass(wanted)? {
            Ok(())
        } else {
            Err(NotPassing)
        }
    }

    /// Passes one value, around which `depth` brackets are open, and hands it to `see` with its text.
    pub fn value<T>(
        &mut self,
        depth: u32,
        see: impl FnOnce(Node<'_>, &str) -> T,
    ) -> Result<T, NotPassing> {
        loop {
            let parts = std::mem::take(&mut self.parts);
            let mut reader = Reader::resume(&self.text, self.at, parts);
            let slot = reader.value(depth);
            let end = reader.place();
            // A value that ends where the window does may continue after it.
            if let Ok(slot) = slot
                && (end < self.text.len() || self.is_at_end)
            {
                let node = Node {
                    text: reader.text,
                    store: &reader.store,
                    slot,
                };
                if place_after(node, self.at) != Some(end) {
                    return Err(NotPassing);
                }
                let seen = see(node, &reader.text[self.at..end]);
                self.parts = reader.into_parts();
                self.at = end;
                return Ok(seen);
            }
            self.parts = reader.into_parts();
            if self.is_at_end {
                return Err(NotPassing);
            }
            self.fill()?;
        }
    }

    /// Doubles the unpassed text, but reads at least one piece, so that a long value is not tried again too often.
    fn fill(&mut self) -> Result<(), NotPassing> {
        self.text.drain(..self.at);
        self.at = 0;
        let wanted = PIECE.max(self.text.len()) as u64;
        let mut bytes = std::mem::take(&mut self.split);
        let before = bytes.len();
        let read = Read::take(&mut *self.input, wanted).read_to_end(&mut bytes);
        read.map_err(|_| NotPassing)?;
        let count = bytes.len() - before;
        self.is_at_end = count == 0;
        self.read += count as u64;
        if self.read > self.limit {
            return Err(NotPassing);
        }
        let text = match str::from_utf8(&bytes) {
            Ok(text) => text,
            Err(error) if error.error_len().is_none() && !self.is_at_end => {
                let (whole, split) = bytes.split_at(error.valid_up_to());
                self.split = split.to_vec();
                str::from_utf8(whole).map_err(|_| NotPassing)?
            }
            Err(_) => return Err(NotPassing),
        };
        self.text.push_str(text);
        Ok(())
    }
}

impl ReaderParts {
    /// Empties the buffers and keeps their capacity.
    pub(super) fn cleared(mut self) -> Self {
        let Store { items, members } = &mut self.store;
        items.clear();
        members.clear();
        self.open_items.clear();
        self.open_members.clear();
        self
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::canon::{Dialect, canonical_text};

    /// Returns a few bytes at a time.
    struct Drops<'a>(&'a [u8], usize);

    impl Read for Drops<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(buffer.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn walk(text: &str, drop: usize) -> Result<Vec<String>, NotPassing> {
        let mut input = Drops(text.as_bytes(), drop);
        let mut window = Window::new(&mut input, 1 << 30);
        let mut seen = Vec::new();
        window.expect(b'[')?;
        loop {
            let shown = window.value(1, |node, raw| {
                assert_eq!(canonical_text(node, Dialect::Job).unwrap(), raw);
                raw.to_owned()
            })?;
            seen.push(shown);
            if !window.pass(b',')? {
                break;
            }
        }
        window.expect(b']')?;
        match window.peek()? {
            None => Ok(seen),
            Some(_) => Err(NotPassing),
        }
    }

    #[test]
    fn window_shows_every_value_whatever_pieces_the_text_arrives_in() {
        let text = r#"[1234,"a",{"k":[true,null],"l":-5},[],"bcd",99]"#;
        let expected = [
            "1234",
            "\"a\"",
            r#"{"k":[true,null],"l":-5}"#,
            "[]",
            "\"bcd\"",
            "99",
        ];
        for drop in 1..text.len() + 1 {
            assert_eq!(walk(text, drop).unwrap(), expected, "{drop}");
        }
    }

    #[test]
    fn window_passes_values_that_are_longer_than_a_piece() {
        let long = "x".repeat(3 * PIECE);
        let text = format!(r#"["{long}",{{"a":"{long}"}},7]"#);
        assert_eq!(walk(&text, PIECE / 3).unwrap().len(), 3);
    }

    #[test]
    fn window_gives_up_if_the_text_is_not_stored_canonically() {
        for text in [
            "[1 ,2]",
            "[ 1]",
            "[1,2",
            "[1,2]]",
            "[1.50]",
            "[\"\\u0041\"]",
            "[\"é\"]",
            "[{\"b\":1,\"a\":2}]",
            "[{\"a\":1,\"a\":2}]",
            "[1,]",
            "",
            "[tru]",
        ] {
            assert_eq!(walk(text, 3), Err(NotPassing), "{text}");
        }
        let mut input = &b"[\"\xff\"]"[..];
        let mut window = Window::new(&mut input, 100);
        assert!(window.peek().is_err(), "not UTF-8");
        let mut input = &b"[1]"[..];
        let mut window = Window::new(&mut input, 2);
        assert!(window.peek().is_err(), "too long");
    }
}
