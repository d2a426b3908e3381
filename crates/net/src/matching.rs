//! Which recorded answer belongs to a request.
//!
//! The key is the hash of a canonical form of the request: method, path, query and body, without
//! members that are declared volatile and with placeholders reduced to their kind. Of a JSON-RPC
//! message the id of a request, its progress token and its trace context are always volatile. Where
//! nothing matches, the nearest recording and the first difference are named.

use runseal_core::canon::{
    Dialect, JsonPath, ReadOptions, Step, Value, canonical_bytes, parse_document,
};
use runseal_core::digest::ContentHash;

use crate::redact::forget_digits;

/// Members of `_meta` that differ from run to run: MCP's progress tokens and trace context.
const VOLATILE_META: [&str; 4] = ["progressToken", "traceparent", "tracestate", "baggage"];

/// The most characters of a value that a difference shows.
const SHOWN: usize = 120;

/// A request's body as matching sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyForm {
    /// None.
    Empty,
    /// JSON.
    Json(Value),
    /// Another text.
    Text(String),
    /// Bytes, by their hash.
    Binary(ContentHash),
}

impl BodyForm {
    /// Reads a body that is free of secrets.
    pub fn parse(content_type: &str, body: &[u8]) -> Self {
        if body.is_empty() {
            return Self::Empty;
        }
        if let Ok(document) = parse_document(body, &ReadOptions::TEXT) {
            let value = document.root().to_value();
            if canonical_bytes(&value, Dialect::Kernel).is_ok() {
                return Self::Json(value);
            }
        }
        let body = without_boundary(content_type, body);
        match String::from_utf8(body) {
            Ok(text) => Self::Text(text),
            Err(error) => Self::Binary(ContentHash::of(error.as_bytes())),
        }
    }
}

/// The parts of a multipart body are divided by a line that is made anew each time.
fn without_boundary(content_type: &str, body: &[u8]) -> Vec<u8> {
    let boundary = content_type
        .split_once("boundary=")
        .map(|(_, rest)| rest.split(';').next().unwrap_or_default().trim_matches('"'));
    let Some(boundary) = boundary.filter(|boundary| !boundary.is_empty()) else {
        return body.to_vec();
    };
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body;
    let find = |rest: &[u8]| {
        rest.windows(boundary.len())
            .position(|window| window == boundary.as_bytes())
    };
    while let Some(at) = find(rest) {
        out.extend_from_slice(rest.get(..at).unwrap_or_default());
        out.extend_from_slice(b"boundary");
        rest = rest.get(at + boundary.len()..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    out
}

/// A request as matching sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The query, without secrets.
    pub query: Option<String>,
    /// The body, without secrets.
    pub body: BodyForm,
}

/// Members that do not count: JSON Pointers into the body, `*` standing for any one member or
/// element.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Volatile {
    pointers: Vec<String>,
}

impl Volatile {
    /// From pointers; an error names the one that is none.
    pub fn parse<S: AsRef<str>>(pointers: &[S]) -> Result<Self, String> {
        let mut parsed = Vec::new();
        for pointer in pointers {
            let pointer = pointer.as_ref();
            if JsonPath::from_pointer(pointer).is_none() || pointer.is_empty() {
                return Err(pointer.to_owned());
            }
            parsed.push(pointer.to_owned());
        }
        parsed.sort();
        parsed.dedup();
        Ok(Self { pointers: parsed })
    }

    /// The pointers, sorted.
    pub fn pointers(&self) -> &[String] {
        &self.pointers
    }

    fn strip(&self, body: &mut Value) {
        for pointer in &self.pointers {
            let names: Vec<String> = pointer
                .split('/')
                .skip(1)
                .map(|name| name.replace("~1", "/").replace("~0", "~"))
                .collect();
            remove(body, &names);
        }
        strip_rpc(body);
    }
}

fn remove(value: &mut Value, names: &[String]) {
    let [name, rest @ ..] = names else { return };
    match value {
        Value::Object(members) => {
            if rest.is_empty() {
                members.retain(|key, _| name != "*" && key.as_str() != Some(name));
                return;
            }
            for (key, member) in members {
                if name == "*" || key.as_str() == Some(name) {
                    remove(member, rest);
                }
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter_mut().enumerate() {
                if name == "*" || *name == at.to_string() {
                    if rest.is_empty() {
                        *item = Value::Null;
                    } else {
                        remove(item, rest);
                    }
                }
            }
        }
        _ => {}
    }
}

/// Drops what differs from run to run in a JSON-RPC message or a batch of them.
fn strip_rpc(body: &mut Value) {
    if let Value::Array(messages) = body {
        messages.iter_mut().for_each(strip_rpc);
        return;
    }
    if body.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return;
    }
    let Value::Object(members) = body else { return };
    if members.contains_key(&"method".into()) {
        members.remove(&"id".into());
    }
    if let Some(Value::Object(params)) = members.get_mut(&"params".into()) {
        // Which call is called off, by its id.
        params.remove(&"requestId".into());
        if let Some(Value::Object(meta)) = params.get_mut(&"_meta".into()) {
            for name in VOLATILE_META {
                meta.remove(&name.into());
            }
            if meta.is_empty() {
                params.remove(&"_meta".into());
            }
        }
    }
}

/// Reduces the placeholders in all strings to their kind.
fn forget_in(value: &mut Value) {
    match value {
        Value::String(string) => {
            let short = string.as_str().map(|text| forget_digits(text).into_owned());
            if let Some(short) = short {
                *string = short.as_str().into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(forget_in),
        Value::Object(members) => members.values_mut().for_each(forget_in),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl Asked {
    /// What is compared: a JSON value.
    pub fn form(&self, volatile: &Volatile) -> Value {
        let mut form = Value::object([
            ("method", Value::from(self.method.as_str())),
            ("path", Value::from(self.path.as_str())),
        ]);
        if let Some(query) = &self.query {
            form.insert("query", query.as_str());
        }
        match &self.body {
            BodyForm::Empty => {}
            BodyForm::Json(body) => {
                let mut body = body.clone();
                volatile.strip(&mut body);
                form.insert("body", body);
            }
            BodyForm::Text(text) => form.insert("body_text", text.as_str()),
            BodyForm::Binary(hash) => form.insert("body_hash", hash.to_string()),
        }
        forget_in(&mut form);
        form
    }
}

/// The hash of a form: what a recording calls the hash of the prompt.
pub fn compute_key(form: &Value) -> ContentHash {
    // A form was read from JSON that has a canonical form.
    let bytes = canonical_bytes(form, Dialect::Kernel).unwrap_or_default();
    ContentHash::of(&bytes)
}

/// Where two values part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// A JSON Pointer into both.
    pub pointer: String,
    /// What the recording has there; none where it has nothing.
    pub recorded: Option<String>,
    /// What was asked; none where it has nothing.
    pub asked: Option<String>,
}

/// The first place, in the order of names and elements, where two values differ.
pub fn first_difference(recorded: &Value, asked: &Value) -> Option<Difference> {
    let mut path = JsonPath::ROOT;
    differ(recorded, asked, &mut path)
}

fn differ(recorded: &Value, asked: &Value, path: &mut JsonPath) -> Option<Difference> {
    let at = |path: &JsonPath, recorded: Option<&Value>, asked: Option<&Value>| {
        Some(Difference {
            pointer: path.to_pointer(),
            recorded: recorded.map(show),
            asked: asked.map(show),
        })
    };
    match (recorded, asked) {
        (Value::Object(left), Value::Object(right)) => {
            let mut names: Vec<_> = left.keys().chain(right.keys()).collect();
            names.sort();
            names.dedup();
            names.into_iter().find_map(|name| {
                let mut path = path.then(Step::from(name.to_lossy().as_str()));
                match (left.get(name), right.get(name)) {
                    (Some(left), Some(right)) => differ(left, right, &mut path),
                    (left, right) => at(&path, left, right),
                }
            })
        }
        (Value::Array(left), Value::Array(right)) => {
            (0..left.len().max(right.len())).find_map(|index| {
                let mut path = path.then(Step::from(index));
                match (left.get(index), right.get(index)) {
                    (Some(left), Some(right)) => differ(left, right, &mut path),
                    (left, right) => at(&path, left, right),
                }
            })
        }
        _ if canonical_bytes(recorded, Dialect::Kernel).ok()
            == canonical_bytes(asked, Dialect::Kernel).ok() =>
        {
            None
        }
        _ => at(path, Some(recorded), Some(asked)),
    }
}

fn show(value: &Value) -> String {
    let bytes = canonical_bytes(value, Dialect::Kernel).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    if text.chars().count() <= SHOWN {
        return text.into_owned();
    }
    let start: String = text.chars().take(SHOWN).collect();
    format!("{start}… ({} bytes)", bytes.len())
}

/// How much two forms have in common: their equal leaves, method and path above all.
pub fn likeness(recorded: &Value, asked: &Value) -> usize {
    let same = |name: &str| recorded.get(name) == asked.get(name);
    let weight = usize::from(same("method")) * 100_000 + usize::from(same("path")) * 1_000_000;
    weight + equal_leaves(recorded, asked)
}

fn equal_leaves(left: &Value, right: &Value) -> usize {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => left
            .iter()
            .filter_map(|(name, value)| Some(equal_leaves(value, right.get(name)?)))
            .sum(),
        (Value::Array(left), Value::Array(right)) => left
            .iter()
            .zip(right)
            .map(|(left, right)| equal_leaves(left, right))
            .sum(),
        _ => usize::from(left == right),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(body: &str) -> Asked {
        Asked {
            method: "POST".to_owned(),
            path: "/v1/x".to_owned(),
            query: None,
            body: BodyForm::parse("application/json", body.as_bytes()),
        }
    }

    fn key(body: &str, volatile: &[&str]) -> ContentHash {
        compute_key(&asked(body).form(&Volatile::parse(volatile).unwrap()))
    }

    #[test]
    fn key_spelling_and_volatile_members_do_not_count_and_all_else_does() {
        assert_eq!(
            key(r#"{"a":1.0,"b":"é"}"#, &[]),
            key("{ \"b\":\"\\u00e9\", \"a\":1 }", &[])
        );
        assert_ne!(key(r#"{"a":1}"#, &[]), key(r#"{"a":2}"#, &[]));
        assert_ne!(key(r#"{"a":[1,2]}"#, &[]), key(r#"{"a":[2,1]}"#, &[]));
        let (one, other) = (
            r#"{"m":[{"id":1,"t":"x"},{"id":2,"t":"y"}],"n/o":3}"#,
            r#"{"m":[{"id":8,"t":"x"},{"id":9,"t":"y"}],"n/o":4}"#,
        );
        assert_ne!(key(one, &["/m/*/id"]), key(other, &["/m/*/id"]));
        assert_eq!(
            key(one, &["/m/*/id", "/n~1o"]),
            key(other, &["/m/*/id", "/n~1o"])
        );
        assert!(Volatile::parse(&["m"]).is_err() && Volatile::parse(&[""]).is_err());
    }

    #[test]
    fn key_of_a_json_rpc_request_leaves_its_id_token_and_trace_out() {
        let call = |id: &str, token: u32, a: u32| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"add","arguments":{{"a":{a}}},"_meta":{{"progressToken":{token},"traceparent":"00-{token}"}}}}}}"#
            )
        };
        assert_eq!(key(&call("1", 1, 5), &[]), key(&call("\"x\"", 2, 5), &[]));
        assert_ne!(key(&call("1", 1, 5), &[]), key(&call("1", 1, 6), &[]));
        let reply = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        assert_ne!(
            key(&reply(1), &[]),
            key(&reply(2), &[]),
            "whose reply it is counts"
        );
    }

    #[test]
    fn key_placeholders_of_a_kind_are_alike_and_multipart_borders_do_not_count() {
        let said = |placeholder: &str| format!(r#"{{"m":"my key is {placeholder} ok"}}"#);
        let (one, other) = (said("[redacted:jwt:0011]"), said("[redacted:jwt:ffff]"));
        assert_eq!(key(&one, &[]), key(&other, &[]));
        assert_ne!(key(&one, &[]), key(&said("[redacted:age-key:0011]"), &[]));
        let part = |border: &str| {
            let body = format!("--{border}\r\nx\r\n--{border}--");
            BodyForm::parse(
                &format!("multipart/form-data; boundary={border}"),
                body.as_bytes(),
            )
        };
        assert_eq!(part("abc123"), part("zzzzzzz"));
    }

    #[test]
    fn first_difference_is_a_pointer_that_leads_to_it() {
        let value = |text: &str| match asked(text).body {
            BodyForm::Json(value) => value,
            other => panic!("{other:?}"),
        };
        let find = |recorded: &str, asked: &str| first_difference(&value(recorded), &value(asked));
        assert_eq!(find(r#"{"a":1,"b":[2]}"#, r#"{"b":[2.0],"a":1e0}"#), None);
        let found = find(r#"{"a":{"x/y":[1,2]}}"#, r#"{"a":{"x/y":[1,3,4]}}"#).unwrap();
        assert_eq!(found.pointer, "/a/x~1y/1");
        let found = find(r#"{"a":[1]}"#, r#"{"a":[1,2]}"#).unwrap();
        assert_eq!((found.pointer.as_str(), found.recorded), ("/a/1", None));
        let found = find(
            r#"{"long":1}"#,
            &format!(r#"{{"long":"{}"}}"#, "x".repeat(500)),
        )
        .unwrap();
        assert!(found.asked.unwrap().len() < 200);
    }
}
