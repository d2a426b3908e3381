//! Finds out what a path is, by what stands in it; nothing is judged here.

use std::path::Path;

use runseal_core::canon::{ReadOptions, parse_document};
use runseal_core::formats::Format;
use runseal_core::limits::JsonLimits;
use runseal_core::source::SourceError;

use crate::input::read_file;

/// The format of the folder `path`, of the folder that the bundle.json `path` stands in, or of the
/// context bundle `path`; `None` where it is none of them.
pub fn detect(path: &Path) -> Result<Option<Format>, SourceError> {
    let shown = || path.display().to_string();
    let metadata = std::fs::metadata(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => SourceError::NotFound { path: shown() },
        _ => SourceError::Io {
            path: shown(),
            source,
        },
    })?;
    if metadata.is_dir() {
        return Ok(detect_folder(path));
    }
    let is_manifest = path.file_name().is_some_and(|name| name == "bundle.json");
    let folder = path.parent().filter(|_| is_manifest);
    let job = folder
        .and_then(detect_folder)
        .filter(|format| *format == Format::JobBundle);
    Ok(job.or_else(|| is_context_bundle(path).then_some(Format::ContextBundle)))
}

fn is_context_bundle(path: &Path) -> bool {
    has_member(path, "root_node")
}

fn detect_folder(folder: &Path) -> Option<Format> {
    // A link in the place of a file is there too; whether it may be is the verifier's business.
    let has = |name: &str| std::fs::symlink_metadata(folder.join(name)).is_ok();
    let is_run = has("RUN_META.json")
        || has("RUN_OUTPUT.json")
        || has("ENGINE_MANIFEST.json") && has("SHA256SUMS.txt");
    if is_run {
        return Some(Format::RunBundle);
    }
    if has("run.json") {
        return Some(Format::Pack);
    }
    if has("bundle.json") && (folder.join("artifacts").is_dir() || is_job_manifest(folder)) {
        return Some(Format::JobBundle);
    }
    None
}

fn is_job_manifest(folder: &Path) -> bool {
    has_member(&folder.join("bundle.json"), "bundle_version")
}

/// Whether the file holds a JSON object with the member `name`.
fn has_member(path: &Path, name: &str) -> bool {
    let Ok(bytes) = read_file(path, JsonLimits::LARGEST_DOCUMENT) else {
        return false;
    };
    let document = parse_document(&bytes, &ReadOptions::default());
    document.is_ok_and(|document| document.root().get(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir, write};

    #[test]
    fn detect_each_folder_is_known_by_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str, files: &[(&str, &str)]| {
            let path = folder.path().join(name);
            create_dir(&path).unwrap();
            for (file, text) in files {
                write(path.join(file), text).unwrap();
            }
            path
        };
        for (name, files, format) in [
            ("a", vec![("RUN_META.json", "")], Some(Format::RunBundle)),
            ("b", vec![("RUN_OUTPUT.json", "")], Some(Format::RunBundle)),
            (
                "c",
                vec![("ENGINE_MANIFEST.json", ""), ("SHA256SUMS.txt", "")],
                Some(Format::RunBundle),
            ),
            ("d", vec![("ENGINE_MANIFEST.json", "")], None),
            ("e", vec![("run.json", "")], Some(Format::Pack)),
            (
                "f",
                vec![("bundle.json", "{\"bundle_version\":\"5.0.0\"}")],
                Some(Format::JobBundle),
            ),
            ("g", vec![("bundle.json", "{}")], None),
            ("h", vec![], None),
        ] {
            let path = make(name, &files);
            assert_eq!(detect(&path).unwrap(), format, "{files:?}");
        }
        let manifest = folder.path().join("f/bundle.json");
        assert_eq!(detect(&manifest).unwrap(), Some(Format::JobBundle));
        assert!(matches!(
            detect(&folder.path().join("x")),
            Err(SourceError::NotFound { .. })
        ));
    }
}
