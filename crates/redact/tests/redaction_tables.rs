//! The tables of derivations, row by row, and partly withheld recordings of models.

use std::collections::BTreeMap;

use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_core::digest::Digest;
use runseal_core::formats::redacted::commit::Seed;
use runseal_core::formats::redacted::documents::{FileKind, REDACTION};
use runseal_core::formats::redacted::redactable::{redactable, redactable_formats};
use runseal_core::path::SafePath;
use runseal_core::source::MemorySource;
use runseal_redact::{
    Committing, Drop, DropKind, Original, RedactError, RedactionPlan, plan_redaction, render_copy,
};

pub(crate) type Files = BTreeMap<String, Vec<u8>>;

pub(crate) fn bytes(value: &Value) -> Vec<u8> {
    canonical_bytes(value, Dialect::Jcs).unwrap()
}

fn json(text: &str) -> Value {
    FileKind::Json.read(text.as_bytes()).unwrap()
}

fn seed() -> Seed {
    Seed::from_bytes([7; 32])
}

/// A redactable bundle of these files.
pub(crate) fn seal(format: &str, files: &Files) -> Original {
    let mut files = files.clone();
    let redactable = redactable(format).unwrap();
    let seed = seed();
    let mut committing = Committing::begin(redactable, &seed);
    let main = redactable.member().map(|(path, _)| path);
    for (path, content) in files.iter().filter(|(path, _)| Some(path.as_str()) != main) {
        let fact = (Digest::of(content), content.len() as u64);
        committing
            .add(path, fact, || Ok(content.as_slice()))
            .unwrap();
    }
    match main {
        None => {
            let (redaction, _) = committing.end();
            files.insert(REDACTION.to_owned(), bytes(&redaction.to_value().unwrap()));
        }
        Some(path) => {
            let main = files
                .get(path)
                .map(|main| FileKind::Json.read(main).unwrap());
            let mut document = main.unwrap_or_else(|| Value::object::<Value>([]));
            committing.end_in(path, &mut document).unwrap();
            files.insert(path.to_owned(), bytes(&document));
        }
    }
    let files = files.into_iter();
    let files = files.map(|(path, content)| (SafePath::parse(&path).unwrap(), content));
    Original::read(Box::new(MemorySource::new(files)), seed).unwrap()
}

pub(crate) fn plan(original: &Original, kind: DropKind) -> Result<RedactionPlan, RedactError> {
    let reason = "asked".to_owned();
    plan_redaction(original, &[Drop { kind, reason }])
}

/// Returns whether the plan withholds a place, or something that contains it.
fn is_withheld(plan: &RedactionPlan, place: &str) -> bool {
    let mut places = plan.withheld.iter().map(|withheld| withheld.place());
    places.any(|above| {
        let rest = place.strip_prefix(&above);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '#']))
    })
}

/// Returns everything that a copy shows, as text.
fn shown(original: &Original, files: &Files, plan: &RedactionPlan) -> BTreeMap<String, String> {
    let contents = render_copy(original, plan).unwrap();
    let mut copy = contents.documents;
    copy.extend(
        contents
            .copied
            .into_iter()
            .map(|file| (file.to, files[&file.from].clone())),
    );
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    copy.into_iter()
        .map(|(path, content)| (path, text(content)))
        .collect()
}

/// Puts a value at the first place that a pattern matches. Returns the place.
fn put(pattern: &str, documents: &mut BTreeMap<String, Value>, files: &mut Files) -> String {
    const BOUND: &str = "b.txt";
    // If a path has two parts, the first is empty.
    let empty = std::cell::Cell::new(pattern.matches('{').count().saturating_sub(1));
    let bind = |template: &str| match template.split_once('{') {
        None => template.to_owned(),
        Some((before, rest)) => {
            let bound = if empty.replace(0) > 0 { "" } else { BOUND };
            format!("{before}{bound}{}", rest.split_once('}').unwrap().1)
        }
    };
    let Some((file, pointer)) = pattern.split_once('#') else {
        let path = bind(pattern);
        files
            .entry(path.clone())
            .or_insert_with(|| b"\"what is said\"".to_vec());
        return path;
    };
    let steps = pointer.split('/').skip(1).filter(|step| *step != "**");
    let steps: Vec<(String, Option<(String, String)>)> = steps
        .map(|step| {
            let (name, condition) = step.split_once('[').unwrap_or((step, ""));
            let condition = condition.strip_suffix(']').map(|condition| {
                let (member, text) = condition.split_once('=').unwrap();
                (member.to_owned(), bind(text))
            });
            (bind(name).replace('*', "k"), condition)
        })
        .collect();
    fn insert(at: &mut Value, steps: &[(String, Option<(String, String)>)]) {
        let Some(((name, condition), rest)) = steps.split_first() else {
            return;
        };
        let mut below = match at.get(name) {
            Some(below @ Value::Object(_)) => below.clone(),
            Some(other) if rest.is_empty() => other.clone(),
            _ if rest.is_empty() && condition.is_none() => Value::from("what is said"),
            _ => Value::object::<Value>([]),
        };
        match condition {
            Some((member, text)) if member.is_empty() => below = Value::from(text.as_str()),
            Some((member, text)) => below.insert(member, text.as_str()),
            None => {}
        }
        insert(&mut below, rest);
        at.insert(name, below);
    }
    let file = bind(file);
    let document = documents.entry(file.clone());
    let document = document.or_insert_with(|| Value::object::<Value>([]));
    insert(document, &steps);
    let pointer: String = steps.iter().map(|(name, _)| format!("/{name}")).collect();
    format!("{file}#{pointer}")
}

#[test]
fn every_derived_place_is_withheld_with_its_cause() {
    let mut rows = 0;
    for format in redactable_formats() {
        for row in format.derivations.iter().copied().flatten() {
            for (of, told) in row
                .of
                .iter()
                .flat_map(|of| row.told.iter().map(move |told| (of, told)))
            {
                // Each pair on its own: the row's other places may fill the same place differently.
                let (mut documents, mut files) = (BTreeMap::new(), Files::new());
                let cause = put(of, &mut documents, &mut files);
                let effect = put(told, &mut documents, &mut files);
                if cause == effect {
                    continue;
                }
                for (path, document) in documents {
                    let content = if path.ends_with(".jsonl") {
                        [bytes(document.get("k").unwrap()), b"\n".to_vec()].concat()
                    } else {
                        bytes(&document)
                    };
                    files.insert(path, content);
                }
                let cause = cause.replace(".jsonl#/k", ".jsonl#/0");
                let effect = if effect.contains('#') {
                    effect.replace(".jsonl#/k", ".jsonl#/0")
                } else {
                    format.name_in_copies(&effect, &seed())
                };
                let original = seal(format.format.name(), &files);
                match plan(&original, DropKind::Place(cause.clone())) {
                    Ok(plan) => {
                        assert!(
                            is_withheld(&plan, &effect),
                            "{of} -> {told}: {:?}",
                            plan.withheld
                        );
                    }
                    // It, or what derives from it, must stay visible.
                    Err(RedactError::Stays { .. }) => {}
                    Err(error) => panic!("{of} -> {told}: {error}"),
                }
                rows += 1;
            }
        }
    }
    assert!(rows > 150, "{rows} pairs");
}

/// Makes a bundle with a recording of one exchange with a model.
fn recording(prompt: &str, answer: &str, reading: &str) -> Files {
    let length = answer.len();
    let hash = |text: &str| format!("sha256:{}", Digest::of(text.as_bytes()));
    let answer_json = Value::from(answer);
    let answer_json = String::from_utf8(bytes(&answer_json)).unwrap();
    let asked = format!(
        r#"{{"body":{{"messages":[{{"content":"{prompt}"}}]}},"method":"POST","path":"/v1/chat/completions"}}"#
    );
    let request = format!(
        r#"{{"body":{{"messages":[{{"content":"{prompt}"}}]}},"headers":[["content-length","{}"]],"method":"POST","path":"/v1/chat/completions"}}"#,
        prompt.len()
    );
    let model_io = json(&format!(
        r#"{{"adapter_id":"http-proxy","model_id":"m","mode":"record","model_io_schema_version":"1.1.0",
        "interactions":[{{"i":0,"prompt_hash":"{}","request":{request},
        "response":{{"status":200,"headers":[["content-length","{length}"],["content-type","text/event-stream"]],"chunks":[{length}],"after":[1]}},
        "response_content":{answer_json},"response_hash":"{}"{reading},"tokens_output":{}}}]}}"#,
        hash(&asked),
        hash(answer),
        answer.len() / 4,
    ));
    let model_io = bytes(&model_io);
    let input = json(&format!(
        r#"{{"model_io":{{"bytes":{},"path":"model_io.json","sha256":"{}","stored":"model_io.json"}}}}"#,
        model_io.len(),
        Digest::of(&model_io)
    ));
    let input = bytes(&input);
    let output = json(&format!(
        r#"{{"inputs_hash":"{}","semantics":"RAW_TRUTH"}}"#,
        Digest::of(&input)
    ));
    [
        ("model_io.json", model_io),
        ("RUN_INPUT.json", input),
        ("RUN_OUTPUT.json", bytes(&output)),
        ("RUN_META.json", br#"{"run_id":"r"}"#.to_vec()),
    ]
    .map(|(path, content)| (path.to_owned(), content))
    .into()
}

/// Makes a streamed answer of these pieces.
fn stream(pieces: &[&str]) -> String {
    let events = pieces.iter().map(|piece| {
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{piece}\"}}}}]}}\n\n")
    });
    events.collect()
}

#[test]
fn text_streamed_in_pieces_is_withheld_by_match() {
    let calls = "data: {\"index\":1,\"delta\":{\"partial_json\":\"{\\\"n\\\":\\\"er\"}}\n\ndata: {\"index\":1,\"delta\":{\"partial_json\":\"\\\\u0069ka\\\"}\"}}\n\n";
    let encoded = "ZGF0YTogdGhlIG5hbWUgaXMgZXJpa2EgbWFpZXIK";
    let answers = [
        stream(&["My name is e", "rik", "a."]),
        stream(&["x", "\\u0065r", "ika"]),
        calls.to_owned(),
        encoded.to_owned(),
    ];
    for answer in answers {
        for reading in [
            "",
            r#","reading":{"api":"openai-chat","text":"My name is e"}"#,
        ] {
            let files = recording("hello", &answer, reading);
            let original = seal("run-bundle", &files);
            let plan = plan(&original, DropKind::Match("erika".to_owned())).unwrap();
            for member in [
                "response_content",
                "response_hash",
                "tokens_output",
                "response/chunks",
                "response/headers",
            ] {
                let place = format!("model_io.json#/interactions/0/{member}");
                assert!(is_withheld(&plan, &place), "{place}: {:?}", plan.withheld);
            }
            assert_eq!(
                is_withheld(&plan, "model_io.json#/interactions/0/reading"),
                !reading.is_empty()
            );
            assert!(!is_withheld(
                &plan,
                "model_io.json#/interactions/0/request/body"
            ));
            let text = shown(&original, &files, &plan)["model_io.json"].clone();
            assert!(!text.contains("delta") && text.contains("hello"), "{text}");
        }
    }
}

#[test]
fn text_streamed_into_lines_is_withheld_piece_by_piece() {
    let mut files = recording("hello", "x", "");
    let lines =
        "{\"delta\":\"my \"}\n{\"delta\":\"eri\"}\n{\"delta\":\"ka m\"}\n{\"delta\":\"aier\"}\n";
    files.insert("artifacts/events.jsonl".to_owned(), lines.into());
    let original = seal("run-bundle", &files);
    let plan = plan(&original, DropKind::Match("erika".to_owned())).unwrap();
    for (at, expected) in [false, true, true, false].into_iter().enumerate() {
        let place = format!("artifacts/events.jsonl#/{at}/delta");
        assert_eq!(is_withheld(&plan, &place), expected, "{place}");
    }
}

#[test]
fn recordings_that_differ_in_withheld_values_have_equal_copies() {
    let readable = |prompt: &str, answer: &str, place: &str| {
        let reading = format!(r#","reading":{{"text":"{answer}"}}"#);
        let files = recording(prompt, answer, &reading);
        let original = seal("run-bundle", &files);
        let plan = plan(&original, DropKind::Place(place.to_owned())).unwrap();
        let mut copy = shown(&original, &files, &plan);
        for text in copy.values_mut() {
            for name in ["runseal.redacted", "commitment", "root"] {
                let start = format!("\"{name}\":\"");
                let parts: Vec<String> = text
                    .split(&start)
                    .enumerate()
                    .map(|(at, part)| part[if at == 0 { 0 } else { 64 }..].to_owned())
                    .collect();
                *text = parts.join(&start);
            }
        }
        copy
    };
    let prompt = "model_io.json#/interactions/0/request/body/messages/0/content";
    for place in [
        prompt,
        "model_io.json#/interactions/0/request/body",
        "model_io.json#/interactions/0/request",
    ] {
        assert_eq!(
            readable("yes", "ok", place),
            readable("no", "ok", place),
            "{place}"
        );
    }
    let answers = [
        "response_content",
        "reading/text",
        "reading",
        "tokens_output",
    ];
    for member in answers {
        let place = format!("model_io.json#/interactions/0/{member}");
        assert_eq!(
            readable("x", "yes", &place),
            readable("x", "no", &place),
            "{place}"
        );
    }
}

/// A bundle of a recorded command with two parameters, and three files that were not kept.
fn recorded() -> Files {
    let documents = [
        ("RUN_META.json", r#"{"run_id":"r"}"#),
        (
            "RUN_INPUT.json",
            r#"{"environment":{"RUNSEAL_PARAM_city":"Ulm","RUNSEAL_PARAM_ward":"x"},"parameters":{"city":"Ulm","ward":"x"}}"#,
        ),
        (
            "INPUT_SCHEMA.json",
            r#"{"properties":{"parameters":{"properties":{"city":{},"ward":{}},"required":["city","ward"]}}}"#,
        ),
        (
            "RUN_OUTPUT.json",
            r#"{"not_kept":["adams","adler","adorno"],"semantics":"RAW_TRUTH"}"#,
        ),
    ];
    let documents = documents.map(|(path, text)| (path.to_owned(), bytes(&json(text))));
    documents.into()
}

#[test]
fn names_of_withheld_parameters_are_left_nowhere() {
    let places = [
        "RUN_INPUT.json#/parameters",
        "RUN_INPUT.json#/environment",
        "INPUT_SCHEMA.json#/properties/parameters",
    ];
    let files = recorded();
    let original = seal("run-bundle", &files);
    for place in places {
        let plan = plan(&original, DropKind::Place(place.to_owned())).unwrap();
        for text in shown(&original, &files, &plan).values() {
            assert!(!text.contains("ward"), "{place}: {text}");
        }
    }
}

#[test]
fn name_of_a_file_that_was_not_kept_is_not_told_by_its_neighbours() {
    let original = seal("run-bundle", &recorded());
    let place = "RUN_OUTPUT.json#/not_kept/1";
    let plan = plan(&original, DropKind::Place(place.to_owned())).unwrap();
    for at in 0..3 {
        let place = format!("RUN_OUTPUT.json#/not_kept/{at}");
        assert!(is_withheld(&plan, &place), "{place}");
    }
}

#[test]
fn withheld_large_body_leaves_no_digest_or_name_in_the_copy() {
    let body = b"a large answer".to_vec();
    let digest = Digest::of(&body).to_string();
    let answer = format!("sha256:{digest}");
    let mut files = recording("hello", &answer, "");
    let path = format!("model_io.bodies/{digest}");
    files.insert(path.clone(), body);
    let original = seal("run-bundle", &files);
    let plan = plan(&original, DropKind::Place(path)).unwrap();
    let copy = shown(&original, &files, &plan);
    for (path, text) in &copy {
        assert!(
            !path.contains(&digest[..8]) && !text.contains(&digest[..8]),
            "{path}: {text}"
        );
    }
    assert!(plan.telling_names.is_empty());
    for member in ["response_content", "response_hash", "response/chunks"] {
        assert!(is_withheld(
            &plan,
            &format!("model_io.json#/interactions/0/{member}")
        ));
    }
}

#[test]
fn file_named_by_its_digest_is_reported() {
    let mut files = recording("hello", "x", "");
    let name = format!("artifacts/{}.txt", Digest::of(b"PIN4711").hex_prefix(12));
    files.insert(name.clone(), b"PIN4711".to_vec());
    let original = seal("run-bundle", &files);
    let plan = plan(&original, DropKind::Place(name.clone())).unwrap();
    assert_eq!(plan.telling_names.into_iter().collect::<Vec<_>>(), [name]);
}
