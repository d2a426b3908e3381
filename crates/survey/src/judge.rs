//! Judges units, each by the registry's definition of its format.

use std::io::{self, Read};
use std::path::Path;

use runseal_archive::{Archive, Beginning, Container, HEAD, fill, sniff, sniff_unread};
use runseal_core::canon::{JsonError, Kind, Node, ReadOptions, parse_document};
use runseal_core::formats::definition::{Beside, Judgement, Judging, definition, judge_parsed};
use runseal_core::formats::detect::{Detected, detect_root, detect_text, is_ordinary_zip};
use runseal_core::formats::{Format, REGISTRY};
use runseal_core::limits::JsonLimits;
use runseal_core::source::{Source, SourceError, read_bounded};
use runseal_core::verify::{Checked, Level, NO_FORMAT, NO_JSON};

use super::archived::{judge_archive, judge_in_archive};
use super::content::{Keep, RememberingSource, UnitContent};
use super::inside::InsidePath;
use super::load::{Judged, judge_and_keep, load_document};
use super::observer::{Kept, Observer, Position};
use super::schema::LocalTools;
use super::walk::{folder_of_list, look_at};
use super::{
    Files, FolderFiles, Found, Item, Unit, UnitResults, VerifyOptions, display_path, error_chain,
    name_several,
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

/// Where a folder that is judged is.
pub(super) struct UnitPlace<'a> {
    /// Its path as answers show it.
    pub(super) name: String,
    /// The path to judge, for formats with rules about it.
    pub(super) judged_path: &'a str,
    /// Whether it came in an archive.
    pub(super) is_archived: bool,
    /// How much the observer wants to have of it.
    pub(super) keep: Keep,
}

impl Judge<'_> {
    /// Judges one unit.
    pub(super) fn judge_unit(&self, unit: Unit) -> UnitResults {
        let raw = match &unit.0 {
            Item::Folder(path, ..) | Item::File(path, _) | Item::Unnamed { path, .. } => {
                Some(path).filter(|path| path.to_str().is_none()).cloned()
            }
            _ => None,
        };
        let mut results = self.judge_item(unit.0);
        if let Some(raw) = raw {
            results.keep_bytes_of(&raw);
        }
        results
    }

    fn judge_item(&self, item: Item) -> UnitResults {
        match item {
            Item::Known(result) => self.one_result(*result, Kept::Nothing),
            Item::Standard => self.judge_standard(),
            Item::Folder(path, format, found) => {
                let (result, kept) = self.judge_folder(&path, &path, format, found);
                self.one_result(result, kept)
            }
            Item::File(path, found) => self.judge_file(&path, found),
            Item::Unnamed { path, is_listed } => self.judge_unnamed(&path, is_listed),
            Item::Inside(inside) => self.judge_inside(&inside),
            Item::PassedOver => UnitResults::passed_over(),
            Item::Nothing => UnitResults::default(),
        }
    }

    /// Judges a file whose name says nothing, by its first bytes. Text that is not JSON is passed over,
    /// whatever it begins with: logs may look like documents.
    fn judge_unnamed(&self, path: &Path, is_listed: bool) -> UnitResults {
        let unit = || UnitResults {
            passed_over: u64::from(!is_listed),
            ..UnitResults::default()
        };
        let lost = |reason: String| self.not_checked(display_path(path), reason);
        match look_at_unnamed(self.files, path) {
            Ok(Beginning::Other) => unit(),
            Ok(Beginning::UnreadArchive) => lost(self.unread_archive(path).unwrap_or_default()),
            Ok(Beginning::Archive) => self.judge_file(path, Found::BySearch),
            Ok(Beginning::Json) => match self.files.read(path, JsonLimits::LARGEST_DOCUMENT) {
                Ok(bytes) if parse_document(&bytes, &ReadOptions::default()).is_err() => unit(),
                Ok(_) => {
                    let judged = self.judge_file(path, Found::BySearch);
                    if judged.results.is_empty() {
                        unit()
                    } else {
                        judged
                    }
                }
                Err(error) => lost(error_chain(&error)),
            },
            Err(error) => lost(error_chain(&error)),
        }
    }

    /// The message for an archive of a kind that is not read here; `None` if the file is not one.
    fn unread_archive(&self, path: &Path) -> Option<String> {
        let head = self.files.head(path, HEAD).ok()??;
        sniff_unread(&head).map(unread_message)
    }

    fn judge_inside(&self, inside: &InsidePath) -> UnitResults {
        let lost = |reason: String| self.not_checked(inside.shown(), reason);
        match self.read_archive(&inside.archive) {
            Ok(Some(archive)) => judge_in_archive(inside, archive, self),
            Ok(None) => lost("the file before `!/` is not an archive".to_owned()),
            Err(error) => lost(error_chain(&error)),
        }
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

    fn keep_of(&self, path: &str) -> Keep {
        self.observer.keep(Path::new(path), Position::Path)
    }

    /// One result, which the observer sees.
    fn one_result(&self, result: Checked, kept: Kept) -> UnitResults {
        match kept {
            Kept::Nothing => self.observer.see(&result, None),
            Kept::UnitContent(content) => self.observer.see(&result, Some(content)),
            Kept::Judged(judged) => self.observer.show(*judged),
        }
        UnitResults::one(result)
    }

    /// The result of something of unknown format that could not be read.
    fn not_checked(&self, path: String, reason: String) -> UnitResults {
        self.one_result(Checked::not_checked(path, None, reason), Kept::Nothing)
    }

    fn judge_standard(&self) -> UnitResults {
        let path = "-";
        let lost = |message: String| self.not_checked(path.to_owned(), message);
        let mut input = self.files.standard_input();
        let mut head = [0; HEAD];
        let filled = match fill(&mut input, &mut head) {
            Ok(filled) => filled,
            Err(error) => return lost(error.to_string()),
        };
        if let Some(kind) = sniff_unread(&head[..filled]) {
            return lost(unread_message(kind));
        }
        let mut whole = head[..filled].chain(input);
        match sniff(&head[..filled]) {
            Some(container) => {
                let shown = "standard input";
                let read = self.files.read_archive_stream(container, &mut whole, shown);
                match read {
                    Ok(archive) => judge_archive(path, archive, Found::ByName, self),
                    Err(error) => lost(error_chain(&error)),
                }
            }
            None => {
                let limit = JsonLimits::LARGEST_DOCUMENT;
                match read_bounded(&mut whole, "standard input", 0, limit) {
                    Ok(bytes) => self
                        .judge_document(path, (None, self.keep_of(path)), &bytes, Found::ByName)
                        .map_or_else(UnitResults::passed_over, |(result, kept)| {
                            self.one_result(result, kept)
                        }),
                    Err(error) => lost(error_chain(&error)),
                }
            }
        }
    }

    fn judge_file(&self, path: &Path, found: Found) -> UnitResults {
        let name = display_path(path);
        let lost = |error: &SourceError| self.not_checked(name.clone(), error_chain(error));
        if let Some(folder) = folder_of_list(self.files, path) {
            let (result, kept) = self.judge_folder(folder, path, Format::Checksums, found);
            let result = Checked {
                path: name,
                ..result
            };
            // The list is one file, not every file that it names.
            let kept = match (kept, self.observer.keep(path, Position::Path)) {
                (Kept::UnitContent(_), Keep::Digests(_)) => Kept::Nothing,
                (kept, _) => kept,
            };
            return self.one_result(result, kept);
        }
        match self.read_archive(path) {
            Ok(Some(archive)) => return judge_archive(&name, archive, found, self),
            Ok(None) => {}
            Err(error) => return lost(&error),
        }
        if let Some(reason) = self.unread_archive(path) {
            return self.not_checked(name, reason);
        }
        let file_name = path.file_name().unwrap_or_default().to_string_lossy();
        if Container::of_file_name(&file_name).is_some() {
            let result = Checked::invalid(name, None, NO_FORMAT, NO_ARCHIVE);
            return self.one_result(result, Kept::Nothing);
        }
        let bytes = match self.files.read(path, JsonLimits::LARGEST_DOCUMENT) {
            Ok(bytes) => bytes,
            Err(error) => return lost(&error),
        };
        let files = FolderFiles::of_document(self.files, path);
        let beside = Beside {
            name: &file_name,
            files: &files,
        };
        let keep = self.observer.keep(path, Position::Path);
        match self.judge_document(&name, (Some(beside), keep), &bytes, found) {
            // The manifest represents its bundle.
            Some((result, _))
                if result.format == Some(Format::JobBundle) && file_name == "bundle.json" =>
            {
                let (result, kept) =
                    self.judge_folder(files.folder(), path, Format::JobBundle, found);
                let result = Checked {
                    path: name,
                    ..result
                };
                self.one_result(result, kept)
            }
            Some((result, Kept::Nothing)) => {
                let wanted = result.format.filter(|_| keep != Keep::Verdict);
                let content = wanted.map(|format| UnitContent::of_document(format, bytes));
                self.one_result(result, content.map_or(Kept::Nothing, Kept::UnitContent))
            }
            Some((result, kept)) => self.one_result(result, kept),
            None => UnitResults::passed_over(),
        }
    }

    /// Judges a document, and keeps the whole of it if it is shown. Returns `None` if it has no known
    /// format and was found by searching.
    pub(super) fn judge_document(
        &self,
        path: &str,
        (beside, keep): (Option<Beside<'_>>, Keep),
        bytes: &[u8],
        found: Found,
    ) -> Option<(Checked, Kept)> {
        let level = self.options.level;
        if keep == Keep::Everything
            && let Ok(Some(judged)) = load_document(path, beside, bytes.into(), level)
        {
            return Some(shown_result(path, judged));
        }
        let result = judge_text(path, beside, bytes, found, level)?;
        Some((result, Kept::Nothing))
    }

    /// Judges a folder of a known format. Its signatures are next to the path that was `named`. If the
    /// folder was found by searching, only its own name is judged, not the path that leads to it.
    fn judge_folder(
        &self,
        path: &Path,
        named: &Path,
        format: Format,
        found: Found,
    ) -> (Checked, Kept) {
        let name = display_path(path);
        let judged_path = match found {
            Found::ByName if self.observer.judges_typed_path() => name.clone(),
            Found::ByName | Found::BySearch => {
                display_path(Path::new(path.file_name().unwrap_or_default()))
            }
        };
        let source = match open_folder(self.files, path, format, self.threads) {
            Ok(source) => source,
            Err(error) => return (of_judged(name, format, Err(error)), Kept::Nothing),
        };
        let place = UnitPlace {
            name,
            judged_path: &judged_path,
            is_archived: false,
            keep: self.observer.keep(named, Position::Path),
        };
        self.judge_and_remember(place, &*source, format)
    }

    /// Judges what a source contains, and keeps as much of it as `place` says.
    pub(super) fn judge_and_remember(
        &self,
        place: UnitPlace<'_>,
        source: &dyn Source,
        format: Format,
    ) -> (Checked, Kept) {
        let UnitPlace {
            name, judged_path, ..
        } = place;
        let level = self.options.level;
        let remembering = RememberingSource::new(source, format, place.keep);
        if place.keep == Keep::Everything {
            return match judge_and_keep(&name, format, remembering, level) {
                Ok(judged) => shown_result(&name, judged),
                Err(error) => {
                    let result = Checked::not_checked(name, Some(format), error.to_string());
                    (result, Kept::Nothing)
                }
            };
        }
        if place.keep == Keep::Verdict {
            let judged = judge_source(judged_path, source, format, level);
            return (of_judged(name, format, judged), Kept::Nothing);
        }
        let judged = judge_source(judged_path, &remembering, format, level);
        let content = judged
            .as_ref()
            .ok()
            .and_then(|_| remembering.into_content().ok());
        let kept = content.map_or(Kept::Nothing, |content| {
            Kept::UnitContent(UnitContent {
                is_archived: place.is_archived,
                ..content
            })
        });
        (of_judged(name, format, judged), kept)
    }
}

/// The result of something that is shown. Both parts come from the same judgement.
fn shown_result(path: &str, judged: Judged) -> (Checked, Kept) {
    (judged.to_checked(path), Kept::Judged(Box::new(judged)))
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

/// Judges a document by its text and the files next to it. Returns `None` if it has no known format
/// and was found by searching.
fn judge_text(
    path: &str,
    beside: Option<Beside<'_>>,
    bytes: &[u8],
    found: Found,
    level: Level,
) -> Option<Checked> {
    let file_name = beside.map_or("", |beside| beside.name);
    let parsed = parse_document(bytes, &ReadOptions::default());
    let detected = match &parsed {
        Ok(document) => detect_root(document.root(), file_name),
        Err(_) => detect_text(bytes, file_name),
    };
    let format = match detected {
        Detected::Is(format) => format,
        Detected::Several(formats) => {
            let message = name_several(&formats);
            return Some(Checked::invalid(path, None, NO_FORMAT, message));
        }
        Detected::Unknown if found == Found::BySearch => return None,
        Detected::Unknown => {
            return Some(match parsed {
                Ok(document) => {
                    Checked::invalid(path, None, NO_FORMAT, unknown_message(document.root()))
                }
                Err(error) => broken(path, None, &error),
            });
        }
    };
    Some(match judge_parsed(format, &parsed, bytes, level, beside) {
        Some(Ok(judgement)) => Checked::of_judgement(path, judgement),
        Some(Err(error)) => broken(path, Some(format), &error),
        None => match parsed {
            Ok(_) => Checked::invalid(path, Some(format), NO_FORMAT, NAME_THE_FOLDER),
            Err(error) => broken(path, Some(format), &error),
        },
    })
}

fn broken(path: &str, format: Option<Format>, error: &JsonError) -> Checked {
    let message = format!("{}, at {}", error.kind, error.position);
    Checked::invalid(path, format, NO_JSON, message)
}

const NO_ARCHIVE: &str = "it is named like an archive, but its first bytes are not those of a tar \
    (ustar, GNU or pax), zip, gzip or Zstandard file";

pub(super) const NAME_THE_FOLDER: &str =
    "this is one file of a bundle; name the folder it belongs to";

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

/// Opens a folder of a known format. Follows a link only if the format allows it.
pub(super) fn open_folder<'a>(
    files: &'a dyn Files,
    path: &Path,
    format: Format,
    threads: Option<usize>,
) -> Result<Box<dyn Source + 'a>, SourceError> {
    let follows = definition(format).follows_root_link();
    files.open_folder(path, follows, threads)
}

/// Judges what a source contains; `path` is for rules about the path.
pub(super) fn judge_source(
    path: &str,
    source: &dyn Source,
    format: Format,
    level: Level,
) -> Result<Judgement, SourceError> {
    let judging = Judging {
        path,
        level,
        tools: &LocalTools,
    };
    let judged = definition(format).judge_folder(source, &judging);
    judged.unwrap_or_else(|| {
        Err(SourceError::Io {
            path: path.to_owned(),
            source: io::Error::other("this format is not a folder"),
        })
    })
}

/// The result of a judgement, or of the error that prevented it.
pub(super) fn of_judged(
    path: String,
    format: Format,
    judged: Result<Judgement, SourceError>,
) -> Checked {
    match judged {
        Ok(judgement) => Checked::of_judgement(path, judgement),
        Err(error) => Checked::not_checked(path, Some(format), error_chain(&error)),
    }
}
