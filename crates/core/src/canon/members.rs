//! The members of an owned object: a sorted list, because most objects have few members. A tree takes several hundred
//! bytes for the first member, a hundred times the text of a small object.

use std::{slice, vec};

use super::text::JsonString;
use super::value::Value;

/// Members by key, ordered by code point. Adding one at the end is quick; elsewhere it takes linear time, so collect
/// many at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Members {
    sorted: Vec<(JsonString, Value)>,
}

impl Members {
    /// No members.
    pub const fn new() -> Self {
        Self { sorted: Vec::new() }
    }

    fn find(&self, key: &JsonString) -> Result<usize, usize> {
        match self.sorted.last() {
            Some((last, _)) if last < key => Err(self.sorted.len()),
            _ => self.sorted.binary_search_by(|(other, _)| other.cmp(key)),
        }
    }

    /// The value of `key`.
    pub fn get(&self, key: &JsonString) -> Option<&Value> {
        let at = self.find(key).ok()?;
        Some(&self.sorted[at].1)
    }

    /// The value of `key`, mutable.
    pub fn get_mut(&mut self, key: &JsonString) -> Option<&mut Value> {
        let at = self.find(key).ok()?;
        Some(&mut self.sorted[at].1)
    }

    /// Whether there is a member `key`.
    pub fn contains_key(&self, key: &JsonString) -> bool {
        self.find(key).is_ok()
    }

    /// Adds a member. Returns the value that `key` had before.
    pub fn insert(&mut self, key: JsonString, value: Value) -> Option<Value> {
        match self.find(&key) {
            Ok(at) => Some(std::mem::replace(&mut self.sorted[at].1, value)),
            Err(at) => {
                self.sorted.insert(at, (key, value));
                None
            }
        }
    }

    /// Removes a member. Returns its value.
    pub fn remove(&mut self, key: &JsonString) -> Option<Value> {
        let at = self.find(key).ok()?;
        Some(self.sorted.remove(at).1)
    }

    /// Keeps only the members for which `keep` returns `true`; it may change their values.
    pub fn retain(&mut self, mut keep: impl FnMut(&JsonString, &mut Value) -> bool) {
        self.sorted.retain_mut(|(key, value)| keep(key, value));
    }

    /// Every member, ordered by key.
    pub fn iter(&self) -> Iter<'_> {
        Iter(self.sorted.iter())
    }

    /// Every member, ordered by key, with a mutable value.
    pub fn iter_mut(&mut self) -> IterMut<'_> {
        IterMut(self.sorted.iter_mut())
    }

    /// Every key, in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &JsonString> + Clone {
        self.sorted.iter().map(|(key, _)| key)
    }

    /// Every value, ordered by key.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> + Clone {
        self.sorted.iter().map(|(_, value)| value)
    }

    /// Every value, ordered by key, mutable.
    pub fn values_mut(&mut self) -> impl ExactSizeIterator<Item = &mut Value> {
        self.sorted.iter_mut().map(|(_, value)| value)
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }
}

/// An iterator over members, ordered by key.
#[derive(Debug, Clone)]
pub struct Iter<'a>(slice::Iter<'a, (JsonString, Value)>);

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a JsonString, &'a Value);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for Iter<'_> {}

/// An iterator over members, ordered by key, with mutable values.
#[derive(Debug)]
pub struct IterMut<'a>(slice::IterMut<'a, (JsonString, Value)>);

impl<'a> Iterator for IterMut<'a> {
    type Item = (&'a JsonString, &'a mut Value);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (&*key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<'a> IntoIterator for &'a Members {
    type Item = (&'a JsonString, &'a Value);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut Members {
    type Item = (&'a JsonString, &'a mut Value);
    type IntoIter = IterMut<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl IntoIterator for Members {
    type Item = (JsonString, Value);
    type IntoIter = vec::IntoIter<(JsonString, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.sorted.into_iter()
    }
}

/// Keeps the last of several members with the same key.
impl FromIterator<(JsonString, Value)> for Members {
    fn from_iter<I: IntoIterator<Item = (JsonString, Value)>>(members: I) -> Self {
        let mut sorted: Vec<_> = members.into_iter().collect();
        if !sorted.is_sorted_by(|a, b| a.0 < b.0) {
            // Stable, so that the last member of a key stays last.
            sorted.sort_by(|a, b| a.0.cmp(&b.0));
            sorted.dedup_by(|later, kept| {
                let is_same = later.0 == kept.0;
                if is_same {
                    std::mem::swap(later, kept);
                }
                is_same
            });
        }
        sorted.shrink_to_fit();
        Self { sorted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(given: &[(&str, i32)]) -> Members {
        let given = given.iter();
        given
            .map(|(key, value)| ((*key).into(), Value::from(*value)))
            .collect()
    }

    #[test]
    fn members_in_any_order_are_sorted_and_keep_the_last_of_each_key() {
        let given = members(&[("b", 1), ("a", 2), ("b", 3), ("é", 4), ("b", 5), ("B", 6)]);
        assert_eq!(given, members(&[("B", 6), ("a", 2), ("b", 5), ("é", 4)]));
        let mut inserted = Members::new();
        for (key, value) in [("b", 1), ("a", 2), ("b", 5), ("é", 4), ("B", 6)] {
            let before = inserted.insert(key.into(), value.into());
            assert_eq!(before.is_some(), value == 5);
        }
        assert_eq!(inserted, given);
        assert_eq!(inserted.remove(&"a".into()), Some(2.into()));
        assert_eq!(inserted.remove(&"a".into()), None);
        inserted.retain(|_, value| *value != Value::from(6));
        assert_eq!(inserted, members(&[("b", 5), ("é", 4)]));
        assert!(inserted.contains_key(&"é".into()) && !inserted.contains_key(&"z".into()));
        for (_, value) in &mut inserted {
            *value = Value::Null;
        }
        assert!(inserted.values().all(|value| *value == Value::Null));
    }
}
