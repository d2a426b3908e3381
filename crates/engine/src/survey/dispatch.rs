//! From a unit to its result: each format is handed to its verifier here and nowhere else.

use std::io::{self, Read};
use std::path::Path;

use runseal_core::canon::{Kind, Node, ReadOptions, parse_document};
use runseal_core::formats::Format;
use runseal_core::formats::context_bundle::{BundleView, verify_bundle};
use runseal_core::formats::evidence::{EvidenceView, verify_evidence};
use runseal_core::formats::ledger::{LedgerView, parse_lines, verify_ledger};
use runseal_core::formats::model_io::{ModelIoView, verify_model_io};
use runseal_core::formats::pack::{PackFiles, PackView, verify_pack};
use runseal_core::formats::patch::{MAX_TOTAL_BYTES, PatchView, verify_patch};
use runseal_core::formats::proposal::{ProposalView, verify_proposal};
use runseal_core::formats::receipt::{self, Receipt, ReceiptsView, TrustDemand};
use runseal_core::formats::runner::{RunnerView, verify_runner};
use runseal_core::limits::JsonLimits;
use runseal_core::source::{Source, SourceError, read_bounded};
use runseal_core::verify::{Checked, Level, NO_FORMAT, NO_JSON, Report, run_rules};

use super::archived::look_at_archive;
use super::detect::{Detected, detect_root, detect_text, several};
use super::{Looked, Named, SurveyOptions, Unit, shown};
use crate::archive::{Archive, ArchiveSource, HEAD, read_archive_file, read_archive_stream, sniff};
use crate::directory::{DirectorySource, RootLink};
use crate::input::{fill, read_file};
use crate::job::verify::{VerifyOptions, verify_archived_job_bundle, verify_job_bundle};
use crate::run::contracts::examine_engine;
use crate::run::verify::verify_run_source;

/// Looks at one unit, on up to `threads` threads.
pub(super) fn look_at(unit: Unit, options: SurveyOptions, threads: Option<usize>) -> Looked {
    match unit {
        Unit::Known(result) => Looked::one(result),
        Unit::Standard => look_at_standard(options),
        Unit::Folder(path, format) => {
            Looked::one(verify_folder(&path, format, options.level, threads))
        }
        Unit::File(path, named) => look_at_file(&path, named, options, threads),
    }
}

/// What could not be read, in one line.
pub(super) fn why(error: &SourceError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

fn look_at_standard(options: SurveyOptions) -> Looked {
    let path = "-";
    let lost = |error: &SourceError| Looked::one(Checked::not_checked(path, None, why(error)));
    let mut input = io::stdin().lock();
    let mut head = [0; HEAD];
    let filled = match fill(&mut input, &mut head) {
        Ok(filled) => filled,
        Err(error) => return Looked::one(Checked::not_checked(path, None, error.to_string())),
    };
    let mut whole = head[..filled].chain(input);
    match sniff(&head[..filled]) {
        Some(container) => match read_archive_stream(container, whole, "standard input") {
            Ok(archive) => look_at_archive(path, &archive, Named::Yes, options),
            Err(error) => lost(&error),
        },
        None => {
            let limit = JsonLimits::LARGEST_DOCUMENT;
            match read_bounded(&mut whole, "standard input", 0, limit) {
                Ok(bytes) => {
                    let result = judge_text(path, "", &bytes, Named::Yes, options.level);
                    result.map_or_else(Looked::nothing, Looked::one)
                }
                Err(error) => lost(&error),
            }
        }
    }
}

fn look_at_file(
    path: &Path,
    named: Named,
    options: SurveyOptions,
    threads: Option<usize>,
) -> Looked {
    let name = shown(path);
    let lost =
        |error: &SourceError| Looked::one(Checked::not_checked(name.clone(), None, why(error)));
    match read_archive_file(path) {
        Ok(Some(archive)) => return look_at_archive(&name, &archive, named, options),
        Ok(None) => {}
        Err(error) => return lost(&error),
    }
    let bytes = match read_file(path, JsonLimits::LARGEST_DOCUMENT) {
        Ok(bytes) => bytes,
        Err(error) => return lost(&error),
    };
    let file_name = path.file_name().unwrap_or_default().to_string_lossy();
    match judge_text(&name, &file_name, &bytes, named, options.level) {
        // The manifest stands for its bundle.
        Some(result) if result.format == Some(Format::JobBundle) => Looked::one(verify_folder(
            path,
            Format::JobBundle,
            options.level,
            threads,
        )),
        Some(result) => Looked::one(result),
        None => Looked::nothing(),
    }
}

/// Verifies a document by its text. `None` where it is of no known format and nobody named it.
pub(super) fn judge_text(
    path: &str,
    file_name: &str,
    bytes: &[u8],
    named: Named,
    level: Level,
) -> Option<Checked> {
    let parsed = parse_document(bytes, &ReadOptions::default());
    let detected = match &parsed {
        Ok(document) => detect_root(document.root(), file_name),
        Err(_) => detect_text(bytes, file_name),
    };
    let format = match detected {
        Detected::Is(format) => format,
        Detected::Several(formats) => {
            return Some(Checked::invalid(path, None, NO_FORMAT, several(&formats)));
        }
        Detected::Unknown if named == Named::No => return None,
        Detected::Unknown => {
            return Some(match parsed {
                Ok(document) => {
                    Checked::invalid(path, None, NO_FORMAT, unknown_message(document.root()))
                }
                Err(error) => {
                    let message = format!("{} {}", error.kind, error.position);
                    Checked::invalid(path, None, NO_JSON, message)
                }
            });
        }
    };
    Some(match (&parsed, format) {
        (_, Format::Ledger) => Checked::of_report(path, &verify_lines(bytes, level)),
        (Ok(document), format) => match verify_root(format, document.root(), level) {
            Some(report) => Checked::of_report(path, &report),
            None => Checked::invalid(path, Some(format), NO_FORMAT, NAME_THE_FOLDER),
        },
        (Err(error), format) => {
            let message = format!("{} {}", error.kind, error.position);
            Checked::invalid(path, Some(format), NO_JSON, message)
        }
    })
}

const NAME_THE_FOLDER: &str = "this is one file of a bundle; name the folder it belongs to";

fn unknown_message(root: Node<'_>) -> String {
    if root.get("run_schema_version").is_some() || root.get("contracts_hashes").is_some() {
        return NAME_THE_FOLDER.to_owned();
    }
    let members: Vec<_> = root
        .members()
        .take(8)
        .map(|(key, _)| format!("`{}`", key.to_lossy()))
        .collect();
    let found = match (root.kind(), members.as_slice()) {
        (Kind::Object, []) => "it has no members".to_owned(),
        (Kind::Object, members) => format!("it has {}", members.join(", ")),
        (kind, _) => format!("it is {}", kind.with_article()),
    };
    format!(
        "no known format: {found}; looked for the members of a context bundle, proposal, patch \
         set, model recording, runner record, evidence, ledger, receipt and job bundle"
    )
}

/// Verifies a ledger, which is a document a line.
pub(super) fn verify_lines(bytes: &[u8], level: Level) -> Report {
    let lines = parse_lines(bytes);
    verify_ledger(&LedgerView { lines: &lines }, level)
}

/// Verifies a document of a format that is one document.
pub(super) fn verify_root(format: Format, root: Node<'_>, level: Level) -> Option<Report> {
    Some(match format {
        Format::ContextBundle => {
            let transformed = None;
            verify_bundle(&BundleView { root, transformed }, level)
        }
        Format::Patch => {
            let max_total_bytes = MAX_TOTAL_BYTES;
            let view = PatchView {
                root,
                max_total_bytes,
            };
            verify_patch(&view, level)
        }
        Format::Receipt => verify_receipts(root, level),
        Format::Proposal => verify_proposal(&ProposalView::new(root, None), level),
        Format::ModelIo => verify_model_io(&ModelIoView { root }, level),
        Format::Runner => verify_runner(&RunnerView { root }, level),
        Format::Evidence => {
            let proposal_hash = None;
            let view = EvidenceView {
                root,
                proposal_hash,
            };
            verify_evidence(&view, level)
        }
        Format::JobBundle
        | Format::Pack
        | Format::RunBundle
        | Format::Ledger
        | Format::Engine
        | Format::Archive => return None,
    })
}

fn verify_receipts(root: Node<'_>, level: Level) -> Report {
    let is_chain = root.kind() == Kind::Array;
    let receipts: Vec<_> = if is_chain {
        root.items().map(Receipt::read).collect()
    } else {
        vec![Receipt::read(root)]
    };
    let view = ReceiptsView {
        receipts: &receipts,
        is_chain,
        merkle: None,
        policy: None,
        demand: TrustDemand::None,
    };
    run_rules(&receipt::RULES, &view, level)
}

/// Verifies a folder of a known format.
fn verify_folder(path: &Path, format: Format, level: Level, threads: Option<usize>) -> Checked {
    let name = shown(path);
    match report_folder(path, format, level, threads) {
        Ok(report) => Checked::of_report(name, &report),
        Err(why) => Checked::not_checked(name, Some(format), why),
    }
}

/// The report on a folder of a known format, or why there is none.
pub(super) fn report_folder(
    path: &Path,
    format: Format,
    level: Level,
    threads: Option<usize>,
) -> Result<Report, String> {
    if format == Format::JobBundle {
        let options = VerifyOptions { level, threads };
        return Ok(verify_job_bundle(path, options).report);
    }
    let source = DirectorySource::open(path, root_link(format)).map_err(|error| why(&error))?;
    report_source(&shown(path), &source, format, level, threads)
}

/// A pack must not be reached by a link (rulings); the others may.
pub(super) fn root_link(format: Format) -> RootLink {
    match format {
        Format::Pack => RootLink::Refuse,
        _ => RootLink::Follow,
    }
}

/// The report on what a source holds, where its format is verified through one.
fn report_source(
    path: &str,
    source: &dyn Source,
    format: Format,
    level: Level,
    threads: Option<usize>,
) -> Result<Report, String> {
    match format {
        Format::Pack => {
            let files = PackFiles::read(source).map_err(|error| why(&error))?;
            Ok(verify_pack(&PackView::new(path, &files, level)))
        }
        Format::RunBundle => {
            let options = VerifyOptions { level, threads };
            let verified = verify_run_source(source, options);
            Ok(verified.map_err(|error| why(&error))?.0)
        }
        Format::Engine => Ok(examine_engine(source).map_err(|error| why(&error))?.0),
        Format::ContextBundle
        | Format::JobBundle
        | Format::Proposal
        | Format::Receipt
        | Format::Patch
        | Format::ModelIo
        | Format::Runner
        | Format::Evidence
        | Format::Ledger
        | Format::Archive => Err(NO_FOLDER.to_owned()),
    }
}

/// Verifies a folder of an archive.
pub(super) fn verify_archived(
    path: &str,
    archive: &Archive,
    folder: &str,
    format: Format,
    level: Level,
) -> Checked {
    match report_archived(path, archive, folder, format, level) {
        Ok(report) => Checked::of_report(path, &report),
        Err(why) => Checked::not_checked(path, Some(format), why),
    }
}

/// The report on a folder of an archive, or why there is none.
pub(super) fn report_archived(
    path: &str,
    archive: &Archive,
    folder: &str,
    format: Format,
    level: Level,
) -> Result<Report, String> {
    if format == Format::JobBundle {
        let options = VerifyOptions {
            level,
            threads: Some(1),
        };
        return Ok(verify_archived_job_bundle(archive, folder, options).report);
    }
    let source = ArchiveSource::new(archive, folder);
    report_source(path, &source, format, level, Some(1))
}

const NO_FOLDER: &str = "this format is no folder";
