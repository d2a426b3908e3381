//! Judges units, each by the registry's definition of its format.
//!
//! [`Judge::judge`] is the only place that decides what something is and how it is judged, whether a
//! survey asks or whoever shows one unit.

use std::borrow::Cow;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use runseal_archive::{Archive, Beginning, Container, HEAD, fill, sniff, sniff_unread};
use runseal_core::canon::{Kind, Node, ReadOptions, parse_document};
use runseal_core::formats::definition::{DocumentFolder, Judging, definition, judge_parsed};
use runseal_core::formats::detect::{Detected, detect_root, detect_text, is_ordinary_zip};
use runseal_core::formats::{Format, REGISTRY};
use runseal_core::limits::JsonLimits;
use runseal_core::source::{NoThreads, Source, SourceError, read_bounded};
use runseal_core::verify::UnitResult;

use super::answer::{UnitAnswer, Unjudged};
use super::archived::{judge_archive, judge_in_archive};
use super::content::{Keep, KeptBeside, RememberingSource, UnitContent};
use super::observer::{Kept, Observer, Position};
use super::schema::LocalTools;
use super::walk::{folder_of_list, look_at};
use super::{
    Files, FolderFiles, Found, Item, Unit, UnitResults, VerifyOptions, display_path, name_several,
};

/// How units are judged.
#[derive(Clone, Copy)]
pub(super) struct Judge<'a> {
    pub(super) files: &'a dyn Files,
    pub(super) options: VerifyOptions,
    /// The number of threads that work on one unit; by default the number of processors.
    pub(super) threads: Option<usize>,
    pub(super) observer: &'a dyn Observer,
}

/// What judging an item gives.
pub(super) enum ItemAnswer {
    /// It is one unit, or cannot be judged.
    Unit(Box<UnitAnswer>),
    /// It is an archive, which may contain any number of units.
    Archive(Box<Archive>),
    /// It was found by searching, and has no known format.
    PassedOver,
    /// It needs no result.
    Nothing,
}

impl From<UnitAnswer> for ItemAnswer {
    fn from(answer: UnitAnswer) -> Self {
        Self::Unit(Box::new(answer))
    }
}

impl From<Unjudged> for ItemAnswer {
    fn from(why: Unjudged) -> Self {
        UnitAnswer::from(why).into()
    }
}

impl From<Option<UnitAnswer>> for ItemAnswer {
    fn from(answer: Option<UnitAnswer>) -> Self {
        answer.map_or(Self::PassedOver, Self::from)
    }
}

fn unread(error: SourceError) -> ItemAnswer {
    Unjudged::Unread(None, error).into()
}

impl Judge<'_> {
    /// Judges one unit, or every unit in an archive, for a survey.
    pub(super) fn judge_unit(&self, unit: Unit) -> UnitResults {
        let item = unit.0;
        if let Item::Journal(path) = item {
            return UnitResults {
                journals: vec![path],
                ..UnitResults::default()
            };
        }
        let (path, found, inside) = match &item {
            Item::Folder(path, _, found) | Item::File(path, found) => (path.clone(), *found, None),
            Item::Unnamed { path, .. } => (path.clone(), Found::Searched, None),
            Item::Unjudged(path, _) => (display_path(path).into(), Found::Searched, None),
            Item::Inside(inside) => {
                let shown = inside.shown().into();
                (shown, Found::Named, Some(inside.clone()))
            }
            Item::Standard => ("-".into(), Found::Named, None),
            Item::PassedOver | Item::Nothing | Item::Journal(_) => {
                (PathBuf::new(), Found::Searched, None)
            }
        };
        let shown = display_path(&path);
        let mut results = match (self.judge(item), inside) {
            (ItemAnswer::Unit(answer), _) => {
                let (result, kept) = answer.into_result(shown);
                self.one_result(result, kept)
            }
            (ItemAnswer::Archive(archive), Some(inside)) => {
                judge_in_archive(&inside, *archive, self)
            }
            (ItemAnswer::Archive(archive), None) => judge_archive(&shown, *archive, found, self),
            (ItemAnswer::PassedOver, _) => UnitResults::passed_over(),
            (ItemAnswer::Nothing, _) => UnitResults::default(),
        };
        if path.to_str().is_none() {
            results.keep_bytes_of(&path);
        }
        results
    }

    /// Judges an item, and keeps as much of it as the observer wants. An archive is only read.
    pub(super) fn judge(&self, item: Item) -> ItemAnswer {
        match item {
            Item::Folder(path, format, found) => {
                self.judge_folder(&path, &path, format, found).into()
            }
            Item::File(path, found) => self.judge_file(&path, found),
            Item::Unnamed { path, is_listed } => match self.judge_unnamed(&path) {
                ItemAnswer::PassedOver if is_listed => ItemAnswer::Nothing,
                answer => answer,
            },
            Item::Inside(inside) => match self.read_archive(&inside.archive) {
                Ok(Some(archive)) => ItemAnswer::Archive(Box::new(archive)),
                Ok(None) => {
                    let reason = "the file before `!/` is not an archive";
                    Unjudged::Refused(reason.to_owned()).into()
                }
                Err(error) => unread(error),
            },
            Item::Standard => self.judge_standard(),
            Item::Unjudged(_, why) => (*why).into(),
            Item::PassedOver => ItemAnswer::PassedOver,
            Item::Nothing | Item::Journal(_) => ItemAnswer::Nothing,
        }
    }

    /// Judges a file whose name says nothing, by its first bytes.
    fn judge_unnamed(&self, path: &Path) -> ItemAnswer {
        match look_at_unnamed(self.files, path) {
            Ok(Beginning::Other) => ItemAnswer::PassedOver,
            Ok(Beginning::UnreadArchive) => {
                Unjudged::Refused(self.unread_archive(path).unwrap_or_default()).into()
            }
            Ok(Beginning::Archive) => self.judge_file(path, Found::ByContent),
            Ok(Beginning::Json) => match self.files.read(path, JsonLimits::LARGEST_DOCUMENT) {
                Ok(bytes) => self.judge_bytes(path, bytes, Found::ByContent),
                Err(error) => unread(error),
            },
            Err(error) => unread(error),
        }
    }

    /// The message for an archive of a kind that is not read here; `None` if the file is not one.
    fn unread_archive(&self, path: &Path) -> Option<String> {
        let head = self.files.head(path, HEAD).ok()??;
        sniff_unread(&head).map(unread_message)
    }

    /// Reads an archive, with the texts in it if they are shown.
    fn read_archive(&self, path: &Path) -> Result<Option<Archive>, SourceError> {
        let top = Position::ArchiveTop {
            has_signatures: false,
        };
        if self.observer.keep(path, top) == Keep::Everything {
            self.files.read_archive(path)
        } else {
            self.files.judge_archive(path)
        }
    }

    /// One result, which the observer sees.
    fn one_result(&self, result: UnitResult, kept: Kept) -> UnitResults {
        match kept {
            Kept::Nothing => self.observer.see(&result, None),
            Kept::UnitContent(content) => self.observer.see(&result, Some(content)),
            Kept::Judged(judged) => self.observer.show(*judged),
        }
        UnitResults::one(result)
    }

    fn judge_standard(&self) -> ItemAnswer {
        let shown = "standard input";
        let mut input = self.files.standard_input();
        let mut head = [0; HEAD];
        let filled = match fill(&mut input, &mut head) {
            Ok(filled) => filled,
            Err(error) => return Unjudged::Refused(error.to_string()).into(),
        };
        if let Some(kind) = sniff_unread(&head[..filled]) {
            return Unjudged::Refused(unread_message(kind)).into();
        }
        let mut whole = head[..filled].chain(input);
        if let Some(container) = sniff(&head[..filled]) {
            let read = self.files.read_archive_stream(container, &mut whole, shown);
            return match read {
                Ok(archive) => ItemAnswer::Archive(Box::new(archive)),
                Err(error) => unread(error),
            };
        }
        match read_bounded(&mut whole, shown, 0, JsonLimits::LARGEST_DOCUMENT) {
            Ok(bytes) => {
                let keep = self.observer.keep(Path::new("-"), Position::Path);
                self.judge_document("-", (None, keep), bytes.into(), Found::Named)
                    .into()
            }
            Err(error) => unread(error),
        }
    }

    fn judge_file(&self, path: &Path, found: Found) -> ItemAnswer {
        if let Some(folder) = folder_of_list(self.files, path) {
            let mut answer = self.judge_folder(folder, path, Format::Checksums, found);
            if let Keep::Digests(_) = answer.keep {
                // The list is one file, not every file that it names.
                answer.content = None;
            }
            return answer.into();
        }
        match self.read_archive(path) {
            Ok(Some(archive)) => return ItemAnswer::Archive(Box::new(archive)),
            Ok(None) => {}
            Err(error) => return unread(error),
        }
        if let Some(reason) = self.unread_archive(path) {
            return Unjudged::Refused(reason).into();
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if Container::of_file_name(&name).is_some() {
            return Unjudged::Unknown(None, NO_ARCHIVE.to_owned()).into();
        }
        match self.files.read(path, JsonLimits::LARGEST_DOCUMENT) {
            Ok(bytes) => self.judge_bytes(path, bytes, found),
            Err(error) => unread(error),
        }
    }

    /// Judges a file that is a document.
    fn judge_bytes(&self, path: &Path, bytes: Vec<u8>, found: Found) -> ItemAnswer {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let files = FolderFiles::of_document(self.files, path);
        let beside = DocumentFolder {
            name: &name,
            files: &files,
        };
        let keep = self.observer.keep(path, Position::Path);
        let shown = display_path(path);
        let answer = self.judge_document(&shown, (Some(beside), keep), bytes.into(), found);
        match answer {
            // The manifest represents its bundle.
            Some(answer) if answer.is_of(Format::JobBundle) && name == "bundle.json" => self
                .judge_folder(files.folder(), path, Format::JobBundle, found)
                .into(),
            answer => answer.into(),
        }
    }

    /// Judges a document by its text and the files next to it. Returns `None` if it has no known format
    /// and was found by searching.
    pub(super) fn judge_document(
        &self,
        path: &str,
        (beside, keep): (Option<DocumentFolder<'_>>, Keep),
        bytes: Cow<'_, [u8]>,
        found: Found,
    ) -> Option<UnitAnswer> {
        let name = beside.map_or("", |beside| beside.name);
        let parsed = parse_document(&bytes, &ReadOptions::default());
        let detected = match &parsed {
            Ok(document) => detect_root(document.root(), name),
            Err(_) if found == Found::ByContent => return None,
            Err(_) => detect_text(&bytes, name),
        };
        let format = match (detected, parsed.as_ref()) {
            (Detected::Is(format), _) => format,
            (Detected::Several(formats), _) => {
                return Some(Unjudged::Unknown(None, name_several(&formats)).into());
            }
            (Detected::Unknown, _) if found != Found::Named => return None,
            (Detected::Unknown, Ok(document)) => {
                let message = unknown_message(document.root());
                return Some(Unjudged::Unknown(None, message).into());
            }
            (Detected::Unknown, Err(error)) => {
                return Some(Unjudged::NotJson(None, error.clone()).into());
            }
        };
        let kept = beside.filter(|_| keep == Keep::Everything);
        let kept = kept.map(|beside| KeptBeside::new(beside.files));
        let beside = match &kept {
            Some(files) => Some(DocumentFolder { name, files }),
            None => beside,
        };
        let judged = judge_parsed(format, &parsed, &bytes, self.options.level, beside);
        let judgement = match (judged, parsed) {
            (Some(Ok(judgement)), _) => Ok(judgement),
            (Some(Err(error)), _) | (None, Err(error)) => {
                Err(Unjudged::NotJson(Some(format), error))
            }
            (None, Ok(_)) => Err(Unjudged::Unknown(Some(format), NAME_THE_FOLDER.to_owned())),
        };
        let name = if name.is_empty() { path } else { name };
        let content = match keep {
            Keep::Verdict => None,
            Keep::Everything if judgement.is_ok() => Some(UnitContent::of_shown(
                format,
                name,
                bytes.into_owned(),
                kept,
            )),
            _ => Some(UnitContent::of_document(format, bytes.into_owned())),
        };
        Some(UnitAnswer {
            judgement,
            keep,
            content,
        })
    }

    /// What judging a folder needs, without threads and a path.
    pub(super) fn judging(&self) -> Judging<'static> {
        Judging {
            path: "",
            level: self.options.level,
            tools: &LocalTools,
            threads: &NoThreads,
        }
    }

    /// Judges a folder of a known format. Its signatures are next to the path that was `named`. If the
    /// folder was found by searching, only its own name is judged, not the path that leads to it.
    fn judge_folder(&self, path: &Path, named: &Path, format: Format, found: Found) -> UnitAnswer {
        let judged_path = if found == Found::Named && self.observer.judges_typed_path() {
            display_path(path)
        } else {
            display_path(Path::new(path.file_name().unwrap_or_default()))
        };
        let follows_link = definition(format).follows_root_link();
        match self.files.open_folder(path, follows_link, self.threads) {
            Ok(source) => {
                let keep = self.observer.keep(named, Position::Path);
                let threads = self.files.lend_threads(path, self.threads);
                let judging = Judging {
                    path: &judged_path,
                    threads: &*threads,
                    ..self.judging()
                };
                judge_source(&*source, format, keep, judging)
            }
            Err(error) => Unjudged::Unread(Some(format), error).into(),
        }
    }
}

/// What a file whose name says nothing is. Office documents and programs that are zips inside are
/// not opened.
pub(super) fn look_at_unnamed(files: &dyn Files, path: &Path) -> Result<Beginning, SourceError> {
    let name = path.file_name().unwrap_or_default();
    if is_ordinary_zip(name.as_encoded_bytes()) {
        Ok(Beginning::Other)
    } else {
        look_at(files, path)
    }
}

fn unread_message(kind: &str) -> String {
    format!("{kind}, which runseal does not read; unpack it and verify what was in it")
}

const NO_ARCHIVE: &str = "it is named like an archive, but its first bytes are not those of a tar \
    (ustar, GNU or pax), zip, gzip or Zstandard file";

const NAME_THE_FOLDER: &str = "this is one file of a bundle; name the folder it belongs to";

fn unknown_message(root: Node<'_>) -> String {
    if root.get("run_schema_version").is_some() || root.get("contracts_hashes").is_some() {
        return NAME_THE_FOLDER.to_owned();
    }
    let members: Vec<_> = root
        .members()
        .take(8)
        .map(|(key, _)| format!("`{}`", key.to_lossy()))
        .collect();
    let found = match (root.kind(), members.as_slice()) {
        (Kind::Object, []) => "it has no members".to_owned(),
        (Kind::Object, members) => format!("it has {}", members.join(", ")),
        (kind, _) => format!("it is {}", kind.with_article()),
    };
    let known: Vec<_> = REGISTRY
        .iter()
        .filter(|definition| !definition.members().is_empty())
        .map(|definition| definition.format().title())
        .collect();
    format!(
        "no known format: {found}; looked for the members of a {}",
        known.join(", ")
    )
}

/// Judges what a source contains, and keeps as much of it as `keep` says. What is shown is the same
/// wherever the unit is and however many threads there are: rules do not see the path, and as much as there
/// is room for is kept in the order in which it is read.
pub(super) fn judge_source(
    source: &dyn Source,
    format: Format,
    keep: Keep,
    mut judging: Judging<'_>,
) -> UnitAnswer {
    let path = judging.path;
    if keep == Keep::Everything {
        (judging.path, judging.threads) = ("", &NoThreads);
    }
    let judge = |source: &dyn Source| {
        let judged = definition(format).judge_folder(source, &judging);
        let judged = judged.unwrap_or_else(|| {
            Err(SourceError::Io {
                path: path.to_owned(),
                source: io::Error::other("this format is not a folder"),
            })
        });
        judged.map_err(|error| Unjudged::Unverified(format, error))
    };
    let (judgement, content) = if keep == Keep::Verdict {
        (judge(source), None)
    } else {
        let remembering = RememberingSource::new(source, format, keep);
        match judge(&remembering) {
            Ok(judgement) => match remembering.into_content() {
                Ok(content) => (Ok(judgement), Some(content)),
                Err(error) if keep == Keep::Everything => {
                    (Err(Unjudged::Unread(Some(format), error)), None)
                }
                Err(_) => (Ok(judgement), None),
            },
            Err(why) => (Err(why), None),
        }
    };
    UnitAnswer {
        judgement,
        keep,
        content,
    }
}
