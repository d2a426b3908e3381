//! Writes the files of a tar, as it arrives, into a staging folder.
//!
//! Only files and folders with plain relative names are written, each name once, and nothing
//! through a link. Times and owners are ignored. The result is verified before it gets its name
//! (`fs/staging.rs`).

use std::io::{self, Read, Write};

use runseal_core::limits::MAX_ENTRIES;
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
    for (count, entry) in archive.entries()?.enumerate() {
        let mut entry = entry?;
        let name = entry.path_bytes();
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
        match entry.header().entry_type() {
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
}
