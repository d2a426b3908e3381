//! The context kernel: from an intent to a context bundle (document 000). Pure and deterministic.
//!
//! No clock, randomness, files, environment or threads: the same intent makes the same bytes
//! everywhere.
//!
//! ```text
//! intent      what was typed, normalized, with what its context declares (context)
//!   │         rules: data files that say what to look for, read by about ten matchers (find)
//!   ▼
//! findings    each with its rule, its place and its quotes; open, noted, waived or decided (measure)
//!   │
//!   ▼
//! questions   one for each open finding (question); answers go back into the intent (answer)
//!   │
//!   ▼
//! tree        the choices that the text spells out (tree), an instruction for each leaf (output)
//!   │
//!   ▼
//! bundle      everything together, with its hash (transform); actions and tests (proposal, document 003)
//! ```
//!
//! Three invariants: a question is asked only if a rule of severity `ask` matches; no constraint of
//! the author leaves the tree unless an answer replaced it; the time is close to linear in the
//! length of the intent.

pub mod answer;
pub mod assess;
pub mod context;
pub mod find;
pub mod intent;
pub mod measure;
pub mod output;
pub mod proposal;
pub mod question;
pub mod rules;
pub mod text;
pub mod transform;
pub mod tree;

pub use answer::{Answers, answer_round, apply_answers};
pub use intent::{Intent, Refusal, parse_intent};
pub use transform::{
    Bundle, KernelError, ResultKind, kernel_version, result_value, transform, transform_with,
};
