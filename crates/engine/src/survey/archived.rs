//! What an archive holds: one bundle as a rule, at its top or in its only folder.

use runseal_core::formats::Format;
use runseal_core::formats::archive::{ArchiveFault, FaultKind, verify_archive};
use runseal_core::source::EntryKind;
use runseal_core::verify::{Checked, NO_FORMAT};

use super::detect::{Detected, Markers, NOTHING_FOUND, is_candidate, several};
use super::dispatch::{judge_text, verify_archived};
use super::{Looked, Named, SurveyOptions};
use crate::archive::{Archive, Record};

/// Verifies what is in an archive. With `-r` everything in it, else what stands at its top.
pub(super) fn look_at_archive(
    path: &str,
    archive: &Archive,
    named: Named,
    options: SurveyOptions,
) -> Looked {
    let mut search = Search {
        archive,
        path,
        options,
        found: Looked::default(),
        bundles: Vec::new(),
        top: String::new(),
    };
    search.find_top();
    let top = search.top.clone();
    search.look_into(&top);
    let Search {
        found: mut looked,
        bundles,
        ..
    } = search;
    let faults = faults_of(archive, &bundles);
    let about = verify_archive(&faults);
    match looked.results.len() {
        0 if !about.is_valid() => looked.results.push(Checked::of_report(path, &about)),
        0 if named == Named::Yes => {
            let result = Checked::not_checked(path, None, NOTHING_FOUND);
            looked.results.push(result);
        }
        0 => looked.passed_over += 1,
        // What is wrong with the wrapping is wrong with what was handed over.
        1 => {
            let only = looked.results.pop();
            let only = only.map(|result| result.with_findings(about.findings()));
            looked.results.extend(only);
        }
        _ if !about.is_valid() => looked.results.push(Checked::of_report(path, &about)),
        _ => {}
    }
    looked
}

/// The folder that stands for the archive and what it is; the documents in it where it is none.
pub(super) fn find_in_archive(archive: &Archive) -> (String, Detected, Vec<String>) {
    let mut search = Search {
        archive,
        path: "",
        options: SurveyOptions::default(),
        found: Looked::default(),
        bundles: Vec::new(),
        top: String::new(),
    };
    search.find_top();
    let listed = search.list(&search.top);
    let detected = search.detect(&search.top, &listed.markers);
    (search.top, detected, listed.candidates)
}

/// The archive's faults, and what of its entries no bundle's rules will name: symbolic links, and
/// names that climb where `\` separates.
pub(super) fn faults_of(archive: &Archive, bundles: &[(String, Format)]) -> Vec<ArchiveFault> {
    let mut faults = archive.faults().to_vec();
    for (name, record) in archive.below("") {
        let climbs = name.contains(&b'\\')
            && name
                .split(|byte| matches!(byte, b'/' | b'\\'))
                .any(|segment| segment == b"..");
        let is_link = record.kind() == EntryKind::Symlink;
        if !climbs && !is_link {
            continue;
        }
        let name = String::from_utf8_lossy(name);
        let is_in = |folder: &str| {
            let rest = name.strip_prefix(folder);
            folder.is_empty() || rest.is_some_and(|rest| rest.starts_with('/'))
        };
        let format = bundles
            .iter()
            .find(|(folder, _)| is_in(folder))
            .map(|(_, format)| *format);
        let mut add = |kind, message: &str| {
            faults.push(ArchiveFault {
                kind,
                path: Some(name.escape_debug().to_string()),
                message: message.to_owned(),
            });
        };
        use Format::{JobBundle, Pack, RunBundle};
        if is_link && !matches!(format, Some(JobBundle | Pack | RunBundle)) {
            add(FaultKind::Link, "a symbolic link; it was not followed");
        }
        if climbs && !matches!(format, Some(Pack | RunBundle)) {
            add(
                FaultKind::Name,
                "the name climbs out of the folder it is unpacked in",
            );
        }
    }
    faults
}

struct Search<'a> {
    archive: &'a Archive,
    path: &'a str,
    options: SurveyOptions,
    found: Looked,
    /// Folders that are bundles.
    bundles: Vec<(String, Format)>,
    /// The folder that stands for the archive: its top, or its only folder.
    top: String,
}

/// The names in one folder of the archive.
struct Listed {
    markers: Markers,
    candidates: Vec<String>,
    folders: Vec<String>,
}

impl Search<'_> {
    fn list(&self, folder: &str) -> Listed {
        let mut listed = Listed {
            markers: Markers::default(),
            candidates: Vec::new(),
            folders: Vec::new(),
        };
        for (name, record) in self.archive.below(folder) {
            let (Ok(text), false) = (str::from_utf8(name), name.contains(&b'/')) else {
                continue;
            };
            let full = match folder {
                "" => text.to_owned(),
                folder => format!("{folder}/{text}"),
            };
            listed.markers.note(name, record.kind());
            match record {
                Record::Folder => listed.folders.push(full),
                Record::File(_) if is_candidate(name) => listed.candidates.push(full),
                _ => {}
            }
        }
        listed
    }

    fn detect(&self, folder: &str, markers: &Markers) -> Detected {
        let name = match folder {
            "" => "bundle.json".to_owned(),
            folder => format!("{folder}/bundle.json"),
        };
        markers.detect(|| match self.archive.get(&name) {
            Some(Record::File(file)) => file.kept.clone(),
            _ => None,
        })
    }

    /// People pack the folder itself as often as what is in it.
    fn find_top(&mut self) {
        loop {
            let mut listed = self.list(&self.top);
            let is_bundle = self.detect(&self.top, &listed.markers) != Detected::Unknown;
            let only = listed.folders.pop();
            match only {
                Some(only)
                    if listed.folders.is_empty() && !is_bundle && listed.candidates.is_empty() =>
                {
                    self.top = only;
                }
                _ => return,
            }
        }
    }

    fn shown(&self, name: &str) -> String {
        if name == self.top {
            self.path.to_owned()
        } else {
            format!("{}!/{name}", self.path)
        }
    }

    fn look_into(&mut self, top: &str) {
        let mut waiting = vec![top.to_owned()];
        while let Some(folder) = waiting.pop() {
            let listed = self.list(&folder);
            let level = self.options.level;
            match self.detect(&folder, &listed.markers) {
                Detected::Is(format) => {
                    let shown = self.shown(&folder);
                    let result = verify_archived(&shown, self.archive, &folder, format, level);
                    self.found.results.push(result);
                    self.bundles.push((folder, format));
                }
                Detected::Several(formats) => {
                    let shown = self.shown(&folder);
                    let result = Checked::invalid(shown, None, NO_FORMAT, several(&formats));
                    self.found.results.push(result);
                }
                Detected::Unknown => {
                    for name in &listed.candidates {
                        self.look_at_document(name);
                    }
                    if self.options.recursive {
                        waiting.extend(listed.folders);
                    }
                }
            }
        }
    }

    fn look_at_document(&mut self, name: &str) {
        let Some(Record::File(file)) = self.archive.get(name) else {
            return;
        };
        let file_name = name.rsplit('/').next().unwrap_or(name);
        let judged = file.kept.as_ref().and_then(|bytes| {
            let shown = self.shown(name);
            judge_text(&shown, file_name, bytes, Named::No, self.options.level)
        });
        match judged {
            Some(result) => self.found.results.push(result),
            None => self.found.passed_over += 1,
        }
    }
}
