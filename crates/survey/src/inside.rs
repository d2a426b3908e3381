//! Paths into archives, as answers write them: `evidence.zip!/runs/one`.

use std::path::{Path, PathBuf};

use runseal_core::source::EntryKind;

use super::{Files, display_path};

/// The separator between an archive and a name in it.
const MARK: &[u8] = b"!/";

/// An archive and the name of a folder or file in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InsidePath {
    /// The archive.
    pub archive: PathBuf,
    /// The name in it.
    pub name: String,
}

impl InsidePath {
    /// Splits a path. Returns `None` if something has the whole path as its name, or there is no file
    /// before
    /// any `!/`: then it is a path like any other.
    pub fn of(files: &dyn Files, path: &Path) -> Option<Self> {
        let bytes = path.as_os_str().as_encoded_bytes();
        if !bytes.windows(MARK.len()).any(|two| two == MARK) || files.is_there(path) {
            return None;
        }
        let marks = bytes.windows(MARK.len()).enumerate();
        let places = marks.filter(|(_, two)| *two == MARK).map(|(at, _)| at);
        places.into_iter().find_map(|at| {
            let archive = files.path_of(&bytes[..at])?;
            let is_file = files
                .kind(&archive)
                .is_ok_and(|kind| kind == EntryKind::File);
            let name = str::from_utf8(&bytes[at + MARK.len()..]).ok()?;
            let name = name.trim_end_matches('/');
            (is_file && !name.is_empty()).then(|| Self {
                archive,
                name: name.to_owned(),
            })
        })
    }

    /// The path as answers write it.
    pub fn shown(&self) -> String {
        format!("{}!/{}", display_path(&self.archive), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inside_path_needs_a_file_before_the_mark_and_nothing_of_the_whole_name() {
        let mut files = crate::MemoryFiles::default();
        files.add_file("a.zip", [].as_slice().into()).unwrap();
        files.add_folder("b.zip!/run").unwrap();
        let inside = InsidePath::of(&files, Path::new("a.zip!/ev/job/")).unwrap();
        assert_eq!(
            (inside.archive, inside.name.as_str()),
            (PathBuf::from("a.zip"), "ev/job")
        );
        for other in ["a.zip", "a.zip!/", "b.zip!/run", "c.zip!/run"] {
            assert_eq!(InsidePath::of(&files, Path::new(other)), None, "{other}");
        }
    }
}
