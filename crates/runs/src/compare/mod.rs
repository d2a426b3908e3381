//! Finds where two things of the same format differ: in meaning first, then in bytes.
//!
//! Documents are compared member by member. Elements of lists are matched by their ids, so a step
//! that moved is not a step that changed. The rest are texts, which are compared line by line, and
//! files whose documents have the same meaning but different bytes.

mod calls;
mod json;
mod render;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use runseal_core::canon::{Document, ReadOptions, parse_document};
use runseal_core::formats::Format;
use runseal_core::limits::{DIFF_MAX_CHANGES, JsonLimits};

use json::compare_nodes;
pub use render::{render_comparison_human, render_comparison_json};
use runseal_fs::survey::load::Judged;
pub(crate) use text::diff_lines;

/// The topic of a difference, in the order in which people ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// Where two recordings of the same calls diverge.
    Calls,
    /// What was asked for and read.
    Inputs,
    /// The constraints.
    Constraints,
    /// What was done.
    Steps,
    /// What was read or written along the way.
    Artifacts,
    /// The results.
    Outputs,
    /// The schemas of inputs and outputs.
    Schemas,
    /// Ids and hashes, which follow from the rest.
    Hashes,
    /// Who ran it, when and where.
    Circumstances,
    /// The same meaning in different bytes.
    Bytes,
}

impl Topic {
    /// The name that people see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Inputs => "inputs",
            Self::Constraints => "constraints",
            Self::Steps => "steps",
            Self::Artifacts => "artifacts",
            Self::Outputs => "outputs",
            Self::Schemas => "schemas",
            Self::Hashes => "hashes",
            Self::Circumstances => "circumstances",
            Self::Bytes => "bytes",
        }
    }
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// What it is about.
    pub topic: Topic,
    /// The file; empty if the whole is one document.
    pub file: String,
    /// The place in the file, as a JSON Pointer; empty for the file as a whole.
    pub pointer: String,
    /// The first one's value; `None` if it has none.
    pub before: Option<String>,
    /// The second one's value; `None` if it has none.
    pub after: Option<String>,
    /// The lines that differ, for two texts.
    pub lines: Option<String>,
}

/// Why two things cannot be compared: they have different formats.
#[derive(Debug, thiserror::Error)]
#[error("the first is a {}, the second a {}", .before.title(), .after.title())]
pub struct FormatMismatch {
    /// What the first one is.
    pub before: Format,
    /// What the second one is.
    pub after: Format,
}

/// Compares two things; returns the differences in order.
pub fn compare(before: &Judged, after: &Judged) -> Result<Vec<Change>, FormatMismatch> {
    if before.format() != after.format() {
        return Err(FormatMismatch {
            before: before.format(),
            after: after.format(),
        });
    }
    let mut changes = Vec::new();
    let mut partings = Vec::new();
    let mut unlisted = 0_u64;
    // Documents that are too large to be compared by meaning.
    let mut unparsed = BTreeSet::new();
    let names = [before, after].map(|judged| judged.content.documents());
    let names = names.into_iter().flatten().map(|(name, _)| name);
    for name in names.collect::<BTreeSet<_>>() {
        let mut add = |pointer: String, before: Option<String>, after: Option<String>| {
            if changes.len() == DIFF_MAX_CHANGES {
                unlisted += 1;
                return;
            }
            changes.push(Change {
                topic: topic_of(name, &pointer),
                file: name.to_owned(),
                pointer,
                before,
                after,
                lines: None,
            });
        };
        let (a, b) = match (before.content.document(name), after.content.document(name)) {
            (Some(a), Some(b)) => (a, b),
            (a, b) => {
                let there = |present: bool| present.then(|| "a document".to_owned());
                add(String::new(), there(a.is_some()), there(b.is_some()));
                continue;
            }
        };
        if a == b {
            continue;
        }
        // One pair after the other, for what is known of a document takes more memory than its text.
        match parse_both(a, b) {
            Some((a, b)) => {
                compare_nodes(a.root(), b.root(), "", &mut add);
                if calls::is_recording(before.format(), name) {
                    partings.extend(calls::find_parting(name, a.root(), b.root()));
                }
            }
            None => {
                unparsed.insert(name);
            }
        }
    }
    compare_files(before, after, &unparsed, &mut changes);
    changes.extend(partings);
    changes.sort();
    changes.dedup();
    if unlisted > 0 {
        changes.push(Change {
            topic: Topic::Bytes,
            file: String::new(),
            pointer: String::new(),
            before: None,
            after: None,
            lines: Some(format!(
                "… and {unlisted} more differences: the limit is {DIFF_MAX_CHANGES}"
            )),
        });
    }
    Ok(changes)
}

/// Reads two documents; nothing where they hold more than is compared.
fn parse_both<'a>(a: &'a [u8], b: &'a [u8]) -> Option<(Document<'a>, Document<'a>)> {
    let mut options = ReadOptions {
        limits: JsonLimits::COMPARED,
        ..ReadOptions::default()
    };
    let a = parse_document(a, &options).ok()?;
    options.share_with(&a);
    let b = parse_document(b, &options).ok()?;
    Some((a, b))
}

/// Adds what the documents do not show: differing other files, and documents that differ only in
/// their bytes.
fn compare_files(
    before: &Judged,
    after: &Judged,
    unparsed: &BTreeSet<&str>,
    changes: &mut Vec<Change>,
) {
    let digests = |judged: &Judged| -> BTreeMap<String, Option<String>> {
        let line = |file: &runseal_core::source::MemberFile| {
            let what = file.sha256.map(|digest| digest.to_string());
            (file.path.clone(), what.or(file.kind.map(str::to_owned)))
        };
        judged.content.files.iter().map(line).collect()
    };
    let (mut a, mut b) = (digests(before), digests(after));
    // A single document may have any name.
    if let ([a_file], [b_file]) = (
        before.content.files.as_slice(),
        after.content.files.as_slice(),
    ) && before.content.document("").is_some()
    {
        a = BTreeMap::from([(String::new(), a_file.sha256.map(|d| d.to_string()))]);
        b = BTreeMap::from([(String::new(), b_file.sha256.map(|d| d.to_string()))]);
    }
    let names: BTreeSet<_> = a.keys().chain(b.keys()).cloned().collect();
    for name in names {
        let (old, new) = (a.get(&name), b.get(&name));
        if old == new {
            continue;
        }
        let is_document = |judged: &Judged| judged.content.document(&name).is_some();
        if is_document(before) && is_document(after) {
            // Reported by meaning already, unless only the bytes differ.
            if changes.iter().any(|change| change.file == name) {
                continue;
            }
        } else if is_document(before) || is_document(after) {
            continue;
        }
        let lines = match (
            before.content.texts.get(&name),
            after.content.texts.get(&name),
        ) {
            (Some(old), Some(new)) => diff_lines(&name, old, new),
            _ if unparsed.contains(name.as_str()) => Some(format!(
                "they differ and were not compared by meaning: together they have more than \
                 {} elements and members",
                JsonLimits::COMPARED.free_values
            )),
            _ => None,
        };
        let topic = match (is_document(before), name.as_str()) {
            (true, _) | (_, "SHA256SUMS.txt") => Topic::Bytes,
            (false, name) => topic_of(name, ""),
        };
        changes.push(Change {
            topic,
            file: name,
            pointer: String::new(),
            before: old.cloned().flatten(),
            after: new.cloned().flatten(),
            lines,
        });
    }
}

/// The topic of a place, by the names on the path to it.
fn topic_of(file: &str, pointer: &str) -> Topic {
    let last = pointer.rsplit('/').next().unwrap_or_default();
    let has = |word: &str| pointer.contains(word);
    if file.ends_with("SCHEMA.json") {
        return Topic::Schemas;
    }
    if last.ends_with("hash") || last.ends_with("sha256") || last == "id" || last.ends_with("_id") {
        return Topic::Hashes;
    }
    match file {
        "RUN_INPUT.json" | "RUN_PARAMETERS.json" | "INPUT_ARTIFACT_INDEX.json" => {
            return Topic::Inputs;
        }
        "RUN_OUTPUT.json" => return Topic::Outputs,
        "RUN_META.json" | "runner.json" | "meta.json" => return Topic::Circumstances,
        "COUPLING_RULES.json" | "SEALING_SPEC.md" | "ENGINE_MANIFEST.json" | "policy.json" => {
            return Topic::Constraints;
        }
        "ARTIFACT_INDEX.json" => return Topic::Artifacts,
        name if name.starts_with("upstream/") => return Topic::Inputs,
        name if name.starts_with("artifacts/") => return Topic::Artifacts,
        _ => {}
    }
    if has("/goal") || has("/intent") || has("/inputs") || has("/context") {
        Topic::Inputs
    } else if has("constraint") || has("/policy") || has("question") {
        Topic::Constraints
    } else if has("/artifacts") {
        Topic::Artifacts
    } else if has("/outputs") || has("/outcome") || has("/decision") || has("result") {
        Topic::Outputs
    } else if [
        "/steps",
        "/actions",
        "/operations",
        "/interactions",
        "/root_node",
        "/terminal_nodes",
        "_tests",
    ]
    .iter()
    .any(|word| has(word))
    {
        Topic::Steps
    } else {
        Topic::Circumstances
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_with_too_many_values_are_not_compared_by_meaning() {
        let list = |count: u64| format!("[{}0]", "1,".repeat(count as usize));
        let half = JsonLimits::COMPARED.free_values / 2;
        let (small, large) = (list(half - 1), list(half + 1));
        assert!(parse_both(small.as_bytes(), small.as_bytes()).is_some());
        assert!(parse_both(large.as_bytes(), small.as_bytes()).is_none());
        assert!(parse_both(small.as_bytes(), large.as_bytes()).is_none());
    }
}
