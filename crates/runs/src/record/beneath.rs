//! The one way in which recording looks at, lists and opens files of the command's folder and of its
//! inputs.
//!
//! Paths come from what the command saw, where a link may have been a folder, and the folder may change
//! while the command runs. Opened by path, with the caller's rights, they could lead anywhere. So each
//! folder is opened once, before the command starts, and every path is resolved beneath it without
//! following a link: what lies behind one does not exist here. A link itself can be looked at and read.
//!
//! A file system that is mounted below the folder was not shown to the command, which saw what it covers:
//! nobody may read there. Below an input it was.
//!
//! Root may read more than the command, which runs as another user. In somebody else's folder it reads
//! only what that user or everybody may read.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use runseal_core::source::SourceError;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use runseal_fs::directory::kind_of;
use runseal_sandbox::is_mounted;

#[cfg(target_os = "linux")]
const LOOK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const LOOK: OFlags = READ;
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);
const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// For a folder on the way to something.
const WAY: OFlags = LOOK.union(OFlags::DIRECTORY);

/// The command's folder and its inputs, each opened before the command starts.
#[derive(Debug, Default)]
pub(crate) struct RealFiles {
    roots: Vec<Root>,
}

#[derive(Debug)]
struct Root {
    /// Where it is for the command.
    path: PathBuf,
    /// `None` if it could not be opened: then it contains nothing.
    opened: Option<Opened>,
    /// What is mounted below it.
    mounts: Mounts,
}

/// What is mounted below a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mounts {
    /// The command saw it.
    Shown,
    /// The command saw what it covers.
    NotShown,
}

#[derive(Debug)]
struct Opened {
    /// The folder itself, or the one that contains an input which is a file.
    folder: OwnedFd,
    /// The name of that file; empty for a folder.
    name: PathBuf,
    /// The user who has to be able to read what is read, if the caller is root.
    reader: Option<u32>,
}

impl RealFiles {
    /// Opens the command's folder and the inputs that the caller named, links resolved.
    pub(crate) fn open_roots(folder: &Path, inputs: &[PathBuf]) -> Self {
        let root = |path: &Path, mounts| Root {
            path: path.to_owned(),
            opened: Opened::open(path).ok(),
            mounts,
        };
        let inputs = inputs.iter().map(|input| root(input, Mounts::Shown));
        // An input in the folder is shown as part of it.
        let roots = std::iter::once(root(folder, Mounts::NotShown)).chain(inputs);
        Self {
            roots: roots.collect(),
        }
    }

    /// Whether `path` is the folder, an input, or below one of them.
    pub(crate) fn covers(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(&root.path))
    }

    /// What is at `path`, which may be a link.
    pub(crate) fn look(&self, path: &Path) -> io::Result<Metadata> {
        File::from(self.resolve(path, LOOK)?).metadata()
    }

    /// Where the link at `path` leads.
    pub(crate) fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        let link = self.resolve(path, LOOK)?;
        let target = rustix::fs::readlinkat(link, c"", Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()).into())
    }

    /// The names in the folder at `path`.
    pub(crate) fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        let folder = self.resolve(path, FOLDER)?;
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::new(folder)? {
            let name = entry?.file_name().to_owned().into_bytes();
            if !matches!(&name[..], b"." | b"..") {
                names.push(OsString::from_vec(name));
            }
        }
        Ok(names)
    }

    /// Opens the regular file at `path` and tells its current metadata.
    pub(crate) fn open(&self, path: &Path) -> Result<(File, Metadata), SourceError> {
        let shown = || path.display().to_string();
        let fail = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => SourceError::NotFound { path: shown() },
            _ => SourceError::Io {
                path: shown(),
                source,
            },
        };
        let file = File::from(self.resolve(path, READ).map_err(fail)?);
        let metadata = file.metadata().map_err(fail)?;
        if !metadata.is_file() {
            return Err(SourceError::NotAFile {
                path: shown(),
                kind: kind_of(&metadata),
            });
        }
        Ok((file, metadata))
    }

    fn resolve(&self, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let found = self.roots.iter().find_map(|root| {
            let below = path.strip_prefix(&root.path).ok()?;
            let opened = root.opened.as_ref()?;
            Some((opened, opened.name.join(below), root.mounts))
        });
        let (root, below, mounts) = found.ok_or(Errno::NOENT)?;
        match open_beneath(root.folder.as_fd(), &below, flags, (root.reader, mounts)) {
            // A link, or a file where a folder is needed: nothing of the folder is there.
            Err(Errno::LOOP | Errno::NOTDIR) => Err(Errno::NOENT.into()),
            // Something may be there, below what is mounted.
            Err(Errno::XDEV) => Err(Errno::ACCESS.into()),
            other => Ok(other?),
        }
    }
}

impl Opened {
    fn open(path: &Path) -> io::Result<Self> {
        let real = path.canonicalize()?;
        let (folder, name) = match (real.is_dir(), real.parent(), real.file_name()) {
            (false, Some(folder), Some(name)) => (folder, PathBuf::from(name)),
            _ => (real.as_path(), PathBuf::new()),
        };
        let folder = rustix::fs::open(folder, WAY, Mode::empty())?;
        let whose = rustix::fs::fstat(&folder)?.st_uid;
        let is_others = rustix::process::geteuid().is_root() && whose != 0;
        Ok(Self {
            // A file that root named itself is one that root means to show.
            reader: (is_others && name.as_os_str().is_empty()).then_some(whose),
            folder,
            name,
        })
    }
}

/// Opens `path` beneath `root`, refusing a link in any of its components but the last, every `..`,
/// what `reader` may not read, and what is mounted there, if that was not shown.
fn open_beneath(
    root: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    (reader, mounts): (Option<u32>, Mounts),
) -> Result<OwnedFd, Errno> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => parts.push(Path::new(part)),
            Component::CurDir => {}
            _ => return Err(Errno::NOENT),
        }
    }
    let Some(last) = parts.pop() else {
        let opened = rustix::fs::openat(root, ".", flags, Mode::empty())?;
        check_allowed(&opened, 0o4, reader.filter(|_| flags != LOOK))?;
        return Ok(opened);
    };
    #[cfg(target_os = "linux")]
    if reader.is_none() {
        use rustix::fs::ResolveFlags;
        let whole: PathBuf = parts.iter().chain([&last]).collect();
        let mut within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        within.set(ResolveFlags::NO_XDEV, mounts == Mounts::NotShown);
        match rustix::fs::openat2(root, &whole, flags, Mode::empty(), within) {
            // An old kernel, or a seccomp filter that does not know the call.
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {}
            other => return other,
        }
    }
    let step = |above: BorrowedFd<'_>, name: &Path, flags: OFlags| {
        let opened = rustix::fs::openat(above, name, flags, Mode::empty())?;
        if mounts == Mounts::NotShown && is_mounted(above, &opened)? {
            return Err(Errno::XDEV);
        }
        Ok(opened)
    };
    let mut at: Option<OwnedFd> = None;
    for part in parts {
        let above = at.as_ref().map_or(root, AsFd::as_fd);
        let folder = step(above, part, WAY)?;
        check_allowed(&folder, 0o1, reader)?;
        at = Some(folder);
    }
    let above = at.as_ref().map_or(root, AsFd::as_fd);
    let opened = step(above, last, flags)?;
    check_allowed(&opened, 0o4, reader.filter(|_| flags != LOOK))?;
    Ok(opened)
}

/// Whether `reader` or everybody has the rights `needed`; a link has all of them.
fn check_allowed(file: &OwnedFd, needed: u32, reader: Option<u32>) -> Result<(), Errno> {
    let Some(reader) = reader else {
        return Ok(());
    };
    let stat = rustix::fs::fstat(file)?;
    let mode = stat.st_mode;
    let owned = if stat.st_uid == reader { mode >> 6 } else { 0 };
    match (mode | owned) & needed == needed {
        true => Ok(()),
        false => Err(Errno::ACCESS),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn path_over_a_link_or_out_of_the_folder_does_not_exist() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let folder = home.join("folder");
        fs::create_dir_all(folder.join("sub")).unwrap();
        fs::create_dir(home.join("private")).unwrap();
        fs::write(home.join("private/key"), "key").unwrap();
        fs::write(folder.join("sub/own"), "own").unwrap();
        symlink("../private", folder.join("d")).unwrap();
        symlink("../private/key", folder.join("f")).unwrap();
        symlink("sub", folder.join("inner")).unwrap();
        let files = RealFiles::open_roots(&folder, &[]);
        for path in ["d/key", "f", "inner/own", "../private/key", "sub/own/x"] {
            let path = folder.join(path);
            assert!(
                matches!(files.open(&path), Err(SourceError::NotFound { .. })),
                "{path:?}"
            );
        }
        for path in ["d/key", "inner/own", "../private", "sub/../../private"] {
            assert!(files.look(&folder.join(path)).is_err(), "{path}");
        }
        for path in ["d", "inner", "d/.", "../private"] {
            let kind = files.list(&folder.join(path)).unwrap_err().kind();
            assert_eq!(kind, io::ErrorKind::NotFound, "{path}");
        }
        assert!(files.look(&folder.join("d")).unwrap().is_symlink());
        let target = files.read_link(&folder.join("d")).unwrap();
        assert_eq!(target, Path::new("../private"));
        assert!(files.read_link(&folder.join("sub")).is_err());
        assert!(files.open(&folder.join("sub/own")).is_ok());
        assert_eq!(files.list(&folder.join("sub")).unwrap(), ["own"]);
        assert_eq!(files.list(&folder).unwrap().len(), 4);
        assert!(files.look(&home.join("private/key")).is_err());
    }

    #[test]
    fn input_that_is_a_file_is_found_where_its_link_led_at_first() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        fs::write(home.join("a"), "one").unwrap();
        fs::write(home.join("b"), "other").unwrap();
        symlink("a", home.join("link")).unwrap();
        let input = home.join("link");
        let files = RealFiles::open_roots(&home.join("folder"), std::slice::from_ref(&input));
        fs::remove_file(&input).unwrap();
        symlink("b", &input).unwrap();
        assert_eq!(files.open(&input).unwrap().1.len(), 3);
        assert!(!files.covers(&home.join("a")));
    }
}
