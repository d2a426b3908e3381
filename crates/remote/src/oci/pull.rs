//! Pulls evidence: unpacks it next to its target as it arrives, verifies it there, then renames it.
//!
//! Until then nothing has the target's name. Signatures are written first, so the target never exists
//! without them. Memory use does not grow with the artifact: one thread
//! receives and hashes, the other writes. What a killed pull left behind is reused.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use runseal_core::digest::Digest;
use runseal_core::verify::Level;
use runseal_fs::atomic::{WriteError, folder_of};
use runseal_fs::staging::{Place, Rights, Staging, check_place};
use runseal_fs::stream::BUFFER;
use runseal_fs::threads::help_with;
use runseal_survey::signing::SIGNATURE_FORMS;

use super::OciError;
use super::artifact::{Artifact, ArtifactContent};
use super::attached::{AttachedKind, join_attachments};
use super::layout::{CopyError, copy};
use super::leftovers::Leftovers;
use super::reference::Reference;
use super::registry::Access;
use super::repository::Failure;
use super::unpack::unpack;
use crate::verified::verify_arrived;
use crate::written_files::WrittenFiles;

/// Buffers in flight between the two threads.
const IN_FLIGHT: usize = 8;

/// The result of a pull.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulled {
    /// The digest of its manifest.
    pub digest: Digest,
    /// Its reference, pinned to its digest.
    pub reference: Reference,
    /// Its local path.
    pub path: PathBuf,
    /// The signature files that were written, or why the attachments cannot be determined.
    pub attached: Result<Vec<PathBuf>, String>,
}

/// Pulls what `reference` names into a new folder at `target`, by default named after the last part
/// of the reference. An artifact of a single file becomes a folder with that file.
///
/// # Errors
/// If it cannot be read or written, does not verify at `level`, or the target exists.
pub fn pull(
    reference: &Reference,
    target: Option<&Path>,
    level: Level,
    access: &Access,
) -> Result<Pulled, OciError> {
    let short = reference.short_name();
    let target = target.unwrap_or(Path::new(&short));
    check_place(target, Place::Free)?;
    let artifact = Artifact::open(reference, access)?;
    // Before staging deletes them.
    let leftovers = Leftovers::find(folder_of(target), artifact.layers());
    let staging = Staging::begin_with(folder_of(target), Rights::ReadOnly)?;
    receive(&artifact, leftovers, &staging)?;
    // A single file is published in one folder with its signatures.
    let signed = match &artifact.held {
        ArtifactContent::Folder => target.to_owned(),
        ArtifactContent::File(name) => staging.path().join(name.as_str()),
    };
    let (files, unknown) = match write_attached(&artifact, &signed) {
        Ok(files) => (files?, None),
        Err(unknown) => (WrittenFiles::default(), Some(unknown)),
    };
    let how = (Place::Free, Rights::ReadOnly);
    staging.publish(target, how, |staged| {
        let file = match &artifact.held {
            ArtifactContent::Folder => None,
            ArtifactContent::File(name) => Some(name.as_str()),
        };
        verify_arrived(staged, target, file, level).map_err(|why| OciError::NotValid {
            path: target.display().to_string(),
            why,
        })
    })?;
    let attached = match (unknown, &artifact.held) {
        (Some(unknown), _) => Err(unknown),
        (None, ArtifactContent::Folder) => Ok(files.keep()),
        (None, ArtifactContent::File(_)) => {
            let files = files.keep();
            let names = files.iter().filter_map(|file| file.file_name());
            Ok(names.map(|name| target.join(name)).collect())
        }
    };
    Ok(Pulled {
        digest: artifact.digest,
        reference: artifact.reference.clone(),
        path: target.to_owned(),
        attached,
    })
}

/// Writes what arrives into the staging folder.
fn receive(artifact: &Artifact, leftovers: Leftovers, staging: &Staging) -> Result<(), OciError> {
    let failure = Failure::default();
    let received = thread::scope(|scope| {
        let (pieces, receiver) = sync_channel(IN_FLIGHT);
        let (empty, emptied) = sync_channel(2 * IN_FLIGHT);
        let stream = artifact.stream(&failure).with_leftovers(leftovers);
        let mut reader = PieceReader {
            receiver,
            empty,
            piece: Vec::new(),
            at: 0,
        };
        let helped = help_with(scope, stream, move |mut stream| {
            send_all(&mut stream, &pieces, &emptied);
        });
        match helped {
            Ok(_) => store(&mut reader, artifact, staging),
            Err(mut stream) => store(&mut stream, artifact, staging),
        }
    });
    failure.or(received)
}

/// Stores the content of `reader`: a folder's tar, or one file.
fn store(mut reader: impl Read, artifact: &Artifact, staging: &Staging) -> Result<(), OciError> {
    match &artifact.held {
        ArtifactContent::Folder => unpack(&mut reader, staging).map(|_| ()),
        ArtifactContent::File(name) => {
            let (mut file, path) = staging.create(name.as_str())?;
            let copied = copy(&mut reader, &mut file);
            copied.map(|_| ()).map_err(|error| match error {
                CopyError::Read(error) => OciError::from(error),
                CopyError::Write(source) => WriteError { path, source }.into(),
            })
        }
    }
}

type Piece = io::Result<Vec<u8>>;

/// Reads to the end and passes on the data. Stops early if the receiver is gone.
fn send_all(stream: &mut dyn Read, pieces: &SyncSender<Piece>, emptied: &Receiver<Vec<u8>>) {
    loop {
        let mut buffer = emptied.try_recv().unwrap_or_default();
        buffer.resize(BUFFER, 0);
        let mut filled = 0;
        let failed = loop {
            match stream.read(&mut buffer[filled..]) {
                Ok(0) => break None,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Some(error),
            }
            if filled == buffer.len() {
                break None;
            }
        };
        buffer.truncate(filled);
        let is_end = filled < BUFFER;
        if filled > 0 && pieces.send(Ok(buffer)).is_err() {
            return;
        }
        if let Some(error) = failed {
            let _ = pieces.send(Err(error));
            return;
        }
        if is_end {
            return;
        }
    }
}

/// Reads what the other thread sends.
struct PieceReader {
    receiver: Receiver<Piece>,
    empty: SyncSender<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
}

impl Read for PieceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.piece.len() {
            let used = std::mem::take(&mut self.piece);
            self.at = 0;
            // Fails only after everything was read, when the buffer is no longer needed.
            let _ = self.empty.try_send(used);
            match self.receiver.recv() {
                Ok(piece) => self.piece = piece?,
                Err(_) => return Ok(0),
            }
        }
        let count = buffer.len().min(self.piece.len() - self.at);
        buffer[..count].copy_from_slice(&self.piece[self.at..][..count]);
        self.at += count;
        Ok(count)
    }
}

/// Writes signatures next to `path`. The outer error says why the attachments cannot be determined.
fn write_attached(
    artifact: &Artifact,
    path: &Path,
) -> Result<Result<WrittenFiles, OciError>, String> {
    let attached = artifact.attached()?;
    let mut written = WrittenFiles::default();
    let mut write_all = || {
        // Reports are not written: anyone can attach one, and nothing in it is checked.
        for kind in SIGNATURE_FORMS.map(AttachedKind::Signature) {
            let Some(bytes) = join_attachments(attached, &kind) else {
                continue;
            };
            let mut name = path.as_os_str().to_owned();
            name.push(kind.ending());
            written.write(PathBuf::from(name), &bytes)?;
        }
        Ok::<_, OciError>(())
    };
    match write_all() {
        Ok(()) => Ok(Ok(written)),
        Err(error) => Ok(Err(error)),
    }
}
