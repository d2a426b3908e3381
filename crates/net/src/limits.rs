//! Bounds on single messages from either side.

use runseal_core::canon::ReadOptions;
use runseal_core::limits::JsonLimits;

/// The largest request, or line of MCP, that is accepted, in bytes.
pub(crate) const LARGEST_MESSAGE: usize = 64 << 20;

/// The most elements and members that a message may have. Stops a message of nothing but brackets,
/// which takes many times its size once parsed.
pub(crate) const MOST_VALUES: u64 = 2 << 20;

/// How a message is parsed as JSON.
pub(crate) const MESSAGE: ReadOptions = ReadOptions {
    limits: JsonLimits {
        free_values: MOST_VALUES,
        bytes_per_value: u64::MAX,
        ..JsonLimits::TEXT
    },
    strip_bom: false,
};

/// Counts the elements and members of a JSON text that arrives in parts, without storing it.
#[derive(Debug, Default)]
pub(crate) struct ValueCounter {
    count: u64,
    in_string: bool,
    is_escaped: bool,
}

impl ValueCounter {
    /// Adds a part; returns whether the count is still at most [`MOST_VALUES`].
    pub(crate) fn add(&mut self, part: &[u8]) -> bool {
        for byte in part {
            match (self.in_string, byte) {
                (true, _) if self.is_escaped => self.is_escaped = false,
                (true, b'\\') => self.is_escaped = true,
                (true, b'"') => self.in_string = false,
                (true, _) => {}
                (false, b'"') => self.in_string = true,
                (false, b',' | b'[' | b'{') => self.count += 1,
                (false, _) => {}
            }
        }
        self.count <= MOST_VALUES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_counter_ignores_signs_inside_strings() {
        let mut counter = ValueCounter::default();
        let text = br#"{"a,[{\",":[1,2,{"b":"\\"}],"c":"}, ["}"#;
        for part in text.chunks(3) {
            assert!(counter.add(part));
        }
        assert_eq!(counter.count, 6);
        let most = usize::try_from(MOST_VALUES).unwrap();
        assert!(ValueCounter::default().add(&vec![b','; most]));
        assert!(!ValueCounter::default().add(&vec![b','; most + 1]));
    }
}
