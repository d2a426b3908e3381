//! Pushes evidence: verifies it, sends it blob by blob, and tags it last.
//!
//! Only evidence that verifies gets a manifest. Small evidence is verified before anything is sent;
//! large evidence is verified while it is sent, so a refusal leaves only unreferenced blobs. The
//! digest of every file that was sent is compared with the one that was verified. Attachments follow
//! the manifest and the tag comes last, so whoever follows the tag finds everything.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use runseal_core::digest::Digest;
use runseal_core::source::SourceError;
use runseal_core::verify::{Level, UnitResult};
use runseal_fs::input::read_file;
use runseal_fs::survey::{Tally, VerifyOptions, survey_paths_seen, without_climbing};
use runseal_fs::threads::Task;
use runseal_survey::signing::{SIGNATURE_FORMS, path_beside};
use runseal_survey::{Keep, Observer, Position, UnitContent};

use super::OciError;
use super::artifact::open_repository;
use super::attached::{AttachedKind, Attachment, attach};
use super::file_layers::FileLayers;
use super::layers::FolderLayers;
use super::manifest::{ARTIFACT, Descriptor, EMPTY_CONTENT, MANIFEST, Manifest, TITLE};
use super::reference::{DEFAULT_TAG, Reference};
use super::registry::{Access, Purpose};
use super::repository::{Content, ManifestName, Repository, SMALL_BLOB};
use crate::verified::{Objection, check_survey};

/// Evidence below this size is verified before anything is sent: 64 MiB.
const SMALL: u64 = 64 << 20;

/// The result of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    /// The digest of its manifest.
    pub digest: Digest,
    /// Its reference, with tag and digest.
    pub reference: Reference,
    /// The bytes sent.
    pub sent: u64,
    /// The bytes that the repository already had.
    pub skipped: u64,
    /// The file endings of the attachments.
    pub attached: Vec<String>,
}

/// Pushes the evidence at `path`, with the signatures next to it and `reports`.
///
/// # Errors
/// If it does not verify at `level`, cannot be read, or cannot be stored.
pub fn push(
    path: &Path,
    reference: &Reference,
    level: Level,
    reports: &[PathBuf],
    access: &Access,
) -> Result<Pushed, OciError> {
    let attachments = read_attachments(path, reports)?;
    let evidence = if path.is_dir() {
        EvidenceLayers::Folder(FolderLayers::of_folder(path)?)
    } else {
        EvidenceLayers::File(FileLayers::of_file(path)?)
    };
    let mut early = None;
    if evidence.size() < SMALL {
        early = Some(verify(path, level)?);
    }
    let mut access = access.clone();
    access.upload_state = access.upload_state.or_else(|| state_path(path));
    let mut upload = Upload::open(reference, &access)?;
    let is_refused = AtomicBool::new(false);
    let (verified, sent) = thread::scope(|scope| {
        let verifying = early.is_none().then(|| {
            Task::begin(scope, || {
                let verified = verify(path, level);
                is_refused.store(verified.is_err(), Ordering::Relaxed);
                verified
            })
        });
        let sent = evidence.send(&mut upload, &is_refused);
        let verified = match (early, verifying) {
            (Some(early), _) => Ok(early),
            (None, Some(verifying)) => verifying.finish().unwrap_or_else(|_| {
                Err(OciError::NotValid {
                    path: path.display().to_string(),
                    why: Objection::Unchecked("the verification panicked".to_owned()),
                })
            }),
            (None, None) => Ok(BTreeMap::new()),
        };
        (verified, sent)
    });
    // The reason for the refusal says more than the error of the stopped upload.
    let verified = verified?;
    let (layers, sent) = sent?;
    for (name, digest) in &verified {
        if sent.get(name) != Some(digest) {
            return Err(OciError::Changed(name.clone()));
        }
    }
    let mut manifest = Manifest::artifact(ARTIFACT, layers);
    if let EvidenceLayers::File(file) = &evidence {
        let title = file.name().to_owned();
        manifest.annotations.insert(TITLE.to_owned(), title);
    }
    upload.put(&manifest.config, &EMPTY_CONTENT)?;
    upload.close(&manifest, reference, &attachments)
}

/// An upload in progress.
pub(super) struct Upload {
    repository: Box<dyn Repository>,
    /// The digest from which a taken tag may be moved.
    move_tag: Option<Digest>,
    seen: BTreeSet<Digest>,
    sent: u64,
    skipped: u64,
}

impl Upload {
    pub(super) fn open(reference: &Reference, access: &Access) -> Result<Self, OciError> {
        Ok(Self {
            repository: open_repository(reference, Purpose::Push, access)?,
            move_tag: access.move_tag,
            seen: BTreeSet::new(),
            sent: 0,
            skipped: 0,
        })
    }

    /// Stores a blob, unless the repository already has it.
    pub(super) fn put(&mut self, blob: &Descriptor, content: &dyn Content) -> Result<(), OciError> {
        if !self.seen.insert(blob.digest) {
            return Ok(());
        }
        if self.repository.has_blob(blob)? {
            self.skipped += blob.size;
            return Ok(());
        }
        self.repository.put_blob(blob, content)?;
        self.sent += blob.size;
        Ok(())
    }

    /// Fails if the tag names another artifact than `digest` and may not be moved.
    fn check_tag(&self, tag: Option<&str>, digest: Digest) -> Result<(), OciError> {
        let Some(tag) = tag else { return Ok(()) };
        let name = ManifestName::Tag(tag.to_owned());
        let Some(bytes) = self.repository.get_manifest(&name)? else {
            return Ok(());
        };
        let found = Digest::of(&bytes);
        if found == digest || Some(found) == self.move_tag {
            return Ok(());
        }
        Err(OciError::Taken {
            place: self.repository.shown(),
            tag: tag.to_owned(),
            digest: found,
        })
    }

    /// Stores the manifest, its attachments, and its tag.
    pub(super) fn close(
        self,
        manifest: &Manifest,
        reference: &Reference,
        attachments: &[Attachment],
    ) -> Result<Pushed, OciError> {
        let bytes = manifest.to_bytes()?;
        let mut descriptor = Descriptor::of(MANIFEST, &bytes);
        descriptor.artifact_type = manifest.artifact_type.clone();
        if let Some(wanted) = reference.digest
            && wanted != descriptor.digest
        {
            return Err(OciError::OtherContent {
                what: "the artifact to push".to_owned(),
                expected: wanted,
                actual: descriptor.digest,
            });
        }
        let mut pushed = Pushed {
            digest: descriptor.digest,
            reference: reference.pinned_to(descriptor.digest),
            sent: self.sent,
            skipped: self.skipped,
            attached: Vec::new(),
        };
        let tag = match (&reference.tag, reference.digest) {
            (Some(tag), _) => Some(tag.clone()),
            (None, None) => Some(DEFAULT_TAG.to_owned()),
            // A reference by digest needs no tag.
            (None, Some(_)) => None,
        };
        self.check_tag(tag.as_deref(), descriptor.digest)?;
        let repository = &*self.repository;
        repository.put_manifest(&descriptor, &bytes, None)?;
        for attachment in attachments {
            attach(repository, &descriptor, attachment)?;
            pushed.attached.push(attachment.kind.ending());
        }
        // No registry can compare and replace in one step, so check as late as possible.
        self.check_tag(tag.as_deref(), descriptor.digest)?;
        if let Some(tag) = tag {
            repository.put_manifest(&descriptor, &bytes, Some(&tag))?;
            pushed.reference.tag = Some(tag);
        }
        self.repository.finish()?;
        Ok(pushed)
    }
}

/// The evidence to push, divided into layers.
enum EvidenceLayers {
    Folder(FolderLayers),
    File(FileLayers),
}

impl EvidenceLayers {
    fn size(&self) -> u64 {
        match self {
            Self::Folder(folder) => folder.size(),
            Self::File(file) => file.size(),
        }
    }

    /// Sends one layer after another, unless verification fails meanwhile; returns the layers and
    /// the digest of every file. A single file has the empty name.
    fn send(
        &self,
        upload: &mut Upload,
        is_refused: &AtomicBool,
    ) -> Result<(Vec<Descriptor>, BTreeMap<String, Digest>), OciError> {
        let mut layers = Vec::new();
        let mut send = |layer: Descriptor, content: &dyn Content| {
            if is_refused.load(Ordering::Relaxed) {
                return Err(OciError::Refused {
                    what: "the rest".to_owned(),
                    why: "it does not verify".to_owned(),
                });
            }
            upload.put(&layer, content)?;
            layers.push(layer);
            Ok(())
        };
        let digests = match self {
            Self::Folder(folder) => folder.describe(|at, layer| send(layer, &folder.layer(at)))?,
            Self::File(file) => {
                let digest = file.describe(|at, layer| send(layer, &file.layer(at)))?;
                BTreeMap::from([(String::new(), digest)])
            }
        };
        Ok((layers, digests))
    }
}

/// Collects the files that the survey judged.
#[derive(Default)]
struct Contents(Mutex<Vec<UnitContent>>);

impl Observer for Contents {
    fn keep(&self, _: &Path, position: Position) -> Keep {
        match position {
            Position::Path => Keep::Digests(&[]),
            Position::ArchiveTop { .. } | Position::Inside { .. } => Keep::Verdict,
        }
    }

    fn see(&self, _: &UnitResult, content: Option<UnitContent>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(content);
    }
}

/// Verifies the evidence; returns the digest of every file of a folder as it was judged, or that of a
/// single document under the empty name. An archive has none, because it is judged by its entries.
fn verify(path: &Path, level: Level) -> Result<BTreeMap<String, Digest>, OciError> {
    let contents = Contents::default();
    let options = VerifyOptions {
        level,
        threads: None,
    };
    let survey = survey_paths_seen(
        &[without_climbing(path)],
        options,
        &Tally::default(),
        &contents,
    );
    check_survey(survey.results()).map_err(|why| OciError::NotValid {
        path: path.display().to_string(),
        why,
    })?;
    let mut known = BTreeMap::new();
    for content in contents
        .0
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
    {
        if let Some(document) = &content.single {
            known.insert(String::new(), Digest::of(document));
        }
        let files = content.files.into_iter().chain(content.others);
        known.extend(files.filter_map(|file| Some((file.path, file.sha256?))));
    }
    if known.is_empty() && path.is_dir() {
        Err(OciError::Changed(path.display().to_string()))
    } else {
        Ok(known)
    }
}

/// Reads the signatures next to `path`, and the reports.
fn read_attachments(path: &Path, reports: &[PathBuf]) -> Result<Vec<Attachment>, OciError> {
    let mut attachments = Vec::new();
    for form in SIGNATURE_FORMS {
        match read_file(&path_beside(path, form), SMALL_BLOB) {
            Ok(bytes) => attachments.push(Attachment {
                kind: AttachedKind::Signature(form),
                bytes,
            }),
            Err(SourceError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    for report in reports {
        let ending = report.extension().unwrap_or_default().to_string_lossy();
        let kind = AttachedKind::report(&ending).ok_or_else(|| OciError::Refused {
            what: report.display().to_string(),
            why: "a report ends with .html, .json, .sarif or .xml".to_owned(),
        })?;
        let bytes = read_file(report, SMALL_BLOB)?;
        attachments.push(Attachment { kind, bytes });
    }
    Ok(attachments)
}

/// Returns the path of the file in which a push of `path` records its progress.
fn state_path(path: &Path) -> Option<PathBuf> {
    let whole = path.canonicalize().ok()?;
    let name = whole.file_name()?.to_string_lossy().into_owned();
    let state = format!(".runseal-upload-{name}.json");
    Some(whole.parent()?.join(state))
}
