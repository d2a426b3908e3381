//! The files of a recorded command's bundle: what it read, if that is unchanged since, and what it
//! left.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use runseal_core::canon::{Dialect, ReadOptions, canonical_bytes, parse_document};
use runseal_core::digest::Digest;
use runseal_core::formats::run_bundle::layout::{
    ARTIFACTS_FOLDER, MODEL_BODIES_FOLDER, MODEL_IO, STDERR_LOG, STDIN, STDOUT_LOG, is_json,
};
use runseal_core::formats::run_bundle::recorded::CaptureGap;
use runseal_core::limits::JsonLimits;
use runseal_core::path::SafePath;
use runseal_core::source::{EntryKind, EntryName, Source, SourceError};
use runseal_sandbox::{CancelToken, Changed};

use super::{Sealing, check_interrupted};
use crate::record::accesses::{Accesses, OpenedState, ReadFile};
use crate::record::ahead::FilesAhead;
use crate::record::beneath::RealFiles;
use crate::record::documents::{FileEntry, RecordedOutput};
use crate::record::environment::{modified_ns, status_changed_ns};
use crate::record::error::RecordError;
use crate::record::run::CommandRun;
use crate::run::staging::{RunFiles, Stored, Storing};
use runseal_fs::directory::{DirectorySource, RootLink};
use runseal_redact::holds_seed;

/// The most names of files not kept that are listed.
pub(crate) const MOST_LEFT_OUT: usize = 10_000;

/// Seals files that were read below `folder` of the bundle. What may not be read becomes a gap.
pub(super) fn put_all(
    to: &mut RunFiles,
    reading: &Reading<'_>,
    files: &[ReadFile],
    folder: &str,
    gaps: &mut BTreeSet<CaptureGap>,
) -> Result<Vec<FileEntry>, RecordError> {
    let mut used = BTreeSet::new();
    let mut places = Vec::with_capacity(files.len());
    for file in files {
        // Two inputs of the same name get folders of their own.
        let mut to = format!("{folder}/{}", file.place);
        for number in 2.. {
            if used.insert(to.clone()) {
                break;
            }
            to = format!("{folder}/{number}/{}", file.place);
        }
        places.push((file, to));
    }
    let put = to.store_all(&places, |storing, (file, to)| {
        match reading.put(storing, file, to) {
            Err(error) if is_forbidden(&error) => Ok(None),
            other => other.map(Some),
        }
    })?;
    for (file, _) in files.iter().zip(&put).filter(|(_, put)| put.is_none()) {
        // The command runs as the same user: its own open failed too.
        let path = file.path.escape_debug();
        gaps.insert(CaptureGap {
            kind: "unreadable".to_owned(),
            detail: format!("`{path}` was opened and may not be read, so it is not sealed"),
        });
    }
    Ok(put.into_iter().flatten().collect())
}

fn is_forbidden(error: &RecordError) -> bool {
    let RecordError::Read(SourceError::Io { source, .. }) = error else {
        return false;
    };
    source.kind() == io::ErrorKind::PermissionDenied
}

impl Sealing<'_> {
    /// Stores what models were asked and answered, with its large bodies; gives its entry and how many
    /// calls there were.
    pub(super) fn put_models(&mut self) -> Result<Option<(FileEntry, usize)>, RecordError> {
        let recording = self
            .models
            .as_ref()
            .and_then(|models| models.recording.clone());
        let Some(recording) = recording else {
            return Ok(None);
        };
        let folder = recording.parent().unwrap_or(Path::new("."));
        let source = DirectorySource::open(folder, RootLink::Follow)?;
        let malformed = |fault: &dyn std::fmt::Display| RecordError::Models(fault.to_string());
        let path = SafePath::parse(MODEL_IO).map_err(|fault| malformed(&fault))?;
        let bytes = source.read(&path, JsonLimits::LARGEST_DOCUMENT)?;
        let document = parse_document(&bytes, &ReadOptions::default());
        let document = document.map_err(|error| malformed(&error.kind))?;
        let stored = canonical_bytes(document.root(), Dialect::Jcs)?;
        self.files.put_bytes(MODEL_IO, &stored)?;
        let calls = document
            .root()
            .get("interactions")
            .map_or(0, |list| list.len());
        for entry in source.entries()? {
            let EntryName::Safe(path) = entry.name else {
                continue;
            };
            let is_body = path.as_str().starts_with(MODEL_BODIES_FOLDER);
            if entry.kind == EntryKind::File && is_body {
                self.files.copy(&source, &path, path.as_str())?;
            }
        }
        Ok(Some((log_entry(MODEL_IO, MODEL_IO, &stored), calls)))
    }

    pub(super) fn put_stdin(&mut self) -> Result<Option<FileEntry>, RecordError> {
        let stdin = &self.request.command.stdin;
        if stdin.is_empty() {
            return Ok(None);
        }
        self.files.put_bytes(STDIN, stdin)?;
        Ok(Some(log_entry("-", STDIN, stdin)))
    }

    pub(super) fn put_outputs(
        &mut self,
        run: &CommandRun,
        accesses: &mut Accesses,
    ) -> Result<RecordedOutput, RecordError> {
        let outcome = &run.recorded.outcome;
        self.files.put_bytes(STDOUT_LOG, &outcome.stdout.bytes)?;
        self.files.put_bytes(STDERR_LOG, &outcome.stderr.bytes)?;
        let mut given = RecordedOutput {
            ending: outcome.ending,
            stdout: log_entry("stdout", STDOUT_LOG, &outcome.stdout.bytes),
            stderr: log_entry("stderr", STDERR_LOG, &outcome.stderr.bytes),
            outputs: Vec::new(),
            not_kept: self.request.keep.as_ref().map(|_| Vec::new()),
            folders: Vec::new(),
            deleted: Vec::new(),
        };
        let Some(layer) = &run.recorded.layer else {
            return Ok(given);
        };
        let mut left_out = 0_usize;
        let mut outputs = Vec::new();
        let changes = layer.changes();
        for (at, change) in changes.iter().enumerate() {
            if self.is_left_out(&change.path) && change.now != Changed::Deleted {
                if !matches!(change.now, Changed::Folder { .. }) {
                    left_out += 1;
                    note_left_out(&change.path, &mut given);
                }
                continue;
            }
            let path = output_path(&change.path)?;
            match &change.now {
                Changed::File { bytes, mode } => outputs.push(KeptOutput {
                    at: &change.path,
                    path,
                    bytes: *bytes,
                    mode: *mode,
                }),
                Changed::Folder { .. } => {
                    let next = changes.get(at + 1).map(|next| next.path.as_encoded_bytes());
                    let below = format!("{path}/");
                    let is_empty = !next.is_some_and(|next| next.starts_with(below.as_bytes()));
                    if !change.existed && is_empty {
                        given.folders.push(path);
                    }
                }
                Changed::Deleted => given.deleted.push(path),
                Changed::Link { .. } => return Err(left(path, "it is a symbolic link")),
                Changed::Pipe => return Err(left(path, "it is a named pipe")),
                Changed::Socket => return Err(left(path, "it is a socket")),
                Changed::Device => return Err(left(path, "it is a device")),
            }
        }
        let cancel = self.cancel;
        given.outputs = self.files.store_all(&outputs, |storing, left| {
            check_interrupted(cancel)?;
            let handle = layer.open(left.at)?;
            let to = format!("{ARTIFACTS_FOLDER}/{}", left.path);
            let stored = storing.put_user_file(&handle, left.bytes, &to)?;
            Ok::<_, RecordError>(entry_of(left.path.clone(), stored, left.mode))
        })?;
        if left_out > 0 {
            accesses.gaps.insert(CaptureGap {
                kind: "not-kept".to_owned(),
                detail: match left_out {
                    1 => "a file was written that --keep leaves out".to_owned(),
                    _ => format!("{left_out} files were written that --keep leaves out"),
                },
            });
        }
        Ok(given)
    }

    fn is_left_out(&self, path: &OsStr) -> bool {
        let keep = self.request.keep.as_ref();
        keep.is_some_and(|keep| !keep.keeps(Path::new(path)))
    }
}

/// What has to be known to seal files that were read.
pub(super) struct Reading<'a> {
    pub(super) cancel: Option<&'a CancelToken>,
    pub(super) reference_above: Option<u64>,
    pub(super) ahead: &'a FilesAhead,
    pub(super) real: &'a RealFiles,
    /// When the run began, as times of files tell it.
    pub(super) began_ns: i128,
    /// Whether the command opened copies of the files.
    pub(super) is_copy: bool,
}

impl Reading<'_> {
    /// Seals a file that was read, if it is unchanged since.
    fn put(
        &self,
        storing: &mut Storing<'_>,
        file: &ReadFile,
        to: &str,
    ) -> Result<FileEntry, RecordError> {
        check_interrupted(self.cancel)?;
        if self.is_seed(&file.host) {
            return Err(RecordError::Seed(file.path.clone()));
        }
        if let Some(entry) = self.put_read_ahead(storing, file, to)? {
            return Ok(entry);
        }
        let (handle, before) = match self.real.open(&file.host) {
            // It existed when the command opened it.
            Err(SourceError::NotFound { .. }) => {
                return Err(RecordError::Changed(file.path.clone()));
            }
            other => other?,
        };
        let look = |handle: &File| {
            let metadata = handle.metadata().map_err(|source| SourceError::Io {
                path: file.path.clone(),
                source,
            });
            metadata.map_err(RecordError::from)
        };
        let changed = || RecordError::Changed(file.path.clone());
        let is_as_it_was = match &file.when_opened {
            Some(opened) => self.is_as_opened(opened, &before),
            // The command was not seen to open it, but found it when it began.
            None => status_changed_ns(&before) <= self.began_ns,
        };
        if !is_as_it_was {
            return Err(changed());
        }
        let bytes = before.len();
        let is_sealed = self.reference_above.is_none_or(|most| bytes <= most);
        if is_sealed && is_mostly_holes(&before) {
            return Err(RecordError::Sparse {
                path: file.path.clone(),
                bytes,
            });
        }
        let stored = match is_sealed {
            true => storing.put_user_file(&handle, bytes, to)?,
            false => storing.digest_user_file(&handle, bytes, to)?,
        };
        let what =
            |it: &fs::Metadata| (it.len(), modified_ns(it), status_changed_ns(it), it.mode());
        if stored.bytes != bytes || what(&look(&handle)?) != what(&before) {
            return Err(changed());
        }
        Ok(entry_of(file.path.clone(), stored, before.mode()))
    }

    /// Whether a file is the seed of a bundle that lies beside it.
    fn is_seed(&self, path: &Path) -> bool {
        let has_bundle = || self.real.look(&path.with_extension(""));
        path.extension() == Some(OsStr::new("seed"))
            && has_bundle().is_ok_and(|it| it.is_dir())
            && self.real.open(path).is_ok_and(|(file, _)| holds_seed(file))
    }

    /// Whether a file is still what was opened. The time of its last change can be set back; the one of
    /// the last change of anything cannot. What the command does to a file of its layer changes the
    /// latter there alone, so that it only counts where the real file's is newer than the run.
    fn is_as_opened(&self, opened: &OpenedState, now: &fs::Metadata) -> bool {
        let changed_ns = status_changed_ns(now);
        let is_changed = match self.is_copy {
            true => changed_ns > self.began_ns,
            false => changed_ns >= self.began_ns && changed_ns != opened.status_changed_ns,
        };
        (opened.bytes, opened.modified_ns) == (now.len(), modified_ns(now)) && !is_changed
    }

    /// Seals a file that was read ahead, if it is unchanged since; `None` if it has to be read
    /// again.
    fn put_read_ahead(
        &self,
        storing: &mut Storing<'_>,
        file: &ReadFile,
        to: &str,
    ) -> Result<Option<FileEntry>, RecordError> {
        if is_json(to) || self.reference_above.is_some() {
            return Ok(None);
        }
        let Ok(now) = self.real.look(&file.host) else {
            return Ok(None);
        };
        let opened = file.when_opened.as_ref();
        let is_what_was_opened = opened.is_some_and(|opened| self.is_as_opened(opened, &now));
        let read = self.ahead.get(&file.host, &now);
        let read = read.filter(|_| is_what_was_opened);
        let Some((read, content)) = read.and_then(|read| Some((read, read.content.as_ref()?)))
        else {
            return Ok(None);
        };
        let stored = storing.put_known(to, content, read.sha256)?;
        Ok(Some(entry_of(file.path.clone(), stored, now.mode())))
    }
}

/// Whether a large file is one of few bytes on disk. Nobody paid for the rest, and a bundle would hold all of it.
fn is_mostly_holes(metadata: &fs::Metadata) -> bool {
    const LARGE: u64 = 64 << 20;
    // Also where the file system packs what it stores, a file that is worth sealing has more.
    metadata.len() > LARGE && metadata.blocks().saturating_mul(512) < metadata.len() / 64
}

/// A file that was left, on its way into the bundle.
struct KeptOutput<'a> {
    at: &'a OsStr,
    path: String,
    bytes: u64,
    mode: u32,
}

/// Records the name of a file that is not kept, so that a replay can detect new ones.
fn note_left_out(path: &OsStr, given: &mut RecordedOutput) {
    if let (Some(names), Some(path)) = (&mut given.not_kept, path.to_str())
        && names.len() < MOST_LEFT_OUT
    {
        names.push(path.to_owned());
    }
}

fn entry_of(path: String, stored: Stored, mode: u32) -> FileEntry {
    FileEntry {
        path,
        sha256: stored.sha256,
        bytes: stored.bytes,
        is_executable: mode & 0o111 != 0,
        stored: stored.place,
    }
}

fn log_entry(path: &str, stored: &str, bytes: &[u8]) -> FileEntry {
    FileEntry {
        path: path.to_owned(),
        sha256: Digest::of(bytes),
        bytes: bytes.len() as u64,
        is_executable: false,
        stored: Some(stored.to_owned()),
    }
}

fn left(path: String, reason: &str) -> RecordError {
    RecordError::Left {
        path,
        reason: reason.to_owned(),
    }
}

/// The path of something that was left, if a bundle can contain it.
pub(crate) fn output_path(path: &OsStr) -> Result<String, RecordError> {
    let shown = path.as_encoded_bytes().escape_ascii().to_string();
    let Some(text) = path.to_str() else {
        return Err(left(shown, "its name is no UTF-8"));
    };
    match SafePath::parse(text) {
        Ok(path) => Ok(path.to_string()),
        Err(fault) => Err(left(shown, &format!("unsafe name: {fault}"))),
    }
}
