//! What is shown, and which parts of it are wrong.

use std::collections::BTreeMap;

use runseal_core::canon::{Kind, Node};
use runseal_core::digest::Digest;
use runseal_core::formats::Format;
use runseal_core::formats::definition::Identity;
use runseal_core::source::MemberFile;
use runseal_core::verify::authenticity::Authenticity;
use runseal_core::verify::{Finding, Report};

use crate::describe::{About, Mark, split_place};

/// The JSON documents of a bundle by name; a format that is one document has it under "".
pub type Documents<'a> = BTreeMap<String, Node<'a>>;

/// A loaded and judged unit, from which pages and `inspect` are made. All of it comes from the bytes
/// that were judged.
#[derive(Debug, Clone, Copy)]
pub struct Exhibit<'a> {
    /// The path as given.
    pub path: &'a str,
    /// Its format.
    pub format: Format,
    /// Every rule and finding.
    pub report: &'a Report,
    /// What is wrong with the archive that it is in.
    pub wrapping: &'a [Finding],
    /// Its ids, and the outcome that it records.
    pub identity: &'a Identity,
    /// Its JSON documents.
    pub documents: &'a Documents<'a>,
    /// Its other files, as far as they were kept.
    pub contents: &'a BTreeMap<String, Vec<u8>>,
    /// All its files.
    pub files: &'a [MemberFile],
    /// Whether it is signed and trusted, if that was checked.
    pub authenticity: Option<&'a Authenticity>,
}

impl<'a> Exhibit<'a> {
    /// Whether it is valid, including its archive.
    pub fn is_valid(&self) -> bool {
        self.report.is_valid() && self.wrapping.is_empty()
    }

    /// The findings about it and about its archive.
    pub fn findings(&self) -> impl Iterator<Item = &'a Finding> + use<'a> {
        self.report.findings().iter().chain(self.wrapping)
    }

    /// A document by its name.
    pub fn document(&self, name: &str) -> Option<Node<'a>> {
        self.documents.get(name).copied()
    }

    /// A file by its name.
    pub fn file(&self, name: &str) -> Option<&'a MemberFile> {
        // Sources list their entries in order. If one does not, the worst that happens is that a
        // size is not shown.
        let found = self
            .files
            .binary_search_by(|file| file.path.as_str().cmp(name));
        match found {
            Ok(at) => self.files.get(at),
            Err(_) if self.files.len() < 4096 => self.files.iter().find(|file| file.path == name),
            Err(_) => None,
        }
    }

    /// The kept content of the file with this digest, with or without `sha256:`.
    pub fn content_of(&self, digest: &str) -> Option<(&'a str, &'a [u8])> {
        let digits = digest.strip_prefix("sha256:").unwrap_or(digest);
        let wanted = Digest::parse_hex(digits).ok()?;
        let file = self.files.iter().find(|file| file.sha256 == Some(wanted))?;
        let bytes = self.contents.get(&file.path)?;
        Some((file.path.as_str(), bytes.as_slice()))
    }
}

/// The files and places that findings are about, so that whatever shows them can mark them.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// Rules by file.
    files: BTreeMap<String, String>,
    /// Rules by file and JSON Pointer; the file is empty if the unit is one document.
    places: BTreeMap<(String, String), String>,
    /// Rules by file, for findings about the whole file: then everything in it is in doubt.
    whole: BTreeMap<String, String>,
    /// Whether the exhibit is not intact: then no part of it is shown as good.
    is_broken: bool,
    /// Why something is withheld, by file and JSON Pointer.
    withheld: BTreeMap<(String, String), String>,
}

impl Faults {
    /// The faults of an exhibit.
    pub fn of(exhibit: &Exhibit<'_>) -> Self {
        let mut faults = Self {
            is_broken: !exhibit.is_valid(),
            ..Self::default()
        };
        for (place, reason) in &exhibit.identity.withheld {
            if let (file, Some(pointer)) = split_place(place) {
                let key = (file.to_owned(), pointer.to_owned());
                faults.withheld.insert(key, reason.clone());
            }
        }
        for finding in exhibit.findings() {
            let place = &finding.place;
            let named = place.label().and_then(pointer_of_label);
            let file = match (place.file_name(), place.path(), place.line_number()) {
                (Some(file), ..) => file.to_owned(),
                // A ledger's lines are its documents.
                (None, None, Some(line)) => format!("line {line:06}"),
                (None, ..) => String::new(),
            };
            if let Some(path) = place.path() {
                let key = (file.clone(), path.to_pointer());
                note(faults.places.entry(key).or_default(), finding.rule_id);
            } else if let (None, Some(pointer)) = (place.file_name(), named) {
                // Findings name a lone receipt as the first of a list.
                let is_list = exhibit
                    .document("")
                    .is_some_and(|root| root.kind() == Kind::Array);
                let pointer = match pointer.strip_prefix("/0") {
                    Some(inner) if !is_list => inner.to_owned(),
                    _ => pointer,
                };
                let key = (String::new(), pointer);
                note(faults.places.entry(key).or_default(), finding.rule_id);
            }
            if !file.is_empty() {
                if place.path().is_none() {
                    note(
                        faults.whole.entry(file.clone()).or_default(),
                        finding.rule_id,
                    );
                }
                note(faults.files.entry(file).or_default(), finding.rule_id);
            }
            // A finding about a single document, or a line of it, is about its file.
            if let (None, [only]) = (place.file_name(), exhibit.files) {
                note(
                    faults.files.entry(only.path.clone()).or_default(),
                    finding.rule_id,
                );
            }
        }
        faults
    }

    /// Why the value at a place in a document is withheld, if it is.
    pub fn bar(&self, file: &str, pointer: &str) -> Option<&str> {
        if self.withheld.is_empty() {
            return None;
        }
        let key = (file.to_owned(), pointer.to_owned());
        self.withheld.get(&key).map(String::as_str)
    }

    /// The rules that a file breaks.
    pub fn of_file(&self, file: &str) -> Option<&str> {
        self.files.get(file).map(String::as_str)
    }

    /// The rules that are broken at or below a place in a document.
    pub fn at(&self, file: &str, pointer: &str) -> Option<&str> {
        if self.places.is_empty() {
            return None;
        }
        let here = (file.to_owned(), pointer.to_owned());
        if let Some(rules) = self.places.get(&here) {
            return Some(rules);
        }
        let below = (file.to_owned(), format!("{pointer}/"));
        let ((found_file, found), rules) = self.places.range(&below..).next()?;
        let is_below = found_file == file && found.starts_with(&below.1);
        is_below.then_some(rules.as_str())
    }

    /// The rules that are broken by what a part of a page is about.
    pub fn of_any(&self, about: &[About]) -> Option<&str> {
        about.iter().find_map(|about| match &about.pointer {
            Some(pointer) => self
                .at(&about.file, pointer)
                .or_else(|| self.whole.get(&about.file).map(String::as_str)),
            None => self.of_file(&about.file),
        })
    }

    /// The mark to show for a part: in an exhibit that is not intact, nothing is good just because it
    /// says so.
    pub fn weaken(&self, mark: Mark) -> Mark {
        match mark {
            Mark::Good if self.is_broken => Mark::Plain,
            mark => mark,
        }
    }

    /// Whether there is nothing to mark.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.places.is_empty()
    }
}

/// The JSON Pointer of a label such as `$[0].receipt_hash`.
fn pointer_of_label(label: &str) -> Option<String> {
    let mut rest = label.strip_prefix('$')?;
    let mut pointer = String::new();
    while !rest.is_empty() {
        let (step, after) = if let Some(inner) = rest.strip_prefix('[') {
            inner.split_once(']')?
        } else {
            let inner = rest.strip_prefix('.')?;
            inner.split_at(inner.find(['.', '[']).unwrap_or(inner.len()))
        };
        pointer.push('/');
        pointer.push_str(step);
        rest = after;
    }
    Some(pointer)
}

fn note(rules: &mut String, rule: &str) {
    if !rules.split(", ").any(|known| known == rule) {
        if !rules.is_empty() {
            rules.push_str(", ");
        }
        rules.push_str(rule);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_labels_that_are_paths_become_pointers() {
        let pointer = |label| pointer_of_label(label);
        assert_eq!(
            pointer("$[0].receipt_hash").as_deref(),
            Some("/0/receipt_hash")
        );
        assert_eq!(pointer("$.a.b[12]").as_deref(), Some("/a/b/12"));
        assert_eq!(pointer("$").as_deref(), Some(""));
        assert_eq!(pointer("act_1"), None);
        assert_eq!(pointer("$broken"), None);
    }

    #[test]
    fn faults_of_a_place_include_those_below_but_not_siblings() {
        let places = [("/a/b", "R1"), ("/a-b", "R2"), ("/ab", "R3")];
        let place =
            |(pointer, rule): (&str, &str)| ((String::new(), pointer.to_owned()), rule.to_owned());
        let faults = Faults {
            files: BTreeMap::new(),
            whole: BTreeMap::new(),
            is_broken: true,
            places: places.into_iter().map(place).collect(),
            withheld: BTreeMap::new(),
        };
        assert_eq!(faults.at("", "/a"), Some("R1"));
        assert_eq!(faults.at("", "/a/b"), Some("R1"));
        assert_eq!(faults.at("", "/a/b/c"), None);
        assert_eq!(faults.at("", ""), Some("R2"));
        assert_eq!(faults.at("x", "/a"), None);
    }
}
