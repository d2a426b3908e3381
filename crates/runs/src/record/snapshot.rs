//! The results of a command's run, in a form that can be compared with another run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use runseal_core::digest::Digest;
use runseal_sandbox::{Changed, Ending, FolderLayer};

use super::difference::LARGEST_COMPARED;
use super::keep::Keep;
use super::run::CommandRun;
use super::seal::{MOST_LEFT_OUT, RecordError, output_path};
use crate::run::replay::Divergence;
use runseal_fs::stream::{BUFFER, digest_through};

/// The names of standard output and error among the files.
pub(crate) const STREAMS: [&str; 2] = ["logs/stdout.txt", "logs/stderr.txt"];

/// What a run left at a place. A bundle holds files only, so that nothing else is ever equal to what was sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    File {
        sha256: Digest,
        is_executable: bool,
    },
    /// What no bundle can hold; says what it is.
    NoFile(&'static str),
}

impl Left {
    /// The digest of a file.
    pub(crate) fn sha256(self) -> Option<Digest> {
        match self {
            Self::File { sha256, .. } => Some(sha256),
            Self::NoFile(_) => None,
        }
    }
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File {
                sha256,
                is_executable: true,
            } => write!(f, "{sha256} (executable)"),
            Self::File { sha256, .. } => write!(f, "{sha256}"),
            Self::NoFile(what) => f.write_str(what),
        }
    }
}

/// The results of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) ending: Ending,
    /// The files, by their places in a bundle: `artifacts/…` and the two logs.
    pub(crate) files: BTreeMap<String, Left>,
    pub(crate) deleted: BTreeSet<String>,
    pub(crate) folders: BTreeSet<String>,
    /// Files that were left but are not kept, by name; the first [`MOST_LEFT_OUT`] of them.
    pub(crate) not_kept: BTreeSet<String>,
}

impl Snapshot {
    /// Reads what `run` left.
    pub(crate) fn of_run(run: &CommandRun, keep: Option<&Keep>) -> Result<Self, RecordError> {
        let outcome = &run.recorded.outcome;
        let log = |bytes: &[u8]| Left::File {
            sha256: Digest::of(bytes),
            is_executable: false,
        };
        let mut snapshot = Self {
            ending: outcome.ending,
            files: BTreeMap::from([
                (STREAMS[0].to_owned(), log(&outcome.stdout.bytes)),
                (STREAMS[1].to_owned(), log(&outcome.stderr.bytes)),
            ]),
            deleted: BTreeSet::new(),
            folders: BTreeSet::new(),
            not_kept: BTreeSet::new(),
        };
        if let Some(layer) = &run.recorded.layer {
            snapshot.add_layer(layer, keep)?;
        }
        Ok(snapshot)
    }

    fn add_layer(&mut self, layer: &FolderLayer, keep: Option<&Keep>) -> Result<(), RecordError> {
        let mut buffer = vec![0; BUFFER];
        let changes = layer.changes();
        for (at, change) in changes.iter().enumerate() {
            let is_kept = keep.is_none_or(|keep| keep.keeps(Path::new(&change.path)));
            if !is_kept && change.now != Changed::Deleted {
                // Changes come by name, so that this is where the list of a bundle ends too.
                if !matches!(change.now, Changed::Folder { .. })
                    && self.not_kept.len() < MOST_LEFT_OUT
                    && let Some(path) = change.path.to_str()
                {
                    self.not_kept.insert(path.to_owned());
                }
                continue;
            }
            let path = output_path(&change.path)?;
            match change.now {
                Changed::File { bytes, mode } => {
                    let mut file = layer.open(&change.path)?;
                    let digest = digest_through(&mut file, bytes, &mut buffer, |_| Ok(()));
                    let (sha256, _) = digest.map_err(super::error::work_error)?;
                    let left = Left::File {
                        sha256,
                        is_executable: mode & 0o111 != 0,
                    };
                    self.files.insert(format!("artifacts/{path}"), left);
                }
                Changed::Deleted => {
                    self.deleted.insert(path);
                }
                Changed::Folder { .. } => {
                    let below = format!("{path}/");
                    let next = changes.get(at + 1).map(|next| next.path.as_encoded_bytes());
                    let is_empty = !next.is_some_and(|next| next.starts_with(below.as_bytes()));
                    if !change.existed && is_empty {
                        self.folders.insert(path);
                    }
                }
                Changed::Link { .. } => self.add_no_file(&path, "a symbolic link"),
                Changed::Pipe => self.add_no_file(&path, "a named pipe"),
                Changed::Socket => self.add_no_file(&path, "a socket"),
                Changed::Device => self.add_no_file(&path, "a device"),
            }
        }
        Ok(())
    }

    fn add_no_file(&mut self, path: &str, what: &'static str) {
        let place = format!("artifacts/{path}");
        self.files.insert(place, Left::NoFile(what));
    }
}

/// Reads at most [`LARGEST_COMPARED`] bytes of what a run left at a place of a bundle.
pub(crate) fn read_left(run: &CommandRun, place: &str) -> Option<Vec<u8>> {
    let outcome = &run.recorded.outcome;
    match place {
        _ if place == STREAMS[0] => Some(outcome.stdout.bytes.clone()),
        _ if place == STREAMS[1] => Some(outcome.stderr.bytes.clone()),
        _ => {
            let path = place.strip_prefix("artifacts/")?;
            let file = run.recorded.layer.as_ref()?.open(path.as_ref()).ok()?;
            read_some(file)
        }
    }
}

/// The whole content of a file that is small enough to be compared.
pub(crate) fn read_some(file: File) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(LARGEST_COMPARED + 1)
        .read_to_end(&mut bytes)
        .ok()?;
    (bytes.len() as u64 <= LARGEST_COMPARED).then_some(bytes)
}

/// The most places that are listed.
const MOST_DIVERGENCES: usize = 1000;

/// Where the results of two runs differ. `describe` says how the files at a place do.
pub(crate) fn compare_snapshots(
    before: &Snapshot,
    now: &Snapshot,
    describe: impl Fn(&str) -> Option<String>,
) -> Vec<Divergence> {
    let mut divergences = Vec::new();
    let (mut more, mut described) = (0_usize, 0);
    let mut add = |path: &str, before: String, now: String, difference: Option<String>| {
        if divergences.len() == MOST_DIVERGENCES {
            more += 1;
            return;
        }
        divergences.push(Divergence {
            path: path.to_owned(),
            pointer: None,
            sealed: before,
            now,
            difference,
        });
    };
    if before.ending != now.ending {
        add(
            "RUN_OUTPUT.json",
            show_ending(before.ending),
            show_ending(now.ending),
            None,
        );
    }
    let places: BTreeSet<&String> = before.files.keys().chain(now.files.keys()).collect();
    for place in places {
        let (old, new) = (before.files.get(place), now.files.get(place));
        if old == new {
            continue;
        }
        let show = |left: Option<&Left>| left.map_or("nothing".to_owned(), Left::to_string);
        let digest = |left: Option<&Left>| left.and_then(|left| left.sha256());
        let difference = match (digest(old), digest(new)) {
            // What is not listed any more need not be described.
            (Some(old), Some(new)) if old != new && described < MOST_DIVERGENCES => {
                described += 1;
                describe(place)
            }
            _ => None,
        };
        add(place, show(old), show(new), difference);
    }
    for (what, old, new) in [
        ("deleted", &before.deleted, &now.deleted),
        ("an empty folder", &before.folders, &now.folders),
        ("a file that is not kept", &before.not_kept, &now.not_kept),
    ] {
        for path in old.symmetric_difference(new) {
            let show = |set: &BTreeSet<String>| match set.contains(path) {
                true => what.to_owned(),
                false => format!("not {what}"),
            };
            add(path, show(old), show(new), None);
        }
    }
    if more > 0 {
        divergences.push(Divergence {
            path: "RUN_OUTPUT.json".to_owned(),
            pointer: None,
            sealed: format!("{more} further places"),
            now: "something else".to_owned(),
            difference: None,
        });
    }
    divergences
}

fn show_ending(ending: Ending) -> String {
    match ending {
        Ending::Exited(code) => format!("exit status {code}"),
        Ending::Signaled(signal) => format!("ended by signal {signal}"),
        Ending::Stopped(limit) => format!("stopped by a limit: {limit:?}"),
    }
}
