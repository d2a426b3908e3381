//! Finds the command's program the way the user's shell does, and what has to be shown inside so
//! that it runs there: the roots of virtual environments, version managers and toolchains.
//!
//! Nothing is executed here, and of home folders only the toolchain folders are shown.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// What every sandbox shows of the system.
const SYSTEM: [&str; 9] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store",
];

/// Beside a folder of programs, what these programs read.
const BESIDE_PROGRAMS: [&str; 8] = [
    "lib", "lib32", "lib64", "libexec", "include", "share", "versions", "plugins",
];

/// Links that are followed at the most, as the kernel does it.
const MOST_LINKS: usize = 40;

/// Why a command cannot be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// Nothing has this name.
    #[error("there is no program `{0}`: it is not on the PATH")]
    NotOnPath(String),
    /// Nothing is at this place.
    #[error("there is no file `{0}`")]
    Missing(String),
    /// It is there and is no program.
    #[error("`{0}` is no program: {1}")]
    NotExecutable(String, &'static str),
}

/// A program and what it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Toolchain {
    /// The place under which it is started.
    pub(crate) program: PathBuf,
    /// Folders and files of the host that are shown at their own places.
    pub(crate) shown: Vec<PathBuf>,
    /// PATH inside: what of the user's is there.
    pub(crate) path: String,
    /// Variables that a version manager needs to find itself.
    pub(crate) variables: Vec<(String, String)>,
}

/// Finds `program` as it is typed in `folder` with the variable PATH of the host.
pub(crate) fn find_toolchain(
    program: &str,
    folder: &Path,
    search: Option<&OsStr>,
) -> Result<Toolchain, ProgramError> {
    let search = search.map_or_else(|| OsString::from("/usr/local/bin:/usr/bin:/bin"), OsString::from);
    let entries: Vec<PathBuf> = std::env::split_paths(&search)
        .map(|entry| normalize(&folder.join(entry)))
        .collect();
    let place = locate(program, folder, &entries)?;
    let mut needs = Needs::new(folder);
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

fn locate(program: &str, folder: &Path, entries: &[PathBuf]) -> Result<PathBuf, ProgramError> {
    let shown = program.escape_debug().to_string();
    if program.contains('/') {
        let place = normalize(&folder.join(program));
        return match fs::metadata(&place) {
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
    let found = entries.iter().map(|entry| entry.join(program)).find(|place| {
        fs::metadata(place).is_ok_and(|metadata| {
            metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
        })
    });
    found.ok_or(ProgramError::NotOnPath(shown))
}

/// The path without `.` and `..`, as it is written: links stay.
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

/// Whether the sandbox shows `path` anyway.
fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|top| path.starts_with(top))
}

/// What is collected on the way.
struct Needs<'a> {
    folder: &'a Path,
    shown: BTreeSet<PathBuf>,
    followed: BTreeSet<PathBuf>,
    variables: Vec<(String, String)>,
}

impl<'a> Needs<'a> {
    fn new(folder: &'a Path) -> Self {
        Self {
            folder,
            shown: BTreeSet::new(),
            followed: BTreeSet::new(),
            variables: Vec::new(),
        }
    }

    fn is_there(&self, path: &Path) -> bool {
        is_system(path) || path.starts_with(self.folder)
    }

    fn show(&mut self, path: &Path) {
        if !self.is_there(path) && fs::metadata(path).is_ok() {
            self.shown.insert(path.to_owned());
        }
    }

    /// A program, the links that lead to it, and the interpreter that its first line names.
    fn add_program(&mut self, program: &Path) {
        let mut place = program.to_owned();
        for _ in 0..MOST_LINKS {
            if !self.followed.insert(place.clone()) {
                return;
            }
            if let Some(folder) = place.parent() {
                self.add_programs(folder);
            }
            match fs::read_link(&place) {
                Ok(target) => {
                    let base = place.parent().unwrap_or(Path::new("/"));
                    place = normalize(&base.join(target));
                }
                Err(_) => break,
            }
        }
        // The file alone is shown where its folder is not one of programs.
        self.show(&place);
        if let Some(interpreter) = read_interpreter(&place) {
            self.add_program(&interpreter);
        }
    }

    /// A folder of programs and what lies beside it.
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
        let name = folder.file_name().and_then(OsStr::to_str).unwrap_or_default();
        if !matches!(name, "bin" | "sbin" | "shims") {
            return;
        }
        if root.join("libexec/pyenv").exists() {
            self.show(root);
            return;
        }
        self.show(folder);
        for name in BESIDE_PROGRAMS {
            // ~/.local/share is where desktops keep what is private.
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
                self.variables.push(("RUSTUP_HOME".to_owned(), text.to_owned()));
            }
        }
    }

    /// A Python virtual environment, and the Python that it was made from.
    fn add_virtual_environment(&mut self, root: &Path) {
        let Ok(text) = fs::read_to_string(root.join("pyvenv.cfg")) else {
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
            if fs::symlink_metadata(&python).is_ok() {
                self.add_program(&python);
            }
        }
    }

    /// What of the user's PATH is there inside.
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

    /// Everything that is shown, without what lies below something shown.
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

/// The interpreter that the first line of a script names.
fn read_interpreter(script: &Path) -> Option<PathBuf> {
    let mut head = Vec::new();
    let file = fs::File::open(script).ok()?;
    file.take(256).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let name = line.trim_ascii().split(|byte| matches!(byte, b' ' | b'\t')).next()?;
    let path = PathBuf::from(OsString::from_vec(name.to_vec()));
    (path.is_absolute() && !name.is_empty() && name.as_bytes_is_plain()).then_some(path)
}

/// Whether a name can be a path at all.
trait PlainBytes {
    fn as_bytes_is_plain(&self) -> bool;
}

impl PlainBytes for &[u8] {
    fn as_bytes_is_plain(&self) -> bool {
        !self.contains(&0)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn program(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn program_is_found_as_the_shell_finds_it() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("project");
        program(&folder.join("run.sh"), "#!/bin/sh\n");
        program(&home.path().join("tools/bin/own"), "x");
        fs::write(folder.join("plain"), "x").unwrap();
        let search = OsString::from(format!("{}:/usr/bin", home.path().join("tools/bin").display()));
        let find = |name: &str| find_toolchain(name, &folder, Some(&search));
        assert_eq!(find("./run.sh").unwrap().program, folder.join("run.sh"));
        let own = find("own").unwrap();
        assert_eq!(own.program, home.path().join("tools/bin/own"));
        assert_eq!(own.shown, [home.path().join("tools/bin")]);
        assert_eq!(own.path.as_bytes(), search.as_bytes());
        assert!(matches!(find("run.sh"), Err(ProgramError::NotOnPath(_))));
        assert!(matches!(find("./none"), Err(ProgramError::Missing(_))));
        assert!(matches!(find("./plain"), Err(ProgramError::NotExecutable(..))));
        assert!(matches!(find("../project"), Err(ProgramError::NotExecutable(..))));
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
        let found = find_toolchain("python", &folder, Some(&search)).unwrap();
        let root = home.path().join("versions/3.11");
        assert_eq!(found.shown, [root.join("bin"), root.join("lib")]);
        // The environment may also lie elsewhere, and the program be a script of it.
        let other = home.path().join("other");
        let script = venv.join("bin/tool");
        program(&script, &format!("#!{}\n", venv.join("bin/python").display()));
        let found = find_toolchain(script.to_str().unwrap(), &other, None).unwrap();
        assert!(found.shown.contains(&venv), "{:?}", found.shown);
        assert!(found.shown.contains(&root.join("lib")));
    }
}
