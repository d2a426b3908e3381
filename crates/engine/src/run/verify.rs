//! Verifies a run bundle in any source.

use std::path::Path;

use runseal_core::canon::{Document, ReadOptions, parse_document};
use runseal_core::formats::run_bundle::CollectedRun;
use runseal_core::source::{Source, SourceError};
use runseal_core::verify::Report;

use super::schema::LocalTools;
use crate::directory::{DirectorySource, RootLink};

pub use crate::job::verify::VerifyOptions;

/// A bundle that was verified and holds. There is no other way to get one.
pub struct VerifiedRun<'a> {
    source: &'a dyn Source,
    collected: CollectedRun,
}

impl VerifiedRun<'_> {
    /// Where its files are.
    pub fn source(&self) -> &dyn Source {
        self.source
    }

    /// What was found in it.
    pub fn collected(&self) -> &CollectedRun {
        &self.collected
    }

    /// One of its documents. Every required one is there.
    pub fn document(&self, name: &str) -> Option<Document<'_>> {
        let bytes = self.collected.documents.get(name)?;
        parse_document(bytes, &ReadOptions::default()).ok()
    }
}

/// Verifies the run bundle in the folder `path`, which may be reached by a link.
pub fn verify_run_folder(path: &Path, options: VerifyOptions) -> Result<Report, SourceError> {
    let source = DirectorySource::open(path, RootLink::Follow)?.with_threads(options.threads);
    verify_run_source(&source, options).map(|(report, _)| report)
}

/// Verifies the run bundle in `source`; gives the bundle too, if it holds.
pub fn verify_run_source(
    source: &dyn Source,
    options: VerifyOptions,
) -> Result<(Report, Option<VerifiedRun<'_>>), SourceError> {
    let collected = CollectedRun::collect(source)?;
    let report = collected.judge(options.level, &LocalTools);
    let verified = report
        .is_valid()
        .then_some(VerifiedRun { source, collected });
    Ok((report, verified))
}
