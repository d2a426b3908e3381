//! Finds the command's program as the user's shell would, in the world that the command will see.
//!
//! Nothing is executed, and of the command's folder nothing is followed: a link in it that leads out of it
//! works if the world shows its target, and is refused otherwise.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use runseal_sandbox::Mount;

use crate::programs::find_program_in;
use crate::world::{World, normalize, split_path};

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
    #[error("`{0}` cannot be executed: {1}")]
    NotExecutable(String, &'static str),
    /// It leads to something that the command does not see.
    #[error(
        "`{program}` is a link to `{target}`, which the command does not see: only the folders of your PATH and \
         the toolchains below your home are shown to it"
    )]
    Hidden {
        /// The program as typed.
        program: String,
        /// Where its link leads.
        target: String,
    },
}

/// A program and the world that it is started in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    /// Where it is expected to be started from. The run reports where it was actually started from.
    pub program: PathBuf,
    /// What the command sees of the host.
    pub world: World,
    /// PATH inside the sandbox: those entries that exist there.
    pub path: String,
}

/// A folder of the host that the command sees at its own or another path.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    /// Its absolute path on the host.
    pub host: &'a Path,
    /// The path at which the command sees it.
    pub inside: &'a Path,
}

impl Site<'_> {
    /// The host's path for a path that the command sees in this folder; `None` for any other.
    fn to_host(self, path: &Path) -> Option<PathBuf> {
        let below = path.strip_prefix(self.inside).ok()?;
        // Joining nothing to a file would ask for a folder.
        Some(match below.as_os_str().is_empty() {
            true => self.host.to_owned(),
            false => self.host.join(below),
        })
    }
}

/// Who chose the command and the PATH on which its program is searched.
#[derive(Debug, Clone)]
pub enum Choice {
    /// The caller, whose PATH this is. Whatever the caller names is shown.
    Caller(Option<OsString>),
    /// A bundle, with the PATH that it recorded: it gives names only. What is shown, and what is searched
    /// if the recorded PATH finds nothing, is the caller's.
    Bundle {
        /// The PATH in the bundle.
        recorded: Option<OsString>,
        /// The PATH of the caller.
        caller: Option<OsString>,
    },
}

impl Choice {
    /// The PATH of whoever runs the command.
    fn callers(&self) -> Option<&OsStr> {
        match self {
            Self::Caller(path) | Self::Bundle { caller: path, .. } => path.as_deref(),
        }
    }
}

/// Finds `program` for a command in the folder of `site` with these `inputs`.
pub fn find_toolchain(
    program: &str,
    site: Site<'_>,
    inputs: &[Mount],
    choice: &Choice,
) -> Result<Toolchain, ProgramError> {
    let mut search = Search {
        site,
        inputs,
        world: World::of_caller(choice.callers(), site.inside),
    };
    let (place, entries) = match choice {
        Choice::Caller(path) => {
            let entries = split_path(path.as_deref(), site.inside);
            let place = search.locate(program, &entries, true)?;
            if !place.starts_with(site.inside) {
                search.world.show_program(&place);
                search.world.show_link_target(&place);
            }
            (place, entries)
        }
        Choice::Bundle { recorded, caller } => {
            let mut entries = split_path(recorded.as_deref(), site.inside);
            let found = match search.locate(program, &entries, false) {
                Err(ProgramError::NotOnPath(_)) => {
                    entries.extend(split_path(caller.as_deref(), site.inside));
                    search.locate(program, &entries, false)
                }
                found => found,
            };
            (found?, entries)
        }
    };
    // Where it is neither the folder's own nor a bundle's input, only what the caller chose led to it.
    let is_bundles = matches!(choice, Choice::Bundle { .. })
        && inputs.iter().any(|input| place.starts_with(&input.inside));
    if !place.starts_with(site.inside) && !is_bundles {
        search.world.show_toolchain_of(&place);
    }
    search.check_link(program, &place)?;
    Ok(Toolchain {
        program: place,
        path: search.world.visible_path(&entries, site.inside),
        world: search.world,
    })
}

/// Where a program is searched.
struct Search<'a> {
    site: Site<'a>,
    inputs: &'a [Mount],
    world: World,
}

impl Search<'_> {
    /// Finds the program. Outside the folder, a program that the caller did not choose is looked for only where
    /// the command sees something.
    fn locate(
        &self,
        program: &str,
        entries: &[PathBuf],
        is_callers: bool,
    ) -> Result<PathBuf, ProgramError> {
        let shown = program.escape_debug().to_string();
        let is_searched = |place: &Path| is_callers || self.sees(place);
        if program.contains('/') {
            let place = normalize(&self.site.inside.join(program));
            if !is_searched(&place) {
                return Err(ProgramError::Missing(shown));
            }
            return match self.look(&place) {
                Found::Nothing => Err(ProgramError::Missing(shown)),
                Found::Program => Ok(place),
                Found::Other(why) => Err(ProgramError::NotExecutable(shown, why)),
            };
        }
        let accepts =
            |place: &Path| is_searched(place) && matches!(self.look(place), Found::Program);
        find_program_in(entries.iter().cloned(), program, accepts)
            .ok_or(ProgramError::NotOnPath(shown))
    }

    /// Whether the command sees what is at a path.
    fn sees(&self, path: &Path) -> bool {
        let mut inputs = self.inputs.iter();
        path.starts_with(self.site.inside)
            || self.world.shows(path)
            || inputs.any(|input| path.starts_with(&input.inside))
    }

    /// Looks at what the command sees at `place`. Where that is an input, what the host has there is not looked at: a
    /// bundle may have named the place.
    fn look(&self, place: &Path) -> Found {
        let Some(host) = self.site.to_host(place) else {
            let input = self.inputs.iter().find_map(|input| {
                let site = Site {
                    host: &input.host,
                    inside: &input.inside,
                };
                site.to_host(place)
            });
            return Found::of(fs::metadata(input.as_deref().unwrap_or(place)));
        };
        match fs::symlink_metadata(&host) {
            // Where it leads decides the sandbox, in which other things exist.
            Ok(metadata) if metadata.is_symlink() => Found::Program,
            found => Found::of(found),
        }
    }

    /// Refuses a program of the folder that is a link to what the command does not see. Only the text of
    /// links is read.
    fn check_link(&self, program: &str, place: &Path) -> Result<(), ProgramError> {
        let mut place = place.to_owned();
        for _ in 0..MOST_LINKS {
            let link = self.site.to_host(&place).map(fs::read_link);
            let Some(Ok(target)) = link else {
                return Ok(());
            };
            place = normalize(&place.parent().unwrap_or(Path::new("/")).join(target));
            if !self.sees(&place) {
                return Err(ProgramError::Hidden {
                    program: program.escape_debug().to_string(),
                    target: place.display().to_string().escape_debug().to_string(),
                });
            }
        }
        Ok(())
    }
}

/// What is at a place.
enum Found {
    Nothing,
    Program,
    Other(&'static str),
}

impl Found {
    fn of(metadata: std::io::Result<fs::Metadata>) -> Self {
        match metadata {
            Err(_) => Self::Nothing,
            Ok(metadata) if metadata.is_dir() => Self::Other("it is a folder"),
            Ok(metadata) if !metadata.is_file() => Self::Other("it is not a regular file"),
            Ok(metadata) if metadata.permissions().mode() & 0o111 == 0 => {
                Self::Other("it has no execute permission (chmod +x)")
            }
            Ok(_) => Self::Program,
        }
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

    fn find(name: &str, folder: &Path, path: Option<OsString>) -> Result<Toolchain, ProgramError> {
        let site = Site {
            host: folder,
            inside: folder,
        };
        find_toolchain(name, site, &[], &Choice::Caller(path))
    }

    #[test]
    fn program_is_found_as_the_shell_finds_it() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("project");
        program(&folder.join("run.sh"), "#!/bin/sh\n");
        program(&home.path().join("tools/own"), "x");
        fs::write(folder.join("plain"), "x").unwrap();
        let search = OsString::from(format!("{}:/usr/bin", home.path().join("tools").display()));
        let find = |name: &str| find(name, &folder, Some(search.clone()));
        assert_eq!(find("./run.sh").unwrap().program, folder.join("run.sh"));
        let own = find("own").unwrap();
        assert_eq!(own.program, home.path().join("tools/own"));
        let shown = own.world.shown_beside(&folder);
        assert!(shown.contains(&home.path().join("tools")), "{shown:?}");
        assert_eq!(OsString::from(own.path), search);
        assert!(matches!(find("run.sh"), Err(ProgramError::NotOnPath(_))));
        assert!(matches!(find("./none"), Err(ProgramError::Missing(_))));
        for other in ["./plain", "../project"] {
            let found = find(other);
            assert!(matches!(found, Err(ProgramError::NotExecutable(..))));
        }
    }

    #[test]
    fn recorded_path_gives_names_and_the_callers_path_is_searched_after_it() {
        let home = tempfile::tempdir().unwrap();
        let host = home.path().join("unpacked");
        program(&host.join("tools/own"), "x");
        program(&home.path().join("private/bin/tool"), "x");
        let site = Site {
            host: &host,
            inside: Path::new("/recorded/project"),
        };
        let private = home.path().join("private/bin");
        let recorded = format!("/recorded/project/tools:/nowhere:{}", private.display());
        let choice = Choice::Bundle {
            recorded: Some(recorded.into()),
            caller: Some("/usr/bin:/bin".into()),
        };
        let find = |name: &str| find_toolchain(name, site, &[], &choice);
        let found = find("own").unwrap();
        assert_eq!(found.program, Path::new("/recorded/project/tools/own"));
        assert_eq!(found.path, "/recorded/project/tools");
        assert!(!found.world.shows(&private));
        assert!(find("sh").unwrap().program.ends_with("bin/sh"));
        assert!(matches!(find("tool"), Err(ProgramError::NotOnPath(_))));
        // Whether there is such a file is not told either.
        let typed = private.join("tool");
        let found = find(typed.to_str().unwrap());
        assert!(matches!(found, Err(ProgramError::Missing(_))));
    }

    #[test]
    fn program_among_the_inputs_is_looked_at_where_it_was_unpacked_and_not_on_the_host() {
        let home = tempfile::tempdir().unwrap();
        let (unpacked, own) = (home.path().join("unpacked"), home.path().join("own/tool"));
        program(&unpacked, "x");
        program(&own, "x");
        let data = home.path().join("data");
        fs::write(&data, "x").unwrap();
        let site = Site {
            host: home.path(),
            inside: Path::new("/recorded/project"),
        };
        let choice = Choice::Bundle {
            recorded: None,
            caller: None,
        };
        let find = |host: &Path, inside: &Path| {
            let input = Mount {
                host: host.to_owned(),
                inside: inside.to_owned(),
            };
            find_toolchain(inside.to_str().unwrap(), site, &[input], &choice)
        };
        let nowhere = Path::new("/nowhere/tool");
        assert_eq!(find(&unpacked, nowhere).unwrap().program, nowhere);
        let found = find(&data, &own);
        assert!(matches!(found, Err(ProgramError::NotExecutable(..))));
    }

    #[test]
    fn bundle_that_picks_a_program_of_the_callers_path_has_nothing_beside_its_target_shown() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        program(&home.join("private/bin/tool"), "x");
        fs::create_dir_all(home.join("private/lib")).unwrap();
        fs::create_dir_all(home.join("tools")).unwrap();
        symlink(home.join("private/bin/tool"), home.join("tools/tool")).unwrap();
        let folder = home.join("unpacked");
        fs::create_dir(&folder).unwrap();
        let site = Site {
            host: &folder,
            inside: Path::new("/recorded/project"),
        };
        let path = OsString::from(format!("{}:/usr/bin", home.join("tools").display()));
        let bundle = Choice::Bundle {
            recorded: None,
            caller: Some(path.clone()),
        };
        let found = find_toolchain("tool", site, &[], &bundle).unwrap();
        assert!(!found.world.shows(&home.join("private/bin/tool")));
        assert!(!found.world.shows(&home.join("private/lib")));
        // Whoever typed it gets the file, and what lies beside it is still not shown.
        let typed = find_toolchain("tool", site, &[], &Choice::Caller(Some(path))).unwrap();
        assert!(typed.world.shows(&home.join("private/bin/tool")));
        assert!(!typed.world.shows(&home.join("private/lib")));
    }

    #[test]
    fn folder_with_links_interpreters_and_a_pyvenv_cfg_has_nothing_shown() {
        let home = tempfile::tempdir().unwrap();
        let secret = home.path().join("secret/bin/python3.11");
        program(&secret, "x");
        let folder = home.path().join("project");
        program(
            &folder.join("bin/tool"),
            &format!("#!{}\n", secret.display()),
        );
        symlink(&secret, folder.join("bin/python")).unwrap();
        symlink("python", folder.join("bin/python3")).unwrap();
        let home_line = format!("home = {}\n", secret.parent().unwrap().display());
        fs::write(folder.join("pyvenv.cfg"), home_line).unwrap();
        let path = OsString::from(format!("{}:/usr/bin:/bin", folder.join("bin").display()));
        let found = find("./bin/tool", &folder, Some(path.clone())).unwrap();
        let plain = World::of_caller(Some("/usr/bin:/bin".as_ref()), &folder);
        assert_eq!(found.world, plain);
        for name in ["python", "python3", "./bin/python"] {
            let found = find(name, &folder, Some(path.clone()));
            assert!(matches!(found, Err(ProgramError::Hidden { .. })), "{name}");
        }
    }
}
