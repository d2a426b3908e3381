//! Discloses single values later, with proof, and adds them to copies.

use std::collections::BTreeMap;
use std::path::Path;

use runseal_core::canon::{JsonString, ReadOptions, Value, parse_document};
use runseal_core::digest::Digest;
use runseal_core::formats::redacted::chunks::{
    ChunkOpening, PIECE, PiecedFile, chunk_place, parse_byte_range,
};
use runseal_core::formats::redacted::commit::{Key, commit_bytes, commit_value, read_marker};
use runseal_core::formats::redacted::documents::{
    FileKind, Opening, REDACTED, REDACTION, Redacted, Redaction, array_index, find_value,
    pointer_steps,
};
use runseal_core::formats::redacted::{RULES, RedactedView};
use runseal_core::limits::JsonLimits;
use runseal_core::source::{Source as _, SourceError};
use runseal_core::verify::{Level, run_rules};
use runseal_trust::encoding::{decode_base64, encode_base64};

use super::RedactError;
use super::copy::{CopyFiles, is_sealed_file};
use super::original::{Content, Original, read_pieces, safe};
use super::select::{find_chunks, split_place};
use runseal_fs::directory::{DirectorySource, RootLink};

const VERSION: &str = "1.0.0";

/// Makes a disclosure of places in a bundle: each value with only the key that opens it.
///
/// # Errors
/// When a place does not exist.
pub fn disclose_values(original: &Original, places: &[String]) -> Result<Value, RedactError> {
    let mut values = Vec::new();
    for place in places {
        let missing = || RedactError::FitsNothing(place.clone());
        let (path, pointer) = split_place(original, place);
        let file = original.files.get(path).ok_or_else(missing)?;
        let mut key = original.seed.file_key(path);
        let mut entry = Value::object([("path", file.committed.path.as_str())]);
        match (original.documents.get(path), pointer) {
            (Some(document), pointer) => {
                let value = find_value(document, pointer.unwrap_or("")).ok_or_else(missing)?;
                let found = original.key_at(path, pointer.unwrap_or(""));
                key = found.ok_or_else(missing)?;
                if let Some(pointer) = pointer {
                    entry.insert("pointer", pointer);
                }
                entry.insert("value", value.clone());
            }
            (None, None) => {
                let bytes = original
                    .source
                    .read(&safe(path)?, JsonLimits::LARGEST_DOCUMENT)?;
                entry.insert("base64", encode_base64(&bytes));
            }
            (None, Some(range)) => {
                let pieces = disclose_pieces(original, path, range)?;
                values.extend(pieces.ok_or_else(missing)?);
                continue;
            }
        }
        entry.insert("key", key.to_hex());
        values.push(entry);
    }
    Ok(Value::object([
        ("disclosure_version", Value::from(VERSION)),
        ("values", Value::array(values)),
    ]))
}

/// Returns the pieces of a large file that overlap `range`, each with the key that opens it.
fn disclose_pieces(
    original: &Original,
    path: &str,
    range: &str,
) -> Result<Option<Vec<Value>>, RedactError> {
    let file = original.files.get(path);
    let Some((Content::Chunks(chunked), name)) =
        file.map(|file| (&file.content, &file.committed.path))
    else {
        return Ok(None);
    };
    let wanted = find_chunks(chunked, range);
    let key = original.seed.file_key(path);
    let (mut at, mut values) = (0, Vec::new());
    let mut source = original.source.open(&safe(path)?)?;
    read_pieces(&mut *source, path, |piece| {
        let place = chunk_place(at, chunked.size);
        if wanted.contains(&place) {
            values.push(Value::object([
                ("path", name.clone()),
                ("pointer", place),
                ("base64", encode_base64(piece)),
                ("key", PiecedFile::chunk_key(&key, at).to_hex()),
            ]));
        }
        at += 1;
    })?;
    Ok((!values.is_empty()).then_some(values))
}

/// Replaces a marker by its value and the keys that open it.
fn reveal(
    (shown, opening): (&mut Value, &mut Opening),
    steps: &[String],
    value: &Value,
    key: &Key,
) -> Result<(), String> {
    let Some((step, rest)) = steps.split_first() else {
        let Some(sealed) = read_marker(shown).filter(|_| *opening == Opening::Withheld) else {
            return Err("the place is not withheld".to_owned());
        };
        let (found, _) = commit_value(value, key).map_err(|error| error.to_string())?;
        if found != sealed {
            return Err("the value differs from the sealed one".to_owned());
        }
        *shown = value.clone();
        *opening = Opening::Whole(key.clone());
        return Ok(());
    };
    let missing = || "the place is not in the copy, or is inside a withheld one".to_owned();
    match (shown, opening) {
        (Value::Object(values), Opening::Members(_, openings)) => {
            let name = JsonString::from(step.as_str());
            let pair = values.get_mut(&name).zip(openings.get_mut(&name));
            reveal(pair.ok_or_else(missing)?, rest, value, key)
        }
        (Value::Array(values), Opening::Elements(_, openings)) => {
            let at = array_index(step).ok_or_else(missing)?;
            let pair = values.get_mut(at).zip(openings.get_mut(at));
            reveal(pair.ok_or_else(missing)?, rest, value, key)
        }
        _ => Err(missing()),
    }
}

/// A copy to which values are being added.
struct DisclosingCopy {
    source: DirectorySource,
    stored: Vec<u8>,
    redaction: Redaction,
    redacted: Redacted,
    changed: BTreeMap<String, Value>,
    files: BTreeMap<String, Vec<u8>>,
    /// Pieces of large files, by file and number.
    pieces: BTreeMap<String, BTreeMap<usize, Vec<u8>>>,
}

impl DisclosingCopy {
    fn open(path: &Path) -> Result<Self, RedactError> {
        let source = DirectorySource::open(path, RootLink::Follow)?;
        if let Err(SourceError::NotFound { .. }) = source.open(&safe(REDACTED)?) {
            return Err(RedactError::NoCopy);
        }
        // Values are added only to a valid copy: otherwise it would be unclear who caused a fault.
        let report = run_rules(&RULES, &RedactedView::collect(&source)?, Level::Form);
        if let Some(finding) = report.findings().first() {
            let place = finding.place.label().unwrap_or(REDACTED);
            return Err(RedactError::Changed(place.to_owned()));
        }
        let limit = JsonLimits::LARGEST_DOCUMENT;
        let stored = source.read(&safe(REDACTION)?, limit)?;
        let redaction = Redaction::parse(&stored).map_err(RedactError::Commitment)?;
        let redacted = source.read(&safe(REDACTED)?, limit)?;
        let redacted = Redacted::parse(&redacted).map_err(RedactError::Commitment)?;
        Ok(Self {
            source,
            stored,
            redaction,
            redacted,
            changed: BTreeMap::new(),
            files: BTreeMap::new(),
            pieces: BTreeMap::new(),
        })
    }

    fn document(&self, path: &str) -> Result<Value, RedactError> {
        if let Some(value) = self.changed.get(path) {
            return Ok(value.clone());
        }
        let bytes = self
            .source
            .read(&safe(path)?, JsonLimits::LARGEST_DOCUMENT)?;
        self.kind(path)
            .read(&bytes)
            .map_err(RedactError::Disclosure)
    }

    fn kind(&self, path: &str) -> FileKind {
        let file = self.redaction.file(path);
        file.map_or(FileKind::Json, |file| file.kind)
    }

    fn add(&mut self, entry: &Value) -> Result<(), RedactError> {
        let text = |member: &str| entry.get(member).and_then(Value::as_str);
        let fail = |fault: &str| RedactError::Disclosure(fault.to_owned());
        let path = text("path").ok_or_else(|| fail("a value names no path"))?;
        let key = text("key").and_then(Key::parse);
        let key = key.ok_or_else(|| fail("a value has no key"))?;
        let pointer = text("pointer");
        let place =
            |fault: String| RedactError::Disclosure(format!("`{}`: {fault}", path.escape_debug()));
        if self.redaction.file(path).is_none() {
            return Err(place("no such file was sealed".to_owned()));
        }
        let whole = |redacted: &Redacted| {
            let mut places = redacted.withheld.iter();
            places.any(|place| place.path == path && place.pointer.is_none())
        };
        match (pointer, entry.get("value"), text("base64")) {
            (Some(range), None, Some(encoded)) => {
                let bytes =
                    decode_base64(encoded).ok_or_else(|| fail("its base64 is malformed"))?;
                self.add_piece(path, range, bytes, key).map_err(place)?;
            }
            (Some(pointer), Some(value), None) if !pointer.is_empty() => {
                let mut document = self.document(path)?;
                let opening = self.redacted.openings.get_mut(path);
                let opening = opening.ok_or_else(|| place("it is not shown".to_owned()))?;
                reveal(
                    (&mut document, opening),
                    &pointer_steps(pointer)
                        .ok_or_else(|| place("it is not a pointer".to_owned()))?,
                    value,
                    &key,
                )
                .map_err(place)?;
                self.changed.insert(path.to_owned(), document);
                let places = &mut self.redacted.withheld;
                places.retain(|at| at.path != path || at.pointer.as_deref() != Some(pointer));
            }
            (None, Some(value), None) if whole(&self.redacted) => {
                let found = commit_value(value, &key).ok().map(|(found, _)| found);
                let sealed = self.redaction.file(path);
                let sealed = sealed.filter(|file| file.kind.has_values());
                if found.is_none() || sealed.map(|file| file.commitment) != found {
                    return Err(place("the value differs from the sealed one".to_owned()));
                }
                self.changed.insert(path.to_owned(), value.clone());
                self.show_whole(path, key);
            }
            (None, None, Some(encoded)) if whole(&self.redacted) => {
                let bytes =
                    decode_base64(encoded).ok_or_else(|| fail("its base64 is malformed"))?;
                if !is_sealed_file(&self.redaction, path, &key, &bytes) {
                    return Err(place("the file differs from the sealed one".to_owned()));
                }
                let is_large = self.kind(path) == FileKind::Chunks;
                let pieces = is_large.then(|| read_pieces(&mut bytes.as_slice(), path, |_| ()));
                let pieces = pieces
                    .transpose()?
                    .map(|chunked| chunked.commit_pieces(&key));
                self.files.insert(path.to_owned(), bytes);
                self.show_whole(path, key.clone());
                if let Some(pieces) = pieces {
                    let opening = Opening::Large(key, pieces);
                    self.redacted.openings.insert(path.to_owned(), opening);
                }
            }
            _ => return Err(place("the place is not withheld".to_owned())),
        }
        Ok(())
    }

    /// Adds one piece of a large file.
    fn add_piece(
        &mut self,
        path: &str,
        range: &str,
        bytes: Vec<u8>,
        key: Key,
    ) -> Result<(), String> {
        let withheld = || "the place is not withheld".to_owned();
        let Some(Opening::Pieces(opening)) = self.redacted.openings.get_mut(path) else {
            return Err(withheld());
        };
        let openings = &mut opening.chunks;
        let at = parse_byte_range(range).map(|(first, _)| first / PIECE);
        let at = at.and_then(|at| usize::try_from(at).ok());
        let at = at.ok_or_else(withheld)?;
        let opening = openings.get_mut(at).ok_or_else(withheld)?;
        match opening {
            ChunkOpening::Withheld(sealed)
                if *sealed == commit_bytes(&Digest::of(&bytes), &key.salt()) => {}
            ChunkOpening::Withheld(_) => {
                return Err("the bytes differ from the sealed ones".to_owned());
            }
            ChunkOpening::Shown(_) => return Err(withheld()),
        }
        *opening = ChunkOpening::Shown(key);
        let places = &mut self.redacted.withheld;
        places.retain(|at| at.path != path || at.pointer.as_deref() != Some(range));
        let pieces = self.pieces.entry(path.to_owned()).or_default();
        pieces.insert(at, bytes);
        Ok(())
    }

    fn show_whole(&mut self, path: &str, key: Key) {
        let opening = Opening::Whole(key);
        self.redacted.openings.insert(path.to_owned(), opening);
        self.redacted.withheld.retain(|place| place.path != path);
    }
}

/// Adds disclosed values to a new copy. Returns how many it still withholds, and of how many.
///
/// # Errors
/// When a value differs from the one sealed at its place, or the place is not withheld.
pub fn unredact_copy(
    copy: &Path,
    disclosure: &[u8],
    out: &Path,
) -> Result<(u64, u64), RedactError> {
    let document = parse_document(disclosure, &ReadOptions::default())
        .map_err(|error| RedactError::Disclosure(error.to_string()))?;
    let disclosure = document.root().to_value();
    let version = disclosure.get("disclosure_version").and_then(Value::as_str);
    let Some(Value::Array(values)) = disclosure
        .get("values")
        .filter(|_| version == Some(VERSION))
    else {
        let fault = "it is not a disclosure of version 1.0.0".to_owned();
        return Err(RedactError::Disclosure(fault));
    };
    let mut revealing = DisclosingCopy::open(copy)?;
    for entry in values {
        revealing.add(entry)?;
    }
    let mut files = CopyFiles::begin(out)?;
    for path in revealing.redacted.openings.keys() {
        let pieces = revealing.pieces.get(path);
        match (revealing.changed.get(path), revealing.files.get(path)) {
            (Some(value), _) => files.put_value(path, revealing.kind(path), value)?,
            (None, Some(bytes)) => files.put(path, bytes)?,
            (None, None) => files.copy(&revealing.source, (path, path), &|at| {
                pieces.and_then(|pieces| pieces.get(&at)).map(Vec::as_slice)
            })?,
        }
    }
    let redacted = revealing.redacted.to_value();
    files.put_value(REDACTED, FileKind::Json, &redacted)?;
    files.put(REDACTION, &revealing.stored)?;
    files.publish(out)
}
