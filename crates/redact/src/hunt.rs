//! Finds every digest that would reveal a withheld value, wherever it occurs.
//!
//! Whoever has a digest of a short value can try all values. So every digest that our formats
//! compute is computed for each withheld value and for everything that contains one. Each place
//! that states such a digest, whole or at least its first eight digits, is withheld too; this
//! repeats until nothing more is found. Digests over several values are named by the format. What
//! our own programs write about a value elsewhere is listed in the format's table of derivations
//! and found by its place. The size next to a withheld digest is withheld too: a size is enough to
//! distinguish `true` from `false`.

use std::collections::BTreeSet;

use runseal_core::canon::Value;
use runseal_core::digest::Digest;
use runseal_core::formats::redacted::chunks::{LARGE, chunk_place};
use runseal_core::formats::redacted::derivations::{Derived, How, OwnedPlace, derive_places};
use runseal_core::formats::redacted::documents::find_value;
use runseal_core::formats::redacted::redactable::digest_digits;

use super::RedactError;
use super::digits::Tainted;
use super::original::{Content, Original, read_pieces, safe};
use super::select::{Places, walk};

/// The reasons for withholding places that were not requested.
const DIGEST: &str = How::Digest.reason();
const SIZE: &str = How::Size.reason();

/// Returns whether a place is withheld because of another one.
pub fn is_derived_reason(reason: &str) -> bool {
    How::ALL.iter().any(|how| how.reason() == reason)
}

/// Returns the digests of withheld values, and of everything that contains them.
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

/// Returns the digits of ids that every copy shows. Sealing does not derive them from anything that
/// can be withheld.
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

/// Adds the places that reveal something, until there are no more. Returns those that contain
/// something of a withheld value. The others are lists withheld because of their order: they
/// contain other values, which may be shown elsewhere.
pub(super) fn hunt(original: &Original, places: &mut Places) -> Result<Places, RedactError> {
    let mut causes = places.clone();
    let tables = original.format.derivations.iter().copied().flatten();
    let files = original.files.keys().map(String::as_str);
    let derived = derive_places(tables, &original.documents, files);
    loop {
        // What follows from places alone comes first: it costs nothing to find.
        while add_derived(original, &derived, places, &mut causes)? {}
        let tainted = taint(original, &causes);
        let known = find_known_digests(original, &derived, &causes);
        let mut found: Vec<(String, Option<String>)> = Vec::new();
        for (path, file) in &original.files {
            if places.covers(path, None) {
                continue;
            }
            match (original.documents.get(path), &file.content) {
                (Some(document), _) => walk(document, "", &mut |place, value| {
                    let states_digest = match value {
                        Value::String(text) => tainted.is_in(text.to_lossy().as_bytes()),
                        // A member's name cannot be withheld alone.
                        Value::Object(members) => {
                            let mut names = members.keys();
                            names.any(|name| tainted.is_in(name.to_lossy().as_bytes()))
                        }
                        _ => false,
                    };
                    let is_known = || known.contains(&(path.clone(), Some(place.to_owned())));
                    if states_digest && !places.covers(path, Some(place)) && !is_known() {
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
        // This reads the bytes again, so everything else comes first.
        if found.is_empty() && !add_sizes(original, places, &mut causes)? {
            found = search_bytes(original, places, &tainted)?;
            if found.is_empty() {
                return Ok(causes);
            }
        }
        for (path, pointer) in found {
            places.add(original.format, &path, pointer.as_deref(), DIGEST)?;
            causes.add(original.format, &path, pointer.as_deref(), DIGEST)?;
        }
    }
}

/// Returns the files, other than documents and large files, that contain a digest in binary.
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

/// Names of members with digests of contents, with the sizes next to them, and with sums of sizes.
const CONTENT_DIGESTS: [&str; 3] = ["sha256", "expected_hash", "content_hash"];
const SIZES: [&str; 2] = ["bytes", "size_bytes"];
const TOTALS: [&str; 2] = ["total_bytes", "total_output_bytes"];

/// Returns whether anything of a place is withheld.
fn is_touched(places: &Places, (path, pointer): &OwnedPlace) -> bool {
    match pointer.as_deref() {
        None => places.touches(path),
        Some(pointer) => places.covers(path, Some(pointer)) || places.touches_below(path, pointer),
    }
}

/// Adds what our own programs wrote elsewhere about withheld places. Returns whether there was any.
fn add_derived(
    original: &Original,
    derived: &[Derived],
    places: &mut Places,
    causes: &mut Places,
) -> Result<bool, RedactError> {
    let mut is_new = false;
    for Derived { row, of, told } in derived {
        if row.how == How::Same {
            is_new |= add_parts(original, of.iter().chain(told), places, causes)?;
        }
        let is_whole = |place: &&OwnedPlace| causes.covers(&place.0, place.1.as_deref());
        let cause = match row.how {
            How::Same | How::Named => of.iter().chain(told).find(is_whole),
            _ => of.iter().find(|place| is_touched(causes, place)),
        };
        let Some(cause) = cause.cloned() else {
            continue;
        };
        let is_mutual = matches!(row.how, How::Same | How::Named);
        let others = of.iter().filter(|_| is_mutual).chain(told);
        for place in others {
            let (path, pointer) = (place.0.as_str(), place.1.as_deref());
            // The user chose which parts of it are shown.
            if row.how == How::Repeated && is_touched(places, place) {
                continue;
            }
            // What every copy shows stays visible if the cause is only part of something withheld.
            // If the cause itself is listed, withholding it there alone gains nothing, and `add`
            // fails.
            let stays = original.format.conflict(path, pointer);
            if stays.is_some() && !causes.has(&cause.0, cause.1.as_deref()) {
                continue;
            }
            is_new |= places.add(original.format, path, pointer, row.how.reason())?;
            if row.how != How::Sorted {
                is_new |= causes.add(original.format, path, pointer, row.how.reason())?;
            }
        }
    }
    Ok(is_new)
}

/// Takes places with the same value, and withholds in each of them the parts that are withheld in
/// any.
fn add_parts<'a>(
    original: &Original,
    all: impl Iterator<Item = &'a OwnedPlace> + Clone,
    places: &mut Places,
    causes: &mut Places,
) -> Result<bool, RedactError> {
    let mut parts = BTreeSet::new();
    for (path, pointer) in all.clone() {
        if let Some(pointer) = pointer {
            let below = causes.pointers_below(path, pointer);
            parts.extend(below.map(|place| place[pointer.len()..].to_owned()));
        }
    }
    let mut is_new = false;
    for part in parts {
        for (path, pointer) in all.clone() {
            let Some(pointer) = pointer.as_deref() else {
                continue;
            };
            let place = format!("{pointer}{part}");
            let document = original.documents.get(path);
            if document.is_some_and(|document| find_value(document, &place).is_some()) {
                let reason = How::Same.reason();
                is_new |= places.add(original.format, path, Some(&place), reason)?;
                is_new |= causes.add(original.format, path, Some(&place), reason)?;
            }
        }
    }
    Ok(is_new)
}

/// Returns the places where the format demands the digest of something that the copy shows. They
/// reveal nothing; but withholding them because something withheld has the same digest would.
fn find_known_digests(
    original: &Original,
    derived: &[Derived],
    causes: &Places,
) -> BTreeSet<OwnedPlace> {
    let digest_of = |(path, pointer): &OwnedPlace| match pointer {
        None => Some(original.files.get(path)?.digest),
        Some(pointer) => {
            let value = find_value(original.documents.get(path)?, pointer)?;
            Some(Digest::of(value.as_str()?.as_bytes()))
        }
    };
    let mut known = BTreeSet::new();
    for Derived { row, of, told } in derived {
        if row.how != How::Digest || of.iter().any(|place| is_touched(causes, place)) {
            continue;
        }
        let digests: BTreeSet<String> = of
            .iter()
            .filter_map(digest_of)
            .map(|digest| digest.to_string())
            .collect();
        for place in told {
            let document = original.documents.get(&place.0);
            let stated = document
                .and_then(|document| find_value(document, place.1.as_deref()?)?.as_str())
                .and_then(digest_digits);
            if stated.is_some_and(|stated| digests.contains(stated)) {
                known.insert(place.clone());
            }
        }
    }
    known
}

/// Adds sizes next to withheld digests, and their sums. Returns whether there were any.
fn add_sizes(
    original: &Original,
    places: &mut Places,
    causes: &mut Places,
) -> Result<bool, RedactError> {
    let mut found = Vec::new();
    for (path, document) in &original.documents {
        if !causes.touches(path) || places.covers(path, None) {
            continue;
        }
        let mut sizes = BTreeSet::new();
        walk(document, "", &mut |pointer, value| {
            let is_withheld = |name: &&str| {
                let digest = value.get(name).and_then(Value::as_str);
                digest.is_some() && causes.covers(path, Some(&format!("{pointer}/{name}")))
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
        causes.add(original.format, &path, Some(&pointer), reason)?;
    }
    Ok(is_new)
}

/// Bytes at the end of a piece that are searched again with the next one: a digest may cross the
/// border.
const BORDER: usize = 128;

/// Returns the pieces of a large file that contain a digest which must not be visible.
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

/// Returns the files whose names in the copy state a digest of something withheld: names are not
/// withheld.
pub(super) fn find_telling_names(original: &Original, causes: &Places) -> BTreeSet<String> {
    let tainted = taint(original, causes);
    let names = original
        .files
        .keys()
        .map(|path| original.name_in_copies(path));
    let names = names.filter(|name| tainted.is_in(name.as_bytes()));
    names.map(str::to_owned).collect()
}

/// Returns whether bytes that accompany a copy, such as a signature's statement, contain a digest
/// of something withheld.
pub(super) fn gives_away(original: &Original, places: &Places, bytes: &[u8]) -> bool {
    taint(original, places).is_in(bytes)
}
