//! A single file as layers: its bytes unchanged, split every [`PIECE`] bytes.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use runseal_core::digest::{Digest, Hasher};
use runseal_core::path::SafePath;
use runseal_fs::input::open_regular;
use runseal_fs::stream::BUFFER;

use super::OciError;
use super::layers::PIECE;
use super::manifest::{Descriptor, FILE};
use super::repository::Content;

/// The layers of a file.
#[derive(Debug)]
pub struct FileLayers {
    path: PathBuf,
    name: SafePath,
    size: u64,
}

impl FileLayers {
    /// Prepares the file at `path`.
    ///
    /// # Errors
    /// If it is not a regular file, or has a name that other systems read differently.
    pub fn of_file(path: &Path) -> Result<Self, OciError> {
        let name = path.file_name().map(|name| name.to_string_lossy());
        let name = SafePath::parse(name.as_deref().unwrap_or_default());
        let name = name.map_err(|fault| OciError::Refused {
            what: path.display().to_string(),
            why: fault.to_string(),
        })?;
        let (_, size) = open_regular(path)?;
        Ok(Self {
            path: path.to_owned(),
            name,
            size,
        })
    }

    /// Returns the file's name.
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// Returns the file's size.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Reads the file once and calls `each` with the index and descriptor of every layer as soon as
    /// they are known; returns the digest of the whole file.
    ///
    /// # Errors
    /// If the file cannot be read or changes meanwhile, or `each` fails.
    pub fn describe(
        &self,
        mut each: impl FnMut(usize, Descriptor) -> Result<(), OciError>,
    ) -> Result<Digest, OciError> {
        let (mut file, _) = open_regular(&self.path)?;
        let pieces = self.size.div_ceil(PIECE).max(1);
        let mut whole = Hasher::new();
        let mut buffer = vec![0; BUFFER];
        for at in 0..pieces {
            let size = self.size_of(at);
            let mut hasher = Hasher::new();
            let mut piece = (&mut file).take(size);
            let mut read = 0;
            loop {
                let count = piece.read(&mut buffer)?;
                if count == 0 {
                    break;
                }
                read += count as u64;
                hasher.update(&buffer[..count]);
                if pieces > 1 {
                    whole.update(&buffer[..count]);
                }
            }
            if read != size {
                return Err(OciError::Changed(self.path.display().to_string()));
            }
            let title = match pieces {
                1 => self.name.to_string(),
                _ => format!("{}.{at:04}", self.name),
            };
            let digest = hasher.finish();
            each(
                usize::try_from(at).unwrap_or(usize::MAX),
                Descriptor::new(FILE, digest, size).titled(&title),
            )?;
            if pieces == 1 {
                return Ok(digest);
            }
        }
        Ok(whole.finish())
    }

    fn size_of(&self, piece: u64) -> u64 {
        PIECE.min(self.size - piece * PIECE)
    }

    /// Returns the layer with this index.
    pub fn layer(&self, at: usize) -> FilePiece<'_> {
        FilePiece {
            path: &self.path,
            from: at as u64 * PIECE,
            size: self.size_of(at as u64),
        }
    }
}

/// One layer of a file.
#[derive(Debug, Clone, Copy)]
pub struct FilePiece<'a> {
    path: &'a Path,
    from: u64,
    size: u64,
}

impl Content for FilePiece<'_> {
    fn open_at(&self, offset: u64) -> io::Result<Box<dyn Read + Send + '_>> {
        let mut file = File::open(self.path)?;
        file.seek(SeekFrom::Start(self.from + offset))?;
        Ok(Box::new(file.take(self.size - offset.min(self.size))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_of_file_concatenate_to_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("big.zip");
        for (size, pieces) in [(0, 1), (5, 1), (PIECE, 1), (PIECE + 3, 2)] {
            File::create(&path).unwrap().set_len(size).unwrap();
            let layers = FileLayers::of_file(&path).unwrap();
            let mut described = Vec::new();
            let digest = layers.describe(|_, layer| {
                described.push(layer);
                Ok(())
            });
            assert_eq!(described.len(), pieces);
            let mut whole = Vec::new();
            for (at, layer) in described.iter().enumerate() {
                let piece = layers.layer(at);
                let read = piece.open_at(0).unwrap().read_to_end(&mut whole).unwrap();
                assert_eq!(read as u64, layer.size);
            }
            assert_eq!(digest.unwrap(), Digest::of(&whole));
            let last = layers.layer(pieces - 1);
            let mut rest = last.open_at(described[pieces - 1].size).unwrap();
            assert_eq!(rest.read(&mut [0]).unwrap(), 0);
        }
    }
}
