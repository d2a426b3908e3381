//! The sealed results of a recorded command, and the comparison of another run with them.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};

use runseal_core::canon::Node;
use runseal_core::digest::Digest;
use runseal_core::formats::run_bundle::layout::{
    RUN_INPUT, RUN_OUTPUT, Role, TERMINAL_LOG, exact_path,
};
use runseal_core::formats::run_bundle::recorded::{
    ListedFile, parse_links, parse_listed_file, parse_listed_files,
};
use runseal_core::formats::run_bundle::{EntryFact, FileFact};
use runseal_core::path::SafePath;
use runseal_core::source::Source;
use runseal_sandbox::{CancelToken, Ending, Limits};

use super::cancelled;
use crate::record::difference::LARGEST_COMPARED;
use crate::record::rules::{Judged, Version, judge_under};
use crate::record::run::{Command, CommandRun};
use crate::record::seal::{RecordError, describe_failure, find_limit};
use crate::record::secrets::HiddenSecrets;
use crate::record::snapshot::{Compared, Left, LeftAt, STREAMS, Snapshot, read_left};
use crate::record::terms::{Terms, TermsError};
use crate::run::replay::{Comparison, Divergence};
use crate::run::verify::VerifiedRun;
use crate::run::withheld::WithheldResults;

/// The most files of which it is looked up where they differ.
const MOST_DESCRIBED: usize = 100;

/// The sealed results, ready for comparison.
pub(super) struct SealedCommandRun {
    pub(super) files: Vec<ListedFile>,
    pub(super) snapshot: Snapshot,
    /// The path of the bytes of each place.
    pub(super) stored: BTreeMap<String, String>,
    /// How many bytes the stored files have that the run left.
    pub(super) left_bytes: u64,
    /// What becomes of the results.
    pub(super) terms: Result<Terms, TermsError>,
    /// What a redacted copy withholds.
    pub(super) withheld_results: WithheldResults,
}

impl SealedCommandRun {
    pub(super) fn read(run: &VerifiedRun<'_>) -> Self {
        let input = run.document(RUN_INPUT);
        let files = input.map_or_else(Vec::new, |input| parse_listed_files(input.root(), "files"));
        let output = run.document(RUN_OUTPUT);
        let output = output.as_ref().map(|document| document.root());
        let member = |name: &str| output.and_then(|output| output.get(name));
        let number = |name: &str| member(name).and_then(|node| node.as_number()?.to_exact_i64());
        let ending = match (number("exit_status"), number("signal")) {
            (Some(code), _) => Ending::Exited(u8::try_from(code).unwrap_or(u8::MAX)),
            (None, signal) => {
                Ending::Signaled(signal.and_then(|it| i32::try_from(it).ok()).unwrap_or(0))
            }
        };
        let mut snapshot = Snapshot {
            ending,
            files: BTreeMap::new(),
            deleted: texts_of(member("deleted")),
            folders: texts_of(member("folders")),
            not_kept: BTreeSet::new(),
            ignored: 0,
        };
        // Only a copy withholds anything: in a whole bundle a marker is a value like any other.
        let redacted = output.filter(|_| run.withholding().is_of_copy());
        let withheld_results = redacted.map_or_else(WithheldResults::default, |output| {
            WithheldResults::read(&output.to_value(), STREAMS)
        });
        let mut stored = BTreeMap::new();
        let mut add = |place: String, file: ListedFile| {
            let left = Left::File {
                sha256: file.sha256,
                is_executable: file.is_executable,
            };
            snapshot.files.insert(place.clone(), left);
            stored.extend(file.stored.map(|at| (place, at)));
        };
        for (name, place) in ["stdout", "stderr"].into_iter().zip(STREAMS) {
            if let Some(log) = member(name).and_then(parse_listed_file) {
                add(place.to_owned(), log);
            }
        }
        let outputs = output.map_or_else(Vec::new, |output| parse_listed_files(output, "outputs"));
        let mut left_bytes = 0_u64;
        for file in outputs {
            if file.stored.is_some() {
                left_bytes = left_bytes.saturating_add(file.bytes);
            }
            add(format!("artifacts/{}", file.path), file);
        }
        for link in output.map_or_else(Vec::new, parse_links) {
            let place = format!("artifacts/{}", link.path);
            snapshot.files.insert(place, Left::Link(link.target));
        }
        let input = run.document(RUN_INPUT);
        let terms = Terms::parse(input.as_ref().map(|input| input.root()));
        snapshot.not_kept = texts_of(member("not_kept"));
        Self {
            files,
            snapshot,
            stored,
            left_bytes,
            terms,
            withheld_results,
        }
    }

    /// Stored results that are not the bytes that the lists give.
    pub(super) fn find_other_bytes(&self, run: &VerifiedRun<'_>) -> Vec<String> {
        let facts = &run.collected().facts;
        let is_other = |(place, stored): &(&String, &String)| {
            let actual = facts.file(stored).and_then(FileFact::sha256);
            let listed = self.snapshot.files.get(*place);
            actual.is_some() && actual != listed.and_then(Left::sha256)
        };
        let others = self.stored.iter().filter(is_other);
        let tell = |(_, stored): (&String, &String)| {
            let stored = stored.escape_debug();
            format!("`{stored}` does not hold the bytes that {RUN_OUTPUT} lists")
        };
        others.map(tell).collect()
    }

    /// Files at places of results that no list names.
    pub(super) fn find_unlisted(&self, run: &VerifiedRun<'_>) -> Vec<String> {
        let listed: BTreeSet<&str> = self.stored.values().map(String::as_str).collect();
        let is_unlisted = |path: &&str| {
            let is_result = matches!(Role::of_path(path), Some(Role::Artifact | Role::Log));
            // What it shows is in the log of the stream, which is compared.
            let is_result = is_result && *path != TERMINAL_LOG;
            let has_exact = || listed.contains(exact_path(path).as_str());
            is_result && !listed.contains(path) && !has_exact()
        };
        let paths = run.collected().facts.entries.iter();
        let files = paths.filter(|(_, entry)| matches!(entry, EntryFact::File(_)));
        let unlisted = files.map(|(path, _)| path).filter(is_unlisted);
        unlisted.map(str::to_owned).collect()
    }

    /// Refuses to run what cannot give the sealed results within the limits. They are the caller's: what a bundle holds
    /// never raises one. Only stored files count, whose sizes were verified.
    pub(super) fn check_room(&self, limits: &Limits) -> Result<(), RecordError> {
        let files = u64::try_from(self.stored.len()).unwrap_or(u64::MAX);
        for (what, needed, allowed, option) in [
            ("bytes", self.left_bytes, limits.work_bytes, "--disk"),
            ("files", files, limits.work_files, "--files"),
        ] {
            if needed > allowed {
                return Err(RecordError::Room {
                    what,
                    needed,
                    allowed,
                    option,
                });
            }
        }
        Ok(())
    }

    /// A run that ended otherwise than the sealed one because of a limit says nothing about that one.
    pub(super) fn refuse_limited(
        &self,
        again: &CommandRun,
        command: &Command,
    ) -> Result<(), RecordError> {
        let outcome = &again.recorded.outcome;
        let how = describe_failure(outcome.ending, command);
        match (find_limit(again), how) {
            (Some(limit), Some(how)) if outcome.ending != self.snapshot.ending => {
                Err(RecordError::Failed {
                    how,
                    stderr: outcome.stderr.bytes.clone(),
                    is_stopped: matches!(outcome.ending, Ending::Stopped(_)),
                    limit: Some(limit),
                    refused: Vec::new(),
                })
            }
            _ => Ok(()),
        }
    }

    /// Whether all results of the run are withheld, including its output.
    pub(super) fn says_nothing(&self) -> bool {
        self.snapshot.files.is_empty()
    }

    /// Removes from `now` whatever the copy withholds.
    pub(super) fn leave_out_withheld(&self, now: &mut Snapshot) {
        let (sealed, withheld_results) = (&self.snapshot, &self.withheld_results);
        now.files.retain(|place, _| {
            !withheld_results.places.contains(place)
                && (!withheld_results.has_unnamed || sealed.files.contains_key(place))
        });
        if withheld_results.ending {
            now.ending = sealed.ending;
        }
        for (is_withheld, before, now) in [
            (withheld_results.deleted, &sealed.deleted, &mut now.deleted),
            (withheld_results.folders, &sealed.folders, &mut now.folders),
            (
                withheld_results.not_kept,
                &sealed.not_kept,
                &mut now.not_kept,
            ),
        ] {
            if is_withheld {
                now.clone_from(before);
            }
        }
    }

    pub(super) fn compare(
        &self,
        run: &VerifiedRun<'_>,
        again: &CommandRun,
        (command, terms): (&Command, &Terms),
        (hidden, cancel): (&HiddenSecrets, Option<&CancelToken>),
    ) -> Result<Comparison, RecordError> {
        let mut now = match Snapshot::of_run(again, terms) {
            Ok(now) => now,
            Err(RecordError::Left { path, reason }) => {
                return Ok(Comparison {
                    divergences: vec![Divergence {
                        path: format!("artifacts/{path}"),
                        pointer: None,
                        sealed: "nothing".to_owned(),
                        now: reason,
                        difference: None,
                    }],
                    ..Comparison::default()
                });
            }
            Err(error) => return Err(error),
        };
        self.leave_out_withheld(&mut now);
        let is_over = || cancel.is_some_and(CancelToken::is_cancelled);
        let described = Cell::new(0);
        let compared = Compared::of(&self.snapshot, &now, &terms.compare, |place, treatment| {
            // What comes of it is thrown away.
            if is_over() {
                return Judged::Differs(None);
            }
            let describe = || {
                // Looking into files takes long, and nobody reads about hundreds of them.
                described.set(described.get() + 1);
                if described.get() > MOST_DESCRIBED {
                    return None;
                }
                let before = self.read_sealed(run, place)?;
                hidden.describe(place, &before, &read_left(again, place)?)
            };
            let before = SealedAt {
                source: run.source(),
                stored: self.stored.get(place).map(String::as_str),
            };
            let now = LeftAt { run: again, place };
            judge_under(treatment, place, (&before, &now), describe)
        });
        if is_over() {
            return Err(cancelled());
        }
        let count = self.count_compared(&now, &compared);
        let mut divergences = compared.divergences;
        if let Some(first) = divergences.iter_mut().find(|it| it.path == RUN_OUTPUT) {
            first.difference = describe_failure(again.recorded.outcome.ending, command);
        }
        let exempt: BTreeSet<&str> = compared.exempt.iter().map(|it| it.path.as_str()).collect();
        let same = now.files.iter().filter(|(place, left)| {
            place.starts_with("artifacts/")
                && !exempt.contains(place.as_str())
                && self.snapshot.files.get(*place) == Some(left)
        });
        let same_artifacts = same.count();
        Ok(Comparison {
            divergences,
            same_artifacts,
            compared: count,
            within: compared.within,
            exempt: compared.exempt,
            ignored: now.ignored,
        })
    }

    /// How many results were compared: all but those that rules exempt, and streams on which nothing was printed.
    pub(super) fn count_compared(&self, now: &Snapshot, compared: &Compared) -> usize {
        let sealed = &self.snapshot;
        let exempt = compared.exempt.iter().map(|it| it.path.as_str());
        let emptied = compared.within.iter().filter(|it| it.is_nothing_left);
        let uncompared: BTreeSet<&str> = exempt.chain(emptied.map(|it| it.path.as_str())).collect();
        let nothing = Digest::of(b"");
        let is_silent = |place: &str| {
            let of = |snapshot: &Snapshot| snapshot.files.get(place).and_then(|left| left.sha256());
            let is_nothing = |digest: Option<Digest>| digest.is_none_or(|it| it == nothing);
            STREAMS.contains(&place) && is_nothing(of(sealed)) && is_nothing(of(now))
        };
        let places: BTreeSet<&String> = sealed.files.keys().chain(now.files.keys()).collect();
        let places = places.into_iter().map(String::as_str);
        let counted = places.filter(|place| !uncompared.contains(place) && !is_silent(place));
        let names = [&sealed.deleted, &sealed.folders, &sealed.not_kept];
        counted.count() + names.iter().map(|names| names.len()).sum::<usize>()
    }

    pub(super) fn read_sealed(&self, run: &VerifiedRun<'_>, place: &str) -> Option<Vec<u8>> {
        let stored = SafePath::parse(self.stored.get(place)?).ok()?;
        run.source().read(&stored, LARGEST_COMPARED).ok()
    }
}

/// The places of all results, sealed and new.
pub(super) fn again_places(again: &CommandRun, sealed: &SealedCommandRun) -> BTreeSet<String> {
    let layer = again
        .recorded
        .layer
        .iter()
        .flat_map(|layer| layer.changes());
    let now = layer.filter_map(|change| Some(format!("artifacts/{}", change.path.to_str()?)));
    let streams = STREAMS.map(str::to_owned);
    now.chain(sealed.snapshot.files.keys().cloned())
        .chain(streams)
        .collect()
}

/// A sealed result.
pub(super) struct SealedAt<'a> {
    pub(super) source: &'a dyn Source,
    pub(super) stored: Option<&'a str>,
}

impl Version for SealedAt<'_> {
    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        let stored = self.stored.and_then(|stored| SafePath::parse(stored).ok());
        let stored = stored.ok_or(io::ErrorKind::NotFound)?;
        let reader = self.source.open(&stored).map_err(io::Error::other)?;
        Ok(Box::new(reader))
    }
}

fn texts_of(node: Option<Node<'_>>) -> BTreeSet<String> {
    let items = node.iter().flat_map(|node| node.items());
    items
        .filter_map(|item| Some(item.as_str()?.into_owned()))
        .collect()
}
