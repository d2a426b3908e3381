//! Finds secrets in bytes: by prefix, by shape, by the name of a member, and encoded.

use std::ops::Range;

use super::encoded::{decode_percent, decode_run, runs};
use super::kinds::{Alphabet, KINDS, SECRET_MEMBERS};
use aho_corasick::{AhoCorasick, MatchKind};

/// The shortest run of base64 that is decoded and searched.
const LEAST_ENCODED: usize = 22;
/// The longest distance at which the end of a private key is searched.
const LONGEST_PRIVATE_KEY: usize = 32 << 10;
/// The shortest value of a member with a telling name that counts as a secret.
const LEAST_NAMED: usize = 6;

/// A secret that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The bytes to replace.
    pub range: Range<usize>,
    /// The kind, for the placeholder and the counts.
    pub kind: &'static str,
}

/// Matchers for secrets that can be recognized by their form.
#[derive(Debug)]
pub struct Finder {
    prefixes: AhoCorasick,
    members: AhoCorasick,
}

impl Finder {
    /// Builds the matchers; `None` if the tables are too large for them.
    pub fn new() -> Option<Self> {
        let prefixes = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostFirst)
            .build(KINDS.iter().map(|kind| kind.prefix))
            .ok()?;
        // Both spellings of a name: `api_key` and `api-key`.
        let spelled = SECRET_MEMBERS
            .iter()
            .flat_map(|name| [(*name).to_owned(), name.replace('_', "-")]);
        let members = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest)
            .build(spelled)
            .ok()?;
        Some(Self { prefixes, members })
    }

    /// Adds everything that looks like a secret, in no particular order and possibly overlapping.
    pub fn find(&self, bytes: &[u8], found: &mut Vec<Found>) {
        self.find_plain(bytes, found);
        self.find_named(bytes, found);
        self.find_encoded(bytes, found);
    }

    fn find_plain(&self, bytes: &[u8], found: &mut Vec<Found>) {
        self.find_prefixed(bytes, found);
        find_tokens(bytes, found);
        find_private_keys(bytes, found);
        find_passwords_in_addresses(bytes, found);
    }

    fn find_prefixed(&self, bytes: &[u8], found: &mut Vec<Found>) {
        for hit in self.prefixes.find_iter(bytes) {
            let Some(kind) = KINDS.get(hit.pattern().as_usize()) else {
                continue;
            };
            let Range { start, end } = hit.range();
            if !begins_word(bytes, start) {
                continue;
            }
            let rest = bytes.get(end..).unwrap_or_default();
            let length = rest
                .iter()
                .take_while(|byte| kind.alphabet.has(**byte))
                .count();
            let body = rest.get(..length).unwrap_or_default();
            if length < kind.least || kind.has_digit && !body.iter().any(u8::is_ascii_digit) {
                continue;
            }
            found.push(Found {
                range: start..end + length,
                kind: kind.name,
            });
        }
    }

    /// Finds `"password": "…"`, also in JSON within a JSON string, and `password=…`.
    fn find_named(&self, bytes: &[u8], found: &mut Vec<Found>) {
        for hit in self.members.find_iter(bytes) {
            if let Some(range) = named_value(bytes, hit.range()) {
                found.push(Found {
                    range,
                    kind: "named-secret",
                });
            }
        }
    }

    /// Finds runs of base64 and percent-encoding that contain a recognizable secret.
    fn find_encoded(&self, bytes: &[u8], found: &mut Vec<Found>) {
        let mut inner = Vec::new();
        let in_run = |byte: &u8| Alphabet::Base64.has(*byte) || matches!(byte, b'-' | b'_');
        for run in runs(bytes, in_run, LEAST_ENCODED) {
            let text = bytes.get(run.clone()).unwrap_or_default();
            // The encoded text may begin at any alignment within the run.
            for skip in 0..4 {
                inner.clear();
                if let Some(decoded) = decode_run(text.get(skip..).unwrap_or_default()) {
                    self.find_plain(&decoded, &mut inner);
                    self.find_named(&decoded, &mut inner);
                }
                if let Some(first) = inner.first() {
                    found.push(Found {
                        range: run.clone(),
                        kind: first.kind,
                    });
                    break;
                }
            }
        }
        if !bytes.contains(&b'%') {
            return;
        }
        let in_run =
            |byte: &u8| byte.is_ascii_alphanumeric() || b"%_-.~+!*'()/:@&=?,;".contains(byte);
        for run in runs(bytes, in_run, LEAST_ENCODED) {
            let text = bytes.get(run.clone()).unwrap_or_default();
            let Some((decoded, places)) = decode_percent(text) else {
                continue;
            };
            inner.clear();
            self.find_plain(&decoded, &mut inner);
            self.find_named(&decoded, &mut inner);
            for secret in &inner {
                let from = places.get(secret.range.start).copied().unwrap_or(0);
                let to = places.get(secret.range.end).copied().unwrap_or(text.len());
                found.push(Found {
                    range: run.start + from..run.start + to,
                    kind: secret.kind,
                });
            }
        }
    }
}

/// Whether a word may begin here: the byte before is not alphanumeric, or ends an escape.
fn begins_word(bytes: &[u8], at: usize) -> bool {
    let before = bytes.get(..at).unwrap_or_default();
    match before {
        [] => true,
        [.., last] if !last.is_ascii_alphanumeric() => true,
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => true,
        [.., b'%', high, low] => high.is_ascii_hexdigit() && low.is_ascii_hexdigit(),
        [.., b'\\', b'u', a, b, c, d] => [a, b, c, d].iter().all(|byte| byte.is_ascii_hexdigit()),
        _ => false,
    }
}

/// Finds tokens of three parts, each base64 of JSON or of a signature.
fn find_tokens(bytes: &[u8], found: &mut Vec<Found>) {
    let mut from = 0;
    while let Some(at) = position(bytes, b"eyJ", from) {
        let rest = bytes.get(at..).unwrap_or_default();
        let length = rest
            .iter()
            .take_while(|byte| Alphabet::Dotted.has(**byte))
            .count();
        let text = rest.get(..length).unwrap_or_default();
        let parts: Vec<&[u8]> = text.split(|byte| *byte == b'.').collect();
        if let [_, second, ..] = parts.as_slice()
            && second.starts_with(b"eyJ")
            && length >= 30
        {
            found.push(Found {
                range: at..at + length,
                kind: "jwt",
            });
        }
        from = at + length.max(3);
    }
}

/// Finds whole armoured private keys; one without an end extends as far as keys can.
fn find_private_keys(bytes: &[u8], found: &mut Vec<Found>) {
    let mut from = 0;
    while let Some(at) = position(bytes, b"-----BEGIN ", from) {
        from = at + 11;
        let head = bytes.get(at..bytes.len().min(at + 80)).unwrap_or_default();
        let Some(named) = position(head, b"PRIVATE KEY", 0) else {
            continue;
        };
        let body = at + named;
        let limit = bytes.len().min(at + LONGEST_PRIVATE_KEY);
        let area = bytes.get(..limit).unwrap_or_default();
        let end = position(area, b"-----END ", body)
            .and_then(|end| Some(position(area, b"-----", end + 9)? + 5))
            .unwrap_or(limit);
        found.push(Found {
            range: at..end,
            kind: "private-key",
        });
        from = end;
    }
}

/// Finds the password in `scheme://user:password@host`.
fn find_passwords_in_addresses(bytes: &[u8], found: &mut Vec<Found>) {
    let mut from = 0;
    while let Some(at) = position(bytes, b"://", from) {
        from = at + 3;
        let rest = bytes
            .get(from..bytes.len().min(from + 512))
            .unwrap_or_default();
        let is_inside = |byte: &u8| byte.is_ascii_graphic() && !b"/\"'<>\\`?#@{}".contains(byte);
        let length = rest.iter().take_while(|byte| is_inside(byte)).count();
        let user = rest.get(..length).unwrap_or_default();
        if rest.get(length) == Some(&b'@')
            && let Some(colon) = user.iter().position(|byte| *byte == b':')
            && length - colon > 3
        {
            found.push(Found {
                range: from + colon + 1..from + length,
                kind: "address-password",
            });
        }
    }
}

/// The value after the telling name at `name`, without quotes.
fn named_value(bytes: &[u8], name: Range<usize>) -> Option<Range<usize>> {
    let before = bytes.get(..name.start)?.last();
    if before.is_some_and(|byte| byte.is_ascii_alphabetic() && !begins_word(bytes, name.start)) {
        return None;
    }
    let mut at = name.end;
    let mut skip = |allowed: &[u8], most: usize| {
        let rest = bytes.get(at..).unwrap_or_default();
        let count = rest
            .iter()
            .take(most)
            .take_while(|byte| allowed.contains(byte))
            .count();
        at += count;
        count
    };
    let slashes = skip(b"\\", 8);
    let is_quoted_name = skip(b"\"'", 1) == 1;
    skip(b" \t", 8);
    if skip(b":=", 1) == 0 {
        return None;
    }
    skip(b" \t", 8);
    let inner = skip(b"\\", 8);
    let is_quoted = skip(b"\"'", 1) == 1;
    // `"secret": "…"` in JSON; `secret=…` in a form or the environment, quoted or not.
    let is_assigned = bytes.get(name.end..at)?.contains(&b'=');
    if is_quoted_name != is_quoted && !is_assigned {
        return None;
    }
    if is_quoted && inner != slashes {
        return None;
    }
    let rest = bytes.get(at..)?;
    let length = rest
        .iter()
        .take(8192)
        .take_while(|byte| byte.is_ascii_graphic() && !b"\"'\\&;,<>[]{}".contains(byte))
        .count();
    let value = rest.get(..length)?;
    // `secret: word` may be prose, but `secret: 4f9a7c21` in a configuration is not.
    let is_telling = value.len() >= 8 && value.iter().any(u8::is_ascii_digit);
    let is_one = value.len() >= LEAST_NAMED && (is_quoted || is_assigned || is_telling);
    is_one.then_some(at..at + length)
}

pub(super) fn position(bytes: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    Some(from + memchr::memmem::find(bytes.get(from..)?, needle)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        Finder::new().unwrap().find(text.as_bytes(), &mut found);
        found
            .into_iter()
            .map(|secret| {
                let bytes = &text.as_bytes()[secret.range];
                (secret.kind, String::from_utf8_lossy(bytes).into_owned())
            })
            .collect()
    }

    #[test]
    fn find_every_kind_of_the_table_has_a_secret_that_is_found() {
        for kind in KINDS {
            let rest: String = match kind.alphabet {
                Alphabet::Hex => "0123456789abcdef".repeat(4),
                _ => "Ab1".repeat(30),
            };
            let secret = format!("{}{}", kind.prefix, &rest[..kind.least]);
            for text in [
                secret.clone(),
                format!("{{\"a\":\"\\n{secret}\"}}"),
                format!("see {secret}, please"),
            ] {
                let found = found(&text);
                let is_there = found.iter().any(|(_, bytes)| bytes.contains(&secret));
                assert!(is_there, "{}: {text}: {found:?}", kind.name);
            }
            let short = format!("{}{}", kind.prefix, &rest[..kind.least - 1]);
            let is_kind = |found: &(&str, String)| found.0 == kind.name && found.1 == short;
            assert!(!found(&short).iter().any(is_kind), "{}: {short}", kind.name);
        }
    }

    #[test]
    fn find_named_values_are_found_in_json_forms_and_json_within_strings() {
        for (text, secret) in [
            (r#"{"password":"hunter22!"}"#, "hunter22!"),
            (r#"{"Api-Key" : "a.b.c.d.e"}"#, "a.b.c.d.e"),
            (
                r#"{"arguments":"{\"client_secret\": \"zzz999zzz\"}"}"#,
                "zzz999zzz",
            ),
            ("user=x&password=hunter22&y=1", "hunter22"),
            (
                "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG",
                "wJalrXUtnFEMI/K7MDENG",
            ),
        ] {
            let found = found(text);
            assert!(
                found.iter().any(|(_, bytes)| bytes == secret),
                "{text}: {found:?}"
            );
        }
        for text in [
            r#"{"password":{"type":"string"}}"#,
            r#"{"required":["password","secret"]}"#,
            "the password is: unknown to everybody",
            "the secret: patience",
            r#"{"secret":""}"#,
            "https://example.org/path:with@sign",
            "task-scheduling-without-any-digits-in-it",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn find_encoded_secrets_are_found_wherever_their_encoding_begins() {
        use base64ct::{Base64, Encoding};
        let secret = "sk-proj-abcdefghij0123456789ABCDEFGHIJ";
        for before in ["", "a", "ab", "abc", "{\"key\":\""] {
            let encoded = Base64::encode_string(format!("{before} {secret} rest").as_bytes());
            let found = found(&format!("{{\"file\":\"{encoded}\"}}"));
            assert!(!found.is_empty(), "{before}: {encoded}");
        }
        let percent = secret.replace('-', "%2D");
        assert!(!found(&format!("/x?q={percent}&y=2")).is_empty());
    }
}
