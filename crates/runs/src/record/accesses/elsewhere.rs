//! What a command looked at or listed outside its folder, and that a replay does not find in the system folders of its
//! own machine: a library's folder beside what was read of it, a landmark file, a link. A replay finds the names
//! again, with nothing in them.

use std::fs;
use std::path::{Path, PathBuf};

use runseal_core::path::SafePath;
use runseal_sandbox::{Observation, ObservedFile, ObservedKind};

use super::places::{Places, could_be_seen};
use super::present::PresentEntry;
use super::{Accesses, ListedName, MOST_LISTED, normalize};
use crate::record::outside::is_in_system_folder;
use crate::record::run::CommandRun;

/// Links that are followed on the way to one name.
const MOST_LINKS: usize = 40;

/// What of the host may be told of.
#[derive(Clone, Copy)]
pub(super) struct Elsewhere<'a> {
    run: &'a CommandRun,
    places: Places<'a>,
}

impl<'a> Elsewhere<'a> {
    pub(super) fn new(run: &'a CommandRun, places: Places<'a>) -> Self {
        Self { run, places }
    }

    /// Whether a replay does not have what is at `path` from its own machine.
    fn needs(&self, path: &Path) -> bool {
        self.places.is_self_contained || !is_in_system_folder(path)
    }

    /// Whether the command saw what is at `path`, and a replay does not have it anyway.
    fn tells_of(&self, path: &Path) -> bool {
        !path.starts_with(self.places.folder)
            && self.needs(path)
            && could_be_seen(path, self.run.isolation, &self.run.view)
    }
}

impl Accesses {
    /// Keeps the names that the command looked at.
    pub(super) fn add_looks_elsewhere(&mut self, observation: &Observation, here: Elsewhere<'_>) {
        for name in &observation.looks {
            let name = normalize(name);
            if name.starts_with(here.places.folder) {
                continue;
            }
            if let Some(place) = self.follow_elsewhere(name, here) {
                self.keep_elsewhere(&place, here);
            }
        }
    }

    /// Keeps the folders that the command wrote into: there it found them, and made none.
    pub(super) fn add_written_elsewhere(&mut self, observation: &Observation, here: Elsewhere<'_>) {
        let is_written = |file: &&ObservedFile| file.is_written || file.kind == ObservedKind::New;
        let written = observation.files.iter().filter(is_written);
        let written = written.map(|file| file.path.as_path());
        let names = observation.given_names.iter().map(PathBuf::as_path);
        for name in written.chain(names) {
            let name = normalize(name);
            let folder = name
                .parent()
                .filter(|it| !it.starts_with(here.places.folder));
            if let Some(place) = folder.and_then(|it| self.follow_elsewhere(it.to_owned(), here)) {
                self.keep_elsewhere(&place, here);
            }
        }
    }

    /// Follows links outside the folder and keeps each; gives the place that they lead to.
    fn follow_elsewhere(&mut self, mut name: PathBuf, here: Elsewhere<'_>) -> Option<PathBuf> {
        for _ in 0..MOST_LINKS {
            let mut place = PathBuf::from("/");
            let mut parts = name.components();
            let link = parts.by_ref().find_map(|part| {
                place.push(part);
                fs::read_link(&place).ok()
            });
            let Some(target) = link else {
                return Some(name);
            };
            let above = place.parent().unwrap_or(Path::new("/"));
            let next = normalize(&above.join(&target).join(parts.as_path()));
            let is_top = place.parent() == Some(Path::new("/"));
            let is_told = (!is_top || here.places.is_self_contained)
                && here.needs(&place)
                && here.run.view.shows(&place);
            if is_told {
                self.links_elsewhere.insert(place, target);
            }
            name = next;
        }
        None
    }

    fn keep_elsewhere(&mut self, place: &Path, here: Elsewhere<'_>) {
        let text = place.to_str();
        let is_name = |text: &&str| SafePath::parse(text.trim_start_matches('/')).is_ok();
        let Some(text) = text.filter(is_name).filter(|_| here.tells_of(place)) else {
            return;
        };
        if let Ok(found) = fs::symlink_metadata(place)
            && let Some(what) = PresentEntry::of(&found)
        {
            self.present.insert(text.to_owned(), what);
        }
    }

    /// Keeps the names in a folder outside that the command listed; says whether a replay needs them.
    pub(super) fn add_listed_elsewhere(&mut self, folder: &Path, here: Elsewhere<'_>) -> bool {
        let Some(text) = folder.to_str().filter(|_| here.tells_of(folder)) else {
            return false;
        };
        let Ok(entries) = fs::read_dir(folder) else {
            return false;
        };
        let mut names = Vec::new();
        for entry in entries.flatten() {
            let place = entry.path();
            let name = entry.file_name().to_str().map(str::to_owned);
            let Some(name) = name.filter(|name| SafePath::parse(name).is_ok()) else {
                continue;
            };
            // What is hidden from the command has no name for it either.
            if !here.run.view.shows(&place) {
                continue;
            }
            let Ok(found) = fs::symlink_metadata(&place) else {
                continue;
            };
            match PresentEntry::of(&found) {
                Some(what) => names.push(ListedName { name, what }),
                None if found.is_symlink() => {
                    if let Ok(target) = fs::read_link(&place) {
                        self.links_elsewhere.insert(place, target);
                    }
                }
                None => {}
            }
        }
        names.sort();
        names.truncate(MOST_LISTED);
        self.listed.insert(text.to_owned(), names);
        true
    }
}
