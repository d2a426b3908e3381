//! Verifies one task, and computes the digest of the bytes that were judged.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use runseal_core::canon::{Dialect, canonical_text};
use runseal_core::digest::Digest;
use runseal_core::source::EntryKind;
use runseal_core::verify::answer::render_survey_json;
use runseal_core::verify::{Level, Outcome, UnitResult, Verdict};
use runseal_survey::{Files, InsidePath, Keep, Observer, Position, UnitContent};

use runseal_fs::survey::{RenamedFiles, Tally, VerifyOptions, survey_files_seen};

/// The result of examining a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Examined {
    /// It was read and judged, valid or not.
    Judged {
        /// The digest of what was judged.
        content: Digest,
        /// Whether it follows the rules.
        is_valid: bool,
        /// The report, as `runseal verify --format json` prints it, without the real place.
        report: String,
    },
    /// It could not be read here, or not as a single unit.
    Unreadable(String),
}

/// Collects the digest of every file of every unit.
#[derive(Default)]
struct Digests {
    units: Mutex<BTreeMap<String, Option<Digest>>>,
}

impl Observer for Digests {
    fn keep(&self, _: &Path, position: Position) -> Keep {
        match position {
            Position::Path | Position::ArchiveTop { .. } => Keep::Digests(&[]),
            Position::Inside { .. } => Keep::Verdict,
        }
    }

    fn see(&self, result: &UnitResult, content: Option<UnitContent>) {
        let digest = content.map(|content| content.digest());
        let mut units = self.units.lock().unwrap_or_else(PoisonError::into_inner);
        units.insert(result.path.clone(), digest);
    }
}

/// The name under which every folder is judged.
const FOLDER: &str = "bundle";

/// Returns what is judged instead of a path, so that the report does not depend on the place: the
/// path as seen, and the renamed folder, as seen and as it really is. A file keeps its name: an
/// archive needs its extension, and what belongs to a document may be next to it.
fn neutral_place(files: &dyn Files, path: &Path) -> (PathBuf, PathBuf, PathBuf) {
    let inside = InsidePath::of(files, path);
    let file = inside.as_ref().map_or(path, |inside| &inside.archive);
    let is_folder = files
        .kind(file)
        .is_ok_and(|kind| kind == EntryKind::Directory);
    match (file.parent(), file.file_name()) {
        (Some(parent), Some(name)) if !is_folder => {
            let mut seen = name.to_owned();
            if inside.is_some() {
                // The path inside the archive follows the archive's name.
                let text = path.to_string_lossy();
                let behind = text.get(file.as_os_str().len()..).unwrap_or_default();
                seen.push(behind);
            }
            (seen.into(), PathBuf::new(), parent.to_owned())
        }
        _ => (FOLDER.into(), FOLDER.into(), path.to_owned()),
    }
}

/// Verifies what is at `place`, on one thread. The answer depends only on what is there, not on
/// where that is.
pub fn examine(files: &dyn Files, place: &str, level: Level) -> Examined {
    let (path, shown, real) = neutral_place(files, Path::new(place));
    let files = &RenamedFiles {
        files,
        shown: &shown,
        real: &real,
    };
    // An archive is one file, and everything in it counts. Its digest is computed before and after:
    // if it changed in between, it is not judged.
    let before = file_digest(files, &path);
    let digests = Digests::default();
    let options = VerifyOptions {
        level,
        threads: Some(1),
    };
    let survey = survey_files_seen(
        files,
        std::slice::from_ref(&path),
        options,
        &Tally::default(),
        &digests,
    );
    let units = digests
        .units
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let outcome = survey.outcome();
    if outcome == Outcome::Unreadable {
        return Examined::Unreadable(reason(survey.results()));
    }
    let content = match before {
        Some(before) if file_digest(files, &path) != Some(before) => {
            return Examined::Unreadable("it changed while it was judged".to_owned());
        }
        Some(before) => Some(before),
        None => units.values().next().copied().flatten(),
    };
    let Some(content) = content.filter(|_| before.is_some() || units.len() == 1) else {
        return Examined::Unreadable("it is not one thing whose content has a digest".to_owned());
    };
    let report = canonical_text(&render_survey_json(&survey), Dialect::Kernel);
    match report {
        Ok(report) => Examined::Judged {
            content,
            is_valid: outcome == Outcome::Valid,
            report,
        },
        Err(error) => Examined::Unreadable(error.to_string()),
    }
}

fn reason(results: &[UnitResult]) -> String {
    let mut reasons = results.iter().filter_map(|result| match &result.verdict {
        Verdict::NotChecked(reason) => Some(reason.clone()),
        _ => None,
    });
    let first = reasons.next();
    first.unwrap_or_else(|| "it cannot be read".to_owned())
}

/// Returns the digest of a regular file; `None` for anything else.
fn file_digest(files: &dyn Files, path: &Path) -> Option<Digest> {
    match files.kind(path).ok()? {
        EntryKind::File => files.digest(path).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use runseal_fs::survey::LocalFiles;

    #[test]
    fn changed_file_listed_by_a_manifest_changes_the_digest() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::write(root.join("RUN_META.json"), "{}").unwrap();
        fs::write(root.join("SHA256SUMS.txt"), "").unwrap();
        let place = root.display().to_string();
        let examined = |text: &str| {
            fs::write(root.join("RUN_OUTPUT.json"), text).unwrap();
            match examine(&LocalFiles, &place, Level::Integrity) {
                Examined::Judged {
                    content, is_valid, ..
                } => (content, is_valid),
                other => panic!("{other:?}"),
            }
        };
        let first = examined("{}");
        assert_eq!(examined("{}"), first);
        assert_ne!(examined("{\"a\":1}").0, first.0);
        assert!(!first.1);
        let none = root.join("none").display().to_string();
        let gone = examine(&LocalFiles, &none, Level::Integrity);
        assert!(matches!(gone, Examined::Unreadable(reason) if reason.contains("nothing")));
    }

    #[test]
    fn report_shows_the_name_of_a_file_but_not_of_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().display();
        fs::create_dir_all(folder.path().join("a/pack")).unwrap();
        fs::write(folder.path().join("a/pack/run.json"), "{}").unwrap();
        let judged = |place: String| match examine(&LocalFiles, &place, Level::Integrity) {
            Examined::Judged {
                content, report, ..
            } => (content, report),
            other => panic!("{other:?}"),
        };
        let plain = judged(format!("{root}/a/pack"));
        assert!(
            !plain.1.contains("PK7\",\"status\":\"failed"),
            "{}",
            plain.1
        );
        assert_eq!(judged(format!("{root}/a/../a//pack")), plain);
        fs::write(folder.path().join("a/model_io.json"), "{}").unwrap();
        let file = judged(format!("{root}/a/model_io.json"));
        assert!(file.1.contains("\"model_io.json\""), "{}", file.1);
        assert!(!file.1.contains(&root.to_string()));
    }
}
