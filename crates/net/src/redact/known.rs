//! Values that are known to be secret, and the forms in which they may come up again.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use base64ct::{Base64, Base64Unpadded, Base64Url, Base64UrlUnpadded, Encoding};

/// The shortest value that is looked for everywhere: shorter ones come up by chance.
const LEAST: usize = 8;
/// The most values that are remembered. Stops a stream of tokens that would fill the memory.
const MOST: usize = 20_000;

/// Known secrets and a matcher for all their forms.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// By form: the kind and the placeholder of the secret.
    forms: BTreeMap<Vec<u8>, (String, String)>,
    values: usize,
    /// Built when asked for: learning comes in bursts.
    matcher: std::sync::OnceLock<Option<Matcher>>,
}

#[derive(Debug)]
struct Matcher {
    automaton: AhoCorasick,
    meaning: Vec<(String, String)>,
}

impl Known {
    /// Remembers a value with its placeholder.
    pub(super) fn learn(&mut self, kind: &str, value: &[u8], placeholder: &str) {
        let is_placeholder = value.starts_with(super::PLACEHOLDER.as_bytes());
        if value.len() < LEAST || is_placeholder || self.forms.contains_key(value) {
            return;
        }
        if self.values >= MOST {
            return;
        }
        self.values += 1;
        for form in forms(value) {
            self.forms
                .entry(form)
                .or_insert_with(|| (kind.to_owned(), placeholder.to_owned()));
        }
        self.matcher = std::sync::OnceLock::new();
    }

    /// Every place of a known secret: kind, place, placeholder.
    pub(super) fn find<'k>(
        &'k self,
        bytes: &'k [u8],
    ) -> impl Iterator<Item = (&'k str, Range<usize>, &'k str)> + 'k {
        let matcher = self.matcher.get_or_init(|| {
            if self.forms.is_empty() {
                return None;
            }
            let automaton = AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .build(self.forms.keys())
                .ok()?;
            Some(Matcher {
                automaton,
                meaning: self.forms.values().cloned().collect(),
            })
        });
        matcher.iter().flat_map(move |matcher| {
            matcher.automaton.find_iter(bytes).filter_map(|hit| {
                let (kind, placeholder) = matcher.meaning.get(hit.pattern().as_usize())?;
                Some((kind.as_str(), hit.range(), placeholder.as_str()))
            })
        })
    }
}

/// The value itself and what base64 (at each of three alignments), percent-encoding, hex and JSON
/// make of it.
fn forms(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![value.to_vec()];
    for shift in 0..3 {
        let mut padded = vec![0; shift];
        padded.extend_from_slice(value);
        // Characters that depend on what stands in front or behind are left out.
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

/// As addresses and forms write it: with few or many characters escaped, in either case.
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

/// Decodes base64 of either alphabet, padded or not.
pub(super) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    Base64::decode_vec(text)
        .or_else(|_| Base64Unpadded::decode_vec(text))
        .or_else(|_| Base64Url::decode_vec(text))
        .or_else(|_| Base64UrlUnpadded::decode_vec(text))
        .ok()
}

/// Values of variables with telling names: kind and value.
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
    variables
        .into_iter()
        .filter(|(name, value)| is_telling(name) && value.len() >= LEAST && !value.starts_with('/'))
        .map(|(name, value)| {
            let kind = name.to_ascii_lowercase().replace('_', "-");
            (format!("env-{kind}"), value)
        })
        .collect()
}
