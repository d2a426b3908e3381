//! Looks for a command's program as its user's shell would, before anything is run: for a message that says what
//! is wrong. What runs is what the kernel takes, of the same places and in the same order.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use runseal_core::diagnosis::{Diagnose, Diagnosis};

use crate::programs::find_program_in;
use crate::world::{DEFAULT_PATH, World, normalize, split_path};

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
    /// It is where the command has a folder of its own.
    #[error("`{program}` is `{place}`, which the command does not see")]
    Hidden {
        /// The program as typed.
        program: String,
        /// Where it is.
        place: String,
    },
}

impl Diagnose for ProgramError {
    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::unreadable(self, "NO_PROGRAM").hint(match self {
            Self::NotOnPath(_) => {
                "check its name; a script of the current folder is written as `./script`"
            }
            _ => "check its name and its rights",
        })
    }
}

/// Makes sure that a command of the user's in `folder` can be started in `world`; answers where from.
pub fn check_program(program: &str, folder: &Path, world: &World) -> Result<PathBuf, ProgramError> {
    let shown = program.escape_debug().to_string();
    let path = world
        .variables
        .get("PATH")
        .map_or(DEFAULT_PATH, String::as_str);
    let place = match program.contains('/') {
        true => normalize(&folder.join(program)),
        false => {
            let is_program = |place: &Path| matches!(Found::at(place), Found::Program);
            find_program_in(split_path(path, folder), program, is_program)
                .ok_or_else(|| ProgramError::NotOnPath(shown.clone()))?
        }
    };
    match Found::at(&place) {
        Found::Nothing => return Err(ProgramError::Missing(shown)),
        Found::Other(why) => return Err(ProgramError::NotExecutable(shown, why)),
        Found::Program => {}
    }
    // Over a link it may still be found: what that leads to is looked at by the kernel.
    if place.starts_with(folder) || world.shows(&place) {
        return Ok(place);
    }
    Err(ProgramError::Hidden {
        program: shown,
        place: place.display().to_string().escape_debug().to_string(),
    })
}

/// What is at a place.
enum Found {
    Nothing,
    Program,
    Other(&'static str),
}

impl Found {
    fn at(place: &Path) -> Self {
        match fs::metadata(place) {
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
    use super::*;
    use crate::world::Choices;

    fn program(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn program_is_found_as_the_shell_finds_it_whatever_its_folder_is_called() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let folder = home.join("project");
        program(&folder.join("run.sh"), "#!/bin/sh\n");
        program(&home.join("mytools/own"), "x");
        program(&home.join(".ssh/key"), "x");
        fs::write(folder.join("plain"), "x").unwrap();
        let path = format!("{}:/usr/bin", home.join("mytools").display());
        let shell = vec![
            ("PATH".into(), path.into()),
            ("HOME".into(), home.clone().into()),
        ];
        let world = World::of_caller(&Choices {
            shell,
            ..Choices::default()
        });
        let find = |name: &str| check_program(name, &folder, &world);
        assert_eq!(find("./run.sh").unwrap(), folder.join("run.sh"));
        assert_eq!(find("own").unwrap(), home.join("mytools/own"));
        assert!(matches!(find("run.sh"), Err(ProgramError::NotOnPath(_))));
        assert!(matches!(find("./none"), Err(ProgramError::Missing(_))));
        for other in ["./plain", "../project"] {
            assert!(matches!(find(other), Err(ProgramError::NotExecutable(..))));
        }
        let hidden = find("../.ssh/key");
        assert!(matches!(hidden, Err(ProgramError::Hidden { .. })));
    }
}
