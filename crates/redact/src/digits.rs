//! Digests stated in texts and bytes: whole ones, or their first digits.

use std::collections::BTreeSet;

use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_core::digest::Digest;
use runseal_trust::encoding::encode_base64;

/// The fewest digits that count as a digest: our formats use 8, 16 and 64.
const FEWEST: usize = 8;

/// The length of a whole digest in base64, without padding.
const BASE64: usize = 43;
/// The possible last characters, which encode four bits.
const LAST_OF_BASE64: &[u8] = b"AEIMQUYcgkosw048";

/// Digests that must not be shown.
#[derive(Debug)]
pub(super) struct Tainted {
    hex: BTreeSet<String>,
    /// The first digits of digests of which no more is known.
    beginnings: BTreeSet<String>,
    base64: BTreeSet<String>,
    raw: BTreeSet<[u8; 32]>,
    /// The pairs of bytes with which a digest begins; most positions in a file are skipped by this.
    first_bytes: Vec<bool>,
}

impl Default for Tainted {
    fn default() -> Self {
        Self {
            hex: BTreeSet::new(),
            beginnings: BTreeSet::new(),
            base64: BTreeSet::new(),
            raw: BTreeSet::new(),
            first_bytes: vec![false; 1 << 16],
        }
    }
}

fn first_two(bytes: &[u8]) -> usize {
    usize::from(bytes[0]) << 8 | usize::from(bytes[1])
}

impl Tainted {
    pub(super) fn add(&mut self, digest: &Digest) {
        self.raw.insert(*digest.as_bytes());
        self.first_bytes[first_two(digest.as_bytes())] = true;
        self.hex.insert(digest.to_string());
        let encoded = encode_base64(digest.as_bytes());
        let plain = encoded.trim_end_matches('=');
        self.base64
            .insert(plain.replace('+', "-").replace('/', "_"));
    }

    /// Adds the digits of an id that a format derives: a whole digest, or its beginning.
    pub(super) fn add_digits(&mut self, digits: &str) {
        match Digest::parse_hex(digits) {
            Ok(digest) => self.add(&digest),
            Err(_) if digits.len() >= FEWEST => {
                self.hex.insert(digits.to_owned());
                self.beginnings.insert(digits.to_owned());
            }
            Err(_) => {}
        }
    }

    fn add_bytes(&mut self, bytes: &[u8]) {
        self.add(&Digest::of(bytes));
        self.add(&Digest::of(&[bytes, b"\n"].concat()));
    }

    /// Adds every digest that our formats compute of a value.
    pub(super) fn add_value(&mut self, value: &Value) {
        for dialect in [Dialect::Jcs, Dialect::Kernel, Dialect::Job] {
            if let Ok(bytes) = canonical_bytes(value, dialect) {
                self.add_bytes(&bytes);
            }
        }
        if let Value::String(text) = value {
            self.add_bytes(text.to_lossy().as_bytes());
        }
        // An object usually contains its own digest, computed without that member.
        if let Value::Object(members) = value {
            for (name, member) in members {
                let Value::String(text) = member else {
                    continue;
                };
                if digits_in(text.to_lossy().as_bytes()).is_empty() {
                    continue;
                }
                let mut rest = members.clone();
                rest.remove(name);
                let rest = Value::Object(rest);
                for dialect in [Dialect::Jcs, Dialect::Kernel, Dialect::Job] {
                    if let Ok(bytes) = canonical_bytes(&rest, dialect) {
                        self.add_bytes(&bytes);
                    }
                }
            }
        }
    }

    /// Returns whether any of the digits found in a text are of a tainted digest.
    pub(super) fn has(&self, digits: &Digits) -> bool {
        let is_hex = |run: &String| match run.len() {
            ..=64 => {
                let mut above = self.hex.range(run.clone()..);
                let next = above.next();
                next.is_some_and(|digest| digest.starts_with(run.as_str()))
                    || (FEWEST..run.len()).any(|end| self.beginnings.contains(&run[..end]))
            }
            _ => (0..=run.len() - 64).any(|at| self.hex.contains(&run[at..at + 64])),
        };
        let is_base64 = |run: &String| {
            let ends = (BASE64..=run.len())
                .filter(|end| LAST_OF_BASE64.contains(&run.as_bytes()[end - 1]));
            let mut windows = ends.map(|end| &run[end - BASE64..end]);
            windows.any(|window| self.base64.contains(window))
        };
        digits.hex.iter().any(is_hex) || digits.base64.iter().any(is_base64)
    }

    /// Returns whether the bytes contain a tainted digest in binary: 32 bytes.
    pub(super) fn is_raw_in(&self, bytes: &[u8]) -> bool {
        let mut windows = bytes.windows(32);
        windows.any(|window| {
            self.first_bytes[first_two(window)]
                && <&[u8; 32]>::try_from(window).is_ok_and(|digest| self.raw.contains(digest))
        })
    }

    /// Returns whether a text or bytes state a tainted digest.
    pub(super) fn is_in(&self, text: &[u8]) -> bool {
        self.has(&digits_in(text)) || self.is_raw_in(text)
    }
}

/// The possible digests, or beginnings of digests, in a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Digits {
    hex: BTreeSet<String>,
    base64: BTreeSet<String>,
    /// Whether it is UTF-8, which in practice contains no digest in binary.
    pub(super) is_text: bool,
}

impl Digits {
    fn is_empty(&self) -> bool {
        self.hex.is_empty() && self.base64.is_empty()
    }
}

/// Returns the runs of at least `least` bytes for which `fits` is true. Each window is searched
/// from its end: a byte that does not fit rules out every run across it, so most bytes are skipped.
fn runs(text: &[u8], least: usize, fits: impl Fn(u8) -> bool) -> impl Iterator<Item = &[u8]> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let window = text.get(from..from + least)?;
            match window.iter().rposition(|byte| !fits(*byte)) {
                Some(last) => from += last + 1,
                None => {
                    let rest = &text[from + least..];
                    let more = rest.iter().take_while(|byte| fits(**byte)).count();
                    let run = &text[from..from + least + more];
                    from += run.len();
                    return Some(run);
                }
            }
        }
    })
}

/// Finds every run of digits in `text` that could be a digest.
pub(super) fn digits_in(text: &[u8]) -> Digits {
    let mut digits = Digits {
        is_text: std::str::from_utf8(text).is_ok(),
        ..Digits::default()
    };
    let mut add = |run: &[u8]| {
        if run.len() >= FEWEST {
            let run = String::from_utf8_lossy(run).to_ascii_lowercase();
            digits.hex.insert(run);
        }
    };
    // `ab:cd:ef` is one run, and so is each of its parts.
    let is_digit = |byte: &u8| byte.is_ascii_hexdigit();
    for run in runs(text, FEWEST, |byte| is_digit(&byte) || byte == b':') {
        run.split(|byte| *byte == b':').for_each(&mut add);
        if run.contains(&b':') {
            let plain: Vec<u8> = run.iter().copied().filter(is_digit).collect();
            add(&plain);
        }
    }
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte);
    for run in runs(text, BASE64, is_base64) {
        let run = String::from_utf8_lossy(run).replace('+', "-");
        digits.base64.insert(run.replace('/', "_"));
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_equal_those_from_splitting() {
        let mut state = 7_u32;
        for length in 0..400 {
            let text: Vec<u8> = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    b"aaaaaaa-"[(state >> 29) as usize]
                })
                .collect();
            let expected = text
                .split(|byte| *byte == b'-')
                .filter(|run| run.len() >= 5);
            assert!(runs(&text, 5, |byte| byte != b'-').eq(expected), "{text:?}");
        }
    }

    #[test]
    fn digest_in_any_common_spelling_is_found() {
        let digest = Digest::of(b"PIN4711");
        let mut tainted = Tainted::default();
        tainted.add(&digest);
        let hex = digest.to_string();
        let base64 = encode_base64(digest.as_bytes());
        let url = base64.replace('+', "-").replace('/', "_");
        let pairs: Vec<_> = hex
            .as_bytes()
            .chunks(2)
            .map(String::from_utf8_lossy)
            .collect();
        for text in [
            hex.clone(),
            hex.to_uppercase(),
            format!("sha256:{hex}"),
            pairs.join(":"),
            format!("SHA256={}", pairs.join(":").to_uppercase()),
            format!("x{}", &hex[..8]),
            base64.clone(),
            url.clone(),
            format!("sha256-{base64}"),
            format!("sha256-{url}?x"),
            format!("https://example.com/cas/{base64}"),
            format!("cas/{url}/more"),
        ] {
            assert!(tainted.is_in(text.as_bytes()), "{text}");
        }
        let raw = [b"\xffa".as_slice(), digest.as_bytes(), b"b"].concat();
        assert!(tainted.is_in(&raw));
        assert!(!digits_in(&raw).is_text);
        let other = Digest::of(b"PIN4712");
        for text in [
            other.to_string(),
            encode_base64(other.as_bytes()),
            hex[..7].to_owned(),
            pairs[..3].join(":"),
        ] {
            assert!(!tainted.is_in(text.as_bytes()), "{text}");
        }
    }
}
