//! Object storage as files: runs appear as folders, other objects as themselves.
//!
//! What a path refers to is determined once and cached: a run's manifest, or the listing of a
//! folder. The objects in which runs are stored are hidden.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runseal_archive::Archive;
use runseal_core::digest::Digest;
use runseal_core::path::SafePath;
use runseal_core::source::{EntryKind, Source, SourceError, read_bounded};
use runseal_fs::threads::processors;
use runseal_survey::Files;

use super::address::S3Address;
use super::client::{Bucket, ObjectFacts};
use super::listing::Listed;
use super::object::ObjectFile;
use super::packed;
use super::place::{BLOBS, MANIFEST, RUNS, S3Blobs, check_pin, read_manifest};
use super::plain::PlainFolder;
use crate::blobs::{BlobStore, RunSource, digest_all, into_io};
use crate::error::RemoteError;
use crate::http::Http;
use crate::manifest::RunManifest;

/// The most runs whose manifests are cached.
const KEPT_RUNS: usize = 64;
/// The number of parallel requests per verifying thread.
const CONNECTIONS_PER_THREAD: usize = 8;
/// The most parallel requests for one run.
const MAX_CONNECTIONS: usize = 32;

/// Object storage, with the keys from the environment.
#[derive(Debug, Default)]
pub struct S3Files {
    http: Http,
    buckets: Mutex<BTreeMap<String, Arc<Bucket>>>,
    runs: Mutex<KeptRuns>,
    listings: Mutex<BTreeMap<S3Address, Arc<Listing>>>,
}

/// A run that was looked up.
struct Run {
    manifest: Arc<RunManifest>,
    digest: Digest,
    blobs: Arc<dyn BlobStore>,
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Run({})", self.digest)
    }
}

/// The most recently used runs, and addresses known to have none.
#[derive(Debug, Default)]
struct KeptRuns {
    found: BTreeMap<S3Address, Option<Arc<Run>>>,
    order: VecDeque<S3Address>,
}

/// A run, and a path in it; `None` for the run itself.
type PlaceInRun = (Arc<Run>, Option<SafePath>);

/// The names in a folder.
type Listing = BTreeMap<String, EntryKind>;

/// What an address refers to.
enum Node {
    /// A run, or a folder or file of it.
    Run(Arc<Run>, Option<SafePath>),
    /// A plain object.
    Object(Arc<Bucket>, ObjectFacts),
    /// A prefix of other keys.
    Folder(Arc<Bucket>),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl S3Files {
    fn bucket(&self, name: &str) -> Result<Arc<Bucket>, RemoteError> {
        if let Some(bucket) = lock(&self.buckets).get(name) {
            return Ok(bucket.clone());
        }
        let bucket = Arc::new(Bucket::open(&self.http, name)?);
        lock(&self.buckets).insert(name.to_owned(), bucket.clone());
        Ok(bucket)
    }

    /// Finds the run at an address, if there is one.
    fn run_at(&self, address: &S3Address) -> Result<Option<Arc<Run>>, RemoteError> {
        let Some((folder, name)) = address.parent() else {
            return Ok(None);
        };
        let key = address.unpinned();
        let kept = lock(&self.runs).found.get(&key).cloned();
        let run = match kept {
            Some(run) => run,
            None => {
                let listing = lock(&self.listings).get(&folder.unpinned()).cloned();
                if listing.is_some_and(|names| !names.contains_key(name)) {
                    return Ok(None);
                }
                let bucket = self.bucket(&address.bucket)?;
                let found = read_manifest(&bucket, &address.key)?;
                let run = found.map(|(manifest, digest)| {
                    Arc::new(Run {
                        manifest: Arc::new(manifest),
                        digest,
                        blobs: Arc::new(S3Blobs {
                            bucket,
                            prefix: folder.key.clone(),
                        }),
                    })
                });
                lock(&self.runs).keep(key, run.clone());
                run
            }
        };
        match run {
            Some(run) => check_pin(address, run.digest).map(|()| Some(run)),
            None => Ok(None),
        }
    }

    /// Finds the run that an address names or is in, searching from the address upwards.
    fn run_around(&self, address: &S3Address) -> Result<Option<PlaceInRun>, RemoteError> {
        let mut around = vec![address.clone()];
        while let Some((above, _)) = around.last().and_then(S3Address::parent) {
            around.push(above);
        }
        // Most requests concern files of a run that is already cached.
        let is_kept = |at: &&S3Address| {
            let kept = lock(&self.runs);
            matches!(kept.found.get(&at.unpinned()), Some(Some(_)))
        };
        let kept = around.iter().find(is_kept).into_iter();
        for at in kept.chain(&around) {
            let Some(run) = self.run_at(at)? else {
                continue;
            };
            let inside = match address.key.get(at.key.len() + 1..) {
                None => None,
                Some(rest) => {
                    let inside = SafePath::parse(rest);
                    Some(inside.map_err(|_| RemoteError::NotFound {
                        place: address.to_string(),
                    })?)
                }
            };
            return Ok(Some((run, inside)));
        }
        Ok(None)
    }

    /// Determines what an address refers to.
    fn find(&self, path: &Path) -> Result<(S3Address, Node), RemoteError> {
        let address = S3Address::parse(&path.to_string_lossy())?;
        let missing = || RemoteError::NotFound {
            place: address.to_string(),
        };
        if let Some((run, inside)) = self.run_around(&address)? {
            return Ok((address, Node::Run(run, inside)));
        }
        if address.pin.is_some() {
            return Err(missing());
        }
        let bucket = self.bucket(&address.bucket)?;
        if address.key.is_empty() {
            return Ok((address, Node::Folder(bucket)));
        }
        if let Some((folder, name)) = address.parent()
            && let Some(listing) = lock(&self.listings).get(&folder).cloned()
        {
            match listing.get(name) {
                None => return Err(missing()),
                Some(EntryKind::Directory) => return Ok((address, Node::Folder(bucket))),
                Some(_) => {}
            }
        }
        if let Some(facts) = bucket.head(&address.key)? {
            return Ok((address, Node::Object(bucket, facts)));
        }
        if bucket.has_below(&address.key)? {
            Ok((address, Node::Folder(bucket)))
        } else {
            Err(missing())
        }
    }

    /// Lists the names in a folder that is not a run: runs, folders and objects.
    fn listing(&self, address: &S3Address) -> Result<Arc<Listing>, RemoteError> {
        let address = address.unpinned();
        if let Some(listing) = lock(&self.listings).get(&address) {
            return Ok(listing.clone());
        }
        let bucket = self.bucket(&address.bucket)?;
        let mut listing = Listing::new();
        bucket.list(&address.key, &mut |listed| match listed {
            Listed::Object(name, _) => {
                listing.insert(name, EntryKind::File);
            }
            Listed::Folder(name) => {
                listing.insert(name, EntryKind::Directory);
            }
        })?;
        if listing.contains_key(RUNS) {
            let mut runs = Vec::new();
            let mut has_others = false;
            bucket.list(&address.child(RUNS).key, &mut |listed| match &listed {
                Listed::Object(name, _) => match name.strip_suffix(MANIFEST) {
                    Some(run) if !run.is_empty() => runs.push(run.to_owned()),
                    _ => has_others = true,
                },
                Listed::Folder(_) => has_others = true,
            })?;
            if !runs.is_empty() {
                listing.remove(BLOBS);
                if !has_others {
                    listing.remove(RUNS);
                }
            }
            listing.extend(runs.into_iter().map(|run| (run, EntryKind::Directory)));
        }
        let listing = Arc::new(listing);
        lock(&self.listings).insert(address, listing.clone());
        Ok(listing)
    }
}

impl KeptRuns {
    fn keep(&mut self, address: S3Address, run: Option<Arc<Run>>) {
        if self.found.insert(address.clone(), run).is_none() {
            self.order.push_back(address);
        }
        while self.order.len() > KEPT_RUNS
            && let Some(oldest) = self.order.pop_front()
        {
            self.found.remove(&oldest);
        }
    }
}

impl Run {
    fn source(&self, connections: usize) -> RunSource {
        RunSource::new(self.manifest.clone(), self.blobs.clone(), connections)
    }

    fn kind_of(&self, inside: Option<&SafePath>) -> Option<EntryKind> {
        let Some(path) = inside else {
            return Some(EntryKind::Directory);
        };
        if self.manifest.files.contains_key(path) {
            return Some(EntryKind::File);
        }
        let is_folder = self.manifest.folders().contains(path.as_str());
        is_folder.then_some(EntryKind::Directory)
    }
}

fn failed(path: &Path, error: RemoteError) -> SourceError {
    let path = path.to_string_lossy().into_owned();
    match error {
        RemoteError::NotFound { .. } => SourceError::NotFound { path },
        error => SourceError::Io {
            path,
            source: into_io(error),
        },
    }
}

fn not_a_file(path: &Path) -> SourceError {
    SourceError::NotAFile {
        path: path.to_string_lossy().into_owned(),
        kind: EntryKind::Directory,
    }
}

impl Files for S3Files {
    fn kind(&self, path: &Path) -> io::Result<EntryKind> {
        let (_, node) = self.find(path).map_err(into_io)?;
        match node {
            Node::Run(run, inside) => {
                let kind = run.kind_of(inside.as_ref());
                kind.ok_or_else(|| io::ErrorKind::NotFound.into())
            }
            Node::Object(..) => Ok(EntryKind::File),
            Node::Folder(_) => Ok(EntryKind::Directory),
        }
    }

    fn is_there(&self, path: &Path) -> bool {
        self.kind(path).is_ok()
    }

    fn list(&self, folder: &Path, each: &mut dyn FnMut(&[u8], EntryKind)) -> io::Result<()> {
        let (address, node) = self.find(folder).map_err(into_io)?;
        match node {
            Node::Object(..) => Err(io::ErrorKind::NotADirectory.into()),
            Node::Folder(_) => {
                for (name, kind) in self.listing(&address).map_err(into_io)?.iter() {
                    each(name.as_bytes(), *kind);
                }
                Ok(())
            }
            Node::Run(run, inside) => {
                if run.kind_of(inside.as_ref()) != Some(EntryKind::Directory) {
                    return Err(io::ErrorKind::NotADirectory.into());
                }
                let start = inside.map_or_else(String::new, |inside| format!("{inside}/"));
                let files = run.manifest.files.keys();
                let files = files.map(|path| (path.as_str(), EntryKind::File));
                let folders = run.manifest.folders();
                let folders = folders.into_iter().map(|name| (name, EntryKind::Directory));
                for (name, kind) in files.chain(folders) {
                    let name = name.strip_prefix(&start);
                    if let Some(name) = name.filter(|name| !name.contains('/')) {
                        each(name.as_bytes(), kind);
                    }
                }
                Ok(())
            }
        }
    }

    fn path_of(&self, bytes: &[u8]) -> Option<PathBuf> {
        str::from_utf8(bytes).ok().map(PathBuf::from)
    }

    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, SourceError> {
        let shown = path.to_string_lossy().into_owned();
        match self.find(path).map_err(|error| failed(path, error))? {
            (_, Node::Folder(_) | Node::Run(_, None)) => Err(not_a_file(path)),
            (_, Node::Run(run, Some(inside))) => run.source(1).read(&inside, limit),
            (address, Node::Object(bucket, facts)) => {
                if facts.bytes > limit {
                    return Err(SourceError::TooLarge { path: shown, limit });
                }
                let file = ObjectFile::new(&bucket, &address.key, &facts);
                read_bounded(file, &shown, facts.bytes, limit)
            }
        }
    }

    fn digest(&self, path: &Path) -> Result<Digest, SourceError> {
        let unread = |source| SourceError::Io {
            path: path.to_string_lossy().into_owned(),
            source,
        };
        match self.find(path).map_err(|error| failed(path, error))? {
            (_, Node::Folder(_) | Node::Run(_, None)) => Err(not_a_file(path)),
            (_, Node::Run(run, Some(inside))) => Ok(run.source(1).digest(&inside)?.1),
            (address, Node::Object(bucket, facts)) => {
                let file = ObjectFile::new(&bucket, &address.key, &facts);
                Ok(digest_all(file).map_err(unread)?.0)
            }
        }
    }

    fn read_archive(&self, path: &Path) -> Result<Option<Archive>, SourceError> {
        let shown = path.to_string_lossy().into_owned();
        match self.find(path).map_err(|error| failed(path, error))? {
            (_, Node::Folder(_) | Node::Run(_, None)) => Err(not_a_file(path)),
            (_, Node::Run(run, Some(inside))) => {
                let source = run.source(1);
                packed::read_arriving(&shown, || source.open(&inside))
            }
            (address, Node::Object(bucket, facts)) => {
                let mut file = ObjectFile::new(&bucket, &address.key, &facts);
                packed::read_object(path, &mut file)
            }
        }
    }

    fn open_folder(
        &self,
        path: &Path,
        _follows_link: bool,
        threads: Option<usize>,
    ) -> Result<Box<dyn Source + '_>, SourceError> {
        let connections = connections(threads);
        match self.find(path).map_err(|error| failed(path, error))? {
            (_, Node::Object(..)) => Err(SourceError::NotAFolder {
                path: path.to_string_lossy().into_owned(),
                kind: EntryKind::File,
            }),
            (address, Node::Folder(bucket)) => {
                let folder = PlainFolder::open(bucket, &address.key, connections);
                Ok(Box::new(folder.map_err(|error| failed(path, error))?))
            }
            (_, Node::Run(run, inside)) => {
                let source = run.source(connections);
                Ok(match inside {
                    None => Box::new(source),
                    Some(inside) => Box::new(source.below(&inside)),
                })
            }
        }
    }

    fn standard_input(&self) -> Box<dyn Read + '_> {
        Box::new(io::empty())
    }
}

/// Returns the number of parallel requests: more than threads, because waiting takes no processor.
fn connections(threads: Option<usize>) -> usize {
    (threads.unwrap_or_else(processors) * CONNECTIONS_PER_THREAD).min(MAX_CONNECTIONS)
}
