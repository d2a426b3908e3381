//! Sorts what a command was seen to do: which files are inputs, which belong to the machine, which
//! folders were listed, and what could not be seen.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use runseal_core::formats::run_bundle::recorded::CaptureGap;
use runseal_core::path::SafePath;
use runseal_sandbox::{
    Changed, FirstUse, FolderLayer, Gap, NEVER_SEEN, Observation, ObservedFile, ObservedKind,
};

use super::run::CommandRun;

/// What the sandbox makes by itself; nothing of the machine is in them.
const OF_THE_SANDBOX: [&str; 4] = [
    "/etc/group",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/passwd",
];

/// What recording never sees or keeps, beside what no observation sees.
const NEVER_KEPT: [&str; 3] = [
    "times, owners and extended attributes of files, and rights beyond the execute bit",
    "what a service outside the sandbox does for the command; it cannot be reached",
    "what a process did that was still running when the command ended: it was ended with it",
];

/// Names of one folder that are kept at the most.
const MOST_LISTED: usize = 10_000;

/// Files that are sealed at the most where nothing was seen, and all that may have been read are.
const MOST_DECLARED: usize = 20_000;

/// Examples that a gap names.
const SHOWN: usize = 5;

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
    pub(crate) when_opened: Option<(u64, i128)>,
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
    /// The size of a file; nothing for a folder.
    pub(crate) bytes: Option<u64>,
}

/// What a run took in.
#[derive(Debug, Default)]
pub(crate) struct Accesses {
    /// Files below the folder, by path.
    pub(crate) files: Vec<ReadFile>,
    /// Files among the inputs that were named, by path.
    pub(crate) inputs: Vec<ReadFile>,
    /// Links on the way to them.
    pub(crate) links: BTreeSet<Link>,
    /// Folders that were listed, by path below the folder; empty for itself.
    pub(crate) listed: BTreeMap<String, Vec<ListedName>>,
    /// Files of the machine.
    pub(crate) outside: Vec<ObservedFile>,
    /// What was not seen.
    pub(crate) gaps: BTreeSet<CaptureGap>,
}

/// Why what was read cannot be sealed.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// A name that no bundle can hold.
    #[error("`{shown}` was read, and a file of this name cannot be sealed: {why}")]
    Name {
        /// The name, made printable.
        shown: String,
        /// What is wrong with it.
        why: String,
    },
    /// Nothing was seen, and the folder has too much to seal it all.
    #[error("nothing was observed, and the folder has more than {0} files to seal instead")]
    TooMany(usize),
    /// A folder that could not be listed again.
    #[error("`{}` could not be listed", .path.display())]
    List {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Which part of the machine a run was to read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places<'a> {
    /// The command's folder.
    pub(crate) folder: &'a Path,
    /// The inputs that were named, as they are on the host: canonical.
    pub(crate) inputs: &'a [PathBuf],
    /// Where bundles go, where that was not there when the command ran.
    pub(crate) out: Option<&'a Path>,
    /// What else of the host the command saw: toolchains, wherever they lie.
    pub(crate) shown: &'a [PathBuf],
}

impl Places<'_> {
    fn shows(&self, path: &Path) -> bool {
        self.shown.iter().any(|shown| path.starts_with(shown))
    }
}

/// Sorts what `run` did.
pub(crate) fn sort_accesses(run: &CommandRun, places: Places<'_>) -> Result<Accesses, AccessError> {
    let mut found = Accesses::default();
    for sentence in NEVER_SEEN.iter().chain(&NEVER_KEPT) {
        found.gap("never-seen", *sentence);
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
    if let Some(observation) = run.observation() {
        found.sort_files(observation, places)?;
        found.add_sources(places)?;
        found.gaps.extend(observed_gaps(observation));
    } else {
        found.gap("not-observed", "nothing was observed");
    }
    if !run.observation().is_some_and(Observation::is_there) {
        found.add_folder(places)?;
    }
    if let Some(layer) = &run.recorded.layer {
        found.add_originals(layer, places)?;
    }
    found.files.sort_by(|a, b| a.path.cmp(&b.path));
    found.files.dedup_by(|a, b| a.path == b.path);
    found.inputs.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
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
    ) -> Result<(), AccessError> {
        let mut left_in_memory = Vec::new();
        let mut special = BTreeSet::new();
        for file in &observation.files {
            let is_input = (file.is_read || file.is_executed) && file.first != FirstUse::Write;
            let input = input_of(&file.path, places);
            match (file.kind, input) {
                (ObservedKind::File, Some(input)) if is_input => {
                    self.add_read(file, input, places)?;
                }
                (ObservedKind::File, None)
                    if is_input && (is_of_the_machine(&file.path) || places.shows(&file.path)) =>
                {
                    self.outside.push(file.clone());
                }
                (ObservedKind::Folder, Some(_)) if file.is_read => {
                    self.add_listed(&file.path, places)?;
                    self.add_links(file, places);
                }
                (ObservedKind::New, None) if is_private(&file.path) => {
                    left_in_memory.push(file.path.display().to_string());
                }
                (ObservedKind::Device | ObservedKind::Pipe | ObservedKind::Socket, None)
                    if file.is_read && !is_harmless(&file.path) =>
                {
                    special.insert(file.path.display().to_string());
                }
                (_, None) if file.is_read && is_of_the_kernel(&file.path) => {
                    special.insert(general_name(&file.path));
                }
                _ => {}
            }
        }
        if !special.is_empty() {
            let names: Vec<String> = special.into_iter().collect();
            self.gap(
                "device",
                format!("read what only the running kernel has: {}", some_of(&names)),
            );
        }
        if !left_in_memory.is_empty() {
            let what = some_of(&left_in_memory);
            self.gap(
                "temporary",
                format!("files made outside the folder were not kept: {what}"),
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
            when_opened: Some((file.bytes, file.modified_ns)),
        };
        match input {
            InputPlace::Folder(_) => self.files.push(read),
            InputPlace::Named(_) | InputPlace::Elsewhere { .. } => self.inputs.push(read),
        }
        self.add_links(file, places);
        Ok(())
    }

    /// Sources of Python modules whose compiled form was read: Python compares the two, and a replay
    /// has to compile them anew, since times are not kept.
    fn add_sources(&mut self, places: Places<'_>) -> Result<(), AccessError> {
        let known: BTreeSet<PathBuf> = self.files.iter().map(|file| file.host.clone()).collect();
        let sources: BTreeSet<PathBuf> = known
            .iter()
            .filter_map(|path| python_source(path))
            .collect();
        for source in sources.difference(&known) {
            self.add_original(source, places, &known)?;
        }
        Ok(())
    }

    /// The links below the folder over which `file` was reached.
    fn add_links(&mut self, file: &ObservedFile, places: Places<'_>) {
        for name in &file.also_as {
            let Ok(relative) = name.strip_prefix(places.folder) else {
                continue;
            };
            let mut place = places.folder.to_owned();
            for part in relative.components() {
                place.push(part);
                self.add_link(&place, places);
            }
        }
    }

    fn add_link(&mut self, place: &Path, places: Places<'_>) {
        let Ok(target) = fs::read_link(place) else {
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

    /// The names in a folder that the command listed: a replay shows the same names.
    fn add_listed(&mut self, path: &Path, places: Places<'_>) -> Result<(), AccessError> {
        let Ok(relative) = path.strip_prefix(places.folder) else {
            return Ok(());
        };
        let relative = text_of(relative)?.to_owned();
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            // The command made it, or it is gone meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(source) => {
                return Err(AccessError::List {
                    path: path.to_owned(),
                    source,
                });
            }
        };
        let mut names = Vec::new();
        let mut unnamed = 0;
        for entry in entries.flatten() {
            let place = entry.path();
            if Some(place.as_path()) == places.out
                || crate::unfinished::is_unfinished(entry.file_name().as_encoded_bytes())
            {
                continue;
            }
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
                unnamed += 1;
                continue;
            };
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if metadata.is_symlink() {
                self.add_link(&place, places);
            } else if metadata.is_dir() || metadata.is_file() {
                let bytes = metadata.is_file().then_some(metadata.len());
                names.push(ListedName { name, bytes });
            }
        }
        names.sort();
        if names.len() > MOST_LISTED {
            let count = names.len() - MOST_LISTED;
            names.truncate(MOST_LISTED);
            self.gap(
                "listing",
                format!("`{relative}` was listed and has {count} more names than are kept"),
            );
        }
        if unnamed > 0 {
            self.gap(
                "listing",
                format!("`{relative}` was listed and has {unnamed} names that are no UTF-8"),
            );
        }
        self.listed.insert(relative, names);
        Ok(())
    }

    /// Everything below the folder: what may have been read, where nothing was seen.
    fn add_folder(&mut self, places: Places<'_>) -> Result<(), AccessError> {
        let entries = fs::read_dir(places.folder).map_err(|source| AccessError::List {
            path: places.folder.to_owned(),
            source,
        })?;
        let known = BTreeSet::new();
        for entry in entries.flatten() {
            let path = entry.path();
            let is_history = entry.file_name() == OsStr::new(".git");
            if Some(path.as_path()) != places.out && !is_history {
                self.add_original(&path, places, &known)?;
            }
            if self.files.len() > MOST_DECLARED {
                return Err(AccessError::TooMany(MOST_DECLARED));
            }
        }
        Ok(())
    }

    /// What the command took away, or changed without being seen to read it, but whose content
    /// counts: a file that was appended to or only got other rights.
    fn add_originals(
        &mut self,
        layer: &FolderLayer,
        places: Places<'_>,
    ) -> Result<(), AccessError> {
        let known: BTreeSet<PathBuf> = self.files.iter().map(|file| file.host.clone()).collect();
        for change in layer.changes().iter().filter(|change| change.existed) {
            let host = places.folder.join(&change.path);
            let counts = match &change.now {
                Changed::Deleted => true,
                Changed::File { .. } => {
                    let now = layer.open(&change.path);
                    now.is_ok_and(|now| begins_with_file(now, &host))
                }
                _ => false,
            };
            if counts {
                self.add_original(&host, places, &known)?;
            }
        }
        Ok(())
    }

    fn add_original(
        &mut self,
        host: &Path,
        places: Places<'_>,
        known: &BTreeSet<PathBuf>,
    ) -> Result<(), AccessError> {
        let Ok(metadata) = fs::symlink_metadata(host) else {
            return Ok(());
        };
        if metadata.is_symlink() {
            self.add_link(host, places);
        } else if metadata.is_dir() {
            for entry in fs::read_dir(host).into_iter().flatten().flatten() {
                self.add_original(&entry.path(), places, known)?;
            }
        } else if metadata.is_file() && !known.contains(host) {
            let relative = host.strip_prefix(places.folder).unwrap_or(host);
            self.files.push(ReadFile {
                host: host.to_owned(),
                path: text_of(relative)?.to_owned(),
                place: safe_path(relative)?,
                when_opened: None,
            });
        }
        Ok(())
    }
}

/// What observation itself says that it missed, and what the command was refused.
pub(crate) fn observed_gaps(observation: &Observation) -> BTreeSet<CaptureGap> {
    let mut gaps = BTreeSet::new();
    let mut add = |kind: &str, detail: String| {
        gaps.insert(CaptureGap {
            kind: kind.to_owned(),
            detail,
        });
    };
    for attempt in &observation.network {
        let program = attempt.program.display();
        let ending = match attempt.is_refused {
            true => "and was refused",
            false => "and got it",
        };
        add(
            "network",
            format!("{program} asked for {} {ending}", attempt.target),
        );
    }
    for gap in &observation.gaps {
        let (kind, detail) = match gap {
            Gap::NotObserved { reason } => {
                ("not-observed", format!("nothing was observed: {reason}"))
            }
            Gap::TooManyFiles { not_kept } => (
                "too-many-files",
                format!("{not_kept} opens of further files were not kept"),
            ),
            Gap::TooManyPrograms => (
                "too-many-programs",
                "more programs used randomness, threads or the network than are kept".to_owned(),
            ),
            Gap::Unresolved { count } => (
                "unresolved",
                format!(
                    "{count} opens could not be told: their process was gone or changed the name"
                ),
            ),
            Gap::MountBelow { path } => (
                "mount",
                format!(
                    "`{}` is another file system and was not shown",
                    path.display()
                ),
            ),
            // Where the copy was means nothing to anybody.
            Gap::CopiedFolder { .. } => (
                "copied-folder",
                "the command ran in a copy of the folder, under another path".to_owned(),
            ),
        };
        add(kind, detail);
    }
    gaps
}

/// Whether the file at `host` is the beginning of `now`: appended to, or left as it was.
fn begins_with_file(mut now: fs::File, host: &Path) -> bool {
    let Ok(mut before) = fs::File::open(host) else {
        return false;
    };
    let is_empty = before.metadata().is_ok_and(|metadata| metadata.len() == 0);
    let (mut a, mut b) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    loop {
        let Ok(count) = crate::input::fill(&mut before, &mut a) else {
            return false;
        };
        if count == 0 {
            return !is_empty;
        }
        match crate::input::fill(&mut now, &mut b[..count]) {
            Ok(other) if other == count && a[..count] == b[..count] => {}
            _ => return false,
        }
    }
}

/// `a/b.py` for `a/__pycache__/b.cpython-311.pyc`.
fn python_source(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?.strip_suffix(".pyc")?;
    let cache = path.parent()?;
    if cache.file_name()? != OsStr::new("__pycache__") {
        return None;
    }
    let module = name.split('.').next()?;
    Some(cache.parent()?.join(format!("{module}.py")))
}

/// Which of the places that a run was to read a path lies in.
#[derive(Debug, Clone, Copy)]
enum InputPlace<'a> {
    /// Below the command's folder.
    Folder(&'a Path),
    /// Below the folder and named as an input.
    Named(&'a Path),
    /// An input outside of the folder.
    Elsewhere { absolute: &'a Path, place: &'a Path },
}

impl<'a> InputPlace<'a> {
    fn place(&self) -> &'a Path {
        match self {
            Self::Folder(path) | Self::Named(path) => path,
            Self::Elsewhere { place, .. } => place,
        }
    }
}

fn input_of<'a>(path: &'a Path, places: Places<'_>) -> Option<InputPlace<'a>> {
    let named = places.inputs.iter().find(|input| path.starts_with(input));
    match (path.strip_prefix(places.folder).ok(), named) {
        (Some(relative), None) => Some(InputPlace::Folder(relative)),
        (Some(relative), Some(_)) => Some(InputPlace::Named(relative)),
        (None, Some(input)) => {
            // `/data/set/a.csv` of the input `/data/set` goes to `set/a.csv`.
            let above = input.parent().unwrap_or(Path::new("/"));
            let place = path.strip_prefix(above).unwrap_or(path);
            Some(InputPlace::Elsewhere {
                absolute: path,
                place,
            })
        }
        (None, None) => None,
    }
}

fn is_private(path: &Path) -> bool {
    ["/tmp", "/dev/shm"].iter().any(|top| path.starts_with(top))
}

fn is_of_the_kernel(path: &Path) -> bool {
    ["/proc", "/sys"].iter().any(|top| path.starts_with(top))
}

/// Whether a file outside of the folder is one of the machine's that can be hashed.
pub(crate) fn is_of_the_machine(path: &Path) -> bool {
    let is_own = OF_THE_SANDBOX.iter().any(|own| path == Path::new(own));
    !is_own && !is_private(path) && !is_of_the_kernel(path) && !path.starts_with("/dev")
}

/// Devices that give everybody the same.
fn is_harmless(path: &Path) -> bool {
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty"]
        .iter()
        .any(|own| path == Path::new(own))
        || path.starts_with("/proc")
}

/// `/proc/17/stat` as `/proc/<process>/stat`: numbers of processes mean nothing later.
fn general_name(path: &Path) -> String {
    let part = |part: &OsStr| match part.to_str() {
        Some(text) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            "<process>".to_owned()
        }
        _ => part.to_string_lossy().into_owned(),
    };
    path.iter()
        .map(part)
        .collect::<Vec<_>>()
        .join("/")
        .replacen("//", "/", 1)
}

/// The first of some names, and how many more there are.
fn some_of(names: &[String]) -> String {
    let shown = names
        .iter()
        .take(SHOWN)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn text_of(path: &Path) -> Result<&str, AccessError> {
    path.to_str().ok_or_else(|| AccessError::Name {
        shown: path
            .as_os_str()
            .as_encoded_bytes()
            .escape_ascii()
            .to_string(),
        why: "it is no UTF-8".to_owned(),
    })
}

fn safe_path(path: &Path) -> Result<SafePath, AccessError> {
    let text = text_of(path)?;
    SafePath::parse(text).map_err(|fault| AccessError::Name {
        shown: text.escape_debug().to_string(),
        why: fault.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_elsewhere_keeps_its_own_name_and_what_is_below_it() {
        let inputs = [PathBuf::from("/data/set"), PathBuf::from("/p/own.csv")];
        let places = Places {
            folder: Path::new("/p"),
            inputs: &inputs,
            out: None,
            shown: &[],
        };
        let place = |path: &'static str| {
            let found = input_of(Path::new(path), places);
            found.map(|found| found.place().display().to_string())
        };
        assert_eq!(place("/data/set/a/b.csv").as_deref(), Some("set/a/b.csv"));
        assert_eq!(place("/p/own.csv").as_deref(), Some("own.csv"));
        assert_eq!(place("/p/lib/x.py").as_deref(), Some("lib/x.py"));
        assert_eq!(place("/data/settle"), None);
    }

    #[test]
    fn python_source_is_found_beside_its_cache() {
        let source = |path: &str| python_source(Path::new(path));
        let cached = "/p/lib/__pycache__/helper.cpython-311.opt-1.pyc";
        assert_eq!(source(cached), Some("/p/lib/helper.py".into()));
        assert_eq!(source("/p/lib/helper.pyc"), None);
        assert_eq!(source("/p/__pycache__/helper.txt"), None);
    }

    #[test]
    fn general_name_has_no_process_numbers() {
        assert_eq!(
            general_name(Path::new("/proc/17/stat")),
            "/proc/<process>/stat"
        );
        assert_eq!(general_name(Path::new("/sys/x1")), "/sys/x1");
    }
}
