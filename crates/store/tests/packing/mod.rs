//! Packs a folder as it is, links and pipes included, with writers that are not ours.

use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// The archives that a folder is packed into.
pub const KINDS: [&str; 4] = ["tar", "tar.gz", "tar.zst", "zip"];

/// Packs `folder` into `<place>/packed.<kind>`, in a folder `inner` unless that is empty. `None` if
/// the kind cannot represent what is in the folder.
pub fn pack(folder: &Path, place: &Path, kind: &str, inner: &str) -> Option<PathBuf> {
    let target = place.join(format!("packed.{kind}"));
    let bytes = match kind {
        "tar" => tar_of(folder, inner),
        "tar.gz" => {
            let level = flate2::Compression::fast();
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(&tar_of(folder, inner)).unwrap();
            encoder.finish().unwrap()
        }
        "tar.zst" => {
            let level = ruzstd::encoding::CompressionLevel::Fastest;
            ruzstd::encoding::compress_to_vec(tar_of(folder, inner).as_slice(), level)
        }
        "zip" => zip_of(folder, inner)?,
        other => panic!("unknown kind `{other}`"),
    };
    fs::write(&target, bytes).unwrap();
    Some(target)
}

fn tar_of(folder: &Path, inner: &str) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    builder.follow_symlinks(false);
    let top = if inner.is_empty() { "." } else { inner };
    builder.append_dir_all(top, folder).unwrap();
    builder.into_inner().unwrap()
}

fn zip_of(folder: &Path, inner: &str) -> Option<Vec<u8>> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let mut waiting = vec![(folder.to_owned(), inner.to_owned())];
    while let Some((folder, prefix)) = waiting.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name();
            // Names in a zip are text.
            let name = str::from_utf8(name.as_bytes()).ok()?;
            let name = match prefix.as_str() {
                "" => name.to_owned(),
                prefix => format!("{prefix}/{name}"),
            };
            let options = zip::write::SimpleFileOptions::default();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                writer.add_directory(&*name, options).unwrap();
                waiting.push((entry.path(), name));
            } else if kind.is_symlink() {
                let target = fs::read_link(entry.path()).unwrap();
                let target = target.to_str().unwrap().to_owned();
                writer.add_symlink(&*name, target, options).unwrap();
            } else if kind.is_fifo() {
                return None;
            } else {
                writer.start_file(&*name, options).unwrap();
                writer.write_all(&fs::read(entry.path()).unwrap()).unwrap();
            }
        }
    }
    Some(writer.finish().unwrap().into_inner())
}
