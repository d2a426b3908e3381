//! Files in which one folder has another name.
//!
//! What is being made has a name that a survey passes over as unfinished, and what is judged for
//! others must not depend on where it lies here. Such a folder is judged under the name that counts.

use std::borrow::Cow;
use std::path::Path;

use runseal_survey::{Files, ForwardedFiles};

/// Files with the folder at `real` seen at `shown`. Where `shown` is empty, every relative path is
/// one in that folder.
#[derive(Clone, Copy)]
pub struct RenamedFiles<'a> {
    /// The files themselves.
    pub files: &'a dyn Files,
    /// The name that is seen.
    pub shown: &'a Path,
    /// Where the folder is.
    pub real: &'a Path,
}

impl ForwardedFiles for RenamedFiles<'_> {
    fn forward<'p>(&self, path: &'p Path) -> (&dyn Files, Cow<'p, Path>) {
        let path = match path.strip_prefix(self.shown) {
            Ok(rest) if rest.as_os_str().is_empty() => self.real.to_owned().into(),
            Ok(rest) => self.real.join(rest).into(),
            Err(_) => path.into(),
        };
        (self.files, path)
    }

    fn without_path(&self) -> &dyn Files {
        self.files
    }
}
