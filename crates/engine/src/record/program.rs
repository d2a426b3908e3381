//! Finds the command's program as the user's shell would, and what must be visible in the sandbox
//! for it to run: the roots of virtual environments, version managers and toolchains.
//!
//! Nothing is executed here, and of home folders only the toolchain folders are made visible.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use runseal_sandbox::check_own_place;

use crate::programs::{find_program_in, is_program};

/// What every sandbox shows of the system.
const SYSTEM: [&str; 9] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
];

/// Folders beside a folder of programs that these programs read.
const BESIDE_PROGRAMS: [&str; 8] = [
    "lib", "lib32", "lib64", "libexec", "include", "share", "versions", "plugins",
];

/// The most links that are followed, as in the kernel.
const MOST_LINKS: usize = 40;

/// Why a command cannot be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// No program has this name.
    #[error("there is no program `{0}`: it is not on the PATH")]
    NotOnPath(String),
    /// There is nothing at this place.
    #[error("there is no file `{0}`")]
    Missing(String),
    /// It exists but is not executable.
    #[error("`{0}` is no program: {1}")]
    NotExecutable(String, &'static str),
}

/// A program and what it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Toolchain {
    /// Where it is expected to be started from, which decides what must be visible. The run reports
    /// where it was actually started from.
    pub(crate) program: PathBuf,
    /// Folders and files of the host that are visible at their own paths.
    pub(crate) shown: Vec<PathBuf>,
    /// PATH inside the sandbox: those entries of the user's that exist there.
    pub(crate) path: String,
    /// Variables that a version manager needs to find itself.
    pub(crate) variables: Vec<(String, String)>,
}

impl Toolchain {
    /// What of it can be made visible to a command whose folder is `folder`. The rest is left out,
    /// and the command will complain about what it lacks.
    pub(crate) fn shown_beside(&self, folder: &Path) -> Vec<PathBuf> {
        let mut shown = BTreeSet::new();
        for path in &self.shown {
            let real = path.canonicalize().unwrap_or_else(|_| normalize(path));
            for place in [path.clone(), real] {
                // Mounting a folder that contains the command's own would cover it.
                let holds_folder = folder.starts_with(&place);
                if check_own_place(&place).is_ok() && !holds_folder {
                    shown.insert(place);
                }
            }
        }
        shown.into_iter().collect()
    }
}

/// A folder of the host that the command sees at its own or another path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site<'a> {
    /// Its absolute path on the host.
    pub(crate) host: &'a Path,
    /// The path at which the command sees it.
    pub(crate) inside: &'a Path,
}

impl Site<'_> {
    /// The host's path for a path that the command sees.
    fn to_host(self, path: &Path) -> PathBuf {
        match path.strip_prefix(self.inside) {
            Ok(below) => self.host.join(below),
            Err(_) => path.to_owned(),
        }
    }
}

/// Where to search for programs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Search<'a> {
    /// The value of PATH; without one, only a program with a slash is found.
    pub(crate) path: Option<&'a OsStr>,
    /// A second PATH, searched only if nothing is found on the first.
    pub(crate) fallback: Option<&'a OsStr>,
}

/// Finds `program` as typed in the folder of `site`.
pub(crate) fn find_toolchain(
    program: &str,
    site: Site<'_>,
    search: Search<'_>,
) -> Result<Toolchain, ProgramError> {
    match find_on(program, site, search.path) {
        Err(ProgramError::NotOnPath(_)) if search.fallback.is_some() => {
            let both = [search.path, search.fallback].into_iter().flatten();
            let both: Vec<_> = both.flat_map(std::env::split_paths).collect();
            let both = std::env::join_paths(both).unwrap_or_default();
            find_on(program, site, Some(&both))
        }
        found => found,
    }
}

fn find_on(program: &str, site: Site<'_>, path: Option<&OsStr>) -> Result<Toolchain, ProgramError> {
    let path = path.unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    let entries: Vec<PathBuf> = std::env::split_paths(path)
        .map(|entry| normalize(&site.inside.join(entry)))
        .collect();
    let place = locate(program, site, &entries)?;
    let mut needs = Needs::new(site);
    for entry in &entries {
        needs.add_programs(entry);
    }
    needs.add_program(&place);
    Ok(Toolchain {
        program: place,
        path: needs.visible_path(&entries),
        variables: needs.variables.clone(),
        shown: needs.finish(),
    })
}

fn locate(program: &str, site: Site<'_>, entries: &[PathBuf]) -> Result<PathBuf, ProgramError> {
    let shown = program.escape_debug().to_string();
    if program.contains('/') {
        let place = normalize(&site.inside.join(program));
        return match fs::metadata(site.to_host(&place)) {
            Err(_) => Err(ProgramError::Missing(shown)),
            Ok(metadata) if metadata.is_dir() => {
                Err(ProgramError::NotExecutable(shown, "it is a folder"))
            }
            Ok(metadata) if metadata.permissions().mode() & 0o111 == 0 => Err(
                ProgramError::NotExecutable(shown, "it has no execute permission (chmod +x)"),
            ),
            Ok(_) => Ok(place),
        };
    }
    let accepts = |place: &Path| {
        // A link in a project may lead to a toolchain; the kernel will find out.
        let host = site.to_host(place);
        let is_link = host != *place && fs::symlink_metadata(&host).is_ok_and(|it| it.is_symlink());
        is_link || is_program(&host)
    };
    find_program_in(entries.iter().cloned(), program, accepts).ok_or(ProgramError::NotOnPath(shown))
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

/// Whether `path` is visible in every sandbox.
fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|top| path.starts_with(top))
}

/// What must be visible, while it is being collected.
struct Needs<'a> {
    site: Site<'a>,
    shown: BTreeSet<PathBuf>,
    followed: BTreeSet<PathBuf>,
    variables: Vec<(String, String)>,
}

impl<'a> Needs<'a> {
    fn new(site: Site<'a>) -> Self {
        Self {
            site,
            shown: BTreeSet::new(),
            followed: BTreeSet::new(),
            variables: Vec::new(),
        }
    }

    fn is_there(&self, path: &Path) -> bool {
        is_system(path) || path.starts_with(self.site.inside)
    }

    fn show(&mut self, path: &Path) {
        if !self.is_there(path) && fs::metadata(path).is_ok() {
            self.shown.insert(path.to_owned());
        }
    }

    /// Adds a program, the links that lead to it, and the interpreter in its first line.
    fn add_program(&mut self, program: &Path) {
        let mut place = program.to_owned();
        for _ in 0..MOST_LINKS {
            if !self.followed.insert(place.clone()) {
                return;
            }
            if let Some(folder) = place.parent() {
                self.add_programs(folder);
            }
            match fs::read_link(self.site.to_host(&place)) {
                Ok(target) => {
                    let base = place.parent().unwrap_or(Path::new("/"));
                    place = normalize(&base.join(target));
                }
                Err(_) => break,
            }
        }
        // Only the file itself is visible if its folder is not one of programs.
        self.show(&place);
        if let Some(interpreter) = read_interpreter(&self.site.to_host(&place)) {
            self.add_program(&interpreter);
        }
    }

    /// Adds a folder of programs and what lies beside it.
    fn add_programs(&mut self, folder: &Path) {
        if !self.followed.insert(folder.join(".")) || is_system(folder) {
            return;
        }
        let Some(root) = folder.parent().filter(|root| root.parent().is_some()) else {
            return;
        };
        self.add_virtual_environment(root);
        if self.is_there(folder) || !fs::metadata(folder).is_ok_and(|metadata| metadata.is_dir()) {
            return;
        }
        let name = folder
            .file_name()
            .and_then(OsStr::to_str)
            .unwrap_or_default();
        if !matches!(name, "bin" | "sbin" | "shims") {
            return;
        }
        if root.join("libexec/pyenv").exists() {
            self.show(root);
            return;
        }
        self.show(folder);
        for name in BESIDE_PROGRAMS {
            // Desktops keep private data in ~/.local/share.
            if !(name == "share" && root.file_name() == Some(OsStr::new(".local"))) {
                self.show(&root.join(name));
            }
        }
        if folder.join("rustup").exists()
            && let Some(home) = root.parent()
        {
            let rustup = home.join(".rustup");
            self.show(&rustup);
            if let Some(text) = rustup.to_str().filter(|_| rustup.is_dir()) {
                self.variables
                    .push(("RUSTUP_HOME".to_owned(), text.to_owned()));
            }
        }
    }

    /// Adds a Python virtual environment, and the Python that it was made from.
    fn add_virtual_environment(&mut self, root: &Path) {
        let Ok(text) = fs::read_to_string(self.site.to_host(&root.join("pyvenv.cfg"))) else {
            return;
        };
        self.show(root);
        for line in text.lines() {
            if let Some((name, home)) = line.split_once('=')
                && name.trim() == "home"
            {
                self.add_programs(&normalize(Path::new(home.trim())));
            }
        }
        for name in ["bin/python", "bin/python3"] {
            let python = root.join(name);
            if fs::symlink_metadata(self.site.to_host(&python)).is_ok() {
                self.add_program(&python);
            }
        }
    }

    /// Those entries of the user's PATH that exist inside.
    fn visible_path(&self, entries: &[PathBuf]) -> String {
        let mut seen = BTreeSet::new();
        let visible = entries.iter().filter(|entry| {
            let shown = self.shown.iter().any(|shown| entry.starts_with(shown));
            (shown || self.is_there(entry)) && seen.insert((*entry).clone())
        });
        let names: Vec<&str> = visible.filter_map(|entry| entry.to_str()).collect();
        match names.is_empty() {
            true => "/usr/local/bin:/usr/bin:/bin".to_owned(),
            false => names.join(":"),
        }
    }

    /// Everything that must be visible, without what lies below another entry.
    fn finish(self) -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = Vec::new();
        for path in self.shown {
            if !all.last().is_some_and(|last| path.starts_with(last)) {
                all.push(path);
            }
        }
        all
    }
}

/// The interpreter named in the first line of a script.
fn read_interpreter(script: &Path) -> Option<PathBuf> {
    let mut head = Vec::new();
    let file = fs::File::open(script).ok()?;
    file.take(256).read_to_end(&mut head).ok()?;
    let line = head
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?;
    let name = line
        .trim_ascii()
        .split(|byte| matches!(byte, b' ' | b'\t'))
        .next()?;
    let path = PathBuf::from(OsString::from_vec(name.to_vec()));
    (path.is_absolute() && !name.contains(&0)).then_some(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    use super::*;

    fn program(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn find(name: &str, folder: &Path, path: Option<&OsStr>) -> Result<Toolchain, ProgramError> {
        let site = Site {
            host: folder,
            inside: folder,
        };
        let fallback = None;
        find_toolchain(name, site, Search { path, fallback })
    }

    #[test]
    fn program_is_found_as_the_shell_finds_it() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("project");
        program(&folder.join("run.sh"), "#!/bin/sh\n");
        program(&home.path().join("tools/bin/own"), "x");
        fs::write(folder.join("plain"), "x").unwrap();
        let search = OsString::from(format!(
            "{}:/usr/bin",
            home.path().join("tools/bin").display()
        ));
        let find = |name: &str| find(name, &folder, Some(&search));
        assert_eq!(find("./run.sh").unwrap().program, folder.join("run.sh"));
        let own = find("own").unwrap();
        assert_eq!(own.program, home.path().join("tools/bin/own"));
        assert_eq!(own.shown, [home.path().join("tools/bin")]);
        assert_eq!(own.path.as_bytes(), search.as_bytes());
        assert!(matches!(find("run.sh"), Err(ProgramError::NotOnPath(_))));
        assert!(matches!(find("./none"), Err(ProgramError::Missing(_))));
        assert!(matches!(
            find("./plain"),
            Err(ProgramError::NotExecutable(..))
        ));
        assert!(matches!(
            find("../project"),
            Err(ProgramError::NotExecutable(..))
        ));
    }

    #[test]
    fn program_of_a_folder_that_is_shown_elsewhere_is_found_there() {
        let home = tempfile::tempdir().unwrap();
        let host = home.path().join("unpacked");
        program(&host.join("tools/own"), "x");
        let site = Site {
            host: &host,
            inside: Path::new("/recorded/project"),
        };
        let path = OsString::from("/recorded/project/tools:/nowhere");
        let search = Search {
            path: Some(&path),
            fallback: Some(OsStr::new("/usr/bin:/bin")),
        };
        let found = find_toolchain("own", site, search).unwrap();
        assert_eq!(found.program, Path::new("/recorded/project/tools/own"));
        assert_eq!(found.path, "/recorded/project/tools");
        assert!(found.shown.is_empty());
        // What is not on the recorded PATH is searched on the other one.
        let found = find_toolchain("sh", site, search).unwrap();
        assert!(found.program.ends_with("bin/sh"));
    }

    #[test]
    fn virtual_environment_brings_the_python_it_was_made_from() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("project");
        let python = home.path().join("versions/3.11/bin/python3.11");
        program(&python, "x");
        fs::create_dir_all(home.path().join("versions/3.11/lib")).unwrap();
        let venv = folder.join(".venv");
        fs::create_dir_all(venv.join("bin")).unwrap();
        symlink(&python, venv.join("bin/python")).unwrap();
        let home_line = format!("home = {}\n", python.parent().unwrap().display());
        fs::write(venv.join("pyvenv.cfg"), home_line).unwrap();
        let search = OsString::from(venv.join("bin"));
        let found = find("python", &folder, Some(&search)).unwrap();
        let root = home.path().join("versions/3.11");
        assert_eq!(found.shown, [root.join("bin"), root.join("lib")]);
        // The environment may also be elsewhere, and the program a script in it.
        let other = home.path().join("other");
        let script = venv.join("bin/tool");
        program(
            &script,
            &format!("#!{}\n", venv.join("bin/python").display()),
        );
        let found = find(script.to_str().unwrap(), &other, None).unwrap();
        assert!(found.shown.contains(&venv), "{:?}", found.shown);
        assert!(found.shown.contains(&root.join("lib")));
    }
}
