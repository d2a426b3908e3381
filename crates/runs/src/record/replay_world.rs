//! What a replayed command sees: the bundle's own files at their places and, unless the bundle has everything,
//! the system folders of this machine.
//!
//! Nothing in a bundle names a path of this machine that is opened. Its files are unpacked into a private
//! folder, and that folder's tree is laid over a fixed list of folders that belong to root. The home folder of a
//! replay is the bundle's; the replayer's home, PATH and toolchains do not exist for the command.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use runseal_core::canon::Node;
use runseal_sandbox::{Ordinary, View, ViewAccess, ViewPlace};

use super::everybodys::list_private;
use super::outside::{SYSTEM_FOLDERS, is_in_system_folder};
use super::program::ProgramError;
use crate::model_port::MODEL_VARIABLES;
use crate::world::{DEFAULT_PATH, HIDDEN, World, normalize, split_path};

/// Names at the top that the sandbox has things of its own at, or that are the kernel's.
const NOT_AT_TOP: [&str; 8] = [
    "boot",
    "dev",
    "lost+found",
    "proc",
    "run",
    "sys",
    "tmp",
    "var",
];

/// Folders that the command gets empty, and below which the bundle may have something.
const OWN_FOLDERS: [&str; 2] = ["tmp", "var/tmp"];

/// Where the files of a bundle are that lie outside its command's folder, and what else the command sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayWorld {
    pub(crate) view: View,
    /// Where the files of the bundle are.
    pub(crate) tree: PathBuf,
    /// The machine as the command's shell found it, if it was recorded that way.
    pub(crate) ordinary: Option<Ordinary>,
    /// The whole environment, without parameters, secrets and addresses of this run.
    pub(crate) variables: BTreeMap<String, String>,
}

impl ReplayWorld {
    /// The world of a bundle whose files outside the folder were unpacked at `tree`.
    pub(crate) fn of_bundle(
        environment: Option<Node<'_>>,
        (tree, asked_models): (&Path, bool),
    ) -> Self {
        let is_whole = is_self_contained(environment);
        let variables = environment.and_then(|it| it.get("variables"));
        let variables = variables.into_iter().flat_map(|it| it.members());
        let variables = variables.filter_map(|(name, value)| {
            Some((name.to_lossy().into_owned(), value.as_str()?.into_owned()))
        });
        let mut variables: BTreeMap<String, String> = variables.collect();
        if asked_models {
            // Where models were is not where this run finds them.
            MODEL_VARIABLES.iter().for_each(|name| {
                variables.remove(*name);
            });
        }
        let mut places: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
        for (inside, source) in places_in(tree) {
            places.entry(inside).or_default().push(source);
        }
        let recorded = environment.and_then(|it| it.get("world"));
        let mut has_own_etc = false;
        if !is_whole {
            for folder in SYSTEM_FOLDERS.map(PathBuf::from) {
                places.entry(folder.clone()).or_default().push(folder);
            }
            // What was recorded with an /etc of the sandbox's own finds that again.
            has_own_etc = recorded.is_none();
            // Unless the bundle has something of its own there.
            has_own_etc &= places
                .get(Path::new("/etc"))
                .is_some_and(|it| it.len() == 1);
            if has_own_etc {
                places.remove(Path::new("/etc"));
            }
        }
        let mut hidden = Vec::new();
        if !is_whole {
            hidden.extend(hidden_paths().map(PathBuf::from));
            hidden.extend(list_private(tree));
            // A folder that is not to be seen at all is not a place.
            for (inside, sources) in &mut places {
                sources.retain(|source| source != inside || !hidden.contains(inside));
            }
            hidden.retain(|path| !places.contains_key(path));
        }
        let home = variables.get("HOME").map(PathBuf::from);
        let place = |(inside, sources): (PathBuf, Vec<PathBuf>)| ViewPlace {
            is_own: sources.iter().all(|source| source.starts_with(tree)),
            access: match home.as_ref().is_some_and(|home| home.starts_with(&inside)) {
                true => ViewAccess::Layered,
                false => ViewAccess::ReadOnly,
            },
            inside,
            sources,
        };
        let places = places
            .into_iter()
            .filter(|(_, sources)| !sources.is_empty());
        Self {
            view: View {
                places: places.map(place).collect(),
                hidden,
                has_own_etc,
            },
            tree: tree.to_owned(),
            ordinary: recorded.map(ordinary_of),
            variables,
        }
    }

    /// The same as what a command is given.
    pub(crate) fn to_world(&self) -> World {
        let home = self.variables.get("HOME").map(PathBuf::from);
        World {
            view: self.view.clone(),
            home,
            variables: self.variables.clone(),
            left_out: Vec::new(),
            ordinary: self.ordinary.clone(),
            path_left_out: Vec::new(),
            limits: None,
            also_hidden: Vec::new(),
            devices: Vec::new(),
        }
    }

    /// Looks for the program as the command's shell would: below `folder`, which appears at `appears_at`, in the
    /// bundle, and in this machine's system folders. Where a link of the bundle leads is the sandbox's matter.
    pub(crate) fn check_program(
        &self,
        program: &str,
        folder: &Path,
        appears_at: &Path,
    ) -> Result<(), ProgramError> {
        let shown = || program.escape_debug().to_string();
        let is_there = |place: &Path| {
            let relative = place.strip_prefix("/").unwrap_or(place);
            let own = match place.strip_prefix(appears_at) {
                Ok(below) => folder.join(below),
                Err(_) => self.tree.join(relative),
            };
            let is_shown = || self.view.shows(place) && is_shown_to_replays(place);
            is_inside(&own, &self.tree, folder) || (is_shown() && place.is_file())
        };
        if program.contains('/') {
            let place = normalize(&appears_at.join(program));
            return match is_there(&place) {
                true => Ok(()),
                false => Err(ProgramError::Missing(shown())),
            };
        }
        let path = self
            .variables
            .get("PATH")
            .map_or(DEFAULT_PATH, String::as_str);
        let mut entries = split_path(path, appears_at).into_iter();
        match entries.any(|entry| is_there(&entry.join(program))) {
            true => Ok(()),
            false => Err(ProgramError::NotOnPath(shown())),
        }
    }
}

/// The machine as the recorded command found it, as far as the recording says so and it can be had here: a bundle
/// learns nothing of whoever replays it, and never runs as root.
fn ordinary_of(world: Node<'_>) -> Ordinary {
    let here = Ordinary::of_caller();
    let text = |name: &str| world.get(name)?.as_str();
    let number = |name: &str| {
        let number = world.get(name)?.as_number()?.to_exact_i64()?;
        u32::try_from(number).ok()
    };
    let is_name = |name: &str| {
        let is_plain = |c: char| c.is_ascii_graphic();
        (1..=LONGEST_HOSTNAME).contains(&name.len()) && name.chars().all(is_plain)
    };
    // The last one means nobody to the kernel.
    let id = |name: &str| number(name).filter(|id| (1..u32::MAX).contains(id));
    let umask = text("umask").and_then(|it| u32::from_str_radix(&it, 8).ok());
    Ordinary {
        user: (
            id("user").unwrap_or(here.user.0),
            id("group").unwrap_or(here.user.1),
        ),
        hostname: match text("hostname").filter(|it| is_name(it)) {
            Some(name) => name.into_owned(),
            None => here.hostname,
        },
        umask: umask.filter(|it| *it <= 0o777).unwrap_or(here.umask),
    }
}

/// The longest name that a machine can have.
const LONGEST_HOSTNAME: usize = 64;

/// Whether there is something at `place` below one of two folders. A link on the way counts as something: it leads
/// elsewhere for the command than for us.
fn is_inside(place: &Path, tree: &Path, folder: &Path) -> bool {
    let top = match place.starts_with(tree) {
        true => tree,
        false => folder,
    };
    let mut at = top.to_owned();
    for part in place.strip_prefix(top).unwrap_or(place).components() {
        at.push(part);
        match fs::symlink_metadata(&at) {
            Ok(found) if found.is_symlink() => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
    true
}

/// What of the system folders no command ever sees.
fn hidden_paths() -> impl Iterator<Item = &'static str> {
    let all = HIDDEN.iter().flat_map(|kind| kind.paths.iter().copied());
    all.filter(|path| path.starts_with('/'))
}

/// Whether a bundle says that it has every file that its command read.
pub(crate) fn is_self_contained(environment: Option<Node<'_>>) -> bool {
    let said = environment.and_then(|it| it.get("self_contained")?.as_bool());
    said == Some(true)
}

/// The places that a tree fills: one for each name at its top, and for each below a folder that the command has
/// of its own. A link at the top counts as the folder of the tree that it leads to.
fn places_in(tree: &Path) -> Vec<(PathBuf, PathBuf)> {
    let mut found = Vec::new();
    for name in names_in(tree) {
        let Some(text) = name.to_str().filter(|name| !NOT_AT_TOP.contains(name)) else {
            continue;
        };
        let source = tree.join(text);
        let inside = Path::new("/").join(text);
        match fs::read_link(&source) {
            Err(_) => found.push((inside, source)),
            Ok(target) => {
                let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
                let real = tree.join(&target);
                let is_inside = target.components().all(is_plain) && is_real_folder(tree, &target);
                found.extend(is_inside.then_some((inside, real)));
            }
        }
    }
    for own in OWN_FOLDERS {
        let folder = tree.join(own);
        for name in names_in(&folder) {
            let inside = Path::new("/").join(own).join(&name);
            if fs::symlink_metadata(folder.join(&name)).is_ok_and(|it| !it.is_symlink()) {
                found.push((inside, folder.join(name)));
            }
        }
    }
    let var = tree.join("var");
    for name in names_in(&var).filter(|name| name != OsStr::new("tmp")) {
        if fs::symlink_metadata(var.join(&name)).is_ok_and(|it| !it.is_symlink()) {
            found.push((Path::new("/var").join(&name), var.join(name)));
        }
    }
    found
}

/// Whether `path` is a folder below `tree` to which no link leads.
fn is_real_folder(tree: &Path, path: &Path) -> bool {
    let mut at = tree.to_owned();
    path.components().all(|part| {
        at.push(part);
        fs::symlink_metadata(&at).is_ok_and(|it| it.is_dir())
    })
}

fn names_in(folder: &Path) -> impl Iterator<Item = std::ffi::OsString> + use<> {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|it| it.is_dir());
    let entries = is_folder.then(|| fs::read_dir(folder).ok()).flatten();
    let mut names: Vec<_> = entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    names.sort();
    names.into_iter()
}

/// Whether a replay shows what this machine has at `path`, by the name alone.
pub(crate) fn is_shown_to_replays(path: &Path) -> bool {
    let mut parts = path.components();
    parts.all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
        && is_in_system_folder(path)
        && !hidden_paths().any(|hidden| path.starts_with(hidden))
}

/// Where this machine's file at `path` really is; `None` if a replay may not look at it: it has to lie in a system
/// folder, links followed, to belong to root, and to be everybody's to read.
///
/// # Errors
/// If there is nothing, or it cannot be looked at.
pub(crate) fn find_system_file(path: &Path) -> io::Result<Option<PathBuf>> {
    if !is_shown_to_replays(path) {
        return Ok(None);
    }
    if !has_open_way(path)? {
        return Ok(None);
    }
    let real = path.canonicalize()?;
    let found = fs::symlink_metadata(&real)?;
    let is_for_all = found.uid() == 0 && found.mode() & 0o004 != 0;
    let is_shown = is_for_all && is_shown_to_replays(&real) && has_open_way(&real)?;
    Ok(is_shown.then_some(real))
}

/// Whether everybody may go through all the folders on the way to a path: what lies behind a closed one is told to nobody,
/// not even whether it is there.
fn has_open_way(path: &Path) -> io::Result<bool> {
    let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
    above.reverse();
    for folder in above {
        let found = fs::metadata(folder)?;
        if found.uid() != 0 || found.mode() & 0o005 != 0o005 {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use runseal_core::canon::{ReadOptions, parse_document};

    use super::*;

    fn world(text: &str, tree: &Path) -> ReplayWorld {
        let document = parse_document(text.as_bytes(), &ReadOptions::default()).unwrap();
        ReplayWorld::of_bundle(Some(document.root()), (tree, false))
    }

    #[test]
    fn replay_shows_the_bundles_tree_over_system_folders_and_no_home_of_the_replayer() {
        let top = tempfile::tempdir().unwrap();
        let tree = top.path().join("tree");
        for folder in [
            "home/me/p",
            "usr/local/bin",
            "proc/1",
            "tmp/in",
            "var/tmp/x",
            "var/lib/x",
        ] {
            fs::create_dir_all(tree.join(folder)).unwrap();
        }
        symlink("/root", tree.join("root")).unwrap();
        symlink("usr/local/bin", tree.join("tools")).unwrap();
        symlink("home/me/../../..", tree.join("up")).unwrap();
        let found = world(r#"{"variables":{"HOME":"/home/me"},"world":{}}"#, &tree);
        let place = |inside: &str| {
            let mut places = found.view.places.iter();
            places.find(|place| place.inside == Path::new(inside))
        };
        let home = place("/home").unwrap();
        assert_eq!(home.sources, [tree.join("home")]);
        assert_eq!(home.access, ViewAccess::Layered);
        assert_eq!(
            place("/usr").unwrap().sources,
            [tree.join("usr"), PathBuf::from("/usr")]
        );
        assert_eq!(
            place("/tools").unwrap().sources,
            [tree.join("usr/local/bin")]
        );
        for inside in ["/tmp/in", "/var/tmp/x", "/var/lib"] {
            assert!(place(inside).is_some(), "{inside}");
        }
        for inside in ["/root", "/up", "/proc", "/tmp", "/var", "/var/tmp", "/opt"] {
            assert_eq!(place(inside), None, "{inside}");
        }
        let outside = found.view.places.iter().flat_map(|place| &place.sources);
        let mut outside = outside.filter(|source| !source.starts_with(&tree));
        assert!(outside.all(|source| SYSTEM_FOLDERS.iter().any(|it| source == Path::new(it))));
        // A bundle with everything sees nothing of this machine.
        let found = world(r#"{"variables":{},"self_contained":true}"#, &tree);
        let mut sources = found.view.places.iter().flat_map(|place| &place.sources);
        assert!(sources.all(|source| source.starts_with(&tree)));
        assert!(!found.view.has_own_etc);
    }

    #[test]
    fn machine_is_the_recordings_as_far_as_it_can_be_had() {
        let top = tempfile::tempdir().unwrap();
        let found = |world_of: &str| {
            let text = format!(r#"{{"variables":{{}},"world":{world_of}}}"#);
            world(&text, top.path()).ordinary.unwrap()
        };
        let then = r#"{"hostname":"lab-7","user":1234,"group":77,"umask":"077"}"#;
        let expected = Ordinary {
            user: (1234, 77),
            hostname: "lab-7".to_owned(),
            umask: 0o077,
        };
        assert_eq!(found(then), expected);
        let here = Ordinary::of_caller();
        let long = format!(r#"{{"hostname":"{}"}}"#, "x".repeat(65));
        for hostile in [
            "{}",
            long.as_str(),
            r#"{"hostname":"","user":0,"group":0,"umask":"7777"}"#,
            r#"{"hostname":"a\u0000b","user":-1,"group":4294967295,"umask":"x"}"#,
            r#"{"hostname":5,"user":"1","group":1.5,"umask":77}"#,
        ] {
            assert_eq!(found(hostile), here, "{hostile}");
        }
        assert_eq!(world("{}", top.path()).ordinary, None);
    }

    #[test]
    fn file_of_the_system_is_looked_at_only_if_it_is_everybodys() {
        let found = |path: &str| find_system_file(Path::new(path)).ok().flatten();
        assert!(found("/usr/bin/env").is_some());
        for path in [
            "/etc/shadow",
            "/etc/gshadow",
            "/usr/../etc/passwd",
            "/dev/zero",
            "/proc/version",
        ] {
            assert_eq!(found(path), None, "{path}");
        }
    }
}
