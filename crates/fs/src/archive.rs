//! Opens archives for [`runseal_archive`], which reads them: from a file, or from a stream that can
//! be read only once.
//!
//! This module adds threads: a file is unpacked on one thread while its content is hashed on
//! another, and a large file is hashed on a thread of its own.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

pub use runseal_archive::{Archive, ArchiveSource, Container, FileRecord, HEAD, Record, sniff};
use runseal_archive::{
    BagDigester, ContentDigester, PackedBytes, PieceDigester, Unpacked, ZIP_TAIL, fill,
    read_stream, read_tar, read_zip,
};
use runseal_core::digest::Digest;
use runseal_core::source::SourceError;
use runseal_survey::name_fault;

use crate::input::open_regular;
use crate::stream::{BUFFER, digest_through};
use crate::threads::help_with;

/// Reads the archive in the file at `path`; `None` if it is not an archive.
///
/// # Errors
/// When the file cannot be read. A truncated archive is not an error but a fault of the archive.
pub fn read_archive_file(path: &Path) -> Result<Option<Archive>, SourceError> {
    read_again_where_needed(path, Purpose::Show)
}

/// Like [`read_archive_file`], for archives whose content is not shown: of files that no rule reads
/// as text, only facts are kept.
///
/// # Errors
/// When the file cannot be read.
pub(crate) fn judge_archive_file(path: &Path) -> Result<Option<Archive>, SourceError> {
    read_again_where_needed(path, Purpose::Judge)
}

fn read_again_where_needed(path: &Path, purpose: Purpose) -> Result<Option<Archive>, SourceError> {
    let archive = read_archive_with(path, &mut ThreadedDigester::new(purpose))?;
    let Some(mut archive) = archive else {
        return Ok(None);
    };
    if let Some(mut pieces) = PieceDigester::for_archive(&archive) {
        read_archive_with(path, &mut pieces)?;
        archive.add_pieces(pieces.into_found());
    }
    if let Some(mut digests) = BagDigester::for_archive(&archive) {
        read_archive_with(path, &mut digests)?;
        archive.add_digests(digests.into_found());
    }
    Ok(Some(archive))
}

/// Like [`read_archive_file`], with an observer that sees the content of every file.
///
/// # Errors
/// When the file cannot be read, or the observer fails.
pub fn read_archive_with(
    path: &Path,
    digester: &mut dyn ContentDigester,
) -> Result<Option<Archive>, SourceError> {
    let (mut file, size) = open_regular(path)?;
    let shown = path.display().to_string();
    let fail = |source| SourceError::Io {
        path: shown.clone(),
        source,
    };
    let mut head = [0; HEAD];
    let filled = fill(&mut file, &mut head).map_err(fail)?;
    let Some(container) = sniff(&head[..filled]) else {
        return Ok(None);
    };
    let tail = read_tail(path, &mut file, size).map_err(fail)?;
    file.rewind().map_err(fail)?;
    let mut archive = read_container(file, container, size, digester).map_err(fail)?;
    if let Some(fault) = name_fault(path, container, &tail) {
        archive.add_fault(fault);
    }
    Ok(Some(archive))
}

/// The last bytes of an archive of `size` bytes, for [`name_fault`]; none if the name says what it is: nobody asks
/// for them then.
///
/// # Errors
/// When they cannot be read.
pub fn read_tail(path: &Path, file: &mut (impl Read + Seek), size: u64) -> io::Result<Vec<u8>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if Container::of_file_name(&name).is_some() {
        return Ok(Vec::new());
    }
    let mut tail = vec![0; ZIP_TAIL.min(usize::try_from(size).unwrap_or(ZIP_TAIL))];
    file.seek(io::SeekFrom::Start(size.saturating_sub(tail.len() as u64)))?;
    let filled = fill(file, &mut tail)?;
    tail.truncate(filled);
    Ok(tail)
}

fn read_container(
    file: File,
    container: Container,
    size: u64,
    digester: &mut dyn ContentDigester,
) -> io::Result<Archive> {
    // Set from the start, so that limits do not depend on the progress of the other thread.
    let packed = PackedBytes::default();
    packed.add(size);
    match container {
        Container::Zip => read_zip(file, size, digester),
        Container::Tar => {
            let mut plain = Unpacked::new(container, file);
            read_tar(&mut plain, packed, digester)
        }
        Container::TarGz | Container::TarZst => {
            let unpacked = Unpacked::new(container, file);
            thread::scope(|scope| {
                let (writer, mut reader) = pipe();
                let send = move |unpacked| writer.send_all(unpacked);
                match help_with(scope, unpacked, send) {
                    Ok(_) => read_tar(&mut reader, packed, digester),
                    Err(mut unpacked) => read_tar(&mut unpacked, packed, digester),
                }
            })
        }
    }
}

/// Reads an archive from a stream that can be read only once, such as standard input.
///
/// # Errors
/// When reading fails.
pub fn read_archive_stream(
    container: Container,
    reader: impl Read,
    shown: &str,
) -> Result<Archive, SourceError> {
    let mut digester = ThreadedDigester::new(Purpose::Show);
    read_stream(container, reader, shown, &mut digester)
}

/// Like [`read_archive_stream`], for archives whose content is not shown: of files that no rule
/// reads as text, only facts are kept.
///
/// # Errors
/// When reading fails.
pub fn judge_archive_stream(
    container: Container,
    reader: impl Read,
    shown: &str,
) -> Result<Archive, SourceError> {
    let mut digester = ThreadedDigester::new(Purpose::Judge);
    read_stream(container, reader, shown, &mut digester)
}

/// What an archive is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Judge,
    Show,
}

/// Hashes large files on a thread of their own.
#[derive(Debug)]
struct ThreadedDigester {
    buffer: Vec<u8>,
    purpose: Purpose,
}

impl ThreadedDigester {
    fn new(purpose: Purpose) -> Self {
        Self {
            buffer: vec![0; BUFFER],
            purpose,
        }
    }
}

impl ContentDigester for ThreadedDigester {
    fn digest(
        &mut self,
        reader: &mut dyn Read,
        expected: u64,
        see: &mut dyn FnMut(&[u8]),
    ) -> io::Result<(Digest, u64)> {
        digest_through(reader, expected, &mut self.buffer, |piece| {
            see(piece);
            Ok(())
        })
    }

    fn keeps_small_files(&self) -> bool {
        self.purpose == Purpose::Show
    }
}

/// The size of a buffer between the unpacking thread and the reading one.
const PIECE: usize = 128 << 10;

/// Buffers in flight between the two threads.
const IN_FLIGHT: usize = 4;

type Piece = io::Result<Vec<u8>>;

fn pipe() -> (PipeWriter, PipeReader) {
    let (sender, receiver) = sync_channel(IN_FLIGHT);
    let (give_back, used) = sync_channel(IN_FLIGHT);
    let writer = PipeWriter { sender, used };
    let reader = PipeReader {
        receiver,
        give_back,
        piece: Vec::new(),
        start: 0,
    };
    (writer, reader)
}

/// Sends to another thread.
struct PipeWriter {
    sender: SyncSender<Piece>,
    /// Buffers that the other thread is done with.
    used: Receiver<Vec<u8>>,
}

impl PipeWriter {
    /// Sends everything from `reader`, or its error, until the receiver is gone.
    fn send_all(&self, mut reader: impl Read) {
        loop {
            let mut piece = self.used.try_recv().unwrap_or_default();
            piece.resize(PIECE, 0);
            let (filled, error) = fill_before_error(&mut reader, &mut piece);
            piece.truncate(filled);
            if filled > 0 && self.sender.send(Ok(piece)).is_err() {
                return;
            }
            if let Some(error) = error {
                // The receiver may be gone.
                let _ = self.sender.send(Err(error));
                return;
            }
            if filled == 0 {
                return;
            }
        }
    }
}

/// Like [`fill`], but also returns what was read before an error.
fn fill_before_error(reader: &mut impl Read, buffer: &mut [u8]) -> (usize, Option<io::Error>) {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (filled, Some(error)),
        }
    }
    (filled, None)
}

/// Reads what another thread sends.
struct PipeReader {
    receiver: Receiver<Piece>,
    give_back: SyncSender<Vec<u8>>,
    piece: Vec<u8>,
    /// Where the unread bytes of `piece` begin.
    start: usize,
}

impl Read for PipeReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.start == self.piece.len() {
            // Where the other thread has enough of them or is gone, the buffer is let go.
            let _ = self.give_back.try_send(std::mem::take(&mut self.piece));
            match self.receiver.recv() {
                Ok(piece) => self.piece = piece?,
                // The other thread has sent everything.
                Err(_) => return Ok(0),
            }
            self.start = 0;
        }
        let count = (&self.piece[self.start..]).read(buffer)?;
        self.start += count;
        Ok(count)
    }
}
