//! From a unit to its results: the registry's definition of its format judges it.

use std::io::{self, Read};
use std::path::Path;

use runseal_core::canon::{JsonError, Kind, Node, ReadOptions, parse_document};
use runseal_core::formats::Format;
use runseal_core::formats::definition::{Judgement, Judging, REGISTRY, definition, judge_parsed};
use runseal_core::formats::detect::{Detected, detect_root, detect_text};
use runseal_core::limits::JsonLimits;
use runseal_core::source::{Source, SourceError, read_bounded};
use runseal_core::verify::{Checked, Level, NO_FORMAT, NO_JSON};

use super::archived::{judge_archive, judge_in_archive};
use super::inside::InsidePath;
use super::{Found, SurveyOptions, Unit, UnitResults, display_path, error_chain, name_several};
use crate::archive::{HEAD, read_archive_file, read_archive_stream, sniff};
use crate::directory::{DirectorySource, RootLink};
use crate::input::{fill, read_file};
use crate::run::schema::LocalTools;

/// Judges one unit, on up to `threads` threads.
pub(super) fn judge_unit(
    unit: Unit,
    options: SurveyOptions,
    threads: Option<usize>,
) -> UnitResults {
    match unit {
        Unit::Known(result) => UnitResults::one(result),
        Unit::Standard => judge_standard(options),
        Unit::Folder(path, format) => {
            UnitResults::one(judge_folder(&path, format, options.level, threads))
        }
        Unit::File(path, found) => judge_file(&path, found, options, threads),
        Unit::Inside(inside) => judge_inside(&inside, options),
    }
}

fn judge_standard(options: SurveyOptions) -> UnitResults {
    let path = "-";
    let lost = |error: &SourceError| {
        UnitResults::one(Checked::not_checked(path, None, error_chain(error)))
    };
    let mut input = io::stdin().lock();
    let mut head = [0; HEAD];
    let filled = match fill(&mut input, &mut head) {
        Ok(filled) => filled,
        Err(error) => return UnitResults::one(Checked::not_checked(path, None, error.to_string())),
    };
    let mut whole = head[..filled].chain(input);
    match sniff(&head[..filled]) {
        Some(container) => match read_archive_stream(container, whole, "standard input") {
            Ok(archive) => judge_archive(path, &archive, Found::ByName, options),
            Err(error) => lost(&error),
        },
        None => {
            let limit = JsonLimits::LARGEST_DOCUMENT;
            match read_bounded(&mut whole, "standard input", 0, limit) {
                Ok(bytes) => judge_text(path, "", &bytes, Found::ByName, options.level)
                    .map_or_else(UnitResults::passed_over, UnitResults::one),
                Err(error) => lost(&error),
            }
        }
    }
}

fn judge_inside(inside: &InsidePath, options: SurveyOptions) -> UnitResults {
    let lost =
        |reason: String| UnitResults::one(Checked::not_checked(inside.shown(), None, reason));
    match read_archive_file(&inside.archive) {
        Ok(Some(archive)) => judge_in_archive(inside, &archive, options),
        Ok(None) => lost("what stands before `!/` is no archive".to_owned()),
        Err(error) => lost(error_chain(&error)),
    }
}

fn judge_file(
    path: &Path,
    found: Found,
    options: SurveyOptions,
    threads: Option<usize>,
) -> UnitResults {
    let name = display_path(path);
    let lost = |error: &SourceError| {
        UnitResults::one(Checked::not_checked(name.clone(), None, error_chain(error)))
    };
    match read_archive_file(path) {
        Ok(Some(archive)) => return judge_archive(&name, &archive, found, options),
        Ok(None) => {}
        Err(error) => return lost(&error),
    }
    let bytes = match read_file(path, JsonLimits::LARGEST_DOCUMENT) {
        Ok(bytes) => bytes,
        Err(error) => return lost(&error),
    };
    let file_name = path.file_name().unwrap_or_default().to_string_lossy();
    match judge_text(&name, &file_name, &bytes, found, options.level) {
        // The manifest stands for its bundle.
        Some(result) if result.format == Some(Format::JobBundle) && file_name == "bundle.json" => {
            let parent = match path.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent,
                _ => Path::new("."),
            };
            let result = judge_folder(parent, Format::JobBundle, options.level, threads);
            UnitResults::one(Checked {
                path: name,
                ..result
            })
        }
        Some(result) => UnitResults::one(result),
        None => UnitResults::passed_over(),
    }
}

/// Judges a document by its text. `None` where it is of no known format and was found by
/// searching.
pub(super) fn judge_text(
    path: &str,
    file_name: &str,
    bytes: &[u8],
    found: Found,
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
            let message = name_several(&formats);
            return Some(Checked::invalid(path, None, NO_FORMAT, message));
        }
        Detected::Unknown if found == Found::BySearch => return None,
        Detected::Unknown => {
            return Some(match parsed {
                Ok(document) => {
                    Checked::invalid(path, None, NO_FORMAT, unknown_message(document.root()))
                }
                Err(error) => broken(path, None, &error),
            });
        }
    };
    Some(match judge_parsed(format, &parsed, bytes, level) {
        Some(Ok(judgement)) => Checked::of_judgement(path, judgement),
        Some(Err(error)) => broken(path, Some(format), &error),
        None => match parsed {
            Ok(_) => Checked::invalid(path, Some(format), NO_FORMAT, NAME_THE_FOLDER),
            Err(error) => broken(path, Some(format), &error),
        },
    })
}

fn broken(path: &str, format: Option<Format>, error: &JsonError) -> Checked {
    let message = format!("{} {}", error.kind, error.position);
    Checked::invalid(path, format, NO_JSON, message)
}

pub(super) const NAME_THE_FOLDER: &str =
    "this is one file of a bundle; name the folder it belongs to";

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
    let known: Vec<_> = REGISTRY
        .iter()
        .filter(|definition| !definition.members().is_empty())
        .map(|definition| definition.format().title())
        .collect();
    format!(
        "no known format: {found}; looked for the members of a {}",
        known.join(", ")
    )
}

/// Judges a folder of a known format.
fn judge_folder(path: &Path, format: Format, level: Level, threads: Option<usize>) -> Checked {
    let name = display_path(path);
    let judged = open_folder(path, format)
        .and_then(|source| judge_source(&name, &source.with_threads(threads), format, level));
    of_judged(name, format, judged)
}

/// Opens a folder of a known format, through a link only where the format allows it.
pub(super) fn open_folder(path: &Path, format: Format) -> Result<DirectorySource, SourceError> {
    let follows = definition(format).is_none_or(|definition| definition.follows_root_link());
    let root_link = match follows {
        true => RootLink::Follow,
        false => RootLink::Refuse,
    };
    DirectorySource::open(path, root_link)
}

/// Judges what a source holds.
pub(super) fn judge_source(
    path: &str,
    source: &dyn Source,
    format: Format,
    level: Level,
) -> Result<Judgement, SourceError> {
    let judging = Judging {
        path,
        level,
        tools: &LocalTools,
    };
    let definition = definition(format);
    let judged = definition.and_then(|definition| definition.judge_folder(source, &judging));
    judged.unwrap_or_else(|| {
        Err(SourceError::Io {
            path: path.to_owned(),
            source: io::Error::other("this format is no folder"),
        })
    })
}

/// The result of what was judged, or of why it could not be.
pub(super) fn of_judged(
    path: String,
    format: Format,
    judged: Result<Judgement, SourceError>,
) -> Checked {
    match judged {
        Ok(judgement) => Checked::of_judgement(path, judgement),
        Err(error) => Checked::not_checked(path, Some(format), error_chain(&error)),
    }
}
