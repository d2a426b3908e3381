//! Verifies a run bundle in any source.

use std::io::{self, Read};

use runseal_core::canon::{Dialect, Document, ReadOptions, canonical_bytes, parse_document};
use runseal_core::digest::{Digest, Hasher};
use runseal_core::formats::definition::Judgement;
use runseal_core::formats::run_bundle::facts::FileFact;
use runseal_core::formats::run_bundle::layout::{MANIFEST, RUN_ENVIRONMENT, RUN_INPUT, RUN_OUTPUT};
use runseal_core::formats::run_bundle::reading::RunReading;
use runseal_core::formats::run_bundle::{CollectedRun, EntryFact};
use runseal_core::limits::JsonLimits;
use runseal_core::path::SafePath;
use runseal_core::source::{Entry, Source, SourceError};
use runseal_core::verify::{Level, Report};

use super::schema::LocalTools;
use super::withheld::{CollectedCopy, Withholding, collect_copy};

pub use runseal_survey::VerifyOptions;

/// A bundle that was verified and is valid. There is no other way to obtain one.
///
/// Its files are read through it: whatever changed since it was verified is an error.
pub struct VerifiedRun<'a> {
    source: &'a dyn Source,
    collected: CollectedRun<'a>,
    withholding: Withholding,
}

impl VerifiedRun<'_> {
    /// Its files, each of which must still be what was verified.
    pub fn source(&self) -> &dyn Source {
        self
    }

    /// What it withholds, if it is a redacted copy.
    pub fn withholding(&self) -> &Withholding {
        &self.withholding
    }

    /// The facts that were collected from it.
    pub fn collected(&self) -> &CollectedRun<'_> {
        &self.collected
    }

    /// What it says of its run.
    pub fn read<T>(&self, read: impl FnOnce(RunReading<'_>) -> T) -> T {
        let names = [MANIFEST, RUN_INPUT, RUN_OUTPUT, RUN_ENVIRONMENT];
        let documents = names.map(|name| (name, self.document(name)));
        read(RunReading::new(|name| {
            let (_, document) = documents.iter().find(|(known, _)| *known == name)?;
            Some(document.as_ref()?.root())
        }))
    }

    /// The files that a replay neither gives to the command nor compares.
    pub fn unused_files(&self) -> Vec<String> {
        let entries = self.collected.facts.entries.iter();
        let files = entries.filter(|(_, entry)| matches!(entry, EntryFact::File(_)));
        self.read(|run| {
            let unused = files.filter(|(path, _)| run.is_unused(path));
            unused.map(|(path, _)| path.to_owned()).collect()
        })
    }

    /// One of its documents. Every required one exists.
    pub fn document(&self, name: &str) -> Option<Document<'_>> {
        let bytes = self.collected.documents.get(name)?;
        parse_document(bytes, &ReadOptions::default()).ok()
    }
}

impl Source for VerifiedRun<'_> {
    fn entries(&self) -> Result<Vec<Entry>, SourceError> {
        let mut entries = self.source.entries()?;
        let facts = &self.collected.facts.entries;
        entries.retain(|entry| facts.get(entry.name.shown()).is_some());
        Ok(entries)
    }

    fn open(&self, path: &SafePath) -> Result<Box<dyn Read + Send + '_>, SourceError> {
        let fact = self.collected.facts.file(path.as_str());
        let fact = fact.ok_or_else(|| SourceError::NotFound {
            path: path.to_string(),
        })?;
        if let (Some(sha256), Some(bytes)) = (fact.sha256(), fact.bytes()) {
            let unread = self.source.open(path)?;
            return Ok(Box::new(UnchangedReader {
                reader: unread,
                hasher: Some(Hasher::new()),
                left: bytes,
                sha256,
            }));
        }
        // Stored otherwise than canonically, so that what was verified is its canonical form.
        let bytes = self.source.read(path, JsonLimits::LARGEST_TEXT)?;
        match is_canonical_form_of(&bytes, fact) {
            true => Ok(Box::new(io::Cursor::new(bytes))),
            false => Err(SourceError::Io {
                path: path.to_string(),
                source: changed(),
            }),
        }
    }
}

fn is_canonical_form_of(bytes: &[u8], fact: &FileFact) -> bool {
    let Ok(document) = parse_document(bytes, &ReadOptions::default()) else {
        return false;
    };
    let canonical = canonical_bytes(document.root(), Dialect::Jcs);
    canonical.is_ok_and(|canonical| Some(Digest::of(&canonical)) == fact.sha256())
}

fn changed() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "it has changed since it was verified",
    )
}

/// Reads a file that must have the bytes that were verified.
struct UnchangedReader<'a> {
    reader: Box<dyn Read + Send + 'a>,
    /// `None` once the digest was compared.
    hasher: Option<Hasher>,
    left: u64,
    sha256: Digest,
}

impl Read for UnchangedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(changed)?;
        if count == 0 && self.left > 0 && !buffer.is_empty() {
            return Err(changed());
        }
        if let Some(hasher) = &mut self.hasher {
            hasher.update(&buffer[..count]);
        }
        // The last bytes are handed out only after the comparison.
        if self.left == 0
            && let Some(hasher) = self.hasher.take()
            && hasher.finish() != self.sha256
        {
            return Err(changed());
        }
        Ok(count)
    }
}

/// Verifies the run bundle in `source`; also returns the bundle if it is valid.
pub fn verify_run_source(
    source: &dyn Source,
    options: VerifyOptions,
) -> Result<(Report, Option<VerifiedRun<'_>>), SourceError> {
    let collected = CollectedRun::collect(source)?;
    let report = collected.judge(options.level, &LocalTools);
    let verified = report.is_valid().then_some(VerifiedRun {
        source,
        collected,
        withholding: Withholding::default(),
    });
    Ok((report, verified))
}

/// Like [`verify_run_source`], for who also shows what was judged: it is read through `read`, which
/// shows the files of `source`.
pub(crate) fn judge_run<'a>(
    source: &'a dyn Source,
    read: &dyn Source,
) -> Result<(Judgement, Option<VerifiedRun<'a>>), SourceError> {
    let collected = CollectedRun::collect(read)?;
    let judgement = Judgement {
        report: collected.judge(Level::Integrity, &LocalTools),
        identity: collected.identity(),
    };
    let verified = judgement.report.is_valid().then(|| VerifiedRun {
        source,
        collected: collected.into_owned(),
        withholding: Withholding::default(),
    });
    Ok((judgement, verified))
}

/// The same for the redacted copy of a run bundle, to which nobody else may be writing; with the
/// visible part of the run if the copy is valid. `None` if it is a copy of something else.
pub(crate) fn judge_redacted_run<'a>(
    source: &'a dyn Source,
    read: &dyn Source,
) -> Result<(Judgement, Option<VerifiedRun<'a>>), SourceError> {
    let CollectedCopy { judgement, run } = collect_copy(source, read)?;
    let verified = run.map(|(collected, withholding)| VerifiedRun {
        source,
        collected,
        withholding,
    });
    Ok((judgement, verified))
}
