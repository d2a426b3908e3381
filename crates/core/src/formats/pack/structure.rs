//! What is in the folder: PK1, PK2, PK6, PK7, PK12.

use super::{MANIFEST, PackView};
use crate::formats::run::ResultKind;
use crate::source::EntryKind;
use crate::verify::Findings;

/// PK1: the files that the outcome requires are there, as regular files.
pub(super) fn check_required(view: &PackView<'_>, findings: &mut Findings) {
    let mut required = vec!["run.json"];
    if view.outcome() != Some(ResultKind::Refuse) {
        required.push("bundle.json");
    }
    for name in required {
        match view.kind_of(name) {
            Some(EntryKind::File) => {}
            Some(kind) => {
                let message = format!("a required file is {}", kind.with_article());
                findings.add(name, message);
            }
            None => findings.add(name, "a required file is missing"),
        }
    }
}

/// PK2: only files of the manifest, and only those that the outcome allows (002 §3.2).
pub(super) fn check_known(view: &PackView<'_>, findings: &mut Findings) {
    let forbidden: &[&str] = match view.outcome() {
        Some(ResultKind::Clarify) => &["patch.json", "evidence.json"],
        Some(ResultKind::Refuse) => &["bundle.json", "patch.json", "evidence.json"],
        Some(ResultKind::Bundle) | None => &[],
    };
    for (name, _) in &view.files.entries {
        if !MANIFEST.contains(&name.as_str()) {
            findings.add(name, "this file does not belong in a pack");
        } else if forbidden.contains(&name.as_str()) {
            findings.add(name, "the run's outcome allows no such file");
        }
    }
}

/// PK6: no symbolic links.
pub(super) fn check_links(view: &PackView<'_>, findings: &mut Findings) {
    for (name, kind) in &view.files.entries {
        if *kind == EntryKind::Symlink {
            findings.add(name, "a symbolic link is not a file; it was not followed");
        }
    }
}

/// PK7: neither the path as given nor a name climbs or hides a separator.
pub(super) fn check_traversal(view: &PackView<'_>, findings: &mut Findings) {
    if let Some(fault) = find_path_fault(view.pack_path) {
        findings.add(view.pack_path, fault);
    }
    for (name, _) in &view.files.entries {
        if name.contains('\\') {
            findings.add(name, "the name contains a backslash");
        }
    }
}

/// The schemes of addresses on other machines; the path follows.
const SCHEMES: [&str; 2] = ["s3://", "oci://"];

/// A leading `./`, a plain `.` and a trailing slash are allowed, because people type them
/// (rulings).
fn find_path_fault(path: &str) -> Option<&'static str> {
    let mut schemes = SCHEMES.into_iter();
    let path = schemes
        .find_map(|scheme| path.strip_prefix(scheme))
        .unwrap_or(path);
    if path.split('/').any(|segment| segment == "..") {
        return Some("the path of the pack contains `..`");
    }
    if path.contains("//") {
        return Some("the path of the pack contains `//`");
    }
    let inner = path.strip_prefix("./").unwrap_or(path);
    if !matches!(inner, "." | "./") && inner.split('/').any(|segment| segment == ".") {
        return Some("the path of the pack contains a `.` segment");
    }
    None
}

/// PK12: regular files only.
pub(super) fn check_regular(view: &PackView<'_>, findings: &mut Findings) {
    for (name, kind) in &view.files.entries {
        if !matches!(kind, EntryKind::File | EntryKind::Symlink) {
            findings.add(
                name,
                format!("{} is not a regular file", kind.with_article()),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::find_path_fault;

    #[test]
    fn pack_path_as_typed_by_people_passes() {
        for path in [
            ".",
            "./",
            "pack",
            "./pack",
            "pack/",
            "a/b",
            "/tmp/a",
            "./a/b/",
            "/",
            "a.b",
            "s3://bucket/pack",
            "oci://host:5000/team/pack:v1",
        ] {
            assert_eq!(find_path_fault(path), None, "{path}");
        }
    }

    #[test]
    fn pack_path_with_dots_or_double_slash_is_fault() {
        for path in [
            "..",
            "../a",
            "a/../b",
            "a/./b",
            "a//b",
            "//a",
            "a//",
            ".//",
            ".//a",
            "././a",
            "a/./",
            "a/.",
            "s3://bucket//pack",
            "other://a",
        ] {
            assert!(find_path_fault(path).is_some(), "{path}");
        }
    }
}
