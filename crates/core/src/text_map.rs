//! A map from texts that is filled once and then only asked.
//!
//! It is a sorted list, with all texts in one piece: for a hundred thousand paths that takes a fifth of the memory of a
//! tree, and they come sorted nearly always. What comes in another order is sorted once, at the end, because putting
//! each in its place would take time that grows with their square.

use std::iter::zip;

/// A map from texts, ordered by code point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextMap<V> {
    texts: Texts,
    /// What is kept for each text.
    values: Vec<V>,
}

/// Texts in one piece.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Texts {
    /// One behind the other.
    joined: String,
    /// Where each of them ends.
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

    /// The text at this place, from 0, if there is one.
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
    /// How many texts come before `text`.
    fn rank(&self, text: &str) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.texts.get(middle) < Some(text) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    /// The place of `text`, if it is there.
    fn find(&self, text: &str) -> Option<usize> {
        let at = self.rank(text);
        (self.texts.get(at) == Some(text)).then_some(at)
    }

    /// What is kept for `text`.
    pub fn get(&self, text: &str) -> Option<&V> {
        self.find(text).map(|at| &self.values[at])
    }

    /// To ask for texts that come in order, as those of another sorted list do.
    pub fn seek(&self) -> Seek<'_, V> {
        Seek { map: self, next: 0 }
    }

    /// Whether there is an entry for `text`.
    pub fn contains_key(&self, text: &str) -> bool {
        self.find(text).is_some()
    }

    /// Every entry, by text.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &V)> {
        zip(self.keys(), &self.values)
    }

    /// The entries whose text is `first` or comes behind it.
    pub fn iter_from(&self, first: &str) -> impl Iterator<Item = (&str, &V)> {
        let from = self.rank(first);
        (from..self.len()).filter_map(|at| Some((self.texts.get(at)?, &self.values[at])))
    }

    /// Every text, in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.texts.iter()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// A [`TextMap`] while it is filled, in any order.
#[derive(Debug)]
pub struct TextMapBuilder<V> {
    texts: Texts,
    values: Vec<V>,
    /// Whether each text so far came behind the one before it.
    is_sorted: bool,
}

impl<V> Default for TextMapBuilder<V> {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl<V> TextMapBuilder<V> {
    /// One that `count` entries will be added to.
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

    /// The map. Of two entries with one text the first is kept, and the other is shown to `see_repeat`.
    pub fn finish(self, see_repeat: impl FnMut(&str, V)) -> TextMap<V> {
        let Self { texts, values, .. } = self;
        let mut map = match self.is_sorted {
            true => TextMap { texts, values },
            false => sort(&texts, values, see_repeat),
        };
        map.texts.shrink_to_fit();
        map.values.shrink_to_fit();
        map
    }
}

fn sort<V>(texts: &Texts, values: Vec<V>, mut see_repeat: impl FnMut(&str, V)) -> TextMap<V> {
    let mut entries: Vec<(&str, V)> = zip(texts.iter(), values).collect();
    // Stable: of two entries with one text the earlier stays first.
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

/// Asks a map for one text after the other. A text that follows the one before takes one comparison, any other as
/// many as [`TextMap::get`] does.
#[derive(Debug)]
pub struct Seek<'m, V> {
    map: &'m TextMap<V>,
    next: usize,
}

impl<'m, V> Seek<'m, V> {
    /// What is kept for `text`.
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

/// Of two entries with one text the first is kept.
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
        let behind: Vec<_> = map.iter_from("aa").map(|(text, _)| text).collect();
        assert_eq!(behind, ["b", "é"]);
        assert_eq!((map.len(), map.is_empty()), (4, false));
        assert!(TextMap::<u8>::default().is_empty());
    }
}
