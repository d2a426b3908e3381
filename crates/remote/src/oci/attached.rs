//! Signatures and reports that are attached to an artifact: manifests with the artifact as subject.
//!
//! A registry lists the attachments; if it has no such list, clients keep an index under the tag
//! `sha256-<hex>`. If neither exists, there are none. Anything else (an error, a list of several
//! pages, a listed manifest that is missing) means that the attachments are unknown, which is an
//! error: it must never pass for "no signatures".

use base64ct::{Base64, Encoding};
use runseal_core::canon::{Dialect, ReadOptions, Value, canonical_bytes, parse_document};
use runseal_core::digest::{ContentHash, Digest};
use runseal_survey::signing::SignatureForm;

use super::OciError;
use super::manifest::{Descriptor, EMPTY, EMPTY_CONTENT, INDEX, Index, MANIFEST, Manifest};
use super::repository::{
    ManifestName, Referrers, Repository, SMALL_BLOB, SubjectListing, read_blob, read_manifest,
};

/// The artifact type of a report.
const REPORT: &str = "application/vnd.runseal.report.v1";
const DSSE: &str = "application/vnd.runseal.signature.dsse.v1";
const SSH: &str = "application/vnd.runseal.signature.ssh.v1";
const MINISIGN: &str = "application/vnd.runseal.signature.minisign.v1";
const SIGSTORE: &str = "application/vnd.dev.sigstore.bundle";
const SIGSTORE_NOW: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// Media types under which other tools attach envelopes.
const OTHERS_DSSE: [&str; 2] = [
    "application/vnd.in-toto+json",
    "application/vnd.dsse.envelope.v1+json",
];

/// The most attached manifests that are read. Stops a list that would take hours to read.
const MAX_ATTACHED: usize = 256;

/// The most bytes of everything attached that is read, and of a file that attachments form: as many as
/// those who verify read of one file.
const MAX_READ: u64 = 16 << 20;

/// The most bytes of the lines that attachments form; leaves room for those about what is left out.
const MAX_LINE_BYTES: u64 = MAX_READ - (1 << 20);

/// The most lines of a file that attachments form, less than those who verify read of one.
const MAX_LINES: usize = 500;

/// How often an entry is added to the list under a tag, when others keep overwriting it.
const ATTEMPTS: usize = 5;

/// The kind of an attachment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttachedKind {
    /// A signature.
    Signature(SignatureForm),
    /// A report, with the ending of its file: `html`, `json`, `sarif` or `xml`.
    Report(&'static str),
}

/// The file endings of reports, with their media types.
const REPORTS: [(&str, &str); 4] = [
    ("html", "text/html"),
    ("json", "application/json"),
    ("sarif", "application/sarif+json"),
    ("xml", "application/xml"),
];

impl AttachedKind {
    /// Returns the kind of a report in a file with this ending.
    pub fn report(ending: &str) -> Option<Self> {
        let mut known = REPORTS.iter();
        let (ending, _) = known.find(|(known, _)| *known == ending)?;
        Some(Self::Report(ending))
    }

    /// Returns what is appended to the artifact's name to name the attachment's file.
    pub fn ending(&self) -> String {
        match self {
            Self::Signature(form) => form.ending().to_owned(),
            Self::Report(ending) => format!(".report.{ending}"),
        }
    }

    fn of_types(artifact_type: &str, layer: &Descriptor) -> Option<Self> {
        let form = match artifact_type {
            DSSE => SignatureForm::Dsse,
            SSH => SignatureForm::Ssh,
            MINISIGN => SignatureForm::Minisign,
            REPORT => {
                let mut known = REPORTS.iter();
                let (ending, _) = known.find(|(_, media)| *media == layer.media_type)?;
                return Some(Self::Report(ending));
            }
            other if OTHERS_DSSE.contains(&other) => SignatureForm::Dsse,
            other if other.starts_with(SIGSTORE) => SignatureForm::Sigstore,
            _ => return None,
        };
        Some(Self::Signature(form))
    }
}

/// An attached signature or report, with its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The kind.
    pub kind: AttachedKind,
    /// The content.
    pub bytes: Vec<u8>,
}

impl Attachment {
    /// What stands for an attachment that is left out. Whoever verifies says that there is a damaged
    /// signature: it must not pass for none.
    fn left_out(kind: AttachedKind, digest: Digest, why: &str) -> Self {
        let why = format!("{} was left out: {why}", ContentHash::from(digest));
        let line = Value::object([("runseal", why.as_str()), ("signatures", "")]);
        Self {
            kind,
            bytes: canonical_bytes(&line, Dialect::Jcs).unwrap_or_default(),
        }
    }

    /// The manifest that attaches it to `subject`.
    fn manifest(&self, subject: &Descriptor) -> Manifest {
        let (artifact_type, media_type) = match self.kind {
            AttachedKind::Signature(SignatureForm::Dsse) => (DSSE.to_owned(), DSSE),
            AttachedKind::Signature(SignatureForm::Ssh) => (SSH.to_owned(), SSH),
            AttachedKind::Signature(SignatureForm::Minisign) => (MINISIGN.to_owned(), MINISIGN),
            AttachedKind::Signature(SignatureForm::Sigstore) => (self.bundle_type(), SIGSTORE_NOW),
            AttachedKind::Report(ending) => {
                let mut known = REPORTS.iter();
                let media = known.find(|(known, _)| *known == ending);
                (REPORT.to_owned(), media.map_or("", |(_, media)| media))
            }
        };
        let media_type = match self.kind {
            AttachedKind::Signature(SignatureForm::Sigstore) => artifact_type.clone(),
            _ => media_type.to_owned(),
        };
        let title = format!("run{}", self.kind.ending());
        let layer = Descriptor::of(&media_type, &self.bytes).titled(&title);
        let mut manifest = Manifest::artifact(&artifact_type, vec![layer]);
        // Without the subject's annotations: its tag or title must not change this manifest.
        manifest.subject = Some(Descriptor::new(MANIFEST, subject.digest, subject.size));
        if self.kind == AttachedKind::Signature(SignatureForm::Sigstore) {
            self.describe_bundle(&mut manifest);
        }
        manifest
    }

    /// Returns the media type that a sigstore bundle declares for itself.
    fn bundle_type(&self) -> String {
        let document = parse_document(&self.bytes, &ReadOptions::default()).ok();
        let own = document.and_then(|document| {
            let own = document.root().get("mediaType")?.as_str()?.into_owned();
            own.starts_with(SIGSTORE).then_some(own)
        });
        own.unwrap_or_else(|| SIGSTORE_NOW.to_owned())
    }

    /// Adds the annotations that sigstore's own tools look for.
    fn describe_bundle(&self, manifest: &mut Manifest) {
        let Ok(document) = parse_document(&self.bytes, &ReadOptions::default()) else {
            return;
        };
        let envelope = document.root().get("dsseEnvelope");
        let content = match envelope {
            Some(_) => "dsse-envelope",
            None => "message-signature",
        };
        let mut annotate = |name: &str, value: &str| {
            manifest
                .annotations
                .insert(name.to_owned(), value.to_owned());
        };
        annotate("dev.sigstore.bundle.content", content);
        let payload = envelope.and_then(|envelope| {
            let payload = envelope.get("payload")?.as_str()?;
            Base64::decode_vec(&payload).ok()
        });
        let statement = payload.as_deref().and_then(|payload| {
            let document = parse_document(payload, &ReadOptions::default()).ok()?;
            Some(document.root().get("predicateType")?.as_str()?.into_owned())
        });
        if let Some(predicate) = statement {
            annotate("dev.sigstore.bundle.predicateType", &predicate);
        }
    }
}

/// Attaches something to the manifest `subject`; returns the digest of the new manifest.
///
/// # Errors
/// If it cannot be stored or listed.
pub fn attach(
    repository: &dyn Repository,
    subject: &Descriptor,
    attachment: &Attachment,
) -> Result<Digest, OciError> {
    let manifest = attachment.manifest(subject);
    let config = Descriptor::of(EMPTY, EMPTY_CONTENT);
    let content = attachment.bytes.as_slice();
    for (blob, bytes) in [(&config, EMPTY_CONTENT), (&manifest.layers[0], content)] {
        if !repository.has_blob(blob)? {
            repository.put_blob(blob, &bytes)?;
        }
    }
    let bytes = manifest.to_bytes()?;
    let mut entry = Descriptor::of(MANIFEST, &bytes);
    entry.artifact_type = manifest.artifact_type.clone();
    entry.annotations = manifest.annotations.clone();
    let listing = repository.put_manifest(&entry, &bytes, None)?;
    if listing == SubjectListing::ByTheClient {
        list_under_tag(repository, subject.digest, &entry)?;
    }
    Ok(entry.digest)
}

/// Returns the tag of the list of attachments to `subject`, for registries without such lists.
fn fallback_tag(subject: Digest) -> String {
    format!("sha256-{subject}")
}

/// Adds an entry to the list under the tag. The last of several concurrent writers wins, so the
/// list is read again after writing.
fn list_under_tag(
    repository: &dyn Repository,
    subject: Digest,
    entry: &Descriptor,
) -> Result<(), OciError> {
    let tag = fallback_tag(subject);
    for _ in 0..ATTEMPTS {
        let mut index = read_tagged_list(repository, &tag)?;
        if index
            .manifests
            .iter()
            .any(|known| known.digest == entry.digest)
        {
            return Ok(());
        }
        index.manifests.push(entry.clone());
        index.manifests.sort_by_key(|known| known.digest);
        let bytes = index.to_bytes()?;
        let descriptor = Descriptor::of(INDEX, &bytes);
        repository.put_manifest(&descriptor, &bytes, Some(&tag))?;
    }
    let index = read_tagged_list(repository, &tag)?;
    if index
        .manifests
        .iter()
        .any(|known| known.digest == entry.digest)
    {
        Ok(())
    } else {
        Err(OciError::Refused {
            what: tag,
            why: "others keep changing the list of attachments".to_owned(),
        })
    }
}

fn read_tagged_list(repository: &dyn Repository, tag: &str) -> Result<Index, OciError> {
    let name = ManifestName::Tag(tag.to_owned());
    match repository.get_manifest(&name)? {
        Some(bytes) => Index::parse(&bytes, tag),
        None => Ok(Index::default()),
    }
}

/// Everything attached to `subject` whose type is known here, signatures first and small ones before
/// large ones, so that what one party attaches does not crowd out what others did. A signature that is too large or has no
/// manifest that can be read is left out, and a damaged one stands in its place.
///
/// # Errors
/// If the attachments cannot be determined.
pub fn read_attached(
    repository: &dyn Repository,
    subject: Digest,
) -> Result<Vec<Attachment>, OciError> {
    let mut index = match repository.list_referrers(subject)? {
        Referrers::Listed(index) => index,
        Referrers::Unsupported => read_tagged_list(repository, &fallback_tag(subject))?,
    };
    index.manifests.sort_by_key(|entry| entry.digest);
    index.manifests.dedup_by_key(|entry| entry.digest);
    // An entry without a type has to be read to learn its type.
    let is_candidate = |entry: &&Descriptor| {
        entry.media_type == MANIFEST
            && entry.artifact_type.as_deref().is_none_or(|kind| {
                let layer = Descriptor::new(REPORTS[0].1, entry.digest, 0);
                AttachedKind::of_types(kind, &layer).is_some()
            })
    };
    let candidates: Vec<_> = index.manifests.iter().filter(is_candidate).collect();
    if candidates.len() > MAX_ATTACHED {
        return Err(OciError::Malformed {
            what: "the list of attachments".to_owned(),
            why: format!("it names more than {MAX_ATTACHED} signatures and reports"),
        });
    }
    let mut found = Vec::new();
    let mut layers = Vec::new();
    for entry in candidates {
        let (_, bytes) = read_manifest(repository, &ManifestName::Digest(entry.digest))?;
        let shown = ContentHash::from(entry.digest).to_string();
        let Ok(manifest) = Manifest::parse(&bytes, &shown) else {
            let kind = AttachedKind::Signature(SignatureForm::Dsse);
            let why = "its manifest cannot be used";
            found.push(Attachment::left_out(kind, entry.digest, why));
            continue;
        };
        let is_ours = manifest
            .subject
            .as_ref()
            .is_some_and(|attached_to| attached_to.digest == subject);
        let kind = manifest.artifact_type.as_deref();
        let (true, Some(kind), [layer]) = (is_ours, kind, manifest.layers.as_slice()) else {
            continue;
        };
        if let Some(kind) = AttachedKind::of_types(kind, layer) {
            layers.push((kind, layer.clone()));
        }
    }
    let is_report = |kind: &AttachedKind| matches!(kind, AttachedKind::Report(_));
    layers.sort_by_key(|(kind, layer)| (is_report(kind), layer.size, layer.digest));
    let mut read = Vec::new();
    let mut room = MAX_READ;
    for (kind, layer) in layers {
        if layer.size <= room.min(SMALL_BLOB) {
            room -= layer.size;
            let bytes = read_blob(repository, &layer, SMALL_BLOB)?;
            read.push(Attachment { kind, bytes });
        } else if !is_report(&kind) {
            let why = "it is too large, or too much is attached";
            found.push(Attachment::left_out(kind, layer.digest, why));
        }
    }
    read.append(&mut found);
    Ok(read)
}

/// The content of the file beside an artifact that these attachments form; `None` if there is none
/// of this kind. Envelopes and bundles become lines of one file; of other signatures only the first
/// is used. Whoever may attach something is not whoever signed: what cannot be a line, or is too much for one file, is left
/// out, and a damaged line stands in its place.
pub fn join_attachments(attached: &[Attachment], kind: &AttachedKind) -> Option<Vec<u8>> {
    let mut of_kind = attached.iter().filter(|one| one.kind == *kind);
    let first = of_kind.next()?;
    let others: Vec<_> = of_kind.collect();
    let has_lines = matches!(
        kind,
        AttachedKind::Signature(SignatureForm::Dsse | SignatureForm::Sigstore)
    );
    if others.is_empty() || !has_lines {
        return Some(first.bytes.clone());
    }
    let mut lines = Vec::new();
    let mut count = 0;
    let mut unfit = Vec::new();
    for one in std::iter::once(first).chain(others) {
        let has_room = |new: &Vec<Vec<u8>>| {
            let bytes = new.iter().map(|line| line.len() + 1).sum::<usize>();
            count + new.len() <= MAX_LINES && (lines.len() + bytes) as u64 <= MAX_LINE_BYTES
        };
        let Some(new) = json_lines(&one.bytes).filter(has_room) else {
            let why = "it is not JSON, or too much is attached";
            let digest = Digest::of(&one.bytes);
            unfit.push(Attachment::left_out(kind.clone(), digest, why).bytes);
            continue;
        };
        count += new.len();
        for line in new {
            lines.extend(line);
            lines.push(b'\n');
        }
    }
    for line in unfit {
        lines.extend(line);
        lines.push(b'\n');
    }
    Some(lines)
}

/// What an attachment holds, each document as one line; `None` where it is not all JSON.
fn json_lines(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let line = |text: &[u8]| {
        let document = parse_document(text, &ReadOptions::default()).ok()?;
        canonical_bytes(document.root(), Dialect::Jcs).ok()
    };
    if let Some(only) = line(bytes) {
        return Some(vec![only]);
    }
    let text = str::from_utf8(bytes).ok()?;
    let lines = text.lines().filter(|text| !text.trim().is_empty());
    let lines = lines.take(MAX_LINES + 1).map(|text| line(text.as_bytes()));
    let lines: Vec<_> = lines.collect::<Option<_>>()?;
    (!lines.is_empty()).then_some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oci::layout::FolderLayout;
    use crate::oci::manifest::ARTIFACT;

    fn dsse(text: &str) -> Attachment {
        Attachment {
            kind: AttachedKind::Signature(SignatureForm::Dsse),
            bytes: text.as_bytes().to_vec(),
        }
    }

    #[test]
    fn attachments_of_layout_are_found_only_for_their_subject() {
        let folder = tempfile::tempdir().unwrap();
        let layout = FolderLayout::open_or_create(&folder.path().join("l")).unwrap();
        let subject = |name: &str| {
            let layer = Descriptor::of(name, b"");
            let bytes = Manifest::artifact(ARTIFACT, vec![layer])
                .to_bytes()
                .unwrap();
            let subject = Descriptor::of(MANIFEST, &bytes);
            layout.put_manifest(&subject, &bytes, Some(name)).unwrap();
            subject
        };
        let (one, two) = (subject("one"), subject("two"));
        let report = Attachment {
            kind: AttachedKind::report("html").unwrap(),
            bytes: b"<p>".to_vec(),
        };
        for attachment in [dsse("{}"), dsse("{\"a\":1}"), dsse("{}"), report.clone()] {
            attach(&layout, &one, &attachment).unwrap();
        }
        let found = read_attached(&layout, one.digest).unwrap();
        assert_eq!(found.len(), 3);
        assert!(found.contains(&report) && found.contains(&dsse("{}")));
        assert_eq!(read_attached(&layout, two.digest).unwrap(), []);
        let lines = join_attachments(&found, &dsse("").kind).unwrap();
        assert_eq!(lines.iter().filter(|byte| **byte == b'\n').count(), 2);
        assert_eq!(join_attachments(&found, &report.kind).unwrap(), b"<p>");
        assert_eq!(join_attachments(&[], &report.kind), None);
    }

    #[test]
    fn attachment_of_others_does_not_displace_a_signature_and_is_not_kept_whole() {
        let folder = tempfile::tempdir().unwrap();
        let layout = FolderLayout::open_or_create(&folder.path().join("l")).unwrap();
        let bytes = Manifest::artifact(ARTIFACT, Vec::new()).to_bytes().unwrap();
        let subject = Descriptor::of(MANIFEST, &bytes);
        layout.put_manifest(&subject, &bytes, Some("t")).unwrap();
        let signature = r#"{"payload":"","payloadType":"t","signatures":[]}"#;
        attach(&layout, &subject, &dsse(signature)).unwrap();
        let kind = dsse("").kind;
        for bytes in [b"\0\xff".to_vec(), b"\n".repeat(2000), b"{}\n".repeat(2000)] {
            let kind = kind.clone();
            attach(&layout, &subject, &Attachment { kind, bytes }).unwrap();
        }
        for number in 0..5 {
            let text = format!("{number}{}", "9".repeat(SMALL_BLOB as usize - 2));
            attach(&layout, &subject, &dsse(&text)).unwrap();
        }
        let too_large = "x".repeat(SMALL_BLOB as usize + 1);
        attach(&layout, &subject, &dsse(&too_large)).unwrap();
        let found = read_attached(&layout, subject.digest).unwrap();
        assert_eq!(found.len(), 10);
        let held: usize = found.iter().map(|one| one.bytes.len()).sum();
        assert!(held as u64 <= MAX_READ + 10_000, "{held}");
        let file = join_attachments(&found, &kind).unwrap();
        assert!(file.len() as u64 <= MAX_READ);
        let lines: Vec<_> = str::from_utf8(&file).unwrap().lines().collect();
        assert!(lines.len() < 20, "{}", lines.len());
        assert!(lines.contains(&signature));
        let left_out = lines.iter().filter(|line| line.contains("was left out"));
        assert!(left_out.count() >= 5);
        // A sole attachment comes back as it is, whatever it is.
        let alone = [dsse("no JSON")];
        assert_eq!(join_attachments(&alone, &kind).unwrap(), b"no JSON");
    }

    #[test]
    fn attachment_that_is_listed_and_missing_is_an_error_and_not_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let layout = FolderLayout::open_or_create(&folder.path().join("l")).unwrap();
        let bytes = Manifest::artifact(ARTIFACT, Vec::new()).to_bytes().unwrap();
        let subject = Descriptor::of(MANIFEST, &bytes);
        layout.put_manifest(&subject, &bytes, Some("t")).unwrap();
        attach(&layout, &subject, &dsse("{}")).unwrap();
        let blob = Descriptor::of(DSSE, b"{}");
        let path = folder
            .path()
            .join("l/blobs/sha256")
            .join(blob.digest.to_string());
        // `{}` is also the empty configuration, but that is never read.
        std::fs::remove_file(path).unwrap();
        assert!(read_attached(&layout, subject.digest).is_err());
    }
}
