//! What a command left in its work folder, looked at without trusting any of it.
//!
//! Every folder is opened by descriptor and no link is ever followed; nothing that is not a
//! regular file is opened at all, so a FIFO cannot hang and a device cannot act. Names come back
//! as bytes with a verdict: the caller decides what a bad one means.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use thiserror::Error;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Regular file.
    File,
    /// Folder.
    Folder,
    /// Symbolic link.
    Symlink,
    /// Named pipe.
    Fifo,
    /// Unix socket.
    Socket,
    /// Character or block device.
    Device,
}

/// Why an entry cannot be an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// It is neither a regular file nor a folder.
    NotAFile,
    /// Its path is not UTF-8.
    NotUtf8,
    /// Its path holds a control character (a newline, say) or a backslash.
    UnsafeName,
}

/// One file, folder or other thing below the work folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Path below the folder that was listed, with `/` between segments.
    pub path: OsString,
    /// What kind of thing it is; a link is never followed to find out.
    pub kind: Kind,
    /// Size of a regular file, else 0.
    pub bytes: u64,
    /// Why it cannot be an output, if it cannot.
    pub fault: Option<Fault>,
}

/// Why the folder could not be listed or a file not be read.
#[derive(Debug, Error)]
pub enum OutputError {
    /// The system refused to list, open or read.
    #[error("cannot read `{}`", path.to_string_lossy())]
    Io {
        /// The path below the folder that was listed.
        path: OsString,
        /// What the system said.
        source: io::Error,
    },
    /// More entries than allowed.
    #[error("more than {most} files and folders")]
    TooMany {
        /// How many are allowed.
        most: u64,
    },
    /// Folders nested deeper than can be listed.
    #[error("folders are nested deeper than {most} levels")]
    TooDeep {
        /// How many levels are allowed.
        most: usize,
    },
    /// A file longer than allowed.
    #[error("`{}` is longer than {most} bytes", path.to_string_lossy())]
    TooLong {
        /// The path of the file below the folder.
        path: OsString,
        /// How many bytes are allowed.
        most: u64,
    },
    /// Something that is not a regular file, or reached through something that is not a folder.
    #[error("`{}` is not a regular file", path.to_string_lossy())]
    NotAFile {
        /// Its path below the folder.
        path: OsString,
    },
}

/// Levels of folders that are listed; each costs one descriptor while it is open.
const DEEPEST: usize = 128;

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW);
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);

/// Everything below `folder`, sorted by the bytes of the path.
///
/// # Errors
/// When something cannot be read (it is never taken as absent), or when there are more than
/// `most` entries.
pub fn list(folder: &Path, most: u64) -> Result<Vec<Entry>, OutputError> {
    let top = rustix::fs::openat(CWD, folder, FOLDER, Mode::empty())
        .map_err(|errno| io_error(b"", errno))?;
    let mut entries = Vec::new();
    list_below(&top, &[], 0, most, &mut entries)?;
    entries.sort();
    Ok(entries)
}

fn list_below(
    folder: &OwnedFd,
    above: &[u8],
    depth: usize,
    most: u64,
    entries: &mut Vec<Entry>,
) -> Result<(), OutputError> {
    if depth > DEEPEST {
        return Err(OutputError::TooDeep { most: DEEPEST });
    }
    for entry in Dir::read_from(folder).map_err(|errno| io_error(above, errno))? {
        let entry = entry.map_err(|errno| io_error(above, errno))?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        if u64::try_from(entries.len()).unwrap_or(u64::MAX) >= most {
            return Err(OutputError::TooMany { most });
        }
        let mut path = above.to_vec();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name.to_bytes());
        let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|errno| io_error(&path, errno))?;
        let kind = kind_of(FileType::from_raw_mode(stat.st_mode));
        let bytes = if kind == Kind::File {
            u64::try_from(stat.st_size).unwrap_or(0)
        } else {
            0
        };
        let fault = find_fault(&path, kind);
        entries.push(Entry {
            path: OsString::from_vec(path.clone()),
            kind,
            bytes,
            fault,
        });
        if kind == Kind::Folder {
            let below = rustix::fs::openat(folder, name, FOLDER, Mode::empty())
                .map_err(|errno| io_error(&path, errno))?;
            list_below(&below, &path, depth + 1, most, entries)?;
        }
    }
    Ok(())
}

fn kind_of(file_type: FileType) -> Kind {
    match file_type {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Symlink,
        FileType::Fifo => Kind::Fifo,
        FileType::Socket => Kind::Socket,
        _ => Kind::Device,
    }
}

pub(crate) fn find_fault(path: &[u8], kind: Kind) -> Option<Fault> {
    if !matches!(kind, Kind::File | Kind::Folder) {
        return Some(Fault::NotAFile);
    }
    match std::str::from_utf8(path) {
        Err(_) => Some(Fault::NotUtf8),
        Ok(text) => {
            let is_unsafe = |c: char| c < '\u{20}' || c == '\u{7f}' || c == '\\';
            text.contains(is_unsafe).then_some(Fault::UnsafeName)
        }
    }
}

/// Reads one regular file below `folder`, of at most `most` bytes, following no link on the way.
///
/// # Errors
/// When it is not there, not a regular file, reached through a link, or too long.
pub fn read(folder: &Path, path: &OsStr, most: u64) -> Result<Vec<u8>, OutputError> {
    let top = rustix::fs::openat(CWD, folder, FOLDER, Mode::empty())
        .map_err(|errno| io_error(path.as_bytes(), errno))?;
    let file = open_below(&top, path)?;
    let mut content = Vec::new();
    let file = std::fs::File::from(file);
    io::Read::read_to_end(
        &mut io::Read::take(file, most.saturating_add(1)),
        &mut content,
    )
    .map_err(|source| OutputError::Io {
        path: path.to_owned(),
        source,
    })?;
    if u64::try_from(content.len()).unwrap_or(u64::MAX) > most {
        return Err(OutputError::TooLong {
            path: path.to_owned(),
            most,
        });
    }
    Ok(content)
}

/// Opens one regular file below an open folder, following no link on the way.
pub(crate) fn open_below(top: &OwnedFd, path: &OsStr) -> Result<OwnedFd, OutputError> {
    let bytes = path.as_bytes();
    let fail = |errno| io_error(bytes, errno);
    let refuse = || OutputError::NotAFile {
        path: path.to_owned(),
    };
    let mut at: Option<OwnedFd> = None;
    let mut segments = bytes.split(|byte| *byte == b'/').peekable();
    while let Some(segment) = segments.next() {
        if segment.is_empty() || segment == b"." || segment == b".." {
            return Err(refuse());
        }
        let folder = at.as_ref().unwrap_or(top);
        let name = CString::new(segment).map_err(|_| fail(Errno::INVAL))?;
        let is_last = segments.peek().is_none();
        let stat = rustix::fs::statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(fail)?;
        let (wanted, flags) = if is_last {
            (FileType::RegularFile, FILE)
        } else {
            (FileType::Directory, FOLDER)
        };
        if FileType::from_raw_mode(stat.st_mode) != wanted {
            return Err(refuse());
        }
        at = Some(rustix::fs::openat(folder, &name, flags, Mode::empty()).map_err(fail)?);
    }
    let file = at.ok_or_else(refuse)?;
    // What was opened counts, not what was there a moment before.
    let stat = rustix::fs::fstat(&file).map_err(fail)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(refuse());
    }
    Ok(file)
}

/// Gives the owner all rights on a file below an open folder and on the folders on the way,
/// following no link. Only for folders of our own.
pub(crate) fn open_up(top: &OwnedFd, path: &OsStr) -> Result<(), OutputError> {
    let fail = |errno| io_error(path.as_bytes(), errno);
    let mut at: Option<OwnedFd> = None;
    let mut segments = path.as_bytes().split(|byte| *byte == b'/').peekable();
    while let Some(segment) = segments.next() {
        let folder = at.as_ref().unwrap_or(top);
        let name = CString::new(segment).map_err(|_| fail(Errno::INVAL))?;
        let stat = rustix::fs::statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(fail)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            return Err(fail(Errno::LOOP));
        }
        let mode = Mode::from_raw_mode(stat.st_mode & 0o777) | Mode::RWXU;
        rustix::fs::chmodat(folder, &name, mode, AtFlags::empty()).map_err(fail)?;
        if segments.peek().is_some() {
            at = Some(rustix::fs::openat(folder, &name, FOLDER, Mode::empty()).map_err(fail)?);
        }
    }
    Ok(())
}

fn io_error(path: &[u8], errno: Errno) -> OutputError {
    OutputError::Io {
        path: OsString::from_vec(path.to_vec()),
        source: errno.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn list_of_a_folder_is_sorted_and_complete() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("b")).unwrap();
        fs::write(folder.path().join("b/x"), "12").unwrap();
        fs::write(folder.path().join("a"), "1").unwrap();
        let found = list(folder.path(), 10).unwrap();
        let short: Vec<(String, Kind, u64)> = found
            .iter()
            .map(|entry| {
                (
                    entry.path.to_string_lossy().into_owned(),
                    entry.kind,
                    entry.bytes,
                )
            })
            .collect();
        let expected = [
            ("a", Kind::File, 1),
            ("b", Kind::Folder, 0),
            ("b/x", Kind::File, 2),
        ];
        assert_eq!(
            short,
            expected.map(|(path, kind, size)| (path.to_owned(), kind, size))
        );
    }

    #[test]
    fn list_beyond_its_limit_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "").unwrap();
        fs::write(folder.path().join("b"), "").unwrap();
        assert!(matches!(
            list(folder.path(), 1),
            Err(OutputError::TooMany { most: 1 })
        ));
    }

    #[test]
    fn list_of_a_missing_folder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let gone = folder.path().join("gone");
        assert!(matches!(list(&gone, 1), Err(OutputError::Io { .. })));
    }

    #[test]
    fn read_through_a_linked_folder_is_refused() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "s").unwrap();
        let folder = tempfile::tempdir().unwrap();
        symlink(outside.path(), folder.path().join("link")).unwrap();
        let answer = read(folder.path(), OsStr::new("link/secret"), 10);
        assert!(matches!(answer, Err(OutputError::NotAFile { .. })));
        let climbing = read(folder.path(), OsStr::new("../secret"), 10);
        assert!(matches!(climbing, Err(OutputError::NotAFile { .. })));
    }

    #[test]
    fn read_of_a_file_keeps_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("f"), "1234").unwrap();
        assert_eq!(read(folder.path(), OsStr::new("f"), 4).unwrap(), b"1234");
        let long = read(folder.path(), OsStr::new("f"), 3);
        assert!(matches!(long, Err(OutputError::TooLong { most: 3, .. })));
    }
}
