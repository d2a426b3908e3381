//! Which elements and members of a value have been evaluated, for `unevaluatedItems` and
//! `unevaluatedProperties`.

use crate::evaluate::Instance;

/// A mark for each element or member of one value.
#[derive(Debug)]
pub(crate) struct Marks(Vec<bool>);

impl Marks {
    pub fn new(instance: Instance<'_>) -> Self {
        Self(vec![false; instance.children()])
    }

    /// The same number of marks, none of them set.
    pub fn fresh(&self) -> Self {
        Self(vec![false; self.0.len()])
    }

    pub fn set(&mut self, at: usize) {
        if let Some(mark) = self.0.get_mut(at) {
            *mark = true;
        }
    }

    pub fn set_all(&mut self) {
        self.0.fill(true);
    }

    pub fn is_set(&self, at: usize) -> bool {
        self.0.get(at).copied().unwrap_or(false)
    }

    /// Sets all marks that are set in `other`.
    pub fn add(&mut self, other: &Self) {
        for (mark, other) in self.0.iter_mut().zip(&other.0) {
            *mark |= other;
        }
    }

    /// The steps for going through all marks.
    pub fn steps(&self) -> u64 {
        1 + self.0.len() as u64 / 16
    }
}
