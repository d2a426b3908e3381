//! What a redacted copy of a run withholds, for replaying it as far as possible.
//!
//! A copy shows every file byte for byte or not at all, so what it shows can be run and compared.
//! If it withholds something that the command needs, the run cannot be replayed; if it withholds a
//! result, that is left out of the comparison and named.

use std::collections::BTreeSet;

use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_core::formats::Format;
use runseal_core::formats::definition::Judgement;
use runseal_core::formats::redacted::commit::{has_marker, read_marker};
use runseal_core::formats::redacted::documents::{REDACTED, Redacted, Withheld};
use runseal_core::formats::redacted::{RULES, RedactedView};
use runseal_core::formats::run_bundle::CollectedRun;
use runseal_core::formats::run_bundle::layout::{
    CONTRACTS, ENGINE_FOLDER, EXACT_FOLDER, INPUTS_FOLDER, MODEL_BODIES_FOLDER, MODEL_IO,
    RUN_INPUT, RUN_OUTPUT, RUN_PARAMETERS, STDIN,
};
use runseal_core::formats::run_bundle::recorded::{INPUT_LISTS, MODEL_IO_MEMBER};
use runseal_core::path::SafePath;
use runseal_core::source::{ContentFact, EntryKind, EntryName, Source, SourceError};
use runseal_core::verify::{Level, run_rules};

use runseal_redact::is_derived_reason;

/// The folders and files that a command or an engine is given.
const GIVEN: [&str; 7] = [
    ENGINE_FOLDER,
    INPUTS_FOLDER,
    "upstream",
    MODEL_BODIES_FOLDER,
    MODEL_IO,
    STDIN,
    RUN_PARAMETERS,
];

/// What a copy withholds; nothing if it is a whole bundle.
#[derive(Debug, Default)]
pub struct Withholding {
    places: Vec<Withheld>,
    is_of_copy: bool,
}

impl Withholding {
    /// Whether it is about a redacted copy, in which markers stand for what is withheld.
    pub fn is_of_copy(&self) -> bool {
        self.is_of_copy
    }

    /// The files with something withheld.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.places.iter().map(|place| place.path.as_str())
    }

    /// Whether a file is withheld at least in part.
    pub fn touches(&self, path: &str) -> bool {
        self.paths().any(|withheld| withheld == path)
    }

    /// Whether a value is withheld, by itself or with something that contains it.
    pub fn hides(&self, path: &str, pointer: &str) -> bool {
        self.places.iter().any(|place| {
            place.path == path
                && place
                    .pointer
                    .as_ref()
                    .is_none_or(|hidden| is_at_or_below(pointer, hidden))
        })
    }

    /// What is needed to run it again but withheld, each with the stated reason.
    pub fn missing(&self, input: Option<&Value>) -> Vec<String> {
        let is_given = |place: &Withheld| {
            let path = place.path.strip_prefix(EXACT_FOLDER);
            let path = path.and_then(|path| path.strip_prefix('/'));
            let path = path.unwrap_or(&place.path);
            GIVEN.iter().any(|given| is_at_or_below(path, given))
        };
        // Digests of what is withheld are withheld with it; if everything else is there, nothing is
        // missing.
        let is_whole = input.is_some_and(|input| !has_marker(input));
        let is_missed = |place: &&Withheld| is_given(place) || place.path == RUN_INPUT && !is_whole;
        describe_all(self.places.iter().filter(is_missed))
    }

    /// The withheld contracts, without which the bundle's own engine cannot be used.
    pub fn missing_contracts(&self) -> Vec<String> {
        let is_contract = |place: &&Withheld| CONTRACTS.contains(&place.path.as_str());
        describe_all(self.places.iter().filter(is_contract))
    }

    /// Which results of the run are withheld.
    pub fn not_compared(&self) -> Vec<String> {
        let is_given = |place: &&Withheld| {
            place.path == RUN_OUTPUT
                || ["artifacts/", "logs/"]
                    .iter()
                    .any(|folder| place.path.starts_with(folder))
        };
        describe_all(self.places.iter().filter(is_given))
    }
}

/// Whether a path or pointer is `above`, or something below it.
fn is_at_or_below(place: &str, above: &str) -> bool {
    let rest = place.strip_prefix(above);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Each place with its reason; digests and sizes only where there is nothing else, for they go with
/// what they are of.
fn describe_all<'a>(places: impl Iterator<Item = &'a Withheld>) -> Vec<String> {
    let is_derived = |place: &&Withheld| is_derived_reason(&place.reason);
    let (derived, others): (Vec<_>, Vec<_>) = places.partition(is_derived);
    let shown = match others.is_empty() {
        true => derived,
        false => others,
    };
    let describe = |place: &Withheld| format!("`{}` is withheld: {}", place.place(), place.reason);
    shown.into_iter().map(describe).collect()
}

/// Whether `source` is a redacted copy.
///
/// # Errors
/// When it cannot be listed.
pub fn is_redacted(source: &dyn Source) -> Result<bool, SourceError> {
    let is_list =
        |name: &EntryName| matches!(name, EntryName::Safe(path) if path.as_str() == REDACTED);
    let entries = source.entries()?;
    Ok(entries
        .iter()
        .any(|entry| entry.kind == EntryKind::File && is_list(&entry.name)))
}

/// The result of collecting a copy.
#[derive(Debug)]
pub(super) struct CollectedCopy {
    pub(super) judgement: Judgement,
    /// The visible part of the run, if the copy is valid and of a run bundle.
    pub(super) run: Option<(CollectedRun<'static>, Withholding)>,
}

/// Verifies the copy in `source`, to which nobody else may be writing; what is judged is read through
/// `read`, which shows the same files.
pub(super) fn collect_copy(
    source: &dyn Source,
    read: &dyn Source,
) -> Result<CollectedCopy, SourceError> {
    let view = RedactedView::collect(read)?;
    let judgement = Judgement {
        report: run_rules(&RULES, &view, Level::Integrity),
        identity: view.identity(),
    };
    let is_run = view
        .redaction
        .as_ref()
        .is_ok_and(|redaction| redaction.format == Format::RunBundle.name());
    let is_valid = judgement.report.is_valid();
    let (Ok(Redacted { withheld, .. }), true, true) = (view.redacted, is_run, is_valid) else {
        return Ok(CollectedCopy {
            judgement,
            run: None,
        });
    };
    let withholding = Withholding {
        places: withheld,
        is_of_copy: true,
    };
    let mut collected = CollectedRun::collect(source)?;
    for name in [RUN_INPUT, RUN_OUTPUT] {
        let parsed = collected.documents.get(name);
        let parsed = parsed.and_then(|bytes| super::seal::parse_value(bytes).ok());
        let Some(mut document) = parsed else { continue };
        fill_facts(&mut document, source, &withholding)?;
        // What cannot be written stays as it was read.
        if let Ok(bytes) = canonical_bytes(&document, Dialect::Jcs) {
            collected.documents.insert(name, bytes.into());
        }
    }
    Ok(CollectedCopy {
        judgement,
        run: Some((collected.into_owned(), withholding)),
    })
}

/// Computes digests and sizes of listed files that are withheld although the files are shown: they
/// stood for something else too, or the file was disclosed later.
fn fill_facts(
    document: &mut Value,
    source: &dyn Source,
    withholding: &Withholding,
) -> Result<(), SourceError> {
    let mut entries: Vec<&mut Value> = Vec::new();
    let Value::Object(members) = document else {
        return Ok(());
    };
    for (name, value) in members.iter_mut() {
        let Some(name) = name.as_str() else { continue };
        if ["stdin", "stdout", "stderr", MODEL_IO_MEMBER].contains(&name) {
            entries.push(value);
        } else if let (Value::Array(list), true) = (value, is_list(name)) {
            entries.extend(list);
        }
    }
    for entry in entries {
        if !entry.get("sha256").is_some_and(has_marker) {
            continue;
        }
        let stored = entry.get("stored").and_then(Value::as_str);
        let shown = stored.filter(|stored| !withholding.touches(stored));
        if let Some(path) = shown.and_then(|stored| SafePath::parse(stored).ok()) {
            let fact = read_fact(source, &path)?;
            entry.insert("sha256", fact.sha256.to_string());
            if entry.get("bytes").is_some_and(has_marker) {
                entry.insert("bytes", fact.bytes);
            }
        }
    }
    Ok(())
}

fn is_list(name: &str) -> bool {
    name == "outputs" || INPUT_LISTS.contains(&name)
}

fn read_fact(source: &dyn Source, path: &SafePath) -> Result<ContentFact, SourceError> {
    let fact = ContentFact::read(source.open(path)?);
    fact.map_err(|source| SourceError::Io {
        path: path.to_string(),
        source,
    })
}

/// Whether an engine's output shows any result of the engine.
pub(super) fn shows_results(output: &Value) -> bool {
    fn shows_any(value: &Value) -> bool {
        match value {
            value if read_marker(value).is_some() => false,
            Value::Object(members) => members.values().any(shows_any),
            Value::Array(elements) => elements.iter().any(shows_any),
            _ => true,
        }
    }
    let Value::Object(members) = output else {
        return false;
    };
    let is_result = |name: &str| !["engine", "semantics", "inputs_hash"].contains(&name);
    members
        .iter()
        .any(|(name, value)| name.as_str().is_none_or(is_result) && shows_any(value))
}

/// The results of a recorded command that a copy withholds.
#[derive(Debug, Default)]
pub(crate) struct WithheldResults {
    /// Files, by their places in the bundle.
    pub(crate) places: BTreeSet<String>,
    /// Whether they may include files that are not named.
    pub(crate) has_unnamed: bool,
    /// Whether it is withheld how the command ended.
    pub(crate) ending: bool,
    /// Whether it is withheld what the command deleted.
    pub(crate) deleted: bool,
    /// Whether it is withheld which empty folders it left.
    pub(crate) folders: bool,
    /// Whether it is withheld which files it left that were not kept.
    pub(crate) not_kept: bool,
}

impl WithheldResults {
    /// Determines what is withheld of RUN_OUTPUT.json of a recorded command.
    pub(crate) fn read(output: &Value, streams: [&str; 2]) -> Self {
        let hides = |name: &str| output.get(name).is_some_and(has_marker);
        let mut withheld_results = Self {
            ending: hides("exit_status") || hides("signal"),
            deleted: hides("deleted"),
            folders: hides("folders"),
            not_kept: hides("not_kept"),
            ..Self::default()
        };
        for (name, place) in ["stdout", "stderr"].into_iter().zip(streams) {
            if hides(name) {
                withheld_results.places.insert(place.to_owned());
            }
        }
        match output.get("outputs") {
            Some(Value::Array(outputs)) => {
                for entry in outputs.iter().filter(|entry| has_marker(entry)) {
                    match entry.get("path").and_then(Value::as_str) {
                        Some(path) => {
                            withheld_results.places.insert(format!("artifacts/{path}"));
                        }
                        None => withheld_results.has_unnamed = true,
                    }
                }
            }
            _ => withheld_results.has_unnamed = hides("outputs"),
        }
        withheld_results
    }
}
