//! The rules of bags. Their checks are in `rules_files` and `rules_lists`.
//!
//! RFC 8493 distinguishes a *complete* bag from a *valid* one (§3): at the document level a bag is
//! complete, at the integrity level valid.

use super::collect::BagFacts;
use super::manifest::Covers;
use super::{rules_files as files, rules_lists as lists};
use crate::formats::Format;
use crate::verify::{Findings, Gate, Level, Report, Rule, RuleInfo, Subject, run_rules};

/// Names the bag as the subject of its rules.
pub struct Bag;

impl Subject for Bag {
    type View<'a> = &'a BagFacts;
    const FORMAT: Format = Format::Bag;
    const NAMES_FILES: bool = true;
}

/// Verifies a bag.
pub fn verify_bag(facts: &BagFacts, level: Level) -> Report {
    run_rules(&RULES, &facts, level)
}

type Check = for<'a> fn(&&'a BagFacts, &mut Findings);

const fn rule(
    id: &'static str,
    level: Level,
    (section, title): (&'static str, &'static str),
    explanation: &'static str,
    gate: for<'a> fn(&&'a BagFacts) -> Gate,
    check: Check,
) -> Rule<Bag> {
    Rule {
        info: RuleInfo {
            id,
            format: Format::Bag,
            title,
            section,
            level,
            explanation,
        },
        gate,
        check,
    }
}

const fn always(_: &&BagFacts) -> Gate {
    Gate::Ready
}

fn needs_fetch(facts: &&BagFacts) -> Gate {
    match facts.fetch {
        Some(_) => Gate::Ready,
        None => Gate::NotApplicable("there is no fetch.txt"),
    }
}

fn needs_info(facts: &&BagFacts) -> Gate {
    match facts.info {
        Some(_) => Gate::Ready,
        None => Gate::NotApplicable("there is no bag-info.txt"),
    }
}

fn needs_tag_manifest(facts: &&BagFacts) -> Gate {
    match facts.manifests(Covers::Tags).next() {
        Some(_) => Gate::Ready,
        None => Gate::NotApplicable("there is no tag manifest"),
    }
}

/// The rules of bags.
pub static RULES: [Rule<Bag>; 16] = [
    rule(
        "BI1",
        Level::Document,
        ("RFC 8493 §2.1.1", "bagit.txt says what it must"),
        "Two lines: `BagIt-Version: M.N`, a version from 0.93 to 1.0, and \
         `Tag-File-Character-Encoding:` with UTF-8, US-ASCII, ISO-8859-1 or UTF-16. No byte order mark, no \
         blank before a colon.",
        always,
        lists::check_declaration,
    ),
    rule(
        "BI2",
        Level::Document,
        ("RFC 8493 §2.1.2", "there is a payload"),
        "`data` is a folder.",
        always,
        files::check_payload,
    ),
    rule(
        "BI3",
        Level::Document,
        ("RFC 8493 §2.1.3, §2.4", "the manifests can be read"),
        "There is a manifest of the payload. Each line of a manifest is a checksum of the right length \
         and a path, in the encoding that bagit.txt names. The functions are md5, sha1, sha224, sha256, \
         sha384 and sha512: a manifest with any other cannot be checked here.",
        always,
        lists::check_manifests,
    ),
    rule(
        "BI4",
        Level::Document,
        ("RFC 8493 §5.1", "listed names stay inside"),
        "No name in a manifest or in fetch.txt is absolute, begins with a drive letter, climbs with \
         `..`, or contains a backslash or a control character. Manifests of the payload and fetch.txt name \
         files below `data/`; tag manifests name no file there and no tag manifest.",
        always,
        lists::check_names,
    ),
    rule(
        "BI5",
        Level::Document,
        ("RFC 8493 §3", "every listed file is there"),
        "Each is a regular file of the bag. A file that fetch.txt lists counts as missing \
         until it is here: nothing is fetched while verifying. A name that differs only in how its accents \
         are composed is the same name, since file systems change that; a name in another letter case is a different one.",
        always,
        files::check_present,
    ),
    rule(
        "BI6",
        Level::Document,
        ("RFC 8493 §3", "every payload file is listed"),
        "From version 1.0 on, every manifest of the payload lists each file; before that, at least one. A file that no \
         manifest lists was added later, or forgotten.",
        always,
        files::check_listed,
    ),
    rule(
        "BI7",
        Level::Document,
        ("RFC 8493 §2.1.3", "no manifest lists a file twice"),
        "Before version 1.0, a repeated line is only untidy (BI14); two different checksums are \
         a fault.",
        always,
        lists::check_repeats,
    ),
    rule(
        "BI8",
        Level::Document,
        ("RFC 8493 §2.2.3", "fetch.txt can be read"),
        "Each line is a URL, a size or `-`, and a path that every manifest of the payload lists (before \
         version 1.0: any of them). No URL is ever visited.",
        needs_fetch,
        lists::check_fetch,
    ),
    rule(
        "BI9",
        Level::Document,
        ("RFC 8493 §5.1", "there are files and folders only"),
        "No links, pipes or devices, which are never opened, and no names that could be read as another \
         place or that contain a control character or a backslash: a file with such a name is not read, \
         whatever a manifest says about it.",
        always,
        files::check_kinds,
    ),
    rule(
        "BI10",
        Level::Document,
        ("RFC 8493 §2.2.2", "bag-info.txt can be read"),
        "Lines of `Label: value`, or indented to continue the line before. Payload-Oxum appears at most \
         once and is a number of bytes, a dot and a number of files.",
        needs_info,
        lists::check_info,
    ),
    rule(
        "BI11",
        Level::Integrity,
        ("RFC 8493 §3", "the payload has its checksums"),
        "Each file has the checksum that each manifest of the payload gives for it.",
        always,
        |facts, findings| files::check_digests(facts, Covers::Payload, findings),
    ),
    rule(
        "BI12",
        Level::Integrity,
        ("RFC 8493 §2.2.1, §3", "the tag files have their checksums"),
        "Each file has the checksum that each tag manifest gives for it. If there is no tag manifest, \
         bagit.txt, bag-info.txt and the manifests themselves are not covered.",
        needs_tag_manifest,
        |facts, findings| files::check_digests(facts, Covers::Tags, findings),
    ),
    rule(
        "BI13",
        Level::Integrity,
        ("RFC 8493 §2.2.2, §2.2.3", "sizes are the declared ones"),
        "The files below `data/` have the total size and number that Payload-Oxum declares; a file that \
         fetch.txt gives a size for has that size.",
        always,
        files::check_sizes,
    ),
    rule(
        "BI14",
        Level::Form,
        ("RFC 8493 §6.1", "every tool reads the lists alike"),
        "No line twice, no `*` before a name, no `./` at its beginning, from version 1.0 on no `%` that is not \
         written as `%25` (§2.1.3), no two names that differ only in letter case or in how accents are composed, no \
         file that is listed under another composition of its name, and no files that systems create (.DS_Store, \
         Thumbs.db, desktop.ini).",
        always,
        lists::check_tidiness,
    ),
    rule(
        "BI15",
        Level::Form,
        ("RFC 8493 §2.4", "there is a checksum that cannot be forged"),
        "One manifest of the payload, and one tag manifest if any, uses sha224 or longer. Two files \
         with the same MD5 or SHA-1 can be made: these functions detect accidents, not intent.",
        always,
        lists::check_strength,
    ),
    rule(
        "BI16",
        Level::Form,
        ("RFC 8493 §2.2.1", "every tag file is covered"),
        "There is a tag manifest, and the tag manifests together list every file outside of `data/` except \
         themselves. What they do not list can be changed without a trace.",
        always,
        files::check_covered,
    ),
];
