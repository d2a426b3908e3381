//! Bounds on the paths that a bundle lists before anything is made at them: a path costs its maker a few bytes, and whoever
//! unpacks it every folder on the way.

use std::collections::BTreeSet;

/// The deepest path, in segments.
pub(super) const DEEPEST: usize = 128;

/// The longest path, in bytes, as the system has it.
const LONGEST: usize = 4096;

/// How many folders there may be whatever the number of paths, and how many more for each path.
const FOLDERS: (usize, usize) = (1000, 4);

/// Whether one path is too deep or too long to be made.
pub(super) fn is_too_deep(path: &str) -> bool {
    path.len() > LONGEST || path.split('/').count() > DEEPEST
}

/// Refuses paths that ask for many more folders than they are; says why.
pub(super) fn check_folders<'p>(paths: impl Iterator<Item = &'p str>) -> Result<(), &'static str> {
    let (few, each) = FOLDERS;
    let mut folders = BTreeSet::new();
    let mut names = 0;
    for path in paths {
        names += 1;
        if is_too_deep(path) {
            return Err("they are nested too deeply");
        }
        folders.extend(path.match_indices('/').map(|(at, _)| &path[..at]));
    }
    match folders.len() > few + each * names {
        true => Err("they lie in too many folders"),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_ask_for_many_folders_are_refused_and_ordinary_ones_are_not() {
        let deep = |number: usize| format!("{number}/{}", ["a"; 100].join("/"));
        let many: Vec<String> = (0..100).map(deep).collect();
        let check = |paths: &[String]| check_folders(paths.iter().map(String::as_str));
        assert_eq!(check(&many), Err("they lie in too many folders"));
        assert_eq!(check(&many[..5]), Ok(()));
        let usual: Vec<String> = (0..5000).map(|it| format!("usr/lib/x/{it}/data")).collect();
        assert_eq!(check(&usual), Ok(()));
        assert_eq!(
            check(&[["a"; DEEPEST + 1].join("/")]),
            Err("they are nested too deeply")
        );
        assert_eq!(
            check(&["a".repeat(LONGEST + 1)]),
            Err("they are nested too deeply")
        );
    }
}
