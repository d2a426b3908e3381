//! Redacted copies: planned, written, verified, and published atomically.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;

use runseal_core::canon::{Members, NoCanonicalForm, Value};
use runseal_core::digest::Digest;
use runseal_core::formats::redacted::RULES;
use runseal_core::formats::redacted::RedactedView;
use runseal_core::formats::redacted::chunks::{PIECE, chunk_place, read_pieces};
use runseal_core::formats::redacted::commit::{Key, commit_bytes, commit_value, marker};
use runseal_core::formats::redacted::documents::{
    FileKind, Opening, REDACTED, REDACTION, Redacted, Redaction, Withheld, pointer_step,
};
use runseal_core::source::Source;
use runseal_core::verify::{Level, run_rules};

use super::RedactError;
use runseal_trust::keys::Signer;
use runseal_trust::sd_jwt::{Disclosure, Withholding, encode_sd_jwt};

use super::hunt::{find_telling_names, gives_away, hunt};
use super::original::{Content, Original, safe};
use super::repeated::{WithheldTexts, find_suspects};
use super::select::{Drop, Places, find_visible_names, select};
use runseal_fs::directory::{DirectorySource, RootLink};
use runseal_fs::staging::{Place, Rights, Staging};

/// What a redaction will withhold.
#[derive(Debug)]
pub struct RedactionPlan {
    places: Places,
    /// The places, in order.
    pub withheld: Vec<Withheld>,
    /// Rules of the format that can then no longer be checked.
    pub unchecked: Vec<&'static str>,
    /// Names of files and members that match a given regular expression and stay visible, because
    /// names are not withheld.
    pub visible_names: BTreeSet<String>,
    /// Places in the copy that contain a withheld text.
    pub repeated: BTreeSet<String>,
    /// Names of files that state a digest of something withheld.
    pub telling_names: BTreeSet<String>,
    /// The texts to look for in files that accompany a copy.
    texts: WithheldTexts,
    /// Places in the copy that could not be searched: compressed, encrypted, pictures.
    pub unsearched: BTreeSet<String>,
}

/// Determines what must be withheld: what was requested, and every digest of it.
///
/// # Errors
/// When a place does not exist or must stay visible.
pub fn plan_redaction(original: &Original, drops: &[Drop]) -> Result<RedactionPlan, RedactError> {
    let mut places = select(original, drops)?;
    let causes = hunt(original, &mut places)?;
    let suspects = find_suspects(original, &places, &causes)?;
    Ok(RedactionPlan {
        visible_names: find_visible_names(original, drops, &places)?,
        repeated: suspects.repeated,
        unsearched: suspects.unsearched,
        texts: suspects.texts,
        telling_names: find_telling_names(original, &causes),
        unchecked: original.format.unchecked(&places.all()),
        withheld: places.to_withheld(original),
        places,
    })
}

/// Returns the visible part of `value`, with the keys that open it.
fn show(
    value: &Value,
    key: &Key,
    path: &str,
    pointer: &str,
    places: &Places,
) -> Option<(Value, Opening)> {
    if places.covers(path, Some(pointer)) && !pointer.is_empty() {
        let (commitment, _) = commit_value(value, key).ok()?;
        return Some((marker(&commitment), Opening::Withheld));
    }
    if !places.touches_below(path, pointer) {
        return Some((value.clone(), Opening::Whole(key.clone())));
    }
    Some(match value {
        Value::Object(members) => {
            let mut values = Members::new();
            let mut openings = BTreeMap::new();
            for (name, member) in members {
                let step = pointer_step(name.as_str().unwrap_or("\u{fffd}"));
                let below = format!("{pointer}{step}");
                let (value, opening) = show(member, &key.member(name), path, &below, places)?;
                values.insert(name.clone(), value);
                openings.insert(name.clone(), opening);
            }
            (
                Value::Object(values),
                Opening::Members(key.salt(), openings),
            )
        }
        Value::Array(elements) => {
            let (mut values, mut openings) = (Vec::new(), Vec::new());
            for (at, element) in elements.iter().enumerate() {
                let below = format!("{pointer}/{at}");
                let (value, opening) = show(element, &key.element(at), path, &below, places)?;
                values.push(value);
                openings.push(opening);
            }
            (
                Value::Array(values),
                Opening::Elements(key.salt(), openings),
            )
        }
        _ => return None,
    })
}

/// Returns the replacement of a piece of a file by the piece's number, if it has one.
pub(super) type PieceReplacements<'a> = &'a dyn Fn(usize) -> Option<&'a [u8]>;

/// The replacement of a withheld piece.
static BLANK: [u8; PIECE as usize] = [0; PIECE as usize];

fn copy_error(path: &str, source: io::Error) -> RedactError {
    let path = path.to_owned();
    RedactError::Copy { path, source }
}

/// The files of a copy under construction.
pub(super) struct CopyFiles {
    staging: Staging,
    buffer: Vec<u8>,
}

impl CopyFiles {
    pub(super) fn begin(out: &Path) -> Result<Self, RedactError> {
        runseal_fs::staging::check_place(out, Place::Free)?;
        Ok(Self {
            staging: Staging::begin_beside(out)?,
            buffer: Vec::new(),
        })
    }

    pub(super) fn put(&mut self, path: &str, bytes: &[u8]) -> Result<(), RedactError> {
        Ok(self.staging.put(path, bytes)?)
    }

    pub(super) fn put_value(
        &mut self,
        path: &str,
        kind: FileKind,
        value: &Value,
    ) -> Result<(), RedactError> {
        let bytes = kind
            .write(value)
            .map_err(|error| RedactError::Unsound(error.to_string()))?;
        self.put(path, &bytes)
    }

    /// Copies a file, with the replacements that `instead` returns for its pieces.
    pub(super) fn copy(
        &mut self,
        source: &dyn Source,
        (from, to): (&str, &str),
        instead: PieceReplacements<'_>,
    ) -> Result<(), RedactError> {
        let mut file = source.open(&safe(from)?)?;
        let (mut out, _) = self.staging.create(to)?;
        self.buffer.resize(PIECE as usize, 0);
        for at in 0.. {
            let mut count = 0;
            while count < self.buffer.len() {
                match file.read(&mut self.buffer[count..]) {
                    Ok(0) => break,
                    Ok(more) => count += more,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(source) => return Err(copy_error(from, source)),
                }
            }
            let piece = instead(at).unwrap_or(&self.buffer);
            let piece = &piece[..count.min(piece.len())];
            out.write_all(piece)
                .map_err(|source| copy_error(from, source))?;
            if count < self.buffer.len() {
                break;
            }
        }
        Ok(())
    }

    /// Verifies the copy as anyone would, and publishes it.
    pub(super) fn publish(self, out: &Path) -> Result<(u64, u64), RedactError> {
        let how = (Place::Free, Rights::ReadOnly);
        self.staging.publish(out, how, |staged| {
            let source = DirectorySource::open(staged, RootLink::Refuse)?;
            let view = RedactedView::collect(&source)?;
            let report = run_rules(&RULES, &view, Level::Form);
            if !report.is_valid() {
                let findings = report.findings().iter();
                let first = findings.map(|finding| finding.message.clone()).next();
                return Err(RedactError::Unsound(first.unwrap_or_default()));
            }
            Ok::<_, RedactError>(view.counts().unwrap_or_default())
        })
    }
}

/// The salts for the values that a plan withholds from one document, for tokens.
struct DocumentSalts<'a> {
    original: &'a Original,
    plan: &'a RedactionPlan,
    path: &'a str,
}

impl Withholding for DocumentSalts<'_> {
    fn salt(&self, pointer: &str) -> Option<String> {
        let is_withheld = self.plan.places.covers(self.path, Some(pointer));
        let key = is_withheld.then(|| self.original.key_at(self.path, pointer))?;
        // A token must not use the salt of a copy: every commitment has its own salts.
        let salt = key?.member(&"sd-jwt".into()).salt().to_hex();
        Some(salt)
    }
}

impl RedactionPlan {
    /// Returns the document at `path` as an SD-JWT without what the plan withholds, and the
    /// disclosure of each withheld value.
    ///
    /// # Errors
    /// When the document is not visible or has no such form, or the signer fails.
    pub fn encode_sd_jwt(
        &self,
        original: &Original,
        path: &str,
        signer: &dyn Signer,
    ) -> Result<(String, Vec<Disclosure>), RedactError> {
        let document = original.document(path);
        let document = document.ok_or_else(|| RedactError::FitsNothing(path.to_owned()))?;
        if self.places.covers(path, None) {
            let fault = "it is withheld as a whole".to_owned();
            return Err(RedactError::Token(fault));
        }
        let claims = Value::object([
            ("path", path.to_owned()),
            ("redaction_root", original.root()?.to_string()),
        ]);
        let salts = DocumentSalts {
            original,
            plan: self,
            path,
        };
        let (token, disclosures) = encode_sd_jwt(document, &salts, claims, signer)
            .map_err(|error| RedactError::Token(error.to_string()))?;
        let concealed: BTreeSet<_> = disclosures.iter().map(|one| &*one.pointer).collect();
        let mut listed = self.places.pointers(path);
        match listed.find(|pointer| !concealed.contains(pointer)) {
            None => Ok((token, disclosures)),
            Some(shown) => Err(RedactError::Token(format!("`{shown}` would be shown"))),
        }
    }

    /// Returns whether bytes that accompany a copy contain something withheld, or a digest of it.
    pub fn gives_away(&self, original: &Original, bytes: &[u8]) -> bool {
        gives_away(original, &self.places, bytes) || self.texts.are_in(bytes)
    }
}

/// The content of a copy.
#[derive(Debug)]
pub struct CopyContents {
    /// Documents in stored form, with markers instead of withheld values, and the two documents
    /// that every copy has.
    pub documents: BTreeMap<String, Vec<u8>>,
    /// Files that are copied unchanged, except for zeros instead of withheld pieces.
    pub copied: Vec<CopiedFile>,
}

/// A file that is not a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedFile {
    /// Its path in the bundle.
    pub from: String,
    /// Its path in the copy.
    pub to: String,
    /// The withheld pieces.
    pub blank: BTreeSet<usize>,
}

/// Returns the content of the planned copy.
///
/// # Errors
/// When a document has no canonical form, which cannot happen for a sealed one.
pub fn render_copy(original: &Original, plan: &RedactionPlan) -> Result<CopyContents, RedactError> {
    let unsound = |error: NoCanonicalForm| RedactError::Unsound(error.to_string());
    let mut openings = BTreeMap::new();
    let mut contents = CopyContents {
        documents: BTreeMap::new(),
        copied: Vec::new(),
    };
    for (path, file) in &original.files {
        if plan.places.covers(path, None) {
            continue;
        }
        let key = original.seed.file_key(path);
        let name = &file.committed.path;
        let mut blank = BTreeSet::new();
        let opening = match (original.documents.get(path), &file.content) {
            (Some(document), _) => {
                let shown = show(document, &key, path, "", &plan.places);
                let (value, opening) =
                    shown.ok_or_else(|| RedactError::Unsound(format!("`{path}`")))?;
                let bytes = file.committed.kind.write(&value).map_err(unsound)?;
                contents.documents.insert(name.clone(), bytes);
                openings.insert(name.clone(), opening);
                continue;
            }
            (None, Content::Chunks(chunked)) if plan.places.touches(path) => {
                let place = |at: usize| chunk_place(at, chunked.size);
                let covers = |at: &usize| plan.places.covers(path, Some(&place(*at)));
                blank = (0..chunked.pieces.len()).filter(covers).collect();
                Opening::Pieces(chunked.open_pieces(&key, |at| blank.contains(&at)))
            }
            (None, Content::Chunks(chunked)) => {
                let pieces = chunked.commit_pieces(&key);
                Opening::Large(key, pieces)
            }
            (None, _) => Opening::Whole(key),
        };
        openings.insert(name.clone(), opening);
        contents.copied.push(CopiedFile {
            from: path.clone(),
            to: name.clone(),
            blank,
        });
    }
    let redacted = Redacted {
        withheld: plan.withheld.clone(),
        openings,
    };
    let redacted = FileKind::Json
        .write(&redacted.to_value())
        .map_err(unsound)?;
    contents.documents.insert(REDACTED.to_owned(), redacted);
    let commitment = original.stored.clone();
    contents.documents.insert(REDACTION.to_owned(), commitment);
    Ok(contents)
}

/// Writes the planned copy. Returns how many values it withholds, and of how many.
///
/// # Errors
/// When `out` exists or cannot be written.
pub fn redact_bundle(
    original: &Original,
    plan: &RedactionPlan,
    out: &Path,
) -> Result<(u64, u64), RedactError> {
    let mut files = CopyFiles::begin(out)?;
    let contents = render_copy(original, plan)?;
    for (path, bytes) in &contents.documents {
        files.put(path, bytes)?;
    }
    for file in &contents.copied {
        let blank = |at: usize| file.blank.contains(&at).then_some(BLANK.as_slice());
        files.copy(&*original.source, (&file.from, &file.to), &blank)?;
    }
    files.publish(out)
}

/// Returns whether a file's bytes and key match the sealed commitment.
pub(super) fn is_sealed_file(redaction: &Redaction, path: &str, key: &Key, bytes: &[u8]) -> bool {
    let Some(file) = redaction.file(path) else {
        return false;
    };
    match file.kind {
        FileKind::Json | FileKind::Lines => false,
        FileKind::Bytes => commit_bytes(&Digest::of(bytes), &key.salt()) == file.commitment,
        FileKind::Chunks => read_pieces(&mut &*bytes, |_| ())
            .is_ok_and(|chunked| chunked.commit(key) == file.commitment),
    }
}
