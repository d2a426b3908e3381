//! Who may do, see or decide something, how many of them, and all, some or none.

use super::super::cues::Topic;

/// Groups of words that only these topics use.
pub(crate) const GROUPS: &[(&str, &str)] = &[];

/// The topics.
pub(crate) const TOPICS: &[Topic] = &[];
