//! The findings, for people, as JSON and as SARIF.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use runseal_core::canon::Value;
use runseal_core::hidden::one_line;
use runseal_kernel::find::Place;
use runseal_kernel::rules::{Rule, Severity};

use super::{Asked, Linted, Remark};

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
                "{}: {}: {} {}{}",
                one_line(&remark.path),
                remark.place,
                rule.severity.name(),
                rule.id,
                match remark.is_of_assessor() {
                    true => " (an assessor's word)",
                    false => "",
                }
            );
            let _ = writeln!(text, "  {}", one_line(&remark.message));
            let _ = writeln!(text, "  why: {}", rule.reason);
            let _ = writeln!(text, "  do:  {}", rule.advice);
        }
        for line in waiver_lines(file).into_iter().chain(assessor_line(file)) {
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
        "{} to ask{}, {} to note, {} accepted{not_read}",
        count(Severity::Ask),
        shares(linted),
        count(Severity::Note),
        linted
            .iter()
            .map(|file| file.measured.waived.len())
            .sum::<usize>()
    );
    text
}

/// How many of the questions are whose, if any is an assessor's.
fn shares(linted: &[Linted]) -> String {
    let remarks = linted.iter().flat_map(|file| &file.remarks);
    let asked: Vec<&Remark> = remarks.filter(|remark| remark.finding.asks()).collect();
    let said = asked
        .iter()
        .filter(|remark| remark.is_of_assessor())
        .count();
    match said {
        0 => String::new(),
        said => format!(
            " ({} by rules, {said} on an assessor's word)",
            asked.len() - said
        ),
    }
}

/// What became of asking an assessor about a file.
fn assessor_line(file: &Linted) -> Option<String> {
    let Asked { by, said } = file.asked.as_ref()?;
    Some(match said {
        Err(_) => format!("{by} GAVE NO ANSWER that could be used; only the rules have looked"),
        Ok(said) => {
            let unseen = said.coverage.filter(|coverage| coverage.unseen > 0);
            let unseen = unseen.map_or(String::new(), |coverage| {
                format!("; {}", coverage.describe())
            });
            format!("{by} found {} more{unseen}", said.added)
        }
    })
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

/// `{"ok", "findings": […], "accepted": […], "unused_waivers": […]}`, and `assessed` if somebody was asked.
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
    let is_open = |file: &Linted| file.asks() || file.failure().is_some();
    let mut answer = Value::object([
        ("ok", Value::from(!linted.iter().any(is_open))),
        ("findings", Value::array(findings)),
        ("accepted", Value::array(accepted)),
        ("unused_waivers", Value::array(unused)),
    ]);
    let assessed: Vec<Value> = linted.iter().filter_map(assessed_json).collect();
    if !assessed.is_empty() {
        answer.insert("assessed", Value::array(assessed));
    }
    answer
}

/// Who was asked about a file, and how much of it that one was shown; or why there is no answer.
fn assessed_json(file: &Linted) -> Option<Value> {
    let Asked { by, said } = file.asked.as_ref()?;
    let mut value = Value::object([
        ("path", Value::from(file.source.path.as_str())),
        ("by", Value::from(by.as_str())),
        ("answered", Value::from(said.is_ok())),
    ]);
    match said {
        Err(error) => {
            let error = Value::object([("code", error.code()), ("message", error.text())]);
            value.insert("error", error);
        }
        Ok(said) => {
            let left_out = said
                .left_out
                .iter()
                .map(|reason| Value::from(reason.as_str()));
            value.insert("findings", said.added);
            value.insert("repeated", said.repeated);
            value.insert("left_out", Value::array(left_out));
            if let Some(coverage) = said.coverage {
                value.insert("questions", coverage.questions);
                value.insert("pairs", coverage.pairs);
                value.insert("pairs_not_seen", coverage.unseen);
                value.insert("seen_within", coverage.reach);
            }
        }
    }
    Some(value)
}

fn finding_json(remark: &Remark, explain: bool) -> Value {
    let rule = remark.finding.rule;
    let mut value = Value::object([
        ("path", Value::from(remark.path.as_str())),
        ("rule_id", Value::from(rule.id.as_str())),
        ("kind", Value::from(rule.kind.name())),
        ("severity", Value::from(rule.severity.name())),
        ("by", Value::from(remark.by())),
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
            ("properties", Value::object([("by", remark.by())])),
        ])
    });
    let mut driver = Value::object([("name", "runseal"), ("version", env!("CARGO_PKG_VERSION"))]);
    driver.insert("rules", Value::array(descriptors));
    let mut run = Value::object([
        ("columnKind", Value::from("utf16CodeUnits")),
        ("results", Value::array(results)),
        ("tool", Value::object([("driver", driver)])),
    ]);
    let asked = linted.iter().filter(|file| file.asked.is_some());
    let notifications: Vec<Value> = asked
        .filter_map(|file| {
            let line = format!("{}: {}", file.source.path, assessor_line(file)?);
            let level = match file.failure() {
                Some(_) => "error",
                None => "note",
            };
            Some(Value::object([
                ("level", Value::from(level)),
                ("message", text(&line)),
            ]))
        })
        .collect();
    if !notifications.is_empty() {
        let is_done = linted.iter().all(|file| file.failure().is_none());
        let invocation = Value::object([
            ("executionSuccessful", Value::from(is_done)),
            ("toolExecutionNotifications", Value::array(notifications)),
        ]);
        run.insert("invocations", Value::array([invocation]));
    }
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
