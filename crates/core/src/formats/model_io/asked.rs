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
/// The hex digits of a placeholder.
pub const PLACEHOLDER_DIGITS: usize = 16;

/// What stands for people in place of a value that is no part of what is compared.
pub const NOT_COMPARED: &str = "(not compared: the recording declares it volatile)";

/// The most bytes of a body that is marked.
const MARKED_BYTES: usize = 1 << 20;
/// The most values of a body that is marked.
const MARKED_VALUES: usize = 100_000;

/// Members of a request's body that say what a model is asked.
const SAID: [&str; 8] = [
    "messages",
    "input",
    "prompt",
    "system",
    "instructions",
    "contents",
    "systemInstruction",
    "system_instruction",
];
/// Members below them that have its text.
const TEXTS: [&str; 3] = ["content", "text", "parts"];

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

/// The longest boundary of a multipart body, by RFC 2046.
const LONGEST_BOUNDARY: usize = 70;

/// The boundary that a multipart body has; none for other bodies, or where it is none by RFC 2046. Boundaries with
/// blanks count like any text: nobody makes them, and they can be sentences.
fn boundary_of(content_type: &str) -> Option<&str> {
    let (kind, parameters) = content_type.split_once(';')?;
    let kind = kind.trim().as_bytes().get(..10)?;
    if !kind.eq_ignore_ascii_case(b"multipart/") {
        return None;
    }
    let boundary = parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_it = name.trim().eq_ignore_ascii_case("boundary");
        is_it.then(|| value.trim().trim_matches('"'))
    })?;
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=?".contains(&byte);
    let is_one =
        (1..=LONGEST_BOUNDARY).contains(&boundary.len()) && boundary.bytes().all(is_allowed);
    is_one.then_some(boundary)
}

/// The parts of a multipart body are divided by a line that is made anew each time. Only such lines are replaced: the
/// same letters elsewhere are what was asked.
fn without_boundary(content_type: &str, body: &[u8]) -> Vec<u8> {
    let Some(boundary) = boundary_of(content_type) else {
        return body.to_vec();
    };
    let mut out = Vec::with_capacity(body.len());
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        let after = line.strip_prefix(b"--");
        let after = after.and_then(|line| line.strip_prefix(boundary.as_bytes()));
        let is_border = |rest: &&[u8]| {
            let rest = rest.strip_prefix(b"--").unwrap_or(rest);
            rest.iter().all(u8::is_ascii_whitespace)
        };
        match after.filter(is_border) {
            Some(rest) => {
                out.extend_from_slice(b"--boundary");
                out.extend_from_slice(rest);
            }
            None => out.extend_from_slice(line),
        }
    }
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
    /// From pointers. What a model is asked always counts, so no pointer covers a message or its text.
    ///
    /// # Errors
    /// In words, which of them does, or is not a pointer.
    pub fn parse<S: AsRef<str>>(pointers: &[S]) -> Result<Self, String> {
        let mut parsed = Vec::new();
        for pointer in pointers {
            let pointer = pointer.as_ref();
            let shown = pointer.escape_debug();
            if JsonPath::from_pointer(pointer).is_none() || pointer.is_empty() {
                return Err(format!("`{shown}` is not a JSON Pointer to a member"));
            }
            if covers_said(&steps_of(pointer)) {
                return Err(format!(
                    "`{shown}` covers what is asked, which always counts"
                ));
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
    /// As [`Self::parse`].
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

    /// Whether no member is declared volatile.
    pub fn is_empty(&self) -> bool {
        self.pointers.is_empty()
    }

    /// Says what of requests is not compared, where anything is.
    pub fn tell(&self) -> Option<String> {
        let named: Vec<String> = self
            .pointers
            .iter()
            .take(TOLD)
            .map(|p| format!("`{p}`"))
            .collect();
        let more = match self.pointers.len().saturating_sub(TOLD) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let named = named.join(", ");
        (!named.is_empty()).then(|| {
            format!("{named}{more} of requests to models is not compared: the recording declares it volatile")
        })
    }

    /// The pointers, sorted.
    pub fn pointers(&self) -> &[String] {
        &self.pointers
    }

    fn strip(&self, body: &mut Value) {
        for pointer in &self.pointers {
            remove(body, &steps_of(pointer));
        }
        strip_rpc(body);
    }
}

/// Whether `node` and what is below it are at most `room` values; takes them off.
fn fits(node: Node<'_>, room: &mut usize) -> bool {
    let Some(left) = room.checked_sub(1) else {
        return false;
    };
    *room = left;
    node.items().all(|item| fits(item, room))
        && node.members().all(|(_, member)| fits(member, room))
}

/// How many volatile pointers are told by name.
const TOLD: usize = 5;

fn steps_of(pointer: &str) -> Vec<String> {
    let steps = pointer.split('/').skip(1);
    let steps = steps.map(|name| name.replace("~1", "/").replace("~0", "~"));
    steps.collect()
}

/// Whether a pointer may cover a message to a model, all of them, or the text of one.
fn covers_said(steps: &[String]) -> bool {
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
        return true;
    };
    let is_said = |step: &str| step == "*" || SAID.contains(&step);
    let is_index = last.bytes().all(|byte| byte.is_ascii_digit());
    is_said(first) && (is_said(last) || TEXTS.contains(&last.as_str()) || is_index)
}

/// `whole` with a mark in each place that `compared` does without.
fn mark(whole: Value, compared: &Value) -> Value {
    match (whole, compared) {
        (Value::Object(members), Value::Object(counted)) => {
            let members = members.into_iter().map(|(name, member)| {
                let member = match counted.get(&name) {
                    Some(counted) => mark(member, counted),
                    None => NOT_COMPARED.into(),
                };
                (name, member)
            });
            Value::Object(members.collect())
        }
        (Value::Array(items), Value::Array(counted)) if items.len() == counted.len() => {
            let items = items.into_iter().zip(counted);
            Value::Array(items.map(|(item, counted)| mark(item, counted)).collect())
        }
        (whole, compared) if whole == *compared => whole,
        _ => NOT_COMPARED.into(),
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

    /// Whether the body of a request has more bytes or values than [`Self::marked_body`] should be asked about: it
    /// takes memory many times as large.
    pub fn is_large(request: Node<'_>, file: Option<&[u8]>) -> bool {
        let is_long = |name: &str| {
            let text = request.get(name).and_then(|text| text.as_str());
            text.is_some_and(|text| text.len() > MARKED_BYTES)
        };
        let has_many = |body| !fits(body, &mut { MARKED_VALUES });
        file.is_some_and(|file| file.len() > MARKED_BYTES)
            || is_long("body_text")
            || is_long("body_base64")
            || request.get("body").is_some_and(has_many)
    }

    /// The JSON value that is compared.
    pub fn form(&self, volatile: &Volatile) -> Value {
        self.clone().into_form(volatile)
    }

    /// The body for people, where it is not compared as it stands: with a mark in place of each value that does not
    /// count, and without the boundary that a client made.
    pub fn marked_body(self, volatile: &Volatile) -> Option<String> {
        match self.body {
            BodyForm::Empty | BodyForm::Binary(_) => None,
            BodyForm::Text(text) => Some(text),
            BodyForm::Json(body) => {
                let mut compared = body.clone();
                volatile.strip(&mut compared);
                if compared == body {
                    return None;
                }
                let marked = canonical_bytes(&mark(body, &compared), Dialect::Kernel);
                let marked = marked.ok().and_then(|text| String::from_utf8(text).ok());
                Some(marked.unwrap_or_else(|| NOT_COMPARED.to_owned()))
            }
        }
    }

    /// As [`Self::form`], where the request is not needed any more.
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

/// What stands at the beginning of `text`, behind [`PLACEHOLDER`], if it is the rest of one: its kind, and how many bytes
/// the rest has. Only what the proxy writes is one: letters, digits and hyphens, a colon, and [`PLACEHOLDER_DIGITS`]
/// hex digits. Anything else is text like any other, and counts.
pub fn parse_placeholder(text: &[u8]) -> Option<(&str, usize)> {
    let is_kind = |byte: &&u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || **byte == b'-';
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let (kind, rest) = text.split_at(text.iter().take_while(is_kind).count());
    let digits = rest.strip_prefix(b":")?.get(..PLACEHOLDER_DIGITS)?;
    let is_whole = rest.get(1 + PLACEHOLDER_DIGITS) == Some(&b']');
    let is_one = !kind.is_empty() && is_whole && digits.iter().all(is_digit);
    let kind = str::from_utf8(kind).ok().filter(|_| is_one)?;
    Some((kind, kind.len() + PLACEHOLDER_DIGITS + 2))
}

/// Replaces every placeholder by its kind alone, as matching sees it.
pub fn forget_digits(text: &str) -> Cow<'_, str> {
    let mut rest = text;
    let mut out = String::new();
    while let Some((before, after)) = rest.split_once(PLACEHOLDER) {
        out.push_str(before);
        out.push_str(PLACEHOLDER);
        rest = after;
        if let Some((kind, length)) = parse_placeholder(after.as_bytes()) {
            out.push_str(kind);
            out.push(']');
            rest = after.get(length..).unwrap_or_default();
        }
    }
    if out.is_empty() {
        return Cow::Borrowed(text);
    }
    out.push_str(rest);
    Cow::Owned(out)
}
