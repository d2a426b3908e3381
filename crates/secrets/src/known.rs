//! Values known to be secret, and the encodings in which they may reappear.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Read};
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use base64ct::{Base64, Base64Unpadded, Base64Url, Base64UrlUnpadded, Encoding};
use runseal_core::formats::model_io::asked::PLACEHOLDER;

use crate::find::Found;
use crate::layers;
use crate::names::{SecretWhen, holds_password, judge};

/// The shortest value that is searched for everywhere: shorter ones occur by chance.
const LEAST: usize = 8;
/// The same for a value that somebody called secret.
pub const LEAST_GIVEN: usize = 6;
/// The most bytes of an input that are searched at once.
const SCANNED: u64 = 1 << 20;
/// Bounds on how far a secret may extend from an escape within it.
const LEAST_REACH: usize = 512;
const MOST_REACH: usize = 16 << 10;
/// The most values that are remembered, and their bytes. Stops a stream of tokens from filling memory:
/// a matcher takes many times as much.
const MOST: usize = 20_000;
const MOST_BYTES: usize = 256 << 10;
/// Encodings of longer values are found only by decoding.
const LONGEST_LISTED: usize = 256;

/// The most values with spaces that are searched for at the end of an unfinished text.
const MOST_SPACED: usize = 64;

/// Known secrets, and matchers for all their encodings.
///
/// Values are added one by one between searches, so matchers are kept in levels, each more than
/// twice as large as the next: a new value usually needs only a small matcher to be built, and
/// rarely a large one.
#[derive(Debug, Default)]
pub struct KnownSecrets {
    values: BTreeSet<Vec<u8>>,
    /// The total length of the values.
    bytes: usize,
    /// The values that contain whitespace.
    spaced: Vec<Vec<u8>>,
    /// Values that are too short to be searched for in what a text decodes to, with their names.
    short: Vec<(String, Vec<u8>)>,
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
    /// Remembers a value that was found, with its placeholder, as long as there is room for it.
    pub fn learn(&mut self, kind: &str, value: &[u8], placeholder: &str) {
        let is_placeholder = value.starts_with(PLACEHOLDER.as_bytes());
        let is_full = self.values.len() >= MOST || self.bytes + value.len() > MOST_BYTES;
        if value.len() >= LEAST && !is_placeholder && !is_full {
            self.add(kind, value, placeholder, forms(value));
        }
    }

    /// Remembers a value that somebody called secret, whatever its length: by its lines too, since a tool may
    /// print one of them. What is shorter than [`LEAST_GIVEN`] is searched for as it is and as JSON writes it,
    /// since its encodings occur by chance.
    pub fn learn_given(&mut self, name: &str, value: &str) {
        let lines = value.lines().filter(|line| can_be_found(line.trim()));
        let texts: BTreeSet<&str> = lines
            .chain([value])
            .flat_map(|it| [it, it.trim()])
            .collect();
        for text in texts.into_iter().filter(|text| !text.is_empty()) {
            if can_be_found(text) {
                self.add(name, text.as_bytes(), "", forms(text.as_bytes()));
            } else {
                self.longest = self.longest.max(text.len());
                self.short.push((name.to_owned(), text.as_bytes().to_vec()));
                self.short
                    .push((name.to_owned(), escape_json(text).into_bytes()));
            }
        }
    }

    fn add(&mut self, kind: &str, value: &[u8], placeholder: &str, forms: Vec<Vec<u8>>) {
        if !self.values.insert(value.to_vec()) {
            return;
        }
        self.bytes += value.len();
        if value.iter().any(u8::is_ascii_whitespace) && self.spaced.len() < MOST_SPACED {
            self.spaced.push(value.to_vec());
        }
        let form = |bytes| Form {
            bytes,
            kind: kind.to_owned(),
            placeholder: placeholder.to_owned(),
        };
        let mut forms: Vec<Form> = forms.into_iter().map(form).collect();
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

    /// Whether there is nothing to search for.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.short.is_empty()
    }

    /// Returns where the longest beginning of a value with spaces starts that `text` ends with; the end of
    /// the text if there is none.
    pub fn begun_at(&self, text: &[u8]) -> usize {
        let begun = self.spaced.iter().filter_map(|value| {
            let lengths = (1..value.len()).rev();
            let mut begun = lengths.filter_map(|length| value.get(..length));
            begun.find(|begun| text.ends_with(begun)).map(<[u8]>::len)
        });
        text.len() - begun.max().unwrap_or(0)
    }

    /// How far a secret may extend from an escape within it.
    pub fn reach(&self) -> usize {
        self.longest.clamp(LEAST_REACH, MOST_REACH)
    }

    /// Finds the first known secret in any layer of `bytes`: its kind and offset.
    pub fn find_layered(&self, bytes: &[u8]) -> Option<(&str, usize)> {
        let found = layers::search(bytes, self.reach(), &|layer, found| {
            for (kind, range, _) in self.find(layer) {
                found.push(Found {
                    range,
                    kind: kind.to_owned().into(),
                    secret: None,
                    placeholder: None,
                });
            }
        });
        let short = self.short.iter().find_map(|(name, value)| {
            let at = memchr::memmem::find(bytes, value)?;
            Some((name.as_str(), at))
        });
        let Some(first) = found.into_iter().min_by_key(|found| found.range.start) else {
            return short;
        };
        let kinds = self.levels.iter().flat_map(|level| &level.forms);
        let mut kinds = kinds.map(|form| form.kind.as_str());
        Some((kinds.find(|kind| *kind == first.kind)?, first.range.start))
    }

    /// Like [`KnownSecrets::find_layered`], for an input that is read in parts.
    ///
    /// # Errors
    /// Those of reading.
    pub fn find_in(&self, mut input: impl Read) -> io::Result<Option<(&str, usize)>> {
        // A secret takes up to six times its length if every character is escaped.
        let overlap = self.longest.saturating_mul(6);
        let (mut held, mut base) = (Vec::new(), 0);
        loop {
            let read = input.by_ref().take(SCANNED).read_to_end(&mut held)?;
            if read == 0 {
                return Ok(None);
            }
            if let Some((kind, at)) = self.find_layered(&held) {
                return Ok(Some((kind, base + at)));
            }
            // The end may be the beginning of a secret, so it is searched again with what follows.
            let passed = held.len().saturating_sub(overlap);
            held.drain(..passed);
            base += passed;
        }
    }

    /// Finds every occurrence of a known secret: kind, range, placeholder.
    pub fn find<'k>(
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

/// The value itself, and its encodings in base64 (at each of three alignments), hex and JSON: what is encoded once is
/// found without decoding anything, however short it is.
pub fn forms(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![value.to_vec()];
    let shifts = if value.len() <= LONGEST_LISTED {
        0..3
    } else {
        0..0
    };
    for shift in shifts {
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
    if value.len() <= LONGEST_LISTED {
        let mut hex = String::new();
        for byte in value {
            let _ = write!(hex, "{byte:02x}");
        }
        forms.push(hex.to_uppercase().into_bytes());
        forms.push(hex.into_bytes());
    }
    if let Ok(text) = std::str::from_utf8(value) {
        let escaped = escape_json(text);
        forms.push(escaped.replace('/', "\\/").into_bytes());
        forms.push(escaped.into_bytes());
    }
    forms.sort();
    forms.dedup();
    forms
}

/// The text as JSON writes it, without quotes around it.
fn escape_json(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    escaped
        .replace('\n', "\\n")
        .replace('\r', "\\r")
        .replace('\t', "\\t")
}

/// Whether a given value is long enough to be told from chance where it is found.
pub fn can_be_found(value: &str) -> bool {
    value.len() >= LEAST_GIVEN
}

/// Decodes base64 in either alphabet, padded or not.
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    Base64::decode_vec(text)
        .or_else(|_| Base64Unpadded::decode_vec(text))
        .or_else(|_| Base64Url::decode_vec(text))
        .or_else(|_| Base64UrlUnpadded::decode_vec(text))
        .ok()
}

/// Returns the kinds and values of environment variables with telling names.
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
        let is_connection = judge(name) == Some(SecretWhen::IfHoldsPassword);
        is_telling(name) || is_connection && holds_password(value.as_bytes())
    };
    variables
        .into_iter()
        .filter(|(name, value)| {
            is_secret(name, value) && value.len() >= LEAST && !value.starts_with('/')
        })
        .map(|(name, value)| {
            // The kind in a placeholder has letters, digits and hyphens alone.
            let is_other = |letter: char| !letter.is_ascii_alphanumeric();
            let kind = name.to_ascii_lowercase().replace(is_other, "-");
            (format!("env-{kind}"), value)
        })
        .collect()
}
