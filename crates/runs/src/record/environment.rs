//! RUN_ENVIRONMENT.json: what a run used of the machine, and how it was observed.
//!
//! Files of the machine are listed one by one with their hashes and packages. Of those that a package of the
//! system owns, the bytes are not in the bundle: a replay can detect another interpreter or library there, but
//! not restore the old one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use runseal_core::canon::Value;
use runseal_core::digest::Digest;
use runseal_core::formats::run_bundle::recorded::{CaptureGap, TERMINAL_MEMBER};
use runseal_sandbox::{Isolation, Observation, ObservedFile};

use super::accesses::{ListedName, PresentEntry};
use super::ahead::FilesAhead;
use super::documents::{FileEntry, list_files, list_texts};
use super::outside::{find_links, python_source};
use super::packages::{Owner, Package, PackageLists};
use super::surroundings::Surroundings;
use super::terminal::StreamKinds;
use crate::world::World;
use runseal_fs::input::open_regular;
use runseal_fs::stream::{BUFFER, digest_through};
use runseal_fs::threads::{Task, processors};

/// The version of what RUN_ENVIRONMENT.json holds.
pub(crate) const VERSION: &str = "1.0.0";

/// A file of the machine that a run read or executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MachineFile {
    pub(crate) path: String,
    pub(crate) sha256: Digest,
    pub(crate) bytes: u64,
    pub(crate) is_executed: bool,
    pub(crate) package: Option<Package>,
    /// Whether it is not known to be what that package has, so that it cannot be had elsewhere.
    pub(crate) is_altered: bool,
    /// Where in the bundle its bytes are.
    pub(crate) stored: Option<String>,
    pub(crate) mode: u32,
    pub(crate) modified_ns: i128,
    /// Whether it is not what was opened any more.
    pub(crate) is_changed: bool,
}

/// What a run used of the machine.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    pub(crate) files: Vec<MachineFile>,
    /// The links on the way to them.
    pub(crate) links: BTreeMap<PathBuf, PathBuf>,
    /// The paths of those links that packages of the system own.
    pub(crate) owned: BTreeSet<String>,
    /// What could not be read, or has changed since it was opened.
    pub(crate) gaps: BTreeSet<CaptureGap>,
}

/// Reads the machine's package lists while the command runs: all of them only if the command takes
/// long, since those for a short one are usually among the likely ones.
///
/// It starts when the command does. Setting up the sandbox forks this process several times, and
/// threads that fill memory meanwhile would make each fork slower.
pub(crate) struct PackageReader {
    /// Nothing where no thread could be started.
    thread: Option<thread::JoinHandle<PackageLists>>,
    /// Told when the command has begun, or will not any more.
    begun: mpsc::Sender<()>,
    /// Dropped when the command has ended.
    running: mpsc::Sender<()>,
}

/// How long a command must run to count as long: an interpreter has begun to read its modules by then, of which some
/// belong to no likely package.
const LONG: Duration = Duration::from_millis(10);

impl PackageReader {
    pub(crate) fn start() -> Self {
        let (begun, beginning) = mpsc::channel();
        let (running, ended) = mpsc::channel();
        let thread = thread::Builder::new().spawn(move || {
            let _ = beginning.recv();
            let mut lists = PackageLists::load();
            if ended.recv_timeout(LONG) == Err(mpsc::RecvTimeoutError::Timeout) {
                lists.read_all_while(|| ended.try_recv() == Err(mpsc::TryRecvError::Empty));
            }
            lists
        });
        Self {
            thread: thread.ok(),
            begun,
            running,
        }
    }

    /// A callback for when the command has begun; further calls have no effect.
    pub(crate) fn beginner(&self) -> impl Fn() + Send + Sync + 'static {
        let begun = self.begun.clone();
        let was_called = AtomicBool::new(false);
        move || {
            if !was_called.swap(true, Ordering::Relaxed) {
                let _ = begun.send(());
            }
        }
    }

    fn finish(self) -> PackageLists {
        // If the command was not observed, nobody has signalled its start.
        let _ = self.begun.send(());
        drop(self.running);
        let lists = self.thread.and_then(|thread| thread.join().ok());
        lists.unwrap_or_else(PackageLists::load)
    }
}

/// Hashes the files of the machine and names their packages.
pub(crate) fn list_machine(
    files: &[ObservedFile],
    packages: PackageReader,
    ahead: &FilesAhead,
) -> Machine {
    let named: Vec<(&ObservedFile, &str)> = files
        .iter()
        .filter_map(|file| Some((file, file.path.to_str()?)))
        .collect();
    let paths: Vec<&str> = named.iter().map(|(_, path)| *path).collect();
    let links = find_links(files);
    let mut all = paths.clone();
    all.extend(links.keys().filter_map(|link| link.to_str()));
    // What Python compiled belongs to the package of its source.
    let source_of = |path: &str| python_source(Path::new(path))?.to_str().map(str::to_owned);
    let sources: Vec<String> = paths.iter().filter_map(|path| source_of(path)).collect();
    all.extend(sources.iter().map(String::as_str));
    let (digests, owners) = thread::scope(|scope| {
        let looking = thread::Builder::new().spawn_scoped(scope, || packages.finish().find(&all));
        let digests = digest_rest(&paths, ahead);
        let owners = looking.ok().and_then(|looking| looking.join().ok());
        (digests, owners.unwrap_or_default())
    });
    let altered = find_altered(&paths, &digests, &owners);
    let mut machine = Machine::default();
    let gaps = &mut machine.gaps;
    let mut gap = |kind: &str, detail: String| {
        gaps.insert(CaptureGap {
            kind: kind.to_owned(),
            detail,
        });
    };
    for ((file, path), digest) in named.into_iter().zip(digests) {
        let (sha256, bytes) = match digest {
            Ok(digest) => digest,
            Err(error) => {
                gap(
                    "unreadable",
                    format!("`{path}` was read and could not be hashed: {error}"),
                );
                continue;
            }
        };
        let metadata = fs::metadata(path).ok();
        let modified = metadata.as_ref().map(modified_ns);
        let is_changed = bytes != file.bytes || modified != Some(file.modified_ns);
        if is_changed {
            gap("changed", format!("`{path}` changed while the command ran"));
        }
        machine.files.push(MachineFile {
            path: path.to_owned(),
            sha256,
            bytes,
            is_executed: file.is_executed,
            package: owners
                .get(path)
                .or_else(|| owners.get(&source_of(path)?))
                .map(|owner| owner.package.clone()),
            is_altered: altered.contains(path),
            stored: None,
            mode: metadata.map_or(0o644, |metadata| metadata.mode()),
            modified_ns: file.modified_ns,
            is_changed,
        });
    }
    let owned = links.keys().filter_map(|link| link.to_str());
    let owned = owned.filter(|link| owners.contains_key(*link));
    machine.owned = owned.map(str::to_owned).collect();
    machine.links = links;
    machine
}

/// Those of `paths` that a package owns and that are not known to have its content, found on all processors.
fn find_altered<'p>(
    paths: &[&'p str],
    digests: &[Digested],
    owners: &BTreeMap<String, Owner>,
) -> BTreeSet<&'p str> {
    let owned = paths.iter().zip(digests).filter_map(|(path, digest)| {
        let (sha256, bytes) = digest.as_ref().ok()?;
        Some((*path, owners.get(*path)?, (sha256, *bytes)))
    });
    let owned: Vec<_> = owned.collect();
    let is_altered = |(path, owner, found): &(&str, &Owner, (&Digest, u64))| {
        !owner.content.is_at(Path::new(path), *found)
    };
    let find = |some: &[(&'p str, &Owner, (&Digest, u64))]| -> Vec<&'p str> {
        let altered = some.iter().filter(|it| is_altered(it));
        altered.map(|(path, ..)| *path).collect()
    };
    let each = owned.len().div_ceil(processors().clamp(1, 8)).max(1);
    thread::scope(|scope| {
        let (own, others) = owned.split_at(each.min(owned.len()));
        let others: Vec<_> = others
            .chunks(each)
            .map(|some| (some, Task::begin(scope, || find(some))))
            .collect();
        let mut altered: BTreeSet<&str> = find(own).into_iter().collect();
        for (some, task) in others {
            // Nobody knows what a thread that broke down had found.
            let all = |_| some.iter().map(|(path, ..)| *path).collect();
            altered.extend(task.finish().unwrap_or_else(all));
        }
        altered
    })
}

/// The modification time, in the form that observation uses.
pub(crate) fn modified_ns(metadata: &fs::Metadata) -> i128 {
    i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec())
}

/// The time of the last change of anything about a file, which no program can set back.
pub(crate) fn status_changed_ns(metadata: &fs::Metadata) -> i128 {
    i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec())
}

type Digested = io::Result<(Digest, u64)>;

/// The digests of files, in order: known ones if the file is unchanged since it was read ahead, all
/// others computed now.
fn digest_rest(paths: &[&str], ahead: &FilesAhead) -> Vec<Digested> {
    let known = |path: &&str| {
        let now = fs::metadata(path).ok()?;
        let read = ahead.get(Path::new(path), &now)?;
        Some((read.sha256, read.bytes))
    };
    let known: Vec<Option<(Digest, u64)>> = paths.iter().map(known).collect();
    let rest = paths
        .iter()
        .zip(&known)
        .filter(|(_, known)| known.is_none());
    let rest: Vec<&str> = rest.map(|(path, _)| *path).collect();
    let mut rest = digest_all(&rest, &|| Ok(())).into_iter();
    let missing = || Err(io::Error::other("the hashing thread broke down"));
    let all = known.into_iter();
    all.map(|known| {
        known
            .map(Ok)
            .or_else(|| rest.next())
            .unwrap_or_else(missing)
    })
    .collect()
}

/// The digests of regular files, in order, computed on all processors. `proceed` is asked again and again, and
/// ends the work with its error.
pub(crate) fn digest_all(
    paths: &[&str],
    proceed: &(dyn Fn() -> io::Result<()> + Sync),
) -> Vec<Digested> {
    let next = AtomicUsize::new(0);
    let done: Mutex<BTreeMap<usize, Digested>> = Mutex::new(BTreeMap::new());
    let work = || {
        let mut buffer = vec![0; BUFFER];
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = paths.get(at) else {
                return;
            };
            let digest = digest_file(Path::new(path), &mut buffer, proceed);
            done.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(at, digest);
        }
    };
    let helpers = processors();
    let helpers = helpers.min(paths.len()).saturating_sub(1).min(7);
    thread::scope(|scope| {
        for _ in 0..helpers {
            // Without them it takes longer.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.into_values().collect()
}

fn digest_file(
    path: &Path,
    buffer: &mut [u8],
    proceed: &(dyn Fn() -> io::Result<()> + Sync),
) -> Digested {
    proceed()?;
    let (file, bytes) = open_regular(path).map_err(io::Error::other)?;
    // One byte more tells that it grew meanwhile.
    let mut file = file.take(bytes.saturating_add(1));
    digest_through(&mut file, bytes, buffer, |_| proceed())
}

/// How a run was isolated and observed.
#[derive(Debug)]
pub(crate) struct Circumstances<'a> {
    pub(crate) isolation: Isolation,
    pub(crate) observation: Option<&'a Observation>,
    pub(crate) gaps: &'a BTreeSet<CaptureGap>,
    pub(crate) machine: &'a [MachineFile],
    /// The whole environment of the command.
    pub(crate) variables: &'a BTreeMap<String, String>,
    /// The command's folder; `None` for an engine, whose folder has a fixed place.
    pub(crate) folder: Option<&'a Path>,
    /// The program that was started.
    pub(crate) program: Option<PathBuf>,
    pub(crate) listed: &'a BTreeMap<String, Vec<ListedName>>,
    /// What else was there and counted.
    pub(crate) present: &'a BTreeMap<String, PresentEntry>,
    /// What a recorded command was to see of the machine.
    pub(crate) world: Option<&'a World>,
    /// What the standard streams of a recorded command led to, and its terminal.
    pub(crate) streams: Option<(StreamKinds, Option<Value>)>,
    /// Files of an engine that it read; those of a recorded command are in its input.
    pub(crate) engine_files: Option<&'a [FileEntry]>,
    /// What else is said of a recorded command.
    pub(crate) surroundings: Option<&'a Surroundings>,
}

/// RUN_ENVIRONMENT.json.
pub(crate) fn make_environment(seen: &Circumstances<'_>) -> Value {
    let variable = |name: &str| seen.variables.get(name).map_or("", String::as_str);
    let mut environment = Value::object([
        ("environment_version", VERSION),
        ("architecture", std::env::consts::ARCH),
        ("kernel", kernel_release().as_str()),
        ("locale", variable("LC_ALL")),
        ("timezone", variable("TZ")),
    ]);
    environment.insert("variables", list_texts(seen.variables));
    environment.insert("sandbox", Value::object([("level", seen.isolation.name())]));
    environment.insert("observation", describe_observation(seen));
    environment.insert(
        "files",
        Value::array(seen.machine.iter().map(machine_value)),
    );
    if let Some(folder) = seen.folder.and_then(Path::to_str) {
        environment.insert("folder", folder);
    }
    if let Some(program) = seen.program.as_deref().and_then(Path::to_str) {
        environment.insert("program", program);
    }
    if let Some((streams, terminal)) = &seen.streams {
        environment.insert("streams", streams.to_value());
        if let Some(terminal) = terminal {
            environment.insert(TERMINAL_MEMBER, terminal.clone());
        }
    }
    let became = seen.observation.and_then(|seen| seen.became.as_deref());
    if let Some(became) = became.and_then(Path::to_str) {
        environment.insert("became", became);
    }
    let listed = seen
        .listed
        .iter()
        .map(|(path, names)| listed_value(path, names));
    if seen.engine_files.is_none() {
        environment.insert("listed", Value::array(listed));
        let present = seen.present.iter();
        let present = present.map(|(path, what)| present_value("path", path, *what));
        environment.insert("present", Value::array(present));
    }
    if let Some(world) = seen.world {
        environment.insert("world", world.to_value());
    }
    if let Some(files) = seen.engine_files {
        environment.insert("engine_files", list_files(files));
    }
    if let Some(surroundings) = seen.surroundings {
        surroundings.add_to(&mut environment);
    }
    environment
}

fn kernel_release() -> String {
    let read = |name: &str| {
        let text = fs::read_to_string(format!("/proc/sys/kernel/{name}"));
        text.map(|text| text.trim().to_owned()).unwrap_or_default()
    };
    format!("{} {}", read("ostype"), read("osrelease"))
        .trim()
        .to_owned()
}

fn machine_value(file: &MachineFile) -> Value {
    let mut value = Value::object([
        ("path", file.path.as_str()),
        ("sha256", file.sha256.to_string().as_str()),
    ]);
    value.insert("bytes", file.bytes);
    value.insert("executed", file.is_executed);
    if let Some(package) = &file.package {
        value.insert("package", package.name.as_str());
        value.insert("version", package.version.as_str());
    }
    if let Some(stored) = &file.stored {
        value.insert("stored", stored.as_str());
    }
    value
}

fn listed_value(path: &str, names: &[ListedName]) -> Value {
    let entry = |name: &ListedName| present_value("name", &name.name, name.what);
    let mut value = Value::object([("path", path)]);
    value.insert("entries", Value::array(names.iter().map(entry)));
    value
}

/// What stood at a name, which the member `key` says.
fn present_value(key: &'static str, name: &str, what: PresentEntry) -> Value {
    let mut value = Value::object([(key, name)]);
    match what {
        PresentEntry::Folder => {
            value.insert("folder", true);
        }
        PresentEntry::File {
            bytes,
            is_executable,
        } => {
            value.insert("bytes", bytes);
            if is_executable {
                value.insert("executable", true);
            }
        }
    }
    value
}

fn describe_observation(seen: &Circumstances<'_>) -> Value {
    let is_there = seen.observation.is_some_and(Observation::is_there);
    let mut value = Value::object([("level", if is_there { "observed" } else { "declared" })]);
    let gap = |gap: &CaptureGap| {
        Value::object([("kind", gap.kind.as_str()), ("detail", gap.detail.as_str())])
    };
    value.insert("gaps", Value::array(seen.gaps.iter().map(gap)));
    let names = |programs: &BTreeMap<PathBuf, u64>| {
        let names = programs.keys().map(|path| path.display().to_string());
        Value::array(names.collect::<Vec<_>>())
    };
    if let Some(observation) = seen.observation {
        value.insert("randomness", names(&observation.randomness));
        value.insert("threads", names(&observation.threads));
    }
    value
}

#[cfg(test)]
mod tests {
    use runseal_core::source::Algorithm;

    use super::super::packages::Content;
    use super::*;

    #[test]
    fn file_of_a_package_with_other_content_is_altered() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let files = [
            put("as-it-was", "abc"),
            put("edited", "abd"),
            put("nobodys", "abc"),
            put("unknown", "abc"),
        ];
        let paths: Vec<&str> = files.iter().map(String::as_str).collect();
        let package = Package {
            name: "p".to_owned(),
            version: "1".to_owned(),
        };
        let md5 = Content::Digest {
            algorithm: Algorithm::Md5,
            hex: "900150983cd24fb0d6963f7d28e17f72".to_owned(),
            installed_ns: None,
        };
        let owner = |content: &Content| Owner {
            package: package.clone(),
            content: content.clone(),
        };
        let owners = BTreeMap::from([
            (files[0].clone(), owner(&md5)),
            (files[1].clone(), owner(&md5)),
            (files[3].clone(), owner(&Content::Unknown)),
        ]);
        let digests = digest_all(&paths, &|| Ok(()));
        let altered = find_altered(&paths, &digests, &owners);
        assert_eq!(altered, BTreeSet::from([paths[1], paths[3]]));
    }
}
