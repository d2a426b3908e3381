//! The context kernel: from an intent to a context bundle (document 000). Pure and deterministic.
//!
//! No clock, randomness, files, environment or threads: the same intent gives the same bytes everywhere.
//! [`intent`] reads and normalizes, [`measure`] finds what is open, [`question`] asks about it, [`answer`] takes the
//! answers in, [`tree`] decomposes, [`output`] writes instructions, [`mod@transform`] puts it all together. [`proposal`]
//! turns a bundle into actions and tests (document 003).

/// Whether a text is one of the words: `matches!` for long lists, which stay readable as blocks.
macro_rules! any_of {
    ($text:expr, $($word:literal)+) => { matches!($text, $($word)|+) };
}

pub mod answer;
pub mod intent;
mod lexicon;
pub mod measure;
pub mod output;
pub mod proposal;
pub mod question;
pub mod text;
pub mod transform;
pub mod tree;

pub use answer::{answer_round, apply_answers};
pub use intent::{Intent, Refusal, parse_intent};
pub use transform::{Bundle, KernelError, ResultKind, result_value, transform, transform_with};

/// The word lists of the detectors as a page of the documentation (`docs/kernel-words.md`).
pub fn render_word_lists() -> String {
    lexicon::render_word_lists() + &measure::render_points()
}
