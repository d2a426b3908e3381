//! RD1-RD7: the rules of every redacted copy.

use std::collections::BTreeSet;

use super::documents::{CommittedFile, Opened, REDACTED, REDACTION, find_value};
use super::redactable::redactable;
use super::{RedactedView, ShownFile};
use crate::formats::Format;
use crate::verify::{Findings, Gate, Level, Rule, RuleInfo, Subject};

/// Names the redacted copy as the subject of its rules.
pub struct RedactedBundle;

impl Subject for RedactedBundle {
    type View<'a> = RedactedView;
    const FORMAT: Format = Format::Redacted;
    const NAMES_FILES: bool = true;
}

const fn info(
    id: &'static str,
    level: Level,
    title: &'static str,
    explanation: &'static str,
) -> RuleInfo {
    RuleInfo {
        id,
        format: Format::Redacted,
        title,
        section: "docs/redaction.md",
        level,
        explanation,
    }
}

fn needs_both(view: &RedactedView) -> Gate {
    match (&view.redaction, &view.redacted) {
        (Ok(_), Ok(_)) => Gate::Ready,
        _ => Gate::NotRun("REDACTION.json or REDACTED.json cannot be read (RD1)"),
    }
}

fn needs_sealed(view: &RedactedView) -> Gate {
    let (Ok(redaction), Ok(_)) = (&view.redaction, &view.redacted) else {
        return needs_both(view);
    };
    let is_sealed = |(path, file): (&String, &ShownFile)| {
        let sealed = redaction.file(path).map(|file| file.commitment);
        sealed.is_some() && file.commitment.as_ref().ok().copied() == sealed
    };
    let withheld = view.touched();
    let mut paths = redaction.files.iter().map(|file| &file.path);
    let is_accounted_for = |path: &String| view.shown.contains_key(path) || withheld.contains(path);
    if view.shown.iter().all(is_sealed) && paths.all(is_accounted_for) {
        Gate::Ready
    } else {
        Gate::NotRun("what is shown is not what was sealed (RD2, RD3)")
    }
}

fn check_shown(view: &RedactedView, findings: &mut Findings) {
    let format = view.redaction.as_ref().ok();
    let format = format.and_then(|redaction| redactable(&redaction.format));
    let found = format.map(|format| (format.judge_shown)(view));
    for finding in found.unwrap_or_default() {
        let message = format!("{}: {}", finding.rule_id, finding.message);
        findings.add(finding.place, message);
    }
}

/// The rules of a redacted copy.
pub static RULES: [Rule<RedactedBundle>; 7] = [
    Rule {
        info: info(
            "RD1",
            Level::Document,
            "the commitment and the list of what is withheld are there",
            "REDACTION.json is the commitment that was sealed, with the root of its own files. \
             REDACTED.json names every withheld place with a reason, and opens what is shown.",
        ),
        gate: |_| Gate::Ready,
        check: |view, findings| {
            for (name, fault) in [
                (REDACTION, view.redaction.as_ref().err()),
                (REDACTED, view.redacted.as_ref().err()),
            ] {
                if let Some(fault) = fault {
                    findings.add(name, fault);
                }
            }
        },
    },
    Rule {
        info: info(
            "RD2",
            Level::Document,
            "every file is shown or listed as withheld, and none is added",
            "Each file of the commitment is there, or REDACTED.json lists it as withheld. \
             Nothing else is there: no other file, no folder without files, no link, pipe or device.",
        ),
        gate: needs_both,
        check: check_files,
    },
    Rule {
        info: info(
            "RD3",
            Level::Document,
            "what is shown is what was sealed",
            "The commitment of every file that is shown, computed from its values, the salts of \
             REDACTED.json and the commitments in place of withheld values, is the one in \
             REDACTION.json. A value that was changed, added, moved or removed fails here.",
        ),
        gate: needs_both,
        check: check_commitments,
    },
    Rule {
        info: info(
            "RD4",
            Level::Document,
            "the withheld places are the listed ones",
            "Every place where a commitment replaces a value is listed in REDACTED.json, and \
             every listed place is such a place.",
        ),
        gate: needs_both,
        check: check_places,
    },
    Rule {
        info: info(
            "RD5",
            Level::Document,
            "what must stay is shown",
            "Ids, engine, outcome, time and hash algorithms are shown in every copy; \
             docs/redaction.md lists the places by format.",
        ),
        gate: needs_both,
        check: check_staying,
    },
    Rule {
        info: info(
            "RD6",
            Level::Document,
            "documents are stored canonically",
            "Every JSON document that is shown, and REDACTION.json and REDACTED.json, are stored as their JCS bytes, with \
             nothing after them; in a file of lines, each line is.",
        ),
        gate: needs_both,
        check: |view, findings| {
            for name in &view.laid_out {
                findings.add(*name, "the document is not stored as its JCS bytes");
            }
            for (path, file) in &view.shown {
                if !file.is_canonical {
                    findings.add(path, "the file is not stored as its JCS bytes");
                }
            }
        },
    },
    Rule {
        info: info(
            "RD7",
            Level::Integrity,
            "what is shown satisfies the rules of the whole bundle",
            "A commitment is its maker's word, so the rules of the sealed format are applied to what the \
             copy shows: the required files, what is stated twice, and the lists of files against the \
             files. Nothing that is withheld is compared. The finding names the rule.",
        ),
        gate: needs_sealed,
        check: check_shown,
    },
];

fn check_files(view: &RedactedView, findings: &mut Findings) {
    let (Ok(redaction), Ok(redacted)) = (&view.redaction, &view.redacted) else {
        return;
    };
    let places = redacted.withheld.iter();
    let whole = places.filter(|place| place.pointer.is_none());
    let whole: BTreeSet<&str> = whole.map(|place| place.path.as_str()).collect();
    for file in &redaction.files {
        let is_withheld = whole.contains(file.path.as_str());
        match (view.shown.contains_key(&file.path), is_withheld) {
            (true, true) => findings.add(&file.path, "it is listed as withheld, but is here"),
            (false, false) => findings.add(
                &file.path,
                "it was sealed, but is neither here nor listed as withheld",
            ),
            _ => {}
        }
    }
    for (path, fault) in &view.strange {
        findings.add(path, fault);
    }
    for path in redacted.openings.keys() {
        if !view.shown.contains_key(path) {
            findings.add(
                path,
                "REDACTED.json has an opening for it, but it is not here",
            );
        }
    }
}

fn check_commitments(view: &RedactedView, findings: &mut Findings) {
    let Ok(redaction) = &view.redaction else {
        return;
    };
    for (path, file) in &view.shown {
        let of_file = redaction.file(path);
        let sealed = of_file.map(|file| file.commitment);
        if let (Some(sealed), Ok(_)) = (of_file, &file.commitment)
            && let Some(fault) = find_count_fault(sealed, &file.opened)
        {
            findings.add(path, fault);
        }
        match &file.commitment {
            Err(fault) => findings.add(path, fault),
            Ok(found) if Some(*found) == sealed => {}
            Ok(found) => findings.add_difference(
                path,
                "what is shown is not what was sealed",
                sealed.map(|digest| digest.to_string()).unwrap_or_default(),
                found.to_string(),
            ),
        }
    }
}

/// The fault in the number of values that the commitment states for a file, given what is seen of
/// it. A withheld place of a document has at least one value, a withheld place of another file
/// exactly one.
fn find_count_fault(sealed: &CommittedFile, opened: &Opened) -> Option<String> {
    let withheld = opened.withheld.len() as u64;
    let least = opened.seen.saturating_add(withheld);
    let is_exact = withheld == 0 || !sealed.kind.has_values();
    let is_possible = sealed.values == least || (!is_exact && sealed.values > least);
    (!is_possible).then(|| {
        format!(
            "{REDACTION} says that it has {} values: {} are shown, and {withheld} places are withheld",
            sealed.values, opened.seen
        )
    })
}

fn check_places(view: &RedactedView, findings: &mut Findings) {
    let Ok(redacted) = &view.redacted else {
        return;
    };
    let mut found = BTreeSet::new();
    // What is withheld of a file is known only if its opening fits it.
    let mut unknown = BTreeSet::new();
    for (path, file) in &view.shown {
        if findings.need(file.commitment.as_ref().ok()).is_none() {
            unknown.insert(path.as_str());
            continue;
        }
        let pointers = file.opened.withheld.iter();
        found.extend(pointers.map(|pointer| (path.as_str(), pointer.as_str())));
    }
    let mut listed = BTreeSet::new();
    for place in &redacted.withheld {
        match &place.pointer {
            Some(_) if unknown.contains(place.path.as_str()) => {}
            Some(pointer) => {
                listed.insert((place.path.as_str(), pointer.as_str()));
            }
            None => {
                let redaction = view.redaction.as_ref().ok();
                if redaction.is_some_and(|redaction| redaction.file(&place.path).is_none()) {
                    findings.add(&place.path, "no such file was sealed");
                }
            }
        }
    }
    for (path, pointer) in found.difference(&listed) {
        findings.add(*path, format!("{pointer} is withheld but not listed"));
    }
    for (path, pointer) in listed.difference(&found) {
        findings.add(
            *path,
            format!("{pointer} is listed as withheld, but is not"),
        );
    }
}

fn check_staying(view: &RedactedView, findings: &mut Findings) {
    let Ok(redaction) = &view.redaction else {
        return;
    };
    let Some(format) = redactable(&redaction.format) else {
        return;
    };
    for (path, pointer) in format.ids {
        let file = view.shown.get(*path);
        let document = file.and_then(|file| file.document.as_ref());
        // RD3 says why a document cannot be read.
        let is_readable = file.is_none() || document.is_some();
        if findings.need(is_readable.then_some(())).is_none() {
            continue;
        }
        let id = document.and_then(|document| find_value(document, pointer));
        // If it is absent, this is not a copy of this format.
        if id.is_none() {
            let what = format.format.title();
            findings.add(
                *path,
                format!("{pointer} is missing: this is not a copy of a {what}"),
            );
        }
    }
    for (path, places) in format.stays {
        if redaction.file(path).is_none() {
            continue;
        }
        match view.shown.get(*path) {
            None => findings.add(*path, format!("it must be shown: {}", places.join(", "))),
            Some(ShownFile { document: None, .. }) => {
                findings.need(None::<()>);
            }
            Some(ShownFile {
                document: Some(document),
                ..
            }) => {
                for place in format.missing(path, document) {
                    findings.add(*path, format!("{place} must be shown"));
                }
            }
        }
    }
}
