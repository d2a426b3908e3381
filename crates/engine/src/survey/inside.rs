//! Names of things inside an archive, written as answers write them: `evidence.zip!/runs/one`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::display_path;

/// What stands between an archive and a name in it.
const MARK: &[u8] = b"!/";

/// An archive and the name of a folder or file in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InsidePath {
    pub(super) archive: PathBuf,
    pub(super) name: String,
}

impl InsidePath {
    /// Takes a path apart. `None` where something of the whole name exists, or no file stands before a
    /// `!/` of it: then it is a path like any other.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let bytes = path.as_os_str().as_bytes();
        if !bytes.windows(MARK.len()).any(|two| two == MARK) || path.symlink_metadata().is_ok() {
            return None;
        }
        let marks = bytes.windows(MARK.len()).enumerate();
        let places = marks.filter(|(_, two)| *two == MARK).map(|(at, _)| at);
        places.into_iter().find_map(|at| {
            let archive = Path::new(OsStr::from_bytes(&bytes[..at]));
            let name = str::from_utf8(&bytes[at + MARK.len()..]).ok()?;
            let name = name.trim_end_matches('/');
            (archive.is_file() && !name.is_empty()).then(|| Self {
                archive: archive.to_owned(),
                name: name.to_owned(),
            })
        })
    }

    /// The path as answers write it.
    pub(super) fn shown(&self) -> String {
        format!("{}!/{}", display_path(&self.archive), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inside_path_needs_a_file_before_the_mark_and_nothing_of_the_whole_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("a.zip"), "").unwrap();
        std::fs::create_dir_all(path("b.zip!/run")).unwrap();
        let inside = InsidePath::of(&path("a.zip!/ev/job/")).unwrap();
        assert_eq!(
            (inside.archive, inside.name.as_str()),
            (path("a.zip"), "ev/job")
        );
        for other in ["a.zip", "a.zip!/", "b.zip!/run", "c.zip!/run"] {
            assert_eq!(InsidePath::of(&path(other)), None, "{other}");
        }
    }
}
