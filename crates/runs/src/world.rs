//! Which files of the host a command sees besides its own folder and its inputs.
//!
//! Only the caller decides: the folders of the caller's PATH are shown, read-only, at their own paths, and if one
//! of them lies below the caller's home, so is a fixed list of toolchain folders there. Nothing that a command's folder or a bundle
//! contains causes anything to be shown: no link, no `#!` line, no pyvenv.cfg, no recorded PATH. A home
//! folder, or anything above one, is never shown.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use runseal_sandbox::{check_own_place, is_system_place};

/// PATH if the caller has none.
pub(crate) const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Folders below a home in which version managers and installers put interpreters, compilers and
/// their libraries. None of them is a place for secrets.
const TOOLCHAINS: [&str; 27] = [
    ".asdf/installs",
    ".asdf/shims",
    ".cargo/bin",
    ".ghcup/bin",
    ".ghcup/ghc",
    ".juliaup",
    ".julia/juliaup",
    ".local/pipx/venvs",
    ".local/share/mise/installs",
    ".local/share/mise/shims",
    ".local/share/pipx/venvs",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".nix-profile",
    ".nodenv",
    ".nvm/versions",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sdkman/candidates",
    ".volta/bin",
    ".volta/tools",
    "anaconda3",
    "mambaforge",
    "micromamba",
    "miniconda3",
    "miniforge3",
];

/// Folders below a home that hold keys, which not even a PATH makes visible.
const KEPT_BACK: [&str; 6] = [
    ".aws",
    ".config/gcloud",
    ".gnupg",
    ".kube",
    ".password-store",
    ".ssh",
];

/// Folders below a home in which desktops keep private data beside toolchains: some of what is in them may be shown,
/// they themselves are not.
const KEPT_WHOLE: [&str; 1] = [".local/share"];

/// What lies beside a folder of programs and is read by them.
const BESIDE_PROGRAMS: [&str; 9] = [
    "include",
    "lib",
    "lib32",
    "lib64",
    "libexec",
    "plugins",
    "pyvenv.cfg",
    "share",
    "versions",
];

/// The files of the host that a command sees besides its own folder and its inputs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct World {
    shown: BTreeSet<PathBuf>,
    /// Variables that a version manager needs to find itself.
    pub variables: Vec<(String, String)>,
    homes: Vec<PathBuf>,
    /// What is never shown, each also without links.
    kept_back: Vec<PathBuf>,
    /// What is not shown as a whole, each also without links.
    kept_whole: Vec<PathBuf>,
}

impl World {
    fn with_homes(homes: Vec<PathBuf>) -> Self {
        let below = |names: &[&str]| {
            let places = homes
                .iter()
                .flat_map(|home| names.iter().map(|it| home.join(it)));
            with_real_paths(places.collect::<Vec<_>>())
        };
        Self {
            kept_back: below(&KEPT_BACK),
            kept_whole: below(&KEPT_WHOLE),
            homes,
            ..Self::default()
        }
    }

    /// The system's folders and nothing else.
    pub(crate) fn of_system() -> Self {
        Self::default()
    }

    /// What the caller's PATH and home bring, for a command whose folder appears at `folder`.
    pub(crate) fn of_caller(path: Option<&OsStr>, folder: &Path) -> Self {
        let own = own_homes();
        let mut homes = own.clone();
        homes.extend(homes_of_others());
        let mut world = Self::with_homes(homes);
        // A relative entry means the folder that the command works in, which a bundle may have named.
        let path = path.unwrap_or(OsStr::new(DEFAULT_PATH));
        let entries = std::env::split_paths(path).filter(|entry| entry.is_absolute());
        let mut entries: Vec<PathBuf> = entries.map(|entry| normalize(&entry)).collect();
        entries.retain(|entry| !entry.starts_with(folder));
        // Whoever has nothing of their home on the PATH works with the system's programs.
        let is_used = |home: &&PathBuf| entries.iter().any(|entry| entry.starts_with(home));
        for home in own.iter().filter(is_used) {
            for name in TOOLCHAINS {
                world.show(&home.join(name));
            }
        }
        for entry in &entries {
            world.show_programs(entry);
        }
        world
    }

    /// Whether a command in this world sees what is at `path`, as it is written. One with `..` in it may
    /// lead anywhere, so it counts as not shown.
    pub(crate) fn shows(&self, path: &Path) -> bool {
        let mut parts = path.components();
        parts.all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
            && (is_system_place(path) || self.shown.iter().any(|shown| path.starts_with(shown)))
    }

    /// Also shows a program that the caller typed or that was found on the caller's PATH, as if its folder were
    /// on the PATH.
    pub(crate) fn show_program(&mut self, program: &Path) {
        let is_program = |metadata: fs::Metadata| {
            metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
        };
        if self.shows(program) || !fs::metadata(program).is_ok_and(is_program) {
            return;
        }
        match program.parent().filter(|folder| is_called_so(folder)) {
            Some(folder) => self.show_programs(folder),
            None => self.show(program),
        }
        // A folder that is not shown may still hold it.
        if !self.shows(program) {
            self.show(program);
        }
    }

    /// Also shows the very file that such a program is a link to, and nothing beside it.
    pub(crate) fn show_link_target(&mut self, program: &Path) {
        if let Ok(real) = program.canonicalize()
            && !self.shows(&real)
        {
            self.show(&real);
        }
    }

    /// Shows the toolchain of the caller's that a program outside the command's folder really belongs to: the Python
    /// of a virtual environment, say.
    pub(crate) fn show_toolchain_of(&mut self, program: &Path) {
        if let Ok(real) = program.canonicalize() {
            self.show_toolchains_with(&real);
        }
    }

    fn show_toolchains_with(&mut self, program: &Path) {
        for home in own_homes() {
            let toolchains = TOOLCHAINS.iter().map(|name| home.join(name));
            for toolchain in toolchains.filter(|toolchain| program.starts_with(toolchain)) {
                self.show(&toolchain);
            }
        }
    }

    /// What is shown to a command whose folder appears at `folder`.
    pub fn shown_beside(&self, folder: &Path) -> Vec<PathBuf> {
        let mut places = BTreeSet::new();
        for path in &self.shown {
            let Ok(real) = path.canonicalize() else {
                continue;
            };
            for place in [path.clone(), real] {
                // Mounting a folder that contains the command's own would cover it.
                if check_own_place(&place).is_ok() && !folder.starts_with(&place) {
                    places.insert(place);
                }
            }
        }
        let mut outermost: Vec<PathBuf> = Vec::new();
        for place in places {
            if !outermost.last().is_some_and(|last| place.starts_with(last)) {
                outermost.push(place);
            }
        }
        outermost
    }

    /// Those folders of a PATH that a command sees whose folder appears at `folder`.
    pub(crate) fn visible_path(&self, entries: &[PathBuf], folder: &Path) -> String {
        let mut seen = BTreeSet::new();
        let visible = entries
            .iter()
            .filter(|entry| entry.starts_with(folder) || self.shows(entry))
            .filter(|entry| seen.insert(entry.as_path()));
        let names: Vec<&str> = visible.filter_map(|entry| entry.to_str()).collect();
        match names.is_empty() {
            true => DEFAULT_PATH.to_owned(),
            false => names.join(":"),
        }
    }

    /// Shows a folder of programs and, if it is called like one, what lies beside it.
    fn show_programs(&mut self, folder: &Path) {
        if !folder.is_dir() || !self.is_callers(folder) {
            return;
        }
        self.show(folder);
        let Some(root) = folder.parent().filter(|_| is_called_so(folder)) else {
            return;
        };
        let (Ok(real_root), false) = (root.canonicalize(), self.is_home_or_above(root)) else {
            return;
        };
        for name in BESIDE_PROGRAMS {
            let place = root.join(name);
            let real = place.canonicalize();
            if real.is_ok_and(|real| real.starts_with(&real_root)) {
                self.show(&place);
            }
        }
        // A virtual environment is nothing without the Python that it was made from.
        if let Ok(python) = folder.join("python3").canonicalize()
            && root.join("pyvenv.cfg").is_file()
        {
            self.show_toolchains_with(&python);
        }
        if folder.join("rustup").is_file()
            && let Some(rustup) = root.parent().map(|home| home.join(".rustup"))
            && let Some(text) = rustup.to_str().filter(|_| self.shown.contains(&rustup))
        {
            self.variables
                .push(("RUSTUP_HOME".to_owned(), text.to_owned()));
        }
    }

    /// Whether it was the caller who chose what a folder of the PATH leads to. A link on the way to it may be a
    /// stranger's, who had the caller clone or unpack something: it counts only if it stays in the folder that holds it,
    /// or leads into the system or a toolchain. Links that a home itself holds, and those above homes, are the caller's
    /// and the system's own.
    fn is_callers(&self, folder: &Path) -> bool {
        let home = self.homes.iter().filter(|home| folder.starts_with(home));
        let home = home.max_by_key(|home| home.as_os_str().len());
        let is_own = |holder: &Path| match home {
            Some(home) => home.starts_with(holder),
            None => folder.parent() != Some(holder),
        };
        let steps = folder.ancestors().zip(folder.ancestors().skip(1));
        let mut steps = steps.take_while(|(_, holder)| !is_own(holder));
        let stays = |(place, holder): (&Path, &Path)| {
            let real = place.canonicalize().ok().zip(holder.canonicalize().ok());
            real.is_some_and(|(place, holder)| place.starts_with(holder))
        };
        steps.all(stays) || folder.canonicalize().is_ok_and(|it| self.is_toolchain(&it))
    }

    /// Whether a path without links lies in the system or in a toolchain.
    fn is_toolchain(&self, real: &Path) -> bool {
        let holds = |home: &PathBuf| {
            let mut toolchains = TOOLCHAINS.iter().map(|name| home.join(name));
            toolchains.any(|it| real.starts_with(&it) || is_below(real, it.canonicalize()))
        };
        is_system_place(real) || self.homes.iter().any(holds)
    }

    fn show(&mut self, path: &Path) {
        let Ok(real) = path.canonicalize() else {
            return;
        };
        let is_there = is_system_place(path) && is_system_place(&real);
        if !is_there && [path, &real].into_iter().all(|it| self.may_show(it)) {
            self.shown.insert(path.to_owned());
        }
    }

    fn may_show(&self, path: &Path) -> bool {
        let mut back = self.kept_back.iter();
        let mut holding = self.kept_back.iter().chain(&self.kept_whole);
        !self.is_home_or_above(path)
            && !back.any(|kept| path.starts_with(kept))
            && !holding.any(|kept| kept.starts_with(path))
    }

    fn is_home_or_above(&self, path: &Path) -> bool {
        let real = path.canonicalize();
        let is_above = |path: &Path| self.homes.iter().any(|home| home.starts_with(path));
        is_above(path) || real.is_ok_and(|real| is_above(&real))
    }
}

fn is_below(path: &Path, folder: std::io::Result<PathBuf>) -> bool {
    folder.is_ok_and(|folder| path.starts_with(folder))
}

/// Whether a folder is called like one of programs, so that what lies beside it belongs to them.
fn is_called_so(folder: &Path) -> bool {
    matches!(
        folder.file_name().and_then(OsStr::to_str),
        Some("bin" | "sbin" | "shims")
    )
}

/// The folders of a PATH, those that are relative below `folder`.
pub(crate) fn split_path(path: Option<&OsStr>, folder: &Path) -> Vec<PathBuf> {
    let path = path.unwrap_or(OsStr::new(DEFAULT_PATH));
    std::env::split_paths(path)
        .map(|entry| normalize(&folder.join(entry)))
        .collect()
}

/// The path without `.` and `..`, purely textually: links are not resolved.
pub(crate) fn normalize(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// The caller's home as the environment and the system's list of users name it.
fn own_homes() -> Vec<PathBuf> {
    let own = rustix::process::getuid().as_raw();
    let listed = listed_homes(|uid| uid == own);
    let named = std::env::var_os("HOME").map(PathBuf::from);
    with_real_paths(named.into_iter().chain(listed))
}

/// The homes of root and of all people with an account here.
fn homes_of_others() -> Vec<PathBuf> {
    with_real_paths(listed_homes(|uid| uid == 0 || uid >= 1000))
}

fn listed_homes(is_wanted: impl Fn(u32) -> bool) -> Vec<PathBuf> {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let home_of = |line: &str| {
        let mut fields = line.split(':');
        let uid = fields.nth(2)?.parse().ok()?;
        let home = fields.nth(2)?;
        is_wanted(uid).then(|| PathBuf::from(home))
    };
    users.lines().filter_map(home_of).collect()
}

/// Homes below which people keep things, each also without links.
fn with_real_paths(homes: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    let homes = homes.into_iter();
    let homes = homes.filter(|home| home.is_absolute() && home.parent().is_some());
    let mut all = BTreeSet::new();
    for home in homes.filter(|home| !is_system_place(home)) {
        all.extend(home.canonicalize());
        all.insert(normalize(&home));
    }
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn world(homes: &[&Path], path: &[&Path]) -> World {
        let homes = homes.iter().map(|home| (*home).to_owned());
        let mut world = World::with_homes(homes.collect());
        for entry in path {
            world.show_programs(entry);
        }
        world
    }

    fn folders(root: &Path, names: &[&str]) {
        for name in names {
            fs::create_dir_all(root.join(name)).unwrap();
        }
    }

    #[test]
    fn path_folder_brings_what_lies_beside_it_and_nothing_else() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        folders(
            &home,
            &[
                "tools/bin",
                "tools/lib",
                "tools/private",
                "plain/x",
                "secret",
            ],
        );
        symlink(home.join("secret"), home.join("tools/share")).unwrap();
        let found = world(&[&home], &[&home.join("tools/bin"), &home.join("plain")]);
        let shown: Vec<&PathBuf> = found.shown.iter().collect();
        let expected = ["plain", "tools/bin", "tools/lib"].map(|name| home.join(name));
        assert_eq!(shown, expected.iter().collect::<Vec<_>>());
        assert!(found.shows(&home.join("plain/x")));
        assert!(!found.shows(&home.join("plain/../secret")));
        assert!(found.shows(Path::new("/usr/bin/env")));
        assert!(!found.shows(Path::new("/etc/shadow")));
    }

    #[test]
    fn link_on_the_way_to_a_path_folder_shows_what_it_leads_to_only_if_that_is_the_callers_choice()
    {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        folders(
            &home,
            &[
                ".config/gh",
                ".config/bin",
                ".pyenv/versions/3/bin",
                "repo/v2/bin",
                "data/bin",
                "clone",
            ],
        );
        let link = |target: &str, name: &str| symlink(home.join(target), home.join(name)).unwrap();
        for (name, target, entry, is_shown) in [
            ("repo/bin", ".config/gh", "repo/bin", false),
            ("clone/tools", ".config", "clone/tools/bin", false),
            ("repo/v1", "repo/v2", "repo/v1/bin", true),
            ("repo/sbin", ".pyenv/versions/3/bin", "repo/sbin", true),
            ("mine", "data", "mine/bin", true),
        ] {
            link(target, name);
            let found = world(&[&home], &[&home.join(entry)]);
            assert_eq!(
                found.shows(&home.join(entry)),
                is_shown,
                "{entry}: {found:?}"
            );
        }
    }

    #[test]
    fn file_that_pyenv_has_does_not_show_the_folder_that_holds_it() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        folders(&home, &["repo/bin", "repo/libexec", "repo/private"]);
        fs::write(home.join("repo/libexec/pyenv"), "x").unwrap();
        let found = world(&[&home], &[&home.join("repo/bin")]);
        assert!(found.shows(&home.join("repo/libexec/pyenv")));
        assert!(!found.shows(&home.join("repo/private")), "{found:?}");
    }

    #[test]
    fn private_data_of_desktops_is_not_shown_under_any_name() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let home = top.join("me");
        folders(&top, &["me", "disk/bin", "disk/share/keyrings"]);
        folders(&top, &["disk/lib", "disk/share/tool/bin"]);
        symlink(top.join("disk"), home.join(".local")).unwrap();
        symlink(".local", home.join("local")).unwrap();
        for entry in [
            "me/.local/bin",
            "me/local/bin",
            "disk/bin",
            "me/.local",
            "disk",
        ] {
            let found = world(&[&home], &[&top.join(entry)]);
            for place in ["me/.local/share", "me/local/share", "disk/share"] {
                assert!(!found.shows(&top.join(place)), "{entry}: {found:?}");
            }
        }
        // What the caller has on the PATH itself is shown there too.
        let entry = home.join(".local/share/tool/bin");
        assert!(world(&[&home], &[&entry]).shows(&entry));
    }

    #[test]
    fn home_and_what_holds_keys_is_never_shown() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let home = top.join("me");
        folders(&home, &["bin", "lib", ".ssh/bin", ".config/gcloud"]);
        symlink(&home, top.join("link")).unwrap();
        for entry in [
            "",
            ".",
            "me",
            "link",
            "me/.ssh",
            "me/.ssh/bin",
            "me/.config",
        ] {
            let found = world(&[&home], &[&normalize(&top.join(entry))]);
            assert!(found.shown.is_empty(), "{entry}: {found:?}");
        }
        // A folder of programs right below it brings nothing else of it.
        let found = world(&[&home], &[&home.join("bin")]);
        assert_eq!(
            found.shown.into_iter().collect::<Vec<_>>(),
            [home.join("bin")]
        );
    }
}
