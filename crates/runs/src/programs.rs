//! Finds programs by their bare names, as the sandbox will find them.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use runseal_sandbox::FIXED_ENVIRONMENT;

/// The first executable file called `name` on the sandbox's PATH. The caller's PATH is not used: it
/// says nothing about what a command will find.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let (_, path) = FIXED_ENVIRONMENT.iter().find(|(name, _)| *name == "PATH")?;
    find_program_on(path.as_ref(), name)
}

/// The first executable file called `name` in the folders of `path`, which is separated by colons.
pub fn find_program_on(path: &OsStr, name: &str) -> Option<PathBuf> {
    find_program_in(std::env::split_paths(path), name, is_program)
}

/// The search on which all others are based: the first place called `name` in `folders` that
/// `accepts` approves. The sandbox reports which of several places the kernel actually used.
pub(crate) fn find_program_in(
    folders: impl IntoIterator<Item = PathBuf>,
    name: &str,
    accepts: impl Fn(&Path) -> bool,
) -> Option<PathBuf> {
    folders
        .into_iter()
        .map(|folder| folder.join(name))
        .find(|place| accepts(place))
}

pub(crate) fn is_program(place: &Path) -> bool {
    fs::metadata(place)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn find_program_finds_the_shell_and_nothing_that_is_not_executable() {
        assert!(find_program("sh").is_some());
        assert_eq!(find_program("no-such-program"), None);
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("script");
        fs::write(&place, "").unwrap();
        fs::set_permissions(&place, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(!is_program(&place));
        fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(is_program(&place));
        assert!(!is_program(folder.path()));
    }
}
