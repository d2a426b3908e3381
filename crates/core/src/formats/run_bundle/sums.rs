//! SHA256SUMS.txt: one line a file, `<64 lower-case hex>  <path>` and LF, as coreutils reads it.

use std::collections::BTreeMap;

use crate::digest::Digest;
use crate::verify::add_faults;

/// What SHA256SUMS.txt says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sums {
    /// Path and digest of each well-formed line; of two lines with one path the first.
    pub files: BTreeMap<String, Digest>,
    /// Each line that is not well formed or repeats a path.
    pub faults: Vec<String>,
    /// Whether the lines are in the order of their paths, by code point.
    pub sorted: bool,
}

/// Reads the list.
pub fn parse_sums(bytes: &[u8]) -> Sums {
    let mut sums = Sums {
        sorted: true,
        ..Sums::default()
    };
    let mut last: Option<String> = None;
    let mut rest = bytes;
    let mut number = 0_u64;
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
        let parsed = parse_line(line);
        match parsed {
            Some(_) if !ended => {
                let fault = format!("line {number} does not end with LF");
                add_faults(&mut sums.faults, [fault]);
            }
            None => {
                let fault =
                    format!("line {number} is not 64 lower-case hex digits, two spaces and a path");
                add_faults(&mut sums.faults, [fault]);
            }
            Some(_) => {}
        }
        let Some((digest, path)) = parsed else {
            continue;
        };
        if last.as_deref().is_some_and(|last| path < last) {
            sums.sorted = false;
        }
        last = Some(path.to_owned());
        if sums.files.contains_key(path) {
            let fault = format!("line {number} lists `{path}` again");
            add_faults(&mut sums.faults, [fault]);
        } else {
            sums.files.insert(path.to_owned(), digest);
        }
    }
    sums
}

fn parse_line(line: &[u8]) -> Option<(Digest, &str)> {
    let line = str::from_utf8(line).ok()?;
    let digest = Digest::parse_hex(line.get(..64)?).ok()?;
    let path = line[64..].strip_prefix("  ")?;
    let plain = !path.is_empty() && !path.chars().any(crate::path::is_control);
    plain.then_some((digest, path))
}

/// The list of `files`, which come out sorted by path.
pub fn write_sums(files: &BTreeMap<String, Digest>) -> String {
    files
        .iter()
        .map(|(path, digest)| format!("{digest}  {path}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_written_are_read_back() {
        let files: BTreeMap<String, Digest> = ["b", "a/x y", "é", "B"]
            .map(|name| (name.to_owned(), Digest::of(name.as_bytes())))
            .into();
        let text = write_sums(&files);
        assert!(text.starts_with(&format!("{}  B\n", Digest::of(b"B"))));
        let sums = parse_sums(text.as_bytes());
        assert_eq!(
            (sums.files, sums.faults.len(), sums.sorted),
            (files, 0, true)
        );
    }

    #[test]
    fn sums_every_other_form_of_line_is_a_fault() {
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
    fn sums_out_of_order_are_read_and_told() {
        let hex = Digest::of(b"x").to_string();
        let sums = parse_sums(format!("{hex}  b\n{hex}  a\n").as_bytes());
        assert!(!sums.sorted && sums.faults.is_empty() && sums.files.len() == 2);
        // By code point, not by UTF-16 units.
        let sums = parse_sums(format!("{hex}  \u{ffff}\n{hex}  \u{10000}\n").as_bytes());
        assert!(sums.sorted);
    }
}
