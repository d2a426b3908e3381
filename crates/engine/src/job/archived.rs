//! A job bundle inside an archive: the same facts as from its folder.

use runseal_core::formats::job_bundle::facts::{
    ArtifactFact, ArtifactKey, BundleFacts, EntryFact, FolderFact,
};
use runseal_core::source::EntryKind;

use crate::archive::{Archive, Record};

/// The manifest's bytes, or why there are none.
pub(super) type ManifestBytes<'a> = Result<&'a [u8], &'static str>;

/// The manifest and the facts of the bundle in `folder` (empty: the archive itself).
pub(super) fn collect_archived<'a>(
    archive: &'a Archive,
    folder: &str,
) -> (ManifestBytes<'a>, BundleFacts) {
    let mut manifest = Err("there is none");
    let mut facts = BundleFacts::empty();
    for (name, record) in archive.below(folder) {
        let shown = || String::from_utf8_lossy(name).into_owned();
        let kind = fact_of(record.kind());
        if name == b"bundle.json" {
            manifest = manifest_of(record);
            if kind == EntryFact::Link {
                facts.others.push((shown(), kind));
            }
        } else if name.starts_with(b"bundle.json/") {
            // What lies in a folder of that name is that folder's fault.
        } else if name == b"artifacts" {
            facts.folder = if kind == EntryFact::Folder {
                FolderFact::Listed
            } else {
                facts.others.push((shown(), kind));
                FolderFact::NotFolder(kind)
            };
        } else if let Some(key) = artifact_key(name) {
            let fact = match record {
                Record::File(file) => ArtifactFact::Content(file.content),
                _ => ArtifactFact::NotRegular(kind),
            };
            facts.artifacts.push((key, fact));
            if matches!(kind, EntryFact::Link | EntryFact::Folder) {
                facts.others.push((shown(), kind));
            }
        } else {
            facts.others.push((shown(), kind));
        }
    }
    facts.artifacts.sort_unstable_by_key(|(key, _)| *key);
    facts.others.sort();
    (manifest, facts)
}

fn artifact_key(name: &[u8]) -> Option<ArtifactKey> {
    ArtifactKey::parse_file_name(name.strip_prefix(b"artifacts/")?)
}

fn manifest_of(record: Record<'_>) -> ManifestBytes<'_> {
    match record {
        Record::File(file) => file
            .kept
            .ok_or("it is longer than what is kept of an archive"),
        Record::Other(EntryKind::Symlink) => Err("it is a symbolic link"),
        Record::Folder | Record::Other(_) => Err("it is no regular file"),
    }
}

fn fact_of(kind: EntryKind) -> EntryFact {
    match kind {
        EntryKind::File => EntryFact::File,
        EntryKind::Directory => EntryFact::Folder,
        EntryKind::Symlink => EntryFact::Link,
        EntryKind::Fifo | EntryKind::Special => EntryFact::Special,
    }
}
