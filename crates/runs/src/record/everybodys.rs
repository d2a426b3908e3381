//! What of this machine's own configuration and programs a replay hides: whatever is not everybody's to read. A command
//! that a stranger's bundle names runs with the rights of whoever replays it, groups included, and those say nothing
//! about what a stranger may see.
//!
//! Only folders that people put things into by hand are walked, and only so far: what lies beyond is hidden as a whole.
//! What packages install elsewhere in the system's folders is not looked at.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::restore::is_reached_without_links;

/// The folders that are walked.
const WALKED: [&str; 2] = ["/etc", "/usr/local"];

/// The most names that are looked at; nothing beyond is shown.
const MOST_NAMES: usize = 200_000;

/// The most names that are hidden one by one in a folder; beyond, the folder is.
const MOST_HIDDEN: usize = 1000;

/// The deepest folder that is looked into.
const DEEPEST: usize = 64;

/// The paths to hide, of those that lie in folders of this machine. What the bundle has at one of them, below `tree`, is
/// not hidden.
pub(crate) fn list_private(tree: &Path) -> Vec<PathBuf> {
    let mut walk = Walk {
        tree,
        owner: owner_of_the_system(),
        names: 0,
        hidden: Vec::new(),
    };
    for top in WALKED.map(Path::new) {
        match fs::symlink_metadata(top) {
            Ok(found) if found.is_dir() => walk.visit(top, &found, 0),
            _ => {}
        }
    }
    walk.hidden
}

/// The user whose files are the system's. In a user namespace without root that is whoever everybody else is there.
fn owner_of_the_system() -> u32 {
    let own = rustix::process::geteuid().as_raw();
    let owner = fs::symlink_metadata("/usr").map_or(0, |found| found.uid());
    if owner == own { 0 } else { owner }
}

struct Walk<'a> {
    tree: &'a Path,
    owner: u32,
    names: usize,
    hidden: Vec<PathBuf>,
}

impl Walk<'_> {
    /// Hides what is at `path`, or what of it is not everybody's.
    fn visit(&mut self, path: &Path, found: &Metadata, depth: usize) {
        let is_shown = self.is_everybodys(found);
        let is_of_bundle = self.is_of_bundle(path);
        if !found.is_dir() {
            // A file of the bundle covers it.
            if !is_shown && !is_of_bundle {
                self.hidden.push(path.to_owned());
            }
        } else if !is_shown && !is_of_bundle {
            self.hidden.push(path.to_owned());
        } else {
            let before = self.hidden.len();
            // Whoever made the bundle cannot open a closed folder of this machine by putting something into it.
            let is_complete = depth < DEEPEST && self.visit_below(path, is_shown, depth);
            if !is_complete || self.hidden.len() - before > MOST_HIDDEN {
                self.hidden.truncate(before);
                self.hidden.push(path.to_owned());
            }
        }
    }

    /// Whether everything in a folder was looked at.
    fn visit_below(&mut self, folder: &Path, is_open: bool, depth: usize) -> bool {
        let Ok(entries) = fs::read_dir(folder) else {
            return false;
        };
        for entry in entries {
            self.names += 1;
            let Ok(entry) = entry else {
                return false;
            };
            if self.names > MOST_NAMES {
                return false;
            }
            let path = entry.path();
            match fs::symlink_metadata(&path) {
                Ok(_) if !is_open && !self.is_of_bundle(&path) => self.hidden.push(path),
                Ok(found) => self.visit(&path, &found, depth + 1),
                // Gone meanwhile, or closed to us too.
                Err(_) => self.hidden.push(path),
            }
        }
        true
    }

    /// Whether the bundle has something at this very path. What a link of the bundle on the way leads to is not the
    /// bundle's: it may be this machine's.
    fn is_of_bundle(&self, path: &Path) -> bool {
        let place = self.tree.join(path.strip_prefix("/").unwrap_or(path));
        let is_reached =
            |above: &Path| above == self.tree || is_reached_without_links(self.tree, above);
        place.parent().is_some_and(is_reached) && fs::symlink_metadata(&place).is_ok()
    }

    fn is_everybodys(&self, found: &Metadata) -> bool {
        let is_of_system = found.uid() == 0 || found.uid() == self.owner;
        let needed = match (found.is_symlink(), found.is_dir()) {
            // What it leads to has rights of its own.
            (true, _) => 0,
            (_, true) => 0o005,
            (_, false) => 0o004,
        };
        is_of_system && found.mode() & needed == needed
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_is_not_everybodys_is_hidden_and_what_the_bundle_has_there_is_not() {
        let top = tempfile::tempdir().unwrap();
        let (machine, tree) = (top.path().join("machine"), top.path().join("tree"));
        let closed = machine.join("closed");
        for folder in [&closed, &machine.join("open/deep")] {
            fs::create_dir_all(folder).unwrap();
        }
        for (name, mode) in [
            ("open/all", 0o644),
            ("open/deep/group", 0o640),
            ("open/covered", 0o600),
            ("closed/all", 0o644),
            ("closed/covered", 0o644),
        ] {
            fs::write(machine.join(name), "x").unwrap();
            fs::set_permissions(machine.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o750)).unwrap();
        let list = |tree: &Path| {
            let found = fs::symlink_metadata(&machine).unwrap();
            let mut walk = Walk {
                tree,
                owner: found.uid(),
                names: 0,
                hidden: Vec::new(),
            };
            walk.visit(&machine, &found, 0);
            walk.hidden.sort();
            walk.hidden
        };
        let below = |names: &[&str]| names.iter().map(|it| machine.join(it)).collect::<Vec<_>>();
        assert_eq!(
            list(&tree),
            below(&["closed", "open/covered", "open/deep/group"])
        );
        let inside = tree.join(machine.strip_prefix("/").unwrap());
        for name in ["open/covered", "closed/covered"] {
            let place = inside.join(name);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, "of the bundle").unwrap();
        }
        assert_eq!(list(&tree), below(&["closed/all", "open/deep/group"]));
        // A link of the bundle to the machine's own folder makes nothing there the bundle's.
        let linking = top.path().join("linking");
        let link = linking.join(machine.strip_prefix("/").unwrap());
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&machine, link).unwrap();
        assert_eq!(
            list(&linking),
            below(&["closed", "open/covered", "open/deep/group"])
        );
    }

    #[test]
    fn folder_with_more_names_than_are_looked_at_is_hidden_as_a_whole() {
        let top = tempfile::tempdir().unwrap();
        fs::set_permissions(top.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for number in 0..=MOST_HIDDEN {
            let place = top.path().join(number.to_string());
            fs::write(&place, "x").unwrap();
            fs::set_permissions(place, fs::Permissions::from_mode(0o600)).unwrap();
        }
        let found = fs::symlink_metadata(top.path()).unwrap();
        let list = |names: usize| {
            let mut walk = Walk {
                tree: Path::new("/nowhere"),
                owner: found.uid(),
                names,
                hidden: Vec::new(),
            };
            walk.visit(top.path(), &found, 0);
            walk.hidden
        };
        assert_eq!(list(0), [top.path()]);
        assert_eq!(list(MOST_NAMES), [top.path()]);
    }
}
