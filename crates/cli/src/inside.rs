//! Refuses to write into a sealed bundle, which would break its seal, or over a file that is read.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use runseal_core::formats::detect::is_sealed_folder;
use runseal_core::verify::Outcome;

use crate::error::CliError;
use crate::places::is_elsewhere;

/// Refuses to write the file or folder `output` into a bundle.
///
/// # Errors
/// If a folder above it is a bundle.
pub fn refuse_inside(output: &Path) -> Result<(), CliError> {
    match output.parent() {
        Some(folder) if output != Path::new("-") => refuse_in(folder, output),
        _ => Ok(()),
    }
}

/// Refuses to write `output` into `folder`, if that is a bundle or is in one.
///
/// # Errors
/// If it is.
pub fn refuse_in(folder: &Path, output: &Path) -> Result<(), CliError> {
    if is_elsewhere(output) {
        return Ok(());
    }
    // Folders on the way that do not exist yet cannot be links.
    let above = folder.ancestors().map(|above| match above {
        above if above.as_os_str().is_empty() => Path::new("."),
        above => above,
    });
    // If nothing is found, the attempt to write there reports it.
    let found = above
        .into_iter()
        .find_map(|above| fs::canonicalize(above).ok());
    let is_sealed = |folder: &&Path| is_sealed_folder(|name| folder.join(name).exists());
    let Some(found) = found else { return Ok(()) };
    match found.ancestors().find(is_sealed) {
        None => Ok(()),
        Some(bundle) => {
            let message = format!(
                "`{}` is a sealed bundle, which another file in it would break",
                bundle.display()
            );
            Err(CliError::new(Outcome::Unreadable, "INSIDE", message)
                .at(output.display().to_string())
                .hint("name a place outside the bundle; nothing was written"))
        }
    }
}

/// Refuses to write over something that is read: the page of a document is no longer evidence.
///
/// # Errors
/// If `output` is one of the files in `read`, under any name.
pub fn refuse_over<'a>(
    output: &Path,
    read: impl IntoIterator<Item = &'a Path>,
) -> Result<(), CliError> {
    let identity = |path: &Path| {
        let found = fs::metadata(path).ok()?;
        Some((found.dev(), found.ino()))
    };
    let Some(target) = identity(output) else {
        return Ok(());
    };
    match read.into_iter().find(|path| identity(path) == Some(target)) {
        None => Ok(()),
        Some(path) => {
            let message = format!(
                "it would be written over `{}`, which is read",
                path.display()
            );
            Err(CliError::new(Outcome::Unreadable, "OVER_INPUT", message)
                .at(output.display().to_string())
                .hint("name another file; nothing was written"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_inside_bundles_are_refused_under_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in [
            "run/RUN_META.json",
            "run/SHA256SUMS.txt",
            "pack/run.json",
            "pack/policy.json",
            "job/bundle.json",
            "job/artifacts/x",
            "copy/REDACTED.json",
            "project/run.json",
            "project/artifacts/x",
        ] {
            fs::create_dir_all(path(name).parent().unwrap()).unwrap();
            fs::write(path(name), "").unwrap();
        }
        std::os::unix::fs::symlink(path("run"), path("link")).unwrap();
        for inside in [
            "run/page.html",
            "run/new/folder/page.html",
            "link/page.html",
            "project/../run/page.html",
            "pack/page.html",
            "job/artifacts/page.html",
            "copy/page.html",
        ] {
            assert!(refuse_inside(&path(inside)).is_err(), "{inside}");
        }
        assert!(refuse_in(&path("run"), &path("run")).is_err());
        for outside in [
            "page.html",
            "run",
            "run.intoto.jsonl",
            "project/page.html",
            "new/page",
        ] {
            assert!(refuse_inside(&path(outside)).is_ok(), "{outside}");
        }
        assert!(refuse_inside(Path::new("-")).is_ok());
    }
}
