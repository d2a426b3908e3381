//! A table from the keys of words to facts about them: built once, looked up for every word of
//! every text.

/// Open addressing by the key, which is already a hash; at most a quarter full.
pub(crate) struct Keyed<T> {
    slots: Vec<Option<(u64, T)>>,
}

impl<T: Clone> Keyed<T> {
    /// Builds the table; the first of two entries with the same key wins.
    pub(crate) fn new(entries: Vec<(u64, T)>) -> Self {
        let size = (entries.len() * 4).next_power_of_two();
        let mut table = Self {
            slots: vec![None; size],
        };
        for (key, value) in entries {
            let at = table.place(key);
            table.slots[at].get_or_insert((key, value));
        }
        table
    }

    #[inline]
    pub(crate) fn find(&self, key: u64) -> Option<&T> {
        self.slots[self.place(key)].as_ref().map(|(_, value)| value)
    }

    /// Returns the slot of `key`, or the empty one to put it in.
    #[inline]
    fn place(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = key as usize & mask;
        while self.slots[at].as_ref().is_some_and(|(own, _)| *own != key) {
            at = (at + 1) & mask;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keyed_finds_each_key_with_its_first_value_and_nothing_else() {
        // Keys that all want the same slot.
        let table = Keyed::new(vec![(16, 'a'), (32, 'b'), (48, 'c'), (32, 'd')]);
        let found = [16, 32, 48, 64, 0].map(|key| table.find(key).copied());
        assert_eq!(found, [Some('a'), Some('b'), Some('c'), None, None]);
        assert_eq!(Keyed::<u8>::new(Vec::new()).find(7), None);
    }
}
