//! SHA256SUMS.txt: one line per file, `<64 lower-case hex>  <path>` and LF, as coreutils reads it.

use crate::digest::Digest;
use crate::text_map::{TextMap, TextMapBuilder};
use crate::verify::PlacedFaults;

/// The content of SHA256SUMS.txt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sums {
    /// Each well-formed line by its path; if two lines have the same path, the first.
    pub files: TextMap<SumsLine>,
    /// A message for each line that is malformed or repeats a path.
    pub faults: Vec<String>,
    /// Whether the lines are sorted by path, by code point.
    pub sorted: bool,
}

/// A well-formed line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SumsLine {
    /// The digest on the line.
    pub sha256: Digest,
    /// The line number, from 1.
    number: u32,
}

/// The shortest well-formed line: a digest, two spaces, one character and LF.
const SHORTEST_LINE: usize = 64 + 2 + 1 + 1;

/// Parses the list.
pub fn parse_sums(bytes: &[u8]) -> Sums {
    let mut sorted = true;
    let mut faults = PlacedFaults::default();
    let mut files = TextMapBuilder::with_capacity(bytes.len() / SHORTEST_LINE);
    let mut rest = bytes;
    let mut number = 0;
    while !rest.is_empty() {
        number += 1;
        let (line, ended) = match rest.iter().position(|&b| b == b'\n') {
            Some(at) => {
                let line = &rest[..at];
                rest = &rest[at + 1..];
                (line, true)
            }
            None => (std::mem::take(&mut rest), false),
        };
        let Some((sha256, path)) = parse_line(line) else {
            faults.add(number, || {
                format!("line {number} is not 64 lower-case hex digits, two spaces and a path")
            });
            continue;
        };
        if !ended {
            faults.add(number, || format!("line {number} does not end with LF"));
        }
        sorted &= files.last_text().is_none_or(|last| last <= path);
        // A text is too short for more lines than that.
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        files.push(path, SumsLine { sha256, number });
    }
    let files = files.finish(|path, SumsLine { number, .. }| {
        faults.add(number as usize, || {
            format!("line {number} lists `{path}` again")
        });
    });
    Sums {
        files,
        faults: faults.into_ordered(),
        sorted,
    }
}

fn parse_line(line: &[u8]) -> Option<(Digest, &str)> {
    let line = str::from_utf8(line).ok()?;
    let digest = Digest::parse_hex(line.get(..64)?).ok()?;
    let path = line[64..].strip_prefix("  ")?;
    let plain = !path.is_empty() && !path.chars().any(crate::path::is_control);
    plain.then_some((digest, path))
}

/// Encodes the list of `files`, which are sorted by path.
pub fn write_sums(files: &[(Box<str>, Digest)]) -> String {
    let line = |(path, _): &(Box<str>, Digest)| 64 + 2 + path.len() + 1;
    let mut text = String::with_capacity(files.iter().map(line).sum());
    for (path, digest) in files {
        for part in [&digest.to_string(), "  ", path, "\n"] {
            text.push_str(part);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_round_trip() {
        let files = ["B", "a/x y", "b", "é"];
        let files = files.map(|name| (Box::from(name), Digest::of(name.as_bytes())));
        let text = write_sums(&files);
        assert!(text.starts_with(&format!("{}  B\n", Digest::of(b"B"))));
        let sums = parse_sums(text.as_bytes());
        let read = sums.files.iter();
        let read: Vec<(Box<str>, Digest)> = read
            .map(|(path, line)| (path.into(), line.sha256))
            .collect();
        assert_eq!(read, files);
        assert!(sums.faults.is_empty() && sums.sorted);
    }

    #[test]
    fn sums_malformed_lines_are_faults() {
        let hex = Digest::of(b"x").to_string();
        for bad in [
            format!("{hex} *a\n"),
            format!("{hex}  a"),
            format!("{hex}  a\r\n"),
            format!("{hex}\ta\n"),
            format!("{hex} a\n"),
            format!("{hex}  \n"),
            format!("{}  a\n", hex.to_uppercase()),
            format!("{}  a\n", &hex[1..]),
            format!("\\{hex}  a\\nb\n"),
            "\n".to_owned(),
            format!("# comment\n{hex}  a\n"),
            format!("{hex}  a\n{hex}  a\n"),
        ] {
            assert_eq!(parse_sums(bad.as_bytes()).faults.len(), 1, "{bad:?}");
        }
        let not_utf8 = [hex.as_bytes(), b"  \xff\n"].concat();
        assert_eq!(parse_sums(&not_utf8).faults.len(), 1);
    }

    #[test]
    fn sums_out_of_order_are_parsed_as_unsorted() {
        let hex = Digest::of(b"x").to_string();
        let sums = parse_sums(format!("{hex}  b\n{hex}  a\n").as_bytes());
        assert!(!sums.sorted && sums.faults.is_empty() && sums.files.len() == 2);
        // By code point, not by UTF-16 units.
        let sums = parse_sums(format!("{hex}  \u{ffff}\n{hex}  \u{10000}\n").as_bytes());
        assert!(sums.sorted);
    }
}
