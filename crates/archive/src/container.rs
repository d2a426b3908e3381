//! Recognizes archives by their bytes, and unpacks with a bound on the output.

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
    /// Returns the kind that a file's name promises, if any.
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

    /// Returns the usual file name ending, for messages.
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Tar => ".tar",
            Self::TarGz => ".tar.gz",
            Self::TarZst => ".tar.zst",
            Self::Zip => ".zip",
        }
    }
}

/// How many bytes from the start of a file tell an archive from anything else.
pub const HEAD: usize = 512;

/// Returns the kind of archive that begins with `head`, by content alone.
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

/// How many bytes from the start of a file are enough to unpack the first block of a tar in it.
pub const PACKED_HEAD: usize = 256 << 10;

/// Whether a file that begins with `head` is an archive of a kind read here. gzip and Zstandard are
/// used for single files too, so the first unpacked block decides.
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
    /// A JSON object, or an array of them.
    Json,
    /// An archive of a kind read here.
    Archive,
    /// An archive of a kind not read here.
    UnreadArchive,
    /// Anything else.
    Other,
}

impl Beginning {
    /// Classifies a file that begins with `head`; [`PACKED_HEAD`] bytes are always enough.
    pub fn of(head: &[u8]) -> Self {
        if is_archive(head) {
            Self::Archive
        } else if sniff_unread(head).is_some() {
            Self::UnreadArchive
        } else if begins_like_json(head).unwrap_or(head.len() >= HEAD) {
            // A head of nothing but blanks says nothing about what follows.
            Self::Json
        } else {
            Self::Other
        }
    }

    /// How many bytes are needed to classify a file that begins with `head`.
    pub(crate) fn wanted(head: &[u8]) -> usize {
        match sniff(head) {
            Some(Container::TarGz | Container::TarZst) => PACKED_HEAD,
            _ => HEAD,
        }
    }
}

/// Whether a text begins like a JSON object or an array of them; `None` if it is too short to tell.
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

/// A fault that a decoder found, carried through [`io::Error`] with its kind.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Refused {
    kind: FaultKind,
    message: String,
}

/// Wraps a fault of the archive in a read error.
pub(crate) fn refuse(kind: FaultKind, message: impl Into<String>) -> io::Error {
    let message = message.into();
    io::Error::other(Refused { kind, message })
}

/// Returns the kind of fault in an error made by [`refuse`].
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

/// Whether `unpacked` bytes are too many for an archive of `packed` bytes.
pub(crate) fn is_beyond_ratio(packed: u64, unpacked: u64) -> bool {
    unpacked > ARCHIVE_FREE_BYTES && unpacked > packed.saturating_mul(ARCHIVE_MAX_RATIO)
}

/// The number of packed bytes: of the whole archive, or read so far. Clones share one count, even
/// across threads.
#[derive(Debug, Clone, Default)]
pub struct PackedBytes(Arc<AtomicU64>);

impl PackedBytes {
    /// Adds to the count.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// The bytes counted so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The size of one read from the source.
const BUFFER: usize = 128 << 10;

type Packed<R> = BufReader<Counted<R>>;

/// Reads the tar inside an archive, and stops if it unpacks to too many times its packed size.
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
    /// Unpacks `reader`. A zip is not unpacked here: its bytes come out unchanged.
    pub fn new(container: Container, reader: R) -> Self {
        Self::with_decoder(container, reader, ZstdDecoder::FASTEST)
    }

    /// Like [`Unpacked::new`], with a chosen decoder for Zstandard.
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

    /// Returns the live count of packed bytes read.
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
    /// Fills the whole buffer unless the input ends: a pipe delivers pieces of arbitrary size, and
    /// no bound may depend on that.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = fill(&mut self.inner, buffer)?;
        self.count.add(count as u64);
        Ok(count)
    }
}

/// Reads from `reader` until `buffer` is full or the input ends; returns the number of bytes read.
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
    fn packed_file_is_an_archive_if_a_tar_comes_out() {
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
    fn json_beginning_is_distinguished_from_a_log() {
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
    fn container_of_file_name_goes_by_ending() {
        assert_eq!(Container::of_file_name("a.ZIP"), Some(Container::Zip));
        assert_eq!(Container::of_file_name("a.tar.gz"), Some(Container::TarGz));
        assert_eq!(Container::of_file_name("a.tgz"), Some(Container::TarGz));
        assert_eq!(Container::of_file_name("a.gz"), None);
        assert_eq!(Container::of_file_name("tar"), None);
    }

    #[test]
    fn ratio_counts_only_beyond_free_bytes() {
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
