//! What a command sees of the host's files: a list of places, each with the folders or files that are shown
//! there, and a list of paths that do not exist for it. Plain data.
//!
//! Invariants:
//! - What no place shows does not exist inside, besides what the sandbox brings itself (/proc, /dev, /tmp).
//! - A hidden path, and everything below it, does not exist inside, whatever place shows the folders above it
//!   and whenever the host makes it. A place at or below a hidden path opens exactly that place again.
//! - Pathname sockets and named pipes of the host lead nowhere, but for those in [`PROGRAM_FOLDERS`].

use std::path::{Path, PathBuf};

use crate::error::SpecError;
use crate::places::{check_host_path, check_inside_path};

/// The system's folders of programs and libraries. Where one is shown as a whole, it is shown as it is.
pub const PROGRAM_FOLDERS: [&str; 9] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
];

/// Whether a plain absolute path lies in one of [`PROGRAM_FOLDERS`].
pub fn is_program_place(path: &Path) -> bool {
    PROGRAM_FOLDERS.iter().any(|place| path.starts_with(place))
}

/// What a command sees of the host's files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// What is shown where. Inner places cover what outer ones show.
    pub places: Vec<ViewPlace>,
    /// Paths inside that do not exist for the command.
    pub hidden: Vec<PathBuf>,
    /// Whether the command finds an /etc of the sandbox's own: users, groups and hosts that are the same on
    /// every machine, and of the host only what programs of /usr need to start.
    pub has_own_etc: bool,
}

/// One thing that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewPlace {
    /// The absolute path at which the command sees it.
    pub inside: PathBuf,
    /// Absolute paths of the host. Folders are merged, and the first wins; a file is the first one that is there.
    /// Those that are not there count for nothing, and a place without any is not shown.
    pub sources: Vec<PathBuf>,
    /// What the command may do with it.
    pub access: ViewAccess,
    /// Whether it is the caller's own: if the caller is root, what its owner owns looks like the command's own.
    /// Everything else is seen with the rights of the command's user.
    pub is_own: bool,
}

/// What a command may do with a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewAccess {
    /// Read and execute.
    ReadOnly,
    /// Change everything: changes are thrown away, and [`crate::Recorded::written`] lists them.
    Layered,
}

impl ViewPlace {
    /// A file or folder of the host at its own path, read-only.
    pub fn at_own_path(path: impl Into<PathBuf>) -> ViewPlace {
        let path = path.into();
        ViewPlace {
            inside: path.clone(),
            sources: vec![path],
            access: ViewAccess::ReadOnly,
            is_own: false,
        }
    }
}

impl View {
    /// The folders of programs and an /etc of the sandbox's own, and nothing else: the same on every machine
    /// with the same programs.
    pub fn strict() -> View {
        View {
            places: PROGRAM_FOLDERS
                .iter()
                .copied()
                .map(ViewPlace::at_own_path)
                .collect(),
            hidden: Vec::new(),
            has_own_etc: true,
        }
    }

    /// Also shows something of the caller's at its own path, read-only.
    pub fn show(&mut self, path: impl Into<PathBuf>) {
        self.places.push(ViewPlace {
            is_own: true,
            ..ViewPlace::at_own_path(path)
        });
    }

    /// Whether a plain absolute path is one that the command could see, by the names alone.
    pub fn shows(&self, path: &Path) -> bool {
        let deepest = |paths: &mut dyn Iterator<Item = &PathBuf>| {
            let above = paths.filter(|it| path.starts_with(it));
            above.map(|it| it.components().count()).max()
        };
        let shown = deepest(&mut self.places.iter().map(|place| &place.inside));
        let hidden = deepest(&mut self.hidden.iter());
        match (shown, hidden) {
            (None, _) => false,
            (Some(shown), Some(hidden)) => shown >= hidden,
            (Some(_), None) => true,
        }
    }

    pub(crate) fn check(&self) -> Result<(), SpecError> {
        for place in &self.places {
            check_inside_path(&place.inside)?;
            check_view_place(&place.inside)?;
            place
                .sources
                .iter()
                .try_for_each(|it| check_host_path(it))?;
        }
        self.hidden.iter().try_for_each(|it| check_inside_path(it))
    }
}

/// Refuses places at which the sandbox has things of its own.
pub(crate) fn check_view_place(path: &Path) -> Result<(), SpecError> {
    let reason = if path == Path::new("/") {
        "it is the whole file system"
    } else if ["/proc", "/sys", "/dev"]
        .iter()
        .any(|it| path.starts_with(it))
    {
        "the kernel's own file systems are not shown"
    } else if ["/tmp", "/var/tmp"].iter().any(|it| path == Path::new(it)) {
        "the command gets a private one, use something below it"
    } else {
        return Ok(());
    };
    Err(SpecError::Place {
        path: path.to_owned(),
        reason,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn view_shows_what_no_hidden_path_covers_and_what_is_opened_again() {
        let view = View {
            places: ["/home/me", "/home/me/.ssh/config"]
                .map(ViewPlace::at_own_path)
                .into(),
            hidden: vec!["/home/me/.ssh".into()],
            has_own_etc: false,
        };
        assert!(view.shows(Path::new("/home/me/x")));
        assert!(!view.shows(Path::new("/home/me/.ssh")));
        assert!(!view.shows(Path::new("/home/me/.ssh/id_rsa")));
        assert!(view.shows(Path::new("/home/me/.ssh/config")));
        assert!(!view.shows(Path::new("/home/you")));
        assert!(view.shows(Path::new("/home/me/.sshx")));
    }

    #[test]
    fn place_where_the_sandbox_has_its_own_is_refused() {
        for path in ["/", "/proc/1", "/dev", "/sys/x", "/tmp", "/var/tmp"] {
            let mut view = View::strict();
            view.show(path);
            assert!(
                matches!(view.check(), Err(SpecError::Place { .. })),
                "{path}"
            );
        }
        let mut view = View::strict();
        view.show("/tmp/x");
        assert_eq!(view.check(), Ok(()));
    }
}
