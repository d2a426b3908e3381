//! Reads archives in object storage without a local copy.

use std::io::{self, Read, Seek};
use std::path::Path;

use runseal_archive::Container;
use runseal_archive::{
    Archive, ContentDigester, HEAD, InlineDigester, PackedBytes, PieceDigester, Unpacked, fill,
    read_stream, read_tar, read_zip, sniff,
};
use runseal_core::source::SourceError;
use runseal_fs::archive::read_tail;
use runseal_survey::name_fault;

use super::object::ObjectFile;

/// Reads an object as an archive, by ranges; returns `None` if it is not one.
pub(super) fn read_object(
    path: &Path,
    file: &mut ObjectFile<'_>,
) -> Result<Option<Archive>, SourceError> {
    let fail = |source: io::Error| SourceError::Io {
        path: path.to_string_lossy().into_owned(),
        source,
    };
    let mut head = [0; HEAD];
    let filled = fill(file, &mut head).map_err(fail)?;
    let Some(container) = sniff(&head[..filled]) else {
        return Ok(None);
    };
    let size = file.size();
    let tail = read_tail(path, file, size).map_err(fail)?;
    let mut read = |digester: &mut dyn ContentDigester| {
        file.rewind()?;
        match container {
            Container::Zip => read_zip(&mut *file, size, digester),
            container => {
                let packed = PackedBytes::default();
                packed.add(size);
                read_tar(&mut Unpacked::new(container, &mut *file), packed, digester)
            }
        }
    };
    let mut archive = read(&mut InlineDigester::default()).map_err(fail)?;
    if let Some(mut pieces) = PieceDigester::for_archive(&archive) {
        read(&mut pieces).map_err(fail)?;
        archive.add_pieces(pieces.into_found());
    }
    // A failure of the server is not a fault of the archive.
    if let Some(failure) = file.failure() {
        return Err(fail(io::Error::other(failure.to_owned())));
    }
    if let Some(fault) = name_fault(path, container, &tail) {
        archive.add_fault(fault);
    }
    Ok(Some(archive))
}

/// Reads a file of a run as an archive, from beginning to end; returns `None` if it is not one.
pub(super) fn read_arriving<'a>(
    shown: &str,
    open: impl Fn() -> Result<Box<dyn Read + Send + 'a>, SourceError>,
) -> Result<Option<Archive>, SourceError> {
    let fail = |source: io::Error| SourceError::Io {
        path: shown.to_owned(),
        source,
    };
    let mut head = [0; HEAD];
    let filled = fill(&mut open()?, &mut head).map_err(fail)?;
    let Some(container) = sniff(&head[..filled]) else {
        return Ok(None);
    };
    let mut archive = read_stream(container, open()?, shown, &mut InlineDigester::default())?;
    if let Some(mut pieces) = PieceDigester::for_archive(&archive) {
        read_stream(container, open()?, shown, &mut pieces)?;
        archive.add_pieces(pieces.into_found());
    }
    // The end of the file is no longer available, so the name is checked without it.
    if let Some(fault) = name_fault(Path::new(shown), container, &[]) {
        archive.add_fault(fault);
    }
    Ok(Some(archive))
}
