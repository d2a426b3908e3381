//! RB13: what a run read and wrote, as its documents list it, against what is stored.

use std::collections::BTreeMap;

use super::facts::{EntryFact, FileFact, RunBundleView};
use super::layout::{
    ARTIFACTS_FOLDER, ENGINE_FOLDER, EXACT_FOLDER, INPUTS_FOLDER, LOGS_FOLDER, RUN_ENVIRONMENT,
    RUN_INPUT, RUN_OUTPUT, is_json, path_of_exact,
};
use super::recorded::{
    ENGINE_LIST, INPUT_LISTS, ListedFile, MODEL_IO_MEMBER, is_recorded, parse_listed_file,
    parse_listed_files,
};
use crate::verify::{Findings, Gate};

/// Asked where somebody lists files: a recorded command, or an engine's run with its environment.
pub(super) fn has_lists(view: &RunBundleView<'_>) -> Gate {
    let lists = view.environment.root().is_some() || is_recorded_view(view);
    match lists {
        true => Gate::Ready,
        false => Gate::NotApplicable("the bundle does not say what the run read"),
    }
}

pub(super) fn is_recorded_view(view: &RunBundleView<'_>) -> bool {
    view.manifest.root().is_some_and(is_recorded)
}

/// The lists of the bundle: the document each stands in, and its entries.
fn collect_lists(view: &RunBundleView<'_>) -> Vec<(&'static str, ListedFile)> {
    let mut listed = Vec::new();
    if let Some(environment) = view.environment.root() {
        let files = parse_listed_files(environment, ENGINE_LIST);
        listed.extend(files.into_iter().map(|file| (RUN_ENVIRONMENT, file)));
    }
    if !is_recorded_view(view) {
        return listed;
    }
    if let Some(input) = view.input.root() {
        for name in INPUT_LISTS {
            let files = parse_listed_files(input, name);
            listed.extend(files.into_iter().map(|file| (RUN_INPUT, file)));
        }
        for name in ["stdin", MODEL_IO_MEMBER] {
            let file = input.get(name).and_then(parse_listed_file);
            listed.extend(file.map(|file| (RUN_INPUT, file)));
        }
    }
    if let Some(output) = view.output.root() {
        let files = parse_listed_files(output, "outputs");
        listed.extend(files.into_iter().map(|file| (RUN_OUTPUT, file)));
        for name in ["stdout", "stderr"] {
            let log = output.get(name).and_then(parse_listed_file);
            listed.extend(log.map(|file| (RUN_OUTPUT, file)));
        }
    }
    listed
}

pub(super) fn check_listed_files(view: &RunBundleView<'_>, findings: &mut Findings) {
    let listed = collect_lists(view);
    let mut named: BTreeMap<&str, ()> = BTreeMap::new();
    for (document, file) in &listed {
        let Some(stored) = file.stored.as_deref() else {
            continue;
        };
        named.insert(stored, ());
        let shown = file.path.escape_debug();
        match view.facts.file(stored).and_then(FileFact::sha256) {
            None => findings.add(
                stored,
                format!("{document} names it as the bytes of `{shown}`, but it is not there"),
            ),
            Some(actual) if actual != file.sha256 => {
                let what = format!("it does not hold the bytes that {document} lists as `{shown}`");
                findings.add_difference(stored, &what, file.sha256.to_string(), actual.to_string());
            }
            Some(_) => {}
        }
    }
    for (path, entry) in view.facts.entries.iter() {
        let EntryFact::File(fact) = entry else {
            continue;
        };
        if !is_listed_place(path, is_recorded_view(view)) || named.contains_key(path) {
            continue;
        }
        check_canonical_copy(view, path, fact, &named, findings);
    }
}

/// Whether every file at a place like `path` has to be in a list.
fn is_listed_place(path: &str, is_recorded: bool) -> bool {
    match path.split_once('/').map(|(folder, _)| folder) {
        Some(ENGINE_FOLDER | INPUTS_FOLDER | LOGS_FOLDER | EXACT_FOLDER) => true,
        Some(ARTIFACTS_FOLDER) => is_recorded,
        _ => false,
    }
}

/// A file that no list names is the JCS of one whose very bytes are listed, or does not belong here.
fn check_canonical_copy(
    view: &RunBundleView<'_>,
    path: &str,
    fact: &FileFact,
    named: &BTreeMap<&str, ()>,
    findings: &mut Findings,
) {
    let exact = super::layout::exact_path(path);
    if !is_json(path) || path_of_exact(path).is_some() || !named.contains_key(exact.as_str()) {
        findings.add(path, "no list says that the run read or wrote it");
        return;
    }
    let Some(FileFact::Exact { canonical, .. }) = view.facts.file(&exact) else {
        return;
    };
    if fact.sha256() != canonical.as_deref().copied() {
        findings.add(path, format!("its value is not that of `{exact}`"));
    }
}
