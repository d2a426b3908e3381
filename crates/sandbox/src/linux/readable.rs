//! What of the host a command may read where nothing can be mounted: the sources of its view, listed around what is
//! hidden in them. Landlock closes everything else, whatever links lead there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::view::{View, ViewPlace};

/// Paths whose whole content may be read.
pub(super) fn list(view: &View) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for place in &view.places {
        let hidden = hidden_in(view, place);
        for source in &place.sources {
            // As root everything could be looked at; what is not there is not shown either.
            if let Ok(real) = fs::canonicalize(source) {
                add(&real, &hidden, &mut found);
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// What is hidden in the sources of a place, as paths of the host without links. What a deeper place opens again is
/// in the list of that one.
fn hidden_in(view: &View, place: &ViewPlace) -> BTreeSet<PathBuf> {
    let mut hidden = BTreeSet::new();
    for path in &view.hidden {
        let Ok(below) = path.strip_prefix(&place.inside) else {
            continue;
        };
        if below.as_os_str().is_empty() {
            continue;
        }
        for source in &place.sources {
            let there = source.join(below);
            hidden.extend(fs::canonicalize(&there));
            hidden.insert(there);
        }
    }
    hidden
}

fn add(path: &Path, hidden: &BTreeSet<PathBuf>, found: &mut Vec<PathBuf>) {
    if hidden.contains(path) {
        return;
    }
    let holds_hidden = hidden.iter().any(|it| it.starts_with(path));
    if !holds_hidden {
        found.push(path.to_owned());
        return;
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        // Landlock follows no link in a rule of ours: what one leads to has its own.
        if entry
            .file_type()
            .is_ok_and(|kind| kind.is_dir() || kind.is_file())
        {
            add(&entry.path(), hidden, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_goes_around_what_is_hidden() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        for folder in [".ssh", ".config/gcloud", ".config/x", "data"] {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
        fs::write(home.join("file"), "").unwrap();
        std::os::unix::fs::symlink(home.join("data"), home.join("link")).unwrap();
        let view = View {
            places: vec![ViewPlace::at_own_path(&home)],
            hidden: vec![
                home.join(".ssh"),
                home.join(".config/gcloud"),
                home.join("none"),
            ],
            has_own_etc: false,
        };
        let expected = [".config/x", "data", "file"].map(|name| home.join(name));
        assert_eq!(list(&view), expected);
    }
}
