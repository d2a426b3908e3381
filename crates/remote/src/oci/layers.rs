//! A folder as layers: pieces of a tar that depends only on names and contents.
//!
//! Concatenated in order, the layers are a tar with every file and folder, sorted by name. Small
//! files share a layer. The content of a file of [`PIECE`] bytes or more becomes separate layers,
//! split every [`PIECE`] bytes; its header and padding go to the end of the layer before and the
//! beginning of the layer after. So a registry keeps a large file once for all runs that contain
//! it, and an interrupted push sends only the missing pieces, even if the registry cannot resume a
//! blob.
//!
//! Only the list of names is in memory.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread;

use runseal_core::digest::{Digest, Hasher};
use runseal_core::path::SafePath;
use runseal_core::source::{EntryKind, EntryName, Source, SourceError};
use runseal_fs::directory::{DirectorySource, RootLink};
use runseal_fs::stream::BUFFER;
use runseal_fs::threads::help_with;

use super::OciError;
use super::manifest::{Descriptor, TAR_PART};
use super::repository::Content;
use super::tarball::{END, Kind, header, padding};

/// The size of a piece of a large file in bytes: 128 MiB.
pub const PIECE: u64 = 128 << 20;

/// The most layers for pieces, enough for a terabyte; everything beyond shares one layer. Keeps the
/// manifest within what registries accept.
const MAX_PIECES: u64 = 8_192;

/// The least content, in bytes, for which a second hashing thread pays off.
const LONG: u64 = 8 << 20;

/// Buffers in flight between the two threads.
const IN_FLIGHT: usize = 4;

/// One file or folder.
#[derive(Debug)]
struct Member {
    path: SafePath,
    kind: Kind,
}

/// A part of a layer.
#[derive(Debug, Clone, Copy)]
enum Part {
    /// The blocks before a member's content.
    Header(usize),
    /// A part of a file's content: member, offset and length.
    Content(usize, u64, u64),
    /// This many zeros, which fill a member's last block.
    Padding(usize),
    /// The end of the tar.
    End,
}

/// The layers of a folder.
#[derive(Debug)]
pub struct FolderLayers {
    source: DirectorySource,
    members: Vec<Member>,
    layers: Vec<Vec<Part>>,
}

impl FolderLayers {
    /// Lists the folder at `path`. Links, pipes and names that other systems read differently are
    /// refused, so that every system unpacks exactly what was pushed.
    ///
    /// # Errors
    /// If the folder cannot be listed, or contains something that is refused.
    pub fn of_folder(path: &Path) -> Result<Self, OciError> {
        let source = DirectorySource::open(path, RootLink::Follow)?;
        let mut members = Vec::new();
        for entry in source.entries()? {
            let EntryName::Safe(path) = entry.name else {
                return Err(OciError::Refused {
                    what: entry.name.shown().to_owned(),
                    why: "other systems read its name differently".to_owned(),
                });
            };
            let kind = match entry.kind {
                EntryKind::Directory => Kind::Folder,
                EntryKind::File => Kind::File(source.open_file(&path)?.1),
                other => {
                    return Err(OciError::Refused {
                        what: path.to_string(),
                        why: format!("it is {}, which cannot be pushed", other.with_article()),
                    });
                }
            };
            members.push(Member { path, kind });
        }
        let layers = plan(&members);
        Ok(Self {
            source,
            members,
            layers,
        })
    }

    /// Returns the total size of all files in bytes.
    pub fn size(&self) -> u64 {
        let sizes = self.members.iter().map(|member| match member.kind {
            Kind::File(size) | Kind::Program(size) => size,
            Kind::Folder => 0,
        });
        sizes.fold(0, u64::saturating_add)
    }

    /// Reads everything once and calls `each` with the index and descriptor of every layer as soon
    /// as they are known; returns the digest of every file, to be compared with what was verified.
    ///
    /// # Errors
    /// If a file cannot be read or changes meanwhile, or `each` fails.
    pub fn describe(
        &self,
        mut each: impl FnMut(usize, Descriptor) -> Result<(), OciError>,
    ) -> Result<BTreeMap<String, Digest>, OciError> {
        let mut digests = BTreeMap::new();
        // The hash of a whole file across its pieces.
        let mut whole = Hasher::new();
        for (at, parts) in self.layers.iter().enumerate() {
            let mut hasher = Hasher::new();
            let mut total = 0;
            for part in parts {
                let Part::Content(member, offset, size) = *part else {
                    let bytes = self.generated(*part);
                    hasher.update(&bytes);
                    total += bytes.len() as u64;
                    continue;
                };
                let member = &self.members[member];
                (hasher, whole) = self.read_content(member, (offset, size), hasher, whole)?;
                total += size;
                if member.kind == Kind::File(offset + size) {
                    let digest = std::mem::take(&mut whole).finish();
                    digests.insert(member.path.to_string(), digest);
                }
            }
            let title = match self.layers.len() {
                1 => "run.tar".to_owned(),
                _ => format!("run.tar.{at:04}"),
            };
            let descriptor = Descriptor::new(TAR_PART, hasher.finish(), total);
            each(at, descriptor.titled(&title))?;
        }
        Ok(digests)
    }

    /// Feeds a section of a file to two hashers; in parallel if it is long.
    fn read_content(
        &self,
        member: &Member,
        (offset, size): (u64, u64),
        mut layer: Hasher,
        whole: Hasher,
    ) -> Result<(Hasher, Hasher), OciError> {
        let path = &member.path;
        let failed = |source| SourceError::Io {
            path: path.to_string(),
            source,
        };
        let (mut file, _) = self.source.open_file(path)?;
        file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        let mut file = file.take(size);
        let mut left = size;
        if size < LONG {
            return hash_both(&mut file, path, size, (layer, whole));
        }
        thread::scope(|scope| {
            let (full, filled) = sync_channel::<Vec<u8>>(IN_FLIGHT);
            let (empty, emptied) = sync_channel::<Vec<u8>>(IN_FLIGHT + 2);
            let hash = move |mut whole: Hasher| {
                for piece in filled {
                    whole.update(&piece);
                    // Fails only after everything was read, when the buffer is no longer needed.
                    let _ = empty.try_send(piece);
                }
                whole
            };
            let hashing = match help_with(scope, whole, hash) {
                Ok(hashing) => hashing,
                Err(whole) => return hash_both(&mut file, path, size, (layer, whole)),
            };
            while left > 0 {
                let mut piece = emptied.try_recv().unwrap_or_default();
                piece.resize(BUFFER, 0);
                let count = file.read(&mut piece).map_err(failed)?;
                if count == 0 {
                    return Err(OciError::Changed(path.to_string()));
                }
                piece.truncate(count);
                layer.update(&piece);
                left -= count as u64;
                if full.send(piece).is_err() {
                    break;
                }
            }
            drop(full);
            let gone = |_| io::Error::other("the hashing thread panicked");
            let whole = hashing.join().map_err(gone)?;
            Ok((layer, whole))
        })
    }

    /// Generates the bytes of a part that is not file content.
    fn generated(&self, part: Part) -> Vec<u8> {
        match part {
            Part::Header(member) => {
                let member = &self.members[member];
                header(member.path.as_str(), member.kind)
            }
            Part::Padding(count) => vec![0; count],
            Part::End => END.to_vec(),
            Part::Content(..) => Vec::new(),
        }
    }

    /// Returns the layer with this index.
    pub fn layer(&self, at: usize) -> FolderLayer<'_> {
        FolderLayer {
            folder: self,
            parts: self.layers.get(at).map_or(&[], Vec::as_slice),
        }
    }
}

/// Feeds `size` bytes of a file to two hashers, on this thread.
fn hash_both(
    file: &mut impl Read,
    path: &SafePath,
    size: u64,
    (mut layer, mut whole): (Hasher, Hasher),
) -> Result<(Hasher, Hasher), OciError> {
    let mut left = size;
    let mut buffer = vec![0; BUFFER.min(usize::try_from(size).unwrap_or(BUFFER))];
    while left > 0 {
        let count = file.read(&mut buffer).map_err(|source| SourceError::Io {
            path: path.to_string(),
            source,
        })?;
        if count == 0 {
            return Err(OciError::Changed(path.to_string()));
        }
        layer.update(&buffer[..count]);
        whole.update(&buffer[..count]);
        left -= count as u64;
    }
    Ok((layer, whole))
}

/// Divides the tar of these members into layers.
fn plan(members: &[Member]) -> Vec<Vec<Part>> {
    let mut layers = Vec::new();
    let mut shared = Vec::new();
    let mut pieces = 0;
    for (at, member) in members.iter().enumerate() {
        shared.push(Part::Header(at));
        let (Kind::File(size) | Kind::Program(size)) = member.kind else {
            continue;
        };
        if size >= PIECE && pieces + size.div_ceil(PIECE) <= MAX_PIECES {
            pieces += size.div_ceil(PIECE);
            layers.push(std::mem::take(&mut shared));
            let offsets = (0..size).step_by(PIECE as usize);
            let cut = |offset| vec![Part::Content(at, offset, PIECE.min(size - offset))];
            layers.extend(offsets.map(cut));
        } else {
            shared.push(Part::Content(at, 0, size));
        }
        if padding(size) > 0 {
            shared.push(Part::Padding(padding(size)));
        }
    }
    shared.push(Part::End);
    layers.push(shared);
    layers
}

/// One layer of a folder, generated from its files whenever it is read.
#[derive(Debug, Clone, Copy)]
pub struct FolderLayer<'a> {
    folder: &'a FolderLayers,
    parts: &'a [Part],
}

impl Content for FolderLayer<'_> {
    fn open_at(&self, offset: u64) -> io::Result<Box<dyn Read + Send + '_>> {
        let mut reader = LayerReader {
            layer: *self,
            at: 0,
            part: None,
        };
        let mut skip = offset;
        while let Some(part) = self.parts.get(reader.at) {
            let size = match part {
                Part::Content(_, _, size) => *size,
                other => self.folder.generated(*other).len() as u64,
            };
            if skip < size {
                break;
            }
            skip -= size;
            reader.at += 1;
        }
        if skip > 0 {
            reader.next_part(skip)?;
        }
        Ok(Box::new(reader))
    }
}

struct LayerReader<'a> {
    layer: FolderLayer<'a>,
    /// The index of the next part.
    at: usize,
    part: Option<PartReader>,
}

enum PartReader {
    Generated(io::Cursor<Vec<u8>>),
    /// A file, the bytes still to be read, and its name.
    File(std::fs::File, u64, String),
}

impl LayerReader<'_> {
    /// Opens the next part, after its first `skip` bytes.
    fn next_part(&mut self, skip: u64) -> io::Result<()> {
        let folder = self.layer.folder;
        let part = self.layer.parts[self.at];
        self.at += 1;
        self.part = Some(match part {
            Part::Content(member, offset, size) => {
                let path = &folder.members[member].path;
                let (mut file, _) = folder.source.open_file(path).map_err(io::Error::other)?;
                file.seek(SeekFrom::Start(offset + skip))?;
                PartReader::File(file, size - skip, path.to_string())
            }
            generated => {
                let mut cursor = io::Cursor::new(folder.generated(generated));
                cursor.set_position(skip);
                PartReader::Generated(cursor)
            }
        });
        Ok(())
    }
}

fn changed(path: &str) -> io::Error {
    io::Error::other(OciError::Changed(path.to_owned()))
}

impl Read for LayerReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let count = match &mut self.part {
                None => 0,
                Some(PartReader::Generated(cursor)) => cursor.read(buffer)?,
                Some(PartReader::File(file, left, path)) => {
                    let most = usize::try_from(*left).unwrap_or(usize::MAX);
                    let most = most.min(buffer.len());
                    let count = file.read(&mut buffer[..most])?;
                    if count == 0 && *left > 0 {
                        return Err(changed(path));
                    }
                    *left -= count as u64;
                    count
                }
            };
            if count > 0 {
                return Ok(count);
            }
            if self.at == self.layer.parts.len() {
                self.part = None;
                return Ok(0);
            }
            self.next_part(0)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn describe(layers: &FolderLayers) -> (Vec<Descriptor>, BTreeMap<String, Digest>) {
        let mut described = Vec::new();
        let digests = layers.describe(|at, layer| {
            assert_eq!(at, described.len());
            described.push(layer);
            Ok(())
        });
        (described, digests.unwrap())
    }

    fn read_from(layers: &FolderLayers, at: usize, offset: u64) -> Vec<u8> {
        let layer = layers.layer(at);
        let mut bytes = Vec::new();
        let mut reader = layer.open_at(offset).unwrap();
        reader.read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn layer_read_from_any_offset_returns_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("b")).unwrap();
        fs::write(folder.path().join("b/x"), "hello").unwrap();
        fs::write(folder.path().join("a"), vec![7; 700]).unwrap();
        fs::write(folder.path().join("empty"), "").unwrap();
        let layers = FolderLayers::of_folder(folder.path()).unwrap();
        let (described, digests) = describe(&layers);
        assert_eq!(described.len(), 1);
        assert_eq!(described[0].title(), Some("run.tar"));
        assert_eq!(digests["b/x"], Digest::of(b"hello"));
        assert_eq!(digests["empty"], Digest::of(b""));
        let whole = read_from(&layers, 0, 0);
        assert_eq!(described[0].digest, Digest::of(&whole));
        assert_eq!(described[0].size, whole.len() as u64);
        let last = whole.len();
        for offset in [1, 511, 512, 513, 1211, 1212, 1536, last - 1, last] {
            let rest = read_from(&layers, 0, offset as u64);
            assert_eq!(rest, whole[offset..], "{offset}");
        }
    }

    #[test]
    fn large_file_gets_separate_pieces_and_layers_form_one_tar() {
        let folder = tempfile::tempdir().unwrap();
        let large = fs::File::create(folder.path().join("large")).unwrap();
        large.set_len(PIECE + 1).unwrap();
        fs::write(folder.path().join("z"), "z").unwrap();
        let layers = FolderLayers::of_folder(folder.path()).unwrap();
        let (described, digests) = describe(&layers);
        let sizes: Vec<_> = described.iter().map(|layer| layer.size).collect();
        assert_eq!(sizes[..3], [512, PIECE, 1]);
        let mut whole = Vec::new();
        for (at, layer) in described.iter().enumerate() {
            let bytes = read_from(&layers, at, 0);
            assert_eq!(Digest::of(&bytes), layer.digest);
            whole.extend(bytes);
        }
        let from = PIECE - 5;
        assert_eq!(read_from(&layers, 1, from).len(), 5);
        let content = &whole[512..][..PIECE as usize + 1];
        assert_eq!(digests["large"], Digest::of(content));
        let mut tar = tar::Archive::new(&*whole);
        let names: Vec<_> = tar
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().path().unwrap().display().to_string())
            .collect();
        assert_eq!(names, ["large", "z"]);
    }

    #[test]
    fn file_that_shrank_is_neither_described_nor_read() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "12").unwrap();
        let layers = FolderLayers::of_folder(folder.path()).unwrap();
        fs::write(folder.path().join("a"), "1").unwrap();
        let error = layers.describe(|_, _| Ok(())).unwrap_err();
        assert!(matches!(error, OciError::Changed(path) if path == "a"));
        let layer = layers.layer(0);
        let read = layer.open_at(0).unwrap().read_to_end(&mut Vec::new());
        assert!(read.is_err());
    }

    #[test]
    fn folder_with_link_or_unsafe_name_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("x", folder.path().join("link")).unwrap();
        let refused = FolderLayers::of_folder(folder.path()).unwrap_err();
        assert!(refused.to_string().contains("symbolic link"), "{refused}");
        fs::remove_file(folder.path().join("link")).unwrap();
        fs::write(folder.path().join("a\\b"), "").unwrap();
        assert!(FolderLayers::of_folder(folder.path()).is_err());
    }
}
