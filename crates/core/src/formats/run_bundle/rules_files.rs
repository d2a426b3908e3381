//! RB1, RB2, RB5, RB11, RB12, RB17, RB19, RB20: the files and the two lists of them.

use super::facts::{EntryFact, FileFact, RunBundleView, StoredJson};
use super::index::parse_input_artifacts;
use super::layout::{
    ARTIFACT_INDEX, COUPLING_RULES, INPUT_ARTIFACT_INDEX, INPUT_SCHEMA, MANIFEST, OUTPUT_SCHEMA,
    REQUIRED, RUN_INPUT, RUN_META, RUN_OUTPUT, SUMS,
};
use crate::digest::Digest;
use crate::path::SafePath;
use crate::verify::Findings;

/// JSON files whose faults are reported by the rule that reads them.
const READ_BY_OTHER_RULES: [&str; 9] = [
    MANIFEST,
    INPUT_SCHEMA,
    OUTPUT_SCHEMA,
    COUPLING_RULES,
    RUN_INPUT,
    RUN_OUTPUT,
    ARTIFACT_INDEX,
    INPUT_ARTIFACT_INDEX,
    RUN_META,
];

pub(super) fn check_required(view: &RunBundleView<'_>, findings: &mut Findings) {
    for name in REQUIRED {
        // A copy does not have the lists, and what it withholds was sealed.
        if view.withholds_part_of(name)
            || view.withheld.is_some() && matches!(name, SUMS | ARTIFACT_INDEX)
        {
            continue;
        }
        match view.facts.entries.get(name) {
            Some(EntryFact::File(_)) => {}
            Some(EntryFact::Folder) => findings.add(name, "it is a folder, not a file"),
            Some(EntryFact::NotAFile(kind)) => {
                findings.add(name, format!("it is {}, not a file", kind.with_article()));
            }
            Some(EntryFact::UnsafeName(_)) | None => findings.add(name, "the file is missing"),
        }
    }
}

pub(super) fn check_unlisted(view: &RunBundleView<'_>, findings: &mut Findings) {
    let mut sums = findings.need(view.sums).map(|sums| sums.files.seek());
    for (path, entry) in view.facts.entries.iter() {
        match entry {
            EntryFact::Folder => {}
            EntryFact::NotAFile(kind) => {
                findings.add(
                    path,
                    format!("{} does not belong here", kind.with_article()),
                );
            }
            EntryFact::UnsafeName(reason) => findings.add(path, format!("unsafe name: {reason}")),
            EntryFact::File(_) => {
                if let Some(sums) = &mut sums
                    && path != SUMS
                    && sums.get(path).is_none()
                {
                    findings.add(path, "the file is not listed in SHA256SUMS.txt");
                }
            }
        }
    }
    let lines = view.sums.iter().flat_map(|sums| sums.files.keys());
    for path in lines {
        if let Err(reason) = SafePath::parse(path) {
            findings.add(
                path,
                format!("SHA256SUMS.txt lists an unsafe path: {reason}"),
            );
        }
    }
}

pub(super) fn check_hashes(view: &RunBundleView<'_>, findings: &mut Findings) {
    if let Some(sums) = findings.need(view.sums) {
        for fault in &sums.faults {
            findings.add(SUMS, fault);
        }
        let mut found = view.facts.entries.seek();
        for (path, line) in sums.files.iter() {
            let fact = found.get(path);
            check_hash(fact, path, line.sha256, "SHA256SUMS.txt", findings);
        }
    }
    if let Some(index) = findings.need(view.listed) {
        let mut sums = view.sums.map(|sums| sums.files.seek());
        for (path, entry) in index.entries() {
            // A file with the same wrong hash in both lists is one finding.
            let line = sums.as_mut().and_then(|sums| sums.get(path));
            if line.map(|line| line.sha256) != Some(entry.sha256) {
                let fact = view.facts.entries.get(path);
                check_hash(fact, path, entry.sha256, ARTIFACT_INDEX, findings);
            }
        }
    }
    for (path, entry) in view.facts.entries.iter() {
        if let EntryFact::File(FileFact::BrokenJson(reason)) = entry
            && !READ_BY_OTHER_RULES.contains(&path)
        {
            findings.add(path, format!("not JSON with a canonical form: {reason}"));
        }
    }
}

/// Compares what was found at a path with what a list declares.
fn check_hash(
    fact: Option<&EntryFact>,
    path: &str,
    declared: Digest,
    list: &str,
    findings: &mut Findings,
) {
    match fact {
        Some(EntryFact::File(fact)) => {
            if let Some(actual) = fact.sha256()
                && actual != declared
            {
                let what = format!("the hash is not the one in {list}");
                findings.add_difference(path, &what, declared.to_string(), actual.to_string());
            }
        }
        // RB2 reports it, and it is never opened.
        Some(EntryFact::NotAFile(_) | EntryFact::UnsafeName(_)) => {}
        Some(EntryFact::Folder) | None => {
            // RB1 reports the required ones.
            if !REQUIRED.contains(&path) {
                findings.add(path, format!("{list} lists the file, but it is missing"));
            }
        }
    }
}

pub(super) fn check_index(view: &RunBundleView<'_>, findings: &mut Findings) {
    if let Some(reason) = view.index_fault {
        findings.add(
            ARTIFACT_INDEX,
            format!("not JSON with a canonical form: {reason}"),
        );
    }
    let Some(index) = view.listed else {
        return;
    };
    for fault in &index.faults {
        findings.add(ARTIFACT_INDEX, fault);
    }
    let lines = view.sums.iter().flat_map(|sums| sums.files.keys());
    let mut listed = index.listed.seek();
    for path in lines {
        if path != ARTIFACT_INDEX && path != SUMS && listed.get(path).is_none() {
            findings.add(
                path,
                "the file is listed in SHA256SUMS.txt but not in the index",
            );
        }
    }
}

pub(super) fn check_covered_integers(view: &RunBundleView<'_>, findings: &mut Findings) {
    for (path, entry) in view.facts.entries.iter() {
        if let EntryFact::File(FileFact::Json {
            stored: StoredJson::WithUncoveredInteger(pointer),
            ..
        }) = entry
        {
            let fault = format!(
                "the hash does not cover the integer at `{pointer}`: JCS turns it into another one"
            );
            findings.add(path, fault);
        }
    }
}

pub(super) fn check_stored_canonically(view: &RunBundleView<'_>, findings: &mut Findings) {
    for (path, entry) in view.facts.entries.iter() {
        if let EntryFact::File(FileFact::Json { stored, .. }) = entry
            && *stored != StoredJson::Canonically
        {
            findings.add(path, "the file is not stored as its JCS bytes");
        }
    }
    if findings.need(view.sums).is_some_and(|sums| !sums.sorted) {
        findings.add(SUMS, "the lines are not sorted by path");
    }
    let from_engines = view.input_index.root();
    let from_engines = from_engines.and_then(|root| parse_input_artifacts(root.get("artifacts")?));
    if from_engines.is_some_and(|artifacts| !artifacts.is_sorted()) {
        let fault = "the entries are not sorted by engine_code, artifact_name and sha256";
        findings.add(INPUT_ARTIFACT_INDEX, fault);
    }
    if findings
        .need(view.listed)
        .is_some_and(|index| !index.sorted)
    {
        findings.add(ARTIFACT_INDEX, "the entries are not sorted by path");
    }
}

pub(super) fn check_places(view: &RunBundleView<'_>, findings: &mut Findings) {
    let reading = view.reading();
    for (path, entry) in view.facts.entries.iter() {
        if matches!(entry, EntryFact::File(_)) && reading.role_of(path).is_none() {
            findings.add(path, "the format has no place for it in this kind of run");
        }
    }
}

pub(super) fn check_folders(view: &RunBundleView<'_>, findings: &mut Findings) {
    let entries = &view.facts.entries;
    let folders = entries
        .iter()
        .filter(|(_, entry)| **entry == EntryFact::Folder);
    for (path, _) in folders {
        let inside = format!("{path}/");
        let mut below = entries.iter_from(&inside);
        if below
            .next()
            .is_none_or(|(next, _)| !next.starts_with(&inside))
        {
            findings.add(path, "the folder is empty");
        }
    }
}
