//! The texts at the top of a bag: bagit.txt, bag-info.txt, and their character encoding.

use crate::limits::BAG_INFO_ENTRIES;
use crate::verify::PlacedFaults;

/// A BagIt version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u16, pub u16);

impl Version {
    /// RFC 8493.
    pub const V1: Self = Self(1, 0);
    /// Every version that is read.
    const KNOWN: [Self; 6] = [
        Self(0, 93),
        Self(0, 94),
        Self(0, 95),
        Self(0, 96),
        Self(0, 97),
        Self::V1,
    ];
}

/// How tag files are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8.
    Utf8,
    /// US-ASCII: no byte above 127.
    Ascii,
    /// ISO-8859-1: a byte a character.
    Latin1,
    /// UTF-16; big-endian without a byte order mark.
    Utf16,
}

/// The byte order mark, which is not part of the text.
const BYTE_ORDER_MARK: char = '\u{feff}';

impl Encoding {
    fn of_name(name: &str) -> Option<Self> {
        match name.to_ascii_uppercase().as_str() {
            "UTF-8" => Some(Self::Utf8),
            "US-ASCII" | "ASCII" => Some(Self::Ascii),
            "ISO-8859-1" | "LATIN1" => Some(Self::Latin1),
            "UTF-16" => Some(Self::Utf16),
            _ => None,
        }
    }

    /// Decodes `bytes` without a byte order mark; `None` if they are not text in this encoding.
    pub fn decode(self, bytes: &[u8]) -> Option<String> {
        match self {
            Self::Utf8 => {
                let text = str::from_utf8(bytes).ok()?;
                Some(
                    text.strip_prefix(BYTE_ORDER_MARK)
                        .unwrap_or(text)
                        .to_owned(),
                )
            }
            Self::Ascii => Some(
                str::from_utf8(bytes)
                    .ok()
                    .filter(|text| text.is_ascii())?
                    .to_owned(),
            ),
            Self::Latin1 => Some(bytes.iter().map(|byte| char::from(*byte)).collect()),
            Self::Utf16 => {
                let unit: fn([u8; 2]) -> u16 = if bytes.starts_with(&[0xff, 0xfe]) {
                    u16::from_le_bytes
                } else {
                    u16::from_be_bytes
                };
                let (pairs, rest) = bytes.as_chunks::<2>();
                let units = pairs.iter().map(|pair| unit(*pair));
                let text: Option<String> = char::decode_utf16(units).map(Result::ok).collect();
                let text = text.filter(|_| rest.is_empty())?;
                Some(
                    text.strip_prefix(BYTE_ORDER_MARK)
                        .unwrap_or(&text)
                        .to_owned(),
                )
            }
        }
    }
}

/// What bagit.txt declares, as far as it can be parsed, and its faults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// The version; that of RFC 8493 if unknown.
    pub version: Version,
    /// The encoding of the other tag files; UTF-8 if unknown.
    pub encoding: Encoding,
    /// Each fault.
    pub faults: Vec<String>,
}

impl Declaration {
    /// The defaults for a bag without a readable bagit.txt.
    pub fn assumed(fault: impl Into<String>) -> Self {
        Self {
            version: Version::V1,
            encoding: Encoding::Utf8,
            faults: vec![fault.into()],
        }
    }

    /// Parses bagit.txt.
    pub fn parse(bytes: &[u8]) -> Self {
        let Ok(text) = str::from_utf8(bytes) else {
            return Self::assumed("it is not UTF-8");
        };
        if text.starts_with(BYTE_ORDER_MARK) {
            return Self::assumed("it begins with a byte order mark");
        }
        let mut read = Self::assumed("");
        read.faults.clear();
        let mut lines = split_lines(text);
        match lines
            .next()
            .and_then(|line| line.strip_prefix("BagIt-Version: "))
        {
            None => {
                let fault = "the first line is not `BagIt-Version: M.N`";
                read.faults.push(fault.to_owned());
            }
            Some(version) => match parse_version(version) {
                Some(version) => read.version = version,
                None => {
                    let shown = version.escape_debug();
                    let fault = format!("`{shown}` is not a version of BagIt from 0.93 to 1.0");
                    read.faults.push(fault);
                }
            },
        }
        let encoding = lines.next();
        match encoding.and_then(|line| line.strip_prefix("Tag-File-Character-Encoding: ")) {
            None => {
                let fault = "the second line is not `Tag-File-Character-Encoding: ENCODING`";
                read.faults.push(fault.to_owned());
            }
            Some(encoding) => match Encoding::of_name(encoding) {
                Some(encoding) => read.encoding = encoding,
                None => {
                    let shown = encoding.escape_debug();
                    let fault = format!(
                        "`{shown}` is not an encoding that is read here (UTF-8, US-ASCII, \
                         ISO-8859-1, UTF-16)"
                    );
                    read.faults.push(fault);
                }
            },
        }
        if lines.next().is_some() {
            read.faults.push("it has more than two lines".to_owned());
        }
        read
    }
}

fn parse_version(text: &str) -> Option<Version> {
    let mut known = Version::KNOWN.into_iter();
    known.find(|Version(major, minor)| format!("{major}.{minor}") == text)
}

/// Splits a tag file into lines, which end with LF, CR or CRLF.
pub fn split_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(['\r', '\n']).unwrap_or(rest.len());
        let (line, behind) = rest.split_at(end);
        rest = match behind.strip_prefix("\r\n") {
            Some(behind) => behind,
            None => behind.strip_prefix(['\r', '\n']).unwrap_or_default(),
        };
        Some(line)
    })
}

/// bag-info.txt: labels and values, and faults.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BagInfo {
    /// Label and value, in order; a label may repeat.
    pub entries: Vec<(String, String)>,
    /// A message for each line that is neither an entry nor a continuation.
    pub faults: Vec<String>,
}

impl BagInfo {
    /// Parses bag-info.txt.
    pub fn parse(text: &str) -> Self {
        let mut info = Self::default();
        let mut faults = PlacedFaults::default();
        for (line, number) in split_lines(text).zip(1..) {
            if info.entries.len() > BAG_INFO_ENTRIES {
                info.entries.pop();
                faults.add(number, || {
                    format!(
                        "there are more than {BAG_INFO_ENTRIES} labels, the limit; those from line \
                         {} on were not read",
                        number - 1
                    )
                });
                break;
            }
            let is_continuation = line.starts_with([' ', '\t']);
            match (line.split_once(':'), info.entries.last_mut()) {
                _ if line.trim().is_empty() => {}
                (_, Some((_, value))) if is_continuation => {
                    value.push(' ');
                    value.push_str(line.trim());
                }
                (Some((label, value)), _) if !is_continuation && !label.trim().is_empty() => {
                    let entry = (label.trim().to_owned(), value.trim().to_owned());
                    info.entries.push(entry);
                }
                _ => faults.add(number, || {
                    format!(
                        "line {number} is neither `Label: value` nor an indented continuation of \
                         the line before"
                    )
                }),
            }
        }
        info.faults = faults.into_ordered();
        info
    }

    /// The values with this label, ignoring letter case.
    pub fn values(&self, label: &str) -> impl Iterator<Item = &str> {
        let entries = self.entries.iter();
        let named = entries.filter(move |(found, _)| found.eq_ignore_ascii_case(label));
        named.map(|(_, value)| value.as_str())
    }
}

/// Parses `Payload-Oxum`: the number of bytes and of files of the payload.
pub fn parse_oxum(text: &str) -> Option<(u64, u64)> {
    let (bytes, files) = text.split_once('.')?;
    Some((parse_count(bytes)?, parse_count(files)?))
}

/// Parses a number that consists of digits only.
pub fn parse_count(text: &str) -> Option<u64> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declaration_with_any_line_ends_is_parsed() {
        for text in [
            "BagIt-Version: 0.97\nTag-File-Character-Encoding: UTF-16\n",
            "BagIt-Version: 0.97\r\nTag-File-Character-Encoding: utf-16",
            "BagIt-Version: 0.97\rTag-File-Character-Encoding: UTF-16\r",
        ] {
            let read = Declaration::parse(text.as_bytes());
            assert_eq!(
                (read.version, read.encoding, read.faults.len()),
                (Version(0, 97), Encoding::Utf16, 0),
                "{text:?}"
            );
        }
    }

    #[test]
    fn declaration_faults_are_reported() {
        let second = "Tag-File-Character-Encoding: UTF-8\n";
        for (text, faults) in [
            ("", 2),
            ("BagIt-Version: 1.0\n", 1),
            (&format!("BagIt-Version: .97\n{second}"), 1),
            (&format!("BagIt-Version: 01.0\n{second}"), 1),
            (&format!("BagIt-Version: 1.00\n{second}"), 1),
            (&format!("BagIt-Version: 0.097\n{second}"), 1),
            (&format!("BagIt-Version: 2.0\n{second}"), 1),
            (&format!("BagIt-Version : 1.0\n{second}"), 1),
            (&format!("BagIt-Version: 1.0 \n{second}"), 1),
            (&format!("\u{feff}BagIt-Version: 1.0\n{second}"), 1),
            (&format!("BagIt-Version: 1.0\n{second}more\n"), 1),
            (
                "BagIt-Version: 1.0\nTag-File-Character-Encoding: EBCDIC\n",
                1,
            ),
        ] {
            let read = Declaration::parse(text.as_bytes());
            assert_eq!(read.faults.len(), faults, "{text:?} {:?}", read.faults);
        }
        assert_eq!(Declaration::parse(b"\xff").faults.len(), 1);
    }

    #[test]
    fn encodings_are_decoded_or_refused() {
        assert_eq!(Encoding::Latin1.decode(b"\xe9").unwrap(), "é");
        assert_eq!(Encoding::Utf8.decode(b"\xe9"), None);
        for bytes in [b"\xfe\xff\0a".as_slice(), b"\xff\xfea\0", b"\0a"] {
            assert_eq!(Encoding::Utf16.decode(bytes).unwrap(), "a");
        }
        assert_eq!(Encoding::Ascii.decode(b"a").unwrap(), "a");
        assert_eq!(Encoding::Ascii.decode("é".as_bytes()), None);
        // A byte order mark is not part of the text; a second one is.
        assert_eq!(Encoding::Utf8.decode(b"\xef\xbb\xbfa").unwrap(), "a");
        let twice = Encoding::Utf8.decode(b"\xef\xbb\xbf\xef\xbb\xbfa");
        assert_eq!(twice.unwrap(), "\u{feff}a");
        for bytes in [b"\xfe\xff\0".as_slice(), b"\xd8\0\0a"] {
            assert_eq!(Encoding::Utf16.decode(bytes), None);
        }
    }

    #[test]
    fn info_with_too_many_labels_is_cut_and_reported() {
        let text = |count: usize| "a:\n".repeat(count);
        assert_eq!(BagInfo::parse(&text(BAG_INFO_ENTRIES)).faults.len(), 0);
        let info = BagInfo::parse(&text(1_000_000));
        assert_eq!(
            (info.entries.len(), info.faults.len()),
            (BAG_INFO_ENTRIES, 1)
        );
        assert!(
            info.faults[0].contains("line 10001 on"),
            "{:?}",
            info.faults
        );
    }

    #[test]
    fn info_entries_continue_and_repeat() {
        let info = BagInfo::parse("A: 1\n  and more\nB :2\r\na:3\nno label\n: x\n\n");
        let expected = [("A", "1 and more"), ("B", "2"), ("a", "3")];
        let expected = expected.map(|(label, value)| (label.to_owned(), value.to_owned()));
        assert_eq!(info.entries, expected);
        assert_eq!(info.faults.len(), 2);
        assert_eq!(info.values("A").collect::<Vec<_>>(), ["1 and more", "3"]);
        assert_eq!(parse_oxum("12.3"), Some((12, 3)));
        for bad in ["", "12", "1.2.3", "-1.2", "+1.2", "1. 2", "x.1"] {
            assert_eq!(parse_oxum(bad), None, "{bad}");
        }
    }
}
