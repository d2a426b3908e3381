//! A run bundle as an RO-Crate: Process Run Crate 0.5, on RO-Crate 1.1.
//!
//! The crate is a folder or zip with the bundle in `bundle/`, unchanged so that it still verifies
//! there, its signatures beside it, and ro-crate-metadata.json, which tells other tools what ran,
//! with which inputs, and what came out. Only a valid bundle is exported, and what is copied is
//! what was judged: every file is compared with its digest at that time. The same bundle gives the
//! same bytes.
//!
//! Nothing is added that the bundle and its signatures do not say.

mod metadata;
mod zip;

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, NoCanonicalForm, canonical_bytes};
use runseal_core::formats::Format;
use runseal_core::path::SafePath;
use runseal_core::source::{MemberFile, Source, SourceError};
use runseal_core::verify::{Finding, Level};
use runseal_survey::signing::{BESIDE, path_beside};
use runseal_trust::limits::MAX_SIGNATURE_FILE_BYTES;

use crate::atomic::{WriteError, write_file};
use crate::directory::{DirectorySource, RootLink};
use crate::input::read_file;
use crate::record::unpack::{UnpackError, unpack_bundle};
use crate::staging::{Place, Rights, Staging, StagingError, check_place};
use crate::stream::{BUFFER, digest_through};
use crate::survey::load::{LoadError, Loaded, load};

pub use metadata::{CrateWords, Signer};
pub use zip::ZipError;

/// The file that makes a folder an RO-Crate.
pub const METADATA: &str = "ro-crate-metadata.json";

/// The folder of the crate that holds the bundle.
const BUNDLE: &str = "bundle";

/// Why no crate was made.
#[derive(Debug, thiserror::Error)]
pub enum CrateError {
    /// The bundle could not be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The archive that it came in could not be used.
    #[error(transparent)]
    Unpack(#[from] UnpackError),
    /// It is something else than a run bundle.
    #[error("only run bundles can be exported as a Process Run Crate; this is a {}", .0.title())]
    NotARun(Format),
    /// It is not valid.
    #[error("the run bundle does not hold")]
    Invalid(Vec<Finding>),
    /// A file changed between the verdict and the copy.
    #[error("`{0}` changed while it was exported")]
    Changed(String),
    /// A file could not be read again.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// It contains something that has no JSON form.
    #[error(transparent)]
    Form(#[from] NoCanonicalForm),
    /// It does not fit into a zip.
    #[error(transparent)]
    Zip(#[from] ZipError),
    /// The target exists, or it could not be written.
    #[error(transparent)]
    Staging(#[from] StagingError),
}

impl From<WriteError> for CrateError {
    fn from(error: WriteError) -> Self {
        Self::Staging(error.into())
    }
}

/// Writes the run bundle at `bundle` (a folder, an archive, or something inside one) as an RO-Crate
/// to `target`: a zip if the name ends in `.zip`, else a folder. Returns the number of the bundle's
/// files.
///
/// # Errors
/// [`CrateError`]; nothing is written then.
pub fn export_run(
    bundle: &Path,
    target: &Path,
    words: &CrateWords<'_>,
) -> Result<usize, CrateError> {
    let is_zip = target.extension().is_some_and(|ending| ending == "zip");
    let place = match is_zip {
        true => Place::Free,
        false => Place::FreeOrEmptyFolder,
    };
    check_place(target, place)?;
    let unpacked = match bundle.is_dir() {
        true => None,
        false => unpack_bundle(bundle)?,
    };
    let folder = unpacked
        .as_ref()
        .map_or(bundle, |unpacked| unpacked.folder());
    let loaded = load(folder, Level::Integrity)?.by_its_name()?;
    if loaded.format != Format::RunBundle {
        return Err(CrateError::NotARun(loaded.format));
    }
    if !loaded.is_valid() {
        return Err(CrateError::Invalid(loaded.report.findings().to_vec()));
    }
    let signatures = read_signatures(bundle)?;
    let staging = Staging::begin_beside(target)?;
    copy_files(folder, &loaded, &staging)?;
    for (name, bytes) in &signatures {
        staging.put(name, bytes)?;
    }
    let names: Vec<&str> = signatures.keys().map(String::as_str).collect();
    let described = metadata::describe_run(&loaded, &names, words);
    let mut bytes = canonical_bytes(&described, Dialect::Kernel)?;
    bytes.push(b'\n');
    staging.put(METADATA, &bytes)?;
    if is_zip {
        verify_copy(staging.path())?;
        let mut files = vec![METADATA.to_owned()];
        files.extend(loaded.files.iter().map(|file| in_crate(&file.path)));
        files.extend(signatures.into_keys());
        files.sort_unstable();
        write_file(target, |out| {
            zip::write_stored(staging.path(), &files, out).map_err(CrateError::from)
        })?;
    } else {
        staging.publish(target, (place, Rights::AsUmask), verify_copy)?;
    }
    Ok(loaded.files.len())
}

/// The path of a bundle's file in the crate.
fn in_crate(path: &str) -> String {
    format!("{BUNDLE}/{path}")
}

/// The signature files beside the bundle, by their names in the crate.
fn read_signatures(bundle: &Path) -> Result<BTreeMap<String, Vec<u8>>, SourceError> {
    let mut found = BTreeMap::new();
    for form in BESIDE {
        match read_file(&path_beside(bundle, form), MAX_SIGNATURE_FILE_BYTES) {
            Ok(bytes) => {
                found.insert(format!("{BUNDLE}{}", form.ending()), bytes);
            }
            Err(SourceError::NotFound { .. }) => {}
            // Nothing can be beside something inside an archive.
            Err(SourceError::Io { source, .. })
                if source.kind() == io::ErrorKind::NotADirectory => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Copies every file of the bundle, if it still is the one that was judged.
fn copy_files(folder: &Path, loaded: &Loaded, staging: &Staging) -> Result<(), CrateError> {
    let source = DirectorySource::open(folder, RootLink::Follow)?;
    let mut buffer = vec![0; BUFFER];
    for MemberFile {
        path,
        bytes,
        sha256,
        ..
    } in &loaded.files
    {
        let changed = || CrateError::Changed(path.clone());
        let safe = SafePath::parse(path).map_err(|_| changed())?;
        let mut file = source.open(&safe)?;
        let (mut copy, place) = staging.create(&in_crate(path))?;
        let copied = digest_through(&mut file, *bytes, &mut buffer, |piece| {
            copy.write_all(piece)
        });
        let (digest, _) = copied.map_err(WriteError::at(&place))?;
        if Some(digest) != *sha256 {
            return Err(changed());
        }
    }
    Ok(())
}

/// Verifies the copy again, like everything that is made here.
fn verify_copy(staged: &Path) -> Result<(), CrateError> {
    let copy: PathBuf = staged.join(BUNDLE);
    let loaded = load(&copy, Level::Integrity)?;
    match loaded.is_valid() {
        true => Ok(()),
        false => Err(CrateError::Invalid(loaded.report.findings().to_vec())),
    }
}
