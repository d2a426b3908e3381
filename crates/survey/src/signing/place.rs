//! Where something is, for the `paths` of a policy: the place that a path leads to, not its spelling.

use std::path::{Path, PathBuf};

use runseal_trust::policy::Place;

use crate::{Files, InsidePath};

/// The separator between the scheme of an address and the rest.
const SCHEME: &str = "://";

/// The folder that a policy's relative patterns are relative to: the parent in its path.
pub(super) fn folder_of(files: &dyn Files, policy: &Path) -> Option<PathBuf> {
    let folder = policy.parent()?;
    if folder.as_os_str().is_empty() {
        files.resolved(Path::new("."))
    } else {
        files.resolved(folder)
    }
}

/// Where the thing at `path` is, seen from the policy's folder.
pub(super) fn place_of(files: &dyn Files, folder: Option<&Path>, path: &Path) -> Place {
    let inside = InsidePath::of(files, path);
    let outer = inside.as_ref().map_or(path, |inside| &inside.archive);
    let text = |path: &Path| path.to_str().map(str::to_owned);
    let inside = inside.as_ref().map(|inside| inside.name.clone());
    if let Some(address) = outer.to_str().filter(|text| text.contains(SCHEME)) {
        return Place {
            absolute: plain_address(address),
            inside,
            ..Place::default()
        };
    }
    let resolved = files.resolved(outer);
    let below = resolved
        .as_deref()
        .zip(folder)
        .and_then(|(resolved, folder)| resolved.strip_prefix(folder).ok());
    Place {
        relative: below.and_then(text),
        absolute: resolved
            .as_deref()
            .filter(|resolved| resolved.is_absolute())
            .and_then(text),
        inside,
    }
}

/// An address in its only spelling; `None` if it has several.
fn plain_address(address: &str) -> Option<String> {
    let address = address.strip_suffix('/').unwrap_or(address);
    let (_, rest) = address.split_once(SCHEME)?;
    let mut segments = rest.split('/');
    let is_plain = segments.all(|segment| !["", ".", ".."].contains(&segment));
    is_plain.then(|| address.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryFiles;

    #[test]
    fn place_does_not_depend_on_the_spelling_of_a_path() {
        let mut files = MemoryFiles::default();
        files.add_folder("repo/prod/r").unwrap();
        files.add_file("repo/a.zip", [].as_slice().into()).unwrap();
        let folder = folder_of(&files, Path::new("repo/./trust.toml"));
        let place = |path: &str| place_of(&files, folder.as_deref(), Path::new(path));
        for path in ["repo/prod/r", "./repo//prod/r/", "repo/prod/../prod/./r"] {
            assert_eq!(place(path).relative.as_deref(), Some("prod/r"), "{path}");
        }
        let inside = place("repo/a.zip!/prod/r");
        assert_eq!(inside.relative.as_deref(), Some("a.zip"));
        assert_eq!(inside.inside.as_deref(), Some("prod/r"));
        assert_eq!(place("elsewhere/prod/r").relative, None);
        assert_eq!(place("../prod/r"), Place::default());
    }

    #[test]
    fn address_with_several_spellings_has_no_place() {
        let files = MemoryFiles::default();
        let place = |path: &str| place_of(&files, None, Path::new(path)).absolute;
        assert_eq!(place("s3://b/prod/r/").as_deref(), Some("s3://b/prod/r"));
        for path in ["s3://b//prod/r", "s3://b/x/../prod/r", "s3://b/./r"] {
            assert_eq!(place(path), None, "{path}");
        }
    }
}
