//! The findings, for people, as JSON and as SARIF.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use runseal_core::canon::Value;
use runseal_core::hidden::one_line;
use runseal_kernel::find::Place;
use runseal_kernel::rules::{Rule, Severity};

use super::{Linted, Remark};

const SARIF_SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Rule, place, quote, why and what to do; then waivers and the sum.
pub(super) fn human(linted: &[Linted], unread: usize, explain: bool) -> String {
    let mut text = String::new();
    let mut used: BTreeMap<&str, &Rule> = BTreeMap::new();
    for file in linted {
        for remark in &file.remarks {
            let rule = remark.finding.rule;
            used.insert(&rule.id, rule);
            // Writing into a string cannot fail.
            let _ = writeln!(
                text,
                "{}: {}: {} {}",
                one_line(&remark.path),
                remark.place,
                rule.severity.name(),
                rule.id
            );
            let _ = writeln!(text, "  {}", one_line(&remark.message));
            let _ = writeln!(text, "  why: {}", rule.reason);
            let _ = writeln!(text, "  do:  {}", rule.advice);
        }
        for line in waiver_lines(file) {
            let _ = writeln!(
                text,
                "{}",
                one_line(&format!("{}: {line}", file.source.path))
            );
        }
    }
    if explain {
        for rule in used.values() {
            let _ = write!(text, "\n{} {}\n{}\n", rule.id, rule.title, rule.explanation);
        }
    }
    let count = |severity| {
        linted
            .iter()
            .flat_map(|file| &file.remarks)
            .filter(|remark| remark.finding.rule.severity == severity)
            .count()
    };
    let not_read = match unread {
        0 => String::new(),
        unread => format!("; {unread} NOT READ"),
    };
    let _ = writeln!(
        text,
        "{} to ask, {} to note, {} accepted{not_read}",
        count(Severity::Ask),
        count(Severity::Note),
        linted
            .iter()
            .map(|file| file.measured.waived.len())
            .sum::<usize>()
    );
    text
}

/// Accepted findings with their reasons, waivers that match nothing, and assessors' findings that
/// no longer match.
fn waiver_lines(file: &Linted) -> Vec<String> {
    let declared = file.source.intent.declared();
    let mut lines = Vec::new();
    for (finding, at) in &file.measured.waived {
        let reason = declared
            .waivers
            .get(*at)
            .map_or("", |waiver| waiver.reason.as_str());
        lines.push(format!(
            "accepted {} “{}”: {reason}",
            finding.rule.id,
            finding.quote(0)
        ));
    }
    for waiver in file
        .measured
        .unused_waivers
        .iter()
        .filter_map(|at| declared.waivers.get(*at))
    {
        lines.push(format!(
            "note: the waiver of {} for “{}” fits nothing",
            waiver.rule, waiver.quote
        ));
    }
    for at in &file.measured.stale {
        lines.push(format!(
            "note: context.findings[{at}] quotes words that the intent does not contain"
        ));
    }
    lines
}

/// `{"ok", "findings": […], "accepted": […], "unused_waivers": […]}`.
pub(super) fn json(linted: &[Linted], explain: bool) -> Value {
    let findings = linted
        .iter()
        .flat_map(|file| &file.remarks)
        .map(|remark| finding_json(remark, explain));
    let accepted = linted.iter().flat_map(|file| {
        file.measured.waived.iter().map(|(finding, at)| {
            let waiver = &file.source.intent.declared().waivers[*at];
            Value::object([
                ("path", file.source.path.as_str()),
                ("rule_id", finding.rule.id.as_str()),
                ("quote", finding.quote(0)),
                ("reason", waiver.reason.as_str()),
            ])
        })
    });
    let unused = linted.iter().flat_map(|file| {
        let waivers = &file.source.intent.declared().waivers;
        file.measured
            .unused_waivers
            .iter()
            .filter_map(|at| waivers.get(*at))
            .map(|waiver| {
                Value::object([
                    ("path", file.source.path.as_str()),
                    ("rule_id", waiver.rule.as_str()),
                    ("quote", waiver.quote.as_str()),
                    ("reason", waiver.reason.as_str()),
                ])
            })
    });
    Value::object([
        ("ok", Value::from(!linted.iter().any(Linted::asks))),
        ("findings", Value::array(findings)),
        ("accepted", Value::array(accepted)),
        ("unused_waivers", Value::array(unused)),
    ])
}

fn finding_json(remark: &Remark, explain: bool) -> Value {
    let rule = remark.finding.rule;
    let mut value = Value::object([
        ("path", Value::from(remark.path.as_str())),
        ("rule_id", Value::from(rule.id.as_str())),
        ("kind", Value::from(rule.kind.name())),
        ("severity", Value::from(rule.severity.name())),
        ("quote", Value::from(remark.finding.quote(0))),
        ("place", Value::from(remark.place.as_str())),
        ("message", Value::from(remark.message.as_str())),
        ("reason", Value::from(rule.reason.as_str())),
        ("advice", Value::from(rule.advice.as_str())),
    ]);
    if let Some(line) = remark.line {
        value.insert("line", line);
    }
    if remark.finding.places.len() > 1 {
        let quotes = remark
            .finding
            .places
            .iter()
            .map(|place: &Place| place.quote.as_str());
        value.insert("quotes", Value::array(quotes));
    }
    if explain {
        value.insert("explanation", rule.explanation.as_str());
    }
    value
}

fn text(message: &str) -> Value {
    Value::object([("text", message)])
}

/// SARIF 2.1.0: one result per finding. A question is an error, a remark a note.
pub(super) fn sarif(linted: &[Linted]) -> Value {
    let remarks = || linted.iter().flat_map(|file| &file.remarks);
    let rules: BTreeMap<&str, &Rule> = remarks()
        .map(|remark| (remark.finding.rule.id.as_str(), remark.finding.rule))
        .collect();
    let index: BTreeMap<&str, u64> = rules.keys().copied().zip(0..).collect();
    let descriptors = rules.values().map(|rule| {
        Value::object([
            ("id", Value::from(rule.id.as_str())),
            ("shortDescription", text(&rule.title)),
            ("fullDescription", text(&rule.explanation)),
            ("help", text(&rule.advice)),
            (
                "defaultConfiguration",
                Value::object([("level", level(rule.severity))]),
            ),
        ])
    });
    let placed = linted.iter().flat_map(|file| {
        let path = file.source.path_bytes.as_slice();
        file.remarks.iter().map(move |remark| (path, remark))
    });
    let results = placed.map(|(path, remark)| {
        let rule = remark.finding.rule;
        let mut physical = Value::object([(
            "artifactLocation",
            Value::object([("uri", encode_uri(path))]),
        )]);
        if let Some(line) = remark.line {
            physical.insert("region", Value::object([("startLine", line)]));
        }
        let location = Value::object([
            ("physicalLocation", physical),
            (
                "logicalLocations",
                Value::array([Value::object([(
                    "fullyQualifiedName",
                    remark.place.as_str(),
                )])]),
            ),
        ]);
        Value::object([
            ("level", Value::from(level(rule.severity))),
            ("message", text(&remark.message)),
            ("ruleId", Value::from(rule.id.as_str())),
            (
                "ruleIndex",
                Value::from(index.get(rule.id.as_str()).copied().unwrap_or(0)),
            ),
            ("locations", Value::array([location])),
        ])
    });
    let mut driver = Value::object([("name", "runseal"), ("version", env!("CARGO_PKG_VERSION"))]);
    driver.insert("rules", Value::array(descriptors));
    let run = Value::object([
        ("columnKind", Value::from("utf16CodeUnits")),
        ("results", Value::array(results)),
        ("tool", Value::object([("driver", driver)])),
    ]);
    Value::object([
        ("$schema", Value::from(SARIF_SCHEMA)),
        ("version", Value::from("2.1.0")),
        ("runs", Value::array([run])),
    ])
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Ask => "error",
        Severity::Note | Severity::Off => "note",
    }
}

/// A path as a URI reference: percent-encodes everything that is not allowed in a path segment.
fn encode_uri(path: &[u8]) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path {
        match *byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(*byte))
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}
