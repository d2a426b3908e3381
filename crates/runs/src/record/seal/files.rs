//! The files of a recorded command's bundle: what it read, if that is unchanged since, and what it
//! left.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use runseal_core::canon::{Dialect, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::digest::Digest;
use runseal_core::formats::run_bundle::layout::{
    ARTIFACTS_FOLDER, MODEL_BODIES_FOLDER, MODEL_IO, STDERR_LOG, STDIN, STDOUT_LOG, TERMINAL_LOG,
    is_json,
};
use runseal_core::formats::run_bundle::recorded::{CaptureGap, ListedLink};
use runseal_core::limits::JsonLimits;
use runseal_core::path::SafePath;
use runseal_core::source::{EntryKind, EntryName, Source, SourceError};
use runseal_sandbox::{CancelToken, Changed, Stdin};

use super::{Sealing, check_interrupted};
use crate::record::accesses::{Accesses, OpenedState, ReadFile};
use crate::record::ahead::FilesAhead;
use crate::record::beneath::RealFiles;
use crate::record::documents::{FileEntry, RecordedOutput};
use crate::record::environment::{modified_ns, status_changed_ns};
use crate::record::error::{RecordError, work_error};
use crate::record::run::CommandRun;
use crate::record::searched::Search;
use crate::record::terminal::{make_cast, terminal_gaps, terminal_value};
use crate::record::terms::Fate;
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

    /// Stores what the command was given on standard input, or took of it; nothing if it is empty.
    pub(super) fn put_stdin(&mut self, run: &CommandRun) -> Result<Option<FileEntry>, RecordError> {
        let file = match &self.request.command.stdin {
            _ if run.has_terminal_stdin() => return Ok(None),
            Stdin::Null => return Ok(None),
            Stdin::Bytes(bytes) if bytes.is_empty() => return Ok(None),
            Stdin::Bytes(bytes) => {
                self.files.put_bytes(STDIN, bytes)?;
                return Ok(Some(log_entry("-", STDIN, bytes)));
            }
            Stdin::File(file) => file,
            Stdin::Pipe(input) => match &input.kept {
                Some(kept) => kept,
                None => return Ok(None),
            },
        };
        let bytes = file.metadata().map_err(work_error)?.len();
        if bytes == 0 {
            return Ok(None);
        }
        // Whatever was read or written before.
        let mut file: &File = file;
        file.rewind().map_err(work_error)?;
        let stored = self.files.put_user_file(file, bytes, STDIN)?;
        Ok(Some(entry_of("-".to_owned(), stored, 0o644)))
    }

    /// Stores what was shown on the command's terminal, with its times, and gives what the environment says of it.
    pub(super) fn put_terminal(
        &mut self,
        run: &CommandRun,
        accesses: &mut Accesses,
        search: &Search<'_>,
    ) -> Result<Option<Value>, RecordError> {
        let outcome = &run.recorded.outcome;
        if let Some(fault) = outcome
            .input
            .as_ref()
            .and_then(|input| input.fault.as_ref())
        {
            accesses.gaps.insert(CaptureGap {
                kind: "stdin".to_owned(),
                detail: format!("standard input could not be read to its end: {fault}"),
            });
        }
        let (Some(terminal), Some(log)) = (&self.request.command.terminal, &outcome.terminal)
        else {
            return Ok(None);
        };
        // The file has it in pieces, by their times.
        let told = search.search_bytes("terminal", &log.alone)?;
        accesses.gaps.extend(told);
        accesses.gaps.extend(terminal_gaps(log));
        let cast = make_cast(outcome, log, terminal.size, &run.environment)?;
        self.files.put_bytes(TERMINAL_LOG, &cast)?;
        let entry = log_entry("terminal", TERMINAL_LOG, &cast);
        Ok(Some(terminal_value(terminal.size, Some(&entry))))
    }

    pub(super) fn put_outputs(
        &mut self,
        run: &CommandRun,
        accesses: &mut Accesses,
    ) -> Result<RecordedOutput, RecordError> {
        let terms = &self.request.terms;
        let outcome = &run.recorded.outcome;
        self.files.put_bytes(STDOUT_LOG, &outcome.stdout.bytes)?;
        self.files.put_bytes(STDERR_LOG, &outcome.stderr.bytes)?;
        let mut given = RecordedOutput {
            ending: outcome.ending,
            interrupted: outcome.interrupted,
            stdout: log_entry("stdout", STDOUT_LOG, &outcome.stdout.bytes),
            stderr: log_entry("stderr", STDERR_LOG, &outcome.stderr.bytes),
            outputs: Vec::new(),
            not_kept: terms.keep.as_ref().map(|_| Vec::new()),
            folders: Vec::new(),
            deleted: Vec::new(),
            links: Vec::new(),
        };
        let Some(layer) = &run.recorded.layer else {
            return Ok(given);
        };
        let (mut left_out, mut ignored) = (0_usize, 0_usize);
        let (mut outputs, mut no_files) = (Vec::new(), Vec::new());
        let changes = layer.changes();
        let filled = terms.find_filled(changes);
        for change in changes {
            let is_folder = matches!(change.now, Changed::Folder { .. });
            match terms.fate_of(&change.path) {
                _ if change.now == Changed::Deleted => {}
                Fate::Kept => {}
                Fate::Named if !is_folder => {
                    left_out += 1;
                    note_left_out(&change.path, &mut given);
                    continue;
                }
                Fate::Ignored if !is_folder => {
                    ignored += 1;
                    continue;
                }
                Fate::Named | Fate::Ignored => continue,
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
                    if !change.existed && !filled.contains(Path::new(&change.path)) {
                        given.folders.push(path);
                    }
                }
                Changed::Deleted => given.deleted.push(path),
                Changed::Link { target } => given.links.push(link_of(path, target)?),
                Changed::Pipe => no_files.push((path, "a named pipe")),
                Changed::Socket => no_files.push((path, "a socket")),
                Changed::Device => no_files.push((path, "a device")),
            }
        }
        note_no_files(&no_files, &mut given, &mut accesses.gaps);
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
        if ignored > 0 {
            accesses.gaps.insert(CaptureGap {
                kind: "ignored".to_owned(),
                detail: match ignored {
                    1 => "a file was written that --ignore leaves out".to_owned(),
                    _ => format!("{ignored} files were written that --ignore leaves out"),
                },
            });
        }
        Ok(given)
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
pub(crate) fn is_mostly_holes(metadata: &fs::Metadata) -> bool {
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

/// Records the names of what has no content that a bundle could hold.
fn note_no_files(
    found: &[(String, &str)],
    given: &mut RecordedOutput,
    gaps: &mut BTreeSet<CaptureGap>,
) {
    const MOST_NAMED: usize = 10;
    for (path, _) in found {
        let names = given.not_kept.get_or_insert_default();
        if names.len() < MOST_LEFT_OUT {
            names.push(path.clone());
        }
    }
    let named = found.iter().take(MOST_NAMED);
    let named = named.map(|(path, what)| format!("`{}` ({what})", path.escape_debug()));
    let mut named: Vec<String> = named.collect();
    if found.len() > MOST_NAMED {
        named.push(format!("{} more", found.len() - MOST_NAMED));
    }
    if !named.is_empty() {
        gaps.insert(CaptureGap {
            kind: "not-kept".to_owned(),
            detail: format!(
                "not kept but by name, since there is nothing in it that a bundle could hold: {}",
                named.join(", ")
            ),
        });
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

/// A link that was left, if a bundle can say where it leads.
pub(crate) fn link_of(path: String, target: &Path) -> Result<ListedLink, RecordError> {
    match target.to_str() {
        Some(target) => Ok(ListedLink {
            target: target.to_owned(),
            path,
        }),
        None => Err(left(
            path,
            "it is a symbolic link to a name that is not UTF-8",
        )),
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
        return Err(left(shown, "its name is not UTF-8"));
    };
    match SafePath::parse(text) {
        Ok(path) => Ok(path.to_string()),
        Err(fault) => Err(left(shown, &format!("unsafe name: {fault}"))),
    }
}
