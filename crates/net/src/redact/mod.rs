//! Keeps secrets off the disk: they are replaced by placeholders before the first write.
//!
//! A placeholder is `[redacted:KIND:HEX]`, where HEX is the beginning of an HMAC of the secret. Its
//! key is generated for one recording and never stored: a secret has the same placeholder
//! throughout a recording, but guesses cannot be tested against it afterwards. Matching considers
//! only the kind, so that a replay with another key finds its recording.
//!
//! Two sorts of secrets are found: those that look like one (`runseal_secrets`, and the patterns of a
//! redaction file), and known values, which are learned from headers, from the environment and from
//! whatever was found before. Both are searched for in every layer of a text: in its base64, hex and
//! escapes, and in what those decode to. [`Window`] does this on a stream whose
//! pieces may end within a secret.

mod compressed;
mod deltas;
mod headers;
mod rules;
mod window;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use hmac::{Hmac, KeyInit, Mac};
use runseal_core::canon::{JsonString, ReadOptions, Value, parse_document};
use runseal_core::formats::model_io::asked::{PLACEHOLDER, PLACEHOLDER_DIGITS, parse_placeholder};
use sha2::Sha256;

pub(crate) use headers::read_percent;
pub use rules::{RedactionRules, RulesError};
pub(crate) use runseal_secrets::encoded::decode_percent;
pub(crate) use runseal_secrets::known::forms as encodings;
pub use runseal_secrets::known::known_values_in_environment;
pub use runseal_secrets::{Coding, is_secret_header};
pub(crate) use window::WHOLE_JSON;
pub use window::{BodyKind, Released, Window};

use compressed::redact_compressed;
use runseal_secrets::find::{self, Finder, Found};
use runseal_secrets::known::KnownSecrets;
use runseal_secrets::{layers, names};

/// How often the escapes of a quoted secret are decoded again.
const DEEPEST_QUOTES: usize = 3;

/// Replaces secrets, learns their values and counts them.
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
    /// Creates a redactor with a new key; returns `None` if the system provides no random bytes.
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

    /// Returns the placeholder of a secret.
    pub fn placeholder(&self, kind: &str, secret: &[u8]) -> String {
        let code = Hmac::<Sha256>::new_from_slice(&self.key)
            .map(|mut mac| {
                mac.update(secret);
                mac.finalize().into_bytes()
            })
            .unwrap_or_default();
        let hex: String = code
            .iter()
            .take(PLACEHOLDER_DIGITS / 2)
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

    /// Returns how many secrets of each kind were replaced.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        self.lock().counts.clone()
    }

    /// Finds the first known secret in `bytes`, in any encoding; returns its kind and offset. Unlike
    /// [`Redactor::redact`] this searches only for known values, to find what that missed.
    pub fn find_known(&self, bytes: &[u8]) -> Option<(String, usize)> {
        let state = self.lock();
        let (kind, at) = state.known.find_layered(bytes)?;
        Some((kind.to_owned(), at))
    }

    /// Like [`Redactor::find_known`], for an input that is read in parts.
    pub fn find_known_in(&self, input: impl Read) -> io::Result<Option<(String, usize)>> {
        let state = self.lock();
        let found = state.known.find_in(input)?;
        Ok(found.map(|(kind, at)| (kind.to_owned(), at)))
    }

    /// Returns where a known secret with spaces may begin that continues after `text`; the end of the
    /// text if there is none.
    fn begun_at(&self, text: &[u8]) -> usize {
        self.lock().known.begun_at(text)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds every known secret in any layer of `bytes`, and whatever looks like one.
    fn find_layered(&self, bytes: &[u8]) -> Vec<Found> {
        let state = self.lock();
        layers::search(bytes, state.known.reach(), &|layer, found| {
            self.finder.find(layer, found);
            for (kind, range, placeholder) in state.known.find(layer) {
                found.push(Found {
                    range,
                    kind: kind.to_owned().into(),
                    secret: None,
                    placeholder: Some(placeholder.to_owned()),
                });
            }
        })
    }

    /// Finds every secret in `bytes` with its replacement, in order and without overlap.
    fn find(&self, bytes: &[u8]) -> Vec<Edit> {
        let mut edits: Vec<Edit> = Vec::new();
        for (kind, range) in self.rules.find(bytes) {
            let secret = bytes.get(range.clone()).unwrap_or_default();
            edits.push(Edit {
                placeholder: self.placeholder(kind, secret),
                kind: kind.to_owned(),
                secret: secret.to_vec(),
                range,
                is_new: true,
            });
        }
        for found in self.find_layered(bytes) {
            let plain = || bytes.get(found.range.clone()).map(<[u8]>::to_vec);
            let Some(secret) = found.secret.or_else(plain) else {
                continue;
            };
            let kind = found.kind.into_owned();
            edits.push(Edit {
                is_new: found.placeholder.is_none(),
                placeholder: match found.placeholder {
                    Some(placeholder) => placeholder,
                    None => self.placeholder(&kind, &secret),
                },
                kind,
                secret,
                range: found.range,
            });
        }
        let placeholders = find_placeholders(bytes);
        edits.retain(|edit| {
            let range = &edit.range;
            // A secret that is larger than a placeholder inside it is still replaced.
            let is_covered = |place: &Range<usize>| {
                let touches = range.start < place.end && place.start < range.end;
                let is_more =
                    range.start <= place.start && place.end <= range.end && range != place;
                touches && !is_more
            };
            let first = placeholders.partition_point(|place| place.end <= range.start);
            let near = placeholders.get(first..).unwrap_or_default().iter();
            let mut near = near.take_while(|place| place.start < range.end);
            !near.any(is_covered)
        });
        merge(edits)
    }

    /// Whether several complete events or lines, searched together, contain no secret. Always false
    /// if the user has own patterns, which may depend on their boundaries.
    fn finds_nothing(&self, bytes: &[u8]) -> bool {
        self.rules.is_empty() && self.find(bytes).is_empty()
    }

    /// Counts a secret that was replaced.
    fn count(&self, kind: &str) {
        *self.lock().counts.entry(kind.to_owned()).or_default() += 1;
    }

    /// Returns the edits for `bytes`; counts the secrets that they replace and learns their values.
    fn take_edits(&self, bytes: &[u8]) -> Vec<Edit> {
        let edits = self.find(bytes);
        self.account_for(&edits);
        edits
    }

    /// Counts the secrets that the edits replace and learns their values.
    fn account_for(&self, edits: &[Edit]) {
        for edit in edits {
            self.count(&edit.kind);
            if edit.is_new {
                self.learn_found(&edit.kind, &edit.secret);
            }
        }
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

    /// Returns `bytes` without secrets.
    pub fn redact<'b>(&self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        apply(bytes, &self.take_edits(bytes))
    }

    /// Returns a text without secrets.
    pub fn redact_text<'b>(&self, text: &'b str) -> Cow<'b, str> {
        match self.redact(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// Returns a body without secrets. JSON, also one document per line, is searched again with its
    /// escapes decoded; if that finds a secret, the JSON is written again.
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

    /// Returns a request's body without secrets, as it is recorded and matched. A compressed body is
    /// decompressed, so that people can read it and other compressed bytes of the same body match it.
    pub fn redact_request<'b>(
        &self,
        coding: &str,
        content_type: &str,
        body: &'b [u8],
    ) -> Cow<'b, [u8]> {
        if let Some(decoded) = Coding::parse(coding).and_then(|coding| coding.decode(body)) {
            let redacted = self.redact_request("", content_type, &decoded);
            return Cow::Owned(redacted.into_owned());
        }
        if let Some(redacted) =
            Coding::sniff(body).and_then(|coding| redact_compressed(coding, self, body))
        {
            return Cow::Owned(redacted);
        }
        if let Some(redacted) = self.redact_multipart(content_type, body) {
            return Cow::Owned(redacted);
        }
        let is_form = content_type.starts_with("application/x-www-form-urlencoded");
        match (is_form, std::str::from_utf8(body)) {
            (true, Ok(form)) => Cow::Owned(self.redact_query(form).into_bytes()),
            _ => self.redact_body(body),
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

    /// Replaces the text of a member whose name says that it is a secret; returns whether it did. Only
    /// this sees names that were written with escapes.
    fn redact_named(&self, name: &JsonString, member: &mut Value) -> bool {
        let (Some(name), Value::String(string)) = (name.as_str(), &*member) else {
            return false;
        };
        let Some(text) = string.as_str() else {
            return false;
        };
        let is_secret = match names::judge(name) {
            Some(names::SecretWhen::Always) => !text.is_empty(),
            Some(names::SecretWhen::IfKeyLike) => names::is_key_like(text.as_bytes()),
            Some(names::SecretWhen::IfHoldsPassword) => names::holds_password(text.as_bytes()),
            Some(names::SecretWhen::InFields) | None => false,
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

/// Returns `bytes` with the edits applied.
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
    /// The decoded secret.
    secret: Vec<u8>,
    placeholder: String,
    is_new: bool,
}

/// Finds the ranges of placeholders, which are not secrets. Only exact ones count.
fn find_placeholders(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = find::position(bytes, PLACEHOLDER.as_bytes(), from) {
        from = at + PLACEHOLDER.len();
        let inside = bytes.get(from..).unwrap_or_default();
        if let Some((_, length)) = parse_placeholder(inside) {
            from += length;
            found.push(at..from);
        }
    }
    found
}

/// Sorts edits and merges overlapping ones, which keep the first one's placeholder.
fn merge(mut edits: Vec<Edit>) -> Vec<Edit> {
    // At equal positions, known values first: their placeholder does not depend on the encoding.
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
    fn redact_twice_changes_nothing_and_forged_placeholder_hides_nothing() {
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
    fn redact_known_value_has_same_placeholder_in_every_form() {
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
    fn find_known_in_finds_secret_across_parts() {
        let redactor = redactor();
        redactor.learn("mine", b"opaque value/of+mine");
        let scanned: usize = 1 << 20;
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

    /// A secret of no known look, with signs that encodings treat differently.
    const OPAQUE: &str = "Zq8t/Lm2\"Xr5 wYb9nKc4d";

    /// Encodings of a text, with their names.
    fn encodings(text: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
        use base64ct::{Base64, Base64UrlUnpadded, Encoding};
        let percent = |kept: &[u8]| -> Vec<u8> {
            let plain = |byte: &u8| byte.is_ascii_alphanumeric() || kept.contains(byte);
            let encoded = text.iter().map(|byte| {
                if plain(byte) {
                    char::from(*byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            });
            encoded.collect::<String>().into_bytes()
        };
        let each = |write: &dyn Fn(&u8) -> String| -> Vec<u8> {
            text.iter().map(write).collect::<String>().into_bytes()
        };
        let pair = [b"user:", text].concat();
        let wrapped: Vec<String> = Base64::encode_string(&[b"header of a file: ", text].concat())
            .as_bytes()
            .chunks(20)
            .map(|line| String::from_utf8_lossy(line).into_owned())
            .collect();
        let quoted = String::from_utf8_lossy(text).replace('\\', "\\\\");
        let quoted = quoted
            .replace('"', "\\\"")
            .replace('\n', "\\n")
            .replace('\r', "\\r");
        vec![
            ("base64", Base64::encode_string(text).into_bytes()),
            (
                "base64url",
                Base64UrlUnpadded::encode_string(text).into_bytes(),
            ),
            ("basic", Base64::encode_string(&pair).into_bytes()),
            ("wrapped base64", wrapped.join("\r\n").into_bytes()),
            ("hex", each(&|byte| format!("{byte:02x}"))),
            ("HEX", each(&|byte| format!("{byte:02X}"))),
            ("percent", percent(b"")),
            ("percent but /", percent(b"/:@")),
            ("all percent", each(&|byte| format!("%{byte:02x}"))),
            (
                "form",
                String::from_utf8(percent(b" "))
                    .unwrap()
                    .replace(' ', "+")
                    .into_bytes(),
            ),
            ("JSON", quoted.into_bytes()),
            ("\\u", each(&|byte| format!("\\u{byte:04x}"))),
            ("\\x", each(&|byte| format!("\\x{byte:02x}"))),
            ("HTML", each(&|byte| format!("&#{byte};"))),
            ("quoted-printable", each(&|byte| format!("={byte:02X}"))),
            ("UTF-16", text.iter().flat_map(|byte| [*byte, 0]).collect()),
        ]
    }

    #[test]
    fn redact_known_value_in_two_or_more_encodings_is_found() {
        let redactor = redactor();
        redactor.learn("mine", OPAQUE.as_bytes());
        let placeholder = redactor.placeholder("mine", OPAQUE.as_bytes());
        for (outer, inner) in encodings(OPAQUE.as_bytes()) {
            for (outermost, encoded) in encodings(&inner) {
                let text = [b"see ", encoded.as_slice(), b" end"].concat();
                let redacted = redactor.redact(&text);
                let redacted = String::from_utf8_lossy(&redacted);
                assert!(
                    redacted.contains(&placeholder),
                    "{outermost} of {outer}: {redacted}"
                );
                assert!(
                    redacted.starts_with("see ") && redacted.ends_with(" end"),
                    "{redacted}"
                );
                // Nothing of the secret remains.
                assert!(
                    redactor.find_known(redacted.as_bytes()).is_none(),
                    "{redacted}"
                );
                assert!(
                    redactor.find_known(&text).is_some(),
                    "{outermost} of {outer}"
                );
            }
        }
        let mut text = OPAQUE.as_bytes().to_vec();
        for _ in 0..4 {
            text = encodings(&text).swap_remove(0).1;
        }
        assert!(redactor.find_known(&text).is_some());
    }

    #[test]
    fn redact_known_value_in_encoded_compressed_bytes_is_found() {
        use base64ct::{Base64, Encoding};
        use std::io::Write as _;
        let redactor = redactor();
        redactor.learn("mine", OPAQUE.as_bytes());
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        gzip.write_all(format!("a log with {OPAQUE} in it").as_bytes())
            .unwrap();
        let text = Base64::encode_string(&gzip.finish().unwrap());
        let redacted = redactor.redact_text(&text);
        assert_eq!(redacted, redactor.placeholder("mine", OPAQUE.as_bytes()));
    }

    #[test]
    fn redact_work_is_bounded_by_the_length_of_the_text() {
        use base64ct::{Base64, Encoding};
        use std::cell::Cell;
        let mut nested = vec![b'A'; 30_000];
        for _ in 0..4 {
            nested = Base64::encode_string(&nested).into_bytes();
        }
        let repeated = |text: &str| text.repeat(100_000 / text.len()).into_bytes();
        for text in [
            nested,
            repeated("a-b/c_d+"),
            repeated("abcdefgh-"),
            repeated("%25"),
            repeated("%2525 &amp;amp; =3D3D \\\\u005c QUJDREVGR0hJSktMTU5PUFFS "),
            repeated("\\u005c"),
            repeated("&#38;#38;"),
            repeated("41"),
            repeated("H4sIAAAAAAAA-"),
        ] {
            let looked = Cell::new(0);
            layers::search(&text, 512, &|layer, _| {
                looked.set(looked.get() + layer.len())
            });
            let most = 13 * text.len() + (64 << 10);
            assert!(looked.get() <= most, "{} of {}", looked.get(), text.len());
        }
        // Names whose values overlap: the bytes searched there are bounded too.
        let names = repeated("secret:");
        assert!(matches!(redactor().redact(&names), Cow::Borrowed(_)));
        let assigned = repeated("password=");
        assert!(redactor().redact(&assigned).len() < assigned.len());
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
