//! BI1, BI3, BI4, BI7, BI8, BI10, BI14, BI15: what the texts at the top of a bag say.

use std::collections::{BTreeMap, BTreeSet};

use super::collect::{BAGIT, BagFacts, FETCH};
use super::manifest::{Covers, ListedName, Manifest, is_payload, manifest_name};
use super::tags::{Version, parse_oxum};
use crate::lookalike::fold;
use crate::source::Algorithm;
use crate::verify::Findings;

/// Files that operating systems create.
const SYSTEM_FILES: [&str; 3] = [".DS_Store", "Thumbs.db", "desktop.ini"];

pub(super) fn check_declaration(facts: &&BagFacts, findings: &mut Findings) {
    for fault in &facts.declaration.faults {
        findings.add(BAGIT, fault);
    }
}

pub(super) fn check_manifests(facts: &&BagFacts, findings: &mut Findings) {
    for name in &facts.undecodable {
        findings.add(
            name.as_str(),
            "it is not text in the encoding that bagit.txt names",
        );
    }
    if facts.manifests(Covers::Payload).next().is_none() {
        findings.add_without_path("there is no manifest of the payload that can be read");
    }
    for manifest in &facts.manifests {
        if manifest.algorithm.is_none() {
            let known = Algorithm::ALL.map(Algorithm::name).join(", ");
            let message = format!("its checksums cannot be computed here: only {known}");
            findings.add(manifest.name.as_str(), message);
        }
        for fault in &manifest.faults {
            findings.add(manifest.name.as_str(), fault);
        }
    }
}

pub(super) fn check_names(facts: &&BagFacts, findings: &mut Findings) {
    for manifest in &facts.manifests {
        for line in &manifest.lines {
            check_name(
                &manifest.name,
                (line.number, &line.file),
                manifest.covers,
                findings,
            );
        }
    }
    for line in facts.fetch.iter().flat_map(|fetch| &fetch.lines) {
        check_name(FETCH, (line.number, &line.file), Covers::Payload, findings);
    }
}

fn check_name(
    list: &str,
    (number, file): (usize, &ListedName),
    covers: Covers,
    findings: &mut Findings,
) {
    let (written, fault) = match (&file.path, covers) {
        (Err(bad), _) => (&*bad.written, bad.fault.to_string()),
        (Ok(path), covers) => match misplaced(path.as_str(), covers) {
            Some(fault) => (path.as_str(), fault.to_owned()),
            None => return,
        },
    };
    findings.add(list, format!("line {number}: `{written}`: {fault}"));
}

/// Why a list with this coverage must not list that file, if so.
fn misplaced(path: &str, covers: Covers) -> Option<&'static str> {
    let is_tag_manifest = manifest_name(path).is_some_and(|(of, _)| of == Covers::Tags);
    match (covers, is_payload(path)) {
        (Covers::Payload, false) => Some("it is not below data/"),
        (Covers::Tags, true) => Some("it belongs to the payload, which tag manifests do not list"),
        (Covers::Tags, false) if is_tag_manifest => {
            Some("a tag manifest must not list a tag manifest")
        }
        _ => None,
    }
}

/// The lines of a manifest whose file an earlier line lists, each with whether the checksum
/// differs.
fn repeats(manifest: &Manifest) -> Vec<(usize, &str, bool)> {
    let mut first = BTreeMap::new();
    let mut repeats = Vec::new();
    for line in &manifest.lines {
        let Ok(path) = &line.file.path else { continue };
        match first.get(path.as_str()) {
            None => {
                first.insert(path.as_str(), &line.digest);
            }
            Some(digest) => repeats.push((line.number, path.as_str(), **digest != line.digest)),
        }
    }
    repeats
}

pub(super) fn check_repeats(facts: &&BagFacts, findings: &mut Findings) {
    for manifest in &facts.manifests {
        for (number, path, differs) in repeats(manifest) {
            let name = manifest.name.as_str();
            if differs {
                let message = format!("line {number} lists `{path}` again with another checksum");
                findings.add(name, message);
            } else if facts.declaration.version >= Version::V1 {
                findings.add(name, format!("line {number} lists `{path}` again"));
            }
        }
    }
}

pub(super) fn check_fetch(facts: &&BagFacts, findings: &mut Findings) {
    let Some(fetch) = &facts.fetch else { return };
    for fault in &fetch.faults {
        findings.add(FETCH, fault);
    }
    let listed: Vec<BTreeSet<&str>> = facts
        .manifests(Covers::Payload)
        .map(|manifest| {
            let lines = manifest.lines.iter();
            let paths = lines.filter_map(|line| Some(line.file.path.as_ref().ok()?.as_str()));
            paths.collect()
        })
        .collect();
    for line in &fetch.lines {
        let Ok(path) = &line.file.path else { continue };
        let mut lists = listed.iter().map(|list| list.contains(path.as_str()));
        let is_listed = if facts.declaration.version >= Version::V1 {
            lists.all(|listed| listed)
        } else {
            lists.any(|listed| listed)
        };
        // BI4 reports paths outside of the payload.
        if !is_listed && is_payload(path.as_str()) {
            let number = line.number;
            let message = format!("line {number}: a manifest does not list `{path}`");
            findings.add(FETCH, message);
        }
    }
}

pub(super) fn check_info(facts: &&BagFacts, findings: &mut Findings) {
    let Some((name, info)) = &facts.info else {
        return;
    };
    for fault in &info.faults {
        findings.add(*name, fault);
    }
    let declared: Vec<&str> = info.values("Payload-Oxum").collect();
    if declared.len() > 1 {
        findings.add(*name, "Payload-Oxum is given more than once");
    }
    for value in declared {
        if parse_oxum(value).is_none() {
            let shown = value.escape_debug();
            let message = format!("Payload-Oxum `{shown}` is not a number of bytes, dot and files");
            findings.add(*name, message);
        }
    }
}

fn raw_percent(number: usize) -> String {
    format!("line {number} has a `%` that is not written as `%25`")
}

pub(super) fn check_tidiness(facts: &&BagFacts, findings: &mut Findings) {
    for manifest in &facts.manifests {
        let name = manifest.name.as_str();
        if facts.declaration.version < Version::V1 {
            for (number, path, _) in repeats(manifest).iter().filter(|repeat| !repeat.2) {
                findings.add(name, format!("line {number} lists `{path}` again"));
            }
        }
        let mut folded = BTreeMap::new();
        for line in &manifest.lines {
            let number = line.number;
            if line.has_star {
                findings.add(name, format!("line {number} has a `*` before its name"));
            }
            if line.file.has_dot {
                findings.add(name, format!("line {number} begins its name with `./`"));
            }
            if line.file.has_raw_percent {
                findings.add(name, raw_percent(number));
            }
            let Ok(path) = &line.file.path else { continue };
            let path = path.as_str();
            if let Some(other) = folded.insert(fold(path.as_bytes()), path)
                && other != path
            {
                let message = format!(
                    "line {number}: some systems treat `{path}` and `{other}` as the same name"
                );
                findings.add(name, message);
            }
            if let Some((found, _)) = facts.find(path)
                && found != path
            {
                let message = format!("line {number}: the file's name is composed differently");
                findings.add(name, message);
            }
        }
    }
    for line in facts.fetch.iter().flat_map(|fetch| &fetch.lines) {
        if line.file.has_raw_percent {
            findings.add(FETCH, raw_percent(line.number));
        }
    }
    for path in facts.entries.keys() {
        let file_name = path.rsplit('/').next().unwrap_or(path);
        if SYSTEM_FILES.contains(&file_name) {
            findings.add(path, "an operating system created this file");
        }
    }
}

/// Whether all manifests of a kind use forgeable functions; false if there is no manifest.
pub(super) fn is_weak(facts: &BagFacts, covers: Covers) -> bool {
    let mut functions = facts
        .manifests(covers)
        .filter_map(|manifest| manifest.algorithm)
        .peekable();
    functions.peek().is_some() && functions.all(Algorithm::is_forgeable)
}

pub(super) fn check_strength(facts: &&BagFacts, findings: &mut Findings) {
    for (covers, what) in [
        (Covers::Payload, "the payload"),
        (Covers::Tags, "the tag files"),
    ] {
        if is_weak(facts, covers) {
            findings.add_without_path(format!(
                "only MD5 or SHA-1 covers {what}: two files with the same such checksum can be made"
            ));
        }
    }
}
