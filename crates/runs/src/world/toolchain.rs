//! A single program of the user's PATH for a command that sees nothing else of the user's: with what was installed
//! together with it, and without anything that is hidden.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use runseal_sandbox::{View, is_program_place};

use super::{hidden, is_home};
use crate::programs::{find_program_in, is_program};

/// Where rustup keeps what its programs start, below the home that has them.
const RUSTUP: &str = ".rustup";

/// A program with what is shown for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    /// The folder of the PATH in which it is.
    pub folder: PathBuf,
    /// Folders that are shown.
    pub shown: Vec<PathBuf>,
    /// Variables that it needs to find the rest of itself.
    pub variables: Vec<(String, String)>,
}

impl Toolchain {
    /// Finds `name` on a PATH of the user's; relative entries do not count.
    pub fn find(name: &str, path: &OsStr) -> Option<Toolchain> {
        let entries = std::env::split_paths(path).filter(|entry| entry.is_absolute());
        let program = find_program_in(entries, name, is_program)?;
        let folder = program.parent()?.to_owned();
        let mut shown = BTreeSet::from([folder.clone()]);
        let mut variables = Vec::new();
        let real = program.canonicalize().ok()?;
        for place in [folder.as_path(), real.parent()?] {
            let root = place.parent().filter(|_| place.ends_with("bin"));
            shown.insert(place.to_owned());
            shown.extend(
                root.filter(|root| is_installation(root))
                    .map(Path::to_owned),
            );
        }
        let rustup = folder.parent().and_then(Path::parent);
        let rustup = rustup.map(|home| home.join(RUSTUP));
        if let Some(rustup) = rustup.filter(|it| it.is_dir() && folder.join("rustup").is_file()) {
            variables.push(("RUSTUP_HOME".to_owned(), rustup.to_str()?.to_owned()));
            shown.insert(rustup);
        }
        shown.retain(|place| !is_program_place(place));
        Some(Toolchain {
            folder,
            shown: shown.into_iter().collect(),
            variables,
        })
    }

    /// Adds it to what a command sees.
    pub fn show_in(&self, view: &mut View) {
        for place in &self.shown {
            view.show(place);
        }
        let homes: Vec<PathBuf> = self
            .shown
            .iter()
            .flat_map(|place| place.ancestors().skip(1))
            .map(Path::to_owned)
            .collect();
        let hidden = hidden::with_real_paths(hidden::listed(&homes));
        let is_in = |path: &PathBuf| self.shown.iter().any(|place| path.starts_with(place));
        view.hidden.extend(hidden.into_iter().filter(is_in));
    }
}

/// Whether a folder above one of programs is theirs: no home, and nothing that holds more than one thing.
fn is_installation(root: &Path) -> bool {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let is_listed = users
        .lines()
        .filter_map(|line| line.split(':').nth(5))
        .any(|home| Path::new(home).starts_with(root));
    let own = std::env::home_dir().is_some_and(|home| home.starts_with(root));
    is_home(root) && root.components().count() > 2 && !is_listed && !own
}
