//! A request in the form that a recording's `prompt_hash` covers.
//!
//! The form has method, path, query and body, without the members that are declared volatile and
//! with placeholders reduced to their kind. In a JSON-RPC message the id of a request, its progress
//! token and its trace context are always volatile. Replay matches by the hash of this form, and
//! verification compares the readable request with it.

use std::borrow::Cow;

use base64ct::{Base64, Encoding};

use crate::canon::{
    Dialect, JsonPath, NoCanonicalForm, Node, ReadOptions, Value, canonical_bytes, parse_document,
    update_digest,
};
use crate::digest::{ContentHash, Hasher};
use crate::limits::JsonLimits;

/// The prefix of every placeholder for a secret.
pub const PLACEHOLDER: &str = "[redacted:";

/// Members of `_meta` that differ between runs: MCP's progress tokens and trace context.
const VOLATILE_META: [&str; 4] = ["progressToken", "traceparent", "tracestate", "baggage"];

/// The options for parsing a body.
const BODY: ReadOptions = ReadOptions {
    limits: JsonLimits::BODY,
    ..ReadOptions::TEXT
};

/// A request's body as matching sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyForm {
    /// The request has no body.
    Empty,
    /// A JSON document, compared by value and not by spelling.
    Json(Value),
    /// Text that is not JSON, or JSON without a canonical form.
    Text(String),
    /// Bytes, by their hash.
    Binary(ContentHash),
}

impl BodyForm {
    /// Parses a body that is free of secrets. JSON over [`JsonLimits::BODY`] counts as text.
    pub fn parse(content_type: &str, body: &[u8]) -> Self {
        if body.is_empty() {
            return Self::Empty;
        }
        if let Ok(document) = parse_document(body, &BODY) {
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

/// Replaces the boundary of a multipart body, which differs each time.
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
    /// The HTTP method, or the method of a JSON-RPC message.
    pub method: String,
    /// The path of the URL; empty if the transport has none.
    pub path: String,
    /// The query, without secrets.
    pub query: Option<String>,
    /// The body, without secrets.
    pub body: BodyForm,
}

/// The first header of this name in a request or response; empty if there is none.
pub(super) fn header_of(part: Node<'_>, wanted: &str) -> String {
    let headers = part.get("headers");
    let mut pairs = headers.iter().flat_map(|headers| headers.items());
    let of_pair = |pair: Node<'_>| {
        let mut parts = pair.items();
        let name = parts.next()?.as_str()?;
        let value = parts.next()?.as_str()?;
        name.eq_ignore_ascii_case(wanted)
            .then(|| value.into_owned())
    };
    pairs.find_map(of_pair).unwrap_or_default()
}

/// Members that do not count: JSON Pointers into the body, with `*` for any one member or element.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Volatile {
    pointers: Vec<String>,
}

impl Volatile {
    /// Parses pointers; the error is the first invalid one.
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

    /// The pointers that a recording declares under `capture.volatile`.
    ///
    /// # Errors
    /// Returns the first that is not a JSON Pointer.
    pub fn of_recording(root: Node<'_>) -> Result<Self, String> {
        let list = root
            .get("capture")
            .and_then(|capture| capture.get("volatile"));
        let pointers: Vec<String> = list
            .iter()
            .flat_map(|list| list.items())
            .map(|item| item.as_str().map(Cow::into_owned).unwrap_or_default())
            .collect();
        Self::parse(&pointers)
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

/// Drops what differs between runs in a JSON-RPC message or batch.
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
        // The id of the call to cancel.
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
fn forget_digits_in(value: &mut Value) {
    match value {
        Value::String(string) => {
            let short = match string.as_str().map(forget_digits) {
                Some(Cow::Owned(short)) => short,
                _ => return,
            };
            *string = short.into();
        }
        Value::Array(items) => items.iter_mut().for_each(forget_digits_in),
        Value::Object(members) => members.values_mut().for_each(forget_digits_in),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl Asked {
    /// Parses the `request` of an interaction. If its body is a file, `file` has the bytes.
    ///
    /// # Errors
    /// Says why the request cannot be understood.
    pub fn parse(request: Node<'_>, file: Option<&[u8]>) -> Result<Self, &'static str> {
        let text = |name: &str| Some(request.get(name)?.as_str()?.into_owned());
        let content_type = header_of(request, "content-type");
        let body = if let Some(body) = request.get("body") {
            BodyForm::Json(body.to_value())
        } else if let Some(body) = text("body_text") {
            BodyForm::parse(&content_type, body.as_bytes())
        } else if let Some(body) = text("body_base64") {
            let body = Base64::decode_vec(&body).map_err(|_| "its body is not base64")?;
            BodyForm::parse(&content_type, &body)
        } else if request.get("body_file").is_some() {
            let bytes = file.ok_or("the file of its body was not read")?;
            BodyForm::parse(&content_type, bytes)
        } else {
            BodyForm::Empty
        };
        Ok(Self {
            method: text("method").ok_or("it has no method")?,
            path: text("path").ok_or("it has no path")?,
            query: text("query"),
            body,
        })
    }

    /// The JSON value that is compared.
    pub fn form(&self, volatile: &Volatile) -> Value {
        self.clone().into_form(volatile)
    }

    /// Like [`Self::form`], but consumes the request.
    pub fn into_form(self, volatile: &Volatile) -> Value {
        let mut form = Value::object([
            ("method", Value::from(self.method.as_str())),
            ("path", Value::from(self.path.as_str())),
        ]);
        if let Some(query) = &self.query {
            form.insert("query", query.as_str());
        }
        match self.body {
            BodyForm::Empty => {}
            BodyForm::Json(mut body) => {
                volatile.strip(&mut body);
                form.insert("body", body);
            }
            BodyForm::Text(text) => form.insert("body_text", text),
            BodyForm::Binary(hash) => form.insert("body_hash", hash.to_string()),
        }
        forget_digits_in(&mut form);
        form
    }
}

/// The hash of a form: a recording's `prompt_hash`.
///
/// # Errors
/// If the form contains a number without a canonical form.
pub fn compute_key(form: &Value) -> Result<ContentHash, NoCanonicalForm> {
    let mut hasher = Hasher::new();
    update_digest(&mut hasher, form, Dialect::Kernel)?;
    Ok(hasher.finish().into())
}

/// Reduces every placeholder to its kind.
pub fn forget_digits(text: &str) -> Cow<'_, str> {
    let mut rest = text;
    let mut out: Option<String> = None;
    while let Some((before, after)) = rest.split_once(PLACEHOLDER) {
        let Some((inside, tail)) = after.split_once(']') else {
            break;
        };
        let out = out.get_or_insert_with(String::new);
        let kind = inside.split(':').next().unwrap_or_default();
        out.push_str(before);
        out.push_str(PLACEHOLDER);
        out.push_str(kind);
        out.push(']');
        rest = tail;
    }
    match out {
        None => Cow::Borrowed(text),
        Some(mut out) => {
            out.push_str(rest);
            Cow::Owned(out)
        }
    }
}
