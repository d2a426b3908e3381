//! What a command looked for that the machine has and its world has not: a hidden file, something in the
//! machine's /tmp or /run. A program that finds nothing goes on with something else, so its result may be another one
//! than in the user's shell.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use runseal_sandbox::{Isolation, Observation};

use super::gaps::some_of;
use super::{Accesses, Places, normalize};
use crate::record::run::CommandRun;

/// Where a command has its own: what the machine has there by the same name is another thing, and its world says so.
const OWN: [&str; 15] = [
    "/dev/fd",
    "/dev/full",
    "/dev/null",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/random",
    "/dev/shm",
    "/dev/stderr",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
    "/proc",
    "/sys",
];
/// What the C library looks for whenever a program asks for a user or a host: services, which no command reaches.
const OF_SERVICES: [&str; 6] = [
    "/etc/resolv.conf",
    "/run/nscd",
    "/run/setrans",
    "/run/systemd",
    "/var/run/nscd",
    "/var/run/systemd",
];
/// Folders of which the command has its own, in which it looks at names that it made itself.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/run"];

impl Accesses {
    /// Names what the command looked for and was not shown.
    pub(super) fn tell_not_shown(
        &mut self,
        observation: &Observation,
        places: Places<'_>,
        run: &CommandRun,
    ) {
        if run.isolation == Isolation::None {
            return;
        }
        let is_own = |path: &Path| OWN.iter().any(|own| path.starts_with(own));
        let is_temporary = |path: &Path| TEMPORARY.iter().any(|own| path.starts_with(own));
        let looks = observation.looks.iter().filter(|path| !is_temporary(path));
        let asked: BTreeSet<PathBuf> = observation
            .missing
            .iter()
            .chain(looks)
            .map(|it| normalize(it))
            .collect();
        let is_missed = |path: &&PathBuf| {
            let of_services = OF_SERVICES.iter().any(|it| path.starts_with(it));
            // Where links of the folder lead is not looked up: the folder may be a stranger's.
            let is_inside = path.starts_with(places.folder);
            !is_own(path) && !is_inside && !of_services && is_kept_from(path, run)
        };
        let homes: Vec<PathBuf> = run
            .world
            .home
            .iter()
            .cloned()
            .chain(std::env::home_dir())
            .collect();
        let names: BTreeSet<String> = asked
            .iter()
            .filter(is_missed)
            .map(|path| shown(path, &homes))
            .collect();
        if !names.is_empty() {
            let names: Vec<String> = names.into_iter().collect();
            self.gap(
                "not-shown",
                format!("looked for and not shown: {}", some_of(&names)),
            );
        }
    }
}

/// Whether the machine has something at `path` that the world of the run keeps from the command.
fn is_kept_from(path: &Path, run: &CommandRun) -> bool {
    // What shown places lie in is there too, with nothing else in it.
    let has_place = |path: &Path| run.view.places.iter().any(|it| it.inside.starts_with(path));
    let is_there = |path: &Path| run.view.shows(path) || has_place(path);
    // A link that is shown may lead to what is not.
    let Ok(real) = path.canonicalize() else {
        return !is_there(path) && path.symlink_metadata().is_ok();
    };
    !is_there(path) || !is_there(&real)
}

fn shown(path: &Path, homes: &[PathBuf]) -> String {
    let below = homes.iter().find_map(|home| path.strip_prefix(home).ok());
    let text = match below {
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    };
    text.escape_debug().to_string()
}
