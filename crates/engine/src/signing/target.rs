//! What is to be signed or was signed: the digests that stand for the whole of it, and its facts.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use runseal_core::canon::Document;
use runseal_core::digest::Digest;
use runseal_core::formats::Format;
use runseal_core::limits::JsonLimits;
use runseal_core::path::SafePath;
use runseal_core::source::{Source, SourceError};
use runseal_core::verify::Level;
use runseal_trust::facts::{read_facts, read_inputs};
use runseal_trust::predicate::Facts;
use runseal_trust::statement::Target;

use crate::directory::{DirectorySource, RootLink};
use crate::input::read_file;
use crate::survey::load::{LoadError, Loaded, load};

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
    /// Whether its rules hold.
    pub is_valid: bool,
}

/// Reads and verifies what is at `path`, in one go: the digests are of the bytes that were judged.
///
/// # Errors
/// When it cannot be read, or is of no known format.
pub fn read_signable(path: &Path, level: Level) -> Result<Signable, LoadError> {
    let loaded = load(path, level)?;
    let documents = loaded.parse();
    let get = |name: &str| documents.get(name).map(Document::root);
    let facts = read_facts(loaded.format, get);
    let inputs = read_inputs(loaded.format, get);
    let target = target_of(path, &loaded)?;
    Ok(Signable {
        target,
        format: loaded.format,
        facts,
        inputs,
        is_valid: loaded.is_valid(),
    })
}

/// What people call the thing at `path`.
fn name_of(path: &Path) -> String {
    let resolved = path.file_name().map(ToOwned::to_owned).or_else(|| {
        let whole = path.canonicalize().ok()?;
        whole.file_name().map(ToOwned::to_owned)
    });
    resolved.unwrap_or_default().to_string_lossy().into_owned()
}

fn target_of(path: &Path, loaded: &Loaded) -> Result<Target, SourceError> {
    let name = name_of(path);
    let is_folder = path.is_dir();
    let mut target = if let Some(bytes) = loaded.documents.get("") {
        Target::of_file(&name, &name, bytes.clone())
    } else if !is_folder && loaded.format == Format::Ledger {
        Target::of_file(&name, &name, read_file(path, JsonLimits::LARGEST_DOCUMENT)?)
    } else if loaded.format == Format::RunBundle {
        let sums = match loaded.texts.get(SUMS) {
            Some(bytes) => bytes.clone(),
            None => read_from_folder(path, SUMS)?,
        };
        Target::of_file(&name, SUMS, sums)
    } else {
        let mut files = BTreeMap::new();
        for file in &loaded.files {
            // A link, a pipe, a name that cannot be listed: a digest over the rest would cover
            // less than it seems to.
            let digest = file.sha256.ok_or_else(|| SourceError::Io {
                path: file.path.clone(),
                source: io::Error::other("it is no regular file that a digest could cover"),
            })?;
            files.insert(file.path.clone(), digest);
        }
        Target::of_folder(&name, files)
    };
    let is_archive = !is_folder && (target.files.is_some() || loaded.format == Format::RunBundle);
    if is_archive {
        target.archive = Some((name, digest_file(path)?));
    }
    Ok(target)
}

fn digest_file(path: &Path) -> Result<Digest, SourceError> {
    let (mut file, _) = crate::input::open_regular(path)?;
    let mut hasher = runseal_core::digest::Hasher::new();
    io::copy(&mut file, &mut hasher).map_err(|source| SourceError::Io {
        path: path.display().to_string(),
        source,
    })?;
    Ok(hasher.finish())
}

fn safe(name: &str) -> Result<SafePath, SourceError> {
    SafePath::parse(name).map_err(|_| SourceError::NotFound {
        path: name.to_owned(),
    })
}

fn read_from_folder(path: &Path, name: &str) -> Result<Vec<u8>, SourceError> {
    let source = DirectorySource::open(path, RootLink::Follow)?;
    source.read(&safe(name)?, JsonLimits::LARGEST_DOCUMENT)
}
