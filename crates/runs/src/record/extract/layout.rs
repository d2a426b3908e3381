//! Where what a run read and left is put in the folder that `extract` makes, and where its links lead there.
//!
//! A link in a bundle is a stranger's: followed by whoever archives or uploads the new folder, it could take any of
//! their files along. So one that was absolute, or led out of the command's folder, leads to the same place below the
//! new folder, and one that has no such place is not made.

use std::path::{Component, Path};

use runseal_core::formats::run_bundle::layout::{
    ARTIFACTS_FOLDER, ENGINE_FOLDER, ENVIRONMENT_FOLDER, INPUTS_FOLDER, LOGS_FOLDER, RUN_OUTPUT,
    STDIN, UPSTREAM_FOLDER,
};
use runseal_core::path::SafePath;

use super::Wanted;
use crate::world::normalize;

/// The longest target of a link that Linux makes, with the byte that ends it.
const LONGEST_TARGET: usize = 4096;

/// Which files a path is one of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tree {
    /// Those of the command's folder that it read.
    Folder,
    /// Those that it left there.
    Left,
    /// Those from elsewhere, by absolute path.
    Elsewhere,
}

/// What goes where.
pub(super) struct Layout {
    pub(super) wanted: Wanted,
    pub(super) is_engine: bool,
    /// The folder of the command, if the bundle names it.
    pub(super) folder: Option<String>,
}

impl Layout {
    /// Whether anything of the tree is wanted.
    pub(super) fn has(&self, tree: Tree) -> bool {
        self.top(tree).is_some()
    }

    /// The folder that the tree is in; the empty path is the new folder itself.
    fn top(&self, tree: Tree) -> Option<&'static str> {
        match (self.wanted, tree) {
            (Wanted::Inputs, Tree::Folder) | (Wanted::Outputs, Tree::Left) => Some(""),
            (Wanted::All, Tree::Folder) => Some(ENGINE_FOLDER),
            (Wanted::All, Tree::Left) => Some(ARTIFACTS_FOLDER),
            (Wanted::Inputs | Wanted::All, Tree::Elsewhere) => Some(ENVIRONMENT_FOLDER),
            (Wanted::Inputs, Tree::Left) | (Wanted::Outputs, _) => None,
        }
    }

    /// Where the file or link of a tree at `path` is put; `None` if it is not wanted or no such path is safe.
    pub(super) fn place(&self, tree: Tree, path: &str) -> Option<String> {
        let below = match (tree, path.strip_prefix('/')) {
            (Tree::Elsewhere, Some(below)) => below,
            (Tree::Folder | Tree::Left, None) => path,
            _ => return None,
        };
        let below = SafePath::parse(below).ok()?;
        Some(match self.top(tree)? {
            "" => below.to_string(),
            top => format!("{top}/{below}"),
        })
    }

    /// Where what belongs at `place` of a bundle is put; `None` if it is not wanted.
    pub(super) fn place_of_stored<'p>(&self, place: &'p str) -> Option<&'p str> {
        let (folder, rest) = place.split_once('/').unwrap_or((place, ""));
        let is_input = matches!(
            folder,
            ENGINE_FOLDER | INPUTS_FOLDER | UPSTREAM_FOLDER | ENVIRONMENT_FOLDER | STDIN
        );
        let is_result = folder == ARTIFACTS_FOLDER || self.is_engine && place == RUN_OUTPUT;
        match self.wanted {
            Wanted::Outputs if folder == ARTIFACTS_FOLDER => Some(rest),
            Wanted::Outputs => is_result.then_some(place),
            Wanted::Inputs if folder == ENGINE_FOLDER => Some(rest),
            Wanted::Inputs => is_input.then_some(place),
            Wanted::All => (is_input || is_result || folder == LOGS_FOLDER).then_some(place),
        }
    }

    /// What the link of a tree at `path` holds in the new folder; `None` if it would lead out of it.
    pub(super) fn target(&self, tree: Tree, path: &str, target: &str) -> Option<String> {
        let is_possible =
            !target.is_empty() && target.len() < LONGEST_TARGET && !target.contains('\0');
        if !is_possible {
            return None;
        }
        let depth = path.trim_start_matches('/').matches('/').count();
        if stays_within(Path::new(target), depth) {
            return Some(target.to_owned());
        }
        let folder = self.folder.as_deref().map(Path::new);
        let link = match tree {
            Tree::Elsewhere => Path::new(path).to_owned(),
            Tree::Folder | Tree::Left => folder?.join(path),
        };
        let leads_to = normalize(&link.parent()?.join(target));
        let own = match tree {
            Tree::Elsewhere => Tree::Folder,
            own => own,
        };
        let to = match folder.and_then(|folder| leads_to.strip_prefix(folder).ok()) {
            Some(below) if below.as_os_str().is_empty() => self.top(own)?.to_owned(),
            Some(below) => self.place(own, below.to_str()?)?,
            None => self.place(Tree::Elsewhere, leads_to.to_str()?)?,
        };
        let way = way_between(&self.place(tree, path)?, &to);
        (way.len() < LONGEST_TARGET).then_some(way)
    }
}

/// Whether a relative target stays in a folder that the link lies `depth` folders below: it goes up first and then only
/// down, so that no other link on its way can take it up again.
fn stays_within(target: &Path, depth: usize) -> bool {
    let (mut up, mut is_down) = (0, false);
    for part in target.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if is_down => return false,
            Component::ParentDir => up += 1,
            Component::Normal(_) => is_down = true,
            Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    up <= depth
}

/// The relative way from a link to another place in the same folder.
fn way_between(link: &str, to: &str) -> String {
    let above = link.rsplit_once('/').map_or("", |(above, _)| above);
    let parts = |path: &'_ str| -> Vec<String> {
        let parts = path.split('/').filter(|part| !part.is_empty());
        parts.map(str::to_owned).collect()
    };
    let (from, to) = (parts(above), parts(to));
    let same = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..", from.len() - same);
    let way: Vec<&str> = up.chain(to[same..].iter().map(String::as_str)).collect();
    match way.is_empty() {
        true => ".".to_owned(),
        false => way.join("/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(wanted: Wanted) -> Layout {
        Layout {
            wanted,
            is_engine: false,
            folder: Some("/home/u/p".to_owned()),
        }
    }

    #[test]
    fn no_link_leads_out_of_the_new_folder() {
        let inputs = layout(Wanted::Inputs);
        for (tree, path, target, expected) in [
            (
                Tree::Elsewhere,
                "/opt/v/bin/python",
                "python3",
                Some("python3"),
            ),
            (Tree::Elsewhere, "/opt/v/lib64", "./lib", Some("./lib")),
            (
                Tree::Elsewhere,
                "/opt/v/bin/python3",
                "/usr/bin/python3",
                Some("../../../usr/bin/python3"),
            ),
            (
                Tree::Elsewhere,
                "/opt/v/x",
                "../../../../../etc/passwd",
                Some("../../etc/passwd"),
            ),
            // Another link on the way could lead further up.
            (Tree::Elsewhere, "/opt/v/x", "a/../../../y", Some("../../y")),
            (
                Tree::Elsewhere,
                "/opt/v/x",
                "/home/u/p/in/a",
                Some("../../../in/a"),
            ),
            (Tree::Folder, "d/x", "../in/a", Some("../in/a")),
            (
                Tree::Folder,
                "d/x",
                "../../shared/a",
                Some("../environment/home/u/shared/a"),
            ),
            (Tree::Folder, "x", "/home/u/p", Some(".")),
            (Tree::Folder, "x", "", None),
            (Tree::Folder, "x", "/", None),
        ] {
            let found = inputs.target(tree, path, target);
            assert_eq!(found.as_deref(), expected, "{path} {target}");
        }
        let outputs = layout(Wanted::Outputs);
        assert_eq!(outputs.target(Tree::Left, "a", "/etc/passwd"), None);
        let own = outputs.target(Tree::Left, "d/a", "/home/u/p/b");
        assert_eq!(own.as_deref(), Some("../b"));
        let all = layout(Wanted::All);
        let own = all.target(Tree::Left, "a", "../../../../x");
        assert_eq!(own.as_deref(), Some("../environment/x"));
    }

    #[test]
    fn path_of_another_form_has_no_place() {
        let all = layout(Wanted::All);
        assert_eq!(
            all.place(Tree::Elsewhere, "/opt/x").as_deref(),
            Some("environment/opt/x")
        );
        for (tree, path) in [
            (Tree::Elsewhere, "opt/x"),
            (Tree::Elsewhere, "/../x"),
            (Tree::Folder, "/x"),
            (Tree::Left, "../x"),
        ] {
            assert_eq!(all.place(tree, path), None, "{path}");
        }
    }
}
