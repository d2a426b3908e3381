//! Judges what is in an archive: usually one bundle, at its top or in its only folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use runseal_core::formats::Format;
use runseal_core::formats::archive::{ArchiveFault, FaultKind, verify_archive};
use runseal_core::formats::definition::{
    Claim, Coverage, DocumentFolder, FolderNames, Identity, Judgement, Judging, SourceFiles,
    definition,
};
use runseal_core::formats::detect::{
    Detected, detect_folder, detect_leftover, is_candidate, is_ordinary_zip,
};
use runseal_core::limits::FINDINGS_AN_ARCHIVE;
use runseal_core::source::EntryKind;
use runseal_core::verify::{Report, UnitResult, Verdict};
use runseal_trust::check::Found as FoundBeside;

use super::answer::{UnitAnswer, Unjudged};
use super::content::{Keep, UnitContent};
use super::inside::InsidePath;
use super::judge::{Judge, judge_source};
use super::load::ContainingArchive;
use super::observer::{Kept, Position};
use super::signing::read_beside_entry;
use super::walk::detect_bytes;
use super::{Found, NOTHING_FOUND, UnitResults, display_path, name_several};
use runseal_archive::{Archive, ArchiveSource, Beginning, FileRecord, Record};

/// Judges everything in an archive.
pub(super) fn judge_archive(
    path: &str,
    mut archive: Archive,
    found: Found,
    judge: &Judge<'_>,
) -> UnitResults {
    let top = find_top(&archive);
    let mut search = Search::new(&mut archive, path, judge);
    search.top.clone_from(&top.folder);
    search.results.passed_over = top.others;
    search.judge_below(&top.folder);
    for name in top.above {
        search.judge_document(&name);
    }
    finish(search, "", found)
}

/// Judges the entry with one name inside an archive, and everything below it.
pub(super) fn judge_in_archive(
    inside: &InsidePath,
    mut archive: Archive,
    judge: &Judge<'_>,
) -> UnitResults {
    let archive_path = display_path(&inside.archive);
    let kind = archive.get(&inside.name).map(|record| record.kind());
    let mut search = Search::new(&mut archive, &archive_path, judge);
    match kind {
        Some(EntryKind::Directory) => search.judge_below(&inside.name),
        Some(EntryKind::File) => search.judge_document(&inside.name),
        _ => {}
    }
    let mut all = finish(search, &inside.name, Found::Searched);
    if all.results.is_empty() {
        let reason = match kind {
            None => "nothing in the archive has this name",
            Some(_) => NOTHING_FOUND,
        };
        let result = UnitResult::not_checked(inside.shown(), None, reason);
        all.results.push(result);
    }
    all
}

/// The results, with what is wrong with the archive.
fn finish(search: Search<'_>, within: &str, found: Found) -> UnitResults {
    let Search {
        archive,
        path,
        judge,
        results: mut all,
        bundles,
        mut contents,
        shown,
        is_stopped,
        ..
    } = search;
    let mut faults = faults_of(archive, within, &bundles);
    if is_stopped {
        faults.push(ArchiveFault {
            kind: FaultKind::Limit,
            path: None,
            message: format!(
                "what is in it has more than {FINDINGS_AN_ARCHIVE} findings; the rest was not judged"
            ),
        });
    }
    let about = verify_archive(&faults);
    let wrapping = |about: Report| {
        let identity = Identity::default();
        UnitResult::of_judgement(
            path,
            Judgement {
                report: about,
                identity,
            },
        )
    };
    match all.results.as_mut_slice() {
        [] if !about.is_valid() => all.results.push(wrapping(about)),
        [] if found == Found::Named => {
            let result = UnitResult::not_checked(path, None, NOTHING_FOUND);
            all.results.push(result);
        }
        [] => all.passed_over += 1,
        // What is wrong with the archive is wrong with its only unit.
        [only] if !matches!(only.verdict, Verdict::NotChecked(_)) => {
            *only = only.clone().with_findings(about.findings());
        }
        results if !about.is_valid() => {
            // Unpackers may read it differently, so nothing in it is sound. The first fault is enough.
            for result in results {
                if result.is_valid() {
                    *result = result
                        .clone()
                        .with_findings(about.findings().get(..1).unwrap_or_default());
                }
            }
            all.results.push(wrapping(about));
        }
        _ => {}
    }
    // The result of the archive itself comes last, but the observer sees it first.
    for (at, result) in all.results.iter().enumerate().rev() {
        if !shown.contains(&at) {
            judge.observer.see(result, contents.remove(&result.path));
        }
    }
    all
}

/// The folder that represents the archive, what it is, and, if it is nothing known, the document that
/// represents the archive. A signature or a note next to the only unit changes nothing.
pub fn find_in_archive(archive: &Archive) -> (String, Detected, Option<String>) {
    let Top { folder: top, .. } = find_top(archive);
    let listed = list(archive, &top);
    let (detected, _) = detect(archive, &top, &listed.names);
    if detected != Detected::Unknown {
        return (top, detected, None);
    }
    match names_in_archive(archive).as_slice() {
        [only] => match archive.get(only) {
            Some(Record::File(_)) => (top, Detected::Unknown, Some(only.clone())),
            _ => (only.clone(), detect_in_archive(archive, only), None),
        },
        // Loading a lone document of no known format gives the best error.
        [] => {
            let mut candidates = listed.candidates.into_iter();
            let only = candidates.next().filter(|_| candidates.next().is_none());
            (top, Detected::Unknown, only)
        }
        _ => (top, Detected::Unknown, None),
    }
}

/// The names of all units in an archive.
pub(super) fn names_in_archive(archive: &Archive) -> Vec<String> {
    let is_known = |name: &String| {
        let file_name = name.rsplit('/').next().unwrap_or(name);
        match archive.get(name) {
            Some(Record::File(file)) => file
                .kept
                .is_some_and(|bytes| matches!(detect_bytes(bytes, file_name), Detected::Is(_))),
            _ => false,
        }
    };
    let mut names = Vec::new();
    let mut waiting = vec![String::new()];
    while let Some(folder) = waiting.pop() {
        let mut listed = list(archive, &folder);
        let detected = detect(archive, &folder, &listed.names);
        if let (Detected::Is(format), Claim::Strong) = detected {
            listed = listed.not_covered(definition(format).covers());
            names.push(folder);
        }
        names.extend(listed.candidates.into_iter().filter(is_known));
        waiting.extend(listed.folders);
    }
    names.sort_unstable();
    names
}

/// What the folder with this name inside the archive is.
pub fn detect_in_archive(archive: &Archive, folder: &str) -> Detected {
    let listed = list(archive, folder);
    detect(archive, folder, &listed.names).0
}

/// The archive's faults, and the links, pipes and devices that no bundle's rules will name. Entries
/// outside the folder `within` do not count.
pub(super) fn faults_of(
    archive: &Archive,
    within: &str,
    bundles: &[(String, Format)],
) -> Vec<ArchiveFault> {
    use Format::{Bag, JobBundle, Pack, Redacted, RunBundle};
    let mut faults = archive.faults().to_vec();
    let names_links = |format| matches!(format, Bag | JobBundle | Pack | Redacted | RunBundle);
    let judged = bundles.iter();
    let judged = judged.filter(|(_, format)| names_links(*format));
    let judged: BTreeSet<&str> = judged.map(|(folder, _)| folder.as_str()).collect();
    for (name, record) in archive.below("") {
        let message = match record.kind() {
            EntryKind::File | EntryKind::Directory => continue,
            EntryKind::Symlink => "a symbolic link; it was not followed",
            EntryKind::Fifo | EntryKind::Special => "a pipe or device, which has no content",
        };
        let name = String::from_utf8_lossy(name);
        let is_in = |folder: &str| {
            let rest = name.strip_prefix(folder);
            folder.is_empty() || rest.is_some_and(|rest| rest.starts_with('/'))
        };
        if !is_in(within) {
            continue;
        }
        let mut above = name.match_indices('/').map(|(at, _)| &name[..at]);
        let is_named_by_rules = judged.contains("") || above.any(|folder| judged.contains(folder));
        if !is_named_by_rules {
            faults.push(ArchiveFault {
                kind: FaultKind::Link,
                path: Some(name.escape_debug().to_string()),
                message: message.to_owned(),
            });
        }
    }
    faults
}

/// The folder that represents an archive.
struct Top {
    /// Its name; empty if it is the archive's top.
    folder: String,
    /// Files above it that begin like a document or an archive.
    above: Vec<String>,
    /// The number of other files above it.
    others: u64,
}

/// Finds the folder that represents an archive: people pack a folder as often as its contents.
fn find_top(archive: &Archive) -> Top {
    let mut top = Top {
        folder: String::new(),
        above: Vec::new(),
        others: 0,
    };
    loop {
        let mut listed = list(archive, &top.folder);
        let is_bundle = detect(archive, &top.folder, &listed.names).0 != Detected::Unknown;
        let only = listed.folders.pop();
        match only {
            Some(only)
                if listed.folders.is_empty() && !is_bundle && listed.candidates.is_empty() =>
            {
                top.folder = only;
                top.above.append(&mut listed.unnamed);
                top.others += listed.others;
            }
            _ => return top,
        }
    }
}

/// The names in one folder of an archive.
struct Listed {
    names: FolderNames,
    candidates: Vec<String>,
    /// Files that begin like a document or an archive, but are not named like one.
    unnamed: Vec<String>,
    folders: Vec<String>,
    /// The number of other files.
    others: u64,
}

impl Listed {
    /// What the rules of the folder's format do not cover.
    fn not_covered(mut self, covers: Coverage) -> Self {
        let is_open = |path: &String| covers.leaves_open_file(name_of(path).as_bytes());
        self.candidates.retain(is_open);
        self.unnamed.retain(is_open);
        self.folders
            .retain(|path| covers.leaves_open_folder(name_of(path).as_bytes()));
        self
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a file whose name says nothing begins like a document or an archive.
fn looks_like_evidence(name: &[u8], file: &FileRecord<'_>) -> bool {
    file.beginning != Beginning::Other && !is_ordinary_zip(name)
}

fn list(archive: &Archive, folder: &str) -> Listed {
    let mut listed = Listed {
        names: FolderNames::default(),
        candidates: Vec::new(),
        unnamed: Vec::new(),
        folders: Vec::new(),
        others: 0,
    };
    for (name, record) in archive.children(folder) {
        let Ok(text) = str::from_utf8(name) else {
            continue;
        };
        let full = match folder {
            "" => text.to_owned(),
            folder => format!("{folder}/{text}"),
        };
        listed.names.note(name, record.kind());
        match record {
            Record::Folder => listed.folders.push(full),
            Record::File(_) if is_candidate(name) => listed.candidates.push(full),
            Record::File(file) if looks_like_evidence(name, &file) => listed.unnamed.push(full),
            Record::File(_) => listed.others += 1,
            Record::Other(_) => {}
        }
    }
    listed
}

fn detect(archive: &Archive, folder: &str, names: &FolderNames) -> (Detected, Claim) {
    let read = |name: &str| {
        let name = match folder {
            "" => name.to_owned(),
            folder => format!("{folder}/{name}"),
        };
        match archive.get(&name) {
            Some(Record::File(file)) => file.kept.map(<[u8]>::to_vec),
            _ => None,
        }
    };
    detect_folder(names, &read)
}

/// The state while everything in an archive is judged.
struct Search<'a> {
    archive: &'a mut Archive,
    path: &'a str,
    judge: &'a Judge<'a>,
    /// What was kept of units, by the path that answers show.
    contents: BTreeMap<String, UnitContent>,
    results: UnitResults,
    /// The indexes of the results that were shown whole.
    shown: BTreeSet<usize>,
    /// Folders that are bundles.
    bundles: Vec<(String, Format)>,
    /// The folder that represents the archive: its top, or its only folder.
    top: String,
    /// Whether some units were not judged because there are too many findings.
    is_stopped: bool,
}

impl<'a> Search<'a> {
    fn new(archive: &'a mut Archive, path: &'a str, judge: &'a Judge<'a>) -> Self {
        Self {
            archive,
            path,
            judge,
            contents: BTreeMap::new(),
            results: UnitResults::default(),
            shown: BTreeSet::new(),
            bundles: Vec::new(),
            top: String::new(),
            is_stopped: false,
        }
    }

    /// The path that answers show for the entry with this name.
    fn shown_path(&self, name: &str) -> String {
        if name == self.top {
            self.path.to_owned()
        } else {
            format!("{}!/{name}", self.path)
        }
    }

    /// How much to keep of the unit with this name.
    fn keep(&self, name: &str, has_signatures: bool) -> Keep {
        let position = if name == self.top {
            Position::ArchiveTop { has_signatures }
        } else {
            Position::Inside { has_signatures }
        };
        self.judge.observer.keep(Path::new(self.path), position)
    }

    /// Whether there are already too many findings to judge the next unit.
    fn stops(&mut self) -> bool {
        self.is_stopped |= self.results.findings > FINDINGS_AN_ARCHIVE;
        self.is_stopped
    }

    fn judge_below(&mut self, top: &str) {
        let mut waiting = vec![top.to_owned()];
        while let Some(folder) = waiting.pop() {
            if self.stops() {
                return;
            }
            let listed = list(self.archive, &folder);
            let shown = self.shown_path(&folder);
            let (detected, claim) = detect(self.archive, &folder, &listed.names);
            let detected = match (detected, claim) {
                (Detected::Is(_), Claim::Weak) if folder != self.top => {
                    detect_leftover(&listed.names)
                }
                (detected, _) => detected,
            };
            match detected {
                Detected::Is(format) => {
                    let beside = read_beside_entry(self.archive, &folder);
                    let keep = self.keep(&folder, !beside.is_empty());
                    let answer =
                        judge_folder_entry(self.archive, &folder, (format, keep), self.judge);
                    self.add(answer, (shown, &folder), beside);
                    self.bundles.push((folder, format));
                    // Its rules cover all other files.
                    let open = listed.not_covered(definition(format).covers());
                    for name in open.candidates.iter().chain(&open.unnamed) {
                        self.judge_document(name);
                    }
                    waiting.extend(open.folders);
                }
                Detected::Several(formats) => {
                    let why = Unjudged::Unknown(None, name_several(&formats));
                    self.add(why.into(), (shown, &folder), Vec::new());
                }
                Detected::Unknown => {
                    for name in listed.candidates.iter().chain(&listed.unnamed) {
                        self.judge_document(name);
                    }
                    self.results.passed_over += listed.others;
                    waiting.extend(listed.folders);
                }
            }
        }
    }

    fn judge_document(&mut self, name: &str) {
        if self.stops() || !matches!(self.archive.get(name), Some(Record::File(_))) {
            return;
        }
        let shown = self.shown_path(name);
        let beside = read_beside_entry(self.archive, name);
        let keep = self.keep(name, !beside.is_empty());
        let found = (Found::Searched, keep);
        match judge_document_entry(self.archive, (name, &shown), found, self.judge) {
            Some(answer) => self.add(answer, (shown, name), beside),
            None => self.results.passed_over += 1,
        }
    }

    /// Adds the result of the unit with this name. The observer sees it now if it is shown whole, and
    /// otherwise at the end, when the faults of the archive are known.
    fn add(&mut self, answer: UnitAnswer, (shown, name): (String, &str), beside: Vec<FoundBeside>) {
        let (result, kept) = answer.into_result(shown);
        match kept {
            Kept::Nothing => {}
            Kept::UnitContent(content) => {
                let content = content.in_archive(beside);
                self.contents.insert(result.path.clone(), content);
            }
            Kept::Judged(judged) => {
                let wrapping =
                    ContainingArchive::of(self.archive, name, judged.format(), name == self.top);
                self.judge.observer.show(judged.in_archive(wrapping));
                self.shown.insert(self.results.results.len());
            }
        }
        self.results.findings += result.findings().len();
        self.results.results.push(result);
    }
}

/// Judges the folder with this name in an archive.
pub(super) fn judge_folder_entry(
    archive: &mut Archive,
    name: &str,
    (format, keep): (Format, Keep),
    judge: &Judge<'_>,
) -> UnitAnswer {
    let source = ArchiveSource::handing_over(archive, name, definition(format).read_once());
    let judging = Judging {
        path: name,
        ..judge.judging()
    };
    judge_source(&source, format, keep, judging)
}

/// Judges the document with this name in an archive, at the path that answers show. Returns `None` if it
/// has no known format and was found by searching. An archive inside the archive is not opened, and a
/// document that was not kept cannot be judged: both are reported as not checked.
pub(super) fn judge_document_entry(
    archive: &Archive,
    (name, shown): (&str, &str),
    (found, keep): (Found, Keep),
    judge: &Judge<'_>,
) -> Option<UnitAnswer> {
    let Some(Record::File(file)) = archive.get(name) else {
        return None;
    };
    let (folder, file_name) = name.rsplit_once('/').unwrap_or(("", name));
    let is_named = file_name.to_ascii_lowercase().contains(".json");
    let is_asked = found == Found::Named && file.beginning == Beginning::Other;
    let is_document = is_named || is_asked || file.beginning == Beginning::Json;
    let found = match found {
        Found::Searched if !is_named => Found::ByContent,
        found => found,
    };
    let refused = |reason: &str| Some(Unjudged::Refused(reason.to_owned()).into());
    match file.kept {
        Some(bytes) if is_document => {
            let source = ArchiveSource::new(archive, folder);
            let near = DocumentFolder {
                name: file_name,
                files: &SourceFiles(&source),
            };
            judge.judge_document(shown, (Some(near), keep), bytes.into(), found)
        }
        None if is_document => refused(
            "the document is longer than what is kept of an archive; unpack it and verify it",
        ),
        _ => refused("an archive inside an archive is not opened; unpack it and verify it"),
    }
}
