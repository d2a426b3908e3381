//! Values known to be secret, and the encodings in which they may reappear.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use base64ct::{Base64, Base64Unpadded, Base64Url, Base64UrlUnpadded, Encoding};
use runseal_core::formats::model_io::asked::PLACEHOLDER;

use super::names::{Telling, holds_password, judge};

/// The shortest value that is searched for everywhere: shorter ones occur by chance.
const LEAST: usize = 8;
/// The most values that are remembered. Stops a stream of tokens that would fill memory.
const MOST: usize = 20_000;

/// Known secrets, and matchers for all their encodings.
///
/// Values are added one by one between searches, so matchers are kept in levels, each more than
/// twice as large as the next: a new value usually needs only a small matcher to be built, and
/// rarely a large one.
#[derive(Debug, Default)]
pub(super) struct KnownSecrets {
    values: BTreeSet<Vec<u8>>,
    levels: Vec<Level>,
    /// The length of the longest encoded form.
    longest: usize,
}

#[derive(Debug)]
struct Level {
    forms: Vec<Form>,
    matcher: Option<AhoCorasick>,
}

/// One encoding of a secret.
#[derive(Debug)]
struct Form {
    bytes: Vec<u8>,
    kind: String,
    placeholder: String,
}

impl Level {
    fn new(forms: Vec<Form>) -> Self {
        let matcher = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(forms.iter().map(|form| &form.bytes));
        Self {
            forms,
            matcher: matcher.ok(),
        }
    }
}

impl KnownSecrets {
    /// Remembers a value with its placeholder.
    pub(super) fn learn(&mut self, kind: &str, value: &[u8], placeholder: &str) {
        let is_placeholder = value.starts_with(PLACEHOLDER.as_bytes());
        let is_full = self.values.len() >= MOST;
        if value.len() < LEAST || is_placeholder || is_full || !self.values.insert(value.to_vec()) {
            return;
        }
        let mut forms: Vec<Form> = forms(value)
            .into_iter()
            .map(|bytes| Form {
                bytes,
                kind: kind.to_owned(),
                placeholder: placeholder.to_owned(),
            })
            .collect();
        let lengths = forms.iter().map(|form| form.bytes.len());
        self.longest = lengths.fold(self.longest, usize::max);
        while let Some(last) = self.levels.pop() {
            if last.forms.len() > 2 * forms.len() {
                self.levels.push(last);
                break;
            }
            // Of equal forms, the one learned first comes first.
            forms = last.forms.into_iter().chain(forms).collect();
        }
        self.levels.push(Level::new(forms));
    }

    /// The length of the longest encoded form.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Every occurrence of a known secret: kind, range, placeholder.
    pub(super) fn find<'k>(
        &'k self,
        bytes: &'k [u8],
    ) -> impl Iterator<Item = (&'k str, Range<usize>, &'k str)> + 'k {
        self.levels.iter().flat_map(move |level| {
            level.matcher.iter().flat_map(move |matcher| {
                matcher.find_iter(bytes).filter_map(|hit| {
                    let form = level.forms.get(hit.pattern().as_usize())?;
                    Some((form.kind.as_str(), hit.range(), form.placeholder.as_str()))
                })
            })
        })
    }
}

/// The value itself, and its encodings in base64 (at each of three alignments), percent-encoding,
/// hex and JSON.
fn forms(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![value.to_vec()];
    for shift in 0..3 {
        let mut padded = vec![0; shift];
        padded.extend_from_slice(value);
        // Characters that depend on neighbouring bytes are left out.
        let first = [0, 2, 3].get(shift).copied().unwrap_or(0);
        let whole = padded.len() * 8 / 6;
        let standard = Base64Unpadded::encode_string(&padded);
        let for_addresses = Base64UrlUnpadded::encode_string(&padded);
        for encoded in [standard, for_addresses] {
            if let Some(stable) = encoded.get(first..whole)
                && stable.len() >= LEAST
            {
                forms.push(stable.as_bytes().to_vec());
            }
        }
    }
    forms.extend(percent_forms(value));
    let mut hex = String::new();
    for byte in value {
        let _ = write!(hex, "{byte:02x}");
    }
    forms.push(hex.to_uppercase().into_bytes());
    forms.push(hex.into_bytes());
    if let Ok(text) = std::str::from_utf8(value) {
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
        let with_slashes = escaped.replace('/', "\\/");
        forms.push(escaped.replace('\n', "\\n").into_bytes());
        forms.push(with_slashes.replace('\n', "\\n").into_bytes());
    }
    forms.sort();
    forms.dedup();
    forms
}

/// The percent-encodings of a value: with few or many characters escaped, in either letter case.
fn percent_forms(value: &[u8]) -> Vec<Vec<u8>> {
    let encode = |is_plain: &dyn Fn(u8) -> bool, upper: bool| {
        let mut text = String::new();
        for byte in value {
            if is_plain(*byte) {
                text.push(char::from(*byte));
            } else if upper {
                let _ = write!(text, "%{byte:02X}");
            } else {
                let _ = write!(text, "%{byte:02x}");
            }
        }
        text.into_bytes()
    };
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let component = |byte: u8| unreserved(byte) || b"!*'()".contains(&byte);
    let letters = |byte: u8| byte.is_ascii_alphanumeric();
    let nothing = |_: u8| false;
    let choices: [&dyn Fn(u8) -> bool; 4] = [&unreserved, &component, &letters, &nothing];
    choices
        .iter()
        .flat_map(|choice| [encode(choice, true), encode(choice, false)])
        .collect()
}

/// Decodes base64 in either alphabet, padded or not.
pub(super) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    Base64::decode_vec(text)
        .or_else(|_| Base64Unpadded::decode_vec(text))
        .or_else(|_| Base64Url::decode_vec(text))
        .or_else(|_| Base64UrlUnpadded::decode_vec(text))
        .ok()
}

/// The values of environment variables with telling names: kind and value.
pub fn known_values_in_environment(
    variables: impl IntoIterator<Item = (String, String)>,
) -> Vec<(String, String)> {
    let is_telling = |name: &str| {
        let name = name.to_ascii_uppercase();
        [
            "_KEY",
            "_TOKEN",
            "_SECRET",
            "PASSWORD",
            "APIKEY",
            "_CREDENTIALS",
        ]
        .iter()
        .any(|ending| name.ends_with(ending))
    };
    let is_secret = |name: &str, value: &str| {
        let is_connection = judge(name) == Some(Telling::IfHoldsPassword);
        is_telling(name) || is_connection && holds_password(value.as_bytes())
    };
    variables
        .into_iter()
        .filter(|(name, value)| {
            is_secret(name, value) && value.len() >= LEAST && !value.starts_with('/')
        })
        .map(|(name, value)| {
            let kind = name.to_ascii_lowercase().replace('_', "-");
            (format!("env-{kind}"), value)
        })
        .collect()
}
