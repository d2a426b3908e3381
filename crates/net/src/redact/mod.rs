//! Keeps secrets off the disk: they are replaced by placeholders before the first write.
//!
//! A placeholder is `[redacted:KIND:HEX]`, where HEX is the beginning of an HMAC of the secret. Its
//! key is generated for one recording and stored nowhere: the same secret has the same placeholder
//! throughout a recording, but nobody can test guesses against it afterwards. Matching considers
//! only the kind, so that a replay with another key finds its recording.
//!
//! Two sorts of secrets are found: those of a known look (`kinds.rs`, `find.rs`, and the patterns of
//! a redaction file), and known values, which are learned from headers, from the environment and
//! from whatever was found before. Both are also found in base64, percent-encoding, hex and JSON
//! escapes. [`Window`] does this on a stream whose pieces may end within a secret.

mod compressed;
mod deltas;
mod encoded;
mod find;
mod headers;
mod kinds;
mod known;
mod names;
mod rules;
mod shapes;
mod window;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use hmac::{Hmac, KeyInit, Mac};
use runseal_core::canon::{JsonString, ReadOptions, Value, parse_document};
use runseal_core::formats::model_io::asked::PLACEHOLDER;
use sha2::Sha256;

pub use compressed::Coding;
pub use kinds::is_secret_header;
pub use known::known_values_in_environment;
pub use rules::{RedactionRules, RulesError};
pub use window::{BodyKind, Released, Window};

use find::{Finder, Found};
use known::KnownSecrets;

/// The hex digits of the HMAC in a placeholder.
const DIGITS: usize = 16;
/// The most bytes of a file that are searched at once.
const SCANNED: u64 = 1 << 20;
/// How often a text within a text is read out of its escapes.
const DEEPEST_QUOTES: usize = 3;

/// Replaces secrets, and keeps track of known values and of how many were replaced.
#[derive(Debug)]
pub struct Redactor {
    key: [u8; 32],
    finder: Finder,
    rules: RedactionRules,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    known: KnownSecrets,
    counts: BTreeMap<String, u64>,
}

impl Redactor {
    /// A redactor with its own key; `None` if the system provides no random bytes.
    pub fn new(rules: RedactionRules) -> Option<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).ok()?;
        Self::with_key(key, rules)
    }

    fn with_key(key: [u8; 32], rules: RedactionRules) -> Option<Self> {
        Some(Self {
            key,
            finder: Finder::new()?,
            rules,
            state: Mutex::default(),
        })
    }

    /// The placeholder of a secret.
    pub fn placeholder(&self, kind: &str, secret: &[u8]) -> String {
        let code = Hmac::<Sha256>::new_from_slice(&self.key)
            .map(|mut mac| {
                mac.update(secret);
                mac.finalize().into_bytes()
            })
            .unwrap_or_default();
        let hex: String = code
            .iter()
            .take(DIGITS / 2)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("{PLACEHOLDER}{kind}:{hex}]")
    }

    /// Remembers that a value is secret, wherever it occurs from now on.
    pub fn learn(&self, kind: &str, value: &[u8]) {
        let mut state = self.lock();
        let placeholder = self.placeholder(kind, value);
        state.known.learn(kind, value, &placeholder);
    }

    /// How many secrets of each kind were replaced.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        self.lock().counts.clone()
    }

    /// The first known secret in `bytes`, in any of its encodings: its kind and offset. Unlike
    /// [`Redactor::redact`] this searches only for known values, so that it can find what that
    /// missed.
    pub fn find_known(&self, bytes: &[u8]) -> Option<(String, usize)> {
        let state = self.lock();
        let found = state.known.find(bytes).next();
        found.map(|(kind, range, _)| (kind.to_owned(), range.start))
    }

    /// The same for all of `input`, of which only a part is in memory at a time.
    pub fn find_known_in(&self, mut input: impl Read) -> io::Result<Option<(String, usize)>> {
        let overlap = self.lock().known.longest();
        let (mut held, mut base) = (Vec::new(), 0);
        loop {
            let read = input.by_ref().take(SCANNED).read_to_end(&mut held)?;
            if read == 0 {
                return Ok(None);
            }
            if let Some((kind, at)) = self.find_known(&held) {
                return Ok(Some((kind, base + at)));
            }
            // The end may be the beginning of a secret, so it is searched again with what follows.
            let passed = held.len().saturating_sub(overlap);
            held.drain(..passed);
            base += passed;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every secret in `bytes` with its replacement, in order and without overlap.
    fn find(&self, bytes: &[u8]) -> Vec<Edit> {
        let mut found = Vec::new();
        self.finder.find(bytes, &mut found);
        let mut edits: Vec<Edit> = Vec::new();
        for Found { range, kind } in found {
            let Some(secret) = bytes.get(range.clone()) else {
                continue;
            };
            edits.push(Edit {
                placeholder: self.placeholder(kind, secret),
                kind: kind.to_owned(),
                range,
                is_new: true,
            });
        }
        for (kind, range) in self.rules.find(bytes) {
            let secret = bytes.get(range.clone()).unwrap_or_default();
            edits.push(Edit {
                placeholder: self.placeholder(kind, secret),
                kind: kind.to_owned(),
                range,
                is_new: true,
            });
        }
        let state = self.lock();
        for (kind, range, placeholder) in state.known.find(bytes) {
            edits.push(Edit {
                range,
                kind: kind.to_owned(),
                placeholder: placeholder.to_owned(),
                is_new: false,
            });
        }
        drop(state);
        let placeholders = find_placeholders(bytes);
        edits.retain(|edit| {
            let range = &edit.range;
            // A value that only contains one has more in it.
            let is_spared = |place: &Range<usize>| {
                let touches = range.start < place.end && place.start < range.end;
                let is_more =
                    range.start <= place.start && place.end <= range.end && range != place;
                touches && !is_more
            };
            !placeholders.iter().any(is_spared)
        });
        merge(edits)
    }

    /// Whether several complete events or lines, searched together, contain no secret. The user's
    /// own patterns may depend on their boundaries, so with those this is never claimed.
    fn finds_nothing(&self, bytes: &[u8]) -> bool {
        self.rules.is_empty() && self.find(bytes).is_empty()
    }

    /// Counts a secret that was replaced.
    fn count(&self, kind: &str) {
        *self.lock().counts.entry(kind.to_owned()).or_default() += 1;
    }

    /// The edits for `bytes`; counts the secrets that they replace and learns their values.
    fn take_edits(&self, bytes: &[u8]) -> Vec<Edit> {
        let edits = self.find(bytes);
        if !edits.is_empty() {
            for edit in &edits {
                self.count(&edit.kind);
                if edit.is_new
                    && let Some(secret) = bytes.get(edit.range.clone())
                {
                    self.learn_found(&edit.kind, secret);
                }
            }
        }
        edits
    }

    /// Learns a secret that was found in a text, where its quotes may be escaped.
    fn learn_found(&self, kind: &str, secret: &[u8]) {
        let mut secret = secret.to_vec();
        for _ in 0..=DEEPEST_QUOTES {
            let is_named = kind == find::NAMED || kind == "parameter";
            if is_named && names::is_prose(&secret) {
                return;
            }
            self.learn(kind, &secret);
            let quoted = [b"\"", secret.as_slice(), b"\""].concat();
            let read = parse_document(&quoted, &ReadOptions::TEXT).ok();
            match read.and_then(|document| document.root().as_str().map(|text| text.into_owned())) {
                Some(text) if text.as_bytes() != secret => secret = text.into_bytes(),
                _ => return,
            }
        }
    }

    /// `bytes` without secrets.
    pub fn redact<'b>(&self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        apply(bytes, &self.take_edits(bytes))
    }

    /// A text without secrets.
    pub fn redact_text<'b>(&self, text: &'b str) -> Cow<'b, str> {
        match self.redact(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// A body without secrets. JSON, also one document a line, is looked at once more with its escapes
    /// read: what is only then a secret makes the body be written anew.
    pub fn redact_body<'b>(&self, body: &'b [u8]) -> Cow<'b, [u8]> {
        let redacted = self.redact(body);
        if !has_escapes(&redacted) {
            return redacted;
        }
        match deltas::rewrite_json(self, &redacted) {
            Some(rewritten) => Cow::Owned(rewritten),
            None => match deltas::rewrite_lines(self, &redacted) {
                Some(rewritten) => Cow::Owned(rewritten),
                None => redacted,
            },
        }
    }

    /// A request's body without secrets, as it is recorded and matched: what is compressed is read, so
    /// that people can too, and other compressed bytes of the same find it.
    pub fn redact_request(&self, coding: &str, content_type: &str, body: &[u8]) -> Vec<u8> {
        let decoded = Coding::parse(coding).and_then(|coding| coding.decode(body));
        let body = decoded.as_deref().unwrap_or(body);
        let is_form = content_type.starts_with("application/x-www-form-urlencoded");
        match (is_form, std::str::from_utf8(body)) {
            (true, Ok(form)) => self.redact_query(form).into_bytes(),
            _ => self.redact_body(body).into_owned(),
        }
    }

    /// Replaces secrets in every string of `value`, including names of members; returns whether
    /// there were any.
    pub fn redact_value(&self, value: &mut Value) -> bool {
        match value {
            Value::String(string) => {
                let Some(text) = string.as_str() else {
                    return false;
                };
                match self.redact_text(text) {
                    Cow::Borrowed(_) => false,
                    Cow::Owned(redacted) => {
                        *string = JsonString::from(redacted.as_str());
                        true
                    }
                }
            }
            Value::Array(items) => items
                .iter_mut()
                .fold(false, |any, item| self.redact_value(item) | any),
            Value::Object(members) => {
                let mut any = false;
                let taken = std::mem::take(members).into_iter();
                *members = taken
                    .map(|(name, mut member)| {
                        any |=
                            self.redact_named(&name, &mut member) || self.redact_value(&mut member);
                        let renamed = name
                            .as_str()
                            .map(|text| self.redact_text(text).into_owned());
                        any |= renamed.as_deref() != name.as_str();
                        let name = renamed.map_or(name, |name| JsonString::from(name.as_str()));
                        (name, member)
                    })
                    .collect();
                any
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// Replaces the text of a member whose name says that it is a secret; whether it was one. Where
    /// the name was written with escapes, nothing else has seen it.
    fn redact_named(&self, name: &JsonString, member: &mut Value) -> bool {
        let (Some(name), Value::String(string)) = (name.as_str(), &*member) else {
            return false;
        };
        let Some(text) = string.as_str() else {
            return false;
        };
        let is_secret = match names::judge(name) {
            Some(names::Telling::Secret) => !text.is_empty(),
            Some(names::Telling::IfKeyLike) => names::is_key_like(text.as_bytes()),
            Some(names::Telling::IfHoldsPassword) => names::holds_password(text.as_bytes()),
            Some(names::Telling::InFields) | None => false,
        };
        let is_placeholder = find_placeholders(text.as_bytes()).first() == Some(&(0..text.len()));
        if !is_secret || is_placeholder || names::is_reference(name, text.as_bytes()) {
            return false;
        }
        self.count(find::NAMED);
        self.learn_found(find::NAMED, text.as_bytes());
        let placeholder = self.placeholder(find::NAMED, text.as_bytes());
        *member = Value::from(placeholder);
        true
    }
}

/// `bytes` with what the edits put in place.
fn apply<'b>(bytes: &'b [u8], edits: &[Edit]) -> Cow<'b, [u8]> {
    if edits.is_empty() {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for edit in edits {
        out.extend_from_slice(bytes.get(at..edit.range.start).unwrap_or_default());
        out.extend_from_slice(edit.placeholder.as_bytes());
        at = edit.range.end;
    }
    out.extend_from_slice(bytes.get(at..).unwrap_or_default());
    Cow::Owned(out)
}

/// The range of a secret in a text, and its placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Edit {
    range: Range<usize>,
    kind: String,
    placeholder: String,
    is_new: bool,
}

/// The ranges of placeholders, which are not secrets themselves. Only exact ones count.
fn find_placeholders(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = find::position(bytes, PLACEHOLDER.as_bytes(), from) {
        let inside = bytes.get(at + PLACEHOLDER.len()..).unwrap_or_default();
        let is_kind =
            |byte: &&u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || **byte == b'-';
        let kind = inside.iter().take_while(is_kind).count();
        let rest = inside.get(kind..).unwrap_or_default();
        let digits = rest.get(1..=DIGITS).unwrap_or_default();
        let is_whole = rest.first() == Some(&b':')
            && digits.len() == DIGITS
            && digits.iter().all(u8::is_ascii_hexdigit)
            && rest.get(DIGITS + 1) == Some(&b']');
        from = at + PLACEHOLDER.len();
        if is_whole && kind > 0 {
            let end = from + kind + DIGITS + 2;
            found.push(at..end);
            from = end;
        }
    }
    found
}

/// Sorts edits and merges overlapping ones; the first one's placeholder stands for all of them.
fn merge(mut edits: Vec<Edit>) -> Vec<Edit> {
    // Of equal positions, known values first: their placeholder does not depend on the encoding.
    edits.sort_by_key(|edit| (edit.range.start, edit.is_new));
    let mut merged: Vec<Edit> = Vec::with_capacity(edits.len());
    for edit in edits {
        match merged.last_mut() {
            Some(last) if edit.range.start < last.range.end => {
                last.range.end = last.range.end.max(edit.range.end);
            }
            _ => merged.push(edit),
        }
    }
    merged
}

/// Whether a JSON text has escapes that may hide a letter or occur within a secret.
fn has_escapes(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'\\', bytes)
        .any(|at| matches!(bytes.get(at + 1), Some(b'u' | b'/' | b'\\')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use runseal_core::formats::model_io::asked::forget_digits;

    const SECRET: &str = "sk-proj-abcdefghijklmnop0123456789";

    fn redactor() -> Redactor {
        Redactor::with_key([7; 32], RedactionRules::default()).unwrap()
    }

    #[test]
    fn redact_again_changes_nothing_and_what_only_looks_like_a_placeholder_hides_nothing() {
        let redactor = redactor();
        let header = redactor.redact_header("Authorization", format!("Bearer {SECRET}").as_bytes());
        assert!(
            header.starts_with("Bearer [redacted:authorization:"),
            "{header}"
        );
        let once = redactor
            .redact_text(&format!("authorization:{header} {SECRET}"))
            .into_owned();
        assert!(!once.contains("abcdef"), "{once}");
        assert_eq!(redactor.redact_text(&once), once);
        for forged in [
            format!("[redacted:{SECRET}]"),
            format!("[redacted:jwt:{SECRET}]"),
            format!("[redacted:jwt:0011223344556677]{SECRET}"),
        ] {
            let redacted = redactor.redact_text(&forged);
            assert!(!redacted.contains("abcdef"), "{forged}: {redacted}");
        }
    }

    #[test]
    fn redact_known_value_has_one_placeholder_in_every_form() {
        let redactor = redactor();
        redactor.learn("mine", b"opaque value/of+mine");
        let plain = redactor
            .redact_text("an opaque value/of+mine here")
            .into_owned();
        let placeholder = redactor.placeholder("mine", b"opaque value/of+mine");
        assert!(plain.contains(&placeholder), "{plain}");
        for text in [
            "opaque%20value%2Fof%2Bmine",
            "opaque%20value%2fof%2bmine",
            "b3BhcXVlIHZhbHVlL29mK21pbmU=",
            "eG9wYXF1ZSB2YWx1ZS9vZittaW5l",
            "6f70617175652076616c75652f6f662b6d696e65",
            "opaque value\\/of+mine",
        ] {
            let redacted = redactor.redact_text(text);
            assert!(redacted.contains(&placeholder), "{text}: {redacted}");
        }
        assert_eq!(redactor.find_known(b"no secret here"), None);
        assert_eq!(
            redactor.find_known(b"x opaque value/of+mine"),
            Some(("mine".to_owned(), 2))
        );
    }

    #[test]
    fn redact_search_of_a_file_finds_what_lies_across_the_parts_it_is_read_in() {
        let redactor = redactor();
        redactor.learn("mine", b"opaque value/of+mine");
        let scanned = usize::try_from(SCANNED).unwrap();
        let forms = [
            "opaque value/of+mine",
            "b3BhcXVlIHZhbHVlL29mK21pbmU=",
            "6f70617175652076616c75652f6f662b6d696e65",
        ];
        for at in [0, 5, scanned - 7, scanned, 2 * scanned - 1, 3 * scanned] {
            for form in forms {
                let mut text = vec![b'.'; at];
                text.extend_from_slice(form.as_bytes());
                text.extend(vec![b'.'; 100]);
                let found = redactor.find_known_in(text.as_slice()).unwrap();
                assert_eq!(found, Some(("mine".to_owned(), at)), "{form}");
                text.drain(at..at + 1);
                assert_eq!(redactor.find_known_in(text.as_slice()).unwrap(), None);
            }
        }
    }

    #[test]
    fn redact_different_keys_give_different_placeholders() {
        let other = Redactor::with_key([8; 32], RedactionRules::default()).unwrap();
        assert_ne!(redactor().redact_text(SECRET), other.redact_text(SECRET));
        assert_eq!(
            forget_digits(&redactor().redact_text(SECRET)),
            forget_digits(&other.redact_text(SECRET))
        );
    }
}
