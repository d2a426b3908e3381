//! Finds every digest that would reveal a withheld value, wherever it occurs.
//!
//! Given a digest of a short value, anybody can try all possible values. So for everything that is
//! withheld, and for everything that contains something withheld, all digests that our formats use
//! are computed, and each place with one of them, complete or a prefix of at least eight digits, is
//! withheld too, until nothing more is found. Digests over several values are declared by the
//! format.

use std::collections::BTreeSet;

use runseal_core::canon::{Dialect, Value, canonical_bytes};
use runseal_core::digest::Digest;
use runseal_core::formats::redacted::chunks::chunk_place;
use runseal_core::formats::redacted::documents::find_value;
use runseal_core::formats::redacted::redactable::digest_digits;
use runseal_core::formats::run_bundle::layout::exact_path;
use runseal_trust::encoding::encode_base64;

use super::RedactError;
use super::original::{Content, Original, read_pieces, safe};
use super::select::{Places, walk};

/// The recorded reason for withholding such places.
pub(crate) const REASON: &str = "a digest of what is withheld";

/// The fewest digits that count as a digest: our formats use 8, 16 and 64.
const FEWEST: usize = 8;

/// Digests that must not be visible.
#[derive(Debug, Default)]
struct Tainted {
    hex: BTreeSet<String>,
    /// Prefixes of digests of which no more is known.
    beginnings: BTreeSet<String>,
    base64: BTreeSet<String>,
}

impl Tainted {
    fn add(&mut self, digest: &Digest) {
        self.hex.insert(digest.to_string());
        let encoded = encode_base64(digest.as_bytes());
        let plain = encoded.trim_end_matches('=');
        self.base64
            .insert(plain.replace('+', "-").replace('/', "_"));
    }

    /// Adds digits that a format declares itself: a whole digest or a prefix.
    fn add_digits(&mut self, digits: &str) {
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

    /// Adds every digest that our formats make of a value.
    fn add_value(&mut self, value: &Value) {
        for dialect in [Dialect::Jcs, Dialect::Kernel, Dialect::Job] {
            if let Ok(bytes) = canonical_bytes(value, dialect) {
                self.add_bytes(&bytes);
            }
        }
        if let Value::String(text) = value {
            self.add_bytes(text.to_lossy().as_bytes());
        }
        // The digest of an object is usually a member of that object, and is computed without
        // itself.
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

    /// Whether any digits found in a text are those of a tainted digest.
    fn has(&self, digits: &Digits) -> bool {
        let is_hex = |run: &String| match run.len() {
            ..=64 => {
                let mut above = self.hex.range(run.clone()..);
                let next = above.next();
                next.is_some_and(|digest| digest.starts_with(run.as_str()))
                    || (FEWEST..run.len()).any(|end| self.beginnings.contains(&run[..end]))
            }
            _ => (0..=run.len() - 64).any(|at| self.hex.contains(&run[at..at + 64])),
        };
        digits.hex.iter().any(is_hex) || digits.base64.iter().any(|run| self.base64.contains(run))
    }

    fn is_in(&self, text: &[u8]) -> bool {
        self.has(&digits_in(text))
    }
}

/// What may be digests, or prefixes of digests, in a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Digits {
    hex: BTreeSet<String>,
    base64: BTreeSet<String>,
}

impl Digits {
    fn is_empty(&self) -> bool {
        self.hex.is_empty() && self.base64.is_empty()
    }
}

/// Finds every run of digits in `text` that could be a digest.
pub(super) fn digits_in(text: &[u8]) -> Digits {
    let mut digits = Digits::default();
    let hex_runs = text.split(|byte| !byte.is_ascii_hexdigit());
    for run in hex_runs.filter(|run| run.len() >= FEWEST) {
        let run = String::from_utf8_lossy(run).to_ascii_lowercase();
        digits.hex.insert(run);
    }
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
    let runs = text.split(|byte| !is_base64(byte));
    for run in runs.filter(|run| run.len() == 43) {
        let run = String::from_utf8_lossy(run).replace('+', "-");
        digits.base64.insert(run.replace('/', "_"));
    }
    digits
}

/// The digests of what is withheld, and of everything that contains it.
fn taint(original: &Original, places: &Places) -> Tainted {
    let mut tainted = Tainted::default();
    for (path, file) in &original.files {
        if !places.touches(path) {
            continue;
        }
        tainted.add(&file.digest);
        let Some(document) = original.documents.get(path) else {
            continue;
        };
        if places.covers(path, None) {
            walk(document, "", &mut |_, value| tainted.add_value(value));
            continue;
        }
        tainted.add_value(document);
        let mut seen = BTreeSet::new();
        for pointer in places.pointers(path) {
            // Everything that contains the place, from the outside in.
            for (end, _) in pointer.match_indices('/').skip(1) {
                if seen.insert(&pointer[..end])
                    && let Some(value) = find_value(document, &pointer[..end])
                {
                    tainted.add_value(value);
                }
            }
            if let Some(value) = find_value(document, pointer) {
                walk(value, "", &mut |_, value| tainted.add_value(value));
            }
        }
    }
    let shown = shown_digits(original);
    for digits in (original.format.bound)(&original.documents, &places.all()) {
        if !shown.contains(&digits) {
            tainted.add_digits(&digits);
        }
    }
    tainted
}

/// Digits of ids that every copy shows. Sealing did not derive them from anything that can be
/// withheld.
fn shown_digits(original: &Original) -> BTreeSet<String> {
    let mut shown = BTreeSet::new();
    for (path, pointers) in original.format.stays {
        let document = original.documents.get(*path);
        let values = pointers
            .iter()
            .filter_map(|pointer| find_value(document?, pointer)?.as_str());
        shown.extend(values.filter_map(digest_digits).map(str::to_owned));
    }
    shown
}

/// Adds the places that reveal something, until there are no more.
pub(super) fn hunt(original: &Original, places: &mut Places) -> Result<(), RedactError> {
    loop {
        let tainted = taint(original, places);
        let mut found: Vec<(String, Option<String>)> = Vec::new();
        for (path, file) in &original.files {
            if places.covers(path, None) {
                continue;
            }
            match (original.documents.get(path), &file.content) {
                (Some(document), _) => walk(document, "", &mut |place, value| {
                    let names_one = match value {
                        Value::String(text) => tainted.is_in(text.to_lossy().as_bytes()),
                        // A member's name cannot be withheld alone.
                        Value::Object(members) => {
                            let mut names = members.keys();
                            names.any(|name| tainted.is_in(name.to_lossy().as_bytes()))
                        }
                        _ => false,
                    };
                    if names_one && !places.covers(path, Some(place)) {
                        found.push((path.clone(), Some(place.to_owned())));
                    }
                }),
                (None, Content::Bytes(digits)) => {
                    if tainted.has(digits) {
                        found.push((path.clone(), None));
                    }
                }
                (None, Content::Chunks(chunked)) => {
                    let pieces = search_pieces(original, path, &tainted)?;
                    let pieces = pieces
                        .into_iter()
                        .map(|at| chunk_place(at, chunked.size))
                        .filter(|place| !places.covers(path, Some(place)));
                    found.extend(pieces.map(|place| (path.clone(), Some(place))));
                }
                (None, Content::Document(_)) => {}
            }
        }
        // The exact bytes of a document have the same content as the document.
        for (path, file) in &original.files {
            let exact = exact_path(path);
            let is_touched = file.committed.kind.has_values() && places.touches(path);
            if is_touched && original.files.contains_key(&exact) && !places.covers(&exact, None) {
                found.push((exact, None));
            }
        }
        if found.is_empty() {
            return Ok(());
        }
        for (path, pointer) in found {
            places.add(original.format, &path, pointer.as_deref(), REASON)?;
        }
    }
}

/// How many bytes at the end of a piece are searched again with the next one: a digest may cross
/// the boundary.
const BORDER: usize = 128;

/// The pieces of a large file that contain a digest which must not be visible.
fn search_pieces(
    original: &Original,
    path: &str,
    tainted: &Tainted,
) -> Result<BTreeSet<usize>, RedactError> {
    let mut found = BTreeSet::new();
    let (mut at, mut tail) = (0, Vec::new());
    let mut file = original.source.open(&safe(path)?)?;
    read_pieces(&mut *file, path, |piece| {
        if tainted.is_in(piece) {
            found.insert(at);
        }
        tail.extend_from_slice(&piece[..piece.len().min(BORDER)]);
        if at > 0 && tainted.is_in(&tail) {
            found.extend([at - 1, at]);
        }
        tail.clear();
        tail.extend_from_slice(&piece[piece.len().saturating_sub(BORDER)..]);
        at += 1;
    })?;
    Ok(found)
}

/// Whether bytes that accompany a copy, such as a signature's statement, contain a digest of
/// something withheld.
pub(super) fn gives_away(original: &Original, places: &Places, bytes: &[u8]) -> bool {
    taint(original, places).is_in(bytes)
}
