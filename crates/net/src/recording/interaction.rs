//! Converts an exchange to its interaction in model_io.json: the part that is hashed, and the part
//! that people read.

use base64ct::{Base64, Encoding};
use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_core::digest::ContentHash;
use runseal_core::formats::model_io::{MAX_RESPONSE_BYTES, MAX_SESSION_BYTES};
use runseal_core::formats::run_bundle::outputs::find_changed_integer;

use super::document::DocumentDraft;
use super::exchange::{End, Exchange, headers_value, join_headers};
use crate::NetError;
use crate::matching::{Asked, BodyForm, compute_key, name_request};
use crate::redact::{Coding, WHOLE_JSON};
use runseal_core::formats::model_io::reading::{Api, LARGEST_READ, Reading};

/// The largest request body that is stored in the document itself, in bytes.
const LARGEST_REQUEST: usize = 1_000_000;

impl DocumentDraft<'_> {
    pub(super) fn interaction(&mut self, exchange: &Exchange) -> Result<Value, NetError> {
        let content_type = exchange.request_header("content-type").unwrap_or_default();
        let asked = Asked {
            method: exchange.method.clone(),
            path: exchange.path.clone(),
            query: exchange.query.clone(),
            body: BodyForm::parse(content_type, &exchange.request_body),
        };
        let json = match &asked.body {
            BodyForm::Json(value) => Some(value),
            _ => None,
        };
        let api = Api::of_exchange(self.session.adapter.name(), &asked.path, json);
        self.note_compressed(exchange);
        let reading = self.read(api, exchange)?;
        self.models
            .extend(reading.as_ref().and_then(|reading| reading.model.clone()));
        let request = self.request_value(exchange, &asked)?;
        let (response, content) = self.response_value(exchange)?;
        let key = compute_key(&asked.form(&self.session.volatile))
            .map_err(|error| NetError::System(error.to_string()))?;
        let mut value = Value::object([
            ("i", Value::from(self.interactions)),
            ("prompt_hash", Value::from(key.to_string())),
            (
                "response_hash",
                Value::from(ContentHash::of(content.as_bytes()).to_string()),
            ),
            ("response_content", Value::from(content)),
            ("request", request),
            ("response", response),
        ]);
        if let Some(latency_ms) = exchange.latency_ms {
            value.insert("latency_ms", latency_ms);
        }
        let Some(reading) = reading else {
            return Ok(value);
        };
        value.insert("reading", reading.to_value(api));
        for (name, count) in [
            ("tokens_input", reading.tokens_input),
            ("tokens_output", reading.tokens_output),
        ] {
            if let Some(count) = count {
                value.insert(name, count);
            }
        }
        Ok(value)
    }

    /// Parses the response. Its pieces, once joined, may reveal a secret that none of them showed. A
    /// known secret is an error; if something only looks like a secret, the parsed form is left out.
    fn read(&mut self, api: Api, exchange: &Exchange) -> Result<Option<Reading>, NetError> {
        if exchange.body.len() as u64 > LARGEST_READ {
            self.gap_of(exchange, "is too large for its answer to be read");
            return Ok(None);
        }
        let answered = exchange.header("content-type").unwrap_or_default();
        let reading = Reading::of_answer(api, answered, &exchange.body);
        let Some(redactor) = self.redactor else {
            return Ok(Some(reading));
        };
        let mut value = reading.to_value(api);
        let text = canonical_bytes(&value, Dialect::Kernel).unwrap_or_default();
        if let Some((kind, offset)) = redactor.find_known(&text) {
            return Err(NetError::Secret {
                path: self.output.to_owned(),
                kind,
                offset,
            });
        }
        if redactor.redact_value(&mut value) {
            let gap = "may have a secret that is spread over its pieces; it was not read";
            self.gap_of(exchange, gap);
            return Ok(None);
        }
        Ok(Some(reading))
    }

    fn request_value(&mut self, exchange: &Exchange, asked: &Asked) -> Result<Value, NetError> {
        let mut request = Value::object([
            ("method", Value::from(asked.method.as_str())),
            ("path", Value::from(asked.path.as_str())),
        ]);
        if let Some(query) = &asked.query {
            request.insert("query", query.as_str());
        }
        if !exchange.request_headers.is_empty() {
            request.insert("headers", headers_value(&exchange.request_headers));
        }
        let body = &exchange.request_body;
        self.asked += body.len();
        if body.len() > LARGEST_REQUEST || self.asked > MAX_SESSION_BYTES {
            let file = self.put_body(body)?;
            request.insert("body_file", file);
            return Ok(request);
        }
        match &asked.body {
            BodyForm::Empty => {}
            BodyForm::Json(value) if keeps_its_value(value) => {
                request.insert("body", value.clone());
            }
            BodyForm::Json(_) | BodyForm::Text(_) => match std::str::from_utf8(body) {
                Ok(text) => request.insert("body_text", text),
                Err(_) => request.insert("body_base64", Base64::encode_string(body)),
            },
            BodyForm::Binary(_) => request.insert("body_base64", Base64::encode_string(body)),
        }
        Ok(request)
    }

    /// Returns the readable response, and its content.
    fn response_value(&mut self, exchange: &Exchange) -> Result<(Value, String), NetError> {
        let mut response = Value::object([
            ("end", Value::from(exchange.end.name())),
            ("chunks", Value::array(lengths(exchange))),
        ]);
        if let Some(status) = exchange.status {
            response.insert("status", status);
        }
        if !exchange.headers.is_empty() {
            response.insert("headers", headers_value(&exchange.headers));
        }
        if exchange.after.iter().any(|after| *after > 0) {
            response.insert("after", Value::array(exchange.after.iter().copied()));
        }
        match exchange.end {
            End::Complete | End::ClientGone => {}
            End::BrokenOff => self.gap_of(exchange, "was broken off by the upstream"),
            End::Refused => {
                self.gap_of(exchange, "was refused: the policy does not allow its model")
            }
            End::Unreachable => {
                self.gap_of(exchange, "got no answer: the upstream was not reached")
            }
            End::Unfinished => self.gap_of(exchange, "was not over when the recording ended"),
        }
        let body = &exchange.body;
        let room = MAX_SESSION_BYTES
            .saturating_sub(self.total)
            .min(MAX_RESPONSE_BYTES);
        let content = match std::str::from_utf8(body) {
            Ok(text) if text.len() <= room => text.to_owned(),
            Err(_) if body.len().div_ceil(3) * 4 <= room => {
                response.insert("encoding", "base64");
                Base64::encode_string(body)
            }
            _ => {
                let file = self.put_body(body)?;
                response.insert("body_file", file);
                ContentHash::of(body).to_string()
            }
        };
        self.total += content.len();
        Ok((response, content))
    }

    /// Adds a gap if a body cannot be decompressed, because secrets in it were not searched for.
    fn note_compressed(&mut self, exchange: &Exchange) {
        let is_unread = |headers: &[(String, String)], body: &[u8]| {
            let coding = Coding::of(&join_headers(headers, "content-encoding"), body);
            coding.is_some_and(|coding| !body.is_empty() && coding.decode(body).is_none())
        };
        // A request that could be read is no longer compressed, and is text as a rule.
        let is_text = std::str::from_utf8(&exchange.request_body).is_ok();
        // An answer is read if it can be held back whole.
        let is_large = exchange.body.len() > WHOLE_JSON
            && Coding::of(
                &join_headers(&exchange.headers, "content-encoding"),
                &exchange.body,
            )
            .is_some();
        if is_large
            || is_unread(&exchange.headers, &exchange.body)
            || !is_text && is_unread(&exchange.request_headers, &exchange.request_body)
        {
            self.gap_of(exchange, "is compressed: secrets in it were not looked for");
        }
    }

    fn gap_of(&mut self, exchange: &Exchange, what: &str) {
        let at = self.interactions;
        let request = name_request(&exchange.method, &exchange.path);
        self.gaps
            .add(format!("interaction {at} ({request}) {what}"));
    }
}

/// Whether a body can be stored as JSON in any document: JCS, which run bundles use, would lose
/// integers beyond 2^53. Other bodies are stored as the text that was sent.
fn keeps_its_value(body: &Value) -> bool {
    canonical_bytes(body, Dialect::Jcs).is_ok() && find_changed_integer(body).is_none()
}

/// Returns the lengths of the pieces, including an unfinished last one.
fn lengths(exchange: &Exchange) -> Vec<u64> {
    let mut before = 0;
    let mut lengths = Vec::with_capacity(exchange.cuts.len());
    for cut in &exchange.cuts {
        lengths.push(cut.saturating_sub(before));
        before = *cut;
    }
    let rest = (exchange.body.len() as u64).saturating_sub(before);
    if rest > 0 {
        lengths.push(rest);
    }
    lengths
}
