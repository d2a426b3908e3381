//! Finds every digest that would reveal a withheld value, wherever it occurs.
//!
//! Whoever has a digest of a short value can try all values. So of everything that is withheld, and
//! of everything that holds something withheld, all digests that our formats make are computed,
//! and each place that states one of them, whole or by its first eight digits or more, is
//! withheld too; until nothing more is found. Digests of more than one value are named by the format.
//! So are places that say what a withheld place says; and with a digest goes the size beside it,
//! which tells `true` from `false`.

use std::collections::BTreeSet;

use runseal_core::canon::Value;
use runseal_core::formats::redacted::chunks::{LARGE, chunk_place};
use runseal_core::formats::redacted::documents::find_value;
use runseal_core::formats::redacted::redactable::digest_digits;
use runseal_core::formats::run_bundle::layout::exact_path;

use super::RedactError;
use super::digits::Tainted;
use super::original::{Content, Original, read_pieces, safe};
use super::select::{Places, walk};

/// Why places are withheld that nobody named.
const DIGEST: &str = "a digest of what is withheld";
const SIZE: &str = "the size of what is withheld";
const TWIN: &str = "the same as what is withheld";
/// These reasons together.
pub(crate) const REASONS: [&str; 3] = [DIGEST, SIZE, TWIN];

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
        // Bytes are read again for this, so everything else comes first.
        if found.is_empty() && !add_companions(original, places)? {
            found = search_bytes(original, places, &tainted)?;
            if found.is_empty() {
                return Ok(());
            }
        }
        for (path, pointer) in found {
            places.add(original.format, &path, pointer.as_deref(), DIGEST)?;
        }
    }
}

/// The files, other than documents and large ones, that hold 32 bytes of a digest as they are.
fn search_bytes(
    original: &Original,
    places: &Places,
    tainted: &Tainted,
) -> Result<Vec<(String, Option<String>)>, RedactError> {
    let mut found = Vec::new();
    for (path, file) in &original.files {
        let is_binary = matches!(&file.content, Content::Bytes(digits) if !digits.is_text);
        if is_binary && !places.covers(path, None) {
            let bytes = original.source.read(&safe(path)?, LARGE)?;
            found.extend(tainted.is_raw_in(&bytes).then(|| (path.clone(), None)));
        }
    }
    Ok(found)
}

/// Names of digests of contents, of the sizes that stand beside them, and of sums of these.
const CONTENT_DIGESTS: [&str; 3] = ["sha256", "expected_hash", "content_hash"];
const SIZES: [&str; 2] = ["bytes", "size_bytes"];
const TOTALS: [&str; 2] = ["total_bytes", "total_output_bytes"];

/// Adds what says the same as something withheld, and sizes beside withheld digests with their sums;
/// whether there was any.
fn add_companions(original: &Original, places: &mut Places) -> Result<bool, RedactError> {
    let mut found = Vec::new();
    for twins in (original.format.twins)(&original.documents) {
        let is_withheld = twins
            .each_ref()
            .map(|(path, pointer)| places.covers(path, Some(pointer)));
        for (twin, is_withheld) in twins.into_iter().zip(is_withheld.into_iter().rev()) {
            found.extend(is_withheld.then_some((twin, TWIN)));
        }
    }
    for (path, document) in &original.documents {
        if !places.touches(path) || places.covers(path, None) {
            continue;
        }
        let mut sizes = BTreeSet::new();
        walk(document, "", &mut |pointer, value| {
            let is_withheld = |name: &&str| {
                let digest = value.get(name).and_then(Value::as_str);
                digest.is_some() && places.covers(path, Some(&format!("{pointer}/{name}")))
            };
            if CONTENT_DIGESTS.iter().any(is_withheld) {
                let beside = SIZES.iter().filter(|name| value.get(name).is_some());
                sizes.extend(beside.map(|name| format!("{pointer}/{name}")));
            }
        });
        let mut totals = BTreeSet::new();
        for size in &sizes {
            for (end, _) in size.match_indices('/') {
                let above = &size[..end];
                let names = TOTALS.iter().map(|name| format!("{above}/{name}"));
                totals.extend(names.filter(|total| find_value(document, total).is_some()));
            }
        }
        let sizes = sizes.into_iter().chain(totals);
        found.extend(sizes.map(|pointer| ((path.clone(), pointer), SIZE)));
    }
    let mut is_new = false;
    for ((path, pointer), reason) in found {
        is_new |= places.add(original.format, &path, Some(&pointer), reason)?;
    }
    Ok(is_new)
}

/// Bytes at the end of a piece that are searched again with the next one: a digest may stand on
/// both sides of the border.
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
