//! A map with texts as keys that is filled once and then only read.
//!
//! It is a sorted list with all texts in one string: for a hundred thousand paths that takes a fifth of the memory of a
//! tree, and paths nearly always come sorted. Others are sorted once, at the end, because inserting each at its place
//! would take quadratic time.

use std::iter::zip;

/// A map with texts as keys, ordered by code point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextMap<V> {
    texts: Texts,
    /// The value of each text.
    values: Vec<V>,
}

/// Texts in one string.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Texts {
    /// All texts, one after the other.
    joined: String,
    /// Where each text ends.
    ends: Vec<usize>,
}

impl Texts {
    fn with_capacity(count: usize) -> Self {
        Self {
            joined: String::new(),
            ends: Vec::with_capacity(count),
        }
    }

    fn push(&mut self, text: &str) {
        self.joined.push_str(text);
        self.ends.push(self.joined.len());
    }

    /// The text at this index.
    fn get(&self, at: usize) -> Option<&str> {
        let end = *self.ends.get(at)?;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.joined[start..end])
    }

    fn last(&self) -> Option<&str> {
        self.get(self.ends.len().checked_sub(1)?)
    }

    fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let text = &self.joined[start..*end];
            start = *end;
            text
        })
    }

    fn shrink_to_fit(&mut self) {
        self.joined.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}

impl<V> Default for TextMap<V> {
    fn default() -> Self {
        Self {
            texts: Texts::default(),
            values: Vec::new(),
        }
    }
}

impl<V> TextMap<V> {
    /// Counts the texts that come before `text`.
    fn rank(&self, text: &str) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.texts.get(middle) < Some(text) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The index of `text`, if it is in the map.
    fn find(&self, text: &str) -> Option<usize> {
        let at = self.rank(text);
        (self.texts.get(at) == Some(text)).then_some(at)
    }

    /// The value of `text`.
    pub fn get(&self, text: &str) -> Option<&V> {
        self.find(text).map(|at| &self.values[at])
    }

    /// Starts lookups of texts that come in order, as those of another sorted list do.
    pub fn seek(&self) -> Seek<'_, V> {
        Seek { map: self, next: 0 }
    }

    /// Whether there is an entry for `text`.
    pub fn contains_key(&self, text: &str) -> bool {
        self.find(text).is_some()
    }

    /// Every entry, ordered by text.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &V)> {
        zip(self.keys(), &self.values)
    }

    /// The entries from `first` on.
    pub fn iter_from(&self, first: &str) -> impl Iterator<Item = (&str, &V)> {
        let from = self.rank(first);
        (from..self.len()).filter_map(|at| Some((self.texts.get(at)?, &self.values[at])))
    }

    /// Every text, in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.texts.iter()
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// A [`TextMap`] that is being filled, in any order.
#[derive(Debug)]
pub struct TextMapBuilder<V> {
    texts: Texts,
    values: Vec<V>,
    /// Whether each text so far sorts after the one before it.
    is_sorted: bool,
}

impl<V> Default for TextMapBuilder<V> {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl<V> TextMapBuilder<V> {
    /// A builder with room for `count` entries.
    pub fn with_capacity(count: usize) -> Self {
        Self {
            texts: Texts::with_capacity(count),
            values: Vec::with_capacity(count),
            is_sorted: true,
        }
    }

    /// Adds an entry.
    pub fn push(&mut self, text: &str, value: V) {
        self.is_sorted &= self.last_text().is_none_or(|last| last < text);
        self.texts.push(text);
        self.values.push(value);
    }

    /// The text that was added last.
    pub fn last_text(&self) -> Option<&str> {
        self.texts.last()
    }

    /// Builds the map. Keeps the first of several entries with the same text and passes the others to `see_repeat`.
    pub fn finish(self, see_repeat: impl FnMut(&str, V)) -> TextMap<V> {
        let Self { texts, values, .. } = self;
        let mut map = if self.is_sorted {
            TextMap { texts, values }
        } else {
            sort(&texts, values, see_repeat)
        };
        map.texts.shrink_to_fit();
        map.values.shrink_to_fit();
        map
    }
}

fn sort<V>(texts: &Texts, values: Vec<V>, mut see_repeat: impl FnMut(&str, V)) -> TextMap<V> {
    let mut entries: Vec<(&str, V)> = zip(texts.iter(), values).collect();
    // Stable: of two entries with the same text the earlier stays first.
    entries.sort_by_key(|(text, _)| *text);
    let mut map = TextMap::default();
    for (text, value) in entries {
        if map.texts.last() == Some(text) {
            see_repeat(text, value);
        } else {
            map.texts.push(text);
            map.values.push(value);
        }
    }
    map
}

/// Looks up one text after the other. A text directly after the one before takes one comparison, any other as many as
/// [`TextMap::get`].
#[derive(Debug)]
pub struct Seek<'m, V> {
    map: &'m TextMap<V>,
    next: usize,
}

impl<'m, V> Seek<'m, V> {
    /// The value of `text`.
    pub fn get(&mut self, text: &str) -> Option<&'m V> {
        let TextMap { texts, values } = self.map;
        if texts.get(self.next) != Some(text) {
            self.next = self.map.rank(text);
            texts.get(self.next).filter(|found| *found == text)?;
        }
        self.next += 1;
        values.get(self.next - 1)
    }
}

/// Keeps the first of several entries with the same text.
impl<T: AsRef<str>, V> FromIterator<(T, V)> for TextMap<V> {
    fn from_iter<I: IntoIterator<Item = (T, V)>>(entries: I) -> Self {
        let mut builder = TextMapBuilder::default();
        for (text, value) in entries {
            builder.push(text.as_ref(), value);
        }
        builder.finish(|_, _| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seek_finds_what_get_finds_in_any_order() {
        let map: TextMap<u8> = ["a", "c", "d", "f"].into_iter().zip(0..).collect();
        let mut seek = map.seek();
        for text in [
            "a", "b", "c", "d", "e", "f", "g", "a", "f", "f", "", "c", "d",
        ] {
            assert_eq!(seek.get(text), map.get(text), "{text}");
        }
    }

    #[test]
    fn map_of_unsorted_entries_is_sorted_and_keeps_the_first_of_each() {
        let entries = ["b", "a", "é", "a", "B", "a"];
        let mut builder = TextMapBuilder::with_capacity(entries.len());
        for (text, at) in entries.into_iter().zip(0..) {
            builder.push(text, at);
        }
        assert_eq!(builder.last_text(), Some("a"));
        let mut repeats = Vec::new();
        let map = builder.finish(|text, value| repeats.push((text.to_owned(), value)));
        let found: Vec<_> = map.iter().collect();
        assert_eq!(found, [("B", &4), ("a", &1), ("b", &0), ("é", &2)]);
        assert_eq!(repeats, [("a".to_owned(), 3), ("a".to_owned(), 5)]);
        assert_eq!((map.get("a"), map.get("c")), (Some(&1), None));
        assert!(map.contains_key("é") && !map.contains_key(""));
        let after: Vec<_> = map.iter_from("aa").map(|(text, _)| text).collect();
        assert_eq!(after, ["b", "é"]);
        assert_eq!((map.len(), map.is_empty()), (4, false));
        assert!(TextMap::<u8>::default().is_empty());
    }
}
