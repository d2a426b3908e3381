//! Writes files atomically: to a temporary file beside the target, flushed, then renamed.
//!
//! Only a regular file, or nothing, is ever replaced. If the path is a link, its target is replaced
//! and the link stays. A device or pipe stays too: the content is completed first, then written
//! into it. A folder or socket is refused.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::unfinished;

/// How much content for a device or pipe is kept in memory until it is complete; anything beyond
/// goes to a temporary file.
const KEPT_IN_MEMORY: usize = 1 << 20;

/// How many links may follow each other, as in the kernel.
const MAX_LINKS: usize = 40;

/// A file could not be written. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
#[error("{} could not be written", name_place(.path))]
pub struct WriteError {
    /// The file to write, or the folder to make it in.
    pub path: PathBuf,
    /// The system's error.
    #[source]
    pub source: io::Error,
}

impl WriteError {
    /// Adds `path` to an error of the system.
    pub(crate) fn at(path: &Path) -> impl Fn(io::Error) -> Self + Copy + '_ {
        |source| Self {
            path: path.to_owned(),
            source,
        }
    }
}

/// A path for messages, without the random name of a temporary file.
fn name_place(path: &Path) -> String {
    match unfinished::split_unfinished(path) {
        None => format!("`{}`", path.display()),
        Some((folder, below)) if below.as_os_str().is_empty() => {
            format!("what is made in `{}`", folder.display())
        }
        Some((folder, below)) => format!(
            "`{}` of what is made in `{}`",
            below.display(),
            folder.display()
        ),
    }
}

/// What is at the place where a file is to be written.
enum Target {
    /// A regular file or nothing, at this path once all links are resolved.
    File(PathBuf),
    /// A device or pipe, which is written into.
    Stream,
}

/// Writes `path` through `fill`: the file appears, or replaces the old one, only once all of it is
/// on disk. If `fill` fails, nothing changes.
pub fn write_file<E: From<WriteError>>(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let fail = WriteError::at(path);
    match find_target(path).map_err(fail)? {
        Target::File(place) => replace(path, &place, fill),
        Target::Stream => {
            let mut whole = tempfile::spooled_tempfile(KEPT_IN_MEMORY);
            fill(&mut whole)?;
            whole.rewind().map_err(fail)?;
            let mut stream = open_stream(path).map_err(fail)?;
            io::copy(&mut whole, &mut stream).map_err(fail)?;
            Ok(())
        }
    }
}

/// Writes a temporary file beside `place`, the resolved `path`, and renames it.
fn replace<E: From<WriteError>>(
    path: &Path,
    place: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let fail = WriteError::at(path);
    let folder = folder_of(place);
    unfinished::sweep(folder);
    let mut file = create_beside(folder).map_err(fail)?;
    fill(&mut file)?;
    file.as_file().sync_all().map_err(fail)?;
    file.persist(place).map_err(|error| fail(error.error))?;
    // The rename is durable only once the folder is flushed.
    sync_folder(folder).map_err(fail)?;
    Ok(())
}

/// Creates a file in `folder` that is marked as unfinished and locked.
fn create_beside(folder: &Path) -> io::Result<NamedTempFile> {
    loop {
        // The mode follows the user's umask, unlike the private mode of temporary files.
        let file = unfinished::create_named(folder, |path| {
            OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .mode(0o666)
                .open(path)
        })?;
        if unfinished::hold(file.as_file(), file.path())? {
            return Ok(file);
        }
    }
}

/// Resolves what `path` leads to.
fn find_target(path: &Path) -> io::Result<Target> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => fs::canonicalize(path).map(Target::File),
        Ok(metadata) if metadata.is_dir() => Err(io::Error::new(
            io::ErrorKind::IsADirectory,
            "it is a folder; name a file",
        )),
        Ok(metadata) if metadata.file_type().is_socket() => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is a socket; name a file",
        )),
        Ok(_) => Ok(Target::Stream),
        Err(error) if error.kind() == io::ErrorKind::NotFound => follow(path).map(Target::File),
        Err(error) => Err(error),
    }
}

/// The path at which to create a file that does not exist yet: for a dangling link, the path that
/// it names.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut place = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::symlink_metadata(&place) {
            Ok(metadata) if metadata.is_symlink() => {
                place = folder_of(&place).join(fs::read_link(&place)?);
            }
            // It may have been created meanwhile; it can still be replaced.
            Ok(_) => return Ok(place),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(place),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("too many links lead from one to the next"))
}

/// Opens a device or pipe for writing. Waits for a pipe's reader, as shells do.
fn open_stream(path: &Path) -> io::Result<File> {
    let no_terminal = rustix::fs::OFlags::NOCTTY.bits().cast_signed();
    let stream = OpenOptions::new()
        .write(true)
        .custom_flags(no_terminal)
        .open(path)?;
    let kind = stream.metadata()?.file_type();
    if kind.is_char_device() || kind.is_block_device() || kind.is_fifo() {
        Ok(stream)
    } else {
        Err(io::Error::other("it was swapped for something else"))
    }
}

/// The folder that holds `path`.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Flushes the names in a folder to disk.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all())
}

/// Writes `bytes` to `path` atomically.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    write_file(path, |file| {
        file.write_all(bytes).map_err(WriteError::at(path))
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};

    use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

    use super::*;

    #[test]
    fn write_file_failing_half_way_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write_bytes(&path, b"before").unwrap();
        let failed = write_file(&path, |file| {
            file.write_all(b"half").unwrap();
            Err(WriteError {
                path: path.clone(),
                source: io::Error::other("stop"),
            })
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"before");
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1,
            "no temporary file stays"
        );
    }

    #[test]
    fn write_bytes_replaces_whole_and_names_the_file_on_failure() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write_bytes(&path, b"one").unwrap();
        write_bytes(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        let absent = folder.path().join("absent/file");
        let error = write_bytes(&absent, b"").unwrap_err();
        assert_eq!(error.path, absent);
        assert_eq!(error.source.raw_os_error(), Some(2), "{:?}", error.source);
    }

    #[test]
    fn write_error_below_what_is_in_the_making_holds_no_random_name() {
        let message =
            |path: &str| WriteError::at(Path::new(path))(io::Error::other("x")).to_string();
        assert_eq!(message("/a/b"), "`/a/b` could not be written");
        assert_eq!(
            message("/a/.runseal-unfinished-x9/d/e"),
            "`d/e` of what is made in `/a` could not be written"
        );
        assert_eq!(
            message("/a/.runseal-unfinished-x9"),
            "what is made in `/a` could not be written"
        );
    }

    #[test]
    fn write_bytes_to_a_device_writes_into_it_and_leaves_it_a_device() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("null");
        let mode = Mode::from_raw_mode(0o666);
        // The numbers of /dev/null.
        match mknodat(CWD, &path, FileType::CharacterDevice, mode, makedev(1, 3)) {
            Ok(()) => {}
            Err(errno) => {
                eprintln!("skipped: this user may not make device nodes ({errno})");
                return;
            }
        }
        let before = fs::metadata(&path).unwrap();
        match write_bytes(&path, b"gone") {
            Ok(()) => {}
            // A container or a `nodev` mount lets root make a node that nobody may open.
            Err(error) if error.source.kind() == io::ErrorKind::PermissionDenied => {}
            Err(error) => panic!("{error}: {}", error.source),
        }
        let after = fs::metadata(&path).unwrap();
        assert!(after.file_type().is_char_device());
        assert_eq!(
            (before.ino(), before.mode(), before.rdev()),
            (after.ino(), after.mode(), after.rdev())
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn write_bytes_to_dev_null_leaves_the_device() {
        let before = fs::metadata("/dev/null").unwrap();
        write_bytes(Path::new("/dev/null"), b"gone").unwrap();
        let after = fs::metadata("/dev/null").unwrap();
        assert!(after.file_type().is_char_device());
        assert_eq!(before.ino(), after.ino());
    }

    #[test]
    fn write_file_to_a_pipe_gives_its_reader_everything_or_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        // More than a pipe holds and more than is kept in memory.
        let bytes = vec![b'x'; 3 << 20];
        let read = std::thread::scope(|scope| {
            let reader = scope.spawn(|| fs::read(&path).unwrap());
            write_bytes(&path, &bytes).unwrap();
            reader.join().unwrap()
        });
        assert!(read == bytes);
        assert!(fs::metadata(&path).unwrap().file_type().is_fifo());
        let failed = write_file(&path, |file| {
            file.write_all(b"half").unwrap();
            Err(WriteError::at(&path)(io::Error::other("stop")))
        });
        // If it had opened the pipe, it would still be waiting for a reader.
        assert!(failed.is_err());
    }

    #[test]
    fn write_bytes_to_a_link_replaces_what_it_leads_to_and_keeps_the_link() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("real")).unwrap();
        fs::write(at("real/file"), b"before").unwrap();
        symlink("real/file", at("link")).unwrap();
        symlink("link", at("second")).unwrap();
        write_bytes(&at("second"), b"after").unwrap();
        assert_eq!(fs::read(at("real/file")).unwrap(), b"after");
        for name in ["link", "second"] {
            assert!(fs::symlink_metadata(at(name)).unwrap().is_symlink());
        }
        symlink("real/new", at("dangling")).unwrap();
        write_bytes(&at("dangling"), b"made").unwrap();
        assert_eq!(fs::read(at("real/new")).unwrap(), b"made");
        assert!(fs::symlink_metadata(at("dangling")).unwrap().is_symlink());
        symlink("loop", at("loop")).unwrap();
        assert!(write_bytes(&at("loop"), b"").is_err());
    }

    #[test]
    fn write_bytes_to_a_folder_or_socket_is_refused_in_words() {
        let folder = tempfile::tempdir().unwrap();
        let error = write_bytes(folder.path(), b"").unwrap_err();
        assert!(error.source.to_string().contains("is a folder"));
        let path = folder.path().join("socket");
        let _listening = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let error = write_bytes(&path, b"").unwrap_err();
        assert!(error.source.to_string().contains("is a socket"));
        assert!(fs::metadata(&path).unwrap().file_type().is_socket());
    }
}
