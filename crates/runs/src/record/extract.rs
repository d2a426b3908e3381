//! Gives the files of a verified run back as they were, into a new folder.
//!
//! Each file is checked while it is copied, since the source is read through what was verified. There is the whole folder
//! or none: it is written beside its place and renamed at the end, and nothing that exists is replaced. Whoever made the
//! bundle decides neither how much of the disk it takes nor where a link in the new folder leads: never out of it.

mod layout;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use runseal_core::diagnosis::{Diagnose, Diagnosis};
use runseal_core::formats::run_bundle::layout::{
    ENVIRONMENT_FOLDER, RUN_ENVIRONMENT, RUN_INPUT, RUN_OUTPUT, exact_path, place_of_stored,
};
use runseal_core::formats::run_bundle::reading::RunKind;
use runseal_core::formats::run_bundle::recorded::{
    Attributes, ENGINE_LIST, INPUT_LISTS, ListedFile, ListedLink, MACHINE_LIST, parse_attributes,
    parse_links, parse_listed_files,
};
use runseal_core::formats::run_bundle::{EntryFact, FileFact};
use runseal_core::path::SafePath;
use runseal_core::source::{Source, SourceError};
use rustix::fs::{Timespec, Timestamps};
use rustix::io::Errno;

use self::layout::{Layout, Tree};
use super::many_folders::{check_folders, is_too_deep};
use super::outside::is_in_system_folder;
use super::room::Room;
use crate::run::verify::VerifiedRun;
use runseal_fs::atomic::WriteError;
use runseal_fs::staging::{Place, Rights, Staging, StagingError, check_place};

/// What a file, folder or link takes of the disk beside its content, about.
const ENTRY_BYTES: u64 = 4096;

/// Which files are given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// What the run left, at its paths below the folder of the command.
    Outputs,
    /// What it read: files of its folder at their paths, others at their places in the bundle, those from elsewhere
    /// at their absolute paths below `environment`.
    Inputs,
    /// Both and what was printed, each at its place in the bundle.
    All,
}

/// What was given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extracted {
    /// How many files.
    pub files: u64,
    /// How many bytes they have.
    pub bytes: u64,
    /// How many files of this kind the bundle only names, without those of the system's packages.
    pub missing: usize,
    /// How many links are made again.
    pub links: u64,
    /// How many links are not, since they would lead out of the new folder or something is in their place.
    pub links_left_out: u64,
}

/// Why nothing was given back.
#[derive(Debug, thiserror::Error)]
pub enum ExtractError {
    /// A file could not be read, or is no longer what was verified.
    #[error(transparent)]
    Read(#[from] SourceError),
    /// The folder could not be made.
    #[error(transparent)]
    Write(#[from] StagingError),
    /// The bundle lists paths that ask for more folders than anybody made.
    #[error("the files of the bundle cannot be laid out: {0}")]
    Folders(&'static str),
    /// Two files have the same place.
    #[error("two files belong at `{}`, or one of them below it", .0.escape_debug())]
    Collision(String),
}

impl Diagnose for ExtractError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Read(error) => error.diagnosis(),
            Self::Folders(_) => Diagnosis::unreadable(self, "LIMIT"),
            Self::Write(_) => Diagnosis::unreadable(self, "WRITE")
                .hint("name a folder that does not exist, where you may write"),
            Self::Collision(_) => {
                Diagnosis::unreadable(self, "WRITE").hint("`--all` gives each file its own place")
            }
        }
    }
}

impl From<WriteError> for ExtractError {
    fn from(error: WriteError) -> Self {
        Self::Write(error.into())
    }
}

/// A file on its way.
struct Planned {
    /// Where its bytes are in the bundle.
    stored: SafePath,
    /// Its path in the new folder.
    to: String,
    is_executable: bool,
    attributes: Option<Attributes>,
}

/// A link on its way.
struct PlannedLink {
    to: String,
    target: String,
}

/// Copies the wanted files of `run` into the new folder `target`.
///
/// # Errors
/// [`ExtractError`]; nothing is left behind.
pub(crate) fn extract(
    run: &VerifiedRun<'_>,
    wanted: Wanted,
    target: &Path,
) -> Result<Extracted, ExtractError> {
    check_place(target, Place::Free)?;
    let lists = Lists::read(run);
    let layout = Layout {
        wanted,
        is_engine: run.read(|run| run.kind()) == RunKind::Engine,
        folder: lists.folder.clone(),
    };
    let planned = plan(run, &layout, &lists);
    check_folders(planned.iter().map(|file| file.to.as_str())).map_err(ExtractError::Folders)?;
    check_collisions(&planned)?;
    let staging = Staging::begin_beside(target)?;
    let mut room = Room::on_disk_of(staging.path());
    let mut extracted = Extracted {
        files: planned.len() as u64,
        bytes: 0,
        missing: lists.missing(wanted),
        links: 0,
        links_left_out: 0,
    };
    for file in &planned {
        extracted.bytes += copy(run.source(), file, &staging, &mut room)?;
    }
    // Last, so that nothing is ever written through one.
    let mut folders = folders_above(planned.iter().map(|file| file.to.as_str()));
    let links = plan_links(&lists, &layout, &planned, &folders);
    extracted.links_left_out = links.left_out;
    for link in &links.planned {
        let place = staging.path().join(&link.to);
        room.take(ENTRY_BYTES).map_err(WriteError::at(&place))?;
        staging.link(&link.to, &link.target)?;
        extracted.links += 1;
    }
    folders.extend(folders_above(links.planned.iter().map(|it| it.to.as_str())));
    set_folders(&staging, &folders, &layout, &lists)?;
    staging.publish(target, (Place::Free, Rights::AsUmask), |_| {
        Ok::<_, ExtractError>(extracted)
    })
}

/// What the documents of a run list.
#[derive(Default)]
struct Lists {
    /// The files of its folder and its inputs, by where they are stored.
    read: BTreeMap<String, ListedFile>,
    /// Where the other files are stored that may be executed.
    executable: BTreeSet<String>,
    /// The files from elsewhere whose content is in the bundle.
    machine: Vec<ListedFile>,
    attributes: BTreeMap<String, Attributes>,
    links: Vec<(Tree, ListedLink)>,
    /// The folder of the command, an absolute path.
    folder: Option<String>,
    missing_inputs: usize,
    missing_outputs: usize,
}

impl Lists {
    fn read(run: &VerifiedRun<'_>) -> Self {
        let mut lists = Self::default();
        let of_input = INPUT_LISTS.map(|list| (RUN_INPUT, list));
        let others = [(RUN_OUTPUT, "outputs"), (RUN_ENVIRONMENT, ENGINE_LIST)];
        for (document, list) in of_input.into_iter().chain(others) {
            let Some(document_read) = run.document(document) else {
                continue;
            };
            for file in parse_listed_files(document_read.root(), list) {
                match (&file.stored, document) {
                    (Some(stored), RUN_INPUT) => {
                        lists.read.insert(stored.clone(), file);
                    }
                    (Some(stored), _) => {
                        let executable = file.is_executable.then(|| stored.clone());
                        lists.executable.extend(executable);
                    }
                    (None, RUN_OUTPUT) => lists.missing_outputs += 1,
                    (None, _) => lists.missing_inputs += 1,
                }
            }
        }
        lists.read_environment(run);
        for (document, tree) in [(RUN_INPUT, Tree::Folder), (RUN_OUTPUT, Tree::Left)] {
            if let Some(document) = run.document(document) {
                let links = parse_links(document.root()).into_iter();
                lists.links.extend(links.map(|link| (tree, link)));
            }
        }
        lists
    }

    fn read_environment(&mut self, run: &VerifiedRun<'_>) {
        let Some(environment) = run.document(RUN_ENVIRONMENT) else {
            return;
        };
        let environment = environment.root();
        for file in parse_listed_files(environment, MACHINE_LIST) {
            let is_elsewhere = |stored: &String| {
                place_of_stored(stored).split('/').next() == Some(ENVIRONMENT_FOLDER)
            };
            match &file.stored {
                // Of a redacted copy, what is withheld is not there.
                Some(stored) if is_elsewhere(stored) => {
                    match run.collected().facts.file(stored).is_some() {
                        true => self.machine.push(file),
                        false => self.missing_inputs += 1,
                    }
                }
                Some(_) => {}
                // What the system has can be had again from its package.
                None if is_in_system_folder(Path::new(&file.path)) => {}
                None => self.missing_inputs += 1,
            }
        }
        let attributes = parse_attributes(environment).into_iter();
        self.attributes
            .extend(attributes.map(|of| (of.path.clone(), of)));
        let links = parse_links(environment).into_iter();
        self.links.extend(links.map(|link| (Tree::Elsewhere, link)));
        let folder = environment.get("folder");
        self.folder = folder.and_then(|folder| Some(folder.as_str()?.into_owned()));
    }

    fn missing(&self, wanted: Wanted) -> usize {
        match wanted {
            Wanted::Outputs => self.missing_outputs,
            Wanted::Inputs => self.missing_inputs,
            Wanted::All => self.missing_inputs + self.missing_outputs,
        }
    }
}

fn plan(run: &VerifiedRun<'_>, layout: &Layout, lists: &Lists) -> Vec<Planned> {
    let facts = &run.collected().facts;
    let mut planned = Vec::new();
    // Files of one content share one place in the bundle, so that their list says where they belong.
    let mut shared = BTreeSet::new();
    for file in &lists.machine {
        let stored = file.stored.as_deref().map(SafePath::parse);
        let to = layout.place(Tree::Elsewhere, &file.path);
        let (Some(Ok(stored)), Some(to)) = (stored, to) else {
            continue;
        };
        shared.insert(place_of_stored(stored.as_str()).to_owned());
        planned.push(Planned {
            stored,
            to,
            is_executable: false,
            attributes: lists.attributes.get(&file.path).cloned(),
        });
    }
    let files = facts.entries.iter();
    let files = files.filter(|(_, entry)| matches!(entry, EntryFact::File(_)));
    for (path, _) in files {
        let place = place_of_stored(path);
        // Where there are exact bytes, they are the file.
        let exact: Option<&FileFact> = facts.file(&exact_path(path));
        let Ok(stored) = SafePath::parse(path) else {
            continue;
        };
        if exact.is_some() && place == path || shared.contains(place) {
            continue;
        }
        let listed = lists.read.get(path);
        if let Some(to) = layout.place_of_stored(place) {
            planned.push(Planned {
                to: to.to_owned(),
                is_executable: lists.executable.contains(path)
                    || listed.is_some_and(|file| file.is_executable),
                attributes: listed.and_then(|file| lists.attributes.get(&file.path).cloned()),
                stored,
            });
        }
    }
    planned
}

/// The most links that are made.
const MOST_LINKS: usize = 200_000;

/// Links that are made, and how many are not.
struct PlannedLinks {
    planned: Vec<PlannedLink>,
    left_out: u64,
}

fn plan_links(
    lists: &Lists,
    layout: &Layout,
    files: &[Planned],
    folders: &BTreeSet<String>,
) -> PlannedLinks {
    let mut links = PlannedLinks {
        planned: Vec::new(),
        left_out: 0,
    };
    let mut taken: BTreeSet<String> = files.iter().map(|file| file.to.clone()).collect();
    let mut beneath = folders.clone();
    for (tree, link) in &lists.links {
        if !layout.has(*tree) {
            continue;
        }
        let planned = layout.place(*tree, &link.path).and_then(|to| {
            let target = layout.target(*tree, &link.path, &link.target)?;
            Some(PlannedLink { to, target })
        });
        let is_free = |link: &PlannedLink| {
            let mut above = folders_above([link.to.as_str()].into_iter()).into_iter();
            !taken.contains(&link.to)
                && !beneath.contains(&link.to)
                && !above.any(|folder| taken.contains(&folder))
        };
        let is_fine = |link: &PlannedLink| !is_too_deep(&link.to) && is_free(link);
        match planned
            .filter(is_fine)
            .filter(|_| links.planned.len() < MOST_LINKS)
        {
            Some(link) => {
                let above = folders_above([link.to.as_str()].into_iter());
                // Its name must not cost more folders than links do that somebody made.
                if beneath.len() + above.len() > 1000 + 4 * (taken.len() + 1) {
                    links.left_out += 1;
                    continue;
                }
                taken.insert(link.to.clone());
                beneath.extend(above);
                links.planned.push(link);
            }
            None => links.left_out += 1,
        }
    }
    links
}

/// The folders that the places lie in.
fn folders_above<'a>(places: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let mut folders = BTreeSet::new();
    for place in places {
        let cuts = place.match_indices('/');
        folders.extend(cuts.map(|(at, _)| place[..at].to_owned()));
    }
    folders
}

/// Refuses two files at one place, and a file where another one needs a folder.
fn check_collisions(planned: &[Planned]) -> Result<(), ExtractError> {
    let mut places = BTreeMap::new();
    for file in planned {
        if places.insert(file.to.as_str(), ()).is_some() {
            return Err(ExtractError::Collision(file.to.clone()));
        }
    }
    for file in planned {
        let cuts = file.to.match_indices('/');
        for (at, _) in cuts {
            if places.contains_key(&file.to[..at]) {
                return Err(ExtractError::Collision(file.to[..at].to_owned()));
            }
        }
    }
    Ok(())
}

/// Copies one file; gives its size. Reading fails if it is no longer what was verified.
fn copy(
    source: &dyn Source,
    file: &Planned,
    to: &Staging,
    room: &mut Room,
) -> Result<u64, ExtractError> {
    let read_error = |error| SourceError::Io {
        path: file.stored.to_string(),
        source: error,
    };
    let mut reader = source.open(&file.stored)?;
    let (mut copy, place) = to.create(&file.to)?;
    let mut buffer = vec![0; runseal_fs::stream::BUFFER];
    let mut total = 0;
    room.take(ENTRY_BYTES).map_err(WriteError::at(&place))?;
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(read_error(error).into()),
        };
        total += count as u64;
        room.take(count as u64).map_err(WriteError::at(&place))?;
        copy.write_all(&buffer[..count])
            .map_err(WriteError::at(&place))?;
    }
    set_attributes_of(&copy, file).map_err(WriteError::at(&place))?;
    Ok(total)
}

/// Gives a file the rights and the time that it had, as far as new files may have such rights.
fn set_attributes_of(copy: &File, file: &Planned) -> io::Result<()> {
    let mode = copy.metadata()?.permissions().mode() & 0o777;
    // Whoever may read it may execute it.
    let most = mode | (mode & 0o444) >> 2;
    let wanted = match (&file.attributes, file.is_executable) {
        // What cannot be read cannot be written to the disk, nor looked at.
        (Some(attributes), _) => attributes.mode & most | 0o400,
        (None, true) => most,
        (None, false) => mode,
    };
    if wanted != mode {
        copy.set_permissions(Permissions::from_mode(wanted))?;
    }
    match &file.attributes {
        Some(attributes) => set_modified(copy, attributes.modified),
        None => Ok(()),
    }
}

/// Gives folders the rights and times that they had, the innermost first: setting those changes nothing above.
fn set_folders(
    staging: &Staging,
    folders: &BTreeSet<String>,
    layout: &Layout,
    lists: &Lists,
) -> Result<(), ExtractError> {
    for (path, attributes) in lists.attributes.iter().rev() {
        let tree = match path.starts_with('/') {
            true => Tree::Elsewhere,
            false => Tree::Folder,
        };
        let Some(to) = layout.place(tree, path).filter(|to| folders.contains(to)) else {
            continue;
        };
        let folder = staging.folder(&to)?;
        let set = || -> io::Result<()> {
            let mode = folder.metadata()?.permissions().mode() & 0o777;
            // Its owner has to be able to take it away again.
            folder.set_permissions(Permissions::from_mode(attributes.mode & mode | 0o700))?;
            set_modified(&folder, attributes.modified)
        };
        set().map_err(WriteError::at(&staging.path().join(&to)))?;
    }
    Ok(())
}

fn set_modified(of: &File, (tv_sec, nanoseconds): (i64, u32)) -> io::Result<()> {
    let time = Timespec {
        tv_sec,
        tv_nsec: nanoseconds.into(),
    };
    let times = Timestamps {
        last_access: time,
        last_modification: time,
    };
    match rustix::fs::futimens(of, &times) {
        // A time that this file system does not have.
        Err(Errno::INVAL | Errno::OVERFLOW) => Ok(()),
        other => Ok(other?),
    }
}
