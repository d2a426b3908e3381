//! A folder with a list of SHA-256 sums and no seal, CS1-CS5: what `sha256sum` writes and checks.
//!
//! This is the weakest kind of evidence: whoever can change a file can change the list. A folder
//! with traces of a run bundle, a pack or a bag is judged as that; this format only claims what no
//! other format does. It reads every line that `sha256sum -c` reads, but no file outside of the
//! folder and none through a link.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use super::definition::{
    Claim, Coverage, FolderNames, FormatDefinition, Identity, Judgement, Judging, ProofScope,
    ReadName, infos,
};
use crate::digest::Digest;
use crate::formats::Format;
use crate::limits::{JsonLimits, MAX_ENTRIES};
use crate::path::{SafePath, UnsafePath};
use crate::source::{EntryKind, EntryName, Got, Source, SourceError, Want};
use crate::verify::{Findings, Gate, Level, Report, Rule, RuleInfo, Subject, run_rules};

/// The file names of lists.
pub const LISTS: [&str; 4] = [
    "SHA256SUMS",
    "SHA256SUMS.txt",
    "sha256sums",
    "sha256sums.txt",
];

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryFact {
    /// A regular file with this digest; `None` if no list names it, so that it was not read.
    File(Option<Digest>),
    /// A folder.
    Folder,
    /// A link, pipe or device; never opened.
    NotAFile(EntryKind),
}

/// A line of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The line number, from 1.
    pub number: usize,
    /// The digest on the line.
    pub sha256: Digest,
    /// The file; or the name, with unprintable characters escaped, and why it cannot be in this
    /// folder.
    pub path: Result<SafePath, (String, UnsafePath)>,
}

/// One list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct List {
    /// Its file name.
    pub name: String,
    /// Its lines.
    pub lines: Vec<Line>,
    /// The numbers of lines that cannot be read.
    pub faults: Vec<usize>,
    /// Whether it has more lines than a folder may have files; the rest is not read.
    pub is_cut: bool,
}

impl List {
    /// Parses a list as coreutils does: comments and empty lines are skipped, a name may be
    /// escaped, and a line may be in BSD form.
    pub fn parse(name: &str, bytes: &[u8]) -> Self {
        let mut list = Self {
            name: name.to_owned(),
            ..Self::default()
        };
        let mut blanks = Blanks::default();
        for (line, number) in bytes.split(|byte| *byte == b'\n').zip(1..) {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            if list.lines.len() + list.faults.len() >= MAX_ENTRIES as usize {
                list.is_cut = true;
                break;
            }
            match parse_line(line, &mut blanks) {
                Some((sha256, name)) => list.lines.push(Line {
                    number,
                    sha256,
                    path: SafePath::parse(name.trim_start_matches("./"))
                        .map_err(|fault| (name.escape_debug().to_string(), fault)),
                }),
                None => list.faults.push(number),
            }
        }
        list
    }
}

/// Whether a list has one blank before its names, as BSD's `sha256 -r` writes them; `None` before
/// the first line.
///
/// A list is of one kind: read as the other, a name that begins with a blank or `*` would be that
/// of another file.
#[derive(Default)]
struct Blanks(Option<bool>);

impl Blanks {
    /// Returns the name in `behind`, the text after the digest, which begins with a blank.
    fn strip<'a>(&mut self, behind: &'a str) -> Option<&'a str> {
        let name = behind.strip_prefix([' ', '\t'])?;
        if name.is_empty() {
            return None;
        }
        let is_single = name.len() == 1 || !name.starts_with([' ', '*']);
        match (is_single, self.0) {
            (true, Some(false)) => None,
            (true, _) => {
                self.0 = Some(true);
                Some(name)
            }
            (false, Some(true)) => Some(name),
            (false, _) => {
                self.0 = Some(false);
                Some(&name[1..])
            }
        }
    }
}

fn parse_line(line: &[u8], blanks: &mut Blanks) -> Option<(Digest, String)> {
    let line = str::from_utf8(line).ok()?.trim_start_matches([' ', '\t']);
    let (line, is_escaped) = match line.strip_prefix('\\') {
        Some(line) => (line, true),
        None => (line, false),
    };
    let (hex, name) = match line.strip_prefix("SHA256") {
        Some(tagged) => {
            let named = tagged.strip_prefix(' ').unwrap_or(tagged);
            let (name, hex) = named.strip_prefix('(')?.rsplit_once(')')?;
            let hex = hex.trim_start_matches([' ', '\t']).strip_prefix('=')?;
            (hex.trim_start_matches([' ', '\t']), name)
        }
        None => {
            let (hex, behind) = line.split_at_checked(64)?;
            Digest::parse_hex(&hex.to_ascii_lowercase()).ok()?;
            (hex, blanks.strip(behind)?)
        }
    };
    let sha256 = Digest::parse_hex(&hex.to_ascii_lowercase()).ok()?;
    let name = if is_escaped {
        unescape(name)?
    } else {
        name.to_owned()
    };
    (!name.is_empty()).then_some((sha256, name))
}

/// Resolves `\\`, `\n` and `\r`; `None` if anything else follows a backslash.
fn unescape(name: &str) -> Option<String> {
    let mut text = String::with_capacity(name.len());
    let mut characters = name.chars();
    while let Some(c) = characters.next() {
        text.push(match c {
            '\\' => match characters.next()? {
                'n' => '\n',
                'r' => '\r',
                '\\' => '\\',
                _ => return None,
            },
            c => c,
        });
    }
    Some(text)
}

/// A folder of files and lists as the rules see it.
#[derive(Debug, Clone, Default)]
pub struct ChecksumsFacts {
    /// The lists.
    pub lists: Vec<List>,
    /// Everything below the folder, by displayed path.
    pub entries: BTreeMap<Box<str>, EntryFact>,
}

impl ChecksumsFacts {
    /// Collects the facts; only listed files are read.
    ///
    /// # Errors
    /// If the folder cannot be listed, or a listed file in it cannot be read.
    pub fn collect(source: &dyn Source) -> Result<Self, SourceError> {
        let mut facts = Self::default();
        let mut files = BTreeMap::new();
        for entry in source.entries()? {
            let shown: Box<str> = entry.name.shown().into();
            let fact = match (entry.name, entry.kind) {
                (EntryName::Safe(path), EntryKind::File) => {
                    files.insert(path.to_string(), path);
                    EntryFact::File(None)
                }
                (_, EntryKind::File) => EntryFact::File(None),
                (_, EntryKind::Directory) => EntryFact::Folder,
                (_, kind) => EntryFact::NotAFile(kind),
            };
            facts.entries.insert(shown, fact);
        }
        for name in LISTS {
            if let Some(path) = files.get(name) {
                let bytes = source.read(path, JsonLimits::LARGEST_DOCUMENT)?;
                facts.lists.push(List::parse(name, &bytes));
            }
        }
        let lines = facts.lists.iter().flat_map(|list| &list.lines);
        let listed: BTreeSet<&str> = lines
            .filter_map(|line| Some(line.path.as_ref().ok()?.as_str()))
            .collect();
        let wanted: Vec<(SafePath, Want)> = listed
            .into_iter()
            .filter_map(|name| Some((files.get(name)?.clone(), Want::Fact)))
            .collect();
        let slots: Vec<OnceLock<Result<EntryFact, SourceError>>> =
            wanted.iter().map(|_| OnceLock::new()).collect();
        source.visit(&wanted, &|at, seen| {
            let fact = match seen {
                Ok(Got::Fact(content)) => Ok(EntryFact::File(Some(content.sha256))),
                // Swapped after it was listed.
                Err(SourceError::NotAFile { kind, .. }) => Ok(EntryFact::NotAFile(kind)),
                Err(error) => Err(error),
                Ok(_) => return,
            };
            // Each file is shown once, so its slot is still empty.
            let _ = slots[at].set(fact);
        });
        for ((path, _), slot) in wanted.into_iter().zip(slots) {
            let fact = slot.into_inner().unwrap_or_else(|| {
                Err(SourceError::Io {
                    path: path.to_string(),
                    source: std::io::Error::other("it was not read"),
                })
            })?;
            facts.entries.insert(path.into(), fact);
        }
        Ok(facts)
    }
}

/// Names the list of sums as the subject of its rules.
pub struct Checksums;

impl Subject for Checksums {
    type View<'a> = &'a ChecksumsFacts;
    const FORMAT: Format = Format::Checksums;
    const NAMES_FILES: bool = true;
}

/// Verifies a folder against its lists.
fn verify_checksums(facts: &ChecksumsFacts, level: Level) -> Report {
    run_rules(&RULES, &facts, level)
}

const fn rule(
    id: &'static str,
    level: Level,
    title: &'static str,
    explanation: &'static str,
    check: for<'a> fn(&&'a ChecksumsFacts, &mut Findings),
) -> Rule<Checksums> {
    Rule {
        info: RuleInfo {
            id,
            format: Format::Checksums,
            title,
            section: "docs/formats/checksums.md",
            level,
            explanation,
        },
        gate: |_| Gate::Ready,
        check,
    }
}

/// The rules of lists of sums.
pub static RULES: [Rule<Checksums>; 5] = [
    rule(
        "CS1",
        Level::Document,
        "every line can be read",
        "Each line is 64 hex digits, two blanks (or a blank and `*`, or one blank if every line \
         has only one) and a name, or `SHA256 (name) = ` and the digits; a `\\` before the line says that its name is escaped. Empty lines and those that \
         begin with `#` are skipped. There is at least one sum.",
        check_lines,
    ),
    rule(
        "CS2",
        Level::Document,
        "listed names stay inside",
        "No name is absolute, begins with a drive letter, climbs with `..`, or contains a backslash or a \
         control character. `sha256sum -c` would read such a file; runseal does not.",
        check_names,
    ),
    rule(
        "CS3",
        Level::Document,
        "every listed file is there",
        "Each is a regular file below the folder. Links are not followed.",
        check_present,
    ),
    rule(
        "CS4",
        Level::Document,
        "every file has its sum",
        "Its SHA-256 is the one on each line for it.",
        check_sums,
    ),
    rule(
        "CS5",
        Level::Form,
        "the list is complete",
        "Every file of the folder is listed, except the lists themselves and what belongs to them \
         (SHA256SUMS.asc and the like), and none is listed twice.",
        check_whole,
    ),
];

fn lines<'a>(facts: &&'a ChecksumsFacts) -> impl Iterator<Item = (&'a List, &'a Line)> {
    let lists = facts.lists.iter();
    lists.flat_map(|list| list.lines.iter().map(move |line| (list, line)))
}

fn check_lines(facts: &&ChecksumsFacts, findings: &mut Findings) {
    for list in &facts.lists {
        for number in &list.faults {
            let message = format!("line {number} is not a sum and a name in UTF-8");
            findings.add(list.name.as_str(), message);
        }
        if list.is_cut {
            let message = format!("it has more than {MAX_ENTRIES} lines");
            findings.add(list.name.as_str(), message);
        }
        if list.lines.is_empty() {
            findings.add(list.name.as_str(), "it lists no file");
        }
    }
    if facts.lists.is_empty() {
        findings.add_without_path("there is no readable list");
    }
}

fn check_names(facts: &&ChecksumsFacts, findings: &mut Findings) {
    for (list, line) in lines(facts) {
        if let Err((written, fault)) = &line.path {
            let number = line.number;
            let message = format!("line {number}: `{written}`: {fault}");
            findings.add(list.name.as_str(), message);
        }
    }
}

fn check_present(facts: &&ChecksumsFacts, findings: &mut Findings) {
    let paths = lines(facts).filter_map(|(_, line)| Some(line.path.as_ref().ok()?.as_str()));
    for path in paths.collect::<BTreeSet<_>>() {
        match facts.entries.get(path) {
            Some(EntryFact::File(_)) => {}
            Some(EntryFact::Folder) => findings.add(path, "it is a folder, not a file"),
            Some(EntryFact::NotAFile(kind)) => {
                findings.add(path, format!("it is {}, not a file", kind.with_article()));
            }
            None => findings.add(path, "the file is missing"),
        }
    }
}

fn check_sums(facts: &&ChecksumsFacts, findings: &mut Findings) {
    for (list, line) in lines(facts) {
        let Ok(path) = &line.path else { continue };
        if let Some(EntryFact::File(Some(actual))) = facts.entries.get(path.as_str())
            && *actual != line.sha256
        {
            let subject = format!("the sum is not the one in {}", list.name);
            let declared = line.sha256.to_string();
            findings.add_difference(path.as_str(), &subject, declared, actual.to_string());
        }
    }
}

fn check_whole(facts: &&ChecksumsFacts, findings: &mut Findings) {
    let mut listed = BTreeSet::new();
    for (list, line) in lines(facts) {
        if let Ok(path) = &line.path
            && !listed.insert((list.name.as_str(), path.as_str()))
        {
            let message = format!("line {} lists `{path}` again", line.number);
            findings.add(list.name.as_str(), message);
        }
    }
    let listed: BTreeSet<&str> = listed.into_iter().map(|(_, path)| path).collect();
    let belongs = |path: &str| {
        LISTS.iter().any(|list| {
            let rest = path.strip_prefix(list);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    for (path, fact) in &facts.entries {
        let is_listed = listed.contains(&**path) || belongs(path);
        if !matches!(fact, EntryFact::Folder) && !is_listed {
            findings.add(&**path, "no list names the file");
        }
    }
}

/// The definition of the format of lists of sums.
pub static DEFINITION: ChecksumsFormat = ChecksumsFormat;

/// A folder with a list of sums.
pub struct ChecksumsFormat;

impl FormatDefinition for ChecksumsFormat {
    fn format(&self) -> Format {
        Format::Checksums
    }

    fn proves(&self) -> ProofScope {
        ProofScope {
            shows: &["That each listed file has the sum that the list gives for it."],
            does_not: &[
                "That the list is the one that was made with the files: it is not sealed, and without a \
                 signature over it, whoever can change a file can change the list.",
                "Where the files come from, or what they say.",
            ],
        }
    }

    fn rules(&self) -> Vec<&'static RuleInfo> {
        infos(&RULES)
    }

    fn recognizes_name(&self, name: &str) -> bool {
        LISTS.contains(&name)
    }

    fn claims(&self, names: &FolderNames, _: ReadName<'_>) -> Claim {
        if names.any_file(|name| LISTS.contains(&name)) {
            Claim::Leftover
        } else {
            Claim::No
        }
    }

    fn covers(&self) -> Coverage {
        Coverage::Bytes
    }

    fn judge_folder(
        &self,
        source: &dyn Source,
        judging: &Judging<'_>,
    ) -> Option<Result<Judgement, SourceError>> {
        let facts = match ChecksumsFacts::collect(source) {
            Ok(facts) => facts,
            Err(error) => return Some(Err(error)),
        };
        let caveat = "the list of sums is not sealed: without a signature over it, whoever can \
                      change a file can change the list";
        let identity = Identity {
            caveats: vec![caveat.to_owned()],
            ..Identity::default()
        };
        Some(Ok(Judgement {
            report: verify_checksums(&facts, judging.level),
            identity,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::MemorySource;

    const HEX: &str = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b";

    #[test]
    fn list_lines_of_every_form_are_parsed() {
        for (line, name) in [
            (format!("{HEX}  a b\n"), "a b"),
            (format!("{HEX} *a\r\n"), "a"),
            (format!("  {}  a", HEX.to_uppercase()), "a"),
            (format!("{HEX} a\n"), "a"),
            (format!("{HEX}\ta b\n"), "a b"),
            (format!("SHA256 (a (1)) = {HEX}\n"), "a (1)"),
            (format!("# comment\n\n{HEX}   a\n"), " a"),
        ] {
            let list = List::parse("SHA256SUMS", line.as_bytes());
            assert!(list.faults.is_empty() && list.lines.len() == 1, "{line:?}");
            assert_eq!(list.lines[0].path.as_ref().unwrap().as_str(), name);
        }
        let escaped = List::parse("SHA256SUMS", format!("\\{HEX}  a\\\\b\\n\n").as_bytes());
        let (written, _) = escaped.lines[0].path.as_ref().unwrap_err();
        assert_eq!(written, "a\\\\b\\n");
    }

    #[test]
    fn list_malformed_lines_are_faults() {
        for bad in [
            format!("{HEX}a"),
            format!("{HEX} "),
            format!("{}  a", &HEX[1..]),
            format!("SHA512 (a) = {HEX}"),
            format!("SHA256 (a) {HEX}"),
            format!("\\{HEX}  a\\tb"),
            "hello".to_owned(),
            "é".repeat(64),
        ] {
            let list = List::parse("SHA256SUMS", bad.as_bytes());
            assert_eq!((list.faults.len(), list.lines.len()), (1, 0), "{bad:?}");
        }
    }

    #[test]
    fn checksums_each_rule_finds_its_fault() {
        let judge = |list: &str, more: &[&str]| {
            let path = |name: &str| SafePath::parse(name).unwrap();
            let mut source = MemorySource::new([
                (path("SHA256SUMS"), list.as_bytes().to_vec()),
                (path("a"), b"1".to_vec()),
            ]);
            for name in more {
                source.insert(path(name), b"2".to_vec());
            }
            let facts = ChecksumsFacts::collect(&source).unwrap();
            let report = verify_checksums(&facts, Level::Form);
            let ids = report.findings().iter().map(|finding| finding.rule_id);
            ids.collect::<Vec<_>>()
        };
        let good = format!("{HEX}  a\n");
        assert_eq!(judge(&good, &["SHA256SUMS.asc"]), [""; 0]);
        assert_eq!(judge("", &[]), ["CS1", "CS5"]);
        assert_eq!(judge(&format!("{good}{HEX}  ../a\n"), &[]), ["CS2"]);
        assert_eq!(judge(&format!("{good}{HEX}  b\n"), &[]), ["CS3"]);
        assert_eq!(judge(&format!("{good}{HEX}  b\n"), &["b"]), ["CS4"]);
        assert_eq!(judge(&good, &["b"]), ["CS5"]);
        assert_eq!(judge(&good.repeat(2), &[]), ["CS5"]);
    }
}
