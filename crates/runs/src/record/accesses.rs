//! Classifies what a command was observed to do: which files are inputs, which belong to the
//! machine, which folders were listed, and what could not be observed.

mod elsewhere;
mod gaps;
mod not_shown;
mod originals;
mod own_files;
mod places;
mod present;
mod written;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use runseal_core::formats::run_bundle::recorded::CaptureGap;
use runseal_core::path::SafePath;
use runseal_sandbox::{Ending, Isolation, NEVER_SEEN, Observation, ObservedFile, ObservedKind};

use self::elsewhere::Elsewhere;
use self::gaps::{general_name, some_of};
use self::own_files::OwnFiles;
use self::places::{
    InputPlace, input_of, is_descriptor, is_harmless, is_of_the_kernel, is_private, safe_path,
    text_of,
};
use super::environment::{modified_ns, status_changed_ns};
use super::outside::find_links;
use super::run::CommandRun;
use crate::world::normalize;
pub(crate) use gaps::{network_gap, not_shown_gap, observed_gaps, refused_network};
pub(crate) use places::{Places, could_be_read, could_be_seen, is_of_the_machine, is_shown};
pub(crate) use present::PresentEntry;
use present::shown_special;

/// What recording never sees or keeps, beside what no observation sees.
const NEVER_KEPT: [&str; 2] = [
    "owners and extended attributes of files",
    "what a process did that was still running when the command ended: it was ended with it",
];

/// What others may have done for the command, which is never seen.
fn never_seen_of_others(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::Full => {
            "what a service outside the sandbox does for the command: none can be reached but, with --proxy, models"
        }
        Isolation::Landlock => {
            "what other processes of the machine do for the command: sockets are refused but, with --proxy, \
             to models, while named pipes and files of the machine can be read"
        }
        Isolation::None => {
            "what services of the machine and of the network do for the command: nothing keeps it from them"
        }
    }
}

/// Links on the way to one file that are followed at the most.
const MOST_LINKS: usize = 100;

/// The most names of one folder that are kept.
const MOST_LISTED: usize = 10_000;

/// A file that a run read and that goes into the bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadFile {
    /// Where it is on the host.
    pub(crate) host: PathBuf,
    /// Its path below the folder, or absolute for an input that lies elsewhere.
    pub(crate) path: String,
    /// Where it goes below `engine/` or `inputs/`.
    pub(crate) place: SafePath,
    /// What it was when it was opened; nothing where it was not opened.
    pub(crate) when_opened: Option<OpenedState>,
}

/// What tells whether a file is still the one that was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenedState {
    pub(crate) bytes: u64,
    pub(crate) modified_ns: i128,
    pub(crate) status_changed_ns: i128,
}

/// A symbolic link below the folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Link {
    pub(crate) path: String,
    pub(crate) target: String,
}

/// A name in a folder that was listed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ListedName {
    pub(crate) name: String,
    pub(crate) what: PresentEntry,
}

/// Everything that a run read.
#[derive(Debug, Default)]
pub(crate) struct Accesses {
    /// Files below the folder, by path.
    pub(crate) files: Vec<ReadFile>,
    /// Files among the named inputs, by path.
    pub(crate) inputs: Vec<ReadFile>,
    /// Links on the way to them.
    pub(crate) links: BTreeSet<Link>,
    /// Links outside the folder that were looked at or listed.
    pub(crate) links_elsewhere: BTreeMap<PathBuf, PathBuf>,
    /// Folders that were listed, by path below the folder; empty for the folder itself.
    pub(crate) listed: BTreeMap<String, Vec<ListedName>>,
    /// What else was there and counted, by path below the folder.
    pub(crate) present: BTreeMap<String, PresentEntry>,
    /// Files that were written and hold what they held, by path below the folder.
    pub(crate) rewritten: BTreeSet<String>,
    /// Files of the machine.
    pub(crate) outside: Vec<ObservedFile>,
    /// What was not observed.
    pub(crate) gaps: BTreeSet<CaptureGap>,
}

/// Why what was read cannot be sealed.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// A name that no bundle can contain.
    #[error("`{shown}` was read, and a file of this name cannot be sealed: {reason}")]
    Name {
        /// The name, in printable form.
        shown: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Nothing was observed, and the folder contains too much to seal all of it.
    #[error("nothing was observed, and the folder has more than {0} files to seal instead")]
    TooMany(usize),
    /// The folder that a command runs in could not be listed.
    #[error("`{}` could not be listed", .path.display())]
    List {
        /// The folder that was to be listed.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Classifies what `run` did.
pub(crate) fn sort_accesses(run: &CommandRun, places: Places<'_>) -> Result<Accesses, AccessError> {
    let mut found = Accesses::default();
    for sentence in NEVER_SEEN.iter().chain(&NEVER_KEPT) {
        found.gap("never-seen", *sentence);
    }
    found.gap("never-seen", never_seen_of_others(run.isolation));
    if let Ending::Stopped(limit) = run.recorded.outcome.ending {
        found.gap(
            "stopped",
            format!(
                "the command was stopped before its end: {}",
                limit.describe()
            ),
        );
    }
    for device in &run.world.devices {
        let name = device.display().to_string();
        found.gap(
            "device",
            format!(
                "the command could use the device `{}`, whose answers are not in the bundle",
                name.escape_debug()
            ),
        );
    }
    if let Some(gap) = &run.fixed_time.gap {
        found.gap("fixed-time", gap.as_str());
    }
    let weakness = run.isolation.weakness();
    if !weakness.is_empty() {
        found.gap(
            "sandbox",
            format!("sandbox level {}: {weakness}", run.isolation),
        );
    }
    for entry in &run.world.path_left_out {
        let entry = entry.display().to_string();
        let detail = format!(
            "`{}` of PATH is not there for the command, so that it may run another program than your shell",
            entry.escape_debug()
        );
        found.gap("path", detail);
    }
    if let Some(observation) = run.observation() {
        let own = OwnFiles::of(run);
        found.sort_files(observation, places, &own, run)?;
        found.tell_written(observation, places, &own, run);
        found.tell_left_out(run);
        found.add_sources(places)?;
        found.add_looks(observation, places);
        let here = Elsewhere::new(run, places);
        found.add_looks_elsewhere(observation, here);
        found.add_written_elsewhere(observation, here);
        found.tell_not_shown(observation, places, run);
        found.gaps.extend(observed_gaps(observation));
    } else {
        found.gap("not-observed", "nothing was observed");
    }
    if !run.observation().is_some_and(Observation::is_there) {
        found.add_folder(places)?;
    }
    if let Some(layer) = &run.recorded.layer {
        found.add_originals(layer, run, places)?;
    }
    found.files.sort_by(|a, b| a.path.cmp(&b.path));
    found.files.dedup_by(|a, b| a.path == b.path);
    found.inputs.sort_by(|a, b| a.path.cmp(&b.path));
    for sealed in found.files.iter().chain(&found.inputs) {
        found.present.remove(&sealed.path);
    }
    Ok(found)
}

/// Whether a file outside the folder was the command's own when it opened it: one of a private temporary folder, or one
/// that it had put into a layered place, so that the host has none or another.
fn is_own_elsewhere(file: &ObservedFile, run: &CommandRun, places: Places<'_>) -> bool {
    if run.name_in_tmp(&file.path).is_some() {
        return true;
    }
    if run.isolation != Isolation::Full {
        return false;
    }
    if is_private(&file.path) && !places.view.shows(&file.path) {
        return true;
    }
    if !places::is_layered(&file.path, places.view) {
        return false;
    }
    let seen = (file.bytes, file.modified_ns, file.status_changed_ns);
    let is_hosts = std::fs::metadata(&file.path)
        .is_ok_and(|found| (found.len(), modified_ns(&found), status_changed_ns(&found)) == seen);
    !is_hosts && file.status_changed_ns >= run.began_ns
}

impl Accesses {
    fn gap(&mut self, kind: &str, detail: impl Into<String>) {
        self.gaps.insert(CaptureGap {
            kind: kind.to_owned(),
            detail: detail.into(),
        });
    }

    fn sort_files(
        &mut self,
        observation: &Observation,
        places: Places<'_>,
        own: &OwnFiles<'_>,
        run: &CommandRun,
    ) -> Result<(), AccessError> {
        let mut special = BTreeSet::new();
        let mut renamed = Vec::new();
        let mut listed_outside = Vec::new();
        let mut not_shown = Vec::new();
        for file in &observation.files {
            let is_input = file.needs_original && !own.made(file, places);
            let input = input_of(&file.path, places);
            match (file.kind, input) {
                (ObservedKind::File, Some(input)) if is_input => {
                    self.add_read(file, input, places)?;
                    if !file.path.starts_with(places.folder) {
                        let links = find_links(std::slice::from_ref(file));
                        self.links_elsewhere.extend(links);
                    }
                }
                (ObservedKind::File, None)
                    if is_input
                        && (file.is_read || file.is_executed)
                        && could_be_seen(&file.path, run.isolation, places.view)
                        && !is_own_elsewhere(file, run, places) =>
                {
                    self.outside.push(file.clone());
                    // A virtual environment's `python` is a link from the folder to the machine's.
                    self.add_links(file, places);
                }
                (ObservedKind::File, None)
                    if is_input
                        && (file.is_read || file.is_executed)
                        && is_of_the_machine(&file.path)
                        && !could_be_seen(&file.path, run.isolation, places.view) =>
                {
                    not_shown.push(file.path.display().to_string());
                }
                (ObservedKind::Folder, Some(_)) if file.is_read => {
                    self.add_listed(&file.path, places)?;
                    self.add_links(file, places);
                    // All that is below it was read by other names.
                    if file.is_renamed {
                        renamed.push(&file.path);
                    }
                }
                (ObservedKind::Device | ObservedKind::Pipe | ObservedKind::Socket, None)
                    if file.is_read && !is_harmless(&file.path) =>
                {
                    special.insert(file.path.display().to_string());
                }
                // One that the command made itself is gone with it.
                (ObservedKind::Pipe, Some(_))
                    if file.is_read && places.real.look(&file.path).is_ok() =>
                {
                    let path = file.path.display().to_string();
                    self.gap(
                        "device",
                        format!(
                            "read what others wrote into the named pipe `{}`",
                            path.escape_debug()
                        ),
                    );
                }
                (ObservedKind::Folder, None)
                    if file.is_read
                        && (is_of_the_machine(&file.path)
                            || could_be_seen(&file.path, run.isolation, places.view)) =>
                {
                    let here = Elsewhere::new(run, places);
                    if !self.add_listed_elsewhere(&file.path, here) {
                        listed_outside.push(file.path.display().to_string());
                    }
                }
                (_, None)
                    if file.is_read
                        && is_of_the_kernel(&file.path)
                        && !is_descriptor(&file.path) =>
                {
                    special.insert(general_name(&file.path));
                }
                _ => {}
            }
        }
        let read = self.files.iter().chain(&self.inputs);
        let known: BTreeSet<PathBuf> = read.map(|file| file.host.clone()).collect();
        for folder in renamed {
            self.add_original(folder, places, &known)?;
        }
        if !special.is_empty() {
            let names: Vec<String> = special.into_iter().collect();
            self.gap(
                "device",
                format!("read what only the running kernel has: {}", some_of(&names)),
            );
        }
        self.gaps.extend(not_shown_gap(&not_shown));
        if !listed_outside.is_empty() {
            let what = some_of(&listed_outside);
            self.gap(
                "outside",
                format!(
                    "folders outside the folder were opened, and the names in them are not kept: {what}"
                ),
            );
        }
        Ok(())
    }

    fn add_read(
        &mut self,
        file: &ObservedFile,
        input: InputPlace<'_>,
        places: Places<'_>,
    ) -> Result<(), AccessError> {
        let place = safe_path(input.place())?;
        let read = ReadFile {
            host: file.path.clone(),
            path: match input {
                InputPlace::Folder(relative) | InputPlace::Named(relative) => {
                    text_of(relative)?.to_owned()
                }
                InputPlace::Elsewhere { absolute, .. } => text_of(absolute)?.to_owned(),
            },
            place,
            when_opened: Some(OpenedState {
                bytes: file.bytes,
                modified_ns: file.modified_ns,
                status_changed_ns: file.status_changed_ns,
            }),
        };
        match input {
            InputPlace::Folder(_) => self.files.push(read),
            InputPlace::Named(_) | InputPlace::Elsewhere { .. } => self.inputs.push(read),
        }
        self.add_links(file, places);
        Ok(())
    }

    /// Names the variables of the caller's shell that the command did not get.
    fn tell_left_out(&mut self, run: &CommandRun) {
        let names = &run.world.left_out;
        if !names.is_empty() {
            self.gap(
                "variables",
                format!(
                    "variables that the command did not get: {}",
                    names.join(", ").escape_debug()
                ),
            );
        }
    }

    /// Adds the links below the folder through which `file` was reached, each leading to the next.
    fn add_links(&mut self, file: &ObservedFile, places: Places<'_>) {
        self.follow_links(file.also_as.clone(), places);
    }

    /// Keeps every link below the folder on the way of `names`; gives the places below the folder that
    /// they lead to.
    fn follow_links(&mut self, names: Vec<PathBuf>, places: Places<'_>) -> Vec<PathBuf> {
        let mut reached = Vec::new();
        let mut waiting = names;
        let mut left = MOST_LINKS;
        while let Some(name) = waiting.pop()
            && left > 0
        {
            let Ok(relative) = name.strip_prefix(places.folder) else {
                continue;
            };
            let mut place = places.folder.to_owned();
            let mut rest = relative.components();
            loop {
                let Some(part) = rest.next() else {
                    reached.push(place);
                    break;
                };
                place.push(part);
                if let Ok(target) = places.real.read_link(&place) {
                    self.add_link(&place, places);
                    let above = place.parent().unwrap_or(places.folder);
                    waiting.push(normalize(&above.join(target).join(rest.as_path())));
                    left -= 1;
                    break;
                }
            }
        }
        reached
    }

    fn add_link(&mut self, place: &Path, places: Places<'_>) {
        let Ok(target) = places.real.read_link(place) else {
            return;
        };
        let path = place
            .strip_prefix(places.folder)
            .ok()
            .and_then(Path::to_str);
        if let (Some(path), Some(target)) = (path, target.to_str()) {
            self.links.insert(Link {
                path: path.to_owned(),
                target: target.to_owned(),
            });
        }
    }

    /// Adds the names in a folder that the command listed: a replay shows the same names.
    fn add_listed(&mut self, path: &Path, places: Places<'_>) -> Result<(), AccessError> {
        let shown = path.display().to_string();
        let shown = shown.escape_debug();
        let Ok(relative) = path.strip_prefix(places.folder) else {
            self.gap(
                "listing",
                format!(
                    "`{shown}` was listed: names of files in it that were not read are not kept"
                ),
            );
            return Ok(());
        };
        let relative = text_of(relative)?.to_owned();
        let entries = match places.real.list(path) {
            Ok(entries) => entries,
            // The command created it, or it was deleted meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            // Nor could the command, which runs as the same user.
            Err(error) => {
                self.gap(
                    "unreadable",
                    format!("`{shown}` could not be listed: {error}"),
                );
                return Ok(());
            }
        };
        self.keep_present(path, places);
        let mut names = Vec::new();
        let mut unnamed = 0;
        let mut lost = Vec::new();
        for entry in entries {
            let place = path.join(&entry);
            if Some(place.as_path()) == places.out
                || runseal_fs::unfinished::is_unfinished(entry.as_encoded_bytes())
            {
                continue;
            }
            let Some(name) = entry.to_str().map(str::to_owned) else {
                unnamed += 1;
                continue;
            };
            let Ok(metadata) = places.real.look(&place) else {
                continue;
            };
            // A bundle cannot hold such a name, nor what is neither file, folder nor link.
            let is_name = SafePath::parse(&name).is_ok();
            match PresentEntry::of(&metadata) {
                _ if !is_name => lost.push(format!("`{}`", name.escape_debug())),
                Some(what) => names.push(ListedName { name, what }),
                None if metadata.is_symlink() => self.add_link(&place, places),
                None => lost.push(shown_special(&name, &metadata)),
            }
        }
        names.sort();
        lost.sort();
        let shown = match relative.as_str() {
            "" => "the folder".to_owned(),
            relative => format!("`{}`", relative.escape_debug()),
        };
        if names.len() > MOST_LISTED {
            let count = names.len() - MOST_LISTED;
            names.truncate(MOST_LISTED);
            self.gap(
                "listing",
                format!("{shown} was listed and has {count} more names than are kept"),
            );
        }
        if !lost.is_empty() {
            let what = some_of(&lost);
            let fault = "was listed, and a replay cannot show all of its names";
            self.gap("listing", format!("{shown} {fault}: {what}"));
        }
        if unnamed > 0 {
            self.gap(
                "listing",
                match unnamed {
                    1 => format!("{shown} was listed and has a name that is not UTF-8"),
                    _ => format!("{shown} was listed and has {unnamed} names that are not UTF-8"),
                },
            );
        }
        self.listed.insert(relative, names);
        Ok(())
    }
}
