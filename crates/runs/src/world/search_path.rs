//! The folders of the caller's PATH, also where the command has a folder of its own, such as in /tmp or /run.
//!
//! One that is reached over a link is shown where it is named and where it is, if the command sees it there anyway or it
//! is the caller's: version managers keep such links in /run or /tmp, and the link itself may be anybody's. What cannot
//! be shown is named, because without it another program of that name may run.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use runseal_sandbox::{View, ViewPlace, check_own_place};

use super::OWN_TEMPORARY;

/// The most links on the way to a folder, as for the kernel.
const MOST_LINKS: usize = 40;

/// Adds what is missing for the folders of a PATH; gives those that the command does not see.
pub(super) fn show(view: &mut View, path: &str, folder: Option<&Path>) -> Vec<PathBuf> {
    let mut left_out = Vec::new();
    let mut seen = BTreeSet::new();
    for entry in std::env::split_paths(path) {
        // A relative one is in the command's folder, and one that is not there has no programs.
        let counts = entry.is_absolute() && entry.is_dir() && seen.insert(entry.clone());
        if counts && !show_entry(view, &entry, folder) {
            left_out.push(entry);
        }
    }
    left_out
}

/// Whether the command sees the programs of an entry, by then.
fn show_entry(view: &mut View, entry: &Path, folder: Option<&Path>) -> bool {
    let (Ok(real), Some(links)) = (entry.canonicalize(), links_on_the_way(entry)) else {
        return false;
    };
    let is_there =
        |path: &Path| view.shows(path) || folder.is_some_and(|folder| path.starts_with(folder));
    let are_links_there = links.iter().all(|link| is_there(link));
    if are_links_there && is_there(&real) {
        return true;
    }
    let is_shown_there = is_there(&real);
    let is_hidden = |path: &Path| {
        let mut hidden = view.hidden.iter();
        let own = Path::new(OWN_TEMPORARY);
        path == own || hidden.any(|hidden| path.starts_with(hidden) && hidden != own)
    };
    let is_callers = |path: &Path| {
        let own = rustix::process::getuid().as_raw();
        fs::metadata(path).is_ok_and(|found| found.uid() == own)
    };
    let may_show = |path: &Path| !is_hidden(path) && check_own_place(path).is_ok();
    if links.is_empty() {
        let may = may_show(entry);
        if may {
            view.show(entry);
        }
        return may;
    }
    // A whole top-level folder, such as /run, is nobody's folder of programs.
    let is_top = real.parent().is_none_or(|above| above == Path::new("/"));
    if !is_shown_there && (is_top || !may_show(&real) || !is_callers(&real)) {
        return false;
    }
    if is_there(entry) {
        // The links are there as they are: only what they lead to can be added.
        if are_links_there {
            view.show(real);
        }
        return are_links_there;
    }
    if !may_show(entry) {
        return false;
    }
    match is_shown_there {
        // A link alone, which gives no right to anything.
        true => view.places.push(ViewPlace::at_own_path(entry)),
        false => view.show(entry),
    }
    true
}

/// Where the links lie that are followed on the way to a path; `None` if there are too many.
fn links_on_the_way(path: &Path) -> Option<Vec<PathBuf>> {
    let mut links = Vec::new();
    let mut waiting = path.to_owned();
    loop {
        let mut place = PathBuf::from("/");
        let mut rest = waiting.components();
        let mut next = None;
        for part in rest.by_ref() {
            match part {
                Component::ParentDir => {
                    place.pop();
                }
                Component::Normal(name) => place.push(name),
                _ => {}
            }
            if let Ok(target) = fs::read_link(&place) {
                next = Some(place.parent()?.join(target).join(rest.as_path()));
                break;
            }
        }
        let Some(next) = next else {
            return Some(links);
        };
        if links.len() == MOST_LINKS {
            return None;
        }
        links.push(place);
        waiting = next;
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::super::{Choices, World};
    use super::*;

    fn world(home: &Path, path: &str, folder: Option<PathBuf>) -> World {
        World::of_caller(&Choices {
            shell: vec![("HOME".into(), home.into()), ("PATH".into(), path.into())],
            folder,
            ..Choices::default()
        })
    }

    #[test]
    fn folder_of_the_path_in_tmp_is_shown_and_the_rest_of_it_is_not() {
        let other = tempfile::tempdir().unwrap();
        let other = other.path().canonicalize().unwrap();
        fs::create_dir(other.join("tools")).unwrap();
        symlink("/run", other.join("link")).unwrap();
        let entry = |name: &str| other.join(name).display().to_string();
        let path = format!(
            "{}:{}:/usr/bin:/tmp:/nowhere",
            entry("tools"),
            entry("link")
        );
        let found = world(Path::new("/nowhere"), &path, None);
        assert!(found.shows(&other.join("tools/x")));
        assert!(!found.shows(&other.join("x")) && !found.shows(&other.join("link/x")));
        assert!(!found.shows(Path::new("/var/tmp/x")) && !found.shows(Path::new("/run/x")));
        let left_out = [other.join("link"), PathBuf::from("/tmp")];
        assert_eq!(found.path_left_out, left_out);
        // The command's own folder is there wherever it lies.
        let found = world(Path::new("/nowhere"), &entry("tools"), Some(other.clone()));
        assert!(found.path_left_out.is_empty() && !found.shows(&other.join("tools/x")));
    }

    #[test]
    fn folder_over_links_is_shown_at_both_paths_if_it_is_the_callers() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let home = top.join("home");
        fs::create_dir_all(home.join("share/node/bin")).unwrap();
        fs::create_dir_all(home.join(".ssh/bin")).unwrap();
        fs::create_dir_all(top.join("run/shells")).unwrap();
        fs::create_dir(top.join("own")).unwrap();
        symlink(home.join("share/node"), top.join("run/node")).unwrap();
        symlink("../node", top.join("run/shells/1")).unwrap();
        symlink(home.join(".ssh"), top.join("run/keys")).unwrap();
        symlink(top.join("own"), home.join("outside")).unwrap();
        symlink(top.join("run/node"), home.join("again")).unwrap();
        symlink("loop", top.join("run/loop")).unwrap();
        let entry = |name: &str| top.join(name).display().to_string();
        let found = world(&home, &entry("run/shells/1/bin"), None);
        assert!(found.shows(&top.join("run/shells/1/bin/node")));
        assert!(!found.shows(&top.join("run/node/bin/node")));
        assert_eq!(found.path_left_out, [] as [PathBuf; 0]);
        let found = world(&home, &entry("home/outside"), None);
        assert!(found.shows(&top.join("own/tool")) && found.path_left_out.is_empty());
        // A secret store, and a link in the middle that the command would not have.
        for name in ["run/keys/bin", "home/again/bin"] {
            let found = world(&home, &entry(name), None);
            assert_eq!(found.path_left_out, [top.join(name)]);
            assert!(!found.shows(&home.join(".ssh/bin/x")));
        }
        assert!(links_on_the_way(&top.join("run/loop")).is_none());
    }
}
