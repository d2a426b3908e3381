//! Text functions of the kernel: normalization of what people typed, and the tokens that matchers
//! read.
//!
//! Pure string functions; every pass over a text is linear in its length.

use runseal_core::canon::Value;

pub(crate) mod keyed;
pub(crate) mod stem;
pub(crate) mod token;

pub use runseal_core::normalize::{normalize_constraint, normalize_goal, normalize_text};
pub use runseal_core::space::{is_ecmascript_space, trim_ecmascript};

/// Returns a text on one line: every run of white space becomes one space.
pub(crate) fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// Returns strings as a JSON array.
pub(crate) fn strings(list: &[String]) -> Value {
    Value::array(list.iter().map(String::as_str))
}
