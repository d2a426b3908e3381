//! Unpacks the files of a recorded command into a private folder, so that the command can be run
//! there again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use runseal_core::canon::Node;
use runseal_core::digest::Digest;
use runseal_core::formats::run_bundle::layout::{
    MODEL_BODIES_FOLDER, MODEL_IO, RUN_ENVIRONMENT, RUN_INPUT, STDIN,
};
use runseal_core::formats::run_bundle::recorded::{
    INPUT_LISTS, ListedFile, MODEL_IO_MEMBER, parse_listed_files,
};
use runseal_core::path::SafePath;
use runseal_core::source::{EntryKind, EntryName, Source, SourceError};
use runseal_sandbox::{CancelToken, Mount};

use crate::run::verify::VerifiedRun;
use runseal_fs::input::open_regular;
use runseal_fs::private::PrivateFolder;
use runseal_fs::stream::{BUFFER, digest_through};

/// The unpacked files of a recorded command; deleted when dropped.
#[derive(Debug)]
pub(crate) struct Restored {
    pub(crate) folder: PathBuf,
    pub(crate) inputs: Vec<Mount>,
    pub(crate) stdin: Vec<u8>,
    /// The recorded model answers, with large bodies beside them, if there are any.
    pub(crate) model_io: Option<PathBuf>,
    /// Files that were listed or looked at and not read: there is nothing in them.
    pub(crate) placeholders: Vec<String>,
    _private: PrivateFolder,
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
    given: &[PathBuf],
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
    let listed: Vec<ListedFile> = lists.flatten().collect();
    let absent = listed.iter().filter(|file| file.stored.is_none());
    let search = GivenFiles {
        sizes: absent.map(|file| file.bytes).collect(),
        cancel,
        found: BTreeMap::new(),
    };
    let mut unpacking = Unpacking {
        source: run.source(),
        folder: root.join("folder"),
        inputs: root.join("inputs"),
        given: search.search(given)?,
        buffer: vec![0; BUFFER],
        missing: Vec::new(),
    };
    for folder in [&unpacking.folder, &unpacking.inputs] {
        fs::create_dir(folder).map_err(RestoreError::Write)?;
    }
    let mut inputs = Vec::new();
    for file in &listed {
        inputs.extend(unpacking.unpack(file)?);
    }
    if !unpacking.missing.is_empty() {
        return Err(RestoreError::Missing(unpacking.missing));
    }
    let environment = run.document(RUN_ENVIRONMENT);
    let environment = environment.as_ref().map(|document| document.root());
    let mut listed = Placeholders::list(environment)?;
    listed.add_links(input)?;
    listed.check_folders()?;
    let placeholders = unpacking.put_present(&listed)?;
    // Last, so that nothing is ever written through one.
    for (path, target) in &listed.links {
        unpacking.put_link(path, target)?;
    }
    let stdin = match input.get("stdin").filter(|stdin| !stdin.is_null()) {
        Some(_) => run.source().read(&safe(STDIN)?, LARGEST_STDIN)?,
        None => Vec::new(),
    };
    let model_io = match input.get(MODEL_IO_MEMBER) {
        Some(_) => Some(unpack_models(run.source(), &root)?),
        None => None,
    };
    Ok(Restored {
        folder: unpacking.folder,
        inputs,
        stdin,
        model_io,
        placeholders,
        _private: private,
    })
}

/// Unpacks the recorded model answers, out of the command's sight.
#[expect(clippy::disallowed_methods, reason = "only within a private folder")]
fn unpack_models(source: &dyn Source, root: &Path) -> Result<PathBuf, RestoreError> {
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
        io::copy(&mut source.open(&path)?, &mut to).map_err(RestoreError::Write)?;
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

struct Unpacking<'a> {
    source: &'a dyn Source,
    folder: PathBuf,
    inputs: PathBuf,
    given: BTreeMap<Digest, PathBuf>,
    buffer: Vec<u8>,
    missing: Vec<ListedFile>,
}

impl Unpacking<'_> {
    /// Unpacks one file; returns a mount if it must appear outside the folder.
    fn unpack(&mut self, file: &ListedFile) -> Result<Option<Mount>, RestoreError> {
        let absolute = Path::new(&file.path);
        let (place, mount) = match absolute.strip_prefix("/") {
            Err(_) => (self.folder.join(safe(&file.path)?.as_str()), None),
            Ok(relative) => {
                let text = relative.to_str().unwrap_or_default();
                let host = self.inputs.join(safe(text)?.as_str());
                let inside = absolute.to_owned();
                let mount = Mount {
                    host: host.clone(),
                    inside,
                };
                (host, Some(mount))
            }
        };
        let mut reader: Box<dyn Read + Send + '_> = match &file.stored {
            Some(stored) => self.source.open(&safe(stored)?)?,
            None => match self.given.get(&file.sha256) {
                Some(_) if file.bytes == 0 => Box::new(io::empty()),
                Some(path) => Box::new(open_regular(path)?.0.take(file.bytes)),
                None => {
                    self.missing.push(file.clone());
                    return Ok(None);
                }
            },
        };
        let mode = if file.is_executable { 0o755 } else { 0o644 };
        let mut copy = create(&place, mode).map_err(RestoreError::Write)?;
        let copied = digest_through(&mut *reader, file.bytes, &mut self.buffer, |piece| {
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
        Ok(mount)
    }

    /// Puts placeholders where nothing is yet; returns the names of the files among them.
    fn put_present(&self, listed: &Placeholders) -> Result<Vec<String>, RestoreError> {
        let mut files = Vec::new();
        for (path, entry) in &listed.present {
            let place = self.folder.join(path.as_str());
            if fs::symlink_metadata(&place).is_ok() {
                continue;
            }
            match entry {
                Placeholder::Folder => fs::create_dir_all(&place).map_err(RestoreError::Write)?,
                Placeholder::File { bytes, mode } => {
                    let file = create(&place, *mode).map_err(RestoreError::Write)?;
                    file.set_len(*bytes).map_err(RestoreError::Write)?;
                    files.push(path.to_string());
                }
            }
        }
        Ok(files)
    }

    fn put_link(&self, path: &SafePath, target: &str) -> Result<(), RestoreError> {
        let place = self.folder.join(path.as_str());
        // A link through another link could end up outside the folder.
        let mut above = self.folder.clone();
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
        if fs::symlink_metadata(&place).is_ok_and(|it| it.is_file() && it.len() == 0) {
            fs::remove_file(&place).map_err(RestoreError::Write)?;
        }
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent).map_err(RestoreError::Write)?;
        }
        match symlink(target, &place) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(RestoreError::Write(error))
            }
            _ => Ok(()),
        }
    }
}

/// The longest standard input, as when recording.
const LARGEST_STDIN: u64 = 512 << 20;

/// The most files and folders that are put in place because somebody listed them or looked at them.
const MOST_PLACEHOLDERS: usize = 200_000;

/// The deepest of them, in segments of its path.
const DEEPEST_PLACEHOLDER: usize = 128;

/// Files and folders that were there when a folder was listed, or when the command looked at them or worked in
/// them: named alike and of the same size, with nothing in them.
///
/// The list is the bundle maker's and costs them nothing, so it is bounded before anything is made.
#[derive(Default)]
pub(super) struct Placeholders {
    present: BTreeMap<SafePath, Placeholder>,
    /// Links, with what each leads to.
    links: Vec<(SafePath, String)>,
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

    /// Refuses a further name beyond the bounds.
    fn check_size(&self, path: &SafePath) -> Result<(), RestoreError> {
        if path.as_str().split('/').count() > DEEPEST_PLACEHOLDER {
            return Err(too_many("they are nested too deeply"));
        }
        match self.present.len() + self.links.len() >= MOST_PLACEHOLDERS {
            true => Err(too_many("there are too many")),
            false => Ok(()),
        }
    }

    fn add(&mut self, path: &str, entry: Node<'_>) -> Result<(), RestoreError> {
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
        self.present.entry(path).or_insert(what);
        Ok(())
    }

    /// Refuses a list whose few names ask for many folders: those on the way to them.
    fn check_folders(&self) -> Result<(), RestoreError> {
        let mut folders = BTreeSet::new();
        let links = self.links.iter().map(|(path, _)| path);
        for path in self.present.keys().chain(links) {
            let above = path.as_str().match_indices('/');
            folders.extend(above.map(|(at, _)| &path.as_str()[..at]));
        }
        let on_the_way = folders.iter().filter(|folder| {
            SafePath::parse(folder).is_ok_and(|it| !self.present.contains_key(&it))
        });
        match on_the_way.count() > 1000 + 4 * (self.present.len() + self.links.len()) {
            true => Err(too_many("they lie in too many folders")),
            false => Ok(()),
        }
    }
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
        fs::create_dir_all(parent)?;
    }
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(place)?;
    file.set_permissions(Permissions::from_mode(mode))?;
    Ok(file)
}
