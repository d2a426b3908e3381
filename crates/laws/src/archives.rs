//! The laws of reading archives, for any bytes.

use std::io::{Cursor, Read};

use runseal_archive::{
    Archive, Container, InlineDigester, Record, Unpacked, ZstdDecoder, read_stream, read_tar,
    read_zip,
};
use runseal_core::digest::Digest;
use runseal_core::limits::{ARCHIVE_KEPT_FREE, ARCHIVE_KEPT_OTHERS, ARCHIVE_KEPT_RATIO};

/// Returns a few bytes at a time, as a slow pipe does.
struct Slow<'a>(&'a [u8], usize);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.1 = self.1 % 7 + 1;
        let count = self.1.min(buffer.len());
        self.0.read(&mut buffer[..count])
    }
}

fn read(container: Container, bytes: &[u8]) -> Archive {
    let mut digester = InlineDigester::default();
    read_stream(container, bytes, "bytes", &mut digester).expect("bytes in memory can be read")
}

/// Everything that is known about an archive, as text.
fn listing(archive: &Archive) -> String {
    let entries: Vec<_> = archive.below("").collect();
    format!("{entries:?} {:?}", archive.faults())
}

fn is_accepted(archive: &Archive) -> bool {
    archive.faults().is_empty()
}

/// Archives of any kind: reading twice, in small pieces or with random access gives the same result;
/// every listed entry can be found and is what it says; an accepted archive is not accepted with a byte
/// less or more.
pub fn check_archive(container: Container, bytes: &[u8]) {
    let archive = read(container, bytes);
    let listed = listing(&archive);
    assert_eq!(listed, listing(&read(container, bytes)), "read twice");
    let mut digester = InlineDigester::default();
    let other = match container {
        Container::Zip => read_zip(Cursor::new(bytes), bytes.len() as u64, &mut digester),
        container => {
            let mut unpacked = Unpacked::new(container, Slow(bytes, 0));
            let packed = unpacked.packed();
            read_tar(&mut unpacked, packed, &mut digester)
        }
    };
    let other = other.expect("bytes in memory can be read");
    assert_eq!(listed, listing(&other), "read in another way");
    if is_accepted(&archive) {
        let shorter = &bytes[..bytes.len() - 1];
        assert!(!is_accepted(&read(container, shorter)), "a byte less");
        let longer = [bytes, &[0]].concat();
        assert!(!is_accepted(&read(container, &longer)), "a byte more");
    }
    check_entries(&archive, bytes.len() as u64);
}

fn check_entries(archive: &Archive, packed: u64) {
    let mut kept_bytes = 0;
    let mut before: Option<&[u8]> = None;
    for (name, record) in archive.below("") {
        assert!(before < Some(name), "names are in order and occur once");
        before = Some(name);
        if let Record::File(file) = record
            && let Some(kept) = file.kept
        {
            kept_bytes += kept.len() as u64;
            assert_eq!(file.content.bytes, kept.len() as u64);
            assert_eq!(file.content.sha256, Digest::of(kept));
        }
        let Ok(name) = str::from_utf8(name) else {
            continue;
        };
        assert_eq!(
            archive.get(name).map(|found| found.kind()),
            Some(record.kind())
        );
        if let Some((folder, _)) = name.rsplit_once('/') {
            assert!(matches!(archive.get(folder), Some(Record::Folder)));
        }
        assert!(
            !name.starts_with('/') && name.split('/').all(|part| !["", ".", ".."].contains(&part))
        );
    }
    let documents = ARCHIVE_KEPT_FREE.max(packed * ARCHIVE_KEPT_RATIO);
    assert!(kept_bytes <= documents + ARCHIVE_KEPT_OTHERS, "memory");
}

/// Both decoders of Zstandard return the same bytes, or both refuse. If one reaches the limit here, the other may
/// already have found a fault beyond it.
pub fn check_zstd_decoders(bytes: &[u8]) {
    const LIMIT: u64 = 16 << 20;
    let [rust, fastest] = [ZstdDecoder::Rust, ZstdDecoder::FASTEST].map(|decoder| {
        let unpacked = Unpacked::with_decoder(Container::TarZst, bytes, decoder);
        let mut content = Vec::new();
        let read = unpacked.take(LIMIT).read_to_end(&mut content);
        read.ok().map(|_| content)
    });
    match (&rust, &fastest) {
        (None, Some(content)) | (Some(content), None) => {
            assert!(content.len() as u64 == LIMIT, "one decoder refuses");
        }
        _ => assert!(rust == fastest, "the decoders disagree"),
    }
}

/// If gzip is accepted, an ordinary decoder returns the same bytes.
pub fn check_gzip(bytes: &[u8]) {
    let mut content = Vec::new();
    let unpacked = Unpacked::new(Container::TarGz, bytes);
    if unpacked.take(16 << 20).read_to_end(&mut content).is_ok() && content.len() < 16 << 20 {
        let mut ordinary = Vec::new();
        let decoder = flate2::bufread::MultiGzDecoder::new(bytes);
        let read = decoder.take(16 << 20).read_to_end(&mut ordinary);
        assert!(read.is_ok() && ordinary == content, "gzip");
    }
}
