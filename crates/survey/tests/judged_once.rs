//! Everything is judged once: pages show, and signatures are checked against, the bytes that were
//! judged, even if something else is there a moment later.

#![allow(clippy::unwrap_used, reason = "test code")]

use std::borrow::Cow;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use runseal_archive::Archive;
use runseal_core::digest::Digest;
use runseal_core::source::{EntryKind, Source, SourceError};
use runseal_core::verify::{SignatureDemand, Survey, UnitResult};
use runseal_survey::load::{Judged, load};
use runseal_survey::signing::{SignatureJudge, TrustQuestion};
use runseal_survey::{
    Files, Keep, MemoryFiles, Observer, Position, Sequential, Tally, UnitContent, VerifyOptions,
    survey,
};

/// Files that change as soon as one of them is opened to be judged.
struct Turncoat {
    before: MemoryFiles<'static>,
    after: MemoryFiles<'static>,
    opened: AtomicUsize,
    /// The number of times a file with signatures was read.
    signatures_read: AtomicUsize,
}

impl Turncoat {
    fn new(before: MemoryFiles<'static>, after: MemoryFiles<'static>) -> Self {
        Self {
            before,
            after,
            opened: AtomicUsize::new(0),
            signatures_read: AtomicUsize::new(0),
        }
    }

    fn opened(&self) -> usize {
        self.opened.load(Ordering::Relaxed)
    }

    fn now(&self) -> &MemoryFiles<'static> {
        match self.opened() {
            0 => &self.before,
            _ => &self.after,
        }
    }

    /// The files that are there now; counts one opening.
    fn open(&self) -> &MemoryFiles<'static> {
        match self.opened.fetch_add(1, Ordering::Relaxed) {
            0 => &self.before,
            _ => &self.after,
        }
    }
}

impl Files for Turncoat {
    fn kind(&self, path: &Path) -> io::Result<EntryKind> {
        self.now().kind(path)
    }

    fn is_there(&self, path: &Path) -> bool {
        self.now().is_there(path)
    }

    fn list(&self, folder: &Path, each: &mut dyn FnMut(&[u8], EntryKind)) -> io::Result<()> {
        self.now().list(folder, each)
    }

    fn path_of(&self, bytes: &[u8]) -> Option<PathBuf> {
        self.now().path_of(bytes)
    }

    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, SourceError> {
        let is_signature = path.extension().is_some_and(|ending| ending == "jsonl");
        self.signatures_read
            .fetch_add(usize::from(is_signature), Ordering::Relaxed);
        self.now().read(path, limit)
    }

    fn head(&self, path: &Path, limit: usize) -> Result<Option<Vec<u8>>, SourceError> {
        self.now().head(path, limit)
    }

    fn digest(&self, path: &Path) -> Result<Digest, SourceError> {
        self.now().digest(path)
    }

    fn read_archive(&self, path: &Path) -> Result<Option<Archive>, SourceError> {
        match self.now().read_archive(path)? {
            None => Ok(None),
            Some(_) => self.open().read_archive(path),
        }
    }

    fn open_folder(
        &self,
        path: &Path,
        follows_link: bool,
        threads: Option<usize>,
    ) -> Result<Box<dyn Source + '_>, SourceError> {
        self.open().open_folder(path, follows_link, threads)
    }

    fn standard_input(&self) -> Box<dyn Read + '_> {
        self.now().standard_input()
    }
}

/// Records what it sees and is shown.
#[derive(Default)]
struct Visitor {
    shown: Mutex<Vec<Judged>>,
    not_shown: Mutex<Vec<String>>,
}

impl Observer for Visitor {
    fn keep(&self, _: &Path, _: Position) -> Keep {
        Keep::Everything
    }

    fn see(&self, result: &UnitResult, _: Option<UnitContent>) {
        self.not_shown.lock().unwrap().push(result.path.clone());
    }

    fn show(&self, judged: Judged) {
        self.shown.lock().unwrap().push(judged);
    }
}

fn vector(name: &str) -> PathBuf {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors");
    vectors.join(name)
}

/// The files of a vector below `place`.
fn add_vector(files: &mut MemoryFiles<'static>, vector: &Path, place: &str) {
    if vector.is_file() {
        let bytes = fs::read(vector).unwrap();
        return files.add_file(place, Cow::Owned(bytes)).unwrap();
    }
    for entry in fs::read_dir(vector).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        add_vector(files, &entry.path(), &format!("{place}/{name}"));
    }
}

fn files_of(name: &str, place: &str) -> MemoryFiles<'static> {
    let mut files = MemoryFiles::default();
    add_vector(&mut files, &vector(name), place);
    files
}

fn survey_of(files: &dyn Files, path: &str, observer: &dyn Observer) -> Survey {
    let paths = [PathBuf::from(path)];
    let seen = (&Tally::default(), observer);
    survey(files, &Sequential, &paths, VerifyOptions::default(), seen)
}

#[test]
fn shown_unit_is_the_judged_one_and_is_opened_once() {
    let good = "job-bundle/ok-handbook/input";
    let bad = "job-bundle/jb4-artifact-changed/input";
    for (first, second, is_valid) in [(good, bad, true), (bad, good, false)] {
        let files = Turncoat::new(files_of(first, "tree/job"), files_of(second, "tree/job"));
        let visitor = Visitor::default();
        let survey = survey_of(&files, "tree", &visitor);
        assert_eq!(files.opened(), 1, "{first}");
        assert_eq!(survey.results()[0].is_valid(), is_valid, "{first}");
        let shown = visitor.shown.into_inner().unwrap();
        let [shown] = shown.as_slice() else {
            panic!("one unit is shown")
        };
        assert_eq!(
            (shown.path.as_str(), shown.is_valid()),
            ("tree/job", is_valid)
        );
        let untouched = files_of(first, "tree/job");
        let judged = load(
            &untouched,
            Path::new("tree/job"),
            VerifyOptions::default().level,
        );
        let judged = judged.unwrap();
        assert_eq!(shown.content.documents, judged.content.documents);
        assert_eq!(shown.content.texts, judged.content.texts);
        assert_eq!(shown.content.files, judged.content.files);
        assert_eq!(shown.report.findings(), judged.report.findings());
    }
}

#[test]
fn archive_shown_is_read_once() {
    let good = files_of("archive/ok-zip/input.zip", "tree/job.zip");
    let files = Turncoat::new(good.clone(), MemoryFiles::default());
    let visitor = Visitor::default();
    let survey = survey_of(&files, "tree", &visitor);
    assert_eq!(files.opened(), 1);
    assert!(survey.results()[0].is_valid());
    let shown = visitor.shown.into_inner().unwrap();
    let [shown] = shown.as_slice() else {
        panic!("one unit is shown")
    };
    let level = VerifyOptions::default().level;
    let judged = load(&good, Path::new("tree/job.zip"), level).unwrap();
    assert_eq!(shown.path, "tree/job.zip");
    assert_eq!(shown.content.texts, judged.content.texts);
    assert_eq!(shown.content.files, judged.content.files);
    assert!(!shown.content.texts.is_empty());
}

#[test]
fn faults_of_an_archive_are_shown_with_its_unit() {
    let files = files_of(
        "archive/ar5-zip-content-changed/input.zip",
        "tree/changed.zip",
    );
    let visitor = Visitor::default();
    let survey = survey_of(&files, "tree", &visitor);
    assert!(!survey.results()[0].is_valid());
    assert!(visitor.not_shown.into_inner().unwrap().is_empty());
    let shown = visitor.shown.into_inner().unwrap();
    assert!(!shown[0].is_valid());
    let level = VerifyOptions::default().level;
    let judged = load(&files, Path::new("tree/changed.zip"), level).unwrap();
    assert_eq!(shown[0].wrapping, judged.wrapping);
    assert_eq!(shown[0].content.files, judged.content.files);
}

#[test]
fn unit_that_cannot_be_shown_is_seen_with_its_verdict() {
    let mut files = files_of("job-bundle/ok-handbook/input", "tree/job");
    let broken = Cow::Borrowed(&b"PK\x03\x04 and nothing more"[..]);
    files.add_file("tree/broken.zip", broken).unwrap();
    let visitor = Visitor::default();
    let survey = survey_of(&files, "tree", &visitor);
    assert_eq!(survey.results().len(), 2);
    assert_eq!(visitor.shown.into_inner().unwrap().len(), 1);
    let not_shown = visitor.not_shown.into_inner().unwrap();
    assert_eq!(not_shown, ["tree/broken.zip"]);
}

/// A bundle may be named by its manifest; its signatures are then next to the manifest.
#[test]
fn signatures_beside_a_manifest_are_about_the_bundle_that_was_judged() {
    let with_signature = |vector: &str| {
        let mut files = files_of(vector, "job");
        let signature = Cow::Borrowed(&b"no signature"[..]);
        files.add_file("job/bundle.json.sig", signature).unwrap();
        files
    };
    let files = Turncoat::new(
        with_signature("job-bundle/jb4-artifact-changed/input"),
        with_signature("job-bundle/ok-handbook/input"),
    );
    let question = TrustQuestion {
        policy: None,
        keys: &[],
        now: 0,
        log: None,
    };
    let judge = SignatureJudge::new(&files, question);
    let survey = survey_of(&files, "job/bundle.json", &judge);
    assert_eq!(files.opened(), 1);
    let survey = judge.answer(survey, SignatureDemand::default());
    assert!(!survey.results()[0].is_valid());
    let found = survey.authenticity_of(&survey.results()[0]).unwrap();
    assert_eq!(found.signatures.len(), 1);
}

/// A tar with these files.
fn tar_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = Vec::new();
    for (name, content) in files {
        let mut header = [0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[100..108].copy_from_slice(b"0000644\0");
        header[108..116].copy_from_slice(b"0000000\0");
        header[116..124].copy_from_slice(b"0000000\0");
        header[124..136].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
        header[136..148].copy_from_slice(b"00000000000\0");
        header[148..156].copy_from_slice(b"        ");
        header[156] = b'0';
        header[257..265].copy_from_slice(b"ustar\x0000");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        tar.extend(header);
        tar.extend(*content);
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.resize(tar.len() + 1024, 0);
    tar
}

#[test]
fn signatures_beside_an_archive_are_read_once_for_all_units_in_it() {
    let receipt = fs::read(vector("receipt/ok-chain/input.json")).unwrap();
    let entries = ["a.json", "b.json", "c.json"].map(|name| (name, receipt.as_slice()));
    let mut archive = MemoryFiles::default();
    let tar = Cow::Owned(tar_of(&entries));
    archive.add_file("all.tar", tar).unwrap();
    let signatures = Cow::Borrowed(&b"{\"a\":1}\n"[..]);
    archive
        .add_file("all.tar.intoto.jsonl", signatures)
        .unwrap();
    let files = Turncoat::new(archive.clone(), archive);
    let question = TrustQuestion {
        policy: None,
        keys: &[],
        now: 0,
        log: None,
    };
    let judge = SignatureJudge::new(&files, question);
    let survey = survey_of(&files, "all.tar", &judge);
    assert_eq!(survey.results().len(), 3, "{survey:?}");
    assert_eq!(files.signatures_read.load(Ordering::Relaxed), 1);
}
