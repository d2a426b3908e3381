//! ledger.jsonl: one line per run, append-only, LD1-LD6.
//!
//! Findings name a line as `line N`, counted from 1. Blank lines (only space, tab and CR) are
//! skipped.

use crate::canon::JsonError;
use crate::formats::definition::{
    FormatDefinition, Identity, Judgement, Outcome, ProofScope, infos,
};
use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::canon::{Document, Kind, Node, ReadOptions, parse_document};
use crate::digest::ContentHash;
use crate::formats::Format;
use crate::formats::run::ResultKind;
use crate::formats::shape::{
    Member, find_misfits, is_filled_text, is_flag, is_text, is_word, member, text_is,
};
use crate::limits::max_ledger_lines;
use crate::timestamp::parse_utc;
use crate::verify::{Findings, Gate, Level, Place, Report, Rule, RuleInfo, Subject, run_rules};

/// How the run of a line ended.
fn outcome_of(line: &Line<'_>) -> Outcome {
    let Ok(entry) = &line.entry else {
        return Outcome::Unknown;
    };
    let kind = text(entry.root(), "result_kind").and_then(|kind| ResultKind::parse(&kind));
    let accepted = entry.root().get("accepted").and_then(|node| node.as_bool());
    match (kind, accepted) {
        (Some(ResultKind::Bundle), Some(true)) => Outcome::Accepted,
        (Some(ResultKind::Bundle), Some(false)) => Outcome::NotAccepted,
        (Some(ResultKind::Clarify | ResultKind::Refuse), _) => Outcome::Refused,
        _ => Outcome::Unknown,
    }
}

/// The members of an entry that the pack document requires, with their types (PK9).
const REQUIRED: [Member; 7] = [
    member("run_id", is_text, NO_TEXT),
    member("timestamp", is_text, NO_TEXT),
    member("intent_sha256", is_text, NO_TEXT),
    member("result_kind", is_text, NO_TEXT),
    member("accepted", is_flag, "is missing or not a boolean"),
    member("mode", is_text, NO_TEXT),
    member("policy", is_text, NO_TEXT),
];
const NO_TEXT: &str = "is missing or not a text";

/// One line that is not blank.
pub struct Line<'a> {
    /// Its number, from 1.
    pub number: usize,
    /// Its bytes, without the line feed.
    pub text: &'a [u8],
    /// The parsed entry, or why it is not JSON.
    pub entry: Result<Document<'a>, String>,
    /// Whether it is the last line and lacks its line feed, as an interrupted write leaves it.
    pub is_unfinished: bool,
}

/// Parses the lines of a ledger. Lines over the limit are not parsed: the first of them is returned
/// with an error that says so.
pub fn parse_lines(bytes: &[u8]) -> Vec<Line<'_>> {
    let most = max_ledger_lines(bytes.len());
    let is_blank = |line: &[u8]| line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
    let ends_whole = bytes.last() == Some(&b'\n');
    let count = bytes.split(|byte| *byte == b'\n').count();
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    lines
        .filter(|(_, line)| !is_blank(line))
        .take(most + 1)
        .enumerate()
        .map(|(before, (at, line))| Line {
            number: at + 1,
            text: line,
            entry: if before < most {
                parse_document(line, &ReadOptions::default())
                    .map_err(|error| format!("{}, at {}", error.kind, error.position))
            } else {
                Err(format!(
                    "there are more than {most} lines, the limit for {} bytes; this one and those \
                     after it were not read",
                    bytes.len()
                ))
            },
            is_unfinished: before < most && !ends_whole && at + 1 == count,
        })
        .collect()
}

/// A ledger as the rules see it.
pub struct LedgerView<'a> {
    /// Its lines.
    pub lines: &'a [Line<'a>],
}

/// Names the ledger as the subject of its rules.
pub struct Ledger;

impl Subject for Ledger {
    type View<'a> = LedgerView<'a>;
    const FORMAT: Format = Format::Ledger;
}

/// Verifies a ledger.
pub fn verify_ledger(view: &LedgerView<'_>, level: Level) -> Report {
    run_rules(&RULES, view, level)
}

const fn info(id: &'static str, title: &'static str, explanation: &'static str) -> RuleInfo {
    RuleInfo {
        id,
        format: Format::Ledger,
        title,
        section: "002 §3.1 ledger.jsonl",
        level: Level::Document,
        explanation,
    }
}

/// The rules of a ledger.
pub static RULES: [Rule<Ledger>; 6] = [
    Rule {
        info: info(
            "LD1",
            "every line is a whole entry",
            "Each line is a JSON object with run_id, timestamp, intent_sha256, bundle_sha256, \
             result_kind, accepted, mode and policy, each of its type. A truncated last line \
             was torn by a crash.",
        ),
        gate: |_| Gate::Ready,
        check: check_entries,
    },
    Rule {
        info: info(
            "LD2",
            "times never decrease",
            "timestamp is ISO 8601 UTC and not before that of the line above.",
        ),
        gate: |_| Gate::Ready,
        check: check_times,
    },
    Rule {
        info: info(
            "LD3",
            "a run appears once",
            "No run_id appears twice. The later line is reported.",
        ),
        gate: |_| Gate::Ready,
        check: check_runs,
    },
    Rule {
        info: info(
            "LD4",
            "hashes are well formed",
            "intent_sha256 is sha256: and 64 hex digits; bundle_sha256, and previous if \
             given, are too, or null.",
        ),
        gate: |_| Gate::Ready,
        check: check_hashes,
    },
    Rule {
        info: RuleInfo {
            level: Level::Integrity,
            ..info(
                "LD5",
                "each line names the one before it",
                "If lines have `previous`, it is the hash of the bytes of the line before, \
                 null in the first; once a line has it, all lines after it do. A line that \
                 was changed, dropped or inserted breaks the chain after it.",
            )
        },
        gate: |view| {
            if has_chain(view) {
                Gate::Ready
            } else {
                Gate::NotApplicable("no line has `previous`")
            }
        },
        check: check_chain,
    },
    Rule {
        info: RuleInfo {
            level: Level::Integrity,
            ..info(
                "LD6",
                "a line does not contradict itself",
                "Only a BUNDLE can be accepted. bundle_sha256 is null after REFUSE, which leaves no \
                 bundle, and after nothing else.",
            )
        },
        gate: |_| Gate::Ready,
        check: check_outcomes,
    },
];

/// The hash of a line, without its line feed, which the next line has as `previous`.
pub fn line_hash(line: &[u8]) -> ContentHash {
    ContentHash::of(line)
}

fn has_chain(view: &LedgerView<'_>) -> bool {
    entries(view).any(|(_, entry)| entry.get("previous").is_some())
}

fn check_chain(view: &LedgerView<'_>, findings: &mut Findings) {
    let mut has_begun = false;
    let mut before: Option<&Line<'_>> = None;
    for line in view.lines {
        let root = line.entry.as_ref().ok().map(|entry| entry.root());
        let stated = root.and_then(|root| root.get("previous"));
        let expected = before.map(|before| line_hash(before.text).to_string());
        match stated {
            None if has_begun => findings.add(place(line), "`previous` is missing"),
            None => {}
            Some(stated) => {
                has_begun = true;
                let actual = stated.as_lossy_str();
                let is_text_or_null = stated.is_null() || actual.is_some();
                if !is_text_or_null || actual.as_deref() != expected.as_deref() {
                    findings.add_difference(
                        place(line),
                        "`previous` is not the hash of the line before",
                        expected.as_deref().unwrap_or("null"),
                        actual.as_deref().unwrap_or("null"),
                    );
                }
            }
        }
        before = Some(line);
    }
}

fn place(line: &Line<'_>) -> Place {
    Place::line(line.number)
}

fn entries<'a>(view: &'a LedgerView<'a>) -> impl Iterator<Item = (&'a Line<'a>, Node<'a>)> {
    view.lines.iter().filter_map(|line| {
        let root = line.entry.as_ref().ok()?.root();
        (root.kind() == Kind::Object).then_some((line, root))
    })
}

fn text<'a>(node: Node<'a>, name: &str) -> Option<Cow<'a, str>> {
    node.get(name)?.as_lossy_str()
}

/// What keeps a line from being an entry by the pack document (PK9).
pub fn find_entry_faults(line: &Line<'_>) -> Vec<String> {
    let root = match &line.entry {
        Err(error) if line.is_unfinished => return vec![format!("the line is truncated: {error}")],
        Err(error) => return vec![error.clone()],
        Ok(document) => document.root(),
    };
    if root.kind() != Kind::Object {
        return vec![format!(
            "an entry is an object, not {}",
            root.kind().with_article()
        )];
    }
    let misfits = find_misfits(root, &REQUIRED);
    misfits
        .map(|misfit| format!("`{}` {}", misfit.name, misfit.fault))
        .collect()
}

/// What the members of an entry must be besides their types.
const ENTRY: [Member; 6] = [
    member("run_id", is_filled_text, "a text"),
    member("timestamp", is_filled_text, "a text"),
    member("intent_sha256", is_filled_text, "a text"),
    member(
        "result_kind",
        |node| text_is(node, |kind| ResultKind::parse(kind).is_some()),
        "a known outcome",
    ),
    member(
        "mode",
        |node| is_word(node, &["none", "record", "replay"]),
        "none, record or replay",
    ),
    member("policy", is_filled_text, "a text"),
];

fn check_entries(view: &LedgerView<'_>, findings: &mut Findings) {
    for line in view.lines {
        for fault in find_entry_faults(line) {
            findings.add(place(line), fault);
        }
    }
    for (line, entry) in entries(view) {
        let is_typed = |member: &&Member| is_text(entry.get(member.name));
        for misfit in find_misfits(entry, &ENTRY).filter(is_typed) {
            findings.add(
                place(line),
                format!("`{}` is not {}", misfit.name, misfit.fault),
            );
        }
        if entry.get("bundle_sha256").is_none() {
            findings.add(place(line), "`bundle_sha256` is missing");
        }
    }
}

fn check_times(view: &LedgerView<'_>, findings: &mut Findings) {
    let mut before = None;
    for (line, entry) in entries(view) {
        let Some(timestamp) = text(entry, "timestamp") else {
            continue;
        };
        let Some(time) = parse_utc(&timestamp) else {
            findings.add(place(line), "`timestamp` is not a time in ISO 8601 UTC");
            continue;
        };
        if before.is_some_and(|before| time < before) {
            findings.add(place(line), "the time is before that of the line above");
        }
        before = Some(time);
    }
}

fn check_runs(view: &LedgerView<'_>, findings: &mut Findings) {
    let mut seen = BTreeMap::new();
    for (line, entry) in entries(view) {
        let Some(run) = text(entry, "run_id") else {
            continue;
        };
        if let Some(first) = seen.get(&run) {
            findings.add(
                place(line),
                format!("run `{run}` is already in line {first}"),
            );
        } else {
            seen.insert(run, line.number);
        }
    }
}

fn check_outcomes(view: &LedgerView<'_>, findings: &mut Findings) {
    for (line, entry) in entries(view) {
        let kind = text(entry, "result_kind").and_then(|kind| ResultKind::parse(&kind));
        let Some(kind) = kind else { continue };
        let is_accepted = entry.get("accepted").and_then(|node| node.as_bool());
        if kind != ResultKind::Bundle && is_accepted == Some(true) {
            let message = "`accepted` is true, but the run ended without a bundle to accept";
            findings.add(place(line), message);
        }
        let Some(bundle) = entry.get("bundle_sha256") else {
            continue;
        };
        if bundle.is_null() != (kind == ResultKind::Refuse) {
            let message = if bundle.is_null() {
                "`bundle_sha256` is null, but the run did not end with REFUSE"
            } else {
                "`bundle_sha256` is given, but the run ended with REFUSE"
            };
            findings.add(place(line), message);
        }
    }
}

fn check_hashes(view: &LedgerView<'_>, findings: &mut Findings) {
    for (line, entry) in entries(view) {
        for name in ["intent_sha256", "bundle_sha256", "previous"] {
            let Some(node) = entry.get(name) else {
                continue;
            };
            let may_be_null = name != "intent_sha256" && node.is_null();
            let is_hash = node
                .as_lossy_str()
                .is_some_and(|hash| ContentHash::parse(&hash).is_ok());
            if !may_be_null && !is_hash {
                findings.add(
                    place(line),
                    format!("`{name}` is not sha256: and 64 hex digits"),
                );
            }
        }
    }
}

/// The definition of the ledger format.
pub static DEFINITION: LedgerFormat = LedgerFormat;

/// A ledger: one document per line.
pub struct LedgerFormat;

impl FormatDefinition for LedgerFormat {
    fn format(&self) -> Format {
        Format::Ledger
    }

    fn proves(&self) -> ProofScope {
        ProofScope {
            shows: &["That its lines are complete, and chained if they have a chain."],
            does_not: &["That no line was left off the end."],
        }
    }

    fn rules(&self) -> Vec<&'static RuleInfo> {
        infos(&RULES)
    }

    fn members(&self) -> &'static [&'static str] {
        &["intent_sha256", "result_kind", "bundle_sha256"]
    }

    fn file_name(&self) -> Option<&'static str> {
        Some("ledger.jsonl")
    }

    fn judge_text(&self, bytes: &[u8], level: Level) -> Option<Result<Judgement, JsonError>> {
        let lines = parse_lines(bytes);
        let view = LedgerView { lines: &lines };
        let report = verify_ledger(&view, level);
        let caveat = if has_chain(&view) {
            "only the pack of that run covers its last line"
        } else {
            "no chain covers its lines: a line that no pack repeats could have been changed"
        };
        let run_id = |line: &Line<'_>| {
            let root = line.entry.as_ref().ok()?.root();
            Some(text(root, "run_id")?.into_owned())
        };
        let identity = Identity {
            about: lines.iter().filter_map(run_id).collect(),
            caveats: vec![caveat.to_owned()],
            // The worst outcome of any run.
            result: lines.iter().map(outcome_of).max(),
            ..Identity::default()
        };
        Some(Ok(Judgement { report, identity }))
    }
}
