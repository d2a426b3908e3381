//! Verifies a run bundle in any source.

use std::path::Path;

use runseal_core::canon::{Document, ReadOptions, parse_document};
use runseal_core::formats::definition::Judgement;
use runseal_core::formats::run_bundle::CollectedRun;
use runseal_core::source::{Source, SourceError};
use runseal_core::verify::{Level, Report};

use super::schema::{LocalTools, Schema};
use super::withheld::{CollectedCopy, Withholding, collect_copy};
use crate::directory::{DirectorySource, RootLink};

pub use crate::job::verify::VerifyOptions;

/// A bundle that was verified and is valid. There is no other way to obtain one.
pub struct VerifiedRun<'a> {
    source: &'a dyn Source,
    collected: CollectedRun<'a>,
    withholding: Withholding,
}

impl VerifiedRun<'_> {
    /// The source of its files.
    pub fn source(&self) -> &dyn Source {
        self.source
    }

    /// What it withholds, if it is a redacted copy.
    pub fn withholding(&self) -> &Withholding {
        &self.withholding
    }

    /// The facts that were collected from it.
    pub fn collected(&self) -> &CollectedRun<'_> {
        &self.collected
    }

    /// One of its documents. Every required one exists.
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

/// Builds what every schema is checked against, which takes longer than checking most schemas.
/// Called when there is time; otherwise the first schema would build it.
pub(crate) fn prepare_schemas() {
    if let Ok(schema) = parse_document(USUAL_SCHEMA.as_bytes(), &ReadOptions::default()) {
        // The result does not matter.
        let _ = Schema::compile(schema.root());
    }
}

/// A schema with the most common keywords.
const USUAL_SCHEMA: &str = r#"{"$schema":"https://json-schema.org/draft/2020-12/schema",
    "type":"object","required":["a"],"additionalProperties":false,"properties":{
    "a":{"type":"array","items":{"type":"string","pattern":"^x","minLength":1}},
    "b":{"enum":["x"]},"c":{"type":"integer","minimum":0},"d":{"additionalProperties":{"type":"string"}}}}"#;
