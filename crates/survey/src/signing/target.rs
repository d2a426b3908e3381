//! What is to be signed or was signed: the digests that stand for the whole of it, and its facts.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, Document, Node, ReadOptions, canonical_bytes, parse_document};
use runseal_core::digest::Digest;
use runseal_core::formats::Format;
use runseal_core::formats::redacted::documents::{REDACTED, REDACTION};
use runseal_core::formats::redacted::redactable::redactable;
use runseal_core::limits::JsonLimits;
use runseal_core::path::SafePath;
use runseal_core::source::SourceError;
use runseal_core::verify::Level;
use runseal_trust::facts::{read_facts, read_inputs};
use runseal_trust::predicate::Facts;
use runseal_trust::statement::Target;

use super::judge::OuterFiles;
use crate::load::{LoadError, Loaded, load};
use crate::{Files, InsidePath, Noted};

/// The manifest of a run bundle, which lists every other file.
const SUMS: &str = "SHA256SUMS.txt";

/// Something that can be signed.
#[derive(Debug)]
pub struct Signable {
    /// What stands for it.
    pub target: Target,
    /// What it is.
    pub format: Format,
    /// What it says of itself.
    pub facts: Facts,
    /// The files that went into a run.
    pub inputs: BTreeMap<String, Digest>,
    /// The digest of a run's canonical RUN_OUTPUT.json.
    pub output: Option<Digest>,
    /// Whether its rules hold.
    pub is_valid: bool,
}

/// Reads and verifies what is at `path`, in one go: the digests are of the bytes that were judged. What is
/// signed has a name of its own, so a folder around it does not stand for it.
///
/// # Errors
/// When it cannot be read, or is of no known format.
pub fn read_signable(files: &dyn Files, path: &Path, level: Level) -> Result<Signable, LoadError> {
    let loaded = load(files, path, level)?.by_its_name()?;
    signable_of_loaded(files, path, &loaded, &OuterFiles::default())
}

/// The same of something that was loaded and judged already.
///
/// # Errors
/// When a part of it cannot be read or signed for.
pub(super) fn signable_of_loaded(
    files: &dyn Files,
    path: &Path,
    loaded: &Loaded,
    outer_files: &OuterFiles,
) -> Result<Signable, LoadError> {
    let documents = loaded.parse();
    let get = |name: &str| documents.get(name).map(Document::root);
    let mut facts = read_facts(loaded.format, loaded.identity.ended_as.as_deref(), get);
    let inputs = read_inputs(loaded.format, get);
    let output = get("RUN_OUTPUT.json").filter(|_| loaded.format == Format::RunBundle);
    let output = output.and_then(|output| canonical_bytes(output, Dialect::Jcs).ok());
    let mut target = target_of(files, path, loaded, outer_files)?;
    if target.redaction.is_none() {
        target.redaction = commitment_in(loaded.format, get);
    }
    if target.redaction.is_some() {
        // A statement outlives its bundle: it must not say digests of what may be withheld later.
        facts.roots.clear();
        if loaded.format == Format::Pack {
            facts.ids.remove("bundle_id");
        }
    }
    Ok(Signable {
        target,
        format: loaded.format,
        facts,
        inputs,
        output: output.map(|bytes| Digest::of(&bytes)),
        is_valid: loaded.is_valid(),
    })
}

/// The same of something that was judged already, from what was noted then.
///
/// # Errors
/// When a part of it cannot be signed for.
pub(super) fn signable_of(
    files: &dyn Files,
    path: &Path,
    noted: Noted,
    (is_valid, ended_as): (bool, Option<&str>),
) -> Result<Signable, LoadError> {
    let Noted {
        format,
        document,
        mut kept,
        files: digests,
        is_archived: _,
        beside: _,
    } = noted;
    let name = name_of(files, path);
    let parsed = ["RUN_META.json", "run.json", "bundle.json", REDACTION].map(|file| {
        let bytes = kept.get(file)?;
        // The manifest of a job may be long, and is asked for its commitment alone.
        let is_needed = file != "bundle.json"
            || str::from_utf8(bytes).is_ok_and(|text| text.contains("\"commitment\""));
        if !is_needed {
            return None;
        }
        Some((file, parse_document(bytes, &ReadOptions::default()).ok()?))
    });
    let get = |asked: &str| {
        let mut found = parsed.iter().flatten();
        found
            .find(|(file, _)| *file == asked)
            .map(|(_, document)| document.root())
    };
    let facts = read_facts(format, ended_as, get);
    let commitment = commitment_in(format, get);
    drop(parsed);
    let mut target = match (document, format) {
        (Some(bytes), _) => Target::of_file(&name, &name, bytes),
        (None, Format::RunBundle) => {
            let sums = kept.remove(SUMS).ok_or_else(|| SourceError::NotFound {
                path: SUMS.to_owned(),
            })?;
            let mut target = Target::of_file(&name, SUMS, sums);
            let commitment = kept.remove(REDACTION);
            target.redaction = commitment.map(|bytes| (REDACTION.to_owned(), Digest::of(&bytes)));
            target
        }
        (None, Format::Redacted) => {
            let mut take = |name: &str| {
                kept.remove(name).ok_or_else(|| SourceError::NotFound {
                    path: name.to_owned(),
                })
            };
            of_copy(&name, take(REDACTION)?, &take(REDACTED)?)
        }
        (None, _) => Target::of_folder(&name, all_digests(digests)?),
    };
    target.redaction = target.redaction.or(commitment);
    Ok(Signable {
        target,
        format,
        facts,
        inputs: BTreeMap::new(),
        output: None,
        is_valid,
    })
}

/// A redacted copy: the commitment stands for what was sealed, and beside it is the list of what is
/// withheld.
fn of_copy(name: &str, commitment: Vec<u8>, list: &[u8]) -> Target {
    let mut target = Target::of_file(name, REDACTION, commitment);
    target.withheld = Some((REDACTED.to_owned(), Digest::of(list)));
    target
}

/// The commitment that a main document holds, by the name and digest that copies have it under.
fn commitment_in<'a>(
    format: Format,
    get: impl Fn(&str) -> Option<Node<'a>>,
) -> Option<(String, Digest)> {
    let redactable = redactable(format.name())?;
    let (file, _) = redactable.member()?;
    let stored = redactable.commitment_in(&get(file)?.to_value())?;
    Some((REDACTION.to_owned(), Digest::of(&stored)))
}

/// A link, a pipe, a name that cannot be listed: a digest over the rest would cover less than it
/// seems to.
fn all_digests(
    files: impl IntoIterator<Item = (String, Option<Digest>)>,
) -> Result<BTreeMap<String, Digest>, SourceError> {
    let listed = files.into_iter().map(|(path, digest)| match digest {
        Some(digest) => Ok((path, digest)),
        None => Err(SourceError::Io {
            path,
            source: io::Error::other("it is no regular file that a digest could cover"),
        }),
    });
    listed.collect()
}

/// What people call the thing at `path`.
fn name_of(files: &dyn Files, path: &Path) -> String {
    let named = path.file_name();
    let named = named.map(|name| name.to_string_lossy().into_owned());
    named
        .or_else(|| files.resolved_name(path))
        .unwrap_or_default()
}

fn target_of(
    files: &dyn Files,
    path: &Path,
    loaded: &Loaded,
    outer_files: &OuterFiles,
) -> Result<Target, SourceError> {
    let name = name_of(files, path);
    let mut target = if let Some(bytes) = loaded.documents.get("") {
        Target::of_file(&name, &name, bytes.clone())
    } else if let Some(bytes) = &loaded.ledger {
        Target::of_file(&name, &name, bytes.clone())
    } else if loaded.format == Format::RunBundle {
        let sums = match loaded.texts.get(SUMS) {
            Some(bytes) => bytes.clone(),
            None => read_as_judged(files, path, loaded, SUMS)?,
        };
        let mut target = Target::of_file(&name, SUMS, sums);
        // What its redacted copies will have in common with it.
        let mut files = loaded.files.iter();
        if let Some(file) = files.find(|file| file.path == REDACTION) {
            let digest = file.sha256.ok_or_else(|| SourceError::NotFound {
                path: REDACTION.to_owned(),
            })?;
            target.redaction = Some((REDACTION.to_owned(), digest));
        }
        target
    } else if loaded.format == Format::Redacted {
        let take = |name: &str| match loaded.documents.get(name) {
            Some(bytes) => Ok(bytes.clone()),
            None => read_as_judged(files, path, loaded, name),
        };
        of_copy(&name, take(REDACTION)?, &take(REDACTED)?)
    } else {
        let files = loaded.files.iter();
        let files = all_digests(files.map(|file| (file.path.clone(), file.sha256)))?;
        Target::of_folder(&name, files)
    };
    if loaded.is_archived
        && let Some(archive) = outer_path(files, path)
    {
        let is_beside_others = path != archive.as_path();
        target.set_archive(outer_files.digest_of(files, &archive)?, is_beside_others);
    }
    Ok(target)
}

/// An archive as a subject of its own.
pub(super) fn archive_digest(
    files: &dyn Files,
    archive: &Path,
) -> Result<(String, Digest), SourceError> {
    Ok((name_of(files, archive), files.digest(archive)?))
}

/// What has a name outside of archives, for the thing at `path`: itself, or the archive that it is in.
/// `None` where it came through a pipe.
pub(super) fn outer_path(files: &dyn Files, path: &Path) -> Option<PathBuf> {
    let bytes = path.as_os_str().as_encoded_bytes();
    if bytes == b"-" || bytes.starts_with(b"-!/") {
        return None;
    }
    let inside = InsidePath::of(files, path);
    Some(inside.map_or_else(|| path.to_owned(), |inside| inside.archive))
}

fn safe(name: &str) -> Result<SafePath, SourceError> {
    SafePath::parse(name).map_err(|_| SourceError::NotFound {
        path: name.to_owned(),
    })
}

/// Reads a file that is too large to be kept. Its bytes count only if they are those that were judged.
fn read_as_judged(
    files: &dyn Files,
    path: &Path,
    loaded: &Loaded,
    name: &str,
) -> Result<Vec<u8>, SourceError> {
    let mut members = loaded.files.iter();
    let judged = members.find(|file| file.path == name);
    let judged = judged.and_then(|file| file.sha256);
    let source = files.open_folder(path, true, None)?;
    let bytes = source.read(&safe(name)?, JsonLimits::LARGEST_DOCUMENT)?;
    match judged == Some(Digest::of(&bytes)) {
        true => Ok(bytes),
        false => Err(SourceError::Io {
            path: name.to_owned(),
            source: io::Error::other("it was changed after it was judged"),
        }),
    }
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
    fn list_too_large_to_be_kept_is_signed_for_only_as_it_was_judged() {
        let (files, path) = (folder("as judged\n"), Path::new("run"));
        let outer = OuterFiles::default();
        let mut loaded = load(&files, path, Level::Integrity).unwrap();
        let kept = loaded.texts.remove(SUMS);
        assert_eq!(kept.as_deref(), Some(&b"as judged\n"[..]));
        assert!(signable_of_loaded(&files, path, &loaded, &outer).is_ok());
        let changed = folder("as changed since\n");
        let refused = signable_of_loaded(&changed, path, &loaded, &outer).unwrap_err();
        let LoadError::Source(SourceError::Io { path, source }) = refused else {
            panic!("{refused}")
        };
        assert_eq!(path, SUMS);
        assert_eq!(source.to_string(), "it was changed after it was judged");
    }
}
