//! Text work of the kernel: normalization of what people typed, and the tokens the detectors read.
//!
//! Pure string functions; every pass over a text is linear in its length.

pub(crate) mod keyed;
pub(crate) mod lex;
mod normalize;
pub(crate) mod stem;

pub use normalize::{
    is_ecmascript_space, normalize_constraint, normalize_goal, normalize_text, trim_ecmascript,
};
