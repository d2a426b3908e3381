//! SARIF 2.1.0: one result per finding, for code scanning services.

use std::collections::BTreeMap;

use super::{UNKNOWN, all_findings, meaning_of, rule_of, unchecked, unlisted_note};
use crate::canon::Value;
use crate::formats::Format;
use crate::verify::finding::Finding;
use crate::verify::rule::Level;
use crate::verify::survey::{NO_ACCESS, Survey, UnitResult, Verdict};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Renders the survey as SARIF. Rule ids include the format, because several formats have a rule
/// `SCHEMA`. Paths below `folder`, the current folder if known, are written relative to it.
pub fn render_survey_sarif(survey: &Survey, folder: Option<&str>) -> Value {
    let mut rules: BTreeMap<String, Value> = BTreeMap::new();
    for result in survey.results() {
        for finding in &all_findings(survey, result) {
            let id = qualified(result, finding);
            rules
                .entry(id.clone())
                .or_insert_with(|| descriptor(&id, result, finding));
        }
    }
    let index: BTreeMap<&str, usize> = rules.keys().map(String::as_str).zip(0..).collect();
    let results = survey.results().iter().flat_map(|result| {
        let index = &index;
        all_findings(survey, result)
            .into_iter()
            .map(move |finding| finding_json(result, &finding, index, folder))
    });
    let results: Vec<Value> = results.collect();
    let mut notifications: Vec<Value> = survey.results().iter().filter_map(notification).collect();
    let is_successful = notifications.is_empty();
    notifications.extend(
        unlisted_note(survey).map(|note| {
            Value::object([("level", Value::from("warning")), ("message", text(&note))])
        }),
    );
    let mut driver = Value::object([("name", "runseal"), ("version", env!("CARGO_PKG_VERSION"))]);
    driver.insert("rules", Value::array(rules.into_values()));
    let mut invocation = Value::object([("executionSuccessful", is_successful)]);
    invocation.insert("toolExecutionNotifications", Value::array(notifications));
    let artifacts: Vec<Value> = survey
        .results()
        .iter()
        .filter_map(|result| artifact(survey, result, folder))
        .collect();
    let mut run = Value::object([
        ("columnKind", Value::from("unicodeCodePoints")),
        ("invocations", Value::array([invocation])),
        ("results", Value::array(results)),
        ("tool", Value::object([("driver", driver)])),
    ]);
    let mut properties = Value::object([("level", survey.level().name())]);
    properties.insert("unchecked", Value::array(unchecked(survey)));
    run.insert("properties", properties);
    if !artifacts.is_empty() {
        run.insert("artifacts", Value::array(artifacts));
    }
    Value::object([
        ("$schema", Value::from(SCHEMA)),
        ("version", Value::from("2.1.0")),
        ("runs", Value::array([run])),
    ])
}

/// The second and third answer about a unit, as properties of the artifact.
fn artifact(survey: &Survey, result: &UnitResult, folder: Option<&str>) -> Option<Value> {
    // Below the integrity level no rule was run that could show it.
    let intact = if survey.level() >= Level::Integrity || !result.is_valid() {
        Value::from(result.is_valid())
    } else {
        Value::Null
    };
    let mut properties = Value::object([("intact", intact)]);
    survey.authenticity_of(result)?.add_to_json(&mut properties);
    Some(Value::object([
        (
            "location",
            Value::object([("uri", encode_uri(result.path_bytes(), folder))]),
        ),
        ("properties", properties),
    ]))
}

fn qualified(result: &UnitResult, finding: &Finding) -> String {
    let of_rule = rule_of(result.format, finding.rule_id).map(|rule| rule.format);
    let format = of_rule.or(result.format).map_or(UNKNOWN, Format::name);
    format!("{format}/{}", finding.rule_id)
}

fn text(message: &str) -> Value {
    Value::object([("text", message)])
}

fn descriptor(id: &str, result: &UnitResult, finding: &Finding) -> Value {
    let (title, explanation) = match rule_of(result.format, finding.rule_id) {
        Some(rule) => (rule.title, rule.explanation),
        None => meaning_of(finding.rule_id),
    };
    Value::object([
        ("id", Value::from(id)),
        ("shortDescription", text(title)),
        ("fullDescription", text(explanation)),
        ("defaultConfiguration", Value::object([("level", "error")])),
    ])
}

fn finding_json(
    result: &UnitResult,
    finding: &Finding,
    index: &BTreeMap<&str, usize>,
    folder: Option<&str>,
) -> Value {
    let id = qualified(result, finding);
    let mut object = Value::object([
        ("level", Value::from("error")),
        ("message", text(&finding.message)),
    ]);
    if let Some(at) = index.get(id.as_str()) {
        object.insert("ruleIndex", *at as u64);
    }
    object.insert("ruleId", id);
    object.insert(
        "locations",
        Value::array([location(result, finding, folder)]),
    );
    object
}

/// The file of a finding, and the place in it if the finding has one.
fn location(result: &UnitResult, finding: &Finding, folder: Option<&str>) -> Value {
    let mut file = result.path_bytes().to_vec();
    if let Some(name) = finding.place.file_name() {
        file.push(b'/');
        file.extend_from_slice(name.as_bytes());
    }
    let artifact = Value::object([("uri", encode_uri(&file, folder))]);
    let mut physical = Value::object([("artifactLocation", artifact)]);
    if let Some(region) = region(finding) {
        physical.insert("region", region);
    }
    let mut location = Value::object([("physicalLocation", physical)]);
    if let Some(path) = finding.path() {
        let logical = Value::object([("fullyQualifiedName", path)]);
        location.insert("logicalLocations", Value::array([logical]));
    }
    location
}

/// The place in the file's text, as far as it is known.
fn region(finding: &Finding) -> Option<Value> {
    let line = finding.place.line_number()?;
    let mut region = Value::object([("startLine", u64::from(line))]);
    if let Some(span) = finding.place.span() {
        region.insert("startColumn", u64::from(span.start.column));
        region.insert("byteOffset", span.offset as u64);
        region.insert("byteLength", span.length as u64);
    }
    Some(region)
}

fn notification(result: &UnitResult) -> Option<Value> {
    let Verdict::NotChecked(reason) = &result.verdict else {
        return None;
    };
    let message = format!("{} was not checked: {reason}", result.path);
    Some(Value::object([
        ("level", Value::from("error")),
        ("message", text(&message)),
        ("descriptor", Value::object([("id", NO_ACCESS)])),
    ]))
}

/// Encodes a path as a URI reference. Percent-encodes everything that a path segment may not contain,
/// and drops a leading `./`, because code scanning services match by name. The reference is relative,
/// except for an absolute path that is not below `folder`.
fn encode_uri(path: &[u8], folder: Option<&str>) -> String {
    let mut path = path;
    let below = folder.and_then(|folder| path.strip_prefix(folder.as_bytes())?.strip_prefix(b"/"));
    if let Some(below) = below {
        path = below;
    }
    while let Some(rest) = path.strip_prefix(b"./") {
        path = rest;
        while let Some(rest) = path.strip_prefix(b"/") {
            path = rest;
        }
    }
    let mut uri = if path.starts_with(b"/") {
        String::from("file://")
    } else {
        String::with_capacity(path.len())
    };
    for byte in path {
        match *byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' | b'!' => {
                uri.push(char::from(*byte));
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}
