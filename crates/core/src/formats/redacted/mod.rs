//! Redacted copies: bundles with parts withheld, which can still be verified.
//!
//! - [`commit`]: salts, keys and commitments.
//! - [`chunks`]: large files, of which ranges of bytes can be withheld.
//! - [`derivations`]: what is withheld together with something else.
//! - [`documents`]: REDACTION.json and REDACTED.json.
//! - [`mod@redactable`]: what redaction needs to know about a format.
//! - `rules`: RD1-RD7.
//!
//! docs/redaction.md is the reference. [`commit`] determines how values are hidden, and how well;
//! which places must be hidden together is decided where copies are made.

pub mod chunks;
pub mod commit;
pub mod derivations;
pub mod documents;
mod openings;
pub mod redactable;
mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Mutex;

use crate::canon::Value;
use crate::digest::Digest;
use crate::formats::Format;
use crate::formats::definition::{
    Claim, Ended, FolderNames, FormatDefinition, Identity, Judgement, Judging, Outcome, ProofScope,
    ReadName, infos,
};
use crate::formats::run_bundle::collect::parse_canonical;
use crate::formats::run_bundle::pointer::Trail;
use crate::limits::JsonLimits;
use crate::path::SafePath;
use crate::source::{EntryKind, EntryName, Got, Source, SourceError, Want};
use crate::verify::{RuleInfo, run_rules};

use chunks::{PiecedFile, count_chunks};
use documents::{
    CommittedFile, FileKind, Opened, Opening, REDACTED, REDACTION, Redacted, Redaction, find_value,
};
use redactable::{PlaceRef, redactable};
pub use rules::{RULES, RedactedBundle};

/// A file of a copy, as shown.
#[derive(Debug)]
pub struct ShownFile {
    /// Its commitment from what is shown; or why there is none.
    pub commitment: Result<Digest, String>,
    /// What was seen of it.
    pub opened: Opened,
    /// Whether a JSON document is stored as its canonical bytes.
    pub is_canonical: bool,
    /// The document, if it is JSON and rules need it.
    pub document: Option<Value>,
    /// The digest and the size of its bytes, if it is shown whole.
    pub content: Option<(Digest, u64)>,
}

/// A copy as the rules see it.
#[derive(Debug)]
pub struct RedactedView {
    /// REDACTION.json, or what is wrong with it.
    pub redaction: Result<Redaction, String>,
    /// REDACTED.json, or what is wrong with it.
    pub redacted: Result<Redacted, String>,
    /// The files that the copy shows, by path.
    pub shown: BTreeMap<String, ShownFile>,
    /// Entries that do not belong in a copy, and why.
    pub strange: Vec<(String, String)>,
    /// Which of the two documents are not stored as their JCS bytes.
    pub laid_out: Vec<&'static str>,
}

fn show_file(
    file: &CommittedFile,
    redacted: &Redacted,
    listed_bytes: usize,
    got: Result<Got, SourceError>,
    reread: impl FnOnce() -> Result<PiecedFile, SourceError>,
) -> Result<ShownFile, SourceError> {
    let opening = redacted.openings.get(&file.path);
    let mut shown = ShownFile {
        commitment: Err("it has no opening".to_owned()),
        opened: Opened::with_listed(listed_bytes),
        is_canonical: true,
        document: None,
        content: None,
    };
    let Some(opening) = opening else {
        return got.map(|_| shown);
    };
    match (file.kind, got) {
        (FileKind::Chunks, Err(SourceError::TooLarge { .. })) => {
            let chunked = reread()?;
            shown.commitment = match opening {
                Opening::Large(key, pieces) => chunked.commit_whole(key, pieces),
                Opening::Pieces(opening) => {
                    chunked.commit_shown(opening, &mut shown.opened.withheld)
                }
                _ => Err("what is shown has another shape than what was sealed".to_owned()),
            };
            let withheld = shown.opened.withheld.len() as u64;
            shown.content = (withheld == 0).then_some((chunked.sha256, chunked.size));
            shown.opened.seen = count_chunks(chunked.size).saturating_sub(withheld);
        }
        (_, Err(error)) => return Err(error),
        // Never requested here.
        (_, Ok(Got::Digests(_))) => {
            shown.commitment = Err("it was not read in a way that can be judged".to_owned());
        }
        (_, Ok(Got::Fact(fact))) => match opening {
            Opening::Whole(key) => {
                shown.opened.seen = 1;
                shown.content = Some((fact.sha256, fact.bytes));
                shown.commitment = Ok(commit::commit_bytes(&fact.sha256, &key.salt()));
            }
            _ => {
                shown.commitment = Err("a file of bytes is shown whole or not at all".to_owned());
            }
        },
        (kind, Ok(Got::Whole(bytes))) => {
            let value = match kind.read(&bytes) {
                Ok(value) => value,
                Err(fault) => {
                    shown.commitment = Err(fault);
                    return Ok(shown);
                }
            };
            let canonical = kind.write(&value);
            shown.is_canonical = canonical.is_ok_and(|canonical| canonical == bytes);
            let commitment = opening.commit(&value, &Trail::Root, &mut shown.opened);
            shown.commitment = commitment.map_err(|fault| fault.to_string());
            shown.content = Some((Digest::of(&bytes), bytes.len() as u64));
            shown.document = Some(value);
        }
    }
    Ok(shown)
}

/// Reads a file of the source piece by piece.
fn reread_pieces(source: &dyn Source, path: &SafePath) -> Result<PiecedFile, SourceError> {
    source.pieces(path).map_err(|error| match error {
        // The source is a stream that was consumed.
        SourceError::TooLarge { .. } => SourceError::Io {
            path: path.to_string(),
            source: io::Error::other(
                "it was sealed in pieces, which cannot be checked in a stream: save it first",
            ),
        },
        other => other,
    })
}

impl RedactedView {
    /// Collects what the copy in `source` shows; every file is opened once.
    ///
    /// # Errors
    /// If the source cannot be listed, or a file in it cannot be read.
    pub fn collect(source: &dyn Source) -> Result<Self, SourceError> {
        let mut paths = BTreeMap::new();
        let mut folders = Vec::new();
        let mut strange = Vec::new();
        for entry in source.entries()? {
            let shown = entry.name.shown().to_owned();
            match (entry.name, entry.kind) {
                (EntryName::Safe(_), EntryKind::Directory) => folders.push(format!("{shown}/")),
                (EntryName::Safe(path), EntryKind::File) => {
                    paths.insert(shown, path);
                }
                (EntryName::Safe(_), kind) => {
                    let fault = format!("{} does not belong here", kind.with_article());
                    strange.push((shown, fault));
                }
                (EntryName::Unsafe(_), _) => strange.push((shown, "unsafe name".to_owned())),
            }
        }
        for folder in folders {
            let mut below = paths.range(folder.clone()..);
            if !below
                .next()
                .is_some_and(|(path, _)| path.starts_with(&folder))
            {
                let fault = "a folder without files does not belong here".to_owned();
                strange.push((folder, fault));
            }
        }
        let mut read = |name: &str| match paths.remove(name) {
            None => Ok(Err("the file is missing".to_owned())),
            Some(path) => match source.read(&path, JsonLimits::LARGEST_DOCUMENT) {
                Ok(bytes) => Ok(Ok(bytes)),
                Err(error @ SourceError::TooLarge { .. }) => Ok(Err(error.to_string())),
                Err(error) => Err(error),
            },
        };
        let (redaction, redacted) = (read(REDACTION)?, read(REDACTED)?);
        let mut laid_out = Vec::new();
        for (name, bytes) in [(REDACTION, &redaction), (REDACTED, &redacted)] {
            let is_laid_out = |bytes: &Vec<u8>| matches!(parse_canonical(bytes), Ok((.., false)));
            if bytes.as_ref().is_ok_and(is_laid_out) {
                laid_out.push(name);
            }
        }
        let redaction = redaction.and_then(|bytes| Redaction::parse(&bytes));
        let redacted = redacted.and_then(|bytes| Redacted::parse(&bytes));
        let mut view = Self {
            redaction,
            redacted,
            shown: BTreeMap::new(),
            strange,
            laid_out,
        };
        if let (Ok(redaction), Ok(redacted)) = (&view.redaction, &view.redacted) {
            let mut wanted = Vec::new();
            let mut files = Vec::new();
            for (name, path) in paths {
                let Some(file) = redaction.file(&name) else {
                    let fault = "it is not a file of the sealed bundle".to_owned();
                    view.strange.push((name, fault));
                    continue;
                };
                let want = match file.kind {
                    FileKind::Json | FileKind::Lines => Want::Whole(JsonLimits::LARGEST_DOCUMENT),
                    FileKind::Bytes => Want::Fact,
                    // Read piece by piece, and not here.
                    FileKind::Chunks => Want::Whole(0),
                };
                wanted.push((path, want));
                files.push(file);
            }
            let format = redactable(&redaction.format);
            let stays = format.iter().flat_map(|format| format.stays);
            let mut keeps: Vec<_> = stays.map(|(path, _)| *path).collect();
            keeps.extend(format.iter().flat_map(|format| format.reads));
            let listed = redacted.listed_bytes();
            let results = Mutex::new(Vec::new());
            source.visit(&wanted, &|at, seen| {
                let again = || reread_pieces(source, &wanted[at].0);
                let listed = listed.get(files[at].path.as_str()).copied();
                let listed = listed.unwrap_or_default();
                let mut shown = show_file(files[at], redacted, listed, seen, again);
                if let Ok(shown) = &mut shown
                    && !keeps.contains(&files[at].path.as_str())
                {
                    shown.document = None;
                }
                let mut results = results.lock().unwrap_or_else(|lock| lock.into_inner());
                results.push((files[at].path.clone(), shown));
            });
            let results = results.into_inner();
            for (path, shown) in results.unwrap_or_else(|lock| lock.into_inner()) {
                view.shown.insert(path, shown?);
            }
        }
        view.strange.sort();
        Ok(view)
    }

    /// The files with something withheld.
    pub fn touched(&self) -> BTreeSet<String> {
        let withheld = self.redacted.iter().flat_map(|redacted| &redacted.withheld);
        withheld.map(|place| place.path.clone()).collect()
    }

    /// The places that are withheld.
    pub fn places(&self) -> Vec<PlaceRef<'_>> {
        let withheld = self.redacted.iter().flat_map(|redacted| &redacted.withheld);
        let places = withheld.map(|place| (place.path.as_str(), place.pointer.as_deref()));
        places.collect()
    }

    /// How many values are withheld, of how many.
    pub fn counts(&self) -> Option<(u64, u64)> {
        let all = self.redaction.as_ref().ok()?.values();
        let seen = self.shown.values().map(|file| file.opened.seen);
        let seen = seen.fold(0, u64::saturating_add);
        Some((all.saturating_sub(seen), all))
    }

    /// What it calls itself, how the run ended, and what it withholds.
    pub fn identity(&self) -> Identity {
        let format = self.redaction.as_ref().ok();
        let format = format.and_then(|redaction| redactable(&redaction.format));
        let ids = format.map_or(&[][..], |format| format.ids).iter();
        let ids = ids.filter_map(|(path, pointer)| {
            let document = self.shown.get(*path)?.document.as_ref()?;
            find_value(document, pointer)?.as_str().map(str::to_owned)
        });
        // Every copy shows how the run ended, so it is stated as for a whole bundle.
        let documents = self.shown.iter();
        let documents =
            documents.filter_map(|(path, file)| Some((&**path, file.document.as_ref()?)));
        let ended = format.map(|format| (format.outcome)(&documents.collect()));
        let ended = ended.unwrap_or(Ended {
            word: None,
            outcome: Some(Outcome::Unknown),
        });
        let outcome = self.counts().map(|(withheld, all)| {
            let redacted = format!("redacted {withheld} of {all}");
            let word = ended.word;
            word.map_or(redacted.clone(), |word| format!("{word}; {redacted}"))
        });
        let mut identity = Identity {
            ids: ids.collect(),
            outcome,
            ended_as: ended.word.map(Into::into),
            result: ended.outcome,
            ..Identity::default()
        };
        if let Ok(redacted) = &self.redacted {
            identity.withheld = redacted
                .withheld
                .iter()
                .map(|place| (place.place(), place.reason.clone()))
                .collect();
        }
        identity
    }
}

/// The definition of the redacted copy format.
pub static DEFINITION: RedactedFormat = RedactedFormat;

/// A redacted copy: a folder with REDACTED.json.
pub struct RedactedFormat;

impl FormatDefinition for RedactedFormat {
    fn format(&self) -> Format {
        Format::Redacted
    }

    fn proves(&self) -> ProofScope {
        ProofScope {
            shows: &[
                "That everything it shows is what was sealed, at its place, and that nothing is missing except \
             what it says it withholds.",
            ],
            does_not: &[
                "What the withheld values are, or that they satisfy the rules of the whole bundle.",
            ],
        }
    }

    fn rules(&self) -> Vec<&'static RuleInfo> {
        infos(&RULES)
    }

    fn recognizes_name(&self, name: &str) -> bool {
        matches!(name, REDACTED | REDACTION)
    }

    fn sealed_names(&self) -> &'static [&'static str] {
        &[REDACTED]
    }

    fn claims(&self, names: &FolderNames, _: ReadName<'_>) -> Claim {
        if names.has(REDACTED) {
            Claim::Strong
        } else {
            Claim::No
        }
    }

    fn judge_folder(
        &self,
        source: &dyn Source,
        judging: &Judging<'_>,
    ) -> Option<Result<Judgement, SourceError>> {
        Some(RedactedView::collect(source).map(|view| Judgement {
            report: run_rules(&RULES, &view, judging.level),
            identity: view.identity(),
        }))
    }
}
