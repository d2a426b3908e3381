//! Unpacks the files of a recorded command into a private folder, so that the command can be run
//! there again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use runseal_core::canon::Node;
use runseal_core::digest::Digest;
use runseal_core::formats::run_bundle::layout::{
    MODEL_BODIES_FOLDER, MODEL_IO, RUN_ENVIRONMENT, RUN_INPUT, STDIN,
};
use runseal_core::formats::run_bundle::recorded::{
    INPUT_LISTS, ListedFile, MACHINE_LIST, MODEL_IO_MEMBER, parse_attributes, parse_links,
    parse_listed_file, parse_listed_files,
};
use runseal_core::path::SafePath;
use runseal_core::source::{EntryKind, EntryName, Source, SourceError};
use runseal_sandbox::CancelToken;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps};
use rustix::io::Errno;

use super::many_folders::{check_folders, is_too_deep};
use super::outside::is_in_system_folder;
use super::room::Room;
use super::same_files::join_same_files;
use crate::run::verify::VerifiedRun;
use runseal_fs::input::open_regular;
use runseal_fs::private::PrivateFolder;
use runseal_fs::stream::{BUFFER, digest_through};

/// The unpacked files of a recorded command; deleted when dropped.
#[derive(Debug)]
pub(crate) struct Restored {
    pub(crate) folder: PathBuf,
    /// What the bundle has outside the folder, at absolute paths below this one.
    pub(crate) tree: PathBuf,
    /// Those of these files that no machine has in its system folders, by path.
    pub(crate) elsewhere: Vec<String>,
    /// Opened where it was unpacked; nothing if it was empty.
    pub(crate) stdin: Option<File>,
    /// The recorded model answers, with large bodies beside them, if there are any.
    pub(crate) model_io: Option<PathBuf>,
    /// Files that were listed or looked at and not read: there is nothing in them.
    pub(crate) placeholders: Vec<String>,
    _private: PrivateFolder,
}

impl Restored {
    /// Whether the file that the command sees at `path` is the bundle's.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        let relative = path.strip_prefix("/").unwrap_or(path);
        let place = self.tree.join(relative);
        // Through a link it would be whatever that leads to.
        is_reached_without_links(&self.tree, &place) && place.is_file()
    }
}

/// Why a command's files could not be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The bundle contains something that no recorder writes; says what.
    #[error("{0}")]
    Malformed(String),
    /// Files that are neither in the bundle nor given.
    #[error("{} not in the bundle", list(.0))]
    Missing(Vec<ListedFile>),
    /// The user interrupted it.
    #[error("interrupted")]
    Cancelled,
    /// Something could not be read.
    #[error(transparent)]
    Read(#[from] SourceError),
    /// The private folder could not be written.
    #[error("the private folder could not be written")]
    Write(#[source] io::Error),
}

fn list(files: &[ListedFile]) -> String {
    let names: Vec<String> = files
        .iter()
        .map(|file| format!("`{}`", file.path))
        .collect();
    match names.as_slice() {
        [one] => format!("{one} is"),
        several => format!("{} are", several.join(", ")),
    }
}

/// Unpacks the files of the recorded command in `run`; what is not in the bundle is taken from
/// `given`, by its hash.
pub(crate) fn restore(
    run: &VerifiedRun<'_>,
    (appears_at, given): (&Path, &[PathBuf]),
    cancel: Option<&CancelToken>,
) -> Result<Restored, RestoreError> {
    let private = PrivateFolder::create("replay").map_err(RestoreError::Write)?;
    let root = private.path().canonicalize().map_err(RestoreError::Write)?;
    let input = run.document(RUN_INPUT);
    let input = input.as_ref().map(|input| input.root());
    let input = input.ok_or_else(|| malformed("there is no input"))?;
    let lists = INPUT_LISTS
        .iter()
        .map(|name| parse_listed_files(input, name));
    let mut listed: Vec<ListedFile> = lists.flatten().collect();
    let environment = run.document(RUN_ENVIRONMENT);
    let environment = environment.as_ref().map(|document| document.root());
    listed.extend(list_outside(environment));
    let is_elsewhere = |file: &&ListedFile| {
        file.path.starts_with('/') && !is_in_system_folder(Path::new(&file.path))
    };
    let elsewhere = listed.iter().filter(is_elsewhere);
    let elsewhere = elsewhere.map(|file| file.path.clone()).collect();
    let absent = listed.iter().filter(|file| file.stored.is_none());
    let search = GivenFiles {
        sizes: absent.map(|file| file.bytes).collect(),
        cancel,
        found: BTreeMap::new(),
    };
    let mut unpacking = Unpacking {
        source: run.source(),
        folder: root.join("folder"),
        tree: root.join("tree"),
        room: Room::on_disk_of(&root),
        given: search.search(given)?,
        buffer: vec![0; BUFFER],
        missing: Vec::new(),
    };
    for folder in [&unpacking.folder, &unpacking.tree] {
        make_folders(folder).map_err(RestoreError::Write)?;
    }
    check_folders(listed.iter().map(|file| file.path.as_str())).map_err(too_many)?;
    for file in &listed {
        unpacking.unpack(file)?;
    }
    if !unpacking.missing.is_empty() {
        return Err(RestoreError::Missing(unpacking.missing));
    }
    let mut listed = Placeholders::list(environment)?;
    listed.add_links(input)?;
    listed.add_links_elsewhere(environment)?;
    listed.check_folders()?;
    let mut placeholders = unpacking.put_present(&listed)?;
    join_same_files(environment, &unpacking.folder, &mut placeholders)
        .map_err(RestoreError::Write)?;
    unpacking.make_room_for(appears_at, environment);
    unpacking.set_attributes(environment, Kind::Files)?;
    // Last, so that nothing is ever written through one.
    for (is_own, links) in [(true, &listed.links), (false, &listed.links_elsewhere)] {
        for (path, target) in links {
            if cancel.is_some_and(CancelToken::is_cancelled) {
                return Err(RestoreError::Cancelled);
            }
            unpacking.room.take_entry().map_err(RestoreError::Write)?;
            let root = match is_own {
                true => &unpacking.folder,
                false => &unpacking.tree,
            };
            put_link(root, path, target)?;
        }
    }
    // Nothing more is put into a folder that may not be written to.
    unpacking.set_attributes(environment, Kind::Folders)?;
    let stdin = match input.get("stdin").filter(|stdin| !stdin.is_null()) {
        Some(_) => Some(unpack_stdin(run.source(), &root, &mut unpacking.room)?),
        None => None,
    };
    let model_io = match input.get(MODEL_IO_MEMBER) {
        Some(_) => Some(unpack_models(run.source(), &root, &mut unpacking.room)?),
        None => None,
    };
    Ok(Restored {
        folder: unpacking.folder,
        tree: unpacking.tree,
        elsewhere,
        stdin,
        model_io,
        placeholders,
        _private: private,
    })
}

/// Unpacks standard input, out of the command's sight.
fn unpack_stdin(source: &dyn Source, root: &Path, room: &mut Room) -> Result<File, RestoreError> {
    let place = root.join("stdin");
    let mut to = create(&place, 0o400).map_err(RestoreError::Write)?;
    room.copy(&mut source.open(&safe(STDIN)?)?, &mut to)
        .map_err(RestoreError::Write)?;
    File::open(&place).map_err(RestoreError::Write)
}

/// The files outside the folder that a replay needs from the bundle: those that are in it, and those that this
/// machine cannot have, since a replay does not show where they were.
fn list_outside(environment: Option<Node<'_>>) -> Vec<ListedFile> {
    let list = environment.and_then(|environment| environment.get(MACHINE_LIST));
    let items = list.into_iter().flat_map(|list| list.items());
    let files = items.filter_map(|node| {
        let file = parse_listed_file(node)?;
        let is_needed = file.stored.is_some() || !is_in_system_folder(Path::new(&file.path));
        is_needed.then(|| ListedFile {
            is_executable: node.get("executed").and_then(|it| it.as_bool()) == Some(true),
            ..file
        })
    });
    files.collect()
}

/// Unpacks the recorded model answers, out of the command's sight.
#[expect(clippy::disallowed_methods, reason = "only within a private folder")]
fn unpack_models(
    source: &dyn Source,
    root: &Path,
    room: &mut Room,
) -> Result<PathBuf, RestoreError> {
    let folder = root.join("models");
    let bodies = folder.join(MODEL_BODIES_FOLDER);
    fs::create_dir_all(&bodies).map_err(RestoreError::Write)?;
    for entry in source.entries()? {
        let EntryName::Safe(path) = entry.name else {
            continue;
        };
        let is_body = path.as_str().strip_prefix(MODEL_BODIES_FOLDER);
        let is_body = is_body.is_some_and(|rest| rest.starts_with('/'));
        if entry.kind != EntryKind::File || !is_body && path.as_str() != MODEL_IO {
            continue;
        }
        let mut to = File::create_new(folder.join(path.as_str())).map_err(RestoreError::Write)?;
        room.take_entry().map_err(RestoreError::Write)?;
        room.copy(&mut source.open(&path)?, &mut to)
            .map_err(RestoreError::Write)?;
        // A body is found by its digest; its file in a redacted copy has another name.
        if is_body {
            let place = folder.join(path.as_str());
            let mut body = File::open(&place).map_err(RestoreError::Write)?;
            let digest = digest_through(&mut body, 0, &mut vec![0; BUFFER], |_| Ok(()));
            let (digest, _) = digest.map_err(RestoreError::Write)?;
            fs::rename(place, bodies.join(digest.to_string())).map_err(RestoreError::Write)?;
        }
    }
    Ok(folder.join(MODEL_IO))
}

fn malformed(what: impl Into<String>) -> RestoreError {
    RestoreError::Malformed(what.into())
}

fn safe(path: &str) -> Result<SafePath, RestoreError> {
    SafePath::parse(path).map_err(|fault| malformed(format!("`{}`: {fault}", path.escape_debug())))
}

/// The given files for those that are not in the bundle.
struct GivenFiles<'a> {
    /// The sizes of those that are not in the bundle; a file of another size is not opened.
    sizes: BTreeSet<u64>,
    cancel: Option<&'a CancelToken>,
    found: BTreeMap<Digest, PathBuf>,
}

impl GivenFiles<'_> {
    /// Searches what was given: files, and folders with all that is below them. Only what was named itself may be a
    /// link: others may have put links into a folder.
    fn search(mut self, given: &[PathBuf]) -> Result<BTreeMap<Digest, PathBuf>, RestoreError> {
        let mut waiting = Vec::new();
        for path in given {
            waiting.push(path.canonicalize().map_err(failed_at(path))?);
        }
        while let Some(path) = waiting.pop() {
            if self.cancel.is_some_and(CancelToken::is_cancelled) {
                return Err(RestoreError::Cancelled);
            }
            let metadata = fs::symlink_metadata(&path).map_err(failed_at(&path))?;
            if metadata.is_dir() {
                for entry in fs::read_dir(&path).map_err(failed_at(&path))? {
                    waiting.push(entry.map_err(failed_at(&path))?.path());
                }
            } else if metadata.is_file() && self.sizes.contains(&metadata.len()) {
                self.add(path, metadata.len())?;
            }
        }
        Ok(self.found)
    }

    fn add(&mut self, path: PathBuf, bytes: u64) -> Result<(), RestoreError> {
        // The kernel's own files have no size either, and reading one may take for ever.
        if bytes == 0 {
            self.found.insert(Digest::of(b""), path);
            return Ok(());
        }
        let (file, _) = open_regular(&path)?;
        let is_over = || self.cancel.is_some_and(CancelToken::is_cancelled);
        let go_on = |_: &[u8]| match is_over() {
            true => Err(io::Error::other("cancelled")),
            false => Ok(()),
        };
        let mut buffer = vec![0; BUFFER];
        match digest_through(&mut file.take(bytes), bytes, &mut buffer, go_on) {
            Ok((digest, _)) => {
                self.found.insert(digest, path);
                Ok(())
            }
            Err(_) if is_over() => Err(RestoreError::Cancelled),
            Err(source) => Err(failed_at(&path)(source).into()),
        }
    }
}

fn failed_at(path: &Path) -> impl Fn(io::Error) -> SourceError {
    let path = path.display().to_string();
    move |source| SourceError::Io {
        path: path.clone(),
        source,
    }
}

/// Whose attributes are set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Files,
    Folders,
}

struct Unpacking<'a> {
    source: &'a dyn Source,
    folder: PathBuf,
    tree: PathBuf,
    room: Room,
    given: BTreeMap<Digest, PathBuf>,
    buffer: Vec<u8>,
    missing: Vec<ListedFile>,
}

impl Unpacking<'_> {
    /// Unpacks one file, below the folder or at its absolute path in the tree.
    fn unpack(&mut self, file: &ListedFile) -> Result<(), RestoreError> {
        let place = match file.path.strip_prefix('/') {
            None => self.folder.join(safe(&file.path)?.as_str()),
            Some(relative) => self.tree.join(safe(relative)?.as_str()),
        };
        // A file may be listed as an input and as one of the machine.
        if place.starts_with(&self.tree) && fs::symlink_metadata(&place).is_ok() {
            return Ok(());
        }
        let mut reader: Box<dyn Read + Send + '_> = match &file.stored {
            Some(stored) => self.source.open(&safe(stored)?)?,
            None => match self.given.get(&file.sha256) {
                Some(_) if file.bytes == 0 => Box::new(io::empty()),
                Some(path) => Box::new(open_regular(path)?.0.take(file.bytes)),
                None => {
                    self.missing.push(file.clone());
                    return Ok(());
                }
            },
        };
        let mode = if file.is_executable { 0o755 } else { 0o644 };
        self.room.take_entry().map_err(RestoreError::Write)?;
        let mut copy = create(&place, mode).map_err(RestoreError::Write)?;
        let room = &mut self.room;
        let copied = digest_through(&mut *reader, file.bytes, &mut self.buffer, |piece| {
            room.take(piece.len() as u64)?;
            copy.write_all(piece)
        });
        let (digest, _) = copied.map_err(RestoreError::Write)?;
        if digest != file.sha256 {
            let shown = file.path.escape_debug();
            return Err(malformed(format!(
                "`{shown}` is not what was read: expected sha256 {}, actual {digest}",
                file.sha256
            )));
        }
        Ok(())
    }

    /// Makes the folders that the command finds itself in and at home in, where the bundle has nothing.
    fn make_room_for(&self, appears_at: &Path, environment: Option<Node<'_>>) {
        let home = environment.and_then(|it| it.get("variables")?.get("HOME")?.as_str());
        let home = home.as_deref().map(Path::new);
        for place in [Some(appears_at), home].into_iter().flatten() {
            let relative = place.strip_prefix("/").ok().and_then(Path::to_str);
            if let Some(Ok(relative)) = relative.map(SafePath::parse) {
                // Something of the bundle may be in the way: then the sandbox says so.
                let _ = make_folders(&self.tree.join(relative.as_str()));
            }
        }
    }

    /// Gives what was unpacked the rights and times that it had, but no right to be another user.
    fn set_attributes(
        &self,
        environment: Option<Node<'_>>,
        kind: Kind,
    ) -> Result<(), RestoreError> {
        let mut listed = environment.map_or_else(Vec::new, parse_attributes);
        // Folders after what is in them, which changes their times.
        listed.sort_by(|a, b| b.path.cmp(&a.path));
        for of in listed {
            let place = match of.path.strip_prefix('/') {
                Some(relative) => self.tree.join(safe(relative)?.as_str()),
                None if of.path.is_empty() => self.folder.clone(),
                None => self.folder.join(safe(&of.path)?.as_str()),
            };
            let Ok(found) = fs::symlink_metadata(&place) else {
                continue;
            };
            // A link of the bundle may lead anywhere: neither it nor what lies behind it is touched.
            let base = if of.path.starts_with('/') {
                &self.tree
            } else {
                &self.folder
            };
            if !is_reached_without_links(base, &place) {
                continue;
            }
            if found.is_dir() != (kind == Kind::Folders) {
                continue;
            }
            // What lies in a folder that nobody may enter cannot be shown; and what is laid over folders of the
            // system is seen with the rights of others. A folder may pass its group on, and keep what others
            // put into it.
            let (most, least) = match (found.is_dir(), is_in_system_folder(Path::new(&of.path))) {
                (true, false) => (0o3777, 0o500),
                (true, true) => (0o777, 0o755),
                (false, false) => (0o777, 0),
                (false, true) => (0o777, 0o444),
            };
            let mode = of.mode & most | least;
            #[expect(
                clippy::disallowed_methods,
                reason = "only within a private folder, and no link"
            )]
            fs::set_permissions(&place, Permissions::from_mode(mode))
                .map_err(RestoreError::Write)?;
            set_modified(&place, of.modified).map_err(RestoreError::Write)?;
        }
        Ok(())
    }

    /// Puts placeholders where nothing is yet; returns the names of the files among them.
    fn put_present(&mut self, listed: &Placeholders) -> Result<Vec<String>, RestoreError> {
        let mut files = Vec::new();
        let Self {
            folder, tree, room, ..
        } = self;
        let own = listed.present.iter().map(|it| (&*folder, it));
        let elsewhere = listed.elsewhere.iter().map(|it| (&*tree, it));
        for (root, (path, entry)) in own.chain(elsewhere) {
            let place = root.join(path.as_str());
            if fs::symlink_metadata(&place).is_ok() {
                continue;
            }
            room.take_entry().map_err(RestoreError::Write)?;
            match entry {
                Placeholder::Folder => make_folders(&place).map_err(RestoreError::Write)?,
                Placeholder::File { bytes, mode } => {
                    let file = create(&place, *mode).map_err(RestoreError::Write)?;
                    file.set_len(*bytes).map_err(RestoreError::Write)?;
                    files.push(match root == tree {
                        true => format!("/{path}"),
                        false => path.to_string(),
                    });
                }
            }
        }
        Ok(files)
    }
}

/// Makes a link below `root`, unless something is there. The folder that it is in keeps its time.
fn put_link(root: &Path, path: &SafePath, target: &str) -> Result<(), RestoreError> {
    let place = root.join(path.as_str());
    // A link through another link could end up outside the folder.
    let mut above = root.to_owned();
    for part in Path::new(path.as_str())
        .parent()
        .into_iter()
        .flat_map(Path::components)
    {
        if let Component::Normal(part) = part {
            above.push(part);
        }
        if fs::symlink_metadata(&above).is_ok_and(|it| it.is_symlink()) {
            return Ok(());
        }
    }
    let before = fs::symlink_metadata(&above).ok();
    if fs::symlink_metadata(&place).is_ok_and(|it| it.is_file() && it.len() == 0) {
        fs::remove_file(&place).map_err(RestoreError::Write)?;
    }
    make_folders(&above).map_err(RestoreError::Write)?;
    match symlink(target, &place) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(RestoreError::Write(error));
        }
        _ => {}
    }
    if let Some(before) = before {
        let nanoseconds = u32::try_from(before.mtime_nsec()).unwrap_or_default();
        set_modified(&above, (before.mtime(), nanoseconds)).map_err(RestoreError::Write)?;
    }
    Ok(())
}

/// Sets when something was modified, and nothing that a link at its name leads to.
fn set_modified(place: &Path, (seconds, nanoseconds): (i64, u32)) -> io::Result<()> {
    let time = |tv_sec, tv_nsec| Timespec { tv_sec, tv_nsec };
    let times = Timestamps {
        last_access: time(seconds, nanoseconds.into()),
        last_modification: time(seconds, nanoseconds.into()),
    };
    match rustix::fs::utimensat(CWD, place, &times, AtFlags::SYMLINK_NOFOLLOW) {
        // A time that this file system does not have.
        Err(Errno::INVAL | Errno::OVERFLOW) => Ok(()),
        other => Ok(other?),
    }
}

/// Whether a place in a private folder is no link, and no link is on the way to it.
pub(super) fn is_reached_without_links(base: &Path, place: &Path) -> bool {
    let way = place.ancestors().take_while(|it| *it != base);
    place.starts_with(base)
        && way
            .into_iter()
            .all(|it| fs::symlink_metadata(it).is_ok_and(|found| !found.is_symlink()))
}

/// Makes folders that everybody may enter, whatever the umask says: they lie in a private one.
fn make_folders(place: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = place.ancestors().take_while(|it| !it.exists()).collect();
    for folder in missing.into_iter().rev() {
        fs::create_dir(folder)?;
        #[expect(
            clippy::disallowed_methods,
            reason = "only within a private folder, just made"
        )]
        fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// The most files and folders that are put in place because somebody listed them or looked at them.
const MOST_PLACEHOLDERS: usize = 200_000;

/// Files and folders that were there when a folder was listed, or when the command looked at them or worked in
/// them: named alike and of the same size, with nothing in them.
///
/// The list is the bundle maker's and costs them nothing, so it is bounded before anything is made.
#[derive(Default)]
pub(super) struct Placeholders {
    present: BTreeMap<SafePath, Placeholder>,
    /// The same outside the folder, by absolute path without the slash that it begins with.
    elsewhere: BTreeMap<SafePath, Placeholder>,
    /// Links, with what each leads to.
    links: Vec<(SafePath, String)>,
    /// The same outside the folder.
    links_elsewhere: Vec<(SafePath, String)>,
}

enum Placeholder {
    Folder,
    File { bytes: u64, mode: u32 },
}

impl Placeholders {
    /// The paths below the folder.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.present.keys().map(SafePath::as_str)
    }

    pub(super) fn list(environment: Option<Node<'_>>) -> Result<Self, RestoreError> {
        let mut listed = Self::default();
        let items = |name: &str| environment.and_then(|environment| environment.get(name));
        for folder in items("listed").iter().flat_map(|list| list.items()) {
            let path = text_in(folder, "path");
            for entry in folder.get("entries").iter().flat_map(|list| list.items()) {
                let name = text_in(entry, "name");
                match path.is_empty() {
                    true => listed.add(&name, entry)?,
                    false => listed.add(&format!("{path}/{name}"), entry)?,
                }
            }
        }
        for entry in items("present").iter().flat_map(|list| list.items()) {
            listed.add(&text_in(entry, "path"), entry)?;
        }
        listed.check_folders()?;
        Ok(listed)
    }

    /// Adds the links that RUN_INPUT.json lists.
    fn add_links(&mut self, input: Node<'_>) -> Result<(), RestoreError> {
        for link in input.get("links").iter().flat_map(|list| list.items()) {
            let text = |name: &str| Some(link.get(name)?.as_str()?.into_owned());
            let (Some(path), Some(target)) = (text("path"), text("target")) else {
                return Err(malformed("a link without path or target"));
            };
            let path = safe(&path)?;
            self.check_size(&path)?;
            self.links.push((path, target));
        }
        Ok(())
    }

    /// Adds the links that RUN_ENVIRONMENT.json lists.
    fn add_links_elsewhere(&mut self, environment: Option<Node<'_>>) -> Result<(), RestoreError> {
        for link in environment.map_or_else(Vec::new, parse_links) {
            if let Some(path) = link.path.strip_prefix('/') {
                let path = safe(path)?;
                self.check_size(&path)?;
                self.links_elsewhere.push((path, link.target));
            }
        }
        Ok(())
    }

    /// Refuses a further name beyond the bounds.
    fn check_size(&self, path: &SafePath) -> Result<(), RestoreError> {
        if is_too_deep(path.as_str()) {
            return Err(too_many("they are nested too deeply"));
        }
        match self.count() >= MOST_PLACEHOLDERS {
            true => Err(too_many("there are too many")),
            false => Ok(()),
        }
    }

    fn count(&self) -> usize {
        self.present.len() + self.elsewhere.len() + self.links.len() + self.links_elsewhere.len()
    }

    fn add(&mut self, path: &str, entry: Node<'_>) -> Result<(), RestoreError> {
        let (path, is_own) = match path.strip_prefix('/') {
            Some(path) => (path, false),
            None => (path, true),
        };
        // Shown once, but such a name is not worth failing for.
        let Ok(path) = SafePath::parse(path) else {
            return Ok(());
        };
        self.check_size(&path)?;
        let bytes = entry
            .get("bytes")
            .and_then(|bytes| bytes.as_number()?.to_exact_i64());
        let is_executable = entry.get("executable").and_then(|it| it.as_bool());
        let what = match bytes.and_then(|bytes| u64::try_from(bytes).ok()) {
            None => Placeholder::Folder,
            Some(bytes) => Placeholder::File {
                bytes,
                mode: match is_executable {
                    Some(true) => 0o755,
                    _ => 0o644,
                },
            },
        };
        let all = match is_own {
            true => &mut self.present,
            false => &mut self.elsewhere,
        };
        all.entry(path).or_insert(what);
        Ok(())
    }

    /// Refuses a list whose few names ask for many folders: those on the way to them.
    fn check_folders(&self) -> Result<(), RestoreError> {
        let links = self.links.iter().map(|(path, _)| path);
        let own = count_folders(&self.present, links);
        let links = self.links_elsewhere.iter().map(|(path, _)| path);
        let elsewhere = count_folders(&self.elsewhere, links);
        match own + elsewhere > 1000 + 4 * self.count() {
            true => Err(too_many("they lie in too many folders")),
            false => Ok(()),
        }
    }
}

/// How many folders on the way to names are not among them.
fn count_folders<'p>(
    present: &'p BTreeMap<SafePath, Placeholder>,
    links: impl Iterator<Item = &'p SafePath>,
) -> usize {
    let mut folders = BTreeSet::new();
    for path in present.keys().chain(links) {
        let above = path.as_str().match_indices('/');
        folders.extend(above.map(|(at, _)| &path.as_str()[..at]));
    }
    let is_on_the_way =
        |folder: &&&str| SafePath::parse(folder).is_ok_and(|it| !present.contains_key(&it));
    folders.iter().filter(is_on_the_way).count()
}

fn too_many(why: &str) -> RestoreError {
    malformed(format!(
        "the bundle lists files, folders or links that no replay makes: {why}"
    ))
}

fn text_in(node: Node<'_>, name: &str) -> String {
    let text = node
        .get(name)
        .and_then(|it| Some(it.as_str()?.into_owned()));
    text.unwrap_or_default()
}

/// Makes a new file and the folders on the way to it.
#[expect(clippy::disallowed_methods, reason = "only within a private folder")]
fn create(place: &Path, mode: u32) -> io::Result<File> {
    if let Some(parent) = place.parent() {
        make_folders(parent)?;
    }
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(place)?;
    file.set_permissions(Permissions::from_mode(mode))?;
    Ok(file)
}
