//! What a bundle tells of its maker's home folder without any content: names that the command looked at or listed
//! there, so that nobody hands over more than they know.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::accesses::Accesses;

/// The caller's home folder as it really is: paths that were observed have no links in them.
pub(crate) fn real_home() -> Option<PathBuf> {
    let home = std::env::home_dir()?;
    Some(home.canonicalize().unwrap_or(home))
}

/// The names below the home folder that are sealed, by folder and in one line; nothing if there are none.
pub(crate) fn tell_names(accesses: &Accesses, home: &Path) -> Option<String> {
    let mut tops: BTreeMap<String, usize> = BTreeMap::new();
    let mut add = |folder: &Path, count: usize| {
        let Ok(below) = folder.strip_prefix(home) else {
            return;
        };
        let short: Vec<_> = below
            .iter()
            .take(2)
            .map(|part| part.to_string_lossy())
            .collect();
        let top = match short.is_empty() {
            true => "~/".to_owned(),
            false => format!("~/{}/", short.join("/")),
        };
        *tops.entry(top).or_default() += count;
    };
    for (folder, names) in &accesses.listed {
        add(Path::new(folder), names.len());
    }
    let looked = accesses.present.keys().filter(|path| path.starts_with('/'));
    for path in looked.filter(|path| !accesses.listed.contains_key(*path)) {
        let above = Path::new(path).parent();
        let is_listed = above
            .and_then(Path::to_str)
            .is_some_and(|above| accesses.listed.contains_key(above));
        if let Some(above) = above.filter(|_| !is_listed) {
            add(above, 1);
        }
    }
    let name = |(top, count): (&String, &usize)| match count {
        1 => format!("{} (1 name)", top.escape_debug()),
        _ => format!("{} ({count} names)", top.escape_debug()),
    };
    let shown: Vec<String> = tops
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(name)
        .collect();
    (!shown.is_empty()).then(|| shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::accesses::{ListedName, PresentEntry};
    use super::*;

    #[test]
    fn names_are_told_by_folder() {
        let file = PresentEntry::Folder;
        let listed = |name: &str| ListedName {
            name: name.to_owned(),
            what: file,
        };
        let mut accesses = Accesses::default();
        accesses.listed.insert(
            "/home/me/data/raw/2024".to_owned(),
            vec![listed("a"), listed("b")],
        );
        accesses
            .listed
            .insert("src".to_owned(), vec![listed("own.c")]);
        accesses.present.insert("/home/me/.toolrc".to_owned(), file);
        accesses
            .present
            .insert("/home/me/data/raw/2024/a".to_owned(), file);
        accesses.present.insert("/opt/x".to_owned(), file);
        let told = tell_names(&accesses, Path::new("/home/me"));
        assert_eq!(told.as_deref(), Some("~/ (1 name), ~/data/raw/ (2 names)"));
        assert_eq!(tell_names(&accesses, Path::new("/home/you")), None);
    }
}
