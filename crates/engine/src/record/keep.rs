//! Which of the files that a command writes are kept.

use std::path::Path;

use globset::{Glob, GlobSet, GlobSetBuilder};

/// Patterns for paths below the folder; a file that matches one of them is kept.
#[derive(Debug, Clone)]
pub struct Keep {
    patterns: Vec<String>,
    set: GlobSet,
}

impl Keep {
    /// Parses the patterns; `None` if there are none, which means that everything is kept.
    ///
    /// # Errors
    /// When one is not a valid pattern.
    pub fn parse(patterns: &[String]) -> Result<Option<Self>, globset::Error> {
        if patterns.is_empty() {
            return Ok(None);
        }
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            set.add(Glob::new(pattern)?);
        }
        Ok(Some(Self {
            patterns: patterns.to_vec(),
            set: set.build()?,
        }))
    }

    /// Whether the file at this path below the folder is kept.
    pub fn keeps(&self, path: &Path) -> bool {
        self.set.is_match(path)
    }

    pub(crate) fn patterns(&self) -> &[String] {
        &self.patterns
    }
}
