//! Finds secrets in bytes: by prefix, by shape and by the name of a member.

use std::borrow::Cow;
use std::ops::Range;

use crate::kinds::KINDS;
use crate::names::{self, LAST_WORDS, SecretWhen};
use crate::shapes::find_shapes;
use aho_corasick::{AhoCorasick, MatchKind};

/// The shortest unquoted value that a telling name makes a secret.
const LEAST_NAMED: usize = 6;
/// How far the end of a value is searched for, unquoted and quoted.
const LONGEST_UNQUOTED: usize = 8 << 10;
const LONGEST_QUOTED: usize = 32 << 10;
/// The bytes searched for the ends of all values of a text, as a multiple of its length; once these
/// are used up, `LEAST_LOOKED_AT` bytes for each value. Stops a text of nothing but telling names,
/// whose values all overlap.
const NAMED_TIMES: usize = 16;
const LEAST_LOOKED_AT: usize = 256;
/// The longest name that is considered.
const LONGEST_NAME: usize = 64;

/// The kind of a secret that is recognized by its name.
pub const NAMED: &str = "named-secret";

/// A secret that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The bytes to replace.
    pub range: Range<usize>,
    /// The kind, for the placeholder and the counts.
    pub kind: Cow<'static, str>,
    /// The decoded secret, if those bytes are an encoding of it.
    pub secret: Option<Vec<u8>>,
    /// The placeholder, if the secret is already known.
    pub placeholder: Option<String>,
}

impl Found {
    /// A secret that is not encoded.
    pub fn plain(range: Range<usize>, kind: &'static str) -> Self {
        Self {
            range,
            kind: Cow::Borrowed(kind),
            secret: None,
            placeholder: None,
        }
    }
}

/// Matchers for secrets that can be recognized by their form.
#[derive(Debug)]
pub struct Finder {
    prefixes: AhoCorasick,
    last_words: AhoCorasick,
}

impl Finder {
    /// Builds the matchers; returns `None` if the tables are too large for them.
    pub fn new() -> Option<Self> {
        let prefixes = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostFirst)
            .build(KINDS.iter().map(|kind| kind.prefix))
            .ok()?;
        let last_words = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest)
            .build(LAST_WORDS)
            .ok()?;
        Some(Self {
            prefixes,
            last_words,
        })
    }

    /// Adds everything that looks like a secret without decoding, in no particular order and possibly
    /// overlapping.
    pub fn find(&self, bytes: &[u8], found: &mut Vec<Found>) {
        self.find_prefixed(bytes, found);
        find_shapes(bytes, found);
        self.find_named(bytes, found);
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
            found.push(Found::plain(start..end + length, kind.name));
        }
    }

    /// Finds `"password": "…"`, also in JSON within a JSON string, and `password=…`.
    fn find_named(&self, bytes: &[u8], found: &mut Vec<Found>) {
        let mut work = bytes.len() * NAMED_TIMES + LONGEST_QUOTED;
        let mut replaced = 0;
        for hit in self.last_words.find_iter(bytes) {
            // A name inside a secret is part of the secret.
            if hit.start() < replaced {
                continue;
            }
            let most = work.max(LEAST_LOOKED_AT);
            if let Some(name) = Name::around(bytes, hit.range())
                && let Some(value) = Value::of(bytes, &name, most)
            {
                work = work.saturating_sub(value.range.len());
                if value.is_secret(bytes, &name) {
                    replaced = value.range.end;
                    found.push(Found::plain(value.range, NAMED));
                }
            }
        }
    }
}

/// Whether a word may begin at `at`: the byte before it is not alphanumeric, or ends an escape, of a text or of a
/// terminal's colours.
pub(crate) fn begins_word(bytes: &[u8], at: usize) -> bool {
    let before = bytes.get(..at).unwrap_or_default();
    match before {
        [] => true,
        [.., last] if !last.is_ascii_alphanumeric() => true,
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => true,
        [.., b'%', high, low] => high.is_ascii_hexdigit() && low.is_ascii_hexdigit(),
        [.., b'\\', b'u', a, b, c, d] => [a, b, c, d].iter().all(|byte| byte.is_ascii_hexdigit()),
        _ => ends_control_sequence(before),
    }
}

/// The most parameters of a control sequence that are looked at.
const LONGEST_SEQUENCE: usize = 24;

/// Whether a control sequence of a terminal ends here, such as `ESC[1;32m`, also as JSON and shells write its first
/// character.
fn ends_control_sequence(text: &[u8]) -> bool {
    let Some((letter, text)) = text.split_last() else {
        return false;
    };
    let is_parameter = |byte: &u8| matches!(byte, b'0'..=b'9' | b';' | b':' | b'?');
    let parameters = text.iter().rev().take(LONGEST_SEQUENCE);
    let parameters = parameters.take_while(|byte| is_parameter(byte)).count();
    let Some(text) = text[..text.len() - parameters].strip_suffix(b"[") else {
        return false;
    };
    let escapes: [&[u8]; 6] = [b"\x1b", b"\\u001b", b"\\u001B", b"\\x1b", b"\\033", b"\\e"];
    letter.is_ascii_alphabetic() && escapes.iter().any(|escape| text.ends_with(escape))
}

/// Returns the start of the first telling name in `text` whose quoted value is not closed yet.
pub fn open_value(text: &[u8], finder: &Finder) -> Option<usize> {
    finder.last_words.find_iter(text).find_map(|hit| {
        let name = Name::around(text, hit.range())?;
        let value = Value::of(text, &name, usize::MAX)?;
        (value.is_open && name.secret_when != SecretWhen::InFields).then_some(name.range.start)
    })
}

/// A telling name in a text.
#[derive(Debug)]
struct Name<'b> {
    range: Range<usize>,
    text: &'b str,
    secret_when: SecretWhen,
}

impl<'b> Name<'b> {
    /// Returns the whole name that ends with the word at `last`, if it is a telling one.
    fn around(bytes: &'b [u8], last: Range<usize>) -> Option<Self> {
        let in_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if bytes.get(last.end).is_some_and(in_name) {
            return None;
        }
        let before = bytes.get(..last.start)?;
        let length = before
            .iter()
            .rev()
            .take(LONGEST_NAME)
            .take_while(|byte| in_name(byte))
            .count();
        let mut start = last.start - length;
        // The letters of an escape in front of the name do not belong to it.
        let found = bytes.get(start..last.end)?;
        let is_hex = |digits: Option<&[u8]>| {
            digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
        };
        let escape = match (bytes.get(..start)?.last(), found.first()) {
            (Some(b'\\'), Some(b'n' | b'r' | b't' | b'b' | b'f')) => 1,
            (Some(b'\\'), Some(b'u')) if is_hex(found.get(1..5)) => 5,
            (Some(b'%'), Some(_)) if is_hex(found.get(..2)) => 2,
            _ => 0,
        };
        start += escape.min(length);
        let text = std::str::from_utf8(bytes.get(start..last.end)?).ok()?;
        Some(Self {
            range: start..last.end,
            text,
            secret_when: names::judge(text).or_else(|| {
                // What a sign-in hands back is a parameter of this name.
                names::is_secret_parameter(text).then_some(SecretWhen::InFields)
            })?,
        })
    }
}

/// The value that follows a name.
#[derive(Debug)]
struct Value {
    /// Its bytes, without quotes.
    range: Range<usize>,
    is_quoted: bool,
    /// Whether `=` separates name and value.
    is_assigned: bool,
    /// Whether its closing quote is missing.
    is_open: bool,
}

impl Value {
    /// Finds the value after a name, in JSON, in JSON within a string, or in a form; at most `most` bytes
    /// of it.
    fn of(bytes: &[u8], name: &Name<'_>, most: usize) -> Option<Self> {
        let mut at = name.range.end;
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
        // `"secret": "…"` in JSON; `secret=…` in a form or an environment, quoted or not.
        let is_assigned = bytes.get(name.range.end..at)?.contains(&b'=');
        if is_quoted_name != is_quoted && !is_assigned {
            return None;
        }
        if !is_quoted {
            let rest = bytes.get(at..)?;
            let length = rest
                .iter()
                .take(LONGEST_UNQUOTED.min(most))
                .take_while(|byte| byte.is_ascii_graphic() && !b"\"'\\&;,<>[]{}".contains(byte))
                .count();
            return Some(Self {
                range: at..at + length,
                is_quoted,
                is_assigned,
                is_open: false,
            });
        }
        let quote = bytes.get(at - 1).copied()?;
        let name_quote = bytes.get(name.range.end + slashes).copied();
        if name_quote == Some(quote) && inner != slashes {
            return None;
        }
        let most = LONGEST_QUOTED.min(most);
        let end = closing_quote(bytes, at..bytes.len().min(at + most), quote, inner);
        Some(Self {
            range: at..end.unwrap_or(bytes.len().min(at + most)),
            is_quoted,
            is_assigned,
            is_open: end.is_none(),
        })
    }

    /// Whether the value is a secret, given its name.
    fn is_secret(&self, bytes: &[u8], name: &Name<'_>) -> bool {
        let value = bytes.get(self.range.clone()).unwrap_or_default();
        if value.is_empty() || names::is_reference(name.text, value) {
            return false;
        }
        let before = name.range.start.checked_sub(1);
        let is_parameter = self.is_assigned
            && before.is_some_and(|before| matches!(bytes.get(before), Some(b'?' | b'&')));
        match name.secret_when {
            SecretWhen::InFields if !is_parameter => return false,
            SecretWhen::InFields | SecretWhen::IfKeyLike => return names::is_key_like(value),
            SecretWhen::IfHoldsPassword => return names::holds_password(value),
            SecretWhen::Always if self.is_quoted => return true,
            SecretWhen::Always => {}
        }
        let has_digit = value.iter().any(u8::is_ascii_digit);
        if !self.is_assigned {
            // `secret: word` may be prose; `secret: 4f9a7c21` in a configuration is not.
            return value.len() >= 8 && has_digit;
        }
        // `password=input("…")` and `api_key=os.environ["…"]` are program text.
        let is_called =
            value.contains(&b'(') || matches!(bytes.get(self.range.end), Some(b'[' | b'{'));
        value.len() >= LEAST_NAMED && (has_digit || !is_called)
    }
}

/// Finds the end of a quoted text at `place`: its closing quote is preceded by as many backslashes as
/// the opening one, which are not escaped themselves.
fn closing_quote(bytes: &[u8], place: Range<usize>, quote: u8, slashes: usize) -> Option<usize> {
    let area = bytes.get(..place.end)?;
    let from = place.start;
    let mut at = from;
    loop {
        // A text in single quotes ends, at the latest, with the string around it.
        at += memchr::memchr2(quote, b'"', area.get(at..)?)?;
        let before = area.get(from..at)?.iter().rev();
        let found = before.take_while(|byte| **byte == b'\\').count();
        let is_own = area.get(at) == Some(&quote);
        if found < slashes || !is_own && found == 0 {
            return Some(at - found);
        }
        // Each level of quoting doubles the backslashes in front of a quote and adds one.
        if is_own && found % (2 * (slashes + 1)) == slashes {
            return Some(at - slashes);
        }
        at += 1;
    }
}

/// The offset of the first `needle` in `bytes` from `from` on.
pub fn position(bytes: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    Some(from + memchr::memmem::find(bytes.get(from..)?, needle)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Alphabet;

    fn found(text: &str) -> Vec<(&'static str, String)> {
        let finder = Finder::new().unwrap();
        let look = |layer: &[u8], found: &mut Vec<Found>| finder.find(layer, found);
        let found = crate::layers::search(text.as_bytes(), 512, &look);
        found
            .into_iter()
            .map(|secret| {
                let bytes = &text.as_bytes()[secret.range];
                let Cow::Borrowed(kind) = secret.kind else {
                    panic!("a known secret")
                };
                (kind, String::from_utf8_lossy(bytes).into_owned())
            })
            .collect()
    }

    #[test]
    fn find_secret_of_every_kind_in_the_table_is_found() {
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
    fn find_named_value_in_json_form_or_json_string_is_found() {
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
    fn find_encoded_secret_is_found_at_any_alignment() {
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

    #[test]
    fn find_encoded_secret_is_found_after_signs_across_lines_and_twice_encoded() {
        use base64ct::{Base64, Encoding};
        let secret = "sk-proj-abcdefghij0123456789ABCDEFGHIJ";
        let encoded = Base64::encode_string(secret.as_bytes());
        let long = format!("# settings of the service, do not commit\nOPENAI={secret}\n");
        let long = Base64::encode_string(long.as_bytes());
        let (first, second) = long.split_at(76);
        let percent: String = secret.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        for text in [
            format!("data={encoded}"),
            format!("/files/my-doc/{encoded}"),
            format!("a-b/{encoded}"),
            format!("x/y-{encoded}"),
            format!("{first}\n{second}\n"),
            format!("{first}\r\n{second}"),
            format!("{{\"file\":\"{first}\\n{second}\\n\"}}"),
            format!(
                "x={}",
                Base64::encode_string(format!("zz {secret}").as_bytes())
            )
            .replace('=', "%3D"),
            Base64::encode_string(encoded.as_bytes()),
            percent.replace('%', "%25"),
            hex.clone(),
            format!("0{}", hex.to_uppercase()),
        ] {
            let found = found(&text);
            assert!(
                found.iter().any(|(kind, _)| *kind == "openai-key"),
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn find_quoted_value_is_found_up_to_its_closing_quote() {
        for value in [
            "my pa55w0rd-longer",
            "correct horse battery staple",
            "pässwort-12345678",
            "ab,cdefghij12345",
            "it's4secret9876",
            "x&yz12345678",
            "a{b}c12345678",
            "short",
            "x",
            r"ab\cdefgh12345",
            r#"ab\"cdefgh12345"#,
            r"ends with one\\",
        ] {
            let plain = format!(r#"{{"password":"{value}","next":"visible"}}"#);
            assert_eq!(found(&plain)[0], (NAMED, value.to_owned()), "{plain}");
            let twice = value.replace('\\', r"\\").replace('"', r#"\""#);
            let nested = format!(r#"{{"a":"{{\"password\": \"{twice}\"}}","b":"\"visible\""}}"#);
            let nested_value = (NAMED, twice.clone());
            assert!(
                found(&nested).contains(&nested_value),
                "{nested}: {:?}",
                found(&nested)
            );
        }
        assert_eq!(
            found("{'password': 'hunter 22', 'x': \"it's\"}"),
            [(NAMED, "hunter 22".to_owned())]
        );
        assert_eq!(found(r#"{"password":"it has no end"#).len(), 1);
    }

    #[test]
    fn find_named_value_is_distinguished_from_model_output_and_code() {
        let key = "88f438808c578e541b30e1f10d3de732";
        for name in [
            "accessToken",
            "PGPASSWORD",
            "dbPassword",
            "passphrase",
            "token",
            "bot_token",
        ] {
            let text = format!(r#"{{"{name}":"{key}"}}"#);
            assert_eq!(found(&text)[0], (NAMED, key.to_owned()), "{text}");
        }
        assert!(!found(&format!("see https://x.example/a?sv=2022&sig={key}%3D")).is_empty());
        for text in [
            r#"{"token":" Hello","logprob":-0.1,"bytes":[32]}"#,
            r#"{"max_tokens":4096,"total_tokens":12,"stop_token_ids":[1]}"#,
            r#"{"progressToken":"4f9a7c21d3de73288f438808c578e541"}"#,
            r#"{"signature":"EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrk"}"#,
            r#"{"prompt_cache_key":"4f9a7c21d3de73288f438808c578e541"}"#,
            r#"{"pwd":"/home/somebody/project"}"#,
            "PWD=/home/somebody/project",
            "client = Client(api_key=os.environ[\"KEY\"])",
            "password = input(\"Say it: \")",
            r#"{"password":"${DB_PASSWORD}"}"#,
            r#"{"password":true,"secret":12345678}"#,
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn find_shapes_are_found_and_lookalikes_are_not() {
        for secret in [
            "123456789:AAa1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2x",
            "MTAa1B2a1B2a1B2a1B2a1B2x.Gabcde.a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2",
            "key-a1b2a1b2a1b2a1b2a1b2a1b2a1b2a1b2",
            "bearer a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2",
        ] {
            let text = format!("see {secret} ok");
            assert!(
                found(&text).iter().any(|(_, found)| found == secret),
                "{text}"
            );
        }
        for (address, password) in [
            ("postgres://u:p4ss/w0rd@h/db", "p4ss/w0rd"),
            ("postgres://u:p4@ssw0rd@h/db", "p4@ssw0rd"),
            ("https://u:hunter22@h:8080/a@b", "hunter22"),
        ] {
            assert_eq!(found(address), [("address-password", password.to_owned())]);
        }
        for text in [
            "https://example.org:8080/path/a@b",
            "ssh://git@host:org/repo@v1",
            "cache-key-a1b2a1b2a1b2a1b2a1b2a1b2a1b2a1b2",
            "12:AAa1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2x",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }
}
