//! BagIt bags (RFC 8493 and the drafts since 0.93): a folder with lists of checksums, BI1-BI16.
//!
//! - [`tags`]: bagit.txt, bag-info.txt and the encoding of the texts.
//! - [`manifest`]: the manifests and fetch.txt.
//! - [`collect`]: what was found on disk, as the rules see it.
//! - [`rules`]: the table.
//!
//! Paths in findings are paths of files in the bag. The payload is opaque here: bundles in it are
//! judged only if they are named themselves. Nothing is fetched, whatever fetch.txt says.

pub mod collect;
pub mod manifest;
pub mod rules;
mod rules_files;
mod rules_lists;
pub mod tags;

use super::definition::{
    Claim, Coverage, FolderNames, FormatDefinition, Identity, Judgement, Judging, ProofScope,
    ReadName, infos,
};
use crate::formats::Format;
use crate::source::{Source, SourceError};
use crate::verify::RuleInfo;
use collect::{BAGIT, BagFacts};
use manifest::{Covers, PAYLOAD, manifest_name};

pub use rules::{Bag, RULES, verify_bag};

/// The definition of the bag format.
pub static DEFINITION: BagFormat = BagFormat;

/// A bag: a folder with `data/` and lists of what is in it.
pub struct BagFormat;

fn is_payload_manifest(name: &str) -> bool {
    manifest_name(name).is_some_and(|(covers, _)| covers == Covers::Payload)
}

impl FormatDefinition for BagFormat {
    fn format(&self) -> Format {
        Format::Bag
    }

    fn proves(&self) -> ProofScope {
        ProofScope {
            shows: &[
                "That the payload is complete, and each file is the one that the manifests list.",
            ],
            does_not: &[
                "Who made it or when: whoever can write to a bag can make new manifests for it.",
                "Anything about what the payload says; bundles in it are verified by naming them.",
            ],
        }
    }

    fn rules(&self) -> Vec<&'static RuleInfo> {
        infos(&RULES)
    }

    fn recognizes_name(&self, name: &str) -> bool {
        matches!(name, BAGIT | PAYLOAD) || is_payload_manifest(name)
    }

    fn covers(&self) -> Coverage {
        Coverage::Bytes
    }

    fn claims(&self, names: &FolderNames, _: ReadName<'_>) -> Claim {
        // A bag that lost its bagit.txt is still a bag.
        let is_stripped = names.has_folder(PAYLOAD) && names.any_file(is_payload_manifest);
        if names.any_file(|name| name == BAGIT) || is_stripped {
            Claim::Strong
        } else {
            Claim::No
        }
    }

    fn judge_folder(
        &self,
        source: &dyn Source,
        judging: &Judging<'_>,
    ) -> Option<Result<Judgement, SourceError>> {
        let facts = match BagFacts::collect(source) {
            Ok(facts) => facts,
            Err(error) => return Some(Err(error)),
        };
        let report = verify_bag(&facts, judging.level);
        Some(Ok(Judgement {
            report,
            identity: identify(&facts),
        }))
    }
}

fn identify(facts: &BagFacts) -> Identity {
    let info = facts.info.as_ref();
    let ids = info.into_iter().flat_map(|(_, info)| {
        let external = info.values("External-Identifier");
        external.map(str::to_owned).collect::<Vec<_>>()
    });
    let mut caveats = Vec::new();
    if rules_lists::is_weak(facts, Covers::Payload) {
        caveats.push(
            "its checksums are MD5 or SHA-1 only: they show damage by accident, not a file that \
             was replaced on purpose"
                .to_owned(),
        );
    }
    if facts.manifests(Covers::Tags).next().is_none() {
        let caveat = "it has no tag manifest: its manifests and bag-info.txt are not covered";
        caveats.push(caveat.to_owned());
    }
    Identity {
        // Free text of the producer: it may name the content of the bag, or anything else.
        about: ids.collect(),
        caveats,
        ..Identity::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;
    use crate::path::SafePath;
    use crate::source::MemorySource;
    use crate::verify::Level;

    const DECLARED: &str = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n";

    fn bag(files: &[(&str, &str)]) -> BagFacts {
        let files = files.iter().map(|(name, text)| {
            let path = SafePath::parse(name).unwrap();
            (path, text.as_bytes().to_vec())
        });
        BagFacts::collect(&MemorySource::new(files)).unwrap()
    }

    fn found(facts: &BagFacts, level: Level) -> Vec<&'static str> {
        let report = verify_bag(facts, level);
        let mut ids: Vec<_> = report.findings().iter().map(|f| f.rule_id).collect();
        ids.dedup();
        ids
    }

    #[test]
    fn bag_complete_and_valid_are_two_levels() {
        let line = format!("{}  data/a\n", Digest::of(b"1"));
        let parts = [("bagit.txt", DECLARED), ("manifest-sha256.txt", &*line)];
        let good = bag(&[&parts[..], &[("data/a", "1")]].concat());
        assert_eq!(found(&good, Level::Integrity), [""; 0]);
        assert_eq!(found(&good, Level::Form), ["BI16"]);
        let changed = bag(&[&parts[..], &[("data/a", "2")]].concat());
        assert_eq!(found(&changed, Level::Document), [""; 0]);
        assert_eq!(found(&changed, Level::Integrity), ["BI11"]);
        let holey = bag(&[&parts[..], &[("data/b", "1")]].concat());
        assert_eq!(found(&holey, Level::Document), ["BI5", "BI6"]);
    }

    #[test]
    fn bag_name_composed_differently_is_found_and_reported() {
        let line = format!("{}  data/e\u{301}\n", Digest::of(b"1"));
        let parts = [("bagit.txt", DECLARED), ("manifest-sha256.txt", &*line)];
        let carried = bag(&[&parts[..], &[("data/é", "1")]].concat());
        assert_eq!(found(&carried, Level::Integrity), [""; 0]);
        assert_eq!(found(&carried, Level::Form), ["BI14", "BI16"]);
        // Two files match: neither is taken.
        let two = [("data/e\u{301}\u{327}", "1"), ("data/e\u{327}\u{301}", "1")];
        let line = format!("{}  data/\u{229}\u{301}\n", Digest::of(b"1"));
        let parts = [("bagit.txt", DECLARED), ("manifest-sha256.txt", &*line)];
        let torn = bag(&[&parts[..], &two].concat());
        assert_eq!(found(&torn, Level::Document), ["BI5", "BI6"]);
    }

    #[test]
    fn bag_info_with_byte_order_mark_is_parsed() {
        let line = format!("{}  data/a\n", Digest::of(b"1"));
        for (oxum, broken) in [("1.1", None), ("2.1", Some("BI13"))] {
            let info = format!("\u{feff}Payload-Oxum: {oxum}\n");
            let marked = bag(&[
                ("bagit.txt", DECLARED),
                ("bag-info.txt", &info),
                ("manifest-sha256.txt", &line),
                ("data/a", "1"),
            ]);
            let broken: Vec<&str> = broken.into_iter().collect();
            assert_eq!(found(&marked, Level::Integrity), broken, "{oxum}");
        }
    }

    #[test]
    fn bag_with_unencoded_percent_sign_is_reported() {
        for (name, rules) in [
            ("data/100%25", ["BI16"].as_slice()),
            ("data/100%", &["BI14", "BI16"]),
        ] {
            let line = format!("{}  {name}\n", Digest::of(b"1"));
            let listed = bag(&[
                ("bagit.txt", DECLARED),
                ("manifest-sha256.txt", &line),
                ("data/100%", "1"),
            ]);
            assert_eq!(found(&listed, Level::Integrity), [""; 0], "{name}");
            assert_eq!(found(&listed, Level::Form), rules, "{name}");
        }
    }

    #[test]
    fn bag_with_weak_checksums_is_reported() {
        let line = "c4ca4238a0b923820dcc509a6f75849b  data/a\n";
        let weak = bag(&[
            ("bagit.txt", DECLARED),
            ("manifest-md5.txt", line),
            ("data/a", "1"),
        ]);
        assert_eq!(found(&weak, Level::Integrity), [""; 0]);
        assert_eq!(found(&weak, Level::Form), ["BI15", "BI16"]);
        assert_eq!(identify(&weak).caveats.len(), 2);
    }
}
