//! Finds signatures: they are next to what they sign, under its name and an ending.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use runseal_archive::{Archive, Record};
use runseal_core::source::SourceError;
use runseal_trust::check::{Found, FoundSignature, read_signatures};
use runseal_trust::limits::MAX_SIGNATURE_FILE_BYTES;

use crate::Files;

/// How a signature is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureForm {
    /// DSSE around an in-toto statement, one per line.
    Dsse,
    /// A keyed sigstore bundle.
    Sigstore,
    /// SSHSIG.
    Ssh,
    /// minisign.
    Minisign,
}

impl SignatureForm {
    /// The ending of its files.
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Dsse => ".intoto.jsonl",
            Self::Sigstore => ".sigstore.json",
            Self::Ssh => ".sig",
            Self::Minisign => ".minisig",
        }
    }

    /// Its name in answers.
    const fn word(self) -> &'static str {
        match self {
            Self::Dsse => "dsse",
            Self::Sigstore => "sigstore",
            Self::Ssh => "ssh",
            Self::Minisign => "minisign",
        }
    }
}

/// Every form that is looked for.
pub const SIGNATURE_FORMS: [SignatureForm; 4] = [
    SignatureForm::Dsse,
    SignatureForm::Sigstore,
    SignatureForm::Ssh,
    SignatureForm::Minisign,
];

/// The file next to `path` for signatures of this form.
pub fn path_beside(path: &Path, form: SignatureForm) -> PathBuf {
    // `run/` and `run/.` name the folder that `run` names.
    let mut name = OsString::from(path.components().as_path());
    name.push(form.ending());
    PathBuf::from(name)
}

/// The same place by a path that ends in its name. `.` and `..` do not, so nothing could be next to them.
pub fn path_with_name(files: &dyn Files, path: &Path) -> PathBuf {
    match (path.file_name(), files.resolved_name(path)) {
        (None, Some(name)) => path.join("..").join(name),
        _ => path.to_owned(),
    }
}

/// Whether anything has the name of a signature file of `path`, whatever it is.
pub(super) fn has_beside(files: &dyn Files, path: &Path) -> bool {
    let path = &path_with_name(files, path);
    SIGNATURE_FORMS
        .iter()
        .any(|form| files.is_there(&path_beside(path, *form)))
}

/// Reads all signatures next to `path`. A file that cannot be used or read counts as a damaged or
/// unread signature, never as none.
pub fn read_beside(files: &dyn Files, path: &Path) -> Vec<Found> {
    let mut found = Vec::new();
    let path = &path_with_name(files, path);
    for form in SIGNATURE_FORMS {
        let file = path_beside(path, form);
        let place = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let word = form.word();
        let signature = match files.read(&file, MAX_SIGNATURE_FILE_BYTES) {
            Err(SourceError::NotFound { .. }) => continue,
            // `path` is inside an archive, where there are no paths.
            Err(SourceError::Io { source, .. }) if source.kind() == ErrorKind::NotADirectory => {
                continue;
            }
            Ok(bytes) => {
                found.extend(read_file(form, place, &bytes));
                continue;
            }
            Err(SourceError::Io { source, .. }) => FoundSignature::Unread(word, source.to_string()),
            Err(error) => FoundSignature::Damaged(word, error.to_string()),
        };
        found.push(Found { place, signature });
    }
    found
}

/// Reads all signatures next to the entry `name` in its archive. The archive is not opened again: these
/// are the bytes that were read with everything else in it.
pub(crate) fn read_beside_entry(archive: &Archive, name: &str) -> Vec<Found> {
    let mut found = Vec::new();
    for (form, entry, content) in entries_beside(archive, name) {
        let place = entry.rsplit('/').next().unwrap_or(&entry).to_owned();
        let signature = match content {
            EntryContent::Bytes(bytes) => {
                found.extend(read_file(form, place, bytes));
                continue;
            }
            EntryContent::NotKept => FoundSignature::Unread(form.word(), NOT_KEPT.to_owned()),
            EntryContent::NotAFile => FoundSignature::Damaged(form.word(), NOT_A_FILE.to_owned()),
        };
        found.push(Found { place, signature });
    }
    found
}

/// The signature files next to the entry `name` in its archive, unchanged.
///
/// # Errors
/// If one of them was not read: none is ever left out.
pub fn files_beside_entry(
    archive: &Archive,
    name: &str,
) -> Result<Vec<(SignatureForm, Vec<u8>)>, SourceError> {
    let files = entries_beside(archive, name).map(|(form, path, content)| {
        let reason = match content {
            EntryContent::Bytes(bytes) => return Ok((form, bytes.to_vec())),
            EntryContent::NotKept => NOT_KEPT,
            EntryContent::NotAFile => NOT_A_FILE,
        };
        let source = std::io::Error::other(reason);
        Err(SourceError::Io { path, source })
    });
    files.collect()
}

/// What an entry with the name of a signature file contains.
enum EntryContent<'a> {
    Bytes(&'a [u8]),
    NotKept,
    NotAFile,
}

const NOT_KEPT: &str = "it is longer than what is kept of an archive";
const NOT_A_FILE: &str = "it is not a regular file";

/// Every entry with the name of a signature file of the entry `name`. There are none for the archive's top.
fn entries_beside<'a>(
    archive: &'a Archive,
    name: &str,
) -> impl Iterator<Item = (SignatureForm, String, EntryContent<'a>)> {
    let forms = SIGNATURE_FORMS
        .into_iter()
        .filter(move |_| !name.is_empty());
    forms.filter_map(move |form| {
        let entry = format!("{name}{}", form.ending());
        let content = match archive.get(&entry)? {
            Record::File(file) => match file.kept {
                Some(bytes) if bytes.len() as u64 <= MAX_SIGNATURE_FILE_BYTES => {
                    EntryContent::Bytes(bytes)
                }
                _ => EntryContent::NotKept,
            },
            _ => EntryContent::NotAFile,
        };
        Some((form, entry, content))
    })
}

/// The signatures in a file. A file without any counts as a damaged signature.
fn read_file(form: SignatureForm, place: String, bytes: &[u8]) -> Vec<Found> {
    match read_signatures(&place, bytes) {
        Ok(signatures) => signatures,
        Err(error) => vec![Found {
            place,
            signature: FoundSignature::Damaged(form.word(), error.to_string()),
        }],
    }
}
