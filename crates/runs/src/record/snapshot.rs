//! The results of a command's run, in a form that can be compared with another run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use runseal_core::digest::Digest;
use runseal_sandbox::{Changed, Ending, FolderLayer};

use super::difference::LARGEST_COMPARED;
use super::rules::{Exempt, Judged, Rules, Treatment, Version, Within};
use super::run::CommandRun;
use super::seal::{MOST_LEFT_OUT, RecordError, link_of, output_path};
use super::terms::{Fate, Terms};
use crate::run::replay::Divergence;
use runseal_fs::stream::{BUFFER, digest_through};

/// The names of standard output and error among the files.
pub(crate) const STREAMS: [&str; 2] = ["logs/stdout.txt", "logs/stderr.txt"];

/// What a run left at a place. A bundle holds files and tells links; nothing else is ever equal to what was sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Left {
    File {
        sha256: Digest,
        is_executable: bool,
    },
    /// A symbolic link, with what it holds.
    Link(String),
    /// What no bundle can hold; says what it is.
    NoFile(&'static str),
}

impl Left {
    /// The digest of a file.
    pub(crate) fn sha256(&self) -> Option<Digest> {
        match self {
            Self::File { sha256, .. } => Some(*sha256),
            Self::Link(_) | Self::NoFile(_) => None,
        }
    }

    /// Whether both are files that may be executed, or both files that may not.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::File { is_executable, .. },
                Self::File {
                    is_executable: other,
                    ..
                },
            ) => is_executable == other,
            _ => false,
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
            Self::Link(target) => write!(f, "a symbolic link to `{}`", target.escape_debug()),
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
    /// How many files were left that do not count.
    pub(crate) ignored: usize,
}

impl Snapshot {
    /// Reads what `run` left.
    pub(crate) fn of_run(run: &CommandRun, terms: &Terms) -> Result<Self, RecordError> {
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
            ignored: 0,
        };
        if let Some(layer) = &run.recorded.layer {
            snapshot.add_layer(layer, terms)?;
        }
        Ok(snapshot)
    }

    fn add_layer(&mut self, layer: &FolderLayer, terms: &Terms) -> Result<(), RecordError> {
        let mut buffer = vec![0; BUFFER];
        let changes = layer.changes();
        let filled = terms.find_filled(changes);
        for change in changes {
            let is_folder = matches!(change.now, Changed::Folder { .. });
            match terms.fate_of(&change.path) {
                _ if change.now == Changed::Deleted => {}
                Fate::Kept => {}
                Fate::Named => {
                    // Changes come by name, so that this is where the list of a bundle ends too.
                    if !is_folder
                        && self.not_kept.len() < MOST_LEFT_OUT
                        && let Some(path) = change.path.to_str()
                    {
                        self.not_kept.insert(path.to_owned());
                    }
                    continue;
                }
                Fate::Ignored => {
                    self.ignored += usize::from(!is_folder);
                    continue;
                }
            }
            let path = output_path(&change.path)?;
            match &change.now {
                Changed::File { bytes, mode } => {
                    let (bytes, mode) = (*bytes, *mode);
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
                    if !change.existed && !filled.contains(Path::new(&change.path)) {
                        self.folders.insert(path);
                    }
                }
                Changed::Link { target } => {
                    let link = link_of(path, target)?;
                    let place = format!("artifacts/{}", link.path);
                    self.files.insert(place, Left::Link(link.target));
                }
                Changed::Pipe => self.add_no_file(&path, "a named pipe"),
                Changed::Socket => self.add_no_file(&path, "a socket"),
                Changed::Device => self.add_no_file(&path, "a device"),
            }
        }
        Ok(())
    }

    /// Adds what a bundle keeps no more of than the name.
    fn add_no_file(&mut self, path: &str, what: &'static str) {
        if self.not_kept.len() < MOST_LEFT_OUT {
            self.not_kept.insert(path.to_owned());
        }
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

/// What a run left at a place of a bundle.
pub(crate) struct LeftAt<'a> {
    pub(crate) run: &'a CommandRun,
    pub(crate) place: &'a str,
}

impl Version for LeftAt<'_> {
    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        let outcome = &self.run.recorded.outcome;
        let streams = [&outcome.stdout.bytes, &outcome.stderr.bytes];
        if let Some((_, bytes)) = STREAMS
            .iter()
            .zip(streams)
            .find(|(at, _)| **at == self.place)
        {
            return Ok(Box::new(bytes.as_slice()));
        }
        let path = self.place.strip_prefix("artifacts/");
        let layer = self.run.recorded.layer.as_ref().zip(path);
        let (layer, path) = layer.ok_or(io::ErrorKind::NotFound)?;
        let file = layer.open(path.as_ref()).map_err(io::Error::other)?;
        Ok(Box::new(file))
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

/// What only the name of is kept.
const NOT_KEPT: &str = "a file that is not kept";

/// The most places that are listed.
const MOST_DIVERGENCES: usize = 1000;

/// How the results of two runs compare.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    /// Where they differ.
    pub(crate) divergences: Vec<Divergence>,
    /// What is the same under rules alone.
    pub(crate) within: Vec<Within>,
    /// The places whose content rules exempt.
    pub(crate) exempt: Vec<Exempt>,
}

impl Compared {
    /// Where the results of two runs differ. `judge` says how the files at a place do.
    pub(crate) fn of(
        before: &Snapshot,
        now: &Snapshot,
        rules: &Rules,
        judge: impl Fn(&str, &Treatment<'_>) -> Judged,
    ) -> Self {
        let mut compared = Self::default();
        let mut listed = Listed::default();
        if before.ending != now.ending {
            listed.add(
                "RUN_OUTPUT.json",
                show_ending(before.ending),
                show_ending(now.ending),
                None,
            );
        }
        let places: BTreeSet<&String> = before.files.keys().chain(now.files.keys()).collect();
        for place in places {
            let (old, new) = (before.files.get(place), now.files.get(place));
            let treatment = rules.treatment_of(place);
            let are_files = old.zip(new).is_some_and(|(old, new)| old.is_like(new));
            if let (true, Some(rule)) = (are_files, treatment.exempts()) {
                compared.exempt.push(Exempt::by(rule, place));
                continue;
            }
            let is_named = || {
                let path = place.strip_prefix("artifacts/");
                path.is_some_and(|path| before.not_kept.contains(path))
            };
            let is_no_file = matches!((old, new), (None, Some(Left::NoFile(_))));
            if old == new || is_no_file && is_named() {
                continue;
            }
            let show = |left: Option<&Left>| left.map_or("nothing".to_owned(), Left::to_string);
            let has_content = |left: Option<&Left>| left.and_then(|left| left.sha256()).is_some();
            let mut difference = None;
            // What is not listed any more need not be described; whether it is the same has to be known all the same.
            let is_judged = !treatment.is_exact() && are_files || listed.has_room();
            if has_content(old) && has_content(new) && is_judged {
                difference = match judge(place, &treatment) {
                    Judged::Same(within) if are_files => {
                        compared.within.push(within);
                        continue;
                    }
                    Judged::Same(_) => None,
                    Judged::Differs(difference) => difference,
                };
            }
            listed.add(place, show(old), show(new), difference);
        }
        for (what, old, new) in [
            ("deleted", &before.deleted, &now.deleted),
            ("an empty folder", &before.folders, &now.folders),
            (NOT_KEPT, &before.not_kept, &now.not_kept),
        ] {
            // What is no file was compared above.
            let is_no_file = |path: &&String| {
                let place = format!("artifacts/{path}");
                let left = [before.files.get(&place), now.files.get(&place)];
                what == NOT_KEPT && left.iter().any(|it| matches!(it, Some(Left::NoFile(_))))
            };
            for path in old
                .symmetric_difference(new)
                .filter(|path| !is_no_file(path))
            {
                let show = |set: &BTreeSet<String>| match set.contains(path) {
                    true => what.to_owned(),
                    false => format!("not {what}"),
                };
                listed.add(path, show(old), show(new), None);
            }
        }
        compared.divergences = listed.finish();
        compared
    }
}

/// Divergences, up to the most that are listed.
#[derive(Default)]
struct Listed {
    divergences: Vec<Divergence>,
    more: usize,
}

impl Listed {
    fn has_room(&self) -> bool {
        self.divergences.len() < MOST_DIVERGENCES
    }

    fn add(&mut self, path: &str, sealed: String, now: String, difference: Option<String>) {
        if !self.has_room() {
            self.more += 1;
            return;
        }
        self.divergences.push(Divergence {
            path: path.to_owned(),
            pointer: None,
            sealed,
            now,
            difference,
        });
    }

    fn finish(mut self) -> Vec<Divergence> {
        if self.more > 0 {
            self.divergences.push(Divergence {
                path: "RUN_OUTPUT.json".to_owned(),
                pointer: None,
                sealed: format!("{} further places", self.more),
                now: "something else".to_owned(),
                difference: None,
            });
        }
        self.divergences
    }
}

fn show_ending(ending: Ending) -> String {
    match ending {
        Ending::Exited(code) => format!("exit status {code}"),
        Ending::Signaled(signal) => format!("ended by signal {signal}"),
        Ending::Stopped(limit) => format!("stopped by a limit: {limit:?}"),
    }
}
