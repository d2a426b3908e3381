//! BI2, BI5, BI6, BI9, BI11-BI13, BI16: whether the files are the listed ones.

use std::collections::BTreeSet;

use super::collect::{BagFacts, EntryFact};
use super::manifest::{Covers, Manifest, PAYLOAD, manifest_name};
use super::tags::{Version, parse_oxum};
use crate::lookalike::fold;
use crate::verify::Findings;

pub(super) fn check_payload(facts: &&BagFacts, findings: &mut Findings) {
    match facts.entries.get(PAYLOAD) {
        Some(EntryFact::Folder) => {}
        Some(_) => findings.add(PAYLOAD, "it is not a folder"),
        None => findings.add(PAYLOAD, "the payload's folder is missing"),
    }
}

pub(super) fn check_kinds(facts: &&BagFacts, findings: &mut Findings) {
    for (path, fact) in facts.entries.iter() {
        match fact {
            EntryFact::File(_) | EntryFact::Folder => {}
            EntryFact::NotAFile(kind) => {
                let message = format!("{} does not belong here", kind.with_article());
                findings.add(path, message);
            }
            EntryFact::UnsafeName(reason) => findings.add(path, format!("unsafe name: {reason}")),
        }
    }
}

/// The safe paths that a manifest lists.
fn paths(manifest: &Manifest) -> impl Iterator<Item = &str> {
    let lines = manifest.lines.iter();
    lines.filter_map(|line| Some(line.file.path.as_ref().ok()?.as_str()))
}

pub(super) fn check_present(facts: &&BagFacts, findings: &mut Findings) {
    let listed: BTreeSet<&str> = facts.manifests.iter().flat_map(paths).collect();
    let mut folded = None;
    for path in listed {
        match facts.find(path) {
            Some((_, EntryFact::File(_))) => {}
            Some((_, EntryFact::Folder)) => findings.add(path, "it is a folder, not a file"),
            // BI9 reports it, and it is never opened.
            Some((_, EntryFact::NotAFile(_) | EntryFact::UnsafeName(_))) => {}
            None if facts.fetched.contains(path) => findings.add(
                path,
                "the file is not here: fetch.txt says where to get it, and nothing is fetched while \
                 verifying",
            ),
            None => {
                let folded = folded.get_or_insert_with(|| {
                    let all = facts.entries.keys();
                    all.map(|name| (fold(name.as_bytes()), name))
                        .collect::<std::collections::BTreeMap<_, _>>()
                });
                let message = match folded.get(&fold(path.as_bytes())) {
                    Some(other) => format!(
                        "the file is missing; `{other}` has a name that some systems treat as the same"
                    ),
                    None => "the file is missing".to_owned(),
                };
                findings.add(path, message);
            }
        }
    }
}

/// The files that a manifest lists, by their names in the bag.
fn found<'a>(facts: &'a BagFacts, manifest: &'a Manifest) -> BTreeSet<&'a str> {
    let names = paths(manifest).filter_map(|path| Some(facts.find(path)?.0));
    names.collect()
}

pub(super) fn check_listed(facts: &&BagFacts, findings: &mut Findings) {
    let lists = facts.manifests(Covers::Payload);
    let lists: Vec<_> = lists
        .map(|list| (list.name.as_str(), found(facts, list)))
        .collect();
    let is_any_enough = facts.declaration.version < Version::V1;
    for (path, _) in facts.files(Covers::Payload) {
        let without = lists.iter().filter(|(_, listed)| !listed.contains(path));
        let without: Vec<&str> = without.map(|(name, _)| *name).collect();
        if without.len() == lists.len() {
            findings.add(path, "no manifest lists the file");
        } else if !is_any_enough && !without.is_empty() {
            let message = format!("{} does not list the file", without.join(" and "));
            findings.add(path, message);
        }
    }
}

pub(super) fn check_digests(facts: &&BagFacts, covers: Covers, findings: &mut Findings) {
    for manifest in facts.manifests(covers) {
        // BI3 reports unknown functions.
        let Some(algorithm) = manifest.algorithm else {
            continue;
        };
        for line in &manifest.lines {
            let Ok(path) = &line.file.path else { continue };
            let Some((_, EntryFact::File(digests))) = facts.find(path.as_str()) else {
                continue;
            };
            let actual = digests.hex(algorithm).unwrap_or_default();
            if *actual != *line.digest {
                let subject = format!("the checksum is not the one in {}", manifest.name);
                findings.add_difference(path.as_str(), &subject, &*line.digest, actual);
            }
        }
    }
}

pub(super) fn check_sizes(facts: &&BagFacts, findings: &mut Findings) {
    let declared = facts.info.as_ref().and_then(|(name, info)| {
        let mut values = info.values("Payload-Oxum");
        Some((*name, parse_oxum(values.next()?)?))
    });
    if let Some((name, declared)) = declared {
        let add = |(bytes, files): (u64, u64), file: u64| (bytes.saturating_add(file), files + 1);
        let files = facts.files(Covers::Payload);
        let actual = files.fold((0, 0), |sum, (_, digests)| add(sum, digests.bytes));
        if declared != actual {
            let shown = |(bytes, files): (u64, u64)| format!("{bytes}.{files}");
            let subject = "Payload-Oxum is not what the payload has";
            findings.add_difference(name, subject, shown(declared), shown(actual));
        }
    }
    for line in facts.fetch.iter().flat_map(|fetch| &fetch.lines) {
        if let (Some(declared), Ok(path)) = (line.bytes, &line.file.path)
            && let Some((_, EntryFact::File(digests))) = facts.find(path.as_str())
            && digests.bytes != declared
        {
            let subject = "the size is not the one in fetch.txt";
            let actual = digests.bytes.to_string();
            findings.add_difference(path.as_str(), subject, declared.to_string(), actual);
        }
    }
}

pub(super) fn check_covered(facts: &&BagFacts, findings: &mut Findings) {
    let lists = facts.manifests(Covers::Tags);
    let listed: Vec<_> = lists.map(|list| found(facts, list)).collect();
    if listed.is_empty() {
        findings.add_without_path("there is no tag manifest, so nothing covers the tag files");
        return;
    }
    for (path, _) in facts.files(Covers::Tags) {
        let is_tag_manifest = manifest_name(path).is_some_and(|(covers, _)| covers == Covers::Tags);
        if !is_tag_manifest && !listed.iter().any(|listed| listed.contains(path)) {
            findings.add(path, "no tag manifest lists the file");
        }
    }
}
