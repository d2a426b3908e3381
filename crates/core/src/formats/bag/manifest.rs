//! The lists of a bag: manifests of the payload and of tag files, and fetch.txt.
//!
//! Parsing is lenient, so that every fault is reported: a line that cannot be read is reported and
//! skipped, and a name keeps both its written form and its meaning.

use super::tags::{Version, parse_count, split_lines};
use crate::limits::MAX_ENTRIES;
use crate::path::{SafePath, UnsafePath};
use crate::source::Algorithm;
use crate::verify::PlacedFaults;

/// Returns the non-blank lines of a list, numbered from 1, at most as many as a folder may have
/// files. Adds a fault if there are more.
fn lines_of<'a>(text: &'a str, faults: &mut PlacedFaults) -> Vec<(usize, &'a str)> {
    let most = MAX_ENTRIES as usize;
    let numbered = (1..).zip(split_lines(text));
    let mut nonblank = numbered.filter(|(_, line): &(usize, &str)| !line.trim().is_empty());
    let lines: Vec<_> = nonblank.by_ref().take(most).collect();
    if let Some((number, _)) = nonblank.next() {
        faults.add(number, || {
            format!("line {number} and those after it are not read: the limit is {most} files")
        });
    }
    lines
}

/// What a manifest covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Covers {
    /// Everything in `data/`.
    Payload,
    /// Everything else.
    Tags,
}

/// The payload's folder.
pub const PAYLOAD: &str = "data";

/// Whether a path is in the payload.
pub fn is_payload(path: &str) -> bool {
    path.strip_prefix(PAYLOAD)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// What a manifest's file name says: what it covers, and the name of its hash function.
pub fn manifest_name(name: &str) -> Option<(Covers, &str)> {
    let stem = name.strip_suffix(".txt")?;
    let (covers, algorithm) = match stem.strip_prefix("tagmanifest-") {
        Some(algorithm) => (Covers::Tags, algorithm),
        None => (Covers::Payload, stem.strip_prefix("manifest-")?),
    };
    (!algorithm.is_empty()).then_some((covers, algorithm))
}

/// One manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Its file name.
    pub name: String,
    /// What it covers.
    pub covers: Covers,
    /// Its hash function; `None` if unknown here.
    pub algorithm: Option<Algorithm>,
    /// Its lines.
    pub lines: Vec<Line>,
    /// A message for each line that cannot be read.
    pub faults: Vec<String>,
}

/// A file name as written in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedName {
    /// The file that is meant, or why it cannot be in the bag.
    pub path: Result<SafePath, BadName>,
    /// Whether it begins with `./`, which other tools may not strip.
    pub has_dot: bool,
    /// Whether it has a `%` that is not part of an encoding, although RFC 8493 requires `%25`
    /// (§2.1.3).
    pub has_raw_percent: bool,
}

/// A name that no file of a bag can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadName {
    /// The name as written, with unprintable characters escaped.
    pub written: Box<str>,
    /// What is wrong with it.
    pub fault: UnsafePath,
}

/// A line of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The line number, from 1.
    pub number: usize,
    /// The digest in lower case.
    pub digest: Box<str>,
    /// The file.
    pub file: ListedName,
    /// Whether a `*` precedes the name, as md5sum marks binary files.
    pub has_star: bool,
}

impl ListedName {
    fn parse(written: &str, version: Version) -> Self {
        let (decoded, has_raw_percent) = decode(written, version);
        let plain = decoded.trim_start_matches("./");
        Self {
            path: SafePath::parse(plain).map_err(|fault| BadName {
                written: written.escape_debug().to_string().into(),
                fault,
            }),
            has_dot: plain.len() != decoded.len(),
            has_raw_percent,
        }
    }
}

/// Decodes percent-encoded line ends, and `%25` if the version requires it (RFC 8493 §2.1.3).
/// Nothing else is encoded: `%7E` is a name. Also returns whether a `%` should have been encoded
/// and was not.
fn decode(written: &str, version: Version) -> (String, bool) {
    let mut is_raw = false;
    let mut text = String::with_capacity(written.len());
    let mut rest = written;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        let code = rest.get(at..at + 3).unwrap_or_default();
        let meant = match code.to_ascii_uppercase().as_str() {
            "%0A" => Some('\n'),
            "%0D" => Some('\r'),
            "%25" if version >= Version::V1 => Some('%'),
            _ => None,
        };
        is_raw |= meant.is_none() && version >= Version::V1;
        text.push(meant.unwrap_or('%'));
        rest = &rest[at + meant.map_or(1, |_| 3)..];
    }
    text.push_str(rest);
    (text, is_raw)
}

impl Manifest {
    /// Parses a manifest with this file name; `None` if it is not the name of a manifest.
    pub fn parse(name: &str, text: &str, version: Version) -> Option<Self> {
        let (covers, algorithm) = manifest_name(name)?;
        let mut faults = PlacedFaults::default();
        let algorithm = Algorithm::of_name(algorithm);
        let digits = algorithm.map(Algorithm::hex_digits);
        let mut lines = Vec::new();
        for (number, line) in lines_of(text, &mut faults) {
            match parse_line(line, number, digits, version) {
                Ok(line) => lines.push(line),
                Err(fault) => faults.add(number, || format!("line {number} {fault}")),
            }
        }
        Some(Self {
            name: name.to_owned(),
            covers,
            algorithm,
            lines,
            faults: faults.into_ordered(),
        })
    }
}

fn parse_line(
    line: &str,
    number: usize,
    digits: Option<usize>,
    version: Version,
) -> Result<Line, String> {
    let (digest, name) = line
        .split_once([' ', '\t'])
        .ok_or("is not a checksum and a path separated by white space")?;
    let name = name.trim_start_matches([' ', '\t']);
    let is_hex = digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hex || digits.is_some_and(|digits| digits != digest.len()) {
        return Err(match digits {
            Some(digits) => format!("does not begin with {digits} hex digits"),
            None => "does not begin with hex digits".to_owned(),
        });
    }
    let plain = name.strip_prefix('*');
    Ok(Line {
        number,
        digest: digest.to_ascii_lowercase().into(),
        file: ListedName::parse(plain.unwrap_or(name), version),
        has_star: plain.is_some(),
    })
}

/// A line of fetch.txt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchLine {
    /// The line number, from 1.
    pub number: usize,
    /// The size of the file, if given.
    pub bytes: Option<u64>,
    /// The file.
    pub file: ListedName,
}

/// fetch.txt: where to get the files that are not in the bag. Nothing is ever fetched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fetch {
    /// Its lines.
    pub lines: Vec<FetchLine>,
    /// A message for each line that cannot be read.
    pub faults: Vec<String>,
}

impl Fetch {
    /// Parses fetch.txt.
    pub fn parse(text: &str, version: Version) -> Self {
        let mut faults = PlacedFaults::default();
        let mut lines = Vec::new();
        for (number, line) in lines_of(text, &mut faults) {
            match parse_fetch(line, number, version) {
                Some(line) => lines.push(line),
                None => faults.add(number, || {
                    format!(
                        "line {number} is not a URL, a size (or `-`) and a path separated by white \
                         space"
                    )
                }),
            }
        }
        Self {
            lines,
            faults: faults.into_ordered(),
        }
    }

    /// The files that it lists.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let lines = self.lines.iter();
        lines.filter_map(|line| Some(line.file.path.as_ref().ok()?.as_str()))
    }
}

fn parse_fetch(line: &str, number: usize, version: Version) -> Option<FetchLine> {
    const BLANKS: [char; 2] = [' ', '\t'];
    let (url, rest) = line.split_once(BLANKS)?;
    let (scheme, _) = url.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    let (size, name) = rest.trim_start_matches(BLANKS).split_once(BLANKS)?;
    let bytes = match size {
        "-" => None,
        size => Some(parse_count(size)?),
    };
    is_scheme.then(|| FetchLine {
        number,
        bytes,
        file: ListedName::parse(name.trim_start_matches(BLANKS), version),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "d41d8cd98f00b204e9800998ecf8427e";

    fn only(line: &str, version: Version) -> Line {
        let manifest = Manifest::parse("manifest-md5.txt", line, version).unwrap();
        assert!(
            manifest.faults.is_empty(),
            "{line:?}: {:?}",
            manifest.faults
        );
        assert_eq!(manifest.lines.len(), 1, "{line:?}");
        manifest.lines.into_iter().next().unwrap()
    }

    #[test]
    fn manifest_lines_of_every_tool_are_parsed() {
        for (line, path, star, dot) in [
            (format!("{HEX}  data/a b\n"), "data/a b", false, false),
            (format!("{HEX} data/a\r\n"), "data/a", false, false),
            (format!("{HEX}\tdata/a"), "data/a", false, false),
            (format!("{HEX} *data/a\n"), "data/a", true, false),
            (format!("{HEX}  ./data/a\n"), "data/a", false, true),
            (
                format!("{}  data/a\n", HEX.to_uppercase()),
                "data/a",
                false,
                false,
            ),
        ] {
            let read = only(&line, Version::V1);
            assert_eq!(&*read.digest, HEX);
            assert_eq!(read.file.path.unwrap().as_str(), path);
            assert_eq!((read.has_star, read.file.has_dot), (star, dot), "{line:?}");
        }
    }

    #[test]
    fn manifest_names_are_decoded_by_version() {
        let path = |name: &str, version| {
            let read = only(&format!("{HEX}  {name}\n"), version).file.path;
            read.map(|path| path.to_string()).map_err(|bad| bad.fault)
        };
        let old = Version(0, 97);
        assert_eq!(path("data/%7Ea%", Version::V1).unwrap(), "data/%7Ea%");
        assert_eq!(path("data/%2541", Version::V1).unwrap(), "data/%41");
        assert_eq!(path("data/%250A", Version::V1).unwrap(), "data/%0A");
        assert_eq!(path("data/%2541", old).unwrap(), "data/%2541");
        assert_eq!(path("data/é%", old).unwrap(), "data/é%");
        let is_raw = |name: &str, version| {
            only(&format!("{HEX}  {name}\n"), version)
                .file
                .has_raw_percent
        };
        for (name, from_one) in [
            ("data/100%", true),
            ("data/%7Ea", true),
            ("data/%2", true),
            ("data/%25%", true),
            ("data/%2541", false),
            ("data/%25", false),
            ("data/a", false),
        ] {
            assert_eq!(is_raw(name, Version::V1), from_one, "{name}");
            assert!(!is_raw(name, old), "{name}");
        }
        for version in [old, Version::V1] {
            assert_eq!(path("data/a%0ab", version), Err(UnsafePath::Control('\n')));
        }
    }

    #[test]
    fn manifest_malformed_lines_are_faults() {
        for bad in [
            "# comment".to_owned(),
            HEX.to_owned(),
            format!("{}  data/a", &HEX[1..]),
            format!("{HEX}0  data/a"),
            "../../x".to_owned(),
        ] {
            let manifest = Manifest::parse("manifest-md5.txt", &bad, Version::V1).unwrap();
            assert_eq!(manifest.faults.len(), 1, "{bad:?}");
        }
        let unknown = Manifest::parse("manifest-crc32.txt", "00ff data/a", Version::V1).unwrap();
        assert_eq!((unknown.algorithm, unknown.lines.len()), (None, 1));
        assert_eq!(Manifest::parse("manifest-.txt", "", Version::V1), None);
    }

    #[test]
    fn fetch_malformed_lines_are_faults() {
        let text =
            "http://x/a%20b - data/a b\nfile:///x 7\tdata/b\nno\nx y z\nhttp://x -1 data/c\n";
        let fetch = Fetch::parse(text, Version::V1);
        let read: Vec<_> = fetch.lines.iter().map(|line| line.bytes).collect();
        assert_eq!(read, [None, Some(7)]);
        assert_eq!(fetch.faults.len(), 3);
        assert_eq!(fetch.files().collect::<Vec<_>>(), ["data/a b", "data/b"]);
    }
}
