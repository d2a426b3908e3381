//! An artifact that was looked up: its manifest, read once, and its content.
//!
//! A tag is resolved only once; everything later concerns the manifest found then.

use std::io::{self, Read};
use std::sync::OnceLock;

use runseal_core::digest::Digest;
use runseal_core::path::SafePath;

use super::OciError;
use super::attached::{Attachment, read_attached};
use super::layout::FolderLayout;
use super::layout_tar::{TarLayout, TarLayoutWriter};
use super::leftovers::Leftovers;
use super::manifest::{ARTIFACT, Descriptor, FILE, Manifest, TAR_PART, TITLE};
use super::reference::{ArtifactHome, DEFAULT_TAG, Reference};
use super::registry::{Access, Purpose, Registry};
use super::repository::{CheckedBlob, Failure, ManifestName, Repository, read_manifest};

/// Opens the repository that a reference names.
///
/// # Errors
/// If it does not exist or, for writing, cannot be created.
pub fn open_repository(
    reference: &Reference,
    purpose: Purpose,
    access: &Access,
) -> Result<Box<dyn Repository>, OciError> {
    let path = match &reference.home {
        ArtifactHome::Registry { host, name } => {
            let registry = Registry::new(host, name, purpose, access.clone())?;
            return Ok(Box::new(registry));
        }
        ArtifactHome::Layout(path) => path,
    };
    let is_tar_name = path.extension().is_some_and(|ending| ending == "tar");
    match purpose {
        Purpose::Push if is_tar_name && !path.is_dir() => {
            Ok(Box::new(TarLayoutWriter::begin(path)?))
        }
        Purpose::Push => Ok(Box::new(FolderLayout::open_or_create(path)?)),
        Purpose::Pull if path.is_file() => {
            let layout = TarLayout::open(path)?.ok_or_else(|| OciError::Malformed {
                what: path.display().to_string(),
                why: "it is not an OCI layout in a tar".to_owned(),
            })?;
            Ok(Box::new(layout))
        }
        Purpose::Pull => Ok(Box::new(FolderLayout::open(path)?)),
    }
}

/// The content of an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArtifactContent {
    /// A folder.
    Folder,
    /// One file with this name.
    File(SafePath),
}

/// An artifact with evidence.
pub struct Artifact {
    repository: Box<dyn Repository>,
    /// The reference, with the digest that it resolved to.
    pub reference: Reference,
    /// The digest of its manifest.
    pub digest: Digest,
    /// Its content.
    pub held: ArtifactContent,
    layers: Vec<Descriptor>,
    attached: OnceLock<Result<Vec<Attachment>, String>>,
}

impl Artifact {
    /// Looks up the artifact that a reference names.
    ///
    /// # Errors
    /// If it does not exist, cannot be read, or is not evidence.
    pub fn open(reference: &Reference, access: &Access) -> Result<Self, OciError> {
        let repository = open_repository(reference, Purpose::Pull, access)?;
        let name = match (reference.digest, &reference.tag, &reference.home) {
            (Some(digest), _, _) => ManifestName::Digest(digest),
            (None, Some(tag), _) => ManifestName::Tag(tag.clone()),
            (None, None, ArtifactHome::Registry { .. }) => {
                ManifestName::Tag(DEFAULT_TAG.to_owned())
            }
            (None, None, ArtifactHome::Layout(_)) => {
                let latest = ManifestName::Tag(DEFAULT_TAG.to_owned());
                match repository.get_manifest(&latest)? {
                    Some(_) => latest,
                    None => ManifestName::Only,
                }
            }
        };
        let (digest, bytes) = read_manifest(&*repository, &name)?;
        let manifest = Manifest::parse(&bytes, &reference.to_string())?;
        let held = content_of(&manifest, &reference.to_string())?;
        let malformed = |why| OciError::Malformed {
            what: reference.to_string(),
            why,
        };
        manifest.check_repeated().map_err(malformed)?;
        Ok(Self {
            repository,
            reference: reference.pinned_to(digest),
            digest,
            held,
            layers: manifest.layers,
            attached: OnceLock::new(),
        })
    }

    /// Returns a reader of all layers in sequence, each checked against its digest.
    pub fn stream(&self, failure: &Failure) -> LayersReader<'_> {
        LayersReader {
            artifact: self,
            next: 0,
            current: None,
            leftovers: Leftovers::default(),
            failure: failure.clone(),
        }
    }

    /// Returns the layers, in order.
    pub fn layers(&self) -> &[Descriptor] {
        &self.layers
    }

    /// Returns the total size of all layers in bytes.
    pub fn size(&self) -> u64 {
        let sizes = self.layers.iter().map(|layer| layer.size);
        sizes.fold(0, u64::saturating_add)
    }

    /// Returns the digest of a single file if that is one layer; otherwise that of the manifest, which
    /// covers all layers.
    pub fn content_digest(&self) -> Digest {
        match (&self.held, self.layers.as_slice()) {
            (ArtifactContent::File(_), [only]) => only.digest,
            _ => self.digest,
        }
    }

    /// Returns the signatures and reports that are attached to it.
    ///
    /// # Errors
    /// If the attachments cannot be determined; the text says why.
    pub fn attached(&self) -> Result<&[Attachment], String> {
        let attached = self.attached.get_or_init(|| {
            read_attached(&*self.repository, self.digest).map_err(|error| error.to_string())
        });
        attached.as_deref().map_err(Clone::clone)
    }
}

/// Determines the content of an artifact from its manifest.
fn content_of(manifest: &Manifest, shown: &str) -> Result<ArtifactContent, OciError> {
    let refuse = |why: String| OciError::Malformed {
        what: shown.to_owned(),
        why,
    };
    match manifest.artifact_type.as_deref() {
        Some(ARTIFACT) => {}
        Some(other) => {
            let other = other.escape_debug();
            return Err(refuse(format!(
                "it has the type `{other}`, which is not evidence"
            )));
        }
        None => return Err(refuse("it has no artifact type".to_owned())),
    }
    let layers = manifest.layers.as_slice();
    match layers {
        [_, ..] if layers.iter().all(|layer| layer.media_type == FILE) => {
            let name = manifest.annotations.get(TITLE);
            let name = name.and_then(|name| SafePath::parse(name).ok());
            let name = name.filter(|name| !name.as_str().contains('/'));
            let name = name.ok_or_else(|| refuse("its file has no valid name".to_owned()))?;
            Ok(ArtifactContent::File(name))
        }
        [_, ..] if layers.iter().all(|layer| layer.media_type == TAR_PART) => {
            Ok(ArtifactContent::Folder)
        }
        _ => Err(refuse(
            "its layers have types that this version does not know".to_owned(),
        )),
    }
}

/// The concatenated layers as they arrive.
pub struct LayersReader<'a> {
    artifact: &'a Artifact,
    next: usize,
    current: Option<CheckedBlob<Box<dyn Read + Send + 'a>>>,
    leftovers: Leftovers,
    failure: Failure,
}

impl LayersReader<'_> {
    /// Takes pieces from `leftovers` instead of downloading them.
    pub fn with_leftovers(mut self, leftovers: Leftovers) -> Self {
        self.leftovers = leftovers;
        self
    }
}

impl Read for LayersReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if let Some(current) = &mut self.current {
                let count = current.read(buffer)?;
                if count > 0 {
                    return Ok(count);
                }
                self.current = None;
            }
            let Some(layer) = self.artifact.layers.get(self.next) else {
                return Ok(0);
            };
            let opened = match self.leftovers.open(layer) {
                Some(leftover) => Ok(leftover),
                None => self.artifact.repository.open_blob(layer),
            };
            let opened = opened.map_err(|error| self.failure.note(error))?;
            let checked = CheckedBlob::new(opened, layer, self.failure.clone());
            self.current = Some(checked);
            self.next += 1;
        }
    }
}
