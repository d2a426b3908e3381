//! Which kind of archive bytes are, and unpacking with a bound on what comes out.

use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use runseal_core::formats::archive::FaultKind;
use runseal_core::limits::{ARCHIVE_FREE_BYTES, ARCHIVE_MAX_RATIO};

use crate::foreign::sniff_unread;
use crate::gz::GzReader;
use crate::tar::has_checksum;
use crate::zst::{ZstReader, ZstdDecoder};

/// A kind of archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Container {
    /// Plain tar.
    Tar,
    /// tar in gzip.
    TarGz,
    /// tar in Zstandard.
    TarZst,
    /// zip.
    Zip,
}

impl Container {
    /// The kind that a file's name promises, if it promises one.
    pub fn of_file_name(name: &str) -> Option<Self> {
        let endings = [
            (".zip", Self::Zip),
            (".tar", Self::Tar),
            (".tar.gz", Self::TarGz),
            (".tgz", Self::TarGz),
            (".tar.zst", Self::TarZst),
            (".tzst", Self::TarZst),
        ];
        let name = name.to_ascii_lowercase();
        let found = endings.iter().find(|(ending, _)| name.ends_with(ending));
        found.map(|(_, container)| *container)
    }

    /// The usual ending of a file's name, for messages.
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Tar => ".tar",
            Self::TarGz => ".tar.gz",
            Self::TarZst => ".tar.zst",
            Self::Zip => ".zip",
        }
    }
}

/// Bytes of a file's beginning that tell an archive from anything else.
pub const HEAD: usize = 512;

/// The kind of archive that begins with `head`, by content alone.
pub fn sniff(head: &[u8]) -> Option<Container> {
    if head.starts_with(&[0x1f, 0x8b]) {
        Some(Container::TarGz)
    } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) || is_skippable_frame(head) {
        Some(Container::TarZst)
    } else if [b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08"]
        .iter()
        .any(|magic| head.starts_with(*magic))
    {
        Some(Container::Zip)
    } else if head.get(257..262) == Some(b"ustar") {
        Some(Container::Tar)
    } else {
        None
    }
}

/// Bytes of a file's beginning that are enough to unpack the first block of a tar in it.
pub const PACKED_HEAD: usize = 256 << 10;

/// Whether a file that begins with `head` is an archive that is read here. gzip and Zstandard are
/// used for single files too, so that the block that comes out of them first decides.
pub fn is_archive(head: &[u8]) -> bool {
    match sniff(head) {
        None => false,
        Some(Container::Tar | Container::Zip) => true,
        Some(container) => {
            let mut block = [0; HEAD];
            let filled = match container {
                Container::TarGz => fill(&mut GzReader::new(head), &mut block),
                _ => fill(&mut ZstReader::new(head, ZstdDecoder::FASTEST), &mut block),
            };
            filled.is_ok_and(|filled| filled == HEAD) && has_checksum(&block)
        }
    }
}

/// What a file is by its first bytes, whatever its name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beginning {
    /// A JSON object, or a list of them.
    Json,
    /// An archive that is read here.
    Archive,
    /// An archive of a kind that is not read here.
    UnreadArchive,
    /// Anything else.
    Other,
}

impl Beginning {
    /// Of a file that begins with `head`: [`PACKED_HEAD`] bytes of it tell all of them apart.
    pub fn of(head: &[u8]) -> Self {
        if is_archive(head) {
            Self::Archive
        } else if sniff_unread(head).is_some() {
            Self::UnreadArchive
        } else if begins_like_json(head).unwrap_or(head.len() >= HEAD) {
            // Blanks for so long do not tell what follows them.
            Self::Json
        } else {
            Self::Other
        }
    }

    /// How many bytes of a file have to be seen that begins with `head`.
    pub(crate) fn wanted(head: &[u8]) -> usize {
        match sniff(head) {
            Some(Container::TarGz | Container::TarZst) => PACKED_HEAD,
            _ => HEAD,
        }
    }
}

/// Whether a text begins like a JSON object or a list of them; `None` where it is too short to tell.
pub(crate) fn begins_like_json(head: &[u8]) -> Option<bool> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let mut marks = head.iter().filter(|byte| !b" \t\r\n".contains(byte));
    let first = *marks.next()?;
    if !matches!(first, b'{' | b'[') {
        return Some(false);
    }
    let second = *marks.next()?;
    Some(matches!(
        (first, second),
        (b'{', b'"' | b'}') | (b'[', b'{')
    ))
}

fn is_skippable_frame(head: &[u8]) -> bool {
    matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// What a decoder found wrong, carried through [`io::Error`] so that it keeps its kind.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Refused {
    kind: FaultKind,
    message: String,
}

/// An error of reading that is a fault of the archive.
pub(crate) fn refuse(kind: FaultKind, message: impl Into<String>) -> io::Error {
    let message = message.into();
    io::Error::other(Refused { kind, message })
}

/// The kind of fault that an error made by [`refuse`] stands for.
pub(crate) fn fault_of(error: &io::Error) -> Option<FaultKind> {
    let refused = error.get_ref()?.downcast_ref::<Refused>()?;
    Some(refused.kind)
}

pub(crate) fn bomb() -> io::Error {
    let message = format!(
        "it unpacks to more than {ARCHIVE_MAX_RATIO} times its size (beyond {ARCHIVE_FREE_BYTES} \
         bytes); reading stopped"
    );
    refuse(FaultKind::Bomb, message)
}

/// Whether `unpacked` bytes out of `packed` ones are more than an archive may hold.
pub(crate) fn is_beyond_ratio(packed: u64, unpacked: u64) -> bool {
    unpacked > ARCHIVE_FREE_BYTES && unpacked > packed.saturating_mul(ARCHIVE_MAX_RATIO)
}

/// How many packed bytes there are, or were read so far. Clones count together, also across
/// threads.
#[derive(Debug, Clone, Default)]
pub struct PackedBytes(Arc<AtomicU64>);

impl PackedBytes {
    /// Counts more bytes.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// The bytes counted so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// One read from the source.
const BUFFER: usize = 128 << 10;

type Packed<R> = BufReader<Counted<R>>;

/// The tar inside an archive's bytes, with the ratio of packed to unpacked bytes watched.
#[derive(Debug)]
pub struct Unpacked<R: Read> {
    decoder: Decoder<R>,
    packed: PackedBytes,
    unpacked: u64,
}

#[derive(Debug)]
enum Decoder<R: Read> {
    Plain(Packed<R>),
    Gz(Box<GzReader<Packed<R>>>),
    Zst(Box<ZstReader<Packed<R>>>),
}

impl<R: Read> Unpacked<R> {
    /// What is inside `reader`. A zip is not unpacked here: its bytes come out as they are.
    pub fn new(container: Container, reader: R) -> Self {
        Self::with_decoder(container, reader, ZstdDecoder::FASTEST)
    }

    /// The same with a chosen decoder for Zstandard.
    pub fn with_decoder(container: Container, reader: R, zstd: ZstdDecoder) -> Self {
        let packed = PackedBytes::default();
        let counted = Counted {
            inner: reader,
            count: packed.clone(),
        };
        let counted = BufReader::with_capacity(BUFFER, counted);
        let decoder = match container {
            Container::Tar | Container::Zip => Decoder::Plain(counted),
            Container::TarGz => Decoder::Gz(Box::new(GzReader::new(counted))),
            Container::TarZst => Decoder::Zst(Box::new(ZstReader::new(counted, zstd))),
        };
        Self {
            decoder,
            packed,
            unpacked: 0,
        }
    }

    /// The packed bytes that were read so far; counts on as reading goes on.
    pub fn packed(&self) -> PackedBytes {
        self.packed.clone()
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match &mut self.decoder {
            Decoder::Plain(reader) => return reader.read(buffer),
            Decoder::Gz(reader) => reader.read(buffer)?,
            Decoder::Zst(reader) => reader.read(buffer)?,
        };
        self.unpacked += count as u64;
        if is_beyond_ratio(self.packed.get(), self.unpacked) {
            return Err(bomb());
        }
        Ok(count)
    }
}

#[derive(Debug)]
struct Counted<R> {
    inner: R,
    count: PackedBytes,
}

impl<R: Read> Read for Counted<R> {
    /// Fills the buffer as long as there is something to read: a pipe gives more or less at a time
    /// as it happens, and what a bound says must not depend on that.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = fill(&mut self.inner, buffer)?;
        self.count.add(count as u64);
        Ok(count)
    }
}

/// Reads from `reader` until `buffer` is full or nothing is left; gives the bytes read.
///
/// # Errors
/// Those of the reader.
pub fn fill(reader: &mut (impl Read + ?Sized), buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn container_is_known_by_its_first_bytes() {
        assert_eq!(sniff(b"\x1f\x8b\x08"), Some(Container::TarGz));
        assert_eq!(sniff(b"\x28\xb5\x2f\xfd"), Some(Container::TarZst));
        assert_eq!(sniff(b"\x50\x2a\x4d\x18"), Some(Container::TarZst));
        assert_eq!(sniff(b"PK\x03\x04"), Some(Container::Zip));
        assert_eq!(sniff(b"{\"a\":1}"), None);
        assert_eq!(sniff(b""), None);
        let mut tar = [0; HEAD];
        tar[257..262].copy_from_slice(b"ustar");
        assert_eq!(sniff(&tar), Some(Container::Tar));
    }

    #[test]
    fn packed_file_is_an_archive_where_a_tar_comes_out() {
        use std::io::Write;
        let pack = |bytes: &[u8]| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        };
        let mut tar = vec![0; HEAD];
        tar[0] = b'a';
        tar[148..156].copy_from_slice(b"000541\0 ");
        assert!(is_archive(&pack(&tar)));
        assert!(!is_archive(&pack(b"a,b\n1,2\n")));
        assert!(!is_archive(b"\x1f\x8b"));
        assert!(!is_archive(b"text"));
        assert!(is_archive(b"PK\x03\x04"));
    }

    #[test]
    fn beginning_of_a_document_is_told_from_a_log() {
        for text in ["{\"a\":1}", " {\n \"a\"", "[{\"a\":1}]", "\u{feff}{}"] {
            assert_eq!(Beginning::of(text.as_bytes()), Beginning::Json, "{text}");
        }
        for text in ["[2024-01-01] started", "{a: 1}", "text", "", "{", "[1,2]"] {
            assert_eq!(Beginning::of(text.as_bytes()), Beginning::Other, "{text}");
        }
        assert_eq!(begins_like_json(b"{ "), None);
        assert_eq!(Beginning::of(b"Rar!\x1a\x07\0"), Beginning::UnreadArchive);
    }

    #[test]
    fn container_of_a_file_name_is_by_its_ending() {
        assert_eq!(Container::of_file_name("a.ZIP"), Some(Container::Zip));
        assert_eq!(Container::of_file_name("a.tar.gz"), Some(Container::TarGz));
        assert_eq!(Container::of_file_name("a.tgz"), Some(Container::TarGz));
        assert_eq!(Container::of_file_name("a.gz"), None);
        assert_eq!(Container::of_file_name("tar"), None);
    }

    #[test]
    fn ratio_counts_only_beyond_what_is_free() {
        assert!(!is_beyond_ratio(1, ARCHIVE_FREE_BYTES));
        assert!(is_beyond_ratio(1, ARCHIVE_FREE_BYTES + 1));
        assert!(!is_beyond_ratio(
            ARCHIVE_FREE_BYTES,
            ARCHIVE_FREE_BYTES * 200
        ));
        assert!(is_beyond_ratio(
            ARCHIVE_FREE_BYTES,
            ARCHIVE_FREE_BYTES * 200 + 1
        ));
    }
}
