//! Notes what signatures are about while something is judged, so that nothing is read a second
//! time: what was signed is the bytes that the rules held for.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use runseal_core::digest::{Digest, Hasher};
use runseal_core::formats::Format;
use runseal_core::formats::redacted::chunks::ChunkedFile;
use runseal_core::path::SafePath;
use runseal_core::source::{
    Algorithms, ContentFact, Entry, EntryKind, EntryName, FileDigests, Got, Seen, Source,
    SourceError, Want,
};
use runseal_core::verify::Checked;
use runseal_trust::check::Found;

use super::load::Loaded;

/// Files whose bytes are kept: the manifest that stands for a run bundle, and those with a commitment or facts
/// that policies ask for.
const KEPT: [&str; 6] = [
    "SHA256SUMS.txt",
    "REDACTION.json",
    "REDACTED.json",
    "RUN_META.json",
    "run.json",
    "bundle.json",
];

/// Bytes that are kept of a file that is read piece by piece.
const MAX_STREAMED: usize = 8 << 20;

/// Somebody who is told of every unit right after it was judged, on the thread that judged it.
pub trait Onlooker: Sync {
    /// Whether what stands for the unit at this path is to be noted.
    fn wants(&self, path: &Path) -> bool;

    /// Whether every file is to be noted even where a manifest stands for them, which it does only
    /// as long as the rules hold.
    fn wants_every_file(&self) -> bool {
        false
    }

    /// Whether a unit that stands below the top of the archive at this path is to be noted too. It
    /// `has_signatures` where some lie beside it in the archive.
    fn wants_inside(&self, _archive: &Path, _has_signatures: bool) -> bool {
        false
    }

    /// Whether the bytes of the file of this name are to be kept, beside those that signatures and
    /// policies are about.
    fn keeps(&self, _name: &str) -> bool {
        false
    }

    /// Whether the path by which a person named a folder is judged too, where its format has rules about it. Not
    /// for who keeps what is there: how somebody came to it says nothing about it.
    fn judges_typed_path(&self) -> bool {
        true
    }

    /// Whether units are shown: then all that can be is kept of each while it is judged, and `show`
    /// gets it. The other questions are not asked.
    fn wants_whole(&self) -> bool {
        false
    }

    /// A unit that was judged, with what was noted where it was wanted and there was something. Where
    /// units are shown, one that could not be loaded.
    fn see(&self, result: &Checked, noted: Option<Noted>);

    /// A unit to show, with its verdict: the bytes in it are those that were judged.
    fn show(&self, _loaded: Loaded) {}
}

/// What was kept of a unit while it was judged.
#[derive(Debug)]
pub(super) enum Kept {
    /// Nothing, because nobody wanted it or it could not be read.
    Nothing,
    /// What signatures and catalogues are about.
    Noted(Noted),
    /// All that is shown of it.
    Whole(Box<Loaded>),
}

/// An onlooker with no interest in anything.
#[derive(Debug, Clone, Copy)]
pub struct Nobody;

impl Onlooker for Nobody {
    fn wants(&self, _: &Path) -> bool {
        false
    }

    fn see(&self, _: &Checked, _: Option<Noted>) {}
}

/// What was noted of a unit.
#[derive(Debug)]
pub struct Noted {
    /// What it is.
    pub format: Format,
    /// Its bytes, where it is a single document.
    pub document: Option<Vec<u8>>,
    /// The bytes of a few of its files, by name.
    pub kept: BTreeMap<String, Vec<u8>>,
    /// Every file with its digest; none where something in the folder is no regular file. Empty
    /// for a run bundle and its copies, whose manifest stands for them, unless every file was wanted.
    pub files: BTreeMap<String, Option<Digest>>,
    /// Whether it came in an archive.
    pub is_archived: bool,
    /// Signatures that lie beside it in the archive.
    pub beside: Vec<Found>,
}

/// Another source, and what went through it.
pub(super) struct WitnessSource<'a> {
    inner: &'a dyn Source,
    format: Format,
    onlooker: &'a dyn Onlooker,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// None until somebody lists them.
    entries: Option<Vec<Entry>>,
    digests: BTreeMap<SafePath, Digest>,
    kept: BTreeMap<String, Vec<u8>>,
}

impl<'a> WitnessSource<'a> {
    pub(super) fn new(inner: &'a dyn Source, format: Format, onlooker: &'a dyn Onlooker) -> Self {
        Self {
            inner,
            format,
            onlooker,
            state: Mutex::default(),
        }
    }

    /// What stands for the whole of it. A file that no rule asked about is read now.
    ///
    /// # Errors
    /// When nobody listed the files, and they cannot be listed now.
    pub(super) fn into_noted(self, is_archived: bool) -> Result<Noted, SourceError> {
        let has_manifest = self.has_manifest();
        let State {
            entries,
            digests,
            kept,
        } = self
            .state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let entries = match (has_manifest, entries) {
            (true, _) => Vec::new(),
            (false, Some(entries)) => entries,
            // Some formats are judged by a few files of known names.
            (false, None) => self.inner.entries()?,
        };
        let mut files = BTreeMap::new();
        for entry in entries {
            let digest = match (entry.kind, &entry.name) {
                (EntryKind::Directory, _) => continue,
                (EntryKind::File, EntryName::Safe(name)) => {
                    digests.get(name).copied().or_else(|| {
                        let fact = self.inner.content(name).ok();
                        fact.map(|fact| fact.sha256)
                    })
                }
                _ => None,
            };
            files.insert(entry.name.shown().to_owned(), digest);
        }
        Ok(Noted {
            format: self.format,
            document: None,
            kept,
            files,
            is_archived,
            beside: Vec::new(),
        })
    }

    fn has_manifest(&self) -> bool {
        !self.onlooker.wants_every_file()
            && matches!(self.format, Format::RunBundle | Format::Redacted)
    }

    fn note(&self, path: &SafePath, bytes: Option<&[u8]>, digest: Option<Digest>) {
        let is_kept = KEPT.contains(&path.as_str()) || self.onlooker.keeps(path.as_str());
        let kept = bytes.filter(|_| is_kept);
        let digest = match (self.has_manifest(), digest) {
            (true, _) => None,
            (false, Some(digest)) => Some(digest),
            (false, None) => bytes.map(Digest::of),
        };
        if kept.is_none() && digest.is_none() {
            return;
        }
        let kept = kept.map(<[u8]>::to_vec);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(digest) = digest {
            state.digests.insert(path.clone(), digest);
        }
        if let Some(kept) = kept {
            state.kept.insert(path.to_string(), kept);
        }
    }
}

/// A file that is read piece by piece; what it was is noted at its end.
struct WitnessedReader<'a> {
    witness: &'a WitnessSource<'a>,
    path: SafePath,
    inner: Box<dyn Read + Send + 'a>,
    /// None once the end was seen.
    hasher: Option<Hasher>,
    /// The bytes, if they are to be kept and are few enough.
    kept: Option<Vec<u8>>,
}

impl Read for WitnessedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        match (&mut self.hasher, count) {
            (Some(hasher), 1..) => {
                hasher.update(&buffer[..count]);
                if let Some(mut kept) = self.kept.take()
                    && kept.len() + count <= MAX_STREAMED
                {
                    kept.extend_from_slice(&buffer[..count]);
                    self.kept = Some(kept);
                }
            }
            (Some(_), 0) if !buffer.is_empty() => {
                let digest = self.hasher.take().map(Hasher::finish);
                let kept = self.kept.take();
                self.witness.note(&self.path, kept.as_deref(), digest);
            }
            _ => {}
        }
        Ok(count)
    }
}

impl Source for WitnessSource<'_> {
    fn entries(&self) -> Result<Vec<Entry>, SourceError> {
        let entries = self.inner.entries()?;
        if !self.has_manifest() {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.entries = Some(entries.clone());
        }
        Ok(entries)
    }

    fn open(&self, path: &SafePath) -> Result<Box<dyn Read + Send + '_>, SourceError> {
        Ok(Box::new(WitnessedReader {
            witness: self,
            path: path.clone(),
            inner: self.inner.open(path)?,
            hasher: Some(Hasher::new()),
            kept: KEPT.contains(&path.as_str()).then(Vec::new),
        }))
    }

    fn read(&self, path: &SafePath, limit: u64) -> Result<Vec<u8>, SourceError> {
        self.view(path, limit).map(Cow::into_owned)
    }

    fn view(&self, path: &SafePath, limit: u64) -> Result<Cow<'_, [u8]>, SourceError> {
        let bytes = self.inner.view(path, limit)?;
        self.note(path, Some(&bytes), None);
        Ok(bytes)
    }

    fn content(&self, path: &SafePath) -> Result<ContentFact, SourceError> {
        let fact = self.inner.content(path)?;
        self.note(path, None, Some(fact.sha256));
        Ok(fact)
    }

    fn do_both(&self, first: &mut (dyn FnMut() + Send), second: &mut (dyn FnMut() + Send)) {
        self.inner.do_both(first, second);
    }

    fn together(&self, files: usize, work: &(dyn Fn(usize) + Sync)) {
        self.inner.together(files, work);
    }

    fn digests(&self, path: &SafePath, wanted: Algorithms) -> Result<FileDigests, SourceError> {
        let digests = self.inner.digests(path, wanted)?;
        self.note(path, None, Some(digests.sha256));
        Ok(digests)
    }

    fn chunks(&self, path: &SafePath) -> Result<ChunkedFile, SourceError> {
        let chunks = self.inner.chunks(path)?;
        self.note(path, None, Some(chunks.sha256));
        Ok(chunks)
    }

    fn visit(&self, files: &[(SafePath, Want)], see: &(dyn Fn(usize, Seen) + Sync)) {
        self.inner.visit(files, &|at, seen| {
            match &seen {
                Ok(Got::Whole(bytes)) => self.note(&files[at].0, Some(bytes), None),
                Ok(Got::Fact(fact)) => self.note(&files[at].0, None, Some(fact.sha256)),
                Ok(Got::Digests(digests)) => {
                    self.note(&files[at].0, None, Some(digests.sha256));
                }
                Err(_) => {}
            }
            see(at, seen);
        });
    }
}

#[cfg(test)]
mod tests {
    use runseal_core::source::MemorySource;

    use super::*;

    #[test]
    fn source_witnessed_gives_digests_of_the_bytes_that_were_handed_out() {
        let path = |name: &str| SafePath::parse(name).unwrap();
        let inner = MemorySource::new([
            (path("run.json"), b"{}".to_vec()),
            (path("a"), b"1".to_vec()),
            (path("opened"), b"3".to_vec()),
            (path("unread"), b"2".to_vec()),
        ]);
        let source = WitnessSource::new(&inner, Format::Pack, &Nobody);
        source.entries().unwrap();
        let wanted = [(path("run.json"), Want::Whole(9)), (path("a"), Want::Fact)];
        source.visit(&wanted, &|_, seen| assert!(seen.is_ok()));
        let mut opened = source.open(&path("opened")).unwrap();
        opened.read_to_end(&mut Vec::new()).unwrap();
        drop(opened);
        assert!(
            source
                .state
                .lock()
                .unwrap()
                .digests
                .contains_key(&path("opened"))
        );
        let noted = source.into_noted(false).unwrap();
        let expected = [
            ("a", "1"),
            ("opened", "3"),
            ("run.json", "{}"),
            ("unread", "2"),
        ];
        let expected =
            expected.map(|(name, text)| (name.to_owned(), Some(Digest::of(text.as_bytes()))));
        assert_eq!(noted.files, expected.into());
        assert_eq!(noted.kept["run.json"], b"{}");
    }
}
