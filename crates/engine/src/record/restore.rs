//! Unpacks the files of a recorded command into a private folder, so that the command can be run
//! there again.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
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
use runseal_sandbox::Mount;

use crate::run::verify::VerifiedRun;
use crate::stream::{BUFFER, digest_through};

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
    _private: tempfile::TempDir,
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
pub(crate) fn restore(run: &VerifiedRun<'_>, given: &[PathBuf]) -> Result<Restored, RestoreError> {
    let private = tempfile::Builder::new()
        .prefix("runseal-replay-")
        .tempdir()
        .map_err(RestoreError::Write)?;
    let root = private.path().canonicalize().map_err(RestoreError::Write)?;
    let mut unpacking = Unpacking {
        source: run.source(),
        folder: root.join("folder"),
        inputs: root.join("inputs"),
        given: find_given(given)?,
        buffer: vec![0; BUFFER],
        missing: Vec::new(),
    };
    for folder in [&unpacking.folder, &unpacking.inputs] {
        fs::create_dir(folder).map_err(RestoreError::Write)?;
    }
    let input = run.document(RUN_INPUT);
    let input = input.as_ref().map(|input| input.root());
    let input = input.ok_or_else(|| malformed("there is no input"))?;
    let mut inputs = Vec::new();
    for name in INPUT_LISTS {
        for file in parse_listed_files(input, name) {
            inputs.extend(unpacking.unpack(&file)?);
        }
    }
    if !unpacking.missing.is_empty() {
        return Err(RestoreError::Missing(unpacking.missing));
    }
    let environment = run.document(RUN_ENVIRONMENT);
    let environment = environment.as_ref().map(|document| document.root());
    let placeholders = environment.map_or(Ok(Vec::new()), |node| unpacking.put_present(node))?;
    // Last, so that nothing is ever written through one.
    for link in input.get("links").iter().flat_map(|list| list.items()) {
        unpacking.put_link(link)?;
    }
    let stdin = match input.get("stdin").filter(|stdin| !stdin.is_null()) {
        Some(_) => run.source().read(&safe(STDIN)?, u64::MAX)?,
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
    }
    Ok(folder.join(MODEL_IO))
}

fn malformed(what: impl Into<String>) -> RestoreError {
    RestoreError::Malformed(what.into())
}

fn safe(path: &str) -> Result<SafePath, RestoreError> {
    SafePath::parse(path).map_err(|fault| malformed(format!("`{}`: {fault}", path.escape_debug())))
}

/// The given files for those that are not in the bundle, by digest.
fn find_given(given: &[PathBuf]) -> Result<BTreeMap<Digest, PathBuf>, RestoreError> {
    let mut found = BTreeMap::new();
    let mut waiting = given.to_vec();
    let mut buffer = vec![0; BUFFER];
    while let Some(path) = waiting.pop() {
        let fail = |source| SourceError::Io {
            path: path.display().to_string(),
            source,
        };
        let metadata = fs::metadata(&path).map_err(fail)?;
        if metadata.is_dir() {
            for entry in fs::read_dir(&path).map_err(fail)? {
                waiting.push(entry.map_err(fail)?.path());
            }
        } else if metadata.is_file() {
            let mut file = File::open(&path).map_err(fail)?;
            let digest = digest_through(&mut file, metadata.len(), &mut buffer, |_| Ok(()));
            found.insert(digest.map_err(fail)?.0, path);
        }
    }
    Ok(found)
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
        let mut reader: Box<dyn io::Read + Send + '_> = match &file.stored {
            Some(stored) => self.source.open(&safe(stored)?)?,
            None => match self.given.get(&file.sha256) {
                Some(path) => Box::new(File::open(path).map_err(RestoreError::Write)?),
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

    /// Files and folders that were there when a folder was listed, or when the command looked at them
    /// or worked in them: named alike and of the same size, with nothing in them.
    fn put_present(&self, environment: Node<'_>) -> Result<Vec<String>, RestoreError> {
        let mut placeholders = Vec::new();
        let items = |name: &str| environment.get(name);
        for folder in items("listed").iter().flat_map(|list| list.items()) {
            let path = text_in(folder, "path");
            for entry in folder.get("entries").iter().flat_map(|list| list.items()) {
                let name = text_in(entry, "name");
                let relative = match path.is_empty() {
                    true => name,
                    false => format!("{path}/{name}"),
                };
                self.put_one(relative, entry, &mut placeholders)?;
            }
        }
        for entry in items("present").iter().flat_map(|list| list.items()) {
            self.put_one(text_in(entry, "path"), entry, &mut placeholders)?;
        }
        Ok(placeholders)
    }

    fn put_one(
        &self,
        relative: String,
        entry: Node<'_>,
        placeholders: &mut Vec<String>,
    ) -> Result<(), RestoreError> {
        let place = match SafePath::parse(&relative) {
            Ok(safe) => self.folder.join(safe.as_str()),
            // Shown once, but such a name is not worth failing for.
            Err(_) => return Ok(()),
        };
        if fs::symlink_metadata(&place).is_ok() {
            return Ok(());
        }
        let bytes = entry
            .get("bytes")
            .and_then(|bytes| bytes.as_number()?.to_exact_i64());
        match bytes.and_then(|bytes| u64::try_from(bytes).ok()) {
            Some(bytes) => {
                let is_executable = entry.get("executable").and_then(|it| it.as_bool());
                let mode = if is_executable == Some(true) {
                    0o755
                } else {
                    0o644
                };
                let file = create(&place, mode).map_err(RestoreError::Write)?;
                file.set_len(bytes).map_err(RestoreError::Write)?;
                placeholders.push(relative);
            }
            None => fs::create_dir_all(&place).map_err(RestoreError::Write)?,
        }
        Ok(())
    }

    fn put_link(&self, link: Node<'_>) -> Result<(), RestoreError> {
        let text = |name: &str| Some(link.get(name)?.as_str()?.into_owned());
        let (Some(path), Some(target)) = (text("path"), text("target")) else {
            return Err(malformed("a link without path or target"));
        };
        let place = self.folder.join(safe(&path)?.as_str());
        // A link through another link could end up outside the folder.
        let mut above = self.folder.clone();
        for part in Path::new(&path)
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

fn text_in(node: Node<'_>, name: &str) -> String {
    let text = node
        .get(name)
        .and_then(|it| Some(it.as_str()?.into_owned()));
    text.unwrap_or_default()
}

/// Makes a new file and the folders on the way to it.
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
