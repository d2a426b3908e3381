//! The only way to write a file: beside its place under a random name, flushed, then renamed.
//!
//! What has the name is never written through: a link is refused, a hard link loses its name to the
//! new file, and in a folder that others may write to nothing of another user is touched. A file
//! that is replaced keeps its mode. A device or a pipe that the user names stays: the content is
//! completed first, then written into it. Files that grow in place are opened by [`open_in_place`].

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use runseal_core::diagnosis::{Diagnose, Diagnosis};
use rustix::fs::{FileType, Mode, OFlags, Stat};

use crate::handles::{NameIn, is_link, is_trusted_owner};
use crate::unfinished::{self, UnfinishedFile};

/// How much content for a device or pipe is kept in memory until it is complete; anything beyond
/// goes to a temporary file.
const KEPT_IN_MEMORY: usize = 1 << 20;

/// The mode of a new file, before the umask.
const NEW_FILE: u32 = 0o666;
/// The mode of a new file with secrets in it.
const PRIVATE_FILE: u32 = 0o600;

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

impl Diagnose for WriteError {
    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::unreadable(self, "WRITE")
            .hint("nothing was changed; check the folder, its rights and its space")
    }
}

impl WriteError {
    /// Adds `path` to an error of the system.
    pub fn at(path: &Path) -> impl Fn(io::Error) -> Self + Copy + '_ {
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
    /// A regular file or nothing.
    File(Option<Stat>),
    /// A device or pipe, which is written into.
    Stream,
    /// What the user's shell opened and names through `/dev`; it is appended to.
    Inherited,
}

/// Writes `path`, which the user named, through `fill`: the file appears, or replaces the old one, only
/// once all of it is on disk. If `fill` fails, nothing changes.
pub fn write_file<E: From<WriteError>>(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let fail = WriteError::at(path);
    if is_inherited(path) {
        return pour(path, &Target::Inherited, fill);
    }
    let place = NameIn::of(path).map_err(fail)?;
    match find_target(&place).map_err(fail)? {
        Target::File(before) => replace(path, &place, (before.as_ref(), Readers::AsUmask), fill),
        stream => pour(path, &stream, fill),
    }
}

/// Writes `bytes` to `path`, which the user named.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    write_file(path, |file| {
        file.write_all(bytes).map_err(WriteError::at(path))
    })
}

/// Writes `bytes` to a file whose name follows from another one, as that of a signature does. Only
/// a regular file, or nothing, may be there. A new one is for `readers`.
pub fn write_derived(path: &Path, bytes: &[u8], readers: Readers) -> Result<(), WriteError> {
    let fail = WriteError::at(path);
    let place = NameIn::of(path).map_err(fail)?;
    match find_target(&place).map_err(fail)? {
        Target::File(before) => replace(path, &place, (before.as_ref(), readers), |file| {
            file.write_all(bytes).map_err(fail)
        }),
        Target::Stream | Target::Inherited => Err(fail(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ))),
    }
}

/// Who can read a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// Whoever the umask lets.
    AsUmask,
    /// Its owner alone.
    Owner,
}

/// Writes a file that must not exist. If that fails, nothing is left behind.
pub fn write_new(path: &Path, bytes: &[u8], readers: Readers) -> Result<(), WriteError> {
    let fail = WriteError::at(path);
    let place = NameIn::of(path).map_err(fail)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
    let file = place.open(flags, readers.mode()).map_err(fail)?;
    let mut file = File::from(file);
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    let written = written.and_then(|()| sync_handle(&place.folder));
    written.map_err(|error| {
        let none = rustix::fs::AtFlags::empty();
        let _ = rustix::fs::unlinkat(&place.folder, &place.name, none);
        fail(error)
    })
}

impl Readers {
    fn mode(self) -> u32 {
        match self {
            Self::AsUmask => NEW_FILE,
            Self::Owner => PRIVATE_FILE,
        }
    }
}

/// Opens a file that grows in place, such as a journal, for reading and writing; a new one is made
/// for `readers`. What is there must be a regular file with this one name, and no other user's in a
/// folder that others may write to.
pub fn open_in_place(path: &Path, readers: Readers) -> io::Result<File> {
    let (file, mode) = open_checked(path, OFlags::CREATE, readers)?;
    if readers == Readers::Owner && mode & 0o077 != 0 {
        rustix::fs::fchmod(&file, Mode::from_raw_mode(PRIVATE_FILE))?;
    }
    Ok(file)
}

/// The same for a file that has to exist.
pub fn open_existing(path: &Path) -> io::Result<File> {
    Ok(open_checked(path, OFlags::empty(), Readers::AsUmask)?.0)
}

fn open_checked(path: &Path, create: OFlags, readers: Readers) -> io::Result<(File, u32)> {
    let place = NameIn::of(path)?;
    // A pipe must not block.
    let flags = OFlags::RDWR | OFlags::NONBLOCK | create;
    let file = place.open(flags, readers.mode())?;
    let stat = rustix::fs::fstat(&file)?;
    check_in_place(&place, &stat)?;
    Ok((File::from(file), stat.st_mode))
}

/// Creates a file that must not exist, to be written to through its handle.
pub fn create_new(path: &Path, readers: Readers) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
    let file = NameIn::of(path)?.open(flags, readers.mode())?;
    Ok(File::from(file))
}

/// Makes sure that SQLite writes to a database of ours when it opens `path`, and to journals of
/// ours. It opens them by their names, but follows no link from a journal's.
pub fn check_database(path: &Path, may_create: bool) -> io::Result<()> {
    if may_create {
        // From here on nobody else can have the name. SQLite takes an empty file for a new database.
        open_in_place(path, Readers::AsUmask)?;
    } else {
        check_growing(path)?;
    }
    for ending in ["-wal", "-shm", "-journal"] {
        let mut journal = path.as_os_str().to_owned();
        journal.push(ending);
        check_growing(Path::new(&journal))?;
    }
    Ok(())
}

fn check_growing(path: &Path) -> io::Result<()> {
    let place = NameIn::of(path)?;
    place
        .look()?
        .map_or(Ok(()), |stat| check_in_place(&place, &stat))
}

fn check_in_place(place: &NameIn, stat: &Stat) -> io::Result<()> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Symlink => return Err(is_link()),
        _ => {
            let text = "it is not a regular file";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
    }
    if stat.st_nlink > 1 {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it has several names (hard links), and writing would change the file under all of them",
        ));
    }
    place.check_owner(stat)
}

/// Completes the content, then writes it into a device, a pipe or an open file.
fn pour<E: From<WriteError>>(
    path: &Path,
    target: &Target,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let fail = WriteError::at(path);
    // Without a name where the system can do that, and readable for nobody else.
    let mut whole = tempfile::spooled_tempfile(KEPT_IN_MEMORY);
    fill(&mut whole)?;
    whole.rewind().map_err(fail)?;
    let mut stream = match target {
        Target::Inherited => open_inherited(path).map_err(fail)?,
        _ => open_stream(path).map_err(fail)?,
    };
    io::copy(&mut whole, &mut stream).map_err(fail)?;
    Ok(())
}

/// Writes a temporary file beside `place` and renames it.
fn replace<E: From<WriteError>>(
    path: &Path,
    place: &NameIn,
    (before, readers): (Option<&Stat>, Readers),
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let fail = WriteError::at(path);
    unfinished::sweep(&place.folder);
    // Another user's mode is not ours to keep.
    let own = rustix::process::geteuid().as_raw();
    let kept = before.filter(|before| before.st_uid == own);
    let mode = kept.map_or(readers.mode(), |_| PRIVATE_FILE);
    let mut file = UnfinishedFile::create_in(&place.folder, mode).map_err(fail)?;
    fill(file.as_file_mut())?;
    if let Some(before) = kept {
        file.set_mode(before.st_mode & 0o777);
    }
    file.finish().map_err(fail)?;
    file.persist(&place.name).map_err(fail)?;
    // The rename is durable only once the folder is flushed.
    sync_handle(&place.folder).map_err(fail)?;
    Ok(())
}

/// Finds out what has the name.
fn find_target(place: &NameIn) -> io::Result<Target> {
    let Some(stat) = place.look()? else {
        return Ok(Target::File(None));
    };
    let refuse = |kind, text: &str| Err(io::Error::new(kind, text));
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            place.check_owner(&stat)?;
            Ok(Target::File(Some(stat)))
        }
        FileType::Symlink => Err(is_link()),
        FileType::Directory => refuse(io::ErrorKind::IsADirectory, "it is a folder; name a file"),
        FileType::Socket => refuse(io::ErrorKind::InvalidInput, "it is a socket; name a file"),
        _ => match is_trusted_owner(stat.st_uid) {
            true => Ok(Target::Stream),
            false => refuse(
                io::ErrorKind::PermissionDenied,
                "it is a pipe or device of another user; name a file",
            ),
        },
    }
}

/// Whether the path is one of the links in `/dev` to what this process was started with.
fn is_inherited(path: &Path) -> bool {
    matches!(path.to_str(), Some("/dev/stdout" | "/dev/stderr"))
        || path.parent() == Some(Path::new("/dev/fd"))
        || path.parent() == Some(Path::new("/proc/self/fd"))
}

/// Opens a device or pipe for writing. Waits for a pipe's reader, as shells do.
fn open_stream(path: &Path) -> io::Result<File> {
    let file = NameIn::of(path)?.open(OFlags::WRONLY, 0)?;
    let stat = rustix::fs::fstat(&file)?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    let is_stream = matches!(
        kind,
        FileType::CharacterDevice | FileType::BlockDevice | FileType::Fifo
    );
    if is_stream && is_trusted_owner(stat.st_uid) {
        Ok(File::from(file))
    } else {
        Err(io::Error::other("it was swapped for something else"))
    }
}

/// Opens again what the shell opened for this process.
#[expect(
    clippy::disallowed_methods,
    reason = "the shell opened it for this process"
)]
fn open_inherited(path: &Path) -> io::Result<File> {
    let no_terminal = OFlags::NOCTTY.bits().cast_signed();
    OpenOptions::new()
        .append(true)
        .custom_flags(no_terminal)
        .open(path)
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

/// The same for an open folder.
fn sync_handle(folder: impl AsFd) -> io::Result<()> {
    match rustix::fs::fsync(folder) {
        // The folder may be searched but not read, and is open as a path only.
        Ok(()) | Err(rustix::io::Errno::BADF) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown, symlink};

    use runseal_testkit::skip::{need_root, skip_even_in_ci};

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
                skip_even_in_ci(&format!("this user may not make device nodes ({errno})"));
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

    /// An id that no distribution hands out.
    const STRANGER: u32 = 2_000_000_001;

    #[test]
    fn write_to_a_link_is_refused_and_leaves_what_it_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), b"before").unwrap();
        fs::set_permissions(at("file"), fs::Permissions::from_mode(0o600)).unwrap();
        symlink("file", at("link")).unwrap();
        symlink("absent", at("dangling")).unwrap();
        for name in ["link", "dangling"] {
            let refusals = [
                write_bytes(&at(name), b"after").unwrap_err().source,
                write_derived(&at(name), b"after", Readers::AsUmask)
                    .unwrap_err()
                    .source,
                open_in_place(&at(name), Readers::AsUmask).unwrap_err(),
                check_database(&at(name), true).unwrap_err(),
            ];
            for refusal in refusals {
                assert!(refusal.to_string().contains("is a link"), "{refusal}");
            }
            let refused = write_new(&at(name), b"after", Readers::Owner).unwrap_err();
            assert_eq!(refused.source.kind(), io::ErrorKind::AlreadyExists);
            assert!(at(name).is_symlink());
        }
        assert_eq!(fs::read(at("file")).unwrap(), b"before");
        assert_eq!(fs::metadata(at("file")).unwrap().mode() & 0o777, 0o600);
        assert!(!at("absent").exists());
    }

    #[test]
    fn write_bytes_keeps_the_mode_and_parts_from_a_hard_link() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), b"before").unwrap();
        fs::set_permissions(at("file"), fs::Permissions::from_mode(0o640)).unwrap();
        fs::hard_link(at("file"), at("other")).unwrap();
        let several = open_in_place(&at("file"), Readers::AsUmask).unwrap_err();
        assert!(several.to_string().contains("several names"), "{several}");
        write_bytes(&at("file"), b"after").unwrap();
        assert_eq!(fs::read(at("file")).unwrap(), b"after");
        assert_eq!(fs::metadata(at("file")).unwrap().mode() & 0o777, 0o640);
        assert_eq!(fs::read(at("other")).unwrap(), b"before");
        assert!(open_in_place(&at("file"), Readers::AsUmask).is_ok());
    }

    #[test]
    fn private_files_are_made_for_their_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        write_new(&at("new"), b"", Readers::Owner).unwrap();
        write_derived(&at("derived"), b"", Readers::Owner).unwrap();
        create_new(&at("created"), Readers::Owner).unwrap();
        fs::write(at("journal"), b"").unwrap();
        fs::set_permissions(at("journal"), fs::Permissions::from_mode(0o666)).unwrap();
        open_in_place(&at("journal"), Readers::Owner).unwrap();
        for name in ["new", "derived", "created", "journal"] {
            let mode = fs::metadata(at(name)).unwrap().mode() & 0o777;
            assert_eq!(mode, 0o600, "{name}");
        }
    }

    #[test]
    fn what_a_stranger_left_in_an_open_folder_is_not_touched() {
        if !need_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        let at = |name: &str| folder.path().join(name);
        let own = tempfile::tempdir().unwrap();
        fs::write(at("file"), b"theirs").unwrap();
        mknodat(
            CWD,
            at("pipe"),
            FileType::Fifo,
            Mode::from_raw_mode(0o666),
            0,
        )
        .unwrap();
        for name in ["file", "pipe"] {
            chown(at(name), Some(STRANGER), None).unwrap();
        }
        symlink(own.path(), at("way")).unwrap();
        std::os::unix::fs::lchown(at("way"), Some(STRANGER), None).unwrap();
        for name in ["file", "pipe", "way/file"] {
            let refused = write_bytes(&at(name), b"ours").unwrap_err().source;
            assert!(refused.to_string().contains("another user"), "{refused}");
            assert!(open_in_place(&at(name), Readers::AsUmask).is_err());
        }
        assert_eq!(fs::read(at("file")).unwrap(), b"theirs");
        assert_eq!(fs::read_dir(own.path()).unwrap().count(), 0);
        // A journal beside a database of ours would be rolled back into it.
        write_bytes(&at("store"), b"").unwrap();
        fs::write(at("store-journal"), b"x").unwrap();
        chown(at("store-journal"), Some(STRANGER), None).unwrap();
        assert!(check_database(&at("store"), true).is_err());
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
