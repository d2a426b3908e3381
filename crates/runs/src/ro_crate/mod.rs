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
use std::io::Write as _;
use std::path::{Path, PathBuf};

use runseal_core::canon::{Dialect, NoCanonicalForm, canonical_bytes};
use runseal_core::diagnosis::{Diagnose, Diagnosis, Location};
use runseal_core::formats::Format;
use runseal_core::path::SafePath;
use runseal_core::source::{MemberFile, Source, SourceError};
use runseal_core::verify::{Finding, Level};
use runseal_survey::InsidePath;
use runseal_survey::signing::{SIGNATURE_FORMS, SignatureForm, path_beside};
use runseal_trust::limits::MAX_SIGNATURE_FILE_BYTES;

use crate::record::unpack::{UnpackError, Unpacked, unpack_bundle};
use runseal_fs::atomic::{WriteError, write_file};
use runseal_fs::directory::{DirectorySource, RootLink};
use runseal_fs::input::read_file;
use runseal_fs::staging::{Place, Rights, Staging, StagingError, check_place};
use runseal_fs::stream::{BUFFER, digest_through};
use runseal_fs::survey::LocalFiles;
use runseal_fs::survey::load::{Judged, LoadError, load};

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

impl Diagnose for CrateError {
    fn diagnosis(&self) -> Diagnosis {
        let unreadable = |code| Diagnosis::unreadable(self, code).located(Location::Named);
        match self {
            Self::Load(error) => error.diagnosis(),
            Self::Unpack(UnpackError::Read(error)) | Self::Source(error) => error.diagnosis(),
            Self::Staging(error) => error.diagnosis(),
            Self::Zip(error) => error.diagnosis(),
            Self::Unpack(UnpackError::Faults(_)) | Self::Invalid(_) => {
                Diagnosis::invalid(self, "NOT_VALID")
                    .located(Location::Named)
                    .hint("`runseal verify` says more; only valid bundles are exported")
            }
            Self::Unpack(UnpackError::NoBundle) | Self::NotARun(_) => {
                unreadable("UNKNOWN_FORMAT").hint("name a run bundle: a folder with RUN_META.json")
            }
            Self::Changed(_) => {
                unreadable("CHANGED").hint("export again while nothing writes to it")
            }
            Self::Form(_) => unreadable("NO_FORM"),
        }
    }

    fn findings(&self) -> &[Finding] {
        match self {
            Self::Unpack(error) => error.findings(),
            Self::Invalid(findings) => findings,
            _ => &[],
        }
    }
}

impl From<WriteError> for CrateError {
    fn from(error: WriteError) -> Self {
        Self::Staging(error.into())
    }
}

/// A run bundle that holds, and the signatures beside it.
#[derive(Debug)]
pub struct ExportableRun {
    /// The folder that the bundle's files are copied from.
    folder: PathBuf,
    judged: Judged,
    /// By their names in the crate.
    signatures: BTreeMap<String, Vec<u8>>,
    /// Deletes that folder in the end, where it is a private one.
    _unpacked: Option<Unpacked>,
}

impl ExportableRun {
    /// Opens the run bundle at `bundle`: a folder, an archive, or something inside one.
    ///
    /// # Errors
    /// When it cannot be read, or is not a valid run bundle.
    pub fn open(bundle: &Path) -> Result<Self, CrateError> {
        let mut unpacked = match bundle.is_dir() {
            true => None,
            false => unpack_bundle(bundle)?,
        };
        let folder = unpacked
            .as_ref()
            .map_or(bundle, |unpacked| unpacked.folder());
        let folder = folder.to_owned();
        let mut judged = load(&folder, Level::Integrity)?.by_its_name()?;
        if let Some(wrapping) = unpacked.as_mut().and_then(Unpacked::take_wrapping) {
            judged = judged.in_archive(wrapping);
        }
        if judged.format() != Format::RunBundle {
            return Err(CrateError::NotARun(judged.format()));
        }
        if !judged.is_valid() {
            return Err(CrateError::Invalid(judged.report.findings().to_vec()));
        }
        let mut signatures = BTreeMap::new();
        let inside = InsidePath::of(&LocalFiles, bundle);
        let outer = inside.as_ref().map_or(bundle, |inside| &inside.archive);
        add_signatures(&mut signatures, read_signatures(outer)?);
        if let Some(unpacked) = &mut unpacked {
            add_signatures(&mut signatures, unpacked.take_signatures()?);
        }
        Ok(Self {
            folder,
            judged,
            signatures,
            _unpacked: unpacked,
        })
    }

    /// The bundle as it was judged.
    pub fn judged(&self) -> &Judged {
        &self.judged
    }

    /// Writes it as an RO-Crate to `target`: a zip if the name ends in `.zip`, else a folder. Returns
    /// the number of the bundle's files.
    ///
    /// # Errors
    /// [`CrateError`]; nothing is written then.
    pub fn write_crate(&self, target: &Path, words: &CrateWords<'_>) -> Result<usize, CrateError> {
        let is_zip = target.extension().is_some_and(|ending| ending == "zip");
        let place = match is_zip {
            true => Place::Free,
            false => Place::FreeOrEmptyFolder,
        };
        check_place(target, place)?;
        let staging = Staging::begin_beside(target)?;
        copy_files(&self.folder, &self.judged, &staging)?;
        for (name, bytes) in &self.signatures {
            staging.put(name, bytes)?;
        }
        let names: Vec<&str> = self.signatures.keys().map(String::as_str).collect();
        let described = metadata::describe_run(&self.judged, &names, words);
        let mut bytes = canonical_bytes(&described, Dialect::Kernel)?;
        bytes.push(b'\n');
        staging.put(METADATA, &bytes)?;
        if is_zip {
            let copy = staging.reading_path();
            verify_copy(&copy)?;
            let mut files = vec![METADATA.to_owned()];
            let bundled = self.judged.content.files.iter();
            files.extend(bundled.map(|file| in_crate(&file.path)));
            files.extend(self.signatures.keys().cloned());
            files.sort_unstable();
            write_file(target, |out| {
                zip::write_stored(&copy, &files, out).map_err(CrateError::from)
            })?;
        } else {
            staging.publish(target, (place, Rights::AsUmask), verify_copy)?;
        }
        Ok(self.judged.content.files.len())
    }
}

/// The path of a bundle's file in the crate.
fn in_crate(path: &str) -> String {
    format!("{BUNDLE}/{path}")
}

/// The signature files beside a bundle, or beside the archive that it is in.
fn read_signatures(outer: &Path) -> Result<Vec<(SignatureForm, Vec<u8>)>, SourceError> {
    let mut found = Vec::new();
    for form in SIGNATURE_FORMS {
        match read_file(&path_beside(outer, form), MAX_SIGNATURE_FILE_BYTES) {
            Ok(bytes) => found.push((form, bytes)),
            Err(SourceError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Gives signature files their names in the crate. None is lost where one lies beside an archive and
/// another one in it.
fn add_signatures(signatures: &mut BTreeMap<String, Vec<u8>>, more: Vec<(SignatureForm, Vec<u8>)>) {
    for (form, mut bytes) in more {
        let mut name = format!("{BUNDLE}{}", form.ending());
        match signatures.get(&name) {
            Some(earlier) if *earlier == bytes => continue,
            // One signature a line.
            Some(earlier) if form == SignatureForm::Dsse => {
                let mut lines = earlier.clone();
                if !lines.ends_with(b"\n") {
                    lines.push(b'\n');
                }
                lines.append(&mut bytes);
                bytes = lines;
            }
            // A file of any other form holds one.
            Some(_) => name = format!("{BUNDLE}.2{}", form.ending()),
            None => {}
        }
        signatures.insert(name, bytes);
    }
}

/// Copies every file of the bundle, if it still is the one that was judged.
fn copy_files(folder: &Path, judged: &Judged, staging: &Staging) -> Result<(), CrateError> {
    let source = DirectorySource::open(folder, RootLink::Follow)?;
    let mut buffer = vec![0; BUFFER];
    for MemberFile {
        path,
        bytes,
        sha256,
        ..
    } in &judged.content.files
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
    let judged = load(&copy, Level::Integrity)?;
    match judged.is_valid() {
        true => Ok(()),
        false => Err(CrateError::Invalid(judged.report.findings().to_vec())),
    }
}
