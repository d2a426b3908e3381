//! Whether values are equal: numbers by value, members in any order.

use runseal_core::canon::{Dialect, Kind, Node, Value, canonical_digest};
use runseal_core::digest::Digest;

use super::{Check, Instance, Verdict};
use crate::Exhausted;

/// Steps for computing the digest of an element to find an equal one.
const STEPS_A_DIGEST: u64 = 16;

impl Check<'_> {
    /// Whether a value equals one of the schema.
    pub(super) fn equals(&mut self, instance: Instance<'_>, expected: &Value) -> Verdict {
        match instance {
            Instance::Node(node) => self.node_equals(node, expected),
            Instance::Name(name) => {
                self.read(name)?;
                Ok(matches!(expected, Value::String(text) if text.to_lossy() == name))
            }
        }
    }

    fn node_equals(&mut self, node: Node<'_>, expected: &Value) -> Verdict {
        self.step(1)?;
        match (node.kind(), expected) {
            (Kind::Null, Value::Null) => Ok(true),
            (Kind::Bool, Value::Bool(flag)) => Ok(node.as_bool() == Some(*flag)),
            (Kind::Number, Value::Number(number)) => {
                let value = node.as_number().map(|number| number.to_f64());
                Ok(value == Some(number.get().to_f64()))
            }
            (Kind::String, Value::String(expected)) => {
                let Some(text) = expected.as_str() else {
                    return Ok(node.as_json_string().as_ref() == Some(expected));
                };
                self.read(text)?;
                Ok(node.as_str().is_some_and(|found| found == text))
            }
            (Kind::Array, Value::Array(expected)) => {
                if node.items().len() != expected.len() {
                    return Ok(false);
                }
                for (item, expected) in node.items().zip(expected) {
                    if !self.node_equals(item, expected)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Kind::Object, Value::Object(expected)) => {
                if node.members().len() != expected.len() {
                    return Ok(false);
                }
                // Both are ordered by code point.
                for ((key, member), (name, expected)) in node.members().zip(expected) {
                    let key = key.to_json_string();
                    self.step(1)?;
                    if key != *name || !self.node_equals(member, expected)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// The indexes of the first two equal elements, if there are any.
    pub(super) fn find_duplicates(
        &mut self,
        array: Node<'_>,
    ) -> Result<Option<(usize, usize)>, Exhausted> {
        if array.items().len() < 2 {
            return Ok(None);
        }
        let mut digests = Vec::new();
        for (at, item) in array.items().enumerate() {
            self.step(STEPS_A_DIGEST)?;
            self.read_all(item)?;
            // Only elements with numbers beyond a double's range have no canonical form; these all count as equal.
            let digest = canonical_digest(item, Dialect::Kernel);
            digests.push((digest.unwrap_or_else(|_| Digest::of(b"null")), at));
        }
        digests.sort_unstable();
        let equal = digests.windows(2).filter(|pair| pair[0].0 == pair[1].0);
        Ok(equal.map(|pair| (pair[0].1, pair[1].1)).min())
    }

    /// Counts the steps for reading a whole value.
    fn read_all(&mut self, node: Node<'_>) -> Result<(), Exhausted> {
        self.step(1)?;
        for item in node.items() {
            self.read_all(item)?;
        }
        for (key, value) in node.members() {
            self.read(&key.to_lossy())?;
            self.read_all(value)?;
        }
        match node.as_lossy_str() {
            Some(text) => self.read(&text),
            None => Ok(()),
        }
    }
}
