//! What is used, where it is, in which form or state, on or off, with or without.

use super::super::cues::Topic;

/// Groups of words that only these topics use.
pub(crate) const GROUPS: &[(&str, &str)] = &[];

/// The topics.
pub(crate) const TOPICS: &[Topic] = &[];
