//! Archives as sources of files, without unpacking: .tar, .tar.gz, .tar.zst and .zip.
//!
//! An archive is read once, from its beginning to its end (a zip in the order of its list), also
//! from a pipe. What is kept of each file is its size, digest and what else rules ask of bytes;
//! JSON documents and small files are kept whole, within limits. So memory is bounded by the
//! number of entries and by those limits, whatever the archive unpacks to.
//!
//! What a folder could not hold (names that climb, the same name twice, hard links, bombs) is
//! noted as a fault and never becomes an entry. Archives inside archives are not opened.

mod container;
mod scan;
mod source;
mod tar;
mod zip;

use std::fs::File;
use std::io::{self, Cursor, Read, Seek};
use std::path::Path;

use runseal_core::formats::archive::FaultKind;
use runseal_core::limits::ARCHIVE_MAX_PIPED;
use runseal_core::source::{SourceError, read_bounded};

use crate::input::{fill, open_regular};
pub use container::{Container, HEAD, sniff};
pub use scan::{Archive, FileRecord, Record};
pub use source::ArchiveSource;

use container::unpack;
use scan::Scan;

/// Reads the archive in the file at `path`, or gives `None` where it is none.
///
/// # Errors
/// When the file cannot be read. An archive that breaks off is no error but a fault of it.
pub fn read_archive_file(path: &Path) -> Result<Option<Archive>, SourceError> {
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
    file.rewind().map_err(fail)?;
    read_file_archive(file, container, size)
        .map(Some)
        .map_err(fail)
}

fn read_file_archive(file: File, container: Container, size: u64) -> io::Result<Archive> {
    let mut scan = Scan::new();
    match container {
        Container::Zip => zip::scan_zip(file, size, &mut scan)?,
        container => scan_stream(container, file, &mut scan)?,
    }
    Ok(scan.finish())
}

/// Reads an archive from bytes that arrive once, such as standard input.
///
/// # Errors
/// When reading fails.
pub fn read_archive_stream(
    container: Container,
    reader: impl Read,
    shown: &str,
) -> Result<Archive, SourceError> {
    let mut scan = Scan::new();
    let fail = |source| SourceError::Io {
        path: shown.to_owned(),
        source,
    };
    match container {
        // A zip's list of entries is at its end, so it has to be there whole.
        Container::Zip => {
            let bytes = read_bounded(reader, shown, 0, ARCHIVE_MAX_PIPED)?;
            let size = bytes.len() as u64;
            zip::scan_zip(Cursor::new(bytes), size, &mut scan).map_err(fail)?;
        }
        container => scan_stream(container, reader, &mut scan).map_err(fail)?,
    }
    Ok(scan.finish())
}

fn scan_stream(container: Container, reader: impl Read, scan: &mut Scan) -> io::Result<()> {
    let mut unpacked = match unpack(container, reader) {
        Ok(unpacked) => unpacked,
        Err(error) => return scan.stop(error, None),
    };
    match tar::scan_tar(&mut unpacked, scan) {
        Ok(()) => Ok(()),
        Err(stop) => match stop {
            tar::Stop::Fault(kind, path, message) => {
                scan.fault(kind, path, message);
                Ok(())
            }
            tar::Stop::Read(error, path) => scan.stop(error, path),
        },
    }
}

impl Scan {
    /// Notes what ended the reading early. What the system said about the file itself is an
    /// error; what a decoder said about its content is a fault.
    fn stop(&mut self, error: io::Error, path: Option<String>) -> io::Result<()> {
        if container::is_bomb(&error) {
            self.fault(FaultKind::Bomb, path, error.to_string());
            return Ok(());
        }
        if error.raw_os_error().is_some() {
            return Err(error);
        }
        let message = format!("the archive is damaged from here on: {error}");
        self.fault(FaultKind::Damaged, path, message);
        Ok(())
    }
}
