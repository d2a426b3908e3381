//! Tells values that look like keys from others, and finds those of secret variables in files, so that
//! none gets into a bundle unasked.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use aho_corasick::AhoCorasick;
use base64ct::{Base64, Base64Url, Encoding};
use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_core::source::SourceError;

use super::difference::describe_difference;
use super::error::{RecordError, work_error};
use crate::run::replay::Divergence;
use runseal_fs::staged_files::{UnreadableFile, visit_files};
use runseal_fs::stream::BUFFER;

/// Shorter values stand in files by chance.
const SHORTEST: usize = 6;

/// Whether a secret is long enough to be told from chance where it is found.
pub(crate) fn can_be_found(value: &str) -> bool {
    value.len() >= SHORTEST
}

/// Refuses a bundle of which a file holds the value of a secret variable, as it is or as JSON writes it.
/// What was packed, encoded or cut up is not found. Each file is read once, whatever the number of
/// secrets.
pub(crate) fn check_secrets(
    secrets: &BTreeMap<String, String>,
    bundle: &Path,
) -> Result<(), RecordError> {
    let Some(texts) = SecretTexts::of(secrets)? else {
        return Ok(());
    };
    let mut files: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let visited = visit_files(bundle, |file, content| {
        for name in texts.find_in(content)? {
            files.entry(name).or_default().push(file.to_owned());
        }
        Ok(ControlFlow::<()>::Continue(()))
    });
    visited.map_err(|UnreadableFile { file, source }| SourceError::Io { path: file, source })?;
    match files.pop_first() {
        None => Ok(()),
        Some((name, files)) => Err(RecordError::Secret {
            name: name.to_owned(),
            files,
        }),
    }
}

/// Fails if the bytes hold the value of a secret variable; they would be in `file` of the bundle.
pub(crate) fn check_secrets_in(
    secrets: &BTreeMap<String, String>,
    file: &str,
    mut bytes: &[u8],
) -> Result<(), RecordError> {
    let Some(texts) = SecretTexts::of(secrets)? else {
        return Ok(());
    };
    let found = texts.find_in(&mut bytes);
    match found.map_err(work_error)?.first() {
        Some(name) => Err(RecordError::Secret {
            name: (*name).to_owned(),
            files: vec![file.to_owned()],
        }),
        None => Ok(()),
    }
}

/// The values of secret variables in every spelling that is looked for.
struct SecretTexts<'s> {
    matcher: AhoCorasick,
    /// The variable that each text of the matcher belongs to.
    names: Vec<&'s str>,
    /// The length of the longest text.
    longest: usize,
}

impl<'s> SecretTexts<'s> {
    /// The texts of all secrets that can be told from chance; `None` if there are none.
    fn of(secrets: &'s BTreeMap<String, String>) -> Result<Option<Self>, RecordError> {
        let secrets = secrets.iter().filter(|(_, value)| can_be_found(value));
        Self::spelled(secrets, |value| Ok(plain_and_json(value)?.into()))
    }

    fn spelled(
        secrets: impl Iterator<Item = (&'s String, &'s String)>,
        spell: impl Fn(&str) -> Result<BTreeSet<Vec<u8>>, RecordError>,
    ) -> Result<Option<Self>, RecordError> {
        let (mut texts, mut names) = (Vec::new(), Vec::new());
        for (name, value) in secrets {
            let spellings = spell(value)?;
            names.extend(spellings.iter().map(|_| name.as_str()));
            texts.extend(spellings);
        }
        let Some(longest) = texts.iter().map(Vec::len).max() else {
            return Ok(None);
        };
        let matcher =
            AhoCorasick::new(&texts).map_err(|error| work_error(io::Error::other(error)))?;
        Ok(Some(Self {
            matcher,
            names,
            longest,
        }))
    }

    /// The variables whose values stand in what `reader` gives. A value may begin within another.
    fn find_in(&self, reader: &mut impl io::Read) -> io::Result<BTreeSet<&'s str>> {
        let mut found = BTreeSet::new();
        let mut buffer = vec![0; BUFFER.max(2 * self.longest)];
        // What may be the beginning of a text at the end of a piece is looked at again with the next.
        let mut kept = 0;
        loop {
            let count = runseal_archive::fill(reader, &mut buffer[kept..])?;
            let end = kept + count;
            let hits = self.matcher.find_overlapping_iter(&buffer[..end]);
            found.extend(hits.filter_map(|hit| self.names.get(hit.pattern().as_usize())));
            if end < buffer.len() {
                return Ok(found);
            }
            kept = self.longest - 1;
            buffer.copy_within(end - kept..end, 0);
        }
    }
}

/// A text as it is, and as JSON writes it.
fn plain_and_json(text: &str) -> Result<[Vec<u8>; 2], RecordError> {
    let json = canonical_bytes(&Value::from(text), Dialect::Jcs)?;
    let inner = json.get(1..json.len() - 1).unwrap_or_default();
    Ok([text.as_bytes().to_vec(), inner.to_vec()])
}

/// Keeps secrets out of what is shown of a run.
///
/// A secret counts as found by its whole value or by one of its lines, as it is, as JSON writes it, in hex, in base64 or
/// percent-encoded, however white space breaks it up. Where one is found, nothing of the text is shown: what else of it is
/// secret cannot be told.
pub(crate) struct HiddenSecrets<'s>(Option<SecretTexts<'s>>);

impl<'s> HiddenSecrets<'s> {
    pub(crate) fn of(secrets: &'s BTreeMap<String, String>) -> Result<Self, RecordError> {
        let secrets = secrets
            .iter()
            .filter(|(_, value)| !squeeze(value).is_empty());
        SecretTexts::spelled(secrets, every_spelling).map(Self)
    }

    /// The variable whose value stands in `bytes`, if one does.
    fn find(&self, bytes: &[u8]) -> Option<&'s str> {
        let texts = self.0.as_ref()?;
        let hit = texts.matcher.find(&squeeze(bytes))?;
        texts.names.get(hit.pattern().as_usize()).copied()
    }

    /// Says where two versions of the file at `place` differ, as [`describe_difference`] does.
    pub(crate) fn describe(&self, place: &str, before: &[u8], now: &[u8]) -> Option<String> {
        match self.find(before).or_else(|| self.find(now)) {
            Some(name) => Some(format!("[secret {name}] is in it, so it is not shown")),
            None => describe_difference(place, before, now),
        }
    }

    /// Whether the value of a secret is in what `reader` gives, broken up by no white space.
    pub(crate) fn is_in(&self, reader: &mut impl io::Read) -> Result<bool, RecordError> {
        match &self.0 {
            None => Ok(false),
            Some(texts) => {
                let found = texts.find_in(reader).map_err(work_error)?;
                Ok(!found.is_empty())
            }
        }
    }

    /// Replaces a text with a secret in it.
    pub(crate) fn hide(&self, text: &mut String) {
        if let Some(name) = self.find(text.as_bytes()) {
            *text = format!("[secret {name}]");
        }
    }

    /// Replaces the texts of places that differ if a secret is in them.
    pub(crate) fn hide_in(&self, divergences: &mut [Divergence]) {
        for found in divergences {
            let texts = [&mut found.path, &mut found.sealed, &mut found.now];
            let optional = found.pointer.iter_mut().chain(&mut found.difference);
            texts
                .into_iter()
                .chain(optional)
                .for_each(|it| self.hide(it));
        }
    }
}

/// Without white space, which tools put into long texts wherever a line is full.
fn squeeze(text: impl AsRef<[u8]>) -> Vec<u8> {
    let kept = text
        .as_ref()
        .iter()
        .filter(|byte| !byte.is_ascii_whitespace());
    kept.copied().collect()
}

/// How a value or a line of it may be written, without white space.
fn every_spelling(value: &str) -> Result<BTreeSet<Vec<u8>>, RecordError> {
    let lines = value.lines().filter(|line| can_be_found(line.trim()));
    let mut spellings = BTreeSet::new();
    for text in lines.map(str::trim).chain([value, value.trim()]) {
        spellings.extend(plain_and_json(text)?.map(squeeze));
        // Shorter ones would be found in any digest.
        if !can_be_found(text) {
            continue;
        }
        let bytes = text.as_bytes();
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
        for format in [|byte| format!("{byte:02x}"), |byte| format!("{byte:02X}")] {
            spellings.insert(bytes.iter().map(format).collect::<String>().into_bytes());
            let percent = bytes.iter().map(|byte| match is_plain(byte) {
                true => char::from(*byte).to_string(),
                false => format!("%{}", format(byte)),
            });
            spellings.insert(percent.collect::<String>().into_bytes());
        }
        // What lies before it in the encoded text shifts it by none, one or two bytes.
        for (shift, skipped) in [(0, 0), (1, 2), (2, 3)] {
            let shifted = [&[0; 2][..shift], bytes].concat();
            let whole = &shifted[..shifted.len() - shifted.len() % 3];
            for encoded in [
                Base64::encode_string(whole),
                Base64Url::encode_string(whole),
            ] {
                spellings.extend(encoded.get(skipped..).map(|it| it.as_bytes().to_vec()));
            }
        }
    }
    spellings.retain(|spelling| !spelling.is_empty());
    Ok(spellings)
}

/// Words in the names of variables whose values usually are secrets.
const NAMES: [&str; 11] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "APIKEY",
    "API_KEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
    "CREDENTIAL",
    "AUTH",
];

/// Prefixes of well-known services' keys.
const PREFIXES: [&str; 16] = [
    "sk-",
    "sk_live_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "ASIA",
    "AIza",
    "eyJ",
    "-----BEGIN",
];

/// From this length on, a text of letters and digits without a word in it may be a key.
const LONG: usize = 24;

/// Why the value of the variable `name` looks like a secret, if it does.
pub fn find_secret(name: &str, value: &str) -> Option<&'static str> {
    if value.is_empty() {
        return None;
    }
    // Who wrote something is no secret; what authorizes is.
    let upper = name.to_ascii_uppercase().replace("AUTHORI", "AUTH-");
    let upper = upper.replace("AUTHOR", "");
    if NAMES.iter().any(|word| upper.contains(word)) || upper.ends_with("_KEY") || upper == "KEY" {
        return Some("its name says so");
    }
    if PREFIXES.iter().any(|prefix| value.starts_with(prefix)) {
        return Some("it begins as keys of a known service do");
    }
    if holds_password(value) {
        return Some("it has a password in it");
    }
    looks_random(value).then_some("it looks like a key: long, without words, of mixed characters")
}

/// Names in what a program connects with, such as `Server=…;Password=…`, whose values open something.
const CONNECTION_SECRETS: [&str; 5] =
    ["password", "passwd", "pwd", "accountkey", "sharedaccesskey"];

/// Whether a value is what a program connects with and has a password or key in it: pairs, or an address
/// such as `scheme://user:password@host`.
fn holds_password(value: &str) -> bool {
    let mut pairs = value
        .split([';', '&', '?', ' '])
        .filter_map(|part| part.split_once('='));
    let is_secret = |(name, value): (&str, &str)| {
        let name = name.trim().to_ascii_lowercase();
        CONNECTION_SECRETS.contains(&name.as_str()) && !value.trim().is_empty()
    };
    let in_address = || {
        let authority = value.split_once("://")?.1.split(['/', '?', '#']).next()?;
        let (user, _) = authority.rsplit_once('@')?;
        let (_, password) = user.split_once(':')?;
        Some(!password.is_empty())
    };
    pairs.any(is_secret) || in_address().unwrap_or(false)
}

/// Whether a text is one long run of mixed letters and digits, like a key and unlike words.
fn looks_random(value: &str) -> bool {
    let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '_' | '-');
    if value.len() < LONG || !value.chars().all(is_key) || value.contains("//") {
        return false;
    }
    if value.starts_with('/') {
        return false;
    }
    let digits = value.chars().filter(char::is_ascii_digit).count();
    let upper = value.chars().filter(char::is_ascii_uppercase).count();
    let lower = value.chars().filter(char::is_ascii_lowercase).count();
    let is_hex = value.chars().all(|c| c.is_ascii_hexdigit());
    // In a key the kind of character changes every one or two characters, in a text after each
    // word.
    let runs = count_runs(value);
    digits > 0
        && upper + lower > 0
        && (is_hex || (upper > 0 && lower > 0))
        && runs * 3 > value.len()
}

/// How often the kind of character (digit, upper, lower, other) changes, plus one.
fn count_runs(value: &str) -> usize {
    let kind = |c: char| match c {
        c if c.is_ascii_digit() => 0,
        c if c.is_ascii_uppercase() => 1,
        c if c.is_ascii_lowercase() => 2,
        _ => 3,
    };
    let kinds: Vec<_> = value.chars().map(kind).collect();
    1 + kinds.windows(2).filter(|two| two[0] != two[1]).count()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn variables(values: &[(&str, &str)]) -> BTreeMap<String, String> {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        values.iter().map(own).collect()
    }

    #[test]
    fn find_in_text_is_found_wherever_it_stands_in_the_pieces() {
        let text = "a secret of some length";
        let secrets = variables(&[
            ("KEY", text),
            ("OTHER", "one that is longer than the first"),
        ]);
        let texts = SecretTexts::of(&secrets).unwrap().unwrap();
        for before in [0, 1, BUFFER - 10, BUFFER, 2 * BUFFER - 1, 2 * BUFFER + 7] {
            let mut bytes = vec![b'a'; before];
            bytes.extend_from_slice(text.as_bytes());
            bytes.extend_from_slice(b"rest");
            let found = texts.find_in(&mut &bytes[..]).unwrap();
            assert_eq!(found, BTreeSet::from(["KEY"]), "{before}");
            bytes[before + 3] = b'x';
            let found = texts.find_in(&mut &bytes[..]).unwrap();
            assert_eq!(found, BTreeSet::new(), "{before}");
        }
    }

    #[test]
    fn find_in_secrets_that_are_equal_overlap_or_hold_each_other_are_all_found() {
        let secrets = variables(&[
            ("EQUAL", "abcdefgh"),
            ("INNER", "cdefgh"),
            ("NEXT", "ghijklmn"),
            ("OUTER", "abcdefgh"),
            ("SHORT", "abc"),
        ]);
        let texts = SecretTexts::of(&secrets).unwrap().unwrap();
        let found = texts.find_in(&mut "..abcdefghijklmn..".as_bytes()).unwrap();
        assert_eq!(found, BTreeSet::from(["EQUAL", "INNER", "NEXT", "OUTER"]));
    }

    #[test]
    fn check_secrets_first_variable_is_named_with_every_file_that_holds_it() {
        let bundle = tempfile::tempdir().unwrap();
        fs::create_dir(bundle.path().join("artifacts")).unwrap();
        let across = format!("{}first value", "x".repeat(BUFFER - 4));
        for (name, content) in [
            ("z", "first value and second value"),
            ("artifacts/b", &across),
            ("artifacts/a", "second value"),
        ] {
            fs::write(bundle.path().join(name), content).unwrap();
        }
        let secrets = variables(&[("B", "second value"), ("A", "first value")]);
        match check_secrets(&secrets, bundle.path()) {
            Err(RecordError::Secret { name, files }) => {
                assert_eq!(
                    (name.as_str(), files.join(" ").as_str()),
                    ("A", "artifacts/b z")
                );
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn check_secrets_what_was_packed_or_encoded_is_not_found() {
        let bundle = tempfile::tempdir().unwrap();
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(b"a secret value").unwrap();
        for (name, content) in [
            ("a.gz", packed.finish().unwrap()),
            ("base64", b"YSBzZWNyZXQgdmFsdWU=".to_vec()),
            ("hex", b"61207365637265742076616c7565".to_vec()),
        ] {
            fs::write(bundle.path().join(name), content).unwrap();
        }
        let secrets = variables(&[("KEY", "a secret value")]);
        check_secrets(&secrets, bundle.path()).unwrap();
    }

    #[test]
    fn hidden_secret_is_found_by_value_or_line_in_every_spelling_and_nothing_else_is() {
        let secrets = variables(&[
            ("KEY", "first line/+\r\nsecond \"line\"\n}\n"),
            ("PIN", "42"),
        ]);
        let hidden = HiddenSecrets::of(&secrets).unwrap();
        for text in [
            "x first line/+ y",
            "+second \"line\"",
            r#"{"a":"second \"line\""}"#,
            "66697273 74206c69\n6e652f2b",
            "66697273 74206C69 6E652F2B",
            "first%20line%2F%2B",
            "Zmlyc3QgbGlu\nZS8r",
            "eGZpcnN0IGxpbmUvKw==",
            "eHhmaXJzdCBsaW5lLys=",
            "the pin is 42",
        ] {
            let told = hidden.describe("a.txt", b"other", text.as_bytes()).unwrap();
            assert!(told.starts_with("[secret "), "{text}: {told}");
            let mut shown = text.to_owned();
            hidden.hide(&mut shown);
            assert!(shown.starts_with("[secret "), "{text}: {shown}");
        }
        for text in ["}", "first", "34 32", "NDI="] {
            let told = hidden.describe("a.txt", b"other", text.as_bytes()).unwrap();
            assert!(told.contains(text), "{text}: {told}");
        }
    }

    #[test]
    fn secret_in_a_file_is_refused_by_the_file_as_it_is_and_as_json_writes_it() {
        let bundle = tempfile::tempdir().unwrap();
        fs::create_dir(bundle.path().join("artifacts")).unwrap();
        fs::write(
            bundle.path().join("artifacts/a.json"),
            r#"{"a":"pass\"word"}"#,
        )
        .unwrap();
        fs::write(bundle.path().join("fine"), "password").unwrap();
        let given = |value: &str| variables(&[("KEY", value)]);
        let error = check_secrets(&given("pass\"word"), bundle.path()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the value of `KEY` is not to be sealed, and stands in `artifacts/a.json`"
        );
        for absent in ["another value", "pass"] {
            check_secrets(&given(absent), bundle.path()).unwrap();
        }
    }

    #[test]
    fn secret_is_told_by_name_prefix_or_look_and_ordinary_values_are_not() {
        for (name, value) in [
            ("GITHUB_TOKEN", "x"),
            ("my_api_key", "1"),
            ("AWS_SECRET_ACCESS_KEY", "abc"),
            ("X", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"),
            ("X", "wJalrXUtnFEMI7K7MDENGbPxRfiCYEXAMPLEKEY9"),
            (
                "X",
                "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            ),
            ("X", "-----BEGIN OPENSSH PRIVATE KEY-----"),
            ("DATABASE_URL", "postgres://me:abc@db.example/x"),
            ("HTTP_AUTHORIZATION", "x"),
            ("DB_CONNECTION_STRING", "Server=db;User Id=me;Password=abc"),
            ("STORE", "AccountName=a;AccountKey=q83v=="),
        ] {
            assert!(find_secret(name, value).is_some(), "{name}={value}");
        }
        for (name, value) in [
            ("LANG", "de_DE.UTF-8"),
            ("MODE", "production"),
            ("DATA", "/home/someone/projects/2024-results/run-17"),
            ("SEED", "42"),
            ("TITLE", "a-rather-long-name-of-an-experiment-with-words-17"),
            ("TOKEN", ""),
            ("XDG_SESSION_ID", "3"),
            ("GIT_AUTHOR_DATE", "2024-01-02"),
            ("DATABASE_URL", "postgres://me@db.example:5432/x"),
            ("PAGE", "http://localhost:8080/package@2.0"),
            ("DB_CONNECTION_STRING", "Server=db;Integrated Security=true"),
        ] {
            assert_eq!(find_secret(name, value), None, "{name}={value}");
        }
    }
}
