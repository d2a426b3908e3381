//! What is signed: the digests that identify the whole of a unit, and its facts.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Document, Node, ReadOptions, canonical_bytes, parse_document};
use runseal_core::digest::Digest;
use runseal_core::formats::Format;
use runseal_core::formats::definition::Outcome;
use runseal_core::formats::redacted::documents::{REDACTED, REDACTION};
use runseal_core::formats::redacted::redactable::redactable;
use runseal_core::limits::JsonLimits;
use runseal_core::path::SafePath;
use runseal_core::source::SourceError;
use runseal_core::verify::Level;
use runseal_trust::check::SignedUnit;
use runseal_trust::facts::{read_facts, read_inputs};
use runseal_trust::predicate::Facts;
use runseal_trust::statement::Target;

use super::judge::JudgedUnit;
use crate::load::{LoadError, load};
use crate::{Files, InsidePath, UnitContent};

/// The manifest of a run bundle, which lists every other file.
const SUMS: &str = "SHA256SUMS.txt";

/// A unit that can be signed.
#[derive(Debug)]
pub struct Signable {
    /// The digests that identify it.
    pub target: Target,
    /// Its format.
    pub format: Format,
    /// What it says about itself.
    pub facts: Facts,
    /// The inputs of a run, if everything of it was kept.
    pub inputs: BTreeMap<String, Digest>,
    /// The digest of a run's canonical RUN_OUTPUT.json, if everything of it was kept.
    pub output: Option<Digest>,
    /// Whether it is valid.
    pub is_valid: bool,
}

impl Signable {
    /// The unit that signatures are checked against.
    pub fn about(&self) -> SignedUnit<'_> {
        SignedUnit {
            target: &self.target,
            facts: &self.facts,
        }
    }
}

/// Reads and verifies the unit at `path`: the digests are of the bytes that were judged. A signature is
/// next
/// to the unit itself, so a folder around it is refused.
///
/// # Errors
/// If it cannot be read, or has no known format.
pub fn read_signable(files: &dyn Files, path: &Path, level: Level) -> Result<Signable, LoadError> {
    let judged = load(files, path, level)?.by_its_name()?;
    let documents = judged.parse();
    let mut signable = signable_of(files, judged.unit(path), &judged.content, &documents)?;
    if judged.content.is_archived
        && let Some(archive) = outer_path(files, path)
    {
        let digest = archive_digest(files, &archive)?;
        signable.target.set_archive(digest, path != archive);
    }
    Ok(signable)
}

/// The documents that policies ask about.
pub(super) fn parse_facts(content: &UnitContent) -> BTreeMap<String, Document<'_>> {
    let names = ["RUN_META.json", "run.json", "bundle.json", REDACTION];
    let parsed = names.into_iter().filter_map(|name| {
        let bytes = content.document(name)?;
        // The manifest of a job may be long, but only its commitment matters here.
        let is_long = name == "bundle.json";
        if is_long && !str::from_utf8(bytes).is_ok_and(|text| text.contains("\"commitment\"")) {
            return None;
        }
        let document = parse_document(bytes, &ReadOptions::default()).ok()?;
        Some((name.to_owned(), document))
    });
    parsed.collect()
}

/// The digests and facts of a judged unit, from what was kept of it. The digest of its archive is not
/// among them: it costs a second reading of the whole file.
///
/// # Errors
/// If a part of it has no digest.
pub(super) fn signable_of(
    files: &dyn Files,
    unit: JudgedUnit<'_>,
    content: &UnitContent,
    documents: &BTreeMap<String, Document<'_>>,
) -> Result<Signable, LoadError> {
    let get = |name: &str| documents.get(name).map(Document::root);
    let mut facts = read_facts(content.format, unit.identity.ended_as.as_deref(), get);
    facts.is_outcome_unknown = unit.identity.result == Some(Outcome::Unknown);
    let mut target = target_of(files, unit.path, content)?;
    target.redaction = target
        .redaction
        .or_else(|| commitment_in(content.format, get));
    if target.redaction.is_some() {
        // A statement outlives its bundle: it must not reveal digests of what may be withheld later.
        facts.roots.clear();
        if content.format == Format::Pack {
            facts.ids.remove("bundle_id");
        }
    }
    let output = get("RUN_OUTPUT.json").filter(|_| content.format == Format::RunBundle);
    let output = output.and_then(|output| canonical_bytes(output, Dialect::Jcs).ok());
    Ok(Signable {
        target,
        format: content.format,
        facts,
        inputs: read_inputs(content.format, get),
        output: output.map(|bytes| Digest::of(&bytes)),
        is_valid: unit.is_valid,
    })
}

/// The target of a redacted copy: the commitment to what was sealed, and the list of what is withheld.
fn of_copy(name: &str, commitment: Vec<u8>, list: &[u8]) -> Target {
    let mut target = Target::of_file(name, REDACTION, commitment);
    target.withheld = Some((REDACTED.to_owned(), Digest::of(list)));
    target
}

/// The commitment in a main document, with the name that copies give it.
fn commitment_in<'a>(
    format: Format,
    get: impl Fn(&str) -> Option<Node<'a>>,
) -> Option<(String, Digest)> {
    let redactable = redactable(format.name())?;
    let (file, _) = redactable.member()?;
    let stored = redactable.commitment_in(&get(file)?.to_value())?;
    Some((REDACTION.to_owned(), Digest::of(&stored)))
}

/// The digests of all files. Fails on a link, a pipe or a name that cannot be listed: a digest over the
/// rest would cover less than it seems to.
fn all_digests(
    files: impl IntoIterator<Item = (String, Option<Digest>)>,
) -> Result<BTreeMap<String, Digest>, SourceError> {
    let listed = files.into_iter().map(|(path, digest)| match digest {
        Some(digest) => Ok((path, digest)),
        None => Err(SourceError::Io {
            path,
            source: io::Error::other("it is not a regular file, so no digest can cover it"),
        }),
    });
    listed.collect()
}

/// The name of the unit at `path`, for people.
fn name_of(files: &dyn Files, path: &Path) -> String {
    let named = path.file_name();
    let named = named.map(|name| name.to_string_lossy().into_owned());
    named
        .or_else(|| files.resolved_name(path))
        .unwrap_or_default()
}

fn target_of(files: &dyn Files, path: &Path, content: &UnitContent) -> Result<Target, SourceError> {
    let name = name_of(files, path);
    if let Some(bytes) = &content.single {
        return Ok(Target::of_file(&name, &name, bytes.clone()));
    }
    let take = |file: &str| {
        let kept = content.documents.get(file).or(content.texts.get(file));
        match kept {
            Some(bytes) => Ok(bytes.clone()),
            None => read_as_judged(files, path, content, file),
        }
    };
    Ok(match content.format {
        Format::RunBundle => {
            let mut target = Target::of_file(&name, SUMS, take(SUMS)?);
            // What it will share with its redacted copies.
            let is_kept = content.documents.contains_key(REDACTION);
            if is_kept || content.files.iter().any(|file| file.path == REDACTION) {
                let digest = Digest::of(&take(REDACTION)?);
                target.redaction = Some((REDACTION.to_owned(), digest));
            }
            target
        }
        Format::Redacted => of_copy(&name, take(REDACTION)?, &take(REDACTED)?),
        _ => {
            let digests = content.all_files();
            let digests = digests.map(|file| (file.path.clone(), file.sha256));
            Target::of_folder(&name, all_digests(digests)?)
        }
    })
}

/// The name and digest of an archive.
pub(super) fn archive_digest(
    files: &dyn Files,
    archive: &Path,
) -> Result<(String, Digest), SourceError> {
    Ok((name_of(files, archive), files.digest(archive)?))
}

/// The path outside archives for the unit at `path`: its own, or that of its archive. `None` if it came
/// through a pipe.
pub(super) fn outer_path(files: &dyn Files, path: &Path) -> Option<PathBuf> {
    let bytes = path.as_os_str().as_encoded_bytes();
    if bytes == b"-" || bytes.starts_with(b"-!/") {
        return None;
    }
    let inside = InsidePath::of(files, path);
    Some(inside.map_or_else(|| path.to_owned(), |inside| inside.archive))
}

/// Reads a file that was too large to keep. Fails if its bytes are not those that were judged.
fn read_as_judged(
    files: &dyn Files,
    path: &Path,
    content: &UnitContent,
    name: &str,
) -> Result<Vec<u8>, SourceError> {
    let missing = || SourceError::NotFound {
        path: name.to_owned(),
    };
    let mut members = content.files.iter();
    let judged = members.find(|file| file.path == name);
    let judged = judged.and_then(|file| file.sha256).ok_or_else(missing)?;
    let source = files.open_folder(path, true, None)?;
    let safe = SafePath::parse(name).map_err(|_| missing())?;
    let bytes = source.read(&safe, JsonLimits::LARGEST_DOCUMENT)?;
    if judged == Digest::of(&bytes) {
        return Ok(bytes);
    }
    Err(SourceError::Io {
        path: name.to_owned(),
        source: io::Error::other("it was changed after it was judged"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryFiles;

    fn folder(sums: &'static str) -> MemoryFiles<'static> {
        let mut files = MemoryFiles::default();
        for (name, text) in [("run/RUN_META.json", "{}"), ("run/SHA256SUMS.txt", sums)] {
            files.add_file(name, text.as_bytes().into()).unwrap();
        }
        files
    }

    #[test]
    fn list_too_large_to_keep_is_signed_only_as_judged() {
        let (files, path) = (folder("as judged\n"), Path::new("run"));
        let mut judged = load(&files, path, Level::Integrity).unwrap();
        let kept = judged.content.texts.remove(SUMS);
        assert_eq!(kept.as_deref(), Some(&b"as judged\n"[..]));
        let sign = |files: &dyn Files| {
            let documents = judged.parse();
            signable_of(files, judged.unit(path), &judged.content, &documents)
        };
        assert!(sign(&files).is_ok());
        let refused = sign(&folder("as changed since\n")).unwrap_err();
        let LoadError::Source(SourceError::Io { path, source }) = refused else {
            panic!("{refused}")
        };
        assert_eq!(path, SUMS);
        assert_eq!(source.to_string(), "it was changed after it was judged");
    }
}
