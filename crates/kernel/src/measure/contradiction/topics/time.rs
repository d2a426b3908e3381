//! When, how long, how often, in which order, how much; what is kept and what is deleted.

use super::super::cues::Topic;

/// Groups of words that only these topics use.
pub(crate) const GROUPS: &[(&str, &str)] = &[];

/// The topics.
pub(crate) const TOPICS: &[Topic] = &[];
