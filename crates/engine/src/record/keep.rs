//! Which of the files that a command writes are kept.

use std::path::Path;

use globset::{Glob, GlobSet, GlobSetBuilder};

/// Patterns of paths below the folder; a file is kept that matches one of them.
#[derive(Debug, Clone)]
pub struct Keep {
    patterns: Vec<String>,
    set: GlobSet,
}

impl Keep {
    /// Reads the patterns; nothing where there are none, since all is kept then.
    ///
    /// # Errors
    /// Where one is no pattern.
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
