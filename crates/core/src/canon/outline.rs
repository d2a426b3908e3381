//! Documents with lists that are too long to keep in memory.
//!
//! An [`Outline`] is an object that was read like any document, except for the elements of some of its lists: each is
//! read, shown once and forgotten. Only the text of such a list is kept, so any element can be read again. This way a
//! list of a hundred thousand objects takes no memory except its text, and looking at elements while reading is faster
//! than keeping them first.

use super::document::{Document, Node, Store};
use super::error::JsonError;
use super::reader::{Fault, ReadOptions, Reader, settle};
use super::slot::{Flags, Member, Slot, Tag};
use super::stored::{place_after, string_after};
use super::text;

/// An object with some lists kept as text.
#[derive(Debug)]
pub struct Outline<'a> {
    text: &'a str,
    store: Store,
    root: Slot,
    lists: Vec<LongList>,
}

/// A list that is kept as text.
#[derive(Debug, Clone, Copy)]
pub struct LongList {
    /// The index of its name.
    name: usize,
    /// Where its key begins in the text.
    key: usize,
    /// Where its text begins, with the opening bracket.
    start: usize,
    end: usize,
    count: usize,
    /// Whether every token is where the canonical form of the job dialect puts it.
    is_stored: bool,
}

impl LongList {
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// An element of a long list while it is read.
#[derive(Debug, Clone, Copy)]
pub struct Element<'n> {
    /// The index of its list's name.
    pub list: usize,
    /// Its index in the list.
    pub at: usize,
    /// Where it begins in the text; [`Elements::look`] reads it again from there.
    pub start: usize,
    /// The element itself.
    pub node: Node<'n>,
}

/// Reads one JSON document. Lists that are members of its root and have one of `names` are not kept: their elements
/// are passed to `see`. If this returns an error, the elements passed so far are meaningless.
pub fn parse_outline<'a>(
    bytes: &'a [u8],
    options: &ReadOptions,
    names: &[&str],
    see: &mut dyn FnMut(Element<'_>),
) -> Result<Outline<'a>, JsonError> {
    let mut reader = Reader::new(bytes, options)?;
    let mut lists = Vec::new();
    let root = match read_root(&mut reader, names, see, &mut lists) {
        Ok(root) => root,
        Err(fault) => return Err(reader.error(*fault)),
    };
    Ok(Outline {
        text: reader.text,
        store: reader.store,
        root,
        lists,
    })
}

fn read_root(
    reader: &mut Reader<'_>,
    names: &[&str],
    see: &mut dyn FnMut(Element<'_>),
    lists: &mut Vec<LongList>,
) -> Result<Slot, Fault> {
    reader.begin()?;
    if reader.peek() != Some(b'{') {
        let root = reader.value(0)?;
        reader.end()?;
        return Ok(root);
    }
    let mut key_flags: Flags = 0;
    if reader.open_bracket(0, b'}')? {
        loop {
            let key = reader.key()?;
            key_flags |= key.flags();
            let written = text::decode_raw(&reader.text[key.range()]);
            let name = names.iter().position(|name| name.as_bytes() == &*written);
            let value = match name {
                Some(name) if reader.peek() == Some(b'[') => {
                    let list = read_list(reader, (name, key.start()), see)?;
                    lists.push(list);
                    // A placeholder for the list, which is in `lists`; it is never shown.
                    Slot::new(Tag::Array, 0, 0, 0)
                }
                _ => reader.value(1)?,
            };
            reader.open_members.push(Member::new(key, value));
            if !reader.another(b'}')? {
                break;
            }
        }
    }
    reader.sort_members(0, key_flags)?;
    let start = settle(&mut reader.open_members, 0, &mut reader.store.members);
    let count = reader.store.members.len() - start;
    reader.end()?;
    Ok(Slot::new(Tag::Object, 0, start, count))
}

fn read_list(
    reader: &mut Reader<'_>,
    (name, key): (usize, usize),
    see: &mut dyn FnMut(Element<'_>),
) -> Result<LongList, Fault> {
    let start = reader.place();
    let kept = (reader.store.items.len(), reader.store.members.len());
    let mut count = 0;
    let mut is_stored = true;
    // Where the canonical form ends so far.
    let mut stored_end = start + 1;
    if reader.open_bracket(1, b']')? {
        loop {
            let begin = reader.place();
            let slot = reader.value(2)?;
            let node = Node {
                text: reader.text,
                store: &reader.store,
                slot,
            };
            let stored_begin = stored_end + usize::from(count > 0);
            is_stored = is_stored && place_after(node, stored_begin) == Some(reader.place());
            stored_end = reader.place();
            see(Element {
                list: name,
                at: count,
                start: begin,
                node,
            });
            count += 1;
            reader.store.items.truncate(kept.0);
            reader.store.members.truncate(kept.1);
            if !reader.another(b']')? {
                break;
            }
        }
    }
    let end = reader.place();
    Ok(LongList {
        name,
        key,
        start,
        end,
        count,
        is_stored: is_stored && stored_end + 1 == end,
    })
}

impl<'a> Outline<'a> {
    /// The text it was read from, without a byte order mark.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The root, if it is not an object. The members of an object are read one by one.
    pub fn other_root(&self) -> Option<Node<'_>> {
        (self.root.tag() != Tag::Object).then(|| self.node(self.root))
    }

    /// The value of a member of the root; `None` for a long list too, see [`Outline::list`].
    pub fn get(&self, key: &str) -> Option<Node<'_>> {
        let member = self.node(self.root).member(key)?;
        match self.long_list(member) {
            None => Some(self.node(member.value())),
            Some(_) => None,
        }
    }

    /// Whether the root has a member with this name.
    pub fn has(&self, key: &str) -> bool {
        self.node(self.root).member(key).is_some()
    }

    /// The keys of the root's members, ordered by code point, with U+FFFD for each lone surrogate.
    pub fn keys(&self) -> impl Iterator<Item = std::borrow::Cow<'_, str>> {
        self.node(self.root)
            .members()
            .map(|(key, _)| key.to_lossy())
    }

    /// The long list whose name has this index.
    pub fn list(&self, name: usize) -> Option<LongList> {
        self.lists.iter().find(|list| list.name == name).copied()
    }

    /// Starts reading elements again.
    pub fn elements(&self) -> Elements<'a> {
        Elements {
            reader: Reader::within(self.text),
        }
    }

    /// Reads the whole document, with the memory that an outline avoids.
    pub fn parse_whole(&self, options: &ReadOptions) -> Result<Document<'a>, JsonError> {
        super::parse_document(self.text.as_bytes(), options)
    }

    /// Whether the text is its own canonical form in the job dialect, followed by `suffix` only. A string with an
    /// escape counts as not canonical, even if it is.
    pub fn is_stored_as_job(&self, suffix: &str) -> bool {
        let end = self.text.strip_suffix(suffix).map(str::len);
        end.is_some() && self.stored_end() == end
    }

    fn stored_end(&self) -> Option<usize> {
        let root = self.node(self.root);
        if self.root.tag() != Tag::Object {
            return place_after(root, 0);
        }
        let mut at = 1;
        for (number, member) in root.object_members().iter().enumerate() {
            let key = root.with(member.key());
            let value = string_after(key, at + usize::from(number > 0))? + 1;
            at = match self.long_list(member) {
                Some(list) if list.is_stored && list.start == value => list.end,
                Some(_) => return None,
                None => place_after(root.with(member.value()), value)?,
            };
        }
        Some(at + 1)
    }

    /// The long list that a member of the root is, if it is one.
    fn long_list(&self, member: &Member) -> Option<&LongList> {
        let key = member.key().start();
        self.lists.iter().find(|list| list.key == key)
    }

    fn node(&self, slot: Slot) -> Node<'_> {
        Node {
            text: self.text,
            store: &self.store,
            slot,
        }
    }
}

/// Reads elements of long lists again, one at a time.
pub struct Elements<'a> {
    reader: Reader<'a>,
}

impl Elements<'_> {
    /// Passes the element that begins at `start` in the text to `see`; `None` if no element begins there.
    pub fn look<T>(&mut self, start: usize, see: impl FnOnce(Node<'_>) -> T) -> Option<T> {
        if start >= self.reader.text.len() {
            return None;
        }
        self.reader.store.items.clear();
        self.reader.store.members.clear();
        self.reader.go_to(start);
        let slot = self.reader.value(2).ok()?;
        Some(see(Node {
            text: self.reader.text,
            store: &self.reader.store,
            slot,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::{Dialect, canonical_text, parse_document};

    const NAMES: [&str; 2] = ["a", "long"];

    fn outline<'a>(text: &'a str, seen: &mut Vec<String>) -> Result<Outline<'a>, JsonError> {
        parse_outline(
            text.as_bytes(),
            &ReadOptions::default(),
            &NAMES,
            &mut |element| {
                let text = canonical_text(element.node, Dialect::Job).unwrap();
                seen.push(format!("{} {} {text}", element.list, element.at));
            },
        )
    }

    #[test]
    fn outline_shows_every_element_once_and_finds_it_again() {
        let text = r#"{"b":[1,[2]],"long":[{"y":1,"x":[true]}, "s" ,[]],"\u0061":[7]}"#;
        let mut seen = Vec::new();
        let mut starts = Vec::new();
        let options = ReadOptions::default();
        let outline = parse_outline(text.as_bytes(), &options, &NAMES, &mut |element| {
            let text = canonical_text(element.node, Dialect::Job).unwrap();
            starts.push(element.start);
            seen.push(text);
        });
        let outline = outline.unwrap();
        assert_eq!(seen, [r#"{"x":[true],"y":1}"#, "\"s\"", "[]", "7"]);
        let mut elements = outline.elements();
        for (start, seen) in starts.iter().zip(&seen).rev() {
            let again = elements.look(*start, |node| canonical_text(node, Dialect::Job).unwrap());
            assert_eq!(again.as_ref(), Some(seen));
        }
        assert_eq!(outline.list(1).unwrap().len(), 3);
        assert_eq!(outline.list(0).unwrap().len(), 1);
        assert!(outline.get("long").is_none() && outline.get("a").is_none());
        assert!(outline.has("long") && outline.has("a") && !outline.has("c"));
        assert_eq!(outline.get("b").unwrap().len(), 2);
        assert_eq!(outline.keys().collect::<Vec<_>>(), ["a", "b", "long"]);
    }

    #[test]
    fn outline_without_long_lists_is_the_document() {
        for text in ["[1]", "5", "{}", r#"{"long":{"a":[1]},"a":null}"#] {
            let mut seen = Vec::new();
            let outline = outline(text, &mut seen).unwrap();
            assert!(seen.is_empty() && outline.list(0).is_none() && outline.list(1).is_none());
            assert_eq!(outline.other_root().is_some(), !text.starts_with('{'));
            assert_eq!(outline.has("long"), outline.get("long").is_some());
        }
    }

    #[test]
    fn outline_accepts_and_refuses_what_the_reader_does() {
        let parts = [
            "",
            "[",
            "]",
            "{",
            "}",
            "1",
            ",",
            "\"a\":",
            "\"long\":",
            "[1,{\"a\":2}]",
            " ",
        ];
        let mut texts = vec![String::new()];
        for _ in 0..5 {
            let longer = texts
                .iter()
                .flat_map(|text| parts.map(|part| format!("{text}{part}")));
            texts = longer.collect();
            texts.sort();
            texts.dedup();
            texts.retain(|text| text.is_empty() || text.starts_with('{'));
        }
        assert!(texts.len() > 5_000);
        for text in &texts {
            let whole = parse_document(text.as_bytes(), &ReadOptions::default());
            let found = outline(text, &mut Vec::new());
            match (whole, found) {
                (Ok(whole), Ok(found)) => {
                    for suffix in ["", " "] {
                        let is_stored = whole.is_stored_as_job(suffix);
                        assert_eq!(is_stored, found.is_stored_as_job(suffix), "{text}");
                    }
                }
                (Err(whole), Err(found)) => assert_eq!(whole.to_string(), found.to_string()),
                (whole, found) => panic!("{text}: {} {}", whole.is_ok(), found.is_ok()),
            }
        }
    }

    #[test]
    fn outline_knows_whether_it_is_stored_canonically() {
        for (text, is_stored) in [
            (r#"{"a":[],"long":[1,{"x":2}],"z":"s"}"#, true),
            (r#"{"long":[1,{"x":2}]}"#, true),
            (r#"{"long":[1, {"x":2}]}"#, false),
            (r#"{"long":[1,{"x":2} ]}"#, false),
            (r#"{"long":[ ]}"#, false),
            (r#"{"long": [1]}"#, false),
            (r#"{"long":[1,{"y":1,"x":2}]}"#, false),
            (r#"{"long":[1],"a":[2]}"#, false),
            (r#"{"\u0061":[2]}"#, false),
        ] {
            let found = outline(text, &mut Vec::new()).unwrap();
            assert_eq!(found.is_stored_as_job(""), is_stored, "{text}");
            let whole = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
            assert_eq!(whole.is_stored_as_job(""), is_stored, "{text}");
        }
    }
}
