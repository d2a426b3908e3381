//! Reads a document that is stored canonically while it passes by.
//!
//! A [`Window`] holds a part of the text that is as long as the value it stands at, not as the document. It takes
//! only what the canonical form of the job dialect has: no white space, no escape, members in their order. Whoever
//! walks it gives up on anything else, and reads the document whole, which is the way that tells faults.

use std::io::Read;

use super::document::{Node, Store};
use super::reader::{Reader, ReaderParts};
use super::stored::place_after;

/// How much is read at a time.
const PIECE: usize = 256 << 10;

/// Why a document cannot be read as it passes by: it could not be read, or it is not stored canonically.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotPassing;

/// A part of a text that moves from its beginning to its end.
pub struct Window<'r> {
    input: &'r mut (dyn Read + 'r),
    /// What was read and not yet passed begins at `at`.
    text: String,
    at: usize,
    /// The beginning of a character whose rest was not read yet.
    split: Vec<u8>,
    is_at_end: bool,
    /// Bytes that were read.
    read: u64,
    limit: u64,
    parts: ReaderParts,
}

impl<'r> Window<'r> {
    /// At the beginning of `input`, which may have `limit` bytes.
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

    /// How many bytes were read so far.
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

    /// Passes one byte, if it is this one.
    pub fn pass(&mut self, wanted: u8) -> Result<bool, NotPassing> {
        let is_next = self.peek()? == Some(wanted);
        self.at += usize::from(is_next);
        Ok(is_next)
    }

    /// Passes one byte, which must be this one.
    pub fn expect(&mut self, wanted: u8) -> Result<(), NotPassing> {
        match self.pass(wanted)? {
            true => Ok(()),
            false => Err(NotPassing),
        }
    }

    /// Passes one value, around which `depth` brackets are open, and shows it with its text.
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
            // What ends where the window does may go on behind it.
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

    /// Reads as much again as is waiting, and a piece at the least; so a long value is not tried over and over.
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
    /// Forgets what was read and keeps the room for it.
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

    /// Gives a few bytes at a time.
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
    fn window_shows_every_value_however_the_text_arrives() {
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
    fn window_gives_up_on_what_is_not_stored_canonically() {
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
        assert!(window.peek().is_err(), "no UTF-8");
        let mut input = &b"[1]"[..];
        let mut window = Window::new(&mut input, 2);
        assert!(window.peek().is_err(), "too long");
    }
}
