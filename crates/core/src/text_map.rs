//! A map from texts that is filled once and then only asked.
//!
//! It is a sorted list: for a hundred thousand paths that takes a third of the memory of a tree, and they come sorted
//! nearly always. It is made from all its entries at once, because adding one by one in the wrong order would take
//! time that grows with their square.

/// A map from texts, ordered by code point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextMap<V> {
    entries: Vec<(Box<str>, V)>,
}

impl<V> Default for TextMap<V> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
        }
    }
}

impl<V> TextMap<V> {
    /// The map of `entries`, and those whose text an earlier one has, by text.
    pub fn with_repeats(mut entries: Vec<(Box<str>, V)>) -> (Self, Vec<(Box<str>, V)>) {
        if !entries.is_sorted_by(|a, b| a.0 < b.0) {
            // Stable: of two entries with one text the earlier stays first.
            entries.sort_by(|a, b| a.0.cmp(&b.0));
        }
        let has_repeats = entries.windows(2).any(|pair| pair[0].0 == pair[1].0);
        let mut repeats = Vec::new();
        if has_repeats {
            let mut kept: Vec<(Box<str>, V)> = Vec::with_capacity(entries.len());
            for entry in entries {
                match kept.last() {
                    Some(last) if last.0 == entry.0 => repeats.push(entry),
                    _ => kept.push(entry),
                }
            }
            entries = kept;
        }
        entries.shrink_to_fit();
        (Self { entries }, repeats)
    }

    /// What is kept for `text`.
    pub fn get(&self, text: &str) -> Option<&V> {
        let at = self
            .entries
            .binary_search_by(|(key, _)| (**key).cmp(text))
            .ok()?;
        Some(&self.entries[at].1)
    }

    /// To ask for texts that come in order, as those of another sorted list do.
    pub fn seek(&self) -> Seek<'_, V> {
        Seek { map: self, next: 0 }
    }

    /// Whether there is an entry for `text`.
    pub fn contains_key(&self, text: &str) -> bool {
        self.get(text).is_some()
    }

    /// Every entry, by text.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &V)> {
        self.entries.iter().map(|(key, value)| (&**key, value))
    }

    /// The entries whose text is `first` or comes behind it.
    pub fn iter_from(&self, first: &str) -> impl Iterator<Item = (&str, &V)> {
        let at = self.entries.partition_point(|(key, _)| **key < *first);
        self.entries[at..]
            .iter()
            .map(|(key, value)| (&**key, value))
    }

    /// Every text, in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.entries.iter().map(|(key, _)| &**key)
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
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
        let entries = &self.map.entries;
        if entries.get(self.next).is_none_or(|(key, _)| **key != *text) {
            self.next = entries.partition_point(|(key, _)| **key < *text);
        }
        let (_, value) = entries.get(self.next).filter(|(key, _)| **key == *text)?;
        self.next += 1;
        Some(value)
    }
}

/// Of two entries with one text the first is kept.
impl<V> FromIterator<(Box<str>, V)> for TextMap<V> {
    fn from_iter<I: IntoIterator<Item = (Box<str>, V)>>(entries: I) -> Self {
        Self::with_repeats(entries.into_iter().collect()).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str, value: u8) -> (Box<str>, u8) {
        (text.into(), value)
    }

    #[test]
    fn seek_finds_what_get_finds_in_any_order() {
        let map: TextMap<u8> = ["a", "c", "d", "f"]
            .into_iter()
            .zip(0..)
            .map(|(t, v)| entry(t, v))
            .collect();
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
        let entries = entries.iter().zip(0..).map(|(text, at)| entry(text, at));
        let (map, repeats) = TextMap::with_repeats(entries.collect());
        let found: Vec<_> = map.iter().collect();
        assert_eq!(found, [("B", &4), ("a", &1), ("b", &0), ("é", &2)]);
        assert_eq!(repeats, [entry("a", 3), entry("a", 5)]);
        assert_eq!((map.get("a"), map.get("c")), (Some(&1), None));
        assert!(map.contains_key("é") && !map.contains_key(""));
        let behind: Vec<_> = map.iter_from("aa").map(|(text, _)| text).collect();
        assert_eq!(behind, ["b", "é"]);
        assert_eq!((map.len(), map.is_empty()), (4, false));
        assert!(TextMap::<u8>::default().is_empty());
    }
}
