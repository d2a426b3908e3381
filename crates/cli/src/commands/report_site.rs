//! A site: a page about everything below a folder, and an index of them.
//!
//! Everything is judged once. Its page and its row in the index are made right then, from the bytes that
//! were judged.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use runseal_core::digest::Digest;
use runseal_core::source::SourceError;
use runseal_core::verify::{Level, Outcome, UnitResult, Verdict};
use runseal_fs::atomic::WriteError;
use runseal_fs::signing::{ArchiveSignatures, TrustQuestion};
use runseal_fs::staging::{Place, Rights, Staging, StagingError, check_place};
use runseal_fs::survey::{Tally, VerifyOptions, survey_files_seen};
use runseal_report::limits::SITE_ROWS;
use runseal_report::{SiteCounts, SiteEntry, SiteIndex, Tone, render_index, render_page};
use runseal_survey::load::Judged;
use runseal_survey::{Files, InsidePath};
use runseal_survey::{Keep, Observer, Position, UnitContent};

use crate::error::CliError;
use crate::inside::refuse_in;
use crate::places::files_for;
use crate::progress::with_progress;
use crate::signing::OpenTrust;
use crate::ui;
use crate::verdict::finding_line;

/// Writes a page for everything below `root`, and the index.
pub fn write_site(
    root: &Path,
    target: &Path,
    level: Level,
    trust: &OpenTrust,
) -> Result<Outcome, CliError> {
    let hint = "name a folder, such as `-o site`, and a PATH to search";
    if target == Path::new("-") {
        let message = "a site is a folder and cannot go to standard output";
        return Err(CliError::usage(message, hint));
    }
    if root == Path::new("-") {
        let message = "standard input is one unit, and a site is about many";
        return Err(CliError::usage(message, hint));
    }
    let files = files_for([root]);
    if InsidePath::of(files, root).is_none() {
        files.kind(root).map_err(|source| not_there(root, source))?;
    }
    refuse_in(target, target)?;
    check_place(target, Place::FreeOrEmptyFolder)?;
    let staging = Staging::begin_beside(target)?;
    let (pages, lost) = fill_site(files, root, level, trust.question(), &staging)?;
    let place = (Place::FreeOrEmptyFolder, Rights::AsUmask);
    staging.publish(target, place, |_| Ok::<_, StagingError>(()))?;
    let beyond = match lost {
        0 => String::new(),
        1 => "; 1 has no page, and the index says why".to_owned(),
        lost => format!("; {lost} have no page, and the index says why"),
    };
    ui::note(&format!(
        "{pages} page{}, and {}/index.html{beyond}",
        if pages == 1 { "" } else { "s" },
        target.display()
    ));
    Ok(match lost {
        0 => Outcome::Valid,
        _ => Outcome::Unreadable,
    })
}

/// Judges everything below `root` and stores pages and index in `staging`. Returns the number of pages,
/// and of units without one.
fn fill_site(
    files: &dyn Files,
    root: &Path,
    level: Level,
    question: TrustQuestion<'_>,
    staging: &Staging,
) -> Result<(usize, usize), CliError> {
    let maker = PageMaker {
        files,
        question,
        archives: ArchiveSignatures::default(),
        staging,
        made: Mutex::new(Made::new(SITE_ROWS)),
    };
    let tally = Tally::default();
    let options = VerifyOptions {
        level,
        threads: None,
    };
    let paths = [root.to_owned()];
    let survey = with_progress(&tally, || {
        survey_files_seen(files, &paths, options, &tally, &maker)
    });
    // If nothing was found, the survey has a result that the observer did not see.
    let is_empty = maker.made().rows.is_empty();
    if let (true, Some(nothing)) = (is_empty, survey.results().first()) {
        maker.see(nothing, None);
    }
    let made = maker.made.into_inner();
    let made = made.unwrap_or_else(PoisonError::into_inner);
    let counts = made.counts.clone();
    let entries = made.into_entries(staging)?;
    let shown = root.display().to_string();
    let pages = entries.iter().filter(|entry| entry.page.is_some()).count();
    if let (0, Some(first)) = (pages, entries.first()) {
        let reason = first.reason.clone();
        return Err(CliError::new(Outcome::Unreadable, "NOTHING_SHOWN", reason)
            .at(&shown)
            .hint("no site was written; `runseal verify --help` lists what is known"));
    }
    let index = render_index(&SiteIndex {
        root: &shown,
        entries: &entries,
        counts: &counts,
        passed_over: survey.passed_over(),
    });
    staging.put("index.html", index.as_bytes())?;
    Ok((pages, counts.units() - pages))
}

/// Makes the page and the row of everything that a survey judges, right after it was judged.
struct PageMaker<'a> {
    files: &'a dyn Files,
    question: TrustQuestion<'a>,
    archives: ArchiveSignatures,
    staging: &'a Staging,
    made: Mutex<Made>,
}

/// What was made so far. Units are judged in any order, so pages get their names at the end.
struct Made {
    rows: BTreeMap<RowKey, SiteEntry>,
    /// The most rows that are kept.
    most: usize,
    /// Every unit, whether it has a row or not.
    counts: SiteCounts,
    /// The number of pages that were begun.
    pages: usize,
    /// Why a page could not be stored.
    failed: Option<WriteError>,
}

/// Rows are ordered by path, after those of bad units: so the limit never hides a bad unit behind others.
/// Rows with
/// the same path are ordered by their pages: paths that are not valid text may be shown alike. The number
/// only
/// tells equal rows apart.
type RowKey = (bool, String, Option<Digest>, usize);

impl Made {
    fn new(most: usize) -> Self {
        Self {
            rows: BTreeMap::new(),
            most,
            counts: SiteCounts::default(),
            pages: 0,
            failed: None,
        }
    }

    /// Counts a unit, and returns the number of its page if there is room for its row.
    fn begin(&mut self, entry: &SiteEntry) -> Option<usize> {
        self.counts.add(entry);
        let is_full = self.rows.len() >= self.most;
        let is_behind = self.rows.last_key_value().is_some_and(|(last, _)| {
            (last.0, last.1.as_str()) < (is_fine(entry), entry.path.as_str())
        });
        if self.failed.is_some() || is_full && is_behind {
            return None;
        }
        self.pages += 1;
        Some(self.pages)
    }

    /// Adds a row. If there are too many, the last one is dropped with its page.
    fn add(&mut self, page: Option<Digest>, number: usize, entry: SiteEntry, staging: &Staging) {
        let key = (is_fine(&entry), entry.path.clone(), page, number);
        self.rows.insert(key, entry);
        if self.rows.len() <= self.most {
            return;
        }
        if let Some((_, entry)) = self.rows.pop_last()
            && let Some(page) = entry.page
        {
            self.failed = staging.remove(&page).err();
        }
    }

    /// The rows in order, with the final names of their pages.
    fn into_entries(self, staging: &Staging) -> Result<Vec<SiteEntry>, CliError> {
        if let Some(error) = self.failed {
            return Err(error.into());
        }
        let mut entries = Vec::new();
        for (at, mut entry) in self.rows.into_values().enumerate() {
            if let Some(page) = &mut entry.page {
                let name = format!("pages/{:05}-{}.html", at + 1, slug(&entry.path));
                staging.rename(page, &name)?;
                *page = name;
            }
            entries.push(entry);
        }
        Ok(entries)
    }
}

fn is_fine(entry: &SiteEntry) -> bool {
    entry.tone() != Tone::Bad
}

impl PageMaker<'_> {
    fn made(&self) -> MutexGuard<'_, Made> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for PageMaker<'_> {
    fn keep(&self, _: &Path, _: Position) -> Keep {
        Keep::Everything
    }

    fn show(&self, judged: Judged) {
        let made = judged.show(self.files, (self.question, &self.archives), |exhibit| {
            let mut entry = SiteEntry::of(exhibit, String::new());
            let number = self.made().begin(&entry)?;
            let name = format!("pages/{number}.new");
            entry.page = Some(name.clone());
            Some((number, name, entry, render_page(exhibit, None)))
        });
        let Some((number, name, entry, html)) = made else {
            return;
        };
        let stored = self.staging.put(&name, html.as_bytes());
        let page = Digest::of(html.as_bytes());
        let mut made = self.made();
        match stored {
            Ok(()) => made.add(Some(page), number, entry, self.staging),
            Err(error) => made.failed = Some(error),
        }
    }

    fn see(&self, result: &UnitResult, _: Option<UnitContent>) {
        let reason = match &result.verdict {
            Verdict::NotChecked(reason) => reason.clone(),
            _ => {
                let findings = result.findings().iter();
                let lines: Vec<_> = findings.take(3).map(finding_line).collect();
                lines.join("; ").trim_start().to_owned()
            }
        };
        let is_judged = !matches!(result.verdict, Verdict::NotChecked(_));
        let entry = SiteEntry::without_page(result.path.clone(), result.format, reason, is_judged);
        let mut made = self.made();
        if let Some(number) = made.begin(&entry) {
            made.add(None, number, entry, self.staging);
        }
    }
}

fn not_there(root: &Path, source: io::Error) -> CliError {
    let path = root.display().to_string();
    CliError::from(match source.kind() {
        io::ErrorKind::NotFound => SourceError::NotFound { path },
        _ => SourceError::Io { path, source },
    })
}

/// The end of a path, reduced to characters that are safe in any file name and link.
fn slug(path: &str) -> String {
    let kept = path.chars().rev().take(40).collect::<Vec<_>>();
    let word = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' => c,
        _ => '_',
    };
    let text: String = kept.into_iter().rev().map(word).collect();
    text.trim_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use runseal_report::{Answer, Answers};

    #[test]
    fn bound_of_a_site_hides_no_bad_unit_behind_others() {
        let folder = tempfile::tempdir().unwrap();
        let staging = Staging::begin_beside(&folder.path().join("site")).unwrap();
        let mut made = Made::new(2);
        let answer = |tone| Answer {
            question: "a question",
            tone,
            word: String::new(),
            detail: String::new(),
        };
        for (path, tone) in [
            ("a", Tone::Good),
            ("b", Tone::Good),
            ("z", Tone::Bad),
            ("c", Tone::Good),
        ] {
            let answers = Answers {
                intact: answer(tone),
                signed: answer(Tone::Neutral),
                trusted: answer(Tone::Neutral),
                outcome: answer(Tone::Neutral),
            };
            let entry = SiteEntry {
                answers: Some(answers),
                ..SiteEntry::without_page(path.to_owned(), None, String::new(), true)
            };
            if let Some(number) = made.begin(&entry) {
                made.add(None, number, entry, &staging);
            }
        }
        assert_eq!(made.counts.units(), 4);
        let entries = made.into_entries(&staging).unwrap();
        let paths: Vec<&str> = entries.iter().map(|entry| entry.path.as_str()).collect();
        assert_eq!(paths, ["z", "a"]);
    }

    #[test]
    fn slugs_are_plain_for_any_path() {
        assert_eq!(slug("runs/one.zip!/ev/job"), "runs_one_zip__ev_job");
        assert_eq!(slug("\"><script>"), "script");
        assert_eq!(slug(&"é/../".repeat(40)), "");
    }
}
