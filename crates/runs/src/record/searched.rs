//! Searches everything that is about to be sealed for secrets. What is found stops the sealing, unless the user
//! allowed it by name.
//!
//! Values given with `--secret` are searched for in all of their encodings, and nobody can allow them. What
//! certainly looks like a secret counts too (`runseal_secrets::certain`), except in files that somebody
//! published: those of an installed package, and of system packages, are told of or left out.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::thread;

use runseal_core::formats::run_bundle::layout::is_json;
use runseal_core::formats::run_bundle::recorded::CaptureGap;
use runseal_core::source::SourceError;
use runseal_fs::input::open_regular;
use runseal_fs::threads::{Task, processors};
use runseal_secrets::certain::{Finding, Searcher, is_assigned, is_secret_argument};
use runseal_secrets::known::{KnownSecrets, can_be_found};

use super::environment::MachineFile;
use super::error::{RecordError, work_error};
use super::keep::Keep;
use super::published::{Published, is_for_tests};
use super::run::Command;

/// The most threads that search.
const MOST_SEARCHING: usize = 4;
/// Fewer files than this are not worth another thread.
const FEW: usize = 64;

/// A secret in what was to be sealed, without the secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoundSecret {
    /// The file as the user knows it: below the folder, or absolute; or what else it is.
    pub place: String,
    /// The number of its line, where lines can be counted.
    pub line: Option<u64>,
    /// For people: what it is.
    pub kind: String,
}

/// A file of the bundle as the user knows it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    /// Its path below the folder, or absolute.
    pub(crate) shown: String,
    /// Where it was read, if it was.
    pub(crate) host: Option<PathBuf>,
    /// Whether a package of the system has it, so that everybody can read it.
    pub(crate) is_packaged: bool,
}

/// What a search goes by.
pub(crate) struct Search<'a> {
    /// The values of secret variables.
    pub(crate) given: KnownSecrets,
    /// The files in which a secret may be sealed.
    pub(crate) allowed: Option<&'a Keep>,
    /// Files of the bundle by their places in it.
    pub(crate) files: BTreeMap<String, Known>,
}

/// The values of secret variables that can be told from chance.
pub(crate) fn given_secrets(secrets: &BTreeMap<String, String>) -> KnownSecrets {
    let mut given = KnownSecrets::default();
    for (name, value) in secrets.iter().filter(|(_, value)| can_be_found(value)) {
        given.learn_given(name, value);
    }
    given
}

impl Known {
    pub(crate) fn of_machine(file: &MachineFile) -> Self {
        Self {
            shown: file.path.clone(),
            host: Some(PathBuf::from(&file.path)),
            // A package's configuration may have been changed since.
            is_packaged: file.package.is_some() && !file.path.starts_with("/etc/"),
        }
    }
}

impl Search<'_> {
    /// Searches the files at these places below the folder `staged`; gives what a reader of the bundle has to
    /// know of them.
    ///
    /// # Errors
    /// With every secret that was found and not allowed.
    pub(crate) fn search(
        &self,
        staged: &Path,
        places: &[String],
    ) -> Result<Vec<CaptureGap>, RecordError> {
        let threads = processors()
            .min(MOST_SEARCHING)
            .min(places.len() / FEW)
            .max(1);
        let parts: Vec<Result<_, RecordError>> = thread::scope(|scope| {
            let parts = places.chunks(places.len().div_ceil(threads).max(1));
            let begin = |part| Task::begin(scope, move || self.search_part(staged, part));
            let parts: Vec<_> = parts.map(begin).collect();
            let parts = parts.into_iter().map(|part| match part.finish() {
                Ok(part) => part,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            parts.collect()
        });
        let (mut stops, mut told) = (Vec::new(), Vec::new());
        let mut published = Published::default();
        for part in parts {
            for (place, found) in part? {
                self.judge(&place, found, &mut published, &mut stops, &mut told);
            }
        }
        finish(stops, told)
    }

    /// Searches bytes that are sealed in another form, as `place`.
    ///
    /// # Errors
    /// With every secret that was found and not allowed.
    pub(crate) fn search_bytes(
        &self,
        place: &str,
        bytes: &[u8],
    ) -> Result<Vec<CaptureGap>, RecordError> {
        let variable = self.given.find_layered(bytes);
        let found = Found {
            variable: variable.map(|(name, _)| name.to_owned()),
            certain: new_searcher()?.search(place, bytes).map_err(work_error)?,
        };
        let (mut stops, mut told) = (Vec::new(), Vec::new());
        self.judge(
            place,
            found,
            &mut Published::default(),
            &mut stops,
            &mut told,
        );
        finish(stops, told)
    }

    fn search_part(
        &self,
        staged: &Path,
        places: &[String],
    ) -> Result<Vec<(String, Found)>, RecordError> {
        let mut searcher = new_searcher()?;
        let mut all = Vec::new();
        for place in places {
            let fail = |source| SourceError::Io {
                path: place.clone(),
                source,
            };
            let file = File::open(staged.join(place)).map_err(fail)?;
            let found = self.look(&mut searcher, place, file).map_err(fail)?;
            if !found.is_empty() {
                all.push((place.clone(), found));
            }
        }
        Ok(all)
    }

    fn look(
        &self,
        searcher: &mut Searcher,
        place: &str,
        mut content: impl Read + Seek,
    ) -> io::Result<Found> {
        let known = self.files.get(place);
        let mut found = Found::default();
        if !self.given.is_empty() {
            let variable = self.given.find_in(&mut content)?;
            found.variable = variable.map(|(name, _)| name.to_owned());
            content.rewind()?;
        }
        // What the recorder writes itself was searched where it came from, or names things only.
        if let Some(known) = known.filter(|known| !known.is_packaged) {
            let shown = known.shown.as_str();
            found.certain = searcher.search(shown, &mut content)?;
            let is_rewritten = is_json(place) && !found.certain.is_empty();
            if let Some(host) = known.host.as_ref().filter(|_| is_rewritten) {
                // JSON is sealed in one line. The user's file has others.
                let lines = open_regular(host).ok();
                let lines = lines.and_then(|(file, _)| searcher.search(shown, file).ok());
                found.certain = lines
                    .filter(|lines| !lines.is_empty())
                    .unwrap_or(found.certain);
            }
        }
        Ok(found)
    }

    /// Decides what becomes of what was found in one file.
    fn judge(
        &self,
        place: &str,
        found: Found,
        published: &mut Published,
        stops: &mut Vec<FoundSecret>,
        told: &mut Vec<CaptureGap>,
    ) {
        let known = self.files.get(place);
        let shown = known.map_or(place, |known| known.shown.as_str());
        if let Some(name) = found.variable {
            stops.push(FoundSecret {
                place: shown.to_owned(),
                line: None,
                kind: format!("the value of `{name}`"),
            });
        }
        let names = [Path::new(shown), Path::new(place)];
        let is_allowed = self
            .allowed
            .is_some_and(|allowed| names.iter().any(|name| allowed.keeps(name)));
        let host = known.and_then(|known| known.host.as_deref());
        for Finding { line, kind } in found.certain {
            let why = if is_allowed {
                Some(ALLOWED.to_owned())
            } else if let Some(package) = host.and_then(|host| published.find(host)) {
                Some(format!("it is a file of the package {package}"))
            } else if kind.ends_with("private key") && is_for_tests(Path::new(shown)) {
                Some("it lies in a folder for tests".to_owned())
            } else {
                None
            };
            let secret = FoundSecret {
                place: shown.to_owned(),
                line,
                kind: kind.to_owned(),
            };
            match why {
                None => stops.push(secret),
                Some(why) => told.push(tell_sealed(&secret, &why)),
            }
        }
    }
}

impl std::fmt::Display for FoundSecret {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = self.place.escape_debug();
        match self.line {
            Some(line) => write!(to, "`{place}` line {line} ({})", self.kind),
            None => write!(to, "`{place}` ({})", self.kind),
        }
    }
}

/// What was found in one file.
#[derive(Debug, Default)]
struct Found {
    certain: Vec<Finding>,
    variable: Option<String>,
}

impl Found {
    fn is_empty(&self) -> bool {
        self.certain.is_empty() && self.variable.is_none()
    }
}

fn new_searcher() -> Result<Searcher, RecordError> {
    Searcher::new().ok_or_else(|| work_error(io::Error::other("the searcher has no tables")))
}

fn finish(
    mut stops: Vec<FoundSecret>,
    mut told: Vec<CaptureGap>,
) -> Result<Vec<CaptureGap>, RecordError> {
    stops.sort();
    told.sort();
    told.dedup();
    match stops.is_empty() {
        true => Ok(told),
        false => Err(RecordError::Secrets {
            found: stops,
            kept: None,
        }),
    }
}

/// The secrets on a command line, as arguments or parameters, that stop the sealing, and those that were allowed.
pub(crate) fn find_in_command(
    command: &Command,
    allowed: Option<&Keep>,
) -> (Vec<FoundSecret>, Vec<CaptureGap>) {
    let mut searcher = Searcher::new();
    let mut look = |text: &str| {
        let found = searcher.as_mut().map(|it| it.search_text(text));
        Some(found?.first()?.kind)
    };
    let mut found: Vec<(String, &str)> = Vec::new();
    for (at, text) in command.argv.iter().enumerate() {
        let next = command.argv.get(at + 1).map(String::as_str);
        let named = is_secret_argument(text, next).then_some(NAMED);
        found.extend(
            look(text)
                .or(named)
                .map(|kind| (format!("arguments/{at}"), kind)),
        );
    }
    for (name, value) in &command.parameters {
        let named = is_assigned(name, value).then_some(NAMED);
        found.extend(
            look(value)
                .or(named)
                .map(|kind| (format!("parameters/{name}"), kind)),
        );
    }
    let (mut stops, mut told) = (Vec::new(), Vec::new());
    for (place, kind) in found {
        let is_allowed = allowed.is_some_and(|allowed| allowed.keeps(Path::new(&place)));
        let secret = FoundSecret {
            place,
            line: None,
            kind: kind.to_owned(),
        };
        match is_allowed {
            true => told.push(tell_sealed(&secret, ALLOWED)),
            false => stops.push(secret),
        }
    }
    (stops, told)
}

const NAMED: &str = "secret with a telling name";
const ALLOWED: &str = "--allow-secret allowed it";

fn tell_sealed(secret: &FoundSecret, why: &str) -> CaptureGap {
    CaptureGap {
        kind: SECRET_SEALED.to_owned(),
        detail: format!("{secret} is sealed, since {why}"),
    }
}

/// The kind of gap that tells of a secret in the bundle.
pub const SECRET_SEALED: &str = "secret-sealed";

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const TOKEN: &str = "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";

    fn search<'a>(secrets: &[(&str, &str)], allowed: Option<&'a Keep>) -> Search<'a> {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let known = |name: &str| {
            let known = Known {
                shown: name.to_owned(),
                ..Known::default()
            };
            (format!("engine/{name}"), known)
        };
        Search {
            given: given_secrets(&secrets.iter().map(own).collect()),
            allowed,
            files: ["a.txt", "tests/b.txt", "plain"].map(known).into(),
        }
    }

    fn staged(files: &[(&str, &str)]) -> (tempfile::TempDir, Vec<String>) {
        let top = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = top.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        (
            top,
            files.iter().map(|(name, _)| (*name).to_owned()).collect(),
        )
    }

    fn stops(result: Result<Vec<CaptureGap>, RecordError>) -> Vec<String> {
        match result {
            Err(RecordError::Secrets { found, .. }) => {
                found.iter().map(ToString::to_string).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn given_value_is_found_in_every_encoding_and_in_every_file() {
        let value = "a secret value/+\"";
        for text in [
            "x a secret value/+\" y",
            r#"{"a":"a secret value/+\""}"#,
            "YSBzZWNyZXQgdmFsdWUvKyI=",
            "61207365637265742076616c75652f2b22",
            "a%20secret%20value%2F%2B%22",
        ] {
            let (top, places) = staged(&[("RUN_INPUT.json", text), ("engine/plain", "fine")]);
            let found = search(&[("KEY", value)], None).search(top.path(), &places);
            assert_eq!(
                stops(found),
                ["`RUN_INPUT.json` (the value of `KEY`)"],
                "{text}"
            );
        }
        // Nobody can allow it.
        let allowed = Keep::parse_given(&["a.txt".to_owned()]).unwrap();
        let (top, places) = staged(&[("engine/a.txt", value)]);
        let found = search(&[("KEY", value)], allowed.as_ref()).search(top.path(), &places);
        assert_eq!(stops(found), ["`a.txt` (the value of `KEY`)"]);
    }

    #[test]
    fn token_stops_by_place_and_line_unless_it_is_allowed() {
        let text = format!("one\n{TOKEN}\n");
        let (top, places) = staged(&[("engine/a.txt", &text), ("engine/tests/b.txt", &text)]);
        let found = search(&[], None).search(top.path(), &places);
        assert_eq!(
            stops(found),
            [
                "`a.txt` line 2 (GitHub token)",
                "`tests/b.txt` line 2 (GitHub token)"
            ]
        );
        let allowed = Keep::parse_given(&["a.txt".to_owned(), "tests".to_owned()]).unwrap();
        let told = search(&[], allowed.as_ref())
            .search(top.path(), &places)
            .unwrap();
        assert_eq!(told.len(), 2);
        assert!(
            told.iter()
                .all(|gap| gap.kind == SECRET_SEALED && !gap.detail.contains(TOKEN))
        );
    }
}
