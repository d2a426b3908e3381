//! Verifies a run bundle: collects the facts, lets the rules judge them.

use std::path::Path;
use std::thread;

use runseal_core::canon::{Document, Node, ReadOptions, parse_document};
use runseal_core::formats::run_bundle::index::parse_index;
use runseal_core::formats::run_bundle::layout::{
    ARTIFACT_INDEX, COUPLING_RULES, INPUT_ARTIFACT_INDEX, INPUT_SCHEMA, MANIFEST, OUTPUT_SCHEMA,
    RUN_INPUT, RUN_META, RUN_OUTPUT,
};
use runseal_core::formats::run_bundle::{Doc, RunBundleView, verify_run_bundle};
use runseal_core::source::{Source, SourceError};
use runseal_core::verify::{Level, Report};

use super::collect::{Collected, collect};
use super::schema::judge;
use crate::directory::{DirectorySource, RootLink};

pub use crate::job::verify::VerifyOptions;

/// A bundle that was verified and holds. There is no other way to get one.
pub struct VerifiedRun<'a> {
    source: &'a dyn Source,
    collected: Collected,
}

impl VerifiedRun<'_> {
    /// Where its files are.
    pub fn source(&self) -> &dyn Source {
        self.source
    }

    /// What was found in it.
    pub fn collected(&self) -> &Collected {
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
    let source = DirectorySource::open(path, RootLink::Follow)?;
    verify_run_source(&source, options).map(|(report, _)| report)
}

/// Verifies the run bundle in `source`; gives the bundle too, if it holds.
pub fn verify_run_source(
    source: &dyn Source,
    options: VerifyOptions,
) -> Result<(Report, Option<VerifiedRun<'_>>), SourceError> {
    let processors = || thread::available_parallelism().map_or(1, usize::from);
    let threads = options.threads.unwrap_or_else(processors);
    let collected = collect(source, threads)?;
    let report = judge_collected(&collected, options.level);
    let verified = report
        .is_valid()
        .then_some(VerifiedRun { source, collected });
    Ok((report, verified))
}

fn judge_collected(collected: &Collected, level: Level) -> Report {
    let options = ReadOptions::default();
    let parse = |name: &str| {
        let bytes = collected.documents.get(name)?;
        parse_document(bytes, &options).ok()
    };
    let manifest = parse(MANIFEST);
    let input_schema = parse(INPUT_SCHEMA);
    let output_schema = parse(OUTPUT_SCHEMA);
    let coupling = parse(COUPLING_RULES);
    let input = parse(RUN_INPUT);
    let output = parse(RUN_OUTPUT);
    let index = parse(ARTIFACT_INDEX);
    let input_index = parse(INPUT_ARTIFACT_INDEX);
    let meta = parse(RUN_META);
    let input_verdict = judge(root(&input), root(&input_schema));
    let output_verdict = judge(root(&output), root(&output_schema));
    let listed = root(&index).map(parse_index);
    let view = RunBundleView {
        facts: &collected.facts,
        sums: collected.sums.as_ref(),
        listed: listed.as_ref(),
        manifest: doc(collected, &manifest, MANIFEST),
        input_schema: doc(collected, &input_schema, INPUT_SCHEMA),
        output_schema: doc(collected, &output_schema, OUTPUT_SCHEMA),
        coupling: doc(collected, &coupling, COUPLING_RULES),
        input: doc(collected, &input, RUN_INPUT),
        output: doc(collected, &output, RUN_OUTPUT),
        index: doc(collected, &index, ARTIFACT_INDEX),
        input_index: doc(collected, &input_index, INPUT_ARTIFACT_INDEX),
        meta: doc(collected, &meta, RUN_META),
        input_verdict: &input_verdict,
        output_verdict: &output_verdict,
    };
    verify_run_bundle(&view, level)
}

fn root<'a>(document: &'a Option<Document<'_>>) -> Option<Node<'a>> {
    document.as_ref().map(|document| document.root())
}

fn doc<'a>(collected: &'a Collected, document: &'a Option<Document<'_>>, name: &str) -> Doc<'a> {
    match root(document) {
        Some(root) => Doc::Read(root),
        None => collected.broken(name).map_or(Doc::Absent, Doc::Broken),
    }
}
