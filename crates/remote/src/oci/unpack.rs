//! Writes the files of a tar, as it arrives, into a staging folder.
//!
//! Only files and folders with plain relative names are written, each name once, and nothing
//! through a link. Times and owners are ignored. The result is verified before it gets its name
//! (`fs/staging.rs`).

use std::io::{self, Read, Write};

use runseal_core::limits::{ARCHIVE_MAX_EXTENDED, ARCHIVE_MAX_NAME, MAX_ENTRIES};
use runseal_core::path::SafePath;
use runseal_fs::atomic::WriteError;
use runseal_fs::staging::Staging;
use runseal_fs::stream::BUFFER;

use super::OciError;

/// Unpacks `reader` to its end; returns the number of bytes in files.
///
/// # Errors
/// If reading or writing fails, or an entry may not be written.
pub fn unpack(reader: &mut dyn Read, staging: &Staging) -> Result<u64, OciError> {
    let mut archive = tar::Archive::new(&mut *reader);
    let mut buffer = vec![0; BUFFER];
    let mut total = 0;
    // The name that a header before an entry gave it. Such headers are read here, within limits: the
    // library reads them whole, whatever their size.
    let mut long_name = None;
    for (count, entry) in archive.entries()?.raw(true).enumerate() {
        let mut entry = entry?;
        let kind = entry.header().entry_type();
        let is_pax = kind == tar::EntryType::XHeader;
        if is_pax || kind == tar::EntryType::GNULongName {
            let name = if is_pax {
                read_pax_name(&mut entry)?
            } else {
                Some(read_long_name(&mut entry)?)
            };
            if long_name.is_some() {
                return Err(refuse_header("several headers name the next entry"));
            }
            long_name = name;
            continue;
        }
        let name = long_name.take();
        let name = name.unwrap_or_else(|| entry.path_bytes().into_owned());
        let shown = name.escape_ascii().to_string();
        let refuse = |why: &str| OciError::Malformed {
            what: shown.clone(),
            why: why.to_owned(),
        };
        if count as u64 >= MAX_ENTRIES {
            return Err(refuse("the artifact has too many files"));
        }
        let text = str::from_utf8(&name).map_err(|_| refuse("its name is not UTF-8"))?;
        let text = text.strip_suffix('/').unwrap_or(text);
        let path = SafePath::parse(text).map_err(|fault| refuse(&fault.to_string()))?;
        match kind {
            tar::EntryType::Directory => {
                staging.make_folder(path.as_str())?;
            }
            tar::EntryType::Regular => {
                let (mut file, place) = staging.create(path.as_str())?;
                let failed = |source| WriteError {
                    path: place.clone(),
                    source,
                };
                loop {
                    let count = match entry.read(&mut buffer) {
                        Ok(0) => break,
                        Ok(count) => count,
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                        Err(error) => return Err(error.into()),
                    };
                    file.write_all(&buffer[..count]).map_err(failed)?;
                    total += count as u64;
                }
            }
            _ => return Err(refuse("only files and folders are unpacked")),
        }
    }
    // Read to the end: the digest of the last layer is checked there, and other readers may take data
    // after the files for further files.
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(total),
            Ok(count) if buffer[..count].iter().all(|byte| *byte == 0) => {}
            Ok(_) => {
                return Err(OciError::Malformed {
                    what: "the artifact".to_owned(),
                    why: "there is data after the end of its files".to_owned(),
                });
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn refuse_header(why: &str) -> OciError {
    OciError::Malformed {
        what: "a header of the artifact's tar".to_owned(),
        why: why.to_owned(),
    }
}

/// The content of an entry that describes the next one.
fn read_header(entry: &mut dyn Read, size: u64, limit: u64) -> Result<Vec<u8>, OciError> {
    if size > limit {
        return Err(refuse_header(&format!("it has more than {limit} bytes")));
    }
    let mut content = Vec::new();
    entry.take(limit).read_to_end(&mut content)?;
    Ok(content)
}

/// The name of the next entry that a GNU header gives.
fn read_long_name(entry: &mut tar::Entry<'_, impl Read>) -> Result<Vec<u8>, OciError> {
    let size = entry.size();
    let mut name = read_header(entry, size, ARCHIVE_MAX_NAME + 1)?;
    if name.last() == Some(&0) {
        name.pop();
    }
    Ok(name)
}

/// The name of the next entry that a pax header gives, if it does. It may not give a size.
fn read_pax_name(entry: &mut tar::Entry<'_, impl Read>) -> Result<Option<Vec<u8>>, OciError> {
    let size = entry.size();
    let content = read_header(entry, size, ARCHIVE_MAX_EXTENDED)?;
    let mut name = None;
    for extension in tar::PaxExtensions::new(&content) {
        let extension = extension?;
        match extension.key_bytes() {
            b"path" => name = Some(extension.value_bytes().to_vec()),
            b"size" => return Err(refuse_header("it gives the size of an entry")),
            _ => {}
        }
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::oci::tarball::{END, Kind, header, padding};

    fn tar_of(entries: &[(&str, Kind, &str)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, kind, text) in entries {
            bytes.extend(header(name, *kind));
            bytes.extend(text.as_bytes());
            bytes.resize(bytes.len() + padding(text.len() as u64), 0);
        }
        bytes.extend(END);
        bytes
    }

    fn unpack_into(bytes: &[u8], folder: &std::path::Path) -> Result<u64, OciError> {
        let staging = Staging::begin(folder).unwrap();
        let unpacked = unpack(&mut &*bytes, &staging)?;
        assert_eq!(fs::read(staging.path().join("a/b")).unwrap(), b"hi");
        Ok(unpacked)
    }

    #[test]
    fn unpack_writes_files_and_nothing_outside_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let good = tar_of(&[("a", Kind::Folder, ""), ("a/b", Kind::File(2), "hi")]);
        assert_eq!(unpack_into(&good, folder.path()).unwrap(), 2);
        for name in ["../x", "/x", "a/../../x", "a\\b"] {
            let bad = tar_of(&[(name, Kind::File(2), "hi")]);
            assert!(unpack_into(&bad, folder.path()).is_err(), "{name}");
        }
        let twice = tar_of(&[("a", Kind::File(1), "1"), ("a", Kind::File(1), "2")]);
        assert!(unpack_into(&twice, folder.path()).is_err());
        let mut link = tar_of(&[("a", Kind::Folder, "")]);
        link[156] = b'2';
        assert!(unpack_into(&link, folder.path()).is_err());
        let behind = [good.as_slice(), &good].concat();
        let refused = unpack_into(&behind, folder.path()).unwrap_err();
        assert_eq!(refused.code(), "MALFORMED");
        let padded = [good.as_slice(), &[0; 20_000]].concat();
        assert_eq!(unpack_into(&padded, folder.path()).unwrap(), 2);
        let broken = &good[..600];
        assert!(unpack_into(broken, folder.path()).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    /// A header of this kind with its content, as it describes the next entry.
    fn describing(flag: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = header("next", Kind::File(content.len() as u64));
        bytes[156] = flag;
        bytes[148..156].copy_from_slice(b"        ");
        let sum: u32 = bytes.iter().map(|byte| u32::from(*byte)).sum();
        bytes[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        bytes.extend_from_slice(content);
        bytes.resize(bytes.len() + padding(content.len() as u64), 0);
        bytes
    }

    #[test]
    fn header_that_names_the_next_entry_is_read_within_limits() {
        let folder = tempfile::tempdir().unwrap();
        let rest = tar_of(&[("other", Kind::File(2), "hi")]);
        let pax = b"12 path=a/b\n".to_vec();
        for (flag, content) in [(b'L', b"a/b\0".to_vec()), (b'x', pax.clone())] {
            let named = [describing(flag, &content), rest.clone()].concat();
            assert_eq!(unpack_into(&named, folder.path()).unwrap(), 2);
        }
        let long = vec![b'a'; 2 << 20];
        let pax_with_size = b"10 size=4\n".to_vec();
        let cases = [
            (b'L', long.clone()),
            (b'x', long.clone()),
            (b'K', b"a".to_vec()),
            (b'g', pax.clone()),
            (b'x', pax_with_size),
        ];
        for (flag, content) in cases {
            let bad = [describing(flag, &content), rest.clone()].concat();
            let refused = unpack_into(&bad, folder.path()).unwrap_err();
            assert_eq!(refused.code(), "MALFORMED", "{flag} {refused}");
            assert!(refused.to_string().len() < 10_000);
        }
        // Headers that go on do not add up: the bytes that a server claims are not allocated.
        let mut claimed = describing(b'L', &long);
        claimed.truncate(600);
        assert!(unpack_into(&claimed, folder.path()).is_err());
        let twice = [describing(b'L', b"a"), describing(b'x', &pax), rest].concat();
        assert!(unpack_into(&twice, folder.path()).is_err());
    }
}
